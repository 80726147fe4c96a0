//! Golub and Kahan's bidiagonalisation (1965), which `lsqr` and `lsmr` have in common.

use super::least_squares::LeastSquares;
use super::scaling::norm_of_tiny;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// u and v with A v = alpha u + (what came before), A'u = beta v + (what came before): both of
/// length 1. Where alpha or beta is 0, the vector is 0 too.
pub(super) struct Bidiagonal<T> {
    pub(super) u: Vector<T>,
    pub(super) v: Vector<T>,
    pub(super) alpha: f64,
    pub(super) beta: f64,
}

impl<T: Field> Bidiagonal<T> {
    /// Begins with a residual.
    pub(super) async fn new(
        problem: &LeastSquares<'_, '_, T>,
        r: &Vector<T>,
    ) -> Result<Self, Error> {
        let (u, beta) = normalized(r).await?;
        let (v, alpha) = normalized(&problem.apply_adjoint(&u)?).await?;
        Ok(Self { u, v, alpha, beta })
    }

    /// The next u, v, alpha, beta: one product, one with the adjoint, two reductions.
    pub(super) async fn step(&mut self, problem: &LeastSquares<'_, '_, T>) -> Result<(), Error> {
        let u = problem.apply(&self.v)? - &self.u * T::from_f64(self.alpha);
        (self.u, self.beta) = normalized(&u).await?;
        let v = problem.apply_adjoint(&self.u)? - &self.v * T::from_f64(self.beta);
        (self.v, self.alpha) = normalized(&v).await?;
        Ok(())
    }
}

/// A vector divided by its norm, and the norm.
async fn normalized<T: Field>(x: &Vector<T>) -> Result<(Vector<T>, f64), Error> {
    let norm = norm_of_tiny(x).await?;
    let factor = if norm == 0.0 { 1.0 } else { 1.0 / norm };
    Ok((x * T::from_f64(factor), norm))
}
