//! What the next block reads, asked for while this one runs.
//!
//! A block takes one array after the other, and most of its steps work on what lies in the cache
//! by then: the memory rests. The prefetchers of the hardware do not help, since they begin anew
//! with each array of each block. So before each step, a run asks for a share of the lines that
//! the next block will read. From caches that is no gain and costs up to a fifth, so it is done
//! only where the arrays are too many for them.
//!
//! One core, an iteration on 2048 by 2048 points, whose arrays come from memory: `cg` 18.5 ms
//! without, 12.2 ms with it; `cgs` 31.5 and 24.0 ms.

#![expect(unsafe_code, reason = "asks for cache lines at any address")]

use super::compile::LoopProgram;
use super::run::Array;
use crate::launch::{Launch, Operand};
use std::ops::Range;

/// How far from the diagonal the columns of a product may lie, in rows, so that its rows read `x`
/// as one array after the other.
const FARTHEST: usize = 1 << 16;

/// The bytes of a cache line.
pub(super) const LINE: usize = 64;

/// An array that a loop reads or writes row by row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fetched {
    /// What row 0 reaches, and nothing did before.
    data: *const u8,
    row_bytes: usize,
}

impl Fetched {
    /// The arrays of a loop that are neither in a cache nor stored past it.
    pub(super) fn of_loop<'a>(
        program: &'a LoopProgram,
        launch: &'a Launch<'_>,
        arrays: &'a [Array],
    ) -> impl Iterator<Item = Self> + 'a {
        let contiguous = program.reached.iter().filter_map(|&(arg, row_bytes)| {
            let array = &arrays[arg as usize];
            let is_asked_for = array.is_contiguous && !array.is_streamed && !array.is_near;
            let data = array.data.cast_const();
            is_asked_for.then_some(Self { data, row_bytes })
        });
        let gathered = program
            .gathered
            .iter()
            .filter(|&&(_, x, _)| !arrays[x as usize].is_near)
            .filter_map(|&(structure, x, row_bytes)| {
                let operand = |arg: u32| launch.operands[arg as usize];
                match (operand(structure), operand(x)) {
                    (Operand::Structure(structure), Operand::Gather { own, width: 1, .. })
                        if structure.above <= FARTHEST =>
                    {
                        let data = own.wrapping_add(structure.above * row_bytes);
                        Some(Self { data, row_bytes })
                    }
                    _ => None,
                }
            });
        contiguous.chain(gathered)
    }

    /// Asks for one of `n` shares of some rows.
    #[inline]
    pub(super) fn share(self, rows: &Range<usize>, number: usize, n: usize) {
        let data = self.data.wrapping_add(rows.start * self.row_bytes);
        let lines = rows.len() * self.row_bytes / LINE;
        for line in lines * number / n..lines * (number + 1) / n {
            prefetch(data.wrapping_add(line * LINE));
        }
    }
}

/// Asks for a cache line ahead of its use.
#[inline(always)]
pub(super) fn prefetch<T>(data: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of any address does no harm.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(data.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = data;
}

/// Asks for a cache line long before its use: into the L2 cache.
#[inline(always)]
pub(super) fn prefetch_far<T>(data: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: as above.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(data.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = data;
}
