"""The collection of model functions, each with its fate; `test_model_functions` puts them to it.

The modules `models_*` have them, written as their authors write them: by habit, without annotations.
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
        The model and what it gets for x.
    first, second : list of float
        Parameters at which its recording has to have its values.
    fate : {"traced", "native", "checked"}
        Recorded; refused while it is recorded; or recorded, but with other values than its own, because it
        has state or randomness or asks what its parameters are: whoever records holds one against the other
        at a few points.
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
    """Adds a case."""

    def add(f: Any) -> Any:
        name = getattr(f, "__name__", type(f).__name__)
        assert name not in CASES
        second = at or [p * (1.0 + 0.07 * (k + 1)) for k, p in enumerate(params)]
        CASES[name] = Case(f, x, list(params), second, fate)
        return f

    return add
