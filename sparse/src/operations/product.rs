//! The products of a sparse matrix with a vector and with another matrix.
//!
//! With vectors and dense matrices one task: `equal(y, pos)`, `image(pos -> crd)`,
//! `image(pos -> vals)`, `image(crd -> x)`. Each element of `y` is summed over ascending columns
//! with one fused multiply-add per entry, on every number of ranks and threads. It moves, per row,
//! 8 bytes of positions and an element of `y`, and per entry 4 bytes of columns and an element of
//! the values, plus `x` once; after some products with a vector it reads the packed form of the
//! matrix, which is never larger (`runtime/src/images/README.md`).

use super::expect;
use super::matmul::Multiplication;
use crate::formats::csr::Csr;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::{ArgKind, DType, Inst, KernelBuilder, Numeric};
use sparsefuse_runtime::{Access, Body, BodyArg, Error, Shape, TaskArg};
use std::sync::{Arc, OnceLock};

impl<T: Numeric> Csr<T> {
    /// The product with a vector, `y[i] = sum(a[i, j] * x[j])`: what `&a * &x` does.
    ///
    /// # Panics
    ///
    /// With the error that [`Csr::try_matvec`] returns.
    #[must_use]
    #[track_caller]
    pub fn matvec(&self, x: &Vector<T>) -> Vector<T> {
        expect(self.try_matvec(x))
    }

    /// As [`Csr::matvec`].
    ///
    /// # Errors
    ///
    /// If the vector has another length than the matrix has columns.
    pub fn try_matvec(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        Error::check_shape("spmv", &[self.n_cols()], &x.shape())?;
        self.product(x, Shape::new(&[self.n_rows()]))
    }

    /// The product with another matrix, sparse or dense: what `&a * &b` does.
    ///
    /// With a dense one, `y[i, j] = sum(a[i, k] * x[k, j])`, column by column the bits of
    /// [`Csr::matvec`]: one task, which reads this matrix once for up to 32 columns.
    ///
    /// With a sparse one it executes the window and works on all threads. An entry whose terms
    /// cancel is stored, as a 0. [`Multiplication`] computes such a product
    /// again when values have changed.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Csr::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![2.0, -1.0, 3.0])?;
    /// let x = Array::from_shape_vec([2, 3], vec![1.0, 2.0, 3.0, 10.0, 20.0, 30.0])?;
    /// assert_eq!(a.matmul(&x).to_vec()?, [-8.0, -16.0, -24.0, 30.0, 60.0, 90.0]);
    ///
    /// let b = Csr::new(2, 2, vec![0, 1, 2], vec![1, 0], vec![4.0, 5.0])?;
    /// let c = a.matmul(&b);
    /// assert_eq!(c.to_ndarray()?, ndarray::array![[-5.0, 8.0], [15.0, 0.0]]);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Csr::try_matmul`] returns.
    #[must_use]
    #[track_caller]
    pub fn matmul<R: RightFactor<T>>(&self, right: &R) -> R::Product {
        expect(self.try_matmul(right))
    }

    /// As [`Csr::matmul`].
    ///
    /// # Errors
    ///
    /// If the right factor has another number of rows than this one has columns. With a sparse one
    /// also if the computation of the values failed, or memory runs out.
    pub fn try_matmul<R: RightFactor<T>>(&self, right: &R) -> Result<R::Product, Error> {
        right.product_after(self)
    }

    /// The product with an array whose rows are as many as this matrix has columns.
    fn product<const D: usize>(&self, x: &Array<T, D>, shape: Shape) -> Result<Array<T, D>, Error> {
        let x = x.contiguous()?;
        let y = self.runtime().new_store(shape, T::DTYPE);
        let args: [TaskArg<'_>; 5] = [
            (&y).into(),
            self.pos().into(),
            self.crd().into(),
            self.values().arg(),
            x.arg(),
        ];
        self.runtime().submit(body(T::DTYPE), &args, &[])?;
        Array::from_store(y, None)
    }
}

/// A matrix on the right of [`Csr::matmul`].
///
/// Implemented by this crate only.
pub trait RightFactor<T: Numeric>: sealed::Sealed {
    /// What the product is.
    type Product;

    #[doc(hidden)]
    fn product_after(&self, left: &Csr<T>) -> Result<Self::Product, Error>;
}

pub(super) mod sealed {
    pub trait Sealed {}
}

impl<T> sealed::Sealed for Csr<T> {}
impl<T> sealed::Sealed for Array<T, 2> {}

impl<T: Numeric> RightFactor<T> for Csr<T> {
    type Product = Self;

    fn product_after(&self, left: &Csr<T>) -> Result<Self, Error> {
        Ok(Multiplication::new(left, self)?.into_product())
    }
}

impl<T: Numeric> RightFactor<T> for Array<T, 2> {
    type Product = Self;

    fn product_after(&self, left: &Csr<T>) -> Result<Self, Error> {
        let [rows, columns] = self.shape();
        Error::check_shape("spmm", &[left.n_cols(), columns], &[rows, columns])?;
        left.product(self, Shape::new(&[left.n_rows(), columns]))
    }
}

/// The body of the product for an element type, built once.
fn body(dtype: DType) -> &'static Arc<Body> {
    static BODIES: [OnceLock<Arc<Body>>; DType::ALL.len()] =
        [const { OnceLock::new() }; DType::ALL.len()];
    BODIES[dtype as usize].get_or_init(|| {
        let mut build = KernelBuilder::new();
        let y = build.arg(dtype, ArgKind::Array);
        let structure = build.arg(DType::U32, ArgKind::Structure);
        let entries = build.arg(dtype, ArgKind::Entries);
        let x = build.arg(dtype, ArgKind::Gather);
        let sum = build.push(Inst::RowSum {
            structure,
            entries,
            x,
        });
        build.store(y, sum);
        let args = vec![
            BodyArg::write(y),
            BodyArg::read(Access::Ranges, None),
            BodyArg::read(Access::Within { ranges: 1 }, structure),
            BodyArg::read(Access::Within { ranges: 1 }, entries),
            BodyArg::read(Access::At { indices: 2 }, x),
        ];
        Body::with_args("spmv", build.finish(), args)
    })
}
