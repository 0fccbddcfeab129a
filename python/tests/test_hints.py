"""Names of SciPy, lmfit, MATLAB and R that do not exist: the message says what to write, and that exists."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from refusals import check_refused

import dualfit
from dualfit import FitError, _hints, models

x = np.linspace(0, 4, 60)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.02 * np.random.default_rng(1).normal(size=60)
START = [1, 1, 0]


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


FIT = dualfit.fit(decay, x, y, START)
BATCH = dualfit.fit_batch(decay, x, [y, y], START)
JOINT = dualfit.fit_joint(decay, x, [y, y], START, shared="b")
MODEL = dualfit.Model(decay)
TESTED = dualfit.compare(dualfit.fit("a*x + b", x, y), FIT, nested=True)

#: An object, an attribute that it does not have, and the name to use.
ATTRIBUTES: list[tuple[Any, str, str]] = [
    *((FIT, name, words) for name, words in [
        ("popt", "Fit.params"), ("pcov", "Fit.covariance"), ("perr", "Fit.std_errors"), ("stderr", "Fit.errors"),
        ("status", "Fit.converged, or Fit.message"), ("x0", "Fit.start"), ("yhat", "Fit.predict()"),
        ("rsquared", "Fit.r_squared"), ("r2", "Fit.r_squared"), ("chi2", "Fit.chi_square"), ("dof", "Fit.degrees_of_freedom"),
        ("ndata", "Fit.points"), ("nvarys", "Fit.estimated"), ("residual", "Fit.residuals()"), ("resid", "Fit.residuals()"),
        ("confint", "Fit.confidence_intervals(level)"), ("ci_report", "Fit.profile(name).interval(level)"),
        ("summary", "Fit.report()"), ("to_dict", "Fit.values, Fit.errors"), ("to_frame", "pandas.DataFrame({"),
        ("save", "Fit.to_json()"), ("plot_residuals", "Fit.plot(residuals=True)"), ("conf_interval", "Fit.profile"),
        ("CovB", "Fit.covariance"), ("correl", "Fit.correlation"), ("standard_errors", "Fit.std_errors"), ("coeffvalues", "Fit.params"),
        ("nlparci", "Fit.confidence_intervals(level)"), ("predint", "Fit.confidence_band(x, level) and Fit.prediction_band"),
        ("predict_interval", "Fit.prediction_band(x, level)"), ("AICc", "dualfit.compare("), ("adjrsquare", "Fit.adjusted_r_squared"),
        ("exitflag", "Fit.converged"), ("durbin_watson", "Fit.diagnostics()"), ("to_latex", "Fit.latex()"), ("a", 'write fit["a"]'),
        ("confidence_bnd", "did you mean 'confidence_band'?"), ("reduced_chi_squared", "did you mean 'reduced_chi_square'?"),
    ]),
    (FIT["a"], "stderr", "std_error"), (FIT["a"], "error", "std_error"), (FIT["a"], "nominal_value", "value"),
    (FIT["a"], "vary", "fixed="),
    (FIT.params, "valuesdict", "Fit.values"), (FIT.confidence_band(x), "half_width", "write upper - center"),
    (FIT.confidence_band(x), "low", "write lower"), (TESTED, "best", "corrected_weights"), (TESTED.tests[0], "pvalue", "p_value"),
    (BATCH, "a", 'write batch["a"]'), (BATCH, "residuals", "np.moveaxis(Batch.params, -1, 0)"), (BATCH, "rsquared", "1 - Batch.chi_squares"),
    (BATCH, "popt", "Batch.params"), (BATCH, "chi_square", "Batch.chi_squares"), (BATCH, "errors", "Batch.error(name)"),
    (JOINT, "r_squared", "write .fit.r_squared for all sets together, or .set(label).r_squared for one"),
    (JOINT, "covariance", ".fit.covariance"), (JOINT, "b", 'write joint["b"]'), (JOINT, "popt", "Fit.params"),
    (MODEL, "make_params", 'Model.fit(x, y, {"a": 1})'), (MODEL, "param_names", "Model.parameters"), (MODEL, "eval", "Model.evaluate"),
    *((dualfit, name, words) for name, words in [
        ("odr", "x_sigma="), ("nls", "dualfit.fit(f, x, y, p0)"), ("nlinfit", "dualfit.fit("), ("lsqcurvefit", "dualfit.fit("),
        ("f_test", "dualfit.compare("), ("aic", "Fit.aic"), ("bootstrap", "Fit.bootstrap("),
        ("polyfit", "dualfit.models.polynomial(degree).fit(x, y)"), ("GaussianModel", "write dualfit.models.GaussianModel"),
        ("fittype", "dualfit.fit("), ("nlparci", "Fit.confidence_intervals"), ("nlpredci", "Fit.confidence_band"),
        ("global_fit", "dualfit.fit_joint"), ("fit_images", "dualfit.fit_batch("), ("report_fit", "Fit.report()"),
        ("fit_poisson", "poisson=True"), ("fit_strem", "did you mean 'fit_stream'?"),
    ]),
    *((models, name, words) for name, words in [
        ("gauss", "use gaussian"), ("exp_decay", "use exponential"), ("boltzmann", 'use step_logistic("s_") + constant("offset_")'),
        ("sigmoid", "use step_logistic"), ("dose_response", "use logistic4"), ("four_parameter_logistic", "use logistic4"),
        ("gausian", "did you mean 'gaussian'?"), ("gauss2", 'use gaussian("a_") + gaussian("b_")'), ("poly3", "use polynomial(degree)"),
        ("rat23", "use ExpressionModel"), ("Parameters", "dualfit.fit("),
    ]),
]


@pytest.mark.parametrize(("owner", "name", "words"), ATTRIBUTES, ids=lambda value: value if isinstance(value, str) else "")
def test_attributes(owner: Any, name: str, words: str) -> None:
    assert repr(name) in check_refused(lambda: getattr(owner, name), AttributeError, words)
    assert not hasattr(owner, "no_such_name")


#: Options of a fit, and the option to use.
OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"method": "lm"}, "there is one method, Levenberg-Marquardt"), ({"method": "brute"}, "dualfit.multi_start"),
    ({"maxfev": 100}, "write max_evaluations="), ({"max_nfev": 100}, "write max_evaluations="), ({"verbose": 2}, "write progress=True"),
    ({"yerr": 0.1}, "write sigma="), ({"dy": 0.1}, "write sigma="), ({"xerr": 0.1}, "write x_sigma="), ({"lower": 0}, "write bounds={"),
    ({"constraints": ()}, 'ties={"a": "2*b"}'), ({"vary": False}, "write fixed="), ({"expr": "2*b"}, "write ties="),
    ({"robust": True}, 'loss="soft_l1"'), ({"estimator": "mle"}, "poisson=True"), ({"likelihood": "poisson"}, "poisson=True"),
    ({"a": 1}, "write p0={'a': 1} for its start"), ({"start": [1]}, "the start is p0"), ({"weights": x}, "sigma = 1/weights"),
    ({"bound": (0, 1)}, "did you mean 'bounds'?"), ({"MaxFunEvals": 10}, "write max_evaluations="), ({"TolFun": 1e-8}, "write ftol="),
    ({"StartPoint": START}, "the start is p0"), ({"Lower": 0}, "write bounds={"), ({"Exclude": x < 0}, "write mask="), ({"hold": "c"}, "write fixed="),
    ({"variance": 1}, "the square root"), ({"missing": "drop"}, 'write nan_policy="omit"'), ({"gpu": True}, 'write backend="cuda"'),
    ({"n_jobs": 2}, "RAYON_NUM_THREADS"), ({"x_scale": "jac"}, "write scales="), ({"scale": 1}, "loss_scale="), ({"share": "b"}, "shared="),
    ({"distribution": "poisson"}, "poisson=True"), ({"diff_step": 1e-6}, "partials of a recorded function are exact"),
]


@pytest.mark.parametrize(("option", "words"), OPTIONS, ids=lambda value: next(iter(value)) if isinstance(value, dict) else "")
def test_options(option: dict[str, Any], words: str) -> None:
    for call in (lambda: dualfit.fit(decay, x, y, START, **option), lambda: dualfit.fit_batch(decay, x, [y], START, **option)):
        message = check_refused(call, TypeError, words)
        assert message.startswith(f"there is no option {next(iter(option))!r}; ") and "there are allow_under" not in message


@pytest.mark.parametrize(("loss", "words"), [
    ("poisson", "poisson=True"), ("Huber", 'loss="huber"'), ("softl1", 'loss="soft_l1"'), ("bisquare", 'loss="tukey"'), ("l1", 'loss="soft_l1"'), ("lorentzian", 'loss="cauchy"'),
])
def test_losses(loss: str, words: str) -> None:
    check_refused(lambda: dualfit.fit(decay, x, y, START, loss=loss), ValueError, words)


#: Further calls in the manner of other packages.
CALLS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: FIT.params["a"], IndexError, "fit['a'].value"),  # type: ignore[call-overload]
    (lambda: list(FIT), TypeError, "write fit.params and fit.covariance"),  # type: ignore[call-overload]
    (lambda: list(FIT.confidence_band(x)), TypeError, "band.lower and band.upper"),  # type: ignore[call-overload]
    (lambda: FIT.std_errors["b"], IndexError, "fit['b'].std_error"),  # type: ignore[call-overload]
    (lambda: MODEL.fit(y, x=x), TypeError, "x is the first argument: write fit(x, y, ...)"),  # type: ignore[misc]
    (lambda: MODEL.fit(y, START, x=x), TypeError, "x is the first argument"),  # type: ignore[misc]
    (lambda: models.gaussian().guess(y, x=x), TypeError, "write guess(x, y, ...)"),  # type: ignore[misc]
    (lambda: models.by_name("boltzmann"), FitError, "use step_logistic"),
    (lambda: dualfit.fit("y = a*x", x, y), FitError, "column 3: `=` is not part of a formula; write what follows y = only"),
    (lambda: dualfit.fit("y ~ a*x", x, y), FitError, "column 3: `~` is not part of a formula; write what follows y ~ only"),
    (lambda: dualfit.fit("a*np.exp(-x)", x, y), FitError, "write functions without a module: exp(x)"),
    (lambda: dualfit.fit("gaussian", x, y), FitError, "write dualfit.models.parse('gaussian')"),
    (lambda: dualfit.fit("gaussian(g_) + linear(l_)", x, y), FitError, "write dualfit.models.parse('gaussian(g_) + linear(l_)')"),
    (lambda: dualfit.fit("exp2", x, y), FitError, "use biexponential of dualfit.models"),
    (lambda: dualfit.fit(x, y, decay), TypeError, "it is the first argument: write fit(f, x, y, p0)"),  # type: ignore[arg-type]
    (lambda: dualfit.fit(lambda x, p: p[0] * x + p[1], x, y, [1, 1]), FitError, "each parameter is an argument of its own: f(x, a, b)"),
    (lambda: dualfit.fit(lambda p, x: p[0] * x + p[1], x, y, [1, 1]), FitError, "x is its first argument"),
    (lambda: dualfit.fit(decay, x, y, "auto"), TypeError, "leave it out for a search"),
    (lambda: dualfit.fit(decay, x, [y, y], START), ValueError, "fit each row of y by dualfit.fit_batch"),
    (lambda: dualfit.fit_batch(decay, x, np.stack([y, y], axis=1), START), ValueError, "np.moveaxis(stack, 0, -1)"),
    (lambda: dualfit.curve_fit(decay, x, y, START, fixed="c"), TypeError, "dualfit.fit has fixed="),
    (lambda: dualfit.curve_fit(decay, x, y, START, weights=x), TypeError, "sigma = 1/weights"),
    (lambda: dualfit.fit("a*x.^2", x, y), FitError, "write ^, * and / without a point"),
    (lambda: BATCH[0], TypeError, "write batch.params[index], .std_errors[index] and .status(index)"),  # type: ignore[index]
    (lambda: list(BATCH), TypeError, "batch[0] is not the result of one fit"),  # type: ignore[call-overload]
    (lambda: BATCH.error(1), TypeError, "batch[1]"),  # type: ignore[arg-type]
    (lambda: JOINT[0], TypeError, "write joint.set(label)"),  # type: ignore[index]
    (lambda: dualfit.fit_batch(decay, x, [y], START, data={}), TypeError, "only dualfit.fit and dualfit.fit_joint"),  # type: ignore[call-arg]
]


@pytest.mark.parametrize(("call", "error", "words"), CALLS)
def test_calls(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    check_refused(call, error, words)


def test_the_boltzmann_function_that_is_named() -> None:
    model = models.step_logistic("s_") + models.constant("offset_")
    values = {"s_amplitude": 2.0, "s_center": 1.5, "s_sigma": 0.4, "offset_c": 0.3}
    np.testing.assert_allclose(model.evaluate(x, values), 2.3 - 2 / (1 + np.exp((x - 1.5) / 0.4)), rtol=1e-12)


def test_hints_name_what_exists() -> None:
    owners = {"dualfit": dualfit, "Fit": FIT, "Batch": BATCH, "Model": MODEL}
    tables = [_hints.FUNCTIONS, _hints.RESULTS, _hints.BATCHES, _hints.QUANTITIES, _hints.PARAMETERS, _hints.BANDS, _hints.COMPARISONS,
              _hints.MODELS_OF_LMFIT, _hints.OPTIONS, _hints.LOSSES]
    for text in {text for table in tables for text in table.values()}:
        for owner, name in re.findall(r"\b(dualfit|Fit|Batch|Model)\.(\w+)", text):
            assert hasattr(owners[owner], name), text
    for name, text in _hints.MODELS.items():
        assert name not in dir(models)
        used = re.findall(r"(\w+)\(\"|\buse (\w+)|\bor (\w+)", text)
        assert used and all(hasattr(models, found) for each in used for found in each if found), text
    known = dualfit.Options.__annotations__ | {"sigma": 0, "x_sigma": 0, "absolute_sigma": 0, "p0": 0, "jac": 0, "data": 0, "scale_covar": 0, "nested": 0,
                                               "mask": 0, "nan_policy": 0, "covariance": 0, "shared": 0}
    assert not set(_hints.OPTIONS) & set(dualfit.Options.__annotations__)
    for table in (_hints.OPTIONS, _hints.LOSSES):
        assert {name for text in table.values() for name in re.findall(r"\b(\w+)=", text)} <= set(known)


def test_formulas_of_the_hints_for_batches() -> None:
    rng = np.random.default_rng(2)
    stack = y + 0.1 * rng.normal(size=(2, 3, y.size))
    batch = dualfit.fit_batch(decay, x, stack, START)
    curves = decay(x, *np.moveaxis(batch.params, -1, 0)[..., None])
    np.testing.assert_allclose(((stack - curves) ** 2).sum(-1), batch.chi_squares, rtol=1e-12)
    r_squared = 1 - batch.chi_squares / ((stack - stack.mean(-1, keepdims=True)) ** 2).sum(-1)
    assert r_squared[1, 2] == pytest.approx(dualfit.fit(decay, x, stack[1, 2], START).r_squared, rel=1e-12)


def test_parameters_may_have_the_names_of_models() -> None:
    assert dualfit.Model("constant + linear*x").parameters == ["constant", "linear"]
    assert dualfit.Model("growth", variables=["growth"]).parameters == []


def test_all_statistics_of_a_fit_are_completed() -> None:
    assert {"params", "r_squared", "aic", "degrees_of_freedom"} <= set(dir(FIT))


# Arrays, intervals and quantities


def test_numbers_of_a_fit_are_arrays() -> None:
    params = FIT.params
    assert type(params[0]) is np.float64 and type(params[:2]) is np.ndarray and type(params * 2) is np.ndarray
    assert type(np.exp(params)) is np.ndarray and type(params.sum()) is np.float64 and type(params @ params) is np.float64
    assert repr(params) == repr(np.array(params)) and str(params) == str(np.array(params))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(params)), params)
    np.testing.assert_array_equal(dualfit.fit(decay, x, y, params, fixed=FIT.names).params, params)


def test_results_with_hints_are_copied_and_pickled() -> None:
    for result in (FIT, BATCH, JOINT, MODEL, FIT["a"]):
        assert type(copy.copy(result)) is type(pickle.loads(pickle.dumps(result))) is type(result)


def test_intervals_are_rounded_when_they_print() -> None:
    intervals = FIT.confidence_intervals()
    assert repr(intervals) == "{'a': (2.4906, 2.5293), 'b': (1.2825, 1.3258), 'c': (0.4901, 0.5069)}"
    low, high = intervals["a"]
    assert (low, high) == intervals["a"] == (intervals["a"].lower, intervals["a"].upper) and low != 2.4906
    assert str(FIT.profile("a").interval()) == "(2.4907, 2.5293)"
    assert isinstance(FIT.bootstrap(200, seed=1).interval("a"), dualfit.Interval)
    assert repr(dualfit.Interval(-np.inf, 3.0)) == "(-inf, 3)"
    assert repr(dualfit.Interval(np.nan, np.nan)) == "(nan, nan)"
    assert repr(dualfit.Interval(-123456.0, 123456.0)) == "(-123000, 123000)"
    assert repr(dualfit.Interval(1e-9, 3e-9)) == "(1e-09, 3e-09)"


def test_shared_parameters_are_rounded_when_they_print() -> None:
    assert repr(JOINT.shared) == "{'b': 1.3042 ± 0.0076}"


def test_profiles_and_contours_print_briefly() -> None:
    profile = FIT.profile("b")
    assert re.fullmatch(r"<Profile of b: \d+ values from 1\.\d+ to 1\.\d+, fitted 1\.30416>", repr(profile))
    assert repr(FIT.contour("a", "b", points=21)) == "<Contour of a and b: 21 x 21 values, levels 0.6827, 0.95>"


# Joint fits and batches


def test_numbers_of_a_joint_fit() -> None:
    assert JOINT.chi_square == pytest.approx(JOINT.chi_squares.sum(), rel=1e-12)
    assert list(JOINT.values) == list(JOINT.errors) == ["a", "b", "c"]
    np.testing.assert_array_equal(JOINT.values["b"], JOINT["b"])
    np.testing.assert_array_equal(JOINT.errors["a"], JOINT.error("a"))


def test_chi_squares_of_a_batch() -> None:
    np.testing.assert_allclose(BATCH.chi_squares, [FIT.chi_square] * 2, rtol=1e-9)
    cube = dualfit.fit_batch(decay, x, np.stack([[y] * 3] * 2), START)
    assert cube.chi_squares.shape == (2, 3)


# Tables


def test_a_fit_of_the_columns_of_a_table() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"t": x, "u": x**2, "signal": y, "error": 0.02 + 0.01 * x, "good": x < 3.5})
    expected = dualfit.fit(decay, x, y, START, sigma=0.02 + 0.01 * x, mask=x < 3.5)
    for fit in (dualfit.fit, lambda f, *given, **options: dualfit.Model(f).fit(*given, **options)):
        found = fit(decay, "t", "signal", START, data=frame, sigma="error", mask="good")
        np.testing.assert_array_equal(found.params, expected.params)
    two = dualfit.fit(lambda x, a, b: a * x["t"] + b * x["u"], ["t", "u"], "signal", [1, 1], data=frame)
    np.testing.assert_allclose(two.params, np.linalg.lstsq(np.stack([x, x**2], axis=1), y)[0], rtol=1e-9)
    check_refused(lambda: dualfit.fit(decay, "time", "signal", START, data=frame), FitError, "there is no column 'time'; the table has t, u")
    check_refused(lambda: dualfit.fit(decay, "t", "signal", START), FitError, "'t' names a column, but there is no table; give it as data=")


# Bounds


@pytest.mark.parametrize("bounds", [
    [(0, 10), (0, 1), (0, 1)], ((0, 10), (0, 1), (0, 1)), np.array([[0, 10], [0, 1], [0, 1]]), [(0, None), (None, 1), (None, None)],
    ([0, None, 0], [None, 1, 1]), (None, [10, 1, 10]), {"b": (None, 1)},
])
def test_bounds_by_pairs_and_without_a_side(bounds: Any) -> None:
    expected = dualfit.fit(decay, x, y, [1, 0.5, 0.1], bounds={"b": (0, 1)})
    for fit in (dualfit.fit(decay, x, y, [1, 0.5, 0.1], bounds=bounds), dualfit.multi_start(decay, x, y, [1, 0.5, 0.1], starts=2, bounds=bounds)):
        np.testing.assert_allclose(fit.params, expected.params, rtol=1e-6)
        assert fit.at_bound == {"b": "upper"}


def test_two_pairs_for_two_parameters() -> None:
    formula = "a*exp(-b*x)"
    for bounds in ([(0, 10), (0, 9)], [(0, 1), (9, 10)], ((0, 10), (0, 9)), ([0, None], [0, None])):
        check_refused(lambda b=bounds: dualfit.fit(formula, x, y, bounds=b), FitError, "give {'a': (lower, upper), 'b': (lower, upper)}")  # type: ignore[misc]
    fit = dualfit.fit(formula, x, y, bounds=([0, 0], [10, 0.3]))
    assert fit.at_bound == {"b": "upper"}
    one = dualfit.fit("a*exp(-x)", x, y, bounds=[(0, 2)])
    assert one.at_bound == {"a": "upper"}


# Starts


def test_a_complete_start_by_name_is_that_start() -> None:
    peak = 3 * np.exp(-((x - 1) ** 2) / 0.02)
    model = models.gaussian()
    values = model.fit(x, peak, [1, 3.8, 0.05])
    named = model.fit(x, peak, {"amplitude": 1, "center": 3.8, "sigma": 0.05})
    np.testing.assert_array_equal(named.params, values.params)
    assert named.start_search is None and values.start_search is None


# Plots


def test_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(plt, "show", lambda: None)
    try:
        ax = FIT.plot(residuals=True)
        below = ax.figure.axes[1]
        np.testing.assert_array_equal(below.lines[-1].get_ydata(), FIT.residuals())
        _, (first, second) = plt.subplots(2)
        assert FIT.plot(first, residuals=second) is first and second.get_ylabel() == "residual"
        check_refused(lambda: FIT.plot(first, residuals=True), ValueError, "fit.plot(ax, residuals=below)")
        profile = FIT.profile("b")
        drawn = profile.plot()
        np.testing.assert_array_equal(drawn.lines[0].get_ydata(), profile.taus)
        assert drawn.get_xlabel() == "b" and len(drawn.patches) == 1
        assert profile.plot(first, level=None) is first
        region = FIT.contour("a", "b", points=31)
        drawn = region.plot()
        np.testing.assert_array_equal(drawn.lines[0].get_xdata(), region.lines[0].paths[0][:, 0])
        assert (drawn.get_xlabel(), drawn.get_ylabel()) == ("a", "b")
        assert [text.get_text() for text in drawn.get_legend().get_texts()] == ["68.27 % confidence", "95 % confidence", "fit"]
    finally:
        plt.close("all")
