//! Discrete Fourier transforms, by rustfft; the feature `fft`.
//!
//! A transform is a host task on the lines along the axis, which the threads and ranks share; a
//! single line has one thread. It computes in double precision, whatever the elements are, and with
//! loops that are the same for every instruction set.
//!
//! The forward transform of `x` is `y[k] = sum(x[j] * exp(-2 pi i j k / n))`, as NumPy's; the
//! inverse has the other sign, and is divided by `n`.

mod axes;
mod convolve;
mod cosines;
mod frequencies;
mod lengths;
mod turns;

pub use self::lengths::FftNorm;

use self::turns::Turns;
use crate::array::{Array, Vector};
use crate::operand::{check_len, expect};
use crate::views::check_axes;
use num_complex::Complex;
use rustfft::{Fft, FftDirection, FftPlannerScalar};
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::{Access, Error, HostArgs, Shape, reserve, try_collect};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

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
    let lines = x.try_move_axis(axis, D - 1)?;
    let mut shape = lines.shape();
    let before = shape[D - 1];
    let after = match ends {
        Ends::Whole | Ends::OfHalf => n,
        Ends::Half => n / 2 + 1,
    };
    if n == 0 {
        let expected = format!("at least 1 elements along axis {axis}");
        return Err(Error::argument(op, expected, "0"));
    }
    let n_lines = shape[..D - 1].iter().product();
    shape[D - 1] = after;
    check_len(op, Shape::new(&shape))?;
    if before == 0 {
        let zeros = || Array::<M, D>::try_zeros(shape);
        return x.runtime().enter(zeros)?.try_move_axis(D - 1, axis);
    }
    let lines = lines.try_reshape([n_lines, before])?.contiguous()?;
    // A plan takes memory that cannot be refused, so as much is asked for before.
    drop(reserve::<Complex<f64>>(n.saturating_mul(2))?);
    let plan = Plan::new(n, direction, ends != Ends::Whole && n.is_multiple_of(2));
    // Of half as many numbers the inverse is divided by half as much.
    let scale = match direction {
        FftDirection::Forward => norm.factor(n, direction),
        FftDirection::Inverse => norm.factor(n, direction) * (n / plan.fft.len()) as f64,
    };
    let line = Line {
        plan,
        before,
        after,
        ends,
        scale,
    };
    let reads = [(lines.store(), Access::Held)];
    let of_lines = Shape::new(&[n_lines, after]);
    let function = move |args: &mut HostArgs<'_>| line.run::<T, M>(args);
    let made: Array<M, 2> = Array::made_by(op, x.runtime(), of_lines, &reads, function)?;
    made.try_reshape(shape)?.try_move_axis(D - 1, axis)
}

/// The transform of lines.
#[derive(Clone)]
struct Line {
    plan: Plan,
    /// Elements of a line of the operand, and of the result.
    before: usize,
    after: usize,
    ends: Ends,
    /// What the result is multiplied by.
    scale: f64,
}

impl Line {
    fn run<T: Field, M: Field>(&self, args: &mut HostArgs<'_>) -> Result<(), Error> {
        let made = args.write::<M>(1)?;
        let x = args.read_between::<T>(0, self.before, args.cuts(1))?;
        let fft = &self.plan.fft;
        args.in_parts(made, self.after, |first, made| {
            let zeros = |len| try_collect((0..len).map(|_| Complex::ZERO));
            let mut line: Vec<Complex<f64>> = zeros(fft.len())?;
            let mut scratch = zeros(fft.get_inplace_scratch_len())?;
            let lines = x[first * self.before..].chunks_exact(self.before);
            for (x, made) in lines.zip(made.chunks_exact_mut(self.after)) {
                self.fill(x, &mut line);
                fft.process_with_scratch(&mut line, &mut scratch);
                self.put(&line, made);
            }
            Ok(())
        })
    }

    /// The line that is transformed.
    fn fill<T: Field>(&self, x: &[T], line: &mut [Complex<f64>]) {
        let at = |k: usize| {
            let (re, im) = x.get(k).map_or((0.0, 0.0), |x| x.parts());
            Complex::new(re, im)
        };
        // Where the result is real: what has to be real is.
        let n = self.after;
        let half_at = |k: usize| match k == 0 || 2 * k == n {
            true => Complex::from(at(k).re),
            false => at(k),
        };
        match (self.ends, &self.plan.turns) {
            (Ends::Whole | Ends::Half, None) => {
                (0..line.len()).for_each(|k| line[k] = at(k));
            }
            (Ends::Whole | Ends::Half, Some(_)) => {
                (0..line.len())
                    .for_each(|j| line[j] = Complex::new(at(2 * j).re, at(2 * j + 1).re));
            }
            (Ends::OfHalf, None) => {
                let n = line.len();
                for k in 0..n {
                    line[k] = if k <= n / 2 {
                        half_at(k)
                    } else {
                        half_at(n - k).conj()
                    };
                }
            }
            (Ends::OfHalf, Some(turns)) => {
                (0..line.len()).for_each(|k| line[k] = turns.joined(half_at, k));
            }
        }
    }

    /// Takes the result out of the transformed line.
    fn put<M: Field>(&self, line: &[Complex<f64>], made: &mut [M]) {
        let scale = self.scale;
        match (self.ends, &self.plan.turns) {
            (Ends::Half, Some(turns)) => {
                for (k, made) in made.iter_mut().enumerate() {
                    let y = turns.parted(line, k);
                    *made = M::from_parts(y.re * scale, y.im * scale);
                }
            }
            (Ends::OfHalf, Some(_)) => {
                for (pair, y) in made.chunks_exact_mut(2).zip(line) {
                    pair[0] = M::from_parts(y.re * scale, 0.0);
                    pair[1] = M::from_parts(y.im * scale, 0.0);
                }
            }
            _ => {
                for (made, y) in made.iter_mut().zip(line) {
                    *made = M::from_parts(y.re * scale, y.im * scale);
                }
            }
        }
    }
}

/// How lines of a length are transformed.
#[derive(Clone)]
struct Plan {
    fft: Arc<dyn Fft<f64>>,
    /// Where an even number of real elements is transformed as half as many complex ones.
    turns: Option<Arc<Turns>>,
}

impl Plan {
    /// A program uses a few lengths again and again, so some plans are kept.
    fn new(n: usize, direction: FftDirection, is_halved: bool) -> Self {
        /// Plans that are kept, each as large as its line.
        const MANY: usize = 16;
        static PLANS: Mutex<VecDeque<(usize, Plan)>> = Mutex::new(VecDeque::new());
        // Nothing panics between two states of the list.
        let mut plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |(len, plan): &&(usize, Self)| {
            let is_alike = plan.turns.is_some() == is_halved;
            *len == n && plan.fft.fft_direction() == direction && is_alike
        };
        if let Some((_, plan)) = plans.iter().find(is_it) {
            return plan.clone();
        }
        let len = if is_halved { n / 2 } else { n };
        let plan = Self {
            fft: FftPlannerScalar::new().plan_fft(len, direction),
            turns: is_halved.then(|| Arc::new(Turns::new(n))),
        };
        plans.truncate(MANY - 1);
        plans.push_front((n, plan.clone()));
        plan
    }
}
