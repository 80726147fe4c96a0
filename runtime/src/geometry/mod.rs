//! What is said about arrays without holding any: lengths, views, and how rows are cut.

pub(crate) mod partition;
pub(crate) mod region;
pub(crate) mod view;
