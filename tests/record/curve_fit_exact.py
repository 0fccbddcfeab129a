"""The minimum of a recorded case, its cost and covariance, in 60-digit arithmetic: the judge of SciPy's answer.

The problem is SciPy's: cost = 1/2 C^2 sum rho((w_i / C)^2), w = the residuals whitened by sigma. So is the
covariance: s^2 (J^T J)^-1, where a loss scales row i of J by sqrt(max(rho' + 2 z rho'', eps)) (SciPy's
`scale_for_robust_loss_function`), and s^2 = 2 cost / (n - p) unless sigma is absolute.
"""

from collections import namedtuple

import mpmath as mp

from curve_fit_models import MODELS
from exact import newton

mp.mp.dps = 60
EPS = mp.mpf(2) ** -52

Exact = namedtuple("Exact", "optimum cost covariance free_by_n_minus_free free_by_n_minus_p")


def rho(loss, z):
    """rho(z), rho'(z), rho''(z)."""
    one = mp.mpf(1)
    if loss == "linear":
        return z, one, mp.mpf(0)
    if loss == "soft_l1":
        t = mp.sqrt(1 + z)
        return 2 * (t - 1), 1 / t, -1 / (2 * t**3)
    if loss == "huber":
        t = mp.sqrt(z)
        return (z, one, mp.mpf(0)) if z <= 1 else (2 * t - 1, 1 / t, -1 / (2 * t**3))
    if loss == "cauchy":
        return mp.log1p(z), 1 / (1 + z), -1 / (1 + z) ** 2
    if loss == "arctan":
        return mp.atan(z), 1 / (1 + z**2), -2 * z / (1 + z**2) ** 2
    if loss == "tukey":
        u = max(1 - z, mp.mpf(0))
        return (1 - u**3) / 3, u**2, -2 * u
    raise ValueError(loss)


class Problem:
    """A case in exact arithmetic; `case` is a dict as `curve_fit_cases` makes it."""

    def __init__(self, case):
        self.model = MODELS[case["model"]]
        self.points = [[mp.mpf(float(v)) for v in row] for row in zip(*case["x"])]
        self.y = [mp.mpf(float(v)) for v in case["y"]]
        self.loss, self.scale = case["loss"], mp.mpf(float(case["f_scale"]))
        self.absolute = case["absolute"]
        self.errors = self.whiten = None
        if case["sigma"] is not None and case["sigma"].ndim == 2:
            inverse = mp.inverse(mp.cholesky(mp.matrix(case["sigma"].tolist())))
            self.whiten = [inverse[i, : i + 1].tolist()[0] for i in range(len(self.y))]  # lower triangular
        elif case["sigma"] is not None:
            self.errors = [mp.mpf(float(v)) for v in case["sigma"]]

    def white(self, column):
        if self.whiten is not None:
            return [mp.fdot(row, column) for row in self.whiten]  # fdot stops where the shorter one ends
        return [v / s for v, s in zip(column, self.errors)] if self.errors else column

    def residuals(self, p):
        return self.white([self.model.value(mp, x, p) - y for x, y in zip(self.points, self.y)])

    def columns(self, p):
        """One whitened column of partials per parameter."""
        return [self.white(list(c)) for c in zip(*(self.model.partials(mp, x, p) for x in self.points))]

    def losses(self, p):
        return [rho(self.loss, (r / self.scale) ** 2) for r in self.residuals(p)]

    def gradient(self, p):
        weighted = [r * rho(self.loss, (r / self.scale) ** 2)[1] for r in self.residuals(p)]
        return [mp.fdot(column, weighted) for column in self.columns(p)]

    def cost(self, p):
        return self.scale**2 * mp.fsum(l[0] for l in self.losses(p)) / 2

    def inverse(self, p, free):
        """(J^T J)^-1 over the parameters in `free`, J scaled for the loss."""
        z = [(r / self.scale) ** 2 for r in self.residuals(p)]
        bend = [max(l[1] + 2 * t * l[2], EPS) for l, t in zip(self.losses(p), z)]
        columns = self.columns(p)
        return mp.inverse(mp.matrix([
            [mp.fsum(a * b * w for a, b, w in zip(columns[i], columns[j], bend)) for j in free] for i in free
        ]))

    def solve(self, near, at_bound):
        """`Exact`, from a point next to the minimum; at_bound: a bound's value, or None where free."""
        start = [mp.mpf(float(v if b is None else b)) for v, b in zip(near, at_bound)]
        free = [i for i, b in enumerate(at_bound) if b is None]
        optimum = newton(self.gradient, start, free)
        n, p, cost = len(self.y), len(near), self.cost(optimum)
        inverse, inverse_free = self.inverse(optimum, list(range(p))), self.inverse(optimum, free)

        def scaled(matrix, dof):
            return matrix if self.absolute else matrix * (2 * cost / dof)

        return Exact(
            optimum, cost, scaled(inverse, n - p), scaled(inverse_free, n - len(free)), scaled(inverse_free, n - p)
        )
