//! The processes that run this program together: who speaks for all, and that none fails alone.
//!
//! The first process prints and writes. What a process does on its own (reading arguments, files,
//! the environment) may fail on some and not on others; [`Together::agree`] makes it the failure
//! of all, so that none goes on to wait for one that has given up, and all end with one status.

use super::failure::Failure;
use sparsefuse::Error;
use sparsefuse::runtime::{Config, Processes, Runtime};
use std::ffi::{OsStr, OsString};
use std::sync::{Mutex, PoisonError};

/// The processes of this program.
pub(super) struct Together {
    pub(super) processes: Processes,
}

/// Why a process failed, or one of its ranks.
#[derive(Clone, Debug, PartialEq)]
struct Complaint {
    /// The rank that failed; the first of its process if the process did.
    rank: u64,
    /// Whether this is a failure of that rank, not what it heard of another.
    is_own: bool,
    text: String,
}

impl Together {
    pub(super) fn join() -> Result<Self, Error> {
        let processes = Processes::join()?;
        Ok(Self { processes })
    }

    /// Whether this is the process that prints and writes.
    pub(super) fn is_first(&self) -> bool {
        self.processes.number() == 0
    }

    /// Refuses processes that were started with different words: each would wait for what the
    /// others never do.
    pub(super) fn check_alike(&self, words: impl Iterator<Item = OsString>) -> Result<(), Failure> {
        let mine = words.collect::<Vec<_>>().join(OsStr::new(" "));
        let all = self.processes.all_gather(mine.into_encoded_bytes())?;
        let Some(process) = all.iter().position(|words| *words != all[0]) else {
            return Ok(());
        };
        let text = |words: &[u8]| String::from_utf8_lossy(words).into_owned();
        Err(Failure::Agreed(format!(
            "expected the same arguments on all processes, found `{}` on process 0 and `{}` on \
             process {process}",
            text(&all[0]),
            text(&all[process]),
        )))
    }

    /// Runs `program` on this many ranks of each process: what it returns on those of this one, or
    /// the failure of a rank. Of several failures that is the first one whose cause is its own: a
    /// rank that fails and ends leaves others that find it gone, or doing something else.
    pub(super) fn run_ranks<R: Send>(
        &self,
        ranks: usize,
        config: &Config,
        program: impl Fn(&Runtime) -> Result<R, Failure> + Sync,
    ) -> Result<Vec<R>, Failure> {
        let failures = Mutex::new(Vec::new());
        let ran = self.processes.run_ranks(ranks, config, |runtime| {
            let note = |failure| {
                let failures = failures.lock();
                // A list is whole after every push.
                let mut failures = failures.unwrap_or_else(PoisonError::into_inner);
                failures.push((runtime.rank(), failure));
            };
            program(runtime).map_err(note).ok()
        });
        let failures = failures.into_inner();
        let failures = failures.unwrap_or_else(PoisonError::into_inner);
        let order = |(rank, failure): &(usize, Failure)| (failure.follows(), *rank);
        let failure = failures.into_iter().min_by_key(order);
        let (rank, mine) = match (failure, ran) {
            (Some((rank, failure)), Err(_)) if !failure.follows() => (rank, Err(failure)),
            (_, Err(error)) => (self.processes.number() * ranks, Err(error.into())),
            (Some((rank, failure)), Ok(_)) => (rank, Err(failure)),
            (None, Ok(values)) => (0, Ok(values.into_iter().flatten().collect())),
        };
        self.agree(rank, mine)
    }

    /// What `mine` holds if all processes have succeeded, else one failure on all of them, which
    /// names its rank unless all have failed alike. `rank` is the one that `mine` is of.
    pub(super) fn agree<T>(&self, rank: usize, mine: Result<T, Failure>) -> Result<T, Failure> {
        if self.processes.count() == 1 {
            return mine;
        }
        let complaint = mine.as_ref().err().map(|failure| Complaint {
            rank: rank as u64,
            is_own: !failure.follows(),
            text: failure.to_string(),
        });
        let all = self.processes.all_gather(encode(complaint.as_ref()))?;
        let all: Vec<_> = all.iter().map(|bytes| decode(bytes)).collect();
        match verdict(&all) {
            Some(text) => Err(Failure::Agreed(text)),
            None => mine,
        }
    }
}

/// One sentence for the complaints of all processes; `None` if there are none.
fn verdict(all: &[Option<Complaint>]) -> Option<String> {
    let complaints = || all.iter().flatten();
    let Some(first) = complaints().find(|complaint| complaint.is_own) else {
        return complaints().next().map(|heard| heard.text.clone());
    };
    let is_like_first = |complaint: &Option<Complaint>| {
        let same = |complaint: &Complaint| complaint.is_own && complaint.text == first.text;
        complaint.as_ref().is_some_and(same)
    };
    Some(if all.iter().all(is_like_first) {
        first.text.clone()
    } else {
        format!("rank {}: {}", first.rank, first.text)
    })
}

fn encode(complaint: Option<&Complaint>) -> Vec<u8> {
    let Some(Complaint { rank, is_own, text }) = complaint else {
        return Vec::new();
    };
    let mut bytes = rank.to_le_bytes().to_vec();
    bytes.push(u8::from(*is_own));
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Option<Complaint> {
    let (rank, rest) = bytes.split_first_chunk()?;
    let (is_own, text) = rest.split_first()?;
    Some(Complaint {
        rank: u64::from_le_bytes(*rank),
        is_own: *is_own != 0,
        text: String::from_utf8_lossy(text).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(all: &[(u64, bool, &str)], expected: Option<&str>) {
        let all: Vec<_> = all
            .iter()
            .map(|&(rank, is_own, text)| {
                let text = text.to_owned();
                let complaint = (!text.is_empty()).then_some(Complaint { rank, is_own, text });
                assert_eq!(decode(&encode(complaint.as_ref())), complaint);
                complaint
            })
            .collect();
        assert_eq!(verdict(&all).as_deref(), expected);
    }

    #[test]
    fn a_rank_that_fails_alone_is_the_one_that_is_told_of() {
        let together = Together::join().expect("this process is alone");
        for failing in [0, 1, 2] {
            for check_ranks in [false, true] {
                let config = Config {
                    check_ranks,
                    ..Config::default()
                };
                let ran = together.run_ranks(3, &config, |runtime| {
                    if runtime.rank() == failing {
                        return Err(Failure::input("file", "a matrix", "none"));
                    }
                    Ok(runtime.agree(Ok(()))?)
                });
                let failure = ran.expect_err("a rank has failed").to_string();
                assert_eq!(failure, "file: expected a matrix, found none");
            }
        }
    }

    #[test]
    fn one_sentence_is_said_of_all_complaints() {
        check(&[(0, true, ""), (1, true, "")], None);
        check(
            &[(0, true, "no file"), (1, true, "no file")],
            Some("no file"),
        );
        check(
            &[(0, true, ""), (1, true, "no file")],
            Some("rank 1: no file"),
        );
        let heard = "rank 2: no memory";
        check(&[(0, false, heard), (2, true, "no memory")], Some(heard));
        check(&[(0, false, heard), (1, true, "")], Some(heard));
    }
}
