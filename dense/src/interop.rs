//! From and to the arrays of the crate `ndarray`; here with the feature `interop`.

use crate::array::{Array, Vector};
use crate::operand::expect;
use ndarray::{Array1, Array2, Dimension};
use sparsefuse_kernels::Element;
use sparsefuse_runtime::Error;

/// Takes over the memory on one rank, if the elements lie in it in order and alone.
///
/// ```
/// use ndarray::array;
/// use sparsefuse_dense::Array;
///
/// let a = Array::from(array![[1, 2], [3, 4]]);
/// assert_eq!(a.transpose().to_ndarray()?, array![[1, 3], [2, 4]]);
/// # Ok::<(), sparsefuse_dense::Error>(())
/// ```
impl<T: Element> From<Array2<T>> for Array<T, 2> {
    #[track_caller]
    fn from(array: Array2<T>) -> Self {
        let (n_rows, n_columns) = array.dim();
        expect(Self::from_shape_vec([n_rows, n_columns], elements(array)))
    }
}

/// Takes over the memory on one rank, if the elements lie in it in order and alone.
impl<T: Element> From<Array1<T>> for Vector<T> {
    fn from(array: Array1<T>) -> Self {
        Self::from_vec(elements(array))
    }
}

/// The elements, row-major; the array's own memory if that is what it holds.
fn elements<T: Element, D: Dimension>(array: ndarray::Array<T, D>) -> Vec<T> {
    let len = array.len();
    if !array.is_standard_layout() {
        return array.iter().copied().collect();
    }
    let (mut memory, offset) = array.into_raw_vec_and_offset();
    memory.drain(..offset.unwrap_or(0));
    memory.truncate(len);
    memory
}

impl<T: Element> Array<T, 2> {
    /// The elements as an `ndarray`; executes what has been issued. Every rank must ask.
    ///
    /// # Errors
    ///
    /// If the computation of the array failed.
    pub fn to_ndarray(&self) -> Result<Array2<T>, Error> {
        Array2::from_shape_vec(self.shape(), self.to_vec()?)
            .map_err(|error| Error::argument("to_ndarray", "an ndarray", error.to_string()))
    }
}

impl<T: Element> Vector<T> {
    /// The elements as an `ndarray`; executes what has been issued. Every rank must ask.
    ///
    /// # Errors
    ///
    /// If the computation of the array failed.
    pub fn to_ndarray(&self) -> Result<Array1<T>, Error> {
        Ok(Array1::from_vec(self.to_vec()?))
    }
}
