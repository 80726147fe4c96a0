//! What the other formats can do by way of their rows: products, and sums along an axis.
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
use sparsefuse_dense::{Array, Vector};
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

/// Rows and columns of formats, their elements, and the sums of these.
macro_rules! elements {
    ($($matrix:ident)*) => {$(
        impl<T: Numeric> $matrix<T> {
            /// The number of rows.
            #[must_use]
            pub fn n_rows(&self) -> usize {
                self.shape().0
            }

            /// The number of columns.
            #[must_use]
            pub fn n_cols(&self) -> usize {
                self.shape().1
            }

            /// The matrix with all its zeros, as an array of this runtime, by way of
            #[doc = concat!("[`", stringify!($matrix), "::to_csr`].")]
            ///
            /// # Errors
            ///
            /// As [`Csr::to_dense`].
            #[doc(alias = "toarray")]
            pub fn to_dense(&self) -> Result<Array<T, 2>, Error> {
                self.to_csr()?.to_dense()
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

elements!(Csc Coo Dia Bsr);
