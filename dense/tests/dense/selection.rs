//! Elements in part of an order, places of sorted values, rows that are distinct, one element.

use crate::Bits;
use sparsefuse_dense::{Array, Error, Numeric, Vector};
use sparsefuse_testing::everywhere;

fn some<T: Numeric, const D: usize>(shape: [usize; D], of: usize) -> Array<T, D> {
    Array::from_fn(shape, |at| {
        let k = at.iter().zip(shape).fold(0, |k, (&at, n)| k * n + at);
        T::from_f64(((k * 7919 + k * k * 31 + 5) % of) as f64 - 20.0)
    })
}

#[test]
fn lines_are_partitioned() {
    everywhere(|| -> Result<_, Error> {
        let a = some::<f64, 2>([7, 50], 41);
        let nan = a.equal(3.0).select(f64::NAN, &a);
        for (x, axis) in [(&a, 1), (&nan, 1), (&nan.t(), 0)] {
            let sorted = x.sort_axis(axis).move_axis(axis, 1);
            let parted = x.partition_axis(axis, 20).move_axis(axis, 1);
            assert_eq!(parted.column(20).bits()?, sorted.column(20).bits()?);
            assert_eq!(parted.sort_axis(1).bits()?, sorted.bits()?);
            let head = parted.slice((.., ..20)).sort_axis(1);
            assert_eq!(head.bits()?, sorted.slice((.., ..20)).bits()?);
            let indices = x.argpartition_axis(axis, 20);
            let taken = x.take_along_axis(axis, &indices).move_axis(axis, 1);
            assert_eq!(taken.column(20).bits()?, sorted.column(20).bits()?);
            assert_eq!(taken.sort_axis(1).bits()?, sorted.bits()?);
        }
        let whole = some::<i64, 1>([300], 97);
        let indices = a.argpartition_axis(1, 3).bits()?;
        Ok((
            whole.partition_axis(0, 40).bits()?,
            a.partition_axis(1, 0).bits()?,
            indices,
        ))
    });
}

#[test]
fn places_of_values_that_ascend() {
    for n in [0, 1, 7, 1000] {
        everywhere(|| -> Result<_, Error> {
            let sorted = some::<f64, 1>([n], 311).sort();
            let elements = sorted.to_vec()?;
            let values = some::<f64, 1>([500], 401);
            let last = Vector::from_vec(vec![f64::NAN, 1e300, f64::NEG_INFINITY, -0.0]);
            let ascending = values.sort();
            let apart = Vector::from_vec((0..50).map(|k| f64::from(k) * 40.0 - 100.0).collect());
            for values in [&values, &ascending, &ascending.flip(0), &apart, &last] {
                let of = |x: f64, is_before: fn(f64, f64) -> bool| {
                    let counted = elements.iter().filter(|&&e| x.is_nan() || is_before(e, x));
                    counted.count() as i64
                };
                let values_of = values.to_vec()?;
                let left: Vec<i64> = values_of.iter().map(|&x| of(x, |e, x| e < x)).collect();
                let right: Vec<i64> = values_of.iter().map(|&x| of(x, |e, x| e <= x)).collect();
                assert_eq!(sorted.searchsorted(values).to_vec()?, left, "{n}");
                assert_eq!(sorted.searchsorted_right(values).to_vec()?, right, "{n}");
                assert_eq!(values.digitize(&sorted).to_vec()?, right, "{n}");
            }
            Ok(())
        });
    }
}

#[test]
fn rows_of_any_length_are_distinct() {
    for n_columns in [0, 1, 3, 20] {
        everywhere(|| -> Result<_, Error> {
            let a = some::<i64, 2>([60, n_columns.max(1)], 2).slice((.., ..n_columns));
            let rows = a.to_vec()?;
            let mut rows: Vec<&[i64]> = rows.chunks_exact(n_columns.max(1)).collect();
            rows.sort_unstable();
            rows.dedup();
            let (found, counts) = a.unique_axis_counts(0)?;
            if n_columns > 0 {
                assert_eq!(found.to_vec()?, rows.concat());
            }
            assert_eq!(counts.sum().get()?, 60);
            let (found, inverse) = a.cast::<f64>().t().unique_axis_inverse(1)?;
            assert_eq!(
                found.take_axis(1, &inverse).bits()?,
                a.cast::<f64>().t().bits()?
            );
            Ok(())
        });
    }
}

#[test]
fn an_element_at_an_index_that_is_computed() {
    everywhere(|| -> Result<_, Error> {
        let x = Vector::from_vec(vec![3.0, f64::NAN, -0.0, 9.0]);
        assert_eq!(x.at(x.argmin()).bits()?, x.slice(1..2).bits()?);
        assert_eq!(x.at(2).bits()?, x.slice(2..3).bits()?);
        let a = some::<i64, 2>([5, 6], 97);
        assert_eq!(a.at(a.argmax()).get()?, a.max().get()?);
        let error = x.at(4).get().unwrap_err().to_string();
        assert!(
            error.ends_with("at: expected indices from -4 to 3, found 4 at position 0"),
            "{error}"
        );
        Ok(())
    });
}

#[test]
fn numbers_by_steps() -> Result<(), Error> {
    let x = Vector::arange_by(0.0, 1.0, 0.1).to_vec()?;
    assert_eq!(x.len(), 10);
    assert_eq!(x[3], 3.0 * 0.1);
    // As NumPy's, which has 1.3 at its end.
    assert_eq!(Vector::arange_by(1.0, 1.3, 0.1).len(), 4);
    assert_eq!(
        Vector::<f32>::arange_by(5.0, -1.0, -2.0).to_vec()?,
        [5.0, 3.0, 1.0]
    );
    assert!(Vector::try_arange_by(0.0, f64::INFINITY, 1.0).is_err());
    assert!(Vector::try_arange_by(0.0, 1.0, f64::NAN).is_err());
    assert!(Vector::try_arange_by(0.0, 1.0, 0.0).is_err());
    Ok(())
}

#[test]
fn points_are_counted_in_rectangles() {
    everywhere(|| -> Result<_, Error> {
        let x = some::<f64, 1>([400], 61) / 8.0;
        let y = some::<f64, 1>([400], 53) / 8.0;
        let (counts, ends_x, ends_y) = x.histogram2d(&y, [3, 4], [-1.0..2.0, -2.0..4.0]);
        let inside = y.greater_equal(-2.0) & y.less_equal(4.0);
        let of_x = inside.select(&x, f64::NAN).histogram_at(&ends_x);
        assert_eq!(counts.sum_axis(1).to_vec()?, of_x.to_vec()?);
        assert_eq!((ends_x.len(), ends_y.len()), (4, 5));
        assert!(
            x.try_histogram2d(&y, [0, 4], [-1.0..2.0, -2.0..4.0])
                .is_err()
        );
        assert!(
            x.try_histogram2d(&y.slice(1..), [3, 4], [-1.0..2.0, 0.0..4.0])
                .is_err()
        );
        counts.bits()
    });
}

#[test]
fn many_short_arrays_are_joined() {
    everywhere(|| -> Result<_, Error> {
        let vectors: Vec<Vector<f64>> = (0..150).map(|k| some([k % 4], 61) + k as f64).collect();
        let mut all: Vec<&Vector<f64>> = vectors.iter().collect();
        all.push(&vectors[3]);
        all.push(&vectors[3]);
        let mut expected = Vec::new();
        for vector in &all {
            expected.extend(vector.to_vec()?);
        }
        assert_eq!(Vector::concatenate(0, &all).to_vec()?, expected);
        let matrix = |k: usize| some::<i64, 2>([3, 1 + k % 2], 61) * k as i64;
        let matrices: Vec<_> = (0..70).map(matrix).collect();
        let turned: Vec<Array<i64, 2>> = matrices.iter().map(|m| m.flip(0)).collect();
        let joined = Array::concatenate(1, &turned.iter().collect::<Vec<_>>());
        assert_eq!(
            joined.flip(0).bits()?,
            Array::concatenate(1, &matrices.iter().collect::<Vec<_>>()).bits()?
        );
        let stacked = Vector::stack(0, &vec![&Vector::from_vec(vec![1, 2]); 40]);
        assert_eq!(stacked.to_vec()?, [1, 2].repeat(40));
        joined.bits()
    });
}
