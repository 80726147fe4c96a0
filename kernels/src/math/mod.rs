//! Elementary functions as branch-free scalar code that the compiler turns into SIMD loops.

pub(crate) mod double;
pub(crate) mod single;
