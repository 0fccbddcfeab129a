"""The tape: the operations of a function in the order of execution, and the arrays that they used.

A node belongs to a *space* of values: one value per element of its tracer (an array-like object that records) in C
order, or a single value for all elements. Within a space every operation is elementwise. The only operation between
spaces is "gather". Its number k selects one of `maps`: value i of the new space is value maps[k][i] of the old one.
`_lowering` converts a tape with gathers to a tape without gathers, with one value per point of the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._data import dense
from ._refusal import NotTraceable

#: An operation: its name, the indices of its operands, a number.
Node = tuple[str, tuple[int, ...], float]

FLOAT64 = np.dtype(np.float64)
#: Maximum size of arrays that are copied to columns, so that later changes of the array do not affect the column:
#: 128 KiB, copied in microseconds. Longer arrays are referenced, and changes are detected by sampling.
COPIED = 1 << 14
#: Maximum number of nodes of a recording: an array of objects needs a node for each of its elements.
MOST_NODES = 20_000


class _Closed(list[Node]):
    """The nodes of a finished recording."""

    def append(self, node: Node) -> None:
        raise NotTraceable("a value of an earlier recording is used",
                           "keep nothing that depends on a parameter from one call to the next")


class _Watched:
    """A long array that a column references: an in-place change of the array would change the column."""

    __slots__ = ("array", "flat", "at", "key", "sample", "is_copy")

    def __init__(self, array: NDArray[Any], flat: NDArray[np.float64], at: int, key: Any,
                 sample: bytes) -> None:
        self.array, self.flat, self.at, self.key, self.sample = array, flat, at, key, sample
        self.is_copy = not np.may_share_memory(array, flat)


def _sample(array: NDArray[Any]) -> bytes:
    flat = array.reshape(-1) if array.flags.c_contiguous else array.flat
    return np.asarray(flat[:: max(array.size // 512, 1)]).tobytes()


class Tape:
    """The nodes and columns of one recording.

    Parameters
    ----------
    params : int
        Number of parameters of the function; node k is parameter k.
    given : tuple of arrays
        The caller's arrays, which must not be changed.
    apart : bool
        If True, equal short columns are not merged: then the nodes depend only on the operations, except that columns
        of equal numbers become constants.
    """

    __slots__ = ("nodes", "columns", "maps", "given", "apart", "in_arrays", "watches", "refusal", "_known", "_copies", "_watched", "_saved")

    def __init__(self, params: int, given: tuple[NDArray[Any], ...] = (), apart: bool = False) -> None:
        self.nodes: list[Node] = [("param", (), float(k)) for k in range(params)]
        self.columns: list[NDArray[np.float64]] = []
        self.maps: list[NDArray[np.intp]] = []
        self.given, self.apart = given, apart
        #: True if a value became an element of an array of objects.
        self.in_arrays = False
        #: True if such arrays become tracers. Then equal operations share a node, because elements are often equal.
        self.watches = False
        self._known: dict[tuple[Any, ...], int] = {}
        self.refusal: NotTraceable | None = None
        self._copies: list[tuple[bytes, int]] = []
        self._watched: list[_Watched] = []
        self._saved: list[tuple[NDArray[Any], NDArray[Any]]] = []

    def refuse(self, what: str, remedy: str = "") -> NotTraceable:
        """Return the exception to raise. The first one is stored, in case the function catches it."""
        refusal = NotTraceable(what, remedy)
        if self.refusal is None:
            self.refusal = refusal
        return refusal

    def add(self, name: str, operands: tuple[int, ...], number: float = 0.0) -> int:
        """Add a node and return its index."""
        nodes = self.nodes
        at = len(nodes)
        if self.watches:
            known = self._known.setdefault((name, operands, float(number).hex()), at)
            if known < at:
                return known
        if at > MOST_NODES:
            raise self.refuse(f"it takes more than {MOST_NODES} operations", "compute with whole arrays")
        nodes.append((name, operands, number))
        return at

    def gather(self, at: int, places: NDArray[np.intp]) -> int:
        """Add a node with the values of node `at` at the positions `places` of its space."""
        self.maps.append(places)
        return self.add("gather", (at,), float(len(self.maps) - 1))

    def column(self, array: NDArray[Any]) -> int:
        """Return the node of an array of booleans, integers or real numbers; equal arrays share one column."""
        size = array.size
        self.check_is_current(array)
        if size > COPIED:
            return self._long_column(array)
        text = (array if array.dtype is FLOAT64 else array.astype(FLOAT64)).tobytes()
        if size > 1 and text[:8] == text[-8:] and text == text[:8] * size:
            return self.add("const", (), float(array.flat[0]))
        if not self.apart:
            for known, at in self._copies:
                if known == text:
                    return at
        at = self._new_column(np.frombuffer(text, FLOAT64))
        self._copies.append((text, at))
        return at

    def _new_column(self, values: NDArray[np.float64]) -> int:
        self.columns.append(values)
        return self.add("column", (), float(len(self.columns) - 1))

    def _long_column(self, array: NDArray[Any]) -> int:
        key = (array.__array_interface__["data"], array.shape, array.strides, array.dtype)
        sample = _sample(array)
        for known in self._watched:
            if known.key == key:
                if known.sample == sample:
                    return known.at
                if not known.is_copy:
                    raise self._changed()
        flat = dense(np.asarray(array, dtype=FLOAT64)).reshape(-1)
        bits = flat.view(np.int64)
        if bits[0] == bits[-1] and bool((bits == bits[0]).all()):
            return self.add("const", (), float(flat[0]))
        at = self._new_column(flat)
        self._watched.append(_Watched(array, flat, at, key, sample))
        return at

    def _changed(self) -> NotTraceable:
        return self.refuse("an array is changed in place after it was used",
                           "write z = z * x instead of z *= x")

    def overwrite(self, array: NDArray[Any]) -> None:
        """Fill an array with NaN after an in-place operation: its name now refers to a tracer.

        Code that uses the array under another name finds the NaN. `restore` puts the contents back.
        """
        if any(np.may_share_memory(array, given) for given in self.given):
            raise self.refuse("the caller's x is changed in place", "write x = x + ... instead of x += ...")
        contents = array.copy()
        array.fill(np.nan)
        self._saved.append((array, contents))

    def check_is_current(self, values: Any) -> None:
        """Check that values are not from an overwritten array that is used under another name."""
        if self._saved and bool(np.isnan(values).any()):
            raise self.refuse("an array that was changed in place is used under another name",
                              "write y = y + ... instead of y += ...")

    def restore(self) -> None:
        """Put back the contents of overwritten arrays."""
        while self._saved:
            array, contents = self._saved.pop()
            array[...] = contents

    def check_arrays(self) -> None:
        """Check that the long arrays have not changed."""
        for watched in self._watched:
            if not watched.is_copy and _sample(watched.array) != watched.sample:
                raise self._changed()

    def close(self) -> None:
        """End the recording: using a tracer afterwards is an error."""
        self.restore()
        self.nodes = _Closed()
        self.refusal = None
