//! Ordinary differential equations: the state that obeys y' = f(t, y), from a given one on.
//!
//! [`solve_ivp`] is SciPy's function of this name, with its methods, its choice of steps and its
//! tolerances. A state is an array of any dimensions; what f makes of it is array code, and the
//! runtime fuses it with the sums of the method: a stage of an explicit method is one pass over the
//! slopes before it. A step reads one number, by which the next is chosen.

mod bdf;
mod explicit;
mod newton;
mod options;
mod progress;
mod rhs;
mod root;
mod sampling;
mod solve;
mod tableau;
mod trajectory;

pub use options::{Crossing, Event, IvpOptions, Jacobian, OfState, Output, Scheme};
pub use solve::solve_ivp;
pub use trajectory::{IvpEnd, Trajectory};
