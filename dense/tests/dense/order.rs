//! Sorted arrays, places in them, distinct elements, quantiles, and masks, against plain loops.

use crate::Bits;
use sparsefuse_dense::{Array, Element, Error, Numeric, Vector};
use sparsefuse_runtime::Config;
use sparsefuse_testing::{bits, everywhere, everywhere_with, small};
use std::cmp::Ordering;

/// Numbers in no order, with equal ones among them.
fn element<T: Numeric>(i: usize) -> T {
    T::from_f64(((i * 7919 + i * i * 31 + 5) % 61) as f64 - 20.0)
}

/// The same with NaN, infinities and zeros of both signs.
fn special(i: usize) -> f64 {
    match i % 13 {
        3 => f64::NAN,
        5 => f64::INFINITY,
        7 => -f64::INFINITY,
        8 => -0.0,
        9 => 0.0,
        _ => element(i),
    }
}

/// NaN last; all others by `<`.
fn order<T: PartialOrd>(a: &T, b: &T) -> Ordering {
    let is_nan = |x: &T| x.partial_cmp(x).is_none();
    a.partial_cmp(b)
        .unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)))
}

fn sorting<T: Numeric + PartialOrd>(elements: &[T]) {
    let mut places: Vec<i64> = (0..elements.len() as i64).collect();
    places.sort_by(|&a, &b| order(&elements[a as usize], &elements[b as usize]));
    let sorted: Vec<T> = places.iter().map(|&i| elements[i as usize]).collect();
    let found = everywhere(|| {
        let x = Vector::from_slice(elements);
        let made = x.sort();
        // Views, what is cut otherwise, and what is not: more is sorted than there are ranks.
        assert_eq!(x.flip(0).sort().bits()?, made.bits()?);
        let twice = Vector::concatenate(0, &[&x, &x]);
        assert_eq!(twice.slice(..x.len()).sort().bits()?, made.bits()?);
        assert_eq!(x.argsort().to_vec()?, places);
        assert_eq!(x.take(&x.argsort()).bits()?, bits(&sorted));
        Ok(made
            .to_vec()?
            .iter()
            .map(|x| x.to_value())
            .collect::<Vec<_>>())
    });
    // Equal but for the signs of zeros, and what a NaN has besides being one.
    let of_found: Vec<T> = found.iter().filter_map(|x| x.get()).collect();
    assert_eq!(of_found.len(), sorted.len());
    for (found, expected) in of_found.iter().zip(&sorted) {
        assert_eq!(order(found, expected), Ordering::Equal);
    }
}

#[test]
fn vectors_in_order() {
    for n in [0, 1, 2, 7, 50, 1300] {
        sorting::<f64>(&(0..n).map(special).collect::<Vec<_>>());
        sorting::<i64>(&(0..n).map(element).collect::<Vec<_>>());
    }
    sorting::<f32>(&(0..90).map(|i| special(i) as f32).collect::<Vec<_>>());
    sorting::<i32>(&(0..90).map(element).collect::<Vec<_>>());
    sorting::<u32>(&(0..90).map(|i| element::<u32>(i * 3)).collect::<Vec<_>>());
    sorting::<u64>(&[u64::MAX, 0, 1 << 63, 5]);
    sorting::<i64>(&[7; 40]);
}

/// As many that the threads share them.
#[test]
fn many_elements_in_order() {
    let n = 40_000;
    let mut expected: Vec<i64> = (0..n).map(|i| (i * 7919) % n).collect();
    let x = expected.clone();
    expected.sort_unstable();
    for base in [small(), Config::default()] {
        let found = everywhere_with(&base, || {
            let x = Vector::from_slice(&x);
            assert_eq!(x.take(&x.argsort()).bits()?, bits(&expected));
            x.sort().bits()
        });
        assert_eq!(found, bits(&expected));
    }
}

/// What threads sort is divided by places, also between equal elements and beside NaN.
#[test]
fn many_equal_elements_in_order() {
    let n = 40_000;
    let elements: [Vec<f64>; 3] = [
        vec![1.5; n],
        (0..n).map(special).collect(),
        (0..n)
            .map(|i| if i % 100 == 0 { f64::NAN } else { -0.0 })
            .collect(),
    ];
    for elements in elements {
        let mut places: Vec<i64> = (0..n as i64).collect();
        places.sort_by(|&a, &b| order(&elements[a as usize], &elements[b as usize]));
        for base in [small(), Config::default()] {
            everywhere_with(&base, || {
                let x = Vector::from_slice(&elements);
                assert_eq!(x.argsort().to_vec()?, places);
                x.sort().bits()
            });
        }
    }
}

#[test]
fn negative_zero_stands_before_zero() {
    everywhere(|| {
        let x = Vector::from_vec(vec![0.0, -0.0, 1.0, -0.0]);
        assert_eq!(x.sort().bits()?, bits(&[-0.0, -0.0, 0.0, 1.0]));
        assert_eq!(x.argsort().to_vec()?, [0, 1, 3, 2]);
        Ok(())
    });
}

#[test]
fn lines_in_order() {
    for shape in [[13, 4, 3], [2, 9, 5], [1, 1, 21], [9, 3, 0]] {
        for axis in 0..3 {
            everywhere(|| {
                let a = Array::from_fn(shape, |[i, j, k]| special((i * 7 + j) * 5 + k));
                let (sorted, places) = (a.sort_axis(axis), a.argsort_axis(axis));
                assert_eq!(sorted.shape(), shape);
                let (lines, sorted_lines) = (a.move_axis(axis, 2), sorted.move_axis(axis, 2));
                let n = shape[axis].max(1);
                let (lines, found) = (lines.to_vec()?, sorted_lines.to_vec()?);
                let places = places.move_axis(axis, 2).to_vec()?;
                let parts = lines.chunks(n).zip(found.chunks(n)).zip(places.chunks(n));
                for ((line, found), places) in parts {
                    let mut expected: Vec<i64> = (0..line.len() as i64).collect();
                    expected.sort_by(|&a, &b| order(&line[a as usize], &line[b as usize]));
                    assert_eq!(places, expected);
                    let pairs = found.iter().zip(places);
                    for (found, &place) in pairs {
                        assert_eq!(order(found, &line[place as usize]), Ordering::Equal);
                    }
                }
                sorted.bits()
            });
        }
    }
}

#[test]
fn places_in_sorted_vectors() {
    let mut sorted: Vec<f64> = (0..70).map(special).collect();
    sorted.sort_by(order);
    let values: Vec<f64> = (0..200).map(|i| special(3 * i + 1) * 1.5).collect();
    let count = |is_before: fn(Ordering) -> bool, value: &f64| {
        sorted
            .iter()
            .filter(|x| is_before(order(*x, value)))
            .count() as i64
    };
    let left: Vec<i64> = values.iter().map(|x| count(Ordering::is_lt, x)).collect();
    let right: Vec<i64> = values.iter().map(|x| count(Ordering::is_le, x)).collect();
    everywhere(|| {
        let (x, values) = (Vector::from_slice(&sorted), Vector::from_slice(&values));
        assert_eq!(x.searchsorted(&values).to_vec()?, left);
        assert_eq!(x.searchsorted_right(&values).to_vec()?, right);
        let few = values.slice(..37); // fewer than there are sorted ones
        assert_eq!(x.searchsorted(&few).to_vec()?, left[..37]);
        assert_eq!(x.searchsorted_right(&few).to_vec()?, right[..37]);
        for n in [1, 2, 3, 31, 64] {
            let below: Vec<i64> = left.iter().map(|&place| place.min(n)).collect();
            let first = x.slice(..n as usize);
            assert_eq!(first.searchsorted(&values).to_vec()?, below);
        }
        let values = values.try_reshape([20, 10])?;
        assert_eq!(x.searchsorted(&values).shape(), [20, 10]);
        let none = Vector::<f64>::zeros([0]);
        assert_eq!(none.searchsorted(&values).sum().get()?, 0);
        assert_eq!(x.searchsorted(&none).len(), 0);
        Ok(())
    });
}

#[test]
fn distinct_elements() {
    for n in [0, 1, 2, 30, 1100] {
        let x: Vec<f64> = (0..n).map(special).collect();
        let mut expected = x.clone();
        expected.sort_by(order);
        expected.dedup_by(|a, b| order(a, b).is_eq());
        let equal = |a: &f64| x.iter().filter(|b| order(a, b).is_eq()).count() as i64;
        let counts: Vec<i64> = expected.iter().map(equal).collect();
        let place = |a: &f64| expected.iter().position(|b| order(a, b).is_eq());
        let inverse: Vec<i64> = x.iter().filter_map(place).map(|i| i as i64).collect();
        everywhere(|| {
            let x = Vector::from_slice(&x);
            let found = x.unique()?.to_vec()?;
            assert_eq!(found.len(), expected.len());
            assert!(
                found
                    .iter()
                    .zip(&expected)
                    .all(|(a, b)| order(a, b).is_eq())
            );
            assert_eq!(x.unique_counts()?.1.to_vec()?, counts);
            assert_eq!(x.unique_inverse()?.1.to_vec()?, inverse);
            Ok(bits(&found))
        });
    }
}

/// Quantiles by places of the sorted vector: clusters far apart, equal elements and both zeros.
#[test]
fn quantiles_of_many_elements() {
    let n = 70_001;
    let clusters = |i: usize| element::<f64>(i) * if i.is_multiple_of(2) { 1e-300 } else { 1e300 };
    let vectors: [Vec<f64>; 4] = [
        (0..n).map(clusters).collect(),
        (0..n).map(|i| (i * 7919 % n) as f64).collect(),
        (0..n).map(|i| if i < n / 2 { -1.0 } else { 1.0 }).collect(),
        vec![3.0; n],
    ];
    for x in vectors {
        let mut sorted = x.clone();
        sorted.sort_by(order);
        everywhere_with(&Config::default(), || {
            let v = Vector::from_slice(&x);
            for place in [0, 1, n / 3, n / 2 - 1, n / 2, n - 2, n - 1] {
                let q = place as f64 / (n - 1) as f64;
                let at = q * (n - 1) as f64;
                let (low, high) = (sorted[at as usize], sorted[(at as usize + 1).min(n - 1)]);
                let part = at - at.floor();
                let expected = match part < 0.5 {
                    true => low + (high - low) * part,
                    false => high - (high - low) * (1.0 - part),
                };
                assert_eq!(v.quantile(q).get()?, expected, "{place}");
            }
            let even = v.slice(1..);
            let mut of_even = x[1..].to_vec();
            of_even.sort_by(order);
            let expected = (of_even[n / 2 - 1] + of_even[n / 2]) * 0.5;
            assert_eq!(even.median().get()?, expected);
            v.median().bits()
        });
    }
}

#[test]
fn medians_and_quantiles() {
    let x: Vec<f64> = vec![0.1, 0.7, 0.25, 11.0, -3.0, 0.5];
    // NumPy 1.24: `np.quantile(x, q)`, `np.median(x)`, `np.median(x[:5])`.
    let expected = [
        (0.0, -3.0),
        (0.1, -1.45),
        (0.25, 0.1375),
        (0.5, 0.375),
        (0.9, 5.85),
        (1.0, 11.0),
    ];
    everywhere(|| {
        let v = Vector::from_slice(&x);
        for (q, expected) in expected {
            assert_eq!(v.quantile(q).get()?, expected, "{q}");
        }
        assert_eq!(v.median().get()?, 0.375);
        assert_eq!(v.slice(..5).median().get()?, 0.25);
        // Whose sum with itself is infinite.
        assert_eq!(Vector::full([3], 1.5e308).median().get()?, 1.5e308);
        let large = Array::full([3, 2], 1.5e308);
        assert_eq!(large.median_axis(0).to_vec()?, [1.5e308; 2]);
        assert_eq!(large.nan_median_axis(0).to_vec()?, [1.5e308; 2]);
        let one = Vector::from_vec(vec![-0.0f32]);
        assert_eq!(one.quantile(0.3).bits()?, bits(&[0.0f32]));
        assert!(Vector::<f64>::zeros([0]).median().get()?.is_nan());
        let with_nan = Vector::concatenate(0, &[&v, &Vector::from_vec(vec![f64::NAN])]);
        assert!(with_nan.median().get()?.is_nan());
        assert!(with_nan.quantile(0.1).get()?.is_nan());
        let infinite = Vector::from_vec(vec![f64::INFINITY, 1.0, 2.0]);
        assert_eq!(infinite.median().get()?, 2.0);
        v.quantile(0.3).bits()
    });
    // As NumPy, which has a median of nothing and no quantile.
    let error = Vector::<f64>::zeros([0]).try_quantile(0.5).unwrap_err();
    let expected = "quantile: expected an element or more, found none";
    assert_eq!(error.to_string(), expected);
    let error = Vector::from_slice(&x).try_quantile(1.5).unwrap_err();
    let expected = "quantile: expected a number between 0 and 1, found 1.5";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn elements_under_a_mask() {
    for shape in [[13, 7], [1, 40], [200, 6], [5, 0], [1, 1]] {
        let flat = |i: usize, j: usize| i * shape[1] + j;
        let x: Vec<f64> = (0..shape[0] * shape[1]).map(element).collect();
        let chosen: Vec<i64> = (0..x.len() as i64)
            .filter(|&i| x[i as usize] > 3.0)
            .collect();
        let values: Vec<f64> = chosen.iter().map(|&i| x[i as usize]).collect();
        everywhere(|| {
            let a = Array::from_fn(shape, |[i, j]| element::<f64>(flat(i, j)));
            let mask = a.greater(3.0);
            assert_eq!(mask.flat_nonzero()?.to_vec()?, chosen);
            assert_eq!(mask.count().get()?, chosen.len() as i64);
            let zeros = x.iter().filter(|&&x| x == 0.0).count();
            assert_eq!(a.count_nonzero().get()?, (x.len() - zeros) as i64);
            let [rows, columns] = mask.nonzero()?;
            let n = shape[1].max(1) as i64;
            let flat = rows.to_vec()?.into_iter().zip(columns.to_vec()?);
            let flat: Vec<i64> = flat.map(|(i, j)| i * n + j).collect();
            assert_eq!(flat, chosen);
            assert_eq!(a.t().compress(&mask.t())?.len(), chosen.len());
            let mut changed = a.clone();
            changed.assign_where(&mask, &a * 2.0);
            changed.assign_where(&a.less(0.0), -1.0);
            let expected = |&x: &f64| match x {
                x if x > 3.0 => 2.0 * x,
                x if x < 0.0 => -1.0,
                x => x,
            };
            let expected: Vec<f64> = x.iter().map(expected).collect();
            assert_eq!(changed.bits()?, bits(&expected));
            assert_eq!(a.compress(&mask)?.bits()?, bits(&values));
            Ok(())
        });
    }
}

#[test]
fn slices_under_a_mask() {
    everywhere(|| {
        let a = Array::from_fn([20, 5], |[i, j]| (5 * i + j) as i64);
        let rows = Vector::from_fn([20], |[i]| i % 3 == 0);
        let columns = Vector::from_vec(vec![false, true, false, false, true]);
        let made = a.compress_axis(0, &rows)?.compress_axis(1, &columns)?;
        assert_eq!(made.shape(), [7, 2]);
        assert_eq!(made.to_vec()?[..4], [1, 4, 16, 19]);
        made.bits()
    });
}

#[test]
fn what_does_not_fit() -> Result<(), Error> {
    let a = Array::<f64, 2>::zeros([2, 3]);
    let mask = Array::from_shape_vec([3, 2], vec![true; 6])?;
    let error = a.compress(&mask).unwrap_err().to_string();
    assert_eq!(error, "compress: expected a shape of (2, 3), found (3, 2)");
    let error = a
        .clone()
        .try_assign_where(&mask, 1.0)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "assign_where: expected a shape of (2, 3), found (3, 2)"
    );
    let error = a.try_sort_axis(2).unwrap_err().to_string();
    assert_eq!(error, "sort_axis: expected an axis below 2, found 2");
    let row = Vector::from_vec(vec![true; 4]);
    assert!(a.compress_axis(1, &row).is_err());
    assert!(a.compress_axis(2, &row).is_err());
    fn is_error<T: Element>(found: Result<Vector<T>, Error>) -> bool {
        found.and_then(|x| x.to_vec()).is_err()
    }
    // What fails on the way fails the result.
    let bad = Vector::<f64>::zeros([3]).take(&Vector::from_vec(vec![0, 7]));
    assert!(is_error(bad.try_sort_axis(0)));
    assert!(is_error(bad.unique()));
    assert!(is_error(bad.greater(0.0).flat_nonzero()));
    Ok(())
}
