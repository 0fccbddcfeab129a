"""Recording of a model function: it is called once, with the caller's x and a tracer for each parameter.

NumPy directly computes values that depend on x alone; they become columns. Operations on values that depend on a
parameter become nodes. The core replays the nodes, differentiates them and fits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _complex, _functions, _special  # noqa: F401  They fill the tables of `_tracer`.
from ._data import guarded
from ._lowering import lowered
from ._refusal import NotTraceable, definition_of, place_of, remedy_of
from ._tape import Node, Tape
from ._tracer import Tracer, Watching, gathered, has_objects
from ._value import Shape

__all__ = ["NotTraceable", "Recording", "Tape", "Tracer", "record", "record_columns"]


@dataclass(slots=True)
class Recording:
    """A model function as a list of operations.

    Attributes
    ----------
    nodes : list of tuples
        (operation, operands = earlier nodes, number); the last is the result.
    columns : list of arrays
        C-contiguous, one float64 per point; copies are read-only.
    constant : bool
        True if the result does not depend on a parameter.
    shape : tuple of int
        Shape of the points.
    """

    nodes: list[Node]
    columns: list[NDArray[np.float64]]
    constant: bool
    shape: Shape


#: Numbers of points for which the recordings must be equal before one is used for any number of points. A function
#: that branches on the number of points is detected if its threshold is between the first and the last number.
_SOME_POINTS = (7, 11, 100_003)
#: Reason and remedy if the recordings differ.
_OF_ALL_POINTS = ("it asks for something of all points together (a sum, a maximum, their number, a single one), which are "
                  "not here", "compute it before, and let the function use the number")


def record(f: Callable[..., Any], x: Any, n_params: int, shape: Shape | None, apart: bool = False) -> Recording:
    """Record ``f(x, *params)``.

    Parameters
    ----------
    f : callable
        The model.
    x : object
        Value of x for the model.
    n_params : int
        Number of parameters.
    shape : tuple of int or None
        The shape of the points, equal to the shape of y; None to use the shape of the result.
    apart : bool
        If True, equal columns are not merged, so that the nodes do not depend on the values of x.

    Returns
    -------
    Recording

    Raises
    ------
    NotTraceable
        If `f` uses its parameters in a way that cannot be recorded, or raises an exception.
    """
    x = guarded(x)
    tape = Tape(n_params, _arrays(x), apart)
    try:
        return _recorded(tape, f, (x, *_parameters(tape, n_params)), shape)
    except NotTraceable:
        # The function puts parameters into arrays of objects: record again with an x that converts such arrays.
        if not tape.in_arrays or not isinstance(x, np.ndarray):
            raise
    tape = Tape(n_params, (x,), apart)
    tape.watches = True
    return _recorded(tape, f, (x.view(Watching), *_parameters(tape, n_params)), shape)


def _parameters(tape: Tape, count: int) -> list[Tracer]:
    return [Tracer(tape, k, ()) for k in range(count)]


def record_columns(f: Callable[..., Any], columns: int, n_params: int,
                   sizes: tuple[int, ...] = _SOME_POINTS) -> Recording:
    """Record ``f(x, *params)`` for points that are not in memory: x is traced, too, as a column or a tuple of columns.

    Parameters
    ----------
    f : callable
        The model.
    columns : int
        Number of columns of x.
    n_params : int
        Number of parameters.
    sizes : tuple of int
        Numbers of points; the recording must be the same for all of them.

    Raises
    ------
    NotTraceable
        In the cases of `record`; also if the function needs the values of x.
    """
    first, *others = (_of_points(f, points, columns, n_params) for points in sizes)
    if any(other.nodes != first.nodes for other in others):
        raise NotTraceable(*_OF_ALL_POINTS, definition_of(f))
    return first


def _of_points(f: Callable[..., Any], points: int, columns: int, n_params: int) -> Recording:
    """Record the function for this number of points. An operation on all points together is an error."""
    tape = Tape(n_params)
    tape.watches = True
    x = [Tracer(tape, tape.add("column", (), float(k)), (points,)) for k in range(columns)]
    params = _parameters(tape, n_params)
    try:
        recording = _recorded(tape, f, (x[0] if columns == 1 else tuple(x), *params), (points,))
    except NotTraceable as error:
        # A sum, a maximum or an index of a single point needs the points themselves.
        if isinstance(error.__cause__, IndexError):
            raise NotTraceable(*_OF_ALL_POINTS, error.place) from error
        raise
    if tape.columns or recording.columns:
        raise NotTraceable("an array of the function's own has values for points that are not here",
                           "compute them from x", definition_of(f))
    return recording


def _arrays(x: Any) -> tuple[NDArray[Any], ...]:
    if isinstance(x, np.ndarray):
        return (x,)
    return tuple(part for part in x if isinstance(part, np.ndarray)) if isinstance(x, (list, tuple)) else ()


def _recorded(tape: Tape, f: Callable[..., Any], arguments: tuple[Any, ...],
              shape: Shape | None) -> Recording:
    try:
        result = f(*arguments)
        if tape.refusal is not None:  # The function caught the exception and took another branch than for numbers.
            raise tape.refusal
        return _recording(tape, result, shape)
    except Exception as error:
        raise _refusal(tape, f, error) from error
    finally:
        tape.close()


def _refusal(tape: Tape, f: Any, error: Exception) -> NotTraceable:
    found = tape.refusal or error
    place = place_of(found.__traceback__) or place_of(error.__traceback__) or definition_of(f)
    if isinstance(found, NotTraceable):
        return NotTraceable(found.what, found.remedy, place)
    what = f"it raises {type(error).__name__} ({error}) when its parameters are not plain numbers"
    # JAX also raises built-in exceptions, and removes itself from their tracebacks.
    return NotTraceable(what, remedy_of("jax" if "JAX" in what else type(error).__module__), place)


def _recording(tape: Tape, result: Any, shape: Shape | None) -> Recording:
    if type(result) is np.ndarray and result.dtype == object and not result.ndim:
        result = result.item()
    if has_objects(result) and any(hasattr(value, "tape") for value in result.flat):
        result = gathered(tape, result)
    if not isinstance(result, Tracer):
        if hasattr(result, "tape"):
            raise tape.refuse("a complex result",
                              "return np.abs(z), or np.concatenate([z.real, z.imag]) with y likewise")
        return _constant(tape, result, shape)
    tape.restore()
    tape.check_arrays()
    if result.tape is not tape:
        raise tape.refuse("the result is one of an earlier recording",
                          "keep nothing that depends on a parameter")
    found = result.shape
    if shape is None:
        shape = found
    elif found != shape and result.size != 1:
        raise tape.refuse(f"a result of shape {found} for points of shape {shape}",
                          "return one value per point")
    points = prod(shape)
    constant = tape.nodes[result.at][0] in ("const", "column")
    if not tape.apart and not tape.maps and all(column.size == points for column in tape.columns):
        return Recording(tape.nodes[: result.at + 1], tape.columns, constant, shape)
    nodes, columns = lowered(tape, result.at, points)
    return Recording(nodes, columns, constant, shape)


def _constant(tape: Tape, result: Any, shape: Shape | None) -> Recording:
    """Return the recording of a result that does not depend on a parameter."""
    values = np.asarray(result)
    if values.dtype.kind not in "fiub":
        raise tape.refuse(f"a result that is a {type(result).__name__} of {values.dtype}",
                          "return one array of numbers, made by operations with whole arrays")
    tape.check_is_current(values)
    whole: Shape = values.shape if shape is None else shape
    values = np.ascontiguousarray(np.broadcast_to(values, whole), np.float64).reshape(-1)
    return Recording([("column", (), 0.0)], [values], True, whole)
