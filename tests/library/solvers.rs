//! The Krylov methods against dense solves, SciPy's iteration counts, and everything that makes
//! them stop. Under `mpiexec` (with `--test-threads=1`) all but the references run on the ranks of
//! all processes.

use ndarray::Array2;
use num_complex::Complex;
use sparsefuse::dense::{Field, Real};
use sparsefuse::kernels::random;
use sparsefuse::prelude::*;
use sparsefuse::solvers::{Breakdown, Input, Method};
use sparsefuse_testing::{bits, everywhere};
use std::ops::{Add, ControlFlow};

/// All methods for square matrices that need no preconditioner; for least squares there are others
/// in `least_squares.rs`.
fn methods() -> impl Iterator<Item = (&'static str, Method)> {
    let methods = Method::ALL.into_iter();
    let square =
        methods.filter(|&method| !method.is_least_squares() && method != Method::Richardson);
    square.map(|method| (method.name(), method))
}

/// A small system, dense; the matrix is positive definite if it is Hermitian.
struct System<T> {
    a: Array2<T>,
    b: Vec<T>,
}

/// A random system of which the diagonal dominates the matrix.
fn system<T: Number>(n: usize, is_hermitian: bool, seed: u64) -> System<T> {
    let part = |k: usize| 2.0 * random::uniform(seed, k as u64) - 1.0;
    let number = |k: usize| {
        Complex::new(
            part(2 * k),
            if T::IS_COMPLEX { part(2 * k + 1) } else { 0.0 },
        )
    };
    let mut a = Array2::from_shape_fn((n, n), |(i, j)| {
        let is_entry = random::uniform(seed + 1000, (i * n + j) as u64) < 0.4;
        if is_entry {
            number(i * n + j)
        } else {
            Complex::ZERO
        }
    });
    if is_hermitian {
        a = &a + &a.t().mapv(|value| value.conj());
    }
    for i in 0..n {
        let sum: f64 = a.row(i).iter().map(|value| value.norm()).sum();
        a[(i, i)] = Complex::new(sum + 1.0, 0.0);
    }
    System {
        a: a.mapv(|value| T::from_parts(value.re, value.im)),
        b: (0..n)
            .map(|i| number(n * n + i))
            .map(|b| T::from_parts(b.re, b.im))
            .collect(),
    }
}

/// An element type as assembly needs it.
trait Number: Field + Add<Output = Self> {}
impl<T: Field + Add<Output = T>> Number for T {}

fn wide<T: Field>(value: T) -> Complex<f64> {
    let (re, im) = value.parts();
    Complex::new(re, im)
}

/// The solution by Gaussian elimination with pivoting, in double precision.
fn dense_solve<T: Number>(system: &System<T>) -> Vec<Complex<f64>> {
    let n = system.b.len();
    let mut a = system.a.mapv(wide);
    let mut x: Vec<_> = system.b.iter().map(|&b| wide(b)).collect();
    for k in 0..n {
        let pivot = (k..n)
            .max_by(|&i, &j| a[(i, k)].norm().total_cmp(&a[(j, k)].norm()))
            .unwrap();
        x.swap(k, pivot);
        for j in 0..n {
            a.swap((k, j), (pivot, j));
        }
        for i in k + 1..n {
            let factor = a[(i, k)] / a[(k, k)];
            for j in k..n {
                let product = factor * a[(k, j)];
                a[(i, j)] -= product;
            }
            x[i] = x[i] - factor * x[k];
        }
    }
    for k in (0..n).rev() {
        let known: Complex<f64> = (k + 1..n).map(|j| a[(k, j)] * x[j]).sum();
        x[k] = (x[k] - known) / a[(k, k)];
    }
    x
}

fn norm(x: &[Complex<f64>]) -> f64 {
    x.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt()
}

/// Solves a system in all ways that must give the same bits, and compares with the dense solve.
fn check_system<T: Number>(system: &System<T>, method: Method, jacobi: bool) {
    let name = method.name();
    let rtol = 100.0 * T::Real::EPSILON.to_f64();
    let solve = || {
        let a = Csr::from_ndarray(system.a.view()).unwrap();
        let b = Vector::from_slice(&system.b);
        let preconditioner = Jacobi::new(&a).unwrap();
        let x0 = &b * T::from_f64(0.25);
        let options = Options {
            rtol,
            x0: Some(&x0),
            preconditioner: jacobi.then_some(&preconditioner as _),
            ..Options::default()
        };
        let solution = method.solve(&a, &b, options).unwrap();
        assert_eq!(solution.reason, StopReason::Converged, "{name}");
        assert_eq!(solution.history.len(), solution.iterations + 1);
        assert!(solution.relative_residual() <= rtol);
        let x = solution.x.to_vec()?;
        Ok::<_, Error>((bits(&x), solution.history, x))
    };
    let (_, _, x) = everywhere(solve);
    let expected = dense_solve(system);
    let difference: Vec<_> = x.iter().zip(&expected).map(|(&x, y)| wide(x) - y).collect();
    // The diagonal dominates, so the condition is at most about the largest diagonal entry.
    let bound = 1e2 * rtol * norm(&expected);
    assert!(
        norm(&difference) <= bound,
        "{name}: {} beyond {bound}",
        norm(&difference)
    );
}

fn check_random_systems<T: Number>() {
    for (seed, n) in [1, 2, 3, 9, 26].into_iter().enumerate() {
        for (_, method) in methods() {
            let is_hermitian = method.is_for_definite() || method == Method::Minres;
            let system = system::<T>(n, is_hermitian, seed as u64);
            for jacobi in [false, true] {
                check_system(&system, method, jacobi);
            }
        }
    }
}

#[test]
fn random_systems_of_real_numbers() {
    check_random_systems::<f32>();
    check_random_systems::<f64>();
}

#[test]
fn random_systems_of_complex_numbers() {
    check_random_systems::<Complex<f32>>();
    check_random_systems::<Complex<f64>>();
}

fn options<'a>() -> Options<'a, f64> {
    Options::default()
}

#[test]
fn options_are_obeyed() {
    let a = gallery::poisson2d::<f64>(12).unwrap();
    let b = &a * &Vector::ones([144]);
    let norm = b.norm2().get().unwrap();
    for (name, method) in methods() {
        let all = method.solve(&a, &b, options()).unwrap();
        assert!(all.converged(), "{name}");
        assert_eq!(all.rhs_norm, norm);
        assert_eq!(all.history[0], norm, "{name}: the initial residual is b");
        assert!(all.history[all.iterations] <= 1e-8 * norm);
        assert!(
            all.history[..all.iterations]
                .iter()
                .all(|&norm_k| norm_k > 1e-8 * norm)
        );

        let absolute = Options {
            rtol: 0.0,
            atol: 0.5,
            ..options()
        };
        let coarse = method.solve(&a, &b, absolute).unwrap();
        assert!(coarse.converged() && coarse.residual_norm <= 0.5, "{name}");
        assert!(coarse.iterations < all.iterations);
        assert_eq!(coarse.history, all.history[..=coarse.iterations], "{name}");

        for most in [0, 1, 4] {
            let limited = Options {
                max_iter: Some(most),
                ..options()
            };
            let limited = method.solve(&a, &b, limited).unwrap();
            assert_eq!(limited.reason, StopReason::IterationLimit, "{name}");
            assert_eq!(limited.iterations, most);
            assert_eq!(limited.history, all.history[..=most]);
            let residual = (&b - &a * &limited.x).norm2().get().unwrap();
            assert_eq!(limited.residual_norm, residual);
        }

        let solved = Options {
            x0: Some(&all.x),
            rtol: 1e-7,
            ..options()
        };
        let again = method.solve(&a, &b, solved).unwrap();
        assert_eq!(
            (again.reason, again.iterations),
            (StopReason::Converged, 0),
            "{name}"
        );
        assert_eq!(again.history.len(), 1);
    }
}

#[test]
fn the_monitor_sees_the_history_and_may_stop() {
    let a = gallery::poisson2d::<f64>(12).unwrap();
    let b = &a * &Vector::ones([144]);
    for (name, method) in methods() {
        let mut seen = Vec::new();
        let mut watch = |iteration: usize, norm: f64| {
            assert_eq!(iteration, seen.len());
            seen.push(norm);
            ControlFlow::Continue(())
        };
        let watched = Options {
            monitor: Some(&mut watch),
            ..options()
        };
        let solution = method.solve(&a, &b, watched).unwrap();
        assert_eq!(solution.history, seen, "{name}");

        for last in [0, 3] {
            let mut stop = |iteration, _| {
                if iteration < last {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            };
            let stopped = Options {
                monitor: Some(&mut stop),
                ..options()
            };
            let stopped = method.solve(&a, &b, stopped).unwrap();
            assert_eq!(
                (stopped.reason, stopped.iterations),
                (StopReason::Stopped, last),
                "{name}"
            );
        }
    }
}

#[test]
fn an_operator_without_a_matrix() {
    let n = 30;
    let a = gallery::poisson1d::<f64>(n).unwrap();
    let b = Vector::random_uniform([n], 5);
    // The second difference by shifted views.
    let stencil = MatrixFree::new(n, |x: &Vector<f64>| {
        let mut y = x * 2.0;
        let inner = y.slice(1..) - x.slice(..n - 1);
        y.try_assign_slice(1.., &inner)?;
        let inner = y.slice(..n - 1) - x.slice(1..);
        y.try_assign_slice(..n - 1, &inner)?;
        Ok(y)
    });
    for (name, method) in methods() {
        if method.needs_adjoint() {
            let error = method.solve(&stencil, &b, options()).unwrap_err();
            let expected = "apply_adjoint: expected an operator with an adjoint";
            assert!(error.to_string().starts_with(expected), "{error}");
            continue;
        }
        let by_matrix = method.solve(&a, &b, options()).unwrap();
        let free = method.solve(&stencil, &b, options()).unwrap();
        assert!(by_matrix.converged() && free.converged(), "{name}");
        let distance = (&by_matrix.x - &free.x).norm_inf().get().unwrap();
        let size = by_matrix.x.norm_inf().get().unwrap();
        assert!(distance < 1e-6 * size, "{name}: {distance} of {size}");
    }
}

/// Its norm is 0 as a root of squares, which would make any solution good enough.
#[test]
fn a_right_hand_side_whose_squares_are_too_small_is_scaled() {
    for (name, method) in methods() {
        let a = gallery::poisson1d::<f64>(9).unwrap();
        let b = Vector::full([9], 1e-170);
        let solution = method.solve(&a, &b, options()).unwrap();
        assert_eq!(solution.reason, StopReason::Converged, "{name}");
        assert!((solution.rhs_norm / 3e-170 - 1.0).abs() < 1e-12, "{name}");
    }
}

#[test]
fn nothing_to_solve() {
    for (name, method) in methods() {
        let a = gallery::poisson1d::<f64>(9).unwrap();
        let zero = method.solve(&a, &Vector::zeros([9]), options()).unwrap();
        assert_eq!(
            (zero.reason, zero.iterations),
            (StopReason::Converged, 0),
            "{name}"
        );
        assert_eq!(zero.x.to_vec().unwrap(), [0.0; 9]);
        assert_eq!(zero.relative_residual(), 0.0);

        let empty = gallery::poisson1d::<f64>(0).unwrap();
        let empty = method
            .solve(&empty, &Vector::zeros([0]), options())
            .unwrap();
        assert_eq!(
            (empty.reason, empty.iterations),
            (StopReason::Converged, 0),
            "{name}"
        );
        assert_eq!(empty.x.len(), 0);

        let one = gallery::poisson1d::<f64>(1).unwrap();
        let one = method
            .solve(&one, &Vector::from_vec(vec![6.0]), options())
            .unwrap();
        assert_eq!(
            (one.reason, one.iterations),
            (StopReason::Converged, 1),
            "{name}"
        );
        assert_eq!(one.x.to_vec().unwrap(), [3.0]);
    }
}

/// The method's reason and iterations on a small matrix given row by row.
fn outcome(method: Method, n: usize, rows: &[f64], b: &[f64]) -> (StopReason, usize) {
    let a = Array2::from_shape_vec((n, n), rows.to_vec()).unwrap();
    let a = Csr::from_ndarray(a.view()).unwrap();
    let b = Vector::from_slice(b);
    let solution = method.solve(&a, &b, options()).unwrap();
    let residual = (&b - &a * &solution.x).norm2().get().unwrap();
    assert!(
        solution.residual_norm == residual || !residual.is_finite(),
        "a solution has its own residual"
    );
    (solution.reason, solution.iterations)
}

#[test]
fn indefinite_matrices_stop_conjugate_gradients() {
    for cg in [Method::Cg, Method::SingleReductionCg, Method::PipelinedCg] {
        let indefinite = (StopReason::IndefiniteMatrix, 1);
        // Of a negative definite one the iterates are those of the positive definite one.
        let negative = outcome(cg, 2, &[-1.0, 0.0, 0.0, -2.0], &[1.0, 1.0]);
        assert_eq!(negative, (StopReason::Converged, 2));
        assert_eq!(
            outcome(cg, 2, &[0.0, 1.0, 1.0, 0.0], &[1.0, 0.0]),
            indefinite
        );
        assert_eq!(outcome(cg, 2, &[0.0; 4], &[1.0, 0.0]), indefinite);
        // It shows only after an iteration in which the positive eigenvalues prevail.
        let mut diagonal = [0.0; 16];
        for (i, value) in [5.0, 4.0, 3.0, -1.0].into_iter().enumerate() {
            diagonal[5 * i] = value;
        }
        let later = outcome(cg, 4, &diagonal, &[1.0; 4]);
        assert_eq!(later, (StopReason::IndefiniteMatrix, 2));
    }

    let a = gallery::poisson1d::<f64>(6).unwrap();
    let negative = MatrixFree::new(6, |r: &Vector<f64>| Ok(-r));
    for method in [
        Method::Cg,
        Method::SingleReductionCg,
        Method::PipelinedCg,
        Method::Minres,
    ] {
        let preconditioned = Options {
            preconditioner: Some(&negative),
            ..options()
        };
        let b = Vector::random_uniform([6], 1);
        let solution = method.solve(&a, &b, preconditioned).unwrap();
        let indefinite = StopReason::IndefinitePreconditioner;
        assert_eq!(solution.reason, indefinite, "{method}");
    }
}

/// Systems on which, in exact arithmetic of small numbers, a divisor of the method becomes 0.
#[test]
fn breakdowns_are_named() {
    let (bicgstab, cgs) = (Method::Bicgstab, Method::Cgs);
    let broken = |name| (StopReason::Breakdown(name), 1);

    let skew = [0.0, 1.0, -1.0, 0.0];
    assert_eq!(
        outcome(bicgstab, 2, &skew, &[1.0, 0.0]),
        broken(Breakdown::Sigma)
    );
    assert_eq!(
        outcome(cgs, 2, &skew, &[1.0, 0.0]),
        broken(Breakdown::Sigma)
    );

    // s = (0, -1) and A s = (-1, 0): t's = 0.
    let shifted = [1.0, 1.0, 1.0, 0.0];
    assert_eq!(
        outcome(bicgstab, 2, &shifted, &[1.0, 0.0]),
        broken(Breakdown::Omega)
    );

    // After the first iteration the residual has no component along b.
    let orthogonal = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 2.0];
    let b = [1.0, 0.0, 0.0];
    assert_eq!(
        outcome(bicgstab, 3, &orthogonal, &b),
        broken(Breakdown::Rho)
    );
    assert_eq!(outcome(cgs, 3, &orthogonal, &b), broken(Breakdown::Rho));
}

/// A x = b has no solution, or many: no method may claim the first or miss the second for long.
#[test]
fn singular_matrices() {
    for (name, method) in methods() {
        let diagonal = [1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0];
        let (reason, _) = outcome(method, 3, &diagonal, &[1.0, 1.0, 0.0]);
        assert_eq!(reason, StopReason::Converged, "{name}: b lies in the range");
        let (reason, iterations) = outcome(method, 3, &diagonal, &[1.0, 1.0, 1.0]);
        assert_ne!(reason, StopReason::Converged, "{name}: {iterations}");
        assert!(iterations <= 30, "{name}");
    }
}

#[test]
fn what_is_not_finite_stops() {
    let n = 9;
    let a = gallery::poisson1d::<f64>(n).unwrap();
    for bad in [f64::NAN, f64::INFINITY] {
        let b = Vector::from_fn([n], |[i]| if i == 4 { bad } else { 1.0 });
        let poisoned = a.with_values(&Vector::ones([a.nnz()]) * bad).unwrap();
        for (name, method) in methods() {
            let solution = method.solve(&a, &b, options()).unwrap();
            assert_eq!(
                (solution.reason, solution.iterations),
                (StopReason::NotFiniteInput(Input::RightHandSide), 0),
                "{name}"
            );
            let refused = method.solve(&poisoned, &Vector::ones([n]), options());
            let expected =
                format!("{name}: expected entries that are finite, found {bad} in row 0, column 0");
            assert_eq!(refused.unwrap_err().to_string(), expected);
        }
    }
}

#[test]
fn tolerances_below_rounding_end_in_stagnation() {
    let a = gallery::poisson2d::<f64>(12).unwrap();
    let b = Vector::random_normal([144], 3);
    for (name, method) in methods() {
        for rtol in [1e-17, 1e-20] {
            let strict = Options { rtol, ..options() };
            let solution = method.solve(&a, &b, strict).unwrap();
            assert_eq!(solution.reason, StopReason::Stagnation, "{name} {rtol}");
            assert!(solution.relative_residual() < 1e-13, "{name}");
            assert!(solution.relative_residual() > rtol);
            assert!(solution.iterations < 400, "{name}: {}", solution.iterations);
        }
        let exact = Options {
            rtol: 0.0,
            ..options()
        };
        let solution = method.solve(&a, &b, exact).unwrap();
        assert_ne!(solution.reason, StopReason::Converged, "{name}");
        assert!(
            solution.relative_residual() < 1e-12,
            "{name} {}",
            solution.reason
        );
    }
}

/// Close to the limit of rounding the recurrence claims too much, and restarts make it true.
#[test]
fn convergence_is_claimed_of_the_true_residual() {
    let a = gallery::poisson1d::<f32>(200).unwrap();
    let b = Vector::<f32>::random_normal([200], 3);
    for (name, method) in methods() {
        let options = Options {
            rtol: 1e-5,
            ..Options::default()
        };
        let solution = method.solve(&a, &b, options).unwrap();
        let squares = (&b - &a * &solution.x).sum_of_squares().get().unwrap();
        assert_eq!(solution.residual_norm, f64::from(squares).sqrt(), "{name}");
        assert_eq!(
            solution.converged(),
            solution.relative_residual() <= 1e-5,
            "{name}"
        );
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let a = gallery::poisson1d::<f64>(5).unwrap();
    let b = Vector::<f64>::ones([5]);
    let wide = Csr::<f64>::new(2, 3, vec![0, 0, 0], vec![], vec![]).unwrap();
    let short = Vector::<f64>::ones([4]);
    let small = Jacobi::new(&gallery::poisson1d::<f64>(4).unwrap()).unwrap();
    for (name, method) in methods() {
        let refused = |a: &Csr<f64>, b: &Vector<f64>, options, message: &str| {
            let error = method.solve(a, b, options).unwrap_err();
            assert_eq!(error.to_string(), format!("{name}: expected {message}"));
        };
        refused(&wide, &short, options(), "a shape of (2, 2), found (2, 3)");
        refused(&a, &short, options(), "a shape of (5), found (4)");
        let x0 = Options {
            x0: Some(&short),
            ..options()
        };
        refused(&a, &b, x0, "a shape of (5), found (4)");
        let preconditioner = Options {
            preconditioner: Some(&small),
            ..options()
        };
        refused(&a, &b, preconditioner, "a shape of (5, 5), found (4, 4)");
        let negative = Options {
            rtol: -1.0,
            ..options()
        };
        refused(&a, &b, negative, "rtol to be 0 or more, found -1");
        let unknown = Options {
            atol: f64::NAN,
            ..options()
        };
        refused(&a, &b, unknown, "atol to be 0 or more, found NaN");
    }
    let error = Jacobi::new(&wide).unwrap_err();
    assert_eq!(
        error.to_string(),
        "jacobi: expected a shape of (2, 2), found (2, 3)"
    );
    let shrinking = MatrixFree::new(5, |x: &Vector<f64>| Ok(x.slice(1..)));
    let error = cg(&shrinking, &b).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the function of a `MatrixFree`: expected a shape of (5), found (4)"
    );
}

#[test]
fn jacobi_divides_by_the_diagonal() {
    // Rows without a diagonal entry, or with 0 there, stay as they are.
    let a = ndarray::array![[4.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 1.0, -2.0]];
    let a = Csr::from_ndarray(a.view()).unwrap();
    let z = Jacobi::new(&a)
        .unwrap()
        .apply(&Vector::from_vec(vec![2.0, 3.0, 5.0]));
    assert_eq!(z.unwrap().to_vec().unwrap(), [0.5, 3.0, -2.5]);
}
