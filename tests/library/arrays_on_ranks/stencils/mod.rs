//! Stencils as users write them, for the test and the bench of arrays on ranks.

use sparsefuse::prelude::*;

/// The star of radius 2 of the Parallel Research Kernels, in and out of one array.
pub(crate) fn star(u: &Array<f64, 2>) -> Array<f64, 2> {
    let [n, m] = u.shape();
    let at = |i: isize, j: isize| {
        let rows = (2 + i) as usize..(n as isize - 2 + i) as usize;
        let columns = (2 + j) as usize..(m as isize - 2 + j) as usize;
        u.slice((rows, columns))
    };
    let mut sum = at(0, 0) * 0.2;
    for r in [1, 2] {
        let weight = 0.1 / r as f64;
        sum += (at(r, 0) + at(-r, 0) + at(0, r) + at(0, -r)) * weight;
    }
    let mut next = u.clone();
    next.assign_slice((2..n - 2, 2..m - 2), sum);
    next
}

/// The mean of each inner point of a cube and its 26 neighbours.
pub(crate) fn cube(u: &Array<f64, 3>) -> Array<f64, 3> {
    let n = u.shape()[0];
    let range = |i: usize| i..n - 2 + i;
    let mut sum = None;
    for i in 0..3 {
        for j in 0..3 {
            for k in 0..3 {
                let part = u.slice((range(i), range(j), range(k)));
                sum = Some(match sum {
                    None => part * 1.0,
                    Some(sum) => sum + part,
                });
            }
        }
    }
    let mut next = u.clone();
    let inner = 1..n - 1;
    next.assign_slice((inner.clone(), inner.clone(), inner), sum.unwrap() / 27.0);
    next
}
