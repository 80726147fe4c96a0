//! How many tasks a window takes: programs that read nothing are cut at their period.

use sparsefuse_kernels::{ArgKind, BinaryOp, DType, Element, KernelBuilder};
use sparsefuse_runtime::{
    Body, Config, Counters, Runtime, Shape, StoreHandle, TaskArg, View, run_ranks,
};
use std::sync::Arc;

/// y = a x + b, with a parameter `a`.
fn axpb(name: &str) -> Arc<Body> {
    let mut build = KernelBuilder::new();
    let [x, b, y] = [(); 3].map(|()| build.arg(DType::F64, ArgKind::Array));
    let a = build.param(DType::F64);
    let (x, b) = (build.load(x), build.load(b));
    let ax = build.binary(BinaryOp::Mul, a, x);
    let sum = build.binary(BinaryOp::Add, ax, b);
    build.store(y, sum);
    Body::new(name, build.finish())
}

/// What programs of two kinds of tasks work on.
struct Program {
    runtime: Runtime,
    bodies: [Arc<Body>; 2],
    b: StoreHandle,
    x: StoreHandle,
    issued: u32,
}

impl Program {
    fn new(runtime: &Runtime, shape: Shape) -> Self {
        let ramp = (0..shape.len()).map(|i| (i as f64 + 1.0).sin());
        let ramp = runtime.store_from_vec(shape, ramp.collect());
        let ramp = ramp.expect("the shape is that of the elements");
        Self {
            runtime: runtime.clone(),
            bodies: ["first", "other"].map(axpb),
            x: ramp.clone(),
            b: ramp,
            issued: 0,
        }
    }

    /// Issues so many tasks of a kind.
    fn issue(&mut self, body: usize, tasks: usize) {
        for _ in 0..tasks {
            self.issue_seen(body, None);
        }
    }

    fn issue_seen(&mut self, body: usize, view: Option<&Arc<View>>) {
        self.issued += 1;
        let factor = f64::from(self.issued % 7) / 8.0;
        let y = self.runtime.new_store(self.b.shape(), DType::F64);
        let x = TaskArg {
            store: &self.x,
            view,
        };
        let args = [x, (&self.b).into(), (&y).into()];
        let body = &self.bodies[body];
        self.runtime
            .submit(body, &args, &[factor.to_value()])
            .expect("the arguments fit the body");
        self.x = y;
    }

    /// The bits of the last vector, and what the runtime has done.
    fn end(self) -> (Vec<u64>, Counters) {
        let elements = self.runtime.read::<f64>(&self.x, None);
        let elements = elements.expect("no task has failed");
        let bits = elements.into_iter().map(f64::to_bits).collect();
        (bits, self.runtime.counters())
    }
}

/// Rounds of `tasks` tasks, of which the first is of another kind.
fn rounds(runtime: &Runtime, tasks: usize, rounds: usize) -> (Vec<u64>, Counters) {
    let mut program = Program::new(runtime, Shape::new(&[8]));
    for _ in 0..rounds {
        program.issue(0, 1);
        program.issue(1, tasks - 1);
    }
    program.end()
}

fn new_windows(counters: Counters) -> u64 {
    counters.windows - counters.trace_hits
}

#[test]
fn full_windows_are_cut_at_the_period_of_the_program() {
    const ROUNDS: usize = 2000;
    let one_by_one = Config {
        window: 1,
        max_window: 1,
        ..Config::default()
    };
    for tasks in [4, 5, 7, 11, 21, 37, 43, 90, 300, 700] {
        let runtime = Runtime::new(Config::default()).unwrap();
        let (found, counters) = rounds(&runtime, tasks, ROUNDS);
        let most = if tasks > 90 { 10 } else { 8 };
        let analysed = new_windows(counters);
        assert!(analysed <= most, "{tasks} tasks: {analysed} analyses");
        let (expected, _) = rounds(&Runtime::new(one_by_one.clone()).unwrap(), tasks, ROUNDS);
        assert_eq!(found, expected, "{tasks} tasks");
    }
}

#[test]
fn all_ranks_cut_alike() {
    let config = Config {
        cut_threshold: 1,
        check_ranks: true,
        ..Config::default()
    };
    let alone = rounds(&Runtime::new(Config::default()).unwrap(), 37, 100);
    for (bits, counters) in run_ranks(3, &config, |runtime| rounds(runtime, 37, 100)).unwrap() {
        assert_eq!(bits, alone.0);
        assert_eq!(counters.windows, alone.1.windows);
    }
}

#[test]
fn other_streams_have_few_windows_too() {
    let check = |name: &str, most: u64, stream: &dyn Fn(&mut Program)| {
        let runtime = Runtime::new(Config::default()).unwrap();
        let mut program = Program::new(&runtime, Shape::new(&[8]));
        stream(&mut program);
        let analysed = new_windows(program.end().1);
        assert!(analysed <= most, "{name}: {analysed} analyses");
    };
    let round = |program: &mut Program, tasks: usize| {
        program.issue(0, 1);
        program.issue(1, tasks - 1);
    };
    check("a beginning that is not repeated", 8, &|program| {
        (1..12).for_each(|tasks| round(program, tasks));
        (0..1000).for_each(|_| round(program, 37));
    });
    check("more in every fifth round", 8, &|program| {
        for number in 0..1000 {
            round(program, 37);
            program.issue(0, if number % 5 == 4 { 6 } else { 0 });
        }
    });
    check("an inner loop", 10, &|program| {
        for _ in 0..100 {
            (0..150).for_each(|_| round(program, 4));
            program.issue(0, 3);
        }
    });
    check("two loops in turn", 60, &|program| {
        for _ in 0..200 {
            (0..60).for_each(|_| round(program, 37));
            (0..60).for_each(|_| round(program, 21));
        }
    });
    check("arguments that rotate", 8, &|program| {
        let mut others = [program.b.clone(), program.b.clone()];
        for _ in 0..1000 {
            // Each of three vectors in turn is the one that changes.
            program.issue(0, 1);
            program.issue(1, 12);
            std::mem::swap(&mut program.x, &mut others[0]);
            others.swap(0, 1);
        }
    });
    check("a value in every tenth round", 10, &|program| {
        for number in 0..1000 {
            round(program, 37);
            if number % 10 == 9 {
                program.runtime.read::<f64>(&program.x, None).unwrap();
            }
        }
    });
}

#[test]
fn windows_do_not_grow_beyond_what_caches_hold() {
    let shape = Shape::new(&[512, 512]);
    let array = shape.len() * size_of::<f64>();
    let runtime = Runtime::new(Config {
        window: 8,
        ..Config::default()
    })
    .unwrap();
    let mut program = Program::new(&runtime, shape);
    let transposed = Arc::new(View::identity(shape).transpose());
    for _ in 0..400 {
        // What is read through another view has memory.
        program.issue_seen(0, Some(&transposed));
        program.issue(1, 1);
    }
    let _ = program.end();
    let peak = runtime.peak_memory();
    assert!(peak <= 12 * array, "{} arrays", peak / array);
}

#[test]
fn windows_that_are_longer_than_they_may_be_are_refused() {
    let config = |window, max_window| Config {
        window,
        max_window,
        ..Config::default()
    };
    assert!(Runtime::new(config(5, 5)).is_ok());
    let expected = "window: expected at most max_window, 4, found 5";
    let refused = Runtime::new(config(5, 4)).unwrap_err();
    assert_eq!(refused.to_string(), expected);
    let refused = run_ranks(2, &config(5, 4), |_| ()).unwrap_err();
    assert_eq!(refused.to_string(), expected);
}
