//! The reference interpreter: one element at a time, slow and obvious.
//!
//! In go a verified kernel and a launch, out come the elements that the kernel writes. It is the
//! definition of what a kernel computes: every other way to run one gives the same bits. Loops run
//! in sequence; within a loop the uniform instructions run once, in the order of the body, then for
//! each row in order all varying ones.

#![expect(unsafe_code, reason = "a launch binds arguments to plain memory")]

use crate::element::{DType, Element, Value};
use crate::ir::{self, ArgId, BinaryOp, Inst, Kernel, Loop, RandomKind, ReduceOp, ValueId};
use crate::launch::{Extent, Launch, Operand, Structure};
use crate::random;
use crate::reduce::{self, Forest, LANES, Partial};
use crate::scalar::{self, with_type};
use crate::tiles::Tiles;
use num_complex::Complex;
use std::ops::Range;

/// Runs a kernel on one piece.
///
/// # Safety
///
/// [`crate::verify::verify`] accepts the kernel, and the launch fits it:
/// - it has an extent for each domain that the kernel's loops name, an operand of the argument's
///   kind for each argument, and a value of the parameter's type for each parameter;
/// - every element that a row or a scalar instruction reaches through an operand lies in memory
///   that is valid for reads, and for writes where the kernel writes it, aligned for its type, and
///   holds a value of that type (a `bool` is 0 or 1); nobody else writes to it during the run;
/// - an array's layout has an element for each row of the loops that use it, a dense matrix and a
///   structure have as many rows, every column index of a structure is an index of the `Gather`
///   operand it is used with, and `pos` never decreases;
/// - a reduction has a slot for each tile that the extent of its loop touches.
///
/// # Panics
///
/// Panics if the launch binds an argument to an operand of another kind, or too few of them.
pub unsafe fn run(kernel: &Kernel, launch: &Launch<'_>) {
    // SAFETY: forwarded.
    unsafe { run_loops(kernel, 0..kernel.loops.len(), launch) };
}

/// Runs some of the loops of a kernel; a whole run is all of them in order.
///
/// # Safety
/// As [`run`].
///
/// # Panics
/// As [`run`], and if there are no such loops.
pub unsafe fn run_loops(kernel: &Kernel, loops: Range<usize>, launch: &Launch<'_>) {
    for loop_ in &kernel.loops[loops] {
        let run = LoopRun::new(kernel, loop_, launch);
        // SAFETY: the caller promises that the launch fits the kernel, so each of its loops.
        unsafe { run.run() };
    }
}

/// One loop while it runs.
struct LoopRun<'a> {
    kernel: &'a Kernel,
    body: &'a [Inst],
    launch: &'a Launch<'a>,
    extent: Extent,
    /// The values of this row; those of instructions without a value are never read.
    values: Vec<Value>,
    /// The reductions of the body, by the number of their instruction.
    reductions: Vec<(usize, Accumulator)>,
}

impl<'a> LoopRun<'a> {
    fn new(kernel: &'a Kernel, loop_: &'a Loop, launch: &'a Launch<'a>) -> Self {
        let types = ir::value_types(kernel, &loop_.body);
        let extent = launch.domains[loop_.domain as usize];
        let mut reductions = Vec::new();
        for (i, inst) in loop_.body.iter().enumerate() {
            if let Inst::Reduce(op, _, a) = *inst {
                let dtype = types[a as usize].expect("the verifier admits operands with a value");
                reductions.push((i, Accumulator::new(op, dtype, extent.tiles, extent.start)));
            }
        }
        Self {
            kernel,
            body: &loop_.body,
            launch,
            extent,
            values: vec![false.to_value(); loop_.body.len()],
            reductions,
        }
    }

    /// # Safety
    ///
    /// As [`run`].
    unsafe fn run(mut self) {
        let is_uniform = ir::uniform_values(self.body);
        for i in (0..self.body.len()).filter(|&i| is_uniform[i]) {
            // SAFETY: uniform instructions reach no element of a row; else as this function.
            unsafe { self.step(i, 0) };
        }
        for row in 0..self.extent.len as usize {
            for i in (0..self.body.len()).filter(|&i| !is_uniform[i]) {
                // SAFETY: the row lies in the extent; else as this function.
                unsafe { self.step(i, row) };
            }
        }
        for (i, accumulator) in self.reductions {
            let Inst::Reduce(_, arg, _) = self.body[i] else {
                unreachable!("an accumulator belongs to a reduction")
            };
            let Operand::Reduction { partials } = self.launch.operands[arg as usize] else {
                misbound(arg, "reduction")
            };
            for (tile, partial) in accumulator.into_tiles().into_iter().enumerate() {
                // SAFETY: the caller promises a slot for each tile that the extent touches.
                unsafe { partials.add(tile).write(partial) };
            }
        }
    }

    /// Runs one instruction for one row.
    ///
    /// # Safety
    ///
    /// As [`run`]; `row` lies in the extent unless the instruction is uniform.
    unsafe fn step(&mut self, i: usize, row: usize) {
        let value = |a: ValueId| self.values[a as usize];
        let global_row = self.extent.start + row as u64;
        self.values[i] = match self.body[i] {
            Inst::Const(constant) => constant,
            Inst::Param(param) => self.launch.params[param as usize],
            // SAFETY: the caller promises that the scalar is there.
            Inst::LoadScalar(arg) => unsafe { self.read(arg, self.scalar(arg)) },
            Inst::Index => (global_row as i64).to_value(),
            // SAFETY: the caller promises an element for each row.
            Inst::Load(arg) => unsafe { self.read(arg, self.array(arg, row)) },
            Inst::Unary(op, a) => scalar::unary(op, value(a)),
            Inst::Binary(op, a, b) => scalar::binary(op, value(a), value(b)),
            Inst::Select(condition, a, b) => {
                let chosen = if value(condition) == true.to_value() {
                    a
                } else {
                    b
                };
                value(chosen)
            }
            Inst::Cast(dtype, a) => scalar::cast(dtype, value(a)),
            Inst::Random { kind, seed, index } => draw(kind, value(seed), value(index)),
            Inst::RowSum {
                structure,
                entries,
                x,
                // SAFETY: the caller promises a row of the structure for each row of the loop.
            } => unsafe { self.row_sum(structure, entries, x, row) },
            // SAFETY: the caller promises a row of the structure for each row of the loop.
            Inst::Gather { structure, x } => unsafe { self.first_named(structure, x, row) },
            // SAFETY: the caller promises a row of the matrix for each row of the loop.
            Inst::RowReduce { op, rows, x } => unsafe { self.row_reduce(op, rows, x, row) },
            Inst::Store(arg, a) => {
                // SAFETY: the caller promises an element for each row.
                unsafe { write(self.array(arg, row), value(a)) };
                return;
            }
            Inst::StoreScalar(arg, a) => {
                // SAFETY: the caller promises that the scalar is there.
                unsafe { write(self.scalar(arg), value(a)) };
                return;
            }
            Inst::Reduce(_, _, a) => {
                let element = value(a);
                for (_, accumulator) in self.reductions.iter_mut().filter(|(of, _)| *of == i) {
                    accumulator.push(row, element);
                }
                return;
            }
        };
    }

    /// The sum over the row of `entries[k] * x[crd[k]]`, in the order of storage.
    ///
    /// # Safety
    ///
    /// As [`run`]; the row lies in the extent.
    unsafe fn row_sum(&self, structure: ArgId, entries: ArgId, x: ArgId, row: usize) -> Value {
        let Operand::Structure(Structure { pos, crd, .. }) = self.operand(structure) else {
            misbound(structure, "structure")
        };
        let Operand::Entries { data } = self.operand(entries) else {
            misbound(entries, "entries")
        };
        let dtype = self.dtype(entries);
        let width = self.width(x);
        let (row, within) = (row / width, row % width);
        // SAFETY: the structure has one position more than rows, and the row is one of them.
        let [first, begin, end] =
            unsafe { [*pos, *pos.add(row), *pos.add(row + 1)] }.map(|position| position as usize);
        let mut sum = scalar::from_f64(dtype, 0.0);
        for k in begin - first..end - first {
            // SAFETY: `k` counts the entries that the positions of the structure delimit, and each
            // of them has a column that is an index of `x`.
            let (entry, x) = unsafe {
                let column = *crd.add(k) as usize;
                let entry = self.read(entries, data.wrapping_add(k * dtype.size()));
                (entry, self.read(x, self.gather(x, column, within)))
            };
            sum = scalar::mul_add(entry, x, sum);
        }
        sum
    }

    /// The element of `x` that the first entry of the row names, or 0.
    ///
    /// # Safety
    ///
    /// As [`run`]; the row lies in the extent.
    unsafe fn first_named(&self, structure: ArgId, x: ArgId, row: usize) -> Value {
        let Operand::Structure(Structure { pos, crd, .. }) = self.operand(structure) else {
            misbound(structure, "structure")
        };
        let width = self.width(x);
        let (row, within) = (row / width, row % width);
        // SAFETY: the structure has one position more than rows, and the row is one of them.
        let [first, begin, end] =
            unsafe { [*pos, *pos.add(row), *pos.add(row + 1)] }.map(|position| position as usize);
        if begin == end {
            return Value::from_bits(self.dtype(x), [0; 2]);
        }
        // SAFETY: the row has an entry, whose column is an index of `x`.
        unsafe {
            let column = *crd.add(begin - first) as usize;
            self.read(x, self.gather(x, column, within))
        }
    }

    /// The reduction over the row of `matrix[row, k]` or `matrix[row, k] * x[k]`.
    ///
    /// # Safety
    ///
    /// As [`run`]; the row lies in the extent.
    unsafe fn row_reduce(
        &self,
        op: ReduceOp,
        matrix: ArgId,
        x: Option<ArgId>,
        row: usize,
    ) -> Value {
        let Operand::DenseRows {
            data,
            layout,
            columns,
            column_stride,
        } = self.operand(matrix)
        else {
            misbound(matrix, "dense_rows")
        };
        let dtype = self.dtype(matrix);
        let tiles = Tiles::of_vector(self.launch.tile_len);
        let mut accumulator = Accumulator::new(op, dtype, tiles, 0);
        for k in 0..columns {
            let offset = layout.offset(row) + k as isize * column_stride;
            let place = data.wrapping_offset(offset * dtype.size() as isize);
            // SAFETY: the element lies in row `row` and column `k` of the matrix.
            let mut element = unsafe { self.read(matrix, place) };
            if let Some(x) = x {
                // SAFETY: the columns of the matrix are indices of `x`.
                let factor = unsafe { self.read(x, self.gather(x, k, 0)) };
                element = scalar::binary(BinaryOp::Mul, element, factor);
            }
            accumulator.push(k, element);
        }
        let forest = Forest::of_tiles(op, dtype, 0, &mut accumulator.into_tiles());
        Value::from_bits(dtype, forest.finish(op, dtype).bits)
    }

    fn operand(&self, arg: ArgId) -> Operand {
        self.launch.operands[arg as usize]
    }

    fn dtype(&self, arg: ArgId) -> DType {
        self.kernel.args[arg as usize].dtype
    }

    /// Where the element of an array at this row lies.
    fn array(&self, arg: ArgId, row: usize) -> *mut u8 {
        let Operand::Array { data, layout } = self.operand(arg) else {
            misbound(arg, "array")
        };
        data.wrapping_offset(layout.offset(row) * self.dtype(arg).size() as isize)
    }

    fn scalar(&self, arg: ArgId) -> *mut u8 {
        let Operand::Scalar { data } = self.operand(arg) else {
            misbound(arg, "scalar")
        };
        data
    }

    /// The elements of a row of the `x` of a product.
    fn width(&self, arg: ArgId) -> usize {
        let Operand::Gather { width, .. } = self.operand(arg) else {
            misbound(arg, "gather")
        };
        width
    }

    /// Where element `within` of row `index` lies: among the rows of this rank, or among the copies
    /// of others.
    fn gather(&self, arg: ArgId, index: usize, within: usize) -> *const u8 {
        let Operand::Gather {
            own,
            own_len,
            ghosts,
            width,
        } = self.operand(arg)
        else {
            misbound(arg, "gather")
        };
        let size = self.dtype(arg).size();
        if index < own_len {
            own.wrapping_add((index * width + within) * size)
        } else {
            ghosts.wrapping_add(((index - own_len) * width + within) * size)
        }
    }

    /// # Safety
    ///
    /// `place` is valid for reading an element of the argument's type.
    unsafe fn read(&self, arg: ArgId, place: *const u8) -> Value {
        // SAFETY: as this function, for the type that `DType` names.
        unsafe {
            let dtype = self.dtype(arg);
            with_type!(All dtype, T => place.cast::<T>().read().to_value(), else unreachable!())
        }
    }
}

/// # Safety
///
/// `place` is valid for writing an element of the value's type.
unsafe fn write(place: *mut u8, value: Value) {
    let bits = value.bits();
    // SAFETY: as this function, for the type that `DType` names.
    unsafe {
        with_type!(All value.dtype(), T => {
            place.cast::<T>().write(<T as Element>::from_bits(bits));
        }, else ());
    }
}

fn misbound(arg: ArgId, kind: &str) -> ! {
    panic!("a{arg} must be bound to an operand of kind {kind}")
}

fn draw(kind: RandomKind, seed: Value, index: Value) -> Value {
    let ([seed, _], [index, _]) = (seed.bits(), index.bits());
    match kind {
        RandomKind::Bits => random::bits(seed, index).to_value(),
        RandomKind::Uniform => random::uniform(seed, index).to_value(),
        RandomKind::Normal => random::normal(seed, index).to_value(),
    }
}

/// The reduction of elements that come one by one, in order, from the beginning of a tile on.
struct Accumulator {
    op: ReduceOp,
    dtype: DType,
    of: Tiles,
    /// The global index of the first element.
    start: u64,
    /// The lanes of the tile that the last element fell into.
    lanes: [Partial; LANES],
    /// Whether any element has come.
    is_open: bool,
    /// The tiles before that one.
    tiles: Vec<Partial>,
}

impl Accumulator {
    fn new(op: ReduceOp, dtype: DType, of: Tiles, start: u64) -> Self {
        Self {
            op,
            dtype,
            of,
            start,
            lanes: [reduce::identity(op, dtype); LANES],
            is_open: false,
            tiles: Vec::new(),
        }
    }

    fn push(&mut self, element: usize, value: Value) {
        let within = element - self.of.start(self.of.number(element));
        if self.is_open && within == 0 {
            self.close();
        }
        self.is_open = true;
        let is_position = matches!(self.op, ReduceOp::ArgMin | ReduceOp::ArgMax);
        let index = self.start + element as u64;
        let next = Partial {
            bits: value.bits(),
            index: if is_position { index } else { 0 },
        };
        let lane = &mut self.lanes[within % LANES];
        *lane = reduce::join(self.op, self.dtype, *lane, next);
    }

    fn close(&mut self) {
        let tile = reduce::join_lanes(self.op, self.dtype, self.lanes);
        self.tiles.push(tile);
        self.lanes = [reduce::identity(self.op, self.dtype); LANES];
    }

    fn into_tiles(mut self) -> Vec<Partial> {
        if self.is_open {
            self.close();
        }
        self.tiles
    }
}

#[cfg(test)]
mod tests;
