"""Recorded functions as text, as which they are put together with models of the library."""

from __future__ import annotations

import math

from ._tape import Node

#: How operations are written that the text has no function for; (c) a condition, (v) a value.
_WRITTEN = {
    "add": "{v} + {v}", "sub": "{v} - {v}", "mul": "{v}*{v}", "div": "{v}/{v}", "neg": "-{v}", "pow": "{v}^{v}",
    "recip": "1/{v}", "lt": "{v} < {v}", "le": "{v} <= {v}", "eq": "{v} == {v}", "and": "{c} and {c}", "or": "{c} or {c}",
    "not": "not {c}", "select": "where({c}, {v}, {v})", "to_radians": "radians({v})", "to_degrees": "degrees({v})",
}
#: Operations that give conditions.
_CONDITIONS = frozenset(("lt", "le", "eq", "and", "or", "not"))
#: Characters beyond which a text is none that somebody meant: what is used twice is written twice.
_LONGEST = 100_000


def written(nodes: list[Node], columns: list[str], params: list[str]) -> str | None:
    """The formula of the last node over the names of columns and parameters; None where there is none."""
    texts: list[str] = []

    def value(at: int) -> str:
        return f"where({texts[at]}, 1, 0)" if nodes[at][0] in _CONDITIONS else texts[at]

    def condition(at: int) -> str:
        return texts[at] if nodes[at][0] in _CONDITIONS else f"({texts[at]} != 0)"

    for name, operands, number in nodes:
        if name == "column":
            text = columns[int(number)]
        elif name == "param":
            text = params[int(number)]
        elif name == "const":
            if not math.isfinite(number):
                return None
            text = f"({number!r})"
        elif name == "powi":
            text = f"({value(operands[0])}^({int(number)}))"
        elif name == "polygamma":
            if number != 0.0:
                return None
            text = f"digamma({value(operands[0])})"
        elif name in _WRITTEN:
            pieces = _WRITTEN[name].replace("{v}", "\0v").replace("{c}", "\0c").split("\0")
            text = pieces[0]
            for piece, at in zip(pieces[1:], operands):
                text += (value if piece[0] == "v" else condition)(at) + piece[1:]
            text = f"({text})"
        else:
            text = f"{name}({', '.join(value(at) for at in operands)})"
        if len(text) > _LONGEST:
            return None
        texts.append(text)
    return value(len(nodes) - 1) if nodes else None
