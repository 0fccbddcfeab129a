"""Comparison of models by their fits to the same data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._core import FitError
from ._fit import Fit
from ._hints import COMPARISONS, hint, unknown
from ._results import Array


@dataclass(frozen=True)
class FTest:
    """Test of a model against a larger model that contains it.

    Attributes
    ----------
    statistic : float
        F; for absolute sigma and counts the difference of chi-square.
    extra : int
        Number of additional parameters: degrees of freedom of the numerator of F, or of chi-square.
    residual : int or None
        Degrees of freedom of the denominator of F; None for the chi-square test.
    p_value : float
        Probability of a statistic at least as large if the smaller model is right.
    """

    statistic: float
    extra: int
    residual: int | None
    p_value: float

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise unknown(self, name, hint(name, COMPARISONS))


@dataclass(frozen=True)
class Comparison:
    """Information criteria of several models, and tests of each against the next. `print` shows a table.

    Attributes
    ----------
    aic, aicc : ndarray
        Akaike's criterion of each fit, and the one that is corrected for few points.
    weights, corrected_weights : ndarray
        Akaike weights of the models, whose sum is 1, from `aic` and from `aicc`. Prefer the corrected ones unless there
        are more than 40 points per parameter.
    tests : list of FTest
        Test of each model against the next one, if the models are nested.
    """

    aic: Array
    aicc: Array
    weights: Array
    corrected_weights: Array
    tests: list[FTest]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise unknown(self, name, hint(name, COMPARISONS))

    def __str__(self) -> str:
        lines = [f"{'fit':>3}  {'AIC':>12}  {'AICc':>12}  {'weight':>8}  {'weight (AICc)':>13}" + ("  p-value" if self.tests else "")]
        p_values = [""] + [f"  {test.p_value:.3g}" for test in self.tests] if self.tests else [""] * self.aic.size
        columns = zip(self.aic, self.aicc, self.weights, self.corrected_weights, p_values)
        return "\n".join(lines + [f"{k:>3}  {aic:>12.6g}  {aicc:>12.6g}  {weight:>8.3g}  {corrected:>13.3g}{p}"
                                  for k, (aic, aicc, weight, corrected, p) in enumerate(columns, 1)])


def compare(*fits: Fit, nested: bool = False) -> Comparison:
    """Compare models by their fits to the same data: Akaike weights and, for nested models, F tests.

    Parameters
    ----------
    *fits : Fit
        Fits of the same data with the same sigma, loss and estimator.
    nested : bool
        If True, each model must contain the one before it, and is tested against it: by the F test, or by the chi-square test
        if sigma is absolute or y are counts.

    Returns
    -------
    Comparison

    Raises
    ------
    FitError
        If the fits are not comparable: another number of points, loss or kind of sigma, or a fit that did not converge.

    Examples
    --------
    >>> import dualfit, numpy as np
    >>> x = np.linspace(0, 4, 40)
    >>> y = 2 * x + 1 + 0.3 * np.sin(9 * x)
    >>> line, parabola = dualfit.fit("a*x + b", x, y), dualfit.fit("a*x + b + c*x^2", x, y)
    >>> found = dualfit.compare(line, parabola, nested=True)
    >>> bool(found.weights[0] > 0.5), found.tests[0].p_value > 0.05
    (True, True)
    """
    strange = next((fit for fit in fits if not isinstance(fit, Fit)), None)
    if strange is not None:
        raise TypeError(f"compare takes fits, not {type(strange).__name__}; call compare(first, second, ...)")
    if nested and len(fits) < 2:
        raise FitError(f"{len(fits)} fit(s) cannot be tested; give at least two, the smaller model first")
    cores = [fit._core for fit in fits]
    aic, aicc, weights, corrected = np.array(_core.akaike_weights(cores), dtype=np.float64).T
    pairs = zip(cores, cores[1:]) if nested else ()
    return Comparison(aic, aicc, weights, corrected, [FTest(*_core.compare_nested(small, large)) for small, large in pairs])
