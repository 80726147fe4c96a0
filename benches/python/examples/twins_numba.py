"""Some programs of `examples/` as loops for numba, fused by hand, on all its threads."""

import numpy as np
from clock import at_once, timed
from numba import njit, prange


@njit(parallel=True)
def mean27(u, v):
    n = u.shape[0]
    for i in prange(1, n - 1):
        for j in range(1, n - 1):
            for k in range(1, n - 1):
                total = 0.0
                for a in range(-1, 2):
                    for b in range(-1, 2):
                        for c in range(-1, 2):
                            total += u[i + a, j + b, k + c]
                v[i, j, k] = total / 27


def stencil27(n, steps):
    i, j, k = np.ogrid[:n, :n, :n]
    u = ((7 * i + 13 * j + 17 * k) % 101) / 101
    v = u.copy()
    for _ in timed(steps):
        mean27(u, v)
        u, v = v, u
    return u


@njit(parallel=True)
def pressure_source(u, v, b, h, dt):
    n = u.shape[0]
    for j in prange(1, n - 1):
        for i in range(n):
            e, w = (i + 1 if i + 1 < n else 0), (i - 1 if i > 0 else n - 1)
            ux, vx = (u[j, e] - u[j, w]) / (2 * h), (v[j, e] - v[j, w]) / (2 * h)
            uy, vy = (u[j + 1, i] - u[j - 1, i]) / (2 * h), (v[j + 1, i] - v[j - 1, i]) / (2 * h)
            b[j, i] = ((ux + vy) / dt - ux * ux - 2 * uy * vx - vy * vy) * (h * h / 4)


@njit(parallel=True)
def sweep(p, q, b):
    n = p.shape[0]
    for j in prange(1, n - 1):
        q[j, 0] = (p[j, 1] + p[j, n - 1] + p[j + 1, 0] + p[j - 1, 0]) / 4 - b[j, 0]
        for i in range(1, n - 1):
            q[j, i] = (p[j, i + 1] + p[j, i - 1] + p[j + 1, i] + p[j - 1, i]) / 4 - b[j, i]
        k = n - 1
        q[j, k] = (p[j, 0] + p[j, k - 1] + p[j + 1, k] + p[j - 1, k]) / 4 - b[j, k]
        if j == 1:
            q[0] = q[1]
        if j == n - 2:
            q[n - 1] = q[n - 2]


@njit(parallel=True)
def velocities(u, v, p, new_u, new_v, h, dt):
    n = u.shape[0]
    for j in prange(1, n - 1):
        for i in range(n):
            e, w = (i + 1 if i + 1 < n else 0), (i - 1 if i > 0 else n - 1)
            x, y = u[j, i], v[j, i]
            advection = x * (x - u[j, w]) + y * (x - u[j - 1, i])
            spread = u[j, e] + u[j, w] + u[j + 1, i] + u[j - 1, i] - 4 * x
            push = dt / (2 * h) * (p[j, e] - p[j, w])
            new_u[j, i] = x - dt / h * advection + 0.1 * dt / h**2 * spread - push + dt
            advection = x * (y - v[j, w]) + y * (y - v[j - 1, i])
            spread = v[j, e] + v[j, w] + v[j + 1, i] + v[j - 1, i] - 4 * y
            push = dt / (2 * h) * (p[j + 1, i] - p[j - 1, i])
            new_v[j, i] = y - dt / h * advection + 0.1 * dt / h**2 * spread - push


def channel_flow(n, steps, sweeps=50):
    h = 2 / (n - 1)
    dt = min(0.01, 0.2 * h * h / 0.1)
    u, v, p, new_u, new_v, q, b = (np.zeros((n, n)) for _ in range(7))
    for _ in timed(steps):
        pressure_source(u, v, b, h, dt)
        for _ in range(sweeps):
            sweep(p, q, b)
            p, q = q, p
        velocities(u, v, p, new_u, new_v, h, dt)
        u, v, new_u, new_v = new_u, new_v, u, v
    return u


@njit(parallel=True)
def star(u, out):
    n = u.shape[0]
    for i in prange(n):
        for j in range(n):
            if 2 <= i < n - 2 and 2 <= j < n - 2:
                near = u[i, j + 1] - u[i, j - 1] + u[i + 1, j] - u[i - 1, j]
                far = u[i, j + 2] - u[i, j - 2] + u[i + 2, j] - u[i - 2, j]
                out[i, j] += near / 4 + far / 8


def prk_stencil(n, steps):
    i, j = np.ogrid[:n, :n]
    u = (i + j).astype(float)
    out = np.zeros((n, n))
    for _ in timed(steps):
        star(u, out)
        u += 1
    return out


@njit(parallel=True)
def escape(n, steps):
    """It leaves a point when that has left, which array code cannot."""
    count = np.zeros((n, n), np.int64)
    for row in prange(n):
        for column in range(n):
            c_re, c_im = -2 + 3 * column / (n - 1), -1.5 + 3 * row / (n - 1)
            re = im = 0.0
            for _ in range(steps):
                re, im = re * re - im * im + c_re, 2 * re * im + c_im
                if re * re + im * im > 4:
                    break
                count[row, column] += 1
    return count


@njit(parallel=True)
def pull(x, force, softening):
    n = x.shape[1]
    for i in prange(n):
        a = b = c = 0.0
        for j in range(n):
            d, e, f = x[0, j] - x[0, i], x[1, j] - x[1, i], x[2, j] - x[2, i]
            square = d * d + e * e + f * f + softening * softening
            strength = 1 / (n * square * np.sqrt(square))
            a += d * strength
            b += e * strength
            c += f * strength
        force[0, i], force[1, i], force[2, i] = a, b, c


def n_body(n, steps, dt=0.01, softening=0.05):
    x = np.arange(n) * np.array([[0.8191725134], [0.6710436067], [0.5497004779]]) % 1
    v, force = np.zeros((3, n)), np.zeros((3, n))
    pull(x, force, softening)
    for _ in timed(steps):
        v += dt / 2 * force
        x += dt * v
        pull(x, force, softening)
        v += dt / 2 * force
    return x


TWINS = {
    "stencil27": stencil27,
    "channel_flow": channel_flow,
    "prk_stencil": prk_stencil,
    "mandelbrot": lambda n, steps: at_once(lambda: escape(n, steps)),
    "n_body": n_body,
}
