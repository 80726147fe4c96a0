//! Directions that methods keep from one cycle to the next, and from one solve to the next, with
//! their images: `A U = C` with orthonormal C.

use super::arnoldi::{products, sum_of_squares};
use super::scalars::element;
use super::stopping::Stopping;
use crate::operator::LinearOperator;
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::{Error, Runtime};
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
pub(super) struct Pair<T> {
    pub(super) u: Vector<T>,
    pub(super) c: Vector<T>,
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
    /// Newton's method, for which the directions are of use too: their images are computed again, one product
    /// for each direction. Without this call, a solve with another matrix takes the old images for
    /// true ones. What it claims is a solution still, since that is what the true residual says,
    /// but it may stagnate.
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
    pub(super) fn vector_len(&self) -> Option<usize>
    where
        T: Field,
    {
        Some(self.kept.borrow().pairs.first()?.u.len())
    }

    /// The runtime of the vectors, if there are any.
    pub(super) fn runtime(&self) -> Option<Runtime>
    where
        T: Field,
    {
        Some(self.kept.borrow().pairs.first()?.u.runtime().clone())
    }

    /// Says by which power of two the matrix of the next solve is divided; directions of another
    /// scale are dropped.
    pub(super) fn at_scale(&self, power: i32) {
        let mut kept = self.kept.borrow_mut();
        if kept.power != power {
            kept.pairs.clear();
            kept.power = power;
        }
    }
}

impl<T: Field> Recycled<T> {
    /// The newest directions, `most` of them or fewer, with their images by this matrix.
    pub(super) async fn pairs(
        &self,
        a: &dyn LinearOperator<T>,
        most: usize,
    ) -> Result<Vec<Pair<T>>, Error> {
        let (mut pairs, is_stale) = {
            let kept = self.kept.borrow();
            (kept.pairs.clone(), kept.is_stale)
        };
        pairs.drain(..pairs.len().saturating_sub(most));
        if !is_stale {
            return Ok(pairs);
        }
        let mut anew = Vec::with_capacity(pairs.len());
        for Pair { u, .. } in pairs {
            let c = a.apply(&u)?;
            keep(&mut anew, (u, c), most).await?;
        }
        self.put(&anew);
        Ok(anew)
    }

    /// What the next solve begins with.
    pub(super) fn put(&self, pairs: &[Pair<T>]) {
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

/// What a solve has of directions of earlier ones, and leaves to later ones, if the caller keeps
/// some.
pub(super) struct Solve<'o, T> {
    recycled: Option<&'o Recycled<T>>,
    pairs: Vec<Pair<T>>,
    /// x and its residual at the beginning.
    start: Option<(Vector<T>, Vector<T>)>,
}

impl<'o, T: Field> Solve<'o, T> {
    /// One that begins with this x and its residual, and `most` directions or fewer.
    pub(super) async fn of(
        stopping: &Stopping<'_, 'o, T>,
        (x, r): (&Vector<T>, &Vector<T>),
        most: usize,
    ) -> Result<Self, Error> {
        let recycled = stopping.recycled();
        let pairs = match recycled {
            Some(recycled) => recycled.pairs(stopping.operator(), most).await?,
            None => Vec::new(),
        };
        Ok(Self {
            recycled,
            pairs,
            start: recycled.map(|_| (x.clone(), r.clone())),
        })
    }

    /// The directions.
    pub(super) fn pairs(&self) -> &[Pair<T>] {
        &self.pairs
    }

    /// Takes others in their place.
    pub(super) fn put(&mut self, pairs: &[Pair<T>]) {
        if self.recycled.is_some() {
            self.pairs = pairs.to_vec();
        }
    }

    /// Leaves the directions, and the correction of the whole solve, which has come to this x and
    /// residual.
    pub(super) async fn end(
        &self,
        (x, r): (&Vector<T>, &Vector<T>),
        most: usize,
    ) -> Result<(), Error> {
        let (Some(recycled), Some((start_x, start_r))) = (self.recycled, &self.start) else {
            return Ok(());
        };
        let mut pairs = self.pairs.clone();
        keep(&mut pairs, (x - start_x, start_r - r), most).await?;
        recycled.put(&pairs);
        Ok(())
    }
}

/// Keeps a direction and its image, which is made orthogonal to those of the others, in place of
/// the oldest where there are `most`; drops one whose image depends on theirs.
///
/// Classical Gram-Schmidt, twice where much of the image lies along the others; one reduction each.
pub(super) async fn keep<T: Field>(
    pairs: &mut Vec<Pair<T>>,
    (mut u, mut c): (Vector<T>, Vector<T>),
    most: usize,
) -> Result<(), Error> {
    if most == 0 {
        return Ok(());
    }
    let dropped = (pairs.len() + 1).saturating_sub(most);
    let others = &pairs[dropped..];
    let epsilon = T::Real::EPSILON.to_f64();
    let mut least = 0.0;
    for _ in 0..2 {
        let (along, squares) = along(others, &c).await?;
        u = without(&u, others.iter().map(|pair| &pair.u), &along);
        c = without(&c, others.iter().map(|pair| &pair.c), &along);
        let rest = squares - sum_of_squares(&along);
        if rest.is_finite() && rest > least && rest >= 0.5 * squares {
            let factor = T::from_f64(1.0 / rest.sqrt());
            let (u, c) = (u * factor, c * factor);
            pairs.drain(..dropped);
            pairs.push(Pair { u, c });
            break;
        }
        // Below this, what is left is rounding.
        least = (1e2 * epsilon).powi(2) * squares;
    }
    Ok(())
}

/// Takes out of a residual what lies along the images, and adds to x what has that image; gives the
/// norm of the rest. Twice where little is left.
pub(super) async fn project<T: Field>(
    pairs: &[Pair<T>],
    x: &mut Vector<T>,
    r: &mut Vector<T>,
) -> Result<f64, Error> {
    let mut norm = 0.0;
    for _ in 0..2 {
        let (along, squares) = along(pairs, r).await?;
        let plus: Vec<_> = along.iter().map(|c| -c).collect();
        *x = without(x, pairs.iter().map(|pair| &pair.u), &plus);
        *r = without(r, pairs.iter().map(|pair| &pair.c), &along);
        let rest = squares - sum_of_squares(&along);
        // Also where it is not a number.
        norm = if rest < 0.0 { 0.0 } else { rest.sqrt() };
        if rest >= 0.5 * squares {
            break;
        }
    }
    Ok(norm)
}

/// The products of the images with a vector, and its squares.
async fn along<T: Field>(
    pairs: &[Pair<T>],
    vector: &Vector<T>,
) -> Result<(Vec<Complex<f64>>, f64), Error> {
    let mut along = products(vector, pairs.iter().map(|pair| &pair.c)).await?;
    let squares = along.pop().expect("the last product is that with itself");
    Ok((along, squares.re))
}

/// A vector without multiples of others.
pub(super) fn without<'v, T: Field>(
    vector: &Vector<T>,
    others: impl Iterator<Item = &'v Vector<T>>,
    coefficients: &[Complex<f64>],
) -> Vector<T> {
    let terms = coefficients.iter().zip(others);
    let terms: Vec<_> = terms.map(|(&c, other)| (element::<T>(c), other)).collect();
    vector.minus_multiples(&terms)
}
