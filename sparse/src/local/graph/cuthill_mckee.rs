//! The reverse order of Cuthill and McKee: a breadth-first order that brings entries near the
//! diagonal.

use super::Edges;
use sparsefuse_runtime::{Error, reserve, try_collect};
use std::iter::repeat_n;

/// The order in which the nodes come, of a graph whose edges are there in both directions: from a
/// node of the lowest degree of each component, the neighbours of each node by their degrees
/// (Cuthill and McKee, Reducing the bandwidth of sparse symmetric matrices, 1969), and all in
/// reverse (George, Computer implementation of the finite element method, 1971). `O(m log d)` for
/// `m` edges and degrees up to `d`.
pub(crate) fn reverse(edges: Edges<'_>) -> Result<Vec<u32>, Error> {
    let n = edges.n_nodes();
    let degree = |node: u32| edges.of(node).len();
    let mut starts: Vec<u32> = try_collect(0..n as u32)?;
    starts.sort_by_key(|&node| degree(node));
    let mut is_found = try_collect(repeat_n(false, n))?;
    let mut order: Vec<u32> = reserve(n)?;
    let mut next = 0;
    for start in starts {
        if is_found[start as usize] {
            continue;
        }
        is_found[start as usize] = true;
        order.push(start);
        while let Some(&node) = order.get(next) {
            next += 1;
            let first = order.len();
            for &other in edges.of(node) {
                if !is_found[other as usize] {
                    is_found[other as usize] = true;
                    order.push(other);
                }
            }
            order[first..].sort_by_key(|&node| degree(node));
        }
    }
    order.reverse();
    Ok(order)
}
