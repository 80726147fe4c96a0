//! What systems are solved for: a vector, the columns of a dense matrix, or those of a sparse one.

use crate::operator::check_rhs;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, reserve, try_collect};
use sparsefuse_sparse::{Csr, by_columns};

/// Columns of a sparse right-hand side that are dense at a time.
const COLUMNS: usize = 32;

/// How a system is solved for one vector, and for the columns of a matrix that has some.
type Solve<'s, T> = (
    &'s dyn Fn(&Vector<T>) -> Result<Vector<T>, Error>,
    &'s dyn Fn(&Array<T, 2>) -> Result<Array<T, 2>, Error>,
);

/// A right-hand side of systems of equations.
///
/// Implemented by this crate only.
pub trait RightSide<T: Field>: sealed::Sealed {
    /// What the solution is: of an array one, of a sparse matrix one.
    type Solution;

    #[doc(hidden)]
    fn solved(
        &self,
        of: (&'static str, usize),
        solve: Solve<'_, T>,
    ) -> Result<Self::Solution, Error>;

    #[doc(hidden)]
    fn check_is_finite(&self, op: &'static str) -> Result<(), Error>;
}

mod sealed {
    pub trait Sealed {}
}

impl<T, const D: usize> sealed::Sealed for Array<T, D> {}
impl<T> sealed::Sealed for Csr<T> {}

impl<T: Field, const D: usize> RightSide<T> for Array<T, D> {
    type Solution = Self;

    fn solved(
        &self,
        (op, n): (&'static str, usize),
        (vector, matrix): Solve<'_, T>,
    ) -> Result<Self, Error> {
        match self.shape()[..] {
            [n_rows, n_columns] if n_rows == n && n_columns > 0 => {
                matrix(&self.try_reshape([n_rows, n_columns])?)?.try_reshape(self.shape())
            }
            _ => by_columns((op, n, n), self, vector),
        }
    }

    fn check_is_finite(&self, op: &'static str) -> Result<(), Error> {
        check_rhs(op, self)
    }
}

impl<T: Field> RightSide<T> for Csr<T> {
    type Solution = Self;

    fn solved(
        &self,
        (op, n): (&'static str, usize),
        (_, matrix): Solve<'_, T>,
    ) -> Result<Self, Error> {
        let (n_rows, n_cols) = self.shape();
        Error::check_shape(op, &[n, n_cols], &[n_rows, n_cols])?;
        // Of a column without entries the solution is 0.
        let counts = self.nnz_per_column()?.to_vec()?;
        let columns = || {
            let mut columns = reserve(counts.iter().filter(|&&count| count > 0).count())?;
            columns.extend((0..n_cols).filter(|&column| counts[column] > 0));
            Ok(columns)
        };
        let columns: Vec<usize> = self.runtime().agree(columns())?;
        if columns.is_empty() {
            return Ok(self.clone());
        }
        let own = self.select_columns(&columns)?;
        let mut parts = Vec::new();
        for first in (0..columns.len()).step_by(COLUMNS) {
            let part = own.column_range(first..(first + COLUMNS).min(columns.len()))?;
            let x = matrix(&part.to_dense()?)?;
            parts.push(Self::from_dense(&x)?);
        }
        let x = Self::hstack(&parts.iter().collect::<Vec<_>>())?;
        if columns.len() == n_cols {
            return Ok(x);
        }
        let places = || {
            let pos = try_collect((0..columns.len() + 1).map(|column| column as u64))?;
            let crd = try_collect(columns.iter().map(|&column| column as u32))?;
            Ok((pos, crd, try_collect(columns.iter().map(|_| T::ONE))?))
        };
        let (pos, crd, ones) = self.runtime().agree(places())?;
        let places = self
            .runtime()
            .enter(|| Self::new(columns.len(), n_cols, pos, crd, ones));
        x.try_matmul(&places?)
    }

    fn check_is_finite(&self, op: &'static str) -> Result<(), Error> {
        self.first_not_finite()?.map_or(Ok(()), |entry| {
            let expected = "a right-hand side that is finite";
            Err(Error::argument(op, expected, entry.to_string()))
        })
    }
}
