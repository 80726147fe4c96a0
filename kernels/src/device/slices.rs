//! Rows of sparse matrices as threads of a device read them.
//!
//! Where each thread sums a row, neighbouring threads read entries that lie far from each other if the
//! entries of a row lie side by side. So 32 rows, a *slice*, lie side by side instead: first the first entry of
//! each row, then the second of each, as in the sliced ELLPACK format of Monakov, Lokhmotov and
//! Avetisyan, "Automatically tuning sparse matrix-vector multiplication for GPU architectures" (2010).
//! The order within a row stays, and with it every bit of the sum.
//!
//! A slice whose rows differ so much in length that a quarter of it would be padding stays as it is.

/// The rows of a slice: the threads that read memory together.
const ROWS: usize = 32;

/// What stands in [`Slices::order`] in place of an entry that is none.
const PADDING: u32 = u32::MAX;

/// The entries of some rows in the order of slices.
#[derive(Debug)]
pub struct Slices {
    /// For each row where its first entry lies, in the lower half, how many entries it has, from bit
    /// 32 on, and in the highest bit whether the next ones are 32 places apart.
    pub rows: Vec<u64>,
    /// The column of each entry.
    pub columns: Vec<u32>,
    /// The number of each entry in the rows as they were, or of none.
    pub order: Vec<u32>,
}

impl Slices {
    /// The slices of rows: `pos` and `crd` are those of [`Structure`](crate::Structure). `None` of more
    /// than 2^32 entries.
    #[must_use]
    pub fn of(pos: &[u64], crd: &[u32]) -> Option<Self> {
        let first = pos.first().copied()?;
        let n_rows = pos.len() - 1;
        let mut slices = Self {
            rows: Vec::with_capacity(n_rows),
            columns: Vec::with_capacity(crd.len() + crd.len() / 8),
            order: Vec::with_capacity(crd.len() + crd.len() / 8),
        };
        for start in (0..n_rows).step_by(ROWS) {
            let rows = start..n_rows.min(start + ROWS);
            let entries = |row: usize| (pos[row] - first) as usize..(pos[row + 1] - first) as usize;
            let longest = rows.clone().map(|row| entries(row).len()).max()?;
            let all = entries(rows.start).start..entries(rows.end - 1).end;
            let padded = longest * ROWS;
            if slices.columns.len() + padded.max(all.len()) >= PADDING as usize {
                return None;
            }
            let base = slices.columns.len();
            if padded * 3 > all.len() * 4 {
                for row in rows {
                    let own = entries(row);
                    let place = base + own.start - all.start;
                    slices.rows.push(place as u64 | (own.len() as u64) << 32);
                }
                slices.columns.extend_from_slice(&crd[all.clone()]);
                slices.order.extend(all.map(|entry| entry as u32));
                continue;
            }
            slices.columns.resize(base + padded, 0);
            slices.order.resize(base + padded, PADDING);
            for (lane, row) in rows.enumerate() {
                let own = entries(row);
                let word = (base + lane) as u64 | (own.len() as u64) << 32 | 1 << 63;
                slices.rows.push(word);
                for (k, entry) in own.enumerate() {
                    slices.columns[base + k * ROWS + lane] = crd[entry];
                    slices.order[base + k * ROWS + lane] = entry as u32;
                }
            }
        }
        Some(slices)
    }
}

/// The kernel that brings entries of `type_` into the order of slices. Arguments: the entries, the order,
/// where they go, how many places there are.
pub(super) fn reordering(type_: &str) -> String {
    format!(
        "#define WORDS 4\nKERNEL\nPHASE\n    \
         const u64 place = BLOCK * THREADS + THREAD;\n    \
         if (place < ARG(3)) {{\n        \
         const u32 entry = ((const u32 *)ARG(1))[place];\n        \
         (({type_} *)ARG(2))[place] = entry == {PADDING}u ? ({type_})ZERO_{type_} : ((const {type_} *)ARG(0))[entry];\n    \
         }}\nEND_PHASE\nEND_KERNEL\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_have_the_entries_of_the_rows_in_their_order() {
        for (n, of_row) in [(1, 3), (32, 4), (33, 5), (200, 7), (64, 0)] {
            for far in [0, 100] {
                let mut pos = vec![5u64];
                let mut crd = Vec::new();
                for row in 0..n {
                    let len = if far > 0 && row % 50 == 7 {
                        far
                    } else {
                        of_row - row % 2 * (of_row / 4)
                    };
                    crd.extend((0..len).map(|k| (row * 1000 + k) as u32));
                    pos.push(5 + crd.len() as u64);
                }
                let slices = Slices::of(&pos, &crd).unwrap();
                assert_eq!(slices.rows.len(), n);
                for (row, word) in slices.rows.iter().enumerate() {
                    let step = if word >> 63 == 1 { 32 } else { 1 };
                    let len = (word >> 32 & 0x7fff_ffff) as usize;
                    let place = |k: usize| *word as u32 as usize + k * step;
                    let found: Vec<u32> = (0..len).map(|k| slices.columns[place(k)]).collect();
                    let own = (pos[row] - 5) as usize..(pos[row + 1] - 5) as usize;
                    assert_eq!(found, crd[own.clone()]);
                    let order: Vec<u32> = (0..len).map(|k| slices.order[place(k)]).collect();
                    assert_eq!(order, own.map(|entry| entry as u32).collect::<Vec<_>>());
                }
                assert!(slices.columns.len() * 3 <= crd.len().max(1) * 4 + 3 * 32 * 8);
            }
        }
        assert!(Slices::of(&[0], &[]).unwrap().rows.is_empty());
    }
}
