//! The end of a program to which the system refuses memory: one line and status 2.
//!
//! What is as large as a matrix is asked for in ways that can fail, and a failure is an error like
//! all others. For what remains (small vectors, other libraries) the standard library prints
//! `memory allocation of N bytes failed` and aborts. This is a complaint too, of the user's
//! machine, so the program turns that abort into its status for complaints; other aborts stay what
//! they are. A program that uses the library keeps what its own language does.
#![expect(
    unsafe_code,
    reason = "an allocator, and a handler of the signal of `abort`"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

/// The system's allocator, which notes whether it has ever refused memory.
struct Noting;

#[global_allocator]
static ALLOCATOR: Noting = Noting;

static HAS_REFUSED: AtomicBool = AtomicBool::new(false);

/// Notes a refusal.
fn noted(data: *mut u8) -> *mut u8 {
    if data.is_null() {
        // Relaxed: the thread that has noted it is the one that aborts.
        HAS_REFUSED.store(true, Ordering::Relaxed);
    }
    data
}

// SAFETY: everything is done by the system's allocator; the note allocates nothing.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract, which is that of the system's allocator.
        noted(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        noted(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, data: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        noted(unsafe { System.realloc(data, layout, size) })
    }

    unsafe fn dealloc(&self, data: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(data, layout) };
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
        // SAFETY: the handler has the type that `signal` asks for, and calls nothing but what may be
        // called in one. If it is refused, an abort is one.
        let _ = unsafe { signal(SIGABRT, handler as usize) };
    }

    extern "C" fn handle(number: c_int) {
        if HAS_REFUSED.load(Ordering::Relaxed) {
            // SAFETY: it may be called in a handler, and does not return.
            unsafe { _exit(COMPLAINT) };
        }
        // SAFETY: it may be called in a handler; `abort` raises the signal again when this returns.
        let _ = unsafe { signal(number, DEFAULT) };
    }
}
