//! Discrete cosine and sine transforms, of type 2 and their inverses, of type 3: by the Fourier
//! transform of twice as many elements, half of them zeros.

use super::FftNorm;
use crate::array::{Array, Vector};
use crate::join::along;
use crate::twins::twins;
use crate::views::check_axes;
use sparsefuse_kernels::{Field, Numeric, Real};
use sparsefuse_runtime::{Error, Runtime};
use std::f64::consts::{PI, SQRT_2};

twins! {
    @ "If there is no such axis, or no element along it.";
    [T: Real, const D: usize] Array<T, D>;
    /// The discrete cosine transform of type 2 along an axis, of which element `k` is
    /// `2 sum(x[j] * cos(pi k (2 j + 1) / (2 n)))`: SciPy's `fft.dct(a, axis=axis, norm=norm)`. By
    /// `Ortho` it is divided by the root of `2 n`, and the first element by that of 2 besides, so
    /// that norms are kept; by `Forward` it is divided by `2 n`. A Fourier transform of `2 n` real
    /// numbers, and tasks that fuse.
    ///
    /// ```
    /// use sparsefuse_dense::{FftNorm, Vector};
    ///
    /// let x = Vector::<f64>::from_vec(vec![1.0, 2.0, 4.0]);
    /// let y = x.dct(FftNorm::Ortho);
    /// assert!((y.norm2() - x.norm2()).get()?.abs() < 1e-14);
    /// assert!((y.idct(FftNorm::Ortho) - &x).norm_inf().get()? < 1e-14);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "cosine_transform")]
    dct_axis try_dct_axis(&self, axis: usize, norm: FftNorm) -> Self {
        check_axes::<D>("dct_axis", [axis])?;
        let n = self.shape()[axis];
        let half = self.try_rfft_axis_of(axis, n.saturating_mul(2), FftNorm::Backward)?;
        let half = half.try_slice(along::<D>(axis, 0..n))?;
        let many = 2.0 * n as f64;
        let (scale, first) = match norm {
            FftNorm::Backward => (2.0, 1.0),
            FftNorm::Ortho => (2.0 / many.sqrt(), 1.0 / SQRT_2),
            FftNorm::Forward => (2.0 / many, 1.0),
        };
        let turns = turns::<T, D>(self.runtime(), (axis, n), -scale, first)?;
        half.try_mul(&turns)?.try_re()
    }

    /// The inverse of [`Array::dct_axis`] by the same norm: SciPy's `fft.idct`, the transform of
    /// type 3.
    #[doc(alias = "cosine_transform")]
    idct_axis try_idct_axis(&self, axis: usize, norm: FftNorm) -> Self {
        check_axes::<D>("idct_axis", [axis])?;
        let n = self.shape()[axis];
        let many = 2.0 * n as f64;
        let (scale, first) = match norm {
            FftNorm::Backward => (1.0, 1.0),
            FftNorm::Ortho => (many.sqrt(), SQRT_2),
            FftNorm::Forward => (many, 1.0),
        };
        let turns = turns::<T, D>(self.runtime(), (axis, n), scale, first)?;
        let half = self.try_cast::<T::Complex>()?.try_mul(&turns)?;
        let whole = half.try_irfft_axis_of(axis, n.saturating_mul(2), FftNorm::Backward)?;
        whole.try_slice(along::<D>(axis, 0..n))
    }

    /// The discrete sine transform of type 2 along an axis, of which element `k` is
    /// `2 sum(x[j] * sin(pi (k + 1) (2 j + 1) / (2 n)))`: SciPy's
    /// `fft.dst(a, axis=axis, norm=norm)`. As [`Array::dct_axis`], by which it is computed, but it
    /// is the last element that is divided by the root of 2.
    #[doc(alias = "sine_transform")]
    dst_axis try_dst_axis(&self, axis: usize, norm: FftNorm) -> Self {
        check_axes::<D>("dst_axis", [axis])?;
        let signs = signs::<T, D>(self.runtime(), (axis, self.shape()[axis]))?;
        self.try_mul(&signs)?.try_dct_axis(axis, norm)?.try_flip(axis)
    }

    /// The inverse of [`Array::dst_axis`] by the same norm: SciPy's `fft.idst`, the transform of
    /// type 3.
    #[doc(alias = "sine_transform")]
    idst_axis try_idst_axis(&self, axis: usize, norm: FftNorm) -> Self {
        check_axes::<D>("idst_axis", [axis])?;
        let signs = signs::<T, D>(self.runtime(), (axis, self.shape()[axis]))?;
        self.try_flip(axis)?.try_idct_axis(axis, norm)?.try_mul(&signs)
    }
}

twins! {
    @ "If there is no element.";
    [T: Real] Vector<T>;
    /// [`Array::dct_axis`] of a vector: SciPy's `fft.dct(x, norm=norm)`.
    dct try_dct(&self, norm: FftNorm) -> Self { self.try_dct_axis(0, norm) }

    /// [`Array::idct_axis`] of a vector: SciPy's `fft.idct(x, norm=norm)`.
    idct try_idct(&self, norm: FftNorm) -> Self { self.try_idct_axis(0, norm) }

    /// [`Array::dst_axis`] of a vector: SciPy's `fft.dst(x, norm=norm)`.
    ///
    /// ```
    /// use sparsefuse_dense::{FftNorm, Vector};
    ///
    /// let x = Vector::from_vec(vec![1.0, 1.0]);
    /// let expected = Vector::from_vec(vec![8.0_f64.sqrt(), 0.0]);
    /// assert!((x.dst(FftNorm::Backward) - expected).norm_inf().get()? < 1e-15);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    dst try_dst(&self, norm: FftNorm) -> Self { self.try_dst_axis(0, norm) }

    /// [`Array::idst_axis`] of a vector: SciPy's `fft.idst(x, norm=norm)`.
    idst try_idst(&self, norm: FftNorm) -> Self { self.try_idst_axis(0, norm) }
}

/// `exp(i pi k / (2 n))` for each `k` along an axis, conjugated if `scale` is negative, times its
/// absolute value, the first one times another number too.
fn turns<T: Real, const D: usize>(
    runtime: &Runtime,
    (axis, n): (usize, usize),
    scale: f64,
    first: f64,
) -> Result<Array<T::Complex, D>, Error> {
    let turn = |[k]: [usize; 1]| {
        let angle = PI * (k as f64 / (2.0 * n as f64)) * scale.signum();
        let size = scale.abs() * if k == 0 { first } else { 1.0 };
        T::Complex::from_parts(angle.cos() * size, angle.sin() * size)
    };
    let turns = runtime.enter(|| Vector::try_from_fn([n], turn))?;
    along_axis(&turns, axis)
}

/// 1 and -1 in turn along an axis.
fn signs<T: Real, const D: usize>(
    runtime: &Runtime,
    (axis, n): (usize, usize),
) -> Result<Array<T, D>, Error> {
    let sign = |[k]: [usize; 1]| T::from_f64(if k.is_multiple_of(2) { 1.0 } else { -1.0 });
    let signs = runtime.enter(|| Vector::try_from_fn([n], sign))?;
    along_axis(&signs, axis)
}

/// A vector along an axis, of length 1 along the others.
fn along_axis<T: Numeric, const D: usize>(
    x: &Vector<T>,
    axis: usize,
) -> Result<Array<T, D>, Error> {
    let mut shape = [1; D];
    shape[axis] = x.len();
    x.try_reshape(shape)
}
