//! Prolongators: from the nodes of the next level to those of this one.
//!
//! The *tentative* prolongator T reproduces the near-nullspace B exactly: on each aggregate its
//! columns are an orthonormal basis of what B is there, B = T R, and the next level's
//! near-nullspace is R. The prolongator is T smoothed by one weighted Jacobi step,
//!
//! ```text
//! P = (I - omega D^-1 A_F) T,   omega = 4 / (3 lambda),
//! ```
//!
//! where lambda is the largest eigenvalue of D^-1 A and A_F is A with its weak entries added to the
//! diagonal; those of a scalar problem so that A_F B = A B, and P reproduces a B that A maps to 0.
//! Vaněk, Mandel and Brezina (1996).

use super::aggregates::{Aggregates, NONE};
use super::strength::{Graph, NodeRows};
use crate::multigrid::square::square;
use sparsefuse_kernels::{Field, Real};
use sparsefuse_runtime::{Error, Exchange, Partition, Runtime, Shape, reserve, try_collect};
use sparsefuse_sparse::{Csr, Ghosts, LocalRows, Threads, parallel};
use std::iter::repeat_n;
use std::ops::Range;
use std::sync::Arc;

/// Rows that one thread makes at a time.
const PART: usize = 1 << 14;

/// Some rows of several vectors, row by row, spread over the ranks.
#[derive(Clone, Debug)]
pub(super) struct Basis<T> {
    /// The number of vectors.
    pub(super) len: usize,
    /// How the rows are spread.
    pub(super) partition: Partition,
    /// This rank's rows.
    pub(super) own: Arc<Vec<T>>,
}

impl<T: Field> Basis<T> {
    /// The rows `rows`, from the ranks that have them.
    fn rows(&self, runtime: &Runtime, rows: Range<usize>) -> Result<Vec<T>, Error> {
        if runtime.cuts(self.partition).is_none() {
            let own = &self.own[rows.start * self.len..rows.end * self.len];
            return runtime.agree(try_collect(own.iter().copied()));
        }
        let ghosts = Ghosts::of_range(runtime, self.partition, rows)?;
        ghosts.exchange().run_rows(runtime, self.len, &self.own)
    }
}

/// The elements of columns of the same length, row by row.
pub(super) fn by_row<T: Copy>(columns: &[Vec<T>]) -> Result<Vec<T>, Error> {
    let n_rows = columns.first().map_or(0, Vec::len);
    let mut elements = reserve(n_rows * columns.len())?;
    elements.extend((0..n_rows).flat_map(|row| columns.iter().map(move |column| column[row])));
    Ok(elements)
}

/// The rows of the tentative prolongator of this rank's nodes: `block * len` elements each, and the
/// near-nullspace of the next level.
pub(super) struct Tentative<T> {
    rows: Vec<T>,
    /// The near-nullspace at the same rows.
    basis: Vec<T>,
    pub(super) coarse: Basis<T>,
}

impl<T: Field> Tentative<T> {
    pub(super) fn new(
        graph: &Graph,
        aggregates: &Aggregates,
        basis: &Basis<T>,
        block: usize,
    ) -> Result<Self, Error> {
        let halo = &graph.halo;
        let runtime = halo.runtime();
        let own = halo.own();
        let basis_rows = basis.rows(runtime, own.start * block..own.end * block)?;
        let node_len = block * basis.len;
        let cuts = owners(runtime, aggregates, graph)?;
        let members =
            Members::collect(runtime, cuts.as_deref(), aggregates, &basis_rows, node_len)?;
        let orthonormal = members.orthonormal(aggregates.own, basis.len, node_len);
        let (columns, coarse) = runtime.agree(orthonormal)?;
        let rows = members.give_back(runtime, &aggregates.of_nodes, columns, node_len)?;
        let partition = match &cuts {
            None => Partition::Replicated,
            Some(cuts) => {
                let cuts: Vec<usize> = cuts.iter().map(|cut| cut * basis.len).collect();
                runtime.partition_at(&cuts)?
            }
        };
        Ok(Self {
            rows,
            basis: basis_rows,
            coarse: Basis {
                len: basis.len,
                partition,
                own: Arc::new(coarse),
            },
        })
    }

    /// The smoothed prolongator. Entries of a row lie in the columns of the aggregates of all nodes
    /// that the row is strongly connected to.
    pub(super) fn smoothed(
        self,
        a: &Csr<T>,
        rows: &NodeRows<T>,
        graph: &Graph,
        aggregates: &Aggregates,
        omega: f64,
    ) -> Result<Csr<T>, Error> {
        let halo = &graph.halo;
        let len = self.coarse.len;
        let node_len = rows.block * len;
        let own = try_collect(aggregates.of_nodes.iter().copied());
        let of_places = halo.spread(a.runtime().agree(own)?)?;
        let mut modes = Vec::new();
        if node_len == 1 {
            modes = halo.spread(self.basis)?;
        }
        let tentative = halo.spread_rows(self.rows, node_len)?;
        let smoothing = Smoothing {
            rows,
            graph,
            of_places: &of_places,
            tentative: &tentative,
            modes: &modes,
            len,
            omega,
        };
        smoothing.matrix(a, aggregates.count * len)
    }
}

/// The first aggregate of each rank, and their number; `None` where every rank has all.
fn owners(
    runtime: &Runtime,
    aggregates: &Aggregates,
    graph: &Graph,
) -> Result<Option<Vec<usize>>, Error> {
    if graph.halo.is_replicated() {
        return Ok(None);
    }
    let firsts = runtime.all_gather(&[aggregates.first as u64])?;
    let firsts = firsts.iter().map(|first| first[0] as usize);
    Ok(Some(firsts.chain([aggregates.count]).collect()))
}

/// The nodes of the aggregates of this rank, in the order of their numbers.
struct Members<T> {
    /// The aggregate of each, counted from this rank's first.
    aggregates: Vec<u32>,
    /// What the near-nullspace is at their rows.
    rows: Vec<T>,
    /// The way of this rank's nodes to here; `None` where all are this rank's nodes.
    exchange: Option<Exchange>,
}

impl<T: Field> Members<T> {
    /// Sends the nodes to the ranks of their aggregates' roots. Ranks have ascending nodes, so
    /// they arrive in the order of their numbers.
    fn collect(
        runtime: &Runtime,
        cuts: Option<&[usize]>,
        aggregates: &Aggregates,
        basis: &[T],
        node_len: usize,
    ) -> Result<Self, Error> {
        let own = || {
            let of_nodes = aggregates.of_nodes.iter().zip(basis.chunks_exact(node_len));
            let members = || {
                of_nodes
                    .clone()
                    .filter(|(aggregate, _)| **aggregate != NONE)
            };
            let n_members = members().count();
            let mut numbers = reserve(n_members)?;
            numbers.extend(members().map(|(aggregate, _)| *aggregate));
            let mut rows = reserve(n_members * node_len)?;
            members().for_each(|(_, row)| rows.extend_from_slice(row));
            Ok((numbers, rows))
        };
        let first = aggregates.first as u32;
        let (mut aggregates, mut rows) = runtime.agree(own())?;
        let mut exchange = None;
        if cuts.is_some() {
            let (way, arrived) = Exchange::scatter(runtime, cuts, &aggregates)?;
            rows = way.run_rows(runtime, node_len, &rows)?;
            (aggregates, exchange) = (arrived, Some(way));
        }
        aggregates.iter_mut().for_each(|number| *number -= first);
        Ok(Self {
            aggregates,
            rows,
            exchange,
        })
    }

    /// The members of each aggregate, one aggregate after the other, and where each begins.
    fn by_aggregate(&self, n_aggregates: usize) -> Result<(Vec<u32>, Vec<usize>), Error> {
        let mut starts = try_collect(repeat_n(0, n_aggregates + 1))?;
        for &aggregate in &self.aggregates {
            starts[aggregate as usize + 1] += 1;
        }
        for aggregate in 0..n_aggregates {
            starts[aggregate + 1] += starts[aggregate];
        }
        let mut next = try_collect(starts.iter().copied())?;
        let mut members = try_collect(repeat_n(0, self.aggregates.len()))?;
        for (member, &aggregate) in self.aggregates.iter().enumerate() {
            members[next[aggregate as usize]] = member as u32;
            next[aggregate as usize] += 1;
        }
        Ok((members, starts))
    }

    /// Orthonormal columns on each aggregate, by member, and the triangular factors of all
    /// aggregates of this rank, row by row.
    fn orthonormal(
        &self,
        n_aggregates: usize,
        len: usize,
        node_len: usize,
    ) -> Result<(Vec<T>, Vec<T>), Error> {
        let (members, starts) = self.by_aggregate(n_aggregates)?;
        let mut columns = try_collect(repeat_n(T::ZERO, self.rows.len()))?;
        let mut coarse = try_collect(repeat_n(T::ZERO, n_aggregates * len * len))?;
        let mut local = Vec::new();
        for (bounds, factor) in starts.windows(2).zip(coarse.chunks_exact_mut(len * len)) {
            let members = &members[bounds[0]..bounds[1]];
            local.clear();
            for &member in members {
                local.extend_from_slice(&self.rows[member as usize * node_len..][..node_len]);
            }
            factorise(&mut local, len, factor);
            for (&member, row) in members.iter().zip(local.chunks_exact(node_len)) {
                columns[member as usize * node_len..][..node_len].copy_from_slice(row);
            }
        }
        Ok((columns, coarse))
    }

    /// The rows of this rank's nodes, back from the ranks of their aggregates; zeros for nodes
    /// without one.
    fn give_back(
        self,
        runtime: &Runtime,
        of_nodes: &[u32],
        columns: Vec<T>,
        node_len: usize,
    ) -> Result<Vec<T>, Error> {
        let back = match &self.exchange {
            None => columns,
            Some(way) => way.reversed().run_rows(runtime, node_len, &columns)?,
        };
        let mut members = back.chunks_exact(node_len);
        let rows = try_collect(repeat_n(T::ZERO, of_nodes.len() * node_len));
        let mut rows = runtime.agree(rows)?;
        for (row, &aggregate) in rows.chunks_exact_mut(node_len).zip(of_nodes) {
            if aggregate != NONE {
                let member = members.next();
                row.copy_from_slice(member.expect("each node of an aggregate was sent"));
            }
        }
        Ok(rows)
    }
}

/// Replaces the rows of a matrix with `len` columns by those of Q, and gives R: Gram-Schmidt, each
/// column twice. A column that depends on those before it becomes 0.
fn factorise<T: Field>(rows: &mut [T], len: usize, r: &mut [T]) {
    // What is left of a column that depends on others, by its norm: no less than rounding leaves.
    let dependent = f64::max(1e-10, 100.0 * T::Real::EPSILON.to_f64());
    let n_rows = rows.len() / len;
    for column in 0..len {
        let norm = |rows: &[T]| {
            let squares = (0..n_rows).map(|row| square(rows[row * len + column]));
            squares.sum::<f64>().sqrt()
        };
        let before = norm(rows);
        for _ in 0..2 {
            for other in 0..column {
                let products = (0..n_rows)
                    .map(|row| rows[row * len + other].conjugate() * rows[row * len + column]);
                let dot = products.fold(T::ZERO, |sum, product| sum + product);
                r[other * len + column] += dot;
                for row in 0..n_rows {
                    let projected = rows[row * len + other] * dot;
                    rows[row * len + column] -= projected;
                }
            }
        }
        let after = norm(rows);
        let (scale, size) = match after > dependent * before {
            true => (1.0 / after, after),
            false => (0.0, 0.0),
        };
        r[column * len + column] = T::from_f64(size);
        for row in 0..n_rows {
            rows[row * len + column] *= T::from_f64(scale);
        }
    }
}

/// What the rows of the smoothed prolongator are made from.
struct Smoothing<'a, T> {
    rows: &'a NodeRows<T>,
    graph: &'a Graph,
    /// By place.
    of_places: &'a [u32],
    tentative: &'a [T],
    /// The near-nullspace of a scalar problem.
    modes: &'a [T],
    len: usize,
    omega: f64,
}

impl<T: Field> Smoothing<'_, T> {
    fn matrix(&self, a: &Csr<T>, n_cols: usize) -> Result<Csr<T>, Error> {
        let runtime = a.runtime();
        let (_, own) = runtime.default_rows(Shape::new(&[a.n_rows()]));
        let parts = parallel::chunks(own.len(), PART);
        let parts = parallel::map(&Threads::of(runtime), parts, |part| {
            self.part(own.start + part.start..own.start + part.end)
        });
        let made = runtime.agree(joined(parts))?;
        runtime.enter(|| Csr::from_rows(a.n_rows(), n_cols, |_| made))
    }

    /// Some rows.
    fn part(&self, part: Range<usize>) -> Result<LocalRows<T>, Error> {
        let (block, len) = (self.rows.block, self.len);
        let rows = self.rows.as_rows();
        let mut made = LocalRows::try_with_capacity(part.len(), 3 * part.len())?;
        // The aggregates of the row, ascending, and their columns.
        let mut found: Vec<u32> = Vec::new();
        let mut sums: Vec<T> = Vec::new();
        let mut weights: Vec<(usize, T)> = Vec::new();
        if len == 1 && block == 1 {
            self.scalar_part(part, &mut made)?;
            return Ok(made);
        }
        for row in part {
            let number = row - self.rows.first_row;
            self.weights(rows.columns(number), rows.values(number), row, &mut weights);
            found.clear();
            sums.clear();
            for &(column, weight) in &weights {
                let (node, within) = (column / block, column % block);
                let place = self.graph.halo.place(node);
                let aggregate = self.of_places[place];
                if aggregate == NONE {
                    continue;
                }
                let at = found.partition_point(|&other| other < aggregate);
                if found.get(at) != Some(&aggregate) {
                    found.insert(at, aggregate);
                    sums.splice(at * len..at * len, repeat_n(T::ZERO, len));
                }
                let tentative = &self.tentative[(place * block + within) * len..][..len];
                let sums = &mut sums[at * len..(at + 1) * len];
                for (sum, &value) in sums.iter_mut().zip(tentative) {
                    *sum += weight * value;
                }
            }
            made.try_reserve(found.len() * len)?;
            for &aggregate in &found {
                let start = aggregate as usize * len;
                made.crd
                    .extend((start..start + len).map(|column| column as u32));
            }
            made.vals.extend_from_slice(&sums);
            made.end_row();
        }
        Ok(made)
    }

    /// The same for one unknown and one vector: sums of few numbers in few columns.
    fn scalar_part(&self, part: Range<usize>, made: &mut LocalRows<T>) -> Result<(), Error> {
        let halo = &self.graph.halo;
        let rows = self.rows.as_rows();
        let omega = T::from_f64(-self.omega);
        for row in part {
            let number = row - self.rows.first_row;
            let (columns, values) = (rows.columns(number), rows.values(number));
            let mut strong: &[u32] = self.graph.neighbours(row - self.rows.nodes.start);
            let start = made.crd.len();
            made.try_reserve(strong.len() + 1)?;
            let own = halo.place(row);
            let mut diagonal = T::ZERO;
            for (&column, &value) in columns.iter().zip(values) {
                let place = halo.place(column as usize);
                if strong.first() == Some(&(place as u32)) {
                    strong = &strong[1..];
                    add(
                        made,
                        start,
                        self.of_places[place],
                        value * self.tentative[place],
                    );
                    continue;
                }
                // What the entry does to the near-nullspace, done by the diagonal.
                let is_other = place != own && self.modes[own] != T::ZERO;
                let share = match is_other {
                    true => value * (self.modes[place].over(self.modes[own])),
                    false => value,
                };
                diagonal += share;
            }
            let factor = match diagonal == T::ZERO {
                true => T::ZERO,
                false => omega.over(diagonal),
            };
            for value in &mut made.vals[start..] {
                *value *= factor;
            }
            let rest = match diagonal == T::ZERO {
                true => T::ONE,
                false => T::ONE + omega,
            };
            add(made, start, self.of_places[own], rest * self.tentative[own]);
            made.end_row();
        }
        Ok(())
    }

    /// The entries of a row of I - omega D^-1 A_F.
    fn weights(&self, columns: &[u32], values: &[T], own: usize, weights: &mut Vec<(usize, T)>) {
        let block = self.rows.block;
        weights.clear();
        let strong: &[u32] = match block {
            1 => self.graph.neighbours(own - self.rows.nodes.start),
            _ => &[],
        };
        let mut strong = strong.iter().peekable();
        let mut diagonal = T::ZERO;
        for (&column, &value) in columns.iter().zip(values) {
            let column = column as usize;
            if column == own {
                diagonal += value;
                weights.push((column, T::ZERO));
                continue;
            }
            // Blocks of several rows are not filtered.
            let is_strong = block > 1 || {
                let place = self.graph.halo.place(column) as u32;
                strong.next_if(|&&next| next == place).is_some()
            };
            if is_strong {
                weights.push((column, value));
            } else {
                diagonal += value;
            }
        }
        let is_zero = diagonal == T::ZERO;
        let factor = match is_zero {
            true => T::ZERO,
            false => T::from_f64(-self.omega).over(diagonal),
        };
        let mut has_diagonal = false;
        for (column, weight) in weights.iter_mut() {
            if *column == own {
                has_diagonal = true;
                *weight = match is_zero {
                    true => T::ONE,
                    false => T::from_f64(1.0 - self.omega),
                };
            } else {
                *weight *= factor;
            }
        }
        if !has_diagonal {
            let at = weights.partition_point(|&(column, _)| column < own);
            weights.insert(at, (own, T::ONE));
        }
    }
}

/// Adds to the entry of an aggregate in the last row, which begins at `start`, if there is one.
#[inline]
fn add<T: Field>(rows: &mut LocalRows<T>, start: usize, aggregate: u32, value: T) {
    if aggregate == NONE {
        return;
    }
    let (crd, vals) = (&mut rows.crd, &mut rows.vals);
    let mut at = crd.len();
    while at > start && crd[at - 1] > aggregate {
        at -= 1;
    }
    if at > start && crd[at - 1] == aggregate {
        vals[at - 1] += value;
    } else {
        crd.insert(at, aggregate);
        vals.insert(at, value);
    }
}

/// The rows of all parts, if all could be made.
pub(super) fn joined<T: Field>(
    parts: Vec<Result<LocalRows<T>, Error>>,
) -> Result<LocalRows<T>, Error> {
    let parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
    let n_rows = parts.iter().map(|part| part.pos.len() - 1).sum();
    let n_entries = parts.iter().map(|part| part.crd.len()).sum();
    let mut rows = LocalRows::try_with_capacity(n_rows, n_entries)?;
    for part in parts {
        let before = rows.crd.len() as u64;
        rows.pos
            .extend(part.pos[1..].iter().map(|end| before + end));
        rows.crd.extend(part.crd);
        rows.vals.extend(part.vals);
    }
    Ok(rows)
}
