"""What SciPy's curve_fit answers with its default settings, for comparison.

    pip install scipy==1.17.1 numpy==2.4.6 mpmath==1.4.1
    python peers.py FOLDER        (FOLDER: tests/data/nist)

Per problem of NIST and start: the digits to which the worst parameter agrees with the certificate, as in
tests/nist.rs, with finite differences, which is what a user gets who gives a function and says no more.
Then the standard errors of a model with two factors, a and b, that the data cannot tell apart, and the
warnings about them.
"""

import re
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import curve_fit

from nist_check import read

NAMES = {"exp": np.exp, "cos": np.cos, "sin": np.sin, "atan": np.arctan, "pi": np.pi}


def digits(found, certified):
    with np.errstate(divide="ignore"):
        worst = np.max(np.abs(found - certified) / np.abs(certified))
        return float(np.clip(np.nan_to_num(-np.log10(worst), nan=0.0), 0, 11))


def run(problem, start, method):
    names = [p[0] for p in problem["parameters"]]
    certified, begin = (np.array([float(p[k]) for p in problem["parameters"]]) for k in (3, start))
    rows = np.array([[float(v) for v in row] for row in problem["rows"]])
    k = int(problem["predictors"])
    variables = ["x"] if k == 1 else [f"x{i + 1}" for i in range(k)]
    y = np.log(rows[:, -1]) if problem["transform"] == "ln" else rows[:, -1]
    code = compile(re.sub(r"\^", "**", problem["model"]), problem["name"], "eval")

    def model(x, *p):
        return eval(code, {**NAMES, **dict(zip(variables, np.atleast_2d(x))), **dict(zip(names, p))})

    x = rows[:, 0] if k == 1 else rows[:, :-1].T
    try:
        found, _ = curve_fit(model, x, y, begin, method=method)
    except (RuntimeError, ValueError) as error:
        return 0.0, str(error).split("\n")[0]
    return digits(found, certified), ""


def undetermined(method):
    t = np.linspace(0, 10, 200)
    y = 300 * np.exp(-0.5 * t) + 20 + np.random.default_rng(1).normal(0, 3, 200)
    model = lambda t, a, b, rate, offset: a * b * np.exp(-rate * t) + offset
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        _, covariance = curve_fit(model, t, y, [0.3, 900, 0.4, 10], method=method)
    errors = np.sqrt(np.diag(covariance))
    print(f"{method}: standard errors a {errors[0]:.1e}, b {errors[1]:.1e}; {len(seen)} warnings")


def nist():
    runs = {"lm": [], "trf": []}
    for path in sorted(Path(sys.argv[1]).glob("*.txt")):
        problem = read(path)
        for start in (1, 2):
            row = []
            for method, results in runs.items():
                reached, error = run(problem, start, method)
                results.append(reached)
                row.append(f"{method} {reached:5.1f} {error[:50]}")
            print(f"{problem['name']:9} {start}  {'  '.join(row)}")
    for method, results in runs.items():
        count = [sum(r >= k for r in results) for k in (4, 6)]
        print(f"{method}: {count[0]} of {len(results)} to 4 digits, {count[1]} to 6")


def main():
    for method in ("lm", "trf"):
        undetermined(method)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    nist()


if __name__ == "__main__":
    main()
