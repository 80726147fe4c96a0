//! The colors of the points of a grid: points of one color do not name each other.

use super::grid::Grid;
use super::stencil::Stencil;

/// See the module's text.
#[derive(Clone, Debug)]
pub(super) struct Colors {
    grid: Grid,
    /// Two colors, of a chessboard; else one for each corner of a cell.
    is_chessboard: bool,
}

impl Colors {
    pub(super) fn new(grid: &Grid, stencil: Stencil) -> Self {
        Self {
            grid: grid.clone(),
            is_chessboard: stencil.is_star(),
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        let axes = self.grid.sides.iter().filter(|&&side| side > 1).count();
        match self.is_chessboard {
            true => 1 << axes.min(1),
            false => 1 << axes,
        }
    }

    /// The color of a point.
    pub(super) fn of(&self, number: usize) -> usize {
        let point = self.grid.point(number);
        if self.is_chessboard {
            return point.iter().sum::<usize>() % 2;
        }
        let axes = (0..3).filter(|&d| self.grid.sides[d] > 1);
        axes.fold(0, |color, d| 2 * color + point[d] % 2)
    }
}
