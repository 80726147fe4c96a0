//! Programs against the reference, to the bit, for every way to run them.

#![expect(unsafe_code, reason = "runs programs on memory of the tests")]

use super::run::uniform;
use super::*;
use crate::element::{DType, Element, Value};
use crate::generate::{Case, Data, case, join_if_decided, one_nan};
use crate::ir::{ArgKind, BinaryOp, KernelBuilder, RandomKind, ReduceOp, UnaryOp, ValueId};
use crate::launch::{Extent, Layout, Operand, Structure};
use crate::reduce::Partial;
use crate::tiles::Tiles;
use crate::{reduce, reference, scalar};

/// The reference, as a safe function for launches of generated cases.
fn run_reference(kernel: &Kernel, launch: &Launch<'_>) {
    // SAFETY: the generator binds every argument to memory that fits.
    unsafe { reference::run(kernel, launch) };
}

fn run_program(case: &Case, program: &Program, settings: &Settings, workers: &Workers) -> Data {
    case.run_whole(|_, launch| {
        // SAFETY: the generator binds every argument to memory that fits, and the settings name
        // instruction sets of this machine.
        unsafe { program.run(launch, Part::All, settings, workers) };
    })
}

/// One case, in every way that the settings allow.
fn check_random(seed: u64, tile_len: usize, block_lens: &[usize], workers: &[Workers]) {
    let case = case(seed, tile_len);
    // Memory that is temporary only may pass through the cache.
    let left = |data| case.without_temporaries(case.with_one_nan(data));
    let expected = left(case.run_whole(run_reference));
    let program = Program::compile(&case.kernel);
    for isa in Isa::available() {
        for &block_len in block_lens {
            for workers in workers {
                let settings = Settings {
                    isa,
                    block_len,
                    parallel_threshold: 0,
                    stream_threshold: if seed.is_multiple_of(2) {
                        0
                    } else {
                        usize::MAX
                    },
                    band_threshold: if seed.is_multiple_of(3) {
                        usize::MAX
                    } else {
                        0
                    },
                };
                let found = left(run_program(&case, &program, &settings, workers));
                assert!(
                    found == expected,
                    "seed {seed}, tiles of {tile_len}, {settings:?}, {} threads\n{}",
                    workers.count(),
                    case.kernel
                );
            }
        }
    }
}

fn workers(counts: &[usize]) -> Vec<Workers> {
    counts.iter().map(|&n| Workers::new(n).unwrap()).collect()
}

/// Random kernels in tiles and blocks of several lengths, in turn.
pub(super) fn check_random_kernels(seeds: &[u64], tile_lens: &[usize], block_lens: &[usize]) {
    let workers = workers(&[1, 2]);
    for (i, &seed) in seeds.iter().enumerate() {
        let block_len = block_lens[i / tile_lens.len() % block_lens.len()];
        check_random(seed, tile_lens[i % tile_lens.len()], &[block_len], &workers);
    }
}

#[test]
fn random_kernels_equal_the_reference_in_small_tiles() {
    let workers = workers(&[1, 3]);
    for seed in 0..3000 {
        let tile_len = [1, 3, 7, 16, 24][seed as usize % 5];
        let block_len = [0, 1, 2, 7, 16, 64][seed as usize % 6];
        check_random(seed, tile_len, &[block_len], &workers);
    }
}

#[test]
fn random_kernels_equal_the_reference_in_large_tiles() {
    let workers = workers(&[1, 2]);
    for seed in 10_000..10_060 {
        check_random(seed, 1024, &[0, 7, 64, 1000], &workers);
    }
}

#[test]
fn tiles_in_pieces_equal_all() {
    let workers = workers(&[1, 3]);
    let mut divisible = 0;
    for seed in 0..2000 {
        let case = case(seed, [3, 16][seed as usize % 2]);
        let program = Program::compile(&case.kernel);
        if !program.is_divisible() || program.loops() == 0 {
            continue;
        }
        divisible += 1;
        let expected = case.with_one_nan(case.run_whole(run_reference));
        let extent = case.domains[case.kernel.loops[0].domain as usize];
        let n_tiles = extent.tiles.count(extent.len as usize) as u64;
        let half = n_tiles / 2;
        let (mut odd, mut even): (Vec<_>, Vec<_>) = (0..half)
            .map(|t| t..t + 1)
            .partition(|range| range.start % 2 == 1);
        even.push(half..half);
        odd.push(half..n_tiles);
        for workers in &workers {
            let found = case.run_whole(|_, launch| {
                let settings = Settings {
                    parallel_threshold: 0,
                    ..Settings::default()
                };
                for number in 0..program.loops() {
                    for tiles in [&odd, &even] {
                        let some = (number..number + 1, Part::Tiles(tiles));
                        // SAFETY: as in `run_program`.
                        unsafe { program.run_loops(launch, some, &settings, workers) };
                    }
                }
            });
            assert!(
                case.with_one_nan(found) == expected,
                "seed {seed}\n{}",
                case.kernel
            );
        }
    }
    assert!(divisible > 100, "only {divisible} kernels were divisible");
}

/// Elements of one type in memory.
#[derive(Clone, Debug, PartialEq)]
struct Elements {
    dtype: DType,
    words: Vec<u128>,
}

impl Elements {
    fn new(dtype: DType, values: impl IntoIterator<Item = Value>) -> Self {
        let values: Vec<Value> = values.into_iter().collect();
        let mut elements = Self {
            dtype,
            words: vec![0; (values.len() * dtype.size()).div_ceil(16)],
        };
        for (i, value) in values.into_iter().enumerate() {
            let place = elements.data().wrapping_add(i * dtype.size());
            // SAFETY: there is room for each of the values.
            unsafe { uniform::write(value, place) };
        }
        elements
    }

    fn data(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().cast()
    }

    /// An operand that is only read.
    fn array(&self, len: usize) -> Operand {
        Operand::Array {
            data: self.words.as_ptr().cast_mut().cast(),
            layout: Layout::contiguous(len),
        }
    }

    fn array_mut(&mut self, len: usize) -> Operand {
        Operand::Array {
            data: self.data(),
            layout: Layout::contiguous(len),
        }
    }

    fn with_one_nan(mut self) -> Self {
        for word in &mut self.words {
            let [low, high] = [*word as u64, (*word >> 64) as u64];
            let [low, high] = [low, high].map(|word| one_nan(self.dtype.real(), word));
            *word = u128::from(high) << 64 | u128::from(low);
        }
        self
    }
}

/// Numbers at the borders of what operations distinguish.
fn specials(dtype: DType) -> Vec<Value> {
    let reals = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.5,
        -3.0,
        0.1,
        7.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1e300,
        1e-310,
        40.0,
        -800.0,
    ];
    let part = |i: usize| reals[i % reals.len()];
    let value = |i: usize| match dtype {
        DType::ComplexF32 => {
            num_complex::Complex::new(part(i) as f32, part(3 * i + 1) as f32).to_value()
        }
        DType::ComplexF64 => num_complex::Complex::new(part(i), part(3 * i + 1)).to_value(),
        _ => scalar::from_f64(dtype, part(i)),
    };
    (0..reals.len()).map(value).collect()
}

/// Runs a kernel by the reference and by programs and compares what they leave in `outputs` and in
/// the partials of `n_tiles` tiles.
fn check(
    what: &str,
    kernel: &Kernel,
    rows: usize,
    outputs: &Elements,
    bind: impl Fn(&mut Elements, *mut Partial) -> Vec<Operand>,
) {
    let tile_len = 16;
    let run = |execute: &dyn Fn(&Launch<'_>)| {
        let mut outputs = outputs.clone();
        let mut partials =
            vec![reduce::identity(ReduceOp::Sum, DType::F64); rows.div_ceil(tile_len)];
        let operands = bind(&mut outputs, partials.as_mut_ptr());
        execute(&Launch {
            domains: &[Extent {
                start: 32,
                len: rows as u64,
                tiles: Tiles::of_vector(tile_len),
            }],
            operands: &operands,
            params: &[],
            tile_len,
        });
        for inst in kernel.loops.iter().flat_map(|loop_| &loop_.body) {
            if let Inst::Reduce(op, ..) = *inst {
                join_if_decided(op, outputs.dtype, &mut partials);
            }
        }
        for partial in &mut partials {
            partial.bits = partial.bits.map(|word| one_nan(outputs.dtype.real(), word));
        }
        (outputs.with_one_nan(), partials)
    };
    let expected = run(&|launch| run_reference(kernel, launch));
    let program = Program::compile(kernel);
    for isa in Isa::available() {
        for block_len in [0, 48] {
            let settings = Settings {
                isa,
                block_len,
                parallel_threshold: 0,
                ..Settings::default()
            };
            let found = run(&|launch| {
                let workers = Workers::new(1).unwrap();
                // SAFETY: the tests bind operands that fit their kernels.
                unsafe { program.run(launch, Part::All, &settings, &workers) };
            });
            assert_eq!(found, expected, "{what}, {settings:?}\n{kernel}");
        }
    }
}

/// A kernel over the pairs of specials of a type, in `a` and `b`, and a bool; `body` makes the
/// value that is stored.
fn check_operation(
    what: &str,
    dtype: DType,
    out: DType,
    body: impl Fn(&mut KernelBuilder, [ValueId; 3]) -> ValueId,
) {
    let specials = specials(dtype);
    let n = specials.len();
    let pairs = || (0..n * n).map(|i| (i / n, i % n));
    let a = Elements::new(dtype, pairs().map(|(i, _)| specials[i]));
    let b = Elements::new(dtype, pairs().map(|(_, j)| specials[j]));
    let flag = Elements::new(
        DType::Bool,
        pairs().map(|(i, j)| ((i + j) % 3 == 0).to_value()),
    );
    let outputs = Elements::new(out, (0..n * n).map(|_| scalar::from_f64(out, 0.0)));
    let mut build = KernelBuilder::new();
    let args = [dtype, dtype, DType::Bool].map(|dtype| build.arg(dtype, ArgKind::Array));
    let target = build.arg(out, ArgKind::Array);
    let values = args.map(|arg| build.load(arg));
    let result = body(&mut build, values);
    build.store(target, result);
    check(what, &build.finish(), n * n, &outputs, |outputs, _| {
        let inputs = [&a, &b, &flag].map(|input| input.array(n * n));
        inputs
            .into_iter()
            .chain([outputs.array_mut(n * n)])
            .collect()
    });
}

#[test]
fn every_operation_equals_the_reference() {
    for dtype in DType::ALL {
        for op in UnaryOp::ALL {
            if let Some(out) = op.output(dtype) {
                check_operation(op.name(), dtype, out, |build, [a, ..]| build.unary(op, a));
            }
        }
        for op in BinaryOp::ALL {
            if let Some(out) = op.output(dtype) {
                check_operation(op.name(), dtype, out, |build, [a, b, _]| {
                    build.binary(op, a, b)
                });
                check_operation(op.name(), dtype, out, |build, [a, ..]| {
                    let constant = build.constant(scalar::from_f64(dtype, 3.0));
                    build.binary(op, constant, a)
                });
            }
        }
        check_operation("select", dtype, dtype, |build, [a, b, flag]| {
            build.push(Inst::Select(flag, a, b))
        });
        for to in DType::ALL {
            check_operation("cast", dtype, to, |build, [a, ..]| {
                build.push(Inst::Cast(to, a))
            });
        }
    }
    for kind in RandomKind::ALL {
        check_operation(
            kind.name(),
            DType::U64,
            kind.output(),
            |build, [seed, ..]| {
                let index = build.push(Inst::Index);
                build.push(Inst::Random { kind, seed, index })
            },
        );
    }
}

#[test]
fn every_reduction_equals_the_reference() {
    for dtype in DType::ALL {
        for op in ReduceOp::ALL {
            let Some(out) = op.output(dtype) else {
                continue;
            };
            let specials = specials(dtype);
            for (rows, first) in [(1, 0), (15, 3), (16, 4), (75, 0), (150, 9)] {
                // The first rows without NaN and infinities, which would hide all others.
                let value = |i: usize| specials[(first + i % if i < 64 { 8 } else { 15 }) % 15];
                let a = Elements::new(dtype, (0..rows).map(value));
                let mut build = KernelBuilder::new();
                let arg = build.arg(dtype, ArgKind::Array);
                let target = build.arg(out, ArgKind::Reduction);
                let value = build.load(arg);
                build.reduce(op, target, value);
                let none = Elements::new(dtype, []);
                check(op.name(), &build.finish(), rows, &none, |_, partials| {
                    vec![a.array(rows), Operand::Reduction { partials }]
                });
            }
        }
    }
}

#[test]
fn products_carried_out_by_their_reader_equal_the_reference() {
    let floats = DType::ALL
        .into_iter()
        .filter(|dtype| dtype.is_complex() || dtype.is_real_float());
    for dtype in floats {
        let factors = |build: &mut KernelBuilder, a: ValueId, is_uniform: bool| match is_uniform {
            true => [build.constant(scalar::from_f64(dtype, 1.1)), a],
            false => [a, a],
        };
        for is_uniform in [false, true] {
            for op in [BinaryOp::Add, BinaryOp::Sub] {
                for is_first in [false, true] {
                    check_operation("product", dtype, dtype, |build, [a, b, _]| {
                        let [x, y] = factors(build, a, is_uniform);
                        let product = build.binary(BinaryOp::Mul, x, y);
                        let (left, right) = if is_first { (product, b) } else { (b, product) };
                        build.binary(op, left, right)
                    });
                }
            }
            for rows in [1, 15, 16, 75, 150] {
                let value = |i: usize| scalar::from_f64(dtype, 1.0 / (1.0 + i as f64));
                let a = Elements::new(dtype, (0..rows).map(value));
                let mut build = KernelBuilder::new();
                let arg = build.arg(dtype, ArgKind::Array);
                let target = build.arg(dtype, ArgKind::Reduction);
                let value = build.load(arg);
                let [x, y] = factors(&mut build, value, is_uniform);
                let product = build.binary(BinaryOp::Mul, x, y);
                build.reduce(ReduceOp::Sum, target, product);
                let none = Elements::new(dtype, []);
                check("product", &build.finish(), rows, &none, |_, partials| {
                    vec![a.array(rows), Operand::Reduction { partials }]
                });
            }
        }
    }
}

#[test]
fn maxima_carried_out_by_their_reader_equal_the_reference() {
    let ordered = DType::ALL
        .into_iter()
        .filter(|dtype| !dtype.is_complex() && *dtype != DType::Bool);
    for dtype in ordered {
        for is_uniform in [false, true] {
            check_operation("clamp", dtype, dtype, |build, [a, b, _]| {
                let high = match is_uniform {
                    true => build.constant(scalar::from_f64(dtype, 1.0)),
                    false => a,
                };
                let larger = build.binary(BinaryOp::Max, a, b);
                build.binary(BinaryOp::Min, larger, high)
            });
        }
    }
}

/// The `x` of a product, cut in two.
struct Gathered {
    own: Elements,
    ghosts: Option<Elements>,
}

impl Gathered {
    fn new(dtype: DType, values: &[Value], own_len: usize) -> Self {
        let (own, ghosts) = values.split_at(own_len);
        Self {
            own: Elements::new(dtype, own.iter().copied()),
            ghosts: (!ghosts.is_empty()).then(|| Elements::new(dtype, ghosts.iter().copied())),
        }
    }

    /// The operand, of which `own_len` rows of `width` elements are own.
    fn operand(&self, own_len: usize, width: usize) -> Operand {
        let ghosts = self.ghosts.as_ref();
        Operand::Gather {
            own: self.own.words.as_ptr().cast(),
            own_len,
            ghosts: ghosts.map_or(std::ptr::null(), |ghosts| ghosts.words.as_ptr().cast()),
            width,
        }
    }
}

/// `pos` and `crd` of rows with 0 to 4 entries in `columns` columns, as rows of a larger matrix.
fn structure(rows: usize, columns: usize) -> (Vec<u64>, Vec<u32>) {
    let (mut pos, mut crd) = (vec![5], Vec::new());
    for row in 0..rows {
        crd.extend((0..row * 7 % 5).map(|k| ((row * 3 + k * k) % columns) as u32));
        pos.push(5 + crd.len() as u64);
    }
    (pos, crd)
}

#[test]
fn every_row_sum_equals_the_reference() {
    let (rows, columns) = (75, 15);
    let (pos, crd) = structure(rows, columns);
    for dtype in DType::ALL.into_iter().filter(|&dtype| dtype != DType::Bool) {
        let specials = specials(dtype);
        let finite = |i: usize| specials[i % 8];
        let entries = Elements::new(dtype, (0..crd.len()).map(|i| finite(3 * i + i / 5)));
        let mut build = KernelBuilder::new();
        let a = build.arg(DType::U32, ArgKind::Structure);
        let e = build.arg(dtype, ArgKind::Entries);
        let g = build.arg(dtype, ArgKind::Gather);
        let y = build.arg(dtype, ArgKind::Array);
        let sum = build.push(Inst::RowSum {
            structure: a,
            entries: e,
            x: g,
        });
        build.store(y, sum);
        let kernel = build.finish();
        for (own_len, width) in [(0, 1), (6, 1), (columns, 1), (6, 3), (columns, 8), (0, 43)] {
            let x: Vec<Value> = (0..columns * width)
                .map(|i| specials[(i + i / 15) % 15])
                .collect();
            let x = Gathered::new(dtype, &x, own_len * width);
            let outputs = Elements::new(dtype, (0..rows * width).map(finite));
            check("row_sum", &kernel, rows * width, &outputs, |outputs, _| {
                vec![
                    Operand::Structure(Structure {
                        singles: false,
                        pos: pos.as_ptr(),
                        crd: crd.as_ptr(),
                        rows,
                        entries: crd.len(),
                        below: usize::MAX,
                        above: usize::MAX,
                    }),
                    Operand::Entries {
                        data: entries.words.as_ptr().cast(),
                    },
                    x.operand(own_len, width),
                    outputs.array_mut(rows * width),
                ]
            });
        }
    }
}

#[test]
fn every_row_reduction_equals_the_reference() {
    let rows = 35;
    for dtype in DType::ALL {
        for op in ReduceOp::ALL {
            let is_search = matches!(op, ReduceOp::ArgMin | ReduceOp::ArgMax);
            if is_search || op.output(dtype).is_none() {
                continue;
            }
            for columns in [0, 1, 5, 16, 33, 100] {
                for with_x in [false, true] {
                    if !(with_x && dtype == DType::Bool) {
                        check_row_reduction(op, dtype, rows, columns, with_x);
                    }
                }
            }
        }
    }
}

fn check_row_reduction(op: ReduceOp, dtype: DType, rows: usize, columns: usize, with_x: bool) {
    let specials = specials(dtype);
    let finite = |i: usize| specials[(i + i / 11) % 8];
    let matrix = Elements::new(dtype, (0..rows * columns).map(finite));
    let x: Vec<Value> = (0..columns).map(|i| specials[i % 15]).collect();
    let outputs = Elements::new(dtype, (0..rows).map(finite));
    let mut build = KernelBuilder::new();
    let m = build.arg(dtype, ArgKind::DenseRows);
    let g = build.arg(dtype, ArgKind::Gather);
    let y = build.arg(dtype, ArgKind::Array);
    let value = build.push(Inst::RowReduce {
        op,
        rows: m,
        x: with_x.then_some(g),
    });
    build.store(y, value);
    let kernel = build.finish();
    let run = |stride| Layout {
        strides: [stride, 0, 0, 0],
        ..Layout::contiguous(rows)
    };
    let by_rows = (run(columns as isize), 1);
    let by_columns = (run(1), rows as isize);
    // Rows of two dimensions, of which those with an even number come first.
    let halves = Layout {
        rank: 2,
        dims: [2, rows / 2, 1, 1],
        strides: [columns as isize, 2 * columns as isize, 0, 0],
    };
    let mut layouts = vec![(by_rows, columns), (by_columns, columns / 2)];
    if rows.is_multiple_of(2) {
        layouts.push(((halves, 1), columns));
    }
    for ((layout, column_stride), own_len) in layouts {
        let x = Gathered::new(dtype, &x, own_len);
        check(op.name(), &kernel, rows, &outputs, |outputs, _| {
            vec![
                Operand::DenseRows {
                    data: matrix.words.as_ptr().cast(),
                    layout,
                    columns,
                    column_stride,
                },
                x.operand(own_len, 1),
                outputs.array_mut(rows),
            ]
        });
    }
}

/// Dimensions of one index between others, whose strides say nothing, in parts of larger arrays.
#[test]
fn copies_of_lines_equal_the_reference() {
    let mut build = KernelBuilder::new();
    let [from, to] = [(); 2].map(|()| build.arg(DType::F64, ArgKind::Array));
    let value = build.load(from);
    build.store(to, value);
    let kernel = build.finish();
    for dims in [[3, 1, 5, 1], [1, 3, 1, 5], [2, 1, 1, 7], [5, 1, 2, 3]] {
        let n = dims.iter().product();
        for strides in [[64, 0, 8, 1], [64, 1, 8, 1], [64, 8, 9, 1]] {
            let numbers = |first: usize| (first..first + 2048).map(|i| (i as f64).to_value());
            let (source, outputs) = (Elements::new(DType::F64, numbers(0)), numbers(4000));
            let outputs = Elements::new(DType::F64, outputs);
            let layout = Layout {
                rank: 4,
                dims,
                strides,
            };
            let seen = |operand, layout| match operand {
                Operand::Array { data, .. } => Operand::Array { data, layout },
                other => other,
            };
            check("copy", &kernel, n, &outputs, |outputs, _| {
                let to = Layout {
                    strides: [256, 40, 30, 2],
                    ..layout
                };
                vec![
                    seen(source.array(n), layout),
                    seen(outputs.array_mut(n), to),
                ]
            });
        }
    }
}
