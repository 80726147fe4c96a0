//! A product of triangular factors as a preconditioner: M = L U.

use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::{Diagonal, LocalRows, RowLayout, Triangle, TriangularSolve};

/// L with ones on its diagonal, and U.
#[derive(Clone, Debug)]
pub(super) struct Factors<T> {
    lower: TriangularSolve<T>,
    upper: TriangularSolve<T>,
}

impl<T: Field> Factors<T> {
    /// The factors that stand in the same rows: L below the diagonal, U from it on.
    pub(super) fn of_rows(layout: &RowLayout, rows: &LocalRows<T>) -> Result<Self, Error> {
        Ok(Self {
            lower: TriangularSolve::of_rows(layout, rows, Triangle::Lower, Diagonal::Unit)?,
            upper: TriangularSolve::of_rows(layout, rows, Triangle::Upper, Diagonal::Stored)?,
        })
    }

    /// Takes other values of the same structure.
    pub(super) fn update_rows(&mut self, rows: &LocalRows<T>) -> Result<(), Error> {
        let mut lower = self.lower.clone();
        lower.update_rows(rows)?;
        self.upper.update_rows(rows)?;
        self.lower = lower;
        Ok(())
    }

    pub(super) fn n_rows(&self) -> usize {
        self.lower.layout().n_rows()
    }

    /// z = U^-1 L^-1 r.
    pub(super) fn solve(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        let layout = self.lower.layout();
        let mut z = layout.part(r)?;
        self.lower.solve_part(&mut z)?;
        self.upper.solve_part(&mut z)?;
        layout.vector(z)
    }
}
