//! What the other formats forward to their rows: single elements, diagonals, sums, means, and the
//! largest and smallest elements.
//!
//! Each keeps its row format once it has made it, and the results have the bits of a
//! [`Csr`](crate::Csr)'s.

use super::expect;
use crate::formats::bsr::Bsr;
use crate::formats::coo::Coo;
use crate::formats::csc::Csc;
use crate::formats::dia::Dia;
use sparsefuse_dense::{Scalar, Vector};
use sparsefuse_kernels::{Field, Numeric};
use sparsefuse_runtime::Error;

/// Methods of [`Csr`](crate::Csr), for a format: `twins` panic and have a twin `try_`, `results`
/// return the error.
macro_rules! forward {
    (
        twins $matrix:ident [$bound:ident $(+ $more:ident)*]
        $($name:ident $try:ident($($arg:ident: $of:ty)?) -> $output:ty;)*
    ) => {
        impl<T: $bound $(+ $more)*> $matrix<T> {
            $(
                #[doc = concat!("As [`Csr::", stringify!($name), "`](crate::Csr::", stringify!($name), "), by way of [`", stringify!($matrix), "::to_csr`].")]
                ///
                /// # Panics
                ///
                #[doc = concat!("With the error that [`", stringify!($matrix), "::", stringify!($try), "`] returns.")]
                #[must_use]
                #[track_caller]
                pub fn $name(&self $(, $arg: $of)?) -> $output {
                    expect(self.$try($($arg)?))
                }

                #[doc = concat!("As [`", stringify!($matrix), "::", stringify!($name), "`].")]
                ///
                /// # Errors
                ///
                #[doc = concat!("As [`Csr::", stringify!($try), "`](crate::Csr::", stringify!($try), ") and [`", stringify!($matrix), "::to_csr`].")]
                pub fn $try(&self $(, $arg: $of)?) -> Result<$output, Error> {
                    self.to_csr()?.$try($($arg)?)
                }
            )*
        }
    };
    (
        results $matrix:ident [$bound:ident $(+ $more:ident)*]
        $($name:ident($($arg:ident: $of:ty),*) -> $output:ty;)*
    ) => {
        impl<T: $bound $(+ $more)*> $matrix<T> {
            $(
                #[doc = concat!("As [`Csr::", stringify!($name), "`](crate::Csr::", stringify!($name), "), by way of [`", stringify!($matrix), "::to_csr`].")]
                ///
                /// # Errors
                ///
                #[doc = concat!("As [`Csr::", stringify!($name), "`](crate::Csr::", stringify!($name), ") and [`", stringify!($matrix), "::to_csr`].")]
                pub fn $name(&self, $($arg: $of),*) -> Result<$output, Error> {
                    self.to_csr()?.$name($($arg),*)
                }
            )*
        }
    };
}

/// What every format forwards.
macro_rules! formats {
    ($($matrix:ident)*) => {$(
        forward! {
            twins $matrix [Numeric]
            sum try_sum() -> Scalar<T>;
            trace try_trace() -> Scalar<T>;
            count_nonzero try_count_nonzero() -> Scalar<i64>;
            count_nonzero_axis try_count_nonzero_axis(axis: usize) -> Vector<i64>;
        }
        forward! {
            twins $matrix [Field]
            mean try_mean() -> Scalar<T>;
            mean_axis try_mean_axis(axis: usize) -> Vector<T>;
        }
        forward! {
            twins $matrix [Numeric + PartialOrd]
            max try_max() -> Scalar<T>;
            min try_min() -> Scalar<T>;
            max_axis try_max_axis(axis: usize) -> Vector<T>;
            min_axis try_min_axis(axis: usize) -> Vector<T>;
        }
        forward! {
            results $matrix [Numeric]
            get(row: usize, column: usize) -> T;
        }
        forward! {
            results $matrix [Numeric + PartialOrd]
            argmax() -> (usize, usize);
            argmin() -> (usize, usize);
        }
    )*};
}

formats!(Csc Coo Dia Bsr);

// The others have their own.
forward! {
    results Csc [Numeric]
    diagonal(offset: isize) -> Vector<T>;
}
forward! {
    results Coo [Numeric]
    diagonal(offset: isize) -> Vector<T>;
}
