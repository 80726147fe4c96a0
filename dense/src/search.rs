//! Places in sorted vectors, and the distinct elements of a vector.

use crate::array::{Array, Vector};
use crate::operand::expect;
use crate::sort::key_of_equals;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Access, Deferred, Error, HostArgs, try_collect};

impl<T: Numeric + PartialOrd> Vector<T> {
    /// For each of some values the first place in this sorted vector before which it could stand:
    /// the number of elements below it. NaN is above all numbers. NumPy's `searchsorted`. One task,
    /// which is not fused; every rank reads all of this vector, and its own of the values.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let sorted = Vector::from_vec(vec![1.0, 2.0, 2.0, 3.0]);
    /// let values = Vector::from_vec(vec![2.0, 0.0, 9.0]);
    /// assert_eq!(sorted.searchsorted(&values).to_vec()?, [1, 0, 4]);
    /// assert_eq!(sorted.searchsorted_right(&values).to_vec()?, [3, 0, 4]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Vector::try_searchsorted`] returns.
    #[doc(alias("binary_search", "lower_bound"))]
    #[must_use]
    #[track_caller]
    pub fn searchsorted<const E: usize>(&self, values: &Array<T, E>) -> Array<i64, E> {
        expect(self.try_searchsorted(values))
    }

    /// As [`Vector::searchsorted`].
    ///
    /// # Errors
    ///
    /// If the arrays belong to two runtimes. Whether this vector is sorted is not looked at; places
    /// in one that is not mean nothing.
    pub fn try_searchsorted<const E: usize>(
        &self,
        values: &Array<T, E>,
    ) -> Result<Array<i64, E>, Error> {
        self.places("searchsorted", values, |element, value| element < value)
    }

    /// As [`Vector::searchsorted`], but the last place: the number of elements that are not above
    /// the value. NumPy's `searchsorted` with `side="right"`.
    ///
    /// # Panics
    ///
    /// With the error that [`Vector::try_searchsorted_right`] returns.
    #[doc(alias = "upper_bound")]
    #[must_use]
    #[track_caller]
    pub fn searchsorted_right<const E: usize>(&self, values: &Array<T, E>) -> Array<i64, E> {
        expect(self.try_searchsorted_right(values))
    }

    /// As [`Vector::searchsorted_right`].
    ///
    /// # Errors
    ///
    /// As [`Vector::try_searchsorted`].
    pub fn try_searchsorted_right<const E: usize>(
        &self,
        values: &Array<T, E>,
    ) -> Result<Array<i64, E>, Error> {
        let op = "searchsorted_right";
        self.places(op, values, |element, value| element <= value)
    }

    fn places<const E: usize>(
        &self,
        op: &'static str,
        values: &Array<T, E>,
        is_before: impl Fn(u64, u64) -> bool + Copy + Send + Sync + 'static,
    ) -> Result<Array<i64, E>, Error> {
        const SORTED: usize = 0;
        const VALUES: usize = 1;
        const MADE: usize = 2;
        let function = move |args: &mut HostArgs<'_>| {
            let (sorted, values) = (args.read::<T>(SORTED)?, args.read::<T>(VALUES)?);
            let made = args.write::<i64>(MADE)?;
            // Keys are made once, where that is less work than to make those that are looked at.
            let n_keys = if sorted.len() <= values.len() {
                sorted.len()
            } else {
                0
            };
            let keys = try_collect(sorted[..n_keys].iter().map(|&x| key_of_equals(x)))?;
            args.in_parts(made, 1, |first, part| {
                let values = &values[first..][..part.len()];
                let stands = |element: T, value| is_before(key_of_equals(element), value);
                match n_keys == sorted.len() {
                    true => place_all(&keys, values, part, is_before),
                    false => place_all(sorted, values, part, stands),
                }
                Ok(())
            })
        };
        let (sorted, values) = (self.contiguous()?, values.contiguous()?);
        let reads = [
            (sorted.store(), Access::Whole),
            (values.store(), Access::Rows),
        ];
        Array::made_by(op, self.runtime(), values.arg().shape(), &reads, function)
    }

    /// The distinct elements in ascending order; of all NaN one. NumPy's `unique`. Sorts; then one
    /// task, which is not fused; waits for it, since it finds their number.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![3, 1, 3, 3, 2]);
    /// assert_eq!(x.unique()?.to_vec()?, [1, 2, 3]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the computation of the vector failed.
    #[doc(alias = "unique_values")]
    pub fn unique(&self) -> Result<Self, Error> {
        self.unique_deferred()?.get()
    }

    /// As [`Vector::unique`], without waiting: what is issued until the result is asked for is in
    /// the same window.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![3, 1, 3, 3, 2]);
    /// let (of_x, of_squares) = (x.unique_deferred()?, (&x * &x).unique_deferred()?);
    /// assert_eq!(of_x.get()?.to_vec()?, [1, 2, 3]);
    /// assert_eq!(of_squares.get()?.to_vec()?, [1, 4, 9]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As all functions of one value: see the [rules](crate#rules). A failed computation of the
    /// vector is found when the result is asked for.
    pub fn unique_deferred(&self) -> Result<Deferred<Self>, Error> {
        self.try_sort_axis(0)?
            .of_runs("unique", |element, _| element)
    }

    /// The distinct elements as [`Vector::unique`] gives them, and how often each stands in the
    /// vector.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let (values, counts) = Vector::from_vec(vec![3, 1, 3, 3, 2]).unique_counts()?;
    /// assert_eq!((values.to_vec()?, counts.to_vec()?), (vec![1, 2, 3], vec![1, 1, 3]));
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the computation of the vector failed.
    pub fn unique_counts(&self) -> Result<(Self, Vector<i64>), Error> {
        let sorted = self.try_sort_axis(0)?;
        let values = sorted.of_runs("unique", |element, _| element)?;
        let first = sorted
            .of_runs("unique_first", |_, place| place as i64)?
            .get()?;
        Ok((values.get()?, lengths(&first, self.len())?))
    }

    /// The distinct elements as [`Vector::unique`] gives them, and for each element of the vector
    /// the place of its value among them.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![3, 1, 3, 3, 2]);
    /// let (values, inverse) = x.unique_inverse()?;
    /// assert_eq!(inverse.to_vec()?, [2, 0, 2, 2, 1]);
    /// assert_eq!(values.take(&inverse).to_vec()?, x.to_vec()?);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the computation of the vector failed.
    pub fn unique_inverse(&self) -> Result<(Self, Vector<i64>), Error> {
        let values = self.unique()?;
        let inverse = values.try_searchsorted(self)?;
        Ok((values, inverse))
    }
}

/// Values whose places are looked for together.
const TOGETHER: usize = 8;

/// The number of elements that stand before each value. Some values that ascend are looked for one
/// after the other, each from the place of the last one on, at distances that are doubled until it
/// is passed (Bentley and Yao, "An almost optimal algorithm for unbounded searching", 1976). Others
/// are looked for together, so that a core has several elements under way.
fn place_all<T: Numeric, E: Copy>(
    sorted: &[E],
    values: &[T],
    places: &mut [i64],
    stands: impl Fn(E, u64) -> bool,
) {
    let (mut before, mut last) = (u64::MAX, 0);
    for (values, places) in values.chunks(TOGETHER).zip(places.chunks_mut(TOGETHER)) {
        // Those that are missing are as the last one.
        let mut keys = [key_of_equals(values[values.len() - 1]); TOGETHER];
        for (key, &value) in keys.iter_mut().zip(values) {
            *key = key_of_equals(value);
        }
        if before <= keys[0] && keys.is_sorted() {
            for (place, &key) in places.iter_mut().zip(&keys) {
                last = place_after(sorted, last, |element| stands(element, key));
                *place = last as i64;
            }
        } else {
            let found = places_of(sorted, &keys, &stands);
            for (place, &found) in places.iter_mut().zip(&found) {
                *place = found as i64;
            }
            last = found[TOGETHER - 1];
        }
        before = keys[TOGETHER - 1];
    }
}

/// The number of elements that stand before a value, which are at least `least`.
#[inline(always)]
fn place_after<E: Copy>(sorted: &[E], least: usize, stands: impl Fn(E) -> bool) -> usize {
    let mut range = least..sorted.len();
    let mut distance = 1;
    while let Some(&element) = sorted.get(least + distance - 1) {
        if !stands(element) {
            range.end = least + distance - 1;
            break;
        }
        range.start = least + distance;
        distance *= 2;
    }
    range.start + sorted[range].partition_point(|&element| stands(element))
}

/// The number of elements that stand before each value, by bisection.
#[inline(always)]
fn places_of<E: Copy>(
    sorted: &[E],
    keys: &[u64; TOGETHER],
    stands: impl Fn(E, u64) -> bool,
) -> [usize; TOGETHER] {
    let mut found = [0; TOGETHER];
    if sorted.is_empty() {
        return found;
    }
    let mut len = sorted.len();
    while len > 1 {
        let half = len / 2;
        for (found, &key) in found.iter_mut().zip(keys) {
            let middle = *found + half;
            *found = if stands(sorted[middle], key) {
                middle
            } else {
                *found
            };
        }
        len -= half;
    }
    for (found, &key) in found.iter_mut().zip(keys) {
        *found += usize::from(stands(sorted[*found], key));
    }
    found
}

/// How many of `n` places belong to each run, of which these are the first ones.
pub(crate) fn lengths(first: &Vector<i64>, n: usize) -> Result<Vector<i64>, Error> {
    let end = first.runtime().enter(|| Vector::try_full([1], n as i64))?;
    let ends = Vector::try_concatenate(0, &[first, &end])?.try_slice(1..)?;
    ends.try_sub(first)
}
