//! Solves side by side: each goes on until it needs a value, and then it is the next one's turn.
//!
//! Asking for a value executes the window. Where every solve has first issued what it can, the
//! window holds like steps of all of them, and the runtime fuses these: one pass over the matrix
//! and one message of inner products serve all solves, and ghosts travel at the same time. Nothing
//! of it shows in the bits, since those do not depend on fusion.
//!
//! So a method is a future that waits nowhere but in [`turns_of_others`]. A method says [`value`]
//! where an iteration reads its first value, and `get` for those that were computed with it.

use sparsefuse_dense::{Scalar, Vector};
use sparsefuse_kernels::{Element, Field, Real};
use sparsefuse_runtime::Error;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

/// A solve that has its turns.
pub(crate) type Steps<'s, R> = Pin<Box<dyn Future<Output = Result<R, Error>> + 's>>;

/// The value of a scalar, which is asked for when every other solve has had its turn.
pub(crate) async fn value<T: Element>(scalar: &Scalar<T>) -> Result<T, Error> {
    turns_of_others().await;
    scalar.get()
}

/// Goes on when every other solve has had its turn.
pub(crate) async fn turns_of_others() {
    let mut had_turn = false;
    poll_fn(|_| match std::mem::replace(&mut had_turn, true) {
        false => Poll::Pending,
        true => Poll::Ready(()),
    })
    .await;
}

/// The square root of a sum of squares, in the same way. It is taken here and not by a task: a
/// task on the sum could not join the group that sums, and would cost one more in every iteration.
pub(crate) async fn root<R: Real>(squares: &Scalar<R>) -> Result<f64, Error> {
    Ok(value(squares).await?.to_f64().sqrt())
}

/// The Euclidean norm of a vector, in the same way.
pub(crate) async fn norm_of<T: Field>(x: &Vector<T>) -> Result<f64, Error> {
    root(&x.sum_of_squares()).await
}

/// Runs one solve by itself.
pub(crate) fn alone<R>(solve: impl Future<Output = R>) -> R {
    let mut solve = pin!(solve);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = solve.as_mut().poll(&mut context) {
            return result;
        }
    }
}

/// Solves side by side; their results in the same order. The first failure ends all of them: where
/// it is that of one rank alone, this rank must not go on issuing tasks that the others do not.
pub(super) fn together<R>(mut solves: Vec<Steps<'_, R>>) -> Result<Vec<R>, Error> {
    let mut context = Context::from_waker(Waker::noop());
    let mut results: Vec<Option<R>> = solves.iter().map(|_| None).collect();
    while results.iter().any(Option::is_none) {
        for (solve, result) in solves.iter_mut().zip(&mut results) {
            if result.is_none()
                && let Poll::Ready(found) = solve.as_mut().poll(&mut context)
            {
                *result = Some(found?);
            }
        }
    }
    Ok(results.into_iter().flatten().collect())
}
