//! Incomplete factorisations and SSOR: setup, the first application, and one of many.
//!
//! `cargo bench -p sparsefuse-solvers --bench incomplete -- MATRIX [THREADS [ROUNDS [METHOD]]]`: a
//! matrix is `poisson2d:N`, `poisson3d:N` or a Matrix Market file; one thread and seven rounds
//! without more. Microseconds: the first round, which also pays for its memory, and the median. The
//! last column is a hash of the bits of the solution.

use sparsefuse_dense::Vector;
use sparsefuse_runtime::{Config, Runtime};
use sparsefuse_solvers::preconditioners::{Ic0, Ilu0, Iluk, Sor, SorOptions};
use sparsefuse_solvers::{Error, LinearOperator};
use sparsefuse_sparse::{Csr, gallery};
use std::time::Instant;

/// A preconditioner of a matrix.
type Make = fn(&Csr<f64>) -> Result<Box<dyn LinearOperator<f64>>, Error>;

const METHODS: [(&str, Make); 4] = [
    ("ilu0", |a| Ok(Box::new(Ilu0::new(a)?))),
    ("ilu1", |a| Ok(Box::new(Iluk::new(a, 1)?))),
    ("ic0", |a| Ok(Box::new(Ic0::new(a)?))),
    ("ssor", |a| {
        Ok(Box::new(Sor::new(a, SorOptions::default())?))
    }),
];

/// Applications of each round.
const APPLICATIONS: usize = 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let matrix = arguments
        .next()
        .unwrap_or_else(|| "poisson3d:64".to_owned());
    let threads = arguments.next().map_or(Ok(1), |arg| arg.parse())?;
    let rounds = arguments.next().map_or(Ok(7), |arg| arg.parse())?;
    let only = arguments.next();
    let runtime = Runtime::new(Config {
        threads,
        ..Config::default()
    })?;
    runtime.enter(|| {
        let a = read(&matrix)?;
        for (name, make) in METHODS {
            if only.as_ref().is_none_or(|only| only == name)
                && let Err(error) = measure(name, make, &a, rounds)
            {
                println!("{name:5} {error}");
            }
        }
        Ok(())
    })
}

fn read(matrix: &str) -> Result<Csr<f64>, Box<dyn std::error::Error>> {
    Ok(match matrix.split_once(':') {
        Some(("poisson2d", n)) => gallery::poisson2d(n.parse()?)?,
        Some(("poisson3d", n)) => gallery::poisson3d(n.parse()?)?,
        _ => Csr::read(matrix)?,
    })
}

fn measure(name: &str, make: Make, a: &Csr<f64>, rounds: usize) -> Result<(), Error> {
    let n = a.n_rows();
    let x = Vector::from_vec((0..n).map(|row| 1.0 + (row % 7) as f64 / 8.0).collect());
    let runtime = Runtime::current();
    runtime.flush();
    let (mut setups, mut firsts, mut applications) = (Vec::new(), Vec::new(), Vec::new());
    let mut hash = 0;
    for _ in 0..rounds {
        let (time, m) = timed(|| make(a))?;
        setups.push(time);
        let apply = || {
            let z = m.apply(&x)?;
            runtime.flush();
            Ok(z)
        };
        let (time, z) = timed(apply)?;
        firsts.push(time);
        drop(z);
        for _ in 0..APPLICATIONS {
            applications.push(timed(apply)?.0);
        }
        let bits = m.apply(&x)?.to_vec()?;
        hash = bits.iter().fold(0u64, |hash, z| {
            (hash ^ z.to_bits())
                .wrapping_mul(0x0100_0000_01b3)
                .rotate_left(29)
        });
    }
    let (first_setup, first_application) = (setups[0], firsts[0]);
    let [setup, first, application] =
        [&mut setups, &mut firsts, &mut applications].map(|times| median(times));
    println!(
        "{name:5} setup {first_setup:9.1} {setup:9.1}  first application {first_application:8.1} \
         {first:8.1}  application {application:8.2}  {hash:016x}"
    );
    Ok(())
}

fn timed<R>(work: impl FnOnce() -> Result<R, Error>) -> Result<(f64, R), Error> {
    let begin = Instant::now();
    let made = work()?;
    Ok((begin.elapsed().as_secs_f64() * 1e6, made))
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
