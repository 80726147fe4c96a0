//! Whether a program gives on the library what it means.

use crate::program::{Program, Step};
use crate::reference::{self, Observation};
use crate::run::{self, Seen, Setup, is_same};
use sparsefuse::runtime::{Error, ErrorKind};
use std::sync::Arc;

/// What a program means, computed once for all setups that it runs in.
pub(crate) struct Meaning {
    /// The steps that make sense.
    steps: Vec<Step>,
    expected: Vec<Observation>,
}

impl Meaning {
    pub(crate) fn of(program: &Program) -> Arc<Self> {
        let (steps, expected) = reference::run(program);
        Arc::new(Self { steps, expected })
    }
}

/// Runs a program in a setup; what its ranks saw, or what is wrong with it.
pub(crate) fn check(meaning: &Meaning, setup: &Setup) -> Result<Vec<Seen>, String> {
    let Meaning { steps, expected } = meaning;
    let ranks = run::run(steps, setup).map_err(|error| error.to_string())?;
    let is_limited = setup.config.memory_limit != usize::MAX;
    for (rank, seen) in ranks.iter().enumerate() {
        observations(seen, expected, is_limited).map_err(|text| format!("rank {rank}: {text}"))?;
        if let Some(text) = seen.changed.first() {
            return Err(format!("rank {rank}: what was held has changed: {text}"));
        }
        if seen.leaked != 0 {
            return Err(format!(
                "rank {rank}: {} bytes are still in use",
                seen.leaked
            ));
        }
        if seen.counters.tasks != ranks[0].counters.tasks {
            let (here, there) = (seen.counters.tasks, ranks[0].counters.tasks);
            return Err(format!("rank {rank} issued {here} tasks, rank 0 {there}"));
        }
    }
    if !is_limited {
        fewer_fused_tasks(steps, setup, &ranks)?;
    }
    Ok(ranks)
}

/// Whether a rank saw what the program means; where memory is limited, it may have failed to.
fn observations(seen: &Seen, expected: &[Observation], is_limited: bool) -> Result<(), String> {
    for (number, found) in seen.observations.iter().enumerate() {
        let found = match found {
            Ok(found) => found,
            Err(error) if is_limited && is_refusal(error) => continue,
            Err(error) => return Err(format!("observation {number}: {error}")),
        };
        let expected = expected.get(number).map_or(&[][..], Vec::as_slice);
        let differs = |i: &usize| !matches!((found.get(*i), expected.get(*i)), (Some(&a), Some(&b)) if is_same(a, b));
        if let Some(place) = (0..found.len().max(expected.len())).find(differs) {
            return Err(format!(
                "observation {number}, element {place}: expected {:?}, found {:?}\n  expected {expected:?}\n  found    {found:?}",
                expected.get(place),
                found.get(place)
            ));
        }
    }
    if seen.observations.len() != expected.len() && !is_limited {
        let found = seen.observations.len();
        return Err(format!(
            "expected {} observations, found {found}",
            expected.len()
        ));
    }
    Ok(())
}

/// Whether an error says that memory was refused; a panic is a defect even then.
fn is_refusal(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::OutOfMemory { .. } | ErrorKind::Argument { op: "step", .. } => true,
        // What a rank of another process said.
        ErrorKind::Rank { message, .. } => {
            message.contains("bytes of memory") || message.contains("step: expected no failure")
        }
        ErrorKind::Poisoned { cause, .. } => is_refusal(cause),
        _ => false,
    }
}

/// Fusion never makes more tasks, where the windows are the same with it and without.
fn fewer_fused_tasks(steps: &[Step], setup: &Setup, ranks: &[Seen]) -> Result<(), String> {
    if !setup.config.fusion || setup.config.max_window != setup.config.window || setup.ranks > 2 {
        return Ok(());
    }
    let mut apart = setup.clone();
    apart.config.fusion = false;
    let apart = run::run(steps, &apart).map_err(|error| error.to_string())?;
    for (fused, apart) in ranks.iter().zip(&apart) {
        let (fused, apart) = (fused.counters, apart.counters);
        if fused.fused_tasks > apart.fused_tasks || fused.tasks != apart.tasks {
            return Err(format!("with fusion {fused:?}, without {apart:?}"));
        }
    }
    Ok(())
}
