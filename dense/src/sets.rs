//! Vectors as sets: which elements others have too, and the distinct elements of two vectors.
//!
//! All of it is array code over sorts, searches and masks. As in NumPy, a NaN is in no set, not
//! even in its own, but [`Vector::unique`] leaves one of them.

use crate::array::{Array, Vector};
use crate::operand::{expect, named};
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;

impl<T: Numeric + PartialOrd, const D: usize> Array<T, D> {
    /// Whether each element is one of some values; a NaN is not, and -0 is 0. NumPy's `isin`. Sorts
    /// the values, of which every rank reads all, searches, gathers and compares.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![1, 2, 3, 2]);
    /// let values = Vector::from_vec(vec![5, 2, 1]);
    /// assert_eq!(x.is_in(&values).to_vec()?, [true, true, false, true]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the arrays belong to two runtimes; [`Array::try_is_in`] returns the error.
    #[doc(alias("isin", "in1d", "contains"))]
    #[must_use]
    #[track_caller]
    pub fn is_in<const E: usize>(&self, values: &Array<T, E>) -> Array<bool, D> {
        expect(self.try_is_in(values))
    }

    /// As [`Array::is_in`].
    ///
    /// # Errors
    ///
    /// If the arrays belong to two runtimes.
    pub fn try_is_in<const E: usize>(&self, values: &Array<T, E>) -> Result<Array<bool, D>, Error> {
        named("is_in", || {
            let n = values.len();
            if n == 0 {
                let none = || Array::try_full(self.shape(), false);
                return self.runtime().enter(none);
            }
            let sorted = values.reshape([n])?.try_sort_axis(0)?;
            let place = sorted.try_searchsorted(self)?.try_minimum(n as i64 - 1)?;
            sorted.try_take(&place)?.try_equal(self)
        })
    }
}

impl<T: Numeric + PartialOrd> Vector<T> {
    /// The distinct elements that both vectors have, in ascending order; no NaN. NumPy's
    /// `intersect1d`. [`Vector::unique`] of this vector, [`Array::is_in`] the other and
    /// [`Array::compress`]; waits for the number of elements.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let (x, y) = (Vector::from_vec(vec![3, 1, 3, 2]), Vector::from_vec(vec![5, 3, 2]));
    /// assert_eq!(x.intersection(&y)?.to_vec()?, [2, 3]);
    /// assert_eq!(x.union(&y)?.to_vec()?, [1, 2, 3, 5]);
    /// assert_eq!(x.set_difference(&y)?.to_vec()?, [1]);
    /// assert_eq!(x.symmetric_difference(&y)?.to_vec()?, [1, 5]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the computation of a vector failed, or they belong to two runtimes.
    #[doc(alias = "intersect1d")]
    pub fn intersection(&self, other: &Self) -> Result<Self, Error> {
        named("intersection", || {
            let distinct = self.unique()?;
            distinct.compress(&distinct.try_is_in(other)?)
        })
    }

    /// The distinct elements that one of two vectors has, in ascending order; of all NaN one.
    /// NumPy's `union1d`. [`Vector::unique`] of both, one behind the other; waits for the number of
    /// elements.
    ///
    /// # Errors
    ///
    /// As [`Vector::intersection`].
    #[doc(alias = "union1d")]
    pub fn union(&self, other: &Self) -> Result<Self, Error> {
        named("union", || {
            Self::try_concatenate(0, &[self, other])?.unique()
        })
    }

    /// The distinct elements that the other vector has not, in ascending order; of all NaN one,
    /// whatever the other has. NumPy's `setdiff1d`. Costs as much as [`Vector::intersection`].
    ///
    /// # Errors
    ///
    /// As [`Vector::intersection`].
    #[doc(alias = "setdiff1d")]
    pub fn set_difference(&self, other: &Self) -> Result<Self, Error> {
        named("set_difference", || {
            let distinct = self.unique()?;
            distinct.compress(&distinct.try_is_in(other)?.try_not()?)
        })
    }

    /// The distinct elements that one vector has and the other has not, in ascending order; a NaN
    /// for each vector that has one. NumPy's `setxor1d`. Both differences, one behind the other and
    /// sorted.
    ///
    /// # Errors
    ///
    /// As [`Vector::intersection`].
    #[doc(alias = "setxor1d")]
    pub fn symmetric_difference(&self, other: &Self) -> Result<Self, Error> {
        named("symmetric_difference", || {
            let (of_self, of_other) = (self.set_difference(other)?, other.set_difference(self)?);
            Self::try_concatenate(0, &[&of_self, &of_other])?.try_sort_axis(0)
        })
    }
}
