//! When the window is executed, and where: by the caller that asks for a value, or by the machine's
//! thread while the program goes on.

use super::handle::StoreHandle;
use super::{Inner, Issuing, Runtime};
use crate::analysis;
use crate::analysis::schedule::Schedule;
use crate::analysis::window::Window;
use crate::config::Config;
use crate::error::Error;
use crate::machine;
use crate::machine::ahead::{Ahead, Job};
use crate::machine::engine::Engine;
use crate::memory::pool::Pool;
use crate::observe::lockstep::Call;
use crate::tasks::calling;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

/// The windows that were handed over to the machine's thread.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    /// `None` until the first one.
    ahead: Option<Ahead>,
    /// How many were handed over, and how many of these are back.
    handed_over: u64,
    back: u64,
    /// What each of those that are not back makes, in bytes, the oldest first.
    made: VecDeque<usize>,
    /// Windows that are back, and have not been cleared.
    returned: Vec<Window>,
    /// Windows that are back, empty, for the memory of their lists.
    spare: Vec<Window>,
}

impl UnderWay {
    /// Whether there are windows that are not back.
    pub(super) fn are_any(&self) -> bool {
        self.back < self.handed_over
    }
}

impl Runtime {
    /// Executes all tasks issued so far, and returns when they have ended, also those on a device.
    /// On several ranks every rank must call it, at the same place of the program.
    pub fn flush(&self) {
        let mut inner = self.inner();
        let Inner { issuing, engine } = &mut inner;
        // A failure is told by the stores that should have been written.
        let _ = self.execute(issuing, engine, Call::Flush);
        if let Some(memory) = self.shared.pool.device()
            && let Err(cause) = memory.device().finish()
        {
            memory.lose(cause);
        }
    }

    /// Has all tasks issued so far executed while the program goes on: by a thread of the runtime's
    /// own, in the order in which they were issued. The thread that reads a result waits for the
    /// tasks up to the one that makes it, and for none behind.
    ///
    /// At most [`Config::run_ahead`] windows are under way; a further one waits until the first of
    /// them has ended. On several ranks, or where the tasks have less to do than
    /// [`Config::ahead_threshold`], they are executed here, as by [`Runtime::flush`]; every rank
    /// must call it.
    ///
    /// ```
    /// use sparsefuse_kernels::DType;
    /// use sparsefuse_runtime::{Access, HostBody, HostTask, Privilege, Runtime, Shape};
    /// use std::sync::{Arc, Mutex, mpsc};
    ///
    /// // A task that waits for what the program does after it has started it.
    /// let (send, receive) = mpsc::channel();
    /// let receive = Mutex::new(receive);
    /// let body = HostBody::new("wait", &[(Privilege::Write, Access::Rows, DType::F64)]);
    /// let task = HostTask::new(move |args| {
    ///     let found = receive.lock().map_or(0.0, |receive| receive.recv().unwrap_or(0.0));
    ///     args.write::<f64>(0)?.fill(found);
    ///     Ok(())
    /// });
    /// let runtime = Runtime::new(Default::default())?;
    /// let y = runtime.new_store(Shape::new(&[2]), DType::F64);
    /// runtime.submit_host(&body, &[&y], task)?;
    /// runtime.start();
    /// send.send(7.0).expect("the task receives it");
    /// assert_eq!(runtime.read::<f64>(&y, None)?, [7.0, 7.0]);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    pub fn start(&self) {
        let mut issuing = self.issuing();
        // As above.
        let _ = self.start_window(&mut issuing, Call::Flush);
    }

    /// Executes the window if it is full. Not before there is a next task: meanwhile the program
    /// has dropped what it replaced.
    pub(super) fn make_room(&self, issuing: &mut Issuing) {
        if issuing.window.tasks.len() >= issuing.length.tasks() {
            self.execute_full(issuing);
        }
    }

    /// Executes a full window, and decides when the next one will be full.
    fn execute_full(&self, issuing: &mut Issuing) {
        let hits = issuing.counters.trace_hits;
        if self.start_window(issuing, Call::Full).is_err() {
            return;
        }
        let was_remembered = issuing.counters.trace_hits > hits;
        if let Some(schedule) = &issuing.last {
            issuing.length.filled(schedule, was_remembered);
        }
    }

    /// Forgets all tasks that have not been executed; the stores they would write stay unwritten.
    pub(crate) fn abandon(&self) {
        self.issuing().window.clear();
        if self.ranks() > 1 {
            self.engine().comm.leave();
        }
    }

    /// Ends the program on this rank.
    ///
    /// Fails if the ranks have run different programs, where that is checked.
    pub(crate) fn end(&self) -> Result<(), Error> {
        let mut inner = self.inner();
        let same = inner.check(Call::End);
        inner.issuing.lockstep.end();
        inner.engine.comm.leave();
        same
    }

    /// Has the window executed, by the machine's thread where that pays and nothing is asked of the
    /// other ranks; else here, behind what runs.
    fn start_window(&self, issuing: &mut Issuing, call: Call<'_>) -> Result<(), Error> {
        if issuing.window.is_empty() {
            return Ok(());
        }
        let config = self.config();
        let may_give = self.ranks() == 1 && self.shared.computes && config.run_ahead > 0;
        if !may_give {
            issuing.settle();
            return self.execute(issuing, &mut self.engine(), call);
        }
        issuing.begin(&call);
        let schedule = issuing.schedule(config, self.rank());
        let pays = schedule.has_work(config.ahead_threshold);
        let made = schedule.made_bytes(0..schedule.fused.len());
        let made = made.saturating_add(issuing.window.most_scratch());
        if pays && self.has_room(issuing, made) && self.give(issuing, &schedule, made) {
            return Ok(());
        }
        issuing.settle();
        issuing.run(&schedule, &mut self.engine());
        Ok(())
    }

    /// Executes the window here, for the sake of a call, while nothing runs.
    ///
    /// Fails if the ranks have run different programs; what the tasks would have written is
    /// poisoned then.
    pub(super) fn execute(
        &self,
        issuing: &mut Issuing,
        engine: &mut Engine,
        call: Call<'_>,
    ) -> Result<(), Error> {
        if issuing.window.is_empty() {
            return Ok(());
        }
        issuing.begin(&call);
        if let Err(cause) = issuing.check(engine, call) {
            machine::poison(&issuing.window, &cause);
            issuing.window.clear();
            return Err(cause);
        }
        let schedule = issuing.schedule(self.config(), self.rank());
        issuing.run(&schedule, engine);
        Ok(())
    }

    /// Whether memory is no reason to wait: with all that windows under way make, it stays below
    /// half of the limit. What ends meanwhile is given back only when the program looks, so a
    /// program that needs more than that runs its windows here, as one that does not run ahead; and
    /// so does one whose host tasks find how much they make.
    fn has_room(&self, issuing: &Issuing, made: usize) -> bool {
        let limit = self.config().memory_limit;
        if limit == usize::MAX {
            return true;
        }
        let under_way = issuing.under_way.made.iter().copied();
        let in_use = self.shared.pool.in_use();
        let most = under_way.fold(in_use.saturating_add(made), usize::saturating_add);
        most <= limit / 2 && !issuing.window.may_find()
    }

    /// What `take` gives of the pool's memory. Where it lacks memory, windows under way end first:
    /// the program may have dropped what they hold.
    pub(super) fn with_room<R>(
        &self,
        mut take: impl FnMut(&Arc<Pool>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        take(&self.shared.pool).or_else(|cause| match self.gives_back() {
            true => take(&self.shared.pool),
            false => Err(cause),
        })
    }

    /// Waits for the windows under way, and takes back what they hold; whether there were any.
    fn gives_back(&self) -> bool {
        if calling::calls(self.shared.number) {
            return false;
        }
        let mut issuing = self.issuing();
        let are_any = issuing.under_way.are_any();
        issuing.settle();
        are_any
    }

    /// Gives the window away, which makes so many bytes. Whether that was possible.
    fn give(&self, issuing: &mut Issuing, schedule: &Arc<Schedule>, made: usize) -> bool {
        let Issuing {
            window,
            cuts,
            under_way,
            ..
        } = issuing;
        if under_way.ahead.is_none() {
            under_way.ahead = Ahead::new(self.shared.number, Arc::clone(&self.shared.engine));
        }
        let Some(ahead) = &under_way.ahead else {
            return false;
        };
        under_way.handed_over += 1;
        under_way.made.push_back(made);
        for store in &window.stores {
            store.under_way.fetch_add(1, Ordering::Relaxed);
            store
                .last_window
                .store(under_way.handed_over, Ordering::Relaxed);
        }
        for &slot in &schedule.results {
            let partition = schedule.slots[slot as usize].partition;
            let partition = partition.expect("what a window leaves behind is cut in some way");
            window.stores[slot as usize].plan(partition);
        }
        let next = under_way.spare.pop().unwrap_or_else(|| window.like());
        ahead.hand_over(Job {
            window: window.give(next),
            schedule: Arc::clone(schedule),
            cuts: Arc::clone(cuts),
        });
        issuing.window.expect(issuing.traces.expected());
        let most = self.config().run_ahead as u64;
        issuing.wait_for(issuing.under_way.handed_over.saturating_sub(most));
        true
    }

    /// What issuing changes, for a thread that is going to ask for a store: it waits here for most
    /// of what is under way, while other threads issue tasks and read what has ended.
    pub(super) fn issuing_for(&self, store: &StoreHandle) -> MutexGuard<'_, Issuing> {
        let issuing = self.issuing();
        if store.runtime_number() != self.shared.number {
            // There is nothing to wait for: it is refused.
            return issuing;
        }
        let under_way = &issuing.under_way;
        let number = match issuing.window.writes(store.store()) {
            true => under_way.handed_over,
            false => store.last_window.load(Ordering::Relaxed),
        };
        let ahead = under_way.ahead.as_ref();
        let Some(ahead) = ahead.filter(|_| under_way.back < number) else {
            return issuing;
        };
        let waiting = ahead.waiting();
        drop(issuing);
        waiting.wait(number);
        self.issuing()
    }

    /// Waits until a store has its contents: executes the window if that writes it.
    pub(super) fn complete(&self, issuing: &mut Issuing, store: &StoreHandle) -> Result<(), Error> {
        self.check_own("read", [store].into_iter())?;
        issuing.asked += 1;
        if issuing.window.writes(store.store()) {
            issuing.settle();
            return self.execute(issuing, &mut self.engine(), Call::Read(store.store()));
        }
        issuing.wait_for(store.last_window.load(Ordering::Relaxed));
        Ok(())
    }
}

impl Issuing {
    /// Completes the window, which a call ends.
    fn begin(&mut self, call: &Call<'_>) {
        if !matches!(call, Call::Full) {
            self.length.begin();
        }
        self.window.complete();
    }

    /// The schedule of the completed window.
    fn schedule(&mut self, config: &Config, rank: usize) -> Arc<Schedule> {
        self.asked += 1;
        self.counters.windows += 1;
        let schedule = match self.remembered() {
            Some(schedule) => {
                self.counters.trace_hits += 1;
                schedule
            }
            None => {
                let cuts = Arc::make_mut(&mut self.cuts);
                let mut schedule = analysis::analyse(&self.window, cuts, rank, config.fusion);
                if let Some(toolchain) = &config.native {
                    schedule = schedule.with_native(config.isa, toolchain);
                }
                if schedule.is_movable(self.window.places().map(|(slot, _)| slot)) {
                    schedule.places = self.window.places().collect();
                    self.window.pop_places();
                }
                self.traces.remember(self.window.key(), schedule)
            }
        };
        self.last = Some(Arc::clone(&schedule));
        self.last_regions.clone_from(&self.window.regions);
        self.eager.clear();
        schedule
    }

    /// The schedule of a window with the same key, wherever its views lie if it is right there too,
    /// else with views at the same places.
    fn remembered(&mut self) -> Option<Arc<Schedule>> {
        if let Some(schedule) = self.traces.find(self.window.key()) {
            self.window.move_from(&schedule.places);
            return Some(schedule);
        }
        match self.window.push_places() {
            true => self.traces.find(self.window.key()),
            false => None,
        }
    }

    /// Runs the tasks of the window here.
    fn run(&mut self, schedule: &Schedule, engine: &mut Engine) {
        engine.run(schedule, &self.window, &self.cuts);
        self.window.clear();
        self.window.expect(self.traces.expected());
    }

    /// Waits until nothing runs.
    pub(super) fn settle(&mut self) {
        if self.under_way.are_any() {
            self.wait_for(self.under_way.handed_over);
        }
    }

    /// Waits until so many of the windows handed over have ended, and takes back those that have.
    fn wait_for(&mut self, number: u64) {
        let under_way = &mut self.under_way;
        let Some(ahead) = under_way.ahead.as_ref().filter(|_| under_way.back < number) else {
            return;
        };
        ahead.wait(number);
        let first = under_way.returned.len();
        ahead.take_back(&mut under_way.returned);
        for window in &under_way.returned[first..] {
            for store in &window.stores {
                store.under_way.fetch_sub(1, Ordering::Relaxed);
            }
            under_way.made.pop_front();
            under_way.back += 1;
        }
        // Clearing may panic, where what a function has captured does when it is dropped.
        while let Some(mut window) = under_way.returned.pop() {
            window.clear();
            under_way.spare.push(window);
        }
    }
}
