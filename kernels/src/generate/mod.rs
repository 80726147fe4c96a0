//! Random valid kernels with data to run them on, for the tests of everything that takes a kernel.
//!
//! [`case`] makes a kernel of several loops over several domains whose arguments are views of a few
//! buffers: shifted, strided, reversed, transposed, broadcast, gathered with ghosts. The rows of
//! every loop are independent, as [`crate::ir`] asks: a loop that writes a buffer reaches it
//! through one view only, of which there may be several arguments.

mod body;
mod choices;
pub(crate) mod sweeps;

use self::body::BodyBuilder;
use self::choices::Choices;
use crate::element::{DType, Value};
use crate::ir::{Arg, ArgId, ArgKind, Inst, Kernel, ReduceOp, value_types};
use crate::launch::{Extent, Launch, Layout, Operand, Structure};
use crate::reduce::{Partial, identity, join};
use crate::tiles::Tiles;

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
        layout: Layout,
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

    /// The data after `run` has run the kernel of the case, with the memory that its operands lie
    /// in: where, and how many bytes.
    pub(crate) fn run_in_memory(
        &self,
        run: impl FnOnce(&Kernel, &Launch<'_>, &[(*mut u8, usize)]),
    ) -> Data {
        let mut data = self.data.clone();
        let operands = self.operands(&mut data);
        let buffers = data.buffers.iter_mut();
        let mut memory: Vec<(*mut u8, usize)> = buffers
            .map(|buffer| (buffer.as_mut_ptr().cast(), buffer.len() * size_of::<u64>()))
            .collect();
        for (pos, crd) in &self.structures {
            memory.push((pos.as_ptr().cast_mut().cast(), size_of_val(&pos[..])));
            memory.push((crd.as_ptr().cast_mut().cast(), size_of_val(&crd[..])));
        }
        let launch = Launch {
            domains: &self.domains,
            operands: &operands,
            params: &self.params,
            tile_len: self.tile_len,
        };
        run(&self.kernel, &launch, &memory);
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

    /// The data with one NaN in place of all others, whose sign and payload mean nothing, and with
    /// one result of all tiles where a tile may be left out that changes nothing.
    pub(crate) fn with_one_nan(&self, mut data: Data) -> Data {
        for arg in &self.kernel.args {
            for word in &mut data.buffers[arg.memory as usize] {
                *word = one_nan(arg.dtype.real(), *word);
            }
        }
        for loop_ in &self.kernel.loops {
            let types = value_types(&self.kernel, &loop_.body);
            for inst in &loop_.body {
                let Inst::Reduce(op, arg, a) = *inst else {
                    continue;
                };
                let dtype = types[a as usize].expect("generated kernels are well typed");
                let Binding::Reduction { slots } = self.bindings[arg as usize] else {
                    unreachable!("a reduction is bound to slots")
                };
                let partials = &mut data.partials[slots];
                join_if_decided(op, dtype, partials);
                for partial in partials {
                    partial.bits = partial.bits.map(|word| one_nan(dtype.real(), word));
                }
            }
        }
        data
    }

    /// The data without the results of tiles.
    pub(crate) fn without_partials(&self, mut data: Data) -> Data {
        data.partials.iter_mut().for_each(Vec::clear);
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
                    width: 1,
                },
                Binding::Entries => Operand::Entries { data: buffer(0) },
                Binding::Structure { number, domain } => {
                    let (pos, crd) = &self.structures[number];
                    let (below, above) = Structure::reach(0..pos.len() - 1, pos, crd);
                    Operand::Structure(Structure {
                        singles: pos.windows(2).all(|ends| ends[1] - ends[0] == 1),
                        pos: pos.as_ptr(),
                        crd: crd.as_ptr(),
                        rows: self.domains[domain].len as usize,
                        entries: crd.len(),
                        below,
                        above,
                    })
                }
                Binding::DenseRows { columns, layout } => Operand::DenseRows {
                    data: buffer(0),
                    layout,
                    columns,
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
    let mut choices = Choices::new(seed);
    let domains = domains(&mut choices, tile_len);
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
    for _ in 0..choices.below(3) {
        let dtype = choices.dtype();
        case.kernel.params.push(dtype);
        case.params.push(choices.value(dtype));
    }
    for _ in 0..2 + choices.below(5) {
        add_buffer(&mut case, &mut choices);
    }
    for _ in 0..1 + choices.below(2) {
        add_structure(&mut case, &mut choices);
    }
    for _ in 0..1 + choices.below(6) {
        let loop_ = BodyBuilder::new(&mut case, &mut choices).build();
        case.kernel.loops.push(loop_);
    }
    case
}

/// Parts of vectors and, half of the time, of arrays of more dimensions, which begin where tiles
/// do.
fn domains(choices: &mut Choices, tile_len: usize) -> Vec<Extent> {
    let lens = [
        0,
        1,
        16,
        33,
        tile_len - 1,
        tile_len,
        tile_len + 1,
        2 * tile_len + 5,
        330,
    ];
    let inner = [1, 2, 3, tile_len / 3, tile_len - 1, tile_len + 7];
    let n_domains = 1 + choices.below(3);
    let mut domain = || {
        let mut dims = vec![lens[choices.below(lens.len())]];
        if choices.below(2) == 0 {
            dims[0] = dims[0].min(33);
            let n_inner = 1 + choices.below(3);
            dims.extend((0..n_inner).map(|_| inner[choices.below(inner.len())].max(1)));
            while dims.iter().product::<usize>() > 8 * tile_len {
                let largest = (0..dims.len()).max_by_key(|&d| dims[d]).unwrap_or(0);
                dims[largest] = dims[largest].div_ceil(3);
            }
        }
        let tiles = Tiles::of(&dims, tile_len);
        let row_len: usize = dims[1..].iter().product();
        Extent {
            start: (choices.below(4) * tiles.grain() * row_len) as u64,
            len: (dims[0] * row_len) as u64,
            tiles,
        }
    };
    (0..n_domains).map(|_| domain()).collect()
}

/// Adds a buffer of random elements and a few arguments that are views of it.
fn add_buffer(case: &mut Case, choices: &mut Choices) {
    let longest = case.domains.iter().map(|extent| extent.len as usize).max();
    let len = 3 * longest.unwrap_or(0) + COLUMNS + GATHERED;
    let dtype = choices.dtype();
    let temporary = choices.one_in(3);
    let memory = case.data.buffers.len() as u32;
    case.data.buffers.push(choices.buffer(dtype, len));
    for _ in 0..1 + choices.below(4) {
        let (kind, binding) = choices.view(len, &case.domains);
        // Now and then the same view twice.
        for _ in 0..1 + usize::from(choices.one_in(4)) {
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

fn add_structure(case: &mut Case, choices: &mut Choices) {
    let domain = choices.below(case.domains.len());
    let mut pos = vec![choices.below(3) as u64];
    let mut crd = Vec::new();
    for _ in 0..case.domains[domain].len {
        let n = choices.below(4);
        crd.extend((0..n).map(|_| choices.below(GATHERED) as u32));
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

/// Joins the results of tiles where one may be left out that does not change what they are
/// together.
pub(crate) fn join_if_decided(op: ReduceOp, dtype: DType, partials: &mut Vec<Partial>) {
    match op {
        ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Min | ReduceOp::Max => {}
        ReduceOp::ArgMin | ReduceOp::ArgMax | ReduceOp::Any | ReduceOp::All => {
            let all = partials.iter();
            let joined = all.fold(identity(op, dtype), |a, &b| join(op, dtype, a, b));
            *partials = vec![joined];
        }
    }
}
