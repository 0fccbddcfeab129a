"""`compare`: tests and weights by their formulas, with SciPy's distributions and lmfit's AIC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualfit
from dualfit import FitError, compare
from refusals import check_refused

stats = pytest.importorskip("scipy.stats")

pytestmark = pytest.mark.filterwarnings("error")

x = np.linspace(0, 4, 40)
y = 2 * x + 1 + 0.05 * x**2 + 0.3 * np.random.default_rng(4).normal(size=40)
FORMULAS = ["a*x + b", "a*x + b + c*x^2", "a*x + b + c*x^2 + d*x^3"]
FITS = [dualfit.fit(formula, x, y) for formula in FORMULAS]


def test_weights_are_those_of_lmfit() -> None:
    models = pytest.importorskip("lmfit.models")
    aic = np.array([models.PolynomialModel(degree).fit(y, x=x, **{f"c{k}": 1 for k in range(degree + 1)}).aic for degree in (1, 2, 3)])
    expected = np.exp(-0.5 * (aic - aic.min()))
    found = compare(*FITS)
    np.testing.assert_allclose(found.weights, expected / expected.sum(), rtol=1e-6)
    np.testing.assert_allclose(found.aic - found.aic[0], aic - aic[0], rtol=1e-6)
    np.testing.assert_allclose(found.aic, [fit.aic for fit in FITS], rtol=1e-12)
    # Corrected for few points: K counts the estimated variance, too.
    count = np.array([3, 4, 5])
    corrected = found.aic + 2 * count * (count + 1) / (40 - count - 1)
    np.testing.assert_allclose(found.aicc, corrected, rtol=1e-9)
    weights = np.exp(-0.5 * (corrected - corrected.min()))
    np.testing.assert_allclose(found.corrected_weights, weights / weights.sum(), rtol=1e-9)
    assert found.tests == []


def test_f_tests() -> None:
    found = compare(*FITS, nested=True)
    for test, small, large, degrees in zip(found.tests, FITS, FITS[1:], (37, 36)):
        statistic = (small.chi_square - large.chi_square) / (large.chi_square / degrees)
        assert (test.extra, test.residual) == (1, degrees)
        assert test.statistic == pytest.approx(statistic, rel=1e-6)
        assert test.p_value == pytest.approx(stats.f.sf(statistic, 1, degrees), rel=1e-6)
    assert str(found).count("\n") == 3 and "p-value" in str(found) and "p-value" not in str(compare(*FITS))


def test_chi_square_tests() -> None:
    fits = [dualfit.fit(formula, x, y, sigma=0.3, absolute_sigma=True) for formula in (FORMULAS[0], FORMULAS[2])]
    (test,) = compare(*fits, nested=True).tests
    statistic = fits[0].chi_square - fits[1].chi_square
    assert (test.extra, test.residual) == (2, None)
    assert test.p_value == pytest.approx(stats.chi2.sf(statistic, 2), rel=1e-6)


UNLIKE: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "other points": (lambda: compare(FITS[0], dualfit.fit(FORMULAS[1], x[1:], y[1:])), FitError, "40 in one and 39 in the other"),
    "other sigma": (lambda: compare(FITS[0], dualfit.fit(FORMULAS[1], x, y, sigma=0.1, absolute_sigma=True)), FitError, "relative"),
    "other loss": (lambda: compare(FITS[0], dualfit.fit(FORMULAS[1], x, y, loss="huber")), FitError, "the loss"),
    "not converged": (lambda: compare(FITS[0], dualfit.fit("a*exp(-b*x)", x, y, [1, 1], max_evaluations=1)), FitError, "not converged"),
    "wrong order": (lambda: compare(FITS[1], FITS[0], nested=True), FitError, "fewer parameters first"),
    "one test": (lambda: compare(FITS[1], nested=True), FitError, "1 fit(s) cannot be tested; give at least two"),
    "no fits": (compare, FitError, "no fits were given; give at least one"),
    "a list": (lambda: compare(FITS), TypeError, "compare takes fits, not list"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("call", "error", "words"), UNLIKE.values(), ids=UNLIKE.keys())
def test_bad_requests(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    check_refused(call, error, words)
