//! Stores: distributed arrays, as the program holds them.
//!
//! A store has a shape and an element type from the beginning; its contents appear when a task
//! that writes it is executed. Handles are [`Counted<Store>`](Counted): the count of handles is the
//! count of who holds the store, the window (which holds each of its stores once) included.

use crate::counted::Counted;
use crate::error::Error;
use crate::image::Piece;
use crate::instance::Instance;
use crate::packed::{GivenUp, Packing};
use crate::partition::Partition;
use crate::runtime::Runtime;
use crate::shape::Shape;
use sparsefuse_kernels::{DType, Workers};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A distributed array; see the module's text.
pub struct Store {
    runtime: Runtime,
    shape: Shape,
    dtype: DType,
    /// The window's serial number and this store's slot in it, while it is there; written and read
    /// under the window's lock only.
    pub(crate) window_slot: AtomicU64,
    /// The word of the partition of the contents, 0 while there are none; written and read under
    /// the window's lock only. So the window asks for it without locking the state.
    partition: AtomicU64,
    /// Whether its task has succeeded on all ranks or failed on all.
    is_agreed: AtomicBool,
    state: Mutex<State>,
}

/// What a rank holds of a store.
#[derive(Debug)]
pub(crate) struct State {
    contents: Contents,
    /// Derived forms of the structure whose `crd` this store is: see [`crate::image`].
    pub(crate) pieces: Vec<Arc<Piece>>,
}

/// The contents of a store.
#[derive(Clone, Debug)]
pub(crate) enum Contents {
    /// Nothing has written the store yet.
    Unwritten,
    /// This rank's part.
    Here(Partition, Counted<Instance>),
    /// What this rank's part can be made of.
    GivenUp(Partition, GivenUp),
    /// The task that should have written the store, with this partition, failed.
    Poisoned(Partition, Error),
}

impl Store {
    pub(crate) fn new(runtime: Runtime, shape: Shape, dtype: DType, contents: Contents) -> Self {
        let partition = AtomicU64::new(contents.partition_word());
        let state = Mutex::new(State {
            contents,
            pieces: Vec::new(),
        });
        Self {
            runtime,
            shape,
            dtype,
            window_slot: AtomicU64::new(0),
            partition,
            is_agreed: AtomicBool::new(false),
            state,
        }
    }

    /// The lengths of the dimensions.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The same without a copy.
    pub(crate) fn shape_ref(&self) -> &Shape {
        &self.shape
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

    /// Says that these are the entries of a matrix that will be multiplied again and again: already
    /// the first product packs them. It changes no result.
    pub fn expect_products(&self) {
        if let Contents::Here(_, instance) = &self.state().contents {
            let mut packing = instance.packing();
            if matches!(*packing, Packing::None) {
                *packing = Packing::Wanted;
            }
        }
    }

    /// If these are the values of a matrix, the bytes that a product reads of this rank's part of
    /// it; `None` before products have decided whether to pack it.
    #[must_use]
    pub fn bytes_of_product(&self) -> Option<usize> {
        let packing = match &self.state().contents {
            Contents::Here(_, instance) => instance.packing().clone(),
            Contents::GivenUp(_, GivenUp::Values(packed)) => Packing::Packed(Arc::clone(packed)),
            _ => Packing::None,
        };
        match packing {
            Packing::Packed(packed) => Some(packed.summary.bytes),
            Packing::Refused { bytes, .. } => Some(bytes),
            Packing::None | Packing::Wanted | Packing::Plain { .. } => None,
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // Every change of a state is one assignment, so a panic leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The partition of the contents; `None` if there are none.
    pub(crate) fn partition(&self) -> Option<Partition> {
        Partition::from_word(self.partition.load(Ordering::Relaxed))
    }

    /// Whether the task that wrote the store last has succeeded on all ranks or failed on all, since
    /// they have talked about it.
    pub(crate) fn is_agreed(&self) -> bool {
        self.is_agreed.load(Ordering::Relaxed)
    }

    /// Only under the window's lock.
    pub(crate) fn set_agreed(&self, is_agreed: bool) {
        self.is_agreed.store(is_agreed, Ordering::Relaxed);
    }

    /// What this rank holds.
    pub(crate) fn contents(&self) -> Contents {
        self.state().contents.clone()
    }

    /// Changes what this rank holds, and gives what it held before. Only under the window's lock.
    pub(crate) fn replace(&self, contents: Contents) -> Contents {
        self.partition
            .store(contents.partition_word(), Ordering::Relaxed);
        std::mem::replace(&mut self.state().contents, contents)
    }

    /// What `read` makes of the partition and this rank's instance.
    ///
    /// # Errors
    ///
    /// If nothing has written the store, or its computation failed.
    pub(crate) fn with_instance<R>(
        &self,
        op: &'static str,
        read: impl FnOnce(Partition, &Counted<Instance>) -> R,
    ) -> Result<R, Error> {
        let mut state = self.state();
        if let Contents::GivenUp(partition, given_up) = &state.contents {
            let instance = given_up.bring_back(&Workers::alone())?;
            state.contents = Contents::Here(*partition, instance);
        }
        match &state.contents {
            Contents::Here(partition, instance) => Ok(read(*partition, instance)),
            Contents::GivenUp(..) => unreachable!("it has just been brought back"),
            Contents::Poisoned(_, cause) => Err(cause.clone()),
            Contents::Unwritten => Err(crate::error::ErrorKind::Unwritten { op }.into()),
        }
    }
}

impl Contents {
    fn partition_word(&self) -> u64 {
        match self {
            Self::Unwritten => 0,
            Self::Here(partition, _)
            | Self::GivenUp(partition, _)
            | Self::Poisoned(partition, _) => partition.word(),
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store{}:{}", self.shape, self.dtype)
    }
}
