//! Random numbers that are no function of one uniform or normal number: whole numbers,
//! permutations, and what is found by trying.
//!
//! As all random numbers here they depend on the seed and the index of the element alone.

use crate::array::{Array, Vector};
use crate::operand::check_len;
use crate::twins::twins;
use sparsefuse_kernels::isa::Computation;
use sparsefuse_kernels::{Element, Real, random};
use sparsefuse_runtime::{Error, HostArgs, Runtime, Shape};
use std::ops::Range;

twins! {
    @ "If the range is empty, has more than 2^53 numbers, or memory cannot hold the shape.";
    [const D: usize] Array<i64, D>;
    /// Whole numbers, each as probable as any other, of `n` numbers up to the part `n / 2^53` of
    /// that: NumPy's `Generator.integers(low, high)`. Tasks that fuse.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let dice = Vector::random_integers([1000], 1..7, 1);
    /// assert_eq!((dice.min().get()?, dice.max().get()?), (1, 6));
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    random_integers try_random_integers(shape: [usize; D], range: Range<i64>, seed: u64) -> Self {
        const OP: &str = "random_integers";
        const MOST: i64 = 1 << 53;
        let n = range.end.checked_sub(range.start);
        let Some(n) = n.filter(|n| (1..=MOST).contains(n)) else {
            let expected = "a range of at least one and at most 2^53 numbers";
            return Err(Error::argument(OP, expected, format!("{range:?}")));
        };
        let uniform = Array::<f64, D>::try_random_uniform(shape, seed)?;
        let number = uniform.try_mul(n as f64)?.try_floor()?.try_cast::<i64>()?;
        number.try_add(range.start)
    }
}

twins! {
    constructors [] Vector<i64>;
    /// 0, 1 … `n - 1` in random order, each order as probable as any other: NumPy's
    /// `Generator.permutation(n)`. A sample without repetition is the beginning of a permutation,
    /// one with repetition is `x.take(&Vector::random_integers(..))`. A sort.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let order = Vector::random_permutation(100, 1);
    /// assert_eq!(order.sort().to_vec()?, Vector::<i64>::arange(100).to_vec()?);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    random_permutation try_random_permutation(n: usize, seed: u64) -> Self {
        Ok(Vector::<f64>::try_random_uniform([n], seed)?.argsort())
    }
}

twins! {
    constructors [T: Real, const D: usize] Array<T, D>;
    /// Random numbers with the density `exp(-x)`: NumPy's `Generator.standard_exponential`. Tasks
    /// that fuse.
    random_exponential try_random_exponential(shape: [usize; D], seed: u64) -> Self {
        Self::try_random_uniform(shape, seed)?.try_neg()?.try_ln_1p()?.try_neg()
    }
}

twins! {
    @ "If `k` is not a finite number from 0, or memory cannot hold the shape.";
    [T: Real, const D: usize] Array<T, D>;
    /// Random numbers with the density `x^(k-1) exp(-x) / gamma(k)`: NumPy's
    /// `Generator.standard_gamma(k)`. By the method of G. Marsaglia and W. W. Tsang, *A Simple
    /// Method for Generating Gamma Variables* (2000). One task, which is not fused.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::<f64>::random_gamma([10000], 3.0, 1);
    /// assert!((x.mean().get()? - 3.0).abs() < 0.1 && (x.var().get()? - 3.0).abs() < 0.2);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    random_gamma try_random_gamma(shape: [usize; D], k: f64, seed: u64) -> Self {
        const OP: &str = "random_gamma";
        check_rate(OP, k)?;
        drawn(OP, shape, Gamma { k, seed })
    }
}

twins! {
    @ "If `mean` is not a number from 0 to 1e15, or memory cannot hold the shape.";
    [const D: usize] Array<i64, D>;
    /// Counts of events of which there are `mean` in the mean, independent of each other: NumPy's
    /// `Generator.poisson(mean)`. By the product of uniform numbers for small means, else by the
    /// method of W. Hörmann, *The transformed rejection method for generating Poisson random
    /// variables* (1993). One task, which is not fused.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let counts = Vector::random_poisson([10000], 20.0, 1).cast::<f64>();
    /// assert!((counts.mean().get()? - 20.0).abs() < 0.2 && (counts.var().get()? - 20.0).abs() < 1.0);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    random_poisson try_random_poisson(shape: [usize; D], mean: f64, seed: u64) -> Self {
        const OP: &str = "random_poisson";
        check_rate(OP, mean)?;
        if mean > 1e15 {
            return Err(Error::argument(OP, "a mean of at most 1e15", mean.to_string()));
        }
        drawn(OP, shape, Poisson { mean, seed })
    }
}

fn check_rate(op: &'static str, number: f64) -> Result<(), Error> {
    match number >= 0.0 && number.is_finite() {
        true => Ok(()),
        false => Err(Error::argument(op, "a number from 0", number.to_string())),
    }
}

/// A random number for each index. Inlined, with all that it calls, into loops that are compiled
/// for the instruction set.
trait Draw<T>: Copy + Send + Sync + 'static {
    fn at(self, index: u64) -> T;
}

#[derive(Clone, Copy)]
struct Gamma {
    k: f64,
    seed: u64,
}

impl<T: Real> Draw<T> for Gamma {
    #[inline(always)]
    fn at(self, index: u64) -> T {
        T::from_f64(random::gamma(self.k, self.seed, index))
    }
}

#[derive(Clone, Copy)]
struct Poisson {
    mean: f64,
    seed: u64,
}

impl Draw<i64> for Poisson {
    #[inline(always)]
    fn at(self, index: u64) -> i64 {
        random::poisson(self.mean, self.seed, index) as i64
    }
}

/// The numbers of neighbouring indices.
struct Draws<'a, T, D> {
    draw: D,
    first: u64,
    made: &'a mut [T],
}

impl<T, D: Draw<T>> Computation for Draws<'_, T, D> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (index, made) in (self.first..).zip(self.made) {
            *made = self.draw.at(index);
        }
    }
}

/// An array of which each element is a function of its index in the order of rows.
fn drawn<T: Element, const D: usize>(
    op: &'static str,
    shape: [usize; D],
    draw: impl Draw<T>,
) -> Result<Array<T, D>, Error> {
    let dims = Shape::new(&shape);
    check_len(op, dims)?;
    let runtime = Runtime::current();
    let isa = runtime.config().isa;
    let row_len: usize = shape.iter().skip(1).product();
    let function = move |args: &mut HostArgs<'_>| {
        let first_row = args.rows().start;
        let own = args.write::<T>(0)?;
        args.in_parts(own, 1, |first, made| {
            let first = (first_row * row_len + first) as u64;
            isa.run(Draws { draw, first, made });
            Ok(())
        })
    };
    Array::made_by(op, &runtime, dims, &[], function)
}
