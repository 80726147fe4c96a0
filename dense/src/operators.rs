//! The operators `+ - * / % & | ^` with their assigning forms, `-` and `!`.
//!
//! Each stands between arrays, scalars and plain numbers, owned or borrowed, and issues one task.
//! Arrays of different shapes broadcast by NumPy's rules. Operators panic with the message of the
//! error that the method of the same name with `try_` in front returns: `try_add` for `+`,
//! `try_add_assign` for `+=`, `try_neg` for `-x`. For a number on the left, `2.0 / x`, that is
//! `Scalar::new(2.0).try_div(x)`.

use crate::array::Array;
use crate::bodies::Operation;
use crate::operand::{ArrayOperand, Handle, Operand, ScalarOperand, elementwise, expect};
use crate::scalar::Scalar;
use num_complex::Complex;
use sparsefuse_kernels::{BinaryOp, Element, Numeric, UnaryOp};
use sparsefuse_runtime::Error;
use std::ops;

/// `left op right` with elements of type `U`.
pub(crate) fn binary<T: Element, U: Element, H: Handle>(
    op: BinaryOp,
    left: &impl Operand<T>,
    right: &impl Operand<T>,
) -> Result<H, Error> {
    let operands = [left.source(), right.source()];
    let operation = Operation::Binary(op, operands[0].origin(), operands[1].origin());
    let store = elementwise(op.name(), operation, T::DTYPE, &operands, U::DTYPE)?;
    Ok(H::of(store))
}

/// `op x` with elements of type `U`.
pub(crate) fn unary<T: Element, U: Element, H: Handle>(
    op: UnaryOp,
    x: &impl Operand<T>,
) -> Result<H, Error> {
    let x = x.source();
    let operation = Operation::Unary(op, x.origin());
    let store = elementwise(op.name(), operation, T::DTYPE, &[x], U::DTYPE)?;
    Ok(H::of(store))
}

/// One operator between an array or scalar and anything.
macro_rules! operator {
    (
        $trait:ident $method:ident $assign_trait:ident $assign:ident
        $try:ident $try_assign:ident $op:ident,
        $T:ident: $($bound:path),+;
        $symbol:literal
    ) => {
        impl<$T: $($bound +)+, const D: usize> Array<$T, D> {
            #[doc = concat!("`self ", $symbol, " other`, element by element; shapes broadcast.")]
            ///
            /// # Errors
            ///
            /// If the shapes do not broadcast to a common one.
            pub fn $try(&self, other: impl ArrayOperand<$T, D>) -> Result<Self, Error> {
                binary::<$T, $T, _>(BinaryOp::$op, &self, &other)
            }

            #[doc = concat!("`self ", $symbol, "= other`, element by element.")]
            ///
            /// # Errors
            ///
            /// If `other` does not broadcast to the shape of this array, which is then as it was.
            pub fn $try_assign(&mut self, other: impl ArrayOperand<$T, D>) -> Result<(), Error> {
                let result = self.$try(other)?;
                same_shape(BinaryOp::$op, self, &result)?;
                *self = result;
                Ok(())
            }
        }

        impl<$T: $($bound +)+> Scalar<$T> {
            #[doc = concat!("`self ", $symbol, " other`, a scalar or an array like `other`.")]
            ///
            /// # Errors
            ///
            /// If the operands belong to different runtimes.
            pub fn $try<R: Operand<$T>>(&self, other: R) -> Result<R::With<$T>, Error> {
                binary::<$T, $T, _>(BinaryOp::$op, &self, &other)
            }

            #[doc = concat!("`self ", $symbol, "= other`.")]
            ///
            /// # Errors
            ///
            /// If the operands belong to different runtimes; the scalar is then as it was.
            pub fn $try_assign(&mut self, other: impl ScalarOperand<$T>) -> Result<(), Error> {
                *self = binary::<$T, $T, _>(BinaryOp::$op, &*self, &other)?;
                Ok(())
            }
        }

        impl<$T: $($bound +)+, R: ArrayOperand<$T, D>, const D: usize> ops::$trait<R> for Array<$T, D> {
            type Output = Array<$T, D>;
            #[track_caller]
            fn $method(self, other: R) -> Array<$T, D> {
                expect(self.$try(other))
            }
        }

        impl<$T: $($bound +)+, R: ArrayOperand<$T, D>, const D: usize> ops::$trait<R> for &Array<$T, D> {
            type Output = Array<$T, D>;
            #[track_caller]
            fn $method(self, other: R) -> Array<$T, D> {
                expect(self.$try(other))
            }
        }

        impl<$T: $($bound +)+, R: ArrayOperand<$T, D>, const D: usize> ops::$assign_trait<R>
            for Array<$T, D>
        {
            #[track_caller]
            fn $assign(&mut self, other: R) {
                expect(self.$try_assign(other));
            }
        }

        impl<$T: $($bound +)+, R: Operand<$T>> ops::$trait<R> for Scalar<$T> {
            type Output = R::With<$T>;
            #[track_caller]
            fn $method(self, other: R) -> R::With<$T> {
                expect(self.$try(other))
            }
        }

        impl<$T: $($bound +)+, R: Operand<$T>> ops::$trait<R> for &Scalar<$T> {
            type Output = R::With<$T>;
            #[track_caller]
            fn $method(self, other: R) -> R::With<$T> {
                expect(self.$try(other))
            }
        }

        impl<$T: $($bound +)+, R: ScalarOperand<$T>> ops::$assign_trait<R> for Scalar<$T> {
            #[track_caller]
            fn $assign(&mut self, other: R) {
                expect(self.$try_assign(other));
            }
        }
    };
}

operator!(Add add AddAssign add_assign try_add try_add_assign Add, T: Numeric; "+");
operator!(Sub sub SubAssign sub_assign try_sub try_sub_assign Sub, T: Numeric; "-");
operator!(Mul mul MulAssign mul_assign try_mul try_mul_assign Mul, T: Numeric; "*");
operator!(Div div DivAssign div_assign try_div try_div_assign Div, T: Numeric; "/");
operator!(Rem rem RemAssign rem_assign try_rem try_rem_assign Rem, T: Numeric, PartialOrd; "%");
operator!(BitAnd bitand BitAndAssign bitand_assign try_and try_and_assign And, T: Element, ops::BitAnd; "&");
operator!(BitOr bitor BitOrAssign bitor_assign try_or try_or_assign Or, T: Element, ops::BitOr; "|");
operator!(BitXor bitxor BitXorAssign bitxor_assign try_xor try_xor_assign Xor, T: Element, ops::BitXor; "^");

/// An assigning operator may not change the shape of what it assigns to.
fn same_shape<T: Element, const D: usize>(
    op: BinaryOp,
    target: &Array<T, D>,
    result: &Array<T, D>,
) -> Result<(), Error> {
    Error::check_shape(op.name(), &target.shape(), &result.shape())
}

/// Plain numbers on the left: one line for each element type.
macro_rules! number_on_the_left {
    ($trait:ident $method:ident $op:ident: $($type:ty)*) => {$(
        impl<const D: usize> ops::$trait<Array<$type, D>> for $type {
            type Output = Array<$type, D>;
            #[track_caller]
            fn $method(self, other: Array<$type, D>) -> Array<$type, D> {
                expect(binary::<$type, $type, _>(BinaryOp::$op, &self, &other))
            }
        }

        impl<const D: usize> ops::$trait<&Array<$type, D>> for $type {
            type Output = Array<$type, D>;
            #[track_caller]
            fn $method(self, other: &Array<$type, D>) -> Array<$type, D> {
                expect(binary::<$type, $type, _>(BinaryOp::$op, &self, &other))
            }
        }

        impl ops::$trait<Scalar<$type>> for $type {
            type Output = Scalar<$type>;
            #[track_caller]
            fn $method(self, other: Scalar<$type>) -> Scalar<$type> {
                expect(binary::<$type, $type, _>(BinaryOp::$op, &self, &other))
            }
        }

        impl ops::$trait<&Scalar<$type>> for $type {
            type Output = Scalar<$type>;
            #[track_caller]
            fn $method(self, other: &Scalar<$type>) -> Scalar<$type> {
                expect(binary::<$type, $type, _>(BinaryOp::$op, &self, &other))
            }
        }
    )*};
}

number_on_the_left!(Add add Add: f32 f64 Complex<f32> Complex<f64> i32 i64 u32 u64);
number_on_the_left!(Sub sub Sub: f32 f64 Complex<f32> Complex<f64> i32 i64 u32 u64);
number_on_the_left!(Mul mul Mul: f32 f64 Complex<f32> Complex<f64> i32 i64 u32 u64);
number_on_the_left!(Div div Div: f32 f64 Complex<f32> Complex<f64> i32 i64 u32 u64);
number_on_the_left!(Rem rem Rem: f32 f64 i32 i64 u32 u64);
number_on_the_left!(BitAnd bitand And: i32 i64 u32 u64 bool);
number_on_the_left!(BitOr bitor Or: i32 i64 u32 u64 bool);
number_on_the_left!(BitXor bitxor Xor: i32 i64 u32 u64 bool);

/// `-x` and `!x` of arrays and scalars, owned and borrowed.
macro_rules! prefix_operator {
    (
        $trait:ident $method:ident $try:ident $op:ident, $symbol:literal
        $([$($generic:tt)*] $type:ty, $element:ty;)*
    ) => {$(
        impl<$($generic)*> $type {
            #[doc = concat!("`", $symbol, "self`.")]
            ///
            /// # Errors
            ///
            /// If nothing has written the store of this handle.
            pub fn $try(&self) -> Result<Self, Error> {
                unary::<$element, $element, _>(UnaryOp::$op, &self)
            }
        }

        impl<$($generic)*> ops::$trait for $type {
            type Output = $type;
            #[track_caller]
            fn $method(self) -> $type {
                expect(self.$try())
            }
        }

        impl<$($generic)*> ops::$trait for &$type {
            type Output = $type;
            #[track_caller]
            fn $method(self) -> $type {
                expect(self.$try())
            }
        }
    )*};
}

prefix_operator!(Neg neg try_neg Neg, "-"
    [T: Numeric, const D: usize] Array<T, D>, T;
    [T: Numeric] Scalar<T>, T;
);
prefix_operator!(Not not try_not Not, "!"
    [const D: usize] Array<bool, D>, bool;
    [] Scalar<bool>, bool;
);
