//! Products with the adjoint without making it, beside products with the matrix.
//!
//! `cargo bench -p sparsefuse-sparse --bench adjoint -- 1` for one thread. Milliseconds, the
//! shortest of fifteen rounds.

use sparsefuse_dense::Vector;
use sparsefuse_runtime::{Config, Runtime};
use sparsefuse_sparse::{Csr, Error, gallery};
use std::time::Instant;

fn main() -> Result<(), Error> {
    let threads = std::env::args().find_map(|arg| arg.parse().ok());
    let threads = threads.unwrap_or_else(|| Config::default().threads);
    let runtime = Runtime::new(Config {
        threads,
        ..Config::default()
    })?;
    println!("{threads} threads, ms: setup, A^H x, A x, ratio");
    runtime.enter(|| {
        compare("poisson2d:2048", &gallery::poisson2d(2048)?)?;
        compare("diffusion2d:2048", &gallery::diffusion2d(2048)?)?;
        compare("poisson3d:128", &gallery::poisson3d(128)?)?;
        compare("rmat:20,16", &gallery::rmat(20, 16, 1)?)
    })
}

fn compare(name: &str, a: &Csr<f64>) -> Result<(), Error> {
    let x = Vector::random_uniform([a.n_rows()], 1);
    let setup = shortest(1, || a.try_rmatvec(&x))?;
    let adjoint = shortest(15, || a.try_rmatvec(&x))?;
    // The first ones find the packed form.
    shortest(4, || a.try_matvec(&x))?;
    let product = shortest(15, || a.try_matvec(&x))?;
    let ratio = product / adjoint;
    println!("{name:20} {setup:8.1} {adjoint:8.2} {product:8.2} {ratio:6.2}");
    Ok(())
}

/// The shortest of some rounds, in milliseconds.
fn shortest(rounds: usize, make: impl Fn() -> Result<Vector<f64>, Error>) -> Result<f64, Error> {
    let runtime = Runtime::current();
    runtime.flush();
    let mut shortest = f64::INFINITY;
    for _ in 0..rounds {
        let begin = Instant::now();
        let made = make()?;
        runtime.flush();
        shortest = shortest.min(begin.elapsed().as_secs_f64());
        drop(made);
    }
    Ok(shortest * 1e3)
}
