"""Models that need numbers, all points together, or a solver; special functions."""

from __future__ import annotations

import math

import numpy as np
from cases import model
from scipy import special as sp

# Models that need numbers, all points together, or a solver.


@model(1.0, 0.5, fate="native")
def math_of_a_parameter(x, a, b):
    return math.exp(-a) * x + b


@model(1.0, 0.5, fate="native")
def float_of_a_parameter(x, a, b):
    return float(a) * x + b


@model(1.0, 3.0, fate="native", at=[1.2, 4.0])
def number_of_terms(x, a, n):
    return sum(a * np.sin(k * x) for k in range(1, int(n) + 1))


@model(1.0, 3.0, fate="native", at=[1.2, 4.0])
def rounded_parameter(x, a, n):
    return a * x ** round(n)


@model(1.0, 3.0)
def rounded_by_numpy(x, a, n):
    return a * x ** np.round(n)


@model(1.0, 0.5)
def vectorised_by_numpy(x, a, b):
    return np.vectorize(lambda t: a * t if t < 3 else b)(x)


@model(1.0, 0.5, fate="native")
def loop_over_points(x, a, b):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = a * x[i] + b
    return y


@model(1.0, 0.5, fate="native")
def list_of_points(x, a, b):
    return [a * np.exp(-b * t) for t in x]


@model(1.0, 0.5, fate="native")
def from_iterator(x, a, b):
    return np.fromiter((a * t + b for t in x), float)


@model(1.0, 0.5, fate="native")
def cumulated(x, a, b):
    return np.cumsum(a * np.exp(-b * x))


@model(1.0, 0.5, fate="native")
def convolved(x, a, b):
    return np.convolve(a * np.exp(-b * x), np.ones(5) / 5, mode="same")


@model(1.0, 0.5, fate="native")
def gradient(x, a, b):
    return np.gradient(a * np.exp(-b * x), x)


@model(1.0, 0.5, fate="native")
def sorted_values(x, a, b):
    return np.sort(a * np.cos(b * x))


@model(1.0, 0.5, fate="native")
def integrated_by_odeint(x, a, b):
    from scipy.integrate import odeint

    return odeint(lambda y, t: -a * y, b, x)[:, 0]


@model(1.0, 0.5, fate="native")
def integrated_by_solve_ivp(x, a, b):
    from scipy.integrate import solve_ivp

    return solve_ivp(lambda t, y: -a * y, (0, 10), [b], t_eval=x).y[0]


@model(1.0, 0.5, fate="native")
def integrated_by_quad(x, a, b):
    from scipy.integrate import quad

    return np.array([quad(lambda t: a * np.exp(-b * t), 0, xi)[0] for xi in x])


@model(1.0, 0.5, fate="native")
def distribution_of_scipy(x, m, s):
    from scipy.stats import norm

    return norm.pdf(x, m, s)


@model(1.0, 0.5, fate="native")
def matrix_exponential(x, a, b):
    from scipy.linalg import expm

    return np.array([expm(-t * np.array([[a, 0.1], [0.1, b]]))[0, 0] for t in x])


@model(1.0, 0.5, fate="native")
def eigenvalues(x, a, b):
    return np.linalg.eigvalsh(np.array([[a, 0.1], [0.1, b]]))[0] * x


@model(1.0, 0.5, fate="native")
def spline(x, a, b):
    from scipy.interpolate import CubicSpline

    return CubicSpline([0, 3, 6, 10], [a, b, a, b])(x)


@model(1.0, 0.5, fate="native")
def filtered(x, a, b):
    from scipy.ndimage import gaussian_filter1d

    return gaussian_filter1d(a * np.exp(-b * x), 2.0)


@model(1.0, 0.5, fate="native")
def root_of_an_equation(x, a, b):
    from scipy.optimize import brentq

    return np.array([brentq(lambda y: y + a * y**3 - b * t, 0, 10) for t in x])


@model(1.0, 0.5, 0.2)
def diode_by_lambert_w(v, i0, n, rs):
    arg = i0 * rs / n * np.exp((v + rs * i0) / n)
    return n / rs * np.real(sp.lambertw(arg)) - i0


@model(1.0, 0.5)
def polynomial_class(x, a, b):
    return np.polynomial.Polynomial([a, b, 0.1])(x)


@model(1.0, 0.5)
def polynomial_package(x, a, b):
    return np.polynomial.polynomial.polyval(x, [a, b])


@model(1.0, 0.5)
def chebyshev_of_a_scaled_x(x, a, b):
    return a * np.polynomial.chebyshev.chebval(b * x / 5.0, [1.0, 0.5, 0.25])


@model(1.0, 0.5, fate="native")
def poly1d_of_parameters(x, a, b):
    return np.poly1d([a, b])(x)


@model(2.0, 0.5)
def bessel(x, a, b):
    return a * (2 * sp.j1(b * x) / (b * x)) ** 2 + sp.k0(b * x) + sp.jv(0, x) + sp.i0e(a * x)


@model(2.0, 0.5, fate="native")
def bessel_of_order_two(x, a, b):
    return a * sp.jv(2, b * x)


@model(2.0, 0.5)
def gamma_variate(t, a, b):
    return t**a * np.exp(-t / b) / (b ** (a + 1) * sp.gamma(a + 1))


@model(2.0, 0.5, fate="native")
def incomplete_gamma(x, a, b):
    return b * sp.gammainc(a, x)
