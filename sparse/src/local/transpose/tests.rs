//! Both ways to transpose, on the same matrices.

use super::dealt::Dealt;
use super::direct::Direct;
use super::{Transposition, Turn};
use crate::local::parallel::Threads;
use crate::local::rows::LocalRows;
use proptest::prelude::{Just, ProptestConfig, Strategy, proptest};
use std::collections::BTreeSet;

/// Shape and places of entries; of some matrices a structure that is symmetric, or would be but for
/// the last entry.
fn places() -> impl Strategy<Value = (usize, usize, Vec<(u32, u32)>)> {
    let shapes = (1usize..40, 1usize..40);
    shapes.prop_flat_map(|(n_rows, n_cols)| {
        let places = proptest::collection::vec((0..n_rows as u32, 0..n_cols as u32), 0..200);
        (Just(n_rows), Just(n_cols), places, 0..3).prop_map(|(n_rows, n_cols, places, kind)| {
            let n = n_rows.max(n_cols);
            let mirrored = places.iter().map(|&(row, col)| (col, row));
            match kind {
                0 => (n_rows, n_cols, places),
                1 => (n, n, mirrored.chain(places.iter().copied()).collect()),
                _ => {
                    let last = (n as u32 - 1, places.len() as u32 % n as u32);
                    (
                        n,
                        n,
                        mirrored
                            .chain(places.iter().copied())
                            .chain([last])
                            .collect(),
                    )
                }
            }
        })
    })
}

/// The rows with entries at these places, each with a value of its own.
fn rows(n_rows: usize, places: &BTreeSet<(u32, u32)>) -> LocalRows<f64> {
    let mut rows = LocalRows::with_capacity(n_rows, places.len());
    for row in 0..n_rows as u32 {
        for &(_, col) in places.range((row, 0)..=(row, u32::MAX)) {
            rows.push(col, f64::from(row) + f64::from(col) / 64.0);
        }
        rows.end_row();
    }
    rows
}

fn check((n_rows, n_cols, places): &(usize, usize, Vec<(u32, u32)>)) {
    let places: BTreeSet<_> = places.iter().copied().collect();
    let rows = rows(*n_rows, &places);
    let turned: BTreeSet<_> = places.iter().map(|&(row, col)| (col, row)).collect();
    let entry = |(col, row): (u32, u32)| (col, row, -f64::from(row) - f64::from(col) / 64.0);
    let expected: Vec<_> = turned.into_iter().map(entry).collect();
    for threads in [1, 3].map(Threads::new) {
        let turn = Turn {
            rows: rows.as_rows(),
            n_cols: *n_cols,
            wanted: 0..*n_cols,
        };
        let direct = [1, 4]
            .map(|n_targets| Transposition::Direct(Direct::new(&threads, turn.clone(), n_targets)));
        let dealt = Transposition::Dealt(Dealt::new(&threads, turn).unwrap());
        for mut transposition in direct.into_iter().chain([dealt]) {
            assert_eq!(transposed(&threads, &mut transposition, *n_cols), expected);
        }
    }
}

/// The entries of the new rows, with the other sign.
fn transposed(
    threads: &Threads,
    transposition: &mut Transposition<'_, f64>,
    n_cols: usize,
) -> Vec<(u32, u32, f64)> {
    let mut pos = vec![0; n_cols + 1];
    let len = transposition.count(threads, &mut pos);
    let (mut crd, mut vals) = (vec![0; len], vec![0.0; len]);
    let to = (&mut crd[..], &mut vals[..]);
    transposition
        .fill(threads, &mut pos, to, |value| -value)
        .unwrap();
    let made = LocalRows { pos, crd, vals };
    made.into_triplets(usize::try_from(u32::MAX).unwrap())
        .unwrap()
        .iter()
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn both_ways_transpose(places in places()) {
        check(&places);
    }
}

#[test]
fn a_structure_that_only_seems_symmetric() {
    // No entries in the rows that are looked at, but many in one column elsewhere.
    for column in [0, 999] {
        let places = (0..300).map(|k| (3 * k + 1, column));
        let mut places: Vec<_> = places
            .filter(|(row, _)| (1..=744).contains(&(row * 256 % 1000)))
            .collect();
        places.push((17, 18));
        check(&(1000, 1000, places));
    }
}
