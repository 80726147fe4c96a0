//! Random programs, run in many ways, all of which must agree to the bit.
//!
//! [`program`] says what a program is, [`generate`] makes one from a seed, [`reference`] says what
//! it means, [`run`] runs it on the library. A program that fails is [`shrink`]-ed and printed as
//! Rust text, to be kept in [`kept`]. `SPARSEFUSE_DIFFERENTIAL_SECONDS` runs for as long as it
//! says, with fresh seeds; `SPARSEFUSE_DIFFERENTIAL_PROGRAMS` as many as it says, the same each
//! time; `SPARSEFUSE_DIFFERENTIAL_SEED` runs one program.
//!
//! Under `mpiexec` every process runs the same programs, one after the other; each program runs on
//! the ranks of all processes, and what each rank sees is compared with what the program means.

mod program;

mod generate;

mod reference;

mod bodies;
mod host;
mod run;

mod check;
mod shrink;
mod watchdog;

mod coverage;
mod kept;

use crate::check::Meaning;
use crate::coverage::Coverage;
use crate::run::Setup;
use crate::watchdog::{LIMIT, check_within, say};
use sparsefuse::runtime::{DeviceKind, Executor, Processes};
use sparsefuse_testing::device_toolchain;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Programs of a normal test run. They make 13 runtimes each or so, and MPICH has tags for 65,535
/// in one run.
const PROGRAMS: u64 = 4500;
/// The same of several processes, which share the cores of this machine. Two, three and four of
/// them run different programs.
const PROGRAMS_OF_PROCESSES: u64 = 1000;
/// Random setups of each program, besides the base.
const SETUPS: u64 = 5;

/// How many programs to run, and from which seed on.
#[derive(Clone, Copy)]
enum Extent {
    Programs(u64),
    For(Duration, u64),
    Seed(u64),
}

fn extent(is_alone: bool) -> Extent {
    let number = |name: &str| -> Option<u64> {
        #[expect(
            clippy::disallowed_methods,
            reason = "a switch of this test, not of the library"
        )]
        let text = std::env::var(format!("SPARSEFUSE_DIFFERENTIAL_{name}"));
        text.ok()?.parse().ok()
    };
    if let Some(seed) = number("SEED") {
        return Extent::Seed(seed);
    }
    if let Some(programs) = number("PROGRAMS") {
        return Extent::Programs(programs);
    }
    match number("SECONDS") {
        Some(seconds) => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            let first = now.map_or(0, |since| since.as_millis() as u64);
            Extent::For(Duration::from_secs(seconds), first << 20)
        }
        None if is_alone => Extent::Programs(PROGRAMS),
        None => Extent::Programs(PROGRAMS_OF_PROCESSES),
    }
}

#[test]
fn random_programs_agree_to_the_bit() {
    let processes = Processes::join().unwrap();
    let is_alone = processes.count() == 1;
    let extent = extent(is_alone);
    let first = PROGRAMS_OF_PROCESSES * (processes.count() as u64 - 1);
    let begin = Instant::now();
    let next = AtomicU64::new(0);
    let failures = Mutex::new(Vec::new());
    let coverage = Mutex::new(Coverage::default());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = if is_alone { cores } else { 1 };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let (is_over, first) = match extent {
                        Extent::Programs(n) => (number >= n, first),
                        Extent::Seed(seed) => (number > 0, seed),
                        Extent::For(limit, first) => (begin.elapsed() >= limit, first),
                    };
                    if is_over || failures.lock().unwrap().len() >= MOST_FAILURES {
                        break;
                    }
                    if let Err(failure) = one(first + number, is_alone, &coverage) {
                        // The others would wait while one process shrinks.
                        assert!(is_alone, "program {}: {failure}", first + number);
                        failures.lock().unwrap().push(failure);
                    }
                    if number % 1000 == 999 {
                        say(&format!("{} programs, {:?}", number + 1, begin.elapsed()));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    // Of several processes each has few ranks, whatever a setup asks for.
    if let (Extent::Programs(PROGRAMS), true) = (extent, is_alone) {
        coverage.into_inner().unwrap().assert_complete();
    }
}

/// Programs of a normal test run on a device: the compiler takes most of the time.
const PROGRAMS_ON_DEVICE: u64 = 40;
/// How many times as long they may take: some wait for it a hundred times, beside other tests.
const COMPILING: u32 = 10;

/// The fewest bytes that a task moves to go to the device: with 0 every task that has a form there
/// does, else values go back and forth.
const DEVICE_THRESHOLDS: [usize; 4] = [0, 0, 200, 1000];

/// The same on a device: the emulated one, or that which `SPARSEFUSE_DIFFERENTIAL_DEVICE` names.
#[test]
fn random_programs_on_a_device_agree_to_the_bit() {
    let processes = Processes::join().unwrap();
    if processes.count() > 1 {
        return;
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "a switch of this test, not of the library"
    )]
    let name = std::env::var("SPARSEFUSE_DIFFERENTIAL_DEVICE");
    let device = name
        .as_deref()
        .map_or(Some(DeviceKind::Emulated), DeviceKind::from_name);
    let device = device.expect("a name of a device");
    let seeds = match extent(true) {
        Extent::Programs(PROGRAMS) => 0..PROGRAMS_ON_DEVICE,
        Extent::Programs(n) => 0..n,
        Extent::Seed(seed) => seed..seed + 1,
        Extent::For(..) => 0..0,
    };
    let Some(toolchain) = device_toolchain(Path::new(env!("CARGO_TARGET_TMPDIR"))) else {
        return;
    };
    let mut device_tasks = 0;
    for seed in seeds {
        let program = generate::program(seed);
        let mut setup = generate::setup(seed * SETUPS, program.tile_len);
        setup.ranks = 1 + usize::from(seed % 4 == 3);
        setup.config.device = device;
        setup.config.device_threshold = DEVICE_THRESHOLDS[(seed / 4) as usize % 4];
        setup.config.executor = Executor::Blocks;
        setup.config.native = Some(Arc::clone(&toolchain));
        match check_within(COMPILING * LIMIT, &Meaning::of(&program), &setup) {
            Ok(seen) => device_tasks += seen[0].counters.device_tasks,
            Err(failure) => panic!("{}", shrink::report(seed, &program, &setup, &failure)),
        }
    }
    assert!(device_tasks > 0 || matches!(extent(true), Extent::For(..)));
}

/// Failures to shrink and show before giving up.
const MOST_FAILURES: usize = 3;

/// Runs the program of a seed in some setups.
fn one(seed: u64, is_alone: bool, coverage: &Mutex<Coverage>) -> Result<(), String> {
    let program = generate::program(seed);
    let meaning = Meaning::of(&program);
    let base = generate::base(program.tile_len);
    // Several processes share the cores of this machine.
    let setups = if is_alone { SETUPS } else { 1 };
    let random = (0..setups).map(|i| generate::setup(seed * SETUPS + i, program.tile_len));
    for setup in std::iter::once(base).chain(random) {
        // Few in each of several processes: they share the cores of this machine.
        let ranks = if is_alone {
            setup.ranks
        } else {
            1 + setup.ranks % 2
        };
        let setup = Setup { ranks, ..setup };
        match check_within(LIMIT, &meaning, &setup) {
            Ok(seen) => coverage
                .lock()
                .expect("no thread panics while it counts")
                .add(&program, &setup, &seen),
            Err(failure) if is_alone => {
                return Err(shrink::report(seed, &program, &setup, &failure));
            }
            Err(failure) => return Err(format!("{setup:?}\n{program}\n{failure}")),
        }
    }
    Ok(())
}
