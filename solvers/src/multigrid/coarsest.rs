//! The last level: a system that is small, or a smoother alone.

use super::options::{CoarseSolver, CycleOptions};
use super::smoother::Relaxation;
use super::square;
use num_complex::Complex;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::{Csr, LocalRows};

/// The most rows of which an inverse is made: 128 MB of 64-bit floats.
pub(super) const MOST_ROWS: usize = 4000;

/// The solver of the last level.
#[derive(Clone, Debug)]
pub(super) enum Coarsest<T> {
    /// x = A^-1 b, one task.
    Inverse(Array<T, 2>),
    /// The steps of the smoother before the coarse correction.
    Smoother {
        a: Csr<T>,
        relaxation: Relaxation<T>,
        steps: usize,
    },
}

impl<T: Field> Coarsest<T> {
    /// The solver for a matrix; `relaxation` makes its smoother.
    pub(super) fn new(
        a: &Csr<T>,
        options: &CycleOptions,
        relaxation: impl FnOnce() -> Result<Relaxation<T>, Error>,
    ) -> Result<Self, Error> {
        match options.coarse_solver {
            CoarseSolver::Inverse => Ok(Self::Inverse(inverse(a)?)),
            CoarseSolver::Smoother => Ok(Self::Smoother {
                a: a.clone(),
                relaxation: relaxation()?,
                steps: options.pre,
            }),
        }
    }

    pub(super) fn solve(&self, b: &Vector<T>) -> Result<Vector<T>, Error> {
        match self {
            Self::Inverse(inverse) => inverse.try_matvec(b),
            Self::Smoother {
                a,
                relaxation,
                steps,
            } => relaxation.alone(a, b, *steps),
        }
    }
}

/// The inverse of a matrix, in double precision, every rank the whole.
fn inverse<T: Field>(a: &Csr<T>) -> Result<Array<T, 2>, Error> {
    let n = a.n_rows();
    if n > MOST_ROWS {
        let expected = format!("a last level of at most {MOST_ROWS} rows, or one that is smoothed");
        return Err(Error::argument("multigrid", expected, n.to_string()));
    }
    let rows = a.to_rows()?;
    let inverse = match T::IS_COMPLEX {
        true => inverse_in::<T, Complex<f64>>(n, &rows),
        false => inverse_in::<T, f64>(n, &rows),
    };
    let elements = inverse.map_err(|column| {
        let expected = "a regular matrix on the last level";
        let found = format!("one whose column {column} depends on those before it");
        Error::argument("multigrid", expected, found)
    })?;
    a.runtime()
        .enter(|| Array::from_shape_vec([n, n], elements))
}

/// The inverse of a matrix, computed with elements of type `W`; fails as [`invert`]. Rows without
/// entries are those of the identity: nothing is known, and nothing asked, of their unknowns.
fn inverse_in<T: Field, W: Field>(n: usize, rows: &LocalRows<T>) -> Result<Vec<T>, usize> {
    let mut dense = vec![W::ZERO; n * n];
    for row in 0..n {
        let entries = rows.pos[row] as usize..rows.pos[row + 1] as usize;
        for k in entries.clone() {
            let (re, im) = rows.vals[k].parts();
            dense[row * n + rows.crd[k] as usize] = W::from_parts(re, im);
        }
        if rows.vals[entries].iter().all(|&value| value == T::ZERO) {
            dense[row * n + row] = W::ONE;
        }
    }
    invert(n, &mut dense)?;
    let narrow = |value: W| {
        let (re, im) = value.parts();
        T::from_parts(re, im)
    };
    Ok(dense.into_iter().map(narrow).collect())
}

/// Gauss-Jordan elimination in place, with pivots searched within the column; fails with the
/// number of a column in which there is none.
fn invert<W: Field>(n: usize, a: &mut [W]) -> Result<(), usize> {
    let largest = a.iter().copied().map(square).fold(0.0, f64::max).sqrt();
    let mut swaps = Vec::with_capacity(n);
    for k in 0..n {
        let size = |row: usize| square(a[row * n + k]).sqrt();
        let pivot = (k..n).fold(
            k,
            |best, row| if size(row) > size(best) { row } else { best },
        );
        if !(size(pivot) > largest * n as f64 * f64::EPSILON) {
            return Err(k);
        }
        swaps.push(pivot);
        for column in 0..n {
            a.swap(k * n + column, pivot * n + column);
        }
        let scale = W::ONE / a[k * n + k];
        a[k * n + k] = W::ONE;
        a[k * n..(k + 1) * n]
            .iter_mut()
            .for_each(|value| *value = *value * scale);
        let pivot_row = a[k * n..(k + 1) * n].to_vec();
        for row in (0..n).filter(|&row| row != k) {
            let factor = std::mem::take(&mut a[row * n + k]);
            if factor != W::ZERO {
                let others = a[row * n..(row + 1) * n].iter_mut();
                for (value, &pivot) in others.zip(&pivot_row) {
                    *value = *value - factor * pivot;
                }
            }
        }
    }
    for (k, pivot) in swaps.into_iter().enumerate().rev() {
        for row in 0..n {
            a.swap(row * n + k, row * n + pivot);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsefuse_kernels::random;

    #[test]
    fn inverses_are_inverses() {
        for n in [1, 2, 7, 30] {
            let part = |k: usize| random::uniform(3, k as u64) - 0.5;
            let a: Vec<_> = (0..n * n)
                .map(|k| Complex::new(part(2 * k), part(2 * k + 1)))
                .collect();
            let mut inverse = a.clone();
            assert_eq!(invert(n, &mut inverse), Ok(()));
            for (row, column) in (0..n).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let product: Complex<f64> = (0..n)
                    .map(|k| a[row * n + k] * inverse[k * n + column])
                    .sum();
                let expected = if row == column { 1.0 } else { 0.0 };
                assert!((product - expected).norm() < 1e-9, "{n}: {row}, {column}");
            }
        }
    }

    #[test]
    fn a_singular_matrix_is_refused() {
        let mut a = [1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 1.0, 1.0, 1.0];
        assert!(invert(3, &mut a).is_err());
    }
}
