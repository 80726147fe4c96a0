//! The work on each row of a triangle, by one thread or by several that share the vector.
//!
//! The terms of a row are subtracted in the order in which its entries stand, whatever rows are
//! worked on beside it.
#![expect(
    unsafe_code,
    reason = "threads read and write different elements of one vector"
)]

use super::Triangle;
use super::groups::{LARGEST, in_sweep};
use super::parts::Parts;
use super::sections::Plan;
use crate::local::rows::LocalRows;
use sparsefuse_kernels::{Field, Workers};
use std::array;
use std::marker::PhantomData;
use std::ops::Range;

/// The elements of a vector, for threads that say when they use which.
struct Elements<'a, T> {
    first: *mut T,
    len: usize,
    lent: PhantomData<&'a mut [T]>,
}

// SAFETY: the elements may be sent and shared, and the functions that use them say when.
unsafe impl<T: Send + Sync> Sync for Elements<'_, T> {}

impl<'a, T: Copy> Elements<'a, T> {
    fn new(elements: &'a mut [T]) -> Self {
        Self {
            first: elements.as_mut_ptr(),
            len: elements.len(),
            lent: PhantomData,
        }
    }

    /// # Safety
    /// No other thread writes this element meanwhile.
    #[inline(always)]
    unsafe fn get(&self, number: usize) -> T {
        assert!(number < self.len, "columns are rows of this rank");
        // SAFETY: it is an element of the borrowed slice; the caller's promise.
        unsafe { *self.first.add(number) }
    }

    /// # Safety
    /// No other thread uses this element meanwhile.
    #[inline(always)]
    unsafe fn set(&self, number: usize, value: T) {
        assert!(number < self.len, "rows are those of this rank");
        // SAFETY: as above.
        unsafe { *self.first.add(number) = value };
    }
}

impl<T: Field> Parts<T> {
    /// The sweep of one thread.
    pub(super) fn sweep(&self, triangle: Triangle, groups: &[u8], x: &mut [T]) {
        let (places, x) = (0..x.len(), Elements::new(x));
        // SAFETY: no other thread has the elements.
        unsafe { self.solve_places(places, triangle, groups, &x) };
    }

    /// The sweep of all threads; the plan is that of [`Plan::of`] for these rows and groups.
    pub(super) fn sweep_sections(
        &self,
        workers: &Workers,
        (plan, triangle, groups): (&Plan, Triangle, &[u8]),
        x: &mut [T],
    ) {
        let x = Elements::new(x);
        workers.run_sections(&plan.sections, |step| {
            let (places, groups) = (plan.places(step), plan.groups_of(step, groups));
            // SAFETY: each row is in one step, which writes its element and no other one. It reads
            // those of rows that it needs, which are in the same step or in steps that this one
            // needs, by the invariant of `Plan`; so they have ended, by that of `Sections`, and
            // what they wrote is seen. `LocalTriangle` makes another plan when the structure
            // changes.
            unsafe { self.solve_places(places, triangle, groups, &x) };
        });
    }

    /// The rows at some places of the sweep, which make up these groups, or have none.
    ///
    /// # Safety
    /// No other thread uses the elements of these rows, or writes those of rows that they need.
    #[inline(always)]
    unsafe fn solve_places(
        &self,
        places: Range<usize>,
        triangle: Triangle,
        groups: &[u8],
        x: &Elements<'_, T>,
    ) {
        if groups.is_empty() {
            for place in places {
                // SAFETY: the caller's promise.
                unsafe { self.solve_row(in_sweep(triangle, x.len, place), x) };
            }
            return;
        }
        let mut place = places.start;
        for &rows in groups {
            // SAFETY: the caller's promise.
            unsafe {
                match rows {
                    1 => self.solve_group::<1>(place, triangle, x),
                    2 => self.solve_group::<2>(place, triangle, x),
                    3 => self.solve_group::<3>(place, triangle, x),
                    _ => self.solve_group::<{ LARGEST as usize }>(place, triangle, x),
                }
            }
            place += rows as usize;
        }
    }

    /// # Safety
    /// As for [`Parts::solve_places`].
    #[inline(always)]
    unsafe fn solve_row(&self, row: usize, x: &Elements<'_, T>) {
        let LocalRows { pos, crd, vals } = &self.own;
        let entries = pos[row] as usize..pos[row + 1] as usize;
        let entries = crd[entries.clone()].iter().zip(&vals[entries]);
        // SAFETY: the caller's promise.
        let rest = entries.fold(unsafe { x.get(row) }, |rest, (&column, &entry)| {
            // SAFETY: the caller's promise.
            rest - entry * unsafe { x.get(column as usize) }
        });
        // SAFETY: the caller's promise.
        unsafe { x.set(row, self.scaled(row, rest)) };
    }

    /// The rows of a group, beginning with the one at a place of the sweep: each reads an element
    /// of `x` where the first does, and then needs those before it. The terms of a row keep their
    /// order.
    ///
    /// # Safety
    /// As for [`Parts::solve_places`].
    #[inline(always)]
    unsafe fn solve_group<const N: usize>(
        &self,
        place: usize,
        triangle: Triangle,
        x: &Elements<'_, T>,
    ) {
        let LocalRows { pos, crd, vals } = &self.own;
        let rows: [usize; N] = array::from_fn(|k| in_sweep(triangle, x.len, place + k));
        let begin = rows.map(|row| pos[row] as usize);
        let columns = &crd[begin[0]..pos[rows[0] + 1] as usize];
        let entries = begin.map(|begin| &vals[begin..][..columns.len()]);
        // SAFETY: the caller's promise.
        let mut rest = rows.map(|row| unsafe { x.get(row) });
        for (k, &column) in columns.iter().enumerate() {
            // SAFETY: the caller's promise.
            let element = unsafe { x.get(column as usize) };
            for (rest, entries) in rest.iter_mut().zip(&entries) {
                *rest -= entries[k] * element;
            }
        }
        for (k, &row) in rows.iter().enumerate() {
            let within = &vals[begin[k] + columns.len()..][..k];
            let own = within.iter().zip(&rest[..k]);
            let own = own.fold(rest[k], |rest, (&entry, &element)| rest - entry * element);
            rest[k] = self.scaled(row, own);
            // SAFETY: the caller's promise.
            unsafe { x.set(row, rest[k]) };
        }
    }

    #[inline(always)]
    fn scaled(&self, row: usize, rest: T) -> T {
        match self.inverse.get(row) {
            Some(&inverse) => rest * inverse,
            None => rest,
        }
    }
}
