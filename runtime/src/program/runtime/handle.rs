//! Handles of stores, as a program holds them, and as it gives them to tasks.

use super::Runtime;
use crate::error::Error;
use crate::geometry::view::View;
use crate::memory::counted::Counted;
use crate::shape::Shape;
use crate::stores::store::{GatherBy, Store};
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

    /// The structure by which kernels gather at the indices that this store holds, for an operation
    /// on this many elements or rows: ranges, each of one element, and the indices within them, of
    /// type `u32`. `make` issues the tasks that make it. That pays for indices that are used again
    /// and again, so the answer is `None` the first times. It is kept until a task that writes the
    /// indices is issued.
    ///
    /// ```
    /// use sparsefuse_runtime::{Runtime, Shape};
    ///
    /// let runtime = Runtime::current();
    /// let indices = runtime.store_from_vec(Shape::new(&[2]), vec![5_i64, 3])?;
    /// let make = || {
    ///     let ranges = runtime.store_from_vec(Shape::new(&[3]), vec![0_u64, 1, 2])?;
    ///     let within = runtime.store_from_vec(Shape::new(&[2]), vec![5_u32, 3])?;
    ///     Ok([ranges, within])
    /// };
    /// while indices.structure_of_indices(("take", 6), make)?.is_none() {}
    /// let [_, first] = indices.structure_of_indices(("take", 6), make)?.expect("it is kept");
    /// let [_, second] = indices.structure_of_indices(("take", 6), make)?.expect("it is kept");
    /// assert!(first.ptr_eq(&second));
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of `make`.
    pub fn structure_of_indices(
        &self,
        of: (&'static str, usize),
        make: impl FnOnce() -> Result<[Self; 2], Error>,
    ) -> Result<Option<[Self; 2]>, Error> {
        // What is kept follows from indices that a window need not name, so a round that gathers by
        // it is issued each time.
        self.runtime.issuing().asked += 1;
        let of_runtime = |store: Counted<Store>| Self {
            store,
            runtime: self.runtime.clone(),
        };
        match self.store.gather_by(of) {
            GatherBy::Indices => Ok(None),
            GatherBy::Structure(structure) => Ok(Some(structure.map(of_runtime))),
            GatherBy::NewStructure => {
                let made = make()?;
                let structure = made.each_ref().map(|handle| handle.store.clone());
                self.store.keep_structure(of, structure);
                Ok(Some(made))
            }
        }
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
