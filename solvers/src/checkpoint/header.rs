//! What stands in front of the vectors: whose state it is, and all of it that is no vector.
//!
//! Words of eight bytes, little-endian: the magic, the version, the number of words; names padded
//! with zeros; numbers; the sums of the vectors; the history; a hash of all words before it.

use sparsefuse_kernels::Field;
use std::io::{self, Read};

/// The first word.
const MAGIC: u64 = u64::from_le_bytes(*b"sfkrylov");
/// The version of the format.
const VERSION: u64 = 1;
/// Words before the sums of the vectors: magic, version, length, two names of two words each, and
/// the numbers.
const FIXED: usize = 3 + 4 + 15;

/// An inner product whose bits tell an operator or a vector from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint([u64; 2]);

/// What the state of every method has besides its vectors.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) iterations: usize,
    /// The true residual's norm when it was last computed.
    pub(crate) last_true: f64,
    /// The bits of rho; of conjugate gradients, with the sign of p'A p.
    pub(crate) rho: [u64; 2],
    pub(crate) history: Vec<f64>,
}

/// See the module's text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Header {
    pub(crate) method: String,
    pub(crate) dtype: String,
    pub(crate) rows: usize,
    /// Rows of a tile of the summation order, which is part of the meaning of the numbers.
    pub(crate) tile_len: usize,
    pub(crate) matrix: Fingerprint,
    pub(crate) rhs: Fingerprint,
    pub(crate) preconditioner: Option<Fingerprint>,
    pub(crate) state: State,
    /// Of the vectors, in their order.
    pub(crate) sums: Vec<u64>,
}

/// What was expected, and what was found.
type Refusal = (String, String);

impl Fingerprint {
    pub(super) fn of<T: Field>(product: T) -> Self {
        let (re, im) = product.parts();
        Self([re, im].map(|part| {
            if part.is_nan() {
                u64::MAX
            } else {
                part.to_bits()
            }
        }))
    }
}

impl Header {
    /// The bytes that it takes in front of `n_vectors` vectors.
    pub(super) fn bytes(&self, n_vectors: usize) -> u64 {
        ((FIXED + n_vectors + self.state.history.len() + 1) * size_of::<u64>()) as u64
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut words = vec![MAGIC, VERSION, self.bytes(self.sums.len()) / 8];
        words.extend(name_words(&self.method));
        words.extend(name_words(&self.dtype));
        words.extend([self.rows as u64, self.tile_len as u64]);
        words.extend(self.matrix.0);
        words.extend(self.rhs.0);
        words.push(u64::from(self.preconditioner.is_some()));
        words.extend(
            self.preconditioner
                .map_or([0; 2], |fingerprint| fingerprint.0),
        );
        let State {
            iterations,
            last_true,
            rho,
            history,
        } = &self.state;
        words.extend([*iterations as u64, last_true.to_bits()]);
        words.extend(rho);
        words.push(history.len() as u64);
        words.push(self.sums.len() as u64);
        debug_assert_eq!(words.len(), FIXED, "the fixed part has a fixed length");
        words.extend(&self.sums);
        words.extend(history.iter().map(|norm| norm.to_bits()));
        words.push(hash(&words));
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    /// The header at the beginning of a file of `len` bytes, or what is wrong with it.
    pub(super) fn read(reader: &mut impl Read, len: u64) -> io::Result<Result<Self, Refusal>> {
        let refuse = |expected: &str, found: String| Ok(Err((expected.to_owned(), found)));
        if len < 24 {
            return refuse("a checkpoint", format!("a file of {len} bytes"));
        }
        let mut words = read_words(reader, 3)?;
        if words[0] != MAGIC {
            let found = String::from_utf8_lossy(&words[0].to_le_bytes()).into_owned();
            let found = format!("a file that begins with {found:?}");
            return refuse("a checkpoint, which begins with \"sfkrylov\"", found);
        }
        if words[1] != VERSION {
            let expected = format!("version {VERSION} of the format");
            return refuse(&expected, format!("version {}", words[1]));
        }
        if words[2] <= FIXED as u64 || words[2] > len / 8 {
            let found = format!("{len} bytes: the file is cut short or damaged");
            return refuse(&format!("a header of {} words", words[2]), found);
        }
        words.extend(read_words(reader, words[2] as usize - 3)?);
        let (last, rest) = words.split_last().expect("there are the fixed words");
        match Self::from_words(rest).filter(|_| *last == hash(rest)) {
            Some(header) => Ok(Ok(header)),
            None => refuse(
                "a header with the hash that it states",
                "another: it is damaged".into(),
            ),
        }
    }

    /// The inverse of [`Header::to_bytes`], without magic, lengths and hash.
    fn from_words(words: &[u64]) -> Option<Self> {
        let (fixed, lists) = words.split_at_checked(FIXED)?;
        let number = |at: usize| usize::try_from(fixed[at]).ok();
        let pair = |at: usize| [fixed[at], fixed[at + 1]];
        let (sums, history) = lists.split_at_checked(number(21)?)?;
        if history.len() != number(20)? {
            return None;
        }
        Some(Self {
            method: name(pair(3)),
            dtype: name(pair(5)),
            rows: number(7)?,
            tile_len: number(8)?,
            matrix: Fingerprint(pair(9)),
            rhs: Fingerprint(pair(11)),
            preconditioner: (fixed[13] != 0).then(|| Fingerprint(pair(14))),
            state: State {
                iterations: number(16)?,
                last_true: f64::from_bits(fixed[17]),
                rho: pair(18),
                history: history.iter().map(|&bits| f64::from_bits(bits)).collect(),
            },
            sums: sums.to_vec(),
        })
    }

    /// Whether this is the header of a checkpoint of the solve that `expected` describes.
    pub(super) fn check(&self, expected: &Self) -> Result<(), Refusal> {
        let of = |text: &dyn std::fmt::Display| format!("a checkpoint of {text}");
        let refuse = |expected: String, found: String| Err((expected, found));
        if self.method != expected.method {
            return refuse(of(&expected.method), format!("one of {}", self.method));
        }
        if self.dtype != expected.dtype {
            let elements = format!("elements {}", expected.dtype);
            return refuse(of(&elements), format!("elements {}", self.dtype));
        }
        if self.rows != expected.rows {
            let rows = format!("{} rows", expected.rows);
            return refuse(of(&rows), format!("{} rows", self.rows));
        }
        if self.tile_len != expected.tile_len {
            let tiles = format!("tiles of {} rows", expected.tile_len);
            return refuse(of(&tiles), format!("tiles of {} rows", self.tile_len));
        }
        match (self.preconditioner, expected.preconditioner) {
            (None, Some(_)) => {
                let found = "one of a solve without a preconditioner";
                return refuse(of(&"a solve with a preconditioner"), found.to_owned());
            }
            (Some(_), None) => {
                let found = "one of a solve with a preconditioner";
                return refuse(of(&"a solve without a preconditioner"), found.to_owned());
            }
            (None, None) | (Some(_), Some(_)) => {}
        }
        for (what, is_same) in [
            ("matrix", self.matrix == expected.matrix),
            ("right-hand side", self.rhs == expected.rhs),
            (
                "preconditioner",
                self.preconditioner == expected.preconditioner,
            ),
        ] {
            if !is_same {
                return refuse(of(&format!("this {what}")), "one of another".to_owned());
            }
        }
        Ok(())
    }
}

fn read_words(reader: &mut impl Read, count: usize) -> io::Result<Vec<u64>> {
    let mut words = Vec::new();
    for _ in 0..count {
        let mut bytes = [0u8; 8];
        reader.read_exact(&mut bytes)?;
        words.push(u64::from_le_bytes(bytes));
    }
    Ok(words)
}

/// A name of at most 16 bytes.
fn name_words(name: &str) -> [u64; 2] {
    let mut bytes = [0u8; 16];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
    [word(0), word(8)]
}

fn name(words: [u64; 2]) -> String {
    let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    String::from_utf8_lossy(&bytes)
        .trim_end_matches('\0')
        .to_owned()
}

fn hash(words: &[u64]) -> u64 {
    words.iter().fold(MAGIC, |hash, &word| {
        let mixed = (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            method: "bicgstab".to_owned(),
            dtype: "cf64".to_owned(),
            rows: 100,
            tile_len: 64,
            matrix: Fingerprint::of(1.5f64),
            rhs: Fingerprint::of(f64::NAN),
            preconditioner: Some(Fingerprint::of(2.5f64)),
            state: State {
                iterations: 7,
                last_true: f64::INFINITY,
                rho: [3, 4],
                history: vec![2.0, 1.0],
            },
            sums: vec![5, 6, 7],
        }
    }

    fn read(bytes: &[u8]) -> Result<Header, Refusal> {
        Header::read(&mut &*bytes, bytes.len() as u64).unwrap()
    }

    #[test]
    fn headers_are_read_as_written_and_every_damage_is_noticed() {
        let bytes = header().to_bytes();
        assert_eq!(bytes.len() as u64, header().bytes(3));
        assert_eq!(read(&bytes), Ok(header()));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&damaged).is_err(), "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert!(read(&bytes[..len]).is_err(), "{len} bytes");
        }
    }

    #[test]
    fn checkpoints_of_another_solve_are_refused_by_what_differs() {
        let check = |change: &dyn Fn(&mut Header), expected: &str| {
            let mut other = header();
            change(&mut other);
            let (wanted, found) = other.check(&header()).unwrap_err();
            assert_eq!(format!("{wanted}, found {found}"), expected);
        };
        assert_eq!(header().check(&header()), Ok(()));
        check(
            &|other| other.method = "cg".to_owned(),
            "a checkpoint of bicgstab, found one of cg",
        );
        check(
            &|other| other.rows = 99,
            "a checkpoint of 100 rows, found 99 rows",
        );
        check(
            &|other| other.preconditioner = None,
            "a checkpoint of a solve with a preconditioner, \
             found one of a solve without a preconditioner",
        );
        check(
            &|other| other.matrix = Fingerprint::of(1.25f64),
            "a checkpoint of this matrix, found one of another",
        );
        check(
            &|other| other.tile_len = 1024,
            "a checkpoint of tiles of 64 rows, found tiles of 1024 rows",
        );
    }
}
