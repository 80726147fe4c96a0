//! How orthogonal the vectors of a basis are, without computing it.
//!
//! Classical Gram-Schmidt takes w to `u = (w - Q h) / eta` with `h = Q'w` and, by Pythagoras,
//! `eta^2 = w'w - h'h`. Where the basis is not quite orthonormal, `Q'Q = I + E`, what u misses
//! follows from numbers that are known:
//!
//! ```text
//! Q'u = -(E h) / eta          and the rounding of w - Q h, divided by eta
//! u'u - 1 = h'E h / eta^2     and the rounding of w'w - h'h, divided by eta^2
//! ```
//!
//! (Simon, *The Lanczos algorithm with partial reorthogonalization*, 1984, has this for symmetric
//! matrices; Larsen, *Lanczos bidiagonalization with partial reorthogonalization*, 1998, adds the
//! rounding with the sign that makes it worse.) As long as all of E stays below the square root of
//! the rounding error, the projected problem is as exact as with an orthonormal basis, so only a
//! vector beyond that has to be orthogonalised twice.

use super::scalars::size;
use num_complex::Complex;

/// The rounding of an inner product and of an update, in units of the last place of what they are
/// made of.
const ROUNDING: f64 = 1.0;

/// An estimate of E.
#[derive(Debug)]
pub(super) struct Orthogonality {
    /// The rounding error of an element.
    epsilon: f64,
    /// The columns of E for the basis, down to the diagonal.
    basis: Columns,
    /// The same of the candidate.
    candidate: Vec<Complex<f64>>,
    /// Whether the candidate has to be orthogonalised once more.
    is_rough: bool,
}

/// The columns of a Hermitian matrix, each down to the diagonal.
#[derive(Debug)]
enum Columns {
    /// As long as no product has had an imaginary part, so that no element has one.
    Real(Vec<Vec<f64>>),
    Complex(Vec<Vec<Complex<f64>>>),
}

impl Orthogonality {
    /// Of a basis of `count` vectors that are orthonormal but for rounding, and of a candidate that
    /// is so beside them.
    pub(super) fn beside(epsilon: f64, count: usize) -> Self {
        let rounding = ROUNDING * epsilon;
        let column = |number: usize| vec![rounding; number + 1];
        Self {
            epsilon,
            basis: Columns::Real((0..count).map(column).collect()),
            candidate: vec![Complex::new(rounding, 0.0); count + 1],
            is_rough: false,
        }
    }

    /// Whether the candidate has to be orthogonalised against the basis once more.
    pub(super) fn is_rough(&self) -> bool {
        self.is_rough
    }

    /// The candidate becomes a vector of the basis; if it was rough, it has been orthogonalised.
    pub(super) fn accept(&mut self) {
        let mut column = std::mem::take(&mut self.candidate);
        if self.is_rough {
            column.fill(Complex::new(ROUNDING * self.epsilon, 0.0));
        }
        self.basis.push(column);
    }

    /// The next candidate is what remains of w, of which `h` are the products with the basis,
    /// `squares` is the squared norm of the whole and `rest` the squared norm of the remainder.
    pub(super) fn next(&mut self, h: &[Complex<f64>], (squares, rest): (f64, f64)) {
        let sums = self.basis.times(h);
        let rounding = ROUNDING * self.epsilon;
        let norm: Complex<f64> = h.iter().zip(&sums).map(|(h, sum)| h.conj() * sum).sum();
        let norm = worse(norm, rounding * squares) / rest;
        let (eta, rounding) = (rest.sqrt(), rounding * squares.sqrt());
        let products = sums.into_iter().map(|sum| worse(-sum, rounding) / eta);
        self.candidate = products.chain([norm]).collect();
        let limit = self.epsilon.sqrt();
        // Also where one is not a number.
        let is_small = |&product: &Complex<f64>| size(product) <= limit;
        self.is_rough = !self.candidate.iter().all(is_small);
    }
}

/// Sums that are added side by side; an order of additions that no machine changes.
const LANES: usize = 8;

impl Columns {
    fn push(&mut self, column: Vec<Complex<f64>>) {
        match self {
            Self::Real(columns) => columns.push(column.iter().map(|element| element.re).collect()),
            Self::Complex(columns) => columns.push(column),
        }
    }

    /// E h. An imaginary part in h makes the next elements of E complex.
    fn times(&mut self, h: &[Complex<f64>]) -> Vec<Complex<f64>> {
        match self {
            Self::Real(columns) if h.iter().all(|h| h.im == 0.0) => {
                let h: Vec<f64> = h.iter().map(|h| h.re).collect();
                let sums = times_real(columns, &h).into_iter();
                sums.map(Complex::from).collect()
            }
            Self::Real(columns) => {
                let complex = |column: &Vec<f64>| column.iter().map(Complex::from).collect();
                let columns: Vec<_> = columns.iter().map(complex).collect();
                let sums = times_complex(&columns, h);
                *self = Self::Complex(columns);
                sums
            }
            Self::Complex(columns) => times_complex(columns, h),
        }
    }
}

fn times_complex(columns: &[Vec<Complex<f64>>], h: &[Complex<f64>]) -> Vec<Complex<f64>> {
    let mut sums = vec![Complex::ZERO; h.len()];
    for (k, (column, &h_k)) in columns.iter().zip(h).enumerate() {
        let (diagonal, above) = column.split_last().expect(DIAGONAL);
        let (before, from_k) = sums.split_at_mut(k);
        let mut sum_k = diagonal * h_k;
        for ((sum, product), h_j) in before.iter_mut().zip(above).zip(h) {
            *sum += product * h_k;
            sum_k += product.conj() * h_j;
        }
        from_k[0] += sum_k;
    }
    sums
}

/// The same where all numbers are real: one pass over half of E, in SIMD code.
fn times_real(columns: &[Vec<f64>], h: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; h.len()];
    for (k, (column, &h_k)) in columns.iter().zip(h).enumerate() {
        let (diagonal, above) = column.split_last().expect(DIAGONAL);
        let (before, from_k) = sums.split_at_mut(k);
        let (sums_of_8, last_sums) = before.as_chunks_mut::<LANES>();
        let (products_of_8, last_products) = above.as_chunks::<LANES>();
        let (h_of_8, last_h) = h[..k].as_chunks::<LANES>();
        let mut lanes = [0.0; LANES];
        for ((sums, products), h) in sums_of_8.iter_mut().zip(products_of_8).zip(h_of_8) {
            for lane in 0..LANES {
                sums[lane] += products[lane] * h_k;
                lanes[lane] += products[lane] * h[lane];
            }
        }
        let mut sum_k = diagonal * h_k + lanes.iter().sum::<f64>();
        for ((sum, product), h_j) in last_sums.iter_mut().zip(last_products).zip(last_h) {
            *sum += product * h_k;
            sum_k += product * h_j;
        }
        from_k[0] += sum_k;
    }
    sums
}

/// What the columns of E are.
const DIAGONAL: &str = "a column ends on the diagonal";

/// A number, larger by an error.
fn worse(number: Complex<f64>, error: f64) -> Complex<f64> {
    match size(number) {
        0.0 => Complex::new(error, 0.0),
        size => number * (1.0 + error / size),
    }
}
