"""The data and settings of the recorded fits, from one seeded generator.

A case is a dict: name, group, model, x (one array per predictor), y, sigma (None, n or n x n), absolute, lower,
upper, loss, f_scale, start. The order of cases is part of the recording: each draws from the same generator.
"""

import numpy as np

from curve_fit_models import MODELS

SEED = 20240617
INF = np.inf

# model: (x, true parameters, start, standard deviation of the noise)
SETUPS = {
    "decay": (lambda: [np.linspace(0.0, 4.0, 40)], [2.5, 1.3, 0.5], [2.0, 0.8, 0.2], 0.05),
    "gaussian_peak": (lambda: [np.linspace(-5.0, 7.0, 60)], [3.0, 1.2, 0.9, 0.7], [2.5, 0.8, 1.2, 0.4], 0.08),
    "damped_sine": (lambda: [np.linspace(0.0, 10.0, 80)], [2.0, 0.25, 3.1, 0.4], [1.7, 0.2, 3.0, 0.6], 0.06),
    "gaussian_2d": (
        lambda: [axis.ravel() for axis in np.meshgrid(np.arange(11.0), np.arange(11.0))],
        [10.0, 5.2, 4.7, 1.6, 1.0], [9.0, 5.0, 5.0, 2.0, 0.5], 0.3,
    ),
    "michaelis_menten": (lambda: [np.geomspace(0.1, 20.0, 25)], [3.2, 1.7], [2.0, 1.0], 0.05),
    "four_pl": (lambda: [np.geomspace(0.01, 100.0, 36)], [0.2, 2.9, 1.4, 1.2], [0.0, 3.0, 1.0, 1.0], 0.04),
}


def clean(model, count=None):
    """x, noise-free y, noise level and start; `count` takes that many points, evenly spread."""
    make, truth, start, noise = SETUPS[model]
    x = make()
    if count is not None:
        take = np.linspace(0, len(x[0]) - 1, count).round().astype(int)
        x = [column[take] for column in x]
    return x, MODELS[model].value(np, x, truth), noise, np.array(start)


def case(name, group, model, x, y, start, **settings):
    p = len(start)
    settings = {
        "sigma": None, "absolute": False, "lower": np.full(p, -INF), "upper": np.full(p, INF),
        "loss": "linear", "f_scale": 1.0, **settings,
    }
    name = f"{model}_{name}"
    return {"name": name, "group": group, "model": model, "x": x, "y": y, "start": np.array(start), **settings}


def noisy(rng, model, name, group, **settings):
    x, y, noise, start = clean(model)
    return case(name, group, model, x, y + noise * rng.standard_normal(len(y)), start, **settings)


def with_errors(rng, model, name, absolute):
    """Error bars that differ by a factor of four; noise drawn from them, twice as large if only relative."""
    x, y, noise, start = clean(model)
    sigma = noise * rng.uniform(0.5, 2.0, len(y))
    truth = sigma if absolute else 2.0 * sigma
    return case(
        name, "sigma", model, x, y + truth * rng.standard_normal(len(y)), start, sigma=sigma, absolute=absolute
    )


def autoregressive(rng, n, noise):
    """Covariance of an AR(1) process, correlation 0.6 between neighbours, error bars that grow."""
    errors = noise * np.linspace(0.7, 1.4, n)
    lag = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    return np.outer(errors, errors) * 0.6**lag


def random_spd(rng, n, noise):
    """A dense covariance with no structure, condition number near 100."""
    a = rng.standard_normal((n, n))
    matrix = noise**2 * (a @ a.T / n + 0.05 * np.eye(n))
    return (matrix + matrix.T) / 2


def with_matrix(rng, model, name, make, absolute=True):
    x, y, noise, start = clean(model, 30)
    matrix = make(rng, 30, noise)
    y = y + np.linalg.cholesky(matrix) @ rng.standard_normal(30)
    return case(name, "matrix", model, x, y, start, sigma=matrix, absolute=absolute)


def bounded(rng, model, name, lower, upper, start=None, **settings):
    made = noisy(rng, model, name, "bounds", lower=np.array(lower), upper=np.array(upper), **settings)
    return made if start is None else {**made, "start": np.array(start)}


def with_outliers(rng, model, loss):
    """One point in eight off by 15 to 40 noise levels, to either side; f_scale is two noise levels."""
    made = noisy(rng, model, loss, "loss", loss=loss)
    noise, n = SETUPS[model][3], len(made["y"])
    hit = rng.choice(n, n // 8, replace=False)
    made["y"][hit] += noise * rng.uniform(15.0, 40.0, len(hit)) * rng.choice([-1.0, 1.0], len(hit))
    return {**made, "f_scale": 2.0 * noise}


def scaled(base, axis, power):
    """The decay with y, or with x, in units 10^power times smaller; start scaled alike."""
    factor = 10.0**power
    if axis == "y":
        change = {"y": base["y"] * factor, "start": base["start"] * [factor, 1.0, factor]}
    else:
        change = {"x": [base["x"][0] * factor], "start": base["start"] / [1.0, factor, 1.0]}
    sign = "m" if power < 0 else "p"
    return {**base, "name": f"decay_{axis}_scaled_1e{sign}{abs(power)}", "group": "scale", **change}


def cases():
    rng = np.random.default_rng(SEED)
    made = [noisy(rng, model, "unweighted", "plain") for model in SETUPS]
    for model in ["decay", "gaussian_peak", "four_pl"]:
        made.append(with_errors(rng, model, "sigma_relative", absolute=False))
        made.append(with_errors(rng, model, "sigma_absolute", absolute=True))
    for model in ["decay", "gaussian_peak", "damped_sine"]:
        made.append(with_matrix(rng, model, "matrix_ar1", autoregressive))
        made.append(with_matrix(rng, model, "matrix_spd", random_spd))
    made.append(with_matrix(rng, "decay", "matrix_ar1_relative", autoregressive, absolute=False))
    made += [
        bounded(rng, "decay", "bounds_inactive", [0.0, 0.0, -1.0], [10.0, 5.0, 2.0]),
        bounded(rng, "gaussian_peak", "bounds_inactive", [0.0, -2.0, 0.1, -INF], [INF, 4.0, 5.0, 3.0]),
        bounded(rng, "four_pl", "bounds_inactive", [-1.0, 0.0, 0.01, 0.1], [1.0, 10.0, 50.0, 5.0]),
        bounded(rng, "decay", "bounds_upper_active", [0.0, 0.0, 0.0], [10.0, 1.1, 2.0]),
        bounded(rng, "decay", "bounds_lower_active", [0.0, 0.0, 0.55], [10.0, 10.0, 2.0], [2.0, 0.8, 0.8]),
        bounded(rng, "gaussian_peak", "bounds_upper_active", [0.0, -5.0, 0.1, -1.0], [2.8, 5.0, 5.0, 2.0]),
        bounded(rng, "michaelis_menten", "bounds_upper_active", [0.0, 0.0], [3.0, 10.0]),
        bounded(
            rng, "damped_sine", "bounds_lower_active",
            [0.0, 0.3, 2.0, -3.0], [5.0, 2.0, 5.0, 3.0], [1.7, 0.4, 3.0, 0.6],
        ),
        bounded(rng, "decay", "bounds_two_active", [0.0, 1.4, 0.0], [2.4, 5.0, 2.0], [2.0, 1.8, 0.2]),
        bounded(
            rng, "gaussian_peak", "bounds_two_active",
            [0.0, 1.25, 0.1, -1.0], [10.0, 5.0, 0.8, 2.0], [2.5, 1.5, 0.6, 0.4],
        ),
        bounded(
            rng, "four_pl", "bounds_two_active",
            [0.25, 0.0, 0.01, 0.1], [1.0, 2.8, 50.0, 5.0], [0.5, 2.5, 1.0, 1.0],
        ),
    ]
    sigma = 0.05 * np.linspace(0.5, 2.0, 40)
    made.append(bounded(
        rng, "decay", "bounds_active_sigma_absolute", [0.0, 0.0, 0.0], [10.0, 1.2, 2.0], sigma=sigma, absolute=True
    ))
    for model in ["decay", "gaussian_peak"]:
        for loss in ["soft_l1", "huber", "cauchy", "arctan", "tukey"]:
            made.append(with_outliers(rng, model, loss))
    robust = with_outliers(rng, "decay", "huber")
    made.append({
        **robust, "name": "decay_huber_bounds_active", "lower": np.zeros(3), "upper": np.array([10.0, 1.2, 2.0]),
    })
    base = made[0]
    made += [scaled(base, axis, power) for axis in "yx" for power in [-12, -6, 6, 12]]
    return made
