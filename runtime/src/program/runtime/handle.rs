//! Handles of stores, as a program holds them, and as it gives them to tasks.

use super::Runtime;
use crate::geometry::view::View;
use crate::memory::counted::Counted;
use crate::shape::Shape;
use crate::stores::store::Store;
use crate::tasks::body::Seen;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A store of a runtime; cheap to clone. The store ends with its last handle, once the tasks that
/// use it have run.
#[derive(Clone)]
pub struct StoreHandle {
    store: Counted<Store>,
    runtime: Runtime,
}

impl StoreHandle {
    pub(super) fn new(runtime: Runtime, store: Store) -> Self {
        Self {
            store: Counted::new(store),
            runtime,
        }
    }

    /// The runtime that the store belongs to.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Whether two handles hold the same store, not only equal ones.
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.store.ptr_eq(&other.store)
    }

    pub(super) fn store(&self) -> &Counted<Store> {
        &self.store
    }

    /// Becomes a handle of another store of the same runtime.
    pub(super) fn replace(&mut self, store: Counted<Store>) {
        self.store = store;
    }
}

impl Deref for StoreHandle {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

impl fmt::Debug for StoreHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// A store as an argument of a task.
#[derive(Clone, Copy, Debug)]
pub struct TaskArg<'a> {
    /// The store.
    pub store: &'a StoreHandle,
    /// How the task sees it; `None` for the whole store as it is.
    pub view: Option<&'a Arc<View>>,
}

impl<'a> TaskArg<'a> {
    /// The shape that the task sees.
    #[must_use]
    pub fn shape(&self) -> Shape {
        *self.seen().shape()
    }

    pub(super) fn seen(&self) -> Seen<'a> {
        Seen {
            store: self.store.store(),
            view: self.view,
        }
    }
}

impl<'a> From<(&'a StoreHandle, &'a Arc<View>)> for TaskArg<'a> {
    fn from((store, view): (&'a StoreHandle, &'a Arc<View>)) -> Self {
        let view = Some(view);
        Self { store, view }
    }
}

impl<'a> From<&'a StoreHandle> for TaskArg<'a> {
    fn from(store: &'a StoreHandle) -> Self {
        Self { store, view: None }
    }
}
