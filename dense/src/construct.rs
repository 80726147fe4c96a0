//! Constructors. All make arrays of [`Runtime::current`]; on several ranks, every rank must make
//! the same array, of which each keeps its own rows.

use crate::array::{Array, Vector};
use crate::bodies::{self, Distribution, Operation, Origin, Target};
use crate::operand::{check_len, expect, named};
use crate::operators::binary;
use crate::twins::twins;
use sparsefuse_kernels::{BinaryOp, DType, Element, Field, Numeric, Real, Value};
use sparsefuse_runtime::{Error, Runtime, Shape, TaskArg};

impl<T: Element, const D: usize> Array<T, D> {
    /// An array with the given elements, row-major. On one rank the vector itself becomes the
    /// array's memory.
    ///
    /// # Errors
    ///
    /// If the number of elements does not fit the shape, or memory runs out; on several ranks,
    /// where it runs out on one, that is found when the array is read.
    pub fn from_shape_vec(shape: [usize; D], elements: Vec<T>) -> Result<Self, Error> {
        let store = || Runtime::current().store_from_vec(Shape::new(&shape), elements);
        Ok(Self::wrap(named("from_shape_vec", store)?, None))
    }

    /// An array of what `element` gives for each index. On several ranks each computes its own rows
    /// alone, so `element` must be a function of the index.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::from_fn([2, 3], |[i, j]| 10 * i as i64 + j as i64);
    /// assert_eq!(a.to_vec()?, [0, 1, 2, 10, 11, 12]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_from_fn`] returns.
    #[must_use]
    #[track_caller]
    pub fn from_fn(shape: [usize; D], element: impl Fn([usize; D]) -> T) -> Self {
        expect(Self::try_from_fn(shape, element))
    }

    /// As [`Array::from_fn`].
    ///
    /// # Errors
    ///
    /// If memory cannot hold the shape, or is refused; on several ranks, where it is refused on
    /// one, that is found when the array is read.
    pub fn try_from_fn(
        shape: [usize; D],
        element: impl Fn([usize; D]) -> T,
    ) -> Result<Self, Error> {
        let dims = Shape::new(&shape);
        check_len("from_fn", dims)?;
        let store = Runtime::current().store_from_rows(dims, |rows, elements| {
            let mut index = [0; D];
            if let Some(row) = index.first_mut() {
                *row = rows.start;
            }
            for own in elements {
                *own = element(index);
                advance(&mut index, shape);
            }
        })?;
        Ok(Self::wrap(store, None))
    }
}

twins! {
    constructors [T: Element, const D: usize] Array<T, D>;
    /// An array whose every element has the given value. One task.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::full([2, 3], 7);
    /// assert_eq!(a.to_vec()?, [7; 6]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    full try_full(shape: [usize; D], value: T) -> Self {
        let fill = Operation::Fill(Origin::Number, Target::Array);
        generate(shape, fill, &[value.to_value()])
    }
}

twins! {
    constructors [T: Numeric, const D: usize] Array<T, D>;
    /// An array of zeros. One task.
    zeros try_zeros(shape: [usize; D]) -> Self { Self::try_full(shape, T::ZERO) }
    /// An array of ones. One task.
    ones try_ones(shape: [usize; D]) -> Self { Self::try_full(shape, T::ONE) }
}

// Random numbers depend on the seed and the index of the element alone.
twins! {
    constructors [T: Field, const D: usize] Array<T, D>;
    /// Random numbers, uniform in [0, 1); for complex numbers, both parts are. One task.
    ///
    /// The same on any number of threads and ranks, and equal for arrays of different shapes as far
    /// as their flat indices agree. The seed is all that they depend on: the same seed gives the
    /// same numbers in every call, and numbers of other distributions with the same seed are made
    /// of them. So each array of a program takes a seed of its own. The numbers are not NumPy's.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::<f64>::random_uniform([100], 1);
    /// assert_eq!(x.to_vec()?, Vector::<f64>::random_uniform([100], 1).to_vec()?);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    random_uniform try_random_uniform(shape: [usize; D], seed: u64) -> Self {
        let random = Operation::Random(Distribution::Uniform);
        generate(shape, random, &[seed.to_value()])
    }
    /// Random numbers, standard normal, otherwise as [`Array::random_uniform`]; for complex
    /// numbers, both parts are. One task.
    random_normal try_random_normal(shape: [usize; D], seed: u64) -> Self {
        let random = Operation::Random(Distribution::Normal);
        generate(shape, random, &[seed.to_value()])
    }
}

impl<T: Element> Vector<T> {
    /// A vector with the given elements, which on one rank become its memory without a copy.
    ///
    /// # Panics
    ///
    /// If the runtime's limit of memory does not admit it; [`Array::from_shape_vec`] returns the
    /// error.
    #[must_use]
    #[track_caller]
    pub fn from_vec(elements: Vec<T>) -> Self {
        expect(Self::from_shape_vec([elements.len()], elements))
    }

    /// A vector with a copy of the given elements.
    ///
    /// # Panics
    ///
    /// As [`Vector::from_vec`].
    #[must_use]
    #[track_caller]
    pub fn from_slice(elements: &[T]) -> Self {
        Self::from_vec(elements.to_vec())
    }
}

/// The elements, which on one rank become the memory of the vector without a copy.
///
/// # Panics
///
/// As [`Vector::from_vec`].
impl<T: Element> From<Vec<T>> for Vector<T> {
    #[track_caller]
    fn from(elements: Vec<T>) -> Self {
        Self::from_vec(elements)
    }
}

/// A copy of the elements.
///
/// ```
/// use sparsefuse_dense::Vector;
///
/// let x = Vector::from([1.0, 2.0, 4.0]);
/// let halves: Vector<f64> = (2..9).step_by(3).map(|k| f64::from(k) / 2.0).collect();
/// assert_eq!((x + halves).to_vec()?, [2.0, 4.5, 8.0]);
/// # Ok::<(), sparsefuse_dense::Error>(())
/// ```
///
/// # Panics
///
/// As [`Vector::from_vec`].
impl<T: Element, const N: usize> From<[T; N]> for Vector<T> {
    #[track_caller]
    fn from(elements: [T; N]) -> Self {
        Self::from_slice(&elements)
    }
}

/// The elements of an iterator; on several ranks, every rank gives all of them.
///
/// # Panics
///
/// As [`Vector::from_vec`].
impl<T: Element> FromIterator<T> for Vector<T> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Self::from_vec(elements.into_iter().collect())
    }
}

twins! {
    constructors [T: Numeric] Vector<T>;
    /// 0, 1, 2 … `len - 1`, of floating-point numbers the nearest ones. One task.
    @ "Whole numbers also fail if the last one is too large for the type."
    arange try_arange(len: usize) -> Self {
        let largest = match T::DTYPE {
            DType::I32 => i32::MAX as usize,
            DType::U32 => u32::MAX as usize,
            _ => usize::MAX,
        };
        if len.saturating_sub(1) > largest {
            let expected = format!("numbers of type {} up to {largest}", T::DTYPE);
            return Err(Error::argument("arange", expected, (len - 1).to_string()));
        }
        generate([len], Operation::Indices, &[])
    }
}

twins! {
    constructors [T: Real] Vector<T>;
    /// `len` numbers at equal distances, the first of them `start` and the last `end`; of length 1
    /// the first. NumPy's `linspace`. One task.
    linspace try_linspace(start: T, end: T, len: usize) -> Self {
        let (start, end) = (start.to_f64(), end.to_f64());
        let step = (end - start) / len.saturating_sub(1).max(1) as f64;
        let last = if len > 1 { len as i64 - 1 } else { -1 };
        let numbers = [start.to_value(), step.to_value(), last.to_value(), end.to_value()];
        generate([len], Operation::Linspace, &numbers)
    }
}

twins! {
    constructors [T: Real] Vector<T>;
    /// The numbers from `start` on that lie `step` apart, up to one before `end`: NumPy's
    /// `arange(start, end, step)`, number by number. As there, the last one may be `end` where the
    /// step is not exact; [`Vector::linspace`] takes their count. Two tasks, which fuse.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// assert_eq!(Vector::arange_by(1.0, 2.0, 0.25).to_vec()?, [1.0, 1.25, 1.5, 1.75]);
    /// assert_eq!(Vector::arange_by(1.0, 0.0, -0.5).to_vec()?, [1.0, 0.5]);
    /// assert!(Vector::arange_by(1.0, 0.0, 0.5).is_empty());
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("arange", "range"))]
    @ "If the step is 0, or a number is not finite."
    arange_by try_arange_by(start: T, end: T, step: T) -> Self {
        let (first, apart) = (start.to_f64(), step.to_f64());
        let count = ((end.to_f64() - first) / apart).ceil();
        // The distance that NumPy adds: that of the first two numbers.
        let second = T::from_f64(first + apart).to_f64();
        let apart = T::from_f64(second - first);
        if !count.is_finite() || !second.is_finite() {
            let expected = "finite numbers, and a step other than 0";
            let found = format!("from {start} to {end} by {step}");
            return Err(Error::argument("arange_by", expected, found));
        }
        // A count that memory does not hold stays one.
        Self::try_arange(count.max(0.0) as usize)?.try_mul(apart)?.try_add(start)
    }

    /// `len` powers of 10, of which the exponents are at equal distances from `start` to `end`.
    /// NumPy's `logspace`. Two tasks, which fuse.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// assert_eq!(Vector::logspace(0.0, 3.0, 4).to_vec()?, [1.0, 10.0, 100.0, 1000.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    logspace try_logspace(start: T, end: T, len: usize) -> Self {
        let exponents = Self::try_linspace(start, end, len)?;
        binary::<T, T, _>(BinaryOp::Pow, &T::from_f64(10.0), &exponents)
    }
}

twins! {
    [T: Element] Vector<T>;
    /// The coordinates of the points of a grid, with a row for each element of `y` and a column for
    /// each of `x`: those of `x` and those of `y`. NumPy's `meshgrid`. Views.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let (x, y) = (Vector::from_vec(vec![1, 2, 3]), Vector::from_vec(vec![10, 20]));
    /// let [x, y] = Vector::meshgrid(&x, &y);
    /// assert_eq!((x + y).to_vec()?, [11, 12, 13, 21, 22, 23]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    @ "If the grid has more points than can be counted."
    meshgrid try_meshgrid(x: &Self, y: &Self) -> [Array<T, 2>; 2] {
        let shape = [y.len(), x.len()];
        named("meshgrid", || {
            let x = x.try_insert_axis(0)?.try_broadcast_to(shape)?;
            Ok([x, y.try_insert_axis(1)?.try_broadcast_to(shape)?])
        })
    }
}

twins! {
    constructors [T: Numeric] Array<T, 2>;
    /// The identity matrix of order `n`. One task.
    eye try_eye(n: usize) -> Self { generate([n, n], Operation::Eye, &[(n as i64).to_value()]) }
}

/// The next index in row-major order; after the last one, the first.
fn advance<const D: usize>(index: &mut [usize; D], shape: [usize; D]) {
    for d in (0..D).rev() {
        index[d] += 1;
        if index[d] < shape[d] {
            return;
        }
        index[d] = 0;
    }
}

/// An array computed from numbers alone.
fn generate<T: Element, const D: usize>(
    shape: [usize; D],
    operation: Operation,
    numbers: &[Value],
) -> Result<Array<T, D>, Error> {
    let shape = Shape::new(&shape);
    check_len("full", shape)?;
    let runtime = Runtime::current();
    let store = runtime.new_store(shape, T::DTYPE);
    let body = bodies::body(operation, T::DTYPE);
    runtime.submit(body, &[TaskArg::from(&store)], numbers)?;
    Ok(Array::wrap(store, None))
}
