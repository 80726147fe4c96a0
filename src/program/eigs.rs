//! `sparsefuse eigs`: a few eigenvalues of a square matrix.
//!
//! As `solve` does, every rank assembles its rows and takes part; the first process reports. A
//! matrix that differs from its adjoint by no more than rounding has real eigenvalues, which
//! Lanczos's method finds; those of others are complex numbers, by the Krylov-Schur method.

use super::Status;
use super::arguments::{EigsArguments, Wanted};
use super::columns::{self, Elements};
use super::failure::Failure;
use super::header::Header;
use super::memory;
use super::output::{self, aligned, counted, grouped, seconds};
use super::source::Source;
use super::together::Together;
use num_complex::Complex;
use serde_json::{Value, json};
use sparsefuse::kernels::{DType, Element, Field, Real};
use sparsefuse::runtime::Config;
use sparsefuse::solvers::StopReason;
use sparsefuse::solvers::eigen::{
    EigsOptions, EigshOptions, WhichComplex, eigs, eigs_near, eigsh, eigsh_near,
};
use sparsefuse::sparse::Csr;
use std::ops::Add;
use std::time::Instant;

/// Finds eigenvalues, and reports.
pub(super) fn run(arguments: &EigsArguments, together: &Together) -> Result<Status, Failure> {
    let first_rank = together.processes.number() * arguments.machine.ranks;
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
        &[
            ("the matrix", arguments.source.file()),
            ("--mass", arguments.mass.as_ref().and_then(Source::file)),
        ],
        &[("--out", arguments.out.as_deref())],
    )?;
    if let Some(path) = arguments.out.as_ref().filter(|_| together.is_first()) {
        output::check_writable(path)?;
    }
    let sources: Vec<&Source> = std::iter::once(&arguments.source)
        .chain(&arguments.mass)
        .collect();
    let headers: Vec<Option<Header>> = sources
        .iter()
        .map(|source| source.header())
        .collect::<Result<_, _>>()?;
    let is_complex = headers.iter().flatten().any(Header::is_complex);
    let element = match is_complex {
        true => size_of::<Complex<f64>>(),
        false => size_of::<f64>(),
    };
    let shares = together.processes.count();
    for (source, header) in sources.iter().zip(&headers) {
        source.check_square(header.as_ref(), element, shares)?;
    }
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
    is_hermitian: bool,
    /// How many were wanted.
    k: usize,
    found: Found,
    setup_s: f64,
    solve_s: f64,
}

/// What the methods have in common. Values of a Hermitian matrix have no imaginary parts.
struct Found {
    values: Vec<Complex<f64>>,
    residuals: Vec<f64>,
    converged: usize,
    restarts: usize,
    products: usize,
    reason: StopReason,
}

/// Eigenvectors, which are complex where a real matrix is not symmetric.
enum Vectors<T: Field> {
    Same(Elements<T>),
    Complex(Elements<T::Complex>),
}

fn find<T: Field + Add<Output = T>>(
    arguments: &EigsArguments,
    config: Config,
    together: &Together,
) -> Result<Status, Failure> {
    let first_rank = together.processes.number() * arguments.machine.ranks;
    let ranks = arguments.machine.ranks * together.processes.count();
    let on_rank = |_: &_| on_rank::<T>(arguments, ranks, config.threads);
    let runs = together.run_ranks(arguments.machine.ranks, &config, on_rank)?;
    let (report, vectors) = &runs[0];
    let shown = match together.is_first() {
        true => show(report, vectors.as_ref()),
        false => Ok(()),
    };
    together.agree(first_rank, shown)?;
    Ok(match report.found.reason {
        StopReason::Converged => Status::Done,
        _ => Status::NotConverged,
    })
}

/// Prints what was found, and writes the vectors if they were asked for.
fn show<T: Field>(report: &Report<'_>, vectors: Option<&Vectors<T>>) -> Result<(), Failure> {
    let arguments = report.arguments;
    output::print(&match arguments.json {
        true => format!("{}\n", report.to_json()),
        false => report.to_text(),
    })?;
    match vectors {
        Some(Vectors::Same(vectors)) => write(arguments, vectors),
        Some(Vectors::Complex(vectors)) => write(arguments, vectors),
        None => Ok(()),
    }
}

fn write<T: Field>(arguments: &EigsArguments, vectors: &Elements<T>) -> Result<(), Failure> {
    if let (Some(path), Some(columns)) = (&arguments.out, &vectors.columns) {
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
) -> Result<(Report<'_>, Option<Vectors<T>>), Failure> {
    let begin = Instant::now();
    let a: Csr<T> = arguments.source.assemble()?;
    let is_hermitian = a.is_hermitian()?;
    let mass: Option<Csr<T>> = match &arguments.mass {
        Some(source) => Some(source.assemble()?),
        None => None,
    };
    if let (Some(mass), Some(source)) = (&mass, &arguments.mass) {
        check_hermitian(source, mass, "for --mass")?;
        check_hermitian(&arguments.source, &a, "with --mass")?;
    }
    let which = arguments.which.of_general();
    if which.is_none() {
        check_hermitian(&arguments.source, &a, "for --which ends")?;
    }
    let setup_s = begin.elapsed().as_secs_f64();
    let most = match is_hermitian {
        true => a.n_rows().saturating_sub(1),
        false => a.n_rows(),
    };
    let k = arguments.k.unwrap_or_else(|| most.clamp(1, 6));
    let begin = Instant::now();
    let (found, vectors) = match which {
        Some(which) if !is_hermitian => of_general(arguments, which, &a, k, ranks)?,
        _ => of_hermitian(arguments, &a, mass.as_ref(), k, ranks)?,
    };
    let report = Report {
        arguments,
        dtype: T::DTYPE,
        ranks,
        threads,
        rows: a.n_rows(),
        nnz: a.nnz(),
        is_hermitian,
        k,
        found,
        setup_s,
        solve_s: begin.elapsed().as_secs_f64(),
    };
    Ok((report, vectors))
}

/// By Lanczos's method.
fn of_hermitian<T: Field>(
    arguments: &EigsArguments,
    a: &Csr<T>,
    mass: Option<&Csr<T>>,
    k: usize,
    ranks: usize,
) -> Result<(Found, Option<Vectors<T>>), Failure> {
    let refuse = |option: &str, found: &str| {
        let expected = format!("a matrix that is not Hermitian, for {option}");
        Err(Failure::input(
            arguments.source.to_string(),
            expected,
            found,
        ))
    };
    let Some(which) = arguments.which.of_hermitian() else {
        return refuse(
            "--which imaginary",
            "a Hermitian one, whose eigenvalues are real",
        );
    };
    if arguments.sigma.is_some_and(|sigma| sigma.im != 0.0) {
        return refuse(
            "a complex --sigma",
            "a Hermitian one, whose eigenvalues are real",
        );
    }
    let options = EigshOptions {
        which,
        ncv: arguments.ncv,
        tol: arguments.tol,
        max_iter: arguments.max_iter,
        mass,
        ..EigshOptions::default()
    };
    check_basis(
        arguments,
        a,
        (k, options.basis_len(a.n_rows(), k)),
        T::DTYPE,
        ranks,
    )?;
    let eigen = match arguments.sigma {
        Some(sigma) => eigsh_near(a, sigma.re, k, &options)?,
        None => eigsh(a, k, &options)?,
    };
    let is_wanted = arguments.out.is_some();
    let vectors = is_wanted.then(|| columns::read(eigen.vectors.iter(), true));
    let found = Found {
        values: eigen.values.into_iter().map(Complex::from).collect(),
        residuals: eigen.residuals,
        converged: eigen.n_converged,
        restarts: eigen.iterations,
        products: eigen.products,
        reason: eigen.reason,
    };
    Ok((found, vectors.transpose()?.map(Vectors::Same)))
}

/// By the Krylov-Schur method.
fn of_general<T: Field>(
    arguments: &EigsArguments,
    which: WhichComplex,
    a: &Csr<T>,
    k: usize,
    ranks: usize,
) -> Result<(Found, Option<Vectors<T>>), Failure> {
    let options = EigsOptions {
        which,
        ncv: arguments.ncv,
        tol: arguments.tol,
        max_iter: arguments.max_iter,
        v0: None,
    };
    // Of the basis, or of the vectors of a real matrix with a complex shift.
    let dtype = <T::Complex as Element>::DTYPE;
    check_basis(
        arguments,
        a,
        (k, options.basis_len(a.n_rows(), k)),
        dtype,
        ranks,
    )?;
    let eigen = match arguments.sigma {
        Some(sigma) => eigs_near(a, sigma, k, &options)?,
        None => eigs(a, k, &options)?,
    };
    let is_wanted = arguments.out.is_some();
    let vectors = is_wanted.then(|| columns::read(eigen.vectors.iter(), true));
    let found = Found {
        values: eigen.values,
        residuals: eigen.residuals,
        converged: eigen.n_converged,
        restarts: eigen.iterations,
        products: eigen.products,
        reason: eigen.reason,
    };
    Ok((found, vectors.transpose()?.map(Vectors::Complex)))
}

/// Refuses a matrix that is not its adjoint, up to rounding.
fn check_hermitian<T: Field>(source: &Source, a: &Csr<T>, why: &str) -> Result<(), Failure> {
    if !a.is_hermitian()? {
        let difference = a.try_sub(&a.adjoint()?)?.norm_max().get()?.to_f64();
        let found = format!(
            "one that differs from its adjoint by {:.1e} of its largest entry",
            difference / a.kept_norm_max()?
        );
        let expected = format!("a symmetric (Hermitian) matrix, {why}");
        return Err(Failure::input(source.to_string(), expected, found));
    }
    Ok(())
}

/// Refuses a basis that memory cannot hold, with the projection on it and its eigenvectors, which
/// every rank has, and the columns of the file, which one process has twice.
fn check_basis<T: Field>(
    arguments: &EigsArguments,
    a: &Csr<T>,
    (k, ncv): (usize, usize),
    dtype: DType,
    ranks: usize,
) -> Result<(), Failure> {
    let (n, ncv) = (a.n_rows() as u128, ncv.min(a.n_rows()) as u128);
    let of_basis = n * ncv * dtype.size() as u128;
    let of_projection = 4 * 16 * ncv * ncv * ranks as u128;
    let of_columns = match arguments.out {
        Some(_) => 2 * n * k as u128 * dtype.size() as u128,
        None => 0,
    };
    let processes = (ranks / arguments.machine.ranks.max(1)).max(1);
    memory::check_that(
        &format!("a basis of {ncv} vectors (--ncv, or two for each of --k)"),
        &arguments.source.to_string(),
        (of_basis + of_projection) / processes as u128 + of_columns,
    )
}

impl Report<'_> {
    /// One object; `--help` explains its fields.
    fn to_json(&self) -> Value {
        let values = self.found.values.iter();
        let values = values.map(|value| number(*value, self.is_hermitian));
        json!({
            "source": self.arguments.source.to_string(),
            "dtype": self.dtype.name(),
            "rows": self.rows,
            "nnz": self.nnz,
            "threads": self.threads,
            "ranks": self.ranks,
            "hermitian": self.is_hermitian,
            "which": self.arguments.wanted(),
            "mass": self.arguments.mass.as_ref().map(ToString::to_string),
            "sigma": self.arguments.sigma.map(|sigma| number(sigma, sigma.im == 0.0)),
            "values": values.collect::<Vec<_>>(),
            "residuals": self.found.residuals,
            "converged": self.found.reason == StopReason::Converged,
            "converged_values": self.found.converged,
            "reason": self.found.reason.to_string(),
            "hint": self.hint(),
            "restarts": self.found.restarts,
            "products": self.found.products,
            "setup_s": self.setup_s,
            "solve_s": self.solve_s,
        })
    }

    fn to_text(&self) -> String {
        let [rows, nnz] = [self.rows, self.nnz].map(grouped);
        let found = &self.found;
        let kind = if self.is_hermitian {
            "Hermitian"
        } else {
            "not Hermitian"
        };
        let outcome = match found.reason {
            StopReason::Converged => "converged".to_owned(),
            reason => format!(
                "not converged: {reason}; {} of {} have",
                found.converged, self.k
            ),
        };
        let wanted = match self.arguments.sigma {
            Some(sigma) if sigma.im == 0.0 => format!("nearest to {:?}", sigma.re),
            Some(sigma) => format!("nearest to {sigma}"),
            None => self.arguments.wanted().to_owned(),
        };
        let work = format!(
            "{}, {}",
            counted(found.restarts, "restart"),
            counted(found.products, "product")
        );
        let mut lines = vec![
            ("matrix", self.arguments.source.to_string()),
            (
                "",
                format!("{rows} x {rows}, {nnz} entries, {}, {kind}", self.dtype),
            ),
            ("wanted", wanted),
            ("outcome", outcome),
        ];
        if let Some(mass) = &self.arguments.mass {
            lines.insert(2, ("mass", mass.to_string()));
        }
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
        let pairs = found.values.iter().zip(&found.residuals);
        lines.extend(pairs.enumerate().map(|(i, (value, residual))| {
            let name = if i == 0 { "values" } else { "" };
            let imaginary = match self.is_hermitian {
                true => String::new(),
                false => format!(" {:>+23.15e}i", value.im),
            };
            let text = format!("{:>23.15e}{imaginary}  residual {residual:.1e}", value.re);
            (name, text)
        }));
        aligned(&lines)
    }

    /// What may help where not all have converged.
    fn hint(&self) -> Option<&'static str> {
        let is_slow = self.arguments.sigma.is_none() && self.arguments.which == Wanted::Smallest;
        match self.found.reason {
            // Of a positive definite matrix the smallest are those nearest to 0.
            StopReason::IterationLimit if is_slow => {
                Some("small eigenvalues that lie close together take many restarts; try --sigma 0")
            }
            StopReason::Stagnation if self.arguments.sigma.is_some() => {
                Some("rounding hides other eigenvalues so near to one; try a --sigma between them")
            }
            StopReason::Stagnation => {
                Some("rounding hides other eigenvalues so near to one; try a --sigma near them")
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
            (None, Wanted::Imaginary) => "imaginary",
        }
    }
}

/// A real number, or the two parts of a complex one.
fn number(value: Complex<f64>, is_real: bool) -> Value {
    match is_real {
        true => json!(value.re),
        false => json!([value.re, value.im]),
    }
}
