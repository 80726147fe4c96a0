//! Groups and sections give the bits of rows one by one.

use super::*;

/// Rows with a diagonal of 4 and these columns besides, in any order and as often as may be.
fn rows_of(n: usize, columns: impl Fn(usize) -> Vec<usize>) -> LocalRows<f64> {
    let mut rows = LocalRows::with_capacity(n, 0);
    for row in 0..n {
        let mut columns = columns(row);
        columns.push(row);
        columns.sort_unstable();
        columns.dedup();
        for column in columns {
            let value = match column == row {
                true => 4.0,
                false => -1.0 / (1.5 + ((row + 3 * column) % 5) as f64),
            };
            rows.push(column as u32, value);
        }
        rows.end_row();
    }
    rows
}

/// The stencil of the nearest neighbours on a grid of these dimensions, the last one fastest.
fn grid(dims: &[usize]) -> LocalRows<f64> {
    rows_of(dims.iter().product(), |row| {
        let mut stride = 1;
        let mut columns = Vec::new();
        for &dim in dims.iter().rev() {
            let place = row / stride % dim;
            columns.extend((place > 0).then(|| row - stride));
            columns.extend((place + 1 < dim).then(|| row + stride));
            stride *= dim;
        }
        columns
    })
}

/// Numbers below `n` that look random.
fn scattered(n: usize, seed: usize, count: usize) -> impl Iterator<Item = usize> {
    let mix = move |k: usize| (seed * 31 + k).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
    (0..count).map(move |k| mix(mix(k)) % n)
}

/// Three unknowns at each point of a line, which are coupled with each other and with those of
/// neighbours: groups of three rows, and in the end some of another length.
fn nodes(n: usize) -> LocalRows<f64> {
    rows_of(n, |row| {
        let first = (row / 3).saturating_sub(11) * 3;
        (first..n.min((row / 3 + 12) * 3)).collect()
    })
}

/// Matrices of all sorts, with their names.
fn matrices() -> Vec<(&'static str, LocalRows<f64>)> {
    let random = |per_row| rows_of(900, move |row| scattered(900, row, per_row).collect());
    vec![
        ("nothing", rows_of(0, |_| Vec::new())),
        ("one row", rows_of(1, |_| Vec::new())),
        ("diagonal", rows_of(500, |_| Vec::new())),
        ("chain", grid(&[500])),
        ("lines", grid(&[30, 31])),
        ("planes", grid(&[9, 10, 11])),
        ("few a row", random(2)),
        ("many a row", random(30)),
        (
            "arrow",
            rows_of(400, |row| {
                if row == 399 {
                    (0..399).collect()
                } else {
                    vec![399]
                }
            }),
        ),
        (
            "arrow the other way",
            rows_of(400, |row| {
                if row == 0 {
                    (1..400).collect()
                } else {
                    vec![0]
                }
            }),
        ),
        (
            "some empty",
            rows_of(700, |row| match row % 3 {
                0 => scattered(700, row, 3).collect(),
                _ => Vec::new(),
            }),
        ),
        (
            "blocks",
            rows_of(600, |row| (row / 20 * 20..row / 20 * 20 + 20).collect()),
        ),
        (
            "two halves",
            rows_of(5000, |row| match row >= 2500 {
                true => vec![row * 7 % 2500],
                false => Vec::new(),
            }),
        ),
        ("nodes", nodes(452)),
    ]
}

fn triangle_of(rows: &LocalRows<f64>, triangle: Triangle) -> LocalTriangle<f64> {
    let own = (0..rows.pos.len() - 1, &[][..]);
    LocalTriangle::new(own, rows, (triangle, Diagonal::Stored)).unwrap()
}

fn right_hand_side(n: usize) -> Vec<f64> {
    (0..n).map(|row| (row as f64).sin()).collect()
}

fn solved(part: &LocalTriangle<f64>) -> Vec<f64> {
    let mut x = right_hand_side(part.n_rows());
    let alone = Workers::alone();
    part.solve(|| &alone, &[], &mut x);
    x
}

#[test]
fn sections_do_not_change_bits() {
    let workers = [1, 2, 3, 8].map(|threads| Workers::new(threads).unwrap());
    for (name, rows) in matrices() {
        for triangle in [Triangle::Lower, Triangle::Upper] {
            let part = triangle_of(&rows, triangle);
            let expected = solved(&part);
            let Parts { own, .. } = &part.parts;
            let groups = groups(own, triangle).unwrap();
            for groups in [&groups[..], &[]] {
                for cuts in [(1, 1), (40, 1), (40, 3), (300, 2), (40, 1000)] {
                    let plan = Plan::forced(own, triangle, groups, cuts);
                    for workers in &workers {
                        let mut x = right_hand_side(part.n_rows());
                        let how = (&plan, triangle, groups);
                        part.parts.sweep_sections(workers, how, &mut x);
                        let threads = workers.count();
                        assert!(
                            x == expected,
                            "{name} {triangle:?} {cuts:?} {threads} threads"
                        );
                    }
                }
            }
        }
    }
}

/// Terms are subtracted from the first column to the last, or backwards.
#[test]
fn one_row_after_the_other_is_the_definition() {
    for (name, rows) in matrices() {
        let (lower, upper) = (Triangle::Lower, Triangle::Upper);
        let n = rows.pos.len() - 1;
        let entries = |row: usize| {
            let entries = rows.pos[row] as usize..rows.pos[row + 1] as usize;
            entries.map(|k| (rows.crd[k] as usize, rows.vals[k]))
        };
        let subtract =
            |x: &[f64], rest: f64, (column, value): (usize, f64)| rest - value * x[column];
        let mut x = right_hand_side(n);
        for row in 0..n {
            let earlier = entries(row).filter(|&(column, _)| column < row);
            x[row] = earlier.fold(x[row], |rest, entry| subtract(&x, rest, entry)) * 0.25;
        }
        assert!(x == solved(&triangle_of(&rows, lower)), "{name}");
        let mut x = right_hand_side(n);
        for row in (0..n).rev() {
            let later = entries(row).rev().filter(|&(column, _)| column > row);
            x[row] = later.fold(x[row], |rest, entry| subtract(&x, rest, entry)) * 0.25;
        }
        assert!(x == solved(&triangle_of(&rows, upper)), "{name}");
    }
}

#[test]
fn groups_are_rows_with_the_same_columns() {
    for triangle in [Triangle::Lower, Triangle::Upper] {
        let grouped = triangle_of(&nodes(452), triangle).for_threads(1).unwrap();
        assert!(grouped.groups.contains(&3), "{:?}", grouped.groups);
        let grid = triangle_of(&grid(&[10, 10]), triangle).for_threads(1);
        assert!(grid.unwrap().groups.is_empty());
    }
}

#[test]
fn threads_share_what_has_something_for_them() {
    let two_colors = rows_of(140_000, |row| match row < 70_000 {
        true => Vec::new(),
        false => scattered(70_000, row, 3).collect(),
    });
    for (name, rows, is_shared) in [
        ("a chain", grid(&[70_000]), false),
        ("a short grid", grid(&[50, 50]), false),
        ("lines", grid(&[300, 201]), true),
        ("long lines", grid(&[20, 3000]), true),
        ("planes", grid(&[41, 31, 37]), true),
        ("planes of whole steps", grid(&[40, 32, 32]), true),
        ("two colors", two_colors, true),
        ("the diagonal", rows_of(140_000, |_| Vec::new()), true),
        ("nodes", nodes(9000), false),
    ] {
        for triangle in [Triangle::Lower, Triangle::Upper] {
            for threads in [2, 3, 16] {
                let part = triangle_of(&rows, triangle).for_threads(threads).unwrap();
                let found = part.plan.is_some();
                assert_eq!(found, is_shared, "{name} {triangle:?} {threads} threads");
            }
            let alone = triangle_of(&rows, triangle).for_threads(1).unwrap();
            assert!(alone.plan.is_none());
        }
    }
}

#[test]
fn another_structure_has_no_plan() {
    let rows = |n: usize| {
        let mut below = LocalRows::with_capacity(n, n);
        for row in 0..n {
            (row % 200 > 0).then(|| below.push(row as u32 - 1, 0.5));
            (row >= 200).then(|| below.push(row as u32 - 200, 0.25));
            below.end_row();
        }
        below
    };
    let make = |rows| LocalTriangle::of_triangle((0..60_000, &[]), Triangle::Lower, rows, None);
    let part = make(rows(60_000)).unwrap().for_threads(2).unwrap();
    assert!(part.plan.is_some());
    let same = part.with_triangle(&[], rows(60_000), None).unwrap();
    assert!(same.plan.is_some());
    let mut other = rows(60_000);
    other.crd[10] = 0;
    assert!(part.with_triangle(&[], other, None).unwrap().plan.is_none());
    // A row that needs a later one is no triangle, and not for threads.
    let mut wrong = rows(60_000);
    wrong.crd[10] = 30_000;
    assert!(make(wrong).unwrap().for_threads(2).unwrap().plan.is_none());
}
