"""Recordings are compared with their functions, for everything that a function can access and in every entry point.

A function that tests whether its parameters are plain numbers behaves differently when it is recorded and when it is
called. The fitted function is the called one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualfit

X = np.linspace(0.0, 3.0, 40)
OWN = X + 0.1 * np.arange(5)[:, None]
START = [1.0, 1.0]
QUADRATIC = False


def of_a_closure(quadratic: bool) -> Callable[..., Any]:
    return lambda x, a, b: a * x**2 + b if quadratic and isinstance(a, float) else a * x + b


def of_a_global(quadratic: bool) -> Callable[..., Any]:
    global QUADRATIC
    QUADRATIC = quadratic
    return lambda x, a, b: a * x**2 + b if QUADRATIC and isinstance(a, float) else a * x + b


def of_a_default(quadratic: bool) -> Callable[..., Any]:
    def f(x, a, b, *, quadratic=quadratic):
        return a * x**2 + b if quadratic and isinstance(a, float) else a * x + b

    return f


def of_an_object(quadratic: bool) -> Callable[..., Any]:
    class Curve:
        def __init__(self) -> None:
            self.quadratic = quadratic

        def value(self, x, a, b):
            return a * x**2 + b if self.quadratic and isinstance(a, float) else a * x + b

    return Curve().value


SWITCH = [False]


def of_a_list(quadratic: bool) -> Callable[..., Any]:
    SWITCH[0] = quadratic
    return lambda x, a, b: a * x**2 + b if SWITCH[0] and isinstance(a, float) else a * x + b


def of_a_function(quadratic: bool) -> Callable[..., Any]:
    def inner(a: Any) -> bool:
        return quadratic and isinstance(a, float)

    return lambda x, a, b: a * x**2 + b if inner(a) else a * x + b


def of_a_nested_function(quadratic: bool) -> Callable[..., Any]:
    global QUADRATIC
    QUADRATIC = quadratic

    def f(x, a, b):
        def is_quadratic() -> bool:
            return QUADRATIC and isinstance(a, float)

        return a * x**2 + b if is_quadratic() else a * x + b

    return f


#: Factories of functions with the same code object, so that the code does not distinguish the functions.
FACTORIES = [of_a_closure, of_a_global, of_a_default, of_an_object, of_a_list, of_a_function, of_a_nested_function]


def fitted(f: Any, y: Any, own: Any) -> list[Any]:
    return [
        dualfit.fit(f, X, y, START).params,
        dualfit.curve_fit(f, X, y, START)[0],
        dualfit.fit_batch(f, X, np.tile(y, (5, 1)), START).params[4],
        dualfit.fit_batch(f, OWN, own, START).params[4],
    ]


@pytest.mark.parametrize("factory", FACTORIES)
def test_another_function_of_the_same_code(factory: Callable[[bool], Any]) -> None:
    for quadratic in (False, True, False, True):
        f = factory(quadratic)
        y, own = f(X, 2.0, 0.5), np.array([f(row, 2.0, 0.5) for row in OWN])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = fitted(f, y, own)
        np.testing.assert_allclose(found, np.tile([2.0, 0.5], (4, 1)), rtol=1e-6)
        is_called = [w for w in caught if issubclass(w.category, dualfit.NotTracedWarning)]
        assert len(is_called) == (4 if quadratic else 0)


def capped(x, a, b):
    """A function that differs from its recording only at the fitted parameters, not at the start."""
    if isinstance(a, float) and a > 1.5:
        return 1.5 * x + b
    return a * x + b


def test_the_end_of_a_fit_is_compared_too() -> None:
    y = 2.0 * X + 0.5
    expected = own_cost(capped, X, y, [2.0, float(np.mean(y - 1.5 * X))])
    for fit in (lambda: dualfit.fit(capped, X, y, START).params, lambda: dualfit.curve_fit(capped, X, y, START)[0],
                lambda: dualfit.fit_batch(capped, X, y[None], START).params[0],
                lambda: dualfit.fit_batch(capped, X[None] + [[0.0]], y[None], START).params[0]):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = fit()
        assert any(issubclass(w.category, dualfit.NotTracedWarning) for w in caught)
        # The minimum of the called function, whose slope is at most 1.5.
        assert own_cost(capped, X, y, found) <= expected * (1 + 1e-6)


def own_cost(f: Any, x: Any, y: Any, params: Any) -> float:
    return float(((f(x, *params) - y) ** 2).sum())


@pytest.mark.parametrize("f", [of_a_closure(True), capped])
def test_points_that_are_not_here(f: Any) -> None:
    """Streams, parts and errors of x need a recording; therefore a function that differs from it is an error."""
    y = 2.0 * X + 0.5
    for fit in (lambda: dualfit.fit_stream(f, chunks=lambda: [(X, y)], p0=START),
                lambda: dualfit.fit_parts(f, dualfit.Part(of_a_closure(False), X, y).answer, START),
                lambda: dualfit.fit(f, X, y, START, sigma=0.1, x_sigma=0.1)):
        with pytest.raises(dualfit.NotTraceable, match="its values differ from what was recorded of it"):
            fit()


def test_randomness_is_noticed_whatever_was_fitted_before() -> None:
    noise = [0.0]

    def f(x, a, b):
        return a * x + b + noise[0] * np.random.default_rng().standard_normal(x.shape)

    y = 2.0 * X + 0.5
    assert dualfit.fit(f, X, y, START).converged
    noise[0] = 1e-3
    with pytest.warns(dualfit.NotTracedWarning, match="randomness"):
        dualfit.fit(f, X, y, START, max_evaluations=5)


def test_a_loss_that_differs_from_its_recording_is_refused() -> None:
    y = 2.0 * X + 0.5

    def loss(u):
        return u**2 if isinstance(u, float) else np.log1p(u**2)

    with pytest.raises(dualfit.NotTraceable, match="its values differ from what was recorded of it"):
        dualfit.fit(lambda x, a, b: a * x + b, X, y, START, loss=loss)
    assert dualfit.fit(lambda x, a, b: a * x + b, X, y, START, loss=lambda u: np.log1p(u**2)).converged


def test_a_function_in_a_sum_of_models_is_compared() -> None:
    with pytest.raises(TypeError, match="its values differ from what was recorded of it"):
        dualfit.models.gaussian("g_") + dualfit.Model(of_a_closure(True))
