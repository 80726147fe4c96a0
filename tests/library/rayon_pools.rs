//! Programs with rayon threads of their own, each of which solves or assembles with the same
//! runtime or with one of its own.

use rayon::prelude::*;
use sparsefuse::prelude::*;
use sparsefuse::solvers::preconditioners::{AdditiveSchwarz, SchwarzOptions};
use sparsefuse::solvers::{Options, gmres_with};
use sparsefuse::sparse::gallery;
use sparsefuse_testing::small;

fn pool() -> rayon::ThreadPool {
    let threads = rayon::ThreadPoolBuilder::new().num_threads(2);
    threads.build().unwrap()
}

fn runtime() -> Runtime {
    let config = Config {
        threads: 3,
        parallel_threshold: 0,
        native: None,
        ..small()
    };
    Runtime::new(config).unwrap()
}

/// A window that a job executes calls functions on the job's own thread, which must not take up
/// another job meanwhile.
#[test]
fn solves_with_blocks_on_threads() {
    let made = runtime().enter(|| {
        let a = gallery::poisson2d::<f64>(24)?;
        let options = SchwarzOptions {
            blocks: Some(6),
            ..SchwarzOptions::default()
        };
        let schwarz = AdditiveSchwarz::new(&a, options)?;
        let b = Vector::<f64>::random_uniform([24 * 24], 3);
        Ok::<_, Error>((a, schwarz, b))
    });
    let (a, schwarz, b) = made.unwrap();
    let solve = |number: usize| {
        let options = Options {
            preconditioner: Some(&schwarz),
            ..Options::default()
        };
        let solution = gmres_with(&a, &(&b * (1 + number) as f64), options).unwrap();
        solution.x.to_vec().unwrap()
    };
    let alone: Vec<_> = (0..12).map(solve).collect();
    let beside: Vec<_> = pool().install(|| (0..12).into_par_iter().map(solve).collect());
    assert!(alone == beside);
}

/// While a job waits for the threads of its runtime, that is the current one of its thread alone.
#[test]
fn matrices_of_several_runtimes() {
    let runtimes = [runtime(), runtime()];
    let square = |number: usize| {
        let own = &runtimes[number % 2];
        own.enter(|| {
            let a = gallery::poisson2d::<f64>(20 + number).unwrap();
            let square = a.transpose().unwrap().matmul(&a);
            assert!(square.runtime().is(own) && Runtime::current().is(own));
            square.nnz()
        })
    };
    let alone: Vec<_> = (0..12).map(square).collect();
    let beside: Vec<_> = pool().install(|| (0..12).into_par_iter().map(square).collect());
    assert_eq!(alone, beside);
}
