//! What a fused task gathers: which loops come before ghosts are sent, and which forms of indices
//! it reads.

use crate::analysis::compose::{PieceSpec, Source};
use crate::analysis::schedule::{Binding, From};
use crate::geometry::partition::Partition;
use sparsefuse_kernels::{ArgKind, Inst, Kernel, Loop};

/// How many loops write what is sent as ghosts, or come before such a loop.
pub(super) fn leading(kernel: &Kernel, args: &[Source], pieces: &[PieceSpec]) -> usize {
    let travels = |source: &&Source| {
        let piece = source.piece.map(|piece| pieces[piece]);
        source.kind == ArgKind::Gather
            && piece.is_some_and(|piece| piece.x_partition != Partition::Replicated)
    };
    let sent: Vec<u32> = args.iter().filter(travels).map(|of| of.slot).collect();
    let writes = |loop_: &Loop| {
        let mut insts = loop_.body.iter();
        insts.any(
            |inst| matches!(*inst, Inst::Store(arg, _) if sent.contains(&args[arg as usize].slot)),
        )
    };
    kernel
        .loops
        .iter()
        .rposition(writes)
        .map_or(0, |last| last + 1)
}

/// The pieces whose indices are read in plain form: those by which elements are gathered.
pub(super) fn plain_pieces(kernel: &Kernel, bindings: &[Binding]) -> Vec<usize> {
    let insts = kernel.loops.iter().flat_map(|loop_| &loop_.body);
    let mut pieces: Vec<usize> = insts
        .filter_map(|inst| match *inst {
            Inst::Gather { structure, .. } => match bindings[structure as usize] {
                Binding::Structure { piece } => Some(piece),
                _ => unreachable!("a structure is bound to a piece"),
            },
            _ => None,
        })
        .collect();
    pieces.sort_unstable();
    pieces.dedup();
    pieces
}

/// The slots of indices and entries that are read in packed form alone, and by none of the
/// `others`.
pub(super) fn only_gathered(
    pieces: &[PieceSpec],
    bindings: &[Binding],
    mut others: Vec<u32>,
) -> Vec<u32> {
    let mut slots: Vec<u32> = pieces.iter().map(|piece| piece.indices).collect();
    // Where rows are gathered, and not elements, the plain form is read.
    let is_wide = |piece: usize| pieces[piece].width != 1;
    let wide = pieces.iter().filter(|piece| piece.width != 1);
    others.extend(wide.map(|piece| piece.indices));
    for binding in bindings {
        match *binding {
            Binding::Entries {
                from: From::Slot(slot),
                piece,
            } if is_wide(piece) => others.push(slot),
            Binding::Entries {
                from: From::Slot(slot),
                ..
            } => slots.push(slot),
            Binding::Array {
                from: From::Slot(slot),
                ..
            }
            | Binding::DenseRows {
                from: From::Slot(slot),
                ..
            }
            | Binding::Whole {
                from: From::Slot(slot),
                ..
            }
            | Binding::Scalar { slot }
            | Binding::Gathered { slot, .. } => others.push(slot),
            Binding::Array { .. }
            | Binding::DenseRows { .. }
            | Binding::Whole { .. }
            | Binding::Entries { .. }
            | Binding::Reduction { .. }
            | Binding::Structure { .. } => {}
        }
    }
    slots.retain(|slot| !others.contains(slot));
    slots
}
