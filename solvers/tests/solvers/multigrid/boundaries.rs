//! Boundaries that are not one step beyond the grid, and pure Neumann problems.

use super::{check_symmetry, preconditioned, rhs, with_ends};
use sparsefuse_dense::Vector;
use sparsefuse_solvers::multigrid::{
    AggregationOptions, CoarseSolver, CycleOptions, GridOptions, Multigrid,
};
use sparsefuse_solvers::{LinearOperator, Nullspace, Options, WithNullspace, cg_with};
use sparsefuse_sparse::{Csr, gallery};

/// The matrix with this much for neighbours that are not there; see [`with_ends`].
fn with_boundary(sides: &[usize], shares: [f64; 2]) -> Csr<f64> {
    with_ends(sides, &[1.0; 3][..sides.len()], shares)
}

/// Sides that halve evenly, unevenly, and first one way, then the other.
#[test]
fn iterations_do_not_depend_on_how_sides_halve() {
    let counts = [63, 64, 72, 88, 96, 100, 120, 132].map(|n| {
        let a = gallery::poisson2d::<f64>(n).unwrap();
        let multigrid = Multigrid::on_grid(&a, &[n, n]).unwrap();
        check_symmetry(&multigrid, &format!("{n}"));
        let solution = preconditioned(&a, &rhs(&a), 1e-8, &multigrid).unwrap();
        assert!(solution.converged(), "{n}");
        solution.iterations
    });
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(most - least <= 1, "{counts:?}");
}

#[test]
fn boundaries_may_be_anywhere() {
    for shares in [[2.0, 2.0], [0.0, 1.0], [1.0, 0.0], [0.5, 2.0], [8.0, 0.25]] {
        for sides in [&[48, 50][..], &[63, 64], &[12, 17, 20]] {
            let a = with_boundary(sides, shares);
            let multigrid = Multigrid::on_grid(&a, sides).unwrap();
            check_symmetry(&multigrid, &format!("{sides:?}, {shares:?}"));
            let solution = preconditioned(&a, &rhs(&a), 1e-8, &multigrid).unwrap();
            let iterations = solution.iterations;
            assert!(
                solution.converged() && iterations <= 12,
                "{sides:?}, {shares:?}: {iterations}"
            );
        }
    }
}

/// The iterations of a pure Neumann problem, whose solution is found up to a constant.
fn of_neumann(a: &Csr<f64>, multigrid: &Multigrid<f64>) -> usize {
    let n = a.n_rows();
    let singular = WithNullspace::new(a, Nullspace::constant(n).unwrap()).unwrap();
    let x = Vector::random_uniform([n], 7) - 0.5;
    let options = Options {
        rtol: 1e-8,
        preconditioner: Some(multigrid),
        ..Options::default()
    };
    let solution = cg_with(&singular, &(a * &x), options).unwrap();
    assert!(solution.converged());
    let mean = solution.x.sum().get().unwrap() / n as f64;
    assert!(mean.abs() < 1e-12, "{mean}");
    let found = multigrid.apply(&Vector::ones([n])).unwrap();
    let largest = found.abs().max().get().unwrap();

    assert!(
        largest < 1e4,
        "constants are left out on the last level: {largest}"
    );
    solution.iterations
}

#[test]
fn neumann_problems_are_solved_up_to_a_constant() {
    for sides in [&[300][..], &[40, 40], &[64, 63], &[100, 100], &[12, 14, 15]] {
        let a = with_boundary(sides, [0.0, 0.0]);
        let iterations = of_neumann(&a, &Multigrid::on_grid(&a, sides).unwrap());
        assert!(iterations <= 12, "{sides:?}: {iterations}");
        let iterations = of_neumann(&a, &Multigrid::aggregated(&a).unwrap());
        assert!(iterations <= 25, "{sides:?}, aggregated: {iterations}");
    }
}

/// Sparse factors in place of the dense inverse, of a last level that may be large.
#[test]
fn the_last_level_may_be_solved_directly() {
    let a = gallery::poisson2d::<f64>(100).unwrap();
    let b = rhs(&a);
    let cycle = |coarse_solver, max_levels| CycleOptions {
        coarse_solver,
        max_levels,
        ..CycleOptions::default()
    };
    let iterations = |multigrid: Multigrid<f64>| {
        let solution = preconditioned(&a, &b, 1e-8, &multigrid).unwrap();
        assert!(solution.converged());
        solution.iterations
    };
    let on_grid = |cycle| {
        let options = GridOptions {
            cycle,
            ..GridOptions::default()
        };
        iterations(Multigrid::on_grid_with(&a, &[100, 100], &options).unwrap())
    };
    let aggregated = |cycle| {
        let options = AggregationOptions {
            cycle,
            ..AggregationOptions::default()
        };
        iterations(Multigrid::aggregated_with(&a, &[], &options).unwrap())
    };
    let usual = on_grid(cycle(CoarseSolver::Inverse, 25));
    for levels in [1, 2, 25] {
        let direct = on_grid(cycle(CoarseSolver::Direct, levels));
        assert!(direct <= usual, "{levels}: {direct} and {usual}");
    }
    let [direct, inverse] =
        [CoarseSolver::Direct, CoarseSolver::Inverse].map(|solver| aggregated(cycle(solver, 25)));
    assert_eq!(direct, inverse);
    assert_eq!(on_grid(cycle(CoarseSolver::Direct, 1)), 1);
    assert_eq!(aggregated(cycle(CoarseSolver::Direct, 1)), 1);
}
