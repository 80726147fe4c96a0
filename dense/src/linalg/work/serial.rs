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
    apply_block_householder_sequence_on_the_left_in_place_with_conj,
};
use faer::linalg::lu::partial_pivoting::factor::{lu_in_place, lu_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::qr::no_pivoting::factor::{
    qr_in_place, qr_in_place_scratch, recommended_block_size,
};
use faer::linalg::svd::{ComputeSvdVectors, SvdError, svd_scratch};
use faer::{Accum, Conj, Mat, MatRef, Par};

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

/// The lower triangle of what it returns is the factor of a Hermitian matrix, of which the lower
/// triangle counts.
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
    Ok(factor)
}

pub(super) fn product<W: Number>(a: MatRef<'_, W>, b: MatRef<'_, W>) -> Mat<W> {
    let mut product = Mat::zeros(a.nrows(), b.ncols());
    let one = W::from_real(1.0);
    matmul(product.as_mut(), Accum::Replace, a, b, one, Par::Seq);
    product
}

/// The first columns of Q, as many as the shorter side is long, and R in the rows of the factors:
/// what is below its diagonal is not part of it.
pub(super) fn qr<W: Number>(a: MatRef<'_, W>) -> (Mat<W>, Mat<W>) {
    let (m, n) = (a.nrows(), a.ncols());
    let size = m.min(n);
    let block = recommended_block_size::<W>(m, n);
    let (mut factors, mut coefficients) = (a.to_owned(), Mat::zeros(block, size));
    let scratch = qr_in_place_scratch::<W>(m, n, block, Par::Seq, Default::default());
    qr_in_place(
        factors.as_mut(),
        coefficients.as_mut(),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    );
    let mut q = Mat::identity(m, size);
    let scratch =
        apply_block_householder_sequence_on_the_left_in_place_scratch::<W>(m, block, size);
    apply_block_householder_sequence_on_the_left_in_place_with_conj(
        factors.as_ref().subcols(0, size),
        coefficients.as_ref(),
        Conj::No,
        q.as_mut(),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
    );
    (q, factors)
}

/// U, V and the singular values.
pub(super) fn svd<W: Number>(a: MatRef<'_, W>) -> Result<([Mat<W>; 2], Diag<W>), SvdError> {
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

pub(super) fn singular_values<W: Number>(a: MatRef<'_, W>) -> Result<Diag<W>, SvdError> {
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
