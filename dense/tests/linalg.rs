//! Systems, factorisations, eigenvalues: what defines them holds, for all types and shapes, and
//! what has no answer is refused.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

use num_complex::Complex;
use sparsefuse_dense::{Array, Eig, Element, Error, Field, Qr, Real, Vector};
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
        let (b, c) = (some::<T>([n, 3], 2), some::<T>([n, 1], 3).reshape([n]));
        assert!(apart(&a.matmul(&a.solve(&b).unwrap()), &b) < limit);
        let product = a.matvec(&a.solve(&c).unwrap());
        assert!(apart(&product.insert_axis(0), &c.insert_axis(0)) < limit);
        assert!(apart(&a.matmul(&a.inv().unwrap()), &Array::eye(n)) < limit);
        let definite = a.matmul(&adjoint(&a));
        let l = definite.cholesky().unwrap();
        assert!(apart(&l.matmul(&adjoint(&l)), &definite) < limit * 10.0);
        assert_eq!(l.upper_triangle(1).count_nonzero().get().unwrap(), 0);
        // With a large diagonal, so that the solution is no larger than b, and 0 is none.
        let dominant = &a + Array::<T, 2>::eye(n) * T::from_f64(2.0 * n as f64);
        let l = dominant.matmul(&adjoint(&dominant)).cholesky().unwrap();
        let product = l.matmul(&adjoint(&l));
        assert!(apart(&product.matmul(&l.solve_cholesky(&b).unwrap()), &b) < limit);
        // What lies on the other side of the diagonal is not read.
        let (lower, upper) = (dominant.lower_triangle(0), dominant.upper_triangle(0));
        assert!(apart(&lower.matmul(&dominant.solve_lower(&b).unwrap()), &b) < limit);
        assert!(apart(&upper.matmul(&dominant.solve_upper(&b).unwrap()), &b) < limit);
        let none = Array::<T, 2>::zeros([n, 3]);
        assert!(apart(&none, &b) > limit);
        for a in [&a, &a.flip(0)] {
            let (sign, log) = a.slogdet().unwrap();
            let (sign, log) = (sign.get().unwrap(), log.get().unwrap().to_f64());
            let det = a.det().unwrap().get().unwrap();
            let (re, im) = det.minus(sign.times(T::from_f64(log.exp()))).parts();
            let size = log.exp() * limit * T::Real::EPSILON.to_f64();
            assert!(re.hypot(im) < size, "{det} and {sign} {log}");
        }
        let lu = a.lu().unwrap();
        let product = lu.l().unwrap().matmul(&lu.u().unwrap());
        assert!(apart(&product, &a.take_axis(0, &lu.p().unwrap())) < limit);
        assert!(apart(&a.matmul(&lu.solve(&b).unwrap()), &b) < limit);
        let product = a.matvec(&lu.solve(&c).unwrap());
        assert!(apart(&product.insert_axis(0), &c.insert_axis(0)) < limit);
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
            bits(&[a.det()?.get()?, a.slogdet()?.1.get()?]),
            (
                bits(&a.lu()?.u()?.to_vec()?),
                a.lu()?.p()?.to_vec()?,
                bits(&a.lu()?.solve(&a)?.to_vec()?),
                bits(&a.solve_lower(&a.row(3))?.to_vec()?),
            ),
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
    let (sign, log) = none.slogdet().unwrap();
    assert_eq!((sign.get().unwrap(), log.get().unwrap()), (1.0, 0.0));
    let lu = none.lu().unwrap();
    assert!(is_empty(&lu.l().unwrap()) && is_empty(&lu.u().unwrap()));
    assert!(lu.p().unwrap().to_vec().unwrap().is_empty());
    assert!(is_empty(
        &lu.solve(&Array::<f64, 2>::zeros([0, 3])).unwrap()
    ));
    assert!(is_empty(&none.solve_cholesky(&Vector::zeros([0])).unwrap()));
    let some = Array::<f64, 2>::eye(3);
    let no_columns = Array::<f64, 2>::zeros([3, 0]);
    assert!(is_empty(&some.lu().unwrap().solve(&no_columns).unwrap()));
    assert!(is_empty(&some.solve_upper(&no_columns).unwrap()));
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
        message(wide.solve_lower(&Vector::ones([2]))),
        wide.lu().unwrap_err().to_string(),
        message(wide.eigvals()),
        wide.det().unwrap_err().to_string(),
    ] {
        assert!(
            error.contains("expected a square matrix, found 2 rows and 3 columns"),
            "{error}"
        );
    }
    let ones = Array::<f64, 2>::ones([3, 3]);
    let b = Vector::ones([3]);
    for error in [
        message(ones.inv()),
        message(ones.solve(&b)),
        message(ones.lu().and_then(|lu| lu.solve(&b))),
        message(Array::zeros([3, 3]).solve_upper(&b)),
    ] {
        assert!(error.contains("expected a nonsingular matrix"), "{error}");
    }
    for n in [2, 3, 4, 7] {
        let (zeros, ones) = (Array::<f64, 2>::zeros([n, n]), Array::ones([n, n]));
        for singular in [zeros, ones] {
            assert_eq!(singular.det().unwrap().get().unwrap(), 0.0, "{n}");
            let complex = singular.cast::<Complex<f32>>();
            assert_eq!(complex.det().unwrap().get().unwrap(), Complex::ZERO);
        }
    }
    let (sign, log) = ones.slogdet().unwrap();
    assert_eq!(sign.get().unwrap(), 0.0);
    assert_eq!(log.get().unwrap(), f64::NEG_INFINITY);
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

/// `np.polyfit` of these points.
#[test]
fn polynomials_through_points() {
    let close = |found: Vec<f64>, expected: &[f64]| {
        assert_eq!(found.len(), expected.len());
        let mut pairs = found.iter().zip(expected);
        assert!(pairs.all(|(a, b)| (a - b).abs() < 1e-13), "{found:?}");
    };
    let found = everywhere(|| {
        let x = Vector::from_vec(vec![0.0, 1.0, 2.5, 3.0, 4.5]);
        let y = Vector::from_vec(vec![1.0, 3.0, -2.0, 0.5, 8.0]);
        let parabola = x.polyfit(&y, 2)?;
        let expected = [
            1.077_141_382_868_936_5,
            -3.760_190_918_472_653_6,
            2.509_287_925_696_594,
        ];
        close(parabola.to_vec()?, &expected);
        let both = Vector::stack(1, &[&y, &y.flip(0)]);
        let lines = x.polyfit(&both, 1)?;
        let expected = [
            1.008_130_081_300_813,
            -1.146_341_463_414_634_5,
            -0.117_886_178_861_789_02,
            4.621_951_219_512_196,
        ];
        assert_eq!(lines.shape(), [2, 2]);
        close(lines.to_vec()?, &expected);
        // Fewer points than coefficients: the shortest of all solutions.
        let short = x.slice(1..3).polyfit(&y.slice(1..3), 3)?;
        let apart = x.slice(1..3).polyval(&short) - y.slice(1..3);
        assert!(apart.norm_inf().get()? < 1e-13);
        close(x.polyfit(&y, 0)?.to_vec()?, &[2.1]);
        let z = x.cast::<Complex<f64>>() + Complex::new(0.0, 1.0);
        let w = y.cast::<Complex<f64>>() - Complex::new(0.0, 2.0);
        let complex = z.polyfit(&w, 1)?.to_vec()?;
        assert!((complex[0] - 1.008_130_081_300_813).norm() < 1e-13);
        let shift = Complex::new(-0.117_886_178_861_790_36, -3.008_130_081_300_811);
        assert!((complex[1] - shift).norm() < 1e-13);
        let single = x.cast::<f32>().polyfit(&y.cast::<f32>(), 2)?;
        assert!((single.cast::<f64>() - &parabola).norm_inf().get()? < 1e-5);
        Ok(bits(&parabola.to_vec()?))
    });
    assert_eq!(found.len(), 3);
}

#[test]
fn polynomials_that_there_are_not() {
    let x = Vector::<f64>::ones([3]);
    let error = x.polyfit(&x.slice(1..), 1).unwrap_err().to_string();
    assert_eq!(error, "polyfit: expected a shape of (3), found (2)");
    let error = x.slice(..0).polyfit(&x.slice(..0), 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "polyfit: expected at least one point, found none"
    );
    assert!(x.polyfit(&x, usize::MAX).is_err());
    let cubes = Array::<f64, 3>::ones([3, 1, 1]);
    assert!(x.polyfit(&cubes, 1).is_err());
    let bad = Vector::from_vec(vec![1.0, f64::NAN, 2.0]);
    assert!(bad.polyfit(&x, 1).unwrap().to_vec().is_err());
}

/// Elements whose squares leave the range of their type.
#[test]
fn values_do_not_depend_on_the_scale() {
    let a = Array::from_shape_vec([2, 2], vec![1.0, 2.0, 3.0, 1.0]).unwrap();
    let symmetric = &a + &a.t();
    let close = |found: Vec<f64>, expected: Vec<f64>, scale: f64| {
        for (found, expected) in found.iter().zip(expected) {
            let found = found / scale;
            assert!((found - expected).abs() < 1e-14, "{found}, not {expected}");
        }
    };
    for scale in [
        1e-310f64, 1e-300, 1e-200, 1e-160, 1e155, 1e200, 1e300, 2e307,
    ] {
        // Nearly subnormal at the least, where only some digits would be there.
        let scale = 2f64.powi((scale.log2() as i32).max(-1000));
        let (big, big_symmetric) = (&a * scale, &symmetric * scale);
        let values = |a: &Array<f64, 2>| a.singular_values().unwrap().to_vec().unwrap();
        close(values(&big), values(&a), scale);
        let svd = big.svd().unwrap();
        let rows = svd.s.insert_axis(1) * &svd.vh;
        let back = svd.u.matmul(&rows).to_vec().unwrap();
        close(back, a.to_vec().unwrap(), scale);
        let values = |a: &Array<f64, 2>| a.eigvalsh().unwrap().to_vec().unwrap();
        close(values(&big_symmetric), values(&symmetric), scale);
        let Eig { values, vectors } = big.eig().unwrap();
        let apart = (&big / scale).cast::<Complex<f64>>().matmul(&vectors)
            - &vectors * (values / Complex::from(scale)).insert_axis(0);
        assert!(apart.norm2().get().unwrap() < 1e-14);
        let Qr { q, r } = big.qr().unwrap();
        close(q.matmul(&r).to_vec().unwrap(), a.to_vec().unwrap(), scale);
        close(
            big.inv().unwrap().to_vec().unwrap(),
            a.inv().unwrap().to_vec().unwrap(),
            1.0 / scale,
        );
        let x = big.solve(&Vector::full([2], scale)).unwrap();
        close(
            x.to_vec().unwrap(),
            a.solve(&Vector::ones([2])).unwrap().to_vec().unwrap(),
            1.0,
        );
    }
}

/// Ten rows, since of two there is nothing to substitute back.
#[test]
fn eigenvectors_do_not_depend_on_the_scale() {
    for power in [-900, -500, -100, -60, -50, 0, 50, 500, 900] {
        for seed in 0..5 {
            let scale = 2f64.powi(power);
            let a = Array::<f64, 2>::random_normal([10, 10], seed) * scale;
            let Eig { values, vectors } = a.eig().unwrap();
            let apart = (&a / scale).cast::<Complex<f64>>().matmul(&vectors)
                - &vectors * (values / Complex::from(scale)).insert_axis(0);
            assert!(apart.norm2().get().unwrap() < 1e-12, "{power}");
        }
    }
}

/// The largest element of `a v - v diag(values)`.
fn eigen_residual(a: &Array<f64, 2>) -> f64 {
    let Eig { values, vectors } = a.eig().unwrap();
    let squares = (vectors.abs() * vectors.abs())
        .sum_axis(0)
        .to_vec()
        .unwrap();
    assert!(squares.iter().all(|square| (square - 1.0).abs() < 1e-12));
    let apart = a.cast::<Complex<f64>>().matmul(&vectors) - &vectors * values.insert_axis(0);
    apart.norm2().get().unwrap()
}

#[test]
fn eigenvectors_of_parts_of_different_size() {
    for (small, limit) in [
        (1e-3, 1e-13),
        (1e-9, 1e-13),
        (1e-15, 1e-13),
        (1e-100, 1e-13),
    ] {
        let block = Array::<f64, 2>::random_normal([6, 6], 1);
        let mut a = Array::zeros([12, 12]);
        a.assign_slice((..6, ..6), Array::random_normal([6, 6], 2));
        a.assign_slice((6.., 6..), &block * small);
        // The rows in another order, so that the blocks are hidden.
        let order = Vector::from_vec((0..12).map(|k| (k * 5) % 12).collect::<Vec<i64>>());
        let a = a.take_axis(0, &order).take_axis(1, &order);
        assert!(eigen_residual(&a) < limit, "{small}");
    }
}

#[test]
fn a_jordan_block_has_one_eigenvector() {
    for n in [2, 10, 25, 40, 100] {
        let jordan = Array::<f64, 2>::from_fn([n, n], |[i, j]| match j.wrapping_sub(i) {
            0 => 2.0,
            1 => 1.0,
            _ => 0.0,
        });
        assert!(eigen_residual(&jordan) < 1e-11, "{n}");
        assert!(eigen_residual(&jordan.transpose()) < 1e-11, "{n}");
    }
}

/// Eigenvalues of `d^-1 a d` are those of `a`.
#[test]
fn rows_and_columns_of_very_different_size_are_balanced() {
    let a = Array::<f64, 2>::random_normal([20, 20], 3);
    let sorted = |a: &Array<f64, 2>| {
        let mut values = a.eigvals().unwrap().to_vec().unwrap();
        values.sort_by(|x, y| x.re.total_cmp(&y.re).then(x.im.total_cmp(&y.im)));
        values
    };
    let expected = sorted(&a);
    let d = Vector::from_vec((0..20).map(|k| 10f64.powi((k * 7 % 20) - 10)).collect());
    let scaled = &a * d.insert_axis(0) / d.insert_axis(1);
    for (value, expected) in sorted(&scaled).iter().zip(&expected) {
        assert!((value - expected).norm() < 1e-12, "{value} {expected}");
    }
    let Eig { values, vectors } = scaled.eig().unwrap();
    // Vectors of the matrix as it was.
    let vectors = vectors * d.cast::<Complex<f64>>().insert_axis(1);
    let vectors = &vectors
        / vectors
            .abs()
            .max_axis(0)
            .cast::<Complex<f64>>()
            .insert_axis(0);
    let apart = a.cast::<Complex<f64>>().matmul(&vectors) - &vectors * values.insert_axis(0);
    assert!(apart.norm2().get().unwrap() < 1e-11);
}

/// What is above the diagonal is neither looked at nor does the scale come from it.
#[test]
fn hermitian_matrices_are_their_lower_triangles() {
    for above in [f64::NAN, f64::INFINITY, 1e20, 1e300] {
        let a = Array::<f64, 2>::from_shape_vec([2, 2], vec![2.0, above, 1.0, 2.0]).unwrap();
        let values = a.eigvalsh().unwrap().to_vec().unwrap();
        assert!(
            (values[0] - 1.0).abs() < 1e-14 && (values[1] - 3.0).abs() < 1e-14,
            "{values:?}"
        );
        let values = a.eigh().unwrap().values.to_vec().unwrap();
        assert!(
            (values[0] - 1.0).abs() < 1e-14 && (values[1] - 3.0).abs() < 1e-14,
            "{values:?}"
        );
        let l = a.cholesky().unwrap().to_vec().unwrap();
        assert!((l[3] - 1.5f64.sqrt()).abs() < 1e-15 && l[1] == 0.0, "{l:?}");
    }
}

#[test]
fn determinants_whose_partial_products_are_out_of_range() {
    let det = |diagonal: &[f64]| {
        let n = diagonal.len();
        let a = Array::<f64, 2>::from_fn([n, n], |[i, j]| if i == j { diagonal[i] } else { 0.0 });
        let complex = a.cast::<Complex<f64>>().det().unwrap().get().unwrap();
        let det = a.det().unwrap().get().unwrap();
        assert_eq!(complex, Complex::from(det));
        det
    };
    for order in [
        [1e-200, 1e-200, 1e200, 1e200],
        [1e200, 1e200, 1e-200, 1e-200],
    ] {
        assert!((det(&order) - 1.0).abs() < 1e-14);
    }
    assert_eq!(det(&[1e200, 1e200]), f64::INFINITY);
    assert_eq!(det(&[-1e200, 1e200, 0.0]), 0.0);
    assert_eq!(det(&[1e-200, 1e-200]), 0.0);
}

#[test]
fn polynomials_through_abscissas_of_any_size() {
    let fit = |x: &[f64], y: &[f64], degree| {
        let (x, y) = (Vector::from_vec(x.to_vec()), Vector::from_vec(y.to_vec()));
        x.polyfit(&y, degree).unwrap().to_vec().unwrap()
    };
    let of_zero = fit(&[0.0], &[5.0], 1);
    assert!(
        of_zero[0] == 0.0 && (of_zero[1] - 5.0).abs() < 1e-14,
        "{of_zero:?}"
    );
    for size in [1e-300, 1e-200, 1e200, 1e300] {
        let line = fit(&[size, 2.0 * size, 3.0 * size], &[1.0, 2.0, 3.0], 1);
        assert!(
            (line[0] * size - 1.0).abs() < 1e-13 && line[1].abs() < 1e-13,
            "{line:?}"
        );
    }
    // Seconds since 1970, in single precision.
    let x: Vec<f32> = (0..40).map(|k| 1.7e9 + 1e7 * k as f32).collect();
    let y: Vec<f32> = x.iter().map(|x| x / 1e9).collect();
    let made = Vector::from_vec(x.clone())
        .polyfit(&Vector::from_vec(y.clone()), 1)
        .unwrap();
    let [slope, first] = made.to_vec().unwrap()[..] else {
        panic!("two coefficients")
    };
    assert!(
        (slope * 1e9 - 1.0).abs() < 1e-4 && first.abs() < 1e-4,
        "{slope} {first}"
    );
}

/// Also where vectors are replaced, of rows of very different size and of a block with one vector.
#[test]
fn vectors_of_conjugate_values_are_conjugates() {
    let n = 90;
    for seed in 0..3 {
        let a = Array::<f64, 2>::random_normal([n, n], seed)
            .to_vec()
            .unwrap();
        let element = |at: [usize; 2]| {
            let [row, column] = at;
            let size = 10f64.powf(-8.0 + 16.0 * row as f64 / n as f64);
            a[row * n + column] * if column % 3 == 0 { size } else { 1.0 }
        };
        let eig = Array::<f64, 2>::from_fn([n, n], element).eig().unwrap();
        let (values, vectors) = (eig.values.to_vec().unwrap(), eig.vectors.to_vec().unwrap());
        let column = |k: usize| (0..n).map(move |row| row * n + k);
        let mut k = 0;
        let mut pairs = 0;
        while k < n {
            if values[k].im == 0.0 {
                k += 1;
                continue;
            }
            assert_eq!(values[k + 1], values[k].conj());
            for (one, other) in column(k).zip(column(k + 1)) {
                assert_eq!(vectors[other], vectors[one].conj(), "{seed}, {k}");
            }
            (k, pairs) = (k + 2, pairs + 1);
        }
        assert!(pairs > 10, "{pairs}");
    }
}

/// faer's QR leaves out a column of which little is left, by an amount that grows with the rows.
#[test]
fn columns_that_are_nearly_dependent_count() {
    let m = 100_000;
    let a = Array::<f64, 2>::from_fn([m, 3], |[i, j]| match j {
        0 => 1.0,
        1 => 1.0 + 1e-10 * (i % 2) as f64,
        _ => (i as f64).cos(),
    });
    let expected = [447.2, 223.6, 1.118e-8];
    let values = a.singular_values().unwrap().to_vec().unwrap();
    for (value, expected) in values.iter().zip(expected) {
        assert!((value / expected - 1.0).abs() < 0.01, "{values:?}");
    }
    assert_eq!(a.matrix_rank().unwrap().get().unwrap(), 3);
    let x = Vector::from_vec(vec![-2.0, 3.0, 1.0]);
    let found = a.lstsq(&a.matvec(&x)).unwrap();
    let apart = (found - &x).norm_inf().get().unwrap();
    assert!(apart < 1e-4, "{apart}");
    let Qr { q, r } = a.qr().unwrap();
    // Rounding of sums of as many squares.
    assert!((q.matmul(&r) - &a).norm_inf().get().unwrap() < 1e-9);
    assert!((q.t().matmul(&q) - Array::eye(3)).norm_inf().get().unwrap() < 1e-10);
    let r = r.to_vec().unwrap();
    for (found, expected) in [r[0], r[4], r[8]].iter().zip([316.2, 1.58e-8, 223.6]) {
        assert!((found.abs() / expected - 1.0).abs() < 0.01, "{r:?}");
    }
    let wide = a.t().singular_values().unwrap().to_vec().unwrap();
    assert_eq!(wide, values);

    // Columns that are the same, and a complex matrix.
    let z = some::<Complex<f64>>([40, 1], 1);
    let z = Array::concatenate(1, &[&z, &z, &some([40, 2], 2), &z]);
    let Qr { q, r } = z.qr().unwrap();
    assert!((q.matmul(&r) - &z).norm_inf().get().unwrap() < 1e-13);
    let unit = Array::eye(5);
    assert!((q.conj().t().matmul(&q) - unit).norm_inf().get().unwrap() < 1e-13);
    assert_eq!(z.matrix_rank().unwrap().get().unwrap(), 3);
}

#[test]
fn systems_with_columns_of_very_different_size() {
    let diagonal = |a: f64, b: f64| Array::from_shape_vec([2, 2], vec![a, 0.0, 0.0, b]).unwrap();
    let ones = Vector::ones([2]);
    for (a, b) in [
        (1e160, 1e-160),
        (1e300, 1e-300),
        (1e200, 1.25e-110),
        (1e-310, 1.0),
    ] {
        let matrix = diagonal(a, b);
        let rhs = Vector::from_vec(vec![a, b]);
        assert_eq!(matrix.solve(&rhs).unwrap().to_vec().unwrap(), [1.0, 1.0]);
        assert_eq!(
            matrix.lu().unwrap().solve(&rhs).unwrap().to_vec().unwrap(),
            [1.0, 1.0]
        );
        assert_eq!(
            matrix.solve_lower(&rhs).unwrap().to_vec().unwrap(),
            [1.0, 1.0]
        );
        assert_eq!(
            matrix.solve_upper(&rhs).unwrap().to_vec().unwrap(),
            [1.0, 1.0]
        );
    }
    let found = diagonal(1e160, 1e-160)
        .solve(&ones)
        .unwrap()
        .to_vec()
        .unwrap();
    assert!((found[0] * 1e160 - 1.0).abs() + (found[1] * 1e-160 - 1.0).abs() < 1e-14);
    let of = |numbers: &[f64]| {
        let n = numbers.len().isqrt();
        Array::from_shape_vec([n, n], numbers.to_vec()).unwrap()
    };
    let det = of(&[1e200, 1e200, 0.0, 1e-200])
        .det()
        .unwrap()
        .get()
        .unwrap();
    assert!((det - 1.0).abs() < 1e-13, "{det}");
    let rows = of(&[
        1.0, 1.0, 1.0, 1e-310, 2e-310, 3e-310, 2e-310, 1e-310, 7e-310,
    ]);
    let x = rows
        .solve(&Vector::from_vec(vec![3.0, 6e-310, 10e-310]))
        .unwrap();
    assert!((x - 1.0).norm_inf().get().unwrap() < 1e-12);
    let lower = of(&[1.0, 0.0, 1e200, 1e-200]);
    let x = lower
        .solve_lower(&Vector::from_vec(vec![0.0, 1.0]))
        .unwrap();
    assert_eq!(x.to_vec().unwrap(), [0.0, 1e200]);
    let upper = of(&[1e-140, 1e140, 0.0, 1.0]);
    let x = upper.solve(&Vector::from_vec(vec![1e200, 1e60])).unwrap();
    assert_eq!(x.to_vec().unwrap(), [0.0, 1e60]);
    let one = Array::from_shape_vec([1, 1], vec![Complex::new(4.0, 4.0)]).unwrap();
    assert_eq!(
        one.cholesky().unwrap().to_vec().unwrap(),
        [Complex::from(2.0)]
    );
    let small = diagonal(1e-310, 1.0);
    let det = small.det().unwrap().get().unwrap();
    assert!((det / 1e-310 - 1.0).abs() < 1e-13, "{det:e}");
    let dense = Array::from_shape_vec([2, 2], vec![2e-310, 1e-310, 1e-310, 3e-310]).unwrap();
    let x = dense
        .solve(&Vector::from_vec(vec![3e-310, 4e-310]))
        .unwrap();
    assert!((x - &ones).norm_inf().get().unwrap() < 1e-13);
}

fn tall<T: Field>() {
    let found = everywhere(|| -> Result<_, Error> {
        let (a, b) = (some::<T>([700, 5], 1), some::<T>([700, 3], 2));
        // Of full rank, of rank 3, and far from 1.
        let twice = a.slice((.., 2..4)) - a.slice((.., 1..3));
        let deficient = Array::concatenate(1, &[&a.slice((.., ..3)), &twice]);
        let tiny = &a * T::from_f64(1e-30);
        for (a, size) in [(&a, 1.0), (&deficient, 1.0), (&tiny, 1e-30)] {
            let x = a.lstsq(&b)? * T::from_f64(size);
            let expected = a.pinv()?.matmul(&b) * T::from_f64(size);
            assert!(apart(&x, &expected) < 1e3, "{}", apart(&x, &expected));
            let first = a.lstsq(&b.column(1))? * T::from_f64(size);
            assert!(apart(&first.insert_axis(1), &x.slice((.., 1..2))) < 1e3);
        }
        let none = Array::<T, 2>::zeros([700, 5]).lstsq(&b)?;
        assert_eq!(none.norm2().get()?.to_f64(), 0.0);
        let mut bad = b.clone();
        bad.assign_slice((600..601, 1..2), T::from_f64(f64::NAN));
        let error = a.lstsq(&bad)?.to_vec().unwrap_err().to_string();
        assert!(error.contains("finite elements"), "{error}");
        Ok(bits(&a.lstsq(&b)?.to_vec()?))
    });
    assert_eq!(found.len(), 15);
}

#[test]
fn least_squares_of_tall_matrices() {
    tall::<f64>();
    tall::<f32>();
    tall::<Complex<f64>>();
}

/// Each column of a tall system's right-hand sides is solved at its own scale.
#[test]
fn least_squares_of_tall_matrices_with_right_hand_sides_of_all_sizes() -> Result<(), Error> {
    let (a, b) = (some::<f64>([700, 5], 1), some::<f64>([700, 1], 2));
    let sizes = [1e200, 1e-200, 1.0];
    let scaled: Vec<_> = sizes.iter().map(|&size| &b * size).collect();
    let b_all = Array::concatenate(1, &scaled.iter().collect::<Vec<_>>());
    let (x, all) = (a.lstsq(&b)?, a.lstsq(&b_all)?);
    for (column, size) in sizes.into_iter().enumerate() {
        let of_column = all.slice((.., column..column + 1)) * (1.0 / size);
        assert!(apart(&of_column, &x) < 1e3, "{size}");
    }
    Ok(())
}
