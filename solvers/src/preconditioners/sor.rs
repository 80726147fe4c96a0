//! Successive over-relaxation, in sequence or by colors; Gauss and Seidel's method with omega 1.

use super::color_sweep::ColorSweep;
use super::coloring::Coloring;
use super::{Preconditioner, check_square, check_update, is_like};
use crate::operator::{LinearOperator, check_finite, check_len};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::Field;
use sparsefuse_runtime::{Error, Runtime, reserve, try_collect};
use sparsefuse_sparse::{
    Csr, Diagonal, LocalRows, RowLayout, Triangle, TriangularSolve, TriangularSweep, eager,
};
use std::iter::repeat_n;
use std::ops::Range;
use std::sync::Arc;

const OP: &str = "sor";

/// In which direction the rows are relaxed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SorSweep {
    /// From the first row, or color, to the last.
    Forward,
    /// From the last to the first.
    Backward,
    /// Forward and then backward (SSOR): symmetric where the matrix is, as conjugate gradients
    /// need.
    Symmetric,
}

/// In which order the rows are relaxed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SorOrder {
    /// One row after the other: a triangular solve, through which the ranks follow one another.
    Sequential,
    /// All rows of a color together, one color after the other: rows of a color do not depend on
    /// one another. All threads and ranks work together; with few colors it is array code, which
    /// fuses.
    Multicolor,
}

/// How [`Sor`] relaxes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SorOptions {
    /// The relaxation factor, between 0 and 2.
    pub omega: f64,
    /// The direction.
    pub sweep: SorSweep,
    /// The number of sweeps; a symmetric one counts once.
    pub sweeps: usize,
    /// The order of the rows.
    pub order: SorOrder,
}

impl Default for SorOptions {
    /// One symmetric sweep of Gauss and Seidel in sequence.
    fn default() -> Self {
        Self {
            omega: 1.0,
            sweep: SorSweep::Symmetric,
            sweeps: 1,
            order: SorOrder::Sequential,
        }
    }
}

/// SOR: z is what some sweeps for A z = r make of z = 0.
///
/// A sweep forward replaces z by z + M^-1 (r - A z) with M = D / omega + L; backward, with U in the
/// place of L. Both together are M = (D / omega + L) (omega / (2 - omega)) D^-1 (D / omega + U)
/// (Young, 1950; Saad, *Iterative Methods for Sparse Linear Systems*, 2nd edition, section 4.1).
///
/// New values keep the order of the work and the colors: an update is 1.3 times as fast as a fresh
/// start (`diffusion2d:300`, one core of an x86-64 server). Another structure is a fresh start.
///
/// In sequence, a direction costs a triangular solve, about half a product, and each sweep after
/// the first a product more; holds a copy of the triangles. By colors, a direction costs a product
/// and, for each color, a pass over the vectors; holds a copy of the matrix and for each color a
/// position and a factor of each row. With more than 8 colors, where those would be more than the
/// matrix, it keeps the rows in the order of their colors instead and is one task of its own: then
/// a direction costs a product, however many colors there are. Colors are those that rows in order
/// find free (see [`Sor::colors`]): 2 for five-point stencils, and as many as a full row has
/// entries.
///
/// ```
/// use sparsefuse_dense::Vector;
/// use sparsefuse_solvers::preconditioners::{Sor, SorOptions, SorOrder};
/// use sparsefuse_solvers::{Options, cg_with};
/// use sparsefuse_sparse::gallery;
///
/// let a = gallery::poisson2d::<f64>(16)?;
/// let b = Vector::ones([256]);
/// for order in [SorOrder::Sequential, SorOrder::Multicolor] {
///     let sor = Sor::new(&a, SorOptions { omega: 1.2, order, ..SorOptions::default() })?;
///     let options = Options { preconditioner: Some(&sor), ..Options::default() };
///     assert!(cg_with(&a, &b, options)?.converged());
/// }
/// # Ok::<(), sparsefuse_runtime::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sor<T> {
    a: Csr<T>,
    options: SorOptions,
    relaxation: Relaxation<T>,
}

/// What one sweep from z = 0, and from any z, needs.
#[derive(Clone, Debug)]
enum Relaxation<T> {
    Sequential(Box<Sequential<T>>),
    Multicolor {
        coloring: Coloring,
        colors: Vec<Color<T>>,
    },
    ManyColors {
        coloring: Coloring,
        sweep: ColorSweep<T>,
    },
}

/// Colors up to which they are relaxed by array code, whatever the matrix.
const FEW: usize = 8;

/// D / omega + L and D / omega + U, as far as the direction needs them.
#[derive(Clone, Debug)]
struct Sequential<T> {
    lower: Option<TriangularSolve<T>>,
    upper: Option<TriangularSolve<T>>,
    /// (2 - omega) / omega times the diagonal of this rank's rows, between the two.
    middle: Arc<[T]>,
}

/// The rows of one color.
#[derive(Clone, Debug)]
struct Color<T> {
    /// omega D^-1 A in these rows, empty rows elsewhere.
    rows: Csr<T>,
    /// omega D^-1 in these rows, 0 elsewhere.
    scale: Vector<T>,
}

impl<T: Field> Sor<T> {
    /// The relaxation of a square matrix. Executes the window; every rank must ask.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, an entry is infinite or not a number, omega does not lie
    /// between 0 and 2, there are no sweeps, a diagonal entry is 0 or not stored, or the
    /// computation of the values failed.
    pub fn new(a: &Csr<T>, options: SorOptions) -> Result<Self, Error> {
        check_square(OP, a)?;
        check_finite(OP, a)?;
        if !(options.omega > 0.0 && options.omega < 2.0) {
            let found = options.omega.to_string();
            return Err(Error::argument(OP, "an omega between 0 and 2", found));
        }
        if options.sweeps == 0 {
            return Err(Error::argument(OP, "at least one sweep", "0"));
        }
        Ok(Self {
            a: a.clone(),
            options,
            relaxation: eager("sor_setup", &[a], || Relaxation::new(a, options))?,
        })
    }

    /// The number of colors; `None` in sequence.
    ///
    /// Rows take, in order, the first color that no row before them has which they depend on or
    /// which depends on them: a rule that knows neither threads nor ranks.
    #[must_use]
    pub fn colors(&self) -> Option<usize> {
        match &self.relaxation {
            Relaxation::Sequential(_) => None,
            Relaxation::Multicolor { coloring, .. } | Relaxation::ManyColors { coloring, .. } => {
                Some(coloring.n_colors())
            }
        }
    }

    /// `x` after the sweeps for A x = b: a smoother.
    ///
    /// # Errors
    ///
    /// If the lengths do not fit, or a computation failed.
    pub fn smooth(&self, b: &Vector<T>, mut x: Vector<T>) -> Result<Vector<T>, Error> {
        check_len(OP, self.a.n_rows(), b)?;
        check_len(OP, self.a.n_rows(), &x)?;
        for _ in 0..self.options.sweeps {
            x = self.sweep(b, Some(x))?;
        }
        Ok(x)
    }

    /// One sweep from x, or from 0.
    fn sweep(&self, b: &Vector<T>, x: Option<Vector<T>>) -> Result<Vector<T>, Error> {
        match &self.relaxation {
            Relaxation::Sequential(triangles) => match x {
                None => triangles.solve(b),
                Some(x) => {
                    let residual = b.try_sub(&self.a.try_matvec(&x)?)?;
                    Ok(x + triangles.solve(&residual)?)
                }
            },
            Relaxation::Multicolor { colors, .. } => {
                let order = self.order(colors.len()).into_iter();
                relax(order.map(|color| &colors[color]), b, x)
            }
            Relaxation::ManyColors { coloring, sweep } => {
                sweep.relax(OP, self.order(coloring.n_colors()), b, x.as_ref())
            }
        }
    }

    /// The colors that a sweep relaxes, in this order.
    fn order(&self, n_colors: usize) -> Vec<usize> {
        let all = 0..n_colors;
        match self.options.sweep {
            SorSweep::Forward => all.collect(),
            SorSweep::Backward => all.rev().collect(),
            SorSweep::Symmetric => {
                // With omega 1 the last color would not change when it is relaxed once more.
                let again = all
                    .clone()
                    .rev()
                    .skip(usize::from(self.options.omega == 1.0));
                all.chain(again).collect()
            }
        }
    }
}

/// Relaxes colors one after the other: x := x + omega D^-1 (b - A x) in the rows of each.
fn relax<'a, T: Field>(
    colors: impl Iterator<Item = &'a Color<T>>,
    b: &Vector<T>,
    mut x: Option<Vector<T>>,
) -> Result<Vector<T>, Error> {
    for color in colors {
        let b = color.scale.try_mul(b)?;
        x = Some(match x {
            None => b,
            Some(x) => {
                let known = color.rows.try_matvec(&x)?;
                x + b - known
            }
        });
    }
    // A matrix without rows has no colors.
    Ok(x.unwrap_or_else(|| b.clone()))
}

impl<T: Field> Relaxation<T> {
    fn new(a: &Csr<T>, options: SorOptions) -> Result<Self, Error> {
        match options.order {
            SorOrder::Sequential => Ok(Self::Sequential(Box::new(Sequential::new(a, options)?))),
            SorOrder::Multicolor => {
                let coloring = Coloring::of(a)?;
                let n_colors = coloring.n_colors();
                if n_colors > FEW && n_colors.saturating_mul(2 * a.n_rows()) > a.nnz() {
                    let (rows, scale) = scaled(a, &coloring, options.omega)?;
                    let sweep = ColorSweep::new(&coloring, &rows, &scale)?;
                    return Ok(Self::ManyColors { coloring, sweep });
                }
                let colors = relaxed(a, &coloring, options.omega)?
                    .map(|relaxed| Color::new(coloring.layout(), relaxed?))
                    .collect::<Result<_, Error>>()?;
                Ok(Self::Multicolor { coloring, colors })
            }
        }
    }

    /// Takes the values of a matrix of the same structure.
    fn update(&mut self, a: &Csr<T>, omega: f64) -> Result<(), Error> {
        match self {
            Self::Sequential(triangles) => triangles.update(a, omega),
            Self::Multicolor { coloring, colors } => {
                let updated = relaxed(a, coloring, omega)?
                    .zip(&*colors)
                    .map(|(relaxed, color)| color.with_values(relaxed?));
                *colors = updated.collect::<Result<_, Error>>()?;
                Ok(())
            }
            Self::ManyColors { coloring, sweep } => {
                let (rows, scale) = scaled(a, coloring, omega)?;
                *sweep = sweep.with_values(coloring, &rows, &scale)?;
                Ok(())
            }
        }
    }
}

impl<T: Field> Sequential<T> {
    fn new(a: &Csr<T>, options: SorOptions) -> Result<Self, Error> {
        let layout = a.row_layout()?;
        let most = middle(options.omega, options.sweep == SorSweep::Symmetric);
        let (rows, diagonal) = divided(a, &layout, (options.omega, most))?;
        let make = |triangle| TriangularSolve::of_rows(&layout, &rows, triangle, Diagonal::Stored);
        let has_lower = options.sweep != SorSweep::Backward;
        let has_upper = options.sweep != SorSweep::Forward;
        let mut made = Self {
            lower: has_lower.then(|| make(Triangle::Lower)).transpose()?,
            upper: has_upper.then(|| make(Triangle::Upper)).transpose()?,
            middle: Arc::new([]),
        };
        made.set_middle(diagonal, options.omega);
        Ok(made)
    }

    /// Takes the values of a matrix that is like the one these are of.
    fn update(&mut self, a: &Csr<T>, omega: f64) -> Result<(), Error> {
        let most = middle(omega, self.lower.is_some() && self.upper.is_some());
        let (rows, diagonal) = divided(a, &a.row_layout()?, (omega, most))?;
        // Both refuse the same diagonal entries, so it is the first that does.
        for triangle in [&mut self.lower, &mut self.upper].into_iter().flatten() {
            triangle.update_rows(rows.as_rows())?;
        }
        self.set_middle(diagonal, omega);
        Ok(())
    }

    fn set_middle(&mut self, mut diagonal: Vec<T>, omega: f64) {
        if self.lower.is_some() && self.upper.is_some() {
            let factor = T::from_f64(middle(omega, true));
            diagonal
                .iter_mut()
                .for_each(|entry| *entry = factor * *entry);
            self.middle = diagonal.into();
        }
    }

    /// M^-1 r.
    fn solve(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        let (lower, upper) = (self.lower.as_ref(), self.upper.as_ref());
        let Some(layout) = lower.or(upper).map(TriangularSolve::layout) else {
            return Ok(r.clone());
        };
        let [lower, upper] = [lower, upper].map(|of| of.map(TriangularSolve::sweep));
        let middle = Arc::clone(&self.middle);
        let sweeps = lower.iter().chain(&upper);
        let bytes = sweeps.map(TriangularSweep::bytes).sum::<usize>() + size_of_val(&*middle);
        layout.sweep(OP, r, bytes, move |args, z| {
            if let Some(lower) = &lower {
                lower.solve(args, z)?;
            }
            for (z, &middle) in z.iter_mut().zip(&*middle) {
                *z *= middle;
            }
            upper.as_ref().map_or(Ok(()), |upper| upper.solve(args, z))
        })
    }
}

/// What the middle of a symmetric sweep is over the diagonal; 1 where there is none.
fn middle(omega: f64, is_symmetric: bool) -> f64 {
    if is_symmetric {
        (2.0 - omega) / omega
    } else {
        1.0
    }
}

/// This rank's rows with diagonal entries that are divided by omega; and what these were, 0 where
/// none is stored. Neither the quotients nor `most` times the entries may be out of range.
fn divided<T: Field>(
    a: &Csr<T>,
    layout: &RowLayout,
    (omega, most): (f64, f64),
) -> Result<(LocalRows<T>, Vec<T>), Error> {
    let (_, mut rows) = a.local_rows()?;
    let LocalRows { pos, crd, vals } = &mut rows;
    let most = T::from_f64(most);
    let is_finite = |x: T| {
        let (re, im) = x.parts();
        re.is_finite() && im.is_finite()
    };
    let mut divide = |(number, row): (usize, usize)| {
        let entries = pos[number] as usize..pos[number + 1] as usize;
        let Ok(place) = crd[entries.clone()].binary_search(&(row as u32)) else {
            return Ok(T::ZERO);
        };
        let entry = &mut vals[entries.start + place];
        let before = *entry;
        *entry = before.over(T::from_f64(omega));
        if is_finite(*entry) && is_finite(most * before) || !is_finite(before) {
            return Ok(before);
        }
        let expected = format!("a diagonal entry in row {row} that can be divided by {omega}");
        Err(Error::argument(OP, expected, before.to_string()))
    };
    let mut divided = || {
        let mut diagonal = reserve(layout.rows().len())?;
        for row in layout.rows().enumerate() {
            diagonal.push(divide(row)?);
        }
        Ok(diagonal)
    };
    let diagonal = divided();
    Ok((rows, layout.runtime().agree(diagonal)?))
}

impl<T: Field> Color<T> {
    fn new(layout: &RowLayout, relaxed: Relaxed<T>) -> Result<Self, Error> {
        Ok(Self {
            rows: Csr::from_layout(layout, layout.n_rows(), relaxed.rows)?,
            scale: layout.vector(relaxed.scale)?,
        })
    }

    /// The same for other values of the same structure.
    fn with_values(&self, relaxed: Relaxed<T>) -> Result<Self, Error> {
        let runtime = self.rows.runtime();
        let vals = runtime.agree(self.rows.values().with_local(relaxed.rows.vals))?;
        Ok(Self {
            rows: self.rows.with_values(vals)?,
            scale: runtime.agree(self.scale.with_local(relaxed.scale))?,
        })
    }
}

/// What this rank has of a [`Color`].
struct Relaxed<T> {
    rows: LocalRows<T>,
    scale: Vec<T>,
}

/// This rank's rows, spread as the colors are, and omega / a_ii of each.
fn scaled<T: Field>(
    a: &Csr<T>,
    coloring: &Coloring,
    omega: f64,
) -> Result<(LocalRows<T>, Vec<T>), Error> {
    let (own, rows) = coloring.arrange(a)?.local_rows()?;
    let scale = a.runtime().agree(scales(own, &rows, omega))?;
    Ok((rows, scale))
}

/// What this rank has of one color after the other.
fn relaxed<T: Field>(
    a: &Csr<T>,
    coloring: &Coloring,
    omega: f64,
) -> Result<impl Iterator<Item = Result<Relaxed<T>, Error>>, Error> {
    let (rows, scale) = scaled(a, coloring, omega)?;
    let color = move |color: u32| {
        let has_color = |number: &usize| coloring.of_rows()[*number] == color;
        let entries = |number| (rows.pos[number + 1] - rows.pos[number]) as usize;
        let entries = (0..scale.len()).filter(has_color).map(entries).sum();
        let mut relaxed = LocalRows::try_with_capacity(scale.len(), entries)?;
        let mut mask = try_collect(repeat_n(T::ZERO, scale.len()))?;
        for (number, &factor) in scale.iter().enumerate() {
            if has_color(&number) {
                mask[number] = factor;
                for k in rows.pos[number] as usize..rows.pos[number + 1] as usize {
                    relaxed.push(rows.crd[k], factor * rows.vals[k]);
                }
            }
            relaxed.end_row();
        }
        Ok(Relaxed {
            rows: relaxed,
            scale: mask,
        })
    };
    let runtime = a.runtime().clone();
    let color = move |number| runtime.agree(color(number));
    Ok((0..coloring.n_colors() as u32).map(color))
}

/// Whether omega by this is a number.
fn is_divisor<T: Field>(omega: f64, value: T) -> bool {
    let (re, im) = T::from_f64(omega).over(value).parts();
    value != T::ZERO && re.is_finite() && im.is_finite()
}

/// omega / a_ii of each row.
fn scales<T: Field>(own: Range<usize>, rows: &LocalRows<T>, omega: f64) -> Result<Vec<T>, Error> {
    let scale = |(number, row): (usize, usize)| {
        let entries = rows.pos[number] as usize..rows.pos[number + 1] as usize;
        let found = rows.crd[entries.clone()].binary_search(&(row as u32));
        match found.map(|place| rows.vals[entries.start + place]) {
            Ok(value) if is_divisor(omega, value) => Ok(T::from_f64(omega).over(value)),
            found => {
                let what = match found.is_ok_and(|value| value != T::ZERO) {
                    true => "with an inverse",
                    false => "other than 0",
                };
                let expected = format!("a diagonal entry {what} in row {row}");
                let found = found.map_or("none".to_owned(), |value| value.to_string());
                Err(Error::argument(OP, expected, found))
            }
        }
    };
    let mut scales = reserve(own.len())?;
    for row in own.enumerate() {
        scales.push(scale(row)?);
    }
    Ok(scales)
}

impl<T: Field> LinearOperator<T> for Sor<T> {
    fn shape(&self) -> (usize, usize) {
        self.a.shape()
    }

    fn runtime(&self) -> Option<&Runtime> {
        Some(self.a.runtime())
    }

    fn is_repeatable(&self) -> bool {
        matches!(self.relaxation, Relaxation::Multicolor { .. })
    }

    fn apply(&self, r: &Vector<T>) -> Result<Vector<T>, Error> {
        check_len(OP, self.a.n_rows(), r)?;
        let mut z = self.sweep(r, None)?;
        for _ in 1..self.options.sweeps {
            z = self.sweep(r, Some(z))?;
        }
        Ok(z)
    }
}

impl<T: Field> Preconditioner<T> for Sor<T> {
    fn update(&mut self, a: &Csr<T>) -> Result<(), Error> {
        check_update(OP, self, a)?;
        check_finite(OP, a)?;
        if !is_like(a, &self.a)? {
            *self = Self::new(a, self.options)?;
            return Ok(());
        }
        let omega = self.options.omega;
        eager("sor_setup", &[a], || self.relaxation.update(a, omega))?;
        self.a = a.clone();
        Ok(())
    }
}
