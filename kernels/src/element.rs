//! Element types, and values of any of them.
//!
//! [`DType`] is the closed set of element types, [`Element`] ties a Rust type to its `DType`, and
//! [`Value`] is one element whose type is known only at run time.
//! [`Numeric`], [`Field`] and [`Real`] say what generic code may do with an element type.

use num_complex::Complex;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// The type of the elements of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DType {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// A pair of `f32`: real part, imaginary part.
    ComplexF32,
    /// A pair of `f64`: real part, imaginary part.
    ComplexF64,
    /// Signed, 32 bits, wrapping.
    I32,
    /// Signed, 64 bits, wrapping.
    I64,
    /// Unsigned, 32 bits, wrapping.
    U32,
    /// Unsigned, 64 bits, wrapping.
    U64,
    /// One byte, 0 or 1.
    Bool,
}

impl DType {
    /// All element types, in the order of their declaration.
    pub const ALL: [Self; 9] = [
        Self::F32,
        Self::F64,
        Self::ComplexF32,
        Self::ComplexF64,
        Self::I32,
        Self::I64,
        Self::U32,
        Self::U64,
        Self::Bool,
    ];

    /// Bytes of one element.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Bool => 1,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 | Self::ComplexF32 => 8,
            Self::ComplexF64 => 16,
        }
    }

    /// The alignment of one element in bytes: that of its parts where it is complex.
    #[must_use]
    pub const fn alignment(self) -> usize {
        self.real().size()
    }

    /// The name in the text form of kernels and in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::ComplexF32 => "cf32",
            Self::ComplexF64 => "cf64",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::Bool => "bool",
        }
    }

    /// The inverse of [`DType::name`].
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Whether this is one of the two complex types.
    #[must_use]
    pub const fn is_complex(self) -> bool {
        matches!(self, Self::ComplexF32 | Self::ComplexF64)
    }

    /// Whether this is `f32` or `f64`.
    #[must_use]
    pub const fn is_real_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Whether this is a whole-number type.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        matches!(self, Self::I32 | Self::I64 | Self::U32 | Self::U64)
    }

    /// The type of real and imaginary part for complex types, the type itself for all others.
    #[must_use]
    pub const fn real(self) -> Self {
        match self {
            Self::ComplexF32 => Self::F32,
            Self::ComplexF64 => Self::F64,
            other => other,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One element whose type is known at run time; equality is equality of type and bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value {
    dtype: DType,
    /// The bytes of the element, zero-extended; a complex number has its parts in the two words.
    bits: [u64; 2],
}

impl Value {
    /// The type of the element.
    #[must_use]
    pub const fn dtype(self) -> DType {
        self.dtype
    }

    /// The element's bits: one word, or two for the parts of a complex number.
    #[must_use]
    pub const fn bits(self) -> [u64; 2] {
        self.bits
    }

    /// The inverse of [`Value::dtype`] with [`Value::bits`]; excess bits are dropped.
    #[must_use]
    pub const fn from_bits(dtype: DType, bits: [u64; 2]) -> Self {
        let low = 0xffff_ffff;
        let bits = match dtype {
            DType::Bool => [(bits[0] != 0) as u64, 0],
            DType::F32 | DType::I32 | DType::U32 => [bits[0] & low, 0],
            DType::F64 | DType::I64 | DType::U64 => [bits[0], 0],
            DType::ComplexF32 => [bits[0] & low, bits[1] & low],
            DType::ComplexF64 => bits,
        };
        Self { dtype, bits }
    }

    /// The element as `T`, if that is its type.
    #[must_use]
    pub fn get<T: Element>(self) -> Option<T> {
        (self.dtype == T::DTYPE).then(|| T::from_bits(self.bits))
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}:{}", self.dtype)
    }
}

/// Prints the shortest decimal text that reads back as the same element; complex as `(re,im)`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [low, high] = self.bits;
        match self.dtype {
            DType::F32 => write!(f, "{:?}", f32::from_bits(low as u32)),
            DType::F64 => write!(f, "{:?}", f64::from_bits(low)),
            DType::ComplexF32 => {
                write!(
                    f,
                    "({:?},{:?})",
                    f32::from_bits(low as u32),
                    f32::from_bits(high as u32)
                )
            }
            DType::ComplexF64 => {
                write!(f, "({:?},{:?})", f64::from_bits(low), f64::from_bits(high))
            }
            DType::I32 => write!(f, "{}", low as u32 as i32),
            DType::I64 => write!(f, "{}", low as i64),
            DType::U32 | DType::U64 => write!(f, "{low}"),
            DType::Bool => write!(f, "{}", low != 0),
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that can be the element of a store; implemented for the nine types of [`DType`].
pub trait Element:
    sealed::Sealed + Copy + Default + PartialEq + fmt::Debug + fmt::Display + Send + Sync + 'static
{
    /// The run-time name of this type.
    const DTYPE: DType;

    /// The bits as [`Value::bits`] holds them.
    fn to_bits(self) -> [u64; 2];

    /// The inverse of [`Element::to_bits`].
    fn from_bits(bits: [u64; 2]) -> Self;

    /// This element as a value.
    fn to_value(self) -> Value {
        Value {
            dtype: Self::DTYPE,
            bits: self.to_bits(),
        }
    }
}

/// An element type with arithmetic: every one but `bool`.
pub trait Numeric: Element {
    /// The type of norms.
    type Real: Real;
    /// The type of absolute values, real and imaginary parts: the type itself unless it is complex.
    type Magnitude: Numeric + PartialOrd;
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The nearest element to a 64-bit float (imaginary part 0).
    fn from_f64(x: f64) -> Self;

    /// `self + other`, as tasks add: whole numbers wrap.
    fn plus(self, other: Self) -> Self;
    /// `self - other`.
    fn minus(self, other: Self) -> Self;
    /// `self * other`.
    fn times(self, other: Self) -> Self;
    /// `self * factor + addend`, fused as in products with matrices.
    fn times_plus(self, factor: Self, addend: Self) -> Self;
    /// The complex conjugate; the element itself where the type is real.
    fn conjugate(self) -> Self;
    /// The absolute value.
    fn magnitude(self) -> Self::Magnitude;
}

/// An element type with division and square roots: `f32`, `f64` and the complex numbers over them.
///
/// The operators compute on single elements, for algorithms that go through rows one by one.
///
/// ```
/// use sparsefuse_kernels::{Field, Real};
///
/// fn mean<T: Field>(elements: &[T]) -> T {
///     let mut mean: T = elements.iter().copied().sum();
///     mean /= T::from_f64(elements.len() as f64);
///     mean
/// }
///
/// fn widened<T: Real>(element: T) -> f64 {
///     element.into()
/// }
/// assert_eq!(mean(&[1.0f32, 2.0, 6.0]), 3.0);
/// assert_eq!(widened(0.5f32), 0.5);
/// ```
pub trait Field:
    Numeric<Magnitude = <Self as Numeric>::Real>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Sum
{
    /// The complex numbers of the same precision.
    type Complex: Field<Real = Self::Real, Complex = Self::Complex>;
    /// Whether the type is complex.
    const IS_COMPLEX: bool;
    /// An element from its parts; the imaginary part is dropped where the type is real.
    fn from_parts(re: f64, im: f64) -> Self;
    /// Real and imaginary part.
    fn parts(self) -> (f64, f64);
    /// `self / other`, as tasks divide: of complex numbers too, no step is out of range unless the
    /// quotient is. The operator `/` takes the square of the absolute value.
    fn over(self, other: Self) -> Self;
}

/// A real floating-point type: `f32` or `f64`.
pub trait Real: Field<Real = Self> + PartialOrd + Into<f64> {
    /// The distance from 1 to the next larger number.
    const EPSILON: Self;
    /// The value as `f64`, exactly.
    fn to_f64(self) -> f64;
}

macro_rules! element {
    ($type:ty, $dtype:ident, $self:ident => $to:expr, $bits:ident => $from:expr) => {
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
            #[inline(always)]
            fn to_bits($self) -> [u64; 2] {
                $to
            }
            #[inline(always)]
            fn from_bits($bits: [u64; 2]) -> Self {
                $from
            }
        }
    };
}

element!(f32, F32, self => [u64::from(<f32>::to_bits(self)), 0], bits => <f32>::from_bits(bits[0] as u32));
element!(f64, F64, self => [<f64>::to_bits(self), 0], bits => <f64>::from_bits(bits[0]));
element!(
    Complex<f32>, ComplexF32,
    self => [u64::from(<f32>::to_bits(self.re)), u64::from(<f32>::to_bits(self.im))],
    bits => Complex::new(<f32>::from_bits(bits[0] as u32), <f32>::from_bits(bits[1] as u32))
);
element!(
    Complex<f64>, ComplexF64,
    self => [<f64>::to_bits(self.re), <f64>::to_bits(self.im)],
    bits => Complex::new(<f64>::from_bits(bits[0]), <f64>::from_bits(bits[1]))
);
element!(i32, I32, self => [u64::from(self as u32), 0], bits => bits[0] as i32);
element!(i64, I64, self => [self as u64, 0], bits => bits[0] as i64);
element!(u32, U32, self => [u64::from(self), 0], bits => bits[0] as u32);
element!(u64, U64, self => [self, 0], bits => bits[0]);
element!(bool, Bool, self => [u64::from(self), 0], bits => bits[0] != 0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_bits() {
        let value = Complex::new(-0.0f32, f32::NAN).to_value();
        assert_eq!(value, Value::from_bits(DType::ComplexF32, value.bits()));
        assert_eq!((-7i32).to_value().get::<i32>(), Some(-7));
        assert_eq!((-7i32).to_value().get::<i64>(), None);
        assert_eq!((-7i32).to_value().to_string(), "-7");
        for dtype in DType::ALL {
            assert_eq!(DType::from_name(dtype.name()), Some(dtype));
        }
    }
}
