//! What the tests share: a program on ranks and threads, with fusion and without.

use sparsefuse::prelude::*;
use std::fmt::Debug;

/// What a program returns, which is the same wherever it runs. A few rows are enough to be cut.
pub(crate) fn everywhere<R>(program: impl Fn() -> Result<R, Error> + Sync) -> Result<R, Error>
where
    R: PartialEq + Debug + Send,
{
    let small = Config {
        cut_threshold: 1,
        parallel_threshold: 0,
        tile_len: 4,
        ..Config::default()
    };
    let alone = Config {
        threads: 1,
        ..small.clone()
    };
    let expected = run_ranks(1, &alone, |_| program())?.remove(0)?;
    for (ranks, threads, fusion) in [(1, 3, true), (2, 1, true), (3, 2, true), (2, 2, false)] {
        let config = Config {
            threads,
            fusion,
            ..small.clone()
        };
        for found in run_ranks(ranks, &config, |_| program())? {
            assert_eq!(
                found?, expected,
                "{ranks} ranks, {threads} threads, fusion {fusion}"
            );
        }
    }
    Ok(expected)
}

/// How many fused tasks a program becomes, on a runtime of its own.
pub(crate) fn fused_tasks(program: impl Fn() -> Result<(), Error>) -> Result<u64, Error> {
    let runtime = Runtime::new(Config::default())?;
    runtime.enter(&program)?;
    Ok(runtime.counters().fused_tasks)
}
