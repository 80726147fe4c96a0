//! The threads of a rank for algorithms on its rows.

use crate::local::parallel::Threads;
use sparsefuse_runtime::Runtime;

impl Threads {
    /// Those of this rank, as many as its [`Config::threads`](sparsefuse_runtime::Config::threads)
    /// says: started when they are first asked for, the same for all threads of a program that
    /// share the runtime, and ended with it. To be called by the rank itself, and not by what runs
    /// on these threads.
    #[must_use]
    pub fn of(runtime: &Runtime) -> Self {
        debug_assert!(
            !Self::are_at_work_here(),
            "threads of a rank are asked for by the rank itself"
        );
        let own = runtime.companion(|| Self::new(runtime.config().threads));
        own.cloned().unwrap_or_else(|| Self::new(1))
    }
}
