"""Kinds of functions that are passed to `curve_fit`, and the names of their parameters."""

from __future__ import annotations

import datetime
import functools
import inspect

import numpy as np
import pytest

import dualfit
from dualfit import FitError, curve_fit

optimize = pytest.importorskip("scipy.optimize")

x = np.linspace(0, 4, 50)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.05 * np.sin(9 * x)


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def decorated(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs)

    return wrapper


class Decay:
    def of(self, x, a, b, c):
        return decay(x, a, b, c)

    @classmethod
    def of_class(cls, x, a, b, c):
        return decay(x, a, b, c)

    @staticmethod
    def plain(x, a, b, c):
        return decay(x, a, b, c)

    def __call__(self, x, a, b, c):
        return decay(x, a, b, c)


def signed(*args):
    return decay(*args)


signed.__signature__ = inspect.signature(decay)  # type: ignore[attr-defined]


def with_option(x, a, b, c, shift):
    return decay(x + shift, a, b, c)


FUNCTIONS = {
    "function": decay, "decorated": decorated(decay), "twice": decorated(decorated(decay)), "method": Decay().of,
    "decorated method": decorated(Decay().of), "class method": Decay.of_class, "static method": Decay.plain,
    "instance": Decay(), "partial": functools.partial(with_option, shift=0.0), "signature": signed,
    "partial of a method": functools.partial(Decay().of), "lambda": lambda x, a, b, c: decay(x, a, b, c),
}


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_parameters_are_counted_as_by_scipy(f) -> None:
    found, covariance = curve_fit(f, x, y)
    expected, of_scipy = optimize.curve_fit(f, x, y)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(covariance, of_scipy, rtol=1e-3)


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_messages_name_the_parameters(f) -> None:
    with pytest.raises(FitError, match=r"for the start a = .*b = .*c = "):
        curve_fit(lambda x, a, b, c: f(x, a, b, c) + np.log(b), x, y, [1, -1, 1])
    if f is not FUNCTIONS["lambda"]:
        with pytest.raises(FitError, match=r"for the start p0 = .*p1 = "):
            curve_fit(lambda x, *p: f(x, *p) + np.log(p[1]), x, y, [1, -1, 1])


def test_sigma_may_have_the_shape_of_an_image() -> None:
    across, down = np.meshgrid(np.linspace(-2, 2, 12), np.linspace(-1, 1, 9))
    random = np.random.default_rng(3)

    def spot(x, a, s):
        return a * np.exp(-(x[0] ** 2 + x[1] ** 2) / s**2)

    sigma = 0.05 * (1 + across**2)
    image = spot((across, down), 3, 1.2) + sigma * random.normal(size=across.shape)
    flat = np.stack([across.ravel(), down.ravel()])
    expected = curve_fit(spot, flat, image.ravel(), sigma=sigma.ravel())
    found = curve_fit(spot, np.stack([across, down]), image, sigma=sigma)
    np.testing.assert_allclose(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1])
    fit = dualfit.fit(spot, np.stack([across, down]), image, [1, 1], sigma=sigma)
    np.testing.assert_allclose(fit.covariance, expected[1])
    x_sigma = np.full(across.shape, 0.1)
    by_rows = dualfit.fit(spot, flat, image.ravel(), [1, 1], sigma=sigma.ravel(), x_sigma=[0.1, 0.1])
    by_image = dualfit.fit(spot, [across, down], image, [1, 1], sigma=sigma, x_sigma=[x_sigma, x_sigma])
    np.testing.assert_allclose(by_image.params, by_rows.params)

    def ramp(x, a, b):
        return a * x + b

    one = dualfit.fit(ramp, across, 2 * across + 1 + 0.1 * down, [1, 1], sigma=sigma, x_sigma=x_sigma)
    flat_one = dualfit.fit(ramp, across.ravel(), (2 * across + 1 + 0.1 * down).ravel(), [1, 1], sigma=sigma.ravel(), x_sigma=0.1)
    np.testing.assert_allclose(one.params, flat_one.params)


DAYS = [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=k) for k in range(50)]
TIMES = {
    "datetime": DAYS, "date": [day.date() for day in DAYS], "timedelta": [day - DAYS[0] for day in DAYS],
    "object array": np.array(DAYS, dtype=object), "datetime64": np.array(DAYS, dtype="datetime64[s]"),
    "timedelta64": np.array(DAYS, dtype="datetime64[s]") - np.datetime64(DAYS[0]),
}


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES.keys())
def test_times_are_refused_alike(times) -> None:
    def line(x, a, b):
        return a * x + b

    calls = [
        lambda: curve_fit(line, times, y), lambda: curve_fit(line, x, times), lambda: dualfit.fit(line, times, y, [1, 1]),
        lambda: dualfit.fit("a*x + b", times, y), lambda: dualfit.fit(line, x, times, [1, 1]),
        lambda: dualfit.fit_batch(line, times, np.stack([y, y]), [1, 1]), lambda: dualfit.fit_batch("a*x + b", times, [y, y]),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="times have no unit"):
            call()


def test_the_remedy_for_times_works() -> None:
    t = np.asarray(DAYS, dtype="datetime64[us]")
    seconds = (t - t[0]) / np.timedelta64(1, "s")
    assert seconds[1] == 3600.0


def test_f_scale_is_the_scale_of_the_loss() -> None:
    noisy = y + np.where(np.arange(50) % 9 == 0, 2.0, 0.0)
    start = [2, 1, 0.3]
    expected = optimize.curve_fit(decay, x, noisy, start, loss="soft_l1", f_scale=0.1, method="trf")[0]
    np.testing.assert_allclose(curve_fit(decay, x, noisy, start, loss="soft_l1", f_scale=0.1, method="trf")[0], expected, rtol=1e-4)
    fit = dualfit.fit(decay, x, noisy, start, loss="soft_l1", f_scale=0.1)
    np.testing.assert_allclose(fit.params, expected, rtol=1e-4)
    same = dualfit.fit(decay, x, noisy, start, loss="soft_l1", loss_scale=0.1)
    np.testing.assert_array_equal(fit.params, same.params)
    batch = dualfit.fit_batch(decay, x, [noisy], start, loss="soft_l1", f_scale=0.1)
    np.testing.assert_allclose(batch.params[0], expected, rtol=1e-4)
    with pytest.raises(TypeError, match="give one of them"):
        dualfit.fit(decay, x, noisy, start, loss="soft_l1", f_scale=0.1, loss_scale=0.1)
