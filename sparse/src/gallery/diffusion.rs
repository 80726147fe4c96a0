//! Matrices with the structures of the Poisson problems and of `banded`, whose coefficients vary.
//!
//! No value repeats but the two of a symmetric pair, so what is stored for these matrices is what a
//! program with measured coefficients stores. All are symmetric to the bit and positive definite.

use crate::assembly;
use crate::formats::csr::Csr;
use crate::local::rows::LocalRows;
use sparsefuse_kernels::{Field, random};
use sparsefuse_runtime::Error;
use std::ops::Range;

/// The stream of the random part of the coefficients.
const SEED: u64 = 0x5eed;
/// The stream of the main diagonal of a band.
const DIAGONAL_SEED: u64 = 0xd1a6;

/// -div(k grad u) on an `n` by `n` grid of finite volumes, five points a row: k is a hill plus
/// noise, from 1 to 3, the coefficient of a face the harmonic mean of the two sides, u = 0 on the
/// boundary. SPD, `n * n` rows.
///
/// # Errors
///
/// If the matrix has more rows than 32-bit indices can name.
pub fn diffusion2d<T: Field>(n: usize) -> Result<Csr<T>, Error> {
    diffusion(&[n, n])
}

/// The same as [`diffusion2d`] on an `n` by `n` by `n` grid, seven points a row. SPD, `n * n * n`
/// rows.
///
/// # Errors
///
/// If the matrix has more rows than 32-bit indices can name.
pub fn diffusion3d<T: Field>(n: usize) -> Result<Csr<T>, Error> {
    diffusion(&[n, n, n])
}

fn diffusion<T: Field>(sides: &[usize]) -> Result<Csr<T>, Error> {
    let grid = super::Grid::new("diffusion", sides)?;
    let (n, dims) = (grid.len(), sides.len());
    let make = move |rows: Range<usize>| {
        let mut local = LocalRows::try_with_capacity(rows.len(), rows.len() * (2 * dims + 1))?;
        for row in rows {
            let here = coefficient(&grid, row);
            let face = |cell: usize| {
                let there = coefficient(&grid, cell);
                2.0 * (here * there) / (here + there)
            };
            let before = (0..dims).map(|d| grid.before(row, d));
            let after = (0..dims).rev().map(|d| grid.after(row, d));
            // The value on the boundary is half a cell away.
            let mut center = 0.0;
            for beside in before.clone().chain(after.clone()) {
                center += beside.map_or(2.0 * here, face);
            }
            for cell in before.flatten() {
                local.push(cell as u32, T::from_f64(-face(cell)));
            }
            local.push(row as u32, T::from_f64(center));
            for cell in after.flatten() {
                local.push(cell as u32, T::from_f64(-face(cell)));
            }
            local.end_row();
        }
        Ok(local)
    };
    assembly::from_made(n, n, Box::new(make)).map(Csr::of_stores)
}

/// k in a cell: 1, a hill of height 1 in the middle of the grid, noise of [0, 1).
fn coefficient(grid: &super::Grid<'_>, cell: usize) -> f64 {
    let hill: f64 = (0..grid.sides.len())
        .map(|d| (grid.along(cell, d) as f64 + 0.5) / grid.sides[d] as f64)
        .map(|x| 4.0 * x * (1.0 - x))
        .product();
    1.0 + hill + random::uniform(SEED, cell as u64)
}

/// A band of `diagonals` full diagonals around the main one, which is `diagonals` and less than 1
/// more; the others are symmetric and random, of (-1, 0]. Strictly diagonally dominant, so SPD.
///
/// # Errors
///
/// If the number of diagonals is even, or the matrix too large for 32-bit indices.
pub fn banded_varying<T: Field>(n: usize, diagonals: usize) -> Result<Csr<T>, Error> {
    let reach = (diagonals / 2).min(n);
    let value = |row: usize, column: usize| {
        let (low, distance) = (row.min(column), row.abs_diff(column));
        match distance {
            0 => diagonals as f64 + random::uniform(DIAGONAL_SEED, row as u64),
            _ => -random::uniform(SEED, (low * reach + distance - 1) as u64),
        }
    };
    super::of_band("banded_varying", n, diagonals, value)
}
