//! Sorting on the threads of a rank: each sorts some of the items, and then merges its part of the
//! result.
//!
//! A part of the result begins at a place that is given, so all parts are equally long whatever the
//! items are. Which items of each run lie before that place is found by their keys, from which all
//! threads conclude the same.

use crate::shares::{each, part};
use sparsefuse_runtime::{Error, HostArgs, reserve, try_collect};
use std::borrow::Cow;
use std::ops::Range;

/// What is sorted, in the order of keys; of items with equal keys, those of an earlier run come
/// first.
pub(crate) trait Item: Ord + Copy + Send + Sync {
    fn key(self) -> u64;
}

/// Items below which one thread sorts alone.
const FEW: usize = 1 << 14;

/// Makes `made` of items in order; `item` gives them by their numbers.
pub(crate) fn sort_to<K: Item, U: Send>(
    args: &HostArgs<'_>,
    item: impl Fn(usize) -> K + Sync,
    made: &mut [U],
    made_of: impl Fn(K) -> U + Copy + Sync,
) -> Result<(), Error> {
    let n = made.len();
    let n_runs = if n < FEW { 1 } else { args.threads() };
    let own = |run: usize| part(n, run, n_runs);
    let mut runs: Vec<Vec<K>> = (0..n_runs).map(|_| Vec::new()).collect();
    each(args, &mut runs, |number, run| {
        *run = try_collect(own(number).map(&item))?;
        run.sort_unstable();
        Ok(())
    })?;
    let ends: Vec<usize> = (0..n_runs).map(|run| own(run).end).collect();
    args.in_parts_to(made, &ends, |number, made| {
        let Range { start, end } = own(number);
        let (begins, ends) = (before(&runs, start), before(&runs, end));
        let ranges = begins.into_iter().zip(ends);
        let parts = runs
            .iter()
            .zip(ranges)
            .map(|(run, (begin, end))| &run[begin..end]);
        merge_all(parts.collect(), made, made_of)
    })
}

/// How many items of each run are among the first `n` of all.
fn before<K: Item>(runs: &[Vec<K>], n: usize) -> Vec<usize> {
    let below = |key: u64| {
        runs.iter()
            .map(move |run| run.partition_point(|item| item.key() < key))
    };
    // The largest key below which there are `n` items or fewer.
    let mut key = 0;
    for bit in (0..u64::BITS).rev() {
        let larger = key | 1 << bit;
        if below(larger).sum::<usize>() <= n {
            key = larger;
        }
    }
    let mut left = n - below(key).sum::<usize>();
    let of_run = |(run, below): (&Vec<K>, usize)| {
        let equal = run[below..].partition_point(|item| item.key() == key);
        let taken = equal.min(left);
        left -= taken;
        below + taken
    };
    runs.iter().zip(below(key)).map(of_run).collect()
}

/// Merges runs, which have as many items as there are elements to make.
fn merge_all<K: Item, U>(
    runs: Vec<&[K]>,
    made: &mut [U],
    made_of: impl Fn(K) -> U,
) -> Result<(), Error> {
    let mut runs: Vec<Cow<'_, [K]>> = runs.into_iter().map(Cow::Borrowed).collect();
    while runs.len() > 2 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut rest = runs.into_iter();
        while let Some(first) = rest.next() {
            merged.push(match rest.next() {
                Some(second) => {
                    let mut items = reserve(first.len() + second.len())?;
                    items.extend_from_slice(&first);
                    items.extend_from_slice(&second);
                    merge(&first, &second, &mut items, |item| item);
                    Cow::Owned(items)
                }
                None => first,
            });
        }
        runs = merged;
    }
    let run = |number: usize| runs.get(number).map_or(&[][..], |run| run);
    merge(run(0), run(1), made, made_of);
    Ok(())
}

/// Merges two runs.
fn merge<K: Item, U>(first: &[K], second: &[K], made: &mut [U], made_of: impl Fn(K) -> U) {
    let (mut i, mut j) = (0, 0);
    let mut made = made.iter_mut();
    while let (Some(&x), Some(&y)) = (first.get(i), second.get(j)) {
        let is_first = x <= y;
        let Some(made) = made.next() else { return };
        *made = made_of(if is_first { x } else { y });
        i += usize::from(is_first);
        j += usize::from(!is_first);
    }
    let left = first[i..].iter().chain(&second[j..]);
    made.zip(left)
        .for_each(|(made, &item)| *made = made_of(item));
}
