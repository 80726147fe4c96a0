//! Incomplete elimination on a structure that is known: the numeric phase of ILU(0), ILU(k), IC(0),
//! and of ILUT for new values.
//!
//! A row needs the finished rows that its columns below the diagonal name; the ranks follow one
//! another, and each eliminates its rows ([`crate::local::elimination`]), so the factors are those of
//! one rank, to the bit.

use crate::local::elimination::{Pivot, Rule, Work, diagonals, hash, other_structure};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::{Chain, Csr, Ghosts, LocalRows, RowLayout, Sweep};

/// The structure of an elimination: where the diagonal of each row is, and who waits for whom.
#[derive(Clone, Debug)]
pub(super) struct Elimination {
    op: &'static str,
    layout: RowLayout,
    chain: Chain,
    rule: Rule,
    diagonal: Vec<usize>,
    /// The hash of the structure.
    structure: u64,
}

impl Elimination {
    /// The elimination of rows of this structure, which has the diagonal. Every rank must ask.
    pub(super) fn new<T: Field>(
        op: &'static str,
        layout: &RowLayout,
        rows: &LocalRows<T>,
        rule: Rule,
    ) -> Result<Self, Error> {
        let diagonal = diagonals(op, layout.rows(), rows);
        Ok(Self {
            op,
            layout: layout.clone(),
            diagonal: layout.runtime().agree(diagonal)?,
            chain: Chain::new(layout, Sweep::Forward, &rows.crd)?,
            rule,
            structure: hash(rows.as_rows()),
        })
    }

    /// How the rows are spread over the ranks.
    pub(super) fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// Puts L (below the diagonal, whose ones are not stored) and U in the place of the rows; or
    /// finds the first pivot that cannot be divided by, the same on every rank.
    pub(super) fn run<T: Field>(&self, rows: &mut LocalRows<T>) -> Result<Option<Pivot<T>>, Error> {
        let runtime = self.layout.runtime();
        runtime.count_moved(2 * rows.bytes());
        runtime.agree(self.check(rows))?;
        let diagonal = &self.diagonal;
        let chain = self.chain.exchange();
        let outer = LocalRows::<T>::receive(runtime, chain)?;
        let LocalRows { pos, crd, vals } = rows;
        let work = Work {
            first: self.layout.rows().start,
            needed: self.chain.needed(),
            outer: &outer,
            pos,
            crd,
            diagonal,
            rule: self.rule,
        };
        let found = work.eliminate(self.op, vals);
        let upper = |row: usize| diagonal[row]..rows.pos[row + 1] as usize;
        rows.as_rows().send(runtime, chain, upper)?;
        // Ranks after a failed one have gone on with what it left: the first failure counts.
        first_pivot(&self.layout, runtime.agree(found)?)
    }

    /// As [`Elimination::run`], where a pivot that cannot be divided by is an error.
    pub(super) fn run_to_end<T: Field>(&self, rows: &mut LocalRows<T>) -> Result<(), Error> {
        match self.run(rows)? {
            None => Ok(()),
            Some(pivot) => Err(pivot.error(self.op)),
        }
    }

    /// Refuses rows of another structure.
    fn check<T: Field>(&self, rows: &LocalRows<T>) -> Result<(), Error> {
        if hash(rows.as_rows()) == self.structure {
            return Ok(());
        }
        Err(other_structure(self.op))
    }
}

/// The rows that this rank has in a layout, whatever ranks hold them now. So what an update accepts
/// does not depend on the number of ranks. Every rank must ask.
pub(super) fn rows_in<T: Field>(layout: &RowLayout, a: &Csr<T>) -> Result<LocalRows<T>, Error> {
    let own = a.own_rows()?;
    if own.partition() == layout.partition() {
        return Ok(a.local_rows()?.1);
    }
    let ghosts = Ghosts::of_range(layout.runtime(), own.partition(), layout.rows())?;
    ghosts.fetch_rows(own.as_rows())
}

/// The first pivot that any rank has found.
pub(super) fn first_pivot<T: Field>(
    layout: &RowLayout,
    found: Option<Pivot<T>>,
) -> Result<Option<Pivot<T>>, Error> {
    if layout.is_replicated() {
        return Ok(found);
    }
    let words = found.map_or(Vec::new(), |pivot| {
        let (re, im) = pivot.value.parts();
        vec![pivot.row as f64, re, im]
    });
    let all = layout.runtime().all_gather(&words)?;
    Ok(all
        .iter()
        .find(|words| !words.is_empty())
        .map(|words| Pivot {
            row: words[0] as usize,
            value: T::from_parts(words[1], words[2]),
        }))
}
