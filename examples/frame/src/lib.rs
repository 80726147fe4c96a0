//! What the example programs share: options, progress, time, report, files.
//!
//! An example is an [`About`], which says what the program computes, and a function of a [`Run`],
//! which computes it. [`main`] reads the options, calls the function on every rank, and reports.
//! The function gives its result to [`Run::result`], and to [`Run::check`] what must hold of it.
//!
//! ```
//! use sparsefuse_dense::Vector;
//! use sparsefuse_frame::{About, Run, execute};
//! use sparsefuse_runtime::Error;
//!
//! const ABOUT: About = About {
//!     name: "halves",
//!     title: "A vector that is halved",
//!     help: "A step divides all elements of a vector by two.",
//!     size: (1000, 1, "elements"),
//!     steps: 10,
//!     choices: &[],
//!     array_bytes: |n| 8.0 * n,
//!     arrays: 2,
//! };
//!
//! fn program(run: &Run<'_>) -> Result<(), Error> {
//!     let mut u = Vector::<f64>::ones([run.size]);
//!     for _ in run.steps() {
//!         u *= 0.5;
//!     }
//!     run.check("the sum against its value", (u.sum() - 1000.0 / 1024.0).get()?.abs(), 1e-12);
//!     run.result("u", &u)
//! }
//!
//! let report = execute(&ABOUT, &["--threads", "2"], program)?;
//! assert!(report.is_right());
//! assert_eq!(report.values()[7], 1.0 / 1024.0);
//! # Ok::<(), sparsefuse_frame::Failure>(())
//! ```

#![forbid(unsafe_code)]

mod about;
mod failure;
mod options;

mod progress;
mod run;

mod report;

mod hash;
mod npy;
mod picture;

mod processes;

pub use about::{About, Choice};
pub use failure::Failure;
pub use report::Report;
pub use run::{Run, Steps, median};

use sparsefuse_runtime::{Config, Error, Processes};
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs an example with the arguments of this process: its `main` function. The status is 1 if what
/// the program checks does not hold, and 2 for options that it does not take.
#[must_use]
pub fn main(about: &About, program: impl Fn(&Run<'_>) -> Result<(), Error> + Sync) -> ExitCode {
    processes::main(about, program)
}

/// Runs an example with these arguments, and returns its report in place of printing it. It runs on
/// the ranks of all processes; all must ask.
///
/// # Errors
///
/// If an option is not what the example takes, a file cannot be written, or the program fails.
pub fn execute(
    about: &About,
    arguments: &[&str],
    program: impl Fn(&Run<'_>) -> Result<(), Error> + Sync,
) -> Result<Report, Failure> {
    let config = Config::from_env()?;
    execute_with(&config, &Processes::join()?, about, arguments, program)
}

/// As [`execute`], where the options do not say something else with these settings, and on the
/// ranks of these processes.
///
/// # Errors
///
/// As [`execute`].
pub fn execute_with(
    config: &Config,
    processes: &Processes,
    about: &About,
    arguments: &[&str],
    program: impl Fn(&Run<'_>) -> Result<(), Error> + Sync,
) -> Result<Report, Failure> {
    let options = options::Options::parse(about, arguments.iter().map(OsString::from))?;
    processes::execute(config, processes, about, &options, program)
}
