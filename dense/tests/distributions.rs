//! Random numbers that are no function of one uniform number: their distribution, and the same bits
//! everywhere.

#![expect(clippy::unwrap_used, reason = "a test fails where it panics")]

use sparsefuse_dense::{Array, Error, Vector};
use sparsefuse_testing::{bits, everywhere};

#[test]
fn they_depend_on_seed_and_index_alone() {
    let found = everywhere(|| -> Result<_, Error> {
        let matrix = Array::<f64, 2>::random_gamma([23, 5], 0.3, 7);
        let vector = Vector::<f64>::random_gamma([115], 0.3, 7);
        assert_eq!(bits(&matrix.to_vec()?), bits(&vector.to_vec()?));
        assert_ne!(
            vector.to_vec()?,
            Vector::<f64>::random_gamma([115], 0.3, 8).to_vec()?
        );
        Ok((
            bits(&vector.to_vec()?),
            bits(&Vector::<f32>::random_exponential([50], 1).to_vec()?),
            Vector::random_poisson([50], 3.0, 1).to_vec()?,
            Array::random_poisson([7, 9], 300.0, 1).to_vec()?,
            Vector::random_integers([50], -5..5, 1).to_vec()?,
            Vector::random_permutation(50, 1).to_vec()?,
        ))
    });
    let mut order = found.5;
    order.sort_unstable();
    assert_eq!(order, (0..50).collect::<Vec<_>>());
}

/// The sum of squared differences between counts and what is expected of them, divided by the
/// latter, and how many there are; expectations below 5 are joined.
fn chi_square(counts: &[i64], expected: impl Fn(i64) -> f64, n: f64) -> (f64, f64) {
    let most = counts.iter().copied().max().unwrap();
    let (mut sum, mut cells, mut seen, mut wanted) = (0.0, 0.0, 0.0, 0.0);
    for value in 0..=most {
        seen += counts.iter().filter(|&&count| count == value).count() as f64;
        wanted += n * expected(value);
        if wanted >= 5.0 {
            sum += (seen - wanted) * (seen - wanted) / wanted;
            cells += 1.0;
            (seen, wanted) = (0.0, 0.0);
        }
    }
    (sum, cells)
}

#[test]
fn counts_have_the_distribution_of_poisson() {
    // By products, and by rejection, with small and with large factorials.
    for (seed, mean) in (1..).zip([0.5, 4.0, 9.99, 10.0, 35.0, 1000.0]) {
        let n = 4000;
        let counts = Vector::random_poisson([n], mean, seed).to_vec().unwrap();
        let probability = |k: i64| {
            let terms = (1..=k).map(|i| (mean / i as f64).ln());
            (terms.sum::<f64>() - mean).exp()
        };
        let (sum, cells) = chi_square(&counts, probability, n as f64);
        // Five standard deviations of chi square.
        assert!(
            sum < cells + 5.0 * (2.0 * cells).sqrt(),
            "{mean}: {sum} of {cells}"
        );
    }
}

#[test]
fn means_and_variances() {
    for k in [0.2, 1.0, 2.5, 40.0] {
        let x = Vector::<f64>::random_gamma([20000], k, 3);
        let (mean, var) = (x.mean().get().unwrap(), x.var().get().unwrap());
        assert!((mean - k).abs() < 5.0 * (k / 20000.0).sqrt(), "{k}: {mean}");
        assert!((var / k - 1.0).abs() < 0.2, "{k}: {var}");
        assert!(x.min().get().unwrap() >= 0.0);
    }
    let x = Vector::<f64>::random_exponential([20000], 3);
    assert!((x.mean().get().unwrap() - 1.0).abs() < 0.05);
    assert!((x.var().get().unwrap() - 1.0).abs() < 0.1);
    let x = Vector::random_integers([20000], -2..3, 3);
    for value in -2..3 {
        let share = x.equal(value).count().get().unwrap() as f64 / 20000.0;
        assert!((share - 0.2).abs() < 0.02, "{value}: {share}");
    }
}

#[test]
fn what_is_no_distribution_is_refused() {
    let message = |made: Result<Vector<i64>, Error>| made.unwrap_err().to_string();
    assert_eq!(
        message(Vector::try_random_integers([3], 5..5, 1)),
        "random_integers: expected a range of at least one and at most 2^53 numbers, found 5..5"
    );
    assert!(message(Vector::try_random_integers([3], i64::MIN..i64::MAX, 1)).contains("2^53"));
    assert_eq!(
        message(Vector::try_random_poisson([3], -1.0, 1)),
        "random_poisson: expected a number from 0, found -1"
    );
    assert!(message(Vector::try_random_poisson([3], f64::NAN, 1)).contains("found NaN"));
    assert!(message(Vector::try_random_poisson([3], 1e18, 1)).contains("at most 1e15"));
    let none = Vector::try_random_poisson([3], 0.0, 1).unwrap();
    assert_eq!(none.to_vec().unwrap(), [0; 3]);
    let none = Vector::<f64>::try_random_gamma([3], 0.0, 1).unwrap();
    assert_eq!(none.to_vec().unwrap(), [0.0; 3]);
    let error = Vector::<f64>::try_random_gamma([3], -0.5, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "random_gamma: expected a number from 0, found -0.5"
    );
    assert!(
        Vector::random_permutation(0, 1)
            .to_vec()
            .unwrap()
            .is_empty()
    );
}

/// Element 19 351 156 of this stream is nearer to 1 than any other number of single precision.
#[test]
fn numbers_in_single_precision_are_below_1() {
    let n = 19_351_157;
    let x = Vector::<f32>::random_uniform([n], 1);
    assert_eq!(
        x.slice(n - 1..).to_vec().unwrap(),
        [1.0 - f32::EPSILON / 2.0]
    );
    assert!(x.max().get().unwrap() < 1.0);
    let largest = Vector::<f32>::random_exponential([n], 1).max();
    assert!(largest.get().unwrap() < 17.0);
}

/// Probabilities of numbers near a large mean are not left over from terms that cancel.
#[test]
fn counts_with_a_very_large_mean_have_its_variance() {
    for mean in [1e10, 7e14] {
        let counts = Vector::random_poisson([20_000], mean, 3).to_vec().unwrap();
        let squares = counts.iter().map(|&count| (count as f64 - mean).powi(2));
        let variance = squares.sum::<f64>() / counts.len() as f64;
        assert!(
            (variance / mean - 1.0).abs() < 0.06,
            "{mean:e}: {variance:e}"
        );
    }
}
