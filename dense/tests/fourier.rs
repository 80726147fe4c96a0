//! Fourier transforms, against their definition.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

use num_complex::Complex;
use sparsefuse_dense::{Array, Error, FftNorm, Field, Overlap, Padding, Real, Vector};
use sparsefuse_testing::{bits, everywhere};
use std::f64::consts::TAU;

fn number(k: usize) -> f64 {
    ((k * k + 13 * k) * 7919 % 1009) as f64 / 500.0 - 1.0
}

fn some<T: Field, const D: usize>(shape: [usize; D]) -> Array<T, D> {
    Array::from_fn(shape, |at| {
        let k = at.iter().zip(shape).fold(0, |k, (&at, n)| k * n + at);
        T::from_parts(number(k), number(k + 5000))
    })
}

/// The sum that defines the transform.
fn defined(x: &[Complex<f64>], sign: f64) -> Vec<Complex<f64>> {
    let n = x.len();
    let term = |j: usize, k: usize| x[j] * Complex::cis(sign * TAU * (j * k % n) as f64 / n as f64);
    (0..n).map(|k| (0..n).map(|j| term(j, k)).sum()).collect()
}

fn is_near<T: Field>(made: &[T], expected: &[Complex<f64>]) -> bool {
    let limit = 10.0 * expected.len() as f64 * T::Real::EPSILON.to_f64();
    let apart = |(made, expected): (&T, &Complex<f64>)| {
        let (re, im) = made.parts();
        (Complex::new(re, im) - expected).norm()
    };
    made.len() == expected.len()
        && made
            .iter()
            .zip(expected)
            .map(apart)
            .all(|apart| apart < limit)
}

fn definitions<T: Field>() {
    for n in [1, 2, 3, 8, 30, 97, 256] {
        let x = some::<T, 1>([n]);
        let elements = x.to_vec().unwrap();
        let wide: Vec<_> = elements
            .iter()
            .map(|x| x.parts())
            .map(|(re, im)| Complex::new(re, im))
            .collect();
        let expected = defined(&wide, -1.0);
        let y = x.fft();
        assert!(is_near(&y.to_vec().unwrap(), &expected), "{n}");
        assert!(is_near(&y.ifft().to_vec().unwrap(), &wide), "{n}");
    }
}

#[test]
fn transforms_are_the_sums_that_define_them() {
    definitions::<f64>();
    definitions::<f32>();
    definitions::<Complex<f64>>();
    definitions::<Complex<f32>>();
}

#[test]
fn half_of_a_transform_is_that_of_real_numbers() {
    for n in [1, 2, 3, 4, 5, 6, 8, 14, 31, 64, 100, 250] {
        let x = some::<f64, 1>([n]);
        let half = x.rfft();
        let expected = x.fft().slice(..n / 2 + 1).to_vec().unwrap();
        assert!(is_near(&half.to_vec().unwrap(), &expected), "{n}");
        let back = half.irfft(n).to_vec().unwrap();
        assert!(
            back.iter()
                .zip(x.to_vec().unwrap())
                .all(|(back, x)| (back - x).abs() < 1e-14),
            "{n}"
        );
    }
}

#[test]
fn real_numbers_are_made_of_half_of_any_transform() {
    for n in [1, 2, 3, 4, 7, 10, 64, 99] {
        // More than is looked at, with imaginary parts everywhere.
        let y = some::<Complex<f64>, 1>([n / 2 + 4]);
        let half = y.to_vec().unwrap();
        let element = |k: usize| match k {
            _ if k == 0 || 2 * k == n => Complex::from(half[k].re),
            _ if 2 * k < n => half[k],
            _ => half[n - k].conj(),
        };
        let whole: Vec<_> = (0..n).map(element).collect();
        let sums = defined(&whole, 1.0);
        let expected: Vec<_> = sums.iter().map(|sum| sum / n as f64).collect();
        assert!(is_near(&y.irfft(n).to_vec().unwrap(), &expected), "{n}");
    }
}

#[test]
fn lines_are_transformed_along_each_axis_on_threads_and_ranks() {
    let found = everywhere(|| -> Result<_, Error> {
        let a = some::<Complex<f64>, 3>([5, 6, 7]);
        let lines = [0, 1, 2].map(|axis| a.fft_axis(axis));
        // As each line alone.
        assert_eq!(
            bits(&lines[1].index_axis(2, 3).row(4).to_vec()?),
            bits(&a.index_axis(2, 3).row(4).fft().to_vec()?)
        );
        let matrix = some::<f32, 2>([9, 16]);
        let view = matrix.slice((.., 2..)).t();
        let both = view.fft2();
        assert_eq!(
            bits(&both.to_vec()?),
            bits(&view.fft_axis(1).fft_axis(0).to_vec()?)
        );
        // Of an even number and of an odd one.
        let halves = [matrix.rfft_axis(1), matrix.slice((..5, ..)).rfft_axis(0)];
        let wholes = [halves[0].irfft_axis(1, 16), halves[1].irfft_axis(0, 5)];
        assert_eq!(matrix.rfft_axis(0).shape(), [5, 16]);
        assert_eq!(matrix.rfft_axis(0).irfft_axis(0, 9).shape(), [9, 16]);
        let lines: Result<Vec<_>, Error> = lines.iter().map(|lines| lines.to_vec()).collect();
        let [first, second] = halves.map(|half| half.to_vec().map(|half| bits(&half)));
        let [third, fourth] = wholes.map(|whole| whole.to_vec().map(|whole| bits(&whole)));
        let real = (first?, second?, third?, fourth?);
        Ok((lines?.concat(), both.to_vec()?, real))
    });
    assert_eq!(found.0.len(), 3 * 5 * 6 * 7);
}

#[test]
fn all_axes_are_transformed_one_after_the_other() {
    let found = everywhere(|| -> Result<_, Error> {
        let a = some::<Complex<f64>, 4>([3, 2, 5, 4]);
        let whole = a.fftn();
        let expected = a.fft_axis(3).fft_axis(2).fft_axis(1).fft_axis(0);
        assert_eq!(bits(&whole.to_vec()?), bits(&expected.to_vec()?));
        assert!(is_near(&whole.ifftn().to_vec()?, &a.to_vec()?));
        let x = some::<f32, 3>([4, 3, 7]);
        let (half, of_x) = (x.rfftn(), x.fftn());
        assert_eq!(half.shape(), [4, 3, 4]);
        let wide: Vec<_> = of_x.cast::<Complex<f64>>().slice((.., .., ..4)).to_vec()?;
        assert!(is_near(&half.to_vec()?, &wide));
        let back = half.irfftn(7);
        let wide: Vec<_> = x.cast::<Complex<f64>>().to_vec()?;
        assert!(is_near(&back.to_vec()?, &wide));
        // Of a matrix and a vector they are those of two axes and of one.
        let (matrix, line) = (x.index_axis(1, 1), x.index_axis(1, 1).row(2));
        assert_eq!(
            bits(&matrix.fftn().to_vec()?),
            bits(&matrix.fft2().to_vec()?)
        );
        assert_eq!(
            bits(&matrix.ifftn().to_vec()?),
            bits(&matrix.ifft2().to_vec()?)
        );
        assert_eq!(bits(&line.fftn().to_vec()?), bits(&line.fft().to_vec()?));
        assert_eq!(bits(&line.rfftn().to_vec()?), bits(&line.rfft().to_vec()?));
        let (half, n) = (line.rfft(), line.len());
        assert_eq!(
            bits(&half.irfftn(n).to_vec()?),
            bits(&half.irfft(n).to_vec()?)
        );
        Ok((bits(&whole.to_vec()?), bits(&back.to_vec()?)))
    });
    assert_eq!(found.0.len(), 3 * 2 * 5 * 4);
}

/// `np.fft.fftfreq`, `np.fft.rfftfreq`, `np.fft.fftshift` and `np.fft.ifftshift`.
#[test]
fn frequencies_and_their_order() {
    everywhere(|| -> Result<_, Error> {
        let even = Vector::<f64>::fftfreq(6, 0.5);
        let third = 1.0 / 3.0;
        let expected = [0.0, third, 2.0 * third, -1.0, -2.0 * third, -third];
        assert_eq!(even.to_vec()?, expected);
        assert_eq!(
            Vector::<f64>::fftfreq(5, 0.1).to_vec()?,
            [0.0, 2.0, 4.0, -4.0, -2.0]
        );
        assert_eq!(Vector::<f32>::fftfreq(1, 1.0).to_vec()?, [0.0]);
        assert_eq!(Vector::<f64>::fftfreq(2, 1.0).to_vec()?, [0.0, -0.5]);
        let half = Vector::<f64>::rfftfreq(6, 0.5);
        assert_eq!(half.to_vec()?, [0.0, third, 2.0 * third, 1.0]);
        assert_eq!(Vector::<f64>::rfftfreq(5, 0.1).to_vec()?, [0.0, 2.0, 4.0]);
        let sorted = even.fftshift();
        assert_eq!(bits(&sorted.to_vec()?), bits(&even.sort().to_vec()?));
        assert_eq!(
            Vector::<i64>::arange(5).ifftshift().to_vec()?,
            [2, 3, 4, 0, 1]
        );
        let a = some::<f64, 3>([4, 5, 1]);
        let moved = a.fftshift();
        assert_eq!(
            bits(&moved.to_vec()?),
            bits(&a.roll(0, 2).roll(1, 2).to_vec()?)
        );
        assert_eq!(bits(&moved.ifftshift().to_vec()?), bits(&a.to_vec()?));
        assert!(a.slice((..0, .., ..)).fftshift().is_empty());
        let mask = Vector::from_vec(vec![true, false, false]);
        assert_eq!(mask.fftshift().to_vec()?, [false, true, false]);
        Ok(bits(&sorted.to_vec()?))
    });
    let error = Vector::<f64>::try_fftfreq(0, 1.0).unwrap_err().to_string();
    let expected = "fftfreq: expected elements at a distance other than 0, found 0 at 1";
    assert_eq!(error, expected);
    assert!(Vector::<f64>::try_rfftfreq(3, 0.0).is_err());
}

fn convolutions<T: Field>(n: usize, m: usize) {
    let (x, y) = (some::<T, 1>([n]), some::<T, 1>([m]));
    for overlap in [Overlap::Full, Overlap::Same, Overlap::Valid] {
        let found = everywhere(|| {
            let (x, y) = (some::<T, 1>([n]), some::<T, 1>([m]));
            Ok(bits(&x.fft_convolve(&y, overlap).to_vec()?))
        });
        let found: Vec<T> = found.iter().filter_map(|value| value.get()).collect();
        let sums = x.convolve(&y, overlap).cast::<Complex<f64>>();
        assert!(
            is_near(&found, &sums.to_vec().unwrap()),
            "{n} {m} {overlap:?}"
        );
    }
}

#[test]
fn convolutions_by_transforms_are_sums_of_products() {
    for (n, m) in [(1, 1), (5, 90), (64, 1), (40, 40)] {
        convolutions::<f64>(n, m);
    }
    convolutions::<f32>(60, 50);
    convolutions::<Complex<f64>>(30, 50);
    convolutions::<Complex<f32>>(30, 50);
    let x = Vector::<f64>::ones([3]);
    assert!(x.try_fft_convolve(&x.slice(..0), Overlap::Full).is_err());
}

#[test]
fn what_cannot_be_transformed_is_refused() {
    let error = Vector::<f64>::zeros([0]).try_fft().unwrap_err().to_string();
    assert_eq!(
        error,
        "fft_axis: expected at least 1 elements along axis 0, found 0"
    );
    let error = Array::<f64, 2>::ones([3, 3])
        .try_fft_axis(2)
        .unwrap_err()
        .to_string();
    assert_eq!(error, "fft_axis: expected an axis below 2, found 2");
    assert!(
        Array::<f64, 2>::zeros([0, 4])
            .fft_axis(1)
            .to_vec()
            .unwrap()
            .is_empty()
    );
}

/// Of an even number of elements the last one of half of a transform is real, and sums of large
/// parts are not infinite.
#[test]
fn the_highest_frequency_is_real() {
    for n in [2, 4, 6, 10, 64, 1000] {
        let x = Vector::from_vec((0..n).map(number).collect());
        let y = x.rfft().to_vec().unwrap();
        assert_eq!(y[n / 2].im.to_bits(), 0, "{n}");
    }
    let y = Vector::from_vec(vec![1e308, -1e308])
        .rfft()
        .to_vec()
        .unwrap();
    assert_eq!(y[0], Complex::ZERO);
}

/// Transforms of `n` elements are those of the first ones, or of these and zeros, and `irfft` too
/// goes on with zeros.
fn lengths<T: Field>() {
    everywhere(|| -> Result<_, Error> {
        let x = some::<T, 2>([6, 7]);
        for (axis, n) in [(0, 4), (0, 9), (1, 7), (1, 1), (1, 16), (0, 6)] {
            let mut widths = [(0, 0); 2];
            widths[axis].1 = n;
            let padded = x.pad(widths, Padding::Constant(T::ZERO));
            let cut = padded.split(axis, &[n]).swap_remove(0);
            let (found, expected) = (
                x.fft_axis_of(axis, n, FftNorm::Backward),
                cut.fft_axis(axis),
            );
            assert_eq!(bits(&found.to_vec()?), bits(&expected.to_vec()?));
            let found = x.ifft_axis_of(axis, n, FftNorm::Backward);
            let expected = cut.ifft_axis(axis);
            assert_eq!(bits(&found.to_vec()?), bits(&expected.to_vec()?));
            // As many as the result needs.
            let (found, expected) = (x.irfft_axis(axis, n), cut.irfft_axis(axis, n));
            assert_eq!(bits(&found.to_vec()?), bits(&expected.to_vec()?));
        }
        Ok(bits(&x.t().fft_axis_of(1, 9, FftNorm::Ortho).to_vec()?))
    });
}

#[test]
fn transforms_of_a_given_length_pad_or_cut() {
    lengths::<f64>();
    lengths::<f32>();
    lengths::<Complex<f64>>();
    everywhere(|| -> Result<_, Error> {
        let x = some::<f64, 1>([11]);
        for n in [1, 2, 5, 8, 11, 12, 16, 31] {
            let whole = x.rfft_of(n, FftNorm::Backward);
            let expected = x.fft_of(n, FftNorm::Backward).slice(..n / 2 + 1);
            assert!(is_near(&whole.to_vec()?, &expected.to_vec()?), "{n}");
        }
        let none = Vector::<f64>::zeros([0]);
        assert_eq!(none.fft_of(3, FftNorm::Ortho).re().to_vec()?, [0.0; 3]);
        assert_eq!(none.irfft(4).to_vec()?, [0.0; 4]);
        Ok(bits(&x.rfft_of(8, FftNorm::Ortho).to_vec()?))
    });
    let error = Vector::<f64>::ones([3]).try_fft_of(0, FftNorm::Ortho);
    let expected = "fft_of: expected at least 1 elements along axis 0, found 0";
    assert_eq!(error.unwrap_err().to_string(), expected);
    assert!(
        Array::<f64, 2>::ones([3, 3])
            .try_rfftn_of([3, 0], FftNorm::Ortho)
            .is_err()
    );
    assert!(
        Array::<f64, 2>::ones([3, 3])
            .try_fft_axis_of(2, 3, FftNorm::Ortho)
            .is_err()
    );
}

/// A transform and its inverse by one norm are inverse to each other, and each is a multiple of
/// the one that is divided otherwise.
#[test]
fn norms_of_transforms() {
    let found = everywhere(|| -> Result<_, Error> {
        let x = some::<f64, 2>([5, 8]);
        let shape = x.shape();
        let wide: Vec<_> = x.cast::<Complex<f64>>().to_vec()?;
        let mut found = Vec::new();
        for (norm, factor) in [
            (FftNorm::Backward, 1.0),
            (FftNorm::Ortho, 1.0 / 40_f64.sqrt()),
            (FftNorm::Forward, 1.0 / 40.0),
        ] {
            let (y, half) = (x.fftn_of(shape, norm), x.rfftn_of(shape, norm));
            let expected = (x.fftn() * Complex::from(factor)).to_vec()?;
            assert!(is_near(&y.to_vec()?, &expected), "{norm:?}");
            let columns = y.slice((.., ..5)).to_vec()?;
            assert!(is_near(&half.to_vec()?, &columns), "{norm:?}");
            assert!(
                is_near(&y.ifftn_of(shape, norm).to_vec()?, &wide),
                "{norm:?}"
            );
            let back = half.irfftn_of(shape, norm);
            assert!(is_near(&back.to_vec()?, &wide), "{norm:?}");
            for n in [5, 8] {
                let line = x.row(3);
                let half = line.rfft_of(n, norm);
                let back = half.irfft_of(n, norm);
                assert!(is_near(&back.to_vec()?, &wide[24..24 + n]), "{norm:?} {n}");
                let back = line.fft_of(n, norm).ifft_of(n, norm);
                assert!(is_near(&back.to_vec()?, &wide[24..24 + n]), "{norm:?} {n}");
            }
            found.push((bits(&half.to_vec()?), bits(&back.to_vec()?)));
        }
        Ok(found)
    });
    assert_eq!(found.len(), 3);
}

/// The sum that defines a cosine transform, and one with `k + 1` a sine transform.
fn waves(x: &[f64], of: fn(f64) -> f64, more: usize) -> Vec<f64> {
    let n = x.len();
    let turn = |j: usize, k: usize| (k + more) * (2 * j + 1) % (4 * n);
    let angle = |j: usize, k: usize| TAU * turn(j, k) as f64 / (4 * n) as f64;
    let term = |j: usize, k: usize| 2.0 * x[j] * of(angle(j, k));
    let sum = |k: usize| (0..n).map(|j| term(j, k)).sum();
    (0..n).map(sum).collect()
}

fn cosines_and_sines<T: Real>() {
    for n in [1, 2, 3, 8, 21, 64] {
        let found = everywhere(|| -> Result<_, Error> {
            let x = some::<T, 1>([n]);
            let wide: Vec<f64> = x.to_vec()?.into_iter().map(Real::to_f64).collect();
            let size = wide.iter().map(|x| x.abs()).sum::<f64>() + 1.0;
            let is_near =
                |found: &Vector<T>, expected: &[f64], scale: f64| -> Result<bool, Error> {
                    let found = found.to_vec()?;
                    let limit = 8.0 * size * T::EPSILON.to_f64();
                    let near = |(found, x): (&T, &f64)| (found.to_f64() - x * scale).abs() < limit;
                    Ok(found.len() == n && found.iter().zip(expected).all(near))
                };
            let mut bits_of = Vec::new();
            let scales = [1.0, 1.0 / (2.0 * n as f64).sqrt(), 0.5 / n as f64];
            let norms = [FftNorm::Backward, FftNorm::Ortho, FftNorm::Forward];
            for (norm, scale) in norms.into_iter().zip(scales) {
                let (cosines, sines) = (x.dct(norm), x.dst(norm));
                let mut expected = waves(&wide, f64::cos, 0);
                let mut of_sines = waves(&wide, f64::sin, 1);
                if norm == FftNorm::Ortho {
                    expected[0] /= 2_f64.sqrt();
                    of_sines[n - 1] /= 2_f64.sqrt();
                }
                assert!(is_near(&cosines, &expected, scale)?, "{n} {norm:?}");
                assert!(is_near(&sines, &of_sines, scale)?, "{n} {norm:?}");
                assert!(is_near(&cosines.idct(norm), &wide, 1.0)?, "{n} {norm:?}");
                assert!(is_near(&sines.idst(norm), &wide, 1.0)?, "{n} {norm:?}");
                bits_of.push((bits(&cosines.to_vec()?), bits(&sines.to_vec()?)));
            }
            Ok(bits_of)
        });
        assert_eq!(found.len(), 3);
    }
}

#[test]
fn cosine_and_sine_transforms() {
    cosines_and_sines::<f64>();
    cosines_and_sines::<f32>();
    everywhere(|| -> Result<_, Error> {
        let a = some::<f64, 3>([4, 5, 6]);
        for axis in 0..3 {
            let found = a.dct_axis(axis, FftNorm::Ortho).move_axis(axis, 2);
            let line = a.move_axis(axis, 2).index_axis(0, 1).row(2);
            let expected = line.dct(FftNorm::Ortho);
            assert_eq!(
                bits(&found.index_axis(0, 1).row(2).to_vec()?),
                bits(&expected.to_vec()?)
            );
            let back = a
                .dst_axis(axis, FftNorm::Forward)
                .idst_axis(axis, FftNorm::Forward);
            assert!((back - &a).norm_inf().get()? < 1e-14);
        }
        Ok(bits(&a.dst_axis(1, FftNorm::Backward).to_vec()?))
    });
    let none = Vector::<f64>::zeros([0]);
    assert!(none.try_dct(FftNorm::Ortho).is_err() && none.try_idst(FftNorm::Ortho).is_err());
    assert!(none.try_dct_axis(1, FftNorm::Ortho).is_err());
}

/// More lines than are transformed side by side, and than fill a panel, along each axis.
#[test]
fn many_lines_have_the_bits_of_each_alone() {
    everywhere(|| -> Result<_, Error> {
        let a = some::<f64, 3>([6, 10, 37]);
        let whole = a.fft_axis(1);
        let half = a.rfft_axis(1);
        let back = half.irfft_axis(1, 10);
        for (i, j) in [(0, 0), (2, 15), (5, 31), (3, 36)] {
            let line = a.index_axis(0, i).column(j);
            let of = |y: &Array<Complex<f64>, 3>| y.index_axis(0, i).column(j).to_vec();
            assert_eq!(bits(&of(&whole)?), bits(&line.fft().to_vec()?));
            assert_eq!(bits(&of(&half)?), bits(&line.rfft().to_vec()?));
            let back = back.index_axis(0, i).column(j).to_vec()?;
            assert_eq!(bits(&back), bits(&line.rfft().irfft(10).to_vec()?));
        }
        // Padded, cut, of an odd length, and of lines that lie as a view has them.
        let first = a.index_axis(1, 0);
        let of_more = first.fft_axis_of(0, 9, FftNorm::Ortho);
        let line = first.column(20).fft_of(9, FftNorm::Ortho);
        assert_eq!(bits(&of_more.column(20).to_vec()?), bits(&line.to_vec()?));
        let turned = first.t().irfft_axis_of(1, 7, FftNorm::Backward);
        let line = first.column(36).irfft_of(7, FftNorm::Backward);
        assert_eq!(bits(&turned.row(36).to_vec()?), bits(&line.to_vec()?));
        let shifted = a.fftshift();
        assert_eq!(
            bits(&shifted.to_vec()?),
            bits(&a.roll(0, 3).roll(1, 5).roll(2, 18).to_vec()?)
        );
        assert_eq!(bits(&shifted.ifftshift().to_vec()?), bits(&a.to_vec()?));
        let none = Array::<f64, 2>::zeros([0, 4]);
        assert_eq!(
            (none.fft_axis(1).shape(), none.fftshift().shape()),
            ([0, 4], [0, 4])
        );
        whole.to_vec()
    });
}

/// Long lines that are no neighbours in memory, which threads share: fewer of them than fill a
/// panel for each, and more.
#[test]
fn long_lines_of_the_first_axis_have_the_bits_of_each_alone() {
    everywhere(|| -> Result<_, Error> {
        let mut all = Vec::new();
        for (n, columns) in [(3000, 5), (250, 70)] {
            let a = some::<f64, 2>([n, columns]);
            let (whole, half) = (a.fft_axis(0), a.rfft_axis(0));
            for column in [0, 1, 4, columns - 1] {
                let line = a.column(column);
                let found = [whole.column(column), half.column(column)];
                for (found, expected) in found.iter().zip([line.fft(), line.rfft()]) {
                    assert_eq!(bits(&found.to_vec()?), bits(&expected.to_vec()?));
                }
            }
            all.extend(bits(&whole.to_vec()?));
        }
        Ok(all)
    });
}
