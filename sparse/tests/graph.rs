//! Graphs: what SciPy's `csgraph` finds on a small one, random ones against plain searches, and
//! what is refused.

use proptest::collection::vec;
use proptest::prelude::*;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::graph::{
    Connection, Direction, breadth_first, connected_components, reverse_cuthill_mckee,
    shortest_paths,
};
use sparsefuse_sparse::{Csr, Triplets, gallery};
use sparsefuse_testing::everywhere;

/// The edges of a graph of twelve nodes, with their lengths.
const EDGES: [(usize, usize, f64); 18] = [
    (0, 8, 0.49),
    (1, 0, 2.47),
    (1, 3, 1.34),
    (1, 6, 3.77),
    (1, 8, 0.51),
    (1, 9, 2.97),
    (2, 3, 3.73),
    (2, 4, 1.16),
    (2, 9, 3.83),
    (4, 5, 3.74),
    (5, 4, 0.32),
    (6, 2, 3.08),
    (6, 4, 0.25),
    (6, 8, 2.26),
    (7, 2, 2.0),
    (7, 8, 1.06),
    (9, 0, 1.55),
    (10, 11, 3.47),
];

fn graph(n: usize, edges: &[(usize, usize, f64)]) -> Result<Csr<f64>, Error> {
    let mut triplets = Triplets::new(n, n)?;
    for &(from, to, length) in edges {
        triplets.push(from, to, length)?;
    }
    Csr::from_triplets(&triplets)
}

#[test]
fn components_of_scipy() {
    let found = everywhere(|| {
        let a = graph(12, &EDGES)?;
        let weak = connected_components(&a, Connection::Weak)?;
        Ok((weak, connected_components(&a, Connection::Strong)?))
    });
    assert_eq!(found.0.count, 2);
    assert_eq!(found.0.labels, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
    // SciPy numbers them in another order; nodes 4 and 5 are together.
    assert_eq!(found.1.count, 11);
    assert_eq!(found.1.labels, [0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 10]);
}

#[test]
fn breadth_first_orders_of_scipy() {
    let found = everywhere(|| {
        let a = graph(12, &EDGES)?;
        let along = breadth_first(&a, 2, Direction::AlongEdges)?;
        Ok((along, breadth_first(&a, 2, Direction::Both)?))
    });
    assert_eq!(found.0.order, [2, 3, 4, 9, 5, 0, 8]);
    assert_eq!(found.1.order, [2, 3, 4, 9, 6, 7, 1, 5, 0, 8]);
    let before = [
        Some(9),
        Some(3),
        None,
        Some(2),
        Some(2),
        Some(4),
        Some(2),
        Some(2),
        Some(6),
        Some(2),
        None,
        None,
    ];
    let predecessors: Vec<_> = (0..12).map(|node| found.1.predecessor(node)).collect();
    assert_eq!(predecessors, before);
    assert_eq!(found.1.predecessor(12), None);
}

#[test]
fn shortest_paths_of_scipy() {
    let found = everywhere(|| {
        let a = graph(12, &EDGES)?;
        let along = shortest_paths(&a, &[2, 0], Direction::AlongEdges)?;
        Ok((along, shortest_paths(&a, &[2, 0], Direction::Both)?))
    });
    let none = f64::INFINITY;
    let (along, both) = found;
    assert_eq!(
        along.distances[0],
        [
            5.38, none, 0.0, 3.73, 1.16, 4.9, none, none, 5.87, 3.83, none, none
        ]
    );
    assert_eq!(along.path(0, 8), Some(vec![2, 9, 0, 8]));
    assert_eq!(
        (along.path(0, 1), along.path(2, 0), along.path(0, 99)),
        (None, None, None)
    );
    assert_eq!(
        both.distances,
        [
            [
                3.55,
                3.5700000000000003,
                0.0,
                3.73,
                1.16,
                1.48,
                1.41,
                2.0,
                3.06,
                3.83,
                none,
                none
            ],
            [
                0.0, 1.0, 3.55, 2.34, 3.0, 3.32, 2.75, 1.55, 0.49, 1.55, none, none
            ]
        ]
    );
    assert_eq!(both.path(1, 3), Some(vec![0, 8, 1, 3]));
    assert_eq!(
        (both.predecessor(0, 2), both.predecessor(0, 1)),
        (None, Some(8))
    );
}

/// The least number of edges from each node to each other one, or of the least lengths.
fn all_distances(n: usize, edges: &[(usize, usize, f64)]) -> Vec<Vec<f64>> {
    let mut distances = vec![vec![f64::INFINITY; n]; n];
    for node in 0..n {
        distances[node][node] = 0.0;
    }
    for &(from, to, length) in edges {
        distances[from][to] = length.min(distances[from][to]);
    }
    for middle in 0..n {
        for from in 0..n {
            for to in 0..n {
                let through = distances[from][middle] + distances[middle][to];
                distances[from][to] = through.min(distances[from][to]);
            }
        }
    }
    distances
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn random_graphs(n in 1usize..14, edges in vec((0usize..14, 0usize..14, 0u8..5), 0..30)) {
        // Whole lengths, whose sums are exact; entries at the same place would be summed.
        let mut edges: Vec<_> = edges.iter().map(|&(i, j, x)| (i % n, j % n, f64::from(x))).collect();
        edges.sort_by_key(|&(i, j, _)| (i, j));
        edges.dedup_by_key(|&mut (i, j, _)| (i, j));
        let a = graph(n, &edges).unwrap();
        let backward = edges.iter().map(|&(i, j, x)| (j, i, x));
        let undirected: Vec<_> = edges.iter().copied().chain(backward).collect();
        let sources: Vec<usize> = (0..n).collect();
        for (direction, edges) in [(Direction::AlongEdges, &edges), (Direction::Both, &undirected)] {
            let expected = all_distances(n, edges);
            let paths = shortest_paths(&a, &sources, direction).unwrap();
            prop_assert_eq!(&paths.distances, &expected);
            for (source, distances) in expected.iter().enumerate() {
                for (node, &distance) in distances.iter().enumerate() {
                    let Some(path) = paths.path(source, node) else {
                        prop_assert!(distance.is_infinite());
                        continue;
                    };
                    let length_of = |pair: &[usize]| {
                        let of_pair = edges.iter().filter(|edge| (edge.0, edge.1) == (pair[0], pair[1]));
                        of_pair.map(|edge| edge.2).fold(f64::INFINITY, f64::min)
                    };
                    prop_assert_eq!(path.windows(2).map(length_of).sum::<f64>(), distance);
                }
            }
            let hops: Vec<_> = edges.iter().map(|&(i, j, _)| (i, j, 1.0)).collect();
            let hops = all_distances(n, &hops);
            for start in 0..n {
                let found = breadth_first(&a, start, direction).unwrap();
                let by_hops: Vec<f64> = found.order.iter().map(|&node| hops[start][node]).collect();
                prop_assert!(by_hops.is_sorted() && by_hops.iter().all(|hops| hops.is_finite()));
                let reached = hops[start].iter().filter(|hops| hops.is_finite()).count();
                prop_assert_eq!(found.order.len(), reached);
            }
        }
        for (connection, edges) in [(Connection::Weak, &undirected), (Connection::Strong, &edges)] {
            let reach = all_distances(n, edges);
            let found = connected_components(&a, connection).unwrap();
            // The first node of each component, in ascending order of their numbers.
            let is_with = |i: usize, j: usize| reach[i][j].is_finite() && reach[j][i].is_finite();
            let first: Vec<usize> = (0..n).map(|i| (0..n).find(|&j| is_with(i, j)).unwrap()).collect();
            let mut firsts = first.clone();
            firsts.sort_unstable();
            firsts.dedup();
            let labels: Vec<u32> =
                first.iter().map(|first| firsts.binary_search(first).unwrap() as u32).collect();
            prop_assert_eq!((found.count, found.labels), (firsts.len(), labels));
        }
        let mut order = reverse_cuthill_mckee(&a).unwrap();
        order.sort_unstable();
        prop_assert_eq!(order, sources);
    }
}

#[test]
fn narrow_matrices_are_found_again() {
    let found = everywhere(|| {
        let a = gallery::poisson2d::<f64>(12)?;
        let shuffled: Vec<usize> = (0..144).map(|k| k * 89 % 144).collect();
        let b = a.select_rows(&shuffled)?.select_columns(&shuffled)?;
        reverse_cuthill_mckee(&b)
    });
    let a = gallery::poisson2d::<f64>(12).unwrap();
    let shuffled: Vec<usize> = (0..144).map(|k| k * 89 % 144).collect();
    let order: Vec<usize> = found.iter().map(|&k| shuffled[k]).collect();
    let b = a
        .select_rows(&order)
        .unwrap()
        .select_columns(&order)
        .unwrap();
    let offsets = b.to_dia().unwrap().offsets().to_vec();
    let widest = offsets
        .iter()
        .map(|offset| offset.unsigned_abs())
        .max()
        .unwrap();
    assert!(widest <= 13, "{widest}");
}

#[test]
fn refusals() {
    let a = gallery::poisson1d::<f64>(3).unwrap();
    let wide = a.row_range(0..2).unwrap();
    let check = |error: Error, expected: &str| assert_eq!(error.to_string(), expected);
    check(
        connected_components(&wide, Connection::Weak).unwrap_err(),
        "connected_components: expected a square matrix, found 2 by 3",
    );
    check(
        breadth_first(&a, 3, Direction::Both).unwrap_err(),
        "breadth_first: expected nodes below 3, found 3",
    );
    check(
        shortest_paths(&a, &[0], Direction::Both).unwrap_err(),
        "shortest_paths: expected lengths that are finite and not negative, \
         found -1 in row 0, column 1",
    );
    let a = graph(2, &[(0, 1, 1.0), (1, 0, f64::NAN)]).unwrap();
    check(
        shortest_paths(&a, &[0], Direction::AlongEdges).unwrap_err(),
        "shortest_paths: expected lengths that are finite and not negative, \
         found NaN in row 1, column 0",
    );
    let none = Csr::<f64>::from_triplets(&Triplets::new(0, 0).unwrap()).unwrap();
    assert_eq!(
        connected_components(&none, Connection::Strong)
            .unwrap()
            .count,
        0
    );
    assert!(reverse_cuthill_mckee(&none).unwrap().is_empty());
    let paths = shortest_paths(&none, &[], Direction::Both).unwrap();
    assert!(paths.distances.is_empty());
}

/// A path of many nodes, which a search that calls itself would not survive.
#[test]
fn deep_graphs() {
    let n = 200_000;
    let edges: Vec<_> = (0..n - 1).map(|k| (k, k + 1, 1.0)).collect();
    let a = graph(n, &edges).unwrap();
    assert_eq!(
        connected_components(&a, Connection::Strong).unwrap().count,
        n
    );
    assert_eq!(connected_components(&a, Connection::Weak).unwrap().count, 1);
    let paths = shortest_paths(&a, &[0], Direction::AlongEdges).unwrap();
    assert_eq!(paths.distances[0][n - 1], (n - 1) as f64);
    assert_eq!(paths.path(0, n - 1).unwrap().len(), n);
}
