"""Bands and profiles by lmfit, whose partials are finite differences: its errors are met to about 1e-5.

Usage, in this folder: python uncertainty_lmfit.py > ../data/uncertainty/lmfit.csv   (pip install lmfit==1.3.4)
"""

import lmfit
import numpy as np
import scipy


def nist(name):
    rows = open(f"../data/nist/{name}.txt").read().split("\ndata\n")[1].split()
    x, y = np.array(rows, float).reshape(-1, 2).T
    return x, y


def misra(x, b1, b2):
    return b1 * (1 - np.exp(-b2 * x))


def chwirut(x, b1, b2, b3):
    return np.exp(-b1 * x) / (b2 + b3 * x)


def thurber(x, b1, b2, b3, b4, b5, b6, b7):
    return (b1 + b2 * x + b3 * x**2 + b4 * x**3) / (1 + b5 * x + b6 * x**2 + b7 * x**3)


def record(case, function, name, start, at, weights=None, absolute=False):
    x, y = nist(name)
    w = None if weights is None else weights(y)
    model = lmfit.Model(function)
    tight = {"ftol": 1e-15, "xtol": 1e-15}
    fit = model.fit(y, model.make_params(**start), x=x, weights=w, scale_covar=not absolute, fit_kws=tight)
    at = np.array(at, float)
    for level in (0.6827, 0.95, 0.99):
        half = fit.eval_uncertainty(x=at, sigma=level)
        for a, h, d in zip(at, half, fit.dely_predicted):
            print(f"{case},band,{float(a)!r},{level!r},{float(fit.eval(x=a))!r},{float(h)!r},{float(d)!r}")
    if not absolute:
        found = lmfit.conf_interval(fit, fit, sigmas=[0.95], maxiter=1000)
        for parameter, ends in found.items():
            print(f"{case},profile,{parameter},0.95,{float(ends[0][1])!r},{float(ends[2][1])!r},0")


print(f"# lmfit {lmfit.__version__}, scipy {scipy.__version__}, numpy {np.__version__}")
print("case,quantity,at,level,a,b,c")
points = [50, 100, 400, 900]
start = {"b1": 250, "b2": 5e-4}
record("Misra1a", misra, "Misra1a", start, points)
record("weighted", misra, "Misra1a", start, points, lambda y: 1 / (0.05 + 0.004 * y))
record("Chwirut2", chwirut, "Chwirut2", {"b1": 0.15, "b2": 0.008, "b3": 0.01}, [0.3, 0.5, 2, 5, 8])
record("Thurber", thurber, "Thurber", dict(b1=1300, b2=1500, b3=500, b4=75, b5=1, b6=0.4, b7=0.05), [-3, -2, 0, 1, 2.2])
