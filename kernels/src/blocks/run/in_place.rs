//! Loops that are one step on arrays which are read and written where they are: such a step needs
//! no blocks, whose calls take about 0.1 us each, nor does a reduction need to be called for each
//! tile.
#![expect(unsafe_code, reason = "hands arrays of a launch to loops")]

use super::uniform::misbound;
use super::worker::Worker;
use crate::blocks::compile::Step;
use crate::blocks::loops::map::Input;
use crate::blocks::loops::tiled::TileRun;
use crate::launch::Operand;
use std::ops::Range;

impl Worker<'_> {
    /// The step that the loop is, if it is one on arrays in place.
    fn only_step(&self) -> Option<&Step> {
        let is_plain = !self.run.has_lines() && self.run.native.is_none() && !self.run.is_sliced;
        match self.run.program.busy[..] {
            [number] if self.is_in_place && is_plain => {
                Some(&self.run.program.steps[number as usize])
            }
            _ => None,
        }
    }

    /// Whether the loop is one operation on elements of arrays in place.
    pub(super) fn is_one_map(&self) -> bool {
        matches!(self.only_step(), Some(Step::Map { .. }))
    }

    /// Reduces whole tiles from a row on with which one begins, if the loop is one reduction of
    /// arrays in place, and returns how many rows these have.
    ///
    /// # Safety
    /// As [`Worker::run`].
    pub(super) unsafe fn reduce_whole_tiles(&self, rows: Range<usize>) -> usize {
        let run = self.run;
        let (number, reduce, factors) = match self.only_step() {
            Some(&Step::Reduce { reduction, value }) => {
                let reduce = run.program.reductions[reduction].1.tiles();
                (reduction, reduce, [value, value])
            }
            Some(&Step::ReduceProduct {
                tiles,
                reduction,
                factors,
                ..
            }) => (reduction, tiles, factors),
            _ => return 0,
        };
        let tiles = run.extent.tiles;
        let n_tiles = tiles.whole(&rows);
        if n_tiles == 0 {
            return 0;
        }
        let (arg, reduction) = run.program.reductions[number];
        let Operand::Reduction { partials } = run.launch.operands[arg as usize] else {
            misbound(arg, "reduction")
        };
        let inputs = factors.map(|slot| {
            let address = self.whole[slot as usize];
            Input {
                data: address.at(rows.start),
                step: address.step,
            }
        });
        let whole = TileRun {
            n_tiles,
            len: tiles.tile_len(),
            start: run.extent.start + rows.start as u64,
            identity: reduction.identity(),
            partials: partials.wrapping_add(tiles.number(rows.start)),
        };
        // SAFETY: the caller promises the rows of the arrays, in which the addresses lie; each tile
        // that the extent touches has a partial.
        unsafe { reduce.get(run.isa)(&whole, &inputs) };
        n_tiles * whole.len
    }
}

#[cfg(test)]
mod tests {
    use crate::blocks::{Part, Program, Settings};
    use crate::element::DType;
    use crate::generate::{join_if_decided, one_nan};
    use crate::ir::{ArgKind, BinaryOp, Inst, Kernel, KernelBuilder, ReduceOp, ValueId};
    use crate::isa::Isa;
    use crate::launch::{Extent, Launch, Layout, Operand};
    use crate::reduce::{Forest, Partial, identity};
    use crate::reference;
    use crate::tiles::Tiles;
    use crate::workers::Workers;

    /// Lengths that end within a chunk, a tile and a line.
    const SHAPES: [&[usize]; 9] = [
        &[1],
        &[15],
        &[64],
        &[5000],
        &[3, 700],
        &[40, 100],
        &[2000, 3],
        &[2, 3, 50],
        &[5, 128],
    ];

    /// Bytes for elements of a type, of which every `period`-th is special: NaN or infinite, true
    /// where others are false, or one that is there several times.
    fn bytes(dtype: DType, len: usize, (seed, period): (u64, usize)) -> Vec<u64> {
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 11
        };
        let mut bytes = Vec::with_capacity(len * 16 + 8);
        for i in 0..len {
            let is_special = i % period == period - 1;
            let random = next();
            let float = match (is_special, random % 3) {
                (false, _) => random as f64 / (1u64 << 53) as f64 - 0.5,
                (true, 0) => f64::NAN,
                (true, 1) => f64::INFINITY,
                (true, _) => -0.0,
            };
            match dtype {
                DType::Bool => bytes.push(u8::from(is_special ^ (seed % 2 == 0))),
                DType::F32 => bytes.extend((float as f32).to_ne_bytes()),
                DType::F64 => bytes.extend(float.to_ne_bytes()),
                DType::ComplexF32 => {
                    bytes.extend((float as f32).to_ne_bytes());
                    bytes.extend((random as f32 * 1e-16).to_ne_bytes());
                }
                DType::ComplexF64 => {
                    bytes.extend(float.to_ne_bytes());
                    bytes.extend((random as f64 * 1e-16).to_ne_bytes());
                }
                DType::I32 | DType::U32 => bytes.extend((random as u32).to_ne_bytes()),
                DType::I64 | DType::U64 => bytes.extend((random << 11).to_ne_bytes()),
            }
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let words = bytes.as_chunks().0.iter();
        words.map(|&word| u64::from_ne_bytes(word)).collect()
    }

    /// Compares what all tiles give, and their results, with those of the reference: with all
    /// instruction sets, on one thread and on three.
    fn check(kernel: &Kernel, (op, dtype): (ReduceOp, DType), input: DType) {
        let program = Program::compile(kernel);
        for (number, dims) in SHAPES.into_iter().enumerate() {
            let len: usize = dims.iter().product();
            // Special elements in all tiles, in some, and in none.
            let period = [3, 40, 900, usize::MAX][number % 4];
            let x = bytes(input, len, (number as u64, period));
            for tile_len in [7, 16, 24, 64, 1024] {
                let tiles = Tiles::of(dims, tile_len);
                let run = |execute: &dyn Fn(&Launch<'_>)| {
                    let mut partials = vec![identity(ReduceOp::Sum, dtype); tiles.count(len)];
                    execute(&Launch {
                        domains: &[Extent {
                            start: 0,
                            len: len as u64,
                            tiles,
                        }],
                        operands: &[
                            Operand::Array {
                                data: x.as_ptr().cast_mut().cast(),
                                layout: Layout::contiguous(len),
                            },
                            Operand::Reduction {
                                partials: partials.as_mut_ptr(),
                            },
                        ],
                        params: &[],
                        tile_len,
                    });
                    let mut forest = Forest::default();
                    tiles.build_forest((op, dtype), 0, &mut partials.clone(), &mut forest);
                    partials.push(forest.finish(op, dtype));
                    join_if_decided(op, dtype, &mut partials);
                    let of_one_nan = |partial: Partial| Partial {
                        bits: partial.bits.map(|word| one_nan(dtype.real(), word)),
                        ..partial
                    };
                    partials.into_iter().map(of_one_nan).collect::<Vec<_>>()
                };
                // SAFETY: the operands fit the kernel.
                let expected = run(&|launch| unsafe { reference::run(kernel, launch) });
                for isa in Isa::available() {
                    for n_threads in [1, 3] {
                        let settings = Settings {
                            isa,
                            parallel_threshold: 0,
                            ..Settings::default()
                        };
                        let workers = Workers::new(n_threads).expect("threads can be started");
                        // SAFETY: as above.
                        let found = run(&|launch| unsafe {
                            program.run(launch, Part::All, &settings, &workers);
                        });
                        assert_eq!(
                            found, expected,
                            "{dims:?}, tiles of {tile_len}, {isa}, {n_threads} threads\n{kernel}"
                        );
                    }
                }
            }
        }
    }

    /// A kernel that reduces what `term` makes of an array's elements.
    fn kernel(
        (op, out): (ReduceOp, DType),
        input: DType,
        term: impl Fn(&mut KernelBuilder, ValueId) -> ValueId,
    ) -> Kernel {
        let mut build = KernelBuilder::new();
        let array = build.arg(input, ArgKind::Array);
        let target = build.arg(out, ArgKind::Reduction);
        let element = build.load(array);
        let term = term(&mut build, element);
        build.reduce(op, target, term);
        build.finish()
    }

    #[test]
    fn tiles_in_one_call_equal_the_reference() {
        for dtype in DType::ALL {
            for op in ReduceOp::ALL {
                if let Some(out) = op.output(dtype) {
                    check(&kernel((op, out), dtype, |_, x| x), (op, dtype), dtype);
                }
            }
            if let Some(out) = ReduceOp::Sum.output(dtype) {
                let square = kernel((ReduceOp::Sum, out), dtype, |build, x| {
                    build.binary(BinaryOp::Mul, x, x)
                });
                check(&square, (ReduceOp::Sum, dtype), dtype);
            }
        }
    }

    #[test]
    fn masks_are_counted_as_the_reference_adds_numbers() {
        for dtype in DType::ALL {
            if let Some(out) = ReduceOp::Sum.output(dtype) {
                let count = kernel((ReduceOp::Sum, out), DType::Bool, |build, x| {
                    build.push(Inst::Cast(dtype, x))
                });
                check(&count, (ReduceOp::Sum, dtype), DType::Bool);
                let differ = kernel((ReduceOp::Sum, out), DType::I32, |build, x| {
                    let is_small = build.binary(BinaryOp::Lt, x, x);
                    let is_not = build.unary(crate::ir::UnaryOp::Not, is_small);
                    build.push(Inst::Cast(dtype, is_not))
                });
                check(&differ, (ReduceOp::Sum, dtype), DType::I32);
            }
        }
    }
}
