//! Rows of a matrix by an exchange: how many entries each has, then the entries.

use crate::local::rows::{LocalRows, Rows, positions};
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, Exchange, Runtime, try_collect};

/// Positions, from 0, of the rows that an exchange brings, of a matrix whose rows have these
/// positions on this rank; and the exchange of what belongs to their entries. Every rank takes part.
pub(crate) fn entries(
    runtime: &Runtime,
    rows: &Exchange,
    own: &[u64],
) -> Result<(Vec<u64>, Exchange), Error> {
    let counts = try_collect(own.windows(2).map(|pair| pair[1] - pair[0]));
    let counts = rows.run(runtime, &runtime.agree(counts)?)?;
    let pos = runtime.agree(positions(&counts))?;
    let run = |pos: &[u64], row: usize| {
        let place = |row: usize| (pos[row] - pos[0]) as usize;
        place(row)..place(row + 1)
    };
    let entries = rows.of_runs(|row| run(own, row), |row| run(&pos, row));
    Ok((pos, entries))
}

/// The rows that an exchange brings, of a matrix of which this rank has these. Every rank takes part.
pub(crate) fn fetch<T: Element>(
    runtime: &Runtime,
    rows: &Exchange,
    own: Rows<'_, T>,
) -> Result<LocalRows<T>, Error> {
    let (pos, entries) = entries(runtime, rows, own.pos)?;
    Ok(LocalRows {
        pos,
        crd: entries.run(runtime, own.crd)?,
        vals: entries.run(runtime, own.vals)?,
    })
}
