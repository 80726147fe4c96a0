//! The loop around every Krylov method: its iterations, how they end, and the next start.
//!
//! A method is an async function of a residual, an endless loop that is left by `?` only, with an
//! [`End`]: it is to start again from another residual, it stops, or something has failed. So an
//! iteration reads as in the textbook, and what follows its end stands here, once.

use super::scalars::real;
use crate::solution::{Breakdown, StopReason};
use sparsefuse_dense::{Scalar, Vector};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Rounds, State};
use std::convert::Infallible;

/// How the iterations of a method end.
pub(super) enum End<T> {
    /// They start again from this true residual.
    Restart(Vector<T>),
    /// They stop, and x is what the method has found.
    Stop(StopReason),
    /// Something failed.
    Failure(Error),
}

/// What a method returns: never a value.
pub(super) type Iterations<T> = Result<Infallible, End<T>>;

impl<T> From<Error> for End<T> {
    fn from(error: Error) -> Self {
        Self::Failure(error)
    }
}

impl<T> From<StopReason> for End<T> {
    fn from(reason: StopReason) -> Self {
        Self::Stop(reason)
    }
}

impl<T> From<Breakdown> for End<T> {
    fn from(number: Breakdown) -> Self {
        Self::Stop(StopReason::Breakdown(number))
    }
}

/// The iterations of a method, which issues the first ones; the others are done again without it,
/// where every application of the operator and of the preconditioner issues the same tasks.
pub(super) struct Steps(Option<Rounds>);

impl Steps {
    pub(super) fn new(is_repeatable: bool) -> Self {
        Self(is_repeatable.then(Rounds::new))
    }

    /// The next one.
    pub(super) fn run<S: State>(
        &mut self,
        state: &mut S,
        step: impl FnOnce(&mut S) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match &mut self.0 {
            Some(rounds) => rounds.run(state, step),
            None => step(state),
        }
    }
}

/// Runs the iterations of a method from a residual, and again from each that they ask for, until
/// they stop, or not at all where they end before the first one; gives the reason.
pub(super) async fn until_stopped<T>(
    mut first: Result<Vector<T>, End<T>>,
    mut method: impl AsyncFnMut(Vector<T>) -> Iterations<T>,
) -> Result<StopReason, Error> {
    loop {
        let end = match first {
            Ok(r) => {
                let Err(end) = method(r).await;
                end
            }
            Err(end) => end,
        };
        match end {
            End::Restart(r) => first = Ok(r),
            End::Stop(reason) => return Ok(reason),
            End::Failure(error) => return Err(error),
        }
    }
}

/// Stops where a scalar that has been computed is 0 or less; its imaginary part is rounding.
pub(super) fn expect_positive<T: Field>(
    scalar: &Scalar<T>,
    otherwise: StopReason,
) -> Result<(), End<T>> {
    match real(scalar.get()?) <= 0.0 {
        true => Err(otherwise.into()),
        false => Ok(()),
    }
}

/// Stops where a scalar that has been computed, and that the method divides by, is 0.
pub(super) fn expect_nonzero<T: Field>(
    scalar: &Scalar<T>,
    otherwise: Breakdown,
) -> Result<(), End<T>> {
    match scalar.get()? == T::ZERO {
        true => Err(otherwise.into()),
        false => Ok(()),
    }
}
