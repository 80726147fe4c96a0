//! The mean of the 27 neighbours of every inner point of a cube, again and again.

use sparsefuse::prelude::*;
use sparsefuse_frame::{About, Run};
use std::process::ExitCode;

pub(crate) const ABOUT: About = About {
    name: "stencil27",
    title: "The mean of 27 neighbours in a cube",
    help: "At the begin u(i,j,k) = ((7 i + 13 j + 17 k) mod 101) / 101. A step makes every inner \
           point the mean of the 3 x 3 x 3 points around it, itself one of them; the points of the \
           boundary stay as they are.\n\n\
           A mean lies between the least and the largest of its points, so no step leaves the range \
           of the initial values, which is checked.",
    size: (128, 3, "points along each side of the cube"),
    steps: 20,
    choices: &[],
    array_bytes: |n| 8.0 * n * n * n,
    arrays: 3,
};

/// `((7 i + 13 j + 17 k) mod 101) / 101`.
fn initial(n: usize) -> Array<f64, 3> {
    let index = Vector::<i64>::arange(n);
    let i = index.insert_axis(1).insert_axis(2);
    let j = index.insert_axis(0).insert_axis(2);
    let k = index.insert_axis(0).insert_axis(1);
    ((i * 7 + j * 13 + k * 17) % 101).cast::<f64>() / 101.0
}

fn step(u: &mut Array<f64, 3>) {
    let n = u.shape()[0];
    let mut sum = Array::zeros([n - 2; 3]);
    for i in 0..3 {
        for j in 0..3 {
            for k in 0..3 {
                sum += u.slice((i..n - 2 + i, j..n - 2 + j, k..n - 2 + k));
            }
        }
    }
    u.assign_slice((1..n - 1, 1..n - 1, 1..n - 1), sum / 27.0);
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let mut u = initial(run.size);
    for _ in run.steps() {
        step(&mut u);
    }
    run.check("the largest value", u.max().get()?, 1.0);
    run.check("the least value, negative", -u.min().get()?, 0.0);
    run.show("mean of all values", u.mean().get()?);
    run.result("u", &u)
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
