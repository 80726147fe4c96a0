//! Statistics, diagonals, histograms, interpolation and files, against plain loops and against what
//! NumPy 1.24 gives.

use crate::Bits;
use num_complex::Complex;
use sparsefuse_dense::{Array, Element, Error, Numeric, Vector, step};
use sparsefuse_runtime::{Config, run_ranks};
use sparsefuse_testing::{bits, everywhere, everywhere_with};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

fn element(i: usize) -> f64 {
    ((i * 2_654_435_761) % 1009) as f64 / 7.0 - 70.0
}

fn close(found: f64, expected: f64) {
    let distance = (found - expected).abs();
    assert!(
        distance <= 1e-12 * (1.0 + expected.abs()),
        "{found}, not {expected}"
    );
}

#[test]
fn variances() {
    for n in [1usize, 5, 1500] {
        let x: Vec<f64> = (0..n).map(element).collect();
        let mean = x.iter().sum::<f64>() / n as f64;
        let squares: f64 = x.iter().map(|x| (x - mean).powi(2)).sum();
        let found = everywhere(|| {
            let v = Vector::from_slice(&x);
            Ok([v.var(), v.std(), v.var_ddof(1.0), v.std_ddof(1.0)]
                .map(|x| x.bits())
                .into_iter()
                .collect::<Result<Vec<_>, _>>()?
                .concat())
        });
        let found: Vec<f64> = found.iter().filter_map(|x| x.get()).collect();
        close(found[0], squares / n as f64);
        close(found[1], (squares / n as f64).sqrt());
        if n > 1 {
            close(found[2], squares / (n as f64 - 1.0));
            close(found[3], (squares / (n as f64 - 1.0)).sqrt());
        } else {
            assert!(found[2].is_nan());
        }
    }
    everywhere(|| {
        let z = Vector::from_vec(vec![Complex::new(1.0, 1.0), Complex::new(3.0, -1.0)]);
        let variance: f64 = z.var().get()?;
        assert_eq!(variance, 2.0);
        assert!(Vector::<f32>::zeros([0]).var().get()?.is_nan());
        Ok(())
    });
}

#[test]
fn without_nan() {
    everywhere(|| {
        let x = Array::from_fn([40, 30], |[i, j]| match (i + j) % 3 {
            0 => f64::NAN,
            _ => element(30 * i + j),
        });
        let elements = x.to_vec()?;
        let numbers: Vec<f64> = elements.into_iter().filter(|x| !x.is_nan()).collect();
        let sum: f64 = numbers.iter().sum();
        close(x.nan_sum().get()?, sum);
        close(x.nan_mean().get()?, sum / numbers.len() as f64);
        let variance = |numbers: &[f64]| {
            let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
            let squares: f64 = numbers.iter().map(|x| (x - mean).powi(2)).sum();
            squares / numbers.len() as f64
        };
        close(x.nan_var().get()?, variance(&numbers));
        close(x.nan_std().get()?, variance(&numbers).sqrt());
        let max = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let min = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        assert_eq!((x.nan_max().get()?, x.nan_min().get()?), (max, min));
        let column: Vec<f64> = (0..40)
            .filter(|i| (i + 7) % 3 != 0)
            .map(|i| element(30 * i + 7))
            .collect();
        let mean = x.nan_mean_axis(0).to_vec()?[7];
        close(mean, column.iter().sum::<f64>() / column.len() as f64);
        close(x.nan_sum_axis(0).to_vec()?[7], column.iter().sum());
        close(x.nan_var_axis(0).to_vec()?[7], variance(&column));
        close(x.nan_std_axis(0).to_vec()?[7], variance(&column).sqrt());
        let none = Vector::from_vec(vec![f64::NAN; 3]);
        assert!(none.nan_var().get()?.is_nan());
        let far = Vector::from_vec(vec![f64::INFINITY, 1.0, f64::NAN]);
        assert!(far.nan_var().get()?.is_nan());
        assert_eq!(
            Vector::from_vec(vec![2.0, f64::NAN, 3.0])
                .nan_prod()
                .get()?,
            6.0
        );
        assert!(x.nan_sum_axis(1).bits()? == x.replace_nan(0.0).sum_axis(1).bits()?);
        x.nan_mean_axis(1).bits()
    });
    assert!(Vector::<f64>::zeros([0]).try_nan_max().is_err());
}

#[test]
fn averages_differences_and_closeness() {
    everywhere(|| {
        let x = Vector::from_fn([50], |[i]| element(i));
        let w = Vector::from_fn([50], |[i]| (i % 4) as f64);
        let pairs = x.to_vec()?.into_iter().zip(w.to_vec()?);
        let (sum, of_w) = pairs.fold((0.0, 0.0), |(s, t), (x, w)| (s + x * w, t + w));
        close(x.average(&w).get()?, sum / of_w);
        assert!(x.try_average(&w.slice(1..)).is_err());
        let a = Array::from_fn([6, 9, 4], |[i, j, k]| (i * i + 10 * j * j + k) as i64);
        for axis in 0..3 {
            let made = a.diff(axis);
            let expected = [6, 9, 4];
            assert_eq!(made.shape()[axis], expected[axis] - 1);
        }
        assert_eq!(a.diff(0).to_vec()?[36], 3);
        assert_eq!(a.diff(1).to_vec()?[4], 30);
        assert_eq!(Vector::<i64>::zeros([0]).diff(0).len(), 0);
        assert!(a.try_diff(3).is_err());
        assert!(x.all_close(&(&x * (1.0 + 1e-6)), 1e-5, 1e-8).get()?);
        assert!(!x.all_close(&(&x * (1.0 + 1e-4)), 1e-5, 1e-8).get()?);
        let odd = Vector::from_vec(vec![f64::INFINITY, 1.0]);
        assert!(odd.all_close(&odd, 0.0, 0.0).get()?);
        assert!(
            !Vector::from_vec(vec![1.0, 1.0])
                .all_close(&odd, 1e-5, 1e-8)
                .get()?
        );
        let nan = Vector::from_vec(vec![f64::NAN]);
        assert!(!nan.all_close(&nan, 1.0, 1.0).get()?);
        Ok(())
    });
}

#[test]
fn norms_and_covariances() {
    everywhere(|| {
        let x = Array::from_fn([4, 300], |[i, j]| element(i * 300 + j * (i + 1)));
        let rows: Vec<Vec<f64>> = x.to_vec()?.chunks(300).map(<[f64]>::to_vec).collect();
        let norms = x.norm2_axis(1).to_vec()?;
        let cov = x.cov();
        assert_eq!(cov.shape(), [4, 4]);
        let cov = cov.to_vec()?;
        let mean = |row: &[f64]| row.iter().sum::<f64>() / 300.0;
        for (i, a) in rows.iter().enumerate() {
            close(norms[i], a.iter().map(|x| x * x).sum::<f64>().sqrt());
            for (j, b) in rows.iter().enumerate() {
                let (of_a, of_b) = (mean(a), mean(b));
                let sum: f64 = a.iter().zip(b).map(|(a, b)| (a - of_a) * (b - of_b)).sum();
                let distance = (cov[4 * i + j] - sum / 299.0).abs();
                assert!(distance < 1e-9, "{i} {j}");
            }
        }
        x.cov().bits()
    });
}

/// Against those of copies; a view takes no memory.
fn diagonals_of_views() {
    everywhere(|| {
        let a = Array::from_fn([7, 9], |[i, j]| (9 * i + j) as i64);
        let x = Vector::from_vec(vec![3, 1, 4, 1, 5]);
        let column = x.insert_axis(1).try_broadcast_to([5, 8])?;
        let views = [
            a.slice((1.., 2..)),
            a.slice((step(1.., 2), step(.., -3))).t(),
            a.flip(0),
            a.t().slice((2..4, ..)),
            a.slice((3..4, ..)),
            a.slice((4..4, ..)),
            column.clone(),
            column.t(),
            Array::full([4, 4], 6).slice((..2, ..)),
            a.slice((..6, ..)).try_reshape([9, 6])?,
        ];
        for (number, view) in views.iter().enumerate() {
            for k in -10..=10 {
                let copied = (view + 0).diagonal(k).to_vec()?;
                assert_eq!(view.diagonal(k).to_vec()?, copied, "{number} {k}");
                assert_eq!((view.diagonal(k) + 1).sum().get()?, {
                    copied.iter().map(|x| x + 1).sum::<i64>()
                });
            }
        }
        let huge = x.insert_axis(1).try_broadcast_to([5, 1 << 50])?;
        assert_eq!(huge.diagonal(1 << 40).to_vec()?, x.to_vec()?);
        Ok(())
    });
}

#[test]
fn diagonals_and_triangles() {
    for [m, n] in [[5, 5], [3, 8], [9, 2], [1, 1], [0, 3]] {
        let flat = |i: usize, j: usize| (i * n + j) as i64 + 1;
        everywhere(|| {
            let a = Array::from_fn([m, n], |[i, j]| flat(i, j));
            for k in -10isize..=10 {
                let on = |is_in: fn(isize) -> bool| {
                    let index = |flat: usize| (flat / n.max(1), flat % n.max(1));
                    let places = (0..m * n).map(index);
                    places.map(move |(i, j)| (i, j, is_in(j as isize - i as isize - k)))
                };
                let diagonal: Vec<i64> = on(|d| d == 0)
                    .filter(|x| x.2)
                    .map(|(i, j, _)| flat(i, j))
                    .collect();
                assert_eq!(a.diagonal(k).to_vec()?, diagonal, "{m} {n} {k}");
                assert_eq!(a.t().diagonal(-k).to_vec()?, diagonal);
                let kept = |is_in| -> Vec<i64> {
                    on(is_in)
                        .map(|(i, j, is_in)| if is_in { flat(i, j) } else { 0 })
                        .collect()
                };
                assert_eq!(a.lower_triangle(k).to_vec()?, kept(|d| d <= 0));
                assert_eq!(a.upper_triangle(k).to_vec()?, kept(|d| d >= 0));
                let eye: Vec<i64> = on(|d| d == 0).map(|x| i64::from(x.2)).collect();
                assert_eq!(Array::<i64, 2>::eye_at([m, n], k).to_vec()?, eye);
            }
            let sum: i64 = (0..m.min(n)).map(|i| flat(i, i)).sum();
            assert_eq!(a.trace().get()?, sum);
            Ok(())
        });
    }
    diagonals_of_views();
    everywhere(|| {
        let x = Vector::from_vec(vec![1.5f32, 2.5, 3.5]);
        for k in -2..=2 {
            let made = x.to_diagonal(k);
            assert_eq!(made.shape(), [3 + k.unsigned_abs(); 2]);
            assert_eq!(made.diagonal(k).bits()?, x.bits()?);
            assert_eq!(made.sum().get()?, 7.5);
        }
        assert_eq!(Vector::<f64>::zeros([0]).to_diagonal(0).shape(), [0, 0]);
        Ok(())
    });
}

#[test]
fn kronecker_products_and_grids() {
    everywhere(|| {
        let a = Array::from_fn([3, 4], |[i, j]| element(4 * i + j));
        let b = Array::from_fn([5, 2], |[i, j]| element(2 * i + j + 50));
        let (of_a, of_b) = (a.to_vec()?, b.to_vec()?);
        let made = a.kron(&b);
        assert_eq!(made.shape(), [15, 8]);
        let at = |i: usize, j: usize| of_a[i / 5 * 4 + j / 2] * of_b[i % 5 * 2 + j % 2];
        let expected: Vec<f64> = (0..15 * 8).map(|flat| at(flat / 8, flat % 8)).collect();
        assert_eq!(made.bits()?, bits(&expected));
        let (x, y) = (Vector::<i64>::arange(7), Vector::<i64>::arange(3));
        let [xs, ys] = Vector::meshgrid(&x, &y);
        assert_eq!((xs.shape(), ys.shape()), ([3, 7], [3, 7]));
        assert_eq!((&ys * 10 + &xs).to_vec()?[16], 22);
        let powers = Vector::<f64>::logspace(-2.0, 2.0, 5).to_vec()?;
        assert_eq!(powers, [0.01, 0.1, 1.0, 10.0, 100.0]);
        made.bits()
    });
    let large = Array::<f64, 2>::zeros([1, 1]).try_broadcast_to([1 << 40, 1 << 10]);
    assert!(large.is_ok_and(|large| large.try_kron(&large).is_err()));
}

/// As many elements that threads share them, at the ends of bins and beside them; and bins that
/// single precision cannot tell apart.
#[test]
fn bins_of_many_elements() {
    let n_bins = 97;
    let x: Vec<f64> = (0..70_000)
        .map(|i| {
            let end = (i % 110) as f64 * (2.3 / n_bins as f64) - 1.1;
            [end.next_down(), end, end.next_up()][i % 3]
        })
        .collect();
    let narrow: Vec<f32> = (0..300)
        .map(|i| 1.0 + (i % 7) as f32 * f32::EPSILON)
        .collect();
    everywhere_with(&Config::default(), || {
        let (counts, ends) = Vector::from_slice(&x).histogram(n_bins, -1.1..1.2);
        assert_eq!(counts.to_vec()?, counted(&x, &ends.to_vec()?));
        let range = 1.0..1.0 + 5.0 * f64::from(f32::EPSILON);
        let (of_narrow, ends) = Vector::from_slice(&narrow).histogram(64, range);
        assert_eq!(of_narrow.to_vec()?, counted(&narrow, &ends.to_vec()?));
        counts.bits()
    });
}

/// The elements of each bin, found by looking at all ends.
fn counted<T: Numeric + PartialOrd>(x: &[T], ends: &[T]) -> Vec<i64> {
    let last = ends.len() - 1;
    let mut counts = vec![0; last];
    for x in x.iter().filter(|&x| (ends[0]..=ends[last]).contains(x)) {
        let place = ends.iter().filter(|&end| end <= x).count();
        counts[if *x == ends[last] { last } else { place } - 1] += 1;
    }
    counts
}

#[test]
fn histograms() {
    // NumPy 1.24: `np.histogram(x, 10, (-70, 70))` of these elements.
    let x: Vec<f64> = (0..1500).map(element).collect();
    let mut expected = vec![0i64; 10];
    let end = |i: usize| {
        if i == 10 {
            70.0
        } else {
            i as f64 * 14.0 - 70.0
        }
    };
    for &x in x.iter().filter(|&&x| (-70.0..=70.0).contains(&x)) {
        let bin = (0..10).find(|&i| x >= end(i) && (x < end(i + 1) || i == 9));
        expected[bin.unwrap_or(0)] += 1;
    }
    everywhere(|| {
        let v = Vector::concatenate(
            0,
            &[
                &Vector::from_slice(&x),
                &Vector::from_vec(vec![f64::NAN, f64::INFINITY, -1e9]),
            ],
        );
        let (counts, ends) = v.histogram(10, -70.0..70.0);
        assert_eq!(counts.to_vec()?, expected);
        assert_eq!(ends.len(), 11);
        let none = Vector::<f32>::zeros([0]).histogram(3, 0.0..1.0).0;
        assert_eq!(none.to_vec()?, [0; 3]);
        counts.bits()
    });
    let x = Vector::from_vec(vec![1.0]);
    let error = x.try_histogram(0, 0.0..1.0).unwrap_err().to_string();
    assert_eq!(error, "histogram: expected at least one bin, found none");
    assert!(x.try_histogram(3, 2.0..1.0).is_err());
    // A range of one number has it in its middle.
    let (counts, ends) = x.histogram(2, 1.0..1.0);
    assert_eq!(counts.to_vec().unwrap(), [0, 1]);
    assert_eq!(ends.to_vec().unwrap(), [0.5, 1.0, 1.5]);
    assert!(x.try_histogram(3, 0.0..f64::INFINITY).is_err());
    assert!(x.try_histogram(3, f64::NAN..1.0).is_err());
}

#[test]
fn interpolation() {
    let xs = [-1.0, 0.0, 0.5, 4.0, 10.0];
    let ys = [3.0, -2.0, 8.0, 8.5, -100.0];
    let exact = |x: f64| match xs.iter().rposition(|&x0| x0 <= x) {
        None => ys[0],
        Some(4) => ys[4],
        Some(i) => {
            let slope = (ys[i + 1] - ys[i]) / (xs[i + 1] - xs[i]);
            if x == xs[i] {
                ys[i]
            } else {
                (x - xs[i]) * slope + ys[i]
            }
        }
    };
    let x: Vec<f64> = (0..1200).map(|i| element(i) / 5.0).chain(xs).collect();
    let expected: Vec<f64> = x.iter().map(|&x| exact(x)).collect();
    let found = everywhere(|| {
        let (xs, ys) = (Vector::from_slice(&xs), Vector::from_slice(&ys));
        let odd = Vector::from_vec(vec![f64::NAN, f64::INFINITY, -f64::INFINITY]);
        let odd = odd.interp(&xs, &ys).to_vec()?;
        assert!(odd[0].is_nan() && odd[1..] == [-100.0, 3.0]);
        let one = Vector::from_vec(vec![1.0, 5.0]).interp(&xs.slice(..1), &ys.slice(..1));
        assert_eq!(one.to_vec()?, [3.0, 3.0]);
        // NumPy's `np.interp([-1, 0.5, nan], [-inf, 0, 1], [1, 2, 2])`, and with infinite values.
        let ends = Vector::from_vec(vec![-f64::INFINITY, 0.0, 1.0]);
        let at = Vector::from_vec(vec![-1.0, 0.5, f64::NAN]);
        let made = at
            .interp(&ends, &Vector::from_vec(vec![1.0, 2.0, 2.0]))
            .to_vec()?;
        assert!(made[..2] == [2.0, 2.0] && made[2].is_nan(), "{made:?}");
        let infinite = Vector::full([3], f64::INFINITY);
        let made = at.interp(&ends, &infinite).to_vec()?;
        assert!(
            made[..2] == [f64::INFINITY; 2] && made[2].is_nan(),
            "{made:?}"
        );
        assert!(xs.try_interp(&xs, &ys.slice(1..)).is_err());
        assert!(xs.try_interp(&xs.slice(..0), &ys.slice(..0)).is_err());
        Vector::from_slice(&x).interp(&xs, &ys).bits()
    });
    assert_eq!(found, bits(&expected));
}

/// A file of its own for each test, in all its settings one after the other.
fn file(name: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!(
        "sparsefuse_{}_{number}_{name}.npy",
        std::process::id()
    ))
}

fn round_trip<T: Element, const D: usize>(shape: [usize; D], element: impl Fn(usize) -> T + Sync) {
    let path = file("round_trip");
    everywhere(|| {
        let a = Array::from_fn(shape, |index| {
            let dims = index.iter().zip(shape);
            element(dims.fold(0, |flat, (i, dim)| flat * dim + i))
        });
        a.save_npy(&path)?;
        let b = Array::<T, D>::load_npy(&path)?;
        assert_eq!((b.shape(), b.bits()?), (shape, a.bits()?));
        // Views are written as they are seen.
        a.t().save_npy(&path)?;
        assert_eq!(Array::<T, D>::load_npy(&path)?.t().bits()?, a.bits()?);
        a.bits()
    });
    std::fs::remove_file(path).expect("the file is there");
}

#[test]
fn files_are_read_as_they_were_written() {
    round_trip([1100, 3], element);
    round_trip([7], |i| element(i) as f32);
    round_trip([2, 3, 4], |i| Complex::new(element(i), -0.0));
    round_trip([5, 5], |i| Complex::new(element(i) as f32, f32::NAN));
    round_trip([9], |i| i as i32 - 4);
    round_trip([9, 0], |i| i as i64);
    round_trip([3, 1, 2, 2], |i| i as u32);
    round_trip([4], |i| u64::MAX - i as u64);
    round_trip([70], |i| i % 3 == 0);
}

#[test]
fn complex_files_of_machines_with_another_order_of_bytes() -> Result<(), Error> {
    // Python 2 has written an L behind long numbers.
    let text = "{'descr': '>c16', 'fortran_order': False, 'shape': (2L,), }";
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{text:117}\n").bytes());
    for part in [1.5, -2.0, 0.0, 3e-300_f64] {
        bytes.extend(part.to_be_bytes());
    }
    let path = file("big_endian");
    std::fs::write(&path, bytes).expect("the file is written");
    let found = Vector::<Complex<f64>>::load_npy(&path)?.to_vec()?;
    assert_eq!(found, [Complex::new(1.5, -2.0), Complex::new(0.0, 3e-300)]);
    std::fs::remove_file(path).expect("the file is there");
    Ok(())
}

#[test]
fn files_of_numpy() -> Result<(), Error> {
    // `np.save` of `np.asfortranarray([[1, 2, 3], [4, 5, 6]], dtype=np.int32)`, version 1.0.
    let text = "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }";
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{text:117}\n").bytes());
    for element in [1i32, 4, 2, 5, 3, 6] {
        bytes.extend(element.to_le_bytes());
    }
    let path = file("of_numpy");
    let load = |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("the file is written");
        Array::<i32, 2>::load_npy(&path).and_then(|a| a.to_vec())
    };
    assert_eq!(load(&bytes)?, [1, 2, 3, 4, 5, 6]);
    let message = |bytes: &[u8]| {
        let error = load(bytes).unwrap_err().to_string();
        error
            .split_once(".npy: ")
            .map_or(error.clone(), |(_, rest)| rest.to_owned())
    };
    assert_eq!(
        message(&bytes[..bytes.len() - 1]),
        "expected 152 bytes, for 6 elements, found 151"
    );
    assert_eq!(
        message(&bytes[..50]),
        "expected a file in NumPy's format, found one that ends in its header"
    );
    assert!(message(b"hello world").ends_with("found one that begins otherwise"));
    assert!(message(b"").starts_with("expected a file in NumPy's format"));
    let other = |from: &str, to: &str| {
        let text = String::from_utf8_lossy(&bytes[10..128]).replace(from, to);
        message(&[&bytes[..10], text.as_bytes(), &bytes[128..]].concat())
    };
    assert_eq!(
        other("<i4", "<f4"),
        "expected elements of type '<i4', found '<f4'"
    );
    assert_eq!(
        other("<i4", ">i8"),
        "expected elements of type '<i4', found '>i8'"
    );
    let big = String::from_utf8_lossy(&bytes[10..128]).replace("<i4", ">i4");
    let elements = [1i32, 4, 2, 5, 3, 6].map(i32::to_be_bytes).concat();
    let big = [&bytes[..10], big.as_bytes(), &elements].concat();
    assert_eq!(load(&big)?, [1, 2, 3, 4, 5, 6]);
    assert_eq!(other("(2, 3)", "(6,)  "), "expected 2 dimensions, found 1");
    assert_eq!(
        other("(2, 3), }         ", "(1, 1, 1, 1, 6), }"),
        "expected 2 dimensions, found 5"
    );
    let rest = ", 'fortran_order': True, 'shape': (2, 3), }";
    let numbers = format!("'<i4'{rest}         ");
    assert_eq!(
        other(&numbers, &format!("[('a', '<f4')]{rest}")),
        "expected elements of type '<i4', found '[('a', '<f4')]'"
    );
    assert!(other("(2, 3)", "(2, x)").starts_with("expected a header with descr"));
    // Another length of the header than it has moves the elements.
    for (len, found) in [(0x74, "116"), (0x7e, "126")] {
        let bytes = [&bytes[..8], &[len], &bytes[9..]].concat();
        let expected = "expected a header that ends with its line";
        let expected = format!("{expected}, found one of {found} bytes that does not");
        assert_eq!(message(&bytes), expected);
    }
    // No memory is asked for what the file does not have.
    assert_eq!(
        other("(2, 3), }       ", "(2, 39999999), }"),
        "expected 320000120 bytes, for 79999998 elements, found 152"
    );
    assert!(other("(2, 3)", "(2,-3)").starts_with("expected a header with descr"));
    std::fs::remove_file(&path).expect("the file is there");
    let error = Array::<i32, 2>::load_npy(&path).unwrap_err().to_string();
    assert!(
        error.contains("expected a file that can be read, found"),
        "{error}"
    );
    // Each rank may have a file of its own under a path.
    let of_ranks = ["of_rank_0", "of_rank_1"].map(file);
    for (rank, path) in of_ranks.iter().enumerate() {
        Vector::<i32>::arange(9000 + rank).save_npy(path)?;
    }
    let refused = run_ranks(2, &Config::default(), |runtime| {
        Vector::<i32>::load_npy(&of_ranks[runtime.rank()]).map(drop)
    })?;
    for refused in refused {
        let refused = refused.unwrap_err().to_string();
        let expected = "expected the same file on every rank, found another on rank 1";
        assert!(refused.contains(expected), "{refused}");
    }
    for path in &of_ranks {
        std::fs::remove_file(path).expect("the file is there");
    }
    let error = Vector::<i32>::arange(3)
        .save_npy("/nowhere/at/all.npy")
        .unwrap_err();
    assert!(
        error.to_string().contains("a file that can be written"),
        "{error}"
    );
    Ok(())
}
