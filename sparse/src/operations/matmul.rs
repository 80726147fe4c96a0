//! The product of two sparse matrices: rows that other ranks own are fetched once, together, and
//! each rank multiplies its rows of the left factor ([`gustavson`]).

use crate::assembly;
use crate::exchange::ghosts::{self, Ghosts};
use crate::exchange::own_rows::OwnRows;
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::local::factors::Factors;
use crate::local::gustavson;
use crate::local::parallel::Threads;
use crate::local::rows::Rows;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Exchange, Runtime};

/// A product of two sparse matrices that keeps what depends on their structures alone, so that it
/// is computed again quickly when only values change.
///
/// It holds the factors, the product, a byte for each row, and on several ranks the
/// structure of the rows of the right factor that the others own.
///
/// ```
/// use sparsefuse_sparse::{Csr, Multiplication, gallery};
///
/// let a = gallery::poisson1d::<f64>(4)?;
/// let mut square = Multiplication::new(&a, &a)?;
/// assert_eq!(square.product().to_ndarray()?.row(0).to_vec(), [5.0, -4.0, 1.0, 0.0]);
///
/// let twice = a.scale(2.0);
/// square.update(&twice, &a)?;
/// assert_eq!(square.product().to_ndarray()?.row(0).to_vec(), [10.0, -8.0, 2.0, 0.0]);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Multiplication<T> {
    left: Csr<T>,
    right: Csr<T>,
    foreign: Option<Foreign>,
    /// Whether a row of the product is the one before, moved by one column.
    repeats: Vec<bool>,
    product: Csr<T>,
}

/// The rows of the right factor that this rank's rows of the left one meet, where some of them are
/// on other ranks.
#[derive(Clone, Debug)]
pub(super) struct Foreign {
    /// The way of what belongs to their entries.
    entries: Exchange,
    /// The columns of the left factor, as numbers of these rows.
    left_crd: Vec<u32>,
    pos: Vec<u64>,
    crd: Vec<u32>,
}

impl<T: Numeric> Multiplication<T> {
    /// The product of two matrices, and what it takes to compute it again.
    ///
    /// # Errors
    ///
    /// As [`Csr::try_matmul`].
    pub fn new(left: &Csr<T>, right: &Csr<T>) -> Result<Self, Error> {
        if left.n_cols() != right.n_rows() {
            let expected = format!("a right factor with {} rows", left.n_cols());
            let found = format!("one with {}", right.n_rows());
            return Err(Error::argument("spgemm", expected, found));
        }
        eager("spgemm", &[left, right], || Self::made(left, right))
    }

    fn made(left: &Csr<T>, right: &Csr<T>) -> Result<Self, Error> {
        let runtime = left.runtime();
        let (a, b) = (left.own_rows()?, right.own_rows()?);
        let foreign = Foreign::find(runtime, (a.as_rows(), left.n_cols()), &b)?;
        let foreign_vals = Foreign::vals(runtime, &foreign, &b)?;
        let factors = factors(
            a.as_rows(),
            (&b, right.n_cols()),
            foreign.as_ref(),
            &foreign_vals,
        );
        let mut pos = assembly::Positions::room(runtime, factors.left.len())?;
        let threads = (&Threads::of(runtime), runtime.config().isa);
        let repeats = runtime.agree(gustavson::count(threads.0, factors, &mut pos))?;
        let shape = (left.n_rows(), right.n_cols());
        let own = (a.partition, a.rows.clone());
        let product = assembly::filled(runtime, shape, own, pos, |pos, crd, vals| {
            gustavson::fill(threads, factors, &repeats, pos, (crd, vals));
        })?;
        Ok(Self {
            left: left.clone(),
            right: right.clone(),
            foreign,
            repeats,
            product: Csr::of_stores(product),
        })
    }

    /// The product.
    #[must_use]
    pub fn product(&self) -> &Csr<T> {
        &self.product
    }

    /// The product alone.
    #[must_use]
    pub fn into_product(self) -> Csr<T> {
        self.product
    }

    /// Computes the product again, for factors with the same structures and perhaps other values;
    /// from nothing where their rows are on other ranks than those of the first ones. Every rank
    /// must ask.
    ///
    /// # Errors
    ///
    /// If a structure is another one, the computation of the values failed, or memory runs out.
    pub fn update(&mut self, left: &Csr<T>, right: &Csr<T>) -> Result<&Csr<T>, Error> {
        let is_same = left.has_structure_of(&self.left)? && right.has_structure_of(&self.right)?;
        if !is_same {
            let expected = "factors with the structures of the first ones";
            return Err(Error::argument("spgemm", expected, "other structures"));
        }
        let stays = left.row_partition()? == self.left.row_partition()?
            && right.row_partition()? == self.right.row_partition()?;
        if !stays {
            *self = Self::new(left, right)?;
            return Ok(&self.product);
        }
        let values = || self.values(left, right);
        let vals = eager("spgemm_numeric", &[left, right, &self.product], values)?;
        self.product = self.product.with_values(vals)?;
        // The values of the old ones are not kept alive.
        (self.left, self.right) = (left.clone(), right.clone());
        Ok(&self.product)
    }

    /// The values of the product of such factors.
    fn values(&self, left: &Csr<T>, right: &Csr<T>) -> Result<Vector<T>, Error> {
        let runtime = left.runtime();
        let (a, b) = (left.own_rows()?, right.own_rows()?);
        let foreign_vals = Foreign::vals(runtime, &self.foreign, &b)?;
        let factors = factors(
            a.as_rows(),
            (&b, right.n_cols()),
            self.foreign.as_ref(),
            &foreign_vals,
        );
        let old = self.product.own_structure()?;
        let (pos, crd) = (&old.pos[..], &old.crd[..]);
        let threads = (&Threads::of(runtime), runtime.config().isa);
        self.product.values_by_filling(|vals| {
            gustavson::recompute(threads, factors, &self.repeats, (pos, crd), vals);
        })
    }
}

impl Foreign {
    /// Finds and fetches the structure of the rows of the right factor; `None` if this rank and
    /// all others hold what they need.
    pub(super) fn find<T: Numeric>(
        runtime: &Runtime,
        (left, n_cols): (Rows<'_, T>, usize),
        right: &OwnRows<T>,
    ) -> Result<Option<Self>, Error> {
        if runtime.cuts(right.partition).is_none() || runtime.ranks() == 1 {
            return Ok(None);
        }
        let columns = left.crd;
        let needed = runtime.agree(ghosts::distinct(columns.iter().copied(), n_cols))?;
        let ghosts = Ghosts::new(runtime, right.partition, needed)?;
        let right = right.as_rows();
        let (pos, entries) = ghosts.entries(right.pos)?;
        Ok(Some(Self {
            left_crd: runtime.agree(ghosts.numbers(columns))?,
            crd: entries.run(runtime, right.crd)?,
            pos,
            entries,
        }))
    }

    /// The values of these rows.
    pub(super) fn vals<T: Numeric>(
        runtime: &Runtime,
        foreign: &Option<Self>,
        right: &OwnRows<T>,
    ) -> Result<Vec<T>, Error> {
        match foreign {
            Some(foreign) => foreign.entries.run(runtime, right.as_rows().vals),
            None => Ok(Vec::new()),
        }
    }
}

/// What this rank multiplies: its rows of the left factor, whose columns are numbers of the rows of
/// the right one.
pub(super) fn factors<'a, T: Numeric>(
    left: Rows<'a, T>,
    (right, n_cols): (&'a OwnRows<T>, usize),
    foreign: Option<&'a Foreign>,
    foreign_vals: &'a [T],
) -> Factors<'a, T> {
    match foreign {
        None => Factors {
            left,
            right: right.as_rows(),
            n_cols,
        },
        Some(foreign) => Factors {
            left: Rows {
                crd: &foreign.left_crd,
                ..left
            },
            right: Rows {
                pos: &foreign.pos,
                crd: &foreign.crd,
                vals: foreign_vals,
            },
            n_cols,
        },
    }
}
