//! What a program calls every day: one operation at a time, whose result is read before the next
//! one.
//!
//! `cargo bench -p sparsefuse-dense --bench everyday [-- [NAME] --len N]`: of each operation the
//! microseconds on one thread, the shortest of its rounds, and a number made of three elements of
//! the result. `benches/python/everyday.py` runs it and NumPy in turn with the same data, and
//! compares the results; `benches/results/everyday.md` has figures.

use num_complex::Complex;
use sparsefuse_dense::{Array, Element, Error, Padding, Scalar, Vector, step};
use sparsefuse_kernels::DType;
use sparsefuse_runtime::{Config, Runtime};
use std::time::{Duration, Instant};

/// How long an operation is measured, and how long the rounds are of which the shortest counts:
/// others may use the machine meanwhile.
const MEASURED: Duration = Duration::from_millis(300);
const ROUND: Duration = Duration::from_millis(5);

/// What is worked on; all of it from `uniform` alone, so that NumPy has the same.
struct Data {
    x: Vector<f64>,
    y: Vector<f64>,
    single: Vector<f32>,
    z: Vector<Complex<f64>>,
    k: Vector<i64>,
    l: Vector<i64>,
    k32: Vector<i32>,
    l32: Vector<i32>,
    u32: Vector<u32>,
    below: Vector<i64>,
    anywhere: Vector<i64>,
    mask: Vector<bool>,
    other: Vector<bool>,
    square: Array<f64, 2>,
    tall: Array<f64, 2>,
}

type Work = fn(&Data) -> Result<f64, Error>;

macro_rules! works {
    ($data:ident; $($name:literal => $work:expr;)*) => {
        const WORKS: &[(&str, Work)] = &[$(($name, |$data| $work.made()),)*];
    };
}

works! { d;
    "max" => d.x.max();
    "min" => d.x.min();
    "max, f32" => d.single.max();
    "max, i64" => d.k.max();
    "max, i32" => d.k32.max();
    "argmax" => d.x.argmax();
    "argmin" => d.x.argmin();
    "argmax, i64" => d.k.argmax();
    "argmax, f32" => d.single.argmax();
    "max_axis(0)" => d.square.max_axis(0);
    "max_axis(1)" => d.square.max_axis(1);
    "max_axis(1), rows of 50" => d.tall.max_axis(1);
    "argmax_axis(0)" => d.square.argmax_axis(0);
    "argmax_axis(1)" => d.square.argmax_axis(1);
    "argmax_axis(1), rows of 50" => d.tall.argmax_axis(1);
    "sum" => d.x.sum();
    "sum, f32" => d.single.sum();
    "sum, i64" => d.k.sum();
    "sum, i32" => d.k32.sum();
    "prod" => d.x.prod();
    "mean" => d.x.mean();
    "var" => d.x.var();
    "std" => d.x.std();
    "norm2" => d.x.norm2();
    "norm_inf" => d.x.norm_inf();
    "dot" => d.x.dot(&d.y);
    "dot, f32" => d.single.dot(&d.single);
    "any" => d.mask.any();
    "all" => d.mask.all();
    "count" => d.mask.count();
    "count_nonzero" => d.k.count_nonzero();
    "sum_axis(0)" => d.square.sum_axis(0);
    "sum_axis(1)" => d.square.sum_axis(1);
    "mean_axis(0)" => d.square.mean_axis(0);
    "var_axis(0)" => d.square.var_axis(0);
    "var_axis(1)" => d.square.var_axis(1);
    "std_axis(1)" => d.square.std_axis(1);
    "any_axis(0)" => d.square.greater(0.5).any_axis(0);
    "bincount" => d.below.bincount(1000);
    "bincount, weighted" => d.below.bincount_weighted(&d.x, 1000);
    "add_at" => {
        let mut sums = Vector::<f64>::zeros([d.x.len()]);
        sums.try_add_at(&d.anywhere, &d.x)?;
        sums
    };
    "add_at, 1000 elements" => {
        let mut sums = Vector::<f64>::zeros([1000]);
        sums.try_add_at(&d.below, &d.x)?;
        sums
    };
    "put" => {
        let mut changed = d.x.clone();
        changed.try_put(&d.anywhere, &d.y)?;
        changed
    };
    "take" => d.x.take(&d.anywhere);
    "take_axis(0)" => d.tall.take_axis(0, &rows_reversed(d)?);
    "repeat" => d.x.repeat(0, 3);
    "repeat axis 1" => d.square.repeat(1, 2);
    "tile" => d.x.tile([3]);
    "pad" => d.x.pad([(5, 5)], Padding::Constant(0.0));
    "pad, edge" => d.x.pad([(5, 5)], Padding::Edge);
    "pad, matrix" => d.square.pad([(2, 2), (2, 2)], Padding::Constant(0.0));
    "roll" => d.x.roll(0, 7);
    "flip" => copy(&d.x.flip(0))?;
    "concatenate" => Vector::concatenate(0, &[&d.x, &d.y]);
    "concatenate axis 1" => Array::concatenate(1, &[&d.square, &d.square]);
    "stack axis 0" => Vector::stack(0, &[&d.x, &d.y]);
    "stack axis 1" => Vector::stack(1, &[&d.x, &d.y]);
    "where" => d.mask.select(&d.x, &d.y);
    "nonzero" => d.mask.flat_nonzero()?;
    "compress" => d.x.compress(&d.mask)?;
    "x[x > 0.5]" => d.x.compress(&d.x.greater(0.5))?;
    "compress_axis(0)" => d.tall.compress_axis(0, &d.mask.slice(..d.tall.shape()[0]))?;
    "assign_where" => {
        let mut changed = d.x.clone();
        changed.assign_where(&d.mask, 0.0);
        changed
    };
    "unique, i64" => d.below.unique()?;
    "unique, f64" => d.x.unique()?;
    "sort" => d.x.sort();
    "argsort" => d.x.argsort();
    "searchsorted" => d.x.slice(..100).sort().searchsorted(&d.y);
    "median" => d.x.median();
    "cumsum" => d.x.cumsum();
    "cumsum, i64" => d.k.cumsum();
    "cumprod" => d.x.cumprod();
    "cumsum_axis(0)" => d.square.cumsum_axis(0);
    "cumsum_axis(1)" => d.square.cumsum_axis(1);
    "diff" => d.x.diff(0);
    "clamp" => d.x.clamp(0.25, 0.75);
    "i64 / i64" => &d.k / &d.l;
    "i64 / 7" => &d.k / 7;
    "i64 % i64" => &d.k % &d.l;
    "i64 % 7" => &d.k % 7;
    "i32 / i32" => &d.k32 / &d.l32;
    "i32 % i32" => &d.k32 % &d.l32;
    "i32 % 7" => &d.k32 % 7;
    "u32 % 7" => &d.u32 % 7;
    "f64 % f64" => &d.x % &d.y;
    "i64 * i64" => &d.k * &d.l;
    "i32 + i32" => &d.k32 + &d.l32;
    "k & 255" => &d.k & 255;
    "random_normal" => Vector::<f64>::random_normal([d.x.len()], 1);
    "random_uniform" => Vector::<f64>::random_uniform([d.x.len()], 1);
    "random integers" => (Vector::<f64>::random_uniform([d.x.len()], 1) * 1e6).cast::<i64>();
    "x + y" => &d.x + &d.y;
    "x + y, f32" => &d.single + &d.single;
    "x / y" => &d.x / &d.y;
    "x * 2" => &d.x * 2.0;
    "z * z" => &d.z * &d.z;
    "abs, complex" => d.z.abs();
    "sqrt" => d.x.sqrt();
    "exp" => d.x.exp();
    "exp, f32" => d.single.exp();
    "ln" => d.x.ln();
    "sin" => d.x.sin();
    "tanh" => d.x.tanh();
    "x ** 1.5" => d.x.pow(1.5);
    "atan2" => d.x.atan2(&d.y);
    "floor" => (&d.x * 10.0).floor();
    "round" => (&d.x * 10.0).round();
    "maximum" => d.x.maximum(&d.y);
    "abs" => (&d.x - 0.5).abs();
    "x > y" => d.x.greater(&d.y);
    "x == y" => d.x.equal(&d.y);
    "i64 > i64" => d.k.greater(&d.l);
    "is_nan" => d.x.is_nan();
    "mask & other" => &d.mask & &d.other;
    "f64 to f32" => d.x.cast::<f32>();
    "f64 to i64" => (&d.x * 1e3).cast::<i64>();
    "f64 to i32" => (&d.x * 1e3).cast::<i32>();
    "i64 to f64" => d.k.cast::<f64>();
    "f32 to f64" => d.single.cast::<f64>();
    "bool to f64" => d.mask.cast::<f64>();
    "i64 to i32" => d.k.cast::<i32>();
    "every second" => copy(&d.x.slice(step(.., 2)))?;
    "columns, every second" => d.square.slice((.., step(.., 2))) + 1.0;
    "transpose" => copy(&d.square.t())?;
    "a + a^T" => &d.square + &d.square.t();
    "transpose, tall" => copy(&d.tall.t())?;
    "outer" => d.x.slice(..1000).outer(&d.y.slice(..d.x.len() / 1000));
    "a - mean(0)" => &d.square - &d.square.mean_axis(0).insert_axis(0);
    "matvec" => d.square.matvec(&d.y.slice(..d.square.shape()[1]));
    "histogram" => d.x.histogram(100, 0.0..1.0).0;
    "zeros" => Vector::<f64>::zeros([d.x.len()]);
    "arange" => Vector::<i64>::arange(d.x.len());
    "linspace" => Vector::<f64>::linspace(0.0, 1.0, d.x.len());
}

fn rows_reversed(data: &Data) -> Result<Vector<i64>, Error> {
    let rows = data.tall.shape()[0] as i64;
    Ok(-Vector::<i64>::arange(data.tall.shape()[0]) + (rows - 1))
}

/// A view as an array of its own.
fn copy<T: Element, const D: usize>(view: &Array<T, D>) -> Result<Array<T, D>, Error> {
    view.contiguous()
}

/// A result that is wanted: computed, and three of its elements added.
trait Made {
    fn made(&self) -> Result<f64, Error>;
}

impl<T: Element, const D: usize> Made for Array<T, D> {
    fn made(&self) -> Result<f64, Error> {
        let of = |element: &T| {
            let value = element.to_value();
            let [low, high] = value.bits().map(f64::from_bits);
            match value.dtype() {
                DType::F64 => low,
                DType::ComplexF64 => low + high,
                _ => value
                    .to_string()
                    .parse()
                    .unwrap_or(f64::from(value.bits()[0] as u32)),
            }
        };
        self.with_slice(|all| {
            [0, all.len() / 3, all.len() - 1]
                .iter()
                .map(|&at| of(&all[at]))
                .sum()
        })
    }
}

impl<T: Element> Made for Scalar<T> {
    fn made(&self) -> Result<f64, Error> {
        let one = Array::<T, 1>::from_vec(vec![self.get()?]);
        one.made().map(|sum| sum / 3.0)
    }
}

fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let len = args.iter().position(|arg| arg == "--len");
    let len = len.and_then(|at| args.get(at + 1)?.parse().ok());
    let wanted = args.iter().take_while(|arg| *arg != "--len");
    let wanted = wanted.into_iter().find(|arg| !arg.starts_with('-'));
    let runtime = Runtime::new(Config {
        threads: 1,
        ..Config::default()
    })?;
    runtime.enter(|| {
        let data = Data::new(len.unwrap_or(1_000_000))?;
        let is_wanted = |name: &str| wanted.is_none_or(|wanted| wanted == name);
        for (name, work) in WORKS.iter().filter(|(name, _)| is_wanted(name)) {
            let (time, check) = measured(&data, *work)?;
            println!("{name}\t{time:.3}\t{check:e}");
        }
        Ok(())
    })
}

/// Microseconds of one call, and what it found.
fn measured(data: &Data, work: Work) -> Result<(f64, f64), Error> {
    // The first runs make memory and native code.
    let begun = Instant::now();
    let mut check = work(data)?;
    while begun.elapsed() < MEASURED / 3 {
        check = work(data)?;
    }
    let (all, mut times) = (Instant::now(), Vec::new());
    while all.elapsed() < MEASURED || times.len() < 3 {
        let (begun, mut calls) = (Instant::now(), 0);
        while begun.elapsed() < ROUND {
            work(data)?;
            calls += 1;
        }
        times.push(begun.elapsed().as_secs_f64() * 1e6 / f64::from(calls));
    }
    let shortest = times.into_iter().fold(f64::INFINITY, f64::min);
    Ok((shortest, check))
}

impl Data {
    fn new(len: usize) -> Result<Self, Error> {
        let (x, y) = (uniform(len, 1), uniform(len, 2));
        let k = (&x * 2e9).cast::<i64>() - 1_000_000_000;
        let l = (&y * 1e3).cast::<i64>() + 1;
        let anywhere = (uniform(len, 3) * len as f64).cast::<i64>();
        let (side, tall) = (len.isqrt(), len / 50);
        let parts = [x.to_vec()?, y.to_vec()?];
        Ok(Self {
            single: x.cast(),
            z: Vector::from_fn([len], |[i]| Complex::new(parts[0][i], parts[1][i])),
            k32: k.cast(),
            l32: l.cast(),
            u32: (&k + 1_000_000_000).cast(),
            below: &anywhere % 1000,
            mask: y.greater(0.5),
            other: x.greater(0.5),
            square: x
                .slice(..side * side)
                .try_reshape([side, side])?
                .contiguous()?,
            tall: x.slice(..tall * 50).try_reshape([tall, 50])?.contiguous()?,
            anywhere,
            k,
            l,
            y,
            x,
        })
    }
}

/// Numbers between 0 and 1: the finalizer of SplitMix64 of the place. In memory of the library,
/// whose pages are large as those of NumPy's arrays are; a vector of the program has small ones.
fn uniform(len: usize, seed: u64) -> Vector<f64> {
    let number = |place: u64| {
        let mut bits = (place + (seed << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    Vector::from_fn([len], |[place]| number(place as u64))
}
