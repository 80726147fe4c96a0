//! Stores from elements: a vector that becomes a store's memory, or memory that a function fills.

use super::Runtime;
use super::handle::StoreHandle;
use crate::error::Error;
use crate::geometry::partition::Partition;
use crate::images::residency::Residency;
use crate::memory::counted::Counted;
use crate::memory::instance::Instance;
use crate::memory::reserve::try_collect;
use crate::memory::room::Room;
use crate::shape::Shape;
use crate::stores::store::Contents;
use sparsefuse_kernels::Element;
use std::ops::Range;

impl Runtime {
    /// A store with the given elements, row-major, the same on every rank; each rank keeps its
    /// own rows. On one rank the vector itself becomes the store's memory.
    ///
    /// # Errors
    ///
    /// If the number of elements does not fit the shape, or memory runs out. On several ranks one
    /// alone may lack the memory: that is found where the store is read, as the failure of a task.
    pub fn store_from_vec<T: Element>(
        &self,
        shape: Shape,
        elements: Vec<T>,
    ) -> Result<StoreHandle, Error> {
        if shape.checked_len() != Some(elements.len()) {
            let expected = format!("as many elements as the shape {shape} has");
            return Err(Error::argument(
                "from_vec",
                expected,
                elements.len().to_string(),
            ));
        }
        let (partition, rows) = self.default_rows(shape);
        let elements = match partition {
            Partition::Replicated => Ok(elements),
            Partition::Tile(_) => {
                let row_len = shape.row_len();
                let own = &elements[rows.start * row_len..rows.end * row_len];
                try_collect(own.iter().copied())
            }
        };
        let made =
            elements.and_then(|elements| self.store_of_rows(shape, partition, rows, elements));
        self.made_or_failed::<T>("from_vec", (shape, partition), made)
    }

    /// A store whose rows `fill` writes on each rank, given their numbers and their elements,
    /// row-major, with whatever they were before.
    ///
    /// # Errors
    ///
    /// If memory runs out, as [`Runtime::store_from_vec`].
    pub fn store_from_rows<T: Element>(
        &self,
        shape: Shape,
        fill: impl FnOnce(Range<usize>, &mut [T]),
    ) -> Result<StoreHandle, Error> {
        let (partition, rows) = self.default_rows(shape);
        let made = self.store_by_filling(shape, partition, |elements| {
            fill(rows, elements);
            Ok(())
        });
        self.made_or_failed::<T>("from_fn", (shape, partition), made)
    }

    /// A store that this rank has made. If it alone lacks the memory, the others do not know: then
    /// it goes on as they do, with a store that could not be computed.
    fn made_or_failed<T: Element>(
        &self,
        op: &'static str,
        (shape, partition): (Shape, Partition),
        made: Result<StoreHandle, Error>,
    ) -> Result<StoreHandle, Error> {
        match made {
            Err(cause) if self.ranks() > 1 && cause.is_lack_of_memory() => {
                let contents = Contents::Poisoned(partition, cause.poison(op));
                Ok(self.store(shape, T::DTYPE, contents))
            }
            made => made,
        }
    }

    /// A store whose rows each rank has made itself.
    ///
    /// `rows` may reach beyond what the partition gives this rank, but not begin elsewhere.
    ///
    /// # Errors
    ///
    /// If the rows do not begin where the partition says, the number of elements does not fit, or
    /// memory runs out.
    pub fn store_of_rows<T: Element>(
        &self,
        shape: Shape,
        partition: Partition,
        rows: Range<usize>,
        elements: Vec<T>,
    ) -> Result<StoreHandle, Error> {
        self.check_rows("store_of_rows", (shape, partition), &rows, elements.len())?;
        let len = elements.len();
        self.check_limit(size_of_val(&elements[..]))?;
        let memory = self.shared.pool.adopt(elements)?;
        self.count_moved(len * size_of::<T>());
        let instance = Counted::new(Instance::new(memory, rows, len, size_of::<T>()));
        let contents = Contents::Here(partition, Residency::Plain(instance));
        Ok(self.store(shape, T::DTYPE, contents))
    }

    /// A store cut by a partition, whose rows of this rank `fill` writes into memory of the pool:
    /// it gets them with whatever elements they had before, row-major. What it returns is returned
    /// with the store; on several ranks a failure is that of this rank alone.
    ///
    /// # Errors
    ///
    /// If memory runs out, or `fill` fails.
    pub fn store_by_filling<T: Element>(
        &self,
        shape: Shape,
        partition: Partition,
        fill: impl FnOnce(&mut [T]) -> Result<(), Error>,
    ) -> Result<StoreHandle, Error> {
        let rows = self.own_rows("store_by_filling", (shape, partition))?;
        let mut room = self.room(rows.len().saturating_mul(shape.row_len()))?;
        fill(&mut room)?;
        self.store_of_room(shape, partition, rows, room)
    }

    /// Memory of the pool for `len` elements, which are whatever was there before.
    ///
    /// # Errors
    ///
    /// If memory runs out.
    pub fn room<T: Element>(&self, len: usize) -> Result<Room<T>, Error> {
        self.with_room(|pool| Room::new(pool, len))
    }

    /// Fails unless the memory limit leaves this many more bytes to stores.
    ///
    /// ```
    /// use sparsefuse_runtime::{Config, Runtime};
    ///
    /// let config = Config { memory_limit: 1 << 20, ..Config::default() };
    /// let runtime = Runtime::new(config)?;
    /// assert!(runtime.check_limit(1 << 20).is_ok() && runtime.check_limit(1 << 21).is_err());
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// That memory runs out.
    pub fn check_limit(&self, bytes: usize) -> Result<(), Error> {
        self.with_room(|pool| pool.check_room(bytes))
    }

    /// As [`Runtime::store_of_rows`], of elements in memory of the pool.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn store_of_room<T: Element>(
        &self,
        shape: Shape,
        partition: Partition,
        rows: Range<usize>,
        room: Room<T>,
    ) -> Result<StoreHandle, Error> {
        self.check_rows("store_of_room", (shape, partition), &rows, room.len())?;
        self.count_moved(room.len() * size_of::<T>());
        let mut instance = room.into_instance();
        instance.rows = rows;
        let contents = Contents::Here(partition, Residency::Plain(Counted::new(instance)));
        Ok(self.store(shape, T::DTYPE, contents))
    }

    /// Refuses rows that are not those of this rank, or another number of elements.
    fn check_rows(
        &self,
        op: &'static str,
        (shape, partition): (Shape, Partition),
        rows: &Range<usize>,
        n_elements: usize,
    ) -> Result<(), Error> {
        let own = self.own_rows(op, (shape, partition))?;
        let is_covered = rows.start == own.start && rows.end >= own.end && rows.end <= shape.rows();
        if is_covered && rows.len().checked_mul(shape.row_len()) == Some(n_elements) {
            return Ok(());
        }
        let found = format!("{n_elements} elements of rows {rows:?}");
        Err(Error::argument(op, format!("rows {own:?}"), found))
    }

    /// The rows of this rank, if the partition is one of this runtime and of this many rows.
    fn own_rows(
        &self,
        op: &'static str,
        (shape, partition): (Shape, Partition),
    ) -> Result<Range<usize>, Error> {
        let issuing = self.issuing();
        if issuing.cuts.cuts_all(partition, shape.rows()) {
            return Ok(issuing.cuts.rows(partition, shape, self.rank()));
        }
        let expected = format!("a partition of {} rows by this runtime", shape.rows());
        Err(Error::argument(op, expected, "another"))
    }
}
