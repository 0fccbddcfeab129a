"""`Complex`: complex intermediate values as pairs of real values.

The core computes with real numbers; the result of a model must be real again (np.abs, z.real, np.angle). A part that
is known to be zero is None, and no operation is recorded for it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any, NoReturn

import numpy as np

from ._tracer import (
    COMPLEX,
    SPECIAL,
    Tracer,
    apply,
    as_array,
    broadcast,
    name_in_scipy,
    overwritten,
    spread,
    tape_of,
    unary,
    whole,
)
from ._value import FUNCTIONS, Shape, quiet

#: A real part, an imaginary part.
Pair = tuple[Any, Any]

#: Handlers of ufuncs of complex values.
_UFUNCS: dict[np.ufunc, Callable[..., Any]] = {}
_SPECIAL: dict[str, Callable[..., Any]] = {}


class Complex:
    """Complex values that depend on parameters.

    Parameters
    ----------
    re, im : Tracer, array, float or None
        Real and imaginary part, at least one of them traced; None means zero.
    """

    __slots__ = ("tape", "re", "im", "shape", "has_views")

    __array_priority__ = 1e6
    __pandas_priority__ = 10_000

    def __init__(self, re: Any, im: Any) -> None:
        self.tape = tape_of(re, im)
        self.re, self.im = re, im
        self.shape: Shape = broadcast(np.shape(re) if re is not None else (),
                                      np.shape(im) if im is not None else ())
        self.has_views = False

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.complex128)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def real(self) -> Any:
        return self._view(self.re)

    @property
    def imag(self) -> Any:
        return self._view(self.im)

    def _view(self, part: Any) -> Any:
        view = self._part(part)
        self.has_views = True
        if isinstance(view, Tracer):
            view.has_views = True
        return view

    def _part(self, part: Any) -> Any:
        if isinstance(part, Tracer):
            return Tracer(self.tape, spread(part, self.shape), self.shape)
        return np.broadcast_to(0.0 if part is None else part, self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("object of type 'numpy.complex128' has no len()")
        return self.shape[0]

    def __repr__(self) -> str:
        return "<complex value that depends on a parameter>"

    def _no_number(self, *_: Any) -> NoReturn:
        raise self.tape.refuse("a complex value that depends on a parameter is made a plain number",
                               "use np.abs, np.real or np.where")

    __bool__ = __float__ = __int__ = __complex__ = __array__ = __iter__ = _no_number
    __hash__ = _no_number

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and hasattr(np.ndarray, name):
            raise self.tape.refuse(f".{name} of a complex value that depends on a parameter")
        raise AttributeError(f"a complex value that depends on a parameter has no attribute {name!r}")

    def copy(self) -> Complex:
        return Complex(self.re, self.im)

    def conj(self) -> Any:
        return conjugate(self)

    conjugate = conj

    def moved(self, move: Callable[[Any], Any]) -> Complex:
        """Rearrange the values by a function of arrays."""
        new = Complex(*(None if part is None else move(self._part(part)) for part in (self.re, self.im)))
        self.has_views = new.has_views = True
        return new

    def __getitem__(self, key: Any) -> Any:
        return self.moved(lambda part: part[key])

    def reshape(self, *shape: Any) -> Any:
        return self.moved(lambda part: part.reshape(*shape))

    def ravel(self) -> Any:
        return self.moved(lambda part: part.ravel())

    flatten = ravel

    def view(self, dtype: Any) -> Any:
        """Return alternating real and imaginary parts."""
        if np.dtype(dtype) != np.float64 or not self.shape:
            raise self.tape.refuse(f"complex values that depend on a parameter are viewed as {dtype}")
        pairs = np.stack([self.real, self.imag], axis=-1)
        return pairs.reshape(*self.shape[:-1], 2 * self.shape[-1])

    def assign(self, new: Any) -> Any:
        """Replace the values by those of `new`, as an in-place operation does."""
        if not self.shape and not self.has_views:
            return new
        if self.has_views or new.shape != self.shape:
            raise self.tape.refuse("a complex array is changed in place of which there are parts",
                                   "write z = z + ... instead of z += ...")
        self.re, self.im = parts(new)
        return self

    def __neg__(self) -> Any:
        return negative(self)

    def __pos__(self) -> Any:
        return self.copy()

    def __abs__(self) -> Any:
        return absolute(self)

    def __add__(self, other: Any) -> Any:
        return add(self, other)

    def __radd__(self, other: Any) -> Any:
        return add(other, self)

    def __sub__(self, other: Any) -> Any:
        return subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        return subtract(other, self)

    def __mul__(self, other: Any) -> Any:
        return multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return multiply(other, self)

    def __truediv__(self, other: Any) -> Any:
        return divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return divide(other, self)

    def __pow__(self, other: Any) -> Any:
        return power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return power(other, self)

    def __iadd__(self, other: Any) -> Any:
        return self.assign(self + other)

    def __isub__(self, other: Any) -> Any:
        return self.assign(self - other)

    def __imul__(self, other: Any) -> Any:
        return self.assign(self * other)

    def __itruediv__(self, other: Any) -> Any:
        return self.assign(self / other)

    def __eq__(self, other: Any) -> Any:
        return NotImplemented if other is None else self._no_number()

    __ne__ = __eq__

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None,
                        **options: Any) -> Any:
        do = _UFUNCS.get(ufunc) or _SPECIAL.get(name_in_scipy(ufunc))
        if do is None or method != "__call__" or options:
            raise self.tape.refuse(f"{ufunc.__name__} of complex values that depend on a parameter")
        if out is None:
            return do(*inputs)
        if len(out) != 1 or inputs[0] is not out[0]:
            raise self.tape.refuse(f"np.{ufunc.__name__} with out=", "use the result that it returns")
        return overwritten(self.tape, out[0], do(*inputs))

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...],
                           options: dict[str, Any]) -> Any:
        do = FUNCTIONS.get(function)
        if do is None:
            raise self.tape.refuse(f"np.{function.__name__} of complex values that depend on a parameter")
        return do(*args, **options)


def parts(value: Any) -> Pair:
    """Return the parts of a value, traced or not; later in-place changes of the value do not affect them."""
    if isinstance(value, Complex):
        return value.re, value.im
    if isinstance(value, Tracer):
        return value.copy(), None
    if isinstance(value, (complex, np.complexfloating)):
        return value.real if value.real or not value.imag else None, value.imag or None
    if isinstance(value, (int, float, np.generic)):
        return value, None
    value = as_array(value)
    if value.dtype.kind == "c":
        re, im = value.real, value.imag
        # One part is kept even if all values are zero, to preserve the shape.
        return re.copy() if re.any() or not im.any() else None, im.copy() if im.any() else None
    return value.copy(), None


def made(re: Any, im: Any) -> Any:
    """Return the complex value with these parts."""
    if hasattr(re, "tape") or hasattr(im, "tape"):
        return Complex(re, im)
    return (0.0 if re is None else re) + 1j * (0.0 if im is None else np.asarray(im))


def _plus(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else a + b


def _minus(a: Any, b: Any) -> Any:
    return a if b is None else -b if a is None else a - b


def _times(a: Any, b: Any) -> Any:
    return None if a is None or b is None else a * b


def _over(a: Any, b: Any) -> Any:
    return None if a is None else a / b


def _of(function: Callable[[Any], Any], part: Any, at_zero: float | None) -> Any:
    return at_zero if part is None else function(part)


def _product(one: Pair, two: Pair) -> Pair:
    (x, y), (u, v) = one, two
    return _minus(_times(x, u), _times(y, v)), _plus(_times(x, v), _times(y, u))


def _magnitude(x: Any, y: Any) -> Any:
    return abs(x) if y is None else abs(y) if x is None else np.hypot(x, y)


def _quotient(one: Pair, two: Pair) -> Pair:
    (x, y), (u, v) = one, two
    if v is None:
        return _over(x, u), _over(y, u)
    if u is None:
        return _over(y, v), _minus(None, _over(x, v))
    # Divided twice by the magnitude, because its square could overflow.
    h = np.hypot(u, v)
    re, im = _product(one, (u / h, -(v / h)))
    return _over(re, h), _over(im, h)


def add(a: Any, b: Any) -> Any:
    (x, y), (u, v) = parts(a), parts(b)
    return made(_plus(x, u), _plus(y, v))


def subtract(a: Any, b: Any) -> Any:
    (x, y), (u, v) = parts(a), parts(b)
    return made(_minus(x, u), _minus(y, v))


def multiply(a: Any, b: Any) -> Any:
    return made(*_product(parts(a), parts(b)))


def divide(a: Any, b: Any) -> Any:
    return made(*_quotient(parts(a), parts(b)))


def negative(a: Any) -> Any:
    return made(*(_minus(None, part) for part in parts(a)))


def conjugate(a: Any) -> Any:
    re, im = parts(a)
    return made(re, _minus(None, im))


def absolute(a: Any) -> Any:
    return _magnitude(*parts(a))


def where(condition: Any, yes: Any, no: Any) -> Any:
    def choice(a: Any, b: Any) -> Any:
        if a is None and b is None:
            return None
        return np.where(condition, 0.0 if a is None else a, 0.0 if b is None else b)

    (x, y), (u, v) = parts(yes), parts(no)
    return made(choice(x, u), choice(y, v))


def _exp(z: Pair) -> Pair:
    x, y = z
    size = _of(np.exp, x, 1.0)
    return (size, None) if y is None else (size * np.cos(y), size * np.sin(y))


def _log(z: Pair) -> Pair:
    x, y = z
    return np.log(_magnitude(x, y)), np.arctan2(0.0 if y is None else y, 0.0 if x is None else x)


def _sqrt(z: Pair) -> Pair:
    x, y = (0.0 if part is None else part for part in z)
    # |x| with the derivative of the chosen branch at 0.
    to_left = x < 0.0
    large = np.sqrt(0.5 * (np.where(to_left, -x, x) + np.hypot(x, y)))
    small = y / (2.0 * np.where(large == 0.0, 1.0, large))
    return np.where(to_left, abs(small), large), np.where(to_left, np.copysign(large, y), small)


def _power(base: Any, exponent: Any) -> Pair:
    n = whole(exponent)
    if n is not None and abs(n) <= 16:
        z = result = parts(base)
        if n == 0:
            return np.ones(np.shape(base)), None
        for digit in f"{abs(n):b}"[1:]:
            result = _product(result, result)
            if digit == "1":
                result = _product(result, z)
        return _quotient((1.0, None), result) if n < 0 else result
    if isinstance(exponent, float) and exponent == 0.5:
        return _sqrt(parts(base))
    re, im = parts(base)
    size = _magnitude(re, im)
    is_zero = size == 0.0
    ln = np.log(np.where(is_zero, 1.0, size))
    angle = np.arctan2(0.0 if im is None else im, 0.0 if re is None else re)
    x, y = _exp(_product(parts(exponent), (ln, angle)))
    if not hasattr(size, "tape") and not np.any(is_zero):
        return x, y
    re = parts(exponent)[0]
    at_zero = np.where((0.0 if re is None else re) > 0.0, 0.0, np.nan)
    return np.where(is_zero, at_zero, x), np.where(is_zero, at_zero, 0.0 if y is None else y)


@quiet
def power(base: Any, exponent: Any) -> Any:
    return made(*_power(base, exponent))


def _sinh(z: Pair) -> Pair:
    x, y = z
    return (_times(_of(np.sinh, x, None), _of(np.cos, y, 1.0)),
            _times(_of(np.cosh, x, 1.0), _of(np.sin, y, None)))


def _cosh(z: Pair) -> Pair:
    x, y = z
    return (_times(_of(np.cosh, x, 1.0), _of(np.cos, y, 1.0)),
            _times(_of(np.sinh, x, None), _of(np.sin, y, None)))


def _turned(z: Pair) -> Pair:
    """Return i·z."""
    x, y = z
    return _minus(None, y), x


def _turned_back(z: Pair) -> Pair:
    """Return −i·z."""
    x, y = z
    return y, _minus(None, x)


def _tanh(z: Pair) -> Pair:
    x, y = z
    if y is None:
        return np.tanh(x), None
    if x is None:
        return None, np.tan(y)
    # With e = exp(−2|x|), nothing overflows or cancels:
    # tanh z = (±(1 − e²) + 2ie sin 2y)/((1 − e)² + 4e cos² y).
    to_left = x < 0.0
    twice = np.where(to_left, 2.0 * x, -2.0 * x)
    e, cos = np.exp(twice), np.cos(y)
    below = np.expm1(twice) ** 2 + 4.0 * e * cos * cos
    return np.where(to_left, 1.0, -1.0) * np.expm1(2.0 * twice) / below, 4.0 * e * np.sin(y) * cos / below


def _wofz(z: Pair) -> Pair:
    x, y = (0.0 if part is None else part for part in z)
    return apply("faddeeva_re", x, y), apply("faddeeva_im", x, y)


def _scaled(function: Callable[[Pair], Pair], factor: float) -> Callable[[Pair], Pair]:
    def scaled(z: Pair) -> Pair:
        x, y = function(z)
        return _times(x, factor), _times(y, factor)

    return scaled


def _of_one(function: Callable[[Pair], Pair]) -> Callable[[Any], Any]:
    return quiet(lambda z: made(*function(parts(z))))


COMPLEX |= {"add": add, "sub": subtract, "mul": multiply, "div": divide, "pow": power, "where": where}
_UFUNCS |= {
    np.add: add, np.subtract: subtract, np.multiply: multiply, np.divide: divide, np.power: power,
    np.float_power: power, np.negative: negative, np.conjugate: conjugate, np.absolute: absolute,
    np.positive: Complex.copy, np.square: lambda z: multiply(z, z), np.reciprocal: lambda z: divide(1.0, z),
}
_UFUNCS |= {
    ufunc: _of_one(function)
    for ufunc, function in (
        (np.exp, _exp), (np.log, _log), (np.log10, _scaled(_log, 1.0 / log(10.0))),
        (np.log2, _scaled(_log, 1.0 / log(2.0))), (np.sqrt, _sqrt), (np.sinh, _sinh), (np.cosh, _cosh),
        (np.tanh, _tanh), (np.sin, lambda z: _turned_back(_sinh(_turned(z)))),
        (np.cos, lambda z: _cosh(_turned(z))), (np.tan, lambda z: _turned_back(_tanh(_turned(z)))),
    )
}
_SPECIAL |= {"wofz": _of_one(_wofz), "erfcx": _of_one(lambda z: _wofz(_turned(z)))}
SPECIAL["wofz"] = _of_one(_wofz)


def _lambertw(z: Any, branch: Any = 0, tolerance: Any = None) -> Complex:
    # Real, for z ≥ 0: W(z) = ω(ln z).
    if hasattr(branch, "tape") or branch != 0:
        raise z.tape.refuse("another branch of Lambert's W than the principal one")
    is_zero = z == 0.0
    value = np.where(is_zero, z, unary("wright_omega", np.log(np.where(is_zero, 1.0, z))))
    return Complex(value, None)


SPECIAL["_lambertw"] = _lambertw
