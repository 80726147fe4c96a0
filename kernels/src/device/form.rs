//! Loops that are ready to run on a device.
#![expect(unsafe_code, reason = "passes on the promises about a launch")]

use super::print::{
    self, JOINED, JOINING_WORDS, Part, Printed, ROWS_OF_BLOCK, RowReduction, Word, most_joined,
    partial_size,
};
use super::{Address, Device, DeviceError, Function, THREADS, slices};
use crate::element::{DType, Value};
use crate::ir::{ArgId, Kernel, Loop, ReduceOp};
use crate::launch::{Extent, Launch, Operand, Sliced, Structure};
use crate::native::Refusal;
use crate::native::operators::memory_type;
use crate::tiles::Tiles;

/// A loop of a kernel, compiled for a device and for launches alike: with operands of the same
/// layouts, and domains of the same tiles and lengths; matrices have as many columns.
#[derive(Debug)]
pub struct DeviceLoop {
    domain: usize,
    /// Reductions of rows of matrices, which run first.
    row_reductions: Vec<ReducedRows>,
    /// Stores that come before the other rows, if they are apart.
    stores: Option<Compiled>,
    rows: Option<Compiled>,
    scalars: Option<Compiled>,
    joinings: Vec<Joining>,
}

/// Why a loop does not run on a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoForm {
    /// The device has no kernel for what the loop does.
    #[error("there is no device kernel for {0}")]
    Refused(String),
    /// Its kernel does not compile, or the device has failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl From<Refusal> for NoForm {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal.what())
    }
}

#[derive(Debug)]
struct Compiled {
    function: Function,
    words: Vec<Word>,
    /// How many tiles a block goes through.
    tiles_of_block: usize,
    /// Whether the first block also stores scalars.
    stores_scalars: bool,
}

impl Compiled {
    fn new(printed: Printed, device: &dyn Device) -> Result<Self, DeviceError> {
        Ok(Self {
            function: device.function(&printed.text)?,
            words: printed.words,
            tiles_of_block: printed.tiles_of_block,
            stores_scalars: printed.stores_scalars,
        })
    }
}

/// How the tiles of reductions are joined that have one operation and type.
#[derive(Debug)]
struct Joining {
    kind: (ReduceOp, DType),
    function: Function,
    /// The bytes of a partial result.
    size: usize,
    /// The reductions, by number, and their arguments.
    of: Vec<(usize, ArgId)>,
}

/// A reduction along the rows of a matrix: that of their tiles, and how these are joined.
#[derive(Debug)]
struct ReducedRows {
    tiles: Compiled,
    joining: Function,
    size: usize,
    matrix: ArgId,
}

/// What a run keeps in memory of the device between kernels: addresses, by the number of the
/// reduction.
#[derive(Debug, Default)]
struct Scratch {
    partials: Vec<u64>,
    row_partials: Vec<u64>,
    row_values: Vec<u64>,
}

impl DeviceLoop {
    /// Compiles a loop of a verified kernel.
    ///
    /// # Errors
    /// If there is no form of it, or the device has no compiler.
    pub fn new(
        kernel: &Kernel,
        loop_: &Loop,
        launch: &Launch<'_>,
        device: &dyn Device,
    ) -> Result<Self, NoForm> {
        let extent = &launch.domains[loop_.domain as usize];
        let printed = print::print(kernel, loop_, launch.operands, extent)?;
        let is_large = |&joined: &usize| joined > JOINED;
        if !printed.reductions.is_empty() && extent.tiles.joined().iter().any(is_large) {
            return Err(NoForm::Refused("reductions of long lines".to_owned()));
        }
        let compile = |printed: Option<Printed>| {
            let compiled = printed.map(|printed| Compiled::new(printed, device));
            compiled.transpose()
        };
        let mut joinings: Vec<Joining> = Vec::new();
        for (number, &(op, dtype, arg)) in printed.reductions.iter().enumerate() {
            match joinings.iter_mut().find(|it| it.kind == (op, dtype)) {
                Some(joining) => joining.of.push((number, arg)),
                None => joinings.push(Joining {
                    kind: (op, dtype),
                    function: Function(0),
                    size: partial_size(op, dtype),
                    of: vec![(number, arg)],
                }),
            }
        }
        for joining in &mut joinings {
            let (op, dtype) = joining.kind;
            let text = print::joining(op, dtype, joining.of.len())?;
            joining.function = device.function(&text)?;
        }
        let mut row_reductions = Vec::new();
        for reduction in printed.row_reductions {
            if row_tiles(launch, reduction.matrix) > JOINED as u64 {
                return Err(NoForm::Refused("reductions of long rows".to_owned()));
            }
            row_reductions.push(ReducedRows::new(reduction, device)?);
        }
        Ok(Self {
            domain: loop_.domain as usize,
            row_reductions,
            stores: compile(printed.stores)?,
            rows: compile(printed.rows)?,
            scalars: compile(printed.scalars)?,
            joinings,
        })
    }

    /// The texts of the kernels that [`DeviceLoop::new`] asks a device for, those of joins apart;
    /// none of a loop that has no form.
    #[must_use]
    pub fn texts(kernel: &Kernel, loop_: &Loop, launch: &Launch<'_>) -> Vec<String> {
        let extent = &launch.domains[loop_.domain as usize];
        let Ok(printed) = print::print(kernel, loop_, launch.operands, extent) else {
            return Vec::new();
        };
        let of_rows = printed.row_reductions.into_iter().map(|it| it.tiles);
        let kernels = [printed.stores, printed.rows, printed.scalars].into_iter();
        let kernels = kernels.flatten().chain(of_rows);
        kernels.map(|printed| printed.text).collect()
    }

    /// The bytes of memory of the device that a run needs besides its operands.
    #[must_use]
    pub fn scratch_bytes(&self, launch: &Launch<'_>) -> usize {
        let extent = &launch.domains[self.domain];
        let n_tiles = extent.tiles.count(extent.len as usize);
        let joinings = self.joinings.iter();
        let partials = joinings.map(|it| it.of.len() * room(2 * n_tiles, it.size));
        let of_rows = self.row_reductions.iter().map(|it| {
            let [partials, values] = it.rooms(launch, extent);
            partials + values
        });
        partials.chain(of_rows).sum()
    }

    /// Where in the scratch what lies.
    fn parts(&self, launch: &Launch<'_>, scratch: Address) -> Scratch {
        let extent = &launch.domains[self.domain];
        let n_tiles = extent.tiles.count(extent.len as usize);
        let mut next = scratch.0;
        let mut take = |bytes: usize| {
            next += bytes as u64;
            next - bytes as u64
        };
        let mut parts = Scratch::default();
        let n_reductions = self.joinings.iter().map(|it| it.of.len()).sum();
        parts.partials.resize(n_reductions, 0);
        for joining in &self.joinings {
            for &(number, _) in &joining.of {
                // Behind the tiles is what they are joined to.
                parts.partials[number] = take(room(2 * n_tiles, joining.size));
            }
        }
        for reduction in &self.row_reductions {
            let [partials, values] = reduction.rooms(launch, extent).map(&mut take);
            parts.row_partials.push(partials);
            let is_one_tile = row_tiles(launch, reduction.matrix) == 1;
            parts
                .row_values
                .push(if is_one_tile { partials } else { values });
        }
        parts
    }

    /// Runs the loop. All addresses of the launch are those of the device; a reduction has that of
    /// its result.
    ///
    /// # Errors
    /// If the device has failed.
    ///
    /// # Safety
    /// As [`Program::run_loops`](crate::Program::run_loops), for memory of the device, which
    /// `scratch` has as many bytes of as [`DeviceLoop::scratch_bytes`] says. The launch is like the
    /// one that the loop was compiled for.
    pub unsafe fn run(
        &self,
        launch: &Launch<'_>,
        scratch: Address,
        device: &dyn Device,
    ) -> Result<(), DeviceError> {
        let extent = &launch.domains[self.domain];
        let n_rows = extent.len as usize;
        let n_tiles = extent.tiles.count(n_rows);
        let scratch = self.parts(launch, scratch);
        for (number, reduction) in self.row_reductions.iter().enumerate() {
            // SAFETY: the scratch has room for the tiles and for what they are joined to; else as
            // this function.
            unsafe { reduction.run(launch, extent, (number, &scratch), device)? };
        }
        for (kernel, reduces) in [
            (&self.stores, false),
            (&self.rows, !self.joinings.is_empty()),
        ] {
            let Some(kernel) = kernel else {
                continue;
            };
            let (tiles, n_tiles) = match reduces {
                true => (extent.tiles, n_tiles),
                false => (
                    Tiles::of_vector(ROWS_OF_BLOCK),
                    n_rows.div_ceil(ROWS_OF_BLOCK),
                ),
            };
            let blocks = n_tiles.div_ceil(kernel.tiles_of_block) as u32;
            let blocks = blocks.max(u32::from(kernel.stores_scalars));
            let words = kernel.words.iter();
            let arguments: Vec<u64> = words
                .map(|word| argument(*word, launch, (extent, &tiles), &scratch))
                .collect();
            // SAFETY: the arguments are those that the text was printed for, in their order; the
            // caller promises that what they address is there.
            unsafe { device.launch(kernel.function, blocks, &arguments)? };
        }
        for joining in &self.joinings {
            // SAFETY: the rows have written a partial result for each tile; else as this function.
            unsafe { joining.join(launch, (extent, n_tiles), &scratch, device)? };
        }
        if let Some(scalars) = &self.scalars {
            let words = scalars.words.iter();
            let arguments: Vec<u64> = words
                .map(|word| argument(*word, launch, (extent, &extent.tiles), &scratch))
                .collect();
            // SAFETY: as above.
            unsafe { device.launch(scalars.function, 1, &arguments)? };
        }
        Ok(())
    }
}

/// The memory of a device between which [`reorder`] moves entries.
#[derive(Clone, Copy, Debug)]
pub struct Reordered {
    /// The slices, two words each, and how many there are.
    pub slices: (Address, usize),
    /// The order of the entries, and how many places there are.
    pub order: (Address, usize),
    /// The entries.
    pub entries: Address,
    /// Where they go.
    pub values: Address,
    /// A word for each slice: 1 if all its rows have the same values.
    pub uniform: Address,
}

/// Brings entries of a type into the order of slices ([`Slices`](super::Slices)), in memory of a
/// device.
///
/// # Errors
/// If the device has failed.
///
/// # Safety
/// There is memory for what the fields say, and each entry that the order names is there.
pub unsafe fn reorder(
    dtype: DType,
    memory: &Reordered,
    device: &dyn Device,
) -> Result<(), DeviceError> {
    let ((slices, n_slices), (order, places)) = (memory.slices, memory.order);
    let (values, uniform) = (memory.values.0, memory.uniform.0);
    let blocks = |n: usize| n.div_ceil(THREADS as usize) as u32;
    let reordering = device.function(&slices::reordering(memory_type(dtype)))?;
    let uniformity = device.function(&slices::uniformity(dtype.size() / 4))?;
    let moved = [memory.entries.0, order.0, values, places as u64];
    let compared = [slices.0, values, uniform, n_slices as u64];
    // SAFETY: the caller promises the memory.
    unsafe {
        device.launch(reordering, blocks(places), &moved)?;
        device.launch(uniformity, blocks(n_slices), &compared)
    }
}

/// The bytes for this many partial results.
fn room(n: usize, size: usize) -> usize {
    (n.max(2) * size).next_multiple_of(256)
}

/// The tiles of a row of a matrix; one of no columns.
fn row_tiles(launch: &Launch<'_>, matrix: ArgId) -> u64 {
    let (columns, _) = columns(launch.operands[matrix as usize]);
    columns.div_ceil(launch.tile_len).max(1) as u64
}

/// The columns of a dense matrix, and the distance between them.
fn columns(operand: Operand) -> (usize, isize) {
    match operand {
        Operand::DenseRows {
            columns,
            column_stride,
            ..
        } => (columns, column_stride),
        _ => unreachable!("a matrix is bound to its rows"),
    }
}

impl ReducedRows {
    fn new(reduction: RowReduction, device: &dyn Device) -> Result<Self, NoForm> {
        let RowReduction {
            op,
            dtype,
            matrix,
            tiles,
        } = reduction;
        Ok(Self {
            tiles: Compiled::new(tiles, device)?,
            joining: device.function(&print::joining(op, dtype, 0)?)?,
            size: partial_size(op, dtype),
            matrix,
        })
    }

    /// The bytes for the tiles, and for what they are joined to; none where a row is one tile.
    fn rooms(&self, launch: &Launch<'_>, extent: &Extent) -> [usize; 2] {
        let (n_rows, n_tiles) = (extent.len as usize, row_tiles(launch, self.matrix) as usize);
        let values = if n_tiles == 1 {
            0
        } else {
            room(n_rows, self.size)
        };
        [room(n_rows * n_tiles, self.size), values]
    }

    /// Reduces the rows.
    ///
    /// # Safety
    /// As [`DeviceLoop::run`]; the scratch has the [rooms](Self::rooms).
    unsafe fn run(
        &self,
        launch: &Launch<'_>,
        extent: &Extent,
        (number, scratch): (usize, &Scratch),
        device: &dyn Device,
    ) -> Result<(), DeviceError> {
        let n_tiles = row_tiles(launch, self.matrix);
        let all = extent.len * n_tiles;
        let words = self.tiles.words.iter();
        let arguments: Vec<u64> = words
            .map(|word| argument(*word, launch, (extent, &extent.tiles), scratch))
            .collect();
        let blocks = all.div_ceil(print::GROUPS as u64) as u32;
        // SAFETY: the arguments are those that the text was printed for, in their order; the caller
        // promises that what they address is there.
        unsafe { device.launch(self.tiles.function, blocks, &arguments)? };
        if n_tiles == 1 {
            return Ok(());
        }
        let (from, to) = (scratch.row_partials[number], scratch.row_values[number]);
        let arguments: [u64; JOINING_WORDS] = [from, to, 0, all, n_tiles, 0];
        // SAFETY: as above; a row has at most `JOINED` tiles, as `DeviceLoop::new` has found.
        unsafe { device.launch(self.joining, extent.len as u32, &arguments) }
    }
}

impl Joining {
    /// Joins tiles as [`Tiles::build_forest`] and the forest do.
    ///
    /// # Safety
    /// As [`DeviceLoop::run`].
    unsafe fn join(
        &self,
        launch: &Launch<'_>,
        (extent, n_tiles): (&Extent, usize),
        scratch: &Scratch,
        device: &dyn Device,
    ) -> Result<(), DeviceError> {
        // What is read and what is written next: results of a step are never those of the one
        // before.
        let mut from = scratch.partials[self.of[0].0];
        let mut to = from + (n_tiles.max(1) * self.size) as u64;
        // The reductions of a kind lie behind each other.
        let distance = room(2 * n_tiles, self.size) as u64;
        let results = self.of.iter().map(|&(_, arg)| {
            let Operand::Reduction { partials: result } = launch.operands[arg as usize] else {
                unreachable!("a reduction is bound to its result")
            };
            result.addr() as u64
        });
        let mut arguments = vec![0; JOINING_WORDS];
        arguments.extend(results);
        let mut step = |from, to, (n, group): (usize, usize), is_last| {
            let words = [
                from,
                to,
                distance,
                n as u64,
                group as u64,
                u64::from(is_last),
            ];
            arguments[..JOINING_WORDS].copy_from_slice(&words);
            let blocks = self.of.len() * n.div_ceil(group).max(1);
            // SAFETY: there is room for the results behind the tiles, and at the results for an
            // element; a group has at most `most_joined` elements, as `DeviceLoop::new` has found.
            unsafe { device.launch(self.function, blocks as u32, &arguments) }
        };
        let mut n = n_tiles;
        let joined = extent.tiles.joined();
        for &group in joined.iter().filter(|&&joined| joined > 1) {
            step(from, to, (n, group), false)?;
            (from, to, n) = (to, from, n / group);
        }
        loop {
            let most = most_joined(self.size);
            let is_last = n <= most;
            step(from, to, (n, most), is_last)?;
            if is_last {
                return Ok(());
            }
            (from, to, n) = (to, from, n.div_ceil(most));
        }
    }
}

fn argument(
    word: Word,
    launch: &Launch<'_>,
    (extent, tiles): (&Extent, &Tiles),
    scratch: &Scratch,
) -> u64 {
    let operand = |arg: ArgId| launch.operands[arg as usize];
    let layout = |arg: ArgId| match operand(arg) {
        Operand::Array { layout, .. } | Operand::DenseRows { layout, .. } => layout,
        _ => unreachable!("an array is bound to one"),
    };
    match word {
        Word::Rows => extent.len,
        Word::Start => extent.start,
        Word::Tiles => tiles.count(extent.len as usize) as u64,
        Word::TileLen => tiles.tile_len() as u64,
        Word::Line => tiles.line() as u64,
        // The one line of a vector has all tiles.
        Word::PerLine if tiles.line() == usize::MAX => u64::MAX,
        Word::PerLine => tiles.joined()[0] as u64,
        Word::Constant(value, part) => number(value, part),
        Word::Param(param, part) => number(launch.params[param as usize], part),
        Word::Address(arg) => address(operand(arg)),
        Word::Positions(arg) => match operand(arg) {
            Operand::Structure(Structure { pos, .. }) => pos.addr() as u64,
            Operand::Sliced(Sliced { rows, .. }) => rows.addr() as u64,
            _ => unreachable!("a structure is bound to one"),
        },
        Word::Columns(arg) => match operand(arg) {
            Operand::Structure(Structure { crd, .. }) => crd.addr() as u64,
            Operand::Sliced(Sliced { columns, .. }) => columns.addr() as u64,
            _ => unreachable!("a structure is bound to one"),
        },
        Word::Slices(arg) => match operand(arg) {
            Operand::Sliced(Sliced { slices, .. }) => slices.addr() as u64,
            _ => unreachable!("entries in slices are bound to them"),
        },
        Word::Uniform(arg) => match operand(arg) {
            Operand::Sliced(Sliced { uniform, .. }) => uniform.addr() as u64,
            _ => unreachable!("entries in slices are bound to them"),
        },
        Word::Width(arg) => match operand(arg) {
            Operand::Gather { width, .. } => width as u64,
            _ => unreachable!("what is gathered is bound to it"),
        },
        Word::Length(arg, d) => layout(arg).dims[d] as u64,
        Word::Stride(arg, d) => layout(arg).strides[d] as i64 as u64,
        Word::Partials(number) => scratch.partials[number],
        Word::RowLen(arg) => columns(operand(arg)).0 as u64,
        Word::RowStep(arg) => columns(operand(arg)).1 as i64 as u64,
        Word::RowTileLen => launch.tile_len as u64,
        Word::RowTiles(arg) => row_tiles(launch, arg),
        Word::RowPartials(number) => scratch.row_partials[number],
        Word::RowValues(number) => scratch.row_values[number],
    }
}

/// A part of a number as the text reads it: floats as `f64`, integers and truth as they are.
fn number(value: Value, part: Part) -> u64 {
    let bits = value.bits();
    let bits = match part {
        Part::Real => bits[0],
        Part::Imaginary => bits[1],
    };
    match value.dtype() {
        DType::F32 | DType::ComplexF32 => f64::from(f32::from_bits(bits as u32)).to_bits(),
        _ => bits,
    }
}

fn address(operand: Operand) -> u64 {
    let address = match operand {
        Operand::Array { data, .. } | Operand::Scalar { data } => data.addr(),
        Operand::Gather { own, .. } => own.addr(),
        Operand::Entries { data } | Operand::DenseRows { data, .. } => data.addr(),
        Operand::Reduction { partials } => partials.addr(),
        Operand::Sliced(Sliced { values, .. }) => values.addr(),
        Operand::Packed(_) | Operand::Structure(_) => unreachable!("these have no single address"),
    };
    address as u64
}
