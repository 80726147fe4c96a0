//! Functions given by tables: histograms, and interpolation between points.

use crate::array::{Array, Vector};
use crate::operand::check_len;
use crate::shares::{each, part};
use crate::twins::twins;
use sparsefuse_kernels::Real;
use sparsefuse_runtime::{Access, Error, HostArgs, Shape, try_collect};
use std::ops::Range;

twins! {
    [T: Real, const D: usize] Array<T, D>;
    /// How many elements lie in each of `bins` intervals of equal length between `range.start` and
    /// `range.end`, and the ends of these: one more. Each has its lower end, the last one its upper
    /// one too; what lies outside, and NaN, is left out. NumPy's `histogram` with `range`. Every
    /// rank has all counts while they are made.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![0.0, 0.1, 0.5, 1.0, 7.0]);
    /// let (counts, ends) = x.histogram(2, 0.0..1.0);
    /// assert_eq!((counts.to_vec()?, ends.to_vec()?), (vec![2, 2], vec![0.0, 0.5, 1.0]));
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    @ "If there is no bin, or the range is not one of a finite length, or the first number is \
        above the last."
    histogram try_histogram(&self, bins: usize, range: Range<f64>) -> (Vector<i64>, Vector<T>) {
        const OP: &str = "histogram";
        let range = range_of_bins(OP, bins, range)?;
        let length = range.end - range.start;
        let make = || ends_of_bins(bins, &range);
        let ends = self.runtime().enter(make)?;
        let bin_of = Bins {
            n: bins,
            start: range.start,
            per_length: bins as f64 / length,
        };
        let x = self.contiguous()?;
        let reads = [(x.store(), Access::Held), (ends.store(), Access::Whole)];
        let function = move |args: &mut HostArgs<'_>| bin_of.count::<T>(args);
        let counts = Array::made_by(OP, self.runtime(), Shape::new(&[bins]), &reads, function)?;
        Ok((counts, ends))
    }

    /// For each element `x` the value at `x` of the function that is linear between points, of
    /// which `xs` has the abscissas, ascending, and `ys` the values; before the first point and
    /// behind the last one it is constant. NumPy's `interp(x, xs, ys)`. Every rank has all points;
    /// gathers, and tasks that fuse.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let xs = Vector::from_vec(vec![0.0, 1.0, 3.0]);
    /// let ys = Vector::from_vec(vec![0.0, 10.0, 20.0]);
    /// let x = Vector::from_vec(vec![0.5, 2.0, 9.0, -1.0]);
    /// assert_eq!(x.interp(&xs, &ys).to_vec()?, [5.0, 15.0, 20.0, 0.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    @ "If there is no point, or there are not as many values as abscissas. Whether these are \
        ascending is not looked at."
    interp try_interp(&self, xs: &Vector<T>, ys: &Vector<T>) -> Self {
        const OP: &str = "interp";
        let n = xs.len();
        if n == 0 {
            return Err(Error::argument(OP, "at least one point", "none"));
        }
        Error::check_shape(OP, &[n], &ys.shape())?;
        let last = n as i64 - 1;
        let right = xs.try_searchsorted_right(self)?;
        // The point before the element; the last one has none behind it.
        let before = right.try_sub(1)?.try_clamp(0, (last - 1).max(0))?;
        let after = before.try_add(1)?.try_minimum(last)?;
        let [x0, x1] = [&before, &after].map(|place| xs.try_take(place));
        let [y0, y1] = [&before, &after].map(|place| ys.try_take(place));
        let (x0, x1, y0, y1) = (x0?, x1?, y0?, y1?);
        let slope = y1.try_sub(&y0)?.try_div(&x1.try_sub(&x0)?)?;
        let between = self.try_sub(&x0)?.try_mul(&slope)?.try_add(&y0)?;
        // As NumPy, where a point before the element is infinite: from the one behind it, and
        // between equal values these.
        let from_behind = self.try_sub(&x1)?.try_mul(&slope)?.try_add(&y1)?;
        let between = between
            .try_equal(&between)?
            .try_select(&between, &from_behind)?;
        let is_number = self.try_equal(self)?;
        let is_equal = between
            .try_not_equal(&between)?
            .try_and(y0.try_equal(&y1)?)?;
        let is_equal = is_equal.try_and(&is_number)?;
        let between = is_equal.try_select(&y0, &between)?;
        // At a point, and outside, no other value has a part in it, be it infinite.
        let is_before = self.try_less_equal(&x0)?;
        let is_behind = right.try_greater(last)?.try_and(&is_number)?;
        let made = is_before.try_select(&y0, &between)?;
        is_behind.try_select(&y1, &made)
    }
}

/// The range of some bins, of which there is one at least: that of one number has it in its middle,
/// as in NumPy.
pub(crate) fn range_of_bins(
    op: &'static str,
    bins: usize,
    range: Range<f64>,
) -> Result<Range<f64>, Error> {
    if bins == 0 {
        return Err(Error::argument(op, "at least one bin", "none"));
    }
    // Two more count what lies outside.
    check_len(op, Shape::new(&[bins.saturating_add(2)]))?;
    let range = match range.start == range.end {
        true => range.start - 0.5..range.end + 0.5,
        false => range,
    };
    let length = range.end - range.start;
    if !(length > 0.0 && length < f64::INFINITY) {
        let expected = "a range of a finite length, the first number below the last";
        return Err(Error::argument(op, expected, format!("{range:?}")));
    }
    Ok(range)
}

/// The ends of bins of equal length.
pub(crate) fn ends_of_bins<T: Real>(bins: usize, range: &Range<f64>) -> Result<Vector<T>, Error> {
    let step = (range.end - range.start) / bins as f64;
    let end = |i: usize| match i == bins {
        true => T::from_f64(range.end),
        false => T::from_f64(i as f64 * step + range.start),
    };
    Vector::try_from_fn([bins + 1], |[i]| end(i))
}

/// The arguments of a histogram.
const X: usize = 0;
const ENDS: usize = 1;
const COUNTS: usize = 2;

/// Elements from which on the threads share them.
const MANY: usize = 1 << 16;

/// Bins of equal length.
#[derive(Clone, Copy)]
struct Bins {
    n: usize,
    start: f64,
    /// How many bins have the length 1.
    per_length: f64,
}

impl Bins {
    /// The task: each thread counts some of the elements of the rank.
    fn count<T: Real>(&self, args: &mut HostArgs<'_>) -> Result<(), Error> {
        let (x, ends) = (args.read::<T>(X)?, args.read::<T>(ENDS)?);
        let made = args.write::<i64>(COUNTS)?;
        // Counts of their own are not worth while if there are more of them than elements.
        let parts = match x.len() < MANY.max(self.n.saturating_mul(args.threads())) {
            true => 1,
            false => args.threads(),
        };
        let mut counts: Vec<Vec<i64>> = (0..parts).map(|_| Vec::new()).collect();
        each(args, &mut counts, |number, counts| {
            *counts = try_collect((0..self.n).map(|_| 0))?;
            for &x in &x[part(x.len(), number, parts)] {
                if ends[0] <= x && x <= ends[self.n] {
                    counts[self.bin(x, ends)] += 1;
                }
            }
            Ok(())
        })?;
        let own = sum(counts);
        let of_rank = |cuts: &[usize], rank: usize| &own[cuts[rank]..cuts[rank + 1]];
        match (args.cuts(X), args.cuts(COUNTS)) {
            (None, None) => made.copy_from_slice(&own),
            (None, Some(cuts)) => made.copy_from_slice(of_rank(cuts, args.rank())),
            (Some(_), None) => {
                made.copy_from_slice(&args.all_reduce(own, |sum, list| add(sum, list))?)
            }
            (Some(_), Some(cuts)) => {
                let list = |rank| try_collect(of_rank(cuts, rank).iter().copied());
                let lists: Result<Vec<Vec<i64>>, Error> = (0..args.ranks()).map(list).collect();
                made.copy_from_slice(&sum(args.all_to_all(&lists?)?));
            }
        }
        Ok(())
    }

    /// The last bin that an element is not below, of those that are not empty: found by a product,
    /// and corrected by the ends, which are rounded otherwise.
    #[inline(always)]
    fn bin<T: Real>(&self, x: T, ends: &[T]) -> usize {
        let last = self.n - 1;
        let found = ((x.to_f64() - self.start) * self.per_length) as usize;
        let found = found.min(last);
        let found = found - usize::from(x < ends[found] && found > 0);
        let found = found + usize::from(found < last && ends[found + 1] <= x);
        if ends[found] <= x && (found == last || x < ends[found + 1]) {
            return found;
        }
        ends[1..self.n].partition_point(|&end| end <= x)
    }
}

/// The sums of the elements of lists that are equally long.
fn sum(lists: Vec<Vec<i64>>) -> Vec<i64> {
    let mut lists = lists.into_iter();
    let mut sum = lists.next().unwrap_or_default();
    lists.for_each(|list| add(&mut sum, list));
    sum
}

fn add(sum: &mut [i64], list: Vec<i64>) {
    let pairs = sum.iter_mut().zip(list);
    pairs.for_each(|(sum, count)| *sum += count);
}
