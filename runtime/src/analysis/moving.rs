//! Where the views of a window lie, and how far they have moved since it was analysed.
//!
//! A program that writes row after row of a record sees another part of it in each step. Were it
//! part of a window's key where a view lies, each such window would be new. So the key has how far
//! a view lies from the one before it of the same store, which tells how the window's views of it
//! lie to each other; where the first one lies is kept beside the key ([`Places`]), and the
//! schedule is run with the difference to the place for which it was made.
//!
//! The invariant: of a store that may have moved, a window sees nothing but parts of that store in
//! its own shape, through views. What it sees whole, in another shape or in a host task stays where
//! it is in the key, and so does everything on several ranks, of which each holds other rows.

use crate::geometry::view::View;
use crate::shape::{MAX_RANK, Shape};

/// Where something lies along each dimension of a store.
pub(crate) type Offset = [usize; MAX_RANK];

/// Where a window sees one of its stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The first view of it and the last one.
    first: Offset,
    last: Offset,
    /// Whether the key has where it lies.
    is_fixed: bool,
    /// The first element of the last view before the window; `usize::MAX` if there was none.
    before: usize,
}

/// Where a window sees its stores.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// Whether places may be left out of the key at all.
    may_move: bool,
    /// By slot, of the stores up to the last one that is seen through a view.
    of: Vec<Option<Place>>,
    /// What the task that is being issued has changed.
    changed: Vec<(u32, Option<Place>)>,
}

/// A view of a store as a window's task has it.
pub(crate) struct Sight<'a> {
    pub(crate) slot: u32,
    pub(crate) view: &'a View,
    /// The shape of the store.
    pub(crate) shape: &'a Shape,
    /// Whether the window has not seen the store before.
    pub(crate) is_new: bool,
    /// Whether it is an argument of a host task.
    pub(crate) is_host: bool,
    /// The first element of the last view of the store.
    pub(crate) before: usize,
}

impl Places {
    pub(crate) fn new(may_move: bool) -> Self {
        Self {
            may_move,
            ..Self::default()
        }
    }

    pub(crate) fn may_move(&self) -> bool {
        self.may_move
    }

    /// A further task begins.
    pub(crate) fn begin_task(&mut self) {
        self.changed.clear();
    }

    /// Takes back what the task has changed, which is not issued.
    pub(crate) fn take_back(&mut self) {
        while let Some((slot, place)) = self.changed.pop() {
            self.of[slot as usize] = place;
        }
    }

    /// Appends the words of an argument that is a whole store.
    pub(crate) fn push_whole(&mut self, slot: u32, key: &mut Vec<u64>) {
        if !self.of.is_empty() {
            self.fix(slot, key);
        }
        key.push(u64::from(slot));
    }

    /// Appends the words of an argument that is a view.
    pub(crate) fn push_view(&mut self, sight: &Sight<'_>, key: &mut Vec<u64>) {
        let Sight {
            slot, view, shape, ..
        } = *sight;
        let number = slot as usize;
        if self.of.len() <= number {
            self.of.resize(number + 1, None);
        }
        let may_move = self.may_move && !sight.is_host && view.is_part_of(shape);
        if !may_move {
            self.fix(slot, key);
        }
        self.changed.push((slot, self.of[number]));
        let offset = *view.offset();
        let place = self.of[number].get_or_insert(Place {
            first: offset,
            last: offset,
            is_fixed: !(may_move && sight.is_new),
            before: sight.before,
        });
        key.push(u64::from(slot) | 1 << 32);
        let from = match place.is_fixed {
            true => [0; MAX_RANK],
            false => place.last,
        };
        view.push_words_from(&from, key);
        place.last = offset;
    }

    /// Lets the key have where a store lies, if it has not yet.
    fn fix(&mut self, slot: u32, key: &mut Vec<u64>) {
        if let Some(Some(place)) = self.of.get_mut(slot as usize)
            && !place.is_fixed
        {
            self.changed.push((slot, Some(*place)));
            place.is_fixed = true;
            key.push(u64::from(slot) | 1 << 33);
            key.extend(place.first.map(|offset| offset as u64));
        }
    }

    /// Where a slot lies, if it is seen through a view.
    fn of(&self, slot: u32) -> Option<&Place> {
        self.of.get(slot as usize)?.as_ref()
    }

    /// Where the views of a store begin, as seen from another place: where the last one before the
    /// window began, or the first one, or as the key has it.
    pub(super) fn origin(&self, slot: u32, first: usize) -> usize {
        match self.of(slot) {
            Some(place) if !place.is_fixed && place.before == usize::MAX => first,
            Some(place) if !place.is_fixed => place.before,
            _ => 0,
        }
    }

    /// Forgets the slots from this one on.
    pub(crate) fn forget(&mut self, first: usize) {
        self.of.truncate(first);
    }

    pub(crate) fn clear(&mut self) {
        self.of.clear();
    }

    /// Takes over where those of another window lie.
    pub(crate) fn clone_places(&mut self, other: &Self) {
        self.of.clone_from(&other.of);
    }

    /// Whether two windows with equal keys lie at the same places.
    pub(crate) fn are_same(&self, other: &Self) -> bool {
        self.free().eq(other.free())
    }

    /// The slots of which the key does not have where they lie, and where that is.
    pub(crate) fn free(&self) -> impl Iterator<Item = (u32, Offset)> {
        let places = self.of.iter().zip(0..);
        places.filter_map(|(place, slot)| {
            let place = place.as_ref().filter(|place| !place.is_fixed)?;
            Some((slot, place.first))
        })
    }
}

/// By how many elements the slots have moved whose place is another one than that for which a
/// schedule was made. Both lists have the same slots, since the keys are equal.
pub(crate) fn moved<'a>(
    now: impl Iterator<Item = (u32, Offset)> + 'a,
    then: &'a [(u32, Offset)],
    shape: impl Fn(u32) -> Shape + 'a,
) -> impl Iterator<Item = (u32, isize)> + 'a {
    now.zip(then).filter_map(move |((slot, now), (_, then))| {
        let shape = shape(slot);
        let first = |offset: &Offset| {
            let dims = shape.dims().iter().zip(offset);
            dims.fold(0_isize, |first, (&dim, &at)| {
                first * dim as isize + at as isize
            })
        };
        let by = first(&now) - first(then);
        (by != 0).then_some((slot, by))
    })
}
