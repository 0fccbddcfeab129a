"""Result types: bands, terms of a sum, quantities with standard errors, minima of a search."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._hints import BANDS, PARAMETERS, QUANTITIES, hint, unknown

Array = NDArray[np.float64]


class InOrder(np.ndarray[Any, np.dtype[np.float64]]):
    """One number per parameter. An index by name raises an error that names `Fit.values`.

    Parts of the array and results of operations are ordinary arrays.
    """

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            raise IndexError(f"the numbers are in the order of fit.names; by name write fit[{index!r}].value and fit[{index!r}].std_error, or "
                             f"fit.values[{index!r}] and fit.errors[{index!r}]")
        return self.view(np.ndarray)[index]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise unknown(self, name, hint(name, PARAMETERS))

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array.view(np.ndarray)[()]

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))


def _decimals(error: float, digits: int) -> int:
    """Return the number of decimals at which a number with this error is rounded, for `digits` digits of the error."""
    # The error is rounded first: two digits of 0.0996 are 0.10.
    return digits - 1 - int(np.floor(np.log10(float(f"{error:.{digits - 1}e}"))))


def _rounded(value: float, decimals: int) -> str:
    """Return a number rounded to this many decimals; before the decimal point if they are negative."""
    return f"{round(value, decimals):.{max(decimals, 0)}f}"


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

    if not TYPE_CHECKING:

        def __getitem__(self, index: Any) -> Any:
            raise TypeError(f"band[{index!r}] does not exist: the limits of a band are the arrays band.lower and band.upper")

        def __getattr__(self, name: str) -> Any:
            raise unknown(self, name, hint(name, BANDS))


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
    """A value with its standard error. It prints with both rounded at the second significant digit of the error.

    Examples
    --------
    >>> Quantity(2.51234567, 0.0123), Quantity(123456.0, 7890.0)
    (2.512 ± 0.012, 123500 ± 7900)
    """

    value: float
    std_error: float

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        if not (np.isfinite(self.value) and 1e-6 < self.std_error < 1e6):
            return f"{self.value:.8g} ± {self.std_error:.4g}"
        decimals = _decimals(self.std_error, 2)
        return f"{_rounded(self.value, decimals)} ± {_rounded(self.std_error, decimals)}"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise unknown(self, name, hint(name, QUANTITIES))


class Interval(NamedTuple):
    """A confidence interval: a tuple that prints with its limits rounded at the third significant digit of its width.

    Examples
    --------
    >>> Interval(2.4823915730, 2.5421084312)
    (2.4824, 2.5421)
    >>> low, high = Interval(1.0, 2.0)
    """

    lower: float
    upper: float

    def __repr__(self) -> str:
        width = self.upper - self.lower
        if not 1e-6 < width < 1e6:
            return f"({self.lower:.8g}, {self.upper:.8g})"
        decimals = _decimals(width, 3)
        return f"({_rounded(self.lower, decimals)}, {_rounded(self.upper, decimals)})"


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
