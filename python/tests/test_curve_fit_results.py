"""Results of `curve_fit` other than the parameters: covariances, and the outputs of `full_output`."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dualfit

optimize = pytest.importorskip("scipy.optimize")

pytestmark = pytest.mark.filterwarnings("error")

x = np.linspace(0, 4, 50)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.05 * np.sin(9 * x)
sigma = 0.05 + 0.02 * np.cos(x)
matrix = np.diag(sigma**2) + 4e-4 * np.exp(-np.abs(np.subtract.outer(x, x)))
outlying = y + np.where(np.isin(np.arange(50), [5, 20]), 2.0, 0.0)


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def jacobian(p: Any) -> NDArray[np.float64]:
    a, b, _ = p
    e = np.exp(-b * x)
    return np.stack([e, -a * x * e, np.ones_like(x)], axis=1)


# A covariance in fifty digits


def exact_covariance(x: NDArray[np.float64], y: NDArray[np.float64], start: list[float]) -> NDArray[np.float64]:
    """Return the covariance of a decay at the minimum, which Newton's method finds in arithmetic with 50 digits."""
    with localcontext() as context:
        context.prec = 50
        points = [(Decimal(float(u)), Decimal(float(v))) for u, v in zip(x, y)]
        p = [Decimal(value) for value in start]
        for _ in range(60):
            rows, residuals = [], []
            for u, v in points:
                e = (-p[1] * u).exp()
                rows.append([e, -p[0] * u * e, Decimal(1)])
                residuals.append(v - p[0] * e - p[2])
            normal = [[sum(row[i] * row[j] for row in rows) for j in range(3)] for i in range(3)]
            inverse = inverted(normal)
            gradient = [sum(row[i] * r for row, r in zip(rows, residuals)) for i in range(3)]
            step = [sum(inverse[i][j] * gradient[j] for j in range(3)) for i in range(3)]
            p = [value + change for value, change in zip(p, step)]
        assert max(abs(change) for change in step) < Decimal("1e-25")
        scale = sum(r * r for r in residuals) / (len(points) - 3)
        return np.array([[float(scale * inverse[i][j]) for j in range(3)] for i in range(3)])


def inverted(m: list[list[Decimal]]) -> list[list[Decimal]]:
    """Return the inverse of a 3 × 3 matrix, by cofactors."""

    def minor(i: int, j: int) -> Decimal:
        (a, b), (c, d) = ([m[r][s] for s in range(3) if s != j] for r in range(3) if r != i)
        return (-1) ** (i + j) * (a * d - b * c)

    determinant = sum(m[0][j] * minor(0, j) for j in range(3))
    return [[minor(j, i) / determinant for j in range(3)] for i in range(3)]


def test_covariance_of_gh4555b() -> None:
    """SciPy's test compares the covariance with numbers that SciPy once computed by forward differences."""
    noise = np.random.default_rng(408113519974467917).normal(size=50)
    values = decay(x, 2.5, 1.3, 0.5) + 0.2 * noise
    exact = exact_covariance(x, values, [2.5, 1.3, 0.5])
    printed = np.array([[+0.0158972536486215, 0.0069207183284242, -0.0007474400714749],
                        [+0.0069207183284242, 0.0205057958128679, +0.0053997711275403],
                        [-0.0007474400714749, 0.0053997711275403, +0.0027833930320877]])
    _, pcov = dualfit.curve_fit(decay, x, values)
    errors = np.sqrt(np.diag(exact))
    assert np.max(np.abs(pcov - exact) / np.outer(errors, errors)) < 1e-9
    assert 1e-6 < np.max(np.abs(printed / exact - 1)) < 2.5e-6


# Covariances


@pytest.mark.parametrize("given", [None, 0.07, sigma, matrix], ids=["none", "number", "array", "matrix"])
@pytest.mark.parametrize("absolute", [False, True])
def test_covariance_is_that_of_the_partials(given: Any, absolute: bool) -> None:
    popt, pcov = dualfit.curve_fit(decay, x, y, sigma=given, absolute_sigma=absolute)
    if given is None:
        given = 1.0
    spread = given if np.ndim(given) == 2 else np.diag(np.broadcast_to(given, 50) ** 2)
    rows, residuals = jacobian(popt), y - decay(x, *popt)
    expected = np.linalg.inv(rows.T @ np.linalg.solve(spread, rows))
    if not absolute:
        expected *= residuals @ np.linalg.solve(spread, residuals) / 47
    np.testing.assert_allclose(pcov, expected, rtol=1e-8)
    np.testing.assert_array_equal(pcov, pcov.T)


def test_exact_data_have_no_scatter() -> None:
    popt, pcov = dualfit.curve_fit(lambda x, a, b: a * x + b, x, 2 * x + 1)
    np.testing.assert_allclose(popt, [2, 1], rtol=1e-14)
    assert np.all(np.abs(pcov) < 1e-28)
    _, absolute = dualfit.curve_fit(lambda x, a, b: a * x + b, x, 2 * x + 1, sigma=1.0, absolute_sigma=True)
    expected = np.linalg.inv(np.vander(x, 2).T @ np.vander(x, 2))
    np.testing.assert_allclose(absolute, expected, rtol=1e-10)


def test_as_many_points_as_parameters() -> None:
    popt, pcov = dualfit.curve_fit(lambda x, a, b: a * x + b, [1, 2], [1, 3], sigma=[0.1, 0.2], absolute_sigma=True)
    np.testing.assert_allclose(popt, [2, -1])
    np.testing.assert_allclose(pcov, [[0.05, -0.06], [-0.06, 0.08]])


# Losses


def rho(z):
    return np.stack([np.log1p(z), 1 / (1 + z), -1 / (1 + z) ** 2])


@pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy", "arctan", rho, lambda z: [z, np.ones_like(z), 0 * z]],
                         ids=["soft_l1", "huber", "cauchy", "arctan", "rho", "squares"])
@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_losses(loss: Any, scale: float) -> None:
    def call(curve_fit: Any) -> Any:
        return curve_fit(decay, x, outlying, sigma=sigma, absolute_sigma=True, method="trf", loss=loss, f_scale=scale)

    if callable(loss):
        expected = optimize.curve_fit(decay, x, outlying, sigma=sigma, absolute_sigma=True, method="trf",
                                      loss=lambda z: np.array(loss(z)), f_scale=scale)
    else:
        expected = call(optimize.curve_fit)
    popt, pcov = call(dualfit.curve_fit)
    errors = np.sqrt(np.diag(expected[1]))
    assert np.max(np.abs(popt - expected[0]) / errors) < 2e-3
    # SciPy ignores the contribution of outliers; the ratio is Huber's factor.
    factor = pcov / expected[1]
    assert np.ptp(factor) < 5e-3 * factor.max()
    assert factor.max() == pytest.approx(max(1.0, _pull(loss, scale, (outlying - decay(x, *popt)) / sigma)), rel=2e-3)


def _pull(loss: Any, scale: float, residuals: Any) -> float:
    """Return the factor by which outliers increase the variance: Huber's second form (1981, section 7.6)."""
    z = (residuals / scale) ** 2
    outside = z > 1
    size = np.where(outside, z, 1.0)
    known: dict[Any, Any] = {
        "soft_l1": ((1 + z) ** -0.5, -0.5 * (1 + z) ** -1.5),
        "huber": (np.where(outside, size**-0.5, 1), np.where(outside, -0.5 * size**-1.5, 0)),
        "cauchy": (1 / (1 + z), -1 / (1 + z) ** 2),
        "arctan": (1 / (1 + z**2), -2 * z / (1 + z**2) ** 2),
    }
    first, second = known[loss] if isinstance(loss, str) else loss(z)[1:]
    psi, slope = first * residuals, first + 2 * z * second
    n, p = len(z), 3
    kept = np.maximum(slope, 0).mean() / slope.mean()
    return float((1 + p / n * np.var(slope) / slope.mean() ** 2) * (psi @ psi) / (n - p) / slope.mean() * kept)


def test_covariance_under_a_loss_is_a_sandwich() -> None:
    """For relative sigma, SciPy treats the loss like a sum of squares; here the scatter of the outliers counts, too."""
    scale = 0.1
    popt, pcov = dualfit.curve_fit(decay, x, outlying, method="trf", loss="soft_l1", f_scale=scale)
    residuals = outlying - decay(x, *popt)
    z = (residuals / scale) ** 2
    first, second = (1 + z) ** -0.5, -0.5 * (1 + z) ** -1.5
    psi, slope = first * residuals, first + 2 * z * second
    rows = jacobian(popt) * np.sqrt(slope)[:, None]
    factor = 1 + 3 / 50 * np.var(slope) / np.mean(slope) ** 2
    spread = factor * (psi @ psi) / 47 * np.mean(slope) / np.mean(slope) ** 2
    np.testing.assert_allclose(pcov, spread * np.linalg.inv(rows.T @ rows), rtol=1e-6)


# full_output


@pytest.mark.parametrize("given", [None, sigma, matrix], ids=["none", "array", "matrix"])
def test_full_output(given: Any) -> None:
    popt, pcov, info, message, ier = dualfit.curve_fit(decay, x, y, sigma=given, absolute_sigma=True, full_output=True)
    expected = optimize.curve_fit(decay, x, y, sigma=given, absolute_sigma=True, full_output=True)
    assert set(info) == set(expected[2])
    for key in ("fvec", "fjac", "ipvt", "qtf"):
        assert info[key].shape == expected[2][key].shape
        assert info[key].dtype == expected[2][key].dtype
    assert isinstance(info["nfev"], int)
    assert isinstance(message, str)
    assert ier in (1, 2, 3, 4)

    np.testing.assert_allclose(info["fvec"], expected[2]["fvec"], atol=1e-5)
    # SciPy's indices begin with 0 since version 1.15, whose MINPACK is written in C.
    np.testing.assert_array_equal(info["ipvt"], expected[2]["ipvt"] - expected[2]["ipvt"].min())
    # MINPACK's R is upper triangular in the order of the pivots, with a decreasing diagonal. R'R is the inverse of the
    # covariance.
    r = np.triu(info["fjac"].T[:3])
    assert np.all(np.diff(np.abs(np.diag(r))) <= 0)
    order = np.argsort(info["ipvt"])
    np.testing.assert_allclose(np.linalg.inv(r.T @ r)[np.ix_(order, order)], pcov, rtol=1e-6)
    np.testing.assert_allclose(np.abs(r), np.abs(np.triu(expected[2]["fjac"].T[:3])), rtol=1e-3, atol=1e-5)
    # At a minimum the residuals are orthogonal to all partials, whose basis is Q.
    assert np.all(np.abs(info["qtf"]) < 1e-6 * np.linalg.norm(info["fvec"]))


@pytest.mark.parametrize("method", ["trf", "dogbox"])
def test_full_output_with_bounds(method: str) -> None:
    *_, info, message, ier = dualfit.curve_fit(decay, x, y, bounds=(0, 9), method=method, full_output=True)
    *_, expected, _, _ = optimize.curve_fit(decay, x, y, bounds=(0, 9), method=method, full_output=True)
    assert set(info) == set(expected)
    np.testing.assert_allclose(info["fvec"], expected["fvec"], atol=1e-5)
    assert isinstance(message, str)
    assert ier in (1, 2, 3, 4)


def test_partials_that_are_given_are_those_of_the_covariance() -> None:
    def three_times(x, a, b, c):
        return 3 * jacobian((a, b, c))

    _, pcov = dualfit.curve_fit(decay, x, y, jac=lambda x, *p: jacobian(p))
    _, expected = dualfit.curve_fit(decay, x, y)
    np.testing.assert_allclose(pcov, expected, rtol=1e-9)
    with pytest.warns(dualfit.OptimizeWarning, match="by 67 % along one direction: correct its partials by a, b, c"):
        _, wrong = dualfit.curve_fit(decay, x, y, [2.52, 1.31, 0.5], jac=three_times)
    np.testing.assert_allclose(wrong, expected / 9, rtol=1e-2)
