//! Steps of explicit methods of Runge and Kutta.

use super::progress::{AFTER_A_STEP, LEAST_FACTOR, MOST_FACTOR, Progress, Try};
use super::rhs::{Rhs, mean, squares};
use super::root::root;
use super::tableau::{Between, Tableau};
use super::trajectory::IvpEnd;
use sparsefuse_dense::Array;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// A step aims at this part of the error that is allowed.
const SAFETY: f64 = 0.9;

/// A method with what it holds between steps.
pub(super) struct Explicit<T, const D: usize> {
    tableau: &'static Tableau,
    /// The slope at the end of the last step.
    slope: Array<T, D>,
    /// The length of the step that is tried next, if nothing is in the way.
    length: f64,
    last: Option<Last<T, D>>,
}

/// The last step: the state before it, its slopes, where it began, and how far it went, with a
/// sign.
struct Last<T, const D: usize> {
    before: Array<T, D>,
    slopes: Vec<Array<T, D>>,
    t: f64,
    h: f64,
    has_all_slopes: bool,
}

impl<T: Field, const D: usize> Explicit<T, D> {
    pub(super) fn new(tableau: &'static Tableau, slope: Array<T, D>, length: f64) -> Self {
        Self {
            tableau,
            slope,
            length,
            last: None,
        }
    }

    /// One step from `t` and `y` on, as long as the error allows; tries as often as it takes. Why
    /// the integration cannot go on, if so.
    pub(super) fn step(
        &mut self,
        rhs: &mut Rhs<'_, T, D>,
        at: &mut Progress<T, D>,
    ) -> Result<Option<IvpEnd>, Error> {
        let tableau = self.tableau;
        let mut is_again = false;
        // Its slopes are not needed beside those of this one.
        self.last = None;
        loop {
            let Try { t, h, .. } = match at.next_try(self.length, is_again) {
                Ok(tried) => tried,
                Err(end) => return Ok(Some(end)),
            };
            let mut slopes = vec![self.slope.clone()];
            for (node, weights) in tableau.nodes.iter().zip(tableau.stages) {
                let y = combination(&at.y, h, weights, &slopes)?;
                slopes.push(rhs.slope(at.t + node * h, &y)?);
            }
            let y = combination(&at.y, h, tableau.step, &slopes)?;
            slopes.push(rhs.slope(t, &y)?);
            let error = h.abs() * self.error(rhs, (&at.y, &y), &slopes)?;
            let factor = SAFETY / root(error, tableau.error_order + 1);
            if error < 1.0 {
                // A step that had to be tried again is followed by none that is longer.
                let most = if is_again { 1.0 } else { MOST_FACTOR };
                self.length = h.abs() * factor.min(most);
                self.slope = slopes[slopes.len() - 1].clone();
                self.last = Some(Last {
                    before: std::mem::replace(&mut at.y, y),
                    slopes,
                    t: at.t,
                    h,
                    has_all_slopes: false,
                });
                at.t = t;
                return Ok(None);
            }
            // Here the error may be no number.
            self.length = h.abs() * factor.max(LEAST_FACTOR);
            is_again = true;
        }
    }

    /// The estimate of the error for each unit of the step, as a multiple of what is allowed.
    fn error(
        &self,
        rhs: &Rhs<'_, T, D>,
        (before, y): (&Array<T, D>, &Array<T, D>),
        slopes: &[Array<T, D>],
    ) -> Result<f64, Error> {
        let allowed = &rhs.allowed(&before.abs().maximum(y.abs()));
        let estimates = self.tableau.errors.iter().map(|weights| {
            let first = &slopes[0] * T::from_f64(weights[0]);
            let (mut terms, last) = (terms(1.0, &weights[1..], &slopes[1..]), slopes.len() - 1);
            if weights[last] == 0.0 {
                // A slope at the end that is no number makes the error none.
                terms.push((T::ZERO, &slopes[last]));
            }
            Ok(squares::<T, D>(&first.try_plus_multiples(&terms)?, allowed))
        });
        let estimates = estimates.collect::<Result<Vec<_>, Error>>()?;
        let n = y.len();
        let errors = estimates.iter().map(|squares| Ok(mean(squares.get()?, n)));
        let errors = errors.collect::<Result<Vec<f64>, Error>>()?;
        Ok(match errors[..] {
            [error] => error,
            // That of order 5, made smaller by how much more that of order 3 is.
            [of_5, of_3, ..] if of_5 != 0.0 || of_3 != 0.0 => {
                of_5 * (of_5 / (of_5 * of_5 + 0.01 * of_3 * of_3).sqrt())
            }
            _ => 0.0,
        })
    }

    /// The state at a time within the last step.
    pub(super) fn state_at(
        &mut self,
        rhs: &mut Rhs<'_, T, D>,
        t: f64,
    ) -> Result<Array<T, D>, Error> {
        let last = self.last.as_mut().expect(AFTER_A_STEP);
        if let Between::Order8 { nodes, stages, .. } = self.tableau.between
            && !last.has_all_slopes
        {
            for (node, weights) in nodes.iter().zip(stages) {
                let y = combination(&last.before, last.h, weights, &last.slopes)?;
                last.slopes.push(rhs.slope(last.t + node * last.h, &y)?);
            }
            last.has_all_slopes = true;
        }
        let weights = self.tableau.weights_at((t - last.t) / last.h);
        combination(&last.before, last.h, &weights, &last.slopes)
    }
}

/// `y + h (w_0 k_0 + w_1 k_1 + ...)`, as one task.
fn combination<T: Field, const D: usize>(
    y: &Array<T, D>,
    h: f64,
    weights: &[f64],
    slopes: &[Array<T, D>],
) -> Result<Array<T, D>, Error> {
    y.try_plus_multiples(&terms(h, weights, slopes))
}

/// The slopes that count, and by how much.
fn terms<'s, T: Field, const D: usize>(
    h: f64,
    weights: &[f64],
    slopes: &'s [Array<T, D>],
) -> Vec<(T, &'s Array<T, D>)> {
    let terms = weights.iter().zip(slopes);
    let terms = terms.filter(|(weight, _)| **weight != 0.0);
    terms
        .map(|(weight, slope)| (T::from_f64(h * weight), slope))
        .collect()
}
