"""`Tracer`: stand-in for a parameter of a model function, and for values computed from parameters.

Every operation adds a node to the tape. `Mask` is a tracer of truth values. Tables map NumPy's functions to
operations; other modules fill them.
"""

from __future__ import annotations

import sys
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._refusal import NotTraceable, remedy_of
from ._tape import FLOAT64, Tape
from ._value import FUNCTIONS, Handler, Shape, Value

#: Handlers of NumPy's ufuncs: the name of a unary operation, or a function of the inputs.
UFUNCS: dict[np.ufunc, str | Handler] = {}
#: Handlers of SciPy's ufuncs, by name, so that scipy.special need not be imported.
SPECIAL: dict[str, str | Handler] = {}
#: Handlers of binary operations with at least one complex operand.
COMPLEX: dict[str, Handler] = {}
#: Maximum number of different values in an array of objects, which is recorded as a choice of one value per point.
MOST_CHOICES = 128


class Tracer(Value):
    """A real number, or an array of real numbers, that depends on parameters. Constructed like `Value`."""

    __slots__ = ()

    # A class that defines __eq__ does not inherit __hash__. The __hash__ of `Value` raises an error.
    __hash__ = Value.__hash__

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

    # NumPy's dispatch protocols.

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None,
                        **options: Any) -> Any:
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
            raise self.tape.refuse(f"np.{ufunc.__name__} with where= or dtype=",
                                   "use np.where(mask, ..., ...)")
        for name in options:
            if name not in ("casting", "order", "subok"):
                raise self.tape.refuse(f"np.{ufunc.__name__} with {name}=")

    def _into(self, ufunc: np.ufunc, inputs: tuple[Any, ...], out: tuple[Any, ...]) -> Any:
        target = out[0]
        if len(out) == 1 and isinstance(target, Tracer) and any(hasattr(value, "tape") for value in inputs):
            return target.assign(recorded(self.tape, ufunc, inputs))
        if len(out) != 1 or inputs[0] is not target:
            raise self.tape.refuse(f"np.{ufunc.__name__} with out=", "use the result that it returns")
        # For `y += a * x` with a real array y, Python binds y to the returned value.
        return overwritten(self.tape, target, recorded(self.tape, ufunc, inputs))

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...],
                           options: dict[str, Any]) -> Any:
        do = FUNCTIONS.get(function)
        if do is None:
            raise self.tape.refuse(f"np.{function.__name__} of values that depend on a parameter")
        return do(*args, **options)


class Mask(Tracer):
    """Truth values that depend on parameters: results of comparisons (1 or 0), and of "and", "or", "not"."""

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

    def __iand__(self, other: Any) -> Any:
        return self._in_place(self & other)

    def __ior__(self, other: Any) -> Any:
        return self._in_place(self | other)

    def __ixor__(self, other: Any) -> Any:
        return self._in_place(self ^ other)


_TRACED = frozenset((Tracer, Mask))


def recorded(tape: Tape, ufunc: np.ufunc, inputs: tuple[Any, ...]) -> Any:
    """Record a ufunc; at least one of the inputs is traced."""
    do = UFUNCS.get(ufunc)
    if do is None:
        do = SPECIAL.get(name_in_scipy(ufunc))
        if do is None:
            raise tape.refuse(f"the function {ufunc.__name__} of a value that depends on a parameter",
                              "no derivative of it is known here")
    if isinstance(do, str):
        return unary(do, inputs[0])
    return do(*[_plain(value) for value in inputs])


def _plain(value: Any) -> Any:
    """Convert a value to a type that operators treat like arrays."""
    is_plain = hasattr(value, "tape") or isinstance(value, (np.ndarray, np.generic, int, float, complex))
    return value if is_plain else as_array(value)


def name_in_scipy(ufunc: np.ufunc) -> str:
    """Return the name of a ufunc of scipy.special; "" for ufuncs of other libraries, which can have the same name."""
    for module in ("scipy.special", "scipy.special._ufuncs"):
        if getattr(sys.modules.get(module), ufunc.__name__, None) is ufunc:
            return str(ufunc.__name__)
    return ""


def overwritten(tape: Tape, target: Any, result: Any) -> Any:
    """Return the `result` of an in-place operation on the real array `target`, and invalidate `target`."""
    if type(target) is not np.ndarray or target.dtype != result.dtype or target.shape != result.shape:
        raise tape.refuse("an array is changed in place into one of another type or shape",
                          "write y = y + ... instead of y += ...")
    tape.overwrite(target)
    return result


def real(tape: Tape, value: Any) -> Any:
    """Convert a real operand that is not traced to a float or an array."""
    kind = type(value)
    if kind is float:
        return value
    if kind is int or kind is bool:
        return float(value)
    if not isinstance(value, (np.floating, np.integer, np.bool_)):
        value = as_array(value)
    if value.dtype.kind not in "fiub":
        raise tape.refuse(f"an array of {value.dtype} beside a value that depends on a parameter")
    if value.ndim:
        return value
    tape.check_is_current(value)
    return float(value)


def as_array(value: Any) -> NDArray[Any]:
    """Convert an array, a list or a table to a plain array."""
    kind = type(value)
    if kind is np.ndarray:
        return value  # type: ignore[no-any-return]
    if kind is Watching:
        return value.view(np.ndarray)  # type: ignore[no-any-return]
    # Subclasses of arrays can redefine operations: a matrix, a quantity with a unit.
    if isinstance(value, (list, tuple, np.memmap)) or kind.__module__.partition(".")[0] == "pandas":
        return np.asarray(value)
    if hasattr(kind, "__float__") and not hasattr(kind, "__array__"):
        return np.asarray(float(value))
    raise NotTraceable(f"a {kind.__name__} beside a value that depends on a parameter",
                       remedy_of(kind.__module__) or "use plain numbers and arrays of NumPy")


def is_complex(value: Any) -> bool:
    """Return True if a value, traced or not, is complex."""
    return value.dtype.kind == "c" if hasattr(value, "dtype") else isinstance(value, complex)


def is_boolean(value: Any) -> bool:
    """Return True if a value, traced or not, consists of truth values."""
    return value.dtype.kind == "b" if hasattr(value, "dtype") else isinstance(value, bool)


def broadcast(one: Shape, two: Shape) -> Shape:
    """Return the shape of an operation on arrays of two shapes."""
    if one == two or not two:
        return one
    return np.broadcast_shapes(one, two) if one else two


def spread(value: Tracer, shape: Shape) -> int:
    """Return the node of a tracer's values after broadcasting to a shape."""
    size = prod(value.shape)
    if size == 1 or size == prod(shape):
        return value.at
    places = np.arange(size).reshape(value.shape)
    return value.tape.gather(value.at, np.broadcast_to(places, shape).reshape(-1))


def tape_of(*values: Any) -> Tape:
    """Return the tape of the first traced value."""
    tape: Tape = next(value.tape for value in values if hasattr(value, "tape"))
    return tape


def lifted(tape: Tape, value: Any) -> tuple[Tape, int, Shape]:
    """Return the arguments of a `Tracer` for a value, traced or not."""
    plain = value if type(value) in _TRACED else real(tape, value)
    shape: Shape = () if type(plain) is float else plain.shape
    return tape, _node(tape, plain, shape), shape


def has_objects(value: Any) -> bool:
    """Return True for an array of objects, which `np.array` creates from parameters."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "O"


def number(tape: Tape, value: Any) -> Any:
    """Convert an array of objects to a tracer, and any other real operand as `real` does."""
    return gathered(tape, value) if has_objects(value) else real(tape, value)


def gathered(tape: Tape, array: NDArray[Any]) -> Tracer:
    """Convert an array of objects, some of them traced, to one traced array: a choice among its different values."""
    if not tape.watches:
        raise tape.refuse("an array of separate objects beside a value that depends on a parameter",
                          "compute with arrays of numbers")
    which = np.empty(array.size, np.intp)
    found: dict[Any, tuple[int, Any]] = {}
    for k, value in enumerate(array.flat):
        if type(value) in _TRACED and value.shape:
            raise tape.refuse("an array of arrays that depend on a parameter", "use np.stack([...])")
        plain = value if type(value) in _TRACED else real(tape, value)
        key = plain.at if type(plain) in _TRACED else ("number", plain)
        which[k] = found.setdefault(key, (len(found), plain))[0]
        if len(found) > MOST_CHOICES:
            raise tape.refuse(f"an array of more than {MOST_CHOICES} separate values that depend on a parameter",
                              "compute with whole arrays")
    values = [value for _, value in found.values()]
    result: Any = values[0]
    for k, value in enumerate(values[1:], 1):
        result = apply("select", which == k, value, result, tape=tape)
    kind = Mask if all(type(value) is Mask for value in values) else Tracer
    _, at, _ = lifted(tape, result)
    return kind(tape, at, array.shape)


class Watching(np.ndarray):
    """Array type of x if parameters are put into arrays: an operation on x and such an array is recorded as one node.

    NumPy would compute the operation object by object, with one node for each object.
    """

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [value.view(np.ndarray) if type(value) is Watching else value for value in inputs]
        objects = [value for value in plain if has_objects(value) and value.size]
        tape = next((part.tape for value in objects for part in value.flat if hasattr(part, "tape")), None)
        if tape is not None:
            plain = [gathered(tape, value) if has_objects(value) else value for value in plain]
        if "out" in options:
            options["out"] = tuple(to.view(np.ndarray) if type(to) is Watching else to for to in options["out"])
        result = getattr(ufunc, method)(*plain, **options)
        return result.view(Watching) if type(result) is np.ndarray else result


def operands(values: tuple[Any, ...], tape: Tape | None = None) -> tuple[Tape, tuple[int, ...], Shape]:
    """Return nodes of real operands, broadcast to a common shape. At least one is traced unless the tape is given."""
    tape = tape or tape_of(*values)
    plain = [value if type(value) in _TRACED else number(tape, value) for value in values]
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
            raise tape.refuse("a value of another recording is used",
                              "keep nothing that depends on a parameter")
        return value.at if value.shape == shape else spread(value, shape)
    if value.shape != shape and value.size != 1:
        value = np.broadcast_to(value, shape)
    return tape.column(value)


def apply(name: str, *values: Any, kind: type[Tracer] = Tracer, tape: Tape | None = None) -> Tracer:
    """Record an operation of the core on real operands. At least one is traced unless the tape is given."""
    tape, nodes, shape = operands(values, tape)
    return kind(tape, tape.add(name, nodes), shape)


def _fits(array: NDArray[Any], shape: Shape) -> bool:
    """Return True if an array can be used as a column without conversion, with a tracer of this shape."""
    return array.dtype is FLOAT64 and (array.shape == shape or not shape) and bool(array.shape)


def unary(name: str, value: Any, kind: type[Tracer] = Tracer, number: float = 0.0) -> Tracer:
    """Record an operation of the core on one value."""
    if type(value) is Mask and name != "not":
        raise value.tape.refuse(f"{name} of truth values, which NumPy computes in half precision",
                                "use np.where(condition, ..., ...)")
    tape = value.tape
    return kind(tape, tape.add(name, (value.at,), number), value.shape)


def binary(name: str, first: Any, second: Any, kind: type[Tracer] = Tracer) -> Any:
    """Record an operation of the core on two values, at least one of them traced."""
    # Fast paths for the most frequent operands; `operands` handles all cases.
    one, two = type(first), type(second)
    if one is Tracer:
        tape = first.tape
        if two is Tracer:
            shape, other = first.shape, second.shape
            if (shape == other or not shape or not other) and tape is second.tape:
                return kind(tape, tape.add(name, (first.at, second.at)), shape or other)
        elif two is float or two is int:
            return kind(tape, tape.add(name, (first.at, tape.add("const", (), float(second)))), first.shape)
        elif two is np.ndarray and _fits(second, first.shape):
            return kind(tape, tape.add(name, (first.at, tape.column(second))), second.shape)
    elif two is Tracer:
        tape = second.tape
        if one is float or one is int:
            return kind(tape, tape.add(name, (tape.add("const", (), float(first)), second.at)), second.shape)
        if one is np.ndarray and _fits(first, second.shape):
            return kind(tape, tape.add(name, (tape.column(first), second.at)), first.shape)
    if is_complex(first) or is_complex(second):
        do = COMPLEX.get(name)
        if do is None:
            tape = first.tape if hasattr(first, "tape") else second.tape
            raise tape.refuse("a comparison of complex values")
        return do(first, second)
    return apply(name, first, second, kind=kind)


def add(first: Any, second: Any) -> Any:
    """Record a sum; the sum of truth values is "or"."""
    if is_boolean(first) and is_boolean(second):
        return apply("or", first, second, kind=Mask)
    return binary("add", first, second)


def subtract(first: Any, second: Any) -> Any:
    """Record a difference."""
    if is_boolean(first) and is_boolean(second):
        raise TypeError("numpy boolean subtract, the `-` operator, is not supported")
    return binary("sub", first, second)


def multiply(first: Any, second: Any) -> Any:
    """Record a product; the product of truth values is "and"."""
    if is_boolean(first) and is_boolean(second):
        return apply("and", first, second, kind=Mask)
    return binary("mul", first, second)


def not_equal(first: Any, second: Any) -> Any:
    """Record the comparison `!=`: True if the values differ or one of them is NaN."""
    return unary("not", binary("eq", first, second, Mask), Mask)


def whole(exponent: Any) -> int | None:
    """Return an integer exponent of magnitude up to 64, so that the power can be a product; None for other exponents."""
    if not isinstance(exponent, (int, float, np.integer, np.floating)) or not abs(float(exponent)) <= 64.0:
        return None
    return int(exponent) if float(exponent).is_integer() else None


def power(base: Any, exponent: Any) -> Any:
    """Record `base` to the power of `exponent`."""
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
