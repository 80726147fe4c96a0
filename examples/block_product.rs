//! The product of two dense matrices in blocks, as a graph of tasks.

use sparsefuse::prelude::*;
use sparsefuse_frame::{About, Choice, Run};
use std::process::ExitCode;

pub(crate) const ABOUT: About = About {
    name: "block_product",
    title: "The product of two dense matrices, as a graph of tasks",
    help: "  C <- C + A B\n\n\
           for A(i,j) = ((7 i + 13 j) mod 101) / 101 and B(i,j) = ((13 i + 7 j) mod 101) / 101, and C = 0 \
           at the begin. The three matrices are seen as blocks, where they lie. A task adds the product \
           of one block of A and one of B to one of C, by plain loops; those that add to the same block \
           follow each other, all others may run at the same time. The result is C.\n\n\
           Checked: C x against A (B x) for x = 1.",
    size: (512, 1, "rows and columns"),
    steps: 2,
    choices: &[Choice {
        name: "block",
        values: &["128", "256", "64", "32", "7"],
        help: "Rows and columns of a block; those at the end may have fewer",
    }],
    array_bytes: |n| 8.0 * n * n,
    arrays: 4,
};

fn matrix(n: usize, [p, q]: [i64; 2]) -> Array<f64, 2> {
    let index = Vector::<i64>::arange(n);
    let (i, j) = (index.insert_axis(1), index.insert_axis(0));
    ((&i * p + &j * q) % 101).cast::<f64>() / 101.0
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let n = run.size;
    let size: usize = run.choice("block").parse().unwrap_or(128);
    let mut a = matrix(n, [7, 13]);
    let mut b = matrix(n, [13, 7]);
    let mut c = Array::<f64, 2>::zeros([n, n]);
    let shape = [size; 2];
    for _ in run.steps() {
        let (a, b, c) = (a.blocks(shape)?, b.blocks(shape)?, c.blocks(shape)?);
        let mut space = TaskSpace::new(run.runtime, "product");
        let [rows, columns] = c.grid();
        let [inner, _] = b.grid();
        for k in 0..inner {
            for i in 0..rows {
                for j in 0..columns {
                    let task = space
                        .task([i, j, k])
                        .reads(a.block(i, k))
                        .reads(b.block(k, j));
                    task.updates(c.block(i, j)).run(|args| {
                        let (a, b) = (args.block::<f64>(0)?, args.block::<f64>(1)?);
                        let mut c = args.block_mut::<f64>(2)?;
                        for (a, c) in a.rows().zip(c.rows_mut()) {
                            for (a, b) in a.iter().zip(b.rows()) {
                                c.iter_mut().zip(b).for_each(|(c, b)| *c += a * b);
                            }
                        }
                        Ok(())
                    })?;
                }
            }
        }
        space.wait_all()?;
    }
    let x = Vector::ones([n]);
    let expected = a.matvec(&b.matvec(&x)) * run.n_steps() as f64;
    let difference = (c.matvec(&x) - &expected).norm_inf().get()?;
    let size = expected.norm_inf().get()?;
    run.check("|C x - A (B x)|, of the largest", difference, 1e-13 * size);
    run.result("C", &c)
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
