//! Dense arrays, vectors and scalars: plain array code, one operation a line.
//!
//! An [`Array`] of `D` dimensions ([`Vector`] for one) and a [`Scalar`] are handles of stores of
//! the runtime. Most operations issue one task on whole stores, or a few that fuse, and return; the
//! runtime fuses neighbouring tasks into one pass over the data, keeps intermediate results out of
//! memory, and runs the same program on one thread or many ranks, with the same bits as the result.
//! A program waits where it asks for elements ([`Array::to_vec`], [`Scalar::get`], printing), and
//! in what has to know first how many elements there will be, such as [`Array::compress`],
//! [`Array::unique`] and [`Array::put_where`].
//!
//! ```
//! use sparsefuse_dense::{Error, Vector};
//!
//! /// The cumulative normal distribution.
//! fn cumulative(x: &Vector<f64>) -> Vector<f64> {
//!     ((x / 2f64.sqrt()).erf() + 1.0) * 0.5
//! }
//!
//! /// The prices of call options by the formula of Black and Scholes: one pass over the data.
//! fn calls(
//!     spot: &Vector<f64>,
//!     strike: &Vector<f64>,
//!     years: &Vector<f64>,
//!     rate: f64,
//!     volatility: f64,
//! ) -> Vector<f64> {
//!     let spread = years.sqrt() * volatility;
//!     let drift = years * (rate + 0.5 * volatility * volatility);
//!     let d1 = ((spot / strike).ln() + drift) / &spread;
//!     let d2 = &d1 - &spread;
//!     spot * cumulative(&d1) - strike * (years * -rate).exp() * cumulative(&d2)
//! }
//!
//! # fn main() -> Result<(), Error> {
//! let spot = Vector::linspace(30.0, 54.0, 3);
//! let price = calls(&spot, &Vector::full([3], 40.0), &Vector::full([3], 0.5), 0.1, 0.2);
//! let price = price.to_vec()?;
//! assert!((price[1] - 4.76).abs() < 0.01);
//! # Ok(())
//! # }
//! ```
//!
//! # Rules
//!
//! - Operators take arrays, scalars (owned or borrowed) and plain numbers on the right, and numbers
//!   on the left; a number is a parameter of the task, never a task. Arrays broadcast by NumPy's
//!   rules among arrays of the same number of dimensions.
//! - A generic number `t: T` stands on the right only, as Rust has it: `x * t`. On the left it is
//!   made a scalar, `Scalar::new(t) * x`, or `Scalar::new(t).try_div(x)` where errors are returned.
//! - The method of `+` is [`Array::try_add`], that of `+=` [`Array::try_add_assign`], that of `-x`
//!   [`Array::try_neg`], and so on for the others.
//! - Arrays are values: `x += y` and [`Array::assign_slice`] change one handle and no other.
//! - Operators, and methods and constructors that know the shape of their result beforehand, panic
//!   with the message of an [`Error`]; the `try_` method of the same name returns it: `add:
//!   expected a shape of (3), found (4)`. What finds out how much it makes (`compress`, `unique`),
//!   linear algebra, files and `from_shape_vec` return a `Result` under their plain name. Shapes do
//!   not fit, operands belong to two runtimes, or memory cannot hold a shape. A function of one
//!   value, such as `sqrt` or `sum`, fails only where nothing has written the store that it reads,
//!   which a program has to make itself ([`Array::from_store`]). Where a task fails when it runs,
//!   as when memory is refused, the error comes with the elements of what depends on it.
//! - An operation on its own reads each operand once and writes its result once: an addition of
//!   `f64` moves 24 bytes per element. Fused, an operand that several operations read is read once,
//!   and a result that only they need is not written at all.

#![forbid(unsafe_code)]

#[cfg(all(shared_instances, debug_assertions))]
mod instances;

mod array;
mod scalar;

mod construct;
mod crew;
#[doc(hidden)]
pub mod decimal;
mod display;
#[cfg(feature = "interop")]
mod interop;
mod npy;
#[doc(hidden)]
pub mod npz;
mod terms;
mod text;

mod error_function;
mod functions;
mod functions_of_two;
mod integers;
mod map;
mod methods;
mod operators;

mod axes;
mod batches;
mod calculus;
mod coefficients;
mod columns;
mod combinations;
mod contract;
mod convolve;
mod convolve_matrices;
mod cross;
mod diagonals;
mod factors;
#[cfg(feature = "fft")]
mod fourier;
mod inner_products;
mod integrals;
#[cfg(feature = "linalg")]
mod linalg;
mod matmul;
mod matrix;
mod multiples;
mod norms;
#[doc(hidden)]
pub mod pade;
mod polynomials;
mod reductions;
mod several_axes;
mod statistics;

mod copies;
mod join;
mod join_many;
mod slices;
mod views;

mod blocks;

mod gather;
mod indices;
mod scatter;
mod shares;
mod short_lines;
mod take;

mod accumulated;
mod along_axis;
mod choose;
mod chosen;
mod chosen_quantiles;
mod distinct;
mod histograms;
mod interpolation;
mod masks;
mod positions;
mod quantiles;
mod runs;
mod scans;
mod search;
mod select;
mod sets;
mod sort;
mod tables;

mod choices;
mod random;
mod repeat;
mod rotated;

mod bodies;
mod operand;
mod twins;

pub use array::{Array, Vector};
pub use blocks::Blocks;
pub use contract::einsum;
pub use convolve::Overlap;
pub use factors::{Factor, einsum_all};
#[cfg(feature = "fft")]
pub use fourier::FftNorm;
pub use indices::Index;
#[cfg(all(shared_instances, debug_assertions))]
#[doc(hidden)]
pub use instances::instances;
pub use join::Padding;
#[cfg(all(shared_instances, debug_assertions, feature = "linalg"))]
#[doc(hidden)]
pub use linalg::instances::instances_of_matrices;
#[cfg(feature = "linalg")]
pub use linalg::{Eig, Eigh, Lu, MatrixNorm, Qr, Svd};
pub use map::{map_all, map2, map3, try_map_all, try_map2, try_map3};
pub use multiples::Scalars;
pub use npz::{SavedArray, npz_names, save_npz};
#[doc(hidden)]
pub use operand::expect;
pub use operand::{ArrayOperand, Handle, Operand, ScalarOperand, Source};
pub use repeat::repeat;
pub use scalar::Scalar;
pub use several_axes::Without;
pub use slices::{IntoSlice, Slice, Slices, step};
pub use sparsefuse_kernels::{Element, Field, Numeric, Real, Symbol, Term};
pub use sparsefuse_runtime::{Deferred, Error, ErrorKind, Rounds, State};
pub use text::{TextInput, TextOutput};
