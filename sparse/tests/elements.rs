//! What is done element by element, against loops over dense matrices: larger and smaller elements
//! and where they are, diagonals, other shapes, and matrices as text.

use proptest::collection::vec;
use proptest::prelude::*;
use sparsefuse_dense::Vector;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::{Csr, Triplets, gallery};
use sparsefuse_testing::everywhere;

/// The elements of a matrix of some rows and columns, many of them not stored, some stored zeros.
type Elements = (usize, usize, Vec<Option<i8>>);

fn elements(n_rows: usize, n_cols: usize) -> impl Strategy<Value = Elements> {
    let element = prop_oneof![3 => Just(None), 2 => (-2i8..3).prop_map(Some)];
    vec(element, n_rows * n_cols).prop_map(move |elements| (n_rows, n_cols, elements))
}

fn csr((n_rows, n_cols, elements): &Elements) -> Result<Csr<f64>, Error> {
    let mut triplets = Triplets::new(*n_rows, *n_cols)?;
    for (k, element) in elements.iter().enumerate() {
        if let Some(element) = element {
            triplets.push(k / n_cols, k % n_cols, f64::from(*element))?;
        }
    }
    Csr::from_triplets(&triplets)
}

fn dense((_, _, elements): &Elements) -> Vec<f64> {
    let value = |element: &Option<i8>| f64::from(element.unwrap_or(0));
    elements.iter().map(value).collect()
}

fn two() -> impl Strategy<Value = (Elements, Elements)> {
    (1usize..9, 1usize..7).prop_flat_map(|(m, n)| (elements(m, n), elements(m, n)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn larger_and_smaller_elements((a, b) in two()) {
        let found = everywhere(|| {
            let (a, b) = (csr(&a)?, csr(&b)?);
            let (larger, smaller) = (a.maximum(&b)?, a.minimum(&b)?);
            // With a structure in common the values are array code.
            let negative = -&a;
            let absolute = a.maximum(&negative)?.to_dense()?.to_vec()?;
            assert_eq!(absolute, a.abs().to_dense()?.to_vec()?);
            Ok((larger.to_dense()?.to_vec()?, smaller.to_dense()?.to_vec()?, larger.nnz()))
        });
        let both = || dense(&a).into_iter().zip(dense(&b));
        let larger: Vec<f64> = both().map(|(a, b)| a.max(b)).collect();
        let smaller: Vec<f64> = both().map(|(a, b)| a.min(b)).collect();
        let stored = a.2.iter().zip(&b.2).filter(|(a, b)| a.is_some() || b.is_some()).count();
        prop_assert_eq!(found, (larger, smaller, stored));
    }

    #[test]
    fn where_the_largest_and_smallest_are((a, _) in two()) {
        let found = everywhere(|| {
            let a = csr(&a)?;
            Ok((a.argmax()?, a.argmin()?))
        });
        let values = dense(&a);
        let first = |best: f64| values.iter().position(|&x| x == best).unwrap();
        let place = |k: usize| (k / a.1, k % a.1);
        let largest = values.iter().copied().fold(f64::MIN, f64::max);
        let smallest = values.iter().copied().fold(f64::MAX, f64::min);
        prop_assert_eq!(found, (place(first(largest)), place(first(smallest))));
    }

    #[test]
    fn other_diagonals((a, _) in two(), offset in -9isize..9) {
        let (n_rows, n_cols, _) = a;
        let on_diagonal = |k: usize| (k % n_cols) as isize - (k / n_cols) as isize == offset;
        let mut expected = dense(&a);
        let places: Vec<usize> = (0..expected.len()).filter(|&k| on_diagonal(k)).collect();
        for (number, &k) in places.iter().enumerate() {
            expected[k] = number as f64;
        }
        let found = everywhere(|| {
            let values = Vector::from_fn([places.len()], |[k]| k as f64);
            let b = csr(&a)?.with_diagonal(offset, &values)?;
            assert_eq!(b.shape(), (n_rows, n_cols));
            assert_eq!(b.diagonal(offset)?.to_vec()?, values.to_vec()?);
            b.to_dense()?.to_vec()
        });
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn other_shapes((a, _) in two()) {
        let (m, n, _) = a;
        let found = everywhere(|| {
            let first = csr(&a)?;
            let stored = first.nnz();
            for (rows, columns) in [(1, m * n), (m * n, 1), (n, m)] {
                let b = first.reshape(rows, columns)?;
                assert_eq!((b.shape(), b.nnz()), ((rows, columns), stored));
                assert_eq!(b.to_dense()?.to_vec()?, dense(&a));
                assert_eq!(b.reshape(m, n)?.to_rows()?, first.to_rows()?);
            }
            Ok(stored)
        });
        prop_assert_eq!(found, a.2.iter().flatten().count());
    }
}

#[test]
fn balanced_matrices_and_others() {
    everywhere(|| {
        let a = gallery::rmat::<f64>(6, 4, 1)?;
        let b = a.balance()?;
        let values = Vector::<f64>::linspace(1.0, 2.0, 64);
        let (plain, balanced) = (a.with_diagonal(0, &values)?, b.with_diagonal(0, &values)?);
        assert_eq!(plain.to_rows()?, balanced.to_rows()?);
        assert_eq!(a.argmax()?, b.argmax()?);
        assert_eq!(a.maximum(&b)?.to_rows()?, a.to_rows()?);
        assert_eq!(
            b.reshape(32, 128)?.to_rows()?,
            a.reshape(32, 128)?.to_rows()?
        );
        assert_eq!(a.to_string(), b.to_string());
        Ok(())
    });
}

#[test]
fn what_is_no_number_is_passed_on_and_found_first() {
    let vals = vec![1.0, f64::NAN, 5.0, f64::NAN];
    let a = Csr::new(2, 3, vec![0, 2, 4], vec![0, 2, 0, 1], vals).unwrap();
    assert_eq!((a.argmax().unwrap(), a.argmin().unwrap()), ((0, 2), (0, 2)));
    let none = Csr::<f64>::from_triplets(&Triplets::new(2, 3).unwrap()).unwrap();
    assert_eq!(none.argmax().unwrap(), (0, 0));
    for (left, right) in [(&a, &none), (&none, &a)] {
        let larger = left.maximum(right).unwrap().to_rows().unwrap().vals;
        assert!(larger[1].is_nan() && larger[3].is_nan(), "{larger:?}");
    }
}

#[test]
fn refusals() {
    let a = gallery::poisson1d::<f64>(4).unwrap();
    let b = gallery::poisson1d::<f64>(3).unwrap();
    let check = |error: Error, expected: &str| assert_eq!(error.to_string(), expected);
    check(
        a.maximum(&b).unwrap_err(),
        "maximum: expected a shape of (4, 4), found (3, 3)",
    );
    check(
        a.reshape(3, 5).unwrap_err(),
        "reshape: expected a shape of 16 elements, found 3 by 5",
    );
    check(
        a.with_diagonal(1, &Vector::zeros([4])).unwrap_err(),
        "with_diagonal: expected a shape of (3), found (4)",
    );
    check(
        a.row_range(0..0).unwrap().argmax().unwrap_err(),
        "argmax: expected a matrix with elements, found 0 by 4",
    );
}

#[test]
fn long_matrices_are_shown_at_their_ends() {
    let text = everywhere(|| {
        let a = gallery::poisson1d::<f64>(200)?;
        Ok(format!("{a:.1}"))
    });
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 25 + 1 + 25);
    assert_eq!(lines[0], "200 by 200, 598 entries of type f64");
    assert_eq!(lines[1], "  (0, 0)      2.0");
    assert_eq!(lines[26], "  ...");
    assert_eq!(lines[51], "  (199, 199)  2.0");
    let none = Csr::<i32>::from_triplets(&Triplets::new(2, 3).unwrap()).unwrap();
    assert_eq!(none.to_string(), "2 by 3, 0 entries of type i32");
}
