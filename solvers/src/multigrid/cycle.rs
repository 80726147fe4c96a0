//! The levels of a hierarchy, and a cycle through them.
//!
//! From x = 0, a cycle smooths, solves for the error that is left on the next level, adds it and
//! smooths again:
//!
//! ```text
//! x = smooth from 0;  x += P cycle(R (b - A x));  x = smooth
//! ```
//!
//! Every rank issues the same tasks without waiting for a value, so a cycle is a part of whatever
//! window it is in. On one rank, and on levels that every rank holds, all of it is one fused task;
//! where a level is spread over ranks it ends at each product, at most four times: the first
//! smoothing step, the residual, the products with R and P, with what is elementwise beside them.

use super::coarsest::Coarsest;
use super::options::{Cycle, CycleOptions};
use super::smoother::Relaxation;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::Csr;

/// A level but the last.
#[derive(Clone, Debug)]
pub(super) struct Level<T> {
    pub(super) a: Csr<T>,
    pub(super) relaxation: Relaxation<T>,
    /// To the next level.
    pub(super) restriction: Csr<T>,
    /// From the next level.
    pub(super) prolongation: Csr<T>,
}

/// All levels, the finest first.
#[derive(Clone, Debug)]
pub(super) struct Hierarchy<T> {
    pub(super) levels: Vec<Level<T>>,
    /// The matrix of the last level.
    pub(super) last: Csr<T>,
    pub(super) coarsest: Coarsest<T>,
    pub(super) options: CycleOptions,
}

impl<T: Field> Hierarchy<T> {
    /// Says that the matrices are multiplied in every cycle.
    pub(super) fn expect_products(&self) {
        for level in &self.levels {
            let matrices = [&level.a, &level.restriction, &level.prolongation];
            matrices.into_iter().for_each(Csr::expect_products);
        }
    }

    /// One cycle for A x = b from x = 0.
    pub(super) fn cycle(&self, b: &Vector<T>) -> Result<Vector<T>, Error> {
        self.visit(0, b, self.options.cycle)
    }

    /// One cycle that begins at a level.
    fn visit(&self, level: usize, b: &Vector<T>, cycle: Cycle) -> Result<Vector<T>, Error> {
        let Some(here) = self.levels.get(level) else {
            return self.coarsest.solve(b);
        };
        let a = &here.a;
        // Where x = w b with a number w, b is enough for the residual, and x is computed later,
        // where it is read.
        let (x, r) = match here.relaxation.as_number(self.options.pre) {
            Some(number) => (None, b.try_sub(&(a.try_matvec(b)? * number))?),
            None => {
                let x = here.relaxation.before(a, b, self.options.pre)?;
                let r = b.try_sub(&a.try_matvec(&x)?)?;
                (Some(x), r)
            }
        };
        let coarse_b = here.restriction.try_matvec(&r)?;
        drop(r);
        let e = self.correction(level + 1, coarse_b, cycle)?;
        let mut x = match x {
            Some(x) => x,
            None => here.relaxation.before(a, b, self.options.pre)?,
        };
        x += here.prolongation.try_matvec(&e)?;
        drop(e);
        here.relaxation.after(a, b, x, self.options.post)
    }

    /// What a level finds for the error of the level above.
    fn correction(&self, level: usize, b: Vector<T>, cycle: Cycle) -> Result<Vector<T>, Error> {
        let e = self.visit(level, &b, cycle)?;
        // The last level has solved its system.
        let Some(here) = self.levels.get(level) else {
            return Ok(e);
        };
        let again = match cycle {
            Cycle::V => return Ok(e),
            Cycle::VW if !self.is_small(here) => return Ok(e),
            Cycle::W | Cycle::VW => cycle,
            Cycle::F => Cycle::V,
        };
        let r = b.try_sub(&here.a.try_matvec(&e)?)?;
        Ok(e + self.visit(level, &r, again)?)
    }

    /// Whether a level has less than a hundredth of the rows of the first one.
    fn is_small(&self, level: &Level<T>) -> bool {
        100 * level.a.n_rows() < self.levels[0].a.n_rows()
    }
}
