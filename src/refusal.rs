//! The end of a program to which the system refuses memory: one line and status 2.
//!
//! What is as large as a matrix is asked for in ways that can fail, and a failure is an error like
//! all others. Small lists are not: where the system refuses one, it comes out of a spare that was
//! set aside, and the program goes on until something large is refused, which it can name. For what
//! remains (large blocks of other libraries, a spare that is used up) the standard library prints
//! `memory allocation of N bytes failed` and aborts. This is a complaint too, of the user's
//! machine, so the program turns that abort into its status for complaints, and so every abort at a
//! moment when the system refuses memory (its own library says then what it was about, as does the
//! start of a thread); other aborts stay what they are. A program that uses the library keeps what
//! its own language does.
#![expect(
    unsafe_code,
    reason = "an allocator, and a handler of the signal of `abort`"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The system's allocator, with a spare; it notes whether memory was refused.
struct Spared;

#[global_allocator]
static ALLOCATOR: Spared = Spared;

static HAS_REFUSED: AtomicBool = AtomicBool::new(false);

/// The largest block that comes out of the spare.
const SMALL: usize = 256 << 10;
/// The bytes of the spare, which cost nothing until they are used.
const LEN: usize = 8 << 20;

/// Blocks one after the other, of which only the last one can be given back.
#[repr(align(4096))]
struct Spare(UnsafeCell<[u8; LEN]>);

// SAFETY: each part of it is handed out by `of_spare` to one owner, until that gives it back.
unsafe impl Sync for Spare {}

static SPARE: Spare = Spare(UnsafeCell::new([0; LEN]));

/// The bytes of the spare that are handed out.
static USED: AtomicUsize = AtomicUsize::new(0);

/// A block for which the system has no memory: of the spare, or null.
#[cold]
fn of_spare(layout: Layout) -> *mut u8 {
    let begin = |used: usize| used.next_multiple_of(layout.align());
    let end = |used: usize| Some(begin(used) + layout.size()).filter(|&end| end <= LEN);
    let is_small = layout.size() <= SMALL && layout.align() <= 4096;
    // Acquire: what the last owner of the bytes did with them comes before.
    let take = || {
        USED.fetch_update(Ordering::Acquire, Ordering::Relaxed, end)
            .ok()
    };
    match is_small.then(take).flatten() {
        Some(used) => SPARE.0.get().cast::<u8>().wrapping_add(begin(used)),
        None => {
            // Relaxed: the thread that has noted it is the one that aborts.
            HAS_REFUSED.store(true, Ordering::Relaxed);
            std::ptr::null_mut()
        }
    }
}

/// Gives a block of the spare back, if it is the last.
fn give_back(data: *mut u8, len: usize) {
    let begin = (data as usize).wrapping_sub(SPARE.0.get() as usize);
    // Release: the next owner of the bytes comes after this one. A block that is not the last is
    // lost.
    let _ = USED.compare_exchange(begin + len, begin, Ordering::Release, Ordering::Relaxed);
}

fn is_of_spare(data: *mut u8) -> bool {
    (data as usize).wrapping_sub(SPARE.0.get() as usize) < LEN
}

fn or_of_spare(data: *mut u8, layout: Layout) -> *mut u8 {
    match data.is_null() {
        true => of_spare(layout),
        false => data,
    }
}

// SAFETY: a block is the system's allocator's, which keeps the contract, or a part of the spare
// that has one owner, aligned as asked; `is_of_spare` tells them apart. Nothing here allocates.
unsafe impl GlobalAlloc for Spared {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract, which is that of the system's allocator.
        or_of_spare(unsafe { System.alloc(layout) }, layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let data = or_of_spare(unsafe { System.alloc_zeroed(layout) }, layout);
        if is_of_spare(data) {
            // SAFETY: the block has this many bytes.
            unsafe { data.write_bytes(0, layout.size()) };
        }
        data
    }

    unsafe fn realloc(&self, data: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !is_of_spare(data) {
            // SAFETY: as above; the block is the system's.
            let moved = unsafe { System.realloc(data, layout, size) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: the caller promises a size that, rounded up to the alignment, does not overflow.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: the size is not 0, as the caller promises.
        let moved = unsafe { self.alloc(wanted) };
        if !moved.is_null() {
            // SAFETY: both blocks have this many bytes, and they are two.
            unsafe { moved.copy_from_nonoverlapping(data, layout.size().min(size)) };
            // SAFETY: the block is the caller's to give up.
            unsafe { self.dealloc(data, layout) };
        }
        moved
    }

    unsafe fn dealloc(&self, data: *mut u8, layout: Layout) {
        match is_of_spare(data) {
            true => give_back(data, layout.size()),
            // SAFETY: as above; the block is the system's.
            false => unsafe { System.dealloc(data, layout) },
        }
    }
}

/// From here on an abort for lack of memory ends the program with status 2.
pub(crate) fn install() {
    #[cfg(unix)]
    abort::install();
}

#[cfg(unix)]
mod abort {
    use super::{HAS_REFUSED, Ordering};
    use std::ffi::c_int;

    /// The same number on all Unix systems that Rust knows.
    const SIGABRT: c_int = 6;
    /// `SIG_DFL`: the process ends.
    const DEFAULT: usize = 0;
    /// The status of complaints.
    const COMPLAINT: c_int = 2;

    unsafe extern "C" {
        fn signal(number: c_int, handler: usize) -> usize;
        fn _exit(status: c_int) -> !;
    }

    pub(super) fn install() {
        let handler: extern "C" fn(c_int) = handle;
        // SAFETY: the handler has the type that `signal` asks for, and calls nothing but what may
        // be called in one. If it is refused, an abort is one.
        let _ = unsafe { signal(SIGABRT, handler as usize) };
    }

    /// Whether the system refuses a block of a size that the start of a thread asks for.
    #[cfg(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ))]
    fn is_refusing() -> bool {
        const LEN: usize = 1 << 20;
        /// `PROT_NONE`.
        const NO_ACCESS: c_int = 0;
        /// `MAP_PRIVATE` and `MAP_ANONYMOUS`.
        const ANONYMOUS: c_int = 0x22;
        unsafe extern "C" {
            fn mmap(
                at: *mut u8,
                len: usize,
                access: c_int,
                flags: c_int,
                file: c_int,
                offset: i64,
            ) -> *mut u8;
        }
        // SAFETY: a new map, of no file, which nothing reads; the call is one of the system, which
        // may be made in a handler.
        let at = unsafe { mmap(std::ptr::null_mut(), LEN, NO_ACCESS, ANONYMOUS, -1, 0) };
        at.addr() == usize::MAX
    }

    #[cfg(not(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )))]
    fn is_refusing() -> bool {
        false
    }

    extern "C" fn handle(number: c_int) {
        if HAS_REFUSED.load(Ordering::Relaxed) || is_refusing() {
            // SAFETY: it may be called in a handler, and does not return.
            unsafe { _exit(COMPLAINT) };
        }
        // SAFETY: it may be called in a handler; `abort` raises the signal again when this returns.
        let _ = unsafe { signal(number, DEFAULT) };
    }
}
