//! What a launch binds to the arguments of a loop, for all threads: uniform values and arrays.
#![expect(unsafe_code, reason = "reads and writes scalars of the launch")]

use super::length::is_large;
use super::uniform::{splat, uniform};
use crate::abi::Splat;
use crate::blocks::Settings;
use crate::blocks::compile::LoopProgram;
use crate::element::Value;
use crate::launch::{Launch, Operand};

/// What the threads of a run share; made by the caller.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) uniforms: Uniforms,
    /// The `Array` operands of the loop, by argument; others have a null pointer, and what other
    /// loops use is as it was. Behind them, for each step that reduces rows, the results if they
    /// are there before any row is run (`reduced.rs`), else a null pointer.
    pub(crate) arrays: Vec<Array>,
    /// The memory of these results.
    pub(crate) reduced: Vec<Vec<u128>>,
}

/// The uniform values of a loop.
#[derive(Debug)]
pub(crate) struct Uniforms {
    /// All of them, by number.
    values: Vec<Value>,
    /// A chunk of copies of each of those that steps read.
    pub(crate) splats: Vec<Splat>,
}

/// An array operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array {
    pub(crate) data: *mut u8,
    pub(crate) is_contiguous: bool,
    /// Whether blocks are stored past the caches.
    pub(crate) is_streamed: bool,
    /// Whether a loop that runs ahead has reached the same rows before.
    pub(crate) is_near: bool,
}

impl Default for Shared {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Shared {
    pub(crate) const EMPTY: Self = Self {
        uniforms: Uniforms::EMPTY,
        arrays: Vec::new(),
        reduced: Vec::new(),
    };

    /// # Safety
    /// As [`super::run_loop`].
    pub(crate) unsafe fn prepare(&mut self, program: &LoopProgram, launch: &Launch<'_>) {
        // SAFETY: forwarded.
        unsafe { self.uniforms.compute(program, launch) };
        bind(&mut self.arrays, program, launch);
    }

    /// The arrays and the copies of uniform values.
    pub(crate) fn data(&self) -> (&[Array], &[Splat]) {
        (&self.arrays, &self.uniforms.splats)
    }

    /// Decides which arrays are stored past the caches.
    pub(crate) fn stream(
        &mut self,
        program: &LoopProgram,
        launch: &Launch<'_>,
        settings: &Settings,
    ) {
        if is_large(program, launch, settings) {
            for &arg in &program.write_only {
                let array = &mut self.arrays[arg as usize];
                array.is_streamed = array.is_contiguous;
            }
        }
    }
}

/// Sets the arrays that a loop uses, by argument.
pub(crate) fn bind(arrays: &mut Vec<Array>, program: &LoopProgram, launch: &Launch<'_>) {
    // A launch may have many more operands than one of its loops uses.
    arrays.resize(launch.operands.len(), Array::NONE);
    for &arg in &program.args {
        arrays[arg as usize] = Array::new(&launch.operands[arg as usize]);
    }
}

impl Uniforms {
    pub(crate) const EMPTY: Self = Self {
        values: Vec::new(),
        splats: Vec::new(),
    };

    /// # Safety
    /// As [`super::run_loop`].
    pub(crate) unsafe fn compute(&mut self, program: &LoopProgram, launch: &Launch<'_>) {
        self.values.clear();
        self.splats.clear();
        for &(inst, dtype) in &program.uniforms {
            // SAFETY: the caller's promises about scalars and parameters.
            let value = unsafe { uniform(inst, dtype, &self.values, launch) };
            self.values.push(value);
        }
        let values = &self.values;
        let splats = program.splats.iter();
        self.splats
            .extend(splats.map(|&number| splat(values[number as usize])));
    }
}

impl Array {
    const NONE: Self = Self::of(std::ptr::null_mut(), false);

    fn new(operand: &Operand) -> Self {
        let (data, is_contiguous) = match operand {
            Operand::Array { data, layout } => (*data, layout.is_contiguous()),
            Operand::Scalar { .. }
            | Operand::Reduction { .. }
            | Operand::Gather { .. }
            | Operand::Entries { .. }
            | Operand::Packed(_)
            | Operand::Sliced(_)
            | Operand::Structure(_)
            | Operand::DenseRows { .. } => (std::ptr::null_mut(), false),
        };
        Self::of(data, is_contiguous)
    }

    /// Elements from `data` on.
    pub(crate) const fn of(data: *mut u8, is_contiguous: bool) -> Self {
        Self {
            data,
            is_contiguous,
            is_streamed: false,
            is_near: false,
        }
    }
}

/// Where the rows of a slot lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    /// Local row 0 of an array, or the first row of the block.
    pub(crate) data: *mut u8,
    /// Bytes from row to row of an array, 0 for what holds one block.
    pub(crate) row_bytes: usize,
    /// Bytes from chunk to chunk.
    pub(crate) step: usize,
}

impl Address {
    #[inline(always)]
    pub(crate) fn at(self, row: usize) -> *mut u8 {
        self.data.wrapping_add(row * self.row_bytes)
    }
}
