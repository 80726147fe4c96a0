//! What travels before a task: what it fetches, and the halos that it or later tasks read.
//!
//! All of it goes in one message to each rank. Where a task has rows that need none of it, they run
//! while it is under way.
//!
//! That a halo has not arrived is a failure of the tasks that read it, and not of the one before
//! which it travels; so a rank notes for each store what is around its rows ([`Instance::around`]),
//! and a task looks whether that is what the analysis says. What has not arrived stays lost until
//! the store is written, since the other ranks take it for sent.

#![expect(
    unsafe_code,
    reason = "halos are written beside the elements of an instance"
)]

use super::failures::Failure;
use super::{Inputs, Running};
use crate::comm::exchange::around::{Around, SIDES};
use crate::comm::exchange::fetch::Fetch;
use crate::comm::exchange::together;
use crate::error::Error;
use crate::geometry::partition::needs::NeedsId;
use crate::memory::bytes;
use crate::memory::instance::{Instance, Side};

impl Running<'_, '_> {
    /// Sends what others need, and waits for what this rank does, unless there are rows that can be
    /// run before it is there.
    pub(super) fn exchange(&mut self, inputs: &mut Inputs, failures: &mut Vec<Failure>) {
        let task = self.task;
        let mut rooms = Vec::new();
        if !task.halos.is_empty() || !task.fetches.is_empty() {
            self.make_room_around();
            let pool = self.context.pool;
            rooms.extend(task.fetches.iter().map(|fetch| fetch.make_room(pool)));
            self.send(&mut rooms);
        }
        self.awaits_halos = task.halves.is_some() && self.has_room_around();
        if !self.awaits_halos {
            self.receive(&mut rooms, failures);
        }
        for (fetch, room) in task.fetches.iter().zip(rooms) {
            let fetched = room.map_err(|cause| failures.push(Failure::of(fetch.slot, cause)));
            inputs.fetched.push(fetched.ok());
        }
    }

    /// Memory for the halos of this rank.
    fn make_room_around(&mut self) {
        for halo in &self.task.halos {
            self.frame.lost.remove(&halo.slot);
            match self.make_room(halo.slot, halo.room()) {
                Ok(()) => self.note_around(halo, None),
                Err(cause) => {
                    self.frame.lost.insert(halo.slot, cause);
                }
            }
        }
    }

    /// Whether all that the task reads around rows is there, or has memory in which it can arrive
    /// while the task runs.
    fn has_room_around(&self) -> bool {
        let mut around = self.task.around.iter();
        around.all(|&(slot, needs)| {
            let arrives = self.task.halos.iter().any(|halo| halo.slot == slot);
            let instance = self.frame.instance(slot);
            !self.frame.lost.contains_key(&slot)
                && instance.is_ok_and(|there| arrives || there.around() == Some(needs))
        })
    }

    /// Sends what this rank has for others, or why there is nothing, and copies what it has itself.
    fn send(&mut self, rooms: &mut [Result<Instance, Error>]) {
        let (task, comm) = (self.task, self.context.comm);
        self.context.counters.add_sent(task.fetched());
        if !comm.has_others() {
            return;
        }
        let frame = &*self.frame;
        let halo_source = |halo: &Around| match frame.lost.get(&halo.slot) {
            Some(cause) => Err(cause.clone()),
            None => frame.instance(halo.slot),
        };
        // A rank without memory for what arrives tells those that wait for it, too.
        let fetch_source = |(fetch, room): (&Fetch, &Result<Instance, Error>)| {
            let room = room.as_ref().map_err(Clone::clone);
            room.and_then(|_| frame.instance(fetch.slot).map(|instance| &**instance))
        };
        let halos = task.halos.iter().map(halo_source);
        let halos = halos.map(|source| source.map(|instance| &**instance));
        let halos = halos.flat_map(|source| [source.clone(), source]);
        let fetches = task.fetches.iter().zip(&*rooms).map(fetch_source);
        let parts = task.exchanges();
        let sources: Vec<Result<&[u8], Error>> = (halos.chain(fetches).zip(&parts))
            .map(|(source, part)| {
                let source = bytes::of_instance(source?, part.item.size);
                part.exchange.check_source(part.item, source)
            })
            .collect();
        together::post(comm, &parts, &sources);
        let sources = sources.into_iter().skip(2 * task.halos.len());
        for ((fetch, room), source) in task.fetches.iter().zip(rooms).zip(sources) {
            let kept = source.and_then(|source| match room {
                Ok(room) => {
                    let target = bytes::of_instance_mut(room, fetch.item.size);
                    fetch.exchange.keep(fetch.item, source, target)
                }
                Err(cause) => Err(cause.clone()),
            });
            fail(room, kept);
        }
    }

    /// Waits for what other ranks have sent, and looks whether all halos that the task reads are
    /// there.
    pub(super) fn receive(
        &mut self,
        rooms: &mut [Result<Instance, Error>],
        failures: &mut Vec<Failure>,
    ) {
        let task = self.task;
        self.awaits_halos = false;
        if self.context.comm.has_others() {
            let parts = task.exchanges();
            let n_sides = 2 * task.halos.len();
            together::wait(self.context.comm, &parts, |number, places, arrived| {
                let item = parts[number].item;
                let Some(place) = number.checked_sub(n_sides) else {
                    let (halo, side) = (&task.halos[number / 2], SIDES[number % 2]);
                    let put = arrived.and_then(|bytes| {
                        self.halo(halo, side, |target| places.put(item, bytes, target))
                    });
                    if let Err(cause) = put {
                        self.frame.lost.entry(halo.slot).or_insert(cause);
                    }
                    return;
                };
                let put = arrived.map(|bytes| {
                    if let Ok(room) = &mut rooms[place] {
                        places.put(item, bytes, bytes::of_instance_mut(room, item.size));
                    }
                });
                fail(&mut rooms[place], put);
            });
        }
        for halo in &task.halos {
            if !self.frame.lost.contains_key(&halo.slot) {
                self.note_around(halo, Some(halo.needs));
            }
        }
        self.check_around(failures);
    }

    /// Has a halo of this rank written.
    fn halo(&self, halo: &Around, side: Side, write: impl FnOnce(&mut [u8])) -> Result<(), Error> {
        let instance = self.frame.instance(halo.slot)?;
        // SAFETY: the machine runs one task at a time; what reads the room is a kernel, which does
        // not run on rows that need the halo before this is over.
        let target = unsafe { halo.target(side, instance) };
        let target = target.ok_or_else(|| Error::argument("halo", "room for it", "none"))?;
        write(target);
        Ok(())
    }

    /// Notes what is around the rows of this rank.
    fn note_around(&self, halo: &Around, needs: Option<NeedsId>) {
        if let Ok(instance) = self.frame.instance(halo.slot) {
            instance.set_around(needs);
        }
    }

    /// Fails the tasks that read around rows where something else is.
    fn check_around(&self, failures: &mut Vec<Failure>) {
        for &(slot, needs) in &self.task.around {
            let instance = self.frame.instance(slot);
            let cause = match (instance, self.frame.lost.get(&slot)) {
                (Ok(instance), _) if instance.around() == Some(needs) => continue,
                (Ok(instance), Some(cause)) => {
                    instance.set_lost(cause);
                    cause.clone()
                }
                (Ok(instance), None) => instance.lost().unwrap_or_else(|| {
                    let expected = "the rows around those of this rank";
                    Error::argument("halo", expected, "none: they have not arrived")
                }),
                (Err(_), Some(cause)) => cause.clone(),
                (Err(cause), None) => cause,
            };
            failures.push(Failure::of(slot, cause));
        }
    }
}

/// Notes that what was to be in new memory is not.
fn fail(room: &mut Result<Instance, Error>, outcome: Result<(), Error>) {
    if let (Ok(_), Err(cause)) = (&room, outcome) {
        *room = Err(cause);
    }
}
