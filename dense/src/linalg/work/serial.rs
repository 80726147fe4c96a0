//! faer's decompositions on one thread. Its short forms take as many as the process has said, which
//! is all of the machine where another crate of the program asks for faer's default features; the
//! last bits depend on that.

use super::number::Number;
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltError, cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::evd::{
    ComputeEigenvectors, EvdError, self_adjoint_evd, self_adjoint_evd_scratch,
};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj, make_householder_in_place,
};
use faer::linalg::lu::partial_pivoting::factor::{lu_in_place, lu_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::qr::no_pivoting::factor::{
    qr_in_place, qr_in_place_scratch, recommended_block_size,
};
use faer::linalg::svd::{ComputeSvdVectors, SvdError, SvdParams, svd_scratch};
use faer::reborrow::{Reborrow as _, ReborrowMut as _};
use faer::{Accum, Auto, Conj, Mat, MatMut, MatRef, Par};

/// L and U of a matrix whose rows are exchanged.
pub(super) struct Lu<W> {
    /// U, and below its diagonal L, whose diagonal is 1.
    pub(super) factors: Mat<W>,
    /// Where its rows are in the matrix.
    pub(super) places: Vec<usize>,
}

pub(super) fn lu<W: Number>(a: MatRef<'_, W>) -> Lu<W> {
    let (m, n) = (a.nrows(), a.ncols());
    let mut factors = a.to_owned();
    let (mut places, mut back) = (vec![0; m], vec![0; m]);
    let scratch = lu_in_place_scratch::<usize, W>(m, n, Par::Seq, Default::default());
    lu_in_place(
        factors.as_mut(),
        &mut places,
        &mut back,
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    );
    Lu { factors, places }
}

/// The lower triangular factor of a Hermitian matrix, of which the lower triangle counts and the
/// rest is 0.
pub(super) fn cholesky<W: Number>(a: MatRef<'_, W>) -> Result<Mat<W>, LltError> {
    let mut factor = a.to_owned();
    let scratch = cholesky_in_place_scratch::<W>(a.nrows(), Par::Seq, Default::default());
    cholesky_in_place(
        factor.as_mut(),
        Default::default(),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )?;
    // faer writes above the diagonal too.
    for column in 1..factor.ncols() {
        factor.col_as_slice_mut(column)[..column].fill(W::from_real(0.0));
    }
    Ok(factor)
}

pub(super) fn product<W: Number>(a: MatRef<'_, W>, b: MatRef<'_, W>) -> Mat<W> {
    let mut product = Mat::zeros(a.nrows(), b.ncols());
    let one = W::from_real(1.0);
    matmul(product.as_mut(), Accum::Replace, a, b, one, Par::Seq);
    product
}

/// A QR factorisation in its compact form.
struct Reflections<W> {
    /// R, and below its diagonal the vectors of the reflections.
    factors: Mat<W>,
    coefficients: Mat<W>,
}

/// The reflections that make R of a matrix. faer leaves a column out whose part below R is small
/// beside the column, by an amount that grows with the rows (16 m eps), and goes on in the same
/// row: then the reflections are made again, one after the other, of every column.
fn reflections<W: Number>(a: MatRef<'_, W>) -> Reflections<W> {
    let (m, n) = (a.nrows(), a.ncols());
    let size = m.min(n);
    let block = recommended_block_size::<W>(m, n);
    let (mut factors, mut coefficients) = (a.to_owned(), Mat::zeros(block, size));
    let scratch = qr_in_place_scratch::<W>(m, n, block, Par::Seq, Default::default());
    let found = qr_in_place(
        factors.as_mut(),
        coefficients.as_mut(),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    );
    if found.rank < size {
        (factors, coefficients) = (a.to_owned(), Mat::zeros(1, size));
        for column in 0..size {
            coefficients[(0, column)] = W::from_real(reflect(factors.as_mut(), column));
        }
    }
    Reflections {
        factors,
        coefficients,
    }
}

/// Reflects a column, from its diagonal element on, to a multiple of the first unit vector, and the
/// columns behind it with it: by 1 - v v'/tau, v in place of what has become 0. Golub and Van Loan,
/// *Matrix Computations*, 5.1.
fn reflect<W: Number>(factors: MatMut<'_, W>, column: usize) -> f64 {
    let (_, columns) = factors.split_at_col_mut(column);
    let (mut own, mut rest) = columns.split_at_col_mut(1);
    let (mut above, mut below) = own.rb_mut().split_at_row_mut(column + 1);
    let info = make_householder_in_place(&mut above[(column, 0)], below.rb_mut().col_mut(0));
    let tau: f64 = info.tau;
    let factor = -1.0 / tau;
    if factor == 0.0 || rest.ncols() == 0 {
        return tau;
    }
    let (mut heads, mut tails) = rest.rb_mut().split_at_row_mut(column + 1);
    let products = product(below.rb().adjoint().to_owned().as_ref(), tails.rb());
    let products = Mat::from_fn(1, products.ncols(), |_, k| {
        let sum = products[(0, k)].complex() + heads[(column, k)].complex();
        W::of_parts((sum.re, sum.im))
    });
    for k in 0..products.ncols() {
        let head = heads[(column, k)].complex() + products[(0, k)].complex() * factor;
        heads[(column, k)] = W::of_parts((head.re, head.im));
    }
    let factor = W::from_real(factor);
    let (v, w) = (below.rb(), products.as_ref());
    matmul(tails.rb_mut(), Accum::Add, v, w, factor, Par::Seq);
    tau
}

impl<W: Number> Reflections<W> {
    /// R of a matrix that is not wider than long.
    fn r(&self) -> Mat<W> {
        let n = self.factors.ncols();
        let zero = W::from_real(0.0);
        Mat::from_fn(n, n, |row, column| match row <= column {
            true => self.factors[(row, column)],
            false => zero,
        })
    }

    /// The product of the reflections and a matrix.
    fn times(&self, mut x: Mat<W>) -> Mat<W> {
        let (m, size) = (self.factors.nrows(), self.coefficients.ncols());
        let block = self.coefficients.nrows();
        let scratch =
            apply_block_householder_sequence_on_the_left_in_place_scratch::<W>(m, block, x.ncols());
        apply_block_householder_sequence_on_the_left_in_place_with_conj(
            self.factors.as_ref().subcols(0, size),
            self.coefficients.as_ref(),
            Conj::No,
            x.as_mut(),
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(scratch)),
        );
        x
    }
}

/// The first columns of Q, as many as the shorter side is long, and R in the rows of the factors:
/// what is below its diagonal is not part of it.
pub(super) fn qr<W: Number>(a: MatRef<'_, W>) -> (Mat<W>, Mat<W>) {
    let (m, n) = (a.nrows(), a.ncols());
    let size = m.min(n);
    let reflections = reflections(a);
    let q = reflections.times(Mat::identity(m, size));
    (q, reflections.factors)
}

/// R of a matrix that is not wider than long.
pub(super) fn triangle<W: Number>(a: MatRef<'_, W>) -> Mat<W> {
    reflections(a).r()
}

/// U, V and the singular values. Those of a matrix much longer than wide are made from its R.
pub(super) fn svd<W: Number>(a: MatRef<'_, W>) -> Result<([Mat<W>; 2], Diag<W>), SvdError> {
    let (m, n) = (a.nrows(), a.ncols());
    if m < n {
        let ([v, u], s) = svd(a.transpose())?;
        return Ok(([u.conjugate().to_owned(), v.conjugate().to_owned()], s));
    }
    if !is_long(a) {
        return whole_svd(a);
    }
    let reflections = reflections(a);
    let ([of_r, v], s) = whole_svd(reflections.r().as_ref())?;
    let zero = W::from_real(0.0);
    let u = Mat::from_fn(m, n, |row, column| match row < n {
        true => of_r[(row, column)],
        false => zero,
    });
    Ok(([reflections.times(u), v], s))
}

pub(super) fn singular_values<W: Number>(a: MatRef<'_, W>) -> Result<Diag<W>, SvdError> {
    match (a.nrows() < a.ncols(), is_long(a)) {
        (true, _) => singular_values(a.transpose()),
        (false, true) => whole_singular_values(reflections(a).r().as_ref()),
        (false, false) => whole_singular_values(a),
    }
}

/// Whether faer would make R of a matrix first, in its own way: see [`reflections`].
fn is_long<W>(a: MatRef<'_, W>) -> bool {
    let params: SvdParams = Auto::<f64>::auto();
    a.ncols() > 0 && a.nrows() as f64 / a.ncols() as f64 > params.qr_ratio_threshold
}

fn whole_svd<W: Number>(a: MatRef<'_, W>) -> Result<([Mat<W>; 2], Diag<W>), SvdError> {
    let (m, n) = (a.nrows(), a.ncols());
    let size = m.min(n);
    let (mut u, mut v, mut s) = (Mat::zeros(m, size), Mat::zeros(n, size), Diag::zeros(size));
    let vectors = ComputeSvdVectors::Thin;
    let scratch = svd_scratch::<W>(m, n, vectors, vectors, Par::Seq, Default::default());
    faer::linalg::svd::svd(
        a,
        s.as_mut(),
        Some(u.as_mut()),
        Some(v.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )?;
    Ok(([u, v], s))
}

fn whole_singular_values<W: Number>(a: MatRef<'_, W>) -> Result<Diag<W>, SvdError> {
    let (m, n) = (a.nrows(), a.ncols());
    let mut s = Diag::zeros(m.min(n));
    let none = ComputeSvdVectors::No;
    let scratch = svd_scratch::<W>(m, n, none, none, Par::Seq, Default::default());
    faer::linalg::svd::svd(
        a,
        s.as_mut(),
        None,
        None,
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )?;
    Ok(s)
}

/// The eigenvalues of a Hermitian matrix, of which the lower triangle counts, and its eigenvectors
/// if there is a matrix for them.
pub(super) fn eigh<W: Number>(
    a: MatRef<'_, W>,
    vectors: Option<&mut Mat<W>>,
) -> Result<Diag<W>, EvdError> {
    let n = a.nrows();
    let mut values = Diag::zeros(n);
    let wanted = match vectors {
        Some(_) => ComputeEigenvectors::Yes,
        None => ComputeEigenvectors::No,
    };
    let scratch = self_adjoint_evd_scratch::<W>(n, wanted, Par::Seq, Default::default());
    self_adjoint_evd(
        a,
        values.as_mut(),
        vectors.map(|vectors| vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )?;
    Ok(values)
}
