//! LOBPCG against formulas and dense eigenvalues.

use super::{check, hermitian, poisson_values, random_block};
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_solvers::eigen::{LobpcgOptions, lobpcg};
use sparsefuse_solvers::multigrid::Multigrid;
use sparsefuse_solvers::preconditioners::spcholesky;
use sparsefuse_solvers::{Jacobi, LinearOperator, MatrixFree, StopReason};
use sparsefuse_sparse::{Csr, Triplets, gallery};

#[test]
fn multigrid_makes_iterations_few() {
    for n in [31, 63] {
        let a = gallery::poisson2d::<f64>(n).unwrap();
        let multigrid = Multigrid::on_grid(&a, &[n, n]).unwrap();
        let options = LobpcgOptions {
            preconditioner: Some(&multigrid),
            ..LobpcgOptions::default()
        };
        let eigen = lobpcg(&a, &random_block(n * n, 3), &options).unwrap();
        let values = &poisson_values(n, 2)[..3];
        check("poisson2d", &a, &eigen, values, 1e-14);
        assert!(eigen.iterations <= 18, "{n}: {}", eigen.iterations);
    }
}

#[test]
fn without_a_preconditioner() {
    let a = gallery::poisson1d::<f64>(60).unwrap();
    let values = poisson_values(60, 1);
    for largest in [false, true] {
        let options = LobpcgOptions {
            largest,
            ..LobpcgOptions::default()
        };
        for k in [1, 3, 6] {
            let eigen = lobpcg(&a, &random_block(60, k), &options).unwrap();
            let wanted = if largest {
                &values[60 - k..]
            } else {
                &values[..k]
            };
            check(&format!("{largest} {k}"), &a, &eigen, wanted, 1e-13);
        }
    }
}

/// Blocks that nearly fill the space, so that W is dependent on X and P.
fn check_random<T: Field>(tol: f64, tolerance: f64) {
    for (n, k) in [(2, 1), (6, 5), (10, 4), (30, 7), (90, 4)] {
        let (a, values) = hermitian::<T>(n, 7, n as u64);
        for largest in [false, true] {
            let options = LobpcgOptions {
                largest,
                tol,
                ..LobpcgOptions::default()
            };
            let eigen = lobpcg(&a, &random_block(n, k), &options).unwrap();
            let wanted = if largest {
                &values[n - k..]
            } else {
                &values[..k]
            };
            check(
                &format!("{largest} {k} of {n}"),
                &a,
                &eigen,
                wanted,
                tolerance,
            );
        }
    }
}

#[test]
fn dense_eigenvalues() {
    check_random::<f64>(1e-10, 1e-13);
    check_random::<Complex<f64>>(1e-10, 1e-13);
    check_random::<f32>(1e-5, 1e-5);
    check_random::<Complex<f32>>(1e-5, 1e-5);
}

/// Products of many vectors are products of matrices, most of which follow from the step before.
#[test]
fn many_vectors() {
    let a = gallery::poisson2d::<f64>(31).unwrap();
    let multigrid = Multigrid::on_grid(&a, &[31, 31]).unwrap();
    let values = poisson_values(31, 2);
    let options = LobpcgOptions {
        preconditioner: Some(&multigrid),
        tol: 1e-9,
        ..LobpcgOptions::default()
    };
    for k in [9, 20] {
        let eigen = lobpcg(&a, &random_block(31 * 31, k), &options).unwrap();
        check("poisson2d", &a, &eigen, &values[..k], 1e-13);
    }
    let single = gallery::poisson2d::<f32>(31).unwrap();
    let eigen = lobpcg(
        &single,
        &random_block(31 * 31, 17),
        &LobpcgOptions {
            largest: true,
            tol: 1e-4,
            ..LobpcgOptions::default()
        },
    );
    let wanted = &values[31 * 31 - 17..];
    check("single", &single, &eigen.unwrap(), wanted, 1e-4);
    let (b, values) = hermitian::<Complex<f64>>(300, 6, 5);
    let options = LobpcgOptions {
        tol: 1e-7,
        ..LobpcgOptions::default()
    };
    let eigen = lobpcg(&b, &random_block(300, 18), &options).unwrap();
    check("complex", &b, &eigen, &values[..18], 1e-12);
}

/// A tolerance below rounding, an exact inverse, start vectors that are eigenvectors already:
/// residuals that are nothing but rounding, and directions that depend on one another.
#[test]
fn what_breaks_a_basis_down() {
    let n = 24;
    let a = gallery::poisson2d::<f64>(n).unwrap();
    let inverse = spcholesky(&a).unwrap();
    let options = LobpcgOptions {
        preconditioner: Some(&inverse),
        tol: 0.0,
        ..LobpcgOptions::default()
    };
    let values = &poisson_values(n, 2)[..4];
    let first = lobpcg(&a, &random_block(n * n, 4), &options).unwrap();
    check("exact inverse", &a, &first, values, 1e-14);
    let again = lobpcg(&a, &first.vectors, &options).unwrap();
    check("eigenvectors", &a, &again, values, 1e-14);
    assert!(again.iterations <= 1, "{}", again.iterations);

    let identity = Csr::<f64>::identity(20).unwrap();
    let eigen = lobpcg(&identity, &random_block(20, 3), &LobpcgOptions::default()).unwrap();
    check("identity", &identity, &eigen, &[1.0; 3], 1e-14);

    // Start vectors that differ by a thousandth.
    let mut start = random_block::<f64>(n * n, 2);
    start.push(&start[0] + &start[1] * 1e-3);
    start[1] = &start[0] - random_block::<f64>(n * n, 4).remove(3) * 1e-3;
    let eigen = lobpcg(&a, &start, &options).unwrap();
    check("close", &a, &eigen, &values[..3], 1e-14);
}

#[test]
fn constraints() {
    let n = 20;
    let a = gallery::poisson2d::<f64>(n).unwrap();
    let jacobi = Jacobi::new(&a).unwrap();
    let options = LobpcgOptions {
        preconditioner: Some(&jacobi),
        ..LobpcgOptions::default()
    };
    let values = poisson_values(n, 2);
    let first = lobpcg(&a, &random_block(n * n, 3), &options).unwrap();
    // Not orthonormal: the space counts.
    let known = [
        &first.vectors[0] * 3.0,
        &first.vectors[1] + &first.vectors[0],
        first.vectors[2].clone(),
    ];
    let options = LobpcgOptions {
        constraints: &known,
        ..options
    };
    let next = lobpcg(&a, &random_block(n * n, 3), &options).unwrap();
    check("next", &a, &next, &values[3..6], 1e-13);
    for (x, y) in first.vectors.iter().zip(&next.vectors) {
        assert!(x.dot(y).get().unwrap().abs() < 1e-7);
    }
}

/// A x = lambda B x with B = (I + A)^2: lambda = mu / (1 + mu)^2 for each eigenvalue mu of A.
#[test]
fn a_mass_matrix() {
    let n = 50;
    let a = gallery::poisson1d::<f64>(n).unwrap();
    let b = MatrixFree::new(n, |x: &Vector<f64>| {
        let y = x + &a * x;
        Ok(&y + &a * &y)
    });
    let mut values: Vec<f64> = poisson_values(n, 1);
    values.iter_mut().for_each(|mu| *mu /= (1.0 + *mu).powi(2));
    values.sort_by(f64::total_cmp);
    for largest in [false, true] {
        let options = LobpcgOptions {
            mass: Some(&b),
            largest,
            tol: 1e-10,
            ..LobpcgOptions::default()
        };
        let eigen = lobpcg(&a, &random_block(n, 4), &options).unwrap();
        assert!(eigen.converged(), "{}", eigen.reason);
        let wanted = if largest {
            &values[n - 4..]
        } else {
            &values[..4]
        };
        for (i, (found, expected)) in eigen.values.iter().zip(wanted).enumerate() {
            assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
            for (j, x) in eigen.vectors.iter().enumerate() {
                let y = &eigen.vectors[i];
                let bx = x + &a * x;
                let product = y.dot(&(&bx + &a * &bx)).get().unwrap();
                assert!((product - f64::from(i == j)).abs() < 1e-12);
            }
        }
    }
}

#[test]
fn not_to_converge_is_no_error() {
    let a = gallery::poisson2d::<f64>(30).unwrap();
    let limited = LobpcgOptions {
        max_iter: Some(4),
        ..LobpcgOptions::default()
    };
    let eigen = lobpcg(&a, &random_block(900, 3), &limited).unwrap();
    assert_eq!(
        (eigen.reason, eigen.iterations),
        (StopReason::IterationLimit, 4)
    );
    assert!(eigen.n_converged < 3 && eigen.values.len() == 3);

    let broken = MatrixFree::new(50, |x: &Vector<f64>| Ok(x * f64::NAN));
    let eigen = lobpcg(&broken, &random_block(50, 2), &LobpcgOptions::default()).unwrap();
    assert_eq!(
        (eigen.reason, eigen.values.len()),
        (StopReason::NotFinite, 0)
    );
    let options = LobpcgOptions {
        preconditioner: Some(&broken),
        ..LobpcgOptions::default()
    };
    let a = gallery::poisson1d::<f64>(50).unwrap();
    let eigen = lobpcg(&a, &random_block(50, 2), &options).unwrap();
    assert_eq!(eigen.reason, StopReason::Stagnation);
    assert_eq!(eigen.values.len(), 2);
}

/// Vectors to begin with, and constraints, whose squares are out of range.
#[test]
fn begins_at_any_scale() {
    let a = gallery::poisson2d::<f32>(16).unwrap();
    let find = |scale: f32| {
        let start = Vector::<f32>::random_normal([256], 0) * scale;
        let constraint = Vector::<f32>::linspace(1.0, 2.0, 256) * scale;
        let options = LobpcgOptions {
            constraints: &[constraint],
            ..LobpcgOptions::default()
        };
        lobpcg(&a, &[start], &options).unwrap().values
    };
    let expected = find(1.0);
    for power in [-80, 80] {
        let values = find(2f32.powi(power));
        assert!(
            (values[0] - expected[0]).abs() < 1e-4 * expected[0],
            "2^{power}"
        );
    }
}

/// The Laplacian of a graph has the eigenvalue 0, of which no digit could be right.
#[test]
fn an_eigenvalue_of_zero() {
    let n = 24;
    let mut triplets = Triplets::new(n * n, n * n).unwrap();
    for node in 0..n * n {
        let (i, j) = (node / n, node % n);
        let beside = [
            (i + 1 < n).then_some(node + n),
            (j + 1 < n).then_some(node + 1),
        ];
        for other in beside.into_iter().flatten() {
            for (row, column, value) in [
                (node, node, 1.0),
                (other, other, 1.0),
                (node, other, -1.0),
                (other, node, -1.0),
            ] {
                triplets.push(row, column, value).unwrap();
            }
        }
    }
    let a = Csr::from_triplets(&triplets).unwrap();
    let shifted = &a + &(0.01 * &Csr::identity(n * n).unwrap());
    let factors = spcholesky(&shifted).unwrap();
    let jacobi = Jacobi::new(&a).unwrap();
    let fiedler = 2.0 - 2.0 * (std::f64::consts::PI / n as f64).cos();
    let preconditioners: [(&dyn LinearOperator<f64>, usize); 2] = [(&factors, 40), (&jacobi, 500)];
    for (preconditioner, most) in preconditioners {
        for (k, tol) in [(1, 1e-8), (3, 1e-8), (3, 1e-10)] {
            let options = LobpcgOptions {
                preconditioner: Some(preconditioner),
                tol,
                ..LobpcgOptions::default()
            };
            let eigen = lobpcg(&a, &random_block(n * n, k), &options).unwrap();
            check(
                "laplacian",
                &a,
                &eigen,
                &[0.0, fiedler, fiedler][..k],
                1e-13,
            );
            assert!(eigen.iterations <= most, "{k} {tol}: {}", eigen.iterations);
        }
    }
}
