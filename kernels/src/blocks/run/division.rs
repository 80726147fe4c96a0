//! The rows of a run and their division among threads.
#![expect(unsafe_code, reason = "reads the positions of a matrix")]

use crate::abi::CHUNK;
use crate::blocks::Part;
use crate::blocks::compile::{LoopProgram, Step};
use crate::launch::{Extent, Launch, Operand, Structure};
use crate::packed::WINDOW;
use crate::tiles::Tiles;
use std::ops::Range;

/// The entries of a sparse matrix that take as long as what else happens to a row.
const ROW_WEIGHT: u64 = 4;

/// The rows of a run, in units that one thread owns as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows<'a> {
    /// Rows of a unit.
    pub(crate) unit: u64,
    /// The place of the extent's first row within unit 0.
    pub(crate) offset: u64,
    /// The tiles that the units are, where they are tiles.
    tiles: Option<Tiles>,
    /// Rows of the extent.
    pub(crate) len: u64,
    /// Which units; all of them where this is `None`.
    ranges: Option<&'a [Range<u64>]>,
    pub(crate) n_units: usize,
    /// The sparse matrix that is multiplied, if there is one.
    pub(crate) matrix: Option<(Structure, usize)>,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(
        program: &LoopProgram,
        launch: &Launch<'_>,
        extent: Extent,
        part: Part<'a>,
    ) -> Self {
        let Extent { start, len, tiles } = extent;
        let tile = tiles.tile_len() as u64;
        let all = |unit: u64| {
            let offset = start % unit;
            (unit, offset, (offset + len).div_ceil(unit))
        };
        let ((unit, offset, n_units), ranges) = match part {
            Part::Tiles(ranges) => {
                let n_tiles = ranges.iter().map(|range| range.end - range.start).sum();
                ((tile, tiles.offset(start), n_tiles), Some(ranges))
            }
            // Rows that are reduced may be few and long.
            Part::All if program.reductions.is_empty() && program.reduces_rows() => {
                (all(CHUNK as u64), None)
            }
            Part::All if program.reductions.is_empty() => (all(WINDOW as u64), None),
            Part::All => {
                let n_tiles = tiles.count(len as usize);
                ((tile, 0, n_tiles as u64), None)
            }
        };
        Self {
            unit,
            offset,
            tiles: (ranges.is_some() || !program.reductions.is_empty()).then_some(tiles),
            len,
            ranges,
            n_units: n_units as usize,
            matrix: program.steps.iter().find_map(|step| match *step {
                Step::RowSum { ref sums, .. } => {
                    match (
                        launch.operands[sums.structure as usize],
                        launch.operands[sums.x as usize],
                    ) {
                        (Operand::Structure(structure), Operand::Gather { width, .. }) => {
                            Some((structure, width))
                        }
                        _ => None,
                    }
                }
                _ => None,
            }),
        }
    }

    /// The same rows in units of windows; `start` is the extent's first one.
    pub(crate) fn in_windows(&self, start: u64) -> Self {
        let unit = WINDOW as u64;
        let offset = start % unit;
        Self {
            unit,
            offset,
            tiles: None,
            n_units: (offset + self.len).div_ceil(unit) as usize,
            ..*self
        }
    }

    /// The first row of a unit.
    fn local(&self, unit: u64) -> usize {
        let first = match self.tiles {
            Some(tiles) => tiles.start(unit as usize) as u64,
            None => unit * self.unit,
        };
        first.saturating_sub(self.offset).min(self.len) as usize
    }

    /// The unit with which part `i` of `n` begins: parts have equally many units, unless a sparse
    /// matrix has its entries in few of them.
    fn cut(&self, i: usize, n: usize) -> u64 {
        let even = (self.n_units * i / n) as u64;
        let Some((matrix, width)) = self
            .matrix
            .filter(|_| 0 < i && i < n && self.ranges.is_none())
        else {
            return even;
        };
        let weight = |unit| self.weight(unit, (&matrix, width));
        let total = weight(self.n_units as u64);
        if total < n as u64 {
            // So little that the targets of some parts are equal. (A few entries times a matrix of
            // many columns is much work all the same.)
            return even;
        }
        let target = total / n as u64 * i as u64;
        if weight(even).abs_diff(target) <= total / (16 * n as u64) {
            return even;
        }
        let (mut low, mut high) = (0, self.n_units as u64);
        while low < high {
            let middle = low.midpoint(high);
            if weight(middle) < target {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        // The nearer one: units may be few and heavy.
        match low.checked_sub(1) {
            Some(below) if target - weight(below) < weight(low) - target => below,
            _ => low,
        }
    }

    /// What the units before this one take.
    fn weight(&self, unit: u64, (matrix, width): (&Structure, usize)) -> u64 {
        let row = (self.local(unit) / width).min(matrix.rows);
        // SAFETY: `Program::run` asks for `rows + 1` positions.
        let entries = unsafe { *matrix.pos.add(row) - *matrix.pos };
        entries + ROW_WEIGHT * row as u64
    }

    /// Whether one of `n` parts has much more of a sparse matrix than its share.
    pub(crate) fn is_uneven(&self, n: usize) -> bool {
        let Some((matrix, width)) = self.matrix else {
            return false;
        };
        if n <= 1 || self.ranges.is_some() {
            return false;
        }
        let weight = |unit| self.weight(unit, (&matrix, width));
        let of_part = |i| weight(self.cut(i + 1, n)) - weight(self.cut(i, n));
        let heaviest = (0..n).map(of_part).max().unwrap_or(0);
        heaviest * n as u64 * 8 > weight(self.n_units as u64) * 9
    }

    /// Whether the units have multiples of `chunk` rows, apart from the first and the last one.
    pub(crate) fn are_multiples_of(&self, chunk: usize) -> bool {
        match self.tiles {
            Some(tiles) => tiles.are_multiples_of(chunk),
            None => self.unit.is_multiple_of(chunk as u64),
        }
    }

    /// At least the number of rows.
    pub(crate) fn count(&self) -> usize {
        (self.n_units * self.unit as usize).min(self.len as usize)
    }

    /// The rows of part `i` of `n` of all rows.
    pub(crate) fn range(&self, i: usize, n: usize) -> Range<usize> {
        let mut range = 0..0;
        self.of_part(i, n, |rows| range = rows);
        range
    }

    /// Visits the rows of part `i` of `n`, as ranges of local rows.
    pub(crate) fn of_part(&self, i: usize, n: usize, mut visit: impl FnMut(Range<usize>)) {
        let (first, end) = match n {
            1 => (0, self.n_units as u64),
            _ => (self.cut(i, n), self.cut(i + 1, n)),
        };
        let local = |unit: u64| self.local(unit);
        let Some(ranges) = self.ranges else {
            return visit(local(first)..local(end));
        };
        let mut before = 0;
        for range in ranges {
            let skip = |units: u64| {
                range.start + units.clamp(before, before + range.end - range.start) - before
            };
            visit(local(skip(first))..local(skip(end)));
            before += range.end - range.start;
        }
    }
}

impl LoopProgram {
    /// Whether a step reduces the rows of a dense matrix, and none multiplies a sparse one.
    fn reduces_rows(&self) -> bool {
        let mut steps = self.steps.iter();
        let is_dense = |step: &Step| matches!(step, Step::RowReduce { .. });
        steps.any(is_dense)
            && !self
                .steps
                .iter()
                .any(|step| matches!(step, Step::RowSum { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tiles of 1024 rows, of which those from row 1024 on have ten entries and the others one.
    fn rows(pos: &[u64], crd: &[u32]) -> Rows<'static> {
        let n = pos.len() - 1;
        let matrix = Structure {
            singles: false,
            pos: pos.as_ptr(),
            crd: crd.as_ptr(),
            rows: n,
            entries: crd.len(),
            below: usize::MAX,
            above: usize::MAX,
        };
        Rows {
            unit: 1024,
            offset: 0,
            tiles: Some(Tiles::of_vector(1024)),
            len: n as u64,
            ranges: None,
            n_units: n.div_ceil(1024),
            matrix: Some((matrix, 1)),
        }
    }

    /// A product of a sparse matrix of few rows and entries with one of many columns: rows of the
    /// run are its elements.
    #[test]
    fn parts_of_wide_products_follow_each_other() {
        for lens in [
            &[1][..],
            &[1, 1],
            &[0, 1, 0],
            &[0, 0],
            &[40, 0, 1, 3],
            &[3, 2, 100, 0, 0, 7],
        ] {
            let mut pos = vec![0];
            for (row, len) in lens.iter().enumerate() {
                pos.push(pos[row] + len);
            }
            let crd = vec![0; pos[lens.len()] as usize];
            for width in [1, 100, 2048, 100_000] {
                let narrow = rows(&pos, &crd);
                let rows = Rows {
                    len: (lens.len() * width) as u64,
                    n_units: (lens.len() * width).div_ceil(1024),
                    matrix: narrow.matrix.map(|(matrix, _)| (matrix, width)),
                    ..narrow
                };
                for rows in [rows, rows.in_windows(0), rows.in_windows(17)] {
                    for threads in 1..40 {
                        let mut end = 0;
                        for i in 0..threads {
                            let part = rows.range(i, threads);
                            let what = format!("{lens:?} {width}: part {i} of {threads}");
                            assert_eq!(part.start, end, "{what}");
                            assert!(part.end >= end, "{what}");
                            end = part.end;
                        }
                        assert_eq!(end as u64, rows.len);
                    }
                }
            }
        }
    }

    #[test]
    fn few_heavy_units_are_shared_by_all_threads() {
        for n in [2003, 2475, 4884] {
            let entries = |row: usize| if row < 1024 { 1 } else { 10 };
            let mut pos = vec![0];
            for row in 0..n {
                pos.push(pos[row] + entries(row));
            }
            let crd = vec![0; pos[n] as usize];
            let tiles = rows(&pos, &crd);
            for rows in [tiles, tiles.in_windows(0)] {
                for threads in [1, 2, 3, 5] {
                    let mut end = 0;
                    for i in 0..threads {
                        let part = rows.range(i, threads);
                        assert_eq!(part.start, end, "{n} rows, part {i} of {threads}");
                        assert!(!part.is_empty() || rows.n_units < 2 * threads);
                        end = part.end;
                    }
                    assert_eq!(end, n);
                }
            }
            assert!((0..2).all(|i| !tiles.range(i, 2).is_empty()), "{n} rows");
            assert!(!tiles.in_windows(0).is_uneven(2), "{n} rows");
        }
    }
}
