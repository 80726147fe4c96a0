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
use sparsefuse_kernels::{ArgKind, Extent, Inst, Kernel, Layout, Loop};

/// The tiles that a loop must be spared, at least; fewer elements take less time than the loops that
/// there would be in its place.
pub(super) const LEAST_TILES: usize = 16;

/// The boxes that a loop is replaced by at most.
const MOST_PARTS: usize = 16;

/// What becomes of the loops of a fused task: its kernel, and where arguments and domains lie.
pub(super) struct Trimmed<'a> {
    pub(super) kernel: &'a mut Kernel,
    pub(super) args: &'a mut Vec<Source>,
    pub(super) bindings: &'a mut Vec<Binding>,
    pub(super) domains: &'a mut Vec<Shape>,
    pub(super) extents: &'a mut Vec<Extent>,
}

impl Planner<'_> {
    /// Lets loops leave out what is overwritten before it is read: the last ones first, since what a
    /// loop need not write need not be there for it.
    pub(super) fn trim(&self, mut task: Trimmed<'_>) {
        for number in (0..task.kernel.loops.len()).rev() {
            let Some((held, parts)) = self.needed_parts(&task, number) else {
                continue;
            };
            let whole = task.kernel.loops.remove(number);
            for part in parts.into_iter().rev() {
                let loop_ = self.narrowed(&mut task, &whole, &held, &part);
                task.kernel.loops.insert(number, loop_);
            }
        }
    }

    /// The rank's part of the store that a loop writes, and the boxes of it that must be written, if
    /// that spares enough.
    fn needed_parts(&self, task: &Trimmed<'_>, number: usize) -> Option<(Region, Vec<Region>)> {
        let stored = stored(task, number)?;
        let source = &task.args[stored as usize];
        let shape = self.slots[source.slot as usize].shape;
        let is_whole = source.view.is_none() && task.domains[domain(task, number)] == shape;
        let least = LEAST_TILES * self.cuts.tile_len();
        if !is_whole || shape.len() < least || task.kernel.args[stored as usize].temporary {
            return None;
        }
        let held = Region::of_rows(shape, &self.rows(shape));
        let mut parts = Vec::new();
        self.needed(task, (number + 1, source.slot), held, &mut parts)?;
        let spared = held.len() - parts.iter().map(Region::len).sum::<usize>();
        (spared >= least && 2 * spared >= held.len()).then_some((held, parts))
    }

    /// Adds the boxes of a part of a store that are read before they are overwritten, by loops from
    /// `next` on or later tasks; `None` if they are many.
    fn needed(
        &self,
        task: &Trimmed<'_>,
        (next, slot): (usize, u32),
        part: Region,
        parts: &mut Vec<Region>,
    ) -> Option<()> {
        let loops = task.kernel.loops.iter().enumerate().skip(next);
        for (number, later) in loops {
            let mut written = None;
            for inst in &later.body {
                let mut is_read = false;
                inst.for_each_arg(|arg| {
                    let source = &task.args[arg as usize];
                    is_read |= source.slot == slot && !self.reach(source).intersect(&part).is_empty();
                });
                match *inst {
                    Inst::Store(arg, _) if is_read && written.is_none() => written = Some(arg),
                    _ if is_read => return add(parts, part),
                    _ => {}
                }
            }
            if let Some(arg) = written {
                let Some(hole) = self.whole_box(&task.args[arg as usize]) else {
                    return add(parts, part);
                };
                return self.needed_around((task, number + 1, slot), (part, hole), parts);
            }
        }
        if self.dies(slot) {
            return Some(());
        }
        match self.overwritten_later(slot) {
            Some(hole) if !hole.intersect(&part).is_empty() => {
                let rest = around(&part, &hole.intersect(&part));
                rest.into_iter().try_for_each(|rest| add(parts, rest))
            }
            _ => add(parts, part),
        }
    }

    /// As [`Planner::needed`], for the part without a hole.
    fn needed_around(
        &self,
        (task, next, slot): (&Trimmed<'_>, usize, u32),
        (part, hole): (Region, Region),
        parts: &mut Vec<Region>,
    ) -> Option<()> {
        let rest = around(&part, &hole.intersect(&part));
        let mut rest = rest.into_iter();
        rest.try_for_each(|rest| self.needed(task, (next, slot), rest, parts))
    }

    /// The box that the next task writes, if nothing reads the store before.
    fn overwritten_later(&self, slot: u32) -> Option<Region> {
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

    /// The box that holds all that an argument reaches.
    fn reach(&self, source: &Source) -> Region {
        let shape = self.slots[source.slot as usize].shape;
        match (source.kind, source.view.as_deref()) {
            (ArgKind::Array, Some(view)) => view.region(&(0..view.shape().rows())),
            _ => Region::of_rows(shape, &(0..shape.rows())),
        }
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

/// Adds a part; `None` if there are many.
fn add(parts: &mut Vec<Region>, part: Region) -> Option<()> {
    parts.push(part);
    (parts.len() <= MOST_PARTS).then_some(())
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
