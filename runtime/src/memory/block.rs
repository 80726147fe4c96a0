//! Blocks of memory from the system.
//!
//! Small blocks come from the allocator. Large ones are mapped, begin at a huge page and ask for
//! huge pages, since with pages of 4 KiB a program that streams through memory waits for addresses
//! to be translated. Nothing of a large block is touched here: its pages come to be where, and on
//! the thread that, writes to them first.
//!
//! All large blocks begin at the same place of a huge page. To have them begin at different places,
//! so that the rows of arrays of equal length lie in different sets of the caches, was tried: an
//! array of 2 MiB, as a grid of 512 by 512 points is, lies in two huge pages then, the second of
//! which is none, and CG and BiCGSTAB took 1.05 to 1.1 times as long; nothing was faster.
//!
//! Invariant: every byte of a block is initialised; fresh ones are zero.
#![expect(
    unsafe_code,
    reason = "memory is allocated here, and reached through raw pointers"
)]

use memmap2::MmapMut;
use std::alloc::Layout;
use std::ptr::NonNull;

/// Small blocks begin at a multiple of this: a cache line, and the widest vector register.
const ALIGNMENT: usize = 64;
/// Large blocks have at least this many bytes: a huge page.
pub(super) const HUGE_PAGE: usize = 2 << 20;

/// A block from the system.
#[derive(Debug)]
pub(crate) struct Block {
    data: NonNull<u8>,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Allocated(Layout),
    /// The mapping that holds the block; only its drop is needed.
    Mapped(#[expect(dead_code, reason = "kept alive, never read")] MmapMut),
}

// SAFETY: a block is plain memory with one owner; nothing in it is tied to a thread.
unsafe impl Send for Block {}
// SAFETY: a shared block gives out its address only; access is the business of its users.
unsafe impl Sync for Block {}

impl Drop for Block {
    fn drop(&mut self) {
        if let Source::Allocated(layout) = self.source {
            // SAFETY: `data` came from `alloc_zeroed` with this layout, in `Block::allocated`, and
            // a block is dropped once.
            unsafe { std::alloc::dealloc(self.data.as_ptr(), layout) };
        }
    }
}

impl Block {
    /// A block of `size` bytes, above 0, if the system has them.
    pub(crate) fn new(size: usize) -> Option<Self> {
        if size < HUGE_PAGE {
            Self::allocated(size)
        } else {
            Self::mapped(size)
        }
    }

    pub(crate) fn data(&self) -> NonNull<u8> {
        self.data
    }

    fn allocated(size: usize) -> Option<Self> {
        assert!(size > 0, "a block has bytes");
        let layout = Layout::from_size_align(size, ALIGNMENT).ok()?;
        // SAFETY: the layout's size is not 0.
        let data = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })?;
        Some(Self {
            data,
            source: Source::Allocated(layout),
        })
    }

    fn mapped(size: usize) -> Option<Self> {
        let mut map = MmapMut::map_anon(size.checked_add(HUGE_PAGE)?).ok()?;
        // Where the system has no huge pages to give, small ones do.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        let skip = map.as_ptr().align_offset(HUGE_PAGE);
        let data = NonNull::from(&mut map[skip..skip + size]).cast();
        Some(Self {
            data,
            source: Source::Mapped(map),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_zero_and_writable_to_the_end() {
        for (size, alignment) in [(1, 64), (4096, 64), (2 << 20, 2 << 20), (5 << 20, 2 << 20)] {
            let block = Block::new(size).unwrap();
            let data = block.data().as_ptr();
            assert_eq!(data.align_offset(alignment), 0);
            // SAFETY: the block has `size` bytes and no other user.
            let bytes = unsafe { std::slice::from_raw_parts_mut(data, size) };
            assert!(bytes.iter().all(|&byte| byte == 0));
            bytes.fill(1);
        }
        assert!(Block::new(isize::MAX as usize).is_none());
        assert!(Block::new(usize::MAX).is_none());
    }
}
