//! Sums of products over axes that two arrays have in common: `einsum` and `tensordot`.
//!
//! Axes have labels. Those of one operand alone that the result has not are summed first; then the
//! operands are [terms](Term) of one product.

use crate::array::Array;
use crate::operand::named;
use crate::terms::Term;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;

/// Sums of products of two arrays, in the notation of Einstein: each axis has a letter, and what is
/// summed is missing in the result. NumPy's `einsum`. Without `->` the result has the letters that
/// appear once, in the order of the alphabet. Of one array, of more than two, with diagonals and
/// `...` it is [`einsum_all`](crate::einsum_all).
///
/// One product of matrices, or of as many as the letters that both operands and the result have
/// make; sums before that and copies where axes are not in order. Where one operand has no axis of
/// its own it is a product with a vector, [`Array::matvec`]; where neither has, elements are
/// multiplied and summed by `sum_axis`; and where nothing is summed they are only multiplied.
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
/// If the letters are not one for each axis, a letter stands twice in one operand or in the result,
/// the result has a letter of no operand, axes of one letter differ in length, or the arrays belong
/// to two runtimes.
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
    /// The sums of products over pairs of axes, one of this array and one of `other`; the result
    /// has the other axes of this array, then those of `other`: NumPy's `tensordot`.
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
    /// If there is no such axis, an axis stands in two pairs, those of a pair differ in length, the
    /// result has another number of dimensions, or the arrays belong to two runtimes.
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
    named(op, || {
        let is_made = |label: char| of_made.contains(&label);
        let of_a_alone =
            Term::new(of_a.clone(), a)?.summed(|label| is_made(label) || of_b.contains(&label))?;
        let of_b_alone =
            Term::new(of_b.clone(), b)?.summed(|label| is_made(label) || of_a.contains(&label))?;
        of_a_alone
            .times(&of_b_alone, is_made)?
            .in_order(of_made)?
            .array()
    })
}
