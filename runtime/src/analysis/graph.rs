//! The graph of a run of host tasks: which of them wait for which, by what they read and write.
//!
//! Of two tasks that use the same elements, one of which writes them, the later one waits for the
//! earlier one; all others may run at the same time. Blocks are told apart by their views
//! ([`View::may_meet`]); every other use of a store is of all its elements. Edges that follow from
//! others may be left out.
//!
//! The tasks of a graph are neighbours in the schedule, all host tasks that no exchange belongs to.
//! A graph is made with the schedule and remembered with it, so a window that repeats itself costs
//! nothing here; making one takes a look at each use of a store, and one at each pair of different
//! blocks of a store.

use crate::geometry::view::View;
use std::collections::BTreeMap;
use std::ops::Range;

/// See the module's text. Tasks are numbered from the first one of the graph on.
#[derive(Debug)]
pub(crate) struct Graph {
    /// The numbers of the tasks in the schedule.
    pub(crate) tasks: Range<usize>,
    /// How many tasks each one waits for.
    pub(crate) waits_for: Vec<u32>,
    /// The tasks that wait for each one.
    followers: Lists,
    /// Slots that end with the last of their users, and how many there are.
    pub(crate) ending: Vec<u32>,
    pub(crate) users: Vec<u32>,
    /// Which of `ending` each task uses, by their places there.
    uses: Lists,
    /// The slots of which tasks write blocks.
    pub(crate) in_place: Vec<u32>,
}

impl Graph {
    /// The tasks that wait for this one.
    pub(crate) fn followers(&self, task: usize) -> &[u32] {
        self.followers.get(task)
    }

    /// The places in `ending` of the slots that a task uses.
    pub(crate) fn uses(&self, task: usize) -> &[u32] {
        self.uses.get(task)
    }
}

/// Lists of numbers, one behind the other.
#[derive(Debug, Default)]
struct Lists {
    numbers: Vec<u32>,
    ends: Vec<usize>,
}

impl Lists {
    fn get(&self, list: usize) -> &[u32] {
        let begin = list.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.numbers[begin..self.ends[list]]
    }

    fn push(&mut self, numbers: impl IntoIterator<Item = u32>) {
        self.numbers.extend(numbers);
        self.ends.push(self.numbers.len());
    }
}

/// What a host task does with the stores of its window, by their slots.
pub(crate) struct Uses<'a> {
    pub(crate) reads: &'a [u32],
    pub(crate) writes: &'a [u32],
    pub(crate) frees: &'a [u32],
    /// Of some of the slots that it reads, it uses these blocks: slot, block, whether it is
    /// written.
    pub(crate) blocks: Vec<(u32, &'a View, bool)>,
    /// The slots of which it uses more than blocks.
    pub(crate) wholes: Vec<u32>,
}

/// The graphs of all runs of two or more host tasks, in the order of the schedule; `None` for tasks
/// that are in no graph.
pub(crate) fn graphs(tasks: &[Option<Uses<'_>>]) -> Vec<Graph> {
    let mut graphs = Vec::new();
    let mut begin = 0;
    for run in tasks.chunk_by(|a, b| a.is_some() == b.is_some()) {
        let end = begin + run.len();
        let tasks: Vec<&Uses<'_>> = run.iter().flatten().collect();
        if tasks.len() > 1 {
            graphs.push(graph(begin..end, &tasks));
        }
        begin = end;
    }
    graphs
}

fn graph(numbers: Range<usize>, tasks: &[&Uses<'_>]) -> Graph {
    let mut ending: Vec<u32> = tasks.iter().flat_map(|task| task.frees).copied().collect();
    ending.sort_unstable();
    ending.dedup();
    let mut in_place: Vec<u32> = Vec::new();
    let (mut users, mut uses) = (vec![0; ending.len()], Lists::default());
    let mut regions = Regions::default();
    let mut befores: Vec<Vec<u32>> = Vec::with_capacity(tasks.len());
    for (number, task) in tasks.iter().enumerate() {
        let mut before = Vec::new();
        let mut used = [task.reads, task.writes, task.frees].concat();
        used.sort_unstable();
        used.dedup();
        uses.push(used.iter().filter_map(|slot| {
            let place = ending.binary_search(slot).ok()?;
            users[place] += 1;
            Some(place as u32)
        }));
        for &slot in &used {
            let blocks = task.blocks.iter().filter(|block| block.0 == slot);
            if task.wholes.contains(&slot) || blocks.clone().next().is_none() {
                let is_written = task.writes.contains(&slot);
                regions.add((slot, None), is_written, number as u32, &mut before);
            }
            for &(_, view, is_written) in blocks {
                regions.add((slot, Some(view)), is_written, number as u32, &mut before);
                in_place.extend(is_written.then_some(slot));
            }
        }
        before.sort_unstable();
        before.dedup();
        before.retain(|&earlier| earlier != number as u32);
        befores.push(before);
    }
    in_place.sort_unstable();
    in_place.dedup();
    let mut followers = vec![Vec::new(); tasks.len()];
    for (number, before) in befores.iter().enumerate() {
        for &earlier in before {
            followers[earlier as usize].push(number as u32);
        }
    }
    let mut lists = Lists::default();
    followers.into_iter().for_each(|list| lists.push(list));
    Graph {
        tasks: numbers,
        waits_for: befores.iter().map(|before| before.len() as u32).collect(),
        followers: lists,
        ending,
        users,
        uses,
        in_place,
    }
}

/// The parts of stores that tasks use, and who used them last.
#[derive(Default)]
struct Regions {
    /// By slot, the numbers of its regions.
    of_slot: BTreeMap<u32, Vec<usize>>,
    /// By slot and the words of a view, the number of a region; all of a store has no words.
    known: BTreeMap<(u32, Vec<u64>), usize>,
    all: Vec<Region>,
}

struct Region {
    /// `None` for all of the store.
    view: Option<View>,
    /// The regions of the store that have elements in common with this one; itself among them.
    meets: Vec<usize>,
    writer: Option<u32>,
    /// Those that have read it since.
    readers: Vec<u32>,
}

impl Regions {
    /// Notes that a task uses a region, and adds the tasks that it waits for to `before`.
    fn add(
        &mut self,
        (slot, view): (u32, Option<&View>),
        is_written: bool,
        task: u32,
        before: &mut Vec<u32>,
    ) {
        let number = self.number(slot, view);
        for place in 0..self.all[number].meets.len() {
            let other = &self.all[self.all[number].meets[place]];
            before.extend(other.writer);
            if is_written {
                before.extend(&other.readers);
            }
        }
        if !is_written {
            self.all[number].readers.push(task);
            return;
        }
        // Who uses a part of all from now on waits for this task, and so for those before it.
        let replaced = match view {
            None => self.of_slot[&slot].clone(),
            Some(_) => vec![number],
        };
        for replaced in replaced {
            self.all[replaced].readers.clear();
            self.all[replaced].writer = None;
        }
        self.all[number].writer = Some(task);
    }

    fn number(&mut self, slot: u32, view: Option<&View>) -> usize {
        let mut words = Vec::new();
        if let Some(view) = view {
            view.push_words(&mut words);
        }
        let number = self.all.len();
        match self.known.entry((slot, words)) {
            std::collections::btree_map::Entry::Occupied(known) => return *known.get(),
            std::collections::btree_map::Entry::Vacant(new) => new.insert(number),
        };
        let of_slot = self.of_slot.entry(slot).or_default();
        of_slot.push(number);
        let mut meets = Vec::new();
        for &other in &*of_slot {
            let is_met = match (view, self.all.get(other)) {
                (Some(view), Some(Region { view: Some(of), .. })) => view.may_meet(of),
                // All of the store, or the region itself.
                _ => true,
            };
            if is_met {
                meets.push(other);
                if let Some(other) = self.all.get_mut(other) {
                    other.meets.push(number);
                }
            }
        }
        self.all.push(Region {
            view: view.copied(),
            meets,
            writer: None,
            readers: Vec::new(),
        });
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    /// Whom each use waits for: of block `block` of four of a store, or of all of it.
    fn waits(uses: &[(Option<usize>, bool)]) -> Vec<Vec<u32>> {
        let whole = View::identity(Shape::new(&[8, 8]));
        let mut regions = Regions::default();
        let uses = uses.iter().enumerate().map(|(task, &(block, is_written))| {
            let view = block.map(|block| {
                let rows = whole.slice(0, block / 2 * 4..block / 2 * 4 + 4, 1);
                let columns = block % 2 * 4..block % 2 * 4 + 4;
                rows.and_then(|rows| rows.slice(1, columns, 1)).unwrap()
            });
            let mut before = Vec::new();
            regions.add((3, view.as_ref()), is_written, task as u32, &mut before);
            before.sort_unstable();
            before.dedup();
            before
        });
        uses.collect()
    }

    #[test]
    fn disjoint_blocks_do_not_wait_for_each_other() {
        let [read, write] = [false, true];
        let block = |block, is_written| (Some(block), is_written);
        let found = waits(&[
            block(0, write),
            block(1, write),
            block(0, read),
            block(0, read),
            block(0, write),
            block(1, read),
        ]);
        assert_eq!(
            found,
            [vec![], vec![], vec![0], vec![0], vec![0, 2, 3], vec![1]]
        );
    }

    #[test]
    fn all_of_a_store_waits_for_its_blocks_and_they_for_it() {
        let found = waits(&[
            (Some(0), true),
            (Some(3), false),
            (None, false),
            (Some(1), true),
            (None, true),
            (Some(2), false),
            (None, true),
        ]);
        let expected = [
            vec![],
            vec![],
            vec![0],
            vec![2],
            vec![0, 1, 2, 3],
            vec![4],
            vec![4, 5],
        ];
        assert_eq!(found, expected);
    }
}
