"""`Tracer`: what a model function gets for a parameter, and what all that it computes from one is.

A tracer has the shape and the behaviour of the real array, or the number, that would be in its place; every operation
adds a node to the tape. What needs the numbers themselves is refused. `Mask` is a tracer of truth values.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from operator import getitem, setitem
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ._tape import FLOAT64, Tape

Shape = tuple[int, ...]
Handler = Callable[..., Any]

#: What a ufunc of NumPy is recorded as: the name of an operation on one number, or a function of its inputs.
UFUNCS: dict[np.ufunc, str | Handler] = {}
#: The same for SciPy's, by their names in scipy.special, which is not imported for it.
SPECIAL: dict[str, str | Handler] = {}
#: What a function of NumPy is recorded as; `operator.getitem` and `setitem` are that of [].
FUNCTIONS: dict[Any, Handler] = {}
#: Operations on two numbers, one of which at least is complex.
COMPLEX: dict[str, Handler] = {}

#: Methods of arrays that are functions of NumPy with the array as first argument.
_METHODS = {
    name: getattr(np, name)
    for name in ("all", "any", "clip", "conj", "conjugate", "dot", "max", "mean", "min", "prod", "repeat", "round",
                 "squeeze", "sum", "swapaxes", "take")
}
_NUMBER_REMEDY = "use the functions of NumPy (np.exp instead of math.exp) and leave the value as it is"


class Tracer:
    """A number, or an array of them, that depends on parameters.

    Parameters
    ----------
    tape : Tape
        The recording it belongs to.
    at : int
        Its node.
    shape : tuple of int
        That of the array in its place.
    """

    __slots__ = ("tape", "at", "shape", "has_views")

    __array_priority__ = 1e6
    # More than a DataFrame's 4000, so that pandas leaves the operation to the tracer.
    __pandas_priority__ = 10_000

    def __init__(self, tape: Tape, at: int, shape: Shape) -> None:
        self.tape, self.at, self.shape, self.has_views = tape, at, shape, False

    # What an array says of itself.

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return FLOAT64

    @property
    def real(self) -> Tracer:
        return self

    @property
    def imag(self) -> Any:
        return np.zeros(self.shape)

    @property
    def T(self) -> Any:
        return FUNCTIONS[np.transpose](self)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("object of type 'numpy.float64' has no len()")
        return self.shape[0]

    def __repr__(self) -> str:
        return "<value that depends on a parameter" + (f", shape {self.shape}>" if self.shape else ">")

    def __format__(self, spec: str) -> str:
        return repr(self)

    # What needs the numbers.

    def __bool__(self) -> NoReturn:
        raise self.tape.refuse("a branch on a value that depends on a parameter",
                               "use np.where(condition, value where it holds, value elsewhere)")

    def __float__(self) -> NoReturn:
        raise self.tape.refuse("a value that depends on a parameter is made a plain number", _NUMBER_REMEDY)

    def __complex__(self) -> NoReturn:
        raise self.tape.refuse("a value that depends on a parameter is made a plain complex number",
                               "multiply by 1j instead")

    def __int__(self) -> NoReturn:
        raise self.tape.refuse("a value that depends on a parameter is made a whole number",
                               "a number of terms or an index cannot be fitted by derivatives; make it an argument "
                               "that is not fitted")

    __index__ = __int__

    def __hash__(self) -> int:
        raise self.tape.refuse("a value that depends on a parameter is looked up in a dictionary, a set or a cache",
                               "take the cache from this function")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if self.shape:
            raise self.tape.refuse("values that depend on a parameter are put into an array",
                                   "use np.where instead of y[mask] = ..., sum() or np.stack instead of "
                                   "np.array([...]), functions that take whole arrays instead of loops over them")
        # A separate value may be an element of an array of objects, whose arithmetic is that of the elements.
        array = np.empty((), object)
        array[()] = self
        return array

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("'numpy.float64' object is not iterable")
        if self.shape[0] > 64:
            raise self.tape.refuse("a loop over values that depend on a parameter", "compute with the whole array")
        return iter([self[k] for k in range(self.shape[0])])

    def __getattr__(self, name: str) -> Any:
        function = _METHODS.get(name)
        if function is not None:
            return partial(FUNCTIONS[function] if function in FUNCTIONS else function, self)
        if not name.startswith("__") and (hasattr(np.ndarray, name) or hasattr(np.float64, name)):
            raise self.tape.refuse(f".{name} of a value that depends on a parameter")
        raise AttributeError(f"a value that depends on a parameter has no attribute {name!r}")

    # Shapes and copies.

    def __getitem__(self, key: Any) -> Any:
        return FUNCTIONS[getitem](self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.assign(FUNCTIONS[setitem](self, key, value))

    def reshape(self, *shape: Any, **options: Any) -> Any:
        return FUNCTIONS[np.reshape](self, shape[0] if len(shape) == 1 else shape, **options)

    def transpose(self, *axes: Any) -> Any:
        return FUNCTIONS[np.transpose](self, (axes[0] if len(axes) == 1 else axes) or None)

    def ravel(self, order: str = "C") -> Any:
        return FUNCTIONS[np.ravel](self, order)

    def flatten(self, order: str = "C") -> Any:
        return FUNCTIONS[np.ravel](self.copy(), order)

    def copy(self, order: str = "C") -> Tracer:
        return type(self)(self.tape, self.at, self.shape)

    def item(self) -> Tracer:
        if self.shape:
            raise self.tape.refuse(".item() of an array that depends on a parameter")
        return self.copy()

    tolist = item

    def astype(self, dtype: Any, **options: Any) -> Tracer:
        wanted = np.dtype(dtype)
        if wanted == np.bool_:
            return not_equal(self, 0.0)
        if wanted != self.dtype:
            raise self.tape.refuse(f"a value that depends on a parameter is made {wanted}")
        return self.copy()

    def assign(self, new: Any) -> Tracer:
        """Takes the values of `new`, as an array does that is changed in place."""
        if self.has_views:
            raise self.tape.refuse("an array is changed in place of which there are views",
                                   "write y = y + ... instead of y += ...")
        if type(new) is not type(self):
            if type(new) is not Mask:
                raise TypeError("the result of a change in place is of another type than the array")
        if new.shape != self.shape:
            raise ValueError(f"a result of shape {new.shape} in an array of shape {self.shape}")
        self.at = new.at
        return self

    def _in_place(self, new: Any) -> Any:
        # A number is not changed by +=, its name gets another; an array is, under all its names.
        return self.assign(new) if self.shape else new

    # Arithmetic.

    def __neg__(self) -> Any:
        return unary("neg", self)

    def __pos__(self) -> Any:
        return self.copy()

    def __abs__(self) -> Any:
        return unary("abs", self)

    def __add__(self, other: Any) -> Any:
        return binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return binary("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return binary("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return binary("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return binary("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return binary("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return binary("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return binary("div", other, self)

    def __pow__(self, other: Any) -> Any:
        return power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return power(other, self)

    def __floordiv__(self, other: Any) -> Any:
        return np.floor_divide(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return np.floor_divide(other, self)

    def __mod__(self, other: Any) -> Any:
        return np.remainder(self, other)

    def __rmod__(self, other: Any) -> Any:
        return np.remainder(other, self)

    def __divmod__(self, other: Any) -> Any:
        return np.divmod(self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return np.divmod(other, self)

    def __matmul__(self, other: Any) -> Any:
        return np.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return np.matmul(other, self)

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None:
            return self.__int__()
        return FUNCTIONS[np.round](self, digits)

    def __iadd__(self, other: Any) -> Any:
        return self._in_place(self + other)

    def __isub__(self, other: Any) -> Any:
        return self._in_place(self - other)

    def __imul__(self, other: Any) -> Any:
        return self._in_place(self * other)

    def __itruediv__(self, other: Any) -> Any:
        return self._in_place(self / other)

    def __ipow__(self, other: Any) -> Any:
        return self._in_place(self**other)

    def __ifloordiv__(self, other: Any) -> Any:
        return self._in_place(self // other)

    def __imod__(self, other: Any) -> Any:
        return self._in_place(self % other)

    # Comparisons.

    def __lt__(self, other: Any) -> Any:
        return binary("lt", self, other, Mask)

    def __le__(self, other: Any) -> Any:
        return binary("le", self, other, Mask)

    def __gt__(self, other: Any) -> Any:
        return binary("lt", other, self, Mask)

    def __ge__(self, other: Any) -> Any:
        return binary("le", other, self, Mask)

    def __eq__(self, other: Any) -> Any:
        return NotImplemented if other is None or isinstance(other, str) else binary("eq", self, other, Mask)

    def __ne__(self, other: Any) -> Any:
        return NotImplemented if other is None or isinstance(other, str) else not_equal(self, other)

    # NumPy's own functions.

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if method != "__call__":
            raise self.tape.refuse(f"np.{ufunc.__name__}.{method} of values that depend on a parameter")
        if options:
            self._check(ufunc, options)
        if out is not None:
            return self._into(ufunc, inputs, out)
        return recorded(self.tape, ufunc, inputs)

    def _check(self, ufunc: np.ufunc, options: dict[str, Any]) -> None:
        dtype = options.pop("dtype", None)
        if options.pop("where", True) is not True or (dtype is not None and np.dtype(dtype) != FLOAT64):
            raise self.tape.refuse(f"np.{ufunc.__name__} with where= or dtype=", "use np.where(mask, ..., ...)")
        for name in options:
            if name not in ("casting", "order", "subok"):
                raise self.tape.refuse(f"np.{ufunc.__name__} with {name}=")

    def _into(self, ufunc: np.ufunc, inputs: tuple[Any, ...], out: tuple[Any, ...]) -> Any:
        target = out[0]
        if len(out) == 1 and isinstance(target, Tracer) and target.shape:
            return target.assign(recorded(self.tape, ufunc, inputs))
        if len(out) != 1 or inputs[0] is not target:
            raise self.tape.refuse(f"np.{ufunc.__name__} with out=", "use the result that it returns")
        # y += a * x of a real array y: Python binds y to what is returned.
        return overwritten(self.tape, target, recorded(self.tape, ufunc, inputs))

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        do = FUNCTIONS.get(function)
        if do is None:
            raise self.tape.refuse(f"np.{function.__name__} of values that depend on a parameter")
        return do(*args, **options)


class Mask(Tracer):
    """Truth values that depend on parameters: 1 where a comparison holds, else 0; and, or, not of such."""

    __slots__ = ()

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.bool_)

    def astype(self, dtype: Any, **options: Any) -> Tracer:
        wanted = np.dtype(dtype)
        if wanted == np.bool_:
            return self.copy()
        if wanted != FLOAT64 and wanted.kind not in "iu":
            raise self.tape.refuse(f"truth values that depend on a parameter are made {wanted}")
        return Tracer(self.tape, self.at, self.shape)

    def __neg__(self) -> Any:
        raise TypeError("The numpy boolean negative, the `-` operator, is not supported")

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

    def __invert__(self) -> Any:
        return unary("not", self, Mask)

    def __and__(self, other: Any) -> Any:
        return np.bitwise_and(self, other)

    def __or__(self, other: Any) -> Any:
        return np.bitwise_or(self, other)

    def __xor__(self, other: Any) -> Any:
        return np.bitwise_xor(self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__


_TRACED = frozenset((Tracer, Mask))


def recorded(tape: Tape, ufunc: np.ufunc, inputs: tuple[Any, ...]) -> Any:
    """The value of a ufunc of inputs at least one of which is traced."""
    do = UFUNCS.get(ufunc)
    if do is None:
        do = _special(ufunc)
        if do is None:
            raise tape.refuse(f"the function {ufunc.__name__} of a value that depends on a parameter",
                              "no derivative of it is known here")
    return unary(do, inputs[0]) if type(do) is str else do(*inputs)  # type: ignore[operator]


def _special(ufunc: np.ufunc) -> str | Handler | None:
    # Another library's ufunc may have the name of one of SciPy's: it must be that object.
    for module in ("scipy.special", "scipy.special._ufuncs"):
        if getattr(sys.modules.get(module), ufunc.__name__, None) is ufunc:
            return SPECIAL.get(ufunc.__name__)
    return None


def overwritten(tape: Tape, target: Any, result: Any) -> Any:
    """The `result` of a change in place of the real array `target`, which is of no more use."""
    if type(target) is not np.ndarray or target.dtype != result.dtype or target.shape != result.shape:
        raise tape.refuse("an array is changed in place into one of another type or shape",
                          "write y = y + ... instead of y += ...")
    tape.overwrite(target)
    return result


def real(tape: Tape, value: Any) -> Any:
    """A real operand that is not traced: as a float, or as an array."""
    kind = type(value)
    if kind is float:
        return value
    if kind is int or kind is bool or isinstance(value, (np.floating, np.integer, np.bool_)):
        return float(value)
    if kind is not np.ndarray:
        value = _as_array(tape, value)
    if value.dtype.kind not in "fiub":
        if value.dtype.kind == "O":
            raise tape.refuse("an array of separate objects beside a value that depends on a parameter",
                              "compute with arrays of numbers")
        raise tape.refuse(f"an array of {value.dtype} beside a value that depends on a parameter")
    return value if value.ndim else float(value)


def _as_array(tape: Tape, value: Any) -> NDArray[Any]:
    # A subclass of an array may mean something else by the same operation (a matrix, a quantity with a unit, a mask).
    is_data = isinstance(value, (list, tuple, np.memmap)) or type(value).__module__.partition(".")[0] == "pandas"
    if is_data:
        return np.asarray(value)
    if isinstance(value, (int, float)) or hasattr(type(value), "__float__") and not hasattr(type(value), "__array__"):
        return np.asarray(float(value))
    raise tape.refuse(f"a {type(value).__name__} beside a value that depends on a parameter",
                      "use plain numbers and arrays of NumPy")


def is_complex(value: Any) -> bool:
    """Whether a value is complex, traced or not."""
    return value.dtype.kind == "c" if hasattr(value, "dtype") else isinstance(value, complex)


def is_boolean(value: Any) -> bool:
    """Whether a value is one of truth values, traced or not."""
    return value.dtype.kind == "b" if hasattr(value, "dtype") else isinstance(value, bool)


def broadcast(one: Shape, two: Shape) -> Shape:
    """The shape of an operation on arrays of two shapes."""
    if one == two or not two:
        return one
    return np.broadcast_shapes(one, two) if one else two


def spread(value: Tracer, shape: Shape) -> int:
    """The node of a tracer's values in a larger shape."""
    size = prod(value.shape)
    if size == 1 or size == prod(shape):
        return value.at
    places = np.arange(size).reshape(value.shape)
    return value.tape.gather(value.at, np.broadcast_to(places, shape).reshape(-1))


def operands(values: tuple[Any, ...]) -> tuple[Tape, tuple[int, ...], Shape]:
    """Nodes of real operands, at least one of them traced, in the shape of them all."""
    tape = next(value.tape for value in values if type(value) in _TRACED)
    plain = [value if type(value) in _TRACED else real(tape, value) for value in values]
    shape: Shape = ()
    for value in plain:
        if type(value) is not float:
            shape = broadcast(shape, value.shape)
    return tape, tuple([_node(tape, value, shape) for value in plain]), shape


def _node(tape: Tape, value: Any, shape: Shape) -> int:
    kind = type(value)
    if kind is float:
        return tape.add("const", (), value)
    if kind in _TRACED:
        if value.tape is not tape:
            raise tape.refuse("a value of another recording is used", "keep nothing that depends on a parameter")
        return value.at if value.shape == shape else spread(value, shape)
    if value.shape != shape and value.size != 1:
        value = np.broadcast_to(value, shape)
    return tape.column(value)


def apply(name: str, *values: Any, kind: type[Tracer] = Tracer) -> Tracer:
    """An operation of the core on real operands, at least one of them traced."""
    tape, nodes, shape = operands(values)
    return kind(tape, tape.add(name, nodes), shape)


def unary(name: str, value: Any, kind: type[Tracer] = Tracer, number: float = 0.0) -> Tracer:
    """An operation of the core on one value."""
    if type(value) is Mask and name != "not":
        raise value.tape.refuse(f"a function ({name}) of truth values, which NumPy computes in half precision",
                                "use np.where(condition, ..., ...)")
    tape = value.tape
    return kind(tape, tape.add(name, (value.at,), number), value.shape)


def binary(name: str, first: Any, second: Any, kind: type[Tracer] = Tracer) -> Any:
    """An operation of the core on two values, at least one of them traced."""
    # The quick ways of what most models are made of; `operands` has all.
    one, two = type(first), type(second)
    if one is Tracer:
        tape = first.tape
        if two is Tracer:
            if first.shape == second.shape and tape is second.tape:
                return kind(tape, tape.add(name, (first.at, second.at)), first.shape)
        elif two is float or two is int:
            return kind(tape, tape.add(name, (first.at, tape.add("const", (), float(second)))), first.shape)
    elif two is Tracer and (one is float or one is int):
        tape = second.tape
        return kind(tape, tape.add(name, (tape.add("const", (), float(first)), second.at)), second.shape)
    if is_complex(first) or is_complex(second):
        do = COMPLEX.get(name)
        if do is None:
            tape = first.tape if hasattr(first, "tape") else second.tape
            raise tape.refuse("a comparison of complex values")
        return do(first, second)
    return apply(name, first, second, kind=kind)


def add(first: Any, second: Any) -> Any:
    """The sum, which is "or" of truth values."""
    if is_boolean(first) and is_boolean(second):
        return apply("or", first, second, kind=Mask)
    return binary("add", first, second)


def subtract(first: Any, second: Any) -> Any:
    """The difference."""
    if is_boolean(first) and is_boolean(second):
        raise TypeError("numpy boolean subtract, the `-` operator, is not supported")
    return binary("sub", first, second)


def multiply(first: Any, second: Any) -> Any:
    """The product, which is "and" of truth values."""
    if is_boolean(first) and is_boolean(second):
        return apply("and", first, second, kind=Mask)
    return binary("mul", first, second)


def not_equal(first: Any, second: Any) -> Any:
    """Where they differ, or one of them is not a number."""
    return unary("not", binary("eq", first, second, Mask), Mask)


def whole(exponent: Any) -> int | None:
    """A small whole exponent, of which products are a power."""
    if isinstance(exponent, (int, float, np.integer, np.floating)) and abs(exponent) <= 64:
        return int(exponent) if exponent == int(exponent) else None
    return None


def power(base: Any, exponent: Any) -> Any:
    """`base` to the power of `exponent`."""
    if type(base) is Tracer:
        if isinstance(exponent, np.ndarray) and not exponent.ndim:
            exponent = exponent[()]
        n = whole(exponent)
        if n == 2:
            return binary("mul", base, base)
        if n is not None:
            return unary("powi", base, number=float(n))
        if type(exponent) is float and exponent == 0.5:
            return unary("sqrt", base)
    return binary("pow", base, exponent)
