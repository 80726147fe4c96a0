//! Elementary functions as branch-free scalar code that the compiler turns into SIMD loops.

pub(crate) mod double;
pub(crate) mod single;

mod arithmetic;
mod complex;
mod erf;
mod exp;
mod hypot;
mod log;
mod payne_hanek;
mod pow;
mod trig;

#[cfg(test)]
mod tests;
