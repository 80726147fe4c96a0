//! Arrays that are written whole and then partly anew: what is overwritten before it is read need
//! not be written, and results stay the same to the bit.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

use sparsefuse_dense::{Array, Error, step};
use sparsefuse_runtime::{Config, Runtime};
use sparsefuse_testing::{bits, everywhere, everywhere_with, small};

/// Every element is another one.
fn grid(n: usize, m: usize) -> (Array<f64, 2>, Vec<f64>) {
    let values: Vec<f64> = (0..n * m).map(|i| (i as f64 * 0.37).sin()).collect();
    let array = Array::from_shape_vec([n, m], values.clone()).unwrap();
    (array, values)
}

/// Checks what a program makes of a grid against what `plain` makes of its elements, row by row.
fn check(
    (n, m): (usize, usize),
    program: impl Fn(&Array<f64, 2>) -> Result<Array<f64, 2>, Error> + Sync,
    plain: impl Fn(&mut Vec<f64>),
) {
    let mut expected = grid(n, m).1;
    plain(&mut expected);
    let run = || program(&grid(n, m).0)?.to_vec().map(|found| bits(&found));
    assert!(everywhere(run) == bits(&expected), "{n} x {m}, short tiles");
    let default = Config::default();
    let found = everywhere_with(&default, run);
    assert!(found == bits(&expected), "{n} x {m}, tiles by default");
}

#[test]
fn a_copy_keeps_its_boundary() {
    for (n, m) in [(40, 50), (200, 300), (3, 20_000), (20_000, 3)] {
        let inner = |i: usize, j: usize| (1..n - 1).contains(&i) && (1..m - 1).contains(&j);
        check(
            (n, m),
            |u| {
                let up = u.slice((..n - 2, 1..m - 1));
                let down = u.slice((2.., 1..m - 1));
                let mut next = u.clone();
                next.assign_slice((1..n - 1, 1..m - 1), (up + down) * 0.5);
                Ok(next)
            },
            |u| {
                let old = u.clone();
                let indices = (0..n).flat_map(|i| (0..m).map(move |j| (i, j)));
                for (i, j) in indices.filter(|&(i, j)| inner(i, j)) {
                    u[i * m + j] = (old[(i - 1) * m + j] + old[(i + 1) * m + j]) * 0.5;
                }
            },
        );
    }
}

/// The array is read, or written elsewhere, between the two.
#[test]
fn what_is_read_in_between_is_written() {
    let (n, m) = (150, 200);
    check(
        (n, m),
        |u| {
            let mut next = u * 2.0;
            let before = next.slice((5..n - 5, 5..m - 5)) + 1.0;
            let first = next.slice((..1, ..)).max();
            next.assign_slice((5..n - 5, 5..m - 5), &before * 3.0);
            next.assign_slice((..1, ..), &first);
            Ok(next)
        },
        |u| {
            u.iter_mut().for_each(|value| *value *= 2.0);
            let line = Array::from_shape_vec([1, m], u[..m].to_vec()).unwrap();
            let first = line.max().get().unwrap();
            for i in 5..n - 5 {
                for j in 5..m - 5 {
                    u[i * m + j] = (u[i * m + j] + 1.0) * 3.0;
                }
            }
            u[..m].fill(first);
        },
    );
}

/// A constant under an assignment, and one with gaps.
#[test]
fn constants_keep_what_is_not_overwritten() {
    let (n, m) = (170, 130);
    let assigned = |u: &mut Vec<f64>, step: usize| {
        let old = u.clone();
        u.fill(7.0);
        for i in (2..n).step_by(step) {
            for j in 0..m - 3 {
                u[i * m + j] = -old[i * m + j];
            }
        }
    };
    for gap in [1, 2] {
        check(
            (n, m),
            |u| {
                let mut next = Array::full([n, m], 7.0);
                next.assign_slice(
                    (step(2.., gap as isize), ..m - 3),
                    -u.slice((step(2.., gap as isize), ..m - 3)),
                );
                Ok(next)
            },
            |u| assigned(u, gap),
        );
    }
}

/// The bytes that a step moves: one read and one write of the grid, not two.
#[test]
fn a_step_of_a_stencil_moves_each_grid_once() {
    let runtime = Runtime::new(Config {
        native: None,
        ..small()
    })
    .unwrap();
    runtime.enter(|| {
        let (n, m) = (300, 400);
        let mut u = grid(n, m).0;
        let mut moved = 0;
        for _ in 0..4 {
            let before = runtime.counters().bytes;
            let sum = u.slice((..n - 2, ..)) + u.slice((2.., ..));
            let mut next = u.clone();
            next.assign_slice((1..n - 1, ..), sum * 0.5);
            u = next;
            runtime.flush();
            moved = runtime.counters().bytes - before;
        }
        // Both slices count as they are read, since they are different arguments.
        let once = (8 * n * m) as u64;
        assert!(
            moved <= 3 * once + 8 * 4 * m as u64,
            "{moved} bytes, a grid has {once}"
        );
    });
}
