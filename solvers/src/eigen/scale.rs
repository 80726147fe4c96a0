//! Eigenvalues do not depend on the scale of the operator.
//!
//! The methods form squares of images and of residuals, which become 0 or infinite where the
//! operator is very small or very large. So such an operator is divided by a power of two, which is
//! exact, and eigenvalues and residuals are multiplied back.

use super::Eigen;
use crate::krylov::scaling::Scaled;
use crate::operator::LinearOperator;
use crate::powers::{power_near_one, times_power, times_power_of};
use crate::solution::StopReason;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;

/// The seed of the vector that operators are tried with.
const SEED: u64 = 0x5ca1e;

/// About how large the entries of an operator are: from itself, or from one application.
fn size<T: Field>(op: &'static str, a: &dyn LinearOperator<T>) -> Result<f64, Error> {
    let largest = a.largest_entry().map_err(|error| error.of_operation(op))?;
    if let Some(largest) = largest {
        return Ok(largest);
    }
    let random = || Vector::random_uniform([a.shape().1], SEED);
    let probe = match a.runtime() {
        Some(runtime) => runtime.enter(random),
        None => random(),
    };
    Ok(a.apply(&probe)?.norm_inf().get()?.to_f64())
}

/// The power of two that an operator is divided by.
pub(super) fn power_of<T: Field>(
    op: &'static str,
    a: &dyn LinearOperator<T>,
) -> Result<i32, Error> {
    Ok(power_near_one::<T>(size(op, a)?))
}

/// The power of two that an operator is divided by, and what is subtracted from its diagonal; and
/// whether the rounding of what is subtracted hides the operator.
pub(super) fn power_of_shifted<T: Field>(
    op: &'static str,
    a: &dyn LinearOperator<T>,
    shift: f64,
) -> Result<(i32, bool), Error> {
    let size = size(op, a)?;
    // No eigenvalue is larger than the largest entry times the rows.
    let most = size * a.shape().0 as f64;
    let is_hidden = size > 0.0 && most < T::Real::EPSILON.to_f64() * shift.abs();
    Ok((power_near_one::<T>(size.max(shift.abs())), is_hidden))
}

/// An operator divided by a power of two; by 2^0 it has its own bits.
pub(super) fn divided<T>(a: &dyn LinearOperator<T>, power: i32) -> Scaled<'_, T> {
    Scaled::new(a, -power / 2, -power - -power / 2)
}

/// What was found of an operator divided by 2^`of_a`, and a mass matrix divided by 2^`of_b`, an
/// even power: of those that were asked for.
pub(super) fn multiplied<T: Field>(mut eigen: Eigen<T>, of_a: i32, of_b: i32) -> Eigen<T> {
    for value in &mut eigen.values {
        *value = times_power_of(*value, of_a - of_b);
    }
    for residual in &mut eigen.residuals {
        *residual = times_power_of(*residual, of_a - of_b / 2);
    }
    if of_b != 0 {
        let scaled = |x: &Vector<T>| times_power(x, -of_b / 2);
        eigen.vectors = eigen.vectors.iter().map(scaled).collect();
    }
    // Nothing is claimed of numbers that overflow.
    let finite = |pair: &(&f64, &f64)| pair.0.is_finite() && pair.1.is_finite();
    let n_finite = eigen
        .values
        .iter()
        .zip(&eigen.residuals)
        .filter(finite)
        .count();
    if n_finite < eigen.values.len() {
        eigen.n_converged = eigen.n_converged.min(n_finite);
        eigen.reason = StopReason::NotFinite;
    }
    eigen
}
