"""Tables of pandas with the results of many fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._core import FitError
from ._results import Array

if TYPE_CHECKING:
    from pandas import DataFrame


def indices(shape: tuple[int, ...]) -> list[Any]:
    """Return the index of each fit of a stack: numbers for one axis, otherwise tuples."""
    return list(np.ndindex(shape)) if len(shape) > 1 else list(range(shape[0] if shape else 1))


def check_name(name: object, result: str) -> None:
    """Check that the index of a result of many fits is a name.

    Raises
    ------
    TypeError
        If it is the number of a fit.
    """
    if not isinstance(name, str):
        fit = "set(label)" if result == "joint" else "params[index], .std_errors[index] and .status(index)"
        raise TypeError(f"{result}[{name!r}] is not the result of one fit; write {result}.{fit}, or {result}[\"name\"] for the values of a "
                        "parameter in all fits")


def frame_of(names: list[str], quantity: Callable[[str], tuple[Array, Array]], numbers: Mapping[str, NDArray[Any]],
             index: list[Any]) -> DataFrame:
    """Return a table with one row per fit.

    Parameters
    ----------
    names : list of str
        Parameters and derived quantities.
    quantity : callable
        Returns values and standard errors of a name, one per fit.
    numbers : mapping of str to array
        Further columns.
    index : list
        Label of each fit; tuples give an index of several levels.

    Raises
    ------
    ImportError
        If pandas is not installed.
    FitError
        If two columns have the same name.
    """
    try:
        import pandas
    except ImportError:
        raise ImportError("to_frame makes a table of pandas, which is not installed: pip install pandas") from None
    twice = [name for name in names if f"{name}_error" in names or name in numbers]
    if twice:
        raise FitError(f"two columns of the table have the same name, because of {twice[0]!r}; rename this parameter")
    columns: dict[str, Any] = {}
    for name in names:
        columns[name], columns[f"{name}_error"] = quantity(name)
    columns |= {name: np.reshape(values, -1) for name, values in numbers.items()}
    is_deep = bool(index) and isinstance(index[0], tuple)
    return pandas.DataFrame(columns, index=pandas.MultiIndex.from_tuples(index) if is_deep else index)
