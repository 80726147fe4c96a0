//! Random programs and setups, each a function of one number.

use crate::program::{DTYPES, Flavour, MATRIX_DTYPES, Operand, Pattern, Program, Range, Step, Var};
use crate::reference::{Array, Entry, World};
use crate::run::{Setup, reductions};
use sparsefuse::kernels::{BinaryOp, DType, Isa, UnaryOp, random};
use sparsefuse::runtime::{Config, DeviceKind, Executor};

/// Random numbers, counted from a seed.
#[derive(Clone, Debug)]
pub(crate) struct Dice {
    seed: u64,
    drawn: u64,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    fn bits(&mut self) -> u64 {
        self.drawn += 1;
        random::bits(self.seed, self.drawn)
    }

    /// A number below `n`, which is above 0.
    fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// Whether something of this chance in a hundred happens.
    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }
}

/// Variables of a program: few, so that they are overwritten often.
const VARS: usize = 14;

/// A program, and nothing else, from a seed.
pub(crate) fn program(seed: u64) -> Program {
    let mut dice = Dice::new(seed);
    let tile_len = dice.pick(&[1, 2, 3, 4, 4, 5, 7, 8, 15, 16, 17, 32, 64, 100, 1024]);
    let mut author = Author::new(dice, tile_len);
    author.declare();
    let target = 3 + author.dice.below(24);
    while author.steps.len() < target {
        if author.dice.chance(12) {
            author.repeat();
        } else if author.dice.chance(10) {
            author.rounds();
        } else {
            author.step();
        }
    }
    Program {
        tile_len,
        steps: author.steps,
    }
}

/// Writes a program step by step, and knows what its variables are.
struct Author {
    dice: Dice,
    world: World,
    steps: Vec<Step>,
    /// The shapes of this program: few, so that arrays fit each other.
    shapes: Vec<Vec<usize>>,
    /// The element types of this program, the first most often.
    dtypes: Vec<DType>,
}

impl Author {
    fn new(mut dice: Dice, tile_len: usize) -> Self {
        let lengths = [
            0,
            1,
            2,
            tile_len - 1,
            tile_len,
            tile_len + 1,
            2 * tile_len,
            3 * tile_len + 1,
            5 * tile_len,
            33,
            50,
        ];
        let long = dice.chance(30);
        let most = if tile_len >= 100 {
            2 * tile_len + 60
        } else {
            200
        };
        let length = |dice: &mut Dice| {
            let n = dice.pick(&lengths).min(most);
            if long { n.max(12) } else { n }
        };
        let (n, m) = (length(&mut dice), length(&mut dice));
        let (wide, tall) = (n.min(60), m.min(40));
        let shapes = vec![
            vec![n],
            vec![n],
            vec![n.saturating_sub(1)],
            vec![n.saturating_sub(2)],
            vec![m],
            vec![wide, tall],
            vec![tall, wide],
            vec![n, 3],
            vec![2, m],
            vec![wide],
            vec![tall],
            vec![wide.min(14), 3, tall.min(7)],
            vec![wide.min(14), tall.min(7)],
            vec![3, wide.min(14), tall.min(7)],
            vec![tall.min(7), 2, 3, wide.min(14)],
        ];
        let dtypes = vec![
            dice.pick(&[
                DType::F64,
                DType::F64,
                DType::F32,
                DType::ComplexF64,
                DType::I64,
            ]),
            dice.pick(&DTYPES),
            DType::Bool,
        ];
        Self {
            dice,
            world: World::new(tile_len),
            steps: Vec::new(),
            shapes,
            dtypes,
        }
    }

    /// Some arrays and perhaps a matrix to begin with.
    fn declare(&mut self) {
        for out in 0..3 {
            let step = self.data(out);
            self.add(step);
        }
        if self.dice.chance(50) {
            let step = self.matrix(3);
            self.add(step);
        }
    }

    /// Appends a step if it makes sense.
    fn add(&mut self, step: Step) -> bool {
        let makes_sense = self.world.apply(&step).is_some();
        if makes_sense {
            self.steps.push(step);
        }
        makes_sense
    }

    fn step(&mut self) {
        // Products of what a product has made just before.
        if let Some(&Step::Product { out: x, .. }) = self.steps.last()
            && self.dice.chance(30)
        {
            let (out, matrix) = (self.out(), self.matrix_var());
            if self.add(Step::Product { out, matrix, x }) {
                return;
            }
        }
        for _ in 0..200 {
            let step = self.any();
            if self.add(step) {
                return;
            }
        }
    }

    /// A block of steps, three times over, with other numbers each time.
    fn repeat(&mut self) {
        let begin = self.steps.len();
        for _ in 0..1 + self.dice.below(5) {
            self.step();
        }
        let end = if self.dice.chance(70) {
            Step::Flush
        } else {
            Step::Read { a: self.var() }
        };
        self.add(end);
        let block = self.steps[begin..].to_vec();
        for _ in 0..2 {
            for step in &block {
                let step = self.with_other_numbers(step.clone());
                self.add(step);
            }
        }
    }

    /// A declared loop.
    fn rounds(&mut self) {
        let (world, begin) = (self.world.clone(), self.steps.len());
        let most = 1 + self.dice.below(6);
        for _ in 0..40 {
            let step = self.any();
            if step.results().is_some() && self.steps.len() < begin + most {
                self.add(step);
            }
        }
        self.world = world;
        let steps = self.steps.split_off(begin);
        let count = 2 + self.dice.below(5);
        self.add(Step::Rounds { count, steps });
    }

    fn with_other_numbers(&mut self, mut step: Step) -> Step {
        let fresh = self.dice.below(40) as u32;
        let renumber = |operand: &mut Operand| {
            if let Operand::Number(choice) = operand {
                *choice = fresh;
            }
        };
        match &mut step {
            Step::Fill { number, .. } => *number = fresh,
            Step::Index { factor, .. } => *factor = fresh,
            Step::Binary { a, b, .. } | Step::Select { a, b, .. } => {
                renumber(a);
                renumber(b);
            }
            Step::Operator { b, .. } => renumber(b),
            Step::Assign { source, .. } | Step::Write { source, .. } => renumber(source),
            Step::Update { other, .. } => renumber(other),
            Step::Scale { factor, .. } => renumber(factor),
            _ => {}
        }
        step
    }

    fn var(&mut self) -> Var {
        let known: Vec<Var> = self.world.vars.keys().copied().collect();
        if known.is_empty() {
            0
        } else {
            self.dice.pick(&known)
        }
    }

    /// A variable that is an array, most often one like `like`.
    fn array_like(&mut self, like: Option<Var>) -> Var {
        let like = like.and_then(|var| self.world.array(var)).cloned();
        let mut alike = Vec::new();
        let mut arrays = Vec::new();
        for (&var, entry) in &self.world.vars {
            if let Entry::Array(array) = entry {
                arrays.push(var);
                let fits = |like: &Array| {
                    like.dtype == array.dtype
                        && (like.shape == array.shape || array.shape.is_empty())
                };
                if like.as_ref().is_some_and(fits) {
                    alike.push(var);
                }
            }
        }
        match (alike.is_empty(), arrays.is_empty()) {
            (false, _) if self.dice.chance(85) => self.dice.pick(&alike),
            (_, false) => self.dice.pick(&arrays),
            (_, true) => 0,
        }
    }

    fn array(&mut self) -> Var {
        self.array_like(None)
    }

    fn matrix_var(&mut self) -> Var {
        let known = self.world.vars.iter();
        let matrices: Vec<Var> = known
            .filter(|(_, entry)| matches!(entry, Entry::Matrix(_)))
            .map(|(&var, _)| var)
            .collect();
        if matrices.is_empty() {
            0
        } else {
            self.dice.pick(&matrices)
        }
    }

    /// The arrays for which something holds.
    fn arrays(&self, holds: impl Fn(&Array) -> bool) -> Vec<Var> {
        let arrays = self.world.vars.iter().filter(|(_, entry)| match entry {
            Entry::Array(array) => holds(array),
            Entry::Matrix(_) => false,
        });
        arrays.map(|(&var, _)| var).collect()
    }

    /// An array that has as many elements as a matrix has entries, if there is one.
    fn values_for(&mut self, matrix: Var) -> Var {
        let Some(Entry::Matrix(matrix)) = self.world.vars.get(&matrix) else {
            return 0;
        };
        let (dtype, shape) = (matrix.vals.dtype, matrix.vals.shape.clone());
        let fitting = self.arrays(|array| (array.dtype, &array.shape) == (dtype, &shape));
        if fitting.is_empty() {
            0
        } else {
            self.dice.pick(&fitting)
        }
    }

    /// An array of two dimensions or more, if there is one.
    fn rows_var(&mut self) -> Var {
        let rows = self.arrays(|array| array.shape.len() >= 2);
        if rows.is_empty() {
            0
        } else {
            self.dice.pick(&rows)
        }
    }

    /// Mostly an array that is as long as the rows of another, if there is one.
    fn row_for(&mut self, rows: Var) -> Var {
        let Some(array) = self.world.array(rows) else {
            return 0;
        };
        let (dtype, last) = (array.dtype, array.shape.last().copied());
        let fitting = self.arrays(|array| {
            array.dtype == dtype && array.shape.len() == 1 && array.shape.first().copied() == last
        });
        match fitting.is_empty() || self.dice.chance(10) {
            true => self.array(),
            false => self.dice.pick(&fitting),
        }
    }

    /// Mostly an array that a matrix can be multiplied with, if there is one.
    fn factor_for(&mut self, matrix: Var) -> Var {
        let Some(Entry::Matrix(matrix)) = self.world.vars.get(&matrix) else {
            return 0;
        };
        let (dtype, [_, n_cols]) = (matrix.vals.dtype, matrix.shape);
        let fitting =
            self.arrays(|array| (array.dtype, array.shape.first()) == (dtype, Some(&n_cols)));
        match fitting.is_empty() || self.dice.chance(20) {
            true => self.array(),
            false => self.dice.pick(&fitting),
        }
    }

    fn out(&mut self) -> Var {
        self.dice.below(VARS) as Var
    }

    fn operand_like(&mut self, like: Var) -> Operand {
        if self.dice.chance(25) {
            Operand::Number(self.dice.below(40) as u32)
        } else {
            Operand::Of(self.array_like(Some(like)))
        }
    }

    fn dtype(&mut self) -> DType {
        let choices = [0, 0, 0, 0, 1, 2];
        let choice = self.dice.pick(&choices);
        self.dtypes[choice]
    }

    fn shape(&mut self) -> Vec<usize> {
        if self.dice.chance(6) {
            Vec::new()
        } else {
            let shapes = self.shapes.clone();
            self.dice.pick(&shapes)
        }
    }

    fn data(&mut self, out: Var) -> Step {
        let flavours = [
            Flavour::Smooth,
            Flavour::Smooth,
            Flavour::Small,
            Flavour::Special,
        ];
        Step::Data {
            out,
            dtype: self.dtype(),
            shape: self.shape(),
            flavour: self.dice.pick(&flavours),
            seed: self.dice.below(1000) as u64,
        }
    }

    fn matrix(&mut self, out: Var) -> Step {
        let lengths: Vec<usize> = self.shapes.iter().map(|shape| shape[0]).collect();
        let dtype = if MATRIX_DTYPES.contains(&self.dtypes[0]) {
            self.dtypes[0]
        } else {
            DType::F64
        };
        let (rows, columns) = (self.dice.pick(&lengths), self.dice.pick(&lengths));
        let columns = if self.dice.chance(50) { rows } else { columns };
        let patterns = [
            Pattern::Banded,
            Pattern::Banded,
            Pattern::Scattered,
            Pattern::Scattered,
            Pattern::PowerLaw,
            Pattern::Corners,
            Pattern::Full,
            Pattern::Empty,
        ];
        Step::Matrix {
            out,
            dtype,
            shape: [rows, columns],
            pattern: self.dice.pick(&patterns),
            seed: self.dice.below(1000) as u64,
        }
    }

    fn range(&mut self, of: Var) -> Range {
        let Some(array) = self.world.array(of).filter(|array| !array.shape.is_empty()) else {
            return Range {
                dim: 0,
                start: 0,
                end: 0,
                step: 1,
            };
        };
        let shape = array.shape.clone();
        let dim = self.dice.below(shape.len());
        let len = shape[dim];
        let start = self
            .dice
            .below(len / 2 + 1)
            .min(if self.dice.chance(60) { 2 } else { len });
        let end = len
            - self
                .dice
                .below(len - start + 1)
                .min(if self.dice.chance(60) { 2 } else { len });
        let step = self.dice.pick(&[1, 1, 1, 1, 2, 3, -1, -2]);
        Range {
            dim,
            start,
            end,
            step,
        }
    }

    /// Any step; perhaps it makes no sense.
    fn any(&mut self) -> Step {
        let out = self.out();
        match self.dice.below(100) {
            0..4 => self.data(out),
            4..6 => Step::Fill {
                out,
                dtype: self.dtype(),
                shape: self.shape(),
                number: self.dice.below(40) as u32,
            },
            6..8 => Step::Index {
                out,
                dtype: self.dtype(),
                shape: self.shape(),
                factor: self.dice.below(40) as u32,
            },
            8 => Step::Random {
                out,
                shape: self.shape(),
                seed: self.dice.below(9) as u64,
            },
            10..15 => Step::Unary {
                out,
                op: self.dice.pick(&UnaryOp::ALL),
                a: self.array(),
            },
            15..18 => Step::Cast {
                out,
                to: self
                    .dice
                    .pick(&[self.dtypes[0], self.dtypes[1], DType::F64]),
                a: self.array(),
            },
            18..32 => {
                let a = self.array();
                let ops = if self.dice.chance(60) {
                    &[BinaryOp::Add, BinaryOp::Mul, BinaryOp::Sub, BinaryOp::Lt][..]
                } else {
                    &BinaryOp::ALL[..]
                };
                let op = self.dice.pick(ops);
                let b = self.operand_like(a);
                let (a, b) = if self.dice.chance(20) {
                    (b, Operand::Of(a))
                } else {
                    (Operand::Of(a), b)
                };
                Step::Binary { out, op, a, b }
            }
            32..35 => {
                let a = self.array();
                let b = self.operand_like(a);
                let condition = Operand::Of(self.array());
                Step::Select {
                    out,
                    condition,
                    a: Operand::Of(a),
                    b,
                }
            }
            35..39 => {
                let a = self.array();
                let op =
                    self.dice
                        .pick(&[BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div]);
                Step::Operator {
                    out,
                    op,
                    a,
                    b: self.operand_like(a),
                }
            }
            39..42 => {
                let a = self.array();
                Step::Dot {
                    out,
                    a,
                    b: self.array_like(Some(a)),
                }
            }
            42 => Step::Norm {
                out,
                a: self.array(),
            },
            43..48 => {
                let a = self.array();
                let ops = self
                    .world
                    .array(a)
                    .map_or(Vec::new(), |array| reductions(array.dtype));
                if ops.is_empty() {
                    return Step::Flush;
                }
                Step::Reduce {
                    out,
                    op: self.dice.pick(&ops),
                    a,
                }
            }
            48 => {
                let a = self.array();
                Step::Several {
                    out,
                    sums: self.out(),
                    largest: self.out(),
                    a,
                    b: self.array_like(Some(a)),
                }
            }
            49..52 => {
                let a = self.array();
                let ops = self
                    .world
                    .array(a)
                    .map_or(Vec::new(), |array| reductions(array.dtype));
                if ops.is_empty() {
                    return Step::Flush;
                }
                Step::RowReduce {
                    out,
                    op: self.dice.pick(&ops),
                    a,
                }
            }
            52 => {
                let a = self.rows_var();
                Step::MatVec {
                    out,
                    a,
                    x: self.row_for(a),
                }
            }
            53..58 => {
                let a = self.array();
                Step::Slice {
                    out,
                    a,
                    range: self.range(a),
                }
            }
            58 => Step::Permute {
                out,
                a: self.array(),
                swap: (self.dice.below(4), self.dice.below(4)),
            },
            9 => Step::Reshape {
                out,
                a: self.array(),
                shape: self.dice.below(1000),
            },
            59 if self.dice.below(2) == 0 => Step::Chosen {
                out,
                a: self.array(),
                every: 1 + self.dice.below(4),
            },
            59 => Step::Moved {
                out,
                a: self.array(),
                whole: self.dice.below(2) == 0,
            },
            60 => Step::Pick {
                out,
                a: self.array(),
                dim: self.dice.below(3),
                index: self.dice.below(12),
            },
            61..63 => Step::Broadcast {
                out,
                a: self.array(),
                shape: self.shape(),
            },
            63..66 => Step::Clone { out, a: self.var() },
            66..70 => Step::Drop { a: self.var() },
            70..74 => {
                let target = self.array();
                let ranges = vec![self.range(target)];
                let source = self.operand_like(target);
                Step::Assign {
                    target,
                    ranges,
                    source,
                }
            }
            74..78 => {
                let target = self.array();
                Step::Write {
                    target,
                    source: self.operand_like(target),
                }
            }
            78..82 => {
                let target = self.array();
                Step::Update {
                    target,
                    op: self.dice.pick(&BinaryOp::ALL),
                    other: self.operand_like(target),
                }
            }
            82 => self.matrix(out),
            83..88 => {
                let matrix = self.matrix_var();
                Step::Product {
                    out,
                    matrix,
                    x: self.factor_for(matrix),
                }
            }
            88 | 90 => {
                let matrix = self.matrix_var();
                let factor = if self.dice.chance(50) {
                    Operand::Number(self.dice.below(40) as u32)
                } else {
                    Operand::Of(self.array())
                };
                Step::Scale {
                    out,
                    matrix,
                    factor,
                }
            }
            89 | 91 => Step::Values {
                out,
                matrix: self.matrix_var(),
            },
            92 => {
                let matrix = self.matrix_var();
                let values = self.values_for(matrix);
                Step::WithValues {
                    out,
                    matrix,
                    values,
                }
            }
            93 => Step::TransposeMatrix {
                out,
                matrix: self.matrix_var(),
            },
            94 => Step::Diagonal {
                out,
                matrix: self.matrix_var(),
            },
            95 => Step::ReadMatrix {
                matrix: self.matrix_var(),
            },
            96..98 => Step::Read { a: self.array() },
            98 => Step::Hold { a: self.array() },
            _ => Step::Flush,
        }
    }
}

/// The setup that all others are compared with.
pub(crate) fn base(tile_len: usize) -> Setup {
    let config = Config {
        tile_len,
        fusion: false,
        executor: Executor::Reference,
        isa: Isa::Baseline,
        run_ahead: 0,
        ..Config::default()
    };
    Setup { ranks: 1, config }
}

/// A random setup.
pub(crate) fn setup(seed: u64, tile_len: usize) -> Setup {
    let mut dice = Dice::new(seed);
    let window = dice.pick(&[1, 2, 3, 5, 8, 128, 128, 128]);
    let mut config = Config {
        threads: dice.pick(&[1, 1, 1, 1, 2, 3, 4]),
        tile_len,
        cut_threshold: dice.pick(&[1, 1, 1, 1, 20, 4096]),
        block_len: dice.pick(&[0, 1, 2, 7, 64, 1000]),
        parallel_threshold: dice.pick(&[0, 0, 1 << 16]),
        pack_after: 0,
        stream_threshold: 0,
        band_threshold: 0,
        isa: dice.pick(&Isa::available()),
        fusion: dice.chance(70),
        window,
        max_window: dice.pick(&[window, 1024]),
        executor: if dice.chance(85) {
            Executor::Blocks
        } else {
            Executor::Reference
        },
        // Programs are too short for a compiler; `tests/library/native.rs` has longer ones.
        native: None,
        // A test of its own runs them on a device.
        device: DeviceKind::Host,
        device_threshold: 0,
        memory_limit: usize::MAX,
        run_ahead: 0,
        ahead_threshold: 0,
        profile: false,
        // A machine whose ranks are checked must see the same as one whose ranks are not.
        check_ranks: seed.is_multiple_of(2),
    };
    if dice.chance(12) {
        config.memory_limit = 500 + dice.below(12_000);
    }
    let ranks = dice.pick(&[1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 5, 6, 7, 8]);
    config.pack_after = dice.pick(&[0, 0, 1, usize::MAX]);
    config.stream_threshold = dice.pick(&[0, usize::MAX]);
    config.run_ahead = dice.pick(&[0, 1, 2, 3]);
    config.ahead_threshold = dice.pick(&[0, 0, 1 << 18]);
    config.band_threshold = dice.pick(&[0, 0, usize::MAX]);
    Setup { ranks, config }
}
