//! Errors of the runtime and of everything written on it.
//!
//! One opaque [`Error`] around an [`ErrorKind`]; every message names the operation, what was
//! expected and what was found. Errors are cheap to clone, since a failure while executing is
//! handed to everyone who reads a store that depends on it.

use crate::shape::Shape;
use sparsefuse_kernels::device::DeviceError;
use sparsefuse_kernels::verify::VerifyError;
use sparsefuse_kernels::{DType, text};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A failed operation: see [`Error::kind`] for the facts, `Display` for the sentence.
///
/// `Debug` shows the sentence too, so that a `main` that returns it ends with what a user can read.
#[derive(Clone, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct Error {
    kind: Arc<ErrorKind>,
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Two shapes that an operation needs to agree do not.
    #[error("{op}: expected a shape of {expected}, found {found}")]
    Shape {
        /// The operation.
        op: &'static str,
        /// The shape that the other operands have.
        expected: Shape,
        /// The shape that does not fit.
        found: Shape,
    },
    /// An operand has the wrong element type, or the operation is not defined on it.
    #[error("{op}: expected elements of type {expected}, found {found}")]
    DType {
        /// The operation.
        op: &'static str,
        /// What the operation takes.
        expected: String,
        /// What it was given.
        found: DType,
    },
    /// An argument has a value that the operation does not take.
    #[error("{op}: expected {expected}, found {found}")]
    Argument {
        /// The operation.
        op: &'static str,
        /// What the operation takes.
        expected: String,
        /// What it was given.
        found: String,
    },
    /// A store was read that no task has written.
    #[error("{op}: expected a store with contents, found one that nothing has written")]
    Unwritten {
        /// The operation.
        op: &'static str,
    },
    /// Memory for a store could not be had.
    #[error("expected {wanted} bytes of memory, found {available} left under the limit of {limit}")]
    OutOfMemory {
        /// The bytes that were asked for, as the pool counts them.
        wanted: usize,
        /// The bytes that are left.
        available: usize,
        /// The configured limit.
        limit: usize,
    },
    /// The system refuses memory, within the configured limit or where there is none.
    #[error("expected {wanted} bytes of memory, found that the system refuses them")]
    Refused {
        /// The bytes that were asked for.
        wanted: usize,
    },
    /// A kernel or an operation panicked while executing; this is a defect of the library.
    #[error("`{task}` panicked: {message}")]
    Panic {
        /// The fused task.
        task: String,
        /// The panic's message.
        message: String,
    },
    /// Another rank failed or left.
    #[error("rank {rank}: {message}")]
    Rank {
        /// The rank that failed.
        rank: usize,
        /// What it said.
        message: String,
        /// The facts besides, where they have arrived: of a matrix that is singular or not
        /// positive definite. MPI carries those alone.
        fact: Option<Error>,
    },
    /// The device that the settings name is not there, or it has failed.
    #[error("device: {0}")]
    Device(DeviceError),
    /// A call of MPI failed.
    #[error("{call}: {message}")]
    Mpi {
        /// The call.
        call: &'static str,
        /// What MPI said.
        message: String,
    },
    /// A file is not what an operation needs, or the system refuses it.
    #[error("{}: expected {expected}, found {found}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operation needs.
        expected: String,
        /// What is there, or what the system says.
        found: String,
    },
    /// A text, such as a file, does not have the format that is read, or cannot be read or written.
    #[error("{place}: {message}")]
    Format {
        /// The file and, where one is at fault, the line.
        place: String,
        /// What was expected and what was found.
        message: String,
    },
    /// A system with a matrix that has no inverse.
    #[error("{op}: expected a nonsingular matrix, found {found}")]
    Singular {
        /// The operation.
        op: &'static str,
        /// What shows that it is singular.
        found: String,
    },
    /// A factorisation of a matrix that is not positive definite.
    #[error("{op}: expected a positive definite matrix, found {found}")]
    NotPositiveDefinite {
        /// The operation.
        op: &'static str,
        /// What shows that it is not.
        found: String,
    },
    /// A solver has stopped before it converged.
    #[error(
        "expected convergence, found {reason} after {iterations} iterations, \
         with a residual of {residual:.1e}"
    )]
    NotConverged {
        /// Why it stopped.
        reason: String,
        /// The iterations that it took.
        iterations: usize,
        /// The norm of the residual, divided by that of the right-hand side unless that is 0.
        residual: f64,
    },
    /// The ranks of a program issue different tasks, or make different calls.
    #[error(
        "expected all ranks to run the same program, but they diverge at task {task}: \
         rank {rank} {does}, rank {other} {other_does}"
    )]
    Parted {
        /// The number of the first task that differs, from 1: all before it are the same.
        task: u64,
        /// A rank.
        rank: usize,
        /// What it does in the place of this task.
        does: String,
        /// The lowest rank that does something else.
        other: usize,
        /// What that does.
        other_does: String,
    },
    /// A store was read whose computation failed earlier.
    #[error("`{task}` failed: {cause}")]
    Poisoned {
        /// The task that failed first.
        task: String,
        /// Why it failed.
        cause: Error,
    },
}

impl Error {
    /// The facts. Of a store that was read they are [`ErrorKind::Poisoned`]: see [`Error::root`].
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The facts of what failed first, whether that was told where it happened or where its results
    /// were read. Of what failed on another process MPI carries the text alone
    /// ([`ErrorKind::Rank`]), by which ranks must not decide anything; but a matrix that is
    /// [singular](ErrorKind::Singular) or not [positive definite](ErrorKind::NotPositiveDefinite)
    /// is so on every rank.
    ///
    /// ```
    /// use sparsefuse_runtime::{Error, ErrorKind};
    ///
    /// let first = Error::argument("take", "an index below 3", "5");
    /// let task = "add".to_owned();
    /// let read = Error::from(ErrorKind::Poisoned { task, cause: first.clone() });
    /// assert_eq!(read.root(), first.kind());
    /// ```
    #[must_use]
    pub fn root(&self) -> &ErrorKind {
        match self.kind() {
            ErrorKind::Poisoned { cause, .. }
            | ErrorKind::Rank {
                fact: Some(cause), ..
            } => cause.root(),
            kind => kind,
        }
    }

    /// An argument has a value that the operation does not take.
    pub fn argument(
        op: &'static str,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        ErrorKind::Argument {
            op,
            expected: expected.into(),
            found: found.into(),
        }
        .into()
    }

    /// Two shapes that need to agree do not.
    #[must_use]
    pub fn shape(op: &'static str, expected: Shape, found: Shape) -> Self {
        ErrorKind::Shape {
            op,
            expected,
            found,
        }
        .into()
    }

    /// A file is not as it has to be.
    #[must_use]
    pub fn file(path: &Path, expected: impl Into<String>, found: impl Into<String>) -> Self {
        ErrorKind::File {
            path: path.to_owned(),
            expected: expected.into(),
            found: found.into(),
        }
        .into()
    }

    /// Refuses a shape other than the expected one.
    ///
    /// # Errors
    ///
    /// If they differ.
    pub fn check_shape(op: &'static str, expected: &[usize], found: &[usize]) -> Result<(), Self> {
        match expected == found {
            true => Ok(()),
            false => Err(Self::shape(op, Shape::new(expected), Shape::new(found))),
        }
    }

    /// The other rank whose failure this is, if it is that of another.
    #[must_use]
    pub fn other_rank(&self) -> Option<usize> {
        match self.kind() {
            ErrorKind::Rank { rank, .. } => Some(*rank),
            ErrorKind::Poisoned { cause, .. } => cause.other_rank(),
            ErrorKind::Shape { .. }
            | ErrorKind::DType { .. }
            | ErrorKind::Argument { .. }
            | ErrorKind::Unwritten { .. }
            | ErrorKind::OutOfMemory { .. }
            | ErrorKind::Refused { .. }
            | ErrorKind::Panic { .. }
            | ErrorKind::Device(_)
            | ErrorKind::Mpi { .. }
            | ErrorKind::File { .. }
            | ErrorKind::Format { .. }
            | ErrorKind::Singular { .. }
            | ErrorKind::NotPositiveDefinite { .. }
            | ErrorKind::NotConverged { .. }
            | ErrorKind::Parted { .. } => None,
        }
    }

    /// The same failure, told of the operation that the program has called, which is made of the
    /// one that has failed.
    #[must_use]
    pub fn of_operation(mut self, called: &'static str) -> Self {
        match Arc::make_mut(&mut self.kind) {
            ErrorKind::Shape { op, .. }
            | ErrorKind::DType { op, .. }
            | ErrorKind::Argument { op, .. }
            | ErrorKind::Singular { op, .. }
            | ErrorKind::NotPositiveDefinite { op, .. }
            | ErrorKind::Unwritten { op } => *op = called,
            ErrorKind::OutOfMemory { .. }
            | ErrorKind::Refused { .. }
            | ErrorKind::Panic { .. }
            | ErrorKind::Rank { .. }
            | ErrorKind::Device(_)
            | ErrorKind::Mpi { .. }
            | ErrorKind::File { .. }
            | ErrorKind::Format { .. }
            | ErrorKind::NotConverged { .. }
            | ErrorKind::Parted { .. }
            | ErrorKind::Poisoned { .. } => {}
        }
        self
    }

    /// Whether memory for a store could not be had.
    pub(crate) fn is_lack_of_memory(&self) -> bool {
        let kind = self.kind();
        matches!(
            kind,
            ErrorKind::OutOfMemory { .. } | ErrorKind::Refused { .. }
        )
    }

    /// This error as the first cause of a poisoned store; a cause stays the first one.
    pub(crate) fn poison(self, task: &str) -> Self {
        match *self.kind {
            ErrorKind::Poisoned { .. } => self,
            _ => ErrorKind::Poisoned {
                task: task.to_owned(),
                cause: self,
            }
            .into(),
        }
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self {
            kind: Arc::new(kind),
        }
    }
}

/// For functions that parse a kernel and go on with `?`.
impl From<text::ParseError> for Error {
    fn from(error: text::ParseError) -> Self {
        let text::ParseError {
            line,
            expected,
            found,
        } = error;
        Self::argument("parse", expected, format!("{found} in line {line}"))
    }
}

/// For functions that verify a kernel and go on with `?`.
impl From<VerifyError> for Error {
    fn from(error: VerifyError) -> Self {
        ErrorKind::Format {
            place: "kernel".into(),
            message: error.to_string(),
        }
        .into()
    }
}
