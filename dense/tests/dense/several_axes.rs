//! Reductions along several axes, and those that leave NaN out.

use crate::Bits;
use sparsefuse_dense::{Array, Error, Numeric};
use sparsefuse_testing::everywhere;

fn some<T: Numeric, const D: usize>(shape: [usize; D]) -> Array<T, D> {
    Array::from_fn(shape, |at| {
        let k = at.iter().zip(shape).fold(0, |k, (&at, n)| k * n + at);
        T::from_f64(((k * 7919 + 5) % 61) as f64 - 20.0)
    })
}

fn sums<T: Numeric + PartialOrd>() {
    everywhere(|| -> Result<_, Error> {
        let a = some::<T, 3>([3, 5, 4]);
        // The order of the axes does not count, and views are arrays as any other.
        let expected = a.sum_axis(2).sum_axis(0);
        assert_eq!(a.sum_axes([0, 2]).bits()?, expected.bits()?);
        assert_eq!(a.sum_axes([2, 0]).bits()?, expected.bits()?);
        let (view, moved) = (
            a.permute_axes([2, 0, 1]),
            a.permute_axes([2, 0, 1]) + T::ZERO,
        );
        assert_eq!(
            view.sum_axes([0, 1]).bits()?,
            moved.sum_axes([0, 1]).bits()?
        );
        let b = some::<T, 4>([2, 3, 2, 5]);
        assert_eq!(b.sum_axes([1, 3]).shape(), [2, 2]);
        assert_eq!(
            b.max_axes([0, 1, 3]).bits()?,
            b.max_axis(3).max_axis(1).max_axis(0).bits()?
        );
        assert_eq!(
            b.min_axes([0, 1]).bits()?,
            b.min_axis(1).min_axis(0).bits()?
        );
        assert_eq!(
            b.prod_axes([2, 3]).bits()?,
            b.prod_axis(3).prod_axis(2).bits()?
        );
        b.sum_axes([0, 1, 2]).bits()
    });
}

#[test]
fn several_axes_are_reduced_one_after_the_other() {
    sums::<f64>();
    sums::<f32>();
    sums::<i64>();
}

#[test]
fn means_and_maxima_of_nothing() -> Result<(), Error> {
    let a = some::<f64, 3>([4, 2, 3]);
    let mean = a.mean_axes([0, 1]);
    assert_eq!(mean.bits()?, (a.sum_axes([0, 1]) / 8.0).bits()?);
    let none = Array::<f64, 3>::zeros([0, 2, 3]);
    assert!(none.mean_axes([0, 1]).to_vec()?.iter().all(|x| x.is_nan()));
    assert_eq!(none.sum_axes([0, 1]).to_vec()?, [0.0; 3]);
    assert!(none.try_max_axes([0, 1]).is_err());
    assert!(a.try_sum_axes([1, 1]).is_err());
    assert!(a.try_sum_axes([1, 3]).is_err());
    Ok(())
}

#[test]
fn nan_is_left_out_along_an_axis() {
    everywhere(|| -> Result<_, Error> {
        let nan = f64::NAN;
        let a = Array::from_shape_vec([2, 3], vec![1.0, nan, -2.0, nan, nan, nan])?;
        assert_eq!(a.nan_max_axis(1).to_vec()?, [1.0, f64::NEG_INFINITY]);
        assert_eq!(a.nan_min_axis(1).to_vec()?, [-2.0, f64::INFINITY]);
        assert_eq!(a.nan_prod_axis(1).to_vec()?, [-2.0, 1.0]);
        assert_eq!(a.nan_max_axis(0).to_vec()?, [1.0, f64::NEG_INFINITY, -2.0]);
        Ok(())
    });
}
