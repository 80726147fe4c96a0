//! Matrices made of others, side by side and below each other.
//!
//! A rank fetches the rows of each part that its rows of the whole need, and puts them behind each
//! other.

use crate::assembly;
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::local::parallel;
use crate::local::rows::Rows;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Shape};
use std::ops::Range;

/// Where the blocks lie: the first row or column of each, and the end.
type Edges = Vec<usize>;

/// The matrices of a row of blocks, each with the number of its column of blocks.
type BlockRow<'a, T> = Vec<(usize, &'a Csr<T>)>;

impl<T: Numeric> Csr<T> {
    /// The matrix that consists of blocks, given row by row; `None` is a block of zeros. The blocks
    /// of a row of blocks have equally many rows, those of a column equally many columns. As
    /// SciPy's `block_array`.
    ///
    /// Linear in rows and entries; works on all threads. On several ranks each gets the rows of
    /// the blocks that its rows consist of.
    ///
    /// ```
    /// use sparsefuse_sparse::{Csr, gallery};
    ///
    /// // A saddle point: K = [A B'; B 0].
    /// let a = gallery::poisson1d::<f64>(3)?;
    /// let b = gallery::poisson1d::<f64>(3)?.row_range(0..2)?;
    /// let k = Csr::block_array(&[[Some(&a), Some(&b.transpose()?)], [Some(&b), None]])?;
    /// assert_eq!((k.shape(), k.nnz()), ((5, 5), 7 + 5 + 5));
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no block, a row or column of blocks has none, rows of blocks differ in length,
    /// or blocks do not fit together; if the matrix has too many rows or columns, the computation
    /// of the values failed, or memory runs out.
    #[doc(alias = "bmat")]
    pub fn block_array<'a>(blocks: &[impl AsRef<[Option<&'a Self>]>]) -> Result<Self, Error>
    where
        T: 'a,
    {
        let op = "block_array";
        let width = blocks.first().map_or(0, |row| row.as_ref().len());
        let mut rows: Vec<BlockRow<'_, T>> = Vec::with_capacity(blocks.len());
        for (number, row) in blocks.iter().map(AsRef::as_ref).enumerate() {
            if row.len() != width {
                let expected = format!("{width} blocks in each row");
                let found = format!("{} in row {number} of blocks", row.len());
                return Err(Error::argument(op, expected, found));
            }
            let some = row.iter().enumerate();
            let row = some.filter_map(|(column, &matrix)| Some((column, matrix?)));
            rows.push(row.collect());
        }
        Self::of_blocks(op, &rows, width)
    }

    /// The rows of these matrices below each other. As SciPy's `vstack`; cost as
    /// [`Csr::block_array`].
    ///
    /// ```
    /// use sparsefuse_sparse::{Csr, gallery};
    ///
    /// let a = gallery::poisson1d::<f64>(3)?;
    /// let tall = Csr::vstack(&[&a, &a])?;
    /// assert_eq!(tall.shape(), (6, 3));
    /// assert_eq!(tall.get(4, 1)?, 2.0);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no matrix or their numbers of columns differ; else as [`Csr::block_array`].
    pub fn vstack(matrices: &[&Self]) -> Result<Self, Error> {
        let rows: Vec<_> = matrices.iter().map(|&matrix| vec![(0, matrix)]).collect();
        Self::of_blocks("vstack", &rows, 1)
    }

    /// These matrices side by side. As SciPy's `hstack`; cost as [`Csr::block_array`].
    ///
    /// ```
    /// use sparsefuse_sparse::{Csr, gallery};
    ///
    /// let a = gallery::poisson1d::<f64>(3)?;
    /// assert_eq!(Csr::hstack(&[&a, &a])?.shape(), (3, 6));
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no matrix or their numbers of rows differ; else as [`Csr::block_array`].
    pub fn hstack(matrices: &[&Self]) -> Result<Self, Error> {
        let row = matrices.iter().copied().enumerate().collect();
        Self::of_blocks("hstack", &[row], matrices.len())
    }

    /// The matrix with these along its diagonal, and zeros elsewhere. As SciPy's `block_diag`; cost
    /// as [`Csr::block_array`].
    ///
    /// ```
    /// use sparsefuse_sparse::{Csr, gallery};
    ///
    /// let a = gallery::poisson1d::<f64>(3)?;
    /// let both = Csr::block_diag(&[&a, &a.row_range(0..1)?])?;
    /// assert_eq!((both.shape(), both.nnz()), ((4, 6), 7 + 2));
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no matrix; else as [`Csr::block_array`].
    pub fn block_diag(matrices: &[&Self]) -> Result<Self, Error> {
        let blocks = matrices.iter().copied().enumerate();
        let rows: Vec<_> = blocks.map(|block| vec![block]).collect();
        Self::of_blocks("block_diag", &rows, matrices.len())
    }

    fn of_blocks(
        op: &'static str,
        blocks: &[BlockRow<'_, T>],
        width: usize,
    ) -> Result<Self, Error> {
        let (rows, columns) = edges(op, blocks, width)?;
        let all: Vec<&Self> = blocks.iter().flatten().map(|&(_, matrix)| matrix).collect();
        eager(op, &all, || stacked(blocks, &rows, &columns))
    }
}

/// The first row of each row of blocks and the first column of each column of blocks, and the ends.
fn edges<T: Numeric>(
    op: &'static str,
    blocks: &[BlockRow<'_, T>],
    width: usize,
) -> Result<(Edges, Edges), Error> {
    if blocks.is_empty() || width == 0 {
        return Err(Error::argument(op, "at least one matrix", "none"));
    }
    let heights = blocks.iter().enumerate().map(|(row, of_row)| {
        let of_row = of_row.iter().map(|(_, block)| block.n_rows());
        common(op, ("rows", "row", row), of_row)
    });
    let rows = ends(heights)?;
    let mut of_columns = vec![Vec::new(); width];
    for &(column, block) in blocks.iter().flatten() {
        of_columns[column].push(block.n_cols());
    }
    let widths = of_columns.iter().enumerate().map(|(column, of_column)| {
        common(op, ("columns", "column", column), of_column.iter().copied())
    });
    let columns = ends(widths)?;
    assembly::check_shape(op, rows[rows.len() - 1], columns[columns.len() - 1])?;
    Ok((rows, columns))
}

/// The length that all blocks of a row or column of blocks have.
fn common(
    op: &'static str,
    (lengths, line, number): (&str, &str, usize),
    mut of_blocks: impl Iterator<Item = usize>,
) -> Result<usize, Error> {
    let Some(first) = of_blocks.next() else {
        let expected =
            format!("a matrix in {line} {number} of blocks, which says how many {lengths} it has");
        return Err(Error::argument(op, expected, "none"));
    };
    match of_blocks.find(|&length| length != first) {
        None => Ok(first),
        Some(other) => {
            let expected = format!("{first} {lengths} in all blocks of {line} {number}");
            Err(Error::argument(op, expected, other.to_string()))
        }
    }
}

/// Where neighbouring stretches of these lengths begin, and where the last one ends.
fn ends(lengths: impl Iterator<Item = Result<usize, Error>>) -> Result<Edges, Error> {
    let mut edges = vec![0usize];
    for length in lengths {
        edges.push(edges[edges.len() - 1].saturating_add(length?));
    }
    Ok(edges)
}

/// The rows of this rank, of the rows of the blocks that they need.
fn stacked<T: Numeric>(
    blocks: &[BlockRow<'_, T>],
    row_edges: &[usize],
    column_edges: &[usize],
) -> Result<Csr<T>, Error> {
    let some = blocks.iter().flatten().next();
    let (_, some) = some.expect("every row of blocks has a matrix");
    let runtime = some.runtime();
    let n_rows = row_edges[blocks.len()];
    let own = runtime.default_rows(Shape::new(&[n_rows]));
    let own_rows = own.1.clone();
    let mut held = Vec::with_capacity(blocks.len());
    for (row, edges) in blocks.iter().zip(row_edges.windows(2)) {
        let wanted = within(&own_rows, &(edges[0]..edges[1]));
        let mut of_row = Vec::with_capacity(row.len());
        for &(column, block) in row {
            let first_column = column_edges[column] as u32;
            of_row.push((block.rows_at(None, wanted.clone())?, first_column));
        }
        held.push((edges[0] + wanted.start..edges[0] + wanted.end, of_row));
    }
    // The rows of blocks that some rows of this rank consist of, and their rows there.
    let pieces = |part: Range<usize>| {
        let rows = own_rows.start + part.start..own_rows.start + part.end;
        // Both ends grow from one row of blocks to the next.
        let first = held.partition_point(|(of_blocks, _)| of_blocks.end <= rows.start);
        let end = held.partition_point(|(of_blocks, _)| of_blocks.start < rows.end);
        let pieces = held[first..end.max(first)].iter();
        let pieces = pieces.map(move |(of_blocks, of_row)| {
            let blocks = of_row.iter().map(|(held, first)| (held.as_rows(), *first));
            (within(&rows, of_blocks), blocks)
        });
        pieces.filter(|(rows, _)| !rows.is_empty())
    };
    let count = |part: Range<usize>, counts: &mut [u64]| {
        let mut begin = 0;
        for (rows, blocks) in pieces(part) {
            let counts = &mut counts[begin..begin + rows.len()];
            begin += rows.len();
            counts.fill(0);
            for (from, _) in blocks {
                let pairs = from.pos[rows.start..=rows.end].windows(2);
                for (count, pair) in counts.iter_mut().zip(pairs) {
                    *count += pair[1] - pair[0];
                }
            }
        }
    };
    let fill = |part: Range<usize>, crd: &mut [u32], vals: &mut [T]| {
        let mut at = 0;
        let mut append = |from: Rows<'_, T>, entries: Range<usize>, first: u32| {
            let to = at..at + entries.len();
            at = to.end;
            copy(&from.crd[entries.clone()], &mut crd[to.clone()], |column| {
                first + column
            });
            copy(&from.vals[entries], &mut vals[to], |value| value);
        };
        for (rows, mut blocks) in pieces(part) {
            if blocks.len() == 1 {
                // Neighbouring rows stay neighbours.
                if let Some((from, first)) = blocks.next() {
                    append(from, from.entries_of(&rows), first);
                }
                continue;
            }
            let blocks: Vec<_> = blocks.collect();
            for row in rows {
                for &(from, first) in &blocks {
                    append(from, from.entries(row), first);
                }
            }
        }
    };
    let parts = parallel::chunks(own_rows.len(), 1 << 12);
    let shape = (n_rows, column_edges[column_edges.len() - 1]);
    let stores = assembly::in_parts(runtime, shape, own, &parts, (&count, &fill));
    stores.map(Csr::of_stores)
}

/// What some rows have of a stretch of rows, counted from its first one.
fn within(rows: &Range<usize>, stretch: &Range<usize>) -> Range<usize> {
    let clamp = |row: usize| row.clamp(stretch.start, stretch.end) - stretch.start;
    clamp(rows.start)..clamp(rows.end)
}

/// What `map` makes of each element. A loop: most rows are too short for the memory to be copied.
fn copy<E: Copy>(from: &[E], to: &mut [E], map: impl Fn(E) -> E) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = map(from);
    }
}
