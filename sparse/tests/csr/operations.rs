//! Sums, parts, scaling, norms and Kronecker products, against dense loops and `sprs`.

use crate::{Entries, Exact, bits, entries, entries_of, everywhere, for_two_types, rows};
use ndarray::{Array2, s};
use proptest::prelude::{ProptestConfig, Strategy, proptest};
use sparsefuse_dense::{Numeric, Vector};
use sparsefuse_runtime::Error;
use sparsefuse_sparse::{Csr, gallery};

/// A matrix as its places and its dense form.
type Found<T> = (Vec<(u32, u32)>, Array2<T>);

fn found<T: Numeric>(a: &Csr<T>) -> Result<Found<T>, Error> {
    let triplets = a.to_triplets()?;
    assert_eq!(a.nnz(), triplets.len());
    let places = triplets.iter().map(|(row, col, _)| (row, col)).collect();
    Ok((places, a.to_ndarray()?))
}

/// The places of entries for which something holds.
fn places(entries: &Entries, keep: impl Fn(usize, usize) -> bool) -> Vec<(u32, u32)> {
    let kept = entries.places().into_iter().filter(|&(i, j)| keep(i, j));
    kept.map(|(i, j)| (i as u32, j as u32)).collect()
}

/// Some elements, one for each row or column.
fn numbers<T: Exact>(len: usize) -> Vec<T> {
    (0..len).map(|i| T::exact((i * 5 % 7) as i8 - 3)).collect()
}

pub(crate) fn two_of_one_shape() -> impl Strategy<Value = (Entries, Entries)> {
    (0usize..14, 0usize..14)
        .prop_flat_map(|(n_rows, n_cols)| (entries_of(n_rows, n_cols), entries_of(n_rows, n_cols)))
}

fn check_sums<T: Exact>(left: &Entries, right: &Entries) {
    let (two, three) = (T::exact(2), T::exact(3));
    let results = everywhere(|| {
        let (a, b) = (left.csr::<T>()?, right.csr::<T>()?);
        // The same structure: on the values alone.
        let shared = a.scale(three);
        let apart = left.csr::<T>()?.scale(three);
        assert_eq!(rows(&(&a + &shared))?, rows(&(&a + &apart))?);
        assert_eq!(rows(&(&a - &shared))?, rows(&(&a - &apart))?);
        let combine = |other| a.linear_combination(two, other, three);
        assert_eq!(rows(&combine(&shared)?)?, rows(&combine(&apart)?)?);
        let product = a.multiply(&shared)?;
        assert_eq!(rows(&product)?, rows(&a.multiply(&apart)?)?);
        Ok([
            found(&(&a + &b))?,
            found(&(&a - &b))?,
            found(&a.linear_combination(two, &b, three)?)?,
            found(&a.multiply(&b)?)?,
        ])
    });
    let (a, b) = (left.dense::<T>(), right.dense::<T>());
    let (in_a, in_b) = (left.places(), right.places());
    let mut either: Vec<_> = in_a.iter().chain(&in_b).copied().collect();
    either.sort_unstable();
    either.dedup();
    let both = in_a
        .iter()
        .filter(|place| in_b.contains(place))
        .copied()
        .collect::<Vec<_>>();
    let by_place =
        |of: fn(T, T) -> T| Array2::from_shape_fn(a.dim(), |place| of(a[place], b[place]));
    let expected = [
        by_place(|a, b| a + b),
        by_place(|a, b| a.minus(b)),
        by_place(|a, b| T::exact(2) * a + T::exact(3) * b),
        by_place(|a, b| a * b),
    ];
    for (number, (found, dense)) in results.into_iter().zip(expected).enumerate() {
        let places = if number == 3 { &both } else { &either };
        let places: Vec<_> = places.iter().map(|&(i, j)| (i as u32, j as u32)).collect();
        assert_eq!(found, (places, dense), "operation {number}");
    }
}

fn check_parts<T: Exact>(entries: &Entries, offset: isize) {
    let (n_rows, n_cols) = (entries.n_rows, entries.n_cols);
    let (top, bottom) = (n_rows / 3, n_rows - n_rows / 4);
    let (left, right) = (n_cols / 4, n_cols - n_cols / 3);
    let list: Vec<usize> = (0..n_rows)
        .map(|row| row * 3 % n_rows)
        .chain(0..n_rows / 2)
        .collect();
    let (triangles, pieces, selected, diagonal) = everywhere(|| {
        let a = entries.csr::<T>()?;
        let counts: Vec<u64> = (0..n_rows)
            .map(|row| {
                entries
                    .places()
                    .iter()
                    .filter(|place| place.0 == row)
                    .count() as u64
            })
            .collect();
        assert_eq!(a.nnz_per_row()?.to_vec()?, counts);
        let block = a.block(top..bottom, left..right)?;
        let selected = a.select_rows(&list)?.to_ndarray()?;
        let diagonal = bits(&a.diagonal(offset)?.to_vec()?);
        let triangles = [
            found(&a.lower_triangle(offset)?)?,
            found(&a.upper_triangle(offset)?)?,
        ];
        let pieces = [
            a.row_range(top..bottom)?,
            a.column_range(left..right)?,
            block,
        ]
        .map(|a| a.to_ndarray());
        let [rows, columns, block] = pieces;
        Ok((triangles, [rows?, columns?, block?], selected, diagonal))
    });
    let dense = entries.dense::<T>();
    let is_lower = |i: usize, j: usize| j as isize - i as isize <= offset;
    let is_upper = |i: usize, j: usize| j as isize - i as isize >= offset;
    let keep = |keep: &dyn Fn(usize, usize) -> bool| {
        let kept = |(i, j)| if keep(i, j) { dense[(i, j)] } else { T::ZERO };
        (
            places(entries, keep),
            Array2::from_shape_fn(dense.dim(), kept),
        )
    };
    assert_eq!(triangles, [keep(&is_lower), keep(&is_upper)]);
    let expected = [
        dense.slice(s![top..bottom, ..]).to_owned(),
        dense.slice(s![.., left..right]).to_owned(),
        dense.slice(s![top..bottom, left..right]).to_owned(),
    ];
    assert_eq!(pieces, expected);
    let expected = |(i, j)| dense[(list[i], j)];
    assert_eq!(
        selected,
        Array2::from_shape_fn((list.len(), n_cols), expected)
    );
    let on_it = (0..n_rows).filter_map(|i| Some((i, i.checked_add_signed(offset)?)));
    let expected: Vec<T> = on_it
        .filter(|&(_, j)| j < n_cols)
        .map(|place| dense[place])
        .collect();
    assert_eq!(diagonal, bits(&expected));
}

fn check_scaling<T: Exact>(entries: &Entries) {
    let by_row: Vec<T> = numbers(entries.n_rows);
    let by_column: Vec<T> = numbers(entries.n_cols);
    let [rows, columns, mapped] = everywhere(|| {
        let a = entries.csr::<T>()?;
        let rows = a.scale_rows(&Vector::from_slice(&by_row))?;
        let columns = a.scale_columns(&Vector::from_slice(&by_column))?;
        let mapped = a.map_values(|value| value * value)?;
        Ok([
            rows.to_ndarray()?,
            columns.to_ndarray()?,
            mapped.to_ndarray()?,
        ])
    });
    let dense = entries.dense::<T>();
    let of = |by: &dyn Fn((usize, usize)) -> T| {
        Array2::from_shape_fn(dense.dim(), |place| dense[place] * by(place))
    };
    assert_eq!(rows, of(&|(i, _)| by_row[i]));
    assert_eq!(columns, of(&|(_, j)| by_column[j]));
    assert_eq!(mapped, of(&|place| dense[place]));
}

fn check_row_and_column_sums<T: Exact>(entries: &Entries) {
    let (rows, columns) = everywhere(|| {
        let a = entries.csr::<T>()?;
        Ok((a.sum_axis(1).to_vec()?, a.sum_axis(0).to_vec()?))
    });
    let dense = entries.dense::<T>();
    let sum = |elements: ndarray::ArrayView1<'_, T>| elements.iter().fold(T::ZERO, |s, &x| s + x);
    assert_eq!(rows, dense.rows().into_iter().map(sum).collect::<Vec<_>>());
    assert_eq!(
        columns,
        dense.columns().into_iter().map(sum).collect::<Vec<_>>()
    );
}

fn check_kron<T: Exact>(left: &Entries, right: &Entries) {
    let found = everywhere(|| {
        let product = left.csr::<T>()?.kron(&right.csr()?)?;
        assert_eq!(product.nnz(), left.places().len() * right.places().len());
        product.to_ndarray()
    });
    let (a, b) = (left.dense::<T>(), right.dense::<T>());
    let (p, q) = (right.n_rows, right.n_cols);
    let expected = |(i, j): (usize, usize)| a[(i / p, j / q)] * b[(i % p, j % q)];
    let shape = (left.n_rows * p, left.n_cols * q);
    assert_eq!(found, Array2::from_shape_fn(shape, expected));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn sums((left, right) in two_of_one_shape()) {
        for_two_types!(check_sums(&left, &right));
    }

    #[test]
    fn parts(entries in entries(), offset in -16isize..=16) {
        for_two_types!(check_parts(&entries, offset));
    }

    #[test]
    fn scaling(entries in entries()) {
        for_two_types!(check_scaling(&entries));
        for_two_types!(check_row_and_column_sums(&entries));
    }

    #[test]
    fn kronecker_products(left in entries(), right in entries()) {
        for_two_types!(check_kron(&left, &right));
    }

    #[test]
    fn norms(entries in entries()) {
        let norms = everywhere(|| {
            let a = entries.csr::<f64>()?;
            let norms = [a.norm1(), a.norm_inf(), a.norm_frobenius(), a.norm_max()];
            norms.into_iter().map(|norm| norm.get()).collect::<Result<Vec<_>, _>>()
        });
        let dense = entries.dense::<f64>();
        let largest = |sums: Vec<f64>| sums.into_iter().fold(0.0, f64::max);
        let sum = |elements: ndarray::ArrayView1<'_, f64>| elements.iter().map(|x| x.abs()).sum();
        assert_eq!(norms[0], largest(dense.columns().into_iter().map(sum).collect()));
        assert_eq!(norms[1], largest(dense.rows().into_iter().map(sum).collect()));
        approx::assert_relative_eq!(norms[2], dense.iter().map(|x| x * x).sum::<f64>().sqrt());
        assert_eq!(norms[3], dense.iter().fold(0.0, |most, x| x.abs().max(most)));
    }

    #[test]
    fn sums_and_products_are_those_of_sprs((left, right) in two_of_one_shape()) {
        let (a, b) = (left.csr::<f64>().unwrap(), right.csr::<f64>().unwrap());
        let (c, d) = (a.to_sprs().unwrap(), b.to_sprs().unwrap());
        assert_eq!((&a + &b).to_ndarray().unwrap(), (&c + &d).to_dense());
        let transposed = b.transpose().unwrap();
        let product = &c * &d.transpose_view();
        assert_eq!((&a * &transposed).to_ndarray().unwrap(), product.to_dense());
    }
}

#[test]
fn small_entries_and_zeros_are_dropped() {
    let vals = vec![0.5, -2.0, 0.0, f64::NAN];
    let a = Csr::new(1, 4, vec![0, 4], vec![0, 1, 2, 3], vals).unwrap();
    let kept = |tolerance| {
        a.drop_small(tolerance)
            .unwrap()
            .to_triplets()
            .unwrap()
            .into_parts()
            .1
    };
    assert_eq!(kept(0.0), [0, 1, 3]);
    assert_eq!(kept(1.0), [1, 3]);
}

#[test]
fn the_smallest_whole_number_is_not_dropped() {
    let a = Csr::new(1, 3, vec![0, 3], vec![0, 1, 2], vec![i32::MIN, 0, -1]).unwrap();
    let kept = a.drop_small(0).unwrap().to_triplets().unwrap();
    assert_eq!(kept.vals(), [i32::MIN, -1]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let a = gallery::poisson1d::<f64>(3).unwrap();
    let b = gallery::poisson1d::<f64>(4).unwrap();
    let check = |found: Result<Csr<f64>, Error>, message: &str| {
        assert_eq!(found.unwrap_err().to_string(), message);
    };
    check(
        a.try_add(&b),
        "add: expected a shape of (3, 3), found (4, 4)",
    );
    check(
        a.row_range(1..4),
        "row_range: expected a range within 0..3, found 1..4",
    );
    check(
        a.select_rows(&[0, 3]),
        "select_rows: expected rows below 3, found 3",
    );
    let factors = Vector::ones([4]);
    check(
        a.scale_rows(&factors),
        "scale_rows: expected a shape of (3), found (4)",
    );
}

/// What is kept is decided once for each entry, whatever is answered later.
#[test]
fn a_filter_is_asked_once_for_each_entry() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    everywhere(|| {
        let a = gallery::poisson2d::<f64>(20)?;
        let asked = AtomicUsize::new(0);
        let kept = a.filter(|_, _, _| asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(3))?;
        let n = asked.load(Ordering::Relaxed);
        let runtime = a.runtime();
        let all: usize = runtime
            .all_gather(&[n as u64])?
            .iter()
            .map(|n| n[0] as usize)
            .sum();
        assert!(all == a.nnz() || all == a.nnz() * runtime.ranks());
        let (rows, whole) = (found(&kept)?, found(&a)?);
        assert!(rows.0.iter().all(|place| whole.0.contains(place)));
        assert_eq!(kept.nnz_per_row()?.sum().get()?, kept.nnz() as u64);
        Ok(())
    });
}
