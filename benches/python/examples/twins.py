"""The programs of `examples/` in NumPy (those of `twins_dg.py` too), written from their `--help`: the same steps, array code.

Each takes the size and the number of steps and returns the field that the example writes with
`--out`. `TOLERANCES` says how far the two may be apart, relative to the largest element: what
rounding leaves where the order of sums differs.
"""

import numpy as np
from clock import timed
from twins_dg import euler_dg, navier_stokes_dg, wave_dg


def stencil27(n, steps):
    i, j, k = np.ogrid[:n, :n, :n]
    u = ((7 * i + 13 * j + 17 * k) % 101) / 101
    for _ in timed(steps):
        total = np.zeros((n - 2, n - 2, n - 2))
        for a in range(3):
            for b in range(3):
                for c in range(3):
                    total += u[a : n - 2 + a, b : n - 2 + b, c : n - 2 + c]
        u[1:-1, 1:-1, 1:-1] = total / 27
    return u


def channel_flow(n, steps, sweeps=50):
    rho, nu, force = 1, 0.1, 1
    h = 2 / (n - 1)
    dt = min(0.01, 0.2 * h * h / nu)
    u, v, p = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for _ in timed(steps):
        du_dx, dv_dx = ((east(f) - west(f)) / (2 * h) for f in (u, v))
        du_dy, dv_dy = ((f[2:] - f[:-2]) / (2 * h) for f in (u, v))
        b = rho * ((du_dx + dv_dy) / dt - du_dx**2 - 2 * du_dy * dv_dx - dv_dy**2)
        b = b * (h * h / 4)
        for _ in range(sweeps):
            p[1:-1] = (east(p) + west(p) + p[2:] + p[:-2]) / 4 - b
            p[0], p[-1] = p[1], p[-2]
        u_here, v_here = u[1:-1], v[1:-1]

        def advected(f):
            here = f[1:-1]
            along = u_here * (here - west(f)) + v_here * (here - f[:-2])
            spread = east(f) + west(f) + f[2:] + f[:-2] - 4 * here
            return here - dt / h * along + nu * dt / h**2 * spread

        new_u = advected(u) - dt / (2 * rho * h) * (east(p) - west(p)) + force * dt
        new_v = advected(v) - dt / (2 * rho * h) * (p[2:] - p[:-2])
        u[1:-1], v[1:-1] = new_u, new_v
    return u


def east(f):
    """The points to the right of the inner rows, periodic."""
    return np.roll(f[1:-1], -1, axis=1)


def west(f):
    return np.roll(f[1:-1], 1, axis=1)


def shallow_water(n, steps):
    centre = (np.arange(n) + 0.5) / n - 0.5
    h = np.where(np.hypot(centre, centre[:, None]) <= 0.2, 2.0, 1.0)
    state = np.stack([h, np.zeros((n, n)), np.zeros((n, n))])
    for _ in timed(steps):
        out, fastest = outflow(state)
        ratio = 0.25 / fastest
        first = state - ratio * out
        state = (state + first - ratio * outflow(first)[0]) / 2
    return state[0]


def outflow(state):
    along_x, fastest_x = outflow_in_x(state)
    swapped = state[[0, 2, 1]].swapaxes(1, 2)
    along_y, fastest_y = outflow_in_x(swapped)
    return along_x + along_y[[0, 2, 1]].swapaxes(1, 2), max(fastest_x, fastest_y)


def outflow_in_x(state, g=9.81, theta=1.3):
    q = np.pad(state, ((0, 0), (0, 0), (2, 2)), mode="symmetric")
    q[1, :, :2] *= -1
    q[1, :, -2:] *= -1
    step = np.diff(q)
    below, above = step[..., :-1], step[..., 1:]
    middle = (below + above) / 2
    least = np.minimum(np.minimum(theta * below, theta * above), middle)
    largest = np.maximum(np.maximum(theta * below, theta * above), middle)
    half_slope = (np.maximum(least, 0) + np.minimum(largest, 0)) / 2
    left = q[..., 1:-2] + half_slope[..., :-1]
    right = q[..., 2:-1] - half_slope[..., 1:]

    def flux(side):
        h, m, t = side
        u = m / h
        return np.stack([m, m * u + g * h * h / 2, t * u]), u, np.sqrt(g * h)

    (f_left, u_left, c_left), (f_right, u_right, c_right) = flux(left), flux(right)
    plus = np.maximum(np.maximum(u_left + c_left, u_right + c_right), 0)
    minus = np.minimum(np.minimum(u_left - c_left, u_right - c_right), 0)
    through = plus * f_left - minus * f_right + plus * minus * (right - left)
    return np.diff(through / (plus - minus)), np.maximum(plus, -minus).max()


def black_scholes(n, steps):
    from scipy.special import erf

    i = np.arange(n)
    spot = 10 + 40 * (7 * i % 101 / 101)
    strike = 10 + 40 * (13 * i % 103 / 103)
    years = 1 + 17 * i % 107 / 107
    rate, volatility = 0.02, 0.3
    normal = lambda x: (1 + erf(x / np.sqrt(2))) / 2
    for _ in timed(steps):
        deviation = volatility * np.sqrt(years)
        d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / deviation
        d2 = d1 - deviation
        discounted = strike * np.exp(-rate * years)
        call = spot * normal(d1) - discounted * normal(d2)
        put = discounted * normal(-d2) - spot * normal(-d1)
    assert np.allclose(call - put, spot - discounted)
    return call


def mandelbrot(n, steps):
    c = np.linspace(-2, 1, n) + 1j * np.linspace(-1.5, 1.5, n)[:, None]
    z = np.zeros_like(c)
    count = np.zeros(c.shape, np.int64)
    with np.errstate(all="ignore"):
        for _ in timed(steps):
            z = z * z + c
            count += z.real**2 + z.imag**2 <= 4
    return count


def logistic_regression(n, steps):
    i, j = np.ogrid[:n, :50]
    x = (7 * i + 13 * j + i * j) % 101 / 101 - 0.5
    y = (x @ (1.0 - 2 * (np.arange(50) % 2)) > 0).astype(float)
    w = np.zeros(50)
    for _ in timed(steps):
        p = 1 / (1 + np.exp(-(x @ w)))
        w -= 2 / n * (x.T @ (p - y))
    return w


def prk_stencil(n, steps, radius=2):
    i, j = np.ogrid[:n, :n]
    u = (i + j).astype(float)
    out = np.zeros((n, n))
    inner = slice(radius, n - radius)
    for _ in timed(steps):
        for r in range(1, radius + 1):
            weight = 1 / (2 * r * radius)
            above, below = (slice(radius + s, n - radius + s) for s in (r, -r))
            out[inner, inner] += weight * (u[inner, above] - u[inner, below])
            out[inner, inner] += weight * (u[above, inner] - u[below, inner])
        u += 1
    return out


def jacobi(n, steps):
    i, j = np.ogrid[:n, :n]
    r = (7 * i + 13 * j) % 101 / (101 * n)
    np.fill_diagonal(r, 0)
    b = r.sum(axis=1) + 2
    x = np.zeros(n)
    for _ in timed(steps):
        x = (b - r @ x) / 2
    return x


def k_means(n, steps, groups=8):
    i, d = np.ogrid[:n, :4]
    g = i % groups
    points = (3 * g + 5 * d + g * d) % 8 / 2 + (7 * i + 13 * d + i * i) % 101 / 101
    centres = points[: groups * groups : groups].copy()
    for _ in timed(steps):
        distances = ((points[:, None] - centres) ** 2).sum(axis=2)
        nearest = distances.argmin(axis=1)
        counts = np.bincount(nearest, minlength=groups)
        sums = np.stack([np.bincount(nearest, points[:, k], groups) for k in range(4)], 1)
        some = counts > 0
        centres[some] = sums[some] / counts[some, None]
    return centres


def n_body(n, steps, dt=0.01, softening=0.05):
    x = np.arange(n) * np.array([[0.8191725134], [0.6710436067], [0.5497004779]]) % 1
    v = np.zeros((3, n))

    def forces():
        d = x[:, None, :] - x[:, :, None]
        square = d[0] ** 2 + d[1] ** 2 + d[2] ** 2 + softening**2
        return (d / (n * square * np.sqrt(square))).sum(axis=2)

    force = forces()
    for _ in timed(steps):
        v += dt / 2 * force
        x += dt * v
        force = forces()
        v += dt / 2 * force
    return x


def page_rank(scale, steps, damping=0.85):
    from graph import rmat

    links = rmat(scale, 16, 1)
    n = links.shape[0]
    weight = np.asarray(links.sum(axis=1)).ravel()
    is_end = weight == 0
    backwards = links.T.tocsr()
    rank = np.full(n, 1 / n)
    for _ in timed(steps):
        shares = np.divide(rank, weight, out=np.zeros(n), where=~is_end)
        rank = (backwards @ shares + rank[is_end].sum() / n) * damping + (1 - damping) / n
    return rank


def matrix_factorization(scale, steps, rank=16):
    from graph import rmat

    errors = rmat(scale, 16, 1).tocsr()
    errors.sort_indices()
    n, columns = errors.shape[0], errors.indices
    rows = np.repeat(np.arange(n), np.diff(errors.indptr))

    def factor(p, q, m):
        return (p * np.arange(n)[:, None] + q * np.arange(rank)) % m / (2 * m)

    def at_entries(x, y):
        return np.einsum("ek,ek->e", x[rows], y[columns])

    def rate(indices):
        return 0.5 / np.maximum(np.bincount(indices, minlength=n), 1)[:, None]

    ratings = at_entries(factor(11, 29, 97), factor(17, 5, 89))
    rate_u, rate_v = rate(rows), rate(columns)
    u, v = factor(7, 13, 101), factor(5, 3, 103)
    for _ in timed(steps):
        errors.data = ratings - at_entries(u, v)
        u, v = u + errors @ v * rate_u, v + errors.T @ u * rate_v
    return u


def rydberg(atoms, steps, dt=0.5, detuning=3.0):
    import scipy.sparse as sparse
    from scipy.integrate import DOP853

    sets = np.zeros(1, dtype=np.int64)
    for atom in range(atoms):
        free = sets if atom == 0 else sets[sets >> (atom - 1) & 1 == 0]
        sets = np.concatenate([sets, free | 1 << atom])
    n = len(sets)
    rows, columns = [], []
    for atom in range(atoms):
        blocked = sets | sets << 1 | sets >> 1
        without = np.flatnonzero(blocked >> atom & 1 == 0)
        other = np.searchsorted(sets, sets[without] | 1 << atom)
        rows += [without, other]
        columns += [other, without]
    rows, columns = np.concatenate(rows), np.concatenate(columns)
    drive = sparse.csr_array((np.full(len(rows), -0.5j), (rows, columns)), shape=(n, n))
    count = np.array([bin(chosen).count("1") for chosen in sets])
    excited = 1j * count
    end = dt * steps

    def slope(t, y):
        return drive @ y + detuning * (2 * t / end - 1) * excited * y

    y = np.zeros(n, dtype=complex)
    y[0] = 1
    for step in timed(steps):
        # What `solve_ivp` does, without keeping the state of each step.
        solver = DOP853(slope, dt * step, y, dt * (step + 1), rtol=1e-8, atol=1e-10)
        while solver.status == "running":
            solver.step()
        y = solver.y
    return np.abs(y) ** 2


TOLERANCES = {
    "stencil27": 1e-14,
    "channel_flow": 1e-12,
    "shallow_water": 1e-12,
    "black_scholes": 1e-14,
    "mandelbrot": 0,
    "logistic_regression": 1e-12,
    "prk_stencil": 0,
    "jacobi": 1e-14,
    "k_means": 1e-12,
    "n_body": 1e-10,
    "page_rank": 1e-12,
    "matrix_factorization": 1e-10,
    "rydberg": 1e-9,
    "wave_dg": 1e-12,
    "euler_dg": 1e-12,
    "navier_stokes_dg": 1e-11,
}
TWINS = {name: globals()[name] for name in TOLERANCES}
