//! Wrong calls: what the errors say, and that operators panic with the same words.

use crate::small;
use sparsefuse_dense::{Array, Error, Scalar, Vector, step};
use sparsefuse_kernels::DType;
use sparsefuse_runtime::{Runtime, Shape, View, run_ranks};
use std::process::Command;
use std::sync::Arc;

#[track_caller]
fn check<T: std::fmt::Debug>(result: Result<T, Error>, expected: &str) {
    assert_eq!(result.expect_err("the call is wrong").to_string(), expected);
}

#[test]
fn shapes() {
    let x = Vector::<f64>::ones([3]);
    let y = Vector::<f64>::ones([4]);
    let a = Array::<f64, 2>::ones([2, 3]);
    let of_3_found_4 = |op: &str| format!("{op}: expected a shape of (3), found (4)");
    check(x.try_add(&y), &of_3_found_4("add"));
    check(x.try_div(&y), &of_3_found_4("div"));
    check(x.try_minimum(&y), &of_3_found_4("minimum"));
    check(x.try_less(&y), &of_3_found_4("less"));
    check(x.try_dot(&y), &of_3_found_4("dot"));
    check(a.try_matvec(&y), &of_3_found_4("matvec"));
    check(x.clone().try_add_assign(&y), &of_3_found_4("add"));
    check(x.try_clamp(&y, 1.0), &of_3_found_4("clamp"));
    check(
        x.try_dot_unconjugated(&y),
        &of_3_found_4("dot_unconjugated"),
    );
    check(x.less(0.0).try_select(&x, &y), &of_3_found_4("select"));
    check(
        x.try_reshape([2, 2]),
        "reshape: expected a shape of 3 elements, found (2, 2)",
    );
    check(
        a.try_broadcast_to([3, 3]),
        "broadcast_to: expected a shape of (3, 3), found (2, 3)",
    );
    let mut z = x.clone();
    check(
        z.try_assign_slice(..2, &y),
        "assign_slice: expected a shape of (2), found (4)",
    );
    check(
        Array::from_shape_vec([2, 2], vec![1, 2, 3]),
        "from_shape_vec: expected as many elements as the shape (2, 2) has, found 3",
    );
}

#[test]
fn ranges_and_axes() {
    let x = Vector::<f64>::ones([3]);
    let a = Array::<f64, 2>::ones([2, 3]);
    check(
        x.try_slice(1..4),
        "slice: expected a range within 0..3 for dimension 0, found 1..4",
    );
    check(
        x.try_slice(step(.., 0)),
        "slice: expected a step other than 0, found 0",
    );
    let backwards = std::ops::Range { start: 2, end: 1 };
    check(
        a.try_slice((.., backwards)),
        "slice: expected a range within 0..3 for dimension 1, found 2..1",
    );
    check(
        a.try_row(2),
        "row: expected an index below 2 for dimension 0, found 2",
    );
    check(
        a.try_column(3),
        "column: expected an index below 3 for dimension 1, found 3",
    );
    check(
        x.try_histogram(usize::MAX, 0.0..1.0)
            .map(|(counts, _)| counts),
        "histogram: expected a shape whose elements memory can hold, found (18446744073709551615)",
    );
    check(
        a.try_repeat(1, usize::MAX),
        "repeat: expected a shape whose elements memory can hold, found (2, 18446744073709551615)",
    );
    check(
        a.try_tile([1, usize::MAX]),
        "tile: expected a shape whose elements memory can hold, found (2, 18446744073709551615)",
    );
    assert!(x.try_slice(..=usize::MAX).is_err());
    assert!(x.clone().try_assign_slice(step(4.., -1), 1.0).is_err());
    assert!(x.try_insert_axis(2).is_err());
    check(
        a.try_mean_axis(2),
        "mean_axis: expected an axis below 2, found 2",
    );
    assert!(a.try_row(2).is_err());
    assert!(a.try_column(3).is_err());
    check(
        a.try_sum_axis(2),
        "sum_axis: expected an axis below 2, found 2",
    );
}

#[test]
fn nothing_to_compare() {
    let x = Vector::<f64>::ones([0]);
    check(
        x.try_min(),
        "min: expected an array with elements, found one of shape (0)",
    );
    check(
        x.try_argmax(),
        "argmax: expected an array with elements, found one of shape (0)",
    );
    check(
        Array::<i32, 2>::ones([3, 0]).try_max_axis(1),
        "max_axis: expected an axis with elements to compare, found one of length 0",
    );
}

#[test]
fn types_ranks_and_runtimes() {
    let x = Vector::<f64>::ones([3]);
    let store = || x.store().clone();
    check(
        Vector::<f32>::from_store(store(), None),
        "from_store: expected elements of type f32, found f64",
    );
    check(
        Array::<f64, 2>::from_store(store(), None),
        "from_store: expected 2 dimensions, found 1",
    );
    check(
        Scalar::<f64>::from_store(store()),
        "from_store: expected a shape of (), found (3)",
    );
    let other = Runtime::new(small()).unwrap();
    let y = other.enter(|| Vector::<f64>::ones([3]));
    check(
        x.try_add(&y),
        "add: expected stores of one runtime, found stores of two",
    );
    let unwritten = other.new_store(Shape::new(&[3]), DType::F64);
    let z = Vector::<f64>::from_store(unwritten, None).unwrap();
    assert!(z.try_add(&y).is_err());
    assert!(z.to_vec().is_err());
}

/// Functions of one value have a twin too: found as panics where a program had to go on.
#[test]
fn twins_of_functions_of_one_value() {
    let runtime = Runtime::current();
    let of_type = |shape: &[usize], dtype| runtime.new_store(Shape::new(shape), dtype);
    let x = Vector::<f64>::from_store(of_type(&[3], DType::F64), None).unwrap();
    let s = Scalar::<f64>::from_store(of_type(&[], DType::F64)).unwrap();
    let mask = Vector::<bool>::from_store(of_type(&[3], DType::Bool), None).unwrap();
    let unwritten =
        |op| format!("{op}: expected a store with contents, found one that nothing has written");
    for (op, result) in [
        ("sqrt", x.try_sqrt()),
        ("abs", x.try_abs()),
        ("square", x.try_square()),
        ("recip", x.try_recip()),
        ("cast", x.try_cast()),
    ] {
        check(result, &unwritten(op));
    }
    for (op, result) in [
        ("sqrt", s.try_sqrt()),
        ("abs", s.try_abs()),
        ("square", s.try_square()),
        ("recip", s.try_recip()),
        ("cast", s.try_cast()),
    ] {
        check(result, &unwritten(op));
    }
    for (op, result) in [
        ("sum", x.try_sum()),
        ("prod", x.try_prod()),
        ("mean", x.try_mean()),
        ("norm1", x.try_norm1()),
        ("norm2", x.try_norm2()),
        ("norm_inf", x.try_norm_inf()),
        ("sum_of_squares", x.try_sum_of_squares()),
        ("max", x.try_max()),
    ] {
        check(result, &unwritten(op));
    }
    check(mask.try_any(), &unwritten("any"));
    check(mask.try_all(), &unwritten("all"));

    let written = Vector::from_vec(vec![4.0, 9.0]);
    assert_eq!(written.try_sqrt().unwrap().to_vec().unwrap(), [2.0, 3.0]);
    assert_eq!(written.try_mean().unwrap().get().unwrap(), 6.5);
}

/// Constructors, whose shape may come from a file or a user.
#[test]
fn twins_of_constructors() {
    let beyond = |op: &str, shape: &str| {
        format!("{op}: expected a shape whose elements memory can hold, found {shape}")
    };
    let shape = [usize::MAX, 3];
    let rows_of_3 = format!("({}, 3)", usize::MAX);
    for (op, result) in [
        ("zeros", Array::<f64, 2>::try_zeros(shape)),
        ("ones", Array::try_ones(shape)),
        ("full", Array::try_full(shape, 2.0)),
        ("random_uniform", Array::try_random_uniform(shape, 1)),
        ("random_normal", Array::try_random_normal(shape, 1)),
        ("from_fn", Array::try_from_fn(shape, |_| 1.0)),
    ] {
        check(result, &beyond(op, &rows_of_3));
    }
    let len = format!("({})", usize::MAX);
    check(
        Vector::<i64>::try_arange(usize::MAX),
        &beyond("arange", &len),
    );
    check(
        Vector::<i32>::try_arange(3_000_000_000),
        "arange: expected numbers of type i32 up to 2147483647, found 2999999999",
    );
    check(
        Vector::<u32>::try_arange((1 << 32) + 1),
        "arange: expected numbers of type u32 up to 4294967295, found 4294967296",
    );
    let found = beyond("linspace", &len);
    check(Vector::try_linspace(0.0, 1.0, usize::MAX), &found);
    assert!(Array::<f64, 2>::try_eye(usize::MAX).is_err());
    assert_eq!(
        Vector::<f64>::try_ones([2]).unwrap().to_vec().unwrap(),
        [1.0; 2]
    );
}

#[test]
#[should_panic(expected = "add: expected a shape of (3), found (4)")]
fn operators_panic_with_the_message() {
    let _ = Vector::<f64>::ones([3]) + Vector::<f64>::ones([4]);
}

#[test]
#[should_panic(expected = "sub: expected a shape of (1), found (4)")]
fn assigning_operators_keep_the_shape() {
    let mut x = Vector::<f64>::ones([1]);
    x -= Vector::<f64>::ones([4]);
}

#[test]
#[should_panic(expected = "a shape whose elements memory can hold")]
fn shapes_beyond_counting() {
    let _ = Array::<f64, 2>::zeros([usize::MAX, 3]);
}

#[test]
fn handles_can_be_sent_and_shared() {
    fn sent_and_shared<T: Send + Sync>() {}
    sent_and_shared::<Array<f64, 2>>();
    sent_and_shared::<Scalar<bool>>();
}

#[test]
fn shapes_beyond_counting_are_refused() {
    let one = Vector::<f64>::ones([1]);
    let error = one
        .try_broadcast_to([1usize << 62, 4])
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "broadcast_to: expected a shape whose elements memory can hold, found (4611686018427387904, 4)"
    );
}

/// The view reaches beyond the store: found as a crash, and as elements of others.
#[test]
fn arrays_of_views_of_other_stores() {
    let runtime = Runtime::current();
    for n in [100, 100_000_000] {
        let store = runtime
            .store_from_vec(Shape::new(&[10]), vec![1.0f64; 10])
            .unwrap();
        let view = View::identity(Shape::new(&[n]))
            .slice(0, n - 5..n, 1)
            .unwrap();
        check(
            Array::<f64, 1>::from_store(store, Some(Arc::new(view))),
            &format!(
                "from_store: expected a view of a store of shape (10), found a view of one of \
                 shape ({n})"
            ),
        );
    }
}

#[test]
fn more_elements_than_memory_has() {
    let x = Vector::<f64>::ones([1]);
    let seen = x.broadcast_to([1 << 50]);
    let wanted = 8usize << 50;
    check(
        seen.to_vec(),
        &format!("expected {wanted} bytes of memory, found that the system refuses them"),
    );
    assert!(x.try_broadcast_to([usize::MAX]).is_err());
    let outcomes = run_ranks(3, &small(), |_| {
        let x = Vector::<f64>::ones([1]).broadcast_to([1 << 50]);
        (x.to_vec().is_err(), x.gather(1).is_err())
    });
    assert_eq!(outcomes.unwrap(), [(true, true); 3]);
}

#[test]
fn settings_that_do_not_exist_are_named() {
    let this = std::env::current_exe().unwrap();
    let output = Command::new(this)
        .args(["--exact", "errors::shapes", "--nocapture"])
        .env("SPARSEFUSE_QUUX", "1")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("sparsefuse: there is no setting `SPARSEFUSE_QUUX`\n"),
        "{said}"
    );
}

#[test]
fn gathers_on_a_rank_that_is_not_there() {
    let messages = run_ranks(2, &small(), |_| {
        let x = Vector::<f64>::ones([3]);
        x.gather(2).unwrap_err().to_string()
    });
    let expected = "gather: expected a rank below 2, found 2";
    assert_eq!(messages.unwrap(), [expected; 2]);
}

/// The message names the operation that was called, not one of those that it is made of.
#[test]
fn operations_that_are_made_of_others() {
    let x = Vector::<f64>::ones([3]);
    let a = Array::<f64, 2>::ones([2, 3]);
    let beyond = "expected a range within 0..3 for dimension 0, found 2..9";
    for (op, result) in [
        ("assign_slice", x.clone().try_assign_slice(2..9, 1.0)),
        ("update_slice", x.clone().try_update_slice(2..9, Ok)),
        ("split", x.try_split(0, &[2, 9]).map(drop)),
    ] {
        check(result, &format!("{op}: {beyond}"));
    }
    // What the change says is its own.
    let other = x.clone().try_update_slice(.., |x| x.try_slice(2..9));
    check(other, &format!("slice: {beyond}"));
    check(
        x.clone().try_update_slice(.., |_| Ok(Vector::ones([4]))),
        "update_slice: expected a shape of (3), found (4)",
    );
    check(
        a.try_index_axis(2, 0),
        "index_axis: expected a dimension below 2, found 2",
    );
    check(
        Vector::<f64>::try_stack(0, &[]),
        "stack: expected at least one array, found none",
    );
    check(
        Vector::try_stack(2, &[&x]),
        "stack: expected a position up to 1 and at most 4 dimensions, found 2",
    );
    for (op, result) in [
        ("var_axis", a.try_var_axis(2)),
        ("std_axis", a.try_std_axis(2)),
        ("nan_mean_axis", a.try_nan_mean_axis(2)),
    ] {
        check(result, &format!("{op}: expected an axis below 2, found 2"));
    }
    check(
        a.try_take_points([&Vector::from_vec(vec![0]), &Vector::from_vec(vec![0, 1])]),
        "take_points: expected a shape of (1), found (2)",
    );
    check(
        x.clone().try_assign_where(&x.less(0.0), Vector::ones([4])),
        "assign_where: expected a shape of (3), found (4)",
    );
}
