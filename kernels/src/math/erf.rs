//! The error function.
//!
//! Up to 1 it is `x (2/sqrt(pi) + z P(z))` with `z = x^2`; above it is `1 - e^Q(x)`, where `Q` is a
//! minimax fit of `ln erfc` weighted with `erfc`: near 1, erf needs no more than that. Both sides
//! are computed and one is selected.

use super::arithmetic::{clamp, polynomial};
use super::exp::exp;

/// `2 / sqrt(pi)`, with its rounding error.
pub(super) const FIRST: f64 = std::f64::consts::FRAC_2_SQRT_PI;
pub(super) const FIRST_LOW: f64 = 1.533545961316588e-17;

/// `(erf(x)/x - 2/sqrt(pi)) / z` for `z <= 1`; minimax (Remez), 2^-61 of erf.
pub(super) const NEAR: [f64; 12] = [
    -0.37612638903183754,
    0.11283791670955005,
    -0.026866170645096558,
    0.005223977624976745,
    -0.00085483269882832,
    0.00012055331330126592,
    -1.4925599397464792e-05,
    1.6461050968252757e-06,
    -1.6350700517041448e-07,
    1.466150785893289e-08,
    -1.1376547323702026e-09,
    5.958930749412888e-11,
];

/// `ln erfc(x)` for `1 <= x <= 5.95`; minimax (Lawson's weighted least squares) for the absolute
/// error of erfc, 2^-57.
pub(super) const LN_ERFC: [f64; 18] = [
    -5.133213521083827e-07,
    -1.128373990979072,
    -0.6366440582036605,
    -0.10270228171235642,
    0.01898802755185688,
    0.00041355548676557595,
    -0.0019189642711962957,
    0.0007730572338195103,
    -0.00013656255402156139,
    -1.9519945434885762e-05,
    2.2531865152364088e-05,
    -8.5785110000046e-06,
    2.1147449126268503e-06,
    -3.6955723082093554e-07,
    4.593235951779424e-08,
    -3.889957417358083e-09,
    2.020324397289156e-10,
    -4.865088741832475e-12,
];

/// The error function, `2/sqrt(pi)` times the integral of `e^(-t^2)` from 0 to x.
#[inline(always)]
pub(crate) fn erf(x: f64) -> f64 {
    // From 5.93 on, the result rounds to 1.
    let size = clamp(x.abs(), 0.0, 5.95);
    let z = size * size;
    let near = size.mul_add(FIRST, size * z.mul_add(polynomial(z, NEAR), FIRST_LOW));
    let far = 1.0 - exp(polynomial(size, LN_ERFC));
    let erf = (if size < 1.0 { near } else { far }).copysign(x);
    if x.is_nan() { f64::NAN } else { erf }
}
