//! In the place of MPI where the library is built without it: this process is alone.

use crate::comm::Comm;
use crate::config;
use crate::error::Error;

/// `None`: there are no processes but this one. Refused where a launcher has started several,
/// each of which would do all the work.
pub(crate) fn place() -> Result<Option<(usize, usize)>, Error> {
    match config::launched()? {
        Some(processes) if processes > 1 => Err(Error::argument(
            "MPI",
            "a program built with `--features mpi` (or SPARSEFUSE_MPI=0, for processes that have \
             nothing to do with each other)",
            format!("one built without it, started as {processes} processes"),
        )),
        _ => Ok(None),
    }
}

/// `None`: there are no ranks but those of this process.
pub(crate) fn connect(_local: usize) -> Result<Option<Vec<Box<dyn Comm>>>, Error> {
    Ok(None)
}
