"""Random programs of operations, views, aliases and in-place changes: their recordings have the same values.

The tests do not check which programs can be recorded, only that no recording is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from test_operations import assert_same, program_values

from dualfit._trace import record

X = np.linspace(0.3, 2.1, 6)

#: Functions that compute a value from one or two others.
MADE: list[Callable[[Any, Any], Any]] = [
    lambda u, v: u + v,
    lambda u, v: u - v,
    lambda u, v: u * v,
    lambda u, v: u / (2.0 + np.abs(v)),
    lambda u, v: np.sin(u),
    lambda u, v: np.where(u > v, u, 0.5 * v),
    lambda u, v: (u > v) * v,
    lambda u, v: np.maximum(u, v) ** 2,
    lambda u, v: 1.5 * u,
    lambda u, v: +u,
    lambda u, v: u,
    lambda u, v: u[:],
    lambda u, v: u[1:],
    lambda u, v: u[..., 0],
    lambda u, v: u[::-1],
    lambda u, v: u[[0, 2, 2]],
    lambda u, v: u[None, :],
    lambda u, v: u[:, None],
    lambda u, v: u.reshape(2, 3),
    lambda u, v: u.reshape(-1),
    lambda u, v: u.ravel(),
    lambda u, v: u.flatten(),
    lambda u, v: u.T,
    lambda u, v: u.copy(),
    lambda u, v: u.squeeze(),
    lambda u, v: u.real,
    lambda u, v: np.real(u),
    lambda u, v: np.roll(u, 1),
    lambda u, v: np.broadcast_to(u, (2, 6)),
    lambda u, v: np.concatenate([u, v]),
    lambda u, v: np.stack([u, v]),
    lambda u, v: np.append(u, v),
    lambda u, v: u.sum(axis=0),
    lambda u, v: np.sum(u),
    lambda u, v: np.diff(u),
    lambda u, v: u @ v,
    lambda u, v: np.zeros_like(u),
    lambda u, v: np.ones(u.shape),
    lambda u, v: u + 1j * v,
    lambda u, v: np.conj(u) * v,
    lambda u, v: np.abs(u),
    lambda u, v: u.imag,
    lambda u, v: np.exp(1j * u).real,
]


def changed(name: str) -> Callable[[Any, Any], Any]:
    return lambda u, v: getattr(u, name)(v) if hasattr(type(u), name) else NotImplemented


def put(key: Any) -> Callable[[Any, Any], Any]:
    def do(u: Any, v: Any) -> Any:
        u[key] = v
        return u

    return do


def added(u: Any, v: Any) -> Any:
    u += v
    return u


def multiplied(u: Any, v: Any) -> Any:
    u *= v
    return u


def added_to_a_part(u: Any, v: Any) -> Any:
    u[1:] += v
    return u


def into(u: Any, v: Any) -> Any:
    return np.add(u, v, out=u)


#: In-place changes of the first value.
CHANGED: list[Callable[[Any, Any], Any]] = [
    added,
    added,
    multiplied,
    added_to_a_part,
    into,
    put(0),
    put(slice(1, 3)),
    put([0, 3]),
    put(np.arange(6) % 2 == 0),
]

steps = st.lists(
    st.tuples(st.booleans(), st.integers(0, 99), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=9
)


def program(steps: list[tuple[bool, int, int, int]]) -> Callable[..., Any]:
    """Return a function that executes the steps. Each computes a value, or changes one and binds its name again."""

    def f(x: Any, a: Any, b: Any) -> Any:
        pool: list[Any] = [np.array(x), a * x, np.cos(x), b, a + x * b]
        for is_change, which, i, j in steps:
            i, j = i % len(pool), j % len(pool)
            if is_change:
                pool[i] = CHANGED[which % len(CHANGED)](pool[i], pool[j])
            else:
                pool.append(MADE[which % len(MADE)](pool[i], pool[j]))
        parts = [part for value in pool for part in (np.real(value), np.imag(value))]
        return np.concatenate([np.ravel(part) for part in parts])

    return f


@settings(derandomize=True, deadline=None, max_examples=500)
@given(steps=steps)
def test_random_programs(steps: list[tuple[bool, int, int, int]]) -> None:
    f = program(steps)
    with np.errstate(all="ignore"):
        try:
            expected = [
                np.asarray(f(X, np.float64(a), np.float64(b)), float) for a, b in ((1.3, 0.4), (-0.2, 2.5))
            ]
            record(f, X, 2, None)
        except (TypeError, ValueError, IndexError, AttributeError, np.exceptions.AxisError):
            return  # NumPy cannot execute the program, or it cannot be recorded.
        for params, values in zip(([1.3, 0.4], [-0.2, 2.5]), expected, strict=True):
            actual = program_values(f, X, params, None)
            # The tolerance is relative to the largest value, because terms cancel.
            rounding = 1e-9 * np.abs(values[np.isfinite(values)]).max(initial=1.0)
            is_near = np.abs(actual - values) <= rounding
            assert_same(np.where(is_near, values, actual), values)
