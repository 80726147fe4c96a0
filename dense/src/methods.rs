//! Elementwise functions of arrays and scalars, under the names that NumPy and ndarray give them.
//!
//! Each issues one task, which reads each operand once and writes the result once; fused with its
//! neighbours it moves less. What each function does with special values is said at
//! [`sparsefuse_kernels::UnaryOp`] and [`sparsefuse_kernels::BinaryOp`].

use crate::array::Array;
use crate::bodies::Operation;
use crate::operand::{ArrayOperand, Handle, Operand, ScalarOperand, elementwise, expect, twins};
use crate::operators::{binary, unary};
use crate::scalar::Scalar;
use sparsefuse_kernels::{BinaryOp, Element, Field, Numeric, Real, UnaryOp};
use sparsefuse_runtime::Error;

/// Functions of one value, for arrays and scalars: name, its twin that returns the error, operation,
/// type of the result.
macro_rules! unary_methods {
    (
        $T:ident: $($bound:path),+;
        $($(#[$doc:meta])* $name:ident $try:ident $op:ident $output:ty;)*
    ) => {
        twins! {
            [$T: $($bound +)+, const D: usize] Array<$T, D>;
            $($(#[$doc])* $name $try(&self) -> Array<$output, D> {
                unary::<$T, $output, _>(UnaryOp::$op, &self)
            })*
        }

        twins! {
            [$T: $($bound +)+] Scalar<$T>;
            $($(#[$doc])* $name $try(&self) -> Scalar<$output> {
                unary::<$T, $output, _>(UnaryOp::$op, &self)
            })*
        }
    };
}

unary_methods! {
    T: Numeric;
    /// The absolute value.
    abs try_abs Abs T::Magnitude;
    /// -1, 0 or 1 by the sign; `x / |x|` for complex numbers.
    sign try_sign Sign T;
    /// The complex conjugate; real numbers stay as they are.
    conj try_conj Conj T;
    /// The real part.
    re try_re Re T::Magnitude;
    /// The imaginary part; 0 for real numbers.
    im try_im Im T::Magnitude;
}

unary_methods! {
    T: Field;
    /// The square root.
    sqrt try_sqrt Sqrt T;
    /// `e` to the power of the value.
    exp try_exp Exp T;
    /// The natural logarithm.
    ln try_ln Log T;
    /// The sine.
    sin try_sin Sin T;
    /// The cosine.
    cos try_cos Cos T;
    /// The hyperbolic tangent.
    tanh try_tanh Tanh T;
}

unary_methods! {
    T: Real;
    /// The error function.
    erf try_erf Erf T;
}

unary_methods! {
    T: Numeric, PartialOrd;
    /// The largest whole number that is not above the value.
    floor try_floor Floor T;
    /// The smallest whole number that is not below the value.
    ceil try_ceil Ceil T;
}

/// Functions of two values, for arrays and scalars: name, its twin that returns the error,
/// operation, type of the result.
macro_rules! binary_methods {
    (
        $T:ident: $($bound:path),+;
        $($(#[$doc:meta])* $name:ident $try:ident $op:ident $output:ty;)*
    ) => {
        impl<$T: $($bound +)+, const D: usize> Array<$T, D> {
            $(
                $(#[$doc])*
                ///
                /// # Panics
                ///
                /// If the shapes do not broadcast to a common one.
                #[must_use]
                #[track_caller]
                pub fn $name(&self, other: impl ArrayOperand<$T, D>) -> Array<$output, D> {
                    expect(self.$try(other))
                }

                $(#[$doc])*
                ///
                /// # Errors
                ///
                /// If the shapes do not broadcast to a common one.
                pub fn $try(&self, other: impl ArrayOperand<$T, D>) -> Result<Array<$output, D>, Error> {
                    binary::<$T, $output, _>(BinaryOp::$op, &self, &other)
                }
            )*
        }

        impl<$T: $($bound +)+> Scalar<$T> {
            $(
                $(#[$doc])*
                #[must_use]
                #[track_caller]
                pub fn $name<R: Operand<$T>>(&self, other: R) -> R::With<$output> {
                    expect(self.$try(other))
                }

                $(#[$doc])*
                ///
                /// # Errors
                ///
                /// If the operands belong to different runtimes.
                pub fn $try<R: Operand<$T>>(&self, other: R) -> Result<R::With<$output>, Error> {
                    binary::<$T, $output, _>(BinaryOp::$op, &self, &other)
                }
            )*
        }
    };
}

binary_methods! {
    T: Numeric;
    /// The value to the power `other`.
    pow try_pow Pow T;
}

binary_methods! {
    T: Numeric, PartialOrd;
    /// The smaller of two values; NaN if either is NaN.
    minimum try_minimum Min T;
    /// The larger of two values; NaN if either is NaN.
    maximum try_maximum Max T;
}

binary_methods! {
    T: Element;
    /// Whether the value equals `other`.
    equal try_equal Eq bool;
    /// Whether the value differs from `other`.
    not_equal try_not_equal Ne bool;
}

binary_methods! {
    T: Element, PartialOrd;
    /// Whether the value is below `other`.
    less try_less Lt bool;
    /// Whether the value is below `other` or equal to it.
    less_equal try_less_equal Le bool;
    /// Whether the value is above `other`.
    greater try_greater Gt bool;
    /// Whether the value is above `other` or equal to it.
    greater_equal try_greater_equal Ge bool;
}

twins! {
    [T: Numeric, const D: usize] Array<T, D>;
    /// The value times itself.
    square try_square(&self) -> Self { self.try_mul(self) }
    /// One divided by the value.
    recip try_recip(&self) -> Self { binary::<T, T, _>(BinaryOp::Div, &T::ONE, &self) }
}

twins! {
    [T: Numeric] Scalar<T>;
    /// The value times itself.
    square try_square(&self) -> Self { self.try_mul(self) }
    /// One divided by the value.
    recip try_recip(&self) -> Self { binary::<T, T, _>(BinaryOp::Div, &T::ONE, &self) }
}

impl<T: Numeric + PartialOrd, const D: usize> Array<T, D> {
    /// The nearest value between `low` and `high`: `high` where the two cross. Two tasks.
    ///
    /// # Panics
    ///
    /// If the shapes do not broadcast to a common one.
    #[must_use]
    #[track_caller]
    pub fn clamp(&self, low: impl ArrayOperand<T, D>, high: impl ArrayOperand<T, D>) -> Self {
        expect(self.try_clamp(low, high))
    }

    /// As [`Array::clamp`].
    ///
    /// # Errors
    ///
    /// If the shapes do not broadcast to a common one.
    pub fn try_clamp(
        &self,
        low: impl ArrayOperand<T, D>,
        high: impl ArrayOperand<T, D>,
    ) -> Result<Self, Error> {
        self.try_maximum(low)?.try_minimum(high)
    }
}

impl<T: Element, const D: usize> Array<T, D> {
    /// The elements converted to another type, as Rust's `as` does it; to `bool`: whether they
    /// differ from 0.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![-1.5, 0.0, 2.7]);
    /// assert_eq!(x.cast::<i32>().to_vec()?, [-1, 0, 2]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_cast`] returns.
    #[must_use]
    #[track_caller]
    pub fn cast<U: Element>(&self) -> Array<U, D> {
        expect(self.try_cast())
    }

    /// As [`Array::cast`].
    ///
    /// # Errors
    ///
    /// As all functions of one value: see the [rules](crate#rules).
    pub fn try_cast<U: Element>(&self) -> Result<Array<U, D>, Error> {
        cast::<T, U, _>(&self)
    }
}

impl<T: Element> Scalar<T> {
    /// The element converted to another type, as Rust's `as` does it; to `bool`: whether it
    /// differs from 0.
    ///
    /// # Panics
    ///
    /// With the error that [`Scalar::try_cast`] returns.
    #[must_use]
    #[track_caller]
    pub fn cast<U: Element>(&self) -> Scalar<U> {
        expect(self.try_cast())
    }

    /// As [`Scalar::cast`].
    ///
    /// # Errors
    ///
    /// As all functions of one value: see the [rules](crate#rules).
    pub fn try_cast<U: Element>(&self) -> Result<Scalar<U>, Error> {
        cast::<T, U, _>(&self)
    }
}

fn cast<T: Element, U: Element, H: Handle>(x: &impl Operand<T>) -> Result<H, Error> {
    let x = x.source();
    let operation = Operation::Cast(U::DTYPE, x.origin());
    let store = elementwise("cast", operation, T::DTYPE, &[x], U::DTYPE)?;
    Ok(H::of(store))
}

impl<const D: usize> Array<bool, D> {
    /// `a` where the mask holds, else `b`.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![-1.0, 2.0]);
    /// let positive = x.greater(0.0).select(&x, 0.0);
    /// assert_eq!(positive.to_vec()?, [0.0, 2.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the shapes do not broadcast to a common one.
    #[must_use]
    #[track_caller]
    pub fn select<T: Element>(
        &self,
        a: impl ArrayOperand<T, D>,
        b: impl ArrayOperand<T, D>,
    ) -> Array<T, D> {
        expect(self.try_select(a, b))
    }

    /// As [`Array::select`].
    ///
    /// # Errors
    ///
    /// If the shapes do not broadcast to a common one.
    pub fn try_select<T: Element>(
        &self,
        a: impl ArrayOperand<T, D>,
        b: impl ArrayOperand<T, D>,
    ) -> Result<Array<T, D>, Error> {
        select(&self, &a, &b)
    }
}

impl Scalar<bool> {
    /// `a` if the scalar holds, else `b`.
    #[must_use]
    #[track_caller]
    pub fn select<T: Element>(
        &self,
        a: impl ScalarOperand<T>,
        b: impl ScalarOperand<T>,
    ) -> Scalar<T> {
        expect(self.try_select(a, b))
    }

    /// As [`Scalar::select`].
    ///
    /// # Errors
    ///
    /// If the operands belong to different runtimes.
    pub fn try_select<T: Element>(
        &self,
        a: impl ScalarOperand<T>,
        b: impl ScalarOperand<T>,
    ) -> Result<Scalar<T>, Error> {
        select(&self, &a, &b)
    }
}

fn select<T: Element, H: Handle>(
    condition: &impl Operand<bool>,
    a: &impl Operand<T>,
    b: &impl Operand<T>,
) -> Result<H, Error> {
    let (condition, a, b) = (condition.source(), a.source(), b.source());
    let operation = Operation::Select(condition.origin(), a.origin(), b.origin());
    let store = elementwise("select", operation, T::DTYPE, &[condition, a, b], T::DTYPE)?;
    Ok(H::of(store))
}
