//! Rows that depend on none of each other.

use super::Triangle;
use crate::local::rows::LocalRows;
use sparsefuse_runtime::{Error, try_collect};
use std::iter::repeat_n;
use std::ops::Range;

/// The rows of this rank by levels.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    /// The row at each place.
    pub(super) order: Vec<u32>,
    /// The places of each level.
    pub(super) bounds: Vec<Range<usize>>,
}

impl Levels {
    /// The levels of rows of which each names those that it needs, a stable counting sort; `None`
    /// where there are more than `most`.
    pub(super) fn of<T>(
        own: &LocalRows<T>,
        triangle: Triangle,
        most: usize,
    ) -> Result<Option<Self>, Error> {
        let n_rows = own.pos.len() - 1;
        if most == 0 {
            return Ok(None);
        }
        let mut level_of = try_collect(repeat_n(0u32, n_rows))?;
        let mut counts: Vec<usize> = Vec::new();
        let mut visit = |row: usize| {
            let columns = &own.crd[own.pos[row] as usize..own.pos[row + 1] as usize];
            let needed = columns.iter().map(|&column| level_of[column as usize] + 1);
            let level = needed.max().unwrap_or(0);
            level_of[row] = level;
            if counts.len() <= level as usize {
                counts.push(0);
            }
            counts[level as usize] += 1;
            counts.len() <= most
        };
        let are_few = match triangle {
            Triangle::Lower => (0..n_rows).all(&mut visit),
            Triangle::Upper => (0..n_rows).rev().all(&mut visit),
        };
        if !are_few {
            return Ok(None);
        }
        let mut end = 0;
        let bounds: Vec<Range<usize>> = counts
            .iter()
            .map(|count| {
                end += count;
                end - count..end
            })
            .collect();
        let mut next: Vec<usize> = bounds.iter().map(|places| places.start).collect();
        let mut order = try_collect(repeat_n(0u32, n_rows))?;
        for (row, &level) in level_of.iter().enumerate() {
            order[next[level as usize]] = row as u32;
            next[level as usize] += 1;
        }
        Ok(Some(Self { order, bounds }))
    }
}
