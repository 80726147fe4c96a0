//! Counter-based random numbers: Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random
//! numbers: as easy as 1, 2, 3" (SC 2011).
//!
//! Number `index` of stream `seed` is a function of the two alone, so rows, threads and ranks draw
//! their numbers independently and always find the same ones. The seed is the key of the cipher,
//! the index the lower half of its counter, and one block of four words serves one index. What
//! takes more than one block counts them in the upper half ([`gamma`], [`poisson`]).

mod rejection;

pub use rejection::{gamma, poisson};

use crate::math::double::{cos, cos_block, log};

const ROUNDS: usize = 10;
/// The multipliers of the two halves of a block.
const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
/// What the key grows by after each round: the golden ratio and the square root of 3, less 1.
const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// 64 random bits.
#[inline(always)]
pub fn bits(seed: u64, index: u64) -> u64 {
    let [a, b, _, _] = block(seed, index);
    word(a, b)
}

/// A number of [0, 1), a multiple of 2^-53.
#[inline(always)]
pub fn uniform(seed: u64, index: u64) -> f64 {
    unit(bits(seed, index))
}

/// The largest number of [0, 1) in single precision: [`uniform`] is at most that where it becomes
/// one, and is not rounded to 1.
pub const LARGEST_UNIFORM_F32: f64 = 0.999_999_940_395_355_2;

/// A standard normal number, after Box and Muller: `sqrt(-2 log u) cos(2 pi v)` with `u` in (0, 1]
/// and `v` in [0, 1) from the two halves of one block.
#[inline(always)]
pub fn normal(seed: u64, index: u64) -> f64 {
    let (u, angle) = polar(seed, index);
    radius(u) * cos(angle)
}

/// As [`normal`], of several seeds and indices: loops that each go through all of them, so that
/// they become SIMD code.
#[inline(always)]
pub(crate) fn normals<const N: usize>(seeds: &[u64; N], indices: &[i64; N]) -> [f64; N] {
    let (mut numbers, mut angles, mut cosines) = ([0.0; N], [0.0; N], [0.0; N]);
    for k in 0..N {
        (numbers[k], angles[k]) = polar(seeds[k], indices[k] as u64);
    }
    cos_block(&angles, &mut cosines);
    for k in 0..N {
        numbers[k] = radius(numbers[k]) * cosines[k];
    }
    numbers
}

/// `u` and `2 pi v`.
#[inline(always)]
fn polar(seed: u64, index: u64) -> (f64, f64) {
    polar_of(block(seed, index))
}

/// As above, of the words of a block.
#[inline(always)]
fn polar_of([a, b, c, d]: [u32; 4]) -> (f64, f64) {
    // Both are multiples of 2^-53, so the difference is exact.
    let u = 1.0 - unit(word(a, b));
    (u, std::f64::consts::TAU * unit(word(c, d)))
}

#[inline(always)]
fn radius(u: f64) -> f64 {
    (-2.0 * log(u)).sqrt()
}

#[inline(always)]
fn unit(bits: u64) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    let number = bits >> 11;
    // AVX2 has no conversion of 64-bit numbers, and that of one after the other takes as long as
    // all the rest. The lower half as 2^52 and itself, the upper one as 2^84 and 2^32 times itself,
    // are floats whose bits are put together; all sums are exact, as the number has 53 bits.
    const LOW: u64 = 0x4330_0000_0000_0000; // 2^52
    const HIGH: u64 = 0x4530_0000_0000_0000; // 2^84
    const BOTH: f64 = f64::from_bits(HIGH) + f64::from_bits(LOW);
    let low = f64::from_bits(LOW | number & 0xffff_ffff);
    let high = f64::from_bits(HIGH | number >> 32);
    (high - BOTH + low) * STEP
}

#[inline(always)]
fn word(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

#[inline(always)]
fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

#[inline(always)]
fn block(seed: u64, index: u64) -> [u32; 4] {
    block_of(seed, index, 0)
}

/// One of the blocks of an index, of which the first is number 0.
#[inline(always)]
fn block_of(seed: u64, index: u64, number: u32) -> [u32; 4] {
    let [low, high] = halves(index);
    philox([low, high, number, 0], halves(seed))
}

#[inline(always)]
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..ROUNDS {
        let [low0, high0] = halves(u64::from(MULTIPLIERS[0]) * u64::from(counter[0]));
        let [low1, high1] = halves(u64::from(MULTIPLIERS[1]) * u64::from(counter[2]));
        counter = [
            high1 ^ counter[1] ^ key[0],
            low1,
            high0 ^ counter[3] ^ key[1],
            low0,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that the authors publish with their library.
    #[test]
    fn philox_gives_the_known_answers() {
        let ones = u32::MAX;
        for (counter, key, expected) in [
            (
                [0; 4],
                [0; 2],
                [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8],
            ),
            (
                [ones; 4],
                [ones; 2],
                [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd],
            ),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ] {
            assert_eq!(philox(counter, key), expected);
        }
        assert_eq!(bits(0, 0), 0xe169_c58d_6627_e8d5);
    }

    #[test]
    fn seed_and_index_select_the_block() {
        assert_eq!(
            block(0x299f_31d0_a409_3822, 0x85a3_08d3_243f_6a88),
            philox([0x243f_6a88, 0x85a3_08d3, 0, 0], [0xa409_3822, 0x299f_31d0])
        );
    }

    #[test]
    fn several_normal_numbers_are_those_of_their_indices() {
        for first in (0..4000).step_by(16) {
            let indices = std::array::from_fn(|k| first + k as i64);
            let expected = indices.map(|index| normal(5, index as u64).to_bits());
            let found: [f64; 16] = normals(&[5; 16], &indices);
            assert_eq!(found.map(f64::to_bits), expected);
        }
    }

    /// The first four raw moments of `n` numbers.
    fn moments(n: u64, number: impl Fn(u64) -> f64) -> [f64; 4] {
        let mut sums = [0.0; 4];
        for index in 0..n {
            let x = number(index);
            for (power, sum) in sums.iter_mut().enumerate() {
                *sum += x.powi(power as i32 + 1) / n as f64;
            }
        }
        sums
    }

    #[test]
    fn moments_are_those_of_the_distribution() {
        let n = 100_000;
        // Five standard errors of each mean.
        let check = |found: [f64; 4], expected: [f64; 4], variances: [f64; 4]| {
            for k in 0..4 {
                let error = 5.0 * (variances[k] / n as f64).sqrt();
                assert!(
                    (found[k] - expected[k]).abs() < error,
                    "moment {k}: {} instead of {}",
                    found[k],
                    expected[k]
                );
            }
        };
        let of_uniform = [1.0 / 2.0, 1.0 / 3.0, 1.0 / 4.0, 1.0 / 5.0];
        let variances = [1, 2, 3, 4].map(|k| {
            let k = f64::from(k);
            1.0 / (2.0 * k + 1.0) - (1.0 / (k + 1.0)).powi(2)
        });
        check(moments(n, |i| uniform(7, i)), of_uniform, variances);
        check(
            moments(n, |i| normal(7, i)),
            [0.0, 1.0, 0.0, 3.0],
            [1.0, 2.0, 15.0, 96.0],
        );
    }

    #[test]
    fn bits_become_the_numbers_of_the_conversion() {
        let step = 0.5_f64.powi(53);
        let edges = (0..64).flat_map(|bit| [1_u64 << bit, (1_u64 << bit) - 1, u64::MAX << bit]);
        for word in edges.chain((0..100_000).map(|index| bits(9, index))) {
            assert_eq!(unit(word), (word >> 11) as f64 * step, "{word:#x}");
        }
    }

    #[test]
    fn uniform_numbers_lie_below_one() {
        assert_eq!(unit(u64::MAX), 1.0 - f64::EPSILON / 2.0);
        assert_eq!(unit(0), 0.0);
        assert!((0..1000).all(|i| normal(3, i).is_finite()));
    }
}
