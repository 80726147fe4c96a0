//! Arrays of two dimensions as matrices: products with vectors.

use crate::array::{Array, Vector};
use crate::bodies::{self, Operation};
use crate::operators::binary;
use crate::twins::twins;
use sparsefuse_kernels::{BinaryOp, Numeric, ReduceOp};
use sparsefuse_runtime::{Error, Shape, TaskArg};

twins! {
    [T: Numeric] Array<T, 2>;
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
    @ "If the vector has not as many elements as the matrix has columns."
    matvec try_matvec(&self, x: &Vector<T>) -> Vector<T> {
        let [n_rows, n_columns] = self.shape();
        Error::check_shape("matvec", &[n_columns], &x.shape())?;
        if let Some(product) = self.reduce_over_ranks(ReduceOp::Sum, Some(x))? {
            return Ok(product);
        }
        let x = x.contiguous()?;
        let store = self.runtime().new_store(Shape::new(&[n_rows]), T::DTYPE);
        let body = bodies::body(Operation::MatVec, T::DTYPE);
        let args = [self.arg(), x.arg(), TaskArg::from(&store)];
        self.runtime().submit(body, &args, &[])?;
        Ok(Vector::wrap(store, None))
    }
}

twins! {
    [T: Numeric] Vector<T>;
    /// The outer product: the matrix of `self[i] * other[j]`. One task.
    @ "If the matrix has more elements than can be counted, or the vectors belong to different \
        runtimes."
    outer try_outer(&self, other: &Self) -> Array<T, 2> {
        let (column, row) = (self.try_insert_axis(1)?, other.try_insert_axis(0)?);
        binary::<T, T, _>(BinaryOp::Mul, &column, &row)
    }
}
