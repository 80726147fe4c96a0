//! What is derived from a structure: the local form of a piece with its ghosts, its packed form,
//! and where both reside.

pub(crate) mod piece;

pub(crate) mod packed;
pub(crate) mod residency;

pub(crate) mod pack;
pub(crate) mod sliced;
