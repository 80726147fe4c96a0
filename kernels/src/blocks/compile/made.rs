//! Matrices that one loop makes and the next one reduces row by row.
//!
//! `(a - b).square().sum_axis(1)` is two loops, over the elements and over the rows, and between
//! them lies a matrix. Here the first loop makes some rows at a time and the second one's
//! reductions take them while they are in the cache. Where nothing else reads the matrix, it has no
//! memory but that of these rows, one piece for each thread.
//!
//! The rest of the second loop runs when all rows are reduced, so what it writes may be anything
//! that the first one reads.

use super::{LoopProgram, Step};
use crate::blocks::Settings;
use crate::blocks::loops::rows::RowReduction;
use crate::ir::{ArgId, Inst, Kernel};
use crate::launch::{Launch, Operand};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of the rows that are made at a time: a part of an L2 cache, with room for what they are
/// made of.
const AT_A_TIME: usize = 256 << 10;
/// Bytes of the longest row, which is made alone.
const LONGEST: usize = 1 << 20;

/// What the first of two loops makes for the reductions of the second.
#[derive(Debug)]
pub(crate) struct Made {
    /// One for each of these reductions.
    pub(crate) reductions: Vec<OfRows>,
    /// The arrays that are made, which need no memory.
    pub(crate) passing: Vec<(ArgId, usize)>,
    /// Whether the last run made them so.
    has_run: AtomicBool,
}

/// A reduction of the rows of a matrix that is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfRows {
    /// Its number among the row reductions of its loop.
    pub(crate) number: usize,
    pub(crate) reduce: RowReduction,
    /// The matrix, as it is stored and as it is reduced.
    pub(crate) stored: ArgId,
    pub(crate) matrix: ArgId,
    /// What the elements of a row are multiplied by.
    pub(crate) x: Option<ArgId>,
}

/// How a launch divides the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batches {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Rows that are made at a time.
    pub(crate) batch: usize,
}

impl Made {
    /// What loop `number` of a kernel makes for the next one; `None` if that is nothing.
    pub(crate) fn plan(kernel: &Kernel, programs: &[LoopProgram], number: usize) -> Option<Self> {
        let [first, second] = [&programs[number], &programs[number + 1]];
        if !first.is_plain() || second.is_plain() {
            return None;
        }
        let memory = |arg: ArgId| kernel.args[arg as usize].memory;
        let stores = || {
            first.steps.iter().filter_map(|step| match *step {
                Step::Store { arg, size, .. } => Some((arg, size)),
                _ => None,
            })
        };
        let is_stored = |arg: ArgId| stores().any(|(other, _)| memory(other) == memory(arg));
        let mut reductions = Vec::new();
        let reduces = second.steps.iter().filter_map(|step| match *step {
            Step::RowReduce {
                reduce, matrix, x, ..
            } => Some((reduce, matrix, x)),
            _ => None,
        });
        for (number, (reduce, matrix, x)) in reduces.enumerate() {
            // Each element is what one store has made of it, and no other argument is that memory.
            let mut stored = stores().filter(|&(arg, _)| memory(arg) == memory(matrix));
            let (Some((stored, _)), None) = (stored.next(), stored.next()) else {
                continue;
            };
            if first.write_only.contains(&stored) && !x.is_some_and(is_stored) {
                reductions.push(OfRows {
                    number,
                    reduce,
                    stored,
                    matrix,
                    x,
                });
            }
        }
        if reductions.is_empty() {
            return None;
        }
        // Whatever else reaches the memory of a matrix wants all of it.
        let passes = |stored: ArgId| {
            let mut is_met = !kernel.args[stored as usize].temporary;
            for (of, loop_) in kernel.loops.iter().enumerate() {
                for inst in &loop_.body {
                    let is_known = match *inst {
                        Inst::Store(arg, _) => of == number && arg == stored,
                        Inst::RowReduce { rows, x, .. } => {
                            let is_of = |it: &OfRows| (it.matrix, it.x) == (rows, x);
                            of == number + 1 && reductions.iter().any(is_of)
                        }
                        _ => false,
                    };
                    inst.for_each_arg(|arg| {
                        is_met |= memory(arg) == memory(stored) && !is_known;
                    });
                }
            }
            !is_met
        };
        let passing = stores().filter(|&(arg, _)| {
            let mut reductions = reductions.iter();
            reductions.any(|of| of.stored == arg) && passes(arg)
        });
        Some(Self {
            passing: passing.collect(),
            reductions,
            has_run: AtomicBool::new(false),
        })
    }

    /// How a launch divides the rows; `None` where the loops run one after the other: the matrices
    /// fit the cache as a whole, or few rows do not, or they lie in another way.
    pub(crate) fn batches(
        &self,
        programs: [&LoopProgram; 2],
        launch: &Launch<'_>,
        (settings, threads): (&Settings, usize),
    ) -> Option<Batches> {
        let batches = self.divide(programs, launch, (settings, threads));
        self.has_run.store(batches.is_some(), Ordering::Relaxed);
        batches
    }

    fn divide(
        &self,
        programs: [&LoopProgram; 2],
        launch: &Launch<'_>,
        (settings, threads): (&Settings, usize),
    ) -> Option<Batches> {
        let [elements, rows] =
            programs.map(|program| launch.domains[program.domain as usize].len as usize);
        let columns = elements.checked_div(rows)?;
        if columns == 0 || rows * columns != elements {
            return None;
        }
        let are_rows = |of: &OfRows| {
            let stored = match launch.operands[of.stored as usize] {
                Operand::Array { data, layout } if layout.is_contiguous() => data,
                _ => return false,
            };
            let Operand::DenseRows {
                data,
                ref layout,
                columns: len,
                column_stride,
            } = launch.operands[of.matrix as usize]
            else {
                return false;
            };
            let is_there = |x: ArgId| launch.operands[x as usize].side_by_side(columns).is_some();
            data == stored.cast_const()
                && of.x.is_none_or(is_there)
                && (len, column_stride) == (columns, 1)
                && layout.is_even(columns as isize)
        };
        let mut made: Vec<(ArgId, usize)> = Vec::new();
        for of in &self.reductions {
            if !are_rows(of) {
                return None;
            }
            if !made.iter().any(|&(arg, _)| arg == of.stored) {
                made.push((of.stored, of.reduce.size));
            }
        }
        let row_bytes = columns * made.iter().map(|(_, size)| size).sum::<usize>();
        if rows * row_bytes < settings.band_threshold || row_bytes > LONGEST {
            return None;
        }
        // Several batches for each thread, so that all end at about the same time.
        let fair = rows.div_ceil(4 * threads);
        Some(Batches {
            rows,
            columns,
            batch: (AT_A_TIME / row_bytes).min(fair).max(1),
        })
    }

    /// How the last run made the matrices, if it made them some rows at a time.
    pub(crate) fn note(&self, number: usize) -> Option<String> {
        let has_run = self.has_run.load(Ordering::Relaxed);
        let (n, of) = (self.reductions.len(), self.passing.len());
        has_run.then(|| {
            format!(
                "loop {number} makes rows that loop {} reduces while they are in the cache: {n} \
                 reductions, {of} matrices without memory of their own",
                number + 1
            )
        })
    }
}
