//! Failing programs made small.

use crate::check::Meaning;
use crate::program::Program;
use crate::reference;
use crate::run::Setup;
use crate::watchdog::{check_within, say};
use sparsefuse::kernels::Isa;
use sparsefuse::runtime::{Config, Executor};
use std::time::Duration;

/// How long a small program may take.
const SHORT: Duration = Duration::from_secs(3);

/// The smallest program and plainest setup found that still fail, and how.
pub(crate) fn report(seed: u64, program: &Program, setup: &Setup, failure: &str) -> String {
    say(&format!("seed {seed} fails in {setup:?}: {:.300}", failure));
    let check =
        |program: &Program, setup: &Setup| check_within(SHORT, &Meaning::of(program), setup);
    let fails = |program: &Program, setup: &Setup| check(program, setup).is_err();
    let steps = reference::run(program).0;
    let mut program = Program {
        steps,
        ..program.clone()
    };
    let mut setup = setup.clone();
    loop {
        let before = (program.clone(), setup.clone());
        drop_steps(&mut program, |smaller| fails(smaller, &setup));
        for plainer in plainer(&setup) {
            if fails(&program, &plainer) {
                setup = plainer;
            }
        }
        if before == (program.clone(), setup.clone()) {
            break;
        }
    }
    let outcome = check(&program, &setup);
    let text = outcome
        .err()
        .unwrap_or_else(|| "it does not fail every time".to_owned());
    format!("seed {seed} fails in {setup:?}\n{program}\n{text}")
}

/// Drops runs of steps, long ones first, while the program still fails.
fn drop_steps(program: &mut Program, fails: impl Fn(&Program) -> bool) {
    let mut run = program.steps.len().div_ceil(2);
    while run > 0 {
        let mut start = 0;
        while start < program.steps.len() {
            let end = (start + run).min(program.steps.len());
            let mut smaller = program.clone();
            smaller.steps.drain(start..end);
            smaller.steps = reference::run(&smaller).0;
            if fails(&smaller) {
                *program = smaller;
            } else {
                start = end;
            }
        }
        run /= 2;
    }
}

/// Setups that are plainer in one respect.
fn plainer(setup: &Setup) -> Vec<Setup> {
    let with = |change: &dyn Fn(&mut Config)| {
        let mut plainer = setup.clone();
        change(&mut plainer.config);
        plainer
    };
    let mut all: Vec<Setup> = (1..setup.ranks)
        .map(|ranks| Setup {
            ranks,
            ..setup.clone()
        })
        .rev()
        .collect();
    all.extend([
        with(&|config| config.threads = 1),
        with(&|config| config.block_len = 0),
        with(&|config| config.parallel_threshold = 1 << 16),
        with(&|config| config.pack_after = usize::MAX),
        with(&|config| config.stream_threshold = usize::MAX),
        with(&|config| config.band_threshold = usize::MAX),
        with(&|config| config.isa = Isa::Baseline),
        with(&|config| config.executor = Executor::Reference),
        with(&|config| config.fusion = false),
        with(&|config| config.max_window = config.window),
        with(&|config| (config.window, config.max_window) = (128, 128)),
    ]);
    all.retain(|plainer| plainer != setup);
    all
}
