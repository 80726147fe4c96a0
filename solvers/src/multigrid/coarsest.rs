//! The last level: a system that is small, or a smoother alone.

use super::gauss_jordan::Machine;
use super::options::{CoarseSolver, CycleOptions};
use super::pseudo_inverse::pseudo_inverse;
use super::smoother::Relaxation;
use crate::preconditioners::{Direct, splu};
use num_complex::Complex;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::{Error, try_collect};
use sparsefuse_sparse::{Csr, LocalRows, Threads, eager};
use std::iter::repeat_n;
use std::sync::Arc;

/// The most rows of which an inverse is made: 128 MB of 64-bit floats.
pub(super) const MOST_ROWS: usize = 4000;

/// The solver of the last level.
#[derive(Clone, Debug)]
pub(super) enum Coarsest<T> {
    /// x = A^-1 b, one task.
    Inverse(Array<T, 2>),
    /// x = A^-1 b by sparse factors.
    Direct(Arc<Direct<T>>),
    /// The steps of the smoother before the coarse correction.
    Smoother {
        a: Csr<T>,
        relaxation: Relaxation<T>,
        steps: usize,
    },
}

impl<T: Field> Coarsest<T> {
    /// The solver for a matrix that `finest` has led to; `relaxation` makes its smoother.
    pub(super) fn new(
        a: &Csr<T>,
        finest: &Csr<T>,
        options: &CycleOptions,
        relaxation: impl FnOnce() -> Result<Relaxation<T>, Error>,
    ) -> Result<Self, Error> {
        match options.coarse_solver {
            CoarseSolver::Inverse => {
                let inverse = || inverse(a, finest);
                Ok(Self::Inverse(eager("coarse_inverse", &[a], inverse)?))
            }
            CoarseSolver::Direct => Ok(Self::Direct(Arc::new(splu(a)?))),
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
            Self::Direct(factors) => factors.solve(b),
            Self::Smoother {
                a,
                relaxation,
                steps,
            } => relaxation.alone(a, b, *steps),
        }
    }
}

/// The inverse of a matrix, in double precision, every rank the whole.
fn inverse<T: Field>(a: &Csr<T>, finest: &Csr<T>) -> Result<Array<T, 2>, Error> {
    let n = a.n_rows();
    if n > MOST_ROWS {
        let expected = format!(
            "a last level of at most {MOST_ROWS} rows, or one that is solved directly or smoothed"
        );
        return Err(Error::argument("multigrid", expected, n.to_string()));
    }
    let rows = a.to_rows()?;
    let scale = finest.kept_norm_max()?;
    let runtime = a.runtime();
    let machine = (&Threads::of(runtime), runtime.config().isa);
    let elements = match T::IS_COMPLEX {
        true => inverse_in::<T, Complex<f64>>(machine, n, &rows, scale),
        false => inverse_in::<T, f64>(machine, n, &rows, scale),
    };
    let elements = runtime.agree(elements)?;
    runtime.enter(|| Array::from_shape_vec([n, n], elements))
}

/// The inverse of a matrix, computed with elements of type `W`. Rows without entries are those of
/// the identity: nothing is known, and nothing asked, of their unknowns.
fn inverse_in<T: Field, W: Field>(
    machine: Machine<'_>,
    n: usize,
    rows: &LocalRows<T>,
    scale: f64,
) -> Result<Vec<T>, Error> {
    let mut dense = try_collect(repeat_n(W::ZERO, n * n))?;
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
    let inverse = pseudo_inverse(machine, n, dense, T::Real::EPSILON.to_f64(), scale);
    let narrow = |value: W| {
        let (re, im) = value.parts();
        T::from_parts(re, im)
    };
    try_collect(inverse?.into_iter().map(narrow))
}
