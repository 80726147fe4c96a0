//! Singular systems with a nullspace: pure Neumann problems, whose solution is the one orthogonal
//! to the constants.

use num_complex::Complex;
use sparsefuse::prelude::*;
use sparsefuse::solvers::{Method, Nullspace, Side, WithNullspace};
use sparsefuse_testing::{bits, everywhere_with, small};
use std::ops::Add;

/// The 5-point stencil on `n` by `n` points with a normal derivative of 0 at the boundary: rows sum
/// to 0.
fn neumann<T: Field + Add<Output = T>>(n: usize) -> Csr<T> {
    let mut triplets = Triplets::new(n * n, n * n).unwrap();
    for row in 0..n * n {
        let (y, x) = (row / n, row % n);
        let neighbours = [
            (x > 0).then(|| row - 1),
            (x + 1 < n).then(|| row + 1),
            (y > 0).then(|| row - n),
            (y + 1 < n).then(|| row + n),
        ];
        let mut sum = 0.0;
        for col in neighbours.into_iter().flatten() {
            // Twice as strong across the middle.
            let weight = if (row / n < n / 2) == (col / n < n / 2) {
                1.0
            } else {
                2.0
            };
            triplets.push(row, col, T::from_f64(-weight)).unwrap();
            sum += weight;
        }
        triplets.push(row, row, T::from_f64(sum)).unwrap();
    }
    Csr::from_triplets(&triplets).unwrap()
}

fn methods() -> impl Iterator<Item = Method> {
    let methods = Method::ALL.into_iter();
    methods.filter(|&method| !method.is_least_squares() && method != Method::Richardson)
}

/// Every method finds the solution without constant part, on any ranks with the same bits.
fn check<T: Field + Add<Output = T>>(tolerance: f64, jacobi: bool) {
    let n = 12;
    for method in methods() {
        let solve = || {
            let a = neumann::<T>(n);
            let exact = Vector::<T>::random_normal([n * n], 1);
            let b = &a * &exact;
            let jacobi = jacobi.then(|| Jacobi::new(&a).unwrap());
            let singular = WithNullspace::new(&a, Nullspace::constant(n * n).unwrap()).unwrap();
            let options = Options {
                rtol: tolerance,
                preconditioner: jacobi.as_ref().map(|jacobi| jacobi as _),
                ..Options::default()
            };
            let solution = method.solve(&singular, &b, options).unwrap();
            assert_eq!(solution.reason, StopReason::Converged, "{method}");
            let part = solution.nullspace_part / solution.rhs_norm;
            assert!(part < 1e2 * T::Real::EPSILON.to_f64(), "{method}: {part}");
            let size = solution.x.norm2().get().unwrap().to_f64();
            let (mean, _) = solution.x.mean().get().unwrap().parts();
            assert!(
                mean.abs() < 1e2 * T::Real::EPSILON.to_f64() * size,
                "{method}: {mean}"
            );
            let expected = &exact - exact.mean();
            let error = (&solution.x - &expected).norm2().get().unwrap().to_f64();
            assert!(
                error < 3e2 * tolerance * size,
                "{method}: {error} of {size}"
            );
            let elements = bits(&solution.x.to_vec()?);
            Ok::<_, Error>((elements, solution.history))
        };
        let config = Config {
            tile_len: 16,
            ..small()
        };
        everywhere_with(&config, solve);
    }
}

#[test]
fn neumann_problems() {
    check::<f64>(1e-9, false);
    check::<f64>(1e-9, true);
    check::<Complex<f64>>(1e-9, true);
    check::<f32>(1e-4, false);
}

/// What no A x has is left out of b, and said.
#[test]
fn inconsistent_right_hand_sides() {
    let n = 12;
    let a = neumann::<f64>(n);
    let exact = Vector::<f64>::random_normal([n * n], 1);
    let b = &a * &exact;
    let singular = WithNullspace::new(&a, Nullspace::constant(n * n).unwrap()).unwrap();
    for method in methods() {
        let options = Options {
            rtol: 1e-10,
            ..Options::default()
        };
        let solution = method.solve(&singular, &(&b + 0.25), options).unwrap();
        assert!(solution.converged(), "{method}");
        // 0.25 at each of 144 points.
        assert!((solution.nullspace_part - 3.0).abs() < 1e-12, "{method}");
        let expected = &exact - exact.mean();
        let error = (&solution.x - &expected).norm_inf().get().unwrap();
        assert!(error < 1e-6, "{method}: {error}");

        // Nothing but constants: there is nothing to solve.
        let constant = Vector::<f64>::ones([n * n]) * 0.1;
        let solution = method
            .solve(&singular, &constant, Options::default())
            .unwrap();
        assert_eq!(
            (solution.reason, solution.iterations),
            (StopReason::Converged, 0),
            "{method}"
        );
        assert!(solution.x.norm_inf().get().unwrap() < 1e-15);
    }
}

#[test]
fn gmres_with_the_preconditioner_on_the_left() {
    let n = 12;
    let a = neumann::<f64>(n);
    let jacobi = Jacobi::new(&a).unwrap();
    let singular = WithNullspace::new(&a, Nullspace::constant(n * n).unwrap()).unwrap();
    let x0 = Vector::ones([n * n]);
    let options = Options {
        preconditioner: Some(&jacobi),
        x0: Some(&x0),
        ..Options::default()
    };
    let b = &a * &Vector::random_normal([n * n], 3);
    let gmres = Method::Gmres {
        restart: 30,
        side: Side::Left,
    };
    let solution = gmres.solve(&singular, &b, options).unwrap();
    assert!(solution.converged());
    assert!(solution.x.sum().get().unwrap().abs() < 1e-12);
}

/// Two bodies that do not touch: the nullspace has a constant for each.
#[test]
fn a_nullspace_of_two_dimensions() {
    let a = neumann::<f64>(6);
    let both = Csr::from_triplets(&{
        let mut triplets = Triplets::new(72, 72).unwrap();
        let (rows, local) = a.local_rows().unwrap();
        for row in rows {
            for k in local.pos[row] as usize..local.pos[row + 1] as usize {
                let col = local.crd[k] as usize;
                triplets.push(row, col, local.vals[k]).unwrap();
                triplets.push(row + 36, col + 36, local.vals[k]).unwrap();
            }
        }
        triplets
    })
    .unwrap();
    let first = Vector::from_fn([72], |[i]| if i < 36 { 1.0 } else { 0.0 });
    let all = Vector::<f64>::ones([72]);
    let nullspace = Nullspace::spanned_by(&[first.clone(), all.clone()]).unwrap();
    let [p, q] = nullspace.basis() else {
        panic!("two vectors span two dimensions")
    };
    assert!(p.dot(q).get().unwrap().abs() < 1e-15);
    let singular = WithNullspace::new(&both, nullspace).unwrap();
    let solution = cg(&singular, &Vector::random_normal([72], 5)).unwrap();
    assert!(solution.converged() && solution.nullspace_part > 0.1);
    assert!(solution.x.dot(&first).get().unwrap().abs() < 1e-12);
    assert!(solution.x.dot(&all).get().unwrap().abs() < 1e-12);
}

#[test]
fn what_is_no_nullspace_is_refused() {
    let none = Nullspace::<f64>::spanned_by(&[]).unwrap_err();
    assert_eq!(
        none.to_string(),
        "nullspace: expected at least one vector, found none"
    );
    let ones = Vector::<f64>::ones([4]);
    let twice = Nullspace::spanned_by(&[ones.clone(), &ones * 2.0]).unwrap_err();
    let expected = "vectors that do not depend on each other, found vector 1, which those before \
                    it span";
    assert_eq!(twice.to_string(), format!("nullspace: expected {expected}"));
    let nan = Nullspace::spanned_by(&[&ones * f64::NAN])
        .unwrap_err()
        .to_string();
    assert!(
        nan.ends_with("found vector 0, which is not finite"),
        "{nan}"
    );
    for size in [1e-200, 1e-300, 1e200, 1e300] {
        let space = Nullspace::spanned_by(&[&ones * size]).unwrap();
        let apart = (&space.basis()[0] - 0.5).norm_inf().get().unwrap();
        assert!(apart < 1e-15, "{size}");
    }
    let short = Nullspace::spanned_by(&[ones, Vector::ones([3])]).unwrap_err();
    assert_eq!(
        short.to_string(),
        "nullspace: expected a shape of (4), found (3)"
    );

    let regular = gallery::poisson1d::<f64>(4).unwrap();
    let error = WithNullspace::new(&regular, Nullspace::constant(4).unwrap()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("vectors that the operator maps to 0"),
        "{error}"
    );
    let error = WithNullspace::new(&regular, Nullspace::constant(5).unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "nullspace: expected a shape of (5, 5), found (4, 4)"
    );
}
