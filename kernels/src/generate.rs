//! Random valid kernels with data to run them on, for the tests of everything that takes a kernel.
//!
//! [`case`] makes a kernel of several loops over several domains whose arguments are views of a few
//! buffers: shifted, strided, reversed, transposed, broadcast, gathered with ghosts. The rows of
//! every loop are independent, as [`crate::ir`] asks: a loop that writes a buffer reaches it through
//! one view only, of which there may be several arguments.

#![expect(unsafe_code, reason = "the data of a launch is plain memory")]

use crate::element::{DType, Element, Value};
use crate::ir::{
    Arg, ArgId, ArgKind, BinaryOp, Inst, Kernel, Loop, RandomKind, ReduceOp, UnaryOp, ValueId,
    value_types,
};
use crate::launch::{Extent, Launch, Layout, Operand, Structure};
use crate::random;
use crate::reduce::Partial;
use crate::scalar;
use num_complex::Complex;

/// A kernel and everything that a launch of it needs.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) kernel: Kernel,
    pub(crate) domains: Vec<Extent>,
    pub(crate) params: Vec<Value>,
    pub(crate) tile_len: usize,
    data: Data,
    bindings: Vec<Binding>,
    structures: Vec<(Vec<u64>, Vec<u32>)>,
}

/// The memory that a run reads and writes: buffers of elements, then the slots of reductions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Data {
    /// Each of one memory number, which is its position.
    buffers: Vec<Vec<u64>>,
    partials: Vec<Vec<Partial>>,
}

/// Where in the data an argument lies; offsets and strides in elements.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Binding {
    Array {
        offset: usize,
        layout: Layout,
        domain: usize,
        repeats: bool,
    },
    Scalar {
        offset: usize,
    },
    Reduction {
        slots: usize,
    },
    Gather {
        own_len: usize,
        ghosts: usize,
    },
    Entries,
    Structure {
        number: usize,
        domain: usize,
    },
    DenseRows {
        columns: usize,
        row_stride: isize,
    },
}

/// Every `Gather` argument has this many elements.
const GATHERED: usize = 7;
const COLUMNS: usize = 37;

impl Case {
    /// The data after `run` has run `kernel`, whose arguments and parameters are those of the
    /// case's kernel with these numbers.
    pub(crate) fn run(
        &self,
        kernel: &Kernel,
        args: &[ArgId],
        params: &[u32],
        run: impl FnOnce(&Kernel, &Launch<'_>),
    ) -> Data {
        let mut data = self.data.clone();
        let operands = self.operands(&mut data);
        let operands: Vec<Operand> = args.iter().map(|&arg| operands[arg as usize]).collect();
        let params: Vec<Value> = params.iter().map(|&p| self.params[p as usize]).collect();
        let launch = Launch {
            domains: &self.domains,
            operands: &operands,
            params: &params,
            tile_len: self.tile_len,
        };
        run(kernel, &launch);
        data
    }

    /// The data after `run` has run the kernel of the case.
    pub(crate) fn run_whole(&self, run: impl FnOnce(&Kernel, &Launch<'_>)) -> Data {
        let args: Vec<ArgId> = (0..self.kernel.args.len() as ArgId).collect();
        let params: Vec<u32> = (0..self.params.len() as u32).collect();
        self.run(&self.kernel, &args, &params, run)
    }

    /// The data without what nobody reads after the kernel.
    pub(crate) fn without_temporaries(&self, mut data: Data) -> Data {
        for (arg, binding) in self.kernel.args.iter().zip(&self.bindings) {
            if arg.temporary {
                match *binding {
                    Binding::Reduction { slots } => data.partials[slots].clear(),
                    _ => data.buffers[arg.memory as usize].clear(),
                }
            }
        }
        data
    }

    /// The data with one NaN in place of all others, whose sign and payload mean nothing.
    pub(crate) fn with_one_nan(&self, mut data: Data) -> Data {
        for arg in &self.kernel.args {
            for word in &mut data.buffers[arg.memory as usize] {
                *word = one_nan(arg.dtype.real(), *word);
            }
        }
        for loop_ in &self.kernel.loops {
            let types = value_types(&self.kernel, &loop_.body);
            for inst in &loop_.body {
                let Inst::Reduce(_, arg, a) = *inst else {
                    continue;
                };
                let dtype = types[a as usize].expect("generated kernels are well typed");
                let Binding::Reduction { slots } = self.bindings[arg as usize] else {
                    unreachable!("a reduction is bound to slots")
                };
                for partial in &mut data.partials[slots] {
                    partial.bits = partial.bits.map(|word| one_nan(dtype.real(), word));
                }
            }
        }
        data
    }

    fn operands(&self, data: &mut Data) -> Vec<Operand> {
        let buffers: Vec<*mut u8> = data
            .buffers
            .iter_mut()
            .map(|b| b.as_mut_ptr().cast())
            .collect();
        let partials: Vec<*mut Partial> = data.partials.iter_mut().map(Vec::as_mut_ptr).collect();
        let bind = |(arg, binding): (&Arg, &Binding)| {
            let size = arg.dtype.size();
            let buffer = |offset: usize| buffers[arg.memory as usize].wrapping_add(offset * size);
            match *binding {
                Binding::Array { offset, layout, .. } => Operand::Array {
                    data: buffer(offset),
                    layout,
                },
                Binding::Scalar { offset } => Operand::Scalar {
                    data: buffer(offset),
                },
                Binding::Reduction { slots } => Operand::Reduction {
                    partials: partials[slots],
                },
                Binding::Gather { own_len, ghosts } => Operand::Gather {
                    own: buffer(0),
                    own_len,
                    ghosts: buffer(ghosts),
                },
                Binding::Entries => Operand::Entries { data: buffer(0) },
                Binding::Structure { number, domain } => Operand::Structure(Structure {
                    pos: self.structures[number].0.as_ptr(),
                    crd: self.structures[number].1.as_ptr(),
                    rows: self.domains[domain].len as usize,
                }),
                Binding::DenseRows {
                    columns,
                    row_stride,
                } => Operand::DenseRows {
                    data: buffer(0),
                    columns,
                    row_stride,
                    column_stride: 1,
                },
            }
        };
        self.kernel
            .args
            .iter()
            .zip(&self.bindings)
            .map(bind)
            .collect()
    }
}

/// The word with each NaN of type `dtype` in it replaced by the one of this toolchain.
pub(crate) fn one_nan(dtype: DType, word: u64) -> u64 {
    let single = |bits: u64| match f32::from_bits(bits as u32) {
        x if x.is_nan() => u64::from(f32::NAN.to_bits()),
        _ => bits & 0xffff_ffff,
    };
    match dtype {
        DType::F64 if f64::from_bits(word).is_nan() => f64::NAN.to_bits(),
        DType::F32 => single(word >> 32) << 32 | single(word),
        _ => word,
    }
}

/// The case with this number, for tiles of this length.
pub(crate) fn case(seed: u64, tile_len: usize) -> Case {
    let mut random = Random { seed, drawn: 0 };
    let domains = domains(&mut random, tile_len);
    let mut case = Case {
        kernel: Kernel::default(),
        domains,
        params: Vec::new(),
        tile_len,
        data: Data {
            buffers: Vec::new(),
            partials: Vec::new(),
        },
        bindings: Vec::new(),
        structures: Vec::new(),
    };
    for _ in 0..random.below(3) {
        let dtype = random.dtype();
        case.kernel.params.push(dtype);
        case.params.push(random.value(dtype));
    }
    for _ in 0..2 + random.below(5) {
        add_buffer(&mut case, &mut random);
    }
    for _ in 0..1 + random.below(2) {
        add_structure(&mut case, &mut random);
    }
    for _ in 0..1 + random.below(6) {
        let loop_ = BodyBuilder::new(&mut case, &mut random).build();
        case.kernel.loops.push(loop_);
    }
    case
}

fn domains(random: &mut Random, tile_len: usize) -> Vec<Extent> {
    let lens = [
        0,
        1,
        16,
        33,
        tile_len - 1,
        tile_len,
        tile_len + 1,
        2 * tile_len + 5,
    ];
    (0..1 + random.below(3))
        .map(|_| Extent {
            start: (random.below(4) * tile_len) as u64,
            len: lens[random.below(lens.len())] as u64,
        })
        .collect()
}

/// Adds a buffer of random elements and a few arguments that are views of it.
fn add_buffer(case: &mut Case, random: &mut Random) {
    let longest = case.domains.iter().map(|extent| extent.len as usize).max();
    let len = 3 * longest.unwrap_or(0) + COLUMNS + GATHERED;
    let dtype = random.dtype();
    let temporary = random.one_in(3);
    let memory = case.data.buffers.len() as u32;
    case.data.buffers.push(random.buffer(dtype, len));
    for _ in 0..1 + random.below(4) {
        let (kind, binding) = random.view(len, &case.domains);
        // Now and then the same view twice.
        for _ in 0..1 + usize::from(random.one_in(4)) {
            case.bindings.push(binding);
            case.kernel.args.push(Arg {
                dtype,
                kind,
                memory,
                temporary,
            });
        }
    }
}

fn add_structure(case: &mut Case, random: &mut Random) {
    let domain = random.below(case.domains.len());
    let mut pos = vec![random.below(3) as u64];
    let mut crd = Vec::new();
    for _ in 0..case.domains[domain].len {
        let n = random.below(4);
        crd.extend((0..n).map(|_| random.below(GATHERED) as u32));
        pos.push(pos[0] + crd.len() as u64);
    }
    case.structures.push((pos, crd));
    // A memory of its own, which no other argument names.
    case.data.buffers.push(Vec::new());
    case.bindings.push(Binding::Structure {
        number: case.structures.len() - 1,
        domain,
    });
    case.kernel.args.push(Arg {
        dtype: DType::U32,
        kind: ArgKind::Structure,
        memory: case.data.buffers.len() as u32 - 1,
        temporary: false,
    });
}

/// How a body has reached a memory so far.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Not,
    Through { view: Binding, writes: bool },
    ReadThroughSeveral,
}

struct BodyBuilder<'a> {
    case: &'a mut Case,
    random: &'a mut Random,
    domain: usize,
    body: Vec<Inst>,
    /// The values so far, their types, and whether they are uniform.
    values: Vec<(ValueId, DType, bool)>,
    uses: Vec<Use>,
}

impl<'a> BodyBuilder<'a> {
    fn new(case: &'a mut Case, random: &'a mut Random) -> Self {
        Self {
            domain: random.below(case.domains.len()),
            uses: vec![Use::Not; case.data.buffers.len()],
            body: Vec::new(),
            values: Vec::new(),
            case,
            random,
        }
    }

    fn build(mut self) -> Loop {
        // Some loops are scalar arithmetic alone.
        let only_uniform = self.random.one_in(4);
        for _ in 0..2 + self.random.below(14) {
            // A choice that finds nothing to work on adds nothing.
            let _ = if only_uniform {
                match self.random.below(4) {
                    0 => self.leaf(),
                    1 | 2 => self.operation(),
                    _ => self.store(ArgKind::Scalar),
                }
            } else {
                match self.random.below(12) {
                    0..=1 => self.leaf(),
                    2..=3 => self.load(),
                    4..=7 => self.operation(),
                    8 => self.store(ArgKind::Scalar),
                    9..=10 => self.store(ArgKind::Array),
                    _ => self.reduce(),
                }
            };
        }
        Loop {
            domain: self.domain as u32,
            body: self.body,
        }
    }

    fn define(&mut self, inst: Inst, dtype: DType, is_uniform: bool) -> Option<()> {
        self.values
            .push((self.body.len() as ValueId, dtype, is_uniform));
        self.body.push(inst);
        Some(())
    }

    fn leaf(&mut self) -> Option<()> {
        match self.random.below(3) {
            0 => {
                let dtype = self.random.dtype();
                let value = self.random.value(dtype);
                self.define(Inst::Const(value), dtype, true)
            }
            1 => {
                let param = self.random.pick(self.case.params.len())?;
                let dtype = self.case.params[param].dtype();
                self.define(Inst::Param(param as u32), dtype, true)
            }
            _ => {
                let (arg, dtype) = self.readable(ArgKind::Scalar)?;
                self.define(Inst::LoadScalar(arg), dtype, true)
            }
        }
    }

    fn load(&mut self) -> Option<()> {
        match self.random.below(6) {
            0 => self.define(Inst::Index, DType::I64, false),
            1 => {
                let (structure, _) = self.readable(ArgKind::Structure)?;
                let (entries, dtype) = self.readable(ArgKind::Entries)?;
                let (x, of) = self.readable(ArgKind::Gather)?;
                let inst = Inst::RowSum {
                    structure,
                    entries,
                    x,
                };
                (of == dtype && dtype != DType::Bool).then_some(())?;
                self.define(inst, dtype, false)
            }
            2 => {
                let (matrix, dtype) = self.readable(ArgKind::DenseRows)?;
                let op = ReduceOp::ALL[self.random.below(8)];
                let yields_element = !matches!(op, ReduceOp::ArgMin | ReduceOp::ArgMax);
                (yields_element && op.output(dtype) == Some(dtype)).then_some(())?;
                self.define(
                    Inst::RowReduce {
                        op,
                        matrix,
                        x: None,
                    },
                    dtype,
                    false,
                )
            }
            _ => {
                let (arg, dtype) = self.readable(ArgKind::Array)?;
                self.define(Inst::Load(arg), dtype, false)
            }
        }
    }

    fn operation(&mut self) -> Option<()> {
        let (a, dtype, is_uniform) = self.value(|_| true)?;
        match self.random.below(8) {
            0..=1 => {
                let op = UnaryOp::ALL[self.random.below(UnaryOp::ALL.len())];
                self.define(Inst::Unary(op, a), op.output(dtype)?, is_uniform)
            }
            2 => {
                let to = self.random.dtype();
                self.define(Inst::Cast(to, a), to, is_uniform)
            }
            3 => {
                let (b, _, b_is_uniform) = self.value(|of| of == dtype)?;
                let (condition, _, c_is_uniform) = self.value(|of| of == DType::Bool)?;
                let all = is_uniform && b_is_uniform && c_is_uniform;
                self.define(Inst::Select(condition, a, b), dtype, all)
            }
            4 => {
                let (seed, _, s_is_uniform) = self.value(|of| of == DType::U64)?;
                let (index, _, i_is_uniform) = self.value(|of| of == DType::I64)?;
                let kind = RandomKind::ALL[self.random.below(3)];
                let inst = Inst::Random { kind, seed, index };
                self.define(inst, kind.output(), s_is_uniform && i_is_uniform)
            }
            _ => {
                let (b, _, b_is_uniform) = self.value(|of| of == dtype)?;
                let op = BinaryOp::ALL[self.random.below(BinaryOp::ALL.len())];
                let inst = Inst::Binary(op, a, b);
                self.define(inst, op.output(dtype)?, is_uniform && b_is_uniform)
            }
        }
    }

    fn store(&mut self, kind: ArgKind) -> Option<()> {
        let arg = self.arg(kind)?;
        let dtype = self.case.kernel.args[arg as usize].dtype;
        let is_scalar = kind == ArgKind::Scalar;
        let (value, ..) = self.typed_value(dtype, is_scalar)?;
        let memory = self.case.kernel.args[arg as usize].memory as usize;
        let view = self.case.bindings[arg as usize];
        let is_alone = match self.uses[memory] {
            Use::Not => true,
            Use::Through { view: by, .. } => by == view,
            Use::ReadThroughSeveral => false,
        };
        let repeats = matches!(view, Binding::Array { repeats: true, .. });
        (is_alone && !repeats).then_some(())?;
        self.uses[memory] = Use::Through { view, writes: true };
        self.body.push(if is_scalar {
            Inst::StoreScalar(arg, value)
        } else {
            Inst::Store(arg, value)
        });
        Some(())
    }

    /// Reduces into a new argument.
    fn reduce(&mut self) -> Option<()> {
        let (value, dtype, _) = self.value(|_| true)?;
        let op = ReduceOp::ALL[self.random.below(ReduceOp::ALL.len())];
        let output = op.output(dtype)?;
        let tiles = (self.case.domains[self.domain].len as usize).div_ceil(self.case.tile_len);
        let untouched = Partial {
            bits: [7, 7],
            index: 7,
        };
        self.case.data.partials.push(vec![untouched; tiles]);
        self.case.data.buffers.push(Vec::new());
        self.uses.push(Use::Not);
        self.case.bindings.push(Binding::Reduction {
            slots: self.case.data.partials.len() - 1,
        });
        self.case.kernel.args.push(Arg {
            dtype: output,
            kind: ArgKind::Reduction,
            memory: self.case.data.buffers.len() as u32 - 1,
            temporary: self.random.one_in(4),
        });
        let arg = self.case.kernel.args.len() as ArgId - 1;
        self.body.push(Inst::Reduce(op, arg, value));
        Some(())
    }

    fn value(&mut self, fits: impl Fn(DType) -> bool) -> Option<(ValueId, DType, bool)> {
        let fitting: Vec<_> = self
            .values
            .iter()
            .filter(|(_, dtype, _)| fits(*dtype))
            .collect();
        let chosen = self.random.pick(fitting.len())?;
        Some(*fitting[chosen])
    }

    /// A value of this type, made by a cast where there is none.
    fn typed_value(
        &mut self,
        dtype: DType,
        must_be_uniform: bool,
    ) -> Option<(ValueId, DType, bool)> {
        let fits = |&(_, _, is_uniform): &(ValueId, DType, bool)| is_uniform || !must_be_uniform;
        if let Some(found) = self.value(|of| of == dtype).filter(fits) {
            return Some(found);
        }
        let (a, _, is_uniform) = self.value(|_| true).filter(fits)?;
        self.define(Inst::Cast(dtype, a), dtype, is_uniform)?;
        self.values.last().copied()
    }

    /// An argument of this kind that the loop may read, and its type.
    fn readable(&mut self, kind: ArgKind) -> Option<(ArgId, DType)> {
        let arg = self.arg(kind)?;
        let Arg { memory, dtype, .. } = self.case.kernel.args[arg as usize];
        let view = self.case.bindings[arg as usize];
        let use_ = &mut self.uses[memory as usize];
        match *use_ {
            Use::Not => {
                *use_ = Use::Through {
                    view,
                    writes: false,
                }
            }
            Use::Through { view: by, .. } if by == view => {}
            Use::Through { writes: true, .. } => return None,
            Use::Through { writes: false, .. } => *use_ = Use::ReadThroughSeveral,
            Use::ReadThroughSeveral => {}
        }
        Some((arg, dtype))
    }

    /// An argument of this kind that fits the domain.
    fn arg(&mut self, kind: ArgKind) -> Option<ArgId> {
        let fits = |arg: &ArgId| {
            let of_domain = match self.case.bindings[*arg as usize] {
                Binding::Array { domain, .. } | Binding::Structure { domain, .. } => {
                    domain == self.domain
                }
                _ => true,
            };
            of_domain && self.case.kernel.args[*arg as usize].kind == kind
        };
        let fitting: Vec<ArgId> = (0..self.case.kernel.args.len() as ArgId)
            .filter(fits)
            .collect();
        let chosen = self.random.pick(fitting.len())?;
        Some(fitting[chosen])
    }
}

/// A stream of random choices.
struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    fn bits(&mut self) -> u64 {
        self.drawn += 1;
        random::bits(self.seed, self.drawn)
    }

    /// One of `0..n`.
    fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// One of `0..n`, if there is any.
    fn pick(&mut self, n: usize) -> Option<usize> {
        (n > 0).then(|| self.below(n))
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Often `f64`, so that operations find operands.
    fn dtype(&mut self) -> DType {
        if self.one_in(2) {
            DType::F64
        } else {
            DType::ALL[self.below(DType::ALL.len())]
        }
    }

    /// Small numbers, and now and then one that behaves unlike others.
    fn value(&mut self, dtype: DType) -> Value {
        let specials = [
            -0.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            1e300,
            1e-300,
            0.0,
        ];
        let mut part = || {
            if self.one_in(8) {
                specials[self.below(specials.len())]
            } else {
                self.below(25) as f64 / 4.0 - 2.0
            }
        };
        let (re, im) = (part(), part());
        match dtype {
            DType::ComplexF32 => Complex::new(re as f32, im as f32).to_value(),
            DType::ComplexF64 => Complex::new(re, im).to_value(),
            _ => scalar::from_f64(dtype, re),
        }
    }

    fn buffer(&mut self, dtype: DType, len: usize) -> Vec<u64> {
        let mut buffer = vec![0u64; (len * dtype.size()).div_ceil(8)];
        let start: *mut u8 = buffer.as_mut_ptr().cast();
        for i in 0..len {
            let bits = self.value(dtype).bits();
            let [low, high] = bits.map(u64::to_le_bytes);
            let half = if dtype.is_complex() {
                dtype.size() / 2
            } else {
                dtype.size()
            };
            let bytes = low[..half].iter().chain(&high[..dtype.size() - half]);
            for (k, &byte) in bytes.enumerate() {
                // SAFETY: the buffer has room for `len` elements, and this is byte `k` of one.
                unsafe { start.add(i * dtype.size() + k).write(byte) };
            }
        }
        buffer
    }

    /// A view of a buffer with `len` elements.
    fn view(&mut self, len: usize, domains: &[Extent]) -> (ArgKind, Binding) {
        match self.below(10) {
            0 => {
                let offset = self.below(3);
                (ArgKind::Scalar, Binding::Scalar { offset })
            }
            1 => {
                let own_len = self.below(GATHERED + 1);
                let ghosts = self.below(len - GATHERED);
                (ArgKind::Gather, Binding::Gather { own_len, ghosts })
            }
            2 => (ArgKind::Entries, Binding::Entries),
            3 => {
                let shapes = [(COLUMNS, 1), (COLUMNS, 0), (3, 3), (0, 1)];
                let (columns, row_stride) = shapes[self.below(shapes.len())];
                let binding = Binding::DenseRows {
                    columns,
                    row_stride,
                };
                (ArgKind::DenseRows, binding)
            }
            _ => (ArgKind::Array, self.array(domains)),
        }
    }

    /// One element per row, from at most three times as many.
    fn array(&mut self, domains: &[Extent]) -> Binding {
        let domain = self.below(domains.len());
        let len = domains[domain].len as usize;
        let strided = |stride| Layout {
            strides: [stride, 0, 0, 0],
            ..Layout::contiguous(len)
        };
        let whole = Layout::contiguous(len);
        let (offset, layout, repeats) = match self.below(8) {
            0 => (self.below(5), whole, false),
            1 => (1, strided(2), false),
            2 => (len.saturating_sub(1), strided(-1), false),
            3 => (2, strided(0), true),
            4 if len > 0 && len % 3 == 0 => {
                let transposed = Layout {
                    rank: 2,
                    dims: [len / 3, 3, 1, 1],
                    strides: [1, (len / 3) as isize, 0, 0],
                };
                (0, transposed, false)
            }
            _ => (0, whole, false),
        };
        Binding::Array {
            offset,
            layout,
            domain,
            repeats,
        }
    }
}
