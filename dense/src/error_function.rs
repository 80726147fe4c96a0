//! The complementary error function.

use crate::array::Array;
use crate::twins::twins;
use sparsefuse_kernels::Real;

twins! {
    methods [T: Real, const D: usize] Array<T, D>;
    /// `1 - erf(x)`, without the cancellation of that for large `x`: SciPy's `special.erfc`. Error
    /// up to 3 units in the last place, of subnormal results too. One task of about 80 operations,
    /// which fuses.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::<f64>::from_vec(vec![0.0, 10.0]);
    /// let found = x.erfc().to_vec()?;
    /// assert!(found[0] == 1.0 && (found[1] / 2.088487583762545e-45 - 1.0).abs() < 1e-15);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    erfc try_erfc(&self) -> Self {
        self.try_map(|x| {
            let x = x.cast::<f64>();
            let size = x.clamp(0.0, 28.0);
            // The square as that of a number of 24 bits, exactly, and what is left.
            let short = size.cast::<f32>().cast::<f64>();
            let left = (short - size) * (short + size);
            let power = (-(short * short)).exp();
            let t = (size - 4.0) / (size + 4.0);
            let mut sum = t.number(FAR[FAR.len() - 1]);
            for &coefficient in FAR[..FAR.len() - 1].iter().rev() {
                sum = sum * t + coefficient;
            }
            let scaled = sum / (size + size + 1.0);
            // The power of what is left, less 1: that is below 1e-4.
            let rest = ((left * (1.0 / 6.0) + 0.5) * left + 1.0) * left;
            let far = (scaled + scaled * rest) * power;
            let near = -x.erf() + 1.0;
            x.less(0.3).select(near, far).cast::<T>()
        })
    }
}

/// `(1 + 2 x) exp(x^2) erfc(x)` for `0.28 <= x <= 28`, by powers of `t = (x - 4) / (x + 4)`; by
/// interpolation at Chebyshev's nodes, 2^-58 of the result. The form is that of M. M. Shepherd and
/// J. G. Laframboise, *Chebyshev Approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x < infinity*
/// (1981).
const FAR: [f64; 23] = [
    1.2329951186255526,
    -0.13962111684056253,
    0.015379652102618812,
    0.06809705425469295,
    -0.10103906603624233,
    0.09373283499834935,
    -0.0663303658138286,
    0.03716751553722248,
    -0.016197734036298626,
    0.005031969984085499,
    -0.0007577734565115922,
    -0.0001992567590676918,
    0.0001506224979947066,
    -2.439882649327521e-05,
    -1.1224635209617434e-05,
    5.70829329840884e-06,
    2.9915810753192145e-07,
    -8.220750751871924e-07,
    6.77697436630052e-08,
    1.052989132927777e-07,
    -1.2917717368636358e-08,
    -1.0346630398267149e-08,
    2.6107765776954497e-10,
];
