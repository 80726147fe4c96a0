//! The bits of before: solutions have the hashes that they had at commit e728047.
//!
//! `tests/data/bits.csv` was made there, by the program: every generator and every square matrix of
//! `shared/matrices`, `cg`, `cgs` and `bicgstab`, without preconditioner and with `jacobi`, at most
//! 40 iterations, no limit of divergence. Where a later commit changed a meaning on purpose, the
//! line says so and names it. How arrays are cut, fused, packed and computed has no say in any of
//! them.

use serde_json::Value;
use sparsefuse_testing::matrices;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A line of the table.
struct Line<'a> {
    source: &'a str,
    solver: &'a str,
    pc: &'a str,
    dtype: &'a str,
    /// Iterations, reason and hash.
    expected: [&'a str; 3],
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Self {
        let fields: Vec<&str> = line.split(';').collect();
        let [source, solver, pc, dtype, iterations, reason, hash, ..] = fields[..] else {
            panic!("seven fields in `{line}`");
        };
        Self {
            source,
            solver,
            pc,
            dtype,
            expected: [iterations, reason, hash],
        }
    }

    /// What differs from the table; `None` if nothing does.
    fn difference(&self, source: &Path, threads: &str) -> Option<String> {
        let output = Command::new(env!("CARGO_BIN_EXE_sparsefuse"))
            .arg("solve")
            .arg(source)
            .args([
                "--solver",
                self.solver,
                "--pc",
                self.pc,
                "--dtype",
                self.dtype,
            ])
            .args(["--max-iter", "40", "--threads", threads, "--json"])
            .args(["--rtol", if self.dtype == "f32" { "1e-5" } else { "1e-8" }])
            .args(["--dtol", "1e300"])
            .output()
            .expect("the program starts");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let text = |name: &str| report[name].as_str().unwrap_or("none").to_owned();
        let found = [
            report["iterations"].to_string(),
            text("reason"),
            text("solution_hash"),
        ];
        (found != self.expected).then(|| {
            let Self {
                source,
                solver,
                pc,
                dtype,
                expected,
            } = self;
            format!("{source} {solver} {pc} {dtype}: expected {expected:?}, found {found:?}")
        })
    }
}

#[test]
fn solutions_have_the_bits_of_before() {
    let table = include_str!("../data/bits.csv");
    let lines: Vec<Line<'_>> = table.lines().skip(1).map(Line::parse).collect();
    assert!(lines.len() > 200, "the table is there");
    let folder = matrices();
    let next = AtomicUsize::new(0);
    // Two solves at a time, those by `cg` on two threads.
    let work = || {
        let mut differences = Vec::new();
        while let Some(line) = lines.get(next.fetch_add(1, Ordering::Relaxed)) {
            let source = match (line.source.ends_with(".mtx"), &folder) {
                (false, _) => PathBuf::from(line.source),
                (true, Some(folder)) => folder.join(line.source),
                (true, None) => continue,
            };
            let threads = if line.solver == "cg" { "2" } else { "1" };
            differences.extend(line.difference(&source, threads));
        }
        differences
    };
    let differences = std::thread::scope(|scope| {
        let other = scope.spawn(work);
        let mut all = work();
        all.extend(other.join().expect("a thread that only runs programs"));
        all
    });
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
