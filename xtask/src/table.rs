//! The page `docs/solvers.md`: what the program makes of real matrices, by many methods and
//! preconditioners.
//!
//! Every solve is a run of the program, with a limit of time, so a row says what a user would see.

use crate::cargo::{cargo, show};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Where the matrices are, and the list of them.
const FOLDER: &str = "../shared/matrices";
const PAGE: &str = "docs/solvers.md";
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// The longest that a solve may take.
const LIMIT: Duration = Duration::from_secs(20);

/// What is run on positive definite matrices, on other square ones and on all others.
const DEFINITE: [(&str, &str); 9] = [
    ("cg", "jacobi"),
    ("cg", "ssor"),
    ("cg", "ssor:1,colors"),
    ("cg", "chebyshev"),
    ("cg", "ic"),
    ("cg", "amg"),
    ("cg", "cholesky"),
    ("minres", "jacobi"),
    ("pipelined-cg", "jacobi"),
];
const SQUARE: [(&str, &str); 9] = [
    ("gmres", "jacobi"),
    ("gmres", "bjacobi"),
    ("gmres", "ilu"),
    ("gmres", "ilu:2"),
    ("gmres", "ilut"),
    ("gmres", "schwarz:1,blocks=4"),
    ("gmres", "lu"),
    ("bicgstab", "ilut"),
    ("tfqmr", "ilut"),
];
const RECTANGULAR: [(&str, &str); 2] = [("lsqr", "none"), ("lsmr", "none")];
const AUTO: (&str, &str) = ("auto", "auto");

const HEAD: &str = "\
# Solvers on real matrices

Results of `sparsefuse solve` on the matrices of the test collection, one run of the program for each
row: b = A·1, tolerance 1e-8, the default iteration limits, at most 20 seconds on a machine with two
cores. The true residual is ‖b - A x‖ / ‖b‖, computed from the solution. `cargo xtask table`
makes this page; iterations are the same on any number of threads and ranks.

`auto` solves every positive definite matrix and every other square one that the complete
factorisations do not report as singular (`bcspwr10` and `rajat01`, where it reports that it has not
converged).
";

/// A line of the collection's list.
struct Matrix {
    name: String,
    file: PathBuf,
    is_square: bool,
    is_definite: bool,
}

/// Runs everything, and writes the page.
pub(crate) fn run() -> Result<ExitCode, String> {
    show(cargo(["build", "--release", "--bin", "sparsefuse"]))?;
    let matrices = matrices(&Path::new(ROOT).join(FOLDER))?;
    let mut page = HEAD.to_owned();
    let mut automatic = String::new();
    let mut rows = String::new();
    for matrix in &matrices {
        println!("{}", matrix.name);
        let pairs: &[(&str, &str)] = match (matrix.is_square, matrix.is_definite) {
            (_, true) => &DEFINITE,
            (true, false) => &SQUARE,
            (false, _) => &RECTANGULAR,
        };
        let outcome = solve(matrix, AUTO)?;
        let Outcome { chosen, cells, .. } = &outcome;
        let _ = writeln!(automatic, "| `{}` | {chosen} | {cells} |", matrix.name);
        for &pair in pairs {
            let Outcome { cells, .. } = solve(matrix, pair)?;
            let (solver, pc) = pair;
            let _ = writeln!(
                rows,
                "| `{}` | `{solver}` | `{pc}` | {cells} |",
                matrix.name
            );
        }
    }
    page.push_str("\n## `--solver auto --pc auto`\n\n");
    page.push_str(
        "| matrix | chosen | iterations | true residual | outcome |\n|---|---|---|---|---|\n",
    );
    page.push_str(&automatic);
    page.push_str("\n## Methods and preconditioners\n\n");
    page.push_str("| matrix | solver | preconditioner | iterations | true residual | outcome |\n");
    page.push_str("|---|---|---|---|---|---|\n");
    page.push_str(&rows);
    fs::write(Path::new(ROOT).join(PAGE), page)
        .map_err(|error| format!("{PAGE} cannot be written: {error}"))?;
    println!("{PAGE} is written");
    Ok(ExitCode::SUCCESS)
}

fn matrices(folder: &Path) -> Result<Vec<Matrix>, String> {
    let list = folder.join("manifest.csv");
    let text = fs::read_to_string(&list)
        .map_err(|error| format!("{} cannot be read: {error}", list.display()))?;
    let mut matrices: Vec<Matrix> = (text.lines().skip(1))
        .map(|line| {
            // No column before the notes has a comma in it.
            let columns: Vec<&str> = line.split(',').collect();
            Matrix {
                name: columns[0].to_owned(),
                file: folder.join(columns[1]),
                is_square: line_is_square(&columns),
                is_definite: line.contains("SPD/HPD"),
            }
        })
        .collect();
    matrices.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(matrices)
}

/// Whether the columns with the numbers of rows and columns are equal: the first two neighbours
/// that are both numbers.
fn line_is_square(columns: &[&str]) -> bool {
    let is_number = |text: &str| text.parse::<u64>().is_ok();
    let sizes = columns
        .windows(3)
        .find(|three| three.iter().all(|text| is_number(text)));
    sizes.is_some_and(|sizes| sizes[0] == sizes[1])
}

/// What came of a solve.
struct Outcome {
    chosen: String,
    /// Iterations, true residual and reason, as cells of a table.
    cells: String,
}

#[expect(
    clippy::disallowed_methods,
    reason = "a thread that waits for the program, which may take too long"
)]
fn solve(matrix: &Matrix, (solver, pc): (&str, &str)) -> Result<Outcome, String> {
    let mut command = Command::new(Path::new(ROOT).join("target/release/sparsefuse"));
    command.arg("solve").arg(&matrix.file);
    command.args(["--solver", solver, "--pc", pc, "--json"]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let failed = |error| format!("the program cannot be run: {error}");
    let mut child = command.spawn().map_err(failed)?;
    let pipes = (child.stdout.take(), child.stderr.take());
    let (sender, receiver) = mpsc::channel();
    // Both end when the program does; what it prints is little, so the second does not wait.
    let reader = std::thread::spawn(move || {
        let read = [text_of(pipes.0), text_of(pipes.1)];
        // The receiver is gone where the limit has passed.
        let _ = sender.send(read);
    });
    let read = receiver.recv_timeout(LIMIT);
    let is_late = read.is_err();
    if is_late {
        child.kill().map_err(failed)?;
    }
    child.wait().map_err(failed)?;
    reader.join().map_err(|_| "a pipe could not be read")?;
    let [stdout, stderr] = read.unwrap_or_default();
    let none = |outcome: &str| Outcome {
        chosen: String::new(),
        cells: format!("| | {outcome}"),
    };
    if is_late {
        return Ok(none("out of time"));
    }
    let Ok(report) = serde_json::from_str::<Value>(&stdout) else {
        let text = stderr
            .trim()
            .trim_start_matches("sparsefuse: ")
            .replace('|', "/");
        return Ok(none(&text));
    };
    let word = |field: &str| report[field].as_str().unwrap_or_default().to_owned();
    let residual = report["true_residual"].as_f64();
    let residual = residual.map_or("not a number".to_owned(), |residual| {
        format!("{residual:.1e}")
    });
    Ok(Outcome {
        chosen: format!("`{}` with `{}`", word("solver"), word("pc")),
        cells: format!("{} | {residual} | {}", report["iterations"], word("reason")),
    })
}

/// What a program prints on a pipe, to its end; nothing if it is not text.
fn text_of(pipe: Option<impl Read>) -> String {
    let mut text = String::new();
    if let Some(mut pipe) = pipe {
        // What was read before a failure is as good as nothing.
        let _ = pipe.read_to_string(&mut text);
    }
    text
}
