//! Mass matrices: B of A x = lambda B x, which is Hermitian and positive (semi)definite. Vectors
//! are orthogonal in its inner product, x'B y.

use super::{check_hermitian, scale};
use crate::operator::{LinearOperator, check_finite, check_same_runtime, check_square};
use crate::powers::times_power_of_entries;
use crate::preconditioners::{Direct, is_singular, splu};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Runtime};
use sparsefuse_sparse::Csr;

/// A mass matrix at a scale that suits the methods.
pub(super) struct Mass<T> {
    /// B divided by 2^`power`.
    pub(super) matrix: Csr<T>,
    /// An even number: vectors are multiplied by the root of that power.
    pub(super) power: i32,
}

impl<T: Field> Mass<T> {
    /// The one that is given, if one is.
    pub(super) fn of(
        op: &'static str,
        a: &dyn LinearOperator<T>,
        mass: Option<&Csr<T>>,
    ) -> Result<Option<Self>, Error> {
        mass.map(|mass| Self::new(op, a, mass)).transpose()
    }

    /// Checks that it is one for the operator.
    fn new(op: &'static str, a: &dyn LinearOperator<T>, mass: &Csr<T>) -> Result<Self, Error> {
        check_square(op, mass)?;
        if mass.shape() != a.shape() {
            let expected = format!("a mass matrix of shape {:?}", a.shape());
            let found = format!("one of shape {:?}", mass.shape());
            return Err(Error::argument(op, expected, found));
        }
        check_same_runtime(
            op,
            "a mass matrix of the operator's runtime",
            mass.runtime(),
            a.runtime(),
        )?;
        check_finite(op, mass)?;
        check_hermitian(op, mass)?;
        let power = scale::power_of(op, mass)? / 2 * 2;
        Ok(Self {
            matrix: times_power_of_entries(mass, -power),
            power,
        })
    }

    /// The inverse of B, which factors apply.
    pub(super) fn inverse(&self, op: &'static str) -> Result<Direct<T>, Error> {
        splu(&self.matrix).map_err(|error| match is_singular(&error) {
            true => Error::argument(
                op,
                "a mass matrix that is positive definite",
                "a singular one, which `eigsh_near` takes",
            ),
            false => error,
        })
    }
}

/// The inner product x'B y of a method, and which vectors it has.
#[derive(Clone, Copy)]
pub(super) struct Inner<'a, T> {
    /// B.
    pub(super) mass: &'a Csr<T>,
    /// Whether all vectors are images under the operator, which B does not map to 0 where it is
    /// singular.
    pub(super) is_of_images: bool,
}

/// One operator after another.
pub(super) struct After<'a, T> {
    pub(super) first: &'a dyn LinearOperator<T>,
    pub(super) then: &'a dyn LinearOperator<T>,
}

impl<T: Field> LinearOperator<T> for After<'_, T> {
    fn shape(&self) -> (usize, usize) {
        (self.then.shape().0, self.first.shape().1)
    }

    fn apply(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        self.then.apply(&self.first.apply(x)?)
    }

    fn runtime(&self) -> Option<&Runtime> {
        self.first.runtime().or(self.then.runtime())
    }
}
