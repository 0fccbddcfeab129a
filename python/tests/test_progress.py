"""Callbacks are called for every step, can stop a fit, and can raise exceptions; bars show the same events."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dualfit

pytestmark = pytest.mark.filterwarnings("error", "ignore::dualfit.NotTracedWarning")

x = np.linspace(0, 4, 100)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.05 * np.random.default_rng(3).normal(size=100)
STACK = np.tile(y, (3000, 1))


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def branching(x, a, b, c):
    return decay(x, a, b, c) if a > -99 else np.zeros_like(x)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with points of more than 1 MiB."""
    place = tmp_path_factory.mktemp("points") / "points.npy"
    np.save(place, np.stack([np.tile(x, 1000), np.tile(y, 1000)], axis=1))
    return place


# Callbacks


@pytest.mark.parametrize("f", [decay, branching])
def test_steps(f: Any) -> None:
    events: list[dict[str, Any]] = []
    fit = dualfit.fit(f, x, y, [1, 1, 1], callback=events.append)
    assert [event["kind"] for event in events] == ["step"] * fit.stats["iterations"]
    assert [event["iteration"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["params"] == pytest.approx(fit.params.tolist(), rel=1e-5)
    assert events[-1]["cost"] == pytest.approx(fit.statistics["cost"], rel=1e-9)
    assert all(one["cost"] >= two["cost"] for one, two in zip(events, events[1:]))
    assert all(0 <= one["seconds"] <= two["seconds"] for one, two in zip(events, events[1:]))
    assert set(events[0]) == {"kind", "seconds", "iteration", "evaluations", "params", "cost"}


def test_portions_of_a_batch() -> None:
    events: list[dict[str, Any]] = []
    dualfit.fit_batch(decay, x, STACK, [1, 1, 1], callback=events.append)
    assert {event["kind"] for event in events} == {"batch"}
    assert {event["total"] for event in events} == {3000}
    done = [event["done"] for event in events]
    assert done == sorted(done) and done[-1] == 3000


def test_chunks_of_a_stream(path: Path) -> None:
    events: list[dict[str, Any]] = []
    dualfit.fit_stream(decay, path, [1, 1, 1], memory_limit=2**20, callback=events.append)
    assert {event["kind"] for event in events} == {"stream", "step"}
    chunks = [event for event in events if event["kind"] == "stream"]
    assert chunks[-1]["done"] == chunks[-1]["total"] == 100_000
    assert [event["pass"] for event in chunks] == sorted(event["pass"] for event in chunks)


@pytest.mark.parametrize("f", [decay, branching])
def test_rounds_of_a_search(f: Any) -> None:
    events: list[dict[str, Any]] = []
    fit = dualfit.fit(f, x, y, callback=events.append)
    rounds = [event for event in events if event["kind"] == "search"]
    assert [event["done"] for event in rounds] == list(range(1, 1 + len(rounds)))
    assert rounds and {event["total"] for event in rounds} == {8}
    assert rounds[-1]["cost"] == pytest.approx(fit.statistics["cost"], rel=1e-6)
    assert set(rounds[0]) == {"kind", "seconds", "done", "total", "fits", "cost"}
    stopped = dualfit.fit(f, x, y, callback=lambda event: event["kind"] == "search")
    assert stopped.start_search["stopped"] and not fit.start_search["stopped"]
    assert stopped.stats["iterations"] <= 1


@pytest.mark.parametrize("f", [decay, branching])
@pytest.mark.parametrize("truth", [True, 1, np.bool_(True), "stop"])
def test_a_callback_may_stop_a_fit(f: Any, truth: Any) -> None:
    fit = dualfit.fit(f, x, y, [1, 1, 1], callback=lambda event: truth if event["iteration"] == 2 else None)
    assert not fit.converged
    assert fit.message == "not converged: stopped by the caller"
    assert fit.stats["iterations"] == 2
    assert dualfit.fit(f, x, y, fit.params).converged


def test_a_callback_may_stop_a_batch_and_a_stream(path: Path) -> None:
    batch = dualfit.fit_batch(decay, x, STACK, [1, 1, 1], callback=lambda event: True)
    assert 0 < batch.counts["not run"] < 3000
    assert batch.counts["converged"] + batch.counts["not run"] == 3000
    assert np.isnan(batch.params[~batch.converged]).all()
    stream = dualfit.fit_stream(decay, path, [9, 9, 9], callback=lambda event: event["kind"] == "step")
    assert stream.message == "not converged: stopped by the caller"


class Base(BaseException):
    pass


@pytest.mark.parametrize("error", [LookupError("mine"), Base("mine"), KeyboardInterrupt()], ids=repr)
def test_what_a_callback_raises_comes_through(path: Path, error: BaseException) -> None:
    def callback(event: dict[str, Any]) -> None:
        raise error

    for call in (lambda: dualfit.fit(decay, x, y, [1, 1, 1], callback=callback),
                 lambda: dualfit.fit(branching, x, y, [1, 1, 1], callback=callback),
                 lambda: dualfit.fit_batch(decay, x, STACK, [1, 1, 1], callback=callback),
                 lambda: dualfit.fit_stream(decay, path, [1, 1, 1], callback=callback),
                 lambda: dualfit.fit_parts(decay, dualfit.Part(decay, x, y).answer, [1, 1, 1], callback=callback)):
        with pytest.raises(type(error)) as caught:
            call()
        assert caught.value is error


def test_a_callback_may_fit() -> None:
    fit = dualfit.fit(decay, x, y, [1, 1, 1], callback=lambda event: not dualfit.fit(decay, x, y, event["params"]).converged)
    assert fit.converged


# Bars


class Shown:
    """Replacement of tqdm that stores its state."""

    bars: list[Shown] = []

    def __init__(self, total: int | None = None, **options: Any) -> None:
        self.total, self.n, self.closed, self.options, self.postfix = total, 0, False, options, {}
        Shown.bars.append(self)

    def update(self, n: float) -> None:
        self.n += n

    def reset(self, total: int | None = None) -> None:
        self.n, self.total = 0, total

    def set_postfix(self, refresh: bool = True, **values: Any) -> None:
        assert not refresh  # Else each event would be printed.
        self.postfix = values

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[Shown]:
    auto = pytest.importorskip("tqdm.auto")
    monkeypatch.setattr(auto, "tqdm", Shown)
    Shown.bars = []
    return Shown.bars


def test_the_bar_of_a_fit(bars: list[Shown]) -> None:
    fit = dualfit.fit(decay, x, y, [1, 1, 1], progress=True)
    (bar,) = bars
    assert (bar.n, bar.total, bar.closed, bar.options["unit"]) == (fit.stats["iterations"], None, True, " steps")
    assert float(bar.postfix["cost"]) == pytest.approx(fit.statistics["cost"], rel=1e-4)
    fit.profile("a")
    assert all(bar.closed for bar in bars)


def test_the_bars_of_a_search_and_its_fit(bars: list[Shown]) -> None:
    fit = dualfit.fit(decay, x, y, progress=True)
    assert [bar.options["unit"] for bar in bars] == [" rounds", " steps"][: len(bars)]
    assert (bars[0].total, all(bar.closed for bar in bars)) == (8, True)
    assert fit.converged


def test_the_bar_of_a_batch(bars: list[Shown]) -> None:
    heard: list[dict[str, Any]] = []
    dualfit.fit_batch(decay, x, STACK, [1, 1, 1], progress=True, callback=heard.append)
    (bar,) = bars
    assert (bar.n, bar.total, bar.closed, bar.options["unit"]) == (3000, 3000, True, " fits")
    assert heard[-1]["done"] == 3000


def test_the_bar_of_many_starts_counts_the_steps_of_all(bars: list[Shown]) -> None:
    events: list[dict[str, Any]] = []
    fit = dualfit.multi_start(decay, x, y, [1, 1, 1], starts=30, progress=True, callback=events.append)
    (bar,) = bars
    assert fit.converged and bar.closed and bar.n == len(events) > fit.stats["iterations"]


def test_the_bars_of_a_differential_evolution(bars: list[Shown]) -> None:
    dualfit.differential_evolution(decay, x, y, ([0, 0, 0], [9, 9, 9]), p0=[1, 1, 1], maxiter=7, tol=0, progress=True)
    (bar,) = bars
    assert bar.closed and bar.n == bar.total == 7


def test_the_bar_of_a_stream_begins_anew_with_each_pass(path: Path, bars: list[Shown]) -> None:
    dualfit.fit_stream(decay, path, [1, 1, 1], memory_limit=2**20, progress=True)
    (bar,) = bars
    assert (bar.n, bar.total, bar.closed, bar.options["unit"]) == (100_000, 100_000, True, " points")


def test_a_bar_is_closed_after_an_exception(bars: list[Shown]) -> None:
    def callback(event: dict[str, Any]) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        dualfit.fit(decay, x, y, [1, 1, 1], progress=True, callback=callback)
    assert [bar.closed for bar in bars] == [True]


def test_the_real_bar(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    dualfit.fit_batch(decay, x, STACK, [1, 1, 1], progress=True)
    assert "3.00k" in capfd.readouterr().err


def test_without_tqdm(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    heard: list[dict[str, Any]] = []
    fit = dualfit.fit(decay, x, y, [1, 1, 1], progress=True, callback=heard.append)
    assert fit.converged and len(heard) == fit.stats["iterations"]
    assert dualfit.fit(decay, x, y, [1, 1, 1], progress=True).converged
    assert capfd.readouterr().err == ""
