//! What the tests of the crates from `runtime` to `sparsefuse` share.
//!
//! [`everywhere()`] runs a program in the settings that must not change a bit of what it returns,
//! [`bodies`] and [`stores`] have the tasks and vectors of small programs on the runtime,
//! [`matrices`] finds the real matrices beside the checkout, [`device_toolchain`] the compiler of
//! the emulated device, and [`own_folder`] is where a program of tests writes its files.
//!
//! A development dependency only: what users build does not have this crate. Unit tests of
//! `runtime` and `kernels` cannot use it, since it is linked with a second copy of these crates,
//! whose types are others than theirs; their integration tests can.

pub mod bodies;
mod device;
mod everywhere;
mod folder;
mod scratch;
pub mod stores;

pub use device::device_toolchain;
pub use everywhere::{everywhere, everywhere_with, small};
pub use folder::{matrices, matrix};
pub use scratch::own_folder;

use sparsefuse_kernels::{Element, Value};

/// The elements, to be compared by their bits: `0.0` is not `-0.0`, and a NaN is itself.
#[must_use]
pub fn bits<T: Element>(elements: &[T]) -> Vec<Value> {
    elements.iter().map(|element| element.to_value()).collect()
}
