"""Joint confidence regions of two parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._results import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class ContourLine:
    """The border of a joint confidence region.

    Attributes
    ----------
    level : float
        Joint confidence level.
    excess : float
        The excess on the line: 2 F(2, degrees of freedom; level), or the quantile of chi-square for absolute sigma.
    paths : list of ndarray of shape (k, 2)
        Points (first, second). The first and the last point of a closed path are equal; open paths end at the edge of
        the grid.
    """

    level: float
    excess: float
    paths: list[Array]


@dataclass(frozen=True, repr=False)
class Contour:
    """Cost of the best fits on a grid of two parameters, and its contour lines. Returned by `Fit.contour`.

    Attributes
    ----------
    names : (str, str)
        Names of the parameters.
    best : (float, float)
        Their fitted values.
    a, b : ndarray
        Grid values of the first and of the second parameter, ascending.
    excess : ndarray of shape (b.size, a.size)
        (S - S_min)/s², S twice the cost, minimised over the other parameters; NaN if a refit failed.
    lines : list of ContourLine
        One per level.
    better : dict of str to float, or None
        Parameters of a refit with a lower cost than the fit, if one was found. The regions then belong to a wrong
        minimum: fit again with this start.
    """

    names: tuple[str, str]
    best: tuple[float, float]
    a: Array
    b: Array
    excess: Array
    lines: list[ContourLine]
    better: dict[str, float] | None

    @classmethod
    def of(cls, names: tuple[str, str], best: tuple[float, float], a: Array, b: Array, excess: Array,
           lines: list[tuple[float, float, list[Array]]], better: list[tuple[str, float]] | None) -> Contour:
        """Create the result from the values of the core."""
        return cls(names, (best[0], best[1]), a, b, excess, [ContourLine(*line) for line in lines],
                   None if better is None else dict(better))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the contour lines and the fitted values with matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; new axes by default.
        """
        from ._plot import new_axes

        ax = new_axes(ax)
        for k, line in enumerate(self.lines):
            for i, path in enumerate(line.paths):
                ax.plot(*path.T, color=f"C{k}", label=None if i else f"{100 * line.level:g} % confidence")
        ax.plot(*self.best, "+", color="0.35", label="fit")
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.legend(frameon=False)
        return ax

    def __repr__(self) -> str:
        levels = ", ".join(f"{line.level:g}" for line in self.lines)
        return f"<Contour of {self.names[0]} and {self.names[1]}: {self.a.size} x {self.b.size} values, levels {levels}>"
