//! Compressed sparse rows: the matrix as three stores.
//!
//! `pos` has one element more than the matrix has rows, `crd` and `vals` one for each entry: row
//! `i` has its entries at `pos[i]..pos[i + 1]`, columns strictly ascending. On several ranks `pos`
//! is cut like the rows, `crd` and `vals` are cut where the rows are. The structure never changes;
//! operations that change values share it.

use crate::assembly::{self, ASSEMBLE, Positions, Stores, triplets};
use crate::exchange::adjoint::AdjointProduct;
use crate::exchange::ghosts::{Ghosts, distinct};
use crate::exchange::layout::RowLayout;
use crate::exchange::own_rows::{HeldRows, OwnRows, OwnStructure, structure_at};
use crate::exchange::owners::Owners;
use crate::formats::inspected::Inspected;
use crate::local::rows::{LocalRows, check_local, check_positions};
use crate::local::triplets::Triplets;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Element, Numeric};
use sparsefuse_runtime::{Error, Partition, Runtime, Shape, StoreHandle, try_collect};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A sparse matrix in compressed row format; cheap to clone.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_sparse::Csr;
///
/// // [ 2 -1 ]
/// // [ 0  3 ]
/// let a = Csr::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![2.0, -1.0, 3.0])?;
/// let x = Vector::from_vec(vec![1.0, 10.0]);
/// assert_eq!((&a * &x).to_vec()?, [-8.0, 30.0]);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
#[derive(Clone)]
pub struct Csr<T> {
    n_rows: usize,
    n_cols: usize,
    pos: StoreHandle,
    crd: StoreHandle,
    vals: Vector<T>,
    /// The adjoint, once it was asked for. Clones share it; other values have another.
    adjoint: Arc<OnceLock<Self>>,
    /// How products with the adjoint go through the rows; shared and dropped in the same way.
    adjoint_product: Arc<OnceLock<Arc<AdjointProduct<T>>>>,
    /// What was found out of the values; shared and dropped in the same way.
    inspected: Arc<Inspected>,
}

impl<T: Numeric> Csr<T> {
    /// A matrix from the three arrays of its format. Columns of a row may come in any order;
    /// entries at the same place are summed. On several ranks every rank gives the whole.
    ///
    /// # Errors
    ///
    /// If the positions do not begin with 0, decrease, or do not end at the number of entries; if
    /// the arrays have the wrong lengths; if a column is out of range, or there are more than
    /// `u32::MAX` rows or columns.
    pub fn new(
        n_rows: usize,
        n_cols: usize,
        pos: Vec<u64>,
        crd: Vec<u32>,
        vals: Vec<T>,
    ) -> Result<Self, Error> {
        assembly::check_shape("csr", n_rows, n_cols)?;
        let whole = LocalRows { pos, crd, vals };
        check_local(&(0..n_rows), n_cols, &whole)?;
        let runtime = Runtime::current();
        let own = runtime.default_rows(Shape::new(&[n_rows]));
        let stores = runtime.eager_task(ASSEMBLE, &[], || {
            let local = match own.1.len() == n_rows {
                true => Ok(whole),
                false => LocalRows::try_copy(whole.as_rows().range(own.1.clone())),
            };
            let mut local = runtime.agree(local)?;
            local.sort_and_sum();
            assembly::from_local(&runtime, (n_rows, n_cols), own, local)
        });
        stores.map(Self::of_stores)
    }

    /// A matrix from its entries, in any order; entries at the same place are summed in the order
    /// given. On several ranks every rank gives all entries and keeps those of its rows.
    ///
    /// Linear in the number of entries, plus sorting within each row; works on all threads.
    ///
    /// # Errors
    ///
    /// If memory runs out.
    pub fn from_triplets(triplets: &Triplets<T>) -> Result<Self, Error> {
        let runtime = Runtime::current();
        let stores = || triplets::stores(Cow::Borrowed(triplets));
        let stores = runtime.eager_task(ASSEMBLE, &[], stores);
        stores.map(Self::of_stores)
    }

    /// A matrix with the given entries `(row, col, value)`, as [`Csr::from_triplets`] of
    /// [`Triplets::from_entries`].
    ///
    /// ```
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Csr::from_entries(2, 2, [(0, 0, 4.0), (1, 0, -1.0), (0, 0, 1.0)])?;
    /// assert_eq!(a.to_dense()?.to_vec()?, [5.0, 0.0, -1.0, 0.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If an entry lies outside the matrix, there are more than `u32::MAX` rows or columns, or
    /// memory runs out.
    pub fn from_entries(
        n_rows: usize,
        n_cols: usize,
        entries: impl IntoIterator<Item = (usize, usize, T)>,
    ) -> Result<Self, Error> {
        let triplets = Triplets::from_entries(n_rows, n_cols, entries);
        let triplets = triplets.map_err(|error| Error::from(error).of_operation("from_entries"))?;
        Self::from_whole_triplets(triplets)
    }

    /// As [`Csr::from_triplets`], which are not needed any more: their memory goes before that of
    /// the matrix is full.
    pub(crate) fn from_whole_triplets(triplets: Triplets<T>) -> Result<Self, Error> {
        let stores = || triplets::stores(Cow::Owned(triplets));
        let stores = Runtime::current().eager_task(ASSEMBLE, &[], stores);
        stores.map(Self::of_stores)
    }

    /// A matrix from entries that the ranks hold in any way: each gives its own, of any rows, and
    /// they are sent where they belong. Entries at the same place are summed in the order of the
    /// ranks, and of each rank in the order given; so on one rank this is [`Csr::from_triplets`].
    /// No rank holds more than it gives and its rows.
    ///
    /// # Errors
    ///
    /// If the shapes of the ranks differ, or memory runs out.
    pub fn from_distributed_triplets(triplets: Triplets<T>) -> Result<Self, Error> {
        let runtime = Runtime::current();
        let shape = (triplets.n_rows(), triplets.n_cols());
        let shapes = runtime.all_gather(&[shape.0 as u64, shape.1 as u64])?;
        if let Some(rank) = shapes.iter().position(|other| *other != shapes[0]) {
            let by = |rank: usize| format!("{} by {}", shapes[rank][0], shapes[rank][1]);
            return Err(Error::argument(
                "from_distributed_triplets",
                format!("entries of a matrix of {} on every rank", by(0)),
                format!("{} on rank {rank}", by(rank)),
            ));
        }
        let stores = runtime.eager_task(ASSEMBLE, &[], || {
            let own = Owners::of_rows(&runtime, shape.0).send(&runtime, triplets)?;
            triplets::stores(Cow::Owned(own))
        });
        stores.map(Self::of_stores)
    }

    /// A matrix whose rows are made where they are going to be: `make` is called on every rank
    /// with the rows of that rank. Columns must ascend strictly within each row.
    ///
    /// # Errors
    ///
    /// If `make` returns other rows than asked for, or a column is out of range or order.
    pub fn from_rows(
        n_rows: usize,
        n_cols: usize,
        make: impl FnOnce(Range<usize>) -> LocalRows<T>,
    ) -> Result<Self, Error> {
        let stores = assembly::from_made(n_rows, n_cols, Box::new(|rows| Ok(make(rows))));
        stores.map(Self::of_stores)
    }

    /// A matrix whose rows are counted first and then made, in memory that is there: `count` is
    /// called on every rank with its rows and returns their positions, one more than rows, from 0;
    /// `fill` with rows, positions, and room for columns, which must ascend strictly within each
    /// row, and values.
    ///
    /// For rows that are made in parallel, or many: nothing is moved, and the order of the columns
    /// is looked at in debug builds only. This is part of the task around it, where there is one
    /// ([`Runtime::eager_task`]); other constructors are tasks of their own.
    ///
    /// # Errors
    ///
    /// If `count` returns another number of positions, or ones that do not begin with 0 and ascend;
    /// or memory runs out.
    pub fn from_counted_rows(
        n_rows: usize,
        n_cols: usize,
        count: impl FnOnce(Range<usize>) -> Result<Vec<u64>, Error>,
        fill: impl FnOnce(Range<usize>, &[u64], &mut [u32], &mut [T]),
    ) -> Result<Self, Error> {
        assembly::check_shape("csr", n_rows, n_cols)?;
        let runtime = Runtime::current();
        let (partition, rows) = runtime.default_rows(Shape::new(&[n_rows]));
        runtime.agree(assembly::check_memory(&runtime, &rows))?;
        let counted = count(rows.clone()).and_then(|pos| {
            check_positions("csr", rows.len(), &pos)?;
            Ok(pos)
        });
        let pos = runtime.agree(counted)?;
        let own = (partition, rows.clone());
        let pos = Positions::Vector(pos);
        let shape = (n_rows, n_cols);
        let stores = assembly::filled(&runtime, shape, own, pos, |pos, crd, vals| {
            fill(rows, pos, crd, vals);
        });
        stores.map(Self::of_stores)
    }

    /// The matrix with ones on its diagonal.
    ///
    /// # Errors
    ///
    /// If memory runs out.
    #[doc(alias = "eye")]
    pub fn identity(n: usize) -> Result<Self, Error> {
        let count = |rows: Range<usize>| try_collect((0..rows.len() + 1).map(|end| end as u64));
        Self::from_counted_rows(n, n, count, |rows, _, crd, vals| {
            crd.iter_mut()
                .zip(rows)
                .for_each(|(column, row)| *column = row as u32);
            vals.fill(T::ONE);
        })
    }

    /// The matrix that these stores are; the caller has made them as the module's text says.
    pub(crate) fn of_stores(stores: Stores<T>) -> Self {
        let Stores {
            shape: (n_rows, n_cols),
            pos,
            crd,
            vals,
        } = stores;
        Self {
            n_rows,
            n_cols,
            pos,
            crd,
            vals,
            adjoint: Arc::default(),
            adjoint_product: Arc::default(),
            inspected: Arc::default(),
        }
    }

    /// The same structure with values of perhaps another type, one for each entry.
    pub(crate) fn with_values_of<U: Numeric>(&self, vals: Vector<U>) -> Csr<U> {
        Csr::of_stores(Stores {
            shape: self.shape(),
            pos: self.pos.clone(),
            crd: self.crd.clone(),
            vals,
        })
    }

    /// Values for the stored entries, of which every rank fills in its own.
    pub(crate) fn values_by_filling<U: Element>(
        &self,
        fill: impl FnOnce(&mut [U]),
    ) -> Result<Vector<U>, Error> {
        let runtime = self.runtime();
        let partition = runtime.local::<u32>(&self.crd)?.partition();
        let store = runtime.store_by_filling(Shape::new(&[self.nnz()]), partition, |vals| {
            fill(vals);
            Ok(())
        });
        Vector::from_store(runtime.agree(store)?, None)
    }

    /// The number of rows and of columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        (self.n_rows, self.n_cols)
    }

    /// The number of rows.
    #[must_use]
    #[doc(alias = "rows")]
    #[doc(alias = "nrows")]
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The number of columns.
    #[must_use]
    #[doc(alias = "cols")]
    #[doc(alias = "ncols")]
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// The number of stored entries, of all ranks.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.crd.shape().len()
    }

    /// The values of the stored entries, row by row.
    #[must_use]
    pub fn values(&self) -> &Vector<T> {
        &self.vals
    }

    /// Says that the matrix will be multiplied with many vectors: already the first product puts it
    /// into the form that products are fastest with, where otherwise a later one does. No result
    /// depends on it.
    pub fn expect_products(&self) {
        self.vals.store().pack_early();
    }

    /// The bytes that a product with a vector reads of this rank's part of the matrix, in the form
    /// in which it is read; `None` before the first products have chosen that form.
    #[must_use]
    pub fn bytes_of_product(&self) -> Option<usize> {
        self.vals.store().bytes_of_pass()
    }

    /// The runtime that the matrix belongs to.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        self.pos.runtime()
    }

    /// The store of the positions: where the entries of each row begin, and where the last ones
    /// end, of type `u64`. With [`Csr::crd`] and [`Csr::values`] it is what a product of one's own
    /// reads, as `Ranges` and `Within` these; it is cut as the rows are.
    #[must_use]
    pub fn pos(&self) -> &StoreHandle {
        &self.pos
    }

    /// The store of the columns of the entries, ascending in each row, of type `u32`.
    #[must_use]
    pub fn crd(&self) -> &StoreHandle {
        &self.crd
    }

    pub(crate) fn adjoint_product(&self) -> &OnceLock<Arc<AdjointProduct<T>>> {
        &self.adjoint_product
    }

    pub(crate) fn inspected(&self) -> &Inspected {
        &self.inspected
    }

    /// The three stores of the matrix.
    pub(crate) fn stores(&self) -> [&StoreHandle; 3] {
        [&self.pos, &self.crd, self.vals.store()]
    }

    /// The conjugate transpose, made when it is first asked for and kept with this matrix and its
    /// clones: as much memory again. The first call executes the window, and every rank must make
    /// it.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_sparse::Csr;
    ///
    /// let a = Csr::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![2.0, -1.0, 3.0])?;
    /// let x = Vector::from_vec(vec![1.0, 10.0]);
    /// assert_eq!((a.kept_adjoint()? * &x).to_vec()?, [2.0, 29.0]);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the computation of the values failed, or memory runs out.
    pub fn kept_adjoint(&self) -> Result<&Self, Error> {
        if let Some(adjoint) = self.adjoint.get() {
            return Ok(adjoint);
        }
        let adjoint = self.adjoint()?;
        Ok(self.adjoint.get_or_init(|| adjoint))
    }

    /// Whether [`Csr::kept_adjoint`] is there, on all ranks alike.
    pub(crate) fn has_kept_adjoint(&self) -> bool {
        self.adjoint.get().is_some()
    }

    /// Whether another matrix has entries at the same places. Free where the two share their
    /// structure, as matrices do that differ by [`Csr::with_values`] or [`Csr::scale`]; else it
    /// executes the window, and every rank must ask.
    ///
    /// # Errors
    ///
    /// If a structure cannot be read.
    pub fn has_structure_of(&self, other: &Self) -> Result<bool, Error> {
        if self.shares_structure_of(other) {
            return Ok(true);
        }
        if self.shape() != other.shape() || self.nnz() != other.nnz() {
            return Ok(false);
        }
        let reads = [&self.pos, &self.crd, &other.pos, &other.crd];
        let runtime = self.runtime();
        runtime.eager_task("compare_structures", &reads, || {
            let mine = self.own_structure()?;
            let theirs = other.own_structure()?;
            let is_same = match mine.partition == theirs.partition {
                true => is_same_structure((&mine.pos, &mine.crd), (&theirs.pos, &theirs.crd)),
                false => {
                    let stores = (&other.pos, &other.crd);
                    let (pos, crd) =
                        structure_at(runtime, stores, theirs.partition, mine.rows.clone())?;
                    is_same_structure((&mine.pos, &mine.crd), (&pos, &crd))
                }
            };
            let everywhere = self.runtime().all_gather(&[is_same])?;
            Ok(everywhere.iter().all(|is_same| is_same[0]))
        })
    }

    /// Whether two matrices share the stores of their structure.
    pub(crate) fn shares_structure_of(&self, other: &Self) -> bool {
        self.pos.ptr_eq(&other.pos) && self.crd.ptr_eq(&other.crd)
    }

    /// The rows of this rank: which they are, and their entries with global columns. Executes the
    /// window.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed, or the system refuses the memory.
    pub fn local_rows(&self) -> Result<(Range<usize>, LocalRows<T>), Error> {
        let own = self.own_rows()?;
        let copy = LocalRows::try_copy(own.as_rows());
        Ok((own.rows(), self.runtime().agree(copy)?))
    }

    /// How the rows are spread over the ranks: with [`Ghosts`], the way to rows of
    /// other ranks. Executes the window.
    ///
    /// # Errors
    ///
    /// If the structure cannot be read.
    #[doc(hidden)]
    pub fn row_partition(&self) -> Result<Partition, Error> {
        let runtime = self.runtime();
        let partition = runtime.local::<u64>(&self.pos)?.partition();
        match runtime.cuts(partition) {
            None => Ok(Partition::Replicated),
            Some(cuts) => {
                // There is one position more than rows.
                let cuts: Vec<usize> = cuts.iter().map(|&cut| cut.min(self.n_rows)).collect();
                runtime.partition_at(&cuts)
            }
        }
    }

    /// How the rows are spread over the ranks, with which of them this rank has: what sweeps
    /// through rows ask for. Executes the window.
    ///
    /// # Errors
    ///
    /// If the structure cannot be read.
    #[doc(hidden)]
    pub fn row_layout(&self) -> Result<RowLayout, Error> {
        let partition = self.row_partition()?;
        Ok(RowLayout::new(self.runtime(), self.n_rows, partition))
    }

    /// The matrix of which every rank gives its rows, those of a layout. Where one rank fails, all
    /// do.
    ///
    /// # Errors
    ///
    /// If a rank gives another number of rows, columns are out of range or order, or memory runs
    /// out.
    #[doc(hidden)]
    pub fn from_layout(
        layout: &RowLayout,
        n_cols: usize,
        rows: LocalRows<T>,
    ) -> Result<Self, Error> {
        assembly::check_shape("csr", layout.n_rows(), n_cols)?;
        let (shape, own) = (
            (layout.n_rows(), n_cols),
            (layout.partition(), layout.rows()),
        );
        let stores = assembly::from_local(layout.runtime(), shape, own, rows);
        stores.map(Self::of_stores)
    }

    /// The ghosts of the columns in which this rank's rows have entries, for a vector that is
    /// spread so. Linear in the entries and columns; executes the window.
    ///
    /// # Errors
    ///
    /// If the computation of the matrix failed.
    #[doc(hidden)]
    pub fn ghosts_of_columns(&self, partition: Partition) -> Result<Ghosts, Error> {
        let own = self.own_rows()?;
        let needed = distinct(own.as_rows().crd.iter().copied(), self.n_cols);
        let needed = self.runtime().agree(needed)?;
        Ghosts::new(self.runtime(), partition, needed)
    }

    /// The rows `wanted` on this rank, which are those of a partition if one is given; on other
    /// ranks other ones. Executes the window; every rank must ask.
    pub(crate) fn rows_at(
        &self,
        partition: Option<Partition>,
        wanted: Range<usize>,
    ) -> Result<HeldRows<T>, Error> {
        HeldRows::of(self.runtime(), self.own_rows()?, partition, wanted)
    }

    /// The rows of this rank, read where they lie, without a copy; executes the window. Every rank
    /// must ask, and where one fails, all do.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed.
    #[doc(hidden)]
    pub fn own_rows(&self) -> Result<OwnRows<T>, Error> {
        let structure = (&self.pos, &self.crd);
        OwnRows::of_stores(self.runtime(), structure, &self.vals, || {
            self.row_partition()
        })
    }

    /// Where the entries of this rank's rows are: [`Csr::own_rows`] without the values, which are
    /// neither computed nor brought here.
    pub(crate) fn own_structure(&self) -> Result<OwnStructure, Error> {
        OwnStructure::of_stores(self.runtime(), (&self.pos, &self.crd), || {
            self.row_partition()
        })
    }

    /// The same structure with values that are a whole store, one for each entry.
    pub(crate) fn with_own_values(&self, vals: Vector<T>) -> Self {
        Self {
            vals,
            adjoint: Arc::default(),
            adjoint_product: Arc::default(),
            inspected: Arc::default(),
            ..self.clone()
        }
    }
}

impl<T> fmt::Debug for Csr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nnz = self.crd.shape().len();
        write!(f, "Csr({} by {}, {nnz} entries)", self.n_rows, self.n_cols)
    }
}

/// Whether the same entries are there; positions may begin anywhere.
fn is_same_structure((pos, crd): (&[u64], &[u32]), (other, other_crd): (&[u64], &[u32])) -> bool {
    let from_0 = |pos: &[u64]| {
        let first = pos[0];
        pos.iter().map(move |&at| at - first).collect::<Vec<_>>()
    };
    crd == other_crd && (pos == other || from_0(pos) == from_0(other))
}
