//! Two rows side by side.

use super::rows::Rows;
use sparsefuse_kernels::Numeric;
use std::cmp::Ordering;
use std::ops::Range;

/// Visits the columns of a row of two matrices, ascending, with the values that are there.
#[inline(always)]
pub(crate) fn merge<T: Numeric>(
    left: Rows<'_, T>,
    right: Rows<'_, T>,
    row: usize,
    mut visit: impl FnMut(u32, Option<T>, Option<T>),
) {
    let (mut i, left_end) = bounds(left.entries(row));
    let (mut j, right_end) = bounds(right.entries(row));
    while i < left_end && j < right_end {
        let (a, b) = (left.crd[i], right.crd[j]);
        let (left, right) = (left.vals[i], right.vals[j]);
        match a.cmp(&b) {
            Ordering::Less => visit(a, Some(left), None),
            Ordering::Equal => visit(a, Some(left), Some(right)),
            Ordering::Greater => visit(b, None, Some(right)),
        }
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    (i..left_end).for_each(|k| visit(left.crd[k], Some(left.vals[k]), None));
    (j..right_end).for_each(|k| visit(right.crd[k], None, Some(right.vals[k])));
}

fn bounds(range: Range<usize>) -> (usize, usize) {
    (range.start, range.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_both_rows_in_order() {
        let (pos, left, right) = ([3, 6], [1, 4, 5], [0, 4, 9]);
        let rows = |crd, vals| Rows {
            pos: &pos,
            crd,
            vals,
        };
        let mut visited = Vec::new();
        merge(
            rows(&left, &[1, 2, 3]),
            rows(&right, &[10, 20, 30]),
            0,
            |column, a, b| {
                visited.push((column, a, b));
            },
        );
        let expected = [
            (0, None, Some(10)),
            (1, Some(1), None),
            (4, Some(2), Some(20)),
            (5, Some(3), None),
            (9, None, Some(30)),
        ];
        assert_eq!(visited, expected);
    }
}
