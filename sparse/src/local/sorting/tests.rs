//! Both ways to sort, on the same triplets.

use super::*;
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_assert_eq, proptest};
use std::collections::BTreeMap;

type Entries = Vec<(u32, u32, f64)>;

/// Shape and entries: in any order, or nearly by rows; few columns make many duplicates.
fn entries() -> impl Strategy<Value = (usize, usize, Entries)> {
    let shapes = (1usize..60, 1usize..20);
    shapes.prop_flat_map(|(n_rows, n_cols)| {
        let entry = (0..n_rows as u32, 0..n_cols as u32, -1e3..1e3);
        let entries = proptest::collection::vec(entry, 0..3000);
        (Just(n_rows), Just(n_cols), entries, proptest::bool::ANY).prop_map(
            |(n_rows, n_cols, mut entries, is_near)| {
                if is_near {
                    entries.sort_by_key(|entry| entry.0 / 3);
                }
                (n_rows, n_cols, entries)
            },
        )
    })
}

/// Memory of its own.
fn buffers(len: usize) -> Result<Buffers<f64>, Error> {
    Ok((Box::new(vec![0; len]), Box::new(vec![0.0; len])))
}

/// What is made of the rows `own` by a way to sort.
fn sorted(
    threads: &Threads,
    own: &Range<usize>,
    sort: impl FnOnce(&mut [u64]) -> Result<Sorted<f64>, Error>,
) -> Entries {
    let mut pos = vec![0; own.len() + 1];
    let sorted = sort(&mut pos).unwrap();
    let len = pos[own.len()] as usize;
    let (mut crd, mut vals) = (vec![0; len], vec![0.0; len]);
    sorted.copy_out(threads, &pos, (&mut crd, &mut vals));
    let row_of = |k: usize| pos.partition_point(|&end| end as usize <= k) - 1;
    let entry = |k| ((own.start + row_of(k)) as u32, crd[k], vals[k]);
    (0..len).map(entry).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn both_ways_sort_and_sum((n_rows, n_cols, entries) in entries(), n_blocks in 1usize..9) {
        let mut triplets = Triplets::new(n_rows, n_cols).unwrap();
        let mut sums = BTreeMap::new();
        for &(row, col, value) in &entries {
            triplets.push(row as usize, col as usize, value).unwrap();
            sums.entry((row, col)).and_modify(|sum| *sum += value).or_insert(value);
        }
        for (threads, own) in [(1, 0..n_rows), (3, n_rows / 3..n_rows)] {
            let threads = Threads::new(threads);
            let isa = Isa::detect();
            let is_own = |row: u32| own.contains(&(row as usize));
            let expected: Entries = sums
                .iter()
                .filter(|(place, _)| is_own(place.0))
                .map(|(&(row, col), &sum)| (row, col, sum))
                .collect();
            let blocks = Blocks::about(own.len(), n_blocks);
            let spans = nearby::spans(&threads, &triplets, &own);
            let nearby = Nearby::new(triplets.len(), (own.clone(), blocks), &spans);
            let read = sorted(&threads, &own, |pos| {
                Sorted::from_nearby((&threads, isa), &triplets, &nearby, pos, buffers)
            });
            prop_assert_eq!(read, expected.clone());
            let dealt = sorted(&threads, &own, |pos| {
                Sorted::from_dealt((&threads, isa), &triplets, (own.clone(), blocks), pos, buffers)
            });
            prop_assert_eq!(dealt, expected);
        }
    }
}

/// The entries of some rows that are put to their places, if those of each row come in order.
fn placed(threads: &Threads, triplets: &Triplets<f64>, own: &Range<usize>) -> Option<Entries> {
    let mut pos = vec![0; own.len() + 1];
    let rows = SortedRows::new(
        (threads, Isa::detect()),
        triplets,
        own.clone(),
        &mut pos,
        buffers,
    );
    let SortedRows::Placed(placed) = rows.unwrap() else {
        return None;
    };
    let len = pos[own.len()] as usize;
    let (mut crd, mut vals) = (vec![0; len], vec![0.0; len]);
    let to = (&mut crd[..], &mut vals[..]);
    placed.place(threads, triplets, &pos, to).unwrap();
    let row_of = |k: usize| pos.partition_point(|&end| end as usize <= k) - 1;
    let entry = |k| ((own.start + row_of(k)) as u32, crd[k], vals[k]);
    Some((0..len).map(entry).collect())
}

/// By columns, and with each entry below the diagonal its mirror image: from small matrices to ones
/// of several blocks.
#[test]
fn entries_that_ascend_within_rows_are_put_to_their_places() {
    for n in [1usize, 2, 50, 3000, 200_000] {
        let near = |row: usize| [0, 1, 17, 900].map(|d| row.checked_sub(d));
        let stored = |row: usize| near(row).into_iter().flatten().map(move |col| (row, col));
        let mut by_columns = Triplets::new(n, n).unwrap();
        let mut mirrored = Triplets::new(n, n).unwrap();
        for (k, (row, col)) in (0..n).flat_map(stored).enumerate() {
            // The lower half of row `row` is the upper one of column `row`.
            by_columns.push(col, row, k as f64).unwrap();
        }
        let sorted_by_column = |row: usize| {
            let mut entries: Vec<_> = stored(row).collect();
            entries.sort_unstable();
            entries
        };
        for (row, col) in (0..n).flat_map(sorted_by_column) {
            mirrored.push(row, col, (row * 3 + col) as f64).unwrap();
            if row != col {
                mirrored.push(col, row, -1.5 * col as f64).unwrap();
            }
        }
        for triplets in [by_columns, mirrored] {
            for (threads, own) in [(1, 0..n), (3, n / 3..n), (2, 0..n / 2)] {
                let threads = Threads::new(threads);
                let is_own = |entry: &(u32, u32, f64)| own.contains(&(entry.0 as usize));
                let mut expected: Entries = triplets.iter().filter(is_own).collect();
                expected.sort_by_key(|entry| (entry.0, entry.1));
                let found = placed(&threads, &triplets, &own);
                assert!(found.is_some() || n < 3, "{n}");
                assert_eq!(found.unwrap_or_else(|| expected.clone()), expected);
                // One more at the place of the last, and one before it.
                let (row, col, val) = triplets.iter().last().unwrap();
                for col in [col, 0] {
                    let mut more = triplets.clone();
                    more.push(row as usize, col as usize, val).unwrap();
                    assert_eq!(placed(&threads, &more, &(0..n)), None, "{n}");
                }
            }
        }
    }
}

#[test]
fn which_triplets_are_read_where_they_are() {
    let threads = Threads::new(2);
    let n = 400_000;
    for (stride, is_near) in [(1, true), (7919, false)] {
        let mut triplets = Triplets::new(n, 1).unwrap();
        for k in 0..n {
            // Neighbours of neighbouring rows, but not in order.
            triplets.push((k ^ 1) * stride % n, 0, 1.0).unwrap();
        }
        let spans = nearby::spans(&threads, &triplets, &(0..n));
        let blocks = Blocks::new(n, triplets.len());
        let found = nearby::find(triplets.len(), (0..n, blocks), &spans);
        assert_eq!(found.is_some(), is_near);
    }
}
