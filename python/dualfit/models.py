"""Library models by name. They compute their own initial guesses, and can be added, multiplied and nested.

>>> from dualfit import models
>>> spectrum = models.gaussian("a_") + models.linear("bg_")
>>> spectrum.parameters
['a_amplitude', 'a_center', 'a_sigma', 'bg_slope', 'bg_intercept']

Each name in `names()` is a function of a prefix. lmfit's names such as `GaussianModel(prefix="a_")` exist, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from . import _core
from ._core import FitError
from ._hints import MODELS, hint, likely
from ._model import Model

#: lmfit's classes whose models have the same parameters and values here, except that gamma of `VoigtModel` and
#: `SkewedVoigtModel` is free here and tied to sigma in lmfit.
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

#: Shapes of a step or of the sides of a rectangle, by lmfit's names.
_FORMS = {"linear": "linear", "atan": "atan", "arctan": "atan", "erf": "erf", "logistic": "logistic"}

#: Functions with other arguments than a prefix.
_MADE = ("ExpressionModel", "Gaussian2dModel", "PolynomialModel", "RectangleModel", "SplineModel", "StepModel",
         "ThermalDistributionModel", "by_name", "names", "parse", "polynomial", "spline")


def names() -> list[str]:
    """Return the names of the library models."""
    return _core.model_names()


def by_name(name: str, prefix: str = "") -> Model:
    """Return the model with a name.

    Parameters
    ----------
    name : str
        One of `names()`.
    prefix : str
        Prefix of the names of its parameters.
    """
    if name in MODELS:
        raise FitError(f"there is no model {name!r}{hint(name, MODELS)}")
    return Model._of("by_name", name, prefix)


def polynomial(degree: int, prefix: str = "") -> Model:
    """Return the polynomial c0 + c1·x + c2·x² + …, with an automatic initial guess.

    Parameters
    ----------
    degree : int
        Highest power, at most 50.
    prefix : str
        Prefix of the names of its parameters.
    """
    return Model._of("polynomial", index(degree), prefix)


def spline(knots: Any, prefix: str = "") -> Model:
    """Return a cubic spline with an automatic initial guess.

    For any values at the knots, it is the curve that SciPy's `make_interp_spline` draws through them.

    Parameters
    ----------
    knots : array_like
        Values of x at which the pieces meet: 4 to 100, ascending. There is one parameter per knot, `s0`, `s1`, …, and
        the values of the curve at the knots are the derived quantities `at_knot0`, `at_knot1`, …
    prefix : str
        Prefix of the names of its parameters.
    """
    return Model._of("spline", [float(knot) for knot in knots], prefix)


def parse(text: str) -> Model:
    """Return the model that a text describes: ``"gaussian(g1_) + linear(bg_)"``."""
    return Model._of("parse", text)


def PolynomialModel(degree: int = 7, prefix: str = "") -> Model:  # noqa: N802
    """lmfit's name for `polynomial`."""
    return polynomial(degree, prefix)


def SplineModel(xknots: Any, prefix: str = "") -> Model:  # noqa: N802
    """lmfit's name for `spline`."""
    return spline(xknots, prefix)


def ExpressionModel(expr: str, independent_vars: Sequence[str] = ("x",)) -> Model:  # noqa: N802
    """lmfit's name for a formula: ``Model(expr, variables=independent_vars)``."""
    return Model(expr, variables=independent_vars)


def Gaussian2dModel(prefix: str = "") -> Model:  # noqa: N802
    """lmfit's name for `gaussian2d_elliptic`."""
    return by_name("gaussian2d_elliptic", prefix)


def StepModel(form: str = "linear", prefix: str = "") -> Model:  # noqa: N802
    """lmfit's name for `step_linear`, `step_atan`, `step_erf` or `step_logistic`, depending on `form`."""
    return by_name(f"step_{_form('StepModel', form)}", prefix)


def RectangleModel(form: str = "linear", prefix: str = "") -> Model:  # noqa: N802
    """lmfit's name for `rectangle_atan`, `rectangle_erf` or `rectangle_logistic`, depending on `form`.

    Raises
    ------
    ValueError
        For the form ``"linear"``: the sides of lmfit's model are 2 sigma long, the sides of `rectangle_linear` 1 sigma.
    """
    if _form("RectangleModel", form) == "linear":
        raise ValueError("the sides of lmfit's linear rectangle are 2 sigma long; use rectangle_linear, whose sides are one "
                         "sigma long, so that sigma1 and sigma2 are twice lmfit's, or another form")
    return by_name(f"rectangle_{_FORMS[form]}", prefix)


def ThermalDistributionModel(form: str = "bose", prefix: str = "") -> Model:  # noqa: N802
    """Raise an error that names the replacement. In lmfit's model, amplitude and center are not independent.

    Raises
    ------
    ValueError
        Always, with the model to use.
    """
    known = {"bose": "bose_einstein", "fermi": "fermi_dirac", "maxwell": "exponential"}
    if form not in known:
        raise ValueError(f"ThermalDistributionModel has no form {form!r}; there are {', '.join(known)}")
    instead = ("with decay in place of kt" if form == "maxwell"
               else "with amplitude fixed at 1; its center is lmfit's center - kt*ln(amplitude)")
    raise ValueError(f"lmfit's ThermalDistributionModel has one parameter twice, as amplitude and in center; use "
                     f"{known[form]}({prefix!r}) {instead}")


def _form(model: str, form: str) -> str:
    """Convert a form of lmfit's steps to the name used here."""
    if form not in _FORMS:
        raise ValueError(f"{model} has no form {form!r}; there are {', '.join(_FORMS)}")
    return _FORMS[form]


def __getattr__(name: str) -> Any:
    known = _LMFIT.get(name, name)
    if known not in _core.model_names():
        remedy = hint(name, MODELS) or hint(name) or likely(name, __dir__())
        raise AttributeError(f"there is no model {name!r}{remedy}; dualfit.models.names() lists them")

    def model(prefix: str = "") -> Model:
        return by_name(known, prefix)

    model.__name__, model.__qualname__ = name, name
    model.__doc__ = f"Parameters: {', '.join(by_name(known).parameters)}."
    return model


def __dir__() -> list[str]:
    return sorted([*_core.model_names(), *_LMFIT, *_MADE])
