//! How long blocks are: what fits the caches, by where the arrays of a loop come from.

use super::division::Rows;
use crate::blocks::Settings;
use crate::blocks::compile::LoopProgram;
use crate::launch::Launch;
use crate::packed::WINDOW;
use crate::tiles::Tiles;

/// The granularity of short blocks: whole cache lines of every element type. Longer blocks, and
/// the rows of a thread where tiles do not matter, are whole windows of packed matrices.
pub(crate) const UNIT: usize = 64;

/// The longest block of arrays that come from memory. While the first steps of a block wait for
/// memory, the others do not use it; with short blocks, the prefetchers of the hardware have read
/// the next block by then, and the stores of the last one are still on their way. The sum of
/// `a x + b z - c`, from 10 million rows: 6.3 ms, with blocks of 512 rows 9 ms.
const SHORT: usize = 256;

/// The shortest block of products whose arrays come from beyond the L2 cache. The prefetchers of
/// the hardware begin anew with each array of a block, so its stretches should be long; what a
/// block takes then lies in the L2 cache. An iteration with a V cycle on 1024 by 1024 points:
/// 7.8 ms, with blocks that fit the L1 cache 9.7 ms. So are those of updates and sums of many
/// arrays that come from memory: an iteration of GMRES(60) on 512 by 512 points 7.0 ms, with 512
/// rows 7.6 ms.
const LONG: usize = 2048;

/// The bytes of a loop's arrays up to which they are taken to lie in the L2 cache.
pub(crate) const NEAR: usize = 1 << 20;

/// Whether the arrays of a loop come from memory and go there.
pub(crate) fn is_large(program: &LoopProgram, launch: &Launch<'_>, settings: &Settings) -> bool {
    let rows = launch.domains[program.domain as usize].len as usize;
    rows * program.array_bytes > settings.stream_threshold
}

/// Whether the arrays of loops that run at the same time are more than the last cache keeps from
/// one task to the next, half of what goes past it.
pub(crate) fn is_far(programs: &[&LoopProgram], launch: &Launch<'_>, settings: &Settings) -> bool {
    let bytes = programs.iter().map(|program| {
        let gathered: usize = program.gathered.iter().map(|&(.., size)| size).sum();
        launch.domains[program.domain as usize].len as usize * (program.array_bytes + gathered)
    });
    bytes.sum::<usize>() > settings.stream_threshold / 2
}

/// The length of the blocks: as set, or the longest that fits the cache, evened out over the rows
/// that are run without a break. Short ones where element loops alone read from memory.
pub(crate) fn block_len(
    program: &LoopProgram,
    tiles: Tiles,
    (rows, is_large): (&Rows<'_>, bool),
    settings: &Settings,
) -> usize {
    if settings.block_len > 0 {
        return settings.block_len;
    }
    let longest = match rows.matrix {
        _ if is_large && program.has_many_terms => program.longest_block.max(LONG),
        None if is_large && !program.has_many_terms => program.longest_block.min(SHORT),
        Some(_) if rows.len as usize * program.array_bytes > NEAR && !program.has_many_terms => {
            program.longest_block.max(LONG)
        }
        None | Some(_) => program.longest_block,
    };
    let run = match program.reductions.is_empty() {
        true => rows.count(),
        false => tiles.tile_len().min(rows.count()),
    };
    if run <= longest {
        return run.next_multiple_of(UNIT);
    }
    let n_blocks = run.div_ceil(longest);
    run.div_ceil(n_blocks).next_multiple_of(WINDOW)
}
