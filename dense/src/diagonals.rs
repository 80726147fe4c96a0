//! Diagonals and triangles of matrices, and Kronecker products.

use crate::array::{Array, Vector};
use crate::operand::check_len;
use crate::scalar::Scalar;
use crate::slices::{Slice, step};
use crate::twins::twins;
use sparsefuse_kernels::{Element, Numeric};
use sparsefuse_runtime::{Error, Runtime, Shape};

twins! {
    [T: Element] Array<T, 2>;
    /// The elements of a diagonal: the main one for 0, above it for positive numbers, below it for
    /// negative ones; none beyond the corners. A view, also of a view.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::from_shape_vec([2, 3], vec![1, 2, 3, 4, 5, 6])?;
    /// assert_eq!(a.diagonal(0).to_vec()?, [1, 5]);
    /// assert_eq!(a.diagonal(1).to_vec()?, [2, 6]);
    /// assert_eq!(a.diagonal(-1).to_vec()?, [4]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "diag")]
    @ "If nothing has written the store."
    diagonal try_diagonal(&self, offset: isize) -> Vector<T> {
        self.seen(|view| view.diagonal(offset))
    }
}

/// The flat indices of a diagonal of a matrix.
fn places([n_rows, n_columns]: [usize; 2], offset: isize) -> Slice {
    let size = offset.unsigned_abs();
    let (first, len) = match offset < 0 {
        true => (
            size.saturating_mul(n_columns),
            n_rows.saturating_sub(size).min(n_columns),
        ),
        false => (size, n_columns.saturating_sub(size).min(n_rows)),
    };
    match len {
        0 => step(0..0, 1),
        len => {
            let end = first + (len - 1) * (n_columns + 1) + 1;
            step(first..end, n_columns as isize + 1)
        }
    }
}

twins! {
    methods [T: Numeric] Array<T, 2>;
    /// The sum of the main diagonal. One task.
    trace try_trace(&self) -> Scalar<T> { self.try_diagonal(0)?.try_sum() }

    /// The elements on and below a diagonal, with 0 above it. Few tasks, which fuse.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::<i64, 2>::ones([2, 3]);
    /// assert_eq!(a.lower_triangle(0).to_vec()?, [1, 0, 0, 1, 1, 0]);
    /// assert_eq!(a.upper_triangle(1).to_vec()?, [0, 1, 1, 0, 0, 1]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "tril")]
    lower_triangle try_lower_triangle(&self, offset: isize) -> Self {
        let distance = distances(self.runtime(), self.shape())?;
        distance.try_less_equal(offset as i64)?.try_select(self, T::ZERO)
    }

    /// The elements on and above a diagonal, with 0 below it. Few tasks, which fuse.
    #[doc(alias = "triu")]
    upper_triangle try_upper_triangle(&self, offset: isize) -> Self {
        let distance = distances(self.runtime(), self.shape())?;
        distance.try_greater_equal(offset as i64)?.try_select(self, T::ZERO)
    }
}

/// How far right of the main diagonal each element of a matrix lies.
fn distances(runtime: &Runtime, shape: [usize; 2]) -> Result<Array<i64, 2>, Error> {
    runtime.enter(|| {
        let [rows, columns] = shape.map(Vector::<i64>::try_arange);
        columns?
            .try_insert_axis(0)?
            .try_sub(rows?.try_insert_axis(1)?)
    })
}

twins! {
    constructors [T: Numeric] Array<T, 2>;
    /// 1 on a diagonal, 0 elsewhere. NumPy's `eye` with `k`. Few tasks, which fuse.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// assert_eq!(Array::<i64, 2>::eye_at([2, 3], 1).to_vec()?, [0, 1, 0, 0, 0, 1]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    eye_at try_eye_at(shape: [usize; 2], offset: isize) -> Self {
        check_len("eye_at", Shape::new(&shape))?;
        let distance = distances(&Runtime::current(), shape)?;
        distance.try_equal(offset as i64)?.try_cast()
    }
}

twins! {
    [T: Numeric] Vector<T>;
    /// The square matrix with these elements on a diagonal, and 0 elsewhere. NumPy's `diag` of a
    /// vector. Two tasks.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![1, 2]);
    /// assert_eq!(x.to_diagonal(0).to_vec()?, [1, 0, 0, 2]);
    /// assert_eq!(x.to_diagonal(1).diagonal(1).to_vec()?, [1, 2]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "diag")]
    @ "If memory cannot hold the matrix."
    to_diagonal try_to_diagonal(&self, offset: isize) -> Array<T, 2> {
        let n = self.len().saturating_add(offset.unsigned_abs());
        check_len("to_diagonal", Shape::new(&[n, n]))?;
        let mut flat = self.runtime().enter(|| Self::try_zeros([n * n]))?;
        flat.try_assign_slice(places([n, n], offset), self)?;
        flat.try_reshape([n, n])
    }
}

twins! {
    [T: Numeric] Array<T, 2>;
    /// The Kronecker product: block `(i, j)` is `self[i, j] * other`. One task.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::from_shape_vec([1, 2], vec![1, 10])?;
    /// let b = Array::from_shape_vec([2, 1], vec![3, 4])?;
    /// assert_eq!(a.kron(&b).to_vec()?, [3, 30, 4, 40]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    @ "If memory cannot hold the result, or the matrices belong to two runtimes."
    kron try_kron(&self, other: &Self) -> Self {
        let ([m, n], [p, q]) = (self.shape(), other.shape());
        let shape = [m.saturating_mul(p), n.saturating_mul(q)];
        check_len("kron", Shape::new(&shape))?;
        let left = self.try_insert_axis(1)?.try_insert_axis(3)?;
        let right = other.try_insert_axis(0)?.try_insert_axis(2)?;
        left.try_mul(&right)?.try_reshape(shape)
    }
}
