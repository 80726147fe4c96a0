//! Several shortest paths: what SciPy's `yen` finds, random graphs against all their paths, and
//! what is refused.

use proptest::collection::vec;
use proptest::prelude::*;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::graph::{Direction, Path, k_shortest_paths, shortest_paths};
use sparsefuse_sparse::{Csr, gallery};
use sparsefuse_testing::everywhere;

type Edge = (usize, usize, f64);

/// The edges of a graph of ten nodes, with their lengths.
const EDGES: [Edge; 24] = [
    (0, 4, 26.01),
    (0, 7, 21.61),
    (1, 9, 30.21),
    (2, 5, 37.07),
    (2, 7, 7.26),
    (2, 8, 11.02),
    (3, 1, 18.68),
    (3, 8, 17.5),
    (3, 9, 17.42),
    (4, 5, 30.45),
    (4, 6, 18.76),
    (4, 7, 5.83),
    (4, 9, 8.93),
    (5, 2, 5.51),
    (5, 8, 11.14),
    (7, 0, 11.93),
    (7, 3, 24.9),
    (7, 8, 9.37),
    (7, 9, 17.66),
    (8, 4, 15.35),
    (8, 7, 33.67),
    (8, 9, 10.71),
    (9, 0, 29.26),
    (9, 1, 15.94),
];

#[track_caller]
fn check(found: &[Path], expected: &[(f64, &[usize])]) {
    assert_eq!(found.len(), expected.len());
    for (found, (length, nodes)) in found.iter().zip(expected) {
        assert!((found.length - length).abs() < 1e-12, "{found:?}");
        assert_eq!(found.nodes, *nodes);
    }
}

#[test]
fn paths_of_scipy() {
    let (along, both) = everywhere(|| {
        let a = Csr::from_entries(10, 10, EDGES)?;
        let along = k_shortest_paths(&a, 0, 9, 6, Direction::AlongEdges)?;
        let both = k_shortest_paths(&a, 0, 9, 6, Direction::Both)?;
        Ok((along, both))
    });
    check(
        &along,
        &[
            (34.94, &[0, 4, 9]),
            (39.27, &[0, 7, 9]),
            (41.69, &[0, 7, 8, 9]),
            (49.5, &[0, 4, 7, 9]),
            (51.92, &[0, 4, 7, 8, 9]),
            (55.26, &[0, 7, 8, 4, 9]),
        ],
    );
    check(
        &both,
        &[
            (26.69, &[0, 7, 4, 9]),
            (29.26, &[0, 9]),
            (29.59, &[0, 7, 9]),
            (32.01, &[0, 7, 8, 9]),
            (34.94, &[0, 4, 9]),
            (40.92, &[0, 7, 2, 8, 9]),
        ],
    );
}

/// All paths from a node to the sink that have no node twice, with their lengths.
fn all_paths(edges: &[Edge], way: &mut Vec<usize>, length: f64, sink: usize) -> Vec<Path> {
    let last = way[way.len() - 1];
    if last == sink {
        let nodes = way.clone();
        return vec![Path { length, nodes }];
    }
    let mut paths = Vec::new();
    for &(from, to, more) in edges {
        if from == last && !way.contains(&to) {
            way.push(to);
            paths.append(&mut all_paths(edges, way, length + more, sink));
            way.pop();
        }
    }
    paths
}

fn any_edges() -> impl Strategy<Value = (usize, Vec<Edge>)> {
    (1usize..7).prop_flat_map(|n| {
        let edge = (0..n, 0..n, 0u8..9).prop_map(|(i, j, k)| (i, j, f64::from(k) / 2.0));
        (Just(n), vec(edge, 0..22))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn all_of_them_in_order((n, given) in any_edges(), count in 0usize..12) {
        let directions = [Direction::AlongEdges, Direction::Both];
        let (stored, found, firsts) = everywhere(|| {
            let a = Csr::from_entries(n, n, given.iter().copied())?;
            let paths = |count, direction| k_shortest_paths(&a, 0, n - 1, count, direction);
            let of = |direction| -> Result<_, Error> {
                Ok([paths(usize::MAX, direction)?, paths(count, direction)?])
            };
            let found = [of(directions[0])?, of(directions[1])?];
            let first = |direction| -> Result<_, Error> {
                Ok(shortest_paths(&a, &[0], direction)?.distances[0][n - 1])
            };
            let firsts = [first(directions[0])?, first(directions[1])?];
            let stored = a.to_triplets()?;
            let stored = stored.iter().map(|(i, j, x)| (i as usize, j as usize, x));
            Ok((stored.collect::<Vec<Edge>>(), found, firsts))
        });
        let mut both: Vec<Edge> = stored.iter().map(|&(i, j, x)| (j, i, x)).collect();
        both.extend(&stored);
        both.sort_by(|x, y| (x.0, x.1).cmp(&(y.0, y.1)).then(x.2.total_cmp(&y.2)));
        both.dedup_by_key(|edge| (edge.0, edge.1));
        let lengths = |paths: &[Path]| paths.iter().map(|path| path.length).collect::<Vec<_>>();
        for ((edges, [all, few]), first) in [stored, both].into_iter().zip(found).zip(firsts) {
            let mut expected = all_paths(&edges, &mut vec![0], 0.0, n - 1);
            expected.sort_by(|x, y| x.length.total_cmp(&y.length));
            // All, each once.
            assert_eq!(lengths(&all), lengths(&expected));
            let mut sorted = all.clone();
            sorted.sort_by_key(|path| path.nodes.clone());
            expected.sort_by_key(|path| path.nodes.clone());
            assert_eq!(sorted, expected);
            // The first ones.
            assert_eq!(few, all[..count.min(all.len())]);
            assert_eq!(first, all.first().map_or(f64::INFINITY, |path| path.length));
        }
    }
}

/// From corner to corner of a grid all shortest paths have as many edges as the grid is wide and
/// high; there are far more of them than are asked for.
#[test]
fn a_grid_has_many_paths_of_one_length() {
    let n = 60;
    let a = gallery::poisson2d::<f32>(n).unwrap();
    let a = a.map_values(|_| 1.0).unwrap();
    let paths = k_shortest_paths(&a, 0, n * n - 1, 20, Direction::AlongEdges).unwrap();
    assert_eq!(paths.len(), 20);
    for path in &paths {
        assert_eq!(path.length, 2.0 * (n as f64 - 1.0));
        assert_eq!(path.nodes.len(), 2 * n - 1);
        let steps = path.nodes.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(steps.into_iter().all(|step| step == 1 || step == n));
    }
    let mut nodes: Vec<_> = paths.into_iter().map(|path| path.nodes).collect();
    nodes.sort_unstable();
    nodes.dedup();
    assert_eq!(nodes.len(), 20);
}

#[test]
fn no_path_and_no_edge() {
    let a = Csr::from_entries(3, 3, [(0, 1, 2.0), (1, 1, 1.0)]).unwrap();
    let paths = |source, sink, count| {
        k_shortest_paths(&a, source, sink, count, Direction::AlongEdges).unwrap()
    };
    assert_eq!(paths(0, 2, 3), []);
    assert_eq!(paths(1, 0, 3), []);
    assert_eq!(paths(0, 1, 0), []);
    let itself = Path {
        length: 0.0,
        nodes: vec![1],
    };
    assert_eq!(paths(1, 1, 3), [itself]);
    let back = k_shortest_paths(&a, 1, 0, 3, Direction::Both).unwrap();
    assert_eq!((back.len(), back[0].length), (1, 2.0));
}

#[test]
fn refusals() {
    let along = Direction::AlongEdges;
    let a = Csr::from_entries(3, 3, [(0, 1, 2.0), (1, 2, -1.0)]).unwrap();
    let error = k_shortest_paths(&a, 0, 2, 2, along).unwrap_err();
    let expected = "k_shortest_paths: expected lengths that are finite and not negative, found -1";
    assert_eq!(error.to_string(), format!("{expected} in row 1, column 2"));
    let a = Csr::from_entries(2, 3, [(0, 1, 2.0)]).unwrap();
    assert!(k_shortest_paths(&a, 0, 1, 2, along).is_err());
    let a = Csr::<f64>::identity(3).unwrap();
    for (source, sink) in [(0, 3), (3, 0)] {
        let error = k_shortest_paths(&a, source, sink, 2, along).unwrap_err();
        assert!(
            error.to_string().contains("nodes below 3, found 3"),
            "{error}"
        );
    }
}
