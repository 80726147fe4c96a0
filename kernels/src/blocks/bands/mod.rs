//! Bands: neighbouring loops that follow each other over the rows of their arrays.
//!
//! Fifty sweeps of a stencil are fifty loops, which cannot become one: a row of a sweep needs three
//! rows of the sweep before. Run one after the other, each of them reads its arrays from memory, or
//! from the cache that holds them all. Here the first loop runs some rows, a band, then the second
//! one those of its rows that need no more than that, and so on; then the first one goes on with
//! its next band. So what a loop reads was written shortly before and lies in the cache of the
//! core, however large the arrays are, and threads meet once for all of the loops. The field calls
//! it loop skewing, or time tiling: Wolf and Lam, "A loop transformation theory and an algorithm to
//! maximize parallelism" (IEEE TPDS, 1991).
//!
//! What goes in is a kernel with where its arrays lie, what comes out are [`Chain`]s of loops. It
//! is found from addresses alone, so it holds for any loops, not for stencils in particular: of
//! each two loops of which one writes what the other reads or writes, it is known which rows of the
//! one have bytes in common with which rows of the other (`reach.rs`). From this follow
//!
//! - the lag of each loop: when the first loop has run `w` rows, loop `k` may have run
//!   `w - lag(k)`;
//! - the parts of threads (`parts.rs`): what a thread can run of each loop without a row that
//!   depends on another thread's, which is less of each later loop; what is left between two
//!   threads is run when all have ended.
//!
//! The invariant: two rows of two loops that have a byte in common, which one of the two writes,
//! run in the order of the loops, and on one thread or with a meeting of all threads between them.
//! So all bits are those of loops run one after the other.
//!
//! A chain ends where a loop multiplies a sparse matrix, or goes through memory in another way than
//! the loops before, or reduces in tiles that rows do not begin with; and where the loops of the
//! chain would use more memory at a time than is kept in the cache.
//!
//! Temporary arrays that nothing but a chain reaches stay in the cache as well (`rings.rs`).

mod chain;
mod parts;
mod reach;
mod rings;
#[cfg(test)]
mod tests;

pub(crate) use self::chain::{Chain, Link};
pub(crate) use self::rings::{Progress, Ring, Seams};

use crate::blocks::Settings;
use crate::blocks::compile::{LoopProgram, Step};
use crate::ir::{ArgId, ArgKind, Inst, Kernel};
use crate::launch::{Launch, Layout, Operand};
use chain::{Builder, Machine};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The loops of a kernel that may become chains, and the chains of the last launch.
#[derive(Debug)]
pub(crate) struct Bands {
    /// For each loop what it reaches, if it may be part of a chain.
    loops: Vec<Option<Plain>>,
    /// Neighbouring loops that may.
    candidates: Vec<Range<usize>>,
    passing: Passing,
    plan: Mutex<Option<Arc<Plan>>>,
}

/// A loop that does the same to each row.
#[derive(Debug)]
struct Plain {
    domain: u32,
    touches: Vec<Touch>,
    /// The memory of the scalars that it reads before its rows.
    scalars: Vec<u32>,
    /// Whether it reduces as well, so that its rows have to be whole tiles.
    reduces: bool,
}

/// An array that a loop reads or writes.
#[derive(Clone, Copy, Debug)]
struct Touch {
    arg: ArgId,
    memory: u32,
    size: usize,
    is_written: bool,
}

/// The memories that are only temporary arrays: for each the first and the last loop that reach it,
/// and its arguments.
#[derive(Debug)]
struct Passing(BTreeMap<u32, ([usize; 2], Vec<ArgId>)>);

/// The chains of a launch, and what they depend on.
#[derive(Debug)]
pub(crate) struct Plan {
    machine: Machine,
    /// The rows of each loop of the candidates.
    rows: Vec<u64>,
    /// Where each array of these loops lies, behind the first one of the same memory.
    places: Vec<(isize, Layout)>,
    /// In the order of their loops.
    pub(crate) chains: Vec<Chain>,
}

impl Bands {
    /// The bands of a kernel; `None` if no loops of it can become a chain.
    pub(crate) fn of(kernel: &Kernel, programs: &[LoopProgram]) -> Option<Arc<Self>> {
        let is_candidate = |pair: &[LoopProgram]| pair.iter().all(LoopProgram::follows_rows);
        if !programs.windows(2).any(is_candidate) {
            return None;
        }
        let loops: Vec<_> = programs.iter().map(|it| Plain::of(kernel, it)).collect();
        let mut candidates: Vec<Range<usize>> = Vec::new();
        for (number, _) in loops.iter().enumerate().filter(|(_, it)| it.is_some()) {
            match candidates.last_mut() {
                Some(last) if last.end == number => last.end += 1,
                _ => candidates.push(number..number + 1),
            }
        }
        candidates.retain(|range| meet(loops[range.clone()].iter().flatten()));
        (!candidates.is_empty()).then(|| {
            Arc::new(Self {
                passing: Passing::of(kernel),
                loops,
                candidates,
                plan: Mutex::new(None),
            })
        })
    }

    /// The chains for a launch on this number of threads.
    pub(crate) fn plan(
        &self,
        launch: &Launch<'_>,
        settings: &Settings,
        threads: usize,
    ) -> Arc<Plan> {
        let machine = Machine::new(settings, threads);
        // What is kept is replaced as a whole.
        let mut kept = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = kept
            .as_ref()
            .filter(|plan| plan.fits(self, launch, machine))
        {
            return Arc::clone(plan);
        }
        let plan = Arc::new(Plan::new(self, launch, machine));
        *kept = Some(Arc::clone(&plan));
        plan
    }

    /// The chains of the last launch.
    pub(crate) fn last_plan(&self) -> Option<Arc<Plan>> {
        let kept = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clone()
    }

    /// The loops of the candidates.
    fn members(&self) -> impl Iterator<Item = &Plain> {
        let loops = self.candidates.iter().cloned().flatten();
        loops.filter_map(|number| self.loops[number].as_ref())
    }
}

/// Whether one of some loops writes what another one reads or writes.
fn meet<'a>(loops: impl Iterator<Item = &'a Plain>) -> bool {
    let mut seen: Vec<(u32, bool)> = Vec::new();
    for plain in loops {
        let meets = |touch: &Touch| {
            let mut seen = seen.iter();
            seen.any(|&(memory, written)| memory == touch.memory && (written || touch.is_written))
        };
        if plain.touches.iter().any(meets) {
            return true;
        }
        let touches = plain.touches.iter();
        seen.extend(touches.map(|touch| (touch.memory, touch.is_written)));
    }
    false
}

impl Passing {
    fn of(kernel: &Kernel) -> Self {
        let mut memories: BTreeMap<u32, ([usize; 2], Vec<ArgId>)> = BTreeMap::new();
        for (arg, of) in (0..).zip(&kernel.args) {
            let memory = memories.entry(of.memory);
            let (_, args) = memory.or_insert(([usize::MAX, 0], Vec::new()));
            args.push(arg);
        }
        for (number, loop_) in kernel.loops.iter().enumerate() {
            for inst in &loop_.body {
                inst.for_each_arg(|arg| {
                    let memory = memories.get_mut(&kernel.args[arg as usize].memory);
                    if let Some(([first, last], _)) = memory {
                        *first = number.min(*first);
                        *last = number;
                    }
                });
            }
        }
        memories.retain(|_, (_, args)| {
            args.iter().all(|&arg| {
                let arg = &kernel.args[arg as usize];
                arg.temporary && arg.kind == ArgKind::Array
            })
        });
        Self(memories)
    }

    /// The arguments of a memory that only these loops reach.
    fn within(&self, memory: u32, loops: &Range<usize>) -> Option<&[ArgId]> {
        let ([first, last], args) = self.0.get(&memory)?;
        (loops.contains(first) && loops.contains(last)).then_some(args)
    }
}

impl Plan {
    fn new(bands: &Bands, launch: &Launch<'_>, machine: Machine) -> Self {
        let mut chains = Vec::new();
        for range in &bands.candidates {
            let loops = bands.loops[range.clone()].iter().flatten();
            if !machine.admits(loops, launch) {
                continue;
            }
            let mut next = range.start;
            while next < range.end {
                let mut builder = Builder::new(next, machine);
                let loops = bands.loops[next..range.end].iter().flatten();
                for plain in loops {
                    if builder.add(plain, launch).is_none() {
                        break;
                    }
                }
                let chain = builder.finish(&bands.passing, launch);
                next += chain.links.len().max(1);
                if chain.pays(&machine) {
                    chains.push(chain);
                }
            }
        }
        Self {
            machine,
            rows: rows(bands, launch).collect(),
            places: places(bands, launch).collect(),
            chains,
        }
    }

    /// Whether the plan is right for a launch. Without chains it is right for any, so that small
    /// arrays cost no look at each of them.
    fn fits(&self, bands: &Bands, launch: &Launch<'_>, machine: Machine) -> bool {
        if self.machine != machine || self.chains.is_empty() {
            return self.machine == machine;
        }
        self.rows.iter().copied().eq(rows(bands, launch))
            && self.places.iter().copied().eq(places(bands, launch))
    }

    /// The chain that begins with a loop and ends before another one.
    pub(crate) fn chain(&self, first: usize, end: usize) -> Option<&Chain> {
        let chain = self.chains.iter().find(|chain| chain.first == first)?;
        (first + chain.links.len() <= end).then_some(chain)
    }
}

fn rows(bands: &Bands, launch: &Launch<'_>) -> impl Iterator<Item = u64> {
    let members = bands.members();
    members.map(|plain| launch.domains[plain.domain as usize].len)
}

fn places(bands: &Bands, launch: &Launch<'_>) -> impl Iterator<Item = (isize, Layout)> {
    let mut origins: Vec<Option<*mut u8>> = Vec::new();
    let touches = bands.members().flat_map(|plain| &plain.touches);
    touches.filter_map(move |touch| {
        let (data, layout) = array(launch, touch.arg)?;
        let memory = touch.memory as usize;
        if origins.len() <= memory {
            origins.resize(memory + 1, None);
        }
        let origin = origins[memory].get_or_insert(data).addr();
        Some((data.addr().wrapping_sub(origin) as isize, layout))
    })
}

fn array(launch: &Launch<'_>, arg: ArgId) -> Option<(*mut u8, Layout)> {
    match launch.operands[arg as usize] {
        Operand::Array { data, layout } => Some((data, layout)),
        _ => None,
    }
}

impl Plain {
    fn of(kernel: &Kernel, program: &LoopProgram) -> Option<Self> {
        let memory = |arg: ArgId| kernel.args[arg as usize].memory;
        let touches = program.steps.iter().filter_map(|step| {
            let (arg, size, is_written) = match *step {
                Step::Load { arg, size, .. } => (arg, size, false),
                Step::Store { arg, size, .. } => (arg, size, true),
                _ => return None,
            };
            Some(Touch {
                arg,
                memory: memory(arg),
                size,
                is_written,
            })
        });
        let scalars = program.uniforms.iter().filter_map(|&(inst, _)| match inst {
            Inst::LoadScalar(arg) => Some(memory(arg)),
            _ => None,
        });
        program.follows_rows().then(|| Self {
            domain: program.domain,
            touches: touches.collect(),
            scalars: scalars.collect(),
            reduces: !program.reductions.is_empty(),
        })
    }
}

impl LoopProgram {
    /// Whether the loop does the same to each row, and nothing else.
    pub(crate) fn is_plain(&self) -> bool {
        self.reductions.is_empty() && self.follows_rows()
    }

    /// Whether the loop does the same to each row, and reduces at most what it has computed there.
    fn follows_rows(&self) -> bool {
        let is_of_row = |step: &Step| {
            matches!(
                step,
                Step::Map { .. }
                    | Step::Index { .. }
                    | Step::Load { .. }
                    | Step::Store { .. }
                    | Step::Update { .. }
                    | Step::Reduce { .. }
                    | Step::ReduceProduct { .. }
                    | Step::ReduceProducts { .. }
            )
        };
        let stores_scalar = |&(inst, _): &(Inst, _)| matches!(inst, Inst::StoreScalar(..));
        !self.steps.is_empty()
            && self.steps.iter().all(is_of_row)
            && !self.uniforms.iter().any(stores_scalar)
    }
}
