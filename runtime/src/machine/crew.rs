//! Whom to wake: the rules by which threads that share a list of tasks sleep and wake each other.
//!
//! Threads take tasks, run them and give them back; a thread that finds nothing to take sleeps. All
//! of this but the running happens under one lock, and a thread goes to sleep as it lets go of
//! that, so what a thread has seen is still so when it sleeps. The rules:
//!
//! - A thread that takes a task, and leaves another one that could be taken, wakes one that sleeps;
//!   that one does the same. So as many wake as there are tasks, and none needs to count them.
//! - A thread that gives back a task takes the next one itself, by the rule above.
//! - A thread that gives back a task wakes all if one of them sleeps for want of memory or threads.
//! - A thread that takes a task that needs several threads wakes all, of which some join it. The
//!   threads of such a task count as taken, whether they have come or not; so the threads of all
//!   tasks that run are never more than those of the rank.
//! - A thread that leaves, since nothing runs and nothing can be taken, wakes all, which then leave
//!   too.
//!
//! [`Crew`] counts, and says whom to wake; `beside.rs` has the lock, and a test goes through all
//! interleavings.

/// See the module's text.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Crew {
    /// Tasks that were taken and not given back.
    running: usize,
    /// Their threads.
    threads: usize,
    sleeping: usize,
    /// Whether a thread sleeps until there may be memory, or threads.
    awaits_room: bool,
}

/// Who is to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    None,
    One,
    All,
}

impl Crew {
    /// Whether a task runs.
    pub(super) fn runs(&self) -> bool {
        self.running > 0
    }

    /// The threads of tasks that run.
    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// A thread takes a task that needs this many threads; `is_left` says whether there is another
    /// one that has not begun.
    pub(super) fn take(&mut self, threads: usize, is_left: bool) -> Wake {
        self.running += 1;
        self.threads += threads;
        match self.sleeping > 0 {
            true if threads > 1 => Wake::All,
            true if is_left => Wake::One,
            true | false => Wake::None,
        }
    }

    /// A thread gives back a task that had this many threads.
    pub(super) fn give_back(&mut self, threads: usize) -> Wake {
        self.running -= 1;
        self.threads -= threads;
        match std::mem::take(&mut self.awaits_room) {
            true => Wake::All,
            false => Wake::None,
        }
    }

    /// A thread could take a task if there were memory or threads, of which those that run give
    /// some back.
    pub(super) fn want_room(&mut self) {
        self.awaits_room = true;
    }

    /// A thread goes to sleep.
    pub(super) fn sleep(&mut self) {
        self.sleeping += 1;
    }

    /// A thread has been woken, or wakes by itself.
    pub(super) fn wake(&mut self) {
        self.sleeping -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Where a thread is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    enum At {
        /// It waits for the lock, to look for a task.
        Looking,
        Running(usize),
        Sleeping,
        /// It has been woken, and waits for the lock.
        Woken,
        Left,
    }

    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct State {
        crew: Crew,
        threads: Vec<At>,
        /// How many tasks each one waits for; tasks that have not begun.
        waits_for: Vec<usize>,
        left: BTreeSet<usize>,
        memory: usize,
    }

    /// Tasks, by those that wait for each, of which each takes one of `memory` while it runs, and
    /// its number of threads.
    struct Graph {
        followers: Vec<Vec<usize>>,
        threads: Vec<usize>,
    }

    impl Graph {
        fn ready(&self, state: &State) -> Vec<usize> {
            let left = state.left.iter().copied();
            left.filter(|&task| state.waits_for[task] == 0).collect()
        }

        /// A thread looks for a task, under the lock. Whom it wakes.
        fn look(&self, state: &mut State, thread: usize) -> Wake {
            let ready = self.ready(state);
            let Some(&task) = ready.first() else {
                if state.crew.runs() {
                    state.crew.sleep();
                    state.threads[thread] = At::Sleeping;
                    return Wake::None;
                }
                state.threads[thread] = At::Left;
                return Wake::All;
            };
            let threads = self.threads[task].min(state.threads.len());
            if state.memory == 0 || state.crew.threads() + threads > state.threads.len() {
                assert!(state.crew.runs(), "those that run have memory and threads");
                state.crew.want_room();
                state.crew.sleep();
                state.threads[thread] = At::Sleeping;
                return Wake::None;
            }
            state.memory -= 1;
            state.left.remove(&task);
            state.threads[thread] = At::Running(task);
            state.crew.take(threads, ready.len() > 1)
        }

        /// The states that may follow.
        fn steps(&self, state: &State) -> Vec<State> {
            let mut next = Vec::new();
            for thread in 0..state.threads.len() {
                let mut after = state.clone();
                let wake = match state.threads[thread] {
                    At::Left => continue,
                    // Threads may also wake by themselves; here they do not, so that one that
                    // nobody wakes is found.
                    At::Sleeping => continue,
                    At::Looking => self.look(&mut after, thread),
                    At::Woken => {
                        after.crew.wake();
                        self.look(&mut after, thread)
                    }
                    At::Running(task) => {
                        after.memory += 1;
                        for &follower in &self.followers[task] {
                            after.waits_for[follower] -= 1;
                        }
                        let threads = self.threads[task].min(after.threads.len());
                        let wake = after.crew.give_back(threads);
                        // It keeps the lock, and looks for the next one.
                        if wake == Wake::All {
                            wake_all(&mut after);
                        }
                        self.look(&mut after, thread)
                    }
                };
                match wake {
                    Wake::None => next.push(after),
                    Wake::All => {
                        wake_all(&mut after);
                        next.push(after);
                    }
                    Wake::One => {
                        let sleepers = (0..after.threads.len())
                            .filter(|&other| after.threads[other] == At::Sleeping);
                        let sleepers: Vec<usize> = sleepers.collect();
                        // Those that are woken and have not looked yet count as asleep.
                        if sleepers.is_empty() {
                            next.push(after.clone());
                        }
                        for sleeper in sleepers {
                            let mut one = after.clone();
                            one.threads[sleeper] = At::Woken;
                            next.push(one);
                        }
                    }
                }
            }
            next
        }
    }

    fn wake_all(state: &mut State) {
        for thread in &mut state.threads {
            if *thread == At::Sleeping {
                *thread = At::Woken;
            }
        }
    }

    /// Goes through all interleavings; how many states there are.
    fn explore(
        (followers, threads): (&[&[usize]], [usize; 6]),
        n_threads: usize,
        memory: usize,
    ) -> usize {
        let graph = Graph {
            followers: followers.iter().map(|list| list.to_vec()).collect(),
            threads: threads.to_vec(),
        };
        let mut waits_for = vec![0; followers.len()];
        for &follower in followers.iter().copied().flatten() {
            waits_for[follower] += 1;
        }
        let first = State {
            crew: Crew::default(),
            threads: vec![At::Looking; n_threads],
            waits_for,
            left: (0..followers.len()).collect(),
            memory,
        };
        let (mut seen, mut open) = (BTreeSet::new(), vec![first]);
        while let Some(state) = open.pop() {
            if !seen.insert(state.clone()) {
                continue;
            }
            let steps = graph.steps(&state);
            if steps.is_empty() {
                let have_left = state.threads.iter().all(|&at| at == At::Left);
                assert!(have_left, "a thread sleeps for ever: {state:?}");
                assert!(state.left.is_empty() && !state.crew.runs(), "{state:?}");
            }
            // No thread sleeps beside a task that it could take, unless another one will wake it.
            let free = n_threads - state.crew.threads();
            let first = graph.ready(&state).first().copied();
            let is_able = |task: usize| graph.threads[task].min(n_threads) <= free;
            let n_ready = usize::from(state.memory > 0 && first.is_some_and(is_able));
            let is_looked_for = |at: &At| matches!(at, At::Looking | At::Woken);
            let sleeps = state.threads.contains(&At::Sleeping);
            let looks = state.threads.iter().any(is_looked_for);
            assert!(n_ready == 0 || !sleeps || looks, "a task waits: {state:?}");
            open.extend(steps);
        }
        seen.len()
    }

    #[test]
    fn no_task_waits_and_no_thread_sleeps_for_ever_in_any_interleaving() {
        let independent: [&[usize]; 5] = [&[]; 5];
        let diamond: [&[usize]; 6] = [&[1, 2, 3], &[4], &[4], &[4], &[5], &[]];
        let chains: [&[usize]; 6] = [&[2], &[3], &[4], &[5], &[], &[]];
        for graph in [&independent[..], &diamond, &chains] {
            for n_threads in 1..=4 {
                for memory in [1, 2, 4] {
                    for threads in [[1; 6], [1, 2, 1, 3, 1, 2]] {
                        assert!(explore((graph, threads), n_threads, memory) > 6);
                    }
                }
            }
        }
    }
}
