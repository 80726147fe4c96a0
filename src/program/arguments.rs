//! The arguments, and what each of them may be.

use super::failure::Failure;
use super::help;
use super::output;
use super::pc::Pc;
use super::rhs::Rhs;
use super::source::Source;
use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use num_complex::Complex;
use sparsefuse::runtime::{Config, DeviceKind};
use sparsefuse::solvers::eigen::{Which, WhichComplex};
use sparsefuse::solvers::{Method, Options};
use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;

/// Solve and describe sparse linear systems
#[derive(Debug, Parser)]
#[command(name = "sparsefuse", version, long_about = help::ABOUT, after_long_help = help::OVERVIEW)]
pub(super) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Solve A x = b by a Krylov method and report how it went
    #[command(long_about = help::SOLVE, after_long_help = help::AFTER_SOLVE)]
    Solve(Box<SolveArguments>),
    /// Analyse a solve on many ranks without running it: sizes, messages, bytes, memory, time
    #[command(long_about = help::PLAN, after_long_help = help::AFTER_PLAN)]
    Plan(PlanArguments),
    /// Find a few eigenvalues of a square matrix
    #[command(long_about = help::EIGS, after_long_help = help::AFTER_EIGS)]
    Eigs(EigsArguments),
    /// Describe a matrix: size, structure, symmetry, diagonal, bytes
    #[command(long_about = help::INFO, after_long_help = help::AFTER_INFO)]
    Info(InfoArguments),
}

#[derive(Debug, Args)]
pub(super) struct SolveArguments {
    /// The matrix: a .mtx, .mtx.gz or .npz file, or a generator such as poisson2d:512
    #[arg(value_parser = word(Source::parse))]
    pub(super) source: Source,
    /// The method
    #[arg(long, value_enum, default_value_t = Solver::Cg)]
    pub(super) solver: Solver,
    /// The preconditioner with its options, such as jacobi, ilu:1, gmg or auto; see below
    #[arg(long, default_value = "none", value_parser = Pc::parse, value_name = "PC")]
    pub(super) pc: Pc,
    /// The grid of a matrix from a file, slowest dimension first, for --pc gmg and auto
    #[arg(long, value_name = "NxM", value_parser = grid)]
    pub(super) grid: Option<Grid>,
    /// The right-hand side b: `ones` for A times a vector of ones, `random:SEED` for numbers
    /// uniform in [-1, 1), or a Matrix Market file; if it has several columns, each is solved for
    #[arg(long, default_value = "ones", value_parser = word(Rhs::parse), value_name = "RHS")]
    pub(super) rhs: Rhs,
    /// Converged when |b - A x| <= max(RTOL |b|, ATOL) [default: 1e-8; in single precision 1e-5]
    #[arg(long, value_parser = tolerance, allow_hyphen_values = true)]
    pub(super) rtol: Option<f64>,
    /// See --rtol
    #[arg(long, default_value = "0", value_parser = tolerance, allow_hyphen_values = true)]
    pub(super) atol: f64,
    /// Diverged when |b - A x| > DTOL |b|, or DTOL times the initial residual where that is larger;
    /// of bicg and cgs with the square of DTOL
    #[arg(long, default_value = "1e5", value_parser = tolerance, allow_hyphen_values = true)]
    pub(super) dtol: f64,
    /// The limit of iterations [default: ten times the columns, at most 10000]
    #[arg(long, value_name = "N", value_parser = iterations, allow_negative_numbers = true)]
    pub(super) max_iter: Option<usize>,
    #[command(flatten)]
    pub(super) machine: Machine,
    /// The precision; files with complex values are solved in complex numbers of this precision
    #[arg(long, value_enum, default_value_t = Precision::F64)]
    pub(super) dtype: Precision,
    /// Write the solution as a Matrix Market file (compressed if the name ends in .gz)
    #[arg(long, value_name = "FILE.mtx")]
    pub(super) out: Option<PathBuf>,
    /// Save the state of the solver in this file at intervals, see --every
    #[arg(long, value_name = "FILE")]
    pub(super) checkpoint: Option<PathBuf>,
    /// Iterations between checkpoints
    #[arg(
        long,
        value_name = "N",
        default_value = "100",
        requires = "checkpoint",
        value_parser = every,
        allow_negative_numbers = true
    )]
    pub(super) every: usize,
    /// Resume from a checkpoint of the same solve, on any number of ranks and threads, with the
    /// same bits as an uninterrupted solve
    #[arg(long, value_name = "FILE")]
    pub(super) resume: Option<PathBuf>,
    /// The iterations after which gmres and fgmres restart [default: 30], the products of a cycle
    /// of lgmres [default: 30] and gcrotmk [default: 20]
    #[arg(long, value_name = "N", value_parser = restart, allow_negative_numbers = true)]
    pub(super) restart: Option<usize>,
    /// Print one JSON object instead of the report
    #[arg(long)]
    pub(super) json: bool,
    /// Print the residual of each iteration (with --json to standard error)
    #[arg(long)]
    pub(super) monitor: bool,
    /// Draw the residual against the iteration
    #[arg(long, value_name = "FILE.png", value_parser = word(picture))]
    pub(super) plot: Option<PathBuf>,
    /// Print the tasks of one iteration, which of them were fused, and why others were not
    #[arg(long)]
    pub(super) explain: bool,
    /// Write a trace for Perfetto or chrome://tracing, and print the time of each task
    #[arg(long, value_name = "FILE.json")]
    pub(super) profile: Option<PathBuf>,
    /// Do not fuse tasks; the solution has the same bits
    #[arg(long)]
    pub(super) no_fusion: bool,
}

#[derive(Debug, Args)]
pub(super) struct PlanArguments {
    /// The matrix: a generator such as poisson2d:512
    #[arg(value_parser = word(Source::parse))]
    pub(super) source: Source,
    /// The number of ranks
    #[arg(long, value_name = "N", value_parser = ranks, allow_negative_numbers = true)]
    pub(super) ranks: usize,
    /// The method
    #[arg(long, value_parser = planned_solver(), default_value = "cg")]
    pub(super) solver: Solver,
    /// The preconditioner
    #[arg(long, value_enum, default_value_t = PlannedPc::None)]
    pub(super) pc: PlannedPc,
    /// The precision
    #[arg(long, value_enum, default_value_t = Precision::F64)]
    pub(super) dtype: Precision,
    /// Seconds of each message, for its sender
    #[arg(long, value_name = "S", default_value = "2e-6", value_parser = tolerance, allow_hyphen_values = true)]
    pub(super) latency: f64,
    /// Bytes a second that a rank sends
    #[arg(long, value_name = "B", default_value = "1e10", value_parser = rate, allow_hyphen_values = true)]
    pub(super) bandwidth: f64,
    /// Operations a second of a rank
    #[arg(long, value_name = "F", default_value = "1e10", value_parser = rate, allow_hyphen_values = true)]
    pub(super) flops: f64,
    /// Bytes a second between a rank and its memory
    #[arg(long, value_name = "M", default_value = "1e10", value_parser = rate, allow_hyphen_values = true)]
    pub(super) memory_bandwidth: f64,
    /// Print one JSON object, with a row for every rank
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct EigsArguments {
    /// The matrix: a .mtx, .mtx.gz or .npz file, or a generator such as poisson2d:512
    #[arg(value_parser = word(Source::parse))]
    pub(super) source: Source,
    /// How many eigenvalues [default: 6; of small matrices the rows, one less of a Hermitian one]
    #[arg(long, value_name = "K", value_parser = every, allow_negative_numbers = true)]
    pub(super) k: Option<usize>,
    /// Which of them
    #[arg(long, value_enum, default_value_t = Wanted::Magnitude)]
    pub(super) which: Wanted,
    /// Those nearest to S, a number or such as 1+2i, by factors of A - S I, which every rank holds
    #[arg(long, value_name = "S", value_parser = finite, allow_hyphen_values = true, conflicts_with = "which")]
    pub(super) sigma: Option<Complex<f64>>,
    /// The mass matrix B of A x = value B x: symmetric (Hermitian), as the matrix then has to be
    #[arg(long, value_name = "B", value_parser = word(Source::parse))]
    pub(super) mass: Option<Source>,
    /// The relative tolerance of an eigenvalue's residual [default: the rounding error]
    #[arg(long, default_value = "0", hide_default_value = true, value_parser = tolerance, allow_hyphen_values = true)]
    pub(super) tol: f64,
    /// The most basis vectors, at least K + 1 and above it where the matrix is not Hermitian
    /// [default: 2 K + 1, at least 20]
    #[arg(long, value_name = "N", value_parser = every, allow_negative_numbers = true)]
    pub(super) ncv: Option<usize>,
    /// The most restarts [default: ten times the rows, at most 10000]
    #[arg(long, value_name = "N", value_parser = iterations, allow_negative_numbers = true)]
    pub(super) max_iter: Option<usize>,
    #[command(flatten)]
    pub(super) machine: Machine,
    /// Write the eigenvectors as the columns of a Matrix Market file (compressed if the name ends
    /// in .gz)
    #[arg(long, value_name = "FILE.mtx")]
    pub(super) out: Option<PathBuf>,
    /// Print one JSON object instead of the report
    #[arg(long)]
    pub(super) json: bool,
}

// What a program runs on. (Documentation would be that of the commands.)
#[derive(Debug, Args)]
pub(super) struct Machine {
    /// Threads of each rank [default: all cores, divided among the ranks on them]
    #[arg(long, value_name = "N", value_parser = workers, allow_negative_numbers = true)]
    pub(super) threads: Option<usize>,
    /// Where kernels run besides the processors: none, cuda, cuda:1, ... (a GPU, in builds with the
    /// feature `cuda`) or emulated; the bits of the result are the same [default: none]
    #[arg(long, value_name = "DEVICE", value_parser = device)]
    pub(super) device: Option<DeviceKind>,
    /// Ranks inside each process; the result has the same bits for every number
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        value_parser = workers,
        allow_negative_numbers = true
    )]
    pub(super) ranks: usize,
}

#[derive(Debug, Args)]
pub(super) struct InfoArguments {
    /// The matrix: a .mtx, .mtx.gz or .npz file, or a generator such as poisson2d:512
    #[arg(value_parser = word(Source::parse))]
    pub(super) source: Source,
    /// Print one JSON object instead of the report
    #[arg(long)]
    pub(super) json: bool,
    /// Draw the places of the entries, darker where they are denser
    #[arg(long, value_name = "FILE.png", value_parser = word(picture))]
    pub(super) spy: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Solver {
    /// Chosen by looking at the matrix; the report says what and why
    Auto,
    /// Conjugate gradients, for symmetric (Hermitian) definite matrices
    Cg,
    /// cg with one reduction an iteration
    SingleReductionCg,
    /// cg with one reduction, which overlaps with the product
    PipelinedCg,
    /// Minimal residuals, for symmetric (Hermitian) matrices
    Minres,
    /// Generalised minimal residuals, for any square matrix; see --restart
    Gmres,
    /// gmres for preconditioners that change
    Fgmres,
    /// gmres augmented by the corrections of the last three cycles; see --restart
    Lgmres,
    /// gmres beside directions of up to 20 earlier cycles; see --restart
    Gcrotmk,
    /// Biconjugate gradients, for any square matrix
    Bicg,
    /// Quasi-minimal residuals, for any square matrix
    Qmr,
    /// Conjugate gradient squared, for any square matrix
    Cgs,
    /// Stabilised biconjugate gradients, for any square matrix
    Bicgstab,
    /// Transpose-free quasi-minimal residuals, for any square matrix
    Tfqmr,
    /// Repeated application of the preconditioner: multigrid as a solver, with --pc gmg or amg
    Richardson,
    /// Least squares by bidiagonalisation
    Lsqr,
    /// Least squares by the minimal residual of the normal equations
    Lsmr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Wanted {
    /// Those with the largest real part
    Largest,
    /// Those with the smallest real part; for those near 0, --sigma 0 is faster
    Smallest,
    /// Those of the largest magnitude
    Magnitude,
    /// Half of them from each end, of a Hermitian matrix
    Ends,
    /// Those with the largest imaginary part, of a matrix that is not Hermitian
    Imaginary,
}

impl Wanted {
    /// Of a Hermitian matrix, whose eigenvalues are real.
    pub(super) fn of_hermitian(self) -> Option<Which> {
        match self {
            Self::Largest => Some(Which::Largest),
            Self::Smallest => Some(Which::Smallest),
            Self::Magnitude => Some(Which::LargestMagnitude),
            Self::Ends => Some(Which::BothEnds),
            Self::Imaginary => None,
        }
    }

    /// Of any square matrix; complex numbers have no two ends.
    pub(super) fn of_general(self) -> Option<WhichComplex> {
        match self {
            Self::Largest => Some(WhichComplex::LargestReal),
            Self::Smallest => Some(WhichComplex::SmallestReal),
            Self::Magnitude => Some(WhichComplex::LargestMagnitude),
            Self::Imaginary => Some(WhichComplex::LargestImaginary),
            Self::Ends => None,
        }
    }
}

/// The preconditioners of plans: those that are array code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum PlannedPc {
    /// No preconditioner
    None,
    /// Division by the diagonal
    Jacobi,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Precision {
    /// 32 bits: about 7 digits
    F32,
    /// 64 bits: about 16 digits
    F64,
}

impl Solver {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::SingleReductionCg => "single-reduction-cg",
            Self::PipelinedCg => "pipelined-cg",
            Self::Auto => "auto",
            other => other.method().name(),
        }
    }

    /// Whether a plan tells its iterations: they are all alike and need no adjoint, for which the
    /// ranks exchange entries of the matrix.
    fn can_be_planned(self) -> bool {
        !matches!(
            self,
            Self::Auto
                | Self::Gmres
                | Self::Fgmres
                | Self::Lgmres
                | Self::Gcrotmk
                | Self::Bicg
                | Self::Qmr
                | Self::Lsqr
                | Self::Lsmr
        )
    }

    /// The method; that of conjugate gradients while it is to be chosen.
    pub(super) fn method(self) -> Method {
        match self {
            Self::Cg | Self::Auto => Method::Cg,
            Self::SingleReductionCg => Method::SingleReductionCg,
            Self::PipelinedCg => Method::PipelinedCg,
            Self::Minres => Method::Minres,
            Self::Gmres => Method::GMRES,
            Self::Fgmres => Method::FGMRES,
            Self::Lgmres => Method::LGMRES,
            Self::Gcrotmk => Method::GCROTMK,
            Self::Bicg => Method::Bicg,
            Self::Qmr => Method::Qmr,
            Self::Cgs => Method::Cgs,
            Self::Bicgstab => Method::Bicgstab,
            Self::Tfqmr => Method::Tfqmr,
            Self::Richardson => Method::Richardson,
            Self::Lsqr => Method::LSQR,
            Self::Lsmr => Method::LSMR,
        }
    }
}

impl PlannedPc {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Jacobi => "jacobi",
        }
    }
}

/// The most threads of all ranks together, far beyond what makes sense.
const MOST_THREADS: usize = 1024;

impl SolveArguments {
    /// The relative tolerance: as given, or what the precision can certify.
    pub(super) fn rtol(&self) -> f64 {
        self.rtol.unwrap_or(match self.dtype {
            Precision::F32 => Options::<f32>::default().rtol,
            Precision::F64 => Options::<f64>::default().rtol,
        })
    }

    /// The grid that the matrix stems from, if that is known.
    pub(super) fn grid(&self) -> Option<Vec<usize>> {
        let given = self.grid.as_ref().map(|grid| grid.0.clone());
        given.or_else(|| self.source.grid())
    }

    /// The method of a candidate, with the options that it alone has.
    pub(super) fn method(&self, solver: Solver) -> Method {
        match (solver.method(), self.restart) {
            (Method::Gmres { side, .. }, Some(restart)) => Method::Gmres { restart, side },
            (Method::Fgmres { .. }, Some(restart)) => Method::Fgmres { restart },
            (Method::Lgmres { kept, .. }, Some(restart)) => Method::Lgmres { restart, kept },
            (Method::Gcrotmk { kept, .. }, Some(restart)) => Method::Gcrotmk { restart, kept },
            (method, _) => method,
        }
    }

    /// Refuses what the method does not have.
    pub(super) fn check_method(&self) -> Result<(), Failure> {
        let method = self.solver.method();
        let has_length = matches!(
            self.solver,
            Solver::Auto | Solver::Gmres | Solver::Fgmres | Solver::Lgmres | Solver::Gcrotmk
        );
        if self.restart.is_some() && !has_length {
            let expected = "--solver gmres, fgmres, lgmres, gcrotmk or auto, which restart";
            return Err(Failure::input("--restart", expected, self.solver.name()));
        }
        self.check_grid()?;
        if method.needs_adjoint() && !self.pc.has_adjoint() {
            let name = self.solver.name();
            let expected =
                format!("one with an adjoint, which {name} needs, such as jacobi or ilu");
            return Err(Failure::input("--pc", expected, self.pc.to_string()));
        }
        let file = self.checkpoint.as_deref().or(self.resume.as_deref());
        if self.solver == Solver::Auto && file.is_some() {
            let expected = "a method and a preconditioner by name with checkpoints";
            return Err(Failure::input("--solver", expected, "auto"));
        }
        if self.pc.is_auto() && file.is_some() {
            let expected = "a preconditioner by name with checkpoints";
            return Err(Failure::input("--pc", expected, "auto"));
        }
        if file.is_some() && !method.has_checkpoints() {
            let name = match self.checkpoint {
                Some(_) => "--checkpoint",
                None => "--resume",
            };
            let expected = "--solver cg, cgs or bicgstab, which have checkpoints";
            return Err(Failure::input(name, expected, self.solver.name()));
        }
        Ok(())
    }

    /// Refuses what there is for one right-hand side alone.
    pub(super) fn check_columns(&self, columns: usize) -> Result<(), Failure> {
        let options = [
            ("--plot", self.plot.as_deref()),
            ("--checkpoint", self.checkpoint.as_deref()),
            ("--resume", self.resume.as_deref()),
        ];
        match options.iter().find(|(_, file)| file.is_some()) {
            Some(&(name, _)) if columns > 1 => {
                let expected = "a right-hand side with one column";
                let found = format!("{columns} columns in --rhs");
                Err(Failure::input(name, expected, found))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a grid that is not that of the matrix or is of no use, and none where one is needed.
    fn check_grid(&self) -> Result<(), Failure> {
        let made = self.source.grid().map(Grid);
        let Some(grid) = &self.grid else {
            if self.pc.needs_grid() && made.is_none() {
                let expected =
                    "--grid NxM with it, since the file does not say which grid the matrix has";
                return Err(Failure::input("--pc", expected, self.pc.to_string()));
            }
            return Ok(());
        };
        if !self.pc.needs_grid() && !self.pc.is_auto() {
            let found = format!("--pc {}", self.pc);
            return Err(Failure::input("--grid", "--pc gmg or auto with it", found));
        }
        match made.filter(|made| made != grid) {
            Some(made) => {
                let expected = format!("{made}, the grid that {} makes", self.source);
                Err(Failure::input("--grid", expected, grid.to_string()))
            }
            None => Ok(()),
        }
    }

    /// Refuses a grid that has not as many points as the matrix has rows.
    pub(super) fn check_points(&self, n_rows: usize) -> Result<(), Failure> {
        let Some(grid) = &self.grid else {
            return Ok(());
        };
        let mut sides = grid.0.iter();
        let points = sides.try_fold(1, |points: usize, &side| points.checked_mul(side));
        if points == Some(n_rows) {
            return Ok(());
        }
        let expected = format!("a grid of as many points as the matrix has rows, {n_rows}");
        Err(Failure::input("--grid", expected, grid.to_string()))
    }

    /// Refuses files that would overwrite each other, or what is read.
    pub(super) fn check_files(&self) -> Result<(), Failure> {
        let read = [
            ("the matrix", self.source.file()),
            ("--rhs", self.rhs.file()),
        ];
        let written = [
            ("--checkpoint", self.checkpoint.as_deref()),
            ("--out", self.out.as_deref()),
            ("--profile", self.profile.as_deref()),
            ("--plot", self.plot.as_deref()),
        ];
        output::check_apart(&read, &written)?;
        // A solve may go on writing the checkpoint that it resumes from.
        output::check_apart(&[("--resume", self.resume.as_deref())], &written[1..])
    }

    /// The settings of the runtime: those of the environment, then those of the arguments.
    pub(super) fn config(&self) -> Result<Config, Failure> {
        let mut config = self.machine.settings()?;
        config.fusion &= !self.no_fusion;
        config.profile = self.profile.is_some();
        Ok(config)
    }
}

impl EigsArguments {
    /// The settings of the runtime.
    pub(super) fn config(&self) -> Result<Config, Failure> {
        self.machine.settings()
    }
}

impl Machine {
    /// The settings of the environment, with these threads, and this device, for each rank.
    fn settings(&self) -> Result<Config, Failure> {
        let mut config = Config::from_env()?;
        config.device = self.device.unwrap_or(config.device);
        let share = (config.threads / self.ranks).max(1);
        config.threads = self.threads.unwrap_or(share);
        let threads = config.threads.saturating_mul(self.ranks);
        if threads > MOST_THREADS {
            let expected = format!("at most {MOST_THREADS} threads in all");
            return Err(Failure::input(
                "--threads times --ranks",
                expected,
                threads.to_string(),
            ));
        }
        Ok(config)
    }
}

/// The sides of a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grid(pub(super) Vec<usize>);

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sides: Vec<String> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&sides.join("x"))
    }
}

/// The methods that can be planned.
fn planned_solver() -> impl TypedValueParser<Value = Solver> {
    let planned = Solver::value_variants().iter();
    let planned = planned.filter(|solver| solver.can_be_planned());
    PossibleValuesParser::new(planned.filter_map(Solver::to_possible_value))
        .try_map(|name| Solver::from_str(&name, false))
}

fn device(text: &str) -> Result<DeviceKind, String> {
    let expected = || format!("expected none, cuda, cuda:1 or emulated, found {text}");
    DeviceKind::from_name(text).ok_or_else(expected)
}

fn grid(text: &str) -> Result<Grid, String> {
    let sides: Option<Vec<usize>> = text.split('x').map(|side| side.parse().ok()).collect();
    let sides = sides.filter(|sides| sides.len() <= 3 && sides.iter().all(|&side| side > 0));
    let expected = || format!("expected one to three lengths, as in 30x40, found {text}");
    sides.map(Grid).ok_or_else(expected)
}

/// A parser of words that need not be UTF-8, as names of files need not be.
fn word<T: Clone + Send + Sync + 'static>(
    parse: fn(&OsStr) -> Result<T, String>,
) -> impl TypedValueParser<Value = T> {
    OsStringValueParser::new().try_map(move |word| parse(&word))
}

fn picture(word: &OsStr) -> Result<PathBuf, String> {
    let (path, text) = (PathBuf::from(word), word.to_string_lossy());
    // A device has no extension.
    let is_png = path.file_name().is_some()
        && !text.ends_with(std::path::is_separator)
        && (path.extension()).is_none_or(|end| end.eq_ignore_ascii_case("png"));
    let expected = || format!("expected a name that ends in .png, found {text}");
    is_png.then_some(path).ok_or_else(expected)
}

fn tolerance(text: &str) -> Result<f64, String> {
    let value = text.parse().ok();
    value
        .filter(|value: &f64| value.is_finite() && *value >= 0.0)
        .ok_or_else(|| format!("expected a number that is 0 or more, found {text}"))
}

fn finite(text: &str) -> Result<Complex<f64>, String> {
    let value = text.parse().ok();
    value
        .filter(|value: &Complex<f64>| value.is_finite())
        .ok_or_else(|| format!("expected a number, found {text}"))
}

fn iterations(text: &str) -> Result<usize, String> {
    let expected = || format!("expected a whole number that is 0 or more, found {text}");
    text.parse().map_err(|_| expected())
}

fn rate(text: &str) -> Result<f64, String> {
    let value = text.parse().ok();
    value
        .filter(|value: &f64| value.is_finite() && *value > 0.0)
        .ok_or_else(|| format!("expected a number above 0, found {text}"))
}

/// The most ranks of a plan.
const MOST_RANKS: usize = 1 << 16;

fn ranks(text: &str) -> Result<usize, String> {
    let value = text.parse().ok();
    value
        .filter(|value| (1..=MOST_RANKS).contains(value))
        .ok_or_else(|| format!("expected a whole number from 1 to {MOST_RANKS}, found {text}"))
}

fn every(text: &str) -> Result<usize, String> {
    let value = text.parse().ok().filter(|&value| value > 0);
    value.ok_or_else(|| format!("expected a whole number above 0, found {text}"))
}

fn restart(text: &str) -> Result<usize, String> {
    let is_number = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-');
    let hint = if is_number {
        ""
    } else {
        " (a checkpoint is named by --resume)"
    };
    let value = text.parse().ok().filter(|&value| value > 0);
    value.ok_or_else(|| format!("expected a whole number above 0{hint}, found {text}"))
}

fn workers(text: &str) -> Result<usize, String> {
    let value = text.parse().ok();
    value
        .filter(|value| (1..=MOST_THREADS).contains(value))
        .ok_or_else(|| format!("expected a whole number from 1 to {MOST_THREADS}, found {text}"))
}
