//! The kinds of files: the words of the banner.

use std::fmt;

/// How a matrix is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Sparse: lines of row, column, value.
    Coordinate,
    /// Dense: values column by column.
    Array,
}

/// What the values of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldKind {
    /// Decimal numbers.
    Real,
    /// Whole numbers.
    Integer,
    /// Pairs of decimal numbers.
    Complex,
    /// No values are stored: all are 1.
    Pattern,
}

/// Which part of a matrix is stored, and what follows for the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// All of it.
    General,
    /// The lower triangle; the upper is its mirror image.
    Symmetric,
    /// The strictly lower triangle; the upper is its negated mirror image.
    SkewSymmetric,
    /// The lower triangle; the upper is its conjugated mirror image.
    Hermitian,
}

impl fmt::Display for FieldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Real => "real",
            Self::Integer => "integer",
            Self::Complex => "complex",
            Self::Pattern => "pattern",
        })
    }
}

impl fmt::Display for Symmetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::General => "general",
            Self::Symmetric => "symmetric",
            Self::SkewSymmetric => "skew-symmetric",
            Self::Hermitian => "hermitian",
        })
    }
}
