//! How long sorts, searches and masks of ten million elements take.
//!
//! `cargo bench -p sparsefuse-dense --bench order [-- NAME]`: milliseconds on 1 and 2 threads, the
//! shortest of 5 rounds; `benches/results/order.md` has figures beside NumPy's.

use sparsefuse_dense::{Array, Element, Error, Vector};
use sparsefuse_runtime::{Config, Runtime};
use std::time::Instant;

const ROUNDS: usize = 5;
const LEN: usize = 10_000_000;

/// What is worked on.
struct Data {
    x: Vector<f64>,
    k: Vector<i64>,
    table: Vector<f64>,
}

type Work = fn(&Data) -> Result<(), Error>;

const WORKS: [(&str, Work); 11] = [
    ("sort, f64", |data| made(&data.x.sort())),
    ("sort, i64", |data| made(&data.k.sort())),
    ("argsort, f64", |data| made(&data.x.argsort())),
    ("searchsorted in 1000", |data| {
        made(&data.table.searchsorted(&data.x))
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
    ("unique, i64", |data| made(&data.k.unique()?)),
    ("flat_nonzero", |data| {
        made(&data.x.greater(0.5).flat_nonzero()?)
    }),
    ("histogram, 100 bins", |data| {
        made(&data.x.histogram(100, 0.0..1.0).0)
    }),
    ("var", |data| data.x.var().get().map(|_| ())),
    ("atan", |data| made(&data.x.atan())),
];

fn main() -> Result<(), Error> {
    let mut args = std::env::args().skip(1);
    let wanted = args.find(|arg| !arg.starts_with('-')).unwrap_or_default();
    println!("{:24} {:>9} {:>9}", "ms", "1 thread", "2");
    for (name, work) in WORKS.into_iter().filter(|(name, _)| name.contains(&wanted)) {
        let mut times = [0.0; 2];
        for (threads, time) in (1..).zip(&mut times) {
            let config = Config {
                threads,
                ..Config::default()
            };
            *time = Runtime::new(config)?.enter(|| shortest(work))?;
        }
        println!("{name:24} {:9.1} {:9.1}", times[0], times[1]);
    }
    Ok(())
}

fn shortest(work: Work) -> Result<f64, Error> {
    let x = Vector::<f64>::random_uniform([LEN], 1);
    let data = Data {
        k: (&x * 1e9).cast(),
        table: x.slice(..1000).sort(),
        x,
    };
    made(&data.k)?;
    made(&data.table)?;
    let mut shortest = f64::INFINITY;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        work(&data)?;
        shortest = shortest.min(begun.elapsed().as_secs_f64() * 1e3);
    }
    Ok(shortest)
}

fn made<T: Element, const D: usize>(array: &Array<T, D>) -> Result<(), Error> {
    array.local().map(|_| ())
}
