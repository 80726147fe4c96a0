//! Reductions of arrays to scalars, each one task.

use crate::array::Array;
use crate::bodies::{self, Operation, Term};
use crate::operand::expect;
use crate::scalar::Scalar;
use sparsefuse_kernels::{Element, Field, Numeric, ReduceOp};
use sparsefuse_runtime::{Error, Shape, TaskArg};

/// Reductions add in the order that the runtime's tile length fixes, so they give the same bits on
/// any number of threads and ranks.
impl<T: Numeric, const D: usize> Array<T, D> {
    /// The sum of all elements. One task, which reads each element once.
    #[must_use]
    pub fn sum(&self) -> Scalar<T> {
        expect(self.reduce(Operation::Reduce(ReduceOp::Sum)))
    }

    /// The product of all elements. One task, which reads each element once.
    #[must_use]
    pub fn prod(&self) -> Scalar<T> {
        expect(self.reduce(Operation::Reduce(ReduceOp::Prod)))
    }

    /// The sum of `conj(self) * other`: the inner product, with the first operand conjugated as in
    /// NumPy's `vdot`, BLAS's `dotc` and mathematics. (PETSc's `VecDot(x, y)` conjugates `y`.)
    /// One task, which reads each array once.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![1.0, 2.0]);
    /// let y = Vector::from_vec(vec![3.0, 4.0]);
    /// assert_eq!(x.dot(&y).get()?, 11.0);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the shapes differ; [`Array::try_dot`] returns the error.
    #[must_use]
    #[track_caller]
    pub fn dot(&self, other: &Self) -> Scalar<T> {
        expect(self.try_dot(other))
    }

    /// As [`Array::dot`].
    ///
    /// # Errors
    ///
    /// If the shapes differ.
    pub fn try_dot(&self, other: &Self) -> Result<Scalar<T>, Error> {
        self.reduce_product("dot", Term::ConjugateProduct, other)
    }

    /// The sum of `self * other`, with nothing conjugated. One task, which reads each array once.
    ///
    /// # Panics
    ///
    /// If the shapes differ.
    #[must_use]
    #[track_caller]
    pub fn dot_unconjugated(&self, other: &Self) -> Scalar<T> {
        expect(self.reduce_product("dot_unconjugated", Term::Product, other))
    }

    /// The sum of the absolute values. One task.
    #[must_use]
    pub fn norm1(&self) -> Scalar<T::Real> {
        expect(self.reduce(Operation::ReduceOf(Term::Absolute)))
    }

    /// The sum of the squares of the absolute values. One task.
    #[must_use]
    pub fn sum_of_squares(&self) -> Scalar<T::Real> {
        expect(self.reduce(Operation::ReduceOf(Term::Square)))
    }

    /// The Euclidean norm: the square root of [`Array::sum_of_squares`]. One task and one on a
    /// scalar.
    #[must_use]
    pub fn norm2(&self) -> Scalar<T::Real> {
        self.sum_of_squares().sqrt()
    }

    /// The sum of conj(self) * other or self * other.
    fn reduce_product(
        &self,
        op: &'static str,
        term: Term,
        other: &Self,
    ) -> Result<Scalar<T>, Error> {
        let (left, right) = (self.arg().shape(), other.arg().shape());
        if left != right {
            return Err(Error::shape(op, left, right));
        }
        let store = self.runtime().new_store(Shape::SCALAR, T::DTYPE);
        let body = bodies::body(Operation::ReduceOf(term), T::DTYPE);
        let args = [self.arg(), other.arg(), TaskArg::from(&store)];
        self.runtime().submit(body, &args, &[])?;
        Ok(Scalar::wrap(store))
    }
}

impl<T: Element, const D: usize> Array<T, D> {
    fn reduce<U: Element>(&self, operation: Operation) -> Result<Scalar<U>, Error> {
        let store = self.runtime().new_store(Shape::SCALAR, U::DTYPE);
        let body = bodies::body(operation, T::DTYPE);
        let args = [self.arg(), TaskArg::from(&store)];
        self.runtime().submit(body, &args, &[])?;
        Ok(Scalar::wrap(store))
    }
}

impl<T: Field> Scalar<T> {
    /// The square root. One task on a scalar.
    #[must_use]
    pub fn sqrt(&self) -> Self {
        expect(crate::operators::unary::<T, T, _>(
            sparsefuse_kernels::UnaryOp::Sqrt,
            &self,
        ))
    }
}
