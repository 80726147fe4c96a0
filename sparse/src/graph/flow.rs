//! Maximum flows and minimum cuts.

use super::{all_rows, check_lengths, check_node, check_square, edges};
use crate::formats::csr::Csr;
use crate::formats::eager::eager;
use crate::local::graph::flow;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::Error;

/// A maximum flow, made by [`maximum_flow`].
#[derive(Clone, Debug)]
pub struct Flow<T> {
    /// What leaves the source, and arrives at the sink: the sum of the capacities of the edges of
    /// the cut.
    pub value: T,
    /// What each edge carries: a matrix with the same structure, with zeros for edges that carry
    /// nothing. Of two opposite edges at most one carries something.
    pub flow: Csr<T>,
    /// For each node whether it is on the source's side of a minimum cut: the edges from these
    /// nodes to the others carry all they can.
    pub source_side: Vec<bool>,
}

/// The largest flow from one node to another, where the values of the entries are the capacities of
/// the edges, each in its direction: Dinic (Algorithm for solution of a problem of maximum flow in
/// networks with power estimation, 1970). `O(n² m)` for `n` nodes and `m` edges, and in practice
/// few passes over the edges; sequential.
///
/// As SciPy's `maximum_flow`, for capacities of any real type, and its flow is this one minus its
/// transpose. Whole numbers wrap where a sum is out of the range of their type.
///
/// ```
/// use sparsefuse_sparse::Csr;
/// use sparsefuse_sparse::graph::maximum_flow;
///
/// // 0 -> 1 and 0 -> 2 take 3 and 2, 1 -> 2 takes 5, 2 -> 3 takes 4.
/// let a = Csr::new(4, 4, vec![0, 2, 3, 4, 4], vec![1, 2, 2, 3], vec![3, 2, 5, 4])?;
/// let found = maximum_flow(&a, 0, 3)?;
/// assert_eq!((found.value, found.flow.sum_axis(1).to_vec()?[0]), (4, 4));
/// assert_eq!(found.source_side, [true, true, true, false]);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
///
/// # Errors
///
/// If the matrix is not square, there is no such node, both are the same, a capacity is negative
/// or not finite, the computation of the values failed, or memory runs out.
pub fn maximum_flow<T: Numeric + PartialOrd>(
    a: &Csr<T>,
    source: usize,
    sink: usize,
) -> Result<Flow<T>, Error> {
    const OP: &str = "maximum_flow";
    check_square(OP, a)?;
    check_node(OP, a, source)?;
    check_node(OP, a, sink)?;
    if source == sink {
        let found = format!("node {source} as both");
        return Err(Error::argument(OP, "another sink than the source", found));
    }
    eager(OP, &[a], || {
        let all = all_rows(a)?;
        let rows = all.as_rows();
        let expected = "capacities that are finite and not negative";
        let is_finite = |x: T| x.minus(x) == T::ZERO;
        check_lengths(OP, rows, expected, |&x| x >= T::ZERO && is_finite(x))?;
        let found = flow::maximum(edges(rows), rows.vals, (source as u32, sink as u32));
        let found = a.runtime().agree(found)?;
        let first = a.own_rows()?.as_rows().pos()[0] as usize;
        let flows = a.values_by_filling(|own: &mut [T]| {
            let end = first + own.len();
            own.copy_from_slice(&found.flows[first..end]);
        })?;
        Ok(Flow {
            value: found.value,
            flow: a.with_values_of(flows),
            source_side: found.reached,
        })
    })
}
