//! The generalised minimal residual method, with restarts.

use super::Method;
use super::arnoldi::{Arnoldi, Zeros};
use super::iterations::{End, Iterations};
use super::stopping::{Judgement, Stopping};
use crate::operator::LinearOperator;
use crate::solution::{Breakdown, Options, Side, Solution, StopReason};
use crate::turns::norm_of;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// Solves A x = b by GMRES with the default [`Options`].
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::gmres;
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(16)?;
/// let b = &a * &Vector::ones([256]);
/// let solution = gmres(&a, &b)?;
/// assert!(solution.converged());
/// assert!((solution.x.to_vec()?[17] - 1.0).abs() < 1e-6);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// # Errors
///
/// As [`gmres_with`].
pub fn gmres<T: Field>(a: &dyn LinearOperator<T>, b: &Vector<T>) -> Result<Solution<T>, Error> {
    gmres_with(a, b, Options::default())
}

/// Solves A x = b by preconditioned GMRES, restarted after 30 iterations; A may be
/// unsymmetric. [`Method::Gmres`] has another length, and the preconditioner on the left.
///
/// Saad and Schultz (1986), as Algorithms 6.9, 9.4 (left) and 9.5 (right) of Saad, *Iterative
/// Methods for Sparse Linear Systems*, 2nd edition; classical Gram-Schmidt, twice where the basis
/// would lose its orthogonality, which an estimate tells (partial reorthogonalisation). One product
/// and one reduction an iteration, of k + 2 inner products where the basis has k vectors (2 k + 3
/// where a vector is orthogonalised again); holds these, x and two more. An iteration reads the
/// basis twice: from memory once where the columns of A lie near the diagonal, so that the second
/// pass finds it in the L2 cache.
///
/// # Errors
///
/// If shapes or runtimes do not fit, an option is out of range, an entry of the matrix is infinite
/// or not a number, an operator fails, or a checkpoint is asked for; not converging is no error but
/// a [`StopReason`].
pub fn gmres_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::GMRES.solve(a, b, options)
}

pub(super) async fn iterate<T: Field>(
    (restart, side): (usize, Side),
    stopping: &mut Stopping<'_, '_, T>,
    x: &mut Vector<T>,
    r: Vector<T>,
) -> Iterations<T> {
    let a = stopping.operator();
    let is_left = side == Side::Left && stopping.has_preconditioner();
    if is_left {
        // Whether it goes on depends on what it minimises.
        stopping.expect_near_claims();
    }
    let zeros = Zeros::like(&r, restart);
    let norm = stopping.first_norm();
    let mut begin = Begin::new(stopping, (r, norm), is_left).await?;
    loop {
        let Begin { r, norms } = begin;
        if norms.minimised == 0.0 {
            // The preconditioner maps a residual to 0 that is not.
            return Err(Breakdown::Projection.into());
        }
        // By how much the true norm is larger than that of what is minimised.
        let scale = match is_left {
            true => norms.true_residual / norms.minimised,
            false => 1.0,
        };
        let mut space = Arnoldi::new(r, norms.minimised, &zeros);
        let judgement = loop {
            let u = &space.candidate();
            let w = match is_left {
                true => stopping.precondition(&a.apply(u)?)?,
                false => a.apply(&stopping.precondition(u)?)?,
            };
            space.step(w).await?;
            let is_full = space.len() == restart || space.is_exhausted();
            match stopping.judge(scale * space.residual_norm()) {
                Judgement::Iterate if !is_full => {}
                judgement => break judgement,
            }
        };
        let correction = space.combination();
        let before = x.clone();
        *x += match is_left {
            true => correction,
            false => stopping.precondition(&correction)?,
        };
        let cycle = Cycle {
            judgement,
            is_singular: space.is_singular(),
            residual: None,
        };
        begin = next_cycle(stopping, cycle, (x, before), (norms, is_left)).await?;
    }
}

/// What a cycle came to.
pub(super) struct Cycle<T> {
    /// Of the norm that its last iteration left.
    pub(super) judgement: Judgement,
    /// Whether it ended where the operator is singular on a space that cannot grow.
    pub(super) is_singular: bool,
    /// b - A x, where the method knows it.
    pub(super) residual: Option<Vector<T>>,
}

/// What a cycle begins with: the residual, preconditioned where that is done on the left.
pub(super) struct Begin<T> {
    pub(super) r: Vector<T>,
    pub(super) norms: Norms,
}

/// The norm that a cycle makes smaller, and that of the true residual.
#[derive(Clone, Copy)]
pub(super) struct Norms {
    minimised: f64,
    pub(super) true_residual: f64,
}

impl<T: Field> Begin<T> {
    pub(super) async fn new(
        stopping: &Stopping<'_, '_, T>,
        (r, true_residual): (Vector<T>, f64),
        is_left: bool,
    ) -> Result<Self, Error> {
        let (r, minimised) = match is_left {
            true => {
                let z = stopping.precondition(&r)?;
                let norm = norm_of(&z).await?;
                (z, norm)
            }
            false => (r, true_residual),
        };
        let norms = Norms {
            minimised,
            true_residual,
        };
        Ok(Self { r, norms })
    }
}

/// What the next cycle begins with, unless this cycle, at whose end x was judged, is the last.
/// Where that has made the residual larger, x is again what it was before.
pub(super) async fn next_cycle<T: Field>(
    stopping: &mut Stopping<'_, '_, T>,
    cycle: Cycle<T>,
    (x, before): (&mut Vector<T>, Vector<T>),
    (last, is_left): (Norms, bool),
) -> Result<Begin<T>, End<T>> {
    let (r, is_claimed) = match cycle.judgement {
        Judgement::Stop(reason) => return Err(reason.into()),
        Judgement::Claim => match stopping.verify(x).await? {
            End::Restart(residual) => (residual, true),
            end => return Err(end),
        },
        Judgement::Iterate if cycle.is_singular => return Err(Breakdown::Projection.into()),
        Judgement::Iterate => match cycle.residual {
            Some(residual) => (residual, false),
            None => (stopping.residual(x)?, false),
        },
    };
    let norm = norm_of(&r).await?;
    if norm == 0.0 {
        return Err(stopping.verify(x).await?);
    }
    let next = Begin::new(stopping, (r, norm), is_left).await?;
    // A cycle that changes next to nothing is followed by its like. On the left the true residual
    // may grow meanwhile.
    if (is_claimed && !is_left) || next.norms.minimised < last.minimised * (1.0 - 1e-8) {
        return Ok(next);
    }
    if !(norm.is_finite() && next.norms.minimised.is_finite()) {
        return Err(StopReason::NotFinite.into());
    }
    if norm > last.true_residual {
        *x = before;
    }
    Err(StopReason::Stagnation.into())
}
