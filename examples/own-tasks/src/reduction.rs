//! 4. A reduction into an array: a histogram, which reads each element once.

use sparsefuse::kernels::{ReduceOp, Symbols};
use sparsefuse::prelude::*;
use sparsefuse::runtime::{Access, Body, BodyArg, Shape};
use std::sync::{Arc, OnceLock};

/// How many bins there are: each is an argument of the kernel.
const BINS: usize = 8;

/// How many elements lie in each of [`BINS`] parts of `low..high`, which have equal lengths. NaNs
/// and elements outside are not counted.
pub(crate) fn histogram(x: &Vector<f64>, low: f64, high: f64) -> Result<Vector<i64>, Error> {
    let runtime = x.runtime();
    let counts = runtime.new_store(Shape::new(&[BINS]), DType::I64);
    let numbers = [low, (high - low) / BINS as f64].map(Element::to_value);
    runtime.submit(body(), &[x.arg(), (&counts).into()], &numbers)?;
    Vector::from_store(counts, None)
}

fn body() -> &'static Arc<Body> {
    static BODY: OnceLock<Arc<Body>> = OnceLock::new();
    BODY.get_or_init(|| {
        let symbols = Symbols::new();
        let x = symbols.array::<f64>();
        let (low, width) = (symbols.param::<f64>(), symbols.param::<f64>());
        let bin = ((x - low) / width).floor();
        for number in 0..BINS {
            let is_in = bin.equal(number as f64).cast::<i64>();
            symbols.reduce(ReduceOp::Sum, is_in);
        }
        // The elements of one vector are the arguments of the kernel from the second on.
        let args = vec![
            BodyArg::read(Access::Rows, 0),
            BodyArg::reduce_elements(ReduceOp::Sum, BINS as u32, 1),
        ];
        Body::with_args("histogram", symbols.finish(), args)
    })
}

pub(crate) fn show() -> Result<String, Error> {
    let x = Vector::random_normal([100_000], 1);
    Ok(format!(
        "normal numbers: {:?}",
        histogram(&x, -4.0, 4.0)?.to_vec()?
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::everywhere::{everywhere, fused_tasks};

    #[test]
    fn counts_are_those_of_a_loop() -> Result<(), Error> {
        let n = 1000;
        let made = || Vector::<f64>::random_uniform([n], 3).map(|x| 10.0 * x - 1.0);
        let found = everywhere(|| histogram(&made(), 0.0, 8.0)?.to_vec())?;
        let mut expected = vec![0; BINS];
        for x in made().to_vec()? {
            if (0.0..8.0).contains(&x) {
                expected[x as usize] += 1;
            }
        }
        assert_eq!(found, expected);
        Ok(())
    }

    #[test]
    fn it_fuses_with_what_makes_the_elements() -> Result<(), Error> {
        let fused = fused_tasks(|| {
            let x = Vector::<f64>::random_uniform([500], 3);
            let counts = histogram(&(&x * &x), 0.0, 1.0)?.to_vec()?;
            assert_eq!(counts.iter().sum::<i64>(), 500);
            Ok(())
        })?;
        assert_eq!(fused, 1);
        Ok(())
    }
}
