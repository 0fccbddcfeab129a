"""`dualfit.fit`: parameter settings, kinds of data, and warnings of the result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualfit
from dualfit import Model

pytestmark = pytest.mark.filterwarnings("error")

x = np.linspace(0, 4, 50)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.05 * np.sin(9 * x)


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def straight(x, *p):
    return p[0] * x + p[1]


BEST = dualfit.fit(decay, x, y, [1, 1, 1])


def near(fit: dualfit.Fit, expected: Any = BEST.params) -> None:
    assert fit.converged, fit.message
    np.testing.assert_allclose(fit.params, expected, rtol=1e-7)


# Names and starts


def test_names_are_those_of_the_signature() -> None:
    assert BEST.names == ["a", "b", "c"]
    assert BEST.values == dict(zip("abc", BEST.params))
    assert BEST.errors == dict(zip("abc", BEST.std_errors))
    assert BEST["b"] == dualfit.Quantity(BEST.params[1], BEST.std_errors[1])
    assert repr(BEST["b"]) == str(BEST["b"]) == f"{BEST.params[1]:.3f} ± {BEST.std_errors[1]:.3f}"


def test_defaults_are_starts() -> None:
    fit = dualfit.fit(lambda x, a=2, b=np.float64(1.5), c=np.int32(0): decay(x, a, b, c), x, y)
    np.testing.assert_array_equal(fit.start, [2, 1.5, 0])
    near(fit)


def test_defaults_that_are_no_numbers_are_options() -> None:
    def f(x, a, b=1.0, c=0.5, log=False, kind="decay", power=None):
        assert kind == "decay" and power is None
        return np.log(decay(x, a, b, c)) if log else decay(x, a, b, c)

    fit = dualfit.fit(f, x, y)
    assert fit.names == ["a", "b", "c"]
    near(fit)
    with pytest.raises(ValueError, match="b stands behind log=False, which is an option; put options last"):
        dualfit.fit(lambda x, a, log=False, b=1.0: a * x + b, x, y)


def test_keyword_only_arguments_are_options() -> None:
    fit = dualfit.fit(lambda x, a, b, *, power=2: a * x**power + b, x, y)
    assert fit.names == ["a", "b"]


@pytest.mark.parametrize("p0", [[2, 1, 0], (2, 1, 0), np.array([2, 1, 0]), {"a": 2, "b": 1, "c": 0}, {"b": 1}])
def test_kinds_of_starts(p0: Any) -> None:
    near(dualfit.fit(decay, x, y, p0))


def test_a_start_by_name_leaves_the_other_defaults() -> None:
    fit = dualfit.fit(lambda x, a=2.0, b=1.5, c=0.0: decay(x, a, b, c), x, y, {"a": 3})
    np.testing.assert_array_equal(fit.start, [3, 1.5, 0])
    near(fit)
    near(dualfit.fit(lambda x, a, b=1.5, c=0.0: decay(x, a, b, c), x, y, {}))


def test_what_is_linear_needs_no_start() -> None:
    fit = dualfit.fit(decay, x, y, {"b": 1.0})
    basis = np.stack([np.exp(-x), np.ones_like(x)], axis=1)
    np.testing.assert_allclose(fit.start[[0, 2]], np.linalg.lstsq(basis, y)[0], rtol=1e-9)
    line = dualfit.fit(lambda x, a, b: a * x + b, x, y)
    near(line, np.polyfit(x, y, 1))


def test_prefix() -> None:
    fit = Model(decay, prefix="d_").fit(x, y, {"d_b": 1})
    assert fit.names == ["d_a", "d_b", "d_c"]
    near(fit)
    assert Model(Model(decay), prefix="e_").parameters == ["e_a", "e_b", "e_c"]
    assert Model(decay).prefixed("f_").parameters == ["f_a", "f_b", "f_c"]


def test_any_number_of_parameters() -> None:
    assert dualfit.fit(straight, x, y, [1, 1]).names == ["p0", "p1"]
    fit = Model(straight, ["slope", "intercept"]).fit(x, y)
    assert fit.names == ["slope", "intercept"]
    near(fit, np.polyfit(x, y, 1))
    assert Model(straight, ["slope", "intercept"], prefix="bg_").parameters == ["bg_slope", "bg_intercept"]
    with pytest.raises(ValueError, match="how many parameters"):
        dualfit.fit(straight, x, y)
    with pytest.raises(ValueError, match="does not name the parameters"):
        Model(straight).parameters  # noqa: B018


def test_formula() -> None:
    fit = dualfit.fit("a*exp(-b*x) + c", x, y, {"b": 1})
    assert fit.names == ["a", "b", "c"]
    near(fit)
    plane = Model("a*u + b*v", variables=["u", "v"]).fit([x, np.cos(x)], y)
    near(plane, np.linalg.lstsq(np.stack([x, np.cos(x)], axis=1), y)[0])


# Bounds, fixed parameters, ties, derived quantities


@pytest.mark.parametrize("bounds", [{"b": (0, 1.2)}, {"b": (None, 1.2)}, ([0, 0, 0], [9, 1.2, 9]), (0, [9, 1.2, 9])])
def test_bounds(bounds: Any) -> None:
    fit = dualfit.fit(decay, x, y, [1, 1, 1], bounds=bounds)
    assert fit.at_bound == {"b": "upper"}
    assert fit.values["b"] == 1.2
    assert np.isnan(fit.errors["b"])
    held = dualfit.fit(lambda x, a, c: decay(x, a, 1.2, c), x, y)
    np.testing.assert_allclose(fit.params[[0, 2]], held.params, rtol=1e-8)
    np.testing.assert_allclose(fit.std_errors[[0, 2]], held.std_errors, rtol=1e-8)
    assert any("bound" in text for text in fit.warnings)


def test_bounds_that_are_not_reached_change_nothing() -> None:
    fit = dualfit.fit(decay, x, y, [1, 1, 1], bounds={"a": (0, 9), "c": (0, None)})
    near(fit)
    assert fit.at_bound == {}
    np.testing.assert_allclose(fit.covariance, BEST.covariance, rtol=1e-6)


@pytest.mark.parametrize("fixed", ["c", ["c"], ("c",)])
def test_fixed(fixed: Any) -> None:
    fit = dualfit.fit(decay, x, y, {"b": 1, "c": 0.4}, fixed=fixed)
    assert fit.values["c"] == 0.4
    assert fit.errors["c"] == 0.0
    other = dualfit.fit(lambda x, a, b: decay(x, a, b, 0.4), x, y, {"b": 1})
    np.testing.assert_allclose(fit.params[:2], other.params, rtol=1e-7)
    np.testing.assert_allclose(fit.covariance[:2, :2], other.covariance, rtol=1e-6)


def test_ties() -> None:
    fit = dualfit.fit(decay, x, y, {"a": 2, "b": 1}, ties={"c": "a/5"})
    other = dualfit.fit(lambda x, a, b: decay(x, a, b, a / 5), x, y, {"b": 1})
    np.testing.assert_allclose(fit.params, [*other.params, other.params[0] / 5], rtol=1e-7)
    assert fit.errors["c"] == pytest.approx(other.errors["a"] / 5, rel=1e-6)
    assert fit.statistics["estimated"] == 2


def test_derived() -> None:
    fit = dualfit.fit(decay, x, y, [1, 1, 1], derived={"half_life": "ln(2)/b", "total": "a + c"})
    b, sb = fit["b"].value, fit["b"].std_error
    assert fit["half_life"].value == pytest.approx(np.log(2) / b, rel=1e-12)
    assert fit["half_life"].std_error == pytest.approx(np.log(2) / b**2 * sb, rel=1e-9)
    assert fit.derived["total"] == fit["total"]
    variance = fit.covariance[0, 0] + fit.covariance[2, 2] + 2 * fit.covariance[0, 2]
    assert fit["total"].std_error == pytest.approx(np.sqrt(variance), rel=1e-9)


def test_options_of_none_say_nothing() -> None:
    nothing = dict.fromkeys(dualfit.Options.__annotations__)
    near(dualfit.fit(decay, x, y, [1, 1, 1], **nothing))


# Data


def test_kinds_of_data() -> None:
    for kind in (list, tuple, np.array):
        near(dualfit.fit(decay, kind(x), kind(y), [1, 1, 1]))
    near(dualfit.fit(decay, x[::-1], y[::-1], [1, 1, 1]))
    counts = np.round(100 * y).astype(np.uint16)
    whole = dualfit.fit(decay, x, counts, [100, 1, 0])
    np.testing.assert_array_equal(whole.params, dualfit.fit(decay, x, counts.astype(float), [100, 1, 0]).params)


def test_pandas() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"t": x, "u": np.cos(x), "y": y, "error": 0.05}, index=range(9, 59))
    near(dualfit.fit(decay, table["t"], table["y"], [1, 1, 1], sigma=table["error"]))
    plane = dualfit.fit(lambda d, a, b: a * d["t"] + b * d["u"], table, table["y"])
    near(plane, np.linalg.lstsq(table[["t", "u"]].to_numpy(), y)[0])
    near(Model("a*t + b*u", variables=["t", "u"]).fit(table, table["y"]), plane.params)
    np.testing.assert_allclose(plane.residuals(), y - plane.predict(), rtol=1e-12)
    blurred = table.assign(error=0.1)[["error"]]
    fits = [dualfit.fit(decay, table["t"], table["y"], [1, 1, 1], sigma=0.05, x_sigma=sigma) for sigma in (blurred, 0.1)]
    np.testing.assert_allclose(fits[0].params, fits[1].params, rtol=1e-12)


def test_starts_of_pandas() -> None:
    pd = pytest.importorskip("pandas")
    by_name = dualfit.fit(decay, x, y, pd.Series({"c": 0.1, "b": 1.0, "a": 2.0}))
    np.testing.assert_array_equal(by_name.start, [2, 1, 0.1])
    np.testing.assert_array_equal(dualfit.fit(decay, x, y, pd.Series([2, 1, 0.1])).start, [2, 1, 0.1])
    np.testing.assert_array_equal(dualfit.fit(decay, x, y, pd.DataFrame([[2, 1, 0.1]]).iloc[0]).start, [2, 1, 0.1])


def test_xarray() -> None:
    xr = pytest.importorskip("xarray")
    data = xr.DataArray(y, dims=["t"], coords={"t": x})
    near(dualfit.fit(decay, data.t, data, [1, 1, 1]))


def test_mask() -> None:
    fit = dualfit.fit(decay, x, y, [1, 1, 1], mask=x < 3)
    near(fit, dualfit.fit(decay, x[x < 3], y[x < 3], [1, 1, 1]).params)
    assert fit.points == np.sum(x < 3)


def test_omit() -> None:
    gaps = np.where(np.isin(np.arange(50), [3, 8]), np.nan, y)
    fit = dualfit.fit(decay, x, gaps, [1, 1, 1], nan_policy="omit")
    near(fit, dualfit.fit(decay, np.delete(x, [3, 8]), np.delete(y, [3, 8]), [1, 1, 1]).params)
    assert (fit.points, fit.omitted) == (48, 2)


# Termination and statistics


def test_statistics() -> None:
    residuals = y - decay(x, *BEST.params)
    chi_square = residuals @ residuals
    assert BEST.chi_square == pytest.approx(chi_square, rel=1e-12)
    assert BEST.reduced_chi_square == pytest.approx(chi_square / 47, rel=1e-12)
    assert BEST.r_squared == pytest.approx(1 - chi_square / np.sum((y - y.mean()) ** 2), rel=1e-12)
    assert BEST.rmse == pytest.approx(np.sqrt(chi_square / 50), rel=1e-12)
    assert (BEST.points, BEST.estimated, BEST.degrees_of_freedom) == (50, 3, 47)
    assert BEST.statistics["cost"] == pytest.approx(chi_square / 2, rel=1e-12)
    assert BEST.stats["processor"].startswith("CPU")
    assert (BEST.best_values, BEST.success, BEST.chisqr, BEST.redchi) == (
        BEST.values, True, BEST.chi_square, BEST.reduced_chi_square)


def test_a_fit_that_did_not_converge_says_so() -> None:
    for options in ({"max_evaluations": 2}, {"max_seconds": 0}):
        fit = dualfit.fit(decay, x, y, [1, 1, 1], **options)
        assert not fit.converged
        assert fit.message.startswith("not converged")
        assert "not converged" in str(fit)
        assert repr(fit).startswith("<Fit not converged: a=")


def test_a_start_far_from_everything() -> None:
    fit = dualfit.fit(lambda x, a, m, s: a * np.exp(-(((x - m) / s) ** 2)), x, y, [1, 500, 1])
    assert not fit.converged
    assert "start" in fit.message


def test_what_the_data_do_not_determine() -> None:
    fit = dualfit.fit(lambda x, a, b: a * b * x, x, y, [1, 1])
    assert fit.rank == 1
    assert fit.undetermined == ["a", "b"]
    assert np.all(np.isposinf(fit.std_errors))
    assert any("a" in text and "b" in text for text in fit.warnings)
    assert fit.params[0] * fit.params[1] == pytest.approx(x @ y / (x @ x), rel=1e-9)
    unused = dualfit.fit(lambda x, a, b: a * x, x, y, [1, 1])
    assert unused.undetermined == ["b"]
    assert np.isfinite(unused.errors["a"]) and np.isposinf(unused.errors["b"])


def test_no_names_but_those() -> None:
    with pytest.raises(KeyError, match="'q' is neither a parameter nor a derived quantity; there are a, b, c"):
        BEST["q"]
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        BEST.nothing  # noqa: B018


def test_a_formula_of_t() -> None:
    t = np.linspace(0, 4, 50)
    decayed = 2.5 * np.exp(-1.3 * t)
    found = dualfit.fit("a*exp(-b*t)", t, decayed, {"b": 1.0})
    np.testing.assert_allclose(found.params, [2.5, 1.3], rtol=1e-9)
    assert found.names == ["a", "b"]
    both = dualfit.fit("t*exp(-b*x)", t, decayed, {"b": 1.0})
    assert both.names == ["t", "b"]
    for unclear in ("a*exp(-b*q)", "a*x0 + b*x1", "1e3*a + log(b)"):
        with pytest.raises(dualfit.FitError, match="variables="):
            dualfit.fit(unclear, t, decayed)
    constant = dualfit.fit("c", t, decayed)
    np.testing.assert_allclose(constant.params, [decayed.mean()])
    declared = dualfit.Model("a*exp(-b*q)", variables=["q"]).fit(t, decayed, {"b": 1.0})
    np.testing.assert_allclose(declared.params, [2.5, 1.3], rtol=1e-9)


@pytest.mark.parametrize("form", ["function", "formula"])
def test_ties_name_added_parameters(form: str) -> None:
    """lmfit's recipe for two ordered times: their difference is an additional parameter."""
    t = np.linspace(0, 6, 80)
    two = 3 * np.exp(-t / 0.4) + 2 * np.exp(-t / 2.5) + 0.01 * np.sin(17 * np.arange(80) ** 2)

    def decays(x, a1, t1, a2, t2):
        return a1 * np.exp(-x / t1) + a2 * np.exp(-x / t2)

    model: Any = decays if form == "function" else "a1*exp(-x/t1) + a2*exp(-x/t2)"
    options: dict[str, Any] = dict(ties={"t2": "t1 + d"}, parameters=["d"], bounds={"d": (0, None)})
    searched = dualfit.fit(model, t, two, **options)
    found = dualfit.fit(model, t, two, {"a1": 1, "t1": 1, "a2": 1, "d": 1}, **options)
    np.testing.assert_allclose(searched.params, found.params, rtol=1e-6)
    by_hand = dualfit.fit(lambda x, a1, t1, a2, d: decays(x, a1, t1, a2, t1 + d), t, two, [1, 1, 1, 1])
    assert found.names[-1] == "d"
    for name in ("a1", "t1", "a2", "d"):
        assert found[name].value == pytest.approx(by_hand[name].value, rel=1e-6)
        assert found[name].std_error == pytest.approx(by_hand[name].std_error, rel=1e-4)
    assert found["t2"].value == found["t1"].value + found["d"].value
    np.testing.assert_allclose(found.predict(), by_hand.predict(), rtol=1e-6)
    np.testing.assert_allclose(found.predict(t[:3]), by_hand.predict(t[:3]), rtol=1e-6)
    batch = dualfit.fit_batch(model, t, np.stack([two, two]), [1, 1, 1, 1, 1], **options)
    np.testing.assert_allclose(batch["d"], by_hand["d"].value, rtol=1e-6)
    del options["parameters"]
    with pytest.raises(dualfit.FitError, match="parameters="):
        dualfit.fit(model, t, two, {"a1": 1, "t1": 1, "a2": 1}, **{**options, "bounds": None})


def test_the_scale_of_a_loss_from_the_median() -> None:
    u = np.linspace(0, 5, 200)
    noise = np.random.default_rng(1).normal(0, 0.1, 200)
    noise[::10] += 20
    first = dualfit.fit("a*x + b", u, 2 * u + noise, loss="soft_l1", loss_scale=1e-3)
    scale = first.diagnostics()["robust_scale"]
    assert scale == pytest.approx(1.4826 * np.median(np.abs(first.residuals())), rel=1e-4)
    assert 0.08 < scale < 0.13
    fit = dualfit.fit("a*x + b", u, 2 * u + noise, first.values, loss="tukey", loss_scale=4.685 * scale)
    assert abs(fit["a"].value - 2) < 4 * fit["a"].std_error
