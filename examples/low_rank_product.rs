//! The product of two matrices whose off-diagonal blocks have low rank, as a graph of tasks.

use sparsefuse::dense::Blocks;
use sparsefuse::prelude::*;
use sparsefuse::runtime::{BlockRef, TaskArg};
use sparsefuse_frame::{About, Choice, Run};
use std::process::ExitCode;

pub(crate) const ABOUT: About = About {
    name: "low_rank_product",
    title: "The product of two matrices with off-diagonal blocks of low rank, as a graph of tasks",
    help: "  C <- C + A B\n\n\
           A and B are cut into blocks. Those on the diagonal are dense; block (i, j) off the diagonal is \
           U(i,j) V(i,j)^T with 4 columns each, as in block low-rank and hierarchical formats. The numbers \
           are ((p r + q c) mod 101) / 101 - 1/2 for row r and column c of the arrays that hold all dense \
           blocks, all U and all V below each other or side by side; C is dense, and 0 at the begin. A task \
           adds the product of one block of A and one of B to one of C: a chain of two to four factors, \
           of which it multiplies first those two neighbours that need the fewest multiplications. Tasks \
           that add to the same block follow each other, all others may run at the same time. The result \
           is C.\n\n\
           Checked: C x against A (B x) for x = 1.",
    size: (512, 1, "rows and columns"),
    steps: 2,
    choices: &[Choice {
        name: "block",
        values: &["64", "128", "32", "7"],
        help: "Rows and columns of a block; those at the end may have fewer",
    }],
    array_bytes: |n| 8.0 * n * n,
    arrays: 4,
};

/// The columns of U and V.
const RANK: usize = 4;

/// A matrix with off-diagonal blocks of low rank. The rows of all blocks lie below each other:
/// `dense` has the diagonal blocks, `u` has U(i,j) in block (i, j), and `v` has V(i,j) in block (j,
/// i).
struct LowRank {
    block: usize,
    dense: Array<f64, 2>,
    u: Array<f64, 2>,
    v: Array<f64, 2>,
}

/// The blocks of such a matrix.
struct Parts<'a> {
    dense: Blocks<'a>,
    u: Blocks<'a>,
    v: Blocks<'a>,
}

impl LowRank {
    fn new(n: usize, block: usize, [p, q]: [i64; 2]) -> Self {
        let numbers = |columns: usize, p: i64, q: i64| {
            let rows = Vector::<i64>::arange(n).insert_axis(1);
            let columns = Vector::<i64>::arange(columns).insert_axis(0);
            ((rows * p + columns * q) % 101).cast::<f64>() / 101.0 - 0.5
        };
        let ranks = n.div_ceil(block) * RANK;
        Self {
            block,
            dense: numbers(block, p, q),
            u: numbers(ranks, q, p),
            v: numbers(ranks, p + 1, q + 1),
        }
    }

    fn parts(&mut self) -> Result<Parts<'_>, Error> {
        Ok(Parts {
            dense: self.dense.blocks([self.block; 2])?,
            u: self.u.blocks([self.block, RANK])?,
            v: self.v.blocks([self.block, RANK])?,
        })
    }

    /// The product with a vector, by plain loops.
    fn times(&self, x: &[f64]) -> Result<Vec<f64>, Error> {
        let (n, size) = (x.len(), self.block);
        let (dense, u, v) = (self.dense.to_vec()?, self.u.to_vec()?, self.v.to_vec()?);
        let ranks = n.div_ceil(size) * RANK;
        let mut y = vec![0.0; n];
        for (r, y) in y.iter_mut().enumerate() {
            for (c, x) in x.iter().enumerate() {
                let (i, j) = (r / size, c / size);
                let inner =
                    (0..RANK).map(|k| u[r * ranks + j * RANK + k] * v[c * ranks + i * RANK + k]);
                *y += x * match i == j {
                    true => dense[r * size + c % size],
                    false => inner.sum(),
                };
            }
        }
        Ok(y)
    }
}

/// What a factor of a block is.
#[derive(Clone, Copy)]
enum Factor {
    /// The first columns of what `dense` has.
    Dense(usize),
    Left,
    /// V, which is to be transposed.
    Right,
}

impl Parts<'_> {
    /// The factors of a block.
    fn factors(&self, i: usize, j: usize, columns: usize) -> Vec<(TaskArg<'_>, Factor)> {
        match i == j {
            true => vec![(self.dense.block(i, 0), Factor::Dense(columns))],
            false => vec![
                (self.u.block(i, j), Factor::Left),
                (self.v.block(j, i), Factor::Right),
            ],
        }
    }
}

/// A small matrix, row by row.
struct Matrix {
    shape: [usize; 2],
    elements: Vec<f64>,
}

impl Matrix {
    fn of(block: BlockRef<'_, f64>, factor: Factor) -> Self {
        let [rows, all] = block.shape();
        let columns = match factor {
            Factor::Dense(columns) => columns,
            Factor::Left | Factor::Right => all,
        };
        let elements = block.rows().flat_map(|row| &row[..columns]);
        let matrix = Self {
            shape: [rows, columns],
            elements: elements.copied().collect(),
        };
        match factor {
            Factor::Dense(_) | Factor::Left => matrix,
            Factor::Right => matrix.transposed(),
        }
    }

    fn transposed(&self) -> Self {
        let [rows, columns] = self.shape;
        let elements =
            (0..columns).flat_map(|c| (0..rows).map(move |r| self.elements[r * columns + c]));
        Self {
            shape: [columns, rows],
            elements: elements.collect(),
        }
    }

    fn times(&self, other: &Self) -> Self {
        let ([rows, inner], columns) = (self.shape, other.shape[1]);
        let mut elements = vec![0.0; rows * columns];
        for (row, a) in elements
            .chunks_mut(columns)
            .zip(self.elements.chunks(inner))
        {
            for (a, b) in a.iter().zip(other.elements.chunks(columns)) {
                row.iter_mut().zip(b).for_each(|(sum, b)| *sum += a * b);
            }
        }
        Self {
            shape: [rows, columns],
            elements,
        }
    }
}

/// The product of a chain, of which the cheapest neighbours are multiplied first.
fn product(mut chain: Vec<Matrix>) -> Option<Matrix> {
    while chain.len() > 1 {
        let cost = |&first: &usize| {
            let [rows, inner] = chain[first].shape;
            rows * inner * chain[first + 1].shape[1]
        };
        let first = (0..chain.len() - 1).min_by_key(cost)?;
        let second = chain.remove(first + 1);
        chain[first] = chain[first].times(&second);
    }
    chain.pop()
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let n = run.size;
    let size: usize = run.choice("block").parse().unwrap_or(64);
    let mut a = LowRank::new(n, size, [7, 13]);
    let mut b = LowRank::new(n, size, [13, 7]);
    let mut c = Array::<f64, 2>::zeros([n, n]);
    for _ in run.steps() {
        let (a, b, c) = (a.parts()?, b.parts()?, c.blocks([size; 2])?);
        let mut space = TaskSpace::new(run.runtime, "product");
        let n_blocks = c.grid()[0];
        for place in 0..n_blocks.pow(3) {
            let (k, i, j) = (
                place / n_blocks.pow(2),
                place / n_blocks % n_blocks,
                place % n_blocks,
            );
            let width = |block: usize| size.min(n - block * size);
            let (left, right) = (a.factors(i, k, width(k)), b.factors(k, j, width(j)));
            let (blocks, factors): (Vec<_>, Vec<_>) = left.into_iter().chain(right).unzip();
            let mut task = space.unnamed_task();
            for block in blocks {
                task = task.reads(block);
            }
            task.updates(c.block(i, j)).run(move |args| {
                let chain = factors.iter().enumerate().map(|(number, &factor)| {
                    let block = args.block::<f64>(number)?;
                    Ok(Matrix::of(block, factor))
                });
                let chain = chain.collect::<Result<Vec<_>, Error>>()?;
                let mut c = args.block_mut::<f64>(factors.len())?;
                if let Some(product) = product(chain) {
                    let rows = product.elements.chunks(product.shape[1]);
                    for (c, product) in c.rows_mut().zip(rows) {
                        c.iter_mut().zip(product).for_each(|(c, x)| *c += x);
                    }
                }
                Ok(())
            })?;
        }
    }
    let expected = a.times(&b.times(&vec![1.0; n])?)?;
    let expected = Vector::from_vec(expected) * run.n_steps() as f64;
    let difference = (c.matvec(&Vector::ones([n])) - &expected)
        .norm_inf()
        .get()?;
    let size = expected.norm_inf().get()?;
    run.check("|C x - A (B x)|, of the largest", difference, 1e-12 * size);
    run.result("C", &c)
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
