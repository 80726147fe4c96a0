//! The oracle: functions in 192 bits, points to try, and the error in units in the last place.

use astro_float_num::{BigFloat, Consts, RoundingMode, Sign};

/// Bits of the oracle's significands.
pub(super) const BITS: usize = 192;
pub(super) const ROUNDING: RoundingMode = RoundingMode::ToEven;

/// Elementary functions in arbitrary precision.
pub(super) struct Oracle {
    pub(super) constants: Consts,
}

impl Oracle {
    pub(super) fn new() -> Self {
        Self {
            constants: Consts::new().expect("memory for constants"),
        }
    }

    pub(super) fn exp(&mut self, x: &BigFloat) -> BigFloat {
        x.exp(BITS, ROUNDING, &mut self.constants)
    }

    pub(super) fn log(&mut self, x: &BigFloat) -> BigFloat {
        x.ln(BITS, ROUNDING, &mut self.constants)
    }

    pub(super) fn sin(&mut self, x: &BigFloat) -> BigFloat {
        x.sin(BITS, ROUNDING, &mut self.constants)
    }

    pub(super) fn cos(&mut self, x: &BigFloat) -> BigFloat {
        x.cos(BITS, ROUNDING, &mut self.constants)
    }

    pub(super) fn tanh(&mut self, x: &BigFloat) -> BigFloat {
        x.tanh(BITS, ROUNDING, &mut self.constants)
    }

    pub(super) fn sinh(&mut self, x: &BigFloat) -> BigFloat {
        x.sinh(BITS, ROUNDING, &mut self.constants)
    }

    pub(super) fn cosh(&mut self, x: &BigFloat) -> BigFloat {
        x.cosh(BITS, ROUNDING, &mut self.constants)
    }

    pub(super) fn log2(&mut self, x: &BigFloat) -> BigFloat {
        x.log2(BITS, ROUNDING, &mut self.constants)
    }

    pub(super) fn log10(&mut self, x: &BigFloat) -> BigFloat {
        x.log10(BITS, ROUNDING, &mut self.constants)
    }

    /// `2 sinh(x/2) e^(x/2)`, where nothing cancels.
    pub(super) fn expm1(&mut self, x: &BigFloat) -> BigFloat {
        let half = x.mul(&big(0.5), BITS, ROUNDING);
        let product = self.sinh(&half).mul(&self.exp(&half), BITS, ROUNDING);
        product.mul(&big(2.0), BITS, ROUNDING)
    }

    /// The logarithm of the exact sum.
    pub(super) fn log1p(&mut self, x: &BigFloat) -> BigFloat {
        const WIDE: usize = 1280;
        let sum = x.add(&big(1.0), WIDE, ROUNDING);
        sum.ln(BITS, ROUNDING, &mut self.constants)
    }

    pub(super) fn atan2(&mut self, y: &BigFloat, x: &BigFloat) -> BigFloat {
        const WIDE: usize = BITS + 64;
        let angle = y
            .div(x, WIDE, ROUNDING)
            .atan(WIDE, ROUNDING, &mut self.constants);
        let pi = self.constants.pi(WIDE, ROUNDING);
        match (x.is_negative(), y.is_negative()) {
            (false, _) => angle,
            (true, false) => angle.add(&pi, BITS, ROUNDING),
            (true, true) => angle.sub(&pi, BITS, ROUNDING),
        }
    }

    pub(super) fn pow(&mut self, x: &BigFloat, y: &BigFloat) -> BigFloat {
        x.pow(y, BITS, ROUNDING, &mut self.constants)
    }

    /// The Maclaurin series; for `|x| < 7` its terms stay below 2^70, and the precision allows for
    /// the cancellation.
    pub(super) fn erf(&mut self, x: &BigFloat) -> BigFloat {
        const WIDE: usize = BITS + 192;
        let square = x.mul(x, WIDE, ROUNDING);
        let mut power = x.clone();
        let mut sum = x.clone();
        for n in 1..400u32 {
            let n = f64::from(n);
            power = power.mul(&square, WIDE, ROUNDING);
            power = power.div(&BigFloat::from_f64(-n, WIDE), WIDE, ROUNDING);
            let term = power.div(&BigFloat::from_f64(2.0 * n + 1.0, WIDE), WIDE, ROUNDING);
            sum = sum.add(&term, WIDE, ROUNDING);
            let small = |term: &BigFloat| term.exponent() < sum.exponent().map(|e| e - 250);
            if term.is_zero() || small(&term) {
                break;
            }
        }
        let pi = self.constants.pi(WIDE, ROUNDING);
        let two = BigFloat::from_f64(2.0, WIDE);
        let factor = two.div(&pi.sqrt(WIDE, ROUNDING), WIDE, ROUNDING);
        sum.mul(&factor, BITS, ROUNDING)
    }

    pub(super) fn cbrt(&mut self, x: &BigFloat) -> BigFloat {
        if x.is_zero() {
            return x.clone();
        }
        let third = big(1.0).div(&big(3.0), BITS, ROUNDING);
        let log = self.log(&x.abs()).mul(&third, BITS, ROUNDING);
        let mut root = self.exp(&log);
        root.set_sign(x.sign().expect("a number has a sign"));
        root
    }

    /// Stirling's series for numbers above 400, to which others are moved by their recurrence;
    /// negative ones are reflected.
    pub(super) fn lgamma(&mut self, x: &BigFloat) -> BigFloat {
        if x.is_negative() {
            let z = x.abs();
            let pi = self.constants.pi(BITS + 64, ROUNDING);
            let sin = self.sin(&z.mul(&pi, BITS + 64, ROUNDING)).abs();
            let quotient = pi.div(&z.mul(&sin, BITS, ROUNDING), BITS, ROUNDING);
            let log = self.log(&quotient);
            return log.sub(&self.lgamma(&z), BITS, ROUNDING);
        }
        // The Bernoulli numbers B_2, B_4, ...
        const BERNOULLI: [(f64, f64); 13] = [
            (1.0, 6.0),
            (-1.0, 30.0),
            (1.0, 42.0),
            (-1.0, 30.0),
            (5.0, 66.0),
            (-691.0, 2730.0),
            (7.0, 6.0),
            (-3617.0, 510.0),
            (43_867.0, 798.0),
            (-174_611.0, 330.0),
            (854_513.0, 138.0),
            (-236_364_091.0, 2730.0),
            (8_553_103.0, 6.0),
        ];
        let (mut z, mut factors) = (x.clone(), big(1.0));
        while z.sub(&big(400.0), BITS, ROUNDING).is_negative() {
            factors = factors.mul(&z, BITS, ROUNDING);
            z = z.add(&big(1.0), BITS, ROUNDING);
        }
        let log = self.log(&z);
        let less = z.sub(&big(0.5), BITS, ROUNDING);
        let mut sum = less.mul(&log, BITS, ROUNDING).sub(&z, BITS, ROUNDING);
        let two_pi = self
            .constants
            .pi(BITS, ROUNDING)
            .mul(&big(2.0), BITS, ROUNDING);
        let half = self.log(&two_pi).mul(&big(0.5), BITS, ROUNDING);
        sum = sum.add(&half, BITS, ROUNDING);
        let square = z.mul(&z, BITS, ROUNDING);
        let mut power = z;
        for (k, (above, below)) in (1u32..).zip(BERNOULLI) {
            let k = f64::from(2 * k);
            let below = big(below * k * (k - 1.0)).mul(&power, BITS, ROUNDING);
            sum = sum.add(&big(above).div(&below, BITS, ROUNDING), BITS, ROUNDING);
            power = power.mul(&square, BITS, ROUNDING);
        }
        sum.sub(&self.log(&factors), BITS, ROUNDING)
    }

    pub(super) fn hypot(&mut self, x: &BigFloat, y: &BigFloat) -> BigFloat {
        let square = |x: &BigFloat| x.mul(x, BITS, ROUNDING);
        let squares = square(x).add(&square(y), BITS, ROUNDING);
        squares.sqrt(BITS, ROUNDING)
    }
}

/// The exact value. (The oracle's own conversion does not know subnormal numbers.)
pub(super) fn big(x: f64) -> BigFloat {
    if !x.is_subnormal() {
        return BigFloat::from_f64(x, BITS);
    }
    let mut value = BigFloat::from_f64(x * 2f64.powi(100), BITS);
    let exponent = value.exponent().unwrap_or(0);
    value.set_exponent(exponent - 100);
    value
}

/// The value to about 63 bits, for errors and reports.
pub(super) fn approximate(x: &BigFloat) -> f64 {
    let Some((words, _, sign, exponent, _)) = x.as_raw_parts() else {
        return f64::NAN;
    };
    let top = *words.last().expect("a significand has a word") as f64 / 2f64.powi(64);
    let size = top * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
    if sign == Sign::Neg { -size } else { size }
}

/// A binary format: bits of the significand, least exponent of a normal number, greatest exponent.
#[derive(Clone, Copy)]
pub(super) struct Format {
    bits: i32,
    least: i32,
    greatest: i32,
}

pub(super) const DOUBLE: Format = Format {
    bits: 53,
    least: -1022,
    greatest: 1023,
};
pub(super) const SINGLE: Format = Format {
    bits: 24,
    least: -126,
    greatest: 127,
};

/// The distance of `got` from `want` in units in the last place of `want`. Infinity counts as the
/// number after the largest finite one, and so does everything beyond it.
pub(super) fn ulps(format: Format, got: f64, want: &BigFloat) -> f64 {
    let (got, want) = (bounded(format, &big(got)), bounded(format, want));
    let mut error = want.sub(&got, BITS, ROUNDING);
    if error.is_zero() {
        return 0.0;
    }
    let exponent = match want.exponent() {
        Some(exponent) if !want.is_zero() => (exponent - 1).max(format.least),
        _ => format.least,
    };
    let shift = error.exponent().unwrap_or(0) - (exponent - format.bits + 1);
    error.set_exponent(shift.min(1000));
    approximate(&error).abs()
}

/// `x`, or the number after the largest finite one with its sign.
fn bounded(format: Format, x: &BigFloat) -> BigFloat {
    let inside = !x.is_inf() && x.exponent().is_none_or(|e| e <= format.greatest + 1);
    if inside {
        return x.clone();
    }
    let mut limit = big(if x.is_negative() { -1.0 } else { 1.0 });
    limit.set_exponent(format.greatest + 2);
    limit
}

/// A sequence of bits that only looks random (SplitMix64).
pub(super) struct Bits(pub(super) u64);

impl Bits {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between `low` and `high`.
    pub(super) fn uniform(&mut self, low: f64, high: f64) -> f64 {
        let unit = (self.next() >> 11) as f64 / 2f64.powi(53);
        low + (high - low) * unit
    }

    /// Any exponent from `low` to `high`, any significand, any sign.
    pub(super) fn spread(&mut self, low: i32, high: i32) -> f64 {
        let bits = self.next();
        let exponent = low + (self.next() % (high - low + 1) as u64) as i32;
        let significand = 1.0 + (bits >> 12) as f64 / 2f64.powi(52);
        let size = significand * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
        if bits & 1 == 1 { -size } else { size }
    }
}

/// Points for one function: `per_kind` uniform ones in each of `ranges`, as many with exponents
/// between `exponents`, and the neighbours of `anchors`.
pub(super) fn points(
    per_kind: usize,
    ranges: &[(f64, f64)],
    exponents: (i32, i32),
    anchors: &[f64],
) -> Vec<f64> {
    let mut bits = Bits(7);
    let mut points = Vec::new();
    for &(low, high) in ranges {
        points.extend((0..per_kind).map(|_| bits.uniform(low, high)));
    }
    points.extend((0..per_kind).map(|_| bits.spread(exponents.0, exponents.1)));
    for &anchor in anchors {
        let (mut below, mut above) = (anchor, anchor);
        for _ in 0..6 {
            points.extend([below, above, -below, -above]);
            (below, above) = (below.next_down(), above.next_up());
        }
    }
    points
}
