"""Records a model function: it is called once, with the caller's own x and a tracer for each parameter.

What depends on x alone NumPy computes on the spot, and it becomes a column; what depends on a parameter
becomes a node. The core replays the nodes, differentiates them and fits.
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
    """A model function as operations.

    Attributes
    ----------
    nodes : list of tuples
        (operation, operands = earlier nodes, number); the last is the result.
    columns : list of arrays
        C-contiguous, one float64 per point, read-only where they are copies.
    constant : bool
        Whether the result depends on no parameter.
    shape : tuple of int
        That of the points.
    """

    nodes: list[Node]
    columns: list[NDArray[np.float64]]
    constant: bool
    shape: Shape


#: Numbers of points for which a recording has to be the same where any number of them may come: a function that branches
#: on their number is noticed if it does so between the first and the last.
_SOME_POINTS = (7, 11, 100_003)
#: What and remedy, where it is not.
_OF_ALL_POINTS = ("it asks for something of all points together (a sum, a maximum, their number, a single one), which are "
                  "not here", "compute it before, and let the function use the number")


def record(f: Callable[..., Any], x: Any, n_params: int, shape: Shape | None, apart: bool = False) -> Recording:
    """Record ``f(x, *params)``.

    Parameters
    ----------
    f : callable
        The model.
    x : object
        What it gets for x.
    n_params : int
        Parameters that follow.
    shape : tuple of int or None
        The shape of the points, those of y; None where that of the result decides.
    apart : bool
        Whether equal columns stay apart, so that which nodes there are does not depend on the values of x.

    Returns
    -------
    Recording

    Raises
    ------
    NotTraceable
        Where `f` does something with its parameters that cannot be recorded, or raises an exception.
    """
    x = guarded(x)
    tape = Tape(n_params, _arrays(x), apart)
    try:
        return _recorded(tape, f, (x, *_parameters(tape, n_params)), shape)
    except NotTraceable:
        # Parameters in arrays of objects meet x, which then looks for them.
        if not tape.in_arrays or not isinstance(x, np.ndarray):
            raise
    tape = Tape(n_params, (x,), apart)
    tape.watches = True
    return _recorded(tape, f, (x.view(Watching), *_parameters(tape, n_params)), shape)


def _parameters(tape: Tape, count: int) -> list[Tracer]:
    return [Tracer(tape, k, ()) for k in range(count)]


def record_columns(f: Callable[..., Any], columns: int, n_params: int,
                   sizes: tuple[int, ...] = _SOME_POINTS) -> Recording:
    """Record ``f(x, *params)`` for points that are not here: x is traced too, one column or a tuple of them.

    Parameters
    ----------
    f : callable
        The model.
    columns : int
        Columns of x.
    n_params : int
        Parameters that follow.
    sizes : tuple of int
        Numbers of points; the recording has to be the same for all of them.

    Raises
    ------
    NotTraceable
        As `record`; also where the columns would have to be here.
    """
    first, *others = (_of_points(f, points, columns, n_params) for points in sizes)
    if any(other.nodes != first.nodes for other in others):
        raise NotTraceable(*_OF_ALL_POINTS, definition_of(f))
    return first


def _of_points(f: Callable[..., Any], points: int, columns: int, n_params: int) -> Recording:
    """The recording for so many points, which x has a shape of, so that what asks for all of them is refused."""
    tape = Tape(n_params)
    tape.watches = True
    x = [Tracer(tape, tape.add("column", (), float(k)), (points,)) for k in range(columns)]
    params = _parameters(tape, n_params)
    try:
        recording = _recorded(tape, f, (x[0] if columns == 1 else tuple(x), *params), (points,))
    except NotTraceable as error:
        # A sum, a maximum or a single point looks for the points themselves.
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
        if tape.refusal is not None:  # The function caught it and went another way than it goes for numbers.
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
    # JAX raises exceptions of Python as well as its own, and takes itself out of their tracebacks.
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
    """The recording of a result that depends on no parameter."""
    values = np.asarray(result)
    if values.dtype.kind not in "fiub":
        raise tape.refuse(f"a result that is a {type(result).__name__} of {values.dtype}",
                          "return one array of numbers, made by operations with whole arrays")
    tape.check_is_current(values)
    whole: Shape = values.shape if shape is None else shape
    values = np.ascontiguousarray(np.broadcast_to(values, whole), np.float64).reshape(-1)
    return Recording([("column", (), 0.0)], [values], True, whole)
