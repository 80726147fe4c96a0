//! Arrays joined, split, repeated, rolled and padded, against plain loops.

use crate::Bits;
use num_complex::Complex;
use sparsefuse_dense::{Array, Element, Error, Padding, Vector};
use sparsefuse_testing::{bits, everywhere};

const SHAPES: [[usize; 3]; 4] = [[13, 4, 3], [2, 9, 5], [1, 1, 21], [5, 1, 1]];

fn flat(shape: [usize; 3], [i, j, k]: [usize; 3]) -> f64 {
    ((i * shape[1] + j) * shape[2] + k) as f64 + 0.25
}

fn array(shape: [usize; 3]) -> Array<f64, 3> {
    Array::from_fn(shape, |index| flat(shape, index))
}

/// The elements of an array of this shape, of which each comes from an index of another array.
fn from_indices(
    shape: [usize; 3],
    from: impl Fn([usize; 3]) -> Option<f64>,
) -> Vec<sparsefuse_kernels::Value> {
    let mut elements = Vec::new();
    for i in 0..shape[0] {
        for j in 0..shape[1] {
            elements.extend((0..shape[2]).map(|k| from([i, j, k]).unwrap_or(-1.0)));
        }
    }
    bits(&elements)
}

#[test]
fn arrays_one_behind_the_other() {
    for shape in SHAPES {
        for axis in 0..3 {
            let (n, mut other) = (shape[axis], shape);
            other[axis] = 2;
            let mut whole = shape;
            whole[axis] = 2 * n + 2;
            let expected = from_indices(whole, |mut index| {
                if (n..n + 2).contains(&index[axis]) {
                    index[axis] -= n;
                    return Some(flat(other, index));
                }
                index[axis] -= if index[axis] < n { 0 } else { n + 2 };
                Some(flat(shape, index))
            });
            let found = everywhere(|| {
                let (a, b) = (array(shape), array(other));
                let made = Array::concatenate(axis, &[&a, &b, &a]);
                let parts = made.split(axis, &[n, n, n + 2]);
                assert_eq!(parts.len(), 4);
                assert!(parts[1].is_empty());
                assert_eq!(parts[2].bits()?, b.bits()?);
                assert_eq!(parts[3].bits()?, a.bits()?);
                // What is joined may be views.
                let turned = [&a, &b, &a].map(|a| a.t());
                let turned = Array::concatenate(2 - axis, &turned.each_ref());
                assert_eq!(turned.t().bits()?, made.bits()?);
                made.bits()
            });
            assert_eq!(found, expected, "{shape:?} {axis}");
        }
    }
}

#[test]
fn arrays_side_by_side() {
    everywhere(|| {
        let a = array([2, 9, 5]);
        let rows: Vec<Array<f64, 2>> = (0..2).map(|i| a.index_axis(0, i)).collect();
        assert_eq!(
            Array::<_, 2>::stack(0, &[&rows[0], &rows[1]]).bits()?,
            a.bits()?
        );
        let planes: Vec<Array<f64, 2>> = (0..5).map(|i| a.index_axis(2, i)).collect();
        let made = Array::<_, 2>::stack(2, &planes.iter().collect::<Vec<_>>());
        assert_eq!(made.bits()?, a.bits()?);
        made.bits()
    });
}

#[test]
fn rolled_repeated_and_tiled() {
    for shape in SHAPES {
        for axis in 0..3 {
            let n = shape[axis];
            let mut larger = shape;
            larger[axis] = 3 * n;
            let moved = |place: usize, mut index: [usize; 3]| {
                index[axis] = place;
                Some(flat(shape, index))
            };
            let roll =
                |shift: usize| from_indices(shape, |index| moved((index[axis] + shift) % n, index));
            let repeated = from_indices(larger, |index| moved(index[axis] / 3, index));
            let tiled = from_indices(larger, |index| moved(index[axis] % n, index));
            everywhere(|| {
                let a = array(shape);
                assert_eq!(a.roll(axis, -1).bits()?, roll(1));
                assert_eq!(a.roll(axis, 2 - 7 * n as isize).bits()?, roll(8 * n - 2));
                assert_eq!(a.roll(axis, 0).bits()?, a.bits()?);
                assert_eq!(a.repeat(axis, 3).bits()?, repeated);
                let mut times = [1; 3];
                times[axis] = 3;
                assert_eq!(a.tile(times).bits()?, tiled);
                assert_eq!(a.repeat(axis, 0).len(), 0);
                a.tile([2, 1, 2]).bits()
            });
        }
    }
}

#[test]
fn padded() {
    check_padded([4, 6, 3], [(2, 1), (0, 5), (2, 2)]);
    // Ends that are longer than the array.
    check_padded([2, 3, 2], [(5, 0), (3, 4), (0, 1)]);
    check_padded([5, 2, 1500], [(0, 0), (1, 0), (3, 1)]);
    // Further than once around.
    everywhere(|| {
        let one = Vector::from_vec(vec![7]);
        assert_eq!(one.pad([(2, 1)], Padding::Reflect).to_vec()?, [7; 4]);
        let two = Vector::from_vec(vec![1, 2]);
        assert_eq!(
            two.pad([(4, 0)], Padding::Reflect).to_vec()?,
            [1, 2, 1, 2, 1, 2]
        );
        let empty = Array::<f64, 2>::zeros([2, 0]);
        assert!(empty.try_pad([(0, 0), (1, 0)], Padding::Edge).is_err());
        assert_eq!(empty.pad([(1, 1), (0, 0)], Padding::Edge).shape(), [4, 0]);
        Ok(())
    });
}

#[test]
fn copies_of_single_elements() {
    for times in [0, 1, 2, 3, 4, 7] {
        let x: Vec<i32> = (0..1300).collect();
        let each: Vec<i32> = x.iter().flat_map(|&x| vec![x; times]).collect();
        everywhere(|| {
            let made = Vector::from_slice(&x);
            assert_eq!(made.repeat(0, times).to_vec()?, each);
            assert_eq!(made.tile([times]).to_vec()?, x.repeat(times));
            Ok(())
        });
    }
}

fn check_padded(shape: [usize; 3], widths: [(usize, usize); 3]) {
    let whole: [usize; 3] = std::array::from_fn(|d| shape[d] + widths[d].0 + widths[d].1);
    let by = |place: fn(isize, isize) -> Option<isize>| {
        from_indices(whole, |index| {
            let mut from = [0; 3];
            for d in 0..3 {
                let place = place(index[d] as isize - widths[d].0 as isize, shape[d] as isize);
                from[d] = place? as usize;
            }
            Some(flat(shape, from))
        })
    };
    let cases = [
        (
            Padding::Constant(-1.0),
            by(|i, n| (0..n).contains(&i).then_some(i)),
        ),
        (Padding::Edge, by(|i, n| Some(i.clamp(0, n - 1)))),
        (Padding::Wrap, by(|i, n| Some(i.rem_euclid(n)))),
        (
            Padding::Reflect,
            by(|i, n| {
                let i = i.rem_euclid(2 * (n - 1));
                Some(i.min(2 * (n - 1) - i))
            }),
        ),
        (
            Padding::Symmetric,
            by(|i, n| {
                let i = i.rem_euclid(2 * n);
                Some(i.min(2 * n - 1 - i))
            }),
        ),
    ];
    for (padding, expected) in cases {
        assert_eq!(
            everywhere(|| array(shape).pad(widths, padding).bits()),
            expected,
            "{shape:?} {padding:?}"
        );
    }
}

#[test]
fn every_type_and_many_rows() {
    fn check<T: Element>(elements: &[T]) {
        let found = everywhere(|| {
            let x = Vector::from_slice(elements);
            let both = Vector::concatenate(0, &[&x, &x]).roll(0, 1);
            both.slice(both.len().min(1)..elements.len() + both.len().min(1))
                .bits()
        });
        assert_eq!(found, bits(elements));
    }
    check(&[true, false, true]);
    check(&[1.5f32, -0.0, f32::NAN]);
    check(&[Complex::new(1.0, 2.0), Complex::new(-0.0, 0.5)]);
    check(&(0..1500).collect::<Vec<i64>>());
    check::<u32>(&[]);
    check(&[3u64]);
}

#[test]
fn what_does_not_fit() {
    let (a, b) = (array([2, 9, 5]), array([2, 8, 5]));
    let message = |result: Result<Array<f64, 3>, Error>| result.unwrap_err().to_string();
    let error = message(Array::try_concatenate(0, &[&a, &b]));
    assert_eq!(
        error,
        "concatenate: expected a shape of (2, 9, 5), found (2, 8, 5)"
    );
    let error = message(Array::try_concatenate(3, &[&a]));
    assert_eq!(error, "concatenate: expected an axis below 3, found 3");
    let error = message(Array::try_concatenate(0, &[]));
    assert_eq!(
        error,
        "concatenate: expected at least one array, found none"
    );
    let error = Array::<_, 3>::try_stack(0, &[&a, &b])
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "stack: expected a shape of (2, 9, 5), found (2, 8, 5)"
    );
    assert!(Array::<_, 3>::try_stack(5, &[&a]).is_err());
    assert!(a.try_split(1, &[4, 3]).is_err());
    assert!(a.try_split(1, &[10]).is_err());
    assert!(a.try_roll(3, 1).is_err());
    assert!(a.try_repeat(0, usize::MAX).is_err());
    assert!(a.try_tile([usize::MAX, 2, 1]).is_err());
    assert!(
        a.try_pad([(usize::MAX, 1); 3], Padding::Constant(0.0))
            .is_err()
    );
    let empty = Vector::<f64>::zeros([0]);
    let error = empty.try_pad([(1, 0)], Padding::Edge).unwrap_err();
    let expected = "pad: expected elements along the axis that is padded with them, found none";
    assert_eq!(error.to_string(), expected);
    assert_eq!(empty.roll(0, 3).len(), 0);
}
