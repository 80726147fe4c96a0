//! Matrices that are made, not read: each rank makes its own rows.

mod diffusion;
mod rmat;
mod uniform;

pub use diffusion::{banded_varying, diffusion2d, diffusion3d};
pub use rmat::rmat;
pub use uniform::random_array;

use crate::assembly;
use crate::formats::csr::Csr;
use crate::local::rows::{LocalRows, sort_by_column};
use sparsefuse_kernels::{Field, random};
use sparsefuse_runtime::Error;
use std::ops::Range;

/// The second difference on `n` points: 2 on the diagonal, -1 beside it. SPD.
///
/// # Errors
///
/// If the matrix has more rows than 32-bit indices can name.
pub fn poisson1d<T: Field>(n: usize) -> Result<Csr<T>, Error> {
    poisson(&[n])
}

/// The five-point Laplacian on an `n` by `n` grid: 4 on the diagonal, -1 for each neighbour. SPD,
/// `n * n` rows.
///
/// # Errors
///
/// If the matrix has more rows than 32-bit indices can name.
pub fn poisson2d<T: Field>(n: usize) -> Result<Csr<T>, Error> {
    poisson(&[n, n])
}

/// The seven-point Laplacian on an `n` by `n` by `n` grid: 6 on the diagonal, -1 for each
/// neighbour. SPD, `n * n * n` rows.
///
/// # Errors
///
/// If the matrix has more rows than 32-bit indices can name.
pub fn poisson3d<T: Field>(n: usize) -> Result<Csr<T>, Error> {
    poisson(&[n, n, n])
}

/// The Laplacian on a grid with the given side lengths, row-major, Dirichlet boundary.
fn poisson<T: Field>(sides: &[usize]) -> Result<Csr<T>, Error> {
    let grid = Grid::new("poisson", sides)?;
    let n = grid.len();
    let center = T::from_f64(2.0 * sides.len() as f64);
    let beside = T::from_f64(-1.0);
    let make = move |rows: Range<usize>| {
        let mut local =
            LocalRows::try_with_capacity(rows.len(), rows.len() * (2 * sides.len() + 1))?;
        for row in rows {
            for cell in (0..sides.len()).filter_map(|d| grid.before(row, d)) {
                local.push(cell as u32, beside);
            }
            local.push(row as u32, center);
            for cell in (0..sides.len()).rev().filter_map(|d| grid.after(row, d)) {
                local.push(cell as u32, beside);
            }
            local.end_row();
        }
        Ok(local)
    };
    assembly::from_made(n, n, Box::new(make)).map(Csr::of_stores)
}

/// A row-major grid.
struct Grid<'a> {
    sides: &'a [usize],
    strides: Vec<usize>,
}

impl<'a> Grid<'a> {
    /// The grid, whose cells must be as few as rows of a matrix may be.
    fn new(op: &'static str, sides: &'a [usize]) -> Result<Self, Error> {
        let n = sides
            .iter()
            .try_fold(1usize, |n, &side| n.checked_mul(side))
            .unwrap_or(usize::MAX);
        assembly::check_shape(op, n, n)?;
        let mut strides = vec![1; sides.len()];
        for d in (0..sides.len().saturating_sub(1)).rev() {
            strides[d] = strides[d + 1] * sides[d + 1];
        }
        Ok(Self { sides, strides })
    }

    fn len(&self) -> usize {
        self.sides.iter().product()
    }

    /// The coordinate of a cell in dimension `d`.
    fn along(&self, cell: usize, d: usize) -> usize {
        cell / self.strides[d] % self.sides[d]
    }

    /// The neighbour with the next lower coordinate.
    fn before(&self, cell: usize, d: usize) -> Option<usize> {
        (self.along(cell, d) > 0).then(|| cell - self.strides[d])
    }

    /// The neighbour with the next higher coordinate.
    fn after(&self, cell: usize, d: usize) -> Option<usize> {
        (self.along(cell, d) + 1 < self.sides[d]).then(|| cell + self.strides[d])
    }
}

/// A band of `diagonals` full diagonals around the main one: -1 everywhere but on the main
/// diagonal, which is `diagonals`. Strictly diagonally dominant, so SPD.
///
/// # Errors
///
/// If the number of diagonals is even, or the matrix too large for 32-bit indices.
pub fn banded<T: Field>(n: usize, diagonals: usize) -> Result<Csr<T>, Error> {
    let value = |row: usize, column: usize| {
        if row == column {
            diagonals as f64
        } else {
            -1.0
        }
    };
    of_band("banded", n, diagonals, value)
}

/// A band of full diagonals around the main one, and the value of each of its entries.
fn of_band<T: Field>(
    op: &'static str,
    n: usize,
    diagonals: usize,
    value: impl Fn(usize, usize) -> f64,
) -> Result<Csr<T>, Error> {
    assembly::check_shape(op, n, n)?;
    if diagonals.is_multiple_of(2) {
        let expected = "an odd number of diagonals";
        return Err(Error::argument(op, expected, diagonals.to_string()));
    }
    let reach = diagonals / 2;
    let make = move |rows: Range<usize>| {
        let most = rows.len().saturating_mul(diagonals.min(n));
        let mut local = LocalRows::try_with_capacity(rows.len(), most)?;
        for row in rows {
            let last = row.saturating_add(reach).min(n - 1);
            for column in row.saturating_sub(reach)..=last {
                local.push(column as u32, T::from_f64(value(row, column)));
            }
            local.end_row();
        }
        Ok(local)
    };
    assembly::from_made(n, n, Box::new(make)).map(Csr::of_stores)
}

/// A square matrix with about `per_row` entries beside the diagonal in each row, at random places,
/// uniform in [-1, 1), and a diagonal larger than the sum of their absolute values by 1. The same
/// seed gives the same matrix on any number of ranks. Nonsingular, not symmetric.
///
/// # Errors
///
/// If a row is to have more entries than columns (65536, if there are fewer), or the matrix is too
/// large for 32-bit indices.
pub fn random<T: Field>(n: usize, per_row: usize, seed: u64) -> Result<Csr<T>, Error> {
    assembly::check_shape("random", n, n)?;
    let most = n.max(1 << 16);
    if per_row > most {
        let expected = format!("at most {most} entries for each row");
        return Err(Error::argument("random", expected, per_row.to_string()));
    }
    let make = move |rows: Range<usize>| {
        let mut local =
            LocalRows::try_with_capacity(rows.len(), rows.len() * (per_row.min(n) + 1))?;
        let mut entries: Vec<(u32, f64)> = Vec::with_capacity(per_row + 1);
        for row in rows {
            entries.clear();
            for k in 0..per_row {
                let number = (row * per_row + k) as u64;
                let column = random::bits(seed, 2 * number) % n as u64;
                if column != row as u64 {
                    let value = 2.0 * random::uniform(seed, 2 * number + 1) - 1.0;
                    entries.push((column as u32, value));
                }
            }
            sort_by_column(&mut entries);
            entries.dedup_by_key(|entry| entry.0);
            let sum: f64 = entries.iter().map(|(_, value)| value.abs()).sum();
            let place = entries.partition_point(|&(column, _)| (column as usize) < row);
            entries.insert(place, (row as u32, sum + 1.0));
            for &(column, value) in &entries {
                local.push(column, T::from_f64(value));
            }
            local.end_row();
        }
        Ok(local)
    };
    assembly::from_made(n, n, Box::new(make)).map(Csr::of_stores)
}
