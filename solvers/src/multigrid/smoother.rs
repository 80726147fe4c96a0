//! The smoothers of one level, as array code.
//!
//! Each comes in two forms: [`Relaxation::before`] begins with x = 0, before the coarse
//! correction, and [`Relaxation::after`] improves an x, after it. The second is the adjoint of the
//! first with regard to A, so that a cycle with as many steps after as before is symmetric.

use super::colors::Colors;
use super::options::Smoother;
use crate::operator::check_square;
use crate::preconditioners::Interval;
use sparsefuse_dense::{Scalar, Vector};
use sparsefuse_kernels::{Field, Numeric, Real};
use sparsefuse_runtime::{Error, try_collect};
use sparsefuse_sparse::Csr;

/// The smoother of one level.
#[derive(Clone, Debug)]
pub(super) enum Relaxation<T> {
    /// x += w r, w = omega D^-1.
    Jacobi(Diagonal<T>),
    /// The steps of [`Chebyshev`](crate::preconditioners::Chebyshev).
    Chebyshev {
        inverse: Diagonal<T>,
        interval: Interval,
    },
    /// x += D^-1 r at the unknowns of one color, for each color: D^-1 with zeros at the others.
    GaussSeidel(Vec<Vector<T>>),
}

/// A diagonal matrix; a number where all of its elements are equal, which saves reading them.
#[derive(Clone, Debug)]
pub(super) enum Diagonal<T> {
    Equal(T),
    Varying(Vector<T>),
}

impl<T: Field> Diagonal<T> {
    /// D^-1 of a matrix; 1 where the diagonal is 0, which leaves such rows to the others.
    pub(super) fn inverse_of(a: &Csr<T>) -> Result<Self, Error> {
        let diagonal = a.diagonal(0)?;
        let divisor = diagonal.equal(T::ZERO).select(T::ONE, &diagonal);
        Self::Varying(divisor.recip()).simplified()
    }

    /// The same as a number, if it is one.
    fn simplified(self) -> Result<Self, Error> {
        let Self::Varying(vector) = &self else {
            return Ok(self);
        };
        let local = vector.runtime().agree(vector.local())?;
        let first = local.first().copied();
        let is_equal = local.iter().all(|value| Some(*value) == first);
        let mine: Vec<T> = first.filter(|_| is_equal).into_iter().collect();
        let counts = vector.runtime().all_gather(&[u64::from(!is_equal)])?;
        let ends = vector.runtime().all_gather(&mine)?;
        let mut numbers = ends.iter().flatten();
        match numbers.next() {
            Some(number)
                if counts.iter().all(|varying| varying[0] == 0)
                    && numbers.all(|other| other == number) =>
            {
                Ok(Self::Equal(*number))
            }
            _ => Ok(self),
        }
    }

    pub(super) fn times(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        match self {
            Self::Equal(number) => Ok(r * *number),
            Self::Varying(diagonal) => diagonal.try_mul(r),
        }
    }

    fn scaled(&self, factor: f64) -> Self {
        let factor = T::from_f64(factor);
        match self {
            Self::Equal(number) => Self::Equal(*number * factor),
            Self::Varying(diagonal) => Self::Varying(diagonal * factor),
        }
    }
}

impl<T: Field> Relaxation<T> {
    /// The smoother for a matrix; `omega` is what the hierarchy takes for the weight of Jacobi
    /// steps where the options leave it open; `lambda` the largest eigenvalue of D^-1 A, if it is
    /// known; `colors` are those of the rows, if they have any.
    pub(super) fn new(
        a: &Csr<T>,
        smoother: Smoother,
        omega: Option<f64>,
        lambda: Option<f64>,
        colors: Option<&Colors>,
    ) -> Result<Self, Error> {
        let inverse = Diagonal::inverse_of(a)?;
        let largest = || match lambda {
            Some(lambda) => Ok(lambda),
            None => check_eigenvalue(eigenvalue(a, &inverse)?),
        };
        Ok(match smoother {
            Smoother::Jacobi { omega: asked } => {
                let omega = match asked.or(omega) {
                    Some(omega) => omega,
                    None => 4.0 / 3.0 / largest()?,
                };
                Self::Jacobi(inverse.scaled(omega))
            }
            Smoother::Chebyshev { ratio } => {
                // The estimate is from below.
                let upper = 1.1 * largest()?;
                Self::Chebyshev {
                    inverse,
                    interval: Interval::new(upper / ratio, upper),
                }
            }
            Smoother::GaussSeidel => {
                let colors = colors.ok_or_else(|| {
                    let expected = "a grid for Gauss-Seidel steps";
                    Error::argument("multigrid", expected, "a matrix without one")
                })?;
                Self::GaussSeidel(by_color(a, &inverse, colors)?)
            }
        })
    }

    /// The number w if [`Relaxation::before`] gives w b.
    pub(super) fn as_number(&self, steps: usize) -> Option<T> {
        match self {
            Self::Jacobi(Diagonal::Equal(number)) if steps == 1 => Some(*number),
            Self::Jacobi(_) | Self::Chebyshev { .. } | Self::GaussSeidel(_) => None,
        }
    }

    /// x after some steps from x = 0, of which the first needs no product.
    pub(super) fn before(
        &self,
        a: &Csr<T>,
        b: &Vector<T>,
        steps: usize,
    ) -> Result<Vector<T>, Error> {
        match self {
            Self::Jacobi(weights) => {
                let x = weights.times(b)?;
                self.after(a, b, x, steps - 1)
            }
            Self::Chebyshev { inverse, interval } => {
                let (divide, product) = (|r: &_| inverse.times(r), |x: &_| a.try_matvec(x));
                interval.iterate(divide, product, b, None, steps)
            }
            Self::GaussSeidel(colors) => {
                let mut x = &colors[0] * b;
                for color in colors.iter().cycle().skip(1).take(steps * colors.len() - 1) {
                    x += color * residual(a, b, &x)?;
                }
                Ok(x)
            }
        }
    }

    /// x after some steps from x = 0 that are symmetric.
    pub(super) fn alone(
        &self,
        a: &Csr<T>,
        b: &Vector<T>,
        steps: usize,
    ) -> Result<Vector<T>, Error> {
        let x = self.before(a, b, steps)?;
        match self {
            Self::Jacobi(_) | Self::Chebyshev { .. } => Ok(x),
            Self::GaussSeidel(_) => self.after(a, b, x, steps),
        }
    }

    /// x after some more steps.
    pub(super) fn after(
        &self,
        a: &Csr<T>,
        b: &Vector<T>,
        mut x: Vector<T>,
        steps: usize,
    ) -> Result<Vector<T>, Error> {
        match self {
            Self::Jacobi(weights) => {
                for _ in 0..steps {
                    x += weights.times(&residual(a, b, &x)?)?;
                }
            }
            Self::Chebyshev { inverse, interval } => {
                let (divide, product) = (|r: &_| inverse.times(r), |x: &_| a.try_matvec(x));
                x = interval.iterate(divide, product, b, Some(x), steps)?;
            }
            Self::GaussSeidel(colors) => {
                for _ in 0..steps {
                    for color in colors.iter().rev() {
                        x += color * residual(a, b, &x)?;
                    }
                }
            }
        }
        Ok(x)
    }
}

fn residual<T: Field>(a: &Csr<T>, b: &Vector<T>, x: &Vector<T>) -> Result<Vector<T>, Error> {
    b.try_sub(&a.try_matvec(x)?)
}

/// D^-1 with zeros but at the rows of one color, for each color.
fn by_color<T: Field>(
    a: &Csr<T>,
    inverse: &Diagonal<T>,
    colors: &Colors,
) -> Result<Vec<Vector<T>>, Error> {
    let inverse = match inverse {
        Diagonal::Varying(inverse) => inverse.clone(),
        Diagonal::Equal(number) => a.runtime().enter(|| Vector::full([a.n_rows()], *number)),
    };
    let local = a.runtime().agree(inverse.local())?;
    let rows = local.rows();
    let masked = |color: usize| {
        let element = |(row, &value): (usize, &T)| match colors.of(row) == color {
            true => value,
            false => T::ZERO,
        };
        let elements = try_collect(rows.clone().zip(local.iter()).map(element));
        a.runtime()
            .agree(elements.and_then(|elements| inverse.with_local(elements)))
    };
    (0..colors.count()).map(masked).collect()
}

/// An estimate of the largest eigenvalue of D^-1 A, from below, by ten steps of the power method
/// from a random vector that depends on the number of rows alone.
///
/// The last ratio of norms is returned (0 where the last vector is 0), which for symmetric
/// matrices is at most the eigenvalue of largest modulus (in the norm in which D^-1 A is symmetric
/// up to the condition of D). Ten products, which fuse with all else, and sums of squares: cheaper
/// than
/// [`estimate_largest_eigenvalue`](crate::preconditioners::estimate_largest_eigenvalue), which is
/// nearer but for definite matrices only.
///
/// # Errors
///
/// If the matrix is not square, or its values could not be computed.
pub fn largest_eigenvalue<T: Field>(a: &Csr<T>) -> Result<f64, Error> {
    check_square("largest_eigenvalue", a)?;
    eigenvalue(a, &Diagonal::inverse_of(a)?)
}

fn eigenvalue<T: Field>(a: &Csr<T>, inverse: &Diagonal<T>) -> Result<f64, Error> {
    const STEPS: usize = 10;
    const SEED: u64 = 0x1a46;
    let half = T::from_f64(0.5);
    let random = || Vector::random_uniform([a.n_rows()], SEED) - half;
    let mut x: Vector<T> = a.runtime().enter(random);
    let one = a.runtime().enter(|| Scalar::new(T::Real::from_f64(1.0)));
    for _ in 1..STEPS {
        // Divided by the size of the one before, so that no power of the eigenvalue overflows.
        let image = inverse.times(&a.try_matvec(&x)?)?;
        x = image * one.ratio(&x.norm_inf()).cast::<T>();
    }
    let before = x.sum_of_squares();
    x = inverse.times(&a.try_matvec(&x)?)?;
    let after = x.sum_of_squares();
    match (after.get()?.to_f64(), before.get()?.to_f64()) {
        (_, 0.0) => Ok(0.0),
        (after, before) => Ok((after / before).sqrt()),
    }
}

/// The same, where steps are divided by it.
pub(super) fn check_eigenvalue(lambda: f64) -> Result<f64, Error> {
    match lambda > 0.0 && lambda.is_finite() {
        true => Ok(lambda),
        false => {
            let expected = "a matrix whose diagonal scaling has eigenvalues other than 0";
            let found = format!("{lambda} as the largest");
            Err(Error::argument("multigrid", expected, found))
        }
    }
}
