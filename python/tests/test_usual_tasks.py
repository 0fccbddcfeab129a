"""Everyday tasks that a recording can miss: guarded expressions, a dose of zero, masked pixels, fixed values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualfit
from dualfit import FitError, NotTracedWarning, curve_fit, fit, fit_batch

optimize = pytest.importorskip("scipy.optimize")

x = np.linspace(0, 4, 50)
noise = 0.02 * np.random.default_rng(1).normal(size=50)


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


y = decay(x, 2.5, 1.3, 0.5) + noise
ONES = [1, 1, 1]


def onset(x, a, b):
    return np.where(x > 1, a * np.sqrt(x - 1), 0) + b


def inverse(x, a, b):
    return np.where(x > 0, a * x**-0.5, 0) + b


def entropy(x, a, b):
    return np.where(x > 0, a * x * np.log(x), 0) + b


@pytest.mark.filterwarnings("ignore:(invalid|divide)")
@pytest.mark.parametrize("f", [onset, inverse, entropy])
def test_what_is_not_finite_where_it_is_not_taken(f: Callable[..., Any]) -> None:
    with np.errstate(all="ignore"):
        data = f(x, 1.0, 0.3) + noise
        expected, covariance = optimize.curve_fit(f, x, data)
        with pytest.warns(NotTracedWarning, match="from x alone is not finite at some points"):
            popt, pcov = curve_fit(f, x, data)
        np.testing.assert_allclose(popt, expected, rtol=1e-6)
        np.testing.assert_allclose(pcov, covariance, rtol=1e-5)
        with pytest.warns(NotTracedWarning):
            kept = fit(f, x, data, [1, 1], nan_policy="omit")
        assert kept.statistics["points"] == 50
        with pytest.warns(NotTracedWarning):
            batch = fit_batch(f, x, [data, data], [1, 1])
        np.testing.assert_allclose(batch.params, [expected, expected], rtol=1e-6)


def test_nan_in_x_is_still_bad_data() -> None:
    gap = np.where(np.arange(50) == 7, np.nan, x)
    for f in (decay, lambda x, a, b: a * np.sqrt(x) + b):
        with pytest.raises(FitError, match="NaN at index 7"):
            fit(f, gap, y, np.ones(f.__code__.co_argcount - 1))
        assert fit(f, gap, y, np.ones(f.__code__.co_argcount - 1), nan_policy="omit").statistics["points"] == 49


def test_a_dose_of_zero() -> None:
    def response(dose, bottom, top, ec50, hill):
        return bottom + (top - bottom) / (1 + (ec50 / dose) ** hill)

    dose = np.array([0, 0.1, 0.3, 1, 3, 10, 30, 100])
    start = [1, 10, 2, 1]
    with np.errstate(divide="ignore"):
        seen = response(dose, 1, 10, 2.5, 1.2) + noise[:8]
        expected, covariance = optimize.curve_fit(response, dose, seen, start)
        with pytest.warns(NotTracedWarning, match="partial derivative of the model by `ec50` is NaN at point 0"):
            popt, pcov = curve_fit(response, dose, seen, start)
        with pytest.warns(NotTracedWarning, match="`ec50`"):
            found = fit(response, dose, seen, start)
    for params, matrix in ((popt, pcov), (found.params, found.covariance)):
        np.testing.assert_allclose(params, expected, rtol=1e-5)
        np.testing.assert_allclose(np.diag(matrix), np.diag(covariance), rtol=1e-4)
    assert not any("different points" in text for text in found.warnings)


def test_fixed_at_values() -> None:
    expected = fit(lambda x, a, b: decay(x, a, b, 0.5), x, y, [1, 1])
    for start in ([1, 1, 0], {"a": 1, "b": 1}):
        held = fit(decay, x, y, start, fixed={"c": 0.5})
        np.testing.assert_allclose(held.params, [*expected.params, 0.5], rtol=1e-9)
        np.testing.assert_allclose(held.std_errors[:2], expected.std_errors, rtol=1e-7)
    batch = fit_batch(decay, x, [y], [1, 1, 0], fixed={"c": 0.5})
    np.testing.assert_allclose(batch["c"], 0.5, rtol=0)


def test_masked_arrays() -> None:
    expected = fit(decay, x[x <= 3], y[x <= 3], ONES)
    masked = np.ma.array(y, mask=x > 3)
    np.testing.assert_allclose(fit(decay, x, masked, ONES).params, expected.params, rtol=1e-9)
    fewer = fit(decay, x, masked, ONES, mask=x > 0.5)
    assert fewer.statistics["points"] == int(((x <= 3) & (x > 0.5)).sum())
    batch = fit_batch(decay, x, np.ma.stack([masked, masked]), ONES)
    np.testing.assert_allclose(batch.params, [expected.params] * 2, rtol=1e-9)
    # Points that are masked in x, sigma or x_sigma are left out, too.
    hidden = np.ma.array(x, mask=x > 3)
    np.testing.assert_allclose(fit("a*exp(-b*x) + c", hidden, y, ONES).params, expected.params, rtol=1e-9)
    sigma = np.ma.array(np.full(50, 0.1), mask=x > 3)
    np.testing.assert_allclose(fit(decay, x, y, ONES, sigma=sigma).params, expected.params, rtol=1e-9)
    blurred = fit(decay, x, y, ONES, sigma=0.02, x_sigma=sigma)
    assert blurred.statistics["points"] == int((x <= 3).sum())
    two = dualfit.Model("a*x + b*z + c", variables=["x", "z"]).fit([hidden, x**2], y)
    assert two.statistics["points"] == int((x <= 3).sum())


def test_a_result_is_the_start_of_another_fit() -> None:
    before = fit(decay, x, y, ONES)
    again = fit(decay, x, y, {"a": before["a"], "b": before["b"]})
    assert float(before["a"]) == before["a"].value
    np.testing.assert_allclose(again.params, before.params, rtol=1e-7)


def test_dead_pixels_are_left_out_by_an_image_of_them() -> None:
    stack = np.stack([[y] * 3] * 2)
    alive = np.array([[True, True, False], [True, True, True]])
    batch = fit_batch(decay, x, stack, ONES, mask=alive)
    np.testing.assert_array_equal(batch.converged, alive)
    assert batch.status(0, 2) == "no points: all of them are masked, missing or without weight"
    assert batch.counts == {"converged": 5, "no points": 1} and batch.converged[alive].mean() == 1
    assert repr(batch) == "<Batch of 6 fits, 5 converged, 1 without points>" and "the first that did not converge" not in str(batch)
    assert np.isnan(batch["a"][0, 2])


def test_starts_of_another_shape_than_the_stack() -> None:
    stack = np.stack([[y] * 3] * 2)
    for shape in ((3, 2, 3), (6, 3), (3, 3)):
        with pytest.raises(ValueError, match="p0 has the shape"):
            fit_batch(decay, x, stack, np.ones(shape))
    assert fit_batch(decay, x, stack, np.ones((2, 3, 3))).converged.all()


def test_uncertainties_of_what_has_no_error() -> None:
    pytest.importorskip("uncertainties")
    numbers = fit(decay, x, y, ONES, bounds={"b": (0, 1)}).uncertainties()
    assert np.isnan(numbers["b"].std_dev) and numbers["b"].nominal_value == 1.0
    assert numbers["a"].std_dev > 0


@pytest.mark.parametrize("call, kind, words", [
    (lambda: fit(lambda t, a, e: a * np.exp(-e * t), x, y, [1, 1], derived={"k": "1-e"}), FitError, "e in a formula is the constant"),
    (lambda: fit(lambda t, a, pi: a + pi * t, x, y, [1, 1]).propagate("2*pi"), FitError, "pi in a formula is the constant"),
    (lambda: fit(decay, x, y, ONES, bounds=[(0, 5)] * 4), TypeError, "give (lower, upper) for all, one pair per parameter"),
    (lambda: fit(decay, x, y, ONES, bounds={"a": 0}), TypeError, "a mapping of names to (lower, upper)"),
    (lambda: fit(decay, x, y, ONES, ties={"c": 0.5}), TypeError, "a mapping of names to formulas"),
    (lambda: fit(decay, x, y, ONES, derived=["a"]), TypeError, "a mapping of names to formulas"),
    (lambda: fit(decay, x, y, ONES, priors={"a": (1, 2)}), FitError, "priors need sigma in the units of y: give sigma and absolute_sigma=True"),
    (lambda: fit(decay, x, y, ONES, weights=x), TypeError, "for weights give sigma = 1/weights"),
    (lambda: fit(decay, x, y, ONES, fixed={"q": 1}), FitError, "there is no parameter 'q' to fix"),
])
def test_what_is_refused(call: Callable[[], Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value)
