//! Rows of sparse matrices in device kernels: their products, and elements that are gathered by
//! index.

use super::{Printer, Word};
use crate::device::slices::ROWS;
use crate::element::DType;
use crate::ir::{ArgId, ValueId};
use crate::launch::Operand;
use crate::native::Refusal;
use crate::native::operators::memory_type;
use std::fmt::Write as _;

impl Printer<'_> {
    /// For a row of a loop that gathers from `x`: the row of the structure, the place within a row
    /// of `x`, and how long these are.
    fn row_of_product(&mut self, x: ArgId) -> Result<(String, String, String), Refusal> {
        self.check_ghosts(x)?;
        if let Some(Operand::Gather { width: 1, .. }) = self.operands.get(x as usize) {
            return Ok(("ROW".to_owned(), "0".to_owned(), "1".to_owned()));
        }
        let index = self.index();
        let width = format!("({index}){}", self.word(Word::Width(x)));
        let row = format!("({index})ROW / {width}");
        Ok((row, format!("({index})ROW % {width}"), width))
    }

    /// Defines the pointers to a structure, or what has one in slices, and to what is gathered by
    /// it.
    fn point_at(&mut self, of: ArgId, (x, type_): (ArgId, &str)) {
        self.pointer(&format!("p{of}"), "const u64", Word::Positions(of));
        self.pointer(&format!("c{of}"), "const u32", Word::Columns(of));
        let type_ = format!("const {type_}");
        self.pointer(&format!("a{x}"), &type_, Word::Address(x));
    }

    pub(super) fn row_sum(
        &mut self,
        out: ValueId,
        (structure, entries, x): (ArgId, ArgId, ArgId),
    ) -> Result<(), Refusal> {
        let type_ = memory_type(self.dtype(out));
        let (row, within, width) = self.row_of_product(x)?;
        let is_sliced = matches!(
            self.operands.get(entries as usize),
            Some(Operand::Sliced(_))
        );
        let of = if is_sliced { entries } else { structure };
        self.point_at(of, (x, type_));
        let entry = format!("e{entries}");
        self.pointer(&entry, &format!("const {type_}"), Word::Address(entries));
        let _ = writeln!(self.values, "        {type_} v{out}[N];");
        let sum = match is_sliced {
            true => {
                self.pointer(&format!("slices{of}"), "const u64", Word::Slices(of));
                self.pointer(&format!("uniform{of}"), "const u32", Word::Uniform(of));
                let add = |value: &str, column: &str| {
                    format!(
                        "sum = mul_add_{type_}({entry}[{value}], a{x}[(u64)({column}) * {width} + within], sum)"
                    )
                };
                format!(
                    "const u32 line = {row}, slice = line / {ROWS}; {type_} sum = ZERO_{type_}; \
                     const u64 place = slices{of}[2 * slice], kind = slices{of}[2 * slice + 1]; \
                     const u32 c = (u32)place, v = (u32)(place >> 32); \
                     if (kind >> 63) {{ \
                     const u64 mask = kind >> 62 & 1 ? p{of}[line] : ~0ull; \
                     const u32 lane = uniform{of}[slice] ? 0 : line % {ROWS}; \
                     for (u32 k = 0; k < (u32)kind; k++) if (mask >> k & 1) {pattern}; \
                     }} else {{ \
                     const u64 word = p{of}[line]; const u32 step = word >> 63 ? {ROWS} : 1; \
                     u32 k = (u32)word; \
                     for (u32 n = (u32)(word >> 32) & 0x7fffffffu; n > 0; n--, k += step) {rows}; \
                     }}",
                    pattern = add(
                        &format!("v + k * {ROWS} + lane"),
                        &format!("line + c{of}[c + k]")
                    ),
                    rows = add("v + k", &format!("c{of}[c + k]")),
                )
            }
            false => format!(
                "const u64 line = {row}, skip = p{of}[0], stop = p{of}[line + 1] - skip; \
                 {type_} sum = ZERO_{type_}; \
                 for (u64 k = p{of}[line] - skip; k < stop; k++) \
                 sum = mul_add_{type_}({entry}[k], a{x}[(u64)c{of}[k] * {width} + within], sum);"
            ),
        };
        self.each(&format!(
            "{{ const u64 within = {within}; {sum} v{out}[b] = sum; }}"
        ));
        Ok(())
    }

    pub(super) fn gather(&mut self, structure: ArgId, x: ArgId) -> Result<String, Refusal> {
        let dtype = self.kernel.args[x as usize].dtype;
        let (row, within, width) = self.row_of_product(x)?;
        let type_ = memory_type(dtype);
        self.point_at(structure, (x, type_));
        let zero = match dtype {
            DType::Bool => "0".to_owned(),
            _ => format!("ZERO_{}", memory_type(dtype)),
        };
        let position = format!("p{structure}[{row}]");
        let next = format!("p{structure}[{row} + 1]");
        let column = format!("(u64)c{structure}[{position} - p{structure}[0]]");
        let element = self.as_value(x, format!("a{x}[{column} * {width} + {within}]"));
        Ok(format!("{position} == {next} ? {zero} : ({element})"))
    }
}
