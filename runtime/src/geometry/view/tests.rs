//! Views composed, met, and placed in regions.

use super::*;

/// The base index of each element of a view, by `placement` on the whole base.
fn flat(view: &View, base: Shape) -> Vec<isize> {
    let whole = Region::of_rows(base, &(0..base.rows()));
    let (start, strides) = view.placement(&whole, 0);
    let dims = view.shape().padded_dims();
    let mut out = Vec::new();
    for i in 0..dims[0] {
        for j in 0..dims[1] {
            out.push(start + i as isize * strides[0] + j as isize * strides[1]);
        }
    }
    out
}

#[test]
fn transforms_compose() {
    let base = Shape::new(&[3, 4]);
    let view = View::identity(base);
    assert!(view.transpose().transpose().is_identity());
    let inner = view.slice(0, 1..3, 1).unwrap().slice(1, 0..4, 2).unwrap();
    assert_eq!(flat(&inner, base), [4, 6, 8, 10]);
    assert_eq!(flat(&inner.transpose(), base), [4, 8, 6, 10]);
    let back = view.slice(1, 0..4, -1).unwrap().slice(1, 1..3, 1).unwrap();
    assert_eq!(flat(&back.index(0, 2).unwrap(), base), [10, 9]);
    let row = View::identity(Shape::new(&[4]))
        .broadcast_to(Shape::new(&[2, 4]))
        .unwrap();
    assert_eq!(flat(&row, Shape::new(&[4])), [0, 1, 2, 3, 0, 1, 2, 3]);
    let column = View::identity(Shape::new(&[2])).insert_axis(1).unwrap();
    let column = column.broadcast_to(Shape::new(&[2, 2])).unwrap();
    assert_eq!(flat(&column, Shape::new(&[2])), [0, 0, 1, 1]);
    assert!(view.slice(0, 1..4, 1).is_err());
    assert!(view.broadcast_to(Shape::new(&[4])).is_err());
}

#[test]
fn views_in_another_shape_see_the_same_elements_in_order() {
    let shape = |dims: &[usize]| Shape::new(dims);
    let base = shape(&[4, 6]);
    let whole = View::identity(base);
    let rows = whole.slice(0, 1..3, 1).unwrap();
    let columns = whole.slice(1, 2..5, 1).unwrap();
    let every_second = whole.slice(1, 0..6, 2).unwrap();
    for (view, dims, expected) in [
        (whole, &[24][..], true),
        (whole, &[2, 12], true),
        (whole, &[2, 2, 3, 2], true),
        (whole, &[4, 1, 6], true),
        (whole, &[8, 3], true),
        (rows, &[12], true),
        (rows, &[3, 4], true),
        (columns, &[2, 2, 3], true),
        (columns, &[12], false),
        (columns, &[2, 6], false),
        (every_second, &[12], true),
        (every_second, &[4, 3, 1], true),
        (whole.transpose(), &[24], false),
        (whole.transpose(), &[3, 2, 4], true),
        (whole.transpose(), &[6, 2, 2], true),
        (whole.slice(0, 0..4, -1).unwrap(), &[2, 2, 6], true),
        (whole.index(1, 3).unwrap(), &[2, 2], true),
    ] {
        let reshaped = view.reshape(shape(dims));
        assert_eq!(reshaped.is_some(), expected, "{view:?} {dims:?}");
        let Some(reshaped) = reshaped else { continue };
        let elements = |view: &View| {
            let whole = Region::of_rows(base, &(0..4));
            let (start, strides) = view.placement(&whole, 0);
            let dims = view.shape().padded_dims();
            let mut seen = Vec::new();
            for i in 0..view.shape().len() {
                let (mut rest, mut at) = (i as isize, start);
                for d in (0..MAX_RANK).rev() {
                    at += rest % dims[d] as isize * strides[d];
                    rest /= dims[d] as isize;
                }
                seen.push(at);
            }
            seen
        };
        assert_eq!(elements(&reshaped), elements(&view), "{view:?} {dims:?}");
        let again = reshaped.reshape(view.shape()).unwrap();
        assert_eq!(elements(&again), elements(&view), "{view:?} {dims:?}");
        // The box of some rows holds what they see.
        let (start, strides) = reshaped.placement(&Region::of_rows(base, &(0..4)), 0);
        let region = reshaped.region(&(1..2));
        let first = start + strides[0];
        assert!((region.lo[0]..region.hi[0]).contains(&(first as usize / 6)));
        assert_eq!(
            reshaped.placement(&region, 1).0,
            first - region.lo[0] as isize * 6
        );
    }
    let back = whole.reshape(shape(&[24])).unwrap().reshape(base).unwrap();
    assert!(back.is_identity());
    let column = View::identity(shape(&[5, 1]));
    let back = column.reshape(shape(&[5])).unwrap().reshape(shape(&[5, 1]));
    assert!(back.unwrap().is_identity());
    let scalar = View::identity(Shape::SCALAR)
        .reshape(shape(&[1, 1]))
        .unwrap();
    assert_eq!(scalar.region(&(0..1)).len(), 1);
    let empty = View::identity(shape(&[0, 3]))
        .reshape(shape(&[5, 0]))
        .unwrap();
    assert!(empty.region(&(0..5)).is_empty());
    assert!(whole.reshape(shape(&[5, 5])).is_none());
    // Repeated elements stay apart from those behind them.
    let twice = whole.index(0, 1).unwrap().broadcast_to(base).unwrap();
    assert!(twice.reshape(shape(&[24])).is_none());
    assert!(twice.reshape(shape(&[2, 2, 6])).is_some());
    assert_eq!(
        whole.reshape(shape(&[8, 3])).unwrap().rows_within(1..3),
        Some(2..6)
    );
}

#[test]
fn views_that_see_no_element_in_common_do_not_meet() {
    let whole = View::identity(Shape::new(&[10, 4]));
    let rows = |range, step| whole.slice(0, range, step).unwrap();
    let columns = |range| whole.slice(1, range, 1).unwrap();
    for (a, b, meet) in [
        (whole, whole, true),
        (rows(0..5, 1), rows(5..10, 1), false),
        (rows(0..6, 1), rows(5..10, 1), true),
        (rows(0..10, 2), rows(1..10, 2), false),
        (rows(0..10, 2), rows(1..10, 4), false),
        (rows(0..10, 2), rows(1..10, 3), true),
        (rows(0..10, -2), rows(0..10, 2), false),
        (columns(0..2), columns(2..4), false),
        (columns(0..2), rows(3..4, 1), true),
        (whole.index(0, 3).unwrap(), rows(0..10, 2), false),
        (whole.index(0, 4).unwrap(), rows(0..10, 2), true),
        (rows(3..3, 1), whole, false),
    ] {
        assert_eq!(
            (a.may_meet(&b), b.may_meet(&a)),
            (meet, meet),
            "{a:?} {b:?}"
        );
    }
}

#[test]
fn regions_hold_what_a_view_reads() {
    let base = Shape::new(&[8, 4]);
    let odd = View::identity(base).slice(0, 1..8, 2).unwrap();
    let region = odd.region(&(1..3));
    assert_eq!((region.lo, region.hi), ([3, 0, 0, 0], [6, 4, 1, 1]));
    assert_eq!(odd.rows_within(2..6), Some(1..3));
    let columns = View::identity(base).transpose().region(&(1..2));
    assert_eq!((columns.lo, columns.hi), ([0, 1, 0, 0], [8, 2, 1, 1]));
    assert!(odd.region(&(2..2)).is_empty());
}
