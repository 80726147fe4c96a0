//! Which tasks of a graph can begin, and which stores end, as its tasks begin and end.

use crate::analysis::graph::Graph;
use std::collections::BTreeSet;

/// Who still waits for whom; tasks are numbered from the first of the graph on.
pub(super) struct Order<'a> {
    graph: &'a Graph,
    /// Tasks that have all that they wait for, and have not begun.
    pub(super) ready: BTreeSet<u32>,
    /// How many tasks each one still waits for.
    waits_for: Vec<u32>,
    /// How many tasks still use each slot that ends in the graph.
    users: Vec<u32>,
}

impl<'a> Order<'a> {
    pub(super) fn new(graph: &'a Graph) -> Self {
        let numbers = (0..).zip(&graph.waits_for);
        Self {
            ready: numbers.filter(|of| *of.1 == 0).map(|of| of.0).collect(),
            waits_for: graph.waits_for.clone(),
            users: graph.users.clone(),
            graph,
        }
    }

    /// The next task, where that is to run alone; `Some(None)` where several may run side by side,
    /// and `None` where none is left.
    pub(super) fn alone(&self, wants_all: impl Fn(usize, usize) -> bool) -> Option<Option<usize>> {
        let (first, at_once) = (*self.ready.first()? as usize, self.ready.len());
        let is_alone = at_once == 1 || wants_all(first, at_once);
        Some(is_alone.then_some(first))
    }

    pub(super) fn begin(&mut self, number: usize) {
        self.ready.remove(&(number as u32));
    }

    /// Makes those ready that waited for this task alone, and frees the slots that no other uses
    /// any more.
    pub(super) fn end(&mut self, number: usize, mut free: impl FnMut(u32)) {
        for &follower in self.graph.followers(number) {
            let waits_for = &mut self.waits_for[follower as usize];
            *waits_for -= 1;
            if *waits_for == 0 {
                self.ready.insert(follower);
            }
        }
        for &place in self.graph.uses(number) {
            let users = &mut self.users[place as usize];
            *users -= 1;
            if *users == 0 {
                free(self.graph.ending[place as usize]);
            }
        }
    }
}
