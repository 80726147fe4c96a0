//! Slices, transposes and broadcasts against `ndarray`, and assignment to slices.

use crate::everywhere;
use ndarray::{Array1, Array2, s};
use sparsefuse_dense::{Array, Error, Slices, Vector, step};
use sparsefuse_runtime::{Config, run_ranks};

const SHAPE: [usize; 2] = [9, 6];

fn counted() -> Array2<i64> {
    Array2::from_shape_fn(SHAPE, |(i, j)| (10 * i + j) as i64)
}

/// What a view of the counted matrix shows, also after arithmetic on it.
fn check(view: impl Fn(&Array<i64, 2>) -> Array<i64, 2> + Sync, expected: Array2<i64>) {
    let found = everywhere(|| {
        let a = Array::from(counted());
        let b = &a * 1;
        Ok([
            view(&a).to_ndarray()?,
            (view(&b) * 2 - view(&a)).to_ndarray()?,
        ])
    });
    assert_eq!(found, [expected.clone(), expected]);
}

#[test]
fn slices_of_matrices() {
    let a = counted();
    check(
        |a| a.slice((1..4, 2..6)),
        a.slice(s![1..4, 2..6]).to_owned(),
    );
    check(|a| a.slice((.., 2..)), a.slice(s![.., 2..]).to_owned());
    check(|a| a.slice((..=3, ..)), a.slice(s![..=3, ..]).to_owned());
    check(|a| a.slice((5.., ..1)), a.slice(s![5.., ..1]).to_owned());
    check(
        |a| a.slice((step(1.., 3), ..)),
        a.slice(s![1..;3, ..]).to_owned(),
    );
    check(
        |a| a.slice((step(.., -1), ..)),
        a.slice(s![..;-1, ..]).to_owned(),
    );
    check(|a| a.slice((2..2, ..)), a.slice(s![2..2, ..]).to_owned());
    let backwards = a.slice(s![1..8;-2, ..;-3]);
    check(
        |a| a.slice((step(1..8, -2), step(.., -3))),
        backwards.to_owned(),
    );
    let twice = a.slice(s![2..8;2, ..]).slice(s![1.., 1..3]).to_owned();
    check(|a| a.slice((step(2..8, 2), ..)).slice((1.., 1..3)), twice);
}

#[test]
fn transposes_and_broadcasts() {
    let a = counted();
    check(|a| a.t(), a.t().to_owned());
    check(|a| a.t().t(), a.clone());
    check(
        |a| a.slice((1..3, ..)).t(),
        a.slice(s![1..3, ..]).t().to_owned(),
    );
    let row = a.row(2).broadcast(SHAPE).unwrap().to_owned();
    check(|a| a.row(2).broadcast_to(SHAPE), row);
    let column = a.column(1).insert_axis(ndarray::Axis(1)).to_owned();
    check(|a| a.column(1).insert_axis(1), column.clone());
    let wide = column.broadcast(SHAPE).unwrap().to_owned();
    check(|a| a.column(1).insert_axis(1).broadcast_to(SHAPE), wide);
    let sum = &a + &column;
    check(|a| a + a.column(1).insert_axis(1), sum);
    let table = &column + &a.row(3);
    check(
        |a| a.column(1).insert_axis(1) + a.row(3).insert_axis(0),
        table,
    );
    check(|a| a.reshape([6, 9]).t(), {
        let flat = Array1::from_iter(a.iter().copied());
        flat.into_shape_with_order([6, 9]).unwrap().t().to_owned()
    });
}

#[test]
fn other_shapes() {
    let flat = |a: Array2<i64>| Array1::from_iter(a.iter().copied());
    let shaped = |a: Array2<i64>, shape| flat(a).into_shape_with_order(shape).unwrap();
    let a = counted();
    check(|a| a.reshape([18, 3]), shaped(a.clone(), (18, 3)));
    check(|a| a.ravel().reshape(SHAPE), a.clone());
    check(|a| a.ravel().reshape([2, 27]), shaped(a.clone(), (2, 27)));
    check(
        |a| a.slice((2..7, ..)).reshape([10, 3]),
        shaped(a.slice(s![2..7, ..]).to_owned(), (10, 3)),
    );
    check(
        |a| a.slice((.., step(.., 2))).reshape([3, 9]),
        shaped(a.slice(s![.., ..;2]).to_owned(), (3, 9)),
    );
    // Of copies, which the elements of these views do not follow each other without.
    check(
        |a| a.t().reshape([2, 27]),
        shaped(a.t().to_owned(), (2, 27)),
    );
    check(
        |a| a.slice((1..8, 2..5)).reshape([3, 7]),
        shaped(a.slice(s![1..8, 2..5]).to_owned(), (3, 7)),
    );
    check(
        |a| {
            let cube = a.reshape([3, 3, 6]).permute_axes([2, 0, 1]);
            cube.index_axis(1, 1)
        },
        shaped(a.clone(), (9, 6)).slice(s![3..6, ..]).t().to_owned(),
    );
    let found = everywhere(|| {
        let x = Vector::<i64>::arange(24);
        let mut grid: Array<i64, 2> = (&x + 1).try_reshape([4, 6])?;
        let before = grid.clone();
        grid.assign_slice((1..3, ..), 0);
        // Vectors are made of grids, and the other way round, as often as one likes.
        let sums = grid.sum_axis(0) + grid.ravel().slice(..6);
        let dot = grid.ravel().dot(&x).get()?;
        let nothing = Array::<i64, 2>::zeros([0, 4]).try_reshape([7, 0, 3])?;
        assert_eq!(nothing.to_vec()?, [0; 0]);
        assert!(x.try_reshape([5, 5]).is_err());
        Ok((before.ravel().to_vec()?, sums.to_vec()?, dot))
    });
    let kept: i64 = (0..6).chain(18..24).map(|i| i * (i + 1)).sum();
    let sums = (0..6).map(|j| (j + 1) + (19 + j) + (j + 1)).collect();
    assert_eq!(found, ((1..25).collect(), sums, kept));
}

/// Large enough to be cut where nothing is set.
#[test]
fn other_shapes_of_long_arrays() {
    let found = |ranks| {
        let of_ranks = run_ranks(ranks, &Config::default(), |_| {
            let x = Vector::<i64>::arange(600_000);
            let grid: Array<i64, 2> = (&x * 3).try_reshape([1000, 600])?;
            let sums = grid.sum_axis(0).to_vec()?;
            let turned = (grid.t().ravel() - &x).slice(step(.., 1001)).to_vec()?;
            let cube = grid
                .try_reshape([10, 500, 120])?
                .index_axis(1, 499)
                .to_vec()?;
            Ok((sums, turned, cube))
        });
        let of_ranks: Vec<Result<_, Error>> = of_ranks.unwrap();
        of_ranks.into_iter().map(Result::unwrap).next().unwrap()
    };
    let alone = found(1);
    let at = |j: i64, i: i64| 3 * (600 * i + j) - (1000 * j + i);
    assert_eq!(alone.1[1], at(1, 1));
    assert_eq!(alone.2[120], 3 * (60_000 + 499 * 120));
    assert_eq!(found(3), alone);
}

#[test]
fn slices_of_vectors() {
    let found = everywhere(|| {
        let x = Vector::<i64>::arange(23);
        let laplace = x.slice(2..) - 2 * x.slice(1..22) + x.slice(..21);
        let sum = x.slice(step(.., 5)).sum().get()?;
        let reversed = x.slice(step(3..20, -4)).to_vec()?;
        Ok((laplace.to_vec()?, sum, reversed))
    });
    assert_eq!(found, (vec![0; 21], 50, vec![19, 15, 11, 7, 3]));
}

/// Found as an error of the assignment, and as a product that overflows: from one element no step
/// is taken.
#[test]
fn steps_beyond_all_elements() {
    let found = everywhere(|| {
        let far = [isize::MIN, isize::MAX, 1 << 61, -(1 << 61)];
        let mut x = Vector::<i64>::arange(9);
        let mut a = Array::<i64, 2>::ones([7, 5]);
        for (number, far) in (2..).zip(far) {
            let last = x.slice(step(.., far)) * number;
            x.assign_slice(step(1.., far), &last);
            let corner = a.slice((step(1.., far), step(.., -far.max(-isize::MAX)))) + number;
            a.assign_slice((step(.., far), step(.., far)), &corner);
            a.update_slice((.., step(.., far)), |column| column + 1);
        }
        Ok((
            x.to_vec()?,
            a.sum().get()?,
            a.slice((step(.., far[0]), ..)).to_vec()?,
        ))
    });
    let expected = (vec![0, 0, 2, 3, 4, 5, 6, 7, 80], 73, vec![3, 1, 1, 1, 9]);
    assert_eq!(found, expected);
}

/// Assigns to a slice of the counted matrix, of which another handle is held or not.
fn check_assign(
    ranges: impl Slices<2> + Clone + Sync,
    value: impl Fn() -> Array<i64, 2> + Sync,
    expected: Array2<i64>,
) {
    for is_shared in [true, false] {
        let found = everywhere(|| {
            let mut a = Array::from(counted()) + 0;
            let before = is_shared.then(|| a.clone());
            a.assign_slice(ranges.clone(), value());
            let doubled = &a * 2;
            a.assign_slice((0..1, ..), -1);
            let before = before.map(|before| before.to_ndarray()).transpose()?;
            Ok((doubled.to_ndarray()?, a.to_ndarray()?, before))
        });
        let mut last = expected.clone();
        last.row_mut(0).fill(-1);
        assert_eq!(found, (&expected * 2, last, is_shared.then(counted)));
    }
}

#[test]
fn assignment_to_slices() {
    let assigned = |assign: fn(&mut Array2<i64>)| {
        let mut a = counted();
        assign(&mut a);
        a
    };
    check_assign(
        (2..5, 1..3),
        || Array::full([3, 2], 7),
        assigned(|a| a.slice_mut(s![2..5, 1..3]).fill(7)),
    );
    check_assign((.., ..), || Array::full([1, 1], 7), assigned(|a| a.fill(7)));
    check_assign(
        (step(1.., 3), ..),
        || Vector::arange(6).insert_axis(0),
        assigned(|a| a.slice_mut(s![1..;3, ..]).assign(&Array1::from_iter(0..6))),
    );
    check_assign(
        (step(.., -2), step(1..5, -3)),
        || Array::from_fn([5, 2], |[i, j]| (i * 2 + j) as i64),
        assigned(|a| {
            let value = Array2::from_shape_fn([5, 2], |(i, j)| (i * 2 + j) as i64);
            a.slice_mut(s![..;-2, 1..5;-3]).assign(&value);
        }),
    );
    check_assign((3..3, ..), || Array::full([0, 6], 7), counted());
}

#[test]
fn assignment_from_the_same_array() {
    let found = everywhere(|| {
        let mut x = Vector::<i64>::arange(13);
        let tail = x.slice(1..);
        x.assign_slice(..12, &tail);
        let shifted = x.to_vec()?;
        x.assign_slice(.., x.clone().slice(step(.., -1)));
        let mut part = x.slice(3..6);
        part.assign_slice(..1, 100);
        Ok((shifted, x.to_vec()?, part.to_vec()?, tail.to_vec()?))
    });
    let shifted: Vec<i64> = (1..13).chain([12]).collect();
    let reversed: Vec<i64> = shifted.iter().rev().copied().collect();
    let part = vec![100, reversed[4], reversed[5]];
    assert_eq!(found, (shifted, reversed, part, (1..13).collect()));
}

#[test]
fn repeated_assignments_write_in_place() {
    let found = everywhere(|| {
        let mut x = Vector::<f64>::zeros([16]);
        let runtime = x.runtime().clone();
        let before = runtime.counters().tasks;
        for i in 0..16 {
            x.assign_slice(i..i + 1, i as f64);
        }
        let issued = runtime.counters().tasks - before;
        Ok((issued, x.to_vec()?))
    });
    assert_eq!(found, (16, (0..16).map(f64::from).collect()));
}

#[test]
fn arrays_of_four_dimensions_are_sliced() {
    let values: Vec<i64> = (0..2 * 3 * 4 * 5).collect();
    let expected = ndarray::Array4::from_shape_vec((2, 3, 4, 5), values.clone()).unwrap();
    let expected = expected.slice(s![1.., ..2, ..;2, 1..=3]).to_owned();
    let found = everywhere(|| {
        let a = Array::from_shape_vec([2, 3, 4, 5], values.clone())?;
        let part = a.slice((1.., ..2, step(.., 2), 1..=3));
        assert_eq!(part.shape(), [1, 2, 2, 3]);
        (part + 0).to_vec()
    });
    assert_eq!(found, expected.into_raw_vec_and_offset().0);
}
