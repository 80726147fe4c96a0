//! Graphs of tasks that do nothing but wait: what a task costs.

use sparsefuse::prelude::*;
use sparsefuse::runtime::TaskArg;
use sparsefuse_frame::{About, Choice, Run, median};
use std::process::ExitCode;
use std::time::{Duration, Instant};

pub(crate) const ABOUT: About = About {
    name: "synthetic_graphs",
    title: "Graphs of tasks that wait",
    help: "Each task is busy for a given time, then adds to the numbers of one row of a table.\n\n\
           serial: every task changes the first row, so each follows the one before.\n\
           independent: every task changes a row of its own.\n\
           reduction: N rows, of which each of N - 1 tasks adds one to another, as a binary tree.\n\n\
           A step is one graph. The result is the table. Shown: the seconds of a graph, and what a task \
           takes of a thread beyond the time that it is busy, in microseconds, as a median over the \
           steps: (seconds times threads that could work - busy time) / tasks. With `--beside rayon` the \
           same graph runs as closures on a pool of rayon with as many threads (a loop, \
           `scope` with `spawn`, recursive `join`), in turn.\n\n\
           Checked: the first number of the table.",
    size: (1000, 1, "tasks, and rows of the table"),
    steps: 5,
    choices: &[
        Choice {
            name: "graph",
            values: &["independent", "serial", "reduction"],
            help: "Which graph",
        },
        Choice {
            name: "busy",
            values: &["0", "10", "100", "1000", "16000", "50000"],
            help: "How long a task is busy, in microseconds",
        },
        Choice {
            name: "beside",
            values: &["nothing", "rayon"],
            help: "What else is timed",
        },
    ],
    array_bytes: |n| 8.0 * n * WIDTH as f64,
    arrays: 3,
};

const WIDTH: usize = 8;

/// The work of a task: to be busy for a time.
fn work(busy: Duration) {
    let begin = Instant::now();
    while !busy.is_zero() && begin.elapsed() < busy {
        std::hint::spin_loop();
    }
}

/// Which rows the tasks of a graph read and change, in their order.
fn uses(graph: &str, n: usize) -> Vec<(Option<usize>, usize)> {
    match graph {
        "serial" => (0..n).map(|_| (None, 0)).collect(),
        "reduction" => {
            let distances = std::iter::successors(Some(1), |&distance| Some(2 * distance));
            let distances = distances.take_while(|&distance| distance < n);
            let level = |distance: usize| {
                let pairs = (0..n - distance).step_by(2 * distance);
                pairs.map(move |row| (Some(row + distance), row))
            };
            distances.flat_map(level).collect()
        }
        _ => (0..n).map(|row| (None, row)).collect(),
    }
}

/// Runs a graph as tasks.
fn tasks(
    run: &Run<'_>,
    rows: &[TaskArg<'_>],
    uses: &[(Option<usize>, usize)],
    busy: Duration,
) -> Result<(), Error> {
    let mut space = TaskSpace::new(run.runtime, "graph");
    for (number, &(read, changed)) in uses.iter().enumerate() {
        let mut task = space.task(number);
        if let Some(read) = read {
            task = task.reads(rows[read]);
        }
        let task = task.updates(rows[changed]);
        task.run(move |args| {
            work(busy);
            let mut changed = args.block_mut::<f64>(usize::from(read.is_some()))?;
            let changed = changed.row_mut(0);
            match read {
                Some(_) => {
                    let row = args.block::<f64>(0)?.row(0);
                    changed.iter_mut().zip(row).for_each(|(x, y)| *x += y);
                }
                None => changed.iter_mut().for_each(|x| *x += 1.0),
            }
            Ok(())
        })?;
    }
    space.wait_all()
}

/// The same graph on rayon.
fn closures(graph: &str, n: usize, busy: Duration, pool: &rayon::ThreadPool) -> Vec<[f64; WIDTH]> {
    let mut table = vec![[1.0; WIDTH]; n];
    let one = |row: &mut [f64; WIDTH]| {
        work(busy);
        row.iter_mut().for_each(|x| *x += 1.0);
    };
    pool.install(|| match graph {
        "serial" => (0..n).for_each(|_| one(&mut table[0])),
        "reduction" => sum(&mut table, busy),
        _ => rayon::scope(|scope| {
            for row in &mut table {
                scope.spawn(move |_| one(row));
            }
        }),
    });
    table
}

/// Adds all rows to the first one.
fn sum(rows: &mut [[f64; WIDTH]], busy: Duration) {
    if rows.len() < 2 {
        return;
    }
    let half = rows.len().next_power_of_two() / 2;
    let (left, right) = rows.split_at_mut(half);
    rayon::join(|| sum(left, busy), || sum(right, busy));
    work(busy);
    left[0].iter_mut().zip(&right[0]).for_each(|(x, y)| *x += y);
}

pub(crate) fn program(run: &Run<'_>) -> Result<(), Error> {
    let (n, graph) = (run.size, run.choice("graph"));
    let busy = Duration::from_micros(run.choice("busy").parse().unwrap_or(0));
    let threads = run.runtime.config().threads;
    let uses = uses(graph, n);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| {
        Error::argument(
            "rayon",
            "as many threads as the system grants",
            error.to_string(),
        )
    })?;
    let mut table = Array::<f64, 2>::ones([n, WIDTH]);
    let (mut own, mut others) = (Vec::new(), Vec::new());
    let mut found = 0.0;
    for _ in run.steps() {
        table = Array::ones([n, WIDTH]);
        let blocks = table.blocks([1, WIDTH])?;
        let rows: Vec<TaskArg<'_>> = (0..n).map(|row| blocks.block(row, 0)).collect();
        run.runtime.flush();
        let begin = Instant::now();
        tasks(run, &rows, &uses, busy)?;
        own.push(begin.elapsed().as_secs_f64());
        if run.choice("beside") == "rayon" {
            let begin = Instant::now();
            let table = closures(graph, n, busy, &pool);
            others.push(begin.elapsed().as_secs_f64());
            found = table[0][0];
        }
    }
    // What could work at once, most of the time.
    let at_once = if graph == "serial" { 1 } else { threads };
    let beyond = |seconds: f64| {
        let busy = busy.as_secs_f64() * uses.len() as f64;
        (seconds * at_once as f64 - busy) / uses.len().max(1) as f64 * 1e6
    };
    let own = median(own);
    run.show("seconds of a graph", own);
    run.show("microseconds of a task besides", beyond(own));
    if !others.is_empty() {
        let others = median(others);
        run.show("seconds of a graph on rayon", others);
        run.show("microseconds of a closure of rayon besides", beyond(others));
        run.check(
            "first number against rayon's",
            (table.to_vec()?[0] - found).abs(),
            0.0,
        );
    }
    let first = match graph {
        "serial" => n as f64 + 1.0,
        "reduction" => n as f64,
        _ => 2.0,
    };
    let first = (table.slice((..1, ..1)) - first).norm_inf().get()?;
    run.check("the first number against its value", first, 0.0);
    run.result("table", &table)
}

fn main() -> ExitCode {
    sparsefuse_frame::main(&ABOUT, program)
}
