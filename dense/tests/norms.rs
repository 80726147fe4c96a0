//! Norms and condition numbers of matrices, factors completed to square matrices, and roots of
//! polynomials.

use num_complex::Complex;
use sparsefuse_dense::{Array, Error, Field, MatrixNorm, Numeric, Real, Vector};
use sparsefuse_testing::{bits, everywhere};

fn some<T: Field>(shape: [usize; 2]) -> Array<T, 2> {
    Array::from_fn(shape, |[i, j]| {
        let number = |k: usize| ((k * k + 13 * k) * 7919 % 1009) as f64 / 500.0 - 1.0;
        T::from_parts(number(i * 31 + j), number(i * 17 + j + 500))
    })
}

fn small<T: Real>(x: T) -> bool {
    x.to_f64() < 100.0 * T::EPSILON.to_f64()
}

const ALL: [MatrixNorm; 8] = [
    MatrixNorm::Frobenius,
    MatrixNorm::One,
    MatrixNorm::MinusOne,
    MatrixNorm::Infinity,
    MatrixNorm::MinusInfinity,
    MatrixNorm::Two,
    MatrixNorm::MinusTwo,
    MatrixNorm::Nuclear,
];

#[test]
fn norms_of_a_matrix() {
    let expected = [30_f64.sqrt(), 6.0, 4.0, 7.0, 3.0, 0.0, 0.0, 0.0];
    everywhere(|| -> Result<_, Error> {
        let a = Array::<f64, 2>::from_shape_vec([2, 2], vec![1.0, -2.0, 3.0, 4.0])?;
        let found: Result<Vec<f64>, Error> =
            ALL.iter().map(|&norm| a.matrix_norm(norm)?.get()).collect();
        let found = found?;
        assert_eq!(found[1..5], expected[1..5]);
        assert!((found[0] - expected[0]).abs() < 1e-14);
        // The product of the singular values is the determinant, the sum of squares the norm's.
        let [largest, least, sum] = [found[5], found[6], found[7]];
        assert!((largest * least - 10.0).abs() < 1e-13 && (largest + least - sum).abs() < 1e-14);
        assert!((largest.hypot(least) - found[0]).abs() < 1e-14);
        assert!((a.cond()?.get()? - largest / least).abs() < 1e-13);
        assert!((a.cond_by(MatrixNorm::Two)?.get()? - largest / least).abs() < 1e-13);
        assert!((a.cond_by(MatrixNorm::Infinity)?.get()? - 7.0 * 0.6).abs() < 1e-13);
        let z = some::<Complex<f32>>([5, 3]);
        for norm in ALL {
            let found = z.matrix_norm(norm)?.get()?.to_f64();
            let wide = z.cast::<Complex<f64>>().matrix_norm(norm)?.get()?;
            assert!((found - wide).abs() < 1e-5 * wide, "{norm:?}");
        }
        Ok(bits(&found))
    });
    assert_eq!(
        Array::<f64, 2>::zeros([2, 3])
            .cond()
            .unwrap()
            .get()
            .unwrap(),
        f64::INFINITY
    );
    let none = Array::<f64, 2>::zeros([0, 3]);
    assert_eq!(
        none.matrix_norm(MatrixNorm::Frobenius)
            .unwrap()
            .get()
            .unwrap(),
        0.0
    );
    let error = none.matrix_norm(MatrixNorm::One).unwrap_err().to_string();
    assert_eq!(
        error,
        "matrix_norm: expected a matrix with elements, found one of shape (0, 3)"
    );
    assert!(none.cond().is_err());
    let error = Array::<f64, 2>::ones([2, 3])
        .cond_by(MatrixNorm::One)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "cond_by: expected a square matrix, found 2 rows and 3 columns"
    );
    assert!(
        Array::<f64, 2>::ones([2, 2])
            .cond_by(MatrixNorm::One)
            .unwrap()
            .get()
            .is_err()
    );
}

fn completed<T: Field>(shape: [usize; 2], scale: f64) {
    everywhere(|| -> Result<_, Error> {
        let [m, n] = shape;
        let a = some::<T>(shape) * T::from_f64(scale);
        let is_unitary = |q: &Array<T, 2>| -> Result<bool, Error> {
            let product = q.conj().t().matmul(q);
            Ok(small((product - Array::eye(q.shape()[0])).norm2().get()?))
        };
        let qr = a.qr_complete()?;
        assert_eq!((qr.q.shape(), qr.r.shape()), ([m, m], [m, n]));
        assert!(is_unitary(&qr.q)?, "{shape:?}");
        let size = T::from_f64(1.0 / scale);
        assert!(
            small(((qr.q.matmul(&qr.r) - &a) * size).norm2().get()?),
            "{shape:?}"
        );
        assert_eq!(
            (&qr.r - qr.r.upper_triangle(0)).norm_inf().get()?,
            T::Real::ZERO
        );
        let svd = a.svd_full()?;
        assert_eq!((svd.u.shape(), svd.vh.shape()), ([m, m], [n, n]));
        assert!(is_unitary(&svd.u)? && is_unitary(&svd.vh)?, "{shape:?}");
        let k = m.min(n);
        let left = svd.u.slice((.., ..k)) * svd.s.cast::<T>().insert_axis(0);
        let product = left.matmul(&svd.vh.slice((..k, ..)));
        assert!(small(((product - &a) * size).norm2().get()?), "{shape:?}");
        Ok(bits(&qr.r.to_vec()?))
    });
}

#[test]
fn square_factors() {
    for shape in [[7, 3], [3, 7], [4, 4], [5, 1], [1, 5]] {
        completed::<f64>(shape, 1.0);
        completed::<Complex<f64>>(shape, 1.0);
    }
    completed::<f32>([6, 2], 1.0);
    completed::<f64>([6, 2], 1e-200);
    completed::<f64>([6, 2], 1e200);
    // Columns that depend on each other, and none.
    let svd = Array::<f64, 2>::ones([5, 3]).svd_full().unwrap();
    let product = svd.u.t().matmul(&svd.u) - Array::<f64, 2>::eye(5);
    assert!(small(product.norm2().get().unwrap()));
    let qr = Array::<f64, 2>::zeros([4, 2]).qr_complete().unwrap();
    let product = qr.q.t().matmul(&qr.q) - Array::<f64, 2>::eye(4);
    assert!(small(product.norm2().get().unwrap()));
    let q = Array::<f64, 2>::zeros([3, 0]).qr_complete().unwrap().q;
    let product = q.t().matmul(&q) - Array::<f64, 2>::eye(3);
    assert!(small(product.norm2().get().unwrap()));
}

#[test]
fn roots_of_polynomials() {
    everywhere(|| -> Result<_, Error> {
        let one = Vector::from_vec(vec![1.0]);
        let mut p = Vector::from_vec(vec![2.0]);
        for root in [-3.0, 0.0, 0.5, 4.0, 0.0] {
            p = p.polymul(&Vector::concatenate(0, &[&one, &(&one * -root)]));
        }
        let zeros = Vector::<f64>::zeros([2]);
        let roots = Vector::concatenate(0, &[&zeros, &p]).roots()?;
        let found = roots.re().sort().to_vec()?;
        let pairs = found.iter().zip([-3.0, 0.0, 0.0, 0.5, 4.0]);
        assert!(
            pairs
                .into_iter()
                .all(|(found, root)| (found - root).abs() < 1e-13)
        );
        assert!(roots.im().norm_inf().get()? < 1e-13);
        let z = Vector::from_vec(vec![1.0_f32, 0.0, 1.0]).roots()?;
        assert!(
            (z.im().sort() - Vector::from_vec(vec![-1.0, 1.0]))
                .norm_inf()
                .get()?
                < 1e-6
        );
        let i = Complex::new(0.0, 1.0);
        let root = Vector::from_vec(vec![i, Complex::from(2.0)])
            .roots()?
            .to_vec()?;
        let distance: Complex<f64> = root[0] - Complex::new(0.0, 2.0);
        assert!(distance.norm() < 1e-15);
        for constant in [vec![], vec![3.0], vec![0.0, 0.0], vec![0.0, 2.0]] {
            assert!(Vector::from_vec(constant).roots()?.is_empty());
        }
        assert_eq!(
            Vector::from_vec(vec![2.0, 0.0]).roots()?.to_vec()?,
            [Complex::ZERO]
        );
        Ok(bits(&roots.to_vec()?))
    });
    let roots = Vector::from_vec(vec![1.0, f64::NAN]).roots().unwrap();
    assert!(roots.to_vec().is_err());
}
