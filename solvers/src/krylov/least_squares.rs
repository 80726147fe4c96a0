//! When `lsqr` and `lsmr` stop: least-squares problems min ‖b - A x‖² + damping² ‖x‖² with a
//! matrix of any shape.
//!
//! The twin of [`Stopping`](crate::stopping::Stopping) for a residual that need not become small:
//! the methods claim either that it is, or that its gradient is; both are checked with the true
//! residual. The preconditioner M stands on the right: the methods work on A M^-1 and y with
//! x = x0 + M^-1 y.

use super::turns::norm_of;
use crate::admission::{check, check_no_checkpoint, check_side};
use crate::operator::LinearOperator;
use crate::scaling::Rhs;
use crate::solution::{Options, Solution, StopReason};
use crate::stopping::{certified, max_iter};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// The state of the decision; see the module's text.
pub(super) struct LeastSquares<'p, 'o, T> {
    a: &'p dyn LinearOperator<T>,
    b: &'p Vector<T>,
    options: Options<'o, T>,
    /// Where the method began last.
    x0: Vector<T>,
    rhs_norm: f64,
    tolerance: f64,
    max_iter: usize,
    iterations: usize,
    /// The norm of the true gradient when it was last computed.
    last_gradient: f64,
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
    /// ‖A‖, from below.
    pub(super) a_norm: f64,
}

/// What a method does next.
pub(super) enum Next<T> {
    /// Goes on with its recurrence.
    Iterate,
    /// Starts again from this true residual.
    Restart(Vector<T>),
    /// Stops with this x.
    Stop(Vector<T>, StopReason),
}

impl<'p, 'o, T: Field> LeastSquares<'p, 'o, T> {
    /// Checks the shapes; gives the decision and the initial residual.
    pub(super) async fn begin(
        op: &'static str,
        a: &'p dyn LinearOperator<T>,
        b: Rhs<'p, T>,
        options: Options<'o, T>,
    ) -> Result<(Self, Vector<T>), Error> {
        let Rhs {
            vector: b,
            norm: rhs_norm,
        } = b;
        check(op, a, b, &options)?;
        check_no_checkpoint(op, &options)?;
        check_damping(op, &options)?;
        check_side(op, &options)?;
        let (_, n_cols) = a.shape();
        let (x0, r) = match options.x0 {
            Some(x0) => (x0.clone(), b.try_sub(&a.apply(x0)?)?),
            None => (b.runtime().enter(|| Vector::zeros([n_cols])), b.clone()),
        };
        let problem = Self {
            a,
            b,
            x0,
            rhs_norm,
            tolerance: (options.rtol * rhs_norm).max(options.atol),
            max_iter: max_iter(&options, n_cols),
            iterations: 0,
            last_gradient: f64::INFINITY,
            history: vec![norm_of(&r).await?],
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
        let image = self.a.apply_adjoint(u)?;
        match self.options.preconditioner {
            Some(preconditioner) => preconditioner.apply_adjoint(&image),
            None => Ok(image),
        }
    }

    /// x, of y.
    fn solution(&self, y: &Vector<T>) -> Result<Vector<T>, Error> {
        match self.options.preconditioner {
            Some(preconditioner) => self.x0.try_add(&preconditioner.apply(y)?),
            None => self.x0.try_add(y),
        }
    }

    /// lambda.
    pub(super) fn damping(&self) -> f64 {
        self.options.damping
    }

    /// y = 0, as long as the space of the unknowns asks for.
    pub(super) fn zeros(&self) -> Vector<T> {
        let n = self.x0.len();
        self.b.runtime().enter(|| Vector::zeros([n]))
    }

    /// Why not to begin, if there is a reason; `alpha` is 0 if the gradient is.
    pub(super) fn first(&mut self, alpha: f64) -> Option<StopReason> {
        let norm = self.history[0];
        if self.is_stopped_by_monitor(norm) {
            Some(StopReason::Stopped)
        } else if !norm.is_finite() {
            Some(StopReason::NotFinite)
        } else if norm <= self.tolerance {
            Some(StopReason::Converged)
        } else if alpha == 0.0 {
            Some(StopReason::LeastSquares)
        } else {
            (self.max_iter == 0).then_some(StopReason::IterationLimit)
        }
    }

    /// What to do after an iteration that left this y.
    pub(super) async fn next(
        &mut self,
        y: &Vector<T>,
        found: &Estimates,
    ) -> Result<Next<T>, Error> {
        self.iterations += 1;
        self.history.push(found.residual);
        let reason = if self.is_stopped_by_monitor(found.residual) {
            StopReason::Stopped
        } else if !found.residual.is_finite() {
            StopReason::NotFinite
        } else if found.residual <= self.tolerance || self.is_minimal(found) {
            return self.verify(y, found.a_norm).await;
        } else if self.iterations >= self.max_iter {
            StopReason::IterationLimit
        } else {
            return Ok(Next::Iterate);
        };
        Ok(Next::Stop(self.solution(y)?, reason))
    }

    /// Paige and Saunders' second rule.
    fn is_minimal(&self, found: &Estimates) -> bool {
        found.gradient <= self.options.rtol * found.a_norm * found.damped_residual
    }

    /// What to do with a y that is claimed to be a solution.
    async fn verify(&mut self, y: &Vector<T>, a_norm: f64) -> Result<Next<T>, Error> {
        let x = self.solution(y)?;
        let r = self.b.try_sub(&self.a.apply(&x)?)?;
        let residual = norm_of(&r).await?;
        if residual <= self.tolerance {
            return Ok(Next::Stop(x, certified::<T>(self.tolerance, self.rhs_norm)));
        }
        let damping = self.damping();
        let mut gradient = self.apply_adjoint(&r)?;
        let mut damped_residual = residual;
        if damping > 0.0 {
            gradient -= &x * T::from_f64(damping * damping);
            let size = norm_of(&x).await?;
            damped_residual = (residual * residual + (damping * size).powi(2)).sqrt();
        }
        let true_estimates = Estimates {
            residual,
            damped_residual,
            gradient: norm_of(&gradient).await?,
            a_norm,
        };
        if self.is_minimal(&true_estimates) {
            return Ok(Next::Stop(x, StopReason::LeastSquares));
        }
        // A restart that does not halve the true gradient is the last one. A damped problem would
        // begin elsewhere.
        let gradient = true_estimates.gradient;
        if gradient.is_nan() || gradient > 0.5 * self.last_gradient || damping > 0.0 {
            return Ok(Next::Stop(x, StopReason::Stagnation));
        }
        self.last_gradient = gradient;
        if self.iterations >= self.max_iter {
            return Ok(Next::Stop(x, StopReason::IterationLimit));
        }
        self.x0 = x;
        Ok(Next::Restart(r))
    }

    fn is_stopped_by_monitor(&mut self, norm: f64) -> bool {
        let iterations = self.iterations;
        self.options
            .monitor
            .as_mut()
            .is_some_and(|monitor| monitor(iterations, norm).is_break())
    }

    /// Stops before the first iteration.
    pub(super) async fn finish_first(self, reason: StopReason) -> Result<Solution<T>, Error> {
        let x = self.x0.clone();
        self.finish(x, reason).await
    }

    /// The solution, with its true residual.
    pub(super) async fn finish(
        self,
        x: Vector<T>,
        reason: StopReason,
    ) -> Result<Solution<T>, Error> {
        let residual = self.b.try_sub(&self.a.apply(&x)?)?;
        let residual_norm = norm_of(&residual).await?;
        Ok(Solution {
            x,
            reason,
            iterations: self.iterations,
            restarted_at: 0,
            residual_norm,
            rhs_norm: self.rhs_norm,
            nullspace_part: 0.0,
            history: self.history,
        })
    }
}

/// Damping counts from x = 0 and in the norm of x.
fn check_damping<T>(op: &'static str, options: &Options<'_, T>) -> Result<(), Error> {
    if options.damping > 0.0 && (options.x0.is_some() || options.preconditioner.is_some()) {
        let expected = "neither x0 nor a preconditioner where there is damping";
        let found = if options.x0.is_some() {
            "x0"
        } else {
            "a preconditioner"
        };
        return Err(Error::argument(op, expected, found));
    }
    Ok(())
}
