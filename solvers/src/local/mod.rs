//! Algorithms on the rows of one rank: they know no runtime and no other ranks.

pub(crate) mod elimination;
