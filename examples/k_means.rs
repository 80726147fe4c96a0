//! Groups among points, by Lloyd's algorithm.

use sparsefuse::prelude::*;
use sparsefuse_frame::{About, Run};
use std::process::ExitCode;

pub(crate) const ABOUT: About = About {
    name: "k_means",
    title: "Groups among points, by Lloyd's algorithm",
    help: "N points with 4 coordinates in 8 groups: with g = i mod 8, the coordinate d of the point i \
           is ((3 g + 5 d + g d) mod 8) / 2 + ((7 i + 13 d + i i) mod 101) / 101. At the begin the \
           centres are the points 0, 8, 16, ..., 56.\n\n\
           A step assigns each point to the nearest centre (of several the first one), and then makes \
           each centre the mean of its points; one without points stays. The result is the 8 x 4 \
           array of the centres.\n\n\
           No step makes the sum of the squared distances larger, which is checked, and that each \
           point has a centre.",
    size: (100_000, 64, "points"),
    steps: 20,
    choices: &[],
    array_bytes: |n| 8.0 * 4.0 * n,
    arrays: 20,
};

const GROUPS: usize = 8;
const COORDINATES: usize = 4;

fn points(n: usize) -> Array<f64, 2> {
    let i = Vector::<i64>::arange(n).insert_axis(1);
    let d = Vector::<i64>::arange(COORDINATES).insert_axis(0);
    let g = &i % GROUPS as i64;
    let middle = ((&g * 3 + &d * 5 + &g * &d) % 8).cast::<f64>() / 2.0;
    let noise = ((&i * 7 + &d * 13 + &i * &i) % 101).cast::<f64>() / 101.0;
    middle + noise
}

/// The squared distance of each point, a row, from each centre, a column.
fn distances(points: &Array<f64, 2>, centres: &Array<f64, 2>) -> Array<f64, 2> {
    let difference = points.insert_axis(1) - centres.insert_axis(0);
    difference.square().sum_axis(2)
}

/// The sum of the squared distances of all points from the nearest centres.
fn total(points: &Array<f64, 2>, centres: &Array<f64, 2>) -> Scalar<f64> {
    distances(points, centres).min_axis(1).sum()
}

fn moved(points: &Array<f64, 2>, centres: &Array<f64, 2>) -> Array<f64, 2> {
    let nearest = distances(points, centres).argmin_axis(1);
    let counts = nearest.bincount(GROUPS).cast::<f64>().insert_axis(1);
    let mut sums = Array::zeros([GROUPS, COORDINATES]);
    sums.add_at_axis(0, &nearest, points);
    counts.greater(0.0).select(sums / counts, centres)
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let points = points(run.size);
    let mut centres = points
        .slice((step(..GROUPS * GROUPS, GROUPS as isize), ..))
        .contiguous()?;
    let begin = total(&points, &centres);
    for _ in run.steps() {
        centres = moved(&points, &centres);
    }
    let end = total(&points, &centres);
    let counts = distances(&points, &centres).argmin_axis(1).bincount(GROUPS);
    run.show("mean squared distance", (&end / run.size as f64).get()?);
    run.check("its ratio to that at the begin", (end / begin).get()?, 1.0);
    let without = run.size as i64 - counts.sum().get()?;
    run.check("points without a centre", without as f64, 0.0);
    run.result("centres", &centres)
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
