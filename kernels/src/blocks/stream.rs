//! Stores past the caches.
//!
//! A store to memory that is not in a cache reads the line first, only to overwrite it. Where a
//! loop moves more bytes than the caches hold, what it writes and does not read is gone before
//! anybody reads it; then a block is computed in a register, and copied to memory with
//! non-temporal stores. `y = A x` moves 16 bytes a row for its vectors instead of 24 with that.
#![expect(unsafe_code, reason = "copies blocks through pointers")]

/// The bytes of a loop's arrays from which on it stores past the caches: more than the last cache
/// of most machines holds.
pub(super) const LARGE: usize = 48 << 20;

/// Copies bytes, past the caches where they are aligned for it.
///
/// # Safety
/// `from` must be readable, `to` writable as `n` bytes, and they must not overlap. Before other
/// threads read what is copied, this one calls [`fence`].
pub(super) unsafe fn copy(from: *const u8, to: *mut u8, n: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
        const SIZE: usize = size_of::<__m128i>();
        if to.addr().is_multiple_of(SIZE) && n.is_multiple_of(SIZE) {
            for at in (0..n).step_by(SIZE) {
                // SAFETY: the 16 bytes from `at` on are among the `n`, and `to` is aligned.
                unsafe {
                    let vector = _mm_loadu_si128(from.add(at).cast());
                    _mm_stream_si128(to.add(at).cast(), vector);
                }
            }
            return;
        }
    }
    // SAFETY: forwarded.
    unsafe { to.copy_from_nonoverlapping(from, n) };
}

/// Makes what [`copy`] has written visible to others before anything that this thread does later.
pub(super) fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_whatever_the_alignment() {
        let from: Vec<u8> = (0..200).collect();
        for start in 0..20 {
            for n in [0, 1, 15, 16, 32, 100, 160] {
                let mut to = [0; 200];
                // SAFETY: both vectors have these bytes.
                unsafe { copy(from.as_ptr(), to[start..].as_mut_ptr(), n) };
                fence();
                assert_eq!(to[start..start + n], from[..n]);
                assert!(to[start + n..].iter().all(|&byte| byte == 0));
            }
        }
    }
}
