//! The polynomials and constants of the real functions by name, so that their text in another
//! language has the very same numbers.

use super::{arithmetic, cbrt, erf, exp, lgamma, log, polar, trig};
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, FRAC_PI_4, LN_2, LOG2_E, LOG10_2, PI};

/// The coefficients of each polynomial, that of x^0 first.
pub(crate) const POLYNOMIALS: [(&str, &[f64]); 11] = [
    ("exp", &exp::EXP),
    ("log", &log::LOG),
    ("log2_tail", &log::LOG2_TAIL),
    ("erf_near", &erf::NEAR),
    ("ln_erfc", &erf::LN_ERFC),
    ("sin", &trig::SIN),
    ("cos", &trig::COS),
    ("cbrt", &cbrt::CBRT),
    ("near_two", &lgamma::NEAR_TWO),
    ("stirling", &lgamma::STIRLING),
    ("atan", &polar::ATAN),
];

/// The other numbers.
pub(crate) const NUMBERS: [(&str, f64); 40] = [
    ("ROUND", arithmetic::ROUND),
    ("EXPONENT", arithmetic::EXPONENT),
    ("LOG2_E", LOG2_E),
    ("LN_2", LN_2),
    ("LN_2_LOW", exp::LN_2_LOW),
    ("LOG_LN_2_HIGH", log::LN_2_HIGH),
    ("LOG_LN_2_LOW", log::LN_2_LOW),
    ("LOG2_FIRST", log::LOG2_FIRST.0),
    ("LOG2_FIRST_LOW", log::LOG2_FIRST.1),
    ("LOG2_SECOND", log::LOG2_SECOND.0),
    ("LOG2_SECOND_LOW", log::LOG2_SECOND.1),
    ("ERF_FIRST", erf::FIRST),
    ("ERF_FIRST_LOW", erf::FIRST_LOW),
    ("LARGE", trig::LARGE),
    ("FRAC_2_PI", FRAC_2_PI),
    ("FRAC_PI_2", FRAC_PI_2),
    ("FRAC_PI_2_LOW", trig::FRAC_PI_2_LOW),
    ("FRAC_PI_2_LOWEST", trig::FRAC_PI_2_LOWEST),
    ("THIRD", cbrt::THIRD),
    ("ROOT_2", cbrt::ROOT_2),
    ("ROOT_HALF", cbrt::ROOT_HALF),
    ("FAR", lgamma::FAR),
    ("TINY", lgamma::TINY),
    ("HUGE_Z", lgamma::HUGE),
    ("SMALLER", lgamma::SMALLER),
    ("LARGER", lgamma::LARGER),
    ("LGAMMA_FIRST", lgamma::FIRST),
    ("LGAMMA_FIRST_LOW", lgamma::FIRST_LOW),
    ("LGAMMA_SECOND", lgamma::SECOND),
    ("LGAMMA_SECOND_LOW", lgamma::SECOND_LOW),
    ("HALF_LN_2_PI", lgamma::HALF_LN_2_PI),
    ("LN_PI", lgamma::LN_PI),
    ("LN_PI_LOW", lgamma::LN_PI_LOW),
    ("PI", PI),
    ("PI_LOW", lgamma::PI_LOW),
    ("LOG10_2", LOG10_2),
    ("LOG10_2_LOW", log::LOG10_2_LOW),
    ("FRAC_PI_4", FRAC_PI_4),
    ("FRAC_PI_4_LOW", polar::FRAC_PI_4_LOW),
    ("TAN_FRAC_PI_8", polar::TAN_FRAC_PI_8),
];
