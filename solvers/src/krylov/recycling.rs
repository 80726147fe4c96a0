//! What methods that keep directions do with them: a solve's own and those of earlier ones, with
//! their images `A U = C`, where C is orthonormal.

use super::arnoldi::{products, sum_of_squares};
use super::gmres::Begin;
use super::iterations::End;
use super::scalars::element;
use super::stopping::Stopping;
use crate::operator::LinearOperator;
use crate::recycled::{Pair, Recycled};
use crate::turns::norm_of;
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;

/// What a solve has of directions of earlier ones, and leaves to later ones, if the caller keeps
/// some.
pub(super) struct Solve<'o, T> {
    recycled: Option<&'o Recycled<T>>,
    /// The directions of earlier solves.
    pub(super) pairs: Vec<Pair<T>>,
    /// x and its residual at the beginning.
    start: Option<(Vector<T>, Vector<T>)>,
}

impl<'o, T: Field> Solve<'o, T> {
    /// One that begins with this x and its residual, and then with the best x along the newest
    /// `most` directions, which is an iteration if there are any.
    pub(super) async fn begin(
        stopping: &mut Stopping<'_, 'o, T>,
        x: &mut Vector<T>,
        mut r: Vector<T>,
        most: usize,
    ) -> Result<(Self, Begin<T>), End<T>> {
        let recycled = stopping.recycled();
        let pairs = match recycled {
            Some(recycled) => newest(recycled, stopping.operator(), most).await?,
            None => Vec::new(),
        };
        let start = recycled.map(|_| (x.clone(), r.clone()));
        let norm = match pairs.is_empty() {
            true => norm_of(&r).await?,
            false => {
                let norm = project(&pairs, x, &mut r).await?;
                stopping.check(x, norm).await?;
                norm
            }
        };
        let begin = Begin::new(stopping, (r, norm), false).await?;
        let solve = Self {
            recycled,
            pairs,
            start,
        };
        Ok((solve, begin))
    }

    /// Leaves these directions, and the correction of the whole solve, which has come to this x and
    /// residual.
    pub(super) async fn end(
        &self,
        pairs: &[Pair<T>],
        (x, r): (&Vector<T>, &Vector<T>),
        most: usize,
    ) -> Result<(), Error> {
        let (Some(recycled), Some((start_x, start_r))) = (self.recycled, &self.start) else {
            return Ok(());
        };
        let mut pairs = pairs.to_vec();
        // This is a sum of the directions, but for rounding, unless some have been dropped.
        let rounding = T::Real::EPSILON.to_f64();
        keep(&mut pairs, (x - start_x, start_r - r), (most, rounding)).await?;
        recycled.put(&pairs);
        Ok(())
    }
}

/// The newest directions, `most` of them or fewer, with their images by this matrix.
async fn newest<T: Field>(
    recycled: &Recycled<T>,
    a: &dyn LinearOperator<T>,
    most: usize,
) -> Result<Vec<Pair<T>>, Error> {
    let (mut pairs, is_stale) = recycled.pairs();
    pairs.drain(..pairs.len().saturating_sub(most));
    if !is_stale {
        return Ok(pairs);
    }
    let mut anew = Vec::with_capacity(pairs.len());
    for Pair { u, .. } in pairs {
        let c = a.apply(&u)?;
        keep(&mut anew, (u, c), (most, 0.0)).await?;
    }
    recycled.put(&anew);
    Ok(anew)
}

/// Keeps a direction and its image, which is made orthogonal to those of the others, in place of
/// the oldest where there are `most`; drops one whose image depends on theirs: of whose squares no
/// more than the part `least` is left.
///
/// Classical Gram-Schmidt, twice where much of the image lies along the others; one reduction each.
pub(super) async fn keep<T: Field>(
    pairs: &mut Vec<Pair<T>>,
    (mut u, mut c): (Vector<T>, Vector<T>),
    (most, least): (usize, f64),
) -> Result<(), Error> {
    if most == 0 {
        return Ok(());
    }
    let dropped = (pairs.len() + 1).saturating_sub(most);
    let others = &pairs[dropped..];
    let epsilon = T::Real::EPSILON.to_f64();
    let mut bound = 0.0;
    for pass in 0..2 {
        let (along, squares) = along(others, &c).await?;
        u = without(&u, others.iter().map(|pair| &pair.u), &along);
        c = without(&c, others.iter().map(|pair| &pair.c), &along);
        let rest = squares - sum_of_squares(&along);
        if pass == 0 {
            bound = least * squares;
        }
        if rest.is_finite() && rest > bound && rest >= 0.5 * squares {
            let factor = T::from_f64(1.0 / rest.sqrt());
            let (u, c) = (u * factor, c * factor);
            pairs.drain(..dropped);
            pairs.push(Pair { u, c });
            break;
        }
        // Below this, what is left is rounding.
        bound = bound.max((1e2 * epsilon).powi(2) * squares);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::krylov::arnoldi::{Arnoldi, Zeros};
    use crate::krylov::scalars::size;
    use crate::turns::alone;
    use sparsefuse_sparse::gallery;

    /// A Z y = C B y + Q H y, whatever the candidate behind the last vector is.
    #[test]
    fn images_are_those_of_the_combinations() {
        let a = gallery::random::<Complex<f64>>(300, 6, 3).unwrap();
        let vector = |seed: f64| {
            let element = |[i]: [usize; 1]| Complex::new((i as f64 * seed).sin(), seed);
            Vector::<Complex<f64>>::from_fn([300], element)
        };
        for count in [0, 1, 3] {
            for is_made in [false, true] {
                let mut pairs = Vec::new();
                for seed in 0..count {
                    let u = vector(0.3 + seed as f64);
                    let c = a.matvec(&u);
                    alone(keep(&mut pairs, (u, c), (3, 0.0))).unwrap();
                }
                let (mut x, mut r) = (vector(0.1), vector(2.7));
                let norm = alone(project(&pairs, &mut x, &mut r)).unwrap();
                let others = pairs.iter().map(|pair| pair.c.clone()).collect();
                let zeros = Zeros::like(&r, 12);
                let mut space = Arnoldi::beside(others, (r, norm), &zeros);
                let mut directions = Vec::new();
                while space.len() < 6 {
                    let z = space.candidate();
                    let w = a.matvec(&z);
                    alone(space.step(w)).unwrap();
                    directions.push(z);
                }
                if is_made {
                    let _ = space.candidate();
                }
                let cs: Vec<_> = pairs.iter().map(|pair| pair.c.clone()).collect();
                let mut expected = a.matvec(&space.combination_of(&directions));
                for (c, &factor) in cs.iter().zip(&space.image_beside()) {
                    expected -= c * factor;
                }
                let image = space.image();
                let difference = (&image - &expected).norm2().get().unwrap();
                assert!(difference < 1e-13 * norm, "{count}: {difference}");
                for c in &cs {
                    assert!(size(c.dot(&image).get().unwrap()) < 1e-13 * norm);
                }
            }
        }
    }
}
