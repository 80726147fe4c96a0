//! Complete factorisations of a matrix that one rank holds, by faer, or in its [`band`] where that
//! is narrow: the feature `direct`. Without it `no_complete.rs` is in its place.
//!
//! In double precision whatever the element type is, and with one thread, so that the bits do not
//! depend on their number; on the instruction set of the machine they do. L U is that of the
//! matrix: its entries are put in the order of its columns, each of which has its largest number as
//! pivot, so what the columns are multiplied by makes no difference. (Factors of the transpose lose
//! digits of solutions where columns differ in size.) That rows differ in size makes little, since
//! both are brought near 1 before ([`balance`]); so inverses of pivots, by which faer multiplies,
//! are finite. For Cholesky's factors rows are given to faer as columns, so what it factors is the
//! transpose, which is the conjugate.

mod balance;
mod band;
mod columns;
mod lanes;
mod lower;
mod number;

use self::balance::Balance;
use self::band::{Band, Bandwidth};
use self::number::Number;

use super::system::{Factorisation, Lower, System, indefinite, singular};
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::solvers::LltError;
use faer::sparse::linalg::LuError;
use faer::sparse::linalg::cholesky::{
    LltRef, SymbolicCholesky, SymbolicCholeskyRaw, factorize_symbolic_cholesky,
};
use faer::sparse::linalg::lu::simplicial::factorize_simplicial_numeric_lu_scratch;
use faer::sparse::linalg::lu::{LuRef, NumericLu, SymbolicLu, factorize_symbolic_lu};
use faer::sparse::{FaerError, SparseColMatRef, SymbolicSparseColMat};
use faer::{Conj, MatMut, Par, Side};
use num_complex::Complex;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, reserve, try_collect};
use sparsefuse_sparse::LocalRows;
use std::borrow::Cow;
use std::iter::repeat_n;
use std::marker::PhantomData;
use std::sync::Arc;

/// What errors say here; callers name the operation.
const OP: &str = "splu";
/// What has a row or a column without entries, or too few in some of them.
const SINGULAR: &str = "one that is singular whatever its values";

/// Whether there are complete factorisations.
pub(crate) const HAS_FACTORS: bool = true;

/// The factors of a square matrix. What is compiled for every element type only widens and narrows.
pub(super) struct Complete<T> {
    factors: Precision,
    element: PhantomData<T>,
}

/// The factors of a real or of a complex matrix.
enum Precision {
    Real(Factors<f64>),
    Complex(Factors<Complex<f64>>),
}

impl<T: Field> Complete<T> {
    /// Factors the matrix that has these rows, and as many columns.
    pub(super) fn new(method: Factorisation, rows: &LocalRows<T>) -> Result<Self, Error> {
        let (pos, crd) = (&rows.pos[..], &rows.crd[..]);
        let factors = match T::IS_COMPLEX {
            true => Precision::Complex(complex_factors(method, pos, crd, complex(&rows.vals)?)?),
            false => Precision::Real(real_factors(method, pos, crd, real(&rows.vals)?)?),
        };
        Ok(Self::of(factors))
    }

    fn of(factors: Precision) -> Self {
        Self {
            factors,
            element: PhantomData,
        }
    }

    /// The factors of a matrix with the same structure, whose entries have these values: the order
    /// and the symbolic factorisation stay.
    pub(super) fn with_values(&self, vals: &[T]) -> Result<Self, Error> {
        Ok(Self::of(match &self.factors {
            Precision::Real(factors) => Precision::Real(real_update(factors, real(vals)?)?),
            Precision::Complex(factors) => {
                Precision::Complex(complex_update(factors, complex(vals)?)?)
            }
        }))
    }

    /// The same for rows that may be of another structure, which is an error.
    pub(super) fn with_rows(&self, rows: &LocalRows<T>) -> Result<Self, Error> {
        let structure = match &self.factors {
            Precision::Real(factors) => &factors.structure,
            Precision::Complex(factors) => &factors.structure,
        };
        if structure.is_of(&rows.pos, &rows.crd) {
            return self.with_values(&rows.vals);
        }
        let expected = "the structure that was factored before";
        Err(Error::argument(OP, expected, "another"))
    }

    /// The solution for a right-hand side as long as the matrix has rows: of A x = b, or of the
    /// system with the adjoint or the transpose.
    pub(super) fn solve(&self, b: &[T], system: System) -> Result<Vec<T>, Error> {
        match &self.factors {
            Precision::Real(factors) => {
                let mut x = real(b)?;
                real_solve(factors, &mut x, 1, system)?;
                try_collect(x.into_iter().map(T::from_f64))
            }
            Precision::Complex(factors) => {
                let mut x = complex(b)?;
                complex_solve(factors, &mut x, 1, system)?;
                try_collect(x.into_iter().map(|x| T::from_parts(x.re, x.im)))
            }
        }
    }

    /// The factor of a Cholesky factorisation; none of L U.
    pub(super) fn lower(&self) -> Result<Option<Lower<T>>, Error> {
        match &self.factors {
            Precision::Real(factors) => factors.lower(T::from_f64),
            // What is factored is the transpose, which is the conjugate.
            Precision::Complex(factors) => factors.lower(|x| T::from_parts(x.re, -x.im)),
        }
    }
}

fn real<T: Field>(values: &[T]) -> Result<Vec<f64>, Error> {
    try_collect(values.iter().map(|value| value.parts().0))
}

fn complex<T: Field>(values: &[T]) -> Result<Vec<Complex<f64>>, Error> {
    let wide = |value: &T| {
        let (re, im) = value.parts();
        Complex::new(re, im)
    };
    try_collect(values.iter().map(wide))
}

/// The ways into faer's code, which is long, for one type of numbers: none of them is generic, so
/// it is compiled here, and not in every program that solves.
macro_rules! ways_into_faer {
    ($E:ty: $factors:ident, $update:ident, $solve:ident) => {
        fn $factors(
            method: Factorisation,
            pos: &[u64],
            crd: &[u32],
            entries: Vec<$E>,
        ) -> Result<Factors<$E>, Error> {
            Factors::new(method, pos, crd, entries)
        }

        fn $update(factors: &Factors<$E>, entries: Vec<$E>) -> Result<Factors<$E>, Error> {
            factors.with_values(entries)
        }

        fn $solve(
            factors: &Factors<$E>,
            x: &mut [$E],
            width: usize,
            system: System,
        ) -> Result<(), Error> {
            factors.solve(x, width, system)
        }
    };
}

ways_into_faer!(f64: real_factors, real_update, real_solve);
ways_into_faer!(Complex<f64>: complex_factors, complex_update, complex_solve);

/// The factors in the precision they are computed in.
struct Factors<E> {
    structure: Arc<Structure>,
    values: Values<E>,
    /// What rows and columns were multiplied by.
    balance: Balance,
}

/// The structure of a matrix.
struct Structure {
    /// Where its rows begin and end among its entries, and the column of each.
    pos: Vec<usize>,
    crd: Vec<u32>,
    /// What faer gets, whose entries are those of the matrix in this order, if it is another one.
    columns: SymbolicSparseColMat<usize>,
    order: Option<Vec<usize>>,
    /// The band that it is factored as, without faer.
    band: Option<Bandwidth>,
}

impl Structure {
    fn new(method: Factorisation, pos: &[u64], crd: &[u32]) -> Result<Self, Error> {
        let n = pos.len() - 1;
        let pos: Vec<usize> = try_collect(pos.iter().map(|&pos| pos as usize))?;
        let crd: Vec<u32> = try_collect(crd.iter().copied())?;
        let band = Bandwidth::of(&pos, &crd);
        let band = Some(band).filter(|band| band.pays(n, crd.len()));
        let band = band.filter(|_| method == Factorisation::Lu);
        if band.is_some() {
            return Ok(Self {
                columns: SymbolicSparseColMat::new_checked(0, 0, vec![0], None, Vec::new()),
                order: None,
                band,
                pos,
                crd,
            });
        }
        let (starts, rows, order) = match method {
            Factorisation::Lu => {
                let [starts, rows, order] = by_columns(&pos, &crd)?;
                (starts, rows, Some(order))
            }
            Factorisation::Cholesky => {
                let rows = try_collect(crd.iter().map(|&column| column as usize))?;
                (try_collect(pos.iter().copied())?, rows, None)
            }
        };
        if (0..n).any(|column| starts[column] == starts[column + 1]) {
            return Err(singular(SINGULAR));
        }
        Ok(Self {
            columns: SymbolicSparseColMat::new_checked(n, n, starts, None, rows),
            order,
            band: None,
            pos,
            crd,
        })
    }

    /// Whether it is that of a matrix with these rows.
    fn is_of(&self, pos: &[u64], crd: &[u32]) -> bool {
        let pos = pos.iter().map(|&pos| pos as usize);
        pos.eq(self.pos.iter().copied()) && *crd == *self.crd
    }

    /// Calls `visit` with each entry, its row and its column, row by row.
    fn each(&self, mut visit: impl FnMut(usize, usize, usize)) {
        for (row, ends) in self.pos.windows(2).enumerate() {
            for entry in ends[0]..ends[1] {
                visit(entry, row, self.crd[entry] as usize);
            }
        }
    }

    /// What `make` makes of the matrix with these entries, as faer gets it.
    fn with_matrix<E: Number, R>(
        &self,
        entries: &[E],
        make: impl FnOnce(SparseColMatRef<'_, usize, E>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let ordered = match &self.order {
            Some(order) => Cow::Owned(try_collect(order.iter().map(|&at| entries[at]))?),
            None => Cow::Borrowed(entries),
        };
        make(SparseColMatRef::new(self.columns.as_ref(), &ordered[..]))
    }
}

/// Where the columns of a square matrix begin and end, the row of each of their entries, and its
/// number in the order of the rows.
fn by_columns(pos: &[usize], crd: &[u32]) -> Result<[Vec<usize>; 3], Error> {
    let n = pos.len() - 1;
    let mut starts = try_collect(repeat_n(0, n + 1))?;
    for &column in crd {
        starts[column as usize + 1] += 1;
    }
    for column in 0..n {
        starts[column + 1] += starts[column];
    }
    let mut next: Vec<usize> = try_collect(starts[..n].iter().copied())?;
    let mut rows = try_collect(repeat_n(0, crd.len()))?;
    let mut order = try_collect(repeat_n(0, crd.len()))?;
    for row in 0..n {
        for entry in pos[row]..pos[row + 1] {
            let place = &mut next[crd[entry] as usize];
            rows[*place] = row;
            order[*place] = entry;
            *place += 1;
        }
    }
    Ok([starts, rows, order])
}

/// The symbolic and the numeric part of a factorisation.
enum Values<E> {
    Lu(Arc<SymbolicLu<usize>>, Box<NumericLu<usize, E>>),
    Cholesky(Arc<SymbolicCholesky<usize>>, Vec<E>),
    Band(Band<E>),
}

impl<E: Number> Factors<E> {
    fn new(
        method: Factorisation,
        pos: &[u64],
        crd: &[u32],
        mut entries: Vec<E>,
    ) -> Result<Self, Error> {
        let n = pos.len() - 1;
        if let Some(row) = (0..n).find(|&row| pos[row] == pos[row + 1]) {
            let expected = format!("an entry in row {row}");
            return Err(Error::argument(OP, expected, "none"));
        }
        let structure = Structure::new(method, pos, crd)?;
        let balance = match method {
            Factorisation::Lu => Balance::of(&structure, &mut entries)?,
            Factorisation::Cholesky => Balance::default(),
        };
        let values = match (structure.band, method) {
            (Some(band), _) => Values::Band(Band::new(band, &structure, &entries)?),
            (None, Factorisation::Lu) => structure.with_matrix(&entries, |matrix| {
                let symbolic = factorize_symbolic_lu(matrix.symbolic(), Default::default());
                lu(&Arc::new(symbolic.map_err(refused)?), matrix)
            })?,
            (None, Factorisation::Cholesky) => structure.with_matrix(&entries, |matrix| {
                let (order, params) = (Default::default(), Default::default());
                let of = matrix.symbolic();
                let symbolic = factorize_symbolic_cholesky(of, Side::Lower, order, params);
                cholesky(&Arc::new(symbolic.map_err(refused)?), matrix)
            })?,
        };
        let structure = Arc::new(structure);
        let factors = Self {
            structure,
            values,
            balance,
        };
        factors.checked(&entries)
    }

    fn with_values(&self, mut entries: Vec<E>) -> Result<Self, Error> {
        let balance = match &self.values {
            Values::Lu(..) | Values::Band(_) => Balance::of(&self.structure, &mut entries)?,
            Values::Cholesky(..) => Balance::default(),
        };
        let (structure, entries) = (&self.structure, &entries[..]);
        let values = match &self.values {
            Values::Lu(symbolic, _) => structure.with_matrix(entries, |a| lu(symbolic, a))?,
            Values::Cholesky(symbolic, _) => {
                structure.with_matrix(entries, |a| cholesky(symbolic, a))?
            }
            Values::Band(band) => Values::Band(Band::new(band.bandwidth(), structure, entries)?),
        };
        let structure = Arc::clone(structure);
        let factors = Self {
            structure,
            values,
            balance,
        };
        factors.checked(entries)
    }

    /// Refuses factors with a pivot of 0, by which faer divides: no solution is finite. Of a matrix
    /// with large elements in its inverse some are not either, but that for A 1 is.
    fn checked(self, entries: &[E]) -> Result<Self, Error> {
        if let Values::Band(_) = self.values {
            return Ok(self); // which looks at its pivots
        }
        let ones = try_collect(repeat_n(E::one(), self.structure.pos.len() - 1))?;
        let has_solution = |mut x: Vec<E>| {
            self.solve_scaled(&mut x, 1, System::Plain)?;
            Ok::<bool, Error>(x.iter().all(|x| x.is_finite()))
        };
        if has_solution(ones)? || has_solution(self.row_sums(entries)?)? {
            return Ok(self);
        }
        Err(singular("one with a pivot of 0"))
    }

    /// The sums of the rows of the matrix.
    fn row_sums(&self, entries: &[E]) -> Result<Vec<E>, Error> {
        let ends = self.structure.pos.windows(2);
        try_collect(ends.map(|ends| {
            let row = entries[ends[0]..ends[1]].iter();
            row.fold(E::zero(), |sum, &entry| sum + entry)
        }))
    }

    /// Whether what is solved for stands row by row, not column by column.
    fn is_by_rows(&self) -> bool {
        matches!(self.values, Values::Band(_))
    }

    /// How many columns are solved for together, if there are as many: each has the bits that it
    /// has alone, which faer's products of supernodes do not give it.
    fn most_columns(&self) -> usize {
        const TOGETHER: usize = 8;
        let has_supernodes = match &self.values {
            Values::Lu(symbolic, _) => {
                let n = symbolic.nrows();
                // What faer has chosen is told by the memory that it asks for.
                let scratch =
                    symbolic.factorize_numeric_lu_scratch::<E>(Par::Seq, Default::default());
                let least = factorize_simplicial_numeric_lu_scratch::<usize, E>(n, n);
                scratch.size_bytes() > least.size_bytes()
            }
            Values::Cholesky(symbolic, _) => {
                matches!(symbolic.raw(), SymbolicCholeskyRaw::Supernodal(_))
            }
            Values::Band(_) => false,
        };
        if has_supernodes { 1 } else { TOGETHER }
    }

    /// Solves for this many columns, in place: 1, 2, 4 or 8 of them.
    fn solve(&self, x: &mut [E], width: usize, system: System) -> Result<(), Error> {
        let run = if self.is_by_rows() { width } else { 1 };
        if system == System::Plain {
            self.balance.times_rows(x, run);
        } else {
            self.balance.times_columns(x, run);
        }
        self.solve_scaled(x, width, system)?;
        if system == System::Plain {
            self.balance.times_columns(x, run);
        } else {
            self.balance.times_rows(x, run);
        }
        Ok(())
    }

    /// Solves the system whose rows and columns were multiplied by powers of two.
    fn solve_scaled(&self, x: &mut [E], width: usize, system: System) -> Result<(), Error> {
        let n = x.len() / width;
        match &self.values {
            Values::Lu(symbolic, numeric) => {
                let scratch = symbolic.solve_transpose_in_place_scratch::<E>(width, Par::Seq);
                let scratch = scratch.or(symbolic.solve_in_place_scratch::<E>(width, Par::Seq));
                let mut memory = memory(scratch)?;
                let stack = MemStack::new(&mut memory);
                let x = MatMut::from_column_major_slice_mut(x, n, width);
                let factors = LuRef::new_unchecked(symbolic, numeric);
                match system {
                    System::Plain => {
                        factors.solve_in_place_with_conj(Conj::No, x, Par::Seq, stack);
                    }
                    System::Adjoint => {
                        factors.solve_transpose_in_place_with_conj(Conj::Yes, x, Par::Seq, stack);
                    }
                    System::Transpose => {
                        factors.solve_transpose_in_place_with_conj(Conj::No, x, Par::Seq, stack);
                    }
                }
            }
            Values::Cholesky(symbolic, values) => {
                let scratch = symbolic.solve_in_place_scratch::<E>(width, Par::Seq);
                let mut memory = memory(scratch)?;
                let stack = MemStack::new(&mut memory);
                let x = MatMut::from_column_major_slice_mut(x, n, width);
                // The transpose of a Hermitian matrix is its conjugate.
                let conj = match system {
                    System::Plain | System::Adjoint => Conj::Yes,
                    System::Transpose => Conj::No,
                };
                let factors = LltRef::new(symbolic, values);
                factors.solve_in_place_with_conj(conj, x, Par::Seq, stack);
            }
            Values::Band(band) => {
                let is_conjugate = system == System::Adjoint && !E::IS_REAL;
                let conjugate = |x: &mut [E]| {
                    if is_conjugate {
                        x.iter_mut().for_each(|x| *x = x.conjugate());
                    }
                };
                conjugate(x);
                band.solve(x, width, system);
                conjugate(x);
            }
        }
        Ok(())
    }
}

/// The numeric phase of L U.
fn lu<E: Number>(
    symbolic: &Arc<SymbolicLu<usize>>,
    matrix: SparseColMatRef<'_, usize, E>,
) -> Result<Values<E>, Error> {
    let params = Default::default();
    let scratch = symbolic.factorize_numeric_lu_scratch::<E>(Par::Seq, params);
    let mut memory = memory(scratch)?;
    let stack = MemStack::new(&mut memory);
    let mut numeric = Box::new(NumericLu::new());
    symbolic
        .factorize_numeric_lu(&mut numeric, matrix, Par::Seq, stack, params)
        .map_err(|error| match error {
            LuError::SymbolicSingular { .. } => singular(SINGULAR),
            LuError::Generic(error) => refused(error),
        })?;
    Ok(Values::Lu(Arc::clone(symbolic), numeric))
}

/// The numeric phase of L L^H.
fn cholesky<E: Number>(
    symbolic: &Arc<SymbolicCholesky<usize>>,
    matrix: SparseColMatRef<'_, usize, E>,
) -> Result<Values<E>, Error> {
    let (params, regularization) = (Default::default(), Default::default());
    let scratch = symbolic.factorize_numeric_llt_scratch::<E>(Par::Seq, params);
    let mut memory = memory(scratch)?;
    let stack = MemStack::new(&mut memory);
    let mut values = reserve(symbolic.len_val())?;
    values.resize(symbolic.len_val(), E::zero());
    symbolic
        .factorize_numeric_llt(
            &mut values,
            matrix,
            Side::Lower,
            regularization,
            Par::Seq,
            stack,
            params,
        )
        .map_err(|LltError::NonPositivePivot { index }| {
            // The columns of blocks are counted from 0, others from 1.
            let column = match symbolic.raw() {
                SymbolicCholeskyRaw::Simplicial(_) => index - 1,
                SymbolicCholeskyRaw::Supernodal(_) => index,
            };
            let order = symbolic.perm().map(|order| order.arrays().0[column]);
            indefinite(Some(order.unwrap_or(column)))
        })?;
    Ok(Values::Cholesky(Arc::clone(symbolic), values))
}

fn memory(request: StackReq) -> Result<MemBuffer, Error> {
    MemBuffer::try_new(request).map_err(|_| {
        let found = format!("{} bytes refused", request.size_bytes());
        Error::argument(OP, "memory to factor and solve in", found)
    })
}

fn refused(error: FaerError) -> Error {
    Error::argument(
        OP,
        "a matrix whose factors fit in memory",
        match error {
            FaerError::OutOfMemory => "that the system refuses the memory".to_owned(),
            other => other.to_string(),
        },
    )
}
