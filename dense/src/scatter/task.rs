//! The task of a scatter: what each rank serves, sends and passes on.

use crate::indices::{Index, Lines, element_cuts, owner};
use crate::shares::{self, Singles};
use sparsefuse_kernels::{Element, Numeric};
use sparsefuse_runtime::{Error, HostArgs, reserve, try_collect};
use std::borrow::Cow;
use std::ops::Range;

/// The arguments of the task; the values are one where they are no number, and the result is last.
const X: usize = 0;
const INDICES: usize = 1;
const VALUES: usize = 2;

/// What an element becomes by a value that is brought to it.
pub(super) trait Rule<T: Element> {
    const IS_SUM: bool;
    /// Whether an element becomes the first of the largest, or least, of all values and itself.
    const IS_EXTREME: bool = false;
    fn combine(old: T, new: T) -> T;
}

pub(super) struct Replace;
impl<T: Element> Rule<T> for Replace {
    const IS_SUM: bool = false;
    #[inline(always)]
    fn combine(_old: T, new: T) -> T {
        new
    }
}

pub(super) struct Plus;
impl<T: Numeric> Rule<T> for Plus {
    const IS_SUM: bool = true;
    #[inline(always)]
    fn combine(old: T, new: T) -> T {
        old.plus(new)
    }
}

pub(super) struct Largest;
impl<T: Numeric + PartialOrd> Rule<T> for Largest {
    const IS_SUM: bool = false;
    const IS_EXTREME: bool = true;
    #[inline(always)]
    fn combine(old: T, new: T) -> T {
        // One that is not a number stays.
        if old >= new || !is_number(old) {
            old
        } else {
            new
        }
    }
}

pub(super) struct Smallest;
impl<T: Numeric + PartialOrd> Rule<T> for Smallest {
    const IS_SUM: bool = false;
    const IS_EXTREME: bool = true;
    #[inline(always)]
    fn combine(old: T, new: T) -> T {
        if old <= new || !is_number(old) {
            old
        } else {
            new
        }
    }
}

#[inline(always)]
fn is_number<T: PartialOrd>(x: T) -> bool {
    x.partial_cmp(&x).is_some()
}

/// The function of a rule.
pub(super) trait Combine<T>: Fn(T, T) -> T + Copy + Sync {}
impl<T, F: Fn(T, T) -> T + Copy + Sync> Combine<T> for F {}

/// What the function of the task knows.
#[derive(Clone, Copy)]
pub(super) struct Scatter<T> {
    pub(super) lines: Lines,
    /// Whether there is an index for each item, which are cut like rows; else every rank has all.
    pub(super) is_flat: bool,
    /// Elements of a row of the array.
    pub(super) row_len: usize,
    /// Items of a row of the values.
    pub(super) items_of_row: usize,
    /// Items of all ranks.
    pub(super) n_items: usize,
    /// The value of all items, where that is a number.
    pub(super) number: Option<T>,
    /// Whether the order of the items leaves no trace: of sums of integers.
    pub(super) in_any_order: bool,
    /// [`Rule::IS_EXTREME`].
    pub(super) is_extreme: bool,
    /// Whether the array is a block that is changed, and the first argument.
    pub(super) is_in_place: bool,
}

/// Items on this rank.
struct Items<'a, T: Element, I> {
    /// Their numbers.
    numbers: Range<usize>,
    /// The values of their units, one after the other; none where that is a number.
    values: Cow<'a, [T]>,
    /// Indices, and the number of the first of them.
    indices: (&'a [I], usize),
    /// Whether ranks have different items.
    are_cut: bool,
}

impl<T: Element> Scatter<T> {
    pub(super) fn run<I: Index>(
        &self,
        args: &mut HostArgs<'_>,
        combine: impl Combine<T>,
    ) -> Result<(), Error> {
        if self.is_in_place {
            let mut block = args.block_mut::<T>(X)?;
            let made = block.as_mut_slice();
            let made = made.expect("all of a store is a block without gaps");
            let items = self.items::<I>(args)?;
            return self.serve(args, (made, 0), &items, combine);
        }
        let result = if self.number.is_some() {
            VALUES
        } else {
            VALUES + 1
        };
        let made = args.write::<T>(result)?;
        let x = args.read::<T>(X)?;
        args.in_parts(made, 1, |first, part| {
            part.copy_from_slice(&x[first..][..part.len()]);
            Ok(())
        })?;
        let items = self.items::<I>(args)?;
        let begin = args.rows().start * self.row_len;
        match element_cuts(args.cuts(result), self.row_len) {
            _ if !items.are_cut => self.serve(args, (made, begin), &items, combine),
            Some(cuts) => self.send(args, (made, &cuts), &items, combine),
            None => self.pass(args, made, &items, combine),
        }
    }

    /// The items of this rank. Where indices and values are cut otherwise, the indices decide.
    fn items<'a, I: Index>(&self, args: &HostArgs<'a>) -> Result<Items<'a, T, I>, Error> {
        let of_indices = args.cuts(INDICES).filter(|_| self.is_flat);
        let of_values = args.cuts(VALUES).filter(|_| self.number.is_none());
        let cuts = of_indices.or(of_values);
        let values = match self.number {
            Some(_) => Cow::Borrowed(&[][..]),
            None => {
                let row_len = self.items_of_row * self.lines.inner;
                args.read_between(VALUES, row_len, cuts)?
            }
        };
        let own = |cuts: &[usize]| {
            let (begin, end) = (cuts[args.rank()], cuts[args.rank() + 1]);
            begin * self.items_of_row..end * self.items_of_row
        };
        let numbers = cuts.map_or(0..self.n_items, own);
        let first = of_indices.map_or(0, |cuts| own(cuts).start);
        Ok(Items {
            numbers,
            values,
            indices: (args.read::<I>(INDICES)?, first),
            are_cut: cuts.is_some(),
        })
    }

    /// Brings the items that name elements of `made`, of which the first is `begin`, to them.
    fn serve<I: Index>(
        &self,
        args: &HostArgs<'_>,
        (made, begin): (&mut [T], usize),
        items: &Items<'_, T, I>,
        combine: impl Combine<T>,
    ) -> Result<(), Error> {
        let (lines, inner) = (self.lines, self.lines.inner);
        let (values, first_item) = (&*items.values, items.numbers.start);
        let indices = items.indices;
        if inner == 1 {
            let singles = Singles {
                lines: &lines,
                numbers: items.numbers.clone(),
                indices,
                in_any_order: self.in_any_order,
            };
            let places = (made, begin);
            return match self.number {
                Some(value) => shares::serve(args, places, &singles, move |_| value, combine),
                None => {
                    let value = move |item: usize| values[item - first_item];
                    shares::serve(args, places, &singles, value, combine)
                }
            };
        }
        args.in_parts(made, inner, |first, part| {
            let begin = begin + first * inner;
            // Elements before the part are far behind it.
            let place = |start: usize| start.wrapping_sub(begin);
            lines.for_each(items.numbers.clone(), indices, |item, start| {
                let place = place(start);
                if place < part.len() {
                    let unit = &mut part[place..place + inner];
                    self.bring(unit, values, item - first_item, combine);
                }
            })
        })
    }

    /// Brings unit `number` of the values to a unit of the array.
    #[inline]
    fn bring(&self, unit: &mut [T], values: &[T], number: usize, combine: impl Combine<T>) {
        let inner = self.lines.inner;
        match self.number {
            Some(value) => unit.iter_mut().for_each(|x| *x = combine(*x, value)),
            None => {
                let values = &values[number * inner..(number + 1) * inner];
                let pairs = unit.iter_mut().zip(values);
                pairs.for_each(|(x, &value)| *x = combine(*x, value));
            }
        }
    }

    /// Sends the items to the ranks that have their elements, and brings what arrives to those of
    /// this rank: that of the lowest rank first, which has the first items.
    fn send<I: Index>(
        &self,
        args: &HostArgs<'_>,
        (made, cuts): (&mut [T], &[usize]),
        items: &Items<'_, T, I>,
        combine: impl Combine<T>,
    ) -> Result<(), Error> {
        let (lines, inner) = (self.lines, self.lines.inner);
        let mut counts = vec![0; args.ranks()];
        let (numbers, indices) = (|| items.numbers.clone(), items.indices);
        lines.for_each(numbers(), indices, |_, start| {
            counts[owner(cuts, start)] += 1
        })?;
        let is_number = self.number.is_some();
        let mut starts = Vec::with_capacity(counts.len());
        let mut values = Vec::with_capacity(counts.len());
        for &count in &counts {
            starts.push(reserve::<u64>(count)?);
            values.push(reserve::<T>(if is_number { 0 } else { count * inner })?);
        }
        lines.for_each(numbers(), indices, |item, start| {
            let owner = owner(cuts, start);
            starts[owner].push((start - cuts[owner]) as u64);
            if !is_number {
                let number = item - items.numbers.start;
                let unit = &items.values[number * inner..(number + 1) * inner];
                values[owner].extend_from_slice(unit);
            }
        })?;
        let starts = args.all_to_all(&starts)?;
        let values = match is_number {
            true => values,
            false => args.all_to_all(&values)?,
        };
        args.in_parts(made, inner, |first, part| {
            for (starts, values) in starts.iter().zip(&values) {
                for (number, &start) in starts.iter().enumerate() {
                    let place = (start as usize).wrapping_sub(first * inner);
                    if place < part.len() {
                        let unit = &mut part[place..place + inner];
                        self.bring(unit, values, number, combine);
                    }
                }
            }
            Ok(())
        })
    }

    /// Serves the items of one rank after the other; in the end all ranks have the array. Sums
    /// whose order leaves no trace, and extremes, ranks make side by side, all but the first of
    /// sums from zeros, and combine along a tree.
    fn pass<I: Index>(
        &self,
        args: &HostArgs<'_>,
        made: &mut [T],
        items: &Items<'_, T, I>,
        combine: impl Combine<T>,
    ) -> Result<(), Error> {
        let serve = |made: &mut [T]| self.serve(args, (made, 0), items, combine);
        if !self.in_any_order && !self.is_extreme {
            return args.in_turn(made, |made, _| serve(made));
        }
        if self.in_any_order && args.rank() > 0 {
            made.fill(T::from_bits([0; 2]));
        }
        serve(made)?;
        let own = try_collect(made.iter().copied())?;
        let all = args.all_reduce(own, |some, others| {
            let pairs = some.iter_mut().zip(others);
            pairs.for_each(|(some, other)| *some = combine(*some, other));
        })?;
        if all.len() != made.len() {
            let expected = format!("{} elements of every rank", made.len());
            return Err(Error::argument("scatter", expected, all.len().to_string()));
        }
        made.copy_from_slice(&all);
        Ok(())
    }
}
