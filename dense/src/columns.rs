//! Reductions along the axis that is cut among ranks.
//!
//! Where ranks hold rows of a matrix, the sums of its columns, and the products of its transpose
//! with a vector, need elements of all ranks. Here each rank joins its own rows, column by column,
//! and what travels are the trees of partial results, in the message of a reduction: a gradient,
//! and not the features. The bits are those of reductions along any other axis. One task takes up
//! to [`MOST`] columns, which it reduces into the elements of a vector that every rank gets.

use crate::array::{Array, Vector};
use sparsefuse_kernels::{ArgKind, BinaryOp, DType, Element, Kernel, KernelBuilder, ReduceOp};
use sparsefuse_runtime::{Access, Body, BodyArg, Error, Privilege, Shape, TaskArg, View};
use std::sync::{Arc, OnceLock};

/// The most columns that one task takes.
const MOST: usize = 32;

/// The most columns that are reduced in this way; of more the rows travel.
const WIDEST: usize = 8 * MOST;

/// The bodies by operation, whether there are products, the number of columns and the type.
static BODIES: [OnceLock<Arc<Body>>; ReduceOp::ALL.len() * 2 * MOST * DType::ALL.len()] =
    [const { OnceLock::new() }; ReduceOp::ALL.len() * 2 * MOST * DType::ALL.len()];

impl<T: Element, const D: usize> Array<T, D> {
    /// The reduction along the last axis, or of the elementwise products with `x`, if that axis is
    /// the one that is cut among several ranks: as a vector, row-major. `None` where it is done
    /// otherwise. Whether it is follows from shapes, so ranks decide alike.
    pub(crate) fn reduce_over_ranks(
        &self,
        op: ReduceOp,
        x: Option<&Vector<T>>,
    ) -> Result<Option<Vector<T>>, Error> {
        let runtime = self.runtime();
        let (config, dims) = (runtime.config(), self.shape());
        let Some((&len, outer)) = dims.split_last() else {
            return Ok(None);
        };
        let n_columns: usize = outer.iter().product();
        let is_cut = |view: &&Arc<View>| {
            runtime.ranks() > 1
                && len > config.tile_len
                && len * n_columns >= config.cut_threshold
                && (1..=WIDEST).contains(&n_columns)
                && view.axis_of(D - 1) == Some(0)
        };
        let Some(view) = self.view().filter(is_cut) else {
            return Ok(None);
        };
        let mut columns = vec![**view];
        for &dim in outer {
            let along = |view: &View| (0..dim).map(|index| view.index(0, index)).collect();
            let of_each: Result<Vec<Vec<View>>, Error> = columns.iter().map(along).collect();
            columns = of_each?.concat();
        }
        let columns: Vec<Arc<View>> = columns.into_iter().map(Arc::new).collect();
        let mut parts = Vec::with_capacity(n_columns.div_ceil(MOST));
        for columns in columns.chunks(MOST) {
            let n = columns.len();
            let store = runtime.new_store(Shape::new(&[n]), T::DTYPE);
            let column = |view| TaskArg {
                store: self.store(),
                view: Some(view),
            };
            let mut args: Vec<TaskArg<'_>> = columns.iter().map(column).collect();
            args.extend(x.map(Array::arg));
            args.push(TaskArg::from(&store));
            runtime.submit(body(op, x.is_some(), n, T::DTYPE), &args, &[])?;
            parts.push(Vector::wrap(store, None));
        }
        match <[Vector<T>; 1]>::try_from(parts) {
            Ok([part]) => Ok(Some(part)),
            Err(parts) => {
                let parts: Vec<_> = parts.iter().collect();
                Vector::try_concatenate(0, &parts).map(Some)
            }
        }
    }
}

fn body(op: ReduceOp, has_x: bool, n: usize, dtype: DType) -> &'static Arc<Body> {
    let place = (op as usize * 2 + usize::from(has_x)) * MOST + n - 1;
    BODIES[place * DType::ALL.len() + dtype as usize].get_or_init(|| {
        let n_read = n + usize::from(has_x);
        let arg = |privilege, access, number| BodyArg {
            privilege,
            access,
            kernel_arg: Some(number as u32),
        };
        let mut args: Vec<_> = (0..n_read)
            .map(|number| arg(Privilege::Read, Access::Rows, number))
            .collect();
        let into = Access::Elements(n as u32);
        args.push(arg(Privilege::Reduce(op), into, n_read));
        Body::with_args("reduce_columns", kernel(op, has_x, n, dtype), args)
    })
}

fn kernel(op: ReduceOp, has_x: bool, n: usize, dtype: DType) -> Kernel {
    let mut build = KernelBuilder::new();
    let b = &mut build;
    let columns: Vec<_> = (0..n).map(|_| b.arg(dtype, ArgKind::Array)).collect();
    let x = has_x.then(|| b.arg(dtype, ArgKind::Array));
    let results: Vec<_> = (0..n).map(|_| b.arg(dtype, ArgKind::Reduction)).collect();
    let x = x.map(|x| b.load(x));
    for (&column, &result) in columns.iter().zip(&results) {
        let mut element = b.load(column);
        if let Some(x) = x {
            element = b.binary(BinaryOp::Mul, element, x);
        }
        b.reduce(op, result, element);
    }
    build.finish()
}
