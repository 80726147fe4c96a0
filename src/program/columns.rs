//! Vectors that were found, as the columns of a file, and their hash.

use super::failure::Failure;
use super::hash::Hash;
use super::output;
use sparsefuse::Error;
use sparsefuse::dense::Vector;
use sparsefuse::kernels::Field;
use sparsefuse::runtime::try_collect;
use sparsefuse::sparse::matrix_market;
use std::path::Path;

/// What rank 0 knows of the elements of vectors; on other ranks it means nothing.
pub(super) struct Elements<T> {
    pub(super) hash: u64,
    /// Those of each vector, where they were wanted.
    pub(super) columns: Option<Vec<Vec<T>>>,
}

/// The hash of all vectors, and their elements if they are wanted. Every rank must ask.
pub(super) fn read<'a, T: Field>(
    vectors: impl ExactSizeIterator<Item = &'a Vector<T>>,
    is_wanted: bool,
) -> Result<Elements<T>, Error> {
    let n_vectors = vectors.len();
    let mut hash = Hash::default();
    let mut columns = Vec::new();
    for x in vectors {
        if x.runtime().ranks() == 1 {
            columns.extend(
                x.with_slice(|x| {
                    hash.add(x);
                    is_wanted.then(|| try_collect(x.iter().copied()))
                })?
                .transpose()?,
            );
        } else if let Some(x) = x.gather(0)? {
            hash.add(&x);
            columns.extend(is_wanted.then_some(x));
        }
    }
    Ok(Elements {
        hash: hash.value(),
        columns: (columns.len() == n_vectors).then_some(columns),
    })
}

/// Writes columns, which have a name of their own in complaints, as a Matrix Market file. One that
/// is not finite has no text in the format, and has not converged: the report says so already, so
/// this is no failure of its own.
pub(super) fn write<T: Field>(
    path: &Path,
    columns: &[Vec<T>],
    name: &str,
    comment: &str,
) -> Result<(), Failure> {
    let is_finite = |value: &T| {
        let (re, im) = value.parts();
        re.is_finite() && im.is_finite()
    };
    if !columns.iter().flatten().all(is_finite) {
        output::complain(&format!(
            "sparsefuse: {}: not written, the {name} has elements that are not finite\n",
            path.display()
        ));
        return Ok(());
    }
    let (n_rows, n_cols) = (columns.first().map_or(0, Vec::len), columns.len());
    let element = |number: usize| columns[number % n_cols][number / n_cols];
    let by_rows = try_collect((0..n_rows * n_cols).map(element))?;
    Ok(matrix_market::write_dense(
        path, n_rows, n_cols, &by_rows, comment,
    )?)
}
