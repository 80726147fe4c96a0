//! Matchings of rows with columns.

use super::{all_rows, check_lengths, edges, with_lengths};
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::local::graph::{NONE, matching};
use sparsefuse_kernels::{Numeric, Real};
use sparsefuse_runtime::{Error, reserve, try_collect};

/// As many entries as there can be without two in a row or in a column, each with its row and its
/// column, row by row: a matching of largest size in the bipartite graph of rows and columns, by
/// Hopcroft and Karp (An n^5/2 algorithm for maximum matchings in bipartite graphs, 1973). `O(m
/// √n)` for `m` entries, zeros that are stored among them, and `n` rows; sequential. Of several
/// matchings SciPy's `maximum_bipartite_matching` may find another one.
///
/// ```
/// use sparsefuse_sparse::Csr;
/// use sparsefuse_sparse::graph::maximum_matching;
///
/// // Rows 0 and 1 have one entry each, both in column 0; row 2 has two.
/// let a = Csr::new(3, 2, vec![0, 1, 2, 4], vec![0, 0, 0, 1], vec![1.0; 4])?;
/// assert_eq!(maximum_matching(&a)?, [(0, 0), (2, 1)]);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
///
/// # Errors
///
/// If the computation of the values failed, or memory runs out.
#[doc(alias = "maximum_bipartite_matching")]
pub fn maximum_matching<T: Numeric>(a: &Csr<T>) -> Result<Vec<(usize, usize)>, Error> {
    eager("maximum_matching", &[a], || {
        let rows = all_rows(a)?;
        let found = matching::largest(edges(rows.as_rows()), a.n_cols());
        a.runtime().agree(found.and_then(|found| pairs(&found)))
    })
}

/// The largest rank of a matrix with entries at these places, whatever their values: the size of a
/// [`maximum_matching`]. A square matrix for which it is less than the number of rows is singular.
///
/// ```
/// use sparsefuse_sparse::graph::structural_rank;
/// use sparsefuse_sparse::{Csr, gallery};
///
/// assert_eq!(structural_rank(&gallery::poisson1d::<f64>(5)?)?, 5);
/// let a = Csr::new(2, 2, vec![0, 1, 2], vec![1, 1], vec![1.0, 2.0])?;
/// assert_eq!(structural_rank(&a)?, 1);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
///
/// # Errors
///
/// As [`maximum_matching`].
pub fn structural_rank<T: Numeric>(a: &Csr<T>) -> Result<usize, Error> {
    Ok(maximum_matching(a)?.len())
}

/// Entries without two in a row or in a column, one in every row or, if there are fewer columns, in
/// every column, with the least sum of values; each with its row and its column, row by row: the
/// assignment problem, by shortest augmenting paths (Jonker and Volgenant, A shortest augmenting
/// path algorithm for dense and sparse linear assignment problems, 1987). That of `&-&a` has the
/// largest sum. `O(n m log m)` for `m` entries, zeros that are stored among them, and `n` rows, if
/// these are fewer than the columns; sequential, in double precision.
///
/// As SciPy's `min_weight_full_bipartite_matching`, which leaves out entries that are 0; of several
/// matchings with the least sum it may find another one.
///
/// ```
/// use sparsefuse_dense::Array;
/// use sparsefuse_sparse::Csr;
/// use sparsefuse_sparse::graph::minimum_weight_matching;
///
/// let costs = vec![4.0, 1.0, 3.0, 2.0, 9.0, 5.0, 3.0, 2.0, 2.0];
/// let a = Csr::from_dense(&Array::from_shape_vec([3, 3], costs)?)?;
/// assert_eq!(minimum_weight_matching(&a)?, [(0, 1), (1, 0), (2, 2)]);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
///
/// # Errors
///
/// If there is no such matching, a value is infinite or not a number, the computation of the values
/// failed, or memory runs out. Where differences of values are infinite, as of 1e308 and -1e308, an
/// existing one may not be found.
#[doc(alias = "min_weight_full_bipartite_matching")]
#[doc(alias = "linear_sum_assignment")]
pub fn minimum_weight_matching<T: Real>(a: &Csr<T>) -> Result<Vec<(usize, usize)>, Error> {
    const OP: &str = "minimum_weight_matching";
    eager(OP, &[a], || {
        let all = all_rows(a)?;
        let is_finite = |x: &T| x.to_f64().is_finite();
        check_lengths(OP, all.as_rows(), "values that are finite", is_finite)
    })?;
    if a.n_rows() <= a.n_cols() {
        return cheapest(OP, a, a.shape());
    }
    let mut of_columns = cheapest(OP, &a.transpose()?, a.shape())?;
    for pair in &mut of_columns {
        *pair = (pair.1, pair.0);
    }
    of_columns.sort_unstable();
    Ok(of_columns)
}

/// The cheapest matching of all rows; `n_rows` and `n_cols` are those of the matrix that was given.
fn cheapest<T: Real>(
    op: &'static str,
    a: &Csr<T>,
    (n_rows, n_cols): (usize, usize),
) -> Result<Vec<(usize, usize)>, Error> {
    eager(op, &[a], || {
        let all = all_rows(a)?;
        let rows = all.as_rows();
        let values = try_collect(rows.vals.iter().map(|x| x.to_f64()));
        let values = a.runtime().agree(values)?;
        let found = matching::cheapest(with_lengths(rows, &values), a.n_cols());
        let Some(found) = a.runtime().agree(found)? else {
            let expected = "a matrix with a matching of all its rows or all its columns";
            let found = format!("one of {n_rows} by {n_cols} without");
            return Err(Error::argument(op, expected, found));
        };
        a.runtime().agree(pairs(&found))
    })
}

/// The rows that are matched, with their columns.
fn pairs(column_of: &[u32]) -> Result<Vec<(usize, usize)>, Error> {
    let columns = column_of.iter().enumerate();
    let matched = columns.filter(|&(_, &column)| column != NONE);
    let mut pairs = reserve(column_of.len())?;
    pairs.extend(matched.map(|(row, &column)| (row, column as usize)));
    Ok(pairs)
}
