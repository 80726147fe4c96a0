//! Arrays as text: what NumPy shows of the same elements.

use num_complex::Complex;
use sparsefuse_dense::{Array, Element, Error, Vector};
use sparsefuse_testing::everywhere;

fn of<T: Element>(elements: &[T]) -> String {
    Vector::from_slice(elements).to_string()
}

#[test]
fn elements_are_shown_as_by_numpy() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    assert_eq!(of(&[1.0, 2.0, 3.0]), "[1. 2. 3.]");
    assert_eq!(of(&[1.0 / 3.0, 2.0 / 3.0]), "[0.33333333 0.66666667]");
    assert_eq!(
        of(&[0.1, 123.456, -7.0]),
        "[ 1.00000e-01  1.23456e+02 -7.00000e+00]"
    );
    assert_eq!(of(&[1e-10, 123.456]), "[1.00000e-10 1.23456e+02]");
    assert_eq!(of(&[1.5e8, 1.0]), "[1.5e+08 1.0e+00]");
    assert_eq!(of(&[5e-324, 1.0]), "[5.e-324 1.e+000]");
    assert_eq!(of(&[nan, 1.25, -inf]), "[ nan 1.25 -inf]");
    assert_eq!(of(&[nan, nan]), "[nan nan]");
    assert_eq!(of(&[0.0, 0.0]), "[0. 0.]");
    assert_eq!(of(&[0.1f32]), "[0.1]");
    assert_eq!(of(&[7, -10]), "[  7 -10]");
    assert_eq!(of(&[true, false]), "[ true false]");
    let z = [Complex::new(1.0, 2.0), Complex::new(-0.5, -1.25)];
    assert_eq!(of(&z), "[ 1. +2.j   -0.5-1.25j]");
    let z = [Complex::new(1e300, 0.0), Complex::new(0.0, 1.0)];
    assert_eq!(of(&z), "[1.e+300+0.j 0.e+000+1.j]");
    assert_eq!(of(&[Complex::new(1.0, -nan)]), "[1.+nanj]");
    assert_eq!(of(&[0.1 + 0.2, 1e-5]), "[3.e-01 1.e-05]");
    assert_eq!(of(&[9.9999999999e99, 1e99]), "[1.e+100 1.e+099]");
    assert_eq!(of(&[1e-4f32]), "[0.0001]");
    assert_eq!(of(&[1e6f32, 1.0]), "[1.e+06 1.e+00]");
    assert_eq!(of(&[1e7, 1.0]), "[1.e+07 1.e+00]");
    assert_eq!(of::<f64>(&[]), "[]");
    assert_eq!(Array::<f64, 2>::zeros([0, 3]).to_string(), "[]");
}

#[test]
fn arrays_of_several_dimensions_and_long_ones() {
    let cube: Result<Array<f64, 3>, Error> = Vector::<f64>::arange(24).try_reshape([2, 3, 4]);
    let expected = "\
[[[ 0.  1.  2.  3.]
  [ 4.  5.  6.  7.]
  [ 8.  9. 10. 11.]]

 [[12. 13. 14. 15.]
  [16. 17. 18. 19.]
  [20. 21. 22. 23.]]]";
    assert_eq!(
        cube.map_or_else(|error| error.to_string(), |cube| cube.to_string()),
        expected
    );
    let expected = "\
[ 0.   1.5  3.   4.5  6.   7.5  9.  10.5 12.  13.5 15.  16.5 18.  19.5
 21.  22.5 24.  25.5 27.  28.5 30.  31.5 33.  34.5 36.  37.5 39.  40.5
 42.  43.5]";
    assert_eq!((Vector::<f64>::arange(30) * 1.5).to_string(), expected);
    assert_eq!(
        Vector::<i64>::arange(2000).to_string(),
        "[   0    1    2 ... 1997 1998 1999]"
    );
    let long = Array::from_fn([2, 2000], |[i, j]| (2000 * i + j) as i64);
    let expected = "\
[[   0    1    2 ... 1997 1998 1999]
 [2000 2001 2002 ... 3997 3998 3999]]";
    assert_eq!(long.to_string(), expected);
    let expected = "\
[[0.00000000e+00 1.42857143e-01 2.85714286e-01 ... 1.38571429e+01
  1.40000000e+01 1.41428571e+01]
 [1.42857143e+01 1.44285714e+01 1.45714286e+01 ... 2.81428571e+01
  2.82857143e+01 2.84285714e+01]
 [2.85714286e+01 2.87142857e+01 2.88571429e+01 ... 4.24285714e+01
  4.25714286e+01 4.27142857e+01]
 ...
 [1.38571429e+03 1.38585714e+03 1.38600000e+03 ... 1.39957143e+03
  1.39971429e+03 1.39985714e+03]
 [1.40000000e+03 1.40014286e+03 1.40028571e+03 ... 1.41385714e+03
  1.41400000e+03 1.41414286e+03]
 [1.41428571e+03 1.41442857e+03 1.41457143e+03 ... 1.42814286e+03
  1.42828571e+03 1.42842857e+03]]";
    let square = Array::<f64, 2>::from_fn([100, 100], |[i, j]| (100 * i + j) as f64 / 7.0);
    assert_eq!(square.to_string(), expected);
}

#[test]
fn every_rank_shows_the_same_and_failures_are_shown() {
    let found = everywhere(|| -> Result<_, Error> {
        let x = Vector::<f64>::random_normal([5000], 1).slice(10..4990);
        Ok(format!("{x:.3} {:.3}", x.sum()))
    });
    assert!(found.starts_with('[') && found.contains(" ... "), "{found}");
    let indices = Vector::from_vec(vec![7]);
    let failed = Vector::<f64>::ones([3]).take(&indices);
    let shown = failed.to_string();
    assert!(shown.starts_with('(') && shown.contains('7'), "{shown}");
}
