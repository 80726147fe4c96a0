"""The works of `benches/formats.rs` with SciPy, and with MKL where its package is installed.

Arguments: THREADS ROUNDS. SciPy computes these on one thread. MKL (`pip install mkl`) is called
through its C interface: `mkl_sparse_d_mv` on matrices by rows and by blocks, after
`mkl_sparse_optimize` with a hint of many products.
"""

import ctypes
import os
import sys
import time

THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else 1
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 9
for name in ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM"):
    os.environ[f"{name}_THREADS"] = str(THREADS)

import numpy as np
import scipy
from scipy import sparse


def uniform(start, stop=None):
    start, stop = (0, start) if stop is None else (start, stop)
    return of_numbers(np.arange(start, stop, dtype=np.uint64))


def of_numbers(numbers):
    mask = np.uint64(0xFFFFFFFF)
    bits = numbers.astype(np.uint64) * np.uint64(2654435761) & mask
    bits ^= bits >> np.uint64(15)
    bits = bits * np.uint64(2246822519) & mask
    bits ^= bits >> np.uint64(13)
    return bits.astype(np.float64) / 4294967296.0


def diagonals():
    n = 4_000_000
    columns = np.arange(n, dtype=np.uint64)
    offsets = np.arange(-5, 6)
    # Of row j - offset, column j; outside of the matrix it wraps, and is not read.
    numbers = [12 * columns + np.uint64(11 * -offset % 2**64) for offset in range(-5, 6)]
    data = [of_numbers(of_diagonal) - 0.5 for of_diagonal in numbers]
    return sparse.dia_array((np.array(data), offsets), shape=(n, n))


def elasticity(side, block):
    node = np.arange(side**3)
    places = (node % side, node // side % side, node // side // side)
    rows, cols = [], []
    for step in np.ndindex(3, 3, 3):
        near = [at + by - 1 for at, by in zip(places, step)]
        inside = np.all([(0 <= at) & (at < side) for at in near], axis=0)
        rows.append(node[inside])
        cols.append(((near[2] * side + near[1]) * side + near[0])[inside])
    rows, cols = np.concatenate(rows), np.concatenate(cols)
    order = np.lexsort((cols, rows))
    pos = np.searchsorted(rows[order], np.arange(side**3 + 1)).astype(np.int32)
    data = (uniform(len(rows) * block**2) - 0.5).reshape(-1, block, block)
    n = side**3 * block
    return sparse.bsr_array((data, cols[order].astype(np.int32), pos), shape=(n, n))


def scattered():
    n = 200_000
    columns = (uniform(20 * n) * n).astype(np.int32)
    rows = np.repeat(np.arange(n, dtype=np.int32), 20)
    return sparse.coo_array((np.ones(20 * n), (rows, columns)), shape=(n, n)).tocsr()


def load_mkl():
    for path in sys.path:
        name = os.path.join(path, "..", "..", "libmkl_rt.so.3")
        for name in (name, name[:-1] + "2"):
            if os.path.exists(name):
                return ctypes.CDLL(name)
    return None


class Descr(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("type", "mode", "diag")]


def mkl_product(mkl, a, x):
    """A product of MKL's with a matrix by rows or by blocks, optimised for many."""
    pointer = lambda array: ctypes.c_void_p(array.ctypes.data)
    handle, y = ctypes.c_void_p(), np.empty(a.shape[0])
    pos, crd = a.indptr.astype(np.int32), a.indices.astype(np.int32)
    vals = np.ascontiguousarray(a.data)
    ends = pos[1:].copy()
    common = (pointer(pos), pointer(ends), pointer(crd), pointer(vals))
    if isinstance(a, sparse.bsr_array):
        block = a.blocksize[0]
        shape = (a.shape[0] // block, a.shape[1] // block)
        # Indices from 0, blocks row by row.
        made = mkl.mkl_sparse_d_create_bsr(ctypes.byref(handle), 0, 101, *shape, block, *common)
    else:
        made = mkl.mkl_sparse_d_create_csr(ctypes.byref(handle), 0, *a.shape, *common)
    general = Descr(20, 0, 0)
    assert made == 0
    mkl.mkl_sparse_set_mv_hint(handle, 10, general, 1000)
    mkl.mkl_sparse_optimize(handle)
    one, zero = ctypes.c_double(1), ctypes.c_double(0)

    def run(keep=(pos, ends, crd, vals)):
        done = mkl.mkl_sparse_d_mv(10, one, handle, general, pointer(x), zero, pointer(y))
        assert done == 0
        return y

    return run


def sampled(s, width):
    """SciPy has no such product: by gathered rows."""
    x = (uniform(s.shape[0] * width) - 0.5).reshape(-1, width)
    rows = np.repeat(np.arange(s.shape[0]), np.diff(s.indptr))
    return lambda: s.data * np.einsum("ij,ij->i", x[rows], x[s.indices])


def measure(name, work):
    result = work()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
        if sum(times) > 5:
            break
    norm = np.linalg.norm(result.data if sparse.issparse(result) else result)
    print(f"{name:<28}{sorted(times)[len(times) // 2] * 1e3:>10.2f} ms   {norm:.15e}", flush=True)


def main():
    mkl = load_mkl()
    print(f"SciPy {scipy.__version__}, {THREADS} threads", flush=True)
    a = diagonals()
    x = uniform(a.shape[1]) - 0.5
    measure("SciPy dia, 11 diagonals", lambda: a @ x)
    rows = a.tocsr()
    measure("SciPy csr of it", lambda: rows @ x)
    if mkl:
        measure("MKL csr of it", mkl_product(mkl, rows, x))
    for side, block in ((40, 3), (32, 4)):
        a = elasticity(side, block)
        x = uniform(a.shape[1]) - 0.5
        measure(f"SciPy bsr {block}", lambda: a @ x)
        rows = a.tocsr()
        measure(f"SciPy csr of bsr {block}", lambda: rows @ x)
        if mkl:
            measure(f"MKL bsr {block}", mkl_product(mkl, a, x))
            measure(f"MKL csr of bsr {block}", mkl_product(mkl, rows, x))
    s = scattered()
    for width in (64, 16):
        measure(f"NumPy sddmm, {width} wide", sampled(s, width))
    measure("SciPy (A A) * A", lambda: (s @ s).multiply(s != 0))


main()
