//! Arguments of tasks, as a body declares them: what a task may do with each ([`Privilege`]), and
//! how it is cut ([`Access`]).
//!
//! Constraints are relations between arguments, one for each of them: all `Rows` arguments of a
//! task are cut alike (`equal`), a `Whole` argument is not cut (`broadcast`), and an `image`
//! follows from what another argument holds: ranges of elements, or indices of elements. Ranges and
//! the indices within them are a *structure*; a body may have several.

use sparsefuse_kernels::ReduceOp;
use std::ops::Range;

/// What a task may do with an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Privilege {
    /// Read what earlier tasks wrote.
    Read,
    /// Write every element that the view sees.
    Write,
    /// Reduce into a store of rank 0, or into each element of a vector ([`Access::Elements`]).
    Reduce(ReduceOp),
}

/// How the partition of an argument follows from those of the others: a relation to all `Rows`, or
/// to the argument of the body with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `equal`: cut along dimension 0 like all other `Rows` arguments.
    Rows,
    /// `equal`, as the first `n` of `n + 1` elements of type `u64`, for `n` rows: with its
    /// neighbour behind it, each encloses the range of elements that belong to its row.
    Ranges,
    /// `image` by range: the elements that the ranges of the piece's rows enclose.
    Within {
        /// The argument that holds the ranges.
        ranges: u32,
    },
    /// `image` by points: the elements that the indices of the piece's rows name.
    At {
        /// The argument that holds the indices.
        indices: u32,
    },
    /// `broadcast`: the whole store on every piece.
    Whole,
    /// No relation: what a rank holds of the store, however it is cut. Of host tasks alone, whose
    /// functions exchange what they need of the rest.
    Held,
    /// No relation: the elements that the argument's view sees, row by row, where they lie. Of host
    /// tasks alone. A block that is written has contents, which the function finds and changes in
    /// place: other tasks may write other blocks of the store at the same time. The task is not
    /// cut.
    Block,
    /// `broadcast`, element by element: a vector of this many, each of which is an argument of the
    /// kernel that it reduces into: the one that is named, and those after it.
    Elements(u32),
}

impl Access {
    /// Whether the argument is part of a structure, or follows from one.
    pub(super) fn is_structured(self) -> bool {
        match self {
            Self::Ranges | Self::Within { .. } | Self::At { .. } => true,
            Self::Rows | Self::Whole | Self::Held | Self::Block | Self::Elements(_) => false,
        }
    }
}

/// The declaration of one argument of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyArg {
    /// What the task may do with it.
    pub privilege: Privilege,
    /// How it is cut.
    pub access: Access,
    /// The argument of the kernel that it is; none for ranges, which the kernel gets with the
    /// indices within them, and for arguments of host tasks.
    pub kernel_arg: Option<u32>,
}

/// An image by points of a body, and the structure that it follows from: numbers of arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Image {
    pub(crate) ranges: usize,
    pub(crate) indices: usize,
    /// The argument whose elements the indices name.
    pub(crate) x: usize,
}

impl BodyArg {
    /// An argument that is read, and the argument of the kernel that it is.
    pub fn read(access: Access, kernel_arg: impl Into<Option<u32>>) -> Self {
        Self::declared(Privilege::Read, access, kernel_arg.into())
    }

    /// An argument that is written by its rows.
    pub fn write(kernel_arg: u32) -> Self {
        Self::declared(Privilege::Write, Access::Rows, Some(kernel_arg))
    }

    /// A vector of `count` elements that is reduced into: the arguments of the kernel from this one
    /// on.
    pub fn reduce_elements(op: ReduceOp, count: u32, kernel_arg: u32) -> Self {
        let access = Access::Elements(count);
        Self::declared(Privilege::Reduce(op), access, Some(kernel_arg))
    }

    fn declared(privilege: Privilege, access: Access, kernel_arg: Option<u32>) -> Self {
        Self {
            privilege,
            access,
            kernel_arg,
        }
    }

    /// Whether the task writes it, or reduces into it.
    pub(crate) fn is_written(&self) -> bool {
        self.privilege != Privilege::Read
    }

    /// The arguments of the kernel that it is.
    pub(crate) fn kernel_args(&self) -> Range<u32> {
        let first = self.kernel_arg.unwrap_or_default();
        let count = match (self.kernel_arg, self.access) {
            (None, _) => 0,
            (Some(_), Access::Elements(count)) => count,
            (Some(_), _) => 1,
        };
        first..first + count
    }
}
