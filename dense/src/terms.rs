//! Arrays whose axes have labels, and what sums of products are made of: diagonals, sums over axes,
//! and the product of two.

use crate::array::{Array, Vector};
use crate::slices::step;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;

/// An array whose axes have labels.
#[derive(Clone)]
pub(crate) struct Term<T> {
    pub(crate) labels: Vec<char>,
    /// The length of each axis.
    pub(crate) lens: Vec<usize>,
    /// Row by row.
    pub(crate) elements: Vector<T>,
}

impl<T> Term<T> {
    pub(crate) fn axes(&self) -> impl Iterator<Item = (char, usize)> {
        self.labels.iter().copied().zip(self.lens.iter().copied())
    }

    /// The number of indices of some labels.
    fn total(&self, labels: &[char]) -> usize {
        let axes = self.axes().filter(|(label, _)| labels.contains(label));
        axes.map(|(_, len)| len).product()
    }
}

impl<T: Numeric> Term<T> {
    pub(crate) fn new<const D: usize>(labels: Vec<char>, x: &Array<T, D>) -> Result<Self, Error> {
        Ok(Self {
            labels,
            lens: x.shape().to_vec(),
            elements: x.try_reshape([x.len()])?,
        })
    }

    /// The array of a term with `D` axes.
    pub(crate) fn array<const D: usize>(&self) -> Result<Array<T, D>, Error> {
        self.elements
            .try_reshape(std::array::from_fn(|d| self.lens[d]))
    }

    /// The diagonals of axes that have one label.
    pub(crate) fn with_diagonals(&self) -> Result<Self, Error> {
        let mut term = self.clone();
        let again =
            |labels: &[char]| (1..labels.len()).find(|&at| labels[..at].contains(&labels[at]));
        while let Some(second) = again(&term.labels) {
            let label = term.labels[second];
            let first = term.labels.iter().position(|&other| other == label);
            let first = first.unwrap_or(second);
            term = term.moved(second, first + 1, 1)?;
            let n = term.lens[first];
            let before = term.lens[..first].iter().product();
            let after = term.lens[first + 2..].iter().product();
            let pairs: Array<T, 3> = term.elements.try_reshape([before, n * n, after])?;
            let equal = pairs.try_slice((.., step(.., n as isize + 1), ..))?;
            term.labels.remove(first);
            term.lens.remove(first);
            term.elements = equal.try_reshape([before * n * after])?;
        }
        Ok(term)
    }

    /// The sums over the axes that are not kept. Neighbouring ones are summed where they are,
    /// others are brought behind those that are kept.
    pub(crate) fn summed(&self, is_kept: impl Fn(char) -> bool) -> Result<Self, Error> {
        let is_summed = |label: &char| !is_kept(*label);
        let n = self.labels.iter().copied().filter(is_summed).count();
        if n == 0 {
            return Ok(self.clone());
        }
        let first = self.labels.iter().position(is_summed).unwrap_or(0);
        if self.labels[first..first + n].iter().all(is_summed) {
            return self.summed_at(first, n);
        }
        let (kept, others): (Vec<char>, Vec<char>) =
            self.labels.iter().partition(|&&label| is_kept(label));
        let term = self.in_order(&[&kept[..], &others].concat())?;
        term.summed_at(kept.len(), others.len())
    }

    /// The sums over `n` neighbouring axes.
    fn summed_at(&self, first: usize, n: usize) -> Result<Self, Error> {
        let mut term = self.clone();
        term.labels.drain(first..first + n);
        let summed = term.lens.drain(first..first + n).product();
        let before = term.lens[..first].iter().product();
        let after = term.lens[first..].iter().product();
        term.elements = match [before, after] {
            [_, 1] => self
                .elements
                .try_reshape([before, summed])?
                .try_sum_axis(1)?,
            [1, _] => self
                .elements
                .try_reshape([summed, after])?
                .try_sum_axis(0)?,
            _ => {
                let boxes: Array<T, 3> = self.elements.try_reshape([before, summed, after])?;
                boxes.try_sum_axis(1)?.try_reshape([before * after])?
            }
        };
        Ok(term)
    }

    /// The product of two terms, summed over what they have in common and is not needed. What only
    /// one of them has is needed.
    pub(crate) fn times(
        &self,
        other: &Self,
        is_needed: impl Fn(char) -> bool,
    ) -> Result<Self, Error> {
        let is_common = |label: &char| self.labels.contains(label) && other.labels.contains(label);
        let alone = |labels: &[char]| -> Vec<char> {
            labels
                .iter()
                .copied()
                .filter(|label| !is_common(label))
                .collect()
        };
        let (rows, columns) = (alone(&self.labels), alone(&other.labels));
        let common = self.labels.iter().copied().filter(is_common);
        let (each, summed): (Vec<char>, Vec<char>) = common.partition(|&label| is_needed(label));
        if rows.is_empty() && columns.is_empty() {
            let product = self.times_each(other)?;
            return product.summed(|label| each.contains(&label));
        }
        let labels = [&each[..], &rows, &columns].concat();
        let len = |label: &char| {
            let mut axes = self.axes().chain(other.axes());
            axes.find(|axis| axis.0 == *label).map_or(1, |(_, len)| len)
        };
        let lens: Vec<usize> = labels.iter().map(len).collect();
        let elements = if summed.is_empty() {
            self.times_broadcast(other, [&each, &rows, &columns])?
        } else if each.is_empty() {
            self.times_matrix(other, [&rows, &summed, &columns])?
        } else {
            let n = self.total(&each);
            let [n_rows, depth, n_columns] = [
                self.total(&rows),
                self.total(&summed),
                other.total(&columns),
            ];
            let a = self.in_order(&[&each[..], &rows, &summed].concat())?;
            let b = other.in_order(&[&each[..], &summed, &columns].concat())?;
            let a: Array<T, 3> = a.elements.try_reshape([n, n_rows, depth])?;
            let b: Array<T, 3> = b.elements.try_reshape([n, depth, n_columns])?;
            a.try_matmul(&b)?.try_reshape([n * n_rows * n_columns])?
        };
        Ok(Self {
            labels,
            lens,
            elements,
        })
    }

    /// The products of elements with the same labels, which both have.
    fn times_each(&self, other: &Self) -> Result<Self, Error> {
        let other = other.in_order(&self.labels)?;
        let mut product = self.clone();
        product.elements = self.elements.try_mul(&other.elements)?;
        Ok(product)
    }

    /// The products where nothing is summed, of indices that both have and of others.
    fn times_broadcast(
        &self,
        other: &Self,
        [each, rows, columns]: [&[char]; 3],
    ) -> Result<Vector<T>, Error> {
        let [n, n_rows, n_columns] = [self.total(each), self.total(rows), other.total(columns)];
        let a = self.in_order(&[each, rows].concat())?.elements;
        let b = other.in_order(&[each, columns].concat())?.elements;
        if rows.is_empty() || columns.is_empty() {
            let (a, b) = (a.try_reshape([n, n_rows])?, b.try_reshape([n, n_columns])?);
            return a.try_mul(&b)?.try_reshape([n * n_rows * n_columns]);
        }
        let (a, b) = (
            a.try_reshape([n, n_rows, 1])?,
            b.try_reshape([n, 1, n_columns])?,
        );
        a.try_mul(&b)?.try_reshape([n * n_rows * n_columns])
    }

    /// The products where both have in common only what is summed: one of matrices, or of a matrix
    /// and a vector.
    fn times_matrix(
        &self,
        other: &Self,
        [rows, summed, columns]: [&[char]; 3],
    ) -> Result<Vector<T>, Error> {
        let vector = |term: &Self| Ok::<_, Error>(term.in_order(summed)?.elements);
        if columns.is_empty() {
            return self.matrix(rows, summed)?.try_matvec(&vector(other)?);
        }
        if rows.is_empty() {
            return other.matrix(columns, summed)?.try_matvec(&vector(self)?);
        }
        let (a, b) = (self.matrix(rows, summed)?, other.matrix(summed, columns)?);
        let made = a.try_matmul(&b)?;
        made.try_reshape([made.len()])
    }

    /// The matrix whose rows have some labels and whose columns the others; without a copy if they
    /// follow one another in either order.
    fn matrix(&self, rows: &[char], columns: &[char]) -> Result<Array<T, 2>, Error> {
        let [n_rows, n_columns] = [self.total(rows), self.total(columns)];
        if self.labels == [columns, rows].concat() {
            let turned: Array<T, 2> = self.elements.try_reshape([n_columns, n_rows])?;
            return Ok(turned.t());
        }
        let term = self.in_order(&[rows, columns].concat())?;
        term.elements.try_reshape([n_rows, n_columns])
    }

    /// The term with its labels, all of them, in this order.
    pub(crate) fn in_order(&self, order: &[char]) -> Result<Self, Error> {
        let mut term = self.clone();
        for place in 0..order.len() {
            let labels = &term.labels;
            let from = labels.iter().position(|label| *label == order[place]);
            let from = from.unwrap_or(place);
            // Axes that follow it in both orders move with it.
            let pairs = labels[from..].iter().zip(&order[place..]);
            let n = pairs.take_while(|(label, wanted)| label == wanted).count();
            term = term.moved(from, place, n)?;
        }
        Ok(term)
    }

    /// The term with the `n` axes at `from` in front of that at `to`, which is not behind them.
    fn moved(&self, from: usize, to: usize, n: usize) -> Result<Self, Error> {
        let mut term = self.clone();
        if from > to {
            let ends = [0, to, from, from + n, self.lens.len()];
            let dims: [usize; 4] =
                std::array::from_fn(|d| self.lens[ends[d]..ends[d + 1]].iter().product());
            term.elements = swapped(&self.elements, dims)?;
            term.labels[to..from + n].rotate_right(n);
            term.lens[to..from + n].rotate_right(n);
        }
        Ok(term)
    }
}

/// The elements of an array of four dimensions with the two in the middle swapped. As few
/// dimensions as there are, since copies of views with fewer are faster.
fn swapped<T: Numeric>(
    elements: &Vector<T>,
    [before, a, b, after]: [usize; 4],
) -> Result<Vector<T>, Error> {
    let n = elements.len();
    match [before, after] {
        [1, 1] => elements.try_reshape([a, b])?.t().try_reshape([n]),
        [_, 1] => {
            let boxes: Array<T, 3> = elements.try_reshape([before, a, b])?;
            boxes.try_swap_axes(1, 2)?.try_reshape([n])
        }
        [1, _] => {
            let boxes: Array<T, 3> = elements.try_reshape([a, b, after])?;
            boxes.try_swap_axes(0, 1)?.try_reshape([n])
        }
        _ => {
            let boxes: Array<T, 4> = elements.try_reshape([before, a, b, after])?;
            boxes.try_swap_axes(1, 2)?.try_reshape([n])
        }
    }
}
