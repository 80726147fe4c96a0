//! Geometric multigrid.

use super::{check_symmetry, factor, laplacian, preconditioned, rhs, with_cycle};
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_solvers::multigrid::{
    CoarseOperator, CoarseSolver, Coarsening, Cycle, CycleOptions, GridOptions, Multigrid,
    Prolongation, Restriction, Smoother,
};
use sparsefuse_solvers::{LinearOperator, Options, Preconditioner};
use sparsefuse_sparse::{Csr, Triplets, gallery};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const SMOOTHERS: [(&str, Smoother, usize); 3] = [
    ("jacobi", Smoother::Jacobi { omega: None }, 1),
    ("chebyshev", Smoother::Chebyshev { ratio: 4.0 }, 2),
    ("gauss-seidel", Smoother::GaussSeidel, 1),
];

/// A cycle with a last level so small that there are several.
fn cycle(smoother: Smoother, steps: usize) -> CycleOptions {
    CycleOptions {
        smoother,
        pre: steps,
        post: steps,
        coarsest: 4,
        ..CycleOptions::default()
    }
}

#[test]
fn cycles_reduce_the_error_on_grids_of_any_shape() {
    let shapes: [&[usize]; 16] = [
        &[1],
        &[2],
        &[3],
        &[17],
        &[1000],
        &[1, 9],
        &[9, 1],
        &[5, 7],
        &[30, 30],
        &[31, 33],
        &[64, 63],
        &[100, 3],
        &[1, 1, 1],
        &[6, 7, 8],
        &[17, 5, 2],
        &[12, 12, 12],
    ];
    for sides in shapes {
        let a = laplacian::<f64>(sides, &[1.0, 1.0, 1.0][..sides.len()]);
        for (name, smoother, steps) in SMOOTHERS {
            let options = with_cycle(cycle(smoother, steps));
            let multigrid = Multigrid::on_grid_with(&a, sides, &options).unwrap();
            let factor = factor(&a, &multigrid);
            assert!(factor < 0.45, "{sides:?}, {name}: {factor}");
            check_symmetry(&multigrid, &format!("{sides:?}, {name}"));
        }
    }
}

/// The iterations of conjugate gradients with V(1,1) cycles.
fn iterations(a: &Csr<f64>, sides: &[usize], options: &GridOptions<f64>) -> usize {
    let multigrid = Multigrid::on_grid_with(a, sides, options).unwrap();
    let solution = preconditioned(a, &rhs(a), 1e-8, &multigrid).unwrap();
    assert!(solution.converged(), "{sides:?}");
    solution.iterations
}

#[test]
fn iterations_do_not_grow_with_the_grid() {
    for (name, smoother, steps) in SMOOTHERS {
        let options = with_cycle(CycleOptions {
            coarsest: 128,
            ..cycle(smoother, steps)
        });
        let flat = [64, 255, 400].map(|n| {
            let a = gallery::poisson2d(n).unwrap();
            iterations(&a, &[n, n], &options)
        });
        let solid = [16, 33, 48].map(|n| {
            let a = gallery::poisson3d(n).unwrap();
            iterations(&a, &[n, n, n], &options)
        });
        for counts in [flat, solid] {
            let least = counts[0];
            assert!(least <= 12, "{name}: {counts:?}");
            assert!(
                counts.iter().all(|&count| count <= least + 1),
                "{name}: {counts:?}"
            );
        }
    }
}

#[test]
fn coefficients_may_vary() {
    for n in [40, 125] {
        let a = gallery::diffusion2d(n).unwrap();
        let count = iterations(&a, &[n, n], &GridOptions::default());
        assert!(count <= 14, "{n}: {count}");
    }
    let a = gallery::diffusion3d(20).unwrap();
    let count = iterations(&a, &[20, 20, 20], &GridOptions::default());
    assert!(count <= 14, "{count}");
}

#[test]
fn weakly_coupled_axes_stay_fine() {
    for c in [[1.0, 0.01], [0.01, 1.0], [1.0, 1e-4]] {
        let sides = [50, 70];
        let a = laplacian(&sides, &c);
        let strong = iterations(&a, &sides, &GridOptions::default());
        let all = GridOptions {
            coarsening: Coarsening::All,
            ..GridOptions::default()
        };
        let all = iterations(&a, &sides, &all);
        assert!(strong <= 14, "{c:?}: {strong}");
        assert!(2 * strong < all, "{c:?}: {strong} and {all}");
    }
    let sides = [20, 16, 18];
    let a = laplacian(&sides, &[1.0, 0.001, 1.0]);
    let count = iterations(&a, &sides, &GridOptions::default());
    assert!(count <= 14, "{count}");
}

#[test]
fn w_and_f_cycles_are_no_worse_than_v_cycles() {
    let a = laplacian::<f64>(&[61, 40], &[1.0, 1.0]);
    let [v, w, f] = [Cycle::V, Cycle::W, Cycle::F].map(|cycle| {
        let options = with_cycle(CycleOptions {
            cycle,
            coarsest: 4,
            ..CycleOptions::default()
        });
        let multigrid = Multigrid::on_grid_with(&a, &[61, 40], &options).unwrap();
        if cycle != Cycle::F {
            check_symmetry(&multigrid, &format!("{cycle:?}"));
        }
        factor(&a, &multigrid)
    });
    assert!(w <= v + 0.01 && f <= v + 0.01, "V {v}, W {w}, F {f}");
}

#[test]
fn levels_end_where_they_are_asked_to() {
    let a = gallery::poisson2d::<f64>(33).unwrap();
    let rows = |options: CycleOptions| -> Vec<usize> {
        let multigrid = Multigrid::on_grid_with(&a, &[33, 33], &with_cycle(options)).unwrap();
        multigrid.levels().map(|(rows, _)| rows).collect()
    };
    assert_eq!(rows(CycleOptions::default()), [1089, 256, 64]);
    let options = CycleOptions {
        coarsest: 1,
        ..CycleOptions::default()
    };
    assert_eq!(rows(options), [1089, 256, 64, 16, 4, 1]);
    let options = CycleOptions {
        max_levels: 2,
        ..CycleOptions::default()
    };
    assert_eq!(rows(options), [1089, 256]);
}

/// The second difference on a grid with step h, divided by h^2, where level 0 has h = 1.
fn discretised(level: usize, sides: &[usize]) -> Csr<f64> {
    laplacian(sides, &vec![0.25f64.powi(level as i32); sides.len()])
}

#[test]
fn coarse_operators_may_be_discretised() {
    // 2^k - 1 points: every coarse grid has its boundary one step beyond its points.
    let sides = [63, 31];
    let a = discretised(0, &sides);
    let discretise = |level: usize, sides: &[usize]| Ok(discretised(level, sides));
    for restriction in [Restriction::FullWeighting, Restriction::Injection] {
        let options = GridOptions {
            coarse: CoarseOperator::Rediscretised(Arc::new(discretise)),
            restriction,
            // After a step by colors the residual is 0 at the others: no mean of anything.
            cycle: cycle(Smoother::Jacobi { omega: None }, 2),
            ..GridOptions::default()
        };
        let multigrid = Multigrid::on_grid_with(&a, &sides, &options).unwrap();
        let factor = factor(&a, &multigrid);
        assert!(factor < 0.5, "{restriction:?}: {factor}");
    }
}

/// Matrices of a discretisation are divided by what the finest one is divided by: for powers of 2
/// no bit depends on the scale.
#[test]
fn discretised_matrices_of_any_scale() {
    let sides = [63];
    let matrix = |level: usize, sides: &[usize], scale: f32| {
        laplacian::<f32>(sides, &[0.25f64.powi(level as i32)]).scale(scale)
    };
    let applied = [1.0, 40f32.exp2(), (-40f32).exp2()].map(|scale| {
        let a = matrix(0, &sides, scale);
        let discretise = move |level: usize, sides: &[usize]| Ok(matrix(level, sides, scale));
        let options = GridOptions {
            coarse: CoarseOperator::Rediscretised(Arc::new(discretise)),
            cycle: cycle(Smoother::Jacobi { omega: None }, 2),
            ..GridOptions::default()
        };
        let mut multigrid = Multigrid::on_grid_with(&a, &sides, &options).unwrap();
        let r = rhs(&matrix(0, &sides, 1.0));
        let apply = |m: &Multigrid<f32>| (m.apply(&r).unwrap() * scale).to_vec().unwrap();
        let first = apply(&multigrid);
        multigrid.update(&a).unwrap();
        assert_eq!(apply(&multigrid), first);
        first
    });
    assert_eq!(applied[1], applied[0]);
    assert_eq!(applied[2], applied[0]);
    let coarse = |factor: f32| {
        let discretise = move |level: usize, sides: &[usize]| Ok(matrix(level, sides, factor));
        let options = GridOptions {
            coarse: CoarseOperator::Rediscretised(Arc::new(discretise)),
            cycle: cycle(Smoother::Jacobi { omega: None }, 2),
            ..GridOptions::default()
        };
        let multigrid = Multigrid::on_grid_with(&matrix(0, &sides, 1.0), &sides, &options).unwrap();
        multigrid
            .apply(&rhs(&matrix(0, &sides, 1.0)))
            .unwrap()
            .to_vec()
            .unwrap()
    };
    assert_ne!(coarse(2.0), applied[0]);
}

/// Differences against the wind, which leave out the other neighbour.
fn upwind(n: usize, wind: f64) -> Csr<f64> {
    let mut triplets = Triplets::new(n, n).unwrap();
    for row in 0..n {
        triplets.push(row, row, 2.5).unwrap();
        for (neighbour, value) in [
            (row.wrapping_sub(1), -1.0 - wind.max(0.0)),
            (row + 1, -1.0 + wind.min(0.0)),
        ] {
            // Strong winds leave nothing of what comes from behind.
            let is_left_out = (wind > 0.0) == (neighbour == row + 1);
            if neighbour < n && !is_left_out {
                triplets.push(row, neighbour, value).unwrap();
            }
        }
    }
    Csr::from_triplets(&triplets).unwrap()
}

#[test]
fn updates_take_coarse_matrices_of_another_structure() {
    let n = 63;
    let wind = Arc::new(AtomicBool::new(false));
    let against = |wind: &AtomicBool| {
        if wind.load(Ordering::Relaxed) {
            1.0
        } else {
            -1.0
        }
    };
    let of_levels = Arc::clone(&wind);
    let discretise = move |_: usize, sides: &[usize]| Ok(upwind(sides[0], against(&of_levels)));
    let options = GridOptions {
        coarse: CoarseOperator::Rediscretised(Arc::new(discretise)),
        ..GridOptions::default()
    };
    // Both neighbours are stored, whichever the wind.
    let fine = |wind: f64| {
        let a = laplacian::<f64>(&[n], &[1.0]);
        let none = a.try_scale(0.0).unwrap();
        none.try_add(&upwind(n, wind)).unwrap()
    };
    let mut multigrid = Multigrid::on_grid_with(&fine(-1.0), &[n], &options).unwrap();
    wind.store(true, Ordering::Relaxed);
    let a = fine(1.0);
    multigrid.update(&a).unwrap();
    let anew = Multigrid::on_grid_with(&a, &[n], &options).unwrap();
    let applied = |m: &Multigrid<f64>| m.apply(&rhs(&a)).unwrap().to_vec().unwrap();
    assert_eq!(applied(&multigrid), applied(&anew));
}

/// The matrix of some differences whose rows reach two steps.
fn wide(n: usize) -> Csr<f64> {
    let a = gallery::poisson2d(n).unwrap();
    a.matmul(&a)
}

#[test]
fn rows_may_reach_farther_than_neighbours() {
    let a = wide(24);
    let options = with_cycle(CycleOptions {
        smoother: Smoother::chebyshev(),
        pre: 3,
        post: 3,
        coarsest: 9,
        ..CycleOptions::default()
    });
    let multigrid = Multigrid::on_grid_with(&a, &[24, 24], &options).unwrap();
    assert!(multigrid.levels().count() > 2);
    check_symmetry(&multigrid, "wide");
    let solution = preconditioned(&a, &rhs(&a), 1e-8, &multigrid).unwrap();
    assert!(
        solution.converged() && solution.iterations < 40,
        "{solution:?}"
    );
}

fn check_type<T: Field>() {
    let sides = [21, 18];
    let a = laplacian::<T>(&sides, &[1.0, 1.0]);
    // A Hermitian matrix that is not real, similar to the Laplacian.
    let turn = |k: usize| {
        let angle = if T::IS_COMPLEX { 0.3 * k as f64 } else { 0.0 };
        T::from_parts(angle.cos(), angle.sin())
    };
    let rows = a.to_rows().unwrap();
    let vals = (0..a.n_rows())
        .flat_map(|row| {
            let rows = &rows;
            let entries = rows.pos[row] as usize..rows.pos[row + 1] as usize;
            entries.map(move |k| {
                let column = rows.crd[k] as usize;
                rows.vals[k] * turn(row % 18) * turn(column % 18).conjugate()
            })
        })
        .collect();
    let a = a.with_values(Vector::from_vec(vals)).unwrap();
    let rtol = 50.0 * T::Real::EPSILON.to_f64();
    for (name, smoother, steps) in SMOOTHERS {
        let options = with_cycle(cycle(smoother, steps));
        let multigrid = Multigrid::on_grid_with(&a, &sides, &options).unwrap();
        let b = rhs(&a);
        let solution = preconditioned(&a, &b, rtol, &multigrid).unwrap();
        assert!(solution.converged(), "{name}: {:?}", solution.reason);
        assert!(solution.iterations <= 40, "{name}: {}", solution.iterations);
    }
}

#[test]
fn every_type_of_elements_works() {
    check_type::<f32>();
    check_type::<f64>();
    check_type::<Complex<f32>>();
    check_type::<Complex<f64>>();
}

#[test]
fn new_values_give_the_hierarchy_of_the_new_matrix() {
    let a = gallery::diffusion2d::<f64>(37).unwrap();
    let other = laplacian::<f64>(&[37, 37], &[1.0, 1.0]);
    for (name, smoother, steps) in SMOOTHERS {
        let options = with_cycle(cycle(smoother, steps));
        let mut updated = Multigrid::on_grid_with(&other, &[37, 37], &options).unwrap();
        updated.update(&a).unwrap();
        let new = Multigrid::on_grid_with(&a, &[37, 37], &options).unwrap();
        let b = rhs(&a);
        let [expected, found] = [&new, &updated].map(|m| m.apply(&b).unwrap().to_vec().unwrap());
        assert_eq!(expected, found, "{name}");
    }
    let mut multigrid = Multigrid::on_grid(&a, &[37, 37]).unwrap();
    let refused = multigrid.update(&gallery::banded(37 * 37, 3).unwrap());
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("structure"), "{message}");
}

#[test]
fn cycles_solve_alone() {
    let a = gallery::poisson2d::<f64>(50).unwrap();
    let b = rhs(&a);
    let multigrid = Multigrid::on_grid(&a, &[50, 50]).unwrap();
    let solution = multigrid.solve(&b, Options::default()).unwrap();
    assert!(
        solution.converged() && solution.iterations < 25,
        "{solution:?}"
    );
    // From the solution there is nothing to do.
    let options = Options {
        x0: Some(&solution.x),
        rtol: 1e-7,
        ..Options::default()
    };
    assert_eq!(multigrid.solve(&b, options).unwrap().iterations, 0);
}

#[test]
fn two_levels_with_injection_precondition() {
    let a = gallery::poisson2d::<f64>(32).unwrap();
    let options = GridOptions::two_level_injection();
    let multigrid = Multigrid::on_grid_with(&a, &[32, 32], &options).unwrap();
    assert_eq!(multigrid.levels().count(), 2);
    check_symmetry(&multigrid, "two levels");
    let solution = preconditioned(&a, &rhs(&a), 1e-8, &multigrid).unwrap();
    assert!(solution.converged());
    assert_eq!(options.prolongation, Prolongation::Injection);
    assert_eq!(options.cycle.coarse_solver, CoarseSolver::Smoother);
}

#[test]
fn what_does_not_fit_is_refused() {
    let a = gallery::poisson2d::<f64>(30).unwrap();
    let check = |sides: &[usize], cycle: CycleOptions, expected: &str| {
        let refused = Multigrid::on_grid_with(&a, sides, &with_cycle(cycle));
        let message = refused.unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    };
    let usual = CycleOptions::default;
    check(&[30, 31], usual(), "930 points of the grid 30 x 31");
    check(&[30, 31], usual(), "900 rows");
    check(&[], usual(), "one to three sides");
    check(&[30, 30, 1, 1], usual(), "one to three sides");
    check(&[0, 30], usual(), "one to three sides");
    check(&[30, 30], CycleOptions { pre: 0, ..usual() }, "step");
    check(
        &[30, 30],
        CycleOptions {
            max_levels: 0,
            ..usual()
        },
        "level",
    );
    let smoother = Smoother::Jacobi { omega: Some(-1.0) };
    check(
        &[30, 30],
        CycleOptions {
            smoother,
            ..usual()
        },
        "omega",
    );
    let smoother = Smoother::Chebyshev { ratio: 1.0 };
    check(
        &[30, 30],
        CycleOptions {
            smoother,
            ..usual()
        },
        "ratio",
    );
}

/// Bilinear elements on cells three times as wide as high: D^-1 A has eigenvalues of 2.7, for which
/// the weight of Poisson's problem is too large.
#[test]
fn weights_suit_matrices_that_are_not_dominant() {
    let n = 63;
    let stiffness = |d: isize| if d == 0 { 2.0 } else { -1.0 };
    let mass = |d: isize| if d == 0 { 4.0 / 6.0 } else { 1.0 / 6.0 };
    let ratio: f64 = 3.0;
    let mut triplets = Triplets::new(n * n, n * n).unwrap();
    for row in 0..n * n {
        for (dy, dx) in (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dy, dx))) {
            let (y, x) = ((row / n) as isize + dy, (row % n) as isize + dx);
            let inside = 0..n as isize;
            if inside.contains(&y) && inside.contains(&x) {
                let value = stiffness(dx) * mass(dy) / ratio + mass(dx) * stiffness(dy) * ratio;
                triplets
                    .push(row, y as usize * n + x as usize, value)
                    .unwrap();
            }
        }
    }
    let a = Csr::<f64>::from_triplets(&triplets).unwrap();
    let m = Multigrid::on_grid(&a, &[n, n]).unwrap();
    let b = Vector::random_normal([n * n], 1);
    let options = Options {
        preconditioner: Some(&m),
        ..Options::default()
    };
    let solution = sparsefuse_solvers::cg_with(&a, &b, options).unwrap();
    assert!(solution.converged(), "{:?}", solution.reason);
    assert!(solution.iterations < 20, "{}", solution.iterations);
}

/// Rows that reach around the grid sum to 0, so that its ends are no boundary.
#[test]
fn periodic_problems_on_grids() {
    let n = 64;
    let mut triplets = Triplets::new(n * n, n * n).unwrap();
    for row in 0..n * n {
        let (y, x) = (row / n, row % n);
        triplets.push(row, row, 4.0).unwrap();
        for (y, x) in [(y + 1, x), (y + n - 1, x), (y, x + 1), (y, x + n - 1)] {
            triplets.push(row, y % n * n + x % n, -1.0).unwrap();
        }
    }
    let a = Csr::<f64>::from_triplets(&triplets).unwrap();
    let constant = || sparsefuse_solvers::Nullspace::constant(n * n).unwrap();
    let a_singular = sparsefuse_solvers::WithNullspace::new(&a, constant()).unwrap();
    let m = Multigrid::on_grid(&a, &[n, n]).unwrap();
    let b = Vector::random_normal([n * n], 1);
    let options = Options {
        preconditioner: Some(&m),
        ..Options::default()
    };
    let solution = sparsefuse_solvers::cg_with(&a_singular, &b, options).unwrap();
    assert!(solution.converged(), "{:?}", solution.reason);
    assert!(solution.iterations < 18, "{}", solution.iterations);
}
