//! A solve does not depend on the scale of the system: systems times powers of two over the whole
//! range of their type give the iterations, the reason and the digits of the system near 1, or are
//! refused with a message that says why.

use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Element, Field, Real};
use sparsefuse_runtime::run_ranks;
use sparsefuse_solvers::multigrid::Multigrid;
use sparsefuse_solvers::preconditioners::{
    AdditiveSchwarz, BlockJacobi, Ic0, Ilu0, Iluk, Ilut, IlutOptions, Jacobi, SchwarzOptions, Sor,
    SorOptions,
};
use sparsefuse_solvers::{
    Error, LinearOperator, MatrixFree, Method, Nullspace, Options, Solution, StopReason,
    WithNullspace,
};
use sparsefuse_sparse::Csr;
use sparsefuse_testing::small;
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

#[derive(Clone, Copy, Debug, PartialEq)]
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
        assert_eq!(refused::<Complex<f64>>(pc, &scales), [], "{pc:?}");
    }
}

/// Quotients of complex numbers whose squares are out of range.
#[test]
fn factors_of_large_and_small_complex_entries() {
    for power in [-1000, -600, 0, 600, 1000] {
        let a = matrix::<Complex<f64>>(power);
        let b = rhs::<Complex<f64>>(power);
        let applied = |m: &dyn LinearOperator<Complex<f64>>| {
            let x = m.apply(&b).unwrap();
            let residual = &b - &a * &x;
            let ratio = residual.norm_inf().get().unwrap() / b.norm_inf().get().unwrap();
            assert!(ratio < 1e-14, "2^{power}: {ratio:e}");
        };
        // Of a tridiagonal matrix they are complete.
        applied(&Ilu0::new(&a).unwrap());
        applied(&Ic0::new(&a).unwrap());
        applied(&Iluk::new(&a, 1).unwrap());
        applied(&Ilut::new(&a, IlutOptions::default()).unwrap());
        applied(&BlockJacobi::new(&a, N).unwrap());
        let one = SchwarzOptions {
            blocks: Some(1),
            ..SchwarzOptions::default()
        };
        applied(&AdditiveSchwarz::new(&a, one).unwrap());
    }
}

#[test]
fn solutions_that_overflow_are_refused() {
    let scales = [(0, -1000), (0, 900), (-900, 0), (900, 0), (500, -500)];
    assert_eq!(refused::<f64>(Pc::None, &scales), []);
    assert_eq!(refused::<f64>(Pc::None, &[(-1000, 1000)]), [(-1000, 1000)]);
    let error = Method::Cg.solve(&matrix::<f64>(-1000), &rhs(1000), Options::default());
    let error = error.unwrap_err().to_string();
    let expected = "cg: expected a solution that f64 can hold, found an x with elements of 2.6e602: \
                    scale b or the matrix";
    assert_eq!(error, expected);
    let a = diagonal::<Complex<f64>>(&[1.0, 2.0]);
    let b = Vector::from_vec(vec![Complex::new(1.7e308, 1.7e308); 2]);
    let error = Method::Cg
        .solve(&a, &b, Options::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("found elements whose absolute values overflow: scale b"),
        "{error}"
    );
}

fn diagonal<T: Field>(entries: &[f64]) -> Csr<T> {
    let n = entries.len();
    let vals = entries.iter().map(|&entry| T::from_f64(entry)).collect();
    Csr::new(
        n,
        n,
        (0..=n as u64).collect(),
        (0..n as u32).collect(),
        vals,
    )
    .unwrap()
}

fn vector<T: Field>(elements: &[f64]) -> Vector<T> {
    Vector::from_vec(
        elements
            .iter()
            .map(|&element| T::from_f64(element))
            .collect(),
    )
}

/// ‖b - A x‖ / ‖b‖ with a diagonal A, formed of numbers near 1.
fn relative_residual<T: Field>(entries: &[f64], b: &[f64], x: &[T]) -> f64 {
    let largest = b.iter().copied().fold(0.0, f64::max);
    let norm = |elements: Vec<f64>| elements.iter().map(|it| it * it).sum::<f64>().sqrt();
    let residual = |row: usize| (b[row] - entries[row] * x[row].parts().0) / largest;
    norm((0..b.len()).map(residual).collect()) / norm(b.iter().map(|b| b / largest).collect())
}

/// A diagonal system by all methods: what they report is true of the x that they give, and most end
/// for this reason.
fn small_elements<T: Field>(entries: &[f64], b: &[f64], rtol: f64, most: StopReason) {
    let (a, rhs) = (diagonal::<T>(entries), vector::<T>(b));
    let jacobi = Jacobi::new(&a).unwrap();
    let mut reasons = Vec::new();
    for pc in [Pc::None, Pc::Jacobi] {
        for method in Method::ALL.into_iter().filter(|&method| suits(method, pc)) {
            let what = format!("{method}, {pc:?}, {}, {entries:?}, {b:?}", T::DTYPE);
            let options = Options {
                rtol,
                preconditioner: (pc == Pc::Jacobi).then_some(&jacobi as &dyn LinearOperator<T>),
                ..Options::default()
            };
            let found = method.solve(&a, &rhs, options).unwrap();
            let expected = relative_residual(entries, b, &found.x.to_vec().unwrap());
            let residual = found.relative_residual();
            let rounding = 4.0 * T::Real::EPSILON.to_f64();
            assert!(
                (residual - expected).abs() <= 1e-2 * expected + rounding,
                "{what}: {residual:e}, {expected:e}"
            );
            match found.reason {
                StopReason::Converged => assert!(expected <= rtol, "{what}: {expected:e}"),
                StopReason::Underflow => assert!(expected > rtol, "{what}: {expected:e}"),
                _ => {}
            }
            reasons.push(found.reason);
        }
    }
    let count = reasons.iter().filter(|&&reason| reason == most).count();
    assert!(2 * count > reasons.len(), "{reasons:?}");
}

/// What a method claims of its x must be true of what is left when that is multiplied back.
#[test]
fn elements_too_small_to_hold_are_no_part_of_a_solution() {
    use StopReason::{Converged, Underflow};
    let entries = [1.0, 1e75];
    small_elements::<f64>(&entries, &[1e-300, 1e-300], 1e-8, Underflow);
    small_elements::<Complex<f64>>(&entries, &[1e-300, 1e-300], 1e-8, Underflow);
    small_elements::<f32>(&[1.0, 1e12], &[1e-36, 1e-36], 1e-5, Underflow);
    // All of x.
    small_elements::<f64>(&[2e150, 1e150], &[1e-250, 1e-250], 1e-8, Underflow);
    // What is lost may be too little to count.
    small_elements::<f64>(&entries, &[1e-290, 1e-300], 1e-8, Converged);
    small_elements::<f32>(&[1.0, 1e12], &[1e-30, 1e-36], 1e-5, Converged);
    // 14 bits of the second element are held.
    let entries = [1.0, power_of_two(60)];
    let b = [1.0, 1.234567].map(|b| b * power_of_two(-1000));
    small_elements::<f64>(&entries, &b, 1e-8, Underflow);
    small_elements::<f64>(&entries, &b, 1e-3, Converged);
}

/// The same where another x than a solution is claimed, or nothing.
#[test]
fn elements_too_small_to_hold_are_no_part_of_other_results() {
    let b = vector::<f64>(&[1e-300, 1e-300, 3e-300]);
    // The smallest residual is 2^(1/2) 1e-300, that of the x that is held more.
    let column = [1.0, 1e75, 1.0];
    let a = Csr::<f64>::new(3, 2, vec![0, 1, 2, 3], vec![0, 1, 0], column.to_vec()).unwrap();
    let m = diagonal::<f64>(&[1.0, 1e-75]);
    for method in [Method::LSQR, Method::LSMR] {
        let solve = |b: &Vector<f64>| {
            let preconditioner: Option<&dyn LinearOperator<f64>> = Some(&m);
            let options = Options {
                preconditioner,
                ..Options::default()
            };
            method.solve(&a, b, options).unwrap()
        };
        let found = solve(&b);
        assert_eq!(found.reason, StopReason::Underflow, "{method}");
        assert!((found.residual_norm / 3f64.sqrt() / 1e-300 - 1.0).abs() < 1e-7);
        let found = solve(&vector(&[1e-200, 1e-200, 3e-200]));
        assert_eq!(found.reason, StopReason::LeastSquares, "{method}");
        let found = solve(&vector(&[1e-290, 1e-300, 3e-290]));
        assert_eq!(found.reason, StopReason::LeastSquares, "{method}");
    }
    let a = diagonal::<f64>(&[1.0, 1e75, 0.0]);
    let nullspace = Nullspace::spanned_by(&[vector(&[0.0, 0.0, 1.0])]).unwrap();
    let a = WithNullspace::new(&a, nullspace).unwrap();
    let found = Method::Cg.solve(&a, &b, Options::default()).unwrap();
    assert_eq!(found.reason, StopReason::Underflow);
    assert!((found.relative_residual() - 0.5f64.sqrt()).abs() < 1e-7);
    // Nothing is claimed: the reason stays.
    let a = diagonal::<f64>(&[1.0, 1e75]);
    let x0 = vector(&[1e-300, 0.0]);
    let options = Options {
        x0: Some(&x0),
        max_iter: Some(1),
        rtol: 1e-20,
        ..Options::default()
    };
    let found = Method::Bicgstab.solve(&a, &vector(&[1e-300, 1e-300]), options);
    let found = found.unwrap();
    assert!(
        !found.converged() && found.relative_residual() > 0.1,
        "{}",
        found.reason
    );
}

/// M makes A M^-1 so small that squares of gradients underflow: x = 0 is no solution for that.
#[test]
fn gradients_whose_squares_underflow_are_not_0() {
    let a = diagonal::<f32>(&[1.0, 1e30]);
    for method in [Method::LSQR, Method::LSMR] {
        let found = solve(method, Pc::Jacobi, &a, &vector(&[1e-25, 1e-25])).unwrap();
        assert!(!found.converged(), "{method}: {}", found.reason);
    }
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
        let damping = 0.5 * power_of_two(power);
        let (a, b) = (matrix::<f64>(power), rhs(power));
        let found = Method::Lsqr { damping }.solve(&a, &b, Options::default());
        let found = found.unwrap();
        assert_eq!(found.reason, StopReason::LeastSquares);
        (found.iterations, found.x.to_vec().unwrap())
    };
    assert_eq!(damped(POWER), damped(0));
}

#[test]
fn functions_ranks_and_many_right_hand_sides() {
    let all = run_ranks(3, &small(), |_| {
        let solve = |power: i32| {
            let (a, b) = (matrix::<f64>(power), rhs::<f64>(power));
            let function = MatrixFree::new(N, |x: &Vector<f64>| a.try_matvec(x));
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
    });
    let all = all.unwrap();
    assert!(all.iter().all(|it| *it == all[0]) && all[0][0] == all[0][1]);
}
