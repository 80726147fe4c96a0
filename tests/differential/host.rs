//! Host tasks for programs, of any element type.

use sparsefuse::kernels::Element;
use sparsefuse::runtime::{
    Access, Error, HostArgs, HostBody, HostTask, Part, Privilege, Runtime, StoreHandle,
};

/// A new store with the elements of another: in the opposite order, from the whole of it; or each
/// row one further, the first one also where it was, of which a rank gets its first one from the
/// rank before it.
pub(crate) fn moved<T: Element>(
    runtime: &Runtime,
    a: &StoreHandle,
    whole: bool,
) -> Result<StoreHandle, Error> {
    let (name, access) = match whole {
        true => ("reversed", Access::Whole),
        false => ("one_further", Access::Rows),
    };
    let args = [
        (Privilege::Read, access, T::DTYPE),
        (Privilege::Write, Access::Rows, T::DTYPE),
    ];
    let out = runtime.new_store(a.shape(), T::DTYPE);
    let row_len = a.shape().row_len();
    let function = move |args: &mut HostArgs<'_>| match whole {
        true => reversed::<T>(args, row_len),
        false => one_further::<T>(args, row_len),
    };
    let task = HostTask::new(function);
    runtime.submit_host(&HostBody::new(name, &args), &[a, &out], task)?;
    Ok(out)
}

fn reversed<T: Element>(args: &mut HostArgs<'_>, row_len: usize) -> Result<(), Error> {
    let (first, whole) = (args.rows().start * row_len, args.read::<T>(0)?);
    for (number, element) in args.write::<T>(1)?.iter_mut().enumerate() {
        *element = whole[whole.len() - 1 - first - number];
    }
    Ok(())
}

fn one_further<T: Element>(args: &mut HostArgs<'_>, row_len: usize) -> Result<(), Error> {
    let (rank, own, out) = (args.rank(), args.read::<T>(0)?, args.write::<T>(1)?);
    let mut before = match rank {
        0 => own[..row_len.min(own.len())].to_vec(),
        _ => args.receive::<T>(rank - 1)?,
    };
    if !own.is_empty() && before.is_empty() {
        // The ranks before this one have no rows.
        before = own[..row_len].to_vec();
    }
    let last = match own.is_empty() {
        true => &before,
        false => &own[own.len() - row_len..],
    };
    if rank + 1 < args.ranks() {
        args.send(rank + 1, last)?;
    }
    if !own.is_empty() {
        out[..row_len].copy_from_slice(&before);
        out[row_len..].copy_from_slice(&own[..own.len() - row_len]);
    }
    Ok(())
}

/// Every `every`-th element: each rank finds those of its own, and nothing is told in advance.
pub(crate) fn chosen<T: Element>(
    runtime: &Runtime,
    a: &StoreHandle,
    every: usize,
) -> Result<StoreHandle, Error> {
    let row_len = a.shape().row_len();
    let planned = |runtime: &Runtime| Ok(Part::Own(runtime.room(1)?));
    let part = runtime.submit_deferred("chosen", &[a], planned, move |args| {
        let (own, cuts) = (args.read::<T>(0)?, args.cuts(0));
        let first = cuts.map_or(0, |cuts| cuts[args.rank()]) * row_len;
        let chosen = || {
            own.iter()
                .skip((every - first % every) % every)
                .step_by(every)
        };
        let mut found = args.room(chosen().count())?;
        for (found, element) in found.iter_mut().zip(chosen()) {
            *found = *element;
        }
        Ok(match cuts {
            Some(_) => Part::Own(found),
            None => Part::All(found),
        })
    })?;
    part.then(|runtime, part| runtime.store_of_part(part)).get()
}
