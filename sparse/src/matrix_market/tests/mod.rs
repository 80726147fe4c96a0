//! Files that must be read, files that must be refused and with which words, and any bytes at all.
//!
//! Every text is read with several cuts: in blocks of a few bytes, chunks of one line, at once.

mod accepts;
mod on_ranks;
mod random;
mod refuses;
mod whole;

use super::source::Cuts;
use super::{Content, Header, parse_in};
use flate2::Compression;
use flate2::write::GzEncoder;
use sparsefuse_kernels::Field;
use std::io::Write;

const CUTS: [Cuts; 4] = [
    Cuts::DEFAULT,
    Cuts {
        block_len: 1,
        chunk_len: 1,
        threads: 1,
    },
    Cuts {
        block_len: 13,
        chunk_len: 5,
        threads: 2,
    },
    Cuts {
        block_len: 1 << 10,
        chunk_len: 1,
        threads: 3,
    },
];

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Reads bytes with all cuts, plain and compressed, on one rank and on several, and gives the
/// result they agree on.
fn read_all_ways<T: Field>(bytes: &[u8]) -> Result<(Header, Content<T>), String> {
    let read = |cuts, bytes: &[u8]| {
        parse_in(cuts, bytes).map_err(|error| error.in_file("a.mtx").to_string())
    };
    let first = read(CUTS[0], bytes);
    for cuts in CUTS {
        assert_eq!(read(cuts, bytes), first, "{cuts:?}");
        assert_eq!(read(cuts, &gzip(bytes)), first, "{cuts:?}, compressed");
    }
    whole::check(bytes, &first);
    on_ranks::check(bytes, &first);
    on_ranks::check(&gzip(bytes), &first);
    first
}
