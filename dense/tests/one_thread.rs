//! Dense linear algebra takes one thread of faer's, whatever another crate of the program has set:
//! last bits would depend on it.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

use num_complex::Complex;
use sparsefuse_dense::{Array, Field, Vector};

fn check<T: Field>() {
    for n in [3, 60] {
        let element =
            |at: [usize; 2]| T::from_parts(((at[0] * 31 + at[1] * 17) % 23) as f64, at[0] as f64);
        let a = Array::<T, 2>::from_fn([n, n], element) + Array::<T, 2>::eye(n) * T::from_f64(40.0);
        let definite = a.matmul(&a.conj().t());
        let b = Vector::<T>::ones([n]);
        let rows = |made: &Array<T, 2>| assert!(made.first_not_finite().unwrap().is_none());
        let numbers = |made: &Vector<T>| assert!(made.first_not_finite().unwrap().is_none());
        numbers(&a.solve(&b).unwrap());
        rows(&a.inv().unwrap());
        numbers(&a.lu().unwrap().solve(&b).unwrap());
        a.det().unwrap().get().unwrap();
        let (sign, log) = a.slogdet().unwrap();
        sign.get().unwrap();
        log.get().unwrap();
        rows(&definite.cholesky().unwrap());
        rows(&a.qr().unwrap().q);
        rows(&a.svd().unwrap().u);
        a.singular_values().unwrap().to_vec().unwrap();
        rows(&definite.eigh().unwrap().vectors);
        definite.eigvalsh().unwrap().to_vec().unwrap();
        a.eig().unwrap().vectors.to_vec().unwrap();
        a.eigvals().unwrap().to_vec().unwrap();
        numbers(&a.lstsq(&b).unwrap());
        rows(&(a * T::from_f64(0.01)).expm().unwrap());
    }
}

#[test]
fn no_method_asks_how_many_threads_the_process_has() {
    // From here on faer panics where it is asked for that number.
    faer::disable_global_parallelism();
    check::<f64>();
    check::<Complex<f32>>();
    // A Jordan block, whose vectors are found by inverse iteration.
    let block =
        Array::<f64, 2>::from_fn([25, 25], |[i, j]| f64::from(u8::from(j == i + 1 || i == j)));
    block.eig().unwrap().vectors.to_vec().unwrap();
}
