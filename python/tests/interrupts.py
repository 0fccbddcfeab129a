"""Fits in a separate process that SIGINT ends. Prints as JSON how each fit ended, and its delay after the signal.

Run by `test_interrupts` as ``python interrupts.py case ...``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import dualfit

warnings.simplefilter("ignore")

#: Options with which only the signal ends a fit within a minute.
ENDLESS: dict[str, Any] = {"ftol": 0, "xtol": 0, "gtol": 0, "etol": 0, "max_evaluations": 100_000}


def waves(x, a, b, c, d, e, f, g, h):
    return a * np.exp(-b * x) + c * np.exp(-d * x) + e * np.exp(-f * x) * np.sin(g * x) + h


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def never_the_same(x, a, b, c):
    """A function that cannot be recorded, with noise that prevents convergence."""
    time.sleep(0.005)
    return decay(x, a, b, c) + 1e-3 * np.random.default_rng().normal(size=x.shape)


def slow(x, a, b, c):
    """A slow function that cannot be recorded."""
    time.sleep(0.002)
    return decay(x, a, b, c) if a > -99 else np.zeros_like(x)


def cleans_up(x, a, b, c):
    try:
        return never_the_same(x, a, b, c)
    except KeyboardInterrupt:
        raise RuntimeError("cleaned up") from None


START = [1, 0.1, 1, 2, 1, 1, 5, 0.0]
x = np.linspace(0, 4, 2_000_000)
y = waves(x, *START) + 0.1 * np.sin(1e4 * x**2)
few = np.ascontiguousarray(x[::20000])
stack = np.tile(y[::20000], (20_000, 1)) + 0.1 * np.random.default_rng(1).normal(size=(20_000, 100))


def slow_chunks() -> Any:
    for part in np.array_split(np.stack([x, y]), 2000, axis=1):
        time.sleep(0.005)
        yield part[0], part[1]


CASES: dict[str, Callable[[], Any]] = {
    "fit": lambda: dualfit.fit(waves, x, y, START, **ENDLESS),
    "curve_fit": lambda: [dualfit.curve_fit(waves, x, y, START) for _ in range(100)],
    "untraceable": lambda: dualfit.fit(never_the_same, few, stack[0], [1, 1, 0], **ENDLESS),
    "untraceable, of many points": lambda: dualfit.fit(never_the_same, x, y, [1, 1, 0], **ENDLESS),
    "batch": lambda: dualfit.fit_batch(waves, few, stack, START, max_evaluations=200),
    "untraceable batch": lambda: dualfit.fit_batch(slow, few, stack[:120], [1, 1, 0]),
    "profile": lambda: [dualfit.fit(decay, x[::2], y[::2], [1, 1, 0]).profile(name) for name in "abc" * 50],
    "multi_start": lambda: dualfit.multi_start(waves, x[::10], y[::10], START, starts=500),
    "untraceable multi_start": lambda: dualfit.multi_start(slow, few, stack[0], [1, 1, 0], starts=5000),
    "differential_evolution": lambda: dualfit.differential_evolution(waves, x[::10], y[::10], p0=START),
    "bootstrap": lambda: dualfit.fit(decay, few, stack[0], [1, 1, 0]).bootstrap(5_000_000),
    "untraceable bootstrap": lambda: dualfit.fit(slow, few, stack[0], [1, 1, 0]).bootstrap(1000),
    "contour": lambda: dualfit.fit(decay, x[::10], y[::10], [1, 1, 0]).contour("a", "b", points=500),
    "joint": lambda: dualfit.fit_joint(waves, few, stack[:2000], START, shared=["b"], **ENDLESS),
    "untraceable joint": lambda: dualfit.fit_joint(never_the_same, few, stack[:9], [1, 1, 0], shared="b", **ENDLESS),
    "stream of chunks": lambda: dualfit.fit_stream(decay, None, [1, 1, 0], chunks=slow_chunks, chunk_points=10_000),
    "cleans up": lambda: dualfit.fit(cleans_up, few, stack[0], [1, 1, 0], **ENDLESS),
}


def interrupted(work: Callable[[], Any]) -> tuple[str, float]:
    """Call `work`. Return how it ended, and the time from the signal to its end, in seconds."""
    sent = [0.0]

    def send() -> None:
        time.sleep(0.3)
        sent[0] = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Thread(target=send)
    timer.start()
    how = "it ended by itself"
    try:
        try:
            work()
        except BaseException as error:
            how = f"{type(error).__name__}: {error}"
        ended = time.monotonic()
        timer.join()
    except KeyboardInterrupt:
        pass
    return how, ended - sent[0]


if __name__ == "__main__":
    # Programs that a shell starts in the background ignore SIGINT by default.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    found = {name: interrupted(CASES[name]) for name in sys.argv[1:]}
    after = dualfit.fit(decay, few, stack[0], [1, 1, 0]).converged
    print(json.dumps({"found": found, "after": after}))
