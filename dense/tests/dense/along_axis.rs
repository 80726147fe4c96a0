//! Indices along an axis, running maxima, orders by several keys, several quantiles, against plain
//! loops.

use super::Bits;
use sparsefuse_dense::{Array, Error, Numeric, Vector, step};
use sparsefuse_testing::everywhere;

const SHAPE: [usize; 3] = [5, 7, 6];

/// Numbers with ties.
fn numbers<T: Numeric>() -> Array<T, 3> {
    Array::from_fn(SHAPE, |[i, j, k]| {
        T::from_f64(((i * 131 + j * 17 + k * 7) % 23) as f64 - 11.0)
    })
}

/// With a NaN in some lines, and one line of nothing else.
fn with_nan() -> Array<f64, 3> {
    Array::from_fn(SHAPE, |[i, j, k]| match (i * 131 + j * 17 + k * 7) % 23 {
        _ if [i, j] == [2, 3] => f64::NAN,
        13 => f64::NAN,
        number => number as f64 - 11.0,
    })
}

/// What `of` makes of the lines along an axis, in their order.
fn of_lines<R>(x: &[f64], axis: usize, of: impl Fn(&[f64]) -> R) -> Vec<R> {
    let inner: usize = SHAPE[axis + 1..].iter().product();
    let (n, outer) = (SHAPE[axis], x.len() / inner / SHAPE[axis]);
    let firsts = (0..outer).flat_map(|o| (0..inner).map(move |i| o * n * inner + i));
    let line = |first: usize| (0..n).map(|k| x[first + k * inner]).collect::<Vec<_>>();
    firsts.map(|first| of(&line(first))).collect()
}

fn orders<T: Numeric + PartialOrd>() {
    everywhere(|| -> Result<_, Error> {
        let a = numbers::<T>();
        let mut bits = Vec::new();
        for axis in 0..3 {
            let sorted = a.take_along_axis(axis, &a.argsort_axis(axis));
            assert_eq!(sorted.bits()?, a.sort_axis(axis).bits()?);
            assert_eq!(sorted.bits()?, a.partition_axis(axis, 2).bits()?);
            let taken = a.take_along_axis(axis, &a.argpartition_axis(axis, 2));
            assert_eq!(sorted.bits()?, taken.bits()?);
            let largest = a.argmax_axis(axis).insert_axis(axis).cast::<i32>();
            let taken = a.take_along_axis(axis, &largest);
            assert_eq!(taken.bits()?, a.max_axis(axis).bits()?);
            let view = a.slice((step(.., -1), .., step(.., 2)));
            let order = view.argsort_axis(axis);
            let taken = view.take_along_axis(axis, &order);
            assert_eq!(taken.bits()?, view.sort_axis(axis).bits()?);
            // What is put back where it was taken from.
            let mut back = Array::<T, 3>::zeros(SHAPE);
            back.put_along_axis(axis, &a.argsort_axis(axis), &sorted);
            assert_eq!(back.bits()?, a.bits()?);
            let mut changed = a.clone();
            changed.put_along_axis(axis, &largest, T::from_f64(99.0));
            bits.extend(changed.bits()?);
            bits.extend(a.cummax_axis(axis).bits()?);
            bits.extend(a.cummin_axis(axis).bits()?);
        }
        Ok(bits)
    });
}

#[test]
fn indices_of_each_line() {
    orders::<f64>();
    orders::<f32>();
    orders::<i64>();
    orders::<i32>();
    everywhere(|| {
        // Lines broadcast, and negative indices count from the end.
        let a = numbers::<f64>();
        let index = Array::from_shape_vec([1, 2, 1], vec![-1, 0])?;
        let ends = Array::concatenate(1, &[&a.slice((.., 6.., ..)), &a.slice((.., ..1, ..))]);
        assert_eq!(a.take_along_axis(1, &index).bits()?, ends.bits()?);
        let few = a.slice((..1, .., ..));
        let order = a.argsort_axis(1);
        let whole: Array<f64, 3> = few.try_broadcast_to(SHAPE)?;
        assert_eq!(
            few.take_along_axis(1, &order).bits()?,
            whole.take_along_axis(1, &order).bits()?
        );
        let none = a.take_along_axis(1, &order.slice((.., ..0, ..)));
        assert_eq!(none.shape(), [5, 0, 6]);
        let mask = a.greater(0.0).take_along_axis(1, &order);
        assert_eq!(mask.count().get()?, a.greater(0.0).count().get()?);
        mask.bits()
    });
}

#[test]
fn what_indices_along_an_axis_refuse() {
    let a = numbers::<f64>();
    let order = a.argsort_axis(1);
    let error = a.try_take_along_axis(3, &order).unwrap_err().to_string();
    assert_eq!(error, "take_along_axis: expected an axis below 3, found 3");
    let error = a.try_take_along_axis(1, &order.slice((..2, .., ..)));
    let error = error.unwrap_err().to_string();
    let expected = "take_along_axis: expected a shape of (5, 7, 6), found (2, 7, 6)";
    assert_eq!(error, expected);
    assert!(
        a.slice((..1, .., ..))
            .clone()
            .try_put_along_axis(1, &order, 0.0)
            .is_err()
    );
    let beyond = a.take_along_axis(1, &(order + 1)).to_vec().unwrap_err();
    let expected = "expected indices from -7 to 6, found 7";
    assert!(beyond.to_string().contains(expected), "{beyond}");
    let error = a.try_partition_axis(2, 6).unwrap_err().to_string();
    assert_eq!(
        error,
        "partition_axis: expected a place below 6 along axis 2, found 6"
    );
    assert!(Vector::<f64>::try_lexsort(&[]).is_err());
    let (long, short) = (Vector::<i64>::arange(3), Vector::<i64>::arange(2));
    assert!(Vector::try_lexsort(&[&long, &short]).is_err());
}

#[test]
fn flat_indices_and_back() {
    everywhere(|| {
        let flat = Array::<i64, 2>::from_fn([6, 35], |[i, j]| (i * 35 + j) as i64);
        let found = flat.unravel_index([5, 7, 6]);
        let [i, j, k] = &found;
        assert_eq!(
            Array::ravel_multi_index([5, 7, 6], [i, j, k]).bits()?,
            flat.bits()?
        );
        assert_eq!(k.slice((..1, ..8)).to_vec()?, [0, 1, 2, 3, 4, 5, 0, 1]);
        let [last] = Vector::from_vec(vec![-1_i32, 3]).unravel_index([10]);
        assert_eq!(last.to_vec()?, [9, 3]);
        let [_, none] = Vector::from_vec(vec![0_u64; 0]).unravel_index([0, 3]);
        assert!(none.is_empty());
        i.bits()
    });
    let [beyond, _] = Vector::from_vec(vec![0, 6]).unravel_index([2, 3]);
    let error = beyond.to_vec().unwrap_err().to_string();
    assert!(
        error.contains("expected indices from -6 to 5, found 6"),
        "{error}"
    );
}

#[test]
fn running_maxima_keep_the_first_nan() {
    for axis in 0..3 {
        let x = with_nan().to_vec().unwrap();
        let largest = |line: &[f64]| {
            line.iter()
                .fold(f64::NEG_INFINITY, |a, &b| match a.is_nan() || b.is_nan() {
                    true => f64::NAN,
                    false => a.max(b),
                })
        };
        let last = of_lines(&x, axis, largest);
        everywhere(|| {
            let made = with_nan().cummax_axis(axis);
            let found = made.index_axis(axis, SHAPE[axis] - 1).to_vec()?;
            let is_same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
            assert!(found.iter().zip(&last).all(is_same), "{axis}");
            made.is_nan().bits()
        });
    }
    everywhere(|| {
        let x = Vector::<i64>::from_fn([5000], |[i]| (i * 7919 % 4001) as i64);
        let (most, least) = (x.cummax(), x.cummin());
        assert_eq!(most.slice(4999..).to_vec()?, [4000]);
        assert_eq!(least.slice(4999..).to_vec()?, [0]);
        assert_eq!(x.t().slice(..0).cummax().len(), 0);
        most.bits()
    });
}

#[test]
fn places_of_extrema_without_nan() {
    for axis in 0..3 {
        let x = with_nan().to_vec().unwrap();
        let place = |line: &[f64], is_better: &dyn Fn(f64, f64) -> bool| {
            let numbers = line.iter().enumerate().filter(|(_, x)| !x.is_nan());
            let best = numbers.reduce(|a, b| if is_better(*b.1, *a.1) { b } else { a });
            best.map_or(-1, |(place, _)| place as i64)
        };
        let least = of_lines(&x, axis, |line| place(line, &|a, b| a < b));
        let largest = of_lines(&x, axis, |line| place(line, &|a, b| a > b));
        everywhere(|| {
            let a = with_nan();
            assert_eq!(a.nan_argmin_axis(axis).to_vec()?, least);
            assert_eq!(a.nan_argmax_axis(axis).to_vec()?, largest);
            a.nan_argmax_axis(axis).bits()
        });
    }
    everywhere(|| {
        let infinity = f64::INFINITY;
        let x = Vector::from_vec(vec![f64::NAN, infinity, f64::NAN, infinity]);
        assert_eq!((x.nan_argmin().get()?, x.nan_argmax().get()?), (1, 1));
        assert_eq!(x.slice(..1).nan_argmin().get()?, -1);
        assert!(x.slice(..0).try_nan_argmax().is_err());
        Ok(())
    });
}

#[test]
fn orders_by_several_keys() {
    let keys = |i: usize| (i * 7919 % 5, i * 31 % 7, i * 13 % 3);
    let mut expected: Vec<usize> = (0..500).collect();
    expected.sort_by_key(|&i| {
        let (a, b, c) = keys(i);
        (c, b, a)
    });
    let expected: Vec<i64> = expected.into_iter().map(|i| i as i64).collect();
    everywhere(|| {
        let key = |of: fn((usize, usize, usize)) -> usize| {
            Vector::<f32>::from_fn([500], |[i]| of(keys(i)) as f32)
        };
        let (a, b, c) = (key(|k| k.0), key(|k| k.1), key(|k| k.2));
        let order = Vector::lexsort(&[&a, &b, &c]);
        assert_eq!(order.to_vec()?, expected);
        order.bits()
    });
}

#[test]
fn several_quantiles_are_those_of_one() {
    const PARTS: [f64; 6] = [0.5, 0.0, 0.3, 0.99, 1.0, 1.0 / 3.0];
    everywhere(|| {
        let x = Vector::<f64>::random_normal([301], 3);
        let found = x.quantiles(&PARTS);
        for (part, found) in PARTS.into_iter().zip(found.to_vec()?) {
            assert_eq!(found.to_bits(), x.quantile(part).get()?.to_bits(), "{part}");
        }
        let mut bits = found.bits()?;
        for a in [numbers::<f64>(), with_nan()] {
            for axis in 0..3 {
                let found = a.quantiles_axis(axis, &PARTS);
                for (row, part) in PARTS.into_iter().enumerate() {
                    let (of_row, expected) =
                        (found.index_axis(0, row), a.quantile_axis(axis, part));
                    // The sign of a NaN is not said.
                    let [of_row, expected] = [of_row, expected].map(|x| x.replace_nan(77.0));
                    assert_eq!(of_row.bits()?, expected.bits()?, "{axis} {part}");
                }
                bits.extend(found.is_nan().bits()?);
            }
        }
        assert_eq!(x.quantiles(&[]).len(), 0);
        let infinite = Vector::from_vec(vec![f64::INFINITY, 1.0, f64::NEG_INFINITY]);
        let found = infinite.quantiles(&[0.0, 0.5, 1.0]).to_vec()?;
        assert_eq!(found, [f64::NEG_INFINITY, 1.0, f64::INFINITY]);
        Ok(bits)
    });
    let x = Vector::<f64>::zeros([3]);
    let error = x.try_quantiles(&[0.5, 1.5]).unwrap_err().to_string();
    assert_eq!(
        error,
        "quantiles: expected a number between 0 and 1, found 1.5"
    );
    assert!(x.slice(..0).try_quantiles(&[0.5]).is_err());
    assert!(numbers::<f32>().try_quantiles_axis(3, &[0.5]).is_err());
}

/// Quantiles of whole numbers are those of the same `f64`, of the largest numbers too.
#[test]
fn quantiles_of_whole_numbers() {
    fn of<T: Numeric + PartialOrd>() {
        everywhere(|| -> Result<_, Error> {
            let (a, wide) = (numbers::<T>(), numbers::<T>().cast::<f64>());
            let (line, of_line) = (a.ravel(), wide.ravel());
            let mut bits = line.quantiles(&[0.5, 0.37]).cast::<f64>().bits()?;
            assert_eq!(bits[..1], of_line.median().bits()?);
            assert_eq!(bits[1..], of_line.quantile(0.37).bits()?);
            for axis in 0..3 {
                let found = a.quantiles_axis(axis, &[0.3]).index_axis(0, 0);
                let found = found.cast::<f64>().bits()?;
                assert_eq!(found, wide.quantile_axis(axis, 0.3).bits()?);
                bits.extend(found);
            }
            Ok(bits)
        });
    }
    of::<i64>();
    of::<i32>();
    everywhere(|| {
        let x = Vector::from_vec(vec![u64::MAX, 0, u64::MAX]);
        assert_eq!(x.quantiles(&[0.5]).to_vec()?, [u64::MAX as f64]);
        let rows = Array::from_shape_vec([2, 3], vec![i32::MIN, 0, i32::MAX, 5, 0, 0])?;
        let found = rows.quantiles_axis(1, &[0.5, 1.0]);
        assert_eq!(found.to_vec()?, [0.0, 0.0, f64::from(i32::MAX), 5.0]);
        found.bits()
    });
}
