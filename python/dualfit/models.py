"""Models by name, which find their own starts, add, multiply and nest.

>>> from dualfit import models
>>> spectrum = models.gaussian("a_") + models.linear("bg_")
>>> spectrum.parameters
['a_amplitude', 'a_center', 'a_sigma', 'bg_slope', 'bg_intercept']

Each name of `names()` is a function of a prefix. lmfit's names, `GaussianModel(prefix="a_")`, are there, too.
"""

from __future__ import annotations

from operator import index
from typing import Any

from . import _core
from ._model import Model

#: lmfit's classes that have the same parameters and values here. Of `VoigtModel` and `SkewedVoigtModel` gamma is free.
_LMFIT = {
    "ConstantModel": "constant", "LinearModel": "linear", "QuadraticModel": "quadratic",
    "ExponentialModel": "exponential", "PowerLawModel": "power_law", "GaussianModel": "gaussian",
    "LorentzianModel": "lorentzian", "VoigtModel": "voigt", "PseudoVoigtModel": "pseudo_voigt",
    "MoffatModel": "moffat", "Pearson4Model": "pearson4", "Pearson7Model": "pearson7", "StudentsTModel": "students_t",
    "BreitWignerModel": "breit_wigner", "LognormalModel": "lognormal",
    "DampedOscillatorModel": "damped_oscillator", "DampedHarmonicOscillatorModel": "damped_harmonic_oscillator",
    "ExponentialGaussianModel": "exponential_gaussian", "SkewedGaussianModel": "skewed_gaussian",
    "SkewedVoigtModel": "skewed_voigt", "DoniachModel": "doniach", "SplitLorentzianModel": "split_lorentzian",
    "SineModel": "sine", "FermiModel": "fermi_dirac", "BoseModel": "bose_einstein",
}

#: What is no function of a prefix alone.
_MADE = ("PolynomialModel", "SplineModel", "by_name", "names", "parse", "polynomial", "spline")


def names() -> list[str]:
    """The names of the models."""
    return _core.model_names()


def by_name(name: str, prefix: str = "") -> Model:
    """The model of a name.

    Parameters
    ----------
    name : str
        One of `names()`.
    prefix : str
        What the names of its parameters begin with.
    """
    return Model._of("by_name", name, prefix)


def polynomial(degree: int, prefix: str = "") -> Model:
    """c0 + c1·x + c2·x² + …, with its start.

    Parameters
    ----------
    degree : int
        Of the highest power, at most 50.
    prefix : str
        What the names of its parameters begin with.
    """
    return Model._of("polynomial", index(degree), prefix)


def spline(knots: Any, prefix: str = "") -> Model:
    """A cubic spline: the curves that SciPy's `make_interp_spline` has through any values at the knots, with its start.

    Parameters
    ----------
    knots : array_like
        The x where its pieces meet, from 4 to 100 that rise. There is a parameter for each, `s0`, `s1`, …, and the
        values there are derived quantities `at_knot0`, `at_knot1`, …
    prefix : str
        What the names of its parameters begin with.
    """
    return Model._of("spline", [float(knot) for knot in knots], prefix)


def parse(text: str) -> Model:
    """What a text describes: ``"gaussian(g1_) + linear(bg_)"``."""
    return Model._of("parse", text)


def PolynomialModel(degree: int = 7, prefix: str = "") -> Model:  # noqa: N802
    """`polynomial`, as lmfit calls it."""
    return polynomial(degree, prefix)


def SplineModel(xknots: Any, prefix: str = "") -> Model:  # noqa: N802
    """`spline`, as lmfit calls it."""
    return spline(xknots, prefix)


def __getattr__(name: str) -> Any:
    known = _LMFIT.get(name, name)
    if known not in _core.model_names():
        raise AttributeError(f"there is no model {name!r}; dualfit.models.names() lists them")

    def model(prefix: str = "") -> Model:
        return by_name(known, prefix)

    model.__name__, model.__qualname__ = name, name
    model.__doc__ = f"Parameters: {', '.join(by_name(known).parameters)}."
    return model


def __dir__() -> list[str]:
    return sorted([*_core.model_names(), *_LMFIT, *_MADE])
