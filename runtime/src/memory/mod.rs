//! Memory of a rank: blocks of the system, the pool that keeps them, what a device has of them,
//! instances that hold rows of a store, and handles that are counted. Nothing here knows what the
//! elements mean.

pub(crate) mod block;
pub(crate) mod instance;
pub(crate) mod pool;

pub(crate) mod mirror;

pub(crate) mod reserve;

pub(crate) mod bytes;
pub(crate) mod room;

pub(crate) mod counted;
