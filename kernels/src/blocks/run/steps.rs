//! One block through all steps of a loop.
#![expect(
    unsafe_code,
    reason = "follows the pointers of a launch, block by block"
)]

use super::bound::Address;
use super::stream;
use super::strided::{copy_run, gather, scatter, walk};
use super::uniform::misbound;
use super::worker::{Run, Worker};
use crate::abi::CHUNK;
use crate::blocks::compile::Step;
use crate::blocks::compile::lower::Terms;
use crate::blocks::compile::slots::SlotId;
use crate::blocks::loops::gathers;
use crate::blocks::loops::map::Input;
use crate::blocks::loops::row_fold::DenseRows;
use crate::blocks::loops::rows::{RowReduction, panel_bytes};
use crate::blocks::loops::streams::Term;
use crate::ir::ArgId;
use crate::launch::{Launch, Operand};
use std::ops::Range;

impl Worker<'_> {
    /// Takes the rows `first..first + n` through all steps; `is_in_place` tells whether the
    /// addresses of all arrays are their own.
    ///
    /// # Safety
    /// As [`Worker::run`].
    pub(crate) unsafe fn run_steps(
        &mut self,
        (addresses, is_in_place): (&[Address], bool),
        first: usize,
        n: usize,
    ) {
        let program = self.run.program;
        let (n_busy, later) = (program.busy.len(), first + n..first + 2 * n);
        // SAFETY: forwarded.
        unsafe {
            if is_in_place {
                for (place, &number) in program.busy.iter().enumerate() {
                    self.fetch(&later, (place, n_busy));
                    self.run_step(number as usize, addresses, first, n);
                }
            } else {
                for number in 0..program.steps.len() {
                    self.fetch(&later, (number, program.steps.len()));
                    self.run_step(number, addresses, first, n);
                }
            }
        }
    }

    /// Asks for a share of the rows of the next block.
    fn fetch(&self, later: &Range<usize>, (number, of): (usize, usize)) {
        for array in self.fetched {
            array.share(later, number, of);
        }
    }

    /// # Safety
    /// As [`Worker::run`]; the steps before have been run.
    #[inline]
    unsafe fn run_step(&mut self, number: usize, addresses: &[Address], first: usize, n: usize) {
        let run = self.run;
        let chunks = n.div_ceil(CHUNK);
        let of = |slot: SlotId| addresses[slot as usize];
        let input = |slot: SlotId| Input {
            data: of(slot).at(first),
            step: of(slot).step,
        };
        // SAFETY: slots hold their rows as `compile` has planned it: `chunks` whole chunks in
        // registers, and in arrays where `n` is a multiple of `CHUNK`. The caller promises the
        // rows of all operands.
        unsafe {
            match run.program.steps[number] {
                Step::Map {
                    run: map,
                    out,
                    inputs,
                } => {
                    let inputs = [input(inputs[0]), input(inputs[1]), input(inputs[2])];
                    map.get(run.isa)(chunks, of(out).at(first), &inputs);
                }
                Step::Index { out } => {
                    let row = run.extent.start + first as u64;
                    write_index(row as i64, n, of(out).at(first));
                }
                Step::Load { arg, size, out } => run.load(arg, size, of(out), first, n),
                Step::Store {
                    arg,
                    size,
                    value,
                    is_direct,
                } => {
                    if !(is_direct && of(value).row_bytes > 0) {
                        run.store(arg, size, of(value).at(first), first, n);
                    }
                }
                Step::RowSum { ref sums, out } => {
                    let out = of(out).at(first);
                    match run.sums_before(number) {
                        Some(before) => {
                            let before = before.wrapping_add(first * sums.size);
                            before.copy_to(out, n * sums.size);
                        }
                        None => run.sum_rows(sums, first, n, out),
                    }
                }
                Step::Gather {
                    structure,
                    x,
                    size,
                    out,
                } => {
                    let rows = run.named_rows([structure, x], first, n);
                    gathers::gather(size, &rows, of(out).at(first));
                }
                Step::RowReduce {
                    reduce,
                    matrix,
                    x,
                    out,
                } => {
                    let out = of(out).at(first);
                    match results(run, number) {
                        Some(results) => {
                            let results = results.wrapping_add(first * reduce.size);
                            results.copy_to(out, n * reduce.size);
                        }
                        None => self.reduce_rows(&reduce, (matrix, x), first, n, out),
                    }
                }
                Step::ReduceProduct {
                    run: add,
                    reduction,
                    factors,
                    ..
                } => {
                    let row = self.place_in_tile(first);
                    let factors = [input(factors[0]), input(factors[1])];
                    add.get(run.isa)(&mut self.lanes[reduction], row, n, &factors);
                }
                Step::Update {
                    run: update,
                    target,
                    terms,
                    out,
                } => {
                    let terms = self.factors(terms, addresses, first);
                    let (out, target) = (of(out).at(first), of(target).at(first));
                    update.get(run.isa)(chunks, out, target, terms);
                }
                Step::ReduceProducts { run: add, terms } => {
                    let row = self.place_in_tile(first);
                    let sums = &run.program.sums[terms.first..terms.end];
                    self.factors(terms, addresses, first);
                    let ahead = run.rows_ahead.unwrap_or(0);
                    add.get(run.isa)(self.lanes, (row, n), self.terms, sums, ahead);
                }
                Step::Reduce { reduction, value } => {
                    let row = self.place_in_tile(first);
                    let add = run.program.reductions[reduction].1.add().get(run.isa);
                    add(&mut self.lanes[reduction], row, n, of(value).at(first));
                }
            }
        }
    }
}

impl Worker<'_> {
    /// Where a row stands in the tile that is being reduced.
    fn place_in_tile(&self, row: usize) -> u64 {
        (row - self.tile_start) as u64
    }

    /// The factors of some terms, from a row on.
    fn factors(&mut self, terms: Terms, addresses: &[Address], first: usize) -> &[Term] {
        let slots = &self.run.program.terms[terms.first..terms.end];
        self.terms.clear();
        let at = |slot: SlotId| addresses[slot as usize].at(first).cast_const();
        self.terms.extend(slots.iter().map(|&[a, b]| Term {
            factors: [at(a), at(b)],
        }));
        self.terms
    }
}

unsafe fn write_index(first: i64, n: usize, out: *mut u8) {
    for i in 0..n {
        // SAFETY: the caller promises room for `n` elements.
        unsafe { out.cast::<i64>().add(i).write_unaligned(first + i as i64) };
    }
}

/// The results of the reduction that is step `number` of a loop, if they are there (`reduced.rs`).
fn results(run: &Run<'_>, number: usize) -> Option<*const u8> {
    let is_reduction = |step: &&Step| matches!(step, Step::RowReduce { .. });
    let before = run.program.steps[..number].iter().filter(is_reduction);
    let results = run.arrays.get(run.launch.operands.len() + before.count())?;
    (!results.data.is_null()).then_some(results.data.cast_const())
}

impl Worker<'_> {
    /// Writes the reductions of the rows of a dense matrix to `out`.
    unsafe fn reduce_rows(
        &mut self,
        reduce: &RowReduction,
        (matrix, x): (ArgId, Option<ArgId>),
        first: usize,
        n: usize,
        out: *mut u8,
    ) {
        let Operand::DenseRows {
            data,
            columns,
            column_stride,
            ..
        } = self.run.launch.operands[matrix as usize]
        else {
            misbound(matrix, "dense rows")
        };
        let (size, tile_len) = (reduce.size, self.run.launch.tile_len);
        let row_len = columns * size;
        let is_contiguous = column_stride == 1 || columns <= 1;
        // Room for a panel, or for a row whose elements do not lie side by side; and for `x`.
        let room = match is_contiguous {
            true => 0,
            false => row_len.max(panel_bytes(columns.div_ceil(tile_len))),
        };
        let launch = self.run.launch;
        let (x, spare) = match x.map(|x| (x, launch.operands[x as usize].side_by_side(columns))) {
            None => (std::ptr::null(), self.dense.of(room)),
            Some((_, Some(x))) => (x, self.dense.of(room)),
            Some((x, None)) => {
                let spare = self.dense.of(room + row_len);
                // SAFETY: `x` has an element for each column, and the buffer room for them.
                let x = unsafe { copy_x(launch, x, size, columns, spare.add(room)) };
                (x, spare)
            }
        };
        let column_bytes = match is_contiguous {
            true => size as isize,
            false => column_stride * size as isize,
        };
        let run = reduce.run.get(self.run.isa);
        let mut out = out;
        walk(
            &self.run.layout(matrix),
            first,
            n,
            |offset, n, row_stride| {
                // Rows without elements may have no memory to step through.
                let row_bytes = match columns {
                    0 => 0,
                    _ => row_stride * size as isize,
                };
                let rows = DenseRows {
                    n,
                    data: data.wrapping_offset(offset * size as isize),
                    row_bytes,
                    column_bytes,
                    first: 0,
                    end: columns,
                    x,
                    tile_len,
                    identity: reduce.identity,
                    panel: spare,
                };
                // SAFETY: the caller promises the rows of the matrix, of which these are some, and
                // room for their reductions.
                unsafe {
                    if is_contiguous || row_stride == 1 && n > 1 {
                        run(&rows, out);
                    } else {
                        for row in 0..n {
                            let data = rows.data.wrapping_offset(row as isize * row_bytes);
                            copy_run(size, columns, (data, column_stride), (spare, 1));
                            let one = DenseRows {
                                n: 1,
                                data: spare,
                                column_bytes: size as isize,
                                ..rows
                            };
                            run(&one, out.add(row * size));
                        }
                    }
                    out = out.add(n * size);
                }
            },
        );
    }
}

impl Run<'_> {
    /// Fills a slot with rows of an array, if it is not the array itself.
    unsafe fn load(&self, arg: ArgId, size: usize, to: Address, first: usize, n: usize) {
        if to.row_bytes > 0 {
            return;
        }
        let array = &self.arrays[arg as usize];
        // SAFETY: the caller promises the rows of the array; `to` has room for a block.
        unsafe {
            if array.is_contiguous {
                array
                    .data
                    .add(first * size)
                    .copy_to_nonoverlapping(to.data, n * size);
            } else {
                gather(size, array.data, &self.layout(arg), first, n, to.data);
            }
        }
    }

    unsafe fn store(&self, arg: ArgId, size: usize, values: *const u8, first: usize, n: usize) {
        let array = &self.arrays[arg as usize];
        // SAFETY: the caller promises the rows of the array; values may lie in the same place.
        unsafe {
            if array.is_streamed {
                stream::copy(self.isa, values, array.data.add(first * size), n * size);
            } else if array.is_contiguous {
                values.copy_to(array.data.add(first * size), n * size);
            } else {
                scatter(size, values, array.data, &self.layout(arg), first, n);
            }
        }
    }
}

/// The first `columns` elements of a `Gather` operand side by side in `spare`.
unsafe fn copy_x(
    launch: &Launch<'_>,
    x: ArgId,
    size: usize,
    columns: usize,
    spare: *mut u8,
) -> *const u8 {
    let (own, own_len, ghosts) = gathered(launch, x);
    // SAFETY: the operand has `columns` elements, the first `own_len` of them in `own`.
    unsafe {
        copy_run(size, own_len, (own, 1), (spare, 1));
        let rest = spare.add(own_len * size);
        copy_run(size, columns - own_len, (ghosts, 1), (rest, 1));
    }
    spare
}

fn gathered(launch: &Launch<'_>, x: ArgId) -> (*const u8, usize, *const u8) {
    match launch.operands[x as usize] {
        Operand::Gather {
            own,
            own_len,
            ghosts,
            ..
        } => (own, own_len, ghosts),
        _ => misbound(x, "gather"),
    }
}
