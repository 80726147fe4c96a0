//! Gathers as kernels, which fuse with what is computed of their results.
//!
//! What a kernel gathers by is a structure whose rows have one entry each. It is made of an array
//! of indices by a host task, which checks them; so that pays where they are used again and again,
//! and the runtime counts ([`StoreHandle::structure_of_indices`]). On several ranks, where a
//! structure has to be cut as its task is, gathers stay host tasks.

use crate::array::Array;
use crate::indices::{Index, Lines};
use sparsefuse_kernels::{ArgKind, DType, Element, Inst, KernelBuilder};
use sparsefuse_runtime::{
    Access, Body, BodyArg, Error, HostArgs, HostBody, HostTask, Privilege, Shape, StoreHandle,
    TaskArg,
};
use std::sync::{Arc, Mutex, PoisonError};

/// The gather as a kernel, if it is one of elements of a vector or of rows of a matrix by a vector
/// of indices that has been used often.
pub(crate) fn by_structure<T: Element, I: Index, const D: usize, const N: usize, const E: usize>(
    x: &Array<T, D>,
    indices: &Array<I, N>,
    lines: Lines,
    shape: Shape,
) -> Result<Option<Array<T, E>>, Error> {
    let of_x = x.arg().shape();
    // A column that is seen as a vector, or a row that is gathered from along its length, has other
    // rows than the kernel would.
    let is_by_rows = N == 1
        && D == E
        && (of_x.rows(), of_x.row_len()) == (lines.n, lines.inner)
        && (shape.rows(), shape.row_len()) == (lines.m, lines.inner);
    let is_by_rows = is_by_rows && matches!(D, 1 | 2);
    let has_elements = lines.n > 0 && lines.m > 0 && lines.inner > 0;
    let fits = u32::try_from(lines.n).is_ok();
    let runtime = x.runtime();
    if !(is_by_rows && has_elements && fits && runtime.ranks() == 1) {
        return Ok(None);
    }
    let structure = indices
        .store()
        .structure_of_indices((lines.op, lines.n), || structure(indices, lines))?;
    let Some([ranges, within]) = structure else {
        return Ok(None);
    };
    let made = runtime.new_store(shape, T::DTYPE);
    let args: [TaskArg<'_>; 4] = [(&made).into(), (&ranges).into(), (&within).into(), x.arg()];
    runtime.submit(&body(lines.op, T::DTYPE), &args, &[])?;
    Ok(Some(Array::wrap(made, None)))
}

/// Ranges of one index each, and the indices, checked and counted from the begin.
fn structure<I: Index, const N: usize>(
    indices: &Array<I, N>,
    lines: Lines,
) -> Result<[StoreHandle; 2], Error> {
    let runtime = indices.runtime();
    let ranges = runtime.new_store(Shape::new(&[lines.m + 1]), DType::U64);
    let task = HostTask::new(move |args: &mut HostArgs<'_>| {
        let ranges = args.write::<u64>(0)?;
        args.in_parts(ranges, 1, |first, part| {
            for (number, range) in part.iter_mut().enumerate() {
                *range = (first + number) as u64;
            }
            Ok(())
        })
    });
    let body = HostBody::new("ranges", &[(Privilege::Write, Access::Rows, DType::U64)]);
    runtime.submit_host(&body, &[&ranges], task)?;

    let within = runtime.new_store(Shape::new(&[lines.m]), DType::U32);
    let lines = Lines { inner: 1, ..lines };
    let task = HostTask::new(move |args: &mut HostArgs<'_>| {
        let within = args.write::<u32>(1)?;
        let indices = args.read::<I>(0)?;
        args.in_parts(within, 1, |first, part| {
            let items = first..first + part.len();
            lines.for_each(items, (indices, 0), |item, place| {
                part[item - first] = place as u32;
            })
        })
    });
    let declared = [
        (Privilege::Read, Access::Rows, I::DTYPE),
        (Privilege::Write, Access::Rows, DType::U32),
    ];
    let body = HostBody::new(lines.op, &declared);
    runtime.submit_host(&body, &[indices.store(), &within], task)?;
    Ok([ranges, within])
}

/// The body of an operation for an element type, built once.
fn body(op: &'static str, dtype: DType) -> Arc<Body> {
    static BODIES: Mutex<Vec<(&str, DType, Arc<Body>)>> = Mutex::new(Vec::new());
    // Nothing panics between two changes of the list.
    let mut bodies = BODIES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = bodies
        .iter()
        .find(|known| (known.0, known.1) == (op, dtype));
    if let Some((_, _, body)) = known {
        return Arc::clone(body);
    }
    let mut build = KernelBuilder::new();
    let made = build.arg(dtype, ArgKind::Array);
    let structure = build.arg(DType::U32, ArgKind::Structure);
    let x = build.arg(dtype, ArgKind::Gather);
    let element = build.push(Inst::Gather { structure, x });
    build.store(made, element);
    let args = vec![
        BodyArg::write(made),
        BodyArg::read(Access::Ranges, None),
        BodyArg::read(Access::Within { ranges: 1 }, structure),
        BodyArg::read(Access::At { indices: 2 }, x),
    ];
    let body = Body::with_args(op, build.finish(), args);
    bodies.push((op, dtype, Arc::clone(&body)));
    body
}
