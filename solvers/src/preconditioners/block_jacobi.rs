//! The inverse of the diagonal blocks.

use super::{Preconditioner, check_square, check_update};
use crate::local::elimination::has_inverse;
use crate::operator::{LinearOperator, check_finite};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Runtime, reserve, try_collect};
use sparsefuse_sparse::{Csr, Ghosts, LocalRows, RowLayout, Rows, Threads, eager, parallel};
use std::iter::repeat_n;
use std::ops::Range;

const OP: &str = "block jacobi";

/// Entries of blocks that one thread inverts at a time.
const PART: usize = 1 << 14;

/// Block Jacobi: z = M^-1 r, where M has the diagonal blocks of the matrix.
///
/// Blocks of equal size, counted from row 0 (the last may be smaller), inverted by elimination with
/// partial pivoting (Golub and Van Loan, *Matrix Computations*, 4th edition, sections 3.4 and
/// 10.1.1). The inverse is held as a sparse matrix with dense blocks, `size` entries a row; an
/// application is a product with it, which fuses and runs on all threads and ranks. Blocks do not
/// depend on the ranks: one that spans several is inverted by each of them.
///
/// New values, which may be those of another structure, are gathered into the blocks and inverted;
/// the structure of the inverse stays, and with it what its products have prepared. The inversions
/// are most of the work of both: `size` multiplications and subtractions for each entry, of which a
/// fresh start makes a column and a check besides. So an update is not much faster: 1.35 times for
/// `diffusion2d:300` in blocks of 2, 3 and 4, 1.4 times in blocks of 16 (one core of an x86-64
/// server).
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::preconditioners::BlockJacobi;
/// use sparsefuse_solvers::{Options, cg_with};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(16)?;
/// // Lines of the grid.
/// let m = BlockJacobi::new(&a, 16)?;
/// let options = Options { preconditioner: Some(&m), ..Options::default() };
/// assert!(cg_with(&a, &Vector::ones([256]), options)?.converged());
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BlockJacobi<T> {
    blocks: Blocks,
    inverse: Csr<T>,
}

/// The blocks that the rows of this rank lie in.
#[derive(Clone, Debug)]
struct Blocks {
    layout: RowLayout,
    size: usize,
    /// Their rows: at the ends there may be some of other ranks.
    span: Range<usize>,
    /// These, fetched; `None` where every rank has all rows.
    needed: Option<Ghosts>,
}

impl<T: Field> BlockJacobi<T> {
    /// The inverse of the blocks of a square matrix. Executes the window; every rank must ask.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, an entry is infinite or not a number, the size is 0, a block is
    /// singular (the error names a row of it), or the computation of the values failed.
    pub fn new(a: &Csr<T>, size: usize) -> Result<Self, Error> {
        check_square(OP, a)?;
        check_finite(OP, a)?;
        if size == 0 {
            return Err(Error::argument(OP, "blocks of at least one row", "0"));
        }
        let size = size.min(a.n_rows().max(1));
        let blocks = Blocks::new(a.row_layout()?, size)?;
        let vals = blocks.of_span(a, |rows| {
            let entries = blocks.check_memory::<T>()?;
            let mut vals = try_collect(repeat_n(T::ZERO, entries))?;
            blocks.invert(rows, &mut vals)?;
            Ok(vals)
        })?;
        let inverse = Csr::from_layout(&blocks.layout, a.n_cols(), blocks.rows(vals)?)?;
        Ok(Self { blocks, inverse })
    }
}

impl Blocks {
    /// Every rank must ask.
    fn new(layout: RowLayout, size: usize) -> Result<Self, Error> {
        let own = layout.rows();
        let span = if own.is_empty() {
            own
        } else {
            own.start / size * size..own.end.next_multiple_of(size).min(layout.n_rows())
        };
        let needed = if layout.is_replicated() || layout.runtime().ranks() == 1 {
            None
        } else {
            let (runtime, partition) = (layout.runtime(), layout.partition());
            Some(Ghosts::of_range(runtime, partition, span.clone())?)
        };
        Ok(Self {
            layout,
            size,
            span,
            needed,
        })
    }

    /// The rows of each block.
    fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let (size, end) = (self.size, self.span.end);
        let starts = self.span.clone().step_by(size);
        starts.map(move |start| start..(start + size).min(end))
    }

    /// The rows of a block that are this rank's.
    fn own_part(&self, block: &Range<usize>) -> Range<usize> {
        let own = self.layout.rows();
        own.start.max(block.start)..own.end.min(block.end)
    }

    /// The entries of the inverse in this rank's rows of a block.
    fn entries(&self, block: &Range<usize>) -> usize {
        self.own_part(block).len() * block.len()
    }

    /// The entries of the inverse in this rank's rows; refuses blocks whose inverses are beyond
    /// memory before anything is allocated, since an allocation that fails later ends the process.
    fn check_memory<T: Field>(&self) -> Result<usize, Error> {
        let entries = self.ranges().map(|block| self.entries(&block));
        let entries = entries.fold(0, usize::saturating_add);
        // Values and columns are held twice while the matrix is made of them; each thread inverts
        // one block at a time.
        let runtime = self.layout.runtime();
        let threads = runtime.config().threads.min(self.ranges().count());
        let dense = self.size.saturating_pow(2).saturating_mul(threads);
        let bytes = entries
            .saturating_mul(2 * (size_of::<T>() + size_of::<u32>()))
            .saturating_add(dense.saturating_mul(size_of::<T>()));
        let limit = runtime.config().memory_limit;
        let available = limit.saturating_sub(runtime.memory_in_use());
        if bytes <= available && Vec::<u8>::new().try_reserve_exact(bytes).is_ok() {
            return Ok(entries);
        }
        let found = format!("blocks of {} rows, which take {bytes} bytes", self.size);
        let expected = "blocks whose inverses memory can hold";
        Err(Error::argument(OP, expected, found))
    }

    /// What is made of the rows of the span. Every rank must ask.
    fn of_span<T: Field, R>(
        &self,
        a: &Csr<T>,
        make: impl FnOnce(Rows<'_, T>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        eager("block_jacobi", &[a], || {
            let own = a.own_rows()?;
            let made = match &self.needed {
                None => make(own.as_rows()),
                Some(needed) => make(needed.fetch_rows(own.as_rows())?.as_rows()),
            };
            self.layout.runtime().agree(made)
        })
    }

    /// Writes the values of this rank's rows of the inverse.
    fn invert<T: Field>(&self, rows: Rows<'_, T>, vals: &mut [T]) -> Result<(), Error> {
        let mut blocks = reserve(self.ranges().count())?;
        blocks.extend(self.ranges());
        let parts = blocks.chunks(PART.div_ceil(self.size.pow(2)));
        let len = |part: &[Range<usize>]| part.iter().map(|block| self.entries(block)).sum();
        let targets = parallel::split(vals, parts.clone().map(len));
        let work = parts.zip(targets);
        let invert = |(part, target)| self.invert_part(rows, part, target);
        let singular = parallel::map(&Threads::of(self.layout.runtime()), work, invert);
        match singular.into_iter().flatten().min() {
            None => Ok(()),
            Some(row) => {
                let found = format!("a pivot of 0 in row {row}");
                Err(Error::argument(OP, "nonsingular blocks", found))
            }
        }
    }

    /// The same of some neighbouring blocks; or finds the first row without a pivot.
    fn invert_part<T: Field>(
        &self,
        rows: Rows<'_, T>,
        blocks: &[Range<usize>],
        mut target: &mut [T],
    ) -> Option<usize> {
        let mut dense = vec![T::ZERO; self.size.pow(2)];
        let mut pivots = Vec::with_capacity(self.size);
        for block in blocks {
            let n = block.len();
            let dense = &mut dense[..n * n];
            dense.fill(T::ZERO);
            for (row, dense) in block.clone().zip(dense.chunks_exact_mut(n)) {
                for (column, value) in rows.row(row - self.span.start) {
                    let column = (column as usize).wrapping_sub(block.start);
                    if column < n {
                        dense[column] = value;
                    }
                }
            }
            if let Err(column) = invert(dense, n, &mut pivots) {
                return Some(block.start + column);
            }
            let first = self.own_part(block).start - block.start;
            let own;
            (own, target) = target.split_at_mut(self.entries(block));
            own.copy_from_slice(&dense[first * n..][..own.len()]);
        }
        None
    }

    /// This rank's rows of the inverse.
    fn rows<T: Field>(&self, vals: Vec<T>) -> Result<LocalRows<T>, Error> {
        let rows = LocalRows::try_with_capacity(self.layout.rows().len(), vals.len());
        let mut rows = self.layout.runtime().agree(rows)?;
        for block in self.ranges() {
            for _ in self.own_part(&block) {
                rows.crd.extend(block.start as u32..block.end as u32);
                rows.pos.push(rows.crd.len() as u64);
            }
        }
        Ok(LocalRows { vals, ..rows })
    }
}

/// Replaces a dense matrix, row-major, by its inverse: Gauss and Jordan's elimination in place,
/// with partial pivoting; or finds the column in which there is no pivot. `pivots` is room to work
/// in.
fn invert<T: Field>(a: &mut [T], n: usize, pivots: &mut Vec<usize>) -> Result<(), usize> {
    pivots.clear();
    for k in 0..n {
        let (mut pivot, mut largest) = (k, a[k * n + k].magnitude());
        for row in k + 1..n {
            let magnitude = a[row * n + k].magnitude();
            if magnitude > largest {
                (pivot, largest) = (row, magnitude);
            }
        }
        if !has_inverse(a[pivot * n + k]) {
            return Err(k);
        }
        pivots.push(pivot);
        if pivot != k {
            let (before, from) = a.split_at_mut(pivot * n);
            before[k * n..(k + 1) * n].swap_with_slice(&mut from[..n]);
        }
        let (above, rest) = a.split_at_mut(k * n);
        let (pivot_row, below) = rest.split_at_mut(n);
        let scale = T::ONE.over(pivot_row[k]);
        pivot_row.iter_mut().for_each(|x| *x *= scale);
        // What stands in column k from here on is the column of the inverse.
        pivot_row[k] = scale;
        subtract_multiples(above, pivot_row, k);
        subtract_multiples(below, pivot_row, k);
    }
    // Rows exchanged in a matrix are columns exchanged in its inverse.
    for (k, &pivot) in pivots.iter().enumerate().rev() {
        if pivot != k {
            (0..n).for_each(|row| a.swap(row * n + k, row * n + pivot));
        }
    }
    Ok(())
}

/// Subtracts from each row what makes its entry in column `k` 0, a multiple of a row whose entry
/// there is that of the inverse.
fn subtract_multiples<T: Field>(rows: &mut [T], pivot_row: &[T], k: usize) {
    for row in rows.chunks_exact_mut(pivot_row.len()) {
        let factor = row[k];
        // Blocks of sparse matrices have many zeros.
        if factor != T::ZERO {
            for (x, &of_pivot) in row.iter_mut().zip(pivot_row) {
                *x -= factor * of_pivot;
            }
            // Written last: who reads a whole row just after one entry of it was written, waits.
            row[k] = -(factor * pivot_row[k]);
        }
    }
}

impl<T: Field> LinearOperator<T> for BlockJacobi<T> {
    fn shape(&self) -> (usize, usize) {
        self.inverse.shape()
    }

    fn runtime(&self) -> Option<&Runtime> {
        Some(self.inverse.runtime())
    }

    fn apply(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        self.inverse.try_matvec(r)
    }

    fn apply_adjoint(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        self.inverse.apply_adjoint(r)
    }

    fn is_repeatable(&self) -> bool {
        true
    }
}

impl<T: Field> Preconditioner<T> for BlockJacobi<T> {
    fn update(&mut self, a: &Csr<T>) -> Result<(), Error> {
        check_update(OP, self, a)?;
        check_finite(OP, a)?;
        if a.row_partition()? != self.blocks.layout.partition() {
            *self = Self::new(a, self.blocks.size)?;
            return Ok(());
        }
        let vals = self.blocks.of_span(a, |rows| {
            let before = self.inverse.values();
            before.with_filled(|vals| self.blocks.invert(rows, vals))
        })?;
        self.inverse = self.inverse.with_values(vals)?;
        Ok(())
    }
}
