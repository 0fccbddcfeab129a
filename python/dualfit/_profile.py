"""The profile of a parameter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from . import _core

Array = NDArray[np.float64]


class Profile:
    """The best fits with one parameter held at values on both sides of its best one; `Fit.profile` makes it."""

    def __init__(self, walked: Callable[[float], _core.Profile], level: float) -> None:
        self._walked, self._level = walked, level
        self._core = walked(level)

    @property
    def name(self) -> str:
        """The parameter."""
        return self._core.name

    @property
    def value(self) -> float:
        """Its best value."""
        return self._core.value

    @property
    def values(self) -> Array:
        """Values at which it was held, ascending."""
        return self._core.values

    @property
    def taus(self) -> Array:
        """The signed roots of the excess of the cost there, which an error bar takes for a straight line."""
        return self._core.taus

    @property
    def params(self) -> Array:
        """All parameters there, one row per value."""
        return self._core.params

    @property
    def better(self) -> dict[str, float] | None:
        """The parameters, by name, of a fit with a lower cost than the one that was profiled, if a refit found one."""
        return self._core.better

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The interval that covers the true value with a probability.

        A level beyond that of the profile makes the profile again, to this level.

        Parameters
        ----------
        level : float
            The probability, such as 0.9973 for three standard errors.

        Returns
        -------
        tuple of float
            The lower and the upper end; infinite where nothing limits it, NaN where refits failed.
        """
        if self._level < level < 1:
            self._core, self._level = self._walked(level), level
        return self._core.interval(level)
