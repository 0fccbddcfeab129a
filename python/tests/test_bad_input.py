"""Bad input: each kind raises its exception, which states the cause. Nothing panics or silently gives a wrong result."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualfit
from dualfit import FitError, fit

x = np.linspace(0, 4, 50)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.02 * np.sin(9 * x)
nan, inf = np.nan, np.inf
ONES = [1, 1, 1]


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def line(x, a, b):
    return a * x + b


def at(index: int, value: float, values: Any = y) -> Any:
    """Return `values` with `value` at an index."""
    return np.where(np.arange(50) == index, value, values)


#: Call, expected exception, and a part of its message.
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    # The data
    "no points": (lambda: fit(decay, [], [], ONES), FitError, "no data points"),
    "lengths": (lambda: fit(decay, x, y[1:], ONES), ValueError, "(50,) (49,)"),
    "nan in y": (lambda: fit(decay, x, at(3, nan), ONES), FitError, "`y` is NaN at index 3"),
    "nan in y, mended": (lambda: fit(decay, x, at(3, nan), ONES), FitError, "mask it, or use nan_policy=\"omit\""),
    "inf in y": (lambda: fit(decay, x, at(3, inf), ONES), FitError, "`y` is inf at index 3"),
    "-inf in y": (lambda: fit(decay, x, at(3, -inf), ONES), FitError, "`y` is -inf at index 3"),
    "nan in x": (lambda: fit(decay, at(7, nan, x), y, ONES), FitError, "`x` is NaN at index 7"),
    "inf in x": (lambda: fit(decay, at(7, inf, x), y, ONES), FitError, "`x` is inf at index 7"),
    "all of y nan": (lambda: fit(decay, x, y * nan, ONES), FitError, "50 such value"),
    "all of y omitted": (lambda: fit(decay, x, y * nan, ONES, nan_policy="omit"), FitError, "50 of 50 points were masked"),
    "None in y": (lambda: fit(decay, x, [None] * 50, ONES), FitError, "`y` is NaN at index 0"),
    "words in y": (lambda: fit(decay, x, ["a"] * 50, ONES), ValueError, "could not convert string to float"),
    "words in x": (lambda: fit(decay, ["a"] * 50, y, ONES), ValueError, "could not convert string to float"),
    "complex y": (lambda: fit(decay, x, 1j * y, ONES), TypeError, "complex data have two real numbers per point"),
    "complex x": (lambda: fit(decay, 1j * x, y, ONES), TypeError, "complex data have two real numbers per point"),
    "times in x": (lambda: fit(line, np.arange(50).astype("M8[s]"), y), TypeError, "times have no unit"),
    "ragged x": (lambda: fit(decay, [[1, 2], [3]], [1, 2], ONES), ValueError, "inhomogeneous"),
    "two rows of y": (lambda: fit(decay, x, np.stack([y, y]), ONES), ValueError, "(50,) (2, 50)"),
    "a column of y": (lambda: fit(decay, x, y[:, None], ONES), ValueError, "(50,) (50, 1)"),
    "x by columns": (lambda: fit(lambda x, a, b: a * x[0] + b * x[1], np.ones((50, 2)), y, [1, 1]), ValueError, "(2,) (50,)"),
    "few points": (lambda: fit(decay, x[:2], y[:2], ONES), FitError, "2 point(s) cannot determine 3 free parameter(s)"),
    "few points, mended": (lambda: fit(decay, x[:2], y[:2], ONES), FitError, "use allow_underdetermined=True"),
    # The starting point
    "nan in p0": (lambda: fit(decay, x, y, [1, nan, 1]), FitError, "the start of parameter `b` is NaN"),
    "inf in p0": (lambda: fit(decay, x, y, [1, inf, 1]), FitError, "the start of parameter `b` is inf"),
    "no p0 and no search": (lambda: fit(decay, x, y, search="never"), FitError, "no start is known for b"),
    "no p0 and no search, mended": (lambda: fit(decay, x, y, search="never"), FitError, "{\"b\": 1.0}"),
    "search of another kind": (lambda: fit(decay, x, y, search="hard"), ValueError, "there are \"never\", \"needed\""),
    "empty p0": (lambda: fit(decay, x, y, []), FitError, "3 parameter(s) (a, b, c) but p0 has 0"),
    "short p0": (lambda: fit(decay, x, y, [1, 1]), FitError, "3 parameter(s) (a, b, c) but p0 has 2"),
    "long p0": (lambda: fit(decay, x, y, [1, 1, 1, 1]), FitError, "3 parameter(s) (a, b, c) but p0 has 4"),
    "p0 of words": (lambda: fit(decay, x, y, list("abc")), ValueError, "could not convert string to float"),
    "p0 by name of words": (lambda: fit(decay, x, y, {"b": "one"}), TypeError, "p0['b'] is 'one'; give a number"),
    "p0 with another name": (lambda: fit(decay, x, y, {"q": 1}), FitError, "there is no parameter `q`; the model has a, b, c"),
    "p0 outside": (lambda: fit(decay, x, y, [1, 5, 1], bounds={"b": (0, 2)}), FitError, "the start of `b` is 5, outside its"),
    "p0 outside, mended": (lambda: fit(decay, x, y, [1, 5, 1], bounds={"b": (0, 2)}), FitError, "use clamp_start=True"),
    "p0 of a tied parameter": (lambda: fit(decay, x, y, {"a": 1, "b": 1, "c": 1}, ties={"c": "a/5"}), FitError, "`c`"),
    # Standard deviations of the observations
    "sigma of 0": (lambda: fit(decay, x, y, ONES, sigma=at(5, 0, x + 1)), FitError, "sigma is 0 at index 5"),
    "sigma below 0": (lambda: fit(decay, x, y, ONES, sigma=at(5, -2, x + 1)), FitError, "sigma is -2 at index 5"),
    "sigma of nan": (lambda: fit(decay, x, y, ONES, sigma=at(5, nan, x + 1)), FitError, "`sigma` is NaN at index 5"),
    "one sigma of 0": (lambda: fit(decay, x, y, ONES, sigma=0), FitError, "sigma is 0"),
    "one sigma of nan": (lambda: fit(decay, x, y, ONES, sigma=nan), FitError, "sigma is nan"),
    "one sigma of inf": (lambda: fit(decay, x, y, ONES, sigma=inf), FitError, "sigma is inf"),
    "all sigma inf": (lambda: fit(decay, x, y, ONES, sigma=np.full(50, inf)), FitError, "have infinite sigma"),
    "short sigma": (lambda: fit(decay, x, y, ONES, sigma=x[1:] + 1), FitError, "`sigma` has 49 values but 50 are needed"),
    "sigma of words": (lambda: fit(decay, x, y, ONES, sigma=["a"] * 50), ValueError, "could not convert string"),
    "sigma not definite": (lambda: fit(decay, x, y, ONES, sigma=-np.eye(50)), FitError, "not positive definite"),
    "sigma of no square": (lambda: fit(decay, x, y, ONES, sigma=np.ones((50, 2))), FitError, "one row and one column per"),
    "x_sigma without sigma": (lambda: fit(decay, x, y, ONES, x_sigma=0.1), FitError, "errors of x are weighed against those"),
    "x_sigma below 0": (lambda: fit(decay, x, y, ONES, sigma=0.1, x_sigma=-1.0), FitError, "x_sigma"),
    # Settings of parameters
    "bounds reversed": (lambda: fit(decay, x, y, ONES, bounds={"b": (2, 1)}), FitError, "the bounds of `b` are reversed"),
    "bounds of nan": (lambda: fit(decay, x, y, ONES, bounds={"b": (nan, 1)}), FitError, "the lower bound of parameter `b`"),
    "bounds of another name": (lambda: fit(decay, x, y, ONES, bounds={"q": (0, 1)}), FitError, "the model has a, b, c; correct the name"),
    "short bounds": (lambda: fit(decay, x, y, ONES, bounds=([0, 0], [1, 1])), ValueError, "bounds has 2 lower values for 3"),
    "bounds of words": (lambda: fit(decay, x, y, ONES, bounds={"b": ("low", "high")}), ValueError, "could not convert"),
    "one bound": (lambda: fit(decay, x, y, ONES, bounds={"b": 3}), TypeError, ""),
    "fixed with another name": (lambda: fit(decay, x, y, ONES, fixed="q"), FitError, "there is no parameter `q`"),
    "fixed by number": (lambda: fit(decay, x, y, ONES, fixed=[0]), TypeError, ""),
    "tie to another name": (lambda: fit(decay, x, y, {"a": 1, "b": 1}, ties={"c": "q/5"}), FitError, "correct the tie of `c`"),
    "ties in a circle": (lambda: fit(decay, x, y, {"a": 1}, ties={"c": "b", "b": "c"}), FitError, "ties run in a circle"),
    "derived of no formula": (lambda: fit(decay, x, y, ONES, derived={"h": "ln(2/b"}), FitError, "missing `)`"),
    "prior of one number": (lambda: fit(decay, x, y, ONES, priors={"b": 1}), TypeError, ""),
    "prior without width": (lambda: fit(decay, x, y, ONES, sigma=0.1, absolute_sigma=True, priors={"b": (1, 0)}), FitError, "prior of `b` is 0;"),
    # Options
    "option": (lambda: fit(decay, x, y, ONES, nonsense=1), TypeError, "there is no option 'nonsense'; there are allow_under"),
    "tolerance below 0": (lambda: fit(decay, x, y, ONES, ftol=-1), FitError, "option `ftol` is -1; it must be at least 0"),
    "tolerance of nan": (lambda: fit(decay, x, y, ONES, xtol=nan), FitError, "option `xtol` is NaN"),
    "tolerance of words": (lambda: fit(decay, x, y, ONES, ftol="tiny"), TypeError, "ftol is 'tiny'; give a number"),
    "no evaluations": (lambda: fit(decay, x, y, ONES, max_evaluations=0), FitError, "max_evaluations is 0; it must be at least"),
    "evaluations below 0": (lambda: fit(decay, x, y, ONES, max_evaluations=-3), FitError, "max_evaluations is -3"),
    "half an evaluation": (lambda: fit(decay, x, y, ONES, max_evaluations=2.5), TypeError, "give a whole number"),
    "seconds below 0": (lambda: fit(decay, x, y, ONES, max_seconds=-1), ValueError, "max_seconds is -1"),
    "radius of 0": (lambda: fit(decay, x, y, ONES, initial_radius=0), FitError, "initial_radius"),
    "loss": (lambda: fit(decay, x, y, ONES, loss="hubert"), ValueError, 'there is no loss "hubert"'),
    "scale of a loss": (lambda: fit(decay, x, y, ONES, loss="huber", loss_scale=-1), FitError, "`loss_scale` is -1"),
    "scale of no loss": (lambda: fit(decay, x, y, ONES, loss_scale=0.1), FitError, "loss_scale is 0.1 and there is no loss"),
    "backend": (lambda: fit(decay, x, y, ONES, backend="gpu"), ValueError, 'there is no backend "gpu"; there are "auto"'),
    "device": (lambda: fit(decay, x, y, ONES, backend="cuda:x"), ValueError, "devices have numbers"),
    "precision": (lambda: fit(decay, x, y, ONES, precision="half"), ValueError, 'there is no precision "half"'),
    "callback": (lambda: fit(decay, x, y, ONES, callback=3), TypeError, "not callable"),
    "nan_policy": (lambda: fit(decay, x, y, ONES, nan_policy="drop"), ValueError, "there are 'raise' and 'omit'"),
    "short mask": (lambda: fit(decay, x, y, ONES, mask=x[1:] > 1), FitError, "`mask` has 49 values but 50 are needed"),
    "mask of nothing": (lambda: fit(decay, x, y, ONES, mask=x < -1), FitError, "50 of 50 points were masked"),
    # The model
    "no function": (lambda: fit(3, x, y), TypeError, "a model is a function, a formula as text or a Model, not int"),
    "no formula": (lambda: fit("a*exp(", x, y), FitError, "cannot read the expression"),
    "nan at the start": (lambda: fit(lambda x, a: np.log(-a - x), x, y, [1]), FitError, "the model is NaN at point 0 (x = 0)"),
    "inf at the start": (lambda: fit(lambda x, a, b: a * x**b, x, y, [1, -1]), FitError, "the model is inf at point 0 (x = 0)"),
    "overflow at the start": (lambda: fit(lambda x, a, b: a * np.exp(b * x), x, y, [1, 1e3]), FitError, "the model is inf"),
    "width of 0": (lambda: fit(lambda x, a, s: a * np.exp(-((x / s) ** 2)), x, y, [1, 0]), FitError, "NaN at point 0"),
    "returns None": (lambda: fit(lambda x, a: None, x, y, [1]), TypeError, "the model returned None"),
    "returns words": (lambda: fit(lambda x, a: "abc", x, y, [1]), ValueError, "could not convert string"),
    "returns complex": (lambda: fit(lambda x, a: 1j * a * x, x, y, [1]), TypeError, "the model returned complex numbers"),
    "returns few": (lambda: fit(lambda x, a: (a * x)[1:], x, y, [1]), ValueError, "(49,) (50,)"),
    "x is None": (lambda: fit(decay, None, y, ONES), TypeError, "NoneType"),
    "no parameters": (lambda: fit(lambda x: x, x, y), FitError, "the model has no parameters to fit"),
}


@pytest.mark.filterwarnings("ignore::dualfit.NotTracedWarning")
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    call, kind, words = REFUSED[name]
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value)
    assert not re.search(r"[A-Za-z]::[A-Za-z]|\((true|false)\)|\[\(", str(caught.value)), "that is Rust"


#: Odd values that are passed to every argument.
ODDITIES: list[Any] = [None, 3, -1, nan, inf, "text", b"bytes", "", [], [[]], (), {}, {"a": None}, {1: 2}, object(), int, len,
                       np.zeros((0, 3)), np.zeros((2, 2, 2)), np.array(None), np.array(["a"]), 1j, 10**400, -(10**400), ..., True]
ARGUMENTS = ["x", "y", "p0", "sigma", "absolute_sigma", "x_sigma", "mask", "nan_policy", *dualfit.Options.__annotations__]


def ends_well(call: Callable[[], Any]) -> None:
    """Check that `call` returns or raises an ordinary exception. A panic is not an ordinary exception."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            call()
        except Exception as error:
            assert type(error).__module__ in ("builtins", "numpy.exceptions", "numpy._core._exceptions", "dualfit",
                                              "dualfit._refusal"), error
            assert not isinstance(error, (AssertionError, SystemError, MemoryError)), error


@pytest.mark.parametrize("argument", ARGUMENTS)
def test_oddities(argument: str) -> None:
    for odd in ODDITIES:
        if argument in ("progress", "callback") and callable(odd):
            continue
        given = {"x": x, "y": y, "p0": ONES, argument: odd}
        ends_well(lambda given=given: fit(decay, **given))
        if argument not in ("y", "x_sigma"):
            ends_well(lambda given=given: dualfit.fit_batch(decay, given.pop("x"), np.stack([y, y]), **{
                name: value for name, value in given.items() if name != "y"}))


@pytest.mark.parametrize("argument", ["f", "xdata", "ydata", "p0", "sigma", "absolute_sigma", "bounds", "method", "jac",
                                      "nan_policy", "ftol", "maxfev", "loss", "f_scale", "factor"])
def test_oddities_of_curve_fit(argument: str) -> None:
    for odd in ODDITIES:
        given = {"f": decay, "xdata": x, "ydata": y, argument: odd}
        ends_well(lambda given=given: dualfit.curve_fit(**given))


def test_oddities_as_models_and_results() -> None:
    result = fit(decay, x, y, ONES)
    for odd in ODDITIES:
        calls: list[Callable[[], Any]] = [
            lambda: fit(odd, x, y), lambda: fit(lambda x, a: odd, x, y, [1]), lambda: dualfit.Model(decay, odd),
            lambda: dualfit.Model("a*x", variables=odd), lambda: dualfit.models.by_name(odd), lambda: dualfit.models.parse(odd),
            lambda: result.predict(odd), lambda: result.confidence_band(odd), lambda: result.confidence_band(level=odd),
            lambda: result.prediction_band(sigma=odd), lambda: result.profile(odd), lambda: result.profile("a", odd),
            lambda: result.propagate(odd), lambda: result[odd], lambda: dualfit.Fit.from_json(odd),
            lambda: dualfit.merge(odd), lambda: dualfit.Part.share(odd, 2),
            lambda: dualfit.Part(decay, odd, odd), lambda: dualfit.Part(decay, x, y, odd),
            lambda: dualfit.fit_parts(decay, odd, ONES), lambda: dualfit.fit_stream(decay, odd, ONES),
            lambda: dualfit.fit_stream(decay, "missing.npy", ONES, x=odd, y=odd, sigma=odd),
            lambda: dualfit.fit_stream(decay, None, ONES, chunks=lambda: odd),
            lambda: dualfit.fit_stream(decay, None, ONES, chunks=lambda: [odd]),
        ]
        for call in calls:
            ends_well(call)
