//! Nullspaces of singular operators, such as the constants of a pure Neumann problem.
//!
//! An orthonormal basis, and the projections with it.

use crate::powers::{power_near_one, times_power};
use crate::turns::{alone, norm_of};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::{Error, Runtime};

/// A space of vectors that an operator maps to 0, by an orthonormal basis.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::{Nullspace, WithNullspace, cg};
/// use sparsefuse_sparse::Csr;
///
/// // The second difference with u' = 0 at both ends: rows sum to 0.
/// let values = vec![1.0, -1.0, -1.0, 2.0, -1.0, -1.0, 1.0];
/// let a = Csr::<f64>::new(3, 3, vec![0, 2, 5, 7], vec![0, 1, 0, 1, 2, 1, 2], values)?;
/// let a = WithNullspace::new(&a, Nullspace::constant(3)?)?;
/// let solution = cg(&a, &Vector::from_vec(vec![1.0, 0.0, -1.0]))?;
/// assert!(solution.converged());
/// let x = solution.x.to_vec()?;
/// assert!((x[0] - 1.0).abs() < 1e-12 && x[1].abs() < 1e-12 && (x[2] + 1.0).abs() < 1e-12);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Nullspace<T> {
    basis: Vec<Vector<T>>,
}

impl<T: Field> Nullspace<T> {
    /// The constant vectors of length `n`, in the current runtime.
    ///
    /// # Errors
    ///
    /// If `n` is 0.
    pub fn constant(n: usize) -> Result<Self, Error> {
        Self::spanned_by(&[Runtime::current().enter(|| Vector::ones([n]))])
    }

    /// The space that some vectors span, which are made orthonormal, each twice against those
    /// before it (modified Gram-Schmidt).
    ///
    /// # Errors
    ///
    /// If there are none, their lengths differ, or one depends on those before it.
    pub fn spanned_by(vectors: &[Vector<T>]) -> Result<Self, Error> {
        let Some(first) = vectors.first() else {
            let expected = "at least one vector";
            return Err(Error::argument("nullspace", expected, "none"));
        };
        let mut basis: Vec<Vector<T>> = Vec::with_capacity(vectors.len());
        for (number, vector) in vectors.iter().enumerate() {
            Error::check_shape("nullspace", &first.shape(), &vector.shape())?;
            // Of numbers whose squares leave the range of their type, none would be seen.
            let size = vector.norm_inf().get()?.to_f64();
            let mut q = times_power(vector, -power_near_one::<T>(size));
            let before = norm(&q)?;
            for _ in 0..2 {
                for other in &basis {
                    q -= other.try_dot(&q)? * other;
                }
            }
            let norm = norm(&q)?;
            let is_independent = norm > 1e2 * T::Real::EPSILON.to_f64() * before;
            if !is_independent || !norm.is_finite() {
                let expected = "vectors that do not depend on each other";
                let why = match norm.is_finite() {
                    true => "which those before it span",
                    false => "which is not finite",
                };
                let found = format!("vector {number}, {why}");
                return Err(Error::argument("nullspace", expected, found));
            }
            basis.push(q * T::from_f64(1.0 / norm));
        }
        Ok(Self { basis })
    }

    /// The orthonormal basis.
    #[must_use]
    pub fn basis(&self) -> &[Vector<T>] {
        &self.basis
    }

    /// The part of a vector that is orthogonal to the space, x - Q Q'x. The inner products are one
    /// fused task.
    ///
    /// # Errors
    ///
    /// If the vector has another length.
    pub fn project(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        let mut rest = x.clone();
        let coefficients = self.basis.iter().map(|q| q.try_dot(x));
        let coefficients = coefficients.collect::<Result<Vec<_>, _>>()?;
        for (q, coefficient) in self.basis.iter().zip(&coefficients) {
            rest -= coefficient * q;
        }
        Ok(rest)
    }

    /// The part of a vector that is orthogonal to the space, and the norm of the part within.
    pub(crate) fn split(&self, b: &Vector<T>) -> Result<(Vector<T>, f64), Error> {
        let rest = self.project(b)?;
        let within = norm(&b.try_sub(&rest)?)?;
        Ok((rest, within))
    }
}

/// The Euclidean norm.
pub(crate) fn norm<T: Field>(x: &Vector<T>) -> Result<f64, Error> {
    alone(norm_of(x))
}
