//! Sorted arrays, and the indices that sort.
//!
//! An order is one of whole numbers ([`key`]), in which NaN is the largest. Lines of arrays of
//! several dimensions are sorted each by one thread, short ones some at a time
//! ([`crate::short_lines`]). Of a vector that is cut each rank gets the elements between two pivots
//! from a sample, and there the threads share them ([`crate::runs`]). No rank holds more than
//! these, unless it has all of the vector before. What is sorted is the order of elements and
//! places alone, so neither pivots nor threads nor ranks show.

use crate::array::{Array, Vector};
use crate::indices::as_cut;
use crate::operand::named;
use crate::runs::{Item, sort_to};
use crate::short_lines::{self, network};
use crate::twins::twins;
use crate::views::check_axes;
use sparsefuse_kernels::{DType, Element, Numeric};
use sparsefuse_runtime::{Access, Error, HostArgs, reserve, try_collect, try_concat};

/// The arguments of the task.
const X: usize = 0;
const MADE: usize = 1;

twins! {
    @ "If there is no such axis.";
    [T: Numeric + PartialOrd, const D: usize] Array<T, D>;
    /// The elements in ascending order along an axis, NaN last; -0 stands before 0. One task, which
    /// is not fused; for another axis than the last one before it that moves the axis there. Of a
    /// vector, ranks exchange the elements once; lines of other arrays lie on one rank each, unless
    /// the axis is the first.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::from_shape_vec([2, 3], vec![3.0, f64::NAN, 1.0, 4.0, 0.0, 2.0])?;
    /// assert_eq!(a.sort_axis(0).row(0).to_vec()?[..], [3.0, 0.0, 1.0]);
    /// assert_eq!(a.sort_axis(1).row(0).to_vec()?[..2], [1.0, 3.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "sort")]
    sort_axis try_sort_axis(&self, axis: usize) -> Self {
        self.ordered("sort", axis, None, |x, _| key(x), from_key)
    }

    /// The indices that sort along an axis: NaN last, and equal elements, as -0 and 0 are, in the
    /// order in which they stand (a stable sort). NumPy's `argsort` with `kind="stable"`. Otherwise
    /// as [`Array::sort_axis`].
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::from_shape_vec([2, 3], vec![3, 1, 1, 0, 2, 1])?;
    /// assert_eq!(a.argsort_axis(1).to_vec()?, [1, 2, 0, 0, 2, 1]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "argsort")]
    argsort_axis try_argsort_axis(&self, axis: usize) -> Array<i64, D> {
        let pair = |x, place| (key_of_equals(x), place);
        named("argsort_axis", || {
            self.ordered("argsort", axis, None, pair, |(_, place)| place as i64)
        })
    }
}

impl<T: Numeric + PartialOrd, const D: usize> Array<T, D> {
    /// The elements along an axis in such an order that the one at place `kth` is that of the
    /// sorted line, smaller ones before it.
    pub(crate) fn parted(&self, axis: usize, kth: usize) -> Result<Self, Error> {
        self.ordered("partition", axis, Some(kth), |x, _| key(x), from_key)
    }

    /// The indices of such an order.
    pub(crate) fn arg_parted(&self, axis: usize, kth: usize) -> Result<Array<i64, D>, Error> {
        let pair = |x, place| (key_of_equals(x), place);
        let place = |(_, place)| place as i64;
        self.ordered("argpartition", axis, Some(kth), pair, place)
    }

    /// The task: `item` makes what is sorted of an element and its place, `made` what is returned.
    /// Lines of several are sorted only as far as the place `kth` says, if there is one.
    fn ordered<K: Exchanged, U: Element>(
        &self,
        op: &'static str,
        axis: usize,
        kth: Option<usize>,
        item: impl Fn(T, u64) -> K + Copy + Send + Sync + 'static,
        made_of: impl Fn(K) -> U + Copy + Send + Sync + 'static,
    ) -> Result<Array<U, D>, Error> {
        check_axes::<D>(op, [axis])?;
        let last = D - 1;
        let x = self.try_move_axis(axis, last)?.contiguous()?;
        let n = x.shape()[last];
        let is_short = n <= short_lines::LONGEST;
        let network = if is_short { network(n) } else { Vec::new() };
        let function = move |args: &mut HostArgs<'_>| {
            let x = args.read::<T>(X)?;
            let made = args.write::<U>(MADE)?;
            if D == 1 {
                return vector(args, x, made, item, made_of);
            }
            args.in_parts(made, n, |first, part| {
                let x = &x[first * n..][..part.len()];
                if is_short {
                    short_lines::sort((n, &network), x, part, item, made_of);
                    return Ok(());
                }
                let mut items = reserve(n)?;
                for (made, line) in part.chunks_mut(n).zip(x.chunks(n)) {
                    items.clear();
                    items.extend(line.iter().zip(0..).map(|(&x, place)| item(x, place)));
                    match kth {
                        // No two are equal, or those that are cannot be told apart; so the order
                        // is a function of the line.
                        Some(kth) => drop(items.select_nth_unstable(kth)),
                        None => items.sort_unstable(),
                    }
                    let pairs = made.iter_mut().zip(&items);
                    pairs.for_each(|(made, &item)| *made = made_of(item));
                }
                Ok(())
            })
        };
        // The rows of a vector go to other ranks, which the launch of the result does not name.
        let access = if D == 1 { Access::Held } else { Access::Rows };
        let reads = [(x.store(), access)];
        let made = Array::made_by(op, self.runtime(), x.arg().shape(), &reads, function)?;
        made.try_move_axis(last, axis)
    }
}

impl<T: Numeric + PartialOrd> Vector<T> {
    /// The elements in ascending order: [`Array::sort_axis`] along the one axis.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![3, 1, 2, 1]);
    /// assert_eq!(x.sort().to_vec()?, [1, 1, 2, 3]);
    /// assert_eq!(x.argsort().to_vec()?, [1, 3, 2, 0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn sort(&self) -> Self {
        self.sort_axis(0)
    }

    /// The indices that sort: [`Array::argsort_axis`] along the one axis.
    #[must_use]
    #[track_caller]
    pub fn argsort(&self) -> Vector<i64> {
        self.argsort_axis(0)
    }
}

/// What is sorted: an element as a [`key`], or a pair of one and a place.
trait Exchanged: Item {
    /// Sends each rank a list of items, and returns those that arrive here.
    fn exchange(args: &HostArgs<'_>, lists: &[Vec<Self>]) -> Result<Vec<Self>, Error>;
}

impl Item for u64 {
    #[inline(always)]
    fn key(self) -> u64 {
        self
    }
}

impl Exchanged for u64 {
    fn exchange(args: &HostArgs<'_>, lists: &[Vec<Self>]) -> Result<Vec<Self>, Error> {
        try_concat(&args.all_to_all(lists)?)
    }
}

impl Item for (u64, u64) {
    #[inline(always)]
    fn key(self) -> u64 {
        self.0
    }
}

impl Exchanged for (u64, u64) {
    fn exchange(args: &HostArgs<'_>, lists: &[Vec<Self>]) -> Result<Vec<Self>, Error> {
        let part = |part: fn(&Self) -> u64| {
            let lists = lists.iter().map(|list| try_collect(list.iter().map(part)));
            let lists: Result<Vec<Vec<u64>>, Error> = lists.collect();
            u64::exchange(args, &lists?)
        };
        let (keys, places) = (part(|item| item.0)?, part(|item| item.1)?);
        try_collect(keys.into_iter().zip(places))
    }
}

/// Sorts a vector, of which `x` is what this rank holds.
fn vector<T: Element, K: Exchanged, U: Element>(
    args: &HostArgs<'_>,
    x: &[T],
    made: &mut [U],
    item: impl Fn(T, u64) -> K + Copy + Sync,
    made_of: impl Fn(K) -> U + Copy + Sync,
) -> Result<(), Error> {
    let cuts = args.cuts(X);
    let first = cuts.map_or(0, |cuts| cuts[args.rank()]);
    let item = |number: usize| item(x[number], (first + number) as u64);
    if cuts.is_none() && made.len() == x.len() {
        return sort_to(args, item, made, made_of);
    }
    let mut items = try_collect((0..x.len()).map(item))?;
    if cuts.is_some() {
        items = between_ranks(args, &items)?;
    }
    let mut found: Vec<U> = try_collect(items.iter().map(|&item| made_of(item)))?;
    sort_to(args, |number| items[number], &mut found, made_of)?;
    made.copy_from_slice(&as_cut(args, &found, cuts.is_some(), MADE)?);
    Ok(())
}

/// Items of a rank that are looked at to find pivots, for each rank.
const SAMPLES: usize = 64;

/// The items of all ranks that lie between the pivots of this one.
fn between_ranks<K: Exchanged>(args: &HostArgs<'_>, items: &[K]) -> Result<Vec<K>, Error> {
    let ranks = args.ranks();
    let sample = sample(items, SAMPLES * ranks);
    let pivots = pivots(K::exchange(args, &vec![sample; ranks])?, ranks);
    let mut counts = vec![0; ranks];
    let mut owners = Owners::new(&pivots);
    items.iter().for_each(|item| counts[owners.of(item)] += 1);
    let lists: Result<Vec<Vec<K>>, Error> = counts.into_iter().map(reserve).collect();
    let mut lists = lists?;
    let mut owners = Owners::new(&pivots);
    items
        .iter()
        .for_each(|item| lists[owners.of(item)].push(*item));
    K::exchange(args, &lists)
}

/// Which rank gets an item. Those that equal several pivots belong to the ranks between these as
/// well as to the ranks beside them: each gets one in turn, so that none gets most of a vector with
/// few distinct elements.
struct Owners<'a, K> {
    pivots: &'a [K],
    /// By the first rank that may have them, how many of such items there were.
    counts: Vec<usize>,
}

impl<'a, K: Item> Owners<'a, K> {
    fn new(pivots: &'a [K]) -> Self {
        Self {
            pivots,
            counts: vec![0; pivots.len() + 1],
        }
    }

    fn of(&mut self, item: &K) -> usize {
        let first = self.pivots.partition_point(|pivot| pivot < item);
        let equal = self.pivots[first..].partition_point(|pivot| pivot <= item);
        let count = &mut self.counts[first];
        *count += 1;
        // With one pivot the equal ones are a rank's share, which need not be divided.
        match equal {
            0 | 1 => first + equal,
            _ => first + *count % (equal + 1),
        }
    }
}

/// Items that part others into `parts`, about evenly, from a sample of them.
fn pivots<K: Item>(mut sample: Vec<K>, parts: usize) -> Vec<K> {
    sample.sort_unstable();
    let pivot = |part: usize| sample.get(sample.len() * part / parts).copied();
    (1..parts).filter_map(pivot).collect()
}

/// Some of the items, at equal distances.
fn sample<K: Item>(items: &[K], n: usize) -> Vec<K> {
    let place = |i: usize| (items.len() as u128 * i as u128 / n as u128) as usize;
    let n = if items.is_empty() { 0 } else { n };
    (0..n).map(|i| items[place(i)]).collect()
}

/// The place of an element in the order of its type: elements are in order as their keys are. All
/// NaN have the largest key.
#[inline(always)]
pub(crate) fn key<T: Element>(x: T) -> u64 {
    let [bits, _] = x.to_bits();
    match T::DTYPE {
        DType::F64 => float_key::<63>(bits, f64::INFINITY.to_bits()),
        DType::F32 => float_key::<31>(bits, u64::from(f32::INFINITY.to_bits())),
        DType::I64 => bits ^ 1 << 63,
        DType::I32 => bits ^ 1 << 31,
        // Complex numbers have no order, and nothing here takes them.
        DType::U32 | DType::U64 | DType::Bool | DType::ComplexF32 | DType::ComplexF64 => bits,
    }
}

/// As [`key`], with one key for -0 and 0.
#[inline(always)]
pub(crate) fn key_of_equals<T: Numeric>(x: T) -> u64 {
    key(if x == T::ZERO { T::ZERO } else { x })
}

/// The element that has a key.
#[inline(always)]
pub(crate) fn from_key<T: Element>(key: u64) -> T {
    let bits = match T::DTYPE {
        DType::F64 => float_bits::<63>(key),
        DType::F32 => float_bits::<31>(key),
        DType::I64 => key ^ 1 << 63,
        DType::I32 => key ^ 1 << 31,
        DType::U32 | DType::U64 | DType::Bool | DType::ComplexF32 | DType::ComplexF64 => key,
    };
    T::from_bits([bits, 0])
}

/// The key of a float by its bits, of which that with the number `SIGN` is the sign.
#[inline(always)]
fn float_key<const SIGN: u32>(bits: u64, infinity: u64) -> u64 {
    let sign = 1 << SIGN;
    let all = sign | (sign - 1);
    if bits & !sign > infinity {
        all
    } else if bits & sign == 0 {
        bits | sign
    } else {
        !bits & all
    }
}

/// The inverse of [`float_key`].
#[inline(always)]
fn float_bits<const SIGN: u32>(key: u64) -> u64 {
    let sign = 1 << SIGN;
    let all = sign | (sign - 1);
    if key & sign == 0 {
        !key & all
    } else {
        key ^ sign
    }
}
