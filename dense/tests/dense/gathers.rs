//! Gathers and scatters by index arrays, against plain loops: on several ranks with arrays, indices
//! and values cut alike, otherwise, or not at all.

use crate::{Bits, everywhere};
use num_complex::Complex;
use sparsefuse_dense::{Array, Element, Error, Index, Vector, step};
use sparsefuse_kernels::Value;
use sparsefuse_runtime::{Config, Runtime, Shape, run_ranks};
use sparsefuse_testing::{bits, everywhere_with};

/// Numbers that round when they are added, so that the order shows.
fn element(flat: usize) -> f64 {
    ((flat * 2_654_435_761) % 1009) as f64 / 7.0 - 70.0
}

/// Indices below `n` in no order, some of them counted from the end.
fn some_indices(len: usize, n: usize) -> Vec<i64> {
    let index = |i: usize| {
        let place = (i * 7919 + i * i * 31 + 5) % n;
        place as i64 - if i.is_multiple_of(3) { n as i64 } else { 0 }
    };
    (0..len).map(index).collect()
}

/// The place of an index.
fn place(index: i64, n: usize) -> usize {
    (if index < 0 { index + n as i64 } else { index }) as usize
}

fn vector(n: usize) -> Vec<f64> {
    (0..n).map(element).collect()
}

/// The same vector, with other cuts than by default: the first rank has almost all rows.
fn cut_elsewhere<T: Element>(elements: &[T]) -> Result<Vector<T>, Error> {
    let runtime = Runtime::current();
    let (n, ranks) = (elements.len(), runtime.ranks());
    let cuts: Vec<usize> = (0..=ranks)
        .map(|rank| match rank {
            0 => 0,
            rank => n - (ranks - rank).min(n),
        })
        .collect();
    let partition = runtime.partition_at(&cuts)?;
    let rows = match ranks {
        1 => 0..n,
        _ => cuts[runtime.rank()]..cuts[runtime.rank() + 1],
    };
    let own = elements[rows.clone()].to_vec();
    let store = runtime.store_of_rows(Shape::new(&[n]), partition, rows, own)?;
    Vector::from_store(store, None)
}

#[test]
fn elements_are_taken_as_by_a_loop() {
    for (n, len) in [(50, 37), (3, 80), (60, 2), (1, 9), (40, 0)] {
        let indices = some_indices(len, n);
        let expected: Vec<f64> = indices.iter().map(|&i| element(place(i, n))).collect();
        let found = everywhere(|| {
            let (x, at) = (Vector::from_vec(vector(n)), Vector::from_slice(&indices));
            let taken = x.take(&at).bits()?;
            let elsewhere = cut_elsewhere(&vector(n))?;
            assert_eq!(elsewhere.take(&at).bits()?, taken);
            assert_eq!(x.take(&cut_elsewhere(&indices)?).bits()?, taken);
            assert_eq!((&x * 1.0).take(&(&at + 0)).bits()?, taken);
            Ok(taken)
        });
        assert_eq!(found, bits(&expected), "{len} of {n}");
    }
}

#[test]
fn every_type_of_elements_and_of_indices() {
    fn taken<T: Element, I: Index>(x: &[T], at: &[I]) -> Result<Vec<T>, Error> {
        Vector::from_slice(x).take(&Vector::from_slice(at)).to_vec()
    }
    everywhere(|| {
        let x = [-0.0, f64::NAN, 1.5, f64::INFINITY, 7.0];
        let expected = bits(&[f64::INFINITY, -0.0, f64::NAN, 7.0, -0.0]);
        assert_eq!(bits(&taken(&x, &[3i32, 0, 1, -1, -5])?), expected);
        assert_eq!(bits(&taken(&x, &[3i64, 0, 1, -1, -5])?), expected);
        assert_eq!(bits(&taken(&x, &[3u32, 0, 1, 4, 0])?), expected);
        assert_eq!(bits(&taken(&x, &[3u64, 0, 1, 4, 0])?), expected);
        let flags = [true, false, false, true, true, false, true, false, true];
        assert_eq!(
            taken(&flags, &[8, 1, 0, -1, 5])?,
            [true, false, true, true, false]
        );
        let z: Vec<_> = (0..9).map(|i| Complex::new(i as f32, 0.5)).collect();
        assert_eq!(taken(&z, &[7, 7, 2])?, [z[7], z[7], z[2]]);
        Ok(())
    });
}

#[test]
fn slices_are_taken_along_each_axis() {
    for shape in [[13, 4, 3], [2, 9, 5], [1, 1, 21], [12, 3, 0]] {
        let flat = |i: usize, j: usize, k: usize| (i * shape[1] + j) * shape[2] + k;
        for axis in 0..3 {
            if shape[axis] == 0 {
                continue;
            }
            let at = some_indices(11, shape[axis]);
            let found = everywhere(|| {
                let a = Array::from_fn(shape, |[i, j, k]| element(flat(i, j, k)));
                let taken = a.take_axis(axis, &Vector::from_slice(&at));
                // Views, and results of tasks that have not run.
                let turned = a.t().take_axis(2 - axis, &Vector::from_slice(&at)).t();
                assert_eq!(turned.bits()?, taken.bits()?);
                taken.bits()
            });
            let mut size = shape;
            size[axis] = at.len();
            let mut expected = Vec::new();
            for i in 0..size[0] {
                for j in 0..size[1] {
                    for k in 0..size[2] {
                        let mut from = [i, j, k];
                        from[axis] = place(at[from[axis]], shape[axis]);
                        expected.push(element(flat(from[0], from[1], from[2])));
                    }
                }
            }
            assert_eq!(found, bits(&expected), "{shape:?} {axis}");
        }
    }
}

#[test]
fn points_of_several_dimensions() {
    let shape = [9, 5];
    let (rows, cols) = (some_indices(30, 9), some_indices(30, 5));
    let expected: Vec<f64> = rows
        .iter()
        .zip(&cols)
        .map(|(&i, &j)| element(place(i, 9) * 5 + place(j, 5)))
        .collect();
    let found = everywhere(|| {
        let a = Array::from_fn(shape, |[i, j]| element(i * 5 + j));
        // A matrix of points.
        let rows = Array::from_shape_vec([6, 5], rows.clone())?;
        let cols = Array::from_shape_vec([6, 5], cols.clone())?;
        let taken = a.take_points([&rows, &cols]);
        assert_eq!(taken.shape(), [6, 5]);
        let flat = Array::ravel_multi_index(shape, [&rows, &cols]);
        assert_eq!(a.take(&flat).bits()?, taken.bits()?);
        taken.bits()
    });
    assert_eq!(found, bits(&expected));
}

/// Sums and last values by a loop over the items.
fn by_loop(x: &mut [f64], at: &[i64], values: &[f64], sums: bool) {
    for (&index, &value) in at.iter().zip(values) {
        let element = &mut x[place(index, x.len())];
        *element = if sums { *element + value } else { value };
    }
}

#[test]
fn values_are_scattered_as_by_a_loop() {
    for (n, len) in [(50, 130), (3, 80), (60, 2), (1, 9), (40, 0)] {
        let (at, values) = (some_indices(len, n), vector(len + 7).split_off(7));
        let (mut sums, mut last, mut tenths) = (vector(n), vector(n), vector(n));
        by_loop(&mut sums, &at, &values, true);
        by_loop(&mut last, &at, &values, false);
        by_loop(&mut tenths, &at, &vec![0.1; len], true);
        let found = everywhere(|| {
            let before = Vector::from_vec(vector(n));
            // All ways in which array, indices and values may be cut.
            let arrays = [before.clone(), cut_elsewhere(&vector(n))?];
            let places = [Vector::from_slice(&at), cut_elsewhere(&at)?];
            let brought = [Vector::from_slice(&values), cut_elsewhere(&values)?];
            let mut found = Vec::new();
            for array in &arrays {
                for at in &places {
                    for values in &brought {
                        let (mut sums, mut last) = (array.clone(), array.clone());
                        sums.add_at(at, values);
                        last.put(at, values);
                        let mut tenths = array.clone();
                        tenths.add_at(at, 0.1);
                        found.push([sums.bits()?, last.bits()?, tenths.bits()?]);
                    }
                }
            }
            assert!(found.iter().all(|other| *other == found[0]), "{n} {len}");
            assert_eq!(
                before.bits()?,
                bits(&vector(n)),
                "others keep what they had"
            );
            Ok(found.swap_remove(0))
        });
        let expected = [sums, last, tenths].map(|array| bits(&array));
        assert_eq!(found, expected, "{len} to {n}");
    }
}

/// Where single precision would no longer grow by 1.
#[test]
fn weights_are_added_in_double_precision() {
    everywhere(|| {
        let at = Vector::from_vec(vec![1, 1, 1, 1, 0]);
        let weights = Vector::from_vec(vec![16_777_216.0f32, 1.0, 1.0, 2.0, 0.5]);
        let sums = at.bincount_weighted(&weights, 2);
        assert_eq!(sums.to_vec()?, [0.5, 16_777_220.0]);
        let complex = weights.cast::<Complex<f32>>() * Complex::new(0.0, 1.0f32);
        let complex = at.bincount_weighted(&complex, 2);
        let parts = [0.5, 16_777_220.0].map(|im| Complex::new(0.0, im));
        assert_eq!(complex.to_vec()?, parts);
        sums.bits()
    });
}

/// NumPy's `maximum.at` and `minimum.at`: a NaN stays, or takes the place of a number.
#[test]
fn extremes_are_scattered_as_by_a_loop() {
    for (n, len) in [(50, 130), (3, 80), (1, 9), (40, 0)] {
        let at = some_indices(len, n);
        let mut values = vector(len + 7).split_off(7);
        values
            .iter_mut()
            .step_by(17)
            .for_each(|value| *value = f64::NAN);
        let (mut larger, mut smaller) = (vector(n), vector(n));
        for (&index, &value) in at.iter().zip(&values) {
            let (more, less) = (&mut larger[place(index, n)], &mut smaller[place(index, n)]);
            let is_nan = |x: f64| x.is_nan() || value.is_nan();
            *more = if is_nan(*more) {
                f64::NAN
            } else {
                more.max(value)
            };
            *less = if is_nan(*less) {
                f64::NAN
            } else {
                less.min(value)
            };
        }
        let found = everywhere(|| {
            let mut found = Vec::new();
            for at in [Vector::from_slice(&at), cut_elsewhere(&at)?] {
                let values = cut_elsewhere(&values)?;
                let (mut more, mut less) =
                    (cut_elsewhere(&vector(n))?, Vector::from_vec(vector(n)));
                more.maximum_at(&at, &values);
                less.minimum_at(&at, &values);
                found.push([more.bits()?, less.bits()?]);
            }
            assert_eq!(found[0], found[1], "{n} {len}");
            Ok(found.swap_remove(0))
        });
        assert_eq!(
            found,
            [larger, smaller].map(|array| bits(&array)),
            "{len} to {n}"
        );
    }
    let mut whole = Array::<u32, 2>::full([2, 2], 7);
    let at = Vector::from_vec(vec![0, 1, 3]);
    whole.maximum_at(&at, Vector::from_vec(vec![9u32, 6, 8]));
    whole.minimum_at(&at, 8u32);
    assert_eq!(whole.to_vec().unwrap(), [8, 7, 7, 8]);
    assert!(
        whole
            .try_minimum_at(&at, Vector::from_vec(vec![1u32, 2]))
            .is_err()
    );
}

/// Many items into few elements, which all ranks hold, and few into many.
#[test]
fn bins() {
    let base = Config {
        parallel_threshold: 0,
        ..Config::default()
    };
    for (n, len) in [(7, 9000), (9000, 300), (5000, 20_000)] {
        let at: Vec<i64> = some_indices(len, n)
            .iter()
            .map(|&index| place(index, n) as i64)
            .collect();
        let weights = vector(len);
        let (counts, sums) = everywhere_with(&base, || {
            let at = Vector::from_slice(&at);
            let weights = Vector::from_slice(&weights);
            let counts = at.bincount(n).to_vec()?;
            Ok((counts, at.bincount_weighted(&weights, n).bits()?))
        });
        let (mut ones, mut expected) = (vec![0; n], vec![0.0; n]);
        at.iter().for_each(|&index| ones[index as usize] += 1);
        by_loop(&mut expected, &at, &weights, true);
        assert_eq!(counts, ones);
        assert_eq!(sums, bits(&expected));
    }
}

#[test]
fn slices_are_scattered_along_each_axis() {
    for shape in [[13, 4, 3], [2, 9, 5], [1, 1, 21]] {
        let flat = |i: usize, j: usize, k: usize| (i * shape[1] + j) * shape[2] + k;
        for axis in 0..3 {
            let at = some_indices(17, shape[axis]);
            let mut size = shape;
            size[axis] = at.len();
            let value = |i: usize, j: usize, k: usize| element(7 * i + 91 * j + 1001 * k + 3);
            let found = everywhere(|| {
                let a = Array::from_fn(shape, |[i, j, k]| element(flat(i, j, k)));
                let values = Array::from_fn(size, |[i, j, k]| value(i, j, k));
                let at = Vector::from_slice(&at);
                let (mut sums, mut last, mut filled) = (a.clone(), a.clone(), a.clone());
                sums.add_at_axis(axis, &at, &values);
                last.put_axis(axis, &at, &values);
                filled.add_at_axis(axis, &at.slice(3..9), 0.1);
                let mut turned = a.t();
                turned.add_at_axis(2 - axis, &at, values.t());
                assert_eq!(turned.t().bits()?, sums.bits()?);
                Ok([sums.bits()?, last.bits()?, filled.bits()?])
            });
            let whole = vector(shape.iter().product());
            let mut expected = [whole.clone(), whole.clone(), whole];
            for i in 0..size[0] {
                for j in 0..size[1] {
                    for k in 0..size[2] {
                        let mut to = [i, j, k];
                        let number = to[axis];
                        to[axis] = place(at[number], shape[axis]);
                        let to = flat(to[0], to[1], to[2]);
                        expected[0][to] += value(i, j, k);
                        expected[1][to] = value(i, j, k);
                        if (3..9).contains(&number) {
                            expected[2][to] += 0.1;
                        }
                    }
                }
            }
            assert_eq!(
                found,
                expected.map(|array| bits(&array)),
                "{shape:?} {axis}"
            );
        }
    }
}

#[test]
fn values_are_scalars_views_and_rows_that_repeat() {
    let found = everywhere(|| {
        let at = Vector::from_vec(vec![4u32, 0, 4, 9, 2, 4]);
        let mut x = Vector::<f64>::zeros([10]);
        x.add_at(&at, Vector::from_vec(vector(3)).sum());
        x.add_at(&at.slice(step(.., -1)), x.clone().slice(2..8));
        let mut flags = Vector::full([10], true);
        flags.put(&at, false);
        assert_eq!(flags.cast::<i32>().sum().get()?, 6);
        let mut a = Array::<f64, 2>::zeros([6, 2]);
        a.put_axis(
            0,
            &at.slice(1..3),
            &Array::from_shape_vec([1, 2], vec![1.0, 2.0])?,
        );
        assert_eq!(a.slice((4..5, ..)).to_vec()?, [1.0, 2.0]);
        // A gather of a scatter of a gather, none of which is read between.
        let y = x.take(&at);
        x.add_at(&at, &y);
        x.bits()
    });
    let at = [4, 0, 4, 9, 2, 4];
    let sum = vector(3).iter().fold(0.0, |sum, value| sum + value);
    let mut x = vec![0.0; 10];
    by_loop(&mut x, &at, &[sum; 6], true);
    let (back, values) = (at.into_iter().rev().collect::<Vec<_>>(), x[2..8].to_vec());
    by_loop(&mut x, &back, &values, true);
    let values: Vec<f64> = at.iter().map(|&index| x[index as usize]).collect();
    by_loop(&mut x, &at, &values, true);
    assert_eq!(found, bits(&x));
}

/// The complaint is that of the first index that is out of range, on all ranks.
#[test]
fn indices_out_of_range_are_errors() {
    let ends = |result: Result<Vec<f64>, Error>, expected: &str| {
        let message = result.unwrap_err().to_string();
        assert!(message.ends_with(expected), "{message}");
    };
    everywhere(|| {
        let x = Vector::from_vec(vector(30));
        let mut at = vec![3i64; 40];
        (at[17], at[31]) = (30, -31);
        let at = Vector::from_vec(at);
        ends(
            x.take(&at).to_vec(),
            "`take` failed: take: expected indices from -30 to 29, found 30 at position 17",
        );
        let early = at.slice(18..);
        ends(
            x.take(&early).to_vec(),
            "take: expected indices from -30 to 29, found -31 at position 13",
        );
        let mut y = x.clone();
        y.add_at(&at, 1.0);
        ends(
            y.to_vec(),
            "add_at: expected indices from -30 to 29, found 30 at position 17",
        );
        let mut bins = Vector::from_vec(vec![0.0; 3]);
        bins.put(&at, Vector::from_vec(vector(40)));
        ends(
            bins.to_vec(),
            "put: expected indices from -3 to 2, found 3 at position 0",
        );
        let a = Array::from_shape_vec([6, 5], vector(30))?;
        ends(
            a.take_axis(0, &Vector::from_vec(vec![0, 1, -7])).to_vec(),
            "take_axis: expected indices from -6 to 5, found -7 at position 2",
        );
        let mut b = a.clone();
        b.add_at_axis(1, &Vector::from_vec(vec![5u64]), 1.0);
        ends(
            b.to_vec(),
            "add_at_axis: expected indices from -5 to 4, found 5 at position 0",
        );
        let one = Vector::from_vec(vec![2]);
        ends(
            a.take_points([&one, &(&one * 3)]).to_vec(),
            "ravel_multi_index: expected indices from -5 to 4, found 6 at position 0",
        );
        ends(
            Vector::from_vec(vec![0, -1])
                .bincount_weighted(&x.slice(..2), 4)
                .to_vec(),
            "bincount_weighted: expected indices from 0 to 3, found -1 at position 1",
        );
        ends(
            Vector::<f64>::zeros([0]).take(&one).to_vec(),
            "take: expected no index, since there are no elements, found 2 at position 0",
        );
        // The ranks go on in step.
        x.take(&at.slice(..17)).bits()
    });
}

#[test]
fn what_does_not_fit_is_refused() {
    let a = Array::<f64, 2>::zeros([4, 3]);
    let at = Vector::from_vec(vec![0, 1]);
    let message = |result: Result<(), Error>| result.unwrap_err().to_string();
    assert_eq!(
        message(a.try_take_axis(2, &at).map(drop)),
        "take_axis: expected an axis below 2, found 2"
    );
    let mut b = a.clone();
    assert_eq!(
        message(b.try_add_at_axis(0, &at, Array::zeros([3, 3]))),
        "add_at_axis: expected a shape of (2, 3), found (3, 3)"
    );
    assert_eq!(
        message(b.try_put(&at, Vector::zeros([3]))),
        "put: expected a shape of (2), found (3)"
    );
    let other = Vector::from_vec(vec![0, 1, 2]);
    assert_eq!(
        message(a.try_take_points([&at, &other]).map(drop)),
        "take_points: expected a shape of (2), found (3)"
    );
    let runtime = Runtime::new(Config::default()).unwrap();
    let far = runtime.enter(|| Vector::from_vec(vec![0]));
    assert!(message(a.try_take(&far).map(drop)).contains("runtime"));
    assert_eq!(b.to_vec().unwrap(), [0.0; 12]);
}

/// Many items: by copies, blocks and buckets, and by one thread.
#[test]
fn threads_share_scatters_and_leave_no_trace() {
    let n = 600_000;
    let anywhere: Vec<i64> = some_indices(200_000, n);
    let near: Vec<i64> = (0..200_000)
        .map(|i| (2 * i + i * i % 301).min(n - 1) as i64)
        .collect();
    let few: Vec<i64> = anywhere.iter().map(|i| i.rem_euclid(100)).collect();
    let values = vector(anywhere.len());
    let wholes: Vec<i64> = (0..anywhere.len() as i64).map(|i| i << 40).collect();
    for indices in [&anywhere, &near, &few] {
        let (mut expected, mut last) = (vector(n), vector(n));
        let mut counts = vec![0_i64; n];
        for ((&index, &value), &whole) in indices.iter().zip(&values).zip(&wholes) {
            expected[place(index, n)] += value;
            last[place(index, n)] = value;
            counts[place(index, n)] = counts[place(index, n)].wrapping_add(whole);
        }
        for threads in 1..4 {
            let config = Config {
                threads,
                ..Config::default()
            };
            Runtime::new(config).unwrap().enter(|| {
                let (at, by) = (Vector::from_slice(indices), Vector::from_slice(&values));
                let (mut sums, mut put) = (Vector::from_vec(vector(n)), Vector::zeros([n]));
                sums.add_at(&at, &by);
                assert_eq!(sums.to_vec().unwrap(), expected);
                put += Vector::from_vec(vector(n));
                put.put(&at, &by);
                assert_eq!(put.to_vec().unwrap(), last);
                let len = if indices == &few { 100 } else { n };
                let mut wide = Vector::<i64>::zeros([len]);
                let small = Vector::from_vec(indices.iter().map(|&i| place(i, n) as i64).collect());
                wide.add_at(&small, Vector::from_slice(&wholes));
                assert_eq!(wide.to_vec().unwrap(), counts[..len]);
                let once = small.bincount(len).to_vec().unwrap();
                assert_eq!(once.iter().sum::<i64>(), indices.len() as i64);
                // The first index that is out of range is the one that is named.
                let mut wrong = indices.clone();
                (wrong[70_123], wrong[150_000]) = (n as i64, i64::MIN);
                sums.add_at(&Vector::from_vec(wrong), &by);
                let error = sums.to_vec().unwrap_err().to_string();
                assert!(error.contains("at position 70123"), "{error}");
            });
        }
    }
}

/// Scatters into arrays that nothing else holds, against those into arrays of which there is
/// another handle, which have to be copied.
#[test]
fn the_only_handle_is_changed_in_place() {
    fn steps<const D: usize>(
        mut x: Array<f64, D>,
        is_shared: bool,
    ) -> Result<Vec<Vec<Value>>, Error> {
        let n = x.len();
        let at = Vector::from_vec(some_indices(20, n));
        let values = Vector::from_vec(vector(20));
        let (mut shared, mut kept) = (Vec::new(), Vec::new());
        for k in 0..6 {
            let mut keep = |x: &Array<f64, D>| shared.extend(is_shared.then(|| x.clone()));
            keep(&x);
            x.put(&at, &values * k as f64);
            keep(&x);
            x.add_at(&at.slice(3..9), 0.1);
            if k == 2 {
                kept.push(x.clone());
            }
            keep(&x);
            x.maximum_at(&at, &values);
            keep(&x);
            // A value that is read from the array itself.
            let own = x.ravel().slice(..20) * 0.5;
            x.minimum_at(&at, &own);
            keep(&x);
            x.add_at_axis(D - 1, &Vector::from_vec(vec![1_i64, 0, 1]), 0.25);
            if k % 2 == 1 {
                x.sum().get()?;
            }
        }
        let refused = x.try_put(&at, Vector::<f64>::zeros([3])).is_err();
        assert!(refused, "the values do not fit, and the array stays");
        kept.push(x.clone());
        let found = kept.iter().map(Bits::bits).collect();
        x.put(&Vector::from_vec(vec![n as i64]), 1.0);
        let message = x.to_vec().unwrap_err().to_string();
        let expected = format!(
            "put: expected indices from -{n} to {}, found {n} at position 0",
            n - 1
        );
        assert!(message.ends_with(&expected), "{message}");
        found
    }
    let found = everywhere(|| {
        let make = || Array::from_shape_vec([3, 4, 5], vector(60));
        let line = || Vector::from_vec(vector(90));
        let own = (steps(make()?, false)?, steps(line(), false)?);
        let grid = steps(Array::from_shape_vec([9, 10], vector(90))?, false)?;
        assert_eq!((steps(make()?, true)?, steps(line(), true)?), own);
        assert!(grid.len() == 2 && grid[0] != grid[1]);
        Ok((own, grid))
    });
    assert_ne!(found.0.0, found.0.1);
    // In place: the memory in use does not grow.
    let counts = run_ranks(1, &Config::default(), |runtime| {
        let mut x = Vector::<f64>::zeros([1 << 20]);
        let at = Vector::from_vec(vec![7_i64, 8]);
        x.put(&at, 1.0);
        runtime.flush();
        let before = runtime.peak_memory();
        for _ in 0..3 {
            x.add_at(&at, 1.0);
            runtime.flush();
        }
        (runtime.peak_memory() - before, x.slice(6..9).to_vec())
    });
    let (grown, elements) = counts.unwrap().pop().unwrap();
    assert_eq!(elements.unwrap(), [0.0, 4.0, 4.0]);
    assert!(grown < 1 << 20, "{grown} bytes more");
}

#[test]
fn values_to_points() {
    let (rows, columns) = (some_indices(20, 6), some_indices(23, 5).split_off(3));
    let found = everywhere(|| {
        let (i, j) = (Vector::from_slice(&rows), cut_elsewhere(&columns)?);
        let values = Vector::from_vec(vector(20));
        let mut a = Array::from_shape_vec([6, 5], vector(30))?;
        a.put_points([&i, &j], &values);
        a.add_at_points([&i, &j], &values * 0.3);
        a.add_at_points([&i, &j], 0.1);
        let refused = a.try_put_points([&i, &j.slice(..3)], 1.0).unwrap_err();
        assert!(refused.to_string().starts_with("put_points: "), "{refused}");
        let mut outside = a.clone();
        outside.put_points([&i, &(&j + 5)], 1.0);
        let message = outside.to_vec().unwrap_err().to_string();
        assert!(
            message.contains("expected indices from -5 to 4"),
            "{message}"
        );
        a.bits()
    });
    let (mut a, values) = (vector(30), vector(20));
    let places = || {
        rows.iter()
            .zip(&columns)
            .map(|(&i, &j)| place(i, 6) * 5 + place(j, 5))
    };
    places().zip(&values).for_each(|(at, &value)| a[at] = value);
    places()
        .zip(&values)
        .for_each(|(at, &value)| a[at] += value * 0.3);
    places().for_each(|at| a[at] += 0.1);
    assert_eq!(found, bits(&a));
}
