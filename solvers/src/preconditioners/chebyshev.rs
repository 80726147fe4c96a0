//! Chebyshev polynomials: the preconditioner, and the steps that smoothers of multigrid take too.

use super::estimate::Estimate;
use super::jacobi::Jacobi;
use super::{Preconditioner, check_update};
use crate::operator::{LinearOperator, check_finite, check_len};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Runtime};
use sparsefuse_sparse::Csr;

const OP: &str = "chebyshev";

/// The polynomial of [`Chebyshev`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChebyshevOptions {
    /// How often the diagonal is divided by: one more than products where z starts from 0.
    pub degree: usize,
    /// The lower end of the eigenvalues that are damped, as a part of the estimated largest.
    pub lower: f64,
    /// The upper end, as a multiple of the estimated largest: what the estimate may be too low.
    pub upper: f64,
    /// The steps of the estimate, a product each; new values take half as many.
    pub steps: usize,
}

impl Default for ChebyshevOptions {
    /// Degree 2 for the upper nine tenths of the spectrum with 10 percent above: a smoother. PETSc
    /// has the same bounds.
    fn default() -> Self {
        Self {
            degree: 2,
            lower: 0.1,
            upper: 1.1,
            steps: 10,
        }
    }
}

/// Chebyshev iteration: z is what `degree` steps for A z = r make of z = 0, a polynomial in D^-1 A
/// that is as small as possible on the eigenvalues from `lower` to `upper`.
///
/// Saad, *Iterative Methods for Sparse Linear Systems*, 2nd edition, Algorithm 12.1; for smoothers
/// Adams, Brezina, Hu and Tuminaro (2003). For Hermitian matrices with a positive diagonal. A step
/// costs a product and an update of vectors that fuses with it; no reductions, so ranks exchange
/// nothing but ghosts. Holds the inverse of the diagonal and the vector of the estimate, and in a
/// step r, d and z.
///
/// **After an update the bits are not those of a fresh start**: the estimate of new values takes
/// half as many steps from the vector of the last one, and is no worse. It depends on the updates
/// before, and on neither threads nor ranks. An update is 1.8 times as fast as a fresh start
/// (`diffusion2d:300`, one core of an x86-64 server).
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::preconditioners::{Chebyshev, ChebyshevOptions};
/// use sparsefuse_solvers::{Options, cg_with};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(16)?;
/// let m = Chebyshev::new(&a, ChebyshevOptions { degree: 4, ..Default::default() })?;
/// let options = Options { preconditioner: Some(&m), ..Options::default() };
/// assert!(cg_with(&a, &Vector::ones([256]), options)?.converged());
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Chebyshev<T> {
    a: Csr<T>,
    jacobi: Jacobi<T>,
    options: ChebyshevOptions,
    estimate: Estimate<T>,
}

impl<T: Field> Chebyshev<T> {
    /// The iteration for a square matrix. Estimates the largest eigenvalue; every rank must ask.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, an entry is infinite or not a number, the options are out of
    /// range, D^-1 A has no positive eigenvalues, or the computation of the values failed.
    pub fn new(a: &Csr<T>, options: ChebyshevOptions) -> Result<Self, Error> {
        let is_range = 0.0 < options.lower && options.lower < options.upper;
        if options.degree == 0 || !is_range || !options.upper.is_finite() {
            let expected = "a degree above 0 and bounds with 0 < lower < upper";
            return Err(Error::argument(OP, expected, format!("{options:?}")));
        }
        let jacobi = Jacobi::new(a)?;
        check_finite(OP, a)?;
        Ok(Self {
            a: a.clone(),
            estimate: Estimate::new(a, &jacobi, options.steps)?,
            jacobi,
            options,
        })
    }

    /// The estimate of the largest eigenvalue of D^-1 A, without the margin.
    #[must_use]
    pub fn largest_eigenvalue(&self) -> f64 {
        self.estimate.largest()
    }

    /// `x` after the steps for A x = b: a smoother.
    ///
    /// # Errors
    ///
    /// If the lengths do not fit.
    pub fn smooth(&self, b: &Vector<T>, x: Vector<T>) -> Result<Vector<T>, Error> {
        check_len("chebyshev", self.a.n_rows(), b)?;
        check_len("chebyshev", self.a.n_rows(), &x)?;
        let (divide, product) = (|r: &_| self.jacobi.apply(r), |x: &_| self.a.try_matvec(x));
        self.interval()
            .iterate(divide, product, b, Some(x), self.options.degree)
    }

    fn interval(&self) -> Interval {
        let largest = self.estimate.largest();
        Interval::new(self.options.lower * largest, self.options.upper * largest)
    }
}

/// Where the eigenvalues of D^-1 A are that Chebyshev steps damp.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    center: f64,
    /// Half of it.
    width: f64,
}

impl Interval {
    pub(crate) fn new(lower: f64, upper: f64) -> Self {
        Self {
            center: 0.5 * (upper + lower),
            width: 0.5 * (upper - lower),
        }
    }

    /// What some steps for A x = b make of `x`, or of 0, with which the first needs no product;
    /// `divide` is D^-1 r.
    pub(crate) fn iterate<T: Field>(
        &self,
        divide: impl Fn(&Vector<T>) -> Result<Vector<T>, Error>,
        product: impl Fn(&Vector<T>) -> Result<Vector<T>, Error>,
        b: &Vector<T>,
        mut x: Option<Vector<T>>,
        steps: usize,
    ) -> Result<Vector<T>, Error> {
        let sigma = self.center / self.width;
        let mut rho = 1.0 / sigma;
        let mut d: Option<Vector<T>> = None;
        for _ in 0..steps {
            let r = match &x {
                None => divide(b)?,
                Some(x) => divide(&b.try_sub(&product(x)?)?)?,
            };
            let step = match d {
                None => r * T::from_f64(1.0 / self.center),
                Some(d) => {
                    let before = rho;
                    rho = 1.0 / (2.0 * sigma - before);
                    d * T::from_f64(rho * before) + r * T::from_f64(2.0 * rho / self.width)
                }
            };
            x = Some(match x {
                None => step.clone(),
                Some(x) => x + &step,
            });
            d = Some(step);
        }
        Ok(x.unwrap_or_else(|| b * T::ZERO))
    }
}

impl<T: Field> LinearOperator<T> for Chebyshev<T> {
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
        let (divide, product) = (|r: &_| self.jacobi.apply(r), |x: &_| self.a.try_matvec(x));
        self.interval()
            .iterate(divide, product, r, None, self.options.degree)
    }

    /// The same polynomial in the adjoint.
    fn apply_adjoint(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        let divide = |r: &_| self.jacobi.apply_adjoint(r);
        let product = |x: &_| self.a.apply_adjoint(x);
        self.interval()
            .iterate(divide, product, r, None, self.options.degree)
    }
}

impl<T: Field> Preconditioner<T> for Chebyshev<T> {
    fn update(&mut self, a: &Csr<T>) -> Result<(), Error> {
        check_update(OP, self, a)?;
        check_finite(OP, a)?;
        let jacobi = Jacobi::new(a)?;
        self.estimate = self.estimate.again(a, &jacobi, self.options.steps)?;
        (self.a, self.jacobi) = (a.clone(), jacobi);
        Ok(())
    }
}
