//! Grids, and how each of their axes is coarsened.
//!
//! A grid has up to three axes, of any length, and row-major numbers. An axis of `n` points is
//! coarsened to the `n / 2` points 1, 3, 5 …, so every length works. The boundary of a problem with
//! n = 2^k - 1 points lies one step beyond the first and the last one on every level; elsewhere it
//! comes nearer where a length is even, since then the last coarse point is the last fine one.
//! [`Ends`] say how far it is, and the points beside it are interpolated accordingly: between their
//! neighbour and 0 on the boundary, or as their neighbour where there is no such boundary.
//!
//! [`AxisTransfer`] has the weights of interpolation and restriction along one axis; what happens
//! on the grid is their tensor product.

use sparsefuse_runtime::Error;

/// How values get from a grid to the next coarser one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Restriction {
    /// Each coarse point gets a mean of its fine neighbours: the transpose of the linear
    /// interpolation, divided by 2 for each coarsened axis.
    #[default]
    FullWeighting,
    /// Each coarse point gets the value of the fine point that it is.
    Injection,
}

/// How values get from a coarse grid to the next finer one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prolongation {
    /// Linear interpolation along each axis (bilinear, trilinear), with 0 on the boundary where the
    /// matrix has one, by its rows' sums: a Dirichlet condition at whatever distance.
    #[default]
    Linear,
    /// Each coarse value stays at its point; 0 elsewhere: the transpose of injection.
    Injection,
}

/// How far beyond the first and the last point of an axis the solution is 0, in steps of the grid;
/// infinite where it is not, as with a Neumann condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ends {
    pub(super) first: f64,
    pub(super) last: f64,
}

impl Ends {
    /// Those of the next coarser grid, for an axis of `fine` points.
    fn coarsened(self, fine: usize) -> Self {
        let last_coarse = 2 * (fine / 2) - 1;
        let behind = fine - 1 - last_coarse;
        Self {
            first: (1.0 + self.first) / 2.0,
            last: (behind as f64 + self.last) / 2.0,
        }
    }
}

/// A row-major grid of one to three axes; missing axes come first and have one point.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grid {
    /// Points along z, y and x.
    pub(super) sides: [usize; 3],
    pub(super) ends: [Ends; 3],
}

impl Grid {
    pub(super) fn new(sides: &[usize]) -> Result<Self, Error> {
        if sides.is_empty() || sides.len() > 3 || sides.contains(&0) {
            let expected = "one to three sides of at least one point";
            return Err(Error::argument("multigrid", expected, format!("{sides:?}")));
        }
        let one_step = Ends {
            first: 1.0,
            last: 1.0,
        };
        let mut grid = Self {
            sides: [1; 3],
            ends: [one_step; 3],
        };
        grid.sides[3 - sides.len()..].copy_from_slice(sides);
        Ok(grid)
    }

    /// The number of points, if it does not overflow.
    pub(super) fn len(&self) -> Option<usize> {
        let [nz, ny, nx] = self.sides;
        nz.checked_mul(ny)?.checked_mul(nx)
    }

    /// The grid with every second point along some of the axes.
    pub(super) fn coarsened(&self, along: [bool; 3]) -> Self {
        let mut coarse = self.clone();
        for d in (0..3).filter(|&d| along[d]) {
            coarse.sides[d] = self.sides[d] / 2;
            coarse.ends[d] = self.ends[d].coarsened(self.sides[d]);
        }
        coarse
    }

    /// The axes with more than one point.
    pub(super) fn extended(&self) -> [bool; 3] {
        self.sides.map(|side| side > 1)
    }

    /// The coordinates of a point.
    pub(super) fn point(&self, number: usize) -> [usize; 3] {
        let [_, ny, nx] = self.sides;
        [number / nx / ny, number / nx % ny, number % nx]
    }
}

/// Interpolation to, and restriction from, the points of an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AxisTransfer {
    pub(super) fine: usize,
    pub(super) coarse: usize,
    /// Whether it is coarsened at all; else both are the identity.
    pub(super) is_coarsened: bool,
    ends: Ends,
    restriction: Restriction,
    prolongation: Prolongation,
}

/// Up to three points with their weights, ascending.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Weights {
    entries: [(usize, f64); 3],
    len: usize,
}

impl Weights {
    fn new() -> Self {
        Self {
            entries: [(0, 0.0); 3],
            len: 0,
        }
    }

    fn push(&mut self, point: usize, weight: f64) {
        self.entries[self.len] = (point, weight);
        self.len += 1;
    }

    pub(super) fn as_slice(&self) -> &[(usize, f64)] {
        &self.entries[..self.len]
    }
}

impl AxisTransfer {
    /// Along axis `d` of a grid.
    pub(super) fn new(
        grid: &Grid,
        d: usize,
        is_coarsened: bool,
        (restriction, prolongation): (Restriction, Prolongation),
    ) -> Self {
        let fine = grid.sides[d];
        Self {
            fine,
            coarse: if is_coarsened { fine / 2 } else { fine },
            is_coarsened,
            ends: grid.ends[d],
            restriction,
            prolongation,
        }
    }

    /// The weight of each coarse neighbour in the linear interpolation of a fine point that is not
    /// on the coarse grid.
    fn slope(&self, fine: usize) -> f64 {
        let between = |end: f64| match end.is_finite() {
            true => end / (1.0 + end),
            false => 1.0,
        };
        match fine {
            0 => between(self.ends.first),
            _ if fine + 1 == self.fine => between(self.ends.last),
            _ => 0.5,
        }
    }

    /// The coarse points that a fine point is interpolated from.
    pub(super) fn interpolation(&self, fine: usize) -> Weights {
        let mut weights = Weights::new();
        if !self.is_coarsened {
            weights.push(fine, 1.0);
        } else if fine % 2 == 1 {
            weights.push(fine / 2, 1.0);
        } else if self.prolongation == Prolongation::Linear {
            let slope = self.slope(fine);
            if fine > 0 {
                weights.push(fine / 2 - 1, slope);
            }
            if fine / 2 < self.coarse {
                weights.push(fine / 2, slope);
            }
        }
        weights
    }

    /// The fine points that a coarse point's value is a mean of.
    pub(super) fn restriction(&self, coarse: usize) -> Weights {
        let mut weights = Weights::new();
        if !self.is_coarsened {
            weights.push(coarse, 1.0);
            return weights;
        }
        let center = 2 * coarse + 1;
        match self.restriction {
            Restriction::Injection => weights.push(center, 1.0),
            Restriction::FullWeighting => {
                weights.push(center - 1, 0.5 * self.slope(center - 1));
                weights.push(center, 0.5);
                if center + 1 < self.fine {
                    weights.push(center + 1, 0.5 * self.slope(center + 1));
                }
            }
        }
        weights
    }

    /// The weight of the fine point `2 * coarse + 1 + step`, step -1, 0 or 1, in a coarse value.
    pub(super) fn restricted(&self, coarse: usize, step: isize) -> f64 {
        let fine = (2 * coarse + 1).wrapping_add_signed(step);
        find(&self.restriction(coarse), fine)
    }

    /// The weight of a coarse point in the interpolation of a fine one; 0 where one of them does
    /// not exist.
    pub(super) fn interpolated(&self, fine: Option<usize>, coarse: Option<usize>) -> f64 {
        match (fine.filter(|&fine| fine < self.fine), coarse) {
            (Some(fine), Some(coarse)) => find(&self.interpolation(fine), coarse),
            _ => 0.0,
        }
    }
}

fn find(weights: &Weights, point: usize) -> f64 {
    let found = weights.as_slice().iter().find(|(at, _)| *at == point);
    found.map_or(0.0, |&(_, weight)| weight)
}
