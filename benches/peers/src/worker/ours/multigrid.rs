//! From a matrix in memory to a solution: conjugate gradients with a multigrid preconditioner,
//! whose setup is part of the work.

use super::super::Order;
use super::{Once, Results, matrix};
use crate::matrices;
use crate::work::RESIDUAL;
use sparsefuse::prelude::*;
use sparsefuse::solvers::multigrid::Multigrid;
use std::time::Instant;

/// A solve that has ended.
#[derive(Clone, Copy)]
pub(super) struct Solve {
    /// Of setup and iterations.
    pub(super) seconds: f64,
    /// Of the setup alone.
    pub(super) setup: f64,
    pub(super) iterations: usize,
}

pub(super) fn set_up(order: &Order) -> Result<Once, String> {
    let (a, b) = matrix(order)?;
    let side = a.n_rows().isqrt();
    let is_on_grid = order.work == "gmg";
    Ok(Box::new(move |_| {
        let begin = Instant::now();
        let multigrid = match is_on_grid {
            true => Multigrid::on_grid(&a, &[side, side])?,
            false => Multigrid::aggregated(&a)?,
        };
        // What the setup has left for later is its own.
        a.runtime().flush();
        let setup = begin.elapsed().as_secs_f64();
        let options = Options {
            rtol: RESIDUAL,
            preconditioner: Some(&multigrid),
            ..Options::default()
        };
        let solution = cg_with(&a, &b, options)?;
        a.runtime().flush();
        let solve = Solve {
            seconds: begin.elapsed().as_secs_f64(),
            setup,
            iterations: solution.iterations,
        };
        Ok(Results {
            vectors: vec![solution.x],
            solve: Some(solve),
            ..Results::default()
        })
    }))
}

/// ||b - A x|| / ||b||, by plain loops over the matrix of the file.
pub(super) fn residual(order: &Order, x: &[f64]) -> Result<f64, String> {
    let a = matrices::read(&order.matrix)?;
    let b = super::super::vector(order, x.len());
    let (mut residual, mut size) = (0.0, 0.0);
    for (row, b) in b.iter().enumerate() {
        let entries = a.pos[row] as usize..a.pos[row + 1] as usize;
        let pairs = a.crd[entries.clone()].iter().zip(&a.vals[entries]);
        let product: f64 = pairs
            .map(|(&column, value)| value * x[column as usize])
            .sum();
        residual += (b - product).powi(2);
        size += b * b;
    }
    Ok(f64::sqrt(residual / size))
}
