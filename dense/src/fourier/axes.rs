//! Transforms along all axes: one axis after the other, from the last one to the first.

use super::{Ends, transform};
use crate::array::Array;
use crate::twins::twins;
use crate::views::check_axes;
use rustfft::FftDirection;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;

twins! {
    @ "If the matrix has no element.";
    [T: Field] Array<T, 2>;
    /// The transform along both axes: NumPy's `fft.fft2`.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::<f64, 2>::ones([2, 4]);
    /// let y = a.fft2();
    /// assert_eq!(y.re().row(0).to_vec()?, [8.0, 0.0, 0.0, 0.0]);
    /// assert_eq!(y.ifft2().re().to_vec()?, [1.0; 8]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    fft2 try_fft2(&self) -> Array<T::Complex, 2> { along_all("fft2", self, FftDirection::Forward) }

    /// The inverse of [`Array::fft2`]: NumPy's `fft.ifft2`.
    ifft2 try_ifft2(&self) -> Array<T::Complex, 2> {
        along_all("ifft2", self, FftDirection::Inverse)
    }
}

twins! {
    [T: Field, const D: usize] Array<T, D>;
    /// The transform along all axes: NumPy's `fft.fftn`. One task for each axis.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::<f64, 3>::ones([2, 2, 4]);
    /// let y = a.fftn();
    /// assert_eq!(y.re().to_vec()?[..2], [16.0, 0.0]);
    /// assert_eq!(y.ifftn().re().to_vec()?, [1.0; 16]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    @ "If the array has no element."
    fftn try_fftn(&self) -> Array<T::Complex, D> { along_all("fftn", self, FftDirection::Forward) }

    /// The inverse of [`Array::fftn`]: NumPy's `fft.ifftn`.
    @ "If the array has no element."
    ifftn try_ifftn(&self) -> Array<T::Complex, D> {
        along_all("ifftn", self, FftDirection::Inverse)
    }

    /// The real numbers, `n` along the last axis, whose transform [`Array::rfftn`] gives: NumPy's
    /// `fft.irfftn`, and `fft.irfft2` of a matrix. The inverse along the other axes, and then
    /// [`Array::irfft_axis`] along the last one.
    #[doc(alias = "irfft2")]
    @ "If the array has no axis, or the result would have no element."
    irfftn try_irfftn(&self, n: usize) -> Array<T::Real, D> {
        const OP: &str = "irfftn";
        let last = last_axis::<D>(OP)?;
        let mut spectrum: Array<T::Complex, D> = self.try_cast()?;
        for axis in 0..last {
            spectrum = along(OP, &spectrum, axis, FftDirection::Inverse)?;
        }
        transform(OP, &spectrum, last, n, FftDirection::Inverse, Ends::OfHalf)
    }
}

twins! {
    [T: Real, const D: usize] Array<T, D>;
    /// The transform along all axes of real numbers, of which the last axis has the first
    /// `n / 2 + 1` elements, from which the others follow: NumPy's `fft.rfftn`, and `fft.rfft2` of
    /// a matrix. [`Array::rfft_axis`] along the last axis, and then the transform along the others.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::<f64, 2>::ones([2, 4]);
    /// let half = a.rfftn();
    /// assert_eq!(half.shape(), [2, 3]);
    /// assert_eq!(half.irfftn(4).to_vec()?, [1.0; 8]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "rfft2")]
    @ "If the array has no element."
    rfftn try_rfftn(&self) -> Array<T::Complex, D> {
        const OP: &str = "rfftn";
        let last = last_axis::<D>(OP)?;
        let n = self.shape()[last];
        let mut made: Array<T::Complex, D> =
            transform(OP, self, last, n, FftDirection::Forward, Ends::Half)?;
        for axis in (0..last).rev() {
            made = along(OP, &made, axis, FftDirection::Forward)?;
        }
        Ok(made)
    }
}

fn along_all<T: Field, const D: usize>(
    op: &'static str,
    x: &Array<T, D>,
    direction: FftDirection,
) -> Result<Array<T::Complex, D>, Error> {
    let last = last_axis::<D>(op)?;
    let mut made = along(op, x, last, direction)?;
    for axis in (0..last).rev() {
        made = along(op, &made, axis, direction)?;
    }
    Ok(made)
}

fn along<T: Field, const D: usize>(
    op: &'static str,
    x: &Array<T, D>,
    axis: usize,
    direction: FftDirection,
) -> Result<Array<T::Complex, D>, Error> {
    transform(op, x, axis, x.shape()[axis], direction, Ends::Whole)
}

pub(super) fn last_axis<const D: usize>(op: &'static str) -> Result<usize, Error> {
    let last = D.saturating_sub(1);
    check_axes::<D>(op, [last])?;
    Ok(last)
}
