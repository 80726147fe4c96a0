//! Elements, row by row, to the columns of numbers that faer works on, and back: in blocks that fit
//! in the innermost cache, since one side of a transposition is always far apart.

use super::number::{Number, exponent};
use faer::Mat;
use num_complex::Complex;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, reserve};
use std::ops::Range;

/// Rows and columns of a block: two lines of the cache of real numbers.
const BLOCK: usize = 16;

/// Infinite, as [`magnitude`] has it; what is not a number is beyond.
const INFINITE: u64 = f64::INFINITY.to_bits();

/// Which elements of a matrix count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    All,
    /// Those on and below the diagonal of a Hermitian matrix, which is real.
    LowerTriangle,
}

impl Seen {
    /// How many elements of a row, from its first on.
    fn in_row(self, row: usize, n_columns: usize) -> usize {
        match self {
            Self::All => n_columns,
            Self::LowerTriangle => n_columns.min(row + 1),
        }
    }
}

/// The elements of a matrix, row by row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elements<'a, T> {
    pub(super) elements: &'a [T],
    pub(super) shape: [usize; 2],
    pub(super) seen: Seen,
}

impl<T: Field> Elements<'_, T> {
    fn seen_rows(&self) -> impl Iterator<Item = &[T]> {
        let n_columns = self.shape[1];
        (self.elements.chunks_exact(n_columns.max(1)).enumerate())
            .map(move |(row, elements)| &elements[..self.seen.in_row(row, n_columns)])
    }

    /// The exponent of the largest number; 0 of a matrix of zeros. None may be infinite or NaN,
    /// which no method survives.
    ///
    /// # Errors
    ///
    /// If one is.
    pub(super) fn largest_exponent(&self, op: &'static str) -> Result<i32, Error> {
        let mut largest = 0;
        for (row, elements) in self.seen_rows().enumerate() {
            let mut of_row = elements.iter().fold(0, |most, &x| magnitude(x).max(most));
            if of_row >= INFINITE {
                let is_bad = |x: &&T| magnitude(**x) >= INFINITE;
                let found = (elements.iter().enumerate()).find(|(_, x)| is_bad(x));
                let (column, x) = found.expect("the largest is one of them");
                let found = format!("{x} in row {row}, column {column}");
                return Err(Error::argument(op, "finite elements", found));
            }
            if let (Seen::LowerTriangle, [before @ .., x]) = (self.seen, elements) {
                let before = before.iter().fold(0, |most, &x| magnitude(x).max(most));
                of_row = before.max(x.parts().0.abs().to_bits());
            }
            largest = of_row.max(largest);
        }
        Ok(match largest {
            0 => 0,
            bits => exponent(Complex::from(f64::from_bits(bits))),
        })
    }

    /// The numbers, column by column, times a power of two; those that do not count are 0.
    pub(super) fn columns<W: Number>(&self, power: i32) -> Result<Vec<W>, Error> {
        let [n_rows, n_columns] = self.shape;
        let mut made: Vec<W> = reserve(n_rows * n_columns)?;
        made.resize(n_rows * n_columns, W::from_real(0.0));
        let factors = factors(power);
        for_blocks([n_rows, n_columns], |rows, columns| {
            for row in rows {
                let end = columns.end.min(self.seen.in_row(row, n_columns));
                for column in columns.start..end {
                    let x = self.elements[row * n_columns + column].parts();
                    made[column * n_rows + row] = W::of_parts(scaled(x, factors));
                }
            }
        });
        if self.seen == Seen::LowerTriangle {
            for x in made.iter_mut().step_by(n_rows + 1) {
                *x = W::from_real(x.complex().re);
            }
        }
        Ok(made)
    }
}

/// The bits of the larger part, without its sign: they are ordered as the numbers are.
fn magnitude<T: Field>(x: T) -> u64 {
    let (re, im) = x.parts();
    re.abs().to_bits().max(im.abs().to_bits())
}

/// The factors of a power of two, which may itself be out of range.
fn factors(power: i32) -> [f64; 2] {
    let half = power / 2;
    [2f64.powi(half), 2f64.powi(power - half)]
}

fn scaled((re, im): (f64, f64), [first, second]: [f64; 2]) -> (f64, f64) {
    (re * first * second, im * first * second)
}

/// The blocks of a matrix.
fn for_blocks([n_rows, n_columns]: [usize; 2], mut visit: impl FnMut(Range<usize>, Range<usize>)) {
    for row in (0..n_rows).step_by(BLOCK) {
        for column in (0..n_columns).step_by(BLOCK) {
            let rows = row..n_rows.min(row + BLOCK);
            visit(rows, column..n_columns.min(column + BLOCK));
        }
    }
}

/// Rows of what a method has made.
pub(super) enum Rows<W> {
    /// Those of a matrix.
    Of(Mat<W>),
    /// Its columns.
    Columns(Mat<W>),
}

impl<W: Number> Rows<W> {
    /// One row.
    pub(super) fn one(len: usize, number: impl Fn(usize) -> W) -> Self {
        Self::Columns(Mat::from_fn(len, 1, |at, _| number(at)))
    }

    fn shape(&self) -> [usize; 2] {
        match self {
            Self::Of(matrix) => [matrix.nrows(), matrix.ncols()],
            Self::Columns(matrix) => [matrix.ncols(), matrix.nrows()],
        }
    }

    /// Writes the rows, times the powers of two that belong to them, one after the other.
    fn write<M: Field>(&self, power: impl Fn(usize) -> i32, into: &mut [M]) {
        let [n_rows, n_columns] = self.shape();
        let mut block = [[Complex::ZERO; BLOCK]; BLOCK];
        for_blocks([n_rows, n_columns], |rows, columns| {
            match self {
                Self::Of(matrix) => {
                    for (at, column) in columns.clone().enumerate() {
                        let numbers = &matrix.col_as_slice(column)[rows.clone()];
                        for (row, x) in block.iter_mut().zip(numbers) {
                            row[at] = x.complex();
                        }
                    }
                }
                Self::Columns(matrix) => {
                    for (numbers, row) in block.iter_mut().zip(rows.clone()) {
                        let of_row = &matrix.col_as_slice(row)[columns.clone()];
                        for (number, x) in numbers.iter_mut().zip(of_row) {
                            *number = x.complex();
                        }
                    }
                }
            }
            for (numbers, row) in block.iter_mut().zip(rows) {
                let numbers = &mut numbers[..columns.len()];
                let power = power(row);
                if power != 0 {
                    let factors = factors(power);
                    for x in &mut *numbers {
                        let (re, im) = scaled((x.re, x.im), factors);
                        *x = Complex::new(re, im);
                    }
                }
                let begin = row * n_columns;
                let into = &mut into[begin + columns.start..begin + columns.end];
                for (element, number) in into.iter_mut().zip(numbers) {
                    *element = M::from_parts(number.re, number.im);
                }
            }
        });
    }
}

/// What a method has made: rows below rows.
pub(super) enum Made<W> {
    Numbers(Vec<Rows<W>>),
    /// Eigenvalues of a matrix that is not Hermitian may be complex where it is real.
    Complex(Vec<Rows<Complex<f64>>>),
}

impl<W: Number> Made<W> {
    /// Writes it as elements, row by row. From a row on it is multiplied by a power of two.
    pub(super) fn write<M: Field>(&self, scaled: Option<(usize, i32)>, into: &mut [M]) {
        match self {
            Self::Numbers(made) => write(made, scaled, into),
            Self::Complex(made) => write(made, scaled, into),
        }
    }
}

fn write<W: Number, M: Field>(made: &[Rows<W>], scaled: Option<(usize, i32)>, mut into: &mut [M]) {
    let mut above = 0;
    for rows in made {
        let [n_rows, n_columns] = rows.shape();
        let power = |row: usize| match scaled {
            Some((first, power)) if above + row >= first => power,
            _ => 0,
        };
        let (own, below) = into.split_at_mut(n_rows * n_columns);
        rows.write(power, own);
        (above, into) = (above + n_rows, below);
    }
    assert!(into.is_empty(), "{} elements without a number", into.len());
}
