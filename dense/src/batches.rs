//! Products of as many pairs of matrices: the last two axes of arrays.

use crate::array::Array;
use crate::operand::check_len;
use crate::twins::twins;
use sparsefuse_kernels::matmul::{self, Matrix};
use sparsefuse_kernels::{Isa, Numeric};
use sparsefuse_runtime::{Access, Error, HostArgs, Shape, reserve};
use std::borrow::Cow;

const OP: &str = "matmul";

/// The arguments of the task.
const A: usize = 0;
const B: usize = 1;
const MADE: usize = 2;

macro_rules! products {
    ($($d:literal)*) => {$(
        twins! {
            [T: Numeric] Array<T, $d>;
            /// The products of matrices, which are the last two axes; the axes before them
            /// broadcast: NumPy's `a @ b`. One task, which is not fused; elements are those of the
            /// product of two matrices, to the bit. The matrices are shared by threads and ranks,
            /// each being computed by one thread; where the other array has one matrix, so are the
            /// rows.
            ///
            /// ```
            /// use sparsefuse_dense::Array;
            ///
            /// let a = Array::<f64, 3>::from_fn([10, 2, 3], |[k, i, j]| (k + i + j) as f64);
            /// let b = Array::<f64, 3>::ones([10, 3, 4]);
            /// assert_eq!(a.matmul(&b).shape(), [10, 2, 4]);
            /// assert_eq!(a.matmul(&b.slice((..1, .., ..))).index_axis(0, 9).row(1).to_vec()?, [33.0; 4]);
            /// # Ok::<(), sparsefuse_dense::Error>(())
            /// ```
            #[doc(alias("@", "gemm", "batch"))]
            @ "If matrices of `other` have not as many rows as those of this array have columns, \
                the axes before the last two do not broadcast, memory cannot hold the result, or \
                the arrays belong to two runtimes."
            matmul try_matmul(&self, other: &Self) -> Self { products(self, other) }
        }
    )*};
}

products!(3 4);

fn products<T: Numeric, const D: usize>(
    a: &Array<T, D>,
    b: &Array<T, D>,
) -> Result<Array<T, D>, Error> {
    let (of_a, of_b) = (a.shape(), b.shape());
    let [rows, depth, columns] = [of_a[D - 2], of_a[D - 1], of_b[D - 1]];
    let mut shape = of_a;
    let mut fits = of_b[D - 2] == depth;
    for d in 0..D - 2 {
        shape[d] = if of_a[d] == 1 { of_b[d] } else { of_a[d] };
        fits &= of_b[d] == shape[d] || of_b[d] == 1;
    }
    if !fits {
        shape[D - 2..].copy_from_slice(&[depth, columns]);
        return Err(Error::shape(OP, Shape::new(&shape), Shape::new(&of_b)));
    }
    let with = |last: [usize; 2]| {
        let mut whole = shape;
        whole[D - 2..].copy_from_slice(&last);
        whole
    };
    let made = with([rows, columns]);
    check_len(OP, Shape::new(&made))?;
    let n: usize = shape[..D - 2].iter().product();
    if of_b[..D - 2].iter().all(|&len| len == 1) {
        let a: Array<T, 2> = a.try_reshape([n * rows, depth])?;
        return a
            .try_matmul(&b.try_reshape([depth, columns])?)?
            .try_reshape(made);
    }
    let of_products = &shape[..D - 2];
    let numbers = [
        Numbers::of(&of_a[..D - 2], of_products),
        Numbers::of(&of_b[..D - 2], of_products),
    ];
    let count = |of: [usize; D]| of[..D - 2].iter().product();
    let a: Array<T, 3> = a.try_reshape([count(of_a), rows, depth])?;
    let b: Array<T, 3> = b.try_reshape([count(of_b), depth, columns])?;
    pairs(&a, &b, numbers, n)?.try_reshape(made)
}

/// Which matrix of a factor belongs to a product: along an axis of length 1, the factor's is that
/// of all products.
#[derive(Clone, Copy)]
struct Numbers {
    /// Products along the last axis.
    inner: usize,
    /// How far the factor's matrix moves with a product along the outer axis, and the inner one.
    steps: [usize; 2],
    /// Whether products share matrices.
    is_shared: bool,
}

impl Numbers {
    /// For one or two axes of products.
    fn of(factor: &[usize], products: &[usize]) -> Self {
        let step = |axis: Option<usize>, step: usize| match axis {
            Some(axis) if factor[axis] > 1 => step,
            _ => 0,
        };
        let last = products.len() - 1;
        Self {
            inner: products[last].max(1),
            steps: [step(last.checked_sub(1), factor[last]), step(Some(last), 1)],
            is_shared: factor != products,
        }
    }

    fn of_product(self, product: usize) -> usize {
        let [outer, inner] = self.steps;
        product / self.inner * outer + product % self.inner * inner
    }
}

/// The products of `n` pairs of matrices, `m` by `k` and `k` by `l`.
fn pairs<T: Numeric>(
    a: &Array<T, 3>,
    b: &Array<T, 3>,
    numbers: [Numbers; 2],
    n: usize,
) -> Result<Array<T, 3>, Error> {
    let ([_, rows, depth], [_, _, columns]) = (a.shape(), b.shape());
    let runtime = a.runtime();
    let config = runtime.config();
    let pairs = Pairs {
        shape: [rows, columns, depth],
        numbers,
        isa: config.isa,
        parallel_threshold: config.parallel_threshold,
    };
    let (a, b) = (a.contiguous()?, b.contiguous()?);
    let access = |numbers: Numbers| match numbers.is_shared {
        true => Access::Whole,
        false => Access::Held,
    };
    let reads = [
        (a.store(), access(numbers[0])),
        (b.store(), access(numbers[1])),
    ];
    let shape = Shape::new(&[n, rows, columns]);
    let function = move |args: &mut HostArgs<'_>| pairs.run::<T>(args);
    Array::made_by("matmul_pairs", runtime, shape, &reads, function)
}

/// What the function of the task knows.
#[derive(Clone, Copy)]
struct Pairs {
    /// Rows, columns, and the length of the inner dimension, of each.
    shape: [usize; 3],
    /// Which matrices of either factor.
    numbers: [Numbers; 2],
    isa: Isa,
    /// Products of elements below which a rank's own thread is alone.
    parallel_threshold: usize,
}

impl Pairs {
    fn run<T: Numeric>(&self, args: &mut HostArgs<'_>) -> Result<(), Error> {
        let [rows, columns, depth] = self.shape;
        let made = args.write::<T>(MADE)?;
        // What products share is there as a whole; of anything else, what this rank makes.
        let before = args.cuts(MADE).map_or(0, |cuts| cuts[args.rank()]);
        let elements = |number: usize, len: usize| match self.numbers[number].is_shared {
            true => args.read::<T>(number).map(Cow::Borrowed),
            false => args.read_between::<T>(number, len, args.cuts(MADE)),
        };
        let a = elements(A, rows * depth)?;
        let b = elements(B, depth * columns)?;
        let place = |number: usize, product: usize| match self.numbers[number] {
            numbers if numbers.is_shared => numbers.of_product(before + product),
            _ => product,
        };
        let len = rows * columns;
        let n = made.len().checked_div(len).unwrap_or(0);
        let is_short = made.len().saturating_mul(depth) < self.parallel_threshold;
        let parts = if is_short {
            1
        } else {
            args.threads().min(n.max(1))
        };
        let ends: Vec<usize> = (1..=parts).map(|part| n * part / parts * len).collect();
        args.in_parts_to(made, &ends, |part, made| {
            let first = n * part / parts;
            let mut workspace = reserve(matmul::workspace::<T>(self.isa, self.shape))?;
            workspace.resize(workspace.capacity(), T::ZERO);
            for (number, made) in (first..).zip(made.chunks_exact_mut(len.max(1))) {
                let of_a = &a[place(A, number) * rows * depth..][..rows * depth];
                let a = Matrix::of_rows(of_a, [rows, depth]);
                let of_b = &b[place(B, number) * depth * columns..][..depth * columns];
                let b = Matrix::of_rows(of_b, [depth, columns]);
                matmul::product(self.isa, a, b, made, &mut workspace);
            }
            Ok(())
        })
    }
}
