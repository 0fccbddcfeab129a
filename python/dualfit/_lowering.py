"""Conversion of a tape with gathers to a tape over the points of its result.

A gather is a node whose values are values of another node, selected by a map (an array of indices). The nodes are
traversed backwards from the result. Each node collects the maps through which later nodes use its values. Every pair of
a node and a map becomes a separate node, columns are indexed by the map, and no gathers remain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._tape import MOST_NODES, Node, Tape

#: Number of a map; 0 is the identity: values in the order of the points.
Key = int


class _Maps:
    """Maps from points to values, by number, and compositions of maps."""

    def __init__(self, tape: Tape) -> None:
        self._gathers = tape.maps
        self._maps: list[NDArray[np.intp] | None] = [None]
        self._composed: dict[tuple[int, Key], Key] = {}

    def through(self, gather: int, key: Key) -> Key:
        """Return the composition of the tape's map `gather` and the map `key`."""
        known = self._composed.get((gather, key))
        if known is not None:
            return known
        inner, outer = self._gathers[gather], self._maps[key]
        # A single value is used for all points.
        self._maps.append(inner if outer is None or inner.size == 1 else inner[outer])
        self._composed[gather, key] = len(self._maps) - 1
        return len(self._maps) - 1

    def values(self, column: NDArray[np.float64], key: Key) -> NDArray[np.float64]:
        places = self._maps[key]
        return column if places is None or column.size == 1 else column[places]


def _wanted(tape: Tape, result: int, maps: _Maps) -> list[set[Key]]:
    wanted: list[set[Key]] = [set() for _ in range(result + 1)]
    wanted[result].add(0)
    for at in range(result, -1, -1):
        name, operands, number = tape.nodes[at]
        for key in wanted[at]:
            inner = maps.through(int(number), key) if name == "gather" else key
            for operand in operands:
                wanted[operand].add(inner)
    return wanted


def _is_one(values: NDArray[np.float64]) -> bool:
    bits = values.view(np.int64)
    return values.size > 1 and bool(bits[0] == bits[-1]) and bool((bits == bits[0]).all())


def lowered(tape: Tape, result: int, points: int) -> tuple[list[Node], list[NDArray[np.float64]]]:
    """Return the nodes, the last of which is the result, and the columns of `points` values each."""
    maps = _Maps(tape)
    nodes: list[Node] = []
    columns: list[NDArray[np.float64]] = []
    found: dict[tuple[int, Key], int] = {}
    for at, keys in enumerate(_wanted(tape, result, maps)):
        name, operands, number = tape.nodes[at]
        for key in keys:
            if name == "gather":
                found[at, key] = found[operands[0], maps.through(int(number), key)]
                continue
            node = (name, tuple([found[operand, key] for operand in operands]), number)
            if name == "column":
                values = maps.values(tape.columns[int(number)], key)
                if values.size == points and not _is_one(values):
                    node = ("column", (), float(len(columns)))
                    columns.append(values)
                else:
                    node = ("const", (), float(values[0]))
            found[at, key] = len(nodes)
            nodes.append(node)
        if len(nodes) > MOST_NODES:
            raise tape.refuse(f"it takes more than {MOST_NODES} operations at each point")
    return nodes[: found[result, 0] + 1], columns
