//! Medians and quantiles along an axis, against plain loops and against those of vectors.

use super::Bits;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_testing::everywhere;

/// The sorted lines of an array along an axis.
fn lines(shape: [usize; 3], x: &[f64], axis: usize) -> Vec<Vec<f64>> {
    let inner: usize = shape[axis + 1..].iter().product();
    let (n, outer) = (shape[axis], x.len() / inner / shape[axis]);
    let places = (0..outer).flat_map(|i| (0..inner).map(move |j| i * n * inner + j));
    let line = |place: usize| {
        let mut line: Vec<f64> = (0..n).map(|k| x[place + k * inner]).collect();
        line.sort_by(f64::total_cmp);
        line
    };
    places.map(line).collect()
}

fn median(line: &[f64]) -> f64 {
    (line[line.len().div_ceil(2) - 1] + line[line.len() / 2]) * 0.5
}

fn quantile(line: &[f64], q: f64) -> f64 {
    let place = q * (line.len() - 1) as f64;
    let (low, part) = (place as usize, place - place.floor());
    let (low, high) = (line[low], line[(low + 1).min(line.len() - 1)]);
    match part < 0.5 {
        true => low + (high - low) * part,
        false => high - (high - low) * (1.0 - part),
    }
}

#[track_caller]
fn assert_same(found: &[f64], expected: &[f64]) {
    let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(found), bits(expected), "{found:?} {expected:?}");
}

#[test]
fn along_each_axis() {
    const PARTS: [f64; 5] = [0.0, 0.3, 0.5, 0.99, 1.0];
    for shape in [[3, 4, 5], [1, 6, 2], [40, 1, 33], [30, 30, 30]] {
        let array = || Array::<f64, 3>::random_normal(shape, 11).round_decimals(1);
        let x = array().to_vec().unwrap();
        for axis in 0..3 {
            let lines = lines(shape, &x, axis);
            let of_lines = |of: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
                lines.iter().map(|line| of(line)).collect()
            };
            let medians = of_lines(&median);
            let quantiles = PARTS.map(|q| of_lines(&|line| quantile(line, q)));
            everywhere(|| {
                let a = array();
                let found = a.median_axis(axis);
                let left: Vec<usize> = (0..3).filter(|&d| d != axis).map(|d| shape[d]).collect();
                assert_eq!(found.shape()[..], left);
                assert_same(&found.to_vec()?, &medians);
                assert_same(&a.nan_median_axis(axis).to_vec()?, &medians);
                for (q, quantiles) in PARTS.into_iter().zip(&quantiles) {
                    assert_same(&a.quantile_axis(axis, q).to_vec()?, quantiles);
                    assert_same(&a.nan_quantile_axis(axis, q).to_vec()?, quantiles);
                }
                found.bits()
            });
        }
    }
}

#[test]
fn rows_have_the_bits_of_vectors() {
    everywhere(|| {
        let a = Array::<f64, 2>::random_normal([3, 50], 12);
        let (median, quantile) = (
            a.median_axis(1).to_vec()?,
            a.quantile_axis(1, 0.3).to_vec()?,
        );
        for row in 0..3 {
            let line: Vector<f64> = a.row(row);
            assert_same(&[line.median().get()?], &median[row..=row]);
            assert_same(&[line.quantile(0.3).get()?], &quantile[row..=row]);
        }
        a.median_axis(1).bits()
    });
}

/// NumPy: infinite elements are quantiles where they stand, and nothing of the next one is added
/// there.
#[test]
fn infinite_elements() {
    let inf = f64::INFINITY;
    for (x, q, expected) in [
        (vec![1.0, inf], 0.0, 1.0),
        (vec![1.0, inf], 1.0, inf),
        (vec![-inf; 3], 1.0, -inf),
        (vec![inf; 5], 0.3, inf),
        (vec![-inf, -inf, 2.0], 0.25, -inf),
        (vec![1.0, 2.0, inf], 0.5, 2.0),
    ] {
        everywhere(|| {
            let v = Vector::from_slice(&x);
            assert_eq!(v.quantile(q).get()?, expected, "{x:?} {q}");
            let row = v.insert_axis(0);
            assert_eq!(row.quantile_axis(1, q).to_vec()?, [expected]);
            assert_eq!(row.nan_quantile_axis(1, q).to_vec()?, [expected]);
            v.quantile(q).bits()
        });
    }
}

/// NumPy: a NaN is the median of its line, `nanmedian` leaves it out, of nothing but NaN it is NaN.
#[test]
fn what_is_not_a_number() {
    let nan = f64::NAN;
    everywhere(|| {
        let rows = vec![4.0, nan, 1.0, 3.0, nan, nan, nan, nan, 1.0, 2.0, 4.0, 3.0];
        let a = Array::from_shape_vec([3, 4], rows)?;
        let median = a.median_axis(1).to_vec()?;
        assert!(median[0].is_nan() && median[1].is_nan());
        assert_eq!(median[2], 2.5);
        let median = a.nan_median_axis(1).to_vec()?;
        assert!(median[1].is_nan());
        assert_eq!((median[0], median[2]), (3.0, 2.5));
        let quantile = a.nan_quantile_axis(1, 0.25).to_vec()?;
        assert_eq!((quantile[0], quantile[2]), (2.0, 1.75));
        assert_eq!(a.nan_median_axis(0).to_vec()?, [2.5, 2.0, 2.5, 3.0]);
        let none = Array::<f64, 2>::zeros([2, 0]);
        assert!(none.median_axis(1).to_vec()?.iter().all(|x| x.is_nan()));
        assert!(
            none.nan_quantile_axis(1, 0.5)
                .to_vec()?
                .iter()
                .all(|x| x.is_nan())
        );
        assert_eq!(none.median_axis(0).shape(), [0]);
        a.nan_median_axis(0).bits()
    });
}

#[test]
fn what_is_refused() {
    let a = Array::<f64, 2>::zeros([2, 3]);
    let error = a.try_median_axis(2).unwrap_err().to_string();
    assert!(error.starts_with("median_axis: expected "), "{error}");
    let none = Array::<f64, 2>::zeros([3, 0]);
    assert!(none.quantile_axis(0, 0.5).is_empty());
    let error = none.try_quantile_axis(1, 0.5).unwrap_err().to_string();
    assert_eq!(
        error,
        "quantile_axis: expected an element or more, found none"
    );
    let error = a.try_quantile_axis(0, -0.5).unwrap_err().to_string();
    let expected = "quantile_axis: expected a number between 0 and 1, found -0.5";
    assert_eq!(error, expected);
}
