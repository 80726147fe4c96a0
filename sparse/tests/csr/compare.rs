//! Comparisons of two matrices, against dense loops.

use crate::operations::two_of_one_shape;
use crate::{Entries, Exact, everywhere};
use num_complex::Complex;
use proptest::prelude::{ProptestConfig, proptest};
use sparsefuse_dense::{Numeric, Vector};
use sparsefuse_runtime::Error;
use sparsefuse_sparse::{Csr, gallery};

/// Ones where a comparison of two elements holds.
fn ones<T: Exact>(left: &Entries, right: &Entries, holds: impl Fn(T, T) -> bool) -> Vec<T> {
    let (left, right) = (left.dense::<T>(), right.dense::<T>());
    let pairs = left.iter().zip(&right);
    let one = |(&a, &b)| if holds(a, b) { T::ONE } else { T::ZERO };
    pairs.map(one).collect()
}

fn check_equal<T: Exact>(left: &Entries, right: &Entries) {
    let (differ, is_equal) = everywhere(|| {
        let (a, b) = (left.csr::<T>()?, right.csr::<T>()?);
        assert!(a.equals(&a)? && a.equals(&a.drop_small(T::Magnitude::ZERO)?)?);
        // The same structure: on the values alone.
        let (shared, apart) = (a.scale(T::exact(3)), left.csr::<T>()?.scale(T::exact(3)));
        let (of_shared, of_apart) = (a.not_equal(&shared)?, a.not_equal(&apart)?);
        assert_eq!(of_shared.to_rows()?, of_apart.to_rows()?);
        assert_eq!(a.equals(&shared)?, of_shared.nnz() == 0);
        let differ = a.not_equal(&b)?;
        assert_eq!(differ.count_nonzero().get()?, differ.nnz() as i64);
        assert_eq!(b.equals(&a)?, differ.nnz() == 0);
        Ok((differ.to_dense()?.to_vec()?, a.equals(&b)?))
    });
    assert_eq!(differ, ones::<T>(left, right, |a, b| a != b));
    assert_eq!(is_equal, left.dense::<T>() == right.dense::<T>());
}

fn check_less<T: Exact + PartialOrd>(left: &Entries, right: &Entries) {
    let found = everywhere(|| {
        let (a, b) = (left.csr::<T>()?, right.csr::<T>()?);
        let (shared, apart) = (a.scale(T::exact(3)), left.csr::<T>()?.scale(T::exact(3)));
        assert_eq!(a.less(&shared)?.to_rows()?, a.less(&apart)?.to_rows()?);
        assert_eq!(
            a.greater(&shared)?.to_rows()?,
            a.greater(&apart)?.to_rows()?
        );
        let dense = |a: Csr<T>| a.to_dense()?.to_vec();
        Ok([dense(a.less(&b)?)?, dense(a.greater(&b)?)?])
    });
    let less = ones::<T>(left, right, |a, b| a < b);
    assert_eq!(found, [less, ones::<T>(left, right, |a, b| a > b)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn equal_and_not((left, right) in two_of_one_shape()) {
        check_equal::<f64>(&left, &right);
        check_equal::<Complex<f32>>(&left, &right);
        check_equal::<i64>(&left, &right);
    }

    #[test]
    fn less_and_greater((left, right) in two_of_one_shape()) {
        check_less::<f64>(&left, &right);
        check_less::<i32>(&left, &right);
    }
}

#[test]
fn what_is_close() {
    let of = |vals: Vec<f64>| {
        let n = vals.len();
        Csr::new(1, n, vec![0, n as u64], (0..n as u32).collect(), vals)
    };
    everywhere(|| {
        let infinity = f64::INFINITY;
        let a = of(vec![1.0, infinity, 0.0])?;
        for (b, expected) in [
            (vec![1.0 + 1e-9, infinity, 1e-9], true),
            (vec![1.1, infinity, 0.0], false),
            (vec![1.0, -infinity, 0.0], false),
            (vec![1.0, 5.0, 0.0], false),
            (vec![1.0, infinity, f64::NAN], false),
            (vec![1.0, infinity, 1e-7], false),
        ] {
            let b = of(b)?;
            assert_eq!(a.all_close(&b, 1e-5, 1e-8)?, expected);
            let dense = a.to_dense()?.all_close(&b.to_dense()?, 1e-5, 1e-8);
            assert_eq!(dense.get()?, expected);
        }
        assert!(!of(vec![f64::NAN])?.equals(&of(vec![f64::NAN])?)?);
        assert!(of(vec![-0.0])?.equals(&Csr::zeros(1, 1)?)?);
        assert!(Csr::<f64>::zeros(0, 3)?.equals(&Csr::zeros(0, 3)?)?);
        assert!(!Csr::<f64>::zeros(0, 3)?.equals(&Csr::zeros(3, 0)?)?);
        Ok(())
    });
}

/// One element of many, in a row that other ranks hold.
#[test]
fn one_element_that_differs() {
    everywhere(|| {
        let a = gallery::poisson2d::<f64>(12)?;
        let b = a.balance()?;
        assert!(a.equals(&b)? && b.equals(&a)?);
        for row in [0, 70, 143] {
            let c = b.with_element(row, 143 - row, 0.5)?;
            assert!(!a.equals(&c)? && !c.equals(&a)? && !a.all_close(&c, 1e-5, 1e-8)?);
            let place = a.not_equal(&c)?.to_triplets()?;
            assert_eq!(
                (place.rows(), place.cols()),
                (&[row as u32][..], &[143 - row as u32][..])
            );
        }
        Ok(())
    });
}

#[test]
fn refusals() {
    let (a, b) = (Csr::<f64>::zeros(2, 3).unwrap(), Csr::zeros(3, 2).unwrap());
    let check = |error: Error, expected: &str| assert_eq!(error.to_string(), expected);
    let shapes = ": expected a shape of (2, 3), found (3, 2)";
    check(a.not_equal(&b).unwrap_err(), &format!("not_equal{shapes}"));
    check(a.less(&b).unwrap_err(), &format!("less{shapes}"));
    check(
        a.all_close(&b, 0.0, 0.0).unwrap_err(),
        &format!("all_close{shapes}"),
    );
    // Values that failed.
    let failed = Vector::<f64>::zeros([2])
        .slice(1..)
        .take(&Vector::from_vec(vec![5i64]));
    let c = Csr::new(1, 1, vec![0, 1], vec![0], vec![1.0]).unwrap();
    let c = c.with_values(failed).unwrap();
    assert!(c.equals(&c).is_err() && c.max().get().is_err() && c.try_max_axis(0).is_err());
    // What asks for the structure alone needs none.
    assert_eq!(c.nnz_per_column().unwrap().to_vec().unwrap(), [1]);
}
