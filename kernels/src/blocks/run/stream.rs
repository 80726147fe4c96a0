//! Stores past the caches.
//!
//! A store to memory that is not in a cache reads the line first, only to overwrite it. Where a
//! loop moves more bytes than the caches hold, what it writes and does not read is gone before
//! anybody reads it; then a block is computed in a register, and copied to memory with
//! non-temporal stores. `y = A x` moves 16 bytes a row for its vectors instead of 24 with that.
#![expect(unsafe_code, reason = "copies blocks through pointers")]

use crate::isa::Isa;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m128i, __m512i, _mm_loadu_si128, _mm_stream_si128, _mm512_loadu_si512, _mm512_stream_si512,
};

/// Copies bytes, past the caches where they are aligned for it.
///
/// # Safety
/// `from` must be readable, `to` writable as `n` bytes, and they must not overlap. Before other
/// threads read what is copied, this one calls [`fence`]. The instruction set must be available.
pub(crate) unsafe fn copy(isa: Isa, from: *const u8, to: *mut u8, n: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        let fits = |size: usize| to.addr().is_multiple_of(size) && n.is_multiple_of(size);
        // SAFETY: forwarded; `to` and `n` are multiples of what is stored at once.
        unsafe {
            if isa == Isa::Avx512 && fits(size_of::<__m512i>()) {
                return copy_lines(from, to, n);
            }
            if fits(size_of::<__m128i>()) {
                return copy_vectors(from, to, n);
            }
        }
    }
    let _ = isa;
    // SAFETY: forwarded.
    unsafe { to.copy_from_nonoverlapping(from, n) };
}

/// Whole cache lines: four times fewer instructions than vectors of 16 bytes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn copy_lines(from: *const u8, to: *mut u8, n: usize) {
    for at in (0..n).step_by(size_of::<__m512i>()) {
        // SAFETY: the 64 bytes from `at` on are among the `n`, and `to` is aligned.
        unsafe { _mm512_stream_si512(to.add(at).cast(), _mm512_loadu_si512(from.add(at).cast())) };
    }
}

#[cfg(target_arch = "x86_64")]
unsafe fn copy_vectors(from: *const u8, to: *mut u8, n: usize) {
    for at in (0..n).step_by(size_of::<__m128i>()) {
        // SAFETY: the 16 bytes from `at` on are among the `n`, and `to` is aligned.
        unsafe { _mm_stream_si128(to.add(at).cast(), _mm_loadu_si128(from.add(at).cast())) };
    }
}

/// Makes what [`copy`] has written visible to others before anything that this thread does later.
pub(crate) fn fence() {
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
        let from: Vec<u8> = (0..=255).collect();
        for isa in Isa::available() {
            for start in 0..80 {
                for n in [0, 1, 15, 16, 32, 64, 100, 128, 160] {
                    let mut to = [0; 256];
                    // SAFETY: both have these bytes, and the instruction set is available.
                    unsafe { copy(isa, from.as_ptr(), to[start..].as_mut_ptr(), n) };
                    fence();
                    assert_eq!(to[start..start + n], from[..n]);
                    assert!(to[start + n..].iter().all(|&byte| byte == 0));
                }
            }
        }
    }
}
