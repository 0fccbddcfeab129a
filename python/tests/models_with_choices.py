"""Models with choices; functions of functions, classes, arguments; side effects, state and tests of types."""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import math
import warnings
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from cases import T, model
from models_of_curves import decay, gaussian, line

# Choices.


@model(4.0, 5.0, 1.0, -0.5)
def piecewise_linear(x, x0, y0, k1, k2):
    return np.piecewise(x, [x < x0], [lambda x: k1 * x + y0 - k1 * x0, lambda x: k2 * x + y0 - k2 * x0])


@model(1.0, 2.0, fate="native")
def piecewise_of_x_alone(x, a, b):
    return np.piecewise(x, [x < 3, x >= 3], [lambda t: a * t + b, lambda t: b])


@model(4.0, 5.0, 1.0)
def broken_line_by_where(x, x0, y0, k):
    return np.where(x < x0, y0, y0 + k * (x - x0))


@model(3.0, 6.0, 2.0)
def three_ranges_by_select(x, x1, x2, a):
    return np.select([x < x1, x < x2], [a * x, a * x1 + np.sqrt(abs(x - x1))], default=7.0)


@model(4.0, 1.0, 2.0)
def hinge_by_maximum(x, x0, a, k):
    return a + k * np.maximum(x - x0, 0)


@model(2.0, 1.0)
def saturating_by_clip(x, a, top):
    return np.clip(a * x, 0.0, top * 5)


@model(4.0, 2.0)
def step_by_heaviside(x, x0, a):
    return a * np.heaviside(x - x0, 0.5)


@model(4.0, 2.0)
def absolute_value(x, x0, a):
    return a * np.abs(x - x0) + abs(a) * np.sign(x - x0)


@model(4.0, 2.0)
def product_with_a_comparison(x, x0, a):
    return a * x * (x < x0) + a * x0 * (x >= x0)


@model(2.0, 6.0, 1.5)
def box_of_two_comparisons(x, left, right, height):
    return height * ((x > left) & (x < right))


@model(4.0, 2.0, fate="native")
def assignment_by_mask(x, a, b):
    y = np.zeros_like(x)
    y[x > 2] = a * x[x > 2]
    y[x <= 2] = b
    return y


@model(4.0, 2.0)
def assignment_by_mask_into_a_result(x, a, b):
    y = a * x + b
    y[x > 5] = b * np.sqrt(x[x > 5])
    y[y < 4.5] = 4.5
    return y


@model(1.0, 2.0, 3.0)
def branch_on_x(x, a, b, c):
    if x.max() > 5:
        return a * x + b
    return c * x


@model(1.0, 2.0, fate="native")
def branch_on_a_parameter(x, a, b):
    return a * x if a > 0 else b * x


@model(1.0, 2.0, fate="native")
def branch_on_values(x, a, b):
    y = a * x + b
    if np.any(y < 0):
        return np.zeros_like(x)
    return y


@model(1.0, 2.0, fate="native")
def penalty_outside_of_bounds(x, a, b):
    if not 0 < a < 10:
        return np.full(x.shape, 1e9)
    return a * x + b


@model(2.0, 1.0, fate="native")
def python_maximum(x, a, b):
    return max(a, b) * x


@model(2.0, 1.0, fate="native")
def python_maximum_of_points(x, a, b):
    return np.array([max(a * xi, b) for xi in x])


# Functions of functions, classes, closures, arguments.

WEIGHTS = np.sin(T) ** 2


@model(1.0, 2.0)
def closure_over_an_array(x, a, b):
    return a * WEIGHTS + b * x


@model(1.0, 2.0)
def template_at_fixed_places(x, a, b):
    return a * np.interp(x, [0.0, 3.0, 10.0], [1.0, 2.0, 0.5]) + b


@model(1.0, 0.2, fate="native")
def template_that_moves(x, a, shift):
    return a * np.interp(x - shift, T, WEIGHTS)


@model(1.0, 2.0, 0.5)
def function_of_functions(x, a, b, c):
    def background(x):
        return line(x, a, b)

    return background(x) + np.sqrt(background(c * x))


class Spectrometer:
    """A model with a state that does not change."""

    def __init__(self, resolution: float) -> None:
        self.resolution = resolution

    def peak(self, x, a, c):
        return gaussian(x, a, c, self.resolution)

    def __call__(self, x, a, c):
        return self.peak(x, a, c) + 1.0


@model(1.0, 4.0)
def method_of_a_class(x, a, c):
    return Spectrometer(0.7).peak(x, a, c)


model(1.0, 4.0)(Spectrometer(0.8))


@model(1.0, 4.0)
def properties_of_a_namedtuple(x, a, c):
    p = namedtuple("P", "height center")(a, c)
    return gaussian(x, p.height, p.center, 0.5)


@model(1.0, 4.0)
def dictionary_of_parameters(x, a, c):
    return (lambda **p: p["a"] * np.cos(p["c"] * x))(a=a, c=c)


def _named(name: str, f: Any) -> Any:
    f.__name__ = name
    return f


partly_applied: Any = functools.partial(decay, c=0.25)
model(2.0, 0.4)(_named("partial", partly_applied))
model(2.0, 0.4)(_named("a_lambda", lambda x, a, b: a * np.sin(b * x)))


@model(2.0, 0.4)
def default_argument(x, a, b, power=2, *, scale=10.0):
    return a * (x / scale) ** power + b


@model(2.0, 0.4)
def keyword_of_numpy(x, a, b):
    return np.round(a * x + b, decimals=3) + np.clip(x, a_min=a, a_max=None)


@functools.wraps(line)
def _decorated(x, *args, **kwargs):
    return 2.0 * line(x, *args, **kwargs)


model(1.5, 0.2)(_named("decorated", _decorated))


@functools.cache
def _slow(a):
    return np.sqrt(a)


@model(2.0, fate="native")
def cached_by_a_parameter(x, a):
    return _slow(a) * x


@model(2.0, 0.3)
def generators(x, a, b):
    return sum(a ** (k + 1) / math.factorial(k) * np.cos(b * k * x) for k in range(5))


@model(1.0, 0.5)
def itertools_and_builtins(x, a, b):
    return sum(c * x**k for k, c in zip(itertools.count(), (a, b))) + pow(a, 2) + abs(-b)


@model(0.5, 3.0)
def series_until_it_is_small(x, a, b):
    term, total = np.ones_like(x), 0.0
    for n in range(1, 30):
        total = total + term
        term = term * (a * x) / n
    return b * total


# Side effects, state and tests of types.


@model(2.0, 0.5)
def printing(x, a, b):
    with contextlib.redirect_stdout(io.StringIO()):
        print("called with", a, b, f"a={a:.3f} b={b!r:>10}")
    return a * x + b


@model(2.0, 0.5, fate="native")
def percent_formatting(x, a, b):
    "a = %.3f" % a  # noqa: UP031
    return a * x + b


@model(2.0, 0.5)
def warning(x, a, b):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn(f"called with {a}", stacklevel=1)
    return a * x + b


GENERATOR = np.random.default_rng(1)
COUNTER = itertools.count()


@model(2.0, 0.5, fate="checked")
def noise(x, a, b):
    return a * x + b + 0.1 * GENERATOR.normal(size=x.size)


@model(2.0, 0.5, fate="checked")
def counter(x, a, b):
    return a * x + b + next(COUNTER)


KEPT: dict[str, Any] = {}


@model(2.0, 0.5, fate="native")
def kept_from_call_to_call(x, a, b):
    # The first recording leaves a tracer behind.
    last = KEPT.setdefault("a", a)
    return last * x + b


@model(2.0, 0.5)
def assertion(x, a, b):
    assert a is not None and a != "no" and b is not a
    return a * x + b


@model(2.0, 0.5, fate="native")
def try_and_except(x, a, b):
    try:
        factor = math.exp(a)
    except TypeError:
        factor = np.exp(a)
    return factor * x + b


@model(2.0, 0.5, fate="native")
def try_and_except_all(x, a, b):
    try:
        if a > 1:
            return a * x
    except Exception:
        pass
    return b * x


@model(2.0, 0.5, fate="native")
def exception(x, a, b):
    if not isinstance(a, float):
        raise ValueError("a has to be a number")
    return a * x + b


@model(2.0, 0.5, fate="checked")
def another_way_for_other_types(x, a, b):
    return a * x + b if isinstance(a, float) else b * x


@model(2.0, 0.5, fate="native")
def changes_x(x, a, b):
    x = np.asarray(x)
    x *= 1.0
    x += a
    return b * x


@model(2.0, 0.5, fate="native")
def changes_an_array_by_two_names(x, a, b):
    y = np.zeros_like(x)
    z = y
    y += a * x
    return z + b


@model(2.0, 0.5, fate="native")
def returns_the_other_name(x, a, b):
    y = np.zeros_like(x)
    z = y
    y += a * x + b
    return z


@model(2.0, 0.5)
def changes_a_traced_array_by_two_names(x, a, b):
    y = a * x
    z = y
    y += b
    return z * y


@model(2.0, 0.5, fate="native")
def changes_a_view(x, a, b):
    y = a * x
    z = y[1:]
    z += b
    return y


@model(2.0, 0.5, fate="native")
def out_argument(x, a, b):
    y = np.empty_like(x)
    np.multiply(a, x, out=y)
    return y + b


@model(2.0, 0.5, fate="native")
def nothing_returned(x, a, b):
    a * x + b  # noqa: B018


@model(2.0, 0.5, fate="native")
def string_as_a_key(x, a, b):
    return {"1": a}[str(a)] * x + b


@model(2.0, 0.5, fate="native")
def attribute_of_a_number(x, a, b):
    return a * x if a.is_integer() else b * x


@model(2.0, 0.5, fate="native")
def jax_numpy(x, a, b):
    jnp = pytest.importorskip("jax.numpy")
    return np.asarray(a * jnp.exp(-b * jnp.asarray(x)), float)
