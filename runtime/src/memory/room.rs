//! Memory of the pool that a program fills itself: for a store to be, or for a while.
//!
//! Pages of fresh memory cost more than what is written to them, and large blocks of the pool have
//! been used before or have huge pages.

use crate::error::Error;
use crate::memory::bytes;
use crate::memory::instance::Instance;
use crate::memory::pool::Pool;
use sparsefuse_kernels::Element;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Some elements in memory of the pool, which get it back when they are dropped. At first they are
/// whatever was there before.
#[derive(Debug)]
pub struct Room<T> {
    instance: Instance,
    element: PhantomData<T>,
}

impl<T: Element> Room<T> {
    pub(crate) fn new(pool: &Arc<Pool>, len: usize) -> Result<Self, Error> {
        let memory = pool.allocate(len, size_of::<T>())?;
        let mut instance = Instance::new(memory, 0..len, len, size_of::<T>());
        bytes::elements_to_fill::<T>(&mut instance);
        Ok(Self {
            instance,
            element: PhantomData,
        })
    }

    pub(crate) fn into_instance(self) -> Instance {
        self.instance
    }
}

impl<T: Element> Deref for Room<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        bytes::elements(&self.instance)
    }
}

impl<T: Element> DerefMut for Room<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        bytes::elements_mut(&mut self.instance)
    }
}
