//! Products with a sparse matrix on the right of a vector or a dense matrix, and of its conjugate
//! transpose with a dense matrix.
//!
//! All go by way of the conjugate transpose: `X A` is the transpose of `A^T X^T`.

use super::expect;
use crate::formats::bsr::Bsr;
use crate::formats::coo::Coo;
use crate::formats::csc::Csc;
use crate::formats::csr::Csr;
use crate::formats::dia::Dia;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;

/// The conjugate of an array, itself where elements are real.
fn conj<T: Numeric, const D: usize>(x: &Array<T, D>) -> Result<Array<T, D>, Error> {
    match T::DTYPE.is_complex() {
        true => x.try_conj(),
        false => Ok(x.clone()),
    }
}

impl<T: Numeric> Csr<T> {
    fn adjoint_times(&self, x: &Array<T, 2>) -> Result<Array<T, 2>, Error> {
        self.kept_adjoint()?.try_matmul(x)
    }
}

impl<T: Numeric> Csc<T> {
    fn adjoint_times(&self, x: &Array<T, 2>) -> Result<Array<T, 2>, Error> {
        // The columns are the rows of the transpose.
        conj(&self.transpose().try_matmul(&conj(x)?)?)
    }
}

/// Formats that go by way of their rows.
macro_rules! by_rows {
    ($($matrix:ident)*) => {$(
        impl<T: Numeric> $matrix<T> {
            fn adjoint_times(&self, x: &Array<T, 2>) -> Result<Array<T, 2>, Error> {
                self.to_csr()?.adjoint_times(x)
            }
        }
    )*};
}

by_rows!(Coo Dia Bsr);

/// The products of a format, and how it comes by the conjugate transpose.
macro_rules! products {
    ($($matrix:ident $make:literal: $adjoint:literal;)*) => {$(
        impl<T: Numeric> $matrix<T> {
            /// The product of the conjugate transpose with a dense matrix, `A^H X`, column by
            /// column
            #[doc = concat!("the bits of [`", stringify!($matrix), "::rmatvec`]: SciPy's `rmatmat`.")]
            #[doc = $adjoint]
            ///
            /// # Panics
            ///
            #[doc = concat!("With the error that [`", stringify!($matrix), "::try_rmatmat`] returns.")]
            #[must_use]
            #[track_caller]
            pub fn rmatmat(&self, x: &Array<T, 2>) -> Array<T, 2> {
                expect(self.try_rmatmat(x))
            }

            #[doc = concat!("As [`", stringify!($matrix), "::rmatmat`].")]
            ///
            /// # Errors
            ///
            /// If the dense matrix has not as many rows as this one, the computation of the values
            /// failed, or memory runs out.
            pub fn try_rmatmat(&self, x: &Array<T, 2>) -> Result<Array<T, 2>, Error> {
                let ([rows, columns], n_rows) = (x.shape(), self.shape().0);
                Error::check_shape("rmatmat", &[n_rows, columns], &[rows, columns])?;
                self.adjoint_times(x)
            }

            /// The product with a dense matrix on the left, `y[i, j] = sum(x[i, k] * a[k, j])` over
            #[doc = concat!("ascending `k`: what `&x * &a` does. ", $adjoint)]
            /// The result is a transposed view.
            ///
            /// ```
            /// use sparsefuse_dense::Array;
            /// use sparsefuse_sparse::{Csc, Csr};
            ///
            /// // [ 2 0 ]
            /// // [ 1 3 ]
            #[doc = concat!("let a = ", $make, ";")]
            /// let x = Array::from_shape_vec([1, 2], vec![1.0, 10.0])?;
            /// assert_eq!((&x * &a).to_vec()?, [12.0, 30.0]);
            /// assert_eq!((&x.row(0) * &a).to_vec()?, [12.0, 30.0]);
            /// # Ok::<(), sparsefuse_runtime::Error>(())
            /// ```
            ///
            /// # Panics
            ///
            #[doc = concat!("With the error that [`", stringify!($matrix), "::try_left_matmul`] returns.")]
            #[must_use]
            #[track_caller]
            pub fn left_matmul(&self, x: &Array<T, 2>) -> Array<T, 2> {
                expect(self.try_left_matmul(x))
            }

            #[doc = concat!("As [`", stringify!($matrix), "::left_matmul`].")]
            ///
            /// # Errors
            ///
            /// If the dense matrix has not as many columns as this one has rows, the computation of
            /// the values failed, or memory runs out.
            pub fn try_left_matmul(&self, x: &Array<T, 2>) -> Result<Array<T, 2>, Error> {
                let ([rows, columns], n_rows) = (x.shape(), self.shape().0);
                Error::check_shape("left_matmul", &[rows, n_rows], &[rows, columns])?;
                Ok(conj(&self.adjoint_times(&conj(&x.t())?)?)?.t())
            }

            /// The product with a vector on the left, `y[j] = sum(x[i] * a[i, j])`: what `&x * &a`
            #[doc = concat!("does. For real matrices it is [`", stringify!($matrix), "::rmatvec`].")]
            ///
            /// # Panics
            ///
            #[doc = concat!("With the error that [`", stringify!($matrix), "::try_left_matvec`] returns.")]
            #[must_use]
            #[track_caller]
            pub fn left_matvec(&self, x: &Vector<T>) -> Vector<T> {
                expect(self.try_left_matvec(x))
            }

            #[doc = concat!("As [`", stringify!($matrix), "::left_matvec`].")]
            ///
            /// # Errors
            ///
            #[doc = concat!("As [`", stringify!($matrix), "::try_rmatvec`].")]
            pub fn try_left_matvec(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
                Error::check_shape("left_matvec", &[self.shape().0], &x.shape())?;
                conj(&self.try_rmatvec(&conj(x)?)?)
            }
        }
    )*};
}

products! {
    Csr "Csr::new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![2.0, 1.0, 3.0])?":
    "By way of [`Csr::kept_adjoint`], which the first product makes and keeps.";
    Coo "Csr::new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![2.0, 1.0, 3.0])?.to_coo()?":
    "By way of [`Coo::to_csr`] and [`Csr::kept_adjoint`], which the first product makes and keeps.";
    Dia "Csr::new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![2.0, 1.0, 3.0])?.to_dia()?":
    "By way of [`Dia::to_csr`] and [`Csr::kept_adjoint`], which the first product makes and keeps.";
    Bsr "Csr::new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![2.0, 1.0, 3.0])?.to_bsr((1, 1))?":
    "By way of [`Bsr::to_csr`] and [`Csr::kept_adjoint`], which the first product makes and keeps.";
    Csc "Csc::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![2.0, 1.0, 3.0])?":
    "The columns are the rows of the transpose, so nothing is made for it.";
}
