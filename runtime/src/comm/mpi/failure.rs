//! Failures of other ranks: what of an error crosses processes.
//!
//! In bytes: the rank that failed first, as far as it is known; a byte that says whether its matrix
//! was singular or not positive definite, by which programs decide, so that all ranks must find it;
//! then, for such a matrix, the operation and what was found, each with its length before it; and
//! what the rank said.

use crate::error::{Error, ErrorKind};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The byte of a failure of which the text alone is carried.
const TEXT: u8 = 0;
const SINGULAR: u8 = 1;
const NOT_POSITIVE_DEFINITE: u8 = 2;

/// A failure of rank `rank` as bytes.
pub(super) fn encode(failure: &Error, rank: usize) -> Vec<u8> {
    let (rank, message) = match failure.kind() {
        ErrorKind::Rank { rank, message, .. } => (*rank, message.clone()),
        _ => (failure.other_rank().unwrap_or(rank), failure.to_string()),
    };
    let mut bytes = (rank as u64).to_le_bytes().to_vec();
    let (kind, facts) = match failure.root() {
        ErrorKind::Singular { op, found } => (SINGULAR, [*op, found.as_str()]),
        ErrorKind::NotPositiveDefinite { op, found } => {
            (NOT_POSITIVE_DEFINITE, [*op, found.as_str()])
        }
        _ => (TEXT, ["", ""]),
    };
    bytes.push(kind);
    if kind != TEXT {
        for fact in facts {
            bytes.extend_from_slice(&(fact.len() as u64).to_le_bytes());
            bytes.extend_from_slice(fact.as_bytes());
        }
    }
    bytes.extend_from_slice(message.as_bytes());
    bytes
}

/// The failure of another rank from its bytes.
pub(super) fn decode(bytes: &[u8]) -> Error {
    let mut rest = bytes;
    let rank = number(&mut rest);
    let kind = rest.split_off_first().copied().unwrap_or(TEXT);
    let mut fact = || {
        let len = number(&mut rest).min(rest.len());
        let text = rest.split_off(..len).unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    };
    let fact: Option<Error> = match kind {
        SINGULAR => Some(ErrorKind::Singular {
            op: kept(fact()),
            found: fact(),
        }),
        NOT_POSITIVE_DEFINITE => Some(ErrorKind::NotPositiveDefinite {
            op: kept(fact()),
            found: fact(),
        }),
        _ => None,
    }
    .map(Into::into);
    ErrorKind::Rank {
        rank,
        message: String::from_utf8_lossy(rest).into_owned(),
        fact,
    }
    .into()
}

/// The number that bytes begin with, which it takes from them; 0 where they are too few.
fn number(bytes: &mut &[u8]) -> usize {
    match bytes.split_first_chunk() {
        Some((number, rest)) => {
            *bytes = rest;
            u64::from_le_bytes(*number) as usize
        }
        None => 0,
    }
}

/// The name of an operation, kept as long as the program runs: there are few.
fn kept(op: String) -> &'static str {
    static OPERATIONS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut operations = OPERATIONS.lock().unwrap_or_else(PoisonError::into_inner);
    match operations.get(op.as_str()) {
        Some(op) => op,
        None => {
            let op: &'static str = op.leak();
            operations.insert(op);
            op
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_keeps_its_text_and_the_rank_that_failed_first() {
        let memory = || {
            Error::from(ErrorKind::OutOfMemory {
                wanted: 8,
                available: 3,
                limit: 5,
            })
        };
        let first = decode(&encode(&memory().poison("add"), 7));
        let ErrorKind::Rank { rank, message, .. } = first.kind() else {
            panic!("{first}");
        };
        assert_eq!((*rank, message), (7, &memory().poison("add").to_string()));
        assert_eq!(decode(&encode(&first, 2)), first);
        let second = decode(&encode(&first.poison("mul"), 2));
        assert!(
            matches!(second.kind(), ErrorKind::Rank { rank: 7, .. }),
            "{second}"
        );
    }

    #[test]
    fn a_matrix_without_an_inverse_is_the_same_fact_on_every_rank() {
        let (op, found) = ("solve", "a pivot of 0 in column 3".to_owned());
        let singular = ErrorKind::Singular { op, found };
        let (op, found) = ("cholesky", String::new());
        for fact in [singular, ErrorKind::NotPositiveDefinite { op, found }] {
            let first = Error::from(fact.clone()).poison("solve");
            let told = decode(&encode(&first, 1));
            assert_eq!(told.root(), &fact);
            assert_eq!(told.other_rank(), Some(1));
            assert_eq!(told.to_string(), format!("rank 1: {first}"));
            let again = decode(&encode(&told.poison("mul"), 2));
            assert_eq!((again.root(), again.other_rank()), (&fact, Some(1)));
        }
        for len in 0..40 {
            let _ = decode(&[1; 40][..len]);
        }
    }
}
