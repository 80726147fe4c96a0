//! What NumPy's functions are here: each expression, computed and written to a file, so that
//! `benches/python/numpy_parity.py` can compare it with NumPy's and make `docs/numpy.md` of it.
//!
//! `numpy_parity DIR` writes the inputs as `DIR/NAME.npy`, the results as `DIR/NUMBER.npy`, and
//! `DIR/rows.tsv`: a number, an area, NumPy's expression and ours of each row.

use num_complex::Complex;
use sparsefuse_dense::{
    Array, Element, Error, FftNorm, MatrixNorm, Overlap, Padding, Scalar, Vector, einsum,
    einsum_all, step,
};
use std::fs;
use std::path::{Path, PathBuf};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let folder = std::env::args().nth(1).ok_or("expected a folder")?;
    let mut table = Table {
        folder: PathBuf::from(folder),
        lines: Vec::new(),
    };
    fs::create_dir_all(&table.folder)?;
    let inputs = Inputs::new()?;
    inputs.save(&table.folder)?;
    creation(&mut table, &inputs)?;
    indexing(&mut table, &inputs)?;
    operators(&mut table, &inputs)?;
    functions(&mut table, &inputs)?;
    reductions(&mut table, &inputs)?;
    algebra(&mut table, &inputs)?;
    linear_algebra(&mut table, &inputs)?;
    transforms(&mut table, &inputs)?;
    shapes(&mut table, &inputs)?;
    order(&mut table, &inputs)?;
    fs::write(table.folder.join("rows.tsv"), table.lines.concat())?;
    Ok(())
}

/// The rows so far.
struct Table {
    folder: PathBuf,
    lines: Vec<String>,
}

impl Table {
    fn row(&mut self, area: &str, numpy: &str, ours: &str, result: &impl Save) -> Outcome {
        let number = self.lines.len();
        result.save(&self.folder.join(format!("{number}.npy")))?;
        let ours = ours.split_whitespace().collect::<Vec<_>>().join(" ");
        self.lines
            .push(format!("{number}\t{area}\t{numpy}\t{ours}\n"));
        Ok(())
    }
}

/// What a row computes, as a file.
trait Save {
    fn save(&self, path: &Path) -> Result<(), Error>;
}

impl<T: Element, const D: usize> Save for Array<T, D> {
    fn save(&self, path: &Path) -> Result<(), Error> {
        self.save_npy(path)
    }
}

impl<T: Element> Save for Scalar<T> {
    fn save(&self, path: &Path) -> Result<(), Error> {
        Vector::from_vec(vec![self.get()?]).save_npy(path)
    }
}

/// Rows of an area: NumPy's expression, and ours, which is computed.
macro_rules! rows {
    ($table:ident $area:literal: $($numpy:literal => $ours:expr;)*) => {
        $($table.row($area, $numpy, stringify!($ours), &$ours)?;)*
    };
}

/// Declares the inputs, which both sides have under these names.
macro_rules! inputs {
    ($($name:ident: $type:ty = $value:expr;)*) => {
        struct Inputs {
            $($name: $type,)*
        }

        impl Inputs {
            fn new() -> Result<Self, Error> {
                $(let $name: $type = $value;)*
                Ok(Self { $($name,)* })
            }

            fn save(&self, folder: &Path) -> Result<(), Error> {
                $(self.$name.save_npy(folder.join(concat!(stringify!($name), ".npy")))?;)*
                Ok(())
            }
        }
    };
}

inputs! {
    x: Vector<f64> = Vector::random_uniform([1500], 1) * 2.0 - 1.0;
    y: Vector<f64> = Vector::random_normal([1500], 2);
    p: Vector<f64> = Vector::random_uniform([1500], 3) * 50.0 + 1.0;
    n: Vector<f64> = x.greater(0.5).select(f64::NAN, &y);
    t: Vector<f64> = (&x * 20.0).round() * 0.5;
    q: Vector<f64> = p.slice(..40).sort();
    z: Vector<Complex<f64>> = x.cast::<Complex<f64>>() + y.cast::<Complex<f64>>() * Complex::new(0.0, 1.0);
    k: Vector<i64> = (&p * 3.0).cast();
    l: Vector<i64> = (&y * 9.0).cast();
    i: Vector<i64> = (Vector::<i64>::arange(20) * 7 + 3) % 11;
    j: Vector<i64> = (Vector::<i64>::arange(20) * 5) % 7;
    mask: Vector<bool> = x.greater(0.2);
    a: Array<f64, 2> = Array::random_normal([11, 7], 4);
    b: Array<f64, 2> = Array::random_normal([7, 9], 5);
    e: Array<f64, 2> = Array::random_normal([11, 7], 6);
    v: Vector<f64> = Vector::random_normal([7], 7);
    c: Array<f64, 3> = Array::random_normal([3, 4, 5], 8);
    g: Array<f64, 2> = a.slice((..7, ..)) + Array::<f64, 2>::eye(7) * 5.0;
}

fn creation(table: &mut Table, inputs: &Inputs) -> Outcome {
    let Inputs { x, v, t, a, .. } = inputs;
    rows! { table "creation":
        "np.array([[1., 2.], [3., 4.]])" => Array::from_shape_vec([2, 2], vec![1.0, 2.0, 3.0, 4.0])?;
        "np.zeros((3, 4))" => Array::<f64, 2>::zeros([3, 4]);
        "np.ones((3, 4))" => Array::<f64, 2>::ones([3, 4]);
        "np.full((3, 4), 7.5)" => Array::full([3, 4], 7.5);
        "np.zeros_like(a)" => Array::<f64, 2>::zeros(a.shape());
        "np.arange(10)" => Vector::<i64>::arange(10);
        "np.arange(3, 30, 4)" => Vector::<i64>::arange(7) * 4 + 3;
        "np.arange(1, 3, 0.3)" => Vector::arange_by(1.0, 3.0, 0.3);
        "np.linspace(0, 1, 11)" => Vector::linspace(0.0, 1.0, 11);
        "np.logspace(0, 3, 7)" => Vector::logspace(0.0, 3.0, 7);
        "np.eye(5)" => Array::<f64, 2>::eye(5);
        "np.eye(5, 6, 2)" => Array::<f64, 2>::eye_at([5, 6], 2);
        "np.fromfunction(lambda i, j: i - 2 * j, (3, 4))" => Array::from_fn([3, 4], |[i, j]| i as f64 - 2.0 * j as f64);
        "np.meshgrid(v, t[:4])[0]" => Vector::meshgrid(v, &t.slice(..4))[0];
        "np.diag(v, 1)" => v.to_diagonal(1);
        "np.diag(a, -2)" => a.diagonal(-2);
        "np.tril(a, 1)" => a.lower_triangle(1);
        "np.triu(a, -1)" => a.upper_triangle(-1);
        "x.copy()" => x.clone();
    }
    Ok(())
}

fn indexing(table: &mut Table, inputs: &Inputs) -> Outcome {
    let Inputs {
        x,
        y,
        p,
        k,
        v,
        a,
        c,
        i,
        j,
        mask,
        e,
        ..
    } = inputs;
    let ij = [&i.slice(..10), &j.slice(..10)];
    let n_true = mask.count().get()? as usize;
    let changed = |change: &dyn Fn(&mut Vector<f64>)| {
        let mut changed = x.clone();
        change(&mut changed);
        changed
    };
    rows! { table "indexing":
        "a[3]" => a.row(3);
        "a[:, 2]" => a.column(2);
        "c[1]" => c.index_axis(0, 1);
        "x[10:20]" => x.slice(10..20);
        "x[10:20000]" => x.slice(10..x.len().min(20000));
        "x[::-3]" => x.slice(step(.., -3));
        "a[1:-1, ::2]" => a.slice((1..10, step(.., 2)));
        "v[:, None]" => v.insert_axis(1);
        "x[i]" => x.take(i);
        "a[i[:10], j[:10]]" => a.take_points(ij);
        "y[np.argmax(x)]" => y.at(x.argmax());
        "np.take(a, j, axis=1)" => a.take_axis(1, j);
        "np.choose(k % 3, (x, y, p))" => (k % 3).choose(&[x, y, p]);
        "x[mask]" => x.compress(mask)?;
        "a[a > 0]" => a.compress(&a.greater(0.0))?;
        "np.compress(v > 0, a, axis=1)" => a.compress_axis(1, &v.greater(0.0))?;
        "np.flatnonzero(mask)" => mask.flat_nonzero()?;
        "np.nonzero(a > 0)[1]" => a.greater(0.0).nonzero()?[1];
        "np.argwhere(a > 0)" => { let [i, j] = a.greater(0.0).nonzero()?; Vector::stack(1, &[&i, &j]) };
        "np.where(mask, x, y)" => mask.select(x, y);
        "np.concatenate([np.full(4, 2.5), x[4:]])" => changed(&|x| x.assign_slice(..4, 2.5));
        "np.concatenate([x[:4] + x[4:8], x[4:]])" => changed(&|x| { let w = x.slice(4..8); x.update_slice(..4, |x| x + &w) });
        "np.where(mask, 0.0, x)" => changed(&|x| x.assign_where(mask, 0.0));
        "(lambda r: (r.__setitem__(mask, y[:mask.sum()]), r)[1])(x.copy())" => changed(&|x| x.put_where(mask, y.slice(..n_true)));
        "(lambda r: (r.__setitem__(i, y[:20]), r)[1])(x.copy())" => changed(&|x| x.put(i, y.slice(..20)));
        "(lambda r: (np.add.at(r, i, 1.0), r)[1])(x.copy())" => changed(&|x| x.add_at(i, 1.0));
        "(lambda r: (np.maximum.at(r, i, y[:20]), r)[1])(x.copy())" => changed(&|x| x.maximum_at(i, y.slice(..20)));
        "np.ravel_multi_index((i[:10], j[:10]), (11, 7))" => Vector::ravel_multi_index([11, 7], ij);
        "np.take_along_axis(a, np.argsort(e, 0), 0)" => a.take_along_axis(0, &e.argsort_axis(0));
        "(lambda r: (np.put_along_axis(r, a.argmax(1)[:, None], 0.0, 1), r)[1])(a.copy())" => { let mut r = a.clone(); r.put_along_axis(1, &a.argmax_axis(1).insert_axis(1), 0.0); r };
        "np.unravel_index(i * 3, (11, 7))[1]" => (i * 3).unravel_index([11, 7])[1];
    }
    Ok(())
}

fn operators(table: &mut Table, inputs: &Inputs) -> Outcome {
    let Inputs {
        x,
        y,
        p,
        k,
        l,
        z,
        mask,
        a,
        v,
        ..
    } = inputs;
    rows! { table "operators":
        "x + y" => x + y;
        "x - y" => x - y;
        "x * y" => x * y;
        "x / y" => x / y;
        "2 / p" => 2.0 / p;
        "z * z" => z * z;
        "z * 2.0" => z * Complex::from(2.0);
        "z * x" => z * x.cast::<Complex<f64>>();
        "x // y" => x.floor_div(y);
        "l // 7" => l.floor_div(7);
        "np.trunc(l / 7).astype(np.int64)" => l / 7;
        "x % y" => x % y;
        "l % 7" => l % 7;
        "p ** 1.5" => p.pow(1.5);
        "-x" => -x;
        "a + v" => a + v.insert_axis(0);
        "k & l" => k & l;
        "k | l" => k | l;
        "k ^ l" => k ^ l;
        "~k" => k ^ -1;
        "~mask" => !mask;
        "x == y" => x.equal(y);
        "x != y" => x.not_equal(y);
        "x < y" => x.less(y);
        "x <= y" => x.less_equal(y);
        "x > y" => x.greater(y);
        "x >= y" => x.greater_equal(y);
    }
    Ok(())
}

fn functions(table: &mut Table, inputs: &Inputs) -> Outcome {
    let Inputs {
        k,
        l,
        x,
        y,
        p,
        n,
        t,
        q,
        z,
        v,
        c,
        ..
    } = inputs;
    rows! { table "functions":
        "np.abs(x)" => x.abs();
        "np.sign(x)" => x.sign();
        "np.sqrt(p)" => p.sqrt();
        "np.square(x)" => x.square();
        "np.reciprocal(p)" => p.recip();
        "np.cbrt(y)" => y.cbrt();
        "np.exp(x)" => x.exp();
        "np.exp2(x)" => x.exp2();
        "np.expm1(x)" => x.exp_m1();
        "np.log(p)" => p.ln();
        "np.log2(p)" => p.log2();
        "np.log10(p)" => p.log10();
        "np.log1p(x)" => x.ln_1p();
        "np.sin(y)" => y.sin();
        "np.cos(y)" => y.cos();
        "np.tan(y)" => y.tan();
        "np.arcsin(x)" => x.asin();
        "np.arccos(x)" => x.acos();
        "np.arctan(y)" => y.atan();
        "np.arctan2(y, x)" => y.atan2(x);
        "np.sinh(y)" => y.sinh();
        "np.cosh(y)" => y.cosh();
        "np.tanh(y)" => y.tanh();
        "np.arcsinh(y)" => y.asinh();
        "np.arccosh(p)" => p.acosh();
        "np.arctanh(x)" => x.atanh();
        "np.hypot(x, y)" => x.hypot(y);
        "np.logaddexp(x, y)" => x.logaddexp(y);
        "np.copysign(x, y)" => x.copysign(y);
        "np.fmod(p, y)" => p.fmod(y);
        "np.fmod(l, 7)" => l.fmod(7);
        "np.sinc(x)" => x.sinc();
        "1 / (1 + np.exp(-y))" => y.expit();
        "np.gcd(k, l)" => k.gcd(l);
        "np.lcm(k, l)" => k.lcm(l);
        "k << 3" => k.left_shift(3);
        "l >> 2" => l.right_shift(2);
        "np.unwrap(p, period=7)" => p.unwrap_axis(0, 7.0);
        "np.degrees(x)" => x.to_degrees();
        "np.radians(x)" => x.to_radians();
        "np.floor(y)" => y.floor();
        "np.ceil(y)" => y.ceil();
        "np.round(t)" => t.round();
        "np.round(y, 2)" => y.round_decimals(2);
        "np.trunc(y)" => y.trunc();
        "np.maximum(x, y)" => x.maximum(y);
        "np.minimum(x, y)" => x.minimum(y);
        "np.clip(y, -1, 1)" => y.clamp(-1.0, 1.0);
        "np.isnan(n)" => n.is_nan();
        "np.isfinite(n)" => n.is_finite();
        "np.isinf(n)" => n.is_infinite();
        "np.nan_to_num(n, nan=1.0)" => n.replace_nan(1.0);
        "np.real(z)" => z.re();
        "np.imag(z)" => z.im();
        "np.conj(z)" => z.conj();
        "np.angle(z)" => z.angle();
        "np.exp(z)" => z.exp();
        "np.sqrt(z)" => z.sqrt();
        "np.logical_and(x > 0, y > 0)" => x.greater(0.0) & y.greater(0.0);
        "np.interp(y, q, p[:40])" => y.interp(q, &p.slice(..40));
        "np.interp(y * 20, q, p[:40], -1, 99)" => (y * 20.0).interp_within(q, &p.slice(..40), -1.0, 99.0);
        "np.interp(y * 20, p[:40], p[40:80], period=17)" => (y * 20.0).interp_periodic(&p.slice(..40), &p.slice(40..80), 17.0);
        "np.polyval(v, x)" => x.polyval(v);
        "np.polyadd(v, p[:3])" => v.polyadd(&p.slice(..3));
        "np.polymul(v, p[:3])" => v.polymul(&p.slice(..3));
        "np.polydiv(v, p[:3])[0]" => v.polydiv(&p.slice(..3))?.0;
        "np.polyder(v)" => v.polyder(1);
        "np.polyint(v, 2)" => v.polyint(2);
        "np.gradient(y, 0.5)" => y.gradient(0, 0.5);
        "np.gradient(c, 2.0, axis=1)" => c.gradient(1, 2.0);
        "np.gradient(p[:40], q)" => p.slice(..40).gradient_at(0, q);
        "np.allclose(x, x + 1e-9)" => x.all_close(&(x + 1e-9), 1e-5, 1e-8);
        "x.astype(np.float32)" => x.cast::<f32>();
        "p.astype(np.int32)" => p.cast::<i32>();
    }
    Ok(())
}

fn reductions(table: &mut Table, inputs: &Inputs) -> Outcome {
    let Inputs {
        x,
        y,
        p,
        n,
        q,
        k,
        z,
        a,
        c,
        mask,
        ..
    } = inputs;
    rows! { table "reductions":
        "np.sum(x)" => x.sum();
        "np.sum(c, axis=1)" => c.sum_axis(1);
        "np.sum(a, axis=1, keepdims=True)" => a.sum_axis(1).insert_axis(1);
        "np.prod(a)" => a.prod();
        "np.prod(a, axis=0)" => a.prod_axis(0);
        "np.mean(x)" => x.mean();
        "np.mean(c, axis=2)" => c.mean_axis(2);
        "c.sum(axis=(0, 2))" => c.sum_axes([0, 2]);
        "c.mean(axis=(0, 1))" => c.mean_axes([0, 1]);
        "c.max(axis=(1, 2))" => c.max_axes([1, 2]);
        "np.var(x)" => x.var();
        "np.var(x, ddof=1)" => x.var_ddof(1.0);
        "np.var(z)" => z.var();
        "np.var(a, axis=0)" => a.var_axis(0);
        "np.var(z.reshape(50, 30), axis=1)" => z.reshape([50, 30]).var_axis(1);
        "np.std(x)" => x.std();
        "np.std(a, axis=1)" => a.std_axis(1);
        "np.min(x)" => x.min();
        "np.max(c, axis=0)" => c.max_axis(0);
        "np.argmin(x)" => x.argmin();
        "np.argmax(a, axis=1)" => a.argmax_axis(1);
        "np.any(a > 2, axis=0)" => a.greater(2.0).any_axis(0);
        "np.all(mask)" => mask.all();
        "np.count_nonzero(k)" => k.count_nonzero();
        "np.count_nonzero(mask)" => mask.count();
        "np.count_nonzero(a > 0, axis=0)" => a.greater(0.0).cast::<i64>().sum_axis(0);
        "np.cumsum(x)" => x.cumsum();
        "np.cumsum(c, axis=1)" => c.cumsum_axis(1);
        "np.cumprod(a, axis=0)" => a.cumprod_axis(0);
        "np.diff(x)" => x.diff(0);
        "np.diff(a, axis=1)" => a.diff(1);
        "np.diff(x, 2)" => x.diff(0).diff(0);
        "np.trapezoid(y, dx=0.1)" => y.trapezoid(0.1);
        "np.trapezoid(c, dx=0.1, axis=1)" => c.trapezoid_axis(1) * 0.1;
        "np.trapezoid(p[:40], q)" => p.slice(..40).trapezoid_at(q);
        "np.ptp(x)" => x.max() - x.min();
        "np.maximum.accumulate(x)" => x.cummax();
        "np.minimum.accumulate(c, axis=1)" => c.cummin_axis(1);
        "np.median(x)" => x.median();
        "np.median(a)" => a.ravel().median();
        "np.median(a, axis=0)" => a.median_axis(0);
        "np.percentile(x, 30)" => x.quantile(0.3);
        "np.percentile(c, 30, axis=1)" => c.quantile_axis(1, 0.3);
        "np.quantile(x, 0.9)" => x.quantile(0.9);
        "np.percentile(x, [10, 50, 90])" => x.quantiles(&[0.1, 0.5, 0.9]);
        "np.quantile(c, [0.2, 0.7], axis=1)" => c.quantiles_axis(1, &[0.2, 0.7]);
        "np.quantile(k, [0.37])" => k.quantiles(&[0.37]);
        "np.average(x, weights=p)" => x.average(p);
        "np.nansum(n)" => n.nan_sum();
        "np.nanmean(n)" => n.nan_mean();
        "np.nanmax(n.reshape(50, 30), axis=0)" => n.reshape([50, 30]).nan_max_axis(0);
        "np.nanmin(n.reshape(50, 30), axis=1)" => n.reshape([50, 30]).nan_min_axis(1);
        "np.nanprod(n.reshape(50, 30), axis=1)" => n.reshape([50, 30]).nan_prod_axis(1);
        "np.nanmax(n)" => n.nan_max();
        "np.nanmin(n)" => n.nan_min();
        "np.nanprod(n[:50])" => n.slice(..50).nan_prod();
        "np.nanargmin(n)" => n.nan_argmin();
        "np.nanargmax(n.reshape(50, 30), axis=1)" => n.reshape([50, 30]).nan_argmax_axis(1);
        "np.nansum(n.reshape(50, 30), axis=0)" => n.reshape([50, 30]).nan_sum_axis(0);
        "np.nanmedian(n.reshape(50, 30), axis=1)" => n.reshape([50, 30]).nan_median_axis(1);
        "np.nanquantile(n.reshape(50, 30), 0.9, axis=0)" => n.reshape([50, 30]).nan_quantile_axis(0, 0.9);
        "np.histogram(y, 10, (-2, 2))[0]" => y.histogram(10, -2.0..2.0).0;
        "np.histogram(y, 10)[0]" => y.histogram_all(10)?.0;
        "np.histogram(p, q)[0]" => p.histogram_at(q);
        "np.histogram(p, q, density=True)[0]" => p.histogram_density_at(q);
        "np.histogram(p, q, weights=y)[0]" => p.histogram_weighted_at(q, y);
        "np.histogram2d(x, y, [4, 5], [[-1, 1], [-2, 2]])[0]" => x.histogram2d(y, [4, 5], [-1.0..1.0, -2.0..2.0]).0.cast::<f64>();
        "np.digitize(p, q)" => p.digitize(q);
        "np.histogram_bin_edges(y, 10, (-2, 2))" => Vector::<f64>::histogram_ends(10, -2.0..2.0);
        "np.bincount(k, minlength=200)" => k.bincount(200);
        "np.bincount(k, p, 200)" => k.bincount_weighted(p, 200);
        "np.cov(a)" => a.cov();
        "np.corrcoef(a)" => a.corrcoef();
    }
    Ok(())
}

fn algebra(table: &mut Table, inputs: &Inputs) -> Outcome {
    let Inputs {
        x,
        y,
        z,
        a,
        b,
        c,
        e,
        g,
        v,
        ..
    } = inputs;
    rows! { table "products and norms":
        "np.dot(x, y)" => x.dot(y);
        "np.inner(z, z)" => z.dot_unconjugated(z);
        "np.vdot(z, z)" => z.dot(z);
        "a @ b" => a.matmul(b);
        "b.T @ a.T" => b.t().matmul(&a.t());
        "a @ v" => a.matvec(v);
        "v @ b" => v.matmul(b);
        "np.outer(v, x)" => v.outer(x);
        "np.inner(a, e)" => a.matmul(&e.t());
        "np.cross(a[:, :3], e[:, :3])" => a.slice((.., ..3)).cross(&e.slice((.., ..3)));
        "np.convolve(x, v)" => x.convolve(v, Overlap::Full);
        "np.convolve(v, x, 'same')" => v.convolve(x, Overlap::Same);
        "np.correlate(x, v)" => x.correlate(v, Overlap::Valid);
        "np.correlate(z[:9], z[9:49], 'full')" => z.slice(..9).correlate(&z.slice(9..49), Overlap::Full);
        "np.kron(a, b)" => a.kron(b);
        "np.linalg.matrix_power(g, 5)" => g.matrix_power(5);
        "np.trace(a)" => a.trace();
        "np.linalg.norm(x)" => x.norm2();
        "np.linalg.norm(x, 1)" => x.norm1();
        "np.linalg.norm(x, np.inf)" => x.norm_inf();
        "np.linalg.norm(x, 3)" => x.norm_p(3.0);
        "np.linalg.norm(a, 1, axis=0)" => a.norm_p_axis(0, 1.0);
        "np.linalg.norm(c, -np.inf, axis=2)" => c.norm_p_axis(2, f64::NEG_INFINITY);
        "np.linalg.norm(a)" => a.norm2();
        "np.linalg.norm(a, axis=1)" => a.norm2_axis(1);
        "c @ c.swapaxes(1, 2)" => c.matmul(&c.swap_axes(1, 2));
        "np.tensordot(c, c, ((0, 1), (0, 1)))" => c.tensordot::<3, 2>(c, &[(0, 0), (1, 1)])?;
        "np.einsum('ij,jk->ki', a, b)" => einsum::<f64, 2, 2, 2>("ij,jk->ki", a, b)?;
        "np.einsum('nij,nkj->nik', c, c)" => einsum::<f64, 3, 3, 3>("nij,nkj->nik", c, c)?;
        "np.einsum('ii->', g)" => einsum_all::<f64, 0>("ii->", &[g])?;
        "np.einsum('iji->j', c[:, :, :3])" => einsum_all::<f64, 1>("iji->j", &[&c.slice((.., .., ..3))])?;
        "np.einsum('ij,jk,ik->k', a, b, a @ b)" => einsum_all::<f64, 1>("ij,jk,ik->k", &[a, b, &a.matmul(b)])?;
        "np.einsum('...i,i->...', c, v[:5])" => einsum_all::<f64, 2>("...i,i->...", &[c, &v.slice(..5)])?;
        "np.linalg.norm(z.reshape(50, 30), axis=0)" => z.reshape([50, 30]).norm2_axis(0);
    }
    Ok(())
}

fn linear_algebra(table: &mut Table, inputs: &Inputs) -> Outcome {
    let Inputs {
        x, y, a, e, g, v, ..
    } = inputs;
    rows! { table "linear algebra":
        "np.linalg.solve(g, v)" => g.solve(v)?;
        "np.linalg.solve(g, a.T)" => g.solve(&a.t())?;
        "np.linalg.inv(g)" => g.inv()?;
        "np.linalg.det(g)" => g.det()?;
        "np.linalg.slogdet(g)[1]" => g.slogdet()?.1;
        "np.linalg.lstsq(a, e)[0]" => a.lstsq(e)?;
        "np.linalg.pinv(a)" => a.pinv()?;
        "np.linalg.matrix_rank(a)" => a.matrix_rank()?;
        "np.polyfit(x[:40], y[:40], 3)" => x.slice(..40).polyfit(&y.slice(..40), 3)?;
        "np.linalg.cholesky(a.T @ a)" => a.t().matmul(a).cholesky()?;
        "np.abs(np.linalg.qr(a)[0])" => a.qr()?.q.abs();
        "np.abs(np.linalg.qr(a)[1])" => a.qr()?.r.abs();
        "np.abs(np.linalg.qr(a, 'complete')[1])" => a.qr_complete()?.r.abs();
        "(lambda u: u @ u.T)(np.linalg.svd(a)[0])" => { let u = a.svd_full()?.u; u.matmul(&u.t()) };
        "np.sort(np.roots(v).real)" => v.roots()?.re().sort();
        "np.linalg.svdvals(a)" => a.singular_values()?;
        "np.abs(np.linalg.svd(a, full_matrices=False)[2])" => a.svd()?.vh.abs();
        "np.linalg.norm(a, 2)" => a.matrix_norm(MatrixNorm::Two)?;
        "np.linalg.norm(a, 1)" => a.matrix_norm(MatrixNorm::One)?;
        "np.linalg.norm(a, -np.inf)" => a.matrix_norm(MatrixNorm::MinusInfinity)?;
        "np.linalg.norm(a, 'nuc')" => a.matrix_norm(MatrixNorm::Nuclear)?;
        "np.linalg.cond(a)" => a.cond()?;
        "np.linalg.cond(g, 1)" => g.cond_by(MatrixNorm::One)?;
        "np.linalg.eigvalsh(a.T @ a)" => a.t().matmul(a).eigvalsh()?;
        "np.abs(np.linalg.eigh(a.T @ a)[1])" => a.t().matmul(a).eigh()?.vectors.abs();
        "np.sort(np.linalg.eigvals(g).real)" => g.eigvals()?.re().sort();
        "np.sort(np.abs(np.linalg.eig(g)[0]))" => g.eig()?.values.abs().sort();
    }
    Ok(())
}

fn transforms(table: &mut Table, inputs: &Inputs) -> Outcome {
    let Inputs { x, y, z, a, c, .. } = inputs;
    rows! { table "fourier transforms":
        "np.fft.fft(x)" => x.fft();
        "np.fft.ifft(z)" => z.ifft();
        "np.fft.rfft(x)" => x.rfft();
        "np.fft.irfft(z[:751], 1500)" => z.slice(..751).irfft(1500);
        "np.fft.fft(x, 2048)" => x.fft_of(2048, FftNorm::Backward);
        "np.fft.ifft(z, 100, norm='ortho')" => z.ifft_of(100, FftNorm::Ortho);
        "np.fft.rfft(x, norm='forward')" => x.rfft_of(1500, FftNorm::Forward);
        "np.fft.irfft(z, 4000)" => z.irfft(4000);
        "np.fft.fft(c, 8, axis=1, norm='ortho')" => c.fft_axis_of(1, 8, FftNorm::Ortho);
        "np.fft.fft2(a, (8, 8))" => a.fftn_of([8, 8], FftNorm::Backward);
        "np.fft.rfftn(c, (4, 3, 8), norm='ortho')" => c.rfftn_of([4, 3, 8], FftNorm::Ortho);
        "np.fft.irfftn(c, (4, 3, 9), norm='forward')" => c.irfftn_of([4, 3, 9], FftNorm::Forward);
        "np.fft.fft(c, axis=1)" => c.fft_axis(1);
        "np.fft.rfft(a, axis=0)" => a.rfft_axis(0);
        "np.fft.fft2(a)" => a.fft2();
        "np.fft.ifft2(a)" => a.ifft2();
        "np.fft.fftn(c)" => c.fftn();
        "np.fft.ifftn(c)" => c.ifftn();
        "np.fft.rfftn(c)" => c.rfftn();
        "np.fft.irfftn(np.fft.rfftn(c), c.shape)" => c.rfftn().irfftn(5);
        "np.fft.rfft2(a)" => a.rfftn();
        "np.fft.fftshift(c)" => c.fftshift();
        "np.fft.ifftshift(c)" => c.ifftshift();
        "np.fft.fftfreq(9, 0.1)" => Vector::<f64>::fftfreq(9, 0.1);
        "np.fft.rfftfreq(9, 0.1)" => Vector::<f64>::rfftfreq(9, 0.1);
        "np.convolve(x, y)" => x.fft_convolve(y, Overlap::Full);
    }
    Ok(())
}

fn shapes(table: &mut Table, inputs: &Inputs) -> Outcome {
    let Inputs {
        x,
        k,
        a,
        b,
        c,
        e,
        v,
        ..
    } = inputs;
    rows! { table "shapes":
        "x.reshape(30, 50)" => x.reshape([30, 50]);
        "np.ravel(c)" => c.ravel();
        "a.T" => a.t();
        "c.transpose(2, 0, 1)" => c.permute_axes([2, 0, 1]);
        "np.swapaxes(c, 0, 1)" => c.swap_axes(0, 1);
        "np.moveaxis(c, 0, 2)" => c.move_axis(0, 2);
        "np.squeeze(c[:1], 0)" => c.slice((..1, .., ..)).index_axis(0, 0);
        "np.concatenate([a, e], axis=1)" => Array::concatenate(1, &[a, e]);
        "np.vstack([a, e])" => Array::concatenate(0, &[a, e]);
        "np.hstack([x, v])" => Vector::concatenate(0, &[x, v]);
        "np.stack([a, e], axis=2)" => Array::<f64, 2>::stack(2, &[a, e]);
        "np.split(x, [3, 10])[1]" => x.split(0, &[3, 10])[1];
        "np.tile(b, (2, 3))" => b.tile([2, 3]);
        "np.repeat(b, 3, axis=1)" => b.repeat(1, 3);
        "np.repeat(b, k[:9] % 4, axis=1)" => b.repeat_counts(1, &(k.slice(..9) % 4))?;
        "np.flip(c, 1)" => c.flip(1);
        "np.rot90(c, 3, (0, 2))" => c.rot90(3, [0, 2]);
        "np.roll(x, 7)" => x.roll(0, 7);
        "np.roll(a, -2, axis=1)" => a.roll(1, -2);
        "np.pad(b, ((1, 2), (3, 0)))" => b.pad([(1, 2), (3, 0)], Padding::Constant(0.0));
        "np.pad(b, 2, mode='reflect')" => b.pad([(2, 2); 2], Padding::Reflect);
        "np.pad(b, 3, mode='edge')" => b.pad([(3, 3); 2], Padding::Edge);
        "np.pad(b, 3, mode='wrap')" => b.pad([(3, 3); 2], Padding::Wrap);
        "np.pad(b, 3, mode='symmetric')" => b.pad([(3, 3); 2], Padding::Symmetric);
        "np.broadcast_to(v, (4, 7))" => v.broadcast_to([4, 7]);
    }
    Ok(())
}

fn order(table: &mut Table, inputs: &Inputs) -> Outcome {
    let Inputs {
        x,
        y,
        n,
        k,
        l,
        q,
        c,
        ..
    } = inputs;
    rows! { table "order and sets":
        "np.sort(n)" => n.sort();
        "np.sort(c, axis=1)" => c.sort_axis(1);
        "np.argsort(k, kind='stable')" => k.argsort();
        "np.argsort(c, axis=0)" => c.argsort_axis(0);
        "np.searchsorted(q, x * 50)" => q.searchsorted(&(x * 50.0));
        "np.searchsorted(q, q, side='right')" => q.searchsorted_right(q);
        "np.unique(k)" => k.unique()?;
        "np.unique(k, return_counts=True)[1]" => k.unique_counts()?.1;
        "np.unique(k, return_inverse=True)[1]" => k.unique_inverse()?.1;
        "np.unique(k.reshape(500, 3) % 3, axis=0)" => (k.reshape([500, 3]) % 3).unique_axis(0)?;
        "np.unique(k.reshape(500, 3) % 3, axis=0, return_counts=True)[1]" => (k.reshape([500, 3]) % 3).unique_axis_counts(0)?.1;
        "np.unique(k.reshape(3, 500) % 3, axis=1, return_inverse=True)[1]" => (k.reshape([3, 500]) % 3).unique_axis_inverse(1)?.1;
        "np.isin(k, l)" => k.is_in(l);
        "np.intersect1d(k, l)" => k.intersection(l)?;
        "np.union1d(k, l)" => k.union(l)?;
        "np.setdiff1d(k, l)" => k.set_difference(l)?;
        "np.setxor1d(k, l)" => k.symmetric_difference(l)?;
        "np.flip(np.sort(y))" => y.sort().flip(0);
        "np.lexsort((l, k % 7))" => Vector::lexsort(&[l, &(k % 7)]);
        "np.partition(y, 20)[20]" => y.partition_axis(0, 20).slice(20..21);
    }
    Ok(())
}
