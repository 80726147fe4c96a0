//! The values of entries as words, whatever their type.

use super::is_packable;
use crate::element::{DType, Element};

/// The bits of an element.
pub(super) trait Word: Copy + Ord + Send + Sync {
    /// As many bytes as it has.
    type Bytes: Copy + Sync;
    fn to_bytes(self) -> Self::Bytes;
    /// The inverse of [`Word::to_bytes`].
    fn of_bytes(bytes: Self::Bytes) -> Self;
    /// Memory as the bytes of words.
    fn places(memory: &[u8]) -> &[Self::Bytes];
    fn places_mut(memory: &mut [u8]) -> &mut [Self::Bytes];
}

impl Word for u32 {
    type Bytes = [u8; 4];
    fn to_bytes(self) -> Self::Bytes {
        self.to_ne_bytes()
    }
    fn of_bytes(bytes: Self::Bytes) -> Self {
        Self::from_ne_bytes(bytes)
    }
    fn places(memory: &[u8]) -> &[Self::Bytes] {
        memory.as_chunks().0
    }
    fn places_mut(memory: &mut [u8]) -> &mut [Self::Bytes] {
        memory.as_chunks_mut().0
    }
}

impl Word for u64 {
    type Bytes = [u8; 8];
    fn to_bytes(self) -> Self::Bytes {
        self.to_ne_bytes()
    }
    fn of_bytes(bytes: Self::Bytes) -> Self {
        Self::from_ne_bytes(bytes)
    }
    fn places(memory: &[u8]) -> &[Self::Bytes] {
        memory.as_chunks().0
    }
    fn places_mut(memory: &mut [u8]) -> &mut [Self::Bytes] {
        memory.as_chunks_mut().0
    }
}

impl Word for [u64; 2] {
    type Bytes = [[u8; 8]; 2];
    fn to_bytes(self) -> Self::Bytes {
        self.map(u64::to_ne_bytes)
    }
    fn of_bytes(bytes: Self::Bytes) -> Self {
        bytes.map(u64::from_ne_bytes)
    }
    fn places(memory: &[u8]) -> &[Self::Bytes] {
        memory.as_chunks().0.as_chunks().0
    }
    fn places_mut(memory: &mut [u8]) -> &mut [Self::Bytes] {
        memory.as_chunks_mut().0.as_chunks_mut().0
    }
}

/// The values of all entries as words.
#[derive(Clone, Copy, Debug)]
pub enum Words<'a> {
    /// Elements of 4 bytes.
    Four(&'a [u32]),
    /// Elements of 8 bytes.
    Eight(&'a [u64]),
    /// Elements of 16 bytes.
    Sixteen(&'a [[u64; 2]]),
}

impl<'a> Words<'a> {
    /// The bits of elements; `None` where no product kernel reads the packed form of them.
    #[expect(unsafe_code, reason = "the elements are looked at as words")]
    #[must_use]
    pub fn of_slice<T: Element>(values: &'a [T]) -> Option<Self> {
        // SAFETY: these are the elements of a slice.
        unsafe { Self::of(T::DTYPE, values.as_ptr().cast(), values.len()) }
    }

    /// The bits of `len` elements; `None` where no product kernel reads the packed form of them.
    ///
    /// # Safety
    /// `data` holds `len` elements of the type, which nobody writes while the words live.
    #[expect(
        unsafe_code,
        reason = "the type of the elements is known at run time only"
    )]
    #[must_use]
    pub unsafe fn of(dtype: DType, data: *const u8, len: usize) -> Option<Self> {
        if len == 0 {
            return is_packable(dtype).then_some(Self::empty(dtype));
        }
        let is_aligned = data
            .addr()
            .is_multiple_of(dtype.size().min(align_of::<u64>()));
        if !is_packable(dtype) || !is_aligned {
            return None;
        }
        // SAFETY: the caller promises the elements, whose types have these sizes and no padding;
        // the alignment has just been checked.
        unsafe {
            Some(match dtype.size() {
                4 => Self::Four(std::slice::from_raw_parts(data.cast(), len)),
                8 => Self::Eight(std::slice::from_raw_parts(data.cast(), len)),
                _ => Self::Sixteen(std::slice::from_raw_parts(data.cast(), len)),
            })
        }
    }
}

impl Words<'_> {
    const fn empty(dtype: DType) -> Self {
        match dtype.size() {
            4 => Self::Four(&[]),
            8 => Self::Eight(&[]),
            _ => Self::Sixteen(&[]),
        }
    }
}
