//! Colors for the rows of a matrix: rows of one color do not depend on one another.
//!
//! Rows take colors in order, each the first that none of its neighbours before it has; j is a
//! neighbour of i where a_ij or a_ji is stored. The ranks follow one another, so the colors do not
//! depend on them. Red and black for five-point stencils.

use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, reserve};
use sparsefuse_sparse::{Chain, Csr, RowLayout, Rows, Sweep, distinct, eager};

/// The colors of the rows of a square matrix.
#[derive(Clone, Debug)]
pub(super) struct Coloring {
    layout: RowLayout,
    of_rows: Vec<u32>,
    n_colors: usize,
}

impl Coloring {
    /// Colors the rows of a matrix. Every rank must ask.
    pub(super) fn of<T: Field>(a: &Csr<T>) -> Result<Self, Error> {
        eager("coloring", &[a], || Self::found(a))
    }

    fn found<T: Field>(a: &Csr<T>) -> Result<Self, Error> {
        // The transpose has its rows where new matrices have them; the matrix may have been
        // balanced.
        let transposed = a.transpose()?;
        let layout = transposed.row_layout()?;
        let (columns, arranged) = (transposed.own_rows()?, arrange(a, &layout)?);
        let rows = arranged.own_rows()?;
        let both = [rows.as_rows(), columns.as_rows()];
        let first = layout.rows().start;
        let columns = both.iter().flat_map(|rows| rows.crd()).copied();
        let before = columns.filter(|&column| (column as usize) < first);
        let before = layout.runtime().agree(distinct(before, layout.n_rows()))?;
        let chain = Chain::new(&layout, Sweep::Forward, &before)?;
        // A rank that fails tells those behind it, too.
        let before = chain.exchange().receive(layout.runtime());
        let of_rows = before.and_then(|before| greedy(&layout, (chain.needed(), &before), both));
        let known = of_rows.as_deref().map_err(Clone::clone);
        let sent = chain.exchange().send(layout.runtime(), known);
        let of_rows = of_rows.and_then(|of_rows| sent.map(|()| of_rows));
        let of_rows = layout.runtime().agree(of_rows)?;
        let most = of_rows.iter().map(|&color| color + 1).max().unwrap_or(0);
        let most = layout.runtime().all_gather(&[most])?.concat();
        Ok(Self {
            layout,
            of_rows,
            n_colors: most.into_iter().max().unwrap_or(0) as usize,
        })
    }

    /// The same matrix, with its rows spread as the colors are.
    pub(super) fn arrange<T: Field>(&self, a: &Csr<T>) -> Result<Csr<T>, Error> {
        arrange(a, &self.layout)
    }

    /// How the rows are spread over the ranks.
    pub(super) fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// The color of each row of this rank.
    pub(super) fn of_rows(&self) -> &[u32] {
        &self.of_rows
    }

    pub(super) fn n_colors(&self) -> usize {
        self.n_colors
    }
}

/// The matrix with its rows spread as those of new matrices are.
fn arrange<T: Field>(a: &Csr<T>, layout: &RowLayout) -> Result<Csr<T>, Error> {
    if a.row_layout()?.partition() == layout.partition() {
        return Ok(a.clone());
    }
    a.transpose()?.transpose()
}

/// The colors of this rank's rows, given those of the rows before that they need.
fn greedy<T: Field>(
    layout: &RowLayout,
    (needed, colors): (&[u32], &[u32]),
    structures: [Rows<'_, T>; 2],
) -> Result<Vec<u32>, Error> {
    let first = layout.rows().start;
    let mut of_rows: Vec<u32> = reserve(layout.rows().len())?;
    // The last row that saw a color at a neighbour.
    let mut seen: Vec<usize> = Vec::new();
    for (number, row) in layout.rows().enumerate() {
        for structure in structures {
            let columns = structure.columns(number).iter();
            for &column in columns.take_while(|&&column| (column as usize) < row) {
                let color = match (column as usize).checked_sub(first) {
                    Some(own) => of_rows[own],
                    None => colors[needed.partition_point(|&row| row < column)],
                };
                // Earlier ranks may have more colors.
                seen.resize(seen.len().max(color as usize + 1), usize::MAX);
                seen[color as usize] = row;
            }
        }
        let free = seen.iter().position(|&last| last != row);
        let color = free.unwrap_or_else(|| {
            seen.push(usize::MAX);
            seen.len() - 1
        });
        of_rows.push(color as u32);
    }
    Ok(of_rows)
}
