//! Real matrices: products and solves on every file of `shared/matrices` beside the checkout,
//! against `sprs` and `faer`. Under `mpiexec` (with `--test-threads=1`) they run on the ranks of
//! all processes, and are compared to one rank. Where the folder is missing, the tests say so and
//! pass.
//!
//! `docs/matrices.md` says what every solver does on every matrix; the test of the solves asserts
//! it. `cargo test --release --test library matrices::solves -- --nocapture` prints the rows of
//! that page.

use faer::sparse::{SparseRowMat, Triplet};
use num_complex::Complex;
use sparsefuse::dense::Field;
use sparsefuse::kernels::{Value, random};
use sparsefuse::prelude::*;
use sparsefuse::runtime::Processes;
use sparsefuse::sparse::matrix_market::Content;
use sparsefuse_testing::everywhere;
use sprs::{CsMat, TriMat};
use std::collections::BTreeMap;
use std::ops::Add;
use std::path::PathBuf;

/// What the manifest says of a matrix.
#[derive(Clone, Debug)]
struct Facts {
    name: String,
    path: PathBuf,
    shape: (usize, usize),
    n_entries: usize,
    is_definite: bool,
    is_complex: bool,
}

/// The real matrices; none, and a line that says so, where they are not there.
fn matrices() -> Vec<Facts> {
    let Some(folder) = sparsefuse_testing::matrices() else {
        return Vec::new();
    };
    let manifest = std::fs::read_to_string(folder.join("manifest.csv")).unwrap();
    let facts = manifest.lines().skip(1).map(|line| {
        // Only the last columns are quoted, and hold commas.
        let columns: Vec<&str> = line.split(',').collect();
        let number = |column: usize| columns[column].parse().unwrap();
        Facts {
            name: columns[0].to_owned(),
            path: folder.join(columns[1]),
            shape: (number(6), number(7)),
            n_entries: number(8),
            is_definite: columns[12] == "SPD/HPD",
            is_complex: columns[13] == "complex",
        }
    });
    facts.collect()
}

/// An element type of ours, and the way to the one in which the oracles compute.
trait Number: Field + Add<Output = Self> {
    fn wide(self) -> Complex<f64> {
        let (re, im) = self.parts();
        Complex::new(re, im)
    }
}

impl Number for f64 {}
impl Number for Complex<f64> {}

fn read<T: Number>(facts: &Facts) -> Triplets<T> {
    match matrix_market::read(&facts.path).unwrap().1 {
        Content::Sparse(triplets) => triplets,
        Content::Dense { .. } => panic!("{} is sparse", facts.name),
    }
}

fn pseudo_random<T: Number>(n: usize, seed: u64) -> Vec<T> {
    let part = |k: usize| 2.0 * random::uniform(seed, k as u64) - 1.0;
    (0..n)
        .map(|i| T::from_parts(part(2 * i), part(2 * i + 1)))
        .collect()
}

/// The matrix as `sprs` holds it.
fn in_sprs<T: Number>(triplets: &Triplets<T>) -> CsMat<Complex<f64>> {
    let mut all = TriMat::new((triplets.n_rows(), triplets.n_cols()));
    for (row, col, value) in triplets.iter() {
        all.add_triplet(row as usize, col as usize, value.wide());
    }
    all.to_csr()
}

fn sprs_product(a: &CsMat<Complex<f64>>, x: &[Complex<f64>]) -> Vec<Complex<f64>> {
    let mut y = vec![Complex::ZERO; a.rows()];
    sprs::prod::mul_acc_mat_vec_csr(a.view(), x, &mut y[..]);
    y
}

fn faer_product<T: Number>(triplets: &Triplets<T>, x: &[Complex<f64>]) -> Vec<Complex<f64>> {
    let entry = |(row, col, value): (u32, u32, T)| Triplet {
        row: row as usize,
        col: col as usize,
        val: value.wide(),
    };
    let entries: Vec<_> = triplets.iter().map(entry).collect();
    let (n_rows, n_cols) = (triplets.n_rows(), triplets.n_cols());
    let a = SparseRowMat::try_new_from_triplets(n_rows, n_cols, &entries).unwrap();
    let mut y = faer::Mat::zeros(n_rows, 1);
    faer::sparse::linalg::matmul::sparse_dense_matmul(
        y.as_mut(),
        faer::Accum::Replace,
        a.as_ref(),
        faer::MatRef::from_column_major_slice(x, n_cols, 1),
        Complex::ONE,
        faer::Par::Seq,
    );
    y.col(0).iter().copied().collect()
}

/// Products that agree up to rounding: within 1e-13 of the sum of |a| |x| of each row.
#[track_caller]
fn check_near(
    what: &str,
    (a, x): (&CsMat<Complex<f64>>, &[Complex<f64>]),
    found: &[Complex<f64>],
    expected: &[Complex<f64>],
) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (row, entries) in a.outer_iterator().enumerate() {
        let scale: f64 = entries
            .iter()
            .map(|(col, value)| (value * x[col]).norm())
            .sum();
        let distance = (found[row] - expected[row]).norm();
        assert!(
            distance <= 1e-13 * scale,
            "{what}, row {row}: {distance} of {scale}"
        );
    }
}

/// A program with products, with the transpose too, among elementwise work and reductions.
#[derive(Debug, PartialEq)]
struct Products<T> {
    y: Vec<T>,
    z: Vec<T>,
    bits: Vec<Value>,
}

fn products<T: Number>(triplets: &Triplets<T>) -> Result<Products<T>, Error> {
    let a = Csr::from_triplets(triplets)?;
    let x = Vector::from_vec(pseudo_random::<T>(a.n_cols(), 1));
    let w = Vector::from_vec(pseudo_random::<T>(a.n_rows(), 2));
    let y = &a * &x;
    let d = w.dot(&(&y + &w));
    let z = &a.transpose()? * &w;
    let (y, z) = (y.to_vec()?, z.to_vec()?);
    let all = y.iter().chain(&z).map(|value| value.to_value());
    let bits = all.chain([d.get()?.to_value()]).collect();
    Ok(Products { y, z, bits })
}

fn check_products<T: Number>(facts: &Facts) {
    let triplets = read::<T>(facts);
    assert_eq!((triplets.n_rows(), triplets.n_cols()), facts.shape);
    let a = in_sprs(&triplets);
    assert_eq!(a.nnz(), facts.n_entries, "{}", facts.name);

    let first = everywhere(|| products(&triplets));
    if Processes::join().unwrap().number() == 0 {
        check_near_oracles(facts, &triplets, &a, &first);
    }
}

/// Products against those of `sprs` and `faer`.
fn check_near_oracles<T: Number>(
    facts: &Facts,
    triplets: &Triplets<T>,
    a: &CsMat<Complex<f64>>,
    first: &Products<T>,
) {
    let wide = |values: &[T]| values.iter().map(|value| value.wide()).collect::<Vec<_>>();
    let (x, w): (Vec<T>, Vec<T>) = (pseudo_random(a.cols(), 1), pseudo_random(a.rows(), 2));
    let (x, w) = (wide(&x), wide(&w));
    let (y, z) = (wide(&first.y), wide(&first.z));
    check_near(&facts.name, (a, &x), &y, &sprs_product(a, &x));
    check_near(&facts.name, (a, &x), &y, &faer_product(triplets, &x));
    let transposed = a.transpose_view().to_csr();
    let expected = sprs_product(&transposed, &w);
    check_near(&facts.name, (&transposed, &w), &z, &expected);
}

#[test]
fn products_of_real_numbers() {
    for facts in matrices().iter().filter(|facts| !facts.is_complex) {
        check_products::<f64>(facts);
    }
}

#[test]
fn products_of_complex_numbers() {
    // Real matrices count as complex ones, the largest apart: it takes long and shows no more.
    for facts in matrices().iter().filter(|facts| facts.n_entries < 200_000) {
        check_products::<Complex<f64>>(facts);
    }
}

/// What a solver did.
#[derive(Debug)]
struct Outcome {
    reason: StopReason,
    iterations: usize,
    /// ‖b - A x‖ / ‖b‖, computed by `sprs`.
    residual: f64,
}

const RTOL: f64 = 1e-8;

/// The limit of iterations: what a test has time for.
fn max_iter(facts: &Facts) -> usize {
    if facts.n_entries < 200_000 { 2000 } else { 200 }
}

fn solve<T: Number>(facts: &Facts, with: &str) -> Outcome {
    let triplets = read::<T>(facts);
    let solve = |_: &Runtime| {
        let a = Csr::from_triplets(&triplets)?;
        let b = &a * &Vector::ones([a.n_cols()]);
        let jacobi = Jacobi::new(&a)?;
        let options = Options {
            rtol: RTOL,
            max_iter: Some(max_iter(facts)),
            preconditioner: Some(&jacobi),
            ..Options::default()
        };
        let solution = match with {
            "cg" => cg_with(&a, &b, options)?,
            "bicgstab" => bicgstab_with(&a, &b, options)?,
            _ => cgs_with(&a, &b, options)?,
        };
        Ok((solution.x.to_vec()?, b.to_vec()?, solution))
    };
    let processes = Processes::join().unwrap();
    let solved = processes.run_ranks(1, &Config::default(), solve);
    let result: Result<_, Error> = solved.unwrap().remove(0);
    let (x, b, solution) = result.unwrap();

    let a = in_sprs(&triplets);
    let wide = |values: &[T]| values.iter().map(|value| value.wide()).collect::<Vec<_>>();
    let norm = |x: &[Complex<f64>]| x.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt();
    let b = wide(&b);
    let product = sprs_product(&a, &wide(&x));
    let difference: Vec<_> = b.iter().zip(&product).map(|(b, y)| b - y).collect();
    let residual = norm(&difference) / norm(&b);
    let claimed = solution.relative_residual();
    let is_same = (claimed - residual).abs() <= 1e-3 * residual + 1e-13;
    assert!(
        is_same || !residual.is_finite(),
        "{} {with}: claims a residual of {claimed:e}, has {residual:e}",
        facts.name
    );
    Outcome {
        reason: solution.reason,
        iterations: solution.iterations,
        residual,
    }
}

/// The outcomes of the page, by matrix and solver.
fn expected() -> BTreeMap<(&'static str, &'static str), (&'static str, usize)> {
    let rows = include_str!("../../docs/matrices.md")
        .lines()
        .filter(|line| line.starts_with("| `"));
    let row = |line: &'static str| {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let (matrix, solver) = (cells[1].trim_matches('`'), cells[2].trim_matches('`'));
        ((matrix, solver), (cells[3], cells[4].parse().unwrap()))
    };
    rows.map(row).collect()
}

#[test]
fn solves() {
    let expected = expected();
    let mut wrong = Vec::new();
    for facts in &matrices() {
        if facts.shape.0 != facts.shape.1 {
            continue;
        }
        let solvers = ["cg", "bicgstab", "cgs"];
        let solvers = solvers.iter().skip(usize::from(!facts.is_definite));
        for solver in solvers {
            let found = if facts.is_complex {
                solve::<Complex<f64>>(facts, solver)
            } else {
                solve::<f64>(facts, solver)
            };
            let Outcome {
                reason,
                iterations,
                residual,
            } = found;
            let name = &facts.name;
            println!("| `{name}` | `{solver}` | {reason} | {iterations} | {residual:.1e} |");
            assert!(iterations <= max_iter(facts));
            let is_solved = residual <= 1.001 * RTOL;
            assert_eq!(
                reason == StopReason::Converged,
                is_solved,
                "{name} {solver}"
            );
            let is_limit = reason == StopReason::IterationLimit;
            assert!(
                !is_limit || iterations == max_iter(facts),
                "{name} {solver}"
            );
            let close = |&(text, count): &(&str, usize)| {
                text == reason.to_string() && iterations.abs_diff(count) <= 2 + count / 10
            };
            if !expected.get(&(name.as_str(), *solver)).is_some_and(close) {
                wrong.push(format!("{name} {solver}: {reason} after {iterations}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "docs/matrices.md says otherwise: {wrong:#?}"
    );
}
