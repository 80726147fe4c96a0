//! Differential equations in time, for `benches/python/ode.py`, which solves the same by SciPy.
//!
//! `ode NAME N THREADS` solves one problem on a grid of N by N points, once before it is timed, and
//! prints the seconds of the second time, the steps, the evaluations, and the largest element.

use sparsefuse_dense::Vector;
use sparsefuse_runtime::{Config, Error, Runtime};
use sparsefuse_solvers::ode::{IvpOptions, Jacobian, Scheme, Trajectory, solve_ivp};
use sparsefuse_sparse::{Csr, gallery};
use std::f64::consts::PI;
use std::process::ExitCode;
use std::time::Instant;

/// The Laplacian of the unit square, 0 at its boundary.
fn laplacian(n: usize) -> Result<Csr<f64>, Error> {
    gallery::poisson2d::<f64>(n)?.try_scale(-((n + 1) as f64).powi(2))
}

/// x (1 - x) y (1 - y) exp(x).
fn bump(n: usize) -> Vector<f64> {
    Vector::from_fn([n * n], |[i]| {
        let [x, y] = [i / n, i % n].map(|k| (k + 1) as f64 / (n + 1) as f64);
        x * (1.0 - x) * y * (1.0 - y) * x.exp()
    })
}

/// Heat, as many units of the grid's own time as make some hundred explicit steps.
fn explicit(n: usize) -> Result<Trajectory<f64, 1>, Error> {
    let a = laplacian(n)?;
    let end = 60.0 / ((n + 1) as f64).powi(2);
    let options = IvpOptions {
        rtol: 1e-4,
        ..IvpOptions::default()
    };
    solve_ivp(|_, y| a.try_matvec(y), (0.0, end), &bump(n), options)
}

/// Heat up to the time 0.1 by implicit steps.
fn implicit(n: usize) -> Result<Trajectory<f64, 1>, Error> {
    let a = laplacian(n)?;
    let options = IvpOptions {
        scheme: Scheme::Bdf,
        rtol: 1e-4,
        jacobian: Jacobian::Constant(&a),
        ..IvpOptions::default()
    };
    solve_ivp(|_, y| a.try_matvec(y), (0.0, 0.1), &bump(n), options)
}

/// A reaction whose rate depends on the heat that it makes, with its Jacobian.
fn reaction(n: usize) -> Result<Trajectory<f64, 1>, Error> {
    let a = laplacian(n)?;
    let identity = Csr::identity(n * n)?;
    let slope = |_: f64, y: &Vector<f64>| Ok(&a * y + (y * 4.0).exp());
    let mut jacobian = |_: f64, y: &Vector<f64>| {
        let of_rate = identity.with_values((y * 4.0).exp() * 4.0)?;
        Ok(&a + &of_rate)
    };
    let options = IvpOptions {
        scheme: Scheme::Bdf,
        rtol: 1e-4,
        jacobian: Jacobian::Function(&mut jacobian),
        ..IvpOptions::default()
    };
    solve_ivp(slope, (0.0, 0.5), &bump(n), options)
}

/// A wave, places and speeds one after the other.
fn wave(n: usize) -> Result<Trajectory<f64, 1>, Error> {
    let (a, m) = (laplacian(n)?, n * n);
    let slope = |_: f64, y: &Vector<f64>| {
        let force = a.try_matvec(&y.slice(..m))?;
        Vector::try_concatenate(0, &[&y.slice(m..), &force])
    };
    let begin = Vector::concatenate(0, &[&bump(n), &Vector::zeros([m])]);
    let options = IvpOptions {
        scheme: Scheme::Dop853,
        rtol: 1e-6,
        atol: 1e-9,
        ..IvpOptions::default()
    };
    solve_ivp(slope, (0.0, 20.0 * PI / n as f64), &begin, options)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, n, threads] = &words[..] else {
        // Cargo's own calls of a bench, as by `cargo test --benches`.
        println!("NAME N THREADS, as benches/python/ode.py gives them");
        return ExitCode::SUCCESS;
    };
    let run = || -> Result<(), Box<dyn std::error::Error>> {
        let solve = match &name[..] {
            "explicit" => explicit,
            "implicit" => implicit,
            "reaction" => reaction,
            "wave" => wave,
            _ => return Err(format!("no problem is called {name}").into()),
        };
        let n = n.parse()?;
        let config = Config {
            threads: threads.parse()?,
            ..Config::default()
        };
        Runtime::new(config)?.enter(|| {
            solve(n)?.y.max().get()?;
            let begin = Instant::now();
            let solved = solve(n)?;
            let largest = solved.y.max().get()?;
            let seconds = begin.elapsed().as_secs_f64();
            println!(
                "{seconds} {} {} {largest:e}",
                solved.steps, solved.evaluations
            );
            Ok(())
        })
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ode: {error}");
            ExitCode::FAILURE
        }
    }
}
