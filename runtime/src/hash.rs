//! A hash of words, the same in every process: of keys of windows and of bodies.

/// A fast hash of words, in four lanes that do not wait for each other; equality of keys is checked
/// apart.
pub(crate) fn hash(words: &[u64]) -> u64 {
    let mix =
        |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut lanes = [words.len() as u64; 4];
    let (chunks, rest) = words.as_chunks::<4>();
    for chunk in chunks {
        for (lane, &word) in lanes.iter_mut().zip(chunk) {
            *lane = mix(*lane, word);
        }
    }
    lanes
        .iter()
        .chain(rest)
        .fold(0, |hash, &word| mix(hash, word))
}
