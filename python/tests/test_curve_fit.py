"""`curve_fit` returns the same results as SciPy's, for all forms of calls."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualfit

optimize = pytest.importorskip("scipy.optimize")
special = pytest.importorskip("scipy.special")
pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.filterwarnings("error", "ignore:Setting `.tol` below the machine epsilon")

Call = Callable[[Callable[..., Any]], Any]

x = np.linspace(0, 4, 50)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.05 * np.sin(9 * x)
sigma = 0.05 + 0.02 * np.cos(x)
matrix = np.diag(sigma**2) + 4e-4 * np.exp(-np.abs(np.subtract.outer(x, x)))
with_gaps = np.where(np.isin(np.arange(50), [3, 8, 9]), np.nan, y)
table = pd.DataFrame({"t": x, "u": np.cos(x)}, index=range(7, 57))


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def partials(x, a, b, c):
    e = np.exp(-b * x)
    return np.stack([e, -a * x * e, np.ones_like(x)], axis=1)


def line(x, a, b):
    return a * x + b


def plane(x, a, b):
    return a * x[0] + b * x[1]


class Of:
    """A line as each kind of callable of a class."""

    def method(self, x, a, b):
        return a * x + b

    def __call__(self, x, a, b):
        return a * x + b

    @classmethod
    def of_class(cls, x, a, b):
        return a * x + b

    @staticmethod
    def static(x, a, b):
        return a * x + b


def off(found: Any, expected: Any) -> tuple[float, float]:
    """Return the maximum differences of parameters and of covariances, in units of standard errors."""
    errors = np.sqrt(np.diag(expected[1]))
    return (np.max(np.abs(found[0] - expected[0]) / errors),
            np.max(np.abs(found[1] - expected[1]) / np.outer(errors, errors)))


def same(call: Call, params: float = 1e-4, covariance: float = 1e-4) -> Any:
    """Return both results of a call, after checking that they agree within the accuracy of SciPy's.

    SciPy stops if the relative change of the cost is below 1e-8, which leaves errors of 1e-4 standard errors. Its
    covariance is based on forward differences, which cause relative errors of up to 5e-5 here.
    """
    found, expected = call(dualfit.curve_fit), call(optimize.curve_fit)
    off_params, off_covariance = off(found, expected)
    assert off_params < params
    assert off_covariance < covariance
    return found, expected


def grid(first: float, last: float, points: int) -> Any:
    return np.linspace(first, last, points)


#: Function, x, true parameters, start.
PROBLEMS: dict[str, tuple[Callable[..., Any], Any, list[float], list[float] | None]] = {
    "line": (line, grid(-3, 8, 40), [2, -1], None),
    "decay": (decay, grid(0, 4, 50), [2.5, 1.3, 0.5], None),
    "gauss": (lambda x, a, m, s: a * np.exp(-(((x - m) / s) ** 2) / 2), grid(-5, 5, 80), [3, 0.7, 1.2], [1, 0, 1]),
    "lorentz": (lambda x, a, m, g: a * g**2 / ((x - m) ** 2 + g**2), grid(-5, 5, 80), [3, 0.7, 0.8], [1, 0, 1]),
    "sine": (lambda x, a, w, p: a * np.sin(w * x + p), grid(0, 10, 90), [2, 1.4, 0.3], [1, 1.3, 0]),
    "logistic": (lambda x, a, b, c: a / (1 + np.exp(-b * (x - c))), grid(0, 10, 60), [5, 1.1, 4.5], [4, 1, 5]),
    "michaelis": (lambda x, v, k: v * x / (k + x), grid(0.1, 10, 30), [4, 1.7], None),
    "power": (lambda x, a, k: a * x**k, grid(0.5, 5, 40), [1.5, 0.7], None),
    "two decays": (lambda x, a, b, c, d: a * np.exp(-b * x) + c * np.exp(-d * x), grid(0, 10, 200), [3, 0.3, 2, 2.5],
                   [2, 0.5, 1, 2]),
    "damped": (lambda x, a, k, w: a * np.exp(-k * x) * np.cos(w * x), grid(0, 10, 120), [2, 0.2, 2.0], [1, 0.1, 1.9]),
    "gompertz": (lambda x, a, b, c: a * np.exp(-b * np.exp(-c * x)), grid(0, 10, 50), [5, 4, 0.7], [4, 3, 0.5]),
    "step": (lambda x, a, c, s, b: a * special.erf((x - c) / s) + b, grid(-4, 4, 60), [2, 0.5, 1.1, 0.3], None),
    "plane": (lambda x, a, b, c: a * x[0] + b * x[1] + c, np.stack([grid(0, 1, 50), np.cos(grid(0, 9, 50))]),
              [2, -1, 0.5], None),
    "polynomial": (lambda x, *p: np.polyval(p, x), grid(-2, 2, 50), [0.3, -1, 0.5, 2], [1, 1, 1, 1]),
    "in pieces": (lambda x, a, b, t: np.where(x < 5, a * x, b * np.exp(-x / t)), grid(0, 20, 60), [1.0, 30, 4], [1, 20, 5]),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_problem(name: str) -> None:
    f, at, true, p0 = PROBLEMS[name]
    curve = f(at, *true)
    values = curve + 0.05 * np.std(curve) * np.random.default_rng(5).normal(size=curve.shape)
    same(lambda curve_fit: curve_fit(f, at, values, p0))
    # With central differences and minimal tolerances, SciPy is accurate to about 1e-8.
    exact = optimize.curve_fit(f, at, values, p0, method="trf", jac="3-point", x_scale="jac", ftol=1e-15, xtol=1e-15,
                               gtol=1e-15)
    params, covariance = off(dualfit.curve_fit(f, at, values, p0), exact)
    assert params < 1e-6
    assert covariance < 1e-7


#: The same data in many forms of calls.
CALLS: dict[str, Call] = {
    "lm": lambda curve_fit: curve_fit(decay, x, y, method="lm"),
    "trf": lambda curve_fit: curve_fit(decay, x, y, method="trf"),
    "dogbox": lambda curve_fit: curve_fit(decay, x, y, method="dogbox"),
    "p0 tuple": lambda curve_fit: curve_fit(decay, x, y, (2, 1, 0)),
    "p0 whole numbers": lambda curve_fit: curve_fit(decay, x, y, np.array([2, 1, 0])),
    "p0 float32": lambda curve_fit: curve_fit(decay, x, y, np.float32([2, 1, 0])),
    "p0 row": lambda curve_fit: curve_fit(decay, x, y, [[2, 1, 0]]),
    "p0 Series": lambda curve_fit: curve_fit(decay, x, y, pd.Series([2, 1, 0], index=list("abc"))),
    "p0 number": lambda curve_fit: curve_fit(lambda x, a: a * x, x, y, 2),
    "lists": lambda curve_fit: curve_fit(decay, list(x), list(y)),
    "tuples": lambda curve_fit: curve_fit(decay, tuple(x), tuple(y)),
    "whole numbers": lambda curve_fit: curve_fit(line, list(range(50)), (10 * y).astype(int)),
    "float32": lambda curve_fit: curve_fit(decay, x.astype("f4"), y.astype("f4")),
    "big-endian": lambda curve_fit: curve_fit(decay, x.astype(">f8"), y.astype(">f8")),
    "strides": lambda curve_fit: curve_fit(decay, np.repeat(x, 2)[::2], y[::-1][::-1]),
    "Series": lambda curve_fit: curve_fit(decay, pd.Series(x), pd.Series(y)),
    "Series with other labels": lambda curve_fit: curve_fit(decay, table["t"], pd.Series(y)),
    "DataFrame": lambda curve_fit: curve_fit(lambda d, a, b, c: a * np.exp(-b * d["t"]) + c * d["u"], table, y),
    "DataFrame's arrays": lambda curve_fit: curve_fit(lambda d, a, b: a * d.t.values + b * d["u"].to_numpy(), table, y),
    "rows": lambda curve_fit: curve_fit(plane, np.stack([x, np.cos(x)]), y),
    "tuple of arrays": lambda curve_fit: curve_fit(plane, (x, np.cos(x)), y),
    "dictionary": lambda curve_fit: curve_fit(lambda d, a, b: a * d["t"] + b * d["u"], {"t": x, "u": np.cos(x)}, y),
    "meshgrid": lambda curve_fit: curve_fit(lambda m, a, b: (a * m[0] + b * m[1]).ravel(), np.meshgrid(x[:10], x[:5]), y),
    "y is a number": lambda curve_fit: curve_fit(lambda x, a, b: a * np.exp(-x) + b * x, x, 2.0),
    "y is a list of one": lambda curve_fit: curve_fit(lambda x, a, b: a * np.exp(-x) + b * x, x, [2]),
    "no x": lambda curve_fit: curve_fit(lambda _, a, b: line(x, a, b), None, y),
    "model is a number": lambda curve_fit: curve_fit(lambda x, a: a, x, y),
    "defaults": lambda curve_fit: curve_fit(lambda x, a, b=3: a * x + b, x, y),
    "keyword-only": lambda curve_fit: curve_fit(lambda x, a, b, *, k=2: a * x**k + b, x, y),
    "star": lambda curve_fit: curve_fit(lambda x, *p: p[0] * x + p[1], x, y, [1, 1]),
    "partial": lambda curve_fit: curve_fit(functools.partial(lambda k, x, a, b: a * x**k + b, 2), x, y),
    "method": lambda curve_fit: curve_fit(Of().method, x, y),
    "object": lambda curve_fit: curve_fit(Of(), x, y),
    "class method": lambda curve_fit: curve_fit(Of.of_class, x, y),
    "static method": lambda curve_fit: curve_fit(Of.static, x, y),
    "ufunc": lambda curve_fit: curve_fit(np.multiply, x, y, [1]),
    "partials": lambda curve_fit: curve_fit(decay, x, y, jac=partials),
    "partials, trf": lambda curve_fit: curve_fit(decay, x, y, jac=partials, method="trf", bounds=(0, 9)),
    "jac of three points": lambda curve_fit: curve_fit(decay, x, y, jac="3-point", method="trf"),
    "jac by complex steps": lambda curve_fit: curve_fit(decay, x, y, jac="cs", method="trf"),
    "bounds": lambda curve_fit: curve_fit(decay, x, y, bounds=([0, 0, 0], [3, 2, 3])),
    "bounds, numbers": lambda curve_fit: curve_fit(decay, x, y, bounds=(0, 9)),
    "bounds, number and list": lambda curve_fit: curve_fit(decay, x, y, bounds=(0, [3, 2, 3])),
    "bounds, some infinite": lambda curve_fit: curve_fit(decay, x, y, bounds=([-np.inf, 0, -np.inf], np.inf)),
    "bounds, only from above": lambda curve_fit: curve_fit(decay, x, y, bounds=(-np.inf, [np.inf, 5, 3])),
    "Bounds": lambda curve_fit: curve_fit(decay, x, y, bounds=optimize.Bounds([0, 0, 0], [3, 2, 3])),
    "Bounds that are none": lambda curve_fit: curve_fit(decay, x, y, [1, 1, 1], bounds=optimize.Bounds()),
    "start on a bound": lambda curve_fit: curve_fit(decay, x, y, [0, 1, 0], bounds=(0, 9)),
    "end on a bound": lambda curve_fit: curve_fit(decay, x, y, bounds=(0, [3, 1.2, 9])),
    "end on a bound, dogbox": lambda curve_fit: curve_fit(decay, x, y, bounds=(0, [3, 1.2, 9]), method="dogbox"),
    "end on two bounds": lambda curve_fit: curve_fit(decay, x, y, bounds=(0, [2.4, 1.2, 9]), sigma=sigma),
    "end on a bound, matrix": lambda curve_fit: curve_fit(decay, x, y, bounds=(0, [3, 1.2, 9]), sigma=matrix),
    "omit": lambda curve_fit: curve_fit(decay, x, with_gaps, nan_policy="omit"),
    "omit, sigma": lambda curve_fit: curve_fit(decay, x, with_gaps, nan_policy="omit", sigma=sigma),
    "omit, matrix": lambda curve_fit: curve_fit(decay, x, with_gaps, nan_policy="omit", sigma=matrix),
    "omit, lists": lambda curve_fit: curve_fit(decay, list(x), list(with_gaps), nan_policy="omit"),
    "omit, x": lambda curve_fit: curve_fit(line, with_gaps, x, nan_policy="omit"),
    "omit, rows": lambda curve_fit: curve_fit(plane, np.stack([x, with_gaps]), np.cos(x), nan_policy="omit"),
    "raise": lambda curve_fit: curve_fit(decay, x, y, nan_policy="raise"),
    "infinite x": lambda curve_fit: curve_fit(lambda x, a, b: a * np.exp(-x) + b, np.r_[x[:-1], np.inf], y,
                                              check_finite=False),
    "needless keywords": lambda curve_fit: curve_fit(decay, x, y, epsfcn=1e-10, factor=10, diag=[1, 1, 1]),
    "maxfev of 0": lambda curve_fit: curve_fit(decay, x, y, maxfev=0),
    "start far off": lambda curve_fit: curve_fit(decay, x, y + 20),
    "start far off, factor": lambda curve_fit: curve_fit(decay, x, y + 20, factor=100),
    "tight": lambda curve_fit: curve_fit(decay, x, y, ftol=1e-12, xtol=1e-12, gtol=1e-12),
}


@pytest.mark.parametrize("said", CALLS)
def test_call(said: str) -> None:
    same(CALLS[said])


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("given", [0.07, [0.07], sigma, list(sigma), pd.Series(sigma, index=range(9, 59)), matrix,
                                   np.asfortranarray(matrix), matrix.tolist()],
                         ids=["number", "list of one", "array", "list", "Series", "matrix", "by columns", "lists"])
def test_sigma(given: Any, absolute: bool) -> None:
    same(lambda curve_fit: curve_fit(decay, x, y, sigma=given, absolute_sigma=absolute))


def test_infinite_sigma_leaves_a_point_out() -> None:
    weights = np.where(np.arange(50) == 3, np.inf, sigma)
    (popt, _), _ = same(lambda curve_fit: curve_fit(decay, x, y, sigma=weights, absolute_sigma=True))
    without = dualfit.curve_fit(decay, np.delete(x, 3), np.delete(y, 3), sigma=np.delete(sigma, 3))[0]
    np.testing.assert_allclose(popt, without, rtol=1e-9)


def test_x_of_the_caller_stays_as_it_is() -> None:
    own = x.copy()
    own.setflags(write=False)
    dualfit.curve_fit(decay, own, y)
    np.testing.assert_array_equal(own, x)


def test_tables_of_points_in_two_dimensions() -> None:
    picture = np.add.outer(2 * x[:6], 3 * x[:5]) + 0.01 * np.cos(np.arange(30).reshape(6, 5))
    places = np.meshgrid(x[:6], x[:5], indexing="ij")
    popt, pcov = dualfit.curve_fit(plane, places, picture)
    flat = dualfit.curve_fit(plane, [places[0].ravel(), places[1].ravel()], picture.ravel())
    np.testing.assert_allclose(popt, flat[0], rtol=1e-12)
    np.testing.assert_allclose(pcov, flat[1], rtol=1e-12)
