//! What a program calls: the runtime, handles of stores, values, ranks.

pub(crate) mod runtime;
pub(crate) mod space;

pub(crate) mod device;
pub(crate) mod planned_rank;
pub(crate) mod processes;
pub(crate) mod ranks;
pub(crate) mod settings;
