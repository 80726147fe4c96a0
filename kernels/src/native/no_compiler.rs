//! In the place of `compile` where a file does not tell, as on Unix, who may write it: all loops
//! stay in blocks.

use super::{Failure, Twin};
use std::sync::Arc;

/// The name of the function of a library.
pub(super) const FUNCTION: &str = "sparsefuse_loop";

/// Leaves a form of a loop in blocks.
pub(super) fn enqueue(twin: Arc<Twin>, form: usize) {
    // Nobody else sets it: a form is enqueued once.
    let _ = twin.forms[form].outcome.set(Err(Failure::NoCompiler));
}
