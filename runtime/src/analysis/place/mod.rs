//! From one group of tasks to the fused task that a rank runs for them.
//!
//! The group goes in, with the stores as they are before it, the cuts and the rank; out comes a
//! [`FusedTask`]: the composed and optimised kernel, what is exchanged before it, where its
//! arguments are (`bind.rs`), which stores it makes and in whose memory, what it reduces, and which
//! stores are not needed afterwards.
//!
//! The invariant: what must have contents before is each store of the group that has a partition
//! then; what dies with the group is held by no handle and used by no later task.

mod bind;
mod gathered;
mod halves;
mod host;
mod rows;
mod trim;

use self::bind::Moves;
use self::gathered::{leading, only_gathered, plain_pieces};
pub(super) use self::rows::made;
use self::rows::{leave_out_empty, partition};
use self::trim::Trimmed;
use crate::analysis::compose::{self, Composed, Domain, Source};
use crate::analysis::fuse::{Group, Solved};
use crate::analysis::overlap::Planned;
use crate::analysis::reuse;
use crate::analysis::schedule::{Binding, FusedTask, Output, Reduction};
use crate::analysis::solve::Slot;
use crate::analysis::versions::{self, Versions};
use crate::comm::forests;
use crate::geometry::partition::{CutsTable, Partition, Pieces};
use crate::geometry::region::Region;
use crate::tasks::argument::{Access, Privilege};
use sparsefuse_kernels::blocks::Program;
use sparsefuse_kernels::{ArgKind, Extent, Inst, Kernel};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Places the data of one group.
pub(super) struct Planner<'a> {
    pub(super) group: &'a Group,
    pub(super) tasks: &'a [Solved<'a>],
    /// The stores as they are before the group.
    pub(super) slots: &'a [Slot],
    pub(super) last_use: &'a [usize],
    /// How the stores that the group makes are cut.
    pub(super) made: &'a BTreeMap<u32, Partition>,
    pub(super) cuts: &'a mut CutsTable,
    pub(super) rank: usize,
}

/// The fused task of some tasks of a group, in their order, as `slots` are before them. Slots in
/// `frees` die with them; all others are needed afterwards.
pub(crate) fn plan_some(
    tasks: &[Solved<'_>],
    (launch, overlaps): (Partition, bool),
    slots: &[Slot],
    frees: &[u32],
    (cuts, rank): (&mut CutsTable, usize),
) -> FusedTask {
    let group = Group {
        tasks: 0..tasks.len(),
        launch,
        overlaps,
        end: None,
    };
    let mut last_use = vec![usize::MAX; slots.len()];
    for &slot in frees {
        last_use[slot as usize] = 0;
    }
    let mut planner = Planner {
        group: &group,
        tasks,
        slots,
        last_use: &last_use,
        made: &made(tasks),
        cuts,
        rank,
    };
    planner.plan_group()
}

impl Planner<'_> {
    /// The whole way from the tasks of the group to one.
    pub(super) fn plan_group(&mut self) -> FusedTask {
        let rows = self.planned();
        match self.composed(&rows) {
            None => self.plan_host(),
            Some(composed) => self.plan(composed, &rows, Versions::default()),
        }
    }

    /// The same, where stores may get new versions.
    pub(super) fn plan_versions(&mut self) -> FusedTask {
        let rows = self.planned();
        let Some(composed) = self.composed(&rows) else {
            return self.plan_host();
        };
        let least = trim::LEAST_TILES * self.cuts.tile_len();
        let of_slot = |slot| self.partition(slot);
        let (composed, versions) = versions::split(composed, self.slots, &of_slot, least);
        if versions.of.is_empty() {
            return self.plan(composed, &rows, versions);
        }
        let slots = [self.slots, versions.slots.as_slice()].concat();
        let mut last_use = self.last_use.to_vec();
        last_use.resize(slots.len(), self.group.tasks.start);
        for (version, _) in versions.last() {
            last_use[version as usize] = usize::MAX;
        }
        let mut made = self.made.clone();
        let of_versions = versions.of.iter();
        made.extend(of_versions.map(|&(version, of)| (version, self.partition(of))));
        let mut planner = Planner {
            group: self.group,
            tasks: self.tasks,
            slots: &slots,
            last_use: &last_use,
            made: &made,
            cuts: self.cuts,
            rank: self.rank,
        };
        planner.plan(composed, &rows, versions)
    }

    /// The kernel of the group; none of a host task.
    fn composed(&self, rows: &Planned) -> Option<Composed> {
        let is_temporary = |slot| self.is_temporary(slot);
        let is_host = self.tasks[self.group.tasks.start].body.is_host();
        (!is_host).then(|| {
            let place = (self.slots, rows.pieces.as_slice());
            compose::compose(self.group, self.tasks, place, is_temporary).optimize()
        })
    }

    /// The partition of a store while the group runs.
    pub(super) fn partition(&self, slot: u32) -> Partition {
        partition((self.slots, self.made, self.group), slot)
    }

    pub(super) fn held(&self, slot: u32) -> Region {
        let shape = self.slots[slot as usize].shape;
        Region::of_rows(
            shape,
            &self.cuts.rows(self.partition(slot), shape, self.rank),
        )
    }

    /// A store is temporary if the group makes all of it, no later task reads it, and the program
    /// no longer holds it.
    fn is_temporary(&self, slot: u32) -> bool {
        self.slots[slot as usize].partition.is_none() && self.dies(slot)
    }

    /// Whether the store is not needed after this group.
    fn dies(&self, slot: u32) -> bool {
        !self.slots[slot as usize].is_held && self.last_use[slot as usize] < self.group.tasks.end
    }

    fn plan(&mut self, mut composed: Composed, rows: &Planned, versions: Versions) -> FusedTask {
        let (mut reads, mut writes, mut frees) = self.uses();
        let mut moves = Moves::default();
        let of_args = self.reductions(&composed);
        let mut reductions = Vec::new();
        let mut bindings = Vec::with_capacity(composed.args.len());
        for (arg, source) in composed.args.iter().enumerate() {
            let binding = match source.kind {
                ArgKind::Reduction => {
                    reductions.push(of_args[arg].expect("an argument that is kept is used"));
                    Binding::Reduction {
                        number: reductions.len() - 1,
                    }
                }
                _ => self.bind(source, &composed.pieces, &mut moves),
            };
            bindings.push(binding);
        }
        for (&slot, &rows) in &rows.around {
            let Slot { shape, .. } = self.slots[slot as usize];
            let needs = Planned::needs(shape, self.partition(slot), rows);
            moves.needs.push((slot, needs));
        }
        let mut kernel = composed.kernel;
        let room = rows.pieces.iter().map(|pieces| pieces.rows_more()).max();
        let mut outputs = self.outputs(&kernel, &composed.args, room.unwrap_or(0));
        reuse::take_over(
            &mut outputs,
            &mut kernel,
            &composed.args,
            self.slots.len(),
            |slot, to| self.fits(slot, to),
        );
        // Loops before which ghosts are sent run in parts.
        if self.cuts.ranks() == 1 || composed.pieces.is_empty() {
            let place = (self.slots, composed.args.as_slice());
            let is_replaced = |slot| versions.last().any(|(_, of)| of == slot);
            let dies = |slot| self.dies(slot) || is_replaced(slot);
            // Then nothing runs before a halo is there.
            let is_alone = self.group.overlaps || moves.needs.is_empty();
            reuse::share(&mut outputs, &mut kernel, place, is_alone, dies);
        }
        let n_domains = composed.domains.len();
        let domains = composed.domains.iter();
        let mut extents = domains.map(|&domain| self.extent(domain)).collect();
        self.trim(Trimmed {
            kernel: &mut kernel,
            args: &mut composed.args,
            bindings: &mut bindings,
            domains: &mut composed.domains,
            extents: &mut extents,
            outputs: &outputs,
        });
        if composed.pieces.is_empty() {
            leave_out_empty(&mut kernel, &extents);
        }
        let has_work = kernel
            .loops
            .iter()
            .any(|kernel_loop| !kernel_loop.body.is_empty());
        let bytes = self.traffic(&kernel, &composed.args, &bindings);
        for list in [&mut reads, &mut writes, &mut frees] {
            list.sort_unstable();
            list.dedup();
        }
        let (fetches, needs) = (moves.fetches, moves.needs);
        let mut others = writes.clone();
        others.extend(fetches.iter().map(|fetch| fetch.slot));
        others.extend(needs.iter().map(|(slot, _)| *slot));
        let plain_pieces = plain_pieces(&kernel, &bindings);
        others.extend(
            plain_pieces
                .iter()
                .map(|&piece| composed.pieces[piece].indices),
        );
        let only_gathered = only_gathered(&composed.pieces, &bindings, others);
        let program = has_work.then(|| Program::compile(&kernel));
        let may_wait = composed.pieces.is_empty() && fetches.is_empty() && !needs.is_empty();
        // Later loops read rows of neighbours that earlier ones compute.
        let may_wait = may_wait && !self.group.overlaps;
        let halves = program.as_ref().filter(|_| may_wait).and_then(|program| {
            let domains = &composed.domains[..n_domains];
            self.halves((&kernel, program), (&composed.args, domains), &needs)
        });
        let leading = leading(&kernel, &composed.args, &composed.pieces);
        let mut stored = vec![false; kernel.args.len()];
        for inst in kernel
            .loops
            .iter()
            .flat_map(|kernel_loop| &kernel_loop.body)
        {
            if let Inst::Store(arg, _) | Inst::StoreScalar(arg, _) = *inst {
                stored[arg as usize] = true;
            }
        }
        FusedTask {
            name: self.name(),
            group: self.group.clone(),
            program,
            host: None,
            kernel,
            reads,
            writes,
            fetches,
            needs,
            around: Vec::new(),
            halos: Vec::new(),
            halves,
            pieces: composed.pieces,
            outputs,
            misplaced: self.misplaced(),
            versions,
            bindings,
            params: composed.params,
            extents,
            reductions,
            frees,
            bytes,
            only_gathered,
            plain_pieces,
            leading,
            stored,
            on_device: OnceLock::new(),
        }
    }

    /// What the group finds there, what it writes, and what dies with it.
    fn uses(&self) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
        let (mut reads, mut writes, mut frees) = (Vec::new(), Vec::new(), Vec::new());
        for task in &self.tasks[self.group.tasks.clone()] {
            for (declared, arg) in task.body.args().iter().zip(task.args) {
                // What is there already is needed even if it is only written: that is done in
                // place.
                if self.slots[arg.slot as usize].partition.is_some() {
                    reads.push(arg.slot);
                }
                if declared.privilege != Privilege::Read {
                    writes.push(arg.slot);
                }
                if self.dies(arg.slot) {
                    frees.push(arg.slot);
                }
            }
        }
        (reads, writes, frees)
    }

    /// The slots that tasks write where their rows are cut in another way: a rank would write rows
    /// of others, or leave out some of those that it holds.
    fn misplaced(&self) -> Vec<u32> {
        let mut misplaced = Vec::new();
        for task in &self.tasks[self.group.tasks.clone()] {
            let args = task.body.args().iter().zip(task.args).zip(&task.local);
            for ((declared, arg), &is_local) in args {
                let is_rows = declared.access == Access::Rows;
                if !is_rows
                    || !declared.is_written()
                    || self.slots[arg.slot as usize].shape.rank() == 0
                {
                    continue;
                }
                let is_everywhere = self.partition(arg.slot) == Partition::Replicated;
                let is_cut = task.launch.partition() != Partition::Replicated;
                if !is_local || is_everywhere && is_cut {
                    misplaced.push(arg.slot);
                }
            }
        }
        misplaced
    }

    /// Whether the memory of a dying input has the size and place of an output.
    fn fits(&self, input: u32, output: &Output) -> bool {
        let (from, to) = (
            &self.slots[input as usize],
            &self.slots[output.slot as usize],
        );
        self.dies(input)
            && from.partition == Some(output.partition)
            && from.shape == to.shape
            && from.dtype.size() == to.dtype.size()
            // Memory that was a vector of the program is aligned for its own elements only.
            && from.dtype.alignment() >= to.dtype.alignment()
    }

    /// The names of the tasks, repetitions counted.
    fn name(&self) -> String {
        let mut runs: Vec<(&str, usize)> = Vec::new();
        for task in &self.tasks[self.group.tasks.clone()] {
            match runs.last_mut() {
                Some((name, count)) if *name == task.body.name() => *count += 1,
                _ => runs.push((task.body.name(), 1)),
            }
        }
        let texts: Vec<String> = runs
            .into_iter()
            .map(|(name, count)| {
                if count == 1 {
                    name.to_owned()
                } else {
                    format!("{name}*{count}")
                }
            })
            .collect();
        texts.join("+")
    }

    fn extent(&self, Domain { shape, pieces }: Domain) -> Extent {
        let rows = self.rows(shape, pieces);
        let row_len = shape.row_len();
        Extent {
            start: (rows.start * row_len) as u64,
            len: (rows.len() * row_len) as u64,
            tiles: self.cuts.tiles(shape),
        }
    }

    /// The reduction into each argument of the kernel; none into those of other kinds.
    fn reductions(&self, composed: &Composed) -> Vec<Option<Reduction>> {
        let mut reductions = vec![None; composed.args.len()];
        for kernel_loop in &composed.kernel.loops {
            let is_reduction = |inst: &Inst| matches!(inst, Inst::Reduce(..));
            if !kernel_loop.body.iter().any(is_reduction) {
                continue;
            }
            let types = sparsefuse_kernels::ir::value_types(&composed.kernel, &kernel_loop.body);
            let domain = composed.domains[kernel_loop.domain as usize];
            let extent = self.extent(domain);
            for inst in &kernel_loop.body {
                let Inst::Reduce(op, target, value) = *inst else {
                    continue;
                };
                let Source { slot, element, .. } = composed.args[target as usize];
                reductions[target as usize] = Some(Reduction {
                    op,
                    dtype: types[value as usize].expect("a verified kernel is well-typed"),
                    slot,
                    element,
                    domain: kernel_loop.domain,
                    launch: domain.pieces.launch,
                    first_row: self.rows(domain.shape, domain.pieces).start,
                    n_tiles: extent.tiles.count(extent.len as usize),
                    most_trees: forests::most_trees(extent.tiles.leaves(domain.shape.len())),
                });
            }
        }
        reductions
    }

    /// The stores that the kernel makes: those without an instance yet.
    fn outputs(&self, kernel: &Kernel, args: &[Source], room: usize) -> Vec<Output> {
        let mut outputs: Vec<Output> = Vec::new();
        for inst in kernel
            .loops
            .iter()
            .flat_map(|kernel_loop| &kernel_loop.body)
        {
            let (Inst::Store(arg, _) | Inst::StoreScalar(arg, _) | Inst::Reduce(_, arg, _)) = *inst
            else {
                continue;
            };
            let slot = args[arg as usize].slot;
            let is_new = self.slots[slot as usize].partition.is_none();
            if !is_new || outputs.iter().any(|output| output.slot == slot) {
                continue;
            }
            let shape = self.slots[slot as usize].shape;
            let (partition, rows) = match inst {
                Inst::Reduce(..) => (Partition::Replicated, 0..shape.rows()),
                _ => {
                    let partition = self.partition(slot);
                    (partition, self.rows(shape, Pieces::of(partition)))
                }
            };
            let len = rows.len() * shape.row_len();
            let room = [rows.start, shape.rows() - rows.end].map(|others| room.min(others));
            outputs.push(Output {
                slot,
                partition,
                rows,
                len,
                room,
                reuse: None,
            });
        }
        outputs
    }

    /// The bytes that a kernel must move on this rank, ghosts apart: each argument once for reading
    /// and once for writing. Structures and their entries are counted when the task runs, since
    /// that depends on their form.
    fn traffic(&self, kernel: &Kernel, args: &[Source], bindings: &[Binding]) -> usize {
        // How often each argument moves: once if it is loaded, and once if it is stored.
        let mut moves = vec![[false; 2]; args.len()];
        for inst in kernel
            .loops
            .iter()
            .flat_map(|kernel_loop| &kernel_loop.body)
        {
            match *inst {
                Inst::Load(arg) => moves[arg as usize][0] = true,
                Inst::Store(arg, _) => moves[arg as usize][1] = true,
                _ => {}
            }
        }
        let mut bytes = 0;
        for ((source, binding), moves) in args.iter().zip(bindings).zip(moves) {
            let slot = &self.slots[source.slot as usize];
            let size = slot.dtype.size();
            match binding {
                Binding::Array { layout, .. } => {
                    let moves: usize = moves.into_iter().map(usize::from).sum();
                    bytes += moves * layout.len() * size;
                }
                Binding::DenseRows {
                    layout, columns, ..
                } => bytes += layout.len() * columns * size,
                Binding::Whole { len, .. } => bytes += len * size,
                Binding::Gathered { slot, .. } => bytes += self.held(*slot).len() * size,
                Binding::Scalar { .. }
                | Binding::Reduction { .. }
                | Binding::Entries { .. }
                | Binding::Structure { .. } => {}
            }
        }
        bytes
    }
}
