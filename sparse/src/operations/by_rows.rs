//! What the other formats can do by way of their rows: products, and operations on their values.
//!
//! Each format makes its row format at the first product and keeps it, so a product is one task of
//! a [`Csr`], which fuses, has its bits and makes no conversion.

use super::expect;
use super::product::{RightFactor, sealed};
use crate::formats::bsr::Bsr;
use crate::formats::coo::Coo;
use crate::formats::csc::Csc;
use crate::formats::csr::Csr;
use crate::formats::dia::Dia;
use sparsefuse_dense::{ArrayOperand, ScalarOperand, Vector};
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;

/// The products of a format, one line each: what is said of its rows.
macro_rules! products {
    ($($matrix:ident: $rows:literal;)*) => {$(
        impl<T: Numeric> $matrix<T> {
            #[doc = concat!("The product with a vector, with the bits of [`Csr::matvec`]: ", $rows)]
            ///
            /// # Panics
            ///
            #[doc = concat!("With the error that [`", stringify!($matrix), "::try_matvec`] returns.")]
            #[must_use]
            #[track_caller]
            pub fn matvec(&self, x: &Vector<T>) -> Vector<T> {
                expect(self.try_matvec(x))
            }

            #[doc = concat!("As [`", stringify!($matrix), "::matvec`].")]
            ///
            /// # Errors
            ///
            /// If the vector has another length than the matrix has columns; else as
            #[doc = concat!("[`", stringify!($matrix), "::to_csr`].")]
            pub fn try_matvec(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
                self.to_csr()?.try_matvec(x)
            }

            /// The product with another matrix, sparse of any format or dense, as [`Csr::matmul`]
            #[doc = concat!("by way of [`", stringify!($matrix), "::to_csr`]; with a sparse one it")]
            /// is in row format.
            ///
            /// # Panics
            ///
            #[doc = concat!("With the error that [`", stringify!($matrix), "::try_matmul`] returns.")]
            #[must_use]
            #[track_caller]
            pub fn matmul<R: RightFactor<T>>(&self, right: &R) -> R::Product {
                expect(self.try_matmul(right))
            }

            #[doc = concat!("As [`", stringify!($matrix), "::matmul`].")]
            ///
            /// # Errors
            ///
            /// As [`Csr::try_matmul`], and
            #[doc = concat!("[`", stringify!($matrix), "::to_csr`].")]
            pub fn try_matmul<R: RightFactor<T>>(&self, right: &R) -> Result<R::Product, Error> {
                self.to_csr()?.try_matmul(right)
            }
        }

        impl<T> sealed::Sealed for $matrix<T> {}

        impl<T: Numeric> RightFactor<T> for $matrix<T> {
            type Product = Csr<T>;

            fn product_after(&self, left: &Csr<T>) -> Result<Csr<T>, Error> {
                self.to_csr()?.product_after(left)
            }
        }
    )*};
}

products! {
    Csc: "by rows, which the first product makes and keeps. A sum that goes along columns would have to be carried from rank to rank.";
    Coo: "by way of [`Coo::to_csr`], which the first product makes and keeps.";
    Dia: "by way of [`Dia::to_csr`], which the first product makes and keeps.";
    Bsr: "by way of [`Bsr::to_csr`], which the first product makes and keeps.";
}

/// What formats over values row by row do with them, and with their rows.
macro_rules! values {
    ($($matrix:ident)*) => {$(
        impl<T: Numeric> $matrix<T> {
            /// The matrix with every entry multiplied by a number, or by a scalar, which need not
            /// be known yet. One elementwise task; the structure is shared.
            ///
            /// # Panics
            ///
            #[doc = concat!("With the error that [`", stringify!($matrix), "::try_scale`] returns.")]
            #[must_use]
            #[track_caller]
            pub fn scale(&self, factor: impl ScalarOperand<T> + ArrayOperand<T, 1>) -> Self {
                expect(self.try_scale(factor))
            }

            #[doc = concat!("As [`", stringify!($matrix), "::scale`].")]
            ///
            /// # Errors
            ///
            /// If the scalar belongs to another runtime.
            pub fn try_scale(
                &self,
                factor: impl ScalarOperand<T> + ArrayOperand<T, 1>,
            ) -> Result<Self, Error> {
                Ok(self.with_own_values(self.values().try_mul(factor)?))
            }

            /// The matrix with every entry divided by a number, or by a scalar: what `&a / 2.0`
            /// does.
            ///
            /// # Errors
            ///
            /// If the scalar belongs to another runtime.
            pub fn try_divide(
                &self,
                divisor: impl ScalarOperand<T> + ArrayOperand<T, 1>,
            ) -> Result<Self, Error> {
                Ok(self.with_own_values(self.values().try_div(divisor)?))
            }

            /// The matrix with the sign of every entry changed: what `-&a` does.
            ///
            /// # Errors
            ///
            /// If nothing has written the values.
            pub fn try_neg(&self) -> Result<Self, Error> {
                Ok(self.with_own_values(self.values().try_neg()?))
            }

            /// The complex conjugate. One task.
            ///
            /// # Panics
            ///
            #[doc = concat!("With the error that [`", stringify!($matrix), "::try_conj`] returns.")]
            #[must_use]
            #[track_caller]
            pub fn conj(&self) -> Self {
                expect(self.try_conj())
            }

            #[doc = concat!("As [`", stringify!($matrix), "::conj`].")]
            ///
            /// # Errors
            ///
            /// If nothing has written the values.
            pub fn try_conj(&self) -> Result<Self, Error> {
                Ok(self.with_own_values(self.values().try_conj()?))
            }

            /// The sums along an axis, as [`Csr::sum_axis`]: 1 for those of the rows, 0 for those
            /// of the columns. The sum of all entries is that of the values.
            ///
            /// # Panics
            ///
            #[doc = concat!("With the error that [`", stringify!($matrix), "::try_sum_axis`] returns.")]
            #[must_use]
            #[track_caller]
            pub fn sum_axis(&self, axis: usize) -> Vector<T> {
                expect(self.try_sum_axis(axis))
            }

            #[doc = concat!("As [`", stringify!($matrix), "::sum_axis`].")]
            ///
            /// # Errors
            ///
            /// As [`Csr::try_sum_axis`].
            pub fn try_sum_axis(&self, axis: usize) -> Result<Vector<T>, Error> {
                self.to_csr()?.try_sum_axis(axis)
            }
        }
    )*};
}

values!(Dia Bsr);
