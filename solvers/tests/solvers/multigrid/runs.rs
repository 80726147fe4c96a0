//! The same hierarchies on threads and ranks, with and without fusion: the same bits, and as many
//! fused tasks as there have to be.

use super::{laplacian, preconditioned, rhs, with_cycle};
use sparsefuse_dense::Vector;
use sparsefuse_runtime::{Config, run_ranks};
use sparsefuse_solvers::multigrid::{
    AggregationOptions, CycleOptions, GridOptions, Multigrid, Smoother,
};
use sparsefuse_solvers::{LinearOperator, Options, cg_with};
use sparsefuse_sparse::gallery;
use sparsefuse_testing::{bits, everywhere_with, small};
use std::ops::ControlFlow;

/// Settings under which a small grid is cut among ranks and threads.
fn base() -> Config {
    Config {
        tile_len: 16,
        cut_threshold: 40,
        ..small()
    }
}

#[test]
fn bits_do_not_depend_on_ranks_threads_or_fusion() {
    let smoothers = [
        Smoother::Jacobi { omega: None },
        Smoother::chebyshev(),
        Smoother::GaussSeidel,
    ];
    let shapes: [&[usize]; 3] = [&[150], &[18, 23], &[9, 8, 11]];
    for (smoother, sides) in smoothers
        .into_iter()
        .flat_map(|s| shapes.map(|sides| (s, sides)))
    {
        everywhere_with(&base(), || {
            let a = laplacian::<f64>(sides, &[1.0, 0.9, 0.8][..sides.len()]);
            let options = with_cycle(CycleOptions {
                smoother,
                pre: 2,
                post: 2,
                coarsest: 6,
                ..CycleOptions::default()
            });
            let multigrid = Multigrid::on_grid_with(&a, sides, &options)?;
            let solution = preconditioned(&a, &rhs(&a), 1e-8, &multigrid)?;
            assert!(solution.converged(), "{smoother:?} on {sides:?}");
            Ok(bits(&solution.x.to_vec()?))
        });
    }
}

#[test]
fn aggregates_do_not_depend_on_ranks_threads_or_fusion() {
    for block in [1, 3] {
        everywhere_with(&base(), || {
            let a = laplacian::<f64>(&[17, 14, 3], &[1.0, 0.9, 0.05]);
            let options = AggregationOptions {
                block,
                cycle: CycleOptions {
                    coarsest: 6,
                    ..CycleOptions::default()
                },
                ..AggregationOptions::default()
            };
            let multigrid = Multigrid::aggregated_with(&a, &[], &options)?;
            assert!(multigrid.levels().count() > 2);
            let solution = preconditioned(&a, &rhs(&a), 1e-8, &multigrid)?;
            assert!(solution.converged(), "blocks of {block}");
            Ok(bits(&solution.x.to_vec()?))
        });
    }
}

/// Fused tasks of one more iteration of conjugate gradients with this preconditioner.
fn fused_tasks_per_iteration(ranks: usize, options: &GridOptions<f64>) -> u64 {
    let counts = run_ranks(ranks, &base(), |runtime| {
        let a = gallery::poisson2d::<f64>(32).unwrap();
        let b = Vector::ones([1024]);
        let multigrid = Multigrid::on_grid_with(&a, &[32, 32], options).unwrap();
        let run = |iterations: usize| {
            let before = runtime.counters().fused_tasks;
            let mut stop = |iteration: usize, _: f64| match iteration < iterations {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            };
            let options = Options {
                rtol: 0.0,
                preconditioner: Some(&multigrid),
                monitor: Some(&mut stop),
                ..Options::default()
            };
            let _ = cg_with(&a, &b, options).unwrap();
            runtime.flush();
            runtime.counters().fused_tasks - before
        };
        (run(7) - run(3)) / 4
    });
    let counts = counts.unwrap();
    assert!(counts.iter().all(|&count| count == counts[0]), "{counts:?}");
    counts[0]
}

#[test]
fn two_level_iterations_are_few_fused_tasks() {
    let options = GridOptions::two_level_injection();
    for (ranks, most) in [(1, 7), (2, 11), (4, 11)] {
        let found = fused_tasks_per_iteration(ranks, &options);
        assert!(found <= most, "{ranks} ranks: {found} fused tasks");
    }
}

/// Fused tasks of a cycle with at most `max_levels` levels.
fn fused_tasks_per_cycle(ranks: usize, max_levels: usize) -> u64 {
    let counts = run_ranks(ranks, &base(), |runtime| {
        let a = gallery::poisson2d::<f64>(64).unwrap();
        let b = Vector::<f64>::ones([4096]);
        let options = with_cycle(CycleOptions {
            max_levels,
            coarsest: 16,
            ..CycleOptions::default()
        });
        let multigrid = Multigrid::on_grid_with(&a, &[64, 64], &options).unwrap();
        runtime.flush();
        let before = runtime.counters().fused_tasks;
        let z = multigrid.apply(&b).unwrap();
        runtime.flush();
        drop(z);
        runtime.counters().fused_tasks - before
    });
    counts.unwrap()[0]
}

#[test]
fn a_cycle_is_one_fused_task_on_one_rank_and_few_on_others() {
    let on = |ranks: usize| [2, 3, 4].map(|levels| fused_tasks_per_cycle(ranks, levels));
    assert_eq!(on(1), [1, 1, 1]);
    for ranks in [2, 3] {
        let [two, three, four] = on(ranks);
        assert!(
            three - two <= 4 && four - three <= 4,
            "{two}, {three}, {four}"
        );
    }
}
