//! 7. A task that finds how much it makes: where a signal is far from its mean.

use sparsefuse::prelude::*;
use sparsefuse::runtime::{Deferred, Part};

/// The places of elements that differ from the mean by more than `factor` standard deviations.
///
/// Nothing waits here: mean and deviation are tasks of the window, which this one reads as stores.
pub(crate) fn outliers(x: &Vector<f64>, factor: f64) -> Result<Deferred<Vector<i64>>, Error> {
    let x = x.contiguous()?;
    let (mean, deviation) = (x.mean(), x.std());
    let reads = [x.store(), mean.store(), deviation.store()];
    // A plan, which computes nothing, goes on with one element.
    let planned = |runtime: &Runtime| Ok(Part::Own(runtime.room(1)?));
    let found = x
        .runtime()
        .submit_deferred("outliers", &reads, planned, move |args| {
            let of_element = |number| Ok::<f64, Error>(args.read::<f64>(number)?[0]);
            let (x, mean, deviation) = (args.read::<f64>(0)?, of_element(1)?, of_element(2)?);
            let is_far = |x: &f64| (x - mean).abs() > factor * deviation;
            // The elements of this rank: it finds those among them, and the others find theirs.
            let cuts = args.cuts(0);
            let first = cuts.map_or(0, |cuts| cuts[args.rank()]);
            let far = || (first..).zip(x).filter(|(_, x)| is_far(x));
            let mut places = args.room::<i64>(far().count())?;
            for (place, (far, _)) in places.iter_mut().zip(far()) {
                *place = far as i64;
            }
            Ok(match cuts {
                Some(_) => Part::Own(places),
                None => Part::All(places),
            })
        })?;
    // When the result is asked for, the ranks agree on how many each has found.
    Ok(found.then(|runtime, part| Vector::from_store(runtime.store_of_part(part)?, None)))
}

pub(crate) fn show() -> Result<String, Error> {
    let x = Vector::<f64>::random_normal([100_000], 3);
    let far = outliers(&x, 4.0)?;
    // In the same window.
    let energy = (&x * &x).sum();
    let (far, energy) = (far.get()?, energy.get()?);
    Ok(format!(
        "{} of 100000 normal numbers are beyond four deviations; the sum of squares is {energy:.0}",
        far.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::everywhere::everywhere;

    #[test]
    fn outliers_are_those_of_a_loop() -> Result<(), Error> {
        for (n, factor) in [(1, 1.0), (9, 1.0), (200, 1.5), (200, 9.0)] {
            let x = || Vector::<f64>::random_normal([n], 5);
            let found = everywhere(|| outliers(&x(), factor)?.get()?.to_vec())?;
            let (mean, deviation) = (x().mean().get()?, x().std().get()?);
            let all = x().to_vec()?;
            let far = |i: &i64| (all[*i as usize] - mean).abs() > factor * deviation;
            let expected: Vec<i64> = (0..n as i64).filter(far).collect();
            assert_eq!(found, expected, "{n} elements, {factor}");
        }
        Ok(())
    }

    #[test]
    fn two_searches_and_a_sum_are_one_window() -> Result<(), Error> {
        let runtime = Runtime::new(Config::default())?;
        runtime.enter(|| {
            let x = Vector::<f64>::random_normal([1000], 6);
            let (near, far) = (outliers(&x, 1.0)?, outliers(&x, 2.0)?);
            let sum = x.sum();
            let (near, far) = (near.get()?, far.get()?);
            assert!(far.len() < near.len());
            sum.get().map(|_| ())
        })?;
        assert_eq!(runtime.counters().windows, 1);
        Ok(())
    }
}
