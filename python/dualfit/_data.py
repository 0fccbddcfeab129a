"""Conversion of user data to the arrays that fits accept."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Mapping
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import FitError

#: Types of times in the standard library; pandas' types are subclasses of these.
_TIMES = (datetime.date, datetime.time, datetime.timedelta)
#: Dtypes that are fitted without conversion; others are converted to double precision.
_AS_THEY_LIE = frozenset(np.dtype(t) for t in ("f8", "f4", "u1", "u2", "i2", "u4", "i4"))


def dense(array: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous and aligned array; arrays can be unaligned, for example after a transfer."""
    array = np.ascontiguousarray(array)
    return array if array.flags.aligned else array.copy()


def all_finite(array: NDArray[np.float64]) -> bool:
    """Return True if there is neither NaN nor infinity."""
    return _core.all_finite(dense(array).reshape(-1))


def real(values: Any) -> NDArray[np.float64]:
    """Convert values of any kind (lists, Series, DataArrays, ...) to contiguous doubles."""
    return dense(np.asarray(numeric(values), dtype=np.float64))


def per_point(values: Any, y: Any) -> NDArray[np.float64]:
    """Convert values like `real`, and flatten them if they have the shape of `y`, which can be an image."""
    array = real(values)
    return array.reshape(-1) if array.shape == np.shape(y) else array


def numeric(values: Any) -> NDArray[Any]:
    """Return an array of values that can be converted to real numbers.

    Raises
    ------
    TypeError
        For complex numbers and for times, which NumPy would convert to numbers silently.
    """
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise TypeError("complex data have two real numbers per point: fit np.concatenate([z.real, z.imag]), with a model "
                        "that returns likewise")
    is_object = array.dtype.kind == "O"
    if array.dtype.kind in "mM" or is_object and any(isinstance(value, _TIMES) for value in array.reshape(-1)):
        raise TypeError("times have no unit that a fit could use; make them numbers: t = np.asarray(t, dtype=\"datetime64[us]\"), "
                        "then (t - t[0]) / np.timedelta64(1, \"s\") in seconds")
    return array


def samples(values: Any) -> NDArray[Any]:
    """Return observations, flat and contiguous, in their own dtype if fits support it."""
    array = numeric(values)
    if array.dtype not in _AS_THEY_LIE or not array.dtype.isnative:
        array = array.astype(np.float64)
    return dense(array).reshape(-1)


def meant(sigma: Any, absolute: bool) -> Any:
    """Return sigma, or 1 if it is None and `absolute` is True, as in SciPy."""
    return 1.0 if sigma is None and absolute else sigma


def relative_unit(sigma: Any, absolute: bool) -> float:
    """Return the unit of the residuals, relative to y: sigma if it is one relative number for all points, otherwise 1.

    The core ignores a single relative sigma. Only the scale of a loss depends on the unit.
    """
    is_one = sigma is not None and not isinstance(sigma, str) and np.ndim(sigma) == 0
    return one_sigma(sigma) if is_one and not absolute else 1.0


def one_sigma(sigma: Any) -> float:
    """Check and return a single standard deviation for all points.

    Raises
    ------
    FitError
        If sigma is not positive and finite. The core does not check a single relative sigma.
    """
    value = float(sigma)
    if not 0.0 < value < np.inf:
        raise FitError(f"sigma is {value:g}; standard deviations must be positive and finite")
    return value


def whole(name: str, value: Any, least: int = 0) -> int:
    """Check and return a whole number.

    Raises
    ------
    TypeError
        If it is not whole.
    FitError
        If it is below `least`.
    """
    try:
        number = index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; give a whole number") from None
    if number < least:
        raise FitError(f"{name} is {number}; it must be at least {least}")
    return number


def check_policy(nan_policy: Any) -> None:
    """Check that `nan_policy` is valid."""
    if nan_policy not in ("raise", "omit"):
        raise ValueError(f"nan_policy is {nan_policy!r}; there are 'raise' and 'omit'")


def is_masked(values: Any) -> bool:
    """Return True for a masked array. `numpy.ma` is not imported for this check, because its import takes longer than a fit."""
    return isinstance(values, getattr(sys.modules.get("numpy.ma"), "MaskedArray", ()))


def start_of(p0: Any, of_numbers: bool = True) -> Any:
    """Convert a start by name (a mapping, or a Series with names as labels) to a dictionary; return others unchanged.

    A Series with other labels is converted to an array.

    Raises
    ------
    TypeError
        If p0 is text, or a value is not a number and `of_numbers` is True.
    """
    if isinstance(p0, str):
        raise TypeError(f"p0 is {p0!r}; give values, or leave it out for a search")
    if not hasattr(p0, "items"):
        return p0
    named = dict(p0.items())
    for name, value in named.items() if of_numbers else ():
        try:
            float(value)
        except (TypeError, ValueError):
            raise TypeError(f"p0[{name!r}] is {value!r}; give a number") from None
    return named if isinstance(p0, Mapping) or all(isinstance(name, str) for name in named) else real(p0)


def independent(x: Any) -> Any:
    """Convert x for a model function: lists, arrays, Series and DataArrays to doubles.

    A table (DataFrame) and all other objects are passed to the function unchanged.
    """
    is_array = getattr(x, "ndim", 0) == 1 or hasattr(x, "dims")
    if isinstance(x, (list, tuple, np.ndarray)) or (is_array and hasattr(x, "__array__")):
        return np.asarray(numeric(x), dtype=np.float64)
    return x


def x_columns(x: Any, variables: list[str] | None = None) -> list[NDArray[Any]]:
    """Return one flat column of x per independent variable: the rows of an array, or the columns of a table by name."""
    if hasattr(x, "columns") and hasattr(x, "__getitem__"):
        names = variables if variables and all(v in x.columns for v in variables) else list(x.columns)
        return [samples(x[name]) for name in names]
    if isinstance(x, dict):
        return [samples(x[name]) for name in (variables or x)]
    if isinstance(x, (list, tuple)) and x and np.ndim(x[0]) > 0:
        return [samples(column) for column in x]
    array = np.asarray(x)
    if array.ndim <= 1 or (variables is not None and len(variables) == 1):
        return [samples(array)]
    return [samples(row) for row in array]


def point_of(x: Any, points: int, index: int) -> list[tuple[str, float]]:
    """Return names and values of the independent variables at a point, for messages; empty for other kinds of x."""
    try:
        columns = [samples(x)] if np.size(x) == points else x_columns(x)
    except (KeyError, TypeError, ValueError):
        return []
    if any(column.size != points for column in columns):
        return []
    names = [str(name) for name in (x.columns if hasattr(x, "columns") else x if isinstance(x, dict) else ())]
    if len(names) != len(columns):
        names = ["x"] if len(columns) == 1 else [f"x[{k}]" for k in range(len(columns))]
    return [(name, float(column[index])) for name, column in zip(names, columns)]


def each_column(values: Any) -> list[Any]:
    """Return the columns of a table, list or array; one column or one number is a list with one item."""
    if hasattr(values, "columns") and hasattr(values, "__getitem__"):
        return [values[name] for name in values.columns]
    return list(values) if isinstance(values, (list, tuple)) or np.ndim(values) > 1 else [values]


def seen(mask: Any, y: Any, others: list[Any]) -> NDArray[np.bool_] | None:
    """Return the flat mask of points to fit; None for all. `others`: further arrays that can be masked."""
    shape = np.shape(y)
    flags = [] if mask is None else [np.asarray(mask, dtype=bool)]
    for values in (y, *others):
        columns = values if isinstance(values, (list, tuple)) else [values]
        for column in columns:
            if is_masked(column):
                shown = np.logical_not(np.ma.getmaskarray(column))
                each = shown.all(axis=0) if shown.shape[1:] == shape != shown.shape else shown
                if np.shape(each) == shape:
                    flags.append(np.asarray(each))
    return np.ascontiguousarray(np.logical_and.reduce(flags)).reshape(-1) if flags else None


def points_of(x: Any, y: Any, sigma: Any, absolute_sigma: bool, x_sigma: Any, mask: Any, nan_policy: str) -> dict[str, Any]:
    """Return the points of a fit for the core, without the columns of the model."""
    known: dict[str, Any] = {"y": samples(y)}
    sigma = meant(sigma, absolute_sigma)
    if sigma is not None:
        known["sigma"] = one_sigma(sigma) if np.ndim(sigma) == 0 else per_point(sigma, y)
        known["absolute"] = absolute_sigma
    if x_sigma is not None:
        if sigma is not None and np.ndim(sigma) == 0:
            # With errors of x, the errors of y matter even if they are known only up to a factor.
            known["sigma"] = np.full(known["y"].size, float(sigma))
        each = [x_sigma] if np.shape(x_sigma) == np.shape(y) else each_column(x_sigma)
        known["x_sigma"] = [np.atleast_1d(per_point(column, y)) for column in each]
    mask = seen(mask, y, [x, sigma, x_sigma])
    if mask is not None:
        known["mask"] = mask
    check_policy(nan_policy)
    known["omit"] = nan_policy == "omit"
    return known


def guarded(x: Any) -> Any:
    """Return x for a call of a model function, protected from changes: arrays are read-only.

    A table is copied, so that changes do not affect the caller's table.
    """
    if isinstance(x, np.ndarray):
        if not x.flags.writeable:
            return x
        x = x.view()
        x.flags.writeable = False
        return x
    kind = type(x)
    if kind in (list, tuple):
        return kind(guarded(part) for part in x)
    if kind is dict:
        return {name: guarded(part) for name, part in x.items()}
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(x, pandas.DataFrame):
        # Before version 3 of pandas, shallow copies share changes.
        return x.copy(deep=int(pandas.__version__.partition(".")[0]) < 3)
    return x
