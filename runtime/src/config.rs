//! The settings of a runtime, and the one place where the environment is read, but for where CUDA's
//! compiler lies (`kernels/src/device/cuda/search.rs`).
//!
//! Settings that are part of the meaning of a program are marked; all others change speed and
//! memory, never a bit of a result.

use crate::error::Error;
use sparsefuse_kernels::Toolchain;
use sparsefuse_kernels::blocks::Settings;
use sparsefuse_kernels::isa::Isa;
use std::env::VarError;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The settings of a runtime.
///
/// [`Config::from_env`] has what a program gets that makes no runtime of its own: all threads of
/// the machine, and what the variables `SPARSEFUSE_...` say. `Config::default()` has one thread and
/// looks at no variable; tests force small tiles and many pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Threads of each rank; 1 unless [`Config::from_env`] or the program says otherwise.
    pub threads: usize,
    /// Rows of a tile of the summation order. **Part of the meaning**: reductions with different
    /// tile lengths may differ in the last bits.
    pub tile_len: usize,
    /// Stores with fewer elements than this are not cut: every rank holds all of them.
    pub cut_threshold: usize,
    /// Rows that a kernel works on at a time; 0 chooses so that intermediate values fit the cache.
    /// Each thread has memory for this many rows of every intermediate value.
    pub block_len: usize,
    /// Work below which a loop of a kernel stays on the calling thread: rows times operations, and
    /// a row counts as 16 operations at least. So loops over the same rows decide alike, and what
    /// one leaves in a core's cache the next finds there.
    ///
    /// The default is 4096 rows of a short loop. Measured with 2 threads on 2 cores (Zen 5, 0.2 us
    /// for a word to get from one core to the other): a run with no work takes 0.1 us, and 8 us if
    /// the other thread sleeps. An iteration of conjugate gradients on `poisson2d`, in us on one
    /// thread and on two: 13 and 20 for 2116 rows, 14.1 and 13.5 for 3136, 16.5 and 13.3 for 4096,
    /// 29 and 21 for 9216; where the loops decide differently it is 29 and 46.
    pub parallel_threshold: usize,
    /// Bytes of its arrays above which a loop of a kernel stores past the caches what it does not
    /// read, on all ranks of a machine together. The default, 48 MiB, is more than the last cache
    /// of most machines.
    pub stream_threshold: usize,
    /// Bytes of their arrays above which neighbouring loops of a kernel follow each other over the
    /// rows, band by band, where one writes what the other reads, as sweeps of a stencil do. The
    /// default is the L2 cache of most machines; 0 lets them do so wherever they
    /// can, and `usize::MAX` nowhere.
    pub band_threshold: usize,
    /// How often entries are read in plain form by one structure before they are packed; eight
    /// times as often where few rows go on as those before them, which takes that much longer. With
    /// 0 the first read packs them, with `usize::MAX` none does.
    pub pack_after: usize,
    /// The instruction set of the kernels.
    pub isa: Isa,
    /// Whether tasks are fused.
    pub fusion: bool,
    /// Tasks that make the window full at first. Where the program repeats itself it is then cut at
    /// whole periods; it doubles after full ones were remembered, and fused whole, a few times, as
    /// long as what it makes and drops again fits the caches.
    pub window: usize,
    /// Tasks that the window may grow to; not fewer than `window`.
    pub max_window: usize,
    /// Windows that may be under way on a thread of their own while the program issues more, on a
    /// runtime of one rank; with 0 each runs where it ends. These are full windows and those of
    /// [`Runtime::start`](crate::Runtime::start).
    pub run_ahead: usize,
    /// Work below which such a window runs where it ends: bytes, and instructions on elements. The
    /// thread begins some microseconds after it has been woken, in which a core does about as much
    /// as the default.
    pub ahead_threshold: usize,
    /// The way kernels run.
    pub executor: Executor,
    /// The device on which kernels run, besides the processors of the host.
    pub device: DeviceKind,
    /// Bytes that a task moves at least to go to the device, if none of its operands is there
    /// already.
    pub device_threshold: usize,
    /// How kernels that take long in blocks become native code in the background; `None`
    /// leaves them in blocks.
    pub native: Option<Arc<Toolchain>>,
    /// Bytes that the stores of one rank may hold at a time.
    pub memory_limit: usize,
    /// Whether to record time, bytes and calls of every kernel.
    pub profile: bool,
    /// Whether the ranks compare what they are about to do before they exchange anything, so that
    /// ranks that run different programs get an error that names the first task at which they
    /// diverge. One short message to every rank for each window; by default in debug builds.
    pub check_ranks: bool,
}

/// The ways to run a kernel; both give the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executor {
    /// Blocks of rows, SIMD and threads.
    Blocks,
    /// One element at a time: the oracle of the tests.
    Reference,
}

/// A device with memory of its own. Results have the same bits with and without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceKind {
    /// None.
    Host,
    /// A GPU of NVIDIA, by its number; of a build with the feature `cuda`.
    Cuda(usize),
    /// A GPU as a program of the host, for tests: slow. It needs a C compiler.
    Emulated,
}

impl DeviceKind {
    /// The device with a name: `none`, `cuda`, `cuda:1`, `emulated`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::Host),
            "cuda" => Some(Self::Cuda(0)),
            "emulated" => Some(Self::Emulated),
            _ => name.strip_prefix("cuda:")?.parse().ok().map(Self::Cuda),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        let Settings {
            isa,
            block_len,
            parallel_threshold,
            stream_threshold,
            band_threshold,
        } = Settings::default();
        Self {
            threads: 1,
            tile_len: 1024,
            cut_threshold: 4096,
            block_len,
            parallel_threshold,
            stream_threshold,
            band_threshold,
            pack_after: 1,
            isa,
            fusion: true,
            window: 128,
            max_window: 1024,
            run_ahead: 2,
            ahead_threshold: 1 << 18,
            executor: Executor::Blocks,
            device: DeviceKind::Host,
            device_threshold: 1 << 22,
            native: cache_directory().map(|cache| Arc::new(Toolchain::new(cache))),
            memory_limit: usize::MAX,
            profile: false,
            check_ranks: cfg!(debug_assertions),
        }
    }
}

impl Config {
    /// The most elements of a tile, far beyond what makes sense.
    pub const LONGEST_TILE: usize = 1 << 30;
    /// The most threads of a rank, far beyond what makes sense.
    pub const MOST_THREADS: usize = 1024;
    /// The most ranks of one process; each has a thread of its own, and a channel to every other.
    pub const MOST_RANKS: usize = 1024;

    /// What the names of all variables of the library begin with.
    pub const PREFIX: &str = "SPARSEFUSE_";

    /// The variables of the environment that the library reads.
    pub const VARIABLES: [&str; 16] = [
        "SPARSEFUSE_AHEAD",
        "SPARSEFUSE_CACHE",
        "SPARSEFUSE_CC",
        "SPARSEFUSE_CHECK",
        "SPARSEFUSE_CUT",
        "SPARSEFUSE_DEVICE",
        "SPARSEFUSE_DEVICE_BYTES",
        "SPARSEFUSE_FUSION",
        "SPARSEFUSE_ISA",
        "SPARSEFUSE_MEMORY",
        "SPARSEFUSE_MPI",
        "SPARSEFUSE_NATIVE",
        "SPARSEFUSE_NVRTC",
        "SPARSEFUSE_PACK",
        "SPARSEFUSE_THREADS",
        "SPARSEFUSE_TILE",
    ];

    /// The variables of the environment whose names begin like those of the library, and that it
    /// does not read: most likely misspelt. In order.
    ///
    /// The runtime of a program that makes none of its own prints them to standard error.
    #[must_use]
    pub fn unknown_variables() -> Vec<String> {
        #[expect(clippy::disallowed_methods, reason = "this is the module that may")]
        let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
        unknown(names)
    }

    /// The default settings with this process's share of the threads of the machine, then what the
    /// environment says: `SPARSEFUSE_THREADS`, `SPARSEFUSE_FUSION`, `SPARSEFUSE_PACK` and
    /// `SPARSEFUSE_CHECK` (0 or 1), `SPARSEFUSE_ISA` (baseline, avx2, avx512), `SPARSEFUSE_TILE`,
    /// `SPARSEFUSE_CUT` (elements),
    /// `SPARSEFUSE_AHEAD` (windows), `SPARSEFUSE_MEMORY` (bytes), `SPARSEFUSE_NATIVE` (0 or 1),
    /// `SPARSEFUSE_CACHE` (a directory) and `SPARSEFUSE_CC` (a C compiler), `SPARSEFUSE_DEVICE`
    /// (none, cuda, cuda:1, emulated), `SPARSEFUSE_DEVICE_BYTES` and `SPARSEFUSE_NVRTC` (the
    /// library that compiles for it).
    ///
    /// # Errors
    ///
    /// If a variable is set to something else.
    pub fn from_env() -> Result<Self, Error> {
        let (config, refused) = Self::of_env();
        refused.into_iter().next().map_or(Ok(config), Err)
    }

    /// The settings of the environment without those that make no sense, and these.
    pub(crate) fn of_env() -> (Self, Vec<Error>) {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut config = Self {
            threads: (cores / sharers()).max(1),
            ..Self::default()
        };
        let mut refused = Vec::new();
        let no = &mut refused;
        let number = "a number above 0";
        let threads = |text: &str| positive(text).filter(|&n| n <= Self::MOST_THREADS);
        let up_to_most = format!("a number from 1 to {}", Self::MOST_THREADS);
        let tile = |text: &str| positive(text).filter(|&n| n <= Self::LONGEST_TILE);
        let up_to_longest = format!("a number from 1 to {}", Self::LONGEST_TILE);
        let bytes = "a number of bytes";
        let either = "0 or 1";
        let pack = |text: &str| switch(text).map(|pack| if pack { 1 } else { usize::MAX });
        let isa = |text: &str| Isa::from_name(text).filter(|isa| Isa::available().contains(isa));
        let machine = "an instruction set of this machine";
        let device = "none, cuda, cuda:1 or emulated";
        set(
            no,
            &mut config.threads,
            "SPARSEFUSE_THREADS",
            &up_to_most,
            threads,
        );
        set(
            no,
            &mut config.tile_len,
            "SPARSEFUSE_TILE",
            &up_to_longest,
            tile,
        );
        set(
            no,
            &mut config.cut_threshold,
            "SPARSEFUSE_CUT",
            number,
            positive,
        );
        set(
            no,
            &mut config.memory_limit,
            "SPARSEFUSE_MEMORY",
            bytes,
            positive,
        );
        set(no, &mut config.fusion, "SPARSEFUSE_FUSION", either, switch);
        set(
            no,
            &mut config.run_ahead,
            "SPARSEFUSE_AHEAD",
            "a number",
            parsed,
        );
        set(
            no,
            &mut config.check_ranks,
            "SPARSEFUSE_CHECK",
            either,
            switch,
        );
        set(no, &mut config.pack_after, "SPARSEFUSE_PACK", either, pack);
        set(no, &mut config.isa, "SPARSEFUSE_ISA", machine, isa);
        set(
            no,
            &mut config.device,
            "SPARSEFUSE_DEVICE",
            device,
            DeviceKind::from_name,
        );
        set(
            no,
            &mut config.device_threshold,
            "SPARSEFUSE_DEVICE_BYTES",
            bytes,
            parsed,
        );
        config.native = native(no, config.native.take());
        (config, refused)
    }
}

/// Of some names those that are like the variables of this library, and are none of them.
fn unknown(names: impl Iterator<Item = String>) -> Vec<String> {
    let is_unknown = |name: &String| {
        name.starts_with(Config::PREFIX) && !Config::VARIABLES.contains(&name.as_str())
    };
    let mut unknown: Vec<String> = names.filter(is_unknown).collect();
    unknown.sort_unstable();
    unknown
}

/// The settings of native code, from those by default; what makes no sense is added to `refused`.
fn native(refused: &mut Vec<Error>, default: Option<Arc<Toolchain>>) -> Option<Arc<Toolchain>> {
    let path = |text: &str| (!text.is_empty()).then(|| PathBuf::from(text));
    let words =
        |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let command = |text: &str| Some(words(text)).filter(|words| !words.is_empty());
    let (mut is_on, mut compiler) = (true, None);
    let mut directory = default.map(|toolchain| toolchain.directory.clone());
    let some_path = |text: &str| path(text).map(Some);
    let some_command = |text: &str| command(text).map(Some);
    set(refused, &mut is_on, "SPARSEFUSE_NATIVE", "0 or 1", switch);
    set(
        refused,
        &mut directory,
        "SPARSEFUSE_CACHE",
        "a directory",
        some_path,
    );
    set(
        refused,
        &mut compiler,
        "SPARSEFUSE_CC",
        "a C compiler",
        some_command,
    );
    let mut toolchain = Toolchain::new(directory.filter(|_| is_on)?);
    if let Some(compiler) = compiler {
        toolchain.compilers = vec![compiler];
    }
    Some(Arc::new(toolchain))
}

/// Where this user's programs keep what they can make again; `None` where there is no such place.
fn cache_directory() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "this is the module that may")]
    let cache = std::env::var("XDG_CACHE_HOME").ok().map(PathBuf::from);
    let cache = cache.filter(|path| path.is_absolute());
    let cache = cache.or_else(|| Some(std::env::home_dir()?.join(".cache")));
    Some(cache?.join("sparsefuse"))
}

/// How many processes a launcher (`mpiexec`, `srun`) has started together with this one, 1 where
/// it does not say; `None` without a launcher, or where `SPARSEFUSE_MPI` is 0.
pub(crate) fn launched() -> Result<Option<usize>, Error> {
    /// What launchers set: Open MPI; MPICH, Intel MPI and Slurm's PMI 2; MVAPICH; Slurm.
    const SIZES: [&str; 4] = [
        "OMPI_COMM_WORLD_SIZE",
        "PMI_SIZE",
        "MV2_COMM_WORLD_SIZE",
        "SLURM_STEP_NUM_TASKS",
    ];
    /// What launchers set that do not say how many processes there are.
    const RANKS: [&str; 2] = ["PMIX_RANK", "PMI_RANK"];
    if read("SPARSEFUSE_MPI", "0 or 1", switch)? == Some(false) {
        return Ok(None);
    }
    for name in SIZES {
        if let Some(processes) = read(name, "a number above 0", positive)? {
            return Ok(Some(processes));
        }
    }
    for name in RANKS {
        if read(name, "a number", |text| text.parse::<usize>().ok())?.is_some() {
            return Ok(Some(1));
        }
    }
    Ok(None)
}

/// Processes with the cores of this one, this one among them; 0 where MPI has not been started,
/// which says so here.
pub(crate) static SHARERS: AtomicUsize = AtomicUsize::new(0);

/// How many processes share the cores of this one, as far as it is known.
pub(crate) fn sharers() -> usize {
    SHARERS.load(Ordering::Relaxed).max(1)
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

fn parsed<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn positive(text: &str) -> Option<usize> {
    text.parse().ok().filter(|&n| n > 0)
}

/// Sets a field to what a variable says; what makes no sense is added to `refused`.
fn set<T>(
    refused: &mut Vec<Error>,
    field: &mut T,
    name: &'static str,
    expected: &str,
    parse: impl Fn(&str) -> Option<T>,
) {
    match read(name, expected, parse) {
        Ok(Some(value)) => *field = value,
        Ok(None) => {}
        Err(error) => refused.push(error),
    }
}

fn read<T>(
    name: &'static str,
    expected: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Error> {
    #[expect(clippy::disallowed_methods, reason = "this is the module that may")]
    let text = match std::env::var(name) {
        Ok(text) => text,
        Err(VarError::NotPresent) => return Ok(None),
        Err(VarError::NotUnicode(text)) => {
            return Err(Error::argument(name, expected, format!("{text:?}")));
        }
    };
    match parse(&text) {
        Some(value) => Ok(Some(value)),
        None => Err(Error::argument(name, expected, text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_library_are_unknown() {
        let names = ["SPARSEFUSE_TILES", "PATH", "SPARSEFUSE_TILE", "SPARSEFUSE_"];
        let names = names
            .into_iter()
            .chain(Config::VARIABLES)
            .map(str::to_owned);
        assert_eq!(unknown(names), ["SPARSEFUSE_", "SPARSEFUSE_TILES"]);
    }
}
