//! The transpose of a sparse matrix, and its conjugate.
//!
//! Entries are dealt out to their new rows in the order of the old ones, so each new row is sorted.
//! On several ranks each sends its entries to the ranks that own their columns as rows first.
//!
//! Every thread makes windows of the new rows, and looks at those old rows alone that reach into
//! them: it moves, per entry, a column and a value each way, and 4 bytes more to count.

use crate::assemble;
use crate::csr::Csr;
use crate::distribute::Owners;
use crate::parallel;
use crate::rows::Rows;
use crate::sorting;
use crate::triplets::Triplets;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Partition, Runtime, Shape};
use std::borrow::Cow;
use std::ops::Range;

impl<T: Numeric> Csr<T> {
    /// The transpose, a new matrix. Linear in rows, columns and entries; executes the window, and
    /// works on all threads.
    ///
    /// # Errors
    ///
    /// If the computation of the values failed, or memory runs out.
    pub fn transpose(&self) -> Result<Self, Error> {
        self.transposed(|value| value)
    }

    /// The conjugate transpose, as [`Csr::transpose`]: the matrix that moves to the other side of
    /// an inner product.
    ///
    /// ```
    /// use num_complex::Complex;
    /// use sparsefuse_sparse::Csr;
    ///
    /// let i = Complex::new(0.0, 1.0);
    /// let a = Csr::new(1, 2, vec![0, 1], vec![1], vec![i])?;
    /// let adjoint = a.adjoint()?;
    /// assert_eq!(adjoint.shape(), (2, 1));
    /// assert_eq!(adjoint.values().to_vec()?, [-i]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Csr::transpose`].
    pub fn adjoint(&self) -> Result<Self, Error> {
        self.transposed(Numeric::conjugate)
    }

    /// The transpose with `map` applied to each value.
    fn transposed(&self, map: impl Fn(T) -> T + Copy + Send + Sync) -> Result<Self, Error> {
        let own = self.own_rows()?;
        let runtime = self.runtime();
        let shape = (self.n_cols(), self.n_rows());
        if own.partition != Partition::Replicated {
            let entries = turned_entries(shape, own.rows.clone(), own.as_rows(), map);
            let entries = Owners::of_rows(runtime, shape.0).send(runtime, entries)?;
            return runtime.enter(|| sorting::matrix(Cow::Owned(entries)));
        }
        // Every rank holds all entries and keeps those of its columns.
        let new_own = runtime.default_rows(Shape::new(&[shape.0]));
        let turn = Turn::new(runtime, own.as_rows(), new_own.1.clone());
        let pos = turn.positions(runtime);
        assemble::filled(runtime, shape, new_own, pos, |pos, crd, vals| {
            turn.fill(runtime, pos, (crd, vals), map);
        })
    }
}

/// The entries of some rows, row by row, as entries of the transpose.
fn turned_entries<T: Numeric>(
    (n_cols, n_rows): (usize, usize),
    numbers: Range<usize>,
    rows: Rows<'_, T>,
    map: impl Fn(T) -> T,
) -> Triplets<T> {
    let row_of = numbers
        .enumerate()
        .flat_map(|(number, row)| std::iter::repeat_n(row as u32, rows.columns(number).len()))
        .collect();
    let vals = rows.vals.iter().map(|&value| map(value)).collect();
    Triplets::from_checked_parts(n_cols, n_rows, rows.crd.to_vec(), row_of, vals)
}

/// Columns of a window.
const WINDOW: usize = 1 << 15;

/// A transposition of all rows of a matrix, of which some columns are wanted.
struct Turn<'a, T> {
    rows: Rows<'a, T>,
    /// Neighbouring rows, and the columns between which their entries lie.
    parts: Vec<(Range<usize>, Range<usize>)>,
    /// Windows of columns, each of which one thread at a time makes rows of.
    targets: Vec<Range<usize>>,
}

impl<'a, T: Numeric> Turn<'a, T> {
    fn new(runtime: &Runtime, rows: Rows<'a, T>, wanted: Range<usize>) -> Self {
        let parts = parallel::map(runtime, parallel::parts(rows.pos), |part| {
            let reach = reach(rows, part.clone());
            (part, reach)
        });
        // Where each part of the rows reaches a few windows alone, as in banded matrices, what is
        // counted for a window stays in the caches. Else every thread looks at all rows once.
        let windows_of = |reach: &Range<usize>| reach.end.div_ceil(WINDOW) - reach.start / WINDOW;
        let visits: usize = parts.iter().map(|(_, reach)| windows_of(reach)).sum();
        let len = match visits <= 2 * parts.len() + wanted.len() / WINDOW {
            true => WINDOW,
            false => wanted.len().div_ceil(runtime.config().threads).max(1),
        };
        let targets = parallel::chunks(wanted.len(), len)
            .into_iter()
            .map(|chunk| wanted.start + chunk.start..wanted.start + chunk.end)
            .collect();
        Self {
            rows,
            parts,
            targets,
        }
    }

    /// The positions of the new rows.
    fn positions(&self, runtime: &Runtime) -> Vec<u64> {
        let len = self.targets.iter().map(Range::len).sum::<usize>();
        let mut pos = vec![0u64; len + 1];
        let counts = parallel::split(&mut pos[1..], self.targets.iter().map(Range::len));
        let work = self.targets.iter().zip(counts).collect();
        parallel::each(runtime, work, |(target, counts)| self.count(target, counts));
        assemble::add_up(&mut pos);
        pos
    }

    /// Counts the entries of some columns.
    fn count(&self, target: &Range<usize>, counts: &mut [u64]) {
        for (part, reach) in &self.parts {
            let entries = self.rows.entries(part.start).start..self.rows.entries(part.end - 1).end;
            let columns = &self.rows.crd[entries];
            if is_within(reach, target) {
                for &column in columns {
                    counts[column as usize - target.start] += 1;
                }
            } else if meet(reach, target) {
                for column in columns
                    .iter()
                    .filter(|&&column| target.contains(&(column as usize)))
                {
                    counts[*column as usize - target.start] += 1;
                }
            }
        }
    }

    /// Fills the new rows, which have these positions.
    fn fill(
        &self,
        runtime: &Runtime,
        pos: &[u64],
        (crd, vals): (&mut [u32], &mut [T]),
        map: impl Fn(T) -> T + Copy + Sync + Send,
    ) {
        let first = self.targets.first().map_or(0, |target| target.start);
        let new_rows = |target: &Range<usize>| target.start - first..target.end - first;
        let lens = || {
            let rows = self.targets.iter().map(new_rows);
            rows.map(|rows| (pos[rows.end] - pos[rows.start]) as usize)
        };
        let (crds, vals) = (parallel::split(crd, lens()), parallel::split(vals, lens()));
        let work = self.targets.iter().zip(crds).zip(vals).collect();
        parallel::each(runtime, work, |((target, crd), vals)| {
            let rows = new_rows(target);
            let begin = pos[rows.start];
            let next = pos[rows].iter().map(|position| (position - begin) as usize);
            self.fill_target(target, &mut next.collect::<Vec<_>>(), (crd, vals), map);
        });
    }

    /// Fills the rows that some columns become; the next entry of each goes to `next`.
    fn fill_target(
        &self,
        target: &Range<usize>,
        next: &mut [usize],
        (crd, vals): (&mut [u32], &mut [T]),
        map: impl Fn(T) -> T + Copy,
    ) {
        for (part, _) in self.parts.iter().filter(|(_, reach)| meet(reach, target)) {
            let rows = self.rows.range(part.clone());
            deal(
                rows,
                part.start as u32,
                (target.start, next),
                (crd, vals),
                map,
            );
        }
    }
}

/// Appends the entries of some rows, numbered from `first_row`, to the new rows that a window of
/// columns becomes: from `first_column` as many as `next` has places of next entries.
#[inline(always)]
fn deal<T: Numeric>(
    rows: Rows<'_, T>,
    first_row: u32,
    (first_column, next): (usize, &mut [usize]),
    (crd, vals): (&mut [u32], &mut [T]),
    map: impl Fn(T) -> T,
) {
    // One length, so one check of a place.
    let vals = &mut vals[..crd.len()];
    let mut ends = rows.pos[1..].iter().map(|end| (end - rows.pos[0]) as usize);
    let (mut row, mut end) = (first_row, ends.next().unwrap_or(usize::MAX));
    for (k, (&column, &value)) in rows.crd.iter().zip(rows.vals).enumerate() {
        while k == end {
            row += 1;
            end = ends.next().unwrap_or(usize::MAX);
        }
        // Columns before the window wrap around to beyond it.
        if let Some(next) = next.get_mut((column as usize).wrapping_sub(first_column)) {
            crd[*next] = row;
            vals[*next] = map(value);
            *next += 1;
        }
    }
}

/// The columns from the first to the last in which some rows have entries.
fn reach<T: Numeric>(rows: Rows<'_, T>, part: Range<usize>) -> Range<usize> {
    part.fold(0..0, |reach, row| match rows.columns(row) {
        [] => reach,
        columns => {
            let (first, last) = (columns[0] as usize, columns[columns.len() - 1] as usize);
            if reach.is_empty() {
                first..last + 1
            } else {
                reach.start.min(first)..reach.end.max(last + 1)
            }
        }
    })
}

fn is_within(reach: &Range<usize>, target: &Range<usize>) -> bool {
    target.start <= reach.start && reach.end <= target.end
}

fn meet(reach: &Range<usize>, target: &Range<usize>) -> bool {
    reach.start < target.end && target.start < reach.end
}
