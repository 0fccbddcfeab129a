"""Uncertainties of results (propagation, bands, profiles), compared with closed forms and finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualfit

stats = pytest.importorskip("scipy.stats")

x = np.linspace(0, 4, 50)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.05 * np.random.default_rng(11).normal(size=50)


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def called_as_it_is(x, a, b, c):
    if b < -50:
        return np.zeros_like(x)
    return a * np.exp(-b * x) + c


def line(x, a, b):
    return a * x + b


FIT = dualfit.fit(decay, x, y, [1, 1, 1])
LINE = dualfit.fit(line, x, y)


# Formulas


def propagated(formula: Any, fit: dualfit.Fit) -> tuple[float, float]:
    """Return the value of a formula and its standard error, from a gradient by central differences."""
    p = fit.params
    steps = 1e-6 * np.abs(p) * np.eye(p.size)
    gradient = [(formula(*(p + step)) - formula(*(p - step))) / (2 * step.max()) for step in steps]
    return formula(*p), float(np.sqrt(gradient @ fit.covariance @ gradient))


@pytest.mark.parametrize(("text", "formula"), [
    ("ln(2)/b", lambda a, b, c: np.log(2) / b),
    ("a/b", lambda a, b, c: a / b),
    ("a + c", lambda a, b, c: a + c),
    ("a*exp(-2*b) + c", lambda a, b, c: a * np.exp(-2 * b) + c),
    ("sqrt(a^2 + c^2)", lambda a, b, c: np.hypot(a, c)),
    ("b", lambda a, b, c: b),
])
def test_propagate(text: str, formula: Any) -> None:
    found, (value, error) = FIT.propagate(text), propagated(formula, FIT)
    assert found.value == pytest.approx(value, rel=1e-12)
    assert found.std_error == pytest.approx(error, rel=1e-8)


def test_uncertainties() -> None:
    pytest.importorskip("uncertainties")
    numbers = FIT.uncertainties()
    found = FIT.propagate("a/b - c")
    expected = numbers["a"] / numbers["b"] - numbers["c"]
    assert expected.nominal_value == pytest.approx(found.value, rel=1e-12)
    assert expected.std_dev == pytest.approx(found.std_error, rel=1e-9)


# Intervals from errors


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_confidence_intervals(level: float) -> None:
    reach = stats.t.ppf((1 + level) / 2, 47)
    for k, (low, high) in enumerate(FIT.confidence_intervals(level).values()):
        assert low == pytest.approx(FIT.params[k] - reach * FIT.std_errors[k], rel=1e-9)
        assert high == pytest.approx(FIT.params[k] + reach * FIT.std_errors[k], rel=1e-9)


def test_known_errors_have_intervals_of_the_normal_distribution() -> None:
    fit = dualfit.fit(line, x, y, sigma=0.05, absolute_sigma=True)
    low, high = fit.confidence_intervals(0.95)["a"]
    assert high - low == pytest.approx(2 * stats.norm.ppf(0.975) * fit.errors["a"], rel=1e-9)


# Bands


def leverage(at: Any) -> Any:
    """Return the leverage of the points `at` for a straight line fitted to the points x."""
    return 1 / 50 + (at - x.mean()) ** 2 / np.sum((x - x.mean()) ** 2)


def holds(band: dualfit.Band, center: Any, errors: Any, reach: float) -> None:
    np.testing.assert_allclose(band.center, center, rtol=1e-9)
    np.testing.assert_allclose(band.std_errors, errors, rtol=1e-9)
    np.testing.assert_allclose(band.upper, center + reach * errors, rtol=1e-9)
    np.testing.assert_allclose(band.lower, center - reach * errors, rtol=1e-9)


@pytest.mark.parametrize("level", [0.68, 0.95])
def test_bands_of_a_straight_line(level: float) -> None:
    at = np.linspace(-2, 9, 30)
    a, b = np.polyfit(x, y, 1)
    scatter = np.sqrt(np.sum((y - a * x - b) ** 2) / 48)
    reach = stats.t.ppf((1 + level) / 2, 48)
    holds(LINE.confidence_band(at, level), a * at + b, scatter * np.sqrt(leverage(at)), reach)
    holds(LINE.prediction_band(at, level), a * at + b, scatter * np.sqrt(1 + leverage(at)), reach)
    # The band of Working and Hotelling, which covers the whole line.
    wide = np.sqrt(2 * stats.f.ppf(level, 2, 48))
    holds(LINE.confidence_band(at, level, simultaneous=True), a * at + b, scatter * np.sqrt(leverage(at)), wide)


def test_the_band_at_the_data() -> None:
    band, again = FIT.confidence_band(), FIT.confidence_band(x)
    np.testing.assert_array_equal(band.center, again.center)
    np.testing.assert_allclose(band.center, FIT.predict(), rtol=1e-12)
    assert band.level == 0.95
    rows = np.stack([np.exp(-FIT.params[1] * x), -FIT.params[0] * x * np.exp(-FIT.params[1] * x), np.ones(50)], axis=1)
    errors = np.sqrt(np.einsum("ij,jk,ik->i", rows, FIT.covariance, rows))
    np.testing.assert_allclose(band.std_errors, errors, rtol=1e-9)


def test_new_observations_with_errors_of_their_own() -> None:
    sigma = 0.05 + 0.02 * np.cos(x)
    fit = dualfit.fit(line, x, y, sigma=sigma, absolute_sigma=True)
    at, own = np.array([0.5, 6.0]), np.array([0.3, 0.1])
    curve = fit.confidence_band(at).std_errors
    np.testing.assert_allclose(fit.prediction_band(at, sigma=own).std_errors, np.hypot(curve, own), rtol=1e-9)
    np.testing.assert_allclose(fit.prediction_band(at, sigma=0.2).std_errors, np.hypot(curve, 0.2), rtol=1e-9)
    with pytest.raises(dualfit.FitError, match="sigma"):
        fit.prediction_band(at)


def test_the_band_of_what_is_not_determined_is_infinite() -> None:
    fit = dualfit.Model("a*b*u + b*v", variables=["u", "v"]).fit([x, 0 * x], y, [1, 1])
    assert np.all(np.isposinf(fit.confidence_band([x[:3], np.ones(3)]).upper))
    assert np.all(np.isfinite(fit.confidence_band([x[1:4], np.zeros(3)]).upper))


@pytest.mark.parametrize("kind", ["array", "dictionary", "table"])
def test_bands_where_a_variable_is_held(kind: str) -> None:
    """A variable that is constant at the points of a band is not constant at the points of the data."""

    def points(u: Any, v: Any) -> Any:
        if kind == "array":
            return np.stack([u, v])
        columns = {"u": u, "v": v}
        return columns if kind == "dictionary" else pytest.importorskip("pandas").DataFrame(columns)

    def plane(p, a, b, c):
        u, v = p if kind == "array" else (p["u"], p["v"])
        return a * u + b * v + c

    u, v = x, np.cos(x)
    fit = dualfit.fit(plane, points(u, v), y)
    rows = np.stack([u, v, np.ones(50)], axis=1)
    covariance = fit.chi_square / 47 * np.linalg.inv(rows.T @ rows)
    for at in [(np.linspace(0, 4, 5), np.full(5, 0.5)), (np.full(4, 2.0), np.linspace(-1, 1, 4)), (np.ones(3), np.ones(3)),
               (np.array([1.0]), np.array([1.0])), (np.linspace(0, 1, 6),) * 2]:
        new = np.stack([*at, np.ones(at[0].size)], axis=1)
        band = fit.confidence_band(points(*at))
        np.testing.assert_allclose(band.center, new @ fit.params, rtol=1e-9)
        np.testing.assert_allclose(band.std_errors**2, np.diag(new @ covariance @ new.T), rtol=1e-8)


def test_bands_of_a_function_that_sees_all_points() -> None:
    """At other points it is another function. The band belongs to that function: its center equals `predict`."""
    fit = dualfit.fit(lambda x, a, b: a * x / 4 + b * (x - x.mean()) ** 2, x, y)
    np.testing.assert_allclose(fit.confidence_band().center, fit.predict(), rtol=1e-9)
    fit = dualfit.fit(lambda x, a, b: a * x if x.size == 50 else a * x + b, x, y)
    band = fit.confidence_band([1.0, 2.0])
    np.testing.assert_allclose(band.center, fit.predict([1.0, 2.0]), rtol=1e-12)
    # b has no effect on the data and is therefore undetermined.
    assert np.isinf(band.upper).all()


# Profiles


def test_the_profile_of_a_straight_line_is_the_t_interval() -> None:
    for name in ("a", "b"):
        profile = LINE.profile(name)
        for level in (0.68, 0.95, 0.99):
            np.testing.assert_allclose(profile.interval(level), LINE.confidence_intervals(level)[name], rtol=1e-6)
        np.testing.assert_allclose(profile.taus, (profile.values - LINE.values[name]) / LINE.errors[name], atol=1e-6)
        assert (profile.name, profile.value) == (name, LINE.values[name])
        assert profile.params.shape == (profile.values.size, 2)


def test_a_profile_that_is_no_parabola() -> None:
    """At the limits, the increase of the cost of the fits with fixed b corresponds to the quantile of t."""
    few = np.array([0.0, 0.5, 1.0, 2.0, 4.0])
    values = 2.5 * np.exp(-1.3 * few) + 0.5 + np.array([0.1, -0.15, 0.1, 0.05, -0.1])
    fit = dualfit.fit(decay, few, values, [2.5, 1.3, 0.5])
    low, high = fit.profile("b").interval(0.8)
    below, above = fit.values["b"] - low, high - fit.values["b"]
    assert above > 1.2 * below
    reach = stats.t.ppf(0.9, 2)
    for end in (low, high):
        basis = np.stack([np.exp(-end * few), np.ones(5)], axis=1)
        residuals = values - basis @ np.linalg.lstsq(basis, values)[0]
        tau = np.sqrt((residuals @ residuals - fit.chi_square) / fit.reduced_chi_square)
        assert tau == pytest.approx(reach, rel=1e-5)


def test_an_interval_beyond_the_level_of_a_profile_extends_it() -> None:
    profile = LINE.profile("a")
    short = profile.values
    for level in (0.9973, 0.99994, 0.95):
        np.testing.assert_allclose(profile.interval(level), LINE.confidence_intervals(level)["a"], rtol=1e-6)
    assert profile.values[0] < short[0] and short[-1] < profile.values[-1]
    assert FIT.profile("b", level=0.9).interval(0.99) == FIT.profile("b").interval(0.99)
    for level in (1.0, 1.5, -0.5, np.nan):
        with pytest.raises(dualfit.FitError, match="it must be a probability between 0 and 1"):
            profile.interval(level)


def test_profiles_that_cannot_be() -> None:
    with pytest.raises(dualfit.FitError, match="there is no parameter `q`"):
        FIT.profile("q")
    for ask in (FIT.profile, lambda name, level: FIT.confidence_band(level=level)):
        with pytest.raises(dualfit.FitError, match="it must be a probability between 0 and 1"):
            ask("a", level=1.5)


# The same for a function that is called directly


@pytest.mark.filterwarnings("ignore::dualfit.NotTracedWarning")
def test_everything_of_a_function_that_is_called_as_it_is() -> None:
    fit = dualfit.fit(called_as_it_is, x, y, [1, 1, 1])
    assert np.max(np.abs(fit.params - FIT.params) / FIT.std_errors) < 1e-6
    np.testing.assert_allclose(fit.std_errors, FIT.std_errors, rtol=1e-6)
    at = np.linspace(0, 6, 9)
    for band, expected in [(fit.confidence_band(), FIT.confidence_band()), (fit.confidence_band(at), FIT.confidence_band(at)),
                           (fit.prediction_band(at), FIT.prediction_band(at)),
                           (fit.confidence_band(at, simultaneous=True), FIT.confidence_band(at, simultaneous=True))]:
        np.testing.assert_allclose(band.center, expected.center, rtol=1e-7)
        np.testing.assert_allclose(band.std_errors, expected.std_errors, rtol=1e-5)
        np.testing.assert_allclose(band.upper, expected.upper, rtol=1e-6)
    np.testing.assert_allclose(fit.profile("b").interval(0.95), FIT.profile("b").interval(0.95), rtol=1e-6)
    np.testing.assert_allclose(fit.diagnostics()["leverage"], FIT.diagnostics()["leverage"], rtol=1e-5)
    np.testing.assert_allclose(fit.predict(at), FIT.predict(at), rtol=1e-7)
    assert fit.propagate("ln(2)/b").std_error == pytest.approx(FIT.propagate("ln(2)/b").std_error, rel=1e-6)
