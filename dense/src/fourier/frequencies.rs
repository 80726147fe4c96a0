//! The frequencies of a transform, and the order in which it has them.

use crate::array::{Array, Vector};
use crate::operand::named;
use crate::twins::twins;
use sparsefuse_kernels::{Element, Real};
use sparsefuse_runtime::{Access, Error, HostArgs, Shape};

twins! {
    @ "As all functions of one value: see the [rules](crate#rules).";
    [T: Element, const D: usize] Array<T, D>;
    /// The array with frequency 0 in the middle of each axis, and not at its beginning: NumPy's
    /// `fft.fftshift`. Along one axis alone it is [`Array::roll`] by half its length. One task,
    /// which is not fused; on several ranks three for each axis, which are.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::<i64>::arange(5);
    /// assert_eq!(x.fftshift().to_vec()?, [3, 4, 0, 1, 2]);
    /// assert_eq!(x.fftshift().ifftshift().to_vec()?, [0, 1, 2, 3, 4]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    fftshift try_fftshift(&self) -> Self { self.rolled(|half| half) }

    /// The inverse of [`Array::fftshift`]: NumPy's `fft.ifftshift`.
    ifftshift try_ifftshift(&self) -> Self { self.rolled(|half| -half) }
}

impl<T: Element, const D: usize> Array<T, D> {
    /// The array moved along each axis as far as half its length says.
    fn rolled(&self, places: impl Fn(isize) -> isize) -> Result<Self, Error> {
        let shape = self.shape();
        let places = shape.map(|n| places((n / 2) as isize));
        if self.runtime().ranks() > 1 || D == 0 {
            let moved = |moved: Self, axis: usize| moved.try_roll(axis, places[axis]);
            return (0..D).try_fold(self.clone(), moved);
        }
        let x = self.contiguous()?;
        let row_len = shape[D - 1];
        let function = move |args: &mut HostArgs<'_>| {
            let (x, made) = (args.read::<T>(0)?, args.write::<T>(1)?);
            // Where the element comes from that is the first of a row.
            let begins = (row_len as isize - places[D - 1]).rem_euclid(row_len.max(1) as isize);
            args.in_parts(made, row_len, |first, part| {
                for (row, made) in (first..).zip(part.chunks_exact_mut(row_len.max(1))) {
                    let (mut left, mut from, mut step) = (row, 0, row_len);
                    for d in (0..D - 1).rev() {
                        let n = shape[d];
                        let index = (left % n) as isize - places[d];
                        from += index.rem_euclid(n as isize) as usize * step;
                        (left, step) = (left / n, step * n);
                    }
                    let x = &x[from..from + row_len];
                    let (last, rest) = x.split_at(begins as usize);
                    let (made_first, made_last) = made.split_at_mut(rest.len());
                    made_first.copy_from_slice(rest);
                    made_last.copy_from_slice(last);
                }
                Ok(())
            })
        };
        let reads = [(x.store(), Access::Held)];
        Array::made_by(
            "fftshift",
            self.runtime(),
            Shape::new(&shape),
            &reads,
            function,
        )
    }
}

twins! {
    [T: Real] Vector<T>;
    /// The frequencies of the elements of a transform of `n` elements that lie `spacing` apart, in
    /// cycles per unit of the spacing: those from 0 up, and then the negative ones. NumPy's
    /// `fft.fftfreq`. Few tasks, which fuse.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let frequencies = Vector::<f64>::fftfreq(5, 0.1);
    /// assert_eq!(frequencies.to_vec()?, [0.0, 2.0, 4.0, -4.0, -2.0]);
    /// assert_eq!(Vector::<f64>::rfftfreq(5, 0.1).to_vec()?, [0.0, 2.0, 4.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    @ "If `n` or the spacing is 0, or memory cannot hold as many elements."
    fftfreq try_fftfreq(n: usize, spacing: f64) -> Self {
        const OP: &str = "fftfreq";
        let step = step(OP, n, spacing)?;
        named(OP, || {
            let number = Vector::<i64>::try_arange(n)?;
            let is_negative = number.try_greater((n as i64 - 1) / 2)?;
            let number = is_negative.try_select(&number.try_sub(n as i64)?, &number)?;
            number.try_cast::<T>()?.try_mul(T::from_f64(step))
        })
    }

    /// The frequencies of the elements of a transform of `n` real numbers that lie `spacing` apart,
    /// as [`Array::rfft_axis`] gives them. NumPy's `fft.rfftfreq`; otherwise as
    /// [`Vector::fftfreq`].
    @ "As [`Vector::try_fftfreq`]."
    rfftfreq try_rfftfreq(n: usize, spacing: f64) -> Self {
        const OP: &str = "rfftfreq";
        let step = step(OP, n, spacing)?;
        named(OP, || {
            let number = Vector::<T>::try_arange(n / 2 + 1)?;
            number.try_mul(T::from_f64(step))
        })
    }
}

/// The distance between two frequencies.
fn step(op: &'static str, n: usize, spacing: f64) -> Result<f64, Error> {
    let length = n as f64 * spacing;
    match length == 0.0 {
        true => {
            let expected = "elements at a distance other than 0";
            Err(Error::argument(op, expected, format!("{n} at {spacing}")))
        }
        false => Ok(1.0 / length),
    }
}
