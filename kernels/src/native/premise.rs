//! What the code of a form takes as known of its runs: which uniform values are equal, and where
//! arrays lie, behind each other and from row to row.

use crate::abi::Splat;
use crate::ir::ArgId;
use std::fmt::Write as _;

/// What the code of a form takes as known, and which runs it can take therefore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Premise {
    /// For each uniform value the first that must have the same bits.
    pub(super) firsts: Vec<usize>,
    /// Where each array lies.
    pub(super) ways: Vec<Way>,
    /// Whether the function takes lines with the rest that is no whole chunk.
    pub(super) is_lined: bool,
    /// The arrays that are stored to past the caches, which only pays where runs are large, and not
    /// where rows are read again soon.
    pub(super) streamed: Vec<ArgId>,
}

/// Where an array of a form lies: a number of elements behind another one, which has the same
/// distances, or at an address of its own. Views of one store, as stencils have them, are one
/// address with many numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) base: usize,
    pub(super) offset: isize,
    /// The distance from row to row, in elements.
    pub(super) step: isize,
}

/// Where an array of a run lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub(crate) data: *mut u8,
    /// The array itself, if its rows are read from a panel, behind which no other array lies.
    pub(crate) panel: Option<ArgId>,
    /// The bytes of an element.
    pub(crate) size: usize,
    /// The distances of lines along each dimension, in elements; of a contiguous array, whose rows
    /// are found by their numbers, none.
    pub(crate) strides: Option<[isize; 4]>,
    /// The distance from row to row of a line, in elements.
    pub(crate) step: isize,
}

/// A run, as far as the choice of a form asks.
#[derive(Debug)]
pub(crate) struct Wanted<'a, F> {
    pub(crate) rows: u64,
    pub(crate) splats: &'a [Splat],
    /// Where each of the twin's arrays lies.
    pub(crate) placed: F,
    /// Whether it goes line by line.
    pub(crate) is_lined: bool,
    /// Whether the arrays are larger than the caches, and lines long.
    pub(crate) is_large: bool,
}

/// The macros of a form that takes lines.
const LINED: &str = "#define LINED
#define FROM(array) (arrays[array] + (i64)line * steps[array])
";

impl Premise {
    /// What is known of a run: all of it, or what any run has whose arrays have these steps.
    pub(super) fn of<F: Fn(usize) -> Placed>(
        run: &Wanted<'_, F>,
        memories: &[u32],
        is_general: bool,
    ) -> Self {
        let way = |number: usize| {
            let it = (run.placed)(number);
            let is_beside = |other: &usize| {
                let other = (run.placed)(*other);
                let kind = |it: &Placed| (it.panel, it.strides, it.step, it.size);
                kind(&other) == kind(&it)
            };
            let alike = (0..number).filter(|other| memories[*other] == memories[number]);
            let base = alike.filter(|_| !is_general).find(is_beside);
            let base = base.unwrap_or(number);
            Way {
                base,
                offset: it.elements_behind(&(run.placed)(base)),
                step: it.step,
            }
        };
        Self {
            firsts: match is_general {
                false => firsts(run.splats),
                true => (0..run.splats.len()).collect(),
            },
            ways: (0..memories.len()).map(way).collect(),
            is_lined: run.is_lined,
            streamed: Vec::new(),
        }
    }

    /// The macros of a form; see [`super::print`].
    pub(super) fn define(&self, text: &mut String) {
        for (splat, first) in self.firsts.iter().enumerate() {
            let _ = writeln!(text, "#define SPLAT{splat} {first}");
        }
        for (array, Way { base, offset, step }) in self.ways.iter().enumerate() {
            let _ = writeln!(text, "#define ARRAY{array} {base}");
            let _ = writeln!(text, "#define OFFSET{array} ({offset})");
            let _ = writeln!(text, "#define STEP{array} ({step})");
        }
        text.push_str(match self.is_lined {
            true => LINED,
            false => "#define FROM(array) arrays[array]\n",
        });
    }

    pub(super) fn holds<F: Fn(usize) -> Placed>(&self, run: &Wanted<'_, F>) -> bool {
        let mut ways = self.ways.iter().enumerate();
        self.is_lined == run.is_lined
            && (self.streamed.is_empty() || run.is_large)
            && has_equals(run.splats, &self.firsts)
            && ways.all(|(number, way)| {
                let it = (run.placed)(number);
                let base = (run.placed)(way.base);
                it.step == way.step
                    && (it.panel, it.strides) == (base.panel, base.strides)
                    && it.elements_behind(&base) == way.offset
            })
    }
}

impl Placed {
    fn elements_behind(&self, base: &Self) -> isize {
        let bytes = self.data.addr().wrapping_sub(base.data.addr()) as isize;
        bytes / self.size as isize
    }
}

/// For each chunk of copies the first with the same bits.
fn firsts(splats: &[Splat]) -> Vec<usize> {
    let first = |splat: &Splat| splats.iter().position(|other| other[0] == splat[0]);
    splats.iter().filter_map(first).collect()
}

/// Whether chunks of copies are equal where `firsts` says so.
fn has_equals(splats: &[Splat], firsts: &[usize]) -> bool {
    let mut pairs = splats.iter().zip(firsts);
    pairs.all(|(splat, &first)| splat[0] == splats[first][0])
}
