//! [`solve_ivp`].

use super::bdf::Bdf;
use super::explicit::Explicit;
use super::options::{IvpOptions, Jacobian, OfState, Scheme};
use super::progress::Progress;
use super::rhs::Rhs;
use super::sampling::Sampling;
use super::tableau::{ORDER_3, ORDER_5, ORDER_8};
use super::trajectory::{IvpEnd, Trajectory};
use sparsefuse_dense::Array;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;
use std::ops::ControlFlow;

const OP: &str = "solve_ivp";

/// A method with its state.
enum Stepper<'a, T, const D: usize> {
    Explicit(Explicit<T, D>),
    Bdf(Box<Bdf<'a, T, D>>),
}

/// Integrates y' = f(t, y) from a state `y` at the time `begin` to the time `end`, which may lie
/// before it: SciPy's `solve_ivp`.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::ode::{IvpOptions, Output, Scheme, solve_ivp};
///
/// // A pendulum of small swings: y'' = -y.
/// let swing = |_: f64, y: &Vector<f64>| {
///     let [place, speed] = [0, 1].map(|at| y.slice(at..at + 1));
///     Vector::try_concatenate(0, &[&speed, &-place])
/// };
/// let begin = Vector::from_vec(vec![1.0, 0.0]);
/// let options = IvpOptions {
///     scheme: Scheme::Dop853,
///     rtol: 1e-10,
///     atol: 1e-12,
///     output: Output::At(&[1.0, 2.0]),
///     ..IvpOptions::default()
/// };
/// let swinging = solve_ivp(swing, (0.0, 10.0), &begin, options)?;
/// assert!(swinging.succeeded());
/// assert!((swinging.y.to_vec()?[0] - 10_f64.cos()).abs() < 1e-8);
/// assert!((swinging.states[1].to_vec()?[0] - 2_f64.cos()).abs() < 1e-8);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// A stiff equation, with a matrix as Jacobian:
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::ode::{IvpOptions, Jacobian, Scheme, solve_ivp};
/// use sparsefuse_sparse::gallery;
///
/// // Heat in a rod of 200 points, whose ends are kept at 0.
/// let n = 200;
/// let a = gallery::poisson1d::<f64>(n)? * -((n + 1) as f64).powi(2);
/// let angle = std::f64::consts::PI / (n + 1) as f64;
/// let sine = Vector::from_fn([n], |[i]| ((i + 1) as f64 * angle).sin());
/// let options = IvpOptions {
///     scheme: Scheme::Bdf,
///     jacobian: Jacobian::Constant(&a),
///     ..IvpOptions::default()
/// };
/// let cooling = solve_ivp(|_, y| Ok(&a * y), (0.0, 0.2), &sine, options)?;
/// assert!(cooling.steps < 50);
/// let left = cooling.y.norm_inf().get()?;
/// assert!((left - (-0.2 * std::f64::consts::PI.powi(2)).exp()).abs() < 2e-3);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// Steps are chosen as by SciPy, with the same constants, from norms whose bits are the same on any
/// number of threads and ranks; those of a scheme with complete factors depend on the instruction
/// set of the machine, as the factors do. An explicit scheme holds a slope for each of its stages,
/// BDF eight states and the factors of a matrix. What [`IvpOptions::output`] asks for is held
/// besides.
///
/// # Errors
///
/// If times or tolerances are out of range, the state has elements that are infinite or not a
/// number, f, an event or the Jacobian fails, or a slope has another shape or runtime than the
/// state. An integration that cannot go on is no error but an [`IvpEnd`].
pub fn solve_ivp<T: Field, const D: usize>(
    mut f: impl FnMut(f64, &Array<T, D>) -> Result<Array<T, D>, Error>,
    (begin, end): (f64, f64),
    y: &Array<T, D>,
    options: IvpOptions<'_, T, D>,
) -> Result<Trajectory<T, D>, Error> {
    y.runtime()
        .enter(|| integrate(&mut f, (begin, end), y, options))
}

fn integrate<T: Field, const D: usize>(
    f: &mut OfState<'_, T, D, Result<Array<T, D>, Error>>,
    (begin, end): (f64, f64),
    y: &Array<T, D>,
    mut options: IvpOptions<'_, T, D>,
) -> Result<Trajectory<T, D>, Error> {
    check((begin, end), y, &options)?;
    let mut rhs = Rhs::new(f, (options.rtol, options.atol));
    let (longest, most) = (options.max_step, options.max_steps);
    let mut at = Progress::new((begin, y.clone()), end, longest, most);
    let mut sampling = Sampling::new(options.output, options.events, &at)?;
    let mut stop = None;
    let mut steps = 0;
    let mut stepper = None;
    while stop.is_none() && !at.is_done() {
        let stepper = match &mut stepper {
            Some(stepper) => stepper,
            none => {
                let jacobian = std::mem::take(&mut options.jacobian);
                let how = (options.scheme, options.first_step, jacobian);
                none.insert(Stepper::new(how, &mut rhs, &at, (end, longest))?)
            }
        };
        let before = at.t;
        stop = stepper.step(&mut rhs, &mut at)?;
        if stop.is_some() {
            break;
        }
        steps += 1;
        let mut state_at = |t| stepper.state_at(&mut rhs, t);
        stop = sampling.step(before, &mut at, &mut state_at)?;
        if let (None, Some(monitor)) = (stop, &mut options.monitor)
            && monitor(at.t, &at.y) == ControlFlow::Break(())
            && !at.is_done()
        {
            stop = Some(IvpEnd::Stopped);
        }
    }
    Ok(Trajectory {
        times: sampling.times,
        states: sampling.states,
        t: at.t,
        y: at.y,
        end: stop.unwrap_or(IvpEnd::Reached),
        events: sampling.found,
        steps,
        rejected: at.tries - steps,
        evaluations: rhs.evaluations,
        factorisations: stepper.map_or(0, |stepper| stepper.factorisations()),
    })
}

/// Whether an integration may begin.
fn check<T: Field, const D: usize>(
    (begin, end): (f64, f64),
    y: &Array<T, D>,
    options: &IvpOptions<'_, T, D>,
) -> Result<(), Error> {
    let refuse = |expected: String, found: String| Err(Error::argument(OP, expected, found));
    if !(begin.is_finite() && end.is_finite()) {
        return refuse("finite times".into(), format!("{begin} to {end}"));
    }
    let least = 100.0 * T::Real::EPSILON.to_f64();
    if !(options.rtol >= least && options.rtol.is_finite()) {
        let expected = format!("a relative tolerance of at least {least:.1e}");
        return refuse(expected, options.rtol.to_string());
    }
    if !(options.atol >= 0.0 && options.atol.is_finite()) {
        let expected = "an absolute tolerance of at least 0".into();
        return refuse(expected, options.atol.to_string());
    }
    if !(options.max_step > 0.0) {
        let expected = "a longest step above 0".into();
        return refuse(expected, options.max_step.to_string());
    }
    if let Some(first) = options.first_step
        && !(first > 0.0 && first <= (end - begin).abs())
    {
        let expected = format!("a first step above 0 and up to {}", (end - begin).abs());
        return refuse(expected, first.to_string());
    }
    match y.try_reshape([y.len()])?.first_not_finite()? {
        Some((at, element)) => refuse(
            "a state that is finite".into(),
            format!("{element} in element {at}"),
        ),
        None => Ok(()),
    }
}

impl<'a, T: Field, const D: usize> Stepper<'a, T, D> {
    fn new(
        (scheme, first_step, jacobian): (Scheme, Option<f64>, Jacobian<'a, T, D>),
        rhs: &mut Rhs<'_, T, D>,
        at: &Progress<T, D>,
        (end, longest): (f64, f64),
    ) -> Result<Self, Error> {
        let slope = rhs.slope(at.t, &at.y)?;
        let tableau = match scheme {
            Scheme::Rk23 => Some(&ORDER_3),
            Scheme::Rk45 => Some(&ORDER_5),
            Scheme::Dop853 => Some(&ORDER_8),
            Scheme::Bdf => None,
        };
        let order = tableau.map_or(1, |tableau| tableau.error_order);
        let length = match first_step {
            Some(length) => length,
            None => {
                let lengths = [at.least_step(), longest];
                let range = (at.towards, (end - at.t).abs(), lengths);
                rhs.first_step((at.t, &at.y, &slope), range, order)?
            }
        };
        Ok(match tableau {
            Some(tableau) => Self::Explicit(Explicit::new(tableau, slope, length)),
            None => Self::Bdf(Box::new(Bdf::new(jacobian, rhs, at, (slope, length))?)),
        })
    }

    fn step(
        &mut self,
        rhs: &mut Rhs<'_, T, D>,
        at: &mut Progress<T, D>,
    ) -> Result<Option<IvpEnd>, Error> {
        match self {
            Self::Explicit(explicit) => explicit.step(rhs, at),
            Self::Bdf(bdf) => bdf.step(rhs, at),
        }
    }

    /// The state at a time within the last step.
    fn state_at(&mut self, rhs: &mut Rhs<'_, T, D>, t: f64) -> Result<Array<T, D>, Error> {
        match self {
            Self::Explicit(explicit) => explicit.state_at(rhs, t),
            Self::Bdf(bdf) => bdf.state_at(t),
        }
    }

    fn factorisations(&self) -> usize {
        match self {
            Self::Explicit(_) => 0,
            Self::Bdf(bdf) => bdf.factorisations(),
        }
    }
}
