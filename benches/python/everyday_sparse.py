"""Everyday operations on sparse matrices here and in SciPy, in turn, on the same data.

    cargo bench -p sparsefuse-sparse --bench everyday --no-run
    python3 benches/python/everyday_sparse.py BINARY [BINARY ...] [--rows 1000,1000000] [--per-row 4]
        [--threads 1] [--rounds 5] [--only NAME] [--processor]

Matrices are square: two with entries anywhere, a tridiagonal one, and one of a grid. Each round runs the built bench
(or several of them, such as that of before a change) and then SciPy, each long enough to be timed.
Results are compared by shape, number of entries and a weighted sum. Prints the microseconds of each
binary and of SciPy, the medians of the rounds, and of the last binary the ratios to SciPy. For one
thread, pin everything to one core with taskset; on a busy machine, `--processor` counts the time for
which the thread had a processor.
"""

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"
import numpy as np
from scipy import sparse
from scipy.sparse import linalg


class Data:
    """What is worked on, and its files."""

    def __init__(self, n, per_row, folder):
        random = np.random.default_rng(1)
        size = n * per_row
        self.n = n

        def anywhere():
            rows, cols = random.integers(0, n, size), random.integers(0, n, size)
            return sparse.coo_array((random.random(size) - 0.5, (rows, cols)), (n, n))

        self.a, self.b = anywhere().tocsr(), anywhere().tocsr()
        values = [random.random(n), random.random(n) + 4, random.random(n)]
        self.tridiagonal = sparse.dia_array((np.array(values), [-1, 0, 1]), (n, n)).tocsr()
        self.two = sparse.csr_array(np.array([[1.0, 2.0], [3.0, 4.0]]))
        self.triplets = anywhere()
        # Half of the entries at the places of others.
        for indices in self.triplets.coords:
            indices[size // 2 :] = indices[: size - size // 2]
        self.factors = random.random(n)
        self.half, self.mixed = np.arange(0, n, 2), random.permutation(n)
        self.dense = self.a.toarray() if n <= 2000 else None
        self.row, self.column = sparse.dia_array(([self.factors], [0]), (n, n)), None
        self.grid, self.aggregates, self.elements = on_grid(math.isqrt(n), random)
        # Its rows backwards.
        coo, a = self.a.tocoo(), self.a
        order = np.lexsort((-coo.coords[1], coo.coords[0]))
        self.backwards = (a.data[order], a.indices[order], a.indptr)

        def write(name, array, kind):
            np.asarray(array).astype(kind).tofile(os.path.join(folder, name))

        for name in ("a", "b", "tridiagonal", "grid", "aggregates"):
            matrix = getattr(self, name)
            matrix.sort_indices()
            write(f"{name}.pos", matrix.indptr, np.uint64)
            write(f"{name}.crd", matrix.indices, np.uint64)
            write(f"{name}.vals", matrix.data, np.float64)
        for name in ("triplets", "elements"):
            triplets = getattr(self, name)
            write(f"{name}.rows", triplets.coords[0], np.uint64)
            write(f"{name}.cols", triplets.coords[1], np.uint64)
            write(f"{name}.vals", triplets.data, np.float64)
        write("factors", self.factors, np.float64)
        write("mixed", self.mixed, np.uint64)


def on_grid(side, random):
    """A five-point stencil with other values, what sums its points three by three, and the entries of
    the matrices of its elements, one element after the other."""
    places = np.arange(side * side).reshape(side, side)
    row, column = np.divmod(places.ravel(), side)
    pairs = [(places[:, :-1], places[:, 1:]), (places[:-1], places[1:])]
    pairs = np.concatenate([np.array([i.ravel(), j.ravel()]) for i, j in pairs], axis=1)
    both = np.concatenate([pairs, pairs[::-1], [places.ravel()] * 2], axis=1)
    shape = (side * side, side * side)
    grid = sparse.coo_array((random.random(both.shape[1]) - 0.5, tuple(both)), shape).tocsr()
    aggregate = row // 3 * -(-side // 3) + column // 3
    ones = (np.ones(side * side), (places.ravel(), aggregate))
    aggregates = sparse.coo_array(ones, (side * side, (-(-side // 3)) ** 2)).tocsr()
    corners = np.array([places[:-1, :-1], places[:-1, 1:], places[1:, :-1], places[1:, 1:]])
    corners = corners.reshape(4, -1).T
    rows, cols = np.repeat(corners, 4, axis=1).ravel(), np.tile(corners, 4).ravel()
    elements = sparse.coo_array((random.random(len(rows)) - 0.5, (rows, cols)), shape)
    return grid, aggregates, elements


def middle(matrix):
    """The rows and columns in the middle."""
    n = matrix.shape[0]
    return matrix[n // 4 : n // 4 * 3, n // 4 : n // 4 * 3]


def sorted_again(d):
    values, columns, positions = d.backwards
    matrix = sparse.csr_array((values.copy(), columns.copy(), positions), (d.n, d.n))
    matrix.sort_indices()
    return matrix


def large(matrix):
    """The entries above 0.25."""
    matrix = matrix.copy()
    matrix.data[np.abs(matrix.data) <= 0.25] = 0
    matrix.eliminate_zeros()
    return matrix


def scaled_rows(d):
    """Without the product with a diagonal matrix, which takes longer."""
    a = d.a
    values = a.data * np.repeat(d.factors, np.diff(a.indptr))
    return sparse.csr_array((values, a.indices, a.indptr), a.shape)


def scaled_columns(d):
    a = d.a
    return sparse.csr_array((a.data * d.factors[a.indices], a.indices, a.indptr), a.shape)


def norm(matrix, kind):
    return linalg.norm(matrix, kind)


WORKS = {
    "vstack": lambda d: sparse.vstack([d.a, d.b]),
    "vstack, tridiagonal": lambda d: sparse.vstack([d.tridiagonal, d.tridiagonal]),
    "hstack": lambda d: sparse.hstack([d.a, d.b], format="csr"),
    "block_diag": lambda d: sparse.block_diag([d.a, d.b], format="csr"),
    "block_array": lambda d: sparse.block_array([[d.a, d.b], [d.b, None]], format="csr"),
    "kron": lambda d: sparse.kron(d.tridiagonal, d.two, format="csr"),
    "sum_axis(0)": lambda d: d.a.sum(axis=0),
    "sum_axis(0), tridiagonal": lambda d: d.tridiagonal.sum(axis=0),
    "sum_axis(1)": lambda d: d.a.sum(axis=1),
    "sum_axis(1), tridiagonal": lambda d: d.tridiagonal.sum(axis=1),
    "sum": lambda d: d.a.sum(),
    "mean": lambda d: d.a.mean(),
    "norm_frobenius": lambda d: norm(d.a, "fro"),
    "norm1": lambda d: norm(d.a, 1),
    "norm_inf": lambda d: norm(d.a, np.inf),
    "norm_max": lambda d: abs(d.a).max(),
    "diagonal": lambda d: d.a.diagonal(),
    "diagonal, tridiagonal": lambda d: d.tridiagonal.diagonal(),
    "scale": lambda d: d.a * 1.5,
    "scale_rows": scaled_rows,
    "scale_columns": scaled_columns,
    "A B": lambda d: d.a @ d.b,
    "T T": lambda d: d.tridiagonal @ d.tridiagonal,
    "T A": lambda d: d.tridiagonal @ d.a,
    "A A": lambda d: d.a @ d.a,
    "grid grid": lambda d: d.grid @ d.grid,
    "galerkin": lambda d: d.aggregates.T @ d.grid @ d.aggregates,
    "select_rows, half": lambda d: d.a[d.half],
    "select_rows, mixed": lambda d: d.a[d.mixed],
    "select_columns, half": lambda d: d.a[:, d.half],
    "select_columns, mixed": lambda d: d.a[:, d.mixed],
    "row_range": lambda d: d.a[d.n // 4 : d.n // 4 * 3],
    "column_range": lambda d: d.a[:, d.n // 4 : d.n // 4 * 3],
    "block": lambda d: middle(d.a),
    "block, grid": lambda d: middle(d.grid),
    "grid + transpose": lambda d: d.grid + d.grid.T,
    "A + B": lambda d: d.a + d.b,
    "A - B": lambda d: d.a - d.b,
    "A + T": lambda d: d.a + d.tridiagonal,
    "multiply": lambda d: d.a * d.b,
    "triplets": lambda d: d.triplets.tocsr(),
    "triplets, elements": lambda d: d.elements.tocsr(),
    "transpose": lambda d: d.a.tocsc(),
    "to_coo": lambda d: d.a.tocoo(),
    "to_dense": lambda d: None if d.dense is None else d.a.toarray(),
    "from_dense": lambda d: None if d.dense is None else sparse.csr_array(d.dense),
    "lower_triangle": lambda d: sparse.tril(d.a, format="csr"),
    "upper_triangle": lambda d: sparse.triu(d.a, format="csr"),
    "abs": lambda d: abs(d.a),
    "drop_small": lambda d: large(d.a),
    "sort indices": sorted_again,
}


def fingerprint(name, made):
    """As sparse/benches/everyday.rs has it."""
    weight = lambda indices: indices % 7 + 1
    if name == "to_coo":
        return [made.nnz]
    if name == "transpose":
        made = made.T  # The same arrays: those of the transpose in row format.
    if sparse.issparse(made):
        coo = made.tocoo()
        rows, cols = coo.coords
        return [*made.shape, made.nnz, (coo.data * weight(rows) * weight(cols // 3)).sum()]
    if np.ndim(made) == 0:
        return [float(made)]
    made = np.asarray(made).reshape(-1)
    return [made.size, (made * weight(np.arange(made.size))).sum()]


def timed(work, data, repetitions, clock=time.perf_counter):
    begin = clock()
    for _ in range(repetitions):
        work(data)
    return (clock() - begin) / repetitions


def ask(process, repetitions, name):
    """The seconds of the operation in a process of the bench, those with a processor, and the
    fingerprint."""
    process.stdin.write(f"{repetitions} {name}\n")
    process.stdin.flush()
    answer = process.stdout.readline().split()
    if not answer:
        sys.exit(f"the bench has failed at {name}")
    return ([float(word) for word in answer] + [math.nan] if answer != ["none"] else [math.nan] * 3)


def row(processes, data, name, rounds, clock):
    """The figures of an operation as a line."""
    work = WORKS[name]
    expected = fingerprint(name, work(data))
    # The system tells the time with a processor to some milliseconds.
    seconds = 0.2 if clock is time.thread_time else 0.05
    repetitions = max(1, min(2000, int(seconds / timed(work, data, 1))))
    for process in processes:
        found = ask(process, 1, name)[2:-1]
        pairs = list(zip(found, expected))
        if len(found) != len(expected) or not all(math.isclose(*pair, rel_tol=1e-6) for pair in pairs):
            return f"{name:26} {found} here, {expected} in SciPy"
    times = []
    for _ in range(rounds):
        answers = [ask(process, repetitions, name) for process in processes]
        times.append([answer[int(clock is time.thread_time)] for answer in answers])
        times[-1].append(timed(work, data, repetitions, clock))
    medians = [statistics.median(column) * 1e6 for column in zip(*times)]
    ratios = sorted(here / there for *_, here, there in times)
    figures = "".join(f" {figure:11.1f}" for figure in medians)
    return f"{name:26}{figures} {medians[-2] / medians[-1]:7.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binaries", nargs="+")
    parser.add_argument("--rows", default="1000,1000000")
    parser.add_argument("--per-row", type=int, default=4)
    parser.add_argument("--threads", default="1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--processor", action="store_true")
    options = parser.parse_args()
    clock = time.thread_time if options.processor else time.perf_counter
    for n in map(int, options.rows.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            data = Data(n, options.per_row, folder)
            pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            processes = [
                subprocess.Popen([binary, folder, threads], **pipes)
                for binary in options.binaries
                for threads in options.threads.split(",")
            ]
            print(f"{n} rows, {data.a.nnz} and {data.tridiagonal.nnz} entries, microseconds")
            for name in WORKS:
                is_small = name not in ("to_dense", "from_dense") or data.dense is not None
                if options.only in name and is_small:
                    print(row(processes, data, name, options.rounds, clock), flush=True)
            for process in processes:
                process.stdin.close()
                process.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
