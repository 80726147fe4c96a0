//! Loops over compressed rows as one writes them without a library.
//!
//! Products are split among threads by nonzeros, so that a few very long rows do no harm.
//! Conjugate gradients run on one thread, one loop for each operation.

use super::{Order, Prepared, unknown, vector};
use crate::matrices;
use rayon::prelude::*;
use sparsefuse::sparse::LocalRows;
use std::ops::Range;

const VERSION: &str = "loops over compressed rows, compiled with this program";

pub(super) fn prepare(order: &Order) -> Result<Prepared, String> {
    let a = matrices::read(&order.matrix)?;
    let n_rows = a.pos.len() - 1;
    let b = vector(order, n_rows);
    match order.work.as_str() {
        "spmv" if order.threads == 1 => Ok(Prepared::into_vector(
            order,
            VERSION,
            n_rows,
            move |y, _| {
                product(&a, 0..n_rows, &b, y);
            },
        )),
        "spmv" => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(order.threads);
            let pool = pool.build().map_err(|error| error.to_string())?;
            let parts = split(&a, order.threads);
            Ok(Prepared::into_vector(
                order,
                VERSION,
                n_rows,
                move |y, _| {
                    pool.install(|| divided_product(&a, &parts, &b, y));
                },
            ))
        }
        "cg" if order.threads == 1 => {
            let mut work = [vec![0.0; n_rows], vec![0.0; n_rows], vec![0.0; n_rows]];
            Ok(Prepared::into_vector(
                order,
                VERSION,
                n_rows,
                move |x, iterations| {
                    cg(&a, &b, x, &mut work, iterations);
                },
            ))
        }
        _ => Err(unknown(order)),
    }
}

/// Rows whose entries are about as many for each thread.
fn split(a: &LocalRows<f64>, threads: usize) -> Vec<Range<usize>> {
    let begin = |part: usize| {
        let entries = (a.crd.len() * part / threads) as u64;
        match part {
            0 => 0,
            _ if part == threads => a.pos.len() - 1,
            _ => a.pos.partition_point(|&pos| pos < entries),
        }
    };
    (0..threads)
        .map(|part| begin(part)..begin(part + 1))
        .collect()
}

/// The product of some rows; `y` has those rows alone.
fn product(a: &LocalRows<f64>, rows: Range<usize>, x: &[f64], y: &mut [f64]) {
    for (row, y) in rows.zip(y) {
        let entries = a.pos[row] as usize..a.pos[row + 1] as usize;
        let pairs = a.crd[entries.clone()].iter().zip(&a.vals[entries]);
        *y = pairs
            .map(|(&column, value)| value * x[column as usize])
            .sum();
    }
}

fn divided_product(a: &LocalRows<f64>, parts: &[Range<usize>], x: &[f64], y: &mut [f64]) {
    let mut rest = y;
    let mut work = Vec::with_capacity(parts.len());
    for part in parts {
        let (mine, others) = rest.split_at_mut(part.len());
        work.push((part.clone(), mine));
        rest = others;
    }
    work.into_par_iter()
        .for_each(|(rows, y)| product(a, rows, x, y));
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn cg(a: &LocalRows<f64>, b: &[f64], x: &mut [f64], work: &mut [Vec<f64>; 3], iterations: usize) {
    let [r, p, q] = work;
    x.fill(0.0);
    r.copy_from_slice(b);
    p.copy_from_slice(b);
    let mut rho = dot(r, r);
    for _ in 0..iterations {
        product(a, 0..b.len(), p, q);
        let alpha = rho / dot(p, q);
        x.iter_mut().zip(&*p).for_each(|(x, p)| *x += alpha * p);
        r.iter_mut().zip(&*q).for_each(|(r, q)| *r -= alpha * q);
        let rho_next = dot(r, r);
        let beta = rho_next / rho;
        p.iter_mut().zip(&*r).for_each(|(p, r)| *p = r + beta * *p);
        rho = rho_next;
    }
}
