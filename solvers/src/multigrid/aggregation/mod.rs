//! Smoothed aggregation: hierarchies for matrices without a grid.

mod aggregates;
mod halo;
mod prolongator;
mod strength;
mod triple;

use self::aggregates::Aggregates;
use self::prolongator::{Basis, Tentative, by_row};
use self::strength::{NodeRows, graph};
use self::triple::triple_product;
use super::coarsest::{Coarsest, MOST_ROWS};
use super::cycle::{Hierarchy, Level};
use super::options::{CoarseSolver, Cycle, CycleOptions, Smoother};
use super::smoother::{Relaxation, check_eigenvalue, largest_eigenvalue};
use crate::operator::check_square;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Shape, try_collect};
use sparsefuse_sparse::{Csr, Ghosts, eager};
use std::iter::repeat_n;
use std::sync::Arc;

/// What a hierarchy by smoothed aggregation is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregationOptions {
    /// Nodes are strongly connected if |A_IJ|^2 >= theta^2 |A_II| |A_JJ|; on each level theta is
    /// half of what it is on the one above.
    pub theta: f64,
    /// Rows that belong together, such as the displacements of a point.
    pub block: usize,
    /// The cycle; [`Cycle::VW`] unless it is chosen.
    pub cycle: CycleOptions,
}

impl Default for AggregationOptions {
    fn default() -> Self {
        Self {
            theta: 0.08,
            block: 1,
            cycle: CycleOptions {
                cycle: Cycle::VW,
                ..CycleOptions::default()
            },
        }
    }
}

/// How a hierarchy was made, to make it again with other values.
#[derive(Clone, Debug)]
pub(super) struct AggregationSetup<T> {
    basis: Basis<T>,
    steps: Vec<Step<T>>,
    options: AggregationOptions,
}

/// From one level to the next.
#[derive(Clone, Debug)]
struct Step<T> {
    restriction: Csr<T>,
    prolongation: Csr<T>,
    /// R A P, whose structure is used again.
    coarse: Csr<T>,
}

impl<T: Field> AggregationSetup<T> {
    pub(super) fn new(
        a: &Csr<T>,
        near_nullspace: &[Vector<T>],
        options: &AggregationOptions,
    ) -> Result<Self, Error> {
        check(a, near_nullspace, options)?;
        let a = &on_default_rows(a)?;
        Ok(Self {
            basis: basis(a, near_nullspace, options.block)?,
            steps: Vec::new(),
            options: options.clone(),
        })
    }

    /// The hierarchy for a matrix, with the prolongators that are there, or new ones.
    pub(super) fn hierarchy(&mut self, a: &Csr<T>) -> Result<Hierarchy<T>, Error> {
        let mut options = self.options.cycle.clone();
        let is_known = !self.steps.is_empty();
        let mut levels = Vec::new();
        let finest = on_default_rows(a)?;
        let mut a = finest.clone();
        let mut basis = self.basis.clone();
        let mut block = self.options.block;
        let mut theta = self.options.theta;
        loop {
            let is_last = levels.len() + 1 >= options.max_levels || a.n_rows() <= options.coarsest;
            if is_last || (is_known && levels.len() == self.steps.len()) {
                break;
            }
            let lambda = check_eigenvalue(largest_eigenvalue(&a)?)?;
            if is_known {
                self.steps[levels.len()].update(&a)?;
            } else {
                let Some((step, coarse)) = step(&a, &basis, block, theta, lambda)? else {
                    break;
                };
                self.steps.push(step);
                (block, basis) = (coarse.len, coarse);
                theta *= 0.5;
            }
            let step = &self.steps[levels.len()];
            levels.push(Level {
                relaxation: relaxation(&a, options.smoother, lambda)?,
                a,
                restriction: step.restriction.clone(),
                prolongation: step.prolongation.clone(),
            });
            a = step.coarse.clone();
        }
        if a.n_rows() > MOST_ROWS && options.coarse_solver == CoarseSolver::Inverse {
            options.coarse_solver = CoarseSolver::Smoother;
        }
        let coarsest = Coarsest::new(&a, &finest, &options, || {
            let lambda = check_eigenvalue(largest_eigenvalue(&a)?)?;
            relaxation(&a, options.smoother, lambda)
        })?;
        Ok(Hierarchy {
            levels,
            last: a,
            coarsest,
            options,
        })
    }
}

impl<T: Field> Step<T> {
    fn update(&mut self, a: &Csr<T>) -> Result<(), Error> {
        let coarse = triple_product(&self.restriction, a, &self.prolongation)?;
        self.coarse = self.coarse.with_values(coarse.values().clone())?;
        Ok(())
    }
}

/// The smoother of a level, whose largest eigenvalue of D^-1 A is known.
fn relaxation<T: Field>(
    a: &Csr<T>,
    smoother: Smoother,
    lambda: f64,
) -> Result<Relaxation<T>, Error> {
    Relaxation::new(a, smoother, Some(4.0 / 3.0 / lambda), Some(lambda), None)
}

/// A step, and the near-nullspace of the level that it leads to.
type NextLevel<T> = (Step<T>, Basis<T>);

/// The step from a level to the next one, and that one's near-nullspace; `None` where no node is
/// strongly connected, or hardly any.
fn step<T: Field>(
    a: &Csr<T>,
    basis: &Basis<T>,
    block: usize,
    theta: f64,
    lambda: f64,
) -> Result<Option<NextLevel<T>>, Error> {
    let (rows, graph) = eager("strength", &[a], || {
        let rows = NodeRows::new(a, block)?;
        let graph = graph(a, &rows, theta)?;
        Ok((rows, graph))
    })?;
    let aggregates = eager("aggregate", &[a], || Aggregates::new(&graph, &rows))?;
    let n_coarse = aggregates.count * basis.len;
    if n_coarse == 0 || 10 * n_coarse > 9 * a.n_rows() {
        return Ok(None);
    }
    let tentative = || Tentative::new(&graph, &aggregates, basis, block);
    let tentative = eager("tentative", &[a], tentative)?;
    let coarse = tentative.coarse.clone();
    let omega = 4.0 / 3.0 / lambda;
    let smoothed = || tentative.smoothed(a, &rows, &graph, &aggregates, omega);
    let prolongation = eager("prolongator", &[a], smoothed)?;
    let restriction = prolongation.adjoint()?;
    let step = Step {
        coarse: triple_product(&restriction, a, &prolongation)?,
        restriction,
        prolongation,
    };
    Ok(Some((step, coarse)))
}

/// The matrix with its rows where those of new matrices are, as the matrices of all other levels
/// have them.
fn on_default_rows<T: Field>(a: &Csr<T>) -> Result<Csr<T>, Error> {
    let own = a.own_rows()?;
    let runtime = a.runtime();
    let (default, wanted) = runtime.default_rows(Shape::new(&[a.n_rows()]));
    if default == own.partition() || own.is_replicated() {
        return Ok(a.clone());
    }
    let ghosts = Ghosts::of_range(runtime, own.partition(), wanted)?;
    let rows = ghosts.fetch_rows(own.as_rows())?;
    runtime.enter(|| Csr::from_rows(a.n_rows(), a.n_cols(), |_| rows))
}

/// The near-nullspace, row by row; ones, or the unit vectors of each block, if there is none.
fn basis<T: Field>(a: &Csr<T>, vectors: &[Vector<T>], block: usize) -> Result<Basis<T>, Error> {
    let own = a.own_rows()?;
    let rows = own.rows();
    if vectors.is_empty() {
        let units = try_collect(repeat_n(T::ZERO, rows.len() * block));
        let mut units = a.runtime().agree(units)?;
        for (row, unit) in rows.zip(units.chunks_exact_mut(block)) {
            unit[row % block] = T::ONE;
        }
        return Ok(Basis {
            len: block,
            partition: own.partition(),
            own: Arc::new(units),
        });
    }
    let part = |vector: &Vector<T>| -> Result<Vec<T>, Error> {
        let vector = vector.contiguous()?;
        let local = a.runtime().agree(vector.local())?;
        let part = match local.partition() == own.partition() {
            true => try_collect(local.iter().copied()),
            false => try_collect(vector.to_vec()?[rows.clone()].iter().copied()),
        };
        a.runtime().agree(part)
    };
    let columns = vectors.iter().map(part).collect::<Result<Vec<_>, _>>()?;
    Ok(Basis {
        len: vectors.len(),
        partition: own.partition(),
        own: Arc::new(a.runtime().agree(by_row(&columns))?),
    })
}

fn check<T: Field>(
    a: &Csr<T>,
    near_nullspace: &[Vector<T>],
    options: &AggregationOptions,
) -> Result<(), Error> {
    const OP: &str = "multigrid";
    check_square(OP, a)?;
    if options.block == 0 || !a.n_rows().is_multiple_of(options.block.max(1)) {
        let expected = format!("blocks of rows that divide the {} rows", a.n_rows());
        return Err(Error::argument(OP, expected, options.block.to_string()));
    }
    if !(options.theta >= 0.0 && options.theta < 1.0) {
        let expected = "theta of 0 or more and below 1";
        return Err(Error::argument(OP, expected, options.theta.to_string()));
    }
    let mut vectors = near_nullspace.iter();
    vectors.try_for_each(|vector| Error::check_shape(OP, &[a.n_rows()], &vector.shape()))
}
