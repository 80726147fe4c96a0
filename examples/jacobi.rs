//! Jacobi's method for a dense system of equations.

use sparsefuse::prelude::*;
use sparsefuse_frame::{About, Run};
use std::process::ExitCode;

pub(crate) const ABOUT: About = About {
    name: "jacobi",
    title: "Jacobi's method for a dense system",
    help: "  x <- (b - R x) / d,     A = R + diag(d)\n\n\
           for A(i,j) = ((7 i + 13 j) mod 101) / (101 N) besides the diagonal, which is d = 2, and \
           b = A 1. At the begin x = 0. The result is x.\n\n\
           The rows of R are less than 1 in sum, so each step halves the distance to the solution, \
           which is 1 everywhere: checked.",
    size: (2000, 1, "equations"),
    steps: 40,
    choices: &[],
    array_bytes: |n| 8.0 * n * n,
    arrays: 2,
};

const DIAGONAL: f64 = 2.0;

/// The matrix without its diagonal.
fn off_diagonal(n: usize) -> Array<f64, 2> {
    let index = Vector::<i64>::arange(n);
    let (i, j) = (index.insert_axis(1), index.insert_axis(0));
    let values = ((&i * 7 + &j * 13) % 101).cast::<f64>() / (101.0 * n as f64);
    i.equal(j).select(0.0, values)
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let n = run.size;
    let r = off_diagonal(n);
    let b = r.sum_axis(1) + DIAGONAL;
    let mut x = Vector::zeros([n]);
    for _ in run.steps() {
        x = (&b - r.matvec(&x)) / DIAGONAL;
    }
    let residual = &b - r.matvec(&x) - &x * DIAGONAL;
    run.show("the largest residual", residual.norm_inf().get()?);
    let bound = 0.5f64.powi(run.n_steps().min(1000) as i32) + 1e-14;
    run.check(
        "the distance to the solution",
        (&x - 1.0).norm_inf().get()?,
        bound,
    );
    run.result("x", &x)
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
