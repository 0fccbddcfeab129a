"""Recordings held against the functions that they are of.

A recording shows what a function does with recorders. State, randomness, aliased arrays and questions about the type of
a parameter do not show in it, so that values of both are compared: before a fit at a few points, away from special
parameters, and after it at the parameters that it found.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._data import guarded
from ._refusal import NotTraceable

#: Points compared before a fit.
_FEW = 8
#: Points compared after a fit: all, if there are no more.
_MANY = 1024
#: Fits of a batch compared.
_FITS = 8
#: Relative difference that rounding may make between the function and its recording. Terms that cancel
#: leave more of it than single operations do.
_TOLERANCE = 1e-6

_DIFFERS = ("its values differ from what was recorded of it: it has state, randomness, asks what its parameters are, or changes "
            "arrays in ways that cannot be recorded; compute what is random once, outside the function")


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
    array = numbers(values)
    if array.shape != shape:
        array = np.broadcast_to(array, shape)
    return np.ascontiguousarray(array).reshape(-1)


@lru_cache(maxsize=256)
def spread_places(points: int, most: int = _FEW) -> NDArray[np.intp]:
    """At most so many of the points, evenly spaced from the first to the last."""
    places = np.unique(np.linspace(0, points - 1, min(points, most)).astype(np.intp))
    places.setflags(write=False)
    return places


def is_close(values: NDArray[np.float64], expected: NDArray[np.float64]) -> bool:
    """Returns true if they are the same to rounding; `values` is broadcast."""
    largest = np.abs(expected).max(initial=0.0)
    if largest < np.inf:
        # NaN of `values` fails here, and the rest decides nothing then.
        return bool(np.abs(values - expected).max(initial=0.0) <= _TOLERANCE * largest)
    values = np.broadcast_to(values, expected.shape)
    same = (values == expected) | (np.isnan(values) & np.isnan(expected))
    finite = np.abs(expected[np.isfinite(expected)])
    return bool((same | (np.abs(values - expected) <= _TOLERANCE * finite.max(initial=0.0))).all())


def beside(at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Parameters near `at` that are not special: none is 0, 1 or equal to another one that it equals there."""
    return at * (1.0 + 1e-3 * np.arange(1, at.size + 1)) if at.all() else at + 1e-3


def check(f: Callable[..., Any], x: Any, shape: tuple[int, ...], columns: list[NDArray[Any]], model: _core.Model,
          p: NDArray[np.float64], most: int = _FEW) -> None:
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
    model : Model
        The recording.
    p : array
        Parameters.
    most : int
        Points that are compared.

    Raises
    ------
    NotTraceable
        If they differ.
    """
    points = columns[0].size
    is_whole = points <= most
    places = None if is_whole else spread_places(points, most)
    expected = model.evaluate(columns if is_whole else [column[places] for column in columns], p)
    x = guarded(x)
    with np.errstate(all="ignore"):
        if not is_whole and len(shape) == 1 and isinstance(x, np.ndarray) and x.shape[-1:] == shape:
            try:
                if is_close(numbers(f(x[..., places], *p)), expected):
                    return
            except Exception:  # It may need all points; what is wrong with it shows below.
                pass
        values = flat(f(x, *p), shape)
        if not is_close(values if is_whole else values[places], expected):
            raise NotTraceable(_DIFFERS)


def check_end(f: Callable[..., Any], x: Any, shape: tuple[int, ...], columns: list[NDArray[Any]], model: _core.Model,
              p: NDArray[np.float64]) -> None:
    """As `check`, at many points and the parameters `p` that a fit found.

    Raises
    ------
    NotTraceable
        If they differ, or the function has no values there.
    """
    try:
        check(f, x, shape, columns, model, p, _MANY)
    except NotTraceable:
        raise
    except Exception as error:
        raise NotTraceable(f"it raises {type(error).__name__} ({error}) at the parameters of the fit") from error


def check_rows(f: Callable[..., Any], x: NDArray[np.float64], columns: list[NDArray[Any]], model: _core.Model,
               params: NDArray[np.float64], fits: NDArray[np.intp]) -> None:
    """Compares a recording with the function itself at all points of some rows of x.

    Parameters
    ----------
    f, model
        As for `check`.
    x : array of shape (fits, points)
        Each fit's own.
    columns : list of arrays
        Those of the recording, fits * points values.
    params : array of shape (parameters,) or (fits, parameters)
        One set of parameters for all fits, or each fit's own.
    fits : array of int
        The rows that are compared.

    Raises
    ------
    NotTraceable
        If they differ in one of them.
    """
    x = guarded(x)
    each = np.broadcast_to(params, (len(x), params.shape[-1]))
    rows = [column.reshape(x.shape) for column in columns]
    with np.errstate(all="ignore"):
        for k in fits:
            expected = model.evaluate([row[k] for row in rows], each[k])
            if not is_close(flat(f(x[k], *each[k]), x[k].shape), expected):
                raise NotTraceable(_DIFFERS)


def some_fits(fits: int) -> NDArray[np.intp]:
    """Some of the fits of a batch: a few more the more there are, from the first to the last."""
    return spread_places(fits, min(_FITS, 1 + fits // 64))
