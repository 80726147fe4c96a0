"""Sorts, searches, histograms, quantiles, scans, masks and products of narrow matrices here and in NumPy, in turn.

    cargo bench -p sparsefuse-dense --bench order --no-run
    python3 benches/python/order.py BINARY [BINARY ...] [--len 10000000] [--rounds 3] [--only NAME]

Each round runs the built bench (or several of them, such as that of before a change) and then the same
work in NumPy on one thread. Prints milliseconds: of each binary on 1 and 2 threads and of NumPy the
median of the rounds, each of which is a median of 5.
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


def works(n):
    """The names of the bench, and the same in NumPy."""
    random = np.random.default_rng(1)
    x = random.random(n)
    single, k = x.astype(np.float32), (x * 1e9).astype(np.int64)
    anywhere = (random.random(n) * n).astype(np.int64)
    below, table = anywhere % 1000, np.sort(x[:1000])
    tall = x[: n // 50 * 50].reshape(-1, 50)
    side = int(n**0.5)
    square = x[: side * side].reshape(side, side)
    narrow, small = x[: n // 4 * 4].reshape(-1, 4), x[:16].reshape(4, 4)

    def put():
        changed = x.copy()
        changed[anywhere] = x

    return {
        "sort, f64": lambda: np.sort(x),
        "sort, f32": lambda: np.sort(single),
        "sort, i64": lambda: np.sort(k),
        "argsort, f64": lambda: np.argsort(x, kind="stable"),
        "searchsorted in 1000": lambda: np.searchsorted(table, x),
        "is_in, i64": lambda: np.isin(k, anywhere),
        "is_in, f64 in 1000": lambda: np.isin(x, table),
        "X^T X, tall": lambda: tall.T @ tall,
        "X^T X, narrow": lambda: narrow.T @ narrow,
        "X S, narrow": lambda: narrow @ small,
        "S X^T, narrow": lambda: small @ narrow.T,
        "x[x > 0.5]": lambda: x[x > 0.5],
        "unique, f64": lambda: np.unique(x),
        "unique, i64": lambda: np.unique(k, sorted=True),
        "flat_nonzero": lambda: np.flatnonzero(x > 0.5),
        "histogram, 100 bins": lambda: np.histogram(x, 100, (0, 1)),
        "bincount, 1000": lambda: np.bincount(below, minlength=1000),
        "bincount with weights": lambda: np.bincount(below, x, 1000),
        "median": lambda: np.median(x),
        "quantile": lambda: np.quantile(x, 0.25),
        "cumsum, f64": lambda: np.cumsum(x),
        "cumsum, i64": lambda: np.cumsum(k),
        "cumprod, f64": lambda: np.cumprod(x),
        "take, anywhere": lambda: np.take(x, anywhere),
        "put, anywhere": put,
        "sum_axis(0), tall": lambda: tall.sum(0),
        "sum_axis(1), tall": lambda: tall.sum(1),
        "sum_axis(0), square": lambda: square.sum(0),
        "sum_axis(1), square": lambda: square.sum(1),
        "X^T r, tall": lambda: tall.T @ np.ascontiguousarray(tall[:, 0]),
        "argmax_axis(0), square": lambda: square.argmax(0),
        "argmax_axis(1), square": lambda: square.argmax(1),
        "any": lambda: np.any(x > 2.0),
        "var": lambda: np.var(x),
        "atan": lambda: np.arctan(x),
    }


def timed(work):
    """Milliseconds, the median of 5; of what takes seconds, of 1."""
    times = []
    for number in range(6):
        begin = time.perf_counter()
        work()
        times.append((time.perf_counter() - begin) * 1e3)
        if times[-1] > 3000:
            return times[-1]
    return statistics.median(times[1:])


def of_binary(binary, name, n):
    """Milliseconds on 1 and on 2 threads."""
    command = [binary, name, "--len", str(n)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in printed.splitlines():
        if line.startswith(f"{name} "):
            return [float(field) for field in line.split()[-2:]]
    return [float("nan")] * 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binaries", nargs="+")
    parser.add_argument("--len", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    for name, work in works(options.len).items():
        if options.only not in name:
            continue
        rounds = []
        for _ in range(options.rounds):
            figures = [of_binary(binary, name, options.len) for binary in options.binaries]
            rounds.append([time for pair in figures for time in pair] + [timed(work)])
        medians = [statistics.median(times) for times in zip(*rounds)]
        print(f"{name:24}" + "".join(f" {time:10.4f}" for time in medians), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
