//! Issuing host tasks: functions that are tasks of the window as kernels are.

use super::handle::{StoreHandle, TaskArg};
use super::{Issuing, Runtime, region};
use crate::error::Error;
use crate::geometry::partition::Partition;
use crate::tasks::argument::Access;
use crate::tasks::check;
use crate::tasks::host::{HostBody, HostTask};

const OP: &str = "submit_host";

impl Runtime {
    /// Issues a host task: appends it to the window, as [`Runtime::submit`] does with a kernel.
    ///
    /// It has its place among the tasks of the window, and never fuses. `args` are the stores that
    /// the body declares, in its order; those that it writes are new. The function runs when the
    /// window is executed, and gets them as slices: of the rows of this rank, or of the whole
    /// store. A failure that it returns, or a panic, makes the stores that it would write fail
    /// where they are read. It must not call the runtime, which is locked meanwhile: that is such a
    /// panic. Every rank issues the same tasks.
    ///
    /// ```
    /// use sparsefuse_kernels::DType;
    /// use sparsefuse_runtime::{Access, HostBody, HostTask, Privilege, Runtime, Shape};
    /// use std::sync::Arc;
    ///
    /// // Running sums, for which each element needs all before it.
    /// let (read, write) = (Privilege::Read, Privilege::Write);
    /// let args = [(read, Access::Rows, DType::F64), (write, Access::Rows, DType::F64)];
    /// let running_sum = HostBody::new("running_sum", &args);
    ///
    /// let runtime = Runtime::current();
    /// let x = runtime.store_from_vec(Shape::new(&[4]), vec![1.0, 2.0, 3.0, 4.0])?;
    /// let y = runtime.new_store(x.shape(), DType::F64);
    /// let task = HostTask::new(|args| {
    ///         let mut sum = 0.0;
    ///         for (x, y) in args.read::<f64>(0)?.iter().zip(args.write::<f64>(1)?) {
    ///             sum += x;
    ///             *y = sum;
    ///         }
    ///         Ok(())
    ///     });
    /// runtime.submit_host(&running_sum, &[&x, &y], task)?;
    /// assert_eq!(runtime.read::<f64>(&y, None)?, [1.0, 3.0, 6.0, 10.0]);
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    ///
    /// (On several ranks each would sum its own rows; [`HostArgs`](crate::HostArgs) has the
    /// messages with which they go on from one to the next.)
    ///
    /// An argument that is a block ([`Access::Block`]) may be seen through a view ([`TaskArg`]),
    /// and is written in place: every handle of its store sees that. On one rank such tasks run at
    /// once on the threads of the rank as far as their blocks have no elements in common. On
    /// several ranks every rank runs them, each on its own copy of the store, so a store whose rows
    /// are cut fails.
    ///
    /// # Errors
    ///
    /// If the arguments do not fit the body in number, type or shape, belong to another runtime, a
    /// store is read that nothing has written, or a block of one is written of which the program
    /// has another handle, which would see the change, or one would be written that has contents;
    /// if a block has more than two dimensions or rows that are not neighbouring elements, or
    /// shares elements with another one of which one is written; or if the launch does not cut the
    /// rows of the task, or cuts one that has blocks.
    pub fn submit_host<'a, A: Copy + Into<TaskArg<'a>>>(
        &self,
        body: &HostBody,
        args: &[A],
        task: HostTask,
    ) -> Result<(), Error> {
        let args: Vec<TaskArg<'_>> = args.iter().map(|&arg| arg.into()).collect();
        self.submit_host_args(body, &args, task)
    }

    /// As [`Runtime::submit_host`].
    pub(crate) fn submit_host_args(
        &self,
        body: &HostBody,
        args: &[TaskArg<'_>],
        task: HostTask,
    ) -> Result<(), Error> {
        let body = body.body();
        // The same iterator as that of `submit`, so that what is generic over it is compiled once,
        // and inlined there.
        let seen = args.iter().map(TaskArg::seen);
        check::check_counts(body, seen.clone(), &[])?;
        self.check_own(OP, args.iter().map(|arg| arg.store))?;
        if body.has_blocks() && task.launch.is_some_and(|of| of != Partition::Replicated) {
            let expected = "no launch for a task with blocks, which is not cut";
            return Err(Error::argument(OP, expected, "one that cuts it"));
        }
        let mut issuing = self.issuing();
        self.make_room(&mut issuing);
        for (declared, arg) in body.args().iter().zip(args) {
            if let (Access::Rows, Some(partition)) = (declared.access, task.launch) {
                issuing.check_launch(arg.store, partition)?;
            }
            if declared.access == Access::Block && declared.is_written() {
                issuing.check_alone(arg.store)?;
            }
            if declared.access != Access::Block {
                check_whole(arg)?;
                if declared.is_written() {
                    issuing.check_new(arg.store)?;
                }
            }
        }
        issuing.window.push_host(body, seen, task)?;
        issuing.note_issued(region::current(self.shared.number));
        Ok(())
    }
}

/// Only blocks are seen through views.
fn check_whole(arg: &TaskArg<'_>) -> Result<(), Error> {
    match arg.view {
        Some(view) if !view.is_identity() => {
            let expected = "a whole store, or a block";
            Err(Error::argument(OP, expected, "a view of a store"))
        }
        _ => Ok(()),
    }
}

impl Issuing {
    /// Refuses a launch that does not cut the rows of a store.
    fn check_launch(&self, store: &StoreHandle, launch: Partition) -> Result<(), Error> {
        let rows = store.shape().rows();
        if self.cuts.cuts_all(launch, rows) {
            return Ok(());
        }
        let expected = format!("a partition of {rows} rows by this runtime");
        Err(Error::argument(OP, expected, "another"))
    }

    /// Refuses to change a store in place that another handle of the program shows unchanged.
    fn check_alone(&self, store: &StoreHandle) -> Result<(), Error> {
        let of_window = usize::from(self.window.has(store.store()));
        if store.store().count() == 1 + of_window + store.handles_under_way() {
            return Ok(());
        }
        let expected = "a store with one handle, to change blocks of it in place";
        Err(Error::argument(OP, expected, "one with clones"))
    }

    /// Refuses to write a store that has contents.
    fn check_new(&self, store: &StoreHandle) -> Result<(), Error> {
        if store.partition().is_none() && !self.window.writes(store.store()) {
            return Ok(());
        }
        let expected = "a new store to write";
        Err(Error::argument(OP, expected, "one that has contents"))
    }
}
