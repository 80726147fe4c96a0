"""Conjugate gradients and products by peers on a GPU, beside `sparsefuse solve --device cuda`.

Prints a line for each system: microseconds for a product y = A x and for an iteration of CG, by CuPy
(cuSPARSE and cuBLAS), and by a loop of CuPy that reads nothing back. Systems are those of
`poisson2d:N` and `poisson3d:N`. Needs cupy and scipy.

    python3 benches/python/gpu.py poisson2d:1024 poisson3d:128
"""

import sys
import time

import cupy
import cupyx.scipy.sparse as sparse
import cupyx.scipy.sparse.linalg as linalg
import numpy
import scipy.sparse


def poisson(name):
    """The matrix of a generator of `sparsefuse`: the 5-point or 7-point Laplacian."""
    kind, n = name.split(":")
    n = int(n)
    one = scipy.sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
    unit = scipy.sparse.identity(n)
    if kind == "poisson2d":
        full = scipy.sparse.kron(one, unit) + scipy.sparse.kron(unit, one)
    else:
        plane = scipy.sparse.kron(one, unit) + scipy.sparse.kron(unit, one)
        full = scipy.sparse.kron(plane, unit) + scipy.sparse.kron(
            scipy.sparse.identity(n * n), one
        )
    return full.tocsr()


def seconds(function, repeats):
    """The median time of some runs, each ended by a wait for the device."""
    function()
    cupy.cuda.Device().synchronize()
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(repeats):
            function()
        cupy.cuda.Device().synchronize()
        times.append((time.perf_counter() - begin) / repeats)
    return sorted(times)[2]


def unchecked_cg(a, b, iterations):
    """CG as a loop of array operations in which nothing is read back."""
    x = cupy.zeros_like(b)
    r = b.copy()
    p = r.copy()
    rho = r @ r
    for _ in range(iterations):
        q = a @ p
        alpha = rho / (p @ q)
        x += alpha * p
        r -= alpha * q
        before, rho = rho, r @ r
        p = r + (rho / before) * p
    return x


def main(names):
    print(f"{cupy.cuda.runtime.getDeviceProperties(0)['name'].decode()}, CuPy {cupy.__version__}")
    print("system, product us, cupy cg us an iteration, loop that reads nothing us an iteration")
    for name in names:
        host = poisson(name)
        a = sparse.csr_matrix(host)
        b = cupy.asarray(host @ numpy.ones(host.shape[0]))
        iterations = 100
        product = seconds(lambda: a @ b, 50)
        cg = seconds(lambda: linalg.cg(a, b, rtol=0.0, atol=0.0, maxiter=iterations), 1) / iterations
        loop = seconds(lambda: unchecked_cg(a, b, iterations), 1) / iterations
        print(f"{name}, {product * 1e6:.1f}, {cg * 1e6:.1f}, {loop * 1e6:.1f}", flush=True)


main(sys.argv[1:] or ["poisson2d:1024"])
