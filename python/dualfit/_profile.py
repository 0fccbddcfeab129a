"""Profile of a parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import _core
from ._results import Array, Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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

    def interval(self, level: float = 0.95) -> Interval:
        """Confidence interval of the parameter.

        A level higher than the level of the profile computes the profile again.

        Parameters
        ----------
        level : float
            Probability that the interval covers the true value, such as 0.9973 for three standard errors.

        Returns
        -------
        Interval
            Lower and upper limit; infinite if the profile never reaches the level, NaN if refits failed.
        """
        if self._level < level < 1:
            self._core, self._level = self._walked(level), level
        return Interval(*self._core.interval(level))

    def plot(self, ax: Axes | None = None, *, level: float | None = 0.95) -> Axes:
        """Draw `taus` over `values` with matplotlib, and the interval as a coloured range.

        The points lie on a straight line if the interval from the standard error is right.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; new axes by default.
        level : float, optional
            Confidence level of the interval; None for no interval.
        """
        from ._plot import new_axes

        ax = new_axes(ax)
        ax.plot(self.values, self.taus, "o-", ms=3, color="0.35", label="refits")
        ax.axvline(self.value, color="C1", lw=1, label="fit")
        if level is not None:
            ax.axvspan(*self.interval(level), alpha=0.25, color="C1", lw=0, label=f"{100 * level:g} % confidence")
        ax.set(xlabel=self.name, ylabel="τ")
        ax.legend(frameon=False)
        return ax

    def __repr__(self) -> str:
        values = self.values
        return f"<Profile of {self.name}: {values.size} values from {values[0]:.6g} to {values[-1]:.6g}, fitted {self.value:.6g}>"
