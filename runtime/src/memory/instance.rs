//! Instances: memory that holds rows of a store on this rank.
#![expect(unsafe_code, reason = "memory is read as elements of a type")]

use super::counted::{Recycled, Spare};
use super::pool::Memory;
use sparsefuse_kernels::Element;
use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

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
}

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
        Self { memory, rows, len }
    }

    pub(crate) fn data(&self) -> *mut u8 {
        self.memory.data()
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The bytes of its memory.
    pub(super) fn capacity(&self) -> usize {
        self.memory.len()
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
        unsafe { std::slice::from_raw_parts(self.data().cast::<T>(), self.len) }
    }
}

impl Recycled for Instance {
    fn spare<R>(with: impl FnOnce(&mut Vec<Arc<MaybeUninit<Self>>>) -> R) -> Option<R> {
        SPARE.try_with(|spare| with(&mut spare.borrow_mut())).ok()
    }
}
