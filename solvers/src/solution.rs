//! What a solver is asked for and what it gives back.

use crate::checkpoint::Checkpoint;
use crate::operator::LinearOperator;
use crate::recycled::Recycled;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::{Error, ErrorKind};
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;

/// When a solver stops, and where it starts; [`Method`](crate::Method) has what one method alone
/// may be asked. `Options::default()` suits most.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::{Jacobi, Options, cg_with};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(10)?;
/// let jacobi = Jacobi::new(&a)?;
/// let options = Options { rtol: 1e-10, preconditioner: Some(&jacobi), ..Options::default() };
/// let solution = cg_with(&a, &Vector::ones([100]), options)?;
/// assert!(solution.converged());
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
pub struct Options<'a, T> {
    /// The solver has converged when ‖b - A x‖ <= max(rtol ‖b‖, atol), in the 2-norm; 1e-8 by
    /// default, in single precision 1e-5. Matrices certify it by a residual in twice the precision
    /// where rounding could hide it ([`LinearOperator::precise_residual`]). Of an operator that has
    /// none, nothing certifies less than half of the precision of the type times ‖b‖, 6e-8 in
    /// single precision: such a solve ends as [`StopReason::Stagnation`] at best.
    pub rtol: f64,
    /// See `rtol`; 0 by default.
    pub atol: f64,
    /// The solver has diverged when the residual is more than this many times as large as b, or as
    /// the initial residual where that is larger; 1e5 by default, infinite for no limit. For `bicg`
    /// and `cgs`, whose residuals rise far before they fall, it is the square of this. `lsqr` and
    /// `lsmr`, whose residuals do not grow, do not look at it.
    pub dtol: f64,
    /// The most iterations; `None` for ten times the number of unknowns, the columns of A, at most
    /// 10,000.
    pub max_iter: Option<usize>,
    /// The initial guess; `None` for zero. Where b is 0, so is the solution, and no guess is used.
    pub x0: Option<&'a Vector<T>>,
    /// An approximate inverse of the matrix.
    pub preconditioner: Option<&'a dyn LinearOperator<T>>,
    /// The directions that `lgmres` and `gcrotmk` keep from one solve to the next, with which this
    /// one begins; `None` to begin without any.
    pub recycled: Option<&'a Recycled<T>>,
    /// Called after each iteration with its number, from 1, and the norm of the residual as the
    /// method's recurrence has it (0: of the initial residual); may stop the solver. On several
    /// ranks all must stop at the same iteration: what only one knows, such as its clock, is no
    /// reason.
    pub monitor: Option<Monitor<'a>>,
    /// Where to save the state of the method now and then; `None` for never.
    pub checkpoint: Option<Checkpoint<'a>>,
    /// A checkpoint of a solve with the same matrix, b and preconditioner by the same method, on
    /// any number of ranks: the solver goes on there and ends with the bits that it would have had.
    /// `x0` is not used then; tolerances and limits may differ.
    pub resume: Option<&'a Path>,
}

/// Where a preconditioner M stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Side {
    /// A M^-1 y = b with x = M^-1 y: residuals are those of A x = b.
    #[default]
    Right,
    /// M^-1 A x = M^-1 b: the method minimises M^-1 (b - A x). The norms that monitor and history
    /// get are scaled so that the first one after each start is that of b - A x; what counts in
    /// the end is the true residual, as ever.
    Left,
}

impl<T> Options<'_, T> {
    /// The same options once more, for another solve: a monitor, which is borrowed mutably, keeps
    /// them from being copied.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_solvers::{Options, cg_with};
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson2d::<f64>(10)?;
    /// let mut options = Options { rtol: 1e-10, ..Options::default() };
    /// for seed in 0..3 {
    ///     let b = Vector::random_normal([100], seed);
    ///     assert!(cg_with(&a, &b, options.again())?.converged());
    /// }
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    #[must_use]
    pub fn again(&mut self) -> Options<'_, T> {
        Options {
            monitor: match &mut self.monitor {
                Some(monitor) => Some(&mut **monitor),
                None => None,
            },
            ..*self
        }
    }
}

/// A function that watches a solver.
pub type Monitor<'a> = &'a mut dyn FnMut(usize, f64) -> ControlFlow<()>;

impl<T: Field> Default for Options<'_, T> {
    fn default() -> Self {
        // What single precision can certify.
        let is_single = T::Real::EPSILON.to_f64() > 1e-10;
        Self {
            rtol: if is_single { 1e-5 } else { 1e-8 },
            atol: 0.0,
            dtol: 1e5,
            max_iter: None,
            x0: None,
            preconditioner: None,
            recycled: None,
            monitor: None,
            checkpoint: None,
            resume: None,
        }
    }
}

impl<T> fmt::Debug for Options<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("rtol", &self.rtol)
            .field("atol", &self.atol)
            .field("dtol", &self.dtol)
            .field("max_iter", &self.max_iter)
            .field("has_x0", &self.x0.is_some())
            .field("has_preconditioner", &self.preconditioner.is_some())
            .field("recycled", &self.recycled)
            .field("has_monitor", &self.monitor.is_some())
            .field("checkpoint", &self.checkpoint)
            .field("resume", &self.resume)
            .finish()
    }
}

/// What a solver found, which may be less than was asked for: [`Solution::checked`] makes an error
/// of that, [`Solution::converged`] asks.
#[derive(Clone, Debug)]
#[must_use = "a solution tells whether the solver has converged"]
#[non_exhaustive]
pub struct Solution<T> {
    /// The approximate solution.
    pub x: Vector<T>,
    /// Why the solver stopped.
    pub reason: StopReason,
    /// The iterations that it took, those before a checkpoint included.
    pub iterations: usize,
    /// The iterations that the checkpoint had from which the solver resumed; 0 without one.
    pub resumed_at: usize,
    /// ‖b - A x‖, computed from `x` after the last iteration.
    pub residual_norm: f64,
    /// ‖b‖; with a nullspace, of what is left of b without it.
    pub rhs_norm: f64,
    /// The norm of the part of b in the operator's nullspace, which no A x has: it was left out.
    /// 0 for operators without a nullspace; far above rounding the system has no solution, and x
    /// is one of the system with the rest of b.
    pub nullspace_part: f64,
    /// The norm of the residual before the first iteration and after each, as the method's
    /// recurrence has it.
    pub history: Vec<f64>,
}

/// One line: why the solver stopped, after how many iterations, and the true residual.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::cg;
/// use sparsefuse_sparse::Csr;
///
/// let solution = cg(&Csr::<f64>::identity(4)?, &Vector::ones([4]))?;
/// assert_eq!(solution.to_string(), "converged after 1 iteration, with a residual of 0.0e0");
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
impl<T> fmt::Display for Solution<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (reason, count) = (self.reason, self.iterations);
        let iterations = if count == 1 {
            "iteration"
        } else {
            "iterations"
        };
        let residual = self.relative_residual();
        write!(
            f,
            "{reason} after {count} {iterations}, with a residual of {residual:.1e}"
        )
    }
}

impl<T> Solution<T> {
    /// Whether the true residual is below the tolerance, or as small as that of any x.
    #[must_use]
    pub fn converged(&self) -> bool {
        matches!(
            self.reason,
            StopReason::Converged | StopReason::LeastSquares
        )
    }

    /// The solution if the solver has converged, else an error, and the last x is dropped.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_runtime::ErrorKind;
    /// use sparsefuse_solvers::{Options, cg, cg_with};
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson2d::<f64>(10)?;
    /// let b = Vector::ones([100]);
    /// let x = cg(&a, &b)?.checked()?.x;
    /// assert!((&a * &x - &b).norm2().get()? < 1e-6);
    /// let options = Options { max_iter: Some(2), ..Options::default() };
    /// let error = cg_with(&a, &b, options)?.checked().unwrap_err();
    /// assert!(matches!(error.kind(), ErrorKind::NotConverged { iterations: 2, .. }));
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotConverged`] unless [`Solution::converged`].
    pub fn checked(self) -> Result<Self, Error> {
        match self.converged() {
            true => Ok(self),
            false => Err(ErrorKind::NotConverged {
                reason: self.reason.to_string(),
                iterations: self.iterations,
                residual: self.relative_residual(),
            }
            .into()),
        }
    }

    /// ‖b - A x‖ / ‖b‖, computed from `x`; the absolute norm where b is 0.
    #[must_use]
    pub fn relative_residual(&self) -> f64 {
        if self.rhs_norm == 0.0 {
            self.residual_norm
        } else {
            self.residual_norm / self.rhs_norm
        }
    }
}

/// Why a solver stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// The true residual is below the tolerance.
    Converged,
    /// x minimises ‖b - A x‖² + damping² ‖x‖² as far as the tolerance tells: the gradient
    /// A'(b - A x) - damping² x is at most `rtol` ‖A‖ times the residual, which itself is not
    /// small. Only `lsqr` and `lsmr` stop so, and `minres` where rounding allows no smaller
    /// gradient. With a preconditioner, ‖A‖ is estimated by the image of a random vector, and
    /// without one as Paige and Saunders do: the estimate grows with the iterations, up to ten
    /// times ‖A‖ after hundreds of them where A is ill-conditioned.
    LeastSquares,
    /// The limit of iterations was reached; behind a checkpoint also where the residual has come
    /// below the tolerance, which only the next iterations would see.
    IterationLimit,
    /// A number that the method divides by became 0.
    Breakdown(Breakdown),
    /// p'Ap is 0 or has changed its sign: the matrix is neither positive nor negative definite, as
    /// conjugate gradients need.
    IndefiniteMatrix,
    /// r'z <= 0: the preconditioner is not positive definite, as conjugate gradients need.
    IndefinitePreconditioner,
    /// The residual has grown beyond [`Options::dtol`] times b.
    Diverged,
    /// The residual is infinite or not a number, though what the method began with is not. Where x
    /// is too, the solution has the initial guess.
    NotFinite,
    /// What the method began with is infinite or not a number.
    NotFiniteInput(Input),
    /// The recurrence claims convergence, but the true residual no longer falls, or is below a
    /// tolerance that it is too inexact for, less than half of the precision of the type times b:
    /// the tolerance is below what rounding allows.
    Stagnation,
    /// The method has solved the system at another scale, but at its own x has elements that are
    /// too small for their type, and without them, or without their last digits, the residual is
    /// above the tolerance. Another scale of b or of the matrix helps, or a type with a wider
    /// range.
    Underflow,
    /// The monitor asked to stop.
    Stopped,
}

/// The number that became 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Breakdown {
    /// rho = r~'r: the residual has become orthogonal to the shadow residual.
    Rho,
    /// sigma = r~'v: the direction's image has become orthogonal to the shadow residual.
    Sigma,
    /// omega = t's / t't: the stabilising step makes no progress.
    Omega,
    /// The triangular factor of the projected matrix has a 0 on its diagonal: on the Krylov space,
    /// which cannot grow, the matrix is singular.
    Projection,
}

/// What is infinite or not a number before the first iteration. A matrix that has such an entry is
/// refused: see [`LinearOperator::largest_entry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Input {
    /// An element of the right-hand side.
    RightHandSide,
    /// The residual of the initial guess: the guess itself, or it is so large that the squares of
    /// its residual overflow.
    InitialGuess,
    /// An element of what the preconditioner makes of the right-hand side.
    Preconditioner,
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RightHandSide => "the right-hand side",
            Self::InitialGuess => "the residual of the initial guess",
            Self::Preconditioner => "an image of the preconditioner",
        })
    }
}

impl fmt::Display for Breakdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rho => "rho = 0",
            Self::Sigma => "sigma = 0",
            Self::Omega => "omega = 0",
            Self::Projection => "the projected matrix is singular",
        })
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotFiniteInput(input) => {
                return write!(f, "{input} is infinite or not a number");
            }
            Self::Breakdown(number) => return write!(f, "breakdown: {number}"),
            Self::Converged => "converged",
            Self::LeastSquares => "least-squares solution",
            Self::IterationLimit => "iteration limit",
            Self::IndefiniteMatrix => "indefinite matrix",
            Self::IndefinitePreconditioner => "indefinite preconditioner",
            Self::Diverged => "diverged",
            Self::NotFinite => "infinite or not a number",
            Self::Stagnation => "stagnation",
            Self::Underflow => "underflow: x has elements that are too small for their type",
            Self::Stopped => "stopped by the monitor",
        })
    }
}

/// A right-hand side whose norm is known.
#[derive(Debug)]
pub(crate) struct Rhs<'b, T> {
    pub(crate) vector: &'b Vector<T>,
    pub(crate) norm: f64,
}
