//! Matrices that are multiplied again and again: packed, their plain arrays given up and brought
//! back.

use crate::{bits, everywhere, small};
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::random;
use sparsefuse_runtime::{Config, Error, Runtime};
use sparsefuse_sparse::{Csr, LocalRows, gallery};

/// Some rows of a stencil, some with other values, some at random places.
fn mixed(n: usize) -> Result<Csr<f64>, Error> {
    Csr::from_rows(n, n, |rows| {
        let mut local = LocalRows::with_capacity(rows.len(), 5 * rows.len());
        for row in rows {
            let is_random = (row / 40) % 3 == 2;
            let mut columns: Vec<usize> = match is_random {
                false => (row.saturating_sub(2)..(row + 3).min(n)).collect(),
                true => (0..6)
                    .map(|k| (random::bits(3, (6 * row + k) as u64) % n as u64) as usize)
                    .collect(),
            };
            columns.sort_unstable();
            columns.dedup();
            for column in columns {
                let value = match (row / 40) % 3 {
                    0 => 1.5,
                    _ => random::uniform(4, (row * n + column) as u64) - 0.5,
                };
                local.push(column as u32, value);
            }
            local.end_row();
        }
        local
    })
}

/// What a program sees of a matrix that it multiplies, changes and multiplies again.
fn observations(n: usize) -> Result<Vec<Vec<sparsefuse_kernels::Value>>, Error> {
    let a = mixed(n)?;
    let x = Vector::from_vec((0..n).map(|i| (i as f64).sin()).collect());
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(bits(&(&a * &x).to_vec()?));
    }
    // Other values on the same structure, while the plain columns are given up.
    let b = a.scale(3.0);
    for _ in 0..3 {
        seen.push(bits(&(&b * &x).to_vec()?));
    }
    // The plain arrays are brought back.
    seen.push(bits(&a.values().to_vec()?));
    let (_, rows) = b.local_rows()?;
    drop(rows);
    let c = a.with_values(a.values() + b.values())?;
    for matrix in [&c, &a, &b, &c] {
        seen.push(bits(&(matrix * &x).to_vec()?));
    }
    // Values and product in one window.
    let d = a.with_values(a.values() * 0.5)?;
    let (first, second) = (&d * &x, &d * &x);
    seen.push(bits(&(&first + &second).to_vec()?));
    seen.push(bits(&d.diagonal(0)?.to_vec()?));
    Ok(seen)
}

#[test]
fn packed_and_plain_products_have_the_same_bits() {
    let seen = everywhere(|| observations(500));
    for pack_after in [0, 2, usize::MAX] {
        let config = Config {
            pack_after,
            ..small()
        };
        let runtime = Runtime::new(config).unwrap();
        assert_eq!(runtime.enter(|| observations(500)).unwrap(), seen);
    }
}

#[test]
fn plain_arrays_are_given_up_and_brought_back() {
    let runtime = Runtime::new(Config::default()).unwrap();
    runtime.enter(|| {
        let n = 100;
        let a = gallery::poisson2d::<f64>(n).unwrap();
        let x = Vector::ones([n * n]);
        runtime.flush();
        let (before, vector) = (runtime.memory_in_use(), 8 * n * n);
        let plain = 12 * a.nnz();
        let multiply = || {
            let y = &a * &x;
            runtime.flush();
            drop(y);
        };
        multiply();
        assert!(runtime.memory_in_use() >= before);
        multiply();
        let packed = runtime.memory_in_use();
        assert!(packed < before - plain + vector / 4, "{packed} of {before}");
        let values = a.values().to_vec().unwrap();
        assert_eq!(values.len(), a.nnz());
        let back = runtime.memory_in_use();
        assert!(back >= packed + 8 * a.nnz(), "{back} after {packed}");
        let copy = a.to_sprs().unwrap();
        assert_eq!(copy.nnz(), a.nnz());
        multiply();
        assert_eq!(copy.get(0, 1), Some(&-1.0));
    });
}

#[test]
fn the_first_of_products_that_are_expected_packs() {
    let runtime = Runtime::new(Config::default()).unwrap();
    let after_one_product = |is_expected: bool| {
        runtime.enter(|| {
            let a = gallery::poisson2d::<f64>(100).unwrap();
            if is_expected {
                a.expect_products();
            }
            let elements = (&a * &Vector::ones([10_000])).to_vec().unwrap();
            (elements, runtime.memory_in_use(), a.nnz())
        })
    };
    let (plain, before, nnz) = after_one_product(false);
    let (packed, after, _) = after_one_product(true);
    assert_eq!(packed, plain);
    assert!(after + 11 * nnz < before, "{after} of {before}");
}

#[test]
fn memory_that_does_not_suffice_for_packing_leaves_the_plain_form() {
    let n = 3000;
    let wanted = {
        let runtime = Runtime::new(Config::default()).unwrap();
        runtime.enter(|| {
            let a = gallery::random::<f64>(n, 20, 1).unwrap();
            let x = Vector::ones([n]);
            let y = &a * &x;
            runtime.flush();
            (y.to_vec().unwrap(), runtime.peak_memory())
        })
    };
    let config = Config {
        memory_limit: wanted.1 + 1000,
        ..Config::default()
    };
    let runtime = Runtime::new(config).unwrap();
    runtime.enter(|| {
        let a = gallery::random::<f64>(n, 20, 1).unwrap();
        let x = Vector::ones([n]);
        for _ in 0..10 {
            assert_eq!((&a * &x).to_vec().unwrap(), wanted.0);
        }
    });
}

#[test]
fn one_of_two_matrices_of_a_structure_is_packed() {
    for pack_after in [0, 1] {
        let config = Config {
            pack_after,
            ..Config::default()
        };
        let runtime = Runtime::new(config).unwrap();
        runtime.enter(|| {
            let a = gallery::poisson2d::<f64>(20).unwrap();
            let x = Vector::ones([400]);
            let b = a.scale(2.0);
            let once = (&a * &x).to_vec().unwrap();
            let sum = (&(&b * &x) + &(&a * &x)).to_vec().unwrap();
            assert!(sum.iter().zip(&once).all(|(sum, once)| *sum == 3.0 * once));
            // Values that are computed in the window of their product.
            let c = a.with_values(a.values() * 2.0).unwrap();
            let sum = (&(&c * &x) + &(&a * &x)).to_vec().unwrap();
            assert!(sum.iter().zip(&once).all(|(sum, once)| *sum == 3.0 * once));
        });
    }
}

/// A task with a product that packs the matrix, beside one that reads its plain arrays.
#[test]
fn products_with_a_vector_and_with_a_matrix_of_one_column_in_one_window() {
    let n = 500;
    for pack_after in [0, 1, 2, 3] {
        let config = Config {
            pack_after,
            ..Config::default()
        };
        let products = || {
            let a = mixed(n)?;
            let x = Vector::from_fn([n], |[i]| (i as f64).sin());
            let column = Array::from_fn([n, 1], |[i, _]| (i as f64).sin());
            let products = [&a * &x, &a * &x];
            let wide = [&a * &column, &a * &(&column + &column)];
            let mut seen = Vec::new();
            for product in products {
                seen.push(product.to_vec()?);
            }
            for product in wide {
                seen.push(product.to_vec()?);
            }
            seen.push((&a * &column).to_vec()?);
            Ok::<_, Error>(seen)
        };
        let seen = Runtime::new(config).unwrap().enter(products).unwrap();
        let twice: Vec<f64> = seen[0].iter().map(|y| 2.0 * y).collect();
        let expected = [&seen[0], &seen[0], &seen[0], &twice, &seen[0]];
        assert_eq!(seen.iter().collect::<Vec<_>>(), expected, "{pack_after}");
    }
}
