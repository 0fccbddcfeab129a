"""Bootstrap of a fit."""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import FitError
from ._results import Array, Interval


class Bootstrap:
    """Refits of data that are drawn at random. Returned by `Fit.bootstrap`; it prints as a table, and can be pickled.

    Refits that did not converge are left out and counted.
    """

    def __init__(self, core: _core.Replicates) -> None:
        self._core = core

    @property
    def names(self) -> list[str]:
        """Names of the parameters, in order."""
        return self._core.names

    @property
    def params(self) -> Array:
        """Parameters of the refits that converged, shape (refits, parameters)."""
        return self._core.params

    @property
    def std_errors(self) -> Array:
        """Standard deviation of each parameter over the refits."""
        return self._core.std_errors

    @property
    def errors(self) -> dict[str, float]:
        """The standard deviations by name."""
        return dict(zip(self.names, self.std_errors.tolist()))

    @property
    def bias(self) -> Array:
        """Mean over the refits minus the fitted value, for each parameter."""
        return self._core.bias

    @property
    def failed(self) -> int:
        """Number of refits that did not converge."""
        return self._core.failed

    @property
    def not_run(self) -> int:
        """Number of refits that a callback prevented."""
        return self._core.not_run

    def __getitem__(self, formula: str) -> Array:
        """Return the values of a parameter, a derived quantity or a formula, one per refit."""
        return self._core.quantity(formula)[1]

    def interval(self, formula: str, level: float = 0.95, method: str = "BCa") -> Interval:
        """Confidence interval of a parameter, a derived quantity or a formula.

        Parameters
        ----------
        formula : str
            For example ``"rate"`` or ``"ln(2)/rate"``.
        level : float
            Probability that the interval covers the true value.
        method : {'BCa', 'percentile'}
            Bias-corrected and accelerated interval, or percentiles of the refits.

        Returns
        -------
        Interval
            Lower and upper limit.

        Raises
        ------
        FitError
            If there are too few refits for the level, or too many failed.
        """
        lower, upper, _, _ = self._interval(formula, level, method)
        return Interval(lower, upper)

    def interval_errors(self, formula: str, level: float = 0.95, method: str = "BCa") -> tuple[float, float]:
        """Standard errors of both limits of `interval`: their scatter between seeds, which more refits reduce."""
        _, _, lower, upper = self._interval(formula, level, method)
        return lower, upper

    def _interval(self, formula: str, level: float, method: str) -> tuple[float, float, float, float]:
        kinds = {"bca": True, "percentile": False}
        if not isinstance(method, str) or method.lower() not in kinds:
            raise FitError(f"method is {method!r}; there are 'BCa' and 'percentile'")
        return self._core.interval(formula, level, kinds[method.lower()])

    def __len__(self) -> int:
        return len(self._core)

    def __str__(self) -> str:
        return str(self._core)

    def __repr__(self) -> str:
        return f"<Bootstrap of {len(self)} refits, {self.failed} failed>"

    def __reduce__(self) -> Any:
        return _restored, (self._core.to_json(),)


def _restored(text: str) -> Bootstrap:
    return Bootstrap(_core.Replicates.from_json(text))
