//! From a loop of the IR to the text of device kernels.
//!
//! A block of threads goes through the rows of one tile of a reduction, or through
//! [`ROWS_OF_BLOCK`] rows where nothing is reduced. Thread `t` takes rows `t`, `t + 128`, ... of
//! them, some at a time: an instruction is printed as a loop over these, so that the loads of all
//! of them are on their way before the first is used. What is reduced goes to memory of the block;
//! then 16 threads add a lane each, in the order of the rows, and one thread joins the lanes. So a
//! sum has the bits of the blocks, though all threads compute its terms.
//!
//! Of a loop with many reductions 16 threads go through a tile, each through the rows of a lane,
//! since memory of a block does not hold the terms of all ([`blocks`]).
//!
//! Uniform values are computed by every thread. What uniform instructions store the first block
//! stores; if the loop reads a scalar that it stores, a second kernel does so behind the rows,
//! since other blocks may still read what was there.
//!
//! Reductions along the rows of a dense matrix are kernels of their own, which run before
//! ([`rows`]).
//!
//! Constants, parameters, addresses, lengths and strides are arguments, so loops that differ in
//! these share a text. How many dimensions the arrays have is part of the text.

mod blocks;
mod joins;
mod products;
mod rows;

pub(super) use self::joins::{JOINING_WORDS, joining, most_joined, partial_size};

use self::joins::{folded, join};
use super::{FUNCTION, THREADS};
use crate::element::{DType, Value};
use crate::ir::{
    ArgId, BinaryOp, Inst, Kernel, Loop, RandomKind, ReduceOp, UnaryOp, ValueId, needed,
    uniform_values, value_types,
};
use crate::launch::{Extent, Layout, Operand};
use crate::native::Refusal;
use crate::native::operators::{cast, memory_type, unary, value_type};
use crate::operations::{Types, UnaryForm};
use crate::reduce::LANES;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The rows of a block where nothing is reduced.
pub(super) const ROWS_OF_BLOCK: usize = 1024;

/// The tiles of any type that a block joins at a time ([`most_joined`]).
pub(super) const JOINED: usize = 2048;

/// The groups of threads of a block that have a thread for each lane.
pub(super) const GROUPS: usize = THREADS as usize / LANES;

/// Bytes of memory that every device has for a block.
const SHARED_BYTES: usize = 40 << 10;

/// An argument of a printed kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// The rows of the loop.
    Rows,
    /// The global index of the first row.
    Start,
    /// The tiles of the rows.
    Tiles,
    /// The rows of a tile or block, of a line, and the tiles of a line.
    TileLen,
    Line,
    PerLine,
    /// A part of a constant: bits of an integer, or of an `f64`.
    Constant(Value, Part),
    /// A part of a parameter.
    Param(u32, Part),
    /// Where the data of an argument lies.
    Address(ArgId),
    /// The positions of a structure, or the rows of one in slices, and the columns.
    Positions(ArgId),
    Columns(ArgId),
    /// The slices, and which of them are uniform.
    Slices(ArgId),
    Uniform(ArgId),
    /// The elements of a row of a `Gather` operand.
    Width(ArgId),
    /// A length of an array, and the distance of neighbours along a dimension.
    Length(ArgId, usize),
    Stride(ArgId, usize),
    /// Where the partial results of a reduction go, by its number in the loop.
    Partials(usize),
    /// The elements of a row of a dense matrix, the distance of neighbours, the elements of a tile
    /// of a row, and the tiles of a row.
    RowLen(ArgId),
    RowStep(ArgId),
    RowTileLen,
    RowTiles(ArgId),
    /// Where the tiles of rows go, by the number of the reduction of rows in the loop, and where
    /// what they are joined to is.
    RowPartials(usize),
    RowValues(usize),
}

/// Which part of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Real,
    Imaginary,
}

/// A kernel of a loop.
#[derive(Debug)]
pub(super) struct Printed {
    pub(super) text: String,
    pub(super) words: Vec<Word>,
    /// How many tiles a block goes through.
    pub(super) tiles_of_block: usize,
    /// Whether the first block also stores scalars.
    pub(super) stores_scalars: bool,
}

/// A loop as kernels.
#[derive(Debug)]
pub(super) struct Loops {
    /// Stores that come before the other rows, if they are apart.
    pub(super) stores: Option<Printed>,
    /// What is done for each row, if anything is.
    pub(super) rows: Option<Printed>,
    /// What uniform instructions store, if they do.
    pub(super) scalars: Option<Printed>,
    /// The reductions, in the order of the body: operation, type of the elements, argument.
    pub(super) reductions: Vec<(ReduceOp, DType, ArgId)>,
    /// The reductions of rows of matrices that the rows read, in the order of the body.
    pub(super) row_reductions: Vec<RowReduction>,
}

/// A reduction along the rows of a dense matrix.
#[derive(Debug)]
pub(super) struct RowReduction {
    pub(super) op: ReduceOp,
    pub(super) dtype: DType,
    pub(super) matrix: ArgId,
    /// Reduces the tiles of rows.
    pub(super) tiles: Printed,
}

/// Prints a loop of a verified kernel, for operands with the layouts of these, and an extent with
/// the tiles of this one.
pub(super) fn print(
    kernel: &Kernel,
    loop_: &Loop,
    operands: &[Operand],
    extent: &Extent,
) -> Result<Loops, Refusal> {
    let body = &forwarded(kernel, &loop_.body)?;
    let reductions = body.iter().filter_map(|inst| match *inst {
        Inst::Reduce(op, arg, a) => Some((op, arg, a)),
        _ => None,
    });
    let types = value_types(kernel, body);
    let dtype = |a: ValueId| types[a as usize].expect("the verifier admits typed operands");
    let reductions: Vec<_> = reductions.map(|(op, arg, a)| (op, dtype(a), arg)).collect();
    let whole = body;
    let (mut stores, mut rows, mut row_reductions) = (None, None, Vec::new());
    let apart = stored_before(kernel, body, reductions.len());
    let body = apart.as_ref().unwrap_or(body);
    let print = |effect: &dyn Fn(&Inst) -> bool| {
        let mut printer = Printer::new(kernel, body, (operands, extent), effect);
        printer.body()?;
        Ok(printer)
    };
    let is_scalar = |inst: &Inst| matches!(inst, Inst::StoreScalar(..));
    // Other blocks may still read what was there.
    let has_scalars = body.iter().any(is_scalar) && scalars_are_stored_alone(kernel, body);
    let is_of_rows = |inst: &Inst| match inst {
        Inst::Reduce(..) => true,
        Inst::Store(..) => apart.is_none(),
        Inst::StoreScalar(..) => has_scalars,
        _ => false,
    };
    if apart.is_some() {
        let is_store = |inst: &Inst| matches!(inst, Inst::Store(..));
        let mut printer = Printer::new(kernel, whole, (operands, extent), &is_store);
        printer.body()?;
        stores = Some(printer.rows()?);
    }
    let is_row = |inst: &Inst| matches!(inst, Inst::Store(..) | Inst::Reduce(..));
    if body.iter().any(is_row) {
        let printer = print(&is_of_rows)?;
        for (number, &reduced) in printer.reduced_rows.iter().enumerate() {
            let mut printer = Printer::new(kernel, &[], (operands, extent), &is_of_rows);
            row_reductions.push(printer.row_reduction(number, reduced)?);
        }
        rows = Some(printer.rows()?);
    }
    let is_done = has_scalars && rows.is_some();
    if let (Some(rows), true) = (&mut rows, is_done) {
        rows.stores_scalars = true;
    }
    let scalars = match body.iter().any(is_scalar) && !is_done {
        true => Some(print(&is_scalar)?.scalars()),
        false => None,
    };
    Ok(Loops {
        stores,
        rows,
        scalars,
        reductions,
        row_reductions,
    })
}

/// The body in which a scalar that has been stored is not loaded: what reads it takes the value
/// that was stored. Scalars are stored when the rows are through, so a load would find what was
/// there before.
fn forwarded(kernel: &Kernel, body: &[Inst]) -> Result<Vec<Inst>, Refusal> {
    let memory = |arg: ArgId| kernel.args[arg as usize].memory;
    let mut stored: Vec<(ArgId, ValueId)> = Vec::new();
    let mut names: Vec<ValueId> = Vec::with_capacity(body.len());
    let mut renamed = Vec::with_capacity(body.len());
    for (inst, own) in body.iter().zip(0..) {
        let inst = inst.map_operands(|value| names[value as usize]);
        let last = |arg: ArgId| (stored.iter().rev()).find(|&&(to, _)| memory(to) == memory(arg));
        let name = match inst {
            Inst::LoadScalar(arg) => match last(arg) {
                Some(&(to, value)) if to == arg => value,
                // Where in the memory it lies says the launch alone.
                Some(_) => return Err(Refusal::new("load of what was stored", None)),
                None => own,
            },
            _ => own,
        };
        if let Inst::StoreScalar(arg, value) = inst {
            stored.push((arg, value));
        }
        names.push(name);
        renamed.push(inst);
    }
    Ok(renamed)
}

/// Whether a body reads no scalar that it stores.
fn scalars_are_stored_alone(kernel: &Kernel, body: &[Inst]) -> bool {
    let memory = |arg: ArgId| kernel.args[arg as usize].memory;
    let stores = |of: u32| {
        let mut insts = body.iter();
        insts.any(|inst| matches!(*inst, Inst::StoreScalar(arg, _) if memory(arg) == of))
    };
    let mut loads = body.iter().filter_map(|inst| match *inst {
        Inst::LoadScalar(arg) => Some(memory(arg)),
        _ => None,
    });
    !loads.any(stores)
}

/// The most reductions for which all threads of a block compute the terms of a tile.
const FEW: usize = 4;

/// Of a loop with many reductions, which 16 threads a tile go through, and sums of rows, which take
/// more threads: the loop without these sums, which are loaded from where they are stored. `None`
/// where they are not, or something that the loop reads is written, or where rows of a dense matrix
/// are reduced, too.
fn stored_before(kernel: &Kernel, body: &[Inst], n_reductions: usize) -> Option<Vec<Inst>> {
    let memory = |arg: ArgId| kernel.args[arg as usize].memory;
    let has = |is_it: fn(&Inst) -> bool| body.iter().any(is_it);
    if n_reductions <= FEW
        || !has(|inst| matches!(inst, Inst::RowSum { .. }))
        // What these leave behind is numbered by the kernel of the reductions, which may need none
        // of it.
        || has(|inst| matches!(inst, Inst::RowReduce { .. }))
    {
        return None;
    }
    let stored = body.iter().filter_map(|inst| match *inst {
        Inst::Store(arg, a) => Some((arg, a)),
        _ => None,
    });
    let stored: Vec<(ArgId, ValueId)> = stored.collect();
    let is_stored = |arg: ArgId| stored.iter().any(|&(to, _)| memory(to) == memory(arg));
    let mut apart = body.to_vec();
    for (number, inst) in body.iter().enumerate() {
        let mut reads_stored = false;
        if !inst.is_effect() {
            inst.for_each_arg(|arg| reads_stored |= is_stored(arg));
        }
        if reads_stored {
            return None;
        }
        if let Inst::RowSum { .. } = inst {
            let &(arg, _) = stored.iter().find(|&&(_, a)| a as usize == number)?;
            apart[number] = Inst::Load(arg);
        }
    }
    Some(apart)
}

struct Printer<'a> {
    kernel: &'a Kernel,
    body: &'a [Inst],
    types: Vec<Option<DType>>,
    is_uniform: Vec<bool>,
    is_needed: Vec<bool>,
    operands: &'a [Operand],
    extent: &'a Extent,
    words: Vec<Word>,
    /// The names of pointers and offsets that are defined.
    defined: BTreeSet<String>,
    /// Definitions of uniform values and addresses, and stores of scalars.
    uniforms: String,
    /// The statements for `N` rows.
    values: String,
    /// The reductions, by number: operation, type.
    reductions: Vec<(ReduceOp, DType)>,
    /// Those of rows of matrices: operation, matrix, vector.
    reduced_rows: Vec<(ReduceOp, ArgId, Option<ArgId>)>,
}

impl<'a> Printer<'a> {
    fn new(
        kernel: &'a Kernel,
        body: &'a [Inst],
        (operands, extent): (&'a [Operand], &'a Extent),
        effect: &dyn Fn(&Inst) -> bool,
    ) -> Self {
        Self {
            kernel,
            body,
            types: value_types(kernel, body),
            is_uniform: uniform_values(body),
            is_needed: needed(body, effect),
            operands,
            extent,
            words: Vec::new(),
            defined: BTreeSet::new(),
            uniforms: String::new(),
            values: String::new(),
            reductions: Vec::new(),
            reduced_rows: Vec::new(),
        }
    }

    fn body(&mut self) -> Result<(), Refusal> {
        for (i, &inst) in self.body.iter().enumerate() {
            if self.is_needed[i] {
                self.inst(i as ValueId, inst)?;
            }
        }
        Ok(())
    }

    fn inst(&mut self, out: ValueId, inst: Inst) -> Result<(), Refusal> {
        let value = match inst {
            Inst::Store(arg, a) => {
                let (to, a) = (self.element(arg)?, self.operand(a));
                self.each(&format!("{to} = {a};"));
                return Ok(());
            }
            Inst::StoreScalar(arg, a) => {
                let (to, a) = (self.scalar(arg), self.operand(a));
                let _ = writeln!(
                    self.uniforms,
                    "    if (BLOCK == 0 && THREAD == 0) {to} = {a};"
                );
                return Ok(());
            }
            Inst::Reduce(op, _, a) => {
                let (dtype, number) = (self.dtype(a), self.reductions.len());
                folded(op, dtype, ("", ""))?;
                self.reductions.push((op, dtype));
                let a = self.operand(a);
                self.each(&format!("t{number}[ROW - begin] = {a};"));
                return Ok(());
            }
            Inst::Const(value) => self.number(value.dtype(), |part| Word::Constant(value, part)),
            Inst::Param(param) => {
                let dtype = self.kernel.params[param as usize];
                self.number(dtype, |part| Word::Param(param, part))
            }
            Inst::LoadScalar(arg) => {
                let element = self.scalar(arg);
                self.as_value(arg, element)
            }
            Inst::Index => format!("(i64)({} + ROW)", self.word(Word::Start)),
            Inst::Load(arg) => {
                let element = self.element(arg)?;
                self.as_value(arg, element)
            }
            Inst::Unary(op, a) => self.unary(op, a)?,
            Inst::Binary(op, a, b) => self.binary(op, a, b)?,
            Inst::Select(condition, a, b) => {
                let dtype = self.dtype(a);
                let [condition, a, b] = [condition, a, b].map(|value| self.operand(value));
                match dtype.is_complex() {
                    true => format!("select_{}({condition}, {a}, {b})", memory_type(dtype)),
                    false => format!("{condition} ? {a} : {b}"),
                }
            }
            Inst::Cast(to, a) => cast((self.dtype(a), to), &self.operand(a)),
            Inst::Random { kind, seed, index } => {
                let name = match kind {
                    RandomKind::Bits => "random_bits",
                    RandomKind::Uniform => "random_uniform",
                    RandomKind::Normal => "random_normal",
                };
                let [seed, index] = [seed, index].map(|value| self.operand(value));
                format!("{name}({seed}, (u64){index})")
            }
            Inst::RowSum {
                structure,
                entries,
                x,
            } => return self.row_sum(out, (structure, entries, x)),
            Inst::Gather { structure, x } => self.gather(structure, x)?,
            Inst::RowReduce { op, rows, x } => {
                let number = self.reduced_rows.len();
                self.reduced_rows.push((op, rows, x));
                let (name, type_) = (format!("r{number}"), memory_type(self.dtype(out)));
                self.pointer(&name, &format!("const {type_}"), Word::RowValues(number));
                self.as_value(rows, format!("{name}[ROW]"))
            }
        };
        let type_ = value_type(self.dtype(out));
        if self.is_uniform[out as usize] {
            let _ = writeln!(self.uniforms, "    const {type_} v{out} = {value};");
        } else {
            let _ = writeln!(self.values, "        {type_} v{out}[N];");
            self.each(&format!("v{out}[b] = {value};"));
        }
        Ok(())
    }

    fn dtype(&self, value: ValueId) -> DType {
        self.types[value as usize].expect("the verifier admits typed operands")
    }

    fn operand(&self, value: ValueId) -> String {
        match self.is_uniform[value as usize] {
            true => format!("v{value}"),
            false => format!("v{value}[b]"),
        }
    }

    /// A statement for each of the rows.
    fn each(&mut self, statement: &str) {
        let _ = writeln!(self.values, "        EACH {statement}");
    }

    /// An argument of the kernel.
    fn word(&mut self, word: Word) -> String {
        let known = self.words.iter().position(|known| *known == word);
        let place = known.unwrap_or(self.words.len());
        if known.is_none() {
            self.words.push(word);
        }
        format!("ARG({place})")
    }

    /// A number that the arguments hold.
    fn number(&mut self, dtype: DType, word: impl Fn(Part) -> Word) -> String {
        let real = self.word(word(Part::Real));
        match dtype {
            DType::F64 => format!("number({real})"),
            DType::F32 => format!("(f32)number({real})"),
            DType::Bool => format!("{real} != 0"),
            DType::ComplexF32 | DType::ComplexF64 => {
                let imaginary = self.word(word(Part::Imaginary));
                let (type_, part) = (memory_type(dtype), memory_type(dtype.real()));
                format!("MAKE({type_}, ({part})number({real}), ({part})number({imaginary}))")
            }
            _ => format!("({}){real}", value_type(dtype)),
        }
    }

    /// An element of this argument as a value.
    fn as_value(&self, arg: ArgId, element: String) -> String {
        match self.kernel.args[arg as usize].dtype {
            DType::Bool => format!("{element} != 0"),
            _ => element,
        }
    }

    fn scalar(&mut self, arg: ArgId) -> String {
        let type_ = memory_type(self.kernel.args[arg as usize].dtype);
        let address = self.word(Word::Address(arg));
        format!("*({type_} *){address}")
    }

    /// A pointer to the data of an argument, defined at its first use.
    fn pointer(&mut self, name: &str, type_: &str, word: Word) {
        let address = self.word(word);
        if self.defined.insert(name.to_owned()) {
            let _ = writeln!(
                self.uniforms,
                "    {type_} *const {name} = ({type_} *){address};"
            );
        }
    }

    /// The element of an array at the row.
    fn element(&mut self, arg: ArgId) -> Result<String, Refusal> {
        let missing = || Refusal::new("array without a layout", None);
        let layout = self.layout(arg).ok_or_else(missing)?;
        let type_ = memory_type(self.kernel.args[arg as usize].dtype);
        let name = format!("a{arg}");
        self.pointer(&name, type_, Word::Address(arg));
        if layout.is_contiguous() {
            return Ok(format!("{name}[ROW]"));
        }
        if self.defined.insert(format!("o{arg}")) {
            let _ = writeln!(self.values, "        i64 o{arg}[N];");
            let offset = self.offset((arg, layout), "ROW");
            self.each(&format!("o{arg}[b] = {offset};"));
        }
        Ok(format!("{name}[o{arg}[b]]"))
    }

    /// Where an array has the element of a row, in elements.
    fn offset(&mut self, (arg, layout): (ArgId, Layout), row: &str) -> String {
        let rank = usize::from(layout.rank).max(1);
        let mut words = Vec::new();
        for d in 1..rank {
            words.push(self.word(self.length(arg, d)));
        }
        for d in 0..rank {
            words.push(self.word(Word::Stride(arg, d)));
        }
        let (words, index) = (words.join(", "), self.index());
        format!("offset{rank}_{index}({row}, {words})")
    }

    /// The type of local rows: divisions of small numbers take less.
    fn index(&self) -> &'static str {
        match self.extent.len <= u64::from(u32::MAX) {
            true => "u32",
            false => "u64",
        }
    }

    fn layout(&self, arg: ArgId) -> Option<Layout> {
        match self.operands.get(arg as usize) {
            Some(Operand::Array { layout, .. } | Operand::DenseRows { layout, .. }) => {
                Some(*layout)
            }
            _ => None,
        }
    }

    /// The word for a length of an array: that of another array which has the same lengths, so that
    /// the compiler sees that rows are the same places in both.
    fn length(&self, arg: ArgId, d: usize) -> Word {
        let dims = |arg: ArgId| self.layout(arg).map(|layout| (layout.rank, layout.dims));
        let own = dims(arg);
        let known = self.words.iter().find_map(|word| match *word {
            Word::Length(other, of) if of == d && dims(other) == own => Some(other),
            _ => None,
        });
        Word::Length(known.unwrap_or(arg), d)
    }

    fn unary(&mut self, op: UnaryOp, a: ValueId) -> Result<String, Refusal> {
        let (dtype, a) = (self.dtype(a), self.operand(a));
        let call = |prefix: &str| format!("{prefix}{}_{}({a})", op.name(), memory_type(dtype));
        match op {
            // Those of `math.c` know only reals, and angles up to a bound.
            _ if dtype.is_complex() && op.types() == Types::Floats => Ok(call("")),
            _ if op.form() == UnaryForm::Angle => Ok(call("any_")),
            // C leaves it open what becomes of the smallest number.
            UnaryOp::Neg if dtype.is_integer() => {
                let type_ = memory_type(dtype);
                Ok(format!("({type_})(0ull - (u64){a})"))
            }
            _ => unary(op, dtype, &a),
        }
    }

    fn binary(&mut self, op: BinaryOp, a: ValueId, b: ValueId) -> Result<String, Refusal> {
        let dtype = self.dtype(a);
        let (a, b) = (self.operand(a), self.operand(b));
        join(op, dtype, (&a, &b))
    }

    /// Refuses what is gathered if other ranks have some of it.
    fn check_ghosts(&self, x: ArgId) -> Result<(), Refusal> {
        match self.operands.get(x as usize) {
            Some(Operand::Gather { ghosts, .. }) if !ghosts.is_null() => {
                Err(Refusal::new("elements of other ranks", None))
            }
            _ => Ok(()),
        }
    }

    /// What stands in front of the function: the number of its arguments, and lengths.
    fn head(words: usize) -> String {
        format!("#define WORDS {words}\n")
    }

    fn scalars(self) -> Printed {
        let mut text = Self::head(self.words.len().max(1));
        let _ = writeln!(
            text,
            "KERNEL\nPHASE\n{}END_PHASE\nEND_KERNEL",
            self.uniforms
        );
        Printed {
            text,
            words: self.words,
            tiles_of_block: 1,
            stores_scalars: false,
        }
    }
}

/// The name that both compilers know.
const _: () = assert!(matches!(FUNCTION.as_bytes(), b"sparsefuse_kernel"));
