//! Convolutions and correlations of vectors, by sums of products in order.
//!
//! Of two vectors the shorter one has the weights: element `j` is the sum of
//! `weights[k] * x[j - k]`, from zero, by ascending `k`; each product is rounded, and then added.
//! At each end fewer weights have an element; nothing stands for what is missing, so an infinity
//! there makes no NaN.
//!
//! On one rank one task computes them, [`BLOCK`] sums at a time, which stay in registers. On
//! several, where none has all elements, the middle is made of slices, which fuse to few passes
//! over memory.

use crate::array::{Array, Vector};
use crate::operand::{check_len, named};
use crate::twins::twins;
use sparsefuse_kernels::Numeric;
use sparsefuse_kernels::isa::Computation;
use sparsefuse_runtime::{Access, Error, HostArgs, Shape};
use std::array;
use std::ops::Range;

/// Sums that are made side by side: as many numbers of 8 bytes as half of the registers of AVX2
/// hold.
const BLOCK: usize = 32;

/// Which elements of a convolution of `n` and `m` elements are wanted: where the vectors overlap
/// how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overlap {
    /// All, wherever an element of each meets one of the other: `n + m - 1`.
    Full,
    /// Those in the middle, as many as the longer vector has.
    Same,
    /// Those where the shorter vector lies within the longer one: the lengths' difference and one
    /// more.
    Valid,
}

twins! {
    @ "If a vector has no element, or they belong to two runtimes.";
    [T: Numeric] Vector<T>;
    /// The convolution: element `j` of all is the sum of `self[i] * other[j - i]`. NumPy's
    /// `convolve`, whose `mode` is an [`Overlap`].
    ///
    /// As many products as both lengths multiplied: for a short one beside a long one. Of two long
    /// ones [`Vector::fft_convolve`] is faster. One task on one rank; on several about six for each
    /// element of the shorter vector, most of which fuse.
    ///
    /// ```
    /// use sparsefuse_dense::{Overlap, Vector};
    ///
    /// let x = Vector::from_vec(vec![1, 2, 3, 4]);
    /// let weights = Vector::from_vec(vec![1, 10]);
    /// assert_eq!(x.convolve(&weights, Overlap::Full).to_vec()?, [1, 12, 23, 34, 40]);
    /// assert_eq!(x.convolve(&weights, Overlap::Same).to_vec()?, [1, 12, 23, 34]);
    /// assert_eq!(x.convolve(&weights, Overlap::Valid).to_vec()?, [12, 23, 34]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    convolve try_convolve(&self, other: &Self, overlap: Overlap) -> Self {
        const OP: &str = "convolve";
        let wanted = overlap.wanted(OP, self.len(), other.len())?;
        named(OP, || sums(self, other, wanted))
    }

    /// The correlation: element `j` of all is the sum of `self[i + j - (m - 1)] * conj(other[i])`,
    /// where `other` has `m` elements: the [convolution](Vector::convolve) with the conjugate of
    /// `other` turned round. NumPy's `correlate`.
    ///
    /// ```
    /// use sparsefuse_dense::{Overlap, Vector};
    ///
    /// let x = Vector::from_vec(vec![1, 2, 3]);
    /// let y = Vector::from_vec(vec![1, 10]);
    /// assert_eq!(x.correlate(&y, Overlap::Valid).to_vec()?, [21, 32]);
    /// assert_eq!(x.correlate(&y, Overlap::Full).to_vec()?, [10, 21, 32, 3]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    correlate try_correlate(&self, other: &Self, overlap: Overlap) -> Self {
        const OP: &str = "correlate";
        let (n, m) = (self.len(), other.len());
        let mut wanted = overlap.wanted(OP, n, m)?;
        if n < m {
            // NumPy correlates the longer one with the shorter one, and turns the result round.
            let all = n + m - 1;
            wanted = all - wanted.end..all - wanted.start;
        }
        named(OP, || sums(self, &other.try_conj()?.try_flip(0)?, wanted))
    }
}

impl Overlap {
    /// The elements that are wanted among all.
    pub(crate) fn wanted(
        self,
        op: &'static str,
        n: usize,
        m: usize,
    ) -> Result<Range<usize>, Error> {
        if n == 0 || m == 0 {
            let found = format!("{n} and {m}");
            return Err(Error::argument(op, "two vectors with elements", found));
        }
        let (longer, shorter) = (n.max(m), n.min(m));
        Ok(match self {
            Self::Full => 0..n + m - 1,
            Self::Same => (shorter - 1) / 2..(shorter - 1) / 2 + longer,
            Self::Valid => shorter - 1..longer,
        })
    }
}

/// Some elements of the convolution.
fn sums<T: Numeric>(
    a: &Vector<T>,
    b: &Vector<T>,
    wanted: Range<usize>,
) -> Result<Vector<T>, Error> {
    let (x, weights) = if a.len() < b.len() { (b, a) } else { (a, b) };
    // What is smaller is copied, where it is a view that is read again and again.
    let weights = &weights.contiguous()?;
    match x.runtime().ranks() {
        1 => sums_here(x, weights, wanted),
        _ => sums_of_slices(x, weights, wanted),
    }
}

/// The same by one task, which has all elements.
fn sums_here<T: Numeric>(
    x: &Vector<T>,
    weights: &Vector<T>,
    wanted: Range<usize>,
) -> Result<Vector<T>, Error> {
    const OP: &str = "convolve";
    let runtime = x.runtime();
    let shape = Shape::new(&[wanted.len()]);
    check_len(OP, shape)?;
    let config = runtime.config();
    let (isa, threshold) = (config.isa, config.parallel_threshold);
    let x = x.contiguous()?;
    let function = move |args: &mut HostArgs<'_>| {
        let (x, weights) = (args.read::<T>(0)?, args.read::<T>(1)?);
        let made = args.write::<T>(2)?;
        let (n, work) = (made.len(), made.len().saturating_mul(weights.len()));
        let parts = if work < threshold { 1 } else { args.threads() };
        let ends: Vec<usize> = (1..=parts).map(|part| n * part / parts).collect();
        args.in_parts_to(made, &ends, |part, made| {
            let first = wanted.start + n * part / parts;
            isa.run(Sums {
                x,
                weights,
                first,
                made,
            });
            Ok(())
        })
    };
    let reads = [(x.store(), Access::Held), (weights.store(), Access::Held)];
    Array::made_by(OP, runtime, shape, &reads, function)
}

/// Neighbouring elements of the convolution, from number `first`.
struct Sums<'a, T> {
    x: &'a [T],
    weights: &'a [T],
    first: usize,
    made: &'a mut [T],
}

impl<T: Numeric> Computation for Sums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let blocks = self.made.chunks_mut(BLOCK);
        for (first, made) in (self.first..).step_by(BLOCK).zip(blocks) {
            let sums = block_of_sums(self.x, self.weights, first);
            made.copy_from_slice(&sums[..made.len()]);
        }
    }
}

/// The elements from number `first`; of those that there are not, sums of nothing.
#[inline(always)]
fn block_of_sums<T: Numeric>(x: &[T], weights: &[T], first: usize) -> [T; BLOCK] {
    let begin = (first + 1).saturating_sub(x.len());
    let end = weights.len().min(first + BLOCK);
    // The weights in the middle have an element of `x` for all of the sums.
    let whole = (first + BLOCK).saturating_sub(x.len()).clamp(begin, end);
    let rest = (first + 1).clamp(whole, end);
    let mut sums = [T::ZERO; BLOCK];
    add_to_some(x, weights, first, begin..whole, &mut sums);
    if whole < rest {
        let x = &x[first + 1 - rest..first - whole + BLOCK];
        sums = added_to_all(x, &weights[whole..rest], sums);
    }
    add_to_some(x, weights, first, rest..end, &mut sums);
    sums
}

/// Adds what some weights bring to those sums for which they have an element of `x`.
#[inline(always)]
fn add_to_some<T: Numeric>(
    x: &[T],
    weights: &[T],
    first: usize,
    numbers: Range<usize>,
    sums: &mut [T; BLOCK],
) {
    for k in numbers {
        let (from, to) = (k.saturating_sub(first), (x.len() + k - first).min(BLOCK));
        if from < to {
            let x = &x[first + from - k..];
            for (sum, &x) in sums[from..to].iter_mut().zip(x) {
                *sum = sum.plus(x.times(weights[k]));
            }
        }
    }
}

/// The sums with what some weights bring to all of them. The first weight belongs to the last
/// elements.
#[inline(always)]
fn added_to_all<T: Numeric>(x: &[T], weights: &[T], mut sums: [T; BLOCK]) -> [T; BLOCK] {
    for (x, &weight) in x.windows(BLOCK).rev().zip(weights) {
        let x = &x.as_chunks::<BLOCK>().0[0];
        // A new array, and not one that is changed, stays in registers.
        sums = array::from_fn(|number| sums[number].plus(x[number].times(weight)));
    }
    sums
}

/// The same of slices, on any number of ranks.
fn sums_of_slices<T: Numeric>(
    x: &Vector<T>,
    weights: &Vector<T>,
    wanted: Range<usize>,
) -> Result<Vector<T>, Error> {
    let (n, m) = (x.len(), weights.len());
    // Where each part begins among all elements, and its elements.
    let parts = [
        (0, first(x, weights)?),
        (m - 1, middle(x, weights)?),
        (n, last(x, weights)?),
    ];
    let mut made = Vec::with_capacity(parts.len());
    for (begin, part) in &parts {
        let end = begin + part.len();
        let from = wanted.start.clamp(*begin, end);
        let to = wanted.end.clamp(*begin, end);
        if from < to {
            made.push(part.try_slice(from - begin..to - begin)?);
        }
    }
    match &made[..] {
        [one] => Ok(one.clone()),
        _ => Vector::try_concatenate(0, &made.iter().collect::<Vec<_>>()),
    }
}

/// The elements for which all weights have one of `x`.
fn middle<T: Numeric>(x: &Vector<T>, weights: &Vector<T>) -> Result<Vector<T>, Error> {
    let (n, m) = (x.len(), weights.len());
    let mut sum = zeros(x, n + 1 - m)?;
    for k in 0..m {
        let slice = x.try_slice(m - 1 - k..n - k)?;
        sum = sum.try_add(&slice.try_mul(&weights.try_slice(k..=k)?)?)?;
    }
    Ok(sum)
}

/// The elements before those: element `j` has the weights up to `j`.
fn first<T: Numeric>(x: &Vector<T>, weights: &Vector<T>) -> Result<Vector<T>, Error> {
    let m = weights.len();
    let mut sums = zeros(x, m - 1)?;
    for k in 0..m - 1 {
        let products = x
            .try_slice(..m - 1 - k)?
            .try_mul(&weights.try_slice(k..=k)?)?;
        sums.try_update_slice(k.., |sums| sums.try_add(&products))?;
    }
    Ok(sums)
}

/// The elements behind those: element `j` of these has the weights behind `j`.
fn last<T: Numeric>(x: &Vector<T>, weights: &Vector<T>) -> Result<Vector<T>, Error> {
    let (n, m) = (x.len(), weights.len());
    let mut sums = zeros(x, m - 1)?;
    for k in 1..m {
        let products = x.try_slice(n - k..)?.try_mul(&weights.try_slice(k..=k)?)?;
        sums.try_update_slice(..k, |sums| sums.try_add(&products))?;
    }
    Ok(sums)
}

fn zeros<T: Numeric>(x: &Vector<T>, n: usize) -> Result<Vector<T>, Error> {
    x.runtime().enter(|| Vector::try_zeros([n]))
}
