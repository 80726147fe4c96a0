//! Steps of small programs on the runtime: vectors of `f64`, sums of them, what they hold.

use crate::bodies::axpy;
use sparsefuse_kernels::{DType, Element};
use sparsefuse_runtime::{Error, Runtime, Shape, StoreHandle};

/// `sin(seed), sin(2 seed), …`: numbers of which sums are rounded.
#[must_use]
pub fn ramp(n: usize, seed: f64) -> Vec<f64> {
    (0..n).map(|i| ((i as f64 + 1.0) * seed).sin()).collect()
}

/// A store of these elements.
///
/// # Panics
///
/// If memory is refused.
#[must_use]
pub fn vector(runtime: &Runtime, elements: Vec<f64>) -> StoreHandle {
    let stored = runtime.store_from_vec(Shape::new(&[elements.len()]), elements);
    stored.expect("the shape is that of the elements")
}

/// `a x + y`, a task.
///
/// # Panics
///
/// If the two have different shapes.
#[must_use]
pub fn sum(a: f64, x: &StoreHandle, y: &StoreHandle) -> StoreHandle {
    let out = x.runtime().new_store(x.shape(), DType::F64);
    let args = [x.into(), y.into(), (&out).into()];
    let issued = x.runtime().submit(axpy(), &args, &[a.to_value()]);
    issued.expect("the arguments fit the body");
    out
}

/// The elements of a store, on every rank.
///
/// # Errors
///
/// If a task that makes them failed.
pub fn read(x: &StoreHandle) -> Result<Vec<f64>, Error> {
    x.runtime().read(x, None)
}
