"""Handlers of NumPy's ufuncs and functions.

Functions that the core does not have are composed of functions that it has, by calls of NumPy: a composition works for
traced and untraced inputs, and NumPy directly computes values that do not depend on a parameter. Guards are applied to
arguments, not only to results, if a partial would otherwise become 0·∞.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from ._layout import as_an_array, moved, product
from ._tracer import (
    COMPLEX,
    UFUNCS,
    Mask,
    Tracer,
    add,
    apply,
    binary,
    broadcast,
    is_boolean,
    is_complex,
    lifted,
    multiply,
    not_equal,
    power,
    subtract,
    tape_of,
    unary,
)
from ._value import FUNCTIONS, quiet

# The ufunc behind the method `clip` of arrays has no public name.
try:
    _clip_ufunc = import_module("numpy._core.umath").clip
except ImportError:  # NumPy 1
    _clip_ufunc = import_module("numpy.core.umath").clip

UFUNCS |= {
    np.absolute: "abs", np.fabs: "abs", np.negative: "neg", np.exp: "exp", np.exp2: "exp2",
    np.expm1: "exp_m1",
    np.log: "ln", np.log1p: "ln_1p", np.log2: "log2", np.log10: "log10", np.sqrt: "sqrt", np.cbrt: "cbrt",
    np.sin: "sin", np.cos: "cos", np.tan: "tan", np.arcsin: "asin", np.arccos: "acos", np.arctan: "atan",
    np.sinh: "sinh", np.cosh: "cosh", np.tanh: "tanh", np.arcsinh: "asinh", np.arccosh: "acosh",
    np.arctanh: "atanh", np.floor: "floor", np.ceil: "ceil", np.reciprocal: "recip",
    np.deg2rad: "to_radians", np.radians: "to_radians", np.rad2deg: "to_degrees", np.degrees: "to_degrees",
    np.add: add, np.subtract: subtract, np.multiply: multiply, np.divide: partial(binary, "div"),
    np.power: power, np.float_power: power, np.arctan2: partial(binary, "atan2"), np.hypot: partial(binary,
                                                                                                    "hypot"),
    np.minimum: partial(binary, "min"), np.maximum: partial(binary, "max"), np.fmod: partial(binary, "fmod"),
    np.less: partial(binary, "lt", kind=Mask), np.less_equal: partial(binary, "le", kind=Mask),
    np.equal: partial(binary, "eq", kind=Mask), np.not_equal: not_equal, np.matmul: product,
    np.logical_and: partial(apply, "and", kind=Mask), np.logical_or: partial(apply, "or", kind=Mask),
}

_Register = Callable[[Callable[..., Any]], Callable[..., Any]]


def _ufunc(*ufuncs: Any) -> _Register:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        UFUNCS.update(dict.fromkeys(ufuncs, function))
        return function

    return register


def _function(*names: str) -> _Register:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        # Not every version of NumPy has all names.
        FUNCTIONS.update((getattr(np, name), function) for name in names if hasattr(np, name))
        return function

    return register


def _plain(value: Any, holds: Callable[[Any], Any]) -> bool:
    """Return True if a value is not traced and `holds` is true for all its elements."""
    return not hasattr(value, "tape") and bool(np.all(holds(value)))


# Comparisons and truth values.


@_ufunc(np.greater)
def _greater(a: Any, b: Any) -> Any:
    return binary("lt", b, a, Mask)


@_ufunc(np.greater_equal)
def _greater_equal(a: Any, b: Any) -> Any:
    return binary("le", b, a, Mask)


@_ufunc(np.logical_not)
def _logical_not(a: Any) -> Any:
    return unary("not", a, Mask)


@_ufunc(np.logical_xor)
def _logical_xor(a: Any, b: Any) -> Any:
    return not_equal(np.logical_not(a), np.logical_not(b))


def _bitwise(function: Any) -> Callable[[Any, Any], Any]:
    def record(a: Any, b: Any) -> Any:
        if not (is_boolean(a) and is_boolean(b)):
            raise TypeError("&, | and ^ are not defined for numbers that are not whole")
        return function(a, b)

    return record


UFUNCS[np.bitwise_and], UFUNCS[np.bitwise_or] = _bitwise(np.logical_and), _bitwise(np.logical_or)
UFUNCS[np.bitwise_xor] = _bitwise(np.logical_xor)


@_ufunc(np.invert)
def _invert(a: Any) -> Any:
    return ~a


@_ufunc(np.isnan)
def _isnan(a: Any) -> Any:
    return not_equal(a, a)


@_ufunc(np.isinf)
def _isinf(a: Any) -> Any:
    return abs(a) == np.inf


@_ufunc(np.isfinite)
def _isfinite(a: Any) -> Any:
    return abs(a) < np.inf


@_ufunc(np.signbit)
def _signbit(a: Any) -> Any:
    return unary("signum", a) < 0.0


@_function("isposinf")
def _isposinf(a: Any) -> Any:
    return a == np.inf


@_function("isneginf")
def _isneginf(a: Any) -> Any:
    return a == -np.inf


@_function("isclose")
def _isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    close = (abs(a - b) <= atol + rtol * abs(b)) & np.isfinite(b) | (a == b)
    return close | np.isnan(a) & np.isnan(b) if equal_nan else close


# Signs, whole numbers and remainders.


@_ufunc(np.square)
def _square(a: Any) -> Any:
    return multiply(a, a)


@_ufunc(np.positive, np.conjugate)
def _same(a: Any) -> Any:
    return a.copy()


@_ufunc(np.sign)
def _sign(a: Any) -> Any:
    return np.where(a == 0.0, 0.0, unary("signum", a))


@_ufunc(np.heaviside)
def _heaviside(a: Any, at_zero: Any) -> Any:
    step = unary("signum", a) if isinstance(a, Tracer) else np.sign(a)
    return np.where(a == 0.0, at_zero, np.maximum(step, 0.0))


@_ufunc(np.copysign)
def _copysign(a: Any, b: Any) -> Any:
    return np.where(np.signbit(b), -abs(a), abs(a))


@_ufunc(np.rint)
def _rint(a: Any) -> Any:
    # The core rounds halves away from 0, NumPy rounds them to even.
    return np.where(a - np.floor(a) == 0.5, 2.0 * unary("round", 0.5 * a), unary("round", a))


@_ufunc(np.trunc)
@_function("fix")
def _trunc(a: Any) -> Any:
    return np.where(a < 0.0, np.ceil(a), np.floor(a))


@_function("round", "around", "round_")
def _round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    if out is not None:
        raise tape_of(a).refuse("np.round with out=", "use the result that it returns")
    scale = 10.0 ** abs(decimals)
    if not decimals:
        return np.rint(a)
    return np.rint(a * scale) / scale if decimals > 0 else np.rint(a / scale) * scale


@_ufunc(np.modf)
def _modf(a: Any) -> Any:
    whole = np.trunc(a)
    return np.where(np.isinf(a), 0.0, a - whole), whole


def _divided(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the remainder of division towards 0, and a mask: True if the remainder towards -∞ differs."""
    rest = np.fmod(a, b)
    return rest, (rest != 0.0) & ((rest < 0.0) != (b < 0.0))


@_ufunc(np.remainder)
def _remainder(a: Any, b: Any) -> Any:
    rest, is_other = _divided(a, b)
    return np.where(is_other, rest + b, rest)


@_ufunc(np.floor_divide)
def _floor_divide(a: Any, b: Any) -> Any:
    rest, is_other = _divided(a, b)
    quotient = (a - rest) / b
    # The quotient is an integer except for rounding.
    quotient = unary("round", np.where(is_other, quotient - 1.0, quotient))
    return quotient if _plain(b, np.all) else np.where(b == 0.0, a / b, quotient)


@_ufunc(np.divmod)
def _divmod(a: Any, b: Any) -> Any:
    return np.floor_divide(a, b), np.remainder(a, b)


@_ufunc(np.ldexp)
def _ldexp(a: Any, exponent: Any) -> Any:
    return a * np.ldexp(1.0, exponent)


# Extrema.


@_ufunc(np.fmin)
def _fmin(a: Any, b: Any) -> Any:
    return _of_numbers(np.minimum(a, b), a, b)


@_ufunc(np.fmax)
def _fmax(a: Any, b: Any) -> Any:
    return _of_numbers(np.maximum(a, b), a, b)


def _of_numbers(extremum: Any, a: Any, b: Any) -> Any:
    """Return the extremum, or the other value if one of two values is NaN."""
    if not _plain(b, np.isfinite):
        extremum = np.where(np.isnan(b), a, extremum)
    return extremum if _plain(a, np.isfinite) else np.where(np.isnan(a), b, extremum)


@_ufunc(_clip_ufunc)
def _clip(a: Any, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(a, low), high)


@_function("clip")
def _clip_function(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **options: Any) -> Any:
    low, high = options.pop("min", a_min), options.pop("max", a_max)
    if out is not None or options:
        raise tape_of(a, low, high).refuse("np.clip with options", "use the result that it returns")
    if low is not None and low is not np._NoValue:
        a = np.maximum(a, low)
    return np.positive(a) if high is None or high is np._NoValue else np.minimum(a, high)


@_function("nan_to_num")
def _nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    largest = np.finfo(np.float64).max
    x = np.where(x == np.inf, largest if posinf is None else posinf, x)
    x = np.where(x == -np.inf, -largest if neginf is None else neginf, x)
    return np.where(np.isnan(x), nan, x)


# Exponentials.


def _sum_of_exponentials(a: Any, b: Any, exp: Any, log1p: Callable[[Any], Any]) -> Any:
    # If a = b, both partials are 1/2, which a formula with |a − b| would not give.
    total = np.where(a > b, a + log1p(exp(b - a)), b + log1p(exp(a - b)))
    if _plain(a, np.isfinite) or _plain(b, np.isfinite):
        return total
    return np.where((a == b) & np.isinf(a), a, total)


@_ufunc(np.logaddexp)
def _logaddexp(a: Any, b: Any) -> Any:
    return _sum_of_exponentials(a, b, np.exp, np.log1p)


@_ufunc(np.logaddexp2)
def _logaddexp2(a: Any, b: Any) -> Any:
    return _sum_of_exponentials(a, b, np.exp2, lambda x: np.log1p(x) * (1.0 / np.log(2.0)))


FUNCTIONS[np.sinc], FUNCTIONS[np.i0] = partial(unary, "sinc"), partial(unary, "i0")


# Choices.


@_function("where")
def _where(condition: Any, *choices: Any) -> Any:
    if len(choices) != 2:
        raise tape_of(condition, *choices).refuse("np.where of a condition that depends on a parameter",
                                                  "give it both values: np.where(condition, ..., ...)")
    yes, no = choices
    if is_complex(yes) or is_complex(no):
        return COMPLEX["where"](condition, yes, no)
    kind = Mask if is_boolean(yes) and is_boolean(no) else Tracer
    if isinstance(condition, (bool, np.bool_)):
        chosen = yes if condition else no
        if np.shape(chosen) == broadcast(np.shape(yes), np.shape(no)):
            return as_an_array(kind(*lifted(tape_of(*choices), chosen)))
    return as_an_array(apply("select", condition, yes, no, kind=kind))


@_function("select")
def _select(conditions: Any, choices: Any, default: Any = 0) -> Any:
    if len(conditions) != len(choices):
        raise ValueError("list of cases must be same length as list of conditions")
    result = default
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = np.where(condition, choice, result)
    return result


@_function("piecewise")
@quiet
def _piecewise(x: Any, conditions: Any, functions: Any, *args: Any, **options: Any) -> Any:
    # NumPy calls a function only for the x where its condition holds. Here each function is called for all x, and
    # np.where selects the values.
    if not hasattr(x, "tape") and np.asarray(x).dtype != np.float64:
        raise tape_of(*conditions).refuse("np.piecewise of an x whose type, not float64, the result gets",
                                          "use x.astype(float)")
    conditions, functions = list(conditions), list(functions)
    if len(functions) == len(conditions) + 1:
        held = conditions[0]
        for condition in conditions[1:]:
            held = np.logical_or(held, condition)
        conditions.append(np.logical_not(held))
    if len(functions) != len(conditions):
        raise ValueError(f"with {len(conditions)} conditions, as many functions are expected, or one more")
    result: Any = np.zeros(np.shape(x))
    for condition, function in zip(conditions, functions, strict=True):
        value: Any = function(x, *args, **options) if callable(function) else function
        result = np.where(condition, value, result)
    return result


# Shapes and parts.


def _like(value: float) -> Callable[..., Any]:
    def make(a: Any, dtype: Any = None, *args: Any, **options: Any) -> Any:
        if args or options or (dtype is not None and np.dtype(dtype) != np.float64):
            return np.full_like(np.empty(a.shape), value, dtype or a.dtype, *args, **options)
        return as_an_array(Tracer(a.tape, a.tape.add("const", (), value), a.shape))

    return make


FUNCTIONS[np.zeros_like], FUNCTIONS[np.ones_like] = _like(0.0), _like(1.0)
FUNCTIONS[np.empty_like] = _like(np.nan)


@_function("full_like")
def _full_like(a: Any, fill_value: Any) -> Any:
    return np.where(True, fill_value, np.zeros_like(a))


@_function("shape")
def _shape(a: Any) -> Any:
    return a.shape


@_function("ndim")
def _ndim(a: Any) -> Any:
    return a.ndim


@_function("size")
def _size(a: Any, axis: int | None = None) -> Any:
    return a.size if axis is None else a.shape[axis]


@_function("copy")
def _copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    return moved(a, np.copy) if isinstance(a, Tracer) else a.copy()


@_function("real")
def _real(a: Any) -> Any:
    return a.real


@_function("imag")
def _imag(a: Any) -> Any:
    return a.imag


@_function("angle")
def _angle(z: Any, deg: bool = False) -> Any:
    angle = np.arctan2(z.imag, z.real)
    return np.degrees(angle) if deg else angle


@_function("iscomplexobj")
def _iscomplexobj(a: Any) -> Any:
    return is_complex(a)


@_function("isrealobj")
def _isrealobj(a: Any) -> Any:
    return not is_complex(a)


# Sums.


@_function("polyval")
def _polyval(p: Any, x: Any) -> Any:
    result: Any = np.zeros_like(x)
    for coefficient in p:
        result = result * x + coefficient
    return result


@_function("trapezoid", "trapz")
def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    if axis not in (-1, np.ndim(y) - 1):
        raise tape_of(y, x, dx).refuse("np.trapezoid along another axis than the last one",
                                       "transpose its argument")
    widths = dx if x is None else np.diff(x)
    return np.sum(widths * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)
