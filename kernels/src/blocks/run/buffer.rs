//! Memory that a thread keeps from run to run.

/// Where cache lines, and the widest registers, begin.
const ALIGNMENT: usize = 64;

/// What a buffer has at least, in bytes: so much that the system gives pages of zeros, each of
/// which costs something only when it is touched.
const LEAST: usize = 512 << 10;

/// Memory for intermediate values, which no later call reads.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    words: Vec<u128>,
}

impl Buffer {
    pub(crate) const EMPTY: Self = Self { words: Vec::new() };

    /// At least `bytes` bytes from the begin of a cache line on.
    ///
    /// Where there are fewer, new memory takes the place of the old one, zeros that no page holds
    /// yet: a loop over many arrays has room for a block of each, most of which it seldom touches.
    pub(crate) fn of(&mut self, bytes: usize) -> *mut u8 {
        let bytes = bytes + ALIGNMENT - 1;
        if self.words.len() * size_of::<u128>() < bytes {
            self.words = Vec::new();
            self.words = vec![0; bytes.max(LEAST).div_ceil(size_of::<u128>())];
        }
        let first = self.words.as_mut_ptr().cast::<u8>();
        // Not more than the bytes that are there besides.
        first.wrapping_add(first.addr().wrapping_neg() % ALIGNMENT)
    }
}
