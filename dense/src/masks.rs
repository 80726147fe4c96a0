//! Masks: which elements they choose, and what is done to these.

use crate::array::{Array, Vector};
use crate::indices::as_cut;
use crate::operand::{ArrayOperand, expect};
use crate::scalar::Scalar;
use crate::twins::twins;
use crate::views::check_axes;
use sparsefuse_kernels::{DType, Element, Numeric};
use sparsefuse_runtime::{
    Access, Error, HostArgs, HostBody, HostTask, Privilege, Shape, try_collect,
};

/// The arguments of the task.
const MASK: usize = 0;
const MADE: usize = 1;

twins! {
    methods [const D: usize] Array<bool, D>;
    /// How many elements are true. Two tasks, which fuse.
    count try_count(&self) -> Scalar<i64> { self.try_cast::<i64>()?.try_sum() }
}

twins! {
    methods [T: Numeric, const D: usize] Array<T, D>;
    /// How many elements differ from 0. Three tasks, which fuse.
    count_nonzero try_count_nonzero(&self) -> Scalar<i64> {
        self.try_not_equal(T::ZERO)?.try_count()
    }
}

impl<const D: usize> Array<bool, D> {
    /// The flat, row-major indices of the elements that are true, ascending. NumPy's `flatnonzero`.
    /// Waits for their number; then one task, which is not fused.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![3.0, -1.0, 2.0]);
    /// assert_eq!(x.greater(0.0).flat_nonzero()?.to_vec()?, [0, 2]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the computation of the mask failed.
    #[doc(alias = "flatnonzero")]
    pub fn flat_nonzero(&self) -> Result<Vector<i64>, Error> {
        let mask = self.contiguous()?;
        let shape = mask.arg().shape();
        let row_len = shape.row_len();
        let n = mask.try_count()?.get()? as usize;
        let runtime = self.runtime();
        let made = runtime.new_store(Shape::new(&[n]), DType::I64);
        let declared = [
            (Privilege::Read, Access::Held, DType::Bool),
            (Privilege::Write, Access::Rows, DType::I64),
        ];
        let task = HostTask::new(move |args| indices(args, row_len));
        let body = HostBody::new("nonzero", &declared);
        runtime.submit_host(&body, &[mask.store(), &made], task)?;
        Ok(Vector::wrap(made, None))
    }

    /// The indices of the elements that are true, in each dimension. NumPy's `nonzero`; its `argwhere`
    /// is the matrix of which these are the columns ([`Vector::stack`]). As [`Array::flat_nonzero`],
    /// and two tasks for each dimension.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    ///
    /// let a = Array::from_shape_vec([2, 3], vec![0, 7, 0, 5, 0, 6])?;
    /// let [rows, columns] = a.not_equal(0).nonzero()?;
    /// assert_eq!((rows.to_vec()?, columns.to_vec()?), (vec![0, 1, 1], vec![1, 0, 2]));
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the computation of the mask failed.
    #[doc(alias = "argwhere")]
    pub fn nonzero(&self) -> Result<[Vector<i64>; D], Error> {
        let (flat, shape) = (self.flat_nonzero()?, self.shape());
        let mut indices = std::array::from_fn(|_| flat.clone());
        for (d, index) in indices.iter_mut().enumerate() {
            let inner: usize = shape[d + 1..].iter().product();
            *index = flat.try_div(inner as i64)?.try_rem(shape[d] as i64)?;
        }
        Ok(indices)
    }
}

impl<T: Element, const D: usize> Array<T, D> {
    /// The elements where a mask of the same shape is true, row-major: NumPy's `a[mask]`. Waits for
    /// their number; then two tasks, which are not fused.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![3.0, -1.0, 2.0]);
    /// assert_eq!(x.compress(&x.greater(0.0))?.to_vec()?, [3.0, 2.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the shapes differ, or the computation of the mask failed.
    #[doc(alias("extract", "boolean indexing"))]
    pub fn compress(&self, mask: &Array<bool, D>) -> Result<Vector<T>, Error> {
        self.check_mask("compress", mask)?;
        self.try_take(&mask.flat_nonzero()?)
    }

    /// The slices along an axis where a mask of that length is true: NumPy's `compress` along an axis,
    /// `a[mask]` for axis 0. Waits for their number; then two tasks, which are not fused.
    ///
    /// ```
    /// use sparsefuse_dense::{Array, Vector};
    ///
    /// let a = Array::from_shape_vec([2, 3], vec![1, 2, 3, 4, 5, 6])?;
    /// let mask = Vector::from_vec(vec![true, false, true]);
    /// assert_eq!(a.compress_axis(1, &mask)?.to_vec()?, [1, 3, 4, 6]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such axis, the mask has another length, or its computation failed.
    pub fn compress_axis(&self, axis: usize, mask: &Vector<bool>) -> Result<Self, Error> {
        const OP: &str = "compress_axis";
        check_axes::<D>(OP, [axis])?;
        let n = self.shape()[axis];
        if mask.len() != n {
            let (expected, found) = (Shape::new(&[n]), mask.arg().shape());
            return Err(Error::shape(OP, expected, found));
        }
        self.try_take_axis(axis, &mask.flat_nonzero()?)
    }

    /// Writes `value` to the elements where a mask of the same shape is true: NumPy's `a[mask] = x`. One
    /// task, which reads and writes all of the array.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let mut x = Vector::from_vec(vec![3.0, -1.0, 2.0]);
    /// x.assign_where(&x.less(0.0), 0.0);
    /// assert_eq!(x.to_vec()?, [3.0, 0.0, 2.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Array::try_assign_where`] returns.
    #[doc(alias("putmask", "copyto"))]
    #[track_caller]
    pub fn assign_where(&mut self, mask: &Array<bool, D>, value: impl ArrayOperand<T, D>) {
        expect(self.try_assign_where(mask, value));
    }

    /// As [`Array::assign_where`].
    ///
    /// # Errors
    ///
    /// If the shapes differ, or that of the value does not broadcast to that of the array; the array
    /// is then as it was.
    pub fn try_assign_where(
        &mut self,
        mask: &Array<bool, D>,
        value: impl ArrayOperand<T, D>,
    ) -> Result<(), Error> {
        self.check_mask("assign_where", mask)?;
        let made = mask.try_select(value, &*self)?;
        if made.shape() != self.shape() {
            let (expected, found) = (self.arg().shape(), made.arg().shape());
            return Err(Error::shape("assign_where", expected, found));
        }
        *self = made;
        Ok(())
    }

    fn check_mask(&self, op: &'static str, mask: &Array<bool, D>) -> Result<(), Error> {
        let (expected, found) = (self.arg().shape(), mask.arg().shape());
        match expected == found {
            true => Ok(()),
            false => Err(Error::shape(op, expected, found)),
        }
    }
}

/// The function of the task: each rank finds the indices of its own elements, and then those of the
/// result go where that is.
fn indices(args: &mut HostArgs<'_>, row_len: usize) -> Result<(), Error> {
    let mask = args.read::<bool>(MASK)?;
    let made = args.write::<i64>(MADE)?;
    let cuts = args.cuts(MASK);
    let first = cuts.map_or(0, |cuts| cuts[args.rank()]) * row_len;
    // Each thread has a part of the mask, and counts before it writes.
    let parts = args.threads();
    let part_of = |part: usize| mask.len() * part / parts..mask.len() * (part + 1) / parts;
    let mut counts = vec![0; parts];
    let each: Vec<usize> = (1..=parts).collect();
    args.in_parts_to(&mut counts, &each, |part, n| {
        n[0] = count(&mask[part_of(part)]);
        Ok(())
    })?;
    let ends: Vec<usize> = (1..=parts).map(|n| counts[..n].iter().sum()).collect();
    let n = ends[parts - 1];
    let write_parts = |made: &mut [i64]| {
        args.in_parts_to(made, &ends, |part, made| {
            let places = part_of(part);
            write(&mask[places.clone()], (first + places.start) as i64, made);
            Ok(())
        })
    };
    if cuts.is_none() && args.cuts(MADE).is_none() {
        check_number(made.len(), n)?;
        return write_parts(made);
    }
    let mut found = try_collect((0..n).map(|_| 0))?;
    write_parts(&mut found)?;
    let own = as_cut(args, &found, cuts.is_some(), MADE)?;
    check_number(made.len(), own.len())?;
    made.copy_from_slice(&own);
    Ok(())
}

/// How many elements of a mask are true.
fn count(mask: &[bool]) -> usize {
    // As many that the count fits a byte, so that the loop is over vectors of bytes.
    let few = |few: &[bool]| few.iter().fold(0, |n: u8, &is_true| n + u8::from(is_true));
    mask.chunks(128).map(|chunk| usize::from(few(chunk))).sum()
}

/// Writes the places of the elements that are true, the first element having place `first`. There are
/// as many as `made` has room for.
fn write(mask: &[bool], first: i64, made: &mut [i64]) {
    let mut n = 0;
    for (&is_true, place) in mask.iter().zip(first..) {
        if n == made.len() {
            return;
        }
        // Written whether it is true or not: a branch here would be a guess.
        made[n] = place;
        n += usize::from(is_true);
    }
}

/// The mask has as many true elements as were counted before the task was issued.
fn check_number(expected: usize, found: usize) -> Result<(), Error> {
    match expected == found {
        true => Ok(()),
        false => {
            let (expected, found) = (format!("{expected} true elements"), found.to_string());
            Err(Error::argument("nonzero", expected, found))
        }
    }
}
