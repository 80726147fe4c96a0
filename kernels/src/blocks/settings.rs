//! How a program is run, and which of its rows.

use crate::isa::Isa;
use std::ops::Range;

/// The bytes of a loop's arrays from which on it stores past the caches: more than the last cache
/// of most machines holds.
const LARGE: usize = 48 << 20;

/// The bytes of the arrays of several loops from which on it pays that these follow each other: the
/// L2 cache of most machines. Below it bands gain less than their calls cost: 50 sweeps of a
/// stencil on 128 by 128 points took 5 % longer in bands, on 256 by 256 points 8 % less.
const BEYOND_L2: usize = 1 << 20;

/// How to run a program; none of this changes what it computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The instruction set; it must be available on this machine.
    pub isa: Isa,
    /// Rows of a block; 0 chooses a length with which the values of a block fit the L1 cache.
    pub block_len: usize,
    /// Loops with fewer element operations than this (rows times instructions, plus the entries of
    /// sparse matrices; but 16 for each row at least) run on the calling thread.
    pub parallel_threshold: usize,
    /// Loops whose arrays have more bytes than this store past the caches what they do not read.
    pub stream_threshold: usize,
    /// Neighbouring loops whose arrays have more bytes than this may follow each other over their
    /// rows; with 0 they do wherever they can.
    pub band_threshold: usize,
}

impl Default for Settings {
    /// The widest instruction set, blocks that fit the cache, threads where they pay.
    fn default() -> Self {
        Self {
            isa: Isa::detect(),
            block_len: 0,
            parallel_threshold: 1 << 16,
            stream_threshold: LARGE,
            band_threshold: BEYOND_L2,
        }
    }
}

/// Which rows of its domain a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// All rows.
    All,
    /// The rows of some tiles, numbered from the first tile that the extent touches. Only for
    /// loops that are [`super::Program::divisible`]; a loop must run every tile once, in any order
    /// and in any number of runs, each of which also runs its uniform instructions.
    Tiles(&'a [Range<u64>]),
}
