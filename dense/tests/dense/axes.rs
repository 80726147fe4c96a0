//! Arrays of one to four dimensions: axes in another order, with one less or more, and reductions
//! along each of them.

use crate::{Bits, everywhere};
use num_complex::Complex;
use sparsefuse_dense::{Array, Error, Vector, step};
use sparsefuse_kernels::Value;
use sparsefuse_runtime::{Config, Runtime};
use sparsefuse_testing::everywhere_with;

/// A number that depends on every index and rounds when it is added.
fn element<const D: usize>(index: [usize; D]) -> f64 {
    let flat = index.iter().fold(7, |flat: usize, &i| flat * 13 + i);
    ((flat * 2_654_435_761) % 1009) as f64 / 7.0 - 70.0
}

/// The reductions of each line of three dimensions, one after the other, by reductions of vectors.
fn lines(a: &Array<f64, 3>, axis: usize) -> Result<Vec<Value>, Error> {
    let a = a.move_axis(axis, 2);
    let [n, m, _] = a.shape();
    let mut sums = Vec::new();
    for i in 0..n {
        for j in 0..m {
            let line = a.index_axis(0, i).row(j).contiguous()?;
            sums.extend(line.sum().bits()?);
            sums.extend(line.max().bits()?);
            sums.extend(line.prod().bits()?);
        }
    }
    Ok(sums)
}

/// Sums, largest elements and products along an axis, in the order of [`lines`].
fn reductions(a: &Array<f64, 3>, axis: usize) -> Result<Vec<Value>, Error> {
    let (sums, largest, products) = (a.sum_axis(axis), a.max_axis(axis), a.prod_axis(axis));
    let (sums, largest, products) = (sums.bits()?, largest.bits()?, products.bits()?);
    let each = sums.into_iter().zip(largest).zip(products);
    Ok(each.flat_map(|((a, b), c)| [a, b, c]).collect())
}

#[test]
fn a_line_is_reduced_as_a_vector_is() {
    for shape in [[3, 4, 5], [1, 9, 2], [6, 1, 7], [13, 2, 1], [2, 3, 0]] {
        everywhere(|| {
            let a = Array::from_fn(shape, element);
            for axis in 0..3 {
                if shape[axis] > 0 {
                    assert_eq!(reductions(&a, axis)?, lines(&a, axis)?, "{shape:?} {axis}");
                }
            }
            a.sum_axis(2).bits()
        });
    }
}

#[test]
fn views_are_reduced_as_their_copies_are() {
    everywhere(|| {
        let a = Array::from_fn([5, 6, 7, 4], element);
        let views = [
            a.permute_axes([3, 1, 0, 2]),
            a.slice((1.., step(.., 2), step(.., -3), ..)),
            a.slice((2..3, .., .., ..)).try_broadcast_to([3, 6, 7, 4])?,
            a.flip(1).swap_axes(0, 3),
        ];
        let mut found = Vec::new();
        for view in &views {
            let copy = view.contiguous()?;
            for axis in 0..4 {
                let sums = view.sum_axis(axis).bits()?;
                assert_eq!(sums, copy.sum_axis(axis).bits()?, "axis {axis}");
                found.extend(sums);
                found.extend(view.mean_axis(axis).sum_axis(1).min_axis(0).bits()?);
            }
        }
        Ok(found)
    });
}

/// Lines longer than a tile, and enough rows that threads and blocks share them.
#[test]
fn long_lines_and_many() {
    let base = Config {
        parallel_threshold: 0,
        ..Config::default()
    };
    for shape in [[2, 2100, 3], [1500, 3, 2], [3, 2, 1300], [40, 9, 50]] {
        everywhere_with(&base, || {
            let a = Array::from_fn(shape, element);
            let mut found = Vec::new();
            for axis in 0..3 {
                let sums = a.sum_axis(axis).bits()?;
                let plain = a.move_axis(axis, 2).contiguous()?.sum_axis(2).bits()?;
                assert_eq!(sums, plain, "{shape:?} {axis}");
                found.extend(sums);
            }
            Ok(found)
        });
    }
}

/// What a fused task makes is reduced in it, with its own axis in the middle.
#[test]
fn variance_and_deviation() {
    let found = everywhere(|| {
        let a = Array::from_fn([4, 5, 3], element);
        Ok([a.var_axis(1).to_vec()?, a.std_axis(1).to_vec()?])
    });
    for i in 0..4 {
        for k in 0..3 {
            let line: Vec<f64> = (0..5).map(|j| element([i, j, k])).collect();
            let mean = line.iter().sum::<f64>() / 5.0;
            let variance = line.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 5.0;
            let (got, root) = (found[0][i * 3 + k], found[1][i * 3 + k]);
            assert!(
                (got - variance).abs() <= 1e-12 * variance,
                "{got} {variance}"
            );
            assert!((root - variance.sqrt()).abs() <= 1e-12 * root);
        }
    }
}

#[test]
fn conditions_along_an_axis() {
    let (any, all) = everywhere(|| {
        let a = Array::from_fn([3, 4, 2], element);
        let positive = a.greater(Array::zeros([3, 4, 2]));
        let (any, all) = (positive.any_axis(1), positive.all_axis(1));
        Ok((any.to_vec()?, all.to_vec()?))
    });
    for i in 0..3 {
        for k in 0..2 {
            let mut line = (0..4).map(|j| element([i, j, k]) > 0.0);
            assert_eq!(any[i * 2 + k], line.clone().any(|positive| positive));
            assert_eq!(all[i * 2 + k], line.all(|positive| positive));
        }
    }
}

#[test]
fn axes_move_as_in_numpy() {
    let found = everywhere(|| {
        let a = Array::from_fn([2, 3, 4], element);
        let b = a.permute_axes([2, 0, 1]);
        assert_eq!(b.shape(), [4, 2, 3]);
        assert_eq!(b.permute_axes([1, 2, 0]).bits()?, a.bits()?);
        assert_eq!(a.move_axis(2, 0).bits()?, b.bits()?);
        assert_eq!(a.swap_axes(0, 2).bits()?, a.t().bits()?);
        assert_eq!(a.flip(1).flip(1).bits()?, a.bits()?);
        let row = a.index_axis(1, 2);
        assert_eq!(row.shape(), [2, 4]);
        assert_eq!(row.insert_axis(1).bits()?, a.slice((.., 2..3, ..)).bits()?);
        assert_eq!(row.insert_axis(2).shape(), [2, 4, 1]);
        // Arithmetic sees them as they are.
        let sum = &b + b.flip(0).flip(2);
        Ok([b.to_vec()?, sum.to_vec()?])
    });
    for i in 0..4 {
        for j in 0..2 {
            for k in 0..3 {
                let flat = (i * 2 + j) * 3 + k;
                let (a, b) = (element([j, k, i]), element([j, 2 - k, 3 - i]));
                assert_eq!((found[0][flat], found[1][flat]), (a, a + b));
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    Runtime::current().enter(|| {
        let a = Array::<f64, 3>::zeros([2, 0, 4]);
        let message = |result: Result<Array<f64, 2>, Error>| result.unwrap_err().to_string();
        assert_eq!(
            message(a.try_sum_axis(3)),
            "sum_axis: expected an axis below 3, found 3"
        );
        assert_eq!(
            message(a.try_max_axis(1)),
            "max_axis: expected an axis with elements to compare, found one of length 0"
        );
        assert_eq!(a.sum_axis(1).to_vec().unwrap(), [0.0; 8]);
        assert_eq!(a.prod_axis(1).to_vec().unwrap(), [1.0; 8]);
        assert!(a.mean_axis(1).to_vec().unwrap().iter().all(|x| x.is_nan()));
        assert_eq!(a.sum_axis(0).shape(), [0, 4]);
        let message = |result: Result<Array<f64, 3>, Error>| result.unwrap_err().to_string();
        assert_eq!(
            message(a.try_permute_axes([0, 1, 1])),
            "permute_axes: expected each of the dimensions 0..3 once, found [0, 1, 1]"
        );
        assert_eq!(
            message(a.try_move_axis(0, 3)),
            "move_axis: expected an axis below 3, found 3"
        );
        assert_eq!(
            message(a.try_flip(7)),
            "flip: expected an axis below 3, found 7"
        );
        let x = Vector::<f64>::ones([3]);
        assert_eq!(
            x.try_insert_axis(2).unwrap_err().to_string(),
            "insert_axis: expected a position up to 1 and at most 4 dimensions, found 2"
        );
    });
}

/// NumPy's `linalg.norm` and `var` of complex numbers along an axis are real: those of the parts
/// together.
#[test]
fn norms_and_variances_of_complex_numbers() {
    everywhere(|| {
        let re = Array::<f64, 2>::from_fn([5, 40], element);
        let im = Array::<f64, 2>::from_fn([5, 40], |[i, j]| element([j, i]));
        let i = Complex::new(0.0, 1.0);
        let z = re.cast::<Complex<f64>>() + im.cast::<Complex<f64>>() * i;
        for axis in 0..2 {
            let squares = re.square().sum_axis(axis) + im.square().sum_axis(axis);
            let norms: Vector<f64> = z.norm2_axis(axis);
            assert!(norms.all_close(&squares.sqrt(), 1e-14, 0.0).get()?);
            let variances: Vector<f64> = z.var_axis(axis);
            let expected = re.var_axis(axis) + im.var_axis(axis);
            assert!(variances.all_close(&expected, 1e-13, 0.0).get()?);
            assert_eq!(
                re.norm2_axis(axis).bits()?,
                re.square().sum_axis(axis).sqrt().bits()?
            );
        }
        z.std_axis(1).bits()
    });
}
