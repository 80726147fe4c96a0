//! Interpolation and restriction on grids as matrices, each rank its own rows.

use super::grid::{AxisTransfer, Grid, Prolongation, Restriction, Weights};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Runtime};
use sparsefuse_sparse::{Csr, parallel};
use std::ops::Range;

/// Rows that one thread makes at a time.
const PART: usize = 1 << 14;

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
        let axis = |d: usize| AxisTransfer::new(fine.sides[d], along[d], restriction, prolongation);
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
        weights: impl Fn(&AxisTransfer, usize) -> Weights + Sync,
    ) -> Result<Csr<T>, Error> {
        let (n_rows, n_cols) = (number_of(to), number_of(from));
        let rows = TensorRows {
            axes: &self.axes,
            to,
            from,
            weights,
        };
        let runtime = Runtime::current();
        Csr::from_counted_rows(
            n_rows,
            n_cols,
            |own| rows.count(own),
            |own, pos, crd, vals| {
                let parts = parallel::chunks(own.len(), PART);
                let lens: Vec<usize> = parts
                    .iter()
                    .map(|part| (pos[part.end] - pos[part.start]) as usize)
                    .collect();
                let targets = parallel::split(crd, lens.iter().copied())
                    .into_iter()
                    .zip(parallel::split(vals, lens));
                let work = parts.into_iter().zip(targets).collect();
                parallel::each(&runtime, work, |(part, (crd, vals))| {
                    rows.fill(own.start + part.start..own.start + part.end, crd, vals);
                });
            },
        )
    }
}

/// The points of a grid that has been found to have so many.
fn number_of(grid: &Grid) -> usize {
    grid.sides.iter().product()
}

/// The rows of a tensor product of three matrices.
struct TensorRows<'a, W> {
    axes: &'a [AxisTransfer; 3],
    to: &'a Grid,
    from: &'a Grid,
    weights: W,
}

impl<W: Fn(&AxisTransfer, usize) -> Weights + Sync> TensorRows<'_, W> {
    /// The positions of some rows, from 0.
    fn count(&self, rows: Range<usize>) -> Vec<u64> {
        let mut pos = Vec::with_capacity(rows.len() + 1);
        pos.push(0);
        let mut end = 0;
        self.for_each_line(rows, |outer, x| {
            for x in x {
                end += (outer.len() * (self.weights)(&self.axes[2], x).as_slice().len()) as u64;
                pos.push(end);
            }
        });
        pos
    }

    fn fill<T: Field>(&self, rows: Range<usize>, crd: &mut [u32], vals: &mut [T]) {
        let mut entries = crd.iter_mut().zip(vals);
        self.for_each_line(rows, |outer, x| {
            for x in x {
                let weights = (self.weights)(&self.axes[2], x);
                for &(start, along_line) in outer {
                    for &(column, weight) in weights.as_slice() {
                        if let Some((crd, val)) = entries.next() {
                            *crd = (start + column) as u32;
                            *val = T::from_f64(along_line * weight);
                        }
                    }
                }
            }
        });
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
        let mut next = rows.start;
        let mut outer = Vec::with_capacity(9);
        while next < rows.end {
            let line = next / nx;
            let end = rows.end.min((line + 1) * nx);
            outer.clear();
            for &(z, along_z) in (self.weights)(&self.axes[0], line / ny).as_slice() {
                for &(y, along_y) in (self.weights)(&self.axes[1], line % ny).as_slice() {
                    outer.push(((z * from_ny + y) * from_nx, along_z * along_y));
                }
            }
            visit(&outer, next - line * nx..end - line * nx);
            next = end;
        }
    }
}
