//! What a program can see of its runtime: counters, memory, the last window, plans, profiles.

use super::Runtime;
use crate::analysis::fuse::Refusal;
use crate::observe::counters::Counters;
use crate::observe::explain;
use crate::observe::plan::PlannedTask;
use crate::observe::profile::Profile;

impl Runtime {
    /// What the runtime has done so far; tasks in the window are counted as issued only.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let inner = self.inner();
        let mut counters = inner.issuing.counters.and(inner.engine.counters);
        if let Some(device) = self.shared.pool.device() {
            [counters.uploaded, counters.downloaded] = device.copied();
        }
        counters
    }

    /// What runs kernels besides the processors, if anything does
    /// ([`Config::device`](crate::Config::device)).
    #[must_use]
    pub fn device(&self) -> Option<&str> {
        Some(self.shared.pool.device()?.device().name())
    }

    /// The most bytes that the stores of this rank have held at a time.
    #[must_use]
    pub fn peak_memory(&self) -> usize {
        self.shared.pool.peak()
    }

    /// The bytes that the stores of this rank hold now.
    #[must_use]
    pub fn memory_in_use(&self) -> usize {
        self.shared.pool.in_use()
    }

    /// The last executed window as text: its tasks with their partitions, its groups with the
    /// reason why each ended, their kernels and what this rank does; then the eager tasks that have
    /// run since.
    #[must_use]
    pub fn explain(&self) -> String {
        let inner = self.inner();
        let window = match &inner.issuing.last {
            Some(schedule) => {
                explain::text(schedule, &inner.issuing.last_regions, &inner.issuing.cuts)
            }
            None => "no window has been executed\n".to_owned(),
        };
        window + &explain::eager(&inner.issuing.eager)
    }

    /// Why each group of the last executed window ended; `None` for the last one.
    #[must_use]
    pub fn group_ends(&self) -> Vec<Option<Refusal>> {
        let inner = self.inner();
        let groups = inner
            .issuing
            .last
            .iter()
            .flat_map(|schedule| &schedule.fused);
        groups.map(|task| task.group.end).collect()
    }

    /// The fused tasks that were planned since the last time; none where tasks are run. See
    /// [`crate::plan_rank`].
    #[must_use]
    pub fn take_plan(&self) -> Vec<PlannedTask> {
        std::mem::take(&mut self.inner().engine.plan)
    }

    /// Whether nothing is computed and the other ranks are not there: see [`crate::plan_rank`].
    #[must_use]
    pub fn is_planned(&self) -> bool {
        !self.shared.computes
    }

    /// Words of the key of the open window, and cuts that were looked at so far.
    #[cfg(test)]
    pub(crate) fn size_of_analysis(&self) -> (usize, usize) {
        let inner = self.inner();
        (
            inner.issuing.window.key().len(),
            inner.issuing.cuts.looked_at(),
        )
    }

    /// What has been recorded, if the settings ask for a profile.
    #[must_use]
    pub fn profile(&self) -> Option<Profile> {
        self.inner().engine.profile.clone()
    }

    /// Forgets what has been recorded so far.
    pub fn reset_profile(&self) {
        let mut inner = self.inner();
        inner.engine.profile = inner.engine.profile.as_ref().map(|_| Profile::new());
    }
}
