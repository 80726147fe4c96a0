//! Medians and quantiles, of a vector and along an axis.
//!
//! Those of a vector are found by all threads and ranks together ([`crate::select`]); lines of
//! arrays of several dimensions are looked through each by one thread.

use crate::array::{Array, Vector};
use crate::axes::along_an_axis;
use crate::operand::named;
use crate::scalar::Scalar;
use crate::select::elements_at;
use crate::shares::part;
use crate::sort::{from_key, key};
use crate::twins::twins;
use crate::views::check_axes;
use sparsefuse_kernels::Real;
use sparsefuse_runtime::{Access, Error, HostArgs, Shape, reserve, try_collect};

/// The arguments of the task along an axis.
const X: usize = 0;
const MADE: usize = 1;

/// Elements from which on the threads share the lines.
const MANY: usize = 1 << 14;

twins! {
    [T: Real] Vector<T>;
    /// The middle element of the sorted vector, or the mean of the two in the middle; NaN if there
    /// is one, or no element. NumPy's `median`. One task, which is not fused and does not sort, and
    /// few on single elements.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![4.0, 1.0, 3.0, 2.0]);
    /// assert_eq!(x.median().get()?, 2.5);
    /// assert_eq!(x.quantile(0.25).get()?, 1.75);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    @ "As all functions of one value: see the [rules](crate#rules)."
    median try_median(&self) -> Scalar<T> {
        let n = self.len();
        self.sorted_at(
            |n| (n.div_ceil(2) - 1, n / 2),
            |low, high| match n.is_multiple_of(2) {
                true => low.try_add(&high)?.try_mul(T::from_f64(0.5)),
                // A sum with itself may be infinite.
                false => Ok(low),
            },
        )
    }

    /// The element below which a part `q` of the sorted vector lies, between 0 and 1: interpolated
    /// linearly between the two that are next to place `q * (n - 1)`. NaN if there is one; of no
    /// element an error, as in NumPy. NumPy's `quantile`; its `percentile` takes `100 * q`. Tasks
    /// as of [`Vector::median`]; several of them, or those of whole numbers: [`Vector::quantiles`].
    #[doc(alias = "percentile")]
    @ "If `q` does not lie between 0 and 1, or there is no element."
    quantile try_quantile(&self, q: f64) -> Scalar<T> {
        check_part("quantile", q)?;
        check_any("quantile", self.len())?;
        let place = q * self.len().saturating_sub(1) as f64;
        let part = place - place.floor();
        let places = |n: usize| (place as usize, (place as usize + 1).min(n - 1));
        self.sorted_at(places, |low, high| {
            // Of two infinite elements there is no difference, and none is taken from an element
            // alone.
            let is_one = low.try_equal(&high)?.try_or(part == 0.0)?;
            let distance = is_one.try_select(T::ZERO, &high.try_sub(&low)?)?;
            // From the nearer of both, as NumPy.
            match part < 0.5 {
                true => low.try_add(&distance.try_mul(T::from_f64(part))?),
                false => high.try_sub(&distance.try_mul(T::from_f64(1.0 - part))?),
            }
        })
    }
}

impl<T: Real> Vector<T> {
    /// What `join` makes of two elements of the sorted vector, the second of which is the first, or
    /// next to it; NaN if there is one, or no element.
    fn sorted_at(
        &self,
        places: impl FnOnce(usize) -> (usize, usize),
        join: impl FnOnce(Scalar<T>, Scalar<T>) -> Result<Scalar<T>, Error>,
    ) -> Result<Scalar<T>, Error> {
        let n = self.len();
        if n == 0 {
            let nan = T::from_f64(f64::NAN);
            return Ok(self.runtime().enter(|| Scalar::new(nan)));
        }
        let (low, high) = places(n);
        let found = elements_at(self, low)?;
        // The sum of one element would make 0 of -0.
        let at = |place| found.try_slice(place..=place)?.try_max();
        let (last, high) = (at(2)?, at(usize::from(high > low))?);
        let joined = join(at(0)?, high)?;
        last.try_equal(&last)?.try_select(&joined, &last)
    }
}

/// What is wanted of the sorted elements of a line.
#[derive(Clone, Copy)]
enum Wanted {
    Median,
    Quantile(f64),
}

impl Wanted {
    /// That of a line, by the [`key`]s of its elements, in any order; `skips` leaves NaN out.
    fn of<T: Real>(self, keys: &mut Vec<u64>, skips: bool) -> T {
        let nan = T::from_f64(f64::NAN);
        let largest = key(nan);
        if skips {
            keys.retain(|&key| key != largest);
        } else if keys.contains(&largest) {
            return nan;
        }
        let n = keys.len();
        if n == 0 {
            return nan;
        }
        let place = match self {
            Self::Median => (n.div_ceil(2) - 1) as f64,
            Self::Quantile(q) => q * (n - 1) as f64,
        };
        let low = place as usize;
        let (_, found, above) = keys.select_nth_unstable(low);
        let has_next = matches!(self, Self::Quantile(_)) || n.is_multiple_of(2);
        let next = above.iter().min().filter(|_| has_next).unwrap_or(found);
        let (low, high): (T, T) = (from_key(*found), from_key(*next));
        let part = place - place.floor();
        // Of two infinite elements there is no difference, and none is taken from an element alone.
        let distance = match low == high || part == 0.0 {
            true => T::ZERO,
            false => high - low,
        };
        match self {
            // A sum of one element with itself may be infinite.
            Self::Median if !has_next => low,
            Self::Median => (low + high) * T::from_f64(0.5),
            // From the nearer of both, as NumPy.
            Self::Quantile(_) if part < 0.5 => low + distance * T::from_f64(part),
            Self::Quantile(_) => high - distance * T::from_f64(1.0 - part),
        }
    }
}

along_an_axis! {
    [2 -> 1, 3 -> 2, 4 -> 3]
    /// The medians along an axis, which the result does not have: the middle element of the sorted
    /// line, or the mean of the two in the middle; NaN where there is one, or no element. NumPy's
    /// `median` with an axis. One task, which is not fused and does not sort, and for another axis
    /// than the last one before it that moves the axis there. Where ranks hold rows, an axis other
    /// than the first moves nothing.
    #[doc(alias = "median")]
    median_axis try_median_axis [Real] -> T: |array, axis| {
        array.wanted_of_lines("median_axis", axis, (Wanted::Median, false))
    }

    /// As [`Self::median_axis`] of the elements that are not NaN; NaN where there is none. NumPy's
    /// `nanmedian`.
    #[doc(alias = "nanmedian")]
    nan_median_axis try_nan_median_axis [Real] -> T: |array, axis| {
        array.wanted_of_lines("nan_median_axis", axis, (Wanted::Median, true))
    }
}

/// The methods of arrays with `$more` dimensions whose results have one less.
macro_rules! quantiles {
    ($($more:literal -> $less:literal),*) => {$(
        twins! {
            [T: Real] Array<T, $more>;
            /// The quantiles along an axis: of each line the element below which a part `q` of the
            /// sorted line lies, as [`Vector::quantile`]; otherwise as [`Self::median_axis`].
            /// NumPy's `quantile` with an axis; its `percentile` takes `100 * q`.
            #[doc(alias("quantile", "percentile"))]
            @ "If there is no such axis, it has length 0, or `q` does not lie between 0 and 1."
            quantile_axis try_quantile_axis(&self, axis: usize, q: f64) -> Array<T, $less> {
                check_part("quantile_axis", q)?;
                check_axes::<$more>("quantile_axis", [axis])?;
                check_any("quantile_axis", self.shape()[axis])?;
                self.wanted_of_lines("quantile_axis", axis, (Wanted::Quantile(q), false))
            }

            /// As [`Self::quantile_axis`] of the elements that are not NaN; NaN where there is
            /// none. NumPy's `nanquantile`.
            #[doc(alias("nanquantile", "nanpercentile"))]
            @ "If there is no such axis, or `q` does not lie between 0 and 1."
            nan_quantile_axis try_nan_quantile_axis(&self, axis: usize, q: f64) -> Array<T, $less> {
                check_part("nan_quantile_axis", q)?;
                self.wanted_of_lines("nan_quantile_axis", axis, (Wanted::Quantile(q), true))
            }
        }

        impl<T: Real> Array<T, $more> {
            fn wanted_of_lines(
                &self,
                op: &'static str,
                axis: usize,
                wanted: (Wanted, bool),
            ) -> Result<Array<T, $less>, Error> {
                check_axes::<$more>(op, [axis])?;
                named(op, || {
                    let x = self.try_move_axis(axis, $less)?.contiguous()?;
                    let outer: [usize; $less] = std::array::from_fn(|d| x.shape()[d]);
                    let outer = Shape::new(&outer);
                    let lens = (x.shape()[$less], outer.row_len());
                    let function = move |args: &mut HostArgs<'_>| lines::<T>(args, lens, wanted);
                    let reads = [(x.store(), Access::Held)];
                    Array::made_by(op, self.runtime(), outer, &reads, function)
                })
            }
        }
    )*};
}

quantiles!(2 -> 1, 3 -> 2, 4 -> 3);

/// The function of the task: what is wanted of each line of `n` elements; `row_len` is that of the
/// result.
fn lines<T: Real>(
    args: &mut HostArgs<'_>,
    (n, row_len): (usize, usize),
    wanted: (Wanted, bool),
) -> Result<(), Error> {
    let (x, made) = (args.read::<T>(X)?, args.write::<T>(MADE)?);
    if n == 0 {
        made.fill(T::from_f64(f64::NAN));
        return Ok(());
    }
    if args.cuts(X).is_none() && args.cuts(MADE).is_none() {
        return of_lines(args, x, n, made, wanted);
    }
    let mut found = try_collect((0..x.len() / n).map(|_| T::ZERO))?;
    of_lines(args, x, n, &mut found, wanted)?;
    let found = args.recut(&found, row_len, args.cuts(X), args.cuts(MADE))?;
    made.copy_from_slice(&found);
    Ok(())
}

/// What is wanted of each line that this rank has.
fn of_lines<T: Real>(
    args: &HostArgs<'_>,
    x: &[T],
    n: usize,
    made: &mut [T],
    (wanted, skips): (Wanted, bool),
) -> Result<(), Error> {
    let n_lines = made.len();
    let threads = if x.len() < MANY { 1 } else { args.threads() };
    let parts = threads.min(n_lines);
    let ends: Vec<usize> = (0..parts)
        .map(|number| part(n_lines, number, parts).end)
        .collect();
    args.in_parts_to(made, &ends, |number, made| {
        let mut keys = reserve(n)?;
        for (line, made) in part(n_lines, number, parts).zip(made) {
            keys.clear();
            keys.extend(x[line * n..][..n].iter().map(|&x| key(x)));
            *made = wanted.of(&mut keys, skips);
        }
        Ok(())
    })
}

pub(crate) fn check_part(op: &'static str, q: f64) -> Result<(), Error> {
    match (0.0..=1.0).contains(&q) {
        true => Ok(()),
        false => Err(Error::argument(
            op,
            "a number between 0 and 1",
            q.to_string(),
        )),
    }
}

/// NumPy has medians of nothing, which are NaN, but no quantiles.
pub(crate) fn check_any(op: &'static str, n: usize) -> Result<(), Error> {
    match n {
        0 => Err(Error::argument(op, "an element or more", "none")),
        _ => Ok(()),
    }
}
