//! Bodies that attract each other, by the tree method of Barnes and Hut, as a graph of tasks.

use sparsefuse::prelude::*;
use sparsefuse::runtime::{BlockRef, Shape, TaskArg, View};
use sparsefuse_frame::{About, Choice, Run};
use std::ops::Range;
use std::process::ExitCode;
use std::sync::Arc;

pub(crate) const ABOUT: About = About {
    name: "tree_n_body",
    title: "Bodies in a plane that attract each other, by the tree method, as a graph of tasks",
    help: "  a(i) = sum over j of m(j) (x(j) - x(i)) / (|x(j) - x(i)|^2 + s^2)^(3/2),  s = 0.01\n\n\
           The method of Barnes and Hut (1986): the bodies lie in the cells of a quadtree, and a body feels \
           a cell as one mass at its centre where the side of the cell is less than theta times its \
           distance, else its four quarters. A step sorts the bodies along a curve through the cells \
           (Morton's order), so that each cell has neighbours in the list; a task for each cell adds up \
           mass and centre, from the quarters where it has some; a task for each branch, one of the cells \
           of the third level, computes the accelerations of its bodies; then velocities and positions \
           change. All masses are 1 / N; at the begin the bodies rest at places of a Halton sequence. The \
           result is the positions, sorted.\n\n\
           Checked: the last accelerations against direct sums, of the largest.",
    size: (2000, 1, "bodies"),
    steps: 3,
    choices: &[Choice {
        name: "theta",
        values: &["0.5", "0.25", "0"],
        help: "What a cell must be smaller than, seen from a body; 0 sums over all bodies",
    }],
    array_bytes: |n| 8.0 * n,
    arrays: 16,
};

const SOFTENING: f64 = 0.01;
const TIME_STEP: f64 = 1e-3;
/// Bodies of a cell of the last level, about.
const BODIES: usize = 8;
/// The level whose cells are branches.
const BRANCHES: u32 = 2;

#[derive(Clone, Copy)]
struct Body {
    at: [f64; 2],
    velocity: [f64; 2],
}

/// The cells: level by level, in Morton's order within each.
struct Tree {
    levels: u32,
    /// Where the bodies of each cell of the last level begin, and the end of all.
    begins: Vec<usize>,
    /// The side of the square of all bodies.
    side: f64,
}

impl Tree {
    /// Sorts the bodies.
    fn new(bodies: &mut [Body]) -> Self {
        let levels = (0..12).find(|&level| BODIES << (2 * level) >= bodies.len());
        let levels = levels.unwrap_or(12).max(BRANCHES);
        let [low, high] = [f64::min as fn(f64, f64) -> f64, f64::max].map(|of| {
            [0, 1].map(|d| {
                bodies
                    .iter()
                    .map(|body| body.at[d])
                    .reduce(of)
                    .unwrap_or(0.0)
            })
        });
        let side = (high[0] - low[0])
            .max(high[1] - low[1])
            .max(f64::MIN_POSITIVE);
        let cells = 1usize << levels;
        let code = |body: &Body| {
            let [x, y] = [0, 1].map(|d| {
                let cell = (body.at[d] - low[d]) / side * cells as f64;
                (cell as usize).min(cells - 1)
            });
            let bits = |level: u32| (y >> level & 1) << 1 | x >> level & 1;
            (0..levels)
                .map(|level| bits(level) << (2 * level))
                .sum::<usize>()
        };
        bodies.sort_by_key(code);
        let codes: Vec<usize> = bodies.iter().map(code).collect();
        let begin = |cell: usize| codes.partition_point(|&code| code < cell);
        let begins = (0..=cells * cells).map(begin).collect();
        Self {
            levels,
            begins,
            side,
        }
    }

    /// The row of a cell in the table of all.
    fn row(&self, level: u32, cell: usize) -> usize {
        ((1 << (2 * level)) - 1) / 3 + cell
    }

    /// The bodies of a cell.
    fn bodies(&self, level: u32, cell: usize) -> Range<usize> {
        let scale = 2 * (self.levels - level);
        self.begins[cell << scale]..self.begins[(cell + 1) << scale]
    }

    /// Adds to an acceleration what a cell does.
    fn attract(
        &self,
        (level, cell): (u32, usize),
        at: [f64; 2],
        (theta, masses): (f64, [BlockRef<'_, f64>; 2]),
        sum: &mut [f64],
    ) {
        let [cells, bodies] = masses;
        let members = self.bodies(level, cell);
        if members.is_empty() {
            return;
        }
        let mass = cells.row(self.row(level, cell));
        let distance = f64::hypot(mass[0] - at[0], mass[1] - at[1]);
        if self.side / f64::from(1 << level) < theta * distance {
            pull(mass, at, sum);
        } else if level == self.levels {
            members.for_each(|j| pull(bodies.row(j), at, sum));
        } else {
            for quarter in 4 * cell..4 * cell + 4 {
                self.attract((level + 1, quarter), at, (theta, masses), sum);
            }
        }
    }
}

/// Adds to an acceleration what a mass does.
fn pull(mass: &[f64], at: [f64; 2], sum: &mut [f64]) {
    let [x, y] = [mass[0] - at[0], mass[1] - at[1]];
    let squared = x * x + y * y + SOFTENING * SOFTENING;
    let factor = mass[2] / (squared * squared.sqrt());
    sum[0] += factor * x;
    sum[1] += factor * y;
}

/// The mass and the centre of these.
fn centre<'a>(parts: impl Iterator<Item = &'a [f64]>) -> [f64; 3] {
    let sum = parts.fold([0.0; 3], |[x, y, mass], part| {
        [x + part[2] * part[0], y + part[2] * part[1], mass + part[2]]
    });
    let mass = sum[2].max(f64::MIN_POSITIVE);
    [sum[0] / mass, sum[1] / mass, sum[2]]
}

/// Rows of an array.
fn rows(array: &Array<f64, 2>, rows: Range<usize>) -> Result<Arc<View>, Error> {
    let view = View::identity(Shape::new(&array.shape())).slice(0, rows, 1);
    view.map(Arc::new)
}

/// The accelerations of sorted bodies.
fn accelerations(
    run: &Run<'_>,
    bodies: &[Body],
    tree: Tree,
    theta: f64,
) -> Result<Vec<f64>, Error> {
    let n = bodies.len();
    let mass = 1.0 / n as f64;
    let masses = bodies
        .iter()
        .flat_map(|body| [body.at[0], body.at[1], mass]);
    let mut masses = Array::from_shape_vec([n, 3], masses.collect())?;
    let tree = Arc::new(tree);
    let mut cells = Array::<f64, 2>::zeros([tree.row(tree.levels + 1, 0), 3]);
    let mut found = Array::<f64, 2>::zeros([n, 2]);
    // The arrays become this function's alone, whole on each rank.
    for array in [&mut masses, &mut cells, &mut found] {
        array.blocks([1, 1])?;
    }
    let mut space = TaskSpace::new(run.runtime, "cell");
    for level in (0..=tree.levels).rev() {
        for cell in 0..1 << (2 * level) {
            let own = rows(&cells, tree.row(level, cell)..tree.row(level, cell) + 1)?;
            let members = tree.bodies(level, cell);
            let (of, parts) = match level == tree.levels {
                _ if members.is_empty() => continue,
                true => (&masses, members),
                false => {
                    let first = tree.row(level + 1, 4 * cell);
                    (&cells, first..first + 4)
                }
            };
            let parts = rows(of, parts)?;
            let task = space.unnamed_task().reads((of.store(), &parts));
            task.updates((cells.store(), &own)).run(|args| {
                let sum = centre(args.block::<f64>(0)?.rows());
                args.block_mut::<f64>(1)?.row_mut(0).copy_from_slice(&sum);
                Ok(())
            })?;
        }
    }
    let mut space = TaskSpace::new(run.runtime, "branch");
    for branch in 0..1 << (2 * BRANCHES) {
        let members = tree.bodies(BRANCHES, branch);
        if members.is_empty() {
            continue;
        }
        let (own, tree) = (rows(&found, members.clone())?, Arc::clone(&tree));
        let task = space.unnamed_task().reads(TaskArg::from(cells.store()));
        let task = task.reads(TaskArg::from(masses.store()));
        task.updates((found.store(), &own)).run(move |args| {
            let masses = [args.block::<f64>(0)?, args.block::<f64>(1)?];
            let mut found = args.block_mut::<f64>(2)?;
            for (i, sum) in members.clone().zip(found.rows_mut()) {
                let body = masses[1].row(i);
                tree.attract((0, 0), [body[0], body[1]], (theta, masses), sum);
            }
            Ok(())
        })?;
    }
    found.to_vec()
}

/// The accelerations by direct sums.
fn direct(bodies: &[Body]) -> Vec<f64> {
    let mass = 1.0 / bodies.len() as f64;
    let of = |body: &Body| {
        let mut sum = [0.0; 2];
        bodies
            .iter()
            .for_each(|other| pull(&[other.at[0], other.at[1], mass], body.at, &mut sum));
        sum
    };
    bodies.iter().flat_map(of).collect()
}

/// The fraction with the digits of a number in a base, reversed.
fn halton(mut number: usize, base: usize) -> f64 {
    let (mut fraction, mut scale) = (0.0, 1.0);
    while number > 0 {
        scale /= base as f64;
        fraction += scale * (number % base) as f64;
        number /= base;
    }
    fraction
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let theta = run.choice("theta").parse().unwrap_or(0.5);
    let rest = |i| Body {
        at: [halton(i + 1, 2), halton(i + 1, 3)],
        velocity: [0.0; 2],
    };
    let mut bodies: Vec<Body> = (0..run.size).map(rest).collect();
    let mut error = 0.0;
    for step in run.steps() {
        let tree = Tree::new(&mut bodies);
        let found = accelerations(run, &bodies, tree, theta)?;
        if step + 1 == run.n_steps() {
            let direct = direct(&bodies);
            let largest =
                |of: &mut dyn Iterator<Item = f64>| of.fold(0.0, |x: f64, y| x.max(y.abs()));
            let differences = &mut found.iter().zip(&direct).map(|(x, y)| x - y);
            error =
                largest(differences) / largest(&mut direct.iter().copied()).max(f64::MIN_POSITIVE);
        }
        for (body, found) in bodies.iter_mut().zip(found.chunks(2)) {
            for d in 0..2 {
                body.velocity[d] += TIME_STEP * found[d];
                body.at[d] += TIME_STEP * body.velocity[d];
            }
        }
    }
    let at_most = if theta > 0.0 { 0.1 * theta } else { 1e-12 };
    run.check(
        "accelerations against direct sums, of the largest",
        error,
        at_most,
    );
    let places = bodies.iter().flat_map(|body| body.at).collect();
    run.result("x", &Array::from_shape_vec([run.size, 2], places)?)
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
