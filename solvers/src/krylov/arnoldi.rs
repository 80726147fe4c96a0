//! An orthonormal basis of a Krylov space, by classical Gram-Schmidt with one reduction a step, and
//! a second pass where it is needed.
//!
//! A step holds a candidate u for the next basis vector and takes w = A u. Where u is orthogonal
//! enough ([`Orthogonality`] tells), it is the basis vector, q = u, and one reduction gives
//!
//! ```text
//! h = [Q q]'w       the next column of H
//! w'w               and so eta = ‖w - [Q q] h‖, by Pythagoras, for the next candidate
//! ```
//!
//! Where it is not, it has to be orthogonalised again. That would take two more reductions, one
//! after the other; they wait until the products with w are under way (delayed reorthogonalisation:
//! Bielich, Langou, Thomas, Świrydowicz, Yamazaki, Boman, *Low-synch Gram-Schmidt with delayed
//! reorthogonalization for Krylov solvers*, 2022). So such a step finds besides
//!
//! ```text
//! t = Q'u, u'u      what makes u the basis vector q = (u - Q t) / alpha
//! Q'w, u'w          from which h = [Q q]'w follows
//! ```
//!
//! Where next to nothing remains of w, the second pass follows immediately, since only its result
//! tells whether anything does.
//!
//! Invariants: `A Z = Q H` with Z what the products were made of (`z_k = u_k` or a preconditioned
//! `u_k`), up to the last column, whose lowest element eta may be corrected in the next step;
//! `U = Q T` with T upper triangular. Products of different basis vectors stay below the square
//! root of the rounding error.
//!
//! A space may lie beside orthonormal vectors C, which then stand before Q in all of this: steps
//! take their images' parts along C away, `A Z = C B + Q H`, and the projected problem is that of H
//! alone.

use super::orthogonality::Orthogonality;
use super::projected::Projected;
use super::scalars::{element, read_all};
use crate::turns::turns_of_others;
use num_complex::Complex;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::Error;

/// By how many vectors at a time the tasks of a step grow where vectors are short.
const GRAIN: usize = 8;
/// The same of the longest bases, and by how much of themselves they grow.
const MOST_GRAIN: usize = 64;
const GROWTH: usize = 8;
/// Vectors of up to this length are short: a step takes less time than the analysis of its tasks.
const SHORT: usize = 4096;
/// Vectors of up to this length are if the basis is long: its tasks grow half as fast.
const RATHER_SHORT: usize = 8 * SHORT;

/// Vectors of zeros that fill up the tasks of short vectors.
///
/// A task on k vectors is another one for each k, and is analysed for each. That takes about 14 us
/// for each of the k vectors, for short ones ten times as long as the step, so in the first cycle
/// of a method it would be most of the time. So tasks of short vectors take a multiple of a
/// [`grain`]: their inner products with zeros are not looked at, and zeros with coefficient 0
/// change no bit of what they are subtracted from.
#[derive(Clone)]
pub(super) struct Zeros<T>(Vec<Vector<T>>);

/// The number of which tasks on `count` vectors of this length take a multiple. It grows with the
/// tasks, so that the analyses of a cycle are few however long it is.
fn grain(len: usize, count: usize) -> usize {
    let of_count = count.next_power_of_two() / GROWTH;
    if len <= SHORT {
        of_count.clamp(GRAIN, MOST_GRAIN)
    } else if len <= RATHER_SHORT && of_count / 2 >= GRAIN {
        (of_count / 2).min(MOST_GRAIN)
    } else {
        1
    }
}

impl<T: Field> Zeros<T> {
    /// For bases of up to `most` vectors like this one.
    pub(super) fn like(vector: &Vector<T>, most: usize) -> Self {
        let len = vector.len();
        let count = grain(len, most.min(len) + 2) - 1;
        // From numbers, not by a task: the windows of the first cycle are those of the later ones.
        let zeros = |_| Vector::from_vec(vec![T::from_f64(0.0); len]);
        Self(vector.runtime().enter(|| (0..count).map(zeros).collect()))
    }

    /// What the tasks on a basis of `k` vectors like this one lack; the first one, which has
    /// nothing to subtract, is of a kind of its own in any case.
    fn beside(&self, k: usize, vector: &Vector<T>) -> &[Vector<T>] {
        if k == 0 {
            return &[];
        }
        // They take the candidate and its image besides.
        let count = k + 2;
        let lacking = count.next_multiple_of(grain(vector.len(), count)) - count;
        &self.0[..lacking.min(self.0.len())]
    }
}

/// The candidate for the next basis vector.
enum Candidate<T> {
    Made(Vector<T>),
    /// A vector, its coefficients in the basis, and the norm of what remains without them. No task
    /// is issued for the candidate behind the last vector of a cycle, which the methods do not ask
    /// for.
    Remainder(Vector<T>, Vec<Complex<f64>>, f64),
}

/// The basis, and what is known of the operator on it; see the module's text.
pub(super) struct Arnoldi<T> {
    /// C and Q.
    basis: Vec<Vector<T>>,
    /// How many vectors C has.
    beside: usize,
    /// The columns of B.
    parts: Vec<Vec<Complex<f64>>>,
    /// u, or what it is made of.
    candidate: Candidate<T>,
    /// The residual that the space begins with, up to the end of the first step: if the caller of a
    /// solve holds it too, as it may hold b, the window would be another one otherwise.
    start: Option<Vector<T>>,
    /// The columns of T.
    triangle: Vec<Vec<Complex<f64>>>,
    /// The last column of B and H, as long as only the candidate stands for the next basis vector,
    /// and eta.
    open_column: Option<(Vec<Complex<f64>>, f64)>,
    projected: Projected,
    orthogonality: Orthogonality,
    is_exhausted: bool,
    zeros: Zeros<T>,
}

impl<T: Field> Arnoldi<T> {
    /// The space that begins with a residual of this norm.
    pub(super) fn new(r: Vector<T>, norm: f64, zeros: &Zeros<T>) -> Self {
        Self::beside(Vec::new(), (r, norm), zeros)
    }

    /// The same beside orthonormal vectors, which the residual is orthogonal to.
    pub(super) fn beside(
        others: Vec<Vector<T>>,
        (r, norm): (Vector<T>, f64),
        zeros: &Zeros<T>,
    ) -> Self {
        let epsilon = T::Real::EPSILON.to_f64();
        Self {
            beside: others.len(),
            orthogonality: Orthogonality::beside(epsilon, others.len()),
            basis: others,
            parts: Vec::new(),
            candidate: Candidate::Made(&r * T::from_f64(1.0 / norm)),
            start: Some(r),
            triangle: Vec::new(),
            open_column: None,
            projected: Projected::new(norm, epsilon),
            is_exhausted: false,
            zeros: zeros.clone(),
        }
    }

    /// u, to which the operator is to be applied.
    pub(super) fn candidate(&mut self) -> Vector<T> {
        let u = match &self.candidate {
            Candidate::Made(u) => return u.clone(),
            Candidate::Remainder(w, of_w, norm) => {
                self.without_basis(w, of_w) * T::from_f64(1.0 / norm)
            }
        };
        self.candidate = Candidate::Made(u.clone());
        u
    }

    /// Takes the image w of the candidate. One reduction: of k + 2 inner products where the basis
    /// has k vectors, 2 k + 3 where the candidate is orthogonalised again.
    pub(super) async fn step(&mut self, w: Vector<T>) -> Result<(), Error> {
        let u = self.candidate();
        let Products {
            mut t,
            mut h,
            alpha,
            w_squares,
        } = match self.orthogonality.is_rough() {
            true => self.products_again(&u, &w).await?,
            false => self.products(&u, &w).await?,
        };
        self.start = None;
        let number = self.len();
        if let Some((mut column, eta)) = self.open_column.take()
            && self.orthogonality.is_rough()
        {
            for (column, t) in column.iter_mut().zip(&t) {
                *column += t * eta;
            }
            column.push(Complex::new(eta * alpha, 0.0));
            self.set_column(number - 1, column);
        }
        self.basis.push(match self.orthogonality.is_rough() {
            true => self.without_basis(&u, &t) * T::from_f64(1.0 / alpha),
            false => u,
        });
        self.orthogonality.accept();

        let epsilon = T::Real::EPSILON.to_f64();
        let (mut w, mut of_w, mut squares) = (w, h.clone(), w_squares);
        let mut rest = squares - sum_of_squares(&of_w);
        if rest <= epsilon.sqrt() * squares {
            // So little that what the basis lacks in orthogonality shows.
            w = self.without_basis(&w, &of_w);
            of_w = products(&w, self.basis.iter()).await?;
            squares = of_w.pop().expect(ITSELF).re;
            for (h, more) in h.iter_mut().zip(&of_w) {
                *h += more;
            }
            rest = squares - sum_of_squares(&of_w);
        }
        // Below this, what is left of w after two passes is rounding, and so is its direction.
        self.is_exhausted = rest <= (1e2 * epsilon).powi(2) * w_squares;
        let mut eta = 0.0;
        if !self.is_exhausted {
            eta = rest.sqrt();
            self.orthogonality.next(&of_w, (squares, rest));
            self.candidate = Candidate::Remainder(w, of_w, eta);
        }

        self.open_column = Some((h.clone(), eta));
        h.push(Complex::new(eta, 0.0));
        self.set_column(number, h);
        t.push(Complex::new(alpha, 0.0));
        self.triangle.push(t);
        Ok(())
    }

    /// Sets a column of B and H, the last one or the next.
    fn set_column(&mut self, number: usize, mut part: Vec<Complex<f64>>) {
        let column = part.split_off(self.beside);
        self.parts.truncate(number);
        let beside = sum_of_squares(&part).sqrt();
        self.parts.push(part);
        self.projected.set_column(number, column, beside);
    }

    /// The inner products of a step whose candidate is the basis vector.
    async fn products(&self, u: &Vector<T>, w: &Vector<T>) -> Result<Products, Error> {
        let k = self.basis.len();
        let others = self.basis.iter().chain(self.zeros.beside(k, w));
        let mut h = products(w, others.chain([u])).await?;
        let w_squares = h.pop().expect(ITSELF).re;
        let uw = h.pop().expect(BEFORE_ITSELF);
        h.truncate(k);
        h.push(uw);
        Ok(Products {
            t: vec![Complex::ZERO; k],
            h,
            alpha: 1.0,
            w_squares,
        })
    }

    /// The inner products of a step that orthogonalises its candidate again, all of them issued
    /// before the first is read.
    async fn products_again(&self, u: &Vector<T>, w: &Vector<T>) -> Result<Products, Error> {
        let zeros = self.zeros.beside(self.basis.len(), w);
        let mut others: Vec<&Vector<T>> = self.basis.iter().chain(zeros).collect();
        others.push(u);
        let of_u = u.dots(&others);
        others.push(w);
        let of_w = w.dots(&others);

        turns_of_others().await;
        let (mut t, mut h) = (read_all(&of_u)?, read_all(&of_w)?);
        let u_squares = t.pop().expect(ITSELF).re;
        let w_squares = h.pop().expect(ITSELF).re;
        let uw = h.pop().expect(BEFORE_ITSELF);
        t.truncate(self.basis.len());
        h.truncate(self.basis.len());
        let alpha = (u_squares - sum_of_squares(&t)).sqrt();
        let within: Complex<f64> = t.iter().zip(&h).map(|(t, h)| t.conj() * h).sum();
        h.push((uw - within) / alpha);
        Ok(Products {
            t,
            h,
            alpha,
            w_squares,
        })
    }

    /// A vector without multiples of the basis vectors.
    fn without_basis(&self, vector: &Vector<T>, coefficients: &[Complex<f64>]) -> Vector<T> {
        let terms = self.basis.iter().zip(coefficients);
        let terms = terms.map(|(other, &c)| (element::<T>(c), other));
        let zeros = self.zeros.beside(self.basis.len(), vector).iter();
        let zeros = zeros.map(|zeros| (T::from_f64(0.0), zeros));
        let terms: Vec<_> = terms.chain(zeros).collect();
        vector.minus_multiples(&terms)
    }

    /// The number of basis vectors, without those that the space lies beside.
    pub(super) fn len(&self) -> usize {
        self.basis.len() - self.beside
    }

    /// Whether the operator maps the space to itself, up to rounding, so that it cannot grow.
    pub(super) fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }

    /// Whether the operator is singular on a space that cannot grow.
    pub(super) fn is_singular(&self) -> bool {
        self.is_exhausted && self.projected.is_singular()
    }

    /// The norm of the smallest residual over the space.
    pub(super) fn residual_norm(&self) -> f64 {
        self.projected.residual_norm()
    }

    /// U y for the y with the smallest residual, by the basis: Q (T y). Of a space that lies beside
    /// no others.
    pub(super) fn combination(&self) -> Vector<T> {
        let y = self.projected.solve();
        let row = |row: usize| {
            let columns = self.triangle.iter().zip(&y).skip(row);
            columns.map(|(column, y)| column[row] * y).sum()
        };
        let coefficients: Vec<Complex<f64>> = (0..y.len()).map(row).collect();
        sum_of_multiples(&self.basis, &coefficients)
    }

    /// Z y for the same y.
    pub(super) fn combination_of(&self, images: &[Vector<T>]) -> Vector<T> {
        sum_of_multiples(images, &self.projected.solve())
    }

    /// Q H y for the same y, A Z y without its part along C: by how much the residual gets smaller.
    /// One task on the basis, and no product with the operator.
    pub(super) fn image(&self) -> Vector<T> {
        let of_basis = self.projected.image();
        let mut coefficients = vec![Complex::ZERO; self.beside];
        coefficients.extend(&of_basis[..of_basis.len().min(self.len())]);
        coefficients.resize(self.basis.len(), Complex::ZERO);
        let of_candidate = of_basis.get(self.len()).filter(|_| !self.is_exhausted);
        let last = match (&self.candidate, of_candidate) {
            (_, None) => &self.basis[self.beside] * T::from_f64(0.0),
            (Candidate::Made(u), Some(&factor)) => u * element::<T>(factor),
            (Candidate::Remainder(w, of_w, norm), Some(factor)) => {
                let factor = factor / norm;
                for (coefficient, of_w) in coefficients.iter_mut().zip(of_w) {
                    *coefficient -= factor * of_w;
                }
                w * element::<T>(factor)
            }
        };
        for coefficient in &mut coefficients {
            *coefficient = -*coefficient;
        }
        self.without_basis(&last, &coefficients)
    }

    /// B y for the same y: of the vectors that the space lies beside.
    pub(super) fn image_beside(&self) -> Vec<Complex<f64>> {
        let y = self.projected.solve();
        let row = |row: usize| {
            let columns = self.parts.iter().zip(&y);
            columns.map(|(column, y)| column[row] * y).sum()
        };
        (0..self.beside).map(row).collect()
    }
}

/// Why there is a last product.
const ITSELF: &str = "the last product is that of a vector with itself";
/// Why there is one before it.
const BEFORE_ITSELF: &str = "the last but one is that with the candidate";

/// What a step reads.
struct Products {
    t: Vec<Complex<f64>>,
    h: Vec<Complex<f64>>,
    alpha: f64,
    w_squares: f64,
}

/// The products of a vector with others and with itself.
pub(super) async fn products<'a, T: Field>(
    w: &'a Vector<T>,
    others: impl Iterator<Item = &'a Vector<T>>,
) -> Result<Vec<Complex<f64>>, Error> {
    let products = w.dots(&others.chain([w]).collect::<Vec<_>>());
    turns_of_others().await;
    read_all(&products)
}

pub(super) fn sum_of_squares(numbers: &[Complex<f64>]) -> f64 {
    numbers.iter().map(Complex::norm_sqr).sum()
}

/// The sum of the first vectors, each times its coefficient; 0 without coefficients.
fn sum_of_multiples<T: Field>(vectors: &[Vector<T>], coefficients: &[Complex<f64>]) -> Vector<T> {
    let first = &vectors[0] * element::<T>(coefficients.first().copied().unwrap_or_default());
    let rest = vectors.iter().zip(coefficients).skip(1);
    let rest: Vec<_> = rest.map(|(vector, &c)| (element::<T>(c), vector)).collect();
    first.plus_multiples(&rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::krylov::scalars::{read, size};
    use crate::turns::alone;
    use sparsefuse_sparse::{Csr, gallery};

    /// The largest inner product of two different vectors of a basis, and the largest distance of a
    /// squared norm from 1.
    fn loss<T: Field>(basis: &[Vector<T>]) -> (f64, f64) {
        let (mut products, mut norms) = (0.0f64, 0.0f64);
        for (k, q) in basis.iter().enumerate() {
            for p in &basis[..k] {
                products = products.max(size(read(&p.dot(q)).unwrap()));
            }
            norms = norms.max((q.sum_of_squares().get().unwrap().to_f64() - 1.0).abs());
        }
        (products, norms)
    }

    /// Builds a basis of at most `most` vectors.
    fn check<T: Field>(name: &str, a: &Csr<T>, most: usize) {
        let b = Vector::<T>::from_fn([a.n_rows()], |i| {
            T::from_f64((i[0] as f64 * 0.7).sin() + 0.1)
        });
        let norm = b.norm2().get().unwrap().to_f64();
        let mut space = Arnoldi::new(b.clone(), norm, &Zeros::like(&b, most));
        let mut again = 0;
        while space.len() < most && !space.is_exhausted() {
            again += usize::from(space.orthogonality.is_rough());
            let w = a.matvec(&space.candidate());
            alone(space.step(w)).unwrap();
        }
        let (products, norms) = loss(&space.basis);
        let limit = T::Real::EPSILON.to_f64().sqrt();
        let losses = format!("{name}: {products:e}, {norms:e}");
        assert!(products <= 2.0 * limit && norms <= 2.0 * limit, "{losses}");
        assert!(
            2 * again < space.len(),
            "{name}: {again} orthogonalised again"
        );
    }

    #[test]
    fn zeros_beside_a_basis_change_no_bit() {
        let bits = |n: usize, most: usize, zeros: &Zeros<f64>| {
            let a = gallery::random::<f64>(n, 6, 3).unwrap();
            let b = Vector::<f64>::from_fn([n], |i| (i[0] as f64 * 0.7).sin());
            let norm = b.norm2().get().unwrap();
            let mut space = Arnoldi::new(b, norm, zeros);
            while space.len() < most {
                let w = a.matvec(&space.candidate());
                alone(space.step(w)).unwrap();
            }
            let bits = |q: &Vector<f64>| q.to_vec().unwrap().into_iter().map(f64::to_bits);
            space.basis.iter().flat_map(bits).collect::<Vec<u64>>()
        };
        for (n, most, count) in [(500, 70, 15), (SHORT + 1, 70, 7)] {
            let zeros = Zeros::like(&Vector::zeros([n]), most);
            assert_eq!(zeros.0.len(), count);
            assert!(bits(n, most, &zeros) == bits(n, most, &Zeros(Vec::new())));
        }
        let counts = |n, most| Zeros::like(&Vector::<f64>::zeros([n]), most).0.len();
        assert_eq!(counts(SHORT, 30), GRAIN - 1);
        assert_eq!(counts(SHORT, usize::MAX - 2), MOST_GRAIN - 1);
        assert_eq!(counts(SHORT + 1, 30), 0);
        assert_eq!(counts(RATHER_SHORT + 1, 300), 0);
    }

    #[test]
    fn bases_are_orthogonal_enough() {
        check("poisson 32", &gallery::poisson2d::<f64>(32).unwrap(), 30);
        check(
            "poisson 32, long",
            &gallery::poisson2d::<f64>(32).unwrap(),
            120,
        );
        check("poisson 128", &gallery::poisson2d::<f64>(128).unwrap(), 30);
        check(
            "poisson 128 f32",
            &gallery::poisson2d::<f32>(128).unwrap(),
            30,
        );
        check("diffusion", &gallery::diffusion2d::<f64>(48).unwrap(), 100);
        check("poisson1d", &gallery::poisson1d::<f64>(200).unwrap(), 199);
        check("random", &gallery::random::<f64>(2000, 6, 3).unwrap(), 100);
        check("rmat", &gallery::rmat::<f64>(10, 8, 1).unwrap(), 60);
        check(
            "random c64",
            &gallery::random::<Complex<f64>>(2000, 6, 3).unwrap(),
            60,
        );
        check(
            "random c32",
            &gallery::random::<Complex<f32>>(2000, 6, 3).unwrap(),
            60,
        );
        check("small", &gallery::random::<f64>(40, 5, 3).unwrap(), 40);
    }
}
