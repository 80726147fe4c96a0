"""Differential equations in time here and by SciPy's solve_ivp, in turn.

    cargo bench -p sparsefuse-solvers --bench ode --no-run
    python3 benches/python/ode.py BINARY [--sizes 30,100,200] [--rounds 3]

Prints the milliseconds of an integration on one thread, on two, and by SciPy, the medians of the
rounds, and the steps. Results are compared. SciPy factors with SuperLU.
"""

import argparse
import os
import statistics
import subprocess
import time

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"
import numpy as np
from scipy import sparse
from scipy.integrate import solve_ivp


def laplacian(n):
    ones = np.ones(n)
    line = sparse.diags_array([ones[1:], -2 * ones, ones[1:]], offsets=[-1, 0, 1])
    eye = sparse.eye_array(n)
    return ((sparse.kron(line, eye) + sparse.kron(eye, line)) * (n + 1.0) ** 2).tocsr()


def bump(n):
    x = np.arange(1, n + 1) / (n + 1)
    along = x * (1 - x)
    return np.outer(along * np.exp(x), along).ravel()


def explicit(n):
    a = laplacian(n)
    return solve_ivp(lambda t, y: a @ y, (0, 60 / (n + 1) ** 2), bump(n), rtol=1e-4)


def implicit(n):
    a = laplacian(n)
    jac = a.tocsc()
    return solve_ivp(lambda t, y: a @ y, (0, 0.1), bump(n), method="BDF", rtol=1e-4, jac=jac)


def reaction(n):
    a = laplacian(n)
    jac = a.tocsc()

    def of_state(t, y):
        return jac + sparse.diags_array(4 * np.exp(4 * y), format="csc")

    def slope(t, y):
        return a @ y + np.exp(4 * y)

    return solve_ivp(slope, (0, 0.5), bump(n), method="BDF", rtol=1e-4, jac=of_state)


def wave(n):
    a, m = laplacian(n), n * n

    def slope(t, y):
        return np.concatenate([y[m:], a @ y[:m]])

    begin = np.concatenate([bump(n), np.zeros(m)])
    span = (0, 20 * np.pi / n)
    return solve_ivp(slope, span, begin, method="DOP853", rtol=1e-6, atol=1e-9)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--sizes", default="30,100,200")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print("problem, size: ms on one thread, on two, SciPy, ratios; steps, evaluations")
    for solve in (explicit, implicit, reaction, wave):
        for n in map(int, arguments.sizes.split(",")):
            times = [[], [], []]
            for _ in range(arguments.rounds):
                for threads in (1, 2):
                    words = [arguments.binary, solve.__name__, str(n), str(threads)]
                    if threads == 1:
                        words = ["taskset", "-c", "0", *words]
                    output = subprocess.run(words, capture_output=True, text=True, check=True)
                    seconds, steps, evaluations, largest = output.stdout.split()
                    times[threads - 1].append(float(seconds))
                begin = time.perf_counter()
                solved = solve(n)
                times[2].append(time.perf_counter() - begin)
                # At the border of stability, rounding decides which steps are tried again.
                assert abs(float(largest) - solved.y[:, -1].max()) <= 1e-3 * abs(float(largest))
                assert abs(int(evaluations) - solved.nfev) <= 0.02 * solved.nfev, solved.nfev
            one, two, scipy = (1e3 * statistics.median(some) for some in times)
            print(
                f"{solve.__name__:10} {n:4} {one:9.2f} {two:9.2f} {scipy:9.2f}"
                f" {scipy / one:6.2f} {scipy / two:6.2f} {steps:>6} {evaluations:>6}",
                flush=True,
            )


if __name__ == "__main__":
    main()
