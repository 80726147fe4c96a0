//! How two values are joined, as text: by an operation, or as partial results of a reduction, which
//! are elements, or elements with their rows (`ArgMin`, `ArgMax`); and the kernel that joins tiles.

use crate::element::DType;
use crate::ir::{BinaryOp, ReduceOp};
use crate::native::Refusal;
use crate::native::operators::{binary, folded_by, memory_type};

/// Two operands, joined.
pub(super) fn join(op: BinaryOp, dtype: DType, (a, b): (&str, &str)) -> Result<String, Refusal> {
    let type_ = memory_type(dtype);
    let call = || format!("{}_{type_}({a}, {b})", op.name());
    let sign = match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div if dtype.is_integer() => return Ok(call()),
        BinaryOp::Pow | BinaryOp::Rem | BinaryOp::FloorDiv => return Ok(call()),
        _ => return binary(op, dtype, a, b),
    };
    match dtype.is_integer() {
        // Integers wrap, which C promises of unsigned ones alone.
        true => Ok(format!("({type_})((u64){a} {sign} (u64){b})")),
        false => binary(op, dtype, a, b),
    }
}

/// Two partial results of a reduction, those of `a` before those of `b`, joined.
pub(super) fn folded(op: ReduceOp, dtype: DType, (a, b): (&str, &str)) -> Result<String, Refusal> {
    match yields_row(op) {
        true => Ok(format!("{}_{}({a}, {b})", op.name(), memory_type(dtype))),
        false => join(folded_by(op, dtype)?, dtype, (a, b)),
    }
}

/// Whether a reduction says where an element is.
pub(super) fn yields_row(op: ReduceOp) -> bool {
    matches!(op, ReduceOp::ArgMin | ReduceOp::ArgMax)
}

/// The type of partial results.
pub(super) fn partial_type(op: ReduceOp, dtype: DType) -> String {
    let prefix = if yields_row(op) { "place_" } else { "" };
    format!("{prefix}{}", memory_type(dtype))
}

/// The bytes of a partial result.
pub(in crate::device) fn partial_size(op: ReduceOp, dtype: DType) -> usize {
    match yields_row(op) {
        true => 2 * size_of::<u64>(),
        false => dtype.size(),
    }
}

/// The result of no rows.
pub(super) fn identity(op: ReduceOp, dtype: DType) -> String {
    let type_ = memory_type(dtype);
    let (largest, smallest) = match dtype.is_real_float() {
        true => ("INFINITE".to_owned(), "-INFINITE".to_owned()),
        false => (format!("{type_}_LARGEST"), format!("{type_}_SMALLEST")),
    };
    match op {
        ReduceOp::Sum => match dtype {
            DType::Bool => "0".to_owned(),
            _ => format!("ZERO_{type_}"),
        },
        ReduceOp::Prod if dtype.is_complex() => format!("MAKE({type_}, 1, 0)"),
        ReduceOp::Prod | ReduceOp::All => "1".to_owned(),
        ReduceOp::Any => "0".to_owned(),
        ReduceOp::Min => largest,
        ReduceOp::Max => smallest,
        ReduceOp::ArgMin => format!("MAKE(place_{type_}, ({type_})({largest}), NO_ROW)"),
        ReduceOp::ArgMax => format!("MAKE(place_{type_}, ({type_})({smallest}), NO_ROW)"),
    }
}

/// The partial results of this many bytes that a block joins at a time: as many as its memory
/// holds.
pub(in crate::device) fn most_joined(size: usize) -> usize {
    (32 << 10) / size.max(size_of::<u64>())
}

/// The arguments of a kernel that joins, those of its results apart: where the tiles are and where
/// the results go, how far behind those of one reduction the next one's lie, the number of tiles,
/// how many a block joins, at most [`most_joined`], and whether that is the last step.
pub(in crate::device) const JOINING_WORDS: usize = 6;

/// The kernel that joins neighbouring tiles of some reductions by the binary tree of
/// [`crate::reduce`]: of each its groups one after the other, to elements of the results. In the
/// last step the result is an element of an argument, whose addresses stand behind the other words.
pub(in crate::device) fn joining(
    op: ReduceOp,
    dtype: DType,
    count: usize,
) -> Result<String, Refusal> {
    let type_ = partial_type(op, dtype);
    let joined = folded(op, dtype, ("t[i]", "t[i + reach]"))?;
    let last = match yields_row(op) {
        true => format!("*(i64 *)ARG({JOINING_WORDS} + r) = (i64)x.row"),
        false => format!("*({type_} *)ARG({JOINING_WORDS} + r) = x"),
    };
    let most = most_joined(partial_size(op, dtype));
    Ok(format!(
        "#define WORDS {}\nKERNEL\nSHARED({type_}, t, {most})\n\
         const u64 all = (ARG(3) + ARG(4) - 1) / ARG(4), groups = all > 0 ? all : 1;\n\
         const u64 r = BLOCK / groups, g = BLOCK % groups;\n\
         const u64 first = g * ARG(4), left = first < ARG(3) ? ARG(3) - first : 0;\n\
         const u32 n = left < ARG(4) ? left : ARG(4);\n\
         PHASE\n    enum {{ N = {most} / THREADS }};\n    {type_} x[N];\n    \
         const {type_} *const from = (const {type_} *)(ARG(0) + r * ARG(2)) + first;\n    \
         EACH if (THREAD + b * THREADS < n) x[b] = from[THREAD + b * THREADS];\n    \
         EACH if (THREAD + b * THREADS < n) t[THREAD + b * THREADS] = x[b];\n\
         END_PHASE\n\
         for (u32 reach = 1; reach < n; reach *= 2) {{\nPHASE\n    \
         for (u32 i = 2 * reach * THREAD; i + reach < n; i += 2 * reach * THREADS) t[i] = {joined};\n\
         END_PHASE\n}}\n\
         PHASE\n    if (THREAD == 0) {{\n        {type_} x = {};\n        if (n > 0) x = t[0];\n        \
         if (ARG(5)) {last}; else (({type_} *)(ARG(1) + r * ARG(2)))[g] = x;\n    }}\nEND_PHASE\n\
         END_KERNEL\n",
        JOINING_WORDS + count,
        identity(op, dtype)
    ))
}
