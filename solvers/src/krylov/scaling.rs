//! Solves do not depend on the scale of the system.
//!
//! Methods form squares: of residuals, p'A p, norms of images. Of numbers far from 1 these become 0
//! or infinite, and then a residual of 0 is claimed where there is none, or a definite matrix seems
//! indefinite. So a system out of a safe range is solved as another one:
//!
//! ```text
//! (2^-i A) (2^(i-j) x) = 2^-j b      with 2^i and 2^j about the largest entries of A and b
//! ```
//!
//! Multiplying by a power of two is exact, so the digits are those of a system near 1, and what is
//! reported is multiplied back. The operator is not copied: its vectors are multiplied by one half
//! of the power before it and by the other half behind it, which keeps the products in the middle
//! of the range too. A system within the safe range is solved as it is.
//!
//! Elements of x that are too small for their type are rounded when x is multiplied back. Then the
//! residual is that of the rounded x, and if it is not what the method claims, the reason is
//! [`StopReason::Underflow`].
//!
//! The largest entries of A come from the operator ([`LinearOperator::largest_entry`]), or from one
//! application to a random vector.

use super::Method;
use super::scalars::length;
use super::stopping::tolerance;
use crate::nullspace::Nullspace;
use crate::operator::{LinearOperator, check_runtime, check_same_runtime};
use crate::powers::{exponent, times_power, times_power_of};
use crate::recycled::Recycled;
use crate::solution::{Input, Monitor, Options, Rhs, Solution, StopReason};
use crate::turns::{norm_of, root, value};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{DType, Field, Real};
use sparsefuse_runtime::{Error, Runtime};
use std::ops::{ControlFlow, RangeInclusive};

/// The seed of the vector that operators are tried with.
const SEED: u64 = 0x5ca1e;

/// Solves A x = b by a method, at a scale that suits it. Refuses a matrix that is seen not to be
/// symmetric where the method needs one.
pub(crate) async fn solve<T: Field>(
    method: Method,
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    mut options: Options<'_, T>,
) -> Result<Solution<T>, Error> {
    let op = method.name();
    let of_guess = options.x0.map(Vector::runtime);
    let of_preconditioner = options.preconditioner.and_then(LinearOperator::runtime);
    let of_recycled = options.recycled.and_then(Recycled::runtime);
    for (expected, found) in [
        ("a matrix of the runtime of b", a.runtime()),
        ("a preconditioner of the runtime of b", of_preconditioner),
        ("an initial guess of the runtime of b", of_guess),
        ("directions of the runtime of b", of_recycled.as_ref()),
    ] {
        check_same_runtime(op, expected, b.runtime(), found)?;
    }
    let squares = b.sum_of_squares();
    method.check_operator(a)?;
    let largest = a.largest_entry().map_err(|error| error.of_operation(op))?;
    let of_a = match largest {
        Some(largest) => largest,
        None => largest_image(op, a, b, 0).await?,
    };
    let norm = root(&squares).await?;
    let is_guessed = options.x0.is_some_and(|x0| x0.len() == a.shape().1);
    if is_guessed && norm == 0.0 && value(&b.norm_inf()).await?.to_f64() == 0.0 {
        // A residual is small beside b; beside 0 none is but that of x = 0.
        options.x0 = None;
    }
    let of_a = of_a.max(method.damping());
    let scale = match is_safe::<T>(of_a, norm) {
        true => None,
        false => Scale::of(method, b, &options, of_a).await?,
    };
    if let Some(recycled) = options.recycled {
        recycled.at_scale(scale.map_or(0, |scale| scale.a));
    }
    let (x0, preconditioner) = (options.x0, options.preconditioner);
    let mut solution = match scale {
        None => method.steps(a, Rhs { vector: b, norm }, options).await?,
        Some(scale) => scale.solve(method, a, b, options).await?,
    };
    // A residual does not see the elements of x that A has no entries for.
    if !solution.converged() && !value(&solution.x.norm_inf()).await?.to_f64().is_finite() {
        solution.reason = StopReason::NotFinite;
    }
    if solution.reason == StopReason::NotFinite {
        let input = not_finite(a, b, x0, preconditioner).await?;
        solution.reason = input.map_or(solution.reason, StopReason::NotFiniteInput);
    }
    Ok(solution)
}

/// What of a system is infinite or not a number, if anything is: two applications at most.
async fn not_finite<T: Field>(
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    x0: Option<&Vector<T>>,
    preconditioner: Option<&dyn LinearOperator<T>>,
) -> Result<Option<Input>, Error> {
    if !value(&b.norm_inf()).await?.to_f64().is_finite() {
        return Ok(Some(Input::RightHandSide));
    }
    if let Some(x0) = x0
        && !norm_of(&b.try_sub(&a.apply(x0)?)?).await?.is_finite()
    {
        return Ok(Some(Input::InitialGuess));
    }
    if let Some(preconditioner) = preconditioner {
        let ones = b.runtime().enter(|| Vector::ones([a.shape().1]));
        let image = preconditioner.apply(&ones)?;
        if !value(&image.norm_inf()).await?.to_f64().is_finite() {
            return Ok(Some(Input::Preconditioner));
        }
    }
    Ok(None)
}

/// Whether the squares and products that methods form of such a system stay well within the range
/// of its type, down to a residual at the precision of the type.
fn is_safe<T: Field>(of_a: f64, of_b: f64) -> bool {
    if !of_a.is_normal() || !of_b.is_normal() {
        // Where A has no scale, b has its own.
        return of_a == 0.0 && is_safe::<T>(1.0, of_b);
    }
    let range: RangeInclusive<i32> = match T::DTYPE.real() {
        DType::F32 => -50..=80,
        _ => -600..=700,
    };
    let (a, b) = (exponent(of_a), exponent(of_b));
    // r'r, p'A p, r'M^-1 r, squares of A r, and of A v where v has length 1.
    let products = [2 * b, 2 * b + a, 2 * b - a, 2 * (a + b), 2 * a];
    products.iter().all(|product| range.contains(product))
}

/// The powers of two that a system is divided by.
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// i: that of the matrix.
    a: i32,
    /// j: that of b.
    b: i32,
}

impl Scale {
    /// Those of a system out of the safe range; nothing where b is 0, or no number says how large
    /// the system is.
    async fn of<T: Field>(
        method: Method,
        b: &Vector<T>,
        options: &Options<'_, T>,
        of_a: f64,
    ) -> Result<Option<Self>, Error> {
        let of_b = value(&b.norm_inf()).await?.to_f64();
        if of_b.is_infinite() {
            let quarter = value(&times_power(b, -2).norm_inf()).await?.to_f64();
            if quarter.is_finite() {
                // Parts of complex elements are finite where these are not.
                let expected = format!("a right-hand side whose elements {} can hold", T::DTYPE);
                let found = "elements whose absolute values overflow: scale b";
                return Err(Error::argument(method.name(), expected, found));
            }
        }
        if of_b == 0.0 || !of_b.is_finite() || !of_a.is_finite() {
            return Ok(None);
        }
        // x += r means another thing at each scale of A.
        let is_unscaled = method == Method::Richardson && options.preconditioner.is_none();
        let a = match of_a == 0.0 || is_unscaled {
            true => 0,
            false => exponent(of_a),
        };
        let b = exponent(of_b);
        Ok(((a, b) != (0, 0)).then_some(Self { a, b }))
    }

    async fn solve<T: Field>(
        self,
        method: Method,
        a: &dyn LinearOperator<T>,
        b: &Vector<T>,
        mut options: Options<'_, T>,
    ) -> Result<Solution<T>, Error> {
        let op = method.name();
        let scaled_a = Scaled::new(a, -self.a / 2, -self.a - -self.a / 2);
        let scaled_b = times_power(b, -self.b);
        let x0 = match options.x0 {
            Some(x0) => Some(self.scaled_guess(op, x0).await?),
            None => None,
        };
        let preconditioner = match options.preconditioner {
            Some(m) => Some(self.scaled_preconditioner(method, m, b).await?),
            None => None,
        };
        let mut monitor = options.monitor.take();
        let has_monitor = monitor.is_some();
        let mut watch = |iterations, norm| match &mut monitor {
            Some(monitor) => monitor(iterations, times_power_of(norm, self.b)),
            None => ControlFlow::Continue(()),
        };
        let monitor: Option<Monitor<'_>> = match has_monitor {
            true => Some(&mut watch),
            false => None,
        };
        let method = method.scaled(-self.a);
        let options = Options {
            atol: times_power_of(options.atol, -self.b),
            x0: x0.as_ref(),
            preconditioner: preconditioner.as_ref().map(|m| m as &dyn LinearOperator<T>),
            monitor,
            ..options
        };
        let norm = root(&scaled_b.sum_of_squares()).await?;
        let rhs = Rhs {
            vector: &scaled_b,
            norm,
        };
        let claim = Claim {
            rtol: options.rtol,
            atol: options.atol,
            norm,
            b: &scaled_b,
            a: &scaled_a,
            method,
        };
        let (x0, preconditioner) = (options.x0, options.preconditioner);
        let mut solution = method.steps(&scaled_a, rhs, options).await?;
        if solution.reason == StopReason::NotFinite {
            // At its own scale the residual of a guess may not overflow.
            let input = not_finite(&scaled_a, &scaled_b, x0, preconditioner).await?;
            solution.reason = input.map_or(solution.reason, StopReason::NotFiniteInput);
        }
        self.unscaled(claim, solution).await
    }

    /// The initial guess of the scaled system.
    async fn scaled_guess<T: Field>(
        self,
        op: &'static str,
        x0: &Vector<T>,
    ) -> Result<Vector<T>, Error> {
        let largest = value(&x0.norm_inf()).await?.to_f64();
        let power = self.a - self.b;
        if largest.is_finite() && !is_below_overflow::<T>(largest, power) {
            let expected = "an initial guess that is about as large as a solution";
            return Err(Error::argument(
                op,
                expected,
                format!("elements of {largest:.1e}"),
            ));
        }
        Ok(times_power(x0, power))
    }

    /// The preconditioner of the scaled system, of which all methods but one need not know how
    /// large it is: its images are made about as large as its vectors.
    async fn scaled_preconditioner<'m, T: Field>(
        self,
        method: Method,
        m: &'m dyn LinearOperator<T>,
        b: &Vector<T>,
    ) -> Result<Scaled<'m, T>, Error> {
        let before = self.a / 2;
        let image = largest_image("preconditioner", m, b, before).await?;
        if image == 0.0 || !image.is_finite() {
            let expected = format!(
                "a preconditioner whose images {} can hold; that of a matrix which is multiplied by \
                 a power of two has them",
                T::DTYPE
            );
            let size = decimal(1.0, self.a);
            let found = format!("images of {image:.1e} for a matrix with entries of about {size}");
            return Err(Error::argument(method.name(), expected, found));
        }
        if method == Method::Richardson {
            return Ok(Scaled::new(m, before, self.a - before));
        }
        // minres takes the root of r'M^-1 r, of which only an even power of two is one.
        let is_odd = (before - exponent(image)) % 2 != 0;
        Ok(Scaled::new(m, before, i32::from(is_odd) - exponent(image)))
    }

    /// What was found, of the system that was asked for.
    async fn unscaled<T: Field>(
        self,
        claim: Claim<'_, T>,
        mut found: Solution<T>,
    ) -> Result<Solution<T>, Error> {
        let op = claim.method.name();
        let largest = value(&found.x.norm_inf()).await?.to_f64();
        let power = self.b - self.a;
        let mut x = found.x.clone();
        if largest.is_finite() && power != 0 {
            if !is_below_overflow::<T>(largest, power) {
                let expected = format!("a solution that {} can hold", T::DTYPE);
                let size = decimal(largest, power);
                let found = format!("an x with elements of {size}: scale b or the matrix");
                return Err(Error::argument(op, expected, found));
            }
            x = times_power(&found.x, power);
            let held = times_power(&x, -power);
            let lost = &found.x - &held;
            if value(&lost.norm_inf()).await?.to_f64() > 0.0 {
                claim.check(&mut found, &held, &lost).await?;
            }
        }
        let rhs_norm = times_power_of(found.rhs_norm, self.b);
        if found.rhs_norm.is_normal() && !rhs_norm.is_normal() {
            let expected = "a right-hand side whose norm double precision can hold";
            let size = decimal(found.rhs_norm, self.b);
            let found = format!("a norm of {size}: scale b");
            return Err(Error::argument(op, expected, found));
        }
        let norm = |norm: f64| match times_power_of(norm, self.b) {
            // 0 would be a claim that no scale makes true.
            0.0 if norm != 0.0 => f64::from_bits(1),
            norm => norm,
        };
        Ok(Solution {
            x,
            residual_norm: norm(found.residual_norm),
            rhs_norm,
            nullspace_part: norm(found.nullspace_part),
            history: found.history.into_iter().map(norm).collect(),
            ..found
        })
    }
}

/// The scaled system, and what makes a claim about it true.
struct Claim<'c, T> {
    method: Method,
    a: &'c dyn LinearOperator<T>,
    b: &'c Vector<T>,
    /// That of b.
    norm: f64,
    rtol: f64,
    atol: f64,
}

impl<T: Field> Claim<'_, T> {
    /// Gives a solution the residual of `held`, which is what rounding leaves of its x, and the
    /// reason that is true of it; `lost` is the difference.
    async fn check(
        &self,
        found: &mut Solution<T>,
        held: &Vector<T>,
        lost: &Vector<T>,
    ) -> Result<(), Error> {
        let b = match self.a.nullspace() {
            Some(nullspace) if !self.method.is_least_squares() => nullspace.project(self.b)?,
            _ => self.b.clone(),
        };
        found.residual_norm = norm_of(&b.try_sub(&self.a.apply(held)?)?).await?;
        let is_true = match found.reason {
            StopReason::Converged => {
                let relative = (self.rtol, self.atol);
                let tolerance = tolerance(self.a, relative, (self.norm, found.rhs_norm));
                found.residual_norm <= tolerance
            }
            // (A; damping) lost changes the gradient by at most its norm times ‖A‖.
            StopReason::LeastSquares => {
                let image = norm_of(&self.a.apply(lost)?).await?;
                let image = length(image, self.method.damping() * norm_of(lost).await?);
                let rtol = self.rtol.max(T::Real::EPSILON.to_f64());
                image <= rtol * found.residual_norm
            }
            // They claim nothing of x.
            _ => true,
        };
        if !is_true {
            found.reason = StopReason::Underflow;
        }
        Ok(())
    }
}

/// An operator times a power of two, a part of which its vectors get before it.
pub(crate) struct Scaled<'s, T> {
    inner: &'s dyn LinearOperator<T>,
    before: i32,
    behind: i32,
}

impl<'s, T> Scaled<'s, T> {
    pub(crate) fn new(inner: &'s dyn LinearOperator<T>, before: i32, behind: i32) -> Self {
        Self {
            inner,
            before,
            behind,
        }
    }
}

impl<T: Field> LinearOperator<T> for Scaled<'_, T> {
    fn shape(&self) -> (usize, usize) {
        self.inner.shape()
    }

    fn apply(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        let image = self.inner.apply(&times_power(x, self.before))?;
        Ok(times_power(&image, self.behind))
    }

    fn apply_adjoint(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        let image = self.inner.apply_adjoint(&times_power(x, self.before))?;
        Ok(times_power(&image, self.behind))
    }

    fn bytes(&self) -> Option<usize> {
        self.inner.bytes()
    }

    fn is_repeatable(&self) -> bool {
        self.inner.is_repeatable()
    }

    fn largest_entry(&self) -> Result<Option<f64>, Error> {
        let scaled = |largest| times_power_of(largest, self.before + self.behind);
        Ok(self.inner.largest_entry()?.map(scaled))
    }

    fn precise_residual(&self, b: &Vector<T>, x: &Vector<T>) -> Result<Option<Vector<T>>, Error> {
        let (b, x) = (times_power(b, -self.behind), times_power(x, self.before));
        let residual = self.inner.precise_residual(&b, &x)?;
        Ok(residual.map(|residual| times_power(&residual, self.behind)))
    }

    fn runtime(&self) -> Option<&Runtime> {
        self.inner.runtime()
    }

    fn nullspace(&self) -> Option<&Nullspace<T>> {
        self.inner.nullspace()
    }
}

/// The largest element of the image of a random vector with elements from 0 to 2^power; refuses an
/// image that no method could go on with.
async fn largest_image<T: Field>(
    op: &'static str,
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    power: i32,
) -> Result<f64, Error> {
    let (n_rows, n_cols) = a.shape();
    let probe = b.runtime().enter(|| Vector::random_uniform([n_cols], SEED));
    let image = a.apply(&times_power(&probe, power))?;
    check_runtime(op, &probe, &image)?;
    Error::check_shape(op, &[n_rows], &image.shape())?;
    Ok(value(&image.norm_inf()).await?.to_f64())
}

/// Whether a positive number times a power of two is not too large for its type.
fn is_below_overflow<T: Field>(x: f64, power: i32) -> bool {
    let largest = match T::DTYPE.real() {
        DType::F32 => 127,
        _ => 1023,
    };
    x == 0.0 || exponent(x) + power <= largest
}

/// A positive number times a power of two, which a number need not hold, as people write it.
fn decimal(x: f64, power: i32) -> String {
    let log = x.log10() + f64::from(power) * std::f64::consts::LOG10_2;
    let exponent = log.floor();
    let mantissa = 10f64.powf(log - exponent);
    match mantissa < 9.95 {
        true => format!("{mantissa:.1}e{exponent}"),
        false => format!("1.0e{}", exponent + 1.0),
    }
}

/// The norm of a vector, which is 0 only if the vector is: a preconditioner may make A M^-1 so
/// small that all squares underflow, and a gradient of 0 is taken for that of a solution.
pub(super) async fn norm_of_tiny<T: Field>(x: &Vector<T>) -> Result<f64, Error> {
    let norm = norm_of(x).await?;
    if norm != 0.0 {
        return Ok(norm);
    }
    let largest = value(&x.norm_inf()).await?.to_f64();
    if largest == 0.0 {
        return Ok(0.0);
    }
    let power = exponent(largest);
    let near_one = norm_of(&times_power(x, -power)).await?;
    Ok(times_power_of(near_one, power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_decimal() {
        assert_eq!(decimal(1.0, -1246), "8.3e-376");
        assert_eq!(decimal(1.5, 1024), "2.7e308");
        assert_eq!(decimal(1.0, 0), "1.0e0");
        assert_eq!(decimal(9.96, 0), "1.0e1");
        assert_eq!(decimal(f64::from_bits(1), -1000), "4.6e-625");
    }

    #[test]
    fn ordinary_systems_are_safe() {
        for (of_a, of_b) in [
            (1.0, 1.0),
            (1e-6, 1e3),
            (4e6, 1e5),
            (1e-4, 1e-2),
            (1e3, 1e8),
        ] {
            assert!(is_safe::<f32>(of_a, of_b), "{of_a} {of_b}");
        }
        assert!(is_safe::<f64>(1e11, 1e-30) && is_safe::<f64>(1e-50, 1e60));
        assert!(!is_safe::<f32>(1e-19, 1e-19) && !is_safe::<f64>(1e-200, 1e-200));
        assert!(!is_safe::<f64>(1.0, 0.0) && !is_safe::<f64>(1.0, f64::INFINITY));
    }
}
