//! From kernels to text.

use crate::element::{DType, Value};
use crate::ir::{Inst, Kernel, Loop};
use std::fmt;

/// A header that would be longer takes a line for each argument.
const WIDTH: usize = 100;

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = header(self, ", ", "");
        if header.len() <= WIDTH {
            writeln!(f, "{header}")?;
        } else {
            writeln!(f, "{}", self::header(self, ",\n  ", "\n"))?;
        }
        for loop_ in &self.loops {
            write!(f, "{loop_}")?;
        }
        writeln!(f, "}}")
    }
}

/// The text before the loops: `separator` between entries, `edge` around them.
fn header(kernel: &Kernel, separator: &str, edge: &str) -> String {
    let args: Vec<String> = kernel
        .args
        .iter()
        .enumerate()
        .map(|(i, arg)| {
            let temporary = if arg.temporary { " temporary" } else { "" };
            let (kind, dtype, memory) = (arg.kind.name(), arg.dtype, arg.memory);
            format!("a{i}: {kind} {dtype} @{memory}{temporary}")
        })
        .collect();
    let params: Vec<String> = kernel
        .params
        .iter()
        .enumerate()
        .map(|(i, dtype)| format!("p{i}: {dtype}"))
        .collect();
    let first = if edge.is_empty() { "" } else { "\n  " };
    let semicolon = if params.is_empty() {
        ""
    } else {
        &separator.replace(',', ";")
    };
    format!(
        "kernel({first}{}{semicolon}{}{edge}) {{",
        args.join(separator),
        params.join(separator)
    )
}

impl fmt::Display for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  loop d{} {{", self.domain)?;
        for (i, inst) in self.body.iter().enumerate() {
            if inst.is_effect() {
                writeln!(f, "    {inst}")?;
            } else {
                writeln!(f, "    %{i} = {inst}")?;
            }
        }
        writeln!(f, "  }}")
    }
}

impl fmt::Display for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Const(value) => write!(f, "const {} {}", value.dtype(), Exact(value)),
            Self::Param(param) => write!(f, "param p{param}"),
            Self::LoadScalar(arg) => write!(f, "load_scalar a{arg}"),
            Self::Index => write!(f, "index"),
            Self::Load(arg) => write!(f, "load a{arg}"),
            Self::Unary(op, a) => write!(f, "{} %{a}", op.name()),
            Self::Binary(op, a, b) => write!(f, "{} %{a} %{b}", op.name()),
            Self::Select(condition, a, b) => write!(f, "select %{condition} %{a} %{b}"),
            Self::Cast(dtype, a) => write!(f, "cast {dtype} %{a}"),
            Self::Random { kind, seed, index } => {
                write!(f, "random {} %{seed} %{index}", kind.name())
            }
            Self::RowSum {
                structure,
                entries,
                x,
            } => write!(f, "row_sum a{structure} a{entries} a{x}"),
            Self::Gather { structure, x } => write!(f, "gather a{structure} a{x}"),
            Self::RowReduce { op, rows, x } => {
                write!(f, "row_reduce {} a{rows}", op.name())?;
                x.map_or(Ok(()), |x| write!(f, " a{x}"))
            }
            Self::Store(arg, a) => write!(f, "store a{arg} %{a}"),
            Self::StoreScalar(arg, a) => write!(f, "store_scalar a{arg} %{a}"),
            Self::Reduce(op, arg, a) => write!(f, "reduce {} a{arg} %{a}", op.name()),
        }
    }
}

/// A value as text that reads back with the same bits: as [`Value`] prints it, but with the bits of
/// every NaN.
struct Exact(Value);

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [low, high] = self.0.bits();
        match self.0.dtype() {
            DType::F32 | DType::F64 => write!(f, "{}", real(self.0.dtype(), low)),
            DType::ComplexF32 | DType::ComplexF64 => {
                let part = |bits| real(self.0.dtype().real(), bits);
                write!(f, "({},{})", part(low), part(high))
            }
            DType::I32 | DType::I64 | DType::U32 | DType::U64 | DType::Bool => {
                write!(f, "{}", self.0)
            }
        }
    }
}

fn real(dtype: DType, bits: u64) -> String {
    let value = Value::from_bits(dtype, [bits, 0]);
    if crate::scalar::is_nan(value) {
        format!("nan({bits:#x})")
    } else {
        value.to_string()
    }
}
