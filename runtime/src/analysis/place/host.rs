//! The step of a host task: where its arguments are, and which stores it makes.

use super::Planner;
use super::bind::Moves;
use crate::analysis::compose::Source;
use crate::analysis::schedule::{Binding, Block, From, FusedTask, HostPlace, Output};
use crate::analysis::solve;
use crate::analysis::versions::Versions;
use crate::geometry::partition::{Partition, Pieces};
use crate::shape::Shape;
use crate::tasks::argument::{Access, Privilege};
use crate::tasks::block::BlockRows;
use sparsefuse_kernels::Kernel;
use std::sync::OnceLock;

impl Planner<'_> {
    /// The step of the one host task that the group is. Its arguments are bound as those of kernels
    /// are: rows where they lie on this rank, or fetched, and whole stores; or what the rank holds.
    pub(super) fn plan_host(&mut self) -> FusedTask {
        let task = &self.tasks[self.group.tasks.start];
        let (mut reads, mut writes, mut frees) = self.uses();
        for list in [&mut reads, &mut writes, &mut frees] {
            list.sort_unstable();
            list.dedup();
        }
        // Its function gets the rows of the launch and no more.
        let mut moves = Moves::without_halos();
        let mut bindings = Vec::new();
        let (mut outputs, mut bytes) = (Vec::new(), 0);
        let (mut partitions, mut blocks) = (Vec::new(), Vec::new());
        for (number, (declared, arg)) in task.body.args().iter().zip(task.args).enumerate() {
            let source = Source {
                slot: arg.slot,
                element: 0,
                kind: task.body.kind(number),
                view: None,
                pieces: Pieces::of(self.group.launch),
                piece: None,
            };
            let block = (declared.access == Access::Block).then(|| {
                let view = self.view(&Source {
                    view: arg.view.clone(),
                    ..source.clone()
                });
                Block {
                    slot: arg.slot,
                    view,
                    rows: BlockRows::of(&view).expect("the rows of blocks are checked at first"),
                    is_written: declared.privilege != Privilege::Read,
                }
            });
            let binding = match declared.access {
                Access::Held | Access::Block => Binding::Whole {
                    from: From::Slot(arg.slot),
                    len: self.held(arg.slot).len(),
                },
                _ => self.bind(&source, &[], &mut moves),
            };
            partitions.push(match declared.access {
                Access::Whole | Access::Block => Partition::Replicated,
                Access::Held => self.partition(arg.slot),
                _ => self.group.launch,
            });
            let slot = &self.slots[arg.slot as usize];
            let len = match &binding {
                Binding::Array { layout, .. } => layout.len(),
                Binding::Whole { len, .. } => *len,
                _ => unreachable!("arguments of host tasks are rows or whole stores"),
            };
            bytes += slot.dtype.size()
                * match &block {
                    Some(block) => block.view.shape().len() * (1 + usize::from(block.is_written)),
                    None => len,
                };
            bindings.push(binding);
            let is_in_place = block.is_some();
            blocks.push(block);
            if declared.privilege != Privilege::Read && !is_in_place {
                outputs.push(Output {
                    slot: arg.slot,
                    partition: self.partition(arg.slot),
                    rows: self.rows(slot.shape, Pieces::of(self.group.launch)),
                    len,
                    room: [0; 2],
                    reuse: None,
                });
            }
        }
        let domain = solve::domain(task.body, task.args, self.slots).unwrap_or(Shape::SCALAR);
        FusedTask {
            name: task.body.name().to_owned(),
            group: self.group.clone(),
            program: None,
            host: Some(HostPlace {
                rows: self.rows(domain, Pieces::of(self.group.launch)),
                is_cut: partitions.iter().any(|&of| of != Partition::Replicated),
                partitions,
                blocks,
            }),
            kernel: Kernel::default(),
            reads,
            writes,
            fetches: moves.fetches,
            needs: Vec::new(),
            around: Vec::new(),
            halos: Vec::new(),
            halves: None,
            pieces: Vec::new(),
            outputs,
            misplaced: Vec::new(),
            versions: Versions::default(),
            bindings,
            params: Vec::new(),
            extents: Vec::new(),
            reductions: Vec::new(),
            frees,
            bytes,
            only_gathered: Vec::new(),
            plain_pieces: Vec::new(),
            stored: Vec::new(),
            on_device: OnceLock::new(),
            leading: 0,
        }
    }
}
