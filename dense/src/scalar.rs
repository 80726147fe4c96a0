//! Scalars: single elements that have perhaps not been computed yet.

use crate::array::check_dtype;
use crate::bodies::{self, Operation, Origin, Target};
use crate::operand::sealed::Sealed;
use crate::operand::{
    self, ArrayOperand, Handle, Kind, Operand, ScalarOperand, Source, elementwise,
};
use crate::twins::twins;
use sparsefuse_kernels::{Element, Numeric};
use sparsefuse_runtime::{Error, Runtime, Shape, StoreHandle, TaskArg};
use std::fmt;
use std::marker::PhantomData;

/// A single element, such as the result of a reduction: a store of rank 0.
///
/// Arithmetic on scalars is issued like any other task and never waits; only [`Scalar::get`] does.
///
/// ```
/// use sparsefuse_dense::Vector;
///
/// let x = Vector::from_vec(vec![3.0, 4.0]);
/// let length = x.dot(&x).sqrt();
/// let unit = &x / &length;
/// assert_eq!(length.get()?, 5.0);
/// assert_eq!(unit.to_vec()?, [0.6, 0.8]);
/// # Ok::<(), sparsefuse_dense::Error>(())
/// ```
#[derive(Clone)]
pub struct Scalar<T> {
    store: StoreHandle,
    element: PhantomData<T>,
}

impl<T: Element> Scalar<T> {
    /// A scalar of [`Runtime::current`] with this value. One task.
    #[must_use]
    #[track_caller]
    pub fn new(value: T) -> Self {
        let runtime = Runtime::current();
        let store = runtime.new_store(Shape::SCALAR, T::DTYPE);
        let fill = Operation::Fill(Origin::Number, Target::Scalar);
        let body = bodies::body(fill, T::DTYPE);
        operand::expect(runtime.submit(body, &[TaskArg::from(&store)], &[value.to_value()]));
        Self::wrap(store)
    }

    pub(crate) fn wrap(store: StoreHandle) -> Self {
        Self {
            store,
            element: PhantomData,
        }
    }

    /// A scalar that is a store.
    ///
    /// # Errors
    ///
    /// If the store's element has another type, or the store has dimensions.
    pub fn from_store(store: StoreHandle) -> Result<Self, Error> {
        check_dtype::<T>("from_store", &store)?;
        if store.shape() != Shape::SCALAR {
            return Err(Error::shape("from_store", Shape::SCALAR, store.shape()));
        }
        Ok(Self::wrap(store))
    }

    /// The scalar as an argument of a task.
    #[must_use]
    pub fn arg(&self) -> TaskArg<'_> {
        TaskArg::from(&self.store)
    }

    /// The store that holds the element.
    #[must_use]
    pub fn store(&self) -> &StoreHandle {
        &self.store
    }

    /// The same, to be replaced by another one of this type.
    pub(crate) fn store_mut(&mut self) -> &mut StoreHandle {
        &mut self.store
    }

    /// The runtime that the scalar belongs to.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        self.store.runtime()
    }

    /// The value; executes what has been issued. Every rank must ask.
    ///
    /// # Errors
    ///
    /// If the computation of the scalar failed.
    pub fn get(&self) -> Result<T, Error> {
        self.runtime().read_scalar(&self.store)
    }
}

twins! {
    [T: Numeric] Scalar<T>;
    /// `self / divisor`, or 0 where the divisor is 0: a step length of a solver that has broken
    /// down, so that the step leaves everything where it is. One task, which waits for nothing.
    ///
    /// ```
    /// use sparsefuse_dense::Scalar;
    ///
    /// let [one, none] = [1.0, 0.0].map(Scalar::new);
    /// assert_eq!(one.ratio(&Scalar::new(4.0)).get()?, 0.25);
    /// assert_eq!(one.ratio(&none).get()?, 0.0);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    @ "If the operands belong to different runtimes."
    ratio try_ratio(&self, divisor: &Self) -> Self {
        let operands = [self.source(), divisor.source()];
        elementwise("ratio", Operation::Ratio, T::DTYPE, &operands, T::DTYPE).map(Self::wrap)
    }
}

impl<T: Element> From<T> for Scalar<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Element> Handle for Scalar<T> {
    fn of(store: StoreHandle) -> Self {
        Self::wrap(store)
    }
}

impl<T: Element> Sealed for Scalar<T> {}
impl<T: Element> Sealed for &Scalar<T> {}
impl<T: Element> Sealed for T {}

impl<T: Element> Operand<T> for Scalar<T> {
    type With<U: Element> = Scalar<U>;
    fn source(&self) -> Source<'_> {
        Source(Kind::Scalar(self.store()))
    }
}

impl<T: Element> Operand<T> for &Scalar<T> {
    type With<U: Element> = Scalar<U>;
    fn source(&self) -> Source<'_> {
        Source(Kind::Scalar(self.store()))
    }
}

/// A plain number, which with scalars makes scalars.
impl<T: Element> Operand<T> for T {
    type With<U: Element> = Scalar<U>;
    fn source(&self) -> Source<'_> {
        Source(Kind::Number(self.to_value()))
    }
}

impl<T: Element, const D: usize> ArrayOperand<T, D> for Scalar<T> {}
impl<T: Element, const D: usize> ArrayOperand<T, D> for &Scalar<T> {}
impl<T: Element, const D: usize> ArrayOperand<T, D> for T {}

impl<T: Element> ScalarOperand<T> for Scalar<T> {}
impl<T: Element> ScalarOperand<T> for &Scalar<T> {}
impl<T: Element> ScalarOperand<T> for T {}

impl<T> fmt::Debug for Scalar<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scalar:{}", self.store.dtype())
    }
}
