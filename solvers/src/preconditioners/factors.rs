//! A product of triangular factors as a preconditioner: M = L U.

use crate::local::elimination::Factored;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::{RowLayout, Rows, Triangle, TriangularSolve};
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
    /// The factors that an elimination makes.
    pub(super) fn new(layout: &RowLayout, factored: Factored<T>) -> Result<Self, Error> {
        let Factored {
            lower,
            upper,
            inverse,
            ..
        } = factored;
        let make =
            |triangle, rows, inverse| TriangularSolve::of_triangle(layout, triangle, rows, inverse);
        Ok(Self {
            lower: make(Triangle::Lower, lower, None)?,
            upper: make(Triangle::Upper, upper, Some(inverse))?,
            adjoint: OnceLock::new(),
        })
    }

    /// Whether both together have the structure of rows. Every rank must ask, and all get the same
    /// answer.
    pub(super) fn are_of(&self, rows: Rows<'_, T>) -> Result<bool, Error> {
        let is_same = self.lower.is_of(rows) && self.upper.is_of(rows);
        let everywhere = self.layout().runtime().all_gather(&[is_same])?;
        Ok(everywhere.iter().all(|is_same| is_same[0]))
    }

    /// Takes other factors of the structure that these have: that is for the caller to know.
    pub(super) fn update(&mut self, factored: Factored<T>) -> Result<(), Error> {
        let Factored {
            lower,
            upper,
            inverse,
            ..
        } = factored;
        self.upper.update_triangle(upper, Some(inverse))?;
        self.lower.update_triangle(lower, None)?;
        self.adjoint = OnceLock::new();
        Ok(())
    }

    pub(super) fn layout(&self) -> &RowLayout {
        self.lower.layout()
    }

    /// z = U^-1 L^-1 r.
    pub(super) fn solve(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        let (lower, upper) = (self.lower.sweep(), self.upper.sweep());
        let bytes = lower.bytes() + upper.bytes();
        let layout = self.layout();
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

/// The operator that a preconditioner is by its `factors`, and the method of these that applies the
/// adjoint.
macro_rules! applies_factors {
    ($preconditioner:ident $adjoint:ident) => {
        impl<T: Field> LinearOperator<T> for $preconditioner<T> {
            fn shape(&self) -> (usize, usize) {
                let n_rows = self.factors.layout().n_rows();
                (n_rows, n_rows)
            }

            fn runtime(&self) -> Option<&Runtime> {
                Some(self.factors.layout().runtime())
            }

            fn apply(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
                self.factors.solve(r)
            }

            fn apply_adjoint(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
                self.factors.$adjoint(r)
            }
        }
    };
}
pub(super) use applies_factors;
