"""Everyday operations here and in NumPy, in turn, one thread each, with the same data.

    cargo bench -p sparsefuse-dense --bench everyday --no-run
    python3 benches/python/everyday.py BINARY [BINARY ...] [--len 1000000] [--rounds 3] [--only NAME]

For each operation, a round runs the built bench (or several of them, such as that of before a change) and
then NumPy, pinned to the same core, each for some hundred milliseconds of which the shortest counts.
Prints microseconds: of each binary and of NumPy the median of the rounds, the ratio of the last binary to
NumPy, the smallest and the largest of the rounds; and says where the results differ.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"
import numpy as np

MEASURED, ROUND = 0.3, 0.005


def uniform(n, seed):
    """Numbers between 0 and 1: the finalizer of SplitMix64 of the place."""
    bits = (np.arange(n, dtype=np.uint64) + np.uint64(seed << 40)) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((bits ^ (bits >> np.uint64(31))) >> np.uint64(11)) / 2.0**53


def works(n):
    """The names of the bench, and the same in NumPy."""
    x, y = uniform(n, 1), uniform(n, 2)
    single, z = x.astype(np.float32), x + 1j * y
    k, l = (x * 2e9).astype(np.int64) - 1_000_000_000, (y * 1e3).astype(np.int64) + 1
    k32, l32, u32 = k.astype(np.int32), l.astype(np.int32), (k + 1_000_000_000).astype(np.uint32)
    anywhere = (uniform(n, 3) * n).astype(np.int64)
    below, mask, other = anywhere % 1000, y > 0.5, x > 0.5
    side, rows = int(n**0.5), n // 50
    square, tall = x[: side * side].reshape(side, side).copy(), x[: rows * 50].reshape(rows, 50).copy()
    random = np.random.default_rng(1)

    def add_at(at, size):
        sums = np.zeros(size)
        np.add.at(sums, at, x)
        return sums

    def changed(change):
        copy = x.copy()
        change(copy)
        return copy

    return {
        "max": lambda: x.max(),
        "min": lambda: x.min(),
        "max, f32": lambda: single.max(),
        "max, i64": lambda: k.max(),
        "max, i32": lambda: k32.max(),
        "argmax": lambda: x.argmax(),
        "argmin": lambda: x.argmin(),
        "argmax, i64": lambda: k.argmax(),
        "argmax, f32": lambda: single.argmax(),
        "max_axis(0)": lambda: square.max(0),
        "max_axis(1)": lambda: square.max(1),
        "max_axis(1), rows of 50": lambda: tall.max(1),
        "argmax_axis(0)": lambda: square.argmax(0),
        "argmax_axis(1)": lambda: square.argmax(1),
        "argmax_axis(1), rows of 50": lambda: tall.argmax(1),
        "sum": lambda: x.sum(),
        "sum, f32": lambda: single.sum(),
        "sum, i64": lambda: k.sum(),
        "sum, i32": lambda: k32.sum(dtype=np.int32),
        "prod": lambda: x.prod(),
        "mean": lambda: x.mean(),
        "var": lambda: x.var(),
        "std": lambda: x.std(),
        "norm2": lambda: np.linalg.norm(x),
        "norm_inf": lambda: np.linalg.norm(x, np.inf),
        "dot": lambda: x.dot(y),
        "dot, f32": lambda: single.dot(single),
        "any": lambda: mask.any(),
        "all": lambda: mask.all(),
        "count": lambda: np.count_nonzero(mask),
        "count_nonzero": lambda: np.count_nonzero(k),
        "sum_axis(0)": lambda: square.sum(0),
        "sum_axis(1)": lambda: square.sum(1),
        "mean_axis(0)": lambda: square.mean(0),
        "var_axis(0)": lambda: square.var(0),
        "var_axis(1)": lambda: square.var(1),
        "std_axis(1)": lambda: square.std(1),
        "any_axis(0)": lambda: (square > 0.5).any(0),
        "bincount": lambda: np.bincount(below, minlength=1000),
        "bincount, weighted": lambda: np.bincount(below, x, 1000),
        "add_at": lambda: add_at(anywhere, n),
        "add_at, 1000 elements": lambda: add_at(below, 1000),
        "put": lambda: changed(lambda copy: copy.put(anywhere, y)),
        "take": lambda: x.take(anywhere),
        "take_axis(0)": lambda: tall.take(rows - 1 - np.arange(rows), 0),
        "repeat": lambda: x.repeat(3),
        "repeat axis 1": lambda: square.repeat(2, 1),
        "tile": lambda: np.tile(x, 3),
        "pad": lambda: np.pad(x, 5),
        "pad, edge": lambda: np.pad(x, 5, "edge"),
        "pad, matrix": lambda: np.pad(square, 2),
        "roll": lambda: np.roll(x, 7),
        "flip": lambda: np.flip(x).copy(),
        "concatenate": lambda: np.concatenate([x, y]),
        "concatenate axis 1": lambda: np.concatenate([square, square], 1),
        "stack axis 0": lambda: np.stack([x, y]),
        "stack axis 1": lambda: np.stack([x, y], 1),
        "where": lambda: np.where(mask, x, y),
        "nonzero": lambda: np.flatnonzero(mask),
        "compress": lambda: x[mask],
        "x[x > 0.5]": lambda: x[x > 0.5],
        "compress_axis(0)": lambda: tall[mask[:rows]],
        "assign_where": lambda: changed(lambda copy: np.putmask(copy, mask, 0.0)),
        "unique, i64": lambda: np.unique(below),
        "unique, f64": lambda: np.unique(x),
        "sort": lambda: np.sort(x),
        "argsort": lambda: np.argsort(x, kind="stable"),
        "searchsorted": lambda: np.sort(x[:100]).searchsorted(y),
        "median": lambda: np.median(x),
        "cumsum": lambda: x.cumsum(),
        "cumsum, i64": lambda: k.cumsum(),
        "cumprod": lambda: x.cumprod(),
        "cumsum_axis(0)": lambda: square.cumsum(0),
        "cumsum_axis(1)": lambda: square.cumsum(1),
        "diff": lambda: np.diff(x),
        "clamp": lambda: x.clip(0.25, 0.75),
        "i64 / i64": lambda: truncated(k, l),
        "i64 / 7": lambda: truncated(k, 7),
        "i64 % i64": lambda: k % l,
        "i64 % 7": lambda: k % 7,
        "i32 / i32": lambda: truncated(k32, l32),
        "i32 % i32": lambda: k32 % l32,
        "i32 % 7": lambda: k32 % 7,
        "u32 % 7": lambda: u32 % 7,
        "f64 % f64": lambda: x % y,
        "i64 * i64": lambda: k * l,
        "i32 + i32": lambda: k32 + l32,
        "k & 255": lambda: k & 255,
        "random_normal": lambda: random.standard_normal(n),
        "random_uniform": lambda: random.random(n),
        "random integers": lambda: random.integers(0, 10**6, n),
        "x + y": lambda: x + y,
        "x + y, f32": lambda: single + single,
        "x / y": lambda: x / y,
        "x * 2": lambda: x * 2.0,
        "z * z": lambda: z * z,
        "abs, complex": lambda: np.abs(z),
        "sqrt": lambda: np.sqrt(x),
        "exp": lambda: np.exp(x),
        "exp, f32": lambda: np.exp(single),
        "ln": lambda: np.log(x),
        "sin": lambda: np.sin(x),
        "tanh": lambda: np.tanh(x),
        "x ** 1.5": lambda: x**1.5,
        "atan2": lambda: np.arctan2(x, y),
        "floor": lambda: np.floor(x * 10.0),
        "round": lambda: np.round(x * 10.0),
        "maximum": lambda: np.maximum(x, y),
        "abs": lambda: np.abs(x - 0.5),
        "x > y": lambda: x > y,
        "x == y": lambda: x == y,
        "i64 > i64": lambda: k > l,
        "is_nan": lambda: np.isnan(x),
        "mask & other": lambda: mask & other,
        "f64 to f32": lambda: x.astype(np.float32),
        "f64 to i64": lambda: (x * 1e3).astype(np.int64),
        "f64 to i32": lambda: (x * 1e3).astype(np.int32),
        "i64 to f64": lambda: k.astype(np.float64),
        "f32 to f64": lambda: single.astype(np.float64),
        "bool to f64": lambda: mask.astype(np.float64),
        "i64 to i32": lambda: k.astype(np.int32),
        "every second": lambda: x[::2].copy(),
        "columns, every second": lambda: square[:, ::2] + 1.0,
        "transpose": lambda: square.T.copy(),
        "a + a^T": lambda: square + square.T,
        "transpose, tall": lambda: tall.T.copy(),
        "outer": lambda: np.outer(x[:1000], y[: n // 1000]),
        "a - mean(0)": lambda: square - square.mean(0),
        "matvec": lambda: square @ y[:side],
        "histogram": lambda: np.histogram(x, 100, (0, 1))[0],
        "zeros": lambda: np.full(n, 0.0),
        "arange": lambda: np.arange(n),
        "linspace": lambda: np.linspace(0.0, 1.0, n),
    }


# NumPy has no division of whole numbers that truncates: its floors stand beside ours, and where the
# signs differ so do the results.
truncated = np.floor_divide
INCOMPARABLE = ("random", "i64 / ", "i32 / ", "round")


def check(result):
    """Three elements of the result, added."""
    flat = np.atleast_1d(result).ravel()
    if flat.size == 1:
        return float(flat[0])
    total = sum(flat[place].astype(complex) for place in (0, flat.size // 3, flat.size - 1))
    return total.real + total.imag


def measured(work):
    """Microseconds of one call, and what it found."""
    begun = time.perf_counter()
    found = check(work())
    while time.perf_counter() - begun < MEASURED / 3:
        work()
    times, begun = [], time.perf_counter()
    while time.perf_counter() - begun < MEASURED or len(times) < 3:
        calls, start = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - start) < ROUND:
            work()
            calls += 1
        times.append(elapsed * 1e6 / calls)
    return min(times), found


def of_binary(binary, name, n):
    command = [binary, name, "--len", str(n)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    _, microseconds, found = printed.strip().split("\t")
    return float(microseconds), float(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binaries", nargs="+")
    parser.add_argument("--len", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for name, work in works(options.len).items():
        if options.only not in name:
            continue
        rounds = []
        for _ in range(options.rounds):
            figures = [of_binary(binary, name, options.len) for binary in options.binaries]
            rounds.append(figures + [measured(work)])
        medians = [statistics.median(time for time, _ in column) for column in zip(*rounds)]
        ratios = [figures[-2][0] / figures[-1][0] for figures in rounds]
        (*_, (_, ours), (_, peer)) = rounds[0]
        differs = not name.startswith(INCOMPARABLE) and not np.isclose(ours, peer, 1e-6, 1e-300)
        print(
            f"{name:28}" + "".join(f" {time:10.2f}" for time in medians),
            f"{statistics.median(ratios):6.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
            f"differs: {ours} {peer}" if differs else "",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
