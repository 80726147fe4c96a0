//! When to stop: what all Krylov methods here share.
//!
//! After each iteration a method hands over the norm of its recurrence's residual. If that is
//! below the tolerance, the true residual is computed; only if it is below too, the method has
//! converged. Else the method starts again from the true residual, as long as that falls.
//!
//! Methods that know the norm before they know x ask in two steps: [`Stopping::judge`] takes the
//! norm, [`Stopping::verify`] the x that is claimed to be a solution.
//!
//! An operator with a nullspace has b, the initial guess and all preconditioned vectors projected
//! here, so a method need not know of it.
//!
//! At the end of an iteration that goes on, [`Stopping::save`] writes a checkpoint if one is due;
//! [`Stopping::start`] goes on from one.

use crate::admission::{check, check_no_checkpoint, check_side, check_square, check_undamped};
use crate::checkpoint::{self, Header, State};
use crate::krylov::turns::{norm_of, root};
use crate::operator::{LinearOperator, check_runtime};
use crate::scaling::Rhs;
use crate::solution::{Options, Side, Solution, StopReason};
use sparsefuse_dense::{Scalar, Vector};
use sparsefuse_kernels::{Field, Real, Value};
use sparsefuse_runtime::Error;
use std::path::Path;

/// The state of the decision; see the module's text.
pub(crate) struct Stopping<'p, 'o, T> {
    a: &'p dyn LinearOperator<T>,
    /// The right-hand side, without the part that lies in the nullspace of the operator.
    b: Vector<T>,
    options: Options<'o, T>,
    rhs_norm: f64,
    /// The norm of that part.
    nullspace_part: f64,
    tolerance: f64,
    /// A residual above this diverges.
    limit: f64,
    max_iter: usize,
    iterations: usize,
    /// The true residual's norm when it was last computed.
    last_true: f64,
    /// A claim that leaves more than this part of the true residual at the last one is the last.
    most_left: f64,
    history: Vec<f64>,
    /// The iterations of the checkpoint that the method was restarted from.
    restarted_at: usize,
    /// The iterations of the last checkpoint.
    saved_at: usize,
    /// Whose checkpoints these are; `None` where nobody asks for them.
    header: Option<Header>,
}

/// What a method does next, as far as the norm of its residual tells.
pub(crate) enum Judgement {
    /// Goes on with its recurrence.
    Iterate,
    /// Claims convergence; [`Stopping::verify`] decides.
    Claim,
    /// Stops.
    Stop(StopReason),
}

/// Where a method begins: x and its residual r, and after a restart what its iteration begins with
/// beside them, rho and other vectors.
pub(crate) struct Start<T, V> {
    pub(crate) x: Vector<T>,
    pub(crate) r: Vector<T>,
    pub(crate) saved: Option<(Scalar<T>, V)>,
}

/// A beginning with as many other vectors as were asked for.
type Begun<T> = Start<T, Vec<Vector<T>>>;

/// What a method does next.
pub(crate) enum Next<T> {
    /// Goes on with its recurrence.
    Iterate,
    /// Starts again from this true residual.
    Restart(Vector<T>),
    /// Stops.
    Stop(StopReason),
}

impl<'p, 'o, T: Field> Stopping<'p, 'o, T> {
    /// Checks the shapes; gives the decision, and the initial guess and its residual or what a
    /// checkpoint holds.
    pub(crate) async fn start<const N: usize>(
        op: &'static str,
        a: &'p dyn LinearOperator<T>,
        b: Rhs<'_, T>,
        options: Options<'o, T>,
    ) -> Result<(Self, Start<T, [Vector<T>; N]>), Error> {
        check_square(op, a)?;
        check(op, a, b.vector, &options)?;
        check_side(op, &options)?;
        check_undamped(op, &options)?;
        let (stopping, start) = Self::checked(op, a, b, options, N).await?;
        let Start { x, r, saved } = start;
        let saved = saved.map(|(rho, others)| {
            let mut others = others.into_iter();
            let mut next = || others.next().expect("as many vectors as were asked for");
            (rho, std::array::from_fn(|_| next()))
        });
        Ok((stopping, Start { x, r, saved }))
    }

    /// As [`Stopping::start`], for a method without checkpoints: the initial guess and its
    /// residual.
    pub(crate) async fn begin(
        op: &'static str,
        a: &'p dyn LinearOperator<T>,
        b: Rhs<'_, T>,
        options: Options<'o, T>,
    ) -> Result<(Self, Vector<T>, Vector<T>), Error> {
        check_side(op, &options)?;
        Self::begin_on_any_side(op, a, b, options).await
    }

    /// As [`Stopping::begin`], for a method that takes its preconditioner on either side.
    pub(crate) async fn begin_on_any_side(
        op: &'static str,
        a: &'p dyn LinearOperator<T>,
        b: Rhs<'_, T>,
        options: Options<'o, T>,
    ) -> Result<(Self, Vector<T>, Vector<T>), Error> {
        check_square(op, a)?;
        check(op, a, b.vector, &options)?;
        check_undamped(op, &options)?;
        check_no_checkpoint(op, &options)?;
        let (stopping, Start { x, r, .. }) = Self::checked(op, a, b, options, 0).await?;
        Ok((stopping, x, r))
    }

    /// The number of vectors beside x and r is a value here, so that this is compiled once.
    async fn checked(
        op: &'static str,
        a: &'p dyn LinearOperator<T>,
        b: Rhs<'_, T>,
        options: Options<'o, T>,
        n_others: usize,
    ) -> Result<(Self, Begun<T>), Error> {
        let Rhs {
            vector: b,
            norm: whole_norm,
        } = b;
        let (b, nullspace_part) = match a.nullspace() {
            Some(nullspace) => nullspace.split(b)?,
            None => (b.clone(), 0.0),
        };
        let is_kept = options.checkpoint.is_some() || options.restart.is_some();
        let header = match is_kept {
            true => Some(describe(op, a, &b, &options)?),
            false => None,
        };
        let (start, state) = match (&header, options.restart) {
            (Some(header), Some(path)) => {
                let (header, start) = restart(path, header, &b, n_others)?;
                (start, Some(header.state))
            }
            _ => (begin(a, &b, &options)?, None),
        };
        let rhs_norm = match a.nullspace() {
            Some(_) => norm_of(&b).await?,
            None => whole_norm,
        };
        // What the projection leaves of the nullspace is rounding of b, and no residual is below.
        let rounding = match a.nullspace() {
            Some(_) => T::Real::EPSILON.to_f64() * whole_norm,
            None => 0.0,
        };
        let state = match state {
            Some(state) => state,
            None => State {
                iterations: 0,
                last_true: f64::INFINITY,
                rho: [0; 2],
                history: vec![norm_of(&start.r).await?],
            },
        };
        let stopping = Self {
            a,
            rhs_norm,
            nullspace_part,
            tolerance: (options.rtol * rhs_norm).max(options.atol).max(rounding),
            limit: options.dtol * rhs_norm.max(state.history[0]),
            max_iter: max_iter(&options, b.len()),
            b,
            iterations: state.iterations,
            last_true: state.last_true,
            most_left: 0.5,
            history: state.history,
            restarted_at: state.iterations,
            saved_at: state.iterations,
            header,
            options,
        };
        Ok((stopping, start))
    }

    /// Why not to begin, if there is a reason; the initial residual is a true one. What a
    /// checkpoint holds was to be gone on with.
    pub(crate) fn first(&mut self) -> Option<StopReason> {
        if self.iterations > 0 {
            let is_enough = self.iterations >= self.max_iter;
            return is_enough.then_some(StopReason::IterationLimit);
        }
        let norm = self.history[0];
        if self.is_stopped_by_monitor(norm) {
            Some(StopReason::Stopped)
        } else if !norm.is_finite() {
            Some(StopReason::NotFinite)
        } else if norm <= self.tolerance {
            Some(StopReason::Converged)
        } else {
            (self.max_iter == 0).then_some(StopReason::IterationLimit)
        }
    }

    /// What to do after an iteration that left a residual of this norm.
    pub(crate) async fn next(&mut self, x: &Vector<T>, norm: f64) -> Result<Next<T>, Error> {
        match self.judge(norm) {
            Judgement::Iterate => Ok(Next::Iterate),
            Judgement::Claim => self.verify(x).await,
            Judgement::Stop(reason) => Ok(Next::Stop(reason)),
        }
    }

    /// Takes the norm of the residual that an iteration left.
    pub(crate) fn judge(&mut self, norm: f64) -> Judgement {
        self.iterations += 1;
        self.history.push(norm);
        if self.is_stopped_by_monitor(norm) {
            Judgement::Stop(StopReason::Stopped)
        } else if !norm.is_finite() {
            Judgement::Stop(StopReason::NotFinite)
        } else if norm <= self.tolerance {
            Judgement::Claim
        } else if norm > self.limit {
            Judgement::Stop(StopReason::Diverged)
        } else if self.is_at_limit() && self.options.checkpoint.is_none() {
            // With checkpoints the method stops behind the last one.
            Judgement::Stop(StopReason::IterationLimit)
        } else {
            Judgement::Iterate
        }
    }

    /// What to do with an x whose residual the recurrence takes to be small enough.
    pub(crate) async fn verify(&mut self, x: &Vector<T>) -> Result<Next<T>, Error> {
        let true_norm = self.true_norm(x).await?;
        if true_norm <= self.tolerance {
            return Ok(Next::Stop(certified::<T>(self.tolerance, self.rhs_norm)));
        }
        if !true_norm.is_finite() || true_norm > self.most_left * self.last_true {
            return Ok(Next::Stop(StopReason::Stagnation));
        }
        self.last_true = true_norm;
        if !self.is_at_limit() {
            return Ok(Next::Restart(self.residual(x)?));
        }
        match self.options.checkpoint {
            Some(_) => Ok(Next::Iterate),
            None => Ok(Next::Stop(StopReason::IterationLimit)),
        }
    }

    fn is_stopped_by_monitor(&mut self, norm: f64) -> bool {
        let iterations = self.iterations;
        self.options
            .monitor
            .as_mut()
            .is_some_and(|monitor| monitor(iterations, norm).is_break())
    }

    fn is_at_limit(&self) -> bool {
        self.iterations >= self.max_iter
    }

    /// Writes a checkpoint, if one is due: what the next iteration of the method begins with. At the
    /// limit of iterations one is due, and the reason to stop is given.
    pub(crate) fn save<const N: usize>(
        &mut self,
        (x, r): (&Vector<T>, &Vector<T>),
        rho: &Scalar<T>,
        others: [&Vector<T>; N],
    ) -> Result<Option<StopReason>, Error> {
        let (Some(checkpoint), Some(header)) = (self.options.checkpoint, &mut self.header) else {
            return Ok(None);
        };
        let is_last = self.iterations >= self.max_iter;
        if self.iterations - self.saved_at < checkpoint.every && !is_last {
            return Ok(None);
        }
        self.saved_at = self.iterations;
        header.state = State {
            iterations: self.iterations,
            last_true: self.last_true,
            rho: rho.get()?.to_bits(),
            history: self.history.clone(),
        };
        let mut vectors = vec![x, r];
        vectors.extend(others);
        checkpoint::write(checkpoint.file, header, &vectors)?;
        Ok(is_last.then_some(StopReason::IterationLimit))
    }

    /// Says that the method minimises another norm than the one that counts, so that a claim which
    /// is not quite true means little: the next ones need not halve the residual.
    pub(crate) fn expect_near_claims(&mut self) {
        self.most_left = 0.99;
    }

    /// Says that the residual is made by the square of a polynomial, whose peaks are squared too.
    pub(crate) fn expect_squared_peaks(&mut self) {
        self.limit *= self.options.dtol.max(1.0);
    }

    /// The norm of the residual before the first iteration.
    pub(crate) fn first_norm(&self) -> f64 {
        self.history[0]
    }

    /// The vectors that a method with restarts may hold.
    pub(crate) fn restart_length(&self) -> usize {
        self.options.restart_length
    }

    /// Whether the preconditioner stands on the left.
    pub(crate) fn is_left(&self) -> bool {
        self.has_preconditioner() && self.options.side == Side::Left
    }

    /// b - A x.
    pub(crate) fn residual(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        self.b.try_sub(&self.a.apply(x)?)
    }

    /// The norm of the true residual, which itself is never stored: nobody holds it.
    async fn true_norm(&self, x: &Vector<T>) -> Result<f64, Error> {
        let squares = self.residual(x)?.sum_of_squares();
        root(&squares).await
    }

    /// The preconditioned vector; the vector itself without a preconditioner.
    pub(crate) fn precondition(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        let Some(preconditioner) = self.options.preconditioner else {
            return Ok(r.clone());
        };
        let z = preconditioner.apply(r)?;
        check_runtime("preconditioner", r, &z)?;
        self.without_nullspace(z)
    }

    /// The vector preconditioned by the adjoint; the vector itself without a preconditioner.
    pub(crate) fn precondition_adjoint(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        let Some(preconditioner) = self.options.preconditioner else {
            return Ok(r.clone());
        };
        let z = preconditioner.apply_adjoint(r)?;
        check_runtime("preconditioner", r, &z)?;
        self.without_nullspace(z)
    }

    fn without_nullspace(&self, z: Vector<T>) -> Result<Vector<T>, Error> {
        match self.a.nullspace() {
            Some(nullspace) => nullspace.project(&z),
            None => Ok(z),
        }
    }

    /// Whether [`Stopping::precondition`] changes anything.
    pub(crate) fn has_preconditioner(&self) -> bool {
        self.options.preconditioner.is_some()
    }

    /// The solution, with its true residual.
    pub(crate) async fn finish(
        self,
        x: Vector<T>,
        reason: StopReason,
    ) -> Result<Solution<T>, Error> {
        let x = self.without_nullspace(x)?;
        let residual_norm = self.true_norm(&x).await?;
        Ok(Solution {
            x,
            reason,
            iterations: self.iterations,
            restarted_at: self.restarted_at,
            residual_norm,
            rhs_norm: self.rhs_norm,
            nullspace_part: self.nullspace_part,
            history: self.history,
        })
    }
}

/// What a true residual below the tolerance means. In computing A x each element is rounded, to
/// that of b in the end, so a residual below this rounding may be one of this size: a tolerance
/// below it cannot be certified.
pub(crate) fn certified<T: Field>(tolerance: f64, rhs_norm: f64) -> StopReason {
    let rounding = 0.5 * T::Real::EPSILON.to_f64() * rhs_norm;
    match tolerance < rounding {
        true => StopReason::Stagnation,
        false => StopReason::Converged,
    }
}

/// The initial guess and its residual.
fn begin<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: &Options<'_, T>,
) -> Result<Begun<T>, Error> {
    let x = match options.x0 {
        Some(x0) => match a.nullspace() {
            Some(nullspace) => nullspace.project(x0)?,
            None => x0.clone(),
        },
        None => b.runtime().enter(|| Vector::zeros([b.len()])),
    };
    let r = if options.x0.is_some() {
        b.try_sub(&a.apply(&x)?)?
    } else {
        b.clone()
    };
    Ok(Start { x, r, saved: None })
}

/// What a checkpoint of this solve holds.
fn restart<T: Field>(
    path: &Path,
    expected: &Header,
    b: &Vector<T>,
    n_others: usize,
) -> Result<(Header, Begun<T>), Error> {
    let (header, vectors) = checkpoint::read::<T>(path, expected, b, 2 + n_others)?;
    let mut vectors = vectors.into_iter();
    let mut next = || vectors.next().expect("as many vectors as were asked for");
    let (x, r) = (next(), next());
    let rho = Value::from_bits(T::DTYPE, header.state.rho).get();
    let rho: T = rho.expect("the value was made with this type");
    let start = Start {
        x,
        r,
        saved: Some((b.runtime().enter(|| Scalar::new(rho)), vectors.collect())),
    };
    Ok((header, start))
}

/// The header of the checkpoints of a solve, as far as it does not change.
fn describe<T: Field>(
    op: &'static str,
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: &Options<'_, T>,
) -> Result<Header, Error> {
    if options
        .checkpoint
        .is_some_and(|checkpoint| checkpoint.every == 0)
    {
        let expected = "checkpoints every iteration or less often";
        return Err(Error::argument(op, expected, "every 0 iterations"));
    }
    let of_operator = |a| checkpoint::of_operator(b.runtime(), b.len(), a);
    Ok(Header {
        method: op.to_owned(),
        dtype: T::DTYPE.name().to_owned(),
        rows: b.len(),
        tile_len: b.runtime().config().tile_len,
        matrix: of_operator(a)?,
        rhs: checkpoint::of_vector(b)?,
        preconditioner: options.preconditioner.map(of_operator).transpose()?,
        state: State {
            iterations: 0,
            last_true: f64::INFINITY,
            rho: [0; 2],
            history: Vec::new(),
        },
        sums: Vec::new(),
    })
}

/// The most iterations on vectors of length `n`.
pub(crate) fn max_iter<T>(options: &Options<'_, T>, n: usize) -> usize {
    options
        .max_iter
        .unwrap_or_else(|| n.saturating_mul(10).min(10_000))
}
