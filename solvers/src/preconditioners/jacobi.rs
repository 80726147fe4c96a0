//! The Jacobi preconditioner.

use super::{Preconditioner, check_square, check_update};
use crate::operator::{LinearOperator, check_len};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Runtime};
use sparsefuse_sparse::Csr;

/// Division by the diagonal: z = D^-1 r. One task, two vectors read and one written.
///
/// Rows whose diagonal entry is 0 or not stored are left as they are.
#[derive(Clone, Debug)]
pub struct Jacobi<T> {
    inverse: Vector<T>,
}

impl<T: Field> Jacobi<T> {
    /// The preconditioner of a square matrix.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, or its values could not be computed.
    pub fn new(a: &Csr<T>) -> Result<Self, Error> {
        check_square("jacobi", a)?;
        let diagonal = a.diagonal(0)?;
        let divisor = diagonal.equal(T::ZERO).select(T::ONE, &diagonal);
        Ok(Self {
            inverse: divisor.recip(),
        })
    }
}

impl<T: Field> LinearOperator<T> for Jacobi<T> {
    fn shape(&self) -> (usize, usize) {
        (self.inverse.len(), self.inverse.len())
    }

    fn runtime(&self) -> Option<&Runtime> {
        Some(self.inverse.runtime())
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    fn apply(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        check_len("jacobi", self.inverse.len(), r)?;
        self.inverse.try_mul(r)
    }

    fn apply_adjoint(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        check_len("jacobi", self.inverse.len(), r)?;
        self.inverse.conj().try_mul(r)
    }
}

impl<T: Field> Preconditioner<T> for Jacobi<T> {
    fn update(&mut self, a: &Csr<T>) -> Result<(), Error> {
        check_update("jacobi", self, a)?;
        *self = Self::new(a)?;
        Ok(())
    }
}
