//! Incomplete elimination on a pattern that is known: the numeric phase of ILU(0), ILU(k), IC(0),
//! and of ILUT for new values.
//!
//! A row needs the finished rows that its columns below the diagonal name; the ranks follow one
//! another, and each eliminates its rows ([`crate::local::elimination`]), so the factors are those
//! of one rank, to the bit.

use super::factors::Factors;
use crate::local::elimination::{Earlier, Factored, Memory, Pivot, Rule, Work};
use crate::local::pattern::Pattern;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::{Chain, Csr, Ghosts, LocalRows, RowLayout, Rows, Sweep};

/// Which rank waits for which in an elimination, and how that finds L.
#[derive(Clone, Debug)]
pub(super) struct Elimination {
    op: &'static str,
    layout: RowLayout,
    chain: Chain,
    rule: Rule,
}

impl Elimination {
    /// The elimination of rows on a pattern. Every rank must ask.
    pub(super) fn new(
        op: &'static str,
        layout: &RowLayout,
        pattern: &Pattern,
        rule: Rule,
    ) -> Result<Self, Error> {
        Ok(Self {
            op,
            layout: layout.clone(),
            chain: Chain::new(layout, Sweep::Forward, &pattern.lower.crd)?,
            rule,
        })
    }

    /// How the rows are spread over the ranks.
    pub(super) fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// The factors of rows on the pattern; or the first pivot that cannot be divided by, the same
    /// on every rank. Diagonal entries are multiplied by `scale` before. Every rank must ask.
    pub(super) fn run<T: Field>(
        &self,
        rows: Rows<'_, T>,
        pattern: Pattern,
        scale: Option<T>,
    ) -> Result<Result<Factored<T>, Pivot<T>>, Error> {
        let runtime = self.layout.runtime();
        let chain = self.chain.exchange();
        let first = self.layout.rows().start;
        let memory = runtime.agree(Memory::new(first, pattern, self.rule))?;
        let upper = LocalRows::receive(runtime, chain);
        let inverse = chain.receive(runtime);
        let received = upper.and_then(|upper| Earlier::new(upper, inverse?));
        let earlier = match received {
            Ok(earlier) => earlier,
            Err(cause) => {
                // Later ranks wait, and get the same cause.
                LocalRows::<T>::send_failure(runtime, chain, &cause);
                let _ = chain.send::<T>(runtime, Err(cause.clone()));
                return runtime.agree(Err(cause));
            }
        };
        let work = Work {
            op: self.op,
            rule: self.rule,
            first,
            needed: self.chain.needed(),
            earlier,
            scale,
        };
        let (factored, found) = work.eliminate(rows, memory);
        runtime.count_moved(factored.bytes() + size_of_val(rows.crd()) + size_of_val(rows.vals()));
        let upper = factored.upper.as_rows();
        let forwarded = upper.send(runtime, chain, |row| upper.entries(row));
        let forwarded = chain.send(runtime, Ok(&factored.inverse)).and(forwarded);
        // Ranks after a failed one have gone on with what it left: the first failure counts.
        let found = found.and_then(|found| forwarded.map(|()| found));
        let pivot = first_pivot(&self.layout, runtime.agree(found)?)?;
        Ok(pivot.map_or(Ok(factored), Err))
    }

    /// As [`Elimination::run`], where a pivot that cannot be divided by is an error.
    pub(super) fn run_to_end<T: Field>(
        &self,
        rows: Rows<'_, T>,
        pattern: Pattern,
    ) -> Result<Factored<T>, Error> {
        self.run(rows, pattern, None)?
            .map_err(|pivot| pivot.error(self.op))
    }
}

/// The error of a matrix whose entries are not where they were.
pub(super) fn other_structure(op: &'static str) -> Error {
    Error::argument(op, "the structure that was factored before", "another")
}

/// The pattern of rows that have their diagonal. Every rank must ask.
pub(super) fn pattern_of<T: Field>(
    op: &'static str,
    layout: &RowLayout,
    rows: Rows<'_, T>,
) -> Result<Pattern, Error> {
    let pattern = Pattern::of_rows(op, layout.rows(), rows);
    layout.runtime().agree(pattern)
}

/// The pattern of rows with other values, refused if it is another than that of the factors. Every
/// rank must ask.
pub(super) fn pattern_again<T: Field>(
    op: &'static str,
    layout: &RowLayout,
    factors: &Factors<T>,
    rows: Rows<'_, T>,
) -> Result<Pattern, Error> {
    match factors.are_of(rows)? {
        true => pattern_of(op, layout, rows),
        false => Err(other_structure(op)),
    }
}

/// Does something with the rows that this rank has in a layout, whatever ranks hold them now. So
/// what an update accepts does not depend on the number of ranks. Every rank must ask.
pub(super) fn with_rows_in<T: Field, R>(
    layout: &RowLayout,
    a: &Csr<T>,
    work: impl FnOnce(Rows<'_, T>) -> Result<R, Error>,
) -> Result<R, Error> {
    let own = a.own_rows()?;
    if own.partition() == layout.partition() {
        return work(own.as_rows());
    }
    let ghosts = Ghosts::of_range(layout.runtime(), own.partition(), layout.rows())?;
    work(ghosts.fetch_rows(own.as_rows())?.as_rows())
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
