//! What the next block reads, asked for while this one runs.
//!
//! A block takes one array after the other, and most of its steps work on what lies in the cache
//! by then: the memory rests. The prefetchers of the hardware do not help, since they begin anew
//! with each array of each block. So before each step, a run asks for a share of the lines that
//! the next block will read. From caches that is no gain and costs up to a fifth, so it is done
//! only where the arrays are too many for them, and on machines that gain from it
//! (`isa::asks_for_streams`).
//!
//! One core, an iteration on 2048 by 2048 points, whose arrays come from memory: `cg` 18.5 ms
//! without, 12.2 ms with it; `cgs` 31.5 and 24.0 ms.

use super::bound::Array;
use crate::blocks::compile::LoopProgram;
use crate::isa::{LINE, prefetch};
use crate::launch::{Launch, Operand};
use std::ops::Range;

/// How far from the diagonal the columns of a product may lie, in rows, so that its rows read `x`
/// as one array after the other.
const FARTHEST: usize = 1 << 16;

/// An array that a loop reads or writes row by row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetched {
    /// What row 0 reaches, and nothing did before.
    data: *const u8,
    row_bytes: usize,
}

impl Fetched {
    /// The arrays of a loop that are neither in a cache nor stored past it.
    pub(crate) fn of_loop<'a>(
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
    pub(crate) fn share(self, rows: &Range<usize>, number: usize, n: usize) {
        let data = self.data.wrapping_add(rows.start * self.row_bytes);
        let lines = rows.len() * self.row_bytes / LINE;
        for line in lines * number / n..lines * (number + 1) / n {
            prefetch(data.wrapping_add(line * LINE));
        }
    }
}
