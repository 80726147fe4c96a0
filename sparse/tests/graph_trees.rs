//! Spanning trees, Laplacians, depth-first orders and negative lengths: what SciPy's `csgraph`
//! finds, random graphs against plain searches, and what is refused.

use proptest::collection::vec;
use proptest::prelude::*;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::graph::{
    Connection, Degree, Direction, bellman_ford, connected_components, depth_first, laplacian,
    minimum_spanning_tree, normalized_laplacian, shortest_paths,
};
use sparsefuse_sparse::{Csr, Triplets, gallery};
use sparsefuse_testing::everywhere;

/// The edges of a graph of six nodes, with their lengths.
const EDGES: [(usize, usize, f64); 9] = [
    (0, 1, 7.0),
    (0, 3, 5.0),
    (1, 2, 8.0),
    (1, 3, 9.0),
    (1, 4, 7.0),
    (2, 4, 5.0),
    (3, 4, 15.0),
    (3, 5, 6.0),
    (4, 5, 8.0),
];

fn graph(n: usize, edges: &[(usize, usize, f64)]) -> Result<Csr<f64>, Error> {
    let mut triplets = Triplets::new(n, n)?;
    for &(from, to, length) in edges {
        triplets.push(from, to, length)?;
    }
    Csr::from_triplets(&triplets)
}

fn places(a: &Csr<f64>) -> Result<Vec<(u32, u32)>, Error> {
    let triplets = a.to_triplets()?;
    Ok(triplets
        .iter()
        .map(|(row, column, _)| (row, column))
        .collect())
}

#[test]
fn a_tree_of_scipy() {
    let (edges, sum) = everywhere(|| {
        let tree = minimum_spanning_tree(&graph(6, &EDGES)?)?;
        Ok((places(&tree)?, tree.sum().get()?))
    });
    assert_eq!(edges, [(0, 1), (0, 3), (1, 4), (2, 4), (3, 5)]);
    assert_eq!(sum, 30.0);
}

#[test]
fn depth_first_orders_of_scipy() {
    let (along, both) = everywhere(|| {
        let a = graph(6, &EDGES)?;
        let along = depth_first(&a, 0, Direction::AlongEdges)?;
        Ok((along, depth_first(&a, 4, Direction::Both)?))
    });
    assert_eq!(along.order, [0, 1, 2, 4, 5, 3]);
    assert_eq!(
        (0..7)
            .map(|node| along.predecessor(node))
            .collect::<Vec<_>>(),
        [None, Some(0), Some(1), Some(1), Some(2), Some(4), None]
    );
    assert_eq!(both.order, [4, 5, 3, 0, 1, 2]);
}

#[test]
fn laplacians_of_scipy() {
    everywhere(|| {
        // An edge to itself does not count, a stored zero does not either.
        let a = graph(3, &[(0, 0, 5.0), (0, 1, 2.0), (1, 0, 2.0), (1, 2, 0.0)])?;
        let expected = [2.0, -2.0, 0.0, -2.0, 2.0, 0.0, 0.0, 0.0, 0.0];
        for degree in [Degree::In, Degree::Out] {
            assert_eq!(laplacian(&a, degree)?.to_dense()?.to_vec()?, expected);
        }
        let normed = normalized_laplacian(&a, Degree::In)?.to_dense()?.to_vec()?;
        let expected = [1.0, -1.0, 0.0, -1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        let pairs = normed.iter().zip(&expected);
        assert!(
            pairs.clone().all(|(x, y)| (x - y).abs() < 1e-15),
            "{normed:?}"
        );
        let one_way = graph(2, &[(0, 1, 3.0)])?;
        assert_eq!(
            laplacian(&one_way, Degree::In)?.diagonal(0)?.to_vec()?,
            [0.0, 3.0]
        );
        assert_eq!(
            laplacian(&one_way, Degree::Out)?.diagonal(0)?.to_vec()?,
            [3.0, 0.0]
        );
        Ok(())
    });
}

/// Edges of a graph of up to ten nodes; duplicates are summed.
fn edges() -> impl Strategy<Value = (usize, Vec<(usize, usize, f64)>)> {
    (1usize..10).prop_flat_map(|n| {
        let edge = (0..n, 0..n, -4i8..20).prop_map(|(from, to, k)| (from, to, f64::from(k)));
        (Just(n), vec(edge, 0..25))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// As many edges as connect the components, none of them in a circle, and no other edge is
    /// shorter than the longest of the way that it would replace.
    #[test]
    fn trees((n, edges) in edges()) {
        everywhere(|| {
            let a = graph(n, &edges)?;
            let tree = minimum_spanning_tree(&a)?;
            let of = |a: &Csr<f64>| connected_components(a, Connection::Weak);
            let components = of(&a)?;
            assert_eq!(of(&tree)?, components);
            assert_eq!(tree.nnz(), n - components.count);
            for (row, column, length) in a.to_triplets()?.iter() {
                let shorter = tree.filter(|_, _, other| other <= length)?;
                let labels = of(&shorter)?.labels;
                assert_eq!(labels[row as usize], labels[column as usize]);
            }
            places(&tree)
        });
    }

    #[test]
    fn lengths_that_are_not_negative((n, edges) in edges()) {
        let edges: Vec<_> = edges.into_iter().map(|(i, j, x)| (i, j, x.abs())).collect();
        everywhere(|| {
            let a = graph(n, &edges)?;
            for direction in [Direction::AlongEdges, Direction::Both] {
                let found = bellman_ford(&a, &[0, n - 1], direction)?;
                let expected = shortest_paths(&a, &[0, n - 1], direction)?;
                assert_eq!(found.distances, expected.distances);
                for node in 0..n {
                    let path = found.path(0, node);
                    assert_eq!(path.is_some(), expected.path(0, node).is_some());
                    assert!(path.is_none_or(|path| path[0] == 0 && path[path.len() - 1] == node));
                }
            }
            Ok(())
        });
    }

    /// The search meets what another one reaches, each node from one before it.
    #[test]
    fn depth_first_orders((n, edges) in edges()) {
        everywhere(|| {
            let a = graph(n, &edges)?;
            for direction in [Direction::AlongEdges, Direction::Both] {
                let found = depth_first(&a, 0, direction)?;
                let distances = shortest_paths(&a.abs(), &[0], direction)?.distances;
                let reached = (0..n).filter(|&node| distances[0][node].is_finite());
                let mut sorted = found.order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, reached.collect::<Vec<_>>());
                for (k, &node) in found.order.iter().enumerate().skip(1) {
                    let before = found.predecessor(node).unwrap();
                    assert!(found.order[..k].contains(&before));
                }
            }
            Ok(())
        });
    }
}

/// Cycles of length 0 whose sums differ from 0 by rounding, and cycles of negative length.
#[test]
fn cycles() {
    let heights = [0.1, 0.7, -0.3, 1.1, 0.9, 1e3];
    let mut edges = Vec::new();
    for (i, x) in heights.iter().enumerate() {
        for (j, y) in heights.iter().enumerate().filter(|&(j, _)| j != i) {
            edges.push((i, j, y - x));
        }
    }
    everywhere(|| {
        let a = graph(6, &edges)?;
        let found = bellman_ford(&a, &[2], Direction::AlongEdges)?;
        for (distance, height) in found.distances[0].iter().zip(&heights) {
            assert!((distance - (height + 0.3)).abs() < 1e-12);
        }
        assert!((0..6).all(|node| found.path(0, node).is_some_and(|path| path.len() <= 6)));
        let a = graph(4, &[(0, 1, 1.0), (1, 2, -3.0), (2, 1, 2.0), (3, 0, 1.0)])?;
        let error = bellman_ford(&a, &[0], Direction::AlongEdges)
            .unwrap_err()
            .to_string();
        let expected = "bellman_ford: expected no cycle of negative length, \
                        found one on the way from node 0 to node ";
        assert!(error.starts_with(expected), "{error}");
        let one = graph(2, &[(0, 1, -1.0)])?;
        assert!(bellman_ford(&one, &[0], Direction::Both).is_err());
        assert_eq!(
            bellman_ford(&one, &[0], Direction::AlongEdges)?.distances[0],
            [0.0, -1.0]
        );
        Ok(())
    });
}

#[test]
fn many_nodes() {
    everywhere(|| {
        let a = gallery::poisson2d::<f64>(20)?;
        let tree = minimum_spanning_tree(&a.balance()?)?;
        assert_eq!((tree.nnz(), tree.sum().get()?), (399, -399.0));
        assert_eq!(depth_first(&a, 7, Direction::AlongEdges)?.order.len(), 400);
        assert_eq!(laplacian(&a, Degree::In)?.sum().get()?, 0.0);
        Ok(())
    });
}

#[test]
fn whole_numbers_and_refusals() {
    let a = Csr::new(3, 3, vec![0, 2, 3, 3], vec![1, 2, 2], vec![1i64, 3, 2]).unwrap();
    assert_eq!(
        minimum_spanning_tree(&a)
            .unwrap()
            .values()
            .to_vec()
            .unwrap(),
        [1, 2]
    );
    let sums = laplacian(&a, Degree::Out).unwrap().sum_axis(1);
    assert_eq!(sums.to_vec().unwrap(), [0; 3]);
    let check = |error: Error, expected: &str| assert_eq!(error.to_string(), expected);
    let wide = Csr::<f64>::zeros(2, 3).unwrap();
    let square = ": expected a square matrix, found 2 by 3";
    let error = minimum_spanning_tree(&wide).unwrap_err();
    check(error, &format!("minimum_spanning_tree{square}"));
    check(
        laplacian(&wide, Degree::In).unwrap_err(),
        &format!("laplacian{square}"),
    );
    let bad = graph(2, &[(0, 1, f64::NAN)]).unwrap();
    let error = minimum_spanning_tree(&bad).unwrap_err();
    let expected = "minimum_spanning_tree: expected lengths that are numbers, \
                    found NaN in row 0, column 1";
    check(error, expected);
    let error = bellman_ford(&bad, &[0], Direction::AlongEdges).unwrap_err();
    let expected = "bellman_ford: expected lengths that are finite, found NaN in row 0, column 1";
    check(error, expected);
    let error = depth_first(&bad, 2, Direction::Both).unwrap_err();
    check(error, "depth_first: expected nodes below 2, found 2");
    let none = Csr::<f64>::zeros(0, 0).unwrap();
    assert_eq!(minimum_spanning_tree(&none).unwrap().nnz(), 0);
    assert_eq!(
        normalized_laplacian(&none, Degree::In).unwrap().shape(),
        (0, 0)
    );
}

/// Cycles of length 0, along which sums are rounded, end no search and are on no path; large
/// lengths on one path do not hide that another one is shorter.
#[test]
fn rounding_of_sums_of_negative_lengths() -> Result<(), Error> {
    let first_small = [(0, 3, 0.1), (3, 2, 1e6), (2, 1, -1e6), (1, 0, -0.1)];
    let first_large = [(0, 1, 1e6), (1, 2, 0.1), (2, 3, -1e6), (3, 0, -0.1)];
    for edges in [first_small, first_large] {
        let found = bellman_ford(&graph(4, &edges)?, &[0], Direction::AlongEdges)?;
        assert_eq!(found.distances[0][0], 0.0);
        let (next, length) = (edges[0].1, edges[0].2);
        assert_eq!(found.distances[0][next], length);
        assert_eq!(found.path(0, next), Some(vec![0, next]));
    }
    let shorter = [(0, 1, 1e15), (1, 2, -1e15), (0, 3, 1.0), (3, 2, -2.0)];
    let found = bellman_ford(&graph(4, &shorter)?, &[0], Direction::AlongEdges)?;
    assert_eq!(found.distances[0][2], -1.0);
    assert_eq!(found.path(0, 2), Some(vec![0, 3, 2]));

    // A large value on the diagonal is no edge.
    let a = graph(2, &[(0, 0, 1e16), (0, 1, 1.0), (1, 0, 1.0)])?;
    let found = laplacian(&a, Degree::In)?.to_dense()?.to_vec()?;
    assert_eq!(found, [1.0, -1.0, -1.0, 1.0]);
    Ok(())
}
