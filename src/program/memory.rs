//! The memory of the machine and of this process: whether a matrix can be held at all, a question
//! asked before memory is, since the system ends a program that asks for too much without a word;
//! and how much was needed in the end.

use super::failure::Failure;
use super::output;
use std::fs;

/// Refuses what needs more bytes than are available; where the system does not tell, nothing is
/// refused.
pub(super) fn check(subject: &str, bytes: u128) -> Result<(), Failure> {
    check_that("a matrix", subject, bytes)
}

/// As [`check`], of something else.
pub(super) fn check_that(what: &str, subject: &str, bytes: u128) -> Result<(), Failure> {
    match available() {
        Some(available) if bytes > u128::from(available) => Err(Failure::input(
            subject,
            format!(
                "{what} that fits the {} available",
                output::bytes(available as f64)
            ),
            format!("one that needs about {}", output::bytes(bytes as f64)),
        )),
        _ => Ok(()),
    }
}

/// Bytes for a matrix with this many rows and entries of `element` bytes, while it is solved with.
pub(super) fn of_system(rows: u128, nnz: u128, element: usize) -> u128 {
    of_matrix(rows, nnz, element) + of_vectors(rows, element)
}

/// Bytes for the vectors of this length that a solver needs.
pub(super) fn of_vectors(len: u128, element: usize) -> u128 {
    /// With b, and some for temporaries.
    const VECTORS: u128 = 10;
    len * VECTORS * element as u128
}

/// Bytes for a matrix in compressed row format with this many rows and entries of `element` bytes.
pub(super) fn of_matrix(rows: u128, nnz: u128, element: usize) -> u128 {
    8 * (rows + 1) + nnz * (4 + element as u128)
}

/// Bytes that the assembly of a matrix from triplets takes beside the matrix.
pub(super) fn of_triplets(rows: u128, nnz: u128, element: usize) -> u128 {
    // The triplets, the rows while they are sorted, and two arrays of positions.
    16 * rows + nnz * (8 + 8 + 2 * element as u128)
}

/// The bytes that the system can still give, and that its limits on this process leave.
fn available() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let of_machine = bytes_of(&info, "MemAvailable:")?;
    let of_group = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let of_group = of_group.and_then(|text| text.trim().parse().ok());
    Some(of_group.map_or(of_machine, |limit: u64| limit.min(of_machine)))
}

/// The most bytes that this process has had in memory at a time, where the system tells: its
/// arrays, and what else it holds, such as the factors of a direct solve.
pub(super) fn peak_of_process() -> Option<u64> {
    bytes_of(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// The number of a line such as `VmHWM:  1234 kB`.
fn bytes_of(text: &str, name: &str) -> Option<u64> {
    let number = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = number.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_lines() {
        let status = "VmPeak:\t   20000 kB\nVmHWM:\t    1234 kB\nThreads:\t3\n";
        assert_eq!(bytes_of(status, "VmHWM:"), Some(1234 * 1024));
        assert_eq!(bytes_of(status, "Threads:"), None);
        assert_eq!(bytes_of(status, "VmSwap:"), None);
    }
}
