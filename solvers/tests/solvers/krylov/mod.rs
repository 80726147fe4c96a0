//! Krylov methods on systems at the edges of what they take: scales over the whole range of a type,
//! matrices and operators that do not fit, residuals that grow, tolerances below the precision.

mod claims;
mod ends;
mod recycled;
mod refuses;
mod scale;
