//! The element loops: one operation over the rows of a block.
//!
//! Loops work on whole chunks of [`CHUNK`] rows: all operands of a chunk are read before its
//! result is written, so a result may take the place of an operand of the same size, and nothing
//! has to be proved about overlap for the compiler to use SIMD. An operand that is the same in
//! all rows is one chunk of copies that is read again and again ([`Input::step`] is 0).
//!
//! In here a `bool` is a `u8` that is 0 or 1, because rows between the end of a block and the end
//! of its last chunk hold whatever lay there before; their results are computed and never used.

use crate::abi::CHUNK;
use crate::isa::{one_chunk_at_a_time, per_isa};
use crate::math;
use crate::ops::{FloatOps, NumericOps, OrderedOps, PlaneOps, RealOps};
use crate::random;
use crate::scalar::CastTo;
use crate::{binary_operations, unary_operations};
use num_complex::Complex;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitOr, BitXor};

/// An operand of an element loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    /// The element of the first row.
    pub(crate) data: *const u8,
    /// Bytes from one chunk to the next.
    pub(crate) step: usize,
}

/// A loop over `chunks` chunks that writes to `out`.
///
/// # Safety
/// For each operand that the operation takes, `data + c * step` must be readable as [`CHUNK`]
/// elements of its type for every `c` in `0..chunks`, and `out` writable as `chunks * CHUNK`
/// elements; `out` may overlap an operand only if it is the same chunk by chunk. Nothing needs to
/// be aligned. The instruction set of the function must be available.
pub(crate) type MapLoop = unsafe fn(chunks: usize, out: *mut u8, inputs: &[Input; 3]);

/// An operation on up to three elements; operands that it does not have are of type `()`.
pub(crate) trait Map {
    type A: Copy;
    type B: Copy;
    type C: Copy;
    type Out: Copy + Default;
    fn apply(a: Self::A, b: Self::B, c: Self::C) -> Self::Out;

    #[inline(always)]
    fn apply_chunk(a: Chunk<Self::A>, b: Chunk<Self::B>, c: Chunk<Self::C>) -> Chunk<Self::Out> {
        // A loop, not `array::from_fn`, whose closure would not be inlined where it is long.
        let mut out = [Self::Out::default(); CHUNK];
        for k in 0..CHUNK {
            out[k] = Self::apply(a[k], b[k], c[k]);
        }
        out
    }
}

/// The elements of a chunk.
pub(super) type Chunk<T> = [T; CHUNK];

per_isa!(
    /// The loop of an operation.
    pub(crate) fn map_loop<M: Map>(chunks: usize, out: *mut u8, inputs: &[Input; 3]) = map
);
per_isa!(
    /// The same for operations and types that programs use less.
    pub(crate) fn rare_map_loop<M: Map>(chunks: usize, out: *mut u8, inputs: &[Input; 3]) = map,
    up to avx2
);

#[inline(always)]
unsafe fn map<M: Map>(chunks: usize, out: *mut u8, inputs: &[Input; 3]) {
    let [a, b, c] = *inputs;
    let mut out = out.cast::<Chunk<M::Out>>();
    for chunk in 0..chunks {
        one_chunk_at_a_time();
        // SAFETY: `MapLoop` promises that the chunk is there for reading and for writing; all
        // element types here admit any bits.
        unsafe {
            let a = a.data.add(chunk * a.step).cast::<Chunk<M::A>>();
            let b = b.data.add(chunk * b.step).cast::<Chunk<M::B>>();
            let c = c.data.add(chunk * c.step).cast::<Chunk<M::C>>();
            let (a, b, c) = (a.read_unaligned(), b.read_unaligned(), c.read_unaligned());
            out.write_unaligned(M::apply_chunk(a, b, c));
            out = out.add(1);
        }
    }
}

/// Defines the operations of the tables, by what [`crate::ops`] computes: those whose loops have
/// nothing special, of types that are here what they are there.
macro_rules! define_unary {
    ($($types:ident: $trait:ident {$(
        #[$doc:meta]
        $op:ident $function:ident {
            $output:ident | $same_on:ident | $undone:literal | $cost:literal
            | $form:ident $(($sign:literal))? | $loops:ident | $($method:ident/$try:ident)? $(-)?
        }
    )*})*) => {
        $($(define_unary!(@$loops $op $trait $function $output);)*)*
    };
    (@blocks $($own:tt)*) => {};
    (@magnitudes $op:ident $($own:tt)*) => {
        define_unary!(@signed $op $($own)*);
    };
    (@logical $($own:tt)*) => {};
    (@$loops:ident $op:ident $trait:ident $function:ident Same) => {
        operations! { $op<T: $trait>(a: T, _: (), _: ()) -> T = $trait::$function(a); }
    };
    (@$loops:ident $op:ident $trait:ident $function:ident Real) => {
        operations! { $op<T: $trait>(a: T, _: (), _: ()) -> T::Abs = $trait::$function(a); }
    };
}

macro_rules! define_binary {
    ($($types:ident: $trait:ident {$(#[$doc:meta] $op:ident $function:ident $row:tt)*})*) => {
        $($(define_binary!(@$types $op $trait $function);)*)*
    };
    (@Numeric $op:ident $trait:ident $function:ident) => {
        operations! { $op<T: $trait>(a: T, b: T, _: ()) -> T = $trait::$function(a, b); }
    };
    (@Ordered $op:ident $trait:ident $function:ident) => {
        operations! { $op<T: $trait>(a: T, b: T, _: ()) -> T = $trait::$function(a, b); }
    };
    (@Reals $op:ident $trait:ident $function:ident) => {
        operations! { $op<T: $trait>(a: T, b: T, _: ()) -> T = $trait::$function(a, b); }
    };
    (@$types:ident $($own:tt)*) => {};
}

/// Defines operations: `Name<T: Bound>(operands) -> result = expression;`.
macro_rules! operations {
    ($($name:ident<$T:ident: $bound:path>($a:tt: $A:ty, $b:tt: $B:ty, $c:tt: $C:ty)
        -> $out:ty = $value:expr;)*) => {$(
        pub(crate) struct $name<$T>(PhantomData<$T>);
        impl<$T: $bound> Map for $name<$T> {
            type A = $A;
            type B = $B;
            type C = $C;
            type Out = $out;
            #[inline(always)]
            fn apply($a: $A, $b: $B, $c: $C) -> $out {
                $value
            }
        }
    )*};
}

unary_operations!(define_unary);
binary_operations!(define_binary);

operations! {
    Copied<T: Plain>(a: T, _: (), _: ()) -> T = a;
    IsNonzero<T: Comparable>(a: T, _: (), _: ()) -> u8 =
        u8::from(a != T::default());

    MulAdd<T: NumericOps>(a: T, b: T, c: T) -> T = a.mul(b).add(c);
    MulSub<T: NumericOps>(a: T, b: T, c: T) -> T = a.mul(b).sub(c);
    SubMul<T: NumericOps>(a: T, b: T, c: T) -> T = c.sub(a.mul(b));
    Clamp<T: OrderedOps>(a: T, b: T, c: T) -> T = OrderedOps::min(OrderedOps::max(a, b), c);
    Eq<T: Comparable>(a: T, b: T, _: ()) -> u8 = u8::from(a == b);
    Ne<T: Comparable>(a: T, b: T, _: ()) -> u8 = u8::from(a != b);
    Lt<T: Sortable>(a: T, b: T, _: ()) -> u8 = u8::from(a < b);
    Le<T: Sortable>(a: T, b: T, _: ()) -> u8 = u8::from(a <= b);
    And<T: Bits>(a: T, b: T, _: ()) -> T = a & b;
    Or<T: Bits>(a: T, b: T, _: ()) -> T = a | b;
    Xor<T: Bits>(a: T, b: T, _: ()) -> T = a ^ b;

    Select<T: Plain>(condition: u8, a: T, b: T) -> T = if condition != 0 { a } else { b };
}

/// What moving elements asks for.
pub(crate) trait Plain: Copy + Default {}
impl<T: Copy + Default> Plain for T {}

/// What `Eq` and `Ne` ask for.
pub(crate) trait Comparable: Copy + Default + PartialEq {}
impl<T: Copy + Default + PartialEq> Comparable for T {}

/// What `Lt` and `Le` ask for.
pub(crate) trait Sortable: Copy + PartialOrd {}
impl<T: Copy + PartialOrd> Sortable for T {}

/// Integers as bits, and `bool` as its byte.
pub(crate) trait Bits:
    Plain + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self>
{
}
impl Bits for u8 {}
impl Bits for u32 {}
impl Bits for u64 {}

/// Functions that the real ones of a chunk compute together: sine and cosine treat large arguments
/// apart from the SIMD loop, the exponential function of `f32` results that are hard to round.
pub(crate) struct Exp<T>(PhantomData<T>);
pub(crate) struct Sin<T>(PhantomData<T>);
pub(crate) struct Cos<T>(PhantomData<T>);

macro_rules! by_blocks {
    ($($name:ident<$real:ident>: $apply:ident, $math:ident::$block:ident;)*) => {$(
        impl Map for $name<$real> {
            type A = $real;
            type B = ();
            type C = ();
            type Out = $real;
            #[inline(always)]
            fn apply(a: $real, (): (), (): ()) -> $real {
                FloatOps::$apply(a)
            }
            #[inline(always)]
            fn apply_chunk(a: Chunk<$real>, _: Chunk<()>, _: Chunk<()>) -> Chunk<$real> {
                let mut out = [0.0; CHUNK];
                math::$math::$block(&a, &mut out);
                out
            }
        }

        impl Map for $name<Complex<$real>> {
            type A = Complex<$real>;
            type B = ();
            type C = ();
            type Out = Complex<$real>;
            #[inline(always)]
            fn apply(a: Complex<$real>, (): (), (): ()) -> Complex<$real> {
                FloatOps::$apply(a)
            }
        }
    )*};
}

by_blocks! {
    Exp<f32>: exp, single::exp_block;
    Exp<f64>: exp, double::exp_block;
    Sin<f32>: sin, single::sin_block;
    Sin<f64>: sin, double::sin_block;
    Cos<f32>: cos, single::cos_block;
    Cos<f64>: cos, double::cos_block;
}

/// The absolute value of a complex number: its parts side by side first, so that these are SIMD
/// lanes.
pub(crate) struct Modulus<T>(PhantomData<T>);

macro_rules! modulus {
    ($($real:ident: $math:ident;)*) => {$(
        impl Map for Modulus<$real> {
            type A = Complex<$real>;
            type B = ();
            type C = ();
            type Out = $real;
            #[inline(always)]
            fn apply(a: Complex<$real>, (): (), (): ()) -> $real {
                NumericOps::abs(a)
            }
            #[inline(always)]
            fn apply_chunk(
                a: Chunk<Complex<$real>>,
                _: Chunk<()>,
                _: Chunk<()>,
            ) -> Chunk<$real> {
                let (mut re, mut im, mut out) = ([0.0; CHUNK], [0.0; CHUNK], [0.0; CHUNK]);
                for k in 0..CHUNK {
                    (re[k], im[k]) = (a[k].re, a[k].im);
                }
                for k in 0..CHUNK {
                    out[k] = math::$math::hypot(re[k], im[k]);
                }
                out
            }
        }
    )*};
}

modulus! {
    f32: single;
    f64: double;
}

/// The power of reals, of a chunk together.
pub(crate) struct Power<T>(PhantomData<T>);

macro_rules! power {
    ($($real:ident: $math:ident;)*) => {$(
        impl Map for Power<$real> {
            type A = $real;
            type B = $real;
            type C = ();
            type Out = $real;
            #[inline(always)]
            fn apply(a: $real, b: $real, (): ()) -> $real {
                NumericOps::pow(a, b)
            }
            #[inline(always)]
            fn apply_chunk(a: Chunk<$real>, b: Chunk<$real>, _: Chunk<()>) -> Chunk<$real> {
                math::$math::pow_block(&a, &b)
            }
        }
    )*};
}

power! {
    f32: single;
    f64: double;
}

/// `bool` negated.
pub(crate) struct Not;
impl Map for Not {
    type A = u8;
    type B = ();
    type C = ();
    type Out = u8;
    #[inline(always)]
    fn apply(a: u8, (): (), (): ()) -> u8 {
        u8::from(a == 0)
    }
}

/// A conversion between real types.
pub(crate) struct Cast<T, U>(PhantomData<(T, U)>);
impl<T: Copy + CastTo<U>, U: Copy + Default> Map for Cast<T, U> {
    type A = T;
    type B = ();
    type C = ();
    type Out = U;
    #[inline(always)]
    fn apply(a: T, (): (), (): ()) -> U {
        a.cast_to()
    }
}

/// A `bool` as a number.
pub(crate) struct Number<U>(PhantomData<U>);
impl<U: Copy + Default> Map for Number<U>
where
    u32: CastTo<U>,
{
    type A = u8;
    type B = ();
    type C = ();
    type Out = U;
    #[inline(always)]
    fn apply(a: u8, (): (), (): ()) -> U {
        u32::from(a).cast_to()
    }
}

/// A real number as a complex one of the same precision.
pub(crate) struct ToComplex<T>(PhantomData<T>);
impl<T: Copy + Default> Map for ToComplex<T> {
    type A = T;
    type B = ();
    type C = ();
    type Out = Complex<T>;
    #[inline(always)]
    fn apply(a: T, (): (), (): ()) -> Complex<T> {
        Complex::new(a, T::default())
    }
}

/// A complex number in another precision.
pub(crate) struct CastParts<T, U>(PhantomData<(T, U)>);
impl<T: Copy + CastTo<U>, U: Copy + Default> Map for CastParts<T, U> {
    type A = Complex<T>;
    type B = ();
    type C = ();
    type Out = Complex<U>;
    #[inline(always)]
    fn apply(a: Complex<T>, (): (), (): ()) -> Complex<U> {
        Complex::new(a.re.cast_to(), a.im.cast_to())
    }
}

/// Random numbers from a seed and an index.
pub(crate) struct RandomBits;
pub(crate) struct RandomUniform;
pub(crate) struct RandomNormal;

impl Map for RandomNormal {
    type A = u64;
    type B = i64;
    type C = ();
    type Out = f64;
    #[inline(always)]
    fn apply(seed: u64, index: i64, (): ()) -> f64 {
        random::normal(seed, index as u64)
    }
    #[inline(always)]
    fn apply_chunk(seeds: Chunk<u64>, indices: Chunk<i64>, _: Chunk<()>) -> Chunk<f64> {
        random::normals(&seeds, &indices)
    }
}

macro_rules! random {
    ($($name:ident: $function:ident -> $out:ty;)*) => {$(
        impl Map for $name {
            type A = u64;
            type B = i64;
            type C = ();
            type Out = $out;
            #[inline(always)]
            fn apply(seed: u64, index: i64, (): ()) -> $out {
                random::$function(seed, index as u64)
            }
        }
    )*};
}

random! {
    RandomBits: bits -> u64;
    RandomUniform: uniform -> f64;
}
