//! Levels and groups give the bits of rows one by one.

use super::*;

/// The five-point stencil on a square of `n` points a side, and a right-hand side.
fn grid(n: usize) -> (LocalRows<f64>, Vec<f64>) {
    let mut rows = LocalRows::with_capacity(n * n, 5 * n * n);
    for row in 0..n * n {
        let (i, j) = (row / n, row % n);
        let neighbours = [
            (i > 0).then(|| row - n),
            (j > 0).then(|| row - 1),
            Some(row),
            (j + 1 < n).then(|| row + 1),
            (i + 1 < n).then(|| row + n),
        ];
        for column in neighbours.into_iter().flatten() {
            let value = if column == row { 4.0 } else { -1.0 };
            rows.push(column as u32, value);
        }
        rows.end_row();
    }
    let b = (0..n * n).map(|row| (row as f64).sin()).collect();
    (rows, b)
}

fn triangle_of(rows: &LocalRows<f64>, triangle: Triangle) -> LocalTriangle<f64> {
    let own = (0..rows.pos.len() - 1, &[][..]);
    LocalTriangle::new(own, rows, (triangle, Diagonal::Stored)).unwrap()
}

#[test]
fn levels_do_not_change_bits() {
    const N: usize = 70;
    let (mut rows, b) = grid(N);
    let one = Threads::new(1);
    let solved = |part: &LocalTriangle<f64>| {
        let mut x = b.clone();
        part.solve(&one, &[], &mut x);
        x
    };
    for triangle in [Triangle::Lower, Triangle::Upper] {
        let part = triangle_of(&rows, triangle);
        let plain = solved(&part);
        let levels = Levels::of(&part.parts.own, triangle, 2 * N)
            .unwrap()
            .unwrap();
        assert!(Levels::of(&part.parts.own, triangle, N).unwrap().is_none());
        assert_eq!(levels.bounds.len(), 2 * N - 1);
        let mut by_levels = part.by_levels(levels).unwrap();
        assert!(solved(&by_levels) == plain);
        assert_eq!(by_levels.rows(&[]).pos.len(), rows.pos.len());

        rows.vals.iter_mut().for_each(|value| *value *= 0.5);
        let values = by_levels.values_of(&[], &rows).unwrap();
        by_levels.set_values(values);
        rows.vals.iter_mut().for_each(|value| *value *= 2.0);
        assert!(
            solved(&by_levels)
                .iter()
                .zip(&plain)
                .all(|(x, y)| *x == 2.0 * y)
        );
    }
}

/// Three unknowns at each point of a line, which are coupled with each other and with those of
/// neighbours: groups of three rows, and in the end some of another length.
#[test]
fn groups_do_not_change_bits() {
    const N: usize = 152;
    let mut rows = LocalRows::with_capacity(N, 0);
    for row in 0..N {
        let point = row / 3;
        for column in (0..N).filter(|column| point.abs_diff(column / 3) < 12) {
            let value = if column == row {
                200.0
            } else {
                0.01 * (row + 2 * column) as f64
            };
            rows.push(column as u32, value);
        }
        rows.end_row();
    }
    let b: Vec<f64> = (0..N).map(|row| (row as f64).sin()).collect();
    let solved = |part: &LocalTriangle<f64>| {
        let mut x = b.clone();
        part.solve(&Threads::new(1), &[], &mut x);
        x
    };
    for triangle in [Triangle::Lower, Triangle::Upper] {
        let plain = triangle_of(&rows, triangle);
        let grouped = plain.clone().by_groups().unwrap();
        assert!(grouped.groups.contains(&3), "{:?}", grouped.groups);
        assert!(solved(&grouped) == solved(&plain));
    }
    let (rows, _) = grid(10);
    let grid = triangle_of(&rows, Triangle::Lower).by_groups().unwrap();
    assert!(grid.groups.is_empty());
}

#[test]
fn threads_share_wide_levels() {
    const N: usize = 5000;
    // Each row of the second half needs one of the first half.
    let mut rows = LocalRows::with_capacity(2 * N, 0);
    for row in 0..2 * N {
        if row >= N {
            rows.push((row * 7 % N) as u32, 0.1 * row as f64);
        }
        rows.push(row as u32, 3.0);
        rows.end_row();
    }
    let plain = triangle_of(&rows, Triangle::Lower);
    let by_levels = plain.clone().by_wide_levels().unwrap();
    assert_eq!(
        by_levels.levels.as_ref().map(|levels| levels.bounds.len()),
        Some(2)
    );
    let b: Vec<f64> = (0..2 * N).map(|row| (row as f64).cos()).collect();
    let mut expected = b.clone();
    plain.solve(&Threads::new(1), &[], &mut expected);
    for threads in [1, 2, 3] {
        let mut x = b.clone();
        by_levels.solve(&Threads::new(threads), &[], &mut x);
        assert!(x == expected, "{threads} threads");
    }
}
