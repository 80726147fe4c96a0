//! Tasks: a body that all tasks of a kind share, and the check of the stores that it is given.

pub(crate) mod body;
pub(crate) mod check;
