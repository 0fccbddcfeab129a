"""`NotTraceable`: an operation that cannot be recorded, its line in the user's code, and a remedy."""

from __future__ import annotations

import linecache
import os
import traceback
from types import TracebackType
from typing import Any

import numpy as np

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_LIBRARIES = tuple(os.sep + name + os.sep for name in ("scipy", "pandas", "numpy", "jax", "jaxlib"))
#: Remedy for a function that computes with JAX, which does not support tracers.
_JAX = ("write it with NumPy (np.exp instead of jnp.exp), so that it is recorded with exact partials; or let JAX find them for "
        "`curve_fit`: jac=lambda x, *p: jax.jacfwd(lambda p: f(x, *p))(np.array(p))")


class NotTraceable(TypeError):
    """The model function uses its parameters in a way that cannot be recorded.

    Parameters
    ----------
    what : str
        The operation that cannot be recorded.
    remedy : str
        Replacement to write instead, if known.
    place : str
        The file, the line and its text.
    """

    def __init__(self, what: str, remedy: str = "", place: str = "") -> None:
        super().__init__(what, remedy, place)
        self.what, self.remedy, self.place = what, remedy, place

    def __str__(self) -> str:
        start, end = self.place + ": " if self.place else "", "; " + self.remedy if self.remedy else ""
        return start + self.what + end


def _is_the_users(filename: str) -> bool:
    if filename.startswith((_HERE, _NUMPY)) or filename == "<__array_function__ internals>":
        return False
    if "site-packages" in filename:
        return not any(name in filename for name in _LIBRARIES)
    return not filename.startswith(_STANDARD)


def place_of(trace: TracebackType | None) -> str:
    """Return the innermost line of user code in a traceback: ``model.py, line 7 (`if a > 0:`)``."""
    place = ""
    for frame, line in traceback.walk_tb(trace):
        filename = frame.f_code.co_filename
        if _is_the_users(filename):
            place = _place(filename, line, linecache.getline(filename, line, frame.f_globals))
    return place


def remedy_of(module: str) -> str:
    """Return the remedy for a module whose types or functions do not accept tracers; "" if no remedy is known."""
    return _JAX if module.partition(".")[0] in ("jax", "jaxlib") else ""


def definition_of(function: Any) -> str:
    """Return the location of the first line of a function."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    return _place(code.co_filename, code.co_firstlineno,
                  linecache.getline(code.co_filename, code.co_firstlineno))


def _place(filename: str, line: int, text: str) -> str:
    name = filename if filename.startswith("<") else os.path.basename(filename)
    return f"{name}, line {line}" + (f" (`{text.strip()}`)" if text.strip() else "")
