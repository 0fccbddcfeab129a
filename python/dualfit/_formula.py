"""Recorded functions as text, for combination with library models."""

from __future__ import annotations

import math
import re

from . import _core
from ._core import FitError
from ._hints import MODELS, hint
from ._tape import Node

#: Operations that formulas write in another form than a function call with the name of the operation.
_WRITTEN = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{}*{}", "div": "{}/{}", "neg": "-{}", "pow": "{}^{}", "recip": "1/{}",
    "lt": "{} < {}", "le": "{} <= {}", "eq": "{} == {}", "and": "{} and {}", "or": "{} or {}", "not": "not {}",
    "select": "where({}, {}, {})", "to_radians": "radians({})", "to_degrees": "degrees({})",
}
#: Operations with truth values as results.
_CONDITIONS = frozenset(("lt", "le", "eq", "and", "or", "not"))
#: Maximum length of a formula in characters; it is reached easily, because a value is written out at each use.
_LONGEST = 100_000

#: A name in a formula, except names of called functions and the end of a number as in 1e5.
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*(?!\w|\s*\()")
#: A word: a name, or a function that is called.
_WORD = re.compile(r"[^\W\d]\w*")
#: Words of formulas that are neither variables nor parameters.
_WORDS = frozenset(("and", "or", "not", "pi", "e"))


def check_not_a_name(text: str) -> None:
    """Check that a formula is not a model of the library, a sum of these, or the name of a model of MATLAB.

    Raises
    ------
    FitError
        If it is. Otherwise the name would be a parameter, and the formula a constant.
    """
    if remedy := hint(text.strip(), MODELS):
        raise FitError(f"{text!r} is not a formula{remedy} of dualfit.models")
    if set(_WORD.findall(text)) & set(_core.model_names()):
        try:
            _core.LibraryModel.parse(text)
        except FitError:
            return
        raise FitError(f"{text!r} is a model of the library and not a formula; write dualfit.models.parse({text!r})")


def names_in(text: str) -> list[str]:
    """Return the names of variables and parameters in a formula, each once."""
    return list(dict.fromkeys(name for name in _NAME.findall(text) if name not in _WORDS))


def variables_of(text: str) -> list[str]:
    """Return the independent variable of a formula without declared variables: x, or t if there is no x.

    Raises
    ------
    FitError
        If the formula has several names, but neither x nor t.
    """
    names = names_in(text)
    if "x" not in names and "t" in names:
        return ["t"]
    if "x" not in names and len(names) > 1:
        raise FitError(f"the formula {text!r} contains neither x nor t; declare which of {', '.join(names)} is the variable, as in "
                       f"Model({text!r}, variables=[{names[-1]!r}])")
    return ["x"]


def written(nodes: list[Node], columns: list[str], params: list[str]) -> str | None:
    """Return the formula of the last node with names of columns and parameters; None if it cannot be written."""
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
        else:
            joins = name in ("and", "or", "not")
            given = [condition(at) if joins or (name == "select" and k == 0) else value(at) for k, at in enumerate(operands)]
            text = f"({_WRITTEN[name].format(*given)})" if name in _WRITTEN else f"{name}({', '.join(given)})"
        if len(text) > _LONGEST:
            return None
        texts.append(text)
    return value(len(nodes) - 1) if nodes else None
