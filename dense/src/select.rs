//! Elements at places of the order in which a vector would be sorted, without sorting it.
//!
//! Keys are counted by their leading bits, from the smallest to the largest key; those that agree
//! with the one wanted are looked at further, until only equal ones are left. Threads and ranks add
//! up their counts, so no element is sent, and neither shows.

use crate::array::{Array, Vector};
use crate::indices::as_cut;
use crate::shares::{each, part};
use crate::sort::{from_key, key};
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Access, Error, HostArgs, Shape, reserve, try_concat};
use std::ops::Range;

/// The arguments of the task.
const X: usize = 0;
const MADE: usize = 1;

/// The leading bits of a key that are counted at a time.
const BITS: u32 = 11;
/// Elements from which on the threads share them.
const MANY: usize = 1 << 16;

/// Of a vector with elements the one at a place of the sorted vector, the next one, and the last
/// one. One task. If there is no next one, the last one takes its place.
pub(crate) fn elements_at<T: Element>(x: &Vector<T>, place: usize) -> Result<Vector<T>, Error> {
    const OP: &str = "quantile";
    let x = x.contiguous()?;
    let function = move |args: &mut HostArgs<'_>| {
        let x = args.read::<T>(X)?;
        let made = args.write::<T>(MADE)?;
        let found = key_at(args, x, place as u64)?;
        let Around {
            up_to,
            all,
            next,
            last,
        } = around(args, x, found)?;
        // The next one is equal, or there is none.
        let next = match up_to > place as u64 + 1 || up_to == all {
            true => found,
            false => next,
        };
        let keys = [found, next, last].map(from_key);
        made.copy_from_slice(&as_cut(args, &keys, false, MADE)?);
        Ok(())
    };
    let reads = [(x.store(), Access::Held)];
    Array::made_by(OP, x.runtime(), Shape::new(&[3]), &reads, function)
}

/// The key at a place of the order of all keys, of which there are more.
fn key_at<T: Element>(args: &HostArgs<'_>, x: &[T], place: u64) -> Result<u64, Error> {
    let mut place = place;
    let mut step = narrowed(args, x.len(), |number| key(x[number]), &mut place)?;
    loop {
        step = match step {
            Narrowed::To(key) => return Ok(key),
            Narrowed::Among(keys) => narrowed(args, keys.len(), |n| keys[n], &mut place)?,
        };
    }
}

enum Narrowed {
    To(u64),
    /// The keys of this rank that have the same leading bits.
    Among(Vec<u64>),
}

/// Finds the leading bits of the key at a place, which becomes its place among the keys that have
/// them.
fn narrowed(
    args: &HostArgs<'_>,
    n: usize,
    key: impl Fn(usize) -> u64 + Sync,
    place: &mut u64,
) -> Result<Narrowed, Error> {
    let extrema = in_parts(args, n, 2, |numbers, found| {
        let (mut least, mut greatest) = (u64::MAX, 0);
        for number in numbers {
            let key = key(number);
            (least, greatest) = (least.min(key), greatest.max(key));
        }
        found.copy_from_slice(&[!least, greatest]);
    })?;
    let extrema = joined(args, &extrema, |_, a, b| a.max(b))?;
    let (least, greatest) = (!extrema[0], extrema[1]);
    if least >= greatest {
        return Ok(Narrowed::To(least));
    }
    let width = u64::BITS - (greatest - least).leading_zeros();
    let shift = width.saturating_sub(BITS);
    let digit = |key: u64| ((key - least) >> shift) as usize % (1 << BITS);
    let of_parts = in_parts(args, n, 1 << BITS, |numbers, counts| {
        numbers.for_each(|number| counts[digit(key(number))] += 1);
    })?;
    let counts = joined(args, &of_parts, |_, a, b| a + b)?;
    let mut wanted = 0;
    while wanted + 1 < counts.len() && *place >= counts[wanted] {
        *place -= counts[wanted];
        wanted += 1;
    }
    let mut lists: Vec<Vec<u64>> = of_parts.iter().map(|_| Vec::new()).collect();
    each(args, &mut lists, |number, list| {
        let keys = part(n, number, of_parts.len()).map(&key);
        *list = reserve(of_parts[number][wanted] as usize)?;
        list.extend(keys.filter(|&key| digit(key) == wanted));
        Ok(())
    })?;
    Ok(Narrowed::Among(try_concat(&lists)?))
}

/// What is known of all keys beside one of them.
struct Around {
    /// How many there are, and how many of them up to this one.
    all: u64,
    up_to: u64,
    /// The smallest one above it, if there is one, and the greatest.
    next: u64,
    last: u64,
}

fn around<T: Element>(args: &HostArgs<'_>, x: &[T], found: u64) -> Result<Around, Error> {
    let of_parts = in_parts(args, x.len(), 4, |numbers, around| {
        let (mut up_to, mut next, mut last) = (0, u64::MAX, 0);
        for &x in &x[numbers.clone()] {
            let key = key(x);
            up_to += u64::from(key <= found);
            next = next.min(if key <= found { u64::MAX } else { key });
            last = last.max(key);
        }
        around.copy_from_slice(&[numbers.len() as u64, up_to, !next, last]);
    })?;
    let join = |number, a: u64, b| if number < 2 { a + b } else { a.max(b) };
    let around = joined(args, &of_parts, join)?;
    Ok(Around {
        all: around[0],
        up_to: around[1],
        next: !around[2],
        last: around[3],
    })
}

/// What `work` writes for parts of `n` numbers, one for each thread, into as many lists of this
/// length.
fn in_parts(
    args: &HostArgs<'_>,
    n: usize,
    len: usize,
    work: impl Fn(Range<usize>, &mut [u64]) + Sync,
) -> Result<Vec<Vec<u64>>, Error> {
    let parts = if n < MANY { 1 } else { args.threads() };
    let mut lists = vec![vec![0; len]; parts];
    each(args, &mut lists, |number, list| {
        work(part(n, number, parts), list);
        Ok(())
    })?;
    Ok(lists)
}

/// One list of those of all threads, and of all ranks where they hold parts of the vector: `join`
/// makes one element of two, by their number.
fn joined(
    args: &HostArgs<'_>,
    lists: &[Vec<u64>],
    join: impl Fn(usize, u64, u64) -> u64,
) -> Result<Vec<u64>, Error> {
    let put_to = |all: &mut [u64], list: &[u64]| {
        for (number, (one, &other)) in all.iter_mut().zip(list).enumerate() {
            *one = join(number, *one, other);
        }
    };
    let mut own = lists[0].clone();
    lists[1..].iter().for_each(|list| put_to(&mut own, list));
    match args.cuts(X) {
        Some(_) => args.all_reduce(own, |all, list| put_to(all, &list)),
        None => Ok(own),
    }
}
