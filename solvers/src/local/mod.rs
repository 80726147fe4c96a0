//! Algorithms on the rows of one rank: they know no runtime and no other ranks.

pub(crate) mod block_factors;
pub(crate) mod elimination;
pub(crate) mod pattern;
