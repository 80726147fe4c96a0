//! How the rows of a loop are divided among the threads of blocks, and reduced by them.

use super::joins::{folded, identity, partial_size, partial_type, yields_row};
use super::{FEW, GROUPS, Printed, Printer, SHARED_BYTES, Word};
use crate::device::THREADS;
use crate::element::DType;
use crate::ir::{BinaryOp, Inst, ReduceOp};
use crate::native::Refusal;
use crate::native::operators::memory_type;
use crate::operations::Types;
use crate::reduce::LANES;
use std::fmt::Write as _;

impl Printer<'_> {
    /// How many rows a thread takes at a time: fewer where there are many values, which take
    /// registers, or long functions, which take the compiler's time.
    fn rows_at_a_time(&self) -> usize {
        let is_long = |inst: &Inst| match *inst {
            Inst::Unary(op, _) => matches!(op.types(), Types::Floats | Types::Reals),
            Inst::Binary(op, ..) => matches!(op, BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Hypot),
            Inst::Random { .. } | Inst::RowSum { .. } => true,
            _ => false,
        };
        let varying = (0..self.body.len()).filter(|&i| self.is_needed[i] && !self.is_uniform[i]);
        if varying.clone().any(|i| is_long(&self.body[i])) {
            return 1;
        }
        match varying.count() {
            0..=12 => 8,
            13..=24 => 4,
            25..=48 => 2,
            _ => 1,
        }
    }

    pub(super) fn rows(mut self) -> Result<Printed, Refusal> {
        let reduces = !self.reductions.is_empty();
        let tile = self.extent.tiles.tile_len();
        let mut shared = String::new();
        let mut bytes = 0;
        for (number, (op, dtype)) in self.reductions.iter().enumerate() {
            let (type_, partial) = (memory_type(*dtype), partial_type(*op, *dtype));
            bytes += tile * dtype.size() + LANES * partial_size(*op, *dtype);
            let _ = writeln!(shared, "SHARED({type_}, t{number}, {tile})");
            let _ = writeln!(shared, "SHARED({partial}, l{number}, {LANES})");
        }
        if reduces && (bytes > SHARED_BYTES || self.reductions.len() > FEW) {
            return self.rows_by_lanes();
        }
        let [rows, len, line, per_line] =
            [Word::Rows, Word::TileLen, Word::Line, Word::PerLine].map(|word| self.word(word));
        let index = self.index();
        let mut partials = Vec::new();
        for number in 0..self.reductions.len() {
            partials.push(self.word(Word::Partials(number)));
        }
        let start = match self.reductions.iter().any(|&(op, _)| yields_row(op)) {
            true => self.word(Word::Start),
            false => String::new(),
        };
        let mut text = Self::head(self.words.len());
        let _ = write!(
            text,
            "#define ROW (row + b * THREADS)\nKERNEL\n{shared}\
             const u64 first = BLOCK / {per_line} * {line} + BLOCK % {per_line} * {len};\n\
             const u64 edge = {line} == ~0ull ? {rows} : (BLOCK / {per_line} + 1) * {line};\n\
             const u64 stop = first + {len} < edge ? first + {len} : edge;\n\
             const {index} begin = first, end = stop < {rows} ? stop : {rows};\n\
             PHASE\n{}    u64 row = begin + THREAD;\n",
            self.uniforms,
        );
        let n = self.rows_at_a_time();
        let ahead = (n - 1) * THREADS as usize;
        if n > 1 {
            let _ = write!(
                text,
                "    for (; row + {ahead} < end; row += {n} * THREADS) {{\n        \
                 enum {{ N = {n} }};\n{}    }}\n",
                self.values
            );
        }
        let _ = write!(
            text,
            "    for (; row < end; row += THREADS) {{\n        enum {{ N = 1 }};\n{}    }}\nEND_PHASE\n",
            self.values
        );
        if reduces {
            text.push_str("PHASE\n");
            for (number, &(op, dtype)) in self.reductions.iter().enumerate() {
                let (type_, group) = (partial_type(op, dtype), number % GROUPS);
                let element = match yields_row(op) {
                    true => format!("MAKE({type_}, t{number}[i], {start} + begin + i)"),
                    false => format!("t{number}[i]"),
                };
                let x = folded(op, dtype, ("x", &element))?;
                let _ = writeln!(
                    text,
                    "    if (THREAD / {LANES} == {group}) {{\n        {type_} x = {};\n        \
                     for (u32 i = THREAD % {LANES}; i < end - begin; i += {LANES}) x = {x};\n        \
                     l{number}[THREAD % {LANES}] = x;\n    }}",
                    identity(op, dtype),
                );
            }
            text.push_str("END_PHASE\nPHASE\n");
            for (number, &(op, dtype)) in self.reductions.iter().enumerate() {
                let type_ = partial_type(op, dtype);
                let (a, b) = (format!("l{number}[l]"), format!("l{number}[l + half]"));
                let joined = folded(op, dtype, (&a, &b))?;
                let _ = writeln!(
                    text,
                    "    if (THREAD == {}) {{\n        \
                     for (u32 half = {}; half > 0; half /= 2)\n            \
                     for (u32 l = 0; l < half; l++) {a} = {joined};\n        \
                     (({type_} *){})[BLOCK] = l{number}[0];\n    }}",
                    number % GROUPS * LANES,
                    LANES / 2,
                    partials[number],
                );
            }
            text.push_str("END_PHASE\n");
        }
        text.push_str("END_KERNEL\n");
        Ok(Printed {
            text,
            words: self.words,
            tiles_of_block: 1,
            stores_scalars: false,
        })
    }

    /// The rows of a loop with many reductions, or long tiles: 16 threads go through a tile, each
    /// through the rows of a lane, and keep what they have reduced.
    fn rows_by_lanes(mut self) -> Result<Printed, Refusal> {
        let bytes = |&(op, dtype): &(ReduceOp, DType)| THREADS as usize * partial_size(op, dtype);
        if self.reductions.iter().map(bytes).sum::<usize>() > SHARED_BYTES {
            return Err(Refusal::new("reductions of so many elements", None));
        }
        let [rows, len, line, per_line] =
            [Word::Rows, Word::TileLen, Word::Line, Word::PerLine].map(|word| self.word(word));
        let (index, mut partials) = (self.index(), Vec::new());
        for number in 0..self.reductions.len() {
            partials.push(self.word(Word::Partials(number)));
        }
        let start = match self.reductions.iter().any(|&(op, _)| yields_row(op)) {
            true => self.word(Word::Start),
            false => String::new(),
        };
        let (mut shared, mut lanes, mut kept) = (String::new(), String::new(), String::new());
        let mut joins = String::new();
        let mut values = self.values.clone();
        for (number, &(op, dtype)) in self.reductions.iter().enumerate() {
            let type_ = partial_type(op, dtype);
            let _ = writeln!(shared, "SHARED({type_}, l{number}, THREADS)");
            let _ = writeln!(lanes, "    {type_} x{number} = {};", identity(op, dtype));
            let _ = writeln!(kept, "    l{number}[THREAD] = x{number};");
            let term = format!("t{number}[b]");
            let element = match yields_row(op) {
                true => format!("MAKE({type_}, {term}, {start} + ROW)"),
                false => term,
            };
            let x = format!("x{number}");
            let joined = folded(op, dtype, (&x, &element))?;
            // Row by row, in their order.
            let _ = writeln!(values, "        EACH {x} = {joined};");
            let terms = format!("t{number}[ROW - begin] =");
            values = values.replace(&terms, &format!("t{number}[b] ="));
            values.insert_str(
                0,
                &format!("        {} t{number}[N];\n", memory_type(dtype)),
            );
            let (a, b) = (format!("l{number}[l]"), format!("l{number}[l + half]"));
            let joined = folded(op, dtype, (&a, &b))?;
            let _ = writeln!(
                joins,
                "    if (THREAD % {LANES} == {}) {{\n        \
                 for (u32 half = {}; half > 0; half /= 2)\n            \
                 for (u32 l = base; l < base + half; l++) {a} = {joined};\n        \
                 if (tile < tiles) (({type_} *){})[tile] = l{number}[base];\n    }}",
                number % LANES,
                LANES / 2,
                partials[number],
            );
        }
        let n_tiles = self.word(Word::Tiles);
        let mut text = Self::head(self.words.len());
        let place = format!(
            "    const u64 tiles = {n_tiles}, tile = BLOCK * {GROUPS} + THREAD / {LANES};\n"
        );
        let _ = write!(
            text,
            "#define ROW (row + b * {LANES})\nKERNEL\n{shared}PHASE\n{place}    \
             const u64 first = tile / {per_line} * {line} + tile % {per_line} * {len};\n    \
             const u64 edge = {line} == ~0ull ? {rows} : (tile / {per_line} + 1) * {line};\n    \
             const u64 stop = first + {len} < edge ? first + {len} : edge;\n    \
             const {index} begin = first, end = tile >= tiles ? begin : stop < {rows} ? stop : {rows};\n\
             {}{lanes}    u64 row = begin + THREAD % {LANES};\n",
            self.uniforms,
        );
        let n = self.rows_at_a_time();
        if n > 1 {
            let _ = write!(
                text,
                "    for (; row + {} < end; row += {n} * {LANES}) {{\n        \
                 enum {{ N = {n} }};\n{values}    }}\n",
                (n - 1) * LANES,
            );
        }
        let _ = write!(
            text,
            "    for (; row < end; row += {LANES}) {{\n        enum {{ N = 1 }};\n{values}    }}\n{kept}\
             END_PHASE\nPHASE\n{place}    const u32 base = THREAD / {LANES} * {LANES};\n{joins}\
             END_PHASE\nEND_KERNEL\n"
        );
        Ok(Printed {
            text,
            words: self.words,
            tiles_of_block: GROUPS,
            stores_scalars: false,
        })
    }
}
