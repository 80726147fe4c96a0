//! Kernels for NVRTC: what they are compiled to, where there is a compiler, and what they compute,
//! where there is a GPU.

use super::compiler::WORDS;
use super::nvrtc::Nvrtc;
use super::*;
use crate::device::{DeviceLoop, functions, source};
use crate::element::{DType, Value};
use crate::generate::case;
use crate::ir::{ArgKind, BinaryOp, Inst, KernelBuilder, UnaryOp};
use crate::launch::{Extent, Launch, Layout, Operand, Sliced, Structure};
use crate::math::constants::NUMBERS;
use crate::native::mathematics;
use crate::operations::{BinaryForm, UnaryForm};
use crate::scalar;
use crate::tiles::Tiles;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::sync::Mutex;

/// The compiler, or where there is none the reason, which is printed.
fn compiler() -> Option<Nvrtc> {
    search::find(i32::MAX)
        .inspect_err(|error| println!("skipped: {error}"))
        .ok()
}

/// What a text is compiled to, as PTX and as machine code.
fn compiled(nvrtc: &Nvrtc, text: &str) -> (String, Vec<u8>) {
    let source = source(text, WORDS, &mathematics());
    let compiled = nvrtc.compile(&source, "sm_90").unwrap();
    (compiled.ptx().unwrap(), compiled.machine_code().unwrap())
}

/// The instructions of PTX.
fn instructions(ptx: &str) -> impl Iterator<Item = &str> {
    ptx.lines()
        .map(str::trim)
        .filter(|line| line.ends_with(';') && !line.starts_with('.'))
        // A predicate may stand in front.
        .map(|line| match line.strip_prefix('@') {
            Some(rest) => rest.split_once(' ').map_or("", |(_, rest)| rest),
            None => line,
        })
        .filter_map(|line| line.split_whitespace().next())
}

/// Checks that all operations are rounded as IEEE 754 says, and gives the number of fused ones.
fn check_rounding(ptx: &str) -> usize {
    let mut fused = 0;
    for name in instructions(ptx) {
        let parts: Vec<&str> = name.trim_end_matches(';').split('.').collect();
        let is_of_floats = parts.contains(&"f64") || parts.contains(&"f32");
        if !is_of_floats {
            continue;
        }
        // Without a rounding, additions and products may be fused later.
        if ["add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt"].contains(&parts[0]) {
            assert!(parts.contains(&"rn"), "{name}");
        }
        assert!(
            !parts.contains(&"approx") && !parts.contains(&"ftz"),
            "{name}"
        );
        assert!(
            !["ex2", "lg2", "sin", "cos", "tanh", "rsqrt", "mad"].contains(&parts[0]),
            "{name}"
        );
        fused += usize::from(parts[0] == "fma");
    }
    fused
}

/// `y = a * x + y` for the rows below `n`, not fused.
const ADD_PRODUCT: &str = "\
#define WORDS 4
KERNEL
PHASE
    const u64 row = BLOCK * THREADS + THREAD;
    const f64 *const x = (const f64 *)ARG(1);
    f64 *const y = (f64 *)ARG(2);
    if (row < ARG(0)) y[row] = number(ARG(3)) * x[row] + y[row];
END_PHASE
END_KERNEL
";

#[test]
fn nothing_is_fused_that_the_text_does_not_fuse() {
    let Some(nvrtc) = compiler() else { return };
    let (ptx, code) = compiled(&nvrtc, ADD_PRODUCT);
    assert_eq!(check_rounding(&ptx), 0, "{ptx}");
    let count = |start: &str| instructions(&ptx).filter(|name| *name == start).count();
    assert_eq!([count("mul.rn.f64"), count("add.rn.f64")], [1, 1], "{ptx}");
    assert_eq!(&code[..4], b"\x7fELF");
    let fused = ADD_PRODUCT.replace(
        "number(ARG(3)) * x[row] + y[row]",
        "mul_add(x[row], x[row], y[row])",
    );
    let (ptx, _) = compiled(&nvrtc, &fused);
    assert_eq!(check_rounding(&ptx), 1, "{ptx}");
}

#[test]
fn a_phase_ends_with_a_barrier() {
    let Some(nvrtc) = compiler() else { return };
    let text = "#define WORDS 1
KERNEL
SHARED(f64, part, THREADS)
PHASE part[THREAD] = THREAD; END_PHASE
PHASE if (THREAD == 0) *(f64 *)ARG(0) = part[THREADS - 1]; END_PHASE
END_KERNEL
";
    let (ptx, _) = compiled(&nvrtc, text);
    let barriers = instructions(&ptx).filter(|name| name.starts_with("bar"));
    assert_eq!(barriers.count(), 2, "{ptx}");
    assert!(ptx.contains(".shared .align 8 .b8"), "{ptx}");
    assert!(ptx.contains("maxntid 128"), "{ptx}");
}

#[test]
fn what_does_not_compile_is_told_with_the_first_error() {
    let Some(nvrtc) = compiler() else { return };
    let source = source("#define WORDS 1\nKERNEL missing(); END_KERNEL\n", WORDS, "");
    let error = nvrtc.compile(&source, "sm_90").unwrap_err().to_string();
    assert!(error.contains("missing"), "{error}");
}

#[test]
fn texts_that_are_compiled_side_by_side_give_the_same_code() {
    let Some(nvrtc) = compiler() else { return };
    let compiler = Compiler::new(nvrtc, (9, 0), None);
    let texts: Vec<String> = (0..12)
        .map(|k| ADD_PRODUCT.replace("y[row];", &format!("y[row] * {k};")))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let codes = compiler.machine_codes(&texts);
    assert_eq!(codes.len(), texts.len());
    for (text, code) in codes {
        assert_eq!(compiler.machine_code(&text).unwrap(), code);
    }
    // What does not compile is left out.
    let wrong = "#define WORDS 1\nKERNEL missing(); END_KERNEL\n";
    assert_eq!(compiler.machine_codes(&[wrong, ADD_PRODUCT]).len(), 1);
}

#[test]
fn machine_code_is_kept_on_disk() {
    let [Some(nvrtc), Some(again)] = [(); 2].map(|()| compiler()) else {
        return;
    };
    let folder = std::env::temp_dir().join(format!("sparsefuse-cubins-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let compiler = Compiler::new(nvrtc, (9, 0), Some(folder.clone()));
    let code = compiler.machine_code(ADD_PRODUCT).unwrap();
    let kept = || -> Vec<PathBuf> {
        let entries = fs::read_dir(folder.join("cuda")).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let [file] = &kept()[..] else {
        panic!("{:?}", kept())
    };
    assert_eq!(file.extension().unwrap(), "cubin");
    let written = fs::metadata(file).unwrap().len();
    assert_eq!(written as usize, code.len() + crate::native::cache::SEAL);
    // Another process finds it, unless it is damaged; another architecture has its own.
    let compiler = Compiler::new(again, (9, 0), Some(folder.clone()));
    assert_eq!(compiler.machine_code(ADD_PRODUCT).unwrap(), code);
    fs::write(file, b"damaged").unwrap();
    assert_eq!(compiler.machine_code(ADD_PRODUCT).unwrap(), code);
    assert_eq!(kept().len(), 1);
    fs::remove_dir_all(&folder).unwrap();
}

/// The functions of one operand, on each of these two types.
fn unary_functions() -> Vec<(UnaryOp, DType)> {
    let is_function = |op: &UnaryOp| matches!(op.form(), UnaryForm::Call | UnaryForm::Angle);
    let functions = UnaryOp::ALL.into_iter().filter(is_function);
    functions
        .flat_map(|op| [(op, DType::F64), (op, DType::F32)])
        .collect()
}

/// Those of two operands.
fn binary_functions() -> Vec<(BinaryOp, DType)> {
    let is_function = |op: &BinaryOp| matches!(op.form(), BinaryForm::Call | BinaryForm::FloatCall);
    let functions = BinaryOp::ALL.into_iter().filter(is_function);
    functions
        .flat_map(|op| [(op, DType::F64), (op, DType::F32)])
        .collect()
}

/// A kernel that calls all functions of reals on pairs of numbers, and puts the results of each, as
/// f64, one after the other.
fn all_functions() -> String {
    let mut text = String::from(
        "#define WORDS 4
KERNEL
PHASE
    const u64 n = ARG(0), row = BLOCK * THREADS + THREAD;
    if (row < n) {
        const f64 x_f64 = ((const f64 *)ARG(1))[row], y_f64 = ((const f64 *)ARG(2))[row];
        const f32 x_f32 = (f32)x_f64, y_f32 = (f32)y_f64;
        f64 *at = (f64 *)ARG(3) + row;
",
    );
    let type_ = |dtype| if dtype == DType::F64 { "f64" } else { "f32" };
    for (op, dtype) in unary_functions() {
        let (name, t) = (op.name(), type_(dtype));
        let _ = writeln!(text, "        *at = {name}_{t}(x_{t}); at += n;");
    }
    for (op, dtype) in binary_functions() {
        let (name, t) = (op.name(), type_(dtype));
        let _ = writeln!(text, "        *at = {name}_{t}(x_{t}, y_{t}); at += n;");
    }
    text + "    }\nEND_PHASE\nEND_KERNEL\n"
}

#[test]
fn all_functions_compile_with_the_roundings_of_ieee_754() {
    let Some(nvrtc) = compiler() else { return };
    let (ptx, code) = compiled(&nvrtc, &all_functions());
    let fused = check_rounding(&ptx);
    assert!(fused > 100, "{fused}");
    assert!(
        !ptx.contains("call"),
        "a function is not inlined, or not ours"
    );
    assert!(!ptx.contains(".local"), "there is an array in memory");
    assert_eq!(&code[..4], b"\x7fELF");
}

#[test]
fn whole_and_complex_numbers_compile() {
    let Some(nvrtc) = compiler() else { return };
    let mut text = String::from("#define WORDS 2\nKERNEL\nPHASE\n");
    for t in ["i32", "i64", "u32", "u64"] {
        let _ = writeln!(
            text,
            "    {{ {t} *a = ({t} *)ARG(0) + THREAD; a[0] = abs_{t}(min_{t}(sign_{t}(a[0]), \
             max_{t}(a[1], {t}_of(*(f64 *)ARG(1))))); }}"
        );
    }
    for t in ["complex_f32", "complex_f64"] {
        let _ = writeln!(
            text,
            "    {{ {t} *a = ({t} *)ARG(0) + THREAD; a[0] = div_{t}(mul_{t}(a[0], a[1]), \
             sign_{t}(add_{t}(conj_{t}(a[2]), MAKE({t}, 1, 0)))); const _Bool same = \
             eq_{t}(a[3], a[4]); a[5] = select_{t}(same, neg_{t}(a[6]), sub_{t}(a[0], a[7])); }}"
        );
    }
    text.push_str("END_PHASE\nEND_KERNEL\n");
    let (ptx, _) = compiled(&nvrtc, &text);
    assert!(check_rounding(&ptx) > 0);
    assert!(!ptx.contains("call"));
}

/// A device that keeps the texts of kernels.
#[derive(Debug, Default)]
struct Texts(Mutex<BTreeSet<String>>);

impl Device for Texts {
    fn name(&self) -> &str {
        "texts"
    }

    fn allocate(&self, bytes: usize) -> Result<Address, DeviceError> {
        Err(DeviceError::OutOfMemory { wanted: bytes })
    }

    unsafe fn free(&self, _: Address) {}

    unsafe fn upload(&self, _: *const u8, _: Address, _: usize) -> Result<(), DeviceError> {
        Ok(())
    }

    unsafe fn download(&self, _: Address, _: *mut u8, _: usize) -> Result<(), DeviceError> {
        Ok(())
    }

    fn function(&self, text: &str) -> Result<Function, DeviceError> {
        self.0.lock().unwrap().insert(text.to_owned());
        Ok(Function(0))
    }

    fn prepare(&self, _: &[String]) {}

    unsafe fn launch(&self, _: Function, _: u32, _: &[u64]) -> Result<(), DeviceError> {
        Ok(())
    }

    fn finish(&self) -> Result<(), DeviceError> {
        Ok(())
    }
}

#[test]
fn random_kernels_compile_with_the_roundings_of_ieee_754() {
    let Some(nvrtc) = compiler() else { return };
    let texts = Texts::default();
    for seed in 0..100 {
        // Refused ones are no matter of the compiler.
        let _ = crate::device::tests::loops(&case(seed, 128), &texts);
    }
    for dtype in [DType::F32, DType::F64, DType::ComplexF64, DType::I32] {
        product_in_slices(dtype, &texts);
    }
    let texts = texts.0.into_inner().unwrap();
    assert!(texts.len() > 100, "{} kernels", texts.len());
    // All in one source, each with a structure of arguments and a name of its own.
    let mut all = String::from("#define WORDS 1\n");
    for (number, text) in texts.iter().enumerate() {
        let (first, rest) = text.split_once('\n').unwrap();
        let _ = write!(
            all,
            "#undef WORDS\n#undef words\n#undef sparsefuse_kernel\n{first}\n\
             #define words words_{number}\n#define sparsefuse_kernel kernel_{number}\n\
             struct words {{ u64 at[WORDS]; }};\n{rest}\n"
        );
    }
    let source = source(&all, WORDS, &functions());
    let compiled = nvrtc.compile(&source, "compute_90").unwrap();
    let ptx = compiled.ptx().unwrap();
    assert!(check_rounding(&ptx) > 0);
    assert_eq!(ptx.matches(".entry").count(), texts.len());
}

/// Has a device compile a product with entries in slices.
fn product_in_slices(dtype: DType, device: &dyn Device) {
    let mut build = KernelBuilder::new();
    let structure = build.arg(DType::U32, ArgKind::Structure);
    let entries = build.arg(dtype, ArgKind::Entries);
    let [x, y] = [ArgKind::Gather, ArgKind::Array].map(|kind| build.arg(dtype, kind));
    let sum = build.push(Inst::RowSum {
        structure,
        entries,
        x,
    });
    build.store(y, sum);
    let kernel = build.finish();
    let null = std::ptr::null();
    let operands = [
        Operand::Structure(Structure {
            pos: null,
            crd: std::ptr::null(),
            rows: 9,
            entries: 9,
            singles: false,
            below: 0,
            above: 0,
        }),
        Operand::Sliced(Sliced {
            slices: null,
            rows: null,
            columns: std::ptr::null(),
            values: std::ptr::null(),
            uniform: std::ptr::null(),
        }),
        Operand::Gather {
            own: std::ptr::null(),
            own_len: 9,
            ghosts: std::ptr::null(),
            width: 1,
        },
        Operand::Array {
            data: std::ptr::null_mut(),
            layout: Layout::contiguous(9),
        },
    ];
    let launch = Launch {
        domains: &[Extent {
            start: 0,
            len: 9,
            tiles: Tiles::of_vector(1024),
        }],
        operands: &operands,
        params: &[],
        tile_len: 1024,
    };
    DeviceLoop::new(&kernel, &kernel.loops[0], &launch, device).unwrap();
}

#[test]
fn signed_numbers_wrap() {
    let Some(nvrtc) = compiler() else { return };
    for t in ["i32", "i64"] {
        let text = format!(
            "#define WORDS 1\nKERNEL\nPHASE\n    {t} *a = ({t} *)ARG(0) + THREAD;\n    \
             a[0] = add_{t}(a[0], 1) > a[0];\nEND_PHASE\nEND_KERNEL\n"
        );
        let (ptx, _) = compiled(&nvrtc, &text);
        // Where signed numbers cannot wrap, it is always true.
        assert!(
            instructions(&ptx).any(|name| name.starts_with("setp")),
            "{ptx}"
        );
    }
}

/// The GPU, or where there is none the reason, which is printed.
fn gpu(cache: Option<PathBuf>) -> Option<Cuda> {
    let cuda = Cuda::new(0, cache);
    match cuda {
        Ok(cuda) => Some(cuda),
        Err(error @ DeviceError::Missing { .. }) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Numbers on a device.
#[expect(unsafe_code, reason = "memory of a device")]
fn uploaded(cuda: &Cuda, numbers: &[f64]) -> Address {
    let bytes = size_of_val(numbers);
    let address = cuda.allocate(bytes).unwrap();
    assert_eq!(address.0 % 256, 0);
    // SAFETY: both have that many bytes.
    unsafe {
        cuda.upload(numbers.as_ptr().cast(), address, bytes)
            .unwrap()
    };
    address
}

#[expect(unsafe_code, reason = "memory of a device")]
fn downloaded(cuda: &Cuda, from: Address, n: usize) -> Vec<f64> {
    let mut numbers = vec![0.0; n];
    // SAFETY: the caller has put as many numbers there.
    unsafe {
        cuda.download(from, numbers.as_mut_ptr().cast(), 8 * n)
            .unwrap();
    }
    numbers
}

/// The bits of a number, the same for each NaN.
fn bits(x: f64) -> u64 {
    if x.is_nan() {
        f64::NAN.to_bits()
    } else {
        x.to_bits()
    }
}

/// Numbers of all sizes and special ones.
fn numbers(seed: u64, n: usize) -> Vec<f64> {
    let specials = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        f64::INFINITY,
        f64::NAN,
        -f64::INFINITY,
        1e-310,
        2.5,
        -3.0,
    ];
    let number = |i: u64| {
        let word = (i + 1 + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let word = (word ^ (word >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        match i % 4 {
            0 => specials[(word >> 33) as usize % specials.len()],
            1 => f64::from_bits(word ^ (word >> 29)),
            2 => (word >> 11) as f64 / (1_u64 << 53) as f64 * 20.0 - 10.0,
            _ => ((word >> 40) as i64 - (1 << 23)) as f64 / 1024.0,
        }
    };
    (0..n as u64).map(number).collect()
}

#[test]
#[expect(unsafe_code, reason = "memory of a device")]
fn a_product_is_added_on_a_gpu() {
    let Some(cuda) = gpu(None) else { return };
    println!("{}", cuda.name());
    // Copies of a few bytes go another way, and the last block is not full.
    for n in [1, 100, 512, 513, 100_003] {
        let (x, y, a) = (numbers(1, n), numbers(2, n), 1.1);
        let (x_there, y_there) = (uploaded(&cuda, &x), uploaded(&cuda, &y));
        let function = cuda.function(ADD_PRODUCT).unwrap();
        assert_eq!(function, cuda.function(ADD_PRODUCT).unwrap());
        let arguments = [n as u64, x_there.0, y_there.0, f64::to_bits(a)];
        // SAFETY: the arrays have `n` numbers; they are given back when nothing uses them.
        let sums = unsafe {
            cuda.launch(function, 0, &arguments).unwrap();
            let blocks = n.div_ceil(THREADS as usize) as u32;
            cuda.launch(function, blocks, &arguments).unwrap();
            let sums = downloaded(&cuda, y_there, n);
            cuda.free(x_there);
            cuda.free(y_there);
            sums
        };
        cuda.finish().unwrap();
        for i in 0..n {
            assert_eq!(bits(sums[i]), bits(a * x[i] + y[i]), "{} {}", x[i], y[i]);
        }
    }
    assert!(matches!(
        cuda.allocate(1 << 46),
        Err(DeviceError::OutOfMemory { .. })
    ));
}

#[test]
#[expect(unsafe_code, reason = "memory of a device")]
fn all_functions_have_their_bits_on_a_gpu() {
    let Some(cuda) = gpu(None) else { return };
    let n = 20_000;
    let (x, y) = (numbers(3, n), numbers(4, n));
    let count = unary_functions().len() + binary_functions().len();
    let (x_there, y_there) = (uploaded(&cuda, &x), uploaded(&cuda, &y));
    let results = cuda.allocate(8 * n * count).unwrap();
    let function = cuda.function(&all_functions()).unwrap();
    let arguments = [n as u64, x_there.0, y_there.0, results.0];
    // SAFETY: the arrays have `n` numbers, and the results of each function as many.
    unsafe {
        let blocks = n.div_ceil(THREADS as usize) as u32;
        cuda.launch(function, blocks, &arguments).unwrap();
    }
    let results = downloaded(&cuda, results, n * count);
    let mut results = results.chunks(n);
    let value = |dtype, x| scalar::from_f64(dtype, x);
    let as_f64 = |value: Value| match value.dtype() {
        DType::F64 => f64::from_bits(value.bits()[0]),
        _ => f64::from(f32::from_bits(value.bits()[0] as u32)),
    };
    let large = NUMBERS.iter().find(|(name, _)| *name == "LARGE").unwrap().1;
    for (op, dtype) in unary_functions() {
        let found = results.next().unwrap();
        for i in 0..n {
            // Beyond it, loops leave the rows to the caller.
            if op.form() == UnaryForm::Angle && x[i].abs() > large {
                continue;
            }
            let expected = as_f64(scalar::unary(op, value(dtype, x[i])));
            assert_eq!(
                bits(found[i]),
                bits(expected),
                "{} {dtype} {:e}",
                op.name(),
                x[i]
            );
        }
    }
    for (op, dtype) in binary_functions() {
        let found = results.next().unwrap();
        for i in 0..n {
            let expected = as_f64(scalar::binary(op, value(dtype, x[i]), value(dtype, y[i])));
            let pair = (x[i], y[i]);
            assert_eq!(
                bits(found[i]),
                bits(expected),
                "{} {dtype} {pair:?}",
                op.name()
            );
        }
    }
}
