"""SciPy, PyAMG, NumPy, numexpr, numba and JAX as competitors; the variant names which.

Arguments: WORK MATRIX THREADS ITERATIONS VARIANT. MATRIX is a matrix file, or a number of elements
where the work has no sparse matrix. Packages are imported only where they are used.
"""

import os
import sys
import time

WORK, MATRIX, THREADS, ITERATIONS, VARIANT = sys.argv[1:]
THREADS, ITERATIONS = int(THREADS), int(ITERATIONS)
# Of the solve whose result is compared: few, so that rounding has not grown yet.
limit = min(ITERATIONS, 8)
# Before the packages are loaded, which read them once.
for name in ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "NUMEXPR_NUM", "NUMEXPR_MAX", "NUMBA_NUM"):
    os.environ[f"{name}_THREADS"] = str(THREADS)
if VARIANT == "jax":
    os.environ["JAX_PLATFORMS"] = "cpu"

import numpy as np

MULTIPLIERS = (2654435761, 3266489917, 668265263)
RATE, VOLATILITY = 0.02, 0.3
A, B, C = 1.5, -0.7, 0.25
SPMM_COLUMNS = 32


def uniform(n, stream=0):
    """The input: in [0, 1), a hash, with the same bits in every language."""
    mask = np.uint64(0xFFFFFFFF)
    bits = np.arange(n, dtype=np.uint64)
    bits = bits * np.uint64(MULTIPLIERS[stream]) & mask
    bits ^= bits >> np.uint64(15)
    bits = bits * np.uint64(2246822519) & mask
    bits ^= bits >> np.uint64(13)
    return bits.astype(np.float64) / 4294967296.0


def read_matrix():
    from scipy.sparse import csr_matrix

    n_rows, n_cols, nnz = (int(k) for k in np.fromfile(MATRIX, np.uint64, 3))
    pos = np.fromfile(MATRIX, np.uint64, n_rows + 1, offset=24).astype(np.int32)
    offset = 24 + 8 * (n_rows + 1)
    vals = np.fromfile(MATRIX, np.float64, nnz, offset=offset)
    crd = np.fromfile(MATRIX, np.int32, nnz, offset=offset + 8 * nnz)
    return csr_matrix((vals, crd, pos), shape=(n_rows, n_cols))


def product():
    a = read_matrix()
    x = uniform(a.shape[1]) - 0.5
    return lambda: a @ x


def solve():
    from scipy.sparse import linalg

    a = read_matrix()
    b = uniform(a.shape[0])
    if WORK == "gmres":
        # Its limit counts cycles.
        return lambda: linalg.gmres(
            a, b, rtol=0.0, atol=0.0, restart=min(limit, 30), maxiter=max(limit // 30, 1)
        )[0]
    method = {"cg": linalg.cg, "cgs": linalg.cgs, "bicgstab": linalg.bicgstab}[WORK]
    return lambda: method(a, b, rtol=0.0, atol=0.0, maxiter=limit)[0]


def eigenvalues():
    import warnings

    from scipy.sparse import linalg

    # That it has not converged is what is wanted.
    warnings.simplefilter("ignore")
    a = read_matrix()
    start = np.ascontiguousarray((uniform(4 * a.shape[0]) - 0.5).reshape(4, -1).T)
    # Numbers, not a vector. Its limit counts from 0.
    return lambda: tuple(
        np.sort(linalg.lobpcg(a, start, largest=False, tol=1e-300, maxiter=limit - 1)[0])
    )


def operation():
    """The works that make a matrix. That of A A is as SciPy leaves it, its rows unsorted."""
    a = read_matrix()
    if WORK == "multiply":
        return lambda: a @ a
    if WORK == "transpose":
        return lambda: a.T.tocsr()
    if WORK == "spmm":
        x = uniform(a.shape[1] * SPMM_COLUMNS).reshape(-1, SPMM_COLUMNS) - 0.5
        return lambda: a @ x
    triplets = make_triplets(a)
    return triplets.tocsr


def make_triplets(a):
    """As protocol.h does it: near the k-th entry, or anywhere."""
    from scipy.sparse import coo_matrix

    hashes = uniform(a.nnz)
    window = 4096 if WORK == "triplets" else a.nnz
    places = (np.arange(a.nnz) + (hashes * window).astype(np.int64)) % a.nnz
    rows = np.repeat(np.arange(a.shape[0], dtype=np.int32), np.diff(a.indptr))
    return coo_matrix((hashes - 0.5, (rows[places], a.indices[places])), shape=a.shape)


class Multigrid:
    """Conjugate gradients preconditioned by PyAMG, from a matrix in memory to the solution."""

    def __init__(self):
        import pyamg

        self.a = read_matrix()
        self.b = uniform(self.a.shape[0])
        # Since the batch began.
        self.seconds = self.setup = 0.0
        self.make = {
            "pyamg-sa": pyamg.smoothed_aggregation_solver,
            "pyamg-rs": pyamg.ruge_stuben_solver,
        }[VARIANT]

    def __call__(self):
        begin = time.perf_counter()
        hierarchy = self.make(self.a)
        self.setup += time.perf_counter() - begin
        self.residuals = []
        x = hierarchy.solve(self.b, tol=1e-8, accel="cg", residuals=self.residuals)
        self.seconds += time.perf_counter() - begin
        return x

    def print_solved(self, x):
        residual = np.linalg.norm(self.b - self.a @ x) / np.linalg.norm(self.b)
        print("solved", len(self.residuals) - 1, f"{residual:.17g}")


def prices(spot, strike, years, log, exp, sqrt, erf):
    """Calls and puts of Black and Scholes, as an array program."""
    root = sqrt(years) * VOLATILITY
    d1 = (log(spot / strike) + years * (RATE + 0.5 * VOLATILITY * VOLATILITY)) / root
    d2 = d1 - root
    cumulative = lambda x: (erf(x * 0.7071067811865476) + 1.0) * 0.5
    discounted = strike * exp(years * -RATE)
    call = spot * cumulative(d1) - discounted * cumulative(d2)
    put = discounted * cumulative(-d2) - spot * cumulative(-d1)
    return call, put


def options():
    n = int(MATRIX)
    spot, strike, years = 10 + 40 * uniform(n), 10 + 40 * uniform(n, 1), 1 + uniform(n, 2)
    if VARIANT == "numpy":
        from scipy.special import erf

        return lambda: prices(spot, strike, years, np.log, np.exp, np.sqrt, erf)
    if VARIANT == "jax":
        jax, jnp = load_jax()
        run = jax.jit(
            lambda s, k, t: prices(s, k, t, jnp.log, jnp.exp, jnp.sqrt, jax.scipy.special.erf)
        )
        inputs = [jnp.asarray(v) for v in (spot, strike, years)]
        return lambda: jax.block_until_ready(run(*inputs))
    call, put = np.empty(n), np.empty(n)
    if VARIANT == "numexpr":
        return numexpr_prices(spot, strike, years, call, put)
    import math

    numba = load_numba()

    @numba.njit(parallel=True, fastmath=False)
    def loop(spot, strike, years, call, put):
        for i in numba.prange(spot.size):
            root = math.sqrt(years[i]) * VOLATILITY
            drift = years[i] * (RATE + 0.5 * VOLATILITY * VOLATILITY)
            d1 = (math.log(spot[i] / strike[i]) + drift) / root
            d2 = d1 - root
            n1 = 0.5 * (math.erf(d1 * 0.7071067811865476) + 1.0)
            n2 = 0.5 * (math.erf(d2 * 0.7071067811865476) + 1.0)
            paid = strike[i] * math.exp(-RATE * years[i])
            call[i] = spot[i] * n1 - paid * n2
            put[i] = paid * (1.0 - n2) - spot[i] * (1.0 - n1)

    def run():
        loop(spot, strike, years, call, put)
        return call, put

    return run


def numexpr_prices(spot, strike, years, call, put):
    """numexpr has no erf; SciPy's runs on as many threads, each on its part of the vector."""
    from concurrent.futures import ThreadPoolExecutor

    import numexpr
    from scipy.special import erf

    pool = ThreadPoolExecutor(THREADS)
    first, second = np.empty_like(call), np.empty_like(call)
    cuts = np.linspace(0, call.size, THREADS + 1).astype(int)
    parts = [slice(begin, end) for begin, end in zip(cuts, cuts[1:])]

    def erf_in_place(x):
        list(pool.map(lambda part: erf(x[part], out=x[part]), parts))

    root = f"(sqrt(years) * {VOLATILITY})"
    drift = f"years * {RATE + 0.5 * VOLATILITY**2}"
    d1 = f"(log(spot / strike) + {drift}) / {root} * 0.7071067811865476"
    d2 = f"first - {root} * 0.7071067811865476"
    paid = f"strike * exp(years * {-RATE})"
    calls = f"0.5 * (spot * (first + 1) - {paid} * (second + 1))"
    puts = f"0.5 * ({paid} * (1 - second) - spot * (1 - first))"

    names = dict(spot=spot, strike=strike, years=years, first=first, second=second)

    def run():
        numexpr.evaluate(d1, names, out=first)
        numexpr.evaluate(d2, names, out=second)
        erf_in_place(first)
        erf_in_place(second)
        numexpr.evaluate(calls, names, out=call)
        numexpr.evaluate(puts, names, out=put)
        return call, put

    return run


def combination():
    """y = a x + b z - c, and the sum of y."""
    n = int(MATRIX)
    x, z = uniform(n), uniform(n, 1)
    if VARIANT == "numpy":

        def run():
            y = A * x + B * z - C
            return y, y.sum()

        return run
    if VARIANT == "jax":
        jax, jnp = load_jax()

        @jax.jit
        def compiled(x, z):
            y = A * x + B * z - C
            return y, y.sum()

        x, z = jnp.asarray(x), jnp.asarray(z)
        return lambda: jax.block_until_ready(compiled(x, z))
    y = np.empty(n)
    if VARIANT == "numexpr":
        import numexpr

        def run():
            numexpr.evaluate(f"{A} * x + {B} * z - {C}", {"x": x, "z": z}, out=y)
            return y, float(numexpr.evaluate("sum(y)", {"y": y}))

        return run
    numba = load_numba()

    @numba.njit(parallel=True, fastmath=False)
    def loop(x, z, y):
        total = 0.0
        for i in numba.prange(x.size):
            y[i] = A * x[i] + B * z[i] - C
            total += y[i]
        return total

    return lambda: (y, loop(x, z, y))


def jacobi():
    n = int(MATRIX)
    a = (uniform(n * n) / n).reshape(n, n)
    np.fill_diagonal(a, 0.0)
    b, d = uniform(n, 1), 2.0 + uniform(n, 2)
    if VARIANT == "jax":
        jax, jnp = load_jax()
        a, b, d = jnp.asarray(a), jnp.asarray(b), jnp.asarray(d)
        step = lambda _, x: (b - a @ x) / d
        run = jax.jit(lambda x, count: jax.lax.fori_loop(0, count, step, x))
        start = jnp.zeros(n)
        return lambda: jax.block_until_ready(run(start, limit))

    def run():
        x = np.zeros(n)
        for _ in range(limit):
            x = (b - a @ x) / d
        return x

    return run


def load_jax():
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    return jax, jnp


def load_numba():
    import numba

    numba.set_num_threads(THREADS)
    return numba


def version():
    package = VARIANT.split("-")[0]
    return f"{package} {__import__(package).__version__}"


def comparable(result):
    """A matrix is compared by its product with a vector and the number of its entries."""
    if WORK not in OPERATIONS:
        return result
    entries = result.size if WORK == "spmm" else result.nnz
    return result @ (uniform(result.shape[1]) - 0.5), float(entries)


def print_check(result):
    """The norm of the first result and eight elements; a second vector or a number likewise."""
    numbers = []
    for part in result if isinstance(result, tuple) else (result,):
        part = np.asarray(part)
        if part.ndim == 0:
            numbers.append(float(part))
            continue
        numbers.append(float(np.linalg.norm(part)))
        numbers += [float(part[k * (part.size - 1) // 7]) for k in range(8)]
    print("check", *(f"{number:.17g}" for number in numbers))
    print("ready", flush=True)


OPERATIONS = ("multiply", "spmm", "transpose", "triplets", "triplets-scattered")
WORKS = {
    "spmv": product,
    "cg": solve,
    "cgs": solve,
    "bicgstab": solve,
    "gmres": solve,
    "lobpcg": eigenvalues,
    **dict.fromkeys(OPERATIONS, operation),
    "gmg": Multigrid,
    "amg": Multigrid,
    "black-scholes": options,
    "combination": combination,
    "jacobi": jacobi,
}

print("version", version())
once = WORKS[WORK]()
result = once()
if isinstance(once, Multigrid):
    once.print_solved(result)
print_check(comparable(result))
del result
limit = ITERATIONS
for line in sys.stdin:
    repetitions = int(line.split()[1])
    if isinstance(once, Multigrid):
        once.seconds = once.setup = 0.0
    begin = time.perf_counter()
    for _ in range(repetitions):
        once()
    seconds = time.perf_counter() - begin
    if isinstance(once, Multigrid):
        print(f"seconds {once.seconds:.9g} {once.setup:.9g}", flush=True)
    else:
        print(f"seconds {seconds:.9g}", flush=True)
