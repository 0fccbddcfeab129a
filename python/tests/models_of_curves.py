"""Models of curves, peaks and steps."""

from __future__ import annotations

import functools
import operator

import numpy as np
from cases import model
from scipy import special as sp

# Decays, growth, waves, curves.


@model(1.5, 0.3)
def line(x, slope, intercept):
    return slope * x + intercept


@model(2.5, 1.3, 0.5)
def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


@model(2.0, 1.5, 1.0, 0.2)
def two_decays(t, a1, tau1, a2, tau2):
    return a1 * np.exp(-t / tau1) + a2 * np.exp(-t / tau2)


@model(1.0, 3.0, 0.6)
def stretched_exponential(t, a, tau, beta):
    return a * np.exp(-((t / tau) ** beta))


@model(1.5, 2.0, 0.3, 0.1)
def damped_sine(t, a, omega, phi, gamma):
    return a * np.exp(-gamma * t) * np.sin(omega * t + phi)


@model(2.0, -1.3)
def power_law(x, a, k):
    return a * np.power(x, k)


@model(3.0, 0.5, 2.0)
def power_law_with_offset(x, a, x0, k):
    return a * (x + x0) ** k


@model(5.0, 1.2, 4.0)
def logistic(x, L, k, x0):
    return L / (1 + np.exp(-k * (x - x0)))


@model(1.0, 9.0, 3.0, 2.5)
def hill(c, bottom, top, ec50, n):
    return bottom + (top - bottom) / (1.0 + (ec50 / c) ** n)


@model(10.0, 2.0)
def michaelis_menten(s, vmax, km):
    return (vmax * s) / (km + s)


@model(1.0, 0.1, -0.3, 0.02)
def cubic(x, *c):
    return sum(ck * x**k for k, ck in enumerate(c))


@model(0.2, -0.5, 1.0, 3.0)
def polynomial_by_polyval(x, a, b, c, d):
    return np.polyval([a, b, c, d], x)


@model(0.2, -0.5, 1.0)
def polynomial_of_any_degree(x, *p):
    return np.polyval(p, x)


@model(1.0, 0.5, 0.25)
def horner_in_place(x, *c):
    y = np.zeros_like(x)
    for ck in c[::-1]:
        y *= x
        y += ck
    return y


@model(0.5, 1.0, 0.3)
def powers_in_place(x, a, b, c):
    # The array of powers is changed in place after it was used.
    y, power = 0.0, np.ones_like(x)
    for ck in (a, b, c):
        y = y + ck * power
        power *= x
    return y


@model(2.0, 0.5)
def log_of_parameter(x, a, b):
    return np.log10(a * x) + np.log1p(b * x) + np.log2(a + x)


@model(1.0, 2.0, 0.4)
def rational(x, a, b, c):
    return (a + b * x) / (1.0 + c * x + 0.1 * x**2)


@model(0.9, 300.0, 0.05)
def planck(x, a, temperature, offset):
    h_over_k = 143.9
    return a * x**3 / np.expm1(h_over_k * x / temperature) + offset


@model(1.0, 0.7)
def langevin(x, a, b):
    return a * (1 / np.tanh(b * x) - 1 / (b * x))


@model(1.0, 0.4)
def hyperbolic(x, a, b):
    return a * np.cosh(b * x) + np.arcsinh(a * x) * np.arctan2(x, b) - np.hypot(a, x)


# Peaks and steps.


@model(3.0, 4.5, 0.8)
def gaussian(x, amp, cen, wid):
    return amp * np.exp(-((x - cen) ** 2) / (2 * wid**2))


@model(3.0, 4.5, 0.8)
def normalised_gaussian(x, amplitude, center, sigma):
    return amplitude / (np.sqrt(2 * np.pi) * sigma) * np.exp(-1.0 * (x - center) ** 2 / (2 * sigma**2))


@model(3.0, 4.5, 0.8)
def lorentzian(x, a, x0, gamma):
    return a * gamma**2 / (gamma**2 + (x - x0) ** 2)


@model(3.0, 4.5, 0.8, 0.3)
def pseudo_voigt(x, a, x0, s, eta):
    return eta * lorentzian(x, a, x0, s) + (1 - eta) * gaussian(x, a, x0, s)


@model(3.0, 4.5, 0.8, 0.3)
def voigt_by_wofz(x, amp, center, sigma, gamma):
    z = (x - center + 1j * gamma) / (sigma * np.sqrt(2.0))
    return amp * sp.wofz(z).real / (sigma * np.sqrt(2 * np.pi))


@model(3.0, 4.5, 0.8, 0.3)
def voigt_by_np_real(x, alpha, x0, sigma, gamma):
    return alpha * np.real(sp.wofz((x - x0 + 1j * gamma) / sigma / np.sqrt(2))) / sigma / np.sqrt(2 * np.pi)


@model(3.0, 4.5, 0.8, 0.3)
def voigt_by_profile(x, a, x0, sigma, gamma):
    return a * sp.voigt_profile(x - x0, sigma, gamma)


@model(3.0, 4.5, 0.8, 1.5)
def skewed_gaussian(x, a, m, s, alpha):
    t = (x - m) / s
    return a * np.exp(-(t**2) / 2) * (1 + sp.erf(alpha * t / np.sqrt(2)))


@model(3.0, 2.5, 0.4, 0.9)
def exponentially_modified_gaussian(x, a, mu, sigma, gamma):
    gss = gamma * sigma * sigma
    return (
        a * gamma / 2 * np.exp(gamma * (mu - x + gss / 2.0)) * sp.erfc((mu + gss - x) / (np.sqrt(2) * sigma))
    )


@model(3.0, 2.5, 0.4, 0.9)
def emg_by_erfcx(x, a, m, s, tau):
    u = (x - m) / s
    return a * np.exp(-(u**2) / 2) * sp.erfcx((s / tau - u) / np.sqrt(2))


@model(3.0, 4.5, 0.8, 2.0)
def pearson7(x, a, c, s, m):
    return a / (s * sp.beta(m - 0.5, 0.5)) * (1.0 + ((x - c) / s) ** 2) ** -m


@model(3.0, 4.5, 0.8, 4.0)
def students_t(x, a, c, s, nu):
    g = sp.gammaln((nu + 1) / 2) - sp.gammaln(nu / 2)
    return a * np.exp(g) / np.sqrt(nu * np.pi) * (1 + (x - c) ** 2 / (s**2 * nu)) ** (-(nu + 1) / 2)


@model(3.0, 4.5, 0.8, 0.7)
def split_gaussian(x, a, c, left, right):
    return a * np.exp(-0.5 * ((x - c) / np.where(x < c, left, right)) ** 2)


@model(1.0, 3.0, 2.0)
def morse(x, d, a, r0):
    return d * (1 - np.exp(-a * (x - r0))) ** 2


@model(1.0, 4.0, 0.7, 0.2)
def error_function_step(x, a, x0, w, b):
    return a * 0.5 * (1 + sp.erf((x - x0) / w)) + b


@model(1.0, 4.0, 0.7)
def normal_cdf(x, a, m, s):
    return a * sp.ndtr((x - m) / s) + sp.expit(x - m)


@model(1.0, 2.0, 4.0, 0.5, 5.5, 0.4, 2.5)
def many_peaks(x, *params):
    y = np.zeros_like(x)
    for i in range(0, len(params) - 1, 3):
        ctr, amp, wid = params[i], params[i + 1], params[i + 2]
        y = y + amp * np.exp(-(((x - ctr) / wid) ** 2))
    return y + params[-1]


@model(1.0, 2.0, 4.0, 0.5, 5.5, 0.4)
def many_peaks_in_place(x, *params):
    y = np.zeros(x.shape)
    for a, m, s in zip(params[::3], params[1::3], params[2::3], strict=True):
        y += gaussian(x, a, m, s)
    return y


@model(1.0, 2.0, 0.4, 0.5, 5.5, 0.4)
def many_peaks_from_an_array(x, *params):
    y = 0
    for a, m, s in np.array(params).reshape(-1, 3):
        y = y + gaussian(x, a, m, s)
    return y


@model(1.0, 2.0, 0.4, 0.5, 5.5, 0.4)
def many_peaks_by_reduce(x, *params):
    return functools.reduce(operator.add, [gaussian(x, *params[i : i + 3]) for i in range(0, len(params), 3)])


@model(1.0, 2.0, 0.4, 0.5, 5.5, 0.4)
def many_peaks_by_stack(x, *p):
    return np.stack([gaussian(x, *p[:3]), gaussian(x, *p[3:])]).sum(axis=0)


@model(1.0, 2.0, 0.4, fate="native")
def sum_of_a_list(x, a, b, c):
    return np.sum([a * x, b * np.sqrt(x), np.full_like(x, 2.0)], axis=0)


@model(1.0, 2.0, fate="native")
def sum_of_an_array_of_rows(x, a, b):
    return np.array([a * x, b * np.sqrt(x)]).sum(axis=0)


@model(1.0, 0.5)
def sum_over_lines(x, a, s):
    lines, strengths = np.array([1.0, 3.5, 7.0]), np.array([1.0, 0.5, 0.2])
    return np.sum(a * strengths / (1.0 + ((x[:, None] - lines) / s) ** 2), axis=1)


@model(1.0, 0.5)
def sum_over_lines_by_matmul(x, a, s):
    lines, strengths = np.array([1.0, 3.5, 7.0]), np.array([1.0, 0.5, 0.2])
    return a / (1.0 + ((x[:, None] - lines) / s) ** 2) @ strengths
