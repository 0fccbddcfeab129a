"""Recordings held against the functions that they are of.

A recording shows what a function does with recorders. State, randomness, aliased arrays and questions about the type of
a parameter do not show in it, so that values of both are compared: before a fit at a few points, away from special
parameters, and after it at the parameters that it found. The comparison before a fit is left out only if nothing that the
function can see has changed since it last agreed.
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

#: Points compared before a fit, and for each fit of a batch.
FEW = 8
#: Points compared after a fit: all, if there are no more.
_MANY = 1024
#: Fits of a batch compared.
_FITS = 8
#: Functions whose agreement is remembered.
_MOST_AGREED = 1024
#: Modules whose functions do not change.
_LIBRARIES = frozenset({"numpy", "scipy", "math", "cmath"})
#: Types whose values do not change.
_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), np.float64})
#: Whether a recording has these values: of its columns, and of one value per point.
Agrees = Callable[[list[NDArray[Any]], NDArray[np.float64]], bool]

_DIFFERS = ("its values differ from what was recorded of it: it has state, randomness, asks what its parameters are, or "
            "changes arrays in ways that cannot be recorded; compute what is random once, outside the function")


def numbers(values: Any) -> NDArray[np.float64]:
    """What a model returned, as doubles.

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
    """Values of a model, one per point."""
    if type(values) is np.ndarray and values.shape == shape and values.ndim == 1 and values.dtype == FLOAT64:
        return np.ascontiguousarray(values)
    array = numbers(values)
    if array.shape != shape:
        array = np.broadcast_to(array, shape)
    return np.ascontiguousarray(array).reshape(-1)


@lru_cache(maxsize=256)
def spread_places(points: int, most: int = FEW) -> NDArray[np.intp]:
    """At most so many of the points, evenly spaced from the first to the last."""
    places = np.unique(np.linspace(0, points - 1, min(points, most)).astype(np.intp))
    places.setflags(write=False)
    return places


@lru_cache(maxsize=256)
def _factors(params: int) -> NDArray[np.float64]:
    factors = np.linspace(1.0, 1.0 + 1e-3 * params, params + 1)[1:]
    factors.setflags(write=False)
    return factors


def beside(at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Parameters near `at` that are not special: none is 0, 1 or equal to another one that it equals there."""
    return at * _factors(at.size) if np.count_nonzero(at) == at.size else at + 1e-3


def check(f: Callable[..., Any], x: Any, shape: tuple[int, ...], columns: list[NDArray[Any]], agrees: Agrees,
          p: NDArray[np.float64], most: int = FEW) -> None:
    """Compares a recording with the function itself, at no more than `most` of its points.

    A function whose values belong to all points together (it divides by a maximum, it integrates) is called for all
    of them.

    Parameters
    ----------
    f : callable
        The model.
    x : object
        What it gets for x.
    shape : tuple of int
        The shape of the points.
    columns : list of arrays
        Those of the recording, one value per point.
    agrees : callable
        Compares values of `f` with those of the recording at columns of as many points.
    p : array
        The parameters at which it does.
    most : int
        Points that are compared.

    Raises
    ------
    NotTraceable
        If they differ.
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
            except Exception:  # It may need all points; what is wrong with it shows below.
                pass
        values = flat(f(x, *p), shape)
    if not agrees(few, values[places]):
        raise NotTraceable(_DIFFERS)


def check_end(f: Callable[..., Any], x: Any, shape: tuple[int, ...], columns: list[NDArray[Any]], agrees: Agrees,
              p: NDArray[np.float64], most: int = _MANY) -> None:
    """As `check`, at the parameters `p` that a fit found.

    Raises
    ------
    NotTraceable
        If they differ, or the function has no values there.
    """
    try:
        check(f, x, shape, columns, agrees, p, most)
    except NotTraceable:
        raise
    except Exception as error:
        raise NotTraceable(f"it raises {type(error).__name__} ({error}) at the parameters of the fit") from error


def check_rows(f: Callable[..., Any], x: NDArray[np.float64], columns: list[NDArray[Any]], model: _core.Model,
               p: NDArray[np.float64], fits: Iterable[int]) -> None:
    """Compares a recording with the function itself at all points of some rows of x.

    Parameters
    ----------
    f, model
        As for `check`.
    x : array of shape (fits, points)
        Each fit's own.
    columns : list of arrays
        Those of the recording, fits * points values.
    p : array
        Parameters.
    fits : iterable of int
        The rows that are compared.

    Raises
    ------
    NotTraceable
        If they differ in one of them.
    """
    x = guarded(x)
    rows = [column.reshape(x.shape) for column in columns]
    with np.errstate(all="ignore"):
        for k in fits:
            if not model.agrees([row[k] for row in rows], p, flat(f(x[k], *p), x[k].shape)):
                raise NotTraceable(_DIFFERS)


def sight(f: Callable[..., Any]) -> tuple[Any, ...] | None:
    """All that a function can see, as a key: its code, and the numbers and texts in its closure, defaults and globals.

    None if it sees something that may change unnoticed: an object, an array, another function.
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
    # What a nested function sees is not among these names.
    return None if any(type(constant) is CodeType for constant in code.co_consts) else tuple(key)


class Agreed:
    """Functions that were found to agree with their recordings, by what they can see."""

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
    """Some of the fits of a batch: a few more the more there are, from the first to the last."""
    return spread_places(fits, min(_FITS, 1 + fits // 64))
