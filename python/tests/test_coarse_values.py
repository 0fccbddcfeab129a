"""Functions with values of less than double precision: JAX, casts to float32, rounded values, tables.

The standard errors equal those of the function in double precision.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualfit

x = np.linspace(0, 4, 50)
STEP = 1e-4
TABLE = np.exp(-STEP * np.arange(200_001))


def decay(x, a, k, c):
    return a * np.exp(-k * x) + c


def cast(x, a, k, c):
    return decay(x, a, k, c).astype(np.float32)


def computed_in_single(x, a, k, c):
    return decay(x.astype(np.float32), np.float32(a), np.float32(k), np.float32(c))


def rounded(x, a, k, c):
    return np.round(decay(x, a, k, c), 4)


def looked_up(x, a, k, c):
    return a * TABLE[np.clip(np.rint(k * x / STEP), 0, TABLE.size - 1).astype(int)] + c


def by_jax(x, a, k, c):
    jnp = pytest.importorskip("jax.numpy")
    return a * jnp.exp(-k * x) + c


def called(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with its parameters converted by `float`, so that it cannot be recorded."""
    return lambda x, a, k, c: f(x, float(a), float(k), float(c))


@pytest.mark.filterwarnings("ignore::dualfit.NotTracedWarning")
@pytest.mark.parametrize("f", [cast, computed_in_single, rounded, looked_up, by_jax])
def test_errors_are_those_of_the_function_in_doubles(f: Callable[..., Any]) -> None:
    random, good, converged = np.random.default_rng(8), 0, 0
    fits = 20 if f is by_jax else 100
    for _ in range(fits):
        truth = np.array([1 + 4 * random.random(), 0.5 + 1.5 * random.random(), random.random()])
        y = decay(x, *truth) + 0.05 * random.normal(size=x.size)
        start = truth * random.uniform(0.8, 1.2, 3)
        expected = dualfit.fit(decay, x, y, start)
        found = dualfit.fit(called(f), x, y, start)
        assert not found.undetermined, found
        converged += found.converged
        assert np.isfinite(found.std_errors).all()
        assert (np.abs(found.params - expected.params) < 0.2 * expected.std_errors).all()
        good += bool((np.abs(found.std_errors / expected.std_errors - 1) < 0.03).all())
    assert good >= 0.95 * fits, f"{good} of {fits}"
    # In the other fits, no step lowers the cost by more than its noise.
    assert converged >= 0.95 * fits, f"{converged} of {fits}"


def test_functions_of_doubles_are_called_as_often_as_before() -> None:
    y, calls = decay(x, 3, 1, 0.5) + 0.05 * np.sin(9 * x), []

    def counted(x, a, k, c):
        calls.append((a, k, c))
        return decay(x, a, k, c)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dualfit.NotTracedWarning)
        fit = dualfit.fit(called(counted), x, y, [2, 2, 0])
    # The only calls at the start are the value and central differences: two calls per parameter.
    start = [p for p in calls if np.allclose(p, (2, 2, 0), rtol=1e-4, atol=1e-4)]
    assert fit.converged and len(set(start)) == 7
