//! Reductions of rows that are few and long: what the steps would compute a row, or some rows side
//! by side, at a time, computed for all rows before the loop begins. So it is with others in a loop
//! that also reduces, where that has too few tiles of rows for the threads to have equal shares.
//!
//! So a matrix with few columns that is summed along its rows is read once, from its first element
//! to its last, and divided among the threads by its rows. The unit of the division is a subtree of
//! the tree over tiles ([`crate::reduce`]) times a panel of rows; the values of the subtrees are
//! joined as the tree joins them, so the division leaves no trace.
#![expect(unsafe_code, reason = "follows the pointers of a launch")]

use super::bound::{Array, Shared};
use super::buffer::Buffer;
use super::strided::simplify;
use crate::blocks::compile::{LoopProgram, Step};
use crate::blocks::loops::row_fold::DenseRows;
use crate::blocks::loops::rows::{RowReduction, panel_bytes, panel_rows};
use crate::blocks::{Part, Settings};
use crate::ir::ArgId;
use crate::launch::{Launch, Operand};
use crate::workers::Workers;
use std::cell::RefCell;

/// The least number of pieces for each thread: with several, threads end at about the same time.
const PIECES: usize = 8;
/// Rows for each thread from which on the rows are divided, as those of other loops.
const MANY: usize = 256;
/// Columns of the shortest row of one tile: the steps do as well with less.
const SHORT: usize = 64;
/// Rows of one tile that a piece has.
const TOGETHER: usize = 16;

/// Computes the reductions of a loop whose rows are few and long, but for those that are there:
/// their numbers, and where the results are.
///
/// # Safety
/// As [`super::run_loop`].
pub(super) unsafe fn reduce_long_rows(
    program: &LoopProgram,
    (launch, part): (&Launch<'_>, Part<'_>),
    (settings, workers): (&Settings, &Workers),
    known: &[(usize, *mut u8)],
    shared: &mut Shared,
) {
    let mut number = 0;
    let n_threads = workers.count();
    for step in &program.steps {
        let Step::RowReduce {
            ref reduce,
            matrix,
            x,
            ..
        } = *step
        else {
            continue;
        };
        if shared.reduced.len() == number {
            shared.reduced.push(Vec::new());
        }
        let extent = launch.domains[program.domain as usize];
        let n_rows = extent.len as usize;
        // One of the threads has much more than its share of the tiles of rows.
        let tile = extent.tiles.tile_len();
        let heaviest = n_rows.div_ceil(tile).div_ceil(n_threads) * tile;
        let is_uneven = n_threads > 1
            && !program.reductions.is_empty()
            && heaviest.min(n_rows) * n_threads * 8 > n_rows * 9;
        let known = known.iter().find(|(of, _)| *of == number);
        let long = Long::new(reduce, (matrix, x), launch, (n_rows, n_threads), is_uneven)
            .filter(|_| part == Part::All && known.is_none());
        let results = match (known, long) {
            (Some(&(_, results)), _) => results,
            // SAFETY: the caller's promises.
            (None, Some(long)) => unsafe {
                long.run(&mut shared.reduced[number], settings, workers)
            },
            (None, None) => std::ptr::null_mut(),
        };
        shared.arrays.push(Array::of(results, true));
        number += 1;
    }
}

/// A reduction of few, long rows.
struct Long<'a> {
    reduce: &'a RowReduction,
    /// All rows, and all columns.
    rows: DenseRows,
    /// Rows of a panel: one where the elements of a row are neighbours and of several tiles.
    panel: usize,
    n_panels: usize,
    /// Tiles of a unit, a power of two, and how many units there are.
    tiles: usize,
    n_units: usize,
}

// SAFETY: threads only read what the pointers lead to.
unsafe impl Sync for Long<'_> {}

impl<'a> Long<'a> {
    /// `None` where the steps do as well.
    fn new(
        reduce: &'a RowReduction,
        (matrix, x): (ArgId, Option<ArgId>),
        launch: &Launch<'_>,
        (n_rows, n_threads): (usize, usize),
        is_uneven: bool,
    ) -> Option<Self> {
        let Operand::DenseRows {
            data,
            ref layout,
            columns,
            column_stride,
        } = launch.operands[matrix as usize]
        else {
            return None;
        };
        let (layout, size, tile_len) = (simplify(layout), reduce.size, launch.tile_len);
        let is_contiguous = column_stride == 1;
        let is_side_by_side = (layout.rank, layout.strides[0]) == (1, 1);
        let n_tiles = columns.div_ceil(tile_len);
        let is_long = n_tiles >= 2 && n_rows < MANY * n_threads;
        if n_rows == 0 || !(is_long || is_uneven && columns >= SHORT) {
            return None;
        }
        if layout.rank > 1 || !(is_contiguous || is_side_by_side) {
            return None;
        }
        let x = match x {
            None => std::ptr::null(),
            Some(x) => launch.operands[x as usize].side_by_side(columns)?,
        };
        let panel = match is_contiguous {
            true if n_tiles >= 2 => 1,
            true => TOGETHER,
            false => panel_rows(size).min(n_rows),
        };
        let n_panels = n_rows.div_ceil(panel);
        let wanted = (PIECES * n_threads).div_ceil(n_panels);
        let tiles = 1 << (n_tiles / wanted).max(1).ilog2();
        Some(Self {
            reduce,
            rows: DenseRows {
                n: n_rows,
                data,
                row_bytes: layout.strides[0] * size as isize,
                column_bytes: column_stride * size as isize,
                first: 0,
                end: columns,
                x,
                tile_len,
                identity: reduce.identity,
                panel: std::ptr::null_mut(),
            },
            panel,
            n_panels,
            tiles,
            n_units: n_tiles.div_ceil(tiles),
        })
    }

    /// The reductions of all rows, in `memory`.
    ///
    /// # Safety
    /// The matrix must be readable.
    unsafe fn run(
        &self,
        memory: &mut Vec<u128>,
        settings: &Settings,
        workers: &Workers,
    ) -> *mut u8 {
        // The values of each unit, unit by unit: the subtree that ends with a unit is joined with
        // the earlier ones in their places.
        let unit_bytes = self.rows.n * self.reduce.size;
        let words = (self.n_units * unit_bytes).div_ceil(size_of::<u128>());
        if memory.len() < words {
            memory.resize(words, 0);
        }
        let values = Values(memory.as_mut_ptr().cast());
        let n_pieces = self.n_units * self.n_panels;
        let n_parts = match self.rows.n * self.rows.end < settings.parallel_threshold {
            true => 1,
            false => workers.count().min(n_pieces),
        };
        workers.run(n_parts, |part| {
            PANEL.with_borrow_mut(|panel| {
                let panel = panel.of(panel_bytes(self.tiles));
                for piece in n_pieces * part / n_parts..n_pieces * (part + 1) / n_parts {
                    let (unit, first) = (piece / self.n_panels, piece % self.n_panels * self.panel);
                    let of_unit = values.at(unit * unit_bytes);
                    // SAFETY: the caller promises the matrix; no other piece has these rows of this
                    // unit.
                    unsafe { self.run_piece(unit, first, of_unit, (settings, panel)) };
                }
            });
        });
        let Values(values) = values;
        // SAFETY: the values of all units are there.
        unsafe { self.join_units(values, unit_bytes) }
    }

    /// The values of one panel of rows in one unit.
    unsafe fn run_piece(
        &self,
        unit: usize,
        first: usize,
        values: *mut u8,
        (settings, panel): (&Settings, *mut u8),
    ) {
        let columns = self.tiles * self.rows.tile_len;
        let rows = DenseRows {
            n: self.panel.min(self.rows.n - first),
            data: (self.rows.data).wrapping_offset(first as isize * self.rows.row_bytes),
            first: unit * columns,
            end: ((unit + 1) * columns).min(self.rows.end),
            panel,
            ..self.rows
        };
        // SAFETY: forwarded; the panel has room for the subtrees of a unit.
        unsafe {
            self.reduce.run.get(settings.isa)(&rows, values.add(first * self.reduce.size));
        }
    }

    /// Joins the values of the units, which have the places of tiles in the tree, and returns where
    /// the results are.
    unsafe fn join_units(&self, values: *mut u8, unit_bytes: usize) -> *mut u8 {
        let join = self.reduce.join;
        let at = |unit: usize| values.wrapping_add(unit * unit_bytes);
        // The values of the subtrees so far are the first ones.
        let mut n_trees: usize = 0;
        for unit in 0..self.n_units {
            // SAFETY: `n_trees <= unit`, and each unit has the values of all rows.
            unsafe {
                for _ in 0..unit.trailing_ones() {
                    n_trees -= 1;
                    join(at(n_trees), at(unit), self.rows.n);
                }
                at(unit).copy_to(at(n_trees), unit_bytes);
            }
            n_trees += 1;
        }
        for tree in (0..n_trees - 1).rev() {
            // SAFETY: as above.
            unsafe { join(at(tree), at(n_trees - 1), self.rows.n) };
        }
        at(n_trees - 1)
    }
}

/// Where the values of units are.
struct Values(*mut u8);

// SAFETY: pieces write values that no other piece has.
unsafe impl Sync for Values {}

impl Values {
    fn at(&self, offset: usize) -> *mut u8 {
        self.0.wrapping_add(offset)
    }
}

thread_local! {
    static PANEL: RefCell<Buffer> = const { RefCell::new(Buffer::EMPTY) };
}
