//! Krylov methods, written as they stand in the textbook: one operation a line.

mod bicgstab;
mod cg;
mod cgs;

pub use bicgstab::{bicgstab, bicgstab_with};
pub use cg::{cg, cg_with};
pub use cgs::{cgs, cgs_with};
