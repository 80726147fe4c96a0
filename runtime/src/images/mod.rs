//! What is derived from the indices of a sparse matrix: the part of a piece with its ghosts, and its
//! packed form.

pub(crate) mod pack;
pub(crate) mod packed;
pub(crate) mod piece;
