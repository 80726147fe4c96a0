//! Versions: stores that a group writes to other memory, where it would write them in place after a
//! copy.
//!
//! `u.assign_slice(inner, mean(&u))` computes the mean from neighbours of `u`, so it cannot write
//! `u` meanwhile: the mean gets memory of its own, and is then copied to the slice. Here the loop
//! that computes it writes the slice of a new version of `u`, and what lies around the slice is
//! copied from the old one. So sweeps of a stencil go from one array to another and back, as if
//! written by hand.
//!
//! A kernel goes in; out comes one in which later loops use the new version in the place of the
//! store and of what was copied to it. A version is a slot of its own behind those of the window;
//! the last one becomes the store when the task has run.
//!
//! The invariant: where the old kernel reads an element of the store or of the copied array, the
//! new one reads an element that has the same bits then.

use crate::analysis::compose::{Composed, Domain, Source};
use crate::analysis::solve::Slot;
use crate::geometry::partition::{Partition, Pieces};
use crate::geometry::region::Region;
use crate::geometry::view::View;
use sparsefuse_kernels::{Arg, ArgId, ArgKind, Inst, Loop};
use std::sync::Arc;

/// The versions of a group's stores.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    /// The slot of each version behind those of the window, and the store that it is a version of.
    pub(crate) of: Vec<(u32, u32)>,
    pub(crate) slots: Vec<Slot>,
}

impl Versions {
    /// The store of which a slot is a version, or the slot itself.
    pub(crate) fn root(&self, slot: u32) -> u32 {
        let mut versions = self.of.iter();
        let known = versions.find(|(version, _)| *version == slot);
        known.map_or(slot, |&(_, of)| of)
    }

    /// The versions that their stores become.
    pub(crate) fn last(&self) -> impl Iterator<Item = (u32, u32)> {
        let versions = self.of.iter().enumerate();
        versions.filter_map(|(number, &(version, of))| {
            let is_last = !self.of[number + 1..].iter().any(|later| later.1 == of);
            is_last.then_some((version, of))
        })
    }
}

/// Lets loops write new versions of stores of which a copy would cover at least half, and `least`
/// elements.
pub(crate) fn split(
    composed: Composed,
    slots: &[Slot],
    partition: &dyn Fn(u32) -> Partition,
    least: usize,
) -> (Composed, Versions) {
    if !may_copy(&composed) {
        return (composed, Versions::default());
    }
    let mut splitter = Splitter {
        uses: uses(&composed, slots.len()),
        args: args_of(&composed, slots.len()),
        copies: Vec::new(),
        slots,
        partition,
        versions: Versions::default(),
        composed,
    };
    for number in 0..splitter.composed.kernel.loops.len() {
        for copy in splitter.copies_in(number) {
            if let Some(plan) = splitter.plan(&copy, least) {
                splitter.apply(&copy, plan);
            }
        }
    }
    let Splitter {
        mut composed,
        mut copies,
        versions,
        ..
    } = splitter;
    if versions.of.is_empty() {
        return (composed, versions);
    }
    // From the last one on, so that loops before keep their numbers. A later copy may have an
    // earlier maker.
    copies.sort_by_key(|&(before, _)| before);
    for (before, loop_) in copies.into_iter().rev() {
        composed.kernel.loops.insert(before, loop_);
    }
    (composed.without_unused(), versions)
}

/// Whether there are temporary arrays and slices at all.
fn may_copy(composed: &Composed) -> bool {
    let mut args = composed.kernel.args.iter();
    args.any(|arg| arg.temporary) && composed.args.iter().any(|source| source.view.is_some())
}

/// Where a loop uses a store.
#[derive(Clone, Copy, Debug)]
struct Use {
    number: usize,
    place: usize,
    arg: ArgId,
    is_store: bool,
}

/// An instruction that stores to a slice what its loop has loaded from a temporary array.
struct Copy {
    number: usize,
    place: usize,
    from: u32,
    to: ArgId,
}

/// How a copy is done without.
struct Plan {
    /// The loop that stores the temporary array.
    maker: usize,
    /// Where the copy writes.
    target: Region,
}

struct Splitter<'a> {
    composed: Composed,
    slots: &'a [Slot],
    /// How the stores of the window are cut while the group runs.
    partition: &'a dyn Fn(u32) -> Partition,
    /// The uses of each slot, in the order of the kernel.
    uses: Vec<Vec<Use>>,
    /// The arguments of each slot.
    args: Vec<Vec<ArgId>>,
    /// Loops to be put in front of others, by the numbers of these.
    copies: Vec<(usize, Loop)>,
    versions: Versions,
}

fn args_of(composed: &Composed, n_slots: usize) -> Vec<Vec<ArgId>> {
    let mut args = vec![Vec::new(); n_slots];
    for (arg, source) in (0..).zip(&composed.args) {
        args[source.slot as usize].push(arg);
    }
    args
}

fn uses(composed: &Composed, n_slots: usize) -> Vec<Vec<Use>> {
    let mut uses = vec![Vec::new(); n_slots];
    for (number, loop_) in composed.kernel.loops.iter().enumerate() {
        for (place, inst) in loop_.body.iter().enumerate() {
            inst.for_each_arg(|arg| {
                uses[composed.args[arg as usize].slot as usize].push(Use {
                    number,
                    place,
                    arg,
                    is_store: inst.is_effect(),
                });
            });
        }
    }
    uses
}

impl Splitter<'_> {
    fn source(&self, arg: ArgId) -> &Source {
        &self.composed.args[arg as usize]
    }

    fn slot(&self, slot: u32) -> &Slot {
        let made = (slot as usize).checked_sub(self.slots.len());
        made.map_or_else(
            || &self.slots[slot as usize],
            |made| &self.versions.slots[made],
        )
    }

    /// The copies of temporary arrays in a loop.
    fn copies_in(&self, number: usize) -> Vec<Copy> {
        let body = &self.composed.kernel.loops[number].body;
        let copies = body.iter().enumerate().filter_map(|(place, inst)| {
            let Inst::Store(to, value) = *inst else {
                return None;
            };
            let Inst::Load(from) = body[value as usize] else {
                return None;
            };
            let is_temporary = self.composed.kernel.args[from as usize].temporary;
            let from = self.source(from);
            (is_temporary && from.view.is_none() && self.source(to).view.is_some()).then_some(
                Copy {
                    number,
                    place,
                    from: from.slot,
                    to,
                },
            )
        });
        copies.collect()
    }

    /// The box that an argument sees, if it sees all of it, each element once and in its order.
    fn whole_box(&self, arg: ArgId) -> Option<Region> {
        let view = self.source(arg).view.as_deref()?;
        let region = view.region(&(0..view.shape().rows()));
        (view.is_slice() && region.len() == view.shape().len()).then_some(region)
    }

    fn plan(&self, copy: &Copy, least: usize) -> Option<Plan> {
        let target = self.whole_box(copy.to)?;
        let store = self.source(copy.to).slot;
        let shape = self.slot(store).shape;
        if target.len() < least || 2 * target.len() < shape.len() {
            return None;
        }
        let (made, kept) = (&self.uses[copy.from as usize], &self.uses[store as usize]);
        let is_array = |it: &Use| self.source(it.arg).kind == ArgKind::Array;
        if !made.iter().chain(kept).all(is_array) {
            return None;
        }
        // The array is stored once, as a whole, and only then loaded.
        let (first, loads) = made.split_first()?;
        let maker = self.source(first.arg);
        let is_made = first.is_store
            && maker.view.is_none()
            // What the maker writes on a rank is what the copy does.
            && maker.pieces == self.source(copy.to).pieces;
        let is_loaded = |it: &Use| {
            let view = self.source(it.arg).view.as_deref();
            let is_placed = view.is_none_or(|view| view.within(shape, &target.lo).is_some());
            !it.is_store && it.number > first.number && is_placed
        };
        if !is_made || first.number >= copy.number || !loads.iter().all(is_loaded) {
            return None;
        }
        let maker = first.number;
        let last = loads.last()?.number;
        let is_other = |it: &&Use| (it.number, it.place) != (copy.number, copy.place);
        let mut is_read_meanwhile = false;
        for it in kept.iter().filter(is_other) {
            let meets = |it: &Use| {
                let region = match self.source(it.arg).view.as_deref() {
                    None => return true,
                    Some(view) => view.region(&(0..view.shape().rows())),
                };
                !region.intersect(&target).is_empty()
            };
            let is_fine = match it.number {
                number if number < maker => !it.is_store || self.is_made_here(store),
                number if number == copy.number => false,
                number if number < copy.number => {
                    is_read_meanwhile = true;
                    !it.is_store
                }
                number => !it.is_store || number > last || !meets(it),
            };
            if !is_fine {
                return None;
            }
        }
        // Else the loops would have merged, if they could.
        is_read_meanwhile.then_some(Plan { maker, target })
    }

    /// Whether the group makes the store, so that no other handle sees what is written before.
    fn is_made_here(&self, store: u32) -> bool {
        self.slot(store).partition.is_none()
    }

    fn apply(&mut self, copy: &Copy, Plan { maker, target }: Plan) {
        let store = self.source(copy.to).slot;
        let version = self.add_version(store);
        let (made, mut kept) = (
            std::mem::take(&mut self.uses[copy.from as usize]),
            std::mem::take(&mut self.uses[store as usize]),
        );
        let later = kept.partition_point(|it| it.number < copy.number);
        let is_other = |it: &Use| (it.number, it.place) != (copy.number, copy.place);
        let later: Vec<Use> = kept.split_off(later).into_iter().filter(is_other).collect();
        self.uses[store as usize] = kept;

        let more = self.source(copy.to).pieces.rows_more();
        let pieces = match (self.partition)(self.versions.root(store)) {
            launch @ Partition::Tile(cuts) if more > 0 => Pieces::more(launch, more, (cuts, 0)),
            launch => Pieces::of(launch),
        };
        let whole = self.whole_copy(store, version, pieces);
        self.copies.push((maker, whole));
        let base = self.slot(store).shape;
        let mut used = Vec::with_capacity(made.len() + later.len());
        for it in made {
            let Source { view, .. } = self.source(it.arg);
            let view = match view {
                None => self.source(copy.to).view.clone(),
                Some(view) => view.within(base, &target.lo).map(Arc::new),
            };
            used.push(self.renamed(it, version, view));
        }
        for it in later {
            let view = self.source(it.arg).view.clone();
            used.push(self.renamed(it, version, view));
        }
        used.sort_by_key(|it| (it.number, it.place));
        self.uses[version as usize] = used;
        self.remove(copy);
    }

    fn add_version(&mut self, store: u32) -> u32 {
        let version = (self.slots.len() + self.versions.slots.len()) as u32;
        let versions = self.versions.of.iter();
        let root = versions.rev().find(|(known, _)| *known == store);
        let root = root.map_or(store, |(_, root)| *root);
        let Slot { shape, dtype, .. } = *self.slot(store);
        self.versions.of.push((version, root));
        self.versions.slots.push(Slot {
            shape,
            dtype,
            is_held: false,
            partition: None,
        });
        self.uses.push(Vec::new());
        self.args.push(Vec::new());
        version
    }

    /// A loop that copies all of a store to its version.
    fn whole_copy(&mut self, store: u32, version: u32, pieces: Pieces) -> Loop {
        let domain = self.composed.domain(Domain {
            shape: self.slot(store).shape,
            pieces,
        });
        let [from, to] = [store, version].map(|slot| self.arg(slot, None, pieces));
        Loop {
            domain,
            body: vec![Inst::Load(from), Inst::Store(to, 0)],
        }
    }

    /// The argument that sees a slot in a way: the one that is there already, or a new one.
    fn arg(&mut self, slot: u32, view: Option<Arc<View>>, pieces: Pieces) -> ArgId {
        let source = Source {
            slot,
            element: 0,
            kind: ArgKind::Array,
            view,
            pieces,
            piece: None,
        };
        let of_slot = &self.args[slot as usize];
        let is_known = |arg: &&ArgId| *self.source(**arg) == source;
        if let Some(&known) = of_slot.iter().find(is_known) {
            return known;
        }
        let known = of_slot.first().copied();
        let args = &mut self.composed.kernel.args;
        let memory = match known {
            Some(arg) => args[arg as usize].memory,
            None => 1 + args.iter().map(|arg| arg.memory).max().unwrap_or(0),
        };
        let made = (slot as usize).checked_sub(self.slots.len());
        let of = made.map_or_else(
            || &self.slots[slot as usize],
            |made| &self.versions.slots[made],
        );
        args.push(Arg {
            dtype: of.dtype,
            kind: ArgKind::Array,
            memory,
            temporary: false,
        });
        self.composed.args.push(source);
        let new = (args.len() - 1) as ArgId;
        self.args[slot as usize].push(new);
        new
    }

    /// Lets an instruction use a version.
    fn renamed(&mut self, it: Use, version: u32, view: Option<Arc<View>>) -> Use {
        let pieces = self.source(it.arg).pieces;
        let new = self.arg(version, view, pieces);
        let inst = &mut self.composed.kernel.loops[it.number].body[it.place];
        *inst = inst.map_args(|arg| if arg == it.arg { new } else { arg });
        Use { arg: new, ..it }
    }

    /// Takes the copy out of its loop: what it stored is there already. The instruction stays, as a
    /// load of it that nothing uses, so that others keep their numbers.
    fn remove(&mut self, copy: &Copy) {
        let body = &mut self.composed.kernel.loops[copy.number].body;
        if let Inst::Store(_, value) = body[copy.place] {
            body[copy.place] = body[value as usize];
        }
    }
}
