"""Robust fits, counts and batches: dualfit, SciPy, NLSQ, iminuit and Gpufit's CPU version, with the same data and starts.

python bench/kinds.py [--points 60000 1000000] [--fits 10000] [--rounds 12] [--cpufit LIBRARY] [--tasks huber counts spots spot_counts weak_spots]

Prints a table in Markdown for each task. Each program has a process of its own, which is bound to one core, or to two for
"2 threads". The processes work in turn, one call at a time. A table has the minima of the elapsed time and of the processor
time of a call over the `rounds`, and the processor time of the first call, which includes compilation. On a machine with other
load, processor times are the better measure: "ratio" is that of processor times. Costs are computed by NumPy from the returned
parameters.
"excess" is the relative excess over the lowest cost of the table, and "distance" is the largest distance of a parameter
from that of dualfit in standard errors. A program that is not installed is left out.

Cpufit is the folder of that name in github.com/gpufit/Gpufit. It needs no CUDA:

g++ -O3 -march=native -std=c++14 -fPIC -shared cpufit.cpp info.cpp interface.cpp lm_fit.cpp lm_fit_cpp.cpp -o libCpufit.so
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import logging
import multiprocessing
import os
import platform
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Outcome(NamedTuple):
    """Result of a call: parameters (one row per fit of a batch), standard errors if any, evaluations, share of converged fits.

    `evaluations` are evaluations of the model; for a batch they are the iterations of a fit, which are one fewer.
    """

    params: Array
    errors: Array | None
    evaluations: str
    converged: float = 1.0


class Task(NamedTuple):
    """Data, start and cost of a task."""

    x: Array
    y: Array
    start: Array
    #: Cost for parameters of the shape of `start`, or of all fits of a batch.
    cost: Callable[[Array], Array]


Call = Callable[[], Outcome]

#: Scale of Huber's loss: two and a half standard deviations of the noise.
_SCALE = 5.0
_SIDE = 15
#: Tolerance of Cpufit: the relative change of the cost.
_TOLERANCE = 1e-6


# Tasks


def huber(points: int) -> Task:
    """Return a decay with noise of standard deviation 2, and 3 % of outliers above it."""
    rng = np.random.default_rng(47)
    x = np.linspace(0, 5, points)
    y = 100 * np.exp(-1.3 * x) + 10 + 2 * rng.normal(size=points)
    outliers = rng.random(points) < 0.03
    y[outliers] += rng.uniform(10, 60, outliers.sum())

    def cost(p: Array) -> Array:
        z = ((decay(np)(x, *p) - y) / _SCALE) ** 2
        return np.asarray(0.5 * _SCALE**2 * np.where(z <= 1, z, 2 * np.sqrt(z) - 1).sum())

    return Task(x, y, np.array([80.0, 1.0, 5.0]), cost)


def counts(points: int) -> Task:
    """Return counts of bins on 0 to 10: a peak on a background."""
    rng = np.random.default_rng(48)
    x = (np.arange(points) + 0.5) * (10 / points)
    y = rng.poisson(peak(x, 100, 5, 0.8, 10)).astype(float)
    return Task(x, y, np.array([80.0, 4.6, 1.0, 15.0]), lambda p: _deviance(y, peak(x, *p)) / 2)


def spots(fits: int, brightness: float = 1.0) -> Task:
    """Return images of spots with Poisson noise, one per row, in single precision; 300 to 500 counts high times `brightness`."""
    rng = np.random.default_rng(49)
    x = np.stack([v.ravel() for v in np.meshgrid(np.arange(_SIDE), np.arange(_SIDE))]).astype(float)
    center = rng.uniform(6, 8, (2, fits))
    truth = np.stack([brightness * rng.uniform(300, 500, fits), *center, np.full(fits, 1.8), np.full(fits, 20.0 * brightness)], axis=1)
    y = rng.poisson(_images(x, truth)).astype(np.float32)
    return Task(x, y, np.array([400.0 * brightness, 7.0, 7.0, 1.5, 15.0 * brightness]), lambda p: ((y - _images(x, p)) ** 2).sum(axis=1) / 2)


def weak_spots(fits: int) -> Task:
    """Return the task `spot_counts` with 15 to 25 counts in the brightest pixel, on a background of 1."""
    return spot_counts(fits, 0.05)


def spot_counts(fits: int, brightness: float = 1.0) -> Task:
    """Return the images of `spots` with the cost of counts."""
    task = spots(fits, brightness)
    return task._replace(cost=lambda p: _deviance(task.y.astype(float), _images(task.x, p)) / 2)


def decay(xp: Any) -> Callable[..., Any]:
    return lambda x, a, b, c: a * xp.exp(-b * x) + c


def peak(x: Any, a: Any, center: Any, width: Any, c: Any) -> Any:
    return a * np.exp(-0.5 * ((x - center) / width) ** 2) + c


def spot(x: Any, a: Any, x0: Any, y0: Any, s: Any, b: Any) -> Any:
    return a * np.exp(-((x[0] - x0) ** 2 + (x[1] - y0) ** 2) / (2 * s**2)) + b


def _images(x: Array, params: Array) -> Array:
    return np.array(spot(x[:, None, :], *params.astype(float).T[:, :, None]))


def _deviance(y: Array, f: Array) -> Array:
    """Return the deviances of counts `y` with expectations `f`, summed over the last axis: infinite if f is not positive."""
    f = np.where(f > 0, f, np.nan)
    terms = f - y + np.where(y > 0, y * np.log(np.where(y > 0, y, 1) / f), 0)
    return np.array(np.nan_to_num(2 * terms.sum(axis=-1), nan=np.inf))


# Programs: each returns a call for a task


def by_dualfit(task: Task, **options: Any) -> Call:
    import dualfit

    if task.y.ndim == 2:
        def batch() -> Outcome:
            found = dualfit.fit_batch(spot, task.x, task.y, task.start, **options)
            mean = f"{np.mean(found.iterations):.1f}"
            return Outcome(np.asarray(found.params), np.asarray(found.std_errors), mean, found.converged.mean())

        return batch
    f = peak if len(task.start) == 4 else decay(np)

    def single() -> Outcome:
        fit = dualfit.fit(f, task.x, task.y, task.start, **options)
        assert fit.converged and not fit.warnings, fit
        return Outcome(np.asarray(fit.params), np.asarray(fit.std_errors), str(fit.nfev))

    return single


def by_scipy(task: Task, exact: bool) -> Call:
    from scipy.optimize import curve_fit

    calls = 0

    def f(x: Array, a: float, b: float, c: float) -> Any:
        nonlocal calls
        calls += 1
        return a * np.exp(-b * x) + c

    def jacobian(x: Array, a: float, b: float, c: float) -> Array:
        e = np.exp(-b * x)
        return np.stack([e, -a * x * e, np.ones_like(x)], axis=1)

    def call() -> Outcome:
        nonlocal calls
        calls = 0
        popt, pcov, info, *_ = curve_fit(f, task.x, task.y, task.start, method="trf", loss="huber", f_scale=_SCALE,
                                         jac=jacobian if exact else "2-point", full_output=True)
        return Outcome(popt, np.sqrt(np.diag(pcov)), f"{info['nfev']}" + (f" ({calls} calls)" if not exact else ""))

    return call


def by_nlsq(task: Task, kept: bool) -> Call:
    import jax.numpy as jnp
    import nlsq

    f, fitter = decay(jnp), nlsq.CurveFit()

    def call() -> Outcome:
        result = (fitter.curve_fit if kept else nlsq.curve_fit)(f, task.x, task.y, task.start, loss="huber", f_scale=_SCALE)
        return Outcome(np.asarray(result.x), np.sqrt(np.diag(np.asarray(result.pcov))), str(result.nfev))

    return call


def by_iminuit(task: Task, cost: str) -> Call:
    from iminuit import Minuit
    from iminuit.cost import ExtendedBinnedNLL, poisson_chi2

    x, y = task.x, task.y
    step = x[1] - x[0]

    def gradient(a: float, center: float, width: float, c: float) -> Array:
        u = (x - center) / width
        e = np.exp(-0.5 * u**2)
        factor = 2 - 2 * y / (a * e + c)
        return np.array([factor @ e, factor @ (a * e * u) / width, factor @ (a * e * u**2) / width, factor.sum()])

    def chi2(a: float, center: float, width: float, c: float) -> float:
        return float(poisson_chi2(y, peak(x, a, center, width, c)))

    def density(x: Array, a: float, center: float, width: float, c: float) -> Any:
        return peak(x, a, center, width, c) / step

    def call() -> Outcome:
        if cost == "ExtendedBinnedNLL":
            edges = np.linspace(0, 10, len(x) + 1)
            minuit = Minuit(ExtendedBinnedNLL(y, edges, density, use_pdf="approximate"), *task.start)
        else:
            minuit = Minuit(chi2, *task.start, grad=gradient if cost == "gradient" else None)
            minuit.errordef = Minuit.LEAST_SQUARES
        minuit.migrad()
        assert minuit.valid
        gradients = f" and {minuit.ngrad} gradients" if minuit.ngrad else ""
        return Outcome(np.array(minuit.values), np.array(minuit.errors), f"{minuit.nfcn}{gradients}")

    return call


def by_cpufit(task: Task, library: str, estimator: int) -> Call:
    """Return a call of Cpufit with `estimator` 0 for least squares and 1 for counts."""
    run = ctypes.CDLL(os.path.abspath(library)).cpufit
    size, whole, real, address = ctypes.c_size_t, ctypes.c_int, ctypes.c_float, ctypes.c_void_p
    run.argtypes = (size, size, address, address, whole, address, real, whole, address, whole, size, address, *[address] * 4)
    single = task.y.ndim == 1
    fits, points, parameters = 1 if single else len(task.y), task.y.shape[-1], len(task.start)
    data = np.ascontiguousarray(task.y, np.float32)
    start = np.ascontiguousarray(np.tile(task.start, (fits, 1)), np.float32)
    x = task.x.astype(np.float32)
    free = np.ones(parameters, np.int32)

    def call() -> Outcome:
        found, chi = np.empty((fits, parameters), np.float32), np.empty(fits, np.float32)
        states, iterations = np.empty(fits, np.int32), np.empty(fits, np.int32)
        # Models: 0 is a peak of four parameters with x in `user_info`, 1 a spot on square images.
        failed = run(fits, points, data.ctypes.data, None, 0 if single else 1, start.ctypes.data, _TOLERANCE, 100, free.ctypes.data, estimator,
                     x.nbytes if single else 0, x.ctypes.data if single else None,
                     found.ctypes.data, states.ctypes.data, chi.ctypes.data, iterations.ctypes.data)
        assert not failed
        params = found.astype(float)
        return Outcome(params[0] if single else params, None, f"{iterations.mean():.1f}" if not single else str(iterations[0] + 1),
                       float((states == 0).mean()))

    return call


class Program(NamedTuple):
    """A program: the package that it needs, its call, further arguments of this, and the threads that it may use."""

    name: str
    package: str
    call: Callable[..., Call]
    arguments: dict[str, Any]
    threads: int = 1


def _programs(task: str, cpufit: str | None) -> list[Program]:
    options: dict[str, Any] = {}
    if task == "huber":
        options = {"loss": "huber", "loss_scale": _SCALE}
    elif task != "spots":
        options = {"poisson": True}
    programs = [Program(f"dualfit, {threads} thread{'s'[:threads - 1]}", "dualfit", by_dualfit, options, threads) for threads in (1, 2)]
    if task == "huber":
        programs += [Program("SciPy trf, exact Jacobian", "scipy", by_scipy, {"exact": True}),
                     Program("SciPy trf, 2-point", "scipy", by_scipy, {"exact": False}),
                     Program("NLSQ, kept `CurveFit`", "nlsq", by_nlsq, {"kept": True}),
                     Program("NLSQ, `curve_fit`", "nlsq", by_nlsq, {"kept": False})]
    elif task == "counts":
        programs += [Program("iminuit, `poisson_chi2` with gradient", "iminuit", by_iminuit, {"cost": "gradient"}),
                     Program("iminuit, `poisson_chi2`", "iminuit", by_iminuit, {"cost": "poisson_chi2"}),
                     Program("iminuit, `ExtendedBinnedNLL`", "iminuit", by_iminuit, {"cost": "ExtendedBinnedNLL"})]
    else:
        programs += [Program("dualfit, 1 thread, `ftol=1e-6`", "dualfit", by_dualfit, options | {"ftol": _TOLERANCE}),
                     Program("dualfit, 1 thread, `etol=0.01`", "dualfit", by_dualfit, options | {"etol": 0.01})]
    if cpufit and task != "huber":
        programs.append(Program("Cpufit, f32", "numpy", by_cpufit, {"library": cpufit, "estimator": int(task != "spots")}))
    return [program for program in programs if importlib.util.find_spec(program.package)]


# Measurement


def _work(pipe: Connection, program: Program, task: str, size: int) -> None:
    """Make a call of the program whenever the other end of the pipe requests it, and reply with its time and outcome."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    call = program.call(TASKS[task](size), **program.arguments)
    while pipe.recv():
        begun, used = time.perf_counter(), time.process_time()
        outcome = call()
        pipe.send(((time.perf_counter() - begun, time.process_time() - used), outcome))


TASKS: dict[str, Callable[[int], Task]] = {"huber": huber, "counts": counts, "spots": spots, "spot_counts": spot_counts, "weak_spots": weak_spots}


def measure(task: str, size: int, programs: list[Program], rounds: int) -> list[tuple[Array, Outcome]]:
    """Return elapsed and processor times of `rounds` calls of each program, from the first one of its process on, and the last outcome."""
    spawn = multiprocessing.get_context("spawn")
    cores = sorted(os.sched_getaffinity(0))
    workers: list[tuple[Any, Connection]] = []
    for program in programs:
        for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ[name] = str(program.threads)
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        os.sched_setaffinity(0, cores[-program.threads:])
        near, far = spawn.Pipe()
        process = spawn.Process(target=_work, args=(far, program, task, size), daemon=True)
        process.start()
        workers.append((process, near))
    os.sched_setaffinity(0, cores)
    times: list[list[tuple[float, float]]] = [[] for _ in programs]
    outcomes: list[Any] = [None] * len(programs)
    for _ in range(rounds):
        for index, (_, pipe) in enumerate(workers):
            pipe.send(True)
            seconds, outcomes[index] = pipe.recv()
            times[index].append(seconds)
    for process, pipe in workers:
        pipe.send(False)
        process.join()
    return [(1e3 * np.array(spent), outcome) for spent, outcome in zip(times, outcomes)]


def table(task: str, size: int, rounds: int, cpufit: str | None) -> None:
    """Print the table of a task."""
    programs = _programs(task, cpufit)
    measured = measure(task, size, programs, rounds)
    problem = TASKS[task](size)
    costs = np.stack([problem.cost(outcome.params) for _, outcome in measured])
    excess = costs / costs.min(axis=0) - 1
    reference, unit = measured[0][1].params, measured[0][1].errors
    distances = [np.abs((outcome.params - reference) / unit) for _, outcome in measured]
    batch = problem.y.ndim == 2
    print(f"\n{task}, {size:,} {'fits' if batch else 'points'}; load {os.getloadavg()[0]:.1f}\n")
    print(f"| program | {'iterations' if batch else 'evaluations'} | first call | elapsed, ms | processor, ms | ratio | "
          + ("converged | cost within 1e-6 | median distance | of 99 % |" if batch else "excess | distance |"))
    print("|---|---|---|---|---|---|---|---|" + "---|---|" * batch)
    for index, program in enumerate(programs):
        times, outcome = measured[index]
        elapsed, used = times[1:].min(axis=0)
        row = [program.name, outcome.evaluations, _number(times[0, 1]), _number(elapsed), _number(used),
               _number(used / measured[0][0][1:, 1].min())]
        if batch:
            far = np.nan_to_num(distances[index].max(axis=1), nan=np.inf)
            row += [f"{100 * outcome.converged:.4g} %", f"{100 * (excess[index] < 1e-6).mean():.4g} %",
                    f"{np.median(far):.1e}", f"{np.quantile(far, 0.99):.1e}"]
        else:
            row += [f"{float(excess[index]):.1e}", f"{distances[index].max():.1e}"]
        print("| " + " | ".join(row) + " |", flush=True)
    if not batch:
        print("\nStandard errors: " + "; ".join(f"{program.name} {np.array2string(outcome.errors, precision=4)}"
                                              for program, (_, outcome) in zip(programs, measured) if outcome.errors is not None))


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--points", type=int, nargs="+", default=[60_000, 1_000_000])
    parser.add_argument("--fits", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=12, help="calls of each program")
    parser.add_argument("--cpufit", help="path of Cpufit's library")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    arguments = parser.parse_args()
    packages = [name for name in ("numpy", "scipy", "nlsq", "jax", "iminuit", "dualfit") if importlib.util.find_spec(name)]
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
          + ", ".join(f"{name} {_version(name)}" for name in packages))
    for task in arguments.tasks:
        for size in arguments.points if task in ("huber", "counts") else [arguments.fits]:
            table(task, size, arguments.rounds, arguments.cpufit)
    if "huber" in arguments.tasks:
        _print_scatter()


def _print_scatter() -> None:
    """Print the scatter of many short fits of the task `huber`, relative to their standard errors."""
    import dualfit

    points, fits = 600, 4000
    task = huber(points * fits)
    # Fit k has every 4000th point from k on. Its points are moved along the curve to the x that all fits share.
    x = np.linspace(0, 5, points)
    y = task.y.reshape(points, fits).T - decay(np)(task.x.reshape(points, fits).T, 100, 1.3, 10) + decay(np)(x, 100, 1.3, 10)
    batch = dualfit.fit_batch(decay(np), x, y, task.start, loss="huber", loss_scale=_SCALE)
    ratio = batch.params.std(axis=0) / np.median(batch.std_errors, axis=0)
    print(f"\nScatter of {fits} fits of {points} points by dualfit, relative to their standard errors: {np.array2string(ratio, precision=3)}")


def _version(name: str) -> str:
    return str(importlib.import_module(name).__version__) if name == "dualfit" else version(name)


if __name__ == "__main__":
    main()
