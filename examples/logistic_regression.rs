//! Logistic regression by gradient descent: two classes told apart by a plane.

use sparsefuse::prelude::*;
use sparsefuse_frame::{About, Run};
use std::process::ExitCode;

pub(crate) const ABOUT: About = About {
    name: "logistic_regression",
    title: "Logistic regression by gradient descent",
    help: "  w <- w - (2 / N) X^T (p - y),     p = 1 / (1 + exp(-X w))\n\n\
           for N samples of 50 features, X(i,j) = ((7 i + 13 j + i j) mod 101) / 101 - 1/2. A sample \
           is of class y = 1 if X(i,0) - X(i,1) + X(i,2) - ... > 0, else of class 0. w = 0 at the \
           begin, and is the result.\n\n\
           A step moves w along the gradient of the mean of ln(1 + exp(-(2 y - 1) X w)), which is \
           ln 2 at the begin and must fall.",
    size: (100_000, 1, "samples"),
    steps: 50,
    choices: &[],
    array_bytes: |n| 8.0 * 50.0 * n,
    arrays: 1,
};

const FEATURES: usize = 50;
const RATE: f64 = 2.0;

/// The features of all samples, a row for each.
fn features(n: usize) -> Array<f64, 2> {
    let i = Vector::<i64>::arange(n).insert_axis(1);
    let j = Vector::<i64>::arange(FEATURES).insert_axis(0);
    ((&i * 7 + &j * 13 + &i * &j) % 101).cast::<f64>() / 101.0 - 0.5
}

/// 1 for the samples on one side of a plane, 0 for the others.
fn classes(x: &Array<f64, 2>) -> Vector<f64> {
    let sign = 1.0 - (Vector::<i64>::arange(FEATURES) % 2).cast::<f64>() * 2.0;
    x.matvec(&sign).greater(0.0).cast()
}

/// What the descent makes less: the mean of `ln(1 + exp(-(2 y - 1) X w))`.
fn loss(x: &Array<f64, 2>, y: &Vector<f64>, w: &Vector<f64>) -> Scalar<f64> {
    let margin = (y * 2.0 - 1.0) * x.matvec(w);
    ((-margin).exp() + 1.0).ln().mean()
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let n = run.size;
    let x = features(n);
    let y = classes(&x);
    let mut w = Vector::<f64>::zeros([FEATURES]);
    for _ in run.steps() {
        let p = 1.0 / ((-x.matvec(&w)).exp() + 1.0);
        let gradient = x.t().matvec(&(p - &y)) / n as f64;
        w -= gradient * RATE;
    }
    let right = x.matvec(&w).greater(0.0).equal(y.greater(0.5));
    run.show(
        "samples on the right side, a share",
        right.cast::<f64>().mean().get()?,
    );
    run.check("the loss", loss(&x, &y, &w).get()?, std::f64::consts::LN_2);
    run.result("w", &w)
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
