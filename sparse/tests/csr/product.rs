//! Products with vectors.

use crate::{Entries, Exact, bits, entries, everywhere, for_each_type};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, proptest};
use sparsefuse_dense::{Array, Vector, step};
use sparsefuse_sparse::{Csr, Triplets};

fn check_product<T: Exact>(entries: &Entries) {
    let dense = entries.dense::<T>();
    let x: Vec<T> = (0..entries.n_cols)
        .map(|i| T::exact((i * 7 % 19) as i8 - 9))
        .collect();
    let expected: Vec<T> = (dense.rows().into_iter())
        .map(|row| {
            row.iter()
                .zip(&x)
                .fold(T::ZERO, |sum, (&a, &x)| sum + a * x)
        })
        .collect();
    let spread: Vec<T> = x.iter().flat_map(|&x| [x, T::ONE]).collect();
    let found = everywhere(|| {
        let a = entries.csr::<T>()?;
        let whole = Vector::from_slice(&x);
        let y = &a * &whole;
        assert_eq!(y.len(), entries.n_rows);
        // The product of what was computed just before, and computed with just after.
        let difference = a.try_matvec(&(&whole + &whole))? - &y;
        let every_second = Vector::from_slice(&spread).slice(step(.., 2));
        let of_view = a.matvec(&every_second);
        let products = [y.to_vec()?, difference.to_vec()?, of_view.to_vec()?];
        assert_eq!(products[0], products[1]);
        Ok(products)
    });
    for found in found {
        assert_eq!(found, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn products(entries in entries()) {
        for_each_type!(check_product(&entries));
    }

    /// Ascending columns, one fused multiply-add each, starting from zero: to the bit.
    #[test]
    fn the_order_of_summation(
        entries in entries(),
        numbers in vec(-1e3f64..1e3, 54),
    ) {
        let (values, x) = numbers.split_at(40);
        let places = entries.places();
        let x = &x[..entries.n_cols];
        let mut expected = vec![0.0; entries.n_rows];
        for (&(row, col), &value) in places.iter().zip(values) {
            expected[row] = value.mul_add(x[col], expected[row]);
        }
        let found = everywhere(|| {
            let mut triplets = Triplets::new(entries.n_rows, entries.n_cols).unwrap();
            for (&(row, col), &value) in places.iter().zip(values).rev() {
                triplets.push(row, col, value).unwrap();
            }
            let a = Csr::from_triplets(&triplets)?;
            Ok(bits(&(&a * &Vector::from_slice(x)).to_vec()?))
        });
        assert_eq!(found, bits(&expected));
    }
}

#[test]
fn empty_matrices() {
    for (n_rows, n_cols) in [(0, 0), (0, 9), (9, 0), (1, 1), (9, 9)] {
        let entries = Entries {
            n_rows,
            n_cols,
            entries: Vec::new(),
        };
        for_each_type!(check_product(&entries));
    }
}

/// A stored zero meets infinity, a missing entry does not.
#[test]
fn what_is_not_finite_reaches_the_rows_that_meet_it() {
    let n = 11;
    for bad in [f64::NAN, f64::INFINITY] {
        let found = everywhere(|| {
            let mut triplets = Triplets::new(n, n).unwrap();
            for i in 0..n {
                triplets.push(i, i, 1.0).unwrap();
            }
            triplets.push(2, 7, 0.0).unwrap();
            let a = Csr::from_triplets(&triplets)?;
            let x = Vector::from_fn([n], |[i]| if i == 7 { bad } else { 1.0 });
            Ok(bits(&(&a * &x).to_vec()?))
        });
        let is_finite = |row: usize| found[row].get::<f64>().is_some_and(f64::is_finite);
        let is_wrong: Vec<_> = (0..n).filter(|&row| !is_finite(row)).collect();
        assert_eq!(is_wrong, [2, 7], "{bad}");
    }
}

#[test]
fn a_vector_of_another_length_is_refused() {
    let a = Csr::<f64>::from_rows(2, 3, |_| sparsefuse_sparse::LocalRows {
        pos: vec![0, 0, 0],
        ..Default::default()
    });
    let error = a.unwrap().try_matvec(&Vector::ones([2])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "spmv: expected a shape of (3), found (2)"
    );
}

/// Products with dense matrices of several widths, before and after the matrix is packed, and
/// fused with arithmetic: each column has the bits of the product with it.
fn check_wide<T: Exact>(entries: &Entries, width: usize) {
    let at = |i: usize| T::exact((i * 7 % 23) as i8 - 11);
    let x: Vec<T> = (0..entries.n_cols * width).map(at).collect();
    let dense = entries.dense::<T>();
    let expected: Vec<T> = (0..entries.n_rows * width)
        .map(|i| {
            let (row, column) = (i / width, i % width);
            let of_column = (0..entries.n_cols).map(|k| (dense[[row, k]], x[k * width + column]));
            of_column.fold(T::ZERO, |sum, (a, x)| sum + a * x)
        })
        .collect();
    let found = everywhere(|| {
        let a = entries.csr::<T>()?;
        let whole = Array::from_shape_vec([entries.n_cols, width], x.clone())?;
        let first = &a * &whole;
        let _packs = [
            &a * &whole.column(0).contiguous()?,
            &a * &whole.column(0).contiguous()?,
        ]
        .map(|product| product.to_vec());
        let computed = &a * &(&whole + &whole);
        let difference = computed - &first;
        let of_view = a.try_matmul(&whole.transpose().contiguous()?.transpose())?;
        let all = [first.to_vec()?, difference.to_vec()?, of_view.to_vec()?];
        assert_eq!(all[0], all[1]);
        assert_eq!(all[0], all[2]);
        Ok(all[0].clone())
    });
    assert_eq!(found, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn products_with_dense_matrices(entries in entries(), width in 1usize..45) {
        for_each_type!(check_wide(&entries, width));
    }
}

#[test]
fn products_with_dense_matrices_without_columns_or_of_wrong_shape() {
    let a = Csr::<f64>::identity(5).unwrap();
    let none = &a * &Array::<f64, 2>::zeros([5, 0]);
    assert_eq!(none.shape(), [5, 0]);
    assert!(none.to_vec().unwrap().is_empty());
    let error = a.try_matmul(&Array::<f64, 2>::zeros([4, 2])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "spmm: expected a shape of (5, 2), found (4, 2)"
    );
}
