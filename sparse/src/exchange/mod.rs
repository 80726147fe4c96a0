//! What a rank has of a matrix, and how it comes to what other ranks have.

pub(crate) mod own_rows;
pub(crate) mod threads;

pub(crate) mod adjoint;
pub(crate) mod chain;
pub(crate) mod ghosts;
pub(crate) mod layout;
pub(crate) mod owners;
pub(crate) mod rows;

use sparsefuse_runtime::{Error, Runtime};

/// Refuses a vector of another runtime than the matrix.
pub(crate) fn check_runtime(
    op: &'static str,
    of_matrix: &Runtime,
    of_vector: &Runtime,
) -> Result<(), Error> {
    match of_vector.is(of_matrix) {
        true => Ok(()),
        false => Err(Error::argument(
            op,
            "stores of one runtime",
            "stores of two",
        )),
    }
}
