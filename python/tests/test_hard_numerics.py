"""Hard numerics through Python: scales, offsets, overflow, parameters without effect; no success if nothing moved."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualfit
from dualfit import curve_fit, fit, fit_batch

pytestmark = pytest.mark.filterwarnings("error")

x = np.linspace(0, 4, 50)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.02 * np.random.default_rng(0).normal(size=50)


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def line(x, a, b):
    return a * x + b


FIT = fit(decay, x, y, [1, 1, 1])


# Scales


@pytest.mark.parametrize("scale", [1e30, 1e-30, 1e200, 1e-200, 1e300, 1e-300])
def test_the_scale_of_y_changes_nothing_but_the_scale(scale: float) -> None:
    factors = np.array([scale, 1, scale])
    scaled = fit(decay, x, y * scale, FIT.start * factors)
    assert scaled.converged, scaled.message
    np.testing.assert_allclose(scaled.params, FIT.params * factors, rtol=1e-9)
    np.testing.assert_allclose(scaled.std_errors, FIT.std_errors * factors, rtol=1e-7)
    assert scaled.stats["iterations"] == FIT.stats["iterations"]


@pytest.mark.parametrize("scale", [1e30, 1e-30, 1e150, 1e-150])
def test_curve_fit_does_not_mind_the_scale_of_y(scale: float) -> None:
    """For 1e±30, SciPy's 'trf' returns the starting point as converged. For 1e±200, its 'lm' gives a pcov of NaN."""
    factors = np.array([scale, 1, scale])
    popt, pcov = dualfit.curve_fit(decay, x, y * scale, factors)
    np.testing.assert_allclose(popt, FIT.params * factors, rtol=1e-8)
    np.testing.assert_allclose(pcov, FIT.covariance * np.outer(factors, factors), rtol=1e-6)


def test_parameters_of_very_different_size() -> None:
    for start in ([1, 1e12, 1], [1, 1, 1]):
        found = fit(decay, x * 1e-12, y, start)
        np.testing.assert_allclose(found.params, FIT.params * [1, 1e12, 1], rtol=1e-8)
        np.testing.assert_allclose(found.std_errors, FIT.std_errors * [1, 1e12, 1], rtol=1e-6)
    assert "order of magnitude" in found.warnings[0]


def test_a_line_over_seconds_since_1970() -> None:
    """SciPy's 'lm' stops at a slope of 1.94 instead of 3, 'trf' at 7e-9."""
    seconds = np.arange(100.0)
    values = 3 * seconds + 2 + 0.1 * np.sin(seconds)
    found = fit(line, 1.7e9 + seconds, values)
    slope = np.polyfit(seconds, values, 1)[0]
    assert found.values["a"] == pytest.approx(slope, rel=1e-7)
    assert "ill-conditioned" in found.warnings[0]
    popt, pcov = dualfit.curve_fit(line, 1.7e9 + seconds, values)
    assert popt[0] == pytest.approx(slope, rel=1e-7)
    assert np.sqrt(pcov[0, 0]) == pytest.approx(fit(line, seconds, values).errors["a"], rel=1e-5)


def test_a_small_signal_on_a_large_baseline() -> None:
    found = fit(decay, x, y + 1e8, [1, 1, 1e8])
    np.testing.assert_allclose(found.params - [0, 0, 1e8], FIT.params, rtol=1e-6)


def test_numbers_at_the_end_of_the_range() -> None:
    tiny = fit(decay, x, y * 5e-320, [5e-320, 1, 5e-320])
    assert tiny.converged and tiny.values["b"] == pytest.approx(FIT.values["b"], rel=1e-2)
    assert fit(line, x * 1e200, y).values["a"] == pytest.approx(np.polyfit(x, y, 1)[0] / 1e200, rel=1e-9)


@pytest.mark.xfail(strict=True, reason="the message speaks of residuals too large to be squared")
def test_a_line_through_subnormal_numbers() -> None:
    assert fit(line, x, x * 5e-320).converged


def test_single_precision_in_the_model_does_no_harm() -> None:
    """Finite differences of a single-precision model are noise, which misleads SciPy."""
    single = fit(lambda x, a, b, c: decay(x.astype("f4"), a, b, c), x, y, [1, 1, 1])
    np.testing.assert_allclose(single.params, FIT.params, rtol=1e-6)


def test_order_and_copies_of_points() -> None:
    order = np.random.default_rng(1).permutation(50)
    np.testing.assert_allclose(fit(decay, x[order], y[order], [1, 1, 1]).params, FIT.params, rtol=1e-10)
    twice = fit(decay, np.repeat(x, 2), np.repeat(y, 2), [1, 1, 1])
    np.testing.assert_allclose(twice.params, FIT.params, rtol=1e-10)
    np.testing.assert_allclose(twice.std_errors, FIT.std_errors * np.sqrt(47 / 97), rtol=1e-7)


# Starting points


def test_all_zeros() -> None:
    np.testing.assert_allclose(fit(decay, x, y, [0, 0, 0]).params, FIT.params, rtol=1e-7)


def test_the_end_as_the_start() -> None:
    exact = decay(x, 2.5, 1.3, 0.5)
    found = fit(decay, x, exact, [2.5, 1.3, 0.5])
    assert found.converged and "passes through all" in found.message
    assert np.all(found.std_errors < 1e-15)
    np.testing.assert_allclose(fit(decay, x, exact, [1, 1, 1]).params, [2.5, 1.3, 0.5], rtol=1e-12)


def test_nothing_moves_where_nothing_has_an_effect() -> None:
    """SciPy, lmfit and NLSQ return the starting point and report success."""
    found = fit(lambda x, a, m, s: a * np.exp(-(((x - m) / s) ** 2) / 2), x, y, [1, 200, 1])
    assert not found.converged
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dualfit.NotTracedWarning)
        flat = fit(lambda x, a: 0 * x, x, y, [1])
    assert not flat.converged
    for result in (found, flat):
        np.testing.assert_array_equal(result.params, result.start)


def test_a_term_that_loses_its_effect_is_named() -> None:
    noise = 0.01 * np.random.default_rng(0).normal(size=(2, 50))[1]
    found = fit(lambda x, a, b, c, d: a * np.exp(-b * x) + c * np.exp(-d * x), x, 2 * np.exp(-x) + noise, [1, 0.5, 1, 2])
    assert not found.converged
    assert any("`d`" in text for text in found.warnings)


@pytest.mark.parametrize("factor", [10, 20, 40])
def test_a_decay_on_an_offset_from_ones(factor: float) -> None:
    """A short first step leads to slower and slower decays; `curve_fit` then tries a long first step."""
    popt, _ = dualfit.curve_fit(decay, x, y + factor)
    np.testing.assert_allclose(popt, FIT.params + [0, 0, factor], rtol=1e-6)


# Models that are not smooth or not defined everywhere, and rank-deficient problems


def test_logarithms_of_negative_numbers_are_stepped_around() -> None:
    found = fit(lambda x, a, b: a * np.log(x + b), x, np.log(x + 0.1), [1, 5])
    np.testing.assert_allclose(found.params, [1, 0.1], rtol=1e-9)


def test_kinks_and_steps() -> None:
    kink = fit(lambda x, a, c: a * np.abs(x - c), x, np.abs(x - 2.2), [1, 1])
    np.testing.assert_allclose(kink.params, [1, 2.2], rtol=1e-9)
    step = fit(lambda x, a, c: a * np.where(x > c, 1, 0), x, np.where(x > 2, 1.0, 0), [1, 1.5])
    assert step.undetermined == ["c"]
    assert not step.converged


def test_a_pole_among_the_points() -> None:
    found = fit(lambda x, a, b: a / (x - b), x + 1, 1 / (x + 1.5), [1, 0.0])
    np.testing.assert_allclose(found.params, [1, -0.5], rtol=1e-9)


#: Fits whose data do not determine all parameters, their rank, and the undetermined parameters.
DEFICIENT: dict[str, tuple[Callable[[], dualfit.Fit], int, list[str]]] = {
    "redundant": (lambda: fit(lambda x, a, b: a * b * x, x, y, [1, 1]), 1, ["a", "b"]),
    "one x": (lambda: fit(line, np.ones(50), y), 1, ["a", "b"]),
    "unused": (lambda: fit(lambda x, a, b: a * x, x, y, [1, 1]), 1, ["b"]),
    "y is 0": (lambda: fit(decay, x, 0 * x, [1, 1, 1]), 2, ["b"]),
    "few points": (lambda: fit(decay, x[:2], y[:2], [1, 1, 1], allow_underdetermined=True), 2, ["a", "b", "c"]),
}


@pytest.mark.parametrize("name", DEFICIENT)
def test_what_the_data_do_not_determine_has_an_infinite_error(name: str) -> None:
    call, rank, undetermined = DEFICIENT[name]
    found = call()
    assert found.rank == rank
    assert found.undetermined == undetermined
    assert all(np.isposinf(found.errors[name]) for name in undetermined)
    assert found.warnings


def test_as_many_points_as_parameters() -> None:
    found = fit(line, [1.0, 2], [3.0, 5])
    np.testing.assert_allclose(found.params, [2, 1])
    assert np.isnan(found.std_errors).all() and "no errors without sigma and absolute_sigma=True" in found.warnings[0]
    assert np.isfinite(fit(line, [1.0, 2], [3.0, 5], sigma=0.1, absolute_sigma=True).std_errors).all()


def test_one_point() -> None:
    assert fit(lambda x, a: a * x, [2.0], [4.0], [1]).values["a"] == 2.0


def test_a_constant_has_no_r_squared() -> None:
    found = fit(decay, x, np.full(50, 3.0), [1, 1, 1])
    assert found.r_squared is None
    np.testing.assert_allclose(found.predict(), 3.0, rtol=1e-12)


def test_a_poor_fit_is_called_so() -> None:
    found = fit(lambda x, a, w: a * np.sin(w * x), x, np.sin(6 * x), [1, 3])
    assert any("hardly better than a constant" in text for text in found.warnings)


# Sigma, bounds, data types, and constant data


def test_points_of_infinite_sigma_do_not_count() -> None:
    found = fit(decay, x, y, [1, 1, 1], sigma=np.where(np.arange(50) == 3, np.inf, 1.0))
    np.testing.assert_allclose(found.params, fit(decay, np.delete(x, 3), np.delete(y, 3), [1, 1, 1]).params, rtol=1e-9)
    assert found.degrees_of_freedom == 46


def test_equal_bounds_fix() -> None:
    found = fit(decay, x, y, [1, 1, 1], bounds={"b": (1, 1)})
    assert found.values["b"] == 1.0
    assert "equal bounds" in found.warnings[0]
    np.testing.assert_allclose(found.params, fit(decay, x, y, {"b": 1}, fixed="b").params, rtol=1e-9)


def test_all_fixed() -> None:
    found = fit(decay, x, y, [1, 1, 1], fixed=["a", "b", "c"])
    assert found.chi_square == pytest.approx(np.sum((y - decay(x, 1, 1, 1)) ** 2), rel=1e-12)
    assert "all parameters are fixed" in found.message


@pytest.mark.parametrize("kind", ["u1", "i2", "f4", "?"])
def test_narrow_types_do_not_wrap_around(kind: str) -> None:
    values: Any = (np.arange(50) * 5 % (2 if kind == "?" else 256)).astype(kind)
    np.testing.assert_allclose(fit(line, x, values).params, np.polyfit(x, values.astype(float), 1), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(fit(line, values, y).params, np.polyfit(values.astype(float), y, 1), rtol=1e-9)


@pytest.mark.parametrize("value", [65535.0, 4096.0, 7.0, 0.1, 0.0])
@pytest.mark.parametrize("start", [[100, 1, 10], [1, 1, 1]], ids=["far", "ones"])
def test_a_constant_row_determines_no_rate(value: float, start: list[float]) -> None:
    # A saturated pixel: the amplitude is 0, and rounding must not yield a finite error of the rate.
    found = fit(decay, x, np.full(x.size, value), start)
    assert found.undetermined == ["b"] and found.std_errors[1] == np.inf
    batch = fit_batch(decay, x, np.full((3, x.size), value), start)
    assert np.isinf(batch.std_errors[:, 1]).all()
    with pytest.warns(dualfit.OptimizeWarning, match="Covariance of the parameters could not be estimated"):
        assert np.isinf(curve_fit(decay, x, np.full(x.size, value), start)[1]).all()
