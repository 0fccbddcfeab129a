"""Models of all points at once beside SciPy, in one run: time and digits.

Usage, in this folder: python all_points.py   (pip install scipy, and cargo on the path)

Fits the data of the lessons 13_ode and 15_convolution with scipy.optimize.curve_fit and the same model in NumPy, then runs
the lessons, and prints time, model calls and how many digits of the parameters agree. SciPy gets tolerances of 1e-12, for digits,
after a run with its own tolerances, for time. Each time is the best of five.
"""

import math
import re
import subprocess
import time

import numpy as np
import scipy
from scipy.integrate import solve_ivp
from scipy.optimize import curve_fit

HARES = [30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1, 40.3, 57.0, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7]
LYNXES = [4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4, 8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6]


def classical(_, *p):
    """As the lesson: fifty steps of the classical method a year, both animals."""

    def slope(at):
        return ((p[0] - p[1] * at[1]) * at[0], (p[2] * at[0] - p[3]) * at[1])

    now, out, h = (p[4], p[5]), [(p[4], p[5])], 1 / 50
    for _ in range(20):
        for _ in range(50):
            k1 = slope(now)
            k2 = slope((now[0] + h / 2 * k1[0], now[1] + h / 2 * k1[1]))
            k3 = slope((now[0] + h / 2 * k2[0], now[1] + h / 2 * k2[1]))
            k4 = slope((now[0] + h * k3[0], now[1] + h * k3[1]))
            now = tuple(now[i] + h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]) for i in (0, 1))
        out.append(now)
    return np.log(np.maximum(np.array(out).T.ravel(), 1e-300))


def usual(_, *p):
    """As a user of SciPy writes it."""
    slope = lambda t, at: ((p[0] - p[1] * at[1]) * at[0], (p[2] * at[0] - p[3]) * at[1])
    found = solve_ivp(slope, (0, 20), (p[4], p[5]), t_eval=np.arange(21.0), method="LSODA", rtol=1e-8, atol=1e-8)
    return np.log(np.maximum(found.y.ravel(), 1e-300))


def convolution(channels):
    width = 0.05
    t = width * np.arange(channels)
    seen = width * np.arange(80.0)
    response = np.exp(-(((seen - 0.5) / 0.12) ** 2) / 2) + 0.02 * np.exp(-seen / 0.8)
    response /= response.sum()

    def model(t, a1, tau1, a2, tau2, background):
        return np.convolve(a1 * np.exp(-t / tau1) + a2 * np.exp(-t / tau2), response)[: t.size] + background

    y = model(t, 900.0, 0.9, 400.0, 3.5, 12.0)
    sigma = np.sqrt(y)
    y = y + 1.4 * sigma * np.sin(37.0 * np.arange(channels))
    return model, t, y, dict(p0=[500.0, 0.5, 500.0, 5.0, 0.0], sigma=sigma, absolute_sigma=True, bounds=(0, np.inf))


def best(call):
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return min(times)


def lesson(name, *arguments):
    command = ["cargo", "run", "--quiet", "--release", "--example", name, "--", *arguments]
    found = []
    for _ in range(5):
        text = subprocess.run(command, check=True, capture_output=True, text=True, cwd="../..").stdout
        seconds = re.search(r"CPU \(.*?([0-9.]+) (s|ms|µs)$", text, re.M)
        unit = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}[seconds[2]]
        values = [float(v) for v in re.findall(r"^\S+ +(\S+)  ±", text, re.M)]
        calls = re.search(r"(\d+) evaluations", text)[1]
        found.append((float(seconds[1]) * unit, values, calls))
    return min(found)


def compare(what, ours, model, x, y, options, tight=None):
    calls = [0]

    def counted(*arguments):
        calls[0] += 1
        return model(*arguments)

    curve_fit(counted, x, y, **options)
    seconds = best(lambda: curve_fit(model, x, y, **options))
    exact, _ = curve_fit(tight or model, x, y, ftol=1e-12, xtol=1e-12, gtol=1e-12, max_nfev=10000, **options)
    ours_seconds, values, evaluations = ours
    digits = min(-math.log10(max(abs(a / b - 1), 1e-9)) for a, b in zip(values, exact))
    print(f"{what:<34} {1e3 * seconds:>10.1f} ms {calls[0]:>5} calls {1e3 * ours_seconds:>10.2f} ms {evaluations:>4} evaluations  ratio {seconds / ours_seconds:>6.1f}  digits {digits:.1f}")


print(f"scipy {scipy.__version__}, numpy {np.__version__}; SciPy, then dualfit")
logarithms = np.log(np.array(HARES + LYNXES))
options = dict(p0=[0.5, 0.03, 0.03, 0.8, 30.0, 4.0], bounds=(0, np.inf))
ours = lesson("13_ode")
compare("ODE, solve_ivp by LSODA", ours, usual, np.arange(42.0), logarithms, options, classical)
compare("ODE, the lesson's method in Python", ours, classical, np.arange(42.0), logarithms, options)
for channels in (400, 100_000):
    model, t, y, options = convolution(channels)
    compare(f"convolution, {channels} channels", lesson("15_convolution", str(channels)), model, t, y, options)
