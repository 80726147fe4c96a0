//! Splitting loops over few rows, which merging has put together though they have nothing in
//! common.
//!
//! The rows in front of a grid and those behind it are loops of one row each. Merged, they move no
//! byte less, and the loops that read the first ones have to come after the last ones: then loops
//! cannot follow each other over the rows of the grid (see [`crate::blocks`]).

use super::memory::Memories;
use super::retain;
use crate::ir::{self, ArgId, Inst, Kernel, Loop};
use std::collections::BTreeMap;

/// Splits the loops over some domains into parts that share no value and no array.
pub fn split(kernel: &mut Kernel, is_short: impl Fn(u32) -> bool) {
    let memories = Memories::new(&kernel.args);
    for loop_ in std::mem::take(&mut kernel.loops) {
        let domain = loop_.domain;
        let parts = match is_short(domain) {
            true => parts(loop_.body, &memories),
            false => vec![loop_.body],
        };
        let loops = parts.into_iter().map(|body| Loop { domain, body });
        kernel.loops.extend(loops);
    }
}

/// The parts of a body, each with copies of the uniform values that it needs.
fn parts(body: Vec<Inst>, memories: &Memories) -> Vec<Vec<Inst>> {
    let uniform = ir::uniform_values(&body);
    let has_rows = |number: &usize| !uniform[*number];
    let effects = body.iter().filter(|inst| inst.is_effect());
    if effects.clone().count() < 2 || effects.clone().any(is_of_scalar) {
        return vec![body];
    }
    // The first instruction of each part, found from any of its instructions.
    let mut firsts = Firsts((0..body.len()).collect());
    let mut written = vec![false; memories.count()];
    for inst in effects {
        inst.for_each_arg(|arg| written[memories.of(arg)] = true);
    }
    let mut of_memory: BTreeMap<(usize, Option<ArgId>), usize> = BTreeMap::new();
    for number in (0..body.len()).filter(has_rows) {
        body[number].for_each_operand(|value| {
            if has_rows(&(value as usize)) {
                firsts.join(value as usize, number);
            }
        });
        body[number].for_each_arg(|arg| {
            // What nothing writes may be read by several parts, each in a place of its own.
            let memory = memories.of(arg);
            let place = (memory, (!written[memory]).then_some(arg));
            firsts.join(*of_memory.entry(place).or_insert(number), number);
        });
    }
    let of: Vec<usize> = (0..body.len()).map(|number| firsts.first(number)).collect();
    let begins = (0..body.len()).filter(|&number| has_rows(&number) && of[number] == number);
    let part = |first: usize| {
        let is_of = |number: usize| has_rows(&number) && of[number] == first;
        let mut is_kept: Vec<bool> = (0..body.len()).map(is_of).collect();
        for (number, inst) in body.iter().enumerate().rev() {
            if is_kept[number] {
                inst.for_each_operand(|value| is_kept[value as usize] = true);
            }
        }
        let mut part = body.clone();
        retain(&mut part, &is_kept);
        part
    };
    begins.map(part).collect()
}

/// Whether an instruction writes a scalar.
fn is_of_scalar(inst: &Inst) -> bool {
    matches!(inst, Inst::StoreScalar(..))
}

/// Sets of numbers, by their least one: union-find.
struct Firsts(Vec<usize>);

impl Firsts {
    fn first(&mut self, mut number: usize) -> usize {
        while self.0[number] != number {
            self.0[number] = self.0[self.0[number]];
            number = self.0[number];
        }
        number
    }

    fn join(&mut self, one: usize, other: usize) {
        let [one, other] = [self.first(one), self.first(other)];
        self.0[one.max(other)] = one.min(other);
    }
}
