//! Blocks: a matrix whose entries come in blocks of equal size, as three stores.
//!
//! `pos` and `crd` are positions of the block rows and block columns, as those of a
//! [`Csr`]; the third store has the elements of all blocks, row by row of the matrix: row `i` has
//! those of its block row's first block, then those of the second one. That is the order in which a
//! product reads them, and that of the same matrix in row format, which so needs no copy of them;
//! and ranks may be cut between any two rows. Blocks one after another, as other libraries hold
//! them, go in and come out ([`Bsr::from_parts`], [`Bsr::to_parts`]).
//!
//! A rank holds the block rows that begin among its rows; of the one before, which may begin on
//! another rank, it fetches the columns when it needs them.

use crate::assembly::{self, ASSEMBLE, Positions, Structure};
use crate::exchange::layout::RowLayout;
use crate::exchange::own_rows::structure_at;
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::formats::row_form::{RowForm, over_values};
use crate::local::blocks::{self, Blocks};
use crate::local::parallel::Threads;
use crate::local::rows::{check_columns, check_positions};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Partition, Runtime, Shape, reserve};
use std::fmt;
use std::ops::Range;

/// The arrays of a matrix by blocks: positions of the block rows, block columns, and the elements
/// of the blocks, one block after the other, each row by row.
type Parts<T> = (Vec<u64>, Vec<u32>, Vec<T>);

/// A sparse matrix by blocks of equal size; cheap to clone.
///
/// Every element of a block is an entry, also one that is 0: an infinity or NaN in `x` reaches a
/// row through it.
///
/// A product goes by way of the row format ([`Bsr::to_csr`]), whose positions and columns the first
/// product makes, 8 bytes for each row and 4 for each entry, over the same store of values; from
/// the second one on it reads the packed form. On one rank the columns and the plain values are
/// then evicted, so that the matrix is held once, and the positions are kept; on several ranks, as
/// of a [`Csr`], the packed form is held beside them.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_sparse::Bsr;
///
/// // [ 1 2 0 0 ]
/// // [ 3 4 0 0 ]
/// // [ 0 0 5 6 ]
/// // [ 0 0 7 8 ]
/// let blocks = vec![1.0_f64, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
/// let a = Bsr::from_parts(4, 4, (2, 2), vec![0, 1, 2], vec![0, 1], blocks)?;
/// assert_eq!((a.blocksize(), a.n_blocks(), a.nnz()), ((2, 2), 2, 8));
/// let x = Vector::from_vec(vec![1.0, 10.0, 100.0, 1000.0]);
/// assert_eq!((&a * &x).to_vec()?, [21.0, 43.0, 6500.0, 8700.0]);
/// assert_eq!((2.0 * &a).diagonal(0)?.to_vec()?, [2.0, 8.0, 10.0, 16.0]);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
#[derive(Clone)]
pub struct Bsr<T> {
    layout: RowLayout,
    n_cols: usize,
    size: (usize, usize),
    /// Positions of the block rows, and block columns, cut by [`block_rows`].
    blocks: Structure,
    /// The elements of the blocks, row by row of the matrix, cut where the rows are.
    vals: Vector<T>,
    rows: RowForm<T>,
}

impl<T: Numeric> Bsr<T> {
    /// A matrix from its arrays, SciPy's `bsr_array((data, indices, indptr))`: block row `i` has
    /// the blocks `pos[i]..pos[i + 1]`, at the block columns `crd`, with the elements `blocks`, one
    /// block after the other, each row by row. Blocks of a row may come in any order; those at the
    /// same place are summed. On several ranks every rank gives the whole.
    ///
    /// # Errors
    ///
    /// If a block has no rows or no columns, or the matrix cannot be cut into such blocks; if the
    /// positions do not begin with 0, decrease, or do not end at the number of blocks; if the
    /// arrays have the wrong lengths; if a block column is out of range, there are more than
    /// `u32::MAX` rows or columns, or memory runs out.
    pub fn from_parts(
        n_rows: usize,
        n_cols: usize,
        blocksize: (usize, usize),
        pos: Vec<u64>,
        crd: Vec<u32>,
        blocks: Vec<T>,
    ) -> Result<Self, Error> {
        let (n_block_rows, n_block_cols) = check_size("bsr", (n_rows, n_cols), blocksize)?;
        check_positions("bsr", n_block_rows, &pos)?;
        let (area, last) = (blocksize.0 * blocksize.1, pos[n_block_rows] as usize);
        if crd.len() != last || Some(blocks.len()) != last.checked_mul(area) {
            let expected = format!("{last} columns, and {last} blocks of {area} elements");
            let found = format!("{} columns and {} elements", crd.len(), blocks.len());
            return Err(Error::argument("bsr", expected, found));
        }
        check_columns("bsr", n_block_cols, &crd)?;
        let runtime = Runtime::current();
        let (pos, crd, blocks) = runtime.agree(in_order(area, (pos, crd, blocks)))?;
        let whole = Blocks {
            size: blocksize,
            first: 0,
            pos: &pos,
            crd: &crd,
        };
        let (partition, rows) = runtime.default_rows(Shape::new(&[n_rows]));
        let layout = RowLayout::new(&runtime, n_rows, partition);
        runtime.eager_task(ASSEMBLE, &[], || {
            let structure = structure_of(&layout, blocksize.0, |own| {
                let entries = pos[own.start] as usize..pos[own.end] as usize;
                let first = pos[own.start];
                let ends = pos[own.start..=own.end].iter();
                let pos = ends.map(|position| position - first).collect();
                Ok((pos, crd[entries].to_vec()))
            })?;
            let len = whole.elements_in(rows.clone());
            let own = (partition, rows.clone());
            let vals = assembly::values(&runtime, n_rows, own, len, |vals| {
                whole.fill_from_blocks(&Threads::of(&runtime), rows, &blocks, vals);
            })?;
            Ok(Self {
                layout: layout.clone(),
                n_cols,
                size: blocksize,
                blocks: structure,
                vals,
                rows: RowForm::default(),
            })
        })
    }

    /// A matrix from blocks at places, SciPy's `bsr_array((data, (rows, cols)), blocksize)`: the
    /// block row and block column of each, and the elements of all, one block after the other, each
    /// row by row. They come in any order; those at the same place are summed in it. On several
    /// ranks every rank gives the whole.
    ///
    /// ```
    /// use sparsefuse_sparse::Bsr;
    ///
    /// // [ 0 0 1 2 ]
    /// // [ 7 8 0 0 ]
    /// let blocks = vec![3.0, 4.0, 1.0, 2.0, 4.0, 4.0];
    /// let a = Bsr::from_blocks(2, 4, (1, 2), &[1, 0, 1], &[0, 1, 0], blocks)?;
    /// let dense = [0.0, 0.0, 1.0, 2.0, 7.0, 8.0, 0.0, 0.0];
    /// assert_eq!(a.to_dense()?.to_vec()?, dense);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are not as many rows as columns, or one is out of range; else as
    /// [`Bsr::from_parts`].
    pub fn from_blocks(
        n_rows: usize,
        n_cols: usize,
        blocksize: (usize, usize),
        rows: &[u32],
        cols: &[u32],
        blocks: Vec<T>,
    ) -> Result<Self, Error> {
        let (n_block_rows, _) = check_size("bsr", (n_rows, n_cols), blocksize)?;
        let area = blocksize.0 * blocksize.1;
        if rows.len() != cols.len() || Some(blocks.len()) != rows.len().checked_mul(area) {
            let expected = format!("{0} columns and {0} blocks of {area} elements", rows.len());
            let found = format!("{} columns and {} elements", cols.len(), blocks.len());
            return Err(Error::argument("bsr", expected, found));
        }
        if let Some(row) = rows.iter().find(|&&row| row as usize >= n_block_rows) {
            let expected = format!("block rows below {n_block_rows}");
            return Err(Error::argument("bsr", expected, row.to_string()));
        }
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&number| rows[number]);
        let starts = (0..=n_block_rows)
            .map(|row| order.partition_point(|&number| (rows[number] as usize) < row) as u64);
        let crd = order.iter().map(|&number| cols[number]).collect();
        let block = |&number: &usize| &blocks[number * area..(number + 1) * area];
        let sorted = order.iter().flat_map(block).copied().collect();
        Self::from_parts(n_rows, n_cols, blocksize, starts.collect(), crd, sorted)
    }

    /// The number of rows and of columns of a block.
    #[must_use]
    pub fn blocksize(&self) -> (usize, usize) {
        self.size
    }

    /// The number of blocks, of all ranks.
    #[must_use]
    pub fn n_blocks(&self) -> usize {
        self.blocks.crd.shape().len()
    }

    /// The matrix in row format, with all elements of the blocks, over the same store of values.
    /// Its positions and columns are made when they are first asked for and kept with this matrix,
    /// its clones, and those that differ by their values: 8 bytes for each row and 4 for each
    /// entry. The first call executes the window, and every rank must make it.
    ///
    /// # Errors
    ///
    /// If memory runs out.
    pub fn to_csr(&self) -> Result<Csr<T>, Error> {
        let rows = self.rows.get(self.shape(), &self.vals, || {
            let reads = [&self.blocks.pos, &self.blocks.crd];
            let make = || self.structure();
            self.runtime().eager_task("bsr_to_csr", &reads, make)
        });
        rows.cloned()
    }

    fn structure(&self) -> Result<Structure, Error> {
        let (runtime, rows) = (self.runtime(), self.layout.rows());
        let (pos, crd) = met_blocks(&self.layout, self.size.0, &self.blocks)?;
        let blocks = met(&self.layout, self.size, (&pos, &crd));
        let mut pos = Positions::room(runtime, rows.len())?;
        blocks.count(rows.clone(), &mut pos);
        let own = (self.layout.partition(), rows.clone());
        assembly::structure(runtime, self.layout.n_rows(), own, pos, |_, crd| {
            blocks.fill_columns(&Threads::of(runtime), rows, crd);
        })
    }

    /// Positions of the block rows, block columns, and the elements, one block after the other,
    /// each row by row, on every rank: what [`Bsr::from_parts`] takes. Executes the window.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed.
    pub fn to_parts(&self) -> Result<Parts<T>, Error> {
        let runtime = self.runtime();
        // Also a rank that has failed takes part in all of the exchanges.
        let pos = runtime.read(&self.blocks.pos, None);
        let crd = runtime.read(&self.blocks.crd, None);
        let vals = self.vals.to_vec();
        let (pos, crd, vals) = (pos?, crd?, vals?);
        let whole = Blocks {
            size: self.size,
            first: 0,
            pos: &pos,
            crd: &crd,
        };
        let blocks = runtime.agree(whole.to_blocks(&vals))?;
        Ok((pos, crd, blocks))
    }

    /// The transpose, a new matrix, whose blocks are the transposes of these; by way of
    /// [`Bsr::to_csr`] and [`Csr::transpose`].
    ///
    /// ```
    /// use sparsefuse_sparse::Bsr;
    ///
    /// let a = Bsr::from_parts(1, 4, (1, 2), vec![0, 1], vec![1], vec![3.0, 4.0])?;
    /// let (pos, crd, blocks) = a.transpose()?.to_parts()?;
    /// assert_eq!((pos, crd, blocks), (vec![0, 0, 1], vec![0], vec![3.0, 4.0]));
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Csr::transpose`].
    pub fn transpose(&self) -> Result<Self, Error> {
        self.to_csr()?
            .transpose()?
            .to_bsr((self.size.1, self.size.0))
    }

    /// The conjugate transpose, as [`Bsr::transpose`].
    ///
    /// # Errors
    ///
    /// As [`Csr::adjoint`].
    pub fn adjoint(&self) -> Result<Self, Error> {
        self.to_csr()?.adjoint()?.to_bsr((self.size.1, self.size.0))
    }

    /// The sum of two matrices with blocks of one size, with the blocks of both. Where both share
    /// their blocks, as matrices do that differ by [`Bsr::with_values`] or [`Bsr::scale`], it is
    /// one elementwise task; else it goes by way of [`Bsr::to_csr`].
    ///
    /// # Errors
    ///
    /// If the blocks differ in size; else as [`Csr::try_add`].
    pub fn try_add(&self, other: &Self) -> Result<Self, Error> {
        self.check_blocksize("add", other)?;
        if self.shares_blocks_of(other) {
            return Ok(self.with_own_values(self.vals.try_add(&other.vals)?));
        }
        self.to_csr()?.try_add(&other.to_csr()?)?.to_bsr(self.size)
    }

    /// The difference of two matrices, as [`Bsr::try_add`].
    ///
    /// # Errors
    ///
    /// As [`Bsr::try_add`].
    pub fn try_sub(&self, other: &Self) -> Result<Self, Error> {
        self.check_blocksize("sub", other)?;
        if self.shares_blocks_of(other) {
            return Ok(self.with_own_values(self.vals.try_sub(&other.vals)?));
        }
        self.to_csr()?.try_sub(&other.to_csr()?)?.to_bsr(self.size)
    }

    fn check_blocksize(&self, op: &'static str, other: &Self) -> Result<(), Error> {
        if self.size == other.size {
            return Ok(());
        }
        let blocks = |(height, width): (usize, usize)| format!("blocks of {height} by {width}");
        Err(Error::argument(op, blocks(self.size), blocks(other.size)))
    }

    fn shares_blocks_of(&self, other: &Self) -> bool {
        let (mine, others) = (&self.blocks, &other.blocks);
        mine.pos.ptr_eq(&others.pos) && mine.crd.ptr_eq(&others.crd)
    }
}

over_values! {
    Bsr;
    "the elements of the blocks";
    "[`Bsr::to_parts`] gives them block by block";
    "with 0 where there is no block"
}

impl<T: Numeric> Csr<T> {
    /// The matrix by blocks of so many rows and columns: all blocks with an entry, with 0 where
    /// nothing is stored. If they are full, the two share their values, and only positions and
    /// columns of the blocks are new. Linear in the entries of both; executes the window, and works
    /// on all threads.
    ///
    /// ```
    /// use sparsefuse_sparse::{Csr, gallery};
    ///
    /// let a = gallery::poisson1d::<f64>(4)?.to_bsr((2, 2))?;
    /// let (pos, crd, blocks) = a.to_parts()?;
    /// assert_eq!((pos, crd), (vec![0, 2, 4], vec![0, 1, 0, 1]));
    /// assert_eq!(blocks[..8], [2.0, -1.0, -1.0, 2.0, 0.0, 0.0, -1.0, 0.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a block has no rows or no columns, or the matrix cannot be cut into such blocks; if the
    /// computation of the values failed, or memory runs out.
    pub fn to_bsr(&self, blocksize: (usize, usize)) -> Result<Bsr<T>, Error> {
        check_size("to_bsr", self.shape(), blocksize)?;
        eager("csr_to_bsr", &[self], || self.by_blocks(blocksize))
    }

    fn by_blocks(&self, size: (usize, usize)) -> Result<Bsr<T>, Error> {
        let own = self.own_rows()?;
        let runtime = self.runtime();
        let threads = &Threads::of(runtime);
        let layout = RowLayout::new(runtime, self.n_rows(), own.partition);
        let structure = structure_of(&layout, size.0, |block_rows| {
            let rows = block_rows.start * size.0..block_rows.end * size.0;
            let stores = (self.pos(), self.crd());
            let (pos, crd) = structure_at(runtime, stores, own.partition, rows)?;
            Ok(blocks::find(threads, (&pos, &crd), size))
        })?;
        let len = structure.crd.shape().len().saturating_mul(size.0 * size.1);
        let (vals, rows) = match len == self.nnz() {
            true => (self.values().clone(), RowForm::of(self)),
            false => {
                let (pos, crd) = met_blocks(&layout, size.0, &structure)?;
                let blocks = met(&layout, size, (&pos, &crd));
                let numbered = (own.rows.clone(), own.as_rows());
                let place = (own.partition, own.rows.clone());
                let len = blocks.elements_in(own.rows.clone());
                let vals = assembly::values(runtime, self.n_rows(), place, len, |vals| {
                    blocks.fill_from_rows(threads, numbered, vals);
                })?;
                (vals, RowForm::default())
            }
        };
        Ok(Bsr {
            layout,
            n_cols: self.n_cols(),
            size,
            blocks: structure,
            vals,
            rows,
        })
    }
}

/// The block rows of a rank: those that begin among its rows. The first element is how they are
/// spread over the ranks.
fn block_rows(layout: &RowLayout, height: usize) -> Result<(Partition, Range<usize>), Error> {
    let runtime = layout.runtime();
    let rows = layout.rows();
    let own = rows.start.div_ceil(height)..rows.end.div_ceil(height);
    match runtime.cuts(layout.partition()) {
        None => Ok((Partition::Replicated, own)),
        Some(cuts) => {
            let cuts: Vec<usize> = cuts.iter().map(|cut| cut.div_ceil(height)).collect();
            Ok((runtime.partition_at(&cuts)?, own))
        }
    }
}

/// The structure of the blocks of a matrix whose rows are spread so, of which `make` makes this
/// rank's block rows: positions, from 0, and block columns.
fn structure_of(
    layout: &RowLayout,
    height: usize,
    make: impl FnOnce(Range<usize>) -> Result<(Vec<u64>, Vec<u32>), Error>,
) -> Result<Structure, Error> {
    let own = block_rows(layout, height)?;
    let (pos, crd) = make(own.1.clone())?;
    let (pos, n_block_rows) = (Positions::Vector(pos), layout.n_rows() / height);
    assembly::structure(layout.runtime(), n_block_rows, own, pos, |_, room| {
        room.copy_from_slice(&crd);
    })
}

/// Positions, from 0, and block columns of the block rows that this rank's rows meet.
fn met_blocks(
    layout: &RowLayout,
    height: usize,
    blocks: &Structure,
) -> Result<(Vec<u64>, Vec<u32>), Error> {
    let (partition, _) = block_rows(layout, height)?;
    let rows = layout.rows();
    let wanted = rows.start / height..rows.end.div_ceil(height);
    let stores = (&blocks.pos, &blocks.crd);
    structure_at(layout.runtime(), stores, partition, wanted)
}

/// These, as the blocks that this rank's rows meet.
fn met<'a>(
    layout: &RowLayout,
    size: (usize, usize),
    (pos, crd): (&'a [u64], &'a [u32]),
) -> Blocks<'a> {
    Blocks {
        size,
        first: layout.rows().start / size.0,
        pos,
        crd,
    }
}

/// The numbers of block rows and block columns, of a matrix that can be cut into such blocks.
fn check_size(
    op: &'static str,
    (n_rows, n_cols): (usize, usize),
    (height, width): (usize, usize),
) -> Result<(usize, usize), Error> {
    assembly::check_shape(op, n_rows, n_cols)?;
    let found = || format!("blocks of {height} by {width}");
    if height == 0 || width == 0 || height.checked_mul(width).is_none() {
        return Err(Error::argument(op, "blocks with rows and columns", found()));
    }
    if !n_rows.is_multiple_of(height) || !n_cols.is_multiple_of(width) {
        let expected = format!("blocks that divide a {n_rows} by {n_cols} matrix");
        return Err(Error::argument(op, expected, found()));
    }
    Ok((n_rows / height, n_cols / width))
}

/// The same blocks with block columns that ascend strictly within each block row; those at the same
/// place are summed in their order.
fn in_order<T: Numeric>(area: usize, (pos, crd, blocks): Parts<T>) -> Result<Parts<T>, Error> {
    let n_block_rows = pos.len() - 1;
    let of_row = |row: usize| pos[row] as usize..pos[row + 1] as usize;
    if (0..n_block_rows).all(|row| crd[of_row(row)].is_sorted_by(|a, b| a < b)) {
        return Ok((pos, crd, blocks));
    }
    let mut made: Parts<T> = (
        reserve(pos.len())?,
        reserve(crd.len())?,
        reserve(blocks.len())?,
    );
    made.0.push(0);
    for row in 0..n_block_rows {
        let mut order: Vec<usize> = of_row(row).collect();
        order.sort_by_key(|&number| crd[number]);
        let first = made.1.len();
        for number in order {
            let block = &blocks[number * area..(number + 1) * area];
            if made.1.len() > first && made.1.last() == Some(&crd[number]) {
                let start = made.2.len() - area;
                let sums = made.2[start..].iter_mut();
                sums.zip(block)
                    .for_each(|(sum, &value)| *sum = sum.plus(value));
            } else {
                made.1.push(crd[number]);
                made.2.extend_from_slice(block);
            }
        }
        made.0.push(made.1.len() as u64);
    }
    Ok(made)
}

impl<T> fmt::Debug for Bsr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n_rows, blocks) = (self.layout.n_rows(), self.blocks.crd.shape().len());
        let (height, width) = self.size;
        let n_cols = self.n_cols;
        write!(
            f,
            "Bsr({n_rows} by {n_cols}, {blocks} blocks of {height} by {width})"
        )
    }
}
