//! Why the program could not do what it was asked for.

use sparsefuse::Error;
use sparsefuse::sparse::matrix_market::{ReadError, ReadErrorKind, WriteError};
use std::io;
use std::path::{Path, PathBuf};

/// A failure; its text is one sentence with what was expected and what was found.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// An input is not what the command takes.
    #[error("{subject}: expected {expected}, found {found}")]
    Input {
        /// The argument or file.
        subject: String,
        /// What the command takes.
        expected: String,
        /// What it was given.
        found: String,
    },
    /// A matrix file could not be read.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// A matrix file could not be written.
    #[error("{0}")]
    Write(#[from] WriteError),
    /// The library refused.
    #[error("{0}")]
    Library(#[from] Error),
    /// What all processes have agreed to say of their failures.
    #[error("{0}")]
    Agreed(String),
    /// The operating system refused.
    #[error("{}: cannot {action}: {error}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        error: io::Error,
    },
}

impl Failure {
    /// An input is not what the command takes.
    pub(super) fn input(
        subject: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::Input {
            subject: subject.into(),
            expected: expected.into(),
            found: found.into(),
        }
    }

    /// The other rank whose failure this is, if it is that of another.
    pub(super) fn other_rank(&self) -> Option<usize> {
        match self {
            Self::Library(error) => error.other_rank(),
            Self::Read(error) => match error.kind() {
                ReadErrorKind::Assembly(cause) => cause.other_rank(),
                _ => None,
            },
            Self::Input { .. } | Self::Write(_) | Self::Agreed(_) | Self::System { .. } => None,
        }
    }

    /// The operating system refused.
    pub(super) fn system(path: &Path, action: &'static str, error: io::Error) -> Self {
        Self::System {
            path: path.to_owned(),
            action,
            error,
        }
    }
}
