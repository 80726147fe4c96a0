//! Operations that programs with sparse matrices do every day, for
//! `benches/python/everyday_sparse.py`, which runs this and SciPy in turn on the same data, and
//! says how.
//!
//! Arguments: FOLDER THREADS. The folder has the arrays of matrices as files. Each line of standard
//! input is `REPETITIONS NAME`; the answer is the seconds of one repetition, those that its thread
//! had a processor (on Linux), and a fingerprint of what was made, or `none` if there is no such
//! operation.

use ndarray::Array2;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_runtime::{Config, Runtime};
use sparsefuse_sparse::{Csr, LocalRows, Triplets};
use std::error::Error;
use std::fs;
use std::io::{BufRead, stdin};
use std::path::Path;
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What is worked on.
struct Data {
    a: Csr<f64>,
    b: Csr<f64>,
    tridiagonal: Csr<f64>,
    two: Csr<f64>,
    triplets: Triplets<f64>,
    /// The rows of `a`, each backwards.
    backwards: LocalRows<f64>,
    factors: Vector<f64>,
    /// The five-point stencil of a grid with other values, and what sums its points three by three.
    grid: Csr<f64>,
    aggregates: Csr<f64>,
    /// The 4 by 4 matrices of the grid's elements.
    elements: Triplets<f64>,
    /// Every second index, and all of them in another order.
    half: Vec<usize>,
    mixed: Vec<usize>,
    /// For small matrices.
    dense: Option<Array2<f64>>,
}

/// What an operation makes.
enum Made {
    Matrix(Csr<f64>),
    Vector(Vector<f64>),
    Dense(Array<f64, 2>),
    Number(f64),
}

type Work = fn(&Data) -> Result<Made>;

const WORKS: [(&str, Work); 51] = [
    ("vstack", |d| matrix(Csr::vstack(&[&d.a, &d.b])?)),
    ("vstack, tridiagonal", |d| {
        matrix(Csr::vstack(&[&d.tridiagonal, &d.tridiagonal])?)
    }),
    ("hstack", |d| matrix(Csr::hstack(&[&d.a, &d.b])?)),
    ("block_diag", |d| matrix(Csr::block_diag(&[&d.a, &d.b])?)),
    ("block_array", |d| {
        let rows = [[Some(&d.a), Some(&d.b)], [Some(&d.b), None]];
        matrix(Csr::block_array(&rows)?)
    }),
    ("kron", |d| matrix(d.tridiagonal.kron(&d.two)?)),
    ("sum_axis(0)", |d| vector(d.a.try_sum_axis(0)?)),
    ("sum_axis(0), tridiagonal", |d| {
        vector(d.tridiagonal.try_sum_axis(0)?)
    }),
    ("sum_axis(1)", |d| vector(d.a.try_sum_axis(1)?)),
    ("sum_axis(1), tridiagonal", |d| {
        vector(d.tridiagonal.try_sum_axis(1)?)
    }),
    ("sum", |d| Ok(Made::Number(d.a.values().sum().get()?))),
    ("mean", |d| {
        let (n_rows, n_cols) = d.a.shape();
        let sum = d.a.values().sum().get()?;
        Ok(Made::Number(sum / n_rows as f64 / n_cols as f64))
    }),
    ("norm_frobenius", |d| {
        Ok(Made::Number(d.a.norm_frobenius().get()?))
    }),
    ("norm1", |d| Ok(Made::Number(d.a.norm1().get()?))),
    ("norm_inf", |d| Ok(Made::Number(d.a.norm_inf().get()?))),
    ("norm_max", |d| Ok(Made::Number(d.a.norm_max().get()?))),
    ("diagonal", |d| vector(d.a.diagonal(0)?)),
    ("diagonal, tridiagonal", |d| {
        vector(d.tridiagonal.diagonal(0)?)
    }),
    ("scale", |d| matrix(d.a.scale(1.5))),
    ("scale_rows", |d| matrix(d.a.scale_rows(&d.factors)?)),
    ("scale_columns", |d| matrix(d.a.scale_columns(&d.factors)?)),
    ("A B", |d| matrix(d.a.try_matmul(&d.b)?)),
    ("T T", |d| matrix(d.tridiagonal.try_matmul(&d.tridiagonal)?)),
    ("T A", |d| matrix(d.tridiagonal.try_matmul(&d.a)?)),
    ("A A", |d| matrix(d.a.try_matmul(&d.a)?)),
    ("grid grid", |d| matrix(d.grid.try_matmul(&d.grid)?)),
    ("galerkin", |d| {
        let restricted = d.aggregates.transpose()?.try_matmul(&d.grid)?;
        matrix(restricted.try_matmul(&d.aggregates)?)
    }),
    ("select_rows, half", |d| matrix(d.a.select_rows(&d.half)?)),
    ("select_rows, mixed", |d| matrix(d.a.select_rows(&d.mixed)?)),
    ("select_columns, half", |d| {
        matrix(d.a.select_columns(&d.half)?)
    }),
    ("select_columns, mixed", |d| {
        matrix(d.a.select_columns(&d.mixed)?)
    }),
    ("row_range", |d| {
        let n = d.a.n_rows();
        matrix(d.a.row_range(n / 4..n / 4 * 3)?)
    }),
    ("column_range", |d| {
        let n = d.a.n_cols();
        matrix(d.a.column_range(n / 4..n / 4 * 3)?)
    }),
    ("block", |d| {
        let n = d.a.n_rows();
        matrix(d.a.block(n / 4..n / 4 * 3, n / 4..n / 4 * 3)?)
    }),
    ("block, grid", |d| {
        let n = d.grid.n_rows();
        matrix(d.grid.block(n / 4..n / 4 * 3, n / 4..n / 4 * 3)?)
    }),
    ("grid + transpose", |d| {
        matrix(d.grid.try_add(&d.grid.transpose()?)?)
    }),
    ("A + B", |d| matrix(d.a.try_add(&d.b)?)),
    ("A - B", |d| matrix(d.a.try_sub(&d.b)?)),
    ("A + T", |d| matrix(d.a.try_add(&d.tridiagonal)?)),
    ("multiply", |d| matrix(d.a.multiply(&d.b)?)),
    ("triplets", |d| matrix(Csr::from_triplets(&d.triplets)?)),
    ("triplets, elements", |d| {
        matrix(Csr::from_triplets(&d.elements)?)
    }),
    ("transpose", |d| matrix(d.a.transpose()?)),
    ("to_coo", |d| {
        let coo = d.a.to_coo()?;
        coo.rows().local()?;
        Ok(Made::Number(coo.nnz() as f64))
    }),
    ("to_dense", |d| {
        d.dense.as_ref().ok_or("too large")?;
        Ok(Made::Dense(d.a.to_dense()?))
    }),
    ("from_dense", |d| {
        let dense = d.dense.as_ref().ok_or("too large")?;
        matrix(Csr::from_ndarray(dense.view())?)
    }),
    ("lower_triangle", |d| matrix(d.a.lower_triangle(0)?)),
    ("upper_triangle", |d| matrix(d.a.upper_triangle(0)?)),
    ("abs", |d| matrix(d.a.try_abs()?)),
    ("drop_small", |d| matrix(d.a.drop_small(0.25)?)),
    ("sort indices", |d| {
        let n = d.a.n_rows();
        let LocalRows { pos, crd, vals } = d.backwards.clone();
        matrix(Csr::new(n, n, pos, crd, vals)?)
    }),
];

fn matrix(matrix: Csr<f64>) -> Result<Made> {
    matrix.values().local()?;
    Ok(Made::Matrix(matrix))
}

fn vector(vector: Vector<f64>) -> Result<Made> {
    vector.local()?;
    Ok(Made::Vector(vector))
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().filter(|arg| arg != "--bench").collect();
    let [_, folder, threads] = &args[..] else {
        return Err("FOLDER THREADS, as benches/python/everyday_sparse.py gives them".into());
    };
    let config = Config {
        threads: threads.parse()?,
        ..Config::default()
    };
    Runtime::new(config)?.enter(|| answer(&read(Path::new(folder))?))
}

fn answer(data: &Data) -> Result<()> {
    for line in stdin().lock().lines() {
        let line = line?;
        let (repetitions, name) = line.split_once(' ').ok_or("REPETITIONS NAME")?;
        let repetitions: usize = repetitions.parse()?;
        let work = WORKS.iter().find(|(known, _)| *known == name);
        let Some((_, work)) = work else {
            println!("none");
            continue;
        };
        let (begun, before) = (Instant::now(), processor_seconds());
        for _ in 1..repetitions {
            drop(work(data)?);
        }
        let made = work(data)?;
        let seconds = begun.elapsed().as_secs_f64() / repetitions as f64;
        let processor = (processor_seconds() - before) / repetitions as f64;
        let print: Vec<String> = fingerprint(made)?.iter().map(f64::to_string).collect();
        println!("{seconds:e} {processor:e} {}", print.join(" "));
    }
    Ok(())
}

/// How long this thread has had a processor; NaN where the system does not say.
fn processor_seconds() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().map(str::parse::<f64>);
    nanoseconds
        .and_then(std::result::Result::ok)
        .unwrap_or(f64::NAN)
        * 1e-9
}

/// Shape, entries, and a weighted sum, which the weights of an element depend on its place.
fn fingerprint(made: Made) -> Result<Vec<f64>> {
    let weight = |index: usize| (index % 7 + 1) as f64;
    let numbers = match made {
        Made::Number(number) => vec![number],
        Made::Vector(vector) => {
            let all = vector.to_vec()?;
            let sum = all.iter().enumerate().map(|(k, x)| x * weight(k)).sum();
            vec![all.len() as f64, sum]
        }
        Made::Dense(array) => {
            let all = array.to_vec()?;
            let sum = all.iter().enumerate().map(|(k, x)| x * weight(k)).sum();
            vec![all.len() as f64, sum]
        }
        Made::Matrix(matrix) => {
            let rows = matrix.to_rows()?;
            let mut sum = 0.0;
            for row in 0..matrix.n_rows() {
                for k in rows.pos[row] as usize..rows.pos[row + 1] as usize {
                    sum += rows.vals[k] * weight(row) * weight(rows.crd[k] as usize / 3);
                }
            }
            let (n_rows, n_cols) = matrix.shape();
            vec![n_rows as f64, n_cols as f64, matrix.nnz() as f64, sum]
        }
    };
    Ok(numbers)
}

fn read(folder: &Path) -> Result<Data> {
    let bytes = |name: &str| fs::read(folder.join(name));
    let wide = |name: &str| -> Result<Vec<u64>> {
        let words = bytes(name)?;
        let words = words.chunks_exact(8).map(|word| word.try_into());
        let words: std::result::Result<Vec<[u8; 8]>, _> = words.collect();
        Ok(words?.into_iter().map(u64::from_le_bytes).collect())
    };
    let narrow = |name: &str| -> Result<Vec<u32>> {
        Ok(wide(name)?.into_iter().map(|word| word as u32).collect())
    };
    let reals = |name: &str| -> Result<Vec<f64>> {
        Ok(wide(name)?.into_iter().map(f64::from_bits).collect())
    };
    let rows = |name: &str| -> Result<LocalRows<f64>> {
        Ok(LocalRows {
            pos: wide(&format!("{name}.pos"))?,
            crd: narrow(&format!("{name}.crd"))?,
            vals: reals(&format!("{name}.vals"))?,
        })
    };
    let with_columns = |name: &str, n_cols: usize| -> Result<Csr<f64>> {
        let LocalRows { pos, crd, vals } = rows(name)?;
        // In memory of the library, as most matrices are, with its pages.
        Ok(Csr::new(pos.len() - 1, n_cols, pos, crd, vals)?.filter(|_, _, _| true)?)
    };
    let square = |name: &str| with_columns(name, rows(name)?.pos.len() - 1);
    let triplets = |name: &str, n: usize| -> Result<Triplets<f64>> {
        let [i, j] = ["rows", "cols"].map(|part| narrow(&format!("{name}.{part}")));
        let vals = reals(&format!("{name}.vals"))?;
        Ok(Triplets::from_parts(n, n, i?, j?, vals)?)
    };
    let a = square("a")?;
    let n = a.n_rows();
    let mut backwards = rows("a")?;
    for pair in backwards.pos.windows(2) {
        let entries = pair[0] as usize..pair[1] as usize;
        backwards.crd[entries.clone()].reverse();
        backwards.vals[entries].reverse();
    }
    let grid = square("grid")?;
    let side = grid.n_rows().isqrt();
    let mixed = wide("mixed")?.into_iter().map(|word| word as usize);
    Ok(Data {
        b: square("b")?,
        tridiagonal: square("tridiagonal")?,
        two: Csr::new(
            2,
            2,
            vec![0, 2, 4],
            vec![0, 1, 0, 1],
            vec![1.0, 2.0, 3.0, 4.0],
        )?,
        triplets: triplets("triplets", n)?,
        aggregates: with_columns("aggregates", side.div_ceil(3).pow(2))?,
        elements: triplets("elements", grid.n_rows())?,
        grid,
        backwards,
        factors: Vector::from_vec(reals("factors")?),
        half: (0..n).step_by(2).collect(),
        mixed: mixed.collect(),
        dense: (n <= 2000).then(|| a.to_ndarray()).transpose()?,
        a,
    })
}
