//! How long gathers and scatters by index arrays take, of 10 million elements: indices in order,
//! near their place, anywhere, and below 1000.
//!
//! `cargo bench -p sparsefuse-dense --bench gathers -- 1` for one thread. Milliseconds, the
//! shortest of seven rounds; `benches/results/gathers.md` has NumPy's beside them.

use sparsefuse_dense::{Array, Error, Vector};
use sparsefuse_runtime::{Config, Runtime};
use std::time::Instant;

const N: usize = 10_000_000;
/// Rows of 10 elements.
const ROWS: usize = 1_000_000;

fn main() -> Result<(), Error> {
    let threads = std::env::args().find_map(|arg| arg.parse().ok());
    let threads = threads.unwrap_or_else(|| Config::default().threads);
    let runtime = Runtime::new(Config {
        threads,
        ..Config::default()
    })?;
    println!("{threads} threads, ms");
    runtime.enter(run)
}

fn run() -> Result<(), Error> {
    let x = Vector::<f64>::try_random_uniform([N], 1)?;
    let anywhere = (Vector::<f64>::try_random_uniform([N], 2)? * N as f64).cast::<i64>();
    let (order, below) = (Vector::<i64>::try_arange(N)?, &anywhere % 1000);
    let near = (&order + &below).minimum(N as i64 - 1);
    for (name, at) in [
        ("in order", &order),
        ("near", &near),
        ("anywhere", &anywhere),
        ("below 1000", &below),
    ] {
        time(&format!("take, {name}"), || x.try_take(at))?;
    }
    for (name, at) in [("near", &near), ("anywhere", &anywhere)] {
        time(&format!("add_at, {name}"), || {
            let mut sums = x.clone();
            sums.try_add_at(at, &x)?;
            Ok(sums)
        })?;
    }
    time("bincount, below 1000", || below.try_bincount(1000))?;
    time("bincount with weights", || {
        below.try_bincount_weighted(&x, 1000)
    })?;
    time("cumsum", || x.try_cumsum_axis(0))?;
    let a = Array::<f64, 2>::try_random_uniform([ROWS, 10], 3)?;
    let rows = (anywhere.slice(..ROWS) % ROWS as i64).contiguous()?;
    time("take_axis, rows of 10", || a.try_take_axis(0, &rows))?;
    time("add_at_axis, rows of 10", || {
        let mut sums = a.clone();
        sums.try_add_at_axis(0, &rows, &a)?;
        Ok(sums)
    })?;
    time("argmax_axis, of 10", || a.try_argmax_axis(1))
}

/// Prints how long it takes to make something.
fn time<R>(name: &str, make: impl Fn() -> Result<R, Error>) -> Result<(), Error> {
    let runtime = Runtime::current();
    runtime.flush();
    let mut shortest = f64::INFINITY;
    for _ in 0..7 {
        let begin = Instant::now();
        let made = make()?;
        runtime.flush();
        shortest = shortest.min(begin.elapsed().as_secs_f64());
        drop(made);
    }
    println!("{name:26} {:8.2}", shortest * 1e3);
    Ok(())
}
