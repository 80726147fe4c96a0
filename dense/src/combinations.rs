//! Many sums of multiples of the same vectors: the product of a matrix, whose columns they are,
//! with a matrix of coefficients, without making it; and vectors without such sums.
//!
//! A product is a host task on all of the vectors, at the speed of a product of matrices. Each rank
//! makes its own elements of each sum, and its threads share them.

use crate::array::Vector;
use crate::operand::expect;
use sparsefuse_kernels::matmul::{self, Matrix};
use sparsefuse_kernels::{Field, Isa};
use sparsefuse_runtime::{
    Access, Error, HostArgs, HostBody, HostTask, Privilege, Shape, StoreHandle, reserve,
};

const OP: &str = "combinations";

/// Elements of a vector that are multiplied together: those of all vectors stay in a cache.
const CHUNK: usize = 256;

impl<T: Field> Vector<T> {
    /// For each list of coefficients `c` the sum `c[0] x_0 + c[1] x_1 + ...` of the vectors. One
    /// task, which is not fused, for all of them: `m` sums of `n` vectors with `len` elements take
    /// `2 * m * n * len` floating-point operations, at the speed of [`Array::matmul`], and each
    /// vector is read once. Where there are few sums, [`Array::plus_multiples`] fuses.
    ///
    /// Each element is `c[0] * x_0` plus the products that follow, in this order and each by one
    /// fused multiply-add, from zero.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let [x, y] = [1.0, 2.0].map(|value| Vector::full([3], value));
    /// let sums = Vector::combinations(&[&x, &y], &[vec![1.0, 10.0], vec![-1.0, 0.5]]);
    /// assert_eq!(sums[0].to_vec()?, [21.0, 21.0, 21.0]);
    /// assert_eq!(sums[1].to_vec()?, [0.0, 0.0, 0.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Vector::try_combinations`] returns.
    ///
    /// [`Array::matmul`]: crate::Array::matmul
    /// [`Array::plus_multiples`]: crate::Array::plus_multiples
    #[must_use]
    #[track_caller]
    pub fn combinations(vectors: &[&Self], coefficients: &[Vec<T>]) -> Vec<Self> {
        expect(Self::try_combinations(vectors, coefficients))
    }

    /// As [`Vector::combinations`].
    ///
    /// # Errors
    ///
    /// If there is no vector, lengths differ, a list has not as many coefficients as there are
    /// vectors, or memory runs out.
    pub fn try_combinations(
        vectors: &[&Self],
        coefficients: &[Vec<T>],
    ) -> Result<Vec<Self>, Error> {
        combined(OP, &[], vectors, coefficients)
    }

    /// For each vector y and its list of coefficients `c` the rest `y - (c[0] x_0 + c[1] x_1 +
    /// ...)`, as one task, with the sums of [`Vector::combinations`]. Where there are few,
    /// [`Array::minus_multiples`] fuses.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let [x, y] = [1.0, 2.0].map(|value| Vector::full([3], value));
    /// let lists = [vec![1.0, 1.0], vec![2.0, 0.0]];
    /// let rests = Vector::minus_combinations(&[&x, &y], &[&x, &y], &lists);
    /// assert_eq!(rests[0].to_vec()?, [-2.0, -2.0, -2.0]);
    /// assert_eq!(rests[1].to_vec()?, [0.0, 0.0, 0.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Vector::try_minus_combinations`] returns.
    ///
    /// [`Array::minus_multiples`]: crate::Array::minus_multiples
    #[must_use]
    #[track_caller]
    pub fn minus_combinations(
        ys: &[&Self],
        vectors: &[&Self],
        coefficients: &[Vec<T>],
    ) -> Vec<Self> {
        expect(Self::try_minus_combinations(ys, vectors, coefficients))
    }

    /// As [`Vector::minus_combinations`].
    ///
    /// # Errors
    ///
    /// As [`Vector::try_combinations`], or if there are not as many lists as ys.
    pub fn try_minus_combinations(
        ys: &[&Self],
        vectors: &[&Self],
        coefficients: &[Vec<T>],
    ) -> Result<Vec<Self>, Error> {
        const OP: &str = "minus_combinations";
        if ys.len() != coefficients.len() {
            let expected = format!("{} lists of coefficients, one for each y", ys.len());
            return Err(Error::argument(
                OP,
                expected,
                coefficients.len().to_string(),
            ));
        }
        combined(OP, ys, vectors, coefficients)
    }
}

/// The sums of [`Vector::combinations`], or where there are ys what these are without them.
fn combined<T: Field>(
    op: &'static str,
    ys: &[&Vector<T>],
    vectors: &[&Vector<T>],
    coefficients: &[Vec<T>],
) -> Result<Vec<Vector<T>>, Error> {
    let Some(first) = vectors.first() else {
        return Err(Error::argument(op, "a vector or more", "none"));
    };
    let n_vectors = vectors.len();
    for x in vectors.iter().chain(ys) {
        if x.len() != first.len() {
            let shape = |x: &Vector<T>| Shape::new(&[x.len()]);
            return Err(Error::shape(op, shape(first), shape(x)));
        }
    }
    if let Some(list) = coefficients.iter().find(|list| list.len() != n_vectors) {
        let expected = format!("{n_vectors} coefficients, one for each vector");
        return Err(Error::argument(op, expected, list.len().to_string()));
    }
    if coefficients.is_empty() {
        return Ok(Vec::new());
    }
    let runtime = first.runtime();
    let config = runtime.config();
    let product = Combinations {
        coefficients: coefficients.concat(),
        n_vectors,
        n_ys: ys.len(),
        isa: config.isa,
        parallel_threshold: config.parallel_threshold,
    };
    // Ranks hold whole elements of stores, which are those of the vector only if it is no view.
    let vectors = vectors.iter().chain(ys).map(|x| x.contiguous());
    let vectors = vectors.collect::<Result<Vec<_>, Error>>()?;
    let shape = Shape::new(&[first.len()]);
    let made: Vec<StoreHandle> = coefficients
        .iter()
        .map(|_| runtime.new_store(shape, T::DTYPE))
        .collect();
    let stores: Vec<_> = vectors.iter().map(|x| x.store()).chain(&made).collect();
    let declared: Vec<_> = (0..stores.len())
        .map(|number| {
            let privilege = match number < vectors.len() {
                true => Privilege::Read,
                false => Privilege::Write,
            };
            (privilege, Access::Rows, T::DTYPE)
        })
        .collect();
    let task = HostTask::new(move |args| product.run(args));
    runtime.submit_host(&HostBody::new(op, &declared), &stores, task)?;
    Ok(made
        .into_iter()
        .map(|made| Vector::wrap(made, None))
        .collect())
}

/// What the function of the task knows.
struct Combinations<T> {
    /// The lists, one after the other.
    coefficients: Vec<T>,
    n_vectors: usize,
    /// As many as there are sums, or none.
    n_ys: usize,
    isa: Isa,
    /// Products of elements below which a rank's own thread is alone.
    parallel_threshold: usize,
}

/// The same elements of each sum, and the number of the first.
type Part<'m, T> = (usize, Vec<&'m mut [T]>);

impl<T: Field> Combinations<T> {
    fn run(&self, args: &mut HostArgs<'_>) -> Result<(), Error> {
        let n_sums = self.coefficients.len() / self.n_vectors;
        let vectors = (0..self.n_vectors).map(|number| args.read::<T>(number));
        let vectors: Vec<&[T]> = vectors.collect::<Result<_, _>>()?;
        let n_read = self.n_vectors + self.n_ys;
        let ys = (self.n_vectors..n_read).map(|number| args.read::<T>(number));
        let ys: Vec<&[T]> = ys.collect::<Result<_, _>>()?;
        let made = (0..n_sums).map(|number| args.write::<T>(n_read + number));
        let mut made: Vec<&mut [T]> = made.collect::<Result<_, _>>()?;
        let len = made[0].len();
        let work = len.saturating_mul(self.coefficients.len());
        let n_parts = match work < self.parallel_threshold {
            true => 1,
            false => args.threads().min(len.div_ceil(CHUNK)).max(1),
        };
        let mut parts: Vec<Part<'_, T>> = Vec::with_capacity(n_parts);
        for part in 0..n_parts {
            let [begin, end] = [part, part + 1].map(|part| len * part / n_parts);
            let sums = made.iter_mut().map(|sum| {
                let (front, rest) = std::mem::take(sum).split_at_mut(end - begin);
                *sum = rest;
                front
            });
            parts.push((begin, sums.collect()));
        }
        let ends: Vec<usize> = (1..=n_parts).collect();
        args.in_parts_to(&mut parts, &ends, |_, parts| {
            let mut parts = parts.iter_mut();
            parts.try_for_each(|(begin, sums)| self.part(&vectors, &ys, *begin, sums))
        })
    }

    /// The elements of the sums from the one with the number `begin` on.
    fn part(
        &self,
        vectors: &[&[T]],
        ys: &[&[T]],
        begin: usize,
        sums: &mut [&mut [T]],
    ) -> Result<(), Error> {
        let (n_sums, len) = (sums.len(), sums[0].len());
        let shape = [n_sums, CHUNK.min(len), self.n_vectors];
        let filled = |len: usize| {
            let mut elements = reserve(len)?;
            elements.resize(len, T::ZERO);
            Ok::<_, Error>(elements)
        };
        // The last elements may be fewer.
        let last = [n_sums, len % CHUNK, self.n_vectors];
        let workspace = [shape, last].map(|shape| matmul::workspace::<T>(self.isa, shape));
        let mut workspace = filled(workspace[0].max(workspace[1]))?;
        let mut together = filled(self.n_vectors * shape[1])?;
        let mut made = filled(n_sums * shape[1])?;
        let coefficients = Matrix::of_rows(&self.coefficients, [n_sums, self.n_vectors]);
        for at in (0..len).step_by(CHUNK) {
            let n = CHUNK.min(len - at);
            for (row, x) in together.chunks_exact_mut(n).zip(vectors) {
                row.copy_from_slice(&x[begin + at..begin + at + n]);
            }
            let together = Matrix::of_rows(&together[..self.n_vectors * n], [self.n_vectors, n]);
            let made = &mut made[..n_sums * n];
            matmul::product(self.isa, coefficients, together, made, &mut workspace);
            for (sum, row) in sums.iter_mut().zip(made.chunks_exact(n)) {
                sum[at..at + n].copy_from_slice(row);
            }
            for (rest, y) in sums.iter_mut().zip(ys) {
                let pairs = rest[at..at + n].iter_mut().zip(&y[begin + at..]);
                pairs.for_each(|(rest, y)| *rest = *y - *rest);
            }
        }
        Ok(())
    }
}
