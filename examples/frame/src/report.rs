//! What an example has found, as text and as JSON.

use crate::about::About;
use crate::options::Options;
use crate::run::Record;
use serde_json::{Map, Value, json};
use sparsefuse_kernels::{DType, Element};
use std::fmt::Write as _;

/// A number that belongs to the result.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub(crate) what: String,
    pub(crate) found: f64,
    /// What it has to be at most, if it has to be anything.
    pub(crate) at_most: Option<f64>,
}

impl Check {
    /// Nothing is said of a NaN, which is never at most a number.
    fn holds(&self) -> bool {
        self.at_most.is_none_or(|most| self.found <= most)
    }
}

/// The elements of a result.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) shape: Vec<usize>,
    /// As NumPy spells it.
    pub(crate) dtype: String,
    pub(crate) bytes: Vec<u8>,
    values: Vec<f64>,
}

impl Field {
    pub(crate) fn new<T: Element>(name: &'static str, shape: Vec<usize>, elements: &[T]) -> Self {
        let size = T::DTYPE.size();
        let mut bytes = Vec::with_capacity(elements.len() * size);
        for element in elements {
            bytes.extend_from_slice(&element.to_bits()[0].to_le_bytes()[..size]);
        }
        let kind = match T::DTYPE {
            DType::F32 | DType::F64 => 'f',
            DType::Bool => 'b',
            DType::U32 | DType::U64 => 'u',
            DType::I32 | DType::I64 => 'i',
            DType::ComplexF32 | DType::ComplexF64 => 'c',
        };
        Self {
            name,
            shape,
            dtype: format!("<{kind}{size}"),
            bytes,
            values: elements.iter().map(|&element| number(element)).collect(),
        }
    }

    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    /// The least and the largest of the elements that are numbers.
    fn range(&self) -> (f64, f64) {
        let fold = |(low, high): (f64, f64), &value: &f64| (low.min(value), high.max(value));
        self.values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), fold)
    }
}

/// What an example has found.
#[derive(Debug)]
pub struct Report {
    pub(crate) title: &'static str,
    pub(crate) name: &'static str,
    pub(crate) size: usize,
    pub(crate) steps: usize,
    pub(crate) threads: usize,
    /// Of all processes.
    pub(crate) ranks: usize,
    pub(crate) fusion: bool,
    pub(crate) choices: Vec<(&'static str, String)>,
    /// The bytes of one of the program's large arrays.
    pub(crate) array: f64,
    pub(crate) hash: String,
    pub(crate) record: Record,
}

impl Report {
    pub(crate) fn new(
        about: &About,
        options: &Options,
        (threads, ranks): (usize, usize),
        (record, hash): (Record, String),
    ) -> Self {
        Self {
            title: about.title,
            name: about.name,
            size: options.size,
            steps: options.steps,
            threads,
            ranks,
            fusion: options.fusion,
            choices: options.choices.clone(),
            array: (about.array_bytes)(options.size as f64),
            hash,
            record,
        }
    }

    /// Whether all checks hold.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.record.checks.iter().all(Check::holds)
    }

    /// The hash of the bits of all results; the same on all processes.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The elements of the first result, row-major; none but on the process of rank 0.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        self.record.field.as_ref().map_or(&[], Field::values)
    }

    /// The shape of the first result; none but on the process of rank 0.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        (self.record.field.as_ref()).map_or(&[], |field| field.shape.as_slice())
    }

    /// The median of the steps, in microseconds; where the steps are fused with each other, the
    /// mean.
    fn us_per_step(&self) -> f64 {
        let mut seconds = self.record.seconds.clone();
        seconds.sort_by(f64::total_cmp);
        let median = seconds.get(seconds.len() / 2).copied();
        1e6 * median.unwrap_or(self.record.total / self.steps as f64)
    }

    /// The most memory that stores have held, in large arrays of the program.
    fn arrays(&self) -> f64 {
        self.record.peak as f64 / self.array
    }

    /// One JSON object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let per_step = |count: u64| count as f64 / self.steps as f64;
        let number = |found: f64| {
            if found.is_finite() {
                json!(found)
            } else {
                json!(found.to_string())
            }
        };
        let checks = self.record.checks.iter().map(|check| {
            let bound = check.at_most.map(number);
            let value =
                json!({ "value": number(check.found), "at_most": bound, "holds": check.holds() });
            (check.what.clone(), value)
        });
        let checks: Map<String, Value> = checks.collect();
        let mut object = json!({
            "example": self.name,
            "size": self.size,
            "steps": self.steps,
            "threads": self.threads,
            "ranks": self.ranks,
            "fusion": self.fusion,
            "us_per_step": self.us_per_step(),
            "seconds": self.record.total,
            "tasks_per_step": per_step(self.record.tasks),
            "fused_tasks_per_step": per_step(self.record.fused_tasks),
            "messages_per_step": per_step(self.record.messages),
            "bytes_sent_per_step": per_step(self.record.bytes_sent),
            "peak_memory_bytes": self.record.peak,
            "peak_memory_arrays": self.arrays(),
            "result_hash": self.hash,
            "result_shape": self.shape(),
            "checks": checks,
        });
        for (name, value) in &self.choices {
            object[*name] = json!(value);
        }
        object
    }

    /// A report to read.
    pub(crate) fn to_text(&self) -> String {
        let per_step = |count: u64| count as f64 / self.steps as f64;
        let options: String = (self.choices.iter())
            .map(|(name, value)| format!(", {name} {value}"))
            .collect();
        let mut text = format!("{}: {}\n\n", self.name, self.title);
        let mut line = |label: &str, value: String| {
            let _ = writeln!(text, "  {label:<12} {value}");
        };
        line(
            "run",
            format!(
                "size {}, steps {}, threads {}, ranks {}{}{options}",
                self.size,
                self.steps,
                self.threads,
                self.ranks,
                if self.fusion { "" } else { ", no fusion" },
            ),
        );
        line("a step", time(self.us_per_step()));
        line(
            "tasks",
            format!(
                "{:.1} a step, fused to {:.2}",
                per_step(self.record.tasks),
                per_step(self.record.fused_tasks)
            ),
        );
        if self.ranks > 1 {
            line(
                "all ranks",
                format!(
                    "send {:.1} messages a step, {:.3} MB",
                    per_step(self.record.messages),
                    per_step(self.record.bytes_sent) / 1e6
                ),
            );
        }
        line(
            "peak memory",
            format!(
                "{:.2} MB, {:.1} arrays",
                self.record.peak as f64 / 1e6,
                self.arrays()
            ),
        );
        if let Some(field) = &self.record.field {
            let (low, high) = field.range();
            line(
                "result",
                format!(
                    "{} of shape {:?}, {low:.6} to {high:.6}",
                    field.name, field.shape
                ),
            );
        }
        line("hash", self.hash.clone());
        for check in &self.record.checks {
            let verdict = match (check.at_most, check.holds()) {
                (None, _) => String::new(),
                (Some(most), true) => format!(", at most {most}: right"),
                (Some(most), false) => format!(", more than {most}: WRONG"),
            };
            line(
                "check",
                format!("{}: {:.6e}{verdict}", check.what, check.found),
            );
        }
        text
    }
}

fn time(us: f64) -> String {
    if us >= 1e6 {
        format!("{:.2} s", us / 1e6)
    } else if us >= 1e3 {
        format!("{:.2} ms", us / 1e3)
    } else {
        format!("{us:.1} us")
    }
}

/// A real element as a number to draw and compare.
fn number<T: Element>(element: T) -> f64 {
    let [bits, _] = element.to_bits();
    match T::DTYPE {
        DType::F64 => f64::from_bits(bits),
        DType::F32 => f32::from_bits(bits as u32).into(),
        DType::I32 => f64::from(bits as u32 as i32),
        _ => bits as i64 as f64,
    }
}
