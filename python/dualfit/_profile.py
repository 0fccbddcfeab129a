"""Profile of a parameter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from . import _core

Array = NDArray[np.float64]


class Profile:
    """Fits with one parameter fixed at values on both sides of its estimate. Returned by `Fit.profile`."""

    def __init__(self, walked: Callable[[float], _core.Profile], level: float) -> None:
        self._walked, self._level = walked, level
        self._core = walked(level)

    @property
    def name(self) -> str:
        """Name of the parameter."""
        return self._core.name

    @property
    def value(self) -> float:
        """Estimate of the parameter."""
        return self._core.value

    @property
    def values(self) -> Array:
        """Fixed values of the parameter, ascending."""
        return self._core.values

    @property
    def taus(self) -> Array:
        """Signed square roots of (S - S_min)/s² at `values`, S = 2·cost; standard errors assume a straight line."""
        return self._core.taus

    @property
    def params(self) -> Array:
        """All parameters at `values`, one row per value."""
        return self._core.params

    @property
    def better(self) -> dict[str, float] | None:
        """Parameters, by name, of a refit with a lower cost than the profiled fit; None if there is none."""
        return self._core.better

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Confidence interval of the parameter.

        A level higher than the level of the profile computes the profile again.

        Parameters
        ----------
        level : float
            Probability that the interval covers the true value, such as 0.9973 for three standard errors.

        Returns
        -------
        tuple of float
            Lower and upper limit; infinite if the profile never reaches the level, NaN if refits failed.
        """
        if self._level < level < 1:
            self._core, self._level = self._walked(level), level
        return self._core.interval(level)
