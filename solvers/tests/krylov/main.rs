//! Krylov methods on systems at the edges of what they take: scales over the whole range of a type,
//! matrices and operators that do not fit, residuals that grow, tolerances below the precision.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

mod claims;
mod refuses;
mod scale;
