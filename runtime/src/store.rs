//! Stores: distributed arrays, as the program holds them.
//!
//! A store has a shape and an element type from the beginning; its contents appear when a task
//! that writes it is executed. Handles are `Arc<Store>`: the count of handles is the count of who
//! holds the store, the window (which holds each of its stores once) included.

use crate::error::Error;
use crate::image::Piece;
use crate::instance::Instance;
use crate::partition::Partition;
use crate::runtime::Runtime;
use crate::shape::Shape;
use sparsefuse_kernels::DType;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A distributed array; see the module's text.
pub struct Store {
    runtime: Runtime,
    shape: Shape,
    dtype: DType,
    /// The window's serial number and this store's slot in it, while it is there; written and read
    /// under the window's lock only.
    pub(crate) window_slot: AtomicU64,
    state: Mutex<State>,
}

/// What a rank holds of a store.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) contents: Contents,
    /// Derived forms of the structure whose `crd` this store is: see [`crate::image`].
    pub(crate) pieces: Vec<Arc<Piece>>,
}

/// The contents of a store.
#[derive(Debug, Default)]
pub(crate) enum Contents {
    /// Nothing has written the store yet.
    #[default]
    Unwritten,
    /// This rank's part.
    Here(Partition, Arc<Instance>),
    /// The task that should have written the store, with this partition, failed.
    Poisoned(Partition, Error),
}

impl Store {
    pub(crate) fn new(runtime: Runtime, shape: Shape, dtype: DType, contents: Contents) -> Self {
        let state = Mutex::new(State {
            contents,
            pieces: Vec::new(),
        });
        Self {
            runtime,
            shape,
            dtype,
            window_slot: AtomicU64::new(0),
            state,
        }
    }

    /// The lengths of the dimensions.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The element type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The runtime that the store belongs to.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // Every change of a state is one assignment, so a panic leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The partition and this rank's instance.
    ///
    /// # Errors
    ///
    /// If nothing has written the store, or its computation failed.
    pub(crate) fn contents(&self, op: &'static str) -> Result<(Partition, Arc<Instance>), Error> {
        match &self.state().contents {
            Contents::Here(partition, instance) => Ok((*partition, Arc::clone(instance))),
            Contents::Poisoned(_, cause) => Err(cause.clone()),
            Contents::Unwritten => Err(crate::error::ErrorKind::Unwritten { op }.into()),
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store{}:{}", self.shape, self.dtype)
    }
}
