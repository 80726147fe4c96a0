//! Values of polynomials.

use crate::array::{Array, Vector};
use crate::twins::twins;
use sparsefuse_kernels::Numeric;

twins! {
    [T: Numeric, const D: usize] Array<T, D>;
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
    #[doc(alias = "horner")]
    @ "If the arrays belong to two runtimes."
    polyval try_polyval(&self, coefficients: &Vector<T>) -> Self {
        let coefficients = coefficients.contiguous()?;
        let n = coefficients.len();
        if n == 0 {
            return self.runtime().enter(|| Self::try_zeros(self.shape()));
        }
        let coefficient = |k: usize| coefficients.try_slice(k..=k)?.try_reshape([1; D]);
        let mut value: Self = coefficient(0)?.try_broadcast_to(self.shape())?;
        for k in 1..n {
            value = value.try_mul(self)?.try_add(&coefficient(k)?)?;
        }
        Ok(value)
    }
}
