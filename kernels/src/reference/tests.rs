//! Small cases computed by hand.

use super::*;
use crate::launch::Layout;
use crate::text::parse;
use crate::verify::verify;

/// Runs a kernel, after verifying it, over one domain of `len` rows from `start`.
fn check(text: &str, (start, len): (u64, u64), tile_len: usize, operands: &[Operand]) {
    let kernel = parse(text).unwrap();
    verify(&kernel).unwrap();
    let launch = Launch {
        domains: &[Extent {
            start,
            len,
            tiles: Tiles::of_vector(tile_len),
        }],
        operands,
        params: &[],
        tile_len,
    };
    // SAFETY: the kernel is verified, and each test below binds arrays of the sizes it needs.
    unsafe { run(&kernel, &launch) };
}

fn array<T>(data: &mut [T]) -> Operand {
    Operand::Array {
        layout: Layout::contiguous(data.len()),
        data: data.as_mut_ptr().cast(),
    }
}

fn scalar<T>(data: &mut T) -> Operand {
    Operand::Scalar {
        data: std::ptr::from_mut(data).cast(),
    }
}

fn partial(x: f64, index: u64) -> Partial {
    Partial {
        bits: x.to_value().bits(),
        index,
    }
}

#[test]
fn uniform_instructions_run_once_before_the_rows() {
    let (mut s, mut x, mut y) = (2.0, [1.0, 2.0, 3.0], [0.0; 3]);
    let text = "kernel(a0: scalar f64 @0, a1: array f64 @1, a2: array f64 @2) {
        loop d0 {
            %0 = load_scalar a0 %1 = load a1 %2 = mul %0 %1 store a2 %2
            %4 = add %0 %0 store_scalar a0 %4 %6 = load_scalar a0
            %7 = index %8 = cast f64 %7 %9 = add %6 %8 store a1 %9
        }
    }";
    let operands = [scalar(&mut s), array(&mut x), array(&mut y)];
    check(text, (10, 3), 1, &operands);
    assert_eq!((s, x, y), (4.0, [14.0, 15.0, 16.0], [2.0, 4.0, 6.0]));
}

#[test]
fn loops_run_in_sequence() {
    let (mut x, mut y) = ([1.0, 2.0], [0.0; 2]);
    let text = "kernel(a0: array f64 @0, a1: gather f64 @0, a2: structure u32 @2,
                       a3: entries f64 @3, a4: array f64 @4) {
        loop d0 { %0 = load a0 %1 = neg %0 store a0 %1 }
        loop d0 { %0 = row_sum a2 a3 a1 store a4 %0 }
    }";
    let x_data = x.as_mut_ptr();
    let operands = [
        Operand::Array {
            data: x_data.cast(),
            layout: Layout::contiguous(2),
        },
        Operand::Gather {
            own: x_data.cast_const().cast(),
            own_len: 2,
            ghosts: std::ptr::null(),
            width: 1,
        },
        Operand::Structure(Structure {
            singles: false,
            pos: [0, 1, 2].as_ptr(),
            crd: [1, 0].as_ptr(),
            rows: 2,
            entries: 2,
            below: usize::MAX,
            above: usize::MAX,
        }),
        Operand::Entries {
            data: [10.0, 100.0].as_ptr().cast(),
        },
        array(&mut y),
    ];
    check(text, (0, 2), 1, &operands);
    assert_eq!(y, [-20.0, -100.0]);
}

#[test]
fn layouts_lead_to_the_elements() {
    let mut x = [0, 1, 2, 3, 4, 5];
    let mut y = [0; 6];
    let text = "kernel(a0: array i32 @0, a1: array i32 @1, a2: array i32 @2) {
        loop d0 { %0 = load a0 %1 = load a1 %2 = add %0 %1 store a2 %2 }
    }";
    let transposed = Layout {
        rank: 2,
        dims: [2, 3, 1, 1],
        strides: [1, 2, 0, 0],
    };
    let broadcast = Layout {
        strides: [100, 0, 0, 0],
        ..transposed
    };
    let mut hundreds = [0; 101];
    hundreds[100] = 100;
    let reversed = Layout {
        strides: [-1, 0, 0, 0],
        ..Layout::contiguous(6)
    };
    let with = |data: *mut i32, layout| Operand::Array {
        data: data.cast(),
        layout,
    };
    let operands = [
        with(x.as_mut_ptr(), transposed),
        with(hundreds.as_mut_ptr(), broadcast),
        with(y.as_mut_ptr().wrapping_add(5), reversed),
    ];
    check(text, (0, 6), 1, &operands);
    assert_eq!(y, [105, 103, 101, 4, 2, 0]);
}

/// `a * b` is 1 - 2^-60: 1 after rounding, and not 1 within a fused multiply-add.
const A: f64 = 1.0 + 1.0 / (1u64 << 30) as f64;
const B: f64 = 1.0 - 1.0 / (1u64 << 30) as f64;

#[test]
fn row_sum_fuses_in_the_order_of_storage_and_reads_ghosts() {
    let (own, ghosts) = ([1.0, 5.0], [B, 7.0]);
    let (pos, crd) = ([4, 6, 6, 8], [0, 2, 3, 1]);
    let entries = [-1.0, A, 2.0, 3.0];
    let mut y = [9.0; 3];
    let text = "kernel(a0: structure u32 @0, a1: entries f64 @1, a2: gather f64 @2,
                       a3: array f64 @3) {
        loop d0 { %0 = row_sum a0 a1 a2 store a3 %0 }
    }";
    let operands = [
        Operand::Structure(Structure {
            singles: false,
            pos: pos.as_ptr(),
            crd: crd.as_ptr(),
            rows: 3,
            entries: 4,
            below: usize::MAX,
            above: usize::MAX,
        }),
        Operand::Entries {
            data: entries.as_ptr().cast(),
        },
        Operand::Gather {
            own: own.as_ptr().cast(),
            own_len: 2,
            ghosts: ghosts.as_ptr().cast(),
            width: 1,
        },
        array(&mut y),
    ];
    check(text, (0, 3), 1, &operands);
    assert_eq!(y, [-(1.0 / (1u64 << 60) as f64), 0.0, 29.0]);
}

#[test]
fn row_reduce_rounds_products_and_takes_the_order_of_tiles() {
    // Two rows, stored by columns.
    let matrix = [-1.0, 1e16, A, 1.0, 0.0, -1e16];
    let x = [1.0, B, 1.0];
    let (mut sums, mut products, mut largest) = ([9.0; 2], [9.0; 2], [9.0; 2]);
    let text = "kernel(a0: dense_rows f64 @0, a1: gather f64 @1, a2: array f64 @2,
                       a3: array f64 @3, a4: array f64 @4) {
        loop d0 {
            %0 = row_reduce sum a0 store a2 %0
            %2 = row_reduce sum a0 a1 store a3 %2
            %4 = row_reduce max a0 store a4 %4
        }
    }";
    let mut run = |columns: usize, tile_len: usize| {
        let operands = [
            Operand::DenseRows {
                data: matrix.as_ptr().cast(),
                layout: Layout::contiguous(2),
                columns,
                column_stride: 2,
            },
            Operand::Gather {
                own: x.as_ptr().cast(),
                own_len: 3,
                ghosts: std::ptr::null(),
                width: 1,
            },
            array(&mut sums),
            array(&mut products),
            array(&mut largest),
        ];
        check(text, (0, 2), tile_len, &operands);
        (sums, products, largest)
    };
    // Within one tile lane 0 meets lane 2 before lane 1.
    let (sums, products, largest) = run(3, 16);
    assert_eq!(sums, [A - 1.0, 1.0]);
    assert_eq!(products, [0.0, B]);
    assert_eq!(largest, [A, 1e16]);
    // With tiles of one element, neighbours meet first.
    assert_eq!(run(3, 1).0, [A - 1.0, 0.0]);
    assert_eq!(run(0, 16).0, [0.0; 2]);
    assert_eq!(run(0, 16).2, [f64::NEG_INFINITY; 2]);
}

const REDUCE: &str = "kernel(a0: array f64 @0, a1: reduction f64 @1, a2: reduction i64 @2) {
    loop d0 { %0 = load a0 reduce sum a1 %0 reduce argmax a2 %0 }
}";

fn reduce_rows(x: &mut [f64], start: u64, tile_len: usize) -> [[Partial; 2]; 2] {
    let mut slots = [[partial(7.0, 7); 2]; 2];
    let [sums, positions] = &mut slots;
    let len = x.len() as u64;
    let operands = [
        array(x),
        Operand::Reduction {
            partials: sums.as_mut_ptr(),
        },
        Operand::Reduction {
            partials: positions.as_mut_ptr(),
        },
    ];
    check(REDUCE, (start, len), tile_len, &operands);
    slots
}

#[test]
fn reductions_fill_one_partial_for_each_tile() {
    // Rows 3, 4, 5 are lanes 3, 4, 5: their sum is 4 + (5 + 3).
    let [sums, positions] = reduce_rows(&mut [1e16, 1.0, -1e16, 2.0, 3.0], 3, 3);
    assert_eq!(sums, [partial(1.0, 0), partial(5.0, 0)]);
    assert_eq!(positions, [partial(1e16, 3), partial(3.0, 7)]);
}

#[test]
fn rows_of_one_lane_add_up_in_order() {
    let mut x = [0.0; 33];
    (x[0], x[16], x[32], x[1]) = (1e16, 1.0, -1e16, 0.25);
    let [sums, positions] = reduce_rows(&mut x, 64, 64);
    assert_eq!(sums, [partial(0.25, 0), partial(7.0, 7)]);
    assert_eq!(positions, [partial(1e16, 64), partial(7.0, 7)]);
}

#[test]
fn an_empty_domain_runs_uniform_instructions_alone() {
    let untouched = [partial(7.0, 7); 2];
    assert_eq!(reduce_rows(&mut [], 0, 16), [untouched, untouched]);
    let mut s = 3u64;
    let text = "kernel(a0: scalar u64 @0, a1: array u64 @1) {
        loop d0 {
            %0 = load_scalar a0 %1 = const i64 5 %2 = random bits %0 %1
            store_scalar a0 %2 store a1 %2
        }
    }";
    check(text, (0, 0), 16, &[scalar(&mut s), array::<u64>(&mut [])]);
    assert_eq!(s, random::bits(3, 5));
}
