//! The bits of native code are those of the blocks.

use super::*;
use crate::element::Value;
use crate::generate::{case, one_nan};
use crate::ir::{BinaryOp, Inst, ReduceOp, ValueId};
use crate::reduce::{Partial, identity};
use crate::tiles::Tiles;
use crate::{random, reference, scalar};

/// Elements of one type in memory.
#[derive(Clone, Debug)]
struct Elements {
    words: Vec<u64>,
}

impl Elements {
    fn new(dtype: DType, n: usize, value: impl Fn(usize) -> Value) -> Self {
        let size = dtype.size();
        let mut bytes = vec![0; (n * size).next_multiple_of(8)];
        for (i, place) in bytes.chunks_mut(size).take(n).enumerate() {
            let parts = place.chunks_mut(dtype.real().size());
            for (part, bits) in parts.zip(value(i).bits()) {
                part.copy_from_slice(&bits.to_le_bytes()[..part.len()]);
            }
        }
        let words = bytes
            .chunks(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap()));
        let words = words.collect();
        Self { words }
    }

    fn operand(&mut self, n: usize) -> Operand {
        Operand::Array {
            data: self.words.as_mut_ptr().cast(),
            layout: Layout::contiguous(n),
        }
    }
}

/// A number of any kind: any bits, small ones, special ones, large ones. The parts of a complex
/// number are of two kinds.
fn point(dtype: DType, seed: u64, i: usize) -> Value {
    const SPECIALS: [f64; 16] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -3.0,
        2.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1e300,
        1e-310,
        1_073_741_824.5,
        -2_147_483_649.0,
        4_294_967_295.5,
        1.8446744073709552e19,
    ];
    let bits = random::bits(seed, i as u64);
    let unit = random::uniform(seed + 1, i as u64);
    let part = |seed: u64, i: usize| point(dtype.real(), seed, i).bits()[0];
    match i % 4 {
        _ if dtype.is_complex() => {
            let parts = [part(seed + 10, i), part(seed + 20, bits as usize / 4)];
            Value::from_bits(dtype, parts)
        }
        _ if dtype == DType::Bool => (bits % 2 == 1).to_value(),
        0 => Value::from_bits(dtype, [bits >> (64 - 8 * dtype.size()), 0]),
        1 => scalar::from_f64(dtype, 40.0 * unit - 20.0),
        2 => scalar::from_f64(dtype, SPECIALS[bits as usize % SPECIALS.len()]),
        _ => scalar::from_f64(dtype, (1600.0 * unit - 800.0).trunc()),
    }
}

/// A kernel of two arrays of a type and one of `bool`, its output, and how many points to compare.
struct Check {
    what: String,
    dtype: DType,
    out: DType,
    kernel: Kernel,
    points: usize,
}

const FEW: usize = 5_003;
/// Two arguments, so a million points for each of them.
const MANY: usize = 1_000_003;

fn check(
    what: &str,
    (dtype, out): (DType, DType),
    points: usize,
    body: impl Fn(&mut KernelBuilder, [ValueId; 3]) -> ValueId,
) -> Check {
    let mut build = KernelBuilder::new();
    let args = [dtype, dtype, DType::Bool].map(|dtype| build.arg(dtype, ArgKind::Array));
    let target = build.arg(out, ArgKind::Array);
    let values = args.map(|arg| build.load(arg));
    let value = body(&mut build, values);
    build.store(target, value);
    Check {
        what: format!("{what} of {dtype} to {out}"),
        dtype,
        out,
        kernel: build.finish(),
        points,
    }
}

/// All operations on all types.
fn checks() -> Vec<Check> {
    let mut checks = Vec::new();
    // Of complex numbers, the absolute value and the quotient.
    let is_long = |dtype: DType, of_reals, of_complex| {
        dtype.is_real_float() && of_reals || dtype.is_complex() && of_complex
    };
    for dtype in DType::ALL {
        for op in UnaryOp::ALL {
            let is_absolute = matches!(op, UnaryOp::Abs | UnaryOp::Sign);
            let points = if is_long(dtype, op.cost() > 1, is_absolute) {
                MANY
            } else {
                FEW
            };
            if let Some(out) = op.output(dtype) {
                let body = |build: &mut KernelBuilder, [a, ..]: [ValueId; 3]| build.unary(op, a);
                checks.push(check(op.name(), (dtype, out), points, body));
            }
        }
        for op in BinaryOp::ALL {
            let points = if is_long(dtype, op == BinaryOp::Pow, op == BinaryOp::Div) {
                MANY
            } else {
                FEW
            };
            if let Some(out) = op.output(dtype) {
                checks.push(check(
                    op.name(),
                    (dtype, out),
                    points,
                    |build, [a, b, _]| build.binary(op, a, b),
                ));
            }
        }
        checks.push(check("select", (dtype, dtype), FEW, |build, [a, b, c]| {
            build.push(Inst::Select(c, a, b))
        }));
        for to in DType::ALL {
            checks.push(check("cast", (dtype, to), FEW, |build, [a, ..]| {
                build.push(Inst::Cast(to, a))
            }));
        }
    }
    checks.extend(complex_chains());
    checks.push(check("index", (DType::F64, DType::I64), FEW, |build, _| {
        build.push(Inst::Index)
    }));
    checks
}

/// Operations on what others yield, of which compilers make a product added to one part and
/// subtracted from the other: they must not be fused.
fn complex_chains() -> Vec<Check> {
    let mut checks = Vec::new();
    for dtype in [DType::ComplexF32, DType::ComplexF64] {
        for first in [BinaryOp::Add, BinaryOp::Mul, BinaryOp::Div] {
            for second in [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul] {
                let what = format!("{} of a conjugate {}", second.name(), first.name());
                checks.push(check(&what, (dtype, dtype), FEW, |build, [a, b, _]| {
                    let value = build.binary(first, a, b);
                    let conjugate = build.unary(UnaryOp::Conj, value);
                    build.binary(second, b, conjugate)
                }));
            }
        }
    }
    checks
}

impl Check {
    fn run(&self, program: &Program, isa: Isa) -> Vec<u64> {
        let n = self.points;
        let types = [self.dtype, self.dtype, DType::Bool, self.out];
        let mut arrays: Vec<Elements> = (0..4)
            .map(|k| {
                let dtype = types[k];
                Elements::new(dtype, n, |i| point(dtype, 100 * k as u64, i / (3 * k + 1)))
            })
            .collect();
        let operands: Vec<Operand> = arrays.iter_mut().map(|array| array.operand(n)).collect();
        let launch = Launch {
            domains: &[Extent {
                start: 1024,
                len: n as u64,
                tiles: Tiles::of_vector(1024),
            }],
            operands: &operands,
            params: &[],
            tile_len: 1024,
        };
        let settings = Settings {
            isa,
            stream_threshold: 0,
            ..Settings::default()
        };
        let workers = Workers::new(2).unwrap();
        // SAFETY: all arrays have `n` elements, and the instruction set is one of this machine.
        unsafe { program.run(&launch, Part::All, &settings, &workers) };
        let words = arrays[3].words.iter();
        words.map(|&word| one_nan(self.out.real(), word)).collect()
    }
}

#[test]
fn every_operation_has_the_bits_of_the_blocks() {
    let folder = Folder::new("operations");
    for isa in isas() {
        let mut natives = Natives::new(isa, folder.toolchain());
        let mut programs = Vec::new();
        for check in checks() {
            let before = natives.twins.len();
            let program = natives.program(&check.kernel);
            if natives.twins.len() > before {
                programs.push((check, program));
            }
        }
        assert!(programs.len() > 180, "{} are printed", programs.len());
        if unless_missing(natives.load()).is_none() {
            return;
        }
        for (check, program) in &programs {
            let expected = check.run(&Program::compile(&check.kernel), isa);
            let found = check.run(program, isa);
            let wrong = (0..expected.len()).find(|&i| found[i] != expected[i]);
            let shown = wrong.map(|i| (i, found[i], expected[i]));
            assert!(shown.is_none(), "{} for {isa}: {shown:x?}", check.what);
        }
    }
}

#[test]
fn random_kernels_have_the_bits_of_the_reference() {
    let folder = Folder::new("kernels");
    for isa in isas() {
        let mut natives = Natives::new(isa, folder.toolchain());
        let mut cases = Vec::new();
        for seed in 0.. {
            let case = case(seed, [16, 48, 1024][seed as usize % 3]);
            let before = natives.twins.len();
            let program = natives.program(&case.kernel);
            if natives.twins.len() > before {
                cases.push((seed, case, program));
            }
            if natives.twins.len() >= 60 {
                break;
            }
        }
        // The forms are for arrays that lie as those of the first run.
        for (_, case, program) in &cases {
            let settings = Settings {
                isa,
                stream_threshold: 0,
                ..Settings::default()
            };
            case.run_whole(|_, launch| {
                // SAFETY: the generator binds every argument to memory that fits.
                unsafe { program.run(launch, Part::All, &settings, &Workers::new(1).unwrap()) };
            });
        }
        if unless_missing(natives.load()).is_none() {
            return;
        }
        for (seed, case, program) in &cases {
            let expected = case.with_one_nan(case.run_whole(|kernel, launch| {
                // SAFETY: the generator binds every argument to memory that fits.
                unsafe { reference::run(kernel, launch) };
            }));
            for threads in [1, 3] {
                let settings = divided(isa);
                let workers = Workers::new(threads).unwrap();
                let found = case.with_one_nan(case.run_whole(|_, launch| {
                    // SAFETY: as above.
                    unsafe { program.run(launch, Part::All, &settings, &workers) };
                }));
                let kernel = &case.kernel;
                assert!(found == expected, "seed {seed} for {isa}\n{kernel}");
            }
        }
    }
}

/// The partials of 5000 elements of an array, the first argument of a kernel whose others are
/// reductions.
fn partials(kernel: &Kernel, program: &Program, isa: Isa) -> Vec<Vec<Partial>> {
    let n = 5_000;
    // Here and there an angle that the fast reduction cannot take.
    let angle = |i: usize| if i % 777 == 5 { 1e15 } else { 0.1 * i as f64 };
    let mut input = Elements::new(DType::F64, n, |i| angle(i).to_value());
    let no_rows = identity(ReduceOp::Sum, DType::F64);
    let mut partials = vec![vec![no_rows; n.div_ceil(64)]; kernel.args.len() - 1];
    let targets = partials.iter_mut().map(|partials| Operand::Reduction {
        partials: partials.as_mut_ptr(),
    });
    let operands: Vec<Operand> = [input.operand(n)].into_iter().chain(targets).collect();
    let launch = Launch {
        domains: &[Extent {
            start: 640,
            len: n as u64,
            tiles: Tiles::of_vector(64),
        }],
        operands: &operands,
        params: &[],
        tile_len: 64,
    };
    let settings = Settings {
        isa,
        stream_threshold: 0,
        ..Settings::default()
    };
    let workers = Workers::new(1).unwrap();
    // SAFETY: the array has `n` elements, and each reduction a partial for each tile.
    unsafe { program.run(&launch, Part::All, &settings, &workers) };
    partials
}

fn check_partials(name: &str, kernel: &Kernel) {
    let folder = Folder::new(name);
    for isa in isas() {
        let mut natives = Natives::new(isa, folder.toolchain());
        let program = natives.program(kernel);
        if unless_missing(natives.load()).is_none() {
            return;
        }
        let expected = partials(kernel, &Program::compile(kernel), isa);
        assert_eq!(partials(kernel, &program, isa), expected, "{isa}");
    }
}

#[test]
fn reductions_have_the_bits_of_the_blocks() {
    let ops = [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Min, ReduceOp::Max];
    let mut build = KernelBuilder::new();
    let x = build.arg(DType::F64, ArgKind::Array);
    let value = build.load(x);
    let sine = build.unary(UnaryOp::Sin, value);
    for op in ops {
        let target = build.arg(DType::F64, ArgKind::Reduction);
        build.reduce(op, target, sine);
    }
    check_partials("reductions", &build.finish());
}

/// Blocks have ways of their own for some: they count the bytes of a mask, for instance, where
/// native code adds numbers. Each chunk with a large angle runs in blocks, among native ones.
#[test]
fn reductions_of_each_type_have_the_bits_of_the_blocks() {
    let folder = Folder::new("types");
    for isa in isas() {
        let mut natives = Natives::new(isa, folder.toolchain());
        let mut programs = Vec::new();
        for kernel in reductions_of_each_type() {
            let before = natives.twins.len();
            let program = natives.program(&kernel);
            if natives.twins.len() > before {
                programs.push((kernel, program));
            }
        }
        // AVX2 has no conversions between `f64` and three of the types of whole numbers.
        assert!(programs.len() >= 30, "{} are printed", programs.len());
        if unless_missing(natives.load()).is_none() {
            return;
        }
        for (kernel, program) in &programs {
            let expected = partials(kernel, &Program::compile(kernel), isa);
            let found = partials(kernel, program, isa);
            assert_eq!(found, expected, "{isa}\n{kernel}");
        }
    }
}

/// For each type and each reduction of it a kernel of a sine as that type, and one of masks of
/// sines as that type.
fn reductions_of_each_type() -> Vec<Kernel> {
    let ops = [
        ReduceOp::Sum,
        ReduceOp::Prod,
        ReduceOp::Min,
        ReduceOp::Max,
        ReduceOp::Any,
        ReduceOp::All,
    ];
    let number: Body = |build, dtype, sine| {
        let ten = build.constant(10.0f64.to_value());
        let sine = build.binary(BinaryOp::Mul, sine, ten);
        build.push(Inst::Cast(dtype, sine))
    };
    let mask: Body = |build, dtype, sine| {
        let most = build.constant(0.1f64.to_value());
        let mask = build.binary(BinaryOp::Gt, sine, most);
        build.push(Inst::Cast(dtype, mask))
    };
    // Of 3 and 1, so that products of masks are not 0.
    let choice: Body = |build, dtype, sine| {
        let zero = build.constant(0.0f64.to_value());
        let mask = build.binary(BinaryOp::Lt, sine, zero);
        let [a, b] = [3.0, 1.0].map(|x| build.constant(scalar::from_f64(dtype, x)));
        build.push(Inst::Select(mask, a, b))
    };
    let mut kernels = Vec::new();
    for dtype in DType::ALL {
        for op in ops {
            let is_of_truth = matches!(op, ReduceOp::Any | ReduceOp::All);
            let is_of_order = matches!(op, ReduceOp::Min | ReduceOp::Max);
            if is_of_truth != (dtype == DType::Bool) || is_of_order && dtype.is_complex() {
                continue;
            }
            for bodies in [&[number][..], &[mask, choice]] {
                kernels.push(reductions(dtype, op, bodies));
            }
        }
    }
    kernels
}

/// What is made of a sine, as a type.
type Body = fn(&mut KernelBuilder, DType, ValueId) -> ValueId;

fn reductions(dtype: DType, op: ReduceOp, bodies: &[Body]) -> Kernel {
    let mut build = KernelBuilder::new();
    let x = build.arg(DType::F64, ArgKind::Array);
    let value = build.load(x);
    let sine = build.unary(UnaryOp::Sin, value);
    for body in bodies {
        let target = build.arg(dtype, ArgKind::Reduction);
        let value = body(&mut build, dtype, sine);
        build.reduce(op, target, value);
    }
    build.finish()
}
