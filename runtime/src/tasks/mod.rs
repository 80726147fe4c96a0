//! Tasks: a body that all tasks of a kind share, the function of a host task, and the check of the
//! stores that a task is given.

pub(crate) mod argument;
pub(crate) mod block;
pub(crate) mod body;
pub(crate) mod calling;
pub(crate) mod check;
pub(crate) mod host;
pub(crate) mod host_args;
pub(crate) mod scope;
