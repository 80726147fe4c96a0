//! Plans: a program analysed as one rank of many, without the others, and without computing.
//!
//! [`plan_rank`] runs a program on one rank of many of which the others are not there. Tasks go
//! the whole way to their schedules, structures are assembled, inspected and packed, and memory is
//! taken; kernels are not run and nothing is exchanged. Every scalar reads as 1, so that a method
//! that looks at one goes on. What the fused tasks would have done is noted:
//! [`crate::PlannedTask`].

use super::runtime::Runtime;
use crate::comm::Absent;
use crate::config::Config;
use crate::error::Error;
use crate::machine::planned::Plans;

/// Runs `program` as rank `rank` of `ranks` with a runtime that plans and does not compute; see
/// [`Runtime::take_plan`]. Elements of arrays that tasks have written mean nothing.
///
/// # Errors
///
/// If there is no such rank, or the settings are out of range.
pub fn plan_rank<R>(
    rank: usize,
    ranks: usize,
    config: &Config,
    program: impl FnOnce(&Runtime) -> R,
) -> Result<R, Error> {
    if rank >= ranks {
        let expected = format!("a rank below {ranks}");
        return Err(Error::argument("plan_rank", expected, rank.to_string()));
    }
    let absent = Absent { rank, size: ranks };
    let runtime = Runtime::with_comm(config.clone(), Box::new(absent), &Plans)?;
    Ok(runtime.enter(|| program(&runtime)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fuse::tests::gather;
    use crate::{Arrival, Body, PlannedTask, Shape, StoreHandle, TaskArg, View};
    use sparsefuse_kernels::{ArgKind, BinaryOp, DType, KernelBuilder, ReduceOp};
    use std::sync::Arc;

    /// s = sum(x y).
    fn dot() -> Arc<Body> {
        let mut build = KernelBuilder::new();
        let [x, y] = [(); 2].map(|()| build.arg(DType::F64, ArgKind::Array));
        let sum = build.arg(DType::F64, ArgKind::Reduction);
        let (x, y) = (build.load(x), build.load(y));
        let product = build.binary(BinaryOp::Mul, x, y);
        build.reduce(ReduceOp::Sum, sum, product);
        Body::new("dot", build.finish())
    }

    /// z = s x + y.
    fn axpy() -> Arc<Body> {
        let mut build = KernelBuilder::new();
        let s = build.arg(DType::F64, ArgKind::Scalar);
        let [x, y, z] = [(); 3].map(|()| build.arg(DType::F64, ArgKind::Array));
        let (s, x, y) = (build.load_scalar(s), build.load(x), build.load(y));
        let sx = build.binary(BinaryOp::Mul, s, x);
        let sum = build.binary(BinaryOp::Add, sx, y);
        build.store(z, sum);
        Body::new("axpy", build.finish())
    }

    /// The second difference on `n` points: what every rank has of its stores.
    fn structure(runtime: &Runtime, n: usize) -> [StoreHandle; 3] {
        let (partition, rows) = runtime.default_rows(Shape::new(&[n]));
        let first = |row: usize| (3 * row).saturating_sub(1).min(3 * n - 2);
        let indices = |row: usize| row.saturating_sub(1)..(row + 2).min(n);
        let named: Vec<u32> = rows
            .clone()
            .flat_map(indices)
            .map(|index| index as u32)
            .collect();
        let ranges: Vec<u64> = (rows.start..=rows.end)
            .map(|row| first(row) as u64)
            .collect();
        let cuts = runtime.cuts(partition).expect("this many rows are cut");
        let mut range_cuts = cuts.to_vec();
        range_cuts[cuts.len() - 1] += 1;
        let entry_cuts: Vec<usize> = cuts.iter().map(|&cut| first(cut)).collect();
        let of_ranges = runtime.partition_at(&range_cuts).unwrap();
        let of_entries = runtime.partition_at(&entry_cuts).unwrap();
        let (entries, shape) = (first(rows.start)..first(rows.end), Shape::new(&[3 * n - 2]));
        let values = vec![1.0f64; entries.len()];
        let range_rows = rows.start..rows.end + 1;
        [
            runtime.store_of_rows(Shape::new(&[n + 1]), of_ranges, range_rows, ranges),
            runtime.store_of_rows(shape, of_entries, entries.clone(), named),
            runtime.store_of_rows(shape, of_entries, entries, values),
        ]
        .map(Result::unwrap)
    }

    /// What the analysis of an iteration takes: words of its key, cuts that it looks at; and what
    /// the iteration does.
    fn analyse(rank: usize, ranks: usize) -> (usize, usize, Vec<PlannedTask>) {
        const N: usize = 1 << 16;
        let config = Config {
            tile_len: 16,
            native: None,
            ..Config::default()
        };
        let planned = plan_rank(rank, ranks, &config, |runtime| {
            let [gather, dot, axpy] = [gather(), dot(), axpy()];
            let [ranges, indices, entries] = structure(runtime, N);
            let vector = || runtime.new_store(Shape::new(&[N]), DType::F64);
            let submit = |body: &Arc<Body>, stores: &[&StoreHandle]| {
                let args: Vec<TaskArg<'_>> = stores.iter().map(|&store| store.into()).collect();
                runtime.submit(body, &args, &[]).unwrap();
            };
            let mut p = vector();
            let x = any_vector(runtime, N);
            submit(&gather, &[&p, &ranges, &indices, &entries, &x]);
            runtime.flush();
            let mut counts = (0, 0);
            let mut kept = Vec::new();
            // The first iteration is remembered; the last one keeps more, so it is analysed anew.
            for iteration in 0..4 {
                let hits = runtime.counters().trace_hits;
                let _ = runtime.take_plan();
                let (q, next) = (vector(), vector());
                let sum = runtime.new_store(Shape::SCALAR, DType::F64);
                submit(&gather, &[&q, &ranges, &indices, &entries, &p]);
                submit(&dot, &[&p, &q, &sum]);
                submit(&axpy, &[&sum, &q, &p, &next]);
                p = next;
                kept.extend((iteration == 3).then(|| q.clone()));
                drop(q);
                let (key, before) = runtime.size_of_analysis();
                assert_eq!(runtime.read_scalar::<f64>(&sum).unwrap(), 1.0);
                let is_new = runtime.counters().trace_hits == hits;
                assert_eq!(is_new, [0, 3].contains(&iteration), "iteration {iteration}");
                counts = (key, runtime.size_of_analysis().1 - before);
            }
            (counts.0, counts.1, runtime.take_plan())
        });
        planned.unwrap()
    }

    /// A vector cut as new ones are.
    fn any_vector(runtime: &Runtime, n: usize) -> StoreHandle {
        let shape = Shape::new(&[n]);
        let (partition, rows) = runtime.default_rows(shape);
        let elements = vec![1.0f64; rows.len()];
        runtime
            .store_of_rows(shape, partition, rows, elements)
            .unwrap()
    }

    #[test]
    fn the_analysis_of_a_window_does_not_grow_with_the_ranks() {
        let (key, looked_at, tasks) = analyse(1, 4);
        assert!(looked_at > 0, "the window was analysed anew");
        for ranks in [64, 4096] {
            let (key_of_many, looked_at_by_many, tasks_of_many) = analyse(1, ranks);
            assert_eq!(key_of_many, key, "{ranks} ranks");
            assert_eq!(looked_at_by_many, looked_at, "{ranks} ranks");
            let names = |tasks: &[PlannedTask]| -> Vec<String> {
                tasks.iter().map(|task| task.name.clone()).collect()
            };
            assert_eq!(names(&tasks_of_many), names(&tasks));
        }
    }

    /// The cuts that the analysis of a step of a stencil looks at: of an array through shifted
    /// views, and of one of fewer rows that it is added to.
    fn analyse_views(rank: usize, ranks: usize) -> usize {
        const N: usize = 1 << 14;
        let config = Config {
            tile_len: 4,
            native: None,
            ..Config::default()
        };
        let planned = plan_rank(rank, ranks, &config, |runtime| {
            let add = add();
            let whole = View::identity(Shape::new(&[N]));
            let views = [0, 1, 2].map(|by| Arc::new(whole.slice(0, by..N - 2 + by, 1).unwrap()));
            let mut u = any_vector(runtime, N);
            let mut looked_at = 0;
            // Steps that are remembered, and one that keeps more and so is analysed anew.
            let mut kept = Vec::new();
            for step in 0..4 {
                let (sum, next) = (
                    runtime.new_store(Shape::new(&[N - 2]), DType::F64),
                    runtime.new_store(Shape::new(&[N]), DType::F64),
                );
                let seen = |view| TaskArg {
                    store: &u,
                    view: Some(view),
                };
                let sides = [seen(&views[0]), seen(&views[2]), (&sum).into()];
                runtime.submit(&add, &sides, &[]).unwrap();
                let both = [(&u).into(), (&u).into(), (&next).into()];
                runtime.submit(&add, &both, &[]).unwrap();
                let target = TaskArg {
                    store: &next,
                    view: Some(&views[1]),
                };
                let inner = [(&sum).into(), seen(&views[1]), target];
                runtime.submit(&add, &inner, &[]).unwrap();
                u = next;
                kept.extend((step == 3).then(|| sum.clone()));
                drop(sum);
                let (_, before) = runtime.size_of_analysis();
                runtime.flush();
                looked_at = runtime.size_of_analysis().1 - before;
            }
            assert!(runtime.counters().messages > 0, "halos travel");
            looked_at
        });
        planned.unwrap()
    }

    /// z = x + y.
    fn add() -> Arc<Body> {
        let mut build = KernelBuilder::new();
        let [x, y, z] = [(); 3].map(|()| build.arg(DType::F64, ArgKind::Array));
        let (x, y) = (build.load(x), build.load(y));
        let sum = build.binary(BinaryOp::Add, x, y);
        build.store(z, sum);
        Body::new("add", build.finish())
    }

    #[test]
    fn the_analysis_of_views_does_not_grow_with_the_ranks() {
        let looked_at = analyse_views(1, 4);
        assert!(looked_at > 0, "the window was analysed anew");
        for ranks in [64, 4096] {
            let more = analyse_views(1, ranks);
            assert!(more <= looked_at, "{more} and {looked_at}, {ranks} ranks");
        }
    }

    #[test]
    fn a_rank_in_the_middle_waits_for_both_neighbours_and_one_at_the_end_for_one() {
        let from = |rank: usize| {
            let (_, _, tasks) = analyse(rank, 64);
            let ghosts: Vec<Arrival> = tasks.iter().flat_map(|task| task.ghosts.clone()).collect();
            let sent: u64 = tasks.iter().map(|task| task.reductions.messages).sum();
            (
                ghosts
                    .iter()
                    .map(|ghost| (ghost.from, ghost.bytes))
                    .collect::<Vec<_>>(),
                sent,
            )
        };
        // The first rank is the root of the tree, of depth six, and the last rank a leaf.
        assert_eq!(from(0), (vec![(1, 8)], 6));
        assert_eq!(from(20), (vec![(19, 8), (21, 8)], 3));
        assert_eq!(from(63), (vec![(62, 8)], 1));
    }

    #[test]
    fn ranks_that_are_not_there_are_refused() {
        let error = plan_rank(4, 4, &Config::default(), |_| ()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "plan_rank: expected a rank below 4, found 4"
        );
    }
}
