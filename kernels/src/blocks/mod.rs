//! Running kernels fast, whatever they are: loops over blocks of rows.
//!
//! A block is so short that all its intermediate values stay in the cache. [`Program::compile`]
//! turns each instruction into a step, which is one call of a loop that was compiled beforehand
//! with SIMD instructions; a run takes a block through all steps, then the next block. So a kernel
//! reads its inputs from memory once and writes its outputs once, however long it is.
//!
//! What a run computes does not depend on the length of the blocks, the instruction set or the
//! number of threads: it equals [`crate::reference`] to the bit (the payload and sign of NaN
//! excepted). The order of a reduction is the one of [`crate::reduce`], its lanes are carried from
//! block to block of a tile, and threads own whole tiles.
//!
//! A loop that takes long in blocks may have a twin in native code ([`crate::native`]), which from
//! some run on takes the place of its steps for whole chunks of contiguous arrays.
//!
//! Neighbouring loops that cannot become one, such as sweeps of a stencil, may follow each other
//! over their rows, so that each finds in the cache what the one before has just written
//! ([`bands`]). A loop that makes matrices for the row reductions of the next one makes some rows
//! at a time ([`compile::made`]).
//!
//! # How a loop comes to be
//!
//! An operation is a type that implements [`loops::map::Map`] with the functions of [`crate::ops`];
//! a reduction one that implements [`loops::folds::Fold`]. The generic bodies (`map`, `fold_rows`,
//! `sum_rows`, …) are `#[inline(always)]`, and [`crate::isa::per_isa`] inlines each of them into
//! one function per instruction set, which the compiler turns into SIMD code. [`loops::table`]
//! lists which operations exist for which element types; types whose bits behave alike share them.
//! In all there are a few hundred loops, each for three instruction sets on x86-64 and for one
//! elsewhere.
#![expect(unsafe_code, reason = "passes on the promises about a launch")]

mod bands;
mod compile;
mod loops;
mod run;
mod settings;
#[cfg(test)]
mod tests;

pub use self::settings::{Part, Settings};

use crate::ir::{ArgId, Inst, Kernel, Loop};
use crate::isa::Isa;
use crate::launch::Launch;
use crate::native::{Toolchain, Twin};
use crate::workers::Workers;
use bands::Bands;
use compile::LoopProgram;
use compile::ahead::Ahead;
use compile::made::Made;
use std::ops::Range;
use std::sync::Arc;

/// A kernel, ready to run on any launch.
#[derive(Clone, Debug)]
pub struct Program {
    loops: Vec<LoopProgram>,
    /// For each loop but the last, whether it may run ahead of the next one.
    ahead: Vec<Option<Ahead>>,
    /// For each loop but the last, what it makes for the row reductions of the next one.
    made: Vec<Option<Arc<Made>>>,
    /// Which loops may follow each other over their rows, if any.
    bands: Option<Arc<Bands>>,
    /// For each loop its native form, if it is worth one.
    twins: Vec<Option<Arc<Twin>>>,
    /// For each loop, where the loops end that may run in parts with it.
    divisible: Vec<usize>,
}

impl Program {
    /// Compiles a kernel.
    ///
    /// # Panics
    /// If [`crate::verify`] would refuse the kernel.
    #[must_use]
    pub fn compile(kernel: &Kernel) -> Self {
        let loops = kernel.loops.iter();
        let loops: Vec<_> = loops.map(|loop_| compile::compile(kernel, loop_)).collect();
        Self {
            ahead: kernel
                .loops
                .windows(2)
                .map(|pair| Ahead::plan(kernel, &pair[0], &pair[1]))
                .collect(),
            made: (1..loops.len())
                .map(|next| Made::plan(kernel, &loops, next - 1).map(Arc::new))
                .collect(),
            twins: vec![None; loops.len()],
            bands: Bands::of(kernel, &loops),
            loops,
            divisible: divisible(kernel),
        }
    }

    /// Lets loops that are worth it become native code for an instruction set, once they have run
    /// for a while. `kernel` is the one that the program was compiled from.
    #[must_use]
    pub fn with_native(self, kernel: &Kernel, isa: Isa, toolchain: &Arc<Toolchain>) -> Self {
        self.with_twins(kernel, |loop_, known| {
            Twin::new(kernel, loop_, known, isa, toolchain)
        })
    }

    /// With a twin for each loop that `twin` gives one; it gets the numbers of the uniform values
    /// that runs pass, and the arrays that are only stored.
    pub(crate) fn with_twins(
        mut self,
        kernel: &Kernel,
        mut twin: impl FnMut(&Loop, (&[u32], &[ArgId])) -> Option<Arc<Twin>>,
    ) -> Self {
        let loops = kernel.loops.iter().zip(&self.loops);
        self.twins = loops
            .map(|(loop_, program)| twin(loop_, (&program.splats, &program.write_only)))
            .collect();
        self
    }

    /// For each loop that is worth native code its number, and how it runs at present.
    pub fn native_notes(&self) -> impl Iterator<Item = (usize, String)> {
        let twins = self.twins.iter().enumerate();
        twins.filter_map(|(number, twin)| Some((number, twin.as_ref()?.note()?)))
    }

    /// The loops that followed each other in bands in the last run, and how.
    #[must_use]
    pub fn band_notes(&self) -> Vec<String> {
        let plan = self.bands.as_ref().and_then(|bands| bands.last_plan());
        let chains = plan.iter().flat_map(|plan| &plan.chains);
        chains.map(ToString::to_string).collect()
    }

    /// The loops that made rows for the reductions of the next ones in the last run, and how.
    pub fn made_notes(&self) -> impl Iterator<Item = String> {
        let made = self.made.iter().enumerate();
        made.filter_map(|(number, made)| made.as_ref()?.note(number))
    }

    /// Where the loops end that may, with the loop `first`, be run in several runs
    /// ([`Part::Tiles`]): they have the same domain, and running their uniform instructions again
    /// changes nothing, because none reads a scalar that it writes.
    #[must_use]
    pub fn divisible(&self, first: usize) -> usize {
        self.divisible.get(first).map_or(first, |&end| end)
    }

    /// Whether all loops may be run in several runs.
    #[must_use]
    pub fn is_divisible(&self) -> bool {
        self.divisible(0) == self.loops.len()
    }

    /// How many loops the program has.
    #[must_use]
    pub fn loops(&self) -> usize {
        self.loops.len()
    }

    /// Runs the program, on all rows or some.
    ///
    /// # Safety
    /// As [`Program::run_loops`].
    ///
    /// # Panics
    /// As [`Program::run_loops`].
    pub unsafe fn run(
        &self,
        launch: &Launch<'_>,
        part: Part<'_>,
        settings: &Settings,
        workers: &Workers,
    ) {
        // SAFETY: forwarded.
        unsafe { self.run_loops(launch, (0..self.loops.len(), part), settings, workers) };
    }

    /// Runs some of the loops, one after the other; a whole run is all loops in order, each on
    /// every row once.
    ///
    /// # Safety
    /// - The launch has an extent for each domain and an operand of the right kind for each
    ///   argument, a value of the right type for each parameter, and a tile length above 0.
    /// - All pointers of the operands are valid for what the kernel does with the argument: reads,
    ///   or writes of stores and reductions, of every row of the extent (elements aligned for their
    ///   type, `bool` 0 or 1). Layouts have an element for each row, structures and dense matrices
    ///   a row, and column indices are indices of the `Gather` operand they are used with, which
    ///   has `ghosts` null only if all of them are below `own_len`. The entries of a structure are
    ///   in memory from position `pos[0]`, even if `pos` holds rows of a larger matrix.
    /// - What one of `loops` gathers and another writes is there when it is gathered: what the rows
    ///   of `part` name has been written before, or belongs to these rows. If `part` is some tiles
    ///   and the structure says how far its columns reach, these rows name no ghosts.
    /// - Nobody else writes what the kernel reads or touches what it writes while it runs.
    /// - A store of a loop reaches no memory that the same loop reads or stores otherwise, with two
    ///   exceptions: another `Array` argument with the same `memory` number may be bound to the
    ///   same elements in the same layout, and views of one store may have no element in common.
    /// - `settings.isa` is available on this machine.
    ///
    /// # Panics
    /// If an operand is of the wrong kind, if `part` divides loops that are not divisible, or if
    /// there are no such loops.
    pub unsafe fn run_loops(
        &self,
        launch: &Launch<'_>,
        (loops, part): (Range<usize>, Part<'_>),
        settings: &Settings,
        workers: &Workers,
    ) {
        assert!(
            part == Part::All || loops.end <= self.divisible(loops.start),
            "only divisible loops run in parts"
        );
        let bands = self.bands.as_ref().filter(|_| part == Part::All);
        let plan = bands.map(|bands| bands.plan(launch, settings, workers.count()));
        let mut number = loops.start;
        while number < loops.end {
            let chain = plan.as_ref();
            if let Some(chain) = chain.and_then(|plan| plan.chain(number, loops.end)) {
                let members = number..number + chain.links.len();
                let of_members = (&self.loops[members.clone()], &self.twins[members.clone()]);
                // SAFETY: the caller's promises; the plan is that of this launch.
                unsafe { run::run_chain(chain, of_members, launch, settings, workers) };
                number = members.end;
                continue;
            }
            let program = &self.loops[number];
            let has_next = number + 1 < loops.end;
            let ahead = self.ahead.get(number).filter(|_| has_next);
            let ahead = ahead.and_then(|ahead| {
                let ahead = ahead.as_ref()?;
                Some((ahead, ahead.reach(launch, part)?))
            });
            let made = self
                .made
                .get(number)
                .filter(|_| has_next && part == Part::All);
            let made = made.and_then(|made| {
                let (made, pair) = (made.as_ref()?, [program, &self.loops[number + 1]]);
                let batches = made.batches(pair, launch, (settings, workers.count()))?;
                Some((&**made, batches, pair))
            });
            // SAFETY: the caller's promises, loop by loop; what loops that run at the same time
            // have to keep, `Ahead` and `Made` have asked of the kernel and of the launch.
            number += unsafe {
                match (ahead, made) {
                    (Some((ahead, reach)), _) => {
                        let pair = ([program, &self.loops[number + 1]], ahead, reach);
                        run::run_ahead(pair, launch, part, settings, workers);
                        2
                    }
                    (None, Some((made, batches, pair))) => {
                        let twins = [number, number + 1].map(|of| self.twins[of].as_ref());
                        let machine = (settings, workers);
                        run::run_made((made, batches), (pair, twins), launch, machine);
                        2
                    }
                    (None, None) => {
                        let twin = self.twins[number].as_ref();
                        run::run_loop(program, twin, launch, part, settings, workers);
                        1
                    }
                }
            };
        }
    }
}

/// See [`Program::divisible`].
fn divisible(kernel: &Kernel) -> Vec<usize> {
    let mut ends: Vec<usize> = (0..kernel.loops.len()).collect();
    for (first, loop_) in kernel.loops.iter().enumerate().rev() {
        let next = kernel.loops.get(first + 1);
        ends[first] = match next.filter(|next| next.domain == loop_.domain) {
            _ if !may_run_again(kernel, loop_) => first,
            Some(_) => ends[first + 1],
            None => first + 1,
        };
    }
    ends
}

/// Whether a loop reads no scalar that it writes.
fn may_run_again(kernel: &Kernel, loop_: &Loop) -> bool {
    let memory = |arg: ArgId| kernel.args[arg as usize].memory;
    let mut written = Vec::new();
    let mut read = Vec::new();
    for inst in &loop_.body {
        match *inst {
            Inst::StoreScalar(arg, _) => written.push(memory(arg)),
            Inst::LoadScalar(arg) | Inst::Load(arg) => read.push(memory(arg)),
            Inst::RowSum { entries, x, .. } => read.extend([memory(entries), memory(x)]),
            Inst::Gather { x, .. } => read.push(memory(x)),
            Inst::RowReduce { rows, x, .. } => {
                read.push(memory(rows));
                read.extend(x.map(memory));
            }
            Inst::Const(_)
            | Inst::Param(_)
            | Inst::Index
            | Inst::Unary(..)
            | Inst::Binary(..)
            | Inst::Select(..)
            | Inst::Cast(..)
            | Inst::Random { .. }
            | Inst::Store(..)
            | Inst::Reduce(..) => {}
        }
    }
    !written.iter().any(|memory| read.contains(memory))
}
