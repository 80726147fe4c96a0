//! How long sorts, searches, histograms, quantiles, scans, masks and products of narrow matrices
//! take.
//!
//! `cargo bench -p sparsefuse-dense --bench order [-- NAME] [--len N]`: milliseconds on 1 and 2
//! threads, the median of 5 rounds, of ten million elements or of N. `benches/python/order.py` runs
//! it and NumPy in turn; `benches/results/order.md` has figures.

use sparsefuse_dense::{Array, Element, Error, Vector};
use sparsefuse_runtime::{Config, Runtime};
use std::time::Instant;

const ROUNDS: usize = 5;

/// What is worked on.
struct Data {
    x: Vector<f64>,
    single: Vector<f32>,
    k: Vector<i64>,
    below: Vector<i64>,
    anywhere: Vector<i64>,
    table: Vector<f64>,
    /// Rows of 50, and as many rows as columns.
    tall: Array<f64, 2>,
    square: Array<f64, 2>,
    /// Rows of 4, and the first 4 of them.
    narrow: Array<f64, 2>,
    small: Array<f64, 2>,
}

type Work = fn(&Data) -> Result<(), Error>;

const WORKS: [(&str, Work); 36] = [
    ("sort, f64", |data| made(&data.x.sort())),
    ("sort, f32", |data| made(&data.single.sort())),
    ("sort, i64", |data| made(&data.k.sort())),
    ("argsort, f64", |data| made(&data.x.argsort())),
    ("searchsorted in 1000", |data| {
        made(&data.table.searchsorted(&data.x))
    }),
    ("is_in, i64", |data| made(&data.k.is_in(&data.anywhere))),
    ("is_in, f64 in 1000", |data| {
        made(&data.x.is_in(&data.table))
    }),
    ("X^T X, tall", |data| {
        made(&data.tall.t().matmul(&data.tall))
    }),
    ("X^T X, narrow", |data| {
        made(&data.narrow.t().matmul(&data.narrow))
    }),
    ("X S, narrow", |data| made(&data.narrow.matmul(&data.small))),
    ("S X^T, narrow", |data| {
        made(&data.small.matmul(&data.narrow.t()))
    }),
    ("x[x > 0.5]", |data| {
        made(&data.x.compress(&data.x.greater(0.5))?)
    }),
    ("x[x > 0.5], x[x < 0.1]", |data| {
        let high = data.x.compress_deferred(&data.x.greater(0.5))?;
        let low = data.x.compress_deferred(&data.x.less(0.1))?;
        made(&high.get()?)?;
        made(&low.get()?)
    }),
    ("unique, f64", |data| made(&data.x.unique()?)),
    ("unique, i64", |data| made(&data.k.unique()?)),
    ("flat_nonzero", |data| {
        made(&data.x.greater(0.5).flat_nonzero()?)
    }),
    ("histogram, 100 bins", |data| {
        made(&data.x.histogram(100, 0.0..1.0).0)
    }),
    ("bincount, 1000", |data| made(&data.below.bincount(1000))),
    ("bincount with weights", |data| {
        made(&data.below.bincount_weighted(&data.x, 1000))
    }),
    ("median", |data| data.x.median().get().map(|_| ())),
    ("quantile", |data| data.x.quantile(0.25).get().map(|_| ())),
    ("cumsum, f64", |data| made(&data.x.cumsum())),
    ("cumsum, i64", |data| made(&data.k.cumsum())),
    ("cumprod, f64", |data| made(&data.x.cumprod())),
    ("take, anywhere", |data| {
        made(&data.x.try_take(&data.anywhere)?)
    }),
    ("put, anywhere", |data| {
        let mut changed = data.x.clone();
        changed.try_put(&data.anywhere, &data.x)?;
        made(&changed)
    }),
    ("sum_axis(0), tall", |data| made(&data.tall.sum_axis(0))),
    ("sum_axis(1), tall", |data| made(&data.tall.sum_axis(1))),
    ("sum_axis(0), square", |data| made(&data.square.sum_axis(0))),
    ("sum_axis(1), square", |data| made(&data.square.sum_axis(1))),
    ("X^T r, tall", |data| {
        let column = data
            .tall
            .slice((.., 0..1))
            .try_reshape([data.tall.shape()[0]])?;
        made(&data.tall.t().try_matvec(&column)?)
    }),
    ("argmax_axis(0), square", |data| {
        made(&data.square.argmax_axis(0))
    }),
    ("argmax_axis(1), square", |data| {
        made(&data.square.argmax_axis(1))
    }),
    ("any", |data| data.x.greater(2.0).any().get().map(|_| ())),
    ("var", |data| data.x.var().get().map(|_| ())),
    ("atan", |data| made(&data.x.atan())),
];

fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let len = args.iter().position(|arg| arg == "--len");
    let len = len.and_then(|at| args.get(at + 1)?.parse().ok());
    let wanted = args.iter().take_while(|arg| *arg != "--len");
    let wanted = wanted.into_iter().find(|arg| !arg.starts_with('-'));
    let wanted = wanted.map_or("", |name| name);
    println!("{:24} {:>9} {:>9}", "ms", "1 thread", "2");
    for (name, work) in WORKS.into_iter().filter(|(name, _)| name.contains(wanted)) {
        let mut times = [0.0; 2];
        for (threads, time) in (1..).zip(&mut times) {
            let config = Config {
                threads,
                ..Config::default()
            };
            *time = Runtime::new(config)?.enter(|| median(len.unwrap_or(10_000_000), work))?;
        }
        println!("{name:24} {:9.4} {:9.4}", times[0], times[1]);
    }
    Ok(())
}

fn median(len: usize, work: Work) -> Result<f64, Error> {
    let x = Vector::<f64>::random_uniform([len], 1);
    let (tall, side) = (len / 50, len.isqrt());
    let anywhere = (Vector::<f64>::random_uniform([len], 2) * len as f64).cast::<i64>();
    let data = Data {
        single: x.cast(),
        k: (&x * 1e9).cast(),
        below: &anywhere % 1000,
        table: x.slice(..1000).sort(),
        tall: x.slice(..tall * 50).try_reshape([tall, 50])?,
        square: x.slice(..side * side).try_reshape([side, side])?,
        narrow: x.slice(..len / 4 * 4).try_reshape([len / 4, 4])?,
        small: x.slice(..16).try_reshape([4, 4])?,
        anywhere,
        x,
    };
    made(&data.single)?;
    made(&data.k)?;
    made(&data.below)?;
    made(&data.table)?;
    // The first runs make memory and native code.
    work(&data)?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        work(&data)?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[ROUNDS / 2])
}

fn made<T: Element, const D: usize>(array: &Array<T, D>) -> Result<(), Error> {
    array.local().map(|_| ())
}
