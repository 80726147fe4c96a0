//! The operators between matrices of different formats, and between matrices and dense ones.
//!
//! Sums, differences and products of two formats are those of their row formats, which each keeps
//! once it has made it; the result is in row format. A sum with a dense matrix is dense.

use super::expect;
use crate::formats::bsr::Bsr;
use crate::formats::coo::Coo;
use crate::formats::csc::Csc;
use crate::formats::csr::Csr;
use crate::formats::dia::Dia;
use sparsefuse_dense::Array;
use sparsefuse_kernels::Numeric;
use std::ops::{Add, Mul, Sub};

/// One operator of two operands, owned or borrowed, and how it is computed of both borrowed.
macro_rules! operator {
    (
        $trait:ident $method:ident: $left:ty, $right:ty => $output:ty,
        |$a:ident, $b:ident| $compute:expr
    ) => {
        operator!(@impl $trait $method: $left, $left, $right, $right => $output,
            |$a, $b| $compute);
        operator!(@impl $trait $method: $left, $left, &$right, $right => $output,
            |$a, $b| $compute);
        operator!(@impl $trait $method: &$left, $left, $right, $right => $output,
            |$a, $b| $compute);
        operator!(@impl $trait $method: &$left, $left, &$right, $right => $output,
            |$a, $b| $compute);
    };
    (
        @impl $trait:ident $method:ident:
        $left:ty, $borrowed_left:ty, $right:ty, $borrowed_right:ty => $output:ty,
        |$a:ident, $b:ident| $compute:expr
    ) => {
        /// # Panics
        ///
        /// Where a conversion of an operand, or the method of this name of the converted ones, with
        /// `try_` before it, returns an error.
        impl<T: Numeric> $trait<$right> for $left {
            type Output = $output;

            #[track_caller]
            fn $method(self, right: $right) -> $output {
                let ($a, $b): (&$borrowed_left, &$borrowed_right) = (&self, &right);
                expect($compute)
            }
        }
    };
}

/// What two formats make of each other.
macro_rules! formats {
    (products: $($left:ident * $($right:ident)*;)*) => {$($(
        operator!(Mul mul: $left<T>, $right<T> => Csr<T>, |a, b| a.try_matmul(b));
    )*)*};
    (sums: $($left:ident + $($right:ident)*;)*) => {$($(
        operator!(Add add: $left<T>, $right<T> => Csr<T>,
            |a, b| a.to_csr().and_then(|a| a.try_add(&b.to_csr()?)));
        operator!(Sub sub: $left<T>, $right<T> => Csr<T>,
            |a, b| a.to_csr().and_then(|a| a.try_sub(&b.to_csr()?)));
    )*)*};
}

formats! {
    products:
    Csr * Csc Coo Dia Bsr;
    Csc * Csr Csc Coo Dia Bsr;
    Coo * Csr Csc Coo Dia Bsr;
    Dia * Csr Csc Coo Dia Bsr;
    Bsr * Csr Csc Coo Dia Bsr;
}

formats! {
    sums:
    Csr + Csc Coo Dia Bsr;
    Csc + Csr Coo Dia Bsr;
    Coo + Csr Csc Coo Dia Bsr;
    Dia + Csr Csc Coo Bsr;
    Bsr + Csr Csc Coo Dia;
}

/// What a format and a dense matrix make of each other.
macro_rules! dense {
    ($($matrix:ident)*) => {$(
        operator!(Add add: $matrix<T>, Array<T, 2> => Array<T, 2>,
            |a, x| a.to_dense().and_then(|a| a.try_add(x)));
        operator!(Sub sub: $matrix<T>, Array<T, 2> => Array<T, 2>,
            |a, x| a.to_dense().and_then(|a| a.try_sub(x)));
        operator!(Add add: Array<T, 2>, $matrix<T> => Array<T, 2>,
            |x, a| a.to_dense().and_then(|a| x.try_add(&a)));
        operator!(Sub sub: Array<T, 2>, $matrix<T> => Array<T, 2>,
            |x, a| a.to_dense().and_then(|a| x.try_sub(&a)));
    )*};
}

dense!(Csr Csc Coo Dia Bsr);
