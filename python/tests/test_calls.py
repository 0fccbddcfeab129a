"""Numbers of calls of a model; models that cannot be recorded: same results, one warning with the reason."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualfit

x = np.linspace(0, 4, 50)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.05 * np.sin(9 * x)


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def partials(x, a, b, c):
    e = np.exp(-b * x)
    return np.stack([e, -a * x * e, np.ones_like(x)], axis=1)


class Counted:
    """A function that counts its calls."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f, self.calls = f, 0

    def __call__(self, x, a, b, c):
        self.calls += 1
        return self.f(x, a, b, c)


# Functions that cannot be recorded


def branching(x, a, b, c):
    if b < 0:
        return np.zeros_like(x)
    return a * np.exp(-b * x) + c


def of_math(x, a, b, c):
    return np.array([a * math.exp(-b * u) + c for u in x])


def filled(x, a, b, c):
    values = np.empty_like(x)
    for i, u in enumerate(x):
        values[i] = a * np.exp(-b * u)
    return values + c


def stepped(x, a, b, c):
    """Euler's method for dz/dx = -b z with smaller and smaller steps until the result is accurate."""
    exact, steps, last = np.exp(-b * x), 1, np.inf
    while abs(last - exact[-1]) > 1e-3:
        last, steps = (1 - b * x[-1] / steps) ** steps, 2 * steps
    return a * exact + c


def of_integrals(x, a, b, c):
    from scipy.integrate import quad

    return np.array([a * (1 - quad(lambda t: b * math.exp(-b * t), 0, u)[0]) + c for u in x])


def of_interpolation(x, a, b, c):
    from scipy.interpolate import CubicSpline

    fine = np.linspace(0, 4, 400)
    return CubicSpline(fine, a * np.exp(-b * fine) + c)(x)


UNTRACEABLE = [branching, of_math, filled, stepped, of_integrals, of_interpolation, np.vectorize(decay)]


@pytest.mark.parametrize("f", UNTRACEABLE, ids=lambda f: getattr(f, "__name__", "vectorize"))
def test_the_same_answer_with_one_warning(f: Callable[..., Any]) -> None:
    if f in (of_integrals, of_interpolation):
        pytest.importorskip("scipy")
    expected, covariance = dualfit.curve_fit(decay, x, y)
    errors = np.sqrt(np.diag(covariance))
    with pytest.warns(dualfit.NotTracedWarning, match="called as it is") as caught:
        popt, pcov = dualfit.curve_fit(f, x, y, [1, 1, 1])
    assert len(caught) == 1
    # The partials are finite differences, which change the parameters by less than 1e-6 standard errors.
    assert np.max(np.abs(popt - expected) / errors) < 2e-6
    assert np.max(np.abs(pcov - covariance) / np.outer(errors, errors)) < 1e-5


def test_the_warning_names_the_line_of_the_function() -> None:
    lines, first = inspect.getsourcelines(branching)
    place = f"test_calls.py, line {first + 1} (`if b < 0:`)"
    with pytest.warns(dualfit.NotTracedWarning) as caught:
        dualfit.curve_fit(branching, x, y)
    assert place in str(caught[0].message)
    assert "np.where" in str(caught[0].message)
    assert len(lines) == 4


@pytest.mark.parametrize("call", [
    lambda: dualfit.curve_fit(branching, x, y),
    lambda: dualfit.fit(branching, x, y, [1, 1, 1]),
    lambda: dualfit.Model(branching).fit(x, y, [1, 1, 1]),
    lambda: dualfit.fit_batch(branching, x, np.stack([y, y]), [1, 1, 1]),
    lambda: dualfit.Model(branching).fit_batch(x, np.stack([y, y]), [1, 1, 1]),
], ids=["curve_fit", "fit", "Model.fit", "fit_batch", "Model.fit_batch"])
def test_the_warning_points_at_the_call(call: Callable[[], Any]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert len(caught) == 1
    assert caught[0].category is dualfit.NotTracedWarning
    assert (caught[0].filename, caught[0].lineno) == (__file__, call.__code__.co_firstlineno)


# Partials from the caller


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("f", [decay, of_math])
def test_partials(f: Callable[..., Any]) -> None:
    seen: list[tuple[Any, ...]] = []

    def jac(x, a, b, c):
        seen.append((a, b, c))
        return partials(x, a, b, c)

    popt, pcov = dualfit.curve_fit(f, x, y, jac=jac)
    expected, covariance = dualfit.curve_fit(decay, x, y)
    np.testing.assert_allclose(popt, expected, rtol=1e-8)
    np.testing.assert_allclose(pcov, covariance, rtol=1e-8)
    assert 2 <= len(seen) < 20
    assert all(isinstance(value, float) for value in seen[0])


def test_partials_of_a_list_of_rows() -> None:
    popt, _ = dualfit.curve_fit(decay, x, y, jac=lambda x, *p: partials(x, *p).tolist())
    np.testing.assert_allclose(popt, dualfit.curve_fit(decay, x, y)[0], rtol=1e-8)


# Numbers of calls


@pytest.mark.filterwarnings("error")
def test_a_recorded_function_is_called_a_few_times() -> None:
    f = Counted(decay)
    dualfit.curve_fit(f, x, y)
    assert f.calls <= 3
    f.calls = 0
    fit = dualfit.fit(f, x, y, [1, 1, 1])
    fit.confidence_band()
    fit.profile("b")
    fit.diagnostics()
    assert f.calls <= 3


@pytest.mark.filterwarnings("error")
def test_a_function_is_called_to_be_recorded_and_compared() -> None:
    calls = 0

    def f(x, a, b, c):
        nonlocal calls
        calls += 1
        return a * np.exp(-b * x) + c

    for _ in range(5):
        dualfit.curve_fit(f, x, y)
    # Three calls per fit: for the recording, for the comparison before the fit, because the function accesses a changed
    # value, and for the comparison after the fit.
    assert calls == 5 * 3


def test_a_function_that_is_called_as_it_is_is_never_asked_twice_in_turn() -> None:
    asked: list[tuple[float, ...]] = []

    def f(x, a, b, c):
        asked.append(tuple(map(float, (a, b, c))) if isinstance(a, float) else ())
        return branching(x, a, b, c)

    with pytest.warns(dualfit.NotTracedWarning):
        dualfit.curve_fit(f, x, y)
    assert all(one != two for one, two in zip(asked, asked[1:]))
    assert len(asked) < 60


# Randomness and state


def random_numbers() -> Callable[..., Any]:
    rng = np.random.default_rng(3)
    return lambda x, a, b, c: decay(x, a, b, c) + 1e-3 * rng.normal(size=x.shape)


def random_factor() -> Callable[..., Any]:
    rng = np.random.default_rng(3)
    return lambda x, a, b, c: decay(x, a, b, c * (1 + 1e-3 * rng.random()))


def counter() -> Callable[..., Any]:
    calls = [0]

    def f(x, a, b, c):
        calls[0] += 1
        return decay(x, a, b, c) + 1e-3 * calls[0]

    return f


def growing_array() -> Callable[..., Any]:
    grown = np.zeros_like(x)

    def f(x, a, b, c):
        grown[:] += 1e-3 * np.arange(1.0, len(grown) + 1)
        return decay(x, a, b, c) + grown

    return f


def memory() -> Callable[..., Any]:
    last = [0.0]

    def f(x, a, b, c):
        value, last[0] = decay(x, a, b, c) + last[0], float(len(x))
        return value

    return f


@pytest.mark.parametrize("made", [random_numbers, random_factor, counter, growing_array, memory])
def test_randomness_and_state_are_noticed(made: Callable[[], Callable[..., Any]]) -> None:
    f = made()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dualfit.fit(f, x, y, [2, 1, 0.5], max_evaluations=30)
    assert [each.category for each in caught] == [dualfit.NotTracedWarning]
    assert "state, randomness" in str(caught[0].message)


@pytest.mark.filterwarnings("error")
def test_side_effects_that_do_not_matter_are_no_reason() -> None:
    log: list[Any] = []

    def f(x, a, b, c):
        log.append("called")
        return decay(x, a, b, c)

    np.testing.assert_array_equal(dualfit.curve_fit(f, x, y)[0], dualfit.curve_fit(decay, x, y)[0])
    assert 1 <= len(log) <= 3


@pytest.mark.filterwarnings("error")
def test_what_a_closure_holds_may_change_between_fits() -> None:
    offset, weights = [0.0], np.zeros_like(x)

    def f(x, a, b, c):
        return decay(x, a, b, c) + offset[0] + weights

    for number in (0.0, 0.25, 0.5):
        offset[0] = number
        weights[:] = 0.1 * number * np.sin(x)
        popt = dualfit.curve_fit(f, x, y)[0]
        expected = dualfit.curve_fit(decay, x, y - offset[0] - weights)[0]
        np.testing.assert_allclose(popt, expected, rtol=1e-6)
