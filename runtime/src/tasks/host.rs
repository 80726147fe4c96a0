//! Host tasks: functions that work on whole pieces of stores, as tasks of the window.
//!
//! A kernel says what happens to each row, and fuses. A host task is opaque: a Rust function with
//! declared reads and writes of known shapes, such as the sweep of a triangular solve. All tasks of
//! a kind share a [`HostBody`]; the function comes with each task ([`HostTask`]), so that it can
//! bring data of its own, which are no part of what is remembered of a window. It gets its
//! arguments as slices, and the messages between ranks, from [`HostArgs`].

use super::argument::{Access, Privilege};
use super::body::Body;
use super::host_args::HostArgs;
use crate::config::Config;
use crate::error::Error;
use crate::geometry::partition::Partition;
use sparsefuse_kernels::DType;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// What the host tasks of a kind share: a name, and privilege, access and element type of each
/// argument. Bodies that have all of that in common are one body, however often they are made.
#[derive(Clone, Debug)]
pub struct HostBody(Arc<Body>);

impl HostBody {
    /// A body with these arguments. What is read is cut like the task (`Rows`), whole on every rank
    /// (`Whole`), or what each rank holds of it (`Held`); what is written is cut like the task. All
    /// `Rows` arguments of a task have one shape. A `Block` is read, or changed in place.
    ///
    /// # Panics
    ///
    /// If an argument has another privilege or access than these, or nothing is written: bodies are
    /// written by programmers, not by data.
    #[must_use]
    pub fn new(name: &str, args: &[(Privilege, Access, DType)]) -> Self {
        /// The bodies of each name.
        static KNOWN: Mutex<BTreeMap<String, Vec<HostBody>>> = Mutex::new(BTreeMap::new());
        // Nothing panics between two states of the map.
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |body: &&Self| body.0.is_host_of(name, args);
        if let Some(body) = known.get(name).and_then(|bodies| bodies.iter().find(is_it)) {
            return body.clone();
        }
        let body = Self(Body::of_host(name, args));
        known.entry(name.to_owned()).or_default().push(body.clone());
        body
    }

    /// The name that profiles and explanations show.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    pub(crate) fn body(&self) -> &Arc<Body> {
        &self.0
    }
}

/// The function of a host task.
pub type HostFunction = dyn Fn(&mut HostArgs<'_>) -> Result<(), Error> + Send + Sync;

/// What a host task has besides its body and its stores.
#[derive(Clone)]
pub struct HostTask {
    /// How the task is cut, where the function has data that are cut so; otherwise the partitions
    /// of its `Rows` arguments decide, as for kernels.
    pub launch: Option<Partition>,
    /// Bytes that this rank reads and writes besides the arguments, such as those of factors.
    pub bytes: usize,
    /// How many threads the function needs, at most those of the rank: beside other tasks it has
    /// this many, and begins when they are free. `None` for one that runs on one thread beside
    /// others, or by itself where it has divided its work before.
    pub threads: Option<usize>,
    /// Bytes of memory that the function takes for itself while it runs, which count towards
    /// [`Config::memory_limit`](crate::Config::memory_limit): it begins when they are free.
    pub scratch: usize,
    /// What is run. It runs later, on a thread of the rank, while the window is executed, perhaps
    /// at once with host tasks that neither read what it writes nor write what it reads: it must
    /// not call the runtime, and holds no handle of the runtime or of its stores. Its result is a
    /// function of what it reads and of what it has brought.
    pub function: Arc<HostFunction>,
    /// Another variant of `function`, for one thread: it writes the same elements and sends the
    /// same messages, but does not divide its work. It is called where the rank has one thread,
    /// where it writes fewer elements than
    /// [`Config::parallel_threshold`](crate::Config::parallel_threshold), and where at least as
    /// many host tasks as the rank has threads can run side by side. The result must not depend on
    /// which is called.
    pub serial: Option<Arc<HostFunction>>,
}

impl HostTask {
    /// A task of one function, which is cut as its `Rows` arguments are and reads nothing but its
    /// arguments.
    pub fn new(
        function: impl Fn(&mut HostArgs<'_>) -> Result<(), Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            launch: None,
            bytes: 0,
            threads: None,
            scratch: 0,
            function: Arc::new(function),
            serial: None,
        }
    }

    /// A task whose function is called once, and may use up what it brings.
    pub(crate) fn once(
        function: impl FnOnce(&mut HostArgs<'_>) -> Result<(), Error> + Send + 'static,
    ) -> Self {
        let function = Mutex::new(Some(function));
        Self::new(move |args| {
            let function = function
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            match function {
                Some(function) => function(args),
                None => {
                    let expected = "a task that runs once";
                    Err(Error::argument("run", expected, "one that runs again"))
                }
            }
        })
    }

    /// The same task with another variant of its function, for one thread: see
    /// [`HostTask::serial`].
    #[must_use]
    pub fn with_serial(
        self,
        serial: impl Fn(&mut HostArgs<'_>) -> Result<(), Error> + Send + Sync + 'static,
    ) -> Self {
        let serial: Option<Arc<HostFunction>> = Some(Arc::new(serial));
        Self { serial, ..self }
    }

    /// The variant for a call that writes this many elements, on a rank with this many threads.
    pub(crate) fn variant(
        &self,
        elements: usize,
        threads: usize,
        config: &Config,
    ) -> &HostFunction {
        let is_small = threads == 1 || elements < config.parallel_threshold;
        match &self.serial {
            Some(serial) if is_small => &**serial,
            Some(_) | None => &*self.function,
        }
    }
}

impl fmt::Debug for HostTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostTask({:?}, {} bytes)", self.launch, self.bytes)
    }
}
