"""Models: library models, sums of library models and functions, and initial guesses."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import dualfit
from dualfit import Model, models

special = pytest.importorskip("scipy.special")
pytestmark = pytest.mark.filterwarnings("error")

x = np.linspace(0, 10, 200)
noise = 0.01 * np.random.default_rng(4).normal(size=200)


def gaussian(x, amplitude, center, sigma):
    return amplitude / (sigma * np.sqrt(2 * np.pi)) * np.exp(-(((x - center) / sigma) ** 2) / 2)


def background(x, slope=0.0, intercept=0.0):
    return slope * x + intercept


def decay(x, a, b):
    return a * np.exp(-b * x)


SPECTRUM = models.gaussian("g_") + models.linear("l_")
VALUES = gaussian(x, 5, 4, 0.7) + background(x, 0.1, 0.5) + noise


def test_every_model_has_its_parameters() -> None:
    names = models.names()
    assert len(names) >= 60 and len(set(names)) == len(names)
    assert set(names) <= set(dir(models))
    for name in names:
        model = getattr(models, name)("p_")
        assert model.parameters == models.by_name(name, "p_").parameters
        assert all(parameter.startswith("p_") for parameter in model.parameters)
        assert repr(model).startswith(f"<Model {name}(")
        assert set(model.bounds) <= set(model.parameters)


def test_the_names_of_lmfit() -> None:
    lmfit_models = pytest.importorskip("lmfit.models")
    for name in models._LMFIT:
        ours, theirs = getattr(models, name)(prefix="p_"), getattr(lmfit_models, name)(prefix="p_")
        assert set(ours.parameters) <= set(theirs.make_params()) | {"p_gamma"}, name


@pytest.mark.parametrize("ours, theirs", [
    (models.PolynomialModel(3, "p_"), lambda of: of.PolynomialModel(3, prefix="p_")),
    (models.SplineModel([0, 2, 5, 7, 10], "p_"), lambda of: of.SplineModel([0, 2, 5, 7, 10], prefix="p_")),
])
def test_polynomials_and_splines_are_those_of_lmfit(ours: Model, theirs: Any) -> None:
    expected = theirs(pytest.importorskip("lmfit.models"))
    params = dict(zip(ours.parameters, [1.5, -0.7, 0.3, 0.4, -2.0]))
    assert set(params) == set(expected.make_params())
    np.testing.assert_allclose(ours.evaluate(x, params), expected.eval(x=x, **params), atol=1e-12)
    found = pickle.loads(pickle.dumps(ours)).fit(x, ours.evaluate(x, params))
    np.testing.assert_allclose(found.params, list(params.values()), rtol=1e-9)


def test_values_of_a_model_before_any_fit() -> None:
    expected = gaussian(x, 5, 4, 0.7) + background(x, 0.1, 0.5)
    whole = {"g_amplitude": 5, "g_center": 4, "g_sigma": 0.7, "l_slope": 0.1, "l_intercept": 0.5}
    np.testing.assert_allclose(SPECTRUM.evaluate(x, whole), expected, rtol=1e-12)
    np.testing.assert_allclose(SPECTRUM.evaluate(x, list(whole.values())), expected, rtol=1e-12)
    np.testing.assert_allclose(SPECTRUM.evaluate(list(x), {**whole, "l_slope": 7}, l_slope=0.1), expected, rtol=1e-12)
    np.testing.assert_array_equal(Model(background).evaluate(x, slope=2), 2 * x)
    np.testing.assert_array_equal(Model(lambda x, *p: p[0] * x + p[1]).evaluate(x, [2, 1]), 2 * x + 1)
    plane = Model("a*u + b*v", variables=["u", "v"])
    np.testing.assert_allclose(plane.evaluate({"v": x, "u": 2 * x}, a=1, b=3), 5 * x, rtol=1e-15)


@pytest.mark.parametrize("call, words", [
    (lambda: SPECTRUM.evaluate(x, g_sigma=1), "no value is given for g_amplitude, g_center, l_slope"),
    (lambda: SPECTRUM.evaluate(x, g_sgma=1), "there is no parameter g_sgma; the model has g_amplitude"),
    (lambda: SPECTRUM.evaluate(x, [1, 2]), r"5 parameter\(s\) but 2 value"),
    (lambda: Model(decay).evaluate(x, [1, 2], a=3), r"2 parameter\(s\) but 3 value"),
])
def test_values_of_a_model_that_cannot_be(call: Any, words: str) -> None:
    with pytest.raises(dualfit.FitError, match=words):
        call()


def test_polynomials_and_splines_that_there_are_not() -> None:
    for model, words in [(lambda: models.polynomial(51), "degree 51"), (lambda: models.spline([0, 1, 2]), "3"),
                         (lambda: models.spline([0, 1, 3, 2]), "in increasing order")]:
        with pytest.raises(dualfit.FitError, match=words):
            model()


def test_names_that_there_are_not() -> None:
    with pytest.raises(AttributeError, match="there is no model 'gausian'"):
        models.gausian  # noqa: B018
    with pytest.raises(dualfit.FitError, match="there is no model `gausian`"):
        models.by_name("gausian")
    with pytest.raises(dualfit.FitError, match="cannot read the expression"):
        models.parse("gaussian(+")


def test_a_model_finds_its_start() -> None:
    fit = SPECTRUM.fit(x, VALUES)
    assert fit.converged
    expected = dualfit.fit(lambda x, a, c, s, k, b: gaussian(x, a, c, s) + background(x, k, b), x, VALUES, [5, 4, 0.7, 0, 0])
    np.testing.assert_allclose(fit.params, expected.params, rtol=1e-6)
    np.testing.assert_allclose(fit.std_errors, expected.std_errors, rtol=1e-5)
    start = SPECTRUM.guess(x, VALUES)
    assert list(start) == SPECTRUM.parameters
    assert start["g_center"] == pytest.approx(4, abs=0.2)
    partly = SPECTRUM.fit(x, VALUES, {"g_center": 3.9})
    assert partly.start[1] == 3.9
    np.testing.assert_allclose(partly.params, fit.params, rtol=1e-6)


def test_what_is_known_of_one_peak_moves_the_other() -> None:
    two = models.gaussian("a_") + models.gaussian("b_") + models.linear("l_")
    values = VALUES + gaussian(x, 2, 7.5, 0.5)
    right = two.fit(x, values, {"a_center": 7})
    bounded = two.fit(x, values, bounds={"a_center": (7, 9)})
    for fit in (right, bounded, two.fit(x, values, fixed={"a_center": 7.5})):
        assert fit.converged
        np.testing.assert_allclose([fit["a_center"].value, fit["b_center"].value], [7.5, 4], atol=0.02)
    stack = np.array([values, VALUES + gaussian(x, 2, 6.7, 0.5)])
    batch = two.fit_batch(x, stack, {"a_center": 7})
    np.testing.assert_allclose(batch["a_center"], [7.5, 6.7], atol=0.02)
    np.testing.assert_allclose(batch["b_center"], [4, 4], atol=0.02)


def test_a_model_has_bounds_and_derived_quantities() -> None:
    assert models.gaussian("g_").bounds == {"g_sigma": (np.finfo(float).tiny, np.inf)}
    fit = SPECTRUM.fit(x, VALUES)
    sigma, error = fit["g_sigma"].value, fit["g_sigma"].std_error
    assert fit["g_fwhm"].value == pytest.approx(2 * np.sqrt(2 * np.log(2)) * sigma, rel=1e-9)
    assert fit["g_fwhm"].std_error == pytest.approx(2 * np.sqrt(2 * np.log(2)) * error, rel=1e-9)
    assert "g_height" in fit.derived


def test_parse() -> None:
    model = models.parse("gaussian(g_) + linear(l_)")
    assert model.parameters == SPECTRUM.parameters
    np.testing.assert_array_equal(model.fit(x, VALUES).params, SPECTRUM.fit(x, VALUES).params)


@pytest.mark.parametrize(("joined", "value"), [
    (lambda f, g: f + g, lambda f, g: f + g),
    (lambda f, g: f - g, lambda f, g: f - g),
    (lambda f, g: f * g, lambda f, g: f * g),
    (lambda f, g: f / g, lambda f, g: f / g),
    (lambda f, g: -f, lambda f, g: -f),
    (lambda f, g: 2 + f, lambda f, g: 2 + f),
    (lambda f, g: f - 2, lambda f, g: f - 2),
    (lambda f, g: 2 - f, lambda f, g: 2 - f),
    (lambda f, g: np.float64(3) * f, lambda f, g: 3 * f),
    (lambda f, g: f * 3, lambda f, g: 3 * f),
    (lambda f, g: f / 2, lambda f, g: f / 2),
    (lambda f, g: 1 / (1 + f), lambda f, g: 1 / (1 + f)),
])
def test_arithmetic_of_library_models(joined: Any, value: Any) -> None:
    """Compare the values of combined models with those of their formulas."""
    f, g = models.gaussian("f_"), models.linear("g_")
    true = {"f_amplitude": 2.0, "f_center": 4.0, "f_sigma": 1.5, "g_slope": 0.5, "g_intercept": 1.0}
    model = joined(f, g)
    start = {name: true[name] for name in model.parameters}
    values = value(gaussian(x, 2, 4, 1.5), background(x, 0.5, 1))
    fit = model.fit(x, values, start, max_evaluations=1)
    np.testing.assert_allclose(fit.predict(), values, rtol=1e-12, atol=1e-12)


def test_a_model_of_a_model() -> None:
    model = models.exponential().of(Model("k*x + x^2/50"))
    assert model.parameters == ["amplitude", "decay", "k"]
    fit = model.fit(x, 3 * np.exp(-(0.5 * x + x**2 / 50) / 2), {"amplitude": 2, "decay": 2, "k": 0.4}, fixed="decay")
    assert fit.values["k"] == pytest.approx(0.5, rel=1e-9)


def test_sums_of_functions() -> None:
    model = Model(gaussian, prefix="g_") + Model(background, prefix="l_")
    assert model.parameters == ["g_amplitude", "g_center", "g_sigma", "l_slope", "l_intercept"]
    fit = model.fit(x, VALUES, {"g_amplitude": 4, "g_center": 4, "g_sigma": 1})
    np.testing.assert_allclose(fit.params, SPECTRUM.fit(x, VALUES).params, rtol=1e-6)
    assert fit.start[3:].tolist() == [0.0, 0.0]
    for made, value in [(lambda f, g: f - g, lambda f, g: f - g), (lambda f, g: f * g, lambda f, g: f * g),
                        (lambda f, g: f / g, lambda f, g: f / g)]:
        both = made(Model(decay), Model(background))
        held = both.fit(x, np.ones(200), [2, 0.3, 0.5, 1], max_evaluations=1)
        np.testing.assert_allclose(held.predict(), value(decay(x, 2, 0.3), background(x, 0.5, 1)), rtol=1e-12)


def test_functions_beside_models_by_name() -> None:
    def late(x, rate, size=2.0):
        return np.where((x > 1) & ~(x == 2), size * special.erfc(rate * x) + np.sqrt(x) ** 3, np.maximum(-size, (x < 0.5) * rate))

    model = Model(late, prefix="l_") + models.gaussian("g_")
    assert model.parameters == ["l_rate", "l_size", "g_amplitude", "g_center", "g_sigma"]
    assert pickle.loads(pickle.dumps(model)).parameters == model.parameters
    truth = [0.3, 1.5, 4.0, 4.0, 1.0]
    expected = late(x, 0.3, 1.5) + models.gaussian().evaluate(x, truth[2:])
    np.testing.assert_allclose(model.evaluate(x, truth), expected, rtol=1e-12)
    # The default of the signature is the starting value. The library model computes its initial guess.
    model = Model(lambda x, rate, size=2.0: size * np.exp(-rate * x)) + models.gaussian("g_")
    fit = model.fit(x, decay(x, 1.5, 0.7) + models.gaussian().evaluate(x, truth[2:]), {"rate": 0.5})
    assert fit.start[1] == 2.0
    np.testing.assert_allclose(fit.params, [0.7, 1.5, *truth[2:]], rtol=1e-6)
    for made, value in ((2 * Model(decay) - 1, 2 * decay(x, 2, 0.3) - 1), (-Model(decay), -decay(x, 2, 0.3)),
                        (models.linear() / Model(decay), (0.5 * x + 1) / decay(x, 2, 0.3)),
                        (Model(decay).of(models.linear()), decay(0.5 * x + 1, 2, 0.3))):
        named = {"a": 2, "b": 0.3, "slope": 0.5, "intercept": 1}
        found = made.evaluate(x, **{name: named[name] for name in made.parameters})
        np.testing.assert_allclose(found, value, rtol=1e-12)


def test_sums_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match=r"both functions have a parameter a, b; give one of them a prefix"):
        Model(decay) + Model(decay)
    for wrong, why in ((lambda x, a: a * x / x.max(), "of all points together"), (lambda x, a, b: a * x, "not depend on all its"),
                       (lambda x, a: a * x if a > 0 else x, "a branch on a value that depends on a parameter"),
                       (lambda x, a: a * special.polygamma(1, x), "has no name in formulas")):
        with pytest.raises(TypeError, match=why):
            Model(wrong) + models.linear()
    for wrong in (lambda: models.linear() + "x", lambda: models.linear() * None, lambda: [1] - models.linear()):
        with pytest.raises(TypeError, match="unsupported operand type"):
            wrong()
    with pytest.raises(dualfit.FitError, match="the name `amplitude` belongs to both"):
        (models.gaussian() + models.gaussian()).fit(x, VALUES)


def test_what_is_no_model() -> None:
    for wrong in (None, 3, [decay]):
        with pytest.raises(TypeError, match="a model is a function, a formula as text or a Model, not"):
            dualfit.fit(wrong, x, VALUES)
    with pytest.raises(ValueError, match="2 names for a function of 3 parameters"):
        Model(gaussian, ["a", "b"])
    with pytest.raises(dualfit.FitError, match="the name `u` belongs to both"):
        Model(decay, ["u", "u"]).fit(x, VALUES, [1, 1])
    with pytest.raises(dualfit.FitError, match=r"cannot read the expression, column \d+: expected a value"):
        Model("a*exp(")
    with pytest.raises(ValueError, match="only models of the library know how to guess"):
        Model(decay).guess(x, VALUES)


@pytest.mark.parametrize("model", [
    SPECTRUM, 2 * models.gaussian() - 1, 1 / models.gaussian(), -models.gaussian(), models.gaussian("a_").prefixed("b_"),
    models.exponential().of(models.linear("l_")), models.parse("gaussian(g_) + linear(l_)"), Model("a*exp(-b*x) + c"),
    Model("a*u + b*v", variables=["u", "v"]), Model("a*x", prefix="k_"), Model("a*x") * Model("b*x + c"), Model(decay),
    Model(decay, prefix="d_"), Model(gaussian, ["a", "b", "c"]),
], ids=repr)
def test_pickles(model: Model) -> None:
    again = pickle.loads(pickle.dumps(model))
    assert repr(again) == repr(model)
    assert again.parameters == model.parameters
    assert again.bounds == model.bounds


def test_pickled_models_fit() -> None:
    fit = pickle.loads(pickle.dumps(SPECTRUM)).fit(x, VALUES)
    np.testing.assert_array_equal(fit.params, SPECTRUM.fit(x, VALUES).params)


def test_batches_of_library_models() -> None:
    stack = np.stack([VALUES, VALUES + 1, 2 * VALUES])
    batch = SPECTRUM.fit_batch(x, stack)
    for row, values in zip(batch.params, stack):
        np.testing.assert_allclose(row, SPECTRUM.fit(x, values).params, rtol=1e-6)
