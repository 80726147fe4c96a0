//! Counted handles: shared values whose boxes are used again.
//!
//! A program of small operations makes and drops a store for each of them, and asking the system
//! for memory every time would cost as much as issuing the task. So the last [`Counted`] handle of
//! a value leaves its empty box with its thread, and the next new value takes it. A handle is an
//! [`Arc`] otherwise.
#![expect(
    unsafe_code,
    reason = "the box of a dropped value is kept as one that holds nothing"
)]

use std::cell::RefCell;
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Deref;
use std::sync::{Arc, Weak};

/// The most empty boxes of a type that a thread keeps: more than a window has stores.
const MOST: usize = 2048;

/// The empty boxes of a thread: each type has its own list.
pub(crate) type Spare<T> = RefCell<Vec<Arc<MaybeUninit<T>>>>;

/// What handles may hold: a type whose empty boxes every thread keeps.
pub(crate) trait Recycled: Sized {
    /// What `with` makes of this thread's empty boxes; nothing when the thread is ending.
    fn spare<R>(with: impl FnOnce(&mut Vec<Arc<MaybeUninit<Self>>>) -> R) -> Option<R>;
}

/// A shared value, counted as by [`Arc`]; see the module's text.
pub(crate) struct Counted<T: Recycled>(ManuallyDrop<Arc<T>>);

impl<T: Recycled> Counted<T> {
    pub(crate) fn new(value: T) -> Self {
        let Some(mut spare) = T::spare(Vec::pop).flatten() else {
            return Self(ManuallyDrop::new(Arc::new(value)));
        };
        let place = Arc::get_mut(&mut spare).expect("an empty box has one owner");
        place.write(value);
        // SAFETY: the value has just been written.
        Self(ManuallyDrop::new(unsafe { spare.assume_init() }))
    }

    /// Whether two handles hold the same value, not only equal ones.
    pub(crate) fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Where the value lies: the same for all its handles.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// A handle that keeps no value, and as long as it is there no other value has this address.
    pub(crate) fn downgrade(&self) -> Weak<T> {
        Arc::downgrade(&self.0)
    }

    /// The number of handles of this value.
    pub(crate) fn count(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// The value for writing, if this is its only handle.
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        Arc::get_mut(&mut self.0)
    }
}

impl<T: Recycled> Drop for Counted<T> {
    fn drop(&mut self) {
        // SAFETY: the field is not used again, as this handle ends.
        let shared = unsafe { ManuallyDrop::take(&mut self.0) };
        // If two threads drop the last two handles at once, neither sees itself as the last, and
        // the box goes back to the system.
        if Arc::strong_count(&shared) == 1 {
            recycle(shared);
        }
    }
}

/// Drops a value, if this is its only owner, and keeps its box.
fn recycle<T: Recycled>(mut shared: Arc<T>) {
    if Arc::get_mut(&mut shared).is_none() {
        return;
    }
    let value = Arc::into_raw(shared).cast_mut();
    // SAFETY: `get_mut` has found no other owner, strong or weak, and there is none to be had of
    // this one, so the value is ours alone. It is dropped once: from here on the box counts as one
    // of a `MaybeUninit`, which has the same size and alignment, as `Arc::from_raw` asks.
    let empty = unsafe {
        value.drop_in_place();
        Arc::from_raw(value.cast_const().cast::<MaybeUninit<T>>())
    };
    T::spare(|spare| {
        if spare.len() < MOST {
            spare.push(empty);
        }
    });
}

impl<T: Recycled> Clone for Counted<T> {
    fn clone(&self) -> Self {
        Self(ManuallyDrop::new(Arc::clone(&self.0)))
    }
}

impl<T: Recycled> Deref for Counted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Recycled + fmt::Debug> fmt::Debug for Counted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::instance::Instance;
    use crate::memory::pool::Pool;

    fn instance(pool: &Arc<Pool>) -> Counted<Instance> {
        let memory = pool.allocate(64, 1).unwrap();
        Counted::new(Instance::new(memory, 0..8, 8, 8))
    }

    #[test]
    fn the_last_handle_drops_the_value_and_its_box_is_used_again() {
        let pool = Pool::new(usize::MAX);
        let mut first = instance(&pool);
        let box_of_first: *const Instance = &raw const *first;
        let second = first.clone();
        assert!(first.ptr_eq(&second) && first.count() == 2 && first.get_mut().is_none());
        drop(second);
        assert!(first.get_mut().is_some() && pool.in_use() == 64);
        drop(first);
        assert_eq!(pool.in_use(), 0);
        let again = instance(&pool);
        assert_eq!(&raw const *again, box_of_first);
        assert!(again.len() == 8 && pool.in_use() == 64);
    }

    #[test]
    fn threads_that_drop_the_last_handles_at_once_drop_the_value_once() {
        let pool = Pool::new(usize::MAX);
        for _ in 0..200 {
            let handles: Vec<_> = std::iter::repeat_n(instance(&pool), 4).collect();
            std::thread::scope(|scope| {
                for handle in handles {
                    scope.spawn(move || drop(handle));
                }
            });
            assert_eq!(pool.in_use(), 0);
        }
    }
}
