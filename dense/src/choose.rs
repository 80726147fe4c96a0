//! Elements chosen among several arrays by an index each, and slices repeated by a count each: what
//! is gathered by indices that are computed first.

use crate::along_axis::along;
use crate::array::{Array, Vector};
use crate::indices::Index;
use crate::operand::{check_len, expect, named};
use crate::views::check_axes;
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, Shape};

impl<I: Index, const D: usize> Array<I, D> {
    /// Of the array whose number stands at each place the element at that place: NumPy's `choose`.
    /// Negative numbers count from the last array; all shapes broadcast to a common one. The
    /// choices are copied side by side, then gathered from; a task for each copy, and two more. Of
    /// two arrays `mask.select(a, b)` copies nothing and fuses.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let which = Vector::from_vec(vec![2, 0, 1, -1]);
    /// let ones = Vector::from_vec(vec![1.0, 2.0, 3.0, 4.0]);
    /// let (tens, half) = (&ones * 10.0, Vector::from_vec(vec![0.5]));
    /// assert_eq!(which.choose(&[&ones, &tens, &half]).to_vec()?, [0.5, 2.0, 30.0, 0.5]);
    /// // NumPy's modes: `mode="wrap"` and `mode="clip"`.
    /// let which = Vector::from_vec(vec![7, -5, 2, 1]);
    /// assert_eq!((&which % 2).choose(&[&ones, &tens]).to_vec()?, [10.0, 20.0, 3.0, 40.0]);
    /// assert_eq!(which.clamp(0, 1).choose(&[&ones, &tens]).to_vec()?, [10.0, 2.0, 30.0, 40.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_choose`] returns.
    #[must_use]
    #[track_caller]
    pub fn choose<T: Element>(&self, choices: &[&Array<T, D>]) -> Array<T, D> {
        expect(self.try_choose(choices))
    }

    /// As [`Array::choose`].
    ///
    /// # Errors
    ///
    /// If there is no array to choose from, the shapes do not broadcast to a common one, memory
    /// cannot hold the copies, or the arrays belong to different runtimes. Numbers that no array
    /// has are found when the task runs.
    pub fn try_choose<T: Element>(&self, choices: &[&Array<T, D>]) -> Result<Array<T, D>, Error> {
        const OP: &str = "choose";
        if choices.is_empty() {
            return Err(Error::argument(OP, "an array to choose from", "none"));
        }
        let mut shape = self.shape();
        for choice in choices {
            let (common, found) = (shape, choice.shape());
            for (n, m) in shape.iter_mut().zip(found) {
                *n = match (*n, m) {
                    (n, m) if n == m || m == 1 => n,
                    (1, m) => m,
                    _ => return Err(Error::shape(OP, Shape::new(&common), Shape::new(&found))),
                };
            }
        }
        named(OP, || {
            let whole = choices.iter().map(|choice| {
                let choice = choice.try_broadcast_to(shape)?;
                choice.try_reshape([1, choice.len()])
            });
            let whole = whole.collect::<Result<Vec<_>, Error>>()?;
            let side_by_side = Array::try_concatenate(0, &whole.iter().collect::<Vec<_>>())?;
            let which = self.try_broadcast_to(shape)?;
            let which = which.try_reshape([1, which.len()])?;
            let flat = along(OP, side_by_side.shape(), 0, &which)?;
            side_by_side.try_take(&flat)?.try_reshape(shape)
        })
    }
}

impl<T: Element, const D: usize> Array<T, D> {
    /// Each slice along an axis as often as the count at its place says: NumPy's `repeat` with an
    /// array of counts. Waits for their sum; then a running sum, a search and a gather. With the
    /// same count for all: [`Array::repeat`], which waits for nothing.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// let a = Array::from_shape_vec([2, 3], vec![1, 2, 3, 4, 5, 6])?;
    /// let counts = Vector::from_vec(vec![2, 0, 1]);
    /// assert_eq!(a.repeat_counts(1, &counts)?.to_vec()?, [1, 1, 3, 4, 4, 6]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such axis, there are not as many counts as slices, a count is negative,
    /// memory cannot hold the result, or the computation of the counts failed.
    #[doc(alias = "repeat")]
    pub fn repeat_counts<I: Index>(&self, axis: usize, counts: &Vector<I>) -> Result<Self, Error> {
        const OP: &str = "repeat_counts";
        check_axes::<D>(OP, [axis])?;
        let mut shape = self.shape();
        Error::check_shape(OP, &[shape[axis]], &counts.shape())?;
        if shape[axis] == 0 {
            return Ok(self.clone());
        }
        named(OP, || {
            let counts = counts.try_cast::<i64>()?;
            // Exact as long as memory can hold that many, and too large where it cannot.
            let total = counts.try_cast::<f64>()?.try_sum()?;
            let (least, total) = (counts.try_min()?.get()?, total.get()?);
            if least < 0 {
                let found = format!("{least} among them");
                return Err(Error::argument(OP, "counts from 0 on", found));
            }
            shape[axis] = total as usize;
            check_len(OP, Shape::new(&shape))?;
            if self.is_empty() {
                return self.try_reshape(shape);
            }
            let runtime = self.runtime();
            let places = runtime.enter(|| Vector::<i64>::try_arange(shape[axis]))?;
            let ends = counts.try_cumsum_axis(0)?;
            self.try_take_axis(axis, &ends.try_searchsorted_right(&places)?)
        })
    }
}
