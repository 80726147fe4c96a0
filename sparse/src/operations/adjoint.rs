//! The product of the conjugate transpose of a sparse matrix with a vector, without the transpose:
//! one task ([`AdjointProduct`]), or for a matrix in column format a product with its columns.

use super::expect;
use crate::exchange::adjoint::AdjointProduct;
use crate::formats::bsr::Bsr;
use crate::formats::coo::Coo;
use crate::formats::csc::Csc;
use crate::formats::csr::Csr;
use crate::formats::dia::Dia;
use crate::formats::eager::eager;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Partition, Shape};
use std::sync::Arc;

impl<T: Numeric> Csr<T> {
    /// The product of the conjugate transpose with a vector, `y[j] = sum(conj(a[i, j]) * x[i])`,
    /// without making the transpose: SciPy's `rmatvec`. For real matrices that is `A^T x`. It has
    /// the bits of a product with [`Csr::adjoint`], on any threads and ranks.
    ///
    /// The first call for a matrix, or for new values of it, executes the window and looks at all
    /// entries, which takes as long as several products, and ten to thirty of a stencil. What it
    /// finds is kept with the matrix and its clones: 8 bytes for each row outside of runs of rows
    /// with equal offsets, for each thread and once more, and on several ranks the entries of other
    /// ranks in this one's columns. Each product then is one task, which reads the plain arrays of
    /// the matrix unless nearly all of its rows are those of stencils. Where there is memory for
    /// it, [`Csr::kept_adjoint`] is a matrix that is packed as any other.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_sparse::Csr;
    ///
    /// // [ 2 -1 0 ]
    /// // [ 0  3 4 ]
    /// let a = Csr::new(2, 3, vec![0, 2, 4], vec![0, 1, 1, 2], vec![2.0, -1.0, 3.0, 4.0])?;
    /// let x = Vector::from_vec(vec![1.0, 10.0]);
    /// assert_eq!(a.rmatvec(&x).to_vec()?, [2.0, 29.0, 40.0]);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Csr::try_rmatvec`] returns.
    #[doc(alias("transposed product", "matvec_transpose"))]
    #[must_use]
    #[track_caller]
    pub fn rmatvec(&self, x: &Vector<T>) -> Vector<T> {
        expect(self.try_rmatvec(x))
    }

    /// As [`Csr::rmatvec`].
    ///
    /// # Errors
    ///
    /// If the vector has another length than the matrix has rows, the computation of the values
    /// failed, or memory runs out.
    pub fn try_rmatvec(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        Error::check_shape("rmatvec", &[self.n_rows()], &x.shape())?;
        let kept = self.adjoint_product();
        let product = match kept.get() {
            Some(product) => product,
            None => {
                let found = eager("rmatvec_setup", &[self], || {
                    let own = self.own_rows()?;
                    AdjointProduct::new(self.runtime(), self.shape(), &own).map(Arc::new)
                })?;
                kept.get_or_init(|| found)
            }
        };
        let x = x.contiguous()?;
        let y = self
            .runtime()
            .new_store(Shape::new(&[self.n_cols()]), T::DTYPE);
        product.issue(&x, (self.crd(), self.values().store()), &y)?;
        Vector::from_store(y, None)
    }
}

/// Entries of each rank from which on the adjoint of all of a matrix is too much for it.
const MUCH: usize = 1 << 16;

impl<T: Numeric> Csr<T> {
    /// [`Csr::rmatvec`] for methods that need many of them: a product with [`Csr::kept_adjoint`],
    /// which is packed as any other. But where the matrix is cut and the product so short that all
    /// of it lies with every rank, so would the whole adjoint; then it goes from rank to rank, as a
    /// host task, if the adjoint is not there already.
    ///
    /// # Errors
    ///
    /// As [`Csr::try_rmatvec`].
    #[doc(hidden)]
    pub fn try_rmatvec_again(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        let is_whole = |len: usize| {
            let (partition, _) = self.runtime().default_rows(Shape::new(&[len]));
            partition == Partition::Replicated
        };
        let is_passed = self.runtime().ranks() > 1
            && self.nnz() / self.runtime().ranks() >= MUCH
            && !self.has_kept_adjoint()
            && is_whole(self.n_cols())
            && !is_whole(self.n_rows());
        match is_passed {
            true => self.try_rmatvec(x),
            false => self.kept_adjoint()?.try_matvec(x),
        }
    }
}

impl<T: Numeric> Csc<T> {
    /// The product of the conjugate transpose with a vector, `y[j] = sum(conj(a[i, j]) * x[i])`:
    /// SciPy's `rmatvec`. The columns are the rows of the transpose, so this is as fast as
    /// [`Csr::matvec`], and nothing is made for it. One task; for complex matrices two more, which
    /// conjugate `x` and the product.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_sparse::Csc;
    ///
    /// // [ 2 -1 ]
    /// // [ 0  3 ]
    /// let a = Csc::new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![2.0, -1.0, 3.0])?;
    /// let x = Vector::from_vec(vec![1.0, 10.0]);
    /// assert_eq!(a.rmatvec(&x).to_vec()?, [2.0, 29.0]);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Csc::try_rmatvec`] returns.
    #[must_use]
    #[track_caller]
    pub fn rmatvec(&self, x: &Vector<T>) -> Vector<T> {
        expect(self.try_rmatvec(x))
    }

    /// As [`Csc::rmatvec`].
    ///
    /// # Errors
    ///
    /// If the vector has another length than the matrix has rows.
    pub fn try_rmatvec(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        Error::check_shape("rmatvec", &[self.shape().0], &x.shape())?;
        if !T::DTYPE.is_complex() {
            return self.transpose().try_matvec(x);
        }
        // `A^H x` is the conjugate of `A^T conj(x)`.
        self.transpose().try_matvec(&x.try_conj()?)?.try_conj()
    }
}

/// The products of formats that go by way of their rows.
macro_rules! by_way_of_rows {
    ($($matrix:ident)*) => {$(
        impl<T: Numeric> $matrix<T> {
            /// The product of the conjugate transpose with a vector: [`Csr::rmatvec`] of
            #[doc = concat!("[`", stringify!($matrix), "::to_csr`], which the first product makes and keeps.")]
            ///
            /// # Panics
            ///
            #[doc = concat!("With the error that [`", stringify!($matrix), "::try_rmatvec`] returns.")]
            #[must_use]
            #[track_caller]
            pub fn rmatvec(&self, x: &Vector<T>) -> Vector<T> {
                expect(self.try_rmatvec(x))
            }

            #[doc = concat!("As [`", stringify!($matrix), "::rmatvec`].")]
            ///
            /// # Errors
            ///
            #[doc = concat!("As [`Csr::try_rmatvec`] and [`", stringify!($matrix), "::to_csr`].")]
            pub fn try_rmatvec(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
                self.to_csr()?.try_rmatvec(x)
            }
        }
    )*};
}

by_way_of_rows!(Coo Dia Bsr);
