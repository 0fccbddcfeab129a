"""Data sets of a joint fit: from lists of arrays, a stack, or a table with the labels of the sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import FitError
from ._frame import indices


@dataclass
class Sets:
    """The sets of a joint fit: one entry per set in each list.

    Attributes
    ----------
    shape : tuple of int
        Shape of results with one number per set.
    labels : list
        Label of each set: its number, its index in a stack, or its label in the data.
    x, y, sigma, x_sigma, mask : list
        Arguments of `Model.fit` for each set. The x of all sets is one object if they share it.
    """

    shape: tuple[int, ...]
    labels: list[Any]
    x: list[Any]
    y: list[Any]
    sigma: list[Any]
    x_sigma: list[Any]
    mask: list[Any]

    def __len__(self) -> int:
        return len(self.labels)


def sets_of(x: Any, y: Any, sigma: Any, x_sigma: Any, mask: Any, takes_rows: Callable[[Any], bool]) -> Sets:
    """Return the sets of a stack, whose last axis is the axis of the points, or of a list of arrays.

    `takes_rows`: returns True if the rows of an x with the shape of the stack are independent variables.

    Raises
    ------
    FitError
        If the numbers of sets of the arguments differ, or there are no sets.
    """
    stack = y if isinstance(y, np.ndarray) else np.asarray(y) if hasattr(y, "__array__") else None
    if stack is None and not isinstance(y, (list, tuple)) or stack is not None and stack.ndim < 2:
        raise FitError(f"y is {'one array' if stack is not None else type(y).__name__}; give a list with one array per set, a stack of the "
                       "shape (sets, points), or the label of each point as by=")
    if stack is not None:
        shape = stack.shape[:-1]
        stack = stack.reshape(-1, stack.shape[-1])
        ys: list[Any] = list(stack)
        own = isinstance(x, np.ndarray) and x.shape == (*shape, stack.shape[-1]) and not takes_rows(x)
        xs = list(np.reshape(x, stack.shape)) if own else None
    else:
        ys, shape, xs = list(y), (len(y),), None
        if ys and np.ndim(ys[0]) == 0:
            raise FitError("y is a list of numbers; give a list with one array per set, or the label of each point as by=")
    if not ys:
        raise FitError("there is no set of points; give at least one")
    sets = len(ys)
    if xs is None:
        xs = list(x) if _is_per_set(x) else [x] * sets
    if len(xs) != sets:
        raise FitError(f"x is a list of {len(xs)} arrays for {sets} sets; give one x per set, or one x for all: an array, with one row per "
                       "variable if there are several")

    def each(name: str, values: Any) -> list[Any]:
        return _each(name, values, sets, None if stack is None else (*shape, stack.shape[-1]))

    return Sets(shape, indices(shape), xs, ys, each("sigma", sigma), each("x_sigma", x_sigma), each("mask", mask))


def _is_per_set(x: Any) -> bool:
    """Return True for a list of arrays, tables or dictionaries."""
    return isinstance(x, (list, tuple)) and len(x) > 0 and not isinstance(x[0], (str, bytes)) and hasattr(x[0], "__len__")


def _each(name: str, values: Any, sets: int, shape: tuple[int, ...] | None) -> list[Any]:
    """Return one entry per set, from a number for all, a list with one entry per set or, for a stack, an array."""
    if values is None or not isinstance(values, (list, tuple)) and np.ndim(values) == 0:
        return [values] * sets
    if isinstance(values, (list, tuple)) and len(values) == sets and (shape is None or _is_per_set(values)):
        return list(values)
    if shape is not None:
        try:
            return list(np.broadcast_to(np.asarray(values), shape).reshape(sets, shape[-1]))
        except ValueError:
            raise FitError(f"{name} has the shape {np.shape(values)}; for a stack of the shape {shape} give one number, one value per "
                           "point, or one per sample") from None
    given = f"{len(values)} entries" if isinstance(values, (list, tuple)) else f"the shape {np.shape(values)}"
    raise FitError(f"{name} has {given} for {sets} sets; give one number, or a list with one entry per set")


def grouped(x: Any, y: Any, by: Any, data: Any, sigma: Any, x_sigma: Any, mask: Any) -> Sets:
    """Return the sets of points with labels, in the order in which the labels appear.

    With `data`, a table, the other arguments may be names of columns.

    Raises
    ------
    FitError
        If a name is no column of the table, a label is missing, or the number of labels is not the number of points.
    """
    x, y, by, sigma, x_sigma, mask = (column_of(data, what) for what in (x, y, by, sigma, x_sigma, mask))
    if by is None:
        raise FitError("data is a table, and by is missing; give the column that tells the sets apart, as in by=\"sample\"")
    if hasattr(by, "columns"):
        labels = list(zip(*(np.asarray(by[name]).tolist() for name in by.columns)))
    else:
        labels = np.asarray(by).tolist()
    points = np.shape(y)[-1] if np.ndim(y) else 0
    if np.ndim(y) != 1 or not isinstance(labels, list) or len(labels) != points:
        count = len(labels) if isinstance(labels, list) else 1
        raise FitError(f"by has {count} label(s) and y has the shape {np.shape(y)}; give one label per point, and y as one array")
    places: dict[Any, list[int]] = {}
    for k, label in enumerate(labels):
        if any(_is_missing(part) for part in (label if isinstance(label, tuple) else (label,))):
            raise FitError(f"by has no label at index {k}; leave out the points without a label")
        places.setdefault(label, []).append(k)
    if not places:
        raise FitError("there is no set of points; give at least one")
    index = [np.array(each, dtype=np.intp) for each in places.values()]

    def each(values: Any) -> list[Any]:
        return [_picked(values, place, points) for place in index]

    return Sets((len(index),), list(places), each(x), each(y), each(sigma), each(x_sigma), each(mask))


def column_of(data: Any, what: Any) -> Any:
    """Return a column of the table, or several as a table, if `what` has names of columns."""
    names = [what] if isinstance(what, str) else what
    if data is None and isinstance(what, str):
        raise FitError(f"{what!r} names a column, but there is no table; give it as data=")
    if data is None or not isinstance(names, (list, tuple)) or not names or not all(isinstance(name, str) for name in names):
        return what
    strange = [name for name in names if name not in data]
    if strange:
        raise FitError(f"there is no column {strange[0]!r}; the table has {', '.join(map(str, data))}")
    return data[what] if isinstance(what, str) else data[list(names)]


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # The missing value of pandas.
        return True


def _picked(values: Any, place: NDArray[np.intp], points: int) -> Any:
    """Return the values of some points. `values`: a number for all, a table, a list of columns or an array of them."""
    if values is None or np.isscalar(values):
        return values
    if hasattr(values, "iloc"):
        return values.iloc[place]
    if isinstance(values, dict):
        return {name: np.asarray(column)[place] for name, column in values.items()}
    if isinstance(values, (list, tuple)) and values and np.ndim(values[0]) > 0:
        return [np.asarray(column)[place] for column in values]
    array = np.asarray(values)
    if array.shape[-1:] != (points,):
        raise FitError(f"an array of the shape {array.shape} has no value for each of {points} points; its last axis is that of the points")
    return array[..., place]
