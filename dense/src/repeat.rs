//! Loops that are declared: what a round does is said once, and done again without being issued.

use crate::{Array, Scalar};
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, Rounds, State, StoreHandle};

impl<T: Element, const D: usize> State for Array<T, D> {
    fn each_store(&mut self, visit: &mut dyn FnMut(&mut StoreHandle)) {
        visit(self.store_mut());
    }

    fn is_whole(&self) -> bool {
        self.view().is_none()
    }
}

impl<T: Element> State for Scalar<T> {
    fn each_store(&mut self, visit: &mut dyn FnMut(&mut StoreHandle)) {
        visit(self.store_mut());
    }

    fn is_whole(&self) -> bool {
        true
    }
}

/// Repeats a round as long as it says so, at most this often; how often it did.
///
/// The state is what one round leaves to the next: arrays and scalars, alone, in tuples, arrays and
/// vectors of such. A round replaces it, and returns whether to go on. It is called for the first
/// rounds; as soon as two in a row were alike, the others are done again without it, with the same
/// bits, on any number of ranks ([`Rounds`]). That takes about half of the time of issuing rounds
/// of sixty tasks, two thirds of those of twenty, and as long as issuing those of six.
///
/// So **a round must do the same each time**: it is a function of the state and of arrays that do
/// not change meanwhile. A round that asks for values, calls an eager function (`nonzero`) or
/// issues a host task (`take`, a sweep of ILU) is called each time.
///
/// ```
/// use sparsefuse_dense::{Scalar, Vector, repeat};
///
/// // Newton's method for the square roots of 1 to 5: x = (x + a / x) / 2.
/// let a = Vector::from_vec(vec![1.0, 2.0, 3.0, 4.0, 5.0]);
/// let mut x = a.clone();
/// let rounds = repeat(100, &mut x, |x: &mut Vector<f64>| {
///     let next = (&*x + &a / &*x) * 0.5;
///     let change = (&next - &*x).abs().max();
///     *x = next;
///     Ok(change.greater(1e-14))
/// })?;
/// assert!(rounds < 10);
/// assert!((x.to_vec()?[1] - 2_f64.sqrt()).abs() < 1e-15);
/// # Ok::<(), sparsefuse_dense::Error>(())
/// ```
///
/// # Errors
///
/// What a round returns, or why a value on which it depends whether to go on could not be computed.
pub fn repeat<S: State>(
    most: usize,
    state: &mut S,
    round: impl Fn(&mut S) -> Result<Scalar<bool>, Error>,
) -> Result<usize, Error> {
    let mut rounds = Rounds::new();
    // The flag is part of what a round leaves, and is there from the first one on.
    let mut goes_on = None;
    for number in 1..=most {
        let found = match &mut goes_on {
            None => goes_on.insert(round(state)?),
            Some(goes_on) => {
                rounds.run(&mut (&mut *state, &mut *goes_on), |(state, goes_on)| {
                    **goes_on = round(state)?;
                    Ok::<(), Error>(())
                })?;
                goes_on
            }
        };
        if !found.get()? {
            return Ok(number);
        }
    }
    Ok(most)
}
