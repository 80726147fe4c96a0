//! Memory of the program that may be refused: errors in place of the end of the process.
//!
//! Arrays that a program gets as vectors, and what is assembled on the way to a matrix, are as
//! large as what the pool holds. They ask for huge pages too (`block.rs`): each page of 4 KiB that
//! is touched for the first time costs a microsecond or two, most of the time of a copy.
#![cfg_attr(
    target_os = "linux",
    expect(
        unsafe_code,
        reason = "the system is told how to back memory with pages"
    )
)]

use crate::error::{Error, ErrorKind};

/// An empty vector with room for some elements, in memory of the program.
///
/// # Errors
///
/// If the system does not have it: [`Vec::with_capacity`] ends the process then.
pub fn reserve<T>(len: usize) -> Result<Vec<T>, Error> {
    let mut vector = Vec::new();
    let reserved = vector.try_reserve_exact(len);
    let wanted = len.saturating_mul(size_of::<T>());
    reserved.map_err(|_| ErrorKind::Refused { wanted })?;
    #[cfg(target_os = "linux")]
    ask_for_huge_pages(&mut vector);
    Ok(vector)
}

/// Asks for huge pages where a vector is large enough to have some of its own.
#[cfg(target_os = "linux")]
fn ask_for_huge_pages<T>(vector: &mut Vec<T>) {
    use super::block::HUGE_PAGE;
    use rustix::mm::Advice;

    let room = vector.spare_capacity_mut();
    let address = room.as_ptr().addr();
    let Some(begin) = address.checked_next_multiple_of(HUGE_PAGE) else {
        return;
    };
    let before = begin - address;
    let whole = size_of_val(room).saturating_sub(before) / HUGE_PAGE * HUGE_PAGE;
    if whole == 0 {
        return;
    }
    let first = room.as_mut_ptr().wrapping_byte_add(before);
    // SAFETY: the pages from `first` on lie within the memory of the vector, and the advice changes
    // neither what they hold nor who may use them.
    let told = unsafe { rustix::mm::madvise(first.cast(), whole, Advice::LinuxHugepage) };
    // Where the system has no huge pages to give, small ones do.
    let _ = told;
}

/// As many bytes, all zero, in memory of the program.
///
/// # Errors
///
/// As [`reserve`].
pub(crate) fn zeros(len: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = reserve(len)?;
    bytes.resize(len, 0);
    Ok(bytes)
}

/// The elements of all parts, one part after the other, in memory of the program.
///
/// # Errors
///
/// As [`reserve`].
pub fn try_concat<T: Copy>(parts: &[Vec<T>]) -> Result<Vec<T>, Error> {
    let mut all = reserve(parts.iter().map(Vec::len).sum())?;
    parts.iter().for_each(|part| all.extend_from_slice(part));
    Ok(all)
}

/// A vector of these elements, in memory of the program.
///
/// # Errors
///
/// As [`reserve`].
pub fn try_collect<T>(
    elements: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
) -> Result<Vec<T>, Error> {
    let elements = elements.into_iter();
    let mut vector = reserve(elements.len())?;
    vector.extend(elements);
    Ok(vector)
}
