//! Merging loops, so that what they both touch moves once.
//!
//! A loop merges into an earlier one of the same domain if it need not come after the end of that
//! one, nor after any loop between: wherever one of the two loops writes memory that the other
//! touches, the two reach it row by row and through the same argument, so that row `i` of the later
//! loop meets only row `i` of the earlier. A loop that is all uniform has no rows and merges with
//! any.
//!
//! A loop that gathers merges with others as long as there is little arithmetic: what has more gets
//! native code.
//!
//! A copy that merges with nothing goes in front of the last loop, unless it must come after it.
//! That is the copy of an array of which a part is then written (`assign_slice`): the loop that
//! computes the part was issued before the copy, the one that writes it comes after, and so the two
//! merge.
//!
//! A merged loop runs the uniform instructions of its later part before the rows of its earlier
//! part. That changes nothing: uniform instructions touch memory only through scalar arguments,
//! rows never do, so the two could only meet in memory that is reached through two arguments, which
//! the rule above refuses.

use super::memory::Memories;
use crate::ir::{self, ArgId, Inst, Kernel, Loop, ValueId};
use std::collections::BTreeMap;

pub(super) fn merge(kernel: &mut Kernel, memories: &Memories) {
    let mut merger = Merger {
        merged: Vec::new(),
        last_of_domain: BTreeMap::new(),
        last_without_rows: None,
        touched: vec![None; memories.count()],
        written: vec![None; memories.count()],
        memories,
    };
    for loop_ in std::mem::take(&mut kernel.loops) {
        merger.place(loop_);
    }
    kernel.loops = merger.merged;
}

struct Merger<'a> {
    memories: &'a Memories,
    /// The loops so far.
    merged: Vec<Loop>,
    /// The last of them that has rows, for each domain; those that gather apart.
    last_of_domain: BTreeMap<(u32, bool), usize>,
    /// The last of them that is all uniform, so that it can take any domain.
    last_without_rows: Option<usize>,
    /// For each memory, the last loop that touched it.
    touched: Vec<Option<Touch>>,
    /// For each memory, the last loop that wrote it.
    written: Vec<Option<Touch>>,
}

/// How a loop touches or writes one memory.
#[derive(Clone, Copy)]
struct Touch {
    /// The position of the loop.
    loop_: usize,
    /// The argument, if it is the only one and is reached row by row.
    by: Option<ArgId>,
}

/// What arithmetic costs at most, in quarters of a cycle for each row, in a loop that gathers: one
/// with more is worth native code, which does not gather.
const LITTLE: u64 = 32;

/// What the arithmetic of a body costs a row, in quarters of a cycle.
fn cost(body: &[Inst]) -> u64 {
    let cost = |inst: &Inst| match *inst {
        Inst::Unary(op, _) => op.cost(),
        Inst::Binary(op, ..) => op.cost(),
        _ => 0,
    };
    body.iter().map(cost).sum()
}

/// Whether a loop gathers.
fn gathers(body: &[Inst]) -> bool {
    body.iter().any(|inst| matches!(inst, Inst::Gather { .. }))
}

/// Whether a loop computes nothing.
fn is_copy(body: &[Inst]) -> bool {
    let mut insts = body.iter();
    insts.all(|inst| matches!(inst, Inst::Load(_) | Inst::Store(..)))
}

/// One use of an argument by an instruction.
struct Access {
    arg: ArgId,
    /// Whether each row reaches its own element only (or all uniform instructions the same one).
    is_row_by_row: bool,
    writes: bool,
}

impl Merger<'_> {
    fn place(&mut self, loop_: Loop) {
        let has_rows = !ir::uniform_values(&loop_.body)
            .iter()
            .all(|&uniform| uniform);
        let first = self.first_allowed(&loop_.body);
        let target = if has_rows {
            let is_allowed = |&at: &usize| at >= first;
            self.of_domain(&loop_, first)
                .or(self.last_without_rows.filter(is_allowed))
        } else {
            // As early as possible, where it hinders nobody who comes later.
            (first < self.merged.len()).then_some(first)
        };
        let target = target.unwrap_or_else(|| self.add(&loop_, first));
        if has_rows {
            self.give_rows(target, &loop_);
        }
        self.record(target, &loop_.body);
        append(&mut self.merged[target].body, &loop_.body);
    }

    /// Adds an empty loop for one that merges with none, which need not come after the loops from
    /// `first` on; gives its position.
    fn add(&mut self, loop_: &Loop, first: usize) -> usize {
        let mut position = self.merged.len();
        if position > first && is_copy(&loop_.body) && !self.last_meets(&loop_.body) {
            position -= 1;
            self.shift_last();
        }
        let empty = Loop {
            domain: loop_.domain,
            body: Vec::new(),
        };
        self.merged.insert(position, empty);
        self.last_without_rows = Some(position);
        position
    }

    /// Whether the last loop touches memory that this body writes, or the other way round.
    fn last_meets(&self, body: &[Inst]) -> bool {
        let last = self.merged.len() - 1;
        let mut meets = false;
        for_each_access(body, |access| {
            let memory = self.memories.of(access.arg);
            let conflict = match access.writes {
                true => self.touched[memory],
                false => self.written[memory],
            };
            meets |= conflict.is_some_and(|touch| touch.loop_ == last);
        });
        meets
    }

    /// Moves the last loop, which has rows, back by one position.
    fn shift_last(&mut self) {
        let last = self.merged.len() - 1;
        let Loop { domain, body } = &self.merged[last];
        self.last_of_domain
            .insert((*domain, gathers(body)), last + 1);
        for_each_access(body, |access| {
            let memory = self.memories.of(access.arg);
            for touch in [&mut self.touched[memory], &mut self.written[memory]] {
                if let Some(touch) = touch.as_mut().filter(|touch| touch.loop_ == last) {
                    touch.loop_ = last + 1;
                }
            }
        });
    }

    /// The first of the merged loops that need not have ended before this body begins.
    fn first_allowed(&self, body: &[Inst]) -> usize {
        let mut first = 0;
        for_each_access(body, |access| {
            let memory = self.memories.of(access.arg);
            let conflict = if access.writes {
                self.touched[memory]
            } else {
                self.written[memory]
            };
            if let Some(Touch { loop_, by }) = conflict {
                let is_exchange = access.is_row_by_row && by == Some(access.arg);
                first = first.max(if is_exchange { loop_ } else { loop_ + 1 });
            }
        });
        first
    }

    /// The last loop of the domain that can take this one, of those from `first` on.
    fn of_domain(&self, loop_: &Loop, first: usize) -> Option<usize> {
        let gathers = gathers(&loop_.body);
        let last = |gathers: bool| {
            let last = self.last_of_domain.get(&(loop_.domain, gathers)).copied();
            last.filter(|&at| at >= first)
        };
        let is_little = |&at: &usize| cost(&self.merged[at].body) + cost(&loop_.body) <= LITTLE;
        last(gathers).max(last(!gathers).filter(is_little))
    }

    /// The loop at `target` runs over the domain of this one from now on.
    fn give_rows(&mut self, target: usize, loop_: &Loop) {
        let Loop { domain, body } = loop_;
        if self.last_without_rows == Some(target) {
            self.last_without_rows = None;
            self.merged[target].domain = *domain;
        }
        let gathers = gathers(body) || gathers(&self.merged[target].body);
        if gathers && self.last_of_domain.get(&(*domain, false)) == Some(&target) {
            self.last_of_domain.remove(&(*domain, false));
        }
        let last = self.last_of_domain.entry((*domain, gathers));
        let last = last.or_insert(target);
        *last = target.max(*last);
    }

    /// Notes that the loop at `target` now has this body too.
    fn record(&mut self, target: usize, body: &[Inst]) {
        for_each_access(body, |access| {
            let memory = self.memories.of(access.arg);
            let touch = Touch {
                loop_: target,
                by: access.is_row_by_row.then_some(access.arg),
            };
            join(&mut self.touched[memory], touch);
            if access.writes {
                join(&mut self.written[memory], touch);
            }
        });
    }
}

/// Keeps the touch of the later loop, and what two touches of one loop have in common.
fn join(last: &mut Option<Touch>, next: Touch) {
    match last {
        Some(last) if last.loop_ > next.loop_ => {}
        Some(last) if last.loop_ == next.loop_ => {
            last.by = last.by.filter(|&arg| next.by == Some(arg));
        }
        _ => *last = Some(next),
    }
}

fn for_each_access(body: &[Inst], mut visit: impl FnMut(Access)) {
    for inst in body {
        let is_row_by_row = matches!(
            inst,
            Inst::Load(_) | Inst::Store(..) | Inst::LoadScalar(_) | Inst::StoreScalar(..)
        );
        inst.for_each_arg(|arg| {
            visit(Access {
                arg,
                is_row_by_row,
                writes: inst.is_effect(),
            });
        });
    }
}

fn append(body: &mut Vec<Inst>, next: &[Inst]) {
    let offset = body.len() as ValueId;
    body.extend(
        next.iter()
            .map(|inst| inst.map_operands(|value| value + offset)),
    );
}
