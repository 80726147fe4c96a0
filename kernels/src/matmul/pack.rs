//! Blocks of a matrix in panels: what a micro-kernel multiplies at a time lies side by side, where
//! the matrix has it so or in a copy.

use super::Matrix;
use crate::element::Numeric;

/// How often a panel is read for which a copy is not worth while, if its columns lie close
/// together, or are few: reads of many places apart from each other are better done all before they
/// are used.
const FEW_USES: usize = 2;
/// How many times its own length a column lies from the next one that is close.
const CLOSE: usize = 4;
/// How many columns are few.
const FEW_COLUMNS: usize = 8;
/// Columns of a panel that are copied row by row before the next ones, so that they stay in the L1
/// cache.
const AT_ONCE: usize = 16;

/// How panels of a number of rows are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Panel<T> {
    height: usize,
    pack: Pack<T>,
}

/// The matrix, a row and a column, how many of them from there on, and the copy.
type Pack<T> = fn(Matrix<'_, T>, [usize; 2], [usize; 2], &mut [T]);

impl<T: Numeric> Panel<T> {
    pub(super) fn of_rows<const HEIGHT: usize>() -> Self {
        Self {
            height: HEIGHT,
            pack: pack::<T, HEIGHT>,
        }
    }
}

/// Some rows by some columns of a matrix in panels, of which each has some of the rows.
#[derive(Debug)]
pub(super) struct Panels<'a, T> {
    height: usize,
    /// Where the columns of the first panels lie, and how far apart.
    matrix: (&'a [T], usize),
    n_in_place: usize,
    /// The other panels, column by column; rows that the last one has not are zero.
    packed: &'a [T],
    n_columns: usize,
}

impl<'a, T: Numeric> Panels<'a, T> {
    /// The panels of a block of this shape behind a row and a column, of which each is used so
    /// often. `copy` has room for all of them.
    pub(super) fn of(
        matrix: Matrix<'a, T>,
        [row, column]: [usize; 2],
        [n_rows, n_columns]: [usize; 2],
        (panel, uses): (Panel<T>, usize),
        copy: &'a mut [T],
    ) -> Self {
        let Panel { height, pack } = panel;
        let [down, right] = matrix.strides;
        let is_near = right.unsigned_abs() <= CLOSE * height || n_columns <= FEW_COLUMNS;
        let is_in_place = uses <= FEW_USES && down == 1 && right >= 0 && is_near;
        let n_in_place = if is_in_place { n_rows / height } else { 0 };
        let first = n_in_place * height;
        let packed = &mut copy[..(n_rows - first).next_multiple_of(height) * n_columns];
        let corner = [row + first, column];
        pack(matrix, corner, [n_rows - first, n_columns], packed);
        let elements = match n_in_place {
            0 => &[][..],
            _ => &matrix.elements[matrix.at(row, column)..],
        };
        Self {
            height,
            matrix: (elements, right.unsigned_abs()),
            n_in_place,
            packed,
            n_columns,
        }
    }

    /// The columns of a panel, and how far they lie apart.
    #[inline(always)]
    pub(super) fn panel(&self, number: usize) -> (&'a [T], usize) {
        match number.checked_sub(self.n_in_place) {
            Some(packed) => {
                let len = self.height * self.n_columns;
                (&self.packed[packed * len..][..len], self.height)
            }
            None => {
                let (elements, apart) = self.matrix;
                (&elements[number * self.height..], apart)
            }
        }
    }
}

/// Packs rows by columns of a matrix from a row and a column on into panels of `HEIGHT` rows.
fn pack<T: Numeric, const HEIGHT: usize>(
    matrix: Matrix<'_, T>,
    [row, column]: [usize; 2],
    [n_rows, n_columns]: [usize; 2],
    packed: &mut [T],
) {
    let (elements, [down, right]) = (matrix.elements, matrix.strides);
    let panels = packed.as_chunks_mut::<HEIGHT>().0;
    for (number, panel) in panels.chunks_exact_mut(n_columns).enumerate() {
        let first = row + number * HEIGHT;
        let n = HEIGHT.min(n_rows - number * HEIGHT);
        if down == 1 && n == HEIGHT {
            for (k, packed) in panel.iter_mut().enumerate() {
                packed.copy_from_slice(&elements[matrix.at(first, column + k)..][..HEIGHT]);
            }
            continue;
        }
        for (number, part) in panel.chunks_mut(AT_ONCE).enumerate() {
            let column = column + number * AT_ONCE;
            for i in 0..n {
                if right == 1 {
                    let row = &elements[matrix.at(first + i, column)..][..part.len()];
                    part.iter_mut()
                        .zip(row)
                        .for_each(|(packed, &x)| packed[i] = x);
                } else {
                    for (k, packed) in part.iter_mut().enumerate() {
                        packed[i] = elements[matrix.at(first + i, column + k)];
                    }
                }
            }
            for i in n..HEIGHT {
                part.iter_mut().for_each(|packed| packed[i] = T::ZERO);
            }
        }
    }
}
