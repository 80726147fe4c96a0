//! Operands of elementwise operations, and the one way to issue such an operation.
//!
//! An operand is an array, a scalar or a plain number. [`elementwise`] broadcasts the arrays to a
//! common shape, makes the store of the result and issues the task: without an allocation besides
//! that store when the shapes agree.

use crate::bodies::{self, Operation, Origin};
use sparsefuse_kernels::{DType, Element, Value};
use sparsefuse_runtime::{Error, Runtime, Shape, StoreHandle, TaskArg, View};
use std::sync::Arc;

/// An operand without its types.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a>(pub(crate) Kind<'a>);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind<'a> {
    Array(TaskArg<'a>),
    Scalar(&'a StoreHandle),
    Number(Value),
}

impl Source<'_> {
    pub(crate) fn origin(&self) -> Origin {
        match self.0 {
            Kind::Array(_) => Origin::Array,
            Kind::Scalar(_) => Origin::Scalar,
            Kind::Number(_) => Origin::Number,
        }
    }
}

impl Kind<'_> {
    fn shape(self) -> Option<Shape> {
        match self {
            Self::Array(arg) => Some(arg.shape()),
            Self::Scalar(_) | Self::Number(_) => None,
        }
    }

    pub(crate) fn runtime(&self) -> Option<&Runtime> {
        match self {
            Self::Array(arg) => Some(arg.store.runtime()),
            Self::Scalar(store) => Some(store.runtime()),
            Self::Number(_) => None,
        }
    }

    /// How an array is seen by a task on a shape that it broadcasts to, where that is not its own.
    pub(crate) fn broadcast_view(
        self,
        op: &'static str,
        shape: Shape,
    ) -> Result<Option<Arc<View>>, Error> {
        match self {
            Self::Array(arg) if arg.shape() != shape => {
                check_len(op, shape)?;
                let seen = arg.view.map_or(View::identity(arg.shape()), |view| **view);
                Ok(Some(Arc::new(seen.broadcast_to(shape)?)))
            }
            Self::Array(_) | Self::Scalar(_) | Self::Number(_) => Ok(None),
        }
    }
}

pub(crate) mod sealed {
    pub trait Sealed {}
}
use sealed::Sealed;

/// What stands on the right of an operator whose left operand has elements of type `T`: an array,
/// a scalar (both owned or borrowed) or a plain number.
///
/// Implemented by this crate only.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an operand beside elements of type `{T}`",
    label = "expected an array, a `Scalar` or a number with elements of type `{T}`",
    note = "operands have one element type; `cast::<{T}>()` converts an array or a scalar"
)]
pub trait Operand<T: Element>: Sealed {
    /// What comes out, with elements of type `U`, if the other operand is a scalar.
    type With<U: Element>: Handle;
    /// The operand without its types.
    fn source(&self) -> Source<'_>;
}

/// An [`Operand`] that fits an array of `D` dimensions.
///
/// A vector does not fit a matrix by itself, since it could be a row or a column of it:
/// `insert_axis` says which.
///
/// ```
/// use sparsefuse_dense::{Array, Vector};
///
/// let matrix = Array::from_shape_vec([2, 2], vec![1.0, 2.0, 3.0, 4.0])?;
/// let vector = Vector::from_vec(vec![10.0, 20.0]);
/// assert_eq!((&matrix + vector.insert_axis(0)).to_vec()?, [11.0, 22.0, 13.0, 24.0]);
/// # Ok::<(), sparsefuse_dense::Error>(())
/// ```
///
/// ```compile_fail,E0277
/// # use sparsefuse_dense::{Array, Vector};
/// let sum = Array::<f64, 2>::zeros([2, 2]) + Vector::<f64>::zeros([2]);
/// ```
///
/// Element types are not converted silently, but by `cast`:
///
/// ```compile_fail,E0277
/// # use sparsefuse_dense::Vector;
/// let sum = Vector::<f64>::zeros([2]) + Vector::<i64>::zeros([2]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not fit an array of {D} dimensions with elements of type `{T}`",
    label = "expected an array of {D} dimensions, a `Scalar` or a number, with elements `{T}`",
    note = "a vector becomes a row of a matrix with `insert_axis(0)`, a column with `insert_axis(1)`",
    note = "operands have one element type; `cast::<{T}>()` converts an array or a scalar"
)]
pub trait ArrayOperand<T: Element, const D: usize>: Operand<T> {}

/// An [`Operand`] that fits a scalar, with a scalar as the result.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not fit a scalar of type `{T}`",
    label = "expected a `Scalar` or a number of type `{T}`",
    note = "operands have one element type; `cast::<{T}>()` converts a scalar"
)]
pub trait ScalarOperand<T: Element>: ArrayOperand<T, 1> {}

/// A result of an operation: an array or a scalar.
///
/// Implemented by this crate only.
pub trait Handle: Sealed {
    #[doc(hidden)]
    fn of(store: StoreHandle) -> Self;
}

/// Issues an elementwise operation and returns the store of its result, which has elements of type
/// `output`. `operation` is what to do with its operands, three at most, on elements of type
/// `dtype`; `op` names it in messages. Not generic, so that it is compiled once.
pub(crate) fn elementwise(
    op: &'static str,
    operation: Operation,
    dtype: DType,
    operands: &[Source<'_>],
    output: DType,
) -> Result<StoreHandle, Error> {
    let body = bodies::body(operation, dtype);
    let shape = common_shape(op, operands)?;
    let mut views: [Option<Arc<View>>; 3] = [const { None }; 3];
    for (operand, view) in operands.iter().zip(&mut views) {
        *view = operand.0.broadcast_view(op, shape)?;
    }
    let current;
    let runtime = match operands.iter().find_map(|operand| operand.0.runtime()) {
        Some(runtime) => runtime,
        None => {
            current = Runtime::current();
            &current
        }
    };
    let store = runtime.new_store(shape, output);

    let (mut args, mut n_args) = ([TaskArg::from(&store); 4], 0);
    let (mut params, mut n_params) = ([false.to_value(); 3], 0);
    for (operand, view) in operands.iter().zip(&views) {
        match operand.0 {
            Kind::Array(arg) => {
                let view = view.as_ref().or(arg.view);
                args[n_args] = TaskArg { view, ..arg };
                n_args += 1;
            }
            Kind::Scalar(scalar) => {
                args[n_args] = TaskArg::from(scalar);
                n_args += 1;
            }
            Kind::Number(number) => {
                params[n_params] = number;
                n_params += 1;
            }
        }
    }
    // The result comes last, which is what the rest of `args` has been filled with.
    let (args, params) = (&args[..=n_args], &params[..n_params]);
    named(op, || runtime.submit(body, args, params))?;
    Ok(store)
}

/// The shape that all arrays among the operands broadcast to; that of a single element if there
/// are none.
pub(crate) fn common_shape(op: &'static str, operands: &[Source<'_>]) -> Result<Shape, Error> {
    let mut shapes = operands.iter().filter_map(|operand| operand.0.shape());
    let Some(first) = shapes.next() else {
        return Ok(Shape::SCALAR);
    };
    shapes.try_fold(first, |common, next| {
        if common == next {
            Ok(common)
        } else {
            broadcast(common, next).ok_or_else(|| Error::shape(op, common, next))
        }
    })
}

/// The smallest shape that two of the same rank broadcast to.
fn broadcast(a: Shape, b: Shape) -> Option<Shape> {
    let mut dims = a.padded_dims();
    for (dim, &other) in dims.iter_mut().zip(b.dims()) {
        match (*dim, other) {
            (same, other) if same == other => {}
            (1, other) => *dim = other,
            (_, 1) => {}
            _ => return None,
        }
    }
    Some(Shape::new(&dims[..a.rank()]))
}

/// A shape that no existing array has may have more elements than can be counted.
pub(crate) fn check_len(op: &'static str, shape: Shape) -> Result<(), Error> {
    const LARGEST: usize = isize::MAX as usize / 16;
    match shape.checked_len() {
        Some(..=LARGEST) => Ok(()),
        _ => {
            let expected = "a shape whose elements memory can hold";
            Err(Error::argument(op, expected, shape.to_string()))
        }
    }
}

/// What `make` makes; its failure is told of this operation, of which others may be a part.
pub(crate) fn named<R>(
    op: &'static str,
    make: impl FnOnce() -> Result<R, Error>,
) -> Result<R, Error> {
    make().map_err(|error| error.of_operation(op))
}

/// The value, or a panic with the error's message, as operators do.
///
/// # Panics
///
/// If the result is an error.
#[track_caller]
pub fn expect<T>(result: Result<T, Error>) -> T {
    // A closure would be the caller that the panic names.
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}
