//! Systems, factorisations, eigenvalues: what defines them holds, for all types and shapes, and what has
//! no answer is refused.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

use num_complex::Complex;
use sparsefuse_dense::{Array, Element, Error, Field, Real, Vector};
use sparsefuse_testing::{bits, everywhere};

/// A matrix with nothing special about it.
fn some<T: Field>(shape: [usize; 2], seed: usize) -> Array<T, 2> {
    let number = |k: usize| ((k * k + 13 * k + seed) * 7919 % 1009) as f64 / 500.0 - 1.0;
    Array::from_fn(shape, |[i, j]| {
        let k = i * shape[1] + j;
        T::from_parts(number(k), number(k + 5000))
    })
}

/// The largest element of a difference, relative to the precision of the type.
fn apart<T: Field>(x: &Array<T, 2>, y: &Array<T, 2>) -> f64 {
    let difference = (x - y).norm2().get().unwrap().to_f64();
    difference / T::Real::EPSILON.to_f64()
}

fn adjoint<T: Field>(a: &Array<T, 2>) -> Array<T, 2> {
    a.conj().t()
}

/// What defines each, for matrices of these shapes.
fn definitions<T: Field>() {
    for n in [1, 2, 7, 40] {
        let a = some::<T>([n, n], 1) + Array::<T, 2>::eye(n) * T::from_f64(3.0);
        let limit = 100.0 * (n * n) as f64;
        let (b, c) = (
            some::<T>([n, 3], 2),
            some::<T>([n, 1], 3).reshape([n]).unwrap(),
        );
        assert!(apart(&a.matmul(&a.solve(&b).unwrap()), &b) < limit);
        let product = a.matvec(&a.solve(&c).unwrap());
        assert!(apart(&product.insert_axis(0), &c.insert_axis(0)) < limit);
        assert!(apart(&a.matmul(&a.inv().unwrap()), &Array::eye(n)) < limit);
        let definite = a.matmul(&adjoint(&a));
        let l = definite.cholesky().unwrap();
        assert!(apart(&l.matmul(&adjoint(&l)), &definite) < limit * 10.0);
        assert_eq!(l.upper_triangle(1).count_nonzero().get().unwrap(), 0);
        let eigh = definite.eigh().unwrap();
        let scaled = &eigh.vectors * eigh.values.cast::<T>().insert_axis(0);
        assert!(apart(&definite.matmul(&eigh.vectors), &scaled) < limit * 10.0);
        let values = definite.eigvalsh().unwrap();
        let difference = (&values - &eigh.values).norm_inf().get().unwrap().to_f64();
        assert!(difference < limit * T::Real::EPSILON.to_f64());
        let eig = a.eig().unwrap();
        let a = a.cast::<T::Complex>();
        let scaled = &eig.vectors * eig.values.insert_axis(0);
        assert!(apart(&a.matmul(&eig.vectors), &scaled) < limit * 10.0);
    }
    for shape in [[1, 1], [5, 3], [3, 5], [60, 20], [20, 60]] {
        let a = some::<T>(shape, 4);
        let limit = 100.0 * (shape[0] * shape[1]) as f64;
        let k = shape[0].min(shape[1]);
        let qr = a.qr().unwrap();
        assert_eq!((qr.q.shape(), qr.r.shape()), ([shape[0], k], [k, shape[1]]));
        assert!(apart(&qr.q.matmul(&qr.r), &a) < limit);
        assert!(apart(&adjoint(&qr.q).matmul(&qr.q), &Array::eye(k)) < limit);
        assert_eq!(qr.r.lower_triangle(-1).count_nonzero().get().unwrap(), 0);
        let svd = a.svd().unwrap();
        let product = (&svd.u * svd.s.cast::<T>().insert_axis(0)).matmul(&svd.vh);
        assert!(apart(&product, &a) < limit);
        assert!(apart(&svd.vh.matmul(&adjoint(&svd.vh)), &Array::eye(k)) < limit);
        let s = a.singular_values().unwrap();
        let difference = (&s - &svd.s).norm_inf().get().unwrap().to_f64();
        assert!(difference < limit * T::Real::EPSILON.to_f64());
        assert_eq!(a.matrix_rank().unwrap().get().unwrap(), k as i64);
        let pinv = a.pinv().unwrap();
        assert!(apart(&a.matmul(&pinv).matmul(&a), &a) < limit * 100.0);
        // Orthogonal to all columns.
        let b = some::<T>([shape[0], 2], 5);
        let residual = a.matmul(&a.lstsq(&b).unwrap()) - b;
        let zero = Array::zeros([shape[1], 2]);
        assert!(apart(&adjoint(&a).matmul(&residual), &zero) < limit * 100.0);
    }
}

#[test]
fn what_defines_factors_holds() {
    definitions::<f64>();
    definitions::<f32>();
    definitions::<Complex<f64>>();
    definitions::<Complex<f32>>();
}

#[test]
fn factors_are_the_same_on_threads_and_ranks() {
    everywhere(|| -> Result<_, Error> {
        let a = some::<f64>([23, 23], 1);
        let wide = some::<Complex<f64>>([5, 31], 2);
        let svd = wide.svd()?;
        let eigh = a.eigh()?;
        let eig = a.eig()?;
        Ok((
            bits(&a.solve(&a.row(3))?.to_vec()?),
            bits(&a.slice((.., ..4)).qr()?.r.to_vec()?),
            bits(&[a.det()?.get()?]),
            bits(&svd.u.to_vec()?),
            bits(&svd.vh.to_vec()?),
            bits(&svd.s.to_vec()?),
            bits(&(eigh.values * 2.0).to_vec()?),
            bits(&eigh.vectors.to_vec()?),
            bits(&eig.values.to_vec()?),
            bits(&eig.vectors.to_vec()?),
            bits(&wide.lstsq(&wide.column(0))?.to_vec()?),
        ))
    });
}

#[test]
fn known_values() {
    let a = Array::<f64, 2>::from_shape_vec([2, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    assert!((a.det().unwrap().get().unwrap() + 2.0).abs() < 1e-14);
    let z = a.cast::<Complex<f64>>() * Complex::new(0.0, 1.0);
    assert!((z.det().unwrap().get().unwrap() - 2.0).norm() < 1e-14);
    // Of a matrix of rank 1, the least solution of least squares.
    let a = Array::<f64, 2>::ones([2, 2]);
    let x = a.lstsq(&Vector::from_vec(vec![2.0, 4.0])).unwrap();
    assert!((x - 1.5).norm_inf().get().unwrap() < 1e-14);
    assert_eq!(a.matrix_rank().unwrap().get().unwrap(), 1);
    assert_eq!(
        Array::<f64, 2>::zeros([3, 2])
            .matrix_rank()
            .unwrap()
            .get()
            .unwrap(),
        0
    );
}

#[test]
fn matrices_without_rows_or_columns() {
    fn is_empty<const D: usize>(made: &Array<f64, D>) -> bool {
        made.to_vec().unwrap().is_empty()
    }
    let none = Array::<f64, 2>::zeros([0, 0]);
    assert_eq!(none.det().unwrap().get().unwrap(), 1.0);
    assert!(is_empty(&none.inv().unwrap()));
    assert!(is_empty(&none.solve(&Vector::zeros([0])).unwrap()));
    assert!(is_empty(&none.eigh().unwrap().values));
    let flat = Array::<f64, 2>::zeros([3, 0]);
    assert!(is_empty(&flat.svd().unwrap().s));
    assert!(is_empty(&flat.qr().unwrap().q));
    assert_eq!(flat.matrix_rank().unwrap().get().unwrap(), 0);
    assert!(is_empty(&flat.lstsq(&Vector::zeros([3])).unwrap()));
}

/// The message of the error that comes with the elements.
fn message<T: Element, const D: usize>(made: Result<Array<T, D>, Error>) -> String {
    made.and_then(|made| made.to_vec()).unwrap_err().to_string()
}

#[test]
fn what_has_no_answer_is_refused() {
    let wide = Array::<f64, 2>::ones([2, 3]);
    for error in [
        message(wide.inv()),
        message(wide.solve(&Vector::ones([2]))),
        message(wide.cholesky()),
        message(wide.eigvals()),
        wide.det().unwrap_err().to_string(),
    ] {
        assert!(
            error.contains("expected a square matrix, found 2 rows and 3 columns"),
            "{error}"
        );
    }
    let ones = Array::<f64, 2>::ones([3, 3]);
    for error in [message(ones.inv()), message(ones.solve(&Vector::ones([3])))] {
        assert!(
            error.contains("expected a matrix that is not singular"),
            "{error}"
        );
    }
    let error = message((-&ones).cholesky());
    assert!(
        error.contains("expected a positive definite matrix"),
        "{error}"
    );
    let error = message(ones.solve(&Vector::ones([4])));
    assert!(
        error.contains("expected a shape of (3), found (4)"),
        "{error}"
    );
    let error = message(ones.lstsq(&Array::<f64, 3>::ones([3, 1, 1])));
    assert!(
        error.contains("expected a vector or a matrix, found 3 dimensions"),
        "{error}"
    );
    let mut bad = ones.clone();
    bad.assign_slice((1..2, 2..3), f64::NAN);
    for error in [
        message(bad.inv()),
        message(bad.svd().map(|svd| svd.s)),
        message(bad.eig().map(|eig| eig.vectors)),
        message(ones.solve(&bad)),
    ] {
        assert!(
            error.contains("expected finite elements, found NaN in row 1, column 2"),
            "{error}"
        );
    }
}
