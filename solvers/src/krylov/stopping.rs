//! When to stop: what all Krylov methods here share.
//!
//! [`Stopping::solve`] is a solve from the check of its shapes to its true residual; the method in
//! it is an async function of a residual (see [`iterations`](super::iterations)). After each
//! iteration it hands the norm of its recurrence's residual to [`Stopping::check`]. If that is
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
//! [`Stopping::saved`] gives a method what one holds.

use super::Method;
use super::iterations::{End, Iterations, Steps, expect_positive, until_stopped};
use super::residual::TrueResidual;
use super::scalars::real;
use super::validation::check;
use crate::checkpoint::{self, Header, State};
use crate::operator::{LinearOperator, check_runtime};
use crate::recycled::Recycled;
use crate::solution::{Options, Rhs, Solution, StopReason};
use crate::turns::{norm_of, value};
use sparsefuse_dense::{Scalar, Vector};
use sparsefuse_kernels::{Field, Real, Value};
use sparsefuse_runtime::Error;
use std::path::Path;

/// The state of the decision; see the module's text.
pub(super) struct Stopping<'p, 'o, T> {
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
    /// The residual's norm of the x that the method has stopped with, if that was a claim.
    last_claimed: Option<f64>,
    /// Whether the last iteration at the limit ended with a claim that was not true.
    ends_anew: bool,
    /// Whether the first p'A p was negative: then A must be negative definite.
    is_negative: Option<bool>,
    /// If a claim reduced the true residual by less than to this part of the last one, the method
    /// stagnates.
    most_left: f64,
    history: Vec<f64>,
    /// The iterations of the checkpoint from which the method resumed.
    resumed_at: usize,
    /// The iterations of the last checkpoint.
    saved_at: usize,
    /// Whose checkpoints these are; `None` where none are asked for.
    header: Option<Header>,
    /// What the first iteration begins with beside x and its residual, if a checkpoint has it.
    saved: Option<Saved<T>>,
}

/// What an iteration begins with beside x and its residual: rho and other vectors.
type Saved<T> = (Scalar<T>, Vec<Vector<T>>);

/// What a method does next, as far as the norm of its residual tells.
pub(super) enum Judgement {
    /// Goes on with its recurrence.
    Iterate,
    /// Claims convergence; [`Stopping::verify`] decides.
    Claim,
    /// Stops.
    Stop(StopReason),
}

/// Where a method begins: x and its residual r, and after a restart what its iteration begins with
/// beside them.
struct Start<T> {
    x: Vector<T>,
    r: Vector<T>,
    saved: Option<Saved<T>>,
}

impl<'p, 'o, T: Field> Stopping<'p, 'o, T> {
    /// Solves A x = b by a method: checks the shapes, starts it from the initial guess or from a
    /// checkpoint, starts it again where it asks for that, and finishes.
    pub(super) async fn solve(
        method: Method,
        a: &'p dyn LinearOperator<T>,
        b: Rhs<'_, T>,
        options: Options<'o, T>,
        iterate: impl AsyncFn(&mut Self, &mut Vector<T>, Vector<T>) -> Iterations<T>,
    ) -> Result<Solution<T>, Error> {
        let (mut stopping, mut x, r) = Self::start(method, a, b, options).await?;
        let first = match stopping.first() {
            Judgement::Iterate => Ok(r),
            Judgement::Claim => Err(stopping.verify(&x).await?),
            Judgement::Stop(reason) => Err(reason.into()),
        };
        let reason =
            until_stopped(first, async |r| iterate(&mut stopping, &mut x, r).await).await?;
        stopping.finish(x, reason).await
    }

    /// The decision, x and its residual.
    async fn start(
        method: Method,
        a: &'p dyn LinearOperator<T>,
        b: Rhs<'_, T>,
        options: Options<'o, T>,
    ) -> Result<(Self, Vector<T>, Vector<T>), Error> {
        check(method, a, b.vector, &options)?;
        let Rhs {
            vector: b,
            norm: whole_norm,
        } = b;
        let (b, nullspace_part) = match a.nullspace() {
            Some(nullspace) => nullspace.split(b)?,
            None => (b.clone(), 0.0),
        };
        let is_kept = options.checkpoint.is_some() || options.resume.is_some();
        let header = match is_kept {
            true => Some(describe(method, a, &b, &options)?),
            false => None,
        };
        let (start, state) = match (&header, options.resume) {
            (Some(header), Some(path)) => {
                let (header, start) = restart(path, header, &b, method.saved_vectors())?;
                (start, Some(header.state))
            }
            _ => (begin(a, &b, &options)?, None),
        };
        let rhs_norm = match a.nullspace() {
            Some(_) => norm_of(&b).await?,
            None => whole_norm,
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
        let mut limit = options.dtol * rhs_norm.max(state.history[0]);
        if method.has_peaks() {
            limit *= options.dtol.max(1.0);
        }
        let stopping = Self {
            a,
            rhs_norm,
            nullspace_part,
            tolerance: tolerance(a, (options.rtol, options.atol), (whole_norm, rhs_norm)),
            limit,
            max_iter: max_iter(&options, b.len()),
            b,
            iterations: state.iterations,
            last_true: state.last_true,
            last_claimed: None,
            ends_anew: false,
            is_negative: None,
            most_left: 0.5,
            history: state.history,
            resumed_at: state.iterations,
            saved_at: state.iterations,
            header,
            saved: start.saved,
            options,
        };
        Ok((stopping, start.x, start.r))
    }

    /// Whether to begin. A solve that continues from a checkpoint is not judged anew.
    fn first(&mut self) -> Judgement {
        let norm = self.history[0];
        let is_new = self.iterations == 0;
        if is_new && self.is_stopped_by_monitor(norm) {
            Judgement::Stop(StopReason::Stopped)
        } else if is_new && !norm.is_finite() {
            Judgement::Stop(StopReason::NotFinite)
        } else if is_new && norm <= self.tolerance {
            Judgement::Claim
        } else if self.is_at_limit() {
            Judgement::Stop(StopReason::IterationLimit)
        } else {
            Judgement::Iterate
        }
    }

    /// A.
    pub(super) fn operator(&self) -> &'p dyn LinearOperator<T> {
        self.a
    }

    /// The directions of other solves, if the caller keeps them.
    pub(super) fn recycled(&self) -> Option<&'o Recycled<T>> {
        self.options.recycled
    }

    /// What the first iteration begins with beside x and its residual, if a checkpoint has it.
    pub(super) fn saved<const N: usize>(&mut self) -> Option<(Scalar<T>, [Vector<T>; N])> {
        let (rho, others) = self.saved.take()?;
        let others = others.try_into().ok();
        Some((rho, others.expect("as many vectors as were asked for")))
    }

    /// The norm of a residual with this r'M^-1 r, which without a preconditioner is its square.
    pub(super) async fn norm(&self, r: &Vector<T>, rho: &Scalar<T>) -> Result<f64, Error> {
        if self.has_preconditioner() {
            return norm_of(r).await;
        }
        Ok(real(value(rho).await?).sqrt())
    }

    /// Ends the iterations, if an iteration that left a residual of this norm is a reason to.
    pub(super) async fn check(&mut self, x: &Vector<T>, norm: f64) -> Result<(), End<T>> {
        match self.judge(norm) {
            Judgement::Iterate => Ok(()),
            Judgement::Claim => Err(self.verify(x).await?),
            Judgement::Stop(reason) => Err(reason.into()),
        }
    }

    /// Takes the norm of the residual that an iteration left.
    pub(super) fn judge(&mut self, norm: f64) -> Judgement {
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

    /// Ends the iterations with an x whose residual the recurrence takes to be small enough: it is,
    /// or they start again.
    pub(super) async fn verify(&mut self, x: &Vector<T>) -> Result<End<T>, Error> {
        let found = self.true_residual(x).await?;
        self.last_claimed = Some(found.norm);
        if self.iterations == 0 {
            // The initial guess is what is claimed.
            self.history[0] = found.norm;
        }
        if found.norm <= self.tolerance {
            return Ok(found.certified(self.tolerance, self.rhs_norm).into());
        }
        if !found.norm.is_finite() || found.norm > self.most_left * self.last_true {
            return Ok(StopReason::Stagnation.into());
        }
        self.last_true = found.norm;
        self.last_claimed = None;
        // At the limit, what the next iteration would begin with is saved.
        self.ends_anew = self.is_at_limit();
        let is_saved = self.options.checkpoint.is_some() && self.iterations > 0;
        if self.ends_anew && !is_saved {
            return Ok(StopReason::IterationLimit.into());
        }
        Ok(End::Restart(found.vector(self.a, (&self.b, x))?))
    }

    /// rho, which is positive, from a checkpoint, where it has the sign of p'A p.
    pub(super) fn with_sign(&mut self, rho: &Scalar<T>) -> Result<Scalar<T>, Error> {
        let rho_signed = rho.get()?;
        self.is_negative = Some(real(rho_signed) < 0.0);
        let rho_alone = signed(rho_signed, self.is_negative);
        Ok(rho.runtime().enter(|| Scalar::new(rho_alone)))
    }

    /// Whether this p'A p says that A is neither positive nor negative definite: it is 0, or one
    /// before it had the other sign.
    pub(super) fn is_indefinite(&mut self, sigma: f64) -> bool {
        if sigma == 0.0 {
            return true;
        }
        let is_negative = *self.is_negative.get_or_insert(sigma < 0.0);
        (sigma < 0.0) != is_negative
    }

    /// Stops where p'A p, which has been computed, says that A is indefinite, or r'M^-1 r is not
    /// positive, with the norm of the residual. Where that is below the rounding of b, they may
    /// have become 0, and x is judged.
    pub(super) async fn expect_definite(
        &mut self,
        x: &Vector<T>,
        [sigma, gamma]: [&Scalar<T>; 2],
        norm: f64,
    ) -> Result<(), End<T>> {
        let both = match self.is_indefinite(real(sigma.get()?)) {
            true => Err(StopReason::IndefiniteMatrix.into()),
            false => expect_positive(gamma, StopReason::IndefinitePreconditioner),
        };
        match both {
            Err(End::Stop(_))
                if norm <= T::Real::EPSILON.to_f64() * self.rhs_norm.max(self.history[0]) =>
            {
                Err(self.verify(x).await?)
            }
            both => both,
        }
    }

    /// As [`Stopping::save`], before the first iteration: where the last one at the limit ended
    /// with a claim that was not true, the next one begins anew.
    pub(super) fn save_anew<const N: usize>(
        &mut self,
        (x, r): (&Vector<T>, &Vector<T>),
        rho: &Scalar<T>,
        others: [&Vector<T>; N],
    ) -> Result<(), End<T>> {
        match self.ends_anew {
            true => self.save((x, r), rho, others),
            false => Ok(()),
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

    /// Whether the end of this iteration is to be saved.
    pub(super) fn is_due(&self) -> bool {
        let checkpoint = self.options.checkpoint.as_ref();
        checkpoint.is_some_and(|checkpoint| {
            self.iterations - self.saved_at >= checkpoint.every || self.is_at_limit()
        })
    }

    /// Writes a checkpoint, if one is due: what the next iteration of the method begins with. At
    /// the limit of iterations one is due, and ends them.
    pub(super) fn save<const N: usize>(
        &mut self,
        (x, r): (&Vector<T>, &Vector<T>),
        rho: &Scalar<T>,
        others: [&Vector<T>; N],
    ) -> Result<(), End<T>> {
        let is_due = self.is_due();
        let (Some(checkpoint), Some(header)) = (self.options.checkpoint, &mut self.header) else {
            return Ok(());
        };
        if !is_due {
            return Ok(());
        }
        let is_last = self.iterations >= self.max_iter;
        self.saved_at = self.iterations;
        header.state = State {
            iterations: self.iterations,
            last_true: self.last_true,
            rho: signed(rho.get()?, self.is_negative).to_bits(),
            history: self.history.clone(),
        };
        let mut vectors = vec![x, r];
        vectors.extend(others);
        checkpoint::write(checkpoint.file, header, &vectors)?;
        match is_last {
            true => Err(StopReason::IterationLimit.into()),
            false => Ok(()),
        }
    }

    /// Says that the method minimises another norm than the one that counts, so that a claim which
    /// is not quite true means little: the method itself sees whether it goes on.
    pub(super) fn expect_near_claims(&mut self) {
        self.most_left = f64::INFINITY;
    }

    /// Whether iterations have been done before these ones.
    pub(super) fn has_begun(&self) -> bool {
        self.iterations > 0
    }

    /// The x of before the first iteration.
    pub(super) fn initial_guess(&self) -> Result<Vector<T>, Error> {
        Ok(begin(self.a, &self.b, &self.options)?.x)
    }

    /// The norm of the residual before the first iteration.
    pub(super) fn first_norm(&self) -> f64 {
        self.history[0]
    }

    /// b - A x.
    pub(super) fn residual(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        self.b.try_sub(&self.a.apply(x)?)
    }

    async fn true_residual(&self, x: &Vector<T>) -> Result<TrueResidual<T>, Error> {
        TrueResidual::of(self.a, (&self.b, x), self.tolerance).await
    }

    /// The preconditioned vector; the vector itself without a preconditioner.
    pub(super) fn precondition(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        let Some(preconditioner) = self.options.preconditioner else {
            return Ok(r.clone());
        };
        let z = preconditioner.apply(r)?;
        check_runtime("preconditioner", r, &z)?;
        self.without_nullspace(z)
    }

    /// The vector preconditioned by the adjoint; the vector itself without a preconditioner.
    pub(super) fn precondition_adjoint(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
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

    /// The rounds of the method, each an iteration without its decisions.
    pub(super) fn rounds(&self) -> Steps {
        let is_repeatable = |operator: &dyn LinearOperator<T>| operator.is_repeatable();
        Steps::new(is_repeatable(self.a) && self.options.preconditioner.is_none_or(is_repeatable))
    }

    /// Whether [`Stopping::precondition`] changes anything.
    pub(super) fn has_preconditioner(&self) -> bool {
        self.options.preconditioner.is_some()
    }

    /// The solution, with its true residual, which may be below the tolerance though the method's
    /// recurrence does not have it there.
    async fn finish(self, x: Vector<T>, mut reason: StopReason) -> Result<Solution<T>, Error> {
        let mut x = self.without_nullspace(x)?;
        let mut residual_norm = match self.last_claimed.filter(|_| self.a.nullspace().is_none()) {
            Some(norm) => norm,
            None => {
                let found = self.true_residual(&x).await?;
                // Behind a checkpoint at the limit, the method goes on as if it had not stopped.
                if !(reason == StopReason::IterationLimit && self.options.checkpoint.is_some()) {
                    reason = found.reason(reason, self.tolerance, self.rhs_norm);
                }
                found.norm
            }
        };
        if !residual_norm.is_finite() && !is_finite(&x).await? {
            let start = begin(self.a, &self.b, &self.options)?;
            if is_finite(&start.x).await? {
                (x, reason) = (start.x, StopReason::NotFinite);
                residual_norm = norm_of(&start.r).await?;
            }
        }
        Ok(Solution {
            x,
            reason,
            iterations: self.iterations,
            resumed_at: self.resumed_at,
            residual_norm,
            rhs_norm: self.rhs_norm,
            nullspace_part: self.nullspace_part,
            history: self.history,
        })
    }
}

/// The largest residual of a solution by `rtol` and `atol`, where b has these norms: the whole, and
/// what is left of it without the nullspace.
pub(super) fn tolerance<T: Field>(
    a: &dyn LinearOperator<T>,
    (rtol, atol): (f64, f64),
    (whole_norm, rhs_norm): (f64, f64),
) -> f64 {
    // What the projection leaves of the nullspace is rounding of b, and no residual is below.
    let rounding = match a.nullspace() {
        Some(_) => T::Real::EPSILON.to_f64() * whole_norm,
        None => 0.0,
    };
    (rtol * rhs_norm).max(atol).max(rounding)
}

/// The initial guess and its residual; 0 and b without one, or behind a checkpoint.
fn begin<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: &Options<'_, T>,
) -> Result<Start<T>, Error> {
    let guess = options.x0.filter(|_| options.resume.is_none());
    let x = match guess {
        Some(x0) => match a.nullspace() {
            Some(nullspace) => nullspace.project(x0)?,
            None => x0.clone(),
        },
        None => b.runtime().enter(|| Vector::zeros([b.len()])),
    };
    let r = if guess.is_some() {
        b.try_sub(&a.apply(&x)?)?
    } else {
        b.clone()
    };
    Ok(Start { x, r, saved: None })
}

/// A number with the other sign where A is negative definite.
fn signed<T: Field>(number: T, is_negative: Option<bool>) -> T {
    match is_negative {
        Some(true) => -number,
        _ => number,
    }
}

/// What a checkpoint of this solve holds.
fn restart<T: Field>(
    path: &Path,
    expected: &Header,
    b: &Vector<T>,
    n_others: usize,
) -> Result<(Header, Start<T>), Error> {
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
    method: Method,
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: &Options<'_, T>,
) -> Result<Header, Error> {
    if options
        .checkpoint
        .is_some_and(|checkpoint| checkpoint.every == 0)
    {
        let expected = "checkpoints every iteration or less often";
        return Err(Error::argument(
            method.name(),
            expected,
            "every 0 iterations",
        ));
    }
    let of_operator = |a| checkpoint::of_operator(b.runtime(), b.len(), a);
    Ok(Header {
        method: method.name().to_owned(),
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

/// Whether a vector has neither infinite elements nor any that are not numbers.
pub(super) async fn is_finite<T: Field>(x: &Vector<T>) -> Result<bool, Error> {
    Ok(value(&x.norm_inf()).await?.to_f64().is_finite())
}

/// The most iterations on vectors of length `n`.
pub(super) fn max_iter<T>(options: &Options<'_, T>, n: usize) -> usize {
    options
        .max_iter
        .unwrap_or_else(|| n.saturating_mul(10).min(10_000))
}
