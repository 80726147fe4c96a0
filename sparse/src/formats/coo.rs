//! Coordinates: the matrix as three stores with one element for each entry, `rows`, `cols` and
//! `vals`.
//!
//! Entries come in any order, and there may be several at the same place, which mean their sum. All
//! three stores are spread in the same way. [`crate::Triplets`] are the same on one rank, before
//! they become stores.

use crate::assembly::{Stores, Structure};
use crate::exchange::own_rows::brought_back;
use crate::formats::csc::Csc;
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::formats::places::{Places, Sums};
use crate::local::parallel::Threads;
use crate::local::triplets::Triplets;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Element, Numeric};
use sparsefuse_runtime::{Error, Partition, Runtime, Shape, StoreHandle, reserve, try_collect};
use std::fmt;
use std::iter::repeat_n;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A sparse matrix as a list of entries; cheap to clone.
///
/// ```
/// use sparsefuse_sparse::{Coo, Triplets};
///
/// let mut triplets = Triplets::new(2, 2)?;
/// triplets.push(1, 0, 2.0)?;
/// triplets.push(0, 1, 3.0)?;
/// triplets.push(1, 0, 0.5)?;
/// let a = Coo::from_triplets(triplets)?;
/// assert_eq!(a.nnz(), 3);
/// assert_eq!(a.to_csr()?.values().to_vec()?, [3.0, 2.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Coo<T> {
    n_rows: usize,
    n_cols: usize,
    rows: Vector<u32>,
    cols: Vector<u32>,
    vals: Vector<T>,
    /// The matrix in row format, once it has been asked for. Clones share it.
    in_rows: Arc<OnceLock<Csr<T>>>,
    /// What is known of the places; those with other values share it.
    places: Arc<Places>,
}

impl<T: Numeric> Coo<T> {
    /// A matrix with these entries. On several ranks every rank gives all entries and keeps a
    /// share of them.
    ///
    /// # Errors
    ///
    /// If memory runs out.
    pub fn from_triplets(triplets: Triplets<T>) -> Result<Self, Error> {
        let runtime = Runtime::current();
        let (n_rows, n_cols) = (triplets.n_rows(), triplets.n_cols());
        let (rows, cols, vals) = triplets.into_parts();
        let shape = Shape::new(&[vals.len()]);
        let make = || {
            let rows = runtime.store_from_vec(shape, rows)?;
            Ok((
                rows,
                runtime.store_from_vec(shape, cols)?,
                runtime.store_from_vec(shape, vals)?,
            ))
        };
        let (rows, cols, vals) = runtime.agree(make())?;
        Ok(Self {
            n_rows,
            n_cols,
            rows: Vector::from_store(rows, None)?,
            cols: Vector::from_store(cols, None)?,
            vals: Vector::from_store(vals, None)?,
            in_rows: Arc::default(),
            places: Arc::default(),
        })
    }

    /// The number of rows and of columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        (self.n_rows, self.n_cols)
    }

    /// The runtime that the matrix belongs to.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        self.vals.runtime()
    }

    /// The number of stored entries, of all ranks; duplicates count each.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.vals.len()
    }

    /// The row of each entry.
    #[must_use]
    pub fn rows(&self) -> &Vector<u32> {
        &self.rows
    }

    /// The column of each entry.
    #[must_use]
    pub fn cols(&self) -> &Vector<u32> {
        &self.cols
    }

    /// The value of each entry.
    #[must_use]
    pub fn values(&self) -> &Vector<T> {
        &self.vals
    }

    /// The same places with values that are a whole store, one for each entry.
    pub(crate) fn with_own_values(&self, vals: Vector<T>) -> Self {
        Self {
            vals,
            in_rows: Arc::default(),
            ..self.clone()
        }
    }

    /// All entries, on every rank; executes the window.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed.
    pub fn to_triplets(&self) -> Result<Triplets<T>, Error> {
        let (rows, cols) = (self.rows.to_vec(), self.cols.to_vec());
        let vals = self.vals.to_vec();
        Ok(Triplets::from_checked_parts(
            self.n_rows,
            self.n_cols,
            rows?,
            cols?,
            vals?,
        ))
    }

    /// The matrix in row format, made when it is first asked for and kept with this one and its
    /// clones: as much memory again. Entries at the same place are summed in their order. The first
    /// call executes the window, and every rank must make it.
    ///
    /// A loop that assembles the same places with other values ([`Coo::with_values`]) finds out in
    /// the second of them which entries belong together, and sorts nothing from then on (on one
    /// rank; 4 bytes for each triplet and 8 for each entry of the matrix are kept).
    ///
    /// ```
    /// use sparsefuse_sparse::{Coo, Triplets};
    ///
    /// // Two elements, of which each adds to four places of the matrix.
    /// let (rows, cols) = (vec![0, 0, 1, 1, 1, 1, 2, 2], vec![0, 1, 0, 1, 1, 2, 1, 2]);
    /// let places = Coo::from_triplets(Triplets::from_parts(3, 3, rows, cols, vec![0.0; 8])?)?;
    /// for stiffness in [1.0, 2.0] {
    ///     let element = [stiffness, -stiffness, -stiffness, stiffness];
    ///     let a = places.with_values(element.repeat(2).into())?.to_csr()?;
    ///     let s = stiffness;
    ///     assert_eq!(a.values().to_vec()?, [s, -s, -s, 2.0 * s, -s, -s, s]);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the computation of the values failed, or memory runs out.
    pub fn to_csr(&self) -> Result<Csr<T>, Error> {
        if let Some(rows) = self.in_rows.get() {
            return Ok(rows.clone());
        }
        let reads = [&self.rows, &self.cols].map(Vector::store);
        let reads = [reads[0], reads[1], self.vals.store()];
        let runtime = self.vals.runtime();
        let rows = runtime.eager_task("coo_to_csr", &reads, || match self.summed_rows()? {
            Some(rows) => Ok(rows),
            None => self.made_rows(),
        })?;
        Ok(self.in_rows.get_or_init(|| rows).clone())
    }

    /// The matrix in row format by what is known of the places, on one rank.
    fn summed_rows(&self) -> Result<Option<Csr<T>>, Error> {
        let runtime = self.vals.runtime();
        let Some(structure) = self.places.structure.get().filter(|_| runtime.ranks() == 1) else {
            return Ok(None);
        };
        if self.places.sums.get().is_none() {
            let pos = runtime.local::<u64>(&structure.pos)?;
            let crd = runtime.local::<u32>(&structure.crd)?;
            let (rows, cols) = (self.rows.local()?, self.cols.local()?);
            let Some(sums) = Sums::new(&Threads::of(runtime), (&rows, &cols), (&pos, &crd))? else {
                return Ok(None);
            };
            self.places.sums.get_or_init(|| sums);
        }
        let Some(sums) = self.places.sums.get() else {
            return Ok(None);
        };
        let vals = self.vals.local()?;
        let shape = Shape::new(&[structure.crd.shape().len()]);
        let sums = runtime.store_by_filling(shape, Partition::Replicated, |made| {
            sums.sum(&Threads::of(runtime), &vals, made);
            Ok(())
        })?;
        Ok(Some(Csr::of_stores(Stores {
            shape: self.shape(),
            pos: structure.pos.clone(),
            crd: structure.crd.clone(),
            vals: Vector::from_store(sums, None)?,
        })))
    }

    fn made_rows(&self) -> Result<Csr<T>, Error> {
        let runtime = self.vals.runtime();
        let rows = runtime.agree(self.rows.local())?;
        let cols = runtime.agree(self.cols.local())?;
        let vals = runtime.agree(self.vals.local())?;
        let vals = match vals.partition() == rows.partition() {
            true => runtime.agree(try_collect(vals.iter().copied()))?,
            // Elementwise work has cut them in another way.
            false => brought_back(runtime, &vals, rows.rows())?,
        };
        let places = |places: &[u32]| try_collect(places.iter().copied());
        let own = runtime.agree(places(&rows).and_then(|rows| Ok((rows, places(&cols)?))))?;
        let own = Triplets::from_checked_parts(self.n_rows, self.n_cols, own.0, own.1, vals);
        let made = runtime.enter(|| match rows.is_replicated() {
            true => Csr::from_whole_triplets(own),
            false => Csr::from_distributed_triplets(own),
        })?;
        if runtime.ranks() == 1 {
            let [pos, crd, _] = made.stores().map(StoreHandle::clone);
            self.places.structure.get_or_init(|| Structure { pos, crd });
        }
        Ok(made)
    }

    /// The matrix in column format, as [`Coo::to_csr`], but made anew in each call.
    ///
    /// # Errors
    ///
    /// As [`Coo::to_csr`].
    pub fn to_csc(&self) -> Result<Csc<T>, Error> {
        self.transpose().to_csr().map(Csc::of_transpose)
    }

    /// The transpose: the same stores, with rows and columns exchanged.
    ///
    /// ```
    /// use sparsefuse_sparse::gallery;
    ///
    /// let a = gallery::poisson1d::<f64>(4)?.row_range(0..2)?;
    /// let b = a.to_coo()?.transpose();
    /// assert_eq!(b.to_csr()?.to_rows()?, a.transpose()?.to_rows()?);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    #[must_use]
    pub fn transpose(&self) -> Self {
        Self {
            n_rows: self.n_cols,
            n_cols: self.n_rows,
            rows: self.cols.clone(),
            cols: self.rows.clone(),
            vals: self.vals.clone(),
            in_rows: Arc::default(),
            places: Arc::default(),
        }
    }

    /// The conjugate transpose. One task where elements are complex, and else the transpose.
    ///
    /// # Errors
    ///
    /// If nothing has written the values.
    pub fn adjoint(&self) -> Result<Self, Error> {
        match T::DTYPE.is_complex() {
            true => Ok(self.transpose().with_own_values(self.vals.try_conj()?)),
            false => Ok(self.transpose()),
        }
    }
}

impl<T: Numeric> Csc<T> {
    /// The entries one by one, row by row.
    ///
    /// # Errors
    ///
    /// As [`Csc::to_csr`].
    pub fn to_coo(&self) -> Result<Coo<T>, Error> {
        self.to_csr()?.to_coo()
    }
}

impl<T: Numeric> Csr<T> {
    /// The entries one by one, row by row. Executes the window.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed, or memory runs out.
    pub fn to_coo(&self) -> Result<Coo<T>, Error> {
        eager("csr_to_coo", &[self], || self.in_coordinates())
    }

    fn in_coordinates(&self) -> Result<Coo<T>, Error> {
        let own = self.own_rows()?;
        let runtime = self.runtime();
        let of_rows = own.as_rows();
        let mut rows = runtime.agree(reserve::<u32>(of_rows.crd.len()))?;
        for (row, ends) in own.rows.clone().zip(of_rows.pos.windows(2)) {
            rows.extend(repeat_n(row as u32, (ends[1] - ends[0]) as usize));
        }
        let crd = runtime.agree(runtime.local::<u32>(self.crd()))?;
        let entries: Range<usize> = crd.rows();
        let shape = Shape::new(&[self.nnz()]);
        let rows = runtime.store_of_rows(shape, crd.partition(), entries, rows);
        Ok(Coo {
            n_rows: self.n_rows(),
            n_cols: self.n_cols(),
            rows: Vector::from_store(runtime.agree(rows)?, None)?,
            cols: Vector::from_store(self.crd().clone(), None)?,
            vals: self.values().clone(),
            in_rows: Arc::new(OnceLock::from(self.clone())),
            places: Arc::default(),
        })
    }
}

impl<T: Element> fmt::Debug for Coo<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n_rows, n_cols) = (self.n_rows, self.n_cols);
        write!(f, "Coo({n_rows} by {n_cols}, {} entries)", self.vals.len())
    }
}
