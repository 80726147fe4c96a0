//! A round of a loop: the tasks of a window, to be filled in again with other stores.
//!
//! What a window does is its key, the values of its parameters, and where its stores come from. Two
//! rounds that are equal in all of that do the same to what the loop holds, and so will the next
//! one: its window is copied, and its tasks need not be issued.

use super::moving::Places;
use super::regions::Regions;
use super::window::{Arg, Task, Window};
use crate::geometry::partition::Partition;
use crate::geometry::partition::needs::NeedsId;
use crate::memory::counted::Counted;
use crate::shape::Shape;
use crate::stores::store::Store;
use crate::tasks::body::Body;
use sparsefuse_kernels::{DType, Value};
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Round {
    /// The runtime, by its number.
    pub(crate) runtime: u64,
    /// The tasks: bodies, arguments, parameters.
    tasks: Vec<(Arc<Body>, Range<u32>, Range<u32>)>,
    args: Vec<Arg>,
    params: Vec<Value>,
    regions: Regions,
    /// The key without its end, the stores that are held.
    key: Box<[u64]>,
    places: Places,
    slots: Vec<Slot>,
    /// Where what the loop holds comes from at the end of the round.
    pub(crate) results: Vec<Origin>,
    /// For each store that the loop holds at the begin the first one that is the same.
    firsts: Vec<usize>,
    /// For each store that the loop held at the begin that store itself, if something else holds it
    /// too: the round may have meant this store, and not whatever stands at that place.
    held: Vec<Option<Weak<Store>>>,
}

/// A store of the round's window.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) source: Source,
    pub(crate) shape: Shape,
    pub(crate) dtype: DType,
    initial: Option<Partition>,
    around: Option<NeedsId>,
    is_written: bool,
    /// The store itself where the loop held it before the round and behind it, at the same place.
    /// The round may have meant this store, and not whatever stands at that place.
    stays: Option<Weak<Store>>,
}

/// Where the store of a slot comes from.
#[derive(Debug)]
pub(crate) enum Source {
    /// What the loop holds at the begin, by its number.
    State(usize),
    /// The same in each round.
    Kept(Counted<Store>),
    /// Made in the round.
    New,
}

/// Where something that the loop holds at the end comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The store of a slot.
    Slot(usize),
    /// What the loop held at the begin, by its number.
    State(usize),
}

impl Round {
    /// The round that a window holds, of a loop that held `before` at the begin and `after` now.
    /// `None` if the next one may do something else: if it has host tasks, whose functions may be
    /// others, or ends with a store that is neither of the window nor was there before, or with
    /// another number of stores.
    pub(crate) fn of<'a>(
        (runtime, window): (u64, &Window),
        before: &[Weak<Store>],
        after: impl Iterator<Item = &'a Counted<Store>> + Clone,
    ) -> Option<Self> {
        if window.is_empty() || window.has_host_tasks() || after.clone().count() != before.len() {
            return None;
        }
        let address = |store: &Weak<Store>| store.as_ptr().addr();
        let place = |store: &Counted<Store>| {
            let mut places = before.iter();
            places.position(|before| address(before) == store.address())
        };
        let slot = |(number, store): (usize, &Counted<Store>)| Slot {
            source: match (place(store), window.initial[number]) {
                (Some(place), _) => Source::State(place),
                (None, Some(_)) => Source::Kept(store.clone()),
                (None, None) => Source::New,
            },
            shape: store.shape(),
            dtype: store.dtype(),
            initial: window.initial[number],
            around: window.around[number],
            is_written: window.written[number],
            stays: place(store).and_then(|place| {
                let behind = after.clone().nth(place);
                let stays = behind.is_some_and(|behind| behind.ptr_eq(store));
                stays.then(|| store.downgrade())
            }),
        };
        let origin = |store: &Counted<Store>| {
            let slot = window.known_slot(store);
            let slot = slot.map(|slot| Origin::Slot(slot as usize));
            slot.or_else(|| place(store).map(Origin::State))
        };
        let task = |task: &Task| {
            let body = Arc::clone(window.body(task));
            (body, task.args.clone(), task.params.clone())
        };
        let first = |of: &Weak<Store>| before.iter().position(|other| other.ptr_eq(of));
        let held = |store: &Weak<Store>| {
            let is_it = |other: &&Counted<Store>| other.address() == address(store);
            let in_window = window.stores.iter().find(is_it);
            // The loop has one handle where it stands, and the list of its stores another.
            let behind = 2 * after.clone().filter(is_it).count();
            let under_way = in_window.map_or(0, |store| 1 + store.handles_under_way());
            (store.strong_count() > behind + under_way).then(|| store.clone())
        };
        Some(Self {
            held: before.iter().map(held).collect(),
            runtime,
            results: after.clone().map(origin).collect::<Option<_>>()?,
            slots: window.stores.iter().enumerate().map(slot).collect(),
            tasks: window.tasks.iter().map(task).collect(),
            args: window.args.clone(),
            params: window.params.clone(),
            regions: window.regions.clone(),
            key: window.key().into(),
            places: window.places.clone(),
            firsts: before.iter().filter_map(first).collect(),
        })
    }

    /// Whether two rounds in a row do the same.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let bits =
            |params: &[Value]| -> Vec<_> { params.iter().map(|param| param.bits()).collect() };
        let mut slots = self.slots.iter().zip(&other.slots);
        self.key == other.key
            && self.places.are_same(&other.places)
            && bits(&self.params) == bits(&other.params)
            && self.results == other.results
            && self.firsts == other.firsts
            && slots.all(|(slot, other)| match (&slot.source, &other.source) {
                (Source::State(place), Source::State(other)) => place == other,
                (Source::Kept(store), Source::Kept(other)) => store.ptr_eq(other),
                (Source::New, Source::New) => true,
                _ => false,
            })
    }

    /// Whether the round can begin with these stores, of which each has two handles where it stands
    /// once: they are cut, shaped and shared like those of the round that was issued, and what is
    /// written in place has no other handle.
    pub(crate) fn takes<'a>(
        &self,
        state: impl Iterator<Item = &'a Counted<Store>> + Clone,
    ) -> bool {
        let first = |of| state.clone().position(|other| other.ptr_eq(of));
        let is_same = |store: &Counted<Store>, same: Option<&Weak<Store>>| {
            same.is_none_or(|same| same.as_ptr().addr() == store.address())
        };
        let firsts = state.clone().filter_map(first);
        let mut held = state.clone().zip(&self.held);
        self.firsts.iter().copied().eq(firsts)
            && held.all(|(store, held)| is_same(store, held.as_ref()))
            && self.slots.iter().all(|slot| match slot.source {
                Source::State(place) => state.clone().nth(place).is_some_and(|store| {
                    let is_own = || {
                        let times = self.firsts.iter().filter(|first| **first == place).count();
                        store.count() == 2 * times + store.handles_under_way()
                    };
                    *store.shape_ref() == slot.shape
                        && store.dtype() == slot.dtype
                        && store.partition() == slot.initial
                        && store.around() == slot.around
                        && is_same(store, slot.stays.as_ref())
                        && (!slot.is_written || is_own())
                }),
                Source::Kept(ref store) => {
                    store.partition() == slot.initial && store.around() == slot.around
                }
                Source::New => true,
            })
    }

    /// Fills an empty window with the tasks of the round, on these stores.
    pub(crate) fn fill(&self, window: &mut Window, mut store: impl FnMut(&Slot) -> Counted<Store>) {
        debug_assert!(window.is_empty(), "a round is a window");
        for (number, slot) in self.slots.iter().enumerate() {
            let store = store(slot);
            let word = window.serial << 32 | number as u64;
            store.window_slot.store(word, Ordering::Relaxed);
            window.initial.push(slot.initial);
            window.around.push(slot.around);
            window.written.push(slot.is_written);
            if slot.is_written {
                // As [`Window::push`] does.
                store.forget_gathers();
            }
            window.stores.push(store);
        }
        for (body, args, params) in &self.tasks {
            let body = window.number(body);
            window.tasks.push(Task {
                body,
                args: args.clone(),
                params: params.clone(),
            });
        }
        window.args.extend_from_slice(&self.args);
        window.params.extend_from_slice(&self.params);
        window.regions.clone_from(&self.regions);
        window.key.extend_from_slice(&self.key);
        window.places.clone_places(&self.places);
        window.goes_on_as_expected(0);
    }

    /// The number of tasks.
    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }
}
