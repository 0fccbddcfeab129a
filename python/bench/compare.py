"""Whole calls of curve fitting in Python: dualfit, SciPy, lmfit and NLSQ, the same data, starts and tolerances of their own.

python bench/compare.py [--points 1000 10000 100000 1000000] [--seconds 1.0] [--libraries SciPy lmfit NLSQ]

Prints a table in Markdown: the median and, in brackets, the minimum time of a call in milliseconds. The libraries are
called in turn. A library that is not installed is left out. NLSQ uses functions of jax.numpy, which are compiled before
the timing. A result that differs from dualfit's by more than 1e-3 of a standard error is marked with !. The line below
the table shows the time of a call outside of the fit itself: recording and preparing the function, arrays in and out.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import platform
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import dualfit


def decay(xp: Any) -> Callable[..., Any]:
    return lambda x, a, b, c: a * xp.exp(-b * x) + c


def peak(xp: Any) -> Callable[..., Any]:
    return lambda x, height, center, width, slope, offset: (
        height * xp.exp(-0.5 * ((x - center) / width) ** 2) + slope * x + offset)


def two_peaks(xp: Any) -> Callable[..., Any]:
    return lambda x, h0, c0, w0, h1, c1, w1, slope, offset: (
        h0 * xp.exp(-0.5 * ((x - c0) / w0) ** 2) + h1 / (1 + ((x - c1) / w1) ** 2) + slope * x + offset)


#: Name, function over NumPy or jax.numpy, truth, start.
MODELS: list[tuple[str, Callable[[Any], Callable[..., Any]], list[float], list[float]]] = [
    ("decay, 3 parameters", decay, [2.5, 1.3, 0.5], [1.0, 1.0, 1.0]),
    ("peak on a line, 5", peak, [3.0, 4.0, 0.6, 0.1, 0.5], [2.0, 3.5, 1.0, 0.0, 0.0]),
    ("two peaks on a line, 8", two_peaks, [3.0, 3.0, 0.4, 2.0, 6.0, 0.5, 0.05, 0.3],
     [2.5, 2.8, 0.6, 1.5, 6.2, 0.7, 0.0, 0.0]),
]

Call = Callable[[], tuple[Any, Any]]
#: Allowed difference of results with different tolerances, relative to the standard error.
_SAME = 1e-3


def calls(model: Callable[[Any], Callable[..., Any]], x: Any, y: Any, start: list[float],
          libraries: list[str]) -> dict[str, Call]:
    """Return calls of dualfit and of the installed `libraries`. A call returns parameters and standard errors."""
    f = model(np)
    made: dict[str, Call] = {"dualfit": lambda: _errors(dualfit.curve_fit(f, x, y, start))}
    if "SciPy" in libraries and _there("scipy.optimize"):
        from scipy.optimize import curve_fit

        made["SciPy"] = lambda: _errors(curve_fit(f, x, y, start))
    if "lmfit" in libraries and _there("lmfit"):
        import lmfit

        reference = lmfit.Model(f)
        names = reference.param_names

        def by_lmfit() -> tuple[Any, Any]:
            parameters = reference.make_params(**dict(zip(names, start)))
            result = reference.fit(y, parameters, x=x)
            return (np.array([result.params[n].value for n in names]),
                    np.array([result.params[n].stderr or np.nan for n in names]))

        made["lmfit"] = by_lmfit
    if "NLSQ" in libraries and _there("nlsq"):
        import jax.numpy as jnp
        import nlsq

        g, fitter = model(jnp), nlsq.CurveFit()
        def by_nlsq() -> tuple[Any, Any]:
            result = fitter.curve_fit(g, x, y, start)
            return _errors((result.popt, result.pcov))

        made["NLSQ"] = by_nlsq
    return made


def _there(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def _errors(result: Any) -> tuple[Any, Any]:
    popt, pcov = result[0], result[1]
    return np.asarray(popt), np.sqrt(np.diag(np.asarray(pcov)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, nargs="+", default=[1000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each cell of the table")
    parser.add_argument("--libraries", nargs="+", default=["SciPy", "lmfit", "NLSQ"], help="what dualfit is compared with")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
          + ", ".join(f"{name} {_version(name)}" for name in ("numpy", "scipy", "lmfit", "nlsq", "jax") if _there(name)))
    for device in dualfit.devices():
        print(device)
    header: list[str] = []
    for name, model, truth, start in MODELS:
        for points in arguments.points:
            rng = np.random.default_rng(points)
            x = np.linspace(0.0, 10.0 if len(truth) > 3 else 4.0, points)
            y = model(np)(x, *truth) + 0.05 * rng.normal(size=points)
            made = calls(model, x, y, start, arguments.libraries)
            if not header:
                header = list(made)
                print("| model | points | " + " | ".join(header) + " |")
                print("|---|---|" + "---|" * len(header))
            print(f"| {name} | {points:,} | " + " | ".join(_row(made, arguments.seconds)) + " |", flush=True)
    print("\nBeside the fit, µs a call: " + ", ".join(f"{name} {_beside(model(np), truth, start):.0f}"
                                                    for name, model, truth, start in MODELS))


def _beside(f: Callable[..., Any], truth: list[float], start: list[float]) -> float:
    """Return the median time of a call outside of the core, for 1000 points, in microseconds."""
    x = np.linspace(0.0, 10.0 if len(truth) > 3 else 4.0, 1000)
    y = f(x, *truth) + 0.05 * np.random.default_rng(0).normal(size=1000)
    whole, within = [], []
    for _ in range(300):
        begun = time.perf_counter()
        dualfit.curve_fit(f, x, y, start)
        whole.append(time.perf_counter() - begun)
        stats = dualfit.fit(f, x, y, start).stats
        within.append(sum(stats[f"{part}_seconds"] for part in ("validate", "start", "solve", "covariance")))
    return 1e6 * (statistics.median(whole) - statistics.median(within))


def _version(name: str) -> str:
    return str(getattr(importlib.import_module(name), "__version__", "?"))


def _row(made: dict[str, Call], seconds: float) -> list[str]:
    """Return one cell per library. The libraries are called in turn, so that the machine's load affects all equally."""
    results = {name: call() for name, call in made.items()}
    times: dict[str, list[float]] = {name: [] for name in made}
    begun = time.perf_counter()
    while time.perf_counter() - begun < seconds * len(made) or len(next(iter(times.values()))) < 3:
        for name, call in made.items():
            start = time.perf_counter()
            call()
            times[name].append(1e3 * (time.perf_counter() - start))
    best, errors = results["dualfit"]
    cells = []
    for name, spent in times.items():
        off = np.abs((results[name][0] - best) / errors).max()
        mark = "" if off <= _SAME else " !"
        cells.append(f"{statistics.median(spent):.3g} ({min(spent):.3g}){mark}")
    return cells


if __name__ == "__main__":
    main()
