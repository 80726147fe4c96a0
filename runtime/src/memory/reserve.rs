//! Memory of the program that may be refused: errors in place of the end of the process.

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
    Ok(vector)
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
