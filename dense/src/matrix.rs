//! Arrays of two dimensions as matrices: products with vectors, and reductions along an axis.

use crate::array::{Array, Vector};
use crate::bodies::{self, Operation};
use crate::operand::expect;
use crate::operators::binary;
use sparsefuse_kernels::{BinaryOp, Element, Field, Numeric, ReduceOp};
use sparsefuse_runtime::{Error, Shape, TaskArg};

impl<T: Numeric> Array<T, 2> {
    /// The matrix times a vector. One task, which reads the matrix once and all of the vector on
    /// every rank; it fuses with elementwise tasks on its result. A vector that is a view is copied
    /// first, by a task of its own. For the product with the
    /// transposed matrix, on one rank, `a.t().matvec(&x)` moves nothing; on several ranks, each
    /// fetches the columns it needs, so all of the matrix travels.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// let a = Array::from_shape_vec([2, 2], vec![1.0, 2.0, 3.0, 4.0])?;
    /// let x = Vector::from_vec(vec![1.0, 10.0]);
    /// assert_eq!(a.matvec(&x).to_vec()?, [21.0, 43.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the vector has not as many elements as the matrix has columns; [`Array::try_matvec`]
    /// returns the error.
    #[must_use]
    #[track_caller]
    pub fn matvec(&self, x: &Vector<T>) -> Vector<T> {
        expect(self.try_matvec(x))
    }

    /// As [`Array::matvec`].
    ///
    /// # Errors
    ///
    /// If the vector has not as many elements as the matrix has columns.
    pub fn try_matvec(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        let [n_rows, n_columns] = self.shape();
        if x.len() != n_columns {
            let expected = Shape::new(&[n_columns]);
            return Err(Error::shape("matvec", expected, x.arg().shape()));
        }
        let x = x.contiguous()?;
        let store = self.runtime().new_store(Shape::new(&[n_rows]), T::DTYPE);
        let body = bodies::body(Operation::MatVec, T::DTYPE);
        let args = [self.arg(), x.arg(), TaskArg::from(&store)];
        self.runtime().submit(body, &args, &[])?;
        Ok(Vector::wrap(store, None))
    }

    /// The sums along an axis: of each column for `axis` 0, of each row for `axis` 1. One task.
    /// On several ranks, sums of columns fetch the columns they need, so all of the matrix travels.
    ///
    /// # Panics
    ///
    /// If `axis` is above 1; [`Array::try_sum_axis`] returns the error.
    #[must_use]
    #[track_caller]
    pub fn sum_axis(&self, axis: usize) -> Vector<T> {
        expect(self.try_sum_axis(axis))
    }

    /// As [`Array::sum_axis`].
    ///
    /// # Errors
    ///
    /// If `axis` is above 1.
    pub fn try_sum_axis(&self, axis: usize) -> Result<Vector<T>, Error> {
        self.reduce_axis("sum_axis", ReduceOp::Sum, axis)
    }
}

impl<T: Field> Array<T, 2> {
    /// The mean along an axis, as [`Array::sum_axis`]; NaN where there is nothing to take the
    /// mean of.
    ///
    /// # Panics
    ///
    /// If `axis` is above 1; [`Array::try_mean_axis`] returns the error.
    #[must_use]
    #[track_caller]
    pub fn mean_axis(&self, axis: usize) -> Vector<T> {
        expect(self.try_mean_axis(axis))
    }

    /// As [`Array::mean_axis`].
    ///
    /// # Errors
    ///
    /// If `axis` is above 1.
    pub fn try_mean_axis(&self, axis: usize) -> Result<Vector<T>, Error> {
        let sum = self.reduce_axis("mean_axis", ReduceOp::Sum, axis)?;
        sum.try_div(T::from_f64(self.shape()[axis] as f64))
    }
}

impl<T: Numeric + PartialOrd> Array<T, 2> {
    /// The largest along an axis, as [`Array::sum_axis`]; NaN where there is one.
    ///
    /// # Panics
    ///
    /// If `axis` is above 1 or has length 0; [`Array::try_max_axis`] returns the error.
    #[must_use]
    #[track_caller]
    pub fn max_axis(&self, axis: usize) -> Vector<T> {
        expect(self.try_max_axis(axis))
    }

    /// As [`Array::max_axis`].
    ///
    /// # Errors
    ///
    /// If `axis` is above 1 or has length 0.
    pub fn try_max_axis(&self, axis: usize) -> Result<Vector<T>, Error> {
        self.reduce_axis("max_axis", ReduceOp::Max, axis)
    }

    /// The smallest along an axis, as [`Array::sum_axis`]; NaN where there is one.
    ///
    /// # Panics
    ///
    /// If `axis` is above 1 or has length 0; [`Array::try_min_axis`] returns the error.
    #[must_use]
    #[track_caller]
    pub fn min_axis(&self, axis: usize) -> Vector<T> {
        expect(self.try_min_axis(axis))
    }

    /// As [`Array::min_axis`].
    ///
    /// # Errors
    ///
    /// If `axis` is above 1 or has length 0.
    pub fn try_min_axis(&self, axis: usize) -> Result<Vector<T>, Error> {
        self.reduce_axis("min_axis", ReduceOp::Min, axis)
    }
}

impl<T: Element> Array<T, 2> {
    fn reduce_axis(
        &self,
        op: &'static str,
        reduction: ReduceOp,
        axis: usize,
    ) -> Result<Vector<T>, Error> {
        // The rows of the matrix that is reduced row by row.
        let matrix = match axis {
            0 => self.transpose(),
            1 => self.clone(),
            _ => return Err(Error::argument(op, "an axis below 2", axis.to_string())),
        };
        let [n_rows, n_columns] = matrix.shape();
        if n_columns == 0 && matches!(reduction, ReduceOp::Min | ReduceOp::Max) {
            let expected = "an axis with elements to compare";
            return Err(Error::argument(op, expected, "one of length 0"));
        }
        let store = self.runtime().new_store(Shape::new(&[n_rows]), T::DTYPE);
        let body = bodies::body(Operation::RowReduce(reduction), T::DTYPE);
        let args = [matrix.arg(), TaskArg::from(&store)];
        self.runtime().submit(body, &args, &[])?;
        Ok(Vector::wrap(store, None))
    }
}

impl<T: Numeric> Vector<T> {
    /// The outer product: the matrix of `self[i] * other[j]`. One task.
    #[must_use]
    #[track_caller]
    pub fn outer(&self, other: &Self) -> Array<T, 2> {
        expect(self.try_outer(other))
    }

    /// As [`Vector::outer`].
    ///
    /// # Errors
    ///
    /// If the matrix has more elements than can be counted, or the vectors belong to different
    /// runtimes.
    pub fn try_outer(&self, other: &Self) -> Result<Array<T, 2>, Error> {
        let (column, row) = (self.try_insert_axis(1)?, other.try_insert_axis(0)?);
        binary::<T, T, _>(BinaryOp::Mul, &column, &row)
    }
}
