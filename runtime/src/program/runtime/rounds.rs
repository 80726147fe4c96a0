//! Rounds of a loop that a program declares: the first two are issued, the others are done again
//! without it.

use super::handle::StoreHandle;
use super::region;
use crate::analysis::round::{Origin, Round, Source};
use crate::memory::counted::Counted;
use crate::stores::store::{Contents, Store};
use std::sync::Weak;

/// What a loop holds from round to round: stores, or handles of such, which a round replaces.
pub trait State {
    /// Shows each store, always in the same order. A round that ends with another number of them
    /// than it began with is not done again.
    fn each_store(&mut self, visit: &mut dyn FnMut(&mut StoreHandle));

    /// Whether these are whole stores, and none of them is seen through a view: handles are, and
    /// arrays ask their own `is_whole`. A round that begins or ends with views is not done again.
    fn is_whole(&self) -> bool;
}

/// The rounds of a loop, each of which does the same to what the loop holds, its [`State`].
///
/// [`Rounds::run`] has the first rounds issued by the program. Once two in a row were alike, it
/// does the next ones again without calling it. Such a round is in the window like one that was
/// issued: it runs when a value is wanted, or on [`Runtime::flush`](crate::Runtime::flush). So it
/// has the bits, the failures and the messages of one that was issued, on any number of ranks, and
/// costs what it takes to copy the list of its tasks.
///
/// Rounds are alike where they issue the same tasks, with the same numbers as parameters, on the
/// state, on what they make, and on stores that are the same each time. **What a round does must
/// depend on nothing else**: numbers of the program that change seldom, or contents of other stores
/// that the program replaces (also by writing a part of an array), are not seen. A round that asks
/// for a value, runs host tasks, issues tasks to another runtime too, has more tasks than a window,
/// begins while there are other tasks in the window, or fails, is issued each time.
///
/// ```
/// use sparsefuse_kernels::DType;
/// use sparsefuse_runtime::{Rounds, Runtime, Shape, State, StoreHandle};
/// # use sparsefuse_kernels::{ArgKind, BinaryOp, Element, KernelBuilder};
/// # use sparsefuse_runtime::Body;
/// # let mut build = KernelBuilder::new();
/// # let [x, y] = [(); 2].map(|()| build.arg(DType::F64, ArgKind::Array));
/// # let (factor, element) = (build.constant(2.0.to_value()), build.load(x));
/// # let product = build.binary(BinaryOp::Mul, factor, element);
/// # build.store(y, product);
/// # let double = Body::new("double", build.finish());
///
/// let runtime = Runtime::current();
/// let shape = Shape::new(&[3]);
/// let mut x = runtime.store_from_vec(shape, vec![1.0, 2.0, 3.0])?;
/// let mut rounds = Rounds::new();
/// for _ in 0..10 {
///     rounds.run(&mut x, |x: &mut StoreHandle| {
///         let y = runtime.new_store(shape, DType::F64);
///         runtime.submit(&double, &[(&*x).into(), (&y).into()], &[])?;
///         *x = y;
///         Ok::<(), sparsefuse_runtime::Error>(())
///     })?;
///     runtime.flush();
/// }
/// assert_eq!(runtime.read::<f64>(&x, None)?, [1024.0, 2048.0, 3072.0]);
/// assert_eq!(runtime.counters().rounds, 8);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Rounds {
    /// The last round that was issued, and whether the one before it was like it.
    last: Option<Round>,
    is_known: bool,
    /// The state, while no round is being issued.
    handles: Vec<StoreHandle>,
    /// The state behind a round that is done again.
    next: Vec<Counted<Store>>,
}

/// What the state was before a round that is being issued.
struct Before {
    state: Vec<Weak<Store>>,
    /// How often the program had asked for something.
    asked: u64,
    /// How many tasks this thread had issued, to whatever runtime.
    issued: u64,
}

impl Rounds {
    /// A loop that has not begun.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Does the next round: by itself, if it is known, else by `round`.
    ///
    /// # Errors
    ///
    /// What `round` returns. What fails where it runs is told by the stores that it should have
    /// written, as always.
    pub fn run<S: State + ?Sized, E>(
        &mut self,
        state: &mut S,
        round: impl FnOnce(&mut S) -> Result<(), E>,
    ) -> Result<(), E> {
        self.collect(state);
        if self.again() {
            let mut next = self.next.drain(..);
            state.each_store(&mut |handle| {
                if let Some(store) = next.next() {
                    handle.replace(store);
                }
            });
            return Ok(());
        }
        let before = self.begin();
        let last = self.last.take();
        self.is_known = false;
        round(state)?;
        self.collect(state);
        let round = before.and_then(|before| self.end(&before));
        // Between rounds the program alone holds the state.
        self.handles.clear();
        self.is_known = round
            .as_ref()
            .zip(last.as_ref())
            .is_some_and(|(a, b)| a.is_like(b));
        self.last = round;
        Ok(())
    }

    /// Takes handles of the state; none where it cannot be that of a round that is done again.
    fn collect<S: State + ?Sized>(&mut self, state: &mut S) {
        self.handles.clear();
        if state.is_whole() {
            state.each_store(&mut |handle| self.handles.push(handle.clone()));
        }
    }

    /// Puts the next round into the window, and what the state is behind it into `next`, if the
    /// round is known and can begin with the state.
    fn again(&mut self) -> bool {
        let Some(round) = self.last.as_ref().filter(|_| self.is_known) else {
            return false;
        };
        let Some(runtime) = self.handles.first().map(StoreHandle::runtime) else {
            return false;
        };
        let number = runtime.shared.number;
        let mut issuing = runtime.issuing();
        let state = &self.handles;
        let can_begin = issuing.window.is_empty()
            && round.runtime == number
            && round.len() <= issuing.length.tasks()
            && state.iter().all(|store| store.runtime_number() == number)
            && round.takes(state.iter().map(StoreHandle::store));
        if !can_begin {
            return false;
        }
        round.fill(&mut issuing.window, |slot| match &slot.source {
            Source::State(place) => state[*place].store().clone(),
            Source::Kept(store) => store.clone(),
            Source::New => {
                let contents = Contents::Unwritten;
                Counted::new(Store::new(number, slot.shape, slot.dtype, contents))
            }
        });
        issuing.counters.tasks += round.len() as u64;
        issuing.counters.rounds += 1;
        let stores = &issuing.window.stores;
        let next = round.results.iter().map(|origin| match *origin {
            Origin::Slot(slot) => stores[slot].clone(),
            Origin::State(place) => state[place].store().clone(),
        });
        self.next.extend(next);
        drop(issuing);
        self.handles.clear();
        true
    }

    /// The state before a round that the program issues; `None` if it cannot be done again.
    fn begin(&mut self) -> Option<Before> {
        let issuing = self.handles.first()?.runtime().issuing();
        let is_first = issuing.window.is_empty();
        let before = is_first.then(|| Before {
            state: self
                .handles
                .iter()
                .map(|store| store.store().downgrade())
                .collect(),
            asked: issuing.asked,
            issued: region::issued(),
        });
        drop(issuing);
        // What the state alone holds is the round's to write in place.
        self.handles.clear();
        before
    }

    /// The round that the program has issued, if it can be done again.
    fn end(&mut self, before: &Before) -> Option<Round> {
        let issuing = self.handles.first()?.runtime().issuing();
        let after = self.handles.iter().map(StoreHandle::store);
        // Tasks of another runtime, or of another thread, would not be done again.
        let is_window = issuing.asked == before.asked
            && region::issued() - before.issued == issuing.window.tasks.len() as u64;
        let number = self.handles.first()?.runtime_number();
        let window = &issuing.window;
        let round = is_window.then(|| Round::of((number, window), &before.state, after))?;
        drop(issuing);
        self.handles.clear();
        round
    }
}

impl State for StoreHandle {
    fn each_store(&mut self, visit: &mut dyn FnMut(&mut StoreHandle)) {
        visit(self);
    }

    fn is_whole(&self) -> bool {
        true
    }
}

impl<S: State + ?Sized> State for &mut S {
    fn each_store(&mut self, visit: &mut dyn FnMut(&mut StoreHandle)) {
        (**self).each_store(visit);
    }

    fn is_whole(&self) -> bool {
        (**self).is_whole()
    }
}

impl<S: State> State for [S] {
    fn each_store(&mut self, visit: &mut dyn FnMut(&mut StoreHandle)) {
        for part in self {
            part.each_store(visit);
        }
    }

    fn is_whole(&self) -> bool {
        self.iter().all(S::is_whole)
    }
}

impl<S: State, const N: usize> State for [S; N] {
    fn each_store(&mut self, visit: &mut dyn FnMut(&mut StoreHandle)) {
        self.as_mut_slice().each_store(visit);
    }

    fn is_whole(&self) -> bool {
        self.as_slice().is_whole()
    }
}

impl<S: State> State for Vec<S> {
    fn each_store(&mut self, visit: &mut dyn FnMut(&mut StoreHandle)) {
        self.as_mut_slice().each_store(visit);
    }

    fn is_whole(&self) -> bool {
        self.as_slice().is_whole()
    }
}

macro_rules! state_of_tuple {
    ($($part:ident)*) => {
        impl<$($part: State),*> State for ($($part,)*) {
            #[expect(non_snake_case, reason = "a part has the name of its type")]
            fn each_store(&mut self, visit: &mut dyn FnMut(&mut StoreHandle)) {
                let ($($part,)*) = self;
                $($part.each_store(visit);)*
            }

            #[expect(non_snake_case, reason = "a part has the name of its type")]
            fn is_whole(&self) -> bool {
                let ($($part,)*) = self;
                $($part.is_whole())&&*
            }
        }
    };
}

state_of_tuple!(A);
state_of_tuple!(A B);
state_of_tuple!(A B C);
state_of_tuple!(A B C D);
state_of_tuple!(A B C D E);
state_of_tuple!(A B C D E F);
state_of_tuple!(A B C D E F G);
state_of_tuple!(A B C D E F G H);
