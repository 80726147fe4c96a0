//! Whether all ranks run the same program.
//!
//! Ranks that issue different tasks wait for messages that are never sent, or take one for another.
//! Where the settings ask for it ([`crate::Config::check_ranks`]), the ranks compare what they are
//! about to do, in [`Lockstep::check`], before each call in which all of them take part: a hash of
//! the tasks in the window and of the call. Where hashes differ, every rank tells the others in
//! words what it does, so all come to the same conclusion, the first task at which they part. From
//! then on nothing is exchanged any more, and every such call gives that error.

use crate::analysis::window::Window;
use crate::comm::Comm;
use crate::error::{Error, ErrorKind};
use crate::geometry::partition::Partition;
use crate::geometry::view::View;
use crate::hash::hash;
use crate::stores::store::Store;
use sparsefuse_kernels::{DType, Value};
use std::fmt::Write as _;

/// A call in which every rank must take part.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call<'a> {
    /// The window is executed because the program asks for it.
    Flush,
    /// The window is executed because it is full.
    Full,
    /// The program wants this rank's part of a store, or the element of one of rank 0.
    Read(&'a Store),
    /// The program wants what a view of a store sees, on every rank or on one.
    Gather(&'a Store, &'a View, Option<usize>),
    /// [`crate::Runtime::agree`].
    Agree,
    /// [`crate::Runtime::all_gather`] of such elements.
    AllGather(DType),
    /// A [`crate::Exchange`] of such elements, or of the indices that it is made from.
    Exchange(DType),
    /// The window is executed, and then a task of this name that reads these stores.
    Eager(&'static str, &'a [&'a Store]),
    /// The program ends.
    End,
}

/// The comparison, and what it has found.
#[derive(Debug)]
pub(crate) struct Lockstep {
    is_checked: bool,
    /// Why the ranks no longer talk.
    parted: Option<Error>,
}

/// One thing that a rank does: a task that it issues, or a call.
#[derive(Debug, PartialEq)]
struct Step {
    hash: u64,
    text: String,
}

impl Lockstep {
    pub(crate) fn new(is_checked: bool) -> Self {
        Self {
            is_checked,
            parted: None,
        }
    }

    /// Fails, on every rank alike, unless all of them make this call with the same window before
    /// it. `issued` counts all tasks so far, those of the window included.
    pub(crate) fn check(
        &mut self,
        comm: &dyn Comm,
        call: Call<'_>,
        window: &Window,
        issued: u64,
    ) -> Result<(), Error> {
        if !self.is_checked {
            return Ok(());
        }
        if let Some(parted) = &self.parted {
            return Err(parted.clone());
        }
        let compared = compare(comm, call, window, issued);
        self.parted = compared.as_ref().err().cloned();
        compared
    }

    /// Compares nothing from now on: the other ranks may be gone.
    pub(crate) fn end(&mut self) {
        self.is_checked = false;
    }
}

fn compare(comm: &dyn Comm, call: Call<'_>, window: &Window, issued: u64) -> Result<(), Error> {
    let hashes = hashes(call, window);
    let all = comm.all_gather(Ok(hash(&hashes).to_le_bytes().to_vec()))?;
    if all.iter().all(|hash| *hash == all[0]) {
        return Ok(());
    }
    let texts = texts(call, window);
    let steps = hashes.into_iter().zip(texts);
    let steps: Vec<Step> = steps.map(|(hash, text)| Step { hash, text }).collect();
    let all = comm.all_gather(Ok(to_bytes(&steps)))?;
    let lists: Vec<Vec<Step>> = all.iter().map(|bytes| from_bytes(bytes)).collect();
    let first = issued - window.tasks.len() as u64 + 1;
    Err(parting(first, &lists).into())
}

/// The first task at which a rank parts from rank 0; `first` is the number of the first step.
fn parting(first: u64, lists: &[Vec<Step>]) -> ErrorKind {
    let place = |list: &Vec<Step>| {
        let both = lists[0].iter().zip(list);
        both.take_while(|(left, right)| left.hash == right.hash)
            .count()
    };
    let places = lists.iter().map(place).enumerate().skip(1);
    let (rank, place) = places
        .min_by_key(|&(_, place)| place)
        .expect("ranks that differ are two at least");
    let does = |rank: usize| {
        let step = lists[rank].get(place);
        step.map_or_else(|| "does nothing".to_owned(), |step| step.text.clone())
    };
    ErrorKind::Parted {
        task: first + place as u64,
        rank: 0,
        does: does(0),
        other: rank,
        other_does: does(rank),
    }
}

/// One number for each task of the window, for the call, and for what the program holds.
fn hashes(call: Call<'_>, window: &Window) -> Vec<u64> {
    let tasks = 0..window.tasks.len();
    let mut hashes: Vec<u64> = tasks.map(|task| hash_of_task(window, task)).collect();
    hashes.push(hash(&call.words(window)));
    if call.executes() {
        let held = window.held().iter().map(|&held| u64::from(held));
        hashes.push(hash(&held.collect::<Vec<u64>>()));
    }
    hashes
}

/// The same in words.
fn texts(call: Call<'_>, window: &Window) -> Vec<String> {
    let tasks = 0..window.tasks.len();
    let mut texts: Vec<String> = tasks.map(|task| text_of_task(window, task)).collect();
    texts.push(call.text(window));
    if call.executes() {
        let slots = (0..window.held().len()).filter(|&slot| window.held()[slot]);
        let names: Vec<String> = slots.map(|slot| name(window, slot as u32)).collect();
        texts.push(format!("still holds {}", names.join(", ")));
    }
    texts
}

/// What a task does, by the texts of its body, not by numbers that depend on who was first to make
/// the body. All that is not a number has the same one everywhere.
fn hash_of_task(window: &Window, number: usize) -> u64 {
    let task = &window.tasks[number];
    let mut words = vec![window.body(task).fingerprint()];
    for arg in &window.args[task.args.start as usize..task.args.end as usize] {
        let (store, initial) = (
            &window.stores[arg.slot as usize],
            window.initial[arg.slot as usize],
        );
        let partition = initial.map_or(0, Partition::word);
        words.extend([u64::from(arg.slot), store.dtype() as u64, partition]);
        words.extend(store.shape().dims().iter().map(|&dim| dim as u64));
        match &arg.view {
            Some(view) => view.push_words(&mut words),
            None => words.push(u64::MAX),
        }
    }
    let fixed = window.host(number).and_then(|host| host.launch);
    words.extend(fixed.map(Partition::word));
    for param in &window.params[task.params.start as usize..task.params.end as usize] {
        words.push(param.dtype() as u64);
        words.extend(same_bits(*param));
    }
    hash(&words)
}

/// The bits of a number; all that are not a number have the same.
fn same_bits(value: Value) -> [u64; 2] {
    let is_nan = match value.dtype().real() {
        DType::F32 => |bits: u64| f32::from_bits(bits as u32).is_nan(),
        DType::F64 => |bits: u64| f64::from_bits(bits).is_nan(),
        _ => |_: u64| false,
    };
    value
        .bits()
        .map(|bits| if is_nan(bits) { u64::MAX } else { bits })
}

fn text_of_task(window: &Window, number: usize) -> String {
    let task = &window.tasks[number];
    let mut text = format!("issues `{}` of", window.body(task).name());
    for arg in &window.args[task.args.start as usize..task.args.end as usize] {
        let _ = write!(text, " {}", name(window, arg.slot));
        if let Some(view) = &arg.view {
            let _ = write!(text, " seen as {}", view.shape());
        }
        text.push(',');
    }
    for param in &window.params[task.params.start as usize..task.params.end as usize] {
        let _ = write!(text, " {param},");
    }
    text.pop();
    text
}

/// A store of the window.
fn name(window: &Window, slot: u32) -> String {
    let store = &window.stores[slot as usize];
    format!("s{slot} {} {}", store.shape(), store.dtype())
}

impl Call<'_> {
    /// Whether the window is executed with it.
    fn executes(self) -> bool {
        match self {
            Self::Flush | Self::Full | Self::Read(_) | Self::Eager(..) => true,
            Self::Gather(..) | Self::Agree | Self::AllGather(_) | Self::Exchange(_) | Self::End => {
                false
            }
        }
    }

    fn words(self, window: &Window) -> Vec<u64> {
        let store_words = |store: &Store| {
            let slot = window.known_slot(store).map_or(u64::MAX, u64::from);
            let partition = store.partition().map_or(0, Partition::word);
            let mut words = vec![slot, partition, store.dtype() as u64];
            words.extend(store.shape().dims().iter().map(|&dim| dim as u64));
            words
        };
        match self {
            Self::Flush => vec![0],
            Self::Full => vec![1],
            Self::Read(store) => [vec![2], store_words(store)].concat(),
            Self::Gather(store, view, root) => {
                let root = root.map_or(u64::MAX, |root| root as u64);
                let mut words = [vec![3, root], store_words(store)].concat();
                view.push_words(&mut words);
                words
            }
            Self::Agree => vec![4],
            Self::AllGather(dtype) => vec![5, dtype as u64],
            Self::Exchange(dtype) => vec![6, dtype as u64],
            Self::Eager(name, reads) => {
                let mut words = vec![8, name.len() as u64];
                words.extend(name.bytes().map(u64::from));
                words.extend(reads.iter().flat_map(|store| store_words(store)));
                words
            }
            Self::End => vec![7],
        }
    }

    fn text(self, window: &Window) -> String {
        match self {
            Self::Flush => "flushes its window".to_owned(),
            Self::Full => "executes its full window".to_owned(),
            Self::Read(store) | Self::Gather(store, ..) => {
                let kind = format!("{} {}", store.shape(), store.dtype());
                match window.known_slot(store) {
                    Some(slot) => {
                        let writer =
                            writer(window, slot).map_or("", |task| window.body(task).name());
                        format!("reads s{slot} {kind}, written by `{writer}`")
                    }
                    None => format!("reads a store {kind} that was written before"),
                }
            }
            Self::Agree => "asks whether all ranks have succeeded".to_owned(),
            Self::AllGather(dtype) => format!("gathers elements {dtype} of all ranks"),
            Self::Exchange(dtype) => format!("exchanges elements {dtype} with other ranks"),
            Self::Eager(name, reads) => {
                let kind = |store: &&Store| format!("{} {}", store.shape(), store.dtype());
                let kinds: Vec<String> = reads.iter().map(kind).collect();
                let of = if kinds.is_empty() { "" } else { " of " };
                format!("runs `{name}` eagerly{of}{}", kinds.join(", "))
            }
            Self::End => "has ended".to_owned(),
        }
    }
}

/// The last task of the window that writes a store.
fn writer(window: &Window, slot: u32) -> Option<&crate::analysis::window::Task> {
    let mut tasks = window.tasks.iter().rev();
    tasks.find(|task| {
        let args = &window.args[task.args.start as usize..task.args.end as usize];
        let mut declared = window.body(task).args().iter().zip(args);
        declared.any(|(declared, arg)| arg.slot == slot && declared.is_written())
    })
}

/// Steps as bytes: the hash, the number of bytes of the text, the text.
fn to_bytes(steps: &[Step]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for Step { hash, text } in steps {
        bytes.extend(hash.to_le_bytes());
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes
}

/// The inverse of [`to_bytes`].
fn from_bytes(mut bytes: &[u8]) -> Vec<Step> {
    let mut steps = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<16>() {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| head[at + byte]));
        let (text, rest) = rest.split_at((word(8) as usize).min(rest.len()));
        steps.push(Step {
            hash: word(0),
            text: String::from_utf8_lossy(text).into_owned(),
        });
        bytes = rest;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(texts: &[&str]) -> Vec<Step> {
        let step = |text: &&str| Step {
            hash: hash(&text.bytes().map(u64::from).collect::<Vec<u64>>()),
            text: (*text).to_owned(),
        };
        texts.iter().map(step).collect()
    }

    #[test]
    fn the_first_step_that_differs_on_any_rank_is_found() {
        let lists = [
            steps(&["a", "b", "ends"]),
            steps(&["a", "b", "c", "ends"]),
            steps(&["a", "c", "b", "ends"]),
        ];
        let expected = ErrorKind::Parted {
            task: 8,
            rank: 0,
            does: "b".to_owned(),
            other: 2,
            other_does: "c".to_owned(),
        };
        assert_eq!(parting(7, &lists), expected);
        let ErrorKind::Parted { task, does, .. } = parting(7, &lists[..2]) else {
            panic!("the lists differ");
        };
        assert_eq!((task, does.as_str()), (9, "ends"));
    }

    #[test]
    fn steps_travel_as_bytes() {
        let sent = steps(&["issues `dot`", "", "has ended \u{2026}"]);
        assert_eq!(from_bytes(&to_bytes(&sent)), sent);
    }

    #[test]
    fn what_is_not_a_number_is_so_in_one_way() {
        use sparsefuse_kernels::Element;
        let bits = |value: f64| same_bits(value.to_value());
        assert_eq!(bits(f64::NAN), bits(-f64::NAN));
        assert_ne!(bits(0.0), bits(-0.0));
        assert_eq!(same_bits(7i64.to_value())[0], 7);
    }
}
