//! Elements that a host task chooses: it finds how many there are, so its result is deferred.
//!
//! Each rank makes what its own elements leave, in two passes over them: each thread counts what
//! its part leaves, and then writes it where that of the parts before it ends. So the result is cut
//! as it was found, and no element is sent to another rank.

use crate::array::{Array, Vector};
use sparsefuse_kernels::{Element, Numeric};
use sparsefuse_runtime::{Deferred, Error, HostArgs, Part, Room, Runtime, StoreHandle};
use std::ops::Range;

/// Issues the task that reads these stores, and of which `function` makes each rank's elements.
pub(crate) fn deferred<T: Element>(
    op: &'static str,
    reads: &[&StoreHandle],
    function: impl FnOnce(&HostArgs<'_>) -> Result<Part<T>, Error> + Send + 'static,
) -> Result<Deferred<Vector<T>>, Error> {
    let runtime = reads[0].runtime();
    let planned = |runtime: &Runtime| Ok(Part::Own(runtime.room(1)?));
    let part = runtime.submit_deferred(op, reads, planned, |args| function(args))?;
    Ok(part.then(|runtime, part| Ok(Array::wrap(runtime.store_of_part(part)?, None))))
}

/// What a rank has found in elements that are cut or not.
pub(crate) fn part<T>(is_cut: bool, found: Room<T>) -> Part<T> {
    match is_cut {
        true => Part::Own(found),
        false => Part::All(found),
    }
}

/// What `len` elements leave: of a range of them as many as `count` says, which `write` writes.
pub(crate) fn chosen<T: Element>(
    args: &HostArgs<'_>,
    len: usize,
    count: impl Fn(Range<usize>) -> usize + Sync,
    write: impl Fn(Range<usize>, &mut [T]) + Sync,
) -> Result<Room<T>, Error> {
    let parts = args.threads();
    let range = |part: usize| len * part / parts..len * (part + 1) / parts;
    let mut counts = vec![0; parts];
    let each: Vec<usize> = (1..=parts).collect();
    args.in_parts_to(&mut counts, &each, |part, n| {
        n[0] = count(range(part));
        Ok(())
    })?;
    let ends: Vec<usize> = (1..=parts).map(|n| counts[..n].iter().sum()).collect();
    let mut found = args.room(ends[parts - 1])?;
    args.in_parts_to(&mut found, &ends, |part, found| {
        write(range(part), found);
        Ok(())
    })?;
    Ok(found)
}

/// How many elements of a mask are true.
pub(crate) fn count_true(mask: &[bool]) -> usize {
    // As many that the count fits a byte, so that the loop is over vectors of bytes.
    let few = |few: &[bool]| few.iter().fold(0, |n: u8, &is_true| n + u8::from(is_true));
    mask.chunks(128).map(|chunk| usize::from(few(chunk))).sum()
}

/// Writes the items whose elements of a mask are true. There are as many as `made` has room for.
#[inline(always)]
pub(crate) fn write_true<T>(mask: &[bool], items: impl Iterator<Item = T>, made: &mut [T]) {
    let mut n = 0;
    for (&is_true, item) in mask.iter().zip(items) {
        if n == made.len() {
            return;
        }
        // Written whether it is true or not: a branch here would be a guess.
        made[n] = item;
        n += usize::from(is_true);
    }
}

impl<T: Numeric + PartialOrd> Vector<T> {
    /// Of a sorted vector, for each element that differs from the one before it what `of` makes of
    /// it and its place. All NaN are equal.
    pub(crate) fn of_runs<U: Element>(
        &self,
        op: &'static str,
        of: impl Fn(T, usize) -> U + Send + Sync + 'static,
    ) -> Result<Deferred<Vector<U>>, Error> {
        let sorted = self.contiguous()?;
        deferred(op, &[sorted.store()], move |args| {
            let sorted = args.read::<T>(0)?;
            let first = args.cuts(0).map_or(0, |cuts| cuts[args.rank()]);
            let before = element_before(args, sorted)?;
            let begins = |range: Range<usize>| {
                let before = match range.start {
                    0 => before,
                    start => Some(sorted[start - 1]),
                };
                begins_run(before, &sorted[range])
            };
            let count = |range| begins(range).filter(|&begins| begins).count();
            let write = |range: Range<usize>, made: &mut [U]| {
                let places = range.clone().filter(|&place| place < sorted.len());
                let begun = begins(range).zip(places).filter(|(begins, _)| *begins);
                for (made, (_, place)) in made.iter_mut().zip(begun) {
                    *made = of(sorted[place], first + place);
                }
            };
            let found = chosen(args, sorted.len(), count, write)?;
            Ok(part(args.cuts(0).is_some(), found))
        })
    }
}

/// Whether each of some sorted elements differs from the one before it.
fn begins_run<T: PartialOrd + Copy>(
    before: Option<T>,
    elements: &[T],
) -> impl Iterator<Item = bool> {
    // NaN are the last, and have no order, not even beside themselves.
    let is_number = |x: &T| x.partial_cmp(x).is_some();
    let differs = move |before: T, element: T| is_number(&before) && element != before;
    let first = elements
        .first()
        .map(|&element| before.is_none_or(|before| differs(before, element)));
    let others = elements
        .windows(2)
        .map(move |pair| differs(pair[0], pair[1]));
    first.into_iter().chain(others)
}

/// The element before those of this rank, if there is one.
fn element_before<T: Element>(args: &HostArgs<'_>, own: &[T]) -> Result<Option<T>, Error> {
    let (Some(cuts), Some(last)) = (args.cuts(0), own.last()) else {
        return Ok(None);
    };
    let has_some = |rank: &usize| cuts[*rank] < cuts[*rank + 1];
    if let Some(next) = (args.rank() + 1..args.ranks()).find(has_some) {
        args.send(next, &[*last])?;
    }
    match (0..args.rank()).rev().find(has_some) {
        Some(previous) => Ok(args.receive::<T>(previous)?.first().copied()),
        None => Ok(None),
    }
}
