//! Convolutions and correlations of matrices with small matrices: images with filters.
//!
//! The matrix with zeros around it is shifted by each place of the other one; the sum of the
//! multiples of these slices is array code, which fuses to one pass over memory.

use crate::array::Array;
use crate::convolve::Overlap;
use crate::join::Padding;
use crate::operand::named;
use crate::twins::twins;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Shape};
use std::ops::Range;

twins! {
    @ "If a matrix has no element, neither contains the other where [`Overlap::Valid`] is asked \
        for, memory cannot hold the result, or they belong to two runtimes.";
    [T: Numeric] Array<T, 2>;
    /// The convolution of two matrices: element `(i, j)` of all is the sum of `self[i - k, j - l] *
    /// other[k, l]`, with zeros around `self`. SciPy's `signal.convolve2d`; [`Overlap::Same`] gives
    /// as many elements as `self` has. Other boundaries are those of [`Array::pad`] before
    /// [`Overlap::Valid`].
    ///
    /// As many products as both have elements multiplied: for a small one beside a large one. Two
    /// tasks for each element of that with fewer, which fuse, in the row-major order of these; and
    /// one that copies the other one with the zeros. An infinity of the smaller one is multiplied
    /// with these zeros too.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Overlap};
    ///
    /// let image = Array::from_shape_vec([2, 3], vec![1, 2, 3, 4, 5, 6])?;
    /// let filter = Array::from_shape_vec([1, 2], vec![1, 10])?;
    /// let all = image.convolve2d(&filter, Overlap::Full);
    /// assert_eq!(all.to_vec()?, [1, 12, 23, 30, 4, 45, 56, 60]);
    /// let within = image.convolve2d(&filter, Overlap::Valid);
    /// assert_eq!(within.to_vec()?, [12, 23, 45, 56]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    convolve2d try_convolve2d(&self, other: &Self, overlap: Overlap) -> Self {
        const OP: &str = "convolve2d";
        sums(OP, self, other, wanted(OP, overlap, |n| (n - 1) / 2, self.shape(), other.shape())?)
    }

    /// The correlation of two matrices: the [convolution](Array::convolve2d) with the conjugate of
    /// the other one turned round. SciPy's `signal.correlate2d`, whose middle is one farther along
    /// axes of which the other one has an even number of elements. Where the other one contains
    /// `self`, SciPy conjugates the elements of [`Overlap::Valid`].
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Overlap};
    ///
    /// let image = Array::from_shape_vec([2, 3], vec![1, 2, 3, 4, 5, 6])?;
    /// let filter = Array::from_shape_vec([1, 2], vec![1, 10])?;
    /// let within = image.correlate2d(&filter, Overlap::Valid);
    /// assert_eq!(within.to_vec()?, [21, 32, 54, 65]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    correlate2d try_correlate2d(&self, other: &Self, overlap: Overlap) -> Self {
        const OP: &str = "correlate2d";
        let turned = other.try_conj()?.try_flip(0)?.try_flip(1)?;
        sums(OP, self, &turned, wanted(OP, overlap, |n| n / 2, self.shape(), other.shape())?)
    }
}

fn sums<T: Numeric>(
    op: &'static str,
    a: &Array<T, 2>,
    b: &Array<T, 2>,
    [rows, columns]: [Range<usize>; 2],
) -> Result<Array<T, 2>, Error> {
    let (x, weights) = if a.len() < b.len() { (b, a) } else { (a, b) };
    named(op, || {
        let [n_rows, n_cols] = weights.shape();
        let (above, beside) = (n_rows - 1, n_cols - 1);
        let around = [(above, above), (beside, beside)];
        let x = x.try_pad(around, Padding::Constant(T::ZERO))?;
        // What is smaller is copied, where it is a view that is read again and again.
        let weights = weights.contiguous()?;
        let product = |k: usize, l: usize| {
            let rows = rows.start + above - k..rows.end + above - k;
            let columns = columns.start + beside - l..columns.end + beside - l;
            let shifted = x.try_slice((rows, columns))?;
            shifted.try_mul(&weights.try_slice((k..=k, l..=l))?)
        };
        let places = (0..n_rows).flat_map(|k| (0..n_cols).map(move |l| (k, l)));
        let first = product(0, 0)?;
        places
            .skip(1)
            .try_fold(first, |sum, (k, l)| sum.try_add(&product(k, l)?))
    })
}

/// Which rows and which columns of all are wanted. `middle` is the first that [`Overlap::Same`]
/// gives, by the elements that the other matrix has along the axis.
fn wanted(
    op: &'static str,
    overlap: Overlap,
    middle: fn(usize) -> usize,
    of_a: [usize; 2],
    of_b: [usize; 2],
) -> Result<[Range<usize>; 2], Error> {
    let shapes = || format!("{} and {}", Shape::new(&of_a), Shape::new(&of_b));
    let ([m, n], [k, l]) = (of_a, of_b);
    if [m, n, k, l].contains(&0) {
        return Err(Error::argument(op, "two matrices with elements", shapes()));
    }
    if overlap == Overlap::Valid && !((m >= k && n >= l) || (m <= k && n <= l)) {
        let expected = "two matrices of which one has the rows and columns of the other";
        return Err(Error::argument(op, expected, shapes()));
    }
    let along = |of_a: usize, of_b: usize| match overlap {
        Overlap::Full => 0..of_a + of_b - 1,
        Overlap::Same => middle(of_b)..middle(of_b) + of_a,
        Overlap::Valid => of_a.min(of_b) - 1..of_a.max(of_b),
    };
    Ok([along(m, k), along(n, l)])
}
