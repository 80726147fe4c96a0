//! What the outer rows of a loop reach in memory, and which rows of an earlier loop a row of a
//! later one has to wait for.
//!
//! An outer row of a loop is all elements with the same index along its first dimension. Of a
//! view, outer row `i` reaches the bytes from `begin + i * step` on, `len` of them (some of which
//! it may leave out). So two rows of two loops have bytes in common where an inequality between
//! their numbers holds, and all that is asked about the two loops follows from two numbers
//! ([`Wait`]).

use crate::launch::Layout;
use std::ops::Range;

/// What the outer rows of a loop reach of one memory through one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    /// The address of the first byte of outer row 0.
    begin: i64,
    /// The bytes from there to the last byte of the row.
    len: i64,
    /// The bytes from row to row.
    step: i64,
    /// The number of rows.
    rows: i64,
}

/// More than any distance between addresses.
const FAR: i64 = 1 << 60;

impl Reach {
    /// What a loop reaches through an argument; not empty.
    pub(crate) fn new(data: *const u8, layout: &Layout, size: usize) -> Self {
        let size = size as i64;
        let (mut low, mut high) = (0, 0);
        for d in 1..layout.rank as usize {
            let distance = (layout.dims[d] as i64 - 1) * layout.strides[d] as i64 * size;
            low += distance.min(0);
            high += distance.max(0);
        }
        let rows = if layout.rank == 0 {
            1
        } else {
            layout.dims[0] as i64
        };
        Self {
            begin: data.addr() as i64 + low,
            len: high - low + size,
            step: layout.strides[0] as i64 * size,
            rows,
        }
    }

    /// The bytes from the first to the last one of all rows.
    pub(crate) fn bytes(&self) -> i64 {
        (self.rows - 1) * self.step.abs() + self.len
    }

    /// The number of outer rows.
    pub(crate) fn rows(&self) -> i64 {
        self.rows
    }

    /// The bytes from row to row; 0 where there is one row.
    pub(crate) fn step(&self) -> i64 {
        if self.rows == 1 { 0 } else { self.step.abs() }
    }

    /// The bytes of an outer row.
    pub(super) fn row(&self, row: i64) -> Range<i64> {
        let start = self.begin + row * self.step;
        start..start + self.len
    }

    /// The first row that begins at an address or behind it; rows follow each other.
    pub(super) fn first_from(&self, address: i64) -> i64 {
        match self.rows {
            1 => i64::from(self.begin < address),
            _ => ceil(address.saturating_sub(self.begin), self.step).clamp(0, self.rows),
        }
    }

    /// The same in addresses that count from an origin.
    pub(super) fn behind(&self, origin: i64) -> Self {
        Self {
            begin: self.begin - origin,
            ..*self
        }
    }

    /// Whether the rows lie one after the other, at this distance if there are several.
    pub(super) fn follows(&self, step: i64) -> bool {
        self.len <= step && (self.rows == 1 || self.step == step)
    }

    /// How many rows further on in memory than the first row of another one it begins, in rows of
    /// one of them that has several; rounded, and 0 if both have one.
    pub(crate) fn rows_behind(&self, other: &Self) -> i64 {
        let step = self.step().max(other.step());
        if step == 0 {
            return 0;
        }
        (self.begin - other.begin + step / 2).div_euclid(step)
    }

    /// The addresses of the first byte and behind the last one.
    fn ends(&self) -> (i64, i64) {
        let last = (self.rows - 1) * self.step;
        let first = self.begin + last.min(0);
        (first, first + self.bytes())
    }
}

/// Why the rows of two loops cannot follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfStep;

/// Which rows of a later loop have bytes in common with which rows of an earlier one: `i` with `j`
/// where `i * later + lower < j * earlier < i * later + upper`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    earlier: i64,
    later: i64,
    lower: i64,
    upper: i64,
    /// The rows of both.
    rows: [i64; 2],
}

impl Wait {
    /// What the second loop waits for; `None` if they have no byte in common.
    ///
    /// # Errors
    /// If they have, but the distances from row to row differ.
    pub(crate) fn new(earlier: &Reach, later: &Reach) -> Result<Option<Self>, OutOfStep> {
        let (ends, other) = (earlier.ends(), later.ends());
        if ends.1 <= other.0 || other.1 <= ends.0 {
            return Ok(None);
        }
        let lower = later.begin - earlier.begin - earlier.len;
        let upper = later.begin + later.len - earlier.begin;
        let steps = match (earlier.rows, later.rows) {
            // The only row has a number of 0, whatever it is multiplied by.
            (1, _) if later.rows == 1 || later.step > 0 => (FAR, later.step.max(1)),
            (_, 1) if earlier.step > 0 => (earlier.step, 1),
            _ if earlier.step == later.step && later.step > 0 => {
                let step = later.step;
                if (lower.div_euclid(step) + 1) * step >= upper {
                    return Ok(None);
                }
                (step, step)
            }
            _ => return Err(OutOfStep),
        };
        Ok(Some(Self {
            earlier: steps.0,
            later: steps.1,
            lower,
            upper,
            rows: [earlier.rows, later.rows],
        }))
    }

    /// How many rows of the earlier loop must have been run before row `i` of the later one.
    fn needed(&self, i: i64) -> i64 {
        ceil(i * self.later + self.upper, self.earlier).clamp(0, self.rows[0])
    }

    /// How many rows of the later loop may be run when `done` rows of the earlier one have been.
    pub(crate) fn allowed(&self, done: i64) -> i64 {
        if done >= self.rows[0] {
            return self.rows[1];
        }
        let most = (done * self.earlier - self.upper).div_euclid(self.later) + 1;
        most.clamp(0, self.rows[1])
    }

    /// The first row of the later loop from which on rows have no byte in common with the first
    /// `n` rows of the earlier one.
    pub(crate) fn first_behind(&self, n: i64) -> i64 {
        if n == 0 {
            return 0;
        }
        let last = (n - 1) * self.earlier - self.lower;
        ceil(last, self.later).clamp(0, self.rows[1])
    }

    /// How many rows the later loop is behind the earlier one at least, if both go on by equally
    /// many rows at a time; `None` if it need not wait.
    pub(crate) fn lag(&self) -> Option<i64> {
        match self.rows {
            // Its rows from this one on wait for the row.
            [1, _] => {
                let first = self.allowed(0);
                (first < self.rows[1]).then_some(-first)
            }
            [_, 1] => match self.needed(0) {
                0 => None,
                needed => Some(needed - 1),
            },
            _ => Some(ceil(self.upper, self.earlier) - 1),
        }
    }
}

/// The quotient, rounded up.
fn ceil(dividend: i64, divisor: i64) -> i64 {
    -(-dividend).div_euclid(divisor)
}
