"""Derived quantities by name, in every function that accepts the name of a parameter."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import dualfit
from dualfit import FitError, models

x = np.linspace(0, 6, 60)
y = 3 * np.exp(-0.8 * x) + 0.05 * np.sin(9 * x)
DERIVED = {"doubled": "2*half_life", "half_life": "ln(2)/k", "area": "a/k"}


def decay(x, a, k):
    return a * np.exp(-k * x)


def test_a_fit_takes_them_everywhere() -> None:
    fit = dualfit.fit(decay, x, y, [1, 1], derived=DERIVED)
    a, k = fit.params
    half_life = fit["half_life"]
    assert half_life.value == pytest.approx(np.log(2) / k)
    assert half_life.std_error == pytest.approx(np.log(2) / k**2 * fit.std_errors[1])
    gradient = np.array([1 / k, -a / k**2])
    assert fit["area"].std_error == pytest.approx(np.sqrt(gradient @ fit.covariance @ gradient))
    assert fit["doubled"].value == pytest.approx(2 * half_life.value)
    assert fit.propagate("half_life") == half_life
    assert fit.propagate("doubled/2 + 0*a").std_error == pytest.approx(half_life.std_error)
    assert pickle.loads(pickle.dumps(fit)).propagate("area") == fit["area"]
    with pytest.raises(KeyError, match="half_life"):
        fit["life"]


def test_profiles_of_them_are_those_of_the_model_written_in_them() -> None:
    fit = dualfit.fit(decay, x, y, [1, 1], derived=DERIVED)
    low, high = fit.profile("k").interval(0.95)
    np.testing.assert_allclose(fit.profile("half_life").interval(0.95), [np.log(2) / high, np.log(2) / low], rtol=1e-5)
    other = dualfit.fit(lambda x, area, k: area * k * np.exp(-k * x), x, y, [3, 1])
    np.testing.assert_allclose(fit.profile("area").interval(0.95), other.profile("area").interval(0.95), rtol=1e-5)


def test_batches_have_them() -> None:
    stack = np.stack([y, 2 * y, y + 0.1 * np.cos(5 * x)])
    batch = dualfit.fit_batch(decay, x, stack, [1, 1], derived=DERIVED)
    for i, row in enumerate(stack):
        fit = dualfit.fit(decay, x, row, [1, 1], derived=DERIVED)
        for name in (*DERIVED, "a", "k"):
            assert batch[name][i] == pytest.approx(fit[name].value, rel=1e-7)
            assert batch.error(name)[i] == pytest.approx(fit[name].std_error, rel=1e-6)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(batch)).error("area"), batch.error("area"))
    with pytest.raises(KeyError, match="half_life"):
        batch["life"]
    peaks = dualfit.fit_batch(models.gaussian(), x, np.exp(-((x - 3) ** 2))[None], covariance=True)
    assert peaks["height"][0] == pytest.approx(1.0) and np.isfinite(peaks.error("height")[0])


def test_what_follows_from_itself_is_refused() -> None:
    with pytest.raises(FitError, match="`q` follows from itself"):
        dualfit.fit(decay, x, y, [1, 1], derived={"p": "2*q", "q": "p + a"})
