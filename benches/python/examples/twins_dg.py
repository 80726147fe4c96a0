"""The discontinuous Galerkin programs of `examples/` in NumPy, of degree 3."""

import numpy as np
from clock import timed

Y, X = 1, 2


class Mesh:
    """The elements of the periodic unit square; fields are elements, points in y, points in x."""

    def __init__(self, n, degree):
        legendre = np.polynomial.legendre.Legendre.basis(degree)
        self.points = np.concatenate([[-1], np.sort(legendre.deriv().roots()), [1]])
        weights = 2 / (degree * (degree + 1) * legendre(self.points) ** 2)
        lagrange = [self.lagrange(j) for j in range(degree + 1)]
        self.n, self.scale = n, 2 * n
        self.d = self.scale * np.array([p.deriv()(self.points) for p in lagrange]).T
        self.lift = np.zeros((2, degree + 1))
        self.lift[0, 0] = self.lift[1, -1] = self.scale / weights[0]
        row, column = np.divmod(np.arange(n * n), n)
        at = lambda rows, columns: (row + rows) % n * n + (column + columns) % n
        self.next = {Y: at(1, 0), X: at(0, 1)}
        self.previous = {Y: at(-1, 0), X: at(0, -1)}

    def lagrange(self, j):
        others = np.delete(self.points, j)
        polynomial = np.polynomial.Polynomial.fromroots(others)
        return polynomial / polynomial(self.points[j])

    def coordinates(self):
        row, column = np.divmod(np.arange(self.n**2), self.n)
        inside = (self.points + 1) / 2
        x = (column[:, None, None] + inside) / self.n
        y = (row[:, None, None] + inside[:, None]) / self.n
        return np.broadcast_arrays(x, y)

    def at(self, q, axis, point):
        return np.take(q, point, axis=axis)

    def change(self, f, star, axis):
        first = star[self.previous[axis]] - self.at(f, axis, 0)
        last = self.at(f, axis, -1) - star
        shape = (1, 1, -1) if axis == X else (1, -1, 1)
        ends = [np.expand_dims(face, axis) for face in (first, last)]
        lifted = sum(end * lift.reshape(shape) for end, lift in zip(ends, self.lift))
        equation = "mj,eij->eim" if axis == X else "mj,eji->emi"
        return lifted - np.einsum(equation, self.d, f, optimize=True)


def runge_kutta(state, dt, rate):
    first = rate(state, 0)
    second = rate(state + dt / 2 * first, dt / 2)
    third = rate(state + dt / 2 * second, dt / 2)
    fourth = rate(state + dt * third, dt)
    return state + dt / 6 * (first + 2 * (second + third) + fourth)


def wave_dg(n, steps, degree=3):
    mesh = Mesh(n, degree)
    x, y = mesh.coordinates()
    p = np.cos(2 * np.pi * x) * np.cos(2 * np.pi * y)
    state = np.stack([p, np.zeros_like(p), np.zeros_like(p)])

    def rate(state, _):
        change = np.zeros_like(state)
        for axis, k in ((X, 1), (Y, 2)):
            p, u = state[0], state[k]
            p_left, u_left = mesh.at(p, axis, -1), mesh.at(u, axis, -1)
            p_right, u_right = (mesh.at(q, axis, 0)[mesh.next[axis]] for q in (p, u))
            p_star = (p_left + p_right + u_left - u_right) / 2
            u_star = (u_left + u_right + p_left - p_right) / 2
            change[0] += mesh.change(u, u_star, axis)
            change[k] += mesh.change(p, p_star, axis)
        return change

    for _ in timed(steps):
        state = runge_kutta(state, 0.2 / (n * (2 * degree + 1)), rate)
    return state[0]


def flux(state, axis):
    r, m, n, e = state
    u, v = m / r, n / r
    p = 0.4 * (e - (m * u + n * v) / 2)
    along = u if axis == X else v
    f = state * along
    f[1 if axis == X else 2] += p
    f[3] += p * along
    return f, np.abs(along) + np.sqrt(1.4 * p / r)



def convection(mesh, state, axis):
    f, _ = flux(state, axis)
    left = np.stack([mesh.at(q, axis, -1) for q in state])
    right = np.stack([mesh.at(q, axis, 0)[mesh.next[axis]] for q in state])
    (f_left, c_left), (f_right, c_right) = flux(left, axis), flux(right, axis)
    star = (f_left + f_right - np.maximum(c_left, c_right) * (right - left)) / 2
    return np.stack([mesh.change(f[k], star[k], axis) for k in range(4)])


def euler_dg(n, steps, degree=3):
    mesh = Mesh(n, degree)
    x, y = mesh.coordinates()
    r = 1 + 0.2 * np.sin(2 * np.pi * (x + y))
    state = np.stack([r, r, r, r + 1 / 0.4])

    def rate(state, _):
        change = np.zeros_like(state)
        for axis in (X, Y):
            change += convection(mesh, state, axis)
        return change

    for _ in timed(steps):
        state = runge_kutta(state, 0.1 / (n * (2 * degree + 1)), rate)
    return state[0]


def navier_stokes_dg(n, steps, degree=3, viscosity=0.01):
    mesh = Mesh(n, degree)
    x, y = mesh.coordinates()
    s = np.sin(2 * np.pi * (x + y))
    state = np.stack([np.ones_like(s), 1 + s, 1 - s, s**2 + 3.5])

    def central(q, axis):
        """minus the derivative, with the mean of both sides at the faces."""
        mean = (mesh.at(q, axis, -1) + mesh.at(q, axis, 0)[mesh.next[axis]]) / 2
        return mesh.change(q, mean, axis)

    def viscous(state):
        r, m, n, e = state
        velocity = np.stack([m, n]) / r
        heat = 0.4 * (e - (m**2 + n**2) / (2 * r)) / r
        gradient = [[-central(q, axis) for axis in (X, Y)] for q in (*velocity, heat)]
        divergence = gradient[0][0] + gradient[1][1]
        for a, axis in enumerate((X, Y)):
            stress = [viscosity * (gradient[b][a] + gradient[a][b]) for b in range(2)]
            stress[a] = stress[a] - viscosity * 2 / 3 * divergence
            work = sum(velocity * stress) + 3.5 * viscosity / 0.72 * gradient[2][a]
            yield np.stack([np.zeros_like(r), *stress, work]), axis

    def rate(state, passed):
        s = np.sin(2 * np.pi * (x + y - 2 * (time + passed)))
        force = 8 * np.pi**2 * viscosity * s
        heat = 16 * np.pi**2 * viscosity * (2 * s**2 - 1)
        change = np.stack([np.zeros_like(s), force, -force, heat])
        for flux, axis in viscous(state):
            change += convection(mesh, state, axis)
            change -= np.stack([central(part, axis) for part in flux])
        return change

    q = n * (2 * degree + 1)
    dt = min(0.1 / q, 35 / q**2)
    for step in timed(steps):
        time = step * dt
        state = runge_kutta(state, dt, rate)
    return state[1]
