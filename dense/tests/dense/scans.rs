//! Running sums and products, and places of the smallest and largest, against plain loops; slices
//! that are changed in place.

use crate::{Bits, everywhere};
use num_complex::Complex;
use sparsefuse_dense::{Array, Numeric, Vector, step};
use sparsefuse_runtime::{Config, Runtime};
use sparsefuse_testing::{bits, everywhere_with};

/// Numbers that round when they are added, with equal ones among them.
fn element(flat: usize) -> f64 {
    ((flat * 2_654_435_761) % 101) as f64 / 7.0 - 6.0
}

const SHAPES: [[usize; 3]; 6] = [
    [13, 4, 3],
    [2, 9, 5],
    [1, 1, 21],
    [40, 1, 1],
    [5, 7, 1],
    [9, 3, 0],
];

/// What a loop along an axis makes of each line of an array.
fn each_line<T: Copy, U: Copy>(
    shape: [usize; 3],
    axis: usize,
    elements: &[T],
    make: impl Fn(&[T]) -> Vec<U>,
) -> Vec<U> {
    let (n, inner): (usize, usize) = (shape[axis], shape[axis + 1..].iter().product());
    let outer: usize = shape[..axis].iter().product();
    let mut lines = Vec::new();
    for o in 0..outer {
        for i in 0..inner {
            let line: Vec<T> = (0..n).map(|k| elements[(o * n + k) * inner + i]).collect();
            lines.push(make(&line));
        }
    }
    let len = lines.first().map_or(0, Vec::len);
    let mut made = Vec::new();
    for o in 0..outer {
        for k in 0..len {
            made.extend((0..inner).map(|i| lines[o * inner + i][k]));
        }
    }
    made
}

fn running<T: Numeric>(line: &[T], join: impl Fn(T, T) -> T) -> Vec<T> {
    let mut made: Vec<T> = Vec::new();
    for &x in line {
        made.push(made.last().map_or(x, |&before| join(before, x)));
    }
    made
}

#[test]
fn each_element_is_joined_with_the_one_before_it() {
    for shape in SHAPES {
        let elements: Vec<f64> = (0..shape.iter().product()).map(element).collect();
        for axis in 0..3 {
            let found = everywhere(|| {
                let a = Array::from_shape_vec(shape, elements.clone())?;
                let sums = a.cumsum_axis(axis);
                // Of a view, and of what has not been computed yet.
                let turned = (a.t() * 1.0).cumsum_axis(2 - axis).t();
                assert_eq!(turned.bits()?, sums.bits()?);
                Ok([sums.bits()?, a.cumprod_axis(axis).bits()?])
            });
            let sums = each_line(shape, axis, &elements, |line| running(line, |a, b| a + b));
            let products = each_line(shape, axis, &elements, |line| running(line, |a, b| a * b));
            assert_eq!(found, [bits(&sums), bits(&products)], "{shape:?} {axis}");
        }
    }
}

#[test]
fn sums_of_vectors_of_every_type() {
    everywhere(|| {
        let x: Vec<f64> = (0..50).map(element).collect();
        let sums = running(&x, |a, b| a + b);
        let x = Vector::from_vec(x);
        assert_eq!(x.cumsum().bits()?, bits(&sums));
        assert_eq!(Vector::<f64>::zeros([0]).cumsum().to_vec()?, [0.0; 0]);
        // Whole numbers wrap.
        let large = Vector::full([3], i32::MAX);
        assert_eq!(large.cumsum().to_vec()?, [i32::MAX, -2, i32::MAX - 2]);
        let powers = Vector::full([40], 3u64).cumprod().to_vec()?;
        assert_eq!(powers[39], 3u64.pow(40));
        let turns = Vector::full([9], Complex::new(0.0f32, 1.0)).cumprod();
        assert_eq!(turns.to_vec()?[8], Complex::new(0.0, 1.0));
        // Counts and offsets: where the rows of a matrix begin.
        let rows = Vector::from_vec(vec![2, 0, 2, 1, 2]);
        assert_eq!(rows.bincount(4).cumsum().to_vec()?, [1, 2, 5, 5]);
        Ok(())
    });
}

/// The first of the best, or the first NaN.
fn position(line: &[f64], is_better: impl Fn(f64, f64) -> bool) -> i64 {
    let nan = line.iter().position(|x| x.is_nan());
    let best = || {
        let mut best = 0;
        for (index, &x) in line.iter().enumerate() {
            if is_better(x, line[best]) {
                best = index;
            }
        }
        best
    };
    nan.unwrap_or_else(best) as i64
}

#[test]
fn places_along_each_axis() {
    let base = Config {
        parallel_threshold: 0,
        ..Config::default()
    };
    // Lines of less than a chunk, of one, and of some more; long ones; more lines than are searched
    // together.
    let lines = [
        [70, 3, 4],
        [9, 2, 16],
        [7, 1, 31],
        [3, 5, 47],
        [2, 2, 1100],
        [3, 20, 700],
    ];
    let large = [[1500, 3, 2], [2, 1100, 3], [3000, 2, 1]];
    let large = large.into_iter().chain(lines);
    for (number, shape) in SHAPES.into_iter().chain(large).enumerate() {
        let mut elements: Vec<f64> = (0..shape.iter().product()).map(element).collect();
        for (place, element) in elements.iter_mut().enumerate() {
            match place % 1009 {
                17 | 23 | 40 => *element = f64::NAN,
                29 => *element = f64::INFINITY,
                30 => *element = -f64::INFINITY,
                _ => {}
            }
        }
        let base = match number < SHAPES.len() {
            true => sparsefuse_testing::small(),
            false => base.clone(),
        };
        for axis in (0..3).filter(|&axis| shape[axis] > 0) {
            let found = everywhere_with(&base, || {
                let a = Array::from_shape_vec(shape, elements.clone())?;
                let (least, largest) = (a.argmin_axis(axis), a.argmax_axis(axis));
                let turned = a.t().argmax_axis(2 - axis).t();
                assert_eq!(turned.bits()?, largest.bits()?);
                let single = a.cast::<f32>();
                assert_eq!(single.argmin_axis(axis).bits()?, least.bits()?);
                // Zero in the place of NaN.
                let whole = a.cast::<i64>();
                let same = whole.cast::<f64>().argmax_axis(axis);
                assert_eq!(whole.argmax_axis(axis).bits()?, same.bits()?);
                Ok((least.to_vec()?, largest.to_vec()?))
            });
            let place = |is_better: fn(f64, f64) -> bool| {
                each_line(shape, axis, &elements, |line| {
                    vec![position(line, is_better)]
                })
            };
            let expected = (place(|a, b| a < b), place(|a, b| a > b));
            assert_eq!(found, expected, "{shape:?} {axis}");
        }
    }
}

#[test]
fn places_of_whole_numbers_and_what_is_refused() {
    everywhere(|| {
        let a = Array::from_shape_vec([5, 2], vec![3u32, 9, 3, 9, 1, 0, 1, 0, 3, 9])?;
        assert_eq!(a.argmin_axis(0).to_vec()?, [2, 2]);
        assert_eq!(a.argmax_axis(0).to_vec()?, [0, 0]);
        assert_eq!(a.argmax_axis(1).to_vec()?, [1, 1, 0, 0, 1]);
        // The smallest elements, by their places.
        let (rows, cols) = (Vector::arange(5), a.argmin_axis(1));
        assert_eq!(
            a.take_points([&rows, &cols]).to_vec()?,
            a.min_axis(1).to_vec()?
        );
        Ok(())
    });
    let a = Array::<f64, 3>::zeros([2, 0, 4]);
    assert_eq!(
        a.try_argmin_axis(1).unwrap_err().to_string(),
        "argmin_axis: expected an axis with elements to compare, found one of length 0"
    );
    assert_eq!(
        a.try_argmax_axis(3).unwrap_err().to_string(),
        "argmax_axis: expected an axis below 3, found 3"
    );
    assert_eq!(
        a.try_cumsum_axis(3).unwrap_err().to_string(),
        "cumsum_axis: expected an axis below 3, found 3"
    );
    assert_eq!(a.argmin_axis(0).shape(), [0, 4]);
}

#[test]
fn a_failure_before_a_scan_comes_with_it() {
    everywhere(|| {
        let x = Vector::<f64>::ones([40]);
        let failed = x.take(&Vector::full([40], 40));
        let error = failed.cumsum().to_vec().unwrap_err().to_string();
        assert!(error.contains("found 40 at position 0"), "{error}");
        x.cumsum().bits()
    });
}

#[test]
fn slices_are_changed_in_place() {
    let found = everywhere(|| {
        let mut x = Vector::from_vec((0..40).map(element).collect());
        let before = x.clone();
        let y = Vector::from_vec((0..10).map(|i| i as f64).collect());
        x.update_slice(5..15, |slice| slice + &y);
        x.update_slice(step(.., -4), |slice| slice * &y);
        x.update_slice(30.., |slice| &slice - slice.mean());
        let mut a = Array::from_fn([6, 4], |[i, j]| element(i * 4 + j));
        a.update_slice((1..5, 2..), |slice| slice * 2.0);
        // A slice of another handle of the same elements.
        let other = a.clone();
        a.update_slice((..3, ..), |slice| slice + other.slice((3.., ..)));
        assert_eq!(
            before.bits()?,
            bits(&(0..40).map(element).collect::<Vec<_>>())
        );
        Ok((x.to_vec()?, a.to_vec()?))
    });
    let mut x: Vec<f64> = (0..40).map(element).collect();
    for i in 0..10 {
        x[5 + i] += i as f64;
    }
    for i in 0..10 {
        x[39 - 4 * i] *= i as f64;
    }
    let mut a: Vec<f64> = (0..24).map(element).collect();
    for i in 1..5 {
        a[i * 4 + 2] *= 2.0;
        a[i * 4 + 3] *= 2.0;
    }
    for i in 0..12 {
        a[i] += a[i + 12];
    }
    assert_eq!(found.0[..30], x[..30]);
    assert!(found.0[30..].iter().sum::<f64>().abs() < 1e-12);
    assert_eq!(found.1, a);
}

/// Without another handle nothing is copied, and the change runs as one task.
#[test]
fn a_change_of_a_slice_is_one_pass() {
    let runtime = Runtime::new(Config {
        threads: 1,
        ..Config::default()
    });
    runtime.unwrap().enter(|| {
        let runtime = Runtime::current();
        let mut x = Vector::<f64>::ones([10_000]);
        runtime.flush();
        let (before, peak) = (runtime.counters(), runtime.peak_memory());
        x.update_slice(1000..2000, |slice| slice * 2.0 + 1.0);
        runtime.flush();
        let after = runtime.counters();
        assert_eq!(after.fused_tasks, before.fused_tasks + 1);
        assert_eq!(after.bytes, before.bytes + 16_000);
        assert_eq!(runtime.peak_memory(), peak);
        let mut refused = x.clone();
        let error = refused.try_update_slice(..3, |_| Ok(Vector::zeros([4])));
        assert_eq!(
            error.unwrap_err().to_string(),
            "update_slice: expected a shape of (3), found (4)"
        );
        assert_eq!(x.sum().get().unwrap(), 12_000.0);
    });
}

/// Threads share long scans of integers.
#[test]
fn long_scans_are_the_same_on_any_threads() {
    let n = 70_001;
    let elements: Vec<i64> = (0..n as i64).map(|i| (i * 7919 % 4001) << 45).collect();
    let mut sum = 0_i64;
    let expected: Vec<i64> = elements
        .iter()
        .map(|&x| {
            sum = sum.wrapping_add(x);
            sum
        })
        .collect();
    let reals: Vec<u64> = (0..n)
        .scan(0.0, |sum, i| {
            *sum = if i == 0 {
                element(i)
            } else {
                *sum + element(i)
            };
            Some(f64::to_bits(*sum))
        })
        .collect();
    for threads in 1..4 {
        let config = Config {
            threads,
            ..Config::default()
        };
        Runtime::new(config).unwrap().enter(|| {
            let x = Vector::from_slice(&elements);
            assert_eq!(x.cumsum().to_vec().unwrap(), expected, "{threads}");
            let y = Vector::from_vec((0..n).map(element).collect());
            let sums = y.cumsum().to_vec().unwrap();
            assert!(
                sums.iter()
                    .map(|sum| sum.to_bits())
                    .eq(reals.iter().copied())
            );
        });
    }
}
