//! Values of polynomials.

use crate::array::{Array, Vector};
use crate::operand::{expect, named};
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;

impl<T: Numeric, const D: usize> Array<T, D> {
    /// The value of a polynomial at each element: of `[2, 0, 5]` it is `2 x^2 + 5`. The
    /// coefficients stand from that of the highest power to the constant one; without any the
    /// values are 0. NumPy's `polyval(coefficients, x)`.
    ///
    /// By Horner's rule, from the first coefficient on, each product rounded and then added: two
    /// tasks for each power, which fuse.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![0.0, 1.0, 3.0]);
    /// let coefficients = Vector::from_vec(vec![2.0, 0.0, 5.0]);
    /// assert_eq!(x.polyval(&coefficients).to_vec()?, [5.0, 7.0, 23.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the arrays belong to two runtimes; [`Array::try_polyval`] returns the error.
    #[doc(alias = "horner")]
    #[must_use]
    #[track_caller]
    pub fn polyval(&self, coefficients: &Vector<T>) -> Self {
        expect(self.try_polyval(coefficients))
    }

    /// As [`Array::polyval`].
    ///
    /// # Errors
    ///
    /// If the arrays belong to two runtimes.
    pub fn try_polyval(&self, coefficients: &Vector<T>) -> Result<Self, Error> {
        named("polyval", || {
            let coefficients = coefficients.contiguous()?;
            let n = coefficients.len();
            if n == 0 {
                return self.runtime().enter(|| Self::try_zeros(self.shape()));
            }
            let coefficient = |k: usize| coefficients.try_slice(k..=k)?.reshape([1; D]);
            let mut value: Self = coefficient(0)?.broadcast_to(self.shape())?;
            for k in 1..n {
                value = value.try_mul(self)?.try_add(&coefficient(k)?)?;
            }
            Ok(value)
        })
    }
}
