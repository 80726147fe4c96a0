//! Residency: whether a rank holds elements plain, in packed form, or both.
//!
//! ```text
//!           pack            evict
//!   Plain --------> Both ----------> Packed
//!     ^              | ^                |
//!     +---- write ---+ +- materialise --+
//! ```
//!
//! The contents of a store have one, and the local indices of a piece. What a task writes is plain
//! again. Which of them are packed, and when, is decided by [`super::pack`]; that the plain
//! elements are evicted, by the machine, where nothing else of the task reads them.

use crate::error::Error;
use crate::memory::counted::Counted;
use crate::memory::instance::Instance;
use sparsefuse_kernels::workers::Workers;

/// See the module's text.
#[derive(Clone, Debug)]
pub(crate) enum Residency<P> {
    Plain(Counted<Instance>),
    Both(Counted<Instance>, P),
    Packed(P),
}

/// A packed form, which holds all that the plain elements hold.
pub(crate) trait Unpack: Clone {
    /// The elements as they were.
    fn unpack(&self, workers: &Workers) -> Result<Counted<Instance>, Error>;
}

impl<P: Unpack> Residency<P> {
    #[inline]
    pub(crate) fn plain(&self) -> Option<&Counted<Instance>> {
        match self {
            Self::Plain(instance) | Self::Both(instance, _) => Some(instance),
            Self::Packed(_) => None,
        }
    }

    #[inline]
    pub(crate) fn plain_mut(&mut self) -> Option<&mut Counted<Instance>> {
        match self {
            Self::Plain(instance) | Self::Both(instance, _) => Some(instance),
            Self::Packed(_) => None,
        }
    }

    #[inline]
    pub(crate) fn packed(&self) -> Option<&P> {
        match self {
            Self::Plain(_) => None,
            Self::Both(_, packed) | Self::Packed(packed) => Some(packed),
        }
    }

    /// Adds a packed form to the plain one, in place of another packed form.
    pub(crate) fn pack(&mut self, packed: P) {
        *self = match self {
            Self::Plain(instance) | Self::Both(instance, _) => Self::Both(instance.clone(), packed),
            Self::Packed(_) => Self::Packed(packed),
        };
    }

    /// Gives the plain form up where there is a packed one; what it was.
    pub(crate) fn evict(&mut self) -> Option<Counted<Instance>> {
        let Self::Both(instance, packed) = self else {
            return None;
        };
        let instance = instance.clone();
        *self = Self::Packed(packed.clone());
        Some(instance)
    }

    /// Makes sure that the plain form is there.
    pub(crate) fn materialise(&mut self, workers: &Workers) -> Result<(), Error> {
        if let Self::Packed(packed) = self {
            *self = Self::Both(packed.unpack(workers)?, packed.clone());
        }
        Ok(())
    }

    /// Forgets the packed form where there is a plain one: that is going to be written.
    pub(crate) fn forget_packed(&mut self) {
        if let Self::Both(instance, _) = self {
            *self = Self::Plain(instance.clone());
        }
    }
}
