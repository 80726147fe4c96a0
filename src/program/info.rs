//! `sparsefuse info`: what can be said of a matrix without solving anything.

use super::Status;
use super::arguments::InfoArguments;
use super::facts::{Facts, Symmetry};
use super::failure::Failure;
use super::header::Header;
use super::memory;
use super::output::{self, aligned, bytes, counted, grouped};
use super::spy;
use super::together::Together;
use num_complex::Complex;
use serde_json::{Value, json};
use sparsefuse::kernels::packed::{self, PlainRows, Summary};
use sparsefuse::kernels::{DType, Field, Workers};
use sparsefuse::runtime::{Config, Runtime};
use sparsefuse::sparse::LocalRows;
use std::ops::{Add, Neg};

/// Looks at a matrix, and reports; one of several processes does it for all.
pub(super) fn run(arguments: &InfoArguments, together: &Together) -> Result<Status, Failure> {
    let outcome = if together.is_first() {
        look(arguments)
    } else {
        Ok(Status::Done)
    };
    together.agree(together.processes.number(), outcome)
}

fn look(arguments: &InfoArguments) -> Result<Status, Failure> {
    if let Some(path) = &arguments.spy {
        let of_matrix = ("the matrix", arguments.source.file());
        output::check_apart(&[of_matrix], &[("--spy", Some(path))])?;
        output::check_writable(path)?;
    }
    let header = arguments.source.header()?;
    if header.as_ref().is_some_and(Header::is_complex) {
        describe::<Complex<f64>>(arguments, header)
    } else {
        describe::<f64>(arguments, header)
    }
}

fn describe<T>(arguments: &InfoArguments, header: Option<Header>) -> Result<Status, Failure>
where
    T: Field + Add<Output = T> + Neg<Output = T>,
{
    arguments
        .source
        .check_memory(header.as_ref(), size_of::<T>())?;
    let runtime = Runtime::new(Config::from_env()?)?;
    let a = runtime.enter(|| arguments.source.assemble::<T>())?;
    let shape = a.shape();
    let (_, entries) = a.local_rows()?;
    drop(a);
    let info = Info {
        arguments,
        header,
        dtype: T::DTYPE,
        facts: Facts::of(shape, &entries),
        packed: packed_form(shape, &entries),
    };
    if let Some(path) = &arguments.spy {
        spy::draw(path, shape, &entries)?;
    }
    if arguments.json {
        output::print(&format!("{}\n", info.to_json()))?;
    } else {
        output::print(&info.to_text())?;
    }
    Ok(Status::Done)
}

struct Info<'a> {
    arguments: &'a InfoArguments,
    header: Option<Header>,
    dtype: DType,
    facts: Facts,
    /// How products read the matrix.
    packed: Option<Summary>,
}

/// How the matrix is packed for products on one rank.
fn packed_form<T: Field>((_, columns): (usize, usize), entries: &LocalRows<T>) -> Option<Summary> {
    let rows = PlainRows {
        pos: &entries.pos,
        crd: &entries.crd,
        own_len: columns,
    };
    packed::summary(rows, &entries.vals, &Workers::new(1).ok()?)
}

impl Info<'_> {
    fn csr_bytes(&self) -> u128 {
        let Facts { rows, nnz, .. } = self.facts;
        memory::of_matrix(rows as u128, nnz as u128, self.dtype.size())
    }

    /// One object; `--help` explains its fields.
    fn to_json(&self) -> Value {
        let facts = &self.facts;
        let file = self.header.as_ref().map(|header| {
            json!({
                "format": header.format.name(),
                "field": header.field.to_string(),
                "symmetry": header.symmetry.to_string(),
                "stored": header.n_stored,
            })
        });
        let packed = self.packed.map(|packed| {
            json!({
                "bytes": packed.bytes,
                "bytes_per_nonzero": packed.bytes as f64 / facts.nnz as f64,
                "stencil_rows": packed.rows[0],
                "diagonal_rows": packed.rows[1],
                "window_rows": packed.rows[2],
                "paced_rows": packed.rows[3],
                "dictionary": packed.dictionary,
            })
        });
        // 0 / 0 is not a number, which JSON has as null.
        let share = |part: f64, of: usize| part / of as f64;
        json!({
            "source": self.arguments.source.to_string(),
            "rows": facts.rows,
            "cols": facts.cols,
            "nnz": facts.nnz,
            "dtype": self.dtype.name(),
            "row_min": facts.row_min,
            "row_mean": share(facts.nnz as f64, facts.rows),
            "row_max": facts.row_max,
            "empty_rows": facts.empty_rows,
            "bandwidth": facts.bandwidth,
            "pattern_symmetric": facts.is_pattern_symmetric,
            "symmetry": facts.symmetry.name(),
            "diagonal_missing": facts.diagonal_missing,
            "diagonal_zero": facts.diagonal_zero,
            "diagonal_positive": facts.is_diagonal_positive,
            "dominant_rows": share(facts.dominant_rows as f64, facts.rows),
            "csr_bytes": self.csr_bytes() as u64,
            "csr_bytes_per_nonzero": share(self.csr_bytes() as f64, facts.nnz),
            "packed": packed,
            "file": file,
        })
    }

    fn to_text(&self) -> String {
        let facts = &self.facts;
        let empty = || ("", String::new());
        let [rows, cols, nnz] = [facts.rows, facts.cols, facts.nnz].map(grouped);
        let mut lines = vec![
            ("matrix", self.arguments.source.to_string()),
            (
                "",
                format!("{rows} x {cols}, {nnz} entries, {}", self.dtype),
            ),
        ];
        lines.extend(
            self.header
                .as_ref()
                .map(|header| ("file", file_text(header))),
        );
        lines.extend([
            empty(),
            ("rows", self.rows()),
            ("bandwidth", grouped(facts.bandwidth)),
            ("pattern", pattern_text(facts).to_owned()),
            ("values", values_text(facts, self.dtype).to_owned()),
            ("diagonal", self.diagonal()),
            ("dominance", self.dominance()),
            empty(),
            ("memory", self.memory()),
        ]);
        lines.extend(
            self.packed
                .iter()
                .map(|packed| ("products", self.packing(packed))),
        );
        if let Some(path) = &self.arguments.spy {
            lines.push(("spy plot", path.display().to_string()));
        }
        aligned(&lines)
    }

    fn rows(&self) -> String {
        let Facts {
            row_min,
            row_max,
            rows,
            nnz,
            empty_rows,
            ..
        } = self.facts;
        let mean = nnz as f64 / (rows as f64).max(1.0);
        let range = format!("{row_min} to {row_max} entries, {mean:.2} on average");
        match empty_rows {
            0 => range,
            _ => format!("{range}, {}", counted(empty_rows, "empty row")),
        }
    }

    fn diagonal(&self) -> String {
        let facts = &self.facts;
        if facts.is_diagonal_positive {
            return "all positive".to_owned();
        }
        match (facts.diagonal_missing, facts.diagonal_zero) {
            (0, 0) => "no zeros, but not all positive".to_owned(),
            (missing, zero) => format!(
                "{} not stored, {} stored as 0",
                grouped(missing),
                grouped(zero)
            ),
        }
    }

    fn dominance(&self) -> String {
        let Facts {
            dominant_rows,
            rows,
            ..
        } = self.facts;
        let share = 100.0 * dominant_rows as f64 / (rows as f64).max(1.0);
        format!("{share:.1} % of the rows are diagonally dominant")
    }

    /// What a product reads, and in which form.
    fn packing(&self, packed: &Summary) -> String {
        let rows = self.facts.rows;
        let names = ["stencil", "diagonals", "windows", "paced"];
        let share = |count: usize| 100.0 * count as f64 / (rows as f64).max(1.0);
        let mut forms: Vec<String> = names
            .iter()
            .zip(packed.rows)
            .filter(|&(_, count)| count > 0)
            .map(|(name, count)| format!("{name} {:.1} %", share(count)))
            .collect();
        if packed.in_nodes > 0 {
            let share = share(packed.in_nodes);
            forms.push(format!("columns shared by neighbours {share:.1} %"));
        }
        if packed.dictionary > 0 {
            forms.push(format!(
                "dictionary of {}",
                counted(packed.dictionary, "value")
            ));
        }
        let read = format!("read {}", self.with_share(packed.bytes as f64, ""));
        match forms.is_empty() {
            true => read,
            false => format!("{read} ({})", forms.join(", ")),
        }
    }

    fn memory(&self) -> String {
        self.with_share(self.csr_bytes() as f64, " in CSR")
    }

    /// Bytes, and how many they are for each entry.
    fn with_share(&self, total: f64, what: &str) -> String {
        let all = format!("{}{what}", bytes(total));
        match total / self.facts.nnz as f64 {
            _ if self.facts.nnz == 0 => all,
            each if each < 0.1 => format!("{all}, {each:.4} B for each entry"),
            each => format!("{all}, {each:.1} B for each entry"),
        }
    }
}

fn file_text(header: &Header) -> String {
    let stored = grouped(header.n_stored);
    format!(
        "{}, {}, {}, {stored} stored",
        header.format.name(),
        header.field,
        header.symmetry
    )
}

fn pattern_text(facts: &Facts) -> &'static str {
    match (facts.rows == facts.cols, facts.is_pattern_symmetric) {
        (false, _) => "not square",
        (true, true) => "symmetric",
        (true, false) => "not symmetric",
    }
}

fn values_text(facts: &Facts, dtype: DType) -> &'static str {
    match facts.symmetry {
        Symmetry::None => "not symmetric",
        Symmetry::Symmetric if dtype.is_complex() => "symmetric, not Hermitian",
        symmetry => symmetry.name(),
    }
}
