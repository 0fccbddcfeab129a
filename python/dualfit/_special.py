"""Handlers of SciPy's special functions of real numbers, by the names of the ufuncs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import pi, sqrt
from typing import Any

import numpy as np

from ._tracer import SPECIAL, Tracer, apply, lifted, tape_of, unary
from ._value import quiet

SPECIAL |= {
    "erf": "erf", "erfc": "erfc", "erfcx": "erfcx", "gammaln": "ln_gamma", "gamma": "gamma", "expit": "expit",
    "wrightomega": "wright_omega", "exp1": "e1", "exp2": "exp2", "expm1": "exp_m1", "log1p": "ln_1p",
    "cbrt": "cbrt", "i0": "i0", "i1": "i1", "i0e": "i0e", "i1e": "i1e", "j0": "j0", "j1": "j1", "k0": "k0",
    "k1": "k1", "k0e": "k0e", "k1e": "k1e", "y0": "y0", "y1": "y1",
    "psi": partial(unary, "polygamma"),
}


def _special(function: Callable[..., Any]) -> Callable[..., Any]:
    handler = SPECIAL[function.__name__.lstrip("_")] = quiet(function)
    return handler


def _traced(*values: Any) -> list[Tracer]:
    tape = tape_of(*values)
    return [value if isinstance(value, Tracer) else Tracer(*lifted(tape, value)) for value in values]


# Error function and related functions.


@_special
def _ndtr(x: Any) -> Any:
    return 0.5 * unary("erfc", x * -sqrt(0.5))


@_special
def _log_ndtr(x: Any) -> Any:
    t = x * -sqrt(0.5)
    # For very negative x, where erfc underflows, the scaled form erfcx is used, with t > 0.
    far = np.log(0.5 * unary("erfcx", np.maximum(t, 0.0))) - t * t
    return np.where(x < -1.0, far, np.log1p(-0.5 * unary("erfc", -t)))


@_special
def _dawsn(x: Any) -> Any:
    return 0.5 * sqrt(pi) * apply("faddeeva_im", x, 0.0)


@_special
def _erfi(x: Any) -> Any:
    return np.where(np.isinf(x), x, np.exp(x * x) * apply("faddeeva_im", x, 0.0))


@_special
def _voigt_profile(x: Any, sigma: Any, gamma: Any) -> Any:
    is_lorentzian = sigma == 0.0
    width = np.where(is_lorentzian, 1.0, sigma) * sqrt(2.0)
    profile = apply("faddeeva_re", *_traced(x / width, gamma / width)) / (width * sqrt(pi))
    if not hasattr(sigma, "tape") and not np.any(is_lorentzian):
        return profile
    return np.where(is_lorentzian, gamma / pi / (x * x + gamma * gamma), profile)


# Gamma function and related functions.


@_special
def _loggamma(x: Any) -> Any:
    return np.where(x < 0.0, np.nan, unary("ln_gamma", x))


@_special
def _rgamma(x: Any) -> Any:
    return np.where((x <= 0.0) & (x == np.floor(x)), 0.0, 1.0 / unary("gamma", x))


#: Argument up to which Γ is evaluated directly: it overflows above 171.6.
_LARGE = 170.0


def _stirling_rest(z: Any) -> Any:
    """ln Γ(z) − ((z − ½) ln z − z + ½ ln 2π) for z ≥ 85, to 10⁻¹⁷."""
    r = 1.0 / z
    return r * (1.0 / 12.0 - r * r * (1.0 / 360.0 - r * r / 1260.0))


def _ln_beta_large(a: Any, b: Any) -> Any:
    # With a ≤ b and s = a + b: the large terms of ln Γ(b) − ln Γ(s) cancel except for
    # −(b − ½) ln(s/b) − a ln s + a.
    low, high = np.minimum(a, b), np.maximum(a, b)
    total = a + b
    rest = _stirling_rest(high) - _stirling_rest(total)
    return unary("ln_gamma", low) + low * (1.0 - np.log(total)) - (high - 0.5) * np.log1p(low / high) + rest


def _beta_small(a: Any, b: Any) -> Any:
    # Large arguments are replaced by 1, so that no partial overflows.
    large = a + b >= _LARGE
    a, b = np.where(large, 1.0, a), np.where(large, 1.0, b)
    return unary("gamma", a) * unary("gamma", b) / unary("gamma", a + b)


@_special
def _beta(a: Any, b: Any) -> Any:
    a, b = _traced(a, b)
    return np.where(a + b >= _LARGE, np.exp(_ln_beta_large(a, b)), _beta_small(a, b))


@_special
def _betaln(a: Any, b: Any) -> Any:
    a, b = _traced(a, b)
    return np.where(a + b >= _LARGE, _ln_beta_large(a, b), np.log(abs(_beta_small(a, b))))


# Logarithms and exponentials.


@_special
def _exp10(x: Any) -> Any:
    return 10.0**x


@_special
def _logit(p: Any) -> Any:
    # Near p = ½ the quotient is near 1, and its logarithm loses digits.
    near = abs(p - 0.5) < 0.2
    return np.where(near, 2.0 * np.arctanh(2.0 * (p - 0.5)), np.log(p / (1.0 - p)))


@_special
def _log_expit(x: Any) -> Any:
    return np.where(x < 0.0, x - np.log1p(np.exp(x)), -np.log1p(np.exp(-x)))


@_special
def _xlogy(x: Any, y: Any) -> Any:
    return _product_with_log(x, y, np.log, 0.0, 1.0)


@_special
def _xlog1py(x: Any, y: Any) -> Any:
    return _product_with_log(x, y, np.log1p, -1.0, 0.0)


def _product_with_log(x: Any, y: Any, log: Any, border: float, one: float) -> Any:
    # The product is 0 if x = 0, unless y is NaN. If the logarithm of y is then infinite or undefined, it is replaced
    # by 0, because 0·∞ would be NaN.
    is_left_out = (x == 0.0) & ((y <= border) | (y == np.inf))
    return x * log(np.where(is_left_out, one, y))


@_special
def _entr(x: Any) -> Any:
    return np.where(x < 0.0, -np.inf, np.where(x == 0.0, 0.0, -x * np.log(x)))


@_special
def _rel_entr(x: Any, y: Any) -> Any:
    at_border = np.where((x == 0.0) & (y >= 0.0), 0.0, np.inf)
    value = np.where((x > 0.0) & (y > 0.0), x * np.log(x / y), at_border)
    return np.where(np.isnan(x) | np.isnan(y), np.nan, value)


@_special
def _kl_div(x: Any, y: Any) -> Any:
    return SPECIAL["rel_entr"](x, y) - x + y  # type: ignore[operator]


def _exprel_series(x: Any) -> Any:
    return 1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0)))


#: Limit of |x| below which the series is used: it is exact to rounding, and the partial of the quotient loses digits.
_NEAR_ZERO = 1e-3


@_special
def _exprel(x: Any) -> Any:
    quotient = np.where(x == np.inf, np.inf, np.expm1(x) / x)
    return np.where(abs(x) < _NEAR_ZERO, _exprel_series(x), quotient)


@_special
def _cosm1(x: Any) -> Any:
    half = np.sin(0.5 * x)
    return -2.0 * half * half


@_special
def _boxcox(x: Any, power: Any) -> Any:
    log = np.log(x)
    small = power * log
    quotient = np.expm1(small) / np.where(power == 0.0, 1.0, power)
    return np.where(abs(small) < _NEAR_ZERO, log * _exprel_series(small), quotient)


# Bessel functions with an order argument: the core supports the orders 0 and 1.


def _of_order(name: str, zero: str, one: str) -> None:
    def record(order: Any, x: Any) -> Any:
        if not isinstance(order, (int, float, np.integer, np.floating)) or order not in (0, 1):
            raise tape_of(order, x).refuse(f"{name} of another order than 0 and 1")
        return unary(one if order else zero, x)

    SPECIAL[name] = record


for _name in ("j", "y", "i", "k"):
    _of_order(_name + "v", _name + "0", _name + "1")
for _name in ("i", "k"):
    _of_order(_name + "ve", _name + "0e", _name + "1e")
_of_order("kn", "k0", "k1")
