//! Products that run as one task with others of which one fails, on one rank or on all.

use crate::small;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_runtime::{Config, Room, Runtime, run_ranks};
use sparsefuse_sparse::{Csr, gallery};

const N: usize = 60;

/// Products and reductions beside an array for which one rank lacks memory: they are there, with
/// the bits of a program without it.
#[test]
fn products_beside_a_failure_of_one_rank() {
    let expected = program(3, true, None);
    for fusion in [true, false] {
        for failing in 0..3 {
            for (rank, found) in program(3, fusion, Some(failing)).iter().enumerate() {
                assert_eq!(
                    found, &expected[rank],
                    "rank {failing} fails, fusion {fusion}"
                );
            }
        }
    }
}

/// A product of what failed on one rank fails on all, and what it was fused with does not.
#[test]
fn products_of_what_one_rank_lacks() {
    for fusion in [true, false] {
        let config = Config {
            memory_limit: 1 << 16,
            fusion,
            ..small()
        };
        let outcomes = run_ranks(3, &config, |runtime| {
            let a = gallery::poisson1d::<f64>(N).unwrap();
            let x = Vector::<f64>::ones([N]);
            a.matvec(&x).to_vec().unwrap();
            let full = fill(runtime, runtime.rank() == 1);
            let y = &x * 3.0;
            let lost = (Array::<f64, 2>::random_uniform([N, 64], 1) + 1.0)
                .column(0)
                .contiguous();
            let lost = lost.unwrap();
            let product = a.matvec(&lost);
            let (dot, good) = (product.dot(&product), y.sum());
            let beside = a.matvec(&y);
            runtime.flush();
            drop(full);
            assert!(product.to_vec().is_err() && dot.get().is_err() && lost.to_vec().is_err());
            (good.get(), beside.to_vec())
        });
        for (good, beside) in outcomes.unwrap() {
            assert_eq!(good.unwrap(), 180.0);
            assert_eq!(beside.unwrap()[..3], [3.0, 0.0, 0.0]);
        }
    }
}

/// Takes what is left under the limit, but for some small vectors.
fn fill(runtime: &Runtime, here: bool) -> Vec<Room<bool>> {
    let mut full = Vec::new();
    while here && (1 << 16) - runtime.memory_in_use() >= 8192 {
        full.push(runtime.room(4096).unwrap());
    }
    full
}

fn program(ranks: usize, fusion: bool, failing: Option<usize>) -> Vec<(Vec<f64>, f64, f64)> {
    let config = Config {
        memory_limit: 1 << 16,
        fusion,
        ..small()
    };
    let outcomes = run_ranks(ranks, &config, |runtime| {
        let a: Csr<f64> = gallery::poisson1d(N).unwrap();
        let x = Vector::<f64>::random_uniform([N], 7);
        a.matvec(&x).to_vec().unwrap();
        let full = fill(runtime, failing == Some(runtime.rank()));
        let bad = failing.map(|_| Array::<f64, 2>::random_uniform([N, 64], 1) + 1.0);
        let p = &x * 0.7;
        let q = a.matvec(&p);
        let pq = p.dot(&q);
        let lost = bad.as_ref().map(|bad| bad.sum());
        let r = &x - &q * 0.5;
        let rr = r.dot(&r);
        runtime.flush();
        drop(full);
        if let Some(lost) = lost {
            assert!(lost.get().is_err());
        }
        (r.to_vec().unwrap(), pq.get().unwrap(), rr.get().unwrap())
    });
    outcomes.unwrap()
}

/// Two runtimes never mix, in what is lazy and in what is eager.
#[test]
fn matrices_of_two_runtimes() {
    let [mine, other] = [(); 2].map(|()| {
        let runtime = Runtime::new(Config::default()).unwrap();
        runtime.enter(|| {
            (
                gallery::poisson1d::<f64>(9).unwrap(),
                Vector::<f64>::ones([9]),
            )
        })
    });
    let (a, (b, x)) = (&mine.0, (&other.0, &other.1));
    let refused = |op: &str, text: String| {
        let expected = format!("{op}: expected stores of one runtime, found stores of two");
        assert_eq!(text, expected);
    };
    refused("spgemm", a.try_matmul(b).unwrap_err().to_string());
    refused("add", a.try_add(b).unwrap_err().to_string());
    refused("kron", a.kron(b).unwrap_err().to_string());
    refused("scale_rows", a.scale_rows(x).unwrap_err().to_string());
    refused("scale_columns", a.scale_columns(x).unwrap_err().to_string());
    refused("submit", a.try_matvec(x).unwrap_err().to_string());
    let values = b.values().clone();
    refused(
        "with_values",
        a.with_values(values).unwrap_err().to_string(),
    );
    let text = a.has_structure_of(b).unwrap_err().to_string();
    refused("compare_structures", text);
}

#[test]
fn sizes_that_no_matrix_has() {
    let expected = "at most 4294967295 rows and columns";
    for (rows, columns) in [(usize::MAX, 2), (2, 1 << 40), (2, usize::MAX)] {
        let error = Csr::<f64>::new(rows, columns, vec![], vec![], vec![]).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        let error = Csr::<f64>::new(rows, columns, vec![0, 0, 0], vec![], vec![]).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    // As many zeros as no memory has.
    let wide = Csr::<f64>::new(
        1 << 20,
        u32::MAX as usize,
        vec![0; (1 << 20) + 1],
        vec![],
        vec![],
    );
    let error = wide.unwrap().to_dense().unwrap_err();
    assert!(error.to_string().contains("the system refuses"), "{error}");
}
