//! The minimal residual method.

use super::Method;
use super::iterations::{End, Iterations};
use super::scalars::{length, real};
use super::stopping::Stopping;
use crate::operator::LinearOperator;
use crate::solution::{Breakdown, Options, Solution, StopReason};
use crate::turns::{norm_of, value};
use sparsefuse_dense::{Scalar, Vector};
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;

/// Solves A x = b by the minimal residual method with the default [`Options`]; A must be symmetric
/// (or Hermitian) and may be indefinite.
///
/// # Errors
///
/// As [`minres_with`].
pub fn minres<T: Field>(a: &dyn LinearOperator<T>, b: &Vector<T>) -> Result<Solution<T>, Error> {
    minres_with(a, b, Options::default())
}

/// Solves A x = b by the preconditioned minimal residual method; A must be symmetric (or
/// Hermitian) and may be indefinite, the preconditioner M must be positive definite.
///
/// Paige and Saunders (1975), as Algorithm 4.1 of Elman, Silvester and Wathen, *Finite Elements and
/// Fast Iterative Solvers*, 2nd edition. One product and two reductions an iteration; holds x, v,
/// w, z, the last v and w, and A z. With a preconditioner it minimises the norm r'M^-1 r; the norms
/// of monitor and history are then scaled so that the first one is that of b - A x, and again where
/// it turns out that the residual is not as small. On a singular A with a b outside of its range
/// it stops at a least-squares solution ([`StopReason::LeastSquares`]), where ‖A r‖ is at most
/// eps^(3/4) ‖A‖ ‖r‖, as the tridiagonal matrix tells: behind it lies division by what rounding has
/// left. The true A r must then be at most 16 eps^(1/2) ‖A‖ ‖r‖, r'A r at most 16 eps ‖A‖ ‖r‖² and
/// ‖A r‖² at most 16 eps^(1/2) ‖r‖ ‖A A r‖; else the method starts again from the true residual,
/// or stagnates where that has not become smaller by half. Not by `rtol`: where A is regular, an r
/// of its smallest eigenvalues has a small A r too. If rounding keeps A r from becoming as small,
/// it is seen behind, when ‖A‖ times the growth of x, which the recurrence tells, exceeds
/// eps^(-1/2) times the first residual, and the true residual has not become smaller: then the
/// solution is the x of the smallest A r.
/// With a preconditioner the x that it stops at makes another norm least, and the reason is
/// [`StopReason::Stagnation`].
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::{Options, StopReason, minres_with};
/// use sparsefuse_sparse::Csr;
///
/// // Rows sum to 0, and so does every A x, but not b.
/// let a = Csr::<f64>::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, -1.0, -1.0, 1.0])?;
/// let solution = minres_with(&a, &Vector::from_vec(vec![3.0, 1.0]), Options::default())?;
/// assert_eq!(solution.reason, StopReason::LeastSquares);
/// let r = Vector::from_vec(vec![3.0, 1.0]) - &a * &solution.x;
/// assert!((r - 2.0).abs().max().get()? < 1e-12);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// # Errors
///
/// If shapes or runtimes do not fit, an option is out of range, an entry of the matrix is infinite
/// or not a number, the matrix is seen not to be symmetric, an operator fails, or a checkpoint is
/// asked for; not converging is no error but a [`StopReason`].
pub fn minres_with<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    Method::Minres.solve(a, b, options)
}

pub(super) async fn iterate<T: Field>(
    stopping: &mut Stopping<'_, '_, T>,
    x: &mut Vector<T>,
    r: Vector<T>,
) -> Iterations<T> {
    let a = stopping.operator();
    let is_preconditioned = stopping.has_preconditioner();
    if is_preconditioned {
        stopping.expect_near_claims();
    }
    let zeros = || r.runtime().enter(|| Vector::zeros([r.len()]));
    let mut v = [zeros(), r.clone()];
    let mut w = [zeros(), zeros()];
    let mut z = stopping.precondition(&r)?;
    let norm = r.sum_of_squares();
    let squares = r.dot(&z);
    let gamma = positive_root(&squares).await?;
    if is_preconditioned && gamma == 0.0 {
        // r is not 0, so M^-1 is not positive definite.
        return Err(StopReason::IndefinitePreconditioner.into());
    }
    let first = norm.get()?.to_f64().sqrt();
    let begun = Begun {
        // The initial guess can be had again without holding it.
        x: stopping.has_begun().then(|| x.clone()),
        norm: first,
    };
    let mut scale = first / gamma;
    let mut lanczos = Rotations::new(gamma);
    let mut nearest: Option<Nearest<T>> = None;
    let mut growth = Growth::default();
    let mut most_growth = gamma / T::Real::EPSILON.to_f64().sqrt();
    // An untrue claim: the norm that is minimised, and the true one.
    let mut claimed: Option<[f64; 2]> = None;
    loop {
        z *= T::from_f64(1.0 / lanczos.gamma[1]);
        let az = a.apply(&z)?;
        let delta = z.dot(&az);
        let [last_v, this_v] = &v;
        let v_next = az
            - (&delta * T::from_f64(1.0 / lanczos.gamma[1])) * this_v
            - last_v * T::from_f64(lanczos.gamma[1] / lanczos.gamma[0]);
        let z_next = stopping.precondition(&v_next)?;
        let gamma_next = positive_root(&v_next.dot(&z_next)).await?;
        let delta = real(delta.get()?);
        let gradient = lanczos.gradient(delta, gamma_next);
        if gradient <= least_gradient::<T>() {
            let largest = lanczos.largest(delta, gamma_next);
            return Err(end(stopping, x, nearest.map(|it| it.x), &begun, largest).await?);
        }
        let most = nearest
            .as_ref()
            .map_or(small_gradient::<T>(), |it| it.gradient);
        if gradient < most {
            let (x, eta) = (x.clone(), lanczos.eta.abs());
            nearest = Some(Nearest { x, gradient, eta });
        }
        let step = lanczos.step::<T>(delta, gamma_next);
        let step = step.ok_or(Breakdown::Projection)?;
        let [last_w, this_w] = &w;
        let w_next = &z - last_w * T::from_f64(step.last) - this_w * T::from_f64(step.this);
        let w_next = w_next * T::from_f64(1.0 / step.diagonal);
        *x += &w_next * T::from_f64(step.length);
        let norm = scale * lanczos.eta.abs();
        match stopping.check(x, norm).await {
            // Nothing is left of what is minimised: what is left of the residual is rounding,
            // unless much of it went.
            Err(End::Restart(residual)) if is_preconditioned && norm == 0.0 => {
                let left = norm_of(&residual).await?;
                return Err(match left < 0.5 * first {
                    true => End::Restart(residual),
                    false => StopReason::Stagnation.into(),
                });
            }
            // A claim in the norm of the preconditioner: it goes on, with a better scale.
            Err(End::Restart(residual)) if is_preconditioned => {
                let now = [lanczos.eta.abs(), norm_of(&residual).await?];
                let before = claimed.get_or_insert(now);
                if now[0] <= 0.5 * before[0] {
                    if now[1] > 0.99 * before[1] {
                        return Err(StopReason::Stagnation.into());
                    }
                    *before = now;
                }
                scale *= now[1] / norm;
            }
            judged => judged?,
        }
        growth.step(&step);
        if lanczos.largest * growth.norm() > most_growth {
            most_growth = 10.0 * lanczos.largest * growth.norm();
            let growth = lanczos.largest * growth.norm();
            let before = (&mut nearest, &begun);
            if let Some(reason) = grown(stopping, x, before, &lanczos, growth).await? {
                return Err(reason.into());
            }
        }
        z = z_next;
        let [_, this_v] = v;
        v = [this_v, v_next];
        let [_, this_w] = w;
        w = [this_w, w_next];
    }
}

/// The square root of an inner product; stops where it is negative, which it is not if the
/// preconditioner is positive definite.
async fn positive_root<T: Field>(squares: &Scalar<T>) -> Result<f64, End<T>> {
    let squares = real(value(squares).await?);
    match squares < 0.0 {
        true => Err(StopReason::IndefinitePreconditioner.into()),
        false => Ok(squares.sqrt()),
    }
}

/// Where the iterations have begun.
struct Begun<T> {
    /// x, where that was not the initial guess.
    x: Option<Vector<T>>,
    /// The norm of its residual.
    norm: f64,
}

impl<T: Field> Begun<T> {
    fn x(&self, stopping: &Stopping<'_, '_, T>) -> Result<Vector<T>, Error> {
        match &self.x {
            Some(x) => Ok(x.clone()),
            None => stopping.initial_guess(),
        }
    }
}

/// How the iterations end where the recurrence finds that no x is better than this one. When its
/// vectors have lost their orthogonality it says nothing of x, so what counts is the true A r,
/// beside the largest entry of the tridiagonal matrix or of A. If that is not small, the x of
/// another small A r may do; else the x of the least true residual is where the method begins
/// again, if that is much smaller than before, or what it stops with. With a preconditioner,
/// nothing is claimed.
async fn end<T: Field>(
    stopping: &Stopping<'_, '_, T>,
    x: &mut Vector<T>,
    other: Option<Vector<T>>,
    begun: &Begun<T>,
    largest: f64,
) -> Result<End<T>, Error> {
    let is_preconditioned = stopping.has_preconditioner();
    // Beside rounding, where no x is better than the one that it began with.
    let most = (1.0 + T::Real::EPSILON.to_f64().sqrt()) * begun.norm;
    let mut least: Option<(f64, Vector<T>, Vector<T>)> = None;
    for candidate in std::iter::once(x.clone()).chain(other) {
        let r = stopping.residual(&candidate)?;
        let norm = norm_of(&r).await?;
        if norm <= most {
            if is_preconditioned {
                *x = candidate;
                return Ok(StopReason::Stagnation.into());
            }
            if is_least(stopping, &r, norm, largest, ROUNDING).await? {
                *x = candidate;
                return Ok(StopReason::LeastSquares.into());
            }
            if least.as_ref().is_none_or(|it| norm < it.0) {
                least = Some((norm, candidate, r));
            }
        }
    }
    Ok(match least {
        Some((norm, found, r)) if norm < begun.norm => {
            *x = found;
            match norm <= 0.5 * begun.norm {
                true => End::Restart(r),
                false => StopReason::Stagnation.into(),
            }
        }
        _ => {
            *x = begun.x(stopping)?;
            let r = stopping.residual(x)?;
            let is_least = is_least(stopping, &r, begun.norm, largest, ROUNDING);
            match !is_preconditioned && is_least.await? {
                true => StopReason::LeastSquares.into(),
                false => StopReason::Stagnation.into(),
            }
        }
    })
}

/// Whether the iterations end where x has grown as it does on a singular matrix, by division by
/// what rounding has left: where the x of the smallest A r, or without one that which they began
/// with, has no larger residual and is a least-squares solution, or this one is. `growth` is ‖A‖
/// times that of x. With a preconditioner it must be seen that the residual is not as small as the
/// recurrence has it.
async fn grown<T: Field>(
    stopping: &Stopping<'_, '_, T>,
    x: &mut Vector<T>,
    (nearest, begun): (&mut Option<Nearest<T>>, &Begun<T>),
    lanczos: &Rotations,
    growth: f64,
) -> Result<Option<StopReason>, Error> {
    if stopping.has_preconditioner() && nearest.is_none() {
        return Ok(None);
    }
    let before = match nearest {
        Some(nearest) => nearest.x.clone(),
        None => begun.x(stopping)?,
    };
    let is_preconditioned = stopping.has_preconditioner();
    let (r_before, r) = (stopping.residual(&before)?, stopping.residual(x)?);
    let norm = async |r: &Vector<T>| {
        let squares = r.dot(&stopping.precondition(r)?);
        Ok::<_, Error>(real(value(&squares).await?).sqrt())
    };
    let norms = [norm(&r_before).await?, norm(&r).await?];
    let is_better = norms[1] < 0.95 * norms[0];
    // So much of this residual may be rounding of A x.
    let noise = ROUNDING * T::Real::EPSILON.to_f64() * growth;
    if norms[1] + noise < 0.95 * norms[0] {
        *nearest = None;
        return Ok(None);
    }
    if is_preconditioned {
        let is_untrue = |nearest: &Nearest<T>| lanczos.eta.abs() < 0.9 * nearest.eta;
        let nearest = nearest.take_if(|it| is_better || is_untrue(it));
        return Ok(nearest.filter(|_| !is_better).map(|nearest| {
            *x = nearest.x;
            StopReason::Stagnation
        }));
    }
    let most = (1.0 + T::Real::EPSILON.to_f64().sqrt()) * begun.norm;
    // A smaller residual is rounding too where A r is 0 to the last digit.
    let rounding = if is_better { 1.0 } else { ROUNDING };
    for (candidate, r, norm) in [(before, r_before, norms[0]), (x.clone(), r, norms[1])] {
        if norm <= most && is_least(stopping, &r, norm, lanczos.largest, rounding).await? {
            *x = candidate;
            return Ok(Some(StopReason::LeastSquares));
        }
    }
    if is_better {
        *nearest = None;
    }
    Ok(None)
}

/// How many units of rounding r'A r / (‖A‖ ‖r‖²) may be at a least-squares solution.
const ROUNDING: f64 = 16.0;

/// Whether a residual is that of a least-squares solution, as far as rounding lets one see: A r is
/// small because only a small part of r is in the range of A, and not because r lies along small
/// eigenvalues of a regular A. So r'A r is as small as the square of that part, a few units of
/// rounding; and where eigenvalues of both signs cancel in it, ‖A r‖² is still not as small beside
/// ‖r‖ ‖A A r‖. Beside the largest entry of A, or of the tridiagonal matrix: neither exceeds ‖A‖.
async fn is_least<T: Field>(
    stopping: &Stopping<'_, '_, T>,
    r: &Vector<T>,
    norm: f64,
    largest: f64,
    rounding: f64,
) -> Result<bool, Error> {
    let a = stopping.operator();
    let largest = largest.max(a.largest_entry()?.unwrap_or(0.0));
    let direction = r * T::from_f64(1.0 / norm);
    let image = a.apply(&direction)?;
    let quotient = direction.dot(&image);
    let length = norm_of(&image).await?;
    let quotient = real(quotient.get()?).abs();
    let eps = T::Real::EPSILON.to_f64();
    if !(length <= small_gradient::<T>() * largest && quotient <= rounding * eps * largest) {
        return Ok(false);
    }
    let of_image = norm_of(&a.apply(&image)?).await?;
    Ok(length * length <= small_gradient::<T>() * of_image)
}

/// What rounding may leave of ‖A r‖ / (‖A‖ ‖r‖) at a least-squares solution: eps^(3/4).
fn least_gradient<T: Field>() -> f64 {
    let root = T::Real::EPSILON.to_f64().sqrt();
    root * root.sqrt()
}

/// Where it is worth to keep an x, since rounding lets A r become no smaller than about eps^(1/2).
fn small_gradient<T: Field>() -> f64 {
    16.0 * T::Real::EPSILON.to_f64().sqrt()
}

/// The x of the smallest A r.
struct Nearest<T> {
    x: Vector<T>,
    gradient: f64,
    /// The norm of the residual as the recurrence has it.
    eta: f64,
}

/// The norm of what the iterations have added to x, if their vectors are orthogonal: inner products
/// of x and of the last two w, by the recurrence that makes them.
#[derive(Default)]
struct Growth {
    /// Of x with itself.
    squares: f64,
    /// Of the last w and this w with x.
    with_x: [f64; 2],
    /// Of the last w and this w with themselves.
    w: [f64; 2],
    /// Of the two.
    between: f64,
}

impl Growth {
    fn norm(&self) -> f64 {
        self.squares.sqrt()
    }

    fn step(&mut self, step: &Step) {
        // The next w = (z - last w_last - this w_this) / diagonal, where z is orthogonal to all.
        let with = |last: f64, this: f64| -(step.last * last + step.this * this) / step.diagonal;
        let with_last = with(self.w[0], self.between);
        let with_this = with(self.between, self.w[1]);
        let with_x = with(self.with_x[0], self.with_x[1]);
        let with_itself =
            (1.0 / step.diagonal - step.last * with_last - step.this * with_this) / step.diagonal;
        self.squares += step.length * (2.0 * with_x + step.length * with_itself);
        self.with_x = [
            self.with_x[1] + step.length * with_this,
            with_x + step.length * with_itself,
        ];
        self.w = [self.w[1], with_itself];
        self.between = with_this;
    }
}

/// The factorisation of the tridiagonal matrix by rotations; the numbers of the last iteration and
/// of this one.
struct Rotations {
    gamma: [f64; 2],
    c: [f64; 2],
    s: [f64; 2],
    eta: f64,
    /// The largest entry of the matrix so far.
    largest: f64,
}

/// What an iteration does with its vectors: w = (z - last w_last - this w_this) / diagonal, and
/// x += length w.
struct Step {
    last: f64,
    this: f64,
    diagonal: f64,
    length: f64,
}

impl Rotations {
    fn new(gamma: f64) -> Self {
        Self {
            gamma: [1.0, gamma],
            c: [1.0, 1.0],
            s: [0.0, 0.0],
            eta: gamma,
            largest: 0.0,
        }
    }

    /// ‖A r‖ / (‖A‖ ‖r‖) before a step with these entries of the matrix, in the norms of the
    /// preconditioner; ‖A‖ is taken to be the largest entry. Choi, Paige and Saunders,
    /// *MINRES-QLP* (2011), section 3.
    fn gradient(&self, delta: f64, gamma_next: f64) -> f64 {
        let above = self.c[1] * delta - self.c[0] * self.s[1] * self.gamma[1];
        let length = length(above, self.c[1] * gamma_next);
        match self.largest(delta, gamma_next) {
            // A r = 0 from the beginning, or there are no numbers.
            0.0 => length,
            largest => length / largest,
        }
    }

    /// The largest entry of the matrix with the next ones.
    fn largest(&self, delta: f64, gamma_next: f64) -> f64 {
        self.largest.max(delta.abs()).max(gamma_next)
    }

    /// Takes the next entries of the matrix; nothing if it is singular and grows no further.
    fn step<T: Field>(&mut self, delta: f64, gamma_next: f64) -> Option<Step> {
        let gamma = self.gamma[1];
        let [c_last, c] = self.c;
        let [s_last, s] = self.s;
        let above = c * delta - c_last * s * gamma;
        let diagonal = length(above, gamma_next);
        self.largest = self.largest(delta, gamma_next);
        if diagonal <= 1e2 * T::Real::EPSILON.to_f64() * self.largest {
            return None;
        }
        let step = Step {
            last: s_last * gamma,
            this: s * delta + c_last * c * gamma,
            diagonal,
            length: above / diagonal * self.eta,
        };
        self.gamma = [gamma, gamma_next];
        self.c = [c, above / diagonal];
        self.s = [s, gamma_next / diagonal];
        self.eta *= -self.s[1];
        Some(step)
    }
}
