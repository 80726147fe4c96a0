//! Histograms between given ends and with weights, interpolation with values outside, and random
//! choices.

use super::Bits;
use sparsefuse_dense::{Array, Error, Real, Vector};
use sparsefuse_testing::everywhere;

fn between<T: Real>() {
    const ENDS: [f64; 5] = [-2.0, -0.5, 0.0, 1.0, 1.5];
    let numbers = |x: Vector<T>| x.to_vec().expect("there is memory");
    let x = numbers(Vector::random_normal([3000], 5));
    let weights = numbers(Vector::random_uniform([3000], 6));
    let (mut counts, mut sums) = ([0; 4], [0.0; 4]);
    for (&x, &weight) in x.iter().zip(&weights) {
        let is_in = |i: &usize| T::from_f64(ENDS[*i]) <= x && x < T::from_f64(ENDS[i + 1]);
        if let Some(bin) = (0..4).find(is_in) {
            counts[bin] += 1;
            sums[bin] += weight.to_f64();
        }
    }
    let sums = sums.map(T::from_f64);
    let total = T::from_f64(f64::from(counts.iter().sum::<i32>()));
    everywhere(|| -> Result<_, Error> {
        let ends = Vector::from_vec(ENDS.map(T::from_f64).to_vec());
        let a = Array::<T, 2>::from_shape_vec([50, 60], x.clone())?;
        let w = Array::<T, 2>::from_shape_vec([50, 60], weights.clone())?;
        let found = a.histogram_at(&ends);
        assert_eq!(found.to_vec()?, counts.map(i64::from));
        let found = a.t().histogram_at(&ends);
        assert_eq!(found.to_vec()?, counts.map(i64::from));
        let weighted = a.histogram_weighted_at(&ends, &w);
        assert_eq!(weighted.bits()?, Vector::from_vec(sums.to_vec()).bits()?);
        let density = a.histogram_density_at(&ends);
        for (i, density) in density.to_vec()?.into_iter().enumerate() {
            let width = T::from_f64(ENDS[i + 1] - ENDS[i]);
            let expected = T::from_f64(f64::from(counts[i])) / width / total;
            assert!(density == expected, "{density} {expected}");
        }
        Ok([found.bits()?, weighted.bits()?, density.bits()?].concat())
    });
}

#[test]
fn between_given_ends() {
    between::<f64>();
    between::<f32>();
    everywhere(|| {
        // Ends of equal length count as the histogram that knows that they are.
        let x = Vector::<f64>::random_normal([5000], 7);
        let (counts, ends) = x.histogram(30, -1.5..2.0);
        let same = Vector::<f64>::histogram_ends(30, -1.5..2.0);
        assert_eq!(same.bits()?, ends.bits()?);
        assert_eq!(x.histogram_at(&ends).bits()?, counts.bits()?);
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let x = Vector::from_vec(vec![0.0, 1.0, nan, inf, -inf, -0.0, 2.0, 3.0]);
        let of = |ends: &[f64]| x.histogram_at(&Vector::from_slice(ends)).to_vec();
        assert_eq!(of(&[0.0, 1.0, 2.0])?, [2, 2]);
        assert_eq!(of(&[-inf, 0.0, inf])?, [1, 6]);
        assert_eq!(of(&[0.0, 1.0, 1.0])?, [2, 1]);
        assert_eq!(x.slice(..0).histogram_at(&x.slice(..2)).to_vec()?, [0]);
        counts.bits()
    });
    let x = Vector::<f64>::ones([3]);
    let error = x.try_histogram_at(&x.slice(..1)).unwrap_err().to_string();
    assert_eq!(error, "histogram_at: expected at least two ends, found 1");
    assert!(x.try_histogram_weighted_at(&x, &x.slice(..2)).is_err());
    assert!(Vector::<f64>::try_histogram_ends(0, 0.0..1.0).is_err());
}

#[test]
fn of_all_elements() {
    everywhere(|| {
        let x = Vector::<f64>::random_normal([5000], 7);
        let (counts, ends) = x.histogram_all(10)?;
        assert_eq!(counts.sum().get()?, 5000);
        assert_eq!(ends.slice(..1).bits()?, x.min().bits()?);
        assert_eq!(ends.slice(10..).bits()?, x.max().bits()?);
        let (counts, ends) = Vector::<f32>::full([3], 2.0).histogram_all(2)?;
        assert_eq!(
            (counts.to_vec()?, ends.to_vec()?),
            (vec![0, 3], vec![1.5, 2.0, 2.5])
        );
        let (counts, ends) = Vector::<f64>::zeros([0]).histogram_all(2)?;
        assert_eq!(
            (counts.to_vec()?, ends.to_vec()?),
            (vec![0, 0], vec![0.0, 0.5, 1.0])
        );
        let error = Vector::from_vec(vec![1.0, f64::NAN]).histogram_all(3);
        assert!(
            error
                .unwrap_err()
                .to_string()
                .starts_with("histogram_all: expected a range")
        );
        x.histogram_all(10)?.0.bits()
    });
}

#[test]
fn values_outside_and_periods() {
    everywhere(|| {
        let (xs, ys) = (
            Vector::<f64>::linspace(0.0, 3.0, 4),
            Vector::<f64>::arange(4) * 10.0,
        );
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let x = Array::from_shape_vec([2, 4], vec![-1.0, 0.0, 0.5, 3.0, 3.5, inf, -inf, nan])?;
        let found = x.interp_within(&xs, &ys, -7.0, nan).to_vec()?;
        assert_eq!(found[..4], [-7.0, 0.0, 5.0, 30.0]);
        assert!(found[4].is_nan() && found[5].is_nan() && found[7].is_nan());
        assert_eq!(found[6], -7.0);
        // The same points, in other periods and in another order.
        let x = Vector::<f64>::random_normal([500], 3) * 40.0;
        let one = x.interp_periodic(&xs, &ys, 8.0);
        let turns = Vector::from_vec(vec![-8.0, 16.0, 0.0, 8.0]);
        let moved = x.interp_periodic(&(&xs + &turns).flip(0), &ys.flip(0), -8.0);
        assert_eq!(one.bits()?, moved.bits()?);
        let ring = Vector::from_vec(vec![0.0, 1.0, 2.0, 3.0, 8.0]);
        let values = Vector::from_vec(vec![0.0, 10.0, 20.0, 30.0, 0.0]);
        let plain = (&x % 8.0).interp(&ring, &values);
        assert!((plain - &one).norm_inf().get()? < 1e-12);
        one.bits()
    });
    let x = Vector::<f64>::ones([3]);
    let error = x.try_interp_periodic(&x, &x, 0.0).unwrap_err().to_string();
    assert_eq!(
        error,
        "interp_periodic: expected a period other than 0, found 0"
    );
    assert!(x.try_interp_within(&x, &x.slice(..2), 0.0, 0.0).is_err());
    assert!(
        x.try_interp_periodic(&x.slice(..0), &x.slice(..0), 1.0)
            .is_err()
    );
}

#[test]
fn random_choices() {
    everywhere(|| {
        let x = Vector::from_vec(vec![2_u32, 3, 5, 7]);
        let chosen = x.random_choice(20_000, 1);
        for prime in [2, 3, 5, 7] {
            let n = chosen.equal(prime).count().get()?;
            assert!((n - 5000).abs() < 400, "{n}");
        }
        let weights = Vector::<f32>::from_vec(vec![0.0, 3.0, 1.0, 0.0]);
        let weighted = x.random_choice_weighted(&weights, 20_000, 1);
        let n = weighted.equal(3).count().get()?;
        assert!((n - 15_000).abs() < 400, "{n}");
        assert_eq!((weighted.min().get()?, weighted.max().get()?), (3, 5));
        let a = Array::<i64, 2>::from_fn([40, 50], |[i, j]| (50 * i + j) as i64);
        let rows = a.random_shuffle(0, 2);
        assert_eq!(rows.sort_axis(0).bits()?, a.bits()?);
        let columns = a.random_shuffle(1, 2);
        assert_eq!(columns.sort_axis(1).bits()?, a.bits()?);
        assert_ne!(columns.row(3).bits()?, a.row(3).bits()?);
        assert!(a.slice((..0, ..)).random_shuffle(0, 1).is_empty());
        Ok([chosen.bits()?, weighted.bits()?, rows.bits()?].concat())
    });
    let none = Vector::<f64>::zeros([0]);
    let error = none.try_random_choice(3, 1).unwrap_err().to_string();
    assert_eq!(
        error,
        "random_choice: expected an element or more, found none"
    );
    assert!(none.try_random_choice_weighted(&none, 3, 1).is_err());
    let x = Vector::<f64>::ones([3]);
    assert!(x.try_random_choice_weighted(&x.slice(..2), 3, 1).is_err());
    assert!(x.try_random_shuffle(1, 1).is_err());
}
