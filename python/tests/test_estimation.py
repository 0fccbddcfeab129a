"""Cost functions: priors, errors of x, counts, losses; each compared with an independent computation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualfit

optimize = pytest.importorskip("scipy.optimize")

pytestmark = pytest.mark.filterwarnings("error")

x = np.linspace(0, 4, 50)
noise = np.random.default_rng(11).normal(size=(2, 50))
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.05 * noise[0]
outlying = y + np.where(np.isin(np.arange(50), [5, 20, 33]), [[1.5]], 0.0)[0]


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


# Priors


def test_priors_of_a_linear_model() -> None:
    """Compare with the closed form (J'WJ + P) p = J'Wy + P m: partials J, inverse variances W and P, means m."""
    sigma = 0.05 + 0.02 * np.cos(x)
    means, widths = np.array([-0.3, 1.5]), np.array([0.02, 0.1])
    fit = dualfit.fit(lambda x, a, b: a * x + b, x, y, sigma=sigma, absolute_sigma=True,
                      priors={"a": (means[0], widths[0]), "b": (means[1], widths[1])})
    rows = np.vander(x, 2)
    precision = rows.T @ (rows / sigma[:, None] ** 2) + np.diag(widths**-2)
    expected = np.linalg.solve(precision, rows.T @ (y / sigma**2) + means / widths**2)
    np.testing.assert_allclose(fit.params, expected, rtol=1e-9)
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(precision), rtol=1e-9)


def test_a_prior_determines_what_the_data_do_not() -> None:
    fit = dualfit.fit(lambda x, a, b: a * b * x, x, y, [1, 1], sigma=0.05, absolute_sigma=True, priors={"b": (2.0, 0.1)})
    assert fit.rank == 2
    assert fit.values["b"] == pytest.approx(2.0, rel=1e-9)
    assert fit.errors["b"] == pytest.approx(0.1, rel=1e-9)


def test_priors_need_errors_of_y() -> None:
    with pytest.raises(dualfit.FitError, match="priors need sigma in the units of y"):
        dualfit.fit(decay, x, y, [1, 1, 1], priors={"b": (1, 0.1)})


# Errors of x


def distances(p: Any, f: Callable[..., Any], at: Any, values: Any, x_sigma: float, sigma: float) -> Any:
    """Return distances of points from a curve. p contains the parameters, then the true x of each point."""
    k = p.size - at.size
    return np.concatenate([(p[k:] - at) / x_sigma, (f(p[k:], *p[:k]) - values) / sigma])


@pytest.mark.parametrize("x_sigma", [0.1, [np.full(50, 0.1)], np.full(50, 0.1)], ids=["number", "list", "array"])
def test_errors_of_x(x_sigma: Any) -> None:
    """Compare with a fit of the parameters together with the true x of each point."""
    at = x + 0.1 * noise[1]
    fit = dualfit.fit(decay, at, y, [2, 1, 0.5], sigma=0.05, absolute_sigma=True, x_sigma=x_sigma)
    full = optimize.least_squares(distances, np.r_[2, 1, 0.5, at], args=(decay, at, y, 0.1, 0.05), method="lm", xtol=1e-14,
                                  ftol=1e-14, gtol=1e-14)
    np.testing.assert_allclose(fit.params, full.x[:3], rtol=1e-6)
    assert fit.statistics["cost"] == pytest.approx(full.cost, rel=1e-8)
    covariance = np.linalg.inv(full.jac.T @ full.jac)[:3, :3]
    np.testing.assert_allclose(np.diag(fit.covariance), np.diag(covariance), rtol=0.05)


def test_errors_of_x_by_odrpack() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        odr = pytest.importorskip("scipy.odr")
        at = x + 0.1 * noise[1]
        data = odr.RealData(at, y, sx=0.1, sy=0.05)
        run = odr.ODR(data, odr.Model(lambda p, x: decay(x, *p)), beta0=[2, 1, 0.5], sstol=1e-15, partol=1e-15).run()
    fit = dualfit.fit(decay, at, y, [2, 1, 0.5], sigma=0.05, absolute_sigma=False, x_sigma=0.1)
    np.testing.assert_allclose(fit.params, run.beta, rtol=1e-5)
    np.testing.assert_allclose(fit.std_errors, run.sd_beta, rtol=1e-4)


def test_errors_of_two_x() -> None:
    u, v = x, np.cos(x)
    fit = dualfit.fit(lambda x, a, b: a * x[0] + b * x[1], [u, v], y, [1, 1], sigma=0.05, absolute_sigma=True,
                      x_sigma=[0.1, 0.2])

    def effective(p: Any) -> Any:
        """Return the distances from a plane: residuals divided by their total standard deviations."""
        return (p[0] * u + p[1] * v - y) / np.sqrt(0.05**2 + (p[0] * 0.1) ** 2 + (p[1] * 0.2) ** 2)

    expected = optimize.least_squares(effective, [1, 1], xtol=1e-14, ftol=1e-14, gtol=1e-14)
    np.testing.assert_allclose(fit.params, expected.x, rtol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_errors_of_x_that_are_not_known(bad: float) -> None:
    sigma = np.full(50, 0.1)
    sigma[[3, 20]] = bad
    known = np.isfinite(sigma)
    with pytest.raises(dualfit.FitError, match="x_sigma is .* at index 3"):
        dualfit.fit(decay, x, y, [2, 1, 0.5], sigma=0.05, x_sigma=sigma)
    left = dualfit.fit(decay, x, y, [2, 1, 0.5], sigma=0.05, x_sigma=sigma, nan_policy="omit")
    without = dualfit.fit(decay, x[known], y[known], [2, 1, 0.5], sigma=0.05, x_sigma=0.1)
    np.testing.assert_allclose(left.params, without.params, rtol=1e-9)
    np.testing.assert_allclose(left.covariance, without.covariance, rtol=1e-7)


# Counts


def test_counts_by_maximum_likelihood() -> None:
    counts = np.random.default_rng(2).poisson(decay(x, 9.0, 1.3, 1.5))

    def rise(p: Any) -> Any:
        """Return minus the log-likelihood, without terms that do not depend on p."""
        curve = decay(x, *p)
        return np.sum(curve - counts * np.log(curve))

    fit = dualfit.fit(decay, x, counts, [8, 1, 1], poisson=True)
    found = optimize.minimize(rise, [8, 1, 1], method="Nelder-Mead",
                              options={"xatol": 1e-10, "fatol": 1e-13, "maxiter": 20000, "maxfev": 20000})
    np.testing.assert_allclose(fit.params, found.x, rtol=1e-6)
    a, b, c = fit.params
    e = np.exp(-b * x)
    rows = np.stack([e, -a * x * e, np.ones_like(x)], axis=1)
    fisher = rows.T @ (rows / decay(x, a, b, c)[:, None])
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(fisher), rtol=1e-6)


def test_the_mean_of_counts() -> None:
    counts = np.array([0, 3, 1, 0, 2, 5], dtype=np.uint8)
    fit = dualfit.fit(lambda x, rate: rate + 0 * x, np.arange(6.0), counts, [1.0], poisson=True)
    assert fit.values["rate"] == pytest.approx(11 / 6, rel=1e-9)
    assert fit.errors["rate"] == pytest.approx(np.sqrt(11) / 6, rel=1e-9)


def test_counts_are_not_negative() -> None:
    with pytest.raises(dualfit.FitError, match="y is -1 at point 2"):
        dualfit.fit(decay, x, np.where(np.arange(50) == 2, -1.0, 1.0), [1, 1, 1], poisson=True)


# Losses


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_losses(loss: str, scale: float) -> None:
    fit = dualfit.fit(decay, x, outlying, [2, 1, 0.5], loss=loss, loss_scale=scale)
    found = optimize.least_squares(lambda p: decay(x, *p) - outlying, [2, 1, 0.5], loss=loss, f_scale=scale, xtol=1e-14,
                                   ftol=1e-14, gtol=1e-14)
    assert fit.converged, fit.message
    assert fit.statistics["cost"] == pytest.approx(found.cost, rel=1e-9)
    np.testing.assert_allclose(fit.params, found.x, rtol=1e-5)


def tukey(z: Any) -> Any:
    inside = np.maximum(1 - z, 0)
    return np.stack([(1 - inside**3) / 3, inside**2, -2 * inside])


def test_tukey() -> None:
    fit = dualfit.fit(decay, x, outlying, [2, 1, 0.5], loss="tukey", loss_scale=0.3)
    found = optimize.least_squares(lambda p: decay(x, *p) - outlying, fit.params + 1e-3, loss=tukey, f_scale=0.3,
                                   xtol=1e-14, ftol=1e-14, gtol=1e-14)
    assert fit.statistics["cost"] == pytest.approx(found.cost, rel=1e-9)
    np.testing.assert_allclose(fit.params, found.x, rtol=1e-5)


def test_outliers_do_not_pull() -> None:
    clean = dualfit.fit(decay, x, y, [1, 1, 1])
    plain = dualfit.fit(decay, x, outlying, [1, 1, 1])
    robust = dualfit.fit(decay, x, outlying, [1, 1, 1], loss="tukey", loss_scale=0.25)
    assert np.max(np.abs(plain.params - clean.params) / clean.std_errors) > 3
    assert np.max(np.abs(robust.params - clean.params) / clean.std_errors) < 0.5


def with_select(u: Any) -> Any:
    """Huber's loss, as a function of the residual."""
    size = np.abs(u)
    return np.where(size < 1, u * u, 2 * size - 1)


def with_constants(u: Any) -> Any:
    weights = np.array([0.25, 0.75])
    return np.sum(weights * np.stack([u * u, u * u]), axis=0)


@pytest.mark.parametrize(("own", "known"), [
    (lambda u: np.log1p(u * u), "cauchy"),
    (lambda u: 2 * (np.sqrt(1 + u * u) - 1), "soft_l1"),
    (lambda u: np.arctan(u * u), "arctan"),
    (with_select, "huber"),
    (with_constants, "linear"),
])
def test_own_losses(own: Callable[[Any], Any], known: str) -> None:
    fit = dualfit.fit(decay, x, outlying, [2, 1, 0.5], loss=own, loss_scale=0.2)
    expected = dualfit.fit(decay, x, outlying, [2, 1, 0.5], loss=known, loss_scale=0.2)
    np.testing.assert_allclose(fit.params, expected.params, rtol=1e-6)
    np.testing.assert_allclose(fit.std_errors, expected.std_errors, rtol=1e-5)


def test_own_losses_that_make_no_sense() -> None:
    with pytest.raises(dualfit.FitError, match="loss"):
        dualfit.fit(decay, x, y, [1, 1, 1], loss=lambda u: 1 - u * u)
    with pytest.raises(dualfit.NotTraceable, match="a branch on a value"):
        dualfit.fit(decay, x, y, [1, 1, 1], loss=lambda u: u * u if abs(u) < 1 else abs(u))
    with pytest.raises(TypeError, match="the loss is 3; give a name, or a function"):
        dualfit.fit(decay, x, y, [1, 1, 1], loss=3)
    with pytest.raises(ValueError, match='there is no loss "hubert"; there are linear, soft_l1'):
        dualfit.fit(decay, x, y, [1, 1, 1], loss="hubert")
