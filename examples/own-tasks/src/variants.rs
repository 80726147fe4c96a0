//! 6. A task with two variants: running maxima in one pass, or in two that all threads share.

use sparsefuse::prelude::*;
use sparsefuse::runtime::{Access, HostArgs, HostBody, HostTask, Privilege};

/// The largest of each element and all before it.
///
/// The runtime takes the variant for one thread where the rank has one, where there are few
/// elements, and where other host tasks keep the other threads busy. Both have the same result.
pub(crate) fn running_maxima(x: &Vector<f64>) -> Result<Vector<f64>, Error> {
    let declared = [
        (Privilege::Read, Access::Rows, DType::F64),
        (Privilege::Write, Access::Rows, DType::F64),
    ];
    let body = HostBody::new("running_maxima", &declared);
    let task = HostTask::new(in_two_passes).with_serial(in_one_pass);
    let x = x.contiguous()?;
    let y = x.runtime().new_store(x.store().shape(), DType::F64);
    x.runtime().submit_host(&body, &[x.store(), &y], task)?;
    Vector::from_store(y, None)
}

fn in_one_pass(args: &mut HostArgs<'_>) -> Result<(), Error> {
    let (x, y) = (args.read(0)?, args.write(1)?);
    scan(x, y);
    let before = before(args, y)?;
    raise(y, before);
    Ok(())
}

/// Each part by itself, then each raised to what is before it: two passes, both on all threads.
fn in_two_passes(args: &mut HostArgs<'_>) -> Result<(), Error> {
    let (x, y) = (args.read::<f64>(0)?, args.write::<f64>(1)?);
    let (len, parts) = (y.len(), args.threads());
    let ends: Vec<usize> = (1..=parts).map(|part| len * part / parts).collect();
    let begin = |part: usize| if part == 0 { 0 } else { ends[part - 1] };
    args.in_parts_to(y, &ends, |part, y| {
        scan(&x[begin(part)..ends[part]], y);
        Ok(())
    })?;
    let mut largest = f64::NEG_INFINITY;
    let before_parts: Vec<f64> = (0..parts)
        .map(|part| {
            let before = largest;
            if let Some(&last) = y[begin(part)..ends[part]].last() {
                largest = largest.max(last);
            }
            before
        })
        .collect();
    // What other ranks wait for is known before the second pass.
    let before_rank = before(args, &[largest][..usize::from(len > 0)])?;
    args.in_parts_to(y, &ends, |part, y| {
        raise(y, before_parts[part].max(before_rank));
        Ok(())
    })
}

fn scan(x: &[f64], y: &mut [f64]) {
    let mut largest = f64::NEG_INFINITY;
    for (x, y) in x.iter().zip(y) {
        largest = largest.max(*x);
        *y = largest;
    }
}

/// Raises what ascends to at least `before`.
fn raise(y: &mut [f64], before: f64) {
    for y in y.iter_mut().take_while(|y| **y < before) {
        *y = before;
    }
}

/// The largest element on the ranks before this one, whose largest is the last of `y`: each rank
/// tells all others, so both variants send the same.
fn before(args: &HostArgs<'_>, y: &[f64]) -> Result<f64, Error> {
    let mine: Vec<f64> = y.last().copied().into_iter().collect();
    let of_all = args.all_to_all(&vec![mine; args.ranks()])?;
    let of_those_before = of_all[..args.rank()].iter().flatten();
    Ok(of_those_before.copied().fold(f64::NEG_INFINITY, f64::max))
}

pub(crate) fn show() -> Result<String, Error> {
    let x = Vector::<f64>::random_normal([1_000_000], 2);
    let last = running_maxima(&x)?.slice(999_999..).to_vec()?[0];
    Ok(format!(
        "the largest of a million normal numbers: {last:.3}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::everywhere::everywhere;

    fn expected(x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; x.len()];
        scan(x, &mut y);
        y
    }

    #[test]
    fn both_variants_are_a_loop() -> Result<(), Error> {
        // One element leaves ranks and threads without any.
        for n in [1, 2, 9, 200] {
            let x = || Vector::<f64>::random_normal([n], 4);
            let found = everywhere(|| running_maxima(&x())?.to_vec())?;
            assert_eq!(found, expected(&x().to_vec()?), "{n} elements");
        }
        Ok(())
    }

    #[test]
    fn tasks_beside_each_other_have_a_thread_each() -> Result<(), Error> {
        let found = everywhere(|| {
            let made = [1, 2, 3, 4].map(|seed| Vector::<f64>::random_normal([50], seed));
            let maxima = made.each_ref().map(running_maxima);
            let pairs = made.iter().zip(maxima);
            pairs
                .map(|(x, y)| Ok((x.to_vec()?, y?.to_vec()?)))
                .collect::<Result<Vec<_>, Error>>()
        })?;
        for (x, y) in found {
            assert_eq!(y, expected(&x));
        }
        Ok(())
    }
}
