//! The values of entries as words, whatever their type.

use super::is_packable;
use crate::element::{DType, Element};

/// The bits of an element.
pub(super) trait Word: Copy + Ord + Send + Sync {
    fn write(self, target: &mut [u8]);
    /// The inverse of [`Word::write`].
    fn read(source: &[u8]) -> Self;
}

impl Word for u32 {
    fn write(self, target: &mut [u8]) {
        target.copy_from_slice(&self.to_ne_bytes());
    }
    fn read(source: &[u8]) -> Self {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(source);
        Self::from_ne_bytes(bytes)
    }
}

impl Word for u64 {
    fn write(self, target: &mut [u8]) {
        target.copy_from_slice(&self.to_ne_bytes());
    }
    fn read(source: &[u8]) -> Self {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(source);
        Self::from_ne_bytes(bytes)
    }
}

impl Word for [u64; 2] {
    fn write(self, target: &mut [u8]) {
        self[0].write(&mut target[..8]);
        self[1].write(&mut target[8..]);
    }
    fn read(source: &[u8]) -> Self {
        [u64::read(&source[..8]), u64::read(&source[8..])]
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
