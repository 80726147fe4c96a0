//! From a loop of the IR to C.
//!
//! The function takes rows of a line in chunks of [`CHUNK`], each of which it computes in an inner
//! loop over its rows, one C variable for each value; the C compiler makes SIMD code of it. Uniform
//! values and the lanes of reductions are memory of the caller. What is known of the runs of a form
//! stands in macros in front of the function: `SPLAT0`, `SPLAT1`, ... say where a uniform value
//! lies, the same for those that are equal; `ARRAY0`, `OFFSET0`, `STEP0`, ... where an array
//! begins, as an address that the caller passes and a number of elements behind it, and the
//! distance from row to row; `LINED` asks for the rest that is no whole chunk, too, and for as many
//! lines as the caller says, each as many bytes behind the one before as `steps` has it. So the
//! neighbours that a stencil reads are one address in machine code, a value that is the same along
//! a line is read once, and short lines cost no calls. Row `k` of a chunk belongs to lane `k`; the
//! caller turns the lanes where a line begins elsewhere.
//!
//! A complex number is a pair of parts. The compiler takes pairs apart before it looks for SIMD
//! code, so `complex.c` chooses between pairs part by part.
//!
//! What has no vector code in C compilers (integer division, remainders), and what is rare
//! (elementary functions of complex numbers, row operations, random numbers), is refused with a
//! reason: such a loop stays with the blocks.
//!
//! Truth values are bytes in memory. GCC takes as many rows at a time as bytes fit a vector, of
//! which a chunk has too few, so a loop that computes with larger elements has them as whole
//! numbers of that size: an inner loop before it reads them, and one behind it writes them.
//!
//! The fast reduction of the arguments of sine and cosine holds up to a bound. A loop with one of
//! them first computes all values of a chunk; if an argument is beyond the bound it returns, and
//! the caller runs that chunk in blocks.

use super::Refusal;
use super::operators::{binary, cast, folded_by, memory_type, unary, value_type};
use crate::abi::{CHUNK, LANES_BYTES, SPLAT_BYTES};
use crate::element::DType;
use crate::ir::{
    ArgId, BinaryOp, Inst, Kernel, Loop, ReduceOp, UnaryOp, ValueId, needed, uniform_values,
    value_types,
};
use crate::isa::Isa;
use crate::operations::UnaryForm;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A loop in C.
#[derive(Debug)]
pub(super) struct Printed {
    /// The definition of the function.
    pub(super) text: String,
    /// The arrays, in the order in which the function expects them, and the bytes of their
    /// elements.
    pub(super) arrays: Vec<(ArgId, usize)>,
    /// The bytes of the elements of its reductions, in order.
    pub(super) lanes: Vec<usize>,
}

/// Prints a loop of a verified kernel as the function `name`. `splats` are the numbers of the
/// uniform values that the caller passes, counted among the uniform instructions of the loop;
/// `streamed` are the arrays that are stored past the caches.
pub(super) fn print(
    kernel: &Kernel,
    loop_: &Loop,
    (splats, streamed): (&[u32], &[ArgId]),
    isa: Isa,
    name: &str,
) -> Result<Printed, Refusal> {
    let mut printer = Printer {
        kernel,
        types: value_types(kernel, &loop_.body),
        splats,
        streamed,
        isa,
        numbers: vec![None; loop_.body.len()],
        arrays: Vec::new(),
        defined: BTreeSet::new(),
        uniforms: String::new(),
        values: String::new(),
        effects: String::new(),
        reads: String::new(),
        buffers: String::new(),
        writes: String::new(),
        truth: None,
        copies: String::new(),
        is_guarded: has_angles(&loop_.body),
        has_pairs: has_pairs(kernel, &loop_.body),
        lanes: Vec::new(),
    };
    printer.truth = printer.truth_beside(&loop_.body);
    printer.body(&loop_.body)?;
    Ok(printer.finish(name))
}

struct Printer<'a> {
    kernel: &'a Kernel,
    types: Vec<Option<DType>>,
    splats: &'a [u32],
    streamed: &'a [ArgId],
    isa: Isa,
    /// For each uniform value its number among them.
    numbers: Vec<Option<u32>>,
    arrays: Vec<ArgId>,
    /// The names of what is defined at its first use, but for arrays.
    defined: BTreeSet<String>,
    /// Definitions of uniform values, arrays and lanes.
    uniforms: String,
    /// The inner loop that defines values.
    values: String,
    /// The inner loop with stores and reductions; only if the loop is guarded.
    effects: String,
    /// The inner loops that read truth values, and those that write them.
    reads: String,
    writes: String,
    /// The type of truth values that are read or written in these loops.
    truth: Option<&'static str>,
    /// What passes values from one inner loop to the next, and from there to `copies`.
    buffers: String,
    /// The copies of whole chunks past the caches.
    copies: String,
    is_guarded: bool,
    /// Whether products have to be kept from compilers that fuse them.
    has_pairs: bool,
    lanes: Vec<usize>,
}

/// Whether a body has real sines or cosines.
fn has_angles(body: &[Inst]) -> bool {
    let is_angle =
        |inst: &Inst| matches!(inst, Inst::Unary(op, _) if op.form() == UnaryForm::Angle);
    body.iter().any(is_angle)
}

/// Whether a body stores values side by side: complex numbers, or elements of several views of a
/// store. Of these GCC 12 fuses what it must not; see `times_f64` in `math.c`.
fn has_pairs(kernel: &Kernel, body: &[Inst]) -> bool {
    let stored = body.iter().filter_map(|inst| match *inst {
        Inst::Store(arg, _) => Some(&kernel.args[arg as usize]),
        _ => None,
    });
    let mut memories = Vec::new();
    for arg in stored {
        if arg.dtype.is_complex() || memories.contains(&arg.memory) {
            return true;
        }
        memories.push(arg.memory);
    }
    false
}

impl Printer<'_> {
    /// The type of whole numbers as large as the largest elements that a body computes with, if
    /// these are larger than truth values.
    fn truth_beside(&self, body: &[Inst]) -> Option<&'static str> {
        let (uniform, needed) = (uniform_values(body), needed(body, &Inst::is_effect));
        let computed = (0..body.len()).filter(|&i| !uniform[i] && needed[i]);
        let sizes = computed.filter_map(|i| self.types[i].map(|dtype| dtype.real().size()));
        match sizes.max() {
            Some(8) => Some("u64"),
            Some(4) => Some("u32"),
            _ => None,
        }
    }

    /// An inner loop of one statement.
    fn inner(statement: &str) -> String {
        format!("        ROWS\n        for (u32 k = 0; k < N; k++) {statement}\n")
    }

    fn body(&mut self, body: &[Inst]) -> Result<(), Refusal> {
        let (uniform, needed) = (uniform_values(body), needed(body, &Inst::is_effect));
        let mut n_uniforms = 0;
        for (i, &inst) in body.iter().enumerate() {
            if uniform[i] {
                self.numbers[i] = Some(n_uniforms);
                n_uniforms += 1;
            } else if needed[i] {
                self.varying(i as ValueId, inst, body)?;
            }
        }
        Ok(())
    }

    fn varying(&mut self, out: ValueId, inst: Inst, body: &[Inst]) -> Result<(), Refusal> {
        let value = match inst {
            Inst::Store(arg, a) => {
                self.store(arg, a);
                return Ok(());
            }
            Inst::Reduce(op, _, a) => return self.reduce(op, a),
            Inst::Load(arg) => self.load(arg, out, body)?,
            Inst::Index => "(i64)(start + row + at + k)".to_owned(),
            Inst::Unary(op, a) => self.unary(op, a)?,
            Inst::Binary(op, a, b) => {
                let dtype = self.dtype(a);
                let b = match op {
                    BinaryOp::Pow => self.row_operand(b),
                    _ => self.operand(b),
                };
                let a = self.operand(a);
                match self.has_pairs && dtype.is_real_float() && op == BinaryOp::Mul {
                    true => format!("times_{}({a}, {b})", memory_type(dtype)),
                    false => binary(op, dtype, &a, &b)?,
                }
            }
            Inst::Select(condition, a, b) => {
                let condition = self.operand(condition);
                let dtype = self.dtype(a);
                let (a, b) = (self.operand(a), self.operand(b));
                match dtype.is_complex() {
                    true => format!("select_{}({condition}, {a}, {b})", memory_type(dtype)),
                    false => format!("{condition} ? {a} : {b}"),
                }
            }
            Inst::Cast(to, a) => self.cast(to, a)?,
            Inst::Random { .. } => return Err(Refusal::new("random", None)),
            Inst::RowSum { .. } => return Err(Refusal::new("row_sum", None)),
            Inst::Gather { .. } => return Err(Refusal::new("gather", None)),
            Inst::RowReduce { .. } => return Err(Refusal::new("row_reduce", None)),
            Inst::Const(_) | Inst::Param(_) | Inst::LoadScalar(_) | Inst::StoreScalar(..) => {
                unreachable!("the verifier admits these as uniform instructions only")
            }
        };
        let type_ = value_type(self.dtype(out));
        let _ = writeln!(self.values, "            const {type_} v{out} = {value};");
        Ok(())
    }

    fn dtype(&self, value: ValueId) -> DType {
        self.types[value as usize].expect("the verifier admits typed operands")
    }

    /// The name of an operand; a uniform one is defined at its first use.
    fn operand(&mut self, value: ValueId) -> String {
        let Some(splat) = self.splat(value) else {
            return format!("v{value}");
        };
        let name = format!("s{splat}");
        let dtype = self.dtype(value);
        let (variable, element) = (value_type(dtype), memory_type(dtype));
        if self.is_new(&name) {
            let _ = writeln!(
                self.uniforms,
                "    const {variable} {name} = \
                 *(const {element} *)(uniforms + {SPLAT_BYTES} * SPLAT{splat});"
            );
        }
        name
    }

    /// As [`Printer::operand`], but a uniform one is read from the memory that has a copy of it for
    /// each row of a chunk. Conditions on one that is the same for all rows would be taken out of
    /// the loop and become scalars, which GCC cannot select vectors with: it would compute row by
    /// row.
    fn row_operand(&mut self, value: ValueId) -> String {
        let Some(splat) = self.splat(value) else {
            return self.operand(value);
        };
        let element = memory_type(self.dtype(value));
        let name = format!("e{splat}");
        if self.is_new(&name) {
            let _ = writeln!(
                self.uniforms,
                "    const {element} *const {name} = \
                 (const {element} *)(uniforms + {SPLAT_BYTES} * SPLAT{splat});"
            );
        }
        format!("{name}[k]")
    }

    /// The place of a uniform value among those that the caller passes.
    fn splat(&self, value: ValueId) -> Option<usize> {
        let number = self.numbers[value as usize]?;
        let splat = self.splats.iter().position(|&splat| splat == number);
        Some(splat.expect("the caller passes what steps read"))
    }

    /// Whether a name has not been defined yet; it is then.
    fn is_new(&mut self, name: &str) -> bool {
        self.defined.insert(name.to_owned())
    }

    /// The place of an array, `a` of which is defined at its first use.
    fn array(&mut self, arg: ArgId) -> usize {
        let known = self.arrays.iter().position(|&array| array == arg);
        let place = known.unwrap_or(self.arrays.len());
        if known.is_none() {
            let element = memory_type(self.kernel.args[arg as usize].dtype);
            self.arrays.push(arg);
            let _ = writeln!(
                self.uniforms,
                "    {element} *const a{place} = ({element} *)FROM(ARRAY{place}) + OFFSET{place} + \
                 STEP{place} * (i64)first;"
            );
        }
        place
    }

    /// The element of an array at the row.
    fn element(&mut self, arg: ArgId) -> String {
        let place = self.array(arg);
        format!("a{place}[STEP{place} * (i64)(at + k)]")
    }

    fn load(&mut self, arg: ArgId, out: ValueId, body: &[Inst]) -> Result<String, Refusal> {
        let memory = |arg: ArgId| self.kernel.args[arg as usize].memory;
        let is_stored = body[..out as usize]
            .iter()
            .any(|inst| matches!(*inst, Inst::Store(to, _) if memory(to) == memory(arg)));
        if is_stored {
            // The stores of a guarded loop come last.
            return Err(Refusal::new("load of what was stored", None));
        }
        let element = self.element(arg);
        Ok(match (self.kernel.args[arg as usize].dtype, self.truth) {
            (DType::Bool, Some(truth)) => {
                let buffer = format!("r{}", self.array(arg));
                if self.is_new(&buffer) {
                    let _ = writeln!(self.buffers, "        {truth} {buffer}[{CHUNK}];");
                    let statement = format!("{buffer}[k] = {element};");
                    self.reads.push_str(&Self::inner(&statement));
                }
                format!("{buffer}[k] != 0")
            }
            (DType::Bool, None) => format!("{element} != 0"),
            _ => element,
        })
    }

    fn store(&mut self, arg: ArgId, a: ValueId) {
        let to = self.element(arg);
        let mut a = self.effect_operand(a);
        let is_truth = self.kernel.args[arg as usize].dtype == DType::Bool;
        if let Some(truth) = self.truth.filter(|_| is_truth) {
            let buffer = format!("w{}", self.array(arg));
            if self.is_new(&buffer) {
                let _ = writeln!(self.buffers, "        {truth} {buffer}[{CHUNK}];");
            }
            self.effect(&format!("{buffer}[k] = {a};"));
            a = format!("(u8){buffer}[k]");
        }
        if !self.streamed.contains(&arg) {
            self.write((&to, &a), is_truth);
            return;
        }
        // The caller names arrays whose rows lie side by side.
        let place = self.array(arg);
        let element = memory_type(self.kernel.args[arg as usize].dtype);
        let _ = writeln!(self.buffers, "        LINES {element} ca{place}[{CHUNK}];");
        let _ = writeln!(
            self.copies,
            "        stream(a{place} + at, ca{place}, N * sizeof *ca{place});"
        );
        self.write((&format!("ca{place}[k]"), &a), is_truth);
    }

    /// An element that gets a value, which a truth value does in an inner loop of its own.
    fn write(&mut self, (to, a): (&str, &str), is_truth: bool) {
        let statement = format!("{to} = {a};");
        match is_truth && self.truth.is_some() {
            true => self.writes.push_str(&Self::inner(&statement)),
            false => self.effect(&statement),
        }
    }

    fn reduce(&mut self, op: ReduceOp, a: ValueId) -> Result<(), Refusal> {
        let dtype = self.dtype(a);
        let op = folded_by(op, dtype)?;
        let element = memory_type(dtype);
        let number = self.lanes.len();
        let lanes = format!("l{number}");
        let _ = writeln!(
            self.uniforms,
            "    {element} *const {lanes} = ({element} *)(lanes + {});",
            number * LANES_BYTES
        );
        self.lanes.push(dtype.size());
        let a = self.effect_operand(a);
        let joined = binary(op, dtype, &format!("{lanes}[F + k]"), &a)?;
        self.effect(&format!("{lanes}[F + k] = {joined};"));
        Ok(())
    }

    /// The operand of an effect, which a guarded loop computes one inner loop earlier.
    fn effect_operand(&mut self, a: ValueId) -> String {
        let name = self.operand(a);
        if !self.is_guarded || self.numbers[a as usize].is_some() {
            return name;
        }
        let element = match (self.dtype(a), self.truth) {
            (DType::Bool, Some(truth)) => truth,
            (dtype, _) => memory_type(dtype),
        };
        let buffer = format!("b{a}");
        if self.is_new(&buffer) {
            let _ = writeln!(self.buffers, "        {element} {buffer}[{CHUNK}];");
            let _ = writeln!(self.values, "            {buffer}[k] = {name};");
        }
        format!("{buffer}[k]")
    }

    fn effect(&mut self, line: &str) {
        let lines = match self.is_guarded {
            true => &mut self.effects,
            false => &mut self.values,
        };
        let _ = writeln!(lines, "            {line}");
    }

    fn unary(&mut self, op: UnaryOp, a: ValueId) -> Result<String, Refusal> {
        let dtype = self.dtype(a);
        let operand = self.operand(a);
        if op.form() == UnaryForm::Angle && dtype.is_real_float() {
            let _ = writeln!(self.values, "            large |= is_large({operand});");
        }
        unary(op, dtype, &operand)
    }

    fn cast(&mut self, to: DType, a: ValueId) -> Result<String, Refusal> {
        let from = self.dtype(a);
        let operand = self.operand(a);
        let is_float = |dtype: DType| dtype.is_real_float();
        let is_wide = |dtype: DType| matches!(dtype, DType::I64 | DType::U64 | DType::U32);
        // AVX2 has no conversions between floats and these.
        let is_missing = |from: DType, to: DType| {
            self.isa != Isa::Avx512
                && (is_float(from) && is_wide(to) || is_wide(from) && is_float(to))
        };
        let is_truth = to == DType::Bool && from.is_complex();
        if from != to && !is_truth && is_missing(from.real(), to.real()) {
            return Err(Refusal::new("cast", Some(to)));
        }
        Ok(cast((from, to), &operand))
    }

    fn finish(self, name: &str) -> Printed {
        let mut text = format!(
            "u64 {name}(u8 *const *arrays, const u8 *uniforms, u8 *lanes, u64 start, u64 first, \
             u64 rows, u64 lines, const i64 *steps) {{\n    \
             for (u64 line = 0; line < lines; line++) {{\n    const u64 row = first + line * rows;\n"
        );
        text.push_str(&self.uniforms);
        text.push_str("    u64 at = 0;\n");
        let before = self.streamed.first().map(|&first| {
            let place = self.arrays.iter().position(|&arg| arg == first);
            place.expect("what is streamed is stored")
        });
        // The rows of a line before the first that a cache line begins with, and, in the second
        // round, those behind the last whole chunk; of contiguous arrays these are run in blocks.
        let before = before.map_or("0".to_owned(), |place| {
            format!("-(u64)a{place} % 64 / sizeof *a{place}")
        });
        let _ = writeln!(
            text,
            "#ifdef LINED\n    u64 end = {before};\n    end = end < rows ? end : rows;\n    for (;;) {{"
        );
        for n in [CHUNK / 2, CHUNK / 4, CHUNK / 8, 1] {
            let rows = self.rows();
            let _ = writeln!(
                text,
                "    if (end - at >= {n}) {{\n        const u32 N = {n}, F = at % {CHUNK};\n{rows}        \
                 at += {n};\n    }}"
            );
        }
        let _ = writeln!(
            text,
            "    if (end == rows) break;\n#endif\n    \
             for (; at + {CHUNK} <= rows; at += {CHUNK}) {{\n        \
             const u32 N = {CHUNK}, F = 0;\n{}    }}\n\
             #ifdef LINED\n    end = rows;\n    }}\n#endif\n    \
             if (at < rows) return line * rows + at;\n    }}\n    return lines * rows;\n}}",
            self.rows()
        );
        let size = |arg: ArgId| self.kernel.args[arg as usize].dtype.size();
        Printed {
            text,
            arrays: self.arrays.iter().map(|&arg| (arg, size(arg))).collect(),
            lanes: self.lanes,
        }
    }

    /// The statements for `N` rows, from `at` on, the first of which belongs to lane `F`.
    fn rows(&self) -> String {
        let inner = "        ROWS\n        for (u32 k = 0; k < N; k++) {\n";
        let Self {
            buffers,
            reads,
            values,
            effects,
            writes,
            copies,
            ..
        } = self;
        match self.is_guarded {
            false => format!("{buffers}{reads}{inner}{values}        }}\n{writes}{copies}"),
            true => format!(
                "        u64 large = 0;\n{buffers}{reads}{inner}{values}        }}\n        \
                 if (large) return line * rows + at;\n{inner}{effects}        }}\n{writes}{copies}"
            ),
        }
    }
}
