//! The minimum spanning forest: Kruskal (On the shortest spanning subtree of a graph and the
//! traveling salesman problem, 1956), with sets that are joined by their smallest nodes.

use super::Edges;
use super::components::first_of;
use sparsefuse_runtime::{Error, try_collect};
use std::cmp::Ordering;
use std::iter::repeat_n;

/// For each edge whether it is one of the forest, where all lead both ways. Of equal lengths the
/// edge that is stored first is taken first. `O(m log m)` for `m` edges.
pub(crate) fn kept<T: PartialOrd>(edges: Edges<'_>, lengths: &[T]) -> Result<Vec<bool>, Error> {
    let n = edges.n_nodes();
    let mut before: Vec<u32> = try_collect(0..n as u32)?;
    let mut kept = try_collect(repeat_n(false, lengths.len()))?;
    let mut ascending: Vec<usize> = try_collect(0..lengths.len())?;
    ascending.sort_unstable_by(|&a, &b| {
        let by_length = lengths[a].partial_cmp(&lengths[b]);
        by_length.unwrap_or(Ordering::Equal).then(a.cmp(&b))
    });
    let mut row_of: Vec<u32> = try_collect(repeat_n(0, lengths.len()))?;
    for (row, ends) in edges.pos.windows(2).enumerate() {
        row_of[ends[0] as usize..ends[1] as usize].fill(row as u32);
    }
    let mut missing = n.saturating_sub(1);
    for edge in ascending {
        if missing == 0 {
            break;
        }
        let a = first_of(&mut before, row_of[edge]);
        let b = first_of(&mut before, edges.crd[edge]);
        if a != b {
            before[a.max(b) as usize] = a.min(b);
            kept[edge] = true;
            missing -= 1;
        }
    }
    Ok(kept)
}
