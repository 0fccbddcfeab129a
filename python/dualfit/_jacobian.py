"""Jacobians from the caller of `curve_fit`: checks of the shape, as in SciPy, and of the values."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Relative difference from finite differences above which a Jacobian is doubtful. Standard errors are wrong by about
#: the same fraction.
_TOLERANCE = 0.01
#: Minimum ratio of the difference and the uncertainty of finite differences.
_CERTAIN = 3.0


class Jacobian:
    """``jac(x, *params)`` as an array of shape (points, parameters).

    Parameters
    ----------
    jac : callable
        The caller's function.
    params : int
        Number of parameters.
    by_column : bool
        If True, `jac` returns an array of shape (parameters, points): `col_deriv` of `leastsq`.
    method : {'lm', 'trf', 'dogbox'}
        SciPy's method, which determines the exception for a wrong shape.
    """

    def __init__(self, jac: Callable[..., Any], params: int, by_column: bool, method: str) -> None:
        self._jac, self._params, self._by_column, self._method = jac, params, by_column, method

    def __call__(self, x: Any, *params: float) -> Any:
        return self._jac(x, *params)

    def rows(self, values: Any, shape: tuple[int, ...]) -> Array:
        """Convert the return value of the function to rows of partials, for points of the given shape.

        Raises
        ------
        TypeError
            If the shape is wrong and the method is 'lm'.
        ValueError
            If the shape is wrong and the method is another one.
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
    """Compare a Jacobian with finite differences of `f` along one direction.

    With partials J and the direction d, J d is compared with (f(at + d) - f(at - d)) / 2. The steps in d are chosen so
    that all parameters contribute about equally to the difference. One-sided differences estimate the uncertainty of
    the comparison, which is large at kinks and for rounded values.

    Parameters
    ----------
    f : callable
        Values at parameters, shape (points,).
    precision : dtype
        Dtype in which `f` computes.
    jacobian : array of shape (points, parameters)
        The caller's Jacobian at `at`.
    at, low, high : arrays of shape (parameters,)
        Parameters and their bounds.

    Returns
    -------
    difference : float
        Difference relative to the larger of the two; 0 if they agree or if the comparison is inconclusive.
    which : list of int
        Indices of the parameters whose partials differ if only this parameter moves.
    """
    here = f(at)
    # Relative step eps^(1/3): errors from rounding and from curvature are then about equal.
    relative = float(np.finfo(precision if precision.kind == "f" else np.float64).eps) ** (1.0 / 3.0)
    room = np.minimum(relative * np.where(at == 0.0, 1.0, np.abs(at)), np.minimum(at - low, high - at))
    lengths = np.sqrt((jacobian**2).sum(axis=0))
    effects = lengths * room
    # A parameter with a tiny effect would reduce the effects of the others to the level of rounding.
    effect = max(effects[effects > 0.0].min(initial=np.inf), 1e-4 * effects.max(initial=0.0))
    # Slightly different contributions, so that errors of opposite sign do not cancel.
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
