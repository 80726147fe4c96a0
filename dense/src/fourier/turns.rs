//! Transforms of an even number `n` of real numbers by one of half as many complex ones: the even
//! elements are its real parts, the odd ones its imaginary parts. Cooley, Lewis, Welch, "The fast
//! Fourier transform algorithm: programming considerations in the calculation of sine, cosine and
//! Laplace transforms", Journal of Sound and Vibration 12 (1970).

use super::lanes::Beside;
use num_complex::Complex;
use std::f64::consts::PI;

/// `exp(-2 pi i k / n)` for `k` up to `n / 2`.
pub(super) struct Turns(Vec<Complex<f64>>);

impl Turns {
    pub(super) fn new(n: usize) -> Self {
        let angle = |k: usize| -2.0 * PI * (k as f64 / n as f64);
        let mut turns: Vec<_> = (0..=n / 2).map(|k| Complex::cis(angle(k))).collect();
        // A half turn, exactly: so the element of the highest frequency is real.
        if let Some(half) = turns.last_mut().filter(|_| n > 1) {
            *half = Complex::new(-1.0, 0.0);
        }
        Self(turns)
    }

    /// Element `k` of the transform of `n` real numbers, from the transform of the `n / 2` complex
    /// ones.
    #[inline(always)]
    pub(super) fn parted<V: Beside>(
        &self,
        z: impl Fn(usize) -> Complex<V>,
        k: usize,
    ) -> Complex<V> {
        let m = self.0.len() - 1;
        let other = if k == 0 || k == m { 0 } else { m - k };
        let (a, b) = (z(if k == m { 0 } else { k }), z(other).conj());
        let half = V::of(|_| 0.5);
        let (a, b) = (a * half, b * half);
        let (even, odd) = (a + b, a - b);
        let turn = Complex::new(V::of(|_| self.0[k].re), V::of(|_| self.0[k].im));
        even + turn * Complex::new(odd.im, -odd.re)
    }

    /// The inverse of [`Turns::parted`]: element `k` of the transform of the `n / 2` complex
    /// numbers, from those of the `n` real ones.
    #[inline(always)]
    pub(super) fn joined(&self, y: impl Fn(usize) -> Complex<f64>, k: usize) -> Complex<f64> {
        let m = self.0.len() - 1;
        let (a, b) = (y(k), y(m - k).conj());
        let (a, b) = (a * 0.5, b * 0.5);
        let (even, odd) = (a + b, (a - b) * self.0[k].conj());
        even + Complex::new(-odd.im, odd.re)
    }
}
