//! The window: tasks that the program has issued and that have not run yet.
//!
//! Tasks, arguments and parameters lie in flat lists that are reused, and the key under which the
//! window's schedule is remembered grows with every task, so issuing a task costs no allocation
//! here. Stores are renamed by first use: the number of a store within the window is its *slot*.

use super::moving::{Offset, Places, Sight, moved};
use super::regions::Regions;
use crate::error::{Error, ErrorKind};
use crate::geometry::partition::Partition;
use crate::geometry::partition::needs::NeedsId;
use crate::geometry::view::View;
use crate::memory::counted::Counted;
use crate::shape::MAX_RANK;
use crate::stores::store::Store;
use crate::tasks::argument::Access;
use crate::tasks::body::{Body, Seen};
use crate::tasks::check;
use crate::tasks::host::HostTask;
use sparsefuse_kernels::Value;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Window {
    /// Which window of the runtime this is; never 0.
    pub(super) serial: u64,
    pub(crate) tasks: Vec<Task>,
    pub(crate) args: Vec<Arg>,
    pub(crate) params: Vec<Value>,
    /// The numbers of its host tasks, ascending, and what they have besides body and stores.
    host: Vec<(usize, HostTask)>,
    /// Where its tasks were issued.
    pub(crate) regions: Regions,
    /// The bodies that any window had, by their numbers: a task costs no count of who holds its
    /// body.
    bodies: Vec<Option<Arc<Body>>>,
    /// The stores, by slot.
    pub(crate) stores: Vec<Counted<Store>>,
    /// The partition that each store had when it entered; `None` if nothing had written it.
    pub(crate) initial: Vec<Option<Partition>>,
    /// What all ranks had around their rows of it then.
    pub(crate) around: Vec<Option<NeedsId>>,
    /// Whether a task of the window writes the store of each slot, or reduces into it.
    pub(super) written: Vec<bool>,
    /// What [`Window::held`] gives.
    held: Vec<bool>,
    pub(super) key: Vec<u64>,
    /// Where its views lie.
    pub(super) places: Places,
    /// By how many elements slots lie elsewhere than the schedule says.
    moved: Vec<(u32, isize)>,
    /// The keys of windows that are expected, the likeliest one first; as long as this one begins
    /// like the first of them.
    expected: Vec<Arc<[u64]>>,
}

/// Stands in front of a place in a key: no word of a task.
const PLACE: u64 = u64::MAX;

/// A task in the window.
#[derive(Debug)]
pub(crate) struct Task {
    /// Its body, in [`Window::bodies`].
    pub(super) body: usize,
    /// Its arguments, in [`Window::args`].
    pub(crate) args: Range<u32>,
    /// Its parameters, in [`Window::params`].
    pub(crate) params: Range<u32>,
}

/// An argument of a task in the window.
#[derive(Clone, Debug)]
pub(crate) struct Arg {
    pub(crate) slot: u32,
    pub(crate) view: Option<Arc<View>>,
}

impl Window {
    /// An empty one; whether its views may move.
    pub(crate) fn new(may_move: bool) -> Self {
        Self {
            serial: 1,
            tasks: Vec::new(),
            args: Vec::new(),
            params: Vec::new(),
            host: Vec::new(),
            regions: Regions::default(),
            bodies: Vec::new(),
            stores: Vec::new(),
            initial: Vec::new(),
            around: Vec::new(),
            written: Vec::new(),
            held: Vec::new(),
            key: Vec::new(),
            places: Places::new(may_move),
            moved: Vec::new(),
            expected: Vec::new(),
        }
    }

    /// An empty one of the same runtime.
    pub(crate) fn like(&self) -> Self {
        Self::new(self.places.may_move())
    }

    /// Expects the next window to be one that was there before, by its key.
    pub(crate) fn expect(&mut self, keys: impl Iterator<Item = Arc<[u64]>>) {
        self.expected.clear();
        self.expected.extend(keys);
    }

    /// Appends a task with as many arguments and parameters as its body has.
    ///
    /// Fails, and leaves the window as it was, if arguments do not fit the body, or the task reads
    /// a store that nothing has written. That is not asked again while the window is like an
    /// expected one: the key has all that tells.
    pub(crate) fn push<'a>(
        &mut self,
        body: &Arc<Body>,
        args: impl Iterator<Item = Seen<'a>>,
        params: &[Value],
    ) -> Result<(), Error> {
        self.push_task(body, args, params, false)
    }

    fn push_task<'a>(
        &mut self,
        body: &Arc<Body>,
        args: impl Iterator<Item = Seen<'a>>,
        params: &[Value],
        is_host: bool,
    ) -> Result<(), Error> {
        let (first_word, first_arg) = (self.key.len(), self.args.len());
        let first_slot = self.stores.len();
        self.key.push(body.id());
        self.places.begin_task();
        for arg in args {
            let n_slots = self.stores.len();
            let slot = self.slot(arg.store);
            match arg.view {
                None => self.places.push_whole(slot, &mut self.key),
                Some(view) => {
                    let sight = Sight {
                        slot,
                        view,
                        shape: arg.store.shape_ref(),
                        is_new: self.stores.len() > n_slots,
                        is_host,
                        // Relaxed: the window's lock orders all accesses.
                        before: arg.store.last_view.load(Ordering::Relaxed),
                    };
                    self.places.push_view(&sight, &mut self.key);
                }
            }
            self.args.push(Arg {
                slot,
                view: arg.view.cloned(),
            });
        }
        if !self.goes_on_as_expected(first_word) {
            let checked = self.check_args(body, first_arg);
            let checked = checked.and_then(|()| self.check_written(body, first_arg, first_slot));
            if let Err(error) = checked {
                self.key.truncate(first_word);
                self.args.truncate(first_arg);
                self.places.take_back();
                self.forget_slots(first_slot);
                return Err(error);
            }
        }
        for (declared, arg) in body.args().iter().zip(&self.args[first_arg..]) {
            if let Some(view) = &arg.view {
                let last_view = &self.stores[arg.slot as usize].last_view;
                last_view.store(view.first(), Ordering::Relaxed);
            }
            if declared.is_written() {
                self.written[arg.slot as usize] = true;
                self.stores[arg.slot as usize].forget_gathers();
            }
        }
        let first_param = self.params.len() as u32;
        self.params.extend_from_slice(params);
        let body = self.number(body);
        self.tasks.push(Task {
            body,
            args: first_arg as u32..self.args.len() as u32,
            params: first_param..self.params.len() as u32,
        });
        Ok(())
    }

    /// As [`Window::push`], of a host task, which writes stores that nothing has written. How it is
    /// cut is part of the key, its function is not.
    pub(crate) fn push_host<'a>(
        &mut self,
        body: &Arc<Body>,
        args: impl Iterator<Item = Seen<'a>>,
        task: HostTask,
    ) -> Result<(), Error> {
        self.push_task(body, args, &[], true)?;
        let first_word = self.key.len();
        self.key.push(task.launch.map_or(0, Partition::word));
        self.goes_on_as_expected(first_word);
        self.host.push((self.tasks.len() - 1, task));
        Ok(())
    }

    /// Whether functions of host tasks are to be called.
    pub(crate) fn has_host_tasks(&self) -> bool {
        !self.host.is_empty()
    }

    /// The most bytes that the function of one of its host tasks takes for itself.
    pub(crate) fn most_scratch(&self) -> usize {
        let scratch = self.host.iter().map(|(_, host)| host.scratch);
        scratch.max().unwrap_or(0)
    }

    /// Whether the function of one of its host tasks may find how much it makes: as it reads what
    /// the rank holds, whatever that is.
    pub(crate) fn may_find(&self) -> bool {
        let bodies = self
            .host
            .iter()
            .map(|(number, _)| self.body(&self.tasks[*number]));
        let mut args = bodies.flat_map(|body| body.args());
        args.any(|arg| matches!(arg.access, Access::Held))
    }

    /// What a host task has besides body and stores; nothing of another task.
    pub(crate) fn host(&self, number: usize) -> Option<&HostTask> {
        let place = self.host.binary_search_by_key(&number, |(of, _)| *of);
        place.ok().map(|place| &self.host[place].1)
    }

    /// Whether the key is, up to here, that of a window that was expected: the words before this
    /// one are those of the first expected one. Those of which that is not so are forgotten.
    pub(super) fn goes_on_as_expected(&mut self, first_word: usize) -> bool {
        let words = first_word..self.key.len();
        let Some(expected) = self.expected.first() else {
            return false;
        };
        if expected.get(words.clone()) != Some(&self.key[words]) {
            let key = self.key.as_slice();
            self.expected.retain(|expected| expected.starts_with(key));
        }
        !self.expected.is_empty()
    }

    /// Takes stores out of the window from this slot on.
    fn forget_slots(&mut self, first: usize) {
        for store in self.stores.drain(first..) {
            // No window has the serial 0.
            store.window_slot.store(0, Ordering::Relaxed);
        }
        self.initial.truncate(first);
        self.around.truncate(first);
        self.written.truncate(first);
        self.places.forget(first);
    }

    /// The number of a body in [`Window::bodies`], where it is put if it is new.
    pub(super) fn number(&mut self, body: &Arc<Body>) -> usize {
        let number = body.id() as usize;
        if self.bodies.len() <= number {
            self.bodies.resize(number + 1, None);
        }
        self.bodies[number].get_or_insert_with(|| Arc::clone(body));
        number
    }

    /// The arguments of a task of the window.
    pub(crate) fn args_of(&self, task: &Task) -> &[Arg] {
        &self.args[task.args.start as usize..task.args.end as usize]
    }

    /// The body of a task of the window.
    pub(crate) fn body(&self, task: &Task) -> &Arc<Body> {
        let body = self.bodies[task.body].as_ref();
        body.expect("the body of a task was put there with the task")
    }

    /// The arguments from this one on fit the body.
    fn check_args(&self, body: &Body, first_arg: usize) -> Result<(), Error> {
        let args = self.args[first_arg..].iter().map(|arg| Seen {
            store: &self.stores[arg.slot as usize],
            view: arg.view.as_ref(),
        });
        check::check(body, &args.collect::<Vec<_>>())
    }

    /// What a task reads is in the window already, and so is written by a task of the window or was
    /// before, or was written when it entered with this task. The task's arguments, and the slots
    /// that are new with it, are those from these on.
    fn check_written(&self, body: &Body, first_arg: usize, first_slot: usize) -> Result<(), Error> {
        for (number, arg) in self.args[first_arg..].iter().enumerate() {
            let needs_contents = body.needs_contents(number) || arg.view.is_some();
            let slot = arg.slot as usize;
            if needs_contents && slot >= first_slot && self.initial[slot].is_none() {
                return Err(ErrorKind::Unwritten { op: "submit" }.into());
            }
        }
        Ok(())
    }

    /// Whether a task of the window uses the store.
    pub(crate) fn has(&self, store: &Store) -> bool {
        self.known_slot(store).is_some()
    }

    /// Whether a task of the window writes the store, or reduces into it.
    pub(crate) fn writes(&self, store: &Store) -> bool {
        self.known_slot(store)
            .is_some_and(|slot| self.written[slot as usize])
    }

    pub(crate) fn known_slot(&self, store: &Store) -> Option<u32> {
        // Relaxed: the window's lock orders all accesses.
        let word = store.window_slot.load(Ordering::Relaxed);
        (word >> 32 == self.serial).then_some(word as u32)
    }

    fn slot(&mut self, store: &Counted<Store>) -> u32 {
        if let Some(slot) = self.known_slot(store) {
            return slot;
        }
        let slot = self.stores.len() as u32;
        store
            .window_slot
            .store(self.serial << 32 | u64::from(slot), Ordering::Relaxed);
        let initial = store.partition();
        let shape = store.shape_ref();
        let around = store.around();
        // Rank and type have 8 bits each, which leaves the word of a partition its 33. The bit
        // above tells the words of a new store from the number of a known one, and the one below
        // whether there is a word for what is around its rows, so that equal words are equal tasks.
        let kind = 1 << 62 | shape.rank() as u64 | (store.dtype() as u64) << 8;
        let has_around = u64::from(around.is_some()) << 61;
        let partition = initial.map_or(0, Partition::word) << 16;
        self.key.push(kind | has_around | partition);
        self.key
            .extend(around.map(|needs| NeedsId::word(Some(needs))));
        self.key.extend(shape.dims().iter().map(|&dim| dim as u64));
        self.stores.push(store.clone());
        self.initial.push(initial);
        self.around.push(around);
        self.written.push(false);
        slot
    }

    /// Completes the key, once for each window. This is the moment that decides which stores the
    /// program holds; other threads may drop their handles at any time, so they are not counted a
    /// second time.
    pub(crate) fn complete(&mut self) {
        let mut word = 1;
        self.held.clear();
        for store in &self.stores {
            let is_held = store.count() > 1 + store.handles_under_way();
            self.held.push(is_held);
            word = word << 1 | u64::from(is_held);
            if word >> 63 == 1 {
                self.key.push(word);
                word = 1;
            }
        }
        self.key.push(word);
    }

    /// The completed key: what the window does, up to the names of its stores and the values of its
    /// parameters.
    pub(crate) fn key(&self) -> &[u64] {
        &self.key
    }

    /// The slots of which the key does not tell where they lie, and where that is.
    pub(crate) fn places(&self) -> impl Iterator<Item = (u32, Offset)> {
        self.places.free()
    }

    /// Appends these places to the completed key, so that it tells them. Whether there are any.
    pub(crate) fn push_places(&mut self) -> bool {
        let n_words = self.key.len();
        for (_, offset) in self.places.free() {
            self.key.push(PLACE);
            self.key.extend(offset.map(|offset| offset as u64));
        }
        self.key.len() > n_words
    }

    /// Takes them out of the key again.
    pub(crate) fn pop_places(&mut self) {
        let n_words = self.places.free().count() * (1 + MAX_RANK);
        self.key.truncate(self.key.len() - n_words);
    }

    /// Notes how far the slots lie from the places for which a schedule was made.
    pub(crate) fn move_from(&mut self, places: &[(u32, Offset)]) {
        self.moved.clear();
        let shape = |slot: u32| self.stores[slot as usize].shape();
        self.moved.extend(moved(self.places.free(), places, shape));
    }

    /// By how many elements a slot lies behind where the schedule says.
    #[inline(always)]
    pub(crate) fn moved_by(&self, slot: u32) -> isize {
        if self.moved.is_empty() {
            return 0;
        }
        let mut moved = self.moved.iter();
        let known = moved.find(|(of, _)| *of == slot);
        known.map_or(0, |&(_, by)| by)
    }

    /// Whether the program held the store of each slot, and not only the window, when the key was
    /// completed.
    pub(crate) fn held(&self) -> &[bool] {
        &self.held
    }

    /// Gives this window away for an empty one, which has the memory of an earlier one's lists.
    pub(crate) fn give(&mut self, mut next: Self) -> Self {
        debug_assert!(next.is_empty(), "an earlier window has been cleared");
        next.serial = succeeding(self.serial);
        std::mem::replace(self, next)
    }

    /// Forgets all tasks; stores without another handle are dropped.
    pub(crate) fn clear(&mut self) {
        self.serial = succeeding(self.serial);
        self.tasks.clear();
        self.args.clear();
        self.params.clear();
        self.stores.clear();
        self.initial.clear();
        self.around.clear();
        self.written.clear();
        self.held.clear();
        self.key.clear();
        self.places.clear();
        self.moved.clear();
        self.regions.clear();
        // What functions have captured may panic when it is dropped.
        self.host.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }
}

/// The number of the window behind this one. 32 bits of it are kept beside the slot; 0 marks stores
/// in no window.
fn succeeding(serial: u64) -> u64 {
    ((serial + 1) & 0xffff_ffff).max(1)
}
