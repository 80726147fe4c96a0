//! This process among those of the job: MPI started and ended, messages sent and received.
//!
//! MPI is started when the first group of ranks of all processes is made, and ended when the
//! program ends by returning from `main` or by `exit`. Where there are several processes, a panic
//! of any thread ends the whole job immediately, and says who panicked, after the hook that the
//! program had set before.
//!
//! Every process makes the same groups in the same order, so groups have the same numbers
//! everywhere. A thread that waits for a message takes what MPI has for this process and sorts it
//! into the inbox, also where it is for another rank; so no message has to wait for a certain
//! thread, and what a process has sent leaves it while it waits.

use super::calls::{self, Communicator, MOST_BYTES, Sending};
use super::inbox::{Inbox, Pair, Taken};
use super::tag::{Kind, NO_GROUP, Tag};
use crate::comm::{Message, left, rank_of_thread};
use crate::config;
use crate::error::Error;
use std::collections::VecDeque;
use std::io::Write as _;
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// This process among those of the job.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) world: Communicator,
    pub(super) process: usize,
    pub(super) processes: usize,
    /// Processes on this machine.
    pub(super) on_machine: usize,
    pub(super) most_tag: u32,
    /// Cores that this process and those that share them may run on.
    cores: usize,
    pub(super) inbox: Mutex<Inbox>,
    /// Messages on their way, the oldest first.
    sent: Mutex<VecDeque<Sending>>,
}

static JOB: OnceLock<Result<Option<Job>, Error>> = OnceLock::new();
/// The most ranks of a group in this process so far.
pub(super) static MOST_RANKS: AtomicUsize = AtomicUsize::new(1);

/// How long what a rank has sent may take to arrive after the news that it has left.
const GRACE: Duration = Duration::from_secs(5);

/// Whether what is waited for needs a rank that has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    No,
    /// It does, unless what the rank has sent is still on its way.
    Perhaps,
    Surely,
}

/// How long a thread waits before it says so.
const LONG: Duration = Duration::from_secs(30);

/// The status of a job that a panic has ended, that of a Rust program.
const PANICKED: i32 = 101;
/// The number of this process, and how many there are; `None` without a launcher.
pub(crate) fn place() -> Result<Option<(usize, usize)>, Error> {
    Ok(job()?.map(|job| (job.process, job.processes)))
}

/// The job, if a launcher has started this process; MPI is started by the first call.
pub(super) fn job() -> Result<Option<&'static Job>, Error> {
    let job = JOB.get_or_init(|| match config::launched()? {
        Some(processes) => Job::start(processes).map(Some),
        None => Ok(None),
    });
    job.as_ref().map(Option::as_ref).map_err(Clone::clone)
}

/// A lock that holds nothing which a panic could leave half done: a panic ends the job.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Job {
    /// Starts MPI; the launcher says that it has started `announced` processes.
    fn start(announced: usize) -> Result<Self, Error> {
        calls::initialise()?;
        calls::at_exit(leave);
        let world = Communicator::world()?;
        let (process, processes) = (world.process()?, world.processes()?);
        if processes == 1 && announced > 1 {
            return Err(Error::argument(
                "MPI",
                format!("the {announced} processes that the launcher has started"),
                "this one alone (does the launcher belong to this MPI? Slurm: srun --mpi=pmix)",
            ));
        }
        let alike = |place: &str| -> Result<usize, Error> {
            let of_process = world.all_gather(hash(place.as_bytes()))?;
            let same = |other: &&u64| **other == of_process[process];
            Ok(of_process.iter().filter(same).count())
        };
        let machine = calls::machine()?;
        let sharers = alike(&format!("{machine} {}", cores_allowed()))?;
        config::SHARERS.store(sharers, Ordering::Relaxed);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if processes > 1 {
            let earlier = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                earlier(panic);
                abort_on_panic(panic);
            }));
        }
        Ok(Self {
            most_tag: world.most_tag()?,
            on_machine: alike(&machine)?,
            world,
            process,
            processes,
            cores,
            inbox: Mutex::new(Inbox::default()),
            sent: Mutex::new(VecDeque::new()),
        })
    }

    /// Begins to send a message to another process, in pieces where it is long.
    pub(super) fn send(&self, process: usize, tag: Tag, mut bytes: Vec<u8>) -> Result<(), Error> {
        let mut sent = lock(&self.sent);
        if bytes.len() > MOST_BYTES {
            let kind = Kind::Piece;
            let of_pieces = Tag { kind, ..tag }.encode();
            for piece in pieces(&mut bytes, MOST_BYTES) {
                sent.push_back(self.world.send(piece, process, of_pieces)?);
            }
        }
        let last = self.world.send(bytes, process, tag.encode())?;
        sent.push_back(last);
        forget_done(&mut sent)
    }

    /// Sorts one message that has arrived, if there is one.
    fn poll(&self, inbox: &mut Inbox) -> Result<bool, Error> {
        let Some(arrival) = self.world.receive()? else {
            return Ok(false);
        };
        inbox.put(arrival.process, Tag::decode(arrival.tag), arrival.bytes);
        Ok(true)
    }

    /// Waits for the next message from one rank to another; `None` if the sender has left.
    pub(super) fn receive(&self, pair: Pair) -> Result<Option<Message>, Error> {
        let mut looks = 0;
        let mut since = None;
        loop {
            let mut inbox = lock(&self.inbox);
            match inbox.take(pair) {
                Taken::Message(message) => return Ok(Some(message)),
                // What has been sent before is in the inbox: messages do not overtake.
                Taken::Left => return Ok(None),
                Taken::Nothing => {}
            }
            if self.poll(&mut inbox)? {
                continue;
            }
            drop(inbox);
            looks += 1;
            self.pause(looks);
            self.complain_of_waiting(looks, &mut since, || format!("process {}", pair.from.0));
        }
    }

    /// Waits until `is_done`, which needs all ranks of `others`, each a process of its own, as far
    /// as they are `awaited`: where one that is has left, it will never be done.
    pub(super) fn wait<I: Iterator<Item = usize>>(
        &self,
        group: u32,
        others: impl Fn() -> I,
        awaited: impl Fn(&Inbox, usize) -> Result<Awaited, Error>,
        mut is_done: impl FnMut() -> Result<bool, Error>,
    ) -> Result<(), Error> {
        const LOOKS: usize = 256;
        let (mut looks, mut news, mut since) = (0_usize, None, None);
        while !is_done()? {
            looks += 1;
            if looks.is_multiple_of(LOOKS) {
                let mut inbox = lock(&self.inbox);
                while self.poll(&mut inbox)? {}
                for gone in others().filter(|&other| inbox.has_left(group, other)) {
                    match awaited(&inbox, gone)? {
                        Awaited::No => continue,
                        Awaited::Surely => return Err(left(gone)),
                        Awaited::Perhaps => {}
                    }
                    let since: &Instant = news.get_or_insert_with(Instant::now);
                    if since.elapsed() > GRACE {
                        return Err(left(gone));
                    }
                }
            }
            self.pause(looks);
            self.complain_of_waiting(looks, &mut since, || "other processes".to_owned());
        }
        Ok(())
    }

    /// Says, once in a process, that a thread has looked for a message for [`LONG`]: perhaps only
    /// some ranks have asked for a value that all must ask for.
    fn complain_of_waiting(
        &self,
        looks: usize,
        since: &mut Option<Instant>,
        whom: impl Fn() -> String,
    ) {
        static HAS_COMPLAINED: AtomicBool = AtomicBool::new(false);
        const LOOKS: usize = 1 << 14;
        if !looks.is_multiple_of(LOOKS) {
            return;
        }
        let has_waited = since.get_or_insert_with(Instant::now).elapsed() > LONG;
        if has_waited && !HAS_COMPLAINED.swap(true, Ordering::Relaxed) {
            complain(&format!(
                "process {} has waited for {} for {} seconds. If ranks run different programs, \
                 or only some of them ask for a value, set SPARSEFUSE_CHECK=1 to see where",
                self.process,
                whom(),
                LONG.as_secs()
            ));
        }
    }

    /// What a thread does between two looks for a message: where each rank has a core of its own
    /// it looks again at once for a while, some milliseconds in all, else it lets others run.
    fn pause(&self, looks: usize) {
        let ranks = config::sharers() * MOST_RANKS.load(Ordering::Relaxed);
        let patience = if ranks > self.cores { 16 } else { 20_000 };
        if looks < patience {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }

    /// Tells all others that this process leaves, and takes what they send until all have left:
    /// so every message arrives, and no process waits for one that will not come.
    fn leave(&self) -> Result<(), Error> {
        let tag = Tag {
            group: NO_GROUP,
            from: 0,
            to: 0,
            kind: Kind::Left,
        };
        for process in (0..self.processes).filter(|&process| process != self.process) {
            self.send(process, tag, Vec::new())?;
        }
        let mut looks = 0;
        loop {
            let mut inbox = lock(&self.inbox);
            let has_taken = self.poll(&mut inbox)?;
            let are_gone = inbox.gone() + 1 == self.processes;
            drop(inbox);
            let mut sent = lock(&self.sent);
            forget_done(&mut sent)?;
            if are_gone && sent.is_empty() {
                return Ok(());
            }
            drop(sent);
            if !has_taken {
                looks += 1;
                self.pause(looks);
            }
        }
    }
}

/// Takes off the front of a message all pieces of this length but the last one, which stays. Each
/// is the end of what is left without it, so no more than one piece is copied at a time.
fn pieces(bytes: &mut Vec<u8>, len: usize) -> Vec<Vec<u8>> {
    let mut ends = Vec::new();
    while bytes.len() > len {
        ends.push(bytes.split_off((bytes.len() - 1) / len * len));
        bytes.shrink_to_fit();
    }
    ends.push(std::mem::take(bytes));
    ends.reverse();
    *bytes = ends.pop().unwrap_or_default();
    ends
}

/// Drops the oldest messages as far as they have been sent.
fn forget_done(sent: &mut VecDeque<Sending>) -> Result<(), Error> {
    while let Some(first) = sent.front_mut() {
        if !first.is_done()? {
            break;
        }
        sent.pop_front();
    }
    Ok(())
}

/// Ends MPI when the program ends.
extern "C" fn leave() {
    let left = match JOB.get() {
        Some(Ok(Some(job))) => job.leave(),
        // MPI was started, but not the job: an error that all processes have.
        _ => Ok(()),
    };
    if let Err(error) = left.and_then(|()| calls::finalise()) {
        complain(&error.to_string());
    }
}

/// Says who panicked where and why, and ends the job: no other rank would ever hear of it. A
/// backtrace is for the hook that was there before.
fn abort_on_panic(panic: &PanicHookInfo<'_>) {
    let payload = panic.payload();
    let cause = payload.downcast_ref::<String>().map(String::as_str);
    let cause = cause.or_else(|| payload.downcast_ref::<&str>().copied());
    let cause = cause.unwrap_or("no message");
    let place = panic.location().map(ToString::to_string);
    let place = place.unwrap_or_else(|| "an unknown place".to_owned());
    let what = format!("panicked at {place}: {cause}");
    let Some(Ok(Some(job))) = JOB.get() else {
        complain(&what);
        return;
    };
    let who = match rank_of_thread() {
        Some(rank) => format!("rank {rank}"),
        None if MOST_RANKS.load(Ordering::Relaxed) == 1 => format!("rank {}", job.process),
        None => format!("a thread of process {}", job.process),
    };
    complain(&format!("{who} {what}"));
    job.world.abort(PANICKED)
}

/// Says something past the capture of test harnesses.
pub(super) fn complain(what: &str) {
    // There is no way to report it if this fails.
    let line = format!("sparsefuse: {}\n", what.trim_end());
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// The cores that this process may run on, as text; empty where the system does not say.
fn cores_allowed() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let line = lines.find(|line| line.starts_with("Cpus_allowed_list:"));
    line.unwrap_or_default().to_owned()
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_cut_into_pieces_in_order() {
        for len in [0, 1, 3, 4, 5, 8, 9, 17] {
            let whole: Vec<u8> = (0..len).collect();
            let mut last = whole.clone();
            let mut all = pieces(&mut last, 4);
            assert!(all.iter().all(|piece| piece.len() == 4));
            assert!(last.len() <= 4 && last.is_empty() == whole.is_empty());
            all.push(last);
            assert_eq!(all.concat(), whole);
        }
    }
}
