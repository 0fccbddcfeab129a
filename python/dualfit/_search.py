"""Fits from many starts: drawn evenly, or by differential evolution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._core import FitError
from ._data import whole
from ._fit import Fit
from ._model import Model, model_of
from ._progress import Bar
from ._results import Optima, Optimum
from ._settings import Options, OptionsWithoutBounds, are_pairs, bounded, two_pairs

if TYPE_CHECKING:
    from typing_extensions import Unpack


def multi_start(f: Callable[..., Any] | str | Model, x: Any, y: Any, p0: Any = None, *, starts: int = 64, ranges: Any = None,
                log_ranges: Any = None, sampling: str = "sobol", also_from: Any = (), seed: int = 0, sigma: Any = None,
                absolute_sigma: bool = False, x_sigma: Any = None, mask: Any = None, nan_policy: str = "raise",
                **options: Unpack[Options]) -> Fit:
    """Fit from many starts, for a cost with several minima: sums of peaks, exponentials or oscillations.

    Each start leads to a complete fit within the bounds. Starts are drawn within the bounds of each parameter, or
    within its range if `ranges` or `log_ranges` has one. For a parameter without finite bounds, the range is derived
    from the data.

    Parameters
    ----------
    f : callable, str or Model
        As for `fit`.
    x, y, p0 : array_like
        As for `fit`; `p0` is the first start, and fixed parameters keep its values.
    starts : int
        Number of drawn starts, at most 65,536; a power of two is best for ``sampling="sobol"``.
    ranges, log_ranges : mapping of str to (float, float), optional
        Ranges of the starts, inside the bounds; in `log_ranges` they are drawn evenly in the logarithm.
    sampling : {'sobol', 'latin_hypercube'}
        Method of drawing.
    also_from : array_like of shape (k, parameters)
        Further starts.
    seed : int
        Seed of the draws. The same seed gives the same starts.
    sigma, absolute_sigma, x_sigma, mask, nan_policy, **options
        See `Model.fit` and `Options`. A `callback` receives the steps of all fits.

    Returns
    -------
    Fit
        The converged fit with the lowest cost; ``optima`` has the number of starts and all minima.

    Raises
    ------
    FitError
        For an invalid request; the message names a remedy.

    See Also
    --------
    differential_evolution : for a cost with too many minima for independent starts.

    Examples
    --------
    >>> import dualfit, numpy as np
    >>> x = np.arange(80) / 10
    >>> y = 2 * np.sin(5.3 * x + 0.4) + 0.1 * np.cos(31 * x)
    >>> def wave(x, a, frequency, phase):
    ...     return a * np.sin(frequency * x + phase)
    >>> fit = dualfit.multi_start(wave, x, y, [1, 2, 0], bounds={"a": (0, 10), "frequency": (0, 10), "phase": (-3.2, 3.2)})
    >>> round(fit.values["frequency"], 1), fit.optima.starts, len(fit.optima.distinct) > 1
    (5.3, 65, True)
    """
    given = np.asarray(also_from, dtype=np.float64)
    if given.size and given.ndim != 2:
        raise FitError(f"also_from has the shape {given.shape}; give one row per start, with one value per parameter in each")
    drawn = {"starts": whole("starts", starts), "seed": whole("seed", seed), "sampling": sampling,
             "ranges": _ranges(ranges, log_ranges), "given": given.tolist()}
    model = model_of(f)
    search = _Search(_core.multi_start, drawn)
    return search.ended(model._fitted(x, y, p0, sigma, absolute_sigma, x_sigma, mask, nan_policy, options, search))


def differential_evolution(f: Callable[..., Any] | str | Model, x: Any, y: Any, bounds: Any = None, *, p0: Any = None,
                           maxiter: int = 1000, popsize: int = 15, tol: float = 0.01, populations: int = 4, ranges: Any = None,
                           log_ranges: Any = None, seed: int = 0, sigma: Any = None, absolute_sigma: bool = False,
                           x_sigma: Any = None, mask: Any = None, nan_policy: str = "raise", **options: Unpack[OptionsWithoutBounds]) -> Fit:
    """Search the region within the bounds by differential evolution, then fit from the best members.

    Like ``scipy.optimize.differential_evolution`` (best/1/bin with dither), for the cost of a curve fit. Several
    independent populations are searched; each ends in a fit. If several of them reach the same minimum, a lower
    one is unlikely.

    Parameters
    ----------
    f : callable, str or Model
        As for `fit`.
    x, y : array_like
        As for `fit`.
    bounds : mapping of str to (float, float), sequence of pairs, or Bounds, optional
        Bounds of the parameters: by name, or one (lower, upper) per parameter, or an object with `lb` and `ub`. For a
        parameter without finite bounds, the region is derived from the data.
    p0 : array_like or mapping, optional
        One more start of a fit; fixed parameters keep its values.
    maxiter : int
        Maximum number of generations.
    popsize : int
        Number of members of a population per free parameter.
    tol : float
        Tolerance: a population has converged if the standard deviation of its costs is at most `tol` times their mean.
    populations : int
        Number of independent populations.
    ranges, log_ranges : mapping of str to (float, float), optional
        Regions of the search inside the bounds; those of `log_ranges` are searched in the logarithm.
    seed : int
        Seed. The same seed gives the same result.
    sigma, absolute_sigma, x_sigma, mask, nan_policy, **options
        See `Model.fit` and `Options`. A `callback` receives an event of kind ``"generation"`` after each generation.

    Returns
    -------
    Fit
        The converged fit with the lowest cost; ``optima`` has all minima, and how many fits reached each.

    Raises
    ------
    FitError
        For an invalid request; the message names a remedy.

    Examples
    --------
    >>> import dualfit, numpy as np
    >>> x = np.arange(80) / 10
    >>> y = 2 * np.sin(5.3 * x + 0.4) + 0.1 * np.cos(31 * x)
    >>> def wave(x, a, frequency, phase):
    ...     return a * np.sin(frequency * x + phase)
    >>> fit = dualfit.differential_evolution(wave, x, y, [(0, 10), (0, 10), (-3.2, 3.2)], seed=7)
    >>> round(fit.values["frequency"], 1), fit.optima.distinct[0].hits >= 4
    (5.3, True)
    """
    evolution = {"populations": whole("populations", populations, 1), "members": whole("popsize", popsize, 1),
                 "generations": whole("maxiter", maxiter), "tolerance": float(tol), "seed": whole("seed", seed),
                 "ranges": _ranges(ranges, log_ranges)}
    model = model_of(f)
    if model._names is not None and are_pairs(bounds) and len(bounds) == len(model._names) == 2:
        raise two_pairs(bounds, model._names)
    search = _Search(_core.differential_evolution, evolution)
    return search.ended(model._fitted(x, y, p0, sigma, absolute_sigma, x_sigma, mask, nan_policy, {**options, "bounds": bounds}, search))


class _Search:
    """A function that fits like `_core.Model.fit`, by a search, and keeps the optima."""

    def __init__(self, search: Callable[..., tuple[_core.Fit, Any]], how: dict[str, Any]) -> None:
        self._search, self._how = search, how
        self._found: dict[str, Any] = {}

    def __call__(self, model: _core.Model, points: dict[str, Any], start: Any, settings: dict[str, Any], at: Any) -> _core.Fit:
        callback = settings.get("callback")
        if isinstance(callback, Bar):
            callback.of_many = True
        best, self._found = self._search(model, points, start, settings, at, self._how)
        return best

    def ended(self, fit: Fit) -> Fit:
        """Return the fit with the optima of the last call."""
        distinct = [Optimum(dict(zip(fit.names, params.tolist())), params, cost, hits)
                    for params, cost, hits in self._found["distinct"]]
        fit._optima = Optima(self._found["starts"], self._found["converged"], distinct, self._found["chance_of_unseen"],
                             self._found["text"])
        return fit


def _ranges(ranges: Any, log_ranges: Any) -> list[tuple[str, float, float, bool]]:
    """Convert ranges by name to (name, lower, upper, logarithmic)."""
    made = []
    for what, each in (("ranges", ranges), ("log_ranges", log_ranges)):
        if each is not None and not isinstance(each, Mapping):
            raise FitError(f"{what} is {each!r}; give a mapping of names to (lower, upper)")
        made += [(name, low, high, what == "log_ranges") for name, low, high in bounded([], each)]
    return made

