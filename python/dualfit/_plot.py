"""Plots of fits with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._fit import Fit


def new_axes(ax: Axes | None) -> Axes:
    """Return the axes, or those of a new figure if there are none."""
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1] if ax is None else ax


def plotted(fit: Fit, ax: Axes | None, level: float | None, points: int, components: bool, residuals: bool | Axes) -> Axes:
    """Draw data, curve, terms, band and residuals of a fit of one independent variable."""
    import matplotlib.pyplot as plt

    x, y = np.asarray(fit._data("x"), dtype=np.float64), np.asarray(fit._data("y"), dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"only curves over one x are drawn; x has the shape {x.shape}, y {y.shape}")
    below = None if isinstance(residuals, bool) else residuals
    if residuals is True:
        if ax is not None:
            raise ValueError("give the axes for the residuals, too: fit.plot(ax, residuals=below), from ax, below = plt.subplots(2)[1]")
        ax, below = plt.subplots(2, sharex=True, height_ratios=(3, 1), layout="constrained")[1]
    ax = new_axes(ax)
    bars = fit._points.get("sigma")
    bars = np.broadcast_to(bars, y.shape) if bars is not None and np.ndim(bars) < 2 else None
    _draw_points(ax, x, y, bars, label="data")
    at, center, ends = _curve(fit, np.linspace(x.min(), x.max(), points), x, level)
    if ends is not None:
        ax.fill_between(at, *ends, alpha=0.25, color="C1", lw=0, label=f"{100 * (level or 0.0):g} % confidence")
    ax.plot(at, center, color="C1", label="fit", zorder=3)
    terms: list[Any] = fit.components(at) if components and (fit._prepared is None or fit._prepared.f is None) else []
    for k, term in enumerate(terms if len(terms) > 1 else []):
        ax.plot(at, term.values, "--", lw=1, color=f"C{k + 2}", label=term.name.rstrip("_"), zorder=2)
    ax.legend(frameon=False)
    if below is not None:
        below.axhline(0.0, color="C1", lw=1)
        _draw_points(below, x, fit.residuals(), bars)
        below.set_ylabel("residual")
    return ax


def _draw_points(ax: Axes, x: Any, y: Any, bars: Any, label: str | None = None) -> None:
    if bars is None:
        ax.plot(x, y, "o", ms=3, color="0.35", label=label, zorder=1)
    else:
        ax.errorbar(x, y, bars, fmt="o", ms=3, lw=0.8, color="0.35", label=label, zorder=1)


def _curve(fit: Fit, fine: Any, own: Any, level: float | None) -> tuple[Any, Any, Any]:
    """Return x of the drawn curve, the curve, and the limits of its band.

    The curve is drawn at x of the data if its value at a point depends on other points, or if the model has values only
    at the data.
    """
    try:
        at, order = (fine, np.arange(fine.size)) if _is_by_point(fit, own) else (None, np.argsort(own, kind="stable"))
        center = fit.predict(at)
    except (IndexError, TypeError, ValueError):
        at, order = None, np.argsort(own, kind="stable")
        center = fit.predict()
    drawn = (own if at is None else at)[order]
    if level is None:
        return drawn, center[order], None
    try:
        band = fit.confidence_band(at, level)
    except ValueError:  # The model of a saved fit of a directly called function.
        return drawn, center[order], None
    return drawn, band.center[order], (band.lower[order], band.upper[order])


def _is_by_point(fit: Fit, own: Any) -> bool:
    """Return True if the model has the same values at a third of the points, evaluated alone and in reverse order."""
    some = np.arange(own.size // 3, 2 * own.size // 3 + 1)[::-1]
    return bool(np.allclose(fit.predict(own[some]), fit.predict()[some], rtol=1e-6, atol=0.0, equal_nan=True))
