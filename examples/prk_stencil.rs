//! The stencil of the Parallel Research Kernels: a star of radius 2 on a plane.

use sparsefuse::prelude::*;
use sparsefuse_frame::{About, Run};
use std::process::ExitCode;

pub(crate) const ABOUT: About = About {
    name: "prk_stencil",
    title: "The stencil of the Parallel Research Kernels",
    help: "At the begin in(i,j) = i + j and out = 0 on N x N points. A step adds to out, at the \
           points that are two or more from the boundary, the star of radius R = 2\n  \
             sum over r = 1, 2 of (in(i,j+r) - in(i,j-r) + in(i+r,j) - in(i-r,j)) / (2 r R)\n\
           and then adds 1 to in everywhere. The result is out.\n\n\
           The star is the sum of the derivatives of in, which are 1 and 1: after K steps the mean \
           of |out| over the inner points is 2 K, which is checked as the Parallel Research Kernels \
           do it (github.com/ParRes/Kernels).",
    size: (1024, 5, "points along each side of the plane"),
    steps: 50,
    choices: &[],
    array_bytes: |n| 8.0 * n * n,
    arrays: 4,
};

const RADIUS: usize = 2;

fn star(u: &Array<f64, 2>) -> Array<f64, 2> {
    let n = u.shape()[0];
    let inner = RADIUS..n - RADIUS;
    let shifted = |by: usize| by..n - 2 * RADIUS + by;
    let mut sum = Array::zeros([n - 2 * RADIUS; 2]);
    for r in 1..=RADIUS {
        let weight = 1.0 / (2 * r * RADIUS) as f64;
        let (above, below) = (shifted(RADIUS + r), shifted(RADIUS - r));
        sum += (u.slice((inner.clone(), above.clone())) - u.slice((inner.clone(), below.clone())))
            * weight;
        sum += (u.slice((above, inner.clone())) - u.slice((below, inner.clone()))) * weight;
    }
    sum
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let n = run.size;
    let index = Vector::<f64>::arange(n);
    let mut input = index.insert_axis(1) + index.insert_axis(0);
    let mut output = Array::<f64, 2>::zeros([n, n]);
    let inner = (RADIUS..n - RADIUS, RADIUS..n - RADIUS);
    for _ in run.steps() {
        output.update_slice(inner.clone(), |out| out + star(&input));
        input += 1.0;
    }
    let norm = output.slice(inner).abs().mean().get()?;
    run.show("mean of |out|", norm);
    let expected = 2.0 * run.n_steps() as f64;
    run.check(
        "its difference from 2 K, relative",
        (norm / expected - 1.0).abs(),
        1e-8,
    );
    run.result("out", &output)
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
