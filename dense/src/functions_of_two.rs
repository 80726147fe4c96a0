//! Elementwise functions of two values that are made of others: one task each, which fuses.
//!
//! Errors are in units in the last place of the result, for `f64` and for `f32`.

use crate::array::Array;
use crate::map::try_map2;
use crate::operand::ArrayOperand;
use crate::twins::twins;
use sparsefuse_kernels::{Numeric, Real};

twins! {
    @ "If the shapes do not broadcast to a common one, or the operands belong to two runtimes.";
    [T: Real, const D: usize] Array<T, D>;
    /// The logarithm of `exp(self) + exp(other)`, without overflow on the way: NumPy's `logaddexp`.
    /// Error up to 3 of the larger operand or of the result.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![0.0, 1000.0, f64::NEG_INFINITY]);
    /// assert_eq!(x.logaddexp(0.0).to_vec()?, [2_f64.ln(), 1000.0, 0.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    logaddexp try_logaddexp(&self, other: impl ArrayOperand<T, D>) -> Self {
        try_map2(self, other, |x, y| {
            // Of two infinite operands there is no difference.
            let distance = x.equal(y).select(T::ZERO, (x - y).abs());
            x.maximum(y) + (-distance).exp().ln_1p()
        })
    }

    /// The absolute value with the sign of `other`, of which -0 is negative and NaN positive:
    /// NumPy's `copysign`.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![1.0, -2.0, 3.0]);
    /// let signs = Vector::from_vec(vec![-0.0, 5.0, -1.0]);
    /// assert_eq!(x.copysign(&signs).to_vec()?, [-1.0, 2.0, -3.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    copysign try_copysign(&self, other: impl ArrayOperand<T, D>) -> Self {
        try_map2(self, other, |x, y| {
            // One divided by -0 is minus infinity.
            let is_negative = y.less(T::ZERO) | y.recip().less(T::ZERO);
            is_negative.select(-x.abs(), x.abs())
        })
    }
}

twins! {
    @ "If the shapes do not broadcast to a common one, or the operands belong to two runtimes.";
    [T: Numeric + PartialOrd, const D: usize] Array<T, D>;
    /// The remainder with the sign of the dividend, exactly, as Rust's and C's: NumPy's `fmod`; 0
    /// for a whole number by 0. The operator `%` is the one with the sign of the divisor.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![-7, 7, -8]);
    /// assert_eq!(x.fmod(4).to_vec()?, [-3, 3, 0]);
    /// assert_eq!((x % 4).to_vec()?, [1, 3, 0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    fmod try_fmod(&self, other: impl ArrayOperand<T, D>) -> Self {
        try_map2(self, other, |x, y| match T::DTYPE.is_integer() {
            true => y.equal(T::ZERO).select(T::ZERO, x - x / y * y),
            false => {
                let [left, right] = [x, y].map(|x| x.less(T::ZERO).select(-x, x));
                let rest = left % right;
                let rest = x.less(T::ZERO).select(-rest, rest);
                // The sign of -0.
                (x.equal(T::ZERO) & rest.equal(T::ZERO)).select(x, rest)
            }
        })
    }
}
