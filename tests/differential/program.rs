//! Programs as plain data.
//!
//! A [`Program`] is a list of [`Step`]s on numbered variables; what data, numbers and matrices it
//! uses are functions of small integers, so a program prints as the Rust text that makes it again.
//! Steps that make no sense where they stand (a variable that does not exist, shapes that do not
//! fit) are skipped by everybody who runs a program; so dropping any step leaves a program.

use sparsefuse::kernels::{BinaryOp, DType, Element, ReduceOp, UnaryOp, Value, random, scalar};

/// The number of a variable: an array, a single element or a matrix.
pub(crate) type Var = u32;

/// Steps, and the tile length that is part of their meaning.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Program {
    pub(crate) tile_len: usize,
    pub(crate) steps: Vec<Step>,
}

/// An operand of an elementwise step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operand {
    Of(Var),
    /// [`number`] with this choice, of the type that the other operands have.
    Number(u32),
}

/// Every `step`-th index of `start..end` of dimension `dim`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub(crate) dim: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) step: isize,
}

/// Where a matrix has its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Next to the diagonal.
    Banded,
    /// A few in some rows, none in others.
    Scattered,
    /// Row `i` has about `columns / (i + 1)` entries.
    PowerLaw,
    /// All in the first and the last column.
    Corners,
    /// Everywhere.
    Full,
    /// Nowhere.
    Empty,
}

/// Which elements a new array has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// Ordinary numbers of both signs.
    Smooth,
    /// Small whole numbers, many of them equal.
    Small,
    /// NaN, infinities, zeros of both signs, denormals, the largest and smallest among others.
    Special,
}

/// One line of a program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// A new array from host data.
    Data {
        out: Var,
        dtype: DType,
        shape: Vec<usize>,
        flavour: Flavour,
        seed: u64,
    },
    /// A new array, or single element, of one number.
    Fill {
        out: Var,
        dtype: DType,
        shape: Vec<usize>,
        number: u32,
    },
    /// `index * factor`, element by element.
    Index {
        out: Var,
        dtype: DType,
        shape: Vec<usize>,
        factor: u32,
    },
    /// Random bits of a stream.
    Random {
        out: Var,
        shape: Vec<usize>,
        seed: u64,
    },
    Unary {
        out: Var,
        op: UnaryOp,
        a: Var,
    },
    Cast {
        out: Var,
        to: DType,
        a: Var,
    },
    Binary {
        out: Var,
        op: BinaryOp,
        a: Operand,
        b: Operand,
    },
    Select {
        out: Var,
        condition: Operand,
        a: Operand,
        b: Operand,
    },
    /// Through the handles of `dense`: `a op b` for `+ - * /`, `b` perhaps a number or a scalar.
    Operator {
        out: Var,
        op: BinaryOp,
        a: Var,
        b: Operand,
    },
    /// Through the handles of `dense`: inner product and norm.
    Dot {
        out: Var,
        a: Var,
        b: Var,
    },
    Norm {
        out: Var,
        a: Var,
    },
    Reduce {
        out: Var,
        op: ReduceOp,
        a: Var,
    },
    /// One task with three reductions and one array: `out = a * b`, `largest = max(a)`, and the
    /// two elements of `sums`, `sum(a * b)` and `sum(a)`.
    Several {
        out: Var,
        sums: Var,
        largest: Var,
        a: Var,
        b: Var,
    },
    RowReduce {
        out: Var,
        op: ReduceOp,
        a: Var,
    },
    MatVec {
        out: Var,
        a: Var,
        x: Var,
    },
    Slice {
        out: Var,
        a: Var,
        range: Range,
    },
    /// Two dimensions exchanged: those with these numbers, counted round and round.
    Permute {
        out: Var,
        a: Var,
        swap: (usize, usize),
    },
    /// The same elements in another shape, where that is a view: one of those with this number.
    Reshape {
        out: Var,
        a: Var,
        shape: usize,
    },
    Pick {
        out: Var,
        a: Var,
        dim: usize,
        index: usize,
    },
    Broadcast {
        out: Var,
        a: Var,
        shape: Vec<usize>,
    },
    /// Host tasks: the elements in the opposite order, or each row one further.
    Moved {
        out: Var,
        a: Var,
        whole: bool,
    },
    /// A deferred result, cut as it was found: every `every`-th element, as a vector.
    Chosen {
        out: Var,
        a: Var,
        every: usize,
    },
    Clone {
        out: Var,
        a: Var,
    },
    Drop {
        a: Var,
    },
    /// Writes a slice of an array that is a value: other handles keep what they had.
    Assign {
        target: Var,
        ranges: Vec<Range>,
        source: Operand,
    },
    /// Writes through a view in place: all handles of the store see it.
    Write {
        target: Var,
        source: Operand,
    },
    /// `target = target op other` through a view in place.
    Update {
        target: Var,
        op: BinaryOp,
        other: Operand,
    },
    Matrix {
        out: Var,
        dtype: DType,
        shape: [usize; 2],
        pattern: Pattern,
        seed: u64,
    },
    Product {
        out: Var,
        matrix: Var,
        x: Var,
    },
    Scale {
        out: Var,
        matrix: Var,
        factor: Operand,
    },
    Values {
        out: Var,
        matrix: Var,
    },
    WithValues {
        out: Var,
        matrix: Var,
        values: Var,
    },
    TransposeMatrix {
        out: Var,
        matrix: Var,
    },
    Diagonal {
        out: Var,
        matrix: Var,
    },
    ReadMatrix {
        matrix: Var,
    },
    Read {
        a: Var,
    },
    /// Keeps what this rank holds of an array, which must not change from now on.
    Hold {
        a: Var,
    },
    Flush,
    /// The rounds of a declared loop, each of which does these steps, those of [`Step::results`].
    Rounds {
        count: usize,
        steps: Vec<Step>,
    },
}

impl Step {
    /// The names of all kinds of steps.
    pub(crate) const KINDS: [&'static str; 39] = [
        "Data",
        "Fill",
        "Index",
        "Random",
        "Unary",
        "Cast",
        "Binary",
        "Select",
        "Operator",
        "Dot",
        "Norm",
        "Reduce",
        "Several",
        "RowReduce",
        "MatVec",
        "Slice",
        "Permute",
        "Reshape",
        "Pick",
        "Broadcast",
        "Moved",
        "Chosen",
        "Clone",
        "Drop",
        "Assign",
        "Write",
        "Update",
        "Matrix",
        "Product",
        "Scale",
        "Values",
        "WithValues",
        "TransposeMatrix",
        "Diagonal",
        "ReadMatrix",
        "Read",
        "Hold",
        "Flush",
        "Rounds",
    ];

    /// The variables that a step of a round replaces or writes; `None` if a round has no such step.
    pub(crate) fn results(&self) -> Option<Vec<Var>> {
        Some(match *self {
            Self::Fill { out, .. }
            | Self::Index { out, .. }
            | Self::Random { out, .. }
            | Self::Unary { out, .. }
            | Self::Cast { out, .. }
            | Self::Binary { out, .. }
            | Self::Select { out, .. }
            | Self::Operator { out, .. }
            | Self::Dot { out, .. }
            | Self::Norm { out, .. }
            | Self::Reduce { out, .. }
            | Self::RowReduce { out, .. }
            | Self::MatVec { out, .. }
            | Self::Slice { out, .. }
            | Self::Moved { out, .. }
            | Self::Product { out, .. } => vec![out],
            Self::Several {
                out, sums, largest, ..
            } => vec![out, sums, largest],
            Self::Assign { target, .. }
            | Self::Write { target, .. }
            | Self::Update { target, .. } => vec![target],
            _ => return None,
        })
    }

    /// The name of the kind of this step.
    pub(crate) fn kind(&self) -> &'static str {
        let text = format!("{self:?}");
        let name = text.split([' ', '{']).next().unwrap_or_default();
        Self::KINDS
            .into_iter()
            .find(|kind| *kind == name)
            .expect("all kinds are listed")
    }
}

/// The element types of programs.
pub(crate) const DTYPES: [DType; 9] = DType::ALL;

/// The element types of matrices.
pub(crate) const MATRIX_DTYPES: [DType; 4] =
    [DType::F64, DType::F32, DType::ComplexF64, DType::I64];

/// A number for a step: special ones first, then ordinary ones.
pub(crate) fn number(dtype: DType, choice: u32) -> Value {
    let real = |k: u32| -> f64 {
        const SPECIAL: [f64; 12] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            2.0,
            0.5,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            5e-324,
            1e308,
            -3.0,
        ];
        SPECIAL
            .get(k as usize)
            .copied()
            .unwrap_or_else(|| (f64::from(k) * 0.37).sin() * 4.0)
    };
    match dtype {
        DType::ComplexF32 | DType::ComplexF64 => {
            let z = num_complex::Complex::new(real(choice), real((choice * 7 + 2) % 23));
            scalar::cast(dtype, z.to_value())
        }
        DType::Bool => (choice % 2 == 1).to_value(),
        _ => scalar::cast(dtype, real(choice).to_value()),
    }
}

/// Element `index` of an array of host data.
pub(crate) fn element(dtype: DType, flavour: Flavour, seed: u64, index: usize) -> Value {
    let bits = random::bits(seed, index as u64);
    match flavour {
        Flavour::Smooth => number(dtype, 12 + (bits % 1000) as u32),
        Flavour::Small => {
            let small = (bits % 7) as f64
                - if dtype == DType::U32 || dtype == DType::U64 {
                    0.0
                } else {
                    3.0
                };
            scalar::cast(dtype, small.to_value())
        }
        Flavour::Special => match dtype {
            DType::I32 | DType::I64 | DType::U32 | DType::U64 if bits.is_multiple_of(3) => {
                Value::from_bits(dtype, [random::bits(seed ^ 1, index as u64), 0])
            }
            _ => number(dtype, (bits % 24) as u32),
        },
    }
}

/// The columns of a row of a matrix, ascending.
pub(crate) fn columns(
    pattern: Pattern,
    seed: u64,
    row: usize,
    [_, n_cols]: [usize; 2],
) -> Vec<usize> {
    let keep = |column: usize, chance: u64| {
        random::bits(seed, (row * n_cols + column) as u64) % 100 < chance
    };
    (0..n_cols)
        .filter(|&column| match pattern {
            Pattern::Banded => row.abs_diff(column) <= 2,
            Pattern::Scattered => {
                !random::bits(seed ^ 77, row as u64).is_multiple_of(3) && keep(column, 12)
            }
            Pattern::PowerLaw => keep(column, 100 / (row as u64 + 1) + 2),
            Pattern::Corners => column == 0 || column + 1 == n_cols,
            Pattern::Full => true,
            Pattern::Empty => false,
        })
        .collect()
}

impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "Program {{ tile_len: {}, steps: vec![", self.tile_len)?;
        for step in &self.steps {
            writeln!(f, "    {step:?},")?;
        }
        f.write_str("] }")
    }
}
