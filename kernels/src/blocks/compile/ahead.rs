//! One loop run ahead of the next, which gathers what it writes.
//!
//! In `p = r + beta p; q = A p` the product reads elements of `p` that belong to other rows, so the
//! two loops cannot become one. But where all columns lie within a few rows of the diagonal (the
//! *reach* of the matrix), it is enough that the first loop is those rows ahead: `p` is computed
//! and read while it is in the cache.
//!
//! [`Ahead::plan`] decides from the kernel which pairs of loops admit it, [`Ahead::reach`] from the
//! launch how far ahead the first has to be. Where ghosts travel meanwhile, both loops run the rows
//! that need none, and the first has run the others before. The first loop may not reduce. Memory
//! that both loops reach and one of them writes must be the same array, row by row, or be gathered
//! by products of the second loop. So every row of the first loop finds what it would find if it
//! ran before the second loop began, and every row of the second what the first left.

use crate::blocks::Part;
use crate::ir::{ArgId, Inst, Kernel, Loop};
use crate::launch::{Launch, Operand};
use crate::packed::GROUP;

/// How far the columns of a product may lie from the diagonal, in rows: they stay in the L2 cache.
const FARTHEST: usize = 1 << 16;

/// What a launch has to keep so that the first of two loops may run ahead.
#[derive(Clone, Debug)]
pub(crate) struct Ahead {
    /// Arrays of both loops that must be the same.
    same: Vec<(ArgId, ArgId)>,
    /// What the first loop writes and the second gathers, with the structure that says where.
    gathered: Vec<(ArgId, ArgId, ArgId)>,
    /// Arrays of the second loop that both read, row by row.
    shared: Vec<ArgId>,
}

/// The rows before and behind its own that a row of the second loop reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) below: usize,
    pub(crate) above: usize,
}

/// A way to reach memory.
#[derive(Clone, Copy, Debug)]
struct Access {
    arg: ArgId,
    way: Way,
    is_write: bool,
}

#[derive(Clone, Copy, Debug)]
enum Way {
    /// The element of the row.
    Row,
    /// One element, before all rows.
    Uniform,
    /// The elements that a row of this structure names.
    Gather(ArgId),
    /// Anything else.
    Other,
}

impl Ahead {
    /// Whether the first loop may run ahead of the second, on launches that keep the promises.
    pub(crate) fn plan(kernel: &Kernel, first: &Loop, second: &Loop) -> Option<Self> {
        let reduces = |inst: &Inst| matches!(inst, Inst::Reduce(..));
        if first.domain != second.domain || first.body.iter().any(reduces) {
            return None;
        }
        let memory = |access: &Access| kernel.args[access.arg as usize].memory;
        let mut plan = Self {
            same: Vec::new(),
            gathered: Vec::new(),
            shared: Vec::new(),
        };
        let later = accesses(second);
        if !later.iter().any(|b| matches!(b.way, Way::Gather(_))) {
            return None;
        }
        for a in accesses(first) {
            let meets = |b: &&Access| memory(&a) == memory(b);
            for b in later.iter().filter(meets) {
                if !(a.is_write || b.is_write) {
                    let is_by_row = matches!((a.way, b.way), (Way::Row, Way::Row));
                    plan.shared.extend(is_by_row.then_some(b.arg));
                    continue;
                }
                match (a.way, b.way) {
                    (Way::Row, Way::Row) => plan.same.push((a.arg, b.arg)),
                    (Way::Row, Way::Gather(structure)) => {
                        plan.gathered.push((a.arg, b.arg, structure));
                    }
                    (Way::Uniform, Way::Uniform) => {}
                    _ => return None,
                }
            }
        }
        (!plan.gathered.is_empty()).then_some(plan)
    }

    /// The arrays of the second loop whose rows the first one reaches too, so that it finds them
    /// in a cache.
    pub(crate) fn met_by_second(&self) -> impl Iterator<Item = ArgId> {
        let same = self.same.iter().map(|&(_, arg)| arg);
        let gathered = self.gathered.iter().map(|&(_, x, _)| x);
        same.chain(gathered).chain(self.shared.iter().copied())
    }

    /// How far ahead the first loop has to be; `None` where it has to end before the second
    /// begins.
    pub(crate) fn reach(&self, launch: &Launch<'_>, part: Part<'_>) -> Option<Reach> {
        let needs_no_ghosts = match part {
            Part::All => false,
            // The rows between them would have to be left out.
            Part::Tiles(ranges) if ranges.len() != 1 => return None,
            Part::Tiles(_) => true,
        };
        let operand = |arg: ArgId| launch.operands[arg as usize];
        let array = |arg: ArgId| match operand(arg) {
            Operand::Array { data, layout } if layout.is_contiguous() => Some(data.cast_const()),
            _ => None,
        };
        let is_same = |&(a, b): &(ArgId, ArgId)| array(a).is_some() && array(a) == array(b);
        if !self.same.iter().all(is_same) {
            return None;
        }
        let mut reach = Reach { below: 0, above: 0 };
        for &(written, x, structure) in &self.gathered {
            let Operand::Gather {
                own,
                ghosts,
                width: 1,
                ..
            } = operand(x)
            else {
                return None;
            };
            let Operand::Structure(structure) = operand(structure) else {
                return None;
            };
            if array(written) != Some(own) || !(ghosts.is_null() || needs_no_ghosts) {
                return None;
            }
            reach.below = reach.below.max(structure.below);
            reach.above = reach.above.max(structure.above);
        }
        // A product computes up to a group of rows that it then does not write.
        reach.above = reach.above.checked_add(GROUP)?;
        let width = reach.below.checked_add(reach.above)?;
        (width <= FARTHEST).then_some(reach)
    }
}

fn accesses(loop_: &Loop) -> Vec<Access> {
    let mut accesses = Vec::with_capacity(loop_.body.len());
    for inst in &loop_.body {
        let mut push = |arg: ArgId, way: Way, is_write: bool| {
            accesses.push(Access { arg, way, is_write });
        };
        match *inst {
            Inst::Load(arg) => push(arg, Way::Row, false),
            Inst::Store(arg, _) => push(arg, Way::Row, true),
            Inst::LoadScalar(arg) => push(arg, Way::Uniform, false),
            Inst::StoreScalar(arg, _) => push(arg, Way::Uniform, true),
            Inst::Reduce(_, arg, _) => push(arg, Way::Other, true),
            Inst::RowSum {
                structure,
                entries,
                x,
            } => {
                push(entries, Way::Other, false);
                push(x, Way::Gather(structure), false);
            }
            Inst::Gather { x, .. } => push(x, Way::Other, false),
            Inst::RowReduce { rows, x, .. } => {
                push(rows, Way::Other, false);
                x.into_iter().for_each(|x| push(x, Way::Other, false));
            }
            Inst::Const(_)
            | Inst::Param(_)
            | Inst::Index
            | Inst::Unary(..)
            | Inst::Binary(..)
            | Inst::Select(..)
            | Inst::Cast(..)
            | Inst::Random { .. } => {}
        }
    }
    accesses
}

#[cfg(test)]
mod tests {
    #![expect(unsafe_code, reason = "runs programs on memory of the tests")]

    use super::*;
    use crate::blocks::{Part, Program, Settings};
    use crate::element::DType;
    use crate::ir::ReduceOp;
    use crate::ir::{ArgKind, BinaryOp, KernelBuilder, ValueId};
    use crate::launch::{Extent, Layout, Packed, Structure};
    use crate::packed::{PackedStructure, PackedValues, PlainRows, Words};
    use crate::reduce::Partial;
    use crate::tiles::Tiles;
    use crate::workers::Workers;
    use crate::{random, reference};
    use std::ops::Range;

    /// `p = r + 2 p`, in the memory of the old `p`, then `q = A p` and `p . q`.
    fn kernel() -> Kernel {
        let mut build = KernelBuilder::new();
        let [r, old, new, q] = [(); 4].map(|()| build.arg(DType::F64, ArgKind::Array));
        let structure = build.arg(DType::U32, ArgKind::Structure);
        let entries = build.arg(DType::F64, ArgKind::Entries);
        let x = build.arg(DType::F64, ArgKind::Gather);
        let dot = build.arg(DType::F64, ArgKind::Reduction);
        let values: [ValueId; 2] = [r, old].map(|arg| build.load(arg));
        let twice = build.binary(BinaryOp::Add, values[1], values[1]);
        let sum = build.binary(BinaryOp::Add, values[0], twice);
        build.store(new, sum);
        let mut kernel = build.finish();
        kernel.args[new as usize].memory = old;
        kernel.args[x as usize].memory = old;
        let body = vec![
            Inst::RowSum {
                structure,
                entries,
                x,
            },
            Inst::Store(q, 0),
            Inst::Load(new),
            Inst::Binary(BinaryOp::Mul, 0, 2),
            Inst::Reduce(ReduceOp::Sum, dot, 3),
        ];
        kernel.loops.push(Loop { domain: 0, body });
        kernel
    }

    /// Rows with entries up to `reach` away from the diagonal.
    fn matrix(n: usize, reach: usize) -> (Vec<u64>, Vec<u32>, Vec<f64>) {
        let (mut pos, mut crd, mut vals) = (vec![0], Vec::new(), Vec::new());
        for row in 0..n {
            let ends = row.saturating_sub(reach)..(row + reach + 1).min(n);
            let is_scattered = (row / 300) % 2 == 1;
            for column in ends.clone() {
                let is_end = column == ends.start || column + 1 == ends.end || column == row;
                let chance = random::uniform(1, (row * n + column) as u64);
                if is_end || (is_scattered && chance < 4.0 / reach as f64) {
                    crd.push(column as u32);
                    vals.push(if is_scattered { chance } else { -1.5 });
                }
            }
            pos.push(crd.len() as u64);
        }
        (pos, crd, vals)
    }

    /// What a run leaves in `p`, `q` and the partial results.
    fn run(
        n: usize,
        reach: usize,
        is_packed: bool,
        run: impl Fn(&Launch<'_>),
    ) -> (Vec<f64>, Vec<f64>, Vec<Partial>) {
        let (pos, crd, vals) = matrix(n, reach);
        let words: Vec<u64> = vals.iter().map(|value| value.to_bits()).collect();
        let workers = Workers::new(1).unwrap();
        let plain = PlainRows {
            pos: &pos,
            crd: &crd,
            own_len: n,
        };
        let structure = PackedStructure::plan(plain, &workers).unwrap();
        let mut columns = vec![0; structure.column_bytes()];
        structure.fill_columns(plain, &mut columns, &workers);
        let values = PackedValues::plan(&structure, plain, Words::Eight(&words), &workers).unwrap();
        let mut data = vec![0; values.bytes()];
        values.fill(&structure, plain, Words::Eight(&words), &mut data, &workers);

        let r: Vec<f64> = (0..n).map(|i| random::uniform(2, i as u64)).collect();
        let mut p: Vec<f64> = (0..n).map(|i| random::uniform(3, i as u64)).collect();
        let mut q = vec![0.0; n];
        let nothing = Partial {
            bits: [0; 2],
            index: 0,
        };
        let mut partials = vec![nothing; n];
        let (below, above) = Structure::reach(0..n, &pos, &crd);
        let p_data = p.as_mut_ptr();
        let array = |data: *mut f64| Operand::Array {
            data: data.cast(),
            layout: Layout::contiguous(n),
        };
        let operands = [
            array(r.as_ptr().cast_mut()),
            array(p_data),
            array(p_data),
            array(q.as_mut_ptr()),
            Operand::Structure(Structure {
                singles: false,
                pos: pos.as_ptr(),
                crd: crd.as_ptr(),
                rows: n,
                entries: crd.len(),
                below,
                above,
            }),
            if is_packed {
                Operand::Packed(Packed {
                    structure: &raw const structure,
                    values: &raw const values,
                    columns: columns.as_ptr(),
                    data: data.as_ptr(),
                })
            } else {
                Operand::Entries {
                    data: vals.as_ptr().cast(),
                }
            },
            Operand::Gather {
                own: p_data.cast_const().cast(),
                own_len: n,
                ghosts: std::ptr::null(),
                width: 1,
            },
            Operand::Reduction {
                partials: partials.as_mut_ptr(),
            },
        ];
        run(&Launch {
            domains: &[Extent {
                start: 0,
                len: n as u64,
                tiles: Tiles::of_vector(256),
            }],
            operands: &operands,
            params: &[],
            tile_len: 256,
        });
        (p, q, partials)
    }

    #[test]
    fn a_loop_that_runs_ahead_leaves_the_same_bits() {
        let kernel = kernel();
        let program = Program::compile(&kernel);
        assert!(program.ahead[0].is_some());
        for (n, reach) in [
            (1, 1),
            (300, 7),
            (5000, 1),
            (5000, 70),
            (7000, 900),
            (900, 899),
            (1100, 3), // five tiles: shares of two and three threads are uneven
        ] {
            let expected = run(n, reach, false, |launch| {
                // SAFETY: the operands are vectors of `run` that fit the kernel.
                unsafe { reference::run(&kernel, launch) };
            });
            for threads in [1, 2, 3] {
                let workers = Workers::new(threads).unwrap();
                for (block_len, is_packed) in [
                    (0, false),
                    (0, true),
                    (7, true),
                    (64, false),
                    (256, true),
                    (1000, true),
                ] {
                    let settings = Settings {
                        block_len,
                        parallel_threshold: 0,
                        ..Settings::default()
                    };
                    let found = run(n, reach, is_packed, |launch| {
                        let ahead = program.ahead[0].as_ref().unwrap();
                        assert!(ahead.reach(launch, Part::All).is_some());
                        // SAFETY: as above.
                        unsafe { program.run(launch, Part::All, &settings, &workers) };
                    });
                    assert!(
                        found == expected,
                        "{n} rows, reach {reach}, {threads} threads, {settings:?}, {is_packed}"
                    );
                }
            }
        }
    }

    #[test]
    fn rows_without_ghosts_run_apart_from_the_others() {
        let kernel = kernel();
        let program = Program::compile(&kernel);
        assert!(program.is_divisible());
        let (n, reach) = (7000, 900);
        let expected = run(n, reach, false, |launch| {
            // SAFETY: the operands are vectors of `run` that fit the kernel.
            unsafe { reference::run(&kernel, launch) };
        });
        // One range, in which the first loop runs ahead, and several.
        let splits: [&[Range<u64>]; 3] = [
            &[0..5, 5..20, 20..28],
            &[0..3, 3..27, 27..28],
            &[0..4, 4..9, 9..15, 15..23, 23..28],
        ];
        for threads in [1, 2, 3] {
            let workers = Workers::new(threads).unwrap();
            for ranges in splits {
                let every_second = |first| -> Vec<_> {
                    let ranges = ranges.iter().skip(first);
                    ranges.step_by(2).cloned().collect()
                };
                let (interior, boundary) = (every_second(1), every_second(0));
                let (interior, boundary) = (Part::Tiles(&interior), Part::Tiles(&boundary));
                let found = run(n, reach, true, |launch| {
                    let settings = Settings {
                        parallel_threshold: 0,
                        ..Settings::default()
                    };
                    for some in [(0..1, boundary), (0..2, interior), (1..2, boundary)] {
                        // SAFETY: as above; the first loop has written the rows at the boundary.
                        unsafe { program.run_loops(launch, some, &settings, &workers) };
                    }
                });
                assert!(found == expected, "{threads} threads, {ranges:?}");
            }
        }
    }

    #[test]
    fn loops_that_meet_otherwise_run_one_after_the_other() {
        let plan = |kernel: &Kernel| Ahead::plan(kernel, &kernel.loops[0], &kernel.loops[1]);
        let mut reducing = kernel();
        let dot = reducing.args.len() as ArgId - 1;
        reducing.loops[0]
            .body
            .push(Inst::Reduce(ReduceOp::Sum, dot, 3));
        assert!(plan(&reducing).is_none());
        let mut other_rows = kernel();
        other_rows.loops[1].domain = 1;
        assert!(plan(&other_rows).is_none());
        let mut entries_written = kernel();
        entries_written.args[5].memory = 1;
        assert!(plan(&entries_written).is_none());
        let mut nothing_gathered = kernel();
        nothing_gathered.args[6].memory = 6;
        assert!(plan(&nothing_gathered).is_none());
    }
}
