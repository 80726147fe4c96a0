//! The inner products of many vectors with many: the product of two matrices, whose rows and
//! columns they are, without making them.
//!
//! A product is a host task on all of the vectors, at the speed of a product of matrices. The order
//! of summation depends on the length of the vectors alone: the elements are divided into leaves of
//! [`LEAF`] neighbours; a leaf has a chain of fused multiply-adds for each pair, and the leaves are
//! joined by a binary tree, as the tiles of a reduction are ([`sparsefuse_kernels::reduce`]). Ranks
//! and threads have whole leaves, so the bits do not depend on how many there are.

use crate::array::Vector;
use crate::operand::expect;
use sparsefuse_kernels::matmul::{self, Matrix};
use sparsefuse_kernels::{Field, Isa};
use sparsefuse_runtime::{Deferred, Error, HostArgs, Shape, StoreHandle, reserve};
use std::borrow::Cow;
use std::ops::Range;

const OP: &str = "inner_products";

/// Elements of a vector that are multiplied together: those of all vectors stay in a cache.
const LEAF: usize = 256;

impl<T: Field> Vector<T> {
    /// For each y its inner products `x_0.dot(y), x_1.dot(y), ...` with the xs. One task, which is
    /// not fused, for all of them: those of `m` vectors with `n` of `len` elements take `2 * m * n
    /// * len` floating-point operations, at the speed of [`Array::matmul`], and each vector is read
    /// once. Where there are few on either side, [`Array::dots`] fuses.
    ///
    /// The sums are in another order than those of [`Array::dot`], so their last digits may differ:
    /// the same order for any number of ranks and threads.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let [x, y, z] = [1.0, 2.0, 3.0].map(|value| Vector::full([2], value));
    /// let products = Vector::inner_products(&[&x, &y], &[&x, &y, &z]);
    /// assert_eq!(products.get()?, [[2.0, 4.0], [4.0, 8.0], [6.0, 12.0]]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Vector::try_inner_products`] returns.
    ///
    /// [`Array::matmul`]: crate::Array::matmul
    /// [`Array::dot`]: crate::Array::dot
    /// [`Array::dots`]: crate::Array::dots
    #[track_caller]
    pub fn inner_products(xs: &[&Self], ys: &[&Self]) -> Deferred<Vec<Vec<T>>> {
        expect(Self::try_inner_products(xs, ys))
    }

    /// As [`Vector::inner_products`].
    ///
    /// # Errors
    ///
    /// If there is no x or no y, or lengths differ; where the result is asked for, if memory runs
    /// out.
    pub fn try_inner_products(xs: &[&Self], ys: &[&Self]) -> Result<Deferred<Vec<Vec<T>>>, Error> {
        products(xs, ys, false)
    }

    /// As [`Vector::inner_products`], where the matrix of the products is Hermitian, as that of
    /// some vectors with their images is: of each y those with the xs up to its own place, which
    /// are half of them and take half of the time.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let [x, y] = [1.0, 2.0].map(|value| Vector::full([2], value));
    /// let products = Vector::hermitian_products(&[&x, &y], &[&x, &y]);
    /// assert_eq!(products.get()?, [vec![2.0], vec![4.0, 8.0]]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// With the error that [`Vector::try_hermitian_products`] returns.
    #[track_caller]
    pub fn hermitian_products(xs: &[&Self], ys: &[&Self]) -> Deferred<Vec<Vec<T>>> {
        expect(Self::try_hermitian_products(xs, ys))
    }

    /// As [`Vector::hermitian_products`].
    ///
    /// # Errors
    ///
    /// As [`Vector::try_inner_products`], or if there are not as many xs as ys.
    pub fn try_hermitian_products(
        xs: &[&Self],
        ys: &[&Self],
    ) -> Result<Deferred<Vec<Vec<T>>>, Error> {
        if xs.len() != ys.len() {
            let expected = format!("as many xs as ys, which are {}", ys.len());
            return Err(Error::argument(OP, expected, xs.len().to_string()));
        }
        products(xs, ys, true)
    }
}

fn products<T: Field>(
    xs: &[&Vector<T>],
    ys: &[&Vector<T>],
    is_hermitian: bool,
) -> Result<Deferred<Vec<Vec<T>>>, Error> {
    let (Some(first), false) = (xs.first(), ys.is_empty()) else {
        return Err(Error::argument(OP, "an x and a y or more", "none"));
    };
    for x in xs.iter().chain(ys) {
        if x.len() != first.len() {
            let shape = |x: &Vector<T>| Shape::new(&[x.len()]);
            return Err(Error::shape(OP, shape(first), shape(x)));
        }
    }
    let runtime = first.runtime();
    let config = runtime.config();
    let products = Products {
        n_xs: xs.len(),
        n_ys: ys.len(),
        is_hermitian,
        leaf: LEAF.min(config.tile_len),
        isa: config.isa,
        parallel_threshold: config.parallel_threshold,
    };
    // Ranks hold whole elements of stores, which are those of the vector only if it is no view.
    let vectors = xs.iter().chain(ys).map(|x| x.contiguous());
    let vectors = vectors.collect::<Result<Vec<_>, Error>>()?;
    let stores: Vec<&StoreHandle> = vectors.iter().map(|x| x.store()).collect();
    let ones = vec![T::ONE; products.len()];
    let planned = move |_: &_| Ok(products.rows(&ones));
    runtime.submit_deferred(OP, &stores, planned, move |args| {
        let sums = products.run::<T>(args)?;
        Ok(products.rows(&sums))
    })
}

/// What the function of the task knows.
#[derive(Clone, Copy)]
struct Products {
    n_xs: usize,
    n_ys: usize,
    /// Whether products with the xs behind the place of a y are not wanted.
    is_hermitian: bool,
    /// The elements of a leaf.
    leaf: usize,
    isa: Isa,
    /// Products of elements below which a rank's own thread is alone.
    parallel_threshold: usize,
}

impl Products {
    /// The number of products, wanted or not.
    fn len(&self) -> usize {
        self.n_xs * self.n_ys
    }

    /// Of all products, for each y one after the other, those that are wanted.
    fn rows<T: Field>(&self, sums: &[T]) -> Vec<Vec<T>> {
        let rows = sums.chunks_exact(self.n_xs).enumerate();
        let wanted = |number: usize| match self.is_hermitian {
            true => number + 1,
            false => self.n_xs,
        };
        rows.map(|(number, row)| row[..wanted(number)].to_vec())
            .collect()
    }

    fn run<T: Field>(&self, args: &HostArgs<'_>) -> Result<Vec<T>, Error> {
        let n_vectors = self.n_xs + self.n_ys;
        let cuts = (0..n_vectors).find_map(|number| args.cuts(number));
        let at_leaves = cuts.map(|cuts| self.at_leaves(cuts));
        let vectors =
            (0..n_vectors).map(|number| args.read_between(number, 1, at_leaves.as_deref()));
        let vectors: Vec<Cow<'_, [T]>> = vectors.collect::<Result<_, _>>()?;
        let first = at_leaves.as_ref().map_or(0, |cuts| cuts[args.rank()]);
        let n_leaves = vectors[0].len().div_ceil(self.leaf);
        let work = vectors[0].len().saturating_mul(self.len());
        let n_parts = match work < self.parallel_threshold {
            true => 1,
            false => args.threads().min(n_leaves).max(1),
        };
        let mut forests: Vec<Forest<T>> = (0..n_parts).map(|_| Forest::default()).collect();
        let ends: Vec<usize> = (1..=n_parts).collect();
        args.in_parts_to(&mut forests, &ends, |part, forest| {
            let [begin, end] = [part, part + 1].map(|part| n_leaves * part / n_parts);
            self.leaves(&vectors, first / self.leaf, begin..end, &mut forest[0])
        })?;
        let mut forests = forests.into_iter();
        let mut forest = forests.next().unwrap_or_default();
        forests.for_each(|next| forest.join(next));
        match at_leaves {
            Some(_) => self.over_ranks(args, forest),
            None => Ok(forest.finish(self.len())),
        }
    }

    /// The cuts at whole leaves that are nearest behind those of the vectors.
    fn at_leaves(&self, cuts: &[usize]) -> Vec<usize> {
        let n = cuts[cuts.len() - 1];
        let moved = |cut: &usize| cut.next_multiple_of(self.leaf).min(n);
        cuts.iter().map(moved).collect()
    }

    /// Puts the sums of some leaves of a rank into a forest; its first leaf has the number `first`.
    fn leaves<T: Field>(
        &self,
        vectors: &[Cow<'_, [T]>],
        first: usize,
        leaves: Range<usize>,
        forest: &mut Forest<T>,
    ) -> Result<(), Error> {
        let (xs, ys) = vectors.split_at(self.n_xs);
        let most = self.leaf.min(vectors[0].len());
        // The last leaf may have fewer elements.
        let lens = [most, vectors[0].len() % self.leaf];
        let workspace =
            lens.map(|len| matmul::workspace::<T>(self.isa, [self.n_ys, self.n_xs, len]));
        let mut workspace = zeros(workspace[0].max(workspace[1]))?;
        let mut of_xs = zeros(self.n_xs * most)?;
        let mut of_ys = zeros(self.n_ys * most)?;
        let mut sums = zeros(self.len())?;
        for leaf in leaves {
            let begin = leaf * self.leaf;
            let len = self.leaf.min(vectors[0].len() - begin);
            for (row, x) in of_xs.chunks_exact_mut(len).zip(xs) {
                let x = &x[begin..begin + len];
                match T::IS_COMPLEX {
                    true => row
                        .iter_mut()
                        .zip(x)
                        .for_each(|(to, x)| *to = x.conjugate()),
                    false => row.copy_from_slice(x),
                }
            }
            for (row, y) in of_ys.chunks_exact_mut(len).zip(ys) {
                row.copy_from_slice(&y[begin..begin + len]);
            }
            let of_ys = Matrix::of_rows(&of_ys[..self.n_ys * len], [self.n_ys, len]);
            let of_xs = Matrix {
                elements: &of_xs[..self.n_xs * len],
                first: 0,
                strides: [1, len as isize],
                shape: [len, self.n_xs],
            };
            match self.is_hermitian {
                true => matmul::to_diagonal(self.isa, (of_ys, 0), of_xs, &mut sums, &mut workspace),
                false => matmul::product(self.isa, of_ys, of_xs, &mut sums, &mut workspace),
            }
            forest.push_leaf((first + leaf) as u64, &sums)?;
        }
        Ok(())
    }

    /// Joins the forests of all ranks, in their order, along a tree.
    fn over_ranks<T: Field>(
        &self,
        args: &HostArgs<'_>,
        forest: Forest<T>,
    ) -> Result<Vec<T>, Error> {
        let send = |to: usize, forest: &Forest<T>| {
            args.send(to, &forest.numbers())?;
            args.send(to, &forest.sums())
        };
        let receive = |from: usize| {
            let numbers = args.receive(from)?;
            let sums = args.receive(from)?;
            Ok(Forest::of_parts(&numbers, &sums, self.len()))
        };
        let join = |mut first: Forest<T>, behind| {
            first.join(behind);
            Ok(first)
        };
        let whole = args.reduce_to_first(forest, send, receive, join)?;
        args.broadcast(whole.map(|forest| forest.finish(self.len())))
    }
}

fn zeros<T: Field>(len: usize) -> Result<Vec<T>, Error> {
    let mut elements = reserve(len)?;
    elements.resize(len, T::ZERO);
    Ok(elements)
}

/// The sums over some neighbouring leaves as the maximal aligned subtrees, ascending: a
/// [`Forest`](sparsefuse_kernels::reduce::Forest) of many sums at a time.
struct Forest<T> {
    trees: Vec<Tree<T>>,
    /// Memory of trees that have become part of others.
    spare: Vec<Vec<T>>,
}

/// The sums over `2^level` leaves, or fewer at the end.
struct Tree<T> {
    level: u64,
    node: u64,
    sums: Vec<T>,
}

impl<T> Default for Forest<T> {
    fn default() -> Self {
        Self {
            trees: Vec::new(),
            spare: Vec::new(),
        }
    }
}

impl<T: Field> Forest<T> {
    /// Appends a leaf, which is the next one.
    fn push_leaf(&mut self, node: u64, sums: &[T]) -> Result<(), Error> {
        let mut own = match self.spare.pop() {
            Some(spare) => spare,
            None => zeros(sums.len())?,
        };
        own.copy_from_slice(sums);
        self.push(Tree {
            level: 0,
            node,
            sums: own,
        });
        Ok(())
    }

    fn push(&mut self, mut tree: Tree<T>) {
        while let Some(mut last) = self.trees.pop() {
            let are_siblings =
                last.level == tree.level && last.node % 2 == 0 && last.node + 1 == tree.node;
            if !are_siblings {
                self.trees.push(last);
                break;
            }
            add(&mut last.sums, &tree.sums);
            last.level += 1;
            last.node /= 2;
            self.spare.push(tree.sums);
            tree = last;
        }
        self.trees.push(tree);
    }

    /// Appends the leaves of another forest, which are the next ones.
    fn join(&mut self, next: Self) {
        next.trees.into_iter().for_each(|tree| self.push(tree));
    }

    /// Level and node of each tree, one after the other.
    fn numbers(&self) -> Vec<u64> {
        let trees = self.trees.iter();
        trees.flat_map(|tree| [tree.level, tree.node]).collect()
    }

    /// The sums of each tree, one after the other.
    fn sums(&self) -> Vec<T> {
        let trees = self.trees.iter();
        trees.flat_map(|tree| tree.sums.iter().copied()).collect()
    }

    /// The forest with these numbers and sums, `len` in each tree.
    fn of_parts(numbers: &[u64], sums: &[T], len: usize) -> Self {
        let trees = numbers.chunks_exact(2).zip(sums.chunks_exact(len));
        let tree = |(numbers, sums): (&[u64], &[T])| Tree {
            level: numbers[0],
            node: numbers[1],
            sums: sums.to_vec(),
        };
        Self {
            trees: trees.map(tree).collect(),
            spare: Vec::new(),
        }
    }

    /// The sums of all leaves, which the forest covers: `len` zeros of none.
    fn finish(mut self, len: usize) -> Vec<T> {
        // Beyond the end there is nothing, so the remaining trees join from the right.
        let Some(last) = self.trees.pop() else {
            return vec![T::ZERO; len];
        };
        let left = self.trees.into_iter().rev();
        left.fold(last.sums, |right, mut tree| {
            add(&mut tree.sums, &right);
            tree.sums
        })
    }
}

fn add<T: Field>(left: &mut [T], right: &[T]) {
    for (left, right) in left.iter_mut().zip(right) {
        *left += *right;
    }
}
