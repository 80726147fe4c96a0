//! The threads of a rank: one setting limits all of them, and those that do nothing sleep. Linux
//! tells which there are. One test, since tests beside it would have threads too.
#![cfg(target_os = "linux")]

use sparsefuse_dense::Vector;
use sparsefuse_runtime::{Config, Error, Runtime};
use sparsefuse_sparse::{Csr, Diagonal, Triangle, TriangularSolve, Triplets, gallery};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How many threads this process has.
fn count() -> usize {
    fs::read_dir("/proc/self/task").map_or(0, |tasks| tasks.count())
}

/// The most threads that there are at a time while `work` runs, besides this one and those that
/// there were before.
fn most_others<R>(work: impl FnOnce() -> R) -> (usize, R) {
    let (is_done, most) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                most.fetch_max(count(), Ordering::Relaxed);
                std::thread::yield_now();
            }
        });
        while most.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        let before = count();
        let made = work();
        is_done.store(true, Ordering::Relaxed);
        (most.load(Ordering::Relaxed).max(count()) - before, made)
    })
}

/// The time that threads for rows have had a core.
fn time_of_threads_for_rows() -> Duration {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    let of_task = |task: PathBuf| {
        let name = fs::read_to_string(task.join("comm")).ok()?;
        let times = fs::read_to_string(task.join("schedstat")).ok()?;
        let is_for_rows = name.starts_with("sparsefuse-rows");
        let nanoseconds = times.split_whitespace().next()?.parse().ok()?;
        is_for_rows.then(|| Duration::from_nanos(nanoseconds))
    };
    tasks
        .flatten()
        .filter_map(|task| of_task(task.path()))
        .sum()
}

/// Reads a file, sorts triplets, multiplies, transposes and solves.
fn work(path: &Path) -> Result<Vec<f64>, Error> {
    let read = Csr::<f64>::read(path)?;
    let mut triplets = Triplets::new(read.n_rows(), read.n_cols())?;
    for (row, column, value) in read
        .to_triplets()?
        .iter()
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
    {
        triplets.push(row as usize, column as usize, value)?;
    }
    let sorted = Csr::from_triplets(&triplets)?;
    let square = sorted.transpose()?.try_matmul(&read)?;
    let ones = Vector::try_ones([square.n_cols()])?;
    let lower = TriangularSolve::new(&square, Triangle::Lower, Diagonal::Stored)?;
    lower.solve(&square.try_matvec(&ones)?)?.to_vec()
}

#[test]
fn one_setting_limits_all_threads_and_idle_ones_sleep() -> Result<(), Error> {
    let name = format!("sparsefuse-threads-{}.mtx", std::process::id());
    let path = std::env::temp_dir().join(name);
    let config = |threads| Config {
        threads,
        native: None,
        ..Config::default()
    };
    Runtime::new(config(1))?.enter(|| {
        gallery::poisson2d::<f64>(150)?
            .write(&path)
            .map_err(Error::from)
    })?;
    let run = |threads| {
        let runtime = Runtime::new(config(threads))?;
        runtime.enter(|| work(&path))
    };
    let (others, alone) = most_others(|| run(1));
    assert_eq!(others, 0, "one thread works alone");
    let (others, three) = most_others(|| run(3));
    // This one waits while those for rows work, and those never do while those for kernels do.
    assert_eq!(others, 5, "two others for kernels, three for rows");
    assert_eq!(alone?, three?);
    fs::remove_file(&path).map_err(|_| Error::argument("test", "a file", "none"))?;

    // Threads of the program that share a runtime share its threads.
    let runtime = Runtime::new(config(2))?;
    let a = runtime.enter(|| gallery::poisson2d::<f64>(150))?;
    let transpose = || (0..4).try_for_each(|_| a.transpose().map(drop));
    let (others, transposed) = most_others(|| {
        std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(transpose));
            threads.map(|thread| thread.join().expect("no thread panics"))
        })
    });
    transposed.into_iter().collect::<Result<(), Error>>()?;
    assert!(others <= 4 + 2, "four of the program, two for rows");

    let runtime = Runtime::new(config(2))?;
    runtime.enter(|| {
        let a = gallery::poisson2d::<f64>(150)?;
        let square = a.transpose()?.try_matmul(&a)?;
        let mut x = Vector::<f64>::ones([square.n_cols()]);
        let mut multiply_for = |time| -> Result<Duration, Error> {
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_millis(time) {
                x = &square * &x * 1e-2;
                x.sum().get()?;
            }
            Ok(time_of_threads_for_rows())
        };
        let before = multiply_for(50)?;
        assert!(before > Duration::ZERO, "a thread for rows has worked");
        let spent = multiply_for(300)? - before;
        assert!(spent < Duration::from_millis(1), "{spent:?} beside kernels");
        Ok(())
    })
}
