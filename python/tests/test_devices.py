"""Fits on a CUDA device agree with fits on the CPU, for every entry point; skipped if there is no device."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dualfit
from dualfit import fit_batch, fit_stream, models

#: Usable devices. If DUALFIT_REQUIRE contains "cuda", the tests fail without a device.
USABLE = [device for device in dualfit.devices() if device.problem is None]
needs_device = pytest.mark.skipif(
    not USABLE and "cuda" not in os.environ.get("DUALFIT_REQUIRE", ""), reason="no CUDA device that can be computed on")
pytestmark = [pytest.mark.filterwarnings("error"), needs_device]

x = np.linspace(0, 4, 3000)
_random = np.random.default_rng(7)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.05 * _random.normal(size=3000)
sigma = 0.05 + 0.02 * np.cos(x)


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def alike(device: Any, host: Any) -> None:
    """Check that the minima agree to 1e-6 standard errors, and that the standard errors agree."""
    assert np.all(device.converged) and np.all(host.converged)
    assert (np.abs(device.params - host.params) <= 1e-6 * host.std_errors).all()
    np.testing.assert_allclose(device.std_errors, host.std_errors, rtol=1e-6)


def test_there_is_a_device() -> None:
    assert USABLE
    first = USABLE[0]
    assert first.name and first.multiprocessors > 0 and first.memory_total > 0
    assert first.nvrtc_version is not None and first.name in str(first)


@pytest.mark.parametrize("said", [{}, {"sigma": sigma}, {"loss": "soft_l1", "loss_scale": 0.1},
                                  {"bounds": ([0, 0, 0.55], np.inf)}, {"fixed": {"c": 0.5}}, {"ties": {"c": "a/5"}}],
                         ids=lambda said: next(iter(said), "plain"))
def test_one_fit(said: dict[str, Any]) -> None:
    fit = dualfit.fit(decay, x, y, [1, 1, 0.6], backend="cuda", **said)
    assert fit.stats["processor"] == "CUDA" and fit.stats["device"]
    host = dualfit.fit(decay, x, y, [1, 1, 0.6], backend="cpu", **said)
    free = host.std_errors > 0
    assert fit.converged and host.converged
    assert (np.abs(fit.params - host.params)[free] <= 1e-6 * host.std_errors[free]).all()
    np.testing.assert_allclose(fit.std_errors, host.std_errors, rtol=1e-6)


def test_functions_of_scipy() -> None:
    special = pytest.importorskip("scipy.special")

    def step(x, height, center, width):
        return np.where(x > 0.1, height * special.erfc((x - center) / width) + special.j0(x), np.tanh(x))

    z = step(x, 2.0, 1.5, 0.7) + 0.01 * np.random.default_rng(1).normal(size=x.size)
    alike(dualfit.fit(step, x, z, [1.5, 1.2, 1.0], backend="cuda"), dualfit.fit(step, x, z, [1.5, 1.2, 1.0], backend="cpu"))


def test_a_model_of_the_library() -> None:
    model = models.VoigtModel(prefix="v_") + models.LinearModel()
    truth = {"v_amplitude": 3.0, "v_center": 2.0, "v_sigma": 0.2, "v_gamma": 0.1, "slope": 0.2, "intercept": 1.0}
    z = model.evaluate(x, **truth) + 0.01 * np.random.default_rng(2).normal(size=x.size)
    alike(model.fit(x, z, backend="cuda"), model.fit(x, z, backend="cpu"))


@pytest.mark.parametrize("kind", ["f8", "f4", "u2", "u1", "i4"])
def test_batches(kind: str) -> None:
    t = np.linspace(0, 4, 40)
    truth = np.stack([_random.uniform(50, 200, 300), _random.uniform(0.3, 2, 300), _random.uniform(5, 20, 300)], axis=1)
    stack = (np.stack([decay(t, *p) for p in truth]) + _random.normal(size=(300, 40))).clip(0, 255).astype(kind)
    device = fit_batch(decay, t, stack, [100, 1, 10], backend="cuda")
    alike(device, fit_batch(decay, t, stack, [100, 1, 10], backend="cpu"))
    for precision, digits in (("mixed", 1e-4), ("single", 1e-2)):
        rough = fit_batch(decay, t, stack, [100, 1, 10], backend="cuda", precision=precision)
        assert rough.converged.all()
        assert (np.abs(rough.params - device.params) <= digits * device.std_errors).all()


def test_streams(tmp_path: Path) -> None:
    np.save(tmp_path / "xy.npy", np.stack([x, y], axis=1))
    device = fit_stream(decay, tmp_path / "xy.npy", [1, 1, 0], backend="cuda")
    assert device.stats["processor"] == "CUDA"
    alike(device, dualfit.fit(decay, x, y, [1, 1, 0], backend="cpu"))


def test_what_needs_the_function_itself_says_why_not() -> None:
    def branching(x, a, b, c):
        return decay(x, a, b, c) if a > 0 else 0 * x

    with pytest.raises(dualfit.FitError, match="a device cannot fit a native model"), pytest.warns(dualfit.NotTracedWarning):
        dualfit.fit(branching, x, y, [1, 1, 0], backend="cuda")


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(dualfit.CudaError, match="57"):
        dualfit.fit(decay, x, y, [1, 1, 0], backend="cuda:57")
