//! Images: what a piece of a structure needs of the store, `x`, that its indices name elements of.
//!
//! The inspector [`Piece::build`] looks once at the indices of this rank's rows, for one partition
//! of `x`, and derives the local form that kernels read: indices of elements that this rank holds
//! become distances from its first one, all others (the *ghosts*) are numbered behind them, in
//! ascending order. It tells each owner what to send from now on. Pieces are kept with the store of
//! the indices until a task writes that or many newer ones have come.
//!
//! A built piece is also the proof that every index of the structure is a valid one.
#![expect(unsafe_code, reason = "structures are read through raw pointers")]

use crate::comm::Comm;
use crate::comm::exchange::{Exchange, Item, requests};
use crate::comm::ghosts::GhostExchange;
use crate::error::Error;
use crate::geometry::partition::{CutsTable, Partition};
use crate::images::packed::PackedIndices;
use crate::images::residency::Residency;
use crate::images::sliced;
use crate::memory::counted::Counted;
use crate::memory::instance::Instance;
use crate::memory::mirror::{DeviceMemory, DeviceSlices};
use crate::memory::pool::Pool;
use crate::memory::reserve::{reserve, try_collect};
use sparsefuse_kernels::device::DeviceError;
use sparsefuse_kernels::packed::PlainRows;
use sparsefuse_kernels::{Structure, Workers};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The local form of a structure; see the module's text.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) key: PieceKey,
    /// The rows of the structure that it holds.
    pub(crate) rows: Range<usize>,
    /// The entries that it holds, of all entries.
    pub(crate) entries: Range<usize>,
    ranges: Counted<Instance>,
    /// The local indices: those of the store where they are the same, else others.
    indices: Mutex<Residency<Arc<PackedIndices>>>,
    /// Elements of `x` that this rank holds.
    pub(crate) own_len: usize,
    /// The way of the ghosts.
    pub(crate) exchange: Exchange,
    /// Those that are not in use.
    exchanges: Mutex<Vec<GhostExchange>>,
    /// The local tiles that concern this rank alone: their rows need no ghosts and, if rows and
    /// elements of `x` are cut alike, are no rank's ghosts.
    pub(crate) interior: Vec<Range<u64>>,
    /// The others.
    pub(crate) boundary: Vec<Range<u64>>,
    /// How far before and behind a row of the interior the elements lie that its indices name.
    reach: (usize, usize),
    /// Whether each of its rows has one entry.
    singles: bool,
    /// Its slices in memory of the device, once they are made; none where there are too many
    /// entries.
    slices: OnceLock<Option<Arc<DeviceSlices>>>,
}

/// What a piece depends on besides the indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PieceKey {
    /// The number of the ranges' instance.
    pub(crate) ranges: u64,
    pub(crate) launch: Partition,
    pub(crate) x_partition: Partition,
    pub(crate) x_len: usize,
}

/// What the inspector looks at.
#[derive(Debug)]
pub(crate) struct Inspect<'a> {
    pub(crate) key: PieceKey,
    /// The rows of this rank.
    pub(crate) rows: Range<usize>,
    /// Or why there are none.
    pub(crate) ranges: &'a Result<Counted<Instance>, Error>,
    /// Or why they could not be materialised.
    pub(crate) indices: &'a Result<Counted<Instance>, Error>,
    pub(crate) comm: &'a dyn Comm,
    pub(crate) cuts: &'a CutsTable,
    pub(crate) pool: &'a Arc<Pool>,
}

impl Inspect<'_> {
    /// The first row of a local tile, in local numbers.
    fn first_row(&self, tile: u64) -> usize {
        let Range { start, end } = self.rows;
        let tile_len = self.cuts.tile_len();
        let row = (start / tile_len + tile as usize) * tile_len;
        row.clamp(start, end) - start
    }
}

/// The indices of a piece, in local numbers.
struct LocalIndices {
    indices: Vec<u32>,
    /// The global numbers of the ghosts, ascending.
    ghosts: Vec<u32>,
}

impl Piece {
    /// Inspects this rank's part of a structure. Every rank takes part, and a failure of one is the
    /// failure of all.
    pub(crate) fn build(inspect: &Inspect<'_>) -> Result<Self, Error> {
        let piece = Self::inspect(inspect);
        if inspect.comm.size() > 1 {
            let agreement = piece.as_ref().map(|_| Vec::new()).map_err(Clone::clone);
            inspect.comm.all_gather(agreement)?;
        }
        piece
    }

    fn inspect(inspect: &Inspect<'_>) -> Result<Self, Error> {
        let local = localize(inspect);
        let x = inspect.key.x_partition;
        let exchange = match x {
            Partition::Replicated => Exchange::default(),
            Partition::Tile(id) => {
                let ghosts = local.as_ref().map_err(Clone::clone);
                let ghosts = ghosts.map(|local| local.as_ref().map_or(&[][..], |of| &of.ghosts));
                requests::gather(inspect.comm, inspect.cuts.get(id), ghosts)?
            }
        };
        let local = local?;
        let plain = inspect.indices.as_ref().map_err(Clone::clone)?;
        let kept = inspect.ranges.as_ref().map_err(Clone::clone)?;
        let ranges = own_ranges(inspect, kept).expect("`localize` has looked at them");
        let entries = ranges[0] as usize..ranges[ranges.len() - 1] as usize;
        let own = own_elements(inspect);
        let boundary = boundary(inspect, ranges, local.as_ref(), &exchange);
        let (interior, boundary) = split_tiles(&boundary);
        // Rows and `x` of different numbers are never written and read by one loop after another.
        let is_whole = x == Partition::Replicated && inspect.rows == own;
        let reach = match &local {
            None if is_whole => {
                let skip = entries.start - plain.rows.start;
                // SAFETY: `localize` has checked that the instance has these entries.
                let indices = unsafe { &plain.as_slice::<u32>()[skip..] };
                reach(inspect, &interior, ranges, indices)
            }
            None => (usize::MAX, usize::MAX),
            Some(local) => reach(inspect, &interior, ranges, &local.indices),
        };
        let indices = match local {
            None => plain.clone(),
            Some(local) => {
                let len = local.indices.len();
                let memory = inspect.pool.adopt(local.indices)?;
                let instance = Instance::new(memory, entries.clone(), len, size_of::<u32>());
                Counted::new(instance)
            }
        };
        Ok(Self {
            key: inspect.key,
            rows: inspect.rows.clone(),
            entries,
            ranges: kept.clone(),
            indices: Mutex::new(Residency::Plain(indices)),
            own_len: own.len(),
            exchange,
            exchanges: Mutex::default(),
            interior,
            boundary,
            reach,
            singles: ranges.windows(2).all(|ends| ends[1] - ends[0] == 1),
            slices: OnceLock::new(),
        })
    }

    /// The operand of the kernels that gather; without indices while they are evicted. `address`
    /// says where the first element of an instance lies.
    pub(crate) fn structure(
        &self,
        address: impl Fn(&Instance) -> Option<*mut u8>,
    ) -> Option<Structure> {
        let skip = self.rows.start - self.ranges.rows.start;
        let pos = address(&self.ranges)?.cast::<u64>().wrapping_add(skip);
        let crd = match self.indices() {
            None => std::ptr::null(),
            Some(indices) => {
                let skip = self.entries.start - indices.rows.start;
                address(&indices)?.cast::<u32>().wrapping_add(skip)
            }
        };
        Some(Structure {
            pos,
            crd,
            rows: self.rows.len(),
            entries: self.entries.len(),
            below: self.reach.0,
            above: self.reach.1,
            singles: self.singles,
        })
    }

    /// The ranges of the rows, and perhaps of others.
    pub(crate) fn ranges(&self) -> &Counted<Instance> {
        &self.ranges
    }

    /// The local indices, unless they are evicted.
    pub(crate) fn indices(&self) -> Option<Counted<Instance>> {
        self.residency().plain().cloned()
    }

    /// Gives the local indices up where the packed form has them too.
    pub(crate) fn evict_indices(&self) -> Option<Counted<Instance>> {
        self.residency().evict()
    }

    /// Makes sure that the local indices are there.
    pub(crate) fn materialise_indices(&self, workers: &Workers) -> Result<(), Error> {
        self.residency().materialise(workers)
    }

    fn residency(&self) -> MutexGuard<'_, Residency<Arc<PackedIndices>>> {
        // A panic while it is locked leaves it whole: it is only replaced.
        self.indices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn first_index(&self, indices: &Instance) -> *const u32 {
        let skip = self.entries.start - indices.rows.start;
        indices.to_read().cast::<u32>().wrapping_add(skip)
    }

    /// The rows in plain form, with local indices; with none if they are evicted.
    pub(crate) fn plain_rows<'a>(&'a self, indices: Option<&'a Instance>) -> PlainRows<'a> {
        let skip = self.rows.start - self.ranges.rows.start;
        let pos = self.ranges.to_read().cast::<u64>().wrapping_add(skip);
        // SAFETY: `checked_ranges` and `localize` have checked that both instances hold the rows
        // and entries of the piece; what has a second handle, as they have here, is not written
        // (`Frame::make_unique`).
        unsafe {
            PlainRows {
                pos: std::slice::from_raw_parts(pos, self.rows.len() + 1),
                crd: indices.map_or(&[], |indices| {
                    std::slice::from_raw_parts(self.first_index(indices), self.entries.len())
                }),
                own_len: self.own_len,
            }
        }
    }

    /// The slices of the rows in memory of the device. The indices are in plain form.
    pub(crate) fn slices(
        &self,
        memory: &Arc<DeviceMemory>,
    ) -> Result<Option<Arc<DeviceSlices>>, DeviceError> {
        if let Some(slices) = self.slices.get() {
            return Ok(slices.clone());
        }
        let indices = self.indices();
        let PlainRows { pos, crd, .. } = self.plain_rows(indices.as_deref());
        let slices = sliced::slices(pos, crd, memory)?;
        Ok(self.slices.get_or_init(|| slices).clone())
    }

    /// The packed form of the structure, if there is one.
    pub(crate) fn packed_indices(&self) -> Option<Arc<PackedIndices>> {
        self.residency().packed().cloned()
    }

    /// Keeps the packed form of the structure.
    pub(crate) fn keep_packed(&self, indices: PackedIndices) -> Arc<PackedIndices> {
        let indices = Arc::new(indices);
        self.residency().pack(Arc::clone(&indices));
        indices
    }

    /// Whether these are the packed indices of this piece.
    pub(crate) fn has_packed(&self, indices: &Arc<PackedIndices>) -> bool {
        let residency = self.residency();
        let kept = residency.packed();
        kept.is_some_and(|kept| Arc::ptr_eq(kept, indices))
    }

    /// The bytes that one pass over the structure reads.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.len() * size_of::<u32>() + (self.rows.len() + 1) * size_of::<u64>()
    }

    /// An exchange of the ghosts of an `x` with such elements, to be put back: one that is kept, or
    /// a new one. Every rank asks, and a failure of one is the failure of all.
    pub(crate) fn take_ghosts(
        &self,
        comm: &dyn Comm,
        pool: &Arc<Pool>,
        item: Item,
    ) -> Result<GhostExchange, Error> {
        let mut kept = self.kept_exchanges();
        match kept.iter().position(|kept| kept.item() == item) {
            Some(number) => Ok(kept.swap_remove(number)),
            None => GhostExchange::new(comm, pool, &self.exchange, item),
        }
    }

    pub(crate) fn put_back(&self, exchange: GhostExchange) {
        self.kept_exchanges().push(exchange);
    }

    fn kept_exchanges(&self) -> MutexGuard<'_, Vec<GhostExchange>> {
        // A panic while it is locked leaves it whole: it is only pushed and popped.
        self.exchanges
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The ranges of this rank's rows, checked: they never decrease.
fn checked_ranges<'a>(inspect: &Inspect<'a>) -> Result<&'a [u64], Error> {
    let ranges = own_ranges(inspect, inspect.ranges.as_ref().map_err(Clone::clone)?);
    // Without a branch for each of them.
    let ascend = |all: bool, pair: &[u64]| all & (pair[0] <= pair[1]);
    let is_valid = ranges.is_some_and(|ranges| ranges.windows(2).fold(true, ascend));
    match ranges {
        Some(ranges) if is_valid => Ok(ranges),
        Some(ranges) => Err(decrease(inspect.rows.start, ranges)),
        None => {
            let found = "those of other rows";
            let expected = format!("ranges of the rows {:?}", inspect.rows);
            Err(Error::argument("gather", expected, found))
        }
    }
}

/// The failure of ranges that decrease somewhere; the first one is that of a row.
fn decrease(first_row: usize, ranges: &[u64]) -> Error {
    let falls = |pair: &[u64]| pair[0] > pair[1];
    let place = ranges.windows(2).position(falls).unwrap_or(0);
    let found = format!(
        "{} behind {} in row {}",
        ranges[place + 1],
        ranges[place],
        first_row + place
    );
    Error::argument("gather", "ranges that never decrease", found)
}

/// The ranges of this rank's rows, in whatever order, if they are all there.
fn own_ranges<'a>(inspect: &Inspect<'_>, ranges: &'a Instance) -> Option<&'a [u64]> {
    // SAFETY: stores of ranges have element type u64 (`Body` checks types), and an
    // instance with a second handle, as this one has, is not written (`Frame::make_unique`).
    let all = unsafe { ranges.as_slice::<u64>() };
    let first = inspect.rows.start.checked_sub(ranges.rows.start)?;
    all.get(first..first + inspect.rows.len() + 1)
}

/// The elements of `x` that this rank holds.
fn own_elements(inspect: &Inspect<'_>) -> Range<usize> {
    let shape = crate::shape::Shape::new(&[inspect.key.x_len]);
    inspect
        .cuts
        .rows(inspect.key.x_partition, shape, inspect.comm.rank())
}

/// The indices in local numbers; `None` where the plain ones are valid as they are.
fn localize(inspect: &Inspect<'_>) -> Result<Option<LocalIndices>, Error> {
    let ranges = checked_ranges(inspect)?;
    let plain = inspect.indices.as_ref().map_err(Clone::clone)?;
    // SAFETY: stores of indices have element type u32 (`Body` checks types), and an
    // instance with a second handle, as this one has, is not written (`Frame::make_unique`).
    let all = unsafe { plain.as_slice::<u32>() };
    let (first, last) = (ranges[0] as usize, ranges[ranges.len() - 1] as usize);
    let skip = first.checked_sub(plain.rows.start);
    let indices = skip
        .and_then(|skip| all.get(skip..skip + (last - first)))
        .ok_or_else(|| {
            let found = format!("{:?}", plain.rows);
            Error::argument(
                "gather",
                format!("indices of the entries {first}..{last}"),
                found,
            )
        })?;
    let x_len = inspect.key.x_len;
    let limit = u32::try_from(x_len).unwrap_or(u32::MAX);
    // Without a branch for each of them.
    let any_out = indices
        .iter()
        .fold(false, |any, &index| any | (index >= limit));
    let is_out = |index: &u32| *index as usize >= x_len;
    if any_out && let Some(place) = indices.iter().position(is_out) {
        let entry = ranges[0] + place as u64;
        let row = inspect.rows.start + ranges.partition_point(|&begin| begin <= entry) - 1;
        let found = format!("{} in row {row}", indices[place]);
        let expected = format!("indices below {x_len}");
        return Err(Error::argument("gather", expected, found));
    }
    if inspect.key.x_partition == Partition::Replicated {
        return Ok(None);
    }
    let own = own_elements(inspect);
    let is_ghost = |index: &u32| !own.contains(&(*index as usize));
    let all = || indices.iter().copied().filter(is_ghost);
    let mut ghosts = reserve(all().count())?;
    ghosts.extend(all());
    ghosts.sort_unstable();
    ghosts.dedup();
    // What a rank holds of x and what it fetches are numbered together.
    if own.len() + ghosts.len() > u32::MAX as usize {
        let expected = format!("at most {} elements of x on each rank", u32::MAX);
        let found = format!("{} and {} of other ranks", own.len(), ghosts.len());
        return Err(Error::argument("gather", expected, found));
    }
    let local = |index: &u32| {
        if !is_ghost(index) {
            return index - own.start as u32;
        }
        let ghost = ghosts
            .binary_search(index)
            .expect("every ghost has been listed");
        (own.len() + ghost) as u32
    };
    let indices = try_collect(indices.iter().map(local))?;
    Ok(Some(LocalIndices { indices, ghosts }))
}

/// For each local tile, whether other ranks have to do with it: whether its rows need ghosts, or
/// are ghosts of others, where the rows are cut as the elements of `x` are.
fn boundary(
    inspect: &Inspect<'_>,
    ranges: &[u64],
    local: Option<&LocalIndices>,
    exchange: &Exchange,
) -> Vec<bool> {
    let own_len = own_elements(inspect).len();
    let tile_len = inspect.cuts.tile_len();
    let (first, end) = (inspect.rows.start, inspect.rows.end);
    let n_tiles = end.div_ceil(tile_len) - first / tile_len;
    let mut is_boundary = vec![false; if first < end { n_tiles } else { 0 }];
    if let Some(local) = local.filter(|local| !local.ghosts.is_empty()) {
        for (tile, is_boundary) in (0..).zip(&mut is_boundary) {
            let (row, next) = (inspect.first_row(tile), inspect.first_row(tile + 1));
            let entries = (ranges[row] - ranges[0]) as usize..(ranges[next] - ranges[0]) as usize;
            let mut indices = local.indices[entries].iter();
            *is_boundary = indices.any(|&index| index as usize >= own_len);
        }
    }
    if inspect.key.launch == inspect.key.x_partition {
        for (_, places) in exchange.sends() {
            places.for_each_run(|place, _, len| {
                let tile = |place: usize| (first % tile_len + place) / tile_len;
                // An `x` may be longer than there are rows, with all its last elements here.
                let tiles = tile(place)..(tile(place + len - 1) + 1).min(n_tiles);
                if let Some(tiles) = is_boundary.get_mut(tiles) {
                    tiles.fill(true);
                }
            });
        }
    }
    is_boundary
}

/// The tiles inside, and those at the boundary, as ranges.
fn split_tiles(is_boundary: &[bool]) -> (Vec<Range<u64>>, Vec<Range<u64>>) {
    let (mut interior, mut boundary) = (Vec::new(), Vec::new());
    for (tile, &is_boundary) in (0..).zip(is_boundary) {
        let list: &mut Vec<Range<u64>> = match is_boundary {
            true => &mut boundary,
            false => &mut interior,
        };
        match list.last_mut() {
            Some(last) if last.end == tile => last.end = tile + 1,
            _ => list.push(tile..tile + 1),
        }
    }
    (interior, boundary)
}

/// How far before and behind a row of these tiles the elements lie that its indices name.
fn reach(
    inspect: &Inspect<'_>,
    tiles: &[Range<u64>],
    ranges: &[u64],
    indices: &[u32],
) -> (usize, usize) {
    let reaches = tiles.iter().map(|range| {
        let rows = inspect.first_row(range.start)..inspect.first_row(range.end);
        Structure::reach(rows, ranges, indices)
    });
    reaches.fold((0, 0), |a, b| (a.0.max(b.0), a.1.max(b.1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::{Message, connect};
    use crate::error::ErrorKind;
    use crate::shape::Shape;

    /// A piece of a structure of two rows on two ranks, one row on each, with these indices.
    fn build(comm: &dyn Comm, x_len: usize, indices: [u32; 2]) -> Result<Piece, Error> {
        let mut cuts = CutsTable::new(2, 1, 1);
        let pool = &Pool::new(usize::MAX);
        let row = comm.rank();
        let partition = |len| cuts.default_partition(Shape::new(&[len]));
        let [launch, x_partition] = [2, x_len].map(partition);
        let (ranges, indices) = (vec![row as u64, row as u64 + 1], vec![indices[row]]);
        let ranges = Instance::new(pool.adopt(ranges)?, row..row + 2, 2, size_of::<u64>());
        let indices = Instance::new(pool.adopt(indices)?, row..row + 1, 1, size_of::<u32>());
        Piece::build(&Inspect {
            key: PieceKey {
                ranges: 0,
                launch,
                x_partition,
                x_len,
            },
            rows: row..row + 1,
            ranges: &Ok(Counted::new(ranges)),
            indices: &Ok(Counted::new(indices)),
            comm,
            cuts: &cuts,
            pool,
        })
    }

    /// What two ranks make of vectors of these lengths.
    fn both(x_len: [usize; 2], indices: [u32; 2]) -> Vec<Result<Piece, Error>> {
        let ranks = connect(2);
        std::thread::scope(|scope| {
            let built = |(comm, x_len)| scope.spawn(move || build(&comm, x_len, indices));
            let threads: Vec<_> = ranks.into_iter().zip(x_len).map(built).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().unwrap();
            threads.into_iter().map(join).collect()
        })
    }

    #[track_caller]
    fn assert_apart(piece: Result<Piece, Error>) {
        let error = piece.map(|_| ()).unwrap_err();
        let is_apart = matches!(error.kind(), ErrorKind::Rank { rank: 1, .. })
            && error.to_string().contains("a message about something else");
        assert!(is_apart, "{error}");
    }

    /// Found as an assertion in the first exchange of ghosts.
    #[test]
    fn ranks_that_ask_for_what_another_does_not_hold() {
        for piece in both([8, 8], [7, 0]) {
            assert_eq!(piece.unwrap().exchange.sent(1).bytes, 1);
        }
        // Rank 1 believes in a longer `x`, of which rank 0 would hold element 40.
        for piece in both([8, 100], [7, 40]) {
            assert_apart(piece);
        }
    }

    #[test]
    fn requests_that_are_no_lists() {
        for request in [vec![0; 3], vec![0; 8], vec![0xff; 4]] {
            let mut ranks = connect(2);
            let other = ranks.remove(1);
            other.send(0, Message::Data(request));
            other.send(0, Message::Data(Vec::new()));
            assert_apart(build(&ranks[0], 8, [7, 0]));
        }
    }
}
