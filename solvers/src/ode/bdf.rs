//! Steps by backward differentiation, with an order and a length that fit the error.
//!
//! The state and its differences backwards, `differences[k] = (1 - S)^k y` with S the shift by one
//! step, stand for the polynomial through the last states; a step of another length gets them by
//! evaluating it. With `gamma_k = 1 + 1/2 + ... + 1/k` the new state solves, by Newton's method,
//!
//! ```text
//! sum over k of gamma_k (1 - S)^k y  =  h f(t, y)  +  kappa gamma_order (y - predicted)
//! ```
//!
//! L. F. Shampine, M. W. Reichelt, *The MATLAB ODE Suite* (1997), with the constants and the
//! choices of SciPy's `BDF`: steps have one length until order + 1 of them were good, so that the
//! factors of a matrix serve several steps.

use super::newton::{Newton, Solved};
use super::options::Jacobian;
use super::progress::{AFTER_A_STEP, LEAST_FACTOR, MOST_FACTOR, Progress, Try};
use super::rhs::{Rhs, norm};
use super::root::root;
use super::trajectory::IvpEnd;
use sparsefuse_dense::Array;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

const MOST_ORDER: usize = 5;
/// What makes each order more accurate, at the price of some stability.
const KAPPA: [f64; MOST_ORDER + 1] = [0.0, -0.1850, -1.0 / 9.0, -0.0823, -0.0415, 0.0];
/// A step for which Newton's method did not converge is tried again with this part of it.
const FACTOR_WITHOUT_CONVERGENCE: f64 = 0.5;

/// The method with what it holds between steps.
pub(super) struct Bdf<'a, T, const D: usize> {
    /// Those of the last step's length, at its end; two more than the order.
    differences: Vec<Array<T, D>>,
    order: usize,
    length: f64,
    /// Steps of this order and length since either has changed.
    equal_steps: usize,
    newton: Newton<'a, T, D>,
    /// For the state within the last step: its end, its length with a sign, and the differences
    /// then.
    last: Option<(f64, f64, Vec<Array<T, D>>)>,
}

fn gamma(order: usize) -> f64 {
    (1..=order).map(|k| 1.0 / k as f64).sum()
}

fn alpha(order: usize) -> f64 {
    (1.0 - KAPPA[order]) * gamma(order)
}

/// The error of a step as a multiple of the last difference.
fn error_constant(order: usize) -> f64 {
    KAPPA[order] * gamma(order) + 1.0 / (order + 1) as f64
}

impl<'a, T: Field, const D: usize> Bdf<'a, T, D> {
    pub(super) fn new(
        jacobian: Jacobian<'a, T, D>,
        rhs: &mut Rhs<'_, T, D>,
        at: &Progress<T, D>,
        (slope, length): (Array<T, D>, f64),
    ) -> Result<Self, Error> {
        let first = &slope * T::from_f64(length * at.towards);
        Ok(Self {
            differences: vec![at.y.clone(), first],
            order: 1,
            length,
            equal_steps: 0,
            newton: Newton::new(jacobian, rhs, at)?,
            last: None,
        })
    }

    /// As that of an explicit method.
    pub(super) fn step(
        &mut self,
        rhs: &mut Rhs<'_, T, D>,
        at: &mut Progress<T, D>,
    ) -> Result<Option<IvpEnd>, Error> {
        self.newton.begin_step();
        let mut is_again = false;
        loop {
            let Try { t, h, length } = match at.next_try(self.length, is_again) {
                Ok(tried) => tried,
                Err(end) => return Ok(Some(end)),
            };
            is_again = true;
            if length != self.length {
                self.change_length(length / self.length)?;
                self.newton.forget();
            }
            // The length is not what rounded times make of it: steps would have another one each.
            self.length = length;
            let order = self.order;
            let differences = &self.differences[..=order];
            let predicted = sum(differences, |_| 1.0)?;
            let psi = sum(differences, |k| gamma(k) / alpha(order))?;
            let c = h / alpha(order);
            let solved = self.newton.solve(rhs, (t, &predicted), (c, &psi))?;
            let Solved::Converged { y, change, rounds } = solved else {
                self.change_length(FACTOR_WITHOUT_CONVERGENCE)?;
                self.newton.forget();
                continue;
            };
            let rounds = rounds as f64;
            let most = Newton::<T, D>::MOST_ROUNDS as f64;
            let safety = 0.9 * (2.0 * most + 1.0) / (2.0 * most + rounds);
            let allowed = rhs.allowed(&y.abs());
            let error = error_constant(order).abs() * norm(&change, &allowed)?;
            if !(error <= 1.0) {
                // The factors still serve, though c is another: Newton's method has converged by
                // them.
                let factor = safety / root(error, order as u32 + 1);
                self.change_length(factor.max(LEAST_FACTOR))?;
                continue;
            }
            self.equal_steps += 1;
            self.take(&change)?;
            at.t = t;
            at.y = y;
            self.last = Some((t, h, self.differences[..=order].to_vec()));
            if self.equal_steps > order {
                self.choose((error, safety), &allowed, at.max_step())?;
            }
            return Ok(None);
        }
    }

    /// The differences behind a step that has changed the predicted state by this.
    fn take(&mut self, change: &Array<T, D>) -> Result<(), Error> {
        let order = self.order;
        let differences = &mut self.differences;
        differences.truncate(order + 2);
        let beyond = match differences.get(order + 1) {
            Some(last) => change - last,
            // Of the first step no more is known.
            None => change.clone(),
        };
        differences.truncate(order + 1);
        differences.extend([change.clone(), beyond]);
        for k in (0..=order).rev() {
            differences[k] = differences[k].try_add(&differences[k + 1])?;
        }
        Ok(())
    }

    /// The order, one more or less, that allows the longest steps, and their length. The factors
    /// serve on where both stay.
    fn choose(
        &mut self,
        (error, safety): (f64, f64),
        allowed: &Array<T::Real, D>,
        max_step: f64,
    ) -> Result<(), Error> {
        let order = self.order;
        let error_of = |other: usize| {
            let difference = &self.differences[other + 1];
            Ok::<_, Error>(error_constant(other).abs() * norm(difference, allowed)?)
        };
        let below = match order > 1 {
            true => error_of(order - 1)?,
            false => f64::INFINITY,
        };
        let above = match order < MOST_ORDER {
            true => error_of(order + 1)?,
            false => f64::INFINITY,
        };
        let factors = [below, error, above].into_iter().zip(order as u32..);
        let factors = factors.map(|(error, degree)| 1.0 / root(error, degree));
        let (mut best, mut longest) = (order - 1, 0.0);
        for (other, factor) in (order - 1..).zip(factors) {
            if factor > longest {
                (best, longest) = (other, factor);
            }
        }
        let factor = MOST_FACTOR.min(safety * longest);
        let factor = factor.min(max_step / self.length);
        if best == order && factor == 1.0 {
            self.equal_steps = 0;
            return Ok(());
        }
        self.order = best;
        self.change_length(factor)?;
        self.newton.forget();
        Ok(())
    }

    /// Makes the next step `factor` times as long.
    fn change_length(&mut self, factor: f64) -> Result<(), Error> {
        let order = self.order;
        let weights = weights_of_length(order, factor);
        let known = &self.differences[..=order];
        let changed = (0..=order).map(|k| sum(known, |from| weights[from][k]));
        let changed = changed.collect::<Result<Vec<_>, _>>()?;
        // Those beyond the order are of no use for another length.
        self.differences = changed;
        self.length *= factor;
        self.equal_steps = 0;
        Ok(())
    }

    /// The state at a time within the last step.
    pub(super) fn state_at(&self, t: f64) -> Result<Array<T, D>, Error> {
        let (end, h, differences) = self.last.as_ref().expect(AFTER_A_STEP);
        let mut weights = vec![1.0];
        for k in 0..differences.len() - 1 {
            let part = (t - (end - h * k as f64)) / (h * (k + 1) as f64);
            weights.push(weights[k] * part);
        }
        sum(differences, |k| weights[k])
    }

    pub(super) fn factorisations(&self) -> usize {
        self.newton.factorisations()
    }
}

/// The weights of the differences up to an order in those for steps `factor` times as long: column
/// k has those of the k-th one.
fn weights_of_length(order: usize, factor: f64) -> Vec<Vec<f64>> {
    let (changed, back) = (binomials(order, factor), binomials(order, 1.0));
    let entry = |from: usize, k: usize| (0..=order).map(|i| changed[from][i] * back[i][k]).sum();
    (0..=order)
        .map(|from| (0..=order).map(|k| entry(from, k)).collect())
        .collect()
}

/// Row i, column j: the product over m up to i of (m - 1 - factor j) / m, which for factor 1 is a
/// binomial coefficient with a sign.
fn binomials(order: usize, factor: f64) -> Vec<Vec<f64>> {
    let mut rows = vec![vec![1.0; order + 1]];
    for i in 1..=order {
        let m = i as f64;
        let next = |(j, last): (usize, &f64)| match j {
            0 => 0.0,
            _ => last * ((m - 1.0 - factor * j as f64) / m),
        };
        rows.push(rows[i - 1].iter().enumerate().map(next).collect());
    }
    rows
}

/// The sum of arrays with weights, those of which the weight is 0 left out.
fn sum<T: Field, const D: usize>(
    arrays: &[Array<T, D>],
    weight: impl Fn(usize) -> f64,
) -> Result<Array<T, D>, Error> {
    let first = &arrays[0] * T::from_f64(weight(0));
    let rest = arrays.iter().enumerate().skip(1);
    let rest = rest.map(|(k, array)| (T::from_f64(weight(k)), array));
    let rest: Vec<_> = rest.filter(|(weight, _)| *weight != T::ZERO).collect();
    first.try_plus_multiples(&rest)
}
