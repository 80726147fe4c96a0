"""Compares each row of `dense/examples/numpy_parity.rs` with what NumPy gives, and writes docs/numpy.md.

    cargo build --release -p sparsefuse-dense --example numpy_parity
    python3 benches/python/numpy_parity.py target/release/examples/numpy_parity

Ends with an error if a row differs, so that no row of the page is only claimed.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

PAGE = Path(__file__).resolve().parents[2] / "docs" / "numpy.md"

HEAD = """# From NumPy

What NumPy's functions are called here, made by `benches/python/numpy_parity.py`, which computes each row on both sides and compares: the last column says how far the results are apart, relative to the largest element. NumPy rounds sums and functions in an order and in ways of its own, and these differ between its versions and machines; here they have the same bits on any machine, threads and ranks, but for linear algebra and Fourier transforms, whose last bits depend on the machine.

`x`, `y`, `p` are vectors of 1500 numbers, `n` has NaN among them, `q` is sorted, `z` complex; `k`, `l`, `i`, `j` are whole numbers; `a`, `b`, `e` are matrices, `g` is a square one, `c` has three dimensions. Ours may panic where NumPy raises; the method with `try_` in front returns the error.

"""

TAIL = """
## Not here

| NumPy | instead |
|---|---|
| elements of 8 and 16 bits, text, records, dates | |
| `np.gradient` without an axis, or with `edge_order=2` | `gradient` for each axis |
| `np.unique` with `return_index` | `argsort` and `unique_counts` |

Arrays have up to four dimensions.

## What differs

- Sums and products of whole numbers have the type of the elements, and wrap around: NumPy's of `i32` are `i64`. `k.cast::<i64>().sum()` is NumPy's `k.sum()`.
- `/` of whole numbers truncates, as Rust's does; `%` has the sign of the divisor, as NumPy's has. What belongs to `%` is `floor_div`, NumPy's `//`. NumPy's `/` of whole numbers is `k.cast::<f64>() / 7.0`. By 0 all three are 0.
- A slice that goes past the end is an error, where NumPy's ends there: `x.slice(10..x.len().min(20000))`.
- Operands have one element type: `cast` converts an array, `Complex::from` a number: `z * Complex::from(2.0)`. (If `z * 2.0` compiled, the type of `Vector::random_uniform([n], 1) * 2.0` could not be inferred.)
- What a reduction of real parts returns is a type of its own, which generic code has to name: `let norm: Scalar<T::Real> = x.norm2();`, or `let norm: T::Real = x.norm2().get()?;`. With elements of a known type it is `f64` or `f32`, and needs no annotation.
- `nan_max` and `nan_min` of nothing but NaN are the infinities that change no extremum, as `nan_sum` is 0; NumPy's are NaN, with a warning.
- Counts and positions are `i64`; `mask.count()` counts what is true, `k.count_nonzero()` what is not 0.
- `solve`, `inv` and the like, factorisations and eigenvalues compute in double precision by faer. Signs of vectors are not NumPy's in general (the rows above compare sizes), and the last bits depend on the instruction set of the machine.
- `fft` and the like compute in double precision, whatever the elements are; the axis is named: `a.fft_axis(1)`.
- `k.bincount(n)` has `n` counts, and a larger number is an error; NumPy's `minlength` is the least length.
- `mean`, `var`, `std`, `average` and `median` of whole numbers are those of `k.cast::<f64>()`.
- `quantile` of no element is an error, as in NumPy; `median` of none and `nan_quantile_axis` of lines without a number are NaN, as in NumPy too.
- Quantiles beside an infinity: where the place is that of one element, the quantile is that element, where NumPy's is NaN (`inf * 0`). `interp` with one point is NaN at NaN, where NumPy's is the value of that point.
- `nan_argmin` and `nan_argmax` of nothing but NaN are -1, where NumPy raises. `unravel_index` counts negative indices from the end, where NumPy refuses them.
- Complex functions of infinite or NaN numbers may differ in which part is NaN (`sin`, `cos`, `tanh`, powers, `1 / z`).
- `cov`, `corrcoef` and `polyfit` of `f32` compute in `f32`, where NumPy does in `f64`. `partition_axis` sorts vectors and short lines. `sinc` is 0 at whole numbers, where NumPy's is about 1e-17. `copysign` takes a NaN for positive. Roots of polynomials have no order.
- Letters of `einsum` do not broadcast, only the axes of `...` of `einsum_all` do. A result without axes is an array of no dimensions.
- `polyval` begins with the first coefficient, where NumPy adds it to `0 * x`: of an infinite `x` it is infinite or, if the polynomial is constant, that constant, where NumPy's is NaN.
- `gradient_at` has NumPy's formula for any abscissas also where these are equally spaced, for which NumPy has a shorter one, without the middle element; that is `gradient`.
- A whole number to a negative power is 0, or 1 or -1 of 1 and -1, where NumPy refuses it. `ravel_multi_index` counts negative indices from the end, where NumPy refuses them.
- Text files, `np.loadtxt` and `np.savetxt`, are `Array::<f64, 2>::load_txt(path, &TextInput::default())?` and `a.save_txt(path, &TextOutput::default())?`, which writes as few digits as say which number it is.
- Files of NumPy are read in either order of bytes (`<f8`, `>f8`) and of elements, and written little-endian, row by row.
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        rows, failed = compare(Path(folder))
    for row in failed:
        print(*row, sep="\n    ", file=sys.stderr)
    if failed:
        sys.exit(f"{len(failed)} of {len(rows)} rows differ")
    PAGE.write_text(HEAD + table(rows) + TAIL)
    print(f"{len(rows)} rows agree with NumPy {np.__version__}")


def compare(folder):
    names = {"np": np}
    for path in folder.glob("*.npy"):
        if not path.stem.isdigit():
            names[path.stem] = np.load(path)
    rows, failed = [], []
    for line in (folder / "rows.tsv").read_text().splitlines():
        number, area, numpy, ours = line.split("\t")
        found = np.atleast_1d(np.load(folder / f"{number}.npy"))
        with np.errstate(all="ignore"):
            expected = np.atleast_1d(eval(numpy, dict(names)))
        outcome = difference(found, expected, 1e-13 if area == "linear algebra" else 4e-15)
        rows.append((area, numpy, ours, outcome))
        if outcome is None:
            failed.append((numpy, ours, f"{expected.dtype}{expected.shape}", f"{found.dtype}{found.shape}"))
    return rows, failed


def difference(found, expected, limit):
    """How far the results are apart, as text; None if they do not agree."""
    if found.shape != expected.shape or found.dtype.kind != expected.dtype.kind:
        return None
    if np.array_equal(found, expected, equal_nan=found.dtype.kind in "fc"):
        return "equal"
    if found.dtype.kind not in "fc" or not np.array_equal(np.isnan(found), np.isnan(expected)):
        return None
    size = np.nanmax(np.abs(expected))
    distance = np.nanmax(np.abs(found - expected)) / size
    return f"{distance:.0e}" if distance <= limit else None


def table(rows):
    text, last = [], None
    for area, numpy, ours, outcome in rows:
        if area != last:
            text.append(f"{'' if last is None else chr(10)}## {area.capitalize()}\n\n| NumPy | here | apart |\n|---|---|--:|\n")
            last = area
        cells = [cell.replace("|", "\\|") for cell in (numpy, ours)]
        text.append(f"| `{cells[0]}` | `{cells[1]}` | {outcome} |\n")
    return "".join(text)


if __name__ == "__main__":
    main()
