//! The threads of a rank for algorithms on its rows.

use crate::local::parallel::Threads;
use sparsefuse_runtime::{HostArgs, Runtime};
use std::cell::RefCell;

thread_local! {
    /// The threads of the rank whose program runs on this thread, and how many were asked for. A
    /// rank is one thread of its process, on which its eager tasks run, and its host tasks where
    /// no other thread runs its windows; so there are two pools for a rank at most, which end with
    /// their threads.
    static OWN: RefCell<Option<(usize, Threads)>> = const { RefCell::new(None) };
}

impl Threads {
    /// Those of this rank, as many as its [`Config::threads`](sparsefuse_runtime::Config::threads)
    /// says; they are started when they are first asked for. To be called by the rank itself, and
    /// not by what runs on these threads.
    #[must_use]
    pub fn of(runtime: &Runtime) -> Self {
        Self::own(runtime.config().threads)
    }

    /// Those of the rank that runs a host task. To be called by its function itself.
    #[must_use]
    pub fn of_host(args: &HostArgs<'_>) -> Self {
        // One where other tasks run beside it; and what says that it divides its work is soon
        // alone.
        Self::own(args.workers().count())
    }

    /// Those of this rank, if they are this many.
    pub(crate) fn own(count: usize) -> Self {
        debug_assert!(
            !Self::are_at_work_here(),
            "threads of a rank are asked for by the rank itself"
        );
        if count <= 1 {
            return Self::new(1);
        }
        let own = OWN.try_with(|own| {
            let mut own = own.borrow_mut();
            match &*own {
                Some((asked, threads)) if *asked == count => threads.clone(),
                _ => own.insert((count, Self::new(count))).1.clone(),
            }
        });
        // A thread that is about to end starts no others.
        own.unwrap_or_else(|_| Self::new(1))
    }
}
