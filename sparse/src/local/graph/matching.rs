//! Matchings of rows with columns, each with one at most, at entries of a matrix: as many as there
//! can be, by Hopcroft and Karp (An n^5/2 algorithm for maximum matchings in bipartite graphs,
//! 1973), and one of all rows with the least sum of values, by shortest augmenting paths (Jonker
//! and Volgenant, A shortest augmenting path algorithm for dense and sparse linear assignment
//! problems, 1987).

use super::dijkstra::Lengths;
use super::{Edges, NONE};
use sparsefuse_runtime::{Error, try_collect};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::repeat_n;

/// The column of each row in a matching of as many rows as there can be, or [`NONE`]. `O(m √n)` for
/// `m` entries and `n` rows.
pub(crate) fn largest(edges: Edges<'_>, n_cols: usize) -> Result<Vec<u32>, Error> {
    let n_rows = edges.n_nodes();
    let mut column_of: Vec<u32> = try_collect(repeat_n(NONE, n_rows))?;
    let mut row_of: Vec<u32> = try_collect(repeat_n(NONE, n_cols))?;
    let mut levels: Vec<u32> = try_collect(repeat_n(NONE, n_rows))?;
    let mut queue: Vec<u32> = try_collect(repeat_n(0, n_rows))?;
    let mut next: Vec<usize> = try_collect(repeat_n(0, n_rows))?;
    let mut path: Vec<u32> = Vec::new();
    while let Some(last) = find_levels(edges, (&column_of, &row_of), &mut levels, &mut queue) {
        next.fill(0);
        for start in 0..n_rows as u32 {
            if column_of[start as usize] != NONE {
                continue;
            }
            // A path of rows, each by way of the column of the next one, to a free column.
            path.clear();
            path.push(start);
            while let Some(&row) = path.last() {
                let number = &mut next[row as usize];
                let Some(&column) = edges.of(row).get(*number) else {
                    path.pop();
                    continue;
                };
                *number += 1;
                let other = row_of[column as usize];
                if other == NONE {
                    for &row in path.iter().rev() {
                        let column = edges.of(row)[next[row as usize] - 1];
                        row_of[column as usize] = row;
                        column_of[row as usize] = column;
                    }
                    break;
                }
                let level = levels[other as usize];
                if level == levels[row as usize] + 1 && level <= last {
                    path.push(other);
                }
            }
        }
    }
    Ok(column_of)
}

/// For each row by how many matched columns a free row reaches it; of the first row from which
/// there is an entry in a free column, that number.
fn find_levels(
    edges: Edges<'_>,
    (column_of, row_of): (&[u32], &[u32]),
    levels: &mut [u32],
    queue: &mut [u32],
) -> Option<u32> {
    let (mut first, mut end) = (0, 0);
    for row in 0..edges.n_nodes() {
        let is_free = column_of[row] == NONE;
        levels[row] = if is_free { 0 } else { NONE };
        if is_free {
            queue[end] = row as u32;
            end += 1;
        }
    }
    while first < end {
        let row = queue[first];
        first += 1;
        for &column in edges.of(row) {
            let other = row_of[column as usize];
            if other == NONE {
                return Some(levels[row as usize]);
            }
            if levels[other as usize] == NONE {
                levels[other as usize] = levels[row as usize] + 1;
                queue[end] = other;
                end += 1;
            }
        }
    }
    None
}

/// The column of each row in a matching of all rows whose values, which are finite, have the least
/// sum; none where there is no matching of all rows. `O(n m log m)` for `n` rows and `m` entries.
pub(crate) fn cheapest(entries: Lengths<'_>, n_cols: usize) -> Result<Option<Vec<u32>>, Error> {
    let n_rows = entries.edges.n_nodes();
    let mut search = Search {
        entries,
        of_rows: try_collect(repeat_n(0.0, n_rows))?,
        of_columns: try_collect(repeat_n(0.0, n_cols))?,
        column_of: try_collect(repeat_n(NONE, n_rows))?,
        row_of: try_collect(repeat_n(NONE, n_cols))?,
        distances: try_collect(repeat_n(f64::INFINITY, n_cols))?,
        before: try_collect(repeat_n(NONE, n_cols))?,
        reached: Vec::new(),
        settled: Vec::new(),
        heap: BinaryHeap::new(),
    };
    for row in 0..n_rows as u32 {
        let values = entries.of(row).map(|(_, value)| value);
        search.of_rows[row as usize] = values.fold(f64::INFINITY, f64::min);
    }
    for row in 0..n_rows as u32 {
        if !search.match_row(row) {
            return Ok(None);
        }
    }
    Ok(Some(search.column_of))
}

/// A matching of some rows, and prices of rows and columns with whose sum subtracted no value is
/// negative, and those of the matching are 0.
struct Search<'a> {
    entries: Lengths<'a>,
    of_rows: Vec<f64>,
    of_columns: Vec<f64>,
    column_of: Vec<u32>,
    row_of: Vec<u32>,
    /// Of the path to each column from the row that is to be matched.
    distances: Vec<f64>,
    /// The row before each column on that path.
    before: Vec<u32>,
    /// The columns to which there is a path, and of those the nearest.
    reached: Vec<u32>,
    settled: Vec<u32>,
    /// Of columns at the same distance a free one is the nearest: with it the search ends.
    heap: BinaryHeap<Reverse<(u64, bool, u32)>>,
}

impl Search<'_> {
    /// Matches one row more, along the shortest path to a column that is free.
    fn match_row(&mut self, start: u32) -> bool {
        for column in self.reached.drain(..) {
            self.distances[column as usize] = f64::INFINITY;
        }
        self.settled.clear();
        self.heap.clear();
        let (mut row, mut distance) = (start, 0.0);
        let free = loop {
            self.relax(row, distance);
            let Some(column) = self.nearest() else {
                return false;
            };
            distance = self.distances[column as usize];
            row = self.row_of[column as usize];
            if row == NONE {
                break column;
            }
            self.settled.push(column);
        };
        self.of_rows[start as usize] += distance;
        for &column in &self.settled {
            let shorter = distance - self.distances[column as usize];
            self.of_columns[column as usize] -= shorter;
            self.of_rows[self.row_of[column as usize] as usize] += shorter;
        }
        let mut column = free;
        while column != NONE {
            let row = self.before[column as usize];
            self.row_of[column as usize] = row;
            let other = &mut self.column_of[row as usize];
            (*other, column) = (column, *other);
        }
        true
    }

    /// The paths that go on from a row at this distance.
    fn relax(&mut self, row: u32, distance: f64) {
        let price = self.of_rows[row as usize];
        for (column, value) in self.entries.of(row) {
            let column_price = self.of_columns[column as usize];
            // Rounding may make less than 0 of it.
            let longer = distance + (value - price - column_price).max(0.0);
            if longer < self.distances[column as usize] {
                if self.distances[column as usize] == f64::INFINITY {
                    self.reached.push(column);
                }
                self.distances[column as usize] = longer;
                self.before[column as usize] = row;
                // Floats that are not negative are ordered as their bits.
                let is_matched = self.row_of[column as usize] != NONE;
                self.heap
                    .push(Reverse((longer.to_bits(), is_matched, column)));
            }
        }
    }

    /// The nearest column that is not settled.
    fn nearest(&mut self) -> Option<u32> {
        loop {
            let Reverse((bits, _, column)) = self.heap.pop()?;
            // An entry from before a shorter path was found is passed over, and so is a column
            // that is settled: its matched row finds no shorter path to it.
            if f64::from_bits(bits) == self.distances[column as usize] {
                return Some(column);
            }
        }
    }
}
