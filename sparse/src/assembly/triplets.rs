//! From triplets to the stores of a matrix.

use super::{Positions, Stores, check_memory, check_shape, filled, filled_with};
use crate::local::parallel::Threads;
use crate::local::sorting::{self, SortedRows};
use crate::local::triplets::Triplets;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Error, Runtime, Shape};
use std::borrow::Cow;

/// The stores of the matrix that some triplets are, of which this rank keeps its rows.
pub(crate) fn stores<T: Numeric>(triplets: Cow<'_, Triplets<T>>) -> Result<Stores<T>, Error> {
    let shape = (triplets.n_rows(), triplets.n_cols());
    check_shape("csr", shape.0, shape.1)?;
    let runtime = Runtime::current();
    let threads = &Threads::of(&runtime);
    let own = runtime.default_rows(Shape::new(&[shape.0]));
    runtime.agree(check_memory(&runtime, &own.1))?;
    let mut pos = Positions::room(&runtime, own.1.len())?;
    // Ranks may find different ways, and do nothing together on them.
    let rows = SortedRows::new(
        (threads, runtime.config().isa),
        &triplets,
        own.1.clone(),
        &mut pos,
        |len| {
            Ok((
                Box::new(runtime.room(len)?),
                Box::new(runtime.room::<T>(len)?),
            ))
        },
    );
    match runtime.agree(rows)? {
        SortedRows::InOrder => filled(&runtime, shape, own.clone(), pos, |_, crd, vals| {
            sorting::copy_in_order(threads, &triplets, own.1.start, (crd, vals));
        }),
        SortedRows::Placed(placed) => {
            let len = pos[own.1.len()] as usize;
            filled_with(&runtime, shape, own, (pos, len), |pos, crd, vals| {
                placed.place(threads, &triplets, pos, (crd, vals))
            })
        }
        SortedRows::Blocks(sorted) => {
            // They are not needed any more, if they are ours.
            drop(triplets);
            filled(&runtime, shape, own, pos, |pos, crd, vals| {
                sorted.copy_out(threads, pos, (crd, vals));
            })
        }
    }
}
