//! Reductions of arrays to scalars, each one task. They add in the order that the runtime's tile
//! length fixes, so they give the same bits on any number of threads and ranks.

use crate::array::Array;
use crate::bodies::{self, Operation, Term};
use crate::scalar::Scalar;
use crate::twins::twins;
use sparsefuse_kernels::{Element, Field, Numeric, ReduceOp};
use sparsefuse_runtime::{Error, Shape, TaskArg};

twins! {
    methods [T: Numeric, const D: usize] Array<T, D>;
    /// The sum of all elements. One task, which reads each element once; like all reductions it
    /// adds in the order that the runtime's tile length fixes, so it gives the same bits on any
    /// number of threads and ranks.
    sum try_sum(&self) -> Scalar<T> { self.reduce(Operation::Reduce(ReduceOp::Sum)) }
    /// The product of all elements. One task, which reads each element once.
    prod try_prod(&self) -> Scalar<T> { self.reduce(Operation::Reduce(ReduceOp::Prod)) }
    /// The sum of the absolute values of all elements, of a matrix too, whose norm as an operator
    /// is its `matrix_norm`. One task.
    norm1 try_norm1(&self) -> Scalar<T::Real> { self.reduce(Operation::ReduceOf(Term::Absolute)) }
    /// The sum of the squares of the absolute values. One task.
    sum_of_squares try_sum_of_squares(&self) -> Scalar<T::Real> {
        self.reduce(Operation::ReduceOf(Term::Square))
    }
    /// The Euclidean norm: the square root of [`Array::sum_of_squares`]. One task and one on a
    /// scalar.
    norm2 try_norm2(&self) -> Scalar<T::Real> { self.try_sum_of_squares()?.try_sqrt() }
    /// The largest absolute value of all elements, of a matrix too, whose norm as an operator is
    /// its `matrix_norm`; 0 if the array is empty. One task.
    norm_inf try_norm_inf(&self) -> Scalar<T::Real> {
        if self.is_empty() {
            // Nothing is above 0, and the maximum of nothing is not a norm.
            return Ok(self.runtime().enter(|| Scalar::new(T::Real::ZERO)));
        }
        self.reduce(Operation::ReduceOf(Term::Largest))
    }
}

twins! {
    methods [T: Field, const D: usize] Array<T, D>;
    /// The mean of all elements; NaN if there are none. One task and one on a scalar.
    mean try_mean(&self) -> Scalar<T> { self.try_sum()?.try_div(T::from_f64(self.len() as f64)) }
}

twins! {
    methods [const D: usize] Array<bool, D>;
    /// Whether any element is true. One task.
    any try_any(&self) -> Scalar<bool> { self.reduce(Operation::Reduce(ReduceOp::Any)) }
    /// Whether all elements are true. One task.
    all try_all(&self) -> Scalar<bool> { self.reduce(Operation::Reduce(ReduceOp::All)) }
}

twins! {
    @ "If the shapes differ.";
    [T: Numeric, const D: usize] Array<T, D>;
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
    dot try_dot(&self, other: &Self) -> Scalar<T> {
        self.reduce_product("dot", Term::ConjugateProduct, other)
    }

    /// The sum of `self * other`, with nothing conjugated. One task, which reads each array once.
    dot_unconjugated try_dot_unconjugated(&self, other: &Self) -> Scalar<T> {
        self.reduce_product("dot_unconjugated", Term::Product, other)
    }
}

impl<T: Numeric, const D: usize> Array<T, D> {
    fn reduce_product(
        &self,
        op: &'static str,
        term: Term,
        other: &Self,
    ) -> Result<Scalar<T>, Error> {
        Error::check_shape(op, &self.shape(), &other.shape())?;
        let store = self.runtime().new_store(Shape::SCALAR, T::DTYPE);
        let body = bodies::body(Operation::ReduceOf(term), T::DTYPE);
        let args = [self.arg(), other.arg(), TaskArg::from(&store)];
        self.runtime().submit(body, &args, &[])?;
        Ok(Scalar::wrap(store))
    }
}

twins! {
    @ "If the array is empty.";
    [T: Numeric + PartialOrd, const D: usize] Array<T, D>;
    /// The smallest element; NaN if any is NaN. One task.
    min try_min(&self) -> Scalar<T> { self.reduce_by_order(ReduceOp::Min) }
    /// The largest element; NaN if any is NaN. One task.
    max try_max(&self) -> Scalar<T> { self.reduce_by_order(ReduceOp::Max) }
    /// The flat index of the smallest element, the first of equals; of the first NaN if there is
    /// one. One task.
    argmin try_argmin(&self) -> Scalar<i64> { self.reduce_by_order(ReduceOp::ArgMin) }
    /// The flat index of the largest element, the first of equals; of the first NaN if there is
    /// one. One task.
    argmax try_argmax(&self) -> Scalar<i64> { self.reduce_by_order(ReduceOp::ArgMax) }
}

impl<T: Element, const D: usize> Array<T, D> {
    fn reduce<U: Element>(&self, operation: Operation) -> Result<Scalar<U>, Error> {
        let store = self.runtime().new_store(Shape::SCALAR, U::DTYPE);
        let body = bodies::body(operation, T::DTYPE);
        let args = [self.arg(), TaskArg::from(&store)];
        self.runtime().submit(body, &args, &[])?;
        Ok(Scalar::wrap(store))
    }

    fn reduce_by_order<U: Element>(&self, op: ReduceOp) -> Result<Scalar<U>, Error> {
        if self.is_empty() {
            let found = format!("one of shape {}", self.arg().shape());
            return Err(Error::argument(op.name(), "an array with elements", found));
        }
        self.reduce(Operation::Reduce(op))
    }
}
