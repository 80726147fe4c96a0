//! What can be said of a matrix by looking at its rows once.
//!
//! Symmetry is decided by looking each entry's mirror image up in its row, so nothing is held
//! beside the matrix.

use sparsefuse::kernels::Field;
use sparsefuse::sparse::{LocalRows, rounding_of_entries};
use std::ops::{Neg, Range};

/// The facts; see `sparsefuse info --help`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Facts {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) nnz: usize,
    pub(super) row_min: usize,
    pub(super) row_max: usize,
    pub(super) empty_rows: usize,
    pub(super) bandwidth: usize,
    pub(super) is_pattern_symmetric: bool,
    pub(super) symmetry: Symmetry,
    pub(super) diagonal_missing: usize,
    pub(super) diagonal_zero: usize,
    pub(super) is_diagonal_positive: bool,
    pub(super) dominant_rows: usize,
}

/// How the values of a matrix and of its transpose are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symmetry {
    Symmetric,
    Hermitian,
    SkewSymmetric,
    None,
}

impl Symmetry {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Symmetric => "symmetric",
            Self::Hermitian => "hermitian",
            Self::SkewSymmetric => "skew-symmetric",
            Self::None => "none",
        }
    }
}

impl Facts {
    /// The facts of a matrix given by all its rows.
    pub(super) fn of<T>((rows, cols): (usize, usize), entries: &LocalRows<T>) -> Self
    where
        T: Field + Neg<Output = T>,
    {
        let counts = || (0..rows).map(|row| range(entries, row).len());
        let (is_pattern_symmetric, symmetry) = symmetry((rows, cols), entries);
        let mut facts = Self {
            rows,
            cols,
            nnz: entries.crd.len(),
            row_min: counts().min().unwrap_or(0),
            row_max: counts().max().unwrap_or(0),
            empty_rows: counts().filter(|&count| count == 0).count(),
            bandwidth: 0,
            is_pattern_symmetric,
            symmetry,
            diagonal_missing: 0,
            diagonal_zero: 0,
            is_diagonal_positive: true,
            dominant_rows: 0,
        };
        for row in 0..rows {
            facts.add_row(row, entries);
        }
        facts
    }

    /// Adds what one row says of bandwidth, diagonal and dominance.
    fn add_row<T: Field>(&mut self, row: usize, entries: &LocalRows<T>) {
        let (mut diagonal, mut others) = (None, 0.0);
        for k in range(entries, row) {
            let column = entries.crd[k] as usize;
            self.bandwidth = self.bandwidth.max(row.abs_diff(column));
            if row == column {
                diagonal = Some(entries.vals[k].parts());
            } else {
                others += magnitude(entries.vals[k]);
            }
        }
        let on_diagonal = diagonal.map_or(0.0, |(re, im)| re.hypot(im));
        self.dominant_rows += usize::from(on_diagonal >= others);
        if row < self.cols {
            self.diagonal_missing += usize::from(diagonal.is_none());
            self.diagonal_zero += usize::from(diagonal == Some((0.0, 0.0)));
            self.is_diagonal_positive &= diagonal.is_some_and(|(re, im)| re > 0.0 && im == 0.0);
        }
    }
}

fn magnitude<T: Field>(value: T) -> f64 {
    let (re, im) = value.parts();
    re.hypot(im)
}

fn range<T>(entries: &LocalRows<T>, row: usize) -> Range<usize> {
    entries.pos[row] as usize..entries.pos[row + 1] as usize
}

/// Whether the pattern is symmetric, and what the values are up to rounding; a place where nothing
/// is stored holds 0.
fn symmetry<T>((rows, cols): (usize, usize), entries: &LocalRows<T>) -> (bool, Symmetry)
where
    T: Field + Neg<Output = T>,
{
    if rows != cols {
        return (false, Symmetry::None);
    }
    let largest = entries.vals.iter().copied().map(magnitude);
    let most = rounding_of_entries::<T>(largest.fold(0.0, f64::max));
    let is_near = |value: T, other: T| {
        let ((re, im), (other_re, other_im)) = (value.parts(), other.parts());
        value == other || (re - other_re).abs().max((im - other_im).abs()) <= most
    };
    let mut is_pattern_symmetric = true;
    let (mut is_symmetric, mut is_hermitian, mut is_skew) = (true, true, true);
    for row in 0..rows {
        for k in range(entries, row) {
            let value = entries.vals[k];
            let mirror = mirror(entries, row, entries.crd[k] as usize);
            is_pattern_symmetric &= mirror.is_some();
            let mirror = mirror.unwrap_or(T::ZERO);
            let (re, im) = mirror.parts();
            is_symmetric &= is_near(value, mirror);
            is_hermitian &= is_near(value, T::from_parts(re, -im));
            is_skew &= is_near(value, -mirror);
        }
        if !(is_pattern_symmetric || is_symmetric || is_hermitian || is_skew) {
            break;
        }
    }
    let symmetry = match (T::IS_COMPLEX && is_hermitian, is_symmetric, is_skew) {
        (true, _, _) => Symmetry::Hermitian,
        (false, true, _) => Symmetry::Symmetric,
        (false, false, true) => Symmetry::SkewSymmetric,
        (false, false, false) => Symmetry::None,
    };
    (is_pattern_symmetric, symmetry)
}

/// The entry of row `column` in column `row`.
fn mirror<T: Field>(entries: &LocalRows<T>, row: usize, column: usize) -> Option<T> {
    let places = range(entries, column);
    let found = entries.crd[places.clone()].binary_search(&(row as u32));
    found.ok().map(|k| entries.vals[places.start + k])
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex;

    /// The rows of a matrix given with its zeros, which are not stored.
    fn rows<T: Field>(dense: &[&[T]]) -> LocalRows<T> {
        let mut rows = LocalRows::with_capacity(dense.len(), 0);
        for row in dense {
            for (column, &value) in row.iter().enumerate() {
                if value != T::ZERO {
                    rows.push(column as u32, value);
                }
            }
            rows.end_row();
        }
        rows
    }

    fn check<T>(dense: &[&[T]], pattern: bool, expected: Symmetry)
    where
        T: Field + Neg<Output = T>,
    {
        let facts = Facts::of((dense.len(), dense[0].len()), &rows(dense));
        assert_eq!(facts.is_pattern_symmetric, pattern, "{dense:?}");
        assert_eq!(facts.symmetry, expected, "{dense:?}");
    }

    #[test]
    fn symmetries() {
        let i = Complex::<f64>::I;
        let one = Complex::<f64>::ONE;
        check(&[&[2.0, 1.0], &[1.0, 2.0]], true, Symmetry::Symmetric);
        check(&[&[0.0, 1.0], &[-1.0, 0.0]], true, Symmetry::SkewSymmetric);
        check(&[&[0.0, 1.0], &[2.0, 0.0]], true, Symmetry::None);
        check(&[&[1.0, 1.0], &[0.0, 1.0]], false, Symmetry::None);
        check(&[&[1.0, 1.0]], false, Symmetry::None);
        let rounded = 3.0 + 2e-15;
        check(&[&[1.0, 3.0], &[rounded, 1.0]], true, Symmetry::Symmetric);
        check(&[&[one, i], &[-i, one]], true, Symmetry::Hermitian);
        check(&[&[one, i], &[i, one]], true, Symmetry::Symmetric);
    }

    #[test]
    fn rows_and_diagonal() {
        let dense: [&[f64]; 4] = [
            &[3.0, -3.0, 0.0, 0.0],
            &[0.0, 0.0, 0.0, 1.0],
            &[0.0, 0.0, 0.0, 0.0],
            &[9.0, 0.0, 0.0, -1.0],
        ];
        let mut entries = rows(&dense);
        // A zero that is stored: the diagonal of the second row.
        entries.crd.insert(2, 1);
        entries.vals.insert(2, 0.0);
        entries.pos[2..]
            .iter_mut()
            .for_each(|position| *position += 1);
        let expected = Facts {
            rows: 4,
            cols: 4,
            nnz: 6,
            row_min: 0,
            row_max: 2,
            empty_rows: 1,
            bandwidth: 3,
            is_pattern_symmetric: false,
            symmetry: Symmetry::None,
            diagonal_missing: 1,
            diagonal_zero: 1,
            is_diagonal_positive: false,
            dominant_rows: 2,
        };
        assert_eq!(Facts::of((4, 4), &entries), expected);
    }
}
