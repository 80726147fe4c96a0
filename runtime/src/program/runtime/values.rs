//! Values to the program: what a rank holds of a store, and all of it on one rank or on every one.

use super::Runtime;
use super::handle::StoreHandle;
use crate::comm;
use crate::comm::exchange::{Exchange, Item, fetch};
use crate::error::{Error, ErrorKind};
use crate::geometry::partition::Partition;
use crate::geometry::region::Region;
use crate::geometry::view::View;
use crate::memory::counted::Counted;
use crate::memory::reserve::reserve;
use crate::observe::lockstep::Call;
use crate::shape::Shape;
use crate::stores::local::{Local, gather};
use crate::stores::store::{Contents, Held, Store};
use sparsefuse_kernels::{Element, Workers, scalar};

impl Runtime {
    /// This rank's part of a store. Executes the window if that writes it; every rank must ask.
    ///
    /// # Errors
    ///
    /// If the elements have another type, nothing has written the store, or its task failed.
    pub fn local<T: Element>(&self, store: &StoreHandle) -> Result<Local<T>, Error> {
        check_dtype::<T>(store)?;
        // Under the lock, so that no other thread's window has the contents just now.
        let mut issuing = self.issuing_for(store);
        self.complete(&mut issuing, store)?;
        let materialise = |held: &mut Held| self.materialise(held);
        let local = store.with_instance("read", materialise, |partition, instance| {
            // It is here from now on, and what fails on the way fails here.
            instance.to_read();
            Local::new(partition, instance.clone())
        });
        self.check_device().and(local)
    }

    /// Brings back what is held in packed form alone: on the threads of this rank, but where a
    /// window that is under way has them.
    fn materialise(&self, held: &mut Held) -> Result<(), Error> {
        match self.shared.engine.try_lock() {
            Ok(engine) => held.materialise(&engine.workers),
            Err(_) => held.materialise(&Workers::alone()),
        }
    }

    /// Whether what has been read can be relied on.
    fn check_device(&self) -> Result<(), Error> {
        let device = self.shared.pool.device();
        device.and_then(|device| device.lost()).map_or(Ok(()), Err)
    }

    /// The elements that a view of a store sees, row-major, on every rank. Executes the window if
    /// that writes the store; every rank must ask, and a failure of one is the failure of all.
    ///
    /// # Errors
    ///
    /// If the elements have another type, nothing has written the store, or its task failed.
    pub fn read<T: Element>(
        &self,
        store: &StoreHandle,
        view: Option<&View>,
    ) -> Result<Vec<T>, Error> {
        self.read_on(store, view, None)
    }

    /// As [`Runtime::read`], but on the rank `root` alone: the others get `None`.
    ///
    /// # Errors
    ///
    /// As [`Runtime::read`], or if there is no such rank.
    pub fn gather<T: Element>(
        &self,
        store: &StoreHandle,
        view: Option<&View>,
        root: usize,
    ) -> Result<Option<Vec<T>>, Error> {
        if root >= self.ranks() {
            let expected = format!("a rank below {}", self.ranks());
            return Err(Error::argument("gather", expected, root.to_string()));
        }
        let elements = self.read_on(store, view, Some(root))?;
        Ok((self.rank() == root).then_some(elements))
    }

    /// The elements that a view sees, on every rank or on one; on others none, or what they hold
    /// anyway.
    fn read_on<T: Element>(
        &self,
        store: &StoreHandle,
        view: Option<&View>,
        root: Option<usize>,
    ) -> Result<Vec<T>, Error> {
        if let Some(view) = view {
            view.check_base("read", store.shape())?;
        }
        let local = self.local::<T>(store);
        let view = view
            .copied()
            .unwrap_or_else(|| View::identity(store.shape()));
        let partition = match &local {
            // A window of another thread may have the contents just now.
            Ok(local) => local.partition(),
            Err(_) => match store.contents() {
                Contents::Here(partition, _)
                | Contents::Marred(partition, ..)
                | Contents::Poisoned(partition, _) => partition,
                Contents::Unwritten => return Err(ErrorKind::Unwritten { op: "read" }.into()),
            },
        };
        let len = view.shape().len();
        // On the rank that lacks memory the others do not wait for it.
        let local = self.agree(local.and_then(|local| match partition {
            Partition::Replicated if root.is_none_or(|root| root == self.rank()) => {
                Ok((local, reserve(len)?))
            }
            Partition::Replicated | Partition::Tile(_) => Ok((local, Vec::new())),
        }));
        let (local, elements) = local?;
        if partition == Partition::Replicated {
            if root.is_some_and(|root| root != self.rank()) {
                return Ok(elements);
            }
            let held = Region::of_rows(store.shape(), &local.rows());
            return Ok(gather(&view, &held, &local, elements));
        }
        let mut inner = self.inner();
        inner.check(Call::Gather(store.store(), &view, root))?;
        let is_wanted = |rank| root.is_none_or(|root| rank == root);
        let region = view.region(&(0..view.shape().rows()));
        let nothing = Region::of_rows(store.shape(), &(0..0));
        let cuts = &inner.issuing.cuts;
        let held =
            |rank| Region::of_rows(store.shape(), &cuts.rows(partition, store.shape(), rank));
        let wanted = |rank| if is_wanted(rank) { region } else { nothing };
        let (rank, ranks) = (self.rank(), self.ranks());
        let exchange = Exchange::of_boxes((rank, ranks), held, wanted, wanted(rank));
        let what = (&exchange, wanted(rank), Item::new(T::DTYPE, 1));
        let (comm, pool) = (&*inner.engine.comm, &self.shared.pool);
        let fetched = fetch::read(what, comm, pool, Ok(local.instance()));
        let len = if is_wanted(self.rank()) { len } else { 0 };
        let fetched = fetched.and_then(|fetched| Ok((fetched, reserve(len)?)));
        let (fetched, elements) = comm::agree(&*inner.engine.comm, fetched)?;
        if !is_wanted(self.rank()) {
            return Ok(Vec::new());
        }
        let fetched = Local::<T>::new(Partition::Replicated, Counted::new(fetched));
        Ok(gather(&view, &region, &fetched, elements))
    }

    /// The single element of a store of rank 0. Executes the window if that writes it; every rank
    /// must ask, and a failure of one is the failure of all.
    ///
    /// # Errors
    ///
    /// As [`Runtime::read`].
    pub fn read_scalar<T: Element>(&self, store: &StoreHandle) -> Result<T, Error> {
        let is_scalar = store.shape() == Shape::SCALAR;
        let element = self.read_results(store, |_, elements| {
            elements.first().filter(|_| is_scalar).copied()
        })?;
        element.ok_or_else(|| Error::shape("get", Shape::SCALAR, store.shape()))
    }

    /// The elements of a store that a task has reduced into, or of another one that is not cut; as
    /// [`Runtime::read_scalar`] otherwise.
    ///
    /// # Errors
    ///
    /// As [`Runtime::read`], or if the store is cut.
    pub fn read_scalars<T: Element>(&self, store: &StoreHandle) -> Result<Vec<T>, Error> {
        let elements = self.read_results(store, |partition, elements| match partition {
            Partition::Replicated => Some(elements.to_vec()),
            Partition::Tile(_) => None,
        })?;
        let expected = "a store that every rank holds";
        elements.ok_or_else(|| Error::argument("get", expected, "one that is cut"))
    }

    /// Waits for the task that writes a store of type `bool`, on several ranks for its end on all.
    pub(super) fn wait_for_task(&self, done: &StoreHandle) -> Result<(), Error> {
        self.read_results(done, |_, _: &[bool]| ())
    }

    /// What `read` makes of the elements that this rank holds. Ranks ask each other whether all of
    /// them have theirs, unless the task that wrote the store has reduced over the ranks.
    fn read_results<T: Element, R>(
        &self,
        store: &StoreHandle,
        read: impl FnOnce(Partition, &[T]) -> R,
    ) -> Result<R, Error> {
        check_dtype::<T>(store)?;
        let mut issuing = self.issuing_for(store);
        self.complete(&mut issuing, store)?;
        if !self.shared.computes {
            let element = scalar::from_f64(T::DTYPE, 1.0).get();
            let elements: Vec<T> = vec![element; store.shape().len()]
                .into_iter()
                .flatten()
                .collect();
            return Ok(read(Partition::Replicated, &elements));
        }
        let materialise = |held: &mut Held| self.materialise(held);
        let mut results = store.with_instance("read", materialise, |partition, instance| {
            read(partition, crate::memory::bytes::elements(instance))
        });
        results = self.check_device().and(results);
        if self.ranks() > 1 && !store.is_agreed() {
            let engine = self.engine();
            issuing.check(&engine, Call::Read(store.store()))?;
            results = comm::agree(&*engine.comm, results);
        }
        results
    }
}

fn check_dtype<T: Element>(store: &Store) -> Result<(), Error> {
    if store.dtype() == T::DTYPE {
        return Ok(());
    }
    let (expected, found) = (T::DTYPE.to_string(), store.dtype());
    Err(ErrorKind::DType {
        op: "read",
        expected,
        found,
    }
    .into())
}
