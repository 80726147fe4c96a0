//! Newton's method for the state behind an implicit step.

use super::options::Jacobian;
use super::progress::Progress;
use super::rhs::{Rhs, norm, real};
use crate::krylov::gmres_with;
use crate::operator::LinearOperator;
use crate::preconditioners::{Direct, HAS_FACTORS, Preconditioner, is_singular, splu};
use crate::solution::Options;
use sparsefuse_dense::{Array, Scalar, Vector};
use sparsefuse_kernels::{Field, Numeric, Real};
use sparsefuse_runtime::{Error, Runtime};
use sparsefuse_sparse::{Csr, Triplets};
use std::cell::RefCell;

const OP: &str = "solve_ivp";

/// The tolerance of linear systems that are solved by GMRES: a round of Newton's method makes its
/// error about this many times as small.
const TOLERANCE: f64 = 1e-3;

/// Elements of a state up to which differences make a whole Jacobian, one evaluation for each: by
/// products with it alone GMRES ends where rounding of the differences, times c, is as large as the
/// tolerance, and so steps of stiff systems would stay short.
const SMALL: usize = 100;

/// A second change that is no more than rounding ends the rounds: this many times the precision
/// beside the state, and this part of the tolerance at most. SciPy's `BDF` has no such rule, and
/// fails where changes are rounding alone and do not fall.
const ROUNDING: f64 = 1e3;
const MOST_ROUNDING: f64 = 0.1;

/// The method with the Jacobian and the factors that serve until it converges too slowly.
pub(super) struct Newton<'a, T, const D: usize> {
    jacobian: Jacobian<'a, T, D>,
    /// Whether one by differences is a matrix: that of a small state is made column by column.
    is_small: bool,
    /// The last one, where it is a matrix, and the identity beside it.
    matrix: Option<(Csr<T>, Csr<T>)>,
    /// Whether it was taken in the present step.
    is_present: bool,
    /// The factors of I - c J, whether they are those of the present c and J, and their number so
    /// far.
    factors: Option<Direct<T>>,
    is_fresh: bool,
    factorisations: usize,
    tolerance: f64,
}

/// What has come of a system.
pub(super) enum Solved<T, const D: usize> {
    Converged {
        y: Array<T, D>,
        /// By how much that differs from what was predicted.
        change: Array<T, D>,
        rounds: usize,
    },
    Failed,
}

impl<'a, T: Field, const D: usize> Newton<'a, T, D> {
    pub(super) const MOST_ROUNDS: usize = 4;

    pub(super) fn new(
        jacobian: Jacobian<'a, T, D>,
        rhs: &mut Rhs<'_, T, D>,
        at: &Progress<T, D>,
    ) -> Result<Self, Error> {
        let epsilon = T::Real::EPSILON.to_f64();
        let mut newton = Self {
            jacobian,
            is_small: HAS_FACTORS && (1..=SMALL).contains(&at.y.len()),
            matrix: None,
            is_present: false,
            factors: None,
            is_fresh: false,
            factorisations: 0,
            tolerance: (10.0 * epsilon / rhs.rtol).max(rhs.rtol.sqrt().min(0.03)),
        };
        if !newton.look(rhs, at.t, &at.y)? && !matches!(newton.jacobian, Jacobian::Differences) {
            let expected = "a Jacobian that is finite at the begin";
            return Err(Error::argument(OP, expected, "one that is not"));
        }
        Ok(newton)
    }

    pub(super) fn factorisations(&self) -> usize {
        self.factorisations
    }

    /// A step begins: the Jacobian may be an old one.
    pub(super) fn begin_step(&mut self) {
        self.is_present = false;
    }

    /// The number c has changed for good: the factors serve no longer.
    pub(super) fn forget(&mut self) {
        self.is_fresh = false;
    }

    /// Takes the Jacobian at this state; whether it is another one than before. One that is not
    /// finite, as of a state that was predicted far away, is not taken.
    fn look(&mut self, rhs: &mut Rhs<'_, T, D>, t: f64, y: &Array<T, D>) -> Result<bool, Error> {
        let matrix = match &mut self.jacobian {
            Jacobian::Differences if self.is_small => match of_differences(rhs, t, y)? {
                Some(matrix) => matrix,
                None => return Ok(false),
            },
            Jacobian::Differences => return Ok(false),
            Jacobian::Constant(_) if self.matrix.is_some() => return Ok(false),
            Jacobian::Constant(matrix) => matrix.clone(),
            Jacobian::Function(function) => function(t, y)?,
        };
        let n = y.len();
        Error::check_shape(OP, &[n, n], &<[usize; 2]>::from(matrix.shape()))?;
        if matrix.values().first_not_finite()?.is_some() {
            return Ok(false);
        }
        let identity = match self.matrix.take() {
            Some((_, identity)) => identity,
            None => Csr::identity(n)?,
        };
        self.matrix = Some((matrix, identity));
        self.is_fresh = false;
        Ok(true)
    }

    /// Solves `y = predicted + d` with `d = c f(t, y) - psi`.
    pub(super) fn solve(
        &mut self,
        rhs: &mut Rhs<'_, T, D>,
        (t, predicted): (f64, &Array<T, D>),
        (c, psi): (f64, &Array<T, D>),
    ) -> Result<Solved<T, D>, Error> {
        loop {
            let solved = match self.factor(c)? {
                true => self.rounds(rhs, (t, predicted), (c, psi))?,
                false => Solved::Failed,
            };
            let is_converged = matches!(solved, Solved::Converged { .. });
            if is_converged || self.is_present || !self.look(rhs, t, predicted)? {
                return Ok(solved);
            }
            self.is_present = true;
        }
    }

    /// Makes the factors, where they do not serve; whether there are any.
    fn factor(&mut self, c: f64) -> Result<bool, Error> {
        let Some((matrix, identity)) = &self.matrix else {
            return Ok(true);
        };
        if self.is_fresh {
            return Ok(self.factors.is_some());
        }
        self.is_fresh = true;
        self.factorisations += 1;
        let system = identity.linear_combination(T::ONE, matrix, T::from_f64(-c))?;
        if let Some(factors) = &mut self.factors
            && factors.update(&system).is_ok()
        {
            return Ok(true);
        }
        self.factors = match splu(&system) {
            Ok(factors) => Some(factors),
            Err(error) if is_singular(&error) => None,
            Err(error) => return Err(error),
        };
        Ok(self.factors.is_some())
    }

    fn rounds(
        &mut self,
        rhs: &mut Rhs<'_, T, D>,
        (t, predicted): (f64, &Array<T, D>),
        (c, psi): (f64, &Array<T, D>),
    ) -> Result<Solved<T, D>, Error> {
        let allowed = rhs.allowed(&predicted.abs());
        let mut y = predicted.clone();
        let mut change: Option<Array<T, D>> = None;
        let mut last: Option<f64> = None;
        for round in 1..=Self::MOST_ROUNDS {
            let slope = rhs.slope(t, &y)?;
            let mut residual = &slope * T::from_f64(c) - psi;
            if let Some(change) = &change {
                residual -= change;
            }
            let Some(more) = self.solve_linear(rhs, (t, &y, slope), c, residual)? else {
                return Ok(Solved::Failed);
            };
            let size = norm(&more, &allowed)?;
            let rate = last.map(|last| size / last);
            let rest = (Self::MOST_ROUNDS + 1 - round) as i32;
            let is_hopeless = |rate: f64| {
                let left = (0..rest).fold(size, |left, _| left * rate);
                rate >= 1.0 || left / (1.0 - rate) > self.tolerance
            };
            // Where so little is left, it is rounding, which does not become less.
            let is_rounding = last.is_some() && self.is_rounding(size, rhs.rtol);
            if !size.is_finite() || !is_rounding && rate.is_some_and(is_hopeless) {
                return Ok(Solved::Failed);
            }
            y += &more;
            let changed = match change {
                Some(change) => change + more,
                None => more,
            };
            let is_close = |rate: f64| rate / (1.0 - rate) * size < self.tolerance;
            if size == 0.0 || is_rounding || rate.is_some_and(is_close) {
                return Ok(Solved::Converged {
                    y,
                    change: changed,
                    rounds: round,
                });
            }
            change = Some(changed);
            last = Some(size);
        }
        Ok(Solved::Failed)
    }

    /// Whether a change of this size may be rounding. By a Jacobian of another state that was much
    /// larger all changes are small, whatever is left to change.
    fn is_rounding(&self, size: f64, rtol: f64) -> bool {
        let of_state = ROUNDING * T::Real::EPSILON.to_f64() / rtol;
        let most = MOST_ROUNDING * self.tolerance;
        let has_newer = match self.jacobian {
            Jacobian::Constant(_) => false,
            Jacobian::Differences => self.is_small && !self.is_present,
            Jacobian::Function(_) => !self.is_present,
        };
        size <= of_state.min(most) && (of_state < most || !has_newer)
    }

    /// The solution of (I - c J) x = residual, with J at this state.
    fn solve_linear(
        &self,
        rhs: &mut Rhs<'_, T, D>,
        (t, y, slope): (f64, &Array<T, D>, Array<T, D>),
        c: f64,
        residual: Array<T, D>,
    ) -> Result<Option<Array<T, D>>, Error> {
        let shape = y.shape();
        let flat = residual.try_reshape([y.len()])?;
        let x = match &self.factors {
            Some(factors) => factors.apply(&flat)?,
            None => {
                // GMRES refuses what is not finite.
                if flat.first_not_finite()?.is_some() {
                    return Ok(None);
                }
                let system = Differences {
                    size: y.norm_inf() + (&slope * T::from_f64(c)).norm_inf() + real::<T>(rhs.atol),
                    at: RefCell::new(rhs),
                    t,
                    y,
                    slope,
                    c,
                };
                let options = Options {
                    rtol: TOLERANCE,
                    ..Options::default()
                };
                let solution = gmres_with(&system, &flat, options)?;
                if !solution.converged() {
                    return Ok(None);
                }
                solution.x
            }
        };
        x.try_reshape(shape).map(Some)
    }
}

/// The Jacobian of a small state, column by column: differences of slopes, where one element is
/// another; nothing where the slope is not finite. A step is half of the digits of the element, or
/// of what counts of it, as SciPy's; where that makes no difference beside rounding, half of the
/// digits of the largest element.
fn of_differences<T: Field, const D: usize>(
    rhs: &mut Rhs<'_, T, D>,
    t: f64,
    y: &Array<T, D>,
) -> Result<Option<Csr<T>>, Error> {
    let n = y.len();
    let (slope, state) = (rhs.slope(t, y)?.to_vec()?, y.to_vec()?);
    let size = |x: &T| {
        let (re, im) = x.parts();
        re.abs().max(im.abs())
    };
    if !slope.iter().chain(&state).all(|x| size(x).is_finite()) {
        return Ok(None);
    }
    let epsilon = T::Real::EPSILON.to_f64();
    let half = epsilon.sqrt();
    let noise = half * half.sqrt();
    let largest = state.iter().map(size).fold(rhs.atol, f64::max);
    let largest = if largest > 0.0 { largest } else { 1.0 };
    let mut triplets = Triplets::new(n, n)?;
    for column in 0..n {
        for step in [size(&state[column]).max(rhs.atol), largest] {
            let mut near = state.clone();
            near[column] = state[column] + T::from_f64(half * step);
            // What the step is after rounding.
            let by = near[column] - state[column];
            let near = || Array::from_shape_vec(y.shape(), near);
            let near = rhs.slope(t, &y.runtime().enter(near)?)?.to_vec()?;
            let changes = near.iter().zip(&slope).map(|(near, at)| *near - *at);
            let changes: Vec<T> = changes.collect();
            let of_row = |row: usize| size(&near[row]).max(size(&slope[row]));
            let counts = (0..n).any(|row| size(&changes[row]) > noise * of_row(row));
            if step < largest && !(by != T::ZERO && counts) {
                continue;
            }
            for (row, change) in changes.into_iter().enumerate() {
                if change != T::ZERO {
                    triplets.push(row, column, change.over(by))?;
                }
            }
            break;
        }
    }
    y.runtime()
        .enter(|| Csr::from_triplets(&triplets))
        .map(Some)
}

/// The matrix I - c J as an operator, where J x is the difference of two slopes.
struct Differences<'d, 'r, T: Field, const D: usize> {
    at: RefCell<&'d mut Rhs<'r, T, D>>,
    t: f64,
    y: &'d Array<T, D>,
    slope: Array<T, D>,
    c: f64,
    /// About the largest element of the state, or of its change, or of what counts of either: sums
    /// of squares may be out of range.
    size: Scalar<T::Real>,
}

impl<T: Field, const D: usize> LinearOperator<T> for Differences<'_, '_, T, D> {
    fn shape(&self) -> (usize, usize) {
        (self.y.len(), self.y.len())
    }

    fn apply(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        // Half of the digits for the difference, half for what is not linear in it.
        let half = T::Real::from_f64(T::Real::EPSILON.to_f64().sqrt());
        let length = x.norm_inf();
        let step = (&self.size * half).ratio(&length).cast::<T>();
        let back = length.ratio(&(&self.size * half)).cast::<T>();
        let x = x.try_reshape(self.y.shape())?;
        let near = self.y + &x * step;
        let slope = self.at.borrow_mut().slope(self.t, &near)?;
        let image = (slope - &self.slope) * back;
        (x - image * T::from_f64(self.c)).try_reshape([self.y.len()])
    }

    /// That of I; to look for a larger one takes a slope.
    fn largest_entry(&self) -> Result<Option<f64>, Error> {
        Ok(Some(1.0))
    }

    fn runtime(&self) -> Option<&Runtime> {
        Some(self.y.runtime())
    }
}
