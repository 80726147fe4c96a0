//! Krylov methods, written as they stand in the textbook: one operation a line.

mod bicg;
mod bicgstab;
mod cg;
mod cgs;
mod fgmres;
mod gmres;
mod lsmr;
mod lsqr;
mod minres;
mod pipelined_cg;
mod richardson;
mod single_reduction_cg;
mod tfqmr;

mod solver;

mod arnoldi;
mod bidiagonal;
mod least_squares;
mod orthogonality;
mod projected;
pub(crate) mod scalars;
pub(crate) mod turns;

pub use bicg::{bicg, bicg_with};
pub use bicgstab::{bicgstab, bicgstab_with};
pub use cg::{cg, cg_with};
pub use cgs::{cgs, cgs_with};
pub use fgmres::{fgmres, fgmres_with};
pub use gmres::{gmres, gmres_with};
pub use lsmr::{lsmr, lsmr_with};
pub use lsqr::{lsqr, lsqr_with};
pub use minres::{minres, minres_with};
pub use pipelined_cg::{pipelined_cg, pipelined_cg_with};
pub use richardson::{richardson, richardson_with};
pub use single_reduction_cg::{single_reduction_cg, single_reduction_cg_with};
pub use solver::{KrylovSolver, Method};
pub use tfqmr::{tfqmr, tfqmr_with};
