//! Regions: parts of a program that have a name, by which profiles and explanations tell where
//! tasks were issued.

use super::{Issuing, Runtime};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A region that a runtime is in, as long as this lives; see [`Runtime::region`].
#[derive(Debug)]
#[must_use = "a region ends where this is dropped"]
pub struct Region {
    number: u64,
    /// It ends on the thread where it began.
    of_thread: PhantomData<*const ()>,
}

/// A region that has begun on this thread.
struct Begun {
    number: u64,
    runtime: u64,
    path: Arc<str>,
}

thread_local! {
    static BEGUN: RefCell<Vec<Begun>> = const { RefCell::new(Vec::new()) };
    static ISSUED: Cell<u64> = const { Cell::new(0) };
}

static NEXT: AtomicU64 = AtomicU64::new(0);

/// The region that a runtime, by its number, is in on this thread.
pub(super) fn current(runtime: u64) -> Option<Arc<str>> {
    BEGUN.with_borrow(|begun| {
        let mut begun = begun.iter().rev();
        let region = begun.find(|region| region.runtime == runtime)?;
        Some(Arc::clone(&region.path))
    })
}

/// How many tasks this thread has issued.
pub(super) fn issued() -> u64 {
    ISSUED.get()
}

impl Runtime {
    /// Names a part of the program: tasks that this thread issues from now on until the result is
    /// dropped are listed under the name in the [profile](Runtime::profile) and by
    /// [`Runtime::explain`]. A region within another one is `outer/inner`. A fused task with
    /// tasks of several regions is listed under all of them, as `velocity+pressure`.
    ///
    /// Regions change nothing else: what fuses fuses across their borders.
    ///
    /// ```
    /// use sparsefuse_runtime::{Config, Runtime};
    /// # use sparsefuse_kernels::DType;
    /// # use sparsefuse_runtime::{Access, HostBody, HostTask, Privilege, Shape};
    ///
    /// let runtime = Runtime::new(Config { profile: true, ..Config::default() })?;
    /// # let body = HostBody::new("fill", &[(Privilege::Write, Access::Rows, DType::F64)]);
    /// # let issue = || {
    /// #     let y = runtime.new_store(Shape::new(&[2]), DType::F64);
    /// #     let task = HostTask::new(|args| {
    /// #         args.write::<f64>(0)?.fill(1.0);
    /// #         Ok(())
    /// #     });
    /// #     runtime.submit_host(&body, &[&y], task).map(|()| y)
    /// # };
    /// let pressure = {
    ///     let _region = runtime.region("pressure");
    ///     issue()?
    /// };
    /// assert_eq!(runtime.read::<f64>(&pressure, None)?, [1.0, 1.0]);
    /// let profile = runtime.profile().expect("it was asked for");
    /// assert!(profile.regions().any(|(region, _)| region == "pressure"));
    /// # Ok::<(), sparsefuse_runtime::Error>(())
    /// ```
    pub fn region(&self, name: &str) -> Region {
        let runtime = self.shared.number;
        let path = match current(runtime) {
            Some(outer) => format!("{outer}/{name}").into(),
            None => name.into(),
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        BEGUN.with_borrow_mut(|begun| {
            begun.push(Begun {
                number,
                runtime,
                path,
            });
        });
        Region {
            number,
            of_thread: PhantomData,
        }
    }
}

impl Issuing {
    /// Counts the task that has been issued last, in a region of the program.
    pub(super) fn note_issued(&mut self, region: Option<Arc<str>>) {
        self.counters.tasks += 1;
        ISSUED.set(ISSUED.get() + 1);
        if let Some(region) = region {
            self.window
                .regions
                .push(self.window.tasks.len() - 1, region);
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // While the thread ends, the list may be gone already.
        let _ = BEGUN.try_with(|begun| {
            begun
                .borrow_mut()
                .retain(|region| region.number != self.number);
        });
    }
}
