//! `sparsefuse eigs`: a few eigenvalues of a symmetric (Hermitian) matrix.
//!
//! As `solve` does, every rank assembles its rows and takes part; the first process reports. A
//! matrix that differs from its adjoint by more than rounding is refused, since the method would
//! not notice.

use super::Status;
use super::arguments::{EigsArguments, Wanted};
use super::columns::{self, Elements};
use super::failure::Failure;
use super::header::Header;
use super::memory;
use super::output::{self, aligned, counted, grouped, seconds};
use super::together::Together;
use num_complex::Complex;
use serde_json::{Value, json};
use sparsefuse::kernels::{DType, Field, Real};
use sparsefuse::runtime::Config;
use sparsefuse::solvers::StopReason;
use sparsefuse::solvers::eigen::{EigshOptions, eigsh, eigsh_near};
use sparsefuse::sparse::Csr;
use std::ops::Add;
use std::time::Instant;

/// Finds eigenvalues, and reports.
pub(super) fn run(arguments: &EigsArguments, together: &Together) -> Result<Status, Failure> {
    let first_rank = together.processes.number() * arguments.ranks;
    let checked = check(arguments, together);
    let (config, is_complex) = together.agree(first_rank, checked)?;
    let find = match is_complex {
        true => find::<Complex<f64>>,
        false => find::<f64>,
    };
    find(arguments, config, together)
}

/// Refuses what has no eigenvalues before it is read; the settings, and whether the matrix is
/// complex.
fn check(arguments: &EigsArguments, together: &Together) -> Result<(Config, bool), Failure> {
    let config = arguments.config()?;
    output::check_apart(
        &[("the matrix", arguments.source.file())],
        &[("--out", arguments.out.as_deref())],
    )?;
    if let Some(path) = arguments.out.as_ref().filter(|_| together.is_first()) {
        output::check_writable(path)?;
    }
    let header = arguments.source.header()?;
    let is_complex = header.as_ref().is_some_and(Header::is_complex);
    let element = match is_complex {
        true => size_of::<Complex<f64>>(),
        false => size_of::<f64>(),
    };
    let shares = together.processes.count();
    let source = &arguments.source;
    source.check_square(header.as_ref(), element, shares)?;
    Ok((config, is_complex))
}

/// What was found, the same on every rank.
struct Report<'a> {
    arguments: &'a EigsArguments,
    dtype: DType,
    /// Ranks of all processes, and threads of each.
    ranks: usize,
    threads: usize,
    rows: usize,
    nnz: usize,
    /// How many were wanted.
    k: usize,
    values: Vec<f64>,
    residuals: Vec<f64>,
    converged: usize,
    restarts: usize,
    products: usize,
    reason: StopReason,
    setup_s: f64,
    solve_s: f64,
}

fn find<T: Field + Add<Output = T>>(
    arguments: &EigsArguments,
    config: Config,
    together: &Together,
) -> Result<Status, Failure> {
    let first_rank = together.processes.number() * arguments.ranks;
    let ranks = arguments.ranks * together.processes.count();
    let on_rank = |_: &_| on_rank::<T>(arguments, ranks, config.threads);
    let runs = together.run_ranks(arguments.ranks, &config, on_rank)?;
    let (report, vectors) = &runs[0];
    let shown = match together.is_first() {
        true => show(report, vectors.as_ref()),
        false => Ok(()),
    };
    together.agree(first_rank, shown)?;
    Ok(match report.reason {
        StopReason::Converged => Status::Done,
        _ => Status::NotConverged,
    })
}

/// Prints what was found, and writes the vectors if they were asked for.
fn show<T: Field>(report: &Report<'_>, vectors: Option<&Elements<T>>) -> Result<(), Failure> {
    let arguments = report.arguments;
    output::print(&match arguments.json {
        true => format!("{}\n", report.to_json()),
        false => report.to_text(),
    })?;
    let columns = vectors.and_then(|vectors| vectors.columns.as_ref());
    if let (Some(path), Some(columns)) = (&arguments.out, columns) {
        let comment = format!("eigenvectors of {}, as columns", arguments.source);
        columns::write(path, columns, "basis of eigenvectors", &comment)?;
    }
    Ok(())
}

/// What every rank does.
fn on_rank<T: Field + Add<Output = T>>(
    arguments: &EigsArguments,
    ranks: usize,
    threads: usize,
) -> Result<(Report<'_>, Option<Elements<T>>), Failure> {
    let begin = Instant::now();
    let a: Csr<T> = arguments.source.assemble()?;
    check_hermitian(arguments, &a)?;
    let setup_s = begin.elapsed().as_secs_f64();
    let options = EigshOptions {
        which: arguments.which.which(),
        ncv: arguments.ncv,
        tol: arguments.tol,
        max_iter: arguments.max_iter,
        ..EigshOptions::default()
    };
    let k = arguments.k;
    let k = k.unwrap_or_else(|| a.n_rows().saturating_sub(1).clamp(1, 6));
    let ncv = options.basis_len(a.n_rows(), k);
    check_basis(arguments, &a, (k, ncv), ranks)?;
    let begin = Instant::now();
    let eigen = match arguments.sigma {
        Some(sigma) => eigsh_near(&a, sigma, k, &options)?,
        None => eigsh(&a, k, &options)?,
    };
    let solve_s = begin.elapsed().as_secs_f64();
    let is_wanted = arguments.out.is_some();
    let vectors = is_wanted.then(|| columns::read(eigen.vectors.iter(), true));
    let report = Report {
        arguments,
        dtype: T::DTYPE,
        ranks,
        threads,
        rows: a.n_rows(),
        nnz: a.nnz(),
        k,
        values: eigen.values,
        residuals: eigen.residuals,
        converged: eigen.converged,
        restarts: eigen.iterations,
        products: eigen.products,
        reason: eigen.reason,
        setup_s,
        solve_s,
    };
    Ok((report, vectors.transpose()?))
}

/// Refuses a basis that memory cannot hold, with the projection on it and its eigenvectors, which
/// every rank has, and the columns of the file, which one process has twice.
fn check_basis<T: Field>(
    arguments: &EigsArguments,
    a: &Csr<T>,
    (k, ncv): (usize, usize),
    ranks: usize,
) -> Result<(), Failure> {
    let (n, ncv) = (a.n_rows() as u128, ncv.min(a.n_rows()) as u128);
    let of_basis = n * ncv * T::DTYPE.size() as u128;
    let of_projection = 4 * 16 * ncv * ncv * ranks as u128;
    let of_columns = match arguments.out {
        Some(_) => 2 * n * k as u128 * T::DTYPE.size() as u128,
        None => 0,
    };
    let processes = (ranks / arguments.ranks.max(1)).max(1);
    memory::check_that(
        &format!("a basis of {ncv} vectors (--ncv, or two for each of --k)"),
        &arguments.source.to_string(),
        (of_basis + of_projection) / processes as u128 + of_columns,
    )
}

/// Refuses a matrix that is not its adjoint, up to rounding.
fn check_hermitian<T: Field>(arguments: &EigsArguments, a: &Csr<T>) -> Result<(), Failure> {
    if !a.is_hermitian()? {
        let difference = a.try_sub(&a.adjoint()?)?.norm_max().get()?.to_f64();
        let found = format!(
            "one that differs from its adjoint by {:.1e} of its largest entry",
            difference / a.kept_norm_max()?
        );
        let expected = "a symmetric (Hermitian) matrix";
        return Err(Failure::input(
            arguments.source.to_string(),
            expected,
            found,
        ));
    }
    Ok(())
}

impl Report<'_> {
    /// One object; `--help` explains its fields.
    fn to_json(&self) -> Value {
        json!({
            "source": self.arguments.source.to_string(),
            "dtype": self.dtype.name(),
            "rows": self.rows,
            "nnz": self.nnz,
            "threads": self.threads,
            "ranks": self.ranks,
            "which": self.arguments.wanted(),
            "sigma": self.arguments.sigma,
            "values": self.values,
            "residuals": self.residuals,
            "converged": self.reason == StopReason::Converged,
            "converged_values": self.converged,
            "reason": self.reason.to_string(),
            "hint": self.hint(),
            "restarts": self.restarts,
            "products": self.products,
            "setup_s": self.setup_s,
            "solve_s": self.solve_s,
        })
    }

    fn to_text(&self) -> String {
        let [rows, nnz] = [self.rows, self.nnz].map(grouped);
        let outcome = match self.reason {
            StopReason::Converged => "converged".to_owned(),
            reason => format!(
                "not converged: {reason}; {} of {} have",
                self.converged, self.k
            ),
        };
        let wanted = match self.arguments.sigma {
            Some(sigma) => format!("nearest to {sigma:?}"),
            None => self.arguments.wanted().to_owned(),
        };
        let work = format!(
            "{}, {}",
            counted(self.restarts, "restart"),
            counted(self.products, "product")
        );
        let mut lines = vec![
            ("matrix", self.arguments.source.to_string()),
            (
                "",
                format!("{rows} x {rows}, {nnz} entries, {}", self.dtype),
            ),
            ("wanted", wanted),
            ("outcome", outcome),
        ];
        if let Some(hint) = self.hint() {
            lines.push(("hint", hint.to_owned()));
        }
        lines.extend([
            ("work", work),
            (
                "time",
                format!(
                    "{} setup, {} solve",
                    seconds(self.setup_s),
                    seconds(self.solve_s)
                ),
            ),
            ("", String::new()),
        ]);
        let pairs = self.values.iter().zip(&self.residuals);
        lines.extend(pairs.enumerate().map(|(i, (value, residual))| {
            let name = if i == 0 { "values" } else { "" };
            let text = format!("{value:>23.15e}  residual {residual:.1e}");
            (name, text)
        }));
        aligned(&lines)
    }

    /// What may help where not all have converged.
    fn hint(&self) -> Option<&'static str> {
        let is_slow = self.arguments.sigma.is_none() && self.arguments.which == Wanted::Smallest;
        match self.reason {
            // Of a positive definite matrix the smallest are those nearest to 0.
            StopReason::IterationLimit if is_slow => {
                Some("small eigenvalues that lie close together take many restarts; try --sigma 0")
            }
            StopReason::Stagnation => {
                Some("rounding hides other eigenvalues so near to one; try a --sigma between them")
            }
            _ => None,
        }
    }
}

impl EigsArguments {
    /// Which eigenvalues are wanted, in a word.
    fn wanted(&self) -> &'static str {
        match (self.sigma, self.which) {
            (Some(_), _) => "nearest",
            (None, Wanted::Largest) => "largest",
            (None, Wanted::Smallest) => "smallest",
            (None, Wanted::Magnitude) => "magnitude",
            (None, Wanted::Ends) => "ends",
        }
    }
}
