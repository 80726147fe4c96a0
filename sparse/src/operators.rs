//! The operators `+ - *` and `-` between matrices, vectors, scalars and numbers, owned or borrowed.
//!
//! Each calls the method that returns an error, and panics with the error's message.

use crate::coo::Coo;
use crate::csc::Csc;
use crate::csr::Csr;
use num_complex::Complex;
use sparsefuse_dense::{Array, Scalar, Vector};
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;
use std::ops::{Add, Mul, Neg, Sub};

/// An operator of a matrix with something on its right, and the method that does it.
macro_rules! operator {
    ($($trait:ident $method:ident: $matrix:ident, $right:ty => $output:ty, $try:ident;)*) => {$(
        operator!(@impl $trait $method: &$matrix<T>, &$right => $output, $matrix $try);
        operator!(@impl $trait $method: &$matrix<T>, $right => $output, $matrix $try);
        operator!(@impl $trait $method: $matrix<T>, &$right => $output, $matrix $try);
        operator!(@impl $trait $method: $matrix<T>, $right => $output, $matrix $try);
    )*};
    (
        @impl $trait:ident $method:ident:
        $left:ty, $right:ty => $output:ty, $matrix:ident $try:ident
    ) => {
        #[doc = concat!("# Panics\n\nWhere [`", stringify!($matrix), "::", stringify!($try), "`] ")]
        /// returns an error.
        impl<T: Numeric> $trait<$right> for $left {
            type Output = $output;

            #[track_caller]
            fn $method(self, right: $right) -> $output {
                expect(self.$try(&right))
            }
        }
    };
}

operator! {
    Mul mul: Csr, Vector<T> => Vector<T>, try_dot;
    Mul mul: Csr, Array<T, 2> => Array<T, 2>, try_matmul;
    Mul mul: Csr, Csr<T> => Csr<T>, multiply;
    Mul mul: Csr, Scalar<T> => Csr<T>, try_scale;
    Mul mul: Csc, Vector<T> => Vector<T>, try_dot;
    Mul mul: Coo, Vector<T> => Vector<T>, try_dot;
    Add add: Csr, Csr<T> => Csr<T>, try_add;
    Sub sub: Csr, Csr<T> => Csr<T>, try_sub;
}

/// Plain numbers on either side of a matrix: one line for each operator.
macro_rules! numbers {
    ($($type:ty)*) => {$(
        numbers!(@impl $type, Csr<$type>);
        numbers!(@impl $type, &Csr<$type>);
    )*};
    (@impl $type:ty, $matrix:ty) => {
        impl Mul<$type> for $matrix {
            type Output = Csr<$type>;

            #[track_caller]
            fn mul(self, factor: $type) -> Csr<$type> {
                self.scale(factor)
            }
        }

        impl Mul<$matrix> for $type {
            type Output = Csr<$type>;

            #[track_caller]
            fn mul(self, matrix: $matrix) -> Csr<$type> {
                matrix.scale(self)
            }
        }
    };
}

numbers!(f32 f64 Complex<f32> Complex<f64> i32 i64 u32 u64);

impl<T: Numeric> Neg for &Csr<T> {
    type Output = Csr<T>;

    #[track_caller]
    fn neg(self) -> Csr<T> {
        expect(self.try_neg())
    }
}

impl<T: Numeric> Neg for Csr<T> {
    type Output = Self;

    #[track_caller]
    fn neg(self) -> Self {
        expect(self.try_neg())
    }
}

/// The value, or a panic with the error's message, as operators do.
#[track_caller]
fn expect<T>(result: Result<T, Error>) -> T {
    // A closure would be the caller that the panic names.
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}
