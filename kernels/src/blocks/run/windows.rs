//! What a thread holds of the memories that pass through the cache: see
//! [`crate::blocks::bands::Ring`].
#![expect(unsafe_code, reason = "moves rows between memory and windows")]

use super::bound::Array;
use super::buffer::Buffer;
use crate::blocks::bands::{Chain, Progress, Ring, Seams};
use crate::launch::{Launch, Operand};

/// Where cache lines begin.
const LINE: i64 = 64;
/// By how many bands the loops go on until what is in use moves to the front of a window, at most.
const BANDS: i64 = 8;
/// The bytes that windows have for these rows besides those in use; at least a band.
const MORE: i64 = 8 << 20;

/// The windows of a thread, with the operands of the launch as it sees them.
#[derive(Debug)]
pub(crate) struct Windows {
    memory: Buffer,
    windows: Vec<Window>,
    operands: Vec<Operand>,
    arrays: Vec<Array>,
}

/// What a thread holds of a memory.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// Where addresses count from.
    origin: *mut u8,
    /// The first byte that is held, where it is, and how many there is room for.
    low: i64,
    data: *mut u8,
    capacity: i64,
    seams: Seams,
}

impl Window {
    /// The last place at a begin of a cache line of the memory that is not behind a byte.
    fn line_of(&self, byte: i64) -> i64 {
        byte - (self.origin.addr() as i64 + byte).rem_euclid(LINE)
    }

    fn at(&self, byte: i64) -> *mut u8 {
        self.data.wrapping_offset((byte - self.low) as isize)
    }
}

impl Windows {
    pub(crate) const EMPTY: Self = Self {
        memory: Buffer::EMPTY,
        windows: Vec::new(),
        operands: Vec::new(),
        arrays: Vec::new(),
    };

    /// Windows for the rows of a thread, which has run none yet.
    pub(crate) fn open(
        &mut self,
        chain: &Chain,
        launch: &Launch<'_>,
        progress: Progress<'_>,
        thread: usize,
    ) {
        let step: i64 = chain.rings.iter().map(Ring::step).sum();
        let more = (MORE / step.max(1)).min(BANDS * chain.band).max(chain.band);
        let parts: Vec<_> = chain.links.iter().map(|link| &link.parts).collect();
        let room = |ring: &Ring| {
            let bytes = ring.capacity(more) + LINE;
            (bytes as usize).next_multiple_of(LINE as usize)
        };
        // A cache line between two windows at least, into which nothing is written.
        let bytes = |ring: &Ring| room(ring) + LINE as usize;
        let mut next = self.memory.of(chain.rings.iter().map(bytes).sum());
        self.windows.clear();
        for ring in &chain.rings {
            let Operand::Array { data: origin, .. } = launch.operands[ring.origin as usize] else {
                unreachable!("a ring is a memory of arrays");
            };
            let mut window = Window {
                origin,
                low: 0,
                data: next,
                capacity: room(ring) as i64,
                seams: ring.seams(&parts, thread),
            };
            window.low = window.line_of(ring.begin(progress).unwrap_or(0));
            self.windows.push(window);
            next = next.wrapping_add(bytes(ring));
        }
    }

    /// Sets the operands and arrays to where the windows are.
    pub(crate) fn aim(&mut self, chain: &Chain, launch: &Launch<'_>, arrays: &[Array]) {
        if chain.rings.is_empty() {
            return;
        }
        self.operands.clear();
        self.operands.extend_from_slice(launch.operands);
        self.arrays.clear();
        self.arrays.extend_from_slice(arrays);
        for (ring, window) in chain.rings.iter().zip(&self.windows) {
            for &arg in &ring.args {
                if let Operand::Array { data, .. } = &mut self.operands[arg as usize] {
                    // From the window on, so that the pointer is one into that.
                    let behind = data.addr().wrapping_sub(window.origin.addr()) as isize;
                    *data = window.at(0).wrapping_offset(behind);
                    self.arrays[arg as usize].data = *data;
                }
            }
        }
    }

    pub(crate) fn launch<'a>(&'a self, launch: &Launch<'a>) -> Launch<'a> {
        Launch {
            operands: &self.operands,
            ..*launch
        }
    }

    pub(crate) fn arrays(&self) -> &[Array] {
        &self.arrays
    }

    /// Whether the windows have room for all that will have been reached.
    pub(crate) fn have_room(&self, chain: &Chain, goal: Progress<'_>) -> bool {
        let mut windows = chain.rings.iter().zip(&self.windows);
        windows.all(|(ring, window)| {
            let end = ring.end(goal);
            end.is_none_or(|end| end - window.low <= window.capacity)
        })
    }

    /// Moves what is in use to the front of the windows.
    ///
    /// # Safety
    /// The thread has run these rows of the chain since [`Windows::open`], on the launch of that.
    pub(crate) unsafe fn slide(&mut self, chain: &Chain, progress: Progress<'_>) {
        for (ring, window) in chain.rings.iter().zip(&mut self.windows) {
            let Some(begin) = ring.begin(progress) else {
                continue;
            };
            // SAFETY: forwarded.
            unsafe { window.give(ring, begin, progress) };
            let low = window.line_of(begin).max(window.low);
            let held = ring.end(progress).map_or(0, |end| end - low);
            if held > 0 {
                // SAFETY: the window holds what has been reached, from its first byte on.
                unsafe { std::ptr::copy(window.at(low), window.data, held as usize) };
            }
            window.low = low;
        }
    }

    /// Puts into memory what is left between threads reaches.
    ///
    /// # Safety
    /// As [`Windows::slide`].
    pub(crate) unsafe fn close(&self, chain: &Chain, progress: Progress<'_>) {
        for (ring, window) in chain.rings.iter().zip(&self.windows) {
            // SAFETY: forwarded.
            unsafe { window.give(ring, i64::MAX, progress) };
        }
    }
}

impl Window {
    /// Puts rows into memory that begin in front of a byte and that what is left reaches.
    ///
    /// # Safety
    /// As [`Windows::slide`].
    unsafe fn give(&self, ring: &Ring, before: i64, progress: Progress<'_>) {
        for row in ring.for_seams(self.low..before, self.seams, progress) {
            let memory = self.origin.wrapping_offset(row.start as isize);
            let bytes = (row.end - row.start) as usize;
            // SAFETY: the thread has written these bytes, so the window holds them; in memory they
            // are part of an array, and no other thread has rows with bytes in common with them.
            unsafe { std::ptr::copy_nonoverlapping(self.at(row.start), memory, bytes) };
        }
    }
}
