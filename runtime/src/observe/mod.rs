//! What can be seen of a program that runs: counters, profiles, plans, explanations, and whether
//! all ranks run the same one.

pub(crate) mod counters;
pub(crate) mod explain;
pub(crate) mod lockstep;
pub(crate) mod plan;
pub(crate) mod profile;
