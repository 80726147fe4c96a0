//! Tests of the array library: every program runs fused and not, on one to five ranks with tiles
//! of four elements, and must give the same bits everywhere.

mod elementwise;
mod errors;
mod fusion;
mod programs;
mod random;
mod reductions;
mod views;

use sparsefuse_dense::{Array, Element, Error, Scalar};
use sparsefuse_kernels::Value;
use sparsefuse_runtime::{Config, Executor, Runtime, run_ranks};
use std::fmt::Debug;

/// Settings under which a few elements are enough for several pieces.
fn small() -> Config {
    Config {
        tile_len: 4,
        cut_threshold: 1,
        ..Config::default()
    }
}

/// Runs a program in all ways that must not matter, and returns what it returned.
#[track_caller]
fn everywhere<R: PartialEq + Debug + Send>(program: impl Fn() -> Result<R, Error> + Sync) -> R {
    let reference = Config {
        executor: Executor::Reference,
        fusion: false,
        ..small()
    };
    let expected = run(1, &reference, &program).remove(0);
    for fusion in [true, false] {
        for ranks in [1, 2, 3, 5] {
            let config = Config { fusion, ..small() };
            for (rank, found) in run(ranks, &config, &program).into_iter().enumerate() {
                assert_eq!(found, expected, "rank {rank} of {ranks}, fusion {fusion}");
            }
        }
    }
    expected
}

#[track_caller]
fn run<R: Send>(
    ranks: usize,
    config: &Config,
    program: &(impl Fn() -> Result<R, Error> + Sync),
) -> Vec<R> {
    let program = |_: &Runtime| program().expect("the program succeeds");
    run_ranks(ranks, config, program).expect("every rank succeeds")
}

/// The elements, to be compared by their bits.
trait Bits {
    fn bits(&self) -> Result<Vec<Value>, Error>;
}

impl<T: Element, const D: usize> Bits for Array<T, D> {
    fn bits(&self) -> Result<Vec<Value>, Error> {
        Ok(values(&self.to_vec()?))
    }
}

impl<T: Element> Bits for Scalar<T> {
    fn bits(&self) -> Result<Vec<Value>, Error> {
        Ok(values(&[self.get()?]))
    }
}

fn values<T: Element>(elements: &[T]) -> Vec<Value> {
    elements.iter().map(|element| element.to_value()).collect()
}
