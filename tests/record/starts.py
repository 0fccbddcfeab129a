"""Success rates of curve-fitting packages without an initial guess, on the problems of tests/data/searches.

    pip install scipy==1.17.1 numpy==2.4.6
    R 4.2.2 with the package gslnls 1.4.2 (optional)
    python starts.py FOLDER [--every N] [--seconds S] [--details FILE]        (FOLDER: tests/data/searches)

A problem is a formula with true parameters, points and noise. Points and noise have the distributions of
tests/searches/collection.rs, but come from another generator. A peer solves a problem if the cost of its parameters
is at most 1 + 1e-5 times the cost of SciPy's fit from the true parameters. NumPy evaluates the costs of all peers.

| peer | initial guess | problems |
|---|---|---|
| SciPy `curve_fit`, method lm or trf | SciPy's default: all parameters 1 | all |
| dualfit, if the Python package is installed | its own search | all |
| R's gslnls, by starts.R, if R finds it | NA: multi-start with dynamic ranges | first set of each model, 1 % noise |

All options of the peers have their defaults. An error, or more than S seconds (gslnls only), means not solved.
Problems of gslnls exclude formulas with functions that R lacks. The table compares all peers on these, too.
"""

import argparse
import contextlib
import csv
import json
import platform
import shutil
import subprocess
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from scipy import special
from scipy.optimize import curve_fit, least_squares

try:
    import dualfit
except ImportError as error:
    dualfit, no_dualfit = None, str(error)

#: Standard deviations of the noise, relative to that of y.
NOISE = (0.01, 0.1)
#: Largest cost of a solution, relative to the reference cost.
TOLERANCE = 1.0 + 1e-5
SEED = 20240607

#: NumPy's names of the functions and constants of formulas.
FUNCTIONS = {
    "pi": np.pi, "exp": np.exp, "log": np.log, "log10": np.log10, "sqrt": np.sqrt, "abs": np.abs, "hypot": np.hypot,
    "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "atan": np.arctan, "atan2": np.arctan2, "min": np.minimum,
    "max": np.maximum, "where": np.where, "erf": special.erf, "erfc": special.erfc, "j1": special.j1, "k0": special.k0,
    "voigt": special.voigt_profile, "lambert_w": lambda z: special.lambertw(z).real,
}


@dataclass
class Problem:
    """One fit: a formula with its data."""

    collection: str
    #: Name of the model, index of the parameter set, noise in percent of the standard deviation of y.
    name: str
    formula: str
    #: Names of the k independent variables.
    variables: list[str]
    parameters: list[str]
    truth: np.ndarray
    #: Shape (k, n), and n values of y without and with noise.
    columns: np.ndarray
    exact: np.ndarray
    y: np.ndarray
    #: The formula as a function of `columns` and p numbers, as `curve_fit` needs it.
    function: Callable[..., np.ndarray]
    reference_cost: float
    #: Whether gslnls fits this problem, if R has all functions of the formula.
    for_gslnls: bool
    #: Ratio of costs (`ratio`) and time in ms, by peer.
    results: dict[str, tuple[float, float]] = field(default_factory=dict)

    def ratio(self, params: Any) -> float:
        """Cost of `params` relative to the reference cost; NaN if not finite."""
        residuals = self.function(self.columns, *params) - self.y
        return 0.5 * float(np.sum(residuals**2)) / self.reference_cost


def numpy_function(formula: str, variables: list[str], parameters: list[str]) -> Callable[..., np.ndarray]:
    """Compiles a formula. Only for trusted text: the formula is evaluated as Python."""
    inner = f"(lambda {', '.join(variables)}: {formula.replace('^', '**')})"
    return eval(f"lambda columns, {', '.join(parameters)}: {inner}(*columns)", dict(FUNCTIONS))


def columns_of(axes: list[dict[str, Any]], points: int, random: np.random.Generator) -> np.ndarray:
    """Independent variables, shape (number of axes, points).

    An axis with `values` is constant on blocks of points. An axis `within` restarts in each block.
    """
    block = min((-(-points // len(axis["values"])) for axis in axes if "values" in axis), default=points)
    i = np.arange(points)

    def column(axis: dict[str, Any]) -> np.ndarray:
        if "values" in axis:
            return np.array(axis["values"], float)[i // -(-points // len(axis["values"]))]
        start, end, length = axis["from"], axis["to"], block if axis.get("within") else points
        at = (i % length) / (max(length, 2) - 1)
        if axis["spacing"] == "log":
            return start * (end / start) ** at
        return start + (end - start) * (random.random(points) if axis["spacing"] == "random" else at)

    return np.array([column(axis) for axis in axes])


def reference(function: Callable[..., np.ndarray], columns: np.ndarray, y: np.ndarray, truth: np.ndarray) -> float:
    """Cost of the fit from `truth`: the lower of the costs that SciPy's methods trf and lm reach.

    Parameters are in units of their true values and residuals in standard deviations of y, because
    difference steps and `gtol` of `least_squares` are absolute for small numbers.
    """
    unit, scatter, costs = np.where(truth != 0, np.abs(truth), 1.0), np.std(y), []
    for method in ("trf", "lm"):
        with contextlib.suppress(ValueError):  # Method trf refuses partials that are not finite.
            fit = least_squares(lambda p: (function(columns, *(p * unit)) - y) / scatter, truth / unit, jac="3-point",
                                method=method, x_scale="jac", ftol=1e-15, xtol=1e-15, gtol=1e-15)
            costs.append(scatter**2 * fit.cost)
    return min(costs)


def problems_of(path: Path, every: int) -> list[Problem]:
    """Problems of every `every`-th model of a collection: two noise levels for each parameter set."""
    problems = []
    for m, model in list(enumerate(json.loads(path.read_text())))[::every]:
        variables, parameters = model["x"], list(model["sets"][0]["params"])
        function = numpy_function(model["formula"], variables, parameters)
        for s, one in enumerate(model["sets"]):
            random = np.random.default_rng([SEED, m, s])
            truth = np.array([one["params"][name] for name in parameters], float)
            columns = columns_of(one["x"], one["points"], random)
            exact = function(columns, *truth)
            for noise in NOISE:
                y = exact + noise * np.std(exact) * random.standard_normal(one["points"])
                name = f"{model['name']} [{s}] {100 * noise:g} %"
                lowest = reference(function, columns, y, truth)
                problems.append(Problem(path.stem, name, model["formula"], variables, parameters, truth, columns, exact,
                                        y, function, lowest, for_gslnls=s == 0 and noise == NOISE[0]))
    return problems


#: Prepares a fit: a function without arguments that returns the parameters.
Peer = Callable[[Problem], Callable[[], Any]]


def scipy_fit(problem: Problem, method: str) -> Callable[[], Any]:
    return lambda: curve_fit(problem.function, problem.columns, problem.y, method=method)[0]


def dualfit_fit(problem: Problem) -> Callable[[], Any]:
    assert dualfit is not None
    model = dualfit.Model(problem.formula, variables=problem.variables)
    x = problem.columns if len(problem.variables) > 1 else problem.columns[0]
    return lambda: list(map(model.fit(x, problem.y).values.get, problem.parameters))


def attempt(prepare: Peer, problem: Problem) -> tuple[float, float]:
    """Cost ratio and time in ms of one fit; an infinite ratio after an error. Preparation takes no time."""
    fit, params = prepare(problem), None
    begun = time.perf_counter()
    with contextlib.suppress(Exception):  # An error is a result, whatever its type.
        params = fit()
    milliseconds = 1e3 * (time.perf_counter() - begun)
    return np.inf if params is None else problem.ratio(params), milliseconds


def write_csv(path: Path, header: list[str], rows: Iterable[Sequence[Any]]) -> None:
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def gslnls_fits(problems: list[Problem], seconds: float) -> str:
    """Fits the problems that R can express by gslnls. Returns versions and counts, or the reason to skip."""
    if shutil.which("Rscript") is None:
        return "gslnls: skipped, Rscript not found"
    with tempfile.TemporaryDirectory() as folder:
        for k, p in enumerate(problems):
            table = np.vstack([p.columns, p.exact, p.y]).T.tolist()
            write_csv(Path(folder, f"{k}.csv"), [*p.variables, "exact", "response"], table)
        models = [(p.formula, " ".join(p.parameters), " ".join(map(repr, p.truth.tolist()))) for p in problems]
        write_csv(Path(folder, "problems.csv"), ["formula", "parameters", "truth"], models)
        command = ["Rscript", str(Path(__file__).with_name("starts.R")), folder, str(seconds)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            return f"gslnls: skipped, {run.stderr.strip()}"
        with open(Path(folder, "fits.csv"), newline="") as file:
            fits = list(csv.DictReader(file))
    for problem, fit in zip(problems, fits, strict=True):
        if fit["state"] != "not expressible":
            params = [float(value) for value in fit["params"].split()]
            problem.results["gslnls"] = problem.ratio(params) if params else np.inf, float(fit["milliseconds"])
    states = ", ".join(f"{n} {state}" for state, n in Counter(fit["state"] for fit in fits).items())
    lacking = ", ".join(sorted({name for fit in fits for name in fit["lacking"].split()})) or "nothing"
    return f"{run.stdout.strip()}: {len(fits)} problems: {states}; R lacks {lacking}; limit {seconds:g} s"


def print_table(problems: list[Problem], peers: Iterable[str]) -> None:
    """Prints solved problems and times of `peers` on all problems, and of all peers on those of gslnls."""
    print(f"{'collection':11}{'problems':14}{'peer':12}{'solved':>12}{'median ms':>12}{'largest ms':>12}")
    shared = [problem for problem in problems if "gslnls" in problem.results]
    subsets = (("all", problems, peers), ("of gslnls", shared, [*peers, "gslnls"]))
    for collection, (subset, members, fitted) in product(("seen", "unseen"), subsets):
        members = [problem for problem in members if problem.collection == collection]
        for peer in fitted if members else []:
            ratios, times = zip(*(problem.results[peer] for problem in members))
            solved = f"{sum(np.array(ratios) <= TOLERANCE)} of {len(ratios)}"
            print(f"{collection:11}{subset:14}{peer:12}{solved:>12}{np.median(times):12.1f}{max(times):12.1f}")


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("folder", type=Path, help="folder of seen.json and unseen.json")
    options.add_argument("--every", type=int, default=1, metavar="N", help="fits every N-th model only")
    options.add_argument("--seconds", type=float, default=20.0, metavar="S", help="time limit of a fit by gslnls")
    options.add_argument("--details", type=Path, metavar="FILE", help="CSV of cost ratio and time of each fit")
    given = options.parse_args()
    warnings.simplefilter("ignore")
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}")
    problems = [problem for name in ("seen", "unseen")
                for problem in problems_of(given.folder / f"{name}.json", given.every)]
    peers: dict[str, Peer] = {f"SciPy {name}": partial(scipy_fit, method=name) for name in ("lm", "trf")}
    if dualfit is not None:
        peers["dualfit"] = dualfit_fit
    print(f"dualfit {dualfit.__version__}" if dualfit is not None else f"dualfit: skipped, {no_dualfit}")
    for peer, prepare in peers.items():
        for problem in problems:
            problem.results[peer] = attempt(prepare, problem)
    print(gslnls_fits([problem for problem in problems if problem.for_gslnls], given.seconds))
    print_table(problems, peers)
    if given.details:
        rows = [(p.collection, p.name, peer, *result) for p in problems for peer, result in p.results.items()]
        write_csv(given.details, ["collection", "problem", "peer", "cost_ratio", "milliseconds"], rows)


if __name__ == "__main__":
    main()
