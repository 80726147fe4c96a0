//! A product of triangular factors as a preconditioner: M = L U.

use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::{Diagonal, LocalRows, RowLayout, Triangle, TriangularSolve};
use std::sync::OnceLock;

/// L with ones on its diagonal, and U.
#[derive(Clone, Debug)]
pub(super) struct Factors<T> {
    lower: TriangularSolve<T>,
    upper: TriangularSolve<T>,
    /// The adjoints of both, made when they are first asked for.
    adjoint: OnceLock<Box<[TriangularSolve<T>; 2]>>,
}

impl<T: Field> Factors<T> {
    /// The factors that stand in the same rows: L below the diagonal, U from it on.
    pub(super) fn of_rows(layout: &RowLayout, rows: &LocalRows<T>) -> Result<Self, Error> {
        Ok(Self {
            lower: TriangularSolve::of_rows(layout, rows, Triangle::Lower, Diagonal::Unit)?,
            upper: TriangularSolve::of_rows(layout, rows, Triangle::Upper, Diagonal::Stored)?,
            adjoint: OnceLock::new(),
        })
    }

    /// Takes other values of the structure that the factors have: that is for the caller to know.
    pub(super) fn update_rows(&mut self, rows: &LocalRows<T>) -> Result<(), Error> {
        // U refuses a diagonal entry of 0; L, which has ones there, refuses nothing.
        self.upper.update_rows(rows)?;
        self.lower.update_rows(rows)?;
        self.adjoint = OnceLock::new();
        Ok(())
    }

    pub(super) fn n_rows(&self) -> usize {
        self.lower.layout().n_rows()
    }

    /// z = U^-1 L^-1 r.
    pub(super) fn solve(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        let (lower, upper) = (self.lower.sweep(), self.upper.sweep());
        let bytes = lower.bytes() + upper.bytes();
        let layout = self.lower.layout();
        layout.sweep("triangular_solve", r, bytes, move |args, z| {
            lower.solve(args, z)?;
            upper.solve(args, z)
        })
    }

    /// z = L^-H U^-H r.
    pub(super) fn solve_adjoint(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        let [lower, upper] = match self.adjoint.get() {
            Some(adjoint) => &**adjoint,
            None => {
                let made = Box::new([self.lower.adjoint()?, self.upper.adjoint()?]);
                self.adjoint.get_or_init(|| made)
            }
        };
        lower.solve(&upper.solve(r)?)
    }
}
