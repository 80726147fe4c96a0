//! Where the boundary of a problem lies, by the rows of its matrix.
//!
//! Beside a boundary on which the solution is 0, a row lacks the neighbour behind it, so its
//! entries sum to what that neighbour's would be: with a coupling c to the neighbour on the other
//! side, to c / e where the boundary is e steps away, and to 0 with a Neumann condition.

use super::grid::{Ends, Grid};
use super::square::square;
use super::stencil::{offset, sample, steps};
use sparsefuse_kernels::Field;
use sparsefuse_runtime::Error;
use sparsefuse_sparse::{Csr, Rows};

/// Points of a face that are looked at, at most.
const SAMPLE: usize = 1 << 10;

/// Distances are counted by their exponents and the first two bits behind: 1, 1.25, 1.5, 1.75 times
/// powers of 2, from 2^-4 to 2^6; the last bucket is for what is farther. No function of a library
/// has a say, since its last bits may depend on the machine.
const SHIFT: u32 = f64::MANTISSA_DIGITS - 1 - 2;
const NEAREST: u64 = 0.0625f64.to_bits() >> SHIFT;
const BUCKETS: usize = 42;

/// The distances for most points of each face. Whatever the ranks, all of them count alike.
pub(super) fn ends<T: Field>(a: &Csr<T>, grid: &Grid) -> Result<[Ends; 3], Error> {
    a.runtime().eager_task("ends", &[], || find(a, grid))
}

fn find<T: Field>(a: &Csr<T>, grid: &Grid) -> Result<[Ends; 3], Error> {
    let own = a.own_rows()?;
    let mut counts = vec![0u64; 6 * BUCKETS];
    for (face, counts) in counts.chunks_exact_mut(BUCKETS).enumerate() {
        for point in face_points(grid, face / 2, face % 2 == 1) {
            if own.rows().contains(&point) {
                let local = point - own.rows().start;
                let inwards = 1 - 2 * (face % 2) as isize;
                let found = bucket(grid, own.as_rows(), (point, local), (face / 2, inwards));
                found.into_iter().for_each(|bucket| counts[bucket] += 1);
            }
        }
    }
    let everywhere = a.runtime().all_gather(&counts)?;
    if !own.is_replicated() {
        for (k, count) in counts.iter_mut().enumerate() {
            *count = everywhere.iter().map(|rank| rank[k]).sum();
        }
    }
    let distance = |face: usize| median(&counts[face * BUCKETS..(face + 1) * BUCKETS]);
    Ok([0, 1, 2].map(|d| Ends {
        first: distance(2 * d),
        last: distance(2 * d + 1),
    }))
}

/// The numbers of some points of a face, all or evenly many: those that are at the end of no other
/// axis, where that has others.
fn face_points(grid: &Grid, axis: usize, is_last: bool) -> impl Iterator<Item = usize> {
    let sides = grid.sides;
    let margin = |d: usize| usize::from(d != axis && sides[d] > 2);
    let margins = [margin(0), margin(1), margin(2)];
    let along = |d: usize| match d == axis {
        true => usize::from(sides[d] > 1),
        false => sides[d] - 2 * margins[d],
    };
    let [nz, ny, nx] = [along(0), along(1), along(2)];
    let n = nz * ny * nx;
    sample(n, SAMPLE).map(move |k| {
        let mut point = [k / nx / ny, k / nx % ny, k % nx];
        for (at, margin) in point.iter_mut().zip(margins) {
            *at += margin;
        }
        point[axis] = if is_last { sides[axis] - 1 } else { 0 };
        (point[0] * sides[1] + point[1]) * sides[2] + point[2]
    })
}

/// The bucket of the distance for a point of a face; none where it is coupled to nothing inside.
fn bucket<T: Field>(
    grid: &Grid,
    rows: Rows<'_, T>,
    (point, local): (usize, usize),
    (axis, inwards): (usize, isize),
) -> Option<usize> {
    let (mut sum, mut coupling) = (T::ZERO, T::ZERO);
    for (&column, &value) in rows.columns(local).iter().zip(rows.values(local)) {
        sum += value;
        // Entries farther away count for the sum alone.
        let Some(offset) = offset(grid, point, column as usize) else {
            continue;
        };
        if steps(offset)[axis] == inwards {
            coupling -= value;
        }
    }
    let (sum_re, sum_im) = sum.parts();
    let (re, im) = coupling.parts();
    // How much of the coupling the sum is.
    let share = (sum_re * re + sum_im * im) / square(coupling);
    if share.is_nan() {
        return None;
    }
    let distance = match share > 0.0 {
        true => 1.0 / share,
        false => f64::INFINITY,
    };
    let rounded = (distance.to_bits() + (1 << (SHIFT - 1))) >> SHIFT;
    Some((rounded.saturating_sub(NEAREST) as usize).min(BUCKETS - 1))
}

/// The distance of the middle one of all that are counted; one step if there are none.
fn median(counts: &[u64]) -> f64 {
    let half = counts.iter().sum::<u64>().div_ceil(2);
    let mut below = 0;
    let middle = counts.iter().position(|&count| {
        below += count;
        below >= half
    });
    match middle {
        _ if half == 0 => 1.0,
        Some(bucket) if bucket + 1 < BUCKETS => f64::from_bits((NEAREST + bucket as u64) << SHIFT),
        Some(_) | None => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsefuse_sparse::LocalRows;

    /// -u'' along each axis; at the first and last points of an axis, the diagonal has this much
    /// more than what the neighbours inside take.
    fn matrix(sides: &[usize], shares: &[[f64; 2]]) -> Csr<f64> {
        let grid = Grid::new(sides).unwrap();
        let n = sides.iter().product();
        let skip = 3 - sides.len();
        Csr::from_rows(n, n, |rows| {
            let mut local = LocalRows::with_capacity(rows.len(), 7 * rows.len());
            for row in rows {
                let point = grid.point(row);
                let mut entries = vec![(row, 0.0)];
                for (d, shares) in (skip..3).zip(shares) {
                    let stride: usize = grid.sides[d + 1..].iter().product();
                    let at = point[d];
                    let neighbours = [
                        (at > 0).then(|| row - stride),
                        (at + 1 < grid.sides[d]).then(|| row + stride),
                    ];
                    for (neighbour, share) in neighbours.into_iter().zip(shares) {
                        entries[0].1 += neighbour.map_or(*share, |_| 1.0);
                        entries.extend(neighbour.map(|column| (column, -1.0)));
                    }
                }
                entries.sort_unstable_by_key(|entry| entry.0);
                for (column, value) in entries {
                    local.push(column as u32, value);
                }
                local.end_row();
            }
            local
        })
        .unwrap()
    }

    #[test]
    fn distances_are_those_of_the_discretisation() {
        // Dirichlet one step and half a step away, Neumann, something between.
        let shares = [[1.0, 2.0], [0.0, 1.0], [0.25, 0.0]];
        for sides in [vec![5], vec![7, 8], vec![9, 6, 7]] {
            let grid = Grid::new(&sides).unwrap();
            let a = matrix(&sides, &shares);
            let found = ends(&a, &grid).unwrap();
            for (d, [first, last]) in shares.into_iter().take(sides.len()).enumerate() {
                let expected = Ends {
                    first: 1.0 / first,
                    last: 1.0 / last,
                };
                assert_eq!(found[3 - sides.len() + d], expected, "{sides:?}, {d}");
            }
        }
    }

    #[test]
    fn without_anything_to_see_the_boundary_is_one_step_away() {
        let a = Csr::<f64>::identity(12).unwrap();
        let one = Ends {
            first: 1.0,
            last: 1.0,
        };
        let grid = Grid::new(&[3, 4]).unwrap();
        assert_eq!(ends(&a, &grid).unwrap(), [one; 3]);
    }
}
