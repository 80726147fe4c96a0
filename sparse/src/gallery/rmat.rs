//! Graphs with a power law: the recursive matrix of Chakrabarti, Zhan and Faloutsos, "R-MAT: a
//! recursive model for graph mining" (SDM 2004).

use crate::formats::csr::Csr;
use crate::local::triplets::Triplets;
use sparsefuse_kernels::{Field, random};
use sparsefuse_runtime::{Error, Runtime, reserve};
use std::ops::{Add, Range};

/// The largest scale: columns have 32 bits.
const MAX_SCALE: usize = 31;
/// Where the four quadrants end, in units of 2^-16: 0.57, 0.19, 0.19, and the rest.
const QUADRANTS: [u64; 3] = [37356, 49807, 62259];
/// Levels that the 64 bits of one random number decide.
const LEVELS: usize = 4;

/// The weighted graph of `2^scale` nodes and `per_row` edges for each: at every level an edge falls
/// into one of the quadrants with the probabilities 0.57, 0.19, 0.19 and 0.05, its weight is
/// uniform in (0, 1], edges between the same nodes are summed. A few rows are very long and many
/// empty, so [`Csr::balance`] pays on several ranks. The same seed gives the same matrix on any
/// number of ranks; each draws its share of the edges.
///
/// # Errors
///
/// If the scale is above 31, there are more edges than 64 bits can count, or memory runs out.
pub fn rmat<T: Field + Add<Output = T>>(
    scale: usize,
    per_row: usize,
    seed: u64,
) -> Result<Csr<T>, Error> {
    if scale > MAX_SCALE {
        let expected = format!("a scale of at most {MAX_SCALE}");
        return Err(Error::argument("rmat", expected, scale.to_string()));
    }
    let n = 1usize << scale;
    let Some(edges) = per_row.checked_mul(n) else {
        let expected = "as many edges as 64 bits can count";
        return Err(Error::argument("rmat", expected, per_row.to_string()));
    };
    let runtime = Runtime::current();
    if runtime.is_planned() {
        // There are no other ranks to draw their share.
        return Csr::from_triplets(&drawn(n, scale, seed, 0..edges as u64)?);
    }
    let mine = share_of_rank(&runtime, edges as u64);
    Csr::from_distributed_triplets(runtime.agree(drawn(n, scale, seed, mine))?)
}

/// The numbers that a rank draws, of so many.
pub(super) fn share_of_rank(runtime: &Runtime, numbers: u64) -> Range<u64> {
    let begin = |rank: usize| (numbers as u128 * rank as u128 / runtime.ranks() as u128) as u64;
    begin(runtime.rank())..begin(runtime.rank() + 1)
}

/// Some edges, in the order of their numbers.
fn drawn<T: Field>(
    n: usize,
    scale: usize,
    seed: u64,
    numbers: Range<u64>,
) -> Result<Triplets<T>, Error> {
    let count = (numbers.end - numbers.start) as usize;
    let (mut rows, mut cols) = (reserve(count)?, reserve(count)?);
    let mut vals = reserve(count)?;
    for number in numbers {
        let (row, column) = edge(scale, seed, number);
        rows.push(row as u32);
        cols.push(column as u32);
        vals.push(T::from_f64(weight(scale, seed, number)));
    }
    Ok(Triplets::from_checked_parts(n, n, rows, cols, vals))
}

/// Random numbers that an edge draws: for its levels, and one for its weight.
fn draws(scale: usize) -> u64 {
    scale.div_ceil(LEVELS) as u64 + 1
}

/// The nodes of an edge.
fn edge(scale: usize, seed: u64, number: u64) -> (usize, usize) {
    let first = number.wrapping_mul(draws(scale));
    let (mut row, mut column, mut bits) = (0, 0, 0);
    for level in 0..scale {
        if level.is_multiple_of(LEVELS) {
            bits = random::bits(seed, first.wrapping_add((level / LEVELS) as u64));
        }
        let point = bits & 0xffff;
        bits >>= 16;
        let quadrant = QUADRANTS.iter().filter(|&&end| point >= end).count();
        row = 2 * row + quadrant / 2;
        column = 2 * column + quadrant % 2;
    }
    (row, column)
}

fn weight(scale: usize, seed: u64, number: u64) -> f64 {
    let last = number
        .wrapping_mul(draws(scale))
        .wrapping_add(draws(scale) - 1);
    1.0 - random::uniform(seed, last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quadrants_have_their_probabilities() {
        let mut counts = [0.0; 4];
        let edges = 40_000;
        for number in 0..edges {
            let (row, column) = edge(1, 3, number);
            counts[2 * row + column] += 1.0 / edges as f64;
        }
        for (found, expected) in counts.iter().zip([0.57, 0.19, 0.19, 0.05]) {
            assert!((found - expected).abs() < 0.01, "{counts:?}");
        }
    }
}
