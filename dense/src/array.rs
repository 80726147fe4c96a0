//! Arrays: handles of stores, seen as they are or through a view.

use crate::bodies::{Operation, Target};
use crate::operand::sealed::Sealed;
use crate::operand::{self, ArrayOperand, Handle, Kind, Operand, Source};
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{
    Access, Error, ErrorKind, HostArgs, HostBody, HostTask, Local, Privilege, Runtime, Shape,
    Store, StoreHandle, TaskArg, View,
};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// An array of `D` dimensions, row-major, cut into pieces along dimension 0 over all ranks.
///
/// A handle: cloning it copies no element. An array is a value nevertheless: whatever is done to
/// one handle, the others keep what they had.
///
/// ```
/// use sparsefuse_dense::Vector;
///
/// let mut x = Vector::from_vec(vec![1.0, 2.0, 3.0]);
/// let before = x.clone();
/// x += 1.0;
/// assert_eq!(x.to_vec()?, [2.0, 3.0, 4.0]);
/// assert_eq!(before.to_vec()?, [1.0, 2.0, 3.0]);
/// # Ok::<(), sparsefuse_dense::Error>(())
/// ```
#[derive(Clone)]
pub struct Array<T, const D: usize = 2> {
    store: StoreHandle,
    /// How the array sees its store; `None` for all of it as it is.
    view: Option<Arc<View>>,
    element: PhantomData<T>,
}

/// An array of one dimension.
pub type Vector<T> = Array<T, 1>;

impl<T: Element, const D: usize> Array<T, D> {
    /// A handle of a store whose type and rank are known to fit.
    pub(crate) fn wrap(store: StoreHandle, view: Option<Arc<View>>) -> Self {
        Self {
            store,
            view,
            element: PhantomData,
        }
    }

    /// The array that a host task makes: its function reads these stores, in this order, and writes
    /// the result, its last argument, by rows.
    pub(crate) fn made_by(
        op: &'static str,
        runtime: &Runtime,
        shape: Shape,
        reads: &[(&StoreHandle, Access)],
        function: impl Fn(&mut HostArgs<'_>) -> Result<(), Error> + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let made = runtime.new_store(shape, T::DTYPE);
        let declared = reads.iter();
        let declared = declared.map(|(store, access)| (Privilege::Read, *access, store.dtype()));
        let declared = declared.chain([(Privilege::Write, Access::Rows, T::DTYPE)]);
        let declared: Vec<_> = declared.collect();
        let stores: Vec<_> = reads.iter().map(|read| read.0).chain([&made]).collect();
        let task = HostTask::new(function);
        runtime.submit_host(&HostBody::new(op, &declared), &stores, task)?;
        Ok(Self::wrap(made, None))
    }

    /// An array that is a store, seen through a view if there is one.
    ///
    /// # Errors
    ///
    /// If the store's elements have another type, the view is one of stores of another shape, or
    /// it, or the store, has not `D` dimensions.
    pub fn from_store(store: StoreHandle, view: Option<Arc<View>>) -> Result<Self, Error> {
        check_dtype::<T>("from_store", &store)?;
        if let Some(view) = &view {
            view.check_base("from_store", store.shape())?;
        }
        let view = view.filter(|view| !view.is_identity());
        let shape = view.as_ref().map_or(store.shape(), |view| view.shape());
        if shape.rank() != D {
            let (expected, found) = (format!("{D} dimensions"), shape.rank().to_string());
            return Err(Error::argument("from_store", expected, found));
        }
        Ok(Self::wrap(store, view))
    }

    /// The array as an argument of a task.
    #[must_use]
    pub fn arg(&self) -> TaskArg<'_> {
        TaskArg {
            store: &self.store,
            view: self.view.as_ref(),
        }
    }

    /// The store that holds the elements.
    #[must_use]
    pub fn store(&self) -> &StoreHandle {
        &self.store
    }

    /// The same, to be replaced by another one of this type and rank.
    pub(crate) fn store_mut(&mut self) -> &mut StoreHandle {
        &mut self.store
    }

    /// How the array sees its store; `None` for all of it as it is.
    #[must_use]
    pub fn view(&self) -> Option<&Arc<View>> {
        self.view.as_ref()
    }

    /// The runtime that the array belongs to.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        self.store.runtime()
    }

    /// The lengths of the dimensions.
    #[must_use]
    pub fn shape(&self) -> [usize; D] {
        std::array::from_fn(|d| self.arg().shape().dims()[d])
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.arg().shape().len()
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements, row-major, the same on every rank; executes what has been issued. Every rank
    /// must ask.
    ///
    /// # Errors
    ///
    /// If the computation of the array failed.
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        self.runtime().read(&self.store, self.view.as_deref())
    }

    /// The elements, row-major, on the rank `root` alone; the others get `None` and hold no more
    /// than before. Every rank must ask.
    ///
    /// # Errors
    ///
    /// If the computation of the array failed, or there is no such rank.
    pub fn gather(&self, root: usize) -> Result<Option<Vec<T>>, Error> {
        self.runtime()
            .gather(&self.store, self.view.as_deref(), root)
    }

    /// Calls `read` with the elements, row-major; without a copy on one rank, unless the array is
    /// a view of another.
    ///
    /// # Errors
    ///
    /// If the computation of the array failed.
    pub fn with_slice<R>(&self, read: impl FnOnce(&[T]) -> R) -> Result<R, Error> {
        if self.view.is_none() && self.runtime().ranks() == 1 {
            let local = self.runtime().local::<T>(&self.store)?;
            return Ok(read(&local));
        }
        Ok(read(&self.to_vec()?))
    }

    /// The rows of this rank; executes what has been issued. Every rank must ask.
    ///
    /// # Errors
    ///
    /// If the computation of the array failed.
    pub fn local(&self) -> Result<Local<T>, Error> {
        self.runtime().local(&self.contiguous()?.store)
    }

    /// An array cut like this one, whose rows every rank has made itself: as many elements as
    /// [`Array::local`] has.
    ///
    /// # Errors
    ///
    /// If there are more or fewer, or memory runs out.
    pub fn with_local(&self, elements: Vec<T>) -> Result<Self, Error> {
        let local = self.local()?;
        let (shape, partition, rows) = (self.arg().shape(), local.partition(), local.rows());
        let store = self
            .runtime()
            .store_of_rows(shape, partition, rows, elements)?;
        Ok(Self::wrap(store, None))
    }

    /// An array cut like this one, whose rows of this rank `fill` writes: all of them, into memory
    /// of the runtime, where it finds whatever was there before.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let a = Vector::<f64>::zeros([3]);
    /// let b = a.with_filled(|own| {
    ///     own.fill(2.0);
    ///     Ok(())
    /// })?;
    /// assert_eq!(b.to_vec()?, [2.0; 3]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What `fill` returns, or if memory runs out; on several ranks a failure is that of this rank
    /// alone.
    pub fn with_filled(
        &self,
        fill: impl FnOnce(&mut [T]) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let (shape, partition) = (self.arg().shape(), self.local()?.partition());
        let store = self.runtime().store_by_filling(shape, partition, fill)?;
        Ok(Self::wrap(store, None))
    }

    /// The array as a whole store: itself, unless it is a view, which one task copies.
    ///
    /// Products gather from whole stores only.
    ///
    /// # Errors
    ///
    /// If nothing has written the store.
    pub fn contiguous(&self) -> Result<Self, Error> {
        match self.view {
            None => Ok(self.clone()),
            Some(_) => self.try_copy(),
        }
    }

    /// The same elements in a store of their own that this handle alone holds.
    pub(crate) fn try_copy(&self) -> Result<Self, Error> {
        let source = Source(Kind::Array(self.arg()));
        let copy = Operation::Fill(source.origin(), Target::Array);
        let store = operand::elementwise("copy", copy, T::DTYPE, &[source], T::DTYPE)?;
        Ok(Self::wrap(store, None))
    }
}

impl<T, const D: usize> fmt::Debug for Array<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = self
            .view
            .as_ref()
            .map_or(self.store.shape(), |view| view.shape());
        write!(f, "Array{shape}:{}", self.store.dtype())
    }
}

impl<T: Element, const D: usize> Handle for Array<T, D> {
    fn of(store: StoreHandle) -> Self {
        Self::wrap(store, None)
    }
}

impl<T: Element, const D: usize> Sealed for Array<T, D> {}
impl<T: Element, const D: usize> Sealed for &Array<T, D> {}

impl<T: Element, const D: usize> Operand<T> for Array<T, D> {
    type With<U: Element> = Array<U, D>;
    fn source(&self) -> Source<'_> {
        Source(Kind::Array(self.arg()))
    }
}

impl<T: Element, const D: usize> Operand<T> for &Array<T, D> {
    type With<U: Element> = Array<U, D>;
    fn source(&self) -> Source<'_> {
        Source(Kind::Array(self.arg()))
    }
}

impl<T: Element, const D: usize> ArrayOperand<T, D> for Array<T, D> {}
impl<T: Element, const D: usize> ArrayOperand<T, D> for &Array<T, D> {}

/// Whether a store has elements of type `T`.
pub(crate) fn check_dtype<T: Element>(op: &'static str, store: &Store) -> Result<(), Error> {
    if store.dtype() == T::DTYPE {
        return Ok(());
    }
    let (expected, found) = (T::DTYPE.to_string(), store.dtype());
    Err(ErrorKind::DType {
        op,
        expected,
        found,
    }
    .into())
}
