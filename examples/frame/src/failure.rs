//! Why an example could not do what it was asked for.

use sparsefuse_runtime::{Error, ErrorKind};
use std::fmt;

/// Why an example could not do what it was asked for; its text is one sentence.
#[derive(Debug)]
pub enum Failure {
    /// The options are not those of the example, or ask for its help.
    Options(Box<clap::Error>),
    /// An input that cannot be, or a file that cannot be written.
    Input(String),
    /// The library refused.
    Library(Error),
}

impl Failure {
    /// Whether a process that is not the first one should say it: it alone knows what has become of
    /// its memory and its threads, whereas all processes find bad input alike.
    pub(crate) fn is_of_one_process(&self) -> bool {
        match self {
            Self::Library(error) => {
                let mut cause = error;
                while let ErrorKind::Poisoned { cause: first, .. } = cause.kind() {
                    cause = first;
                }
                matches!(
                    cause.kind(),
                    ErrorKind::OutOfMemory { .. }
                        | ErrorKind::Refused { .. }
                        | ErrorKind::Panic { .. }
                )
            }
            Self::Options(_) | Self::Input(_) => false,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Options(error) => f.write_str(&sentence(&error.render().to_string())),
            Self::Input(text) => f.write_str(text),
            Self::Library(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        Self::Options(Box::new(error))
    }
}

/// An error of the option parser in one line, without the paragraphs that repeat the usage.
fn sentence(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| {
        !line.is_empty() && !line.starts_with("Usage:") && !line.starts_with("For more information")
    });
    let lines: Vec<_> = lines
        .map(|line| line.strip_prefix("error: ").unwrap_or(line))
        .collect();
    lines.join(" ")
}
