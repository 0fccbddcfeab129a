"""Values and standard errors of typical problems agree with lmfit's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualfit
from dualfit import models

lmfit = pytest.importorskip("lmfit")

RNG = np.random.default_rng(11)
x = np.linspace(0.1, 12, 240)
NOISE = 0.08 * RNG.normal(size=x.size)


def gaussian(x: Any, area: float, center: float, sigma: float) -> Any:
    return area / (sigma * np.sqrt(2 * np.pi)) * np.exp(-0.5 * ((x - center) / sigma) ** 2)


def decay(x: Any, amplitude: float, rate: float, offset: float) -> Any:
    return amplitude * np.exp(-rate * x) + offset


def agree(ours: dualfit.Fit, theirs: Any, names: list[str]) -> None:
    """Compare two fits. Both stop about a thousandth of a standard error from the minimum."""
    for name in names:
        parameter = theirs.params[name]
        assert abs(ours.values[name] - parameter.value) <= 2e-3 * ours.errors[name], name
        assert ours.errors[name] == pytest.approx(parameter.stderr, rel=5e-3), name


def test_two_peaks_on_a_line() -> None:
    y = gaussian(x, 9, 4.0, 0.7) + gaussian(x, 5, 7.5, 1.1) + 0.2 * x + 1 + NOISE
    ours = (models.GaussianModel("a_") + models.GaussianModel("b_") + models.LinearModel("bg_")).fit(x, y)
    reference = (lmfit.models.GaussianModel(prefix="a_") + lmfit.models.GaussianModel(prefix="b_")
                 + lmfit.models.LinearModel(prefix="bg_"))
    start = reference.make_params(a_amplitude=8, a_center=4.2, a_sigma=0.6, b_amplitude=6, b_center=7.3, b_sigma=1,
                                  bg_slope=0, bg_intercept=1)
    theirs = reference.fit(y, start, x=x)
    agree(ours, theirs, ours.names)
    assert ours.redchi == pytest.approx(theirs.redchi, rel=1e-6)
    for name in ("a_fwhm", "b_height"):
        assert ours[name].value == pytest.approx(theirs.params[name].value, rel=1e-4)
        assert ours[name].std_error == pytest.approx(theirs.params[name].stderr, rel=1e-2)


def test_bounds_and_a_fixed_parameter() -> None:
    y = decay(x, 3, 0.7, 0.5) + NOISE
    ours = dualfit.fit(decay, x, y, [2, 1, 0.5], bounds={"rate": (0, 5)}, fixed="offset")
    reference = lmfit.Model(decay)
    start = reference.make_params(amplitude=2, rate=dict(value=1, min=0, max=5), offset=dict(value=0.5, vary=False))
    agree(ours, reference.fit(y, start, x=x), ["amplitude", "rate"])
    assert ours["offset"] == dualfit.Quantity(0.5, 0.0)


def test_a_tie() -> None:
    y = gaussian(x, 9, 4.0, 0.7) + gaussian(x, 5, 7.5, 1.4) + NOISE
    ours = (models.gaussian("a_") + models.gaussian("b_")).fit(x, y, ties={"b_sigma": "2*a_sigma"})
    reference = lmfit.models.GaussianModel(prefix="a_") + lmfit.models.GaussianModel(prefix="b_")
    start = reference.make_params(a_amplitude=8, a_center=4.2, a_sigma=0.6, b_amplitude=6, b_center=7.3)
    start["b_sigma"].expr = "2*a_sigma"
    agree(ours, reference.fit(y, start, x=x), ours.names)


def test_weights_that_are_not_scaled() -> None:
    sigma = 0.05 + 0.02 * x
    y = decay(x, 3, 0.7, 0.5) + sigma * RNG.normal(size=x.size)
    ours = dualfit.fit(decay, x, y, [2, 1, 0], sigma=sigma, absolute_sigma=True)
    theirs = lmfit.Model(decay, scale_covar=False)
    made = theirs.fit(y, theirs.make_params(amplitude=2, rate=1, offset=0), x=x, weights=1 / sigma, scale_covar=False)
    agree(ours, made, ours.names)
    assert ours.chisqr == pytest.approx(made.chisqr, rel=1e-8)


def test_voigt() -> None:
    special = pytest.importorskip("scipy.special")
    y = 6 * special.voigt_profile(x - 5, 0.5, 0.3) + NOISE
    ours = models.VoigtModel().fit(x, y)
    reference = lmfit.models.VoigtModel()
    start = reference.make_params(amplitude=5, center=5.2, sigma=0.4)
    start["gamma"].set(value=0.4, vary=True, expr="")
    agree(ours, reference.fit(y, start, x=x), ["amplitude", "center", "sigma", "gamma"])


#: Names of lmfit's models, their arguments, and names of the corresponding library models.
MODELS = [(name, {}, ours) for name, ours in models._LMFIT.items()] + [
    ("StepModel", {"form": form}, f"step_{form}") for form in ("linear", "atan", "erf", "logistic")] + [
    ("RectangleModel", {"form": form}, f"rectangle_{form}") for form in ("atan", "erf", "logistic")]


@pytest.mark.parametrize(("name", "form", "ours"), MODELS, ids=lambda value: value if isinstance(value, str) else "")
def test_models_have_lmfits_values(name: str, form: dict[str, str], ours: str) -> None:
    model, reference = models.by_name(ours), getattr(lmfit.models, name)(**form)
    near = {"center": 3.0, "center1": 2.0, "center2": 7.0, "sigma": 1.2, "expon": 1.7, "beta": 1.4}
    values = {parameter: near.get(parameter, 0.6 + 0.1 * k) for k, parameter in enumerate(model.parameters)}
    expected = reference.func(x, **values, **form)
    # A fit of the values of lmfit's model with all parameters fixed.
    fit = model.fit(x, expected, values, fixed=model.parameters)
    assert np.abs(fit.predict(x) - expected).max() <= 1e-13 * np.abs(expected).max()
    if ours not in ("voigt", "skewed_voigt"):  # lmfit's gamma equals sigma by default.
        assert model.parameters == reference.param_names


@pytest.mark.parametrize(("name", "given", "ours"), [
    ("StepModel", {}, "step_linear"), ("StepModel", {"form": "arctan"}, "step_atan"), ("StepModel", {"form": "erf"}, "step_erf"),
    ("RectangleModel", {"form": "logistic"}, "rectangle_logistic"), ("RectangleModel", {"form": "atan"}, "rectangle_atan"),
    ("Gaussian2dModel", {}, "gaussian2d_elliptic"),
])
def test_lmfits_names_with_their_arguments(name: str, given: dict[str, str], ours: str) -> None:
    model = getattr(models, name)(prefix="a_", **given)
    assert model.parameters == models.by_name(ours, "a_").parameters
    assert set(model.parameters) == set(getattr(lmfit.models, name)(prefix="a_", **given).param_names)


def test_an_expression_by_lmfits_name() -> None:
    expected = dualfit.fit("a*exp(-b*x)", x, decay(x, 3, 0.7, 0), {"a": 1, "b": 1}).values
    model = models.ExpressionModel("a*exp(-b*t)", independent_vars=["t"])
    assert model.fit(x, decay(x, 3, 0.7, 0), {"a": 1, "b": 1}).values == expected


def test_names_of_lmfit_that_mean_something_else_here_name_the_replacement() -> None:
    for name, form, replacement in [("ThermalDistributionModel", "fermi", "fermi_dirac"),
                                    ("ThermalDistributionModel", "bose", "bose_einstein"),
                                    ("ThermalDistributionModel", "maxwell", "exponential"),
                                    ("RectangleModel", "linear", "rectangle_linear")]:
        with pytest.raises(ValueError, match=rf"use {replacement}\b"):
            getattr(models, name)(form=form)
    for name in ("StepModel", "RectangleModel", "ThermalDistributionModel"):
        with pytest.raises(ValueError, match=f"{name} has no form 'round'; there are "):
            getattr(models, name)(form="round")


def test_what_the_page_says_of_bounds() -> None:
    y = decay(x, 3, 0.7, 0.2) + NOISE
    ours = dualfit.fit(decay, x, y, [2, 1, 0.2], bounds={"rate": (0.9, 2)})
    reference = lmfit.Model(decay)
    theirs = reference.fit(y, reference.make_params(amplitude=2, rate=dict(value=1, min=0.9, max=2), offset=0.2), x=x)
    assert ours.at_bound == {"rate": "lower"} and np.isnan(ours.errors["rate"])
    for name in ours.names:
        assert ours.values[name] == pytest.approx(theirs.params[name].value, rel=1e-4)
    assert ours.aic == pytest.approx(theirs.aic - 2, abs=1e-4)  # one parameter less
