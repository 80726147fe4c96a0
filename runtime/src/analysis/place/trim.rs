//! Loops that need not write all of a store, since a later task of the window overwrites a box of it
//! before anything reads it.
//!
//! `next = u.clone(); next.assign_slice(inner, ...)` copies an array of which all but the boundary is
//! then written anew; only the boundary is worth copying. Such a loop runs on the boxes around what
//! is overwritten. If the later task fails, the whole store fails with it, so what was not written
//! is never read.

use super::Planner;
use crate::analysis::compose::Source;
use crate::analysis::schedule::Binding;
use crate::geometry::region::Region;
use crate::shape::Shape;
use crate::tasks::argument::{Access, Privilege};
use sparsefuse_kernels::{Extent, Inst, Kernel, Layout, Loop};

/// The tiles that a loop must be spared, at least; fewer elements take less time than the loops that
/// there would be in its place.
const LEAST_TILES: usize = 16;

/// What becomes of the loops of a fused task: its kernel, and where arguments and domains lie.
pub(super) struct Trimmed<'a> {
    pub(super) kernel: &'a mut Kernel,
    pub(super) args: &'a mut Vec<Source>,
    pub(super) bindings: &'a mut Vec<Binding>,
    pub(super) domains: &'a mut Vec<Shape>,
    pub(super) extents: &'a mut Vec<Extent>,
}

impl Planner<'_> {
    /// Lets loops leave out what is overwritten before it is read.
    pub(super) fn trim(&self, mut task: Trimmed<'_>) {
        let mut number = 0;
        while number < task.kernel.loops.len() {
            let Some((held, hole)) = self.hole(&task, number) else {
                number += 1;
                continue;
            };
            let whole = task.kernel.loops.remove(number);
            for part in around(&held, &hole) {
                let loop_ = self.narrowed(&mut task, &whole, &held, &part);
                task.kernel.loops.insert(number, loop_);
                number += 1;
            }
        }
    }

    /// The box of a loop that need not be run, within the rank's part of the store that it writes.
    fn hole(&self, task: &Trimmed<'_>, number: usize) -> Option<(Region, Region)> {
        let stored = stored(task, number)?;
        let source = &task.args[stored as usize];
        let shape = self.slots[source.slot as usize].shape;
        let is_whole = source.view.is_none() && task.domains[domain(task, number)] == shape;
        let least = LEAST_TILES * self.cuts.tile_len();
        if !is_whole || shape.len() < least || task.kernel.args[stored as usize].temporary {
            return None;
        }
        let held = Region::of_rows(shape, &self.rows(shape));
        let hole = held.intersect(&self.overwritten(task, number, source.slot)?);
        let is_worth_it = hole.len() >= least && 2 * hole.len() >= held.len();
        is_worth_it.then_some((held, hole))
    }

    /// The box of a store that is written next, if nothing reads the store before.
    fn overwritten(&self, task: &Trimmed<'_>, number: usize, slot: u32) -> Option<Region> {
        let is_of_slot = |arg: u32| task.args[arg as usize].slot == slot;
        for later in &task.kernel.loops[number + 1..] {
            let (mut written, mut is_read) = (None, false);
            for inst in &later.body {
                match *inst {
                    Inst::Store(arg, _) if is_of_slot(arg) && written.is_none() => {
                        written = Some(arg);
                    }
                    inst => inst.for_each_arg(|arg| is_read |= is_of_slot(arg)),
                }
            }
            match written {
                Some(arg) if !is_read => return self.whole_box(&task.args[arg as usize]),
                None if !is_read => {}
                _ => return None,
            }
        }
        let later = &self.tasks[self.group.tasks.end..];
        let task = later
            .iter()
            .find(|task| task.args.iter().any(|arg| arg.slot == slot))?;
        let mut uses = task.body.args().iter().zip(task.args);
        let (declared, arg) = uses.find(|(_, arg)| arg.slot == slot)?;
        let is_written = declared.privilege == Privilege::Write && declared.access == Access::Rows;
        let is_used_again = uses.any(|(_, arg)| arg.slot == slot);
        if !is_written || is_used_again || task.body.is_host() {
            return None;
        }
        let view = arg.view.as_deref()?;
        let region = view.region(&(0..view.shape().rows()));
        (region.len() == view.shape().len()).then_some(region)
    }

    /// The elements that an argument sees, if they are a box without gaps.
    fn whole_box(&self, source: &Source) -> Option<Region> {
        let view = self.view(source);
        let region = view.region(&(0..view.shape().rows()));
        (region.len() == view.shape().len()).then_some(region)
    }

    /// The same loop on a part of the box `held`.
    fn narrowed(&self, task: &mut Trimmed<'_>, whole: &Loop, held: &Region, part: &Region) -> Loop {
        let rank = task.domains[whole.domain as usize].rank();
        let lens: [usize; 4] = std::array::from_fn(|d| part.hi[d] - part.lo[d]);
        let shape = Shape::new(&lens[..rank]);
        task.extents.push(Extent {
            start: 0,
            len: shape.len() as u64,
            tiles: self.cuts.tiles(shape),
        });
        task.domains.push(shape);
        let mut renamed: Vec<(u32, u32)> = Vec::new();
        let mut narrow = |arg: u32| {
            if let Some(&(_, new)) = renamed.iter().find(|(old, _)| *old == arg) {
                return new;
            }
            let binding = task.bindings[arg as usize].clone();
            let Binding::Array {
                from,
                offset,
                layout,
            } = binding
            else {
                return arg;
            };
            let steps = (0..rank).map(|d| (part.lo[d] - held.lo[d]) as isize * layout.strides[d]);
            let new = task.args.len() as u32;
            task.bindings.push(Binding::Array {
                from,
                offset: offset + steps.sum::<isize>(),
                layout: Layout {
                    dims: lens,
                    ..layout
                },
            });
            task.args.push(task.args[arg as usize].clone());
            task.kernel
                .args
                .push(task.kernel.args[arg as usize].clone());
            renamed.push((arg, new));
            new
        };
        let body = whole.body.iter().map(|inst| inst.map_args(&mut narrow));
        Loop {
            domain: (task.domains.len() - 1) as u32,
            body: body.collect(),
        }
    }
}

fn domain(task: &Trimmed<'_>, number: usize) -> usize {
    task.kernel.loops[number].domain as usize
}

/// The argument that a loop stores, if that is all it does, and each row of it depends on the same row
/// of other arrays alone.
fn stored(task: &Trimmed<'_>, number: usize) -> Option<u32> {
    let rank = task.domains[domain(task, number)].rank() as u8;
    let mut stored = None;
    for inst in &task.kernel.loops[number].body {
        match *inst {
            Inst::Store(arg, _) if stored.is_none() => stored = Some(arg),
            Inst::Load(arg) => {
                let binding = &task.bindings[arg as usize];
                if !matches!(binding, Binding::Array { layout, .. } if layout.rank == rank) {
                    return None;
                }
            }
            Inst::Const(_)
            | Inst::Param(_)
            | Inst::LoadScalar(_)
            | Inst::Unary(..)
            | Inst::Binary(..)
            | Inst::Select(..)
            | Inst::Cast(..) => {}
            Inst::Store(..)
            | Inst::StoreScalar(..)
            | Inst::Reduce(..)
            | Inst::Index
            | Inst::Random { .. }
            | Inst::RowSum { .. }
            | Inst::Gather { .. }
            | Inst::RowReduce { .. } => return None,
        }
    }
    stored
}

/// The boxes that make up a box without another one that lies in it.
fn around(whole: &Region, hole: &Region) -> Vec<Region> {
    let mut parts = Vec::new();
    let mut rest = *whole;
    for d in 0..whole.lo.len() {
        let (mut below, mut above) = (rest, rest);
        below.hi[d] = hole.lo[d];
        above.lo[d] = hole.hi[d];
        parts.extend([below, above].into_iter().filter(|part| !part.is_empty()));
        (rest.lo[d], rest.hi[d]) = (hole.lo[d], hole.hi[d]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boxes_around_a_hole_are_all_else() {
        let whole = Region {
            lo: [2, 0, 0, 0],
            hi: [9, 5, 4, 1],
        };
        let hole = Region {
            lo: [3, 1, 0, 0],
            hi: [9, 4, 4, 1],
        };
        let parts = around(&whole, &hole);
        let len: usize = parts.iter().map(Region::len).sum();
        assert_eq!(len, whole.len() - hole.len());
        for (number, part) in parts.iter().enumerate() {
            assert!(whole.contains(part) && part.intersect(&hole).is_empty());
            assert!(
                parts[..number]
                    .iter()
                    .all(|other| part.intersect(other).is_empty())
            );
        }
        assert!(around(&whole, &whole).is_empty());
    }
}
