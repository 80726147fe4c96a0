//! Images: what a piece of a sparse matrix needs of the vector it is multiplied with.
//!
//! The inspector [`Piece::build`] looks once at the columns of this rank's rows, for one partition
//! of `x`, and derives the local form that the product kernels read: columns that this rank holds
//! become distances from its first one, all others (the *ghosts*) are numbered behind them, in
//! ascending order. It tells each owner what to send from now on. The structure of a matrix never
//! changes, so pieces are kept with its `crd` store and never invalidated.
//!
//! A built piece is also the proof that every column of the structure is a valid index.
#![expect(unsafe_code, reason = "structures are read through raw pointers")]

use crate::comm::halo::{Halo, Neighbours};
use crate::comm::{self, Comm};
use crate::error::Error;
use crate::geometry::partition::{CutsTable, Partition};
use crate::images::packed::PackedColumns;
use crate::memory::counted::Counted;
use crate::memory::instance::Instance;
use crate::memory::pool::Pool;
use crate::memory::reserve::{reserve, try_collect};
use sparsefuse_kernels::packed::PlainRows;
use sparsefuse_kernels::{Structure, Workers};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The local form of the structure of a sparse matrix; see the module's text.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) key: PieceKey,
    /// The rows of the matrix that it holds.
    pub(crate) rows: Range<usize>,
    /// The entries of the matrix that it holds, of all entries.
    pub(crate) entries: Range<usize>,
    pos: Counted<Instance>,
    /// The local columns: the plain `crd` where they are the same, else a copy; nothing while the
    /// packed ones are enough.
    crd: Mutex<Option<Counted<Instance>>>,
    /// Elements of `x` that this rank holds.
    pub(crate) own_len: usize,
    pub(crate) neighbours: Neighbours,
    /// Those that are not in use.
    halos: Mutex<Vec<Halo>>,
    /// The local tiles that concern this rank alone: their rows need no ghosts and, if rows and
    /// elements of `x` are cut alike, are no rank's ghosts.
    pub(crate) interior: Vec<Range<u64>>,
    /// The others.
    pub(crate) boundary: Vec<Range<u64>>,
    /// How far before and behind a row of the interior its columns lie.
    reach: (usize, usize),
    /// The packed form of the structure, once it has been asked for.
    packed: Mutex<Option<Arc<PackedColumns>>>,
}

/// What a piece depends on besides the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PieceKey {
    /// The memory of `pos`, which lives as long as the piece.
    pub(crate) pos: usize,
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
    pub(crate) pos: &'a Result<Counted<Instance>, Error>,
    /// Or why they could not be materialised.
    pub(crate) crd: &'a Result<Counted<Instance>, Error>,
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

/// The columns of a piece, in local numbers.
struct LocalColumns {
    crd: Vec<u32>,
    /// The global numbers of the ghosts, ascending.
    ghosts: Vec<usize>,
}

impl Piece {
    /// Inspects this rank's part of a matrix. Every rank takes part, and a failure of one is the
    /// failure of all.
    pub(crate) fn build(inspect: &Inspect<'_>) -> Result<Self, Error> {
        let piece = Self::inspect(inspect);
        if inspect.comm.size() > 1 {
            let agreement = piece.as_ref().map(|_| Vec::new()).map_err(Clone::clone);
            comm::all_gather(inspect.comm, agreement)?;
        }
        piece
    }

    fn inspect(inspect: &Inspect<'_>) -> Result<Self, Error> {
        let local = localize(inspect);
        let x = inspect.key.x_partition;
        let plan = match x {
            Partition::Replicated => local.map(|local| (local, Neighbours::default())),
            Partition::Tile(_) => plan_ghosts(inspect, local),
        };
        let (local, neighbours) = plan?;
        let plain = inspect.crd.as_ref().map_err(Clone::clone)?;
        let kept = inspect.pos.as_ref().map_err(Clone::clone)?;
        let pos = unchecked_positions(inspect, kept).expect("`localize` has looked at them");
        let entries = pos[0] as usize..pos[pos.len() - 1] as usize;
        let own = own_columns(inspect);
        let boundary = boundary(inspect, pos, local.as_ref(), &neighbours);
        let (interior, boundary) = split_tiles(&boundary);
        // Rows and `x` of different numbers are never written and read by one loop after another.
        let is_whole = x == Partition::Replicated && inspect.rows == own;
        let reach = match &local {
            None if is_whole => {
                let skip = entries.start - plain.rows.start;
                // SAFETY: `localize` has checked that the instance has these entries.
                let crd = unsafe { &plain.as_slice::<u32>()[skip..] };
                reach(inspect, &interior, pos, crd)
            }
            None => (usize::MAX, usize::MAX),
            Some(local) => reach(inspect, &interior, pos, &local.crd),
        };
        let crd = match local {
            None => plain.clone(),
            Some(local) => {
                let len = local.crd.len();
                let memory = inspect.pool.adopt(local.crd)?;
                let instance = Instance::new(memory, entries.clone(), len, size_of::<u32>());
                Counted::new(instance)
            }
        };
        Ok(Self {
            key: inspect.key,
            rows: inspect.rows.clone(),
            entries,
            pos: kept.clone(),
            crd: Mutex::new(Some(crd)),
            own_len: own.len(),
            neighbours,
            halos: Mutex::default(),
            interior,
            boundary,
            reach,
            packed: Mutex::new(None),
        })
    }

    /// The operand of the product kernels; without columns while they are evicted.
    pub(crate) fn structure(&self) -> Structure {
        let pos_skip = self.rows.start - self.pos.rows.start;
        let pos = self.pos.data().cast::<u64>().wrapping_add(pos_skip);
        let crd = self
            .columns()
            .map_or(std::ptr::null(), |crd| self.first_column(&crd));
        Structure {
            pos,
            crd,
            rows: self.rows.len(),
            entries: self.entries.len(),
            below: self.reach.0,
            above: self.reach.1,
        }
    }

    /// The positions of the rows, and perhaps of others.
    pub(crate) fn positions(&self) -> &Counted<Instance> {
        &self.pos
    }

    /// The local columns, unless they are evicted.
    pub(crate) fn columns(&self) -> Option<Counted<Instance>> {
        self.kept_columns().clone()
    }

    /// Gives the local columns up, which the packed form has too.
    pub(crate) fn evict_columns(&self) -> Option<Counted<Instance>> {
        self.kept_columns().take()
    }

    /// Makes sure that the local columns are there.
    pub(crate) fn materialise_columns(&self, workers: &Workers) -> Result<(), Error> {
        let mut kept = self.kept_columns();
        if kept.is_none() {
            let packed = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
            let packed = packed
                .as_ref()
                .expect("columns are evicted for packed ones");
            *kept = Some(packed.unpack(workers)?);
        }
        Ok(())
    }

    fn kept_columns(&self) -> MutexGuard<'_, Option<Counted<Instance>>> {
        // A panic while it is locked leaves it whole: it is only replaced.
        self.crd.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn first_column(&self, crd: &Instance) -> *const u32 {
        let skip = self.entries.start - crd.rows.start;
        crd.data().cast::<u32>().wrapping_add(skip)
    }

    /// The rows in plain form, with local columns; with none if they are evicted.
    pub(crate) fn plain_rows<'a>(&'a self, crd: Option<&'a Instance>) -> PlainRows<'a> {
        let pos = self.structure().pos;
        // SAFETY: `positions` and `localize` have checked that both instances hold the rows and
        // entries of the piece; nothing writes a structure once it is assembled.
        unsafe {
            PlainRows {
                pos: std::slice::from_raw_parts(pos, self.rows.len() + 1),
                crd: crd.map_or(&[], |crd| {
                    std::slice::from_raw_parts(self.first_column(crd), self.entries.len())
                }),
                own_len: self.own_len,
            }
        }
    }

    /// The packed form of the structure, if there is one.
    pub(crate) fn packed_columns(&self) -> Option<Arc<PackedColumns>> {
        let kept = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clone()
    }

    /// Keeps the packed form of the structure.
    pub(crate) fn keep_packed(&self, columns: PackedColumns) -> Arc<PackedColumns> {
        let columns = Arc::new(columns);
        let mut kept = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some(Arc::clone(&columns));
        columns
    }

    /// Whether these are the packed columns of this piece.
    pub(crate) fn has_packed(&self, columns: &Arc<PackedColumns>) -> bool {
        let kept = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, columns))
    }

    /// The bytes that one pass over the structure reads.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.len() * size_of::<u32>() + (self.rows.len() + 1) * size_of::<u64>()
    }

    /// A halo for the ghosts of an `x` with elements of `size` bytes, to be put back: one that is
    /// kept, or a new one. Every rank asks, and a failure of one is the failure of all.
    pub(crate) fn take_halo(
        &self,
        comm: &dyn Comm,
        pool: &Arc<Pool>,
        size: usize,
    ) -> Result<Halo, Error> {
        let mut kept = self.kept_halos();
        match kept.iter().position(|halo| halo.size() == size) {
            Some(number) => Ok(kept.swap_remove(number)),
            None => Halo::new(comm, pool, &self.neighbours, size),
        }
    }

    pub(crate) fn put_back(&self, halo: Halo) {
        self.kept_halos().push(halo);
    }

    fn kept_halos(&self) -> MutexGuard<'_, Vec<Halo>> {
        // A panic while it is locked leaves it whole: it is only pushed and popped.
        self.halos.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The positions of this rank's rows, checked: they never decrease.
fn positions<'a>(inspect: &Inspect<'a>) -> Result<&'a [u64], Error> {
    let pos = unchecked_positions(inspect, inspect.pos.as_ref().map_err(Clone::clone)?);
    // Without a branch for each of them.
    let ascend = |all: bool, pair: &[u64]| all & (pair[0] <= pair[1]);
    let is_valid = pos.is_some_and(|pos| pos.windows(2).fold(true, ascend));
    pos.filter(|_| is_valid)
        .ok_or_else(|| Error::argument("spmv", "positions of all rows, never decreasing", "others"))
}

/// The positions of this rank's rows, if they are all there.
fn unchecked_positions<'a>(inspect: &Inspect<'_>, pos: &'a Instance) -> Option<&'a [u64]> {
    // SAFETY: `pos` stores have element type u64 (`Body` checks types), and nothing writes a
    // structure once it is assembled.
    let all = unsafe { pos.as_slice::<u64>() };
    let first = inspect.rows.start.checked_sub(pos.rows.start)?;
    all.get(first..first + inspect.rows.len() + 1)
}

/// The columns of `x` that this rank holds.
fn own_columns(inspect: &Inspect<'_>) -> Range<usize> {
    let shape = crate::shape::Shape::new(&[inspect.key.x_len]);
    inspect
        .cuts
        .rows(inspect.key.x_partition, shape, inspect.comm.rank())
}

/// The columns in local numbers; `None` where the plain ones are valid as they are.
fn localize(inspect: &Inspect<'_>) -> Result<Option<LocalColumns>, Error> {
    let pos = positions(inspect)?;
    let plain = inspect.crd.as_ref().map_err(Clone::clone)?;
    // SAFETY: `crd` stores have element type u32, and nothing writes a structure once it is
    // assembled.
    let all = unsafe { plain.as_slice::<u32>() };
    let (first, last) = (pos[0] as usize, pos[pos.len() - 1] as usize);
    let skip = first.checked_sub(plain.rows.start);
    let crd = skip
        .and_then(|skip| all.get(skip..skip + (last - first)))
        .ok_or_else(|| {
            let found = format!("{:?}", plain.rows);
            Error::argument(
                "spmv",
                format!("columns of the entries {first}..{last}"),
                found,
            )
        })?;
    let x_len = inspect.key.x_len;
    let limit = u32::try_from(x_len).unwrap_or(u32::MAX);
    // Without a branch for each of them.
    let any_out = crd
        .iter()
        .fold(false, |any, &column| any | (column >= limit));
    if any_out && let Some(&column) = crd.iter().find(|&&column| column as usize >= x_len) {
        return Err(Error::argument(
            "spmv",
            format!("columns below {x_len}"),
            column.to_string(),
        ));
    }
    if inspect.key.x_partition == Partition::Replicated {
        return Ok(None);
    }
    let own = own_columns(inspect);
    let global = |column: &u32| *column as usize;
    let is_ghost = |column: &usize| !own.contains(column);
    let mut ghosts = reserve(crd.iter().map(global).filter(is_ghost).count())?;
    ghosts.extend(crd.iter().map(global).filter(is_ghost));
    ghosts.sort_unstable();
    ghosts.dedup();
    let local = |column: &u32| {
        let column = *column as usize;
        if own.contains(&column) {
            return (column - own.start) as u32;
        }
        let ghost = ghosts
            .binary_search(&column)
            .expect("every ghost has been listed");
        (own.len() + ghost) as u32
    };
    let crd = try_collect(crd.iter().map(local))?;
    Ok(Some(LocalColumns { crd, ghosts }))
}

/// Asks the owners for this rank's ghosts, and learns what others ask of it. A rank that is asked
/// for what it does not hold fails alone: [`Piece::build`] tells the others.
fn plan_ghosts(
    inspect: &Inspect<'_>,
    local: Result<Option<LocalColumns>, Error>,
) -> Result<(Option<LocalColumns>, Neighbours), Error> {
    let comm = inspect.comm;
    let shape = crate::shape::Shape::new(&[inspect.key.x_len]);
    let mut receives = Vec::new();
    let requests = local.as_ref().map_err(Clone::clone).and_then(|local| {
        let ghosts = local.as_ref().map_or(&[][..], |local| &local.ghosts);
        let mut requests = Vec::with_capacity(comm.size());
        for owner in 0..comm.size() {
            let held = inspect.cuts.rows(inspect.key.x_partition, shape, owner);
            let start = ghosts.partition_point(|&ghost| ghost < held.start);
            let end = ghosts.partition_point(|&ghost| ghost < held.end);
            let mut request = reserve((end - start) * size_of::<u32>())?;
            for &ghost in &ghosts[start..end] {
                request.extend(((ghost - held.start) as u32).to_le_bytes());
            }
            requests.push(request);
            if start < end {
                receives.push((owner, start..end));
            }
        }
        Ok(requests)
    });
    let asked = comm::all_to_all(comm, requests)?;
    let own_len = own_columns(inspect).len();
    let mut sends = Vec::new();
    for (rank, bytes) in asked.iter().enumerate() {
        if rank == comm.rank() || bytes.is_empty() {
            continue;
        }
        let (words, rest) = bytes.as_chunks::<4>();
        let places = try_collect(words.iter().map(|&word| u32::from_le_bytes(word)))?;
        // The ghosts of a rank ascend.
        let is_list = rest.is_empty() && places.windows(2).all(|pair| pair[0] < pair[1]);
        let is_held = places.last().is_none_or(|&last| (last as usize) < own_len);
        if !is_list || !is_held {
            return Err(comm::apart(rank));
        }
        sends.push((rank, places));
    }
    Ok((local?, Neighbours { sends, receives }))
}

/// For each local tile, whether other ranks have to do with it: whether its rows need ghosts, or
/// are ghosts of others, where the rows are cut as the elements of `x` are.
fn boundary(
    inspect: &Inspect<'_>,
    pos: &[u64],
    local: Option<&LocalColumns>,
    neighbours: &Neighbours,
) -> Vec<bool> {
    let own_len = own_columns(inspect).len();
    let tile_len = inspect.cuts.tile_len();
    let (first, end) = (inspect.rows.start, inspect.rows.end);
    let n_tiles = end.div_ceil(tile_len) - first / tile_len;
    let mut is_boundary = vec![false; if first < end { n_tiles } else { 0 }];
    if let Some(local) = local.filter(|local| !local.ghosts.is_empty()) {
        for (tile, is_boundary) in (0..).zip(&mut is_boundary) {
            let (row, next) = (inspect.first_row(tile), inspect.first_row(tile + 1));
            let entries = (pos[row] - pos[0]) as usize..(pos[next] - pos[0]) as usize;
            let mut columns = local.crd[entries].iter();
            *is_boundary = columns.any(|&column| column as usize >= own_len);
        }
    }
    if inspect.key.launch == inspect.key.x_partition {
        let sent = neighbours.sends.iter().flat_map(|(_, places)| places);
        // An `x` may be longer than there are rows, with all its last elements here.
        for &place in sent {
            let tile = (first % tile_len + place as usize) / tile_len;
            if let Some(is_boundary) = is_boundary.get_mut(tile) {
                *is_boundary = true;
            }
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

/// How far before and behind a row of these tiles its columns lie.
fn reach(inspect: &Inspect<'_>, tiles: &[Range<u64>], pos: &[u64], crd: &[u32]) -> (usize, usize) {
    let reaches = tiles.iter().map(|range| {
        let rows = inspect.first_row(range.start)..inspect.first_row(range.end);
        Structure::reach(rows, pos, crd)
    });
    reaches.fold((0, 0), |a, b| (a.0.max(b.0), a.1.max(b.1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::{Message, connect};
    use crate::error::ErrorKind;
    use crate::shape::Shape;

    /// A piece of a matrix of two rows on two ranks, one row on each, with these columns.
    fn build(comm: &dyn Comm, x_len: usize, columns: [u32; 2]) -> Result<Piece, Error> {
        let mut cuts = CutsTable::new(2, 1, 1);
        let pool = &Pool::new(usize::MAX);
        let row = comm.rank();
        let partition = |len| cuts.default_partition(Shape::new(&[len]));
        let [launch, x_partition] = [2, x_len].map(partition);
        let (pos, crd) = (vec![row as u64, row as u64 + 1], vec![columns[row]]);
        let pos = Instance::new(pool.adopt(pos)?, row..row + 2, 2, size_of::<u64>());
        let crd = Instance::new(pool.adopt(crd)?, row..row + 1, 1, size_of::<u32>());
        Piece::build(&Inspect {
            key: PieceKey {
                pos: 0,
                launch,
                x_partition,
                x_len,
            },
            rows: row..row + 1,
            pos: &Ok(Counted::new(pos)),
            crd: &Ok(Counted::new(crd)),
            comm,
            cuts: &cuts,
            pool,
        })
    }

    /// What two ranks make of vectors of these lengths.
    fn both(x_len: [usize; 2], columns: [u32; 2]) -> Vec<Result<Piece, Error>> {
        let ranks = connect(2);
        std::thread::scope(|scope| {
            let built = |(comm, x_len)| scope.spawn(move || build(&comm, x_len, columns));
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
            assert_eq!(piece.unwrap().neighbours.sent(), 1);
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
