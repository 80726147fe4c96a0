//! Eigenvalues and eigenvectors of matrices of any kind, by faer on one thread: see
//! [`super::serial`].

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, EvdError, evd_cplx, evd_real, evd_scratch};
use faer::traits::ComplexField;
use faer::{Mat, MatRef, Par};
use num_complex::Complex;

/// Memory for the eigenvalues of a matrix of any kind, and its eigenvectors if they are wanted.
fn memory_of_eig<W: ComplexField>(n: usize, wants_vectors: bool) -> MemBuffer {
    let wanted = match wants_vectors {
        true => ComputeEigenvectors::Yes,
        false => ComputeEigenvectors::No,
    };
    let left = ComputeEigenvectors::No;
    MemBuffer::new(evd_scratch::<W>(
        n,
        left,
        wanted,
        Par::Seq,
        Default::default(),
    ))
}

/// The eigenvalues of a real matrix, and its eigenvectors if there is a matrix for them. Those of a
/// pair of conjugate values are two columns of faer's: their real part and their imaginary part.
pub(super) fn eig_of_real(
    a: MatRef<'_, f64>,
    mut vectors: Option<&mut Mat<Complex<f64>>>,
) -> Result<Vec<Complex<f64>>, EvdError> {
    let n = a.nrows();
    let (mut re, mut im) = (Diag::zeros(n), Diag::zeros(n));
    let mut parts = vectors.is_some().then(|| Mat::zeros(n, n));
    let mut memory = memory_of_eig::<f64>(n, vectors.is_some());
    evd_real(
        a,
        re.as_mut(),
        im.as_mut(),
        None,
        parts.as_mut().map(|parts| parts.as_mut()),
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    )?;
    let mut values: Vec<_> = (0..n).map(|k| Complex::new(re[k], im[k])).collect();
    let mut column = 0;
    while column < n {
        let is_pair = column + 1 < n && values[column].im != 0.0;
        if is_pair {
            values[column + 1] = values[column].conj();
        }
        if let (Some(vectors), Some(parts)) = (vectors.as_deref_mut(), &parts) {
            for row in 0..n {
                let im = if is_pair {
                    parts[(row, column + 1)]
                } else {
                    0.0
                };
                let element = Complex::new(parts[(row, column)], im);
                vectors[(row, column)] = element;
                if is_pair {
                    vectors[(row, column + 1)] = element.conj();
                }
            }
        }
        column += if is_pair { 2 } else { 1 };
    }
    Ok(values)
}

/// As [`eig_of_real`], of a complex matrix.
pub(super) fn eig_of_complex(
    a: MatRef<'_, Complex<f64>>,
    vectors: Option<&mut Mat<Complex<f64>>>,
) -> Result<Vec<Complex<f64>>, EvdError> {
    let n = a.nrows();
    let mut values = Diag::zeros(n);
    let mut memory = memory_of_eig::<Complex<f64>>(n, vectors.is_some());
    evd_cplx(
        a,
        values.as_mut(),
        None,
        vectors.map(|vectors| vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    )?;
    Ok((0..n).map(|k| values[k]).collect())
}
