//! Both ways to transpose, on the same matrices.

use super::direct::Direct;
use super::*;
use crate::assemble::LocalRows;
use proptest::prelude::{Just, ProptestConfig, Strategy, proptest};
use sparsefuse_runtime::Config;
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
    for threads in [1, 3] {
        let config = Config {
            threads,
            ..Config::default()
        };
        let runtime = Runtime::new(config).unwrap();
        let own = runtime.default_rows(Shape::new(&[*n_cols]));
        let turn = Turn {
            rows: rows.as_rows(),
            n_cols: *n_cols,
            wanted: 0..*n_cols,
        };
        let found = |a: Csr<f64>| a.to_triplets().unwrap().iter().collect::<Vec<_>>();
        let dealt = turn.deal(&runtime, own.clone(), |value: f64| -value);
        assert_eq!(found(dealt.unwrap()), expected);
        for n_targets in [1, 4] {
            let direct = Direct::new(&runtime, turn.clone(), n_targets);
            let made = direct.matrix(&runtime, own.clone(), |value: f64| -value);
            assert_eq!(found(made.unwrap()), expected);
        }
    }
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
