//! Residuals in twice the precision, against sums of whole numbers.

use crate::everywhere;
use num_complex::Complex;
use sparsefuse_dense::{Field, Vector};
use sparsefuse_runtime::Runtime;
use sparsefuse_sparse::Csr;

const N: usize = 37;

/// Whole numbers below 2^bits, of both signs.
fn number(k: usize, bits: u32) -> i64 {
    let hash = (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> (63 - bits)) as i64 - (1 << bits)
}

/// A matrix of numbers of `bits` bits, with rows of 0 to 11 entries.
fn matrix<T: Field>(bits: u32) -> Csr<T> {
    let (mut pos, mut crd, mut vals) = (vec![0], Vec::new(), Vec::new());
    for row in 0..N {
        for k in 0..row % 12 {
            crd.push((row % 7 + 2 * k) as u32);
            let im = number(row * 50 + k + 7, bits);
            vals.push(T::from_parts(number(row * 40 + k, bits) as f64, im as f64));
        }
        pos.push(crd.len() as u64);
    }
    Csr::new(N, N, pos, crd, vals).unwrap()
}

/// b - A x where b is A x rounded: nothing but what rounding leaves, of which not a bit is lost.
fn check<T: Field>(bits: u32) {
    let x: Vec<T> = (0..N)
        .map(|k| T::from_parts(number(k + 3, bits) as f64, number(k + 5, bits) as f64))
        .collect();
    let exact = |row: usize| {
        let a = matrix::<T>(bits);
        let rows = a.to_triplets().unwrap();
        let whole = |part: f64| part as i128;
        let (mut re, mut im) = (0, 0);
        for (i, j, value) in rows.iter() {
            if i as usize == row {
                let ((a, b), (c, d)) = (value.parts(), x[j as usize].parts());
                re += whole(a) * whole(c) - whole(b) * whole(d);
                im += whole(a) * whole(d) + whole(b) * whole(c);
            }
        }
        (re, im)
    };
    let images: Vec<_> = (0..N).map(exact).collect();
    let b: Vec<T> = images
        .iter()
        .map(|&(re, im)| T::from_parts(re as f64, im as f64))
        .collect();
    let expected: Vec<T> = images
        .iter()
        .zip(&b)
        .map(|(&(re, im), b)| {
            let (of_re, of_im) = b.parts();
            T::from_parts((of_re as i128 - re) as f64, (of_im as i128 - im) as f64)
        })
        .collect();
    assert!(expected.iter().any(|&element| element != T::ZERO));
    let found = everywhere(|| {
        let (b, x) = (Vector::from_vec(b.clone()), Vector::from_vec(x.clone()));
        // Also where b and x are spread like the rows, and after a product has packed the matrix.
        let a = matrix::<T>(bits);
        let images = [a.try_matvec(&x)?, a.try_matvec(&x)?, a.try_matvec(&x)?];
        let spread = images[0].clone() * T::ZERO + &b;
        let residuals = [
            a.precise_residual(&b, &x)?,
            a.precise_residual(&spread, &x)?,
        ];
        Ok([residuals[0].to_vec()?, residuals[1].to_vec()?])
    });
    assert_eq!(found, [expected.clone(), expected]);
}

#[test]
fn has_all_digits_that_rounding_takes() {
    check::<f64>(50);
    check::<f32>(30);
    check::<Complex<f64>>(50);
    check::<Complex<f32>>(24);
}

#[test]
fn refuses_what_does_not_fit() {
    let a = matrix::<f64>(3);
    let (long, short) = (Vector::zeros([N]), Vector::zeros([N - 1]));
    assert!(a.precise_residual(&short, &long).is_err());
    assert!(a.precise_residual(&long, &short).is_err());
    let other = Runtime::new(Runtime::current().config().clone()).unwrap();
    let foreign = other.enter(|| Vector::zeros([N]));
    assert!(a.precise_residual(&long, &foreign).is_err());
}

#[test]
fn of_infinite_products_is_infinite() {
    let a = Csr::new(1, 1, vec![0, 1], vec![0], vec![1e200]).unwrap();
    let (b, x) = (Vector::ones([1]), Vector::from_vec(vec![1e200]));
    let residual = a.precise_residual(&b, &x).unwrap();
    assert_eq!(residual.to_vec().unwrap(), [f64::NEG_INFINITY]);
}
