"""Some programs of `examples/` in JAX: each step, or all steps, is one jitted function."""

from functools import partial

import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np
from clock import at_once


def repeated(step):
    """The step as many times as asked, in one compiled function; arguments that stay are passed."""
    loop = jax.jit(
        lambda state, fixed, steps: jax.lax.fori_loop(0, steps, lambda _, s: step(s, *fixed), state)
    )

    def run(state, fixed, steps):
        state, fixed = jax.block_until_ready((state, fixed))
        return at_once(lambda: jax.block_until_ready(loop(state, fixed, steps)))

    return run


@repeated
def mean27(u):
    n = u.shape[0]
    total = jnp.zeros((n - 2, n - 2, n - 2))
    for a in range(3):
        for b in range(3):
            for c in range(3):
                total += u[a : n - 2 + a, b : n - 2 + b, c : n - 2 + c]
    return u.at[1:-1, 1:-1, 1:-1].set(total / 27)


def stencil27(n, steps):
    i, j, k = np.ogrid[:n, :n, :n]
    u = jnp.asarray(((7 * i + 13 * j + 17 * k) % 101) / 101)
    return mean27(u, (), steps)


def east(f):
    return jnp.roll(f[1:-1], -1, axis=1)


def west(f):
    return jnp.roll(f[1:-1], 1, axis=1)


@repeated
def channel_step(state, h, dt):
    u, v, p = state
    du_dx, dv_dx = ((east(f) - west(f)) / (2 * h) for f in (u, v))
    du_dy, dv_dy = ((f[2:] - f[:-2]) / (2 * h) for f in (u, v))
    b = (du_dx + dv_dy) / dt - du_dx**2 - 2 * du_dy * dv_dx - dv_dy**2
    b = b * (h * h / 4)

    def sweep(_, p):
        inner = (east(p) + west(p) + p[2:] + p[:-2]) / 4 - b
        return jnp.concatenate([inner[:1], inner, inner[-1:]])

    p = jax.lax.fori_loop(0, 50, sweep, p)

    def advected(f):
        here = f[1:-1]
        along = u[1:-1] * (here - west(f)) + v[1:-1] * (here - f[:-2])
        spread = east(f) + west(f) + f[2:] + f[:-2] - 4 * here
        return here - dt / h * along + 0.1 * dt / h**2 * spread

    new_u = advected(u) - dt / (2 * h) * (east(p) - west(p)) + dt
    new_v = advected(v) - dt / (2 * h) * (p[2:] - p[:-2])
    return u.at[1:-1].set(new_u), v.at[1:-1].set(new_v), p


def channel_flow(n, steps):
    h = 2 / (n - 1)
    zero = jnp.zeros((n, n))
    dt = min(0.01, 0.2 * h * h / 0.1)
    return channel_step((zero, zero, zero), (h, dt), steps)[0]


def outflow_in_x(state, g=9.81, theta=1.3):
    q = jnp.pad(state, ((0, 0), (0, 0), (2, 2)), mode="symmetric")
    q = q.at[1, :, :2].multiply(-1).at[1, :, -2:].multiply(-1)
    step = jnp.diff(q)
    below, above = step[..., :-1], step[..., 1:]
    middle = (below + above) / 2
    least = jnp.minimum(jnp.minimum(theta * below, theta * above), middle)
    largest = jnp.maximum(jnp.maximum(theta * below, theta * above), middle)
    half_slope = (jnp.maximum(least, 0) + jnp.minimum(largest, 0)) / 2
    left = q[..., 1:-2] + half_slope[..., :-1]
    right = q[..., 2:-1] - half_slope[..., 1:]

    def flux(side):
        h, m, t = side
        u = m / h
        return jnp.stack([m, m * u + g * h * h / 2, t * u]), u, jnp.sqrt(g * h)

    (f_left, u_left, c_left), (f_right, u_right, c_right) = flux(left), flux(right)
    plus = jnp.maximum(jnp.maximum(u_left + c_left, u_right + c_right), 0)
    minus = jnp.minimum(jnp.minimum(u_left - c_left, u_right - c_right), 0)
    through = plus * f_left - minus * f_right + plus * minus * (right - left)
    return jnp.diff(through / (plus - minus)), jnp.maximum(plus, -minus).max()


def outflow(state):
    along_x, fastest_x = outflow_in_x(state)
    swapped = jnp.stack([state[0], state[2], state[1]]).swapaxes(1, 2)
    h, v, u = outflow_in_x(swapped)[0].swapaxes(1, 2)
    fastest_y = outflow_in_x(swapped)[1]
    return along_x + jnp.stack([h, u, v]), jnp.maximum(fastest_x, fastest_y)


@repeated
def shallow_step(state):
    out, fastest = outflow(state)
    ratio = 0.25 / fastest
    first = state - ratio * out
    return (state + first - ratio * outflow(first)[0]) / 2


def shallow_water(n, steps):
    centre = (np.arange(n) + 0.5) / n - 0.5
    h = np.where(np.hypot(centre, centre[:, None]) <= 0.2, 2.0, 1.0)
    state = jnp.asarray(np.stack([h, np.zeros((n, n)), np.zeros((n, n))]))
    return shallow_step(state, (), steps)[0]


@repeated
def descend(w, x, y):
    p = 1 / (1 + jnp.exp(-(x @ w)))
    return w - 2 / x.shape[0] * (x.T @ (p - y))


@partial(jax.jit, static_argnums=0)
def samples(n):
    i, j = jnp.arange(n)[:, None], jnp.arange(50)
    x = (7 * i + 13 * j + i * j) % 101 / 101 - 0.5
    return x, (x @ (1.0 - 2 * (j % 2)) > 0).astype(float)


def logistic_regression(n, steps):
    return descend(jnp.zeros(50), samples(n), steps)


@repeated
def relax(x, r, b):
    return (b - r @ x) / 2


def jacobi(n, steps):
    i, j = np.ogrid[:n, :n]
    r = (7 * i + 13 * j) % 101 / (101 * n)
    np.fill_diagonal(r, 0)
    b = r.sum(axis=1) + 2
    return relax(jnp.zeros(n), (jnp.asarray(r), jnp.asarray(b)), steps)


@repeated
def escape(state, c):
    z, count = state
    z = z * z + c
    return z, count + (z.real**2 + z.imag**2 <= 4)


def mandelbrot(n, steps):
    c = jnp.asarray(np.linspace(-2, 1, n) + 1j * np.linspace(-1.5, 1.5, n)[:, None])
    state = (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int64))
    return escape(state, (c,), steps)[1]


TWINS = {
    "stencil27": stencil27,
    "channel_flow": channel_flow,
    "shallow_water": shallow_water,
    "logistic_regression": logistic_regression,
    "jacobi": jacobi,
    "mandelbrot": mandelbrot,
}
