//! Vectors as sets, distinct slices, and values under a mask, against plain loops and against what
//! NumPy 2.4 gives.

use crate::Bits;
use num_complex::Complex;
use sparsefuse_dense::{Array, Element, Error, Numeric, Vector};
use sparsefuse_testing::{bits, everywhere};

/// Numbers in no order, with equal ones among them.
fn element<T: Numeric>(i: usize) -> T {
    T::from_f64(((i * 7919 + i * i * 31 + 5) % 61) as f64)
}

fn sets<T: Numeric + PartialOrd>(n: usize, m: usize) {
    let x: Vec<T> = (0..n).map(element).collect();
    let y: Vec<T> = (0..m).map(|i| element(3 * i + 7)).collect();
    let has = |set: &[T], x: &T| set.contains(x);
    let distinct = |of: &dyn Fn(&T) -> bool| {
        let mut all: Vec<T> = x.iter().chain(&y).filter(|x| of(x)).copied().collect();
        all.sort_by(|a, b| a.partial_cmp(b).expect("there is no NaN"));
        all.dedup();
        all
    };
    everywhere(|| {
        let (a, b) = (Vector::from_slice(&x), Vector::from_slice(&y));
        let is_in: Vec<bool> = x.iter().map(|x| has(&y, x)).collect();
        assert_eq!(a.is_in(&b).to_vec()?, is_in);
        let common = distinct(&|e| has(&x, e) && has(&y, e));
        assert_eq!(a.intersection(&b)?.to_vec()?, common);
        assert_eq!(b.intersection(&a)?.to_vec()?, common);
        assert_eq!(a.union(&b)?.to_vec()?, distinct(&|_| true));
        let of_a = distinct(&|e| !has(&y, e));
        assert_eq!(a.set_difference(&b)?.to_vec()?, of_a);
        let of_one = distinct(&|e| has(&x, e) != has(&y, e));
        assert_eq!(a.symmetric_difference(&b)?.to_vec()?, of_one);
        a.union(&b)?.bits()
    });
}

#[test]
fn vectors_as_sets() {
    for (n, m) in [(0, 0), (0, 5), (7, 0), (1, 1), (60, 9), (9, 60), (700, 40)] {
        sets::<f64>(n, m);
    }
    sets::<f32>(40, 40);
    sets::<i32>(40, 40);
    sets::<i64>(40, 40);
    sets::<u32>(40, 40);
    sets::<u64>(40, 40);
}

/// `np.isin`, `np.intersect1d`, `np.union1d`, `np.setdiff1d` and `np.setxor1d` of these.
#[test]
fn sets_with_nan_and_zeros() {
    let nan = f64::NAN;
    everywhere(|| {
        let x = Vector::from_vec(vec![1.0, nan, 2.0, nan, 0.0]);
        let y = Vector::from_vec(vec![nan, 2.0, 5.0, -0.0]);
        assert_eq!(x.is_in(&y).to_vec()?, [false, false, true, false, true]);
        assert_eq!(x.intersection(&y)?.to_vec()?, [0.0, 2.0]);
        let same = |found: Vector<f64>, expected: &[f64]| -> Result<(), Error> {
            assert_eq!(found.to_vec()?.len(), expected.len());
            let pairs = found.to_vec()?.into_iter().zip(expected);
            pairs.for_each(|(a, b)| assert!(a == *b || a.is_nan() && b.is_nan(), "{a} {b}"));
            Ok(())
        };
        same(x.union(&y)?, &[0.0, 1.0, 2.0, 5.0, nan])?;
        same(x.set_difference(&y)?, &[1.0, nan])?;
        same(x.symmetric_difference(&y)?, &[1.0, 5.0, nan, nan])
    });
}

#[test]
fn elements_of_matrices_are_in_sets() {
    everywhere(|| {
        let a = Array::from_fn([20, 7], |[i, j]| element::<i64>(7 * i + j));
        let values = Array::from_fn([3, 2], |[i, j]| element::<i64>(100 + 2 * i + j));
        let set = values.to_vec()?;
        let expected: Vec<bool> = a.to_vec()?.iter().map(|x| set.contains(x)).collect();
        assert_eq!(a.is_in(&values).to_vec()?, expected);
        let turned = a.t().is_in(&values.t());
        assert_eq!(turned.t().to_vec()?, expected);
        let bad = Vector::<i64>::zeros([3]).take(&Vector::from_vec(vec![0, 7]));
        assert!(a.is_in(&bad).to_vec().is_err());
        assert!(bad.union(&bad).and_then(|x| x.to_vec()).is_err());
        Ok(expected)
    });
}

/// Values that lie close together and far apart, at the ends of their types, and none.
#[test]
fn elements_are_in_sets_at_the_ends_of_types() {
    fn check<T: Numeric + PartialOrd>(values: &[T], others: &[T]) {
        let x: Vec<T> = values.iter().chain(others).copied().collect();
        let expected: Vec<bool> = x.iter().map(|x| values.contains(x)).collect();
        let found = everywhere(|| {
            let values = Vector::from_slice(values);
            Vector::from_slice(&x).is_in(&values).to_vec()
        });
        assert_eq!(found, expected);
    }
    check(&[u64::MAX, 0, 1 << 63], &[1, u64::MAX - 1, 7]);
    check(&[5, 0, 1 << 63], &[u64::MAX, u64::MAX - 1, 7]);
    check(&[u64::MAX, u64::MAX - 70], &[u64::MAX - 1, 0]);
    check(&[i64::MIN, i64::MAX, -1], &[0, 1, i64::MIN + 1]);
    check(&[i32::MIN, i32::MIN + 100], &[i32::MAX, i32::MIN + 64, 0]);
    check::<u32>(&[], &[0, u32::MAX]);
    check(
        &[f64::INFINITY, -0.0, 5e-324],
        &[f64::NEG_INFINITY, f64::NAN, 1e-323, f64::MAX],
    );
    let far: Vec<f64> = (1..500)
        .map(|i| element::<f64>(i) * 1e9_f64.powi(i as i32 % 30))
        .collect();
    check(&far[..200], &far[150..]);
}

/// The distinct slices of an array of three dimensions along each axis, and what belongs to them.
#[test]
fn distinct_slices() {
    for shape in [
        [40, 2, 2],
        [3, 50, 1],
        [1, 2, 70],
        [6, 6, 6],
        [5, 0, 3],
        [0, 2, 2],
    ] {
        for axis in 0..3 {
            everywhere(|| {
                let a = Array::from_fn(shape, |[i, j, k]| {
                    ((i * 7 + j * 3 + k * 5) % 4 + (i * j * k) % 2) as f32
                });
                let n = shape[axis];
                let slice = |x: &Array<f32, 3>, at: usize| x.index_axis(axis, at).to_vec();
                let slices: Result<Vec<_>, Error> = (0..n).map(|at| slice(&a, at)).collect();
                let slices = slices?;
                let mut expected = slices.clone();
                expected.sort_by(|a, b| a.partial_cmp(b).expect("there is no NaN"));
                expected.dedup();
                let found = a.unique_axis(axis)?;
                assert_eq!(found.shape()[axis], expected.len(), "{shape:?} {axis}");
                for (at, expected) in expected.iter().enumerate() {
                    assert_eq!(slice(&found, at)?, *expected);
                }
                let count = |x: &Vec<f32>| slices.iter().filter(|y| x == *y).count() as i64;
                let counts: Vec<i64> = expected.iter().map(count).collect();
                let (values, found_counts) = a.unique_axis_counts(axis)?;
                assert_eq!(values.bits()?, found.bits()?);
                assert_eq!(found_counts.to_vec()?, counts);
                let (values, inverse) = a.unique_axis_inverse(axis)?;
                assert_eq!(values.take_axis(axis, &inverse).bits()?, a.bits()?);
                found.bits()
            });
        }
    }
}

/// `np.unique([[1, nan], [0, -0.0], [1, nan], [0, 0.0]], axis=0, return_counts=True)`.
#[test]
fn distinct_rows_with_nan_and_zeros() -> Result<(), Error> {
    let nan = f64::NAN;
    let rows = vec![1.0, nan, 0.0, -0.0, 1.0, nan, 0.0, 0.0];
    let (found, counts) = Array::from_shape_vec([4, 2], rows)?.unique_axis_counts(0)?;
    assert_eq!(bits(&found.to_vec()?[..2]), bits(&[0.0, -0.0]));
    assert_eq!((found.shape(), counts.to_vec()?), ([3, 2], vec![2, 1, 1]));
    assert!(found.to_vec()?[3].is_nan() && found.to_vec()?[5].is_nan());
    // All rows without elements are equal.
    assert_eq!(
        Array::<f64, 2>::zeros([3, 0]).unique_axis(0)?.shape(),
        [1, 0]
    );
    assert_eq!(
        Array::<f64, 2>::zeros([0, 0]).unique_axis(0)?.shape(),
        [0, 0]
    );
    let vector = Vector::from_vec(vec![3, 1, 3]);
    assert_eq!(vector.unique_axis(0)?.to_vec()?, [1, 3]);
    let error = vector.unique_axis(1).unwrap_err().to_string();
    assert_eq!(error, "unique_axis: expected an axis below 1, found 1");
    Ok(())
}

fn values_under_a_mask<T: Element>(shape: [usize; 2], element: impl Fn(usize) -> T + Sync) {
    let is_true = |flat: usize| flat % 3 == 1 || flat % 7 == 2;
    everywhere(|| {
        let flat = |[i, j]: [usize; 2]| i * shape[1] + j;
        let mut a = Array::from_fn(shape, |at| element(flat(at)));
        let mask = Array::from_fn(shape, |at| is_true(flat(at)));
        let mut expected = a.to_vec()?;
        let places: Vec<usize> = (0..expected.len()).filter(|&i| is_true(i)).collect();
        let values: Vec<T> = (0..places.len()).map(|i| element(1000 + 3 * i)).collect();
        places
            .iter()
            .zip(&values)
            .for_each(|(&place, &x)| expected[place] = x);
        let before = a.clone();
        a.put_where(&mask, Vector::from_slice(&values));
        assert_eq!(a.bits()?, bits(&expected));
        // What was taken comes back, also through views.
        a.put_where(&mask, &before.compress(&mask)?);
        assert_eq!(a.bits()?, before.bits()?);
        let mut turned = before.t();
        turned.put_where(&mask.t(), turned.compress(&mask.t())?.slice(..));
        assert_eq!(turned.t().bits()?, before.bits()?);
        a.put_where(&mask, element(5));
        let mut other = before.clone();
        other.assign_where(&mask, element(5));
        assert_eq!(a.bits()?, other.bits()?);
        Ok(bits(&expected))
    });
}

#[test]
fn values_are_put_under_masks() {
    for shape in [[13, 7], [1, 40], [200, 6], [5, 0], [1, 1]] {
        values_under_a_mask(shape, element::<f64>);
    }
    values_under_a_mask([9, 5], element::<f32>);
    values_under_a_mask([9, 5], element::<i32>);
    values_under_a_mask([9, 5], element::<u64>);
    values_under_a_mask([9, 5], |i| Complex::new(i as f64, -(i as f64)));
    values_under_a_mask([9, 5], |i| i % 4 == 1);
}

#[test]
fn values_that_do_not_fit_a_mask() -> Result<(), Error> {
    let mut x = Vector::from_vec(vec![1.0, -2.0, -3.0]);
    let mask = x.less(0.0);
    let three = Vector::from_vec(vec![7.0, 8.0, 9.0]);
    let error = x.try_put_where(&mask, &three).unwrap_err().to_string();
    assert_eq!(error, "put_where: expected a shape of (2), found (3)");
    let error = x.try_put_where(&mask.slice(1..), &three).unwrap_err();
    assert_eq!(
        error.to_string(),
        "put_where: expected a shape of (3), found (2)"
    );
    let none = x.greater(9.0);
    assert!(x.try_put_where(&none, &three).is_err());
    assert_eq!(x.to_vec()?, [1.0, -2.0, -3.0]);
    // A single value stands for all, also for none.
    x.put_where(&none, three.slice(..1));
    x.put_where(&mask, three.slice(..1));
    assert_eq!(x.to_vec()?, [1.0, 7.0, 7.0]);
    Ok(())
}
