//! Random choices: numbers, types, elements, and views of a buffer.

use super::{Binding, COLUMNS, GATHERED};
use crate::element::{DType, Element, Value};
use crate::ir::ArgKind;
use crate::launch::{Extent, Layout};
use crate::{random, scalar};
use num_complex::Complex;

/// A stream of random choices.
pub(super) struct Choices {
    seed: u64,
    drawn: u64,
}

impl Choices {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    fn bits(&mut self) -> u64 {
        self.drawn += 1;
        random::bits(self.seed, self.drawn)
    }

    /// One of `0..n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// One of `0..n`, if there is any.
    pub(super) fn pick(&mut self, n: usize) -> Option<usize> {
        (n > 0).then(|| self.below(n))
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Often `f64`, so that operations find operands.
    pub(super) fn dtype(&mut self) -> DType {
        if self.one_in(2) {
            DType::F64
        } else {
            DType::ALL[self.below(DType::ALL.len())]
        }
    }

    /// Small numbers, and now and then one that behaves unlike others.
    pub(super) fn value(&mut self, dtype: DType) -> Value {
        let specials = [
            -0.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            1e300,
            1e-300,
            0.0,
        ];
        let mut part = || {
            if self.one_in(8) {
                specials[self.below(specials.len())]
            } else {
                self.below(25) as f64 / 4.0 - 2.0
            }
        };
        let (re, im) = (part(), part());
        match dtype {
            DType::ComplexF32 => Complex::new(re as f32, im as f32).to_value(),
            DType::ComplexF64 => Complex::new(re, im).to_value(),
            _ => scalar::from_f64(dtype, re),
        }
    }

    /// `len` elements, in words so that they are aligned.
    pub(super) fn buffer(&mut self, dtype: DType, len: usize) -> Vec<u64> {
        let parts = if dtype.is_complex() { 2 } else { 1 };
        let mut bytes = Vec::new();
        for _ in 0..len {
            for part in &self.value(dtype).bits()[..parts] {
                bytes.extend(&part.to_le_bytes()[..dtype.size() / parts]);
            }
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let word = |chunk: &[u8]| u64::from_ne_bytes(chunk.try_into().unwrap());
        bytes.chunks_exact(8).map(word).collect()
    }

    /// A view of a buffer with `len` elements.
    pub(super) fn view(&mut self, len: usize, domains: &[Extent]) -> (ArgKind, Binding) {
        match self.below(10) {
            0 => {
                let offset = self.below(3);
                (ArgKind::Scalar, Binding::Scalar { offset })
            }
            1 => {
                let own_len = self.below(GATHERED + 1);
                let ghosts = self.below(len - GATHERED);
                (ArgKind::Gather, Binding::Gather { own_len, ghosts })
            }
            2 => (ArgKind::Entries, Binding::Entries),
            3 => {
                // The rows of any domain; those of pairs overlap.
                let rows = |rank, strides| Layout {
                    rank,
                    dims: [len, if rank == 2 { 2 } else { 1 }, 1, 1],
                    strides,
                };
                let shapes = [
                    (COLUMNS, rows(1, [1, 0, 0, 0])),
                    (COLUMNS, rows(1, [0; 4])),
                    (COLUMNS, rows(2, [1, 1, 0, 0])),
                    (3, rows(1, [3, 0, 0, 0])),
                    (0, rows(1, [1, 0, 0, 0])),
                ];
                let (columns, layout) = shapes[self.below(shapes.len())];
                let binding = Binding::DenseRows { columns, layout };
                (ArgKind::DenseRows, binding)
            }
            _ => (ArgKind::Array, self.array(domains)),
        }
    }

    /// One element per row, from at most three times as many.
    fn array(&mut self, domains: &[Extent]) -> Binding {
        let domain = self.below(domains.len());
        let len = domains[domain].len as usize;
        let strided = |stride| Layout {
            strides: [stride, 0, 0, 0],
            ..Layout::contiguous(len)
        };
        let whole = Layout::contiguous(len);
        let (offset, layout, repeats) = match self.below(8) {
            0 => (self.below(5), whole, false),
            1 => (1, strided(2), false),
            2 => (len.saturating_sub(1), strided(-1), false),
            3 => (2, strided(0), true),
            4 if len > 0 && len.is_multiple_of(3) => {
                let transposed = Layout {
                    rank: 2,
                    dims: [len / 3, 3, 1, 1],
                    strides: [1, (len / 3) as isize, 0, 0],
                };
                (0, transposed, false)
            }
            // Lines with gaps between them.
            5 if let Some(line) = (16..len).rfind(|line| len.is_multiple_of(*line)) => {
                let gap = self.below(line / 2);
                let lines = Layout {
                    rank: 2,
                    dims: [len / line, line, 1, 1],
                    strides: [(line + gap) as isize, 1, 0, 0],
                };
                (self.below(5), lines, false)
            }
            _ => (0, whole, false),
        };
        Binding::Array {
            offset,
            layout,
            domain,
            repeats,
        }
    }
}
