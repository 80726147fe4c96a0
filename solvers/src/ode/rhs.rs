//! The right-hand side f of y' = f(t, y).

use super::options::OfState;
use super::root::root;
use crate::operator::check_runtime;
use sparsefuse_dense::{Array, Scalar};
use sparsefuse_kernels::{Field, Numeric};
use sparsefuse_runtime::Error;

const OP: &str = "solve_ivp";

/// The function, what its values must be, and by which tolerances errors of the state are measured.
pub(super) struct Rhs<'a, T, const D: usize> {
    function: &'a mut OfState<'a, T, D, Result<Array<T, D>, Error>>,
    pub(super) evaluations: usize,
    pub(super) rtol: f64,
    pub(super) atol: f64,
}

impl<'a, T: Field, const D: usize> Rhs<'a, T, D> {
    pub(super) fn new(
        function: &'a mut OfState<'a, T, D, Result<Array<T, D>, Error>>,
        (rtol, atol): (f64, f64),
    ) -> Self {
        Self {
            function,
            evaluations: 0,
            rtol,
            atol,
        }
    }

    /// f(t, y).
    pub(super) fn slope(&mut self, t: f64, y: &Array<T, D>) -> Result<Array<T, D>, Error> {
        self.evaluations += 1;
        let slope = (self.function)(t, y)?;
        check_runtime(OP, y, &slope)?;
        Error::check_shape(OP, &y.shape(), &slope.shape())?;
        Ok(slope)
    }

    /// How large an error each element of a state may have.
    pub(super) fn allowed(&self, size: &Array<T::Real, D>) -> Array<T::Real, D> {
        size * real::<T>(self.rtol) + real::<T>(self.atol)
    }

    /// The length of the first step, for a method whose error grows by `error_order + 1` powers of
    /// it: Hairer, Norsett, Wanner, *Solving Ordinary Differential Equations I*, section II.4.
    pub(super) fn first_step(
        &mut self,
        (t, y, slope): (f64, &Array<T, D>, &Array<T, D>),
        (towards, span, [shortest, longest]): (f64, f64, [f64; 2]),
        error_order: u32,
    ) -> Result<f64, Error> {
        let allowed = self.allowed(&y.abs());
        let of_state = squares::<T, D>(y, &allowed);
        let of_slope = squares::<T, D>(slope, &allowed);
        let (of_state, of_slope) = (
            mean(of_state.get()?, y.len()),
            mean(of_slope.get()?, y.len()),
        );
        let tried = match of_state < 1e-5 || of_slope < 1e-5 {
            true => 1e-6,
            false => 0.01 * of_state / of_slope,
        };
        let tried = tried.min(span);
        let next = y + slope * T::from_f64(tried * towards);
        let change = self.slope(t + tried * towards, &next)? - slope;
        let of_change = norm(&change, &allowed)? / tried;
        let step = match of_slope <= 1e-15 && of_change <= 1e-15 {
            true => (tried * 1e-3).max(1e-6),
            false => root(0.01 / of_slope.max(of_change), error_order + 1),
        };
        Ok(step.min(100.0 * tried).max(shortest).min(span).min(longest))
    }
}

/// The norm of an array by what is allowed for each element.
pub(super) fn norm<T: Field, const D: usize>(
    array: &Array<T, D>,
    allowed: &Array<T::Real, D>,
) -> Result<f64, Error> {
    Ok(mean(squares::<T, D>(array, allowed).get()?, array.len()))
}

/// The sum of the squares of the elements by what is allowed for each. In double precision: those
/// of steep slopes are out of the range of single precision.
pub(super) fn squares<T: Field, const D: usize>(
    array: &Array<T, D>,
    allowed: &Array<T::Real, D>,
) -> Scalar<f64> {
    (array.abs() / allowed).cast::<f64>().sum_of_squares()
}

/// The root of the mean of squares.
pub(super) fn mean(sum_of_squares: f64, len: usize) -> f64 {
    (sum_of_squares / len.max(1) as f64).sqrt()
}

/// A number as a real one of the precision of `T`.
pub(super) fn real<T: Field>(x: f64) -> T::Real {
    T::Real::from_f64(x)
}
