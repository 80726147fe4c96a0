//! Directions that a caller keeps from one solve to the next, with their images: `A U = C` with
//! orthonormal C.

use crate::powers::times_power;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Runtime;
use std::cell::RefCell;
use std::fmt;

/// The directions that [`lgmres()`](crate::lgmres()) or [`gcrotmk()`](crate::gcrotmk()) has kept,
/// for the next solves with the same matrix, or with one that is near it.
///
/// A solve that is given it by [`Options::recycled`](crate::Options::recycled) begins with these
/// directions and leaves its own, so that each of several right-hand sides takes fewer iterations
/// than the first one: with `gcrotmk` whatever they are, since its directions stand for the part of
/// the matrix that is slow; with `lgmres` where they resemble each other, since its directions are
/// the solutions of the last ones. Each direction costs two vectors, itself and its image.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::{Options, Recycled, gcrotmk_with};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(24)?;
/// let recycled = Recycled::new();
/// let solve = |b: &Vector<f64>| {
///     let options = Options { recycled: Some(&recycled), ..Options::default() };
///     gcrotmk_with(&a, b, options)?.checked()
/// };
/// let first = solve(&Vector::random_normal([576], 1))?;
/// let second = solve(&Vector::random_normal([576], 2))?;
/// assert!(second.iterations < first.iterations);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
pub struct Recycled<T> {
    kept: RefCell<Kept<T>>,
}

/// What is kept between cycles and solves.
struct Kept<T> {
    /// The oldest first.
    pairs: Vec<Pair<T>>,
    /// The power of two that the matrix was divided by when they were made.
    power: i32,
    /// Whether the images are those of another matrix.
    is_stale: bool,
}

/// A direction u and its image c, of length 1 and orthogonal to the images of the others.
#[derive(Clone)]
pub(crate) struct Pair<T> {
    pub(crate) u: Vector<T>,
    pub(crate) c: Vector<T>,
}

impl<T> Recycled<T> {
    /// Without directions.
    #[must_use]
    pub fn new() -> Self {
        Self {
            kept: RefCell::new(Kept {
                pairs: Vec::new(),
                power: 0,
                is_stale: false,
            }),
        }
    }

    /// How many directions there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept.borrow().pairs.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Says that the next solve has another matrix near the last one, as the next Jacobian of
    /// Newton's method, for which the directions are of use too: their images are computed again,
    /// one product for each direction. Without this call, a solve with another matrix takes the old
    /// images for true ones. What it claims is a solution still, since that is what the true
    /// residual says, but it may stagnate.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_solvers::{Options, Recycled, gcrotmk_with};
    /// use sparsefuse_sparse::{Csr, gallery};
    ///
    /// let (a, b) = (gallery::poisson2d::<f64>(16)?, Vector::ones([256]));
    /// let recycled = Recycled::new();
    /// for shift in [0.0, 0.01, 0.02] {
    ///     let a = &a + &Csr::identity(256)?.scale(shift);
    ///     recycled.matrix_changed();
    ///     let options = Options { recycled: Some(&recycled), ..Options::default() };
    ///     assert!(gcrotmk_with(&a, &b, options)?.converged());
    /// }
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    pub fn matrix_changed(&self) {
        self.kept.borrow_mut().is_stale = true;
    }

    /// The length of the vectors, if there are any.
    pub(crate) fn vector_len(&self) -> Option<usize>
    where
        T: Field,
    {
        Some(self.kept.borrow().pairs.first()?.u.len())
    }

    /// The runtime of the vectors, if there are any.
    pub(crate) fn runtime(&self) -> Option<Runtime>
    where
        T: Field,
    {
        Some(self.kept.borrow().pairs.first()?.u.runtime().clone())
    }
}

impl<T: Field> Recycled<T> {
    /// Says by which power of two the matrix of the next solve is divided: the directions are
    /// multiplied, so that they have the same images by it.
    pub(crate) fn at_scale(&self, power: i32) {
        let mut kept = self.kept.borrow_mut();
        let change = power - kept.power;
        if change != 0 {
            for pair in &mut kept.pairs {
                pair.u = times_power(&pair.u, change);
            }
            kept.power = power;
        }
    }

    /// The directions, and whether their images are those of another matrix.
    pub(crate) fn pairs(&self) -> (Vec<Pair<T>>, bool) {
        let kept = self.kept.borrow();
        (kept.pairs.clone(), kept.is_stale)
    }

    /// What the next solve begins with.
    pub(crate) fn put(&self, pairs: &[Pair<T>]) {
        let mut kept = self.kept.borrow_mut();
        kept.pairs = pairs.to_vec();
        kept.is_stale = false;
    }
}

impl<T> Default for Recycled<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Recycled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recycled")
            .field("len", &self.len())
            .finish()
    }
}
