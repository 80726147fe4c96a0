//! Compact stencils: which of the 27 neighbours of a point (itself among them) its row may name.

use super::grid::Grid;
use super::square::square;
use sparsefuse_kernels::{Field, Numeric};
use sparsefuse_runtime::Error;
use sparsefuse_sparse::{Csr, Rows, Threads, eager, parallel};
use std::ops::Range;

/// Rows that one thread looks at in a row.
const PART: usize = 1 << 15;

/// A set of offsets (dz, dy, dx), each of -1, 0, 1: bit `9 (dz + 1) + 3 (dy + 1) + (dx + 1)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stencil(u32);

impl Stencil {
    /// The offsets of all rows of a matrix on a grid; `None` where a row reaches farther.
    pub(super) fn of<T: Numeric>(a: &Csr<T>, grid: &Grid) -> Result<Option<Self>, Error> {
        eager("stencil", &[a], || Self::found(a, grid))
    }

    fn found<T: Numeric>(a: &Csr<T>, grid: &Grid) -> Result<Option<Self>, Error> {
        let runtime = a.runtime();
        let own = a.own_rows()?;
        let parts = parallel::chunks(own.rows().len(), PART);
        let rows = own.as_rows();
        let found = parallel::map(&Threads::of(runtime), parts, |part| {
            of_rows(grid, own.rows().start, rows, part)
        });
        let mine = found.into_iter().try_fold(Self::default(), |all, part| {
            part.map(|part| Self(all.0 | part.0))
        });
        let everywhere = runtime.all_gather(&[mine.map_or(u32::MAX, |mine| mine.0)])?;
        let all = everywhere.iter().fold(0, |all, rank| all | rank[0]);
        Ok((all != u32::MAX).then_some(Self(all)))
    }

    pub(super) fn with(self, offset: usize) -> Self {
        Self(self.0 | 1 << offset)
    }

    pub(super) fn contains(self, offset: usize) -> bool {
        self.0 >> offset & 1 == 1
    }

    /// The offsets, ascending.
    pub(super) fn offsets(self) -> impl Iterator<Item = usize> {
        (0..27).filter(move |&offset| self.contains(offset))
    }

    /// The number of offsets before one.
    pub(super) fn slot(self, offset: usize) -> usize {
        (self.0 & ((1 << offset) - 1)).count_ones() as usize
    }

    pub(super) fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether all offsets lie on the axes.
    pub(super) fn is_star(self) -> bool {
        self.offsets()
            .all(|offset| steps(offset).iter().filter(|&&step| step != 0).count() <= 1)
    }
}

/// The steps along z, y and x of an offset.
pub(super) fn steps(offset: usize) -> [isize; 3] {
    [offset / 9, offset / 3 % 3, offset % 3].map(|step| step as isize - 1)
}

/// The offset without its step along x.
pub(super) fn middle(offset: usize) -> usize {
    offset / 3 * 3 + 1
}

/// The offset from one point of a grid to another; `None` where it is not compact.
pub(super) fn offset(grid: &Grid, from: usize, to: usize) -> Option<usize> {
    let (from, to) = (grid.point(from), grid.point(to));
    let mut offset = 0;
    for d in 0..3 {
        let step = (to[d] + 1).checked_sub(from[d]).filter(|&step| step <= 2)?;
        offset = 3 * offset + step;
    }
    Some(offset)
}

/// The point at an offset from another, if it is there.
pub(super) fn neighbour(grid: &Grid, from: [usize; 3], offset: usize) -> Option<[usize; 3]> {
    let mut to = from;
    for (d, step) in steps(offset).into_iter().enumerate() {
        to[d] = to[d].checked_add_signed(step)?;
        if to[d] >= grid.sides[d] {
            return None;
        }
    }
    Some(to)
}

/// Whether the columns of a row are those of the row before it, moved by one.
pub(super) fn repeats(before: &[u32], this: &[u32]) -> bool {
    before.len() == this.len()
        && before
            .iter()
            .zip(this)
            .all(|(before, this)| before.wrapping_add(1) == *this)
}

/// Whether the columns of a line's rows are those of the line before, a line further. `row` is the
/// line's first row; both lines have `nx` rows, which are all here.
pub(super) fn repeats_line<T: Copy>(rows: Rows<'_, T>, row: usize, nx: usize) -> bool {
    let (before, this) = (
        lines_entries(rows, row - nx, nx),
        lines_entries(rows, row, nx),
    );
    let ends = |row: usize| &rows.pos()[row..=row + nx];
    let step = (this.start - before.start) as u64;
    let ends = ends(row - nx).iter().zip(ends(row));
    // Without a branch for each of them.
    let differs = ends.fold(0, |differs, (before, this)| {
        differs | ((this - before) ^ step)
    });
    let columns = rows.crd()[before].iter().zip(&rows.crd()[this]);
    differs == 0
        && columns.fold(0, |differs, (before, this)| {
            differs | (before.wrapping_add(nx as u32) ^ this)
        }) == 0
}

/// The entries of a line's rows, of which `row` is the first, among those that are here.
pub(super) fn lines_entries<T: Copy>(rows: Rows<'_, T>, row: usize, nx: usize) -> Range<usize> {
    rows.entries(row).start..rows.entries(row + nx - 1).end
}

/// The offsets of some of the rows, of which the first has the number `first` on the grid.
fn of_rows<T: Copy>(
    grid: &Grid,
    first: usize,
    rows: Rows<'_, T>,
    part: Range<usize>,
) -> Option<Stencil> {
    let [_, ny, nx] = grid.sides;
    let mut stencil = Stencil::default();
    let mut row = part.start;
    while row < part.end {
        let line = (first + row) / nx;
        let end = ((line + 1) * nx - first).min(part.end);
        // Offsets stay what they were from line to line, but for those to the next plane's lines.
        let is_inside = (1..ny.saturating_sub(1)).contains(&(line % ny));
        let is_known =
            is_inside && end - row == nx && row >= part.start + nx && repeats_line(rows, row, nx);
        if !is_known {
            stencil = of_line(grid, first, rows, row..end, stencil)?;
        }
        row = end;
    }
    Some(stencil)
}

/// The offsets of some rows of one line, with those that are known.
fn of_line<T: Copy>(
    grid: &Grid,
    first: usize,
    rows: Rows<'_, T>,
    part: Range<usize>,
    mut stencil: Stencil,
) -> Option<Stencil> {
    let nx = grid.sides[2];
    let mut before: &[u32] = &[];
    for row in part {
        let columns = rows.columns(row);
        let point = first + row;
        // Offsets stay what they were within a line only.
        let is_known = point % nx > 1 && point % nx + 1 < nx && repeats(before, columns);
        before = columns;
        if is_known {
            continue;
        }
        for &column in columns {
            stencil = stencil.with(offset(grid, point, column as usize)?);
        }
    }
    Some(stencil)
}

/// Rows that are looked at, at most, to see along which axes a matrix couples.
const SAMPLE: usize = 1 << 12;

/// Numbers below n, ascending: all, or one of each of `most` equal ranges at most. Where in its
/// range one lies differs from range to range, so that those of a grid are not all of one line.
pub(super) fn sample(n: usize, most: usize) -> impl Iterator<Item = usize> {
    /// 2^64 over the golden ratio: its multiples are spread evenly.
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let stride = n.div_ceil(most).max(1);
    (0..n.div_ceil(stride)).filter_map(move |range| {
        let place = (range as u64).wrapping_mul(GOLDEN);
        let within = (u128::from(place) * stride as u128) >> 64;
        let number = range * stride + within as usize;
        (number < n).then_some(number)
    })
}

/// How many rows, of a sample of all, couple along each axis at least half as strongly as along
/// their strongest one. Along an axis a row couples by what it does to vectors that vary along this
/// axis alone: by the sums of its entries one step before and one behind.
pub(super) fn couplings<T: Field>(a: &Csr<T>, grid: &Grid) -> Result<[u64; 3], Error> {
    let count = || count_couplings(a, grid);
    a.runtime().eager_task("couplings", &[], count)
}

fn count_couplings<T: Field>(a: &Csr<T>, grid: &Grid) -> Result<[u64; 3], Error> {
    let own = a.own_rows()?;
    let rows = own.as_rows();
    let mut counts = [0u64; 3];
    for point in sample(a.n_rows(), SAMPLE) {
        if !own.rows().contains(&point) {
            continue;
        }
        let row = point - own.rows().start;
        let mut sums = [[T::ZERO; 2]; 3];
        for (&column, &value) in rows.columns(row).iter().zip(rows.values(row)) {
            let Some(offset) = offset(grid, point, column as usize) else {
                continue;
            };
            for (sums, step) in sums.iter_mut().zip(steps(offset)) {
                match step {
                    -1 => sums[0] += value,
                    1 => sums[1] += value,
                    _ => {}
                }
            }
        }
        let size = |value: T| square(value).sqrt();
        let strength = sums.map(|[before, behind]| size(before) + size(behind));
        let most = strength.into_iter().fold(0.0, f64::max);
        for (count, strength) in counts.iter_mut().zip(strength) {
            *count += u64::from(most > 0.0 && 2.0 * strength >= most);
        }
    }
    let everywhere = a.runtime().all_gather(&counts)?;
    if own.is_replicated() {
        return Ok(counts);
    }
    let sum = |d: usize| everywhere.iter().map(|rank| rank[d]).sum();
    Ok([sum(0), sum(1), sum(2)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_grids_are_not_all_of_one_line() {
        for side in [63usize, 64, 65, 128] {
            let n = side * side * side;
            let points: Vec<usize> = sample(n, SAMPLE).collect();
            assert!(points.len() > SAMPLE / 3 && points.len() <= SAMPLE);
            assert!(points.is_sorted() && points.iter().all(|&point| point < n));
            for step in [1, side, side * side] {
                let at_end = points.iter().filter(|&&point| point / step % side == 0);
                assert!(at_end.count() < SAMPLE / 10, "{side}: {step}");
            }
        }
        assert!(sample(10, 20).eq(0..10));
        assert_eq!(sample(0, 20).count(), 0);
    }
}
