"""Complex values that depend on parameters, as pairs of real ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ._trace import NotTraceable, Tape, Tracer, applied

Pair = tuple[Any, Any]


def is_complex(value: Any) -> bool:
    """Whether a value has an imaginary part."""
    if isinstance(value, (ComplexTracer, complex, np.complexfloating)):
        return True
    return isinstance(value, np.ndarray) and value.dtype.kind == "c"


class ComplexTracer(np.lib.mixins.NDArrayOperatorsMixin):
    """A complex number, or one per point, that depends on parameters."""

    __slots__ = ("real", "imag")
    __array_priority__ = 1e6
    __pandas_priority__ = 1e6

    def __init__(self, real: Any, imag: Any) -> None:
        self.real, self.imag = real, imag

    @property
    def tape(self) -> Tape:
        part: Tracer = self.real if isinstance(self.real, Tracer) else self.imag
        return part.tape

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(np.shape(self.real), np.shape(self.imag))

    def conjugate(self) -> ComplexTracer:
        return ComplexTracer(self.real, -self.imag)

    conj = conjugate

    def __abs__(self) -> Any:
        return np.hypot(self.real, self.imag)

    def __bool__(self) -> NoReturn:
        raise NotTraceable("a branch depends on a parameter; use np.where(condition, a, b)")

    def __complex__(self) -> NoReturn:
        raise NotTraceable("a value that depends on a parameter is made a plain complex number")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        in_place = out is None or (len(inputs) == 2 and out[0] is inputs[0])
        if method != "__call__" or not in_place or kwargs:
            raise NotTraceable(f"np.{ufunc.__name__} of complex values with options")
        return complex_called(ufunc.__name__, inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from ._functions import FUNCTIONS

        name = function.__name__
        if name in ("real", "imag", "where"):
            return FUNCTIONS[name](*args, **kwargs)
        if name == "angle":
            angle = np.arctan2(self.imag, self.real)
            return angle * (180.0 / np.pi) if kwargs.get("deg", args[1:] and args[1]) else angle
        raise NotTraceable(f"np.{name} of complex values that depend on a parameter")


def _pair(value: Any) -> Pair:
    if isinstance(value, ComplexTracer):
        return value.real, value.imag
    if isinstance(value, Tracer):
        return value, 0.0
    return np.real(value), np.imag(value)


def _is_zero(value: Any) -> bool:
    return isinstance(value, (int, float)) and value == 0.0


def _product(a: Pair, b: Pair) -> Pair:
    (x, y), (u, v) = a, b
    if _is_zero(y):
        return x * u, x * v
    if _is_zero(v):
        return x * u, y * u
    return x * u - y * v, x * v + y * u


def _quotient(a: Pair, b: Pair) -> Pair:
    (x, y), (u, v) = a, b
    if _is_zero(v):
        return x / u, y / u
    # Both parts over the size of the divisor, which else would overflow when it is squared.
    size = np.hypot(u, v)
    c, s = u / size, v / size
    return (x * c + y * s) / size, (y * c - x * s) / size


def _exponential(a: Pair) -> Pair:
    size = np.exp(a[0])
    return size * np.cos(a[1]), size * np.sin(a[1])


def _root(a: Pair) -> Pair:
    """The root with a real part that is not negative (Kahan)."""
    x, y = a
    size = np.hypot(x, y)
    larger = np.sqrt(0.5 * (size + np.abs(x)))
    smaller = np.where(larger == 0.0, 0.0, 0.5 * np.abs(y) / np.where(larger == 0.0, 1.0, larger))
    right = x >= 0.0
    imaginary = np.where(right, smaller, larger)
    return np.where(right, larger, smaller), np.where(np.less(y, 0.0), -imaginary, imaginary)


def _power(a: Pair, exponent: Any) -> Pair:
    """A whole power by products, any other by the logarithm."""
    if isinstance(exponent, (int, float, np.floating, np.integer)):
        number = float(exponent)
        if number == 0.5:
            return _root(a)
        if number.is_integer() and 0 < abs(number) <= 16:
            made = a
            for _ in range(int(abs(number)) - 1):
                made = _product(made, a)
            return made if number > 0 else _quotient((1.0, 0.0), made)
    log = np.log(np.hypot(*a)), np.arctan2(a[1], a[0])
    return _exponential(_product(_pair(exponent), log))


def _faddeeva(a: Pair) -> Pair:
    tape = next(part.tape for part in a if isinstance(part, Tracer))
    return applied(tape, "faddeeva_re", *a), applied(tape, "faddeeva_im", *a)


_FUNCTIONS: dict[str, Callable[..., Pair]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "subtract": lambda a, b: (a[0] - b[0], a[1] - b[1]),
    "multiply": _product,
    "divide": _quotient,
    "true_divide": _quotient,
    "negative": lambda a: (-a[0], -a[1]),
    "positive": lambda a: a,
    "conjugate": lambda a: (a[0], -a[1]),
    "square": lambda a: _product(a, a),
    "reciprocal": lambda a: _quotient((1.0, 0.0), a),
    "exp": _exponential,
    "log": lambda a: (np.log(np.hypot(*a)), np.arctan2(a[1], a[0])),
    "sqrt": _root,
    "sin": lambda a: (np.sin(a[0]) * np.cosh(a[1]), np.cos(a[0]) * np.sinh(a[1])),
    "cos": lambda a: (np.cos(a[0]) * np.cosh(a[1]), -np.sin(a[0]) * np.sinh(a[1])),
    "sinh": lambda a: (np.sinh(a[0]) * np.cos(a[1]), np.cosh(a[0]) * np.sin(a[1])),
    "cosh": lambda a: (np.cosh(a[0]) * np.cos(a[1]), np.sinh(a[0]) * np.sin(a[1])),
    "wofz": _faddeeva,
}


def complex_called(name: str, inputs: tuple[Any, ...]) -> Any:
    """A ufunc of values of which one at least is complex, or gives a complex one."""
    if name in ("absolute", "fabs"):
        return np.hypot(*_pair(inputs[0]))
    if name == "power":
        return ComplexTracer(*_power(_pair(inputs[0]), inputs[1]))
    if name == "tanh":
        sine, cosine = (complex_called(part, inputs) for part in ("sinh", "cosh"))
        return sine / cosine
    made = _FUNCTIONS.get(name)
    if made is None:
        raise NotTraceable(f"the function {name} of complex values that depend on a parameter")
    return ComplexTracer(*made(*(_pair(value) for value in inputs)))
