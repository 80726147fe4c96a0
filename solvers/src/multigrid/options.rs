//! What a hierarchy is asked for: how it smooths, how it walks through its levels, where it ends.

/// The order in which a cycle visits the levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cycle {
    /// Down and up again: each level once.
    #[default]
    V,
    /// Each level visits the one below it twice: 2^l visits of level l. For operators for which a
    /// V cycle does not converge independently of the size; in one dimension, and where
    /// coarsening is slow, it costs a multiple of a V cycle.
    W,
    /// As V on the levels with a hundredth of the first one's rows or more, as W below, where it
    /// costs next to nothing.
    VW,
    /// An F cycle below, then a V cycle: between the two. Not symmetric, so not for conjugate
    /// gradients.
    F,
}

/// What damps the part of the error that the next level cannot represent.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Smoother {
    /// x += omega D^-1 (b - A x), as often as there are steps.
    Jacobi {
        /// The weight; `None` for the best one for the Poisson problem in as many dimensions as
        /// the grid has (2/3, 4/5, 6/7), times 2 over the largest eigenvalue of D^-1 A where that
        /// is above 2; or 4/3 over that eigenvalue without a grid.
        omega: Option<f64>,
    },
    /// The Chebyshev polynomial in D^-1 A of as many degrees as there are steps, which is small
    /// between a fraction of the largest eigenvalue and that eigenvalue; it is estimated by
    /// [`largest_eigenvalue`](super::largest_eigenvalue).
    Chebyshev {
        /// The lower end of the interval is the upper one divided by this.
        ratio: f64,
    },
    /// Gauss-Seidel, one color after another, so that all unknowns of a color change together: in
    /// ascending order of the colors before the coarse correction, descending after it, so that
    /// the cycle is symmetric. One product for each color: two colors on grids whose stencils
    /// reach along the axes only, 2^d on other grids. For hierarchies on grids.
    GaussSeidel,
}

impl Smoother {
    /// Chebyshev polynomials with the usual interval: from a quarter of the largest eigenvalue.
    #[must_use]
    pub fn chebyshev() -> Self {
        Self::Chebyshev { ratio: 4.0 }
    }
}

/// How the system of the last level is solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CoarseSolver {
    /// Exactly: by the inverse, a dense matrix that is made once, of at most 4000 rows. The product
    /// with it is a task like any other, so the cycle stays in the window. Of a singular matrix,
    /// such as that of a pure Neumann problem, it is the pseudo-inverse (Moore-Penrose). For n rows
    /// it takes 2 n³ operations, on the threads of every rank, and 16 n² bytes; of a singular
    /// matrix up to five times as many. Of more rows, on grids it is refused, and aggregation takes
    /// the smoother.
    #[default]
    Inverse,
    /// Exactly: by sparse LU factors ([`splu`](crate::preconditioners::splu)), for a last level of
    /// many rows. Each cycle executes the window and gathers the level's right-hand side on every
    /// rank; the bits are those of the factors, which depend on the instruction set.
    Direct,
    /// By the steps of the smoother alone, as two-level methods for large machines do.
    Smoother,
}

/// The cycle of a hierarchy, and where the hierarchy ends.
#[derive(Clone, Debug, PartialEq)]
pub struct CycleOptions {
    /// The order of the levels.
    pub cycle: Cycle,
    /// The smoother of all levels.
    pub smoother: Smoother,
    /// Steps before the coarse correction, at least one; the first begins with x = 0 and needs no
    /// product.
    pub pre: usize,
    /// Steps after the coarse correction.
    pub post: usize,
    /// A level with at most this many rows is the last one.
    pub coarsest: usize,
    /// How the last level is solved.
    pub coarse_solver: CoarseSolver,
    /// The most levels, the matrix itself included; at least one.
    pub max_levels: usize,
}

impl Default for CycleOptions {
    /// A V(1,1) cycle with weighted Jacobi steps.
    fn default() -> Self {
        Self {
            cycle: Cycle::V,
            smoother: Smoother::Jacobi { omega: None },
            pre: 1,
            post: 1,
            coarsest: 128,
            coarse_solver: CoarseSolver::Inverse,
            max_levels: 25,
        }
    }
}
