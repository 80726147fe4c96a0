//! Graphs of host tasks on blocks and names: random ones against a model that runs one task after
//! the other, in all settings; what runs at once, what waits, what fails with what.

use sparsefuse_kernels::DType;
use sparsefuse_runtime::{
    Access, Config, Error, HostArgs, HostBody, HostTask, Local, Partition, Privilege, Runtime,
    Shape, StoreHandle, TaskArg, TaskSpace, View, plan_rank, run_ranks,
};
use sparsefuse_testing::bodies::copy;
use sparsefuse_testing::small;
use sparsefuse_testing::stores::read;
use std::ops::Range;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a test waits for what should come at once, before it fails.
const LONG: Duration = Duration::from_secs(60);

fn runtime(threads: usize) -> Runtime {
    let config = Config {
        threads,
        ..Config::default()
    };
    Runtime::new(config).expect("the settings are in range")
}

fn grid(runtime: &Runtime, n: usize, element: f64) -> StoreHandle {
    let stored = runtime.store_from_vec(Shape::new(&[n, n]), vec![element; n * n]);
    stored.expect("the shape is that of the elements")
}

/// A box of a store of two dimensions.
fn region(store: &StoreHandle, rows: Range<usize>, columns: Range<usize>) -> Arc<View> {
    let view = View::identity(store.shape()).slice(0, rows, 1);
    let view = view.and_then(|view| view.slice(1, columns, 1));
    Arc::new(view.expect("the box lies in the store"))
}

fn add(by: f64) -> impl FnOnce(&mut HostArgs<'_>) -> Result<(), Error> + Send + 'static {
    move |args| {
        let mut block = args.block_mut::<f64>(0)?;
        block.rows_mut().flatten().for_each(|x| *x += by);
        Ok(())
    }
}

/// Two functions that end only if both run at once.
fn meeting() -> [impl FnOnce() + Send + 'static; 2] {
    let (to_second, from_first) = channel();
    let (to_first, from_second) = channel();
    [(to_second, from_second), (to_first, from_first)].map(|(send, receive)| {
        move || {
            let met = send.send(()).is_ok() && receive.recv_timeout(LONG).is_ok();
            assert!(met, "the other one runs");
        }
    })
}

const N: usize = 12;

/// A generator of numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: usize) -> usize {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1);
        (self.0 >> 33) as usize % n
    }

    fn range(&mut self) -> Range<usize> {
        // Mostly blocks of a grid, so that some are the same and many are disjoint.
        match self.roll(5) {
            0 => {
                let (a, b) = (self.roll(N), self.roll(N));
                a.min(b)..a.max(b) + 1
            }
            _ => {
                let k = self.roll(3) * 4;
                k..k + 4
            }
        }
    }
}

/// A block of one of some stores.
#[derive(Clone, Debug)]
struct Block {
    store: usize,
    rows: Range<usize>,
    columns: Range<usize>,
}

impl Block {
    fn meets(&self, other: &Self) -> bool {
        let meet = |a: &Range<usize>, b: &Range<usize>| a.start < b.end && b.start < a.end;
        self.store == other.store
            && meet(&self.rows, &other.rows)
            && meet(&self.columns, &other.columns)
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// A task of the space.
    Task {
        reads: Vec<Block>,
        updates: Vec<Block>,
        after: Vec<usize>,
        fails: bool,
    },
    /// A kernel that copies a box of the first store, which never fails, to that of another.
    Copy(Block),
    Start,
    Flush,
}

/// A program, in which task `k` of the space has the name `k / 7, k % 7`.
fn program(seed: u64) -> Vec<Step> {
    let mut dice = Dice(seed);
    let mut tasks = 0;
    let step = |dice: &mut Dice, tasks: &mut usize| match dice.roll(24) {
        0 => Step::Start,
        1 if dice.roll(2) == 0 => Step::Flush,
        2 => Step::Copy(Block {
            store: 1 + dice.roll(2),
            rows: dice.range(),
            columns: dice.range(),
        }),
        _ => {
            let block = |dice: &mut Dice, from: usize| Block {
                store: from + dice.roll(3 - from),
                rows: dice.range(),
                columns: dice.range(),
            };
            let mut updates: Vec<Block> = Vec::new();
            for _ in 0..dice.roll(3) {
                let new = block(dice, 1);
                if !updates.iter().any(|other| other.meets(&new)) {
                    updates.push(new);
                }
            }
            let mut reads = Vec::new();
            for _ in 0..dice.roll(3) {
                let new = block(dice, 0);
                if !updates.iter().any(|other| other.meets(&new)) {
                    reads.push(new);
                }
            }
            let after = (0..dice.roll(3)).filter(|_| *tasks > 0);
            let after = after.map(|_| dice.roll(*tasks)).collect();
            *tasks += 1;
            Step::Task {
                reads,
                updates,
                after,
                fails: dice.roll(25) == 0,
            }
        }
    };
    (0..70).map(|_| step(&mut dice, &mut tasks)).collect()
}

fn name(task: usize) -> [usize; 2] {
    [task / 7, task % 7]
}

/// What a task does to the elements that it changes, given the rows that it reads.
fn change<'a>(
    number: usize,
    read: impl Iterator<Item = &'a [f64]>,
    changed: impl Iterator<Item = &'a mut [f64]>,
) {
    let sum = read.flatten().fold(0.0, |sum: f64, x| (sum + x) * 0.75);
    for (place, x) in changed.flatten().enumerate() {
        *x = (*x * 0.5 + sum + number as f64).sin() + place as f64 * 1e-3;
    }
}

/// What is left: the bits of each store, and how each task has ended, or why not.
type Outcome = (Vec<Result<Vec<u64>, String>>, Vec<Result<(), String>>);

fn bits(elements: &[f64]) -> Vec<u64> {
    elements.iter().map(|x| x.to_bits()).collect()
}

fn model(program: &[Step]) -> Outcome {
    let mut stores: Vec<Vec<f64>> = (0..3).map(|k| vec![f64::from(k); N * N]).collect();
    // Why stores have failed as a whole, and blocks of them.
    let mut poison: Vec<Option<String>> = vec![None; 3];
    let mut marred: Vec<(Block, String)> = Vec::new();
    let mut ends: Vec<Result<(), String>> = Vec::new();
    let copied = |block: &Block, store: &[f64]| -> Vec<Vec<f64>> {
        let row = |row| store[row * N..][block.columns.clone()].to_vec();
        block.rows.clone().map(row).collect()
    };
    for step in program {
        match step {
            Step::Start | Step::Flush => {}
            Step::Copy(block) => {
                let mut first = marred
                    .iter()
                    .filter(|(other, _)| other.store == block.store);
                let cause = first.next().map(|(_, cause)| cause.clone());
                let known = &mut poison[block.store];
                *known = known.take().or(cause);
                for (row, elements) in block.rows.clone().zip(copied(block, &stores[0])) {
                    let to = &mut stores[block.store][row * N..][block.columns.clone()];
                    to.copy_from_slice(&elements);
                }
            }
            Step::Task {
                reads,
                updates,
                after,
                fails,
            } => {
                let number = ends.len();
                let of_block = |block: &Block| {
                    let of = marred.iter().find(|(other, _)| other.meets(block));
                    let poison = poison[block.store].clone();
                    poison.or_else(|| of.map(|(_, cause)| cause.clone()))
                };
                let of_blocks = reads.iter().chain(updates).find_map(of_block);
                let of_names = || after.iter().find_map(|&of| ends[of].clone().err());
                let own = || {
                    let [i, j] = name(number);
                    let cause = format!("task: expected a good day, found {number}");
                    fails.then(|| format!("`graph[{i}, {j}]` failed: {cause}"))
                };
                if let Some(cause) = of_blocks.or_else(of_names).or_else(own) {
                    marred.extend(updates.iter().map(|block| (block.clone(), cause.clone())));
                    ends.push(Err(cause));
                    continue;
                }
                ends.push(Ok(()));
                let read = reads
                    .iter()
                    .flat_map(|block| copied(block, &stores[block.store]));
                let read: Vec<Vec<f64>> = read.collect();
                for block in updates {
                    let mut rows = copied(block, &stores[block.store]);
                    let changed = rows.iter_mut().map(Vec::as_mut_slice);
                    change(number, read.iter().map(Vec::as_slice), changed);
                    for (row, elements) in block.rows.clone().zip(rows) {
                        let to = &mut stores[block.store][row * N..][block.columns.clone()];
                        to.copy_from_slice(&elements);
                    }
                }
            }
        }
    }
    let stores = stores.iter().enumerate().map(|(number, store)| {
        let mut of = marred.iter().filter(|(block, _)| block.store == number);
        let marred = of.next().map(|(_, cause)| cause.clone());
        match poison[number].clone().or(marred) {
            Some(cause) => Err(cause),
            None => Ok(bits(store)),
        }
    });
    (stores.collect(), ends)
}

fn run(program: &[Step], config: Config) -> Outcome {
    let runtime = Runtime::new(config).expect("the settings are in range");
    run_on(&runtime, program)
}

fn run_on(runtime: &Runtime, program: &[Step]) -> Outcome {
    let stores = (0..3).map(|k| {
        let (shape, elements) = (Shape::new(&[N, N]), vec![f64::from(k); N * N]);
        let stored = runtime.store_of_rows(shape, Partition::Replicated, 0..N, elements);
        stored.expect("the shape is that of the elements")
    });
    let stores: Vec<StoreHandle> = stores.collect();
    let view = |block: &Block| {
        let store = &stores[block.store];
        region(store, block.rows.clone(), block.columns.clone())
    };
    let mut space = TaskSpace::new(runtime, "graph");
    for step in program {
        match step {
            Step::Start => runtime.start(),
            Step::Flush => runtime.flush(),
            Step::Copy(block) => {
                let from = view(&Block {
                    store: 0,
                    ..block.clone()
                });
                let to = view(block);
                let args = [
                    (&stores[0], &from).into(),
                    (&stores[block.store], &to).into(),
                ];
                let issued = runtime.submit(copy(), &args, &[]);
                issued.expect("the arguments fit the body");
            }
            Step::Task {
                reads,
                updates,
                after,
                fails,
            } => {
                let number = space.len();
                let (n_reads, n_updates, fails) = (reads.len(), updates.len(), *fails);
                let all: Vec<(usize, Arc<View>)> = reads
                    .iter()
                    .chain(updates)
                    .map(|block| (block.store, view(block)))
                    .collect();
                let mut task = space.task(name(number));
                task = match number % 4 {
                    0 => task.threads(1 + number / 4 % runtime.config().threads),
                    1 => task.scratch(100 * number),
                    _ => task,
                };
                for (place, (store, view)) in all.iter().enumerate() {
                    let arg = TaskArg::from((&stores[*store], view));
                    task = match place < n_reads {
                        true => task.reads(arg),
                        false => task.updates(arg),
                    };
                }
                let task = task.after(after.iter().map(|&of| name(of)));
                let issued = task.run(move |args| {
                    if fails {
                        return Err(Error::argument("task", "a good day", number.to_string()));
                    }
                    let read: Result<Vec<_>, Error> = (0..n_reads).map(|k| args.block(k)).collect();
                    let read = read?;
                    for place in n_reads..n_reads + n_updates {
                        let mut block = args.block_mut::<f64>(place)?;
                        let rows = read.iter().flat_map(|block| block.rows());
                        change(number, rows, block.rows_mut());
                    }
                    Ok(())
                });
                issued.expect("the arguments fit the body");
            }
        }
    }
    let text = |error: Error| error.to_string();
    let found = stores
        .iter()
        .map(|store| Ok(bits(&read(store).map_err(text)?)));
    let found = found.collect();
    let ends = (0..space.len()).map(|task| space.wait(name(task)).map_err(text));
    (found, ends.collect())
}

#[test]
fn random_graphs_do_what_they_mean_in_all_settings() {
    let mut failed = 0;
    for seed in 0..40 {
        let program = program(seed);
        let expected = model(&program);
        failed += expected.0.iter().filter(|store| store.is_err()).count();
        for (threads, fusion, run_ahead, window) in [
            (1, true, 0, 128),
            (1, false, 2, 5),
            (2, true, 2, 128),
            (2, false, 0, 7),
            (4, true, 2, 16),
        ] {
            let config = Config {
                threads,
                fusion,
                run_ahead,
                window,
                max_window: window,
                ..small()
            };
            let found = run(&program, config);
            assert_eq!(
                found, expected,
                "seed {seed}, {threads} threads, window {window}"
            );
        }
    }
    assert!(
        (20..100).contains(&failed),
        "some fail, others do not: {failed}"
    );
}

#[test]
fn every_rank_runs_all_tasks_on_stores_that_it_holds_whole() {
    for seed in 0..6 {
        let program = program(seed);
        let expected = model(&program);
        let found = run_ranks(3, &small(), |runtime| run_on(runtime, &program)).unwrap();
        assert!(found.iter().all(|found| *found == expected), "seed {seed}");
    }
}

#[test]
fn a_store_that_is_cut_has_no_blocks() {
    let found = run_ranks(2, &small(), |runtime| {
        let x = grid(runtime, 40, 1.0);
        let mut space = TaskSpace::new(runtime, "add");
        space.task(0).updates(&x).run(add(1.0)).unwrap();
        space.wait(0).unwrap_err().to_string()
    });
    let expected = "`add` failed: block: expected blocks of a store that every rank holds whole, \
                    found one whose rows are cut";
    assert_eq!(found.unwrap(), [expected, expected]);
}

#[test]
fn disjoint_blocks_of_a_store_are_written_at_once() {
    let runtime = runtime(2);
    let x = grid(&runtime, 4, 1.0);
    let mut space = TaskSpace::new(&runtime, "meet");
    for (k, meet) in meeting().into_iter().enumerate() {
        let block = region(&x, 0..4, 2 * k..2 * k + 2);
        let task = space.task(k).updates((&x, &block));
        let issued = task.run(move |args| {
            let mut block = args.block_mut::<f64>(0)?;
            meet();
            block.row_mut(3).fill(k as f64);
            Ok(())
        });
        issued.unwrap();
    }
    space.wait_all().unwrap();
    let expected = [[1.0; 12].as_slice(), &[0.0, 0.0, 1.0, 1.0]].concat();
    assert_eq!(read(&x).unwrap(), expected);
}

#[test]
fn tasks_come_after_the_names_that_they_give() {
    let runtime = runtime(3);
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut space = TaskSpace::new(&runtime, "names");
    let mut last = TaskSpace::new(&runtime, "last");
    let note = |number: usize| {
        let order = Arc::clone(&order);
        move |_: &mut HostArgs<'_>| {
            // Those that come first take longest.
            std::thread::park_timeout(Duration::from_millis(5 * (4 - number as u64)));
            order.lock().expect("no task panics").push(number);
            Ok(())
        }
    };
    space.task(0).run(note(0)).unwrap();
    space.task(1).after([0]).run(note(1)).unwrap();
    space.task([2, 0]).after([1, 0]).run(note(2)).unwrap();
    last.task(0)
        .after_in(&space, [[2, 0]])
        .run(note(3))
        .unwrap();
    last.wait(0).unwrap();
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3]);
}

#[test]
fn names_that_no_task_has_are_refused() {
    let runtime = runtime(1);
    let mut space = TaskSpace::new(&runtime, "s");
    let issued = space.task([1, 2]).after([[0, 2]]).run(|_| Ok(()));
    let expected = "after: expected the name of a task that `s` has been given, found [0, 2]";
    assert_eq!(issued.unwrap_err().to_string(), expected);
    let expected = "wait: expected the name of a task that `s` has been given, found [1, 2]";
    assert_eq!(space.wait([1, 2]).unwrap_err().to_string(), expected);
}

#[test]
fn a_task_that_panics_fails_by_its_name() {
    let runtime = runtime(2);
    let x = grid(&runtime, 4, 1.0);
    let mut space = TaskSpace::new(&runtime, "bad");
    let halves = [0..2, 2..4].map(|rows| region(&x, rows, 0..4));
    let task = space.task([3, 1, 4]).updates((&x, &halves[0]));
    task.run(|_| panic!("no")).unwrap();
    space
        .task(0)
        .updates((&x, &halves[1]))
        .run(add(1.0))
        .unwrap();
    space
        .task(1)
        .reads((&x, &halves[1]))
        .run(|_| Ok(()))
        .unwrap();
    space
        .task(2)
        .reads((&x, &halves[0]))
        .run(|_| Ok(()))
        .unwrap();
    let expected = "`bad[3, 1, 4]` failed: `bad[3, 1, 4]` panicked: no";
    assert_eq!(space.wait([3, 1, 4]).unwrap_err().to_string(), expected);
    assert_eq!(space.wait(2).unwrap_err().to_string(), expected);
    space.wait(0).unwrap();
    space.wait(1).unwrap();
    assert_eq!(read(&x).unwrap_err().to_string(), expected);
}

/// A function sees its blocks, and nothing of what orders the tasks.
#[test]
fn a_task_that_asks_for_another_block_fails() {
    let runtime = runtime(1);
    let x = grid(&runtime, 4, 1.0);
    let mut space = TaskSpace::new(&runtime, "asks");
    space.task(0).run(|_| Ok(())).unwrap();
    let task = space.task(1).after([0]).reads(&x);
    task.run(|args| args.block::<f64>(1).map(drop)).unwrap();
    let task = space.task(2).after([0]).reads(&x);
    task.run(|args| args.block_mut::<f64>(0).map(drop)).unwrap();
    let expected = "host task: expected argument 1 to be a block that is read, found none";
    let found = space.wait(1).unwrap_err().to_string();
    assert_eq!(found, format!("`asks[1]` failed: {expected}"));
    let found = space.wait(2).unwrap_err().to_string();
    let expected = "argument 0 to be a block that is written and not taken yet, found a block that \
                    is read";
    assert!(found.ends_with(expected), "{found}");
}

#[test]
fn tasks_without_names_are_ordered_by_their_blocks_and_fail_with_them() {
    for threads in [1, 2] {
        let runtime = runtime(threads);
        let x = grid(&runtime, 4, 1.0);
        let [upper, lower] = [0..2, 2..4].map(|rows| region(&x, rows, 0..4));
        let mut space = TaskSpace::new(&runtime, "part");
        for _ in 0..300 {
            let task = space.unnamed_task().reads((&x, &upper));
            let task = task.updates((&x, &lower)).run(|args| {
                let upper = args.block::<f64>(0)?.row(0)[0];
                let mut lower = args.block_mut::<f64>(1)?;
                lower.rows_mut().flatten().for_each(|x| *x += upper);
                Ok(())
            });
            task.expect("the blocks fit");
            let task = space.unnamed_task().updates((&x, &upper)).run(add(1.0));
            task.expect("the block fits");
        }
        assert!(space.is_empty());
        space.wait_all().expect("no task has a name");
        let elements = read(&x).expect("no task fails");
        assert_eq!(elements[..8], [301.0; 8]);
        assert_eq!(elements[8..], [1.0 + 300.0 * 301.0 / 2.0; 8]);

        let fails = |_: &mut HostArgs<'_>| Err(Error::argument("part", "luck", "none"));
        let task = space.unnamed_task().updates((&x, &upper)).run(fails);
        task.expect("the block fits");
        let error = read(&x).expect_err("a block is marred").to_string();
        assert!(error.starts_with("`part` failed: "), "{error}");
        let refused = space.unnamed_task().reads((&x, &lower)).run(|_| Ok(()));
        let expected = "run: expected a task that has a name or changes a block, found one that has \
                        neither";
        assert_eq!(refused.expect_err("it does nothing").to_string(), expected);
    }
}

#[test]
fn what_the_program_still_reads_is_not_changed() {
    for threads in [1, 2] {
        let runtime = runtime(threads);
        let x = grid(&runtime, 4, 1.0);
        let before: Local<f64> = runtime.local(&x).unwrap();
        let mut space = TaskSpace::new(&runtime, "add");
        for k in 0..4 {
            let row = region(&x, k..k + 1, 0..4);
            space
                .task(k)
                .updates((&x, &row))
                .run(add(k as f64))
                .unwrap();
        }
        space.wait_all().unwrap();
        assert_eq!(before[..], [1.0; 16]);
        assert_eq!(read(&x).unwrap()[12..], [4.0; 4]);
    }
}

#[test]
fn a_store_with_clones_is_not_changed_in_place() {
    let runtime = runtime(2);
    let x = grid(&runtime, 4, 1.0);
    let clone = x.clone();
    let mut space = TaskSpace::new(&runtime, "add");
    let error = space.task(0).updates(&x).run(add(1.0)).unwrap_err();
    let expected = "expected a store with one handle, to change blocks of it in place, found one \
                    with clones";
    assert!(error.to_string().contains(expected), "{error}");
    assert_eq!(read(&clone).unwrap(), [1.0; 16]);
    drop(clone);
    // While other tasks of the window, and windows under way, use it too.
    for k in 1..4 {
        space.task(k).updates(&x).run(add(1.0)).unwrap();
        runtime.start();
    }
    assert_eq!(read(&x).unwrap(), [4.0; 16]);
}

#[test]
fn blocks_that_do_not_fit_are_refused() {
    let runtime = runtime(1);
    let x = grid(&runtime, 4, 1.0);
    let mut space = TaskSpace::new(&runtime, "s");
    let [left, all] = [0..2, 0..4].map(|columns| region(&x, 0..4, columns));
    let task = space.task(0).reads((&x, &left)).updates((&x, &all));
    let expected = "submit: expected arguments that share no element, found one that reads what \
                    another writes";
    assert_eq!(task.run(|_| Ok(())).unwrap_err().to_string(), expected);
    let turned = Arc::new(View::identity(x.shape()).transpose());
    let task = space.task(0).updates((&x, &turned));
    let expected = "block: expected a block whose rows are neighbouring elements, one row behind the \
                    other, found steps of 1 and 4 elements";
    assert_eq!(task.run(|_| Ok(())).unwrap_err().to_string(), expected);
    let new = runtime.new_store(x.shape(), DType::F64);
    let task = space.task(0).updates(&new);
    let expected = "submit: expected a store with contents, found one that nothing has written";
    assert_eq!(task.run(|_| Ok(())).unwrap_err().to_string(), expected);
    let task = space.task(0).updates(&x);
    task.run(|args| args.block_mut::<f32>(0).map(|_| ()))
        .unwrap();
    let expected = "`s[0]` failed: host task: expected elements of type f32, found f64";
    assert_eq!(space.wait(0).unwrap_err().to_string(), expected);
    let body = HostBody::new("cut", &[(Privilege::Write, Access::Block, DType::F64)]);
    let (partition, _) = runtime.default_rows(x.shape());
    let task = HostTask {
        launch: Some(runtime.partition_at(&[0, 4]).unwrap_or(partition)),
        ..HostTask::new(|_| Ok(()))
    };
    let refused = runtime
        .submit_host(&body, &[&x], task)
        .unwrap_err()
        .to_string();
    let expected = "submit_host: expected no launch for a task with blocks, which is not cut, found \
                    one that cuts it";
    assert_eq!(refused, expected);
}

#[test]
fn a_copy_without_memory_fails_the_tasks_that_need_it() {
    for threads in [1, 2] {
        // Room for the grid and the names, not for a copy of the grid.
        let config = Config {
            threads,
            memory_limit: 16 * 16 * 8 + 1024,
            ..Config::default()
        };
        let runtime = Runtime::new(config).unwrap();
        let x = grid(&runtime, 16, 1.0);
        let before: Local<f64> = runtime.local(&x).unwrap();
        let mut space = TaskSpace::new(&runtime, "add");
        let halves = [0..8, 8..16].map(|rows| region(&x, rows, 0..16));
        for (k, half) in halves.iter().enumerate() {
            space.task(k).reads((&x, half)).run(|_| Ok(())).unwrap();
            space.task(2 + k).updates((&x, half)).run(add(1.0)).unwrap();
        }
        space.wait(0).unwrap();
        space.wait(1).unwrap();
        for k in [2, 3] {
            let error = space.wait(k).unwrap_err().to_string();
            assert!(
                error.starts_with("`add` failed: expected 2048 bytes of memory"),
                "{error}"
            );
        }
        assert!(read(&x).is_err());
        assert_eq!(before[..], [1.0; 256]);
    }
}

#[test]
fn a_plan_counts_tasks_on_blocks_and_does_not_run_them() {
    let planned = plan_rank(0, 3, &small(), |runtime| {
        let (shape, elements) = (Shape::new(&[N, N]), vec![1.0; N * N]);
        let x = runtime.store_of_rows(shape, Partition::Replicated, 0..N, elements);
        let x = x.unwrap();
        let mut space = TaskSpace::new(runtime, "never");
        let block = region(&x, 0..4, 0..5);
        let task = space.task(0).updates((&x, &block));
        task.run(|_| panic!("a plan runs no function")).unwrap();
        space.wait_all().unwrap();
        runtime.take_plan()
    });
    let planned = planned.unwrap();
    assert_eq!(
        (planned[0].name.as_str(), planned[0].bytes),
        ("never", 2 * 20 * 8 + 1)
    );
}

#[test]
fn a_repeated_graph_is_remembered_and_leaves_no_memory() {
    let runtime = runtime(2);
    let x = grid(&runtime, N, 1.0);
    let blocks: Vec<Arc<View>> = (0..3).map(|k| region(&x, 4 * k..4 * k + 4, 0..N)).collect();
    let held = runtime.memory_in_use();
    for round in 0..5 {
        let mut space = TaskSpace::new(&runtime, "again");
        for step in 0..4 {
            for (k, block) in blocks.iter().enumerate() {
                space
                    .task([step, k])
                    .updates((&x, block))
                    .run(add(1.0))
                    .unwrap();
            }
        }
        space.wait_all().unwrap();
        let counters = runtime.counters();
        assert_eq!((counters.windows, counters.trace_hits), (round + 1, round));
        drop(space);
        assert_eq!(runtime.memory_in_use(), held);
    }
    assert_eq!(read(&x).unwrap(), [21.0; N * N]);
}

#[test]
fn a_function_that_divides_its_block_has_all_threads() {
    let runtime = runtime(2);
    let x = grid(&runtime, 8, 1.0);
    let mut space = TaskSpace::new(&runtime, "halves");
    // From the second time on it is known that these divide their work.
    for round in 0..3 {
        for k in 0..2 {
            let block = region(&x, 4 * k..4 * k + 4, 0..8);
            let task = space.task([round, k]).updates((&x, &block));
            let issued = task.run(move |args| {
                let mut block = args.block_mut::<f64>(0)?;
                let mut rows: Vec<&mut [f64]> = block.rows_mut().collect();
                args.in_parts_to(&mut rows, &[2, 4], |_, rows| {
                    rows.iter_mut()
                        .for_each(|row| row.iter_mut().for_each(|x| *x += 1.0));
                    Ok(())
                })
            });
            issued.unwrap();
        }
        space.wait_all().unwrap();
    }
    assert_eq!(read(&x).unwrap(), [4.0; 64]);
}
