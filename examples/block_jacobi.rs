//! Jacobi's method on the blocks of a grid, as a graph of tasks.

use sparsefuse::prelude::*;
use sparsefuse::runtime::{BlockMut, BlockRef};
use sparsefuse_frame::{About, Choice, Run};
use std::process::ExitCode;

pub(crate) const ABOUT: About = About {
    name: "block_jacobi",
    title: "Laplace's equation by Jacobi's method on blocks, as a graph of tasks",
    help: "  u(i,j) <- (u(i-1,j) + u(i+1,j) + u(i,j-1) + u(i,j+1)) / 4\n\n\
           on a square grid, with u = 1 above its first row and u = 0 beyond its other sides and at the \
           begin. Each step is a sweep. The grid is cut into blocks, and two arrays hold the u of even and \
           of odd sweeps. A task computes one block of the next array; it reads that block of this one \
           and those beside it, of which it takes the row or column at the border. So a sweep may begin on \
           one side of the grid while the one before goes on at the other. The result is u.\n\n\
           Checked: the same sweeps as array code, to the bit.",
    size: (512, 1, "rows and columns"),
    steps: 50,
    choices: &[Choice {
        name: "block",
        values: &["128", "256", "64", "32", "7"],
        help: "Rows and columns of a block; those at the end may have fewer",
    }],
    array_bytes: |n| 8.0 * n * n,
    arrays: 6,
};

/// The blocks beside one: `None` is beyond the grid.
#[derive(Clone, Copy, Default)]
struct Beside<T> {
    above: Option<T>,
    below: Option<T>,
    left: Option<T>,
    right: Option<T>,
}

impl<T> Beside<T> {
    /// What `of` makes of each, in the order of the fields.
    fn try_map<U>(self, mut of: impl FnMut(T) -> Result<U, Error>) -> Result<Beside<U>, Error> {
        let mut of = |block: Option<T>| block.map(&mut of).transpose();
        Ok(Beside {
            above: of(self.above)?,
            below: of(self.below)?,
            left: of(self.left)?,
            right: of(self.right)?,
        })
    }

    fn all(self) -> impl Iterator<Item = T> {
        let blocks = [self.above, self.below, self.left, self.right];
        blocks.into_iter().flatten()
    }
}

/// The places of the blocks beside one, in a grid of blocks.
fn beside([i, j]: [usize; 2], [rows, columns]: [usize; 2]) -> Beside<[usize; 2]> {
    Beside {
        above: (i > 0).then(|| [i - 1, j]),
        below: (i + 1 < rows).then_some([i + 1, j]),
        left: (j > 0).then(|| [i, j - 1]),
        right: (j + 1 < columns).then_some([i, j + 1]),
    }
}

/// One block of the next sweep.
fn sweep(mut next: BlockMut<'_, f64>, now: BlockRef<'_, f64>, beside: Beside<BlockRef<'_, f64>>) {
    let [rows, columns] = now.shape();
    let above = beside.above.map(|block| block.row(block.shape()[0] - 1));
    let below = beside.below.map(|block| block.row(0));
    for (r, next) in next.rows_mut().enumerate() {
        let middle = now.row(r);
        let left = beside.left.and_then(|block| block.row(r).last().copied());
        let right = beside.right.map(|block| block.row(r)[0]);
        let up = if r > 0 { Some(now.row(r - 1)) } else { above };
        let down = if r + 1 < rows {
            Some(now.row(r + 1))
        } else {
            below
        };
        for (c, next) in next.iter_mut().enumerate() {
            let north = up.map_or(1.0, |row| row[c]);
            let south = down.map_or(0.0, |row| row[c]);
            let west = if c > 0 { Some(middle[c - 1]) } else { left };
            let east = if c + 1 < columns {
                Some(middle[c + 1])
            } else {
                right
            };
            *next = (north + south + west.unwrap_or(0.0) + east.unwrap_or(0.0)) * 0.25;
        }
    }
}

/// The same sweeps as array code, on a grid with a border.
fn sweeps(n: usize, steps: usize) -> Array<f64, 2> {
    let mut u = Array::<f64, 2>::zeros([n + 2, n + 2]);
    u.assign_slice((..1, 1..=n), 1.0);
    for _ in 0..steps {
        let [north, south] = [0, 2].map(|i| u.slice((i..n + i, 1..=n)));
        let [west, east] = [0, 2].map(|j| u.slice((1..=n, j..n + j)));
        let next = (north + south + west + east) * 0.25;
        u.assign_slice((1..=n, 1..=n), next);
    }
    u.slice((1..=n, 1..=n))
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let n = run.size;
    let size: usize = run.choice("block").parse().unwrap_or(128);
    let mut u = [(); 2].map(|()| Array::<f64, 2>::zeros([n, n]));
    let [even, odd] = &mut u;
    let blocks = [even.blocks([size; 2])?, odd.blocks([size; 2])?];
    let mut space = TaskSpace::new(run.runtime, "sweep");
    for step in run.fused_steps() {
        let [now, next] = [step % 2, (step + 1) % 2].map(|parity| &blocks[parity]);
        let [rows, columns] = now.grid();
        for place in (0..rows * columns).map(|place| [place / columns, place % columns]) {
            let beside = beside(place, [rows, columns]);
            let mut task = space.unnamed_task().reads(now.block(place[0], place[1]));
            for [i, j] in beside.all() {
                task = task.reads(now.block(i, j));
            }
            task.updates(next.block(place[0], place[1]))
                .run(move |args| {
                    let now = args.block::<f64>(0)?;
                    let mut numbers = 1..;
                    let mut next = || numbers.next().unwrap_or(0);
                    let blocks = beside.try_map(|_| args.block::<f64>(next()))?;
                    let changed = args.block_mut::<f64>(next())?;
                    sweep(changed, now, blocks);
                    Ok(())
                })?;
        }
    }
    let u = &u[run.n_steps() % 2];
    let difference = (u - sweeps(n, run.n_steps())).norm_inf().get()?;
    run.check("u against that of array code", difference, 0.0);
    run.result("u", u)
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
