//! How long reductions along an axis take, and products with a tall matrix and its transpose, of
//! ten million `f64`.
//!
//! `cargo bench -p sparsefuse-dense --bench reductions [-- NAME]`: milliseconds on 1 and 2 threads,
//! the shortest of 25 rounds that take turns; `benches/results/reductions.md` has figures.

use sparsefuse_dense::{Array, Error, Vector};
use sparsefuse_runtime::{Config, Runtime};
use std::any::Any;
use std::time::Instant;

const ROUNDS: usize = 25;
/// Matrices of ten million elements: rows and columns.
const SHAPES: [[usize; 2]; 3] = [[200_000, 50], [3_000, 3_333], [1_000_000, 10]];

fn main() -> Result<(), Error> {
    let mut args = std::env::args().skip(1);
    let wanted = args.find(|arg| !arg.starts_with('-')).unwrap_or_default();
    let runtimes = [runtime(1)?, runtime(2)?];
    println!("{:36} {:>9} {:>9} {:>6}", "ms", "1 thread", "2", "gain");
    for shape in SHAPES {
        let matrices: Result<Vec<Matrix>, Error> = runtimes
            .iter()
            .map(|runtime| runtime.enter(|| Matrix::new(shape)))
            .collect();
        let matrices = matrices?;
        for (name, work) in WORKS {
            let name = format!("{name}, {} x {}", shape[0], shape[1]);
            if !name.contains(&wanted) {
                continue;
            }
            let mut times = [const { Vec::new() }; 2];
            for _ in 0..ROUNDS {
                for ((runtime, matrix), times) in runtimes.iter().zip(&matrices).zip(&mut times) {
                    times.push(runtime.enter(|| time(matrix, work))?);
                }
            }
            let [one, two] = times.map(|times| times.into_iter().fold(f64::INFINITY, f64::min));
            println!("{name:36} {one:9.2} {two:9.2} {:6.2}", one / two);
        }
    }
    Ok(())
}

fn runtime(threads: usize) -> Result<Runtime, Error> {
    Runtime::new(Config {
        threads,
        ..Config::default()
    })
}

/// A matrix, whether its elements are above 0.01, and what it is multiplied with.
struct Matrix {
    x: Array<f64, 2>,
    above: Array<bool, 2>,
    right: Vector<f64>,
    left: Vector<f64>,
}

impl Matrix {
    fn new(shape: [usize; 2]) -> Result<Self, Error> {
        let x = Array::try_random_uniform(shape, 1)?;
        Ok(Self {
            above: x.try_greater(0.01)?,
            right: Vector::try_random_uniform([shape[1]], 2)?,
            left: Vector::try_random_uniform([shape[0]], 3)?,
            x,
        })
    }
}

type Work = fn(&Matrix) -> Result<Box<dyn Any>, Error>;

/// A result that is dropped after it is computed: what has no handle is not computed.
fn kept<R: 'static>(made: R) -> Box<dyn Any> {
    Box::new(made)
}

const WORKS: [(&str, Work); 16] = [
    ("sum_axis(0)", |m| m.x.try_sum_axis(0).map(kept)),
    ("min_axis(0)", |m| m.x.try_min_axis(0).map(kept)),
    ("max_axis(0)", |m| m.x.try_max_axis(0).map(kept)),
    ("prod_axis(0)", |m| m.x.try_prod_axis(0).map(kept)),
    ("any_axis(0)", |m| m.above.try_any_axis(0).map(kept)),
    ("all_axis(0)", |m| m.above.try_all_axis(0).map(kept)),
    ("argmax_axis(0)", |m| m.x.try_argmax_axis(0).map(kept)),
    ("sum_axis(1)", |m| m.x.try_sum_axis(1).map(kept)),
    ("min_axis(1)", |m| m.x.try_min_axis(1).map(kept)),
    ("max_axis(1)", |m| m.x.try_max_axis(1).map(kept)),
    ("prod_axis(1)", |m| m.x.try_prod_axis(1).map(kept)),
    ("any_axis(1)", |m| m.above.try_any_axis(1).map(kept)),
    ("all_axis(1)", |m| m.above.try_all_axis(1).map(kept)),
    ("argmax_axis(1)", |m| m.x.try_argmax_axis(1).map(kept)),
    ("X r", |m| m.x.try_matvec(&m.right).map(kept)),
    ("X^T r", |m| m.x.t().try_matvec(&m.left).map(kept)),
];

/// Milliseconds.
fn time(matrix: &Matrix, work: Work) -> Result<f64, Error> {
    let runtime = Runtime::current();
    runtime.flush();
    let begin = Instant::now();
    let made = work(matrix)?;
    runtime.flush();
    let taken = begin.elapsed().as_secs_f64() * 1e3;
    drop(made);
    Ok(taken)
}
