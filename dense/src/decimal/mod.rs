//! Decimal text and floating-point numbers: what readers and writers of text files share.
//!
//! `scan.rs` finds the digits and the exponent of a number in a text, `rounding.rs` the number
//! nearest to them, `shortest.rs` the shortest text that is read back as the same number. The
//! results are those of the standard library, to the bit and to the letter; what is rare is left to
//! it.

mod powers;
mod rounding;
mod scan;
mod shortest;

pub use scan::{Decimal, digits, few_digits, scan};
pub use shortest::{Notation, Shortest, put_whole};
