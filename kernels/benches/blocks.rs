//! What the block executor costs: nanoseconds per element in the cache, bytes per second from
//! memory, products with the matrix of the 5-point stencil, on 1 and 2 threads.
//!
//! `cargo bench -p sparsefuse-kernels --bench blocks [-- NAME]` runs the rows for which the text
//! `kernel, N rows` contains NAME. Each figure is the best of several batches.
#![expect(unsafe_code, reason = "binds kernels to memory of this program")]

use sparsefuse_kernels::packed::{PackedStructure, PackedValues, PlainRows, Words};
use sparsefuse_kernels::{
    ArgId, ArgKind, BinaryOp, DType, Extent, Inst, Kernel, KernelBuilder, Launch, Layout, Operand,
    Packed, Part, Program, ReduceOp, Settings, Structure, UnaryOp, ValueId, Workers,
    reduce::Partial, tiles::Tiles,
};
use std::time::{Duration, Instant};

fn main() {
    let filter = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let filter = filter.unwrap_or_default();
    let workers = [Workers::new(1), Workers::new(2)].map(|workers| workers.expect("threads start"));
    if "operations".contains(&filter) {
        operations(&workers[0]);
    }
    println!(
        "{:28} {:>9} {:>9} {:>12} {:>9} {:>9}",
        "kernel", "rows", "threads", "us", "ns/row", "GB/s"
    );
    for n in [1_000, 10_000, 100_000, 10_000_000] {
        for (name, bytes, kernel) in kernels() {
            if format!("{name}, {n} rows").contains(&filter) {
                workers
                    .iter()
                    .for_each(|w| vectors(name, &kernel, bytes, n, w));
            }
        }
    }
    for scale in [14, 17, 20] {
        if format!("graph, {} rows", 1 << scale).contains(&filter) {
            let matrix = graph(scale);
            for form in [Form::Plain, Form::Diagonals] {
                workers
                    .iter()
                    .for_each(|w| product("graph", &matrix, false, form, w));
            }
        }
    }
    for side in [32, 128, 512, 1024, 2048] {
        for fused in [false, true] {
            let name = if fused { "spmv + dot" } else { "spmv" };
            if format!("{name}, {} rows", side * side).contains(&filter) {
                for form in [Form::Plain, Form::Stencil, Form::Diagonals] {
                    let matrix = stencil(side, form);
                    workers
                        .iter()
                        .for_each(|w| product(name, &matrix, fused, form, w));
                }
            }
        }
    }
}

/// A cache line: arrays begin at one, as those of the runtime do.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "read through pointers")] [f64; 8]);

/// Nanoseconds per element of every operation, for elements in the cache.
fn operations(workers: &Workers) {
    let n = 1024;
    let domains = [Extent {
        start: 0,
        len: n as u64,
        tiles: Tiles::of_vector(1024),
    }];
    let header = DType::ALL.map(|dtype| format!("{:>7}", dtype.name()));
    println!("{:8}{}", "ns", header.concat());
    let time = |dtype: DType,
                out: Option<DType>,
                body: &dyn Fn(&mut KernelBuilder, [ValueId; 2]) -> ValueId| {
        let Some(out) = out else {
            return format!("{:>7}", "");
        };
        let mut build = KernelBuilder::new();
        let args = [dtype, dtype].map(|dtype| build.arg(dtype, ArgKind::Array));
        let target = build.arg(out, ArgKind::Array);
        let values = args.map(|arg| build.load(arg));
        let value = body(&mut build, values);
        build.store(target, value);
        let program = Program::compile(&build.finish());
        let mut arrays: [Vec<Line>; 3] = [(); 3].map(|()| vec![Line([0.0; 8]); n / 4]);
        for array in &mut arrays {
            fill(dtype, array);
        }
        let operands = arrays.each_mut().map(|array| Operand::Array {
            data: array.as_mut_ptr().cast(),
            layout: Layout::contiguous(n),
        });
        let launch = Launch {
            domains: &domains,
            operands: &operands,
            params: &[],
            tile_len: 1024,
        };
        let settings = Settings::default();
        // SAFETY: the operands have `n` elements of at most 16 bytes each.
        let time = best(|| unsafe { program.run(&launch, Part::All, &settings, workers) });
        format!("{:7.2}", time.as_secs_f64() * 1e9 / n as f64)
    };
    for op in UnaryOp::ALL {
        let row =
            DType::ALL.map(|dtype| time(dtype, op.output(dtype), &|b, [x, _]| b.unary(op, x)));
        println!("{:8}{}", op.name(), row.concat());
    }
    for op in BinaryOp::ALL {
        let row =
            DType::ALL.map(|dtype| time(dtype, op.output(dtype), &|b, [x, y]| b.binary(op, x, y)));
        println!("{:8}{}", op.name(), row.concat());
    }
    for to in DType::ALL {
        let row =
            DType::ALL.map(|dtype| time(dtype, Some(to), &|b, [x, _]| b.push(Inst::Cast(to, x))));
        println!("{:8}{}", format!("to {to}"), row.concat());
    }
}

/// Small numbers of a type.
fn fill(dtype: DType, array: &mut [Line]) {
    let bytes = array.as_mut_ptr().cast::<u8>();
    for i in 0..array.len() * 4 {
        let x = 1.0 + (i % 7) as f64 / 4.0;
        // SAFETY: the array has room for four elements of 16 bytes in a line.
        unsafe {
            match dtype {
                DType::F32 => bytes.cast::<f32>().add(i).write(x as f32),
                DType::F64 => bytes.cast::<f64>().add(i).write(x),
                DType::ComplexF32 => bytes.cast::<[f32; 2]>().add(i).write([x as f32, 0.5]),
                DType::ComplexF64 => bytes.cast::<[f64; 2]>().add(i).write([x, 0.5]),
                DType::I32 | DType::U32 => bytes.cast::<u32>().add(i).write(i as u32 % 7 + 1),
                DType::I64 | DType::U64 => bytes.cast::<u64>().add(i).write(i as u64 % 7 + 1),
                DType::Bool => bytes.add(i).write(u8::from(i % 3 == 0)),
            }
        }
    }
}

/// A name, the bytes that a row moves, and the kernel. Arguments: a scalar, arrays x, y, z, a
/// reduction.
fn kernels() -> Vec<(&'static str, usize, Kernel)> {
    let mut all = Vec::new();
    let mut add = |name, bytes, body: &dyn Fn(&mut KernelBuilder, [ValueId; 3])| {
        let mut build = KernelBuilder::new();
        let a = build.arg(DType::F64, ArgKind::Scalar);
        let [x, y, _] = [(); 3].map(|()| build.arg(DType::F64, ArgKind::Array));
        build.arg(DType::F64, ArgKind::Reduction);
        let values = [build.load_scalar(a), build.load(x), build.load(y)];
        body(&mut build, values);
        all.push((name, bytes, build.finish()));
    };
    let (x, y, z, sum): (ArgId, ArgId, ArgId, ArgId) = (1, 2, 3, 4);
    add("add: z = x + y", 24, &|b, [_, xs, ys]| {
        let s = b.binary(BinaryOp::Add, xs, ys);
        b.store(z, s);
    });
    add("axpy: y = a * x + y", 24, &|b, [a, xs, ys]| {
        let ax = b.binary(BinaryOp::Mul, a, xs);
        let s = b.binary(BinaryOp::Add, ax, ys);
        b.store(y, s);
    });
    add("triad: z = x + a * y", 24, &|b, [a, xs, ys]| {
        let ay = b.binary(BinaryOp::Mul, a, ys);
        let s = b.binary(BinaryOp::Add, xs, ay);
        b.store(z, s);
    });
    add("dot: sum(x * y)", 16, &|b, [_, xs, ys]| {
        let p = b.binary(BinaryOp::Mul, xs, ys);
        b.reduce(ReduceOp::Sum, sum, p);
    });
    add("sum(x)", 8, &|b, [_, xs, _]| {
        b.reduce(ReduceOp::Sum, sum, xs)
    });
    add("argmax(x)", 8, &|b, [_, xs, _]| {
        b.reduce(ReduceOp::ArgMax, sum, xs)
    });
    add("cg tail: x,y updates, dot", 40, &|b, [a, xs, ys]| {
        let zs = b.load(z);
        let az = b.binary(BinaryOp::Mul, a, zs);
        let new_x = b.binary(BinaryOp::Add, xs, az);
        b.store(x, new_x);
        let new_y = b.binary(BinaryOp::Sub, ys, az);
        b.store(y, new_y);
        let square = b.binary(BinaryOp::Mul, new_y, new_y);
        b.reduce(ReduceOp::Sum, sum, square);
    });
    add("z = exp(x)", 16, &|b, [_, xs, _]| {
        let e = b.unary(UnaryOp::Exp, xs);
        b.store(z, e);
    });
    add("1000 times y = y + x", 24, &|b, [_, xs, ys]| {
        let s = (0..1000).fold(ys, |s, _| b.binary(BinaryOp::Add, s, xs));
        b.store(y, s);
    });
    all
}

fn vectors(name: &str, kernel: &Kernel, bytes: usize, n: usize, workers: &Workers) {
    if name.starts_with("1000") && n > 10_000 {
        return;
    }
    let mut scalar = 1e-9f64;
    let mut arrays = [0, 1, 2].map(|k| vec![Line([1.0 + f64::from(k); 8]); n.div_ceil(8)]);
    let mut partials = vec![
        Partial {
            bits: [0; 2],
            index: 0
        };
        n.div_ceil(1024)
    ];
    let mut operands = vec![Operand::Scalar {
        data: (&raw mut scalar).cast(),
    }];
    operands.extend(arrays.iter_mut().map(|array| Operand::Array {
        data: array.as_mut_ptr().cast(),
        layout: Layout::contiguous(n),
    }));
    operands.push(Operand::Reduction {
        partials: partials.as_mut_ptr(),
    });
    report(name, kernel, &operands, n, bytes as f64, workers);
}

/// How the matrix is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    Stencil,
    Diagonals,
}

/// A matrix in plain form.
struct Matrix {
    pos: Vec<u64>,
    crd: Vec<u32>,
    vals: Vec<f64>,
}

/// The matrix of the 5-point stencil, with equal rows or not.
fn stencil(side: usize, form: Form) -> Matrix {
    let n = side * side;
    let (mut pos, mut crd, mut vals) = (vec![0u64], Vec::<u32>::new(), Vec::new());
    for row in 0..n {
        let (i, j) = (row / side, row % side);
        let mut entry = |exists: bool, column: usize, value: f64| {
            if exists {
                crd.push(column as u32);
                vals.push(match form {
                    Form::Diagonals => value + row as f64,
                    Form::Plain | Form::Stencil => value,
                });
            }
        };
        entry(i > 0, row.wrapping_sub(side), -1.0);
        entry(j > 0, row.wrapping_sub(1), -1.0);
        entry(true, row, 4.0);
        entry(j + 1 < side, row + 1, -1.0);
        entry(i + 1 < side, row + side, -1.0);
        pos.push(crd.len() as u64);
    }
    Matrix { pos, crd, vals }
}

/// A graph with 16 edges for each of `2^scale` vertices, most of them at few vertices (R-MAT).
fn graph(scale: u32) -> Matrix {
    let n = 1usize << scale;
    let mut state = 1u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    let mut edges: Vec<(u32, u32)> = Vec::with_capacity(16 * n);
    for _ in 0..16 * n {
        let (mut row, mut column) = (0, 0);
        for _ in 0..scale {
            let place = random();
            row = row << 1 | u32::from(place >= 0.76);
            column = column << 1 | u32::from((0.57..0.76).contains(&place) || place >= 0.95);
        }
        edges.push((row, column));
    }
    edges.sort_unstable();
    edges.dedup();
    let mut pos = vec![0u64; n + 1];
    edges
        .iter()
        .for_each(|&(row, _)| pos[row as usize + 1] += 1);
    (0..n).for_each(|row| pos[row + 1] += pos[row]);
    Matrix {
        pos,
        crd: edges.iter().map(|&(_, column)| column).collect(),
        vals: edges.iter().map(|_| random()).collect(),
    }
}

/// `z = A x`, and the dot product of `z` and `x` in the same pass.
fn product(name: &str, matrix: &Matrix, fused: bool, form: Form, workers: &Workers) {
    let Matrix { pos, crd, vals } = matrix;
    let n = pos.len() - 1;
    let name = &format!("{name}, {form:?}");
    let mut x = vec![Line([1.0; 8]); n.div_ceil(8)];
    let mut y = vec![Line([0.0; 8]); n.div_ceil(8)];
    let mut partials = vec![
        Partial {
            bits: [0; 2],
            index: 0
        };
        n.div_ceil(1024)
    ];
    let plain = PlainRows {
        pos,
        crd,
        own_len: n,
    };
    let words: Vec<u64> = vals.iter().map(|value| value.to_bits()).collect();
    let structure = PackedStructure::plan(plain, workers).expect("memory for a bench");
    let mut columns = vec![0; structure.column_bytes()];
    structure.fill_columns(plain, &mut columns, workers);
    let values = PackedValues::plan(&structure, plain, Words::Eight(&words), workers)
        .expect("memory for a bench");
    let mut data = vec![0; values.bytes()];
    values.fill(&structure, plain, Words::Eight(&words), &mut data, workers);
    let entries = match form {
        Form::Plain => Operand::Entries {
            data: vals.as_ptr().cast(),
        },
        Form::Stencil | Form::Diagonals => Operand::Packed(Packed {
            structure: &raw const structure,
            values: &raw const values,
            columns: columns.as_ptr(),
            data: data.as_ptr(),
        }),
    };
    let operands = [
        Operand::Structure(Structure {
            singles: false,
            pos: pos.as_ptr(),
            crd: crd.as_ptr(),
            rows: n,
            entries: crd.len(),
            below: usize::MAX,
            above: usize::MAX,
        }),
        entries,
        Operand::Gather {
            own: x.as_ptr().cast(),
            own_len: n,
            ghosts: std::ptr::null(),
            width: 1,
        },
        Operand::Array {
            data: y.as_mut_ptr().cast(),
            layout: Layout::contiguous(n),
        },
        Operand::Array {
            data: x.as_mut_ptr().cast(),
            layout: Layout::contiguous(n),
        },
        Operand::Reduction {
            partials: partials.as_mut_ptr(),
        },
    ];
    let mut build = KernelBuilder::new();
    let structure = build.arg(DType::U32, ArgKind::Structure);
    let entries = build.arg(DType::F64, ArgKind::Entries);
    let gathered = build.arg(DType::F64, ArgKind::Gather);
    let out = build.arg(DType::F64, ArgKind::Array);
    let rows = build.arg(DType::F64, ArgKind::Array);
    let dot = build.arg(DType::F64, ArgKind::Reduction);
    let ax = build.push(Inst::RowSum {
        structure,
        entries,
        x: gathered,
    });
    build.store(out, ax);
    if fused {
        let xs = build.load(rows);
        let product = build.binary(BinaryOp::Mul, ax, xs);
        build.reduce(ReduceOp::Sum, dot, product);
    }
    let bytes = (8 * (n + 1) + 12 * crd.len() + 16 * n) as f64 / n as f64;
    report(name, &build.finish(), &operands, n, bytes, workers);
}

fn report(
    name: &str,
    kernel: &Kernel,
    operands: &[Operand],
    n: usize,
    bytes: f64,
    workers: &Workers,
) {
    let program = Program::compile(kernel);
    let domains = [Extent {
        start: 0,
        len: n as u64,
        tiles: Tiles::of_vector(1024),
    }];
    let launch = Launch {
        domains: &domains,
        operands,
        params: &[],
        tile_len: 1024,
    };
    let settings = Settings {
        parallel_threshold: 20_000,
        ..Settings::default()
    };
    // SAFETY: the operands point to memory of the caller with `n` rows each.
    let time = best(|| unsafe { program.run(&launch, Part::All, &settings, workers) });
    let seconds = time.as_secs_f64();
    println!(
        "{name:28} {n:9} {:9} {:12.3} {:9.3} {:9.1}",
        workers.count(),
        seconds * 1e6,
        seconds * 1e9 / n as f64,
        bytes * n as f64 / seconds / 1e9
    );
}

/// The shortest time of a call: batches of about 3 ms, for about 60 ms.
fn best(mut call: impl FnMut()) -> Duration {
    let start = Instant::now();
    call();
    let once = start.elapsed().max(Duration::from_nanos(20));
    let batch = (3_000_000 / once.as_nanos()).clamp(1, 100_000) as u32;
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        (0..batch).for_each(|_| call());
        best = best.min(start.elapsed() / batch);
    }
    best
}
