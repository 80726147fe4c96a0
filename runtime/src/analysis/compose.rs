//! Composition: from the bodies of a group's tasks to one kernel.
//!
//! The loops of the tasks follow each other; arguments that reach the same store in the same way
//! become one argument. What the passes of `kernels` then make of it is [`Composed::optimize`].

use crate::analysis::fuse::{Group, Solved};
use crate::analysis::solve::{self, Slot};
use crate::geometry::partition::{Partition, Pieces};
use crate::geometry::view::View;
use crate::shape::Shape;
use crate::tasks::argument::{Access, Image};
use crate::tasks::body::Body;
use sparsefuse_kernels::passes::{self, Optimized};
use sparsefuse_kernels::{Arg as KernelArg, ArgKind, Inst, Kernel, Loop};
use std::sync::Arc;

/// The kernel of a group, and what its arguments and parameters are in the window.
#[derive(Debug)]
pub(crate) struct Composed {
    pub(crate) kernel: Kernel,
    pub(crate) args: Vec<Source>,
    /// The window's number of each parameter.
    pub(crate) params: Vec<u32>,
    pub(crate) domains: Vec<Domain>,
    pub(crate) pieces: Vec<PieceSpec>,
}

/// The rows of some loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Domain {
    pub(crate) shape: Shape,
    /// Which of them a rank computes.
    pub(crate) pieces: Pieces,
}

/// What an argument of the kernel is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Source {
    pub(crate) slot: u32,
    /// Which element of the store the argument is, where it is one of several
    /// ([`Access::Elements`]); 0 otherwise.
    pub(crate) element: usize,
    pub(crate) kind: ArgKind,
    pub(crate) view: Option<Arc<View>>,
    /// Which rows loops reach through it on a rank.
    pub(crate) pieces: Pieces,
    /// For a structure, its entries, and what is gathered by it, the number of the piece.
    pub(crate) piece: Option<usize>,
}

/// The derived form of a structure by which something is gathered: its local indices depend on how
/// that is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PieceSpec {
    pub(crate) ranges: u32,
    pub(crate) indices: u32,
    /// How the rows are spread over the ranks.
    pub(crate) partition: Partition,
    /// What is gathered.
    pub(crate) x: u32,
    pub(crate) x_partition: Partition,
    /// The elements of a row of `x`: 1 of a vector, and where there are none.
    pub(crate) width: usize,
}

impl PieceSpec {
    /// Whether another one is the same piece: of the same structure, for an `x` that is like its
    /// own.
    pub(crate) fn is_same(&self, other: &Self, slots: &[Slot]) -> bool {
        let place = |spec: &Self| (spec.ranges, spec.indices, spec.x_partition);
        let shape = |spec: &Self| slots[spec.x as usize].shape;
        place(self) == place(other) && shape(self) == shape(other)
    }
}

/// The arguments of each slot so far: the last one, and for each argument the one before it.
struct BySlot {
    last: Vec<Option<u32>>,
    before: Vec<Option<u32>>,
}

/// How many times the rows of short loops those of the longest one are.
const SHORT: usize = 16;

/// The composed kernel of a group, with the rows that a rank computes of each task; stores for
/// which `is_temporary` holds get no memory if the passes can do without.
pub(crate) fn compose(
    group: &Group,
    tasks: &[Solved<'_>],
    (slots, pieces): (&[Slot], &[Pieces]),
    is_temporary: impl Fn(u32) -> bool,
) -> Composed {
    let mut composed = Composed {
        kernel: Kernel::default(),
        args: Vec::new(),
        params: Vec::new(),
        domains: Vec::new(),
        pieces: Vec::new(),
    };
    let mut by_slot = BySlot {
        last: vec![None; slots.len()],
        before: Vec::new(),
    };
    for number in group.tasks.clone() {
        let pieces = pieces[number - group.tasks.start];
        composed.append(&tasks[number], (slots, pieces), &mut by_slot);
    }
    for (arg, source) in composed.kernel.args.iter_mut().zip(&composed.args) {
        arg.temporary = is_temporary(source.slot);
    }
    composed
}

impl Composed {
    fn append(
        &mut self,
        task: &Solved<'_>,
        (slots, rows): (&[Slot], Pieces),
        by_slot: &mut BySlot,
    ) {
        let kernel = task.body.kernel();
        let images = task.body.images();
        let mut pieces = Vec::with_capacity(images.len());
        for image in images {
            pieces.push(self.piece(task, image, slots, rows.launch));
        }
        let mut renamed = vec![0; kernel.args.len()];
        for (number, (declared, arg)) in task.body.args().iter().zip(task.args).enumerate() {
            let piece = image_of(task.body, number).map(|image| pieces[image]);
            for (element, kernel_arg) in declared.kernel_args().enumerate() {
                let source = Source {
                    slot: arg.slot,
                    element,
                    kind: task.body.kind(number),
                    view: arg.view.clone(),
                    pieces: match task.body.kind(number) {
                        ArgKind::Array | ArgKind::DenseRows => rows,
                        ArgKind::Scalar
                        | ArgKind::Reduction
                        | ArgKind::Gather
                        | ArgKind::Entries
                        | ArgKind::Structure => Pieces::of(Partition::Replicated),
                    },
                    piece,
                };
                renamed[kernel_arg as usize] =
                    self.arg(source, kernel.args[kernel_arg as usize].dtype, by_slot);
            }
        }
        let first_param = self.params.len() as u32;
        self.params.extend(task.params.clone());
        self.kernel.params.extend_from_slice(&kernel.params);
        let shape = solve::domain(task.body, task.args, slots).unwrap_or(Shape::SCALAR);
        let domain = self.domain(Domain {
            shape,
            pieces: rows,
        });
        for kernel_loop in &kernel.loops {
            let mut rename = |inst: &Inst| match *inst {
                Inst::Param(param) => Inst::Param(first_param + param),
                inst => self.of_one_piece(inst.map_args(|arg| renamed[arg as usize]), by_slot),
            };
            let body = kernel_loop.body.iter().map(&mut rename).collect();
            self.kernel.loops.push(Loop { domain, body });
        }
    }

    /// The instruction with the structure and the entries of the piece of what it gathers: one
    /// structure has several pieces where what is gathered by it is spread in several ways.
    fn of_one_piece(&mut self, inst: Inst, by_slot: &mut BySlot) -> Inst {
        let (Inst::RowSum { x, .. } | Inst::Gather { x, .. }) = inst else {
            return inst;
        };
        let piece = self.args[x as usize].piece;
        let mut of_piece = |arg: u32| {
            let source = self.args[arg as usize].clone();
            let dtype = self.kernel.args[arg as usize].dtype;
            self.arg(Source { piece, ..source }, dtype, by_slot)
        };
        inst.map_args(|arg| if arg == x { x } else { of_piece(arg) })
    }

    /// The argument for a source: the one that is there already, or a new one.
    fn arg(
        &mut self,
        source: Source,
        dtype: sparsefuse_kernels::DType,
        by_slot: &mut BySlot,
    ) -> u32 {
        let slot = source.slot as usize;
        let mut known = by_slot.last[slot];
        while let Some(arg) = known {
            if self.args[arg as usize] == source {
                return arg;
            }
            known = by_slot.before[arg as usize];
        }
        let arg = self.args.len() as u32;
        by_slot.before.push(by_slot.last[slot].replace(arg));
        let kind = source.kind;
        // Elements of one store are apart from each other, and rule 4 of fusion keeps all else of
        // the group away from them: each has a number that is no slot's.
        let memory = match source.element {
            0 => source.slot,
            _ => by_slot.last.len() as u32 + arg,
        };
        self.kernel.args.push(KernelArg {
            dtype,
            kind,
            memory,
            temporary: false,
        });
        self.args.push(source);
        arg
    }

    pub(super) fn domain(&mut self, mut domain: Domain) -> u32 {
        if domain.shape.rank() == 0 {
            domain.pieces = Pieces::of(Partition::Replicated);
        }
        let known = self.domains.iter().position(|&known| known == domain);
        known.unwrap_or_else(|| {
            self.domains.push(domain);
            self.domains.len() - 1
        }) as u32
    }

    /// The piece that an image of this task needs. An `x` that the group has written is spread as
    /// the group is launched.
    fn piece(
        &mut self,
        task: &Solved<'_>,
        image: &Image,
        slots: &[Slot],
        launch: Partition,
    ) -> usize {
        let x = task.args[image.x].slot;
        let spec = PieceSpec {
            ranges: task.args[image.ranges].slot,
            indices: task.args[image.indices].slot,
            partition: slots[task.args[image.ranges].slot as usize]
                .partition
                .unwrap_or(launch),
            x,
            x_partition: slots[x as usize].partition.unwrap_or(launch),
            width: slots[x as usize].shape.row_len().max(1),
        };
        let known = self
            .pieces
            .iter()
            .position(|known| known.is_same(&spec, slots));
        known.unwrap_or_else(|| {
            self.pieces.push(spec);
            self.pieces.len() - 1
        })
    }

    /// Runs the passes of the kernel IR, and forgets arguments, parameters and pieces that nothing
    /// needs: a gather whose result dies must not decide which rows run before its ghosts arrive.
    pub(crate) fn optimize(mut self) -> Self {
        let mut optimized = passes::optimize(std::mem::take(&mut self.kernel));
        let rows = |domain: u32| self.domains[domain as usize].shape.dims().first();
        let loops = optimized.kernel.loops.iter();
        if let Some(most) = loops.filter_map(|loop_| rows(loop_.domain)).max() {
            let most = most / SHORT;
            passes::split(&mut optimized.kernel, |domain| {
                rows(domain).is_some_and(|n| *n <= most)
            });
        }
        self.only(optimized)
    }

    /// Forgets what no effect needs.
    pub(crate) fn without_unused(mut self) -> Self {
        let optimized = passes::without_unused(std::mem::take(&mut self.kernel));
        self.only(optimized)
    }

    /// What is left when passes have changed the kernel.
    fn only(self, optimized: Optimized) -> Self {
        let mut args: Vec<Source> = optimized
            .args
            .iter()
            .map(|&arg| self.args[arg as usize].clone())
            .collect();
        let mut pieces: Vec<PieceSpec> = Vec::new();
        let mut renumbered = vec![None; self.pieces.len()];
        for piece in args.iter_mut().filter_map(|arg| arg.piece.as_mut()) {
            let number = *renumbered[*piece].get_or_insert(pieces.len());
            if number == pieces.len() {
                pieces.push(self.pieces[*piece]);
            }
            *piece = number;
        }
        Self {
            args,
            params: optimized
                .params
                .iter()
                .map(|&param| self.params[param as usize])
                .collect(),
            kernel: optimized.kernel,
            domains: self.domains,
            pieces,
        }
    }
}

/// The image that an argument belongs to: what is gathered, the indices that say where, or what
/// lies beside them.
fn image_of(body: &Body, number: usize) -> Option<usize> {
    let mut images = body.images().iter();
    match body.args()[number].access {
        Access::At { .. } => images.position(|image| image.x == number),
        Access::Within { .. } if body.kind(number) == ArgKind::Structure => {
            images.position(|image| image.indices == number)
        }
        Access::Within { ranges } => images.position(|image| image.ranges == ranges as usize),
        Access::Rows
        | Access::Ranges
        | Access::Whole
        | Access::Held
        | Access::Block
        | Access::Elements(_) => None,
    }
}
