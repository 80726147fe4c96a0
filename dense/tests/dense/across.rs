//! Arrays that lie across the rows of a loop: transposed ones beside others, large enough to be
//! copied to panels, of all sizes of elements, backwards, in parts, and beside themselves.

use crate::everywhere;
use ndarray::{Array2, Array3, s};
use num_complex::Complex;
use sparsefuse_dense::{Array, step};
use sparsefuse_kernels::Element;

fn numbers(shape: [usize; 2]) -> Array2<f64> {
    Array2::from_shape_fn(shape, |(i, j)| ((7 * i + 13 * j) % 101) as f64 - 50.0)
}

/// A transposed matrix of elements of any type beside one that is not.
fn check<T: Element>(of: impl Fn(f64) -> T + Sync) {
    for [m, n] in [[150, 90], [37, 1030], [1030, 41], [257, 256]] {
        let (a, b) = (numbers([m, n]).mapv(&of), numbers([n, m]).mapv(&of));
        let found = everywhere(|| {
            let (a, b) = (Array::from(a.clone()), Array::from(b.clone()));
            let is_equal = a.t().equal(&b).to_ndarray()?;
            let is_other = b.not_equal(a.t()).t().to_ndarray()?;
            Ok((is_equal, is_other, a.t().contiguous()?.to_ndarray()?))
        });
        let is_equal = Array2::from_shape_fn([n, m], |(i, j)| a[[j, i]] == b[[i, j]]);
        assert_eq!(found.0, is_equal);
        assert_eq!(found.1, is_equal.t().mapv(|is| !is));
        assert_eq!(found.2, a.t());
    }
}

#[test]
fn elements_of_all_sizes() {
    check(|x| x > 0.0);
    check(|x| x as f32);
    check(|x| x as i32);
    check(|x| x);
    check(|x| Complex::new(x as f32, 1.0));
    check(|x| Complex::new(1.0, x));
}

#[test]
fn sums_beside_themselves_and_others() {
    let a = numbers([300, 300]);
    let b = numbers([600, 300]);
    let found = everywhere(|| {
        let (a, b) = (Array::from(a.clone()), Array::from(b.clone()));
        let symmetric = (&a + a.t()) * 0.5;
        let several = a.t() * b.slice((..300, ..)).t() + b.slice((300.., ..)).t() - &a;
        let longer = (a.t() * 0.01).exp() * &a + (a.t() * 0.02).sin();
        let reduced = (a.t() * &a).sum().get()?;
        let axis = (a.t() * &a).sum_axis(0).to_vec()?;
        let mut own = &a * 1.0;
        own += a.t();
        let mut same = &a * 1.0;
        let turned = same.t() * 2.0;
        same += &turned;
        Ok((
            [symmetric, several, own, same].map(|array| array.to_ndarray()),
            longer
                .to_vec()?
                .iter()
                .map(|x| x.to_bits())
                .collect::<Vec<_>>(),
            reduced,
            axis,
        ))
    });
    let (t, [upper, lower]) = (
        a.t(),
        [s![..300, ..], s![300.., ..]].map(|part| b.slice(part)),
    );
    let [symmetric, several, own, same] = found.0.map(Result::unwrap);
    assert_eq!(symmetric, (&a + &t) * 0.5);
    assert_eq!(several, &t * &upper.t() + lower.t() - &a);
    assert_eq!(own, &a + &t);
    assert_eq!(same, &a + &t * 2.0);
    assert_eq!(found.2, (&t * &a).sum());
    assert_eq!(found.3, (&t * &a).sum_axis(ndarray::Axis(0)).to_vec());
    let longer = found.1.iter().map(|&bits| f64::from_bits(bits));
    for (found, (t, a)) in longer.zip(t.iter().zip(&a)) {
        let expected = (t * 0.01).exp() * a + (t * 0.02).sin();
        assert!((found - expected).abs() <= 1e-13 * expected.abs().max(1.0));
    }
}

#[test]
fn parts_backwards_and_more_dimensions() {
    let a = numbers([400, 200]);
    let cube = Array3::from_shape_fn([30, 40, 50], |(i, j, k)| (5 * i + 3 * j + 7 * k) as f64);
    let found = everywhere(|| {
        let a = Array::from(a.clone());
        let cube = Array::from_shape_vec([30, 40, 50], cube.iter().copied().collect())?;
        let part = a.slice((step(11..391, -3), 5..180)).t();
        let back = a.slice((.., step(.., -1))).t() + 1.0;
        let turned = [[2, 1, 0], [0, 2, 1], [1, 2, 0]].map(|axes| {
            let turned = cube.permute_axes(axes);
            (&turned * 2.0 + turned.abs()).to_vec()
        });
        Ok((
            part.contiguous()?.to_ndarray()?,
            (part * 3.0).to_ndarray()?,
            back.to_ndarray()?,
            turned,
        ))
    });
    let part = a.slice(s![11..391;-3, 5..180]);
    assert_eq!(found.0, part.t());
    assert_eq!(found.1, part.t().mapv(|x| 3.0 * x));
    assert_eq!(found.2, a.slice(s![.., ..;-1]).t().mapv(|x| x + 1.0));
    for (axes, found) in [[2, 1, 0], [0, 2, 1], [1, 2, 0]].iter().zip(found.3) {
        let turned = cube.clone().permuted_axes(*axes);
        let expected: Vec<f64> = turned.iter().map(|x| 3.0 * x).collect();
        assert_eq!(found.unwrap(), expected);
    }
}
