"""The collection of model functions, each with the expected result of recording, for `test_model_functions`.

The functions are in the modules `models_*`, written in the styles of users, without annotations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

T = np.linspace(0.1, 9.0, 40)
XY = np.stack([T, np.cos(T)])
GX, GY = np.meshgrid(np.linspace(-2.0, 2.0, 6), np.linspace(-1.0, 3.0, 5))
W = np.logspace(-2.0, 4.0, 30)


@dataclass
class Case:
    """A model function.

    Attributes
    ----------
    f, x : callable, object
        The model and its argument x.
    first, second : list of float
        Parameters at which the recording must have the values of the function.
    fate : {"traced", "native", "checked"}
        "traced": recorded. "native": cannot be recorded. "checked": recorded with other values than those of the
        function, because it has state or randomness or tests the types of its parameters; the comparison at a few
        points detects this.
    """

    f: Callable[..., Any]
    x: Any
    first: list[float]
    second: list[float]
    fate: str


CASES: dict[str, Case] = {}


def model(
    *params: float, x: Any = T, fate: str = "traced", at: list[float] | None = None
) -> Callable[[Any], Any]:
    """Return a decorator that adds a function as a case."""

    def add(f: Any) -> Any:
        name = getattr(f, "__name__", type(f).__name__)
        assert name not in CASES
        second = at or [p * (1.0 + 0.07 * (k + 1)) for k, p in enumerate(params)]
        CASES[name] = Case(f, x, list(params), second, fate)
        return f

    return add
