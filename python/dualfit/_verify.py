"""Comparison of recordings with their functions.

A recording contains the operations of a function on tracers. It does not show state, randomness, aliased arrays and
tests of the type of a parameter. Therefore values of function and recording are compared: before a fit at a few points,
away from special parameters, and after the fit at the fitted parameters. The comparison before a fit is skipped only if
nothing that the function can access has changed since it last agreed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._data import guarded
from ._refusal import NotTraceable
from ._tape import FLOAT64

#: Number of points compared before a fit, and for each compared fit of a batch.
FEW = 8
#: Maximum number of points compared after a fit.
_MANY = 1024
#: Maximum number of compared fits of a batch.
_FITS = 8
#: Maximum number of functions whose agreement is remembered.
_MOST_AGREED = 1024
#: Modules whose functions do not change.
_LIBRARIES = frozenset({"numpy", "scipy", "math", "cmath"})
#: Types whose values do not change.
_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), np.float64})
#: Function of columns and values, one per point: returns True if the recording has these values at these columns.
Agrees = Callable[[list[NDArray[Any]], NDArray[np.float64]], bool]

_DIFFERS = ("its values differ from what was recorded of it: it has state, randomness, asks what its parameters are, or "
            "changes arrays in ways that cannot be recorded; compute what is random once, outside the function")


def numbers(values: Any) -> NDArray[np.float64]:
    """Convert the return value of a model to doubles.

    Raises
    ------
    TypeError
        For None and for complex numbers.
    """
    if values is None:
        raise TypeError("the model returned None; it must return one number per point")
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise TypeError("the model returned complex numbers; return np.abs(z), or np.concatenate([z.real, z.imag]) with y "
                        "likewise")
    return np.asarray(array, dtype=np.float64)


def flat(values: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the values of a model as a flat array, one per point."""
    if type(values) is np.ndarray and values.shape == shape and values.ndim == 1 and values.dtype == FLOAT64:
        return np.ascontiguousarray(values)
    array = numbers(values)
    if array.shape != shape:
        array = np.broadcast_to(array, shape)
    return np.ascontiguousarray(array).reshape(-1)


@lru_cache(maxsize=256)
def spread_places(points: int, most: int = FEW) -> NDArray[np.intp]:
    """Return at most `most` indices of points, evenly spaced from the first to the last."""
    count = min(points, most)
    places = (np.arange(count, dtype=np.int64) * (points - 1) // max(count - 1, 1)).astype(np.intp)
    places.setflags(write=False)
    return places


@lru_cache(maxsize=256)
def _factors(params: int) -> NDArray[np.float64]:
    factors = np.linspace(1.0, 1.0 + 1e-3 * params, params + 1)[1:]
    factors.setflags(write=False)
    return factors


def beside(at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return parameters near `at` without special values: 0 and 1 change, and equal parameters become different."""
    return at * _factors(at.size) if np.count_nonzero(at) == at.size else at + 1e-3


def check(f: Callable[..., Any], x: Any, shape: tuple[int, ...], columns: list[NDArray[Any]], agrees: Agrees,
          p: NDArray[np.float64], most: int = FEW) -> None:
    """Compare a recording with its function, at no more than `most` points.

    A function whose values depend on all points together, for example one that divides by a maximum or integrates, is
    called with all points.

    Parameters
    ----------
    f : callable
        The model.
    x : object
        Value of x for the model.
    shape : tuple of int
        The shape of the points.
    columns : list of arrays
        Columns of the recording, one value per point.
    agrees : callable
        Compares values of `f` with the recording at columns of the same points.
    p : array
        Parameters of the comparison.
    most : int
        Maximum number of compared points.

    Raises
    ------
    NotTraceable
        If function and recording differ.
    """
    points = columns[0].size
    is_whole = points <= most
    places = slice(None) if is_whole else spread_places(points, most)
    few = columns if is_whole else [column[places] for column in columns]
    x = guarded(x)
    with np.errstate(all="ignore"):
        if not is_whole and len(shape) == 1 and isinstance(x, np.ndarray) and x.shape[-1:] == shape:
            try:
                if agrees(few, flat(f(x[..., places], *p), few[0].shape)):
                    return
            except Exception:  # The function may need all points; a real error occurs again below.
                pass
        values = flat(f(x, *p), shape)
    if not agrees(few, values[places]):
        raise NotTraceable(_DIFFERS)


def check_end(f: Callable[..., Any], x: Any, shape: tuple[int, ...], columns: list[NDArray[Any]], agrees: Agrees,
              p: NDArray[np.float64], most: int = _MANY) -> None:
    """Compare like `check`, at the fitted parameters `p`.

    Raises
    ------
    NotTraceable
        If function and recording differ, or if the function raises an exception at `p`.
    """
    try:
        check(f, x, shape, columns, agrees, p, most)
    except NotTraceable:
        raise
    except Exception as error:
        raise NotTraceable(f"it raises {type(error).__name__} ({error}) at the parameters of the fit") from error


def check_rows(f: Callable[..., Any], x: NDArray[np.float64], columns: list[NDArray[Any]], model: _core.Model,
               p: NDArray[np.float64], fits: Iterable[int]) -> None:
    """Compare a recording with its function at all points of some rows of x.

    Parameters
    ----------
    f, model
        As for `check`.
    x : array of shape (fits, points)
        One row per fit.
    columns : list of arrays
        Columns of the recording, fits × points values.
    p : array
        Parameters.
    fits : iterable of int
        Indices of the compared rows.

    Raises
    ------
    NotTraceable
        If function and recording differ in a row.
    """
    x = guarded(x)
    rows = [column.reshape(x.shape) for column in columns]
    with np.errstate(all="ignore"):
        for k in fits:
            if not model.agrees([row[k] for row in rows], p, flat(f(x[k], *p), x[k].shape)):
                raise NotTraceable(_DIFFERS)


def sight(f: Callable[..., Any]) -> tuple[Any, ...] | None:
    """Return a key of everything that a function can access: its code, and values in its closure, defaults and globals.

    Return None if it accesses something that can change unnoticed: an object, an array, another function.
    """
    if type(f) is not FunctionType or f.__dict__:
        return None
    code, names = f.__code__, f.__globals__
    values = [names[name] for name in code.co_names if name in names]
    try:
        values += [cell.cell_contents for cell in f.__closure__ or ()]
    except ValueError:  # A name that has no value yet.
        return None
    values += f.__defaults__ or ()
    values += (f.__kwdefaults__ or {}).values()
    key: list[Any] = [code]
    for value in values:
        kind = type(value)
        if kind is ModuleType and value.__name__.partition(".")[0] in _LIBRARIES:
            key.append(value.__name__)
        elif kind in _PLAIN:
            key.append((kind, value))
        else:
            return None
    # `co_names` does not include the names that a nested function uses.
    return None if any(type(constant) is CodeType for constant in code.co_consts) else tuple(key)


class Agreed:
    """Cache of functions that agree with their recordings, by the keys of `sight`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys: set[Any] = set()

    def has(self, seen: tuple[Any, ...] | None, recording: Any) -> bool:
        return seen is not None and (seen, recording) in self._keys

    def add(self, seen: tuple[Any, ...] | None, recording: Any) -> None:
        if seen is None:
            return
        with self._lock:
            if len(self._keys) >= _MOST_AGREED:
                self._keys.clear()
            self._keys.add((seen, recording))


def some_fits(fits: int) -> NDArray[np.intp]:
    """Return indices of the compared fits of a batch: 1 + fits // 64, at most 8, evenly spaced."""
    return spread_places(fits, min(_FITS, 1 + fits // 64))
