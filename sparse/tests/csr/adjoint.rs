//! Products with the conjugate transpose, against products with the transpose that is made: to the
//! bit, since the order of the sums is that of the transpose's rows.

use crate::{Entries, bits, entries, everywhere};
use num_complex::Complex;
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, proptest};
use sparsefuse_dense::{Array, Field, Vector, step};
use sparsefuse_runtime::{Config, Partition, Runtime, Shape, plan_rank, run_ranks};
use sparsefuse_sparse::{Csr, Error, Triplets, gallery};

/// Products with vectors that are cut like the rows, otherwise, and not yet computed.
fn check<T: Field>(make: impl Fn() -> Result<Csr<T>, Error> + Sync) {
    everywhere(|| {
        let a = make()?;
        let adjoint = a.adjoint()?;
        let x = Vector::<T>::random_normal([a.n_rows()], 1);
        let expected = bits(&adjoint.matvec(&x).to_vec()?);
        let y = a.rmatvec(&x);
        assert_eq!(y.len(), a.n_cols());
        assert_eq!(bits(&y.to_vec()?), expected);
        // The second time, from what is kept; of a product just before, which has the rows of `a`.
        let z = a.rmatvec(&a.matvec(&y));
        assert_eq!(
            bits(&z.to_vec()?),
            bits(&adjoint.matvec(&a.matvec(&y)).to_vec()?)
        );
        // Other values on the same structure, of elementwise work that has its own cuts.
        let values = a.values() * T::from_f64(0.3) + T::from_f64(1.0);
        let b = a.with_values(values)?;
        let spread = Vector::<T>::random_normal([2 * a.n_rows()], 2);
        let every_second = spread.slice(step(.., 2));
        let of_view = bits(&b.rmatvec(&every_second).to_vec()?);
        assert_eq!(of_view, bits(&b.adjoint()?.matvec(&every_second).to_vec()?));
        assert_eq!(bits(&a.rmatvec(&x).to_vec()?), expected);
        Ok((expected, of_view))
    });
}

/// Matrices in other formats, which have the same products.
#[test]
fn other_formats() {
    fn check<T: Field>(make: impl Fn() -> Result<Csr<T>, Error> + Sync) {
        everywhere(|| {
            let a = make()?;
            let x = Vector::<T>::random_normal([a.n_rows()], 1);
            let expected = a.rmatvec(&x).to_vec()?;
            let (columns, coordinates) = (a.to_csc()?, a.to_coo()?);
            // Of complex numbers a zero may have another sign.
            assert!(columns.rmatvec(&x).to_vec()? == expected);
            assert_eq!(bits(&coordinates.rmatvec(&x).to_vec()?), bits(&expected));
            let size = if a.n_rows().is_multiple_of(2) { 2 } else { 3 };
            let (diagonals, blocks) = (a.to_dia()?, a.to_bsr((size, size))?);
            assert!(diagonals.rmatvec(&x).to_vec()? == expected);
            assert!(blocks.rmatvec(&x).to_vec()? == expected);
            let refused = columns.try_rmatvec(&Vector::zeros([3])).unwrap_err();
            let found = format!("rmatvec: expected a shape of ({}), found (3)", a.n_rows());
            assert_eq!(refused.to_string(), found);
            Ok(bits(&expected))
        });
    }
    check(|| gallery::rmat::<f64>(6, 4, 1));
    check(|| gallery::diffusion2d::<Complex<f64>>(9));
}

/// Products with a matrix on the right, and of the transpose with a dense matrix: row by row, or
/// column by column, those with vectors.
#[test]
fn dense_matrices_on_the_left() {
    fn check<T: Field>(make: impl Fn() -> Result<Csr<T>, Error> + Sync) {
        everywhere(|| {
            let a = make()?;
            let columns = a.to_csc()?;
            let x = Array::<T, 2>::random_normal([3, a.n_rows()], 1);
            let (y, z) = (&x * &a, a.rmatmat(&x.t()));
            assert_eq!((y.shape(), z.shape()), ([3, a.n_cols()], [a.n_cols(), 3]));
            assert!((&x * &columns).to_vec()? == y.to_vec()?);
            assert!(columns.rmatmat(&x.t()).to_vec()? == z.to_vec()?);
            for row in 0..3 {
                let x = x.row(row);
                assert!(z.column(row).to_vec()? == a.rmatvec(&x).to_vec()?);
                let expected = y.row(row).to_vec()?;
                assert!((&x * &a).to_vec()? == expected);
                assert!((&x * &columns).to_vec()? == expected);
                let conjugated = a.rmatvec(&x.conj()).to_vec()?;
                let conjugated = conjugated.into_iter().map(T::conjugate);
                assert!(expected.into_iter().eq(conjugated));
            }
            let refused = a.try_left_matmul(&x.t()).unwrap_err().to_string();
            let n = a.n_rows();
            assert_eq!(
                refused,
                format!("left_matmul: expected a shape of ({n}, {n}), found ({n}, 3)")
            );
            for error in [
                a.try_left_matvec(&Vector::zeros([3])).unwrap_err(),
                columns.try_left_matvec(&Vector::zeros([3])).unwrap_err(),
            ] {
                let expected = format!("left_matvec: expected a shape of ({n}), found (3)");
                assert_eq!(error.to_string(), expected);
            }
            Ok((bits(&y.to_vec()?), bits(&z.to_vec()?)))
        });
    }
    check(|| gallery::rmat::<f64>(6, 4, 1));
    check(|| gallery::random::<f32>(50, 5, 3));
    check(|| gallery::banded_varying::<Complex<f64>>(300, 9));
}

#[test]
fn stencils_runs_and_rows_of_any_kind() {
    check(|| gallery::poisson1d::<f64>(150));
    check(|| gallery::poisson2d::<f64>(40));
    check(|| gallery::diffusion2d::<f32>(37));
    check(|| gallery::poisson3d::<Complex<f64>>(9));
    check(|| gallery::banded_varying::<Complex<f32>>(300, 9));
    check(|| gallery::random::<f64>(200, 5, 3));
    check(|| gallery::rmat::<f64>(7, 8, 1));
}

#[test]
fn blocks_of_runs_that_are_longer_than_a_pass_takes_at_once() {
    check(|| gallery::poisson1d::<f64>(2500));
    check(|| gallery::banded_varying::<f64>(2500, 5));
    check(|| gallery::banded::<f64>(1700, 601));
}

/// Rows that repeat for a while, in the middle of others; columns beyond those of the rows.
#[test]
fn wide_and_tall() {
    let make = |n_rows: usize, n_cols: usize| {
        let mut triplets = Triplets::new(n_rows, n_cols)?;
        for row in 0..n_rows {
            for term in 0..3 {
                let col = match row % 90 < 60 {
                    true => (row + term * 5) % n_cols,
                    false => (row * row + term * 7) % n_cols,
                };
                let value = (row / 45 * 3 + term) as f64 * 0.1 - 0.7;
                triplets.push(row, col, Complex::new(value, 0.3)).unwrap();
            }
        }
        Csr::from_triplets(&triplets)
    };
    for (n_rows, n_cols) in [
        (200, 3),
        (200, 30),
        (30, 200),
        (3, 200),
        (250, 250),
        (300, 1),
    ] {
        check(|| make(n_rows, n_cols));
        check(|| make(n_rows, n_cols)?.balance());
    }
}

#[test]
fn without_entries() {
    for (n_rows, n_cols) in [(0, 0), (0, 9), (9, 0), (1, 1), (60, 9)] {
        check(|| Csr::<f64>::from_triplets(&Triplets::new(n_rows, n_cols)?));
    }
}

/// Ascending rows, one fused multiply-add each, starting from zero.
fn by_loop(entries: &Entries, values: &[f64], x: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; entries.n_cols];
    for (&(row, col), &value) in entries.places().iter().zip(values) {
        y[col] = f64::mul_add(value, x[row], y[col]);
    }
    y
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_order_of_summation(
        entries in entries(),
        numbers in vec(-1e3f64..1e3, 80),
    ) {
        let (values, x) = numbers.split_at(40);
        let places = entries.places();
        let x = &x[..entries.n_rows];
        let expected = by_loop(&entries, values, x);
        let found = everywhere(|| {
            let mut triplets = Triplets::new(entries.n_rows, entries.n_cols).unwrap();
            for (&(row, col), &value) in places.iter().zip(values) {
                triplets.push(row, col, value).unwrap();
            }
            let a = Csr::from_triplets(&triplets)?;
            Ok(bits(&a.rmatvec(&Vector::from_slice(x)).to_vec()?))
        });
        assert_eq!(found, bits(&expected));
    }
}

/// A NaN reaches the columns of its row, and no others.
#[test]
fn what_a_nan_reaches() {
    let found = everywhere(|| {
        let a = gallery::poisson1d::<f64>(100)?;
        let mut x = Vector::<f64>::ones([100]);
        x.assign_slice(50..51, f64::NAN);
        let y = a.rmatvec(&x).to_vec()?;
        Ok((0..100).filter(|&col| y[col].is_nan()).collect::<Vec<_>>())
    });
    assert_eq!(found, [49, 50, 51]);
}

#[test]
fn failures_come_with_the_product() {
    everywhere(|| {
        let a = gallery::poisson1d::<f64>(20)?;
        let refused = a.try_rmatvec(&Vector::ones([19])).unwrap_err().to_string();
        assert_eq!(refused, "rmatvec: expected a shape of (20), found (19)");
        let failed = Vector::<f64>::ones([20]).take(&Vector::full([20], 99));
        let error = a.rmatvec(&failed).to_vec().unwrap_err().to_string();
        assert!(error.contains("found 99 at position 0"), "{error}");
        let values = Vector::<f64>::ones([a.nnz()]).take(&Vector::full([a.nnz()], -99));
        let b = a.with_values(values)?;
        let error = b.try_rmatvec(&Vector::ones([20])).unwrap_err().to_string();
        assert!(error.contains("found -99 at position 0"), "{error}");
        Ok(bits(&a.rmatvec(&Vector::ones([20])).to_vec()?))
    });
}

/// Of a stencil, nothing is kept but the stencil, and no entry is read.
#[test]
fn what_a_product_moves() {
    fn moved(a: &Csr<f64>) -> u64 {
        let runtime = Runtime::current();
        let x = Vector::<f64>::ones([a.n_rows()]);
        a.rmatvec(&x).to_vec().unwrap();
        let before = runtime.counters();
        let y = a.rmatvec(&x);
        runtime.flush();
        drop(y);
        let after = runtime.counters();
        assert_eq!(after.host_tasks, before.host_tasks + 1);
        after.bytes - before.bytes
    }
    let n = 10_000;
    let runtime = Runtime::new(Config {
        threads: 1,
        ..Config::default()
    });
    runtime.unwrap().enter(|| {
        let vectors = 2 * 8 * n as u64;
        let stencil = moved(&gallery::poisson1d(n).unwrap());
        assert!(stencil < vectors + 200, "{stencil}");
        let varying = gallery::banded_varying::<f64>(n, 3).unwrap();
        let entries = 12 * varying.nnz() as u64;
        let found = moved(&varying);
        assert!(
            (vectors..vectors + entries + 1000).contains(&found),
            "{found}"
        );
    });
}

#[test]
fn a_plan_counts_products() {
    let planned = plan_rank(1, 3, &sparsefuse_testing::small(), |runtime| {
        let a = gallery::diffusion2d::<f64>(20).unwrap();
        let y = a.rmatvec(&Vector::ones([400]));
        runtime.flush();
        drop(y);
        runtime.counters().host_tasks
    });
    assert_eq!(planned.unwrap(), 1);
}

/// A vector of which every rank has all, and a matrix whose rows are cut and repeat each other, so
/// that the task reads no entries.
#[test]
fn vectors_that_every_rank_has() {
    let found = everywhere(|| {
        let eye = Csr::<f64>::identity(4)?;
        let parts: Vec<_> = (0..30).map(|_| &eye).collect();
        let a = Csr::vstack(&parts)?;
        let (runtime, shape) = (Runtime::current(), Shape::new(&[120]));
        let rows = (0..120).map(f64::from).collect();
        let x = runtime.store_of_rows(shape, Partition::Replicated, 0..120, rows)?;
        a.rmatvec(&Vector::from_store(x, None)?).to_vec()
    });
    assert_eq!(found, [1740.0, 1770.0, 1800.0, 1830.0]);
}

/// Of a matrix that is cut, with a product that every rank has all of, many entries.
#[test]
fn tall_matrices_are_not_transposed_on_each_rank() {
    for ranks in [1, 2, 3] {
        let found = run_ranks(ranks, &Config::default(), |runtime| {
            // More than 65536 entries on each rank.
            let (n_rows, n_cols) = (30_000, 40);
            let triplets = (0..n_rows).flat_map(|row| {
                (0..8).map(move |k| (row, (row * 7 + k * 5) % n_cols, (row + k) as f64 * 0.01))
            });
            let a = Csr::from_entries(n_rows, n_cols, triplets).expect("it fits");
            let x = Vector::<f64>::random_normal([n_rows], 1);
            let before = runtime.counters().host_tasks;
            let product = a.try_rmatvec_again(&x).expect("it fits");
            runtime.flush();
            let host_tasks = runtime.counters().host_tasks - before;
            assert_eq!(
                host_tasks,
                u64::from(ranks > 1),
                "it goes from rank to rank"
            );
            let expected = a.adjoint().expect("it fits").matvec(&x);
            let product = bits(&product.to_vec().expect("it runs"));
            assert_eq!(product, bits(&expected.to_vec().expect("it runs")));
            let y = a.try_rmatvec_again(&a.matvec(&expected)).expect("it fits");
            assert_eq!(runtime.ranks(), ranks);
            bits(&y.to_vec().expect("it runs"))
        });
        let found = found.expect("the ranks run");
        assert!(found.iter().all(|of_rank| *of_rank == found[0]));
    }
}
