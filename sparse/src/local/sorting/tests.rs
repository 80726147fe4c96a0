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
        let found = nearby::find(&threads, &triplets, 0..n);
        assert_eq!(found.is_some(), is_near);
    }
}
