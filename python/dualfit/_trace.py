"""Records what a NumPy function does with its parameters.

The function is called once, with the caller's own x and a `Tracer` for each parameter. What depends on x alone NumPy
computes on the spot; such arrays become columns, one value per point. What depends on a parameter is written on a `Tape`.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, ...]
#: An operation, the earlier nodes that it takes, and a number.
Node = tuple[str, tuple[int, ...], float]

#: Operations of a recording at most. A function that needs more treats points one by one.
_MOST_NODES = 20_000
#: Whole exponents that are products.
_MOST_PRODUCTS = 64


class NotTraceable(TypeError):
    """A function does something with its parameters that cannot be recorded; the message says what, and the remedy."""


@dataclass(frozen=True)
class Recording:
    """What a function was seen to do.

    Attributes
    ----------
    nodes : list of (str, tuple of int, float)
        Operations in their order; the last one is the result.
    columns : list of ndarray
        What depends on x alone: one value per point each.
    constant : bool
        Whether the result depends on no parameter.
    shape : tuple of int
        Of the points.
    """

    nodes: list[Node]
    columns: list[NDArray[np.float64]]
    constant: bool
    shape: Shape


class Tape:
    """Operations in the order in which they were done, equal ones once."""

    __slots__ = ("nodes", "arrays", "grid", "open", "_known", "_columns")

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.arrays: list[NDArray[np.float64]] = []
        #: The shape that the points have where they are no flat array, as from `meshgrid`.
        self.grid: Shape | None = None
        self.open = True
        self._known: dict[Any, int] = {}
        self._columns: dict[Any, int] = {}

    def node(self, name: str, operands: tuple[int, ...], number: float = 0.0) -> int:
        key = (name, operands, number)
        at = self._known.get(key)
        if at is None:
            if not self.open:
                raise NotTraceable("a value of an earlier recording is used: the function keeps its parameters")
            at = len(self.nodes)
            if at >= _MOST_NODES:
                raise NotTraceable("it treats points one by one; use operations on whole arrays")
            self._known[key] = at
            self.nodes.append(key)
        return at

    def number(self, value: float) -> int:
        # NaN is not equal to itself, and -0.0 is equal to 0.0.
        if value == 0.0 or value != value:
            key = ("const", repr(value))
            at = self._known.get(key)
            if at is None:
                at = self._known[key] = len(self.nodes)
                self.nodes.append(("const", (), value))
            return at
        return self.node("const", (), value)

    def array(self, array: NDArray[Any]) -> int:
        """The column of an array of numbers or truths."""
        if array.dtype.kind not in "fiub":
            raise NotTraceable(f"an array of {array.dtype} meets a parameter")
        place = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype)
        at = self._columns.get(place)
        if at is None:
            self.arrays.append(array)
            at = self._columns[place] = self.node("column", (), float(len(self.arrays) - 1))
        return at


class Tracer:
    """A number, or one per point, that depends on parameters."""

    __slots__ = ("tape", "at", "shape", "is_mask")
    __array_priority__ = 1e6
    __pandas_priority__ = 1e6
    __hash__ = object.__hash__

    def __init__(self, tape: Tape, at: int, shape: Shape = (), is_mask: bool = False) -> None:
        self.tape, self.at, self.shape, self.is_mask = tape, at, shape, is_mask

    # What arrays have

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(bool if self.is_mask else float)

    @property
    def real(self) -> Tracer:
        return self

    @property
    def imag(self) -> float:
        return 0.0

    @property
    def T(self) -> Tracer:
        return self if self.ndim < 2 else _refuse("a transposition moves points")

    def copy(self, order: str = "C") -> Tracer:
        return self

    def conj(self) -> Tracer:
        return self

    conjugate = conj

    def astype(self, dtype: Any, **kwargs: Any) -> Tracer:
        if np.dtype(dtype).kind == "f":
            return self
        _refuse(f"a conversion to {np.dtype(dtype)}; leave the values as they are")

    def reshape(self, *shape: Any, **kwargs: Any) -> Tracer:
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        return self._in_shape(np.empty(self.shape, dtype=np.bool_).reshape(wanted).shape)

    def ravel(self, order: str = "C") -> Tracer:
        return self._in_shape((self.size,)) if order == "C" else _refuse("another order of points")

    flatten = ravel

    def squeeze(self, axis: Any = None) -> Tracer:
        return self._in_shape(np.empty(self.shape, dtype=np.bool_).squeeze(axis).shape)

    def clip(self, min: Any = None, max: Any = None) -> Tracer:
        from ._functions import clipped

        return clipped(self, min, max)

    def _in_shape(self, shape: Shape) -> Tracer:
        """The same values, all in their order, in another shape."""
        if shape == self.shape:
            return self
        if len(self.shape) > 1:
            if self.tape.grid not in (None, self.shape):
                _refuse("points in several shapes; use one of them")
            self.tape.grid = self.shape
        return Tracer(self.tape, self.at, shape, self.is_mask)

    def __getitem__(self, key: Any) -> Tracer:
        keys = key if isinstance(key, tuple) else (key,)
        if not all(k is None or k is Ellipsis or (isinstance(k, slice) and k == slice(None)) for k in keys):
            _refuse("single points are taken out of values that depend on a parameter; take them out of x before")
        if not self.shape and any(k is not Ellipsis for k in keys):
            raise IndexError("invalid index to scalar variable.")
        return self._in_shape(np.empty(self.shape, dtype=np.bool_)[key].shape)

    # What a number has, but a value that is not known yet has not

    def __bool__(self) -> NoReturn:
        _refuse("a branch depends on a parameter (`if`, `and`, `or`, `max`, ...); use np.where(condition, a, b), "
                "np.logical_and, np.maximum")

    def __float__(self) -> NoReturn:
        _refuse("a parameter is made a plain number (`float`, functions of `math`, foreign code); use NumPy's functions")

    def __int__(self) -> NoReturn:
        _refuse("a parameter is made a whole number; fit it as a real number, or fix it")

    __index__ = __int__
    __round__ = __trunc__ = __floor__ = __ceil__ = __int__

    def __complex__(self) -> NoReturn:
        _refuse("a parameter is made a plain complex number; write real + 1j*imaginary")

    def __iter__(self) -> NoReturn:
        _refuse("values that depend on a parameter are looked at one by one; use operations on whole arrays")

    def __format__(self, spec: str) -> str:
        return "<a parameter>" if spec else repr(self)

    def __repr__(self) -> str:
        return f"<recorded value of shape {self.shape}>"

    # Operations

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, where: Any = True,
                        **kwargs: Any) -> Any:
        # `y += tracer` on an array gives y a new value, as it does in Python where += is not defined.
        in_place = out is None or (len(inputs) == 2 and out[0] is inputs[0])
        if method != "__call__" or not in_place or where is not True or kwargs.keys() - {"dtype", "casting"}:
            _refuse(f"np.{ufunc.__name__} with `out`, `where` or as `{method}`; use it without")
        from ._functions import called

        return called(self.tape, ufunc.__name__, inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from ._functions import FUNCTIONS

        recorded = FUNCTIONS.get(function.__name__)
        if recorded is None:
            _refuse(f"np.{function.__name__} of values that depend on a parameter")
        return recorded(*args, **kwargs)

    def _with(self, name: str, other: Any, swapped: bool = False) -> Any:
        """An operation of two numbers."""
        tape, shape = self.tape, self.shape
        kind = type(other)
        if kind is Tracer:
            if other.tape is not tape:
                _refuse("values of two recordings meet: the function keeps its parameters")
            at, theirs = other.at, other.shape
        elif kind is float or kind is int:
            at, theirs = tape.number(float(other)), ()
        else:
            found = leaf(tape, other)
            if found is None:
                return _with_complex(self, name, other, swapped)
            at, theirs = found
        if theirs and theirs != shape:
            shape = np.broadcast_shapes(shape, theirs) if shape else theirs
        return Tracer(tape, tape.node(name, (at, self.at) if swapped else (self.at, at)), shape)

    def _mask_with(self, name: str, other: Any, swapped: bool = False) -> Any:
        made = self._with(name, other, swapped)
        if made is not NotImplemented:
            made.is_mask = True
        return made

    def __add__(self, other: Any) -> Any:
        return self._with("add", other) if not self.is_mask else _mask_sum(self, other)

    def __radd__(self, other: Any) -> Any:
        return self._with("add", other, True) if not self.is_mask else _mask_sum(self, other)

    def __sub__(self, other: Any) -> Any:
        return self._with("sub", other)

    def __rsub__(self, other: Any) -> Any:
        return self._with("sub", other, True)

    def __mul__(self, other: Any) -> Any:
        return self._with("mul", other)

    def __rmul__(self, other: Any) -> Any:
        return self._with("mul", other, True)

    def __truediv__(self, other: Any) -> Any:
        return self._with("div", other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with("div", other, True)

    def __pow__(self, other: Any) -> Any:
        return power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return self._with("pow", other, True)

    def __floordiv__(self, other: Any) -> Any:
        return np.floor_divide(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return np.floor_divide(other, self)

    def __mod__(self, other: Any) -> Any:
        return np.remainder(self, other)

    def __rmod__(self, other: Any) -> Any:
        return np.remainder(other, self)

    def __neg__(self) -> Tracer:
        return self.unary("neg")

    def __pos__(self) -> Tracer:
        return self

    def __abs__(self) -> Tracer:
        return self.unary("abs")

    def __lt__(self, other: Any) -> Any:
        return self._mask_with("lt", other)

    def __le__(self, other: Any) -> Any:
        return self._mask_with("le", other)

    def __gt__(self, other: Any) -> Any:
        return self._mask_with("lt", other, True)

    def __ge__(self, other: Any) -> Any:
        return self._mask_with("le", other, True)

    def __eq__(self, other: Any) -> Any:
        return self._mask_with("eq", other)

    def __ne__(self, other: Any) -> Any:
        equal = self._mask_with("eq", other)
        return equal if equal is NotImplemented else ~equal

    def __invert__(self) -> Tracer:
        if not self.is_mask:
            raise TypeError("bad operand type for unary ~: a number")
        return Tracer(self.tape, self.tape.node("not", (self.at,)), self.shape, True)

    def __and__(self, other: Any) -> Any:
        return self._mask_with("and", _truth(self, other))

    def __or__(self, other: Any) -> Any:
        return self._mask_with("or", _truth(self, other))

    def __xor__(self, other: Any) -> Any:
        other = _truth(self, other)
        both, one = self._mask_with("and", other), self._mask_with("or", other)
        return one & ~both

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def unary(self, name: str, number: float = 0.0) -> Tracer:
        """An operation of one number."""
        return Tracer(self.tape, self.tape.node(name, (self.at,), number), self.shape)


def _with_complex(value: Tracer, name: str, other: Any, swapped: bool) -> Any:
    """An operation with a complex number, or with what knows better."""
    from ._complex import complex_called, is_complex

    ufunc = {"add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "pow": "power"}.get(name)
    if ufunc is None or not is_complex(other):
        return NotImplemented
    return complex_called(ufunc, (other, value) if swapped else (value, other))


def power(base: Tracer, exponent: Any) -> Any:
    """A power; of small whole exponents products, and roots where they are meant."""
    if isinstance(exponent, (int, float, np.floating, np.integer)):
        number = float(exponent)
        if number == 2.0:
            return base * base
        if number == 0.5:
            return base.unary("sqrt")
        if number.is_integer() and abs(number) <= _MOST_PRODUCTS:
            return base.unary("powi", number)
    return base._with("pow", exponent)


def _mask_sum(mask: Tracer, other: Any) -> Any:
    """NumPy's sum of truths is `or`."""
    truth = isinstance(other, (bool, np.bool_)) or getattr(other, "dtype", None) == np.dtype(bool)
    return mask | other if truth else mask._with("add", other)


def _truth(mask: Tracer, other: Any) -> Any:
    """What stands beside a mask in a logical operation, which has to be a mask, too."""
    is_truth = getattr(other, "dtype", None) == np.dtype(bool) or isinstance(other, bool)
    if not mask.is_mask or not is_truth:
        raise TypeError("logical operations are for comparisons")
    return other


def leaf(tape: Tape, value: Any) -> tuple[int, Shape] | None:
    """A number or an array as a node and a shape; None for what is neither."""
    if isinstance(value, Tracer):
        if value.tape is not tape:
            _refuse("values of two recordings meet: the function keeps its parameters")
        return value.at, value.shape
    if isinstance(value, (bool, np.bool_, int, float, np.floating, np.integer)):
        return tape.number(float(value)), ()
    if isinstance(value, (complex, np.complexfloating, str, bytes)) or value is None or hasattr(value, "tape"):
        return None
    array = np.asarray(value)
    if array.dtype == object:
        _refuse(f"{type(value).__name__} of mixed values meets a parameter; use arrays of numbers")
    if array.dtype.kind == "c":
        return None
    if array.ndim == 0:
        return tape.number(float(array)), ()
    return tape.array(array), array.shape


def applied(tape: Tape, name: str, *values: Any, is_mask: bool = False) -> Tracer:
    """An operation of any values."""
    ats, shape = [], ()
    for value in values:
        found = leaf(tape, value)
        if found is None:
            _refuse(f"{type(value).__name__} meets a parameter")
        ats.append(found[0])
        if found[1] != shape:
            shape = np.broadcast_shapes(shape, found[1])
    return Tracer(tape, tape.node(name, tuple(ats)), shape, is_mask)


def _refuse(what: str) -> NoReturn:
    raise NotTraceable(what)


def record(f: Callable[..., Any], x: Any, n_params: int, shape: Shape | None) -> Recording:
    """What ``f(x, *params)`` does with its parameters.

    Parameters
    ----------
    f : callable
        The function.
    x : object
        What it gets for x.
    n_params : int
        Parameters of `f`.
    shape : tuple of int or None
        The shape of the points; None where that of the result decides.

    Raises
    ------
    NotTraceable
        Where it cannot be recorded.
    """
    tape = Tape()
    out = _result(f, tape, x, n_params)
    if not isinstance(out, Tracer):
        out = np.asarray(out)
        whole = shape if shape is not None else out.shape
        return Recording([], [], True, whole)
    if shape is None:
        shape = out.shape if out.shape else _points_of(x)
    elif out.shape != shape and not _fits(out.shape, shape):
        _refuse(f"its result has the shape {out.shape} for points of the shape {shape}; return one value per point")
    columns = [_column(array, shape, tape.grid) for array in tape.arrays]
    return Recording(_ending_with(tape, out.at), columns, False, shape)


def record_columns(f: Callable[..., Any], columns: int, n_params: int) -> Recording:
    """What `f` does with its x and its parameters: for points that are not all here.

    Parameters
    ----------
    f : callable
        The function; of several columns it gets a tuple of them.
    columns : int
        Columns of x.
    n_params : int
        Parameters of `f`.

    Raises
    ------
    NotTraceable
        Where it cannot be recorded, as where it asks for something of all points together.
    """
    tape = Tape()
    x = tuple(Tracer(tape, tape.node("column", (), float(k))) for k in range(columns))
    out = _result(f, tape, x[0] if columns == 1 else x, n_params)
    if not isinstance(out, Tracer):
        _refuse("its value depends neither on x nor on a parameter")
    if out.shape or tape.arrays:
        _refuse("it has arrays of its own, which belong to no point of a file or of a part")
    return Recording(_ending_with(tape, out.at), [], False, ())


def _result(f: Callable[..., Any], tape: Tape, x: Any, n_params: int) -> Any:
    """What `f` returns, with everything that goes wrong in it as `NotTraceable`."""
    params = [Tracer(tape, tape.node("param", (), float(k))) for k in range(n_params)]
    try:
        out = f(x, *params)
        if not isinstance(out, Tracer):
            out = np.asarray(out)
            if out.dtype == object:
                if out.ndim or not isinstance(out.item(), Tracer):
                    _refuse("it returns a list or an array of values that depend on parameters; return one array")
                out = out.item()
    except NotTraceable as error:
        raise NotTraceable(f"{error}{_place(error, f)}") from None
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        if "setting an array element" in what:
            what = ("values that depend on a parameter are put into an array (`y[mask] = ...`, np.piecewise, np.array); use "
                    "np.where or np.select")
        raise NotTraceable(what + _place(error, f)) from error
    finally:
        tape.open = False
    return out


def _place(error: BaseException, f: Callable[..., Any]) -> str:
    """The line of the user's function that an exception came from."""
    code = getattr(f, "__code__", None) or getattr(getattr(type(f), "__call__", None), "__code__", None)
    file, place, trace = getattr(code, "co_filename", None), "", error.__traceback__
    while trace is not None:
        if file is not None and trace.tb_frame.f_code.co_filename == file:
            text = linecache.getline(file, trace.tb_lineno).strip()
            place = f" ({file}, line {trace.tb_lineno}{': ' + text if text else ''})"
        trace = trace.tb_next
    return place


def _points_of(x: Any) -> Shape:
    """The points of a model that has one value for all of them."""
    return np.shape(x)[-1:] if np.ndim(x) else (1,)


def _fits(shape: Shape, into: Shape) -> bool:
    """Whether values of a shape are broadcast into another one."""
    try:
        return np.broadcast_shapes(shape, into) == into
    except ValueError:
        return False


def _column(array: NDArray[Any], shape: Shape, grid: Shape | None) -> NDArray[np.float64]:
    """An array as one value per point."""
    if array.shape != shape:
        if _fits(array.shape, shape):
            array = np.broadcast_to(array, shape)
        elif grid is not None and _fits(array.shape, grid):
            array = np.broadcast_to(array, grid)
        else:
            _refuse(f"an array of shape {array.shape} belongs to no points of shape {shape}")
    return np.ascontiguousarray(array, dtype=np.float64).reshape(-1)


def _ending_with(tape: Tape, at: int) -> list[Node]:
    """The nodes, with the result as the last one."""
    nodes = tape.nodes[: at + 1]
    return nodes
