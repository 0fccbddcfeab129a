"""Fits next to other activities of a program: threads, processes, exceptions, callbacks, bars."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dualfit

x = np.linspace(0, 4, 100)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.05 * np.random.default_rng(3).normal(size=100)


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def branching(x, a, b, c):
    return decay(x, a, b, c) if a > -99 else np.zeros_like(x)


# Fits release the interpreter lock


def test_other_threads_go_on() -> None:
    many = np.linspace(0, 4, 2_000_000)
    values = decay(many, 2.5, 1.3, 0.5) + 0.05 * np.sin(1e4 * many**2)
    counted, over = 0, threading.Event()

    def count() -> None:
        nonlocal counted
        while not over.is_set():
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        before = counted
        dualfit.fit(decay, many, values, [1, 1, 0], ftol=0, xtol=0, gtol=0, etol=0, max_evaluations=20)
        meanwhile = counted - before
    finally:
        over.set()
        thread.join()
    # If fits held the interpreter lock, the thread would have counted for a few milliseconds at most.
    assert meanwhile > 100_000


# Exceptions


def third_time(count: int) -> Callable[..., Any]:
    """Return a function that cannot be recorded and that divides by zero in call number `count`."""
    left = count

    def f(x, a, b, c):
        nonlocal left
        if isinstance(a, float):
            left -= 1
        if left <= 0:
            raise ZeroDivisionError("the last straw")
        return branching(x, a, b, c)

    return f


@pytest.mark.filterwarnings("ignore::dualfit.NotTracedWarning")
@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize("fit", [
    lambda f: dualfit.curve_fit(f, x, y),
    lambda f: dualfit.fit(f, x, y, [1, 1, 1]),
    lambda f: dualfit.fit_batch(f, x, np.stack([y, y, y]), [1, 1, 1]),
    lambda f: dualfit.fit_batch(f, np.stack([x, x]), np.stack([y, y]), [1, 1, 1]),
], ids=["curve_fit", "fit", "fit_batch", "own x"])
def test_what_a_function_raises_comes_through(fit: Any, count: int) -> None:
    with pytest.raises(ZeroDivisionError, match="the last straw"):
        fit(third_time(count))


class Broken:
    """A function that cannot be recorded and that raises `error` if it is set."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def __call__(self, x, a, b, c):
        if self.error is not None:
            raise self.error
        return branching(x, a, b, c)


AFTERWARDS: dict[str, Callable[[dualfit.Fit], Any]] = {
    "predict": lambda fit: fit.predict(x[:7]),
    "band": lambda fit: fit.confidence_band().upper,
    "band elsewhere": lambda fit: fit.confidence_band(x[:7]).upper,
    "prediction band": lambda fit: fit.prediction_band(x[:7]).upper,
    "simultaneous band": lambda fit: fit.confidence_band(x[:7], simultaneous=True).upper,
    "diagnostics": lambda fit: fit.diagnostics()["leverage"],
    "residuals": lambda fit: fit.residuals(),
    "profile": lambda fit: fit.profile("b").interval(),
}


@pytest.mark.filterwarnings("ignore::dualfit.NotTracedWarning")
@pytest.mark.parametrize("name", AFTERWARDS)
@pytest.mark.parametrize("error", [ZeroDivisionError("mine"), KeyboardInterrupt()], ids=["exception", "interrupt"])
def test_what_a_function_raises_afterwards_comes_through(name: str, error: BaseException) -> None:
    f = Broken()
    fit = dualfit.fit(f, x, y, [1, 1, 1])
    f.error = error
    with pytest.raises(type(error)) as caught:
        AFTERWARDS[name](fit)
    assert caught.value is error


@pytest.mark.filterwarnings("ignore::dualfit.NotTracedWarning")
@pytest.mark.parametrize("name", AFTERWARDS)
def test_a_fit_is_as_good_after_an_exception(name: str) -> None:
    f = Broken()
    fit = dualfit.fit(f, x, y, [1, 1, 1])
    expected = AFTERWARDS[name](fit)
    f.error = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        fit.confidence_band()
    f.error = None
    np.testing.assert_array_equal(AFTERWARDS[name](fit), expected)


def test_what_partials_raise_comes_through() -> None:
    error = LookupError("no partials")

    def jac(x, a, b, c):
        raise error

    with pytest.raises(LookupError) as caught:
        dualfit.curve_fit(decay, x, y, jac=jac)
    assert caught.value is error


@pytest.mark.filterwarnings("ignore::dualfit.NotTracedWarning")
def test_a_function_that_changes_its_mind() -> None:
    with pytest.raises(TypeError, match="the model returned None"):
        dualfit.fit(lambda x, a, b, c: branching(x, a, b, c) if a == 1 else None, x, y, [1, 1, 1])
    with pytest.raises(ValueError, match="broadcast"):
        dualfit.fit(lambda x, a, b, c: branching(x, a, b, c)[: 100 if a == 1 else 50], x, y, [1, 1, 1])


# The context of the caller


@pytest.mark.filterwarnings("ignore::dualfit.NotTracedWarning")
def test_the_errstate_of_the_caller_holds() -> None:
    seen: set[str] = set()

    def f(x, a, b, c):
        seen.add(np.geterr()["over"])
        return branching(x, a, b, c)

    with np.errstate(over="raise"):
        dualfit.curve_fit(f, x, y)
        dualfit.fit(f, x, y, [1, 1, 1]).profile("a")
        dualfit.fit_batch(f, x, np.stack([y] * 20), [1, 1, 1])
        with pytest.raises(FloatingPointError):
            dualfit.fit(lambda x, a, b, c: f(x, a, b, c) + 0 * np.exp(1e3 * a), x, y, [1, 1, 1])
    assert seen == {"raise"}


# Threads and processes


def job(k: int) -> bytes:
    """Fit data number `k` with one of four functions. Return the bits of the result."""
    many = np.linspace(0, 4, 20_000 + k)
    values = decay(many, 2 + k, 1, 0.5) + 0.05 * np.random.default_rng(k).normal(size=many.size)
    f = [decay, branching, "a*exp(-b*x) + c", lambda x, a, b, c: decay(x, a, b, c) * (k + 1)][k % 4]
    fit = dualfit.fit(f, many, values, {"a": 1, "b": 1, "c": 1})
    return fit.params.tobytes() + fit.std_errors.tobytes()


@pytest.mark.filterwarnings("ignore::dualfit.NotTracedWarning")
def test_threads_give_the_bits_of_one() -> None:
    expected = [job(k) for k in range(24)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(2):
            assert list(pool.map(job, range(24))) == expected


def test_threads_share_one_function_and_batches() -> None:
    stack = np.stack([y + 0.01 * k for k in range(50)])

    def both(_: int) -> bytes:
        popt, pcov = dualfit.curve_fit(decay, x, y)
        return popt.tobytes() + pcov.tobytes() + dualfit.fit_batch(decay, x, stack, [1, 1, 1]).params.tobytes()

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(both, range(40))) == {both(0)}


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_fits() -> None:
    many = np.linspace(0, 4, 500_000)
    values = decay(many, 2.5, 1.3, 0.5) + 0.05 * np.sin(1e4 * many)
    expected = dualfit.fit(decay, many, values, [1, 1, 1]).params.tobytes()
    child = os.fork()
    if not child:
        right = False
        try:
            right = dualfit.fit(decay, many, values, [1, 1, 1]).params.tobytes() == expected
        finally:
            os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.filterwarnings("ignore::dualfit.NotTracedWarning")
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_processes(method: str) -> None:
    if method == "forkserver":
        pytest.skip("it is spawn and fork")
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(job, range(4)) == [job(k) for k in range(4)]


BITS = """
import sys, numpy as np, dualfit
sys.path.insert(0, sys.argv[1])
from test_manners import decay, x, y
many = np.linspace(0, 4, 200_000)
values = decay(many, 2.5, 1.3, 0.5) + 0.05 * np.sin(1e4 * many)
fit = dualfit.fit(decay, many, values, [1, 1, 1])
batch = dualfit.fit_batch(decay, x, np.stack([y + 0.0001 * k for k in range(3000)]), [1, 1, 1])
band = fit.confidence_band(x)
profile = dualfit.fit(decay, x, y, [1, 1, 1]).profile("b")
numbers = [fit.params, fit.covariance, batch.params, batch.std_errors, band.upper, profile.values]
print(b"".join(part.tobytes() for part in numbers).hex())
"""


FIRST_FITS = """
import sys
import numpy as np
before = set(sys.modules)
import dualfit
x = np.linspace(0, 4, 50)
y = np.exp(-x)
decay = lambda x, a, b: a * np.exp(-b * x)
dualfit.fit(decay, x, y, [1, 2], loss="huber")
dualfit.curve_fit(decay, x, y)
dualfit.fit_batch(decay, x, [y, 2 * y], [1, 2])
print(*sorted(set(sys.modules) - before))
"""


def test_first_fits_import_no_large_modules() -> None:
    # NumPy imports numpy.ma when it is first used, which takes twice the time of the remainder of a first fit.
    env = dict(os.environ, PYTHONPATH=str(Path(dualfit.__file__).parents[1]))
    run = subprocess.run([sys.executable, "-c", FIRST_FITS], env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    imported = run.stdout.split()
    assert "dualfit._fit" in imported
    assert not {"numpy.ma", "scipy", "pandas", "matplotlib", "xarray", "dask"} & set(imported)


def test_the_bits_do_not_depend_on_the_number_of_threads() -> None:
    package, here = Path(dualfit.__file__).parents[1], Path(__file__).parent
    said = []
    for threads in ("1", "2", "16"):
        env = dict(os.environ, RAYON_NUM_THREADS=threads, PYTHONPATH=str(package))
        run = subprocess.run([sys.executable, "-c", BITS, str(here)], env=env, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        said.append(run.stdout)
    assert len(said[0]) > 1000
    assert said[0] == said[1] == said[2]
