//! What an integration is asked for.

use sparsefuse_dense::Array;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::Csr;
use std::fmt;
use std::ops::ControlFlow;

/// A function of time and state.
pub type OfState<'a, T, const D: usize, R> = dyn FnMut(f64, &Array<T, D>) -> R + 'a;

/// How steps are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Scheme {
    /// Explicit, of order 3 with an estimate of order 2: Bogacki and Shampine (1989). Three
    /// evaluations a step; for large tolerances.
    Rk23,
    /// Explicit, of order 5 with an estimate of order 4: Dormand and Prince (1980). Six evaluations
    /// a step.
    #[default]
    Rk45,
    /// Explicit, of order 8 with estimates of orders 5 and 3: DOP853 of Hairer, Norsett and Wanner,
    /// *Solving Ordinary Differential Equations I* (1993). Twelve evaluations a step; for small
    /// tolerances.
    Dop853,
    /// Implicit, of orders 1 to 5, with steps and order chosen by the error: backward
    /// differentiation as by Shampine and Reichelt, *The MATLAB ODE Suite* (1997). For stiff
    /// equations, such as diffusion on a fine grid, where an explicit method would take steps as
    /// short as the fastest mode asks for. Each step solves a nonlinear system by Newton's method,
    /// whose linear systems [`Jacobian`] is for.
    Bdf,
}

/// Which states are kept.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Output<'a> {
    /// None but the last, which is [`Trajectory::y`](super::Trajectory::y).
    #[default]
    End,
    /// The first one and that after each step.
    Steps,
    /// Those at these times, in the order of the integration: between the ends of a step by a
    /// polynomial that is nearly as exact as the steps.
    At(&'a [f64]),
}

/// What an implicit scheme knows of the Jacobian of f: how the slope's elements change with those
/// of the state, both as vectors in row-major order.
#[derive(Default)]
#[non_exhaustive]
pub enum Jacobian<'a, T, const D: usize> {
    /// Nothing. Of a state of up to 100 elements differences of slopes make it, one evaluation for
    /// each element, and the systems with I - c J are solved by complete factors as below (not
    /// without the feature `direct`). Those of larger states are solved by GMRES, for which a
    /// difference of slopes is each product with J; where c J is large, rounding of differences
    /// keeps the steps short.
    #[default]
    Differences,
    /// It is this matrix, always. The systems are solved by complete factors
    /// ([`splu`](crate::preconditioners::splu), of the feature `direct`), which are made anew where
    /// the step changes.
    Constant(&'a Csr<T>),
    /// It is this function of time and state, called when Newton's method converges too slowly with
    /// the last one. The systems are solved by complete factors.
    Function(&'a mut OfState<'a, T, D, Result<Csr<T>, Error>>),
}

/// Where a number that an [`Event`] watches crosses 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Crossing {
    /// From below or from above.
    #[default]
    Any,
    /// From below, in the direction of the integration.
    Rising,
    /// From above.
    Falling,
}

/// Something that happens where a number crosses 0, such as a ball that meets the ground.
pub struct Event<'a, T, const D: usize> {
    /// The number, from time and state. It is asked for after each step, and some ten times in a
    /// step in which its sign changes; two crossings in one step are not seen. A number that is 0
    /// where the integration begins has crossed nothing, while SciPy counts it: a ball that starts
    /// from the ground flies.
    pub value: &'a mut OfState<'a, T, D, Result<f64, Error>>,
    /// Which crossings count.
    pub crossing: Crossing,
    /// Whether the integration ends there.
    pub is_last: bool,
}

/// How an integration is done. `IvpOptions::default()` is what SciPy's `solve_ivp` does, but for
/// the states that are kept: of each step there, the last one here.
pub struct IvpOptions<'a, T, const D: usize> {
    /// The scheme.
    pub scheme: Scheme,
    /// Each step keeps the estimate of its error below `atol + rtol |y|`, in the mean (root of the
    /// mean of squares) over all elements; 1e-3 by default. At least 100 roundings of the type.
    pub rtol: f64,
    /// See `rtol`; 1e-6 by default.
    pub atol: f64,
    /// The length of the first step, which is tried; by default from the first two slopes.
    pub first_step: Option<f64>,
    /// The longest step; infinite by default. One that is below ten roundings of the time ends the
    /// integration.
    pub max_step: f64,
    /// The most steps, those that are tried again included; none by default.
    pub max_steps: Option<usize>,
    /// Which states are kept.
    pub output: Output<'a>,
    /// For [`Scheme::Bdf`].
    pub jacobian: Jacobian<'a, T, D>,
    /// What to look for on the way.
    pub events: Vec<Event<'a, T, D>>,
    /// Called after each step with time and state; may end the integration. On several ranks all
    /// must end after the same step.
    pub monitor: Option<&'a mut OfState<'a, T, D, ControlFlow<()>>>,
}

impl<T: Field, const D: usize> Default for IvpOptions<'_, T, D> {
    fn default() -> Self {
        Self {
            scheme: Scheme::default(),
            rtol: 1e-3,
            atol: 1e-6,
            first_step: None,
            max_step: f64::INFINITY,
            max_steps: None,
            output: Output::default(),
            jacobian: Jacobian::default(),
            events: Vec::new(),
            monitor: None,
        }
    }
}

impl<T, const D: usize> fmt::Debug for IvpOptions<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IvpOptions")
            .field("scheme", &self.scheme)
            .field("rtol", &self.rtol)
            .field("atol", &self.atol)
            .field("first_step", &self.first_step)
            .field("max_step", &self.max_step)
            .field("max_steps", &self.max_steps)
            .field("output", &self.output)
            .field("jacobian", &self.jacobian)
            .field("events", &self.events)
            .field("has_monitor", &self.monitor.is_some())
            .finish()
    }
}

impl<T, const D: usize> fmt::Debug for Jacobian<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Differences => "Differences",
            Self::Constant(_) => "Constant",
            Self::Function(_) => "Function",
        })
    }
}

impl<T, const D: usize> fmt::Debug for Event<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("crossing", &self.crossing)
            .field("is_last", &self.is_last)
            .finish_non_exhaustive()
    }
}
