//! Tasks that write stores which may be cut in another way than the tasks are.
//!
//! Beside a structure a task runs where that lies, else where the first store lies that it writes
//! in place: another one may be cut otherwise, and what a rank computes of it belongs to others. So
//! on several ranks such a store is written by a task of its own, a copy, which runs where the
//! store is. Where all are cut alike, both are fused, and what is between them is no store. A store
//! of which the task also reads what it writes has to be cut as the task, which fails else.

use super::handle::{StoreHandle, TaskArg};
use super::{Issuing, Runtime};
use crate::error::Error;
use crate::geometry::view::View;
use crate::tasks::argument::Access;
use crate::tasks::body::Body;
use crate::tasks::check;
use sparsefuse_kernels::{ArgKind, DType, KernelBuilder, Value};
use std::sync::Arc;

impl Runtime {
    /// The arguments of a task that are to be written by tasks of their own.
    pub(super) fn written_elsewhere(
        &self,
        issuing: &Issuing,
        (body, args): (&Body, &[TaskArg<'_>]),
    ) -> Vec<usize> {
        if self.shared.ranks == 1 || !body.may_write_elsewhere() {
            return Vec::new();
        }
        let has_contents = |store: &StoreHandle| {
            store.store().partition().is_some() || issuing.window.writes(store.store())
        };
        let is_in_place =
            |&number: &usize| body.args()[number].is_written() && has_contents(args[number].store);
        let is_of = |kind: ArgKind| move |&number: &usize| body.kind(number) == kind;
        let in_place = || (0..args.len()).filter(is_in_place);
        let first = usize::from(!body.has_ranges());
        let arrays = in_place().filter(is_of(ArgKind::Array)).skip(first);
        let view_of = |arg: &TaskArg<'_>| match arg.view {
            Some(view) => **view,
            None => View::identity(arg.store.shape()),
        };
        // What is read of it through another argument is what the task writes.
        let is_read_beside = |number: usize| {
            let written = &args[number];
            let mut others = (0..args.len()).filter(|&other| other != number);
            others.any(|other| {
                let arg = &args[other];
                !body.args()[other].is_written()
                    && arg.store.ptr_eq(written.store)
                    && view_of(arg).may_meet(&view_of(written))
            })
        };
        let arrays =
            arrays.filter(|&number| !body.needs_contents(number) && !is_read_beside(number));
        let several = |&number: &usize| matches!(body.args()[number].access, Access::Elements(_));
        let reduced = in_place().filter(is_of(ArgKind::Reduction)).filter(several);
        arrays.chain(reduced).collect()
    }

    /// Issues a task of which some arguments are written by tasks of their own.
    pub(super) fn submit_and_copy(
        &self,
        body: &Arc<Body>,
        (args, params): (&[TaskArg<'_>], &[Value]),
        elsewhere: &[usize],
    ) -> Result<(), Error> {
        let seen: Vec<_> = args.iter().map(TaskArg::seen).collect();
        check::check(body, &seen)?;
        let made = |&number: &usize| self.new_store(args[number].shape(), body.dtype(number));
        let made: Vec<StoreHandle> = elsewhere.iter().map(made).collect();
        let mut instead = args.to_vec();
        for (&number, store) in elsewhere.iter().zip(&made) {
            instead[number] = store.into();
        }
        self.submit(body, &instead, params)?;
        for (&number, store) in elsewhere.iter().zip(&made) {
            self.submit(
                &copy(body.dtype(number)),
                &[store.into(), args[number]],
                &[],
            )?;
        }
        Ok(())
    }
}

/// The second argument becomes what the first one is.
fn copy(dtype: DType) -> Arc<Body> {
    let mut build = KernelBuilder::new();
    let [from, to] = [(); 2].map(|()| build.arg(dtype, ArgKind::Array));
    let element = build.load(from);
    build.store(to, element);
    Body::new("copy", build.finish())
}
