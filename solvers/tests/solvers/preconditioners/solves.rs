//! What direct and triangular solves are asked for besides a vector: sparse and complex right-hand
//! sides, and the system with the transpose.

use num_complex::Complex;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;
use sparsefuse_solvers::LinearOperator;
use sparsefuse_solvers::preconditioners::{Direct, Preconditioner, spcholesky, splu, spsolve};
use sparsefuse_sparse::{Csr, Diagonal, Triangle, TriangularSolve, gallery};
use sparsefuse_testing::{bits, everywhere};

const N: usize = 40;

/// A matrix that is not symmetric, and of complex numbers not real.
fn matrix<T: Field>() -> Result<Csr<T>, Error> {
    let a = gallery::random::<T>(N, 4, 3)?;
    let rows = Vector::from_fn([N], |[k]| T::from_parts(1.0 + k as f64 / 9.0, 0.5));
    a.scale_rows(&rows)
}

fn is_small<T: Field>(residual: Array<T, 2>) -> bool {
    let bound = 1e4 * T::Real::EPSILON.to_f64();
    residual
        .norm_inf()
        .get()
        .is_ok_and(|norm| norm.to_f64() < bound)
}

fn check_right_sides<T: Field>() {
    let found = everywhere(|| {
        let a = matrix::<T>()?;
        let factors = splu(&a)?;
        // More columns than are solved for at a time, some of them without entries.
        let b = gallery::random::<T>(N, 2, 8)?;
        let none = Csr::zeros(N, 35)?;
        let b = Csr::hstack(&[&b, &none, &b.column_range(0..3)?])?;
        let x = factors.solve(&b)?;
        assert_eq!(x.to_rows()?, spsolve(&a, &b)?.to_rows()?);
        assert_eq!(x.shape(), b.shape());
        assert_eq!(x.column_range(N..N + 35)?.nnz(), 0);
        let dense = factors.solve(&b.to_dense()?)?;
        assert_eq!(
            bits(&x.to_dense()?.to_vec()?),
            bits(&(&dense + T::ZERO).to_vec()?)
        );
        assert!(is_small((&a * &x).to_dense()? - b.to_dense()?));
        assert_eq!(factors.solve(&Csr::zeros(N, 0)?)?.shape(), (N, 0));
        Ok(bits(x.values().to_vec()?.as_slice()))
    });
    assert!(!found.is_empty());
}

fn check_transposes<T: Field>(
    factors: impl Fn(&Csr<T>) -> Result<Direct<T>, Error> + Sync,
    a: impl Fn() -> Result<Csr<T>, Error> + Sync,
) {
    everywhere(|| {
        let a = a()?;
        let factors = factors(&a)?;
        let b = Array::<T, 2>::random_normal([N, 2], 4);
        let x = factors.solve_transpose(&b)?;
        assert!(is_small(a.transpose()? * &x - &b));
        let y = factors.solve_adjoint(&b)?;
        assert!(is_small(a.adjoint()? * &y - &b));
        let one = factors.apply_adjoint(&b.column(1))?;
        assert_eq!(bits(&y.column(1).to_vec()?), bits(&one.to_vec()?));
        let sparse = factors.solve_transpose(&Csr::from_dense(&b)?)?;
        assert!(is_small(sparse.to_dense()? - &x));
        Ok(bits(&x.to_vec()?))
    });
}

fn check_complex<T: Real>() {
    everywhere(|| {
        let a = matrix::<T>()?;
        let factors = splu(&a)?;
        let (re, im) = (
            Vector::<T>::random_normal([N], 1),
            Vector::<T>::random_normal([N], 2),
        );
        let parts = re.to_vec()?.into_iter().zip(im.to_vec()?);
        let b = parts.map(|(re, im)| T::Complex::from_parts(re.to_f64(), im.to_f64()));
        let b = Vector::from_vec(b.collect());
        let x = factors.solve_complex(&b)?.to_vec()?;
        let (re, im) = (factors.solve(&re)?.to_vec()?, factors.solve(&im)?.to_vec()?);
        for (x, (re, im)) in x.iter().zip(re.iter().zip(&im)) {
            assert_eq!(x.parts(), (re.to_f64(), im.to_f64()));
        }
        let columns = factors.solve_complex(&b.insert_axis(1))?;
        assert_eq!(bits(&columns.to_vec()?), bits(&x));
        Ok(bits(&x))
    });
}

#[test]
fn sparse_right_sides() {
    check_right_sides::<f64>();
    check_right_sides::<Complex<f32>>();
}

#[test]
fn transposed_systems() {
    check_transposes::<f64>(splu, matrix);
    check_transposes::<Complex<f64>>(splu, matrix);
    // Hermitian and not real.
    let hermitian = || {
        let a = matrix::<Complex<f64>>()?;
        Ok(&(&a.adjoint()? * &a) + &Csr::identity(N)?)
    };
    check_transposes(spcholesky, hermitian);
}

#[test]
fn complex_right_sides_of_real_matrices() {
    check_complex::<f64>();
    check_complex::<f32>();
    let a = matrix::<Complex<f64>>().unwrap();
    let b = Vector::<Complex<f64>>::random_normal([N], 1);
    let factors = splu(&a).unwrap();
    let found = factors.solve_complex(&b).unwrap().to_vec().unwrap();
    assert_eq!(
        bits(&found),
        bits(&factors.solve(&b).unwrap().to_vec().unwrap())
    );
}

#[test]
fn columns_of_triangular_systems() {
    everywhere(|| {
        let a = matrix::<f64>()?;
        for triangle in [Triangle::Lower, Triangle::Upper] {
            let solve = TriangularSolve::new(&a, triangle, Diagonal::Stored)?;
            let b = Array::<f64, 2>::random_normal([N, 3], 5);
            let x = solve.solve(&b)?;
            for column in 0..3 {
                let expected = solve.solve(&b.column(column))?.to_vec()?;
                assert_eq!(bits(&x.column(column).to_vec()?), bits(&expected));
            }
            assert_eq!(solve.solve(&b.slice((.., ..0)))?.shape(), [N, 0]);
            let error = solve.solve(&b.t()).unwrap_err().to_string();
            assert!(error.contains(&format!("found (3, {N})")), "{error}");
        }
        Ok(())
    });
}

#[test]
fn refusals() {
    let a = matrix::<f64>().unwrap();
    let check = |error: Error, expected: &str| assert_eq!(error.to_string(), expected);
    let error = splu(&a)
        .unwrap()
        .solve(&Csr::zeros(3, 2).unwrap())
        .unwrap_err();
    check(error, "solve: expected a shape of (40, 2), found (3, 2)");
    let b = Csr::new(
        N,
        1,
        [vec![0], vec![1; N]].concat(),
        vec![0],
        vec![f64::NAN],
    )
    .unwrap();
    let error = spsolve(&a, &b).unwrap_err();
    check(
        error,
        "spsolve: expected a right-hand side that is finite, found NaN in row 0, column 0",
    );
    let b = Array::full([N, 2], f64::INFINITY);
    let error = spsolve(&a, &b).unwrap_err();
    check(
        error,
        "spsolve: expected a right-hand side that is finite, found inf in element 0",
    );
}

/// What rows and columns are multiplied by makes little difference.
#[test]
fn direct_solves_of_rows_and_columns_of_unlike_sizes() {
    let a = gallery::poisson2d::<f64>(30).unwrap();
    let b = Vector::<f64>::random_normal([900], 5);
    let residual = |a: &Csr<f64>, b: &Vector<f64>, x: &Vector<f64>| {
        let size = a.abs() * &x.abs() + &b.abs();
        ((a * x - b).abs() / size).max().get().unwrap()
    };
    for decades in [0.0, 4.0, 8.0, 12.0] {
        let size = |seed: u64| {
            let size = (Vector::<f64>::random_uniform([900], seed) * 2.0 - 1.0) * decades;
            (size * 10f64.ln()).exp()
        };
        let ones = || Vector::ones([900]);
        for (rows, columns) in [(ones(), size(2)), (size(3), ones()), (size(4), size(5))] {
            let scaled = a.scale_columns(&columns).unwrap();
            let scaled = scaled.scale_rows(&rows).unwrap();
            let turned = scaled.transpose().unwrap();
            // The right-hand sides are in the units of the equations.
            let (plain, of_turned) = (&b * &rows, &b * &columns);
            let mut factors = splu(&scaled).unwrap();
            let x = factors.solve(&plain).unwrap();
            let found = [
                residual(&scaled, &plain, &x),
                residual(
                    &turned,
                    &of_turned,
                    &factors.solve_transpose(&of_turned).unwrap(),
                ),
                residual(
                    &turned,
                    &of_turned,
                    &factors.solve_adjoint(&of_turned).unwrap(),
                ),
            ];
            assert!(found.iter().all(|&x| x < 1e-10), "{decades}: {found:?}");
            // New values of the same structure, and back.
            factors.update(&a).unwrap();
            assert!(residual(&a, &b, &factors.solve(&b).unwrap()) < 1e-12);
            factors.update(&scaled).unwrap();
            let again = factors.solve(&plain).unwrap().to_vec().unwrap();
            assert_eq!(again, x.to_vec().unwrap(), "{decades}, updated");
        }
    }
    // One equation in other units.
    let a = Csr::new(
        2,
        2,
        vec![0, 2, 4],
        vec![0, 1, 0, 1],
        vec![2.0, 1e20, 1.0, 1.0],
    )
    .unwrap();
    for a in [a.clone(), a.select_columns(&[1, 0]).unwrap()] {
        let x = splu(&a)
            .unwrap()
            .solve(&Vector::from_vec(vec![1e20, 2.0]))
            .unwrap();
        let error = (x - 1.0).norm_inf().get().unwrap();
        assert!(error < 1e-15, "{error:e}");
    }
    // Numbers that are next to nothing in a row say nothing of it.
    let line = |row: usize| (0..40).map(move |column| (row, column, 1e-300));
    let noise = Csr::from_entries(40, 40, line(3).chain(line(20))).unwrap();
    let a = gallery::poisson1d::<f64>(40).unwrap() + noise;
    let b = Vector::<f64>::full([40], 1e250);
    let x = splu(&a).unwrap().solve(&b).unwrap();
    assert!(residual(&a, &b, &x) < 1e-13);
}
