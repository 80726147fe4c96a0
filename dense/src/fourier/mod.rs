//! Discrete Fourier transforms, by rustfft; the feature `fft`.
//!
//! A transform is a host task on the lines along the axis, which the threads and ranks share; a
//! single line has one thread. It computes in double precision, whatever the elements are, and with
//! loops that are the same for every instruction set; of several lines with numbers of some of them
//! side by side, which gives each the bits that it gets alone.
//!
//! The forward transform of `x` is `y[k] = sum(x[j] * exp(-2 pi i j k / n))`, as NumPy's; the
//! inverse has the other sign, and is divided by `n`.

mod axes;
mod convolve;
mod cosines;
mod frequencies;
mod lanes;
mod lengths;
mod lines;
mod turns;

pub use self::lengths::FftNorm;

use self::lines::{Line, Plan};
use crate::array::{Array, Vector};
use crate::operand::{check_len, expect};
use crate::views::check_axes;
use num_complex::Complex;
use rustfft::FftDirection;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::{Access, Error, HostArgs, Shape, reserve};

/// The transform along an axis for each method, and that of vectors.
macro_rules! transforms {
    ($(
        $(#[$doc:meta])*
        $name:ident $try:ident $of_axis:ident $try_of_axis:ident($($len:ident: usize)?)
            [$($bound:tt)*] -> $output:ty, $direction:ident, $ends:ident;
    )*) => {$(
        impl<T: $($bound)*, const D: usize> Array<T, D>
        {
            $(#[$doc])*
            ///
            /// # Panics
            ///
            #[doc = concat!("With the error that [`Array::", stringify!($try_of_axis), "`] returns.")]
            #[must_use]
            #[track_caller]
            pub fn $of_axis(&self, axis: usize $(, $len: usize)?) -> Array<$output, D> {
                expect(self.$try_of_axis(axis $(, $len)?))
            }

            #[doc = concat!("As [`Array::", stringify!($of_axis), "`].")]
            ///
            /// # Errors
            ///
            /// If there is no such axis, or the transform would have no element.
            pub fn $try_of_axis(&self, axis: usize $(, $len: usize)?) -> Result<Array<$output, D>, Error> {
                let op = stringify!($of_axis);
                check_axes::<D>(op, [axis])?;
                let asked: &[usize] = &[$($len)?];
                let n = asked.first().copied().unwrap_or(self.shape()[axis]);
                transform(op, self, axis, n, FftDirection::$direction, Ends::$ends)
            }
        }

        impl<T: $($bound)*> Vector<T>
        {
            #[doc = concat!("[`Array::", stringify!($of_axis), "`] of a vector.")]
            ///
            /// # Panics
            ///
            #[doc = concat!("With the error that [`Vector::", stringify!($try), "`] returns.")]
            #[must_use]
            #[track_caller]
            pub fn $name(&self $(, $len: usize)?) -> Vector<$output> {
                expect(self.$try($($len)?))
            }

            #[doc = concat!("As [`Vector::", stringify!($name), "`].")]
            ///
            /// # Errors
            ///
            /// If the transform would have no element.
            pub fn $try(&self $(, $len: usize)?) -> Result<Vector<$output>, Error> {
                self.$try_of_axis(0 $(, $len)?)
            }
        }
    )*};
}

transforms! {
    /// The discrete Fourier transform along an axis: NumPy's `fft.fft(a, axis=axis)`. About
    /// `5 n log2(n)` operations a line.
    ///
    /// ```
    /// use num_complex::Complex;
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![1.0, 0.0, 0.0, 0.0]);
    /// assert_eq!(x.fft().to_vec()?, [Complex::new(1.0, 0.0); 4]);
    /// assert_eq!(x.fft().ifft().re().to_vec()?, x.to_vec()?);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    fft try_fft fft_axis try_fft_axis() [Field] -> T::Complex, Forward, Whole;

    /// The inverse of [`Array::fft_axis`]: NumPy's `fft.ifft`.
    ifft try_ifft ifft_axis try_ifft_axis() [Field] -> T::Complex, Inverse, Whole;

    /// The first `n / 2 + 1` elements of the transform of real numbers, from which the others
    /// follow: NumPy's `fft.rfft`. Half the operations of the transform of complex numbers where
    /// `n` is even, as many where it is odd.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![1.0, 2.0, 3.0, 4.0]);
    /// let y = x.rfft();
    /// assert_eq!(y.re().to_vec()?, [10.0, -2.0, -2.0]);
    /// assert_eq!(y.irfft(4).to_vec()?, x.to_vec()?);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    rfft try_rfft rfft_axis try_rfft_axis() [Real] -> T::Complex, Forward, Half;

    /// The `n` real numbers whose transform begins with these: NumPy's `fft.irfft(a, n)`. Where
    /// there are more than `n / 2 + 1` along the axis, the others are left out, and where there are
    /// fewer, zeros follow; imaginary parts of what has to be real are not looked at. Costs as much
    /// as [`Array::rfft_axis`].
    irfft try_irfft irfft_axis try_irfft_axis(n: usize) [Field] -> T::Real, Inverse, OfHalf;
}

/// What is known of a line, and wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    /// All of it, before and after.
    Whole,
    /// All before, and about half after.
    Half,
    /// About half before, and all after.
    OfHalf,
}

/// The transform, of `n` elements a line, along an axis, as NumPy divides it.
fn transform<T: Field, M: Field, const D: usize>(
    op: &'static str,
    x: &Array<T, D>,
    axis: usize,
    n: usize,
    direction: FftDirection,
    ends: Ends,
) -> Result<Array<M, D>, Error> {
    transform_by(op, x, (axis, n), direction, ends, FftNorm::Backward)
}

/// The transform of `n` elements a line along an axis: of the first ones of each line, or where
/// there are fewer, of these and zeros.
fn transform_by<T: Field, M: Field, const D: usize>(
    op: &'static str,
    x: &Array<T, D>,
    (axis, n): (usize, usize),
    direction: FftDirection,
    ends: Ends,
    norm: FftNorm,
) -> Result<Array<M, D>, Error> {
    check_axes::<D>(op, [axis])?;
    let mut shape = x.shape();
    let before = shape[axis];
    let after = match ends {
        Ends::Whole | Ends::OfHalf => n,
        Ends::Half => n / 2 + 1,
    };
    if n == 0 {
        let expected = format!("at least 1 elements along axis {axis}");
        return Err(Error::argument(op, expected, "0"));
    }
    shape[axis] = after;
    check_len(op, Shape::new(&shape))?;
    if before == 0 {
        return x.runtime().enter(|| Array::<M, D>::try_zeros(shape));
    }
    // A plan takes memory that cannot be refused, so as much is asked for before.
    drop(reserve::<Complex<f64>>(n.saturating_mul(2))?);
    let plan = Plan::new(n, direction, ends != Ends::Whole && n.is_multiple_of(2));
    // Of half as many numbers the inverse is divided by half as much.
    let scale = match direction {
        FftDirection::Forward => norm.factor(n, direction),
        FftDirection::Inverse => norm.factor(n, direction) * (n / plan.len) as f64,
    };
    let line = Line {
        plan,
        before,
        after,
        inner: 1,
        row_len: before,
        ends,
        scale,
    };
    // Lines that lie across ranks are moved to one; those that are rows of what a view sees are
    // taken as they lie.
    let last = D - 1;
    let moved = x.try_move_axis(axis, last)?;
    if moved.view().is_none() && axis != last || axis == 0 && x.runtime().ranks() > 1 {
        let mut shape = moved.shape();
        let n_lines = shape[..last].iter().product();
        shape[last] = after;
        let lines = moved.try_reshape([n_lines, before])?.contiguous()?;
        let made: Array<M, 2> = line.submit(op, &lines, Shape::new(&[n_lines, after]))?;
        return made.try_reshape(shape)?.try_move_axis(last, axis);
    }
    let x = x.contiguous()?;
    let of_x = x.shape();
    let line = Line {
        inner: of_x[axis + 1..].iter().product(),
        row_len: of_x[1..].iter().product(),
        ..line
    };
    line.submit(op, &x, Shape::new(&shape))
}

impl Line {
    /// The task, on whole lines.
    fn submit<T: Field, M: Field, const D: usize, const E: usize>(
        self,
        op: &'static str,
        x: &Array<T, D>,
        shape: Shape,
    ) -> Result<Array<M, E>, Error> {
        let reads = [(x.store(), Access::Held)];
        let function = move |args: &mut HostArgs<'_>| self.run::<T, M>(args);
        Array::made_by(op, x.runtime(), shape, &reads, function)
    }
}
