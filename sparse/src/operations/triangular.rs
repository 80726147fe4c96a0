//! The solution of sparse triangular systems.
//!
//! A sweep through the rows, each of which needs those that its columns name. The threads of a rank
//! share it in sections of neighbouring rows, each of which waits where it needs another one; the
//! ranks follow one another, see [`Chain`]. The terms of a row are subtracted in one fixed order,
//! that of the columns from afar towards the diagonal; so the bits of a solution depend neither on
//! threads nor on ranks.

use crate::exchange::chain::Chain;
use crate::exchange::ghosts::Ghosts;
use crate::exchange::layout::RowLayout;
use crate::formats::csr::Csr;
use crate::local::rows::{LocalRows, Rows};
use crate::local::triangular::{Diagonal, LocalTriangle, OP, Triangle};
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::{Element, Field};
use sparsefuse_runtime::{Error, HostArgs};
use std::sync::Arc;

/// The solution of triangular systems with one matrix: its triangle, and the order of the work.
///
/// A solve reads the triangle once, 8 bytes of positions, 4 for each column and the values, and
/// reads and writes the vector: about as much as a product with the same triangle. Holds a copy of
/// the triangle and the inverse of the diagonal.
///
/// Several threads share a solve where the order of the rows lets them, as in grids line by line,
/// and where there is work for a quarter of a millisecond; to find out takes the setup as long as
/// four to seven solves.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_sparse::{Csr, Diagonal, Triangle, TriangularSolve};
///
/// // [ 2 9 ]   The 9 is not read.
/// // [ 1 4 ]
/// let a = Csr::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, 9.0, 1.0, 4.0])?;
/// let lower = TriangularSolve::new(&a, Triangle::Lower, Diagonal::Stored)?;
/// let x = lower.solve(&Vector::from_vec(vec![4.0, 10.0]))?;
/// assert_eq!(x.to_vec()?, [2.0, 2.0]);
/// # Ok::<(), sparsefuse_sparse::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TriangularSolve<T> {
    layout: RowLayout,
    triangle: Triangle,
    diagonal: Diagonal,
    sweep: TriangularSweep<T>,
}

/// The sweep of a [`TriangularSolve`] on this rank, without a handle of the runtime: what a host
/// task brings. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TriangularSweep<T> {
    chain: Arc<Chain>,
    part: Arc<LocalTriangle<T>>,
}

impl<T: Field> TriangularSolve<T> {
    /// The solution of systems with a triangle of a square matrix. Executes the window; every rank
    /// must ask.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, a diagonal entry that is to be read is 0, so small that it has
    /// no inverse, or not stored, or the computation of the values failed.
    pub fn new(a: &Csr<T>, triangle: Triangle, diagonal: Diagonal) -> Result<Self, Error> {
        let (n_rows, n_cols) = a.shape();
        Error::check_shape(OP, &[n_rows, n_rows], &[n_rows, n_cols])?;
        let (_, rows) = a.local_rows()?;
        Self::of_rows(&a.row_layout()?, &rows, triangle, diagonal)
    }

    /// The same from rows that every rank gives itself: those of the layout, with global columns.
    ///
    /// # Errors
    ///
    /// If there are not as many rows as the layout gives this rank, or a diagonal entry that is to
    /// be read is 0 or not stored.
    pub fn of_rows(
        layout: &RowLayout,
        rows: &LocalRows<T>,
        triangle: Triangle,
        diagonal: Diagonal,
    ) -> Result<Self, Error> {
        let runtime = layout.runtime();
        let setup = || {
            let (expected, found) = (layout.rows().len(), rows.as_rows().len());
            let fits = (found == expected).then_some(()).ok_or_else(|| {
                let expected = format!("the {expected} rows of this rank");
                Error::argument("triangular_setup", expected, found.to_string())
            });
            runtime.agree(fits)?;
            let chain = Chain::new(layout, triangle.sweep(), &rows.crd)?;
            let own = (layout.rows(), chain.needed());
            let part = LocalTriangle::new(own, rows, (triangle, diagonal));
            let setup = Self::set_up(layout, (triangle, diagonal), chain, part)?;
            runtime.count_moved(rows.bytes() + setup.sweep.bytes());
            Ok(setup)
        };
        runtime.eager_task("triangular_setup", &[], setup)
    }

    /// The same from the triangle without its diagonal, as a factorisation makes it: entries stand
    /// in the order of the sweep, of a lower triangle ascending and of an upper one descending; the
    /// inverse of the diagonal beside it, or ones. Nothing is copied on one rank.
    ///
    /// # Errors
    ///
    /// If memory runs out, or another rank failed.
    pub fn of_triangle(
        layout: &RowLayout,
        triangle: Triangle,
        rows: LocalRows<T>,
        inverse: Option<Vec<T>>,
    ) -> Result<Self, Error> {
        let runtime = layout.runtime();
        let diagonal = match inverse {
            Some(_) => Diagonal::Stored,
            None => Diagonal::Unit,
        };
        let setup = || {
            let chain = Chain::new(layout, triangle.sweep(), &rows.crd)?;
            let own = (layout.rows(), chain.needed());
            let part = LocalTriangle::of_triangle(own, triangle, rows, inverse);
            let setup = Self::set_up(layout, (triangle, diagonal), chain, part)?;
            runtime.count_moved(setup.sweep.bytes());
            Ok(setup)
        };
        runtime.eager_task("triangular_setup", &[], setup)
    }

    fn set_up(
        layout: &RowLayout,
        (triangle, diagonal): (Triangle, Diagonal),
        chain: Chain,
        part: Result<LocalTriangle<T>, Error>,
    ) -> Result<Self, Error> {
        let part = layout.runtime().agree(part)?;
        let threads = layout.runtime().config().threads;
        let part = layout.runtime().agree(part.for_threads(threads))?;
        Ok(Self {
            layout: layout.clone(),
            triangle,
            diagonal,
            sweep: TriangularSweep {
                chain: Arc::new(chain),
                part: Arc::new(part),
            },
        })
    }

    /// Takes new values of the same structure; the order of the work stays.
    ///
    /// # Errors
    ///
    /// If the structure differs, or a diagonal entry that is to be read is 0; then nothing has
    /// changed.
    pub fn update(&mut self, a: &Csr<T>) -> Result<(), Error> {
        Error::check_shape(OP, &[self.layout.n_rows()], &[a.n_rows()])?;
        // What is accepted does not depend on the ranks that hold the rows.
        let own = a.own_rows()?;
        if own.partition() == self.layout.partition() {
            return self.update_rows(own.as_rows());
        }
        let ghosts = Ghosts::of_range(self.layout.runtime(), own.partition(), self.layout.rows())?;
        let rows = ghosts.fetch_rows(own.as_rows())?;
        self.update_rows(rows.as_rows())
    }

    /// The same with rows that every rank gives itself.
    ///
    /// # Errors
    ///
    /// As [`TriangularSolve::update`].
    pub fn update_rows(&mut self, rows: Rows<'_, T>) -> Result<(), Error> {
        let runtime = self.layout.runtime();
        let TriangularSweep { chain, part } = &mut self.sweep;
        let values = runtime.eager_task("triangular_update", &[], || {
            let read = size_of_val(rows.crd()) + size_of_val(rows.vals());
            runtime.count_moved(read + part.bytes());
            runtime.agree(part.values_of(chain.needed(), rows))
        })?;
        // Whoever still sweeps with the values of before keeps them.
        Arc::make_mut(part).set_values(values);
        Ok(())
    }

    /// Whether rows of the layout have this triangle's entries on its side of the diagonal, no
    /// others, and a diagonal if this has one. Of this rank alone.
    #[must_use]
    pub fn is_of(&self, rows: Rows<'_, T>) -> bool {
        self.sweep.part.is_of(self.sweep.chain.needed(), rows)
    }

    /// Takes another triangle of the same structure, given as in
    /// [`of_triangle`](TriangularSolve::of_triangle): that is for the caller to know. The order of
    /// the work stays.
    ///
    /// # Errors
    ///
    /// If memory runs out on a rank; then nothing has changed.
    pub fn update_triangle(
        &mut self,
        rows: LocalRows<T>,
        inverse: Option<Vec<T>>,
    ) -> Result<(), Error> {
        let runtime = self.layout.runtime();
        let TriangularSweep { chain, part } = &mut self.sweep;
        let made = runtime.eager_task("triangular_update", &[], || {
            runtime.count_moved(part.bytes());
            runtime.agree(part.with_triangle(chain.needed(), rows, inverse))
        })?;
        // What still sweeps with the values of before keeps them.
        *part = Arc::new(made);
        Ok(())
    }

    /// How the rows are spread over the ranks.
    #[must_use]
    pub fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// The solution for a right-hand side, or for each column of a matrix: a host task for each,
    /// whose failure is told where the solution is read.
    ///
    /// ```
    /// use sparsefuse_dense::Array;
    /// use sparsefuse_sparse::{Csr, Diagonal, Triangle, TriangularSolve};
    ///
    /// // [ 2 0 ]
    /// // [ 1 4 ]
    /// let a = Csr::new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![2.0, 1.0, 4.0])?;
    /// let lower = TriangularSolve::new(&a, Triangle::Lower, Diagonal::Stored)?;
    /// let inverse = lower.solve(&Array::eye(2))?;
    /// assert_eq!(inverse.to_vec()?, [0.5, 0.0, -0.125, 0.25]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the right-hand side has another number of rows than the matrix, or neither one dimension
    /// nor two.
    pub fn solve<const D: usize>(&self, b: &Array<T, D>) -> Result<Array<T, D>, Error> {
        by_columns(
            (OP, self.layout.n_rows(), self.layout.n_rows()),
            b,
            |b: &Vector<T>| self.solve_one(b),
        )
    }

    fn solve_one(&self, b: &Vector<T>) -> Result<Vector<T>, Error> {
        let sweep = self.sweep();
        self.layout
            .sweep("triangular_solve", b, sweep.bytes(), move |args, x| {
                sweep.solve(args, x)
            })
    }

    /// The sweep on this rank, for host tasks that do more than one.
    #[must_use]
    pub fn sweep(&self) -> TriangularSweep<T> {
        self.sweep.clone()
    }

    /// The solution of systems with the conjugate transpose. Copies the triangle column by column;
    /// every rank must ask.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    /// use sparsefuse_sparse::{Csr, Diagonal, Triangle, TriangularSolve};
    ///
    /// // [ 2 0 ]
    /// // [ 1 4 ]
    /// let a = Csr::new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![2.0, 1.0, 4.0])?;
    /// let lower = TriangularSolve::new(&a, Triangle::Lower, Diagonal::Stored)?;
    /// let x = lower.adjoint()?.solve(&Vector::from_vec(vec![4.0, 4.0]))?;
    /// assert_eq!(x.to_vec()?, [1.5, 1.0]);
    /// # Ok::<(), sparsefuse_sparse::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If memory runs out, or another rank failed.
    pub fn adjoint(&self) -> Result<Self, Error> {
        let rows = self.sweep.part.rows(self.sweep.chain.needed());
        let matrix = Csr::from_layout(&self.layout, self.layout.n_rows(), rows)?;
        let adjoint = matrix.adjoint()?;
        let triangle = match self.triangle {
            Triangle::Lower => Triangle::Upper,
            Triangle::Upper => Triangle::Lower,
        };
        Self::new(&adjoint, triangle, self.diagonal)
    }
}

impl<T: Field> TriangularSweep<T> {
    /// The bytes that it reads besides the right-hand side.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.part.bytes()
    }

    /// Puts the solution in the place of the right-hand side, of both this rank's elements. Every
    /// rank of the host task must ask.
    ///
    /// # Errors
    ///
    /// If there are not as many elements as this rank has rows, or an earlier rank has failed.
    pub fn solve(&self, args: &HostArgs<'_>, x: &mut [T]) -> Result<(), Error> {
        Error::check_shape(OP, &[self.part.n_rows()], &[x.len()])?;
        let outer = self.chain.exchange().receive::<T>(args)?;
        self.part.solve(|| args.workers(), &outer, x);
        self.chain.exchange().send(args, Ok(x))
    }
}

/// The images of a vector, or of each column of a matrix, under what maps vectors of length
/// `n_cols` to those of length `n_rows`: for systems of equations their solutions.
///
/// # Errors
///
/// If the array has another number of rows, or neither one dimension nor two.
pub fn by_columns<T: Element, const D: usize>(
    (op, n_rows, n_cols): (&'static str, usize, usize),
    b: &Array<T, D>,
    solve: impl Fn(&Vector<T>) -> Result<Vector<T>, Error>,
) -> Result<Array<T, D>, Error> {
    let (mut expected, mut images) = (b.shape(), b.shape());
    if let (Some(rows), Some(of_images)) = (expected.first_mut(), images.first_mut()) {
        (*rows, *of_images) = (n_cols, n_rows);
    }
    Error::check_shape(op, &expected, &b.shape())?;
    match b.shape()[..] {
        [_] => solve(&b.try_reshape([n_cols])?)?.try_reshape(images),
        [_, 0] => b.try_reshape(images),
        [_, n_columns] => {
            let b = b.try_reshape([n_cols, n_columns])?;
            let x = (0..n_columns).map(|column| solve(&b.try_column(column)?));
            let x = x.collect::<Result<Vec<_>, Error>>()?;
            Vector::try_stack(1, &x.iter().collect::<Vec<_>>())?.try_reshape(images)
        }
        _ => {
            let found = format!("{D} dimensions");
            Err(Error::argument(op, "a vector or a matrix", found))
        }
    }
}
