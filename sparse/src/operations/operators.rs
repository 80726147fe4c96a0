//! The operators `+ - * /` and `-` between matrices, vectors, scalars and numbers, owned or
//! borrowed.
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
use std::ops::{Add, Div, Mul, Neg, Sub};

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
    Mul mul: Csc, Vector<T> => Vector<T>, try_matvec;
    Mul mul: Csc, Array<T, 2> => Array<T, 2>, try_matmul;
    Mul mul: Coo, Vector<T> => Vector<T>, try_matvec;
    Mul mul: Coo, Array<T, 2> => Array<T, 2>, try_matmul;
    Mul mul: Dia, Vector<T> => Vector<T>, try_matvec;
    Mul mul: Dia, Array<T, 2> => Array<T, 2>, try_matmul;
    Mul mul: Dia, Scalar<T> => Dia<T>, try_scale;
    Mul mul: Bsr, Vector<T> => Vector<T>, try_matvec;
    Mul mul: Bsr, Array<T, 2> => Array<T, 2>, try_matmul;
    Mul mul: Bsr, Scalar<T> => Bsr<T>, try_scale;
    Add add: Csr, Csr<T> => Csr<T>, try_add;
    Sub sub: Csr, Csr<T> => Csr<T>, try_sub;
    Add add: Dia, Dia<T> => Dia<T>, try_add;
    Sub sub: Dia, Dia<T> => Dia<T>, try_sub;
    Add add: Bsr, Bsr<T> => Bsr<T>, try_add;
    Sub sub: Bsr, Bsr<T> => Bsr<T>, try_sub;
}

/// A dense array with a matrix on its right, and the method of the matrix that does it.
macro_rules! left {
    ($($array:ty, $matrix:ident => $try:ident;)*) => {$(
        left!(@impl &$array, &$matrix<T> => $array, $matrix $try);
        left!(@impl &$array, $matrix<T> => $array, $matrix $try);
        left!(@impl $array, &$matrix<T> => $array, $matrix $try);
        left!(@impl $array, $matrix<T> => $array, $matrix $try);
    )*};
    (@impl $left:ty, $right:ty => $array:ty, $matrix:ident $try:ident) => {
        #[doc = concat!("# Panics\n\nWhere [`", stringify!($matrix), "::", stringify!($try), "`] ")]
        /// returns an error.
        impl<T: Numeric> Mul<$right> for $left {
            type Output = $array;

            #[track_caller]
            fn mul(self, right: $right) -> $array {
                let left: &$array = &self;
                expect(right.$try(left))
            }
        }
    };
}

left! {
    Vector<T>, Csr => try_left_matvec;
    Array<T, 2>, Csr => try_left_matmul;
    Vector<T>, Csc => try_left_matvec;
    Array<T, 2>, Csc => try_left_matmul;
}

/// Plain numbers on either side of a matrix, and the sign before it: one line for each format.
macro_rules! numbers {
    ($($matrix:ident)*) => {$(
        numbers!(@types $matrix: f32 f64 Complex<f32> Complex<f64> i32 i64 u32 u64);

        impl<T: Numeric> Neg for &$matrix<T> {
            type Output = $matrix<T>;

            #[track_caller]
            fn neg(self) -> $matrix<T> {
                expect(self.try_neg())
            }
        }

        impl<T: Numeric> Neg for $matrix<T> {
            type Output = Self;

            #[track_caller]
            fn neg(self) -> Self {
                expect(self.try_neg())
            }
        }
    )*};
    (@types $matrix:ident: $($type:ty)*) => {$(
        numbers!(@impl $type, $matrix<$type>, $matrix<$type>);
        numbers!(@impl $type, &$matrix<$type>, $matrix<$type>);
    )*};
    (@impl $type:ty, $matrix:ty, $output:ty) => {
        impl Mul<$type> for $matrix {
            type Output = $output;

            #[track_caller]
            fn mul(self, factor: $type) -> $output {
                self.scale(factor)
            }
        }

        impl Div<$type> for $matrix {
            type Output = $output;

            #[track_caller]
            fn div(self, divisor: $type) -> $output {
                expect(self.try_divide(divisor))
            }
        }

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
