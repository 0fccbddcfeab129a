"""`multi_start` and `differential_evolution`: the minimum is that of SciPy's searches, and starts are within the bounds."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualfit
from dualfit import FitError, differential_evolution, models, multi_start
from refusals import check_refused

optimize = pytest.importorskip("scipy.optimize")

pytestmark = pytest.mark.filterwarnings("error", "ignore::dualfit.NotTracedWarning")

x = np.arange(80) / 10
y = 2 * np.sin(5.3 * x + 0.4) + 0.3 * np.random.default_rng(2).normal(size=80)
LOW, HIGH = np.array([0.0, 0.0, -3.2]), np.array([10.0, 10.0, 3.2])
BOUNDS = {"a": (0, 10), "frequency": (0, 10), "phase": (-3.2, 3.2)}


def wave(x, a, frequency, phase):
    return a * np.sin(frequency * x + phase)


def called(x, a, frequency, phase):
    """The same function, which cannot be recorded."""
    return np.array([a * math.sin(frequency * t + phase) for t in x])


def with_a_choice(x, a, frequency, phase):
    """The same function, with other values for numbers far from the start: its recording differs from it."""
    return wave(x, a, frequency, phase) * (1.01 if isinstance(a, float) and abs(a - 1) > 0.1 else 1.0)


def cost(p: Any) -> float:
    return 0.5 * float(np.sum((wave(x, *p) - y) ** 2))


#: The global minimum by an independent search of SciPy.
BEST = optimize.differential_evolution(cost, list(zip(LOW, HIGH)), rng=3, tol=1e-10)

SEARCHES: dict[str, Callable[..., dualfit.Fit]] = {
    "multi_start": lambda f, **said: multi_start(f, x, y, [1, 2, 0], bounds=BOUNDS, **said),
    "differential_evolution": lambda f, **said: differential_evolution(f, x, y, [(0, 10), (0, 10), (-3.2, 3.2)], **said),
}
MODELS: dict[str, Any] = {"function": wave, "formula": "a*sin(frequency*x + phase)", "model": dualfit.Model(wave), "called": called}


@pytest.mark.parametrize("f", MODELS.values(), ids=MODELS.keys())
@pytest.mark.parametrize("search", SEARCHES)
def test_the_minimum_is_that_of_scipy(search: str, f: Any) -> None:
    # A local fit from the same start ends in another minimum.
    assert dualfit.fit(wave, x, y, [1, 2, 0], bounds=BOUNDS).cost > 2 * BEST.fun
    few: dict[str, Any] = {"starts": 16} if search == "multi_start" else {"popsize": 6, "populations": 2}
    fit = SEARCHES[search](f, **(few if f is called else {}))
    assert fit.converged and isinstance(fit, dualfit.Fit)
    assert fit.cost == pytest.approx(BEST.fun, rel=1e-9)
    np.testing.assert_allclose(fit.params, BEST.x, rtol=1e-4)
    local = dualfit.fit(wave, x, y, fit.params, bounds=BOUNDS)
    np.testing.assert_allclose(fit.std_errors, local.std_errors, rtol=1e-5)


def test_counts_of_starts_and_minima() -> None:
    fit = multi_start(wave, x, y, [1, 2, 0], starts=32, also_from=[[1, 5, 0], [2, 5.3, 0.4]], bounds=BOUNDS)
    optima = fit.optima
    assert optima is not None
    assert optima.starts == 1 + 32 + 2
    assert sum(optimum.hits for optimum in optima.distinct) == optima.converged <= optima.starts
    costs = [optimum.cost for optimum in optima.distinct]
    assert costs == sorted(costs) and len(costs) > 1
    assert optima.distinct[0].values == fit.values and costs[0] == fit.cost
    once = sum(optimum.hits == 1 for optimum in optima.distinct)
    assert optima.chance_of_unseen == pytest.approx(once / optima.converged)
    assert str(optima).startswith(f"35 starts, {optima.converged} converged; {len(costs)} distinct optima")
    # Each minimum is one: SciPy finds no lower cost near it.
    for optimum in optima.distinct:
        assert optimum.cost == pytest.approx(cost(optimum.params), rel=1e-9)
        found = optimize.least_squares(lambda p: wave(x, *p) - y, np.clip(optimum.params, LOW + 1e-9, HIGH - 1e-9), bounds=(LOW, HIGH))
        assert found.cost == pytest.approx(optimum.cost, rel=1e-6)
    assert dualfit.fit(wave, x, y, [2, 5.3, 0.4]).optima is None


def test_populations_are_counted() -> None:
    fit = SEARCHES["differential_evolution"](wave, populations=3)
    assert fit.optima is not None and fit.optima.starts == 4
    assert fit.optima.distinct[0].hits >= 3


@pytest.mark.parametrize("sampling", ["sobol", "latin_hypercube"])
def test_starts_are_within_bounds_and_ranges(sampling: str) -> None:
    """With one evaluation a fit ends at its start, which the function sees."""
    seen: list[tuple[float, ...]] = []

    def f(x, a, frequency, phase):
        seen.append((float(a), float(frequency), float(phase)))
        return wave(x, a, frequency, phase)

    multi_start(f, x, y, [5, 5, 0], starts=64, sampling=sampling, bounds=BOUNDS, ranges={"a": (2, 3)},
                log_ranges={"frequency": (0.1, 10)}, max_evaluations=1)
    found = np.array([p for p in seen if abs(p[0] - 5) > 0.1])
    assert len(found) >= 64
    assert (found[:, 0] > 1.999).all() and (found[:, 0] < 3.001).all()
    assert (found[:, 1] > 0.0999).all() and (found[:, 1] < 10.001).all()
    assert (found[:, 2] > -3.201).all() and (found[:, 2] < 3.201).all()
    # Evenly in the logarithm: half of the starts are below the geometric mean.
    assert 0.4 < np.mean(found[:, 1] < 1.0) < 0.6


@pytest.mark.parametrize("search", SEARCHES)
def test_a_seed_decides(search: str) -> None:
    one, same, other = (SEARCHES[search](wave, seed=seed) for seed in (7, 7, 8))
    assert one.optima is not None and same.optima is not None and other.optima is not None
    assert one.params.tobytes() == same.params.tobytes() != other.params.tobytes()
    assert str(one.optima) == str(same.optima)


def test_fixed_parameters_and_models_of_the_library() -> None:
    fit = multi_start(wave, x, y, [2, 5.2, 0.1], starts=16, bounds=BOUNDS, fixed="a")
    assert fit.values["a"] == 2 and fit.errors["a"] == 0
    peaks = models.gaussian("a_") + models.gaussian("b_")
    t = np.linspace(0, 12, 200)
    signal = peaks.evaluate(t, [3, 4, 0.5, 2, 7, 0.8]) + 0.01 * np.cos(40 * t)
    found = multi_start(peaks, t, signal, starts=8)
    assert sorted([found.values["a_center"], found.values["b_center"]]) == pytest.approx([4, 7], abs=0.01)


def test_the_result_is_an_ordinary_fit() -> None:
    fit = SEARCHES["multi_start"](wave, sigma=0.3, absolute_sigma=True)
    low, high = fit.profile("frequency").interval(0.95)
    assert low < fit.values["frequency"] < high
    again = pickle.loads(pickle.dumps(fit))
    assert again.optima.distinct[0].values == fit.values and str(again.optima) == str(fit.optima)
    np.testing.assert_array_equal(again.predict(x), fit.predict(x))


@pytest.mark.parametrize("search", SEARCHES)
def test_a_function_that_differs_from_its_recording_is_called(search: str) -> None:
    few: dict[str, Any] = {"starts": 8} if search == "multi_start" else {"maxiter": 20, "populations": 1}
    with pytest.warns(dualfit.NotTracedWarning, match="its values differ from what was recorded"):
        fit = SEARCHES[search](with_a_choice, **few)
    assert fit.stats["operations"] is None and fit.optima is not None


# Events


@pytest.mark.parametrize(("search", "kinds"), [("multi_start", {"step"}), ("differential_evolution", {"search", "generation", "step"})])
def test_events(search: str, kinds: set[str]) -> None:
    events: list[dict[str, Any]] = []
    fit = SEARCHES[search](wave, callback=events.append)
    assert {event["kind"] for event in events} == kinds
    generations = [event for event in events if event["kind"] == "generation"]
    assert [event["done"] for event in generations] == list(range(1, 1 + len(generations)))
    assert all(event["total"] == 1000 and event["cost"] >= fit.cost * (1 - 1e-9) for event in generations)


@pytest.mark.parametrize("f", [wave, called])
@pytest.mark.parametrize("search", SEARCHES)
def test_a_callback_may_stop_and_raise(search: str, f: Any) -> None:
    stopped = SEARCHES[search](f, callback=lambda event: True)
    assert not stopped.converged
    error = LookupError("mine")

    def callback(event: dict[str, Any]) -> None:
        raise error

    with pytest.raises(LookupError) as caught:
        SEARCHES[search](f, callback=callback)
    assert caught.value is error


@pytest.mark.parametrize("search", SEARCHES)
def test_exceptions_of_the_function_come_through(search: str) -> None:
    left = 30

    def f(x, a, frequency, phase):
        nonlocal left
        left -= 1
        if left < 0:
            raise ZeroDivisionError("the last straw")
        return called(x, a, frequency, phase)

    with pytest.raises(ZeroDivisionError, match="the last straw"):
        SEARCHES[search](f)


# Requests


def two(x, a, b):
    return a * np.exp(-b * x)


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "starts below 0": (lambda: multi_start(wave, x, y, [1, 2, 0], starts=-1), FitError, "starts is -1; it must be at least 0"),
    "starts not whole": (lambda: multi_start(wave, x, y, [1, 2, 0], starts=1.5), TypeError, "starts is 1.5; give a whole number"),
    "too many starts": (lambda: multi_start(wave, x, y, [1, 2, 0], starts=10**6), FitError, "at most 65536"),
    "sampling": (lambda: multi_start(wave, x, y, [1, 2, 0], sampling="grid"), ValueError, "there are \"sobol\" and"),
    "range outside": (lambda: multi_start(wave, x, y, [1, 2, 0], bounds=BOUNDS, ranges={"a": (0, 20)}), FitError, "bounds [0, 10]"),
    "reversed range": (lambda: multi_start(wave, x, y, [1, 2, 0], ranges={"a": (3, 2)}), FitError, "reversed"),
    "range of no parameter": (lambda: multi_start(wave, x, y, [1, 2, 0], ranges={"q": (3, 4)}), FitError, "`q`"),
    "ranges as a list": (lambda: multi_start(wave, x, y, [1, 2, 0], ranges=[(1, 2)]), FitError, "mapping of names"),
    "logarithm of 0": (lambda: multi_start(wave, x, y, [1, 2, 0], log_ranges={"a": (0, 2)}), FitError, "positive"),
    "one start": (lambda: multi_start(wave, x, y, [1, 2, 0], also_from=[1, 2, 3]), FitError, "shape (3,); give one row per start"),
    "short start": (lambda: multi_start(wave, x, y, [1, 2, 0], also_from=[[1, 2]]), FitError, "3 parameter(s)"),
    "popsize": (lambda: differential_evolution(wave, x, y, popsize=0), FitError, "popsize is 0; it must be at least 1"),
    "populations": (lambda: differential_evolution(wave, x, y, populations=0), FitError, "populations is 0"),
    "tol": (lambda: differential_evolution(wave, x, y, tol=-1), FitError, "tolerance"),
    "pairs of two": (lambda: differential_evolution(two, x, y, [(0, 1), (5, 10)]), FitError, "give {'a': (lower, upper), 'b': (lower, upper)}"),
    "short bounds": (lambda: differential_evolution(wave, x, y, [(0, 1), (0, 1), (0, 1), (0, 1)]), TypeError, "bounds is"),
    "option of SciPy": (lambda: differential_evolution(wave, x, y, strategy="rand1bin"), TypeError, "no option 'strategy'"),
}


@pytest.mark.parametrize(("call", "error", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_bad_requests(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    check_refused(call, error, words)


def test_forms_of_bounds() -> None:
    expected = SEARCHES["differential_evolution"](wave)
    for bounds in (BOUNDS, (LOW, HIGH), optimize.Bounds(LOW, HIGH), np.stack([LOW, HIGH], axis=1)):
        np.testing.assert_array_equal(differential_evolution(wave, x, y, bounds).params, expected.params)
    one = differential_evolution(lambda x, a: a * x, x, 3 * x, [(0, 10)])
    assert one.params == pytest.approx([3])
