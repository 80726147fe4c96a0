//! Short lines sorted side by side, by a network of comparisons.
//!
//! Which items are compared does not depend on what they are, so no branch is mispredicted, and
//! what is done to one line is done to several. A line of 10 items takes 31 comparisons.

/// The longest lines for which this pays: twice as fast as sorting each line up to 20 items, no
/// faster from 24 on.
pub(crate) const LONGEST: usize = 20;

/// Lines side by side.
const LANES: usize = 8;

/// The pairs of places whose items are put in order, one pair after the other, so that all `n` are:
/// the merge exchange of Batcher (Knuth, *The Art of Computer Programming*, volume 3, 5.2.2,
/// algorithm M).
pub(crate) fn network(n: usize) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let top = n.next_power_of_two() / 2;
    let mut p = top;
    while p > 0 {
        let (mut q, mut r, mut d) = (top, 0, p);
        loop {
            let lower = (0..n - d).filter(|place| place & p == r);
            pairs.extend(lower.map(|place| (place, place + d)));
            if q == p {
                break;
            }
            d = q - p;
            q /= 2;
            r = p;
        }
        p /= 2;
    }
    pairs
}

/// Sorts lines of `n` elements, at most [`LONGEST`], by their network: `item` makes what is sorted
/// of an element and its place, `made_of` what is returned.
pub(crate) fn sort<T: Copy, K: Copy + Ord, U>(
    (n, network): (usize, &[(usize, usize)]),
    x: &[T],
    made: &mut [U],
    item: impl Fn(T, u64) -> K,
    made_of: impl Fn(K) -> U,
) {
    let Some(&any) = x.first() else { return };
    let mut items = [[item(any, 0); LANES]; LONGEST];
    for (x, made) in x.chunks(n * LANES).zip(made.chunks_mut(n * LANES)) {
        for (lane, line) in x.chunks(n).enumerate() {
            for ((items, &x), place) in items.iter_mut().zip(line).zip(0..) {
                items[lane] = item(x, place);
            }
        }
        for &(low, high) in network {
            let (a, b) = (items[low], items[high]);
            for lane in 0..LANES {
                items[low][lane] = a[lane].min(b[lane]);
                items[high][lane] = a[lane].max(b[lane]);
            }
        }
        for (lane, line) in made.chunks_mut(n).enumerate() {
            for (items, made) in items.iter().zip(line) {
                *made = made_of(items[lane]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Networks that sort all lines of zeros and ones sort all lines (Knuth, theorem Z).
    #[test]
    fn networks_sort() {
        assert_eq!(network(10).len(), 31);
        for n in 1..=LONGEST {
            let network = network(n);
            let all = 1u64 << n;
            // Of the longer ones some.
            let step = (all / 10_000).max(1) | 1;
            let lines: Vec<u64> = (0..all).step_by(step as usize).collect();
            let x: Vec<u64> = lines
                .iter()
                .flat_map(|line| (0..n).map(move |bit| line >> bit & 1))
                .collect();
            let mut sorted = vec![0; x.len()];
            sort((n, &network), &x, &mut sorted, |x, _| x, |x| x);
            for (line, sorted) in lines.iter().zip(sorted.chunks(n)) {
                let ones = line.count_ones() as usize;
                assert!(sorted[..n - ones].iter().all(|&x| x == 0), "{n}: {line:b}");
                assert!(sorted[n - ones..].iter().all(|&x| x == 1), "{n}: {line:b}");
            }
        }
    }
}
