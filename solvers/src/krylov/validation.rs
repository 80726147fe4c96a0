//! Which systems and options a method takes: what does not fit is refused before anything is
//! computed, with a message that names the method.

use super::Method;
use crate::operator::{LinearOperator, check_square};
use crate::recycled::Recycled;
use crate::solution::Options;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;

/// Whether a method takes this system and these options.
pub(super) fn check<T: Field>(
    method: Method,
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    options: &Options<'_, T>,
) -> Result<(), Error> {
    let op = method.name();
    if !method.is_least_squares() {
        check_square(op, a)?;
    }
    check_system(op, a, b, (options, method.damping()))?;
    if let Method::Gmres { restart: 0, .. }
    | Method::Fgmres { restart: 0 }
    | Method::Lgmres { restart: 0, .. }
    | Method::Gcrotmk { restart: 0, .. } = method
    {
        return Err(Error::argument(op, "restart to be 1 or more", "0"));
    }
    check_damping(op, method.damping(), options)?;
    if options.recycled.is_some() && !method.recycles() {
        let expected = "no recycled directions, which only lgmres and gcrotmk take";
        return Err(Error::argument(op, expected, "some"));
    }
    if !method.has_checkpoints() {
        check_no_checkpoint(op, options)?;
    }
    Ok(())
}

/// Whether all vectors and operators fit, and the tolerances are some.
fn check_system<T: Field>(
    op: &'static str,
    a: &dyn LinearOperator<T>,
    b: &Vector<T>,
    (options, damping): (&Options<'_, T>, f64),
) -> Result<(), Error> {
    let (n_rows, n_cols) = a.shape();
    Error::check_shape(op, &[n_rows], &b.shape())?;
    if let Some(x0) = options.x0 {
        Error::check_shape(op, &[n_cols], &x0.shape())?;
    }
    if let Some(preconditioner) = options.preconditioner {
        let (rows, columns) = preconditioner.shape();
        Error::check_shape(op, &[n_cols, n_cols], &[rows, columns])?;
    }
    if let Some(len) = options.recycled.and_then(Recycled::vector_len) {
        Error::check_shape(op, &[n_cols], &[len])?;
    }
    let numbers = [
        ("rtol", options.rtol),
        ("atol", options.atol),
        ("dtol", options.dtol),
        ("damping", damping),
    ];
    for (name, value) in numbers {
        if value.is_nan() || value < 0.0 {
            let expected = format!("{name} to be 0 or more");
            return Err(Error::argument(op, expected, value.to_string()));
        }
    }
    Ok(())
}

/// Damping counts from x = 0 and in the norm of x.
fn check_damping<T>(op: &'static str, damping: f64, options: &Options<'_, T>) -> Result<(), Error> {
    if damping > 0.0 && (options.x0.is_some() || options.preconditioner.is_some()) {
        let expected = "neither x0 nor a preconditioner where there is damping";
        let found = if options.x0.is_some() {
            "x0"
        } else {
            "a preconditioner"
        };
        return Err(Error::argument(op, expected, found));
    }
    Ok(())
}

/// Checkpoints that a method does not write or read are refused.
fn check_no_checkpoint<T>(op: &'static str, options: &Options<'_, T>) -> Result<(), Error> {
    let (asked, path) = match (&options.checkpoint, options.resume) {
        (Some(checkpoint), _) => ("one to be written to", checkpoint.file),
        (None, Some(path)) => ("one to resume from,", path),
        (None, None) => return Ok(()),
    };
    let expected = "no checkpoint, which only cg, cgs and bicgstab have";
    let found = format!("{asked} {}", path.display());
    Err(Error::argument(op, expected, found))
}
