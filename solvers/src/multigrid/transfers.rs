//! Interpolation and restriction on grids as matrices, each rank its own rows.
//!
//! Few lines of a grid differ in more than where their columns begin, so most are copied.

use super::grid::{AxisTransfer, Grid, Prolongation, Restriction, Weights};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Runtime, reserve};
use sparsefuse_sparse::{Csr, Threads, parallel};
use std::ops::Range;

/// Rows that one thread makes at a time.
const PART: usize = 1 << 16;

/// The step from a grid to the next coarser one.
#[derive(Clone, Debug)]
pub(super) struct GridTransfer {
    pub(super) fine: Grid,
    pub(super) coarse: Grid,
    /// Along z, y and x.
    pub(super) axes: [AxisTransfer; 3],
}

impl GridTransfer {
    pub(super) fn new(
        fine: &Grid,
        along: [bool; 3],
        restriction: Restriction,
        prolongation: Prolongation,
    ) -> Self {
        let kinds = (restriction, prolongation);
        let axis = |d: usize| AxisTransfer::new(fine, d, along[d], kinds);
        Self {
            fine: fine.clone(),
            coarse: fine.coarsened(along),
            axes: [axis(0), axis(1), axis(2)],
        }
    }

    /// From the coarse grid to the fine one: 1.5 entries a row for each axis, multiplied.
    pub(super) fn prolongation<T: Field>(&self) -> Result<Csr<T>, Error> {
        self.matrix(&self.fine, &self.coarse, AxisTransfer::interpolation)
    }

    /// From the fine grid to the coarse one: 3 entries a row for each axis, multiplied, for full
    /// weighting; one for injection.
    pub(super) fn restriction<T: Field>(&self) -> Result<Csr<T>, Error> {
        self.matrix(&self.coarse, &self.fine, AxisTransfer::restriction)
    }

    /// The tensor product of the axes' matrices, of which `weights` gives a row.
    fn matrix<T: Field>(
        &self,
        to: &Grid,
        from: &Grid,
        weights: impl Fn(&AxisTransfer, usize) -> Weights,
    ) -> Result<Csr<T>, Error> {
        let (n_rows, n_cols) = (number_of(to), number_of(from));
        let along = |d: usize| -> Vec<Weights> {
            let points = 0..to.sides[d];
            points.map(|point| weights(&self.axes[d], point)).collect()
        };
        let rows = TensorRows {
            along: [0, 1, 2].map(along),
            to,
            from,
        };
        let runtime = Runtime::current();
        let fill = |own: Range<usize>, pos: &[u64], crd: &mut [u32], vals: &mut [T]| {
            let parts = parallel::chunks(own.len(), PART);
            let lens: Vec<usize> = parts
                .iter()
                .map(|part| (pos[part.end] - pos[part.start]) as usize)
                .collect();
            let targets = parallel::split(crd, lens.iter().copied())
                .into_iter()
                .zip(parallel::split(vals, lens));
            let work = parts.into_iter().zip(targets);
            parallel::each(&Threads::of(&runtime), work, |(part, (crd, vals))| {
                rows.fill(own.start + part.start..own.start + part.end, crd, vals);
            });
        };
        runtime.eager_task("transfer", &[], || {
            Csr::from_counted_rows(n_rows, n_cols, |own| rows.count(own), fill)
        })
    }
}

/// The number of points of a grid, for which [`Grid::len`] has been checked before.
fn number_of(grid: &Grid) -> usize {
    grid.sides.iter().product()
}

/// The rows of a tensor product of three matrices.
struct TensorRows<'a> {
    /// The rows of the matrices along z, y and x.
    along: [Vec<Weights>; 3],
    to: &'a Grid,
    from: &'a Grid,
}

/// A line of the grid as it has been made: other lines are the same, but for their columns.
struct Line {
    /// The lines of the other grid that it is made of, counted from the first of them, and their
    /// weights.
    outer: Vec<(usize, f64)>,
    /// The column that the first one begins with.
    column: usize,
    entries: Range<usize>,
}

/// The lines that are remembered: with linear interpolation, there are four kinds in three
/// dimensions, and others at the boundaries.
const KINDS: usize = 8;

impl TensorRows<'_> {
    /// The positions of some rows, from 0.
    fn count(&self, rows: Range<usize>) -> Result<Vec<u64>, Error> {
        let mut pos = reserve(rows.len() + 1)?;
        pos.push(0);
        let mut end = 0;
        self.for_each_line(rows, |outer, points| {
            let n = outer.len();
            pos.extend(self.along[2][points].iter().map(|weights| {
                end += (n * weights.as_slice().len()) as u64;
                end
            }));
        });
        Ok(pos)
    }

    fn fill<T: Field>(&self, rows: Range<usize>, crd: &mut [u32], vals: &mut [T]) {
        let nx = self.to.sides[2];
        let mut known: Vec<Line> = Vec::new();
        let mut at = 0;
        self.for_each_line(rows, |outer, points| {
            let column = outer.first().map_or(0, |&(start, _)| start);
            let outer: Vec<(usize, f64)> = outer
                .iter()
                .map(|&(start, weight)| (start - column, weight))
                .collect();
            let is_whole = points.len() == nx;
            let same = known.iter().find(|line| is_whole && line.outer == outer);
            let len = match same {
                Some(line) => {
                    let advance = column.wrapping_sub(line.column) as u32;
                    repeat(line.entries.clone(), at, crd, advance);
                    vals.copy_within(line.entries.clone(), at);
                    line.entries.len()
                }
                None => self.make(&outer, column, points, &mut crd[at..], &mut vals[at..]),
            };
            if is_whole && same.is_none() {
                known.truncate(KINDS - 1);
                let entries = at..at + len;
                known.insert(
                    0,
                    Line {
                        outer,
                        column,
                        entries,
                    },
                );
            }
            at += len;
        });
    }

    /// The entries of some points of a line; how many there are.
    fn make<T: Field>(
        &self,
        outer: &[(usize, f64)],
        column: usize,
        points: Range<usize>,
        crd: &mut [u32],
        vals: &mut [T],
    ) -> usize {
        let mut len = 0;
        for weights in &self.along[2][points] {
            for &(start, along_line) in outer {
                for &(point, weight) in weights.as_slice() {
                    crd[len] = (column + start + point) as u32;
                    vals[len] = T::from_f64(along_line * weight);
                    len += 1;
                }
            }
        }
        len
    }

    /// Calls `visit` for each line of the grid that has some of the rows: with the lines of the
    /// other grid that it is made of, where each begins and its weight, and the rows' points.
    fn for_each_line(
        &self,
        rows: Range<usize>,
        mut visit: impl FnMut(&[(usize, f64)], Range<usize>),
    ) {
        let [_, ny, nx] = self.to.sides;
        let [_, from_ny, from_nx] = self.from.sides;
        let [along_z, along_y, _] = &self.along;
        let mut next = rows.start;
        let mut outer = Vec::with_capacity(9);
        while next < rows.end {
            let line = next / nx;
            let end = rows.end.min((line + 1) * nx);
            outer.clear();
            for &(z, weight_z) in along_z[line / ny].as_slice() {
                for &(y, weight_y) in along_y[line % ny].as_slice() {
                    outer.push(((z * from_ny + y) * from_nx, weight_z * weight_y));
                }
            }
            visit(&outer, next - line * nx..end - line * nx);
            next = end;
        }
    }
}

/// Copies columns to the place `to` behind them, advanced.
pub(super) fn repeat(columns: Range<usize>, to: usize, crd: &mut [u32], advance: u32) {
    let len = columns.len();
    let (before, behind) = crd.split_at_mut(to);
    for (target, column) in behind[..len].iter_mut().zip(&before[columns]) {
        *target = column.wrapping_add(advance);
    }
}
