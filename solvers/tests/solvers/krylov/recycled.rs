//! Methods that keep directions: their products beside SciPy's, what several right-hand sides save,
//! and that what is kept never makes a claim untrue.

use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Config, Runtime};
use sparsefuse_solvers::{
    Error, KrylovSolver, LinearOperator, MatrixFree, Method, Options, Recycled, Solution,
    StopReason,
};
use sparsefuse_sparse::{Csr, LocalRows, gallery};
use sparsefuse_testing::everywhere;
use std::cell::Cell;

const METHODS: [Method; 2] = [Method::LGMRES, Method::GCROTMK];

/// Points along each side of the grid.
const N: usize = 48;

/// The 5-point stencil with a wind along the lines and something added to the diagonal.
fn stencil(wind: f64, diagonal: f64) -> Csr<f64> {
    let n = N * N;
    let rows = Csr::from_rows(n, n, |rows| {
        let mut entries = LocalRows::with_capacity(rows.len(), 5 * rows.len());
        for row in rows {
            let (y, x) = (row / N, row % N);
            let mut push = |is_inside, column: usize, value: f64| {
                if is_inside {
                    entries.push(column as u32, value);
                }
            };
            push(y > 0, row.wrapping_sub(N), -1.0);
            push(x > 0, row.wrapping_sub(1), -1.0 - wind);
            push(true, row, 4.0 + diagonal);
            push(x + 1 < N, row + 1, -1.0 + wind);
            push(y + 1 < N, row + N, -1.0);
            entries.end_row();
        }
        entries
    });
    rows.unwrap()
}

fn with<T: Field>(recycled: &Recycled<T>) -> Options<'_, T> {
    Options {
        recycled: Some(recycled),
        ..Options::default()
    }
}

/// The products of a solve that converges.
#[track_caller]
fn products(a: &Csr<f64>, method: Method, b: &Vector<f64>, options: Options<'_, f64>) -> usize {
    let count = Cell::new(0);
    let counted = MatrixFree::new(a.n_rows(), |x: &Vector<f64>| {
        count.set(count.get() + 1);
        a.try_matvec(x)
    });
    let found = method.solve(&counted, b, options).unwrap();
    assert!(found.converged(), "{method}: {found}");
    println!("{method}: {} products, {found}", count.get());
    count.get()
}

/// SciPy 1.17.1, x0 = 0, b = A @ ones, `rtol=1e-8, atol=0`, an operator that counts. `lgmres` needs
/// one product less a cycle here, where the residual is not computed anew.
#[test]
fn products_are_those_of_scipy() {
    let lgmres = |restart| Method::Lgmres { restart, kept: 3 };
    let gcrotmk = |restart, kept| Method::Gcrotmk { restart, kept };
    for (wind, diagonal, cases) in [
        (0.0, 0.0, [160, 163, 150, 101]),
        (0.5, 0.2, [116, 129, 109, 103]),
    ] {
        let a = stencil(wind, diagonal);
        let b = &a * &Vector::ones([N * N]);
        let methods = [lgmres(30), lgmres(10), gcrotmk(20, 20), gcrotmk(10, 5)];
        for (method, scipy) in methods.into_iter().zip(cases) {
            let found = products(&a, method, &b, Options::default());
            // One for the size of the matrix, one for the true residual.
            assert!(found <= scipy + 2, "{method}: {found}, SciPy {scipy}");
            assert!(
                found >= scipy * 85 / 100,
                "{method}: {found}, SciPy {scipy}"
            );
        }
    }
    // Cycles of gmres alone stagnate.
    let a = stencil(0.0, -0.5);
    let b = &a * &Vector::ones([N * N]);
    let found = products(&a, Method::GCROTMK, &b, Options::default());
    assert!(found.abs_diff(501) <= 25, "{found}, SciPy 501");
    let gmres = Method::GMRES.solve(&a, &b, Options::default()).unwrap();
    assert!(!gmres.converged());
}

/// Six right-hand sides, one after the other: any, for which the directions stand for the part of
/// the matrix that is slow, and others that change slowly.
#[test]
fn later_right_hand_sides_take_fewer_products() {
    let a = stencil(0.1, 0.0);
    let any = |seed: u64| Vector::random_normal([N * N], seed);
    let slow = |step: u64| any(0) + any(1) * (0.1 * step as f64) + any(2 + step) * 1e-4;
    for (method, part_any, part_slow) in [(Method::LGMRES, 1.1, 0.8), (Method::GCROTMK, 0.8, 0.6)] {
        for (rhs, part) in [
            (&any as &dyn Fn(u64) -> Vector<f64>, part_any),
            (&slow, part_slow),
        ] {
            let recycled = Recycled::new();
            let [mut fresh, mut kept] = [0, 0];
            for b in (0..6).map(rhs) {
                fresh += products(&a, method, &b, Options::default());
                kept += products(&a, method, &b, with(&recycled));
            }
            println!("{method}: {kept} of {fresh}");
            assert!(
                (kept as f64) < part * fresh as f64,
                "{method}: {kept} of {fresh}"
            );
            let (Method::Lgmres { kept, .. } | Method::Gcrotmk { kept, .. }) = method else {
                unreachable!("of these two")
            };
            assert_eq!(recycled.len(), kept, "{method}");
            assert_eq!(
                format!("{recycled:?}"),
                format!("Recycled {{ len: {kept} }}")
            );
        }
    }
}

/// Its solution is among the directions.
#[test]
fn the_same_right_hand_side_again_takes_no_cycle() {
    let a = gallery::random::<f64>(300, 6, 1).unwrap();
    let b = Vector::random_normal([300], 2);
    let recycled = Recycled::new();
    assert!(recycled.is_empty());
    let first = Method::GCROTMK.solve(&a, &b, with(&recycled)).unwrap();
    assert!(first.iterations > 5 && !recycled.is_empty());
    let again = Method::GCROTMK.solve(&a, &b, with(&recycled)).unwrap();
    assert_eq!((again.iterations, again.reason), (1, StopReason::Converged));
}

/// Of a nearly singular matrix a residual that seemed small is found to be larger: the rounding in
/// it had been kept as the image of a direction, which led every later solve astray.
#[test]
fn rounding_leaves_no_direction() {
    let n = 32;
    let smallest = 4.0 - 4.0 * (std::f64::consts::PI / (n + 1) as f64).cos();
    for (distance, rtol) in [(1e-7, 1e-9), (1e-4, 1e-12)] {
        let shift = Csr::identity(n * n).unwrap().scale(smallest - distance);
        let a = gallery::poisson2d::<f64>(n).unwrap() - shift;
        let recycled = Recycled::new();
        for seed in 0..6 {
            let b = Vector::random_normal([n * n], seed);
            let options = Options {
                rtol,
                ..with(&recycled)
            };
            let found = Method::GCROTMK.solve(&a, &b, options).unwrap();
            assert!(found.converged() && found.iterations < 300, "{found}");
        }
    }
}

/// Images of another matrix claim nothing that is not true; computed again, they are of use.
#[test]
fn a_matrix_that_has_changed() {
    let b = Vector::random_normal([N * N], 1);
    for method in METHODS {
        let (recycled, stale) = (Recycled::new(), Recycled::new());
        let [mut fresh, mut kept] = [0, 0];
        for step in 0..4 {
            let a = stencil(0.1, 0.002 * step as f64);
            recycled.matrix_changed();
            fresh += products(&a, method, &b, Options::default());
            kept += products(&a, method, &b, with(&recycled));
            let found = method.solve(&a, &b, with(&stale)).unwrap();
            let residual = (&b - &a * &found.x).norm2().get().unwrap();
            let is_solution = residual <= 1e-8 * b.norm2().get().unwrap() * (1.0 + 1e-10);
            assert_eq!(found.converged(), is_solution, "{method}: {found}");
        }
        println!("{method}: {kept} of {fresh}");
        assert!(kept < fresh, "{method}: {kept} of {fresh}");
    }
}

/// Directions whose images depend on each other, and operators that end the space.
#[test]
fn spaces_that_cannot_grow() {
    let few = |kept| {
        [
            Method::Lgmres { restart: 2, kept },
            Method::Gcrotmk { restart: 2, kept },
        ]
    };
    // Three eigenvalues: three products solve it.
    let n = 50;
    let a = Csr::from_dense(&sparsefuse_dense::Array::from_fn([n, n], |[i, j]| {
        if i == j { 1.0 + (i % 3) as f64 } else { 0.0 }
    }));
    let a = a.unwrap();
    for method in [few(0), few(1), few(50)]
        .concat()
        .into_iter()
        .chain(METHODS)
    {
        let recycled = Recycled::new();
        for seed in 0..8 {
            let b = Vector::random_normal([n], seed);
            let found = method.solve(&a, &b, with(&recycled)).unwrap();
            assert!(found.converged(), "{method:?}, {seed}: {found}");
        }
    }
    // A cycle of all unit vectors, on which no shorter one gets anywhere, and a singular matrix.
    let shift = Csr::from_entries(n, n, (0..n).map(|i| (i, (i + 1) % n, 1.0))).unwrap();
    let zero = Csr::<f64>::zeros(n, n).unwrap();
    let mut unit = vec![0.0; n];
    unit[0] = 1.0;
    let b = Vector::from_vec(unit);
    for method in few(3).into_iter().chain(METHODS) {
        let found = method.solve(&shift, &b, Options::default()).unwrap();
        assert!(
            matches!(found.reason, StopReason::Stagnation),
            "{method}: {found}"
        );
        let found = method.solve(&zero, &b, Options::default()).unwrap();
        assert!(
            matches!(found.reason, StopReason::Breakdown(_)),
            "{method}: {found}"
        );
    }
}

fn bits<T: Field>(found: &Solution<T>) -> Result<Vec<(u64, u64)>, Error> {
    let x = found.x.to_vec()?.into_iter().map(T::parts);
    Ok(x.map(|(re, im)| (re.to_bits(), im.to_bits())).collect())
}

fn check_everywhere<T: Field>(rtol: f64) {
    everywhere(|| {
        let a = gallery::random::<T>(150, 5, 3)?;
        let mut all = Vec::new();
        let small = [
            Method::Lgmres {
                restart: 5,
                kept: 2,
            },
            Method::Gcrotmk {
                restart: 4,
                kept: 3,
            },
        ];
        for method in small.into_iter().chain([Method::Qmr]) {
            let recycled = Recycled::new();
            for seed in 0..3 {
                let options = Options {
                    rtol,
                    recycled: method.recycles().then_some(&recycled),
                    ..Options::default()
                };
                let b = Vector::<f64>::random_normal([150], seed).cast::<T>();
                let found = method.solve(&a, &b, options)?;
                assert!(found.converged(), "{method}: {found}");
                all.push((bits(&found)?, found.iterations));
            }
        }
        Ok::<_, Error>(all)
    });
}

#[test]
fn with_the_same_bits_everywhere() {
    check_everywhere::<f64>(1e-8);
    check_everywhere::<f32>(1e-5);
    check_everywhere::<Complex<f64>>(1e-8);
}

/// Far from 1, where the system is solved at another scale.
#[test]
fn directions_of_scaled_systems() {
    for method in METHODS {
        let run = |power: i32| {
            let scale = 2f64.powi(power);
            let a = gallery::poisson2d::<f64>(20).unwrap().scale(scale);
            let recycled = Recycled::new();
            let solve = |seed| {
                let b = Vector::random_normal([400], seed) * scale;
                let found = method.solve(&a, &b, with(&recycled)).unwrap();
                assert!(found.converged(), "{method}: {found}");
                (bits(&found).unwrap(), found.iterations)
            };
            [1, 2, 3].map(solve)
        };
        let near = run(0);
        assert!(near[1].1 != near[0].1);
        for power in [-700, 700] {
            assert_eq!(run(power), near, "{method}, 2^{power}");
        }
        // From one scale to another they are multiplied.
        let recycled = Recycled::new();
        let a = gallery::poisson2d::<f64>(20).unwrap();
        for scale in [1.0, 1e-200, 1.0, 1e250] {
            let b = Vector::ones([400]) * scale;
            let found = method.solve(&a, &b, with(&recycled)).unwrap();
            assert!(found.converged(), "{method}: {found}");
        }
    }
}

#[test]
fn right_hand_sides_of_one_solver() {
    let a = gallery::poisson2d::<f64>(20).unwrap();
    let rhs: Vec<_> = (0..3)
        .map(|seed| Vector::random_normal([400], seed))
        .collect();
    for method in METHODS {
        let [one, other] = [(); 2].map(|()| Recycled::new());
        let many = KrylovSolver::new(method, &a, with(&one))
            .solve_many(&rhs)
            .unwrap();
        for (b, found) in rhs.iter().zip(&many) {
            let alone = method.solve(&a, b, with(&other)).unwrap();
            assert_eq!(bits(&alone).unwrap(), bits(found).unwrap(), "{method}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let a = gallery::poisson2d::<f64>(10).unwrap();
    let b = Vector::ones([100]);
    let recycled = Recycled::default();
    for method in Method::ALL.into_iter().filter(|method| !method.recycles()) {
        let error = method
            .solve(&a, &b, with(&recycled))
            .unwrap_err()
            .to_string();
        let name = method.name();
        let expected = "no recycled directions, which only lgmres and gcrotmk take, found some";
        assert_eq!(error, format!("{name}: expected {expected}"));
    }
    let other = Runtime::new(Config::default()).unwrap();
    for method in METHODS {
        assert!(method.solve(&a, &b, with(&recycled)).unwrap().converged());
        let larger = gallery::poisson2d::<f64>(11).unwrap();
        let error = method.solve(&larger, &Vector::ones([121]), with(&recycled));
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with(method.name()), "{error}");
        let (a, b) = other.enter(|| (gallery::poisson2d(10).unwrap(), Vector::ones([100])));
        let error = method
            .solve(&a, &b, with(&recycled))
            .unwrap_err()
            .to_string();
        assert!(error.contains("directions of the runtime of b"), "{error}");
        let zero = match method {
            Method::Lgmres { kept, .. } => Method::Lgmres { restart: 0, kept },
            _ => Method::Gcrotmk {
                restart: 0,
                kept: 1,
            },
        };
        let a = gallery::poisson2d::<f64>(10).unwrap();
        let error = zero.solve(&a, &Vector::ones([100]), Options::default());
        let expected = "expected restart to be 1 or more, found 0";
        assert_eq!(
            error.unwrap_err().to_string(),
            format!("{}: {expected}", method.name())
        );
    }
}

/// b has elements that are not numbers, or the operator gives some: nothing of it is kept.
#[test]
fn nothing_that_is_not_finite_is_kept() {
    let n = 50;
    let a = gallery::poisson1d::<f64>(n).unwrap();
    for method in METHODS {
        let recycled = Recycled::new();
        let calls = Cell::new(0);
        let fails = MatrixFree::new(n, |x: &Vector<f64>| {
            calls.set(calls.get() + 1);
            let factor = if calls.get() == 9 { f64::NAN } else { 1.0 };
            Ok(a.try_matvec(x)? * factor)
        });
        let b = Vector::random_normal([n], 1);
        let found = method.solve(&fails, &b, with(&recycled)).unwrap();
        assert!(
            !found.converged() && recycled.is_empty(),
            "{method}: {found}"
        );
        let found = method.solve(&a, &b, with(&recycled)).unwrap();
        assert!(found.converged(), "{method}: {found}");
        assert!(found.residual_norm <= 1e-8 * b.norm2().get().unwrap());
        let nan = Vector::full([n], f64::NAN);
        assert!(!method.solve(&a, &nan, with(&recycled)).unwrap().converged());
        assert!(method.solve(&a, &b, with(&recycled)).unwrap().converged());
    }
}

/// Which other methods need `fgmres` for.
#[test]
fn preconditioners_that_change() {
    fn check<T: Field>() {
        let a = gallery::poisson2d::<T>(16).unwrap();
        let inner = MatrixFree::new(256, |r: &Vector<T>| {
            let options = Options {
                rtol: 0.1,
                ..Options::default()
            };
            Ok(sparsefuse_solvers::cg_with(&a, r, options)?.x)
        });
        for method in METHODS {
            let options = Options {
                preconditioner: Some(&inner as &dyn LinearOperator<T>),
                ..Options::default()
            };
            let found = method.solve(&a, &Vector::ones([256]), options).unwrap();
            assert!(
                found.converged() && found.iterations < 12,
                "{method}: {found}"
            );
        }
    }
    check::<f64>();
    check::<Complex<f32>>();
}
