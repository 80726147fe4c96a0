//! Why the program could not do what it was asked for.

use sparsefuse::Error;
use sparsefuse::runtime::ErrorKind;
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

    /// Whether it follows from what another rank has done: that failed, or runs another program.
    pub(super) fn follows(&self) -> bool {
        let follows = |cause: &Error| {
            cause.other_rank().is_some() || matches!(cause.kind(), ErrorKind::Parted { .. })
        };
        match self {
            Self::Library(error) => follows(error),
            Self::Read(error) => match error.kind() {
                ReadErrorKind::Assembly(cause) => follows(cause),
                _ => false,
            },
            Self::Input { .. } | Self::Write(_) | Self::Agreed(_) | Self::System { .. } => false,
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
