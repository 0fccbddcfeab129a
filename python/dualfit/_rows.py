"""Recordings of a function over rows of x, one row per fit of a batch or per set of a joint fit.

A function that computes every point separately is recorded once for all points of all rows. Any other function, for
example one that subtracts its first x or divides by a maximum, is recorded with each row, and the recordings are
merged: the operations must be the same, and a number that differs between rows becomes a column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._refusal import NotTraceable, definition_of
from ._tape import Node, Tape
from ._trace import Recording, record, record_columns

#: Names of the nodes whose numbers may differ between rows.
_NUMBERS = ("const", "column")


def record_rows(f: Callable[..., Any], x: Sequence[Any], n_params: int,
                shapes: Sequence[tuple[int, ...]]) -> tuple[Recording, bool]:
    """Record ``f(row, *params)`` for the rows of `x`.

    Parameters
    ----------
    f : callable
        The model; it receives one row.
    x : sequence
        The rows: arrays of any lengths, or other values of x for `f`.
    n_params : int
        Number of parameters.
    shapes : sequence of tuples of int
        Shape of the points of each row.

    Returns
    -------
    recording : Recording
        Its columns have the points of all rows, row after row.
    by_point : bool
        True if `f` computes every point separately, so that the value at a point does not depend on its row.

    Raises
    ------
    NotTraceable
        In the cases of `record`; also if the operations differ between rows.
    """
    sizes = [prod(shape) for shape in shapes]
    if not sizes:
        return record(f, np.empty(0), n_params, (0,)), True
    is_plain = all(isinstance(row, np.ndarray) and row.ndim == 1 and row.shape == shape for row, shape in zip(x, shapes))
    if is_plain and _is_by_point(f, n_params, (sizes[0], sum(sizes))):
        return record(f, np.concatenate(x), n_params, (sum(sizes),)), True
    rows = [record(f, row, n_params, shape, apart=True) for row, shape in zip(x, shapes)]
    for k, row in enumerate(rows):
        if not _is_alike(rows[0].nodes, row.nodes):
            raise NotTraceable(f"its operations for the x of fit {k} are not those for the x of fit 0: it branches on x",
                               "use np.where(condition, value where it holds, value elsewhere)", definition_of(f))
    return _merged(rows, n_params, sizes), False


def _is_by_point(f: Callable[..., Any], n_params: int, sizes: tuple[int, ...]) -> bool:
    """Return True if `f` can be recorded without values of x, with the same recording for all numbers of points."""
    try:
        record_columns(f, 1, n_params, sizes)
    except NotTraceable:
        return False
    return True


def _is_alike(one: list[Node], two: list[Node]) -> bool:
    """Return True if two recordings differ only in numbers."""
    return len(one) == len(two) and all(
        first == second or (first[0] in _NUMBERS and second[0] in _NUMBERS) for first, second in zip(one, two))


def _merged(rows: list[Recording], n_params: int, sizes: list[int]) -> Recording:
    """Merge recordings that differ only in numbers to the recording of all rows. `sizes`: number of points of each row."""
    tape, at = Tape(n_params), list(range(n_params))
    known: list[tuple[NDArray[np.float64], int]] = []
    for k, (name, operands, number) in enumerate(rows[0].nodes[n_params:], n_params):
        if name not in _NUMBERS:
            at.append(tape.add(name, tuple([at[operand] for operand in operands]), number))
            continue
        values = np.empty(sum(sizes))
        for to, row in zip(np.split(values, np.cumsum(sizes)[:-1]), rows):
            to[...] = row.columns[int(row.nodes[k][2])] if row.nodes[k][0] == "column" else row.nodes[k][2]
        at.append(_column(tape, values, known))
    constant = tape.nodes[at[-1]][0] in _NUMBERS
    # The last node must be the result. If the result is an earlier node, the nodes after it are removed.
    if at[-1] != len(tape.nodes) - 1:
        tape.nodes = tape.nodes[: at[-1] + 1]
    return Recording(tape.nodes, tape.columns, constant, (sum(sizes),))


def _column(tape: Tape, values: NDArray[np.float64], known: list[tuple[NDArray[np.float64], int]]) -> int:
    """Return the node of `values`. Equal columns of any length share one node."""
    for other, at in known:
        if np.array_equal(other, values):
            return at
    known.append((values, tape.column(values)))
    return known[-1][1]
