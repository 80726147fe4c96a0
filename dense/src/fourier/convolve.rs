//! Convolutions by the Fourier transform, for two long vectors.

use super::Ends;
use crate::array::Vector;
use crate::convolve::Overlap;
use crate::operand::named;
use crate::twins::twins;
use rustfft::FftDirection::{Forward, Inverse};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

twins! {
    [T: Field] Vector<T>;
    /// As [`Vector::convolve`], by transforms of both, their product, and the transform back:
    /// SciPy's `signal.fftconvolve`, whose "same" has the length of the first vector, and not of
    /// the longer one.
    ///
    /// The time grows as that of [`Array::fft_axis`](crate::Array::fft_axis) of a power of two of
    /// at least as many elements as both have, however long the shorter one is. The elements are
    /// rounded relative to the largest ones, and one that is not finite makes all of them so.
    ///
    /// ```
    /// use sparsefuse_dense::{Overlap, Vector};
    ///
    /// let x = Vector::<f64>::random_normal([1000], 1);
    /// let y = Vector::<f64>::random_normal([700], 2);
    /// let (made, sums) = (x.fft_convolve(&y, Overlap::Same), x.convolve(&y, Overlap::Same));
    /// assert!((made - sums).norm_inf().get()? < 1e-12);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias = "fftconvolve")]
    @ "If a vector has no element, memory cannot hold the transforms, or the vectors belong to two \
        runtimes."
    fft_convolve try_fft_convolve(&self, other: &Self, overlap: Overlap) -> Self {
        const OP: &str = "fft_convolve";
        let wanted = overlap.wanted(OP, self.len(), other.len())?;
        let n = (self.len() + other.len() - 1).next_power_of_two();
        named(OP, || {
            let transform = |x: &Self| -> Result<Vector<T::Complex>, Error> {
                let mut longer = x.runtime().enter(|| Self::try_zeros([n]))?;
                longer.try_assign_slice(..x.len(), x)?;
                match T::IS_COMPLEX {
                    true => longer.try_fft(),
                    // The others follow from these.
                    false => super::transform(OP, &longer, 0, n, Forward, Ends::Half),
                }
            };
            let product = transform(self)?.try_mul(&transform(other)?)?;
            let product: Self = match T::IS_COMPLEX {
                true => product.try_ifft()?.try_cast()?,
                false => super::transform(OP, &product, 0, n, Inverse, Ends::OfHalf)?,
            };
            product.try_slice(wanted)?.contiguous()
        })
    }
}
