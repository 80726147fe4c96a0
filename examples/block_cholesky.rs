//! The Cholesky factorisation of a dense matrix in blocks, as a graph of tasks.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::{matmul::matmul, triangular_solve::solve_lower_triangular_in_place};
use faer::{Accum, MatMut, MatRef, Par};
use sparsefuse::dense::Blocks;
use sparsefuse::prelude::*;
use sparsefuse::runtime::{BlockMut, BlockRef};
use sparsefuse_frame::{About, Choice, Run, median};
use std::process::ExitCode;
use std::time::Instant;

pub(crate) const ABOUT: About = About {
    name: "block_cholesky",
    title: "The Cholesky factorisation of a dense matrix, as a graph of tasks",
    help: "  A = L L^T\n\n\
           for A(i,j) = ((7 i + 13 j) mod 101 + (13 i + 7 j) mod 101) / 202 besides the diagonal, where \
           N is added. A is cut into tiles of B by B elements. For each column k of tiles the diagonal \
           one is factorised, those below it are divided by its factor, and those behind are updated: \
           three kinds of tasks, ordered by the tiles that they read and change. A step is one \
           factorisation. The result is L.\n\n\
           Checked: |L (L^T x) - A x| for x(i) = 1 + (i mod 7).\n\n\
           With `--beside faer` each step also times the factorisation of faer, on one thread. The time \
           of a step has the copy of A and, where asked for, faer; that of the tasks is shown apart.",
    size: (2048, 1, "rows and columns, a multiple of B"),
    steps: 3,
    choices: &[
        Choice {
            name: "block",
            values: &["256", "512", "128", "64", "32", "8"],
            help: "Rows and columns of a tile, B",
        },
        Choice {
            name: "beside",
            values: &["nothing", "faer"],
            help: "What else is timed",
        },
    ],
    array_bytes: |n| 8.0 * n * n,
    arrays: 6,
};

/// The matrix.
fn matrix(n: usize) -> Array<f64, 2> {
    let index = Vector::<i64>::arange(n);
    let (i, j) = (index.insert_axis(1), index.insert_axis(0));
    let sum = (&i * 7 + &j * 13) % 101 + (&i * 13 + &j * 7) % 101;
    i.equal(&j).select(n as f64, 0.0) + sum.cast::<f64>() / 202.0
}

/// A tile for reading; its elements lie column by column.
fn tile<'a>(block: BlockRef<'a, f64>) -> MatRef<'a, f64> {
    let elements = block.as_slice().expect("a tile has no gaps");
    let [columns, rows] = block.shape();
    MatRef::from_column_major_slice(elements, rows, columns)
}

/// A tile for writing.
fn tile_mut<'a>(block: &'a mut BlockMut<'_, f64>) -> MatMut<'a, f64> {
    let [columns, rows] = block.shape();
    let elements = block.as_mut_slice().expect("a tile has no gaps");
    MatMut::from_column_major_slice_mut(elements, rows, columns)
}

/// The factor of a matrix, in its lower triangle.
fn factorise(a: MatMut<'_, f64>, par: Par) -> Result<(), Error> {
    let scratch = cholesky_in_place_scratch::<f64>(a.nrows(), par, Default::default());
    let mut memory = MemBuffer::new(scratch);
    let stack = MemStack::new(&mut memory);
    let done = cholesky_in_place(a, Default::default(), par, stack, Default::default());
    let expected = "a positive definite matrix";
    done.map_err(|error| Error::argument("cholesky", expected, format!("{error:?}")))?;
    Ok(())
}

/// Issues the tasks of a factorisation.
fn issue(space: &mut TaskSpace, a: &Blocks<'_>) -> Result<(), Error> {
    let [n, _] = a.grid();
    for k in 0..n {
        let task = space.task([k, k, k]).updates(a.block(k, k));
        task.run(|args| factorise(tile_mut(&mut args.block_mut(0)?), Par::Seq))?;
        for i in k + 1..n {
            let task = space.task([i, k, k]).reads(a.block(k, k));
            task.updates(a.block(i, k)).run(|args| {
                // X L^T = A, as L X^T = A^T.
                let (factor, mut below) = (args.block(0)?, args.block_mut(1)?);
                let below = tile_mut(&mut below).transpose_mut();
                solve_lower_triangular_in_place(tile(factor), below, Par::Seq);
                Ok(())
            })?;
        }
        for j in k + 1..n {
            let task = space.task([j, j, k]).reads(a.block(j, k));
            task.updates(a.block(j, j)).run(|args| {
                let (left, mut target) = (args.block(0)?, args.block_mut(1)?);
                let (left, full) = (tile(left), BlockStructure::Rectangular);
                let (target, lower) = (tile_mut(&mut target), BlockStructure::TriangularLower);
                let right = left.transpose();
                triangular::matmul(
                    target,
                    lower,
                    Accum::Add,
                    left,
                    full,
                    right,
                    full,
                    -1.0,
                    Par::Seq,
                );
                Ok(())
            })?;
            for i in j + 1..n {
                let task = space
                    .task([i, j, k])
                    .reads(a.block(i, k))
                    .reads(a.block(j, k));
                task.updates(a.block(i, j)).run(|args| {
                    let (left, right) = (tile(args.block(0)?), tile(args.block(1)?).transpose());
                    let mut target = args.block_mut(2)?;
                    matmul(
                        tile_mut(&mut target),
                        Accum::Add,
                        left,
                        right,
                        -1.0,
                        Par::Seq,
                    );
                    Ok(())
                })?;
            }
        }
    }
    Ok(())
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let n = run.size;
    let b: usize = run.choice("block").parse().unwrap_or(256);
    if !n.is_multiple_of(b) {
        let expected = format!("a size that is a multiple of {b}");
        return Err(Error::argument("block_cholesky", expected, n.to_string()));
    }
    let a = matrix(n);
    // Tile (i, j) has element (r, c) of its own at [i, j, c, r].
    let tiled = a.reshape([n / b, b, n / b, b]).permute_axes([0, 2, 3, 1]);
    let (mut own, mut others) = (Vec::new(), Vec::new());
    let mut factors = tiled.clone();
    for _ in run.steps() {
        factors = tiled.contiguous()?;
        let tiles = factors.tiles()?;
        run.runtime.flush();
        let begin = Instant::now();
        let mut space = TaskSpace::new(run.runtime, "cholesky");
        issue(&mut space, &tiles)?;
        space.wait_all()?;
        own.push(begin.elapsed().as_secs_f64());
        if run.choice("beside") == "faer" {
            let mut elements = a.to_vec()?;
            let begin = Instant::now();
            factorise(
                MatMut::from_column_major_slice_mut(&mut elements, n, n),
                Par::Seq,
            )?;
            others.push(begin.elapsed().as_secs_f64());
        }
    }
    run.show("seconds of the tasks, median", median(own));
    if !others.is_empty() {
        run.show("seconds of faer on one thread, median", median(others));
    }
    let index = Vector::<i64>::arange(n);
    let (i, j) = (index.insert_axis(1), index.insert_axis(0));
    let l = factors
        .permute_axes([0, 3, 1, 2])
        .contiguous()?
        .reshape([n, n]);
    let l = i.greater_equal(&j).select(&l, 0.0);
    let x = (&index % 7 + 1).cast::<f64>();
    let difference = l.matvec(&l.t().contiguous()?.matvec(&x)) - a.matvec(&x);
    let size = a.matvec(&x).norm_inf().get()?;
    run.check(
        "|L L^T x - A x| / |A x|",
        difference.norm_inf().get()? / size,
        1e-13,
    );
    run.result("L", &l)
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
