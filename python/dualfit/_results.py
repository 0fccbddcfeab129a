"""Result types: bands, terms of a sum, quantities with standard errors, minima of a search."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Band:
    """A confidence or prediction band of a fitted curve; one value per point in each array.

    Attributes
    ----------
    center : ndarray
        Values of the curve.
    std_errors : ndarray
        Standard errors of the curve, or standard deviations of new observations about it.
    lower, upper : ndarray
        Limits of the band; infinite if the curve depends on parameters that the data do not determine.
    level : float
        Probability of the band.
    """

    center: Array
    std_errors: Array
    lower: Array
    upper: Array
    level: float


@dataclass(frozen=True)
class Component:
    """A term of a fitted sum of library models.

    Attributes
    ----------
    name : str
        Prefix of the term, or name of its model.
    values, std_errors : ndarray
        One value per point.
    """

    name: str
    values: Array
    std_errors: Array


@dataclass(frozen=True)
class Quantity:
    """A value with its standard error. `print` rounds both at the second significant digit of the error.

    Examples
    --------
    >>> Quantity(2.51234567, 0.0123)
    2.5123457 ± 0.0123
    >>> print(Quantity(2.51234567, 0.0123), Quantity(123456.0, 7890.0))
    2.512 ± 0.012 123500 ± 7900
    """

    value: float
    std_error: float

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        return f"{self.value:.8g} ± {self.std_error:.4g}"

    def __str__(self) -> str:
        if not (np.isfinite(self.value) and np.isfinite(self.std_error) and self.std_error > 0.0):
            return repr(self)
        # Position of the second significant digit of the rounded error (0.0996 rounds to 0.10).
        decimals = 1 - int(np.floor(np.log10(float(f"{self.std_error:.1e}"))))
        if abs(np.log10(self.std_error)) > 6.0:
            return repr(self)
        value, error = round(self.value, decimals), round(self.std_error, decimals)
        return f"{value:.{max(decimals, 0)}f} ± {error:.{max(decimals, 0)}f}"


@dataclass(frozen=True)
class Optimum:
    """A minimum of the cost that one or more starts reached.

    Attributes
    ----------
    values : dict of str to float
        The parameters by name.
    params : ndarray of shape (parameters,)
        The parameters in order.
    cost : float
        Half the sum of squared weighted residuals, or of their losses.
    hits : int
        Number of starts that reached it.
    """

    values: dict[str, float]
    params: Array
    cost: float
    hits: int


@dataclass(frozen=True)
class Optima:
    """Starts and minima of `multi_start` or `differential_evolution`. `print` shows a table of the minima.

    Attributes
    ----------
    starts : int
        Number of fits, including the fit from `p0`.
    converged : int
        Number of fits that converged.
    distinct : list of Optimum
        The minima by ascending cost; the first one belongs to the fit. Results that differ only by an exchange of equal
        terms are one minimum.
    chance_of_unseen : float or None
        Estimated probability that one more start finds a new minimum: the fraction of the converged fits whose minimum
        no other start reached. None if no fit converged.
    """

    starts: int
    converged: int
    distinct: list[Optimum]
    chance_of_unseen: float | None
    _text: str = field(repr=False)

    def __str__(self) -> str:
        return self._text
