//! Small Hermitian matrices on the host: eigenvalues, and bases that are orthonormal with respect
//! to a Gram matrix.
//!
//! Complex numbers in double precision, whatever the elements of the large vectors are; plain
//! arithmetic and square roots alone, so that every machine and every rank computes the same bits.

use super::tridiagonal;
use crate::krylov::scalars::size;
use num_complex::Complex;
use sparsefuse_kernels::Field;

/// The coefficients of a vector in a small basis.
pub(super) type Coefficients = Vec<Complex<f64>>;

/// The rows of a real matrix up to which Jacobi's method takes no time to speak of.
const MOST_ROWS: usize = 24;

/// More sweeps than any matrix needs: they converge quadratically.
const MAX_SWEEPS: usize = 60;

/// A Hermitian matrix, row by row.
#[derive(Clone, Debug)]
pub(super) struct Hermitian {
    n: usize,
    elements: Vec<Complex<f64>>,
}

/// Eigenvalues in ascending order, each with its vector, of length 1.
#[derive(Clone, Debug)]
pub(super) struct Eigenpairs {
    pub(super) values: Vec<f64>,
    pub(super) vectors: Vec<Coefficients>,
}

impl Hermitian {
    pub(super) fn zeros(n: usize) -> Self {
        Self {
            n,
            elements: vec![Complex::ZERO; n * n],
        }
    }

    pub(super) fn identity(n: usize) -> Self {
        Self {
            n,
            elements: (0..n).flat_map(|row| unit(n, row)).collect(),
        }
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        self.n
    }

    pub(super) fn at(&self, row: usize, column: usize) -> Complex<f64> {
        self.elements[row * self.n + column]
    }

    /// Sets an element and the one that mirrors it.
    pub(super) fn set(&mut self, row: usize, column: usize, value: Complex<f64>) {
        self.elements[column * self.n + row] = value.conj();
        self.elements[row * self.n + column] = match row == column {
            true => Complex::new(value.re, 0.0),
            false => value,
        };
    }

    /// The first rows and columns.
    pub(super) fn leading(&self, n: usize) -> Self {
        let rows = self.elements.chunks_exact(self.n.max(1)).take(n);
        Self {
            n,
            elements: rows.flat_map(|row| &row[..n]).copied().collect(),
        }
    }

    /// The matrix with more rows and columns: `beside` has what is above the diagonal of each of
    /// these in the rows of this one, `own` what is in their own.
    pub(super) fn bordered(&self, beside: &[Coefficients], own: &Self) -> Self {
        let mut all = Self::zeros(self.n + own.n);
        for row in 0..self.n {
            (row..self.n).for_each(|column| all.set(row, column, self.at(row, column)));
        }
        for (column, products) in (self.n..).zip(beside) {
            for (row, &product) in products.iter().enumerate() {
                all.set(row, column, product);
            }
        }
        for row in 0..own.n {
            for column in row..own.n {
                all.set(self.n + row, self.n + column, own.at(row, column));
            }
        }
        all
    }

    pub(super) fn is_finite(&self) -> bool {
        self.elements.iter().all(|a| a.is_finite())
    }

    /// Takes away the inner products of some columns.
    pub(super) fn subtract_gram(&mut self, columns: &[Coefficients]) {
        for (column, y) in columns.iter().enumerate() {
            for (row, x) in columns.iter().enumerate().take(column + 1) {
                self.set(row, column, self.at(row, column) - inner(x, y));
            }
        }
    }

    /// What the matrix is on the space of some vectors: x' A y of all pairs.
    pub(super) fn projected(&self, basis: &[Coefficients]) -> Self {
        match (self.real(), real_of(basis)) {
            (Some(a), Some(basis)) => self.projected_by(&a, &basis),
            _ => self.projected_by(&self.elements, basis),
        }
    }

    fn projected_by<S: Field>(&self, a: &[S], basis: &[Vec<S>]) -> Self {
        let mut projected = Self::zeros(basis.len());
        for (column, y) in basis.iter().enumerate() {
            let image = times(a, y);
            for (row, x) in basis.iter().enumerate().take(column + 1) {
                let (re, im) = inner(x, &image).parts();
                projected.set(row, column, Complex::new(re, im));
            }
        }
        projected
    }

    /// The elements, where all are real.
    fn real(&self) -> Option<Vec<f64>> {
        let real = |a: &Complex<f64>| (a.im == 0.0).then_some(a.re);
        self.elements.iter().map(real).collect()
    }

    /// All eigenvalues and vectors. Of larger real matrices, by reduction to tridiagonal form,
    /// which takes a small part of the time; of others by Jacobi's method, which is more accurate.
    pub(super) fn eigenpairs(self) -> Eigenpairs {
        if self.n > MOST_ROWS && self.elements.iter().all(|a| a.im == 0.0) {
            let elements = self.elements.iter().map(|a| a.re).collect();
            if let Some((values, vectors)) = tridiagonal::eigenpairs(self.n, elements) {
                let complex = |x: Vec<f64>| x.into_iter().map(Complex::from).collect();
                let vectors = vectors.into_iter().map(complex).collect();
                return Eigenpairs { values, vectors };
            }
        }
        self.eigenpairs_by_rotations()
    }

    /// Jacobi's method: rotations of two rows and columns that make one element after the other
    /// vanish (Golub and Van Loan, *Matrix Computations*, section 8.5).
    fn eigenpairs_by_rotations(mut self) -> Eigenpairs {
        let n = self.n;
        let mut vectors: Vec<Coefficients> = (0..n).map(|row| unit(n, row)).collect();
        let largest = self.elements.iter().map(|a| size(*a)).fold(0.0, f64::max);
        let negligible = largest * f64::EPSILON * 1e-6;
        for _ in 0..MAX_SWEEPS {
            let mut is_diagonal = true;
            for p in 0..n {
                for q in p + 1..n {
                    let length = size(self.at(p, q));
                    if length > negligible {
                        is_diagonal = false;
                        self.rotate(p, q, length, &mut vectors);
                    }
                }
            }
            if is_diagonal {
                break;
            }
        }
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&i, &j| self.at(i, i).re.total_cmp(&self.at(j, j).re));
        Eigenpairs {
            values: order.iter().map(|&i| self.at(i, i).re).collect(),
            vectors: order
                .iter()
                .map(|&i| std::mem::take(&mut vectors[i]))
                .collect(),
        }
    }

    /// The rotation of rows and columns `p` and `q` by which the element where they meet, of this
    /// length, vanishes; applied to the vectors too.
    fn rotate(&mut self, p: usize, q: usize, length: f64, vectors: &mut [Coefficients]) {
        let n = self.n;
        let phase = self.at(p, q) / length;
        let (at_p, at_q) = (self.at(p, p).re, self.at(q, q).re);
        let tau = (at_q - at_p) / (2.0 * length);
        let t = tau.signum() / (tau.abs() + (1.0 + tau * tau).sqrt());
        let c = 1.0 / (1.0 + t * t).sqrt();
        let s = phase * (t * c);
        for i in (0..n).filter(|&i| i != p && i != q) {
            let (x, y) = (self.at(i, p), self.at(i, q));
            self.set(i, p, x * c - y * s.conj());
            self.set(i, q, x * s + y * c);
        }
        self.set(p, q, Complex::ZERO);
        self.set(p, p, Complex::new(at_p - t * length, 0.0));
        self.set(q, q, Complex::new(at_q + t * length, 0.0));
        let (before, after) = vectors.split_at_mut(q);
        for (v, w) in before[p].iter_mut().zip(&mut after[0]) {
            let (x, y) = (*v, *w);
            *v = x * c - y * s.conj();
            *w = x * s + y * c;
        }
    }
}

/// The vectors that make `start`, which is orthonormal, an orthonormal basis of the space of
/// `start` and `candidates`, one after the other, as a Gram matrix has lengths and angles. A
/// candidate of whose squared length no more than the part `least` is left by those before it is
/// left out.
pub(super) fn orthonormalise(
    gram: &Hermitian,
    start: &[Coefficients],
    candidates: &[Coefficients],
    least: f64,
) -> Vec<Coefficients> {
    match (gram.real(), real_of(start), real_of(candidates)) {
        (Some(gram), Some(start), Some(candidates)) => {
            let basis = orthonormal(&gram, start, &candidates, least);
            let complex = |x: Vec<f64>| x.into_iter().map(Complex::from).collect();
            basis.into_iter().map(complex).collect()
        }
        _ => orthonormal(&gram.elements, start.to_vec(), candidates, least),
    }
}

/// [`orthonormalise`], in real numbers where all are.
fn orthonormal<S: Field>(
    gram: &[S],
    start: Vec<Vec<S>>,
    candidates: &[Vec<S>],
    least: f64,
) -> Vec<Vec<S>> {
    let n_start = start.len();
    let with_image = |x: Vec<S>| {
        let image = times(gram, &x);
        (x, image)
    };
    let mut basis: Vec<(Vec<S>, Vec<S>)> = start.into_iter().map(with_image).collect();
    for candidate in candidates {
        let (before, _) = inner(candidate, &times(gram, candidate)).parts();
        let mut x = candidate.clone();
        // Twice is enough (Parlett, *The Symmetric Eigenvalue Problem*, section 6.9).
        for _ in 0..2 {
            for (other, image) in &basis {
                let along = inner(image, &x);
                for (x, other) in x.iter_mut().zip(other) {
                    *x -= *other * along;
                }
            }
        }
        let mut image = times(gram, &x);
        let (left, _) = inner(&x, &image).parts();
        if left > least * before {
            let length = S::from_f64(left.sqrt());
            for x in x.iter_mut().chain(&mut image) {
                *x /= length;
            }
            basis.push((x, image));
        }
    }
    let found = basis.drain(n_start..);
    found.map(|(x, _)| x).collect()
}

/// Some vectors, where all of their elements are real.
fn real_of(vectors: &[Coefficients]) -> Option<Vec<Vec<f64>>> {
    let real = |x: &Complex<f64>| (x.im == 0.0).then_some(x.re);
    let vectors = vectors.iter().map(|x| x.iter().map(real).collect());
    vectors.collect()
}

/// The product of a Hermitian matrix, row by row, with a vector.
fn times<S: Field>(a: &[S], x: &[S]) -> Vec<S> {
    let mut product = vec![S::ZERO; x.len()];
    // Row by row, which are the columns, since each sum of a row would wait for its last term.
    for (row, &x) in a.chunks_exact(x.len().max(1)).zip(x) {
        if x == S::ZERO {
            continue;
        }
        for (sum, a) in product.iter_mut().zip(row) {
            *sum += a.conjugate() * x;
        }
    }
    product
}

/// The vector of length `n` with a 1 at one place.
pub(super) fn unit(n: usize, place: usize) -> Coefficients {
    let mut unit = vec![Complex::ZERO; n];
    unit[place] = Complex::ONE;
    unit
}

/// The sum of some vectors, each times its coefficient.
pub(super) fn combination(basis: &[Coefficients], coefficients: &[Complex<f64>]) -> Coefficients {
    let mut sum = vec![Complex::ZERO; basis.first().map_or(0, Vec::len)];
    for (vector, coefficient) in basis.iter().zip(coefficients) {
        for (sum, x) in sum.iter_mut().zip(vector) {
            *sum += x * coefficient;
        }
    }
    sum
}

/// x'y, in four sums: one would wait for each term.
pub(super) fn inner<S: Field>(x: &[S], y: &[S]) -> S {
    const LANES: usize = 4;
    let (wide_x, rest_x) = x.as_chunks::<LANES>();
    let (wide_y, rest_y) = y.as_chunks::<LANES>();
    let mut sums = [S::ZERO; LANES];
    for (x, y) in wide_x.iter().zip(wide_y) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += x.conjugate() * *y;
        }
    }
    let rest = rest_x.iter().zip(rest_y);
    let rest = rest.fold(S::ZERO, |sum, (x, y)| sum + x.conjugate() * *y);
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsefuse_kernels::random;

    fn pseudo_random(n: usize, seed: u64) -> Hermitian {
        let part = |k: usize| 2.0 * random::uniform(seed, k as u64) - 1.0;
        let mut a = Hermitian::zeros(n);
        for row in 0..n {
            for column in row..n {
                let k = 2 * (row * n + column);
                a.set(row, column, Complex::new(part(k), part(k + 1)));
            }
        }
        a
    }

    #[test]
    fn eigenpairs_are_those_of_faer() {
        for n in [0, 1, 2, 3, 7, 20, 41] {
            let a = pseudo_random(n, 7);
            let pairs = a.clone().eigenpairs();
            let dense = faer::Mat::from_fn(n, n, |row, column| a.at(row, column));
            let expected = dense.self_adjoint_eigenvalues(faer::Side::Lower).unwrap();
            for (found, expected) in pairs.values.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-13 * n as f64, "{n}");
            }
            for (i, (value, x)) in pairs.values.iter().zip(&pairs.vectors).enumerate() {
                for (y, x) in times(&a.elements, x).iter().zip(x) {
                    assert!(size(y - x * value) < 1e-13 * n as f64, "{n}");
                }
                for (j, y) in pairs.vectors.iter().enumerate() {
                    let expected = f64::from(i == j);
                    assert!(size(inner(x, y) - expected) < 1e-14 * n as f64, "{n}");
                }
            }
        }
    }

    /// Also of matrices with many equal eigenvalues, of others that fall apart, and
    /// with the same digits at any scale.
    #[test]
    fn eigenpairs_of_real_matrices_by_reduction() {
        let real = |n: usize| {
            let mut a = pseudo_random(n, 3);
            a.elements.iter_mut().for_each(|x| x.im = 0.0);
            a
        };
        let mut projection = Hermitian::zeros(40);
        let mut apart = real(50);
        for row in 0..40 {
            for column in 0..40 {
                projection.set(row, column, Complex::new(0.025, 0.0));
            }
        }
        for row in 0..50 {
            for column in (0..row).filter(|column| (column / 10) != (row / 10)) {
                apart.set(row, column, Complex::ZERO);
            }
        }
        // Of a matrix of rank 1, reflections leave rounding of rounding.
        let mut of_one = Hermitian::zeros(30);
        for (row, column) in (0..30).flat_map(|row| (0..30).map(move |column| (row, column))) {
            let product = (row % 3 + 1) * (column % 3 + 1);
            of_one.set(row, column, Complex::new(product as f64, 0.0));
        }
        for a in [
            real(25),
            real(120),
            Hermitian::zeros(30),
            projection,
            apart,
            of_one,
        ] {
            let expected = a.clone().eigenpairs_by_rotations().values;
            let largest = expected.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            let pairs = a.clone().eigenpairs();
            assert!(pairs.values.is_sorted());
            for (found, expected) in pairs.values.iter().zip(&expected) {
                assert!((found - expected).abs() <= 1e-13 * largest, "{}", a.n);
            }
            for (i, (value, x)) in pairs.values.iter().zip(&pairs.vectors).enumerate() {
                for (y, x) in times(&a.elements, x).iter().zip(x) {
                    assert!((y - x * value).re.abs() <= 1e-13 * largest, "{}", a.n);
                }
                for (j, y) in pairs.vectors.iter().enumerate() {
                    let expected = f64::from(i == j);
                    assert!(size(inner(x, y) - expected) < 1e-13, "{}", a.n);
                }
            }
            for power in [-900, 1000] {
                let mut scaled = a.clone();
                let scale = |x: f64| crate::powers::times_power_of(x, power);
                scaled.elements.iter_mut().for_each(|x| x.re = scale(x.re));
                let scaled = scaled.eigenpairs();
                let expected: Vec<_> = pairs.values.iter().map(|&x| scale(x)).collect();
                assert_eq!(scaled.values, expected);
                assert_eq!(scaled.vectors, pairs.vectors);
            }
        }
    }

    #[test]
    fn equal_and_graded_eigenvalues() {
        let mut a = Hermitian::zeros(4);
        for i in 0..4 {
            a.set(i, i, Complex::ONE);
        }
        assert_eq!(a.clone().eigenpairs().values, [1.0; 4]);
        a.set(0, 0, Complex::new(1e-12, 0.0));
        a.set(0, 3, Complex::new(0.0, 1e-9));
        let values = a.eigenpairs().values;
        // 1e-12 - 1e-18 / (1 - 1e-12).
        assert!((values[0] - (1e-12 - 1e-18)).abs() < 1e-24);
        assert_eq!(values[1], 1.0);
    }

    /// What is real takes another way than what is not, to the same numbers.
    #[test]
    fn bases_of_real_matrices() {
        let n = 30;
        let mut gram = Hermitian::zeros(n);
        let part = |k: usize| random::uniform(5, k as u64) - 0.5;
        for row in 0..n {
            for column in row..n {
                let own = if row == column { n as f64 } else { 0.0 };
                gram.set(row, column, (own + part(row * n + column)).into());
            }
        }
        let candidates: Vec<_> = (0..n).map(|i| unit(n, i)).collect();
        let turned = |x: &Coefficients| x.iter().map(|x| x * Complex::I).collect();
        let imaginary: Vec<Coefficients> = candidates.iter().map(turned).collect();
        let basis = orthonormalise(&gram, &[], &candidates, 1e-12);
        let other = orthonormalise(&gram, &[], &imaginary, 1e-12);
        assert_eq!((basis.len(), other.len()), (n, n));
        for (x, y) in basis.iter().zip(&other) {
            let product = inner(x, &times(&gram.elements, y));
            assert!(size(product - Complex::I) < 1e-14);
        }
        let projected = gram.projected(&basis);
        for (row, column) in (0..n).flat_map(|row| (0..n).map(move |column| (row, column))) {
            assert!(size(projected.at(row, column) - f64::from(row == column)) < 1e-14);
        }
    }

    #[test]
    fn bases_without_what_depends_on_them() {
        // B'B of 6 vectors in a space of 4.
        let n = 6;
        let vectors: Vec<Coefficients> = (0..n)
            .map(|i| {
                let part = |k: usize| random::normal(3, (10 * i + k) as u64) as f64;
                (0..4)
                    .map(|k| Complex::new(part(2 * k), part(2 * k + 1)))
                    .collect()
            })
            .collect();
        let mut gram = Hermitian::zeros(n);
        for row in 0..n {
            for column in row..n {
                gram.set(row, column, inner(&vectors[row], &vectors[column]));
            }
        }
        let candidates: Vec<_> = (0..n).map(|i| unit(n, i)).collect();
        let first = orthonormalise(&gram, &[], &candidates[..2], 1e-12);
        let rest = orthonormalise(&gram, &first, &candidates, 1e-12);
        assert_eq!((first.len(), rest.len()), (2, 2));
        let basis = [first, rest].concat();
        for (i, x) in basis.iter().enumerate() {
            for (j, y) in basis.iter().enumerate() {
                let product = inner(x, &times(&gram.elements, y));
                assert!(size(product - f64::from(i == j)) < 1e-12);
            }
        }
        let coefficients = [Complex::new(0.5, 0.0), Complex::new(0.0, -1.0)];
        let sum = combination(&basis[..2], &coefficients);
        assert!(size(inner(&basis[1], &times(&gram.elements, &sum)) - coefficients[1]) < 1e-12);
    }
}
