//! Vectors as sets: which elements others have too, and the distinct elements of two vectors.
//!
//! Elements are looked up in a table; the rest is array code over sorts and masks. As in NumPy, a
//! NaN is in no set, not even in its own, but [`Vector::unique`] leaves one of them.

use crate::array::{Array, Vector};
use crate::operand::{expect, named};
use crate::sort::key_of_equals;
use sparsefuse_kernels::Numeric;
use sparsefuse_runtime::{Access, Error, HostArgs, reserve, try_collect};

impl<T: Numeric + PartialOrd, const D: usize> Array<T, D> {
    /// Whether each element is one of some values; a NaN is not, and -0 is 0. NumPy's `isin`. One
    /// task, which is not fused: every rank reads all values, into a table with a bit for each
    /// number of their range, if that is no large one, else one of twice as many numbers as values.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let x = Vector::from_vec(vec![1, 2, 3, 2]);
    /// let values = Vector::from_vec(vec![5, 2, 1]);
    /// assert_eq!(x.is_in(&values).to_vec()?, [true, true, false, true]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the arrays belong to two runtimes; [`Array::try_is_in`] returns the error.
    #[doc(alias("isin", "in1d", "contains"))]
    #[must_use]
    #[track_caller]
    pub fn is_in<const E: usize>(&self, values: &Array<T, E>) -> Array<bool, D> {
        expect(self.try_is_in(values))
    }

    /// As [`Array::is_in`].
    ///
    /// # Errors
    ///
    /// If the arrays belong to two runtimes.
    pub fn try_is_in<const E: usize>(&self, values: &Array<T, E>) -> Result<Array<bool, D>, Error> {
        const X: usize = 0;
        const VALUES: usize = 1;
        const MADE: usize = 2;
        named("is_in", || {
            let (x, values) = (self.contiguous()?, values.contiguous()?);
            let function = move |args: &mut HostArgs<'_>| {
                let (x, values) = (args.read::<T>(X)?, args.read::<T>(VALUES)?);
                let made = args.write::<bool>(MADE)?;
                let mut keys = reserve(values.len())?;
                keys.extend(values.iter().filter_map(|&value| key_of_number(value)));
                let table = Table::of(keys, x.len())?;
                args.in_parts(made, 1, |first, part| {
                    for (made, &x) in part.iter_mut().zip(&x[first..]) {
                        *made = key_of_number(x).is_some_and(|key| table.contains(key));
                    }
                    Ok(())
                })
            };
            let reads = [(x.store(), Access::Rows), (values.store(), Access::Whole)];
            Array::made_by("is_in", self.runtime(), x.arg().shape(), &reads, function)
        })
    }
}

/// The key of an element that is no NaN.
#[inline(always)]
fn key_of_number<T: Numeric + PartialOrd>(x: T) -> Option<u64> {
    let is_number = x.partial_cmp(&x).is_some();
    is_number.then(|| key_of_equals(x))
}

/// Some keys, to be looked up.
enum Table {
    /// Words with a bit for each key from `first` on.
    Bits { first: u64, words: Vec<u64> },
    /// A power of two of places, most of them empty. A key lies at its [`place`] or behind it,
    /// before the next empty one.
    Places {
        keys: Vec<u64>,
        shift: u32,
        /// Whether the key that stands for an empty place is one of them.
        has_empty: bool,
    },
}

/// What stands at an empty place.
const EMPTY: u64 = u64::MAX;
/// How many bits for each key and each that is looked up are worth while.
const BITS: usize = 32;

/// Where a key belongs: the first bits of a product with 2^64 divided by the golden ratio, which
/// spreads multiples evenly (D. Knuth, *The Art of Computer Programming*, volume 3, section 6.4);
/// those of large powers of two too, since the halves of the key are mixed before.
#[inline(always)]
fn place(key: u64, shift: u32) -> usize {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    ((key ^ key >> 32).wrapping_mul(FACTOR) >> shift) as usize
}

impl Table {
    /// The table of some keys, in which `n` elements are going to be looked up.
    fn of(keys: Vec<u64>, n: usize) -> Result<Self, Error> {
        let first = keys.iter().copied().min().unwrap_or(0);
        let last = keys.iter().copied().max().unwrap_or(0);
        if last - first < (BITS * (keys.len() + n)) as u64 {
            let n_words = ((last - first) / 64 + 1) as usize;
            let mut words = reserve(n_words)?;
            words.resize(n_words, 0);
            for key in keys {
                let bit = key - first;
                words[(bit / 64) as usize] |= 1 << (bit % 64);
            }
            return Ok(Self::Bits { first, words });
        }
        let n_places = (2 * keys.len()).next_power_of_two().max(2);
        let shift = u64::BITS - n_places.trailing_zeros();
        let mut table = try_collect((0..n_places).map(|_| EMPTY))?;
        let has_empty = keys.contains(&EMPTY);
        for key in keys {
            let mut place = place(key, shift);
            while ![key, EMPTY].contains(&table[place]) {
                place = (place + 1) % n_places;
            }
            table[place] = key;
        }
        Ok(Self::Places {
            keys: table,
            shift,
            has_empty,
        })
    }

    #[inline(always)]
    fn contains(&self, key: u64) -> bool {
        match self {
            Self::Bits { first, words } => {
                let bit = key.wrapping_sub(*first);
                let word = words.get((bit / 64) as usize);
                word.is_some_and(|word| word >> (bit % 64) & 1 != 0)
            }
            Self::Places {
                keys,
                shift,
                has_empty,
            } => {
                let mut place = place(key, *shift);
                loop {
                    let found = keys[place & (keys.len() - 1)];
                    if found == key {
                        return key != EMPTY || *has_empty;
                    }
                    if found == EMPTY {
                        return false;
                    }
                    place += 1;
                }
            }
        }
    }
}

impl<T: Numeric + PartialOrd> Vector<T> {
    /// The distinct elements that both vectors have, in ascending order; no NaN. NumPy's
    /// `intersect1d`. [`Vector::unique`] of this vector, [`Array::is_in`] the other and
    /// [`Array::compress`]; waits for the number of elements.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let (x, y) = (Vector::from_vec(vec![3, 1, 3, 2]), Vector::from_vec(vec![5, 3, 2]));
    /// assert_eq!(x.intersection(&y)?.to_vec()?, [2, 3]);
    /// assert_eq!(x.union(&y)?.to_vec()?, [1, 2, 3, 5]);
    /// assert_eq!(x.set_difference(&y)?.to_vec()?, [1]);
    /// assert_eq!(x.symmetric_difference(&y)?.to_vec()?, [1, 5]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the computation of a vector failed, or they belong to two runtimes.
    #[doc(alias = "intersect1d")]
    pub fn intersection(&self, other: &Self) -> Result<Self, Error> {
        named("intersection", || {
            let distinct = self.unique()?;
            distinct.compress(&distinct.try_is_in(other)?)
        })
    }

    /// The distinct elements that one of two vectors has, in ascending order; of all NaN one.
    /// NumPy's `union1d`. [`Vector::unique`] of both, one behind the other; waits for the number of
    /// elements.
    ///
    /// # Errors
    ///
    /// As [`Vector::intersection`].
    #[doc(alias = "union1d")]
    pub fn union(&self, other: &Self) -> Result<Self, Error> {
        named("union", || {
            Self::try_concatenate(0, &[self, other])?.unique()
        })
    }

    /// The distinct elements that the other vector has not, in ascending order; of all NaN one,
    /// whatever the other has. NumPy's `setdiff1d`. Costs as much as [`Vector::intersection`].
    ///
    /// # Errors
    ///
    /// As [`Vector::intersection`].
    #[doc(alias = "setdiff1d")]
    pub fn set_difference(&self, other: &Self) -> Result<Self, Error> {
        named("set_difference", || {
            let distinct = self.unique()?;
            distinct.compress(&distinct.try_is_in(other)?.try_not()?)
        })
    }

    /// The distinct elements that one vector has and the other has not, in ascending order; a NaN
    /// for each vector that has one. NumPy's `setxor1d`. Both differences, one behind the other and
    /// sorted.
    ///
    /// # Errors
    ///
    /// As [`Vector::intersection`].
    #[doc(alias = "setxor1d")]
    pub fn symmetric_difference(&self, other: &Self) -> Result<Self, Error> {
        named("symmetric_difference", || {
            let (of_self, of_other) = (self.set_difference(other)?, other.set_difference(self)?);
            Self::try_concatenate(0, &[&of_self, &of_other])?.try_sort_axis(0)
        })
    }
}
