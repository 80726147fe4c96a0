//! What a loop reads of sparse matrices: the sums of rows, and what single entries name.
#![expect(unsafe_code, reason = "follows the pointers of a launch")]

use super::row_sums::SumsBefore;
use super::uniform::misbound;
use super::worker::Run;
use crate::blocks::compile::{RowSums, Step};
use crate::blocks::loops::gathers::NamedRows;
use crate::blocks::loops::packed::PackedLoops;
use crate::blocks::loops::packed_rows::PackedRows;
use crate::blocks::loops::sparse_rows::SparseRows;
use crate::ir::ArgId;
use crate::launch::{Operand, Structure};

/// The entries of a matrix from which on it is taken to come from beyond the L2 cache.
const LARGE: usize = 150_000;

impl Run<'_> {
    /// Computes what thread `i` of `n` has of the row sums that are computed before the loop.
    ///
    /// # Safety
    /// As [`super::run_loop`]; what the matrices multiply has been written.
    pub(crate) unsafe fn sum_before(&self, before: &SumsBefore<'_>, i: usize, n: usize) {
        before.of_thread(self.program, (i, n), |sums, rows, out| {
            // SAFETY: the caller's promises; there is room for these sums, which no other thread
            // writes.
            unsafe { self.sum_rows(sums, rows.start, rows.len(), out) };
        });
    }

    /// The row sums that are step `number`, where they were computed before the loop.
    pub(crate) fn sums_before(&self, number: usize) -> Option<*const u8> {
        let before = self.before.as_ref()?;
        let is_product = |step: &&Step| matches!(step, Step::RowSum { .. });
        let products = self.program.steps[..number].iter().filter(is_product);
        Some(before.sums(self.program, products.count()).cast_const())
    }

    /// Writes the sums of rows of a sparse matrix to `out`.
    ///
    /// # Safety
    /// The caller promises the rows, and room for `n` sums.
    pub(crate) unsafe fn sum_rows(&self, sums: &RowSums, first: usize, n: usize, out: *mut u8) {
        let &RowSums {
            structure,
            entries,
            x,
            ..
        } = sums;
        // SAFETY: the caller's promises.
        unsafe {
            let packed = sums.packed.and_then(|loops| {
                let rows = self.packed_rows(loops, [entries, x], first, n);
                rows.map(|rows| (loops.run.get(self.isa), rows))
            });
            match packed {
                Some((packed, rows)) => packed(&rows, out),
                None => {
                    let rows = self.sparse_rows([structure, entries, x], first, n);
                    let run = if rows.width == 1 { sums.run } else { sums.wide };
                    run.get(self.isa)(&rows, out);
                }
            }
        }
    }

    /// The rows of a matrix in packed form; `None` if it is in plain form.
    unsafe fn packed_rows(
        &self,
        loops: PackedLoops,
        args: [ArgId; 2],
        first: usize,
        n: usize,
    ) -> Option<PackedRows<'_>> {
        let [entries, x] = args;
        let operand = |arg: ArgId| self.launch.operands[arg as usize];
        let (
            Operand::Packed(packed),
            Operand::Gather {
                own,
                own_len,
                ghosts,
                width: 1,
            },
        ) = (operand(entries), operand(x))
        else {
            return None;
        };
        // SAFETY: the caller promises what the operand points to.
        let (structure, values) = unsafe { (&*packed.structure, &*packed.values) };
        Some(PackedRows {
            structure,
            values,
            columns: packed.columns,
            data: packed.data,
            first,
            n,
            own,
            own_len,
            ghosts,
            windows: loops.windows.get(self.isa),
        })
    }

    pub(crate) fn named_rows(
        &self,
        [structure, x]: [ArgId; 2],
        first: usize,
        n: usize,
    ) -> NamedRows {
        let operand = |arg: ArgId| self.launch.operands[arg as usize];
        let Operand::Structure(Structure {
            pos, crd, singles, ..
        }) = operand(structure)
        else {
            misbound(structure, "structure")
        };
        let Operand::Gather {
            own,
            own_len,
            ghosts,
            width,
        } = operand(x)
        else {
            misbound(x, "gather")
        };
        NamedRows {
            first,
            n,
            width,
            pos,
            crd,
            singles,
            own,
            own_len,
            ghosts,
        }
    }

    unsafe fn sparse_rows(&self, args: [ArgId; 3], first: usize, n: usize) -> SparseRows {
        let [structure, entries, x] = args;
        let operand = |arg: ArgId| self.launch.operands[arg as usize];
        let Operand::Structure(Structure {
            pos,
            crd,
            entries: n_entries,
            ..
        }) = operand(structure)
        else {
            misbound(structure, "structure")
        };
        let Operand::Entries { data } = operand(entries) else {
            misbound(entries, "entries")
        };
        let Operand::Gather {
            own,
            own_len,
            ghosts,
            width,
        } = operand(x)
        else {
            misbound(x, "gather")
        };
        // SAFETY: the structure has `rows + 1` positions.
        let (base, pos) = unsafe { (*pos, pos.add(first / width)) };
        SparseRows {
            n,
            width,
            skip: first % width,
            pos,
            base,
            crd,
            entries: data,
            own,
            own_len,
            ghosts,
            is_large: n_entries > LARGE,
        }
    }
}
