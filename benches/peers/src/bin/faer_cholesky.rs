//! The Cholesky factorisation of faer on several threads, beside which `examples/block_cholesky` is
//! measured: the same matrix, in place. Prints the median seconds.
//!
//! `cargo run --release --bin faer_cholesky -- SIZE THREADS STEPS`

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::{MatMut, Par};
use std::process::ExitCode;
use std::time::Instant;

fn element(n: usize, i: usize, j: usize) -> f64 {
    let sum = (7 * i + 13 * j) % 101 + (13 * i + 7 * j) % 101;
    sum as f64 / 202.0 + if i == j { n as f64 } else { 0.0 }
}

/// The seconds of a factorisation, or why there is none.
fn factorise(a: &mut [f64], n: usize, par: Par) -> Result<f64, String> {
    let begin = Instant::now();
    let scratch = cholesky_in_place_scratch::<f64>(n, par, Default::default());
    let mut memory = MemBuffer::new(scratch);
    let stack = MemStack::new(&mut memory);
    let a = MatMut::from_column_major_slice_mut(a, n, n);
    let done = cholesky_in_place(a, Default::default(), par, stack, Default::default());
    done.map_err(|error| format!("{error:?}"))?;
    Ok(begin.elapsed().as_secs_f64())
}

fn run() -> Result<f64, String> {
    let given = std::env::args().skip(1).map(|number| number.parse());
    let given: Result<Vec<usize>, _> = given.collect();
    let given = given.map_err(|error| error.to_string())?;
    let [n, threads, steps] = given[..] else {
        return Err("expected SIZE THREADS STEPS".to_owned());
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build_global().map_err(|error| error.to_string())?;
    let par = match threads {
        1 => Par::Seq,
        _ => Par::rayon(threads),
    };
    let a: Vec<f64> = (0..n * n).map(|k| element(n, k / n, k % n)).collect();
    let seconds = (0..steps.max(1)).map(|_| factorise(&mut a.clone(), n, par));
    let mut seconds = seconds.collect::<Result<Vec<f64>, String>>()?;
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[seconds.len() / 2])
}

fn main() -> ExitCode {
    match run() {
        Ok(seconds) => {
            println!("{seconds}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("faer_cholesky: {error}");
            ExitCode::from(2)
        }
    }
}
