//! Sums of products of any number of arrays: `einsum_all`.
//!
//! An array is a [`Term`] here. First each term alone loses what it has twice, which leaves a
//! diagonal, and what no other term and not the result has, which is summed. Then two terms at a
//! time become one, those first for which that takes the fewest multiplications. The order depends
//! on shapes and letters alone.
//!
//! Axes that `...` stands for have digits as labels, counted from the last one.

use crate::array::{Array, Vector};
use crate::contract::once;
use crate::operand::named;
use crate::terms::Term;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;

const OP: &str = "einsum_all";
const DOTS: &str = "...";

/// An array that [`einsum_all`] multiplies: an [`Array`] of any number of dimensions.
pub trait Factor<T: Numeric> {
    /// The lengths of the dimensions, and the elements, row-major.
    #[doc(hidden)]
    fn elements(&self) -> Result<(Vec<usize>, Vector<T>), Error>;
}

impl<T: Numeric, const D: usize> Factor<T> for Array<T, D> {
    fn elements(&self) -> Result<(Vec<usize>, Vector<T>), Error> {
        Ok((self.shape().to_vec(), self.try_reshape([self.len()])?))
    }
}

/// Sums of products of one array or more, in the notation of Einstein, as [`einsum`](crate::einsum)
/// of two: each axis has a letter, and what is summed is missing in the result. NumPy's `einsum`.
///
/// A letter that stands twice in one operand takes the diagonal. `...` stands for the axes of an
/// operand that have no letter, which broadcast by NumPy's rules. Without `->` the result has the
/// axes of `...` and the letters that appear once, in the order of the alphabet. A result without
/// axes is an array of no dimensions, with one element.
///
/// Of more than two arrays, two at a time are multiplied, those first that need the fewest
/// multiplications, as [`einsum`](crate::einsum) does. Sums along axes of one array are those of
/// `sum_axis`. Axes that are not in order are copied, and so are views that do not lie row by row.
///
/// ```
/// use sparsefuse_dense::{Array, Vector, einsum_all};
///
/// let a = Array::<f64, 2>::from_fn([2, 2], |[i, j]| (2 * i + j) as f64);
/// let x = Vector::from_vec(vec![1.0, 10.0]);
/// let trace: Array<f64, 0> = einsum_all("ii->", &[&a])?;
/// assert_eq!(trace.to_vec()?, [3.0]);
/// // x^T a y, and the scaling of rows and columns.
/// let form: Array<f64, 0> = einsum_all("i,ij,j->", &[&x, &a, &x])?;
/// assert_eq!(form.to_vec()?, [330.0]);
/// let scaled: Array<f64, 2> = einsum_all("i,ij,j->ij", &[&x, &a, &x])?;
/// assert_eq!(scaled.to_vec()?, [0.0, 10.0, 20.0, 300.0]);
/// let turned: Array<f64, 3> = einsum_all("...ij->...ji", &[&a.insert_axis(0)])?;
/// assert_eq!(turned.to_vec()?, [0.0, 2.0, 1.0, 3.0]);
/// # Ok::<(), sparsefuse_dense::Error>(())
/// ```
///
/// # Errors
///
/// If there are not as many operands as arrays, there is no array, the letters of an operand or the
/// result are not one for each axis that `...` does not stand for, a letter stands twice in the
/// result or in no operand, the result leaves out the axes of `...`, axes of one letter differ in
/// length, memory cannot hold a product, or the arrays belong to two runtimes.
#[doc(alias("einsum", "einsum_path", "multi_dot"))]
pub fn einsum_all<T: Numeric, const C: usize>(
    letters: &str,
    arrays: &[&dyn Factor<T>],
) -> Result<Array<T, C>, Error> {
    named(OP, || {
        let letters: String = letters.chars().filter(|c| !c.is_whitespace()).collect();
        let (operands, made) = match letters.split_once("->") {
            Some((operands, made)) => (operands, Some(made)),
            None => (&letters[..], None),
        };
        let mut terms = terms(operands, arrays)?;
        let made = labels_of_result(operands, made, &terms, C)?;
        broadcast(&mut terms)?;
        let is_made = |label: char| made.contains(&label);
        for number in 0..terms.len() {
            let term = terms[number].with_diagonals()?;
            let is_elsewhere = |label: char| has(&terms, label, &[number]);
            terms[number] = term.summed(|label| is_made(label) || is_elsewhere(label))?;
        }
        while terms.len() > 1 {
            let (a, b) = cheapest(&terms, &made);
            let is_needed = |label: char| is_made(label) || has(&terms, label, &[a, b]);
            let product = terms[a].times(&terms[b], is_needed)?;
            terms.remove(b);
            terms[a] = product;
        }
        terms.swap_remove(0).in_order(&made)?.array()
    })
}

/// The operands with a label for each of their axes.
fn terms<T: Numeric>(operands: &str, arrays: &[&dyn Factor<T>]) -> Result<Vec<Term<T>>, Error> {
    let operands: Vec<&str> = operands.split(',').collect();
    if arrays.is_empty() {
        return Err(Error::argument(OP, "an array or more", "none"));
    }
    if operands.len() != arrays.len() {
        let expected = format!("letters for {} operands", arrays.len());
        let found = format!("\"{}\"", operands.join(","));
        return Err(Error::argument(OP, expected, found));
    }
    let term = |(letters, array): (&&str, &&dyn Factor<T>)| {
        let (lens, elements) = array.elements()?;
        Ok(Term {
            labels: labels_of(letters, lens.len())?,
            lens,
            elements,
        })
    };
    operands.iter().zip(arrays).map(term).collect()
}

/// The labels of an operand with this number of axes.
fn labels_of(letters: &str, n_axes: usize) -> Result<Vec<char>, Error> {
    let refused = || {
        let expected = format!("a letter for each of {n_axes} axes, or `...` for some of them");
        Error::argument(OP, expected, format!("\"{letters}\""))
    };
    let (before, after) = letters.split_once(DOTS).unwrap_or((letters, ""));
    let n_letters = before.len() + after.len();
    let n_others = n_axes.checked_sub(n_letters).ok_or_else(refused)?;
    let is_complete = letters.contains(DOTS) || n_others == 0;
    let are_letters = |part: &str| part.chars().all(|c| c.is_ascii_alphabetic());
    match is_complete && are_letters(before) && are_letters(after) {
        true => Ok(joined(before, n_others, after)),
        false => Err(refused()),
    }
}

/// Labels with those of `n` axes in the place of `...`.
fn joined(before: &str, n: usize, after: &str) -> Vec<char> {
    // An array has few dimensions.
    let digits = (b'0'..).take(n).map(char::from).collect::<Vec<_>>();
    let others = digits.into_iter().rev();
    before.chars().chain(others).chain(after.chars()).collect()
}

/// The labels of the result, which has `n_axes`.
fn labels_of_result<T: Numeric>(
    operands: &str,
    made: Option<&str>,
    terms: &[Term<T>],
    n_axes: usize,
) -> Result<Vec<char>, Error> {
    let of_dots = |term: &Term<T>| term.labels.iter().filter(|c| c.is_ascii_digit()).count();
    let n_others = terms.iter().map(of_dots).max().unwrap_or(0);
    let refused = |expected: &str, found: String| Err(Error::argument(OP, expected, found));
    let labels = match made {
        None => joined("", n_others, &once(operands)),
        Some(made) => match made.split_once(DOTS) {
            Some((before, after)) => joined(before, n_others, after),
            None if n_others == 0 => made.chars().collect(),
            None => {
                return refused(
                    "`...` in the result as in the operands",
                    format!("\"{made}\""),
                );
            }
        },
    };
    if let Some(at) = (0..labels.len()).find(|&at| labels[..at].contains(&labels[at])) {
        return refused(
            "each letter once in the result",
            format!("{} twice", labels[at]),
        );
    }
    if let Some(label) = labels.iter().find(|&&label| !has(terms, label, &[])) {
        let found = format!("{label} in the result alone");
        return refused("letters of the operands in the result", found);
    }
    if labels.len() != n_axes {
        let expected = format!("a result of {n_axes} axes");
        return refused(&expected, labels.len().to_string());
    }
    Ok(labels)
}

/// Takes the axes of `...` of length 1 from terms beside which others are longer, and refuses other
/// axes of one label that differ in length.
fn broadcast<T>(terms: &mut [Term<T>]) -> Result<(), Error> {
    let axes = |terms: &[Term<T>]| -> Vec<(char, usize)> {
        let axes = terms
            .iter()
            .flat_map(|term| term.labels.iter().zip(&term.lens));
        axes.map(|(&label, &len)| (label, len)).collect()
    };
    let all = axes(terms);
    for term in terms.iter_mut() {
        let is_kept = |&(label, len): &(char, usize)| {
            let is_longer = |&(other, n): &(char, usize)| other == label && n != 1;
            !(label.is_ascii_digit() && len == 1 && all.iter().any(is_longer))
        };
        let kept = term.labels.iter().copied().zip(term.lens.iter().copied());
        (term.labels, term.lens) = kept.filter(is_kept).unzip();
    }
    let all = axes(terms);
    for &(label, found) in &all {
        let first = all.iter().find(|(other, _)| *other == label);
        if let Some(&(_, expected)) = first.filter(|(_, len)| *len != found) {
            let expected = format!("{expected} elements along axis {label}");
            return Err(Error::argument(OP, expected, found.to_string()));
        }
    }
    Ok(())
}

/// Whether a term besides some has a label.
fn has<T>(terms: &[Term<T>], label: char, besides: &[usize]) -> bool {
    let others = terms.iter().enumerate();
    let mut others = others.filter(|(number, _)| !besides.contains(number));
    others.any(|(_, term)| term.labels.contains(&label))
}

/// The two terms whose product needs the fewest multiplications, the first of equals.
fn cheapest<T>(terms: &[Term<T>], made: &[char]) -> (usize, usize) {
    let mut best = (usize::MAX, usize::MAX, 0, 1);
    for b in 1..terms.len() {
        for a in 0..b {
            let others = terms[b]
                .axes()
                .filter(|(label, _)| !terms[a].labels.contains(label));
            let (mut work, mut size) = (1_usize, 1_usize);
            for (label, len) in terms[a].axes().chain(others) {
                work = work.saturating_mul(len);
                if made.contains(&label) || has(terms, label, &[a, b]) {
                    size = size.saturating_mul(len);
                }
            }
            best = best.min((work, size, a, b));
        }
    }
    (best.2, best.3)
}
