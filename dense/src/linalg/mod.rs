//! Dense linear algebra: systems, factorisations, eigenvalues, singular values and exponentials of
//! a matrix, by faer; the feature `linalg`.
//!
//! Each is a host task: every rank has all of the matrix, the first one computes, on one thread,
//! and sends the others their rows of what it has made. What is so small that every rank has all of
//! it, every rank computes. It computes in double precision, whatever the elements are. What a task
//! makes besides, such as the singular values beside their vectors, is rows of the same store, so
//! that it is computed once; what is returned are views. What follows from factors, as least
//! squares do, is array code, and so are exponentials.
//!
//! The bits do not depend on threads and ranks; the last ones do on the instruction set of the
//! machine, by which faer picks its loops. Matrices are refused where they are made (not square,
//! operands that do not fit), or where their elements are asked for (singular, not finite).

mod eigen;
mod exponential;
mod factor;
mod factored;
#[cfg(all(shared_instances, debug_assertions))]
pub(crate) mod instances;
mod least_squares;
mod norms;
mod polynomial;
mod roots;
mod solve;
mod work;

pub use eigen::{Eig, Eigh};
pub use factor::{Qr, Svd};
pub use factored::Lu;
pub use norms::MatrixNorm;

use crate::array::Array;
use crate::operand::check_len;
use sparsefuse_kernels::{Element, Field};
use sparsefuse_runtime::{
    Access, Error, HostArgs, HostBody, HostTask, Privilege, Shape, StoreHandle, reserve,
};
use work::Work;

/// What a task makes of the matrix `a`, and of `b` where there is one: a store of this shape.
fn submit<T: Field, M: Field>(
    work: Work<T, M>,
    a: &Array<T, 2>,
    b: Option<&Array<T, 2>>,
    shape: Shape,
) -> Result<StoreHandle, Error> {
    let op = work.op;
    check_len(op, shape)?;
    let runtime = a.runtime();
    let made = runtime.new_store(shape, M::DTYPE);
    let inputs = [Some(a), b].into_iter().flatten();
    let inputs: Vec<_> = inputs.map(Array::contiguous).collect::<Result<_, _>>()?;
    let shapes: Vec<_> = inputs.iter().map(Array::shape).collect();
    let mut declared = vec![(Privilege::Read, Access::Whole, T::DTYPE); inputs.len()];
    declared.push((Privilege::Write, Access::Rows, M::DTYPE));
    let mut stores: Vec<_> = inputs.iter().map(Array::store).collect();
    stores.push(&made);
    let row_len = shape.dims().iter().skip(1).product();
    let task = HostTask::new(move |args| run(&work, &shapes, row_len, args));
    runtime.submit_host(&HostBody::new(op, &declared), &stores, task)?;
    Ok(made)
}

/// The task: the first rank computes, and every rank gets its rows.
fn run<T: Field, M: Field>(
    work: &Work<T, M>,
    shapes: &[[usize; 2]],
    row_len: usize,
    args: &mut HostArgs<'_>,
) -> Result<(), Error> {
    let n_inputs = shapes.len();
    let own = args.write::<M>(n_inputs)?;
    if args.rank() > 0 {
        own.copy_from_slice(&args.receive::<M>(0)?);
        return Ok(());
    }
    let inputs = (0..n_inputs).map(|number| Ok((args.read::<T>(number)?, shapes[number])));
    let inputs: Vec<_> = inputs.collect::<Result<_, Error>>()?;
    let make = |made: &mut [M]| match made.is_empty() {
        // Not all methods of faer take a matrix without elements.
        true => Ok(()),
        false => work.run(&inputs, made),
    };
    let Some(cuts) = args.cuts(n_inputs) else {
        return make(own);
    };
    let len = row_len * cuts[args.ranks()];
    let mut made = reserve(len)?;
    made.resize(len, M::ZERO);
    make(&mut made)?;
    let rows_of = |rank: usize| &made[cuts[rank] * row_len..cuts[rank + 1] * row_len];
    for rank in 1..args.ranks() {
        args.send(rank, rows_of(rank))?;
    }
    own.copy_from_slice(rows_of(0));
    Ok(())
}

/// The order of a square matrix.
fn order<T: Element>(op: &'static str, a: &Array<T, 2>) -> Result<usize, Error> {
    match a.shape() {
        [rows, columns] if rows == columns => Ok(rows),
        [rows, columns] => {
            let found = format!("{rows} rows and {columns} columns");
            Err(Error::argument(op, "a square matrix", found))
        }
    }
}
