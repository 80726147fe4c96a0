//! The operators `+ - * /` and `-` between matrices, vectors, scalars and numbers, owned or
//! borrowed, and those that assign.
//!
//! Each calls the method that returns an error, and panics with the error's message.

use super::expect;
use crate::formats::bsr::Bsr;
use crate::formats::coo::Coo;
use crate::formats::csc::Csc;
use crate::formats::csr::Csr;
use crate::formats::dia::Dia;
use num_complex::Complex;
use sparsefuse_dense::{Array, Scalar, Vector};
use sparsefuse_kernels::Numeric;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// An operator of a matrix with something on its right, and the method that does it.
macro_rules! operator {
    ($($trait:ident $method:ident: $matrix:ident, $right:ty => $output:ty, $try:ident;)*) => {$(
        operator!(@impl $trait $method: &$matrix<T>, &$right => $output, $matrix $try $right);
        operator!(@impl $trait $method: &$matrix<T>, $right => $output, $matrix $try $right);
        operator!(@impl $trait $method: $matrix<T>, &$right => $output, $matrix $try $right);
        operator!(@impl $trait $method: $matrix<T>, $right => $output, $matrix $try $right);
    )*};
    (
        @impl $trait:ident $method:ident:
        $left:ty, $right:ty => $output:ty, $matrix:ident $try:ident $borrowed:ty
    ) => {
        #[doc = concat!("# Panics\n\nWhere [`", stringify!($matrix), "::", stringify!($try), "`] ")]
        /// returns an error.
        impl<T: Numeric> $trait<$right> for $left {
            type Output = $output;

            #[track_caller]
            fn $method(self, right: $right) -> $output {
                let right: &$borrowed = &right;
                expect(self.$try(right))
            }
        }
    };
}

operator! {
    Mul mul: Csr, Vector<T> => Vector<T>, try_matvec;
    Mul mul: Csr, Array<T, 2> => Array<T, 2>, try_matmul;
    Mul mul: Csr, Csr<T> => Csr<T>, try_matmul;
    Mul mul: Csr, Scalar<T> => Csr<T>, try_scale;
    Div div: Csr, Scalar<T> => Csr<T>, try_divide;
    Mul mul: Csc, Vector<T> => Vector<T>, try_matvec;
    Mul mul: Csc, Array<T, 2> => Array<T, 2>, try_matmul;
    Mul mul: Csc, Scalar<T> => Csc<T>, try_scale;
    Div div: Csc, Scalar<T> => Csc<T>, try_divide;
    Mul mul: Coo, Vector<T> => Vector<T>, try_matvec;
    Mul mul: Coo, Array<T, 2> => Array<T, 2>, try_matmul;
    Mul mul: Coo, Scalar<T> => Coo<T>, try_scale;
    Div div: Coo, Scalar<T> => Coo<T>, try_divide;
    Mul mul: Dia, Vector<T> => Vector<T>, try_matvec;
    Mul mul: Dia, Array<T, 2> => Array<T, 2>, try_matmul;
    Mul mul: Dia, Scalar<T> => Dia<T>, try_scale;
    Div div: Dia, Scalar<T> => Dia<T>, try_divide;
    Mul mul: Bsr, Vector<T> => Vector<T>, try_matvec;
    Mul mul: Bsr, Array<T, 2> => Array<T, 2>, try_matmul;
    Mul mul: Bsr, Scalar<T> => Bsr<T>, try_scale;
    Div div: Bsr, Scalar<T> => Bsr<T>, try_divide;
    Add add: Csr, Csr<T> => Csr<T>, try_add;
    Sub sub: Csr, Csr<T> => Csr<T>, try_sub;
    Add add: Csc, Csc<T> => Csc<T>, try_add;
    Sub sub: Csc, Csc<T> => Csc<T>, try_sub;
    Add add: Dia, Dia<T> => Dia<T>, try_add;
    Sub sub: Dia, Dia<T> => Dia<T>, try_sub;
    Add add: Bsr, Bsr<T> => Bsr<T>, try_add;
    Sub sub: Bsr, Bsr<T> => Bsr<T>, try_sub;
}

/// A dense array or a scalar with a matrix on its right, and the method of the matrix that does it.
macro_rules! left {
    ($($left:ty, $matrix:ident => $output:ty, $try:ident;)*) => {$(
        left!(@impl &$left, &$matrix<T> => $output, $left, $matrix $try);
        left!(@impl &$left, $matrix<T> => $output, $left, $matrix $try);
        left!(@impl $left, &$matrix<T> => $output, $left, $matrix $try);
        left!(@impl $left, $matrix<T> => $output, $left, $matrix $try);
    )*};
    (@impl $left:ty, $right:ty => $output:ty, $borrowed:ty, $matrix:ident $try:ident) => {
        #[doc = concat!("# Panics\n\nWhere [`", stringify!($matrix), "::", stringify!($try), "`] ")]
        /// returns an error.
        impl<T: Numeric> Mul<$right> for $left {
            type Output = $output;

            #[track_caller]
            fn mul(self, right: $right) -> $output {
                let left: &$borrowed = &self;
                expect(right.$try(left))
            }
        }
    };
}

left! {
    Vector<T>, Csr => Vector<T>, try_left_matvec;
    Array<T, 2>, Csr => Array<T, 2>, try_left_matmul;
    Scalar<T>, Csr => Csr<T>, try_scale;
    Vector<T>, Csc => Vector<T>, try_left_matvec;
    Array<T, 2>, Csc => Array<T, 2>, try_left_matmul;
    Scalar<T>, Csc => Csc<T>, try_scale;
    Vector<T>, Coo => Vector<T>, try_left_matvec;
    Array<T, 2>, Coo => Array<T, 2>, try_left_matmul;
    Scalar<T>, Coo => Coo<T>, try_scale;
    Vector<T>, Dia => Vector<T>, try_left_matvec;
    Array<T, 2>, Dia => Array<T, 2>, try_left_matmul;
    Scalar<T>, Dia => Dia<T>, try_scale;
    Vector<T>, Bsr => Vector<T>, try_left_matvec;
    Array<T, 2>, Bsr => Array<T, 2>, try_left_matmul;
    Scalar<T>, Bsr => Bsr<T>, try_scale;
}

/// Plain numbers on either side of a matrix, and the sign before it: one line for each format.
macro_rules! numbers {
    ($($matrix:ident)*) => {$(
        numbers!(@impl $matrix<T>, $matrix<T>);
        numbers!(@impl &$matrix<T>, $matrix<T>);
        numbers!(@left $matrix: f32 f64 Complex<f32> Complex<f64> i32 i64 u32 u64);

        impl<T: Numeric> MulAssign<T> for $matrix<T> {
            #[track_caller]
            fn mul_assign(&mut self, factor: T) {
                *self = &*self * factor;
            }
        }

        impl<T: Numeric> DivAssign<T> for $matrix<T> {
            #[track_caller]
            fn div_assign(&mut self, divisor: T) {
                *self = &*self / divisor;
            }
        }
    )*};
    (@impl $matrix:ty, $output:ty) => {
        impl<T: Numeric> Mul<T> for $matrix {
            type Output = $output;

            #[track_caller]
            fn mul(self, factor: T) -> $output {
                expect(self.try_scale(factor))
            }
        }

        impl<T: Numeric> Div<T> for $matrix {
            type Output = $output;

            #[track_caller]
            fn div(self, divisor: T) -> $output {
                expect(self.try_divide(divisor))
            }
        }

        impl<T: Numeric> Neg for $matrix {
            type Output = $output;

            #[track_caller]
            fn neg(self) -> $output {
                expect(self.try_neg())
            }
        }
    };
    // Rust has no operator of any type with a matrix on its right: one for each type.
    (@left $matrix:ident: $($type:ty)*) => {$(
        numbers!(@left_impl $type, $matrix<$type>, $matrix<$type>);
        numbers!(@left_impl $type, &$matrix<$type>, $matrix<$type>);
    )*};
    (@left_impl $type:ty, $matrix:ty, $output:ty) => {
        impl Mul<$matrix> for $type {
            type Output = $output;

            #[track_caller]
            fn mul(self, matrix: $matrix) -> $output {
                matrix.scale(self)
            }
        }
    };
}

numbers!(Csr Csc Coo Dia Bsr);

/// `a += b` and `a -= b` of matrices of one format, `a *= s` and `a /= s` of a scalar: each makes a
/// new matrix, as `&a + &b` does.
macro_rules! assigning {
    ($($trait:ident $method:ident $matrix:ident, $right:ty: $operator:tt;)*) => {$(
        assigning!(@impl $trait $method $matrix, $right: $operator $right);
        assigning!(@impl $trait $method $matrix, &$right: $operator $right);
    )*};
    (
        @impl $trait:ident $method:ident $matrix:ident, $right:ty: $operator:tt $borrowed:ty
    ) => {
        /// # Panics
        ///
        /// As the operator that makes a new matrix.
        impl<T: Numeric> $trait<$right> for $matrix<T> {
            #[track_caller]
            fn $method(&mut self, right: $right) {
                let right: &$borrowed = &right;
                *self = &*self $operator right;
            }
        }
    };
}

assigning! {
    AddAssign add_assign Csr, Csr<T>: +;
    SubAssign sub_assign Csr, Csr<T>: -;
    AddAssign add_assign Csc, Csc<T>: +;
    SubAssign sub_assign Csc, Csc<T>: -;
    AddAssign add_assign Dia, Dia<T>: +;
    SubAssign sub_assign Dia, Dia<T>: -;
    AddAssign add_assign Bsr, Bsr<T>: +;
    SubAssign sub_assign Bsr, Bsr<T>: -;
    MulAssign mul_assign Csr, Scalar<T>: *;
    DivAssign div_assign Csr, Scalar<T>: /;
    MulAssign mul_assign Csc, Scalar<T>: *;
    DivAssign div_assign Csc, Scalar<T>: /;
    MulAssign mul_assign Coo, Scalar<T>: *;
    DivAssign div_assign Coo, Scalar<T>: /;
    MulAssign mul_assign Dia, Scalar<T>: *;
    DivAssign div_assign Dia, Scalar<T>: /;
    MulAssign mul_assign Bsr, Scalar<T>: *;
    DivAssign div_assign Bsr, Scalar<T>: /;
}
