//! Whether the stores and numbers of a task fit its body: types, shapes, views, and who may share
//! elements.
//!
//! Kernels trust what is placed from shapes and views, so this is where a task is refused that
//! would reach beyond a store, or of which one row would write what another one reads. What only
//! the contents tell (which elements indices name, how many entries a rank holds) is checked
//! when the task runs: `images`, `machine`.

use super::argument::Access;
use super::block::BlockRows;
use super::body::{Body, Seen};
use crate::error::{Error, ErrorKind};
use crate::geometry::view::View;
use crate::shape::Shape;
use sparsefuse_kernels::{ArgKind, DType, Value};

const OP: &str = "submit";

/// Whether stores fit a body, as far as a window's key tells: it has the types, shapes and views of
/// all stores, and which of them are the same.
pub(crate) fn check(body: &Body, args: &[Seen<'_>]) -> Result<(), Error> {
    let mut rows: Option<&Shape> = None;
    for ((arg, declared), &(kind, dtype)) in args.iter().zip(&body.args).zip(&body.kinds) {
        if arg.store.dtype() != dtype {
            return Err(wrong_type(dtype, arg.store.dtype()));
        }
        match kind {
            ArgKind::Array => match rows {
                None => rows = Some(arg.shape()),
                Some(shape) if shape != arg.shape() => {
                    return Err(Error::shape(OP, *shape, *arg.shape()));
                }
                Some(_) => {}
            },
            ArgKind::Scalar | ArgKind::Reduction => {
                let expected = match declared.access {
                    Access::Elements(count) => Shape::new(&[count as usize]),
                    Access::Rows
                    | Access::Ranges
                    | Access::Within { .. }
                    | Access::At { .. }
                    | Access::Whole
                    | Access::Held
                    | Access::Block => Shape::SCALAR,
                };
                if *arg.shape() != expected {
                    return Err(Error::shape(OP, expected, *arg.shape()));
                }
                check_whole(arg)?;
            }
            ArgKind::Gather if declared.access == Access::Block => {
                BlockRows::of(&view_of(arg))?;
            }
            ArgKind::Gather | ArgKind::Entries | ArgKind::Structure => check_whole(arg)?,
            ArgKind::DenseRows => {
                if arg.shape().rank() < 2 {
                    let found = arg.shape().to_string();
                    let expected = "an array of two or more dimensions";
                    return Err(Error::argument(OP, expected, found));
                }
            }
        }
    }
    check_all_written(body, args)?;
    check_dense_rows(body, args, rows)?;
    check_images(body, args, rows)
}

/// What a window's key does not tell: there are as many arguments and parameters as the body has,
/// parameters are of its types, and views are those of their stores.
pub(crate) fn check_counts<'a>(
    body: &Body,
    mut args: impl ExactSizeIterator<Item = Seen<'a>>,
    params: &[Value],
) -> Result<(), Error> {
    let types = &body.kernel.params;
    if args.len() != body.args.len() || params.len() != types.len() {
        let text = |args, params| format!("{args} arguments and {params} parameters");
        let expected = text(body.args.len(), types.len());
        return Err(Error::argument(
            OP,
            expected,
            text(args.len(), params.len()),
        ));
    }
    match params
        .iter()
        .zip(types)
        .find(|(param, dtype)| param.dtype() != **dtype)
    {
        Some((param, &dtype)) => Err(wrong_type(dtype, param.dtype())),
        None => args.try_for_each(check_view),
    }
}

fn wrong_type(expected: DType, found: DType) -> Error {
    let expected = expected.to_string();
    let op = OP;
    ErrorKind::DType {
        op,
        expected,
        found,
    }
    .into()
}

/// A view is one of stores of this shape.
fn check_view(arg: Seen<'_>) -> Result<(), Error> {
    match arg.view {
        Some(view) => view.check_base(OP, arg.store.shape()),
        None => Ok(()),
    }
}

/// Only arguments that are reached row by row may be seen through a view.
fn check_whole(arg: &Seen<'_>) -> Result<(), Error> {
    match arg.view {
        Some(view) if !view.is_identity() => {
            Err(Error::argument(OP, "a whole store", "a view of one"))
        }
        _ => Ok(()),
    }
}

/// How many arguments are compared with each other; more are sorted first.
const FEW: usize = 16;

/// [`check_written`] of all arguments that are written.
fn check_all_written(body: &Body, args: &[Seen<'_>]) -> Result<(), Error> {
    let is_written = |number: &usize| body.args[*number].is_written();
    if args.len() <= FEW {
        let mut written = (0..args.len()).filter(is_written);
        return written.try_for_each(|number| check_written(body, args, number, 0..args.len()));
    }
    // Those of one store side by side.
    let mut sorted: Vec<usize> = (0..args.len()).collect();
    sorted.sort_by_key(|&number| args[number].store.address());
    for group in sorted.chunk_by(|&a, &b| args[a].store.ptr_eq(args[b].store)) {
        let mut written = group.iter().copied().filter(is_written);
        written.try_for_each(|number| check_written(body, args, number, group.iter().copied()))?;
    }
    Ok(())
}

/// What is written is a slice of a store that memory can hold, and shares no element with another
/// argument, of which `others` are those of the same store and perhaps more: the rows of a kernel
/// run in any order. Only an argument of the same kind that sees the same in the same way may be
/// read, since it meets what is written in the same row.
fn check_written(
    body: &Body,
    args: &[Seen<'_>],
    number: usize,
    others: impl Iterator<Item = usize>,
) -> Result<(), Error> {
    let written = &args[number];
    // The rows of a block, which has been checked, share no element.
    let is_block = body.args[number].access == Access::Block;
    if !is_block && written.view.is_some_and(|view| !view.is_slice()) {
        let expected = "a slice with ascending steps to write through";
        return Err(Error::argument(OP, expected, "another view"));
    }
    let shape = written.store.shape_ref();
    if !shape.fits_memory(written.store.dtype().size()) {
        let expected = "a store of fewer bytes than there are addresses";
        return Err(Error::argument(OP, expected, format!("one of {shape}")));
    }
    for other in others {
        let arg = &args[other];
        if other == number || !arg.store.ptr_eq(written.store) {
            continue;
        }
        let is_same = view_of(arg) == view_of(written) && body.kinds[other] == body.kinds[number];
        let is_met = is_same && matches!(body.kinds[number].0, ArgKind::Array | ArgKind::Scalar);
        let both_write = body.args[other].is_written();
        // A store without elements has one owner too.
        let are_whole = both_write && written.view.is_none() && arg.view.is_none();
        let may_meet = are_whole || view_of(arg).may_meet(&view_of(written));
        if (both_write || !is_met) && may_meet {
            let found = match both_write {
                true => "two that write the same elements",
                false => "one that reads what another writes",
            };
            return Err(Error::argument(
                OP,
                "arguments that share no element",
                found,
            ));
        }
    }
    Ok(())
}

fn view_of(arg: &Seen<'_>) -> View {
    let whole = || View::identity(arg.store.shape());
    arg.view.map_or_else(whole, |view| **view)
}

/// There is one range for each row of the domain, and so one element more; what lies within the
/// same ranges lies in vectors of one length. Where an `x` that is gathered has two dimensions, the
/// domain is one with as many columns.
fn check_images(body: &Body, args: &[Seen<'_>], rows: Option<&Shape>) -> Result<(), Error> {
    for &number in &body.structured {
        let domain = rows.copied().unwrap_or(Shape::SCALAR);
        let found = *args[number].shape();
        match body.args[number].access {
            Access::Rows | Access::Whole | Access::Held | Access::Block | Access::Elements(_) => {}
            Access::Ranges => {
                let expected = Shape::new(&[domain.rows().saturating_add(1)]);
                if domain.rank() == 0 || found != expected {
                    return Err(Error::shape(OP, expected, found));
                }
            }
            access @ Access::Within { .. } => {
                let is_beside = |other: &&usize| body.args[**other].access == access;
                let first = body.structured.iter().find(is_beside);
                let expected = Shape::new(&[args[*first.unwrap_or(&number)].shape().rows()]);
                if found != expected {
                    return Err(Error::shape(OP, expected, found));
                }
            }
            Access::At { .. } => {
                let is_like = found.rank() == domain.rank() && found.row_len() == domain.row_len();
                if !is_like || found.rank() > 2 {
                    return Err(Error::shape(OP, found, domain));
                }
            }
        }
    }
    Ok(())
}

/// Dense rows have the task's shape and one more dimension behind it, as long as their factor.
fn check_dense_rows(body: &Body, args: &[Seen<'_>], rows: Option<&Shape>) -> Result<(), Error> {
    for &number in &body.dense_rows {
        let arg = &args[number];
        let rows = rows.copied().unwrap_or(Shape::SCALAR);
        let (_, outer) = split_last(arg.shape());
        if rows != outer {
            return Err(Error::shape(OP, rows, *arg.shape()));
        }
    }
    for &(rows, x) in &body.factors {
        let (columns, _) = split_last(args[rows].shape());
        let columns = Shape::new(&[columns]);
        if *args[x].shape() != columns {
            return Err(Error::shape(OP, columns, *args[x].shape()));
        }
    }
    Ok(())
}

/// The length of the last dimension, and the shape without it.
fn split_last(shape: &Shape) -> (usize, Shape) {
    let (last, outer) = shape.dims().split_last().unwrap_or((&1, &[]));
    (*last, Shape::new(outer))
}
