//! Sums, means, counts, the largest and the smallest elements, against dense loops.

use crate::{Entries, Exact, bits, entries, everywhere};
use ndarray::{Array2, ArrayView1};
use num_complex::Complex;
use proptest::prelude::{ProptestConfig, proptest};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::{Coo, Csr, gallery};

/// What `of` makes of each row (axis 1) or column (axis 0).
fn along<T, U>(dense: &Array2<T>, axis: usize, of: impl Fn(ArrayView1<'_, T>) -> U) -> Vec<U> {
    let lines = dense.lanes(ndarray::Axis(axis));
    lines.into_iter().map(of).collect()
}

fn check_sums<T: Exact>(entries: &Entries) {
    let (sums, counts) = everywhere(|| {
        let a = entries.csr::<T>()?;
        let coo = Coo::from_triplets(entries.triplets::<T>())?;
        let csc = a.to_csc()?;
        let sums = [a.sum().get()?, a.trace().get()?];
        assert_eq!([coo.sum().get()?, coo.trace().get()?], sums);
        assert_eq!([csc.sum().get()?, csc.trace().get()?], sums);
        let counts = [0, 1].map(|axis| a.count_nonzero_axis(axis).to_vec());
        let [columns, rows] = counts;
        assert_eq!(csc.count_nonzero_axis(0).to_vec()?, columns.clone()?);
        assert_eq!(coo.count_nonzero().get()?, a.count_nonzero().get()?);
        let stored = a.nnz_per_column()?.to_vec()?;
        Ok((sums, (a.count_nonzero().get()?, columns?, rows?, stored)))
    });
    let dense = entries.dense::<T>();
    let sum = |elements: ArrayView1<'_, T>| elements.iter().fold(T::ZERO, |s, &x| s + x);
    let whole = dense.iter().fold(T::ZERO, |s, &x| s + x);
    assert_eq!(sums, [whole, sum(dense.diag())]);
    let is_some = |x: &&T| **x != T::ZERO;
    let count = |elements: ArrayView1<'_, T>| elements.iter().filter(is_some).count() as i64;
    assert_eq!(counts.0, dense.iter().filter(is_some).count() as i64);
    assert_eq!(counts.1, along(&dense, 0, count));
    assert_eq!(counts.2, along(&dense, 1, count));
    let places = entries.places();
    let of_column = |column| places.iter().filter(|place| place.1 == column).count() as u64;
    assert_eq!(
        counts.3,
        (0..entries.n_cols).map(of_column).collect::<Vec<_>>()
    );
}

/// The first element that no other one beats, and its number.
fn first<T: Copy>(line: ArrayView1<'_, T>, beats: impl Fn(T, T) -> bool) -> (i64, T) {
    let numbered = line.iter().enumerate().map(|(k, &x)| (k as i64, x));
    let best = numbered.reduce(|best, next| if beats(next.1, best.1) { next } else { best });
    best.unwrap()
}

fn check_extremes<T: Exact + PartialOrd>(entries: &Entries) {
    let dense = entries.dense::<T>();
    let found = everywhere(|| {
        let a = entries.csr::<T>()?;
        let csc = a.to_csc()?;
        let mut found = Vec::new();
        for axis in [0, 1] {
            if a.n_rows() == 0 && axis == 0 || a.n_cols() == 0 && axis == 1 {
                assert!(a.try_max_axis(axis).is_err() && a.try_argmin_axis(axis).is_err());
                continue;
            }
            let (max, min) = (a.max_axis(axis).to_vec()?, a.min_axis(axis).to_vec()?);
            assert_eq!(csc.max_axis(axis).to_vec()?, max);
            let places = (a.argmax_axis(axis).to_vec()?, a.argmin_axis(axis).to_vec()?);
            found.push((max, min, places));
        }
        let whole = match dense.is_empty() {
            true => {
                assert!(a.try_max().is_err() && csc.try_min().is_err());
                None
            }
            false => {
                let whole = (a.max().get()?, a.min().get()?);
                let (at, least) = (a.argmax()?, a.argmin()?);
                assert_eq!((a.get(at.0, at.1)?, a.get(least.0, least.1)?), whole);
                assert_eq!((csc.argmax()?, csc.max().get()?), (at, whole.0));
                Some(whole)
            }
        };
        Ok((found, whole))
    });
    let axes = [0, 1].into_iter().filter(|&axis| dense.shape()[axis] > 0);
    let expected: Vec<_> = axes
        .map(|axis| {
            let (at, max): (Vec<_>, Vec<_>) = along(&dense, axis, |line| first(line, |a, b| a > b))
                .into_iter()
                .unzip();
            let (least, min): (Vec<_>, Vec<_>) =
                along(&dense, axis, |line| first(line, |a, b| a < b))
                    .into_iter()
                    .unzip();
            (max, min, (at, least))
        })
        .collect();
    assert_eq!(found.0, expected);
    let all = dense.iter().copied();
    let larger = all.clone().reduce(|a, b| if b > a { b } else { a });
    let smaller = all.reduce(|a, b| if b < a { b } else { a });
    assert_eq!(found.1, larger.zip(smaller));
}

fn check_means<T: Exact + Field>(entries: &Entries) {
    let (whole, means) = everywhere(|| {
        let a = entries.csr::<T>()?;
        let sums = [0, 1].map(|axis| a.sum_axis(axis).to_vec());
        let means = [0, 1].map(|axis| a.mean_axis(axis).to_vec());
        let [(columns, of_columns), (rows, of_rows)] =
            [(&sums[0], &means[0]), (&sums[1], &means[1])];
        let scaled = |sums: &Result<Vec<T>, Error>, n: usize| {
            let sums = sums.clone()?;
            Ok::<_, Error>(
                sums.into_iter()
                    .map(|x| x.over(T::from_f64(n as f64)))
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(
            bits(&scaled(columns, a.n_rows())?),
            bits(&of_columns.clone()?)
        );
        assert_eq!(bits(&scaled(rows, a.n_cols())?), bits(&of_rows.clone()?));
        let whole = bits(&[a.mean().get()?]);
        assert_eq!(bits(&[a.to_csc()?.mean().get()?]), whole);
        Ok((whole, bits(&of_rows.clone()?)))
    });
    let dense = entries.dense::<T>();
    if !dense.is_empty() {
        let sum = dense.iter().fold(T::ZERO, |s, &x| s.plus(x));
        assert_eq!(whole, bits(&[sum.over(T::from_f64(dense.len() as f64))]));
        assert_eq!(means.len(), entries.n_rows);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn sums_and_counts(entries in entries()) {
        check_sums::<f64>(&entries);
        check_sums::<Complex<f32>>(&entries);
        check_sums::<i64>(&entries);
    }

    #[test]
    fn largest_and_smallest(entries in entries()) {
        check_extremes::<f64>(&entries);
        check_extremes::<f32>(&entries);
        check_extremes::<i32>(&entries);
    }

    #[test]
    fn means(entries in entries()) {
        check_means::<f64>(&entries);
        check_means::<Complex<f32>>(&entries);
    }
}

#[test]
fn what_is_no_number_is_passed_on() {
    let (columns, rows) = everywhere(|| {
        let vals = vec![1.0, f64::NAN, -5.0, -2.0];
        let a = Csr::new(3, 3, vec![0, 2, 4, 4], vec![0, 2, 0, 1], vals)?;
        assert!(a.max().get()?.is_nan() && a.min().get()?.is_nan());
        assert_eq!(a.count_nonzero().get()?, 4);
        assert_eq!(a.argmax_axis(1).to_vec()?, [2, 2, 0]);
        assert_eq!(a.argmin_axis(0).to_vec()?, [1, 1, 0]);
        Ok((
            bits(&a.max_axis(0).to_vec()?),
            bits(&a.min_axis(1).to_vec()?),
        ))
    });
    assert_eq!(columns, bits(&[1.0, 0.0, f64::NAN]));
    assert_eq!(rows, bits(&[f64::NAN, -5.0, 0.0]));
}

#[test]
fn unsigned_and_full_matrices() {
    everywhere(|| {
        let a = Csr::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![7u32, 3, 9, 4])?;
        assert_eq!((a.max().get()?, a.min().get()?), (9, 3));
        assert_eq!(a.min_axis(0).to_vec()?, [7, 3]);
        let b = a.drop_small(3)?;
        assert_eq!((b.min().get()?, b.min_axis(1).to_vec()?), (0, vec![0, 4]));
        let none = Csr::<i64>::zeros(3, 2)?;
        assert_eq!(
            (none.max().get()?, none.max_axis(1).to_vec()?),
            (0, vec![0; 3])
        );
        assert!(Csr::<f64>::zeros(0, 2)?.max_axis(1).to_vec()?.is_empty());
        assert!(Csr::<f64>::zeros(0, 2)?.mean().get()?.is_nan());
        Ok(())
    });
}

/// More rows and columns than a part of the work has.
#[test]
fn long_matrices() {
    everywhere(|| {
        let a = gallery::poisson2d::<f64>(40)?;
        let b = a.balance()?;
        for axis in [0, 1] {
            assert_eq!(a.max_axis(axis).to_vec()?, [4.0; 1600]);
            assert_eq!(b.min_axis(axis).to_vec()?, [-1.0; 1600]);
            assert_eq!(a.argmax_axis(axis).to_vec()?, (0..1600).collect::<Vec<_>>());
        }
        assert_eq!((b.trace().get()?, b.max().get()?), (6400.0, 4.0));
        Ok(())
    });
}

#[test]
fn refusals() {
    let a = gallery::poisson1d::<f64>(3).unwrap();
    let check = |error: Error, expected: &str| assert_eq!(error.to_string(), expected);
    let no_axis = ": expected axis 0 or 1, found 2";
    check(
        a.try_max_axis(2).unwrap_err(),
        &format!("max_axis{no_axis}"),
    );
    check(
        a.try_argmin_axis(2).unwrap_err(),
        &format!("argmin_axis{no_axis}"),
    );
    check(
        a.try_mean_axis(2).unwrap_err(),
        &format!("mean_axis{no_axis}"),
    );
    let counts = a.try_count_nonzero_axis(2).unwrap_err();
    check(counts, &format!("count_nonzero_axis{no_axis}"));
    let none = Csr::<f64>::zeros(0, 3).unwrap();
    let expected = "max: expected a matrix with elements, found 0 by 3";
    check(none.try_max().unwrap_err(), expected);
    let expected = "min_axis: expected a matrix with elements along axis 0, found 0 by 3";
    check(none.try_min_axis(0).unwrap_err(), expected);
}

/// Where single precision would no longer grow by 1.
#[test]
fn sums_of_single_precision_are_those_of_double() {
    let of_column = [16_777_216.0f32, 1.0, 1.0, 2.0];
    everywhere(|| {
        let pos = (0..=4).collect();
        let a = Csr::new(4, 1, pos, vec![0; 4], of_column.to_vec())?;
        for (a, axis) in [(&a, 0), (&a.transpose()?, 1)] {
            assert_eq!(a.sum_axis(axis).to_vec()?, [16_777_220.0]);
            let complex = a.map_values(|x| Complex::new(0.0, x))?;
            let sum = Complex::new(0.0, 16_777_220.0);
            assert_eq!(complex.sum_axis(axis).to_vec()?, [sum]);
        }
        assert_eq!(a.norm1().get()?, 16_777_220.0);
        assert_eq!(a.transpose()?.norm_inf().get()?, 16_777_220.0);
        Ok(a.mean_axis(0).to_vec()?[0].to_bits())
    });
}

/// Of a matrix with far more columns than entries no product is made.
#[test]
fn sums_of_wide_rows_are_products_with_ones() {
    fn check<T: Field>(times: impl Fn(f64) -> T + Sync) {
        let (n_cols, times) = (100_000, &times);
        let value = move |row: usize, k: usize| times(((k + row) as f64).sin() * 1e3);
        let row =
            |row: usize, n: usize| (0..n).map(move |k| (row, (k * 37) % n_cols, value(row, k)));
        everywhere(|| {
            let triplets = row(0, 3000).chain(row(2, 1)).chain(row(3, 999));
            let triplets = triplets.chain([(4, 17, times(-0.0))]);
            let a = Csr::from_entries(5, n_cols, triplets)?;
            let ones = Vector::<T>::ones([n_cols]);
            let sums = bits(&a.sum_axis(1).to_vec()?);
            assert_eq!(sums, bits(&a.matvec(&ones).to_vec()?));
            Ok(sums)
        });
    }
    check(|x| x);
    check(|x| Complex::new(x * 0.3, x * -0.7));
    let rows = Csr::<f32>::from_entries(3, 4_000_000_000, [(1, 3_999_999_999, 2.5)]).unwrap();
    assert_eq!(rows.sum_axis(1).to_vec().unwrap(), [0.0, 2.5, 0.0]);
}
