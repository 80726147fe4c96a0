//! Products by structure: diagonals, blocks, and at the entries of a matrix; milliseconds on 1 and
//! 2 threads.
//!
//! `cargo bench --bench formats -- [ROUNDS]`: the median of some rounds (9), the numbers of threads
//! alternately. `benches/python/formats.py` does the same work with SciPy and MKL; both print a
//! norm of each result, by which they are seen to have done the same. The bytes are those that a
//! product has to move: values once (of a product at entries, columns too), and vectors once.

#![expect(clippy::unwrap_used, reason = "a benchmark fails where it panics")]

use sparsefuse::prelude::*;
use std::time::Instant;

/// The same hash in every language, in [0, 1).
fn uniform(index: usize) -> f64 {
    const MASK: u64 = 0xFFFF_FFFF;
    let mut bits = (index as u64).wrapping_mul(2_654_435_761) & MASK;
    bits ^= bits >> 15;
    bits = bits.wrapping_mul(2_246_822_519) & MASK;
    bits ^= bits >> 13;
    bits as f64 / 4_294_967_296.0
}

fn hashed(len: usize) -> Vec<f64> {
    (0..len).map(|index| uniform(index) - 0.5).collect()
}

/// 4 million rows, 11 diagonals.
fn diagonals() -> Dia<f64> {
    let offsets: Vec<isize> = (-5..=5).collect();
    let element = |row: usize, column: usize| uniform(11 * row + column) - 0.5;
    Dia::from_elements(4_000_000, 4_000_000, &offsets, element).unwrap()
}

/// The structure of linear elasticity on a grid of `side` cubed nodes with trilinear elements: each
/// node meets its 27 neighbours by a block.
fn elasticity(side: usize, block: usize) -> Bsr<f64> {
    let (mut pos, mut crd) = (vec![0], Vec::new());
    let near = |at: usize| at.saturating_sub(1)..(at + 2).min(side);
    for node in 0..side * side * side {
        let (x, y, z) = (node % side, node / side % side, node / side / side);
        for k in near(z) {
            for j in near(y) {
                crd.extend(near(x).map(|i| ((k * side + j) * side + i) as u32));
            }
        }
        pos.push(crd.len() as u64);
    }
    let n = side * side * side * block;
    let values = hashed(crd.len() * block * block);
    Bsr::from_parts(n, n, (block, block), pos, crd, values).unwrap()
}

/// 200000 rows of about 20 entries at random places.
fn scattered() -> Csr<f64> {
    const N: usize = 200_000;
    let mut triplets = Triplets::new(N, N).unwrap();
    for k in 0..20 * N {
        let column = (uniform(k) * N as f64) as usize;
        triplets.push(k / 20, column, 1.0).unwrap();
    }
    Csr::from_triplets(&triplets).unwrap()
}

/// What is measured: the norm of the result, after its work is done.
type Work = Box<dyn Fn(&Runtime) -> f64>;

/// What makes a work, with the bytes that it reads and writes.
type Make = fn() -> (f64, Work);

/// The works of a runtime by name, made one after the other so that no two matrices are held at
/// once.
const WORKS: [(&str, Make); 8] = [
    ("read alone", || {
        let x = Vector::from_vec(hashed(44_000_000));
        let bytes = 8.0 * x.len() as f64;
        (bytes, Box::new(move |_| x.sum().get().unwrap()))
    }),
    ("Dia, 11 diagonals", || {
        let a = diagonals();
        let bytes = 8.0 * (a.nnz() + 2 * a.shape().0) as f64;
        (bytes, product(a.shape().1, move |x| &a * x))
    }),
    ("the same as Csr", || {
        let a = diagonals().to_csr().unwrap();
        let bytes = 8.0 * (a.nnz() + 2 * a.n_rows()) as f64;
        (bytes, product(a.n_cols(), move |x| &a * x))
    }),
    ("Bsr 3, 27 nodes", || of_blocks(elasticity(40, 3))),
    ("Bsr 4, 27 nodes", || of_blocks(elasticity(32, 4))),
    ("sddmm, 64 wide", || sampled(64)),
    ("sddmm, 16 wide", || sampled(16)),
    ("masked A A", || {
        let a = scattered();
        let bytes = 12.0 * a.nnz() as f64;
        let work = move |_: &Runtime| {
            let product = a.matmul_masked(&a, &a).unwrap();
            product.values().norm2().get().unwrap()
        };
        (bytes, Box::new(work))
    }),
];

fn product(n: usize, apply: impl Fn(&Vector<f64>) -> Vector<f64> + 'static) -> Work {
    let x = Vector::from_vec(hashed(n));
    let norm = std::cell::OnceCell::new();
    Box::new(move |runtime| {
        let y = apply(&x);
        runtime.flush();
        *norm.get_or_init(|| y.norm2().get().unwrap())
    })
}

fn of_blocks(a: Bsr<f64>) -> (f64, Work) {
    let bytes = 8.0 * (a.nnz() + 2 * a.shape().0) as f64;
    (bytes, product(a.shape().1, move |x| &a * x))
}

fn sampled(width: usize) -> (f64, Work) {
    let s = scattered();
    let n = s.n_rows();
    let x = Array::from_shape_vec([n, width], hashed(n * width)).unwrap();
    let y = x.clone();
    let bytes = (8 * width + 20) as f64 * s.nnz() as f64;
    let norm = std::cell::OnceCell::new();
    let work = move |_: &Runtime| {
        let sampled = s.sddmm(&x, &y).unwrap();
        *norm.get_or_init(|| sampled.values().norm2().get().unwrap())
    };
    (bytes, Box::new(work))
}

fn main() {
    let mut numbers = std::env::args().filter_map(|arg| arg.parse::<usize>().ok());
    let rounds = numbers.next().unwrap_or(9).max(1);
    let runtimes = [1, 2].map(|threads| {
        let config = Config {
            threads,
            ..Config::default()
        };
        Runtime::new(config).unwrap()
    });
    println!(
        "{:<20}{:>12}{:>9}{:>12}{:>9}   {:>22}",
        "", "1 thread ms", "GB/s", "2 threads ms", "GB/s", "norm"
    );
    for (name, make) in WORKS {
        let works = runtimes.each_ref().map(|runtime| runtime.enter(make));
        let mut times = [const { Vec::new() }; 2];
        let mut norms = [0.0; 2];
        // Rows are made at the first product and packed after a few.
        for round in 0..rounds + 10 {
            for (number, runtime) in runtimes.iter().enumerate() {
                let start = Instant::now();
                norms[number] = runtime.enter(|| works[number].1(runtime));
                if round >= 10 {
                    times[number].push(start.elapsed().as_secs_f64());
                }
            }
        }
        assert_eq!(norms[0].to_bits(), norms[1].to_bits(), "{name}");
        let median = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        let rate = median.map(|seconds| works[0].0 / seconds / 1e9);
        println!(
            "{name:<20}{:>12.2}{:>9.1}{:>12.2}{:>9.1}   {:>22.15e}",
            median[0] * 1e3,
            rate[0],
            median[1] * 1e3,
            rate[1],
            norms[0]
        );
    }
}
