"""Every recorded operation, compared with NumPy and SciPy for random numbers, and every unsupported operation.

An operand has one of several forms: traced or not, a number or one value per point, of types of Python or NumPy.
Traced values at points are x + p with the parameter p = -0.0, which equals x bit for bit.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualfit import _core
from dualfit._trace import NotTraceable, record

special = pytest.importorskip("scipy.special")

POINTS = 6
BORDERS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.0,
    -2.0,
    2.5,
    3.0,
    1e-300,
    -1e-300,
    1e-9,
    1e300,
    -1e300,
    709.0,
    -745.0,
    np.pi,
    100.0,
    float("inf"),
    float("-inf"),
    float("nan"),
]

fixed = settings(derandomize=True, deadline=None, max_examples=30)
anything = st.one_of(st.sampled_from(BORDERS), st.floats(-10.0, 10.0), st.floats())


def numbers(low: float, high: float, *borders: float) -> Any:
    """Return a strategy for numbers between `low` and `high`, which draws these and the `borders` more often."""
    return st.one_of(st.sampled_from([low, high, *borders]), st.floats(low, high))


def arrays(elements: Any) -> Any:
    return st.lists(elements, min_size=POINTS, max_size=POINTS).map(np.array)


def program_values(f: Callable[..., Any], x: Any, params: list[float], shape: tuple[int, ...] | None) -> Any:
    """Record f and return the values of the recording."""
    recording = record(f, x, len(params), shape)
    columns = recording.columns or [np.zeros(max(int(np.prod(recording.shape)), 1))]
    model = _core.Model.traced(len(columns), len(params), recording.nodes)
    return model.evaluate(columns, np.array(params)).reshape(recording.shape)


def assert_same(actual: Any, expected: Any, rtol: float = 1e-13) -> None:
    actual, expected = np.asarray(actual, float), np.asarray(expected, float)
    assert actual.shape == expected.shape
    with np.errstate(all="ignore"):
        same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
        # Subnormal numbers have fewer digits.
        same |= abs(actual - expected) <= rtol * abs(expected) + 1e-307
    assert same.all(), (actual[~same], expected[~same])


#: Forms of operands: function of a parameter, points and a number for the recording, and the same for NumPy.
FORMS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "traced points": (lambda p, x, n: x + p, lambda p, x, n: x),
    "traced number": (lambda p, x, n: p + n, lambda p, x, n: np.float64(n)),
    "points": (lambda p, x, n: x, lambda p, x, n: x),
    "number": (lambda p, x, n: float(n), lambda p, x, n: float(n)),
    "NumPy number": (lambda p, x, n: np.float64(n), lambda p, x, n: np.float64(n)),
    "0-d array": (lambda p, x, n: np.array(n), lambda p, x, n: np.array(n)),
}
ONE = ["traced points", "traced number"]
PAIRS = (
    [("traced points", other) for other in FORMS]
    + [(other, "traced points") for other in FORMS][1:]
    + [
        ("traced number", "points"),
        ("points", "traced number"),
        ("traced number", "traced number"),
        ("number", "traced number"),
        ("traced number", "number"),
    ]
)


def check(do: Callable[..., Any], forms: tuple[str, ...], points: list[Any]) -> None:
    """Compare one operation on operands of given forms with NumPy."""
    stack = np.array(points)

    def f(x: Any, p: Any) -> Any:
        return do(*[FORMS[form][0](p, x[k], stack[k, 0]) for k, form in enumerate(forms)])

    with np.errstate(all="ignore"):
        expected = do(*[FORMS[form][1](-0.0, stack[k], stack[k, 0]) for k, form in enumerate(forms)])
        assert_same(program_values(f, stack, [-0.0], None), expected)


UNARY = (
    "absolute fabs negative positive exp exp2 expm1 log log1p log2 log10 sqrt cbrt sin cos tan arcsin arccos "
    "arctan sinh cosh tanh arcsinh arccosh arctanh floor ceil trunc rint reciprocal deg2rad radians rad2deg "
    "degrees sign square conjugate isnan isinf isfinite signbit logical_not"
).split()


@pytest.mark.parametrize("name", UNARY)
@fixed
@given(form=st.sampled_from(ONE), x=arrays(anything))
def test_ufuncs_of_one_number(name: str, form: str, x: Any) -> None:
    check(getattr(np, name), (form,), [x])


BINARY = (
    "add subtract multiply divide true_divide power float_power arctan2 hypot minimum maximum fmin fmax fmod "
    "remainder mod floor_divide less less_equal greater greater_equal equal not_equal logical_and logical_or "
    "logical_xor heaviside logaddexp logaddexp2"
).split()


@pytest.mark.parametrize("name", BINARY)
@fixed
@given(forms=st.sampled_from(PAIRS), first=arrays(anything), second=arrays(anything))
def test_ufuncs_of_two_numbers(name: str, forms: tuple[str, str], first: Any, second: Any) -> None:
    check(getattr(np, name), forms, [first, second])


def test_signs_of_numbers() -> None:
    # NumPy also uses the sign of NaN, which the core ignores.
    x = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf])
    agree(lambda x, p: np.copysign(3.0 + p, x + p), x)
    agree(lambda x, p: np.copysign(x, p - 1.0), x)


def agree(
    f: Callable[..., Any], x: Any, *params: float, rtol: float = 1e-13, shape: tuple[int, ...] | None = None
) -> None:
    """Check that the recording of f has the values of f. By default, f has one parameter with the value -0.0."""
    at = list(params or [-0.0])
    with np.errstate(all="ignore"):
        expected = np.asarray(f(x, *map(np.float64, at)), float)
        actual = program_values(f, x, at, shape)
    assert_same(actual, expected if shape is None else np.broadcast_to(expected, shape), rtol)


def refused(f: Callable[..., Any], x: Any = None, params: int = 1, match: str | None = None) -> NotTraceable:
    """Return the exception that f raises when it is recorded."""
    x = np.linspace(0.5, 3.0, POINTS) if x is None else x
    with pytest.raises(NotTraceable, match=match) as caught:
        record(f, x, params, None)
    assert ".py, line" in str(caught.value)
    return caught.value


# Operators.

OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
    divmod,
]
OTHERS: dict[str, Callable[[Any], Any]] = {
    "float": lambda x: float(x[0]),
    "int": lambda x: 3,
    "negative int": lambda x: -2,
    "bool": lambda x: True,
    "np.int64": lambda x: np.int64(4),
    "np.bool_": lambda x: np.bool_(True),
    "np.float32": lambda x: np.float32(1.5),
    "integers": lambda x: np.arange(1, POINTS + 1),
    "booleans": lambda x: np.arange(POINTS) % 2 == 0,
    "float32": lambda x: x.astype(np.float32),
    "uint8": lambda x: np.arange(POINTS, dtype=np.uint8),
    "big endian": lambda x: x.astype(">f8"),
    "strided": lambda x: np.stack([x, x], 1)[:, 0],
    "0-d integer": lambda x: np.array(2),
    "list": lambda x: list(map(float, x)),
    "one": lambda x: np.array([0.75]),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("do", OPERATORS, ids=lambda do: do.__name__)
@given(x=arrays(st.one_of(st.sampled_from(BORDERS), st.floats(-10.0, 10.0))))
@settings(fixed, max_examples=5)
def test_operators_in_both_orders(do: Any, other: str, x: Any) -> None:
    # The conversion to single precision may overflow.
    with np.errstate(over="ignore"):
        second = OTHERS[other](x)

    def either(x: Any, p: Any) -> Any:
        return do(x + p, second)

    def turned(x: Any, p: Any) -> Any:
        return do(second, x + p)

    for f in (either, turned):
        if do is divmod:
            agree(lambda x, p, f=f: f(x, p)[0], x)
            agree(lambda x, p, f=f: f(x, p)[1], x)
        else:
            agree(f, x)


@pytest.mark.parametrize(
    "exponent",
    [
        0,
        1,
        2,
        3,
        -1,
        -2,
        -3,
        7,
        16,
        17,
        64,
        65,
        0.5,
        -0.5,
        1.5,
        2.0,
        np.float64(2.0),
        np.int64(3),
        np.array(2.0),
        1e3,
    ],
)
@given(x=arrays(anything))
@fixed
def test_powers(exponent: Any, x: Any) -> None:
    agree(lambda x, p: (x + p) ** exponent, x, rtol=1e-13)
    agree(lambda x, p: np.power(x + p, exponent), x, rtol=1e-13)


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv", "ipow", "ifloordiv", "imod"])
def test_operators_in_place(name: str) -> None:
    x = np.linspace(0.5, 3.0, POINTS)
    do = getattr(operator, name)

    def of_traced(x: Any, a: Any) -> Any:
        y = a * x
        z = y
        z = do(z, 1.5)
        return y  # which is z

    def of_an_array(x: Any, a: Any) -> Any:
        y = np.ones_like(x) * 2.0
        y = do(y, a * x)
        return y

    def of_a_number(x: Any, a: Any) -> Any:
        b = a
        b = do(b, 1.5)
        return (a + 10.0 * b) * x

    for f in (of_traced, of_an_array, of_a_number):
        agree(f, x, 1.25)


def test_unary_operators_and_built_in_functions() -> None:
    x = np.array([-2.5, -1.0, -0.25, 0.0, 0.5, 1.5])
    for f in (
        lambda x, p: -(x + p),
        lambda x, p: +(x + p),
        lambda x, p: abs(x + p),
        lambda x, p: round(p + 2.345, 2) * x,
        lambda x, p: sum([x + p, x, p]),
        lambda x, p: sum(t for t in (x + p, 2 * x)),
        lambda x, p: (p + 2.0).item() * x,
        lambda x, p: np.float64(2.0) * (x + p),
        lambda x, p: (x + p).real,
    ):
        agree(f, x)


# Truth values.

TRUTHS: dict[str, Callable[..., Any]] = {
    "and": lambda x, p: ((x + p > 0) & (x < 1)) * x,
    "or": lambda x, p: x * ((x + p > 0) | (x < -1)),
    "xor": lambda x, p: np.where((x + p > 0) ^ (x < 1), x, 0.0),
    "not": lambda x, p: np.where(~(x + p > 0), x, 1.0),
    "real and": lambda x, p: ((x < 1) & (x + p > 0)).astype(float),
    "sum is or": lambda x, p: (x + p > 0) + (x + p < 1),
    "product is and": lambda x, p: (x + p > 0) * (x + p < 1),
    "product with booleans": lambda x, p: (x < 1) * (x + p > 0) + 1.0,
    "counts": lambda x, p: (x + p > 0).astype(int) + (x + p > 1).astype(int),
    "one minus": lambda x, p: 1 - (x + p > 0),
    "minus": lambda x, p: (x + p) - (x + p > 0),
    "quotient": lambda x, p: (x + p > 0) / 4.0,
    "power": lambda x, p: (x + p > 0) ** 2.0,
    "in place": lambda x, p: operator.iand(x + p > 0, x < 1) * x,
    "logical": lambda x, p: (
        np.logical_and(x + p, x - 1) * np.logical_or(x + p, p) + np.logical_xor(x + p, x > 1)
    ),
    "logical not": lambda x, p: np.logical_not(x + p) * 2.0,
    "choice of truths": lambda x, p: np.where(x + p > 0, x > 1, True) * x,
    "equality of truths": lambda x, p: ((x + p > 0) == (x > 1)) * 1.0,
    "reciprocal of truth": lambda x, p: 2.0 / (1.0 + (x + p > 0)),
    "astype bool": lambda x, p: (x + p).astype(bool) * 1.0,
    "invert": lambda x, p: np.invert(x + p > 0) * 1.0,
    "any": lambda x, p: np.any(np.stack([x + p > 1, x + p < 0]), axis=0) * 1.0,
    "all": lambda x, p: np.stack([x + p < 1, x + p > -0.5]).all(axis=0) * 1.0,
    "result": lambda x, p: x + p > 0.5,
}


@pytest.mark.parametrize("name", TRUTHS)
@given(
    x=arrays(
        st.one_of(st.sampled_from([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]), st.floats(-2.0, 2.0))
    )
)
@fixed
def test_truth_values(name: str, x: Any) -> None:
    agree(TRUTHS[name], x)


# Functions of NumPy.

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": lambda x, p: np.where(x + p > 0, x + p, 2.0),
    "where of x": lambda x, p: np.where(x > 0, p + 1.0, x),
    "where of truth": lambda x, p: np.where(True, x + p, 0.0),
    "where of numbers": lambda x, p: np.where(x, x + p, 7.0),
    "clip": lambda x, p: np.clip(x + p, -1.0, 1.5),
    "clip by tracers": lambda x, p: np.clip(x, p - 1.0, p + 1.0),
    "clip one side": lambda x, p: np.clip(x + p, None, 1.0) + np.clip(x + p, 0.0, None),
    "clip by keywords": lambda x, p: np.clip(x + p, a_min=-1.0, a_max=p),
    "clip method": lambda x, p: (x + p).clip(-1.0, 1.0) + x.clip(p, 1.0),
    "select": lambda x, p: np.select([x + p < -1, x < 0, x > p + 1], [x + p, 2.0, x * x], 5.0),
    "select without default": lambda x, p: np.select([x + p < -1, x < 0], [x, -x]),
    "piecewise": lambda x, p: np.piecewise(x, [x < p + 0.5], [lambda t: t + p, lambda t: t * t - p]),
    "piecewise overlapping": lambda x, p: np.piecewise(
        x, [x < p + 2.0, x < p, x > p + 1], [1.0, lambda t: t, 3.0]
    ),
    "piecewise of a tracer": lambda x, p: np.piecewise(x + p, [x + p > 0, x + p < -1], [np.sqrt, -1.0, 4.0]),
    "piecewise with arguments": lambda x, p: np.piecewise(x, [x < p, x >= p], [lambda t, k: k * t, 1.0], 3.0),
    "nan_to_num": lambda x, p: np.nan_to_num(x + p, nan=3.0, posinf=4.0, neginf=-4.0),
    "nan_to_num of the largest": lambda x, p: np.nan_to_num(x + p),
    "sinc": lambda x, p: np.sinc(x + p),
    "round": lambda x, p: np.round(x + p),
    "round to digits": lambda x, p: np.round(x + p, 2) + np.around(x + p, decimals=-1),
    "round method": lambda x, p: (x + p).round(1),
    "modf": lambda x, p: np.modf(x + p)[0],
    "whole part of modf": lambda x, p: np.modf(x + p)[1],
    "divmod": lambda x, p: np.divmod(x + p, 0.75)[1],
    "ldexp": lambda x, p: np.ldexp(x + p, 3),
    "isclose": lambda x, p: np.isclose(x + p, 1.0, rtol=0.3) * 1.0,
    "isclose with nan": lambda x, p: np.isclose(x + p, x, equal_nan=True) * 1.0,
    "isposinf": lambda x, p: np.isposinf(x + p) + 2.0 * np.isneginf(x + p),
    "polyval": lambda x, p: np.polyval([p + 1.0, 2.0, p], x),
    "polyval at a tracer": lambda x, p: np.polyval([1.0, 2.0, -1.0], x + p),
    "real and imag": lambda x, p: np.real(x + p) + np.imag(x + p),
    "angle": lambda x, p: np.angle(x + p) + np.angle(x + p, deg=True),
    "zeros_like": lambda x, p: np.zeros_like(x + p) + x,
    "ones_like": lambda x, p: np.ones_like(x + p) * (x + p),
    "full_like": lambda x, p: np.full_like(x + p, 2.5) * np.full_like(x + p, p + 1.0),
    "copy": lambda x, p: np.copy(x + p) + (x + p).copy(),
    "astype": lambda x, p: (x + p).astype(float),
    "square": lambda x, p: np.square(x + p),
    "hypot": lambda x, p: np.hypot(x + p, p - 2.0),
    "shape": lambda x, p: (x + p) * np.shape(x + p)[0] * np.ndim(x + p) * np.size(x + p) * len(x + p),
    "iscomplexobj": lambda x, p: x + p if np.isrealobj(x + p) and not np.iscomplexobj(p) else x,
    "ufunc with dtype": lambda x, p: np.add(x, p, dtype=float),
    "ufunc into a tracer": lambda x, p: np.multiply(t := x + p, 2.0, out=t),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@given(x=arrays(st.one_of(st.sampled_from(BORDERS[:13] + BORDERS[-3:]), st.floats(-10.0, 10.0))))
@fixed
def test_functions(name: str, x: Any) -> None:
    agree(FUNCTIONS[name], x)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fix_which_numpy_gives_up() -> None:
    if hasattr(np, "fix"):
        agree(lambda x, p: np.fix(x + p), np.array([-2.5, -0.5, 0.0, 0.5, 2.5, np.inf]))


def test_modified_bessel_function_of_numpy() -> None:
    agree(lambda x, p: np.i0(x + p), np.linspace(-20.0, 20.0, 40))
