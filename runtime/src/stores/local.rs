//! What a rank holds of a store, as the program reads it.
//!
//! Who makes a [`Local`] has compared the element type with that of the store.

use crate::geometry::partition::Partition;
use crate::geometry::region::Region;
use crate::geometry::view::View;
use crate::memory::counted::Counted;
use crate::memory::instance::Instance;
use sparsefuse_kernels::Element;
use std::marker::PhantomData;
use std::ops::{Deref, Range};

/// This rank's part of a store, kept alive and unchanged while this value lives.
#[derive(Clone, Debug)]
pub struct Local<T> {
    partition: Partition,
    instance: Counted<Instance>,
    element: PhantomData<T>,
}

impl<T: Element> Local<T> {
    /// The instance of a store whose elements are known to be of type `T`.
    pub(crate) fn new(partition: Partition, instance: Counted<Instance>) -> Self {
        Self {
            partition,
            instance,
            element: PhantomData,
        }
    }

    pub(crate) fn instance(&self) -> &Instance {
        &self.instance
    }

    /// The rows of the store that these elements are.
    #[must_use]
    pub fn rows(&self) -> Range<usize> {
        self.instance.rows.clone()
    }

    /// How the store is spread over the ranks.
    #[must_use]
    pub fn partition(&self) -> Partition {
        self.partition
    }

    /// Whether every rank holds all rows.
    #[must_use]
    pub fn is_replicated(&self) -> bool {
        self.partition == Partition::Replicated
    }
}

impl<T: Element> Deref for Local<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        crate::memory::bytes::elements(&self.instance)
    }
}

/// Puts the elements of a view into a vector with room for them, from memory that holds the box
/// `held` of its store.
pub(crate) fn gather<T: Element>(
    view: &View,
    held: &Region,
    elements: &[T],
    mut out: Vec<T>,
) -> Vec<T> {
    if view.is_identity() && elements.len() == view.shape().len() {
        out.extend_from_slice(elements);
        return out;
    }
    let (start, strides) = view.placement(held, 0);
    let mut dims = view.shape().padded_dims();
    // Elements side by side along the last axis are copied together.
    let run = match view.shape().rank().checked_sub(1) {
        Some(last) if strides[last] == 1 => std::mem::replace(&mut dims[last], 1),
        _ => 1,
    };
    if run == 0 {
        return out;
    }
    for i in 0..dims[0] {
        for j in 0..dims[1] {
            for k in 0..dims[2] {
                for l in 0..dims[3] {
                    let index = [i, j, k, l];
                    let walk: isize = index
                        .iter()
                        .zip(strides)
                        .map(|(&i, stride)| i as isize * stride)
                        .sum();
                    let first = (start + walk) as usize;
                    out.extend_from_slice(&elements[first..first + run]);
                }
            }
        }
    }
    out
}
