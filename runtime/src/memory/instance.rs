//! Instances: memory that holds rows of a store on this rank, with room for rows around them.
//!
//! A store that is seen through shifted views is read where it is: the rows of other ranks that the
//! views need, the halo, arrive in front of and behind the rank's own ones. They are no part of the
//! store, and stay valid until it is written: the analysis knows (`analysis/halos.rs`), and the
//! instance whether they have arrived on this rank.
#![expect(unsafe_code, reason = "memory is read as elements of a type")]

use super::counted::{Recycled, Spare};
use super::mirror::{DeviceSlices, SlicedValues, Use};
use super::pool::{Memory, Pool};
use crate::error::Error;
use crate::geometry::partition::needs::NeedsId;
use sparsefuse_kernels::device::{Address, DeviceError};
use sparsefuse_kernels::{DType, Element};
use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

thread_local! {
    static SPARE: Spare<Instance> = const { RefCell::new(Vec::new()) };
}

/// Memory that holds rows of a store on this rank.
#[derive(Debug)]
pub(crate) struct Instance {
    memory: Memory,
    /// The rows of the store that it holds, all other dimensions whole.
    pub(crate) rows: Range<usize>,
    /// The number of elements.
    len: usize,
    /// The bytes of the memory in front of the elements.
    skip: usize,
    /// How many rows there is room for in front of these and behind them.
    room: [usize; 2],
    /// The bytes of a row, where there is room for some.
    row_bytes: usize,
    /// The word of the needs whose rows have arrived in the room last, 0 where none are whole; used
    /// by the engine alone.
    around: AtomicU64,
    /// Why none have arrived, if that has failed.
    lost: Mutex<Option<Error>>,
    /// What tells its elements from those of others, 0 before the first question.
    number: AtomicU64,
}

/// The last number of an instance.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// The alignment of the elements where there is room in front of them: that of the pool.
const ALIGNMENT: usize = 64;

impl Instance {
    /// # Panics
    ///
    /// If the memory is smaller than `len` elements of `size` bytes: who allocates knows the size.
    pub(crate) fn new(memory: Memory, rows: Range<usize>, len: usize, size: usize) -> Self {
        assert!(
            len.checked_mul(size)
                .is_some_and(|bytes| bytes <= memory.len()),
            "an instance's memory holds all of its elements"
        );
        Self {
            memory,
            rows,
            len,
            skip: 0,
            room: [0; 2],
            row_bytes: 0,
            around: AtomicU64::new(0),
            lost: Mutex::new(None),
            number: AtomicU64::new(0),
        }
    }

    /// New memory for these rows of `row_len` elements of `size` bytes, with room for as many rows
    /// in front of them and behind them.
    ///
    /// # Errors
    ///
    /// If memory runs out.
    pub(crate) fn with_room(
        pool: &Arc<Pool>,
        rows: Range<usize>,
        room: [usize; 2],
        (row_len, size): (usize, usize),
    ) -> Result<Self, Error> {
        let [before, behind] = room.map(|rows| rows.saturating_mul(row_len));
        let before = before
            .checked_next_multiple_of(ALIGNMENT)
            .unwrap_or(usize::MAX);
        let len = rows.len() * row_len;
        let all = len.saturating_add(before).saturating_add(behind);
        let memory = pool.allocate(all, size)?;
        let skip = before * size;
        Ok(Self {
            memory,
            rows,
            len,
            skip,
            room,
            row_bytes: row_len * size,
            around: AtomicU64::new(0),
            lost: Mutex::new(None),
            number: AtomicU64::new(0),
        })
    }

    /// A copy in new memory, with what is around the elements.
    ///
    /// # Errors
    ///
    /// If memory runs out.
    pub(crate) fn duplicate(&self, pool: &Arc<Pool>) -> Result<Self, Error> {
        let memory = pool.allocate(self.memory.len(), 1)?;
        // SAFETY: both have as many bytes, those of the pool or of a vector that it has adopted are
        // initialised (`block.rs`), and the new memory has no other user. Callers hold the engine's
        // lock, so nothing writes the old one.
        unsafe {
            std::ptr::copy_nonoverlapping(self.memory.to_read(), memory.data(), self.memory.len());
        }
        Ok(Self {
            memory,
            rows: self.rows.clone(),
            len: self.len,
            skip: self.skip,
            room: self.room,
            row_bytes: self.row_bytes,
            around: AtomicU64::new(self.around.load(Ordering::Relaxed)),
            lost: Mutex::new(self.lost()),
            number: AtomicU64::new(0),
        })
    }

    /// Says that it is about to be written: its elements will be others.
    pub(crate) fn will_be_written(&mut self) {
        self.number = AtomicU64::new(0);
    }

    /// Lets go of what it holds behind the rank's own rows, of `row_len` elements: it is a copy of
    /// what others have, which a kernel that writes in place leaves as it was.
    pub(crate) fn cut_to(&mut self, own: &Range<usize>, row_len: usize) {
        let is_longer = self.rows.start == own.start && self.rows.end > own.end;
        if is_longer && self.len == self.rows.len() * row_len {
            self.rows = own.clone();
            self.len = own.len() * row_len;
        }
    }

    /// Whether there is room for as many rows of `row_bytes` bytes. A store without rows on this
    /// rank may have the memory of one with other rows.
    pub(crate) fn has_room(&self, room: [usize; 2], row_bytes: usize) -> bool {
        let fits = |side: usize| {
            room[side] == 0 || room[side] <= self.room[side] && row_bytes == self.row_bytes
        };
        fits(0) && fits(1)
    }

    /// The needs whose rows are in the room, if nothing has been written to the elements since.
    pub(crate) fn around(&self) -> Option<NeedsId> {
        NeedsId::from_word(self.around.load(Ordering::Relaxed))
    }

    /// Why what should be in the room has not arrived, if that is known.
    pub(crate) fn lost(&self) -> Option<Error> {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.clone()
    }

    /// Says why what should be in the room is not: until it is written anew, later tasks fail for
    /// the same reason.
    pub(crate) fn set_lost(&self, cause: &Error) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        *lost = Some(cause.clone());
    }

    /// Says which rows are in the room from now on.
    pub(crate) fn set_around(&self, needs: Option<NeedsId>) {
        self.around.store(NeedsId::word(needs), Ordering::Relaxed);
    }

    /// The address of the first element, to read and write there.
    #[inline]
    pub(crate) fn data(&self) -> *mut u8 {
        self.memory.data().wrapping_add(self.skip)
    }

    /// The address of the first element, to read there.
    #[inline]
    pub(crate) fn to_read(&self) -> *const u8 {
        self.memory.to_read().wrapping_add(self.skip)
    }

    /// Whether the place `bytes` from the first element is not in front of the memory.
    pub(crate) fn begins_before(&self, bytes: isize) -> bool {
        bytes.min(0).unsigned_abs() <= self.skip
    }

    /// A number that tells its elements from those of others, wherever they are moved
    /// ([`Instance::is_moved_from`]): ranks that move theirs and ranks that do not go on alike.
    pub(crate) fn number(&self) -> u64 {
        match self.number.load(Ordering::Relaxed) {
            0 => {
                let number = NUMBERS.fetch_add(1, Ordering::Relaxed) + 1;
                self.number.store(number, Ordering::Relaxed);
                number
            }
            number => number,
        }
    }

    /// Says that its elements are those of another instance, which has moved here.
    pub(crate) fn is_moved_from(&self, old: &Self) {
        let number = old.number.load(Ordering::Relaxed);
        self.number.store(number, Ordering::Relaxed);
    }

    /// The address of the first element in the memory of the rank's device, if it has one.
    pub(crate) fn on_device(&self, access: Use) -> Option<Result<u64, DeviceError>> {
        let address = self.memory.on_device(access)?;
        Some(address.map(|Address(address)| address + self.skip as u64))
    }

    /// The entries of this type, from number `first` on, in the order of slices, in memory of the
    /// device.
    ///
    /// # Safety
    /// There are such entries, as many as the slices name.
    pub(crate) unsafe fn sliced(
        &self,
        (first, dtype): (usize, DType),
        slices: &Arc<DeviceSlices>,
    ) -> Option<Result<Arc<SlicedValues>, DeviceError>> {
        let skip = self.skip + first * dtype.size();
        // SAFETY: forwarded.
        unsafe { self.memory.sliced((skip, dtype), slices) }
    }

    /// Whether the device has it up to date.
    pub(crate) fn is_on_device(&self) -> bool {
        self.memory.is_on_device()
    }

    /// The bytes of the rows in front of the rank's own ones, of which there are `own`, nearest
    /// ones, or behind them, of which there are `n_rows` of `row_bytes` bytes. What the instance
    /// has itself behind the own rows are the same ones.
    ///
    /// # Panics
    ///
    /// If there is no room for them.
    ///
    /// # Safety
    ///
    /// Nothing else reads or writes the room while the slice lives.
    #[expect(clippy::mut_from_ref, reason = "the room is no part of what is shared")]
    pub(crate) unsafe fn halo(
        &self,
        side: Side,
        (own, n_rows): (usize, usize),
        row_bytes: usize,
    ) -> &mut [u8] {
        let bytes = n_rows * row_bytes;
        let first = match side {
            Side::Before => self.skip.checked_sub(bytes),
            Side::Behind => Some(self.skip + own * row_bytes),
        };
        let fits = |first: &usize| first.checked_add(bytes) <= Some(self.memory.len());
        let first = first.filter(|first| n_rows <= self.room[side as usize] && fits(first));
        let first = first.expect("an instance has room for its halo");
        // SAFETY: the bytes are within the memory and outside of the own rows, by the lines above;
        // memory of the pool is initialised (`block.rs`); the caller promises that they are not
        // used elsewhere.
        unsafe { std::slice::from_raw_parts_mut(self.memory.data().add(first), bytes) }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The bytes of its memory from the first element on.
    pub(super) fn capacity(&self) -> usize {
        self.memory.len() - self.skip
    }

    /// The elements.
    ///
    /// # Safety
    ///
    /// The instance belongs to a store of element type `T`, every byte was written as a `T`, and
    /// it is not written while the slice lives.
    pub(crate) unsafe fn as_slice<T: Element>(&self) -> &[T] {
        // SAFETY: the memory holds `len` elements (`Instance::new`), is aligned to 64 bytes or
        // came from a `Vec<T>`, and the caller promises type and freedom from writers.
        unsafe { std::slice::from_raw_parts(self.to_read().cast::<T>(), self.len) }
    }
}

/// Where a halo lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// In front of the rank's own rows.
    Before = 0,
    /// Behind them.
    Behind = 1,
}

impl Recycled for Instance {
    fn spare<R>(with: impl FnOnce(&mut Vec<Arc<MaybeUninit<Self>>>) -> R) -> Option<R> {
        SPARE.try_with(|spare| with(&mut spare.borrow_mut())).ok()
    }
}
