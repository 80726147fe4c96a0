//! Histograms between given ends, with weights, as densities, and of all elements.

use crate::array::{Array, Vector};
use crate::operand::{check_len, named};
use crate::tables::{ends_of_bins, range_of_bins};
use crate::twins::twins;
use sparsefuse_kernels::Real;
use sparsefuse_runtime::{Error, Shape};
use std::ops::Range;

twins! {
    @ "If there is no bin, or the range is not one of a finite length, or the first number is above \
       the last.";
    [T: Real] Vector<T>;
    /// The ends of `bins` intervals of equal length, one more than there are intervals, as
    /// [`Array::histogram`] has them: NumPy's `histogram_bin_edges` with `range`.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// assert_eq!(Vector::<f64>::histogram_ends(2, 0.0..1.0).to_vec()?, [0.0, 0.5, 1.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("histogram_bin_edges", "edges"))]
    histogram_ends try_histogram_ends(bins: usize, range: Range<f64>) -> Self {
        ends_of_bins(bins, &range_of_bins("histogram_ends", bins, range)?)
    }
}

twins! {
    @ "If there are fewer than two ends, or the arrays belong to two runtimes.";
    [T: Real, const D: usize] Array<T, D>;
    /// How many elements lie between neighbours of some ends, in ascending order: each interval has
    /// its lower end, the last one its upper one too; what lies outside, and NaN, is left out.
    /// NumPy's `histogram(a, ends)`. Whether the ends are ascending is not looked at. A
    /// [search](Vector::searchsorted_right), tasks that fuse, and a count.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![0.0, 0.1, 0.5, 4.0, 7.0]);
    /// let ends = Vector::from_vec(vec![0.0, 0.5, 4.0]);
    /// assert_eq!(x.histogram_at(&ends).to_vec()?, [2, 2]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("histogram", "edges"))]
    histogram_at try_histogram_at(&self, ends: &Vector<T>) -> Vector<i64> {
        let (places, bins) = self.bins("histogram_at", ends)?;
        // The last one is of those outside.
        places.try_bincount(bins + 1)?.try_slice(..bins)
    }

    /// As [`Array::histogram_at`], the sums of the weights of the elements, added in the order of
    /// the elements: NumPy's `histogram(a, ends, weights=weights)`.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![0.0, 0.1, 0.5, 4.0]);
    /// let weights = Vector::from_vec(vec![1.0, 2.0, 4.0, 8.0]);
    /// let ends = Vector::histogram_ends(2, 0.0..1.0);
    /// assert_eq!(x.histogram_weighted_at(&ends, &weights).to_vec()?, [3.0, 4.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("histogram", "weights"))]
    histogram_weighted_at try_histogram_weighted_at(&self, ends: &Vector<T>, weights: &Self) -> Vector<T> {
        const OP: &str = "histogram_weighted_at";
        let (shape, of_weights): (Shape, Shape) = (self.arg().shape(), weights.arg().shape());
        if shape != of_weights {
            return Err(Error::shape(OP, shape, of_weights));
        }
        let (places, bins) = self.bins(OP, ends)?;
        places.try_bincount_weighted(weights, bins + 1)?.try_slice(..bins)
    }

    /// The shares of the elements between neighbours of some ends, divided by the distances of
    /// these, so that they integrate to 1: NumPy's `histogram(a, ends, density=True)`. NaN if no
    /// element lies between the ends. As [`Array::histogram_at`] otherwise.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![0.0, 0.1, 0.2, 4.0]);
    /// let ends = Vector::from_vec(vec![0.0, 0.5, 4.5]);
    /// assert_eq!(x.histogram_density_at(&ends).to_vec()?, [1.5, 0.0625]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("histogram", "density"))]
    histogram_density_at try_histogram_density_at(&self, ends: &Vector<T>) -> Vector<T> {
        let counts = self.try_histogram_at(ends)?.try_cast::<T>()?;
        counts.try_div(&ends.try_diff(0)?)?.try_div(&counts.try_sum()?)
    }
}

twins! {
    @ "If the arrays belong to two runtimes. Whether the ends are ascending is not looked at.";
    [T: Real, const D: usize] Array<T, D>;
    /// For each element the number of ends, in ascending order, that are not above it, so that it
    /// lies between the one before this number and the one of it: NumPy's `digitize(a, ends)`. NaN
    /// is above all. With `right=True` NumPy has `ends.searchsorted(&a)`. One task, which is not
    /// fused.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let ends = Vector::from_vec(vec![0.0, 1.0, 2.0]);
    /// let x = Vector::from_vec(vec![-1.0, 0.0, 1.5, 2.0]);
    /// assert_eq!(x.digitize(&ends).to_vec()?, [0, 1, 2, 3]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    digitize try_digitize(&self, ends: &Vector<T>) -> Array<i64, D> {
        ends.try_searchsorted_right(self)
    }
}

twins! {
    @ "If the vectors have different lengths, there is no bin, a range is not one of a finite \
       length, or the first number is above the last, or memory cannot hold the counts.";
    [T: Real] Vector<T>;
    /// How many of the points with these coordinates lie in each of the rectangles of equal size
    /// between the ends of two ranges, with a row for each bin of this vector, and the ends of the
    /// bins of both: NumPy's `histogram2d(x, y, bins, range)`. Each bin has its lower end, the last
    /// one its upper one too; what lies outside, and NaN, is left out. Two searches, tasks that
    /// fuse, and a count.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![0.1, 0.9, 0.9, 5.0]);
    /// let y = Vector::from_vec(vec![0.2, 0.2, 1.0, 0.2]);
    /// let (counts, _, ends) = x.histogram2d(&y, [2, 2], [0.0..1.0, 0.0..1.0]);
    /// assert_eq!(counts.to_vec()?, [1, 0, 1, 1]);
    /// assert_eq!(ends.to_vec()?, [0.0, 0.5, 1.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    histogram2d try_histogram2d(&self, y: &Self, bins: [usize; 2], ranges: [Range<f64>; 2])
        -> (Array<i64, 2>, Vector<T>, Vector<T>)
    {
        const OP: &str = "histogram2d";
        Error::check_shape(OP, &self.shape(), &y.shape())?;
        let [of_x, of_y] = ranges;
        let [n_x, n_y] = bins;
        let ends = |bins, range| {
            let range = range_of_bins(OP, bins, range)?;
            self.runtime().enter(|| ends_of_bins(bins, &range))
        };
        let (ends_x, ends_y): (Self, Self) = (ends(n_x, of_x)?, ends(n_y, of_y)?);
        let n = n_x.saturating_mul(n_y);
        check_len(OP, Shape::new(&[n.saturating_add(1)]))?;
        let ((row, _), (column, _)) = (self.bins(OP, &ends_x)?, y.bins(OP, &ends_y)?);
        let is_outside = row.try_equal(n_x as i64)?.try_or(&column.try_equal(n_y as i64)?)?;
        let place = row.try_mul(n_y as i64)?.try_add(&column)?;
        let counts = is_outside.try_select(n as i64, &place)?.try_bincount(n + 1)?;
        Ok((counts.try_slice(..n)?.try_reshape(bins)?, ends_x, ends_y))
    }
}

impl<T: Real, const D: usize> Array<T, D> {
    /// As [`Array::histogram`] between the smallest and the largest element, which this waits for;
    /// between 0 and 1 of no elements. NumPy's `histogram(a, bins)`.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![1.0, 2.0, 2.5, 5.0]);
    /// let (counts, ends) = x.histogram_all(2)?;
    /// assert_eq!((counts.to_vec()?, ends.to_vec()?), (vec![3, 1], vec![1.0, 3.0, 5.0]));
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no bin, an element is not finite, their range is not, or their computation
    /// failed.
    #[doc(alias = "histogram")]
    pub fn histogram_all(&self, bins: usize) -> Result<(Vector<i64>, Vector<T>), Error> {
        named("histogram_all", || {
            if self.is_empty() {
                return self.try_histogram(bins, 0.0..1.0);
            }
            let (least, largest) = (self.try_min()?, self.try_max()?);
            let range = least.get()?.to_f64()..largest.get()?.to_f64();
            self.try_histogram(bins, range)
        })
    }

    /// The number of the bin of each element, and of bins; those outside have this number.
    fn bins(&self, op: &'static str, ends: &Vector<T>) -> Result<(Array<i64, D>, usize), Error> {
        let Some(bins @ 1..) = ends.len().checked_sub(1) else {
            return Err(Error::argument(
                op,
                "at least two ends",
                ends.len().to_string(),
            ));
        };
        let last = ends.try_slice(bins..)?.try_sum()?;
        let below = ends.try_searchsorted_right(self)?;
        // The last end belongs to the last bin.
        let below = below.try_sub(&self.try_equal(&last)?.try_cast::<i64>()?)?;
        let bin = below.try_sub(1)?;
        let is_outside = bin.try_less(0)?.try_or(&self.try_greater(&last)?)?;
        let is_outside = is_outside.try_or(&self.try_not_equal(self)?)?;
        Ok((is_outside.try_select(bins as i64, &bin)?, bins))
    }
}
