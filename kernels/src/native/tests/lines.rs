//! Native code on arrays that are not contiguous, line by line: the bits of the blocks, and those
//! of the reference.

use super::*;
use crate::ir::{BinaryOp, ReduceOp};
use crate::reduce::{Partial, identity};
use crate::{random, reference};

/// Elements of a store, more than any view of it reaches.
const STORE: usize = 200_000;

/// Draws numbers below a bound.
struct Draws(u64, u64);

impl Draws {
    fn below(&mut self, n: usize) -> usize {
        self.1 += 1;
        (random::bits(self.0, self.1) % n as u64) as usize
    }
}

/// A kernel with views of a store, and where they lie.
struct Case {
    kernel: Kernel,
    dims: Vec<usize>,
    /// For each input and the output, its first element and its distances.
    views: Vec<(usize, [isize; 4])>,
    /// Elements of a tile.
    tile_len: usize,
    reduces: bool,
}

/// The distances of a box of a store with some room along each dimension.
fn strides(dims: &[usize], draws: &mut Draws) -> [isize; 4] {
    let mut strides = [0; 4];
    let mut stride = 1 + draws.below(8) / 6;
    for d in (0..dims.len()).rev() {
        strides[d] = stride as isize;
        stride *= dims[d] + [0, 0, 2, 5][draws.below(4)];
    }
    strides
}

impl Case {
    /// Three views of one store that lie alike, as a stencil has them; a view of another one, which
    /// may be contiguous, repeated, reversed or transposed; and the output.
    fn new(seed: u64) -> Self {
        let mut draws = Draws(seed, 0);
        let rank = 1 + draws.below(4);
        let longest = [3000, 70, 20, 9][rank - 1];
        let dims: Vec<usize> = (0..rank).map(|_| 1 + draws.below(longest)).collect();
        let alike = strides(&dims, &mut draws);
        let at = |draws: &mut Draws| STORE / 2 + draws.below(40);
        let mut views: Vec<_> = (0..3).map(|_| (at(&mut draws), alike)).collect();
        let mut other = strides(&dims, &mut draws);
        match draws.below(5) {
            0 => other[draws.below(rank)] = 0,
            1 => other[draws.below(rank)] *= -1,
            2 if rank > 1 => {
                // A transpose of a store of its own shape.
                let mut stride = 1;
                for d in 0..rank {
                    other[d] = stride;
                    stride *= dims[d] as isize;
                }
            }
            _ => {}
        }
        views.push((STORE / 2, other));
        views.push((STORE / 2, strides(&dims, &mut draws)));

        let mut build = KernelBuilder::new();
        let types = match draws.below(3) {
            0 => [DType::F64, DType::I32],
            1 => [DType::F32, DType::F64],
            _ => [DType::F64, DType::Bool],
        };
        let alike = [(); 3].map(|()| build.arg(types[0], ArgKind::Array));
        let [other, out] = [types[1], types[0]].map(|dtype| build.arg(dtype, ArgKind::Array));
        let weight = build.param(types[0]);
        let [a, b, c] = alike.map(|arg| build.load(arg));
        let other = build.load(other);
        let other = build.push(crate::ir::Inst::Cast(types[0], other));
        let sum = build.binary(BinaryOp::Add, a, b);
        let sum = build.binary(BinaryOp::Add, sum, c);
        let sum = build.binary(BinaryOp::Mul, sum, weight);
        let mut value = build.binary(BinaryOp::Sub, sum, other);
        if draws.below(3) == 0 {
            value = build.unary(UnaryOp::Sin, value);
        }
        build.store(out, value);
        let reduces = draws.below(2) == 0;
        if reduces {
            for op in [ReduceOp::Sum, ReduceOp::Min] {
                let target = build.arg(types[0], ArgKind::Reduction);
                build.reduce(op, target, value);
            }
        }
        let mut kernel = build.finish();
        for arg in alike {
            kernel.args[arg as usize].memory = alike[0];
        }
        Self {
            kernel,
            dims,
            views,
            tile_len: [16, 64, 1024][draws.below(3)],
            reduces,
        }
    }

    /// The bits of the output's store, and the partial results.
    fn run(&self, run: impl Fn(&Launch<'_>)) -> (Vec<u64>, Vec<Vec<Partial>>) {
        let bits = |i: usize| match i % 1013 {
            // Angles that the fast reduction cannot take.
            7 => 1e18_f64.to_bits(),
            _ => (random::uniform(5, i as u64) * 20.0 - 10.0).to_bits(),
        };
        let float = |i: usize| u64::from((f64::from_bits(bits(i)) as f32).to_bits());
        let args = &self.kernel.args;
        let words = |arg: usize| -> Vec<u64> {
            (0..STORE)
                .map(|i| match args[arg].dtype {
                    DType::F64 => bits(i + arg),
                    DType::F32 => float(i + arg) | float(i + arg + 1) << 32,
                    DType::I32 => random::bits(9, i as u64),
                    _ => random::bits(9, i as u64) & 0x0101_0101_0101_0101,
                })
                .collect()
        };
        let mut stores = [words(0), words(3), words(4)];
        let rank = self.dims.len();
        let mut dims = [1; 4];
        dims[..rank].copy_from_slice(&self.dims);
        let n: usize = self.dims.iter().product();
        let tiles = Tiles::of(&self.dims, self.tile_len);
        let none = identity(ReduceOp::Sum, DType::F64);
        let n_partials = match self.reduces {
            true => tiles.count(n),
            false => 0,
        };
        let mut partials = vec![vec![none; n_partials]; 2];
        let views = self
            .views
            .iter()
            .enumerate()
            .map(|(arg, &(first, strides))| {
                let store = &mut stores[[0, 0, 0, 1, 2][arg]];
                let data = store.as_mut_ptr().cast::<u8>();
                Operand::Array {
                    data: data.wrapping_add(first * args[arg].dtype.size()),
                    layout: Layout {
                        rank: rank as u8,
                        dims,
                        strides,
                    },
                }
            });
        let mut operands: Vec<Operand> = views.collect();
        if self.reduces {
            operands.extend(partials.iter_mut().map(|partials| Operand::Reduction {
                partials: partials.as_mut_ptr(),
            }));
        }
        let weight = crate::scalar::from_f64(args[0].dtype, 0.3);
        let launch = Launch {
            domains: &[Extent {
                start: 0,
                len: n as u64,
                tiles,
            }],
            operands: &operands,
            params: &[weight],
            tile_len: self.tile_len,
        };
        run(&launch);
        let [.., out] = stores;
        (out, partials)
    }
}

#[test]
fn lines_have_the_bits_of_the_blocks() {
    let folder = Folder::new("lines");
    for isa in isas() {
        let mut natives = Natives::new(isa, folder.toolchain());
        let cases = (0..80).map(|seed| {
            let case = Case::new(seed);
            let program = natives.program(&case.kernel);
            (case, program)
        });
        let cases: Vec<_> = cases.collect();
        let run = |case: &Case, program: &Program, threads: usize| {
            let settings = divided(isa);
            let workers = Workers::new(threads).unwrap();
            case.run(|launch| {
                // SAFETY: the case binds every argument to a store that its view stays within.
                unsafe { program.run(launch, Part::All, &settings, &workers) };
            })
        };
        let expected: Vec<_> = cases
            .iter()
            .map(|(case, program)| run(case, program, 1))
            .collect();
        let lined = natives.twins.iter().filter_map(|twin| twin.first_run.get());
        let n_lined = lined.filter(|run| run.is_lined).count();
        assert!(n_lined > 50, "{n_lined} of 80 loops go line by line");
        let runs = natives.twins.iter().filter_map(|twin| twin.first_run.get());
        let n_streamed = runs.filter(|run| !run.streamed.is_empty()).count();
        assert!(
            n_streamed > 3,
            "{n_streamed} of 80 loops store lines past the caches"
        );
        if unless_missing(natives.load()).is_none() {
            return;
        }
        for (seed, ((case, program), expected)) in cases.iter().zip(&expected).enumerate() {
            let reference = case.run(|launch| {
                // SAFETY: as above.
                unsafe { reference::run(&case.kernel, launch) };
            });
            let about = format!("seed {seed} for {isa}, {:?}\n{}", case.dims, case.kernel);
            assert!(*expected == reference, "blocks and reference: {about}");
            for threads in [1, 3] {
                let found = run(case, program, threads);
                assert!(found == *expected, "{threads} threads: {about}");
            }
        }
        let passed = natives
            .twins
            .iter()
            .filter(|twin| twin.is_passed_by.load(Relaxed));
        assert!(passed.count() < 10, "runs that forms cannot take");
    }
}

/// Products of complex numbers whose parts are views of real arrays: GCC 12 made fused
/// multiply-adds of products that are subtracted beside others that are added.
#[test]
fn parts_side_by_side_are_not_fused() {
    const N: usize = 1_003;
    let folder = Folder::new("parts");
    let mut build = KernelBuilder::new();
    let args = [(); 6].map(|()| build.arg(DType::F64, ArgKind::Array));
    let [a_re, a_im, b_re, b_im] = [0, 1, 2, 3].map(|part| build.load(args[part]));
    let factors = [(a_re, b_re), (a_im, b_im), (a_re, b_im), (a_im, b_re)];
    let [first, second, third, fourth] = factors.map(|(a, b)| build.binary(BinaryOp::Mul, a, b));
    let re = build.binary(BinaryOp::Sub, first, second);
    let im = build.binary(BinaryOp::Add, third, fourth);
    build.store(args[4], re);
    build.store(args[5], im);
    let mut kernel = build.finish();
    for parts in args.chunks(2) {
        kernel.args[parts[1] as usize].memory = parts[0];
    }
    let run = |run: &dyn Fn(&Launch<'_>)| {
        let parts = |seed| (0..2 * N).map(move |i| random::uniform(seed, i as u64) - 0.5);
        let mut stores: [Vec<f64>; 3] = [1, 2, 3].map(|seed| parts(seed).collect());
        let pairs = stores.iter_mut().flat_map(|store| {
            let begin = store.as_mut_ptr();
            [begin, begin.wrapping_add(1)]
        });
        let operands: Vec<Operand> = pairs
            .map(|data| Operand::Array {
                data: data.cast(),
                layout: Layout {
                    rank: 1,
                    dims: [N, 1, 1, 1],
                    strides: [2, 0, 0, 0],
                },
            })
            .collect();
        run(&Launch {
            domains: &[Extent {
                start: 0,
                len: N as u64,
                tiles: Tiles::of_vector(1024),
            }],
            operands: &operands,
            params: &[],
            tile_len: 1024,
        });
        let [.., made] = stores;
        made.iter().map(|x| x.to_bits()).collect::<Vec<u64>>()
    };
    for isa in isas() {
        let mut natives = Natives::new(isa, folder.toolchain());
        let program = natives.program(&kernel);
        let run_program = || {
            run(&|launch| {
                let workers = Workers::new(1).unwrap();
                // SAFETY: each view has `N` elements of its store.
                unsafe { program.run(launch, Part::All, &divided(isa), &workers) };
            })
        };
        run_program();
        if unless_missing(natives.load()).is_none() {
            return;
        }
        // SAFETY: as above.
        let expected = run(&|launch| unsafe { reference::run(&kernel, launch) });
        assert!(run_program() == expected, "{isa}");
        assert!(!natives.twins[0].is_passed_by.load(Relaxed), "{isa}");
    }
}
