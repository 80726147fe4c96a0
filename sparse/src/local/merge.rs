//! Rows of two matrices side by side: the columns that one of them has, or both.
//!
//! Which of two columns comes first cannot be predicted, so the loops have no branches on it: they
//! write what either may bring, and go on in one row or in both by adding the outcome of a
//! comparison. Rows with the same columns, as matrices from one grid have, are compared and copied
//! as a whole.

use super::rows::Rows;
use sparsefuse_kernels::Numeric;

/// What becomes of the values of two matrices where both have an entry, and where one has.
pub(crate) struct Terms<B, L, R> {
    pub(crate) both: B,
    pub(crate) left: L,
    pub(crate) right: R,
}

/// How many columns two ascending lists have in common.
#[inline(always)]
pub(crate) fn count_common(left: &[u32], right: &[u32]) -> usize {
    if are_equal(left, right) {
        return left.len();
    }
    let (mut i, mut j, mut common) = (0, 0, 0);
    while i < left.len() && j < right.len() {
        let (a, b) = (left[i], right[j]);
        common += usize::from(a == b);
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    common
}

/// Writes the columns that one of two rows has, with what becomes of the values, and returns how
/// many they are.
#[inline(always)]
pub(crate) fn unite<T: Numeric>(
    (left, right): (Rows<'_, T>, Rows<'_, T>),
    row: usize,
    (crd, vals): (&mut [u32], &mut [T]),
    terms: &Terms<impl Fn(T, T) -> T, impl Fn(T) -> T, impl Fn(T) -> T>,
) -> usize {
    let (left_crd, left_vals) = (left.columns(row), left.values(row));
    let (right_crd, right_vals) = (right.columns(row), right.values(row));
    if are_equal(left_crd, right_crd) {
        return of_both((left_crd, left_vals, right_vals), (crd, vals), &terms.both);
    }
    let (mut i, mut j, mut at) = (0, 0, 0);
    while i < left_crd.len() && j < right_crd.len() {
        let (a, b) = (left_crd[i], right_crd[j]);
        let (x, y) = (left_vals[i], right_vals[j]);
        let values = [(terms.both)(x, y), (terms.left)(x), (terms.right)(y)];
        crd[at] = a.min(b);
        vals[at] = values[usize::from(a < b) + 2 * usize::from(b < a)];
        at += 1;
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    for (&column, &value) in left_crd[i..].iter().zip(&left_vals[i..]) {
        (crd[at], vals[at]) = (column, (terms.left)(value));
        at += 1;
    }
    for (&column, &value) in right_crd[j..].iter().zip(&right_vals[j..]) {
        (crd[at], vals[at]) = (column, (terms.right)(value));
        at += 1;
    }
    at
}

/// As [`unite`] of the columns that both of two rows have.
#[inline(always)]
pub(crate) fn intersect<T: Numeric>(
    (left, right): (Rows<'_, T>, Rows<'_, T>),
    row: usize,
    (crd, vals): (&mut [u32], &mut [T]),
    both: impl Fn(T, T) -> T,
) -> usize {
    let (left_crd, left_vals) = (left.columns(row), left.values(row));
    let (right_crd, right_vals) = (right.columns(row), right.values(row));
    if are_equal(left_crd, right_crd) {
        return of_both((left_crd, left_vals, right_vals), (crd, vals), both);
    }
    let (mut i, mut j, mut at) = (0, 0, 0);
    while at < crd.len() && i < left_crd.len() && j < right_crd.len() {
        let (a, b) = (left_crd[i], right_crd[j]);
        (crd[at], vals[at]) = (a, both(left_vals[i], right_vals[j]));
        at += usize::from(a == b);
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    at
}

/// Whether something holds for the values of two rows at every column that one of them has, where a
/// value that is not there is 0.
pub(crate) fn all_hold<T: Numeric>(
    (left, right): (Rows<'_, T>, Rows<'_, T>),
    row: usize,
    holds: impl Fn(T, T) -> bool,
) -> bool {
    let (left_crd, left_vals) = (left.columns(row), left.values(row));
    let (right_crd, right_vals) = (right.columns(row), right.values(row));
    if are_equal(left_crd, right_crd) {
        let mut both = left_vals.iter().zip(right_vals);
        return both.all(|(&x, &y)| holds(x, y));
    }
    let (mut i, mut j) = (0, 0);
    while i < left_crd.len() || j < right_crd.len() {
        // No column has this number.
        let a = left_crd.get(i).copied().unwrap_or(u32::MAX);
        let b = right_crd.get(j).copied().unwrap_or(u32::MAX);
        let x = if a <= b { left_vals[i] } else { T::ZERO };
        let y = if b <= a { right_vals[j] } else { T::ZERO };
        if !holds(x, y) {
            return false;
        }
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    true
}

/// Whether two rows have the same columns. Most that have not differ in their first or their
/// number, which is seen without a call.
#[inline(always)]
fn are_equal(left: &[u32], right: &[u32]) -> bool {
    left.len() == right.len() && left.first() == right.first() && left == right
}

/// Writes these columns, with what becomes of the values that two rows have there.
#[inline(always)]
fn of_both<T: Numeric>(
    (columns, left, right): (&[u32], &[T], &[T]),
    (crd, vals): (&mut [u32], &mut [T]),
    both: impl Fn(T, T) -> T,
) -> usize {
    crd[..columns.len()].copy_from_slice(columns);
    for (made, (&x, &y)) in vals.iter_mut().zip(left.iter().zip(right)) {
        *made = both(x, y);
    }
    columns.len()
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
        let both = (
            rows(&left, &[1.0, 2.0, 3.0]),
            rows(&right, &[10.0, 20.0, 30.0]),
        );
        let common = count_common(&left, &right);
        assert_eq!(common, 1);
        let (mut crd, mut vals) = ([0; 5], [0.0; 5]);
        let terms = Terms {
            both: |x, y| x + y,
            left: |x: f64| -x,
            right: |y| y,
        };
        assert_eq!(unite(both, 0, (&mut crd, &mut vals), &terms), 5);
        assert_eq!(
            (crd, vals),
            ([0, 1, 4, 5, 9], [10.0, -1.0, 22.0, -3.0, 30.0])
        );
        let (crd, vals) = (&mut crd[..common], &mut vals[..common]);
        let made = intersect(both, 0, (&mut *crd, &mut *vals), |x, y| x * y);
        assert_eq!(made, common);
        assert_eq!((&*crd, &*vals), (&[4][..], &[40.0][..]));
    }

    #[test]
    fn values_at_all_columns_of_two_rows() {
        let (pos, left, right) = ([3, 6], [1, 4, 5], [0, 4, 9]);
        let rows = |crd, vals| Rows {
            pos: &pos,
            crd,
            vals,
        };
        let both = (
            rows(&left, &[1.0, 2.0, 3.0]),
            rows(&right, &[10.0, 20.0, 30.0]),
        );
        let met = std::cell::RefCell::new(Vec::new());
        let all = all_hold(both, 0, |x, y| {
            met.borrow_mut().push((x, y));
            true
        });
        assert!(all);
        let expected = [
            (0.0, 10.0),
            (1.0, 0.0),
            (2.0, 20.0),
            (3.0, 0.0),
            (0.0, 30.0),
        ];
        assert_eq!(met.into_inner(), expected);
        assert!(!all_hold(both, 0, |x, _| x < 3.0));
        assert!(!all_hold((both.0, both.0), 0, |x, y| x == y && x < 3.0));
    }

    #[test]
    fn rows_with_the_same_columns() {
        let (pos, columns) = ([0, 3], [1, 4, 5]);
        let rows = |vals| Rows {
            pos: &pos,
            crd: &columns,
            vals,
        };
        let both = (rows(&[1.0, 2.0, 3.0]), rows(&[10.0, 20.0, 30.0]));
        assert_eq!(count_common(&columns, &columns), 3);
        let (mut crd, mut vals) = ([0; 3], [0.0; 3]);
        let terms = Terms {
            both: |x, y| x + y,
            left: |x: f64| x,
            right: |y| y,
        };
        assert_eq!(unite(both, 0, (&mut crd, &mut vals), &terms), 3);
        assert_eq!((crd, vals), (columns, [11.0, 22.0, 33.0]));
        let made = intersect(both, 0, (&mut crd, &mut vals), |x, y| x * y);
        assert_eq!((made, crd, vals), (3, columns, [10.0, 40.0, 90.0]));
    }
}
