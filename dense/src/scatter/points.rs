//! Values to elements at points: an index array for each dimension.

use crate::array::Array;
use crate::indices::Index;
use crate::operand::{ArrayOperand, expect, named};
use sparsefuse_kernels::{Element, Numeric};
use sparsefuse_runtime::Error;

impl<T: Element, const D: usize> Array<T, D> {
    /// Writes values to the elements at points: that of point `p` has the index `indices[d][p]` in
    /// dimension `d`. NumPy's `a[i, j] = values`. Two tasks: [`Array::ravel_multi_index`],
    /// [`Array::put`], as which otherwise.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// let mut a = Array::<f64, 2>::zeros([2, 3]);
    /// let (i, j) = (Vector::from_vec(vec![0, 1]), Vector::from_vec(vec![2, -3]));
    /// a.put_points([&i, &j], &Vector::from_vec(vec![7.0, 8.0]));
    /// assert_eq!(a.to_vec()?, [0.0, 0.0, 7.0, 8.0, 0.0, 0.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_put_points`] returns.
    #[track_caller]
    pub fn put_points<I: Index, const E: usize>(
        &mut self,
        indices: [&Array<I, E>; D],
        values: impl ArrayOperand<T, E>,
    ) {
        expect(self.try_put_points(indices, values));
    }

    /// As [`Array::put_points`].
    ///
    /// # Errors
    ///
    /// If the index arrays have different shapes, and as [`Array::try_put`].
    pub fn try_put_points<I: Index, const E: usize>(
        &mut self,
        indices: [&Array<I, E>; D],
        values: impl ArrayOperand<T, E>,
    ) -> Result<(), Error> {
        named("put_points", || {
            let places = Array::try_ravel_multi_index(self.shape(), indices)?;
            self.try_put(&places, values)
        })
    }
}

impl<T: Numeric, const D: usize> Array<T, D> {
    /// Adds values to the elements at points, as often as these name them: NumPy's
    /// `add.at(a, (i, j), values)`. Two tasks: [`Array::ravel_multi_index`], [`Array::add_at`], as
    /// which otherwise.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// let mut a = Array::<f64, 2>::zeros([2, 2]);
    /// let (i, j) = (Vector::from_vec(vec![0, 1, 0]), Vector::from_vec(vec![1, 0, 1]));
    /// a.add_at_points([&i, &j], 0.5);
    /// assert_eq!(a.to_vec()?, [0.0, 1.0, 0.5, 0.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_add_at_points`] returns.
    #[track_caller]
    pub fn add_at_points<I: Index, const E: usize>(
        &mut self,
        indices: [&Array<I, E>; D],
        values: impl ArrayOperand<T, E>,
    ) {
        expect(self.try_add_at_points(indices, values));
    }

    /// As [`Array::add_at_points`].
    ///
    /// # Errors
    ///
    /// As [`Array::try_put_points`].
    pub fn try_add_at_points<I: Index, const E: usize>(
        &mut self,
        indices: [&Array<I, E>; D],
        values: impl ArrayOperand<T, E>,
    ) -> Result<(), Error> {
        named("add_at_points", || {
            let places = Array::try_ravel_multi_index(self.shape(), indices)?;
            self.try_add_at(&places, values)
        })
    }
}
