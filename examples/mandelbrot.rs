//! The Mandelbrot set: how long each point stays near 0.

use sparsefuse::prelude::*;
use sparsefuse_frame::{About, Choice, Run};
use std::process::ExitCode;

pub(crate) const ABOUT: About = About {
    name: "mandelbrot",
    title: "The Mandelbrot set",
    help: "For N x N points c of [-2, 1] x [-1.5, 1.5] with both ends, each row with one imaginary \
           part: z = 0 at the begin, and a step makes z = z^2 + c and counts the points with \
           |z| <= 2. The result is the number of the K steps after which |z| <= 2.\n\n\
           All steps are made of all points, as in NumPy, and no step waits for the one before: the \
           library runs many of them as one pass over the memory. `--form real` computes with two \
           real arrays in place of one of complex numbers.\n\n\
           Checked: the set is its own mirror image in the real axis. Its area is 1.5066.",
    size: (1000, 2, "points along each side"),
    steps: 100,
    choices: &[Choice {
        name: "form",
        values: &["complex", "real"],
        help: "Compute with complex numbers, or with two real arrays",
    }],
    array_bytes: |n| 8.0 * n * n,
    arrays: 8,
};

/// The real parts of the points as a row, and the imaginary parts as a column.
fn points(n: usize) -> (Array<f64, 2>, Array<f64, 2>) {
    let re = Vector::linspace(-2.0, 1.0, n).insert_axis(0);
    let im = Vector::linspace(-1.5, 1.5, n).insert_axis(1);
    (re, im)
}

fn complex_form(run: &Run<'_>) -> Array<i64, 2> {
    let n = run.size;
    let (re, im) = points(n);
    let i = Complex::new(0.0, 1.0);
    let c = re.cast::<Complex<f64>>() + im.cast::<Complex<f64>>() * i;
    let mut z = Array::zeros([n, n]);
    let mut count = Array::zeros([n, n]);
    for _ in run.fused_steps() {
        z = &z * &z + &c;
        let square = z.re().square() + z.im().square();
        count += square.less_equal(4.0).cast::<i64>();
    }
    count
}

fn real_form(run: &Run<'_>) -> Array<i64, 2> {
    let n = run.size;
    let (c_re, c_im) = points(n);
    let mut re = Array::<f64, 2>::zeros([n, n]);
    let mut im = Array::<f64, 2>::zeros([n, n]);
    let mut count = Array::zeros([n, n]);
    for _ in run.fused_steps() {
        let product = &re * &im;
        re = &re * &re - &im * &im + &c_re;
        im = &product + &product + &c_im;
        count += (&re * &re + &im * &im).less_equal(4.0).cast::<i64>();
    }
    count
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let count = match run.choice("form") {
        "real" => real_form(run),
        _ => complex_form(run),
    };
    let differ = count.not_equal(count.flip(0)).cast::<i64>().sum();
    // Where |z| is 2 but for rounding, the last bit of c decides: a few points of any size.
    run.check(
        "points unlike their mirror image, a share",
        differ.get()? as f64 / count.len() as f64,
        (4.0 / count.len() as f64).max(1e-4),
    );
    let inside = count.equal(run.n_steps() as i64).cast::<f64>();
    run.show("area of the points that stay", inside.mean().get()? * 9.0);
    run.result("count", &count)
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
