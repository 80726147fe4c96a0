//! How the threads of a rank share the items of a scatter to single elements.
//!
//! Every element takes what its items bring in the order of the items, whichever way is chosen:
//!
//! - *Alone*: one thread goes through all items.
//! - *By blocks*: each thread has some of the elements, and goes through the blocks of items that
//!   name any of them. For indices that are near their place.
//! - *By buckets*: items are first sorted into buckets of neighbouring elements, which fit the
//!   cache; then each bucket is served, in the order of its items. For indices that lie anywhere in
//!   an array larger than the cache; so even one thread is faster than without.
//! - *By copies*: each thread has a copy of all elements, where the order leaves no trace.
//!
//! The choice depends on the indices, on the number of threads and on sizes; no bit does.

use crate::indices::{Index, Lines};
use sparsefuse_kernels::Element;
use sparsefuse_kernels::isa::prefetch_all;
use sparsefuse_runtime::{Error, HostArgs, try_collect};
use std::ops::Range;
use std::slice::from_ref;

/// Items of a block.
const BLOCK: usize = 4096;
/// Bytes of the elements of a bucket: half of an L2 cache.
const BUCKET: usize = 1 << 19;
/// Bytes of an array from which on its elements are served by buckets: more than the last cache
/// keeps.
const LARGE: usize = 16 << 20;
/// Items whose elements are asked for ahead, where these lie beyond the L2 cache.
const AHEAD: usize = 32;
/// How many stretches of items are looked at to choose a way, and items of each.
const SAMPLES: usize = 64;

/// Items on a rank, each of which names one element.
pub(crate) struct Singles<'a, I> {
    pub(crate) lines: &'a Lines,
    /// Their numbers.
    pub(crate) numbers: Range<usize>,
    /// Indices, and the number of the first of them.
    pub(crate) indices: (&'a [I], usize),
    /// Whether what an element becomes does not depend on the order of its items, nor on how they
    /// are grouped, and zero leaves it as it is.
    pub(crate) in_any_order: bool,
}

/// Brings the items that name elements of `made`, of which the first is `begin`, to them; `value`
/// is that of an item.
pub(crate) fn serve<T: Element, I: Index>(
    args: &HostArgs<'_>,
    (made, begin): (&mut [T], usize),
    items: &Singles<'_, I>,
    value: impl Fn(usize) -> T + Sync,
    combine: impl Fn(T, T) -> T + Copy + Sync,
) -> Result<(), Error> {
    let (n, n_items, threads) = (made.len(), items.numbers.len(), args.threads());
    let is_many = n_items >= 16 * BLOCK;
    if is_many && items.in_any_order && threads > 1 && n <= n_items / (4 * threads) {
        return by_copies(args, (made, begin), items, value, combine);
    }
    let bytes = size_of_val(made);
    if is_many && bytes >= LARGE && n_items >= n / 4 && items.are_anywhere(BUCKET / size_of::<T>())
    {
        return by_buckets(args, (made, begin), items, value, combine);
    }
    if is_many && threads > 1 && !items.are_anywhere(n / 8) {
        return by_blocks(args, (made, begin), items, value, combine);
    }
    items.bring(items.numbers.clone(), (made, begin), value, combine)
}

impl<I: Index> Singles<'_, I> {
    /// Whether neighbouring items often name elements that lie further apart than this.
    fn are_anywhere(&self, distance: usize) -> bool {
        let n_items = self.numbers.len();
        let is_wide = |sample: &usize| {
            let first = self.numbers.start + n_items / SAMPLES * sample;
            let range = self.range(first..(first + SAMPLES).min(self.numbers.end));
            range.len() > distance
        };
        (0..SAMPLES).filter(is_wide).count() > SAMPLES / 4
    }

    /// The range of elements that some items name; the largest range if an index is out of bounds,
    /// so that the check of indices finds it on every rank that has elements.
    fn range(&self, numbers: Range<usize>) -> Range<usize> {
        let (mut begin, mut end) = (usize::MAX, 0);
        let segments = self.lines.segments(numbers, self.indices, |segment| {
            let Some(&first) = segment.indices.first() else {
                return Ok(());
            };
            let (mut least, mut greatest) = (first, first);
            for &index in segment.indices {
                least = if index < least { index } else { least };
                greatest = if index > greatest { index } else { greatest };
            }
            let n = self.lines.n;
            let places = match least.is_negative() {
                // Which may count from the end.
                true => Some((0, n.saturating_sub(1))),
                false => least.place(n).zip(greatest.place(n)),
            };
            match places {
                Some((first, last)) => {
                    begin = begin.min(segment.base + first);
                    end = end.max(segment.base + last + 1);
                }
                // The first that is out of range is among these.
                None => (begin, end) = (0, usize::MAX),
            }
            Ok(())
        });
        segments.expect("no segment fails");
        begin..end
    }

    /// Brings those of some items that name elements of `part`, of which the first is `begin`.
    #[inline(always)]
    fn bring<T: Element>(
        &self,
        numbers: Range<usize>,
        (part, begin): (&mut [T], usize),
        value: impl Fn(usize) -> T,
        combine: impl Fn(T, T) -> T,
    ) -> Result<(), Error> {
        let (lines, is_far) = (*self.lines, size_of_val(part) >= BUCKET);
        lines.segments(numbers, self.indices, |segment| {
            // Elements before the part are far behind it.
            let base = segment.base.wrapping_sub(begin);
            for (block, indices) in segment.indices.chunks(AHEAD).enumerate() {
                let first = block * AHEAD;
                if is_far {
                    let places = indices.iter().filter_map(|&index| lines.place(index));
                    let elements = places.map(|place| base.wrapping_add(place));
                    let named = elements.filter_map(|element| part.get(element));
                    named.for_each(|element| prefetch_all(from_ref(element)));
                }
                for (number, &index) in indices.iter().enumerate() {
                    let Some(place) = lines.place(index) else {
                        return Err(lines.refused(index, segment.number + first + number));
                    };
                    if let Some(element) = part.get_mut(base.wrapping_add(place)) {
                        *element = combine(*element, value(segment.item + first + number));
                    }
                }
            }
            Ok(())
        })
    }

    /// Part `part` of `parts` of some items.
    fn part(numbers: &Range<usize>, part: usize, parts: usize) -> Range<usize> {
        let at = |part: usize| numbers.start + numbers.len() * part / parts;
        at(part)..at(part + 1)
    }
}

/// Part `number` of `parts` of `n` numbers, about equally long.
pub(crate) fn part(n: usize, number: usize, parts: usize) -> Range<usize> {
    let at = |part: usize| (n as u128 * part as u128 / parts as u128) as usize;
    at(number)..at(number + 1)
}

/// One job for each thread, which has something of its own.
pub(crate) fn each<S: Send>(
    args: &HostArgs<'_>,
    states: &mut [S],
    work: impl Fn(usize, &mut S) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let ends: Vec<usize> = (1..=states.len()).collect();
    args.in_parts_to(states, &ends, |number, state| work(number, &mut state[0]))
}

fn by_copies<T: Element, I: Index>(
    args: &HostArgs<'_>,
    (made, begin): (&mut [T], usize),
    items: &Singles<'_, I>,
    value: impl Fn(usize) -> T + Sync,
    combine: impl Fn(T, T) -> T + Copy + Sync,
) -> Result<(), Error> {
    let threads = args.threads();
    let zeros = || try_collect((0..made.len()).map(|_| T::from_bits([0; 2])));
    let mut copies: Vec<Vec<T>> = (0..threads)
        .map(|_| zeros())
        .collect::<Result<_, Error>>()?;
    each(args, &mut copies, |thread, copy| {
        let numbers = Singles::<I>::part(&items.numbers, thread, threads);
        items.bring(numbers, (copy, begin), &value, combine)
    })?;
    args.in_parts(made, 1, |first, part| {
        for copy in &copies {
            for (element, &sum) in part.iter_mut().zip(&copy[first..]) {
                *element = combine(*element, sum);
            }
        }
        Ok(())
    })
}

fn by_blocks<T: Element, I: Index>(
    args: &HostArgs<'_>,
    (made, begin): (&mut [T], usize),
    items: &Singles<'_, I>,
    value: impl Fn(usize) -> T + Sync,
    combine: impl Fn(T, T) -> T + Copy + Sync,
) -> Result<(), Error> {
    let numbers = &items.numbers;
    let block = |number: usize| {
        let first = numbers.start + number * BLOCK;
        first..(first + BLOCK).min(numbers.end)
    };
    let n_blocks = numbers.len().div_ceil(BLOCK);
    let mut ranges = try_collect((0..n_blocks).map(|_| 0..0))?;
    let parts = args.threads();
    let ends: Vec<usize> = (1..=parts).map(|part| n_blocks * part / parts).collect();
    args.in_parts_to(&mut ranges, &ends, |part, ranges| {
        for (number, range) in ranges.iter_mut().enumerate() {
            *range = items.range(block(n_blocks * part / parts + number));
        }
        Ok(())
    })?;
    args.in_parts(made, 1, |first, part| {
        let (first, end) = (begin + first, begin + first + part.len());
        for (number, range) in ranges.iter().enumerate() {
            if range.start < end && first < range.end {
                items.bring(block(number), (part, first), &value, combine)?;
            }
        }
        Ok(())
    })
}

/// Some items, bucket by bucket.
struct Sorted<T> {
    /// Where each bucket begins; at first, how many items it has.
    starts: Vec<usize>,
    /// The places of the items within their buckets, and their values.
    places: Vec<u32>,
    values: Vec<T>,
}

fn by_buckets<T: Element, I: Index>(
    args: &HostArgs<'_>,
    (made, begin): (&mut [T], usize),
    items: &Singles<'_, I>,
    value: impl Fn(usize) -> T + Sync,
    combine: impl Fn(T, T) -> T + Copy + Sync,
) -> Result<(), Error> {
    let shift = (BUCKET / size_of::<T>()).ilog2();
    let (n, threads) = (made.len(), args.threads());
    let n_buckets = n.div_ceil(1 << shift);
    let ends: Vec<usize> = (1..=n_buckets).map(|end| (end << shift).min(n)).collect();
    // As many items at a time as take little memory beside the array.
    let at_once = (n / 4).max(16 * BLOCK);
    let room = at_once.min(items.numbers.len()).div_ceil(threads);
    let sorted = |_| {
        Ok(Sorted {
            starts: vec![0; n_buckets + 1],
            places: try_collect((0..room).map(|_| 0))?,
            values: try_collect((0..room).map(|_| T::from_bits([0; 2])))?,
        })
    };
    let mut sorted: Vec<Sorted<T>> = (0..threads).map(sorted).collect::<Result<_, Error>>()?;
    for first in items.numbers.clone().step_by(at_once) {
        let numbers = first..(first + at_once).min(items.numbers.end);
        each(args, &mut sorted, |thread, sorted| {
            let numbers = Singles::<I>::part(&numbers, thread, threads);
            sorted.fill(items, numbers, (begin, n), shift, &value)
        })?;
        args.in_parts_to(made, &ends, |bucket, part| {
            for sorted in &sorted {
                let range = sorted.starts[bucket]..sorted.starts[bucket + 1];
                let values = &sorted.values[range.clone()];
                for (&place, &value) in sorted.places[range].iter().zip(values) {
                    let element = &mut part[place as usize];
                    *element = combine(*element, value);
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

impl<T: Element> Sorted<T> {
    /// Sorts some items that name elements from `begin` on, of which there are `n`; a bucket has
    /// two to the power of `shift` of them.
    fn fill<I: Index>(
        &mut self,
        items: &Singles<'_, I>,
        numbers: Range<usize>,
        (begin, n): (usize, usize),
        shift: u32,
        value: &impl Fn(usize) -> T,
    ) -> Result<(), Error> {
        let (lines, indices) = (items.lines, items.indices);
        let n_buckets = self.starts.len() - 1;
        self.starts.fill(0);
        lines.for_each(numbers.clone(), indices, |_, element| {
            let place = element.wrapping_sub(begin);
            if place < n {
                self.starts[place >> shift] += 1;
            }
        })?;
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end - *start;
        }
        // Each start moves to the end of its bucket, where the next one begins.
        let in_bucket = (1 << shift) - 1;
        lines.for_each(numbers, indices, |item, element| {
            let place = element.wrapping_sub(begin);
            if place < n {
                let at = self.starts[place >> shift];
                self.starts[place >> shift] = at + 1;
                self.places[at] = (place & in_bucket) as u32;
                self.values[at] = value(item);
            }
        })?;
        self.starts.copy_within(..n_buckets, 1);
        self.starts[0] = 0;
        Ok(())
    }
}
