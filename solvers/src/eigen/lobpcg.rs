//! Locally optimal block preconditioned conjugate gradients, for eigenvalues at one end.
//!
//! Each iteration looks for the best approximations in the space of three blocks: the present
//! approximations X, the preconditioned residuals W, and P, what the last step was made of
//! (Knyazev, *Toward the optimal preconditioned eigensolver*, 2001). The images of X and P under A
//! and B are combined like X and P themselves, so the operators are applied to W alone.
//!
//! With a basis as it comes the method breaks down when the blocks become dependent. Here X and P
//! are orthonormal as they are made, with the small matrices of the host (Hetmaniuk and Lehoucq,
//! *Basis selection in LOBPCG*, 2006); W is orthogonalised against them and within itself, where
//! dependent directions are left out. That is done twice unless the first time takes away little,
//! and what rounding has left then is measured by the Gram matrix of the whole basis and taken into
//! account (Duersch, Shao, Yang and Gu, *A robust and efficient implementation of LOBPCG*, 2018).
//! What the operator is on X and P follows on the host from the last step; every few steps it is
//! measured too. So most iterations have three reductions, and of k vectors with n elements and as
//! many directions they take 40 k² n operations besides products with the operators: 11 for W, 5
//! for its products with the basis, 24 for the new X and P and their images.
//!
//! Invariants: X and P are orthonormal in B's inner product and orthogonal to the constraints, to
//! rounding; X consists of the best approximations in the space of the last iteration, the most
//! wanted first.

use super::block::{
    Products, all_without, check_tolerance, images, norms, residuals, sums_of_multiples,
};
use super::hermitian::{Coefficients, Hermitian, combination, orthonormalise, unit};
use super::{Eigen, check_hermitian, scale};
use crate::operator::{LinearOperator, check_len, check_same_runtime, check_square};
use crate::powers::vector_near_one;
use crate::solution::StopReason;
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;
use std::fmt;

const OP: &str = "lobpcg";

/// Steps after which the products of X and P are measured again.
const MOST_STEPS: usize = 8;

/// What [`lobpcg`] looks for, with what help, and how long.
pub struct LobpcgOptions<'a, T> {
    /// Whether the largest eigenvalues are wanted, and not the smallest.
    pub largest: bool,
    /// An approximate inverse of A, Hermitian positive definite; helps for the smallest
    /// eigenvalues.
    pub preconditioner: Option<&'a dyn LinearOperator<T>>,
    /// B, Hermitian positive definite, for A x = lambda B x; `None` for the identity.
    pub mass: Option<&'a dyn LinearOperator<T>>,
    /// Vectors that the eigenvectors are to be orthogonal to, in B's inner product: eigenvectors
    /// that are known.
    pub constraints: &'a [Vector<T>],
    /// An eigenvalue has converged when ‖A x - lambda B x‖ <= tol |lambda| ‖B x‖. What rounding
    /// leaves is always enough: ten times the precision of the element type times the norm of A.
    /// For an eigenvalue that rounding does not tell from 0, as the smallest of a graph's
    /// Laplacian, tol times the norm of A is: no digit of it could be right.
    pub tol: f64,
    /// The most iterations; `None` for ten times the number of rows, at most 10,000.
    pub max_iter: Option<usize>,
}

impl<T> Default for LobpcgOptions<'_, T> {
    /// The smallest eigenvalues (of SciPy the largest), without help, to `tol` 1e-8.
    fn default() -> Self {
        Self {
            largest: false,
            preconditioner: None,
            mass: None,
            constraints: &[],
            tol: 1e-8,
            max_iter: None,
        }
    }
}

impl<T> fmt::Debug for LobpcgOptions<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LobpcgOptions")
            .field("largest", &self.largest)
            .field("has_preconditioner", &self.preconditioner.is_some())
            .field("has_mass", &self.mass.is_some())
            .field("constraints", &self.constraints.len())
            .field("tol", &self.tol)
            .field("max_iter", &self.max_iter)
            .finish()
    }
}

/// As many eigenvalues and vectors of a Hermitian operator, the smallest or the largest, as there
/// are vectors to start from, by locally optimal block preconditioned conjugate gradients.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::eigen::{LobpcgOptions, lobpcg};
/// use sparsefuse_solvers::multigrid::Multigrid;
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(31)?;
/// let multigrid = Multigrid::on_grid(&a, &[31, 31])?;
/// let start: Vec<_> = (0..3).map(|seed| Vector::random_normal([31 * 31], seed)).collect();
/// let options = LobpcgOptions { preconditioner: Some(&multigrid), ..LobpcgOptions::default() };
/// let eigen = lobpcg(&a, &start, &options)?;
/// assert!(eigen.converged() && eigen.iterations < 20);
/// // The second eigenvalue is a double one.
/// assert!((eigen.values[1] - eigen.values[2]).abs() < 1e-12);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// An iteration with `k` vectors costs, for each that has not converged, a product with A, two with
/// B and an application of the preconditioner, and passes over up to 3 k vectors. It holds X, P, W
/// and their images, 6 k vectors, with B 9 k, and while it takes new X and P, 4 k more, with B 6 k.
/// The last of the wanted eigenvalues converges the faster the further off the next one is: one or
/// two vectors more than are needed help.
///
/// An A or B that some of its entries show not to be Hermitian is refused, as
/// [`cg`](crate::cg()) refuses it; of other operators nothing is known.
///
/// # Errors
///
/// If there are no vectors, or with the constraints as many as rows or more; if they are linearly
/// dependent, or they or the entries of a matrix are infinite or not a number; if lengths or shapes
/// do not fit, or an operator fails. Not to converge is no error.
pub fn lobpcg<T: Field>(
    a: &dyn LinearOperator<T>,
    start: &[Vector<T>],
    options: &LobpcgOptions<'_, T>,
) -> Result<Eigen<T>, Error> {
    check(a, start, options)?;
    let of_a = scale::power_of(OP, a)?;
    // The vectors are multiplied by the root of B's.
    let of_b = match options.mass {
        Some(mass) => scale::power_of(OP, mass)? / 2 * 2,
        None => 0,
    };
    let a = &scale::divided(a, of_a);
    let mass = options.mass.map(|mass| scale::divided(mass, of_b));
    let inverse = options.preconditioner.map(|m| scale::divided(m, -of_a));
    let options = &LobpcgOptions {
        preconditioner: inverse.as_ref().map(|m| m as &dyn LinearOperator<T>),
        mass: mass.as_ref().map(|mass| mass as &dyn LinearOperator<T>),
        ..*options
    };
    let mut search = Search::new(a, start, options)?;
    let limit = a.shape().0.saturating_mul(10).min(10_000);
    let reason = search.run(options.max_iter.unwrap_or(limit))?;
    Ok(scale::multiplied(search.finish(reason)?, of_a, of_b))
}

fn check<T: Field>(
    a: &dyn LinearOperator<T>,
    start: &[Vector<T>],
    options: &LobpcgOptions<'_, T>,
) -> Result<(), Error> {
    check_square(OP, a)?;
    for operator in [Some(a), options.mass].into_iter().flatten() {
        check_hermitian(OP, operator)?;
    }
    let n = a.shape().0;
    let most = n.saturating_sub(options.constraints.len() + 1);
    if most == 0 {
        let least = options.constraints.len() + 2;
        let expected = format!("a matrix of {least} rows or more");
        return Err(Error::argument(OP, expected, format!("{n}")));
    }
    if start.is_empty() || start.len() > most {
        let expected = format!("from 1 to {most} vectors to start from");
        return Err(Error::argument(OP, expected, start.len().to_string()));
    }
    let same_runtime = |found| {
        let expected = "operators and vectors of the runtime of the first vector";
        check_same_runtime(OP, expected, start[0].runtime(), found)
    };
    same_runtime(a.runtime())?;
    for x in start.iter().chain(options.constraints) {
        check_len(OP, n, x)?;
        same_runtime(Some(x.runtime()))?;
    }
    for operator in [options.preconditioner, options.mass].into_iter().flatten() {
        same_runtime(operator.runtime())?;
        if operator.shape() != (n, n) {
            let found = format!("one of shape {:?}", operator.shape());
            let expected = format!("operators of shape {:?}", (n, n));
            return Err(Error::argument(OP, expected, found));
        }
    }
    check_tolerance(OP, options.tol)
}

/// Vectors with their images.
#[derive(Clone, Debug)]
struct Block<T> {
    x: Vec<Vector<T>>,
    ax: Vec<Vector<T>>,
    /// `None` where B is the identity.
    bx: Option<Vec<Vector<T>>>,
}

impl<T: Field> Block<T> {
    fn new(
        x: Vec<Vector<T>>,
        a: &dyn LinearOperator<T>,
        mass: Option<&dyn LinearOperator<T>>,
    ) -> Result<Self, Error> {
        let ax = images(a, &x)?;
        let bx = mass.map(|mass| images(mass, &x)).transpose()?;
        Ok(Self { x, ax, bx })
    }

    fn len(&self) -> usize {
        self.x.len()
    }

    /// B x of each.
    fn bx(&self) -> &[Vector<T>] {
        self.bx.as_deref().unwrap_or(&self.x)
    }

    /// This block's vectors, followed by another's.
    fn followed_by(mut self, other: Self) -> Self {
        self.x.extend(other.x);
        self.ax.extend(other.ax);
        if let (Some(bx), Some(other)) = (&mut self.bx, other.bx) {
            bx.extend(other);
        }
        self
    }

    /// The first vectors, and the others.
    fn split_at(mut self, first: usize) -> (Self, Self) {
        let others = Self {
            x: self.x.split_off(first),
            ax: self.ax.split_off(first),
            bx: self.bx.as_mut().map(|bx| bx.split_off(first)),
        };
        (self, others)
    }

    /// The sums with these coefficients.
    fn combined(&self, coefficients: &[Coefficients]) -> Result<Self, Error> {
        let combined = |vectors: &[Vector<T>]| sums_of_multiples(vectors, coefficients);
        Ok(Self {
            x: combined(&self.x)?,
            ax: combined(&self.ax)?,
            bx: self.bx.as_deref().map(combined).transpose()?,
        })
    }
}

/// The state of the method.
struct Search<'a, 'o, T> {
    a: &'a dyn LinearOperator<T>,
    options: &'a LobpcgOptions<'o, T>,
    /// The constraints, orthonormal, and their images under B.
    constraints: Vec<Vector<T>>,
    constraint_images: Vec<Vector<T>>,
    x: Block<T>,
    /// Empty at first.
    p: Block<T>,
    values: Vec<f64>,
    /// X'A X, X'A P and P'A P, as they follow from those of the last basis.
    projected: Hermitian,
    /// The steps since all products of the basis were measured.
    steps: usize,
    /// The largest ‖A w‖ of a w of length 1: an estimate of ‖A‖ from below.
    norm_a: f64,
    converged: usize,
    iterations: usize,
    products: usize,
}

impl<'a, 'o, T: Field> Search<'a, 'o, T> {
    fn new(
        a: &'a dyn LinearOperator<T>,
        start: &[Vector<T>],
        options: &'a LobpcgOptions<'o, T>,
    ) -> Result<Self, Error> {
        let mass = options.mass;
        // Twice, since nothing measures what the first time leaves.
        let scaled = |given: &[Vector<T>]| {
            given
                .iter()
                .map(vector_near_one)
                .collect::<Result<Vec<_>, _>>()
        };
        let (constraints, _) = orthonormal(&scaled(options.constraints)?, &[], &[], mass)?;
        let (constraints, _) = orthonormal(&constraints, &[], &[], mass)?;
        let constraint_images = mass_images(mass, &constraints)?;
        let (x, _) = orthonormal(&scaled(start)?, &constraints, &constraint_images, mass)?;
        for (found, given) in [(&constraints, options.constraints), (&x, start)] {
            if found.len() < given.len() {
                for (number, x) in given.iter().enumerate() {
                    if !x.norm_inf().get()?.to_f64().is_finite() {
                        let expected = "vectors whose elements are finite";
                        let found = format!("an element that is not in vector {number}");
                        return Err(Error::argument(OP, expected, found));
                    }
                }
                let expected = format!("{} linearly independent vectors", given.len());
                return Err(Error::argument(OP, expected, found.len().to_string()));
            }
        }
        let products = x.len();
        let x = Block::new(x, a, mass)?;
        let mut search = Self {
            a,
            options,
            constraints,
            constraint_images,
            p: x.combined(&[])?,
            values: Vec::new(),
            x,
            projected: Hermitian::zeros(0),
            steps: 0,
            norm_a: 0.0,
            converged: 0,
            iterations: 0,
            products,
        };
        search.improve(None, true, &[])?;
        Ok(search)
    }

    /// Iterates until there is a reason to stop.
    fn run(&mut self, max_iter: usize) -> Result<StopReason, Error> {
        if self.values.is_empty() {
            return Ok(StopReason::NotFinite);
        }
        let mut has_claimed = false;
        loop {
            let left = residuals(&self.values, &self.x.ax, self.x.bx());
            let active = self.active(&left)?;
            self.converged = self.x.len() - active.len();
            if active.is_empty() {
                if has_claimed {
                    return Ok(StopReason::Converged);
                }
                // Images that have been combined again and again may have drifted away.
                has_claimed = true;
                self.x = Block::new(std::mem::take(&mut self.x.x), self.a, self.options.mass)?;
                self.products += self.x.len();
                self.steps = MOST_STEPS;
                continue;
            }
            if self.iterations >= max_iter {
                return Ok(StopReason::IterationLimit);
            }
            has_claimed = false;
            let Some((w, is_rough)) = self.directions(&left, &active)? else {
                return Ok(StopReason::Stagnation);
            };
            self.iterations += 1;
            drop(left);
            if !self.improve(Some(w), is_rough, &active)? {
                return Ok(StopReason::NotFinite);
            }
        }
    }

    /// Which approximations have not converged.
    fn active(&self, left: &[Vector<T>]) -> Result<Vec<usize>, Error> {
        let images = self.x.bx.as_deref().unwrap_or_default();
        let sizes = norms(&[left, &self.x.x[..], images].concat())?;
        let k = self.x.len();
        // Those of B x, which are x without a mass matrix.
        let of_images = sizes.len() - k;
        let rounding = 10.0 * T::Real::EPSILON.to_f64() * self.norm_a;
        let is_active = |&i: &usize| {
            let [residual, x, bx] = [sizes[i], sizes[k + i], sizes[of_images + i]];
            // Of a vector whose eigenvalue is 0, the value is that of its error squared.
            let size = match self.values[i].abs() * bx {
                size if size <= rounding * x => self.norm_a * x,
                size => size,
            };
            !(residual <= (self.options.tol * size).max(rounding * x))
        };
        Ok((0..k).filter(is_active).collect())
    }

    /// W: the preconditioned residuals, made orthonormal to X, P and among themselves, and whether
    /// rounding may have left more of their products than of those of X and P. `None` if nothing is
    /// left of them.
    fn directions(
        &mut self,
        left: &[Vector<T>],
        active: &[usize],
    ) -> Result<Option<(Block<T>, bool)>, Error> {
        let precondition = |&i: &usize| match self.options.preconditioner {
            Some(preconditioner) => preconditioner.apply(&left[i]),
            None => Ok(left[i].clone()),
        };
        let w = active
            .iter()
            .map(precondition)
            .collect::<Result<Vec<_>, _>>()?;
        let others = [&self.constraints[..], &self.x.x, &self.p.x].concat();
        let other_images = [&self.constraint_images[..], self.x.bx(), self.p.bx()].concat();
        let mass = self.options.mass;
        let (w, is_rough) = orthonormal(&w, &others, &other_images, mass)?;
        if w.is_empty() {
            return Ok(None);
        }
        self.products += w.len();
        Ok(Some((Block::new(w, self.a, mass)?, is_rough)))
    }

    /// Takes the best approximations in the space of X, P and W, and for the active ones what the
    /// step was made of. Gives false, and changes nothing, where inner products are not finite.
    fn improve(
        &mut self,
        w: Option<Block<T>>,
        is_rough: bool,
        active: &[usize],
    ) -> Result<bool, Error> {
        let k = self.x.len();
        let (basis, new) = match w {
            Some(w) => {
                let basis = self.x.clone().followed_by(self.p.clone());
                let new = basis.len()..basis.len() + w.len();
                (basis.followed_by(w), new)
            }
            None => (self.x.clone(), 0..k),
        };
        let m = basis.len();
        let is_measured = is_rough || self.steps >= MOST_STEPS || new.start == 0;
        let (gram, projected) = match is_measured {
            true => {
                let gram = Products::of_hermitian(&basis.x, basis.bx())?;
                (
                    Some(gram),
                    Projected::All(Products::of_hermitian(&basis.x, &basis.ax)?),
                )
            }
            false => (None, self.products_of_new(&basis, new.start)?),
        };
        let sizes = norms(&[&basis.x[new.clone()], &basis.ax[new.clone()]].concat())?;
        let gram = match gram {
            Some(gram) => gram.read_hermitian()?,
            None => Hermitian::identity(m),
        };
        let projected = projected.read(&self.projected)?;
        if !gram.is_finite() || !projected.is_finite() {
            return Ok(false);
        }
        let (lengths, image_lengths) = sizes.split_at(new.len());
        for (length, image_length) in lengths.iter().zip(image_lengths) {
            self.norm_a = self.norm_a.max(image_length / length);
        }

        let units: Vec<_> = (0..m).map(|i| unit(m, i)).collect();
        let selected = is_measured.then(|| orthonormalise(&gram, &[], &units, least::<T>()));
        let pairs = match &selected {
            Some(selected) => projected.projected(selected).eigenpairs(),
            None => projected.clone().eigenpairs(),
        };
        let mut order: Vec<usize> = (0..pairs.values.len()).collect();
        if self.options.largest {
            order.reverse();
        }
        order.truncate(k);
        let in_basis = |&i: &usize| match &selected {
            Some(selected) => combination(selected, &pairs.vectors[i]),
            None => pairs.vectors[i].clone(),
        };
        let best: Vec<_> = order.iter().map(in_basis).collect();
        let steps: Vec<_> = active.iter().map(|&i| without_first(&best[i], k)).collect();
        let steps = orthonormalise(&gram, &best, &steps, least::<T>());
        self.values = order.iter().map(|&i| pairs.values[i]).collect();
        let both = [best, steps].concat();
        self.projected = projected.projected(&both);
        (self.x, self.p) = basis.combined(&both)?.split_at(order.len());
        self.steps = if is_measured { 0 } else { self.steps + 1 };
        Ok(true)
    }

    /// The products of a basis with the images of those of its vectors that are new.
    fn products_of_new(&self, basis: &Block<T>, first: usize) -> Result<Projected<T>, Error> {
        let images = &basis.ax[first..];
        Ok(Projected::New(
            Products::of(&basis.x[..first], images)?,
            Products::of_hermitian(&basis.x[first..], images)?,
        ))
    }

    /// Values in ascending order, with residuals from fresh images.
    fn finish(mut self, reason: StopReason) -> Result<Eigen<T>, Error> {
        if self.options.largest {
            self.values.reverse();
            self.x.x.reverse();
        }
        self.x.x.truncate(self.values.len());
        let block = Block::new(self.x.x, self.a, self.options.mass)?;
        let left = residuals(&self.values, &block.ax, block.bx());
        Ok(Eigen {
            residuals: norms(&left)?,
            values: self.values,
            vectors: block.x,
            n_converged: self.converged,
            iterations: self.iterations,
            products: self.products,
            reason,
        })
    }
}

/// Products of a basis with its images that have been issued.
enum Projected<T> {
    All(Products<T>),
    /// Of the vectors of the last space with the new ones, and of these among themselves.
    New(Products<T>, Products<T>),
}

impl<T: Field> Projected<T> {
    /// The matrix, with what is known of the vectors of the last space.
    fn read(self, known: &Hermitian) -> Result<Hermitian, Error> {
        match self {
            Self::All(products) => products.read_hermitian(),
            Self::New(beside, own) => Ok(known.bordered(&beside.read()?, &own.read_hermitian()?)),
        }
    }
}

/// Coefficients without the first `k`, those of X.
fn without_first(coefficients: &[Complex<f64>], k: usize) -> Coefficients {
    let mut rest = coefficients.to_vec();
    rest[..k].fill(Complex::ZERO);
    rest
}

/// Vectors made orthogonal to others, which are orthonormal, and orthonormal among themselves, in
/// the inner product that the images of the others are of. Fewer where they are dependent. And
/// whether rounding may have left some of their products.
///
/// One reduction, of the products with the others and the Gram matrix of the vectors; the rest
/// follows on the host. Where that would take away most of a vector, so that rounding counts, two:
/// first the parts along the others are taken away. Then what rounding has left of these, and the
/// Gram matrix of the vectors, are found together.
fn orthonormal<T: Field>(
    vectors: &[Vector<T>],
    others: &[Vector<T>],
    other_images: &[Vector<T>],
    mass: Option<&dyn LinearOperator<T>>,
) -> Result<(Vec<Vector<T>>, bool), Error> {
    // Of the squared length of a vector, the part that is enough to be left of it.
    const ENOUGH: f64 = 0.1;
    let (along, gram) = products_with(vectors, other_images, mass)?;
    let lengths: Vec<f64> = (0..gram.len()).map(|i| gram.at(i, i).re).collect();
    let (coefficients, left) = orthonormal_among::<T>(gram, &along);
    let is_enough = |(left, length): (&f64, &f64)| *left >= ENOUGH * length;
    if left.len() == lengths.len() && left.iter().zip(&lengths).all(is_enough) {
        let both = [others, vectors].concat();
        let sums = coefficients.iter().map(|own| {
            let of_others = combination(&along, own).into_iter().map(|along| -along);
            of_others.chain(own.iter().copied()).collect()
        });
        let sums: Vec<Coefficients> = sums.collect();
        return Ok((sums_of_multiples(&both, &sums)?, false));
    }
    let vectors = all_without(vectors, others, &along)?;
    let (along, gram) = products_with(&vectors, other_images, mass)?;
    let (coefficients, _) = orthonormal_among::<T>(gram, &along);
    let vectors = all_without(&vectors, others, &along)?;
    Ok((sums_of_multiples(&vectors, &coefficients)?, true))
}

/// The products of some vectors with others, whose images are given, and their Gram matrix.
fn products_with<T: Field>(
    vectors: &[Vector<T>],
    other_images: &[Vector<T>],
    mass: Option<&dyn LinearOperator<T>>,
) -> Result<(Vec<Coefficients>, Hermitian), Error> {
    let images = mass_images(mass, vectors)?;
    let along = Products::of(other_images, vectors)?;
    let gram = Products::of_hermitian(vectors, &images)?;
    Ok((along.read()?, gram.read_hermitian()?))
}

/// The sums of vectors that are orthonormal once what they have along others is taken away, and the
/// squared lengths that are left of the vectors, as far as they are not left out.
fn orthonormal_among<T: Field>(
    mut gram: Hermitian,
    along: &[Coefficients],
) -> (Vec<Coefficients>, Vec<f64>) {
    gram.subtract_gram(along);
    let n = along.len();
    let units: Vec<_> = (0..n).map(|i| unit(n, i)).collect();
    let coefficients = orthonormalise(&gram, &[], &units, least::<T>());
    // Of a sum that ends with a vector, the coefficient of this is what divides by its length.
    let left = coefficients.iter().map(|own| {
        let last = own.iter().rfind(|own| **own != Complex::ZERO);
        last.map_or(0.0, |last| 1.0 / last.norm_sqr())
    });
    let left = left.collect();
    (coefficients, left)
}

/// B x of each.
fn mass_images<T: Field>(
    mass: Option<&dyn LinearOperator<T>>,
    x: &[Vector<T>],
) -> Result<Vec<Vector<T>>, Error> {
    match mass {
        Some(mass) => images(mass, x),
        None => Ok(x.to_vec()),
    }
}

/// The part of its squared length that a vector must have beside others: with less, its direction
/// would be rounding.
fn least<T: Field>() -> f64 {
    100.0 * T::Real::EPSILON.to_f64()
}
