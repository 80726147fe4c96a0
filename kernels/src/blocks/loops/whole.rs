//! Quotients and remainders of whole numbers, and floats as whole numbers, a chunk at a time.
//!
//! Processors divide whole numbers one by one, and floats several at a time. Of whole numbers below
//! 2^50 the quotient in `f64`, truncated, is the right one: the exact one is below the next whole
//! number by a 2^-50th of it at least, which rounding does not bridge. A whole number below 2^51 is
//! exchanged with an `f64` by adding it to the bits of 1.5 * 2^52, for which no machine needs more
//! than a sum. A chunk with larger numbers takes the way of [`crate::ops`], which says what all of
//! this computes.

use super::map::{Chunk, Map};
use crate::abi::CHUNK;
use crate::ops::OrderedOps;
use crate::scalar::CastTo;
use std::marker::PhantomData;

/// 1.5 * 2^52.
const ORIGIN: f64 = 6_755_399_441_055_744.0;
/// 2^50.
const LARGE: f64 = 1_125_899_906_842_624.0;

#[inline(always)]
fn to_float(a: i64) -> f64 {
    f64::from_bits(ORIGIN.to_bits().wrapping_add(a as u64)) - ORIGIN
}

/// A whole number below 2^51.
#[inline(always)]
fn to_whole(a: f64) -> i64 {
    (a + ORIGIN).to_bits().wrapping_sub(ORIGIN.to_bits()) as i64
}

/// The types of whole numbers.
pub(super) trait Whole: OrderedOps + Default {
    /// The smallest and the largest number that come from a float by [`to_whole`].
    const BOUNDS: [f64; 2];
    /// Whether all floats beyond the bounds become one of them.
    const IS_NARROW: bool;
    fn is_small(self) -> bool;
    /// The number, if it is small.
    fn float(self) -> f64;
    /// The lower bits.
    fn of(a: i64) -> Self;
}

macro_rules! whole {
    ($($T:ident: $is_narrow:literal, $bounds:expr, $is_small:expr, $float:expr;)*) => {$(
        impl Whole for $T {
            const BOUNDS: [f64; 2] = $bounds;
            const IS_NARROW: bool = $is_narrow;
            #[inline(always)]
            fn is_small(self) -> bool {
                $is_small(self)
            }
            #[inline(always)]
            fn float(self) -> f64 {
                $float(self)
            }
            #[inline(always)]
            fn of(a: i64) -> Self {
                a as $T
            }
        }
    )*};
}

whole! {
    i32: true, [i32::MIN as f64, i32::MAX as f64], |_| true, f64::from;
    u32: true, [0.0, u32::MAX as f64], |_| true, f64::from;
    i64: false, [-LARGE, LARGE], |a: i64| a.wrapping_add(1 << 50) as u64 <= 1 << 51, to_float;
    u64: false, [0.0, LARGE], |a| a <= 1 << 50, |a| to_float(a as i64);
}

/// A quotient, truncated.
pub(super) struct Div<T>(PhantomData<T>);
/// A quotient, rounded down.
pub(super) struct FloorDiv<T>(PhantomData<T>);
/// A remainder with the sign of the divisor.
pub(super) struct Rem<T>(PhantomData<T>);

macro_rules! divisions {
    ($($name:ident: $function:ident, |$a:ident, $b:ident| $value:expr;)*) => {$(
        impl<T: Whole> Map for $name<T> {
            type A = T;
            type B = T;
            type C = ();
            type Out = T;
            #[inline(always)]
            fn apply(a: T, b: T, (): ()) -> T {
                T::$function(a, b)
            }
            #[inline(always)]
            fn apply_chunk(a: Chunk<T>, b: Chunk<T>, _: Chunk<()>) -> Chunk<T> {
                let (mut out, mut are_small) = ([T::default(); CHUNK], true);
                for k in 0..CHUNK {
                    are_small &= a[k].is_small() & b[k].is_small();
                }
                for k in 0..CHUNK {
                    out[k] = if are_small {
                        let ($a, $b) = (a[k].float(), b[k].float());
                        // By 0 everything is 0.
                        let keep = if $b == 0.0 { 0 } else { -1 };
                        T::of(to_whole($value) & keep)
                    } else {
                        T::$function(a[k], b[k])
                    };
                }
                out
            }
        }
    )*};
}

divisions! {
    Div: div, |a, b| (a / b).trunc();
    FloorDiv: floor_div, |a, b| (a / b).floor();
    Rem: rem, |a, b| {
        let rest = a - (a / b).trunc() * b;
        let more = if (rest != 0.0) & ((rest < 0.0) != (b < 0.0)) { b } else { 0.0 };
        rest + more
    };
}

/// The real types.
pub(super) trait Float:
    Copy + Default + Into<f64> + CastTo<i32> + CastTo<i64> + CastTo<u32> + CastTo<u64>
{
}
impl Float for f32 {}
impl Float for f64 {}

/// A float as a whole number: truncated, the nearest that there is, 0 for NaN.
pub(super) struct Truncation<F, T>(PhantomData<(F, T)>);
impl<F: Float + CastTo<T>, T: Whole> Map for Truncation<F, T> {
    type A = F;
    type B = ();
    type C = ();
    type Out = T;
    #[inline(always)]
    fn apply(a: F, (): (), (): ()) -> T {
        a.cast_to()
    }
    #[inline(always)]
    fn apply_chunk(a: Chunk<F>, _: Chunk<()>, _: Chunk<()>) -> Chunk<T> {
        let (mut out, mut are_small) = ([T::default(); CHUNK], true);
        for &a in &a {
            let size = a.into().abs();
            are_small &= T::IS_NARROW | (size <= LARGE);
        }
        let [low, high] = T::BOUNDS;
        for k in 0..CHUNK {
            out[k] = if are_small {
                let a: f64 = a[k].into();
                let above = if a > low { a } else { low };
                let within = if above < high { above } else { high };
                let defined = if a.is_nan() { 0.0 } else { within };
                T::of(to_whole(defined.trunc()))
            } else {
                a[k].cast_to()
            };
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;
    use std::fmt::Debug;

    /// Numbers of up to `bits` bits of either sign, with those beside the bounds of all types.
    fn numbers(seed: u64, bits: u32) -> impl Iterator<Item = i64> {
        let edges = [0, 1, 31, 32, 49, 50, 51, 63].map(|power| (1_u64 << power) as i64);
        (0..4000_u64).map(move |index| {
            let random = random::bits(seed, index);
            if random.is_multiple_of(8) {
                let edge = edges[random as usize / 8 % edges.len()];
                return edge.wrapping_add(random as i64 >> 61);
            }
            let size = (random::bits(seed + 1, index) >> (64 - bits)) as i64;
            if random.is_multiple_of(2) {
                size
            } else {
                -size
            }
        })
    }

    fn check<M: Map<C = (), Out: PartialEq + Debug>>(a: &[M::A], b: &[M::B]) {
        for first in (0..a.len()).step_by(CHUNK) {
            let (a, b): (Chunk<M::A>, Chunk<M::B>) = (
                std::array::from_fn(|k| a[first + k]),
                std::array::from_fn(|k| b[first + k]),
            );
            let expected = std::array::from_fn(|k| M::apply(a[k], b[k], ()));
            assert_eq!(M::apply_chunk(a, b, [(); CHUNK]), expected, "at {first}");
        }
    }

    fn check_type<T: Whole + Debug>()
    where
        f32: CastTo<T>,
        f64: CastTo<T>,
    {
        for (bits, of_divisor) in [(8, 3), (31, 31), (50, 20), (50, 50), (63, 20)] {
            // Chunks without large numbers, and with some.
            let is_tame = |&a: &i64| bits > 50 || (-1 << 50..=1 << 50).contains(&a);
            let some = |seed, bits| numbers(seed, bits).filter(is_tame).take(3200);
            let a: Vec<T> = some(1, bits).map(T::of).collect();
            let b: Vec<T> = some(3, of_divisor).map(T::of).collect();
            check::<Div<T>>(&a, &b);
            check::<FloorDiv<T>>(&a, &b);
            check::<Rem<T>>(&a, &b);
            // Multiples, and what lies beside them.
            let product = |(number, (a, b)): (usize, (i64, i64))| {
                T::of((a >> 1).wrapping_mul(b).wrapping_add(number as i64 % 3 - 1))
            };
            let pairs = || some(5, 24).zip(some(7, 24));
            let a: Vec<T> = pairs().enumerate().map(product).collect();
            let b: Vec<T> = pairs().map(|(_, b)| T::of(b)).collect();
            check::<Div<T>>(&a, &b);
            check::<FloorDiv<T>>(&a, &b);
            check::<Rem<T>>(&a, &b);

            let odd = [f64::NAN, f64::INFINITY, -f64::INFINITY, 1e300, -0.0, -0.7];
            let float = |(number, a): (usize, i64)| match number {
                1600.. if number % 5 == 0 => odd[number / 5 % odd.len()],
                _ => a as f64 / 7.0,
            };
            let floats: Vec<f64> = some(9, bits).enumerate().map(float).collect();
            let singles: Vec<f32> = floats.iter().map(|&a| a as f32).collect();
            let nothing = vec![(); floats.len()];
            check::<Truncation<f64, T>>(&floats, &nothing);
            check::<Truncation<f32, T>>(&singles, &nothing);
        }
    }

    #[test]
    fn chunks_are_divided_and_truncated_as_their_elements() {
        check_type::<i32>();
        check_type::<i64>();
        check_type::<u32>();
        check_type::<u64>();
    }
}
