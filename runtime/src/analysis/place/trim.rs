//! Loops that need not write all of a store, since a later task of the window overwrites a box of
//! it before anything reads it.
//!
//! `next = u.clone(); next.assign_slice(inner, ...)` copies an array of which all but the boundary
//! is then written anew; only the boundary is worth copying. Such a loop runs on the boxes around
//! what is overwritten. If the later task fails, the whole store fails with it, so what was not
//! written is never read.

use super::Planner;
use crate::analysis::compose::{Domain, Source};
use crate::analysis::schedule::{Binding, Output, Reuse};
use crate::geometry::region::Region;
use crate::shape::Shape;
use crate::tasks::argument::{Access, Privilege};
use sparsefuse_kernels::{ArgKind, Extent, Inst, Kernel, Layout, Loop};

/// The tiles that a loop must be spared, at least; fewer elements take less time than the loops
/// that there would be in its place.
pub(super) const LEAST_TILES: usize = 16;

/// The boxes that a loop is replaced by at most.
const MOST_PARTS: usize = 16;

/// What becomes of the loops of a fused task: its kernel, and where arguments and domains lie.
pub(super) struct Trimmed<'a> {
    pub(super) kernel: &'a mut Kernel,
    pub(super) args: &'a mut Vec<Source>,
    pub(super) bindings: &'a mut Vec<Binding>,
    pub(super) domains: &'a mut Vec<Domain>,
    pub(super) extents: &'a mut Vec<Extent>,
    pub(super) outputs: &'a [Output],
}

/// The boxes that a loop must write; `None` if it writes all.
type Parts = Option<Vec<Region>>;

impl Planner<'_> {
    /// Lets loops leave out what is overwritten before it is read, and what is there already.
    pub(super) fn trim(&self, mut task: Trimmed<'_>) {
        let n_loops = task.kernel.loops.len();
        let mut parts: Vec<Parts> = vec![None; n_loops];
        // The last ones first: what a loop need not write, it need not read.
        for number in (0..n_loops).rev() {
            parts[number] = self.needed_parts(&task, &parts, number);
        }
        if parts.iter().all(Option::is_none) {
            return;
        }
        self.leave_out_known(&task, &mut parts);
        let loops = std::mem::take(&mut task.kernel.loops);
        for (loop_, parts) in loops.into_iter().zip(parts) {
            let Some(parts) = parts else {
                task.kernel.loops.push(loop_);
                continue;
            };
            let held = self.written_whole(&task, &loop_);
            for part in parts {
                let narrowed = self.narrowed(&mut task, &loop_, &held, &part);
                task.kernel.loops.push(narrowed);
            }
        }
    }

    /// The rank's part of the store that a loop writes as a whole.
    fn written_whole(&self, task: &Trimmed<'_>, loop_: &Loop) -> Region {
        let Domain { shape, pieces } = task.domains[loop_.domain as usize];
        Region::of_rows(shape, &self.rows(shape, pieces))
    }

    /// The boxes that a loop must write, if it may leave out enough.
    fn needed_parts(&self, task: &Trimmed<'_>, known: &[Parts], number: usize) -> Parts {
        let loop_ = &task.kernel.loops[number];
        let stored = stored(task, loop_)?;
        let source = &task.args[stored as usize];
        let shape = self.slots[source.slot as usize].shape;
        let is_whole = source.view.is_none() && task.domains[loop_.domain as usize].shape == shape;
        let least = LEAST_TILES * self.cuts.tile_len();
        if !is_whole || shape.len() < least || task.kernel.args[stored as usize].temporary {
            return None;
        }
        let held = self.written_whole(task, loop_);
        let mut parts = Vec::new();
        let place = (number + 1, source.slot);
        self.needed((task, known), place, held, &mut parts)?;
        let spared = held.len() - parts.iter().map(Region::len).sum::<usize>();
        (spared >= least && 2 * spared >= held.len()).then_some(parts)
    }

    /// Adds the boxes of a part of a store that are read before they are overwritten, by loops from
    /// `next` on or later tasks; `None` if they are many. Of the loops behind `next` it is known
    /// what they must write.
    fn needed(
        &self,
        (task, all): (&Trimmed<'_>, &[Parts]),
        (next, slot): (usize, u32),
        part: Region,
        parts: &mut Vec<Region>,
    ) -> Option<()> {
        let loops = task.kernel.loops.iter().zip(all).enumerate();
        for (number, (later, known)) in loops.skip(next) {
            let mut written = None;
            for inst in &later.body {
                let mut is_met = false;
                inst.for_each_arg(|arg| {
                    let source = &task.args[arg as usize];
                    is_met |= source.slot == slot && self.meets(source, known, &part);
                });
                match *inst {
                    Inst::Store(arg, _) if is_met && written.is_none() => written = Some(arg),
                    _ if is_met => return add(parts, part),
                    _ => {}
                }
            }
            let Some(arg) = written else {
                continue;
            };
            let domain = task.domains[later.domain as usize];
            let hole = self.written_box(&task.args[arg as usize], domain);
            let Some(hole) = hole.filter(|_| known.is_none()) else {
                return add(parts, part);
            };
            let rest = around(&part, &hole.intersect(&part));
            return rest
                .into_iter()
                .try_for_each(|rest| self.needed((task, all), (number + 1, slot), rest, parts));
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

    /// Whether a loop that writes `known` parts reaches a part of a store by an argument.
    fn meets(&self, source: &Source, known: &Parts, part: &Region) -> bool {
        let reach = self.reach(source).intersect(part);
        match known.as_ref().filter(|_| source.view.is_none()) {
            Some(known) => known
                .iter()
                .any(|known| !known.intersect(&reach).is_empty()),
            None => !reach.is_empty(),
        }
    }

    /// Lets copies leave out parts in which both stores are equal: of two arrays that sweeps of a
    /// stencil go to and fro between, the boundary is the same from the second copy on.
    fn leave_out_known(&self, task: &Trimmed<'_>, parts: &mut [Parts]) {
        let mut equal: Vec<Equal> = Vec::new();
        for (loop_, parts) in task.kernel.loops.iter().zip(parts) {
            if let (Some(parts), Some(stores)) = (&mut *parts, copied(task, loop_)) {
                let pair = stores.map(|slot| root(task.outputs, slot));
                let is_equal = |part: &Region| {
                    let mut known = equal.iter();
                    known.any(|it| it.is_of(pair) && it.part.contains(part))
                };
                parts.retain(|part| !is_equal(part));
            }
            for inst in &loop_.body {
                let Inst::Store(arg, _) = *inst else {
                    continue;
                };
                let source = &task.args[arg as usize];
                let memory = task.kernel.args[arg as usize].memory;
                let shape = self.slots[source.slot as usize].shape;
                equal.retain(|it| {
                    let is_apart = it.shape == shape && !self.meets(source, parts, &it.part);
                    !it.memories.contains(&memory) || is_apart
                });
            }
            let copied = copied(task, loop_).zip(copied_args(loop_));
            if let (Some(parts), Some((stores, args))) = (&*parts, copied) {
                equal.extend(parts.iter().map(|&part| Equal {
                    roots: stores.map(|slot| root(task.outputs, slot)),
                    memories: args.map(|arg| task.kernel.args[arg as usize].memory),
                    shape: self.slots[stores[0] as usize].shape,
                    part,
                }));
            }
        }
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

    /// The elements that this rank writes through an argument, if they are a box without gaps.
    fn written_box(&self, source: &Source, Domain { shape, pieces }: Domain) -> Option<Region> {
        let rows = self.rows(shape, pieces);
        let region = self.view(source).region(&rows);
        (region.len() == rows.len() * shape.row_len()).then_some(region)
    }

    /// The same loop on a part of the box `held`.
    fn narrowed(&self, task: &mut Trimmed<'_>, whole: &Loop, held: &Region, part: &Region) -> Loop {
        let Domain { shape, pieces } = task.domains[whole.domain as usize];
        let rank = shape.rank();
        let lens: [usize; 4] = std::array::from_fn(|d| part.hi[d] - part.lo[d]);
        let shape = Shape::new(&lens[..rank]);
        let extent = Extent {
            start: 0,
            len: shape.len() as u64,
            tiles: self.cuts.tiles(shape),
        };
        let new = Domain { shape, pieces };
        let mut domains = task.domains.iter().zip(task.extents.iter());
        let domain = domains.position(|known| known == (&new, &extent));
        let domain = domain.unwrap_or_else(|| {
            task.domains.push(new);
            task.extents.push(extent);
            task.domains.len() - 1
        });
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
            domain: domain as u32,
            body: body.collect(),
        }
    }
}

/// Parts of two stores that are equal.
struct Equal {
    /// The outputs whose memory the stores have.
    roots: [u32; 2],
    /// The numbers of their memories.
    memories: [u32; 2],
    shape: Shape,
    part: Region,
}

impl Equal {
    fn is_of(&self, [from, to]: [u32; 2]) -> bool {
        self.roots == [from, to] || self.roots == [to, from]
    }
}

/// The output whose memory an output is sure to have. Memory of an input is only taken over if no
/// other store has it.
fn root(outputs: &[Output], slot: u32) -> u32 {
    let reuse = outputs.iter().find(|output| output.slot == slot);
    match reuse.and_then(|output| output.reuse) {
        Some(Reuse::Output(of)) => root(outputs, of),
        Some(Reuse::Input(_)) | None => slot,
    }
}

/// What a loop copies to what, if it is a copy.
fn copied_args(loop_: &Loop) -> Option<[u32; 2]> {
    match loop_.body[..] {
        [Inst::Load(from), Inst::Store(to, _)] => Some([from, to]),
        _ => None,
    }
}

/// The stores that a loop copies from and to, if it copies one as it is.
fn copied(task: &Trimmed<'_>, loop_: &Loop) -> Option<[u32; 2]> {
    let sources = copied_args(loop_)?.map(|arg| &task.args[arg as usize]);
    let is_whole = sources.iter().all(|source| source.view.is_none());
    is_whole.then(|| sources.map(|source| source.slot))
}

/// The argument that a loop stores, if that is all it does, and each row of it depends on the same
/// row of other arrays alone.
fn stored(task: &Trimmed<'_>, loop_: &Loop) -> Option<u32> {
    let rank = task.domains[loop_.domain as usize].shape.rank() as u8;
    let mut stored = None;
    for inst in &loop_.body {
        match *inst {
            Inst::Store(arg, _) if stored.is_none() => stored = Some(arg),
            Inst::Load(arg) => {
                let binding = &task.bindings[arg as usize];
                if !matches!(binding, Binding::Array { layout, .. } if layout.rank == rank) {
                    return None;
                }
            }
            inst => {
                if !inst.is_elementwise() || inst.is_effect() {
                    return None;
                }
            }
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
