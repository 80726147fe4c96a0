//! Kernels made by hand on the emulated device against the reference, to the bit: functions on
//! arguments of all magnitudes, and reductions of rows.

use super::*;
use crate::element::{Element, Value};
use crate::ir::{BinaryOp, KernelBuilder, UnaryOp};
use crate::launch::{Extent, Layout};
use crate::operations::Types;
use crate::scalar;
use crate::tiles::Tiles;

/// The operands of a kernel, from where its memory lies.
type Operands = dyn Fn(&[*mut u8]) -> Vec<Operand>;

/// A kernel with what it is to run on. The last memory is what it writes, of elements of this type.
pub(in crate::device) struct Program {
    what: String,
    kernel: Kernel,
    rows: usize,
    tile_len: usize,
    memory: Vec<Vec<u64>>,
    operands: Box<Operands>,
    written: DType,
}

impl Program {
    fn with_launch<T>(&self, places: &[*mut u8], run: impl FnOnce(&Launch<'_>) -> T) -> T {
        run(&Launch {
            domains: &[Extent {
                start: 0,
                len: self.rows as u64,
                tiles: Tiles::of_vector(self.tile_len),
            }],
            operands: &(self.operands)(places),
            params: &[],
            tile_len: self.tile_len,
        })
    }

    fn compiled(&self, device: &dyn Device) -> DeviceLoop {
        let places: Vec<*mut u8> = self.memory.iter().map(|_| std::ptr::null_mut()).collect();
        let compiled = self.with_launch(&places, |launch| {
            DeviceLoop::new(&self.kernel, &self.kernel.loops[0], launch, device)
        });
        compiled.unwrap_or_else(|error| panic!("{}: {error}", self.what))
    }

    fn by_reference(&self) -> Vec<u64> {
        let mut memory = self.memory.clone();
        let places: Vec<*mut u8> = memory.iter_mut().map(|it| it.as_mut_ptr().cast()).collect();
        // SAFETY: the programs below bind every argument to memory that fits.
        self.with_launch(&places, |launch| unsafe {
            reference::run(&self.kernel, launch);
        });
        self.outcome(memory)
    }

    fn by_device(&self, loop_: &DeviceLoop, device: &dyn Device) -> Vec<u64> {
        let mut memory = self.memory.clone();
        let copy = |it: &Vec<u64>| {
            let copy = device.allocate(size_of_val(&it[..])).unwrap();
            // SAFETY: both have as many bytes.
            unsafe { device.upload(it.as_ptr().cast(), copy, size_of_val(&it[..])) }.unwrap();
            copy
        };
        let copies: Vec<Address> = memory.iter().map(copy).collect();
        let place = |copy: &Address| std::ptr::without_provenance_mut(copy.0 as usize);
        let places: Vec<*mut u8> = copies.iter().map(place).collect();
        self.with_launch(&places, |launch| {
            let scratch = device.allocate(loop_.scratch_bytes(launch)).unwrap();
            // SAFETY: as for the reference; the scratch is not used any more when it is freed.
            unsafe {
                loop_.run(launch, scratch, device).unwrap();
                device.free(scratch);
            }
        });
        for (copy, it) in copies.into_iter().zip(&mut memory) {
            // SAFETY: both have as many bytes, and the copy is not used any more.
            unsafe {
                let to = it.as_mut_ptr().cast();
                device.download(copy, to, size_of_val(&it[..])).unwrap();
                device.free(copy);
            }
        }
        self.outcome(memory)
    }

    fn outcome(&self, mut memory: Vec<Vec<u64>>) -> Vec<u64> {
        let written = memory.pop().unwrap();
        let dtype = self.written.real();
        written
            .into_iter()
            .map(|word| one_nan(dtype, word))
            .collect()
    }
}

/// Compiles all of them before the first runs, as one library.
pub(in crate::device) fn check_all(device: &dyn Device, programs: &[Program]) {
    let loops: Vec<DeviceLoop> = programs.iter().map(|it| it.compiled(device)).collect();
    for (program, loop_) in programs.iter().zip(&loops) {
        let (expected, found) = (program.by_reference(), program.by_device(loop_, device));
        let same = expected.iter().zip(&found).position(|(a, b)| a != b);
        assert_eq!(same, None, "{}: word that differs", program.what);
    }
    device.finish().unwrap();
}

/// Elements as they lie in memory.
fn packed(values: &[Value]) -> Vec<u64> {
    let mut bytes = Vec::new();
    for value in values {
        let dtype = value.dtype();
        let parts = if dtype.is_complex() { 2 } else { 1 };
        for part in &value.bits()[..parts] {
            bytes.extend_from_slice(&part.to_le_bytes()[..dtype.size() / parts]);
        }
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let words = bytes.chunks(8).map(|word| {
        let word = word.try_into().expect("words of eight bytes");
        u64::from_le_bytes(word)
    });
    words.collect()
}

/// Any bits.
fn random(i: usize) -> u64 {
    crate::random::bits(7, i as u64)
}

/// Numbers of all magnitudes, among them special ones.
fn reals(n: usize, salt: usize) -> Vec<f64> {
    let specials = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.0,
        -3.0,
        40.5,
        -800.0,
        1e-300,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::from_bits(1),
        1_073_741_824.0,
        1_073_741_824.000_000_2,
        // The double that is closest to a multiple of pi/2.
        6_381_956_970_095_103.0 * 2f64.powi(797),
        1e22,
        f64::from(f32::MAX),
    ];
    let number = |i: usize| {
        let (word, unit) = (
            random(i + salt),
            random(i + salt + 1) as f64 / 2f64.powi(63) - 1.0,
        );
        match i % 4 {
            0 => specials[word as usize % specials.len()],
            // Near multiples of pi/2.
            1 => (unit * 2f64.powi((word % 60) as i32)).round() * std::f64::consts::FRAC_PI_2,
            2 => unit * 2f64.powi((word % 40) as i32 - 20),
            _ => f64::from_bits(word),
        }
    };
    (0..n).map(number).collect()
}

fn numbers(dtype: DType, n: usize, salt: usize) -> Vec<Value> {
    let (re, im) = (reals(n, salt), reals(n, salt + 7919));
    let word = |x: f64| match dtype.real() {
        DType::F32 => u64::from((x as f32).to_bits()),
        _ => x.to_bits(),
    };
    let number = |i: usize| match dtype {
        DType::F32 | DType::F64 => Value::from_bits(dtype, [word(re[i]), 0]),
        DType::ComplexF32 | DType::ComplexF64 => {
            Value::from_bits(dtype, [word(re[i]), word(im[i])])
        }
        // Small and large ones.
        _ if i.is_multiple_of(2) => {
            scalar::cast(dtype, ((random(i + salt) % 9) as i64 - 4).to_value())
        }
        _ => scalar::cast(dtype, random(i + salt).to_value()),
    };
    (0..n).map(number).collect()
}

/// `z = function(x, y)` for elements of this type, of which there are many.
fn of_elements(
    what: &str,
    dtype: DType,
    function: impl FnOnce(&mut KernelBuilder, [u32; 2]) -> u32,
) -> Program {
    let n = 6000;
    let mut build = KernelBuilder::new();
    let [x, y, z] = [(); 3].map(|()| build.arg(dtype, ArgKind::Array));
    let operands = [x, y].map(|arg| build.load(arg));
    let value = function(&mut build, operands);
    build.store(z, value);
    Program {
        what: format!("{what} of {dtype}"),
        kernel: build.finish(),
        rows: n,
        tile_len: 1024,
        memory: vec![
            packed(&numbers(dtype, n, 0)),
            packed(&numbers(dtype, n, 104_729)),
            packed(&numbers(dtype, n, 1)),
        ],
        operands: Box::new(move |places| {
            let array = |&data: &*mut u8| Operand::Array {
                data,
                layout: Layout::contiguous(n),
            };
            places.iter().map(array).collect()
        }),
        written: dtype,
    }
}

#[test]
fn functions_of_any_argument_equal_the_reference() {
    if let Some(device) = emulated() {
        check_all(&device, &functions());
    }
}

/// What device kernels have functions for that native loops leave to the blocks.
pub(in crate::device) fn functions() -> Vec<Program> {
    let mut programs = Vec::new();
    for dtype in DType::ALL {
        for op in UnaryOp::ALL {
            if op.types() == Types::Floats && op.output(dtype) == Some(dtype) {
                programs.push(of_elements(op.name(), dtype, |build, [x, _]| {
                    build.push(Inst::Unary(op, x))
                }));
            }
        }
        for op in [BinaryOp::Pow, BinaryOp::Rem, BinaryOp::FloorDiv] {
            if op.output(dtype) == Some(dtype) {
                programs.push(of_elements(op.name(), dtype, |build, [x, y]| {
                    build.push(Inst::Binary(op, x, y))
                }));
            }
        }
    }
    assert_eq!(programs.len(), 4 * 6 + 8 + 2 * 6);
    programs
}

/// `y[row] = -(reduction of the row)`, or without the sign where there is none.
fn of_rows(
    (op, dtype): (ReduceOp, DType),
    (rows, columns, tile_len): (usize, usize, usize),
    (is_by_rows, has_x): (bool, bool),
) -> Program {
    let mut build = KernelBuilder::new();
    let matrix = build.arg(dtype, ArgKind::DenseRows);
    let vector = build.arg(dtype, ArgKind::Gather);
    let written = build.arg(dtype, ArgKind::Array);
    let mut value = build.push(Inst::RowReduce {
        op,
        rows: matrix,
        x: has_x.then_some(vector),
    });
    if UnaryOp::Neg.output(dtype) == Some(dtype) {
        value = build.push(Inst::Unary(UnaryOp::Neg, value));
    }
    build.store(written, value);
    let number = |i: usize| match dtype {
        DType::Bool => (!random(i).is_multiple_of(64)).to_value(),
        // Sums of these are rounded.
        _ => scalar::from_f64(dtype, (random(i) % 2001) as f64 / 7.0 - 140.0),
    };
    let elements = |n: usize| -> Vec<u64> { packed(&(0..n).map(number).collect::<Vec<_>>()) };
    let (row_step, column_stride) = match is_by_rows {
        true => (columns as isize, 1),
        false => (1, rows as isize),
    };
    Program {
        what: format!(
            "{} of {rows} x {columns} {dtype}, {is_by_rows} {has_x}",
            op.name()
        ),
        kernel: build.finish(),
        rows,
        tile_len,
        memory: vec![elements(rows * columns), elements(columns), elements(rows)],
        operands: Box::new(move |places| {
            vec![
                Operand::DenseRows {
                    data: places[0],
                    layout: Layout {
                        strides: [row_step, 0, 0, 0],
                        ..Layout::contiguous(rows)
                    },
                    columns,
                    column_stride,
                },
                Operand::Gather {
                    own: places[1],
                    own_len: columns,
                    ghosts: std::ptr::null(),
                    width: 1,
                },
                Operand::Array {
                    data: places[2],
                    layout: Layout::contiguous(rows),
                },
            ]
        }),
        written: dtype,
    }
}

#[test]
fn reductions_of_rows_equal_the_reference() {
    if let Some(device) = emulated() {
        check_all(&device, &reductions_of_rows(&DType::ALL));
    }
}

/// All reductions of rows of these types, of matrices of many shapes.
pub(in crate::device) fn reductions_of_rows(dtypes: &[DType]) -> Vec<Program> {
    let sizes = [
        (1, 0, 16),
        (3, 1, 16),
        (9, 15, 16),
        (8, 16, 16),
        (17, 17, 16),
        (130, 64, 128),
        (5, 1000, 128),
        (2, 5000, 24),
        (1000, 7, 1024),
        (40, 130, 1024),
        (0, 5, 16),
    ];
    let mut programs = Vec::new();
    for (number, dtype) in dtypes.iter().copied().enumerate() {
        for op in ReduceOp::ALL {
            if op.output(dtype) != Some(dtype) || matches!(op, ReduceOp::ArgMin | ReduceOp::ArgMax)
            {
                continue;
            }
            for (i, size) in sizes.into_iter().enumerate() {
                let has_x = dtype != DType::Bool && (i + number).is_multiple_of(2);
                for is_by_rows in [false, true] {
                    programs.push(of_rows((op, dtype), size, (is_by_rows, has_x)));
                }
            }
        }
    }
    programs
}

/// Sums of rows of a sparse and of a dense matrix, and more reductions than all threads of a block
/// take.
fn both_sums_of_rows(rows: usize) -> Program {
    const REDUCTIONS: usize = 5;
    let columns = 3;
    let mut build = KernelBuilder::new();
    let mut arg = |kind, dtype| build.arg(dtype, kind);
    let structure = arg(ArgKind::Structure, DType::U32);
    let entries = arg(ArgKind::Entries, DType::F64);
    let x = arg(ArgKind::Gather, DType::F64);
    let matrix = arg(ArgKind::DenseRows, DType::F64);
    let [product, written] = [(); 2].map(|()| arg(ArgKind::Array, DType::F64));
    let results = [(); REDUCTIONS].map(|()| arg(ArgKind::Reduction, DType::F64));
    let sum = build.push(Inst::RowSum {
        structure,
        entries,
        x,
    });
    build.store(product, sum);
    for result in results {
        build.push(Inst::Reduce(ReduceOp::Sum, result, sum));
    }
    let op = ReduceOp::Sum;
    let of_rows = build.push(Inst::RowReduce {
        op,
        rows: matrix,
        x: None,
    });
    let both = build.push(Inst::Binary(BinaryOp::Add, sum, of_rows));
    build.store(written, both);
    let elements = |n: usize, salt| -> Vec<u64> {
        let elements = reals(n, salt).into_iter();
        elements.map(f64::to_bits).collect()
    };
    // One entry a row: that of the row.
    let crd: Vec<u32> = (0..rows as u32).collect();
    let crd: Vec<u64> = crd
        .chunks(2)
        .map(|pair| u64::from(pair[0]) | u64::from(*pair.get(1).unwrap_or(&0)) << 32)
        .collect();
    let mut memory = vec![(0..=rows as u64).collect(), crd];
    memory.extend([rows, rows, rows * columns].map(|n| elements(n, n)));
    memory.extend([(); REDUCTIONS + 2].map(|()| vec![0; rows]));
    Program {
        what: format!("both sums of {rows} rows"),
        kernel: build.finish(),
        rows,
        tile_len: 16,
        memory,
        operands: Box::new(move |places| {
            let array = |place: *mut u8| Operand::Array {
                data: place,
                layout: Layout::contiguous(rows),
            };
            let mut operands = vec![
                Operand::Structure(Structure {
                    pos: places[0].cast(),
                    crd: places[1].cast(),
                    rows,
                    entries: rows,
                    singles: true,
                    below: 0,
                    above: 0,
                }),
                Operand::Entries { data: places[2] },
                Operand::Gather {
                    own: places[3],
                    own_len: rows,
                    ghosts: std::ptr::null(),
                    width: 1,
                },
                Operand::DenseRows {
                    data: places[4],
                    layout: Layout {
                        strides: [columns as isize, 0, 0, 0],
                        ..Layout::contiguous(rows)
                    },
                    columns,
                    column_stride: 1,
                },
                array(places[5 + REDUCTIONS]),
                array(places[6 + REDUCTIONS]),
            ];
            operands.extend((0..REDUCTIONS).map(|number| Operand::Reduction {
                partials: places[5 + number].cast(),
            }));
            operands
        }),
        written: DType::F64,
    }
}

#[test]
fn rows_of_two_matrices_are_summed_beside_many_reductions() {
    if let Some(device) = emulated() {
        check_all(&device, &[both_sums_of_rows(100)]);
    }
}

/// The position of an extremum of the elements, whose tiles are joined in two steps.
fn position(op: ReduceOp, elements: &[f64]) -> Program {
    let (n, tile_len) = (elements.len(), 16);
    let mut build = KernelBuilder::new();
    let x = build.arg(DType::F64, ArgKind::Array);
    let found = build.arg(DType::I64, ArgKind::Reduction);
    let value = build.load(x);
    build.push(Inst::Reduce(op, found, value));
    Program {
        what: op.name().to_owned(),
        kernel: build.finish(),
        rows: n,
        tile_len,
        memory: vec![elements.iter().map(|x| x.to_bits()).collect(), vec![7]],
        operands: Box::new(move |places| {
            vec![
                Operand::Array {
                    data: places[0],
                    layout: Layout::contiguous(n),
                },
                Operand::Reduction {
                    partials: places[1].cast(),
                },
            ]
        }),
        written: DType::I64,
    }
}

#[test]
fn positions_of_extrema_come_first_among_equals() {
    let Some(device) = emulated() else {
        return;
    };
    let n = 40_000;
    let plain: Vec<f64> = (0..n).map(|i| (random(i) % 1000) as f64).collect();
    let mut with_nan = plain.clone();
    (with_nan[31_007], with_nan[39_001]) = (f64::NAN, f64::NAN);
    let first = |elements: &[f64], extremum: f64| {
        let is_it = |&x: &f64| x == extremum || x.is_nan() && extremum.is_nan();
        elements.iter().position(is_it).unwrap() as u64
    };
    for (op, elements, extremum) in [
        (ReduceOp::ArgMin, &plain, 0.0),
        (ReduceOp::ArgMax, &plain, 999.0),
        (ReduceOp::ArgMin, &with_nan, f64::NAN),
        (ReduceOp::ArgMax, &with_nan, f64::NAN),
    ] {
        let program = position(op, elements);
        let loop_ = program.compiled(&device);
        let found = program.by_device(&loop_, &device);
        assert_eq!(
            found,
            [first(elements, extremum)],
            "{} {extremum}",
            op.name()
        );
    }
}
