//! Matrices with entries anywhere: distinct places, each as likely as any other.

use super::rmat::share_of_rank;
use crate::formats::csr::Csr;
use crate::local::triplets::Triplets;
use sparsefuse_kernels::{DType, Field, random};
use sparsefuse_runtime::{Error, Runtime, reserve};
use std::ops::{Add, Range};

/// Rounds of the Feistel network; four make places that are hard to tell from random ones (Luby and
/// Rackoff, "How to construct pseudorandom permutations from pseudorandom functions", 1988).
const ROUNDS: u64 = 4;

/// A matrix of this shape with `density` times as many entries as it has elements, rounded, at
/// distinct random places, uniform in [0, 1): SciPy's `random_array`. The same seed gives the same
/// matrix on any number of ranks; each draws its share of the entries.
///
/// ```
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::random_array::<f64>((300, 200), 0.01, 7)?;
/// assert_eq!((a.shape(), a.nnz()), ((300, 200), 600));
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
///
/// # Errors
///
/// If the density is not between 0 and 1, the matrix is too large for 32-bit indices, or memory
/// runs out.
pub fn random_array<T: Field + Add<Output = T>>(
    shape: (usize, usize),
    density: f64,
    seed: u64,
) -> Result<Csr<T>, Error> {
    const OP: &str = "random_array";
    crate::assembly::check_shape(OP, shape.0, shape.1)?;
    if !(0.0..=1.0).contains(&density) {
        let expected = "a density between 0 and 1";
        return Err(Error::argument(OP, expected, density.to_string()));
    }
    // Both sides have 32 bits.
    let places = shape.0 as u64 * shape.1 as u64;
    let entries = ((density * places as f64).round() as u64).min(places);
    let runtime = Runtime::current();
    if runtime.is_planned() {
        // There are no other ranks to draw their share.
        return Csr::from_triplets(&drawn(shape, seed, 0..entries)?);
    }
    let mine = share_of_rank(&runtime, entries);
    Csr::from_distributed_triplets(runtime.agree(drawn(shape, seed, mine))?)
}

/// Some entries, in the order of their numbers.
fn drawn<T: Field>(
    (n_rows, n_cols): (usize, usize),
    seed: u64,
    numbers: Range<u64>,
) -> Result<Triplets<T>, Error> {
    let places = n_rows as u64 * n_cols as u64;
    let count = (numbers.end - numbers.start) as usize;
    let (mut rows, mut cols) = (reserve(count)?, reserve(count)?);
    let mut vals = reserve(count)?;
    let most = match T::DTYPE.real() {
        DType::F32 => random::LARGEST_UNIFORM_F32,
        _ => 1.0,
    };
    for number in numbers {
        let place = place(places, seed, number);
        rows.push((place / n_cols as u64) as u32);
        cols.push((place % n_cols as u64) as u32);
        vals.push(T::from_f64(random::uniform(seed, number).min(most)));
    }
    Ok(Triplets::from_checked_parts(
        n_rows, n_cols, rows, cols, vals,
    ))
}

/// Where a number goes in a random permutation of the numbers below `places`.
fn place(places: u64, seed: u64, number: u64) -> u64 {
    let bits = u64::BITS - (places - 1).leading_zeros();
    let half = bits.div_ceil(2).max(1);
    let mask = (1u64 << half) - 1;
    let mut place = number;
    // The permutation is one of up to four times as many numbers: those beyond go on along their
    // cycle, which comes back to one of the places.
    loop {
        let (mut left, mut right) = (place >> half, place & mask);
        for round in 0..ROUNDS {
            let mixed = random::bits(seed ^ (round + 1).rotate_right(8), right) & mask;
            (left, right) = (right, left ^ mixed);
        }
        place = left << half | right;
        if place < places {
            return place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_a_permutation() {
        for places in [1, 2, 3, 100, 1000, 4097] {
            let mut seen: Vec<u64> = (0..places).map(|number| place(places, 9, number)).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..places), "of {places}");
        }
    }

    #[test]
    fn places_are_spread_evenly() {
        // 20,000 of a million places in 100 parts: 200 each, with a deviation of 14.
        let mut counts = [0.0_f64; 100];
        for number in 0..20_000 {
            counts[(place(1_000_000, 3, number) / 10_000) as usize] += 1.0;
        }
        let chi2: f64 = counts.iter().map(|n| (n - 200.0).powi(2) / 200.0).sum();
        assert!((60.0..150.0).contains(&chi2), "{chi2}");
    }
}
