//! Random programs on whole numbers, whose results are exact, against the same program on
//! `ndarray`: views, shared handles, slices written in place, flushes anywhere.

use ndarray::{Array1, Array2, ArrayView2, Axis, Zip, s};
use proptest::prelude::*;
use sparsefuse_dense::{Array, step};
use sparsefuse_runtime::{Config, run_ranks};
use sparsefuse_testing::small;

/// Rows and columns of each of the program's arrays.
const N: usize = 7;
const N_ARRAYS: usize = 4;

type Plain = Array2<i64>;

/// A step of a program; numbers name its arrays, the first of them is what the step assigns to.
#[derive(Clone, Debug)]
enum Step {
    Binary(usize, usize, usize, u8),
    Transpose(usize, usize),
    Clone(usize, usize),
    AddRow(usize, usize, usize, usize),
    AddProduct(usize, usize, usize, usize),
    Scale(usize, usize, usize),
    SumOuter(usize, usize, usize),
    Select(usize, usize, usize),
    AssignNumber(usize, Part, i64),
    AssignPart(usize, Part, usize, Part),
    AssignRow(usize, Part, usize, usize),
    Flush,
}

/// A slice with three rows and two columns.
#[derive(Clone, Copy, Debug)]
struct Part {
    row: usize,
    column: usize,
    row_step: isize,
    column_step: isize,
}

impl Part {
    fn rows(self) -> std::ops::Range<usize> {
        self.row..self.row + 2 * self.row_step.unsigned_abs() + 1
    }

    fn columns(self) -> std::ops::Range<usize> {
        self.column..self.column + self.column_step.unsigned_abs() + 1
    }

    fn of(self, a: &Array<i64, 2>) -> Array<i64, 2> {
        a.slice(self.slices())
    }

    fn slices(self) -> impl sparsefuse_dense::Slices<2> {
        let rows = step(self.rows(), self.row_step);
        (rows, step(self.columns(), self.column_step))
    }

    fn info(self) -> ndarray::SliceInfo<[ndarray::SliceInfoElem; 2], ndarray::Ix2, ndarray::Ix2> {
        let (rows, columns) = (self.rows(), self.columns());
        s![rows;self.row_step, columns;self.column_step]
    }
}

fn programs() -> impl Strategy<Value = Vec<Step>> {
    let a = || 0..N_ARRAYS;
    let i = || 0..N;
    let steps = || prop_oneof![Just(1isize), Just(-1), Just(2), Just(-2)];
    let part = || {
        (0..3usize, 0..5usize, steps(), steps()).prop_map(|(row, column, row_step, column_step)| {
            Part {
                row,
                column,
                row_step,
                column_step,
            }
        })
    };
    let step = prop_oneof![
        3 => (a(), a(), a(), 0..3u8).prop_map(|(t, x, y, op)| Step::Binary(t, x, y, op)),
        1 => (a(), a()).prop_map(|(t, x)| Step::Transpose(t, x)),
        2 => (a(), a()).prop_map(|(t, x)| Step::Clone(t, x)),
        1 => (a(), a(), a(), i()).prop_map(|(t, x, y, row)| Step::AddRow(t, x, y, row)),
        1 => (a(), a(), a(), i()).prop_map(|(t, x, y, column)| Step::AddProduct(t, x, y, column)),
        1 => (a(), a(), a()).prop_map(|(t, x, y)| Step::Scale(t, x, y)),
        1 => (a(), a(), 0..2usize).prop_map(|(t, x, axis)| Step::SumOuter(t, x, axis)),
        1 => (a(), a(), a()).prop_map(|(t, x, y)| Step::Select(t, x, y)),
        2 => (a(), part(), -9..9i64).prop_map(|(t, p, number)| Step::AssignNumber(t, p, number)),
        3 => (a(), part(), a(), part()).prop_map(|(t, p, x, q)| Step::AssignPart(t, p, x, q)),
        1 => (a(), part(), a(), i()).prop_map(|(t, p, x, row)| Step::AssignRow(t, p, x, row)),
        1 => Just(Step::Flush),
    ];
    prop::collection::vec(step, 1..24)
}

fn start() -> [Plain; N_ARRAYS] {
    std::array::from_fn(|k| {
        Plain::from_shape_fn([N, N], |(i, j)| ((i * 5 + j * 3 + k) % 17) as i64)
    })
}

/// The program on arrays of this library.
fn run(program: &[Step]) -> Vec<Plain> {
    let mut arrays = start().map(Array::from);
    for step in program {
        match *step {
            Step::Binary(t, x, y, op) => {
                let (x, y) = (&arrays[x], &arrays[y]);
                arrays[t] = match op {
                    0 => x + y,
                    1 => x - y,
                    _ => x * y,
                };
            }
            Step::Transpose(t, x) => arrays[t] = arrays[x].t(),
            Step::Clone(t, x) => arrays[t] = arrays[x].clone(),
            Step::AddRow(t, x, y, row) => {
                arrays[t] = &arrays[x] + arrays[y].row(row).insert_axis(0);
            }
            Step::AddProduct(t, x, y, column) => {
                let product = arrays[x].matvec(&arrays[y].column(column));
                arrays[t] = &arrays[x] + product.insert_axis(1);
            }
            Step::Scale(t, x, y) => arrays[t] = &arrays[x] * (arrays[y].sum() % 7),
            Step::SumOuter(t, x, axis) => {
                let sum = arrays[x].sum_axis(axis);
                arrays[t] = sum.outer(&arrays[x].row(0));
            }
            Step::Select(t, x, y) => {
                let mask = arrays[x].less(&arrays[y]);
                arrays[t] = mask.select(&arrays[x], 3);
            }
            Step::AssignNumber(t, part, number) => {
                arrays[t].assign_slice(part.slices(), number);
            }
            Step::AssignPart(t, part, x, of) => {
                let value = of.of(&arrays[x]);
                arrays[t].assign_slice(part.slices(), value);
            }
            Step::AssignRow(t, part, x, row) => {
                let value = arrays[x].row(row).slice(2..4).insert_axis(0);
                arrays[t].assign_slice(part.slices(), value);
            }
            Step::Flush => arrays[0].runtime().flush(),
        }
    }
    let read = arrays.iter().map(Array::<_, 2>::to_ndarray);
    read.collect::<Result<_, _>>()
        .expect("the program is valid")
}

/// The same program on `ndarray`.
fn run_plain(program: &[Step]) -> Vec<Plain> {
    let mut arrays = start();
    let zip = |x: &Plain, y: &Plain, f: fn(i64, i64) -> i64| {
        Zip::from(x).and(y).map_collect(|&x, &y| f(x, y))
    };
    let wide = |x: ArrayView2<i64>| Plain::zeros([N, N]) + x;
    let sum = |x: &mut dyn Iterator<Item = i64>| x.fold(0, i64::wrapping_add);
    for step in program {
        match *step {
            Step::Binary(t, x, y, op) => {
                let ops = [i64::wrapping_add, i64::wrapping_sub, i64::wrapping_mul];
                arrays[t] = zip(&arrays[x], &arrays[y], ops[op as usize]);
            }
            Step::Transpose(t, x) => arrays[t] = arrays[x].t().to_owned(),
            Step::Clone(t, x) => arrays[t] = arrays[x].clone(),
            Step::AddRow(t, x, y, row) => {
                let row = wide(arrays[y].slice(s![row..=row, ..]));
                arrays[t] = zip(&arrays[x], &row, i64::wrapping_add);
            }
            Step::AddProduct(t, x, y, column) => {
                let factor = arrays[y].column(column);
                let product = arrays[x].map_axis(Axis(1), |row| {
                    sum(&mut row.iter().zip(factor).map(|(a, b)| a.wrapping_mul(*b)))
                });
                let product = wide(product.view().insert_axis(Axis(1)));
                arrays[t] = zip(&arrays[x], &product, i64::wrapping_add);
            }
            Step::Scale(t, x, y) => {
                let factor = sum(&mut arrays[y].iter().copied()).rem_euclid(7);
                arrays[t] = arrays[x].mapv(|x| x.wrapping_mul(factor));
            }
            Step::SumOuter(t, x, axis) => {
                let sums: Array1<i64> =
                    arrays[x].map_axis(Axis(axis), |lane| sum(&mut lane.iter().copied()));
                let row = arrays[x].row(0).to_owned();
                arrays[t] = Plain::from_shape_fn([N, N], |(i, j)| sums[i].wrapping_mul(row[j]));
            }
            Step::Select(t, x, y) => {
                arrays[t] = zip(&arrays[x], &arrays[y], |x, y| if x < y { x } else { 3 });
            }
            Step::AssignNumber(t, part, number) => {
                arrays[t].slice_mut(part.info()).fill(number);
            }
            Step::AssignPart(t, part, x, of) => {
                let value = arrays[x].slice(of.info()).to_owned();
                arrays[t].slice_mut(part.info()).assign(&value);
            }
            Step::AssignRow(t, part, x, row) => {
                let value = arrays[x].slice(s![row..=row, 2..4]).to_owned();
                arrays[t].slice_mut(part.info()).assign(&value);
            }
            Step::Flush => {}
        }
    }
    arrays.to_vec()
}

proptest! {
    #[test]
    fn random_programs(
        program in programs(),
        ranks in 1..=4usize,
        tile_len in prop_oneof![Just(1), Just(2), Just(4), Just(16)],
        fusion in any::<bool>(),
        window in 1..40usize,
    ) {
        let config = Config { tile_len, fusion, window, ..small() };
        let expected = run_plain(&program);
        for found in run_ranks(ranks, &config, |_| run(&program)).expect("every rank succeeds") {
            prop_assert_eq!(&found, &expected);
        }
    }
}

/// Two views of one array that need the same box of it on one rank, but not on the other.
#[test]
fn ranks_agree_on_what_is_one_fetch() {
    let part = |row, column, row_step| Part {
        row,
        column,
        row_step,
        column_step: 1,
    };
    let program = [
        Step::AssignPart(0, part(0, 0, 2), 2, part(1, 2, -2)),
        Step::AssignRow(1, part(0, 0, 2), 2, 1),
    ];
    let config = Config {
        tile_len: 1,
        ..small()
    };
    for found in run_ranks(2, &config, |_| run(&program)).expect("every rank succeeds") {
        assert_eq!(found, run_plain(&program));
    }
}
