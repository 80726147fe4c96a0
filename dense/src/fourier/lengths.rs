//! Transforms of a given length, which pad or cut, divided as the caller says.

use super::axes::last_axis;
use super::{Ends, transform_by};
use crate::array::{Array, Vector};
use crate::twins::twins;
use rustfft::FftDirection;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;

/// Which of a transform and its inverse is divided: `norm` of NumPy's and SciPy's functions. Of `n`
/// elements one is divided by `n`, or both by its root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FftNorm {
    /// The inverse is divided by `n`, as by the methods that have no such argument.
    #[default]
    Backward,
    /// Both are divided by the root of `n`, so that they keep norms.
    Ortho,
    /// The forward transform is divided by `n`.
    Forward,
}

impl FftNorm {
    /// What sums of `n` terms are multiplied by.
    pub(super) fn factor(self, n: usize, direction: FftDirection) -> f64 {
        match (self, direction) {
            (Self::Backward, FftDirection::Forward) | (Self::Forward, FftDirection::Inverse) => 1.0,
            (Self::Backward, FftDirection::Inverse) | (Self::Forward, FftDirection::Forward) => {
                1.0 / n as f64
            }
            (Self::Ortho, _) => 1.0 / (n as f64).sqrt(),
        }
    }
}

twins! {
    @ "If there is no such axis, `n` is 0, or memory cannot hold the result.";
    [T: Field, const D: usize] Array<T, D>;
    /// The transform of `n` elements along an axis: of the first `n` of each line, or where there
    /// are fewer, of these and zeros. NumPy's `fft.fft(a, n, axis, norm)`; otherwise as
    /// [`Array::fft_axis`].
    fft_axis_of try_fft_axis_of(&self, axis: usize, n: usize, norm: FftNorm) -> Array<T::Complex, D> {
        transform_by("fft_axis_of", self, (axis, n), FftDirection::Forward, Ends::Whole, norm)
    }

    /// The inverse of [`Array::fft_axis_of`]: NumPy's `fft.ifft(a, n, axis, norm)`.
    ifft_axis_of try_ifft_axis_of(&self, axis: usize, n: usize, norm: FftNorm) -> Array<T::Complex, D> {
        transform_by("ifft_axis_of", self, (axis, n), FftDirection::Inverse, Ends::Whole, norm)
    }

    /// The `n` real numbers along an axis whose transform begins with these: NumPy's
    /// `fft.irfft(a, n, axis, norm)`; otherwise as [`Array::irfft_axis`].
    irfft_axis_of try_irfft_axis_of(&self, axis: usize, n: usize, norm: FftNorm) -> Array<T::Real, D> {
        transform_by("irfft_axis_of", self, (axis, n), FftDirection::Inverse, Ends::OfHalf, norm)
    }

    /// The transform along all axes of an array of this shape: the first elements along each axis,
    /// or these and zeros. NumPy's `fft.fftn(a, shape, norm=norm)`, and `fft.fft2` of a matrix. One
    /// task for each axis; along some axes alone, [`Array::fft_axis_of`] one after the other.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, FftNorm};
    ///
    /// let a = Array::<f64, 2>::ones([2, 5]);
    /// let y = a.fftn_of([2, 8], FftNorm::Forward);
    /// assert_eq!((y.shape(), y.re().to_vec()?[0]), ([2, 8], 10.0 / 16.0));
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "fft2")]
    fftn_of try_fftn_of(&self, shape: [usize; D], norm: FftNorm) -> Array<T::Complex, D> {
        along_all(self, shape, FftDirection::Forward, norm)
    }

    /// The inverse of [`Array::fftn_of`]: NumPy's `fft.ifftn(a, shape, norm=norm)`.
    #[doc(alias = "ifft2")]
    ifftn_of try_ifftn_of(&self, shape: [usize; D], norm: FftNorm) -> Array<T::Complex, D> {
        along_all(self, shape, FftDirection::Inverse, norm)
    }

    /// The real numbers, an array of this shape, whose transform [`Array::rfftn_of`] gives: NumPy's
    /// `fft.irfftn(a, shape, norm=norm)`, and `fft.irfft2` of a matrix.
    #[doc(alias = "irfft2")]
    irfftn_of try_irfftn_of(&self, shape: [usize; D], norm: FftNorm) -> Array<T::Real, D> {
        let last = last_axis::<D>("irfftn_of")?;
        let mut spectrum: Array<T::Complex, D> = self.try_cast()?;
        for axis in 0..last {
            spectrum = spectrum.try_ifft_axis_of(axis, shape[axis], norm)?;
        }
        spectrum.try_irfft_axis_of(last, shape[last], norm)
    }
}

twins! {
    @ "If there is no such axis, `n` is 0, or memory cannot hold the result.";
    [T: Real, const D: usize] Array<T, D>;
    /// The first `n / 2 + 1` elements of the transform of `n` real numbers along an axis, of the
    /// first `n` of each line, or where there are fewer, of these and zeros. NumPy's
    /// `fft.rfft(a, n, axis, norm)`; otherwise as [`Array::rfft_axis`].
    rfft_axis_of try_rfft_axis_of(&self, axis: usize, n: usize, norm: FftNorm) -> Array<T::Complex, D> {
        transform_by("rfft_axis_of", self, (axis, n), FftDirection::Forward, Ends::Half, norm)
    }

    /// [`Array::rfft_axis_of`] along the last axis, and then [`Array::fft_axis_of`] along the
    /// others: NumPy's `fft.rfftn(a, shape, norm=norm)`, and `fft.rfft2` of a matrix.
    #[doc(alias = "rfft2")]
    rfftn_of try_rfftn_of(&self, shape: [usize; D], norm: FftNorm) -> Array<T::Complex, D> {
        let last = last_axis::<D>("rfftn_of")?;
        let mut made = self.try_rfft_axis_of(last, shape[last], norm)?;
        for axis in (0..last).rev() {
            made = made.try_fft_axis_of(axis, shape[axis], norm)?;
        }
        Ok(made)
    }
}

twins! {
    @ "If `n` is 0, or memory cannot hold the result.";
    [T: Field] Vector<T>;
    /// The transform of the first `n` elements, or where there are fewer, of these and zeros:
    /// NumPy's `fft.fft(x, n, norm=norm)`. With `n` the length of the vector it is that of
    /// [`Vector::fft`], divided otherwise.
    ///
    /// ```
    /// use sparsefuse_dense::{FftNorm, Vector};
    ///
    /// let x = Vector::<f64>::from_vec(vec![1.0, 2.0, 3.0]);
    /// assert_eq!(x.fft_of(4, FftNorm::Backward).re().to_vec()?, [6.0, -2.0, 2.0, -2.0]);
    /// assert_eq!(x.fft_of(2, FftNorm::Backward).re().to_vec()?, [3.0, -1.0]);
    /// let unitary = x.fft_of(3, FftNorm::Ortho);
    /// assert!((unitary.norm2() - x.norm2()).get()?.abs() < 1e-15);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    fft_of try_fft_of(&self, n: usize, norm: FftNorm) -> Vector<T::Complex> {
        self.try_fft_axis_of(0, n, norm)
    }

    /// The inverse of [`Vector::fft_of`]: NumPy's `fft.ifft(x, n, norm=norm)`.
    ifft_of try_ifft_of(&self, n: usize, norm: FftNorm) -> Vector<T::Complex> {
        self.try_ifft_axis_of(0, n, norm)
    }

    /// The `n` real numbers whose transform begins with these: NumPy's
    /// `fft.irfft(x, n, norm=norm)`.
    irfft_of try_irfft_of(&self, n: usize, norm: FftNorm) -> Vector<T::Real> {
        self.try_irfft_axis_of(0, n, norm)
    }
}

twins! {
    @ "If `n` is 0, or memory cannot hold the result.";
    [T: Real] Vector<T>;
    /// The first `n / 2 + 1` elements of the transform of `n` real numbers, the first ones or these
    /// and zeros: NumPy's `fft.rfft(x, n, norm=norm)`.
    ///
    /// ```
    /// use sparsefuse_dense::{FftNorm, Vector};
    ///
    /// let x = Vector::<f64>::from_vec(vec![1.0, 2.0, 3.0]);
    /// let half = x.rfft_of(4, FftNorm::Forward);
    /// let expected = Vector::from_vec(vec![1.5, -0.5, 0.5]);
    /// assert!((half.re() - expected).norm_inf().get()? < 1e-15);
    /// let back = half.irfft_of(4, FftNorm::Forward).slice(..3);
    /// assert!((back - &x).norm_inf().get()? < 1e-14);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    rfft_of try_rfft_of(&self, n: usize, norm: FftNorm) -> Vector<T::Complex> {
        self.try_rfft_axis_of(0, n, norm)
    }
}

fn along_all<T: Field, const D: usize>(
    x: &Array<T, D>,
    shape: [usize; D],
    direction: FftDirection,
    norm: FftNorm,
) -> Result<Array<T::Complex, D>, Error> {
    const OP: &str = "fftn_of";
    let last = last_axis::<D>(OP)?;
    let along = (last, shape[last]);
    let mut made = transform_by(OP, x, along, direction, Ends::Whole, norm)?;
    for axis in (0..last).rev() {
        let along = (axis, shape[axis]);
        made = transform_by(OP, &made, along, direction, Ends::Whole, norm)?;
    }
    Ok(made)
}
