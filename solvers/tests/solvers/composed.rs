//! Operators made of operators, beside the matrices that they stand for, and estimates of norms.

use num_complex::Complex;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;
use sparsefuse_solvers::eigen::{EigsOptions, eigs};
use sparsefuse_solvers::preconditioners::splu;
use sparsefuse_solvers::{
    LinearOperator, MatrixFree, Nullspace, Operator, WithNullspace, bicg, cg, gmres, lsqr,
    norm1_estimate,
};
use sparsefuse_sparse::{Csr, gallery};
use sparsefuse_testing::{bits, everywhere};

/// The largest difference of an operator and its adjoint from those of a matrix.
fn apart<T: Field>(operator: &Operator<'_, T>, matrix: &Csr<T>) -> Result<f64, Error> {
    assert_eq!(operator.shape(), matrix.shape());
    let (n_rows, n_cols) = matrix.shape();
    let (x, y) = (
        Vector::random_normal([n_cols], 3),
        Vector::random_normal([n_rows], 4),
    );
    let images = operator.apply(&x)? - matrix.matvec(&x);
    let of_adjoint = operator.apply_adjoint(&y)? - matrix.adjoint()?.matvec(&y);
    let columns = Array::<T, 2>::random_normal([n_cols, 3], 5);
    let of_columns = operator * &columns - matrix * &columns;
    let largest = [
        images.norm_inf().get()?.to_f64(),
        of_adjoint.norm_inf().get()?.to_f64(),
        of_columns.norm_inf().get()?.to_f64(),
    ];
    Ok(largest.into_iter().fold(0.0, f64::max))
}

fn all_kinds<T: Field>() -> Result<(), Error> {
    let alpha = T::from_parts(0.5, -1.5);
    for (m, n) in [(9, 9), (7, 12), (12, 7), (1, 1), (0, 3), (3, 0)] {
        let random = |shape: (usize, usize), seed| -> Result<Csr<T>, Error> {
            let real = gallery::random_array::<T>(shape, 0.4, seed)?;
            real.map_values(|x| {
                let (re, _) = x.parts();
                T::from_parts(re, 0.3 - re)
            })
        };
        let (a, b, c) = (random((m, n), 1)?, random((m, n), 2)?, random((n, 4), 3)?);
        let [of_a, of_b] = [Operator::new(&a), Operator::new(&b)];
        let of_c = Operator::new(c.clone());
        let pairs = [
            (&of_a + &of_b, &a + &b),
            (&of_a - &of_b, &a - &b),
            (-&of_a, -&a),
            (of_a.scale(alpha), a.scale(alpha)),
            (&of_a * &of_c, &a * &c),
            (of_a.adjoint(), a.adjoint()?),
            (of_a.transpose(), a.transpose()?),
            (of_a.transpose().adjoint(), a.conj()),
            (
                (&of_a * &of_c).scale(alpha).adjoint() * &of_a,
                (&a * &c).scale(alpha).adjoint()? * &a,
            ),
            (
                (&of_a * of_a.adjoint() - Operator::identity(m)).transpose(),
                (&a * a.adjoint()? - Csr::identity(m)?).transpose()?,
            ),
        ];
        for (number, (operator, matrix)) in pairs.iter().enumerate() {
            let apart = apart(operator, matrix)?;
            let most = 1e3 * T::Real::EPSILON.to_f64();
            assert!(apart <= most, "{m} {n}, {number}: {apart:e}");
        }
    }
    Ok(())
}

#[test]
fn operators_are_the_matrices_that_they_stand_for() -> Result<(), Error> {
    all_kinds::<f32>()?;
    all_kinds::<f64>()?;
    all_kinds::<Complex<f32>>()?;
    all_kinds::<Complex<f64>>()
}

#[test]
fn methods_take_them_with_the_same_bits_everywhere() {
    everywhere(|| {
        let n = 24;
        let a = gallery::poisson1d::<f64>(n)?;
        let b = gallery::banded_varying::<f64>(n, 3)?;
        let mean = MatrixFree::new(n, |x: &Vector<f64>| Ok(Vector::ones([n]) * x.mean()));
        let (of_a, of_b) = (Operator::new(&a), Operator::new(&b));
        let definite = 2.0 * &of_a + Operator::new(mean);
        let rhs = Vector::linspace(-1.0, 2.0, n);
        let normal = of_b.adjoint() * &of_b + 0.5 * Operator::identity(n);
        let other = &of_b + &of_a * 0.25;
        let solutions = [
            (cg(&definite, &rhs)?, &definite),
            (cg(&normal, &rhs)?, &normal),
            (gmres(&other, &rhs)?, &other),
            (bicg(&other, &rhs)?, &other),
            (lsqr(&other.transpose(), &rhs)?, &other.transpose()),
        ];
        let mut found = Vec::new();
        for (solution, operator) in &solutions {
            assert!(solution.converged());
            let residual = &rhs - *operator * &solution.x;
            assert!(residual.norm2().get()? < 1e-6);
            found.push(bits(&solution.x.to_vec()?));
        }
        Ok(found)
    });
}

/// What `eigs` has no mass matrix for.
#[test]
fn eigenvalues_of_a_pencil() -> Result<(), Error> {
    let n = 30;
    let a = gallery::banded_varying::<f64>(n, 3)?;
    let mass = gallery::poisson1d::<f64>(n)? + Csr::identity(n)?;
    let inverse = splu(&mass)?;
    let pencil = Operator::new(&inverse) * Operator::new(&a);
    let found = eigs(&pencil, 3, &EigsOptions::default())?;
    assert!(found.converged());
    let a = a.map_values(Complex::from)?;
    let mass = mass.map_values(Complex::from)?;
    for (number, value) in found.values.iter().enumerate() {
        let x = &found.vectors[number];
        let residual = &a * x - &mass * x * *value;
        assert!(residual.norm2().get()? < 1e-7 * value.norm());
    }
    Ok(())
}

/// What is known of a given operator is known of its multiples and adjoints.
#[test]
fn a_nullspace_stays() -> Result<(), Error> {
    let n = 12;
    let ring = gallery::poisson1d::<f64>(n)?
        .with_element(0, n - 1, -1.0)?
        .with_element(n - 1, 0, -1.0)?;
    let singular = WithNullspace::new(&ring, Nullspace::constant(n)?)?;
    let operator = 2.0 * Operator::new(&singular).adjoint();
    let rhs = Vector::linspace(-1.0, 1.0, n);
    let solution = cg(&operator, &rhs)?;
    assert!(solution.converged());
    assert!(solution.x.sum().get()?.abs() < 1e-10);
    assert!((&ring * &solution.x * 2.0 - &rhs).norm2().get()? < 1e-7);
    Ok(())
}

#[test]
fn shapes_that_do_not_fit() -> Result<(), Error> {
    let (a, b) = (Csr::<f64>::zeros(3, 4)?, Csr::<f64>::zeros(4, 3)?);
    let (a, b) = (Operator::new(&a), Operator::new(&b));
    assert!(a.try_add(&b).is_err() && a.try_sub(&b).is_err() && a.try_mul(&a).is_err());
    assert!(a.try_apply(&Vector::ones([3])).is_err());
    assert!(a.try_apply(&Array::<f64, 3>::ones([4, 1, 1])).is_err());
    let function = MatrixFree::new(4, |x: &Vector<f64>| Ok(x * 2.0));
    let sum = &b * &a + Operator::new(&function);
    assert!(sum.apply(&Vector::ones([4])).is_ok());
    assert!(sum.apply_adjoint(&Vector::ones([4])).is_err());
    Ok(())
}

fn estimates<T: Field>() -> Result<(), Error> {
    for (n, seed) in (1..40).zip(7..) {
        let a = gallery::random_array::<T>((n, n), 0.3, seed)?;
        let a = a.map_values(|x| {
            let (re, _) = x.parts();
            T::from_parts(re - 0.5, re * re)
        })?;
        let exact = a.norm1().get()?.to_f64();
        let found = norm1_estimate(&a)?.to_f64();
        let rounding = 1.0 + 100.0 * T::Real::EPSILON.to_f64();
        assert!(
            found <= exact * rounding && found >= exact / 3.0,
            "{n}: {found} {exact}"
        );
    }
    Ok(())
}

#[test]
fn norms_are_estimated() -> Result<(), Error> {
    estimates::<f32>()?;
    estimates::<f64>()?;
    estimates::<Complex<f64>>()?;
    assert_eq!(norm1_estimate(&Csr::<f64>::zeros(0, 0)?)?, 0.0);
    assert_eq!(norm1_estimate(&Csr::<f64>::zeros(4, 4)?)?, 0.0);
    assert!(norm1_estimate(&Csr::<f64>::zeros(4, 3)?).is_err());
    // Entries near the largest number, and what has no norm.
    let large = Csr::<f64>::identity(3)? * 1e308;
    assert_eq!(norm1_estimate(&large)?, 1e308);
    let nan = gallery::poisson1d::<f64>(6)?.with_element(2, 4, f64::NAN)?;
    assert!(norm1_estimate(&nan)?.is_nan());
    let infinite = gallery::poisson1d::<f64>(6)?.with_element(2, 4, f64::INFINITY)?;
    assert_eq!(norm1_estimate(&infinite)?, f64::INFINITY);
    assert_eq!(norm1_estimate(&(Csr::<f64>::identity(1)? * -3.0))?, 3.0);
    everywhere(|| {
        let a = gallery::banded_varying::<f64>(33, 5)?;
        let inverse = a
            .to_dense()?
            .inv()?
            .matrix_norm(sparsefuse_dense::MatrixNorm::One)?
            .get()?;
        let found = norm1_estimate(&splu(&a)?)?;
        assert!(found <= inverse * (1.0 + 1e-10) && found >= inverse / 3.0);
        Ok(found.to_bits())
    });
    Ok(())
}
