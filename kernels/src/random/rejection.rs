//! Random numbers that are found by trying: an element takes as many blocks as it needs.
//!
//! Logarithms and the like are those of this library, so that every machine accepts the same
//! numbers. All is inlined, so that who runs it for an [instruction set](crate::isa::Isa::run) has
//! its fused multiply-adds.

use super::{block_of, polar_of, radius, unit, word};
use crate::math::double::{cos, exp, lgamma, log, log1p};

/// The mean from which on probabilities of a Poisson distribution are computed by their distance
/// from it. Below, what is accepted is what it was.
const LARGE_MEAN: f64 = 1e9;

/// A number with the density `x^(k-1) exp(-x) / gamma(k)`, for `k` from 0: G. Marsaglia and W.
/// W. Tsang, *A Simple Method for Generating Gamma Variables* (2000).
#[must_use]
#[inline(always)]
pub fn gamma(k: f64, seed: u64, index: u64) -> f64 {
    if k == 0.0 {
        return 0.0;
    }
    let mut blocks = Blocks::new(seed, index);
    if k >= 1.0 {
        return gamma_from_1(k, &mut blocks);
    }
    // A power of a uniform number makes it of one for k + 1.
    let scale = exp(log(1.0 - blocks.uniform()) / k);
    scale * gamma_from_1(k + 1.0, &mut blocks)
}

/// A count of independent events of which there are `mean` in the mean, a number from 0 to
/// 1e15: by the product of uniform numbers for small means, else W. Hörmann, *The transformed
/// rejection method for generating Poisson random variables* (1993).
#[must_use]
#[inline(always)]
pub fn poisson(mean: f64, seed: u64, index: u64) -> u64 {
    let mut blocks = Blocks::new(seed, index);
    if mean < 10.0 {
        let least = exp(-mean);
        let mut product = blocks.uniform();
        let mut count = 0;
        while product > least {
            product *= blocks.uniform();
            count += 1;
        }
        return count;
    }
    let b = 0.931 + 2.53 * mean.sqrt();
    let a = -0.059 + 0.02483 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let v_r = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let u = blocks.uniform() - 0.5;
        let v = 1.0 - blocks.uniform();
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + mean + 0.43).floor();
        if us >= 0.07 && v <= v_r {
            return k as u64;
        }
        if k < 0.0 || (us < 0.013 && v > us) {
            continue;
        }
        let left = log(v * inverse_alpha / (a / (us * us) + b));
        let right = if mean < LARGE_MEAN {
            k * log(mean) - mean - lgamma(k + 1.0)
        } else {
            // The same by Stirling's formula: the terms would cancel, and what is left of them
            // would be rounding.
            let x = (k - mean) / mean;
            -mean * ((1.0 + x) * log1p(x) - x) - 0.5 * log(std::f64::consts::TAU * k)
        };
        if left <= right {
            return k as u64;
        }
    }
}

#[inline(always)]
fn gamma_from_1(k: f64, blocks: &mut Blocks) -> f64 {
    let d = k - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = blocks.normal();
        let v = (1.0 + c * x) * (1.0 + c * x) * (1.0 + c * x);
        if v <= 0.0 {
            continue;
        }
        let u = 1.0 - blocks.uniform();
        if log(u) < 0.5 * x * x + d - d * v + d * log(v) {
            return d * v;
        }
    }
}

/// The blocks of an element after the first, which is that of [`uniform`](super::uniform).
struct Blocks {
    seed: u64,
    index: u64,
    number: u32,
}

impl Blocks {
    #[inline(always)]
    fn new(seed: u64, index: u64) -> Self {
        Self {
            seed,
            index,
            number: 0,
        }
    }

    #[inline(always)]
    fn next(&mut self) -> [u32; 4] {
        // No element tries so often that it wraps.
        self.number = self.number.wrapping_add(1);
        block_of(self.seed, self.index, self.number)
    }

    #[inline(always)]
    fn uniform(&mut self) -> f64 {
        let [a, b, _, _] = self.next();
        unit(word(a, b))
    }

    #[inline(always)]
    fn normal(&mut self) -> f64 {
        let (u, angle) = polar_of(self.next());
        radius(u) * cos(angle)
    }
}
