//! Sums of multiples of arrays, and inner products with several arrays.
//!
//! What `x += y * c` and `y.dot(&x)` do one array at a time, with the same bits, as one task for
//! up to [`MOST`] arrays: methods that keep a basis issue a handful of tasks a step. They are
//! PETSc's `VecMAXPY` and `VecMDot`.

use crate::array::Array;
use crate::twins::twins;
use sparsefuse_kernels::{
    ArgKind, BinaryOp, DType, Element, Field, Kernel, KernelBuilder, ReduceOp, UnaryOp, Value,
};
use sparsefuse_runtime::{Access, Body, BodyArg, Error, Privilege, Shape, StoreHandle, TaskArg};
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

/// The most arrays that one task takes besides the first.
const MOST: usize = 32;

/// A task on several arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Plus,
    Minus,
    Dots,
}

static BODIES: [OnceLock<Arc<Body>>; 3 * MOST * DType::ALL.len()] =
    [const { OnceLock::new() }; 3 * MOST * DType::ALL.len()];

/// Several elements that have perhaps not been computed yet: what [`Array::dots`] gives.
#[derive(Clone)]
pub struct Scalars<T> {
    /// Vectors, one after the other.
    stores: Vec<StoreHandle>,
    element: PhantomData<T>,
}

impl<T: Element> Scalars<T> {
    /// The values; executes what has been issued. Every rank must ask.
    ///
    /// # Errors
    ///
    /// If the computation of the elements failed.
    pub fn get(&self) -> Result<Vec<T>, Error> {
        let mut values = Vec::new();
        for store in &self.stores {
            values.append(&mut store.runtime().read_scalars(store)?);
        }
        Ok(values)
    }
}

impl<T> fmt::Debug for Scalars<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count: usize = self.stores.iter().map(|store| store.shape().len()).sum();
        write!(f, "Scalars({count})")
    }
}

twins! {
    @ "If shapes differ.";
    [T: Field, const D: usize] Array<T, D>;
    /// `self + c_0 x_0 + c_1 x_1 + ...`, added in this order; each product and each sum is rounded.
    /// One task for up to 32 terms, which reads each array once.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let [x, y, z] = [1.0, 2.0, 3.0].map(|value| Vector::full([2], value));
    /// assert_eq!(x.plus_multiples(&[(10.0, &y), (100.0, &z)]).to_vec()?, [321.0, 321.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    plus_multiples try_plus_multiples(&self, terms: &[(T, &Self)]) -> Self {
        self.combine("plus_multiples", Operation::Plus, terms)
    }

    /// `self - c_0 x_0 - c_1 x_1 - ...`, as [`Array::plus_multiples`].
    minus_multiples try_minus_multiples(&self, terms: &[(T, &Self)]) -> Self {
        self.combine("minus_multiples", Operation::Minus, terms)
    }

    /// The inner products `x_0.dot(self), x_1.dot(self), ...`. One task for up to 32 of them, which
    /// reads each array once and writes one store.
    ///
    /// ```
    /// use sparsefuse_dense::Vector;
    ///
    /// let [x, y, z] = [1.0, 2.0, 3.0].map(|value| Vector::full([2], value));
    /// assert_eq!(z.dots(&[&x, &y]).get()?, [6.0, 12.0]);
    /// # Ok::<(), sparsefuse_dense::Error>(())
    /// ```
    dots try_dots(&self, others: &[&Self]) -> Scalars<T> {
        for other in others {
            Error::check_shape("dots", &self.shape(), &other.shape())?;
        }
        let runtime = self.runtime();
        let mut stores = Vec::with_capacity(others.len().div_ceil(MOST));
        for others in others.chunks(MOST) {
            let store = runtime.new_store(Shape::new(&[others.len()]), T::DTYPE);
            let mut args = Vec::with_capacity(others.len() + 2);
            args.push(self.arg());
            args.extend(others.iter().map(|other| other.arg()));
            args.push(TaskArg::from(&store));
            let body = Operation::Dots.body(others.len(), T::DTYPE);
            runtime.submit(body, &args, &[])?;
            stores.push(store);
        }
        Ok(Scalars {
            stores,
            element: PhantomData,
        })
    }
}

impl<T: Field, const D: usize> Array<T, D> {
    fn combine(
        &self,
        op: &'static str,
        operation: Operation,
        terms: &[(T, &Self)],
    ) -> Result<Self, Error> {
        for (_, array) in terms {
            Error::check_shape(op, &self.shape(), &array.shape())?;
        }
        let runtime = self.runtime();
        let mut sum = self.clone();
        for terms in terms.chunks(MOST) {
            let store = runtime.new_store(sum.arg().shape(), T::DTYPE);
            let mut args = Vec::with_capacity(terms.len() + 2);
            args.push(sum.arg());
            args.extend(terms.iter().map(|(_, array)| array.arg()));
            args.push(TaskArg::from(&store));
            let params: Vec<Value> = terms.iter().map(|(number, _)| number.to_value()).collect();
            runtime.submit(operation.body(terms.len(), T::DTYPE), &args, &params)?;
            sum = Self::wrap(store, None);
        }
        Ok(sum)
    }
}

impl Operation {
    /// The body for `n` arrays besides the first, built once.
    fn body(self, n: usize, dtype: DType) -> &'static Arc<Body> {
        let place = (self as usize * MOST + n - 1) * DType::ALL.len() + dtype as usize;
        BODIES[place].get_or_init(|| {
            let name = match self {
                Self::Plus => "plus_multiples",
                Self::Minus => "minus_multiples",
                Self::Dots => "dots",
            };
            let kernel = self.kernel(n, dtype);
            match self {
                Self::Plus | Self::Minus => Body::new(name, kernel),
                Self::Dots => Body::with_args(name, kernel, dots_args(n as u32)),
            }
        })
    }

    fn kernel(self, n: usize, dtype: DType) -> Kernel {
        let mut build = KernelBuilder::new();
        let b = &mut build;
        let arrays: Vec<_> = (0..=n).map(|_| b.arg(dtype, ArgKind::Array)).collect();
        let target = b.load(arrays[0]);
        let step = match self {
            Self::Plus => BinaryOp::Add,
            Self::Minus => BinaryOp::Sub,
            Self::Dots => {
                let products: Vec<_> = (0..n).map(|_| b.arg(dtype, ArgKind::Reduction)).collect();
                for (&array, product) in arrays[1..].iter().zip(products) {
                    let mut x = b.load(array);
                    if dtype.is_complex() {
                        x = b.unary(UnaryOp::Conj, x);
                    }
                    let x = b.binary(BinaryOp::Mul, x, target);
                    b.reduce(ReduceOp::Sum, product, x);
                }
                return build.finish();
            }
        };
        let out = b.arg(dtype, ArgKind::Array);
        let sum = arrays[1..].iter().fold(target, |sum, &array| {
            let x = b.load(array);
            let number = b.param(dtype);
            let x = b.binary(BinaryOp::Mul, x, number);
            b.binary(step, sum, x)
        });
        b.store(out, sum);
        build.finish()
    }
}

/// The arguments of `dots`: the arrays, and a vector of the products.
fn dots_args(n: u32) -> Vec<BodyArg> {
    let arg = |privilege, access, number| BodyArg {
        privilege,
        access,
        kernel_arg: Some(number),
    };
    let mut args: Vec<_> = (0..=n)
        .map(|array| arg(Privilege::Read, Access::Rows, array))
        .collect();
    let sums = Privilege::Reduce(ReduceOp::Sum);
    args.push(arg(sums, Access::Elements(n), n + 1));
    args
}
