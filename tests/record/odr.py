"""Orthogonal distance regression by ODRPACK, as SciPy wraps it, and by SciPy's least_squares over parameters and
shifts together.

Usage, in this folder: python odr.py > ../data/uncertainty/odr.csv   (pip install "scipy<1.19")

Cases: ODRPACK's own example 1 (its User's Reference Guide, version 2.01, section 2), Pearson's points with York's weights
(York, Can. J. Phys. 44 (1966) 1079), a Lorentzian, a plane with errors in both variables. Columns: the parameter's
position, its value, its standard error scaled by the residual variance, that of absolute errors, the sum of squares.
"""

import warnings

warnings.simplefilter("ignore")
import numpy as np
import scipy
from scipy import odr
from scipy.optimize import least_squares


def record(case, model, x, y, sx, sy, start):
    x, y = np.atleast_2d(np.asarray(x, float)), np.asarray(y, float)
    sx, sy = np.asarray(sx, float).reshape(x.shape), np.asarray(sy, float)
    exact = sx == 0
    wide = np.where(exact, 1.0, sx)
    shape = x if x.shape[0] > 1 else x[0]
    weights = wide**-2.0 if x.shape[0] > 1 else wide[0] ** -2.0
    if x.shape[0] > 1:
        # ODRPACK takes the weights of several variables as a diagonal for each point.
        wd = np.zeros((x.shape[0], x.shape[0], x.shape[1]))
        for k in range(x.shape[0]):
            wd[k, k] = weights[k]
        weights = wd
    data = odr.Data(shape, y, wd=weights, we=sy**-2.0)
    ifixx = np.where(exact, 0, 1) if x.shape[0] > 1 else np.where(exact[0], 0, 1)
    problem = odr.ODR(data, odr.Model(lambda b, x: model(x, b)), start, ifixx=ifixx, sstol=1e-16, partol=1e-16, maxit=1000)
    problem.set_job(deriv=1)
    out = problem.run()
    # The digits that differences of ODRPACK leave are polished over all unknowns together.
    free = ~exact

    def residuals(u):
        shifted = x.copy()
        shifted[free] += u[len(start) :] * sx[free]
        at = shifted if x.shape[0] > 1 else shifted[0]
        return np.concatenate([(model(at, u[: len(start)]) - y) / sy, u[len(start) :]])

    shifts = np.zeros(free.sum()) if out.delta is None else np.atleast_2d(out.delta)[free] / sx[free]
    polished = least_squares(residuals, np.concatenate([out.beta, shifts]), jac="3-point", x_scale="jac", xtol=1e-15, ftol=1e-15, gtol=1e-15)
    p, chi = polished.x[: len(start)], 2 * polished.cost
    assert np.allclose(p, out.beta, rtol=2e-5), (case, p, out.beta)
    cov = np.linalg.inv(polished.jac.T @ polished.jac)[: len(start), : len(start)]
    errors = np.sqrt(np.diag(cov))
    dof = y.size - len(start)
    for j in range(len(start)):
        print(case, j, *(repr(float(v)) for v in (p[j], errors[j] * np.sqrt(chi / dof), errors[j], chi)), sep=",")
    return p


print(f"# scipy {scipy.__version__}, numpy {np.__version__}")
print("case,parameter,value,scaled_error,absolute_error,chi_square")

x = [0, 0, 5, 7, 7.5, 10, 16, 26, 30, 34, 34.5, 100]
y = [1265, 1263.6, 1258, 1254, 1253, 1249.8, 1237, 1218, 1220.6, 1213.8, 1215.5, 1212]
record("odrpack", lambda x, b: b[0] + b[1] * (np.exp(b[2] * x) - 1) ** 2, x, y, [0, 0] + [1] * 9 + [0], [1] * 12, [1500, -50, -0.1])

x = [0.0, 0.9, 1.8, 2.6, 3.3, 4.4, 5.2, 6.1, 6.5, 7.4]
y = [5.9, 5.4, 4.4, 4.6, 3.5, 3.7, 2.8, 2.8, 2.4, 1.5]
sx = [0.03, 0.03, 0.04, 0.035, 0.07, 0.11, 0.13, 0.22, 0.74, 1.0]
sy = [1.0, 0.74, 0.5, 0.35, 0.22, 0.22, 0.12, 0.12, 0.1, 0.04]
record("pearson", lambda x, b: b[0] + b[1] * x, x, y, sx, sy, [1.0, 1.0])

i = np.arange(40)
x = np.round(-4 + 0.2 * i + 0.09 * np.sin(12.9898 * i), 6)
y = np.round(3 * 0.8**2 / ((x + 0.05 * np.cos(7.1 * i) - 0.3) ** 2 + 0.8**2) + 0.4 + 0.06 * np.sin(78.233 * i), 6)
record("lorentz", lambda x, b: b[0] * b[2] ** 2 / ((x - b[1]) ** 2 + b[2] ** 2) + b[3], x, y, np.full(40, 0.08), 0.04 + 0.001 * i, [2.5, 0.2, 1.0, 0.3])

i = np.arange(60)
x = np.round(np.array([np.cos(2.3 * i) * 2 + 0.05 * np.sin(9.1 * i), 0.1 * i + 0.05 * np.cos(5.7 * i)]), 6)
y = np.round(1.5 * np.exp(-0.4 * x[1]) * (1 + 0.3 * x[0]) + 0.03 * np.sin(3.3 * i**2), 6)
record("surface", lambda x, b: b[0] * np.exp(-b[1] * x[1]) * (1 + b[2] * x[0]), x, y, np.array([np.full(60, 0.1), 0.02 + 0.001 * i]), np.full(60, 0.05), [1.0, 0.3, 0.2])
