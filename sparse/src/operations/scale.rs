//! Other values for the entries of a matrix: scaled, or products with diagonal matrices.
//!
//! The structure is shared with the old matrix; what an entry becomes depends on its own value and
//! place, so each rank makes its own, on all threads.

use super::beside::{rows_at_columns, rows_of};
use super::expect;
use crate::exchange::check_runtime;
use crate::exchange::own_rows::OwnRows;
use crate::formats::bsr::Bsr;
use crate::formats::coo::Coo;
use crate::formats::csc::Csc;
use crate::formats::csr::Csr;
use crate::formats::dia::Dia;
use crate::formats::eager::eager;
use crate::local::parallel::{self, Threads};
use crate::local::rows::Rows;
use sparsefuse_dense::{ScalarOperand, Vector};
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;
use std::ops::Range;

/// What formats do with their values, and an example of [`Csr::scale`].
macro_rules! values {
    ($($(#[$example:meta])* $matrix:ident)*) => {$(
        impl<T: Numeric> $matrix<T> {
            /// The same structure with other values, one for each stored entry, in the order of
            #[doc = concat!("[`", stringify!($matrix), "::values`].")]
            ///
            /// # Errors
            ///
            /// If there are not as many values as entries, or they are another runtime's.
            pub fn with_values(&self, vals: Vector<T>) -> Result<Self, Error> {
                check_runtime("with_values", self.runtime(), vals.runtime())?;
                Error::check_shape("with_values", &[self.nnz()], &vals.shape())?;
                Ok(self.with_own_values(vals.contiguous()?))
            }

            /// The matrix with every entry multiplied by a number, or by a scalar, which need not
            /// be known yet. One elementwise task; the structure is shared.
            $(#[$example])*
            ///
            /// # Panics
            ///
            #[doc = concat!("With the error that [`", stringify!($matrix), "::try_scale`] returns.")]
            #[must_use]
            #[track_caller]
            pub fn scale(&self, factor: impl ScalarOperand<T>) -> Self {
                expect(self.try_scale(factor))
            }

            #[doc = concat!("As [`", stringify!($matrix), "::scale`].")]
            ///
            /// # Errors
            ///
            /// If the scalar belongs to another runtime.
            pub fn try_scale(
                &self,
                factor: impl ScalarOperand<T>,
            ) -> Result<Self, Error> {
                Ok(self.with_own_values(self.values().try_mul(factor)?))
            }

            /// The matrix with every entry divided by a number, or by a scalar, which need not be
            /// known yet: what `&a / 2.0` does. Quotients of whole numbers are truncated, of a
            /// [`Coo`](crate::Coo) with several entries at one place each of them.
            ///
            /// # Errors
            ///
            /// If the scalar belongs to another runtime.
            pub fn try_divide(
                &self,
                divisor: impl ScalarOperand<T>,
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

            /// The complex conjugate of every entry; `adjoint` transposes too. One task.
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
        }
    )*};
}

values! {
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(2)?;
    /// let x = Vector::from_vec(vec![3.0, 4.0]);
    /// let normalised = a.scale(x.norm2().recip());
    /// assert_eq!(normalised.scale(5.0).to_ndarray()?, a.to_ndarray()?);
    /// assert_eq!((2.0 * &a + -&a).to_ndarray()?, (&a * 2.0 / 2.0).to_ndarray()?);
    /// assert_eq!((&a * (&x * 2.0)).to_vec()?, [4.0, 10.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    Csr
    Csc
    Coo
    Dia
    Bsr
}

impl<T: Numeric> Csr<T> {
    /// The matrix `D A`: row `i` times `factors[i]`.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(2)?;
    /// let scaled = a.scale_rows(&Vector::from_vec(vec![1.0, 10.0]))?;
    /// assert_eq!(scaled.to_ndarray()?, ndarray::array![[2.0, -1.0], [-10.0, 20.0]]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are not as many factors as rows, they are another runtime's, a computation of
    /// values failed, or memory runs out.
    pub fn scale_rows(&self, factors: &Vector<T>) -> Result<Self, Error> {
        Error::check_shape("scale_rows", &[self.n_rows()], &factors.shape())?;
        check_runtime("scale_rows", self.runtime(), factors.runtime())?;
        eager("scale_rows", &[self], || self.with_scaled_rows(factors))
    }

    fn with_scaled_rows(&self, factors: &Vector<T>) -> Result<Self, Error> {
        let own = self.own_rows()?;
        let local = factors.contiguous()?;
        let local = self.runtime().agree(local.local())?;
        let factors = rows_of(self.runtime(), &own, &local, 1)?;
        self.with_entries(&own, |rows, part, vals| {
            let mut vals = vals.iter_mut();
            for row in part {
                // The entry first: where there is none, no element is taken.
                for (value, new) in rows.values(row).iter().zip(vals.by_ref()) {
                    *new = value.times(factors[row]);
                }
            }
        })
    }

    /// The matrix `A D`: column `j` times `factors[j]`.
    ///
    /// # Errors
    ///
    /// If there are not as many factors as columns; else as [`Csr::scale_rows`].
    pub fn scale_columns(&self, factors: &Vector<T>) -> Result<Self, Error> {
        Error::check_shape("scale_columns", &[self.n_cols()], &factors.shape())?;
        check_runtime("scale_columns", self.runtime(), factors.runtime())?;
        eager("scale_columns", &[self], || {
            self.with_scaled_columns(factors)
        })
    }

    fn with_scaled_columns(&self, factors: &Vector<T>) -> Result<Self, Error> {
        let own = self.own_rows()?;
        let local = factors.contiguous()?;
        let local = self.runtime().agree(local.local())?;
        let (factors, columns) = rows_at_columns(self, &own, &local, 1)?;
        self.with_entries(&own, |rows, part, vals| {
            let entries = rows.entries_of(&part);
            let old = rows.vals[entries.clone()].iter().zip(&columns[entries]);
            for (new, (value, &column)) in vals.iter_mut().zip(old) {
                *new = value.times(factors[column as usize]);
            }
        })
    }

    /// The same structure with `map` of each value, perhaps of another type.
    ///
    /// ```
    /// use num_complex::Complex;
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(3)?;
    /// let rotated = a.map_values(|value| Complex::new(0.0, value))?;
    /// assert_eq!(rotated.values().to_vec()?[0], Complex::new(0.0, 2.0));
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Csr::scale_rows`].
    #[doc(alias = "astype")]
    #[doc(alias = "power")]
    pub fn map_values<U: Numeric>(
        &self,
        map: impl Fn(T) -> U + Sync + Send,
    ) -> Result<Csr<U>, Error> {
        eager("map_values", &[self], || {
            let own = self.own_rows()?;
            self.with_entries(&own, |rows, part, vals| {
                let old = &rows.range(part).vals;
                vals.iter_mut()
                    .zip(*old)
                    .for_each(|(new, &value)| *new = map(value));
            })
        })
    }

    /// The same structure with the values that `fill` makes for some neighbouring rows of this
    /// rank.
    pub(super) fn with_entries<U: Numeric>(
        &self,
        own: &OwnRows<T>,
        fill: impl Fn(Rows<'_, T>, Range<usize>, &mut [U]) + Sync + Send,
    ) -> Result<Csr<U>, Error> {
        let rows = own.as_rows();
        let threads = &Threads::of(self.runtime());
        let parts = parallel::parts(rows.pos);
        let vals = self.values_by_filling(|vals| {
            let lens = parts
                .iter()
                .map(|rows_of| rows.range(rows_of.clone()).crd.len());
            let work = parts.iter().cloned().zip(parallel::split(vals, lens));
            parallel::each(threads, work, |(part, vals)| fill(rows, part, vals));
        })?;
        Ok(self.with_values_of(vals))
    }
}
