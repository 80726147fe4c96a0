//! What loops in native code and the block executor agree on: chunks of rows, copies of uniform
//! values, lanes.

use crate::reduce::LANES;

/// The rows of a chunk.
pub(crate) const CHUNK: usize = 16;

/// A chunk of copies of one element.
pub(crate) type Splat = [[u64; 2]; CHUNK];

/// The bytes from one chunk of copies to the next.
pub(crate) const SPLAT_BYTES: usize = size_of::<Splat>();

/// A chunk of copies of a uniform value has an element for each lane.
const _: () = assert!(CHUNK >= LANES);

/// The state of one reduction within a tile.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Lanes {
    /// The elements of the lanes, side by side.
    pub(crate) elements: [u64; 2 * LANES],
    /// The global rows of the elements (`ArgMin`, `ArgMax`).
    pub(crate) rows: [u64; LANES],
}

/// The bytes from the lanes of one reduction to those of the next; elements come first.
pub(crate) const LANES_BYTES: usize = size_of::<Lanes>();

impl Lanes {
    pub(crate) const EMPTY: Self = Self {
        elements: [0; 2 * LANES],
        rows: [0; LANES],
    };
}
