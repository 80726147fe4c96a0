//! Comparisons of two matrices element by element: whether all elements agree, and where they do
//! not.
//!
//! Elements that are not stored are 0 and compared as such; an element that is not a number equals
//! none. There are no matrices of truth values: the result of a comparison is a matrix with a 1
//! wherever it holds, which can be multiplied with others of its type.

use super::extremes::terms;
use super::sum::check_shapes;
use crate::formats::csr::Csr;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Numeric};
use sparsefuse_runtime::Error;

impl<T: Numeric> Csr<T> {
    /// Whether another matrix has the same shape and the same elements, whatever entries are
    /// stored: NumPy's `array_equal`. Reads both once, on all threads, and executes the window;
    /// every rank must ask. [`Csr::has_structure_of`] says whether the entries are at the same
    /// places.
    ///
    /// ```
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Csr::new(1, 3, vec![0, 2], vec![0, 2], vec![1.0, 0.0])?;
    /// let b = Csr::new(1, 3, vec![0, 1], vec![0], vec![1.0])?;
    /// assert!(a.equals(&b)? && !a.equals(&b.scale(2.0))?);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrices are those of two runtimes, or the computation of the values failed.
    #[doc(alias = "array_equal")]
    pub fn equals(&self, other: &Self) -> Result<bool, Error> {
        if self.shape() != other.shape() {
            return Ok(false);
        }
        self.all_hold("equals", other, |a, b| a == b)
    }

    /// A 1 wherever the elements of two matrices differ, and no other entries: SciPy's `a != b`.
    /// Cost as of a sum.
    ///
    /// ```
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Csr::new(1, 3, vec![0, 2], vec![0, 2], vec![1.0, 5.0])?;
    /// let b = Csr::new(1, 3, vec![0, 2], vec![1, 2], vec![0.0, 5.5])?;
    /// assert_eq!(a.not_equal(&b)?.to_dense()?.to_vec()?, [1.0, 0.0, 1.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Csr::try_add`].
    pub fn not_equal(&self, other: &Self) -> Result<Self, Error> {
        let differ = terms(|a: T, b: T| one_if(a != b));
        let of_values = |a: &_, b: &_| one_where(Vector::not_equal(a, b));
        self.joined("not_equal", other, of_values, differ)?
            .drop_small(T::Magnitude::ZERO)
    }
}

impl<T: Numeric + PartialOrd> Csr<T> {
    /// A 1 wherever the element is less than that of another matrix, and no other entries: SciPy's
    /// `a < b`. Cost as of a sum. To compare with a number, see [`Csr::filter`].
    ///
    /// ```
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Csr::new(1, 3, vec![0, 2], vec![0, 2], vec![-1, 5])?;
    /// let b = Csr::new(1, 3, vec![0, 1], vec![1], vec![7])?;
    /// assert_eq!(a.less(&b)?.to_dense()?.to_vec()?, [1, 1, 0]);
    /// assert_eq!(a.greater(&b)?.to_dense()?.to_vec()?, [0, 0, 1]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Csr::try_add`].
    pub fn less(&self, other: &Self) -> Result<Self, Error> {
        let is_less = terms(|a: T, b: T| one_if(a < b));
        let of_values = |a: &_, b: &_| one_where(Vector::less(a, b));
        self.joined("less", other, of_values, is_less)?
            .drop_small(T::Magnitude::ZERO)
    }

    /// A 1 wherever the element is greater than that of another matrix, as [`Csr::less`].
    ///
    /// # Errors
    ///
    /// As [`Csr::try_add`].
    pub fn greater(&self, other: &Self) -> Result<Self, Error> {
        let is_greater = terms(|a: T, b: T| one_if(a > b));
        let of_values = |a: &_, b: &_| one_where(Vector::greater(a, b));
        self.joined("greater", other, of_values, is_greater)?
            .drop_small(T::Magnitude::ZERO)
    }
}

impl<T: Field> Csr<T> {
    /// Whether all elements are close to those of another matrix: `|a - b| <= atol + rtol * |b|`,
    /// or equal where they are infinite; never where one is NaN. NumPy's `allclose`, whose `rtol`
    /// is 1e-5 and `atol` 1e-8. Cost as [`Csr::equals`].
    ///
    /// ```
    /// use sparsefuse_sparse::{Csr, gallery};
    ///
    /// let a = gallery::poisson1d::<f64>(4)?;
    /// let b = &a + 1e-9 * &Csr::identity(4)?;
    /// assert!(a.all_close(&b, 1e-5, 1e-8)? && !a.equals(&b)?);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the shapes differ, the matrices are those of two runtimes, or the computation of the
    /// values failed.
    #[doc(alias = "allclose")]
    pub fn all_close(&self, other: &Self, rtol: f64, atol: f64) -> Result<bool, Error> {
        check_shapes("all_close", self, other)?;
        let (rtol, atol) = (T::Real::from_f64(rtol), T::Real::from_f64(atol));
        self.all_hold("all_close", other, |a, b| {
            let bound = b.magnitude() * rtol + atol;
            let (re, im) = b.parts();
            let is_finite = re.is_finite() && im.is_finite();
            (is_finite && (a - b).magnitude() <= bound) || a == b
        })
    }
}

fn one_if<T: Numeric>(holds: bool) -> T {
    if holds { T::ONE } else { T::ZERO }
}

/// A 1 where something holds, and else a 0.
fn one_where<T: Numeric>(holds: Vector<bool>) -> Vector<T> {
    holds.cast::<T>()
}
