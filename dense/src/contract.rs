//! Sums of products over axes that two arrays have in common: `einsum` and `tensordot`.
//!
//! Axes have labels. Those of one operand alone that the result has not are summed first; then both
//! operands are matrices, one for each index of the labels that all three have: rows for what the result
//! has of the first, columns for what it has of the second, and what is summed between. So each element is
//! a chain of fused multiply-adds, as of products of matrices.

use crate::array::{Array, Vector};
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;

/// Sums of products of two arrays, in the notation of Einstein: each axis has a letter, and what is summed
/// is missing in the result. NumPy's `einsum`. Without `->` the result has the letters that appear once,
/// in the order of the alphabet. Of one array, of more than two, with diagonals and `...` it is
/// [`einsum_all`](crate::einsum_all).
///
/// One product of matrices, or of as many as the letters that both operands and the result have make;
/// sums before that and copies where axes are not in order.
///
/// ```
/// use sparsefuse_dense::{Array, Vector, einsum};
///
/// let a = Array::<f64, 2>::from_fn([2, 3], |[i, j]| (3 * i + j) as f64);
/// let product: Array<f64, 2> = einsum("ij,kj->ki", &a, &a)?;
/// assert_eq!(product.to_vec()?, [5.0, 14.0, 14.0, 50.0]);
/// let weights = Vector::from_vec(vec![1.0, 10.0]);
/// let sums: Vector<f64> = einsum("i,ij->i", &weights, &a)?;
/// assert_eq!(sums.to_vec()?, [3.0, 120.0]);
///
/// let error = einsum::<f64, 2, 2, 2>("ij,jk->ij", &a, &a).unwrap_err();
/// assert_eq!(error.to_string(), "einsum: expected 3 elements along axis j, found 2");
/// # Ok::<(), sparsefuse_dense::Error>(())
/// ```
///
/// # Errors
///
/// If the letters are not one for each axis, a letter stands twice in one operand or in the result, the
/// result has a letter of no operand, axes of one letter differ in length, or the arrays belong to two
/// runtimes.
pub fn einsum<T: Numeric, const A: usize, const B: usize, const C: usize>(
    letters: &str,
    a: &Array<T, A>,
    b: &Array<T, B>,
) -> Result<Array<T, C>, Error> {
    const OP: &str = "einsum";
    let letters: String = letters.chars().filter(|c| !c.is_whitespace()).collect();
    let (operands, made) = match letters.split_once("->") {
        Some((operands, made)) => (operands, Some(made)),
        None => (&letters[..], None),
    };
    let Some((of_a, of_b)) = operands.split_once(',') else {
        return Err(Error::argument(
            OP,
            "two operands, as in \"ij,jk->ik\"",
            letters,
        ));
    };
    let of_made = match made {
        Some(made) => made.to_owned(),
        None => once(operands),
    };
    let labels = Labels {
        a: labels(OP, of_a)?,
        b: labels(OP, of_b)?,
        made: labels(OP, &of_made)?,
    };
    contract(OP, labels, a, b)
}

impl<T: Numeric, const D: usize> Array<T, D> {
    /// The sums of products over pairs of axes, one of this array and one of `other`; the result has the
    /// other axes of this array, then those of `other`: NumPy's `tensordot`.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// let a = Array::<f64, 3>::ones([2, 3, 4]);
    /// let b = Array::<f64, 2>::ones([4, 3]);
    /// let sums: Vector<f64> = a.tensordot(&b, &[(1, 1), (2, 0)])?;
    /// assert_eq!(sums.to_vec()?, [12.0, 12.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such axis, an axis stands in two pairs, those of a pair differ in length, the result
    /// has another number of dimensions, or the arrays belong to two runtimes.
    pub fn tensordot<const E: usize, const F: usize>(
        &self,
        other: &Array<T, E>,
        axes: &[(usize, usize)],
    ) -> Result<Array<T, F>, Error> {
        const OP: &str = "tensordot";
        if let Some((a, b)) = axes.iter().find(|(a, b)| *a >= D || *b >= E) {
            let expected = format!("axes below {D} and {E}");
            return Err(Error::argument(OP, expected, format!("{a} and {b}")));
        }
        let is_repeated = |at: usize| {
            let (a, b) = axes[at];
            axes[..at].iter().any(|&(c, d)| a == c || b == d)
        };
        if (0..axes.len()).any(is_repeated) {
            let expected = "each axis in one pair at most";
            return Err(Error::argument(OP, expected, format!("{axes:?}")));
        }
        let letter = |number: usize| char::from(b'a' + number as u8);
        let of_a: Vec<char> = (0..D).map(letter).collect();
        let mut of_b: Vec<char> = (D..D + E).map(letter).collect();
        for &(a, b) in axes {
            of_b[b] = of_a[a];
        }
        let is_alone = |label: &&char, others: &[char]| !others.contains(label);
        let rest_of_a = of_a.iter().filter(|label| is_alone(label, &of_b));
        let rest_of_b = of_b.iter().filter(|label| is_alone(label, &of_a));
        let made = rest_of_a.chain(rest_of_b).copied().collect();
        let labels = Labels {
            a: of_a,
            b: of_b,
            made,
        };
        contract(OP, labels, self, other)
    }
}

/// The letters that appear once among those of operands, in the order of the alphabet.
pub(crate) fn once(operands: &str) -> String {
    let letters = operands.chars().filter(char::is_ascii_alphabetic);
    let mut once: Vec<char> = letters
        .filter(|&letter| operands.matches(letter).count() == 1)
        .collect();
    once.sort_unstable();
    once.into_iter().collect()
}

/// One label for each letter, none twice.
fn labels(op: &'static str, letters: &str) -> Result<Vec<char>, Error> {
    let labels: Vec<char> = letters.chars().collect();
    if let Some(other) = labels.iter().find(|label| !label.is_ascii_alphabetic()) {
        let expected = "letters, two operands and a result, as in \"ij,jk->ik\"";
        return Err(Error::argument(op, expected, other.to_string()));
    }
    let is_twice = |at: &usize| labels[..*at].contains(&labels[*at]);
    match (0..labels.len()).find(is_twice) {
        None => Ok(labels),
        Some(at) => {
            let found = format!("{} twice in {letters}", labels[at]);
            Err(Error::argument(
                op,
                "each letter once in an operand or the result",
                found,
            ))
        }
    }
}

/// The labels of the axes of both operands and of the result.
struct Labels {
    a: Vec<char>,
    b: Vec<char>,
    made: Vec<char>,
}

/// The sums of products.
fn contract<T: Numeric, const A: usize, const B: usize, const C: usize>(
    op: &'static str,
    labels: Labels,
    a: &Array<T, A>,
    b: &Array<T, B>,
) -> Result<Array<T, C>, Error> {
    let Labels {
        a: of_a,
        b: of_b,
        made: of_made,
    } = &labels;
    for (labels, dimensions) in [(of_a, A), (of_b, B), (of_made, C)] {
        if labels.len() != dimensions {
            let expected = format!("a letter for each of {dimensions} axes");
            let found: String = labels.iter().collect();
            return Err(Error::argument(op, expected, format!("\"{found}\"")));
        }
    }
    let len_in = |labels: &[char], shape: &[usize], label: char| {
        let at = labels.iter().position(|&other| other == label)?;
        Some(shape[at])
    };
    let len =
        |label: char| len_in(of_a, &a.shape(), label).or_else(|| len_in(of_b, &b.shape(), label));
    for (&label, found) in of_b.iter().zip(b.shape()) {
        if let Some(expected) = len_in(of_a, &a.shape(), label).filter(|&len| len != found) {
            let expected = format!("{expected} elements along axis {label}");
            return Err(Error::argument(op, expected, found.to_string()));
        }
    }
    if let Some(label) = of_made.iter().find(|&&label| len(label).is_none()) {
        let found = format!("{label} in the result alone");
        return Err(Error::argument(
            op,
            "letters of the operands in the result",
            found,
        ));
    }
    let parted = Parted::new(of_a, of_b, |label| of_made.contains(&label));
    let Parted {
        each,
        rows,
        summed,
        columns,
    } = &parted;
    let a = in_order(a, of_a, &[&each[..], rows, summed].concat())?;
    let b = in_order(b, of_b, &[&each[..], summed, columns].concat())?;
    let made = parted.product(&a, &b, |label| len(label).unwrap_or(1))?;
    let order = parted.made();
    let made: Array<T, C> = made.reshape(std::array::from_fn(|d| len(order[d]).unwrap_or(1)))?;
    made.try_permute_axes(places(&order, of_made))
}

/// How the labels of two operands are parted, so that their sums of products are products of matrices.
/// Labels of one operand that the result has not are none of them.
pub(crate) struct Parted {
    /// Those for each index of which there is a product.
    pub(crate) each: Vec<char>,
    /// Those of the rows of the result, of which the first operand has all.
    pub(crate) rows: Vec<char>,
    /// Those that are summed.
    pub(crate) summed: Vec<char>,
    /// Those of the columns of the result, of which the second operand has all.
    pub(crate) columns: Vec<char>,
}

impl Parted {
    pub(crate) fn new(of_a: &[char], of_b: &[char], is_made: impl Fn(char) -> bool) -> Self {
        let of = |labels: &[char], others: &[char], is_common: bool, made: bool| -> Vec<char> {
            let labels = labels.iter().copied();
            let is_it =
                |&label: &char| others.contains(&label) == is_common && is_made(label) == made;
            labels.filter(is_it).collect()
        };
        Self {
            each: of(of_a, of_b, true, true),
            rows: of(of_a, of_b, false, true),
            summed: of(of_a, of_b, true, false),
            columns: of(of_b, of_a, false, true),
        }
    }

    /// The labels of the result, in its order.
    pub(crate) fn made(&self) -> Vec<char> {
        [&self.each[..], &self.rows, &self.columns].concat()
    }

    /// The sums of products, row by row in the order of [`Parted::made`]. The first operand has its
    /// elements in the order of `each`, `rows`, `summed`, the second one in that of `each`, `summed`,
    /// `columns`.
    pub(crate) fn product<T: Numeric>(
        &self,
        a: &Vector<T>,
        b: &Vector<T>,
        len: impl Fn(char) -> usize,
    ) -> Result<Vector<T>, Error> {
        let total = |labels: &[char]| labels.iter().map(|&label| len(label)).product::<usize>();
        let [n, depth, n_rows, n_columns] =
            [&self.each, &self.summed, &self.rows, &self.columns].map(|labels| total(labels));
        if n == 1 {
            let a: Array<T, 2> = a.reshape([n_rows, depth])?;
            let made = a.try_matmul(&b.reshape([depth, n_columns])?)?;
            return made.reshape([n_rows * n_columns]);
        }
        let a: Array<T, 3> = a.reshape([n, n_rows, depth])?;
        let made = a.try_matmul(&b.reshape([n, depth, n_columns])?)?;
        made.reshape([n * n_rows * n_columns])
    }
}

/// The elements with the axes in this order, in one dimension, summed over the others.
fn in_order<T: Numeric, const D: usize>(
    x: &Array<T, D>,
    labels: &[char],
    order: &[char],
) -> Result<Vector<T>, Error> {
    let others = labels.iter().filter(|label| !order.contains(label));
    let all: Vec<char> = order.iter().chain(others).copied().collect();
    let turned = x.try_permute_axes(places(labels, &all))?;
    let kept: usize = turned.shape()[..order.len()].iter().product();
    if order.len() == D {
        return turned.reshape([kept]);
    }
    let summed = turned.shape()[order.len()..].iter().product();
    let lines: Array<T, 2> = turned.reshape([kept, summed])?;
    lines.try_sum_axis(1)
}

/// Where each label of the second list stands in the first.
fn places<const D: usize>(labels: &[char], wanted: &[char]) -> [usize; D] {
    std::array::from_fn(|d| {
        labels
            .iter()
            .position(|&label| label == wanted[d])
            .unwrap_or(d)
    })
}
