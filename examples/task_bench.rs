//! Task Bench: grids of tasks with the dependences of common programs, and what a task costs.

use sparsefuse::kernels::Symbols;
use sparsefuse::prelude::*;
use sparsefuse::runtime::{Access, Body, HostBody, HostTask, Privilege, Shape, TaskArg, View};
use sparsefuse_frame::{About, Choice, Run, median};
use std::hint::black_box;
use std::ops::Range;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

pub(crate) const ABOUT: About = About {
    name: "task_bench",
    title: "Task Bench: grids of tasks with the dependences of common programs",
    help: "The benchmark of Slaughter et al. (Task Bench, SC 2020). Point i of time step t depends on some \
           points of time step t - 1:\n\n\
           stencil_1d: i - 1, i, i + 1\n\
           nearest: i - 2 to i + 2\n\
           fft: i and i - d, i + d, with d = 1, 2, 4, ... in turn\n\
           no_comm: i\n\
           tree: i / 2, on 1, 2, 4, ... points until all take part\n\
           dom: i - 1, i, on a wavefront of points that grows, moves and shrinks\n\n\
           Each point compares its inputs with the t and i of those who have made them, computes \
           (iterations times a multiplication and an addition of each of 64 numbers), and leaves its own t \
           and i, as t 2^32 + i. The result is the last output of each point.\n\n\
           A point is a task of a task space (`--form tasks`, for threads), or an element of vectors whose \
           parts the ranks hold (`--form arrays`, for ranks): there a time step is array code for the \
           comparisons, and a host task that computes for all points of a rank.\n\n\
           A step is one graph, from its first to its last point. Shown: the seconds of a graph, as a \
           median over the steps, the granularity, which is those seconds times threads and ranks that \
           could work / points, and the multiplications and additions of a second.\n\n\
           Checked: the inputs, and the result.",
    size: (8, 1, "points of a time step"),
    steps: 5,
    choices: &[
        Choice {
            name: "pattern",
            values: &["stencil_1d", "nearest", "fft", "no_comm", "tree", "dom"],
            help: "Which points a point depends on",
        },
        Choice {
            name: "form",
            values: &["tasks", "arrays"],
            help: "What a point is",
        },
        Choice {
            name: "time-steps",
            values: &["100", "1000", "10", "3"],
            help: "The time steps of a graph",
        },
        Choice {
            name: "iterations",
            values: &[
                "1", "0", "2", "4", "8", "16", "32", "64", "128", "256", "512", "1024", "2048",
                "4096", "8192", "16384", "32768", "65536", "131072",
            ],
            help: "What a point computes",
        },
    ],
    array_bytes: |n| 8.0 * n,
    arrays: 8,
};

/// A grid of points, each of which depends on some of the time step before.
struct Graph {
    pattern: String,
    width: usize,
    steps: usize,
}

impl Graph {
    /// The points of a time step.
    fn points(&self, t: usize) -> Range<usize> {
        match self.pattern.as_str() {
            "tree" => 0..self.width.min(1 << t.min(62)),
            "dom" => {
                let begin = (t + self.width).saturating_sub(self.steps);
                begin..begin + self.width.min(t + 1).min(self.steps - t)
            }
            _ => 0..self.width,
        }
    }

    /// Where the inputs of the points of a time step lie, relative to their own place; a tree's
    /// have no such place.
    fn distances(&self, t: usize) -> Vec<isize> {
        match self.pattern.as_str() {
            "stencil_1d" => (-1..=1).collect(),
            "nearest" => (-2..=2).collect(),
            "fft" => {
                let levels = self.width.next_power_of_two().trailing_zeros().max(1);
                let distance = 1 << ((t - 1) as u32 % levels);
                vec![-distance, 0, distance]
            }
            "dom" => vec![-1, 0],
            _ => vec![0],
        }
    }

    /// The points of time step `t - 1` that point `i` of time step `t` depends on.
    fn inputs(&self, t: usize, i: usize) -> Vec<usize> {
        if t == 0 {
            return Vec::new();
        }
        if self.pattern == "tree" {
            return vec![i / 2];
        }
        let (distances, before) = (self.distances(t).into_iter(), self.points(t - 1));
        let inputs = distances.filter_map(|distance| i.checked_add_signed(distance));
        inputs.filter(|i| before.contains(i)).collect()
    }

    fn n_points(&self) -> usize {
        (0..self.steps).map(|t| self.points(t).len()).sum()
    }

    /// The last time step in which a point takes part.
    fn last(&self, i: usize) -> Option<usize> {
        let mut steps = (0..self.steps).rev();
        steps.find(|&t| self.points(t).contains(&i))
    }
}

/// What a point leaves.
fn output(t: usize, i: usize) -> i64 {
    ((t as i64) << 32) + i as i64
}

/// What a point computes.
fn compute(iterations: usize, t: usize) {
    let mut numbers: [f64; 64] = std::array::from_fn(|k| t as f64 + k as f64);
    for _ in 0..iterations {
        numbers.iter_mut().for_each(|x| *x = *x * 0.75 + 0.25);
    }
    black_box(&mut numbers);
}

/// The graph as tasks of a task space; the last output of each point. The outputs of a time step
/// lie in one row of a table of two rows, in turn.
fn tasks(run: &Run<'_>, graph: &Graph, iterations: usize) -> Result<(Vec<i64>, f64), Error> {
    let inputs = |t| graph.points(t).map(move |i| graph.inputs(t, i));
    let inputs: Vec<Vec<Vec<usize>>> = (0..graph.steps).map(|t| inputs(t).collect()).collect();
    let mut table = Array::<i64, 2>::zeros([2, graph.width]);
    let blocks = table.blocks([1, 1])?;
    run.runtime.flush();
    let begin = Instant::now();
    let mut space = TaskSpace::new(run.runtime, "point");
    for (t, inputs) in inputs.into_iter().enumerate() {
        for (i, inputs) in graph.points(t).zip(inputs) {
            let mut task = space.unnamed_task();
            for &input in &inputs {
                task = task.reads(blocks.block((t + 1) % 2, input));
            }
            task.updates(blocks.block(t % 2, i)).run(move |args| {
                for (number, &input) in inputs.iter().enumerate() {
                    let found = args.block::<i64>(number)?.row(0)[0];
                    let expected = output(t - 1, input);
                    if found != expected {
                        let expected = format!("{expected} for input {input}");
                        return Err(Error::argument("point", expected, found.to_string()));
                    }
                }
                compute(iterations, t);
                args.block_mut::<i64>(inputs.len())?.row_mut(0)[0] = output(t, i);
                Ok(())
            })?;
        }
    }
    run.runtime.flush();
    let seconds = begin.elapsed().as_secs_f64();
    let table = table.to_vec()?;
    let last = |i| graph.last(i).map_or(0, |t| table[t % 2 * graph.width + i]);
    Ok(((0..graph.width).map(last).collect(), seconds))
}

/// A kernel that counts, of each point, the inputs that are not what they should be: those at these
/// distances, of points from `begin` to `end`, whose output is their place and `base`.
fn comparison(distances: &[isize]) -> Arc<Body> {
    let symbols = Symbols::new();
    let [base, begin, end] = [(); 3].map(|()| symbols.param::<i64>());
    let wrong = distances.iter().map(|&distance| {
        let input = symbols.array::<i64>();
        let place = symbols.index() + distance as i64;
        let is_input = place.greater_equal(begin) & place.less(end);
        (is_input & input.not_equal(place + base)).cast::<i64>()
    });
    let wrong = wrong.reduce(|sum, wrong| sum + wrong);
    symbols.store(wrong.expect("a point has inputs"));
    Body::new("compare", symbols.finish())
}

/// The graph as array code on vectors with a border, so that inputs at all distances exist; the
/// last output of each point.
fn arrays(run: &Run<'_>, graph: &Graph, iterations: usize) -> Result<(Vec<i64>, f64), Error> {
    let runtime = run.runtime;
    let distances = (1..graph.steps).map(|t| graph.distances(t));
    let mut kinds: Vec<Vec<isize>> = distances.collect();
    kinds.sort();
    kinds.dedup();
    let border = kinds
        .iter()
        .flatten()
        .map(|distance| distance.unsigned_abs());
    let border = border.max().unwrap_or(0);
    let shape = Shape::new(&[graph.width + 2 * border]);
    let window = |distance: isize| {
        let begin = border.wrapping_add_signed(distance);
        let view = View::identity(shape).slice(0, begin..begin + graph.width, 1);
        view.map(Arc::new)
    };
    let inner = window(0)?;
    // Of each list of distances the comparison, and the views of the inputs.
    let kinds = kinds.into_iter().map(|distances| {
        let views = distances.iter().map(|&distance| window(distance));
        let views = views.collect::<Result<Vec<_>, Error>>()?;
        Ok((comparison(&distances), views, distances))
    });
    let kinds = kinds.collect::<Result<Vec<_>, Error>>()?;
    let parents = Vector::<i64>::arange(graph.width) / 2;
    let mut outputs = Vector::<i64>::zeros([shape.len()]);
    let mut wrong = Vector::<i64>::zeros([shape.len()]);
    let (read, write) = (Privilege::Read, Privilege::Write);
    let args = [read, read, write].map(|privilege| (privilege, Access::Rows, DType::I64));
    let points_body = HostBody::new("points", &args);
    runtime.flush();
    let begin = Instant::now();
    for t in 0..graph.steps {
        let points = graph.points(t);
        if t > 0 && graph.pattern == "tree" {
            let base = output(t - 1, 0);
            let parents = parents.slice(points.clone());
            let compared = map2(&outputs.take(&parents), &parents, |input, parent| {
                input.not_equal(parent + base).cast()
            });
            wrong.assign_slice(points.clone(), compared);
        } else if t > 0 {
            let distances = graph.distances(t);
            let kind = kinds.iter().find(|kind| kind.2 == distances);
            let (body, views, _) = kind.expect("all lists of distances are there");
            let before = graph.points(t - 1);
            let numbers = [output(t - 1, 0), before.start as i64, before.end as i64];
            let inputs = views.iter().map(|view| (outputs.store(), view).into());
            let written = (wrong.store(), &inner).into();
            let args: Vec<TaskArg<'_>> = inputs.chain([written]).collect();
            runtime.submit(body, &args, &numbers.map(i64::to_value))?;
        }
        let next = runtime.new_store(shape, DType::I64);
        let task = HostTask::new(move |args| {
            let (rows, before) = (args.rows(), args.read::<i64>(0)?);
            let (wrong, outputs) = (args.read::<i64>(1)?, args.write::<i64>(2)?);
            for (place, row) in rows.enumerate() {
                let point = row.checked_sub(border).filter(|i| points.contains(i));
                outputs[place] = match point {
                    Some(i) if wrong[place] != 0 => {
                        let expected = format!("the outputs of time step {t} - 1 for point {i}");
                        let found = format!("{} others", wrong[place]);
                        return Err(Error::argument("points", expected, found));
                    }
                    Some(i) => {
                        compute(iterations, t);
                        output(t, i)
                    }
                    None => before[place],
                };
            }
            Ok(())
        });
        runtime.submit_host(&points_body, &[outputs.store(), wrong.store(), &next], task)?;
        outputs = Vector::from_store(next, None)?;
    }
    runtime.flush();
    runtime.all_gather(&[0])?; // all ranks have ended
    let seconds = begin.elapsed().as_secs_f64();
    let outputs = outputs.slice(border..border + graph.width);
    Ok((outputs.to_vec()?, seconds))
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let number = |name| run.choice(name).parse().unwrap_or(1);
    let (iterations, steps) = (number("iterations"), number("time-steps"));
    let graph = Graph {
        pattern: run.choice("pattern").to_owned(),
        width: run.size,
        steps,
    };
    let (mut seconds, mut outputs) = (Vec::new(), Vec::new());
    for _ in run.steps() {
        let (found, time) = match run.choice("form") {
            "arrays" => arrays(run, &graph, iterations)?,
            _ => tasks(run, &graph, iterations)?,
        };
        seconds.push(time);
        outputs = found;
    }
    let seconds = median(seconds);
    let workers = match run.choice("form") {
        "arrays" => run.runtime.ranks(),
        _ => run.runtime.config().threads,
    };
    let points = graph.n_points() as f64;
    run.show("points", points);
    run.show("seconds of a graph", seconds);
    let granularity = seconds * workers as f64 / points * 1e6;
    run.show("granularity in microseconds", granularity);
    let operations = points * (2 * 64 * iterations) as f64;
    run.show("operations of a second", operations / seconds);
    let expected = |i| graph.last(i).map_or(0, |t| output(t, i));
    let differing = (0..).zip(&outputs).filter(|of| *of.1 != expected(of.0));
    run.check("outputs that are wrong", differing.count() as f64, 0.0);
    run.result("outputs", &Vector::from_vec(outputs))
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
