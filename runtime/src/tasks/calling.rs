//! Which runtimes' host functions a thread is calling: such a function must not call its runtime,
//! which waits for it.

use std::cell::RefCell;

thread_local! {
    /// The numbers of these runtimes, the outermost call first.
    static CALLING: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Whether this thread calls a function of the runtime with this number, whatever it calls besides.
/// A thread that is about to end calls none.
pub(crate) fn calls(runtime: u64) -> bool {
    let calls = CALLING.try_with(|calling| calling.borrow().contains(&runtime));
    calls.unwrap_or(false)
}

/// The numbers of the runtimes whose functions this thread calls.
pub(crate) fn calling() -> Vec<u64> {
    CALLING.with_borrow(Vec::clone)
}

/// What `call` returns, which is part of functions of the runtimes with these numbers.
pub(crate) fn within<R>(runtimes: &[u64], call: impl FnOnce() -> R) -> R {
    /// Takes the numbers away again, also behind a panic.
    struct Ends(usize);
    impl Drop for Ends {
        fn drop(&mut self) {
            CALLING.with_borrow_mut(|calling| calling.truncate(self.0));
        }
    }
    let ends = CALLING.with_borrow_mut(|calling| {
        let ends = Ends(calling.len());
        calling.extend_from_slice(runtimes);
        ends
    });
    let result = call();
    drop(ends);
    result
}
