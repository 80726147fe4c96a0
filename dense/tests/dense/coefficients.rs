//! Polynomials by their coefficients, integrals, norms of any order, powers and correlations,
//! against plain loops.

use super::Bits;
use num_complex::Complex;
use sparsefuse_dense::{Array, Error, Field, Numeric, Real, Vector};
use sparsefuse_testing::everywhere;

#[test]
fn polynomials() {
    everywhere(|| {
        let (p, q) = (
            Vector::from_vec(vec![2, 0, -1, 3]),
            Vector::from_vec(vec![1, -4]),
        );
        assert_eq!(p.polyadd(&q).to_vec()?, [2, 0, 0, -1]);
        assert_eq!(q.polyadd(&p).to_vec()?, [2, 0, 0, -1]);
        assert_eq!(q.polysub(&p).to_vec()?, [-2, 0, 2, -7]);
        assert_eq!(p.polymul(&q).to_vec()?, [2, -8, -1, 7, -12]);
        assert_eq!(p.polyder(0).to_vec()?, [2, 0, -1, 3]);
        assert_eq!(p.polyder(1).to_vec()?, [6, 0, -1]);
        assert_eq!(p.polyder(3).to_vec()?, [12]);
        assert_eq!(p.polyder(4).to_vec()?, [0]);
        assert_eq!(p.slice(..0).polyder(1).to_vec()?, [0]);
        let x = Vector::<f64>::random_normal([40], 1);
        let p = Vector::<f64>::random_normal([9], 2);
        let back = p.polyint(3).polyder(3);
        assert!((back - &p).norm_inf().get()? < 1e-15);
        let slopes = (&x + 1e-6).polyval(&p) - (&x - 1e-6).polyval(&p);
        let distance = x.polyval(&p.polyder(1)) * 2e-6 - slopes;
        assert!(distance.norm_inf().get()? < 1e-8);
        let divisor = Vector::from_vec(vec![2.0, -1.0, 0.5]);
        let (quotient, rest) = p.polydiv(&divisor)?;
        assert_eq!((quotient.len(), rest.len()), (7, 2));
        let again = quotient.polymul(&divisor).polyadd(&rest);
        assert!((again - &p).norm_inf().get()? < 1e-13);
        let (none, rest) = divisor.polydiv(&p)?;
        assert_eq!((none.to_vec()?, rest.bits()?), (vec![0.0], divisor.bits()?));
        let (quotient, rest) = p.polydiv(&Vector::from_vec(vec![2.0]))?;
        assert_eq!(quotient.bits()?, (&p * 0.5).bits()?);
        assert_eq!(rest.to_vec()?, [0.0]);
        assert!(p.polydiv(&p.slice(..0)).is_err());
        p.polyint(2).bits()
    });
}

/// Integrals of `x^2 + 1` from 0, at points at any distances.
fn integrals<T: Field>(n: usize) {
    everywhere(|| -> Result<_, Error> {
        let xs = Vector::<T>::from_fn([n], |[i]| T::from_f64((i as f64 * 0.9).powf(1.2)));
        let y = &xs * &xs + T::ONE;
        let limit = 40.0 * T::Real::EPSILON.to_f64();
        let is_near = |found: T, expected: T| {
            let distance = found.minus(expected).magnitude();
            let distance: T::Real = distance;
            distance.to_f64() <= limit * (1.0 + expected.magnitude().to_f64())
        };
        let third = T::from_f64(1.0 / 3.0);
        let whole = |x: T| x * x * x * third + x;
        let end = xs.slice(n - 1..).sum().get()?;
        if n > 2 {
            // Exact for parabolas.
            assert!(is_near(y.simpson_at(&xs).get()?, whole(end)), "{n}");
            let points = Vector::<T>::from_fn([n], |[i]| T::from_f64(i as f64 * 0.5));
            let y = &points * &points + T::ONE;
            let end = T::from_f64((n - 1) as f64 * 0.5);
            assert!(
                is_near(y.simpson(T::from_f64(0.5)).get()?, whole(end)),
                "{n}"
            );
        }
        // The running integral ends with the whole one.
        let running = y.cumulative_trapezoid_at(0, &xs);
        assert_eq!(running.len(), n - 1);
        if n > 1 {
            let last = running.slice(n - 2..).sum().get()?;
            assert!(is_near(last, y.trapezoid_at(&xs).get()?), "{n}");
            let last = y
                .cumulative_trapezoid(0, T::from_f64(0.5))
                .slice(n - 2..)
                .sum();
            assert!(
                is_near(last.get()?, y.trapezoid(T::from_f64(0.5)).get()?),
                "{n}"
            );
        }
        // Along each axis as of vectors.
        let a = y.insert_axis(0) * Vector::from_vec(vec![T::ONE, T::from_f64(3.0)]).insert_axis(1);
        let of_rows = a.simpson_axis(1).to_vec()?;
        let (once, times) = (of_rows[0], of_rows[1]);
        assert!(is_near(times, once * T::from_f64(3.0)), "{n}");
        assert!(is_near(y.simpson(T::ONE).get()?, once), "{n}");
        assert_eq!(a.t().simpson_axis(0).bits()?, a.simpson_axis(1).bits()?);
        let row = a.t().cumulative_trapezoid_at(0, &xs).column(0);
        assert_eq!(row.bits()?, running.bits()?);
        Ok([running.bits()?, a.simpson_axis(1).bits()?].concat())
    });
}

#[test]
fn running_integrals_and_simpsons_rule() {
    for n in [1, 2, 3, 4, 5, 40, 41] {
        integrals::<f64>(n);
    }
    integrals::<f32>(6);
    integrals::<Complex<f64>>(7);
    let x = Vector::<f64>::zeros([0]);
    assert_eq!(x.cumulative_trapezoid(0, 1.0).len(), 0);
    assert_eq!(x.simpson(1.0).get().unwrap(), 0.0);
    let y = Vector::<f64>::ones([3]);
    let error = y.try_simpson_at(&y.slice(..2)).unwrap_err().to_string();
    assert_eq!(error, "simpson_at: expected a shape of (3), found (2)");
    assert!(y.try_cumulative_trapezoid_at(0, &x).is_err());
    assert!(y.try_cumulative_trapezoid(1, 1.0).is_err());
    let a = Array::<f64, 2>::ones([3, 3]);
    let error = a.try_simpson_axis(2).unwrap_err().to_string();
    assert_eq!(error, "simpson_axis: expected an axis below 2, found 2");
}

fn norms<T: Field>() {
    const ORDERS: [f64; 8] = [
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        1.0,
        2.0,
        3.0,
        0.5,
        -2.0,
    ];
    everywhere(|| -> Result<_, Error> {
        let a = Array::<T, 2>::from_fn([6, 9], |[i, j]| {
            T::from_parts((i * j) as f64 - 9.0, if j > 3 { 4.0 } else { 0.0 })
        });
        let mut bits = Vec::new();
        for p in ORDERS {
            let (rows, all) = (a.norm_p_axis(1, p), a.norm_p(p));
            bits.extend(rows.bits()?);
            bits.extend(all.bits()?);
            let sizes: Vec<f64> = a.abs().to_vec()?.into_iter().map(|x| x.to_f64()).collect();
            let norm = |x: &[f64]| match p {
                f64::INFINITY => x.iter().copied().fold(0.0, f64::max),
                f64::NEG_INFINITY => x.iter().copied().fold(f64::INFINITY, f64::min),
                0.0 => x.iter().filter(|&&x| x != 0.0).count() as f64,
                _ => x.iter().map(|x| x.powf(p)).sum::<f64>().powf(1.0 / p),
            };
            let near = |found: T::Real, expected: f64| {
                let distance = (found.to_f64() - expected).abs();
                assert!(
                    distance <= 30.0 * T::Real::EPSILON.to_f64() * expected.abs(),
                    "{p}"
                );
            };
            near(all.get()?, norm(&sizes));
            for (found, row) in rows.to_vec()?.into_iter().zip(sizes.chunks(9)) {
                near(found, norm(row));
            }
            assert_eq!(a.t().norm_p_axis(0, p).shape(), [6]);
        }
        Ok(bits)
    });
}

#[test]
fn norms_of_any_order() {
    norms::<f64>();
    norms::<f32>();
    norms::<Complex<f64>>();
    let x = Vector::<f64>::zeros([0]);
    assert_eq!(x.norm_p(3.0).get().unwrap(), 0.0);
    assert_eq!(x.norm_p(f64::INFINITY).get().unwrap(), 0.0);
    assert!(x.try_norm_p(f64::NEG_INFINITY).is_err());
    let error = x.try_norm_p(f64::NAN).unwrap_err().to_string();
    assert_eq!(error, "norm_p: expected an order, found NaN");
    assert!(
        Array::<f64, 2>::ones([2, 2])
            .try_norm_p_axis(2, 1.0)
            .is_err()
    );
}

fn powers<T: Numeric>() {
    everywhere(|| -> Result<_, Error> {
        let a = Array::<T, 2>::from_fn([3, 3], |[i, j]| T::from_f64((i as f64) - (j as f64) * 2.0));
        let mut power = Array::<T, 2>::eye(3);
        let mut bits = Vec::new();
        for n in 0..9 {
            assert_eq!(a.matrix_power(n).bits()?, power.bits()?, "{n}");
            bits.extend(power.bits()?);
            power = power.matmul(&a);
        }
        Ok(bits)
    });
}

#[test]
fn powers_of_matrices() {
    powers::<i64>();
    powers::<f32>();
    powers::<Complex<f64>>();
    assert_eq!(
        Array::<f64, 2>::zeros([0, 0]).matrix_power(2).shape(),
        [0, 0]
    );
    let error = Array::<f64, 2>::zeros([2, 3])
        .try_matrix_power(2)
        .unwrap_err()
        .to_string();
    let expected = "matrix_power: expected a square matrix, found 2 rows and 3 columns";
    assert_eq!(error, expected);
}

#[test]
fn correlations() {
    everywhere(|| {
        let x = Vector::<f64>::random_normal([700], 1);
        let y = Vector::<f64>::random_normal([700], 2);
        let a = Vector::stack(
            0,
            &[
                &x,
                &(&x * -2.0 + 1.0),
                &(&x * 3.0 + &y * 4.0),
                &Vector::ones([700]),
            ],
        );
        let found = a.corrcoef();
        let elements = found.to_vec()?;
        assert!((elements[0] - 1.0).abs() < 1e-15 && (elements[1] + 1.0).abs() < 1e-15);
        assert!((elements[2] - 0.6).abs() < 0.06, "{}", elements[2]);
        assert!(elements.iter().all(|x| x.is_nan() || x.abs() <= 1.0));
        assert!(elements[3].is_nan() && elements[15].is_nan());
        found.slice((..3, ..3)).bits()
    });
}
