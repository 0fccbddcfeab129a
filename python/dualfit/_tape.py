"""The tape: operations in the order in which a function carried them out, and the arrays that they met.

A node belongs to a *space* of values: as many as its tracer has elements, in C order, or one that holds for
all of them. Within a space every operation is point by point. Between spaces there is one operation,
"gather", whose number says which of `maps` it uses: value i of the new space is value maps[k][i] of the old
one. `_lowering` turns a tape with gathers into one over the points of the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._data import dense
from ._refusal import NotTraceable

#: An operation, the earlier nodes it takes, a number.
Node = tuple[str, tuple[int, ...], float]

FLOAT64 = np.dtype(np.float64)
#: Values up to which a column is a copy of the array that was met, so that nothing done to that array later
#: changes it: 128 KiB, which are copied in microseconds. Longer ones are referred to and watched by samples.
COPIED = 1 << 14
#: Nodes beyond which a recording is given up: an array of separate values makes a node for each of them.
MOST_NODES = 20_000


class _Closed(list[Node]):
    """The nodes of a recording that is over."""

    def append(self, node: Node) -> None:
        raise NotTraceable("a value of an earlier recording is used",
                           "keep nothing that depends on a parameter from one call to the next")


class _Watched:
    """A long array that a column refers to: changed in place, it would change the column behind its back."""

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
        Parameters of the function; node k is parameter k.
    given : tuple of arrays
        The caller's own arrays, which must not be written to.
    apart : bool
        Whether equal short columns stay apart: then the nodes depend on the operations alone, but for columns of equal
        numbers, which are constants.
    """

    __slots__ = ("nodes", "columns", "maps", "given", "apart", "in_arrays", "watches", "refusal", "_known", "_copies", "_watched", "_saved")

    def __init__(self, params: int, given: tuple[NDArray[Any], ...] = (), apart: bool = False) -> None:
        self.nodes: list[Node] = [("param", (), float(k)) for k in range(params)]
        self.columns: list[NDArray[np.float64]] = []
        self.maps: list[NDArray[np.intp]] = []
        self.given, self.apart = given, apart
        #: Whether a value was made an element of an array of objects.
        self.in_arrays = False
        #: Whether x looks for such arrays. Then equal operations are one node: elements of an array are often the same.
        self.watches = False
        self._known: dict[tuple[Any, ...], int] = {}
        self.refusal: NotTraceable | None = None
        self._copies: list[tuple[bytes, int]] = []
        self._watched: list[_Watched] = []
        self._saved: list[tuple[NDArray[Any], NDArray[Any]]] = []

    def refuse(self, what: str, remedy: str = "") -> NotTraceable:
        """The exception to raise; the first stays here, in case the function swallows it."""
        refusal = NotTraceable(what, remedy)
        if self.refusal is None:
            self.refusal = refusal
        return refusal

    def add(self, name: str, operands: tuple[int, ...], number: float = 0.0) -> int:
        """A new node."""
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
        """The values of a node at `places` of its space."""
        self.maps.append(places)
        return self.add("gather", (at,), float(len(self.maps) - 1))

    def column(self, array: NDArray[Any]) -> int:
        """The node of an array of booleans, whole or real numbers; equal arrays are one column."""
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
        """Fills an array with NaN: its new contents are traced, under the name that it had.

        Whoever uses it by another name finds the NaN. `restore` puts its contents back.
        """
        if any(np.may_share_memory(array, given) for given in self.given):
            raise self.refuse("the caller's x is changed in place", "write x = x + ... instead of x += ...")
        contents = array.copy()
        array.fill(np.nan)
        self._saved.append((array, contents))

    def check_is_current(self, values: Any) -> None:
        """That values are not those of an array that was overwritten, by another name of it."""
        if self._saved and bool(np.isnan(values).any()):
            raise self.refuse("an array that was changed in place is used under another name",
                              "write y = y + ... instead of y += ...")

    def restore(self) -> None:
        """Puts the contents of overwritten arrays back."""
        while self._saved:
            array, contents = self._saved.pop()
            array[...] = contents

    def check_arrays(self) -> None:
        """That the long arrays are what they were."""
        for watched in self._watched:
            if not watched.is_copy and _sample(watched.array) != watched.sample:
                raise self._changed()

    def close(self) -> None:
        """No more nodes: a tracer that outlives the recording is of no use."""
        self.restore()
        self.nodes = _Closed()
        self.refusal = None
