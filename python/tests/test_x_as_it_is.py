"""Functions that read elements of x, its extrema, its mean or its size, closures, globals and defaults.

Every entry point fits the function that is called with the x of the fit: the reported cost is half the sum of squares
of this function, and `predict`, the center of a band and a pickled fit have its values.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dualfit

# A fixed profile: the same functions are drawn in every run.
fixed = settings(derandomize=True, deadline=None, max_examples=120, database=None)

#: A number that functions read as a global.
SCALE = 1.0

#: Values that a function reads from x.
READS: list[Callable[[Any], Any]] = [
    lambda x: 0.0,
    lambda x: x[0],
    lambda x: x[-1],
    lambda x: x[len(x) // 2],
    lambda x: x.min(),
    lambda x: np.max(x),
    lambda x: x.mean(),
    lambda x: np.median(x),
    lambda x: np.ptp(x),
    lambda x: 0.1 * x.size,
    lambda x: 0.1 * len(x),
    lambda x: float(x[1]),
    lambda x: np.asarray(x)[0],
    lambda x: x[:1],
    lambda x: np.sort(x)[1],
    lambda x: np.interp(x, [0.0, 3.0], [0.0, 1.0]),
]
#: Curves: functions of x, of a value read from x (a number or an array), of another number, and of two parameters.
CURVES: list[Callable[..., Any]] = [
    lambda x, c, s, a, b: a * np.exp(-0.3 * s * (x - c)) + b,
    lambda x, c, s, a, b: a * np.exp(-0.2 * b * s * (x - c)),
    lambda x, c, s, a, b: a * x / (2.0 + s * c) + b,
    lambda x, c, s, a, b: np.where(x < c, a * x, b * s),
    lambda x, c, s, a, b: a * x + s * b if np.all(x[0] < 0.5) else a * x**2 + s * b,
    lambda x, c, s, a, b: a * np.cos(x - c) + b * np.sin(s * x),
    lambda x, c, s, a, b: a * c * x + b * s,
    lambda x, c, s, a, b: a + b * (s * x - c) ** 2,
    lambda x, c, s, a, b: a * x + s * b if x.max() > x.size / 4 else a * np.sqrt(1.0 + x) + b,
    lambda x, c, s, a, b: a * np.exp(-0.2 * b * x) * np.exp(0.2 * b * c) * s,
]
#: Ways in which the function accesses the other number.
HABITS = ["closure", "global", "default", "attribute"]


class Holder:
    def __init__(self, read: Any, curve: Any, s: float) -> None:
        self.read, self.curve, self.s = read, curve, s

    def method(self, x, a, b):
        return self.curve(x, self.read(x), self.s, a, b)


def function(read: Any, curve: Any, s: float, habit: str) -> Callable[..., Any]:
    global SCALE
    SCALE = s
    if habit == "closure":
        return lambda x, a, b: curve(x, read(x), s, a, b)
    if habit == "global":
        return lambda x, a, b: curve(x, read(x), SCALE, a, b)
    if habit == "attribute":
        return Holder(read, curve, s).method

    def with_default(x, a, b, *, s=s):
        return curve(x, read(x), s, a, b)

    return with_default


functions = st.builds(function, st.sampled_from(READS), st.sampled_from(CURVES), st.sampled_from([0.5, 1.0, 1.7]),
                      st.sampled_from(HABITS))
START = [1.3, 0.8]


def rows(seed: int, fits: int, points: int) -> tuple[Any, Any]:
    """Return rows of x and noise. Most rows are equal; some are shifted, stretched or permuted."""
    rng = np.random.default_rng(seed)
    x = np.tile(np.linspace(0.0, 3.0, points), (fits, 1))
    for k in range(fits):
        changed = [x[k] + 1.0, 1.7 * x[k], rng.permutation(x[k]), np.full(points, 0.2) + 0.1 * rng.random(points)]
        x[k] = (changed + [x[k]] * 12)[rng.integers(0, 16)]
    return x, 0.05 * rng.standard_normal((fits, points))


def assert_near(actual: Any, expected: Any, scale: float = 1.0) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9 * scale)


def own_cost(f: Any, x: Any, y: Any, params: Any) -> float:
    return 0.5 * float(((f(x, *params) - y) ** 2).sum())


@fixed
@given(f=functions, seed=st.integers(0, 999), fits=st.integers(2, 40), points=st.integers(8, 14), own=st.booleans())
def test_batches(f: Any, seed: int, fits: int, points: int, own: bool) -> None:
    x, noise = rows(seed, fits, points)
    x = x if own else np.tile(x[0], (fits, 1))
    stack = np.array([f(row, 1.1, 0.7) for row in x]) + noise
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dualfit.NotTracedWarning)
        batch = dualfit.fit_batch(f, x if own else x[0], stack, START)
    for row, y, params, cost in zip(x, stack, batch.params, batch.costs):
        assert_near(cost, own_cost(f, row, y, params))


@fixed
@given(f=functions, seed=st.integers(0, 999), points=st.integers(8, 14))
def test_single_fits(f: Any, seed: int, points: int) -> None:
    (x, there), noise = rows(seed, 2, points)
    y = f(x, 1.1, 0.7) + noise[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = dualfit.fit(f, x, y, START)
        popt, _ = dualfit.curve_fit(f, x, y, START)
        few, other = x[[2, 3, 5]], np.concatenate([there, [9.0]])
        assert_near(fit.cost, own_cost(f, x, y, fit.params))
        assert_near(own_cost(f, x, y, popt), fit.cost)
        for at in (None, few, other):
            values = np.broadcast_to(f(x if at is None else at, *fit.params), (points if at is None else at.size,))
            scale = np.abs(values).max()
            assert_near(fit.predict(at), values, scale)
            assert_near(fit.confidence_band(at).center, values, scale)
            kept = pickle.loads(pickle.dumps(fit))
            try:
                found = kept.predict(at)
            except ValueError:
                continue  # The function cannot be pickled, and has no program over x.
            assert_near(found, values, scale)
            assert_near(kept.confidence_band(at).center, values, scale)


@fixed
@given(f=functions, seed=st.integers(0, 999), points=st.integers(8, 14))
def test_streams_and_parts(f: Any, seed: int, points: int) -> None:
    (x, _), noise = rows(seed, 2, points)
    y = f(x, 1.1, 0.7) + noise[0]
    fits: list[Callable[[], dualfit.Fit]] = [
        lambda: dualfit.fit_stream(f, chunks=lambda: [(x[:5], y[:5]), (x[5:], y[5:])], p0=START),
        lambda: dualfit.fit_parts(f, dualfit.Part(f, x, y).answer, START),
        lambda: dualfit.fit(f, x, y, START, sigma=0.05, x_sigma=1e-9),
    ]
    for k, fit in enumerate(fits):
        try:
            found = fit()
        except dualfit.NotTraceable:
            continue  # The function needs points of other parts.
        scale = 0.05**2 if k == 2 else 1.0
        assert_near(found.cost * scale, own_cost(f, x, y, found.params), 1e3)


def decay_from_the_first(x, a, k):
    return a * np.exp(-k * (x - x[0]))


def test_a_batch_of_decays_that_begin_at_their_own_times() -> None:
    """Three of a hundred rows begin later, and are not among the eight rows that are compared before the fit."""
    x = np.tile(np.linspace(0, 5, 60), (100, 1))
    x[[3, 17, 50]] += 1
    stack = np.array([decay_from_the_first(row, 2.0, 0.7) for row in x])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batch = dualfit.fit_batch(decay_from_the_first, x, stack, [1.0, 1.0])
    np.testing.assert_allclose(batch.params, np.tile([2.0, 0.7], (100, 1)), rtol=1e-7)


def test_a_batch_that_branches_on_its_x_is_called() -> None:
    def f(x, a, b):
        return a * x + b if x[0] < 0.5 else a * np.exp(-x) + b

    x = np.tile(np.linspace(0, 5, 30), (20, 1))
    x[13] += 1
    stack = np.array([f(row, 2.0, 0.7) for row in x])
    # Values that depend only on x are columns, so that the operations are the same.
    np.testing.assert_allclose(dualfit.fit_batch(f, x, stack, [1, 1]).params, np.tile([2.0, 0.7], (20, 1)), rtol=1e-7)

    def g(x, a, b):
        return a * x + b if x[0] < 0.5 else a * np.exp(-b * x)

    stack = np.array([g(row, 2.0, 0.7) for row in x])
    with pytest.warns(dualfit.NotTracedWarning, match="fit 13 are not those for the x of fit 0"):
        batch = dualfit.fit_batch(g, x, stack, [1, 1])
    np.testing.assert_allclose(batch.params, np.tile([2.0, 0.7], (20, 1)), rtol=1e-6)


def divided_by_the_largest(x, k, m):
    return k * x / x.max() + m


@pytest.mark.parametrize("is_pickled", [True, False])
def test_one_meaning_of_predict(is_pickled: bool) -> None:
    f = divided_by_the_largest if is_pickled else lambda x, k, m: k * x / x.max() + m
    x = np.linspace(0.0, 2.0, 20)
    fit = dualfit.fit(f, x, f(x, 3.0, 1.0), [1.0, 1.0])
    at = np.array([1.0, 4.0])
    expected = [3.0 / 4.0 + 1.0, 4.0]
    np.testing.assert_allclose(fit.predict(at), expected, rtol=1e-12)
    np.testing.assert_allclose(fit.confidence_band(at).center, expected, rtol=1e-12)
    kept = pickle.loads(pickle.dumps(fit))
    if is_pickled:
        np.testing.assert_allclose(kept.predict(at), expected, rtol=1e-12)
        np.testing.assert_allclose(kept.confidence_band(at).center, expected, rtol=1e-12)
    else:
        # A program over x cannot contain the maximum of x; therefore the fit has no program over x.
        with pytest.raises(ValueError, match="the function is not with this fit"):
            kept.predict(at)


def test_a_band_where_the_function_is_another_one() -> None:
    """The band belongs to the function at the given x: its partials at these points and the covariance of the fit."""

    def f(x, a, b):
        return a * x + b if x[0] < 1.0 else a * np.exp(-b * x)

    x = np.linspace(0.0, 2.0, 30)
    fit = dualfit.fit(f, x, f(x, 2.0, 0.7) + 0.1 * np.cos(9 * x), [1.0, 1.0])
    at = np.array([1.5, 3.0])
    a, b = fit.params
    partials = np.stack([np.exp(-b * at), -a * at * np.exp(-b * at)], axis=1)
    band = fit.confidence_band(at)
    np.testing.assert_allclose(band.center, a * np.exp(-b * at), rtol=1e-12)
    np.testing.assert_allclose(band.std_errors**2, np.einsum("ij,jk,ik->i", partials, fit.covariance, partials), rtol=1e-9)


def test_a_size_that_decides_on_the_function() -> None:
    """A function that depends on the number of points is recorded with each x, and is an error if there is no x."""

    def f(x, a, b):
        return a * x + b if x.size < 100 else a * x**2 + b

    x = np.linspace(0.0, 1.0, 60)
    own = x + 0.01 * np.arange(9)[:, None]
    stack = np.array([f(row, 2.0, 1.0) for row in own])
    np.testing.assert_allclose(dualfit.fit_batch(f, own, stack, [1, 1]).params, np.tile([2.0, 1.0], (9, 1)), rtol=1e-9)
    with pytest.raises(dualfit.NotTraceable):
        dualfit.fit_stream(f, chunks=lambda: [(x, x)], p0=[1, 1])


def divided_and_tied(x, a, b, c):
    return a * x / x.max() + b + c * x**2


def test_a_band_of_another_program_keeps_ties() -> None:
    x = np.linspace(0.0, 2.0, 30)
    y = divided_and_tied(x, 2.0, 0.5, 1.0) + 0.1 * np.cos(9 * x)
    fit = dualfit.fit(divided_and_tied, x, y, {"a": 1.0, "b": 1.0}, ties={"c": "2*b"})
    at = np.array([1.0, 3.0])
    partials = np.stack([at / 3.0, 1.0 + 2.0 * at**2], axis=1)
    variance = np.einsum("ij,jk,ik->i", partials, fit.covariance[:2, :2], partials)
    for each in (fit, pickle.loads(pickle.dumps(fit))):
        band = each.confidence_band(at)
        np.testing.assert_allclose(band.center, divided_and_tied(at, *fit.params), rtol=1e-12)
        np.testing.assert_allclose(band.std_errors**2, variance, rtol=1e-9)
        assert (each.prediction_band(at).std_errors > band.std_errors).all()
