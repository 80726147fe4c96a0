//! A truncated Neumann series.

use super::estimate::Estimate;
use super::jacobi::Jacobi;
use super::{Preconditioner, check_update};
use crate::operator::{LinearOperator, check_finite};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Runtime};
use sparsefuse_sparse::Csr;

const OP: &str = "polynomial";

/// The steps of the estimate of the largest eigenvalue.
const STEPS: usize = 10;

/// The series of [`Polynomial`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolynomialOptions {
    /// The highest power, which is the number of products.
    pub degree: usize,
    /// The damping; `None` for 4/3 through the estimated largest eigenvalue of D^-1 A.
    pub omega: Option<f64>,
}

impl Default for PolynomialOptions {
    /// Degree 2, damped by the estimate.
    fn default() -> Self {
        Self {
            degree: 2,
            omega: None,
        }
    }
}

/// The Neumann series: z = sum of (I - omega D^-1 A)^k omega D^-1 r for k up to the degree.
///
/// Dubois, Greenbaum and Rodrigue (1979); Saad, *Iterative Methods for Sparse Linear Systems*, 2nd
/// edition, section 12.3.1. Array code, by Horner's rule: each power costs a product and an update
/// that fuses with it. Holds the inverse of the diagonal. Symmetric where the matrix is, and
/// positive where the eigenvalues of omega D^-1 A lie between 0 and 2.
///
/// Where omega is estimated, an update goes on from the last estimate, as that of
/// [`Chebyshev`](super::Chebyshev) does: the bits are not those of a fresh start, which takes 1.8
/// times as long (`diffusion2d:300`, one core of an x86-64 server).
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::preconditioners::{Polynomial, PolynomialOptions};
/// use sparsefuse_solvers::{Options, cg_with};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(16)?;
/// let m = Polynomial::new(&a, PolynomialOptions::default())?;
/// let options = Options { preconditioner: Some(&m), ..Options::default() };
/// assert!(cg_with(&a, &Vector::ones([256]), options)?.converged());
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Polynomial<T> {
    a: Csr<T>,
    jacobi: Jacobi<T>,
    options: PolynomialOptions,
    /// Where the options leave omega open.
    estimate: Option<Estimate<T>>,
}

impl<T: Field> Polynomial<T> {
    /// The series for a square matrix. Every rank must ask.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, an entry is infinite or not a number, omega is not a positive
    /// number, or, where it is to be estimated, D^-1 A has no positive eigenvalues; if the
    /// computation of the values failed.
    pub fn new(a: &Csr<T>, options: PolynomialOptions) -> Result<Self, Error> {
        let jacobi = Jacobi::new(a)?;
        check_finite(OP, a)?;
        let estimate = match options.omega {
            Some(_) => None,
            None => Some(Estimate::new(a, &jacobi, STEPS)?),
        };
        let series = Self {
            a: a.clone(),
            jacobi,
            options,
            estimate,
        };
        let omega = series.omega();
        if !(omega > 0.0 && omega.is_finite()) {
            return Err(Error::argument(OP, "an omega above 0", omega.to_string()));
        }
        Ok(series)
    }

    /// The damping that is used.
    #[must_use]
    pub fn omega(&self) -> f64 {
        let estimated = || {
            self.estimate
                .as_ref()
                .map_or(0.0, |e| 4.0 / (3.0 * e.largest()))
        };
        self.options.omega.unwrap_or_else(estimated)
    }

    /// The terms of the series one after the other; `divide` is D^-1 r.
    fn series(
        &self,
        divide: impl Fn(&Vector<T>) -> Result<Vector<T>, Error>,
        product: impl Fn(&Vector<T>) -> Result<Vector<T>, Error>,
        r: &Vector<T>,
    ) -> Result<Vector<T>, Error> {
        let omega = T::from_f64(self.omega());
        let mut z = divide(r)? * omega;
        for _ in 0..self.options.degree {
            let residual = r - product(&z)?;
            z += divide(&residual)? * omega;
        }
        Ok(z)
    }
}

impl<T: Field> LinearOperator<T> for Polynomial<T> {
    fn shape(&self) -> (usize, usize) {
        self.a.shape()
    }

    fn runtime(&self) -> Option<&Runtime> {
        Some(self.a.runtime())
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    fn apply(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        self.series(|r| self.jacobi.apply(r), |x| self.a.try_matvec(x), r)
    }

    fn apply_adjoint(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        let divide = |r: &_| self.jacobi.apply_adjoint(r);
        self.series(divide, |x| self.a.apply_adjoint(x), r)
    }
}

impl<T: Field> Preconditioner<T> for Polynomial<T> {
    fn update(&mut self, a: &Csr<T>) -> Result<(), Error> {
        check_update(OP, self, a)?;
        check_finite(OP, a)?;
        let jacobi = Jacobi::new(a)?;
        if let Some(estimate) = &mut self.estimate {
            *estimate = estimate.again(a, &jacobi, STEPS)?;
        }
        (self.a, self.jacobi) = (a.clone(), jacobi);
        Ok(())
    }
}
