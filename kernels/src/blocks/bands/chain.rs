//! Chains: which neighbouring loops follow each other, and how far behind.

use super::parts::Parts;
use super::reach::{Reach, Wait};
use super::rings::Ring;
use super::{Passing, Plain, Touch, array};
use crate::blocks::Settings;
use crate::ir::ArgId;
use crate::launch::Launch;
use std::collections::BTreeMap;
use std::fmt;

/// The bytes that the loops of a chain use at a time: part of the L2 cache of most machines.
const KEPT: i64 = 768 << 10;
/// The same where the arrays are larger than the last cache, of which this is a part.
const KEPT_OF_LARGE: i64 = 4 << 20;
/// How often the loops of a chain reach each array that goes through memory at least, in the mean.
/// Loops over dozens of arrays that reach them once or twice are faster one after the other: they
/// fill the cache.
const AGAIN: i64 = 4;
/// The elements of a band, about: enough that calls for them cost little.
const BAND: usize = 4096;
/// With several threads, the share of a thread's rows by which the last loop of a chain is behind
/// at most (one in eight), since what is left between two threads is run by one of them.
const SHARE: i64 = 8;
/// The rows that it may be behind in any case.
const CLOSE: i64 = 2;
/// The loops of a chain at most: each is compared with all before it.
const MOST: usize = 128;

/// A chain of loops.
#[derive(Debug)]
pub(crate) struct Chain {
    /// The number of the first loop.
    pub(crate) first: usize,
    /// Each loop, in order.
    pub(crate) links: Vec<Link>,
    /// The outer rows by which each goes on at a time.
    pub(crate) band: i64,
    /// The threads among which the rows are divided.
    pub(crate) threads: usize,
    /// The memories of which threads keep what is in use.
    pub(crate) rings: Vec<Ring>,
    /// How many rows of memory the last loop is behind the first one.
    depth: i64,
    /// The bytes of the arrays.
    held: i64,
    /// Those of the memories that threads keep what is in use of.
    passing: i64,
    /// The bytes that the loops would read and write one after the other.
    moved: i64,
}

/// A loop of a chain.
#[derive(Debug)]
pub(crate) struct Link {
    /// The elements of an outer row.
    pub(crate) row_len: usize,
    /// How many outer rows it is behind the first loop.
    pub(crate) lag: i64,
    /// Which outer rows threads run.
    pub(crate) parts: Parts,
}

/// What chains depend on besides the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    threads: usize,
    block_len: usize,
    parallel_threshold: usize,
    band_threshold: usize,
    stream_threshold: usize,
}

/// Adds loops to a chain.
#[derive(Debug)]
pub(super) struct Builder {
    chain: Chain,
    machine: Machine,
    memories: BTreeMap<u32, Memory>,
    /// The least and the most that a loop is behind the first one, in rows of memory.
    depths: [i64; 2],
    /// The rows of the first loop.
    rows: i64,
}

/// What the loops of a chain reach of a memory.
#[derive(Debug, Default)]
struct Memory {
    /// The first argument through which it is reached.
    first: Option<ArgId>,
    /// Which loop, by its place in the chain, reaches what, and whether it writes it.
    reaches: Vec<(usize, Reach, bool)>,
    is_written: bool,
    /// A reach, and the row of the first loop beside which its first row lies.
    frame: Option<(Reach, i64)>,
    bytes: i64,
    in_use: InUse,
}

/// What loops use of a memory at a time; those of one row, which is used beside others, are not
/// counted.
#[derive(Clone, Copy, Debug, Default)]
struct InUse {
    /// The first and the last byte that they reach when the first loop is at its row 0, if their
    /// rows go on as far in front of those that there are.
    ends: Option<[i64; 2]>,
    /// The bytes from row to row.
    step: i64,
}

impl InUse {
    fn add(&mut self, reach: &Reach, lag: i64) {
        if reach.rows() == 1 {
            return;
        }
        self.step = self.step.max(reach.step());
        let row = reach.row(0);
        let [start, end] = [row.start, row.end].map(|byte| byte - lag * self.step);
        let [low, high] = self.ends.unwrap_or([start, end]);
        // Far from the others it is memory in another place.
        if (start - low).abs() <= 2 * reach.bytes() {
            self.ends = Some([low.min(start), high.max(end)]);
        }
    }

    /// The bytes that are in use while the first loop runs some rows.
    fn bytes(&self, rows: i64) -> i64 {
        self.ends.map_or(0, |[low, high]| high - low) + (rows - 1) * self.step
    }
}

impl Machine {
    pub(super) fn new(settings: &Settings, threads: usize) -> Self {
        let Settings {
            block_len,
            parallel_threshold,
            band_threshold,
            stream_threshold,
            ..
        } = *settings;
        Self {
            threads,
            block_len,
            parallel_threshold,
            band_threshold,
            stream_threshold,
        }
    }

    /// Whether chains are made wherever they can be, as tests want it.
    fn is_eager(&self) -> bool {
        self.band_threshold == 0
    }

    /// Whether the arrays of some loops are large enough for a chain.
    pub(super) fn admits<'a>(
        &self,
        loops: impl Iterator<Item = &'a Plain>,
        launch: &Launch<'_>,
    ) -> bool {
        let mut largest: BTreeMap<u32, i64> = BTreeMap::new();
        for (touch, reach) in loops.filter_map(|plain| reaches(plain, launch)).flatten() {
            let bytes = largest.entry(touch.memory).or_default();
            *bytes = (*bytes).max(reach.bytes());
        }
        is_beyond(largest.values().sum(), self.band_threshold)
    }
}

impl Chain {
    /// Whether it is worth while: there is something to keep in the cache, and something to keep it
    /// for.
    pub(super) fn pays(&self, machine: &Machine) -> bool {
        let is_large = is_beyond(self.held, machine.band_threshold);
        let is_read_again = self.moved >= AGAIN * (self.held - self.passing);
        self.links.len() > 1 && (machine.is_eager() || is_large && is_read_again)
    }
}

/// As `explain` prints it.
impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            first,
            links,
            band,
            threads,
            rings,
            depth,
            ..
        } = self;
        let last = first + links.len() - 1;
        write!(
            f,
            "loops {first} to {last} run in bands of {band} rows, the last loop {depth} rows behind, \
             on {threads} threads"
        )?;
        match rings.len() {
            0 => Ok(()),
            n => write!(f, "; {n} arrays pass through the cache"),
        }
    }
}

impl Builder {
    pub(super) fn new(first: usize, machine: Machine) -> Self {
        Self {
            chain: Chain {
                first,
                links: Vec::new(),
                band: 1,
                threads: 1,
                rings: Vec::new(),
                depth: 0,
                held: 0,
                passing: 0,
                moved: 0,
            },
            machine,
            memories: BTreeMap::new(),
            depths: [0, 0],
            rows: 0,
        }
    }

    /// The chain, with the memories that nothing else reaches.
    pub(super) fn finish(self, passing: &Passing, launch: &Launch<'_>) -> Chain {
        let Self {
            mut chain,
            memories,
            ..
        } = self;
        let loops = chain.first..chain.first + chain.links.len();
        let lags: Vec<_> = chain.links.iter().map(|link| link.lag).collect();
        for (number, memory) in &memories {
            let ring = passing.within(*number, &loops).and_then(|args| {
                let arg = memory.first?;
                let origin = array(launch, arg)?.0.addr() as i64;
                let bands = (&lags[..], chain.band);
                Ring::of(args, (arg, origin), bands, &memory.reaches)
            });
            if let Some(ring) = ring {
                chain.passing += memory.bytes;
                chain.rings.push(ring);
            }
        }
        chain
    }

    /// Adds a loop; `None` if it cannot be part of this chain, which ends before it.
    pub(super) fn add(&mut self, plain: &Plain, launch: &Launch<'_>) -> Option<()> {
        if self.chain.links.len() == MOST {
            return None;
        }
        let reaches = reaches(plain, launch)?;
        let &(_, first) = reaches.first()?;
        let extent = &launch.domains[plain.domain as usize];
        let len = extent.len as usize;
        let row_len = len / first.rows() as usize;
        if plain.reduces && !extent.tiles.begin_with(extent.start, row_len) {
            return None;
        }
        if self.chain.links.is_empty() {
            self.begin(first.rows(), row_len, len)?;
        }
        let is_written = |memory: &u32| self.memories.get(memory).is_some_and(|it| it.is_written);
        if plain.scalars.iter().any(is_written) {
            return None;
        }
        let waits = self.waits(&reaches)?;
        let place = self.place(&reaches);
        let links = &self.chain.links;
        let lags = waits
            .iter()
            .filter_map(|(link, wait)| Some(links[*link].lag + wait.lag()?));
        let lag = lags.max().map_or(place, |lag| lag.max(place));
        let mut depths = self.depths;
        if first.rows() > 1 {
            depths = [depths[0].min(lag - place), depths[1].max(lag - place)];
        }
        let nominal = |cut: usize| {
            let cut = self.rows * cut as i64 / self.chain.threads as i64;
            (cut - place).clamp(0, first.rows())
        };
        let waits = waits.iter().map(|(link, wait)| (&links[*link].parts, wait));
        let parts = Parts::new(first.rows(), self.chain.threads, nominal, waits)?;
        if !self.has_room(&reaches, lag, depths) {
            return None;
        }
        self.depths = depths;
        self.chain.depth = depths[1] - depths[0];
        self.note(&reaches, place, lag);
        self.chain.links.push(Link {
            row_len,
            lag,
            parts,
        });
        Some(())
    }

    /// Decides what follows from the first loop.
    fn begin(&mut self, rows: i64, row_len: usize, len: usize) -> Option<()> {
        if rows == 1 {
            return None;
        }
        let band = match self.machine.block_len {
            0 => BAND,
            set => set,
        };
        self.rows = rows;
        self.chain.band = (band / row_len).max(1) as i64;
        if len * 16 >= self.machine.parallel_threshold {
            self.chain.threads = self.machine.threads.min(rows as usize);
        }
        Some(())
    }

    /// What a loop waits for; `None` if it goes through a memory in another way than one before.
    fn waits(&self, reaches: &[(Touch, Reach)]) -> Option<Vec<(usize, Wait)>> {
        let mut waits = Vec::new();
        for (touch, reach) in reaches {
            let Some(memory) = self.memories.get(&touch.memory) else {
                continue;
            };
            for (link, earlier, is_written) in &memory.reaches {
                if (*is_written || touch.is_written)
                    && let Some(wait) = Wait::new(earlier, reach).ok()?
                {
                    waits.push((*link, wait));
                }
            }
        }
        Some(waits)
    }

    /// Beside which row of the first loop the first row of this one lies in memory: by what it
    /// writes, where a loop before has reached that. Arguments whose memory is the same for the
    /// kernel may still lie in two places, as far apart as any addresses, where one of them could
    /// not take over the memory of the other; that says nothing of rows.
    fn place(&self, reaches: &[(Touch, Reach)]) -> i64 {
        let place = |(touch, reach): &(Touch, Reach)| {
            let (frame, place) = self.memories.get(&touch.memory)?.frame.as_ref()?;
            let behind = reach.rows_behind(frame);
            let rows = self.rows.max(reach.rows()).max(frame.rows());
            (behind.abs() <= 2 * rows).then_some(place + behind)
        };
        let written = reaches.iter().filter(|(touch, _)| touch.is_written);
        let place = written.chain(reaches).find_map(place);
        place.unwrap_or(0)
    }

    /// Whether what the loops use at a time is kept in the cache, and little is left between
    /// threads.
    fn has_room(&self, reaches: &[(Touch, Reach)], lag: i64, depths: [i64; 2]) -> bool {
        let depth = depths[1] - depths[0];
        let threads = self.chain.threads as i64;
        if threads > 1 && depth > (self.rows / (SHARE * threads)).max(CLOSE) {
            return false;
        }
        let mut of_loop: BTreeMap<u32, InUse> = BTreeMap::new();
        for (touch, reach) in reaches {
            let known = self.memories.get(&touch.memory).map(|memory| memory.in_use);
            let in_use = of_loop
                .entry(touch.memory)
                .or_insert(known.unwrap_or_default());
            in_use.add(reach, lag);
        }
        let others = self
            .memories
            .iter()
            .filter(|(number, _)| !of_loop.contains_key(number));
        let others = others.map(|(_, memory)| &memory.in_use);
        let in_use: i64 = others
            .chain(of_loop.values())
            .map(|it| it.bytes(self.chain.band))
            .sum();
        let kept = match is_beyond(self.chain.held, self.machine.stream_threshold) {
            true => KEPT_OF_LARGE,
            false => KEPT,
        };
        self.machine.is_eager() || in_use <= kept
    }

    /// Notes what a loop that has been added reaches.
    fn note(&mut self, reaches: &[(Touch, Reach)], place: i64, lag: i64) {
        let number = self.chain.links.len();
        let mut moved: Vec<(u32, bool, i64)> = Vec::new();
        for (touch, reach) in reaches {
            let memory = self.memories.entry(touch.memory).or_default();
            memory.first.get_or_insert(touch.arg);
            memory.reaches.push((number, *reach, touch.is_written));
            memory.is_written |= touch.is_written;
            memory.frame.get_or_insert((*reach, place));
            self.chain.held += (reach.bytes() - memory.bytes).max(0);
            memory.bytes = memory.bytes.max(reach.bytes());
            memory.in_use.add(reach, lag);
            let same =
                |it: &&mut (u32, bool, i64)| (it.0, it.1) == (touch.memory, touch.is_written);
            match moved.iter_mut().find(same) {
                Some(known) => known.2 = known.2.max(reach.bytes()),
                None => moved.push((touch.memory, touch.is_written, reach.bytes())),
            }
        }
        self.chain.moved += moved.iter().map(|it| it.2).sum::<i64>();
    }
}

/// Whether there are more bytes than a threshold, which may be the largest number of all.
fn is_beyond(bytes: i64, threshold: usize) -> bool {
    usize::try_from(bytes).is_ok_and(|bytes| bytes > threshold)
}

/// What a loop reaches; `None` if its arrays differ in their dimensions.
fn reaches(plain: &Plain, launch: &Launch<'_>) -> Option<Vec<(Touch, Reach)>> {
    let len = launch.domains[plain.domain as usize].len as usize;
    let mut dims = None;
    let reaches = plain.touches.iter().map(|&touch| {
        let (data, layout) = array(launch, touch.arg)?;
        let same = *dims.get_or_insert((layout.rank, layout.dims));
        let is_alike = same == (layout.rank, layout.dims) && layout.len() == len && len > 0;
        is_alike.then(|| (touch, Reach::new(data, &layout, touch.size)))
    });
    reaches.collect()
}
