//! Reductions along the rows of a dense matrix, as kernels that run before the rows of a loop.
//!
//! A block takes eight tiles of rows, and 16 threads a tile: each adds a lane, in the order of the
//! columns. Threads side by side read elements side by side: of a row, or, where the elements of a
//! column are closer to each other, of eight rows. Then the lanes are joined in pairs. The tiles of
//! a row are neighbours in memory, for the kernel that joins them.

use super::joins::{folded, identity, join};
use super::{GROUPS, Printed, Printer, RowReduction, Word};
use crate::ir::{ArgId, BinaryOp, ReduceOp};
use crate::launch::{Layout, Operand};
use crate::native::Refusal;
use crate::native::operators::memory_type;
use crate::reduce::LANES;
use std::fmt::Write as _;

/// How many elements of a lane are on their way at a time.
const AHEAD: usize = 4;

impl Printer<'_> {
    /// The kernel for a reduction of rows with this number in the loop.
    pub(super) fn row_reduction(
        &mut self,
        number: usize,
        (op, matrix, x): (ReduceOp, ArgId, Option<ArgId>),
    ) -> Result<RowReduction, Refusal> {
        let missing = || Refusal::new("matrix without a layout", None);
        let Some(&Operand::DenseRows {
            layout,
            column_stride,
            ..
        }) = self.operands.get(matrix as usize)
        else {
            return Err(missing());
        };
        let dtype = self.kernel.args[matrix as usize].dtype;
        let text = match is_by_rows(&layout, column_stride) {
            true => self.tiles_of_rows(number, (op, matrix, x), &BY_ROWS)?,
            false => self.tiles_of_rows(number, (op, matrix, x), &BY_COLUMNS)?,
        };
        let tiles = Printed {
            text: Self::head(self.words.len()) + &text,
            words: std::mem::take(&mut self.words),
            tiles_of_block: 1,
            stores_scalars: false,
        };
        Ok(RowReduction {
            op,
            dtype,
            matrix,
            tiles,
        })
    }

    /// The text behind the number of words.
    fn tiles_of_rows(
        &mut self,
        number: usize,
        (op, matrix, x): (ReduceOp, ArgId, Option<ArgId>),
        order: &Order,
    ) -> Result<String, Refusal> {
        let dtype = self.kernel.args[matrix as usize].dtype;
        let type_ = memory_type(dtype);
        let term = self.term(matrix, x)?;
        let layout = self.layout(matrix).unwrap_or(Layout::contiguous(1));
        let offset = self.offset((matrix, layout), "row");
        let [rows, tiles, tile_len, row_len, step, to] = [
            Word::Rows,
            Word::RowTiles(matrix),
            Word::RowTileLen,
            Word::RowLen(matrix),
            Word::RowStep(matrix),
            Word::RowPartials(number),
        ]
        .map(|word| self.word(word));
        let Order {
            lane,
            group,
            row,
            tile,
            distance,
        } = order;
        let (index, ahead) = (self.index(), (AHEAD - 1) * LANES);
        let next = folded(op, dtype, ("x", "v[b]"))?;
        let joined = folded(
            op,
            dtype,
            ("l[THREAD]", &format!("l[THREAD + half * {distance}]")),
        )?;
        let steps = format!(
            "{type_} v[N]; EACH {{ const u64 k = column + b * {LANES}; v[b] = {term}; }} EACH x = {next};"
        );
        let mut text = String::new();
        let _ = write!(
            text,
            "KERNEL\nSHARED({type_}, l, THREADS)\nconst u64 rows = {rows}, tiles = {tiles};\n\
             PHASE\n{}    const u64 number = BLOCK * {GROUPS} + {group};\n    \
             {type_} x = {};\n    if (number < rows * tiles) {{\n        \
             const {index} row = ({index})({row});\n        \
             const i64 first = {offset}, step = {step};\n        \
             const u64 from = ({tile}) * {tile_len}, len = {row_len};\n        \
             const u64 stop = from + {tile_len} < len ? from + {tile_len} : len;\n        \
             u64 column = from + {lane};\n        \
             for (; column + {ahead} < stop; column += {AHEAD} * {LANES}) {{\n            \
             enum {{ N = {AHEAD} }};\n            {steps}\n        }}\n        \
             for (; column < stop; column += {LANES}) {{\n            \
             enum {{ N = 1 }};\n            {steps}\n        }}\n    }}\n    \
             l[THREAD] = x;\nEND_PHASE\n",
            self.uniforms,
            identity(op, dtype),
        );
        let _ = write!(
            text,
            "for (u32 half = {}; half > 0; half /= 2) {{\nPHASE\n    \
             if ({lane} < half) l[THREAD] = {joined};\nEND_PHASE\n}}\n\
             PHASE\n    const u64 number = BLOCK * {GROUPS} + {group};\n    \
             if ({lane} == 0 && number < rows * tiles) \
             (({type_} *){to})[({row}) * tiles + {tile}] = l[THREAD];\nEND_PHASE\nEND_KERNEL\n",
            LANES / 2,
        );
        Ok(text)
    }

    /// What is reduced, of column `k`.
    fn term(&mut self, matrix: ArgId, x: Option<ArgId>) -> Result<String, Refusal> {
        let dtype = self.kernel.args[matrix as usize].dtype;
        let type_ = format!("const {}", memory_type(dtype));
        self.pointer("m", &type_, Word::Address(matrix));
        let element = "m[first + (i64)k * step]";
        let Some(x) = x else {
            return Ok(element.to_owned());
        };
        self.check_ghosts(x)?;
        self.pointer("x0", &type_, Word::Address(x));
        let factor = format!("x0[k * {}]", self.word(Word::Width(x)));
        join(BinaryOp::Mul, dtype, (element, &factor))
    }
}

/// Which thread adds which lane of which tile.
struct Order {
    /// The lane of a thread, its group, and how far apart the threads of neighbouring lanes are.
    lane: &'static str,
    group: &'static str,
    distance: usize,
    /// Row and tile of tile `number`.
    row: &'static str,
    tile: &'static str,
}

const _: () = assert!(LANES == 16 && GROUPS == 8, "the orders below say so");

/// The threads of a tile are neighbours, and so are the tiles of a row.
const BY_ROWS: Order = Order {
    lane: "THREAD % 16",
    group: "THREAD / 16",
    distance: 1,
    row: "number / tiles",
    tile: "number % tiles",
};

/// The threads of a lane are neighbours, and so are the rows.
const BY_COLUMNS: Order = Order {
    lane: "THREAD / 8",
    group: "THREAD % 8",
    distance: 8,
    row: "number % rows",
    tile: "number / rows",
};

/// Whether the elements of a row are closer to each other than rows are.
fn is_by_rows(layout: &Layout, column_stride: isize) -> bool {
    let dims = 0..usize::from(layout.rank);
    let varying = dims.filter(|&d| layout.dims[d] > 1);
    let between_rows = varying.map(|d| layout.strides[d].unsigned_abs()).min();
    between_rows.is_none_or(|distance| column_stride.unsigned_abs() <= distance)
}
