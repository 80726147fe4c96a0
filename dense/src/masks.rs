//! Masks: which elements they choose, and what is done to these.

use crate::array::{Array, Vector};
use crate::chosen::{chosen, count_true, deferred, part, write_true};
use crate::operand::{ArrayOperand, expect, named};
use crate::scalar::Scalar;
use crate::twins::twins;
use crate::views::check_axes;
use sparsefuse_kernels::{Element, Field, Numeric};
use sparsefuse_runtime::{Deferred, Error};

/// The arguments of the tasks.
const MASK: usize = 0;
const X: usize = 1;

twins! {
    methods [const D: usize] Array<bool, D>;
    /// How many elements are true. Two tasks, which fuse.
    count try_count(&self) -> Scalar<i64> { self.try_cast::<i64>()?.try_sum() }
}

twins! {
    methods [T: Numeric, const D: usize] Array<T, D>;
    /// How many elements differ from 0. Three tasks, which fuse.
    count_nonzero try_count_nonzero(&self) -> Scalar<i64> {
        self.try_not_equal(T::ZERO)?.try_count()
    }
}

impl<T: Field, const D: usize> Array<T, D> {
    /// The first element, in row-major order, that is infinite or not a number, and its flat index.
    /// Waits for one value; only where there is such an element the others are read.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![3.0, f64::INFINITY, 2.0]);
    /// assert_eq!(x.first_not_finite()?, Some((1, f64::INFINITY)));
    /// assert_eq!(x.slice(2..).first_not_finite()?, None);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the computation of the array failed.
    pub fn first_not_finite(&self) -> Result<Option<(usize, T)>, Error> {
        if self.try_is_finite()?.try_all()?.get()? {
            return Ok(None);
        }
        let is_bad = |(_, x): &(usize, T)| {
            let (re, im) = x.parts();
            !(re.is_finite() && im.is_finite())
        };
        Ok(self.to_vec()?.into_iter().enumerate().find(is_bad))
    }
}

impl<const D: usize> Array<bool, D> {
    /// The flat, row-major indices of the elements that are true, ascending. NumPy's `flatnonzero`.
    /// One task, which is not fused; waits for it, since it finds their number.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![3.0, -1.0, 2.0]);
    /// assert_eq!(x.greater(0.0).flat_nonzero()?.to_vec()?, [0, 2]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the computation of the mask failed.
    #[doc(alias = "flatnonzero")]
    pub fn flat_nonzero(&self) -> Result<Vector<i64>, Error> {
        self.flat_nonzero_deferred()?.get()
    }

    /// As [`Array::flat_nonzero`], without waiting: what is issued until the result is asked for is
    /// in the same window.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![3.0, -1.0, 2.0]);
    /// let positive = x.greater(0.0).flat_nonzero_deferred()?;
    /// let negative = x.less(0.0).flat_nonzero_deferred()?;
    /// // Both are found in one window.
    /// assert_eq!(positive.get()?.to_vec()?, [0, 2]);
    /// assert_eq!(negative.get()?.to_vec()?, [1]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As all functions of one value: see the [rules](crate#rules). A failed computation of the
    /// mask is found when the result is asked for.
    pub fn flat_nonzero_deferred(&self) -> Result<Deferred<Vector<i64>>, Error> {
        let mask = self.contiguous()?;
        let row_len = mask.arg().shape().row_len();
        deferred("nonzero", &[mask.store()], move |args| {
            let mask = args.read::<bool>(MASK)?;
            let cuts = args.cuts(MASK);
            let first = cuts.map_or(0, |cuts| cuts[args.rank()]) * row_len;
            let count = |range| count_true(&mask[range]);
            let found = chosen(args, mask.len(), count, |range, made| {
                let places = (first + range.start) as i64..;
                write_true(&mask[range], places, made);
            });
            Ok(part(cuts.is_some(), found?))
        })
    }

    /// The indices of the elements that are true, in each dimension. NumPy's `nonzero`; its
    /// `argwhere` is the matrix of which these are the columns ([`Vector::stack`]). As
    /// [`Array::flat_nonzero`], and two tasks for each dimension.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::from_shape_vec([2, 3], vec![0, 7, 0, 5, 0, 6])?;
    /// let [rows, columns] = a.not_equal(0).nonzero()?;
    /// assert_eq!((rows.to_vec()?, columns.to_vec()?), (vec![0, 1, 1], vec![1, 0, 2]));
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the computation of the mask failed.
    #[doc(alias = "argwhere")]
    pub fn nonzero(&self) -> Result<[Vector<i64>; D], Error> {
        let (flat, shape) = (self.flat_nonzero()?, self.shape());
        let mut indices = std::array::from_fn(|_| flat.clone());
        for (d, index) in indices.iter_mut().enumerate() {
            let inner: usize = shape[d + 1..].iter().product();
            *index = flat.try_div(inner as i64)?.try_rem(shape[d] as i64)?;
        }
        Ok(indices)
    }
}

impl<T: Element, const D: usize> Array<T, D> {
    /// The elements where a mask of the same shape is true, row-major: NumPy's `a[mask]`. One task,
    /// which is not fused; waits for it, since it finds their number. On several ranks each has
    /// those of its own rows.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![3.0, -1.0, 2.0]);
    /// assert_eq!(x.compress(&x.greater(0.0))?.to_vec()?, [3.0, 2.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the shapes differ, or the computation of the mask failed.
    #[doc(alias("extract", "boolean indexing"))]
    pub fn compress(&self, mask: &Array<bool, D>) -> Result<Vector<T>, Error> {
        self.compress_deferred(mask)?.get()
    }

    /// As [`Array::compress`], without waiting: what is issued until the result is asked for is in
    /// the same window.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![3.0, -1.0, 2.0]);
    /// let positive = x.compress_deferred(&x.greater(0.0))?;
    /// let sum = x.sum();
    /// // The sum is computed in the same window.
    /// assert_eq!(positive.get()?.to_vec()?, [3.0, 2.0]);
    /// assert_eq!(sum.get()?, 4.0);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the shapes differ. A failed computation of the mask or of the elements is found when the
    /// result is asked for.
    pub fn compress_deferred(&self, mask: &Array<bool, D>) -> Result<Deferred<Vector<T>>, Error> {
        self.check_mask("compress", mask)?;
        let (mask, x) = (mask.contiguous()?, self.contiguous()?);
        let row_len = mask.arg().shape().row_len();
        deferred("compress", &[mask.store(), x.store()], move |args| {
            // Where they are cut in two ways, the mask moves, which is less.
            let cuts = args.cuts(X).or_else(|| args.cuts(MASK));
            let mask = args.read_between::<bool>(MASK, row_len, cuts)?;
            let x = args.read_between::<T>(X, row_len, cuts)?;
            let count = |range| count_true(&mask[range]);
            let found = chosen(args, mask.len(), count, |range, made| {
                let elements = x[range.clone()].iter().copied();
                write_true(&mask[range], elements, made);
            });
            Ok(part(cuts.is_some(), found?))
        })
    }

    /// The slices along an axis where a mask of that length is true: NumPy's `compress` along an
    /// axis, `a[mask]` for axis 0. Waits for their number; then two tasks, which are not fused.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// let a = Array::from_shape_vec([2, 3], vec![1, 2, 3, 4, 5, 6])?;
    /// let mask = Vector::from_vec(vec![true, false, true]);
    /// assert_eq!(a.compress_axis(1, &mask)?.to_vec()?, [1, 3, 4, 6]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such axis, the mask has another length, or its computation failed.
    pub fn compress_axis(&self, axis: usize, mask: &Vector<bool>) -> Result<Self, Error> {
        const OP: &str = "compress_axis";
        check_axes::<D>(OP, [axis])?;
        let n = self.shape()[axis];
        Error::check_shape(OP, &[n], &mask.shape())?;
        self.try_take_axis(axis, &mask.flat_nonzero()?)
    }

    /// Writes `value` to the elements where a mask of the same shape is true: NumPy's
    /// `a[mask] = x`. One task, which reads and writes all of the array.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let mut x = Vector::from_vec(vec![3.0, -1.0, 2.0]);
    /// x.assign_where(&x.less(0.0), 0.0);
    /// assert_eq!(x.to_vec()?, [3.0, 0.0, 2.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_assign_where`] returns.
    #[doc(alias("putmask", "copyto"))]
    #[track_caller]
    pub fn assign_where(&mut self, mask: &Array<bool, D>, value: impl ArrayOperand<T, D>) {
        expect(self.try_assign_where(mask, value));
    }

    /// As [`Array::assign_where`].
    ///
    /// # Errors
    ///
    /// If the shapes differ, or that of the value does not broadcast to that of the array; the
    /// array is then as it was.
    pub fn try_assign_where(
        &mut self,
        mask: &Array<bool, D>,
        value: impl ArrayOperand<T, D>,
    ) -> Result<(), Error> {
        self.check_mask("assign_where", mask)?;
        let made = named("assign_where", || mask.try_select(value, &*self))?;
        Error::check_shape("assign_where", &self.shape(), &made.shape())?;
        *self = made;
        Ok(())
    }

    /// Writes values to the elements where a mask of the same shape is true, one for each of them
    /// in row-major order: NumPy's `a[mask] = values`. A single value, a scalar or a number stands
    /// for all. Waits for the number of elements; then as [`Array::put`] at their indices.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// let mut a = Array::from_shape_vec([2, 2], vec![1, -2, -3, 4])?;
    /// a.put_where(&a.less(0), &Vector::from_vec(vec![20, 30]));
    /// assert_eq!(a.to_vec()?, [1, 20, 30, 4]);
    ///
    /// let error = a.clone().try_put_where(&a.greater(9), &Vector::from_vec(vec![1, 2, 3]));
    /// let expected = "put_where: expected a shape of (2), found (3)";
    /// assert_eq!(error.unwrap_err().to_string(), expected);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_put_where`] returns.
    #[doc(alias("place", "boolean indexing", "masked_scatter"))]
    #[track_caller]
    pub fn put_where(&mut self, mask: &Array<bool, D>, values: impl ArrayOperand<T, 1>) {
        expect(self.try_put_where(mask, values));
    }

    /// As [`Array::put_where`].
    ///
    /// # Errors
    ///
    /// If the shapes of the array and the mask differ, there are not as many values as elements
    /// where the mask is true, its computation failed, or the operands belong to two runtimes; the
    /// array is then as it was.
    pub fn try_put_where(
        &mut self,
        mask: &Array<bool, D>,
        values: impl ArrayOperand<T, 1>,
    ) -> Result<(), Error> {
        const OP: &str = "put_where";
        self.check_mask(OP, mask)?;
        named(OP, || self.try_put(&mask.flat_nonzero()?, values))
    }

    fn check_mask(&self, op: &'static str, mask: &Array<bool, D>) -> Result<(), Error> {
        Error::check_shape(op, &self.shape(), &mask.shape())
    }
}
