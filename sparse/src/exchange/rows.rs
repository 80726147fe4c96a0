//! Rows of a matrix by an exchange: how many entries each has, then the entries.

use crate::local::rows::{LocalRows, Rows, positions};
use sparsefuse_kernels::Element;
use sparsefuse_runtime::{Error, Exchange, Messages, Runtime, try_collect};
use std::ops::Range;

/// Positions, from 0, of the rows that an exchange brings, of a matrix whose rows have these
/// positions on this rank; and the exchange of what belongs to their entries. Every rank takes
/// part.
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

impl<T: Element> Rows<'_, T> {
    /// The rows that an exchange brings, of a matrix of which this rank has these. Every rank takes
    /// part.
    ///
    /// # Errors
    ///
    /// If the exchange is one of other rows, memory runs out, or another rank failed.
    pub fn exchange(self, runtime: &Runtime, rows: &Exchange) -> Result<LocalRows<T>, Error> {
        let (pos, entries) = entries(runtime, rows, self.pos)?;
        Ok(LocalRows {
            pos,
            crd: entries.run(runtime, self.crd)?,
            vals: entries.run(runtime, self.vals)?,
        })
    }

    /// Sends what others get of these rows, and of each row the entries `part`, counted from the
    /// first of all: [`Exchange::send`] of rows.
    ///
    /// # Errors
    ///
    /// If the exchange is one of other rows, or memory runs out.
    pub fn send(
        self,
        messages: &impl Messages,
        rows: &Exchange,
        part: impl Fn(usize) -> Range<usize>,
    ) -> Result<(), Error> {
        let counts = try_collect((0..self.len()).map(|row| part(row).len() as u64));
        let sent = rows.send(messages, counts.as_deref().map_err(Clone::clone));
        let (crd, vals) = match &sent {
            Ok(()) => (Ok(self.crd), Ok(self.vals)),
            Err(cause) => (Err(cause.clone()), Err(cause.clone())),
        };
        // All are sent, and taken, where one fails too: what comes next is another message.
        let run = |row: usize| if sent.is_ok() { part(row) } else { 0..0 };
        let entries = rows.of_runs(run, |_| 0..0);
        let sent = sent.and(entries.send(messages, crd));
        sent.and(entries.send(messages, vals))
    }
}

impl<T: Element> LocalRows<T> {
    /// Tells those that wait for rows why there are none.
    pub fn send_failure(messages: &impl Messages, rows: &Exchange, cause: &Error) {
        // Who cannot be told has failed too.
        let _ = rows.send::<u64>(messages, Err(cause.clone()));
        let _ = rows.send::<u32>(messages, Err(cause.clone()));
        let _ = rows.send::<T>(messages, Err(cause.clone()));
    }

    /// Waits for the rows that others send: [`Exchange::receive`] of rows.
    ///
    /// # Errors
    ///
    /// If one of the others has left or failed, or memory runs out.
    pub fn receive(messages: &impl Messages, rows: &Exchange) -> Result<Self, Error> {
        let counts = rows.receive::<u64>(messages);
        let pos = match counts.and_then(|counts| positions(&counts)) {
            Ok(pos) => pos,
            Err(cause) => {
                rows.drop_received::<u32>(messages, &cause);
                rows.drop_received::<T>(messages, &cause);
                return Err(cause);
            }
        };
        let entries = rows.of_runs(|_| 0..0, |row| pos[row] as usize..pos[row + 1] as usize);
        let (crd, vals) = (entries.receive(messages), entries.receive(messages));
        let (crd, vals) = (crd?, vals?);
        Ok(Self { pos, crd, vals })
    }
}
