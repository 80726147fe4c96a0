//! Random kernels of many loops over boxes of a few arrays, for the tests of loops that follow each
//! other.

use crate::element::{DType, Value};
use crate::ir::{Arg, ArgId, ArgKind, BinaryOp, Inst, Kernel, Loop};
use crate::launch::{Extent, Launch, Layout, Operand};
use crate::random;
use crate::tiles::Tiles;
use std::cell::Cell;

/// Draws numbers below a bound.
#[derive(Debug)]
pub(crate) struct Draws(u64, Cell<u64>);

impl Draws {
    pub(crate) fn of(seed: u64) -> Self {
        Self(seed, Cell::new(0))
    }

    pub(crate) fn below(&self, n: usize) -> usize {
        self.1.set(self.1.get() + 1);
        (random::bits(self.0, self.1.get()) % n as u64) as usize
    }
}

/// A view of one of some memories.
#[derive(Clone, Copy, Debug)]
struct View {
    memory: usize,
    first: usize,
    layout: Layout,
}

/// A kernel of loops that read and write views of some memories, as sweeps of stencils do.
#[derive(Debug)]
pub(crate) struct Sweeps {
    pub(crate) kernel: Kernel,
    views: Vec<View>,
    domains: Vec<Extent>,
    /// The elements of each memory.
    lens: Vec<usize>,
    /// Those of which nothing is left when the kernel has run.
    temporary: Vec<bool>,
}

impl Sweeps {
    /// No loops yet, on memories of these numbers of elements.
    pub(crate) fn empty(lens: Vec<usize>) -> Self {
        Self {
            kernel: Kernel::default(),
            views: Vec::new(),
            domains: Vec::new(),
            temporary: vec![false; lens.len()],
            lens,
        }
    }

    /// The same, where nothing is left of some memories.
    pub(crate) fn with_temporaries(mut self, memories: &[usize]) -> Self {
        for &memory in memories {
            self.temporary[memory] = true;
        }
        for arg in &mut self.kernel.args {
            arg.temporary = self.temporary[arg.memory as usize];
        }
        self
    }

    /// A random one. Some memories are temporary, which a first loop writes from end to end.
    pub(crate) fn new(seed: u64) -> Self {
        let draws = Draws::of(seed);
        let rank = 1 + draws.below(3);
        let longest = [300, 40, 12][rank - 1];
        let whole: Vec<usize> = (0..rank).map(|_| 5 + draws.below(longest)).collect();
        let n_memories = 2 + draws.below(3);
        let mut case = Self::empty(vec![whole.iter().product(); n_memories]);
        let chosen = Draws::of(seed + 7000);
        let temporaries: Vec<_> = (1..n_memories).filter(|_| chosen.below(2) == 1).collect();
        for &memory in &temporaries {
            case.add(&[(0, 0)], (memory, 0), (layout(&whole, &whole), 0.9));
        }
        for _ in 0..3 + draws.below(20) {
            // A box, and its place in each array that the loop reaches.
            let dims: Vec<usize> = match draws.below(6) {
                0 => whole
                    .iter()
                    .map(|&n| if draws.below(2) == 0 { 1 } else { n })
                    .collect(),
                1 => whole.iter().map(|&n| 1 + draws.below(n)).collect(),
                _ => whole.iter().map(|&n| n - 2 * draws.below(2)).collect(),
            };
            let written = draws.below(n_memories);
            let corner = |draws: &Draws| -> Vec<usize> {
                let rooms = whole.iter().zip(&dims).map(|(n, len)| n - len);
                rooms.map(|room| draws.below(room + 1)).collect()
            };
            let target_corner = corner(&draws);
            let mut inputs = Vec::new();
            for _ in 0..1 + draws.below(5) {
                let memory = draws.below(n_memories);
                // What it writes a loop reads in the same place only.
                let corner = match memory == written {
                    true => target_corner.clone(),
                    false => corner(&draws),
                };
                inputs.push((memory, position(&whole, &corner)));
            }
            let target = (written, position(&whole, &target_corner));
            case.add(&inputs, target, (layout(&whole, &dims), 0.3));
        }
        case.with_temporaries(&temporaries)
    }

    /// Adds a loop over boxes of the same layout, each given by its memory and its first element:
    /// the scaled sum of some is what the last one becomes.
    pub(crate) fn add(
        &mut self,
        inputs: &[(usize, usize)],
        target: (usize, usize),
        (layout, scale): (Layout, f64),
    ) {
        let mut arg = |(memory, first): (usize, usize)| {
            self.views.push(View {
                memory,
                first,
                layout,
            });
            self.kernel.args.push(Arg {
                dtype: DType::F64,
                kind: ArgKind::Array,
                memory: memory as u32,
                temporary: false,
            });
            self.views.len() as ArgId - 1
        };
        let mut body: Vec<_> = inputs.iter().map(|&input| Inst::Load(arg(input))).collect();
        let mut sum = 0;
        for input in 1..inputs.len() {
            body.push(Inst::Binary(BinaryOp::Add, sum, input as u32));
            sum = body.len() as u32 - 1;
        }
        body.push(Inst::Const(Value::from_bits(
            DType::F64,
            [scale.to_bits(), 0],
        )));
        body.push(Inst::Binary(BinaryOp::Mul, sum, body.len() as u32 - 1));
        body.push(Inst::Store(arg(target), body.len() as u32 - 1));
        let domain = self.domains.len() as u32;
        self.kernel.loops.push(Loop { domain, body });
        self.domains.push(Extent {
            start: 0,
            len: layout.len() as u64,
            tiles: Tiles::of_vector(1024),
        });
    }

    /// The bits of all memories that are not temporary.
    pub(crate) fn run(&self, run: impl Fn(&Launch<'_>)) -> Vec<Vec<u64>> {
        let number = |memory: usize, i: usize| random::uniform(7 + memory as u64, i as u64);
        let lens = self.lens.iter().enumerate();
        let mut data: Vec<Vec<f64>> = lens
            .map(|(memory, &len)| (0..len).map(|i| number(memory, i)).collect())
            .collect();
        let starts: Vec<*mut f64> = data.iter_mut().map(|it| it.as_mut_ptr()).collect();
        let operands = self.views.iter().map(|view| Operand::Array {
            data: starts[view.memory].wrapping_add(view.first).cast(),
            layout: view.layout,
        });
        let operands: Vec<_> = operands.collect();
        run(&Launch {
            domains: &self.domains,
            operands: &operands,
            params: &[],
            tile_len: 1024,
        });
        let bits = |it: &Vec<f64>| it.iter().map(|x| x.to_bits()).collect();
        let left = data.iter().zip(&self.temporary);
        left.filter(|(_, temporary)| !**temporary)
            .map(|(it, _)| bits(it))
            .collect()
    }
}

fn position(whole: &[usize], index: &[usize]) -> usize {
    let zipped = whole.iter().zip(index);
    zipped.fold(0, |flat, (len, i)| flat * len + i)
}

/// The layout of a box of an array.
pub(crate) fn layout(whole: &[usize], dims: &[usize]) -> Layout {
    let mut layout = Layout {
        rank: dims.len() as u8,
        dims: [1; 4],
        strides: [0; 4],
    };
    let mut stride = 1;
    for d in (0..dims.len()).rev() {
        layout.dims[d] = dims[d];
        layout.strides[d] = stride;
        stride *= whole[d] as isize;
    }
    layout
}
