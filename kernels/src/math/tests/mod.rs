//! The elementary functions against an oracle in arbitrary precision, and their special cases.

mod complex;
mod instruction_sets;
mod oracle;
mod real;
mod special;
