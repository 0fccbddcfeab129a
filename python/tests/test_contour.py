"""`Fit.contour`: the ellipse of a linear model, lmfit's `conf_interval2d`, and refits by SciPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualfit
from dualfit import FitError
from refusals import check_refused

optimize = pytest.importorskip("scipy.optimize")
stats = pytest.importorskip("scipy.stats")

pytestmark = pytest.mark.filterwarnings("error", "ignore::dualfit.NotTracedWarning")

x = np.linspace(0, 4, 40)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.05 * np.random.default_rng(3).normal(size=40)


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def called(x, a, b, c):
    return np.array([a * math.exp(min(-b * t, 700.0)) + c for t in x])


FIT = dualfit.fit(decay, x, y, [1, 1, 0])


@pytest.mark.parametrize("absolute", [False, True])
def test_regions_of_a_linear_model_are_ellipses(absolute: bool) -> None:
    sigma = 0.05 * (1 + x)
    said: dict[str, Any] = {"sigma": sigma, "absolute_sigma": absolute}
    fit = dualfit.fit("a*x + b + c*x^2", x, 2 * x + 1 + sigma * np.cos(9 * x), **said)
    found = fit.contour("b", "a", [0.5, 0.9], points=(15, 11))
    names = [fit.names.index(name) for name in ("b", "a")]
    inverse = np.linalg.inv(fit.covariance[np.ix_(names, names)])
    assert found.names == ("b", "a") and found.best == (fit.values["b"], fit.values["a"])
    assert (found.a.size, found.b.size, found.excess.shape) == (15, 11, (11, 15))
    offsets = np.stack(np.meshgrid(found.a - found.best[0], found.b - found.best[1]), axis=-1)
    np.testing.assert_allclose(found.excess, np.einsum("...i,ij,...j", offsets, inverse, offsets), rtol=1e-6, atol=1e-9)
    for line, level in zip(found.lines, (0.5, 0.9)):
        assert line.level == level
        expected = stats.chi2.ppf(level, 2) if absolute else 2 * stats.f.ppf(level, 2, 37)
        assert line.excess == pytest.approx(expected, rel=1e-9)
        (path,) = line.paths
        np.testing.assert_array_equal(path[0], path[-1])
        along = path - np.array(found.best)
        # The lines are interpolated on a coarse grid.
        np.testing.assert_allclose(np.einsum("ki,ij,kj->k", along, inverse, along), line.excess, rtol=0.15)
    assert found.better is None


def test_the_grid_is_that_of_lmfit() -> None:
    """lmfit refits on the same grid and returns chi-square."""
    lmfit = pytest.importorskip("lmfit")
    parameters = lmfit.create_params(a=2, b=1, c=0)
    minimizer = lmfit.Minimizer(lambda p: decay(x, **p.valuesdict()) - y, parameters)
    result = minimizer.minimize(xtol=1e-12, ftol=1e-12)
    ranges = {"a": (2.3, 2.7), "b": (1.1, 1.5)}
    at_a, at_b, chi_square = lmfit.conf_interval2d(minimizer, result, "a", "b", 7, 6, limits=tuple(ranges.values()), chi2_out=True)
    found = FIT.contour("a", "b", points=(7, 6), ranges=ranges)
    order_a, order_b = np.argsort(at_a), np.argsort(at_b)
    np.testing.assert_allclose(found.a, at_a[order_a], rtol=1e-12)
    np.testing.assert_allclose(found.b, at_b[order_b], rtol=1e-12)
    scatter = FIT.chi_square / 37
    np.testing.assert_allclose(found.excess, (chi_square[np.ix_(order_b, order_a)] - FIT.chi_square) / scatter, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("f", ["a*exp(-b*x) + c", decay, called])
def test_each_point_is_a_refit(f: Any) -> None:
    found = dualfit.fit(f, x, y, [1, 1, 0]).contour("a", "c", points=(4, 3), ranges={"a": (2.2, 2.8), "c": (0.4, 0.6)})
    least = FIT.chi_square
    for j, c in enumerate(found.b):
        for i, a in enumerate(found.a):
            refit = optimize.least_squares(lambda b, a=a, c=c: decay(x, a, b[0], c) - y, [1.3], xtol=1e-14, ftol=1e-14, gtol=1e-14)
            assert found.excess[j, i] == pytest.approx((2 * refit.cost - least) / (least / 37), rel=1e-4, abs=1e-4)


def test_the_usual_grid_covers_the_regions() -> None:
    found = FIT.contour("a", "b")
    assert found.excess.shape == (101, 101)
    assert [line.level for line in found.lines] == [0.6827, 0.95]
    assert all(len(line.paths) == 1 and (line.paths[0][0] == line.paths[0][-1]).all() for line in found.lines)
    border = np.concatenate([found.excess[0], found.excess[-1], found.excess[:, 0], found.excess[:, -1]])
    assert (border > found.lines[-1].excess).all()


def test_a_better_minimum_is_reported() -> None:
    def wave(x, a, w, c):
        return a * np.sin(w * x) + c

    truth = wave(x, 1, 5, 0.2)
    fit = dualfit.fit(wave, x, truth, [1, 1.2, 0])
    found = fit.contour("a", "w", points=25, ranges={"a": (-1.2, 1.2), "w": (0.1, 6.1)})
    assert found.better is not None
    again = dualfit.fit(wave, x, truth, found.better)
    assert again.cost < 1e-12 < fit.cost


@pytest.mark.parametrize("f", [decay, called])
def test_what_a_callback_raises_comes_through(f: Any) -> None:
    events: list[dict[str, Any]] = []
    fit = dualfit.fit(f, x, y, [1, 1, 0], callback=events.append)
    before = len(events)
    fit.contour("a", "b", points=5)
    error = LookupError("mine")

    def callback(event: dict[str, Any]) -> None:
        raise error

    fit._settings["callback"] = callback
    if len(events) > before:
        with pytest.raises(LookupError) as caught:
            fit.contour("a", "b", points=5)
        assert caught.value is error
    calls = 0

    def fails(x, a, b, c):
        nonlocal calls
        calls += 1
        if calls > 100:
            raise error
        return called(x, a, b, c)

    with pytest.raises(LookupError) as caught:
        dualfit.fit(fails, x, y, [2.5, 1.3, 0.5]).contour("a", "b", points=5)
    assert caught.value is error


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "one twice": (lambda: FIT.contour("a", "a"), FitError, "give two different parameters"),
    "unknown": (lambda: FIT.contour("a", "q"), FitError, "`q`"),
    "fixed": (lambda: dualfit.fit(decay, x, y, [1, 1, 0.5], fixed="c").contour("a", "c"), FitError, "leave it out of fixed"),
    "level": (lambda: FIT.contour("a", "b", [95]), FitError, "95"),
    "points": (lambda: FIT.contour("a", "b", points=1), FitError, "from 2 to 2000"),
    "points not whole": (lambda: FIT.contour("a", "b", points=2.5), TypeError, "points is 2.5; give a whole number"),
    "reversed": (lambda: FIT.contour("a", "b", ranges={"a": (3, 2)}), FitError, "`a`"),
    "range of another": (lambda: FIT.contour("a", "b", ranges={"c": (0, 1)}), FitError, "the contour is of 'a' and 'b'"),
    "saved": (lambda: dualfit.Fit.from_json(FIT.to_json()).contour("a", "b"), ValueError, "kept"),
}


@pytest.mark.parametrize(("call", "error", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_bad_requests(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    check_refused(call, error, words)
