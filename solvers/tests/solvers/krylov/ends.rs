//! How solves end that go wrong: no least-squares solution is claimed where the gradient of A is
//! not small, a residual below the tolerance is a solution, and x stays finite.

use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_solvers::{
    Checkpoint, Input, LinearOperator, MatrixFree, Method, Options, StopReason, minres, minres_with,
};
use sparsefuse_sparse::{Csr, Dia, gallery};
use sparsefuse_testing::everywhere;

fn diagonal<T: Field>(entries: &[f64]) -> Csr<T> {
    let n = entries.len();
    let entries = entries.iter().map(|&entry| T::from_f64(entry)).collect();
    Csr::new(
        n,
        n,
        (0..=n as u64).collect(),
        (0..n as u32).collect(),
        entries,
    )
    .unwrap()
}

fn dense<T: Field>(n: usize, entry: impl Fn(usize, usize) -> f64) -> Csr<T> {
    let pos = (0..=n).map(|row| (row * n) as u64).collect();
    let crd = (0..n).flat_map(|_| 0..n as u32).collect();
    let vals = (0..n * n).map(|k| T::from_f64(entry(k / n, k % n)));
    Csr::new(n, n, pos, crd, vals.collect()).unwrap()
}

fn vector<T: Field>(n: usize, element: impl Fn(usize) -> f64) -> Vector<T> {
    Vector::from_vec((0..n).map(|i| T::from_f64(element(i))).collect())
}

fn norm<T: Field>(x: &Vector<T>) -> f64 {
    x.sum_of_squares().get().unwrap().to_f64().sqrt()
}

fn is_finite<T: Field>(x: &Vector<T>) -> bool {
    x.norm_inf().get().unwrap().to_f64().is_finite()
}

/// The eigenvalues 0 and 1, 10^-power, .. : b has a part in the nullspace, and rounding hides the
/// least-squares solution the more, the larger the power. The matrix is diagonal, or turned by a
/// reflection.
fn check_minres<T: Field>(power: f64, is_turned: bool) -> StopReason {
    let n = 8;
    let value = |i: usize| match i {
        0 => 0.0,
        i => 10f64.powf(-power * i as f64),
    };
    let u = |i: usize| ((i + 1) as f64).cos();
    let squares: f64 = (0..n).map(|i| u(i) * u(i)).sum();
    let turn = |i: usize, k: usize| f64::from(i == k) - 2.0 * u(i) * u(k) / squares;
    let turned = |i: usize, j: usize| {
        let (i, j) = (i.min(j), i.max(j));
        (0..n).map(|k| turn(i, k) * value(k) * turn(j, k)).sum()
    };
    let a = match is_turned {
        true => dense::<T>(n, turned),
        false => diagonal(&(0..n).map(value).collect::<Vec<_>>()),
    };
    let b = vector(n, |i| ((i + 1) as f64).sin());
    let found = minres(&a, &b).unwrap();
    let r = &b - &a * &found.x;
    let case = format!("{} {power} {is_turned}: {}", T::DTYPE, found.reason);
    if found.converged() {
        let gradient = norm(&(&a * &r)) / (10f64.powf(-power) * norm(&r));
        let rounding = T::Real::EPSILON.to_f64().sqrt();
        assert!(gradient < 32.0 * rounding, "{case}: {gradient}");
    }
    if matches!(
        found.reason,
        StopReason::LeastSquares | StopReason::Stagnation
    ) {
        assert!(norm(&r) <= 1.001 * norm(&b), "{case}: {}", norm(&r));
    }
    found.reason
}

#[test]
fn minres_claims_by_the_true_gradient() {
    let mut reasons = Vec::new();
    for power in [0.25, 0.5, 1.0, 1.5, 2.0] {
        for is_turned in [false, true] {
            reasons.push(check_minres::<f64>(power, is_turned));
            reasons.push(check_minres::<f32>(power, is_turned));
        }
    }
    // The test sees both.
    for reason in [StopReason::LeastSquares, StopReason::Stagnation] {
        assert!(reasons.contains(&reason), "{reasons:?}");
    }
}

#[test]
fn minres_ends_with_the_same_bits_everywhere() {
    everywhere(|| {
        let a = diagonal::<f64>(&[0.0, 1e-1, 1e-3, 1e-4, 1e-6, 1e-7, 1e-9, 1e-10]);
        let b = vector(8, |i| ((i + 1) as f64).sin());
        let found = minres(&a, &b)?;
        let bits: Vec<_> = found.x.to_vec()?.into_iter().map(f64::to_bits).collect();
        Ok((bits, found.reason, found.iterations))
    });
}

const LEAST_SQUARES: [Method; 2] = [Method::LSQR, Method::LSMR];

/// The gradient of A M^-1 is 0 then, and that of A is not.
#[test]
fn a_preconditioner_of_zeros_makes_no_least_squares_solution() {
    let a = gallery::poisson1d::<f64>(10).unwrap();
    let zero = MatrixFree::with_adjoint(
        (10, 10),
        |x: &Vector<f64>| Ok(x * 0.0),
        |x: &Vector<f64>| Ok(x * 0.0),
    );
    for method in LEAST_SQUARES {
        let solve = |a: &dyn LinearOperator<f64>, b: &Vector<f64>| {
            let options = Options {
                preconditioner: Some(&zero),
                ..Options::default()
            };
            method.solve(a, b, options).unwrap()
        };
        let found = solve(&a, &Vector::ones([10]));
        assert_eq!(found.reason, StopReason::Stagnation, "{method}");
        assert_eq!(found.x.to_vec().unwrap(), [0.0; 10], "{method}");
        // Here A'b itself is 0.
        let found = solve(&diagonal(&[0.0; 10]), &Vector::ones([10]));
        assert_eq!(found.reason, StopReason::LeastSquares, "{method}");
    }
}

/// M hides some unknowns from the method, for which the gradient of A M^-1 is small: it goes on
/// until that of A is.
#[test]
fn preconditioned_least_squares_claim_by_the_gradient_of_a() {
    let n = 12;
    let a = dense::<f64>(n, |i, j| {
        f64::from(i == j) * 2.0 + ((i * 5 + j * 3) as f64).sin()
    });
    // The last row is 0, so that a residual stays.
    let a = dense::<f64>(n, |i, j| {
        let row = a.to_dense().unwrap().to_vec().unwrap();
        f64::from(i + 1 < n) * row[i * n + j]
    });
    let b = Vector::ones([n]);
    for least in [1e-3, 1e-9] {
        let m = diagonal::<f64>(
            &(0..n)
                .map(|i| if i % 3 == 0 { least } else { 1.0 })
                .collect::<Vec<_>>(),
        );
        for method in LEAST_SQUARES {
            let options = Options {
                preconditioner: Some(&m),
                ..Options::default()
            };
            let found = method.solve(&a, &b, options).unwrap();
            let r = &b - &a * &found.x;
            let gradient = norm(&a.apply_adjoint(&r).unwrap());
            let size = a.norm_frobenius().get().unwrap();
            let is_minimal = gradient <= 4e-8 * size * norm(&r);
            assert!(
                is_minimal || !found.converged(),
                "{method} {least}: {gradient:e}"
            );
            assert!(
                least < 1e-3 || found.converged(),
                "{method}: {}",
                found.reason
            );
        }
    }
}

/// The bound of the residual that tfqmr has is far above it.
#[test]
fn a_residual_below_the_tolerance_is_a_solution() {
    let a = dense::<f64>(20, |i, j| {
        f64::from(i == j) * 3.0 + (((i * 20 + j) * (i + 3)) as f64).sin()
    });
    let b = Vector::<f64>::ones([20]);
    let solve = |method: Method, atol, max_iter| {
        let options = Options {
            rtol: 0.0,
            atol,
            max_iter: Some(max_iter),
            ..Options::default()
        };
        method.solve(&a, &b, options).unwrap()
    };
    let mut claims = 0;
    for method in [Method::Tfqmr, Method::GMRES, Method::LSQR, Method::LSMR] {
        for max_iter in 1..20 {
            let free = solve(method, 0.0, max_iter);
            if free.residual_norm < 1e-9 {
                continue;
            }
            for part in [0.999, 1.0001] {
                let tolerance = part * free.residual_norm;
                let found = solve(method, tolerance, max_iter);
                let is_solution = found.residual_norm <= tolerance;
                assert_eq!(found.converged(), is_solution, "{method} {max_iter}");
                assert!(is_solution || part < 1.0, "{method} {max_iter}");
                let is_hidden = found.history[found.iterations] > tolerance;
                claims += usize::from(is_solution && is_hidden);
            }
        }
    }
    assert!(claims > 5, "{claims}");
}

/// The last finite x, or the initial guess.
#[test]
fn x_stays_finite() {
    // [[0, 1, 0], [1, 0, 0], [0, 0, 0]].
    let a = Csr::new(3, 3, vec![0, 1, 2, 2], vec![1, 0], vec![1.0; 2]).unwrap();
    let nan = MatrixFree::with_adjoint(
        (3, 3),
        |x: &Vector<f64>| Ok(x * f64::NAN),
        |x: &Vector<f64>| Ok(x * f64::NAN),
    );
    let b = vector::<f64>(3, |i| 1.0 + i as f64);
    for seed in 0..40 {
        let x0 = Vector::random_normal([3], seed);
        for preconditioner in [None, Some(&nan as &dyn LinearOperator<f64>)] {
            for method in Method::ALL {
                let options = Options {
                    x0: Some(&x0),
                    preconditioner,
                    ..Options::default()
                };
                let Ok(found) = method.solve(&a, &b, options) else {
                    continue;
                };
                assert!(is_finite(&found.x), "{method} {seed}: {}", found.reason);
                assert!(found.residual_norm.is_finite(), "{method} {seed}");
                assert!(preconditioner.is_none() || !found.converged(), "{method}");
            }
        }
    }
}

/// Beside a tiny b, which is solved at another scale.
#[test]
fn an_initial_guess_that_is_too_large_is_named() {
    let a = gallery::poisson1d::<f64>(10).unwrap();
    let (b, x0) = (Vector::ones([10]) * 1e-160, Vector::ones([10]));
    for method in Method::ALL {
        let options = Options {
            x0: Some(&x0),
            ..Options::default()
        };
        let found = method.solve(&a, &b, options).unwrap();
        let reason = StopReason::NotFiniteInput(Input::InitialGuess);
        assert_eq!(found.reason, reason, "{method}");
    }
}

/// A matrix with the eigenvalue 0 and others from 1/2 to 2, turned by three reflections, and a
/// vector that it maps to 0.
fn singular(n: usize, seed: u64) -> (Csr<f64>, Vector<f64>) {
    let mut a = vec![0.0; n * n];
    let mut null = vec![0.0; n];
    null[0] = 1.0;
    for i in 1..n {
        a[i * n + i] = 0.5 + 1.5 * i as f64 / n as f64;
    }
    for number in 0..3 {
        let u = Vector::<f64>::random_normal([n], 3 * seed + number);
        let u = u.to_vec().unwrap();
        let squares: f64 = u.iter().map(|u| u * u).sum();
        let reflect = |x: &mut [f64]| {
            let along = 2.0 * x.iter().zip(&u).map(|(x, u)| x * u).sum::<f64>() / squares;
            x.iter_mut().zip(&u).for_each(|(x, u)| *x -= along * u);
        };
        reflect(&mut null);
        for _ in 0..2 {
            // The rows, and behind the transpose the columns.
            a.chunks_exact_mut(n).for_each(reflect);
            let rows = a;
            a = (0..n * n).map(|k| rows[k % n * n + k / n]).collect();
        }
    }
    // Symmetric to the last bit.
    let entry = |i: usize, j: usize| 0.5 * (a[i * n + j] + a[j * n + i]);
    (dense(n, entry), Vector::from_vec(null))
}

/// The recurrence divides by what rounding has left where no x is better; the least-squares
/// solution is found all the same, and stays where it is the initial guess.
#[test]
fn minres_finds_and_keeps_least_squares_solutions() {
    for n in [20, 60] {
        for seed in 0..40 {
            let (a, null) = singular(n, seed);
            let b = Vector::<f64>::random_normal([n], 1000 + seed);
            let found = minres(&a, &b).unwrap();
            let case = format!("{n} {seed}: {}", found.reason);
            assert_eq!(found.reason, StopReason::LeastSquares, "{case}");
            let r = norm(&(&b - &a * &found.x));
            let least = null.dot(&b).get().unwrap().abs();
            assert!((r - least).abs() < 1e-6 * norm(&b), "{case}: {r} {least}");
            let options = Options {
                x0: Some(&found.x),
                ..Options::default()
            };
            let again = minres_with(&a, &b, options).unwrap();
            let case = format!("{case}, then {}", again.reason);
            assert_eq!(again.reason, StopReason::LeastSquares, "{case}");
            let r = norm(&(&b - &a * &again.x));
            assert!((r - least).abs() < 1e-6 * norm(&b), "{case}: {r} {least}");
            let none = minres(&a, &null).unwrap();
            assert_eq!(none.reason, StopReason::LeastSquares, "{case}");
            assert!(norm(&none.x) < 1e-3, "{case}: {}", norm(&none.x));
        }
    }
}

/// A residual along the smallest eigenvalues of a regular matrix has a small A r too.
#[test]
fn minres_claims_no_least_squares_solution_of_a_regular_matrix() {
    for n in [100, 5000, 100_000] {
        let a = gallery::poisson1d::<f64>(n).unwrap();
        let at = |i: usize| (i + 1) as f64 / (n + 1) as f64;
        let sines = Vector::from_fn([n], |[i]| (std::f64::consts::PI * at(i)).sin());
        let bump = Vector::from_fn([n], |[i]| at(i) * (1.0 - at(i)) * at(i).exp());
        for (name, b) in [
            ("sines", sines),
            ("bump", bump),
            ("ones", Vector::ones([n])),
        ] {
            let options = Options {
                max_iter: Some(100),
                ..Options::default()
            };
            let found = minres_with(&a, &b, options).unwrap();
            assert_ne!(found.reason, StopReason::LeastSquares, "{name} {n}");
            if n == 100 || name == "sines" && n == 5000 {
                assert_eq!(found.reason, StopReason::Converged, "{name} {n}");
            }
        }
    }
    let a = gallery::poisson1d::<f32>(500).unwrap();
    let b = Vector::<f32>::from_fn([500], |[i]| {
        (std::f64::consts::PI * (i + 1) as f64 / 501.0).sin() as f32
    });
    let found = minres(&a, &b).unwrap();
    assert_ne!(found.reason, StopReason::LeastSquares);
    let x = found.x.cast::<f64>().to_vec().unwrap();
    let exact = 501.0f64.powi(2) / std::f64::consts::PI.powi(2);
    assert!((x[250] / exact - 1.0).abs() < 0.05, "{} {exact}", x[250]);
}

/// Differences with free ends: constants are mapped to 0, and the condition number of the others
/// grows with the square of the rows.
#[test]
fn minres_finds_least_squares_solutions_of_free_ends() {
    for n in [100, 1500, 5000] {
        let mut middle = vec![2.0; n];
        (middle[0], middle[n - 1]) = (1.0, 1.0);
        let a = Dia::from_diagonals(n, n, &[(-1, vec![-1.0]), (0, middle), (1, vec![-1.0])]);
        let a = a.unwrap().to_csr().unwrap();
        let cosines = |i: usize| (std::f64::consts::PI * (i as f64 + 0.5) / n as f64).cos();
        let b = Vector::from_fn([n], |[i]| cosines(i) + 0.1);
        let found = minres(&a, &b).unwrap();
        assert_eq!(found.reason, StopReason::LeastSquares, "{n}");
        let r = norm(&(&b - &a * &found.x));
        let least = 0.1 * (n as f64).sqrt();
        assert!((r - least).abs() < 1e-6 * norm(&b), "{n}: {r} {least}");
    }
}

/// A symmetric matrix [0 B; B' 0] with B upper bidiagonal, behind some numbers on the diagonal.
fn saddle(first: &[f64], diagonal: &[f64], above: f64) -> Csr<f64> {
    let (k, n) = (first.len(), diagonal.len());
    dense(k + 2 * n, |i, j| {
        let (i, j) = (i.min(j), i.max(j));
        match (i < k, i + n == j, i + n + 1 == j) {
            (true, ..) => first[i] * f64::from(i == j),
            (_, true, _) => diagonal[i - k],
            (_, _, true) if i + 1 < k + n => above,
            _ => 0.0,
        }
    })
}

/// Eigenvalues of both signs cancel in r'A r.
#[test]
fn minres_claims_no_least_squares_solution_of_a_regular_indefinite_matrix() {
    let sines = |n: usize| (1..=n).map(|i| (i as f64).sin());
    for scale in [1e-8, 3e-9, 1e-9] {
        let a = saddle(&[1.0, 2.0], &[scale; 10], 0.5 * scale);
        let b = [1.0, 1.0].into_iter().chain(sines(10)).chain([0.0; 10]);
        let found = minres(&a, &Vector::from_vec(b.collect())).unwrap();
        assert_eq!(found.reason, StopReason::Converged, "{scale}");
    }
    let diagonal: Vec<f64> = (0..12)
        .map(|i| 10f64.powf(-9.0 * f64::from(i) / 11.0))
        .collect();
    let a = saddle(&[], &diagonal, 0.0);
    let b = sines(12).chain([0.0; 12]).collect();
    let options = Options {
        max_iter: Some(300),
        ..Options::default()
    };
    let found = minres_with(&a, &Vector::from_vec(b), options).unwrap();
    assert_ne!(found.reason, StopReason::LeastSquares);
}

/// The iterates of -A and -b are those of A and b, and so are those after a checkpoint; the sign
/// stays as it was.
#[test]
fn conjugate_gradients_of_negative_definite_matrices() {
    let a = gallery::poisson2d::<f64>(12).unwrap();
    let b = Vector::<f64>::random_normal([144], 5);
    let file = std::env::temp_dir().join(format!("sparsefuse-negative-{}", std::process::id()));
    let (minus_a, minus_b) = (-&a, -&b);
    for method in [Method::Cg, Method::SingleReductionCg, Method::PipelinedCg] {
        let positive = method.solve(&a, &b, Options::default()).unwrap();
        let negative = method
            .solve(&minus_a, &minus_b, Options::default())
            .unwrap();
        assert_eq!(negative.reason, StopReason::Converged, "{method}");
        assert_eq!(
            negative.x.to_vec().unwrap(),
            positive.x.to_vec().unwrap(),
            "{method}"
        );
    }
    let some = Options {
        max_iter: Some(9),
        checkpoint: Some(Checkpoint {
            file: &file,
            every: 9,
        }),
        ..Options::default()
    };
    let whole = Method::Cg.solve(&minus_a, &b, Options::default()).unwrap();
    let begun = Method::Cg.solve(&minus_a, &b, some).unwrap();
    assert_eq!(begun.reason, StopReason::IterationLimit);
    let others = Options {
        resume: Some(&file),
        ..Options::default()
    };
    let ended = Method::Cg.solve(&minus_a, &b, others).unwrap();
    assert_eq!(ended.reason, StopReason::Converged);
    assert_eq!(ended.history, whole.history);
    assert_eq!(ended.x.to_vec().unwrap(), whole.x.to_vec().unwrap());
    std::fs::remove_file(&file).unwrap();

    // p'A p is negative first.
    let indefinite = dense::<f64>(3, |i, j| if i == j { [1.0, 2.0, -9.0][i] } else { 0.0 });
    for method in [Method::Cg, Method::SingleReductionCg, Method::PipelinedCg] {
        let found = method.solve(&indefinite, &Vector::ones([3]), Options::default());
        assert_eq!(
            found.unwrap().reason,
            StopReason::IndefiniteMatrix,
            "{method}"
        );
    }
}
