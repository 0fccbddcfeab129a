"""Minima by SciPy's differential_evolution of problems with many minima: for 20 seeds each, how often the lowest was
found, its cost, and evaluations by the populations, without the polishing, on average.

Usage, in this folder: python differential_evolution.py > ../data/evolution.csv   (pip install scipy==1.17.1)
"""

import numpy as np
import scipy
from scipy.optimize import differential_evolution

SEEDS = 20


def rastrigin(p):
    return 0.5 * np.sum(p**2 + 20 * np.sin(np.pi * p) ** 2)


x = 0.1 * np.arange(80)
wave_y = 2.0 * np.sin(5.3 * x + 0.4) + 0.3 * np.cos(31.0 * x * x)


def wave(p):
    return 0.5 * np.sum((p[0] * np.sin(p[2] * x) + p[1] * np.cos(p[2] * x) - wave_y) ** 2)


t = 0.1 * np.arange(120)
beats_y = 2.0 * np.sin(5.3 * t) + 1.5 * np.sin(7.9 * t) + 0.2 * np.cos(31.0 * t * t)


def beats(p):
    return 0.5 * np.sum((p[0] * np.sin(p[1] * t) + p[2] * np.sin(p[3] * t) - beats_y) ** 2)


print(f"# scipy {scipy.__version__}, numpy {np.__version__}")
print("problem,cost,found,evaluations")
for name, cost, bounds in [
    ("rastrigin", rastrigin, [(-4.12, 5.12)] * 5),
    ("wave", wave, [(-5, 5), (-5, 5), (0.5, 12)]),
    ("beats", beats, [(0, 10), (0, 20), (0, 10), (0, 20)]),
]:
    found = [differential_evolution(cost, bounds, updating="deferred", rng=seed) for seed in range(SEEDS)]
    # Finite differences of the polishing stop some digits early.
    tight = [scipy.optimize.minimize(cost, f.x, method="Nelder-Mead", bounds=bounds,
                                     options=dict(xatol=1e-12, fatol=1e-14, maxiter=20000)) for f in found]
    least = min(t.fun for t in tight)
    hits = sum(t.fun < least + 1e-6 for t in tight)
    spent = np.mean([(f.nit + 1) * 15 * len(bounds) for f in found])
    print(f"{name},{float(max(least, 0))!r},{hits},{spent}")
