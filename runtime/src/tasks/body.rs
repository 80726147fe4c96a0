//! Tasks: one operation on whole stores, stated without ranks.
//!
//! A [`Body`] is the part that all tasks of a kind share: a kernel for one piece (none, where the
//! tasks bring functions: [`super::host`]), and the constraints between the partitions of its
//! arguments ([`super::argument`]). A task is a body with stores (seen through views) as arguments
//! and plain numbers as parameters.

use super::argument::{Access, BodyArg, Image, Privilege};
use crate::geometry::view::View;
use crate::hash::hash;
use crate::memory::counted::Counted;
use crate::shape::Shape;
use crate::stores::store::Store;
use sparsefuse_kernels::{ArgKind, DType, Inst, Kernel};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What all tasks of a kind share.
///
/// Bodies that have name, kernel and declarations in common are one body, however often they are
/// made: the runtime remembers what it has analysed by the bodies of a window. A body is kept for
/// the whole process, so numbers that change belong in parameters, not in kernels; and finding it
/// again takes about as long as writing its kernel, so hot paths keep it, as in a `static`
/// [`OnceLock`]. [`Body::new`] is enough for arithmetic and reductions; [`Body::with_args`]
/// declares the arguments of structures. A kernel comes from a
/// [`KernelBuilder`](sparsefuse_kernels::KernelBuilder), as for [`Runtime::submit`], or from its
/// text form ([`sparsefuse_kernels::text`]):
///
/// ```
/// use sparsefuse_kernels::{ArgKind, BinaryOp, DType, KernelBuilder, ReduceOp};
/// use sparsefuse_runtime::{Body, Runtime, Shape, TaskArg, View};
/// use std::sync::Arc;
///
/// // The sum of the squares of the elements.
/// let mut build = KernelBuilder::new();
/// let x = build.arg(DType::F64, ArgKind::Array);
/// let sum = build.arg(DType::F64, ArgKind::Reduction);
/// let element = build.load(x);
/// let square = build.binary(BinaryOp::Mul, element, element);
/// build.reduce(ReduceOp::Sum, sum, square);
/// let body = Body::new("sum_of_squares", build.finish());
///
/// // Of every second element, seen through a view.
/// let runtime = Runtime::current();
/// let x = runtime.store_from_vec(Shape::new(&[4]), vec![1.0, 2.0, 3.0, 4.0])?;
/// let every_second = Arc::new(View::identity(x.shape()).slice(0, 0..4, 2)?);
/// let sum = runtime.new_store(Shape::SCALAR, DType::F64);
/// let seen = TaskArg { store: &x, view: Some(&every_second) };
/// runtime.submit(&body, &[seen, (&sum).into()], &[])?;
/// assert_eq!(runtime.read_scalar::<f64>(&sum)?, 10.0);
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
///
/// [`Runtime::submit`]: crate::Runtime::submit
#[derive(Debug)]
pub struct Body {
    id: u64,
    fingerprint: OnceLock<u64>,
    name: String,
    pub(super) kernel: Kernel,
    pub(super) args: Vec<BodyArg>,
    /// How the kernel reaches each argument, and the type of its elements.
    pub(super) kinds: Vec<(ArgKind, DType)>,
    /// The arguments that are arrays of two dimensions, reached by whole rows.
    pub(super) dense_rows: Vec<usize>,
    /// Those of them that have a factor, and it: numbers of arguments.
    pub(super) factors: Vec<(usize, usize)>,
    /// The arguments that are part of a structure, or follow from one.
    pub(super) structured: Vec<usize>,
    /// What is gathered, by which structure.
    images: Vec<Image>,
    /// For each argument, whether it is written after it has been read.
    updated: Vec<bool>,
    /// See [`Body::may_write_elsewhere`].
    writes_elsewhere: bool,
    /// Whether the function of a host task has divided its work among the threads.
    divides: AtomicBool,
}

impl Body {
    /// A body whose every argument is either cut along its rows or a single element: arithmetic.
    /// The arguments of its tasks are those of the kernel.
    ///
    /// # Panics
    ///
    /// As [`Body::with_args`], and if the kernel has a structure.
    #[must_use]
    pub fn new(name: &str, kernel: Kernel) -> Arc<Self> {
        Self::known(name, kernel, |kernel, uses| undeclared(name, kernel, uses))
    }

    /// A body with its arguments declared one by one.
    ///
    /// # Panics
    ///
    /// If the kernel does not verify, has not exactly one loop, or an argument's declaration does
    /// not fit the kernel: bodies are written by programmers, not by data.
    #[must_use]
    pub fn with_args(name: &str, kernel: Kernel, args: Vec<BodyArg>) -> Arc<Self> {
        Self::known(name, kernel, |_, _| args)
    }

    /// The body of this kernel with this name and these declarations, made if there is none.
    fn known(
        name: &str,
        kernel: Kernel,
        declare: impl FnOnce(&Kernel, &[Use]) -> Vec<BodyArg>,
    ) -> Arc<Self> {
        static KNOWN: Mutex<BTreeMap<Kernel, Vec<Arc<Body>>>> = Mutex::new(BTreeMap::new());
        // What is refused below is not in the list.
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let bodies = known.get(&kernel);
        if bodies.is_none() {
            check_kernel(name, &kernel);
        }
        let uses = uses(&kernel);
        let args = declare(&kernel, &uses);
        let is_it = |body: &&Arc<Self>| body.name == name && body.args == args;
        if let Some(body) = bodies.and_then(|bodies| bodies.iter().find(is_it)) {
            return Arc::clone(body);
        }
        check_declarations(name, &kernel, &args, &uses);
        let kinds = args.iter().map(|arg| kind(&kernel, arg)).collect();
        let body = Self::of_kinds(name, kernel.clone(), (args, &uses), kinds);
        known.entry(kernel).or_default().push(Arc::clone(&body));
        body
    }

    /// The body of host tasks: see [`crate::HostBody::new`].
    ///
    /// # Panics
    ///
    /// As there.
    pub(crate) fn of_host(name: &str, declared: &[(Privilege, Access, DType)]) -> Arc<Self> {
        let (mut args, mut kinds) = (Vec::new(), Vec::new());
        for &(privilege, access, dtype) in declared {
            kinds.push(match (privilege, access) {
                (Privilege::Read | Privilege::Write, Access::Rows) => (ArgKind::Array, dtype),
                (Privilege::Read, Access::Whole | Access::Held)
                | (Privilege::Read | Privilege::Write, Access::Block) => (ArgKind::Gather, dtype),
                _ => panic!(
                    "the host body `{name}` reads Rows, Whole, Held or Block and writes Rows or Block"
                ),
            });
            args.push(BodyArg {
                privilege,
                access,
                kernel_arg: None,
            });
        }
        let is_written = args.iter().any(BodyArg::is_written);
        assert!(is_written, "the host body `{name}` writes something");
        Self::of_kinds(name, Kernel::default(), (args, &[]), kinds)
    }

    /// Remembers that the function of a host task divides its work among the threads of the rank.
    pub(crate) fn note_division(&self) {
        // Relaxed: it decides no result, only what runs side by side.
        self.divides.store(true, Ordering::Relaxed);
    }

    /// Whether the function of a host task has done so.
    pub(crate) fn divides(&self) -> bool {
        self.divides.load(Ordering::Relaxed)
    }

    /// Whether it is the body of host tasks with this name and these arguments.
    pub(crate) fn is_host_of(&self, name: &str, declared: &[(Privilege, Access, DType)]) -> bool {
        let own = self.args.iter().zip(&self.kinds);
        let own = own.map(|(arg, &(_, dtype))| (arg.privilege, arg.access, dtype));
        self.name == name && own.eq(declared.iter().copied())
    }

    fn of_kinds(
        name: &str,
        kernel: Kernel,
        (args, uses): (Vec<BodyArg>, &[Use]),
        kinds: Vec<(ArgKind, DType)>,
    ) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // Relaxed: only uniqueness matters.
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let factors = factors(&kernel, &args);
        let images = images(&args);
        let structured = (0..args.len())
            .filter(|&number| args[number].access.is_structured())
            .collect();
        let updated = args
            .iter()
            .map(|arg| {
                arg.kernel_arg
                    .is_some_and(|number| uses[number as usize].is_read_first)
            })
            .collect();
        let written = |kind: ArgKind| {
            let pairs = args.iter().zip(&kinds);
            pairs.filter(move |(arg, of)| arg.is_written() && of.0 == kind)
        };
        let has_ranges = args.iter().any(|arg| arg.access == Access::Ranges);
        let is_several = |(arg, _): (&BodyArg, _)| matches!(arg.access, Access::Elements(_));
        let writes_elsewhere = written(ArgKind::Array).count() + usize::from(has_ranges) > 1
            || written(ArgKind::Reduction).any(is_several);
        let numbers = 0..kinds.len();
        let dense_rows = numbers
            .filter(|&number| kinds[number].0 == ArgKind::DenseRows)
            .collect();
        Arc::new(Self {
            id,
            fingerprint: OnceLock::new(),
            name: name.to_owned(),
            kernel,
            args,
            kinds,
            dense_rows,
            factors,
            structured,
            images,
            updated,
            writes_elsewhere,
            divides: AtomicBool::new(false),
        })
    }

    /// The name that profiles and explanations show.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether its tasks are host tasks, whose functions come with them: it has no kernel with a
    /// loop, as all others have.
    pub(crate) fn is_host(&self) -> bool {
        self.kernel.loops.is_empty()
    }

    /// What one piece computes.
    #[must_use]
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The declarations of the arguments.
    #[must_use]
    pub fn args(&self) -> &[BodyArg] {
        &self.args
    }

    /// A number that no other body has.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// A hash of the name, the kernel and the declarations: the same in every process.
    pub(crate) fn fingerprint(&self) -> u64 {
        *self.fingerprint.get_or_init(|| {
            let text = format!("{} {:?} {}", self.name, self.args, self.kernel);
            hash(&text.bytes().map(u64::from).collect::<Vec<u64>>())
        })
    }

    /// Whether a task needs what its argument holds already.
    pub(crate) fn needs_contents(&self, arg: usize) -> bool {
        let declared = &self.args[arg];
        let is_read = declared.privilege == Privilege::Read || declared.access == Access::Block;
        is_read || self.updated[arg]
    }

    /// Whether its tasks work on blocks, and are not cut.
    pub(crate) fn has_blocks(&self) -> bool {
        self.args.iter().any(|arg| arg.access == Access::Block)
    }

    /// The type of the elements of an argument.
    pub(crate) fn dtype(&self, arg: usize) -> DType {
        self.kinds[arg].1
    }

    /// The kind by which the kernel reaches an argument; `Structure` for ranges.
    pub(crate) fn kind(&self, arg: usize) -> ArgKind {
        self.kinds[arg].0
    }

    /// Whether it has ranges, so that its tasks run where those are.
    pub(crate) fn has_ranges(&self) -> bool {
        self.args.iter().any(|arg| arg.access == Access::Ranges)
    }

    /// Whether a task may write, in place, what is cut in another way than it runs.
    pub(crate) fn may_write_elsewhere(&self) -> bool {
        self.writes_elsewhere
    }

    /// The images by points, in the order of their arguments.
    pub(crate) fn images(&self) -> &[Image] {
        &self.images
    }
}

/// The declarations of a kernel that has no structure: those of [`Body::new`].
///
/// # Panics
///
/// If it has one.
fn undeclared(name: &str, kernel: &Kernel, uses: &[Use]) -> Vec<BodyArg> {
    let numbers = 0..kernel.args.len() as u32;
    let declared = numbers.zip(uses).map(|(number, used)| BodyArg {
        privilege: used.privilege,
        access: match kernel.args[number as usize].kind {
            ArgKind::Array | ArgKind::DenseRows => Access::Rows,
            ArgKind::Scalar | ArgKind::Reduction | ArgKind::Gather => Access::Whole,
            ArgKind::Entries | ArgKind::Structure => {
                panic!("the arguments of `{name}` have to be declared: `Body::with_args`")
            }
        },
        kernel_arg: Some(number),
    });
    declared.collect()
}

/// # Panics
///
/// If the kernel does not verify, or has not exactly one loop.
fn check_kernel(name: &str, kernel: &Kernel) {
    if let Err(error) = sparsefuse_kernels::verify::verify(kernel) {
        panic!("the kernel of `{name}` is ill-formed: {error}");
    }
    assert_eq!(kernel.loops.len(), 1, "the kernel of a body has one loop");
}

/// # Panics
///
/// If a declaration does not fit the kernel.
fn check_declarations(name: &str, kernel: &Kernel, args: &[BodyArg], uses: &[Use]) {
    let mut declared = vec![0; kernel.args.len()];
    for number in args.iter().flat_map(BodyArg::kernel_args) {
        if let Some(declared) = declared.get_mut(number as usize) {
            *declared += 1;
        }
    }
    for (number, declared) in declared.into_iter().enumerate() {
        assert_eq!(declared, 1, "declarations of a{number} of `{name}`");
    }
    for (number, arg) in args.iter().enumerate() {
        let (kind, dtype) = kind(kernel, arg);
        let privilege = match arg.kernel_arg {
            None => Privilege::Read,
            Some(number) => uses[number as usize].privilege,
        };
        assert_eq!(arg.privilege, privilege, "privilege of `{name}`");
        let fits = fits(kernel, uses, arg, kind) && is_related(kernel, args, number);
        assert!(fits, "access of `{name}`: {:?} for {kind:?}", arg.access);
        let is_indices = kind == ArgKind::Structure && arg.kernel_arg.is_some();
        assert!(
            !is_indices || dtype == DType::U32,
            "the indices of `{name}` are of type {dtype}, not u32"
        );
    }
    let arg = |number: u32| args.iter().position(|arg| arg.kernel_arg == Some(number));
    let access = |number: u32| arg(number).map(|arg| args[arg].access);
    for inst in kernel
        .loops
        .iter()
        .flat_map(|kernel_loop| &kernel_loop.body)
    {
        let (x, expected) = match *inst {
            Inst::RowSum {
                structure,
                entries,
                x,
            } => {
                let (of_indices, of_entries) = (access(structure), access(entries));
                assert_eq!(of_indices, of_entries, "ranges of the entries of `{name}`");
                let indices = arg(structure).unwrap_or_default() as u32;
                (x, Access::At { indices })
            }
            Inst::Gather { structure, x } => {
                let indices = arg(structure).unwrap_or_default() as u32;
                (x, Access::At { indices })
            }
            Inst::RowReduce { x: Some(x), .. } => (x, Access::Whole),
            _ => continue,
        };
        assert_eq!(access(x), Some(expected), "access of the x of `{name}`");
    }
}

/// Whether an argument of this kind may be cut as it is declared.
fn fits(kernel: &Kernel, uses: &[Use], arg: &BodyArg, kind: ArgKind) -> bool {
    match (arg.access, kind) {
        (Access::Ranges, _) => arg.kernel_arg.is_none(),
        (Access::Held | Access::Block, _) => false,
        _ if arg.kernel_arg.is_none() => false,
        (Access::Elements(_), _) => are_elements(kernel, uses, arg),
        (Access::Rows, kind) => matches!(kind, ArgKind::Array | ArgKind::DenseRows),
        (Access::Within { .. }, kind) => matches!(kind, ArgKind::Entries | ArgKind::Structure),
        (Access::At { .. }, kind) => kind == ArgKind::Gather,
        (Access::Whole, kind) => {
            matches!(kind, ArgKind::Scalar | ArgKind::Reduction | ArgKind::Gather)
        }
    }
}

/// Whether the argument that an access names is one of its kind, and whether ranges are those of
/// some other argument.
fn is_related(kernel: &Kernel, args: &[BodyArg], number: usize) -> bool {
    let is_named = |access: Access| args.iter().any(|arg| arg.access == access);
    let is_indices = |arg: &BodyArg| {
        let is_structure = kind(kernel, arg).0 == ArgKind::Structure;
        is_structure && matches!(arg.access, Access::Within { .. })
    };
    match args[number].access {
        Access::Rows | Access::Whole | Access::Held | Access::Block | Access::Elements(_) => true,
        Access::Ranges => is_named(Access::Within {
            ranges: number as u32,
        }),
        Access::Within { ranges } => {
            let named = args.get(ranges as usize);
            named.is_some_and(|named| named.access == Access::Ranges)
        }
        Access::At { indices } => args.get(indices as usize).is_some_and(is_indices),
    }
}

/// The images by points, with their structures.
fn images(args: &[BodyArg]) -> Vec<Image> {
    let image = |(x, arg): (usize, &BodyArg)| {
        let Access::At { indices } = arg.access else {
            return None;
        };
        let indices = indices as usize;
        let Access::Within { ranges } = args[indices].access else {
            return None;
        };
        Some(Image {
            ranges: ranges as usize,
            indices,
            x,
        })
    };
    args.iter().enumerate().filter_map(image).collect()
}

/// Whether the kernel reduces into some arguments in one way, so that one store can hold them.
fn are_elements(kernel: &Kernel, uses: &[Use], declared: &BodyArg) -> bool {
    let mut numbers = declared.kernel_args();
    let (kind, dtype) = kind(kernel, declared);
    let is_like = |number: u32| {
        let arg = kernel.args.get(number as usize);
        arg.is_some_and(|arg| (arg.kind, arg.dtype) == (kind, dtype))
            && uses[number as usize].privilege == declared.privilege
    };
    kind == ArgKind::Reduction && !numbers.is_empty() && numbers.all(is_like)
}

/// How the kernel reaches an argument, and the type of its elements.
fn kind(kernel: &Kernel, arg: &BodyArg) -> (ArgKind, DType) {
    match arg.kernel_arg {
        Some(number) => {
            let arg = &kernel.args[number as usize];
            (arg.kind, arg.dtype)
        }
        None => (ArgKind::Structure, DType::U64),
    }
}

/// What a kernel does with one of its arguments.
#[derive(Clone, Copy)]
struct Use {
    privilege: Privilege,
    /// Whether it is read, and not written before.
    is_read_first: bool,
}

/// What a kernel does with each of its arguments.
fn uses(kernel: &Kernel) -> Vec<Use> {
    let unused = Use {
        privilege: Privilege::Read,
        is_read_first: false,
    };
    let mut uses = vec![unused; kernel.args.len()];
    let body = kernel
        .loops
        .iter()
        .flat_map(|kernel_loop| &kernel_loop.body);
    for inst in body {
        let (number, privilege) = match *inst {
            Inst::Load(number) | Inst::LoadScalar(number) => (number, Privilege::Read),
            Inst::Store(number, _) | Inst::StoreScalar(number, _) => (number, Privilege::Write),
            Inst::Reduce(op, number, _) => (number, Privilege::Reduce(op)),
            _ => continue,
        };
        let of_arg = &mut uses[number as usize];
        if of_arg.privilege == Privilege::Read {
            of_arg.privilege = privilege;
            of_arg.is_read_first |= privilege == Privilege::Read;
        }
    }
    uses
}

/// The dense rows that have a factor, and it.
fn factors(kernel: &Kernel, args: &[BodyArg]) -> Vec<(usize, usize)> {
    let of_kernel = |number: u32| args.iter().position(|arg| arg.kernel_arg == Some(number));
    let body = kernel
        .loops
        .iter()
        .flat_map(|kernel_loop| &kernel_loop.body);
    body.filter_map(|inst| match *inst {
        Inst::RowReduce { rows, x, .. } => Some((of_kernel(rows)?, of_kernel(x?)?)),
        _ => None,
    })
    .collect()
}

/// A store as a task sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) store: &'a Counted<Store>,
    /// `None` for the whole store as it is.
    pub(crate) view: Option<&'a Arc<View>>,
}

impl<'a> Seen<'a> {
    /// The shape that the task sees.
    pub(crate) fn shape(&self) -> &'a Shape {
        match self.view {
            None => self.store.shape_ref(),
            Some(view) => view.shape_ref(),
        }
    }
}
