//! Element-wise products of a matrix with others: sparse ones of any format, and dense ones, which
//! may be a row or a column for all.
//!
//! With a dense matrix the structure stays, since nothing is stored where a factor is 0 already.

use super::beside::rows_of;
use super::product::sealed;
use crate::exchange::check_runtime;
use crate::formats::bsr::Bsr;
use crate::formats::coo::Coo;
use crate::formats::csc::Csc;
use crate::formats::csr::Csr;
use crate::formats::dia::Dia;
use sparsefuse_dense::Array;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Shape};

/// What [`Csr::multiply`] multiplies with.
///
/// Implemented by this crate only.
pub trait ElementFactor<T: Numeric>: sealed::Sealed {
    #[doc(hidden)]
    fn multiplied_with(&self, left: &Csr<T>) -> Result<Csr<T>, Error>;
}

impl<T: Numeric> Csr<T> {
    /// The element-wise (Hadamard) product with another matrix of this shape. With a sparse one, of
    /// any format, there are entries where both matrices have one. With a dense one the structure
    /// stays; it may have one row or one column, which is then multiplied with each. The product of
    /// linear algebra is [`Csr::matmul`].
    ///
    /// What is not stored stays 0, also where a dense matrix is infinite or not a number, as in
    /// SciPy. With a dense matrix linear in the entries, and its elements are read where these are;
    /// on several ranks whole rows that other ranks have are fetched.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(2)?;
    /// assert_eq!(a.multiply(&a)?.values().to_vec()?, [4.0, 1.0, 1.0, 4.0]);
    /// let row = Array::from_shape_vec([1, 2], vec![1.0, 10.0])?;
    /// assert_eq!(a.multiply(&row)?.values().to_vec()?, [2.0, -10.0, -1.0, 20.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the shapes do not fit, the matrices are those of two runtimes, the computation of values
    /// failed, or memory runs out.
    pub fn multiply<R: ElementFactor<T>>(&self, other: &R) -> Result<Self, Error> {
        other.multiplied_with(self)
    }
}

impl<T: Numeric> ElementFactor<T> for Csr<T> {
    fn multiplied_with(&self, left: &Self) -> Result<Self, Error> {
        left.multiplied(self)
    }
}

/// The other formats.
macro_rules! formats {
    ($($matrix:ident)*) => {$(
        impl<T: Numeric> ElementFactor<T> for $matrix<T> {
            fn multiplied_with(&self, left: &Csr<T>) -> Result<Csr<T>, Error> {
                left.multiplied(&self.to_csr()?)
            }
        }
    )*};
}

formats!(Csc Coo Dia Bsr);

impl<T: Numeric> ElementFactor<T> for Array<T, 2> {
    fn multiplied_with(&self, left: &Csr<T>) -> Result<Csr<T>, Error> {
        const OP: &str = "multiply";
        let ([n_rows, n_cols], shape) = (self.shape(), left.shape());
        check_runtime(OP, left.runtime(), self.runtime())?;
        let scaled = match (n_rows, n_cols) {
            whole if whole == shape => return times_elements(OP, left, self),
            (1, 1) => (left.values().try_mul(&self.try_reshape([1])?))
                .map(|vals| left.with_own_values(vals)),
            (1, width) if width == shape.1 => left.scale_columns(&self.try_row(0)?),
            (height, 1) if height == shape.0 => left.scale_rows(&self.try_column(0)?),
            _ => {
                let expected = Shape::new(&[shape.0, shape.1]);
                Err(Error::shape(OP, expected, Shape::new(&[n_rows, n_cols])))
            }
        };
        scaled.map_err(|error| error.of_operation(OP))
    }
}

/// The product with a dense matrix of the same shape.
fn times_elements<T: Numeric>(
    op: &'static str,
    left: &Csr<T>,
    elements: &Array<T, 2>,
) -> Result<Csr<T>, Error> {
    let [pos, crd, vals] = left.stores();
    let (runtime, width) = (left.runtime(), left.n_cols());
    runtime.eager_task(op, &[pos, crd, vals, elements.store()], || {
        let own = left.own_rows()?;
        let elements = elements.contiguous()?;
        let elements = runtime.agree(elements.local())?;
        let factors = rows_of(runtime, &own, &elements, width)?;
        left.with_entries(&own, |rows, part, vals| {
            let mut vals = vals.iter_mut();
            for row in part {
                for ((column, value), new) in rows.row(row).zip(vals.by_ref()) {
                    *new = value.times(factors[row * width + column as usize]);
                }
            }
        })
    })
}
