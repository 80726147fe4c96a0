//! `lsqr` and `lsmr`: matrices of any shape against dense normal equations, damping, what makes
//! them stop; the same bits on ranks and without fusion.

use ndarray::{Array1, Array2};
use num_complex::Complex;
use sparsefuse::kernels::random;
use sparsefuse::prelude::*;
use sparsefuse::solvers::{Checkpoint, Input, Method};
use sparsefuse_testing::{bits, everywhere};
use std::path::Path;

const METHODS: [Method; 2] = both(0.0);

const fn both(damping: f64) -> [Method; 2] {
    [Method::Lsqr { damping }, Method::Lsmr { damping }]
}

/// A random matrix, about a third of it full, whose columns are independent if it is tall.
fn matrix<T: Field>(n_rows: usize, n_cols: usize, seed: u64) -> Array2<T> {
    let part = |k: usize| 2.0 * random::uniform(seed, k as u64) - 1.0;
    Array2::from_shape_fn((n_rows, n_cols), |(i, j)| {
        let k = i * n_cols + j;
        let is_entry = i % n_cols == j || random::uniform(seed + 50, k as u64) < 0.3;
        let dominant = if i % n_cols == j { 3.0 } else { 0.0 };
        match is_entry {
            true => T::from_parts(part(2 * k) + dominant, part(2 * k + 1)),
            false => T::ZERO,
        }
    })
}

fn wide<T: Field>(value: T) -> Complex<f64> {
    let (re, im) = value.parts();
    Complex::new(re, im)
}

/// Solves (A'A + damping²) x = A'b densely, by elimination without pivoting, which a positive
/// definite matrix allows.
fn normal_equations<T: Field>(a: &Array2<T>, b: &[T], damping: f64) -> Vec<Complex<f64>> {
    let a = a.mapv(wide);
    let b: Array1<_> = b.iter().map(|&b| wide(b)).collect();
    let adjoint = a.t().mapv(|a| a.conj());
    let mut normal = adjoint.dot(&a);
    let mut x = adjoint.dot(&b);
    let n = x.len();
    for k in 0..n {
        normal[(k, k)] += damping * damping;
    }
    for k in 0..n {
        for i in k + 1..n {
            let factor = normal[(i, k)] / normal[(k, k)];
            for j in k..n {
                let product = factor * normal[(k, j)];
                normal[(i, j)] -= product;
            }
            let product = factor * x[k];
            x[i] -= product;
        }
    }
    for k in (0..n).rev() {
        let known: Complex<f64> = (k + 1..n).map(|j| normal[(k, j)] * x[j]).sum();
        x[k] = (x[k] - known) / normal[(k, k)];
    }
    x.to_vec()
}

/// Solves on ranks and without fusion, to the same bits, and compares with the dense solution.
fn check<T: Field + std::ops::Add<Output = T>>(n_rows: usize, n_cols: usize, damping: f64) {
    let a = matrix::<T>(n_rows, n_cols, (n_rows + n_cols) as u64);
    let b: Vec<T> = (0..n_rows)
        .map(|i| T::from_parts(random::uniform(9, i as u64), random::uniform(10, i as u64)))
        .collect();
    let expected = normal_equations(&a, &b, damping);
    let rtol = 100.0 * T::Real::EPSILON.to_f64();
    for method in both(damping) {
        let solve = || {
            let a = Csr::from_ndarray(a.view()).unwrap();
            let options = Options {
                rtol,
                ..Options::default()
            };
            let solution = method.solve(&a, &Vector::from_slice(&b), options).unwrap();
            assert_eq!(solution.reason, StopReason::LeastSquares, "{method}");
            assert_eq!(solution.history.len(), solution.iterations + 1);
            let last = solution.history[solution.iterations];
            let distance = (last - solution.residual_norm).abs();
            // Damping is taken off the norm of what is minimised, where digits cancel.
            let bound = if damping > 0.0 { 1e-3 } else { 1e-5 };
            assert!(
                distance <= bound * solution.residual_norm,
                "{method}: {distance}"
            );
            let x = solution.x.to_vec()?;
            Ok::<_, Error>((bits(&x), solution.history, x))
        };
        let (_, _, x) = everywhere(solve);
        let size: f64 = expected.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt();
        let distance = x.iter().zip(&expected);
        let distance = distance.map(|(&x, y)| (wide(x) - y).norm_sqr());
        let distance = distance.sum::<f64>().sqrt();
        assert!(
            distance <= 1e3 * rtol * size,
            "{method}: {distance} of {size}"
        );
    }
}

#[test]
fn tall_matrices() {
    for damping in [0.0, 1.5] {
        check::<f64>(30, 11, damping);
        check::<Complex<f64>>(23, 9, damping);
        check::<f32>(19, 6, damping);
        check::<Complex<f32>>(12, 5, damping);
    }
}

/// Of all solutions of a wide system, the shortest lies in the range of the adjoint.
#[test]
fn the_shortest_solution_of_a_wide_system() {
    let a = Csr::from_ndarray(matrix::<f64>(10, 25, 3).view()).unwrap();
    let b = Vector::random_normal([10], 4);
    for method in METHODS {
        let options = Options {
            rtol: 1e-12,
            ..Options::default()
        };
        let solution = method.solve(&a, &b, options).unwrap();
        assert_eq!(solution.reason, StopReason::Converged, "{method}");
        let adjoint = a.transpose().unwrap();
        let options = Options {
            rtol: 1e-12,
            ..Options::default()
        };
        let within = method.solve(&adjoint, &solution.x, options).unwrap();
        assert!(within.relative_residual() < 1e-10, "{method}");
    }
}

#[test]
fn a_preconditioner_leaves_the_solution() {
    let dense = matrix::<f64>(40, 13, 6);
    let a = Csr::from_ndarray(dense.view()).unwrap();
    let b = Vector::random_normal([40], 7);
    // The columns scaled by powers of ten, and what takes that back.
    let power = |j: usize| 10f64.powi(j as i32 % 4);
    let scaled = Array2::from_shape_fn((40, 13), |(i, j)| dense[(i, j)] * power(j));
    let scaled = Csr::from_ndarray(scaled.view()).unwrap();
    let diagonal = Array2::from_diag(&(0..13).map(|j| 1.0 / power(j)).collect::<Array1<_>>());
    let diagonal = Csr::from_ndarray(diagonal.view()).unwrap();
    for method in METHODS {
        let plain = method.solve(&a, &b, Options::default()).unwrap();
        let x0 = Vector::ones([13]);
        let options = Options {
            preconditioner: Some(&diagonal),
            x0: Some(&x0),
            ..Options::default()
        };
        let preconditioned = method.solve(&scaled, &b, options).unwrap();
        assert_eq!(preconditioned.reason, StopReason::LeastSquares);
        assert!(
            preconditioned.iterations <= plain.iterations + 2,
            "{method}"
        );
        let (x, y) = (
            plain.x.to_vec().unwrap(),
            preconditioned.x.to_vec().unwrap(),
        );
        for (j, (x, y)) in x.iter().zip(&y).enumerate() {
            assert!((x - y * power(j)).abs() < 1e-6, "{method}: {x} {y}");
        }
    }
}

#[test]
fn nothing_to_minimise() {
    let a = Csr::from_ndarray(matrix::<f64>(8, 3, 1).view()).unwrap();
    for method in METHODS {
        let zero = method
            .solve(&a, &Vector::zeros([8]), Options::default())
            .unwrap();
        assert_eq!((zero.reason, zero.iterations), (StopReason::Converged, 0));
        // The gradient is 0 where b is orthogonal to the range.
        let empty = Csr::<f64>::new(3, 2, vec![0; 4], vec![], vec![]).unwrap();
        let none = method
            .solve(&empty, &Vector::ones([3]), Options::default())
            .unwrap();
        assert_eq!(
            (none.reason, none.iterations),
            (StopReason::LeastSquares, 0)
        );
        assert_eq!(none.x.to_vec().unwrap(), [0.0; 2]);
        let limited = Options {
            max_iter: Some(2),
            rtol: 0.0,
            ..Options::default()
        };
        let limited = method.solve(&a, &Vector::ones([8]), limited).unwrap();
        assert_eq!(
            (limited.reason, limited.iterations),
            (StopReason::IterationLimit, 2)
        );
        let bad = Vector::from_fn([8], |[i]| if i == 2 { f64::NAN } else { 1.0 });
        let bad = method.solve(&a, &bad, Options::default()).unwrap();
        let reason = StopReason::NotFiniteInput(Input::RightHandSide);
        assert_eq!((bad.reason, bad.iterations), (reason, 0));
    }
}

/// Counted with SciPy 1.17.1 (`itn`): `atol=btol=1e-8, conlim=0`, damping 0 and 2.
#[test]
fn as_many_iterations_as_scipy() {
    let (n_rows, n_cols) = (900, 300);
    let mut triplets = Triplets::<f64>::new(n_rows, n_cols).unwrap();
    for i in 0..n_rows {
        for k in 0..4 {
            let column = (i * 7 + k * k * 13 + 3 * k) % n_cols;
            let value = 1.0 + ((i * 5 + k * 11) % 17) as f64 / 4.0;
            triplets.push(i, column, value).unwrap();
        }
    }
    let a = Csr::from_triplets(&triplets).unwrap();
    let b = Vector::from_fn([n_rows], |[i]| 1.0 + (i % 11) as f64 / 3.0);
    for (method, scipy) in [
        (Method::LSQR, 45usize),
        (Method::LSMR, 44),
        (Method::Lsqr { damping: 2.0 }, 39),
        (Method::Lsmr { damping: 2.0 }, 39),
    ] {
        let solution = method.solve(&a, &b, Options::default()).unwrap();
        assert_eq!(solution.reason, StopReason::LeastSquares);
        let found = solution.iterations;
        println!("{method:?}: {found}, SciPy {scipy}");
        assert!(
            found.abs_diff(scipy) <= 2,
            "{method}: {found}, SciPy {scipy}"
        );
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let a = Csr::from_ndarray(matrix::<f64>(8, 3, 1).view()).unwrap();
    let b = Vector::<f64>::ones([8]);
    for method in METHODS {
        let refused = |b: &Vector<f64>, options, message: &str| {
            let error = method.solve(&a, b, options).unwrap_err();
            assert_eq!(error.to_string(), format!("{method}: expected {message}"));
        };
        let (three, eight) = (Vector::ones([3]), Vector::ones([8]));
        refused(&three, Options::default(), "a shape of (8), found (3)");
        let x0 = |x0| Options {
            x0: Some(x0),
            ..Options::default()
        };
        refused(&b, x0(&eight), "a shape of (3), found (8)");
        let saved = Options {
            checkpoint: Some(Checkpoint {
                file: Path::new("state.ck"),
                every: 5,
            }),
            ..Options::default()
        };
        let none = "no checkpoint, which only cg, cgs and bicgstab have, found one to be written \
                    to state.ck";
        refused(&b, saved, none);
    }
    let three = Vector::ones([3]);
    let refused = |method: Method, x0: Option<&Vector<f64>>, message: &str| {
        let options = Options {
            x0,
            ..Options::default()
        };
        let error = method.solve(&a, &b, options).unwrap_err().to_string();
        assert_eq!(error, format!("{method}: expected {message}"));
    };
    for method in both(1.0) {
        let neither = "neither x0 nor a preconditioner where there is damping, found x0";
        refused(method, Some(&three), neither);
    }
    for method in both(f64::NAN) {
        refused(method, None, "damping to be 0 or more, found NaN");
    }
    let free = MatrixFree::new(8, |x: &Vector<f64>| Ok(x.clone()));
    let error = Method::LSQR
        .solve(&free, &b, Options::default())
        .unwrap_err();
    assert!(
        error.to_string().contains("an operator with an adjoint"),
        "{error}"
    );
}

/// An estimate of the gradient that is a little below the true one is no reason to give up.
#[test]
fn damped_problems_in_single_precision_go_on() {
    let n = 2000;
    let mut triplets = Triplets::new(n - 1, n).unwrap();
    for row in 0..n - 1 {
        triplets.push(row, row, -1.0f32).unwrap();
        triplets.push(row, row + 1, 1.0).unwrap();
    }
    let a = Csr::from_triplets(&triplets).unwrap();
    for seed in 0..3 {
        let b = Vector::<f32>::random_normal([n - 1], seed);
        for damping in [0.005, 0.01, 0.015] {
            for method in both(damping) {
                let solution = method.solve(&a, &b, Options::default()).unwrap();
                assert!(solution.converged(), "{method:?}: {solution:?}");
            }
        }
    }
}
