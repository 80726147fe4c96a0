//! A solve does not depend on the scale of the system: systems times powers of two over the whole
//! range of their type give the iterations, the reason and the digits of the system near 1, or are
//! refused with a message that says why.

use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Element, Field};
use sparsefuse_runtime::{Config, run_ranks};
use sparsefuse_solvers::multigrid::Multigrid;
use sparsefuse_solvers::preconditioners::{Ic0, Ilu0, Jacobi, Sor, SorOptions};
use sparsefuse_solvers::{
    Error, LinearOperator, MatrixFree, Method, Options, Solution, StopReason,
};
use sparsefuse_sparse::Csr;
use std::ops::ControlFlow;

const N: usize = 40;

/// 2^power, in steps that double precision holds.
fn power_of_two(power: i32) -> f64 {
    2f64.powi(power)
}

fn times<T: Field>(value: T, power: i32) -> T {
    let (re, im) = value.parts();
    let factor = |part: f64| part * power_of_two(power / 2) * power_of_two(power - power / 2);
    T::from_parts(factor(re), factor(im))
}

/// A positive definite tridiagonal matrix with entries of a few bits, times 2^power.
fn matrix<T: Field>(power: i32) -> Csr<T> {
    let (mut pos, mut crd, mut vals) = (vec![0], Vec::new(), Vec::new());
    for row in 0..N {
        let off = |k: usize| T::from_parts(-1.0 - (k % 3) as f64 * 0.5, (k % 2) as f64 * 0.5);
        let conj = |value: T| T::from_parts(value.parts().0, -value.parts().1);
        if row > 0 {
            crd.push(row as u32 - 1);
            vals.push(times(conj(off(row)), power));
        }
        crd.push(row as u32);
        vals.push(times(T::from_f64(3.75 + (row % 5) as f64), power));
        if row + 1 < N {
            crd.push(row as u32 + 1);
            vals.push(times(off(row + 1), power));
        }
        pos.push(crd.len() as u64);
    }
    Csr::new(N, N, pos, crd, vals).unwrap()
}

fn rhs<T: Field>(power: i32) -> Vector<T> {
    let element = |k: usize| T::from_parts((k * 7 % 11) as f64 - 4.5, (k % 3) as f64);
    Vector::from_vec((0..N).map(|k| times(element(k), power)).collect())
}

#[derive(Clone, Copy, Debug)]
enum Pc {
    None,
    Jacobi,
    Amg,
    Ilu,
    Ic,
    Ssor,
}

fn solve<T: Field>(
    method: Method,
    pc: Pc,
    a: &Csr<T>,
    b: &Vector<T>,
) -> Result<Solution<T>, Error> {
    let m: Option<Box<dyn LinearOperator<T>>> = match pc {
        Pc::None => None,
        Pc::Jacobi => Some(Box::new(Jacobi::new(a)?)),
        Pc::Amg => Some(Box::new(Multigrid::aggregated(a)?)),
        Pc::Ilu => Some(Box::new(Ilu0::new(a)?)),
        Pc::Ic => Some(Box::new(Ic0::new(a)?)),
        Pc::Ssor => Some(Box::new(Sor::new(a, SorOptions::default())?)),
    };
    let options = Options {
        rtol: 1e-5,
        preconditioner: m.as_deref(),
        ..Options::default()
    };
    method.solve(a, b, options)
}

fn bits<T: Element + Field>(x: &Vector<T>, power: i32) -> Vec<[u64; 2]> {
    // Adding 0 makes -0 a 0.
    let bits = |value: &T| (times(*value, power) + T::ZERO).to_bits();
    x.to_vec().unwrap().iter().map(bits).collect()
}

/// Compares the system with A 2^of_a and b 2^of_b with the one near 1; false where it is refused.
fn check<T: Field>(method: Method, pc: Pc, near: &Solution<T>, of_a: i32, of_b: i32) -> bool {
    let what = format!("{method}, {pc:?}, {}, 2^{of_a}, 2^{of_b}", T::DTYPE);
    let found = match solve(method, pc, &matrix::<T>(of_a), &rhs::<T>(of_b)) {
        Ok(found) => found,
        Err(error) => {
            let message = error.to_string();
            assert!(message.contains("hold"), "{what}: {message}");
            return false;
        }
    };
    assert_eq!(found.reason, near.reason, "{what}");
    assert_eq!(found.iterations, near.iterations, "{what}");
    assert_eq!(bits(&found.x, of_a - of_b), bits(&near.x, 0), "{what}");
    let is_near = |found: f64, near: f64| {
        let expected = near * power_of_two(of_b / 2) * power_of_two(of_b - of_b / 2);
        (found - expected).abs() <= 1e-12 * expected + 1e-322
    };
    assert!(is_near(found.rhs_norm, near.rhs_norm), "{what}");
    assert!(is_near(found.residual_norm, near.residual_norm), "{what}");
    assert_eq!(found.history.len(), near.history.len(), "{what}");
    for (found, near) in found.history.iter().zip(&near.history) {
        assert!(is_near(*found, *near), "{what}");
    }
    true
}

/// Whether the method goes with the preconditioner on this matrix.
fn suits(method: Method, pc: Pc) -> bool {
    match pc {
        Pc::None => method != Method::Richardson,
        Pc::Jacobi => true,
        // Their adjoints are not known.
        Pc::Amg | Pc::Ssor => !method.needs_adjoint(),
        Pc::Ilu | Pc::Ic => true,
    }
}

/// All methods with a preconditioner at these scales; the scales that were refused.
fn refused<T: Field>(pc: Pc, scales: &[(i32, i32)]) -> Vec<(i32, i32)> {
    let mut refused = Vec::new();
    for method in Method::ALL.into_iter().filter(|&method| suits(method, pc)) {
        let near = solve(method, pc, &matrix::<T>(0), &rhs::<T>(0)).unwrap();
        assert!(near.converged(), "{method}: {}", near.reason);
        for &(of_a, of_b) in scales {
            if !check(method, pc, &near, of_a, of_b) {
                refused.push((of_a, of_b));
            }
        }
    }
    refused.sort_unstable();
    refused.dedup();
    refused
}

/// A and b times the same.
fn both(powers: impl IntoIterator<Item = i32>) -> Vec<(i32, i32)> {
    powers.into_iter().map(|power| (power, power)).collect()
}

#[test]
fn double_precision_over_its_whole_range() {
    // Even powers: minres takes the root of r'M^-1 r.
    let scales = both((-1000..=1000).step_by(100));
    for pc in [Pc::None, Pc::Jacobi, Pc::Amg] {
        assert_eq!(refused::<f64>(pc, &scales), [], "{pc:?}");
    }
}

#[test]
fn single_precision_over_its_whole_range() {
    let scales = both((-140..=120).step_by(20));
    assert_eq!(refused::<f32>(Pc::None, &scales), []);
    assert_eq!(refused::<f32>(Pc::Amg, &scales), []);
    // The inverse of such a diagonal is no number of single precision.
    assert_eq!(refused::<f32>(Pc::Jacobi, &scales), [(-140, -140)]);
}

#[test]
fn complex_over_the_whole_range() {
    let scales = both([-1000, -500, 500, 1000]);
    for pc in [Pc::None, Pc::Jacobi] {
        assert_eq!(refused::<Complex<f64>>(pc, &scales), [], "{pc:?}");
    }
}

#[test]
fn factorisations_over_the_whole_range() {
    let scales = both([-1000, -600, 600, 1000]);
    for pc in [Pc::Ilu, Pc::Ic, Pc::Ssor] {
        assert_eq!(refused::<f64>(pc, &scales), [], "{pc:?}");
    }
}

#[test]
fn solutions_that_cannot_be_held_are_refused() {
    let scales = [(0, -1000), (0, 900), (-900, 0), (900, 0), (500, -500)];
    assert_eq!(refused::<f64>(Pc::None, &scales), []);
    let beyond = [(-1000, 1000), (800, -800)];
    let all = refused::<f64>(Pc::None, &beyond);
    assert_eq!(all, beyond);
    let error = Method::Cg.solve(&matrix::<f64>(-1000), &rhs(1000), Options::default());
    let error = error.unwrap_err().to_string();
    let expected = "cg: expected a system whose solution f64 can hold, found one with elements of";
    assert!(error.contains(expected), "{error}");
}

/// entries 1e-200 and 2e-200, b of ones times these: x = (1, 1).
#[test]
fn two_rows_of_tiny_entries() {
    let a = Csr::<f64>::new(2, 2, vec![0, 1, 2], vec![0, 1], vec![1e-200, 2e-200]).unwrap();
    let b = Vector::from_vec(vec![1e-200, 2e-200]);
    for method in Method::ALL
        .into_iter()
        .filter(|&method| method != Method::Richardson)
    {
        let found = method.solve(&a, &b, Options::default()).unwrap();
        assert_eq!(found.reason, StopReason::Converged, "{method}");
        let x = found.x.to_vec().unwrap();
        assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-7), "{method}: {x:?}");
    }
}

/// What the caller gives and sees is of the system that was asked for: atol, x0, damping, monitor.
#[test]
fn options_are_those_of_the_system() {
    const POWER: i32 = -700;
    let tolerance = 1e-3 * power_of_two(POWER);
    let run = |power: i32, atol: f64| {
        let (a, b, x0) = (matrix::<f64>(power), rhs::<f64>(power), rhs::<f64>(0));
        let mut seen = Vec::new();
        let mut monitor = |_: usize, norm: f64| {
            seen.push(norm * power_of_two(-power));
            ControlFlow::Continue(())
        };
        let options = Options {
            rtol: 0.0,
            atol,
            x0: Some(&x0),
            monitor: Some(&mut monitor),
            ..Options::default()
        };
        let found = Method::Cg.solve(&a, &b, options).unwrap();
        assert!(found.converged() && found.residual_norm <= atol);
        (seen, found.x.to_vec().unwrap())
    };
    assert_eq!(run(POWER, tolerance), run(0, 1e-3));
    let damped = |power: i32| {
        let options = Options {
            damping: 0.5 * power_of_two(power),
            ..Options::default()
        };
        let found = Method::Lsqr.solve(&matrix::<f64>(power), &rhs(power), options);
        let found = found.unwrap();
        assert_eq!(found.reason, StopReason::LeastSquares);
        (found.iterations, found.x.to_vec().unwrap())
    };
    assert_eq!(damped(POWER), damped(0));
}

#[test]
fn functions_ranks_and_many_right_hand_sides() {
    let all = run_ranks(
        3,
        &Config {
            cut_threshold: 1,
            tile_len: 4,
            ..Config::default()
        },
        |_| {
            let solve = |power: i32| {
                let (a, b) = (matrix::<f64>(power), rhs::<f64>(power));
                let function = MatrixFree::new(N, |x: &Vector<f64>| a.try_dot(x));
                let one = Method::Bicgstab.solve(&function, &b, Options::default());
                let mut solver =
                    sparsefuse_solvers::KrylovSolver::new(Method::Cg, &a, Options::default());
                let many = solver.solve_many(&[b.clone(), rhs(power - 900), rhs(0)]);
                let mut solutions = many.unwrap();
                solutions.push(one.unwrap());
                let of = |it: &Solution<f64>| (it.iterations, it.reason);
                solutions.iter().map(of).collect::<Vec<_>>()
            };
            assert_eq!(solve(-100), solve(0));
            solve(-100)
        },
    );
    let all = all.unwrap();
    assert!(all.iter().all(|it| *it == all[0]) && all[0][0] == all[0][1]);
}
