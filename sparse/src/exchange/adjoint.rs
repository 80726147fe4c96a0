//! Products with the conjugate transpose of a matrix, over the ranks.
//!
//! A host task, whose rows are those of the product. How it goes through the rows of the matrix is
//! found once for its values ([`AdjointProduct`]); `local/adjoint.rs` has the pass, and the order
//! of the sums, which is that of a product with the transpose.
//!
//! Where the matrix is cut, each element of the product is made by the rank that has it: the
//! entries of other ranks in its columns are sent to it when the product is found, and their
//! elements of `x` with each product. Where the matrix is cut and the product is not, because it is
//! short, it goes from rank to rank, each of which adds what its rows bring.

use super::ghosts::Ghosts;
use super::own_rows::OwnRows;
use super::owners::Owners;
use crate::local::adjoint::{Part, Pass};
use crate::local::rows::{LocalRows, Rows};
use crate::local::triplets::Triplets;
use sparsefuse_dense::Vector;
use sparsefuse_kernels::isa::Isa;
use sparsefuse_kernels::{DType, Numeric};
use sparsefuse_runtime::{
    Access, Error, Exchange, HostArgs, HostBody, HostTask, Partition, Privilege, Runtime, Shape,
    StoreHandle, reserve, try_collect,
};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// The arguments of the task; columns and values are some where the pass reads them, and the
/// product is the last one.
const X: usize = 0;
const CRD: usize = 1;
const VALS: usize = 2;

/// How a product with the adjoint of a matrix is made, on this rank.
#[derive(Debug)]
pub(crate) struct AdjointProduct<T> {
    /// How the product is cut.
    launch: Partition,
    /// `Whole` where every rank has all rows of the matrix, else `Held`.
    access: Access,
    /// The cuts of the rows of the matrix.
    cuts: Option<Arc<[usize]>>,
    /// Whether the task reads columns and values of the matrix: the pass of some rank does, or the
    /// task has nothing else that is cut.
    reads_entries: bool,
    /// Where the parts of the threads end, among the elements of this rank.
    ends: Vec<usize>,
    own: Pass<T>,
    /// Rows of other ranks, where they have entries in the columns of this one.
    others: Option<Others<T>>,
    /// Whether the product goes from rank to rank.
    is_passed: bool,
    isa: Isa,
    /// The bytes that are read besides the arguments.
    bytes: usize,
}

/// Rows of other ranks, of which this one has what lies in its columns.
#[derive(Debug)]
struct Others<T> {
    ghosts: Arc<Exchange>,
    /// Rows before this rank's, and behind them.
    before: Fetched<T>,
    behind: Fetched<T>,
}

/// Some rows of other ranks.
#[derive(Debug)]
struct Fetched<T> {
    rows: LocalRows<T>,
    pass: Pass<T>,
}

impl<T: Numeric> Fetched<T> {
    fn new(rows: LocalRows<T>, parts: &[usize]) -> Result<Self, Error> {
        let pass = Pass::new(rows.as_rows(), parts.to_vec())?;
        Ok(Self { rows, pass })
    }

    fn part<'a>(&'a self, part: usize, x: &'a [T], y: (&'a mut [T], bool)) -> Part<'a, T> {
        let entries = (&self.rows.crd[..], &self.rows.vals[..]);
        self.pass.part(part, entries, x, y)
    }
}

impl<T: Numeric> AdjointProduct<T> {
    /// For a matrix of this shape, of which this rank has these rows. Every rank must ask.
    ///
    /// # Errors
    ///
    /// If the system refuses the memory.
    pub(crate) fn new(
        runtime: &Runtime,
        shape: (usize, usize),
        own: &OwnRows<T>,
    ) -> Result<Self, Error> {
        let rows = own.as_rows();
        let (launch, cols) = runtime.default_rows(Shape::new(&[shape.1]));
        let cuts = runtime.cuts(own.partition());
        let cuts = cuts.filter(|_| runtime.ranks() > 1);
        let is_passed = cuts.is_some() && launch == Partition::Replicated;
        let config = runtime.config();
        let threads = match rows.crd.len() < config.parallel_threshold {
            true => 1,
            false => config.threads,
        };
        let parts = runtime.agree(parts(rows.crd, &cols, threads))?;
        let pass = runtime.agree(Pass::new(rows, parts.clone()))?;
        let reads = runtime.all_gather(&[pass.reads_entries()])?;
        let others = match cuts.is_some() && !is_passed {
            true => Some(others(runtime, shape, own, (launch, &parts))?),
            false => None,
        };
        Ok(Self {
            launch,
            access: match &cuts {
                Some(_) => Access::Held,
                None => Access::Whole,
            },
            cuts,
            // The columns, which are cut, make it a task of all ranks where x is not.
            reads_entries: is_passed || reads.iter().flatten().any(|&reads| reads),
            ends: parts[1..].iter().map(|end| end - cols.start).collect(),
            bytes: pass.bytes(),
            own: pass,
            others,
            is_passed,
            isa: config.isa,
        })
    }

    /// Issues the product with `x`, of the matrix with these columns and values.
    ///
    /// # Errors
    ///
    /// If the stores are those of another runtime.
    pub(crate) fn issue(
        self: &Arc<Self>,
        x: &Vector<T>,
        (crd, vals): (&StoreHandle, &StoreHandle),
        y: &StoreHandle,
    ) -> Result<(), Error> {
        let (read, write) = (Privilege::Read, Privilege::Write);
        let mut declared = vec![(read, self.access, T::DTYPE)];
        let mut stores = vec![x.store()];
        if self.reads_entries {
            declared.push((read, Access::Held, DType::U32));
            declared.push((read, Access::Held, T::DTYPE));
            stores.extend([crd, vals]);
        }
        declared.push((write, Access::Rows, T::DTYPE));
        stores.push(y);
        let product = Arc::clone(self);
        let task = HostTask {
            launch: Some(self.launch),
            bytes: self.bytes,
            ..HostTask::new(move |args| product.run(args))
        };
        let body = HostBody::new("rmatvec", &declared);
        y.runtime().submit_host(&body, &stores, task)
    }

    fn run(&self, args: &mut HostArgs<'_>) -> Result<(), Error> {
        let x = args.read_between::<T>(X, 1, self.cuts.as_deref())?;
        let (crd, vals) = match self.reads_entries {
            true => {
                // Elementwise work may have cut the values in another way.
                let vals = args.read_between::<T>(VALS, 1, args.cuts(CRD))?;
                (args.read::<u32>(CRD)?, vals)
            }
            false => (&[][..], Cow::Borrowed(&[][..])),
        };
        let fetched = match &self.others {
            Some(others) => others.ghosts.run(args, &x)?,
            None => Vec::new(),
        };
        let y = args.write::<T>(if self.reads_entries { VALS + 1 } else { X + 1 })?;
        let multiply = |y: &mut [T], is_new: bool| {
            args.in_parts_to(y, &self.ends, |part, y| {
                let own = |y| self.isa.run(self.own.part(part, (crd, &vals), &x, y));
                let Some(Others { before, behind, .. }) = &self.others else {
                    own((y, is_new));
                    return Ok(());
                };
                let (x_before, x_behind) = fetched.split_at(before.rows.as_rows().len());
                self.isa.run(before.part(part, x_before, (&mut *y, true)));
                own((&mut *y, false));
                self.isa.run(behind.part(part, x_behind, (y, false)));
                Ok(())
            })
        };
        match self.is_passed {
            true => args.in_turn(y, multiply),
            false => multiply(y, true),
        }
    }
}

/// The entries that take as long as what else a column costs: its element of the product comes from
/// memory, unless there are many entries in the column.
const COLUMN_WEIGHT: u64 = 4;

/// Cuts of the columns into one part for each thread, with about as much work.
fn parts(crd: &[u32], cols: &Range<usize>, threads: usize) -> Result<Vec<usize>, Error> {
    let mut parts = vec![cols.start];
    if threads > 1 {
        let mut counts: Vec<u32> = try_collect(cols.clone().map(|_| 0))?;
        for &col in crd {
            if let Some(count) = counts.get_mut((col as usize).wrapping_sub(cols.start)) {
                *count = count.saturating_add(1);
            }
        }
        let weight = |&count: &u32| COLUMN_WEIGHT + u64::from(count);
        let all: u64 = counts.iter().map(weight).sum();
        let mut sum = 0;
        for (col, count) in cols.clone().zip(&counts) {
            if parts.len() < threads && sum * threads as u64 >= all * parts.len() as u64 && sum > 0
            {
                parts.push(col);
            }
            sum += weight(count);
        }
    }
    parts.push(cols.end);
    Ok(parts)
}

/// What the other ranks have in the columns of this one, which threads divide so. Every rank must
/// ask.
fn others<T: Numeric>(
    runtime: &Runtime,
    shape: (usize, usize),
    own: &OwnRows<T>,
    (launch, parts): (Partition, &[usize]),
) -> Result<Others<T>, Error> {
    let (rows, own, partition) = (own.as_rows(), own.rows(), own.partition());
    let cols = parts[0]..parts[parts.len() - 1];
    let entries = runtime.agree(entries_outside(shape, own.start, rows, &cols))?;
    let entries = Owners::of_partition(runtime, launch).send(runtime, entries)?;
    // Those of the first rank are the first ones, and each rank sends its own row by row.
    let found = || {
        let mut needed: Vec<u32> = reserve(entries.len())?;
        let mut both = [(); 2].map(|()| LocalRows::<T>::with_capacity(0, 0));
        for (col, row, value) in entries.iter() {
            let rows = &mut both[usize::from(row as usize >= own.end)];
            if needed.last() != Some(&row) {
                needed.push(row);
                rows.end_row();
            }
            rows.try_reserve(1)?;
            rows.push(col, value);
            if let Some(end) = rows.pos.last_mut() {
                *end = rows.crd.len() as u64;
            }
        }
        let [before, behind] = both;
        let (before, behind) = (Fetched::new(before, parts)?, Fetched::new(behind, parts)?);
        Ok((needed, before, behind))
    };
    let (needed, before, behind) = runtime.agree(found())?;
    Ok(Others {
        ghosts: Ghosts::new(runtime, partition, needed)?.exchange(),
        before,
        behind,
    })
}

/// Entries in columns of other ranks, as entries of the transpose, row by row of the matrix.
fn entries_outside<T: Numeric>(
    (n_rows, n_cols): (usize, usize),
    first: usize,
    rows: Rows<'_, T>,
    cols: &Range<usize>,
) -> Result<Triplets<T>, Error> {
    let is_outside = |col: u32| !cols.contains(&(col as usize));
    let len = rows.crd.iter().filter(|&&col| is_outside(col)).count();
    let (mut row_of, mut columns, mut vals) = (reserve(len)?, reserve(len)?, reserve(len)?);
    for number in 0..rows.len() {
        for (col, value) in rows.row(number).filter(|&(col, _)| is_outside(col)) {
            row_of.push((first + number) as u32);
            columns.push(col);
            vals.push(value);
        }
    }
    Ok(Triplets::from_checked_parts(
        n_cols, n_rows, columns, row_of, vals,
    ))
}
