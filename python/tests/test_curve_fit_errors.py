"""Exceptions and warnings of `curve_fit`, compared with SciPy's for the same calls."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dualfit

optimize = pytest.importorskip("scipy.optimize")

x = np.linspace(0, 4, 50)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.05 * np.sin(9 * x)
nan, inf = np.nan, np.inf
with_nan = np.where(np.arange(50) == 3, nan, y)
not_definite = np.diag(np.where(np.arange(50) == 7, -1.0, 1.0))


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def line(x, a, b):
    return a * x + b


def faulty(x, a, b):
    raise KeyError("mine")


@dataclass
class Case:
    """A call, SciPy's exception, ours if it differs, and words in both messages (`words`) or in ours (`own_words`)."""

    call: Callable[[Callable[..., Any]], Any]
    scipy: type[Exception] | None
    words: str = ""
    ours: type[Exception] | None = None
    own_words: str = ""


#: Calls for which SciPy and dualfit raise the same exception.
ALIKE: dict[str, Case] = {
    "no points": Case(lambda fit: fit(decay, [], []), ValueError, "`ydata` must not be empty!"),
    "shape of partials": Case(lambda fit: fit(line, x, y, jac=lambda x, a, b: np.ones((3, 3))), TypeError, "(3, 3)"),
    "partials by column": Case(lambda fit: fit(line, x, y, jac=lambda x, a, b: np.ones((2, 50))), TypeError, "(2, 50)"),
    "partials by row": Case(lambda fit: fit(line, x, y, jac=lambda x, a, b: np.ones((50, 2)), col_deriv=True), TypeError,
                            "(50, 2)"),
    "partials in one row": Case(lambda fit: fit(line, x, y, jac=lambda x, a, b: np.ones(100)), TypeError, "(100,)"),
    "partials by column for trf": Case(lambda fit: fit(line, x, y, jac=lambda x, a, b: np.ones((2, 50)), method="trf"),
                                       ValueError, "wrong shape: expected (50, 2), actual (2, 50)"),
    "one partial per point for trf": Case(lambda fit: fit(lambda x, a: a * x, x, y, jac=lambda x, a: x, method="trf"),
                                          ValueError, "wrong shape: expected (50, 1)"),
    "nan in y": Case(lambda fit: fit(decay, x, with_nan), ValueError, "array must not contain infs or NaNs"),
    "inf in x": Case(lambda fit: fit(decay, np.append(x[:-1], inf), y), ValueError, "must not contain infs or NaNs"),
    "lengths": Case(lambda fit: fit(decay, x, y[:-1]), ValueError, "could not be broadcast together with shapes (50,) (49,)"),
    "x by columns": Case(lambda fit: fit(line, np.ones((50, 2)), y), ValueError, "could not be broadcast together"),
    "wrong length": Case(lambda fit: fit(lambda x, a, b: (a * x + b)[:-1], x, y), ValueError, "could not be broadcast"),
    "no parameters": Case(lambda fit: fit(lambda x: x, x, y), ValueError, "Unable to determine number of fit parameters."),
    "any number of parameters": Case(lambda fit: fit(lambda x, *p: x * p[0], x, y), ValueError, "Unable to determine number"),
    "lm with bounds": Case(lambda fit: fit(decay, x, y, bounds=(0, 3), method="lm"), ValueError,
                           "Method 'lm' only works for unconstrained problems. Use 'trf' or 'dogbox' instead."),
    "start outside": Case(lambda fit: fit(decay, x, y, [9, 1, 1], bounds=(0, 3)), ValueError,
                          "Initial guess is outside of provided bounds"),
    "order of bounds": Case(lambda fit: fit(decay, x, y, bounds=([0, 5, 0], [3, 2, 3])), ValueError,
                            "Each lower bound must be strictly less than each upper bound."),
    "equal bounds": Case(lambda fit: fit(decay, x, y, bounds=([0, 2, 0], [3, 2, 3])), ValueError, "strictly less"),
    "length of bounds": Case(lambda fit: fit(decay, x, y, [1, 1, 1], bounds=([0, 0], [9, 9])), ValueError,
                             "Inconsistent shapes between bounds and `x0`."),
    "one bound": Case(lambda fit: fit(decay, x, y, bounds=([0, 0, 0],)), ValueError, "not enough values to unpack"),
    "length of sigma": Case(lambda fit: fit(decay, x, y, sigma=np.ones(49)), ValueError, "`sigma` has incorrect shape."),
    "shape of sigma": Case(lambda fit: fit(decay, x, y, sigma=np.ones((50, 2))), ValueError, "`sigma` has incorrect shape."),
    "sigma not definite": Case(lambda fit: fit(decay, x, y, sigma=not_definite), ValueError,
                               "`sigma` must be positive definite."),
    "method": Case(lambda fit: fit(decay, x, y, method="bfgs"), ValueError, "'trf', 'dogbox' or 'lm'."),
    "few points": Case(lambda fit: fit(decay, x[:2], y[:2]), TypeError,
                       "The number of func parameters=3 must not exceed the number of data points=2"),
    "maxfev": Case(lambda fit: fit(decay, x, y, maxfev=2), RuntimeError,
                   "Optimal parameters not found: Number of calls to function has reached maxfev = 2."),
    "max_nfev": Case(lambda fit: fit(decay, x, y, max_nfev=2, method="trf"), RuntimeError,
                     "Optimal parameters not found: The maximum number of function evaluations is exceeded."),
    "nan_policy": Case(lambda fit: fit(decay, x, y, nan_policy="hi"), ValueError,
                       "nan_policy must be one of {None, 'raise', 'omit'}"),
    "propagate": Case(lambda fit: fit(decay, x, y, nan_policy="propagate"), ValueError,
                      "`nan_policy='propagate'` is not supported by this function."),
    "raise": Case(lambda fit: fit(decay, x, with_nan, nan_policy="raise"), ValueError, "The input contains nan values"),
    "keyword": Case(lambda fit: fit(decay, x, y, nonsense=3), TypeError, "unexpected keyword argument 'nonsense'"),
    "args": Case(lambda fit: fit(decay, x, y, args=(1,)), ValueError, "'args' is not a supported keyword argument."),
    "loss": Case(lambda fit: fit(decay, x, y, loss="nonsense", method="trf"), ValueError, "loss"),
    "jac": Case(lambda fit: fit(decay, x, y, jac="nonsense", method="trf"), ValueError,
                "`jac` must be '2-point', '3-point', 'cs' or callable."),
    "text for y": Case(lambda fit: fit(decay, x, ["a"] * 50), ValueError, "could not convert string to float: 'a'"),
    "text for x": Case(lambda fit: fit(decay, ["a"] * 50, y), ValueError, "could not convert string to float: 'a'"),
    "None for y": Case(lambda fit: fit(decay, x, None), ValueError, "must not contain infs or NaNs"),
    "short start": Case(lambda fit: fit(decay, x, y, [1, 1]), TypeError, "missing 1 required positional argument: 'c'"),
    "long start": Case(lambda fit: fit(decay, x, y, [1, 1, 1, 1]), TypeError, "takes 4 positional arguments but 5 were given"),
    "empty start": Case(lambda fit: fit(decay, x, y, []), TypeError),
    "f raises": Case(lambda fit: fit(faulty, x, y), KeyError, "mine"),
    "f is a number": Case(lambda fit: fit(3, x, y), TypeError, "3 is not a callable object"),
    "f returns None": Case(lambda fit: fit(lambda x, a, b: None, x, y), TypeError, "None"),
}

#: Calls for which SciPy raises another type, or returns the starting point as if it were the result.
DIFFERENT: dict[str, Case] = {
    "nan among bounds": Case(lambda fit: fit(decay, x, y, bounds=([0, 0, nan], [3, 3, 3])), ValueError, "bound"),
    "two rows of y": Case(lambda fit: fit(decay, x, np.ones((2, 50))), TypeError, "", ValueError, "broadcast"),
    "text for the start": Case(lambda fit: fit(decay, x, y, list("abc")), TypeError, "", ValueError, "convert string"),
    "f returns text": Case(lambda fit: fit(lambda x, a, b: "abc", x, y), TypeError, "", ValueError, "convert string"),
    "sigma of 0": Case(lambda fit: fit(decay, x, y, sigma=np.arange(50.0)), None, "", ValueError, "sigma is 0 at index 0"),
    "one sigma of 0": Case(lambda fit: fit(decay, x, y, sigma=0.0), None, "", ValueError, "sigma is 0"),
    "sigma below 0": Case(lambda fit: fit(decay, x, y, sigma=np.arange(50.0) - 0.5), None, "", ValueError, "sigma is -0.5"),
    "one sigma below 0": Case(lambda fit: fit(decay, x, y, sigma=-1.0), None, "", ValueError, "sigma is -1"),
    "sigma of nan": Case(lambda fit: fit(decay, x, y, sigma=with_nan), None, "", ValueError, "`sigma` is NaN at index 3"),
    "sigma of inf": Case(lambda fit: fit(line, x, y, sigma=np.full(50, inf)), None, "", ValueError, "no weight"),
    "nan in the start": Case(lambda fit: fit(decay, x, y, [1, nan, 1]), None, "", ValueError, "`b` is NaN"),
    "inf in the start": Case(lambda fit: fit(decay, x, y, [1, inf, 1]), None, "", ValueError, "`b` is inf"),
    "f is nan": Case(lambda fit: fit(lambda x, a, b: np.log(-a * x - b), x, y, [1, 1]), None, "", ValueError,
                     "the model is NaN at point 0 (x = 0)"),
    "nan in y, unchecked": Case(lambda fit: fit(decay, x, with_nan, check_finite=False), None, "", ValueError,
                                "`y` is NaN at index 3"),
    "tolerance below 0": Case(lambda fit: fit(decay, x, y, ftol=-1), RuntimeError, "", ValueError, "ftol"),
    "tolerance of nan": Case(lambda fit: fit(decay, x, y, ftol=nan), None, "", ValueError, "ftol"),
}


def outcome(case: Case, curve_fit: Callable[..., Any]) -> Exception | None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            case.call(curve_fit)
        except Exception as error:
            return error
    return None


@pytest.mark.parametrize("name", ALIKE)
def test_alike(name: str) -> None:
    case = ALIKE[name]
    expected, found = outcome(case, optimize.curve_fit), outcome(case, dualfit.curve_fit)
    assert isinstance(expected, case.scipy)
    assert isinstance(found, case.scipy), found
    assert case.words in str(expected)
    assert case.words in str(found)


@pytest.mark.parametrize("name", DIFFERENT)
def test_different(name: str) -> None:
    case = DIFFERENT[name]
    expected, found = outcome(case, optimize.curve_fit), outcome(case, dualfit.curve_fit)
    assert expected is None if case.scipy is None else isinstance(expected, case.scipy)
    assert isinstance(found, case.ours or case.scipy), found
    assert (case.own_words or case.words) in str(found)


def test_the_warning_is_that_of_scipy() -> None:
    assert dualfit.OptimizeWarning is optimize.OptimizeWarning


#: Calls whose covariance is infinite, and True if the data determine the parameters, which then equal SciPy's.
UNDETERMINED: dict[str, tuple[Callable[[Callable[..., Any]], Any], bool]] = {
    "as many points as parameters": (lambda fit: fit(line, x[:2], y[:2]), True),
    "one point": (lambda fit: fit(lambda x, a: a * x, [2.0], [4.0]), True),
    "unused": (lambda fit: fit(lambda x, a, b: a * x, x, y), True),
    "fewer points than parameters": (lambda fit: fit(decay, x[:2], y[:2], method="trf"), False),
    "one x": (lambda fit: fit(line, np.ones(50), y), False),
}


@pytest.mark.parametrize("name", UNDETERMINED)
def test_covariance_that_cannot_be_estimated(name: str) -> None:
    call, determined = UNDETERMINED[name]
    with pytest.warns(dualfit.OptimizeWarning, match="Covariance of the parameters could not be estimated") as caught:
        popt, pcov = call(dualfit.curve_fit)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert np.all(np.isposinf(pcov))
    if determined:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_allclose(popt, call(optimize.curve_fit)[0], rtol=1e-6)


def test_redundant_parameters_have_an_infinite_covariance() -> None:
    """SciPy returns a standard error of 5e14 for them with 'lm', and of 0.1 with 'trf'."""
    with pytest.warns(dualfit.OptimizeWarning, match="could not be estimated"):
        popt, pcov = dualfit.curve_fit(lambda x, a, b: a * b * x, x, y)
    assert popt[0] * popt[1] == pytest.approx(x @ y / (x @ x), rel=1e-9)
    assert np.all(np.isposinf(pcov))


def test_no_tolerances_at_all() -> None:
    """The fit continues until no step lowers the cost, and issues a warning."""
    with pytest.warns(dualfit.OptimizeWarning, match="may not have reached a minimum") as caught:
        popt, _ = dualfit.curve_fit(decay, x, y, ftol=0, xtol=0, gtol=0)
    assert caught[0].filename == __file__
    np.testing.assert_allclose(popt, dualfit.curve_fit(decay, x, y)[0], rtol=1e-8)
