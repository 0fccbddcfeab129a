"""`Value`: base class of the stand-ins for values that depend on parameters.

It has the shape of the array or number that it replaces. An operation that needs the numbers themselves raises an error
with the line and a remedy. An operation that numbers do not support raises the same exception as for numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, wraps
from math import prod
from operator import getitem, setitem
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from ._tape import FLOAT64, Tape

Shape = tuple[int, ...]
Handler = Callable[..., Any]
Self = TypeVar("Self", bound="Value")

#: Handlers of NumPy's functions; `operator.getitem` and `setitem` are the handlers of [].
FUNCTIONS: dict[Any, Handler] = {}


def quiet(function: Handler) -> Handler:
    """Suppress floating-point warnings of values that NumPy computes directly and that a guard then discards."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        # Created for each call: an instance shared between threads would restore the wrong state.
        with np.errstate(all="ignore"):
            return function(*args, **options)

    return call


#: Methods of arrays that are also functions of NumPy with the array as first argument.
_METHODS = {
    name: getattr(np, name)
    for name in ("all", "any", "clip", "conj", "conjugate", "dot", "max", "mean", "min", "prod", "repeat",
                 "round", "squeeze", "sum", "swapaxes", "take")
}
_NUMBER_REMEDY = "use the functions of NumPy (np.exp instead of math.exp) and leave the value as it is"


class Value:
    """A number, or an array of them, that depends on parameters.

    Parameters
    ----------
    tape : Tape
        The recording that the value belongs to.
    at : int
        Index of its node.
    shape : tuple of int
        Shape of the array that it replaces.
    """

    __slots__ = ("tape", "at", "shape", "has_views")

    __array_priority__ = 1e6
    # Higher than the priority of a DataFrame (4000), so that pandas lets the tracer handle the operation.
    __pandas_priority__ = 10_000

    def __init__(self, tape: Tape, at: int, shape: Shape) -> None:
        self.tape, self.at, self.shape, self.has_views = tape, at, shape, False

    # Attributes of arrays.

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
    def real(self: Self) -> Self:
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

    # Operations that need the numbers.

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
                               "a number of terms has no derivative; make it an argument that is not fitted")

    def __hash__(self) -> int:
        raise self.tape.refuse("a value that depends on a parameter is looked up in a dictionary or a cache",
                               "take the cache from this function")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if self.shape:
            raise self.tape.refuse("values that depend on a parameter are put into an array",
                                   "use np.where instead of y[mask] = ..., sum() or np.stack instead of "
                                   "np.array([...]), whole arrays instead of loops over them")
        # A scalar can be an element of an array of objects, which uses the arithmetic of its elements.
        self.tape.in_arrays = True
        array = np.empty((), object)
        array[()] = self
        return array

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("'numpy.float64' object is not iterable")
        if self.shape[0] > 64:
            raise self.tape.refuse("a loop over values that depend on a parameter",
                                   "compute with the whole array")
        return iter([self[k] for k in range(self.shape[0])])

    def __getattr__(self, name: str) -> Any:
        function = _METHODS.get(name)
        if function is not None:
            return partial(FUNCTIONS[function] if function in FUNCTIONS else function, self)
        if not self.shape and isinstance(getattr(np, name, None), np.ufunc):
            # NumPy calls this method for the elements of an array of objects.
            return partial(getattr(np, name), self)
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
        return FUNCTIONS[np.ndarray.flatten](self, order)

    def copy(self: Self, order: str = "C") -> Self:
        return type(self)(self.tape, self.at, self.shape)

    def item(self: Self) -> Self:
        if self.shape:
            raise self.tape.refuse(".item() of an array that depends on a parameter")
        return self.copy()

    tolist = item

    def astype(self, dtype: Any, **options: Any) -> Any:
        wanted = np.dtype(dtype)
        if wanted == np.bool_:
            return self.__ne__(0.0)
        if wanted != self.dtype:
            raise self.tape.refuse(f"a value that depends on a parameter is made {wanted}")
        return self.copy()

    def assign(self: Self, new: Any) -> Self:
        """Replace the values by those of `new`, as an in-place operation does."""
        if self.has_views:
            raise self.tape.refuse("an array is changed in place of which there are views",
                                   "write y = y + ... instead of y += ...")
        if new.dtype != self.dtype and new.dtype != np.bool_:
            raise TypeError("the result of a change in place is of another type than the array")
        if new.shape != self.shape:
            raise ValueError(f"a result of shape {new.shape} in an array of shape {self.shape}")
        self.at = new.at
        return self

    def _in_place(self, new: Any) -> Any:
        # += rebinds the name of a number, but changes an array under all its names.
        return self.assign(new) if self.shape or self.has_views else new
