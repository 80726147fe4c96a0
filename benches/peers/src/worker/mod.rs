//! One competitor of this program's own: sparsefuse, plain loops, or a Rust library.
//!
//! In: the words of the command line, then commands of the driver on standard input. Out: the lines
//! that `protocol.h` prints too. Everything is set up before `ready`; a batch does the work alone.

mod gate;
mod libraries;
mod ours;
mod plain;
mod structures;

use std::hint::black_box;
use std::io::BufRead;
use std::time::Instant;

/// Whether sparsefuse can be several processes.
pub(crate) const HAS_MPI: bool = cfg!(feature = "mpi");

/// What the command line asks for.
pub(crate) struct Order {
    /// `spmv`, `cg`, ...
    pub(crate) work: String,
    /// The matrix file, or a number of elements.
    pub(crate) matrix: String,
    pub(crate) threads: usize,
    pub(crate) iterations: usize,
    /// Whose work it is.
    pub(crate) variant: String,
}

impl Order {
    /// Iterations of the solve whose result is compared: few, so that rounding has not grown yet.
    pub(crate) fn check_iterations(&self) -> usize {
        self.iterations.min(8)
    }
}

/// A competitor that is set up.
pub(crate) struct Prepared {
    version: String,
    /// Bytes that a unit of work moves, where the competitor counts them.
    bytes: Option<u64>,
    /// Messages, bytes and reductions of a unit of work, then those of a solve beside its units,
    /// where the competitor counts them.
    traffic: Option<[f64; 6]>,
    /// What is compared with the others: see [`fingerprint`].
    check: Vec<f64>,
    /// Iterations and residual of a solve until the residual is small.
    solved: Option<(usize, f64)>,
    /// Does the work so many times.
    batch: Box<dyn FnMut(usize) -> Seconds>,
}

/// The seconds of a batch.
#[derive(Clone, Copy, Default)]
struct Seconds {
    all: f64,
    /// Those before the iterations, where the work is to set up and solve.
    setup: Option<f64>,
}

impl Seconds {
    /// Those of doing something so many times.
    fn of(repetitions: usize, mut once: impl FnMut()) -> Self {
        let begin = Instant::now();
        for _ in 0..repetitions {
            once();
        }
        Self {
            all: begin.elapsed().as_secs_f64(),
            setup: None,
        }
    }
}

impl Prepared {
    /// A competitor that writes its `n` results into a vector of the caller, after so many
    /// iterations.
    fn into_vector(
        order: &Order,
        version: &str,
        n: usize,
        mut once: impl FnMut(&mut [f64], usize) + 'static,
    ) -> Self {
        let mut y = vec![0.0; n];
        once(&mut y, order.check_iterations());
        let iterations = order.iterations;
        Self {
            version: version.to_owned(),
            bytes: None,
            traffic: None,
            check: fingerprint(&y),
            solved: None,
            batch: Box::new(move |repetitions| {
                Seconds::of(repetitions, || once(&mut y, iterations))
            }),
        }
    }

    /// A competitor that makes its result anew each time.
    fn making<M>(
        version: &str,
        make: impl Fn() -> M + 'static,
        check: impl FnOnce(&M) -> Vec<f64>,
    ) -> Self {
        Self {
            version: version.to_owned(),
            bytes: None,
            traffic: None,
            check: check(&make()),
            solved: None,
            batch: Box::new(move |repetitions| {
                Seconds::of(repetitions, || drop(black_box(make())))
            }),
        }
    }
}

/// Sets up, says so, and works until the driver hangs up.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let [work, matrix, threads, iterations, variant] = words else {
        return Err("expected WORK MATRIX THREADS ITERATIONS VARIANT".to_owned());
    };
    let number = |word: &str| {
        let parsed = word.parse::<usize>();
        parsed.map_err(|error| format!("{word}: {error}"))
    };
    let order = Order {
        work: work.clone(),
        matrix: matrix.clone(),
        threads: number(threads)?,
        iterations: number(iterations)?,
        variant: variant.clone(),
    };
    if variant == "sparsefuse-mpi" {
        return ours::run_on_processes(&order);
    }
    let mut prepared = match variant.as_str() {
        "sparsefuse" => ours::prepare(&order)?,
        "plain" => plain::prepare(&order)?,
        _ => libraries::prepare(&order)?,
    };
    prepared.introduce();
    while let Some(repetitions) = next_batch()? {
        (prepared.batch)(repetitions).say();
    }
    Ok(())
}

impl Prepared {
    /// Tells the driver who is ready.
    fn introduce(&self) {
        println!("version {}", self.version);
        if let Some(bytes) = self.bytes {
            println!("bytes {bytes}");
        }
        if let Some(traffic) = self.traffic {
            println!("traffic {}", traffic.map(|number| number.to_string()).join(" "));
        }
        if let Some((iterations, residual)) = self.solved {
            println!("solved {iterations} {residual:e}");
        }
        let numbers = self.check.iter().map(|number| format!(" {number:e}"));
        println!("check{}", numbers.collect::<String>());
        println!("ready");
    }
}

/// How often the driver wants the work done next; `None` when it has hung up.
fn next_batch() -> Result<Option<usize>, String> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    if read.map_err(|error| error.to_string())? == 0 {
        return Ok(None);
    }
    let word = line.trim().trim_start_matches("go ");
    let repetitions = word.parse();
    let repetitions = repetitions.map_err(|error| format!("`{}`: {error}", line.trim()))?;
    Ok(Some(repetitions))
}

impl Seconds {
    /// Tells the driver.
    fn say(self) {
        match self.setup {
            None => println!("seconds {:e}", self.all),
            Some(setup) => println!("seconds {:e} {setup:e}", self.all),
        }
    }
}

/// Element `i` of the input, in [0, 1): a hash, with the same bits in every language.
fn input(i: usize, stream: usize) -> f64 {
    const MASK: u64 = 0xffff_ffff;
    const MULTIPLIERS: [u64; 3] = [2_654_435_761, 3_266_489_917, 668_265_263];
    let mut hash = (i as u64).wrapping_mul(MULTIPLIERS[stream]) & MASK;
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(2_246_822_519) & MASK;
    hash ^= hash >> 13;
    hash as f64 / 4_294_967_296.0
}

fn inputs(n: usize, stream: usize) -> Vec<f64> {
    (0..n).map(|i| input(i, stream)).collect()
}

/// The vector that a product takes, or the right-hand side of a solve.
fn vector(order: &Order, n: usize) -> Vec<f64> {
    let shift = if order.work == "spmv" { 0.5 } else { 0.0 };
    (0..n).map(|i| input(i, 0) - shift).collect()
}

/// The norm and eight elements.
fn fingerprint(y: &[f64]) -> Vec<f64> {
    let norm = y.iter().map(|y| y * y).sum::<f64>().sqrt();
    let elements = (0..8).map(|k| y[k * (y.len() - 1) / 7]);
    std::iter::once(norm).chain(elements).collect()
}

/// What a competitor answers to work that it does not do.
fn unknown(order: &Order) -> String {
    format!("{} does not do {}", order.variant, order.work)
}
