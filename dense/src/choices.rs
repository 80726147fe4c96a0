//! Random choices among what an array has, and random orders of it.

use crate::array::{Array, Vector};
use crate::operand::{expect, named};
use crate::twins::twins;
use crate::views::check_axes;
use sparsefuse_kernels::{Element, Real};
use sparsefuse_runtime::{Error, Shape};

twins! {
    @ "If there is no element to choose from, or memory cannot hold the shape.";
    [T: Element] Vector<T>;
    /// `n` elements of the vector, each chosen at random from all, so that one may come several
    /// times: NumPy's `Generator.choice(x, n)`. Without repetition it is
    /// `x.random_shuffle(0, seed).slice(..n)`. Tasks that fuse, and a gather.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![2.0, 3.0, 5.0]);
    /// let chosen = x.random_choice(1000, 1);
    /// assert!((chosen.equal(5.0).count().get()? - 333).abs() < 60);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("choice", "sample"))]
    random_choice try_random_choice(&self, n: usize, seed: u64) -> Self {
        if self.is_empty() {
            return Err(Error::argument("random_choice", "an element or more", "none"));
        }
        let range = 0..self.len() as i64;
        let places = self.runtime().enter(|| Vector::try_random_integers([n], range, seed))?;
        self.try_take(&places)
    }
}

impl<T: Element> Vector<T> {
    /// As [`Vector::random_choice`], each element with a probability of its own: NumPy's
    /// `Generator.choice(x, n, p=weights)`. The weights need not have the sum 1; elements of weight
    /// 0 are not chosen, unless all have it. What is chosen by weights that are negative, infinite
    /// or not a number is not said. A running sum, a search and a gather.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![2, 3, 5]);
    /// let chosen = x.random_choice_weighted(&Vector::from_vec(vec![1.0, 0.0, 3.0]), 1000, 1);
    /// assert!((chosen.equal(5).count().get()? - 750).abs() < 60);
    /// assert_eq!(chosen.equal(3).count().get()?, 0);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Vector::try_random_choice_weighted`] returns.
    #[must_use]
    #[track_caller]
    pub fn random_choice_weighted<W: Real>(
        &self,
        weights: &Vector<W>,
        n: usize,
        seed: u64,
    ) -> Self {
        expect(self.try_random_choice_weighted(weights, n, seed))
    }

    /// As [`Vector::random_choice_weighted`].
    ///
    /// # Errors
    ///
    /// If there is no element, there are not as many weights, the vectors belong to two runtimes,
    /// or memory cannot hold the shape.
    pub fn try_random_choice_weighted<W: Real>(
        &self,
        weights: &Vector<W>,
        n: usize,
        seed: u64,
    ) -> Result<Self, Error> {
        const OP: &str = "random_choice_weighted";
        if self.is_empty() {
            return Err(Error::argument(OP, "an element or more", "none"));
        }
        if weights.len() != self.len() {
            let expected = Shape::new(&[self.len()]);
            return Err(Error::shape(OP, expected, weights.arg().shape()));
        }
        named(OP, || {
            let sums = weights.try_cast::<f64>()?.try_cumsum_axis(0)?;
            let uniform = self
                .runtime()
                .enter(|| Vector::<f64>::try_random_uniform([n], seed))?;
            let total = sums.try_slice(self.len() - 1..)?;
            let place = sums.try_searchsorted_right(&uniform.try_mul(&total.try_sum()?)?)?;
            // A product that is rounded up to the total belongs to the last element with a weight.
            let last = sums.try_searchsorted(&total)?.try_sum()?;
            self.try_take(&place.try_minimum(&last)?)
        })
    }
}

twins! {
    @ "If there is no such axis.";
    [T: Element, const D: usize] Array<T, D>;
    /// The slices along an axis in random order, each order as probable as any other: NumPy's
    /// `Generator.permutation(a, axis)`, and `shuffle`, which changes its array. A sort of random
    /// numbers, and a gather.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::<i64>::arange(100);
    /// let shuffled = x.random_shuffle(0, 1);
    /// assert_ne!(shuffled.to_vec()?, x.to_vec()?);
    /// assert_eq!(shuffled.sort().to_vec()?, x.to_vec()?);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    #[doc(alias("shuffle", "permutation"))]
    random_shuffle try_random_shuffle(&self, axis: usize, seed: u64) -> Self {
        check_axes::<D>("random_shuffle", [axis])?;
        let n = self.shape()[axis];
        let order = self.runtime().enter(|| Vector::try_random_permutation(n, seed))?;
        self.try_take_axis(axis, &order)
    }
}
