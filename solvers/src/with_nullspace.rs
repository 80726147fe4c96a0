//! Operators with their nullspaces.
//!
//! An operator that is given one says so by [`LinearOperator::nullspace`]; then every solver solves
//! with the part of b that is orthogonal to it, keeps preconditioned vectors orthogonal to it, and
//! so finds the solution that is.

use crate::nullspace::Nullspace;
use crate::operator::LinearOperator;
use crate::powers::times_power;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::{Error, Runtime};
use sparsefuse_sparse::Asymmetry;
use std::fmt;

/// An operator with its nullspace, which must be that of its adjoint too, as it is for symmetric
/// and Hermitian operators. It stands for the operator wherever a solver takes one.
///
/// A right-hand side with a part in the nullspace has no solution; that part is left out, and its
/// norm is [`Solution::nullspace_part`](crate::Solution::nullspace_part).
#[derive(Clone)]
pub struct WithNullspace<'a, T> {
    a: &'a dyn LinearOperator<T>,
    nullspace: Nullspace<T>,
}

impl<'a, T: Field> WithNullspace<'a, T> {
    /// The operator with this nullspace; asks the operator whether it maps the basis to 0, up to
    /// the square root of rounding.
    ///
    /// # Errors
    ///
    /// If it does not, or the shapes do not fit.
    pub fn new(a: &'a dyn LinearOperator<T>, nullspace: Nullspace<T>) -> Result<Self, Error> {
        let n = nullspace.basis()[0].len();
        Error::check_shape("nullspace", &[n, n], &<[usize; 2]>::from(a.shape()))?;
        let probe = nullspace.basis()[0]
            .runtime()
            .enter(|| Vector::random_normal([n], 1));
        let size = growth(a, &probe)?;
        for (number, q) in nullspace.basis().iter().enumerate() {
            let of_q = growth(a, q)?;
            // Neither is at most a size that is not a number.
            if !(of_q <= T::Real::EPSILON.to_f64().sqrt() * size) {
                let found = format!("vector {number}, whose image is {of_q:.1e} times as large");
                let expected =
                    format!("vectors that the operator maps to 0, others to about {size:.1e}");
                return Err(Error::argument("nullspace", expected, found));
            }
        }
        Ok(Self { a, nullspace })
    }
}

/// How many times as large the image of a vector is, by their largest elements, which have no
/// squares.
fn growth<T: Field>(a: &dyn LinearOperator<T>, x: &Vector<T>) -> Result<f64, Error> {
    let of = |x: &Vector<T>| -> Result<f64, Error> {
        let (of_image, of_x) = (a.apply(x)?.norm_inf(), x.norm_inf());
        Ok(of_image.get()?.to_f64() / of_x.get()?.to_f64())
    };
    match of(x)? {
        found if found.is_finite() => Ok(found),
        // Sums of the largest entries may overflow.
        _ => of(&times_power(x, -30)),
    }
}

impl<T: Field> LinearOperator<T> for WithNullspace<'_, T> {
    fn shape(&self) -> (usize, usize) {
        self.a.shape()
    }

    fn apply(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        self.a.apply(x)
    }

    fn apply_adjoint(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        self.a.apply_adjoint(x)
    }

    fn bytes(&self) -> Option<usize> {
        self.a.bytes()
    }

    fn is_repeatable(&self) -> bool {
        self.a.is_repeatable()
    }

    fn largest_entry(&self) -> Result<Option<f64>, Error> {
        self.a.largest_entry()
    }

    fn precise_residual(&self, b: &Vector<T>, x: &Vector<T>) -> Result<Option<Vector<T>>, Error> {
        self.a.precise_residual(b, x)
    }

    fn asymmetry(&self) -> Result<Option<Asymmetry>, Error> {
        self.a.asymmetry()
    }

    fn runtime(&self) -> Option<&Runtime> {
        self.a.runtime()
    }

    fn nullspace(&self) -> Option<&Nullspace<T>> {
        Some(&self.nullspace)
    }
}

impl<T: Field> fmt::Debug for WithNullspace<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n_rows, n_cols) = self.a.shape();
        let vectors = self.nullspace.basis().len();
        write!(f, "WithNullspace({n_rows} by {n_cols}, {vectors} vectors)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsefuse_sparse::{Csr, gallery};

    #[test]
    fn what_is_not_mapped_to_zero_is_refused_at_any_scale() {
        let refused =
            |a: &Csr<f64>| WithNullspace::new(a, Nullspace::constant(3).unwrap()).is_err();
        let singular = Csr::<f64>::new(
            3,
            3,
            vec![0, 2, 5, 7],
            vec![0, 1, 0, 1, 2, 1, 2],
            vec![1.0, -1.0, -1.0, 2.0, -1.0, -1.0, 1.0],
        )
        .unwrap();
        let regular = gallery::poisson1d::<f64>(3).unwrap();
        for scale in [1e-300, 1e-200, 1.0, 1e200, 1e300] {
            assert!(refused(&regular.scale(scale)), "{scale}");
            assert!(!refused(&singular.scale(scale)), "{scale}");
        }
        assert!(refused(&regular.scale(f64::NAN)));
    }
}
