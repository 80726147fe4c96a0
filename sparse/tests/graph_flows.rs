//! Flows and matchings: what SciPy's `csgraph` finds, random ones against plain searches, and what
//! is refused.

use proptest::collection::vec;
use proptest::prelude::*;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::graph::{
    maximum_flow, maximum_matching, minimum_weight_matching, structural_rank,
};
use sparsefuse_sparse::{Csr, Triplets, gallery};
use sparsefuse_testing::everywhere;

type Entries<T> = Vec<(usize, usize, T)>;

fn matrix<T: Numeric>(shape: (usize, usize), entries: &Entries<T>) -> Result<Csr<T>, Error> {
    let mut triplets = Triplets::new(shape.0, shape.1)?;
    for &(row, column, value) in entries {
        triplets.push(row, column, value)?;
    }
    Csr::from_triplets(&triplets)
}

fn entries<T: Numeric>(a: &Csr<T>) -> Result<Entries<T>, Error> {
    let triplets = a.to_triplets()?;
    let entries = triplets.iter();
    Ok(entries
        .map(|(row, column, value)| (row as usize, column as usize, value))
        .collect())
}

/// The example of SciPy's `maximum_flow`.
#[test]
fn a_flow_of_scipy() {
    let edges = vec![
        (0, 1, 16),
        (0, 2, 13),
        (1, 2, 10),
        (1, 3, 12),
        (2, 1, 4),
        (2, 4, 14),
        (3, 2, 9),
        (3, 5, 20),
        (4, 3, 7),
        (4, 5, 4),
    ];
    let found = everywhere(|| {
        let found = maximum_flow(&matrix::<i32>((6, 6), &edges)?, 0, 5)?;
        Ok((found.value, entries(&found.flow)?, found.source_side))
    });
    assert_eq!(found.0, 23);
    assert_eq!(found.2, [true, true, true, false, true, false]);
    let leaving: i32 = found
        .1
        .iter()
        .filter(|entry| entry.0 == 0)
        .map(|entry| entry.2)
        .sum();
    assert_eq!((leaving, found.1.len()), (23, 10));
}

/// An assignment whose shortest paths go on by way of rows that are matched already.
#[test]
fn an_assignment_of_scipy() {
    let costs = [
        [90, 80, 75, 70],
        [35, 85, 55, 65],
        [125, 95, 90, 95],
        [45, 110, 95, 115],
        [50, 100, 90, 100],
    ];
    let pairs = everywhere(|| {
        let costs: Entries<f64> = (0..20)
            .map(|k| (k / 4, k % 4, f64::from(costs[k / 4][k % 4])))
            .collect();
        minimum_weight_matching(&matrix((5, 4), &costs)?)
    });
    // 70 + 55 + 95 + 45, of five rows one is left.
    assert_eq!(pairs, [(0, 3), (1, 2), (2, 1), (3, 0)]);
}

/// Entries of a matrix of up to seven rows and columns; duplicates are summed.
fn any_matrix() -> impl Strategy<Value = ((usize, usize), Entries<f64>)> {
    (1usize..8, 1usize..8).prop_flat_map(|(n_rows, n_cols)| {
        let entry = (0..n_rows, 0..n_cols, -9i8..10)
            .prop_map(|(row, column, k)| (row, column, f64::from(k) / 2.0));
        (Just((n_rows, n_cols)), vec(entry, 0..30))
    })
}

/// The least sum of values of matchings of as many rows as there can be, and their size: all
/// matchings, row by row.
fn best(entries: &Entries<f64>, n_rows: usize) -> (usize, f64) {
    let mut best = vec![(0u32, (0usize, 0.0f64))];
    for row in 0..n_rows {
        let mut next = best.clone();
        for &(taken, (size, sum)) in &best {
            for &(_, column, value) in entries.iter().filter(|entry| entry.0 == row) {
                if taken & 1 << column == 0 {
                    next.push((taken | 1 << column, (size + 1, sum + value)));
                }
            }
        }
        // Of those that take the same columns the least.
        next.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.1.total_cmp(&b.1.1)));
        next.dedup_by_key(|entry| entry.0);
        best = next;
    }
    let size = best.iter().map(|entry| entry.1.0).max().unwrap_or(0);
    let sums = best.iter().filter(|entry| entry.1.0 == size);
    (
        size,
        sums.map(|entry| entry.1.1).fold(f64::INFINITY, f64::min),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn matchings((shape, given) in any_matrix()) {
        everywhere(|| {
            let a = matrix(shape, &given)?;
            let stored = entries(&a)?;
            let (size, least) = best(&stored, shape.0);
            let value = |&(row, column): &(usize, usize)| {
                let found = stored.iter().find(|entry| (entry.0, entry.1) == (row, column));
                found.expect("a pair is an entry").2
            };
            let distinct = |pairs: &[(usize, usize)]| {
                let mut columns: Vec<_> = pairs.iter().map(|pair| pair.1).collect();
                columns.sort_unstable();
                columns.windows(2).all(|pair| pair[0] < pair[1])
                    && pairs.windows(2).all(|pair| pair[0].0 < pair[1].0)
            };
            let pairs = maximum_matching(&a)?;
            assert_eq!(pairs.iter().map(value).count(), size);
            assert!(distinct(&pairs));
            assert_eq!(structural_rank(&a)?, size);
            let cheapest = minimum_weight_matching(&a);
            assert_eq!(cheapest.is_ok(), size == shape.0.min(shape.1));
            if let Ok(cheapest) = &cheapest {
                assert!(distinct(cheapest));
                assert_eq!(cheapest.len(), size);
                assert_eq!(cheapest.iter().map(value).sum::<f64>(), least);
            }
            Ok((pairs, cheapest.ok()))
        });
    }

    /// What flows in flows out, no edge carries more than it can, and those of the cut all they
    /// can: so no flow is larger.
    #[test]
    fn flows((shape, given) in any_matrix(), is_whole in any::<bool>()) {
        let n = shape.0.max(shape.1).max(2);
        let scale = if is_whole { 2.0 } else { 0.1 };
        let given: Entries<f64> =
            given.into_iter().map(|(row, column, x)| (row, column, x.abs() * scale)).collect();
        everywhere(|| {
            let a = matrix((n, n), &given)?;
            let found = maximum_flow(&a, 0, n - 1)?;
            let mut excess = vec![0.0; n];
            let mut of_cut = 0.0;
            for (edge, capacity) in entries(&found.flow)?.iter().zip(entries(&a)?) {
                let &(from, to, carried) = edge;
                assert!((0.0..=capacity.2).contains(&carried));
                excess[from] -= carried;
                excess[to] += carried;
                if found.source_side[from] && !found.source_side[to] {
                    assert_eq!(carried, capacity.2);
                    of_cut += carried;
                }
            }
            let near = |x: f64, y: f64| (x - y).abs() <= if is_whole { 0.0 } else { 1e-12 };
            assert!(near(of_cut, found.value) && near(excess[n - 1], found.value));
            assert!(excess[1..n - 1].iter().all(|&excess| near(excess, 0.0)));
            assert!(found.source_side[0] && !found.source_side[n - 1]);
            Ok((found.value.to_bits(), entries(&found.flow)?))
        });
    }
}

/// Long paths, which a search without recursion finds.
#[test]
fn long_paths() -> Result<(), Error> {
    let n = 20_000;
    let path = gallery::poisson1d::<f64>(n)?
        .upper_triangle(1)?
        .map_values(f64::abs)?;
    let found = maximum_flow(&path, 0, n - 1)?;
    assert_eq!(
        (found.value, found.flow.sum().get()?),
        (1.0, (n - 1) as f64)
    );
    assert_eq!(structural_rank(&path)?, n - 1);
    // Each row has the column before it and its own; the first has its own alone.
    let a = gallery::poisson1d::<f64>(n)?.lower_triangle(0)?;
    let last_first: Vec<_> = (0..n).rev().collect();
    let shuffled = a.select_rows(&last_first)?;
    assert_eq!(structural_rank(&shuffled)?, n);
    let pairs = minimum_weight_matching(&shuffled)?;
    assert!(pairs.iter().all(|&(row, column)| row + column == n - 1));
    Ok(())
}

#[test]
fn nothing_and_what_is_refused() {
    everywhere(|| {
        let none = Csr::<f64>::zeros(0, 3)?;
        assert_eq!(minimum_weight_matching(&none)?, []);
        assert_eq!(maximum_matching(&Csr::<i32>::zeros(2, 0)?)?, []);
        let a = Csr::<f64>::identity(3)?;
        let message = |error: Option<Error>| error.map(|error| error.to_string());
        let refused = |a: &Csr<f64>, source, sink| message(maximum_flow(a, source, sink).err());
        let messages = [
            refused(&a, 0, 3),
            refused(&a, 1, 1),
            refused(&-&a, 0, 1),
            refused(&(&a * f64::INFINITY), 0, 1),
            refused(&none, 0, 1),
            message(minimum_weight_matching(&(&a * f64::NAN)).err()),
            message(minimum_weight_matching(&Csr::<f64>::zeros(2, 2)?).err()),
        ];
        assert!(messages.iter().all(Option::is_some), "{messages:?}");
        let apart = maximum_flow(&a, 0, 2)?;
        assert_eq!(
            (apart.value, apart.source_side),
            (0.0, vec![true, false, false])
        );
        Ok(messages)
    });
}
