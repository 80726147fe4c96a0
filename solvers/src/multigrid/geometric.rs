//! Geometric multigrid: hierarchies on structured grids.

use super::coarsest::Coarsest;
use super::colors::Colors;
use super::cycle::{Hierarchy, Level};
use super::ends::ends;
use super::galerkin::galerkin;
use super::grid::{Grid, Prolongation, Restriction};
use super::options::{CycleOptions, Smoother};
use super::smoother::{Relaxation, largest_eigenvalue};
use super::stencil::{Stencil, couplings};
use super::transfers::GridTransfer;
use crate::powers::times_power_of_entries;
use sparsefuse_kernels::{Field, Real as _};
use sparsefuse_runtime::Error;
use sparsefuse_sparse::{Csr, Threads, eager, parallel};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Along which axes a grid is made coarser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Coarsening {
    /// Along those in which most rows couple at least half as strongly as in the strongest one: all
    /// of an isotropic problem, the strong ones of an anisotropic one, where smoothing by points
    /// damps nothing along the weak ones (*semicoarsening*).
    #[default]
    Strong,
    /// Along all.
    All,
}

/// How the matrices of the coarse levels come about.
#[derive(Clone, Default)]
pub enum CoarseOperator<T> {
    /// R A P.
    #[default]
    Galerkin,
    /// By the discretisation: the function is called with the number of the level, from 1, and the
    /// sides of its grid, and again after [`update`](crate::Preconditioner::update). Since the
    /// weights of a restriction sum to 1, matrices have to be scaled alike: with 1 / h^2 for second
    /// derivatives.
    Rediscretised(Discretisation<T>),
}

/// A function from a level and the sides of its grid to its matrix.
pub type Discretisation<T> = Arc<dyn Fn(usize, &[usize]) -> Result<Csr<T>, Error> + Send + Sync>;

impl<T> fmt::Debug for CoarseOperator<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Galerkin => "Galerkin",
            Self::Rediscretised(_) => "Rediscretised",
        })
    }
}

/// What a hierarchy on a grid is asked for.
#[derive(Clone, Debug)]
pub struct GridOptions<T> {
    /// From a grid to the next coarser one.
    pub restriction: Restriction,
    /// From a grid to the next finer one.
    pub prolongation: Prolongation,
    /// The axes that are made coarser.
    pub coarsening: Coarsening,
    /// The matrices of the coarse levels.
    pub coarse: CoarseOperator<T>,
    /// The cycle.
    pub cycle: CycleOptions,
}

impl<T> Default for GridOptions<T> {
    fn default() -> Self {
        Self {
            restriction: Restriction::default(),
            prolongation: Prolongation::default(),
            coarsening: Coarsening::default(),
            coarse: CoarseOperator::Galerkin,
            cycle: CycleOptions::default(),
        }
    }
}

impl<T> GridOptions<T> {
    /// The two-level method that is published with fusing runtimes: injection between the grids,
    /// one weighted Jacobi step on each side and one in place of the coarse solve.
    ///
    /// As a preconditioner it is little better than Jacobi's; it is a benchmark of runtimes.
    #[must_use]
    pub fn two_level_injection() -> Self {
        Self {
            restriction: Restriction::Injection,
            prolongation: Prolongation::Injection,
            coarsening: Coarsening::All,
            coarse: CoarseOperator::Galerkin,
            cycle: CycleOptions {
                coarse_solver: super::CoarseSolver::Smoother,
                coarsest: 0,
                max_levels: 2,
                ..CycleOptions::default()
            },
        }
    }
}

/// How a hierarchy on a grid was made, to make it again with other values.
#[derive(Clone, Debug)]
pub(super) struct GridSetup<T> {
    grid: Grid,
    /// The number of sides that the caller gave.
    n_sides: usize,
    /// The stencil of the matrix; `None` where it is not compact.
    stencil: Option<Stencil>,
    steps: Vec<Step<T>>,
    options: GridOptions<T>,
    /// The power of two by which the matrix of the caller was divided, and those of its
    /// discretisation are.
    power: i32,
}

/// From one level to the next.
#[derive(Clone, Debug)]
struct Step<T> {
    transfer: GridTransfer,
    restriction: Csr<T>,
    prolongation: Csr<T>,
    /// The matrix of the next level, whose structure is used again.
    coarse: Csr<T>,
    /// Its stencil.
    stencil: Option<Stencil>,
}

impl<T: Field> GridSetup<T> {
    pub(super) fn new(
        a: &Csr<T>,
        sides: &[usize],
        options: &GridOptions<T>,
    ) -> Result<Self, Error> {
        let grid = Grid::new(sides)?;
        let n_points = grid.len().unwrap_or(usize::MAX);
        if n_points != a.n_rows() || a.n_rows() != a.n_cols() {
            let product: Vec<_> = sides.iter().map(usize::to_string).collect();
            let expected = format!(
                "a square matrix with a row for each of the {n_points} points of the grid {}",
                product.join(" x ")
            );
            let found = format!("{} rows and {} columns", a.n_rows(), a.n_cols());
            return Err(Error::argument("multigrid", expected, found));
        }
        Ok(Self {
            stencil: Stencil::of(a, &grid)?,
            grid,
            n_sides: sides.len(),
            steps: Vec::new(),
            options: options.clone(),
            power: 0,
        })
    }

    /// The hierarchy for a matrix that was divided by a power of two, with the transfers that are
    /// there, or new ones.
    pub(super) fn hierarchy(&mut self, a: &Csr<T>, power: i32) -> Result<Hierarchy<T>, Error> {
        self.power = power;
        let ends = ends(a, &self.grid)?;
        if ends != self.grid.ends {
            self.grid.ends = ends;
            self.steps.clear();
        }
        let cycle = &self.options.cycle;
        let (smoother, coarsest_rows, most) = (cycle.smoother, cycle.coarsest, cycle.max_levels);
        let mut levels = Vec::new();
        let finest = a;
        let (mut a, mut grid, mut stencil) = (a.clone(), self.grid.clone(), self.stencil);
        let relaxation = |a: &Csr<T>, grid: &Grid, stencil: Option<Stencil>| {
            let colors = stencil.map(|stencil| Colors::new(grid, stencil));
            let omega = match smoother {
                Smoother::Jacobi { omega: None } => safe_weight(a, best_weight(grid))?,
                _ => best_weight(grid),
            };
            Relaxation::new(a, smoother, Some(omega), None, colors.as_ref())
        };
        while levels.len() + 1 < most
            && a.n_rows() > coarsest_rows
            && grid.extended().contains(&true)
        {
            let step = self.step(levels.len(), &a, &grid, stencil)?.clone();
            levels.push(Level {
                relaxation: relaxation(&a, &grid, stencil)?,
                a,
                restriction: step.restriction,
                prolongation: step.prolongation,
            });
            (a, grid, stencil) = (step.coarse, step.transfer.coarse, step.stencil);
        }
        let options = self.options.cycle.clone();
        Ok(Hierarchy {
            coarsest: Coarsest::new(&a, finest, &options, || relaxation(&a, &grid, stencil))?,
            last: a,
            levels,
            options,
        })
    }

    /// The step from a level, whose coarse matrix is made (again).
    fn step(
        &mut self,
        level: usize,
        a: &Csr<T>,
        grid: &Grid,
        stencil: Option<Stencil>,
    ) -> Result<&Step<T>, Error> {
        let is_given = matches!(self.options.coarse, CoarseOperator::Rediscretised(_));
        if let Some(known) = self.steps.get(level) {
            let (coarse, found) = self.coarse_matrix(level, a, stencil, known.transfers())?;
            let mut is_known = coarse.has_structure_of(&known.coarse)?;
            if is_known && is_given && found.is_some() {
                let grid = &known.transfer.coarse;
                is_known = ends(&coarse, grid)? == grid.ends;
            }
            let known = &mut self.steps[level];
            if is_known {
                known.coarse = known.coarse.with_values(coarse.values().clone())?;
                return Ok(&self.steps[level]);
            }
            // A discretisation may leave out other entries than before, or have its boundary
            // elsewhere: levels from here on are made again.
            self.steps.truncate(level);
        }
        let along = match (self.options.coarsening, stencil) {
            (Coarsening::Strong, Some(_)) => strong_axes(a, grid)?,
            _ => grid.extended(),
        };
        let GridOptions {
            restriction,
            prolongation,
            ..
        } = self.options;
        let mut transfer = GridTransfer::new(grid, along, restriction, prolongation);
        let enter = a.runtime();
        let restriction = enter.enter(|| transfer.restriction())?;
        let prolongation = enter.enter(|| transfer.prolongation())?;
        let transfers = (&transfer, &restriction, &prolongation);
        let (coarse, stencil) = self.coarse_matrix(level, a, stencil, transfers)?;
        if is_given && stencil.is_some() {
            transfer.coarse.ends = ends(&coarse, &transfer.coarse)?;
        }
        self.steps.push(Step {
            transfer,
            restriction,
            prolongation,
            coarse,
            stencil,
        });
        Ok(&self.steps[level])
    }

    fn coarse_matrix(
        &self,
        level: usize,
        a: &Csr<T>,
        stencil: Option<Stencil>,
        (transfer, restriction, prolongation): (&GridTransfer, &Csr<T>, &Csr<T>),
    ) -> Result<(Csr<T>, Option<Stencil>), Error> {
        let grid = &transfer.coarse;
        match (&self.options.coarse, stencil) {
            (CoarseOperator::Rediscretised(discretise), _) => {
                let sides = &grid.sides[3 - self.n_sides..];
                let coarse = a.runtime().enter(|| discretise(level + 1, sides))?;
                let n: usize = sides.iter().product();
                Error::check_shape("multigrid", &[n, n], &<[usize; 2]>::from(coarse.shape()))?;
                let coarse = times_power_of_entries(&coarse, -self.power);
                let stencil = Stencil::of(&coarse, grid)?;
                Ok((coarse, stencil))
            }
            (CoarseOperator::Galerkin, Some(stencil)) => {
                let product = || galerkin(a, stencil, transfer);
                let (coarse, stencil) = eager("galerkin", &[a], product)?;
                Ok((coarse, Some(stencil)))
            }
            (CoarseOperator::Galerkin, None) => {
                let coarse = restriction.try_matmul(a)?.try_matmul(prolongation)?;
                let stencil = Stencil::of(&coarse, grid)?;
                Ok((coarse, stencil))
            }
        }
    }
}

impl<T> Step<T> {
    fn transfers(&self) -> (&GridTransfer, &Csr<T>, &Csr<T>) {
        (&self.transfer, &self.restriction, &self.prolongation)
    }
}

/// The weight of Jacobi steps that damps best what the next grid cannot represent, for the Poisson
/// problem: 2d / (2d + 1). Trottenberg, Oosterlee and Schüller, *Multigrid*, 2.1.2 and 2.9.
fn best_weight(grid: &Grid) -> f64 {
    let axes = grid.extended().into_iter().filter(|&is| is).count().max(1);
    (2 * axes) as f64 / (2 * axes + 1) as f64
}

/// This weight of Jacobi steps, if no row of D^-1 A has entries whose absolute values sum to more
/// than 2, as those of diagonally dominant matrices: then no eigenvalue is larger. Else it is
/// smaller by as much as the largest eigenvalue, as far as an estimate tells, is above 2.
fn safe_weight<T: Field>(a: &Csr<T>, weight: f64) -> Result<f64, Error> {
    let largest = || {
        let own = a.own_rows()?;
        let (rows, first) = (own.as_rows(), own.rows().start);
        let size = |value: T| value.magnitude().to_f64();
        let of_part = |part: Range<usize>| {
            let mut largest: f64 = 0.0;
            for row in part {
                let sum: f64 = rows.values(row).iter().map(|&value| size(value)).sum();
                let place = rows.columns(row).binary_search(&((first + row) as u32));
                let diagonal = place.map_or(0.0, |place| size(rows.values(row)[place]));
                largest = largest.max(sum / diagonal);
            }
            largest
        };
        let parts = parallel::parts(rows.pos());
        let of_parts = parallel::map(&Threads::of(a.runtime()), parts, of_part);
        let largest = of_parts.into_iter().fold(0.0, f64::max);
        a.runtime().all_gather(&[largest])
    };
    let of_ranks = a.runtime().eager_task("weights", &[], largest)?;
    let bound = of_ranks.iter().flatten().copied().fold(0.0, f64::max);
    if bound <= 2.0 + 2e3 * T::Real::EPSILON.to_f64() {
        return Ok(weight);
    }
    let lambda = largest_eigenvalue(a)?.min(bound);
    Ok(match lambda > 2.0 && lambda.is_finite() {
        true => weight * 2.0 / lambda,
        false => weight,
    })
}

/// See [`Coarsening::Strong`].
fn strong_axes<T: Field>(a: &Csr<T>, grid: &Grid) -> Result<[bool; 3], Error> {
    let extended = grid.extended();
    let counts = couplings(a, grid)?;
    let most = counts.into_iter().max().unwrap_or(0);
    let is_strong = |d: usize| extended[d] && 2 * counts[d] >= most;
    let strong = [is_strong(0), is_strong(1), is_strong(2)];
    // A diagonal matrix couples along no axis.
    Ok(if most == 0 { extended } else { strong })
}
