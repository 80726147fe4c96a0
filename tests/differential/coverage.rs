//! What has been tried: every kind of step in every kind of setup.

use crate::program::{Program, Step};
use crate::run::{Seen, Setup};
use sparsefuse::kernels::Isa;
use std::collections::BTreeSet;

/// The pairs of steps and features of setups that have been run.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    seen: BTreeSet<(&'static str, String)>,
    trace_hits: u64,
    messages: u64,
    rounds: u64,
}

impl Coverage {
    pub(crate) fn add(&mut self, program: &Program, setup: &Setup, seen: &[Seen]) {
        let features = features(setup);
        for step in &program.steps {
            for feature in &features {
                self.seen.insert((step.kind(), feature.clone()));
            }
        }
        for rank in seen {
            self.trace_hits += rank.counters.trace_hits;
            self.messages += rank.counters.messages;
            self.rounds += rank.counters.rounds;
        }
    }

    /// # Panics
    ///
    /// If something has never been tried.
    pub(crate) fn assert_complete(&self) {
        let mut wanted: Vec<String> = ["fusion true", "fusion false", "Blocks", "Reference"]
            .map(String::from)
            .to_vec();
        wanted.extend((1..=8).map(|ranks| format!("ranks {ranks}")));
        wanted.extend((1..=4).map(|threads| format!("threads {threads}")));
        wanted.extend([0, 1, 2, 7, 64, 1000].map(|len| format!("block_len {len}")));
        wanted.extend([1, 2, 3, 5, 8, 128].map(|len| format!("window {len}")));
        wanted.extend([1, 20, 4096].map(|len| format!("cut_threshold {len}")));
        wanted.extend([0, 1, usize::MAX].map(|after| format!("pack_after {after}")));
        wanted.extend(Isa::available().into_iter().map(|isa| isa.to_string()));
        for kind in Step::KINDS {
            for feature in &wanted {
                assert!(
                    self.seen.contains(&(kind, feature.clone())),
                    "no {kind} with {feature}"
                );
            }
        }
        assert!(
            self.trace_hits > 1000,
            "{} windows were remembered",
            self.trace_hits
        );
        assert!(self.messages > 1000, "{} messages were sent", self.messages);
        assert!(self.rounds > 1000, "{} rounds were done again", self.rounds);
    }
}

fn features(setup: &Setup) -> Vec<String> {
    let config = &setup.config;
    vec![
        format!("fusion {}", config.fusion),
        format!("{:?}", config.executor),
        format!("ranks {}", setup.ranks),
        format!("threads {}", config.threads),
        format!("block_len {}", config.block_len),
        format!("window {}", config.window),
        format!("cut_threshold {}", config.cut_threshold),
        format!("pack_after {}", config.pack_after),
        config.isa.to_string(),
    ]
}
