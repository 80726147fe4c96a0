//! When `lsqr` and `lsmr` stop: least-squares problems min ‖b - A x‖² + damping² ‖x‖² with a
//! matrix of any shape.
//!
//! The twin of [`Stopping`](super::stopping::Stopping) for a residual that need not become small:
//! the methods claim either that it is, or that its gradient is; both are checked with the true
//! residual. The preconditioner M stands on the right: the methods work on A M^-1 and y with
//! x = x0 + M^-1 y.

use super::Method;
use super::iterations::{End, Iterations, until_stopped};
use super::residual::TrueResidual;
use super::scaling::norm_of_tiny;
use super::stopping::{is_finite, max_iter};
use super::validation::check;
use crate::operator::LinearOperator;
use crate::solution::{Options, Rhs, Solution, StopReason};
use crate::turns::norm_of;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// The seed of the vector that A is tried with.
const SEED: u64 = 0x1e57;

/// The state of the decision; see the module's text.
pub(super) struct LeastSquares<'p, 'o, T> {
    a: &'p dyn LinearOperator<T>,
    b: &'p Vector<T>,
    options: Options<'o, T>,
    damping: f64,
    /// Where the method began last; in the end the solution.
    x: Vector<T>,
    rhs_norm: f64,
    tolerance: f64,
    max_iter: usize,
    iterations: usize,
    /// The norm of the true gradient when it was last computed.
    last_gradient: f64,
    /// By how much less than is asked for the estimate of the gradient has to be, since an estimate
    /// was below its true one.
    aim: f64,
    /// With a preconditioner: the norm of the true gradient of A alone when it was last computed.
    last_gradient_of_a: f64,
    /// About the norm of A, once it is known.
    a_norm: Option<f64>,
    history: Vec<f64>,
}

/// What the recurrences of a method know after an iteration.
pub(super) struct Estimates {
    /// ‖b - A x‖.
    pub(super) residual: f64,
    /// The square root of what is minimised: the same without damping.
    pub(super) damped_residual: f64,
    /// The norm of the gradient, A'(b - A x) - damping² x.
    pub(super) gradient: f64,
    /// The Frobenius norm of A, from below: it grows with the iterations.
    pub(super) a_norm: f64,
}

impl<'p, 'o, T: Field> LeastSquares<'p, 'o, T> {
    /// Solves a problem by a method: checks the shapes, starts it, starts it again where it asks
    /// for that, and finishes.
    pub(super) async fn solve(
        method: Method,
        a: &'p dyn LinearOperator<T>,
        b: Rhs<'p, T>,
        options: Options<'o, T>,
        iterate: impl AsyncFn(&mut Self, Vector<T>) -> Iterations<T>,
    ) -> Result<Solution<T>, Error> {
        let (mut problem, r) = Self::start(method, a, b, options).await?;
        let reason = until_stopped(Ok(r), async |r| iterate(&mut problem, r).await).await?;
        problem.finish(reason).await
    }

    /// The decision and the initial residual.
    async fn start(
        method: Method,
        a: &'p dyn LinearOperator<T>,
        b: Rhs<'p, T>,
        options: Options<'o, T>,
    ) -> Result<(Self, Vector<T>), Error> {
        let Rhs {
            vector: b,
            norm: rhs_norm,
        } = b;
        check(method, a, b, &options)?;
        let (_, n_cols) = a.shape();
        let tolerance = (options.rtol * rhs_norm).max(options.atol);
        let (x, r, norm) = match options.x0 {
            Some(x0) => {
                let r = b.try_sub(&a.apply(x0)?)?;
                let norm = norm_of(&r).await?;
                if norm <= tolerance {
                    let found = TrueResidual::of(a, (b, x0), tolerance).await?;
                    let norm = found.norm;
                    (x0.clone(), found.vector(a, (b, x0))?, norm)
                } else {
                    (x0.clone(), r, norm)
                }
            }
            None => {
                let x = b.runtime().enter(|| Vector::zeros([n_cols]));
                (x, b.clone(), norm_of(b).await?)
            }
        };
        let problem = Self {
            a,
            b,
            damping: method.damping(),
            x,
            rhs_norm,
            tolerance,
            max_iter: max_iter(&options, n_cols),
            iterations: 0,
            last_gradient: f64::INFINITY,
            aim: 1.0,
            last_gradient_of_a: f64::INFINITY,
            a_norm: None,
            history: vec![norm],
            options,
        };
        Ok((problem, r))
    }

    /// A M^-1 y.
    pub(super) fn apply(&self, y: &Vector<T>) -> Result<Vector<T>, Error> {
        match self.options.preconditioner {
            Some(preconditioner) => self.a.apply(&preconditioner.apply(y)?),
            None => self.a.apply(y),
        }
    }

    /// The adjoint of that.
    pub(super) fn apply_adjoint(&self, u: &Vector<T>) -> Result<Vector<T>, Error> {
        self.precondition_adjoint(self.a.apply_adjoint(u)?)
    }

    /// M^-H of it.
    fn precondition_adjoint(&self, image: Vector<T>) -> Result<Vector<T>, Error> {
        match self.options.preconditioner {
            Some(preconditioner) => preconditioner.apply_adjoint(&image),
            None => Ok(image),
        }
    }

    fn has_preconditioner(&self) -> bool {
        self.options.preconditioner.is_some()
    }

    /// x, of y.
    fn solution(&self, y: &Vector<T>) -> Result<Vector<T>, Error> {
        match self.options.preconditioner {
            Some(preconditioner) => self.x.try_add(&preconditioner.apply(y)?),
            None => self.x.try_add(y),
        }
    }

    /// lambda.
    pub(super) fn damping(&self) -> f64 {
        self.damping
    }

    /// y = 0, as long as the space of the unknowns asks for.
    pub(super) fn zeros(&self) -> Vector<T> {
        let n = self.x.len();
        self.b.runtime().enter(|| Vector::zeros([n]))
    }

    /// Stops before the first iteration, if there is a reason; alpha is 0 if the gradient is.
    pub(super) async fn begin(&mut self, first: &Bidiagonal<T>) -> Result<(), End<T>> {
        if self.iterations > 0 {
            return Ok(());
        }
        let norm = self.history[0];
        let reason = if self.is_stopped_by_monitor(norm) {
            StopReason::Stopped
        } else if !norm.is_finite() {
            StopReason::NotFinite
        } else if norm <= self.tolerance {
            StopReason::Converged
        } else if first.alpha == 0.0 {
            // Where M makes 0 of it, the gradient itself need not be.
            let is_minimal = !self.has_preconditioner()
                || norm_of_tiny(&self.a.apply_adjoint(&first.u)?).await? == 0.0;
            match is_minimal {
                true => StopReason::LeastSquares,
                false => StopReason::Stagnation,
            }
        } else if self.max_iter == 0 {
            StopReason::IterationLimit
        } else {
            return Ok(());
        };
        Err(reason.into())
    }

    /// Ends the iterations, if one that left this y is a reason to.
    pub(super) async fn check(&mut self, y: &Vector<T>, found: &Estimates) -> Result<(), End<T>> {
        self.iterations += 1;
        self.history.push(found.residual);
        let reason = if self.is_stopped_by_monitor(found.residual) {
            StopReason::Stopped
        } else if !found.residual.is_finite() {
            StopReason::NotFinite
        } else if (found.residual <= self.tolerance || self.is_minimal(found, self.aim))
            && let Some(end) = self.verify(y, found).await?
        {
            return Err(end);
        } else if self.iterations >= self.max_iter {
            StopReason::IterationLimit
        } else {
            return Ok(());
        };
        self.x = self.solution(y)?;
        Err(reason.into())
    }

    /// Stops with this y, since what follows is infinite or not a number.
    pub(super) fn not_finite(&mut self, y: &Vector<T>) -> Result<End<T>, Error> {
        self.iterations += 1;
        self.history.push(f64::NAN);
        let reason = match self.is_stopped_by_monitor(f64::NAN) {
            true => StopReason::Stopped,
            false => StopReason::NotFinite,
        };
        self.x = self.solution(y)?;
        Ok(reason.into())
    }

    /// Paige and Saunders' second rule.
    fn is_minimal(&self, found: &Estimates, aim: f64) -> bool {
        found.gradient <= aim * self.options.rtol * found.a_norm * found.damped_residual
    }

    /// How the iterations end with a y that is claimed to be a solution; nothing where they go on.
    async fn verify(
        &mut self,
        y: &Vector<T>,
        claimed: &Estimates,
    ) -> Result<Option<End<T>>, Error> {
        let begin = self.x.clone();
        self.x = self.solution(y)?;
        let found = self.true_residual().await?;
        let residual = found.norm;
        if residual <= self.tolerance {
            return Ok(Some(found.certified(self.tolerance, self.rhs_norm).into()));
        }
        if !residual.is_finite() {
            // Any gradient is small beside it.
            return Ok(Some(StopReason::NotFinite.into()));
        }
        let r = found.vector(self.a, (self.b, &self.x))?;
        let damping = self.damping();
        let of_a = self.a.apply_adjoint(&r)?;
        let mut gradient = self.precondition_adjoint(of_a.clone())?;
        let mut damped_residual = residual;
        if damping > 0.0 {
            gradient -= &self.x * T::from_f64(damping * damping);
            let size = norm_of(&self.x).await?;
            damped_residual = (residual * residual + (damping * size).powi(2)).sqrt();
        }
        let true_estimates = Estimates {
            residual,
            damped_residual,
            gradient: norm_of_tiny(&gradient).await?,
            a_norm: claimed.a_norm,
        };
        if self.is_minimal(&true_estimates, 1.0) {
            return match self.has_preconditioner() {
                true => self.verify_without(begin, claimed, (&of_a, residual)).await,
                false => Ok(Some(StopReason::LeastSquares.into())),
            };
        }
        // A restart that does not halve the true gradient is the last one. A damped problem would
        // begin elsewhere, so it goes on, as long as a smaller estimate makes the true one smaller.
        let gradient = true_estimates.gradient;
        let most_left = if damping > 0.0 { 0.98 } else { 0.5 };
        if gradient.is_nan() || gradient > most_left * self.last_gradient {
            return Ok(Some(StopReason::Stagnation.into()));
        }
        self.last_gradient = gradient;
        if self.iterations >= self.max_iter {
            return Ok(Some(StopReason::IterationLimit.into()));
        }
        if damping > 0.0 {
            self.x = begin;
            self.aim = 0.9 * (claimed.gradient / gradient).min(1.0);
            return Ok(None);
        }
        Ok(Some(End::Restart(r)))
    }

    /// The end of [`verify`](Self::verify) with a preconditioner, where the gradient of A M^-1 is
    /// small enough: what counts is that of A, beside its residual. As long as it falls the
    /// iterations go on, until the one of A M^-1 is smaller by what the other lacks.
    async fn verify_without(
        &mut self,
        begin: Vector<T>,
        claimed: &Estimates,
        (gradient, residual): (&Vector<T>, f64),
    ) -> Result<Option<End<T>>, Error> {
        let gradient = norm_of_tiny(gradient).await?;
        let most = self.options.rtol * self.norm_of_a().await? * residual;
        if gradient <= most {
            return Ok(Some(StopReason::LeastSquares.into()));
        }
        let of_claim = self.options.rtol * claimed.a_norm * claimed.damped_residual;
        let falls = gradient <= 0.98 * self.last_gradient_of_a;
        if !falls || claimed.gradient == 0.0 || of_claim == 0.0 {
            return Ok(Some(StopReason::Stagnation.into()));
        }
        if self.iterations >= self.max_iter {
            return Ok(Some(StopReason::IterationLimit.into()));
        }
        self.last_gradient_of_a = gradient;
        self.x = begin;
        self.aim = 0.9 * (most / gradient) * (claimed.gradient / of_claim);
        Ok(None)
    }

    /// About the Frobenius norm of A: the mean square of the image of random numbers.
    async fn norm_of_a(&mut self) -> Result<f64, Error> {
        if let Some(norm) = self.a_norm {
            return Ok(norm);
        }
        let (_, n_cols) = self.a.shape();
        let runtime = self.b.runtime();
        let probe = runtime.enter(|| Vector::random_normal([n_cols], SEED));
        let image = norm_of(&self.a.apply(&probe)?).await?;
        let norm = image.max(self.a.largest_entry()?.unwrap_or(0.0));
        self.a_norm = Some(norm);
        Ok(norm)
    }

    async fn true_residual(&self) -> Result<TrueResidual<T>, Error> {
        TrueResidual::of(self.a, (self.b, &self.x), self.tolerance).await
    }

    fn is_stopped_by_monitor(&mut self, norm: f64) -> bool {
        let iterations = self.iterations;
        self.options
            .monitor
            .as_mut()
            .is_some_and(|monitor| monitor(iterations, norm).is_break())
    }

    /// The solution, with its true residual; the initial guess where x has become infinite.
    async fn finish(mut self, reason: StopReason) -> Result<Solution<T>, Error> {
        let found = self.true_residual().await?;
        let mut reason = found.reason(reason, self.tolerance, self.rhs_norm);
        let mut residual_norm = found.norm;
        if !residual_norm.is_finite() && !is_finite(&self.x).await? {
            let x = self.options.x0.cloned().unwrap_or_else(|| self.zeros());
            if is_finite(&x).await? {
                (self.x, reason) = (x, StopReason::NotFinite);
                residual_norm = self.true_residual().await?.norm;
            }
        }
        Ok(Solution {
            x: self.x,
            reason,
            iterations: self.iterations,
            resumed_at: 0,
            residual_norm,
            rhs_norm: self.rhs_norm,
            nullspace_part: 0.0,
            history: self.history,
        })
    }
}

/// Golub and Kahan's bidiagonalisation (1965), which `lsqr` and `lsmr` have in common: u and v with
/// A v = alpha u + (what came before), A'u = beta v + (what came before): both of
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
