"""Records what SciPy's curve_fit answers, beside the exact minimum of the same problem.

    python scipy_curve_fit.py OUTPUT_FILE        (needs numpy, scipy, mpmath)

Every fit has the exact Jacobian and tolerances of 1e-15, and is restarted from its own answer until that no
longer moves. It is then judged by `curve_fit_exact`: the recording stops when SciPy's popt is further than
1e-7 (relative) from the minimum, when its covariance is, or when a start at the true parameters leads elsewhere.
"""

import platform
import sys
from pathlib import Path

import mpmath as mp
import numpy as np
import scipy
from scipy.optimize import curve_fit

from curve_fit_cases import SEED, SETUPS, cases
from curve_fit_exact import Problem
from curve_fit_models import MODELS

ENOUGH = 1e-7


def tukey(z):
    """Tukey's biweight in the form that least_squares asks of a callable loss; SciPy has none of its own."""
    u = np.maximum(1.0 - z, 0.0)
    return np.array([(1.0 - u**3) / 3.0, u**2, -2.0 * u])


def method(case):
    plain = case["loss"] == "linear" and not np.isfinite([case["lower"], case["upper"]]).any()
    return "lm" if plain else "trf"


def fit_once(case, start):
    """(popt, pcov, cost) of one call, at the tightest tolerance that it accepts."""
    model, p = MODELS[case["model"]], len(start)

    def value(x, *params):
        return model.value(np, np.atleast_2d(x), params)

    def partials(x, *params):
        return np.stack(model.partials(np, np.atleast_2d(x), params), axis=1)

    options = {"method": method(case), "jac": partials, "sigma": case["sigma"], "absolute_sigma": case["absolute"]}
    if options["method"] == "trf":
        loss = tukey if case["loss"] == "tukey" else case["loss"]
        scale = np.where(start == 0.0, 1.0, np.abs(start))
        options |= {"loss": loss, "f_scale": case["f_scale"], "x_scale": scale, "max_nfev": 20000}
        options["bounds"] = (case["lower"], case["upper"])
    else:
        options["maxfev"] = 20000
    x = case["x"][0] if model.predictors == 1 else np.array(case["x"])
    for tolerance in [1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10]:
        try:
            popt, pcov, info, _, _ = curve_fit(
                value, x, case["y"], start, full_output=True,
                ftol=tolerance, xtol=tolerance, gtol=tolerance, **options,
            )
        except RuntimeError:  # MINPACK calls a tolerance it cannot reach an error, and trf runs on
            continue
        return popt, pcov, cost(case, info["fvec"])
    raise RuntimeError(case["name"])


def cost(case, whitened):
    """Half the sum of squared whitened residuals, through the loss: what least_squares calls cost."""
    z = (whitened / case["f_scale"]) ** 2
    root = np.sqrt(1.0 + z)
    values = {
        "linear": lambda: z,
        "soft_l1": lambda: 2.0 * (root - 1.0),
        "huber": lambda: np.where(z <= 1.0, z, 2.0 * np.sqrt(z) - 1.0),
        "cauchy": lambda: np.log1p(z),
        "arctan": lambda: np.arctan(z),
        "tukey": lambda: tukey(z)[0],
    }[case["loss"]]()
    return 0.5 * case["f_scale"] ** 2 * values.sum()


def fit(case, start):
    """The best of the fit and its restarts."""
    best = fit_once(case, np.clip(start, case["lower"], case["upper"]))
    for _ in range(20):
        again = fit_once(case, best[0])
        if not again[2] < best[2]:
            break
        best = again
    return best


def bounds_met(case, popt):
    """The bound that each parameter sits on, or None."""
    met = []
    for v, low, high in zip(popt, case["lower"], case["upper"]):
        near = 1e-6 * abs(v)
        met.append(low if v - low < near else high if high - v < near else None)
    return met


def distance(a, b):
    """Largest relative difference of two sequences."""
    return float(max(abs(mp.mpf(float(u)) - v) / abs(v) for u, v in zip(a, b)))


def distance_covariance(a, b):
    """Largest difference of two covariances in units of their standard errors."""
    p = len(a)
    return float(max(
        abs(mp.mpf(float(a[i][j])) - b[i, j]) / mp.sqrt(b[i, i] * b[j, j]) for i in range(p) for j in range(p)
    ))


def judge(case, exact, problem, met):
    """Raises when the exact answer is not the constrained minimum that both starts lead to."""
    gradient = problem.gradient(exact.optimum)
    for i, bound in enumerate(met):
        if bound is None:
            assert case["lower"][i] < exact.optimum[i] < case["upper"][i], "a free parameter left its bounds"
        else:
            assert (gradient[i] > 0) == (bound == case["lower"][i]), "a bound that does not hold anything back"
    if case["group"] != "scale":
        other = fit(case, np.array(SETUPS[case["model"]][1]))
        assert distance(other[0], exact.optimum) < 1e-6, "the true parameters lead elsewhere"


def numbers(values):
    return " ".join(repr(float(v)) for v in np.asarray(values, dtype=float).ravel())


def flat(matrix):
    return numbers([float(v) for v in matrix])


def record(case):
    """The lines of one case, and its figures of agreement."""
    popt, pcov, scipy_cost = fit(case, case["start"])
    met = bounds_met(case, popt)
    problem = Problem(case)
    exact = problem.solve(popt, met)
    judge(case, exact, problem, met)
    agreement = (
        distance(popt, exact.optimum),
        distance([scipy_cost], [exact.cost]),
        distance_covariance(pcov, exact.covariance),
    )

    model, sigma = MODELS[case["model"]], case["sigma"]
    scaling = "absolute" if case["absolute"] else "relative"
    out = [f"case {case['name']}", f"group {case['group']}", f"model {case['model']}", f"text {model.text}"]
    out.append(f"parameters {' '.join(model.parameters)}")
    out += [f"x {numbers(column)}" for column in case["x"]]
    out.append(f"y {numbers(case['y'])}")
    if sigma is not None:
        out.append(f"{'sigma' if sigma.ndim == 1 else 'sigma_matrix'} {scaling} {numbers(sigma)}")
    if np.isfinite([case["lower"], case["upper"]]).any():
        out += [f"lower {numbers(case['lower'])}", f"upper {numbers(case['upper'])}"]
    if case["loss"] != "linear":
        out.append(f"loss {case['loss']} {numbers([case['f_scale']])}")
    out += [
        f"start {numbers(case['start'])}",
        f"scipy_method {method(case)}",
        f"scipy_popt {numbers(popt)}",
        f"scipy_pcov {numbers(pcov)}",
        f"scipy_cost {numbers([scipy_cost])}",
        f"optimum {flat(exact.optimum)}",
        f"cost {flat([exact.cost])}",
        f"covariance {flat(exact.covariance)}",
    ]
    if any(b is not None for b in met):
        sides = ["free" if b is None else "lower" if b == case["lower"][i] else "upper" for i, b in enumerate(met)]
        out += [
            f"at_bound {' '.join(sides)}",
            f"covariance_free_by_n_minus_free {flat(exact.free_by_n_minus_free)}",
            f"covariance_free_by_n_minus_p {flat(exact.free_by_n_minus_p)}",
        ]
    out += [f"scipy_distance {numbers(agreement)}", "end"]
    return out, agreement, met, exact


def check_scale(case, exact, base):
    """Changing units changes the minimum by that factor alone, up to the rounding of the data."""
    factor = case["start"] / base[0]["start"]
    unscaled = [float(v) / f for v, f in zip(exact.optimum, factor)]
    assert distance(unscaled, base[1].optimum) < 1e-14, "not the unscaled minimum in other units"


def main():
    lines = [
        "# Fits recorded by tests/record/scipy_curve_fit.py; tests/data/README.md says what the lines mean.",
        f"scipy {scipy.__version__}",
        f"numpy {np.__version__}",
        f"mpmath {mp.__version__}",
        f"python {platform.python_version()}",
        f"seed {SEED}",
    ]
    worst, base = [], None
    for case in cases():
        try:
            out, agreement, met, exact = record(case)
            base = base or (case, exact)  # the first case is the one that the scaled ones repeat
            if case["group"] == "scale":
                check_scale(case, exact, base)
        except (AssertionError, ArithmeticError, RuntimeError) as error:
            raise SystemExit(f"{case['name']}: {error}") from error
        lines += out
        print("{:40} popt {:.1e}  cost {:.1e}  pcov {:.1e}  {}".format(
            case["name"], *agreement, "".join("." if b is None else "B" for b in met)), flush=True)
        if max(agreement) > ENOUGH:
            worst.append(case["name"])
    Path(sys.argv[1]).write_text("\n".join(lines) + "\n", encoding="ascii")
    if worst:
        raise SystemExit(f"SciPy's answer is further than {ENOUGH} from the minimum in: {', '.join(worst)}")


if __name__ == "__main__":
    main()
