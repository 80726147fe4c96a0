//! The engine of a rank: what running a schedule needs and changes. One schedule runs at a time.

use super::{Context, Frame, Machine, run};
use crate::analysis::schedule::Schedule;
use crate::analysis::window::Window;
use crate::comm::Comm;
use crate::config::Config;
use crate::geometry::partition::CutsTable;
use crate::memory::pool::Pool;
use crate::observe::counters::Counters;
use crate::observe::plan::PlannedTask;
use crate::observe::profile::Profile;
use sparsefuse_kernels::workers::Workers;
use std::sync::Arc;

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Engine {
    /// The number of the runtime.
    pub(crate) runtime: u64,
    pub(crate) config: Arc<Config>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) comm: Box<dyn Comm>,
    pub(crate) workers: Workers,
    pub(crate) machine: &'static dyn Machine,
    /// Of what has run; what was issued is counted where it is issued.
    pub(crate) counters: Counters,
    pub(crate) profile: Option<Profile>,
    /// What the machine has planned, where it computes nothing.
    pub(crate) plan: Vec<PlannedTask>,
    frame: Frame,
}

impl Engine {
    pub(crate) fn new(
        (runtime, config): (u64, Arc<Config>),
        pool: Arc<Pool>,
        (comm, workers): (Box<dyn Comm>, Workers),
        machine: &'static dyn Machine,
    ) -> Self {
        Self {
            runtime,
            pool,
            comm,
            workers,
            machine,
            counters: Counters::default(),
            profile: config.profile.then(Profile::new),
            plan: Vec::new(),
            frame: Frame::default(),
            config,
        }
    }

    /// Runs a schedule on the stores of a window.
    pub(crate) fn run(&mut self, schedule: &Schedule, window: &Window, cuts: &CutsTable) {
        let mut context = Context {
            runtime: self.runtime,
            config: &self.config,
            pool: &self.pool,
            comm: &*self.comm,
            cuts,
            workers: &self.workers,
            profile: self.profile.as_mut(),
            counters: &mut self.counters,
            machine: self.machine,
            plan: &mut self.plan,
        };
        run(schedule, window, &mut self.frame, &mut context);
    }
}
