//! Which loops run on rows that need no halo, before that is there.

use super::Planner;
use crate::analysis::compose::{Domain, Source};
use crate::analysis::schedule::Halves;
use crate::geometry::partition::Pieces;
use crate::geometry::partition::needs::Needs;
use crate::geometry::region::Region;
use crate::geometry::view::View;
use sparsefuse_kernels::blocks::Program;
use sparsefuse_kernels::{Inst, Kernel, Loop};
use std::ops::Range;

/// How many rows at either end are looked at to find those that need no halo; where more need one,
/// none is run before it is there.
const WIDEST_HALO: usize = 1 << 12;

impl Planner<'_> {
    /// How the first loops of a kernel run apart on rows that need no halo, and on the others. A
    /// trimmed loop has none of these domains.
    pub(super) fn halves(
        &self,
        (kernel, program): (&Kernel, &Program),
        (args, domains): (&[Source], &[Domain]),
        needs: &[(u32, Needs)],
    ) -> Option<Halves> {
        let is_trimmed = |loop_: &&Loop| {
            domains.get(loop_.domain as usize).is_none() && self.needs_no_halo(loop_, args, needs)
        };
        let before = kernel.loops.iter().take_while(is_trimmed).count();
        let loops = &kernel.loops[before..];
        let n_loops = apart(loops, kernel).min(program.divisible(before) - before);
        let loops = &loops[..n_loops];
        let Domain {
            shape: domain,
            pieces,
        } = *domains.get(loops.first()?.domain as usize)?;
        let rows = self.rows(domain, pieces);
        let mut views: Vec<(View, Region)> = Vec::new();
        for inst in loops.iter().flat_map(|loop_| &loop_.body) {
            inst.for_each_arg(|arg| {
                let source = &args[arg as usize];
                if needs.iter().any(|(slot, _)| *slot == source.slot) {
                    views.push((self.view(source), self.held(source.slot)));
                }
            });
        }
        let is_own = |rows: &Range<usize>| {
            let mut views = views.iter();
            views.all(|(view, held)| held.contains(&view.region(rows)))
        };
        let mut from_begin = rows.clone().take(WIDEST_HALO);
        let first = from_begin.find(|&row| is_own(&(row..row + 1)))?;
        let mut from_end = (first..rows.end).rev().take(WIDEST_HALO);
        let end = 1 + from_end.find(|&row| is_own(&(row..row + 1)))?;
        if !is_own(&(first..end)) {
            return None;
        }
        let (tiles, row_len) = (self.cuts.tiles(domain), domain.row_len());
        // Where nothing is reduced, the first row may stand within a tile.
        let offset = tiles.offset((rows.start * row_len) as u64) as usize;
        let element = |row: usize| (row - rows.start) * row_len + offset;
        // Tiles whose first row needs no halo, up to the one that has the last such row and more.
        let first_tile = tiles.count(element(first)) as u64;
        let end_tile = match end == rows.end {
            true => tiles.count(element(end)) as u64,
            false => tiles.number(element(end)) as u64,
        };
        let n_tiles = tiles.count(element(rows.end)) as u64;
        let interior = first_tile..end_tile;
        let boundary = [0..first_tile, end_tile..n_tiles];
        let boundary = boundary.into_iter().filter(|tiles| !tiles.is_empty());
        (!interior.is_empty()).then(|| Halves {
            loops: before..before + n_loops,
            interior: vec![interior],
            boundary: boundary.collect(),
        })
    }

    /// Whether a loop reaches rows that this rank holds, row by row, of stores of which the rank
    /// needs others.
    fn needs_no_halo(&self, loop_: &Loop, args: &[Source], needs: &[(u32, Needs)]) -> bool {
        let mut is_own = true;
        for inst in &loop_.body {
            inst.for_each_arg(|arg| {
                let source = &args[arg as usize];
                let is_needed = needs.iter().any(|(slot, _)| *slot == source.slot);
                let launch = Pieces::of(self.partition(source.slot));
                is_own &= !is_needed || source.view.is_none() && source.pieces == launch;
            });
        }
        is_own
    }
}

/// How many of some neighbouring loops of a kernel, from the first one on, reach no memory that
/// another of them writes, but row by row, and write no scalar that one before reads: so these may
/// run on some rows first and then on the others.
fn apart(loops: &[Loop], kernel: &Kernel) -> usize {
    let memory = |arg: u32| kernel.args[arg as usize].memory;
    let meets = |one: u32, other: u32| one != other && memory(one) == memory(other);
    let meet = |ones: &[u32], others: &[u32]| {
        let mut ones = ones.iter();
        ones.any(|&one| others.iter().any(|&other| meets(one, other)))
    };
    let (mut used, mut written): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    let is_apart = |loop_: &&Loop| {
        let (mut uses, mut writes) = (Vec::new(), Vec::new());
        let mut is_apart = true;
        for inst in &loop_.body {
            inst.for_each_arg(|arg| uses.push(arg));
            match *inst {
                Inst::Store(arg, _) => writes.push(arg),
                Inst::StoreScalar(arg, _) => {
                    writes.push(arg);
                    is_apart &= !used.contains(&arg);
                }
                _ => {}
            }
        }
        is_apart &= !meet(&uses, &written) && !meet(&writes, &used);
        used.append(&mut uses);
        written.append(&mut writes);
        is_apart
    };
    loops.iter().take_while(is_apart).count()
}
