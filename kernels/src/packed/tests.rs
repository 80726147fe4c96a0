//! Products of packed matrices equal those of the plain form, to the bit, for every element type,
//! instruction set and cut into blocks.

#![expect(unsafe_code, reason = "runs programs on memory of the tests")]

use super::*;
use crate::blocks::{Part, Program, Settings};
use crate::element::Element;
use crate::ir::{ArgKind, Inst, KernelBuilder};
use crate::isa::Isa;
use crate::launch::{Extent, Launch, Layout, Operand, Packed, Structure};
use crate::ops::NumericOps;
use crate::random;
use crate::tiles::Tiles;
use crate::workers::Workers;
use num_complex::Complex;

/// A matrix in plain form, with local columns of which the last `ghosts` are not own.
struct Matrix {
    pos: Vec<u64>,
    crd: Vec<u32>,
    vals: Vec<f64>,
    columns: usize,
    ghosts: usize,
}

impl Matrix {
    /// From the columns and values of each row.
    fn new(columns: usize, ghosts: usize, rows: impl Iterator<Item = Vec<(usize, f64)>>) -> Self {
        let (mut pos, mut crd, mut vals) = (vec![0], Vec::new(), Vec::new());
        for row in rows {
            crd.extend(row.iter().map(|&(column, _)| column as u32));
            vals.extend(row.iter().map(|&(_, value)| value));
            pos.push(crd.len() as u64);
        }
        Self {
            pos,
            crd,
            vals,
            columns,
            ghosts,
        }
    }

    fn plain(&self) -> PlainRows<'_> {
        PlainRows {
            pos: &self.pos,
            crd: &self.crd,
            own_len: self.columns - self.ghosts,
        }
    }
}

fn uniform(seed: u64, index: usize) -> f64 {
    random::uniform(seed, index as u64)
}

/// The stencil of a grid with `value(row, column)` as entries.
fn grid(sides: [usize; 2], reach: usize, value: impl Fn(usize, usize) -> f64) -> Matrix {
    let [height, width] = sides;
    let n = height * width;
    let row = |row: usize| {
        let (i, j) = (row / width, row % width);
        let mut columns = Vec::new();
        for a in i.saturating_sub(1)..(i + 2).min(height) {
            for b in j.saturating_sub(reach)..(j + reach + 1).min(width) {
                columns.push((a * width + b, value(row, a * width + b)));
            }
        }
        columns
    };
    Matrix::new(n, 0, (0..n).map(row))
}

/// Rows of random length, some empty, some long, at random columns.
fn scattered(rows: usize, columns: usize, ghosts: usize, longest: usize, seed: u64) -> Matrix {
    let row = |row: usize| {
        let share = uniform(seed, row).powi(6);
        let len = (share * longest as f64) as usize;
        let column = |k: usize| (uniform(seed + 1, row * longest + k) * columns as f64) as usize;
        let mut chosen: Vec<usize> = (0..len).map(column).collect();
        chosen.sort_unstable();
        chosen.dedup();
        let value = |&column: &usize| (column, uniform(seed + 2, row * longest + column) - 0.5);
        chosen.iter().map(value).collect()
    };
    Matrix::new(columns, ghosts, (0..rows).map(row))
}

/// The element that stands for a number of a test.
trait Sample: NumericOps {
    fn sample(value: f64) -> Self;
}

impl Sample for f64 {
    fn sample(value: f64) -> Self {
        value
    }
}
impl Sample for f32 {
    fn sample(value: f64) -> Self {
        value as Self
    }
}
impl Sample for Complex<f64> {
    fn sample(value: f64) -> Self {
        Self::new(value, 1.0 - value)
    }
}
impl Sample for Complex<f32> {
    fn sample(value: f64) -> Self {
        Self::new(value as f32, value as f32 * 0.25)
    }
}

#[track_caller]
fn check<T: Sample>(matrix: &Matrix, expected_summary: impl Fn(&Summary) -> bool) {
    let workers = Workers::new(2).unwrap();
    let vals: Vec<T> = matrix.vals.iter().map(|&value| T::sample(value)).collect();
    let plain = matrix.plain();
    // SAFETY: these are the elements of a vector.
    let words = unsafe { Words::of(T::DTYPE, vals.as_ptr().cast(), vals.len()) }.unwrap();
    let structure = PackedStructure::plan(plain, &workers).unwrap();
    let mut columns = vec![0; structure.column_bytes()];
    structure.fill_columns(plain, &mut columns, &workers);
    let values = PackedValues::plan(&structure, plain, words, &workers).unwrap();
    let mut data = vec![0; values.bytes()];
    values.fill(&structure, plain, words, &mut data, &workers);
    let summary = values.summary(&structure);
    assert!(expected_summary(&summary), "{summary:?}");
    assert_eq!(summary.rows.iter().sum::<usize>(), plain.len());
    assert_eq!(summary.entries.iter().sum::<usize>(), matrix.crd.len());

    let mut unpacked = vec![0; matrix.crd.len()];
    structure.unpack(&matrix.pos, &columns, &mut unpacked, &workers);
    assert!(unpacked == matrix.crd, "columns are unpacked as they were");
    let size = size_of::<T>();
    let mut bytes = vec![0; vals.len() * size];
    values.unpack(&structure, &matrix.pos, &data, &mut bytes, &workers);
    for (bytes, value) in bytes.chunks_exact(size).zip(&vals) {
        let mut bits = [0; 16];
        bits[..size].copy_from_slice(bytes);
        let [low, high] = value.to_bits();
        let expected = match (T::DTYPE, size) {
            (DType::ComplexF32, _) => u128::from(low) | u128::from(high) << 32,
            _ => u128::from(low) | u128::from(high) << 64,
        };
        assert_eq!(
            u128::from_ne_bytes(bits),
            expected,
            "values are unpacked as they were"
        );
    }

    // A NaN reaches exactly the rows whose entries meet it.
    let x: Vec<T> = (0..matrix.columns)
        .map(|column| match column % 97 {
            13 => T::sample(f64::NAN),
            _ => T::sample(uniform(7, column) - 0.5),
        })
        .collect();
    let expected: Vec<T> = (0..plain.len())
        .map(|row| {
            plain.entries(row).fold(T::ZERO, |sum, k| {
                vals[k].mul_add(x[matrix.crd[k] as usize], sum)
            })
        })
        .collect();
    let own_len = matrix.columns - matrix.ghosts;
    let packed = Packed {
        structure: &raw const structure,
        values: &raw const values,
        columns: columns.as_ptr(),
        data: data.as_ptr(),
    };
    let program = product(T::DTYPE);
    for isa in Isa::available() {
        for block_len in [0, 1, 13, 256, 1000] {
            let mut y = vec![T::sample(9.0); plain.len()];
            let operands = [
                Operand::Structure(Structure {
                    singles: false,
                    pos: matrix.pos.as_ptr(),
                    crd: matrix.crd.as_ptr(),
                    rows: plain.len(),
                    entries: matrix.crd.len(),
                    below: usize::MAX,
                    above: usize::MAX,
                }),
                Operand::Packed(packed),
                Operand::Gather {
                    own: x.as_ptr().cast(),
                    own_len,
                    ghosts: if matrix.ghosts > 0 {
                        x[own_len..].as_ptr().cast()
                    } else {
                        std::ptr::null()
                    },
                    width: 1,
                },
                Operand::Array {
                    data: y.as_mut_ptr().cast(),
                    layout: Layout::contiguous(plain.len()),
                },
            ];
            let launch = Launch {
                domains: &[Extent {
                    start: 0,
                    len: plain.len() as u64,
                    tiles: Tiles::of_vector(1024),
                }],
                operands: &operands,
                params: &[],
                tile_len: 1024,
            };
            let settings = Settings {
                isa,
                block_len,
                parallel_threshold: 0,
                stream_threshold: if block_len == 0 { 0 } else { usize::MAX },
                ..Settings::default()
            };
            // SAFETY: the operands are vectors of this function that fit the matrix.
            unsafe { program.run(&launch, Part::All, &settings, &workers) };
            for (row, (found, expected)) in y.iter().zip(&expected).enumerate() {
                assert!(
                    same_bits(*found, *expected),
                    "row {row}: {found:?} is not {expected:?} ({isa}, blocks of {block_len})"
                );
            }
        }
    }
}

/// Equality of bits, but for the payloads of NaN.
fn same_bits<T: Element>(a: T, b: T) -> bool {
    let parts = |value: T| format!("{value:?}");
    a.to_bits() == b.to_bits() || (parts(a).contains("NaN") && parts(a) == parts(b))
}

fn product(dtype: DType) -> Program {
    let mut build = KernelBuilder::new();
    let structure = build.arg(DType::U32, ArgKind::Structure);
    let entries = build.arg(dtype, ArgKind::Entries);
    let x = build.arg(dtype, ArgKind::Gather);
    let y = build.arg(dtype, ArgKind::Array);
    let sum = build.push(Inst::RowSum {
        structure,
        entries,
        x,
    });
    build.store(y, sum);
    Program::compile(&build.finish())
}

fn check_all(matrix: &Matrix, expected: impl Fn(&Summary) -> bool) {
    check::<f64>(matrix, &expected);
    check::<f32>(matrix, &expected);
    check::<Complex<f64>>(matrix, &expected);
    check::<Complex<f32>>(matrix, &expected);
}

#[test]
fn a_grid_with_equal_rows_is_all_stencils() {
    for sides in [[1, 1], [3, 4], [40, 17], [9, 300], [300, 9]] {
        let matrix = grid(
            sides,
            1,
            |row, column| if row == column { 8.5 } else { -1.0 },
        );
        check_all(&matrix, |summary| {
            sides[1] < 10 || (summary.rows[1] == 0 && summary.rows[2] == 0)
        });
    }
}

/// Also where lines are as long as the distance of the rows that are looked at.
#[test]
fn rows_of_grids_go_on() {
    for sides in [[300, 300], [512, 512], [1024, 64], [64, 4096], [2048, 512]] {
        assert!(grid(sides, 1, |_, _| 1.0).plain().go_on(), "{sides:?}");
    }
    assert!(!scattered(5000, 5000, 0, 9, 1).plain().go_on());
}

#[test]
fn a_grid_with_other_values_is_diagonals() {
    let matrix = grid([37, 50], 1, |row, column| uniform(1, row * 7919 + column));
    check_all(&matrix, |summary| {
        summary.rows[2] == 0 && summary.rows[1] > 1700
    });
}

#[test]
fn equal_rows_among_others_are_stencils() {
    // Two materials, and rows in between that belong to neither.
    let value = |row: usize, column: usize| match (row / 25) % 3 {
        0 => 2.0,
        1 => -1.5,
        _ => uniform(1, row * 7919 + column),
    };
    let matrix = grid([41, 90], 2, value);
    check_all(&matrix, |summary| {
        summary.rows[0] > 1000 && summary.rows[1] > 500
    });
}

#[test]
fn few_values_become_a_dictionary() {
    let value = |row: usize, column: usize| ((row * 31 + column * 17) % 40) as f64;
    check_all(&grid([137, 150], 1, value), |summary| {
        summary.dictionary > 30
    });
    // Few enough for the L2 cache.
    check_all(&grid([37, 50], 1, value), |summary| summary.dictionary == 0);
    let matrix = scattered(25_000, 900, 0, 60, 3);
    let few = Matrix {
        vals: matrix
            .vals
            .iter()
            .map(|value| (value * 100.0).floor())
            .collect(),
        ..matrix
    };
    check_all(&few, |summary| {
        summary.dictionary > 60 && summary.rows[2] > 2000
    });
}

#[test]
fn other_rows_are_windows() {
    for (columns, longest) in [(100, 30), (3000, 50), (70_000, 400), (100_000, 20)] {
        let matrix = scattered(2500, columns, 0, longest, 11);
        check_all(&matrix, |summary| {
            summary.rows[2] > 1000 && summary.dictionary == 0
        });
    }
}

/// Rows of which up to nine neighbours have the columns of one row of `scattered`.
fn nodes(matrix: &Matrix, seed: u64) -> Matrix {
    let height = |node: usize| 1 + (uniform(seed, node) * 9.0) as usize;
    let row = |node: usize, of_node: usize| {
        let columns = matrix.plain().columns(node).iter();
        let value = |&column: &u32| uniform(seed + of_node as u64, node * 4001 + column as usize);
        columns
            .map(move |column| (*column as usize, value(column)))
            .collect()
    };
    let nodes = 0..matrix.pos.len() - 1;
    let rows = nodes.flat_map(|node| (0..height(node)).map(move |of_node| row(node, of_node)));
    Matrix::new(matrix.columns, matrix.ghosts, rows)
}

#[test]
fn rows_with_equal_columns_share_them() {
    for (columns, longest) in [(100, 30), (3000, 50), (70_000, 400)] {
        for ghosts in [0, columns / 3] {
            let of_nodes = scattered(600, columns, ghosts, longest, 17);
            let matrix = nodes(&of_nodes, 23);
            check_all(&matrix, |summary| {
                summary.rows[2] > 1000 && summary.in_nodes * 3 > summary.rows[2] * 2
            });
        }
    }
    // Blocks of a size that divides no window, whose values repeat.
    let blocks = scattered(9000, 2500, 0, 90, 29);
    for height in [2, 3, 5] {
        let rows = (0..9000 * height).map(|row| {
            let columns = blocks.plain().columns(row / height).iter();
            columns
                .map(|&column| (column as usize, ((row + column as usize) % 7) as f64))
                .collect()
        });
        let matrix = Matrix::new(2500, 0, rows);
        check_all(&matrix, |summary| {
            summary.dictionary == 7 && summary.in_nodes > 0
        });
    }
}

/// The transfer from a grid with `n` points a line and as many lines to one of every second point
/// of both, with a weight for each of up to nine points.
fn restriction(n: usize, weight: impl Fn(usize, usize) -> f64) -> Matrix {
    let coarse = n / 2;
    let row = |row: usize| {
        let (i, j) = (2 * (row / coarse) + 1, 2 * (row % coarse) + 1);
        let lines = i - 1..(i + 2).min(n);
        let points = lines.flat_map(|a| (j - 1..(j + 2).min(n)).map(move |b| a * n + b));
        points.map(|point| (point, weight(row, point))).collect()
    };
    Matrix::new(n * n, 0, (0..coarse * coarse).map(row))
}

/// The transpose.
fn interpolation(n: usize, weight: impl Fn(usize, usize) -> f64) -> Matrix {
    let coarse = restriction(n, |_, _| 0.0);
    let mut rows = vec![Vec::new(); n * n];
    for (row, ends) in coarse.pos.windows(2).enumerate() {
        for &point in &coarse.crd[ends[0] as usize..ends[1] as usize] {
            rows[point as usize].push((row, weight(point as usize, row)));
        }
    }
    Matrix::new((n / 2) * (n / 2), 0, rows.into_iter())
}

#[test]
fn transfers_between_grids_are_paced_runs() {
    let distance = |n: usize, coarse: usize, point: usize| {
        let (i, j) = (2 * (coarse / (n / 2)) + 1, 2 * (coarse % (n / 2)) + 1);
        (point / n).abs_diff(i) + (point % n).abs_diff(j)
    };
    for n in [33, 64, 95, 130] {
        let bilinear = |coarse, point| 0.25 / f64::from(1u32 << distance(n, coarse, point));
        let rows = (n / 2) * (n / 2);
        check_all(&restriction(n, bilinear), |summary| {
            summary.rows[3] > rows * 9 / 10 && summary.dictionary == 0
        });
        check_all(
            &interpolation(n, |point, coarse| bilinear(coarse, point)),
            |summary| summary.rows[3] > n * n * 9 / 10,
        );
        let injection = |coarse, point| f64::from(u8::from(distance(n, coarse, point) == 0));
        let mut every_second = restriction(n, injection);
        let mut crd = Vec::new();
        for row in 0..rows {
            let ends = every_second.pos[row] as usize..every_second.pos[row + 1] as usize;
            let own = ends.filter(|&k| every_second.vals[k] == 1.0);
            crd.extend(own.map(|k| every_second.crd[k]));
        }
        every_second.pos = (0..=rows as u64).collect();
        every_second.vals = vec![1.0; rows];
        every_second.crd = crd;
        check_all(&every_second, |summary| summary.rows[3] > rows * 9 / 10);
    }
}

#[test]
fn transfers_with_other_values_and_columns_that_end_early() {
    let n = 70;
    let any = |row: usize, column: usize| uniform(3, row * 7919 + column);
    check_all(&restriction(n, any), |summary| summary.rows[3] > 1000);
    check_all(&interpolation(n, any), |summary| summary.rows[3] > 4000);
    let mut ends_in_ghosts = restriction(n, any);
    ends_in_ghosts.ghosts = 3 * n + 7;
    check_all(&ends_in_ghosts, |summary| {
        summary.rows[3] > 1000 && summary.rows[2] > 30
    });
}

#[test]
fn ghosts_are_read_where_they_are() {
    check_all(&scattered(1500, 800, 300, 40, 5), |summary| {
        summary.rows[2] > 500
    });
    // Rows of a grid whose last columns are ghosts with neighbouring numbers.
    let mut matrix = grid(
        [30, 40],
        1,
        |row, column| if row == column { 8.0 } else { -1.0 },
    );
    matrix.ghosts = 40;
    check_all(&matrix, |summary| {
        summary.rows[0] > 1000 && summary.rows[2] >= 40
    });
}

#[test]
fn more_than_one_part() {
    let matrix = grid([PART / 100 + 50, 130], 0, |row, _| {
        1.0 + (row / 10_000) as f64
    });
    check::<f64>(&matrix, |summary| summary.rows[0] > PART);
    check::<f32>(&scattered(PART + 700, 5000, 0, 8, 9), |summary| {
        summary.rows[2] > 1000
    });
}

#[test]
fn nothing_and_empty_rows() {
    check_all(&Matrix::new(5, 0, std::iter::empty()), |summary| {
        summary.rows == [0; 4]
    });
    check_all(
        &Matrix::new(5, 0, (0..700).map(|_| Vec::new())),
        |summary| summary.rows[0] == 700,
    );
}

#[test]
fn other_values_need_no_other_structure() {
    let matrix = grid([20, 30], 1, |_, _| 1.0);
    let workers = Workers::new(1).unwrap();
    let structure = PackedStructure::plan(matrix.plain(), &workers).unwrap();
    let plan = |vals: &[u64]| {
        let values =
            PackedValues::plan(&structure, matrix.plain(), Words::Eight(vals), &workers).unwrap();
        values.summary(&structure).rows
    };
    let equal = vec![1; matrix.crd.len()];
    let different: Vec<u64> = (0..matrix.crd.len() as u64).collect();
    assert_eq!(plan(&equal), [600, 0, 0, 0]);
    assert!(plan(&different)[1] > 500);
}
