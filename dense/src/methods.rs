//! Elementwise functions of arrays and scalars, under the names that NumPy and ndarray give them.
//!
//! Each issues one task, which reads each operand once and writes the result once; fused with its
//! neighbours it moves less. What each function does with special values is said at
//! [`sparsefuse_kernels::UnaryOp`] and [`sparsefuse_kernels::BinaryOp`].

use crate::array::Array;
use crate::bodies::Operation;
use crate::operand::{ArrayOperand, Handle, Operand, ScalarOperand, elementwise, expect, named};
use crate::operators::{binary, unary};
use crate::scalar::Scalar;
use crate::twins::twins;
use sparsefuse_kernels::{BinaryOp, Element, Field, Numeric, Real, UnaryOp};
use sparsefuse_kernels::{
    all_binary_methods, all_unary_methods, binary_operations, output_type, unary_operations,
};
use sparsefuse_runtime::Error;

/// Methods of one value: name, its twin that returns the error, operation, type of the result.
macro_rules! unary_methods {
    (
        $T:ident: $($bound:path),+;
        $(#[$doc:meta] $name:ident $try:ident $op:ident $output:ident;)*
    ) => {
        twins! {
            methods [$T: $($bound +)+, const D: usize] Array<$T, D>;
            $(#[$doc] $name $try(&self) -> Array<output_type!($T $output), D> {
                unary::<$T, output_type!($T $output), _>(UnaryOp::$op, &self)
            })*
        }

        twins! {
            methods [$T: $($bound +)+] Scalar<$T>;
            $(#[$doc] $name $try(&self) -> Scalar<output_type!($T $output)> {
                unary::<$T, output_type!($T $output), _>(UnaryOp::$op, &self)
            })*
        }
    };
}

/// The same of two values.
macro_rules! binary_methods {
    (
        $T:ident: $($bound:path),+;
        $(#[$doc:meta] $name:ident $try:ident $op:ident $output:ident;)*
    ) => {
        twins! {
            @ "If the shapes do not broadcast to a common one.";
            [$T: $($bound +)+, const D: usize] Array<$T, D>;
            $(#[$doc]
            $name $try(&self, other: impl ArrayOperand<$T, D>) -> Array<output_type!($T $output), D> {
                binary::<$T, output_type!($T $output), _>(BinaryOp::$op, &self, &other)
            })*
        }

        impl<$T: $($bound +)+> Scalar<$T> {
            $(
                #[$doc]
                #[must_use]
                #[track_caller]
                pub fn $name<R: Operand<$T>>(&self, other: R) -> R::With<output_type!($T $output)> {
                    expect(self.$try(other))
                }

                #[$doc]
                ///
                /// # Errors
                ///
                /// If the operands belong to different runtimes.
                pub fn $try<R: Operand<$T>>(&self, other: R) -> Result<R::With<output_type!($T $output)>, Error> {
                    let binary = || binary::<$T, output_type!($T $output), _>(BinaryOp::$op, &self, &other);
                    named(stringify!($name), binary)
                }
            )*
        }
    };
}

unary_operations!(all_unary_methods);
binary_operations!(all_binary_methods);

twins! {
    methods [T: Numeric, const D: usize] Array<T, D>;
    /// The value times itself.
    square try_square(&self) -> Self { self.try_mul(self) }
    /// One divided by the value.
    recip try_recip(&self) -> Self { binary::<T, T, _>(BinaryOp::Div, &T::ONE, &self) }
}

twins! {
    methods [T: Numeric] Scalar<T>;
    /// The value times itself.
    square try_square(&self) -> Self { self.try_mul(self) }
    /// One divided by the value.
    recip try_recip(&self) -> Self { binary::<T, T, _>(BinaryOp::Div, &T::ONE, &self) }
}

twins! {
    [T: Numeric + PartialOrd, const D: usize] Array<T, D>;
    /// The nearest value between `low` and `high`: `high` where the two cross. Two tasks.
    @ "If the shapes do not broadcast to a common one."
    clamp try_clamp(&self, low: impl ArrayOperand<T, D>, high: impl ArrayOperand<T, D>) -> Self {
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
