//! Stores: distributed arrays.
//!
//! A store has a shape and an element type from the beginning; its contents appear when a task
//! that writes it is executed. Handles are [`Counted<Store>`](Counted): the count of handles is the
//! count of who holds the store, the window (which holds each of its stores once) included. The
//! contents belong to the store, and not to the runtime that computes them, because they end with
//! its last handle, on whatever thread that is; so a store knows no runtime, only the number of
//! its own.

use crate::error::{Error, ErrorKind};
use crate::geometry::partition::Partition;
use crate::geometry::partition::needs::NeedsId;
use crate::geometry::view::View;
use crate::images::pack::Prospect;
use crate::images::packed::PackedElements;
use crate::images::piece::{Piece, PieceKey};
use crate::images::residency::Residency;
use crate::memory::counted::{Counted, Recycled, Spare};
use crate::memory::instance::Instance;
use crate::shape::Shape;
use sparsefuse_kernels::DType;
use std::cell::RefCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most pieces that are kept with a store.
const MOST_PIECES: usize = 64;

/// A distributed array; see the module's text.
pub struct Store {
    /// The number of the runtime that it belongs to.
    runtime: u64,
    shape: Shape,
    dtype: DType,
    /// The window's serial number and this store's slot in it, while it is there; written and read
    /// under the window's lock only.
    pub(crate) window_slot: AtomicU64,
    /// The word of the partition of the contents, 0 while there are none. So the window asks for it
    /// without locking the state. A window that is handed over says before it runs what will be
    /// here, and writes the same once more when it has run.
    partition: AtomicU64,
    /// The word of what all ranks have around their rows, 0 where that is nothing: the same on all
    /// of them, as the partition is.
    around: AtomicU64,
    /// Handles that windows under way have, and the number of the last window that was handed over
    /// with this store; written and read under the window's lock only.
    pub(crate) under_way: AtomicU64,
    pub(crate) last_window: AtomicU64,
    /// Where the last view of the store began that a task was issued with, `usize::MAX` before the
    /// first one; as above.
    pub(crate) last_view: AtomicUsize,
    /// Whether its task has succeeded on all ranks or failed on all.
    is_agreed: AtomicBool,
    /// Whether anything has been derived from the contents: see [`State`]. So a task that writes
    /// the store asks without locking the state.
    is_derived_from: AtomicBool,
    state: Mutex<State>,
    /// How programs gather by the contents that the window will have computed; so it is forgotten
    /// as soon as a task that writes them is issued.
    gathers: Mutex<Vec<Gathers>>,
    /// Whether there are any.
    is_gathered_by: AtomicBool,
}

/// Gathers of a kind by the indices that a store holds.
#[derive(Debug)]
struct Gathers {
    /// The operation, for messages, and how many elements or rows there are.
    of: (&'static str, usize),
    /// How many there have been.
    count: usize,
    /// The ranges, and the indices within them.
    structure: Option<[Counted<Store>; 2]>,
}

/// What a program gathers by.
#[derive(Debug)]
pub(crate) enum GatherBy {
    /// The indices as they are.
    Indices,
    /// A structure that is to be made of them, and kept.
    NewStructure,
    /// The structure that was made of them.
    Structure([Counted<Store>; 2]),
}

/// The gathers by indices from which on a structure is made of them, which takes about as long as
/// some gathers.
const MANY_GATHERS: usize = 4;
/// What a program gathers by the same indices: the last ones, where it gathers from arrays of ever
/// new lengths.
const MOST_GATHERS: usize = 8;

/// What a rank holds of a store.
#[derive(Debug)]
struct State {
    contents: Contents,
    /// Local forms of the structure whose indices these are, by what they depend on.
    pieces: Vec<Arc<Piece>>,
    /// Where these are entries, what speaks for packing them.
    prospect: Prospect,
}

/// This rank's part of a store, plain, packed or both.
pub(crate) type Held = Residency<PackedElements>;

/// The contents of a store.
#[derive(Clone, Debug)]
pub(crate) enum Contents {
    /// Nothing has written the store yet.
    Unwritten,
    /// This rank's part.
    Here(Partition, Held),
    /// This rank's part, of which some blocks could not be written: in the order in which they
    /// failed, at least one.
    Marred(Partition, Held, Arc<[Marred]>),
    /// The task that should have written the store, with this partition, failed.
    Poisoned(Partition, Error),
}

/// A block whose task failed.
#[derive(Clone, Debug)]
pub(crate) struct Marred {
    pub(crate) view: View,
    pub(crate) cause: Error,
}

impl Store {
    pub(crate) fn new(runtime: u64, shape: Shape, dtype: DType, contents: Contents) -> Self {
        let partition = AtomicU64::new(contents.partition_word());
        let state = Mutex::new(State {
            contents,
            pieces: Vec::new(),
            prospect: Prospect::Unknown,
        });
        Self {
            runtime,
            shape,
            dtype,
            window_slot: AtomicU64::new(0),
            partition,
            around: AtomicU64::new(0),
            under_way: AtomicU64::new(0),
            last_window: AtomicU64::new(0),
            last_view: AtomicUsize::new(usize::MAX),
            is_agreed: AtomicBool::new(false),
            is_derived_from: AtomicBool::new(false),
            state,
            gathers: Mutex::default(),
            is_gathered_by: AtomicBool::new(false),
        }
    }

    /// The lengths of the dimensions.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The same without a copy.
    pub(crate) fn shape_ref(&self) -> &Shape {
        &self.shape
    }

    /// The element type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The number of the runtime that the store belongs to.
    pub(crate) fn runtime_number(&self) -> u64 {
        self.runtime
    }

    /// Says that these are entries that will be read by their structure again and again: already
    /// the first task that does so packs them. It changes no result.
    pub fn pack_early(&self) {
        let is_plain = matches!(
            self.state().contents,
            Contents::Here(_, Residency::Plain(_))
        );
        self.with_prospect(|prospect| {
            if is_plain && matches!(prospect, Prospect::Unknown) {
                *prospect = Prospect::Expected;
            }
        });
    }

    /// If these are entries, the bytes that a task reads of this rank's part of them and of their
    /// structure; `None` before tasks have decided whether to pack them.
    #[must_use]
    pub fn bytes_of_pass(&self) -> Option<usize> {
        let state = self.state();
        if let Contents::Here(_, held) = &state.contents
            && let Some(PackedElements::Entries(packed)) = held.packed()
        {
            return Some(packed.summary.bytes);
        }
        match state.prospect {
            Prospect::Refused { bytes, .. } => Some(bytes),
            Prospect::Unknown | Prospect::Expected | Prospect::Plain { .. } => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of a state is one assignment, so a panic leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The partition of the contents; `None` if there are none.
    pub(crate) fn partition(&self) -> Option<Partition> {
        Partition::from_word(self.partition.load(Ordering::Relaxed))
    }

    /// What all ranks have around their rows. Only under the window's lock.
    pub(crate) fn around(&self) -> Option<NeedsId> {
        NeedsId::from_word(self.around.load(Ordering::Relaxed))
    }

    /// Says what all ranks have around their rows, when a window has run. Only by the engine.
    pub(crate) fn set_around(&self, needs: Option<NeedsId>) {
        self.around.store(NeedsId::word(needs), Ordering::Relaxed);
    }

    /// The handles that windows under way have. Only under the window's lock.
    pub(crate) fn handles_under_way(&self) -> usize {
        self.under_way.load(Ordering::Relaxed) as usize
    }

    /// Says how the contents will be cut when the window that has been analysed has run. Only under
    /// the window's lock.
    pub(crate) fn plan(&self, partition: Partition) {
        self.partition.store(partition.word(), Ordering::Relaxed);
    }

    /// Whether the task that wrote the store last has succeeded on all ranks or failed on all,
    /// since they have talked about it.
    pub(crate) fn is_agreed(&self) -> bool {
        self.is_agreed.load(Ordering::Relaxed)
    }

    /// Only by the engine.
    pub(crate) fn set_agreed(&self, is_agreed: bool) {
        self.is_agreed.store(is_agreed, Ordering::Relaxed);
    }

    /// What this rank holds.
    pub(crate) fn contents(&self) -> Contents {
        self.state().contents.clone()
    }

    /// Changes what this rank holds. Only by the engine.
    pub(crate) fn replace(&self, contents: Contents) {
        self.partition
            .store(contents.partition_word(), Ordering::Relaxed);
        self.state().contents = contents;
    }

    /// Takes what this rank holds, for a window that gives it back, or that nobody asks after. How
    /// it is cut stays, since the program may be issuing the next window. Only by the engine.
    pub(crate) fn take(&self) -> Contents {
        std::mem::replace(&mut self.state().contents, Contents::Unwritten)
    }

    /// The piece that depends on just this.
    pub(crate) fn piece(&self, key: &PieceKey) -> Option<Arc<Piece>> {
        let state = self.state();
        let found = state.pieces.iter().find(|piece| piece.key == *key);
        found.cloned()
    }

    /// Keeps a piece until the store is written, or many have come after it: there may be new
    /// ranges in each round of a loop. Every rank keeps the same ones.
    pub(crate) fn keep_piece(&self, piece: Arc<Piece>) {
        self.is_derived_from.store(true, Ordering::Relaxed);
        let pieces = &mut self.state().pieces;
        if pieces.len() >= MOST_PIECES {
            pieces.remove(0);
        }
        pieces.push(piece);
    }

    /// What the program gathers by that is about to gather by these indices: the
    /// operation, and from how many elements or rows. Only where the program issues tasks, as
    /// keeping and forgetting it.
    pub(crate) fn gather_by(&self, of: (&'static str, usize)) -> GatherBy {
        self.is_gathered_by.store(true, Ordering::Relaxed);
        let mut gathers = self.gathers();
        let place = gathers.iter().position(|gathers| gathers.of == of);
        let place = place.unwrap_or_else(|| {
            if gathers.len() >= MOST_GATHERS {
                gathers.remove(0);
            }
            gathers.push(Gathers {
                of,
                count: 0,
                structure: None,
            });
            gathers.len() - 1
        });
        let alike = &mut gathers[place];
        // One for which there was no memory is not kept: there may be some now.
        let is_poisoned = |store: &Counted<Self>| store.is_poisoned();
        if matches!(&alike.structure, Some(structure) if structure.iter().any(is_poisoned)) {
            (alike.structure, alike.count) = (None, 0);
        }
        alike.count += 1;
        match &alike.structure {
            Some(structure) => GatherBy::Structure(structure.clone()),
            None if alike.count < MANY_GATHERS => GatherBy::Indices,
            None => GatherBy::NewStructure,
        }
    }

    fn is_poisoned(&self) -> bool {
        matches!(self.state().contents, Contents::Poisoned(..))
    }

    /// Keeps a structure until a task that writes the indices is issued.
    pub(crate) fn keep_structure(&self, of: (&'static str, usize), structure: [Counted<Self>; 2]) {
        let mut gathers = self.gathers();
        if let Some(alike) = gathers.iter_mut().find(|gathers| gathers.of == of) {
            alike.structure = Some(structure);
        }
    }

    /// Forgets the structures made of these indices: a task that writes them is being issued.
    pub(crate) fn forget_gathers(&self) {
        if self.is_gathered_by.load(Ordering::Relaxed) {
            self.is_gathered_by.store(false, Ordering::Relaxed);
            self.gathers().clear();
        }
    }

    fn gathers(&self) -> MutexGuard<'_, Vec<Gathers>> {
        // Every change is one assignment, so a panic leaves it whole.
        self.gathers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What `with` makes of the prospect of a packed form, which is kept until the store is
    /// written.
    pub(crate) fn with_prospect<R>(&self, with: impl FnOnce(&mut Prospect) -> R) -> R {
        self.is_derived_from.store(true, Ordering::Relaxed);
        with(&mut self.state().prospect)
    }

    /// Forgets what has been derived from the contents: a task is going to write them. Only by the
    /// engine, as keeping it.
    pub(crate) fn forget_derived(&self) {
        if self.is_derived_from.load(Ordering::Relaxed) {
            self.is_derived_from.store(false, Ordering::Relaxed);
            let mut state = self.state();
            state.pieces.clear();
            state.prospect = Prospect::Unknown;
        }
    }

    /// What `read` makes of the partition and this rank's instance, which `materialise` brings
    /// back where only a packed form holds it.
    ///
    /// # Errors
    ///
    /// If nothing has written the store, its computation failed, or `materialise` fails.
    pub(crate) fn with_instance<R>(
        &self,
        op: &'static str,
        materialise: impl FnOnce(&mut Held) -> Result<(), Error>,
        read: impl FnOnce(Partition, &Counted<Instance>) -> R,
    ) -> Result<R, Error> {
        let mut state = self.state();
        if let Contents::Here(_, held @ Residency::Packed(_)) = &mut state.contents {
            materialise(held)?;
        }
        match &state.contents {
            Contents::Here(partition, held) => {
                let instance = held.plain().expect("it has just been materialised");
                Ok(read(*partition, instance))
            }
            Contents::Marred(_, _, blocks) => Err(blocks[0].cause.clone()),
            Contents::Poisoned(_, cause) => Err(cause.clone()),
            Contents::Unwritten => Err(ErrorKind::Unwritten { op }.into()),
        }
    }
}

impl Contents {
    /// This rank's part, and the blocks of it whose tasks failed.
    pub(crate) fn new(partition: Partition, held: Held, marred: Vec<Marred>) -> Self {
        match marred.is_empty() {
            true => Self::Here(partition, held),
            false => Self::Marred(partition, held, marred.into()),
        }
    }

    fn partition_word(&self) -> u64 {
        match self {
            Self::Unwritten => 0,
            Self::Here(partition, _)
            | Self::Marred(partition, ..)
            | Self::Poisoned(partition, _) => partition.word(),
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store{}:{}", self.shape, self.dtype)
    }
}

thread_local! {
    static SPARE: Spare<Store> = const { RefCell::new(Vec::new()) };
}

impl Recycled for Store {
    fn spare<R>(with: impl FnOnce(&mut Vec<Arc<MaybeUninit<Self>>>) -> R) -> Option<R> {
        SPARE.try_with(|spare| with(&mut spare.borrow_mut())).ok()
    }
}
