//! The pool: memory of the system that is kept for the next store.
//!
//! Page faults of fresh memory cost more than the arithmetic on it, so freed memory is kept by
//! size class and handed out again: as much as makes, together with what is in use, the most that
//! was ever in use. So a method that drops its basis and builds the next finds the memory again,
//! and a program never holds more than it once needed. The pool counts the bytes in use and the
//! most there ever were, and refuses what would go beyond its limit.
#![expect(unsafe_code, reason = "memory is shared among threads")]

use crate::error::{Error, ErrorKind};
use crate::memory::block::Block;
use crate::memory::mirror::{DeviceMemory, DeviceSlices, Mirror, SlicedValues, Use};
use sparsefuse_kernels::device::{Address, DeviceError};
use sparsefuse_kernels::{DType, Element};
use std::any::Any;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The smallest size class.
const SMALLEST: usize = 64;
/// The bytes that a pool may hold though they were never in use together: blocks of other sizes.
const SPARE: usize = 64 << 20;

/// The memory of one rank.
#[derive(Debug)]
pub(crate) struct Pool {
    free: Mutex<Free>,
    in_use: AtomicUsize,
    peak: AtomicUsize,
    limit: usize,
    /// The device of the rank.
    device: Option<Arc<DeviceMemory>>,
}

/// What is kept for later.
#[derive(Debug)]
struct Free {
    /// Blocks of the sizes of their classes, one list for each.
    lists: Vec<Vec<Block>>,
    /// Their bytes.
    bytes: usize,
}

impl Free {
    fn pop(&mut self, class: usize) -> Option<Block> {
        let block = self.lists[class].pop()?;
        self.bytes -= size(class);
        Some(block)
    }

    fn push(&mut self, class: usize, block: Block) {
        self.lists[class].push(block);
        self.bytes += size(class);
    }

    /// Gives blocks back to the system, large ones first, until at most `most` bytes are kept.
    fn shrink(&mut self, most: usize) {
        if self.bytes <= most {
            return;
        }
        for class in (0..self.lists.len()).rev() {
            while self.bytes > most && self.pop(class).is_some() {}
        }
    }
}

/// The bytes of a block of a class: the inverse of [`class`].
fn size(class: usize) -> usize {
    let (power, steps) = (class / 4, class % 4);
    (1 << power) + (steps << (power - 2))
}

/// The size class of `bytes`: its number and its size. Four classes to each power of two.
fn class(bytes: usize) -> Option<(usize, usize)> {
    let bytes = bytes.max(SMALLEST);
    let power = usize::BITS - 1 - bytes.leading_zeros();
    let quarter = 1usize << (power - 2);
    let size = bytes.checked_add(quarter - 1)? & !(quarter - 1);
    if size > isize::MAX as usize {
        return None;
    }
    let power = usize::BITS - 1 - size.leading_zeros();
    let steps = (size - (1 << power)) >> (power - 2);
    Some((power as usize * 4 + steps, size))
}

/// The bytes that memory for `len` elements of `size` bytes takes of the limit.
pub(crate) fn taken(len: usize, size: usize) -> usize {
    class(len.saturating_mul(size)).map_or(usize::MAX, |(_, size)| size)
}

impl Pool {
    #[cfg(test)]
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Self::with_device(limit, None)
    }

    /// The memory of a rank with a device, which may have copies of it.
    pub(crate) fn with_device(limit: usize, device: Option<Arc<DeviceMemory>>) -> Arc<Self> {
        let lists = (0..=usize::BITS as usize * 4).map(|_| Vec::new()).collect();
        let free = Free { lists, bytes: 0 };
        let (in_use, peak) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self {
            free: Mutex::new(free),
            in_use,
            peak,
            limit,
            device,
        })
    }

    /// The device of the rank.
    pub(crate) fn device(&self) -> Option<&Arc<DeviceMemory>> {
        self.device.as_ref()
    }

    fn mirror(&self, bytes: usize, is_written: bool) -> Option<Box<Mirror>> {
        let device = self.device.as_ref()?;
        Some(Box::new(Mirror::new(device, bytes, is_written)))
    }

    /// Counts bytes in use that a function takes from elsewhere, as long as this lives.
    pub(crate) fn reserve(self: &Arc<Self>, bytes: usize) -> Result<Reserved, Error> {
        self.count(bytes).ok_or_else(|| self.out_of_memory(bytes))?;
        let pool = Arc::clone(self);
        Ok(Reserved { bytes, pool })
    }

    /// Memory for `len` elements of `size` bytes, with whatever its last user left there.
    pub(crate) fn allocate(self: &Arc<Self>, len: usize, size: usize) -> Result<Memory, Error> {
        let bytes = len.saturating_mul(size);
        let refuse = || -> Error { ErrorKind::Refused { wanted: bytes }.into() };
        let (class, size) = class(bytes).ok_or_else(refuse)?;
        self.count(size).ok_or_else(|| self.out_of_memory(size))?;
        let kept = self.free().pop(class);
        match kept.or_else(|| self.fresh(size)) {
            Some(block) => Ok(Memory {
                data: block.data(),
                bytes: size,
                mirror: self.mirror(size, false),
                source: Source::Pool(block, class),
                pool: Arc::clone(self),
            }),
            None => {
                self.in_use.fetch_sub(size, Ordering::Relaxed);
                Err(refuse())
            }
        }
    }

    /// A block from the system, to which other blocks are given back where there are too many of
    /// them, or where it has no more.
    fn fresh(&self, size: usize) -> Option<Block> {
        self.free().shrink(self.most_free());
        Block::new(size).or_else(|| {
            self.free().shrink(0);
            Block::new(size)
        })
    }

    /// The most bytes to keep besides those in use.
    fn most_free(&self) -> usize {
        self.peak()
            .saturating_add(SPARE)
            .saturating_sub(self.in_use())
    }

    /// The elements of a vector as memory, without a copy, unless it has room for more than twice
    /// as many.
    pub(crate) fn adopt<T: Element>(self: &Arc<Self>, elements: Vec<T>) -> Result<Memory, Error> {
        let bytes = elements.len() * size_of::<T>();
        self.count(bytes).ok_or_else(|| self.out_of_memory(bytes))?;
        let mut elements = elements;
        if elements.capacity() / 2 > elements.len() {
            // Room that was made for more is not counted.
            elements.shrink_to_fit();
        }
        let data = NonNull::from(elements.as_mut_slice()).cast();
        Ok(Memory {
            data,
            bytes,
            mirror: self.mirror(bytes, true),
            source: Source::Vec(Box::new(elements)),
            pool: Arc::clone(self),
        })
    }

    fn out_of_memory(&self, wanted: usize) -> Error {
        let in_use = self.in_use.load(Ordering::Relaxed);
        ErrorKind::OutOfMemory {
            wanted,
            available: self.limit.saturating_sub(in_use),
            limit: self.limit,
        }
        .into()
    }

    /// Counts `bytes` more in use, unless that goes beyond the limit.
    fn count(&self, bytes: usize) -> Option<()> {
        // Relaxed: the counters publish nothing but themselves.
        let counted = |now: usize| now.checked_add(bytes).filter(|&now| now <= self.limit);
        let before = self
            .in_use
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted);
        let now = before.ok()? + bytes;
        self.peak.fetch_max(now, Ordering::Relaxed);
        Some(())
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        // A panic while the lists are locked leaves them whole: they are only pushed and popped.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The most bytes that were in use at a time.
    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// Whether so many bytes may be in use besides those that are.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.in_use().saturating_add(bytes) <= self.limit
    }

    /// As [`Pool::has_room`], with the error where there is none.
    pub(crate) fn check_room(&self, bytes: usize) -> Result<(), Error> {
        match self.has_room(bytes) {
            true => Ok(()),
            false => Err(self.out_of_memory(bytes)),
        }
    }

    /// The bytes in use now.
    pub(crate) fn in_use(&self) -> usize {
        self.in_use.load(Ordering::Relaxed)
    }
}

/// Bytes that count as in use.
#[derive(Debug)]
pub(crate) struct Reserved {
    bytes: usize,
    pool: Arc<Pool>,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.pool.in_use.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Memory with one owner; back to its pool when dropped.
#[derive(Debug)]
pub(crate) struct Memory {
    data: NonNull<u8>,
    bytes: usize,
    /// The copy of the device, where the rank has one.
    mirror: Option<Box<Mirror>>,
    source: Source,
    pool: Arc<Pool>,
}

#[derive(Debug)]
enum Source {
    Pool(Block, usize),
    /// The vector that owns the memory; only its drop is needed.
    Vec(#[expect(dead_code, reason = "kept alive, never read")] Box<dyn Any + Send + Sync>),
    /// The block has been given back.
    Empty,
}

// SAFETY: `data` points into the block or vector that `source` owns, both of which are `Send`.
unsafe impl Send for Memory {}
// SAFETY: a shared `Memory` gives out its address only.
unsafe impl Sync for Memory {}

impl Drop for Memory {
    fn drop(&mut self) {
        self.pool.in_use.fetch_sub(self.bytes, Ordering::Relaxed);
        if let Source::Pool(block, class) = std::mem::replace(&mut self.source, Source::Empty) {
            let mut free = self.pool.free();
            if free.bytes + self.bytes <= self.pool.most_free() {
                free.push(class, block);
            }
        }
    }
}

impl Memory {
    /// Its address, to read and write there.
    #[inline]
    pub(crate) fn data(&self) -> *mut u8 {
        self.to_host(Use::Write)
    }

    /// Its address, to read there.
    #[inline]
    pub(crate) fn to_read(&self) -> *const u8 {
        self.to_host(Use::Read)
    }

    #[inline]
    fn to_host(&self, access: Use) -> *mut u8 {
        if let Some(mirror) = &self.mirror {
            // SAFETY: the memory has these bytes. What is out of date here was written on the
            // device since, which only a task that may write it asks for, and a task that read it
            // before has asked for its address again.
            unsafe { mirror.to_host(self.data.as_ptr(), access) };
        }
        self.data.as_ptr()
    }

    /// Its address on the device of its rank, if that has one.
    pub(crate) fn on_device(&self, access: Use) -> Option<Result<Address, DeviceError>> {
        let mirror = self.mirror.as_ref()?;
        // SAFETY: the memory has these bytes. Who runs a kernel on it holds the engine's lock, and
        // keeps others from writing it as it does for kernels of the host.
        Some(unsafe { mirror.on_device(self.data.as_ptr(), access) })
    }

    /// The entries of this type that it holds from byte `skip` on, in the order of slices, in
    /// memory of the device.
    ///
    /// # Safety
    /// There are such entries, as many as the slices name.
    pub(crate) unsafe fn sliced(
        &self,
        entries: (usize, DType),
        slices: &Arc<DeviceSlices>,
    ) -> Option<Result<Arc<SlicedValues>, DeviceError>> {
        let mirror = self.mirror.as_ref()?;
        // SAFETY: as in `on_device`; the caller promises the entries.
        Some(unsafe { mirror.sliced(self.data.as_ptr(), entries, slices) })
    }

    /// Whether the device has it up to date.
    pub(crate) fn is_on_device(&self) -> bool {
        self.mirror
            .as_ref()
            .is_some_and(|mirror| mirror.is_on_device())
    }

    /// Its bytes, at least as many as were asked for.
    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    /// Where the memory comes from.
    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_what_was_asked_and_waste_little() {
        for bytes in (0..100_000).step_by(37) {
            let (number, size) = class(bytes).unwrap();
            assert!(
                size >= bytes && size <= (bytes + bytes / 4 + 1).max(SMALLEST),
                "{bytes}"
            );
            assert_eq!(class(size), Some((number, size)));
        }
        assert_eq!(class(usize::MAX), None);
    }

    #[test]
    fn the_pool_reuses_counts_and_refuses() {
        let pool = Pool::new(10_000);
        let first = pool.allocate(4096, 1).unwrap();
        let address = first.data();
        drop(first);
        let again = pool.allocate(500, 8).unwrap();
        assert_eq!(again.data(), address);
        assert_eq!((pool.in_use(), pool.peak()), (4096, 4096));
        let refused = pool.allocate(1000, 8).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "expected 8192 bytes of memory, found 5904 left under the limit of 10000"
        );
        for (len, size) in [(usize::MAX, 1), (1 << 61, 8), (isize::MAX as usize, 2)] {
            let refused = Pool::new(usize::MAX).allocate(len, size).unwrap_err();
            let text = "expected 18446744073709551615 bytes of memory, found that the system";
            assert!(refused.to_string().starts_with(text) || len == isize::MAX as usize);
        }
        let adopted = pool.adopt(vec![1.0f64; 100]).unwrap();
        assert_eq!(pool.in_use(), 4096 + 800);
        let reserved = pool.reserve(5000).unwrap();
        assert_eq!(pool.in_use(), 4096 + 800 + 5000);
        assert!(pool.reserve(105).is_err() && pool.reserve(104).is_ok());
        drop(reserved);
        drop((again, adopted));
        assert_eq!((pool.in_use(), pool.peak()), (0, 10_000));
    }
}
