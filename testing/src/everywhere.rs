//! The same bits everywhere: a program in all settings that must not change what it returns.
//!
//! Ranks, threads, fusion, instruction set and executor never change a bit. The length of a tile
//! does, so settings are compared with others of the same length.

use sparsefuse_kernels::isa::Isa;
use sparsefuse_runtime::{Config, Error, Executor, Processes, Runtime, run_ranks};
use std::fmt::{self, Debug};

/// Ranks, threads, whether tasks are fused, and the instruction set, counted from the narrowest.
///
/// Most values of any two columns stand together in some line; five ranks, which leave some without
/// rows, and the widest set are in few, and two ranks never use the second set.
const SETTINGS: [(usize, usize, bool, usize); 8] = [
    (1, 1, true, 0),
    (1, 3, true, 1),
    (2, 1, true, 2),
    (2, 3, false, 0),
    (3, 1, true, 1),
    (3, 3, false, 2),
    (5, 1, true, 0),
    (1, 1, false, 1),
];

/// The same for tiles of the default length, of which few tests fill more than one.
const DEFAULT_TILES: [(usize, usize, bool, usize); 2] = [(1, 1, false, 2), (3, 3, true, 0)];

/// Settings under which a few elements are enough for several pieces, tiles and threads, and for
/// loops that follow each other in bands.
///
/// ```
/// use sparsefuse_runtime::Config;
/// use sparsefuse_testing::small;
///
/// let unfused = Config { fusion: false, ..small() };
/// assert_eq!(unfused.tile_len, 4);
/// ```
#[must_use]
pub fn small() -> Config {
    Config {
        tile_len: 4,
        cut_threshold: 1,
        parallel_threshold: 0,
        band_threshold: 0,
        ..Config::default()
    }
}

/// A program that is run in several settings.
type Program<'a, R> = &'a (dyn Fn() -> Result<R, Error> + Sync);

/// Where a program runs.
struct Setting {
    ranks: usize,
    config: Config,
}

impl Setting {
    fn new(base: &Config, (ranks, threads, fusion, isa): (usize, usize, bool, usize)) -> Self {
        let available = Isa::available();
        let isa = available[isa.min(available.len() - 1)];
        // Some settings pack matrices at the first product, where most tests have few of them.
        let is_default = base.pack_after == Config::default().pack_after;
        let packs_soon = is_default && (ranks == 2 || !fusion);
        let config = Config {
            threads,
            fusion,
            isa,
            pack_after: if packs_soon { 0 } else { base.pack_after },
            ..base.clone()
        };
        Self { ranks, config }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ranks, config } = self;
        let Config {
            threads,
            fusion,
            isa,
            tile_len,
            executor,
            ..
        } = config;
        let isa = isa.name();
        write!(
            f,
            "{ranks} ranks, {threads} threads, fusion {fusion}, {isa}, tiles of {tile_len}, {executor:?}"
        )
    }
}

/// Runs a program in all settings that must not matter, and returns what it returned with tiles of
/// four elements. With tiles of the default length it is run twice, and compared too.
///
/// With `--features mpi` and under `mpiexec` the ranks are those of all processes.
///
/// ```
/// use sparsefuse_runtime::{Runtime, Shape};
/// use sparsefuse_testing::{bits, everywhere};
///
/// let found = everywhere(|| {
///     let runtime = Runtime::current();
///     let x = runtime.store_from_vec(Shape::new(&[9]), vec![0.5f64; 9])?;
///     Ok(bits(&runtime.read::<f64>(&x, None)?))
/// });
/// assert_eq!(found, bits(&[0.5; 9]));
/// ```
///
/// # Panics
///
/// If the program fails, or a rank of some setting returns something else; the message names both
/// settings.
#[track_caller]
pub fn everywhere<R>(program: impl Fn() -> Result<R, Error> + Sync) -> R
where
    R: PartialEq + Debug + Send,
{
    everywhere_with(&small(), program)
}

/// As [`everywhere`], with tiles and all that has no say in bits as they are in `base`.
///
/// # Panics
///
/// As [`everywhere`].
#[track_caller]
pub fn everywhere_with<R>(base: &Config, program: impl Fn() -> Result<R, Error> + Sync) -> R
where
    R: PartialEq + Debug + Send,
{
    compare_all(base, &program)
}

/// As [`everywhere_with`], compiled once for all programs of a result.
#[track_caller]
fn compare_all<R>(base: &Config, program: Program<'_, R>) -> R
where
    R: PartialEq + Debug + Send,
{
    let default_tiles = Config {
        tile_len: Config::default().tile_len,
        ..base.clone()
    };
    let _ = compare(&default_tiles, &DEFAULT_TILES, program);
    compare(base, &SETTINGS, program)
}

/// Runs a program in some settings, and returns what it returns one element after the other.
#[track_caller]
fn compare<R>(base: &Config, settings: &[(usize, usize, bool, usize)], program: Program<'_, R>) -> R
where
    R: PartialEq + Debug + Send,
{
    let program = |_: &Runtime| program().expect("the program succeeds");
    let mut first = Setting::new(base, (1, 1, false, 0));
    first.config.executor = Executor::Reference;
    let alone = run_ranks(first.ranks, &first.config, program);
    let expected = alone.expect("every rank succeeds").remove(0);
    let processes = Processes::join().expect("the processes connect");
    // Each process has a table of ranks: on several processes the first lines suffice, of those
    // with few ranks in each, since all of them share the cores of this machine.
    let (lines, most_ranks) = match processes.count() {
        1 => (settings.len(), usize::MAX),
        _ => (3, 2),
    };
    let settings = settings.iter().filter(|&&(ranks, ..)| ranks <= most_ranks);
    for setting in settings.take(lines) {
        let setting = Setting::new(base, *setting);
        let found = processes.run_ranks(setting.ranks, &setting.config, program);
        for (rank, found) in found.expect("every rank succeeds").iter().enumerate() {
            assert!(
                *found == expected,
                "rank {rank} of {setting}:\n  {found:?}\nand one of {first}:\n  {expected:?}"
            );
        }
    }
    expected
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    #[test]
    fn a_difference_names_both_settings() {
        let fails = catch_unwind(|| everywhere(|| Ok(Runtime::current().ranks())));
        let message = fails.unwrap_err();
        let message = message.downcast_ref::<String>().unwrap();
        let expected = "rank 0 of 3 ranks, 3 threads, fusion true, baseline, tiles of 1024, Blocks:\n  \
                        3\nand one of 1 ranks, 1 threads, fusion false, baseline, tiles of 1024, \
                        Reference:\n  1";
        assert_eq!(message, expected);
    }
}
