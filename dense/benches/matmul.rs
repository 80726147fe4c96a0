//! How fast products of square matrices are.
//!
//! `cargo bench -p sparsefuse-dense --bench matmul`: billions of floating-point operations a second
//! on 1 and 2 threads, the best of 7 rounds; `benches/results/matmul.md` has figures beside
//! OpenBLAS.

use sparsefuse_dense::{Array, Error, Field};
use sparsefuse_runtime::{Config, Runtime};
use std::time::Instant;

const ROUNDS: usize = 7;

fn main() -> Result<(), Error> {
    println!("{:20} {:>10} {:>10}", "GFlop/s", "1 thread", "2");
    for n in [100, 500, 1000, 1500, 2000] {
        row::<f64>("f64", n)?;
        row::<f32>("f32", n)?;
    }
    Ok(())
}

fn row<T: Field>(name: &str, n: usize) -> Result<(), Error> {
    let mut rates = [0.0; 2];
    for (threads, rate) in (1..).zip(&mut rates) {
        let config = Config {
            threads,
            ..Config::default()
        };
        *rate = Runtime::new(config)?.enter(|| best::<T>(n))?;
    }
    let name = format!("{name} {n}");
    println!("{name:20} {:10.1} {:10.1}", rates[0], rates[1]);
    Ok(())
}

fn best<T: Field>(n: usize) -> Result<f64, Error> {
    let a = Array::<T, 2>::random_uniform([n, n], 1);
    let b = Array::<T, 2>::random_uniform([n, n], 2);
    a.matmul(&b).local()?;
    let mut best = 0.0f64;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        a.matmul(&b).local()?;
        let seconds = begun.elapsed().as_secs_f64();
        best = best.max(2.0 * (n as f64).powi(3) / seconds / 1e9);
    }
    Ok(best)
}
