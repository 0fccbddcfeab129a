"""Habits of model functions: changes of x in place, parameters put into arrays, functions of JAX."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualfit
from dualfit._trace import record

X = np.linspace(0.5, 3.0, 40)
Y = 2.0 * np.exp(-0.7 * X) + 0.3
OWN = np.tile(X, (3, 1))
START = [1.0, 1.0, 0.0]

# Changes in place.


def moved(x, a, k, c):
    x -= x[0]
    return a * np.exp(-k * x) + c


def masked(x, a, k, c):
    x[x > 2.0] = 2.0
    return a * np.exp(-k * x) + c


def sorted_in_place(x, a, k, c):
    x.sort()
    return a * np.exp(-k * x) + c


def called(x, a, k, c):
    """A function that changes x in place and cannot be recorded."""
    np.subtract(x, 0.5, out=x)
    return a * np.exp(-float(k) * x) + c


#: Every call that passes x to the function.
ENTRIES: dict[str, Callable[[Any, Any], Any]] = {
    "fit": lambda f, x: dualfit.fit(f, x, Y, START),
    "curve_fit": lambda f, x: dualfit.curve_fit(f, x, Y, START),
    "curve_fit with jac": lambda f, x: dualfit.curve_fit(f, x, Y, START, jac=lambda *p: np.zeros((40, 3))),
    "fit_batch": lambda f, x: dualfit.fit_batch(f, x, np.tile(Y, (3, 1)), START),
    "fit_batch, own x": lambda f, x: dualfit.fit_batch(f, x[None].repeat(3, 0), np.tile(Y, (3, 1)), START),
    "multi_start": lambda f, x: dualfit.multi_start(f, x, Y, START, starts=2),
    "differential_evolution": lambda f, x: dualfit.differential_evolution(f, x, Y, p0=START, populations=1, maxiter=2),
    "fit_joint": lambda f, x: dualfit.fit_joint(f, x, np.tile(Y, (3, 1)), START),
    "fit_joint, own x": lambda f, x: dualfit.fit_joint(f, [x, x[:30].copy()], [Y, Y[:30]], START),
    "predict": lambda f, x: of_another(f).predict(x),
    "a band": lambda f, x: of_another(f).confidence_band(x),
    "evaluate": lambda f, x: dualfit.Model(f).evaluate(x, START),
}


def of_another(f: Any) -> dualfit.Fit:
    """Return a fit whose function is replaced by `f` after the fit."""
    fit = dualfit.fit(lambda x, a, k, c: a * np.exp(-k * x) + c, X, Y, START)
    assert fit._prepared is not None
    fit._prepared.f = f
    return fit


@pytest.mark.parametrize("f", [moved, masked, sorted_in_place, called])
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.filterwarnings("ignore::dualfit.NotTracedWarning")
def test_a_change_of_x_in_place_raises_at_its_line(f: Any, entry: str) -> None:
    x = X.copy()
    with pytest.raises(ValueError, match="read-only") as caught:
        ENTRIES[entry](f, x)
    np.testing.assert_array_equal(x, X)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.filename == __file__ and last.name == f.__name__


def test_changes_in_place_of_dictionaries_and_tables() -> None:
    def f(table, a, k, c):
        u = table["u"]
        u -= 0.5
        return a * np.exp(-k * u) + c

    columns = {"u": X.copy()}
    with pytest.raises(ValueError, match="read-only"), warnings.catch_warnings():
        warnings.simplefilter("ignore", dualfit.NotTracedWarning)
        dualfit.fit(f, columns, Y, START)
    np.testing.assert_array_equal(columns["u"], X)

    def g(table, a, k, c):
        table["u"] -= 0.5
        return a * np.exp(-k * table["u"]) + c

    frame = pytest.importorskip("pandas").DataFrame({"u": X.copy(), "v": X})
    fit = dualfit.fit(g, frame, Y, START)
    np.testing.assert_allclose(fit.params, [2.0 * np.exp(-0.35), 0.7, 0.3], rtol=1e-6)
    np.testing.assert_array_equal(frame["u"], X)


# Parameters in arrays.

GROUP = np.arange(40) % 3
CENTERS = [0.8, 1.6, 2.4]


def peaks_in_a_loop(x, *p):
    y = np.zeros_like(x)
    for height, center, width in np.array(p).reshape(-1, 3):
        y += height * np.exp(-(((x - center) / width) ** 2))
    return y


def peaks_by_arrays(x, *p):
    height, center, width = np.array(p).reshape(-1, 3).T[:, :, None]
    return (height * np.exp(-(((x - center) / width) ** 2))).sum(axis=0)


def peaks_by_columns(x, *p):
    p = np.asarray(p).reshape(-1, 3)
    return np.sum(p[:, 0] * np.exp(-(((x[:, None] - p[:, 1]) / p[:, 2]) ** 2)), axis=1)


def group_factors(x, a, b, c):
    return np.array([a, b, c])[GROUP] * x


def group_offsets(x, a, b, c):
    return np.array([a, b, c])[GROUP]


def group_rates(x, a, b, c):
    return np.exp(-np.array([a, b, c])[GROUP] * x)


def group_rates_of_functions(x, a, b, c):
    rates = np.exp(np.array([a, b, c]))[GROUP]
    return np.exp(-rates * x) + np.sqrt(rates)


def one_of_an_array(x, a, b, c):
    p = np.array([a, b, c])
    return p[1] * x + p[-1] + p[:1] * x**2


def with_numbers(x, a, b, c):
    return np.array([a, 1.0, b])[GROUP] * x + c


def sums_of_arrays(x, a, b, c):
    p = np.array([a, b, c])
    return p.sum() * x + np.prod(p) + (p**2).sum() * x**2


def filled(x, a, b):
    return np.full(x.shape, a) * x + b


IN_ARRAYS = [
    (peaks_in_a_loop, 6), (peaks_by_arrays, 6), (peaks_by_columns, 6), (group_factors, 3), (group_offsets, 3), (group_rates, 3),
    (group_rates_of_functions, 3), (one_of_an_array, 3), (with_numbers, 3), (sums_of_arrays, 3), (filled, 2),
]


@pytest.mark.parametrize(("f", "params"), IN_ARRAYS)
def test_parameters_in_arrays_are_recorded(f: Any, params: int) -> None:
    truth = [1.5, 0.8, 0.5, 0.7, 2.3, 0.4][:params]
    start = [1.1 * value for value in truth]
    with warnings.catch_warnings():
        warnings.simplefilter("error", dualfit.NotTracedWarning)
        popt, _ = dualfit.curve_fit(f, X, f(X, *truth), start)
    np.testing.assert_allclose(f(X, *popt), f(X, *truth), rtol=1e-6)
    # The number of operations does not depend on the number of points.
    assert len(record(f, X, params, X.shape).nodes) < 60


# JAX.


def test_the_warning_of_a_function_of_jax_names_the_remedy() -> None:
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def of_x(x, a, k, c):
        return a * np.exp(-k * jnp.asarray(x)) + c

    def f(x, a, k, c):
        return a * jnp.exp(-k * x) + c

    for function in (f, jax.jit(f), of_x):
        with pytest.warns(dualfit.NotTracedWarning, match="np.exp instead of jnp.exp.*jac=lambda x, [*]p: jax.jacfwd"):
            dualfit.curve_fit(function, X, Y, START)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*jac")
        popt, _ = dualfit.curve_fit(f, X, Y, START, jac=lambda x, *p: jax.jacfwd(lambda p: f(x, *p))(np.array(p)))
    np.testing.assert_allclose(popt, [2.0, 0.7, 0.3], rtol=1e-4)
