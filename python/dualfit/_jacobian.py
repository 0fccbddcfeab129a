"""Jacobians that the caller of `curve_fit` gives: their shape, as SciPy checks it, and a look at their values."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Relative difference from a finite difference above which a Jacobian is doubtful: errors are wrong by about as much.
_TOLERANCE = 0.01
#: How much larger the difference must be than what one-sided finite differences leave unknown.
_CERTAIN = 3.0


class Jacobian:
    """``jac(x, *params)`` as an array of shape (points, parameters).

    Parameters
    ----------
    jac : callable
        The caller's function.
    params : int
        Parameters.
    by_column : bool
        Whether it gives an array of shape (parameters, points): `col_deriv` of `leastsq`.
    method : {'lm', 'trf', 'dogbox'}
        The method of SciPy, which decides on the exception for a wrong shape.
    """

    def __init__(self, jac: Callable[..., Any], params: int, by_column: bool, method: str) -> None:
        self._jac, self._params, self._by_column, self._method = jac, params, by_column, method

    def __call__(self, x: Any, *params: float) -> Any:
        return self._jac(x, *params)

    def rows(self, values: Any, shape: tuple[int, ...]) -> Array:
        """What the function returned for points of a shape, as rows of partials.

        Raises
        ------
        TypeError
            For an array of another shape, for 'lm'.
        ValueError
            The same for other methods.
        """
        if hasattr(values, "toarray"):  # a sparse matrix
            values = values.toarray()
        array = np.asarray(values, dtype=np.float64)
        n, m = self._params, prod(shape)
        if self._method == "lm" and n == 1 and array.size == m:
            array = array.reshape(m, 1)  # As in SciPy: one partial per point needs no second axis.
        elif self._by_column:
            if array.shape not in ((n, m), (n, *shape)):
                raise self._wrong_shape((n, m), array.shape)
            array = array.reshape(n, m).T
        elif array.shape not in ((m, n), (*shape, n)):
            raise self._wrong_shape((m, n), array.shape)
        return np.ascontiguousarray(array.reshape(m, n))

    def _wrong_shape(self, expected: tuple[int, int], actual: tuple[int, ...]) -> Exception:
        hint = ""
        if actual == expected[::-1]:
            hint = "; transpose it" + ("" if self._by_column or self._method != "lm" else ", or give col_deriv=True")
        text = f"The return value of `jac` has wrong shape: expected {expected}, actual {actual}{hint}."
        return TypeError(text) if self._method == "lm" else ValueError(text)


def doubts(f: Callable[[Array], Array], precision: np.dtype[Any], jacobian: Array, at: Array, low: Array,
           high: Array) -> tuple[float, list[int]]:
    """A comparison of a Jacobian with finite differences of `f` along one direction.

    With partials J and the direction d, J d is compared with (f(at + d) - f(at - d)) / 2. Every parameter moves so far
    that its partials have about the same part in the difference. One-sided differences say how far it is to be trusted, at
    kinks and where values are rounded.

    Parameters
    ----------
    f : callable
        Values at parameters, shape (points,).
    precision : dtype
        The type in which it computes them.
    jacobian : array of shape (points, parameters)
        That of the caller at `at`.
    at, low, high : arrays of shape (parameters,)
        Parameters and their bounds.

    Returns
    -------
    difference : float
        Relative to the larger of the two; 0 if they agree, or if nothing can be said.
    which : list of int
        The parameters whose partials differ by themselves.
    """
    here = f(at)
    # A third of the digits: rounding and curvature then leave errors of about the same size.
    relative = float(np.finfo(precision if precision.kind == "f" else np.float64).eps) ** (1.0 / 3.0)
    room = np.minimum(relative * np.where(at == 0.0, 1.0, np.abs(at)), np.minimum(at - low, high - at))
    lengths = np.sqrt((jacobian**2).sum(axis=0))
    effects = lengths * room
    # One of hardly any effect would make the others' too small to be told from rounding.
    effect = max(effects[effects > 0.0].min(initial=np.inf), 1e-4 * effects.max(initial=0.0))
    # Slightly different parts, so that errors of opposite sign do not cancel.
    parts = effect * (1.0 + 0.1 * np.arange(at.size) / at.size)
    reach = np.minimum(room, np.divide(parts, lengths, out=np.full(at.size, np.inf), where=lengths > 0.0))

    def difference(reach: Array) -> float:
        above, below = (sign * (f(at + sign * reach) - here) for sign in (1.0, -1.0))
        central, claimed = 0.5 * (above + below), jacobian @ reach
        found, size = _length(claimed - central), max(_length(central), _length(claimed))
        return found / size if found > max(_TOLERANCE * size, _CERTAIN * _length(above - below)) else 0.0

    found = difference(reach)
    which = range(at.size) if found else ()
    return found, [k for k in which if difference(np.where(np.arange(at.size) == k, room, 0.0))]


def _length(values: Array) -> float:
    return float(np.sqrt((values**2).sum()))
